//! `toolgate allow` and `toolgate config show`: a person opens what a denial names, and sees what is in force.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::terminal::at_terminal;
use crate::support::{Answer, Machine, have, write};

/// A person's machine: a repository with a worktree, and a directory of the home.
struct Desk {
    machine: Machine,
    top: PathBuf,
    downloads: PathBuf,
}

impl Desk {
    fn new() -> Desk {
        let machine = Machine::new();
        let main = machine.repository("main");
        let top = machine.worktree(&main, "top");
        let downloads = machine.home().join("Downloads");
        fs::create_dir_all(&downloads).unwrap();
        write(&downloads.join("a.csv"), "1\n");
        Desk { machine, top, downloads }
    }

    fn run(&self, args: &[&str]) -> Answer {
        self.machine.toolgate().args(args).cwd(&self.top).run("")
    }

    /// The same on a terminal, where this is typed.
    fn type_in(&self, args: &str, typed: &str) -> Answer {
        let command = format!("exec '{}' {args}", env!("CARGO_BIN_EXE_toolgate"));
        at_terminal(&self.machine.toolgate().cwd(&self.top).instead(&["sh", "-c", &command]), typed)
    }

    fn read(&self) -> &'static str {
        self.machine.session("s", &self.top).read(self.downloads.join("a.csv"))
    }

    fn settings(&self) -> String {
        fs::read_to_string(self.machine.user_settings()).unwrap_or_default()
    }

    fn without_effect(&self) -> Vec<String> {
        let shown: Value = serde_json::from_str(&self.run(&["config", "show", "--json"]).stdout).unwrap();
        let found = shown["without_effect"].as_array().unwrap();
        found.iter().map(|found| found["why"].as_str().unwrap().to_owned()).collect()
    }
}

fn can_type() -> bool {
    have("setsid", &["--wait", "true"])
}

#[test]
fn the_line_that_a_denial_names_opens_what_was_denied() {
    if !can_type() {
        return;
    }
    let desk = Desk::new();
    let denied = desk.run(&["check", "read", desk.downloads.join("a.csv").to_str().unwrap()]);
    assert_eq!(denied.code(), Some(2), "{denied:?}");
    let line = denied.stdout.split('`').find(|part| part.starts_with("toolgate allow")).unwrap();
    assert_eq!(line, "toolgate allow read ~/Downloads");
    let line = line.strip_prefix("toolgate ").unwrap();
    write(&desk.machine.user_settings(), "# mine\nunattended = false # for now\n");
    assert_eq!(desk.type_in(line, "no\n").code(), Some(1));
    assert_eq!(desk.read(), "deny", "after a no");
    let answer = desk.type_in(line, "yes\n");
    assert_eq!(answer.code(), Some(0), "{answer:?}");
    assert!(answer.stdout.contains("+path = \"~/Downloads\""), "shows the change: {answer:?}");
    assert!(desk.settings().starts_with("# mine\nunattended = false # for now\n"), "{}", desk.settings());
    assert_eq!(desk.read(), "nothing");
    let told = desk.machine.records().iter().any(|record| record["event"] == "security-warning: allow");
    assert!(told, "the record has it");
    assert_eq!(
        desk.type_in(line, "").stdout.trim(),
        format!("{} says so already", desk.machine.user_settings().display())
    );
}

#[test]
fn the_line_that_a_denial_names_takes_a_place_that_is_not_there_yet() {
    if !can_type() {
        return;
    }
    let desk = Desk::new();
    let file = desk.machine.home().join("elsewhere/beta/notes.md");
    let session = desk.machine.session("s", &desk.top);
    let write_it = || session.call("Write", &serde_json::json!({"file_path": file, "content": "x"}));
    let reason = format!("{:?}", write_it());
    assert!(reason.starts_with("Deny"), "{reason}");
    assert_eq!(reason.matches("person").count(), 1, "{reason}");
    assert!(reason.contains("`toolgate allow write ~/elsewhere/beta`, or `toolgate approve "), "{reason}");
    let denied = desk.run(&["check", "write", file.to_str().unwrap()]);
    let line = denied.stdout.split('`').find(|part| part.starts_with("toolgate allow")).unwrap();
    assert_eq!(line, "toolgate allow write ~/elsewhere/beta");
    let answer = desk.type_in(line.strip_prefix("toolgate ").unwrap(), "yes\n");
    assert_eq!(answer.code(), Some(0), "{answer:?}");
    assert!(answer.stdout.contains("`~/elsewhere/beta` is not there yet"), "{answer:?}");
    assert!(!answer.stdout.contains("correct the path"), "said once: {answer:?}");
    assert_eq!(write_it().word(), "nothing");
}

#[test]
fn an_unknown_rule_is_told_in_short() {
    let desk = Desk::new();
    for (id, said) in [
        ("git-chekout-paths", "did you mean `git-checkout-paths`?"),
        ("frobnicate-every-widget", "`toolgate policies --rules` lists them"),
    ] {
        write(&desk.machine.user_settings(), format!("[rules]\n{id} = \"ask\"\n"));
        let session = desk.machine.session("s", &desk.top);
        let denied = format!("{:?}", session.call("Read", &serde_json::json!({"file_path": "a"})));
        assert!(denied.starts_with("Deny") && denied.contains(said), "{denied}");
        assert!(denied.len() < 600, "{denied}");
    }
    fs::remove_file(desk.machine.user_settings()).unwrap();
    assert!(desk.run(&["policies", "--rules"]).stdout.contains("git-checkout-paths"));
}

#[test]
fn only_a_person_can_allow() {
    let desk = Desk::new();
    for args in [["allow", "read", "/usr"], ["allow", "rule", "git-clean"], ["allow", "program", "kubectl"]] {
        let answer = desk.machine.toolgate().args(args).cwd(&desk.top).run("yes\n");
        assert_eq!(answer.code(), Some(1), "{answer:?}");
        assert!(answer.stderr.contains("only a person can do this"), "{answer:?}");
        let by_agent = desk.machine.session("s", &desk.top).shell(&format!("toolgate {}", args.join(" ")));
        assert_eq!(by_agent, "deny");
    }
    assert_eq!(desk.settings(), "");
}

#[test]
fn what_is_opened_can_be_asked_about_and_ends() {
    let desk = Desk::new();
    let entry = |more: &str| format!("[[scope]]\npath = \"~/Downloads\"\nrights = \"read\"\n{more}");
    for (more, said) in [
        ("", "nothing"),
        ("ask = true\n", "ask"),
        ("until = \"2099-12-31\"\n", "nothing"),
        ("until = \"2020-12-31\"\n", "deny"),
        ("until = \"2020-12-31T10:00Z\"\nask = true\n", "deny"),
    ] {
        write(&desk.machine.user_settings(), entry(more));
        assert_eq!(desk.read(), said, "{more}");
    }
    let session = desk.machine.session("s", &desk.top);
    for (rule, said) in [
        ("\"ask\"", "ask"),
        ("{ decision = \"ask\", until = \"2099-12-31\" }", "ask"),
        ("{ decision = \"ask\", until = \"2020-12-31\" }", "deny"),
    ] {
        write(&desk.machine.user_settings(), format!("[rules]\ngit-reset-hard = {rule}\n"));
        assert_eq!(session.shell("git reset --hard"), said, "{rule}");
    }
}

#[test]
fn a_projects_file_that_is_trusted_stays_so_when_its_person_allows_something() {
    if !can_type() {
        return;
    }
    let desk = Desk::new();
    let answer = desk.type_in("allow read ~/Downloads --scope project --reason 'test data'", "yes\n");
    assert_eq!(answer.code(), Some(0), "{answer:?}");
    let file = desk.top.join("toolgate.toml");
    assert!(fs::read_to_string(&file).unwrap().contains("reason = \"test data\""));
    assert_eq!(desk.read(), "nothing", "a new file that its person has seen");
    write(&file, "unattended = false\n");
    let answer = desk.type_in("allow read ~/Downloads --scope project", "yes\n");
    assert!(answer.stdout.contains("nobody has trusted this file"), "{answer:?}");
    assert_eq!(desk.read(), "deny", "the rest of the file nobody has seen");
}

#[test]
fn a_place_that_is_not_there_or_is_everything_is_refused() {
    let desk = Desk::new();
    let home = desk.machine.home();
    std::os::unix::fs::symlink("nowhere", home.join("dangling")).unwrap();
    for (place, complaint) in [
        (home.join("Donwloads"), "did you mean"),
        (home.join("Donwloads/x"), "did you mean"),
        (home.join("dangling/x"), "cannot be followed"),
        (home.join("Downloads/a.csv/x"), "is no directory"),
        (home.join("elsewhere/../y"), "without `..`"),
        (home.clone(), "holds all of your files"),
        (PathBuf::from("/"), "holds all of your files"),
    ] {
        let answer = desk.run(&["allow", "read", place.to_str().unwrap()]);
        assert_eq!(answer.code(), Some(1), "{answer:?}");
        assert!(answer.stderr.contains(complaint), "{answer:?}");
    }
    let floor = desk.run(&["allow", "rule", "mkfs"]);
    assert!(floor.stderr.contains("is part of the floor"), "{floor:?}");
    let unknown = desk.run(&["allow", "program", "frobnicate"]);
    assert!(unknown.stderr.contains("there is no rule to switch about `frobnicate`"), "{unknown:?}");
}

#[test]
fn every_setting_is_shown_with_its_file_and_those_without_effect_are_told() {
    let desk = Desk::new();
    let opens = |name: &str| format!("[[scope]]\npath = \"~/{name}\"\nrights = \"read\"\n");
    write(&desk.machine.user_settings(), format!("unattended = true\n{}", opens("Donwloads")));
    write(&desk.top.join("toolgate.toml"), opens("Downloads"));
    let shown = desk.run(&["config", "show"]).stdout;
    let user = format!("# {}\n", desk.machine.user_settings().display());
    for part in [
        &user,
        "\nunattended = true\n",
        "profile = \"worktree\"",
        "# profile worktree\n",
        "# without effect\n",
    ] {
        assert!(shown.contains(part), "no {part:?} in\n{shown}");
    }
    let why = desk.without_effect();
    assert_eq!(why.len(), 2, "{why:?}");
    assert!(why[0].contains("opens nothing: nobody has trusted this file"), "{why:?}");
    assert!(why[1].contains("names a place that does not exist; did you mean"), "{why:?}");
    let denied = desk.run(&["check", "read", desk.downloads.join("a.csv").to_str().unwrap()]).stdout;
    for part in ["a settings file would open it, but has no effect", "without effect: ", "did you mean"] {
        assert!(denied.contains(part), "no {part:?} in\n{denied}");
    }
    let reason = desk.machine.session("s", &desk.top);
    let said = reason.call("Read", &serde_json::json!({"file_path": desk.downloads.join("a.csv")}));
    assert!(format!("{said:?}").contains("toolgate config show"), "{said:?}");
    let doctor = desk.run(&["doctor", "--host", "claude-code"]).stdout;
    assert!(doctor.contains("names a place that does not exist"), "{doctor}");
}
