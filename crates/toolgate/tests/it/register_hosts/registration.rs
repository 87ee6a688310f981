//! What init writes and uninstall takes back.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};
use toolgate_setup::register::script as script_text;

use super::machine::{HOSTS, Machine, script};

/// Host, scope.
fn everywhere() -> impl Iterator<Item = (&'static str, &'static str)> {
    HOSTS.iter().flat_map(|(host, _, scopes)| {
        std::iter::once("user").chain(scopes.iter().copied()).map(move |scope| (*host, scope))
    })
}

#[test]
fn uninstall_leaves_nothing_behind_where_there_was_nothing() {
    for (host, scope) in everywhere() {
        let machine = Machine::new();
        let place = ["--host", host, "--scope", scope];
        let before = machine.tree();
        machine.must(&[&["init", "--yes"], &place[..]].concat());
        let registered = machine.tree();
        assert_ne!(registered, before, "{host}, {scope}");
        let again = machine.must(&[&["init", "--yes"], &place[..]].concat());
        assert!(again.contains("is registered already"), "{host}, {scope}: {again}");
        assert_eq!(machine.tree(), registered, "{host}, {scope}");
        machine.must(&[&["uninstall", "--yes"], &place[..]].concat());
        assert_eq!(machine.tree(), before, "{host}, {scope}");
    }
}

const HOOKS_WITH_COMMENTS: &str = r#"// mine
{
  // the theme
  "theme": "dark", /* best */
  "hooks": {
    "BeforeTool": [ { "matcher": "write_file", "hooks": [ { "type": "command", "command": "audit.sh" } ] } ],
    "PreToolUse": [ { "matcher": "write_file", "hooks": [ { "type": "command", "command": "audit.sh" } ] } ]
  }
}
"#;

const GROUPS: &str = r#"{
	"hooks": {
		"PreToolUse": [ { "matcher": "Bash", "hooks": [ { "type": "command", "command": "audit.sh" } ] } ],
		"Stop": []
	}
}"#;

const FLAT: &str =
    r#"{ "version": 1, "hooks": { "preToolUse": [ { "command": "audit.sh" } ], "stop": [] } }"#;

const CONFIG: &str = r#"# mine
model = "gpt-5"   # the best

[projects."/p"] # trusted
trust_level = "trusted"

[hooks.state."/other/hooks.json:pre_tool_use:0:0"]
trusted_hash = "sha256:00"
"#;

const REQUIREMENTS: &str = r#"# the administrator's
allowed_approval_policies = ["on-request"]

[features] # ours
apps = false

[[hooks.PreToolUse]]
matcher = "Bash" # only this

[[hooks.PreToolUse.hooks]]
type = "command"
command = "/opt/audit"
"#;

/// Host, scope, file, what stands there, and what of it must be found after init.
#[rustfmt::skip]
const KEPT: &[(&str, &str, &str, &str, &[&str])] = &[
    ("claude-code", "user",   "home/.claude/settings.json",    GROUPS, &["audit.sh", "\"Stop\"", "\t\t"]),
    ("copilot", "user",       "home/.copilot/hooks/toolgate.json", FLAT, &["audit.sh", "\"stop\""]),
    ("copilot", "managed",    "etc/github-copilot/managed-settings.json", "{ \"theme\": 1 }\n", &["\"theme\": 1"]),
    ("codex", "user",         "home/.codex/hooks.json",        GROUPS, &["audit.sh", "\"Stop\""]),
    ("codex", "user",         "home/.codex/config.toml",       CONFIG, &["# mine", "# the best", "# trusted", "\"sha256:00\""]),
    ("codex", "project",      "home/.codex/config.toml",       CONFIG, &["# mine", "# the best", "# trusted", "\"sha256:00\""]),
    ("codex", "managed",      "etc/codex/requirements.toml",   REQUIREMENTS, &["# the administrator's", "# ours", "# only this", "/opt/audit"]),
    ("gemini", "user",        "home/.gemini/settings.json",    HOOKS_WITH_COMMENTS, &["// mine", "// the theme", "/* best */", "audit.sh"]),
    ("gemini", "managed",     "etc/gemini-cli/settings.json",  "{ \"hooksConfig\": { \"notifications\": false } }", &["\"notifications\": false"]),
    ("qwen", "project",       "project/.qwen/settings.json",   HOOKS_WITH_COMMENTS, &["// mine", "// the theme", "/* best */", "audit.sh"]),
    ("cursor", "user",        "home/.cursor/hooks.json",       FLAT, &["audit.sh", "\"stop\""]),
    ("opencode", "user",      "home/.config/opencode/plugin/other.ts", "export const Mine = 1;\n", &["Mine"]),
    ("pi", "user",            "home/.pi/agent/extensions/toolgate/mine.ts", "export const mine = 1;\n", &["mine"]),
];

#[test]
fn existing_settings_are_kept_by_init_and_restored_by_uninstall() {
    for (host, scope, file, text, parts) in KEPT {
        let machine = Machine::new();
        machine.write(file, text);
        let place = ["--yes", "--host", host, "--scope", scope];
        let before = machine.tree();
        machine.must(&[&["init"], &place[..]].concat());
        let registered = machine.tree();
        let after = machine.read(file);
        for part in *parts {
            assert!(after.contains(part), "{file}: lost `{part}`:\n{after}");
        }
        // Another line replaces the old one, and back again.
        machine.must(&[&["init", "--profile", "worktree-strict"], &place[..]].concat());
        machine.must(&[&["init"], &place[..]].concat());
        machine.must(&[&["init"], &place[..]].concat());
        assert_eq!(machine.tree(), registered, "{file}");
        machine.must(&[&["uninstall"], &place[..]].concat());
        assert_eq!(machine.tree(), before, "{file}");
    }
}

#[test]
fn uninstall_keeps_later_edits_and_removes_only_our_hooks() {
    for (host, scope, file, text, parts) in KEPT.iter().filter(|(.., parts)| parts.len() > 1) {
        let machine = Machine::new();
        machine.write(file, text);
        let place = ["--yes", "--host", host, "--scope", scope];
        machine.must(&[&["init"], &place[..]].concat());
        let toml = file.ends_with("toml");
        let (find, new) =
            if toml { ("model", "since = 1\nmodel") } else { ("\"hooks\"", "\"since\": 1, \"hooks\"") };
        let (find, new) =
            if file.contains("requirements") { ("allowed", "since = 1\nallowed") } else { (find, new) };
        machine.write(file, &machine.read(file).replacen(find, new, 1));
        machine.must(&[&["uninstall"], &place[..]].concat());
        let left = machine.read(file);
        for part in parts.iter().chain(&["since"]) {
            assert!(left.contains(part), "{file}: lost `{part}`:\n{left}");
        }
        assert!(!left.contains("toolgate hook") && !left.contains("\"hook\""), "{file}:\n{left}");
        assert!(!left.contains(&machine.text_of("")), "{file}:\n{left}");
        if toml {
            // Nothing else has moved either.
            assert_eq!(left.replacen(new, find, 1), *text, "{file}");
        }
    }
}

/// Host, scope and a file in the project that init writes.
fn project_files() -> Vec<(&'static str, &'static str, String)> {
    let mut files = Vec::new();
    for (host, scope) in everywhere().filter(|(_, scope)| ["project", "local"].contains(scope)) {
        let machine = Machine::new();
        let before = machine.tree();
        machine.must(&["init", "--yes", "--host", host, "--scope", scope]);
        let after = machine.tree();
        let new = after.iter().filter(|(path, text)| text.is_some() && !before.contains_key(*path));
        let names = new.filter_map(|(path, _)| path.strip_prefix(machine.path("project")).ok());
        files.extend(names.map(|name| (host, scope, name.to_str().unwrap().to_owned())));
    }
    assert!(files.len() >= 13, "{files:?}");
    files
}

#[test]
fn init_follows_no_link_that_leads_out_of_the_project() {
    for (host, scope, name) in project_files() {
        let refuses = |machine: &Machine, case: &str| {
            let before = machine.tree();
            for verb in ["init", "uninstall"] {
                let said = machine.must_not(&[verb, "--yes", "--host", host, "--scope", scope]);
                let told = said.contains("leads out of the project") || said.contains("is a link");
                assert!(told && said.contains("remove the link"), "{host}, {scope}, {name}, {case}: {said}");
                assert_eq!(machine.tree(), before, "{host}, {scope}, {name}, {case}, {verb}");
            }
        };
        let machine = Machine::new();
        machine.write("home/precious", "{}");
        let link = machine.path("project").join(&name);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(machine.path("home/precious"), link).unwrap();
        refuses(&machine, "the file");
        // Any directory on the way, and what it is to hold there already or not.
        let (top, below) = name.split_once('/').unwrap();
        for there in [true, false] {
            let machine = Machine::new();
            machine.write("home/elsewhere/mine", "");
            if there {
                machine.write(&format!("home/elsewhere/{below}"), "{}");
            }
            symlink(machine.path("home/elsewhere"), machine.path("project").join(top)).unwrap();
            refuses(&machine, "a directory");
        }
    }
}

#[test]
fn uninstall_does_not_follow_a_link_that_was_made_later() {
    let machine = Machine::new();
    machine.must(&["init", "--yes", "--host", "pi"]);
    machine.must(&["init", "--yes", "--host", "pi", "--scope", "project"]);
    fs::remove_dir_all(machine.path("project/.pi")).unwrap();
    symlink(machine.path("home/.pi/agent"), machine.path("project/.pi")).unwrap();
    let before = machine.tree();
    let said = machine.must_not(&["uninstall", "--yes", "--host", "pi", "--scope", "project"]);
    assert!(said.contains("leads out of the project"), "{said}");
    assert_eq!(machine.tree(), before);
}

/// Host, directory of its scripts, and the scripts in the order in which they are written.
const SCRIPTS: &[(&str, &str, [&str; 3])] = &[
    ("opencode", "home/.config/opencode/", ["toolgate/gate.ts", "toolgate/adapter.ts", "plugin/toolgate.ts"]),
    ("pi", "home/.pi/agent/extensions/toolgate/", ["gate.ts", "adapter.ts", "index.ts"]),
];

#[test]
fn init_replaces_no_script_that_is_not_ours() {
    for (host, dir, names) in SCRIPTS {
        for name in names {
            let file = format!("{dir}{name}");
            let machine = Machine::new();
            machine.write(&file, "export const mine = 1;\n");
            let before = machine.tree();
            let said = machine.must_not(&["init", "--yes", "--host", host]);
            assert!(said.contains("is not toolgate's") && said.contains("move it away"), "{file}: {said}");
            assert!(machine.must(&["uninstall", "--yes"]).contains("nothing is registered"));
            assert_eq!(machine.tree(), before, "{file}");
            // Not even what is ours, through a link.
            let machine = Machine::new();
            machine.write("home/.bashrc", &script_text("// from elsewhere\n"));
            fs::create_dir_all(machine.path(&file).parent().unwrap()).unwrap();
            symlink(machine.path("home/.bashrc"), machine.path(&file)).unwrap();
            let before = machine.tree();
            let said = machine.must_not(&["init", "--yes", "--host", host]);
            assert!(said.contains("is a link"), "{file}: {said}");
            assert_eq!(machine.tree(), before, "{file}");
            // One of another version is ours, with a note or without.
            let machine = Machine::new();
            let before = machine.tree();
            machine.write(&file, &script_text("// of another version\n"));
            machine.must(&["init", "--yes", "--host", host]);
            assert!(!machine.read(&file).contains("another version"), "{file}");
            machine.must(&["uninstall", "--yes"]);
            let left = machine.tree().into_iter().filter(|(_, text)| text.is_some()).count();
            assert_eq!(left, before.iter().filter(|(_, text)| text.is_some()).count(), "{file}");
        }
    }
}

#[test]
fn uninstall_leaves_an_edited_script_and_those_it_imports() {
    for (host, dir, names) in SCRIPTS {
        for (at, name) in names.iter().enumerate() {
            for noted in [true, false] {
                let machine = Machine::new();
                let before = machine.tree();
                machine.must(&["init", "--yes", "--host", host]);
                let file = format!("{dir}{name}");
                let changed = machine.read(&file) + "// mine\n";
                machine.write(&file, &changed);
                if !noted {
                    fs::remove_file(machine.path("home/.local/state/toolgate/registrations.json")).unwrap();
                }
                let said = machine.must(&["uninstall", "--yes"]);
                assert!(said.contains("has been changed since") && said.contains(name), "{file}: {said}");
                assert!(!said.contains("holds no") && !said.contains("nothing is"), "{file}: {said}");
                assert_eq!(machine.read(&file), changed);
                for (other, name) in names.iter().enumerate() {
                    let there = machine.path(&format!("{dir}{name}")).exists();
                    assert_eq!(there, other <= at, "{file}: {name}");
                }
                // As the warning says.
                fs::remove_file(machine.path(&file)).unwrap();
                machine.must(&["uninstall", "--yes"]);
                assert!(machine.tree().into_iter().filter(|(_, text)| text.is_some()).eq(before), "{file}");
            }
            // Changed by another version's init, it goes.
            let machine = Machine::new();
            let before = machine.tree();
            machine.must(&["init", "--yes", "--host", host]);
            machine.write(&format!("{dir}{name}"), &script_text("// of another version\n"));
            machine.must(&["uninstall", "--yes"]);
            assert_eq!(machine.tree(), before, "{host}, {name}");
        }
    }
}

/// The handler of the event that decides, as the host's own form has it.
fn gate(settings: &Value, event: &str) -> Value {
    let element = settings["hooks"][event].as_array().unwrap().last().unwrap().clone();
    if element.get("hooks").is_some() { element["hooks"][0].clone() } else { element }
}

#[test]
fn each_host_is_registered_in_its_own_form_that_fails_closed() {
    let machine = Machine::new();
    for (host, _, _) in HOSTS {
        machine.must(&["init", "--yes", "--host", host]);
    }
    let (binary, home) = (machine.text_of("bin/toolgate"), machine.text_of("home"));
    let shell = |host: &str| {
        format!(
            "{binary} hook {host} --home {home} --codes own; case $? in 80) ;; 82) exit 2 ;; *) echo 'toolgate could not run, so \
             this call is denied' >&2; exit 2 ;; esac"
        )
    };

    let copilot = machine.json("home/.copilot/hooks/toolgate.json");
    assert_eq!(copilot["version"], 1);
    for event in [
        "preToolUse",
        "permissionRequest",
        "postToolUse",
        "sessionStart",
        "sessionEnd",
        "userPromptSubmitted",
    ] {
        let args = json!(["hook", "copilot", "--event", event, "--home", home]);
        let tells = event.starts_with("session") || event.starts_with("user");
        let timeout = if tells { 15 } else { 3600 };
        let wanted = json!({ "type": "command", "exec": binary, "args": args, "timeoutSec": timeout });
        assert_eq!(copilot["hooks"][event], json!([wanted]), "{event}");
    }

    let codex = machine.json("home/.codex/hooks.json");
    for event in ["PreToolUse", "PermissionRequest"] {
        let wanted = json!({ "type": "command", "command": shell("codex"), "timeout": 3600 });
        assert_eq!(codex["hooks"][event], json!([{ "hooks": [wanted] }]), "{event}");
    }
    let withholding =
        |host: &str| shell(host).replace("this call is denied", "what the tool gave back is not shown");
    assert_eq!(gate(&codex, "PostToolUse")["command"], withholding("codex"));
    for event in ["UserPromptSubmit", "SessionStart", "SessionEnd", "Stop"] {
        let command = format!("{binary} hook codex --event {event} --home {home} || true");
        assert_eq!(gate(&codex, event)["command"], command, "{event}");
        let timeout = if event == "SessionEnd" { 3 } else { 15 };
        assert_eq!(gate(&codex, event)["timeout"], timeout, "{event}");
    }
    assert_eq!(codex.as_object().unwrap().len(), 1, "any other key makes the client drop the file");

    let gemini = machine.json("home/.gemini/settings.json");
    assert_eq!(gemini["hooks"]["BeforeTool"][0]["matcher"], "*");
    let handler = gate(&gemini, "BeforeTool");
    assert_eq!((&handler["command"], &handler["timeout"]), (&json!(shell("gemini")), &json!(3_600_000)));
    assert!(handler["name"].as_str().unwrap().len() > 20);
    assert_eq!(gate(&gemini, "AfterTool")["command"], withholding("gemini"));
    for event in ["BeforeAgent", "SessionStart", "SessionEnd"] {
        let command = format!("{binary} hook gemini --event {event} --home {home} || true");
        assert_eq!(gate(&gemini, event)["command"], command, "{event}");
        assert_eq!(gate(&gemini, event)["timeout"], 15_000, "{event}");
    }

    let qwen = machine.json("home/.qwen/settings.json");
    let wanted = json!({ "type": "command", "command": shell("qwen"), "timeout": 3_600_000 });
    assert_eq!(qwen["hooks"]["PreToolUse"], json!([{ "matcher": "*", "hooks": [wanted] }]));

    let cursor = machine.json("home/.cursor/hooks.json");
    assert_eq!(cursor["version"], 1);
    let command = shell("cursor");
    for event in
        ["preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "subagentStart"]
    {
        let wanted = json!({ "command": command, "timeout": 60, "failClosed": true });
        assert_eq!(cursor["hooks"][event], json!([wanted]), "{event}");
    }
    for event in ["beforeSubmitPrompt", "sessionStart", "sessionEnd"] {
        let command = format!("{binary} hook cursor --event {event} --home {home}");
        assert_eq!(cursor["hooks"][event], json!([{ "command": command, "timeout": 15 }]), "{event}");
    }

    let start = |host: &str| format!("{{ command: {} }}", json!([binary, "serve", host, "--home", home]));
    let plugin = machine.read("home/.config/opencode/plugin/toolgate.ts");
    assert!(
        plugin.contains("from \"../toolgate/adapter.ts\"") && plugin.contains(&start("opencode")),
        "{plugin}"
    );
    let index = machine.read("home/.pi/agent/extensions/toolgate/index.ts");
    assert!(index.contains("from \"./adapter.ts\"") && index.contains(&start("pi")), "{index}");
    for dir in ["home/.config/opencode/toolgate", "home/.pi/agent/extensions/toolgate"] {
        assert!(machine.read(&format!("{dir}/adapter.ts")).contains("from \"./gate.ts\""), "{dir}");
        assert!(machine.read(&format!("{dir}/gate.ts")).contains("export class Gate"), "{dir}");
    }
}

#[test]
fn managed_registrations_allow_managed_hooks_only() {
    let machine = Machine::new();
    for host in ["copilot", "codex", "gemini", "cursor"] {
        machine.must(&["init", "--yes", "--managed", "--host", host]);
    }
    assert_eq!(
        machine.json("etc/github-copilot/managed-settings.json"),
        json!({ "allowManagedHooksOnly": true })
    );
    let copilot = machine.json("etc/github-copilot/policy.d/50-toolgate.json");
    let args = &gate(&copilot, "preToolUse")["args"];
    assert_eq!(args, &json!(["hook", "copilot", "--event", "preToolUse", "--home", "passwd"]));
    let codex: toml::Table = machine.read("etc/codex/requirements.toml").parse().unwrap();
    assert_eq!(codex["allow_managed_hooks_only"].as_bool(), Some(true));
    assert_eq!(codex["features"]["hooks"].as_bool(), Some(true));
    assert_eq!(codex["features"]["unified_exec"].as_bool(), Some(false));
    let handler = &codex["hooks"]["PreToolUse"][0]["hooks"][0];
    assert_eq!((handler["type"].as_str(), handler["timeout"].as_integer()), (Some("command"), Some(3600)));
    assert!(handler["command"].as_str().unwrap().ends_with("exit 2 ;; esac"), "{handler}");
    assert!(!machine.path("home/.codex").exists(), "the administrator's hooks need no trust");
    assert_eq!(machine.json("etc/gemini-cli/settings.json")["hooksConfig"], json!({ "enabled": true }));
    assert!(machine.path("etc/cursor/hooks.json").is_file());
}

#[test]
fn init_marks_exactly_our_codex_hooks_as_trusted() {
    let machine = Machine::new();
    machine.write("home/.codex/hooks.json", GROUPS);
    machine.must(&["init", "--yes", "--host", "codex"]);
    let hooks = machine.json("home/.codex/hooks.json");
    let config: toml::Table = machine.read("home/.codex/config.toml").parse().unwrap();
    let state = config["hooks"]["state"].as_table().unwrap();
    let file = machine.text_of("home/.codex/hooks.json");
    // Somebody's hook stands first, and is not ours to trust.
    let key = format!("{file}:pre_tool_use:1:0");
    let command = json!(gate(&hooks, "PreToolUse")["command"]);
    let known = format!(
        r#"{{"event_name":"pre_tool_use","hooks":[{{"async":false,"command":{command},"timeout":3600,"type":"command"}}]}}"#
    );
    let sum = std::process::Command::new("sh")
        .args(["-c", "printf %s \"$1\" | sha256sum | cut -d ' ' -f 1", "sh", &known])
        .output()
        .unwrap();
    let digest = format!("sha256:{}", String::from_utf8(sum.stdout).unwrap().trim());
    assert_eq!(state[&key]["trusted_hash"].as_str(), Some(digest.as_str()));
    assert!(!state.contains_key(&format!("{file}:pre_tool_use:0:0")));
    assert_eq!(state.len(), 7);
    // Another line is trusted in place of the old one.
    machine.must(&["init", "--yes", "--host", "codex", "--profile", "worktree-strict"]);
    let config: toml::Table = machine.read("home/.codex/config.toml").parse().unwrap();
    let state = config["hooks"]["state"].as_table().unwrap();
    assert_ne!(state[&key]["trusted_hash"].as_str(), Some(digest.as_str()));
    assert_eq!(state.len(), 7);
}

#[test]
fn the_trust_digest_of_a_codex_hook_is_the_known_one() {
    // By hand: SHA-256 of {"event_name":"pre_tool_use","hooks":[{"async":false,"command":"/usr/bin/toolgate hook
    // codex","timeout":600,"type":"command"}],"matcher":"*"}
    let hooks = json!({ "hooks": { "PreToolUse": [
        { "matcher": "*", "hooks": [{ "type": "command", "command": "/usr/bin/toolgate hook codex" }] }
    ] } });
    let trusted = toolgate_setup::register::codex::trusted("/h/hooks.json", &hooks.to_string());
    let wanted = ("/h/hooks.json:pre_tool_use:0:0".to_owned(), KNOWN_DIGEST.to_owned());
    assert_eq!(trusted.into_iter().collect::<Vec<_>>(), [wanted]);
}

const KNOWN_DIGEST: &str = "sha256:5b5c0e9cbcd0c8a42ae796e1071d83680f1611c5e046b531425bd3dafbb92bbf";

#[test]
fn two_codex_registrations_in_one_file_are_undone_separately() {
    let machine = Machine::new();
    machine.write("home/.codex/config.toml", CONFIG);
    let before = machine.tree();
    let state = |machine: &Machine| machine.read("home/.codex/config.toml").matches("toolgate").count();
    assert_eq!(state(&machine), 0);
    machine.must(&["init", "--yes", "--host", "codex"]);
    let user = machine.tree();
    machine.must(&["init", "--yes", "--host", "codex", "--scope", "project"]);
    machine.must(&["uninstall", "--yes", "--host", "codex", "--scope", "project"]);
    assert_eq!(machine.tree(), user);
    machine.must(&["init", "--yes", "--host", "codex", "--scope", "project"]);
    // The first one goes first.
    machine.must(&["uninstall", "--yes", "--host", "codex", "--scope", "user"]);
    let config: toml::Table = machine.read("home/.codex/config.toml").parse().unwrap();
    let keys: Vec<_> = config["hooks"]["state"].as_table().unwrap().keys().cloned().collect();
    let project = machine.text_of("project/.codex/hooks.json");
    assert_eq!(keys.iter().filter(|key| key.starts_with(&project)).count(), 7, "{keys:?}");
    assert_eq!(keys.len(), 8, "{keys:?}");
    machine.must(&["uninstall", "--yes", "--host", "codex", "--scope", "project"]);
    assert_eq!(machine.tree(), before);
    // And both at once.
    machine.must(&["init", "--yes", "--host", "codex"]);
    machine.must(&["init", "--yes", "--host", "codex", "--scope", "project"]);
    machine.must(&["uninstall", "--yes"]);
    assert_eq!(machine.tree(), before);
}

#[test]
fn init_registers_the_installed_hosts() {
    let machine = Machine::new();
    let none = machine.must_not(&["init", "--yes"]);
    assert!(
        none.contains("no host was found") && none.contains("--host") && none.contains("codex"),
        "{none}"
    );
    // One by its directory, one by its program, one by neither.
    fs::create_dir_all(machine.path("home/.gemini")).unwrap();
    script(&machine.path("clients/codex"), "exit 0");
    let before = machine.tree();
    let said = machine.must(&["init", "--yes"]);
    assert!(said.starts_with("found Codex CLI, Gemini CLI\n"), "{said}");
    assert!(machine.path("home/.codex/hooks.json").is_file());
    assert!(machine.path("home/.gemini/settings.json").is_file());
    assert!(!machine.path("home/.claude").exists());
    assert!(machine.must(&["init", "--yes"]).contains("is registered already"));
    assert!(machine.must(&["init", "--yes"]).matches("is registered already").count() == 2);
    machine.must(&["uninstall", "--yes"]);
    assert_eq!(machine.tree(), before);
    // A program that came with the project is no host.
    let mut machine = Machine::new();
    script(&machine.path("project/bin/codex"), "exit 0");
    machine.set("PATH", machine.path("project/bin"));
    machine.must_not(&["init", "--yes"]);
}

#[test]
fn dry_run_and_print_write_nothing() {
    let machine = Machine::new();
    for (host, _, _) in HOSTS {
        let before = machine.tree();
        let said = machine.must(&["init", "--dry-run", "--host", host]);
        assert!(said.contains("+++ ") && said.contains("toolgate"), "{host}: {said}");
        let printed = machine.must(&["init", "--print", "--host", host, "--agent", "a b"]);
        assert!(printed.contains("a b") && printed.contains("--agent"), "{host}: {printed}");
        assert_eq!(machine.tree(), before, "{host}");
    }
    let printed: Value = serde_json::from_str(&machine.must(&["init", "--print"])).unwrap();
    assert!(printed["hooks"]["PreToolUse"].is_array(), "without a host it is Claude Code's, as ever");
    assert!(machine.must_not(&["init", "--print", "--host", "pi", "--host", "qwen"]).contains("one host"));
}

#[test]
fn hosts_with_moved_settings_are_registered_and_uninstalled_there() {
    let cases: &[(&str, &'static str, &str)] = &[
        ("claude-code", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("copilot", "COPILOT_HOME", "hooks/toolgate.json"),
        ("codex", "CODEX_HOME", "hooks.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/plugin/toolgate.ts"),
        ("pi", "PI_CODING_AGENT_DIR", "extensions/toolgate/index.ts"),
    ];
    for &(host, variable, file) in cases {
        let mut machine = Machine::new();
        machine.write("elsewhere/mine", "");
        machine.set(variable, machine.path("elsewhere"));
        let before = machine.tree();
        machine.must(&["init", "--yes", "--host", host]);
        assert!(machine.path("elsewhere").join(file).is_file(), "{variable}: {file}");
        assert_eq!(machine.tree(), before, "{variable}: nothing in the usual place");
        machine.clear();
        machine.must(&["uninstall", "--yes"]);
        let left: Vec<_> = fs::read_dir(machine.path("elsewhere")).unwrap().flatten().collect();
        let left: Vec<_> =
            left.iter().map(fs::DirEntry::file_name).filter(|name| name != "toolgate").collect();
        assert_eq!(left, ["mine"], "{variable}");
    }
}

#[test]
fn init_refuses_a_scope_or_a_host_that_cannot_be_registered() {
    let machine = Machine::new();
    for (host, _, scopes) in HOSTS {
        for scope in ["project", "local", "managed"].iter().filter(|scope| !scopes.contains(scope)) {
            let said = machine.must_not(&["init", "--yes", "--host", host, "--scope", scope]);
            assert!(said.contains(&format!("has no {scope} settings")), "{host}: {said}");
        }
    }
    for (host, part) in [
        ("generic", "toolgate serve generic"),
        ("copilot-sdk", "createSession"),
        ("mpm", "toolgate hook mpm"),
    ] {
        let said = machine.must_not(&["init", "--yes", "--host", host]);
        assert!(said.contains(part) && said.trim_end().lines().count() == 1, "{host}: {said}");
    }
    // Found by itself, it is only left out.
    fs::create_dir_all(machine.path("home/.pi/agent")).unwrap();
    fs::create_dir_all(machine.path("home/.codex")).unwrap();
    let said = machine.must(&["init", "--yes", "--managed"]);
    assert!(said.contains("pi has no managed settings and is left out"), "{said}");
    assert!(machine.path("etc/codex/requirements.toml").is_file());
}

#[test]
fn a_broken_file_does_not_stop_init_for_other_hosts() {
    let machine = Machine::new();
    machine.write("home/.gemini/settings.json", "{ \"theme\": }");
    machine.write("home/.codex/config.toml", "model = \n");
    fs::create_dir_all(machine.path("home/.qwen")).unwrap();
    let said = machine.must_not(&["init", "--yes"]);
    assert!(said.contains("Gemini CLI: ") && said.contains("is not JSON (line 1"), "{said}");
    assert!(said.contains("Codex CLI: ") && said.contains("is not TOML (line 1"), "{said}");
    assert!(machine.path("home/.qwen/settings.json").is_file());
    assert!(!machine.path("home/.codex/hooks.json").exists(), "all files of a host or none");
    assert_eq!(machine.read("home/.gemini/settings.json"), "{ \"theme\": }");
}

#[test]
fn init_takes_its_files_back_when_one_cannot_be_written() {
    let machine = Machine::new();
    // The last file of three cannot be made: a file stands where its directory would be.
    machine.write("home/.config/opencode/plugin", "");
    let before = machine.tree();
    machine.must_not(&["init", "--yes", "--host", "opencode"]);
    assert_eq!(machine.tree(), before);
    assert!(machine.must(&["uninstall", "--yes"]).contains("nothing is registered"));
}

/// The kernel ends a process that writes more than it may, in the middle of the write.
#[test]
fn an_interrupted_uninstall_can_be_repeated() {
    let machine = Machine::new();
    let original = format!("{{ \"mine\": \"{}\" }}", "x".repeat(1 << 20));
    machine.write("home/.qwen/settings.json", &original);
    machine.must(&["init", "--yes", "--host", "qwen"]);
    let uninstall = machine.command(&["uninstall", "--yes"]);
    let mut limited = Command::new("/bin/sh");
    limited.args(["-c", "ulimit -c 0; ulimit -f 64; exec \"$0\" \"$@\""]);
    limited.arg(uninstall.get_program()).args(uninstall.get_args());
    limited.current_dir(machine.path("project")).env_clear().env("HOME", machine.path("home"));
    let output = limited.output().unwrap();
    assert_eq!(output.status.code(), None, "not cut off: {output:?}");
    assert!(machine.read("home/.qwen/settings.json").contains("toolgate"));
    machine.must(&["uninstall", "--yes"]);
    assert_eq!(machine.read("home/.qwen/settings.json"), original);
    assert!(machine.must(&["uninstall", "--yes"]).contains("nothing is registered"));
}

#[test]
fn the_name_of_a_gemini_hook_is_random_and_stable() {
    let name =
        |machine: &Machine| gate(&machine.json("home/.gemini/settings.json"), "BeforeTool")["name"].clone();
    let (one, other) = (Machine::new(), Machine::new());
    one.must(&["init", "--yes", "--host", "gemini"]);
    other.must(&["init", "--yes", "--host", "gemini"]);
    assert_ne!(name(&one), name(&other));
    let first = name(&one);
    one.must(&["init", "--yes", "--host", "gemini", "--profile", "worktree-strict"]);
    assert_eq!(name(&one), first);
}

#[test]
fn init_warns_of_settings_that_make_a_client_drop_our_hooks() {
    for (host, file, text, part) in [
        ("codex", "home/.codex/hooks.json", "{ \"$schema\": \"x\" }", "`$schema`"),
        ("codex", "home/.codex/hooks.json", "{} // mine", "not plain JSON"),
        ("codex", "home/.codex/config.toml", "[features]\nhooks = false\n", "hooks = false"),
        ("copilot", "home/.copilot/hooks/toolgate.json", "{} // mine", "not plain JSON"),
    ] {
        let machine = Machine::new();
        machine.write(file, text);
        let said = machine.must(&["init", "--dry-run", "--host", host]);
        assert!(said.contains("warning: ") && said.contains(part), "{file}: {said}");
    }
}
