//! Registration with Claude Code and its diagnosis, against real files, real git worktrees and real processes.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolgate_gate::dirs::Dirs;
use toolgate_model::{ConfigChange, TeamPhase};
use toolgate_setup::doctor::{Diagnosis, Status, Subject, examine};
use toolgate_setup::register::claude_code::{self, ClaudeCode, FORM, HOST, config_change};
use toolgate_setup::register::{HookLine, HostPlaces, Plan, RegisterError, Registrar, Registrations, Scope};

const SCOPES: [Scope; 4] = [Scope::User, Scope::Project, Scope::Local, Scope::Managed];

/// A machine in a temporary directory: a home, a project, an `/etc`.
struct Machine {
    dir: TempDir,
}

impl Machine {
    fn new() -> Machine {
        let machine = Machine { dir: tempfile::tempdir().unwrap() };
        for dir in ["", "home", "project", "etc", "bin"] {
            fs::create_dir_all(machine.path(dir)).unwrap();
            // Whatever the umask.
            fs::set_permissions(machine.path(dir), fs::Permissions::from_mode(0o755)).unwrap();
        }
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    fn places(&self) -> HostPlaces {
        let path = self.path("clients").into_os_string();
        self.places_of(&self.path("project"), move |name| (name == "PATH").then(|| path.clone()))
    }

    fn places_of(&self, project: &Path, var: impl Fn(&str) -> Option<OsString>) -> HostPlaces {
        HostPlaces::new(&self.path("home"), Some(project), &self.path("etc"), var)
    }

    fn dirs(&self) -> Dirs {
        Dirs::of_home(&self.path("home"))
    }

    fn line(&self) -> HookLine {
        HookLine {
            binary: self.path("bin/toolgate"),
            dirs: self.dirs(),
            everybody: false,
            profile: None,
            agent: None,
            role: None,
            phase: None,
            root: None,
        }
    }

    fn plan_init(&self, scope: Scope) -> Result<Plan, RegisterError> {
        plan_init(&self.places(), scope, &self.line(), &self.dirs().state)
    }

    fn init(&self, scope: Scope) -> PathBuf {
        let plan = self.plan_init(scope).unwrap();
        apply(&plan).unwrap();
        plan.file
    }

    fn plan_uninstall(&self, scope: Scope) -> Plan {
        plan_uninstall(&self.places(), scope, &self.line(), &self.dirs().state).unwrap()
    }

    fn uninstall(&self, scope: Scope) {
        apply(&self.plan_uninstall(scope)).unwrap();
    }

    fn settings(&self, text: &str) -> PathBuf {
        let file = self.path("project/.claude/settings.json");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }
}

fn plan_init(
    places: &HostPlaces,
    scope: Scope,
    line: &HookLine,
    state: &Path,
) -> Result<Plan, RegisterError> {
    Plan::init(&ClaudeCode, places, scope, line, state)
}

fn plan_uninstall(
    places: &HostPlaces,
    scope: Scope,
    line: &HookLine,
    state: &Path,
) -> Result<Plan, RegisterError> {
    Plan::uninstall(&ClaudeCode, places, scope, line, state)
}

fn apply(plan: &Plan) -> Result<(), RegisterError> {
    plan.apply()
}

/// The events that we hear.
fn events() -> impl ExactSizeIterator<Item = &'static str> {
    FORM.events.iter().map(|(event, _)| *event)
}

fn parsed(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// Every path below a directory, with a file's bytes.
fn tree(dir: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.push((path.clone(), None));
            all.extend(tree(&path));
        } else {
            all.push((path.clone(), Some(fs::read(&path).unwrap())));
        }
    }
    all.sort();
    all
}

const OTHER_HOOKS: &str = r#"{
  "model": "opus",
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [
          { "type": "command", "command": "~/bin/audit.sh" }
        ]
      }
    ],
    "Notification": [ { "hooks": [ { "type": "command", "command": "notify-send hi" } ] } ],
    "Stop": []
  },
  "permissions": { "allow": ["Bash(ls:*)"], "deny": [] }
}
"#;

/// name, text of the settings file
const ORIGINALS: &[(&str, &str)] = &[
    ("empty file", ""),
    ("blank file", "\n"),
    ("empty object", "{}"),
    ("empty object with newline", "{}\n"),
    ("spread empty object", "{\n}\n"),
    ("one line", "{\"model\":\"opus\",\"permissions\":{\"allow\":[\"Read\"]}}"),
    ("two spaces", "{\n  \"model\": \"opus\",\n  \"permissions\": {\n    \"allow\": []\n  }\n}\n"),
    ("four spaces", "{\n    \"model\": \"opus\",\n    \"permissions\": {\n        \"allow\": []\n    }\n}\n"),
    ("tabs", "{\n\t\"model\": \"opus\",\n\t\"permissions\": {\n\t\t\"allow\": []\n\t}\n}\n"),
    ("no final newline", "{\n  \"model\": \"opus\"\n}"),
    ("windows line ends", "{\r\n  \"model\": \"opus\",\r\n  \"env\": {\r\n    \"A\": \"1\"\r\n  }\r\n}\r\n"),
    ("other hooks", OTHER_HOOKS),
    ("empty hooks", "{\n  \"hooks\": {}\n}\n"),
    ("comments", "// mine\n{\n  // the model\n  \"model\": \"opus\" /* best */\n}\n// end\n"),
    ("blank lines", "{\n\n  \"model\": \"opus\"\n\n}\n\n"),
    ("beyond ascii", "{\n  \"statusLine\": { \"text\": \"žluťoučký \\u006bůň 🐎\" }\n}\n"),
];

#[test]
fn uninstall_restores_the_file_byte_for_byte() {
    for (name, text) in ORIGINALS {
        let machine = Machine::new();
        let file = machine.settings(text);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let before = tree(&machine.path("project"));
        machine.init(Scope::Project);
        assert_ne!(fs::read_to_string(&file).unwrap(), *text, "{name}");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640, "{name}");
        machine.uninstall(Scope::Project);
        assert_eq!(tree(&machine.path("project")), before, "{name}");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640, "{name}");
    }
}

#[test]
fn uninstall_removes_a_file_that_init_created() {
    for scope in SCOPES {
        let machine = Machine::new();
        let before = [tree(&machine.path("project")), tree(&machine.path("etc"))];
        let file = machine.init(scope);
        assert!(file.is_file(), "{scope}");
        let plan = machine.plan_uninstall(scope);
        apply(&plan).unwrap();
        assert!(plan.diff().contains("+++ /dev/null"), "{scope}");
        assert_eq!([tree(&machine.path("project")), tree(&machine.path("etc"))], before, "{scope}");
        assert!(!machine.path("home/.claude").exists(), "{scope}");
    }
}

#[test]
fn uninstall_keeps_a_directory_that_holds_other_files() {
    let machine = Machine::new();
    machine.init(Scope::Local);
    fs::write(machine.path("project/.claude/notes"), "mine").unwrap();
    machine.uninstall(Scope::Local);
    assert!(machine.path("project/.claude/notes").exists());
    assert!(!machine.path("project/.claude/settings.local.json").exists());
}

#[test]
fn init_keeps_everything_else_in_the_file() {
    for (name, text) in ORIGINALS {
        let machine = Machine::new();
        let file = machine.settings(text);
        machine.init(Scope::Project);
        let after = fs::read_to_string(&file).unwrap();
        for line in text.lines().map(str::trim).filter(|line| line.contains("//")) {
            assert!(after.contains(line), "{name}: lost `{line}`");
        }
        assert_eq!(text.contains("\r\n"), after.contains("\r\n"), "{name}");
        if text.contains("\r\n") {
            assert_eq!(after.matches('\n').count(), after.matches("\r\n").count(), "{name}");
        }
        let Ok(Value::Object(old)) = serde_json::from_str(text) else {
            continue;
        };
        let new = parsed(&file);
        for (key, value) in old.iter().filter(|(key, _)| *key != "hooks") {
            assert_eq!(new[key], *value, "{name}");
        }
        if text.contains("\n\t") {
            assert!(after.contains("\n\t\t\"PreToolUse\""), "{name}:\n{after}");
        }
        if text.contains("\n    \"model\"") {
            assert!(after.contains("\n        \"PreToolUse\""), "{name}:\n{after}");
        }
    }
    let machine = Machine::new();
    let file = machine.settings(OTHER_HOOKS);
    machine.init(Scope::Project);
    let hooks = &parsed(&file)["hooks"];
    assert_eq!(hooks["PreToolUse"][0]["hooks"][0]["command"], "~/bin/audit.sh");
    assert_eq!(hooks["PreToolUse"][1]["hooks"][0]["command"], json!(machine.path("bin/toolgate")));
    assert_eq!(hooks["Notification"][0]["hooks"][0]["command"], "notify-send hi");
}

#[test]
fn the_registration_is_in_exec_form_with_the_home_pinned() {
    let machine = Machine::new();
    let settings = parsed(&machine.init(Scope::User));
    let home = machine.path("home");
    for event in events() {
        let mut handler = json!({
            "type": "command",
            "command": machine.path("bin/toolgate"),
            "args": ["hook", "claude-code", "--home", home],
            "timeout": 15,
        });
        if ["UserPromptSubmit", "SessionStart", "SessionEnd", "Stop"].contains(&event) {
            handler["args"] = json!(["hook", "claude-code", "--event", event, "--home", home]);
        }
        if event == "PreToolUse" {
            handler["onFailure"] = json!("block");
        }
        assert_eq!(settings["hooks"][event], json!([{ "hooks": [handler] }]), "{event}");
    }
    assert_eq!(settings["hooks"].as_object().unwrap().len(), events().len());
    assert_eq!(settings.as_object().unwrap().len(), 1);

    let mut line = machine.line();
    line.dirs.config = PathBuf::from("/c");
    line.dirs.state = PathBuf::from("/s");
    line.profile = Some("strict".into());
    line.agent = Some("a \"b\"".into());
    line.role = Some("reviewer".into());
    line.phase = Some(TeamPhase::Working);
    line.root = Some(PathBuf::from("/r"));
    let home = line.dirs.home.to_str().unwrap();
    let args =
        ["hook", "claude-code", "--home", home, "--config", "/c", "--state", "/s", "--profile", "strict"];
    let args =
        [&args[..], &["--agent", "a \"b\"", "--role", "reviewer", "--phase", "team-mode", "--root", "/r"]]
            .concat();
    assert_eq!(line.hook(HOST, None).unwrap().args, args);
    let printed: Value = serde_json::from_str(&claude_code::print(&line).unwrap()).unwrap();
    assert_eq!(printed["hooks"]["PreToolUse"][0]["hooks"][0]["args"], json!(args));
}

#[test]
fn relative_paths_are_refused() {
    let machine = Machine::new();
    let mut line = machine.line();
    line.binary = PathBuf::from("toolgate");
    assert!(matches!(claude_code::print(&line), Err(RegisterError::NotAbsolute { .. })));
    let places = machine.places_of(Path::new("project"), |_| None);
    let plan = plan_init(&places, Scope::Project, &machine.line(), &machine.dirs().state);
    assert!(matches!(plan, Err(RegisterError::NotAbsolute { .. })));
    let places = HostPlaces::new(&machine.path("home"), None, &machine.path("etc"), |_| None);
    let plan = plan_init(&places, Scope::Local, &machine.line(), &machine.dirs().state);
    assert!(matches!(plan, Err(RegisterError::NoProject)));
}

#[test]
fn the_managed_file_allows_managed_hooks_only_until_uninstall() {
    let machine = Machine::new();
    let file = machine.init(Scope::Managed);
    assert_eq!(file, machine.path("etc/claude-code/managed-settings.d/50-toolgate.json"));
    let settings = parsed(&file);
    assert_eq!(settings["allowManagedHooksOnly"], true);
    assert_eq!(settings["disableSkillShellExecution"], true);
    // Edited since: the rest stays, and what would hurt without us goes.
    let edited = fs::read_to_string(&file).unwrap().replacen('{', "{\n  \"model\": \"opus\",", 1);
    fs::write(&file, edited).unwrap();
    machine.uninstall(Scope::Managed);
    assert_eq!(parsed(&file), json!({ "model": "opus" }));
    // Settings that were there before us come back.
    fs::write(&file, "{ \"allowManagedHooksOnly\": true }").unwrap();
    machine.init(Scope::Managed);
    machine.uninstall(Scope::Managed);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{ \"allowManagedHooksOnly\": true }");
}

#[test]
fn init_writes_to_claude_config_dir() {
    let machine = Machine::new();
    let config = machine.path("elsewhere");
    let moved = config.clone().into_os_string();
    let var = |name: &str| (name == "CLAUDE_CONFIG_DIR").then(|| moved.clone());
    let places = machine.places_of(&machine.path("project"), var);
    let plan = plan_init(&places, Scope::User, &machine.line(), &machine.dirs().state).unwrap();
    apply(&plan).unwrap();
    assert!(config.join("settings.json").is_file());
}

#[test]
fn a_second_init_changes_nothing() {
    for (name, text) in ORIGINALS {
        let machine = Machine::new();
        let file = machine.settings(text);
        machine.init(Scope::Project);
        let (settings, note) = (fs::read(&file).unwrap(), tree(&machine.dirs().state));
        let plan = machine.plan_init(Scope::Project).unwrap();
        assert!(!plan.changes() && plan.diff().is_empty(), "{name}: {}", plan.diff());
        apply(&plan).unwrap();
        assert_eq!(fs::read(&file).unwrap(), settings, "{name}");
        assert_eq!(tree(&machine.dirs().state), note, "{name}");
    }
}

#[test]
fn a_different_registration_replaces_the_old_one_in_place() {
    for (name, text) in ORIGINALS {
        let machine = Machine::new();
        let file = machine.settings(text);
        machine.init(Scope::Project);
        let first = fs::read_to_string(&file).unwrap();
        let mut line = machine.line();
        line.binary = PathBuf::from("/opt/toolgate");
        line.profile = Some("strict".into());
        let plan = plan_init(&machine.places(), Scope::Project, &line, &machine.dirs().state).unwrap();
        apply(&plan).unwrap();
        let second = fs::read_to_string(&file).unwrap();
        assert_eq!(second.matches("\"claude-code\"").count(), events().len(), "{name}");
        assert_eq!(second.matches("/opt/toolgate").count(), events().len(), "{name}");
        // Replaced in place, and back again.
        machine.init(Scope::Project);
        assert_eq!(fs::read_to_string(&file).unwrap(), first, "{name}");
        machine.uninstall(Scope::Project);
        assert_eq!(fs::read_to_string(&file).unwrap(), *text, "{name}");
    }
}

#[test]
fn older_forms_of_our_registration_are_replaced_and_not_restored() {
    let machine = Machine::new();
    let handler = |command: &str| json!({ "type": "command", "command": command });
    let old = json!({ "hooks": {
        "PreToolUse": [
            { "matcher": "Bash", "hooks": [handler("'/old dir/toolgate' hook claude-code --profile x"), handler("mine")] },
            { "hooks": [{ "type": "command", "command": "/a/toolgate", "args": ["hook", "claude-code"] }] },
            { "hooks": [{ "type": "command", "command": "/a/toolgate", "args": ["hook", "codex"] }] },
        ],
        "Notification": [{ "hooks": [handler("toolgate hook claude-code")] }],
    }});
    let file = machine.settings(&serde_json::to_string_pretty(&old).unwrap());
    machine.init(Scope::Project);
    let hooks = &parsed(&file)["hooks"];
    assert_eq!(hooks.get("Notification"), None);
    let groups = hooks["PreToolUse"].as_array().unwrap();
    assert_eq!(groups[0], json!({ "matcher": "Bash", "hooks": [handler("mine")] }));
    assert_eq!(groups[1]["hooks"][0]["args"][1], "codex");
    assert_eq!(groups[2]["hooks"][0]["onFailure"], "block");
    assert_eq!(groups.len(), 3);
    // The older ones are ours as well, so uninstall does not bring them back.
    machine.uninstall(Scope::Project);
    let left = fs::read_to_string(&file).unwrap();
    assert!(!left.contains("claude-code") && left.contains("mine") && left.contains("codex"), "{left}");
}

#[test]
fn an_edit_between_init_and_uninstall_is_kept() {
    for (name, text) in ORIGINALS {
        let machine = Machine::new();
        let file = machine.settings(text);
        machine.init(Scope::Project);
        let registered = fs::read_to_string(&file).unwrap();
        fs::write(&file, registered.replacen('{', "{\"theme\": \"dark\",", 1)).unwrap();
        machine.uninstall(Scope::Project);
        let left = fs::read_to_string(&file).unwrap();
        assert!(!left.contains("toolgate"), "{name}: {left}");
        for line in text.lines().map(str::trim).filter(|line| line.contains("//")) {
            assert!(left.contains(line), "{name}: lost `{line}`");
        }
        let Ok(Value::Object(mut old)) =
            serde_json::from_str(if text.trim().is_empty() { "{}" } else { text })
        else {
            continue;
        };
        old.insert("theme".into(), "dark".into());
        assert_eq!(parsed(&file), Value::Object(old), "{name}: {left}");
    }
}

#[test]
fn uninstall_removes_a_file_of_ours_that_only_gained_blank_lines() {
    let machine = Machine::new();
    let file = machine.init(Scope::Local);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}\n\n")).unwrap();
    machine.uninstall(Scope::Local);
    assert!(!machine.path("project/.claude").exists());
}

#[test]
fn an_edit_between_two_inits_survives_uninstall() {
    let machine = Machine::new();
    let file = machine.init(Scope::Local);
    let text = fs::read_to_string(&file).unwrap().replacen('{', "{\n  \"theme\": \"dark\",", 1);
    fs::write(&file, text).unwrap();
    let mut line = machine.line();
    line.profile = Some("strict".into());
    apply(&plan_init(&machine.places(), Scope::Local, &line, &machine.dirs().state).unwrap()).unwrap();
    machine.uninstall(Scope::Local);
    assert_eq!(parsed(&file), json!({ "theme": "dark" }));
}

#[test]
fn uninstall_without_a_note_removes_only_our_hooks() {
    let machine = Machine::new();
    let file = machine.settings(OTHER_HOOKS);
    machine.init(Scope::Project);
    fs::remove_dir_all(machine.dirs().state).unwrap();
    machine.uninstall(Scope::Project);
    let mut expected: Value = serde_json::from_str(OTHER_HOOKS).unwrap();
    expected["hooks"].as_object_mut().unwrap().remove("Stop");
    assert_eq!(parsed(&file), expected);
    // And where there is nothing of ours, nothing happens.
    assert!(!machine.plan_uninstall(Scope::Project).changes());
    assert!(!machine.plan_uninstall(Scope::User).changes());
}

#[test]
fn a_deleted_file_is_not_brought_back() {
    let machine = Machine::new();
    let file = machine.settings("{}");
    machine.init(Scope::Project);
    fs::remove_file(&file).unwrap();
    machine.uninstall(Scope::Project);
    assert!(!file.exists());
    assert_eq!(Registrations::load(&machine.dirs().state).unwrap(), Registrations::default());
}

#[test]
fn broken_files_are_refused_and_left_alone() {
    let cases: &[(&str, &str)] = &[
        ("{\n  \"model\": \"opus\"\n  \"x\": 1\n}", "line 2"),
        ("{\n  \"model\": \"opus\",\n}", "line"),
        ("{", "line 1"),
        ("[]", "not an object"),
        ("\"text\"", "not an object"),
        ("{\"hooks\": []}", "`hooks`"),
        ("{\"hooks\": null}", "`hooks`"),
        ("{\"hooks\": {\"PreToolUse\": {}}}", "`hooks.PreToolUse`"),
        ("{\"hooks\": {}, \"hooks\": {\"Stop\": []}}", "twice"),
        ("\u{feff}{}", "line 1"),
    ];
    for (text, part) in cases {
        let machine = Machine::new();
        let file = machine.settings(text);
        let error = machine.plan_init(Scope::Project).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
        assert!(error.contains(file.to_str().unwrap()), "{text}: {error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), *text);
        assert!(!machine.dirs().state.exists());
    }
    let machine = Machine::new();
    let file = machine.settings("");
    fs::write(&file, b"{\"a\": \"\xff\"}").unwrap();
    assert!(matches!(machine.plan_init(Scope::Project), Err(RegisterError::NotText { .. })));
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(matches!(machine.plan_init(Scope::Project), Err(RegisterError::NotAFile { .. })));
}

#[test]
fn every_refusal_says_what_to_do() {
    let path = || PathBuf::from("/p");
    let cases = [
        (RegisterError::NoProject, "run this inside"),
        (RegisterError::NotAbsolute { path: path() }, "begin it with `/`"),
        (RegisterError::NotText { path: path() }, "rename it or convert it"),
        (RegisterError::NoScope { host: "pi", scope: Scope::Managed }, "--scope user"),
        (RegisterError::NotAFile { file: path() }, "move it away"),
        (RegisterError::LeadsOut { file: path(), target: path() }, "remove the link"),
        (RegisterError::Linked { file: path() }, "remove the link"),
        (RegisterError::NotOurs { file: path() }, "move it away"),
        (RegisterError::TooLong { path: path(), longest: 1 << 20 }, "move it away"),
        (RegisterError::ChangedMeanwhile { file: path() }, "run this again"),
        (RegisterError::BrokenNote { path: path() }, "fix it"),
    ];
    for (error, part) in cases {
        let said = error.to_string();
        assert!(said.split_once("; ").is_some_and(|(_, help)| help.contains(part)), "{said}");
    }
}

#[test]
fn files_that_are_too_long_are_refused() {
    let machine = Machine::new();
    let grow =
        |file: &Path, mib: u64| File::options().write(true).open(file).unwrap().set_len(mib << 20).unwrap();
    let file = machine.settings("{}");
    machine.init(Scope::Project);
    grow(&file, 17);
    let error = machine.plan_init(Scope::Project).unwrap_err();
    assert!(
        matches!(error, RegisterError::TooLong { .. }) && error.to_string().contains("16 MiB"),
        "{error}"
    );
    let note = machine.dirs().state.join("registrations.json");
    grow(&note, 65);
    let error = Registrations::load(&machine.dirs().state).unwrap_err();
    assert!(
        matches!(error, RegisterError::TooLong { .. }) && error.to_string().contains("64 MiB"),
        "{error}"
    );
    fs::remove_file(&note).unwrap();
    fs::create_dir(&note).unwrap();
    let error = Registrations::load(&machine.dirs().state).unwrap_err();
    assert!(matches!(error, RegisterError::NotAFile { .. }), "{error}");
}

#[test]
fn init_warns_of_settings_that_make_the_client_drop_our_hooks() {
    let bad =
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "timeout": 0}]}]}}"#;
    for (text, part) in [
        ("{} // note", "comment (line 1)"),
        ("{\"permissions\": \"x\"}", "`permissions`"),
        (bad, "`timeout`"),
        ("{\"disableAllHooks\": true}", "`disableAllHooks`"),
    ] {
        let machine = Machine::new();
        machine.settings(text);
        let warnings = machine.plan_init(Scope::Project).unwrap().warnings;
        assert!(warnings.iter().any(|warning| warning.contains(part)), "{text}: {warnings:?}");
    }
    let machine = Machine::new();
    machine.settings(OTHER_HOOKS);
    assert_eq!(machine.plan_init(Scope::Project).unwrap().warnings, Vec::<String>::new());
}

#[test]
fn a_symlinked_settings_file_is_written_at_its_target() {
    let machine = Machine::new();
    let target = machine.path("home/dotfiles.json");
    fs::write(&target, "{\n  \"model\": \"opus\"\n}\n").unwrap();
    fs::create_dir(machine.path("home/.claude")).unwrap();
    let link = machine.path("home/.claude/settings.json");
    symlink("../dotfiles.json", &link).unwrap();
    let plan = machine.plan_init(Scope::User).unwrap();
    assert_eq!(plan.files[0].target, target);
    apply(&plan).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(parsed(&target)["hooks"].as_object().unwrap().len(), events().len());
    machine.uninstall(Scope::User);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&target).unwrap(), "{\n  \"model\": \"opus\"\n}\n");
    // A link to nothing would create a file at a place of the link's choosing.
    fs::remove_file(&target).unwrap();
    assert!(matches!(machine.plan_init(Scope::User), Err(RegisterError::NotAFile { .. })));
}

#[test]
fn a_file_that_changed_after_the_plan_is_not_overwritten() {
    let machine = Machine::new();
    let file = machine.settings("{}");
    let plan = machine.plan_init(Scope::Project).unwrap();
    fs::write(&file, "{\"model\": \"opus\"}").unwrap();
    assert!(matches!(apply(&plan), Err(RegisterError::ChangedMeanwhile { .. })));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"model\": \"opus\"}");
}

#[test]
fn a_directory_that_became_a_link_after_the_plan_is_not_followed() {
    let machine = Machine::new();
    machine.settings("{}");
    let plan = machine.plan_init(Scope::Project).unwrap();
    fs::rename(machine.path("project/.claude"), machine.path("home/.claude")).unwrap();
    symlink(machine.path("home/.claude"), machine.path("project/.claude")).unwrap();
    assert!(matches!(apply(&plan), Err(RegisterError::ChangedMeanwhile { .. })));
    assert_eq!(fs::read_to_string(machine.path("home/.claude/settings.json")).unwrap(), "{}");
}

#[test]
fn a_link_inside_of_the_project_is_followed() {
    let machine = Machine::new();
    fs::create_dir(machine.path("project/shared")).unwrap();
    symlink("shared", machine.path("project/.claude")).unwrap();
    machine.init(Scope::Project);
    assert!(machine.path("project/shared/settings.json").is_file());
    machine.uninstall(Scope::Project);
    assert!(!machine.path("project/shared/settings.json").exists());
}

#[test]
fn uninstall_forgets_a_project_that_is_gone() {
    let machine = Machine::new();
    machine.init(Scope::Project);
    fs::remove_dir_all(machine.path("project")).unwrap();
    machine.uninstall(Scope::Project);
    assert_eq!(Registrations::load(&machine.dirs().state).unwrap(), Registrations::default());
    assert!(!machine.path("project").exists());
}

#[test]
fn the_diff_shows_only_what_is_added_and_no_escape_sequences() {
    let machine = Machine::new();
    machine.settings("{\n  // \u{1b}[2J gone\n  \"model\": \"opus\"\n}\n");
    let plan = machine.plan_init(Scope::Project).unwrap();
    let diff = plan.diff();
    assert!(diff.contains("+    \"PreToolUse\": ["), "{diff}");
    assert!(!diff.contains('\u{1b}') && diff.contains("\\u{1b}[2J"), "{diff}");
    assert_eq!(diff.lines().filter(|line| line.starts_with('-')).count(), 2, "{diff}");
}

#[test]
fn concurrent_registrations_are_all_noted() {
    let machine = Machine::new();
    let all: Vec<_> = (0..8).map(|i| machine.path(&format!("project/{i}"))).collect();
    std::thread::scope(|scope| {
        for project in &all {
            let machine = &machine;
            scope.spawn(move || {
                fs::create_dir(project).unwrap();
                let places = machine.places_of(project, |_| None);
                let state = machine.dirs().state;
                apply(&plan_init(&places, Scope::Local, &machine.line(), &state).unwrap()).unwrap();
            });
        }
    });
    let registrations = Registrations::load(&machine.dirs().state).unwrap();
    for project in &all {
        let noted = registrations.find(HOST, &project.join(".claude/settings.local.json")).unwrap();
        assert_eq!(noted.created_dirs, [project.join(".claude")]);
    }
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(machine.dirs().state), 0o700);
    assert_eq!(mode(machine.dirs().state.join("registrations.json")), 0o600);
}

fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "core.excludesFile=/dev/null"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn registering_in_a_linked_worktree_leaves_the_main_checkout_unchanged() {
    for (scope, name) in [(Scope::Project, "settings.json"), (Scope::Local, "settings.local.json")] {
        let machine = Machine::new();
        let (main, tree) = (machine.path("project"), machine.path("tree"));
        git(&main, &["init", "-q", "-b", "main"]);
        fs::create_dir(main.join(".claude")).unwrap();
        fs::write(main.join(".claude/settings.json"), "{\n  \"model\": \"opus\"\n}\n").unwrap();
        git(&main, &["add", "."]);
        git(&main, &["commit", "-q", "-m", "start"]);
        git(&main, &["worktree", "add", "-q", "-b", "work", tree.to_str().unwrap()]);
        let places = machine.places_of(&tree, |_| None);
        let state = machine.dirs().state;
        let before = checkout(&main);
        apply(&plan_init(&places, scope, &machine.line(), &state).unwrap()).unwrap();
        assert_eq!(git(&main, &["status", "--porcelain"]), "", "{scope}");
        let changed = git(&tree, &["status", "--porcelain", "-uall"]);
        let mark = if scope == Scope::Project { " M" } else { "??" };
        assert_eq!(changed, format!("{mark} .claude/{name}\n"), "{scope}");
        apply(&plan_uninstall(&places, scope, &machine.line(), &state).unwrap()).unwrap();
        assert_eq!(git(&tree, &["status", "--porcelain", "-uall"]), "", "{scope}");
        assert_eq!(checkout(&main), before, "{scope}");
    }
}

/// The checkout without `.git`, whose index git itself refreshes.
fn checkout(dir: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let git = dir.join(".git");
    tree(dir).into_iter().filter(|(path, _)| !path.starts_with(&git)).collect()
}

#[test]
fn a_changed_settings_file_is_judged_as_the_client_reads_it() {
    use ConfigChange::{Harmless, HooksOff, RegistrationGone, Unreadable};
    let machine = Machine::new();
    let ours = claude_code::print(&machine.line()).unwrap();
    let value: Value = serde_json::from_str(&ours).unwrap();
    let with = |pointer: &str, new: Value| {
        let mut value = value.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        value.pointer_mut(parent).unwrap()[key] = new;
        value.to_string()
    };
    let beside = |handler: Value| {
        let mut value = value.clone();
        value["hooks"]["PreToolUse"].as_array_mut().unwrap().push(handler);
        value.to_string()
    };
    let nested = |handler: Value| beside(json!({ "hooks": [handler] }));
    let first = "/hooks/PreToolUse/0/hooks/0";
    let deep = format!("{{\"a\": {}{}, \"disableAllHooks\": true}}", "[".repeat(5000), "]".repeat(5000));
    #[rustfmt::skip]
    // text, when registered here, when not
    let cases: Vec<(String, ConfigChange, ConfigChange)> = vec![
        (ours.clone(), Harmless, Harmless),
        ("{}".into(), RegistrationGone, Harmless),
        (String::new(), Unreadable, Harmless),
        ("{".into(), Unreadable, Harmless),
        ("[]".into(), Unreadable, Harmless),
        (format!("// c\n{ours}"), Unreadable, Harmless),
        (format!("\u{feff}{ours}"), Unreadable, Harmless),
        (ours.replacen("15,", "15,,", 1), Unreadable, Harmless),
        ("{\"disableAllHooks\": true}".into(), HooksOff, HooksOff),
        ("{\"disableAllHooks\": \"yes\"}".into(), HooksOff, HooksOff),
        ("{\"disableAllHooks\": null}".into(), HooksOff, HooksOff),
        ("{\"disable\\u0041llHooks\": true}".into(), HooksOff, HooksOff),
        // What the client reads and our parser does not.
        ("{\"x\": \"\\ud800\", \"disableAllHooks\": true}".into(), Unreadable, HooksOff),
        ("{\"x\": 1e999, \"disableAllHooks\": true}".into(), Unreadable, HooksOff),
        (deep, Unreadable, HooksOff),
        (ours.replacen('{', "{\"disableAllHooks\": false,", 1), Harmless, Harmless),
        (ours.replacen('{', "{\"disableAllHooks\": true,", 1), HooksOff, HooksOff),
        (ours.replacen('{', "{\"permissions\": \"x\",", 1), Unreadable, Harmless),
        (ours.replacen('{', "{\"unknown\": 1,", 1), Harmless, Harmless),
        (with("/hooks", json!([])), Unreadable, Harmless),
        (with("/hooks/PreToolUse", json!([])), RegistrationGone, Harmless),
        (with("/hooks/PreToolUse", json!({})), RegistrationGone, Harmless),
        (with("/hooks/Other", json!(5)), Harmless, Harmless),
        (with(&format!("{first}/command"), json!("/bin/true")), RegistrationGone, Harmless),
        (with(&format!("{first}/args"), json!(["version"])), RegistrationGone, Harmless),
        (with(&format!("{first}/timeout"), json!(0)), RegistrationGone, Harmless),
        (with(&format!("{first}/timeout"), json!("5")), RegistrationGone, Harmless),
        (with(&format!("{first}/onFailure"), json!("bogus")), RegistrationGone, Harmless),
        (with(&format!("{first}/async"), json!(true)), RegistrationGone, Harmless),
        (with(&format!("{first}/once"), json!(true)), RegistrationGone, Harmless),
        (with(&format!("{first}/if"), json!("Bash(ls)")), RegistrationGone, Harmless),
        (with(&format!("{first}/type"), json!("magic")), RegistrationGone, Harmless),
        (with("/hooks/PreToolUse/0/matcher", json!("Bash")), RegistrationGone, Harmless),
        (with("/hooks/PreToolUse/0/matcher", json!("*")), Harmless, Harmless),
        (with("/hooks/PreToolUse/0/matcher", json!(5)), RegistrationGone, Harmless),
        (beside(json!({ "type": "command", "command": "x" })), RegistrationGone, Harmless),
        (nested(json!({ "type": "command" })), RegistrationGone, Harmless),
        (nested(json!({ "type": "command", "command": "x", "timeout": -1 })), RegistrationGone, Harmless),
        (nested(json!({ "type": "command", "command": "x", "novel": 1 })), Harmless, Harmless),
    ];
    for (text, registered, elsewhere) in cases {
        let start: String = text.chars().take(200).collect();
        assert_eq!(config_change(text.as_bytes(), true), registered, "registered: {start}");
        assert_eq!(config_change(text.as_bytes(), false), elsewhere, "elsewhere: {start}");
    }
    let shell = |command: &str| {
        json!({ "hooks": { "PreToolUse": [{ "hooks": [{ "type": "command", "command": command }] }] } })
            .to_string()
    };
    for (command, expected) in [
        ("/usr/bin/toolgate hook claude-code --home /home/u", Harmless),
        ("'/usr/bin/toolgate' hook claude-code", Harmless),
        ("true # toolgate hook claude-code", RegistrationGone),
        ("/usr/bin/toolgate hook claude-code || true", RegistrationGone),
        ("echo toolgate hook claude-code", RegistrationGone),
    ] {
        assert_eq!(config_change(shell(command).as_bytes(), true), expected, "{command}");
    }
}

/// Denies writes and has no opinion about reads, as the gate does.
const GOOD: &str = r#"read -r event
case $event in *'"tool_name":"Write"'*)
  echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}' ;;
esac"#;

impl Machine {
    /// Writes a script through another process: a descriptor that is open for writing here could be inherited
    /// by a child of another test, and the script then not be started ("text file busy").
    fn script(&self, path: &str, body: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut shell = Command::new("/bin/sh")
            .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        write!(shell.stdin.take().unwrap(), "#!/bin/sh\n{body}\n").unwrap();
        assert!(shell.wait().unwrap().success());
        path
    }

    /// SessionOptions, with a hook of this kind.
    fn with_hook(scope: Scope, body: &str) -> Machine {
        let machine = Machine::new();
        machine.script("bin/toolgate", body);
        machine.init(scope);
        machine
    }

    fn diagnose(&self) -> Diagnosis {
        examine(&Subject { places: &self.places(), dirs: &self.dirs() }, &ClaudeCode)
    }

    /// Sets one thing in a settings file: `-` appends to an array, `null` takes it out.
    fn set(&self, scope: Scope, pointer: &str, value: Value) {
        let file = ClaudeCode.file(&self.places(), scope).unwrap();
        let mut settings = if file.exists() { parsed(&file) } else { json!({}) };
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match settings.pointer_mut(parent).unwrap() {
            Value::Array(list) => list.push(value),
            Value::Object(members) if value.is_null() => drop(members.remove(key)),
            members => members[key] = value,
        }
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, settings.to_string()).unwrap();
    }

    /// Changes the text of a settings file.
    fn rewrite(&self, scope: Scope, change: impl FnOnce(String) -> String) {
        let file = ClaudeCode.file(&self.places(), scope).unwrap();
        fs::write(&file, change(fs::read_to_string(&file).unwrap())).unwrap();
    }
}

fn status(diagnosis: &Diagnosis, id: &str) -> Option<Status> {
    diagnosis.checks.iter().filter(|check| check.id == id).map(|check| check.status).max()
}

/// Inactive, for this reason, and the last line says so.
fn assert_inactive(name: &str, diagnosis: &Diagnosis, id: &str, part: &str) {
    let shown = rendered(diagnosis);
    assert!(!diagnosis.active, "{name}:\n{shown}");
    let found = diagnosis
        .checks
        .iter()
        .any(|check| check.id == id && check.status == Status::Fail && check.text.contains(part));
    assert!(found, "{name}: no `{id}` that says `{part}`:\n{shown}");
    assert!(shown.lines().last().unwrap().starts_with("inactive: "), "{name}:\n{shown}");
}

fn rendered(diagnosis: &Diagnosis) -> String {
    let mut out = Vec::new();
    diagnosis.render(&mut out, false).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_working_hook_is_diagnosed_as_active_in_every_scope() {
    for scope in SCOPES {
        let machine = Machine::with_hook(scope, GOOD);
        let diagnosis = machine.diagnose();
        let shown = rendered(&diagnosis);
        assert!(diagnosis.active, "{scope}:\n{shown}");
        for id in ["registered", "binary", "state", "canary-deny", "canary-allow"] {
            assert_eq!(status(&diagnosis, id), Some(Status::Ok), "{scope}, {id}:\n{shown}");
        }
        assert_eq!(status(&diagnosis, "client"), Some(Status::Info), "{scope}");
        let others = diagnosis.checks.iter().filter(|check| check.id != "transcripts");
        let worst = others.map(|check| check.status).max();
        assert_eq!(worst, Some(Status::Ok), "{scope}:\n{shown}");
    }
}

#[test]
fn the_doctor_warns_of_a_client_that_deletes_its_transcripts_soon() {
    let machine = Machine::with_hook(Scope::User, GOOD);
    let says = |wanted: Status, days: &str| {
        let diagnosis = machine.diagnose();
        let shown = rendered(&diagnosis);
        assert_eq!(status(&diagnosis, "transcripts"), Some(wanted), "{shown}");
        assert!(shown.contains(&format!("deletes its transcripts after {days} days")), "{shown}");
        assert!(diagnosis.active, "{shown}");
    };
    says(Status::Warn, "30");
    let set = |file: &str, days: u32| {
        let file = machine.path(file);
        let text = fs::read_to_string(&file).unwrap_or_else(|_| "{}".into());
        let mut settings: Value = serde_json::from_str(&text).unwrap();
        settings["cleanupPeriodDays"] = json!(days);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, settings.to_string()).unwrap();
    };
    set("home/.claude/settings.json", 4000);
    says(Status::Info, "4000");
    set("project/.claude/settings.json", 7);
    says(Status::Warn, "7");
}

#[test]
fn the_doctor_says_who_seals_and_up_to_where() {
    let machine = Machine::with_hook(Scope::User, GOOD);
    let shown = || rendered(&machine.diagnose());
    let state = machine.dirs().state;
    assert!(shown().contains("your own user seals them (level own)"), "{}", shown());
    let draft = toolgate_evidence::Draft::new(
        std::time::SystemTime::now(),
        "toolgate",
        toolgate_secrets::redact("test"),
    );
    let soon = Instant::now() + Duration::from_secs(9);
    toolgate_evidence::Ledger::at(&state).append(draft, soon).unwrap();
    toolgate_evidence::proof::seal(&state, std::time::SystemTime::now(), false).unwrap();
    let said = shown();
    assert!(said.contains("your own user has sealed it up to record 2 of 2 (level own)"), "{said}");
    assert!(said.contains("none of it is signed or stamped elsewhere"), "{said}");
    fs::write(state.join("tlog/anchors/2.tsr"), "stamp").unwrap_or_else(|_| {
        fs::create_dir(state.join("tlog/anchors")).unwrap();
        fs::write(state.join("tlog/anchors/2.tsr"), "stamp").unwrap();
    });
    let said = shown();
    assert!(said.contains("signed or stamped elsewhere up to record 2"), "{said}");
    fs::write(state.join("tlog/checkpoints"), "nonsense").unwrap();
    assert_eq!(status(&machine.diagnose(), "log"), Some(Status::Warn));
}

#[test]
fn a_hook_that_does_not_answer_properly_is_inactive() {
    let deny = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}"#;
    let cases = [
        ("silent", ":".to_owned(), "canary-deny", "said nothing"),
        ("exit 1", "exit 1".to_owned(), "canary-deny", "exit code 1"),
        ("exit 1 after a denial", format!("echo '{deny}'; exit 1"), "canary-deny", "exit code 1"),
        ("crash", "kill -SEGV $$".to_owned(), "canary-deny", "signal"),
        ("text before", format!("echo hello; echo '{deny}'"), "canary-deny", "one JSON object"),
        ("twice", format!("echo '{deny}'; echo '{deny}'"), "canary-deny", "one JSON object"),
        ("array", format!("echo '[{deny}]'"), "canary-deny", "one JSON object"),
        ("other event", format!("echo '{}'", deny.replace("Pre", "Post")), "canary-deny", "hookEventName"),
        ("allow", format!("echo '{}'", deny.replace("deny", "allow")), "canary-deny", "`allow`"),
        ("denies all", format!("echo '{deny}'"), "canary-allow", "was denied"),
    ];
    for (name, body, id, part) in cases {
        let machine = Machine::with_hook(Scope::User, &body);
        assert_inactive(name, &machine.diagnose(), id, part);
    }
}

#[test]
fn a_hook_that_hangs_is_ended_with_what_it_started() {
    let machine = Machine::new();
    let pids = machine.path("pids");
    machine.script("bin/toolgate", &format!("sleep 600 &\necho $! $$ > '{}'\nsleep 600", pids.display()));
    machine.init(Scope::User);
    let start = Instant::now();
    assert_inactive("hangs", &machine.diagnose(), "canary-deny", "did not answer within 5 s");
    assert!(start.elapsed() < Duration::from_mins(1));
    for pid in fs::read_to_string(pids).unwrap().split_whitespace() {
        let gone = || match fs::read_to_string(format!("/proc/{pid}/stat")) {
            Err(_) => true,
            // Ended, and only not yet waited for by whoever inherited it.
            Ok(line) => line.rsplit(')').next().unwrap().trim().starts_with('Z'),
        };
        while !gone() {
            assert!(start.elapsed() < Duration::from_mins(1), "{pid} still runs");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_hook_that_cannot_start_is_inactive() {
    let machine = Machine::with_hook(Scope::User, GOOD);
    let binary = machine.path("bin/toolgate");
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o644)).unwrap();
    assert_inactive("not executable", &machine.diagnose(), "binary", "executable");
    fs::remove_file(&binary).unwrap();
    let diagnosis = machine.diagnose();
    assert_inactive("missing", &diagnosis, "binary", "No such file");
    assert_inactive("missing", &diagnosis, "canary-deny", "could not be started");
}

#[test]
fn a_hook_that_the_client_never_asks_is_inactive() {
    use Scope::{Local, Managed, Project, User};
    let bad = json!({ "hooks": [{ "type": "command", "command": "x", "timeout": 0 }] });
    let shell = json!([{ "hooks": [{ "type": "command", "command": "toolgate hook claude-code || true" }] }]);
    #[rustfmt::skip]
    // the change, and what is said about it
    let cases = [
        (User,    "/disableAllHooks",             json!(true),       "disable-all-hooks", "user settings"),
        (Project, "/disableAllHooks",             json!(true),       "disable-all-hooks", "project settings"),
        (Local,   "/disableAllHooks",             json!(true),       "disable-all-hooks", "local settings"),
        (Managed, "/allowManagedHooksOnly",       json!(true),       "managed-only",      "allowManagedHooksOnly"),
        (Managed, "/hooks",                       json!([]),         "readable",          "does not start"),
        (User,    "/permissions",                 json!("x"),        "readable",          "`permissions`"),
        (User,    "/hooks",                       json!({}),         "registered",        "no settings file"),
        (User,    "/hooks/PreToolUse",            Value::Null,       "events",            "PreToolUse"),
        (User,    "/hooks/PreToolUse",            shell,             "exec-form",         "more than start"),
        (User,    "/hooks/PreToolUse/-",          bad,               "neighbours",        "`timeout`"),
        (User,    "/hooks/PreToolUse/0/matcher",  json!("Bash"),     "matcher",           "`Bash`"),
        (User,    "/hooks/PreToolUse/0/hooks/0/if", json!("Bash(x)"), "matcher",          "`if`"),
        (User,    "/hooks/PreToolUse/0/hooks/0/async", json!(true),  "async",             "does not wait"),
    ];
    for (scope, pointer, value, id, part) in cases {
        let machine = Machine::with_hook(User, GOOD);
        machine.set(scope, pointer, value);
        assert_inactive(pointer, &machine.diagnose(), id, part);
    }
    let machine = Machine::with_hook(User, GOOD);
    machine.rewrite(User, |text| format!("// mine\n{text}"));
    assert_inactive("comment", &machine.diagnose(), "readable", "a comment (line 1)");
    machine.rewrite(User, |text| format!("{text}}}"));
    assert_inactive("broken", &machine.diagnose(), "readable", "not JSON");
}

#[test]
fn managed_hooks_stay_active_when_other_settings_disable_hooks() {
    let machine = Machine::with_hook(Scope::Managed, GOOD);
    machine.init(Scope::User);
    for scope in [Scope::User, Scope::Project, Scope::Local] {
        machine.set(scope, "/disableAllHooks", json!(true));
    }
    let diagnosis = machine.diagnose();
    assert!(diagnosis.active, "{}", rendered(&diagnosis));
    assert_eq!(status(&diagnosis, "disable-all-hooks"), Some(Status::Warn));
    assert_eq!(status(&diagnosis, "managed-only"), Some(Status::Warn));
    // But not their own switch.
    machine.set(Scope::Managed, "/disableAllHooks", json!(true));
    assert_inactive("off in managed", &machine.diagnose(), "disable-all-hooks", "managed settings");
}

#[test]
fn a_second_registration_makes_up_for_a_broken_file() {
    let machine = Machine::with_hook(Scope::User, GOOD);
    machine.init(Scope::Local);
    assert_eq!(status(&machine.diagnose(), "doubled"), Some(Status::Warn));
    machine.rewrite(Scope::Local, |text| format!("// mine\n{text}"));
    let diagnosis = machine.diagnose();
    assert!(diagnosis.active, "{}", rendered(&diagnosis));
    assert_eq!(status(&diagnosis, "readable"), Some(Status::Warn));
    assert_eq!(status(&diagnosis, "doubled"), None);
}

/// Active, and warned about this.
fn assert_warned(diagnosis: &Diagnosis, id: &str, part: &str) {
    let shown = rendered(diagnosis);
    assert!(diagnosis.active, "{id}, {part}:\n{shown}");
    let mut checks = diagnosis.checks.iter();
    let warned =
        checks.any(|check| check.id == id && check.status == Status::Warn && check.text.contains(part));
    assert!(warned, "{id}, {part}:\n{shown}");
}

#[test]
fn settings_that_weaken_an_active_gate_are_warned_about() {
    use Scope::{Local, Project, User};
    let machine = Machine::new();
    let homes = json!({ "HOME": "/tmp", "XDG_STATE_HOME": "/tmp", "EDITOR": "vi" });
    #[rustfmt::skip]
    let cases = [
        (User,    "/hooks/PreToolUse/0/hooks/0/onFailure", Value::Null,                  "on-failure", "onFailure"),
        (User,    "/hooks/PreToolUse/0/hooks/0/timeout",   json!(9),                     "timeout",    "after 9 s"),
        (User,    "/hooks/Stop",                           Value::Null,                  "events",     "Stop"),
        (User,    "/hooks/Stop/-",                         json!({ "type": "command" }), "neighbours", "Stop"),
        (Project, "/env",                                  homes,                        "env",        "HOME, XDG_STATE_HOME"),
        (Local,   "/env", json!({ "CLAUDE_CODE_SIMPLE": "1" }),                          "env",        "CLAUDE_CODE_SIMPLE"),
    ];
    machine.script("bin/toolgate", GOOD);
    for (scope, pointer, value, id, part) in cases {
        machine.init(User);
        machine.set(scope, pointer, value);
        assert_warned(&machine.diagnose(), id, part);
        machine.uninstall(User);
    }
    machine.init(User);
    let text = format!("'{}' hook claude-code", machine.path("bin/toolgate").display());
    machine.set(User, "/hooks/PreToolUse", json!([{ "hooks": [{ "type": "command", "command": text }] }]));
    assert_warned(&machine.diagnose(), "exec-form", "through a shell");
    let chmod = |path: PathBuf, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    chmod(machine.dirs().state, 0o755);
    assert_warned(&machine.diagnose(), "state", "open to others");
    chmod(machine.path("bin"), 0o777);
    assert_warned(&machine.diagnose(), "binary", "bin`, so they can replace the gate");
    chmod(machine.path("bin/toolgate"), 0o775);
    assert_warned(&machine.diagnose(), "binary", "bin/toolgate`, so they can replace the gate");
}

#[test]
fn doctor_rates_the_version_that_the_client_prints() {
    for (said, expected) in [
        ("echo '2.1.295 (Claude Code)'", Status::Ok),
        ("echo '2.2.0'", Status::Ok),
        ("echo '2.0.999 (Claude Code)'", Status::Warn),
        ("echo nonsense", Status::Info),
        ("exit 3", Status::Info),
        // The test has this variable; the client is not to be given any but two.
        ("[ -z \"$CARGO_PKG_NAME\" ] && [ -n \"$HOME\" ] && echo 2.1.300", Status::Ok),
    ] {
        let machine = Machine::with_hook(Scope::User, GOOD);
        machine.script("clients/claude", said);
        assert_eq!(status(&machine.diagnose(), "client"), Some(expected), "{said}");
    }
}

#[test]
fn doctor_does_not_run_a_hook_that_came_with_the_repository() {
    let ran = |machine: &Machine| machine.path("project/ran").exists();
    let body = "touch \"$CLAUDE_PROJECT_DIR/ran\"";
    for handler in [
        json!({ "type": "command", "command": "PROJECT/toolgate", "args": ["hook", "claude-code"] }),
        json!({ "type": "command", "command": "./toolgate", "args": ["hook", "claude-code"] }),
        json!({ "type": "command", "command": "PROJECT/toolgate hook claude-code" }),
        // Beside a directory that calls itself a project, in what may be an agent's worktree.
        json!({ "type": "command", "command": "PROJECT/../planted/toolgate", "args": ["hook", "claude-code"] }),
        json!({ "type": "command", "command": "PROJECT/../missing/toolgate", "args": ["hook", "claude-code"] }),
    ] {
        let machine = Machine::new();
        machine.script("project/toolgate", body);
        machine.script("planted/toolgate", body);
        let project = machine.path("project");
        let settings = json!({ "hooks": { "PreToolUse": [{ "hooks": [handler] }] } }).to_string();
        machine.settings(&settings.replace("PROJECT", project.to_str().unwrap()));
        assert_inactive("from the repository", &machine.diagnose(), "canary-deny", "not run");
        assert!(!ran(&machine));
    }
    // A client inside the project is not asked for its version either.
    let machine = Machine::with_hook(Scope::User, GOOD);
    machine.script("project/claude", body);
    let path = machine.path("project").into_os_string();
    let places = machine.places_of(&machine.path("project"), |name| (name == "PATH").then(|| path.clone()));
    let diagnosis = examine(&Subject { places: &places, dirs: &machine.dirs() }, &ClaudeCode);
    assert_eq!(status(&diagnosis, "client"), Some(Status::Info));
    assert!(!ran(&machine));
    // What init wrote is run, and warned about.
    let mut line = machine.line();
    line.binary = machine.script("project/toolgate", GOOD);
    machine.uninstall(Scope::User);
    apply(&plan_init(&machine.places(), Scope::Project, &line, &machine.dirs().state).unwrap()).unwrap();
    let diagnosis = machine.diagnose();
    assert!(diagnosis.active, "{}", rendered(&diagnosis));
    assert_eq!(status(&diagnosis, "binary"), Some(Status::Warn));
}

#[test]
fn the_diagnosis_is_printed_as_text_and_json_without_escape_sequences() {
    let machine = Machine::with_hook(Scope::User, GOOD);
    machine.set(Scope::User, "/hooks/PreToolUse/0/matcher", json!("Bash\u{1b}[2J\nactive: yes"));
    let diagnosis = machine.diagnose();
    let shown = rendered(&diagnosis);
    assert!(
        shown.contains("✗ matcher      the matcher `Bash\\u{1b}[2J active: yes` leaves tools out"),
        "{shown}"
    );
    assert!(shown.contains("\n                 run `toolgate init` again\n"), "{shown}");
    assert!(shown.lines().last().unwrap().starts_with("inactive: the matcher"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown}");
    let mut coloured = Vec::new();
    diagnosis.render(&mut coloured, true).unwrap();
    assert!(String::from_utf8(coloured).unwrap().contains("\u{1b}[31m✗\u{1b}[0m"));
    let json = serde_json::to_value(&diagnosis).unwrap();
    assert_eq!(json["active"], false);
    let checks = json["checks"].as_array().unwrap();
    let matcher = checks.iter().find(|check| check["id"] == "matcher").unwrap();
    assert_eq!(matcher["status"], "fail");
    assert_eq!(matcher["help"], "run `toolgate init` again");
}
