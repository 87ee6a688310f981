//! Settings in layers: what a repository brings can only add rules until a person has trusted these very bytes,
//! and what was compiled once is never older than the files that it was compiled from.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::support::terminal::at_terminal;
use crate::support::{Answer, Machine, Said, Session, fifo, have, write};
use serde_json::{Value, json};

/// Longer than a changed file is compiled anew for every call.
const SETTLED: Duration = Duration::from_millis(2_300);

/// A repository with a worktree in which a session works.
struct Project {
    machine: Machine,
    main: PathBuf,
    top: PathBuf,
}

impl Project {
    fn new() -> Project {
        let machine = Machine::new();
        let main = machine.repository("main");
        let top = machine.worktree(&main, "top");
        Project { machine, main, top }
    }

    fn file(&self) -> PathBuf {
        self.top.join("toolgate.toml")
    }

    fn session(&self) -> Session {
        self.machine.session("s", &self.top)
    }

    /// Puts places into the text of a settings file or of a call.
    fn fill(&self, text: &str) -> String {
        let place = |path: &Path| path.to_str().unwrap().to_owned();
        text.replace("HOME", &place(&self.machine.home()))
            .replace("MAIN", &place(&self.main))
            .replace("TOP", &place(&self.top))
    }

    fn call(&self, tool: &str, input: &str) -> Said {
        let input: Value = serde_json::from_str(&self.fill(input)).unwrap();
        self.session().call(tool, &input)
    }

    /// `toolgate trust` in the worktree, without a terminal.
    fn trust(&self, args: &[&str], stdin: &str) -> Answer {
        self.machine.toolgate().arg("trust").args(args).cwd(&self.top).run(stdin)
    }

    /// `toolgate trust` in the worktree, on a terminal where this is typed.
    fn trust_on_terminal(&self, typed: &str) -> Answer {
        at_terminal(&self.machine.toolgate().arg("trust").cwd(&self.top), typed)
    }
}

/// What would loosen rules: the text, a call, and what is said to it without and with that text.
const LOOSENING: &[(&str, &str, &str, &str, &str)] = &[
    (
        "[[scope]]\npath = \"HOME/open\"\nrights = \"write\"\n",
        "Write",
        r#"{"file_path":"HOME/open/a"}"#,
        "deny",
        "nothing",
    ),
    (
        "[[scope]]\npath = \"{main}\"\nrights = \"write\"\n",
        "Read",
        r#"{"file_path":"MAIN/README.md"}"#,
        "deny",
        "nothing",
    ),
    (
        "[[scope]]\npath = \"/etc\"\nrights = \"write\"\n",
        "Write",
        r#"{"file_path":"/etc/motd"}"#,
        "deny",
        "nothing",
    ),
    ("profile = \"ittybitty-compat\"\n", "Write", r#"{"file_path":"HOME/a"}"#, "deny", "grant"),
    (
        "profile = \"write-guard\"\n[containment]\nwhen = \"never\"\n",
        "Monitor",
        r#"{"command":"$(cat name)"}"#,
        "rewrite",
        "nothing",
    ),
    ("grant = true\n", "Write", r#"{"file_path":"TOP/a"}"#, "nothing", "grant"),
    (
        "[containment]\nwhen = \"never\"\n[policy.unproved-effect]\nshell = \"allow\"\n",
        "Bash",
        r#"{"command":"$(cat name)"}"#,
        "rewrite",
        "nothing",
    ),
    ("[policy.unproved-effect]\ntool = \"allow\"\n", "NewTool", r#"{"x":"y"}"#, "ask", "nothing"),
    ("[tools.NewTool]\naccess = \"none\"\n", "NewTool", r#"{"path":"HOME/a"}"#, "deny", "nothing"),
    ("[tools.\"mcp__*\"]\naccess = \"none\"\n", "mcp__fs__write", r#"{"path":"HOME/a"}"#, "deny", "nothing"),
    (
        "[policy.git-internals-write]\nenabled = false\n",
        "Write",
        r#"{"file_path":"TOP/x/.git/hooks/a"}"#,
        "deny",
        "nothing",
    ),
    (
        "[policy.invalid-path]\nenabled = false\n",
        "Write",
        r#"{"file_path":"TOP/a\u0000b"}"#,
        "deny",
        "nothing",
    ),
    (
        "boundary = \"cwd\"\n[[scope]]\npath = \"{worktree}/deep\"\nrights = \"write\"\n[[scope]]\npath = \"{main}\"\nrights = \"write\"\n",
        "Write",
        r#"{"file_path":"MAIN/a"}"#,
        "deny",
        "nothing",
    ),
];

#[test]
fn an_untrusted_file_can_tighten() {
    for (text, tool, input, expected) in [
        (
            "[[scope]]\npath = \"{worktree}/vendor\"\nrights = \"none\"\n",
            "Read",
            r#"{"file_path":"TOP/vendor/a"}"#,
            "deny",
        ),
        (
            "[[scope]]\npath = \"{worktree}/vendor\"\nrights = \"read\"\n",
            "Write",
            r#"{"file_path":"TOP/vendor/a"}"#,
            "deny",
        ),
        (
            "[[scope]]\npath = \"{worktree}/vendor\"\nrights = \"none\"\n",
            "Write",
            r#"{"file_path":"TOP/src/a"}"#,
            "nothing",
        ),
        (
            "[[rule]]\nmessage = \"No.\"\ndirectories = [\"gen\"]\n",
            "Write",
            r#"{"file_path":"TOP/a/gen/b"}"#,
            "deny",
        ),
        ("[policy.unproved-effect]\nshell = \"deny\"\n", "Bash", r#"{"command":"$(cat name)"}"#, "deny"),
        ("[policy.unproved-effect]\nmcp = \"ask\"\n", "mcp__x__y", r#"{"a":"b"}"#, "ask"),
        ("unattended = true\n", "NewTool", r#"{"x":"y"}"#, "deny"),
        ("profile = \"worktree-strict\"\n", "Read", r#"{"file_path":"/etc/hostname"}"#, "deny"),
        ("[policy.path-traversal]\ndotdot = \"reject\"\n", "Write", r#"{"file_path":"TOP/a/../b"}"#, "deny"),
        ("[policy.unlisted-tool]\nallow = [\"Read\"]\n", "Write", r#"{"file_path":"TOP/a"}"#, "deny"),
        ("[tools.Task]\naccess = \"write\"\npaths = [\"out\"]\n", "Task", r#"{"out":"HOME/a"}"#, "deny"),
    ] {
        let project = Project::new();
        write(&project.file(), text);
        assert_eq!(project.call(tool, input).word(), expected, "{text}");
    }
}

#[test]
fn an_untrusted_file_cannot_loosen() {
    for (text, tool, input, without, _) in LOOSENING {
        let project = Project::new();
        assert_eq!(project.call(tool, input).word(), *without, "without {text}");
        write(&project.file(), project.fill(text));
        assert_eq!(project.call(tool, input).word(), *without, "{text}");
    }
}

#[test]
fn an_untrusted_file_cannot_name_the_root() {
    for variable in ["HOME", "SOMEWHERE"] {
        let project = Project::new();
        let session = project.session().with(|hook| hook.env("SOMEWHERE", &project.main));
        write(&project.file(), format!("[activation]\nroot_env = \"{variable}\"\n"));
        assert_eq!(session.write(project.machine.home().join("a")), "deny", "{variable}");
        assert_eq!(session.write(project.main.join("a")), "deny", "{variable}");
    }
}

#[test]
fn an_untrusted_file_cannot_rewrite_a_path_into_a_closed_place() {
    let project = Project::new();
    write(&project.machine.user_settings(), "[[scope]]\npath = \"{worktree}/private\"\nrights = \"none\"\n");
    write(
        &project.file(),
        "relative = \"rewrite\"\n[[scope]]\npath = \"{worktree}/private\"\nrights = \"write\"\n",
    );
    assert_eq!(project.session().write(project.top.join("private/a")), "deny");
    let elsewhere = project.session().from(Path::new("/tmp"));
    let said = elsewhere.call("mcp__fs__write", &json!({"path": "private/a"}));
    assert_eq!(said, Said::Nothing, "the path stays relative, and means a file in /tmp");
}

#[test]
fn the_users_own_file_can_loosen() {
    for (text, tool, input, _, with) in LOOSENING {
        let project = Project::new();
        write(&project.machine.user_settings(), project.fill(text));
        assert_eq!(project.call(tool, input).word(), *with, "{text}");
    }
}

#[test]
fn the_users_own_file_cannot_loosen_the_floor() {
    let open = "grant = true\nprofile = \"ittybitty-compat\"\n[[scope]]\npath = \"/\"\nrights = \"write\"\n\
                [[scope]]\npath = \"~\"\nrights = \"write\"\n[policy.unproved-effect]\nshell = \"allow\"\n";
    let project = Project::new();
    write(&project.machine.user_settings(), open);
    let session = project.session();
    assert_eq!(session.write(project.machine.home().join("a")), "grant");
    for path in [
        project.machine.home().join(".ssh/id_ed25519"),
        project.machine.user_settings(),
        project.machine.ledger(),
        project.top.join("toolgate.toml"),
        project.top.join(".claude/settings.json"),
        PathBuf::from("/etc/shadow"),
    ] {
        assert_eq!(session.write(&path), "deny", "{}", path.display());
    }
}

const OPENS: &str = "[policy.secret-file]\nopen = [\".env.test\"]\n";

#[test]
fn the_user_can_open_a_secret_file_by_name_and_a_project_cannot() {
    let project = Project::new();
    let read = |name: &str| project.call("Read", &format!(r#"{{"file_path":"TOP/{name}"}}"#)).word();
    assert_eq!(read(".env.test"), "deny");
    write(&project.file(), OPENS);
    assert_eq!(read(".env.test"), "deny", "a project that nobody trusted");
    if have("setsid", &["--wait", "true"]) {
        assert_eq!(project.trust_on_terminal("yes\n").code(), Some(0));
        assert_eq!(read(".env.test"), "deny", "a project that a person trusts");
    }
    write(&project.machine.user_settings(), OPENS);
    assert_eq!(read(".env.test"), "nothing", "the person's own word");
    assert_eq!(read(".env"), "deny", "and no other name");
}

#[test]
fn a_project_cannot_close_a_secret_file_that_the_user_opened() {
    for text in
        ["grant = false\n", "[policy.secret-file]\nopen = []\n", "[policy.secret-file]\nopen = [\".env\"]\n"]
    {
        let project = Project::new();
        write(&project.machine.user_settings(), OPENS);
        write(&project.file(), text);
        let read = |name: &str| project.call("Read", &format!(r#"{{"file_path":"TOP/{name}"}}"#)).word();
        assert_eq!(read(".env.test"), "nothing", "{text}");
        assert_eq!(read(".env"), "deny", "{text}");
    }
}

#[test]
fn a_profile_in_the_registration_overrides_the_settings() {
    let project = Project::new();
    write(&project.machine.user_settings(), "profile = \"ittybitty-compat\"\n");
    let session = project.session().with(|hook| hook.args(["--profile", "worktree-strict"]));
    assert_eq!(session.write(project.machine.home().join("a")), "deny");
    assert_eq!(session.read("/etc/hostname"), "deny");
}

#[test]
fn trust_is_refused_without_a_terminal() {
    let project = Project::new();
    write(&project.file(), "grant = true\n");
    for typed in ["yes\n", "", "y\nyes\n"] {
        let answer = project.trust(&[], typed);
        assert_eq!(answer.code(), Some(1), "{answer:?}");
        assert!(answer.stderr.contains("only a person can do this"), "{answer:?}");
    }
    assert!(!project.machine.state().join("trusted").exists());
    assert_eq!(project.trust(&["--status"], "").code(), Some(1));
    assert_eq!(project.session().write(project.top.join("a")), "nothing");
}

#[test]
fn trust_is_bound_to_the_exact_bytes_and_can_be_revoked() {
    if !have("setsid", &["--wait", "true"]) {
        return;
    }
    for (text, tool, input, without, with) in LOOSENING {
        let project = Project::new();
        let text = project.fill(text);
        write(&project.file(), &text);
        assert_eq!(project.trust_on_terminal("no\n").code(), Some(1), "{text}");
        assert_eq!(project.call(tool, input).word(), *without, "after a no: {text}");
        let answer = project.trust_on_terminal("yes\n");
        assert_eq!(answer.code(), Some(0), "{answer:?}");
        assert!(answer.stdout.contains(text.lines().next().unwrap()), "shows the file: {answer:?}");
        assert_eq!(project.trust(&["--status"], "").code(), Some(0), "{text}");
        assert_eq!(project.call(tool, input).word(), *with, "trusted: {text}");

        write(&project.file(), format!("{text}# changed\n"));
        assert_eq!(project.call(tool, input).word(), *without, "changed: {text}");
        write(&project.file(), &text);
        assert_eq!(project.call(tool, input).word(), *with, "as it was: {text}");
        assert_eq!(project.trust(&["--revoke"], "").code(), Some(0));
        assert_eq!(project.call(tool, input).word(), *without, "taken back: {text}");
    }
}

#[test]
fn trust_holds_in_other_worktrees_of_the_repository_and_in_no_other_repository() {
    if !have("setsid", &["--wait", "true"]) {
        return;
    }
    let project = Project::new();
    let sibling = project.machine.worktree(&project.main, "sibling");
    let stranger = project.machine.repository("stranger");
    for top in [&project.top, &sibling, &stranger] {
        write(&top.join("toolgate.toml"), "grant = true\n");
    }
    assert_eq!(project.trust_on_terminal("yes\n").code(), Some(0));
    assert_eq!(project.session().write(project.top.join("a")), "grant");
    assert_eq!(project.machine.session("sibling", &sibling).write(sibling.join("a")), "grant");
    assert_eq!(project.machine.session("stranger", &stranger).write(stranger.join("a")), "nothing");
}

// --- Compiled settings --------------------------------------------------------------------------------------

/// The file in which the compiled settings are, once there is one.
fn compiled(machine: &Machine) -> PathBuf {
    let mut files: Vec<PathBuf> =
        fs::read_dir(machine.state().join("compiled")).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.pop().unwrap()
}

#[test]
fn a_changed_settings_file_takes_effect_at_once() {
    let project = Project::new();
    let session = project.session();
    let settings = project.machine.user_settings();
    let place = project.machine.home().join("open/a");
    let scope = |rights: &str| {
        format!("[[scope]]\npath = \"{}\"\nrights = \"{rights}\"\n", place.parent().unwrap().display())
    };
    // Texts of one length.
    let (open, shut) = (scope("write"), scope("none") + "#");
    let shut = shut.clone() + &"#".repeat(open.len() - shut.len());
    assert_eq!(open.len(), shut.len());
    write(&settings, &open);
    assert_eq!(session.write(&place), "nothing");
    write(&settings, &shut);
    assert_eq!(session.write(&place), "deny", "within the same moment");
    write(&settings, &open);
    thread::sleep(SETTLED);
    for round in 0..3 {
        assert_eq!(session.write(&place), "nothing", "call {round}");
    }
    compiled(&project.machine);

    let before = fs::metadata(&settings).unwrap();
    write(&settings, &shut);
    let file = File::options().write(true).open(&settings).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
    drop(file);
    let after = fs::metadata(&settings).unwrap();
    assert_eq!((before.len(), before.modified().unwrap()), (after.len(), after.modified().unwrap()));
    assert_eq!(session.write(&place), "deny", "with size and date put back");

    thread::sleep(SETTLED);
    assert_eq!(session.write(&place), "deny");
    let replacement = project.machine.file("replacement", &open);
    fs::rename(replacement, &settings).unwrap();
    assert_eq!(session.write(&place), "nothing", "replaced by another file");
    fs::remove_file(&settings).unwrap();
    assert_eq!(session.write(&place), "deny", "removed");
    write(&project.file(), "[[scope]]\npath = \"{worktree}\"\nrights = \"none\"\n");
    assert_eq!(session.read(project.top.join("a")), "deny", "a project file that was not there before");
}

#[test]
fn a_damaged_cache_of_settings_is_not_used() {
    let project = Project::new();
    let session = project.session();
    let open = project.machine.home().join("open/a");
    let shut = project.machine.home().join("shut/a");
    let scope = format!("[[scope]]\npath = \"{}\"\nrights = \"write\"\n", open.parent().unwrap().display());
    write(&project.machine.user_settings(), scope);
    thread::sleep(SETTLED);
    let as_ever = |what: &str| {
        assert_eq!(session.write(&open), "nothing", "{what}");
        assert_eq!(session.write(&shut), "deny", "{what}");
    };
    as_ever("first");
    let cache = compiled(&project.machine);
    let good = fs::read(&cache).unwrap();
    as_ever("second");
    for length in [0, 1, 5, good.len() / 4, good.len() / 2, good.len() - 1] {
        fs::write(&cache, &good[..length]).unwrap();
        as_ever(&format!("cut to {length} of {} bytes", good.len()));
    }
    for (what, bytes) in [("noise", vec![0xa5; 4096]), ("zeros", vec![0; 4096]), ("text", b"{}".to_vec())] {
        fs::write(&cache, bytes).unwrap();
        as_ever(what);
    }
    fs::remove_file(&cache).unwrap();
    fifo(&cache);
    as_ever("a pipe");
    let _ = fs::remove_file(&cache);
    fs::create_dir(&cache).unwrap();
    as_ever("a directory");
    fs::remove_dir(&cache).unwrap();
    // A cache of other settings under this one's name.
    let loose = Project::new();
    write(&loose.machine.user_settings(), "[[scope]]\npath = \"~\"\nrights = \"write\"\n");
    thread::sleep(SETTLED);
    assert_eq!(loose.session().write(loose.machine.home().join("a")), "nothing");
    fs::copy(compiled(&loose.machine), &cache).unwrap();
    as_ever("another one's cache");
}

#[test]
fn a_cache_with_a_flipped_bit_is_not_used() {
    let project = Project::new();
    let session = project.session();
    let shut = project.top.join("shut/a");
    write(&project.machine.user_settings(), "[[scope]]\npath = \"{worktree}/shut\"\nrights = \"none\"\n");
    thread::sleep(SETTLED);
    assert_eq!(session.write(&shut), "deny");
    let cache = compiled(&project.machine);
    let good = fs::read(&cache).unwrap();
    let mut believed = Vec::new();
    for at in (0..good.len()).rev() {
        for bit in [1, 2] {
            let mut bad = good.clone();
            bad[at] ^= bit;
            fs::write(&cache, &bad).unwrap();
            if session.write(&shut) != "deny" {
                believed.push((at, bit));
            }
        }
        if believed.len() > 3 {
            break;
        }
    }
    assert!(believed.is_empty(), "of {} bytes, these flips opened a closed place: {believed:?}", good.len());
}
