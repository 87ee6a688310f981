//! Workspaces from outside: the built binary, a home of its own for each test, and other people's tools where they can check
//! what ours says.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Answer, Hook, Machine, have, without_powers, write};
use serde_json::Value;

/// A machine with a base of its own, and a project to copy inputs from.
struct Desk {
    machine: Machine,
}

impl Desk {
    fn new() -> Desk {
        let desk = Desk { machine: Machine::new() };
        desk.machine.file("project/in/a.txt", "alpha\n");
        desk.machine.file("project/in/deep/b.txt", "beta\n");
        desk.machine.file("project/secret.txt", "not declared\n");
        desk
    }

    /// With one workspace: reads `in/`, writes `out/`, `result.txt` and `temp/`.
    fn with_agent() -> Desk {
        let desk = Desk::new();
        let args = ["create", "agent-5", "--input", "in/", "--output", "out/", "--output", "result.txt"];
        desk.done(&[&args[..], &["--temp", "--from", "../project"]].concat());
        desk
    }

    fn command(&self, args: &[&str]) -> Hook {
        let base = self.base();
        let base = base.to_str().unwrap();
        self.machine.toolgate().env("USER", "tester").arg("workspace").args(args).args(["--base", base])
    }

    fn run(&self, args: &[&str]) -> Answer {
        self.command(args).run("")
    }

    /// Runs what has to succeed; what it printed.
    fn done(&self, args: &[&str]) -> String {
        self.put(args, "")
    }

    fn put(&self, args: &[&str], stdin: impl AsRef<[u8]>) -> String {
        let answer = self.command(args).run(stdin);
        assert_eq!((answer.code(), answer.stderr.as_str()), (Some(0), ""), "{args:?}: {answer:?}");
        answer.stdout
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.done(&[args, &["--json"]].concat())).unwrap()
    }

    /// Runs what has to come to nothing, with and without JSON; the message.
    fn fails(&self, args: &[&str], code: i32, name: &str) -> String {
        let plain = self.run(args);
        assert_eq!((plain.code(), plain.stdout.as_str()), (Some(code), ""), "{args:?}: {plain:?}");
        let said = plain.stderr.strip_prefix(&format!("toolgate: {name}: "));
        let said = said.unwrap_or_else(|| panic!("{args:?}: no {name}: {plain:?}")).trim_end().to_owned();
        let coded = self.run(&[args, &["--json"]].concat());
        assert_eq!((coded.code(), coded.stdout.as_str()), (Some(code), ""), "{args:?}: {coded:?}");
        let error: Value = serde_json::from_str(&coded.stderr).unwrap();
        assert_eq!((error["error"].as_str(), error["message"].as_str()), (Some(name), Some(said.as_str())));
        said
    }

    fn base(&self) -> PathBuf {
        self.machine.path("base")
    }

    fn store(&self, path: &str) -> PathBuf {
        self.machine.state().join("workspaces/store").join(path)
    }

    /// Names in a directory of the store.
    fn stored(&self, directory: &str) -> Vec<String> {
        let names = fs::read_dir(self.store(directory)).unwrap();
        let mut names: Vec<_> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn receipt(&self) -> PathBuf {
        let file = self.machine.path("receipt.json");
        self.done(&["receipt", "agent-5", "-o", file.to_str().unwrap()]);
        file
    }

    /// With `--current` it is wrong that the outputs cannot be looked at.
    fn wrong_now(&self, receipt: &str) {
        let answer = self.run(&["verify", receipt, "--current"]);
        assert_eq!(answer.code(), Some(1), "{answer:?}");
        assert!(answer.stdout.contains("FAILED current: "), "{answer:?}");
    }

    /// Verifies and must fail, in this check and no other; what is said of it.
    fn wrong(&self, receipt: &Path, check: &str) -> String {
        let answer = self.run(&["verify", receipt.to_str().unwrap(), "--json"]);
        assert_eq!(answer.code(), Some(1), "{answer:?}");
        let report = answer.json().unwrap();
        assert_eq!(report["ok"], false);
        let checks = report["checks"].as_array().unwrap();
        let failed: Vec<_> = checks.iter().filter(|check| check["outcome"] == "failed").collect();
        assert_eq!(failed.len(), 1, "{report}");
        assert_eq!(failed[0]["check"], check, "{report}");
        let plain = self.run(&["verify", receipt.to_str().unwrap()]);
        assert!(plain.stdout.contains(&format!("FAILED {check}: ")), "{plain:?}");
        failed[0]["message"].as_str().unwrap().to_owned()
    }
}

/// What another program prints for this on its stdin.
fn piped(program: &str, args: &[&str], stdin: &[u8]) -> Vec<u8> {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("these tests need {program}: {error}"));
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), stdin).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program} {args:?}");
    output.stdout
}

fn sha256(bytes: &[u8]) -> String {
    String::from_utf8(piped("sha256sum", &[], bytes)).unwrap().split(' ').next().unwrap().to_owned()
}

/// Changes one byte of a file.
///
/// A letter or digit becomes another one, so that Base64 stays Base64 whatever stood there.
fn flip(file: &Path, at: impl Fn(&[u8]) -> usize) {
    let mut bytes = fs::read(file).unwrap();
    let at = at(&bytes);
    bytes[at] = if bytes[at] == b'Q' { b'R' } else { b'Q' };
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(file, bytes).unwrap();
}

/// All files below a directory, with their contents.
fn tree(top: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(top).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(tree(&path));
        } else {
            files.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}

// --- Making, reading, writing -----------------------------------------------------------------------------------

#[test]
fn a_workspace_is_created_read_written_listed_and_cleaned_up() {
    let desk = Desk::with_agent();
    assert_eq!(desk.done(&["read", "agent-5", "in/a.txt"]), "alpha\n");
    assert_eq!(desk.done(&["read", "agent-5", "in/deep/b.txt"]), "beta\n");
    assert_eq!(desk.put(&["write", "agent-5", "out/x/y.txt"], "new\n"), "out/x/y.txt is written: 4 bytes\n");
    let file = desk.machine.file("more", "from a file");
    desk.done(&["write", "agent-5", "result.txt", "--durable", "--from", file.to_str().unwrap()]);
    desk.put(&["write", "agent-5", "temp/scratch"], "gone soon");
    let top = desk.base().join("agent-5");
    assert_eq!(fs::read_to_string(top.join("out/x/y.txt")).unwrap(), "new\n");
    assert_eq!(fs::read_to_string(top.join("result.txt")).unwrap(), "from a file");
    assert!(!top.join("secret.txt").exists(), "what is not declared is not copied");
    assert_eq!(fs::metadata(&top).unwrap().permissions().mode() & 0o777, 0o700);
    let list = desk.json(&["list"]);
    assert_eq!(list["workspaces"][0]["agent"], "agent-5");
    assert_eq!(list["workspaces"][0]["declaration"]["outputs"][0], "out/");
    assert!(desk.done(&["list"]).starts_with("agent-5  reads in/  writes out/, result.txt  temp/  /"));
    desk.done(&["cleanup", "agent-5"]);
    assert!(!top.exists());
    assert_eq!(desk.json(&["list"])["workspaces"].as_array().unwrap().len(), 0);
    let events: Vec<_> = desk.machine.records();
    let events: Vec<_> = events.iter().map(|record| record["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["workspace-create", "workspace-cleanup"]);
}

#[test]
fn a_refusal_has_an_error_name_and_is_recorded() {
    let desk = Desk::with_agent();
    let top = desk.base().join("agent-5");
    symlink(desk.machine.path("project"), top.join("in/link")).unwrap();
    symlink(desk.machine.path("project"), top.join("out")).unwrap();
    let before = tree(&desk.machine.path("project"));
    for (verb, path, name) in [
        ("read", "secret.txt", "ErrUndeclaredRead"),
        ("read", "out/x", "ErrUndeclaredRead"),
        ("read", "in/../secret.txt", "ErrPathTraversal"),
        ("read", "../../etc/passwd", "ErrPathTraversal"),
        ("read", "/etc/passwd", "ErrPathTraversal"),
        ("read", "in/link/secret.txt", "ErrPathTraversal"),
        ("write", "in/a.txt", "ErrUndeclaredWrite"),
        ("write", "temperature", "ErrUndeclaredWrite"),
        ("write", "out/../../x", "ErrPathTraversal"),
        ("write", "out/new.txt", "ErrPathTraversal"),
    ] {
        desk.fails(&[verb, "agent-5", path], 2, name);
        let record = desk.machine.last_record();
        let finding = &record["findings"][0];
        assert_eq!((&record["decision"], &record["agent"]), (&"deny".into(), &"agent-5".into()), "{record}");
        assert_eq!(finding["policy"], "declared-io");
        // As far as it was followed.
        assert!(path.starts_with(record["args"]["path"].as_str().unwrap()), "{record}");
        assert_eq!(record["args"]["by"], "tester");
        assert!(finding["message"].as_str().unwrap().starts_with(name), "{record}");
    }
    assert_eq!(tree(&desk.machine.path("project")), before);
    let denied = desk.machine.toolgate().args(["ledger", "tail", "--denied", "-n", "1"]).run("").stdout;
    assert!(denied.contains("workspace-write agent=agent-5 path=out"), "{denied}");
}

#[test]
fn an_error_is_not_recorded_as_a_refusal() {
    let desk = Desk::with_agent();
    let recorded = desk.machine.records().len();
    desk.fails(&["read", "agent-5", "in/none"], 1, "ErrIO");
    desk.fails(&["read", "nobody", "in/a.txt"], 1, "ErrWorkspaceNotFound");
    desk.fails(&["create", "agent-5"], 1, "ErrAgentInUse");
    desk.fails(&["cleanup", "nobody"], 1, "ErrWorkspaceNotFound");
    desk.fails(&["create", "new", "--input", "../x"], 1, "ErrInvalidDeclaration");
    let said = desk.fails(&["create", "new", "--output", "[...slug].tsx"], 1, "ErrInvalidDeclaration");
    assert!(said.contains("component"), "{said}");
    desk.fails(&["create", "new", "--input", "x", "--from", "nowhere"], 1, "ErrIO");
    assert_eq!(desk.machine.records().len(), recorded);
    desk.done(&["create", "new", "--output", "[...slug].tsx", "--dots", "component"]);
}

#[test]
fn agent_names_that_are_paths_are_refused() {
    let desk = Desk::with_agent();
    let long = "a".repeat(65);
    for name in ["", "../../home/u", "/etc", "a/b", ".", "..", ".toolgate", "a b", "a\nb", &long] {
        desk.fails(&["create", name, "--output", "x"], 2, "ErrInvalidAgent");
        assert_eq!(desk.machine.last_record()["event"], "workspace-create");
        desk.fails(&["cleanup", name], 2, "ErrInvalidAgent");
    }
    assert_eq!(desk.json(&["list"])["workspaces"].as_array().unwrap().len(), 1);
}

#[test]
fn overlapping_declarations_name_both_agents() {
    let desk = Desk::with_agent();
    for args in [["--output", "out/x"], ["--output", "**/*.txt"], ["--input", "result.txt"]] {
        let said = desk.fails(&[&["create", "agent-6"], &args[..]].concat(), 2, "ErrConflict");
        assert!(said.contains("`agent-5`") && said.contains("`agent-6`"), "{said}");
        assert!(!desk.base().join("agent-6").exists());
    }
    desk.done(&["create", "agent-6", "--output", "other/"]);
    desk.done(&["cleanup", "agent-5"]);
    desk.done(&["create", "agent-7", "--output", "out/x"]);
}

#[test]
fn a_quota_holds_for_several_processes() {
    let desk = Desk::new();
    desk.done(&["create", "q", "--output", "out/", "--quota-bytes", "100", "--quota-files", "3"]);
    let said = desk.command(&["write", "q", "out/a"]).run("x".repeat(101));
    assert_eq!(said.code(), Some(2), "{said:?}");
    assert!(said.stderr.contains("ErrQuotaExceeded") && said.stderr.contains("100 bytes"), "{said:?}");
    assert_eq!(desk.machine.last_record()["findings"][0]["kind"], "limit");
    let writers: Vec<_> = (0..8)
        .map(|at| desk.command(&["write", "q", &format!("out/{at}")]).command())
        .map(|mut command| command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn())
        .collect();
    let codes: Vec<_> = writers.into_iter().map(|child| child.unwrap().wait().unwrap().code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 3, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == Some(2)).count(), 5, "{codes:?}");
    assert_eq!(fs::read_dir(desk.base().join("q/out")).unwrap().count(), 3);
}

#[test]
fn a_workspace_whose_files_cannot_be_counted_can_be_cleaned_up() {
    let desk = Desk::new();
    desk.done(&["create", "q", "--output", "out/", "--quota-files", "3"]);
    let usage = desk.base().join(".toolgate/q/usage");
    fs::remove_file(&usage).unwrap();
    fs::create_dir(&usage).unwrap();
    desk.fails(&["snapshot", "q"], 1, "ErrIO");
    desk.done(&["cleanup", "q"]);
    assert!(!desk.base().join("q").exists());
    assert_eq!(desk.machine.last_record()["event"], "workspace-cleanup");
}

#[test]
fn only_one_of_several_concurrent_creations_gets_the_name() {
    let desk = Desk::new();
    let begin = |at: usize| {
        let output = format!("out-{at}/");
        let args = ["create", "one", "--output", &output, "--input", "in/", "--from", "../project"];
        desk.command(&args).command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let beginners: Vec<_> = (0..6).map(begin).collect();
    let codes: Vec<_> = beginners.into_iter().map(|mut child| child.wait().unwrap().code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert_eq!(desk.done(&["read", "one", "in/a.txt"]), "alpha\n");
    // Receipts too, with one key for all of them.
    let receipts: Vec<_> = (0..4)
        .map(|_| desk.command(&["receipt", "one"]).command().stdout(Stdio::piped()).spawn().unwrap())
        .collect();
    for child in receipts {
        let file = desk.machine.file("one.json", child.wait_with_output().unwrap().stdout);
        desk.done(&["verify", file.to_str().unwrap(), "--current"]);
    }
    let checked = desk.machine.toolgate().args(["ledger", "verify"]).run("");
    assert_eq!(checked.code(), Some(0), "{checked:?}");
}

#[test]
fn a_base_that_others_can_reach_is_refused() {
    let desk = Desk::new();
    let open = desk.machine.dir("base");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
    let said = desk.fails(&["create", "a", "--output", "x"], 1, "ErrUnsafeBase");
    assert!(said.contains("chmod 700"), "{said}");
    fs::remove_dir(&open).unwrap();
    symlink(desk.machine.dir("elsewhere"), &open).unwrap();
    desk.fails(&["create", "a", "--output", "x"], 1, "ErrUnsafeBase");
    assert_eq!(fs::read_dir(desk.machine.path("elsewhere")).unwrap().count(), 0);
}

#[test]
fn a_workspace_is_created_from_a_declaration_file() {
    let desk = Desk::new();
    let text = "agent = \"agent-5\"\ninputs = [\"in/a.txt\"]\noutputs = [\"out/\"]\nbase = \"base\"\nfrom = \"project\"\n";
    let file = desk.machine.file("workspace.toml", text);
    let file = file.to_str().unwrap();
    let create = |agent: &[&str]| {
        desk.machine.toolgate().args(["workspace", "create"]).args(agent).args(["--file", file]).run("")
    };
    let wrong = create(&["agent-6"]);
    assert_eq!(wrong.code(), Some(1));
    assert!(wrong.stderr.contains("`agent-5`") && wrong.stderr.contains("`agent-6`"), "{wrong:?}");
    let made = create(&[]);
    assert_eq!(made.code(), Some(0), "{made:?}");
    assert_eq!(desk.done(&["read", "agent-5", "in/a.txt"]), "alpha\n");
    write(Path::new(file), text.replace("inputs", "input"));
    let wrong = create(&[]);
    assert!(wrong.stderr.contains("ErrInvalidDeclaration") && wrong.stderr.contains("line 2"), "{wrong:?}");
}

#[test]
fn declared_inputs_that_are_missing_are_reported() {
    let desk = Desk::new();
    let told =
        desk.done(&["create", "a", "--input", "in/none", "--input", "in/a.txt", "--from", "../project"]);
    assert!(told.contains("in/none is declared") && !told.contains("in/a.txt"), "{told}");
    let told = desk.json(&["create", "b", "--input", "in/a.txt"]);
    assert_eq!(told["missing"][0], "in/a.txt");
    assert!(desk.done(&["create", "c", "--input", "in/a.txt"]).contains("--from DIR"));
    assert!(desk.done(&["create", "d"]).contains("nothing is declared"));
}

#[test]
fn a_workspace_is_not_created_when_it_cannot_be_recorded() {
    let Some(powerless) = without_powers() else { return };
    let desk = Desk::with_agent();
    fs::set_permissions(desk.machine.ledger(), fs::Permissions::from_mode(0o400)).unwrap();
    let args = ["create", "new", "--input", "in/", "--from", "../project"];
    let answer = desk.command(&args).under(powerless).run("");
    assert_eq!(answer.code(), Some(1), "{answer:?}");
    assert!(answer.stderr.contains("ledger.jsonl"), "{answer:?}");
    assert!(!desk.base().join("new").exists());
    assert_eq!(desk.stored("pins").len(), 1, "what the first one began with");
    let refused = desk.command(&["read", "agent-5", "secret.txt"]).under(powerless).run("");
    assert_eq!(refused.code(), Some(2), "refused all the same: {refused:?}");
    assert!(refused.stderr.contains("could not be recorded"), "{refused:?}");
    let kept = desk.command(&["cleanup", "agent-5"]).under(powerless).run("");
    assert_eq!((kept.code(), desk.base().join("agent-5").exists()), (Some(1), true), "{kept:?}");
}

#[test]
fn a_closed_stdout_ends_read_without_a_message() {
    let desk = Desk::new();
    desk.machine.file("project/in/long.txt", "line\n".repeat(1_000_000));
    desk.done(&["create", "agent-5", "--input", "in/", "--from", "../project"]);
    let mut child = desk.command(&["read", "agent-5", "in/long.txt"]).spawn();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(141), 0), "{output:?}");
}

// --- Snapshots ----------------------------------------------------------------------------------------------------

#[test]
fn a_snapshot_holds_the_declared_outputs_and_ignores_times() {
    let desk = Desk::with_agent();
    desk.put(&["write", "agent-5", "out/b"], "bravo");
    desk.put(&["write", "agent-5", "out/a"], "");
    desk.put(&["write", "agent-5", "temp/x"], "in no snapshot");
    let one = desk.done(&["snapshot", "agent-5"]);
    assert_eq!(desk.done(&["snapshot", "agent-5"]), one);
    let file = fs::File::options().write(true).open(desk.base().join("agent-5/out/b")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(desk.done(&["snapshot", "agent-5"]), one, "times do not count");
    assert!(!one.contains("temp/x") && one.contains("missing  result.txt"), "{one}");
    let held = desk.json(&["snapshot", "agent-5"]);
    assert!(one.starts_with(held["digest"].as_str().unwrap()));
    assert_eq!(held["files"]["out/a"]["size"], 0, "empty is not missing");
    assert_eq!(held["files"]["result.txt"]["state"], "missing");
    assert!(desk.done(&["snapshot", "agent-5", "--inputs"]).contains("in/deep/b.txt"));
}

#[test]
fn the_compatible_digest_is_the_one_that_sha256sum_gives() {
    let desk = Desk::with_agent();
    let contents: [(&str, &[u8]); 3] = [("out/a", b""), ("out/b c", b"bravo"), ("result.txt", &[0, 255, 10])];
    for (path, content) in contents {
        desk.put(&["write", "agent-5", path], content);
    }
    let line = |(path, content): &(&str, &[u8])| format!("{path}:{}\n", sha256(content));
    let lines = contents.iter().map(line).collect::<Vec<_>>().concat();
    let wanted = format!("sha256:{}", sha256(lines.as_bytes()));
    assert_eq!(desk.json(&["snapshot", "agent-5", "--compat"])["digest"], wanted.as_str());
}

#[test]
fn diff_compares_agents_snapshots_and_receipts() {
    let desk = Desk::with_agent();
    desk.put(&["write", "agent-5", "out/changed"], "1");
    desk.put(&["write", "agent-5", "out/removed"], "1");
    let (plain, compat) = (desk.machine.path("plain.json"), desk.machine.path("compat.json"));
    let (plain, compat) = (plain.to_str().unwrap(), compat.to_str().unwrap());
    desk.done(&["snapshot", "agent-5", "-o", plain]);
    desk.done(&["snapshot", "agent-5", "--compat", "-o", compat]);
    let receipt = desk.receipt();
    let id = format!("blake3:{}", desk.stored("receipts")[0].trim_end_matches(".json"));
    for same in [plain, compat, receipt.to_str().unwrap(), "agent-5", &id, id.trim_start_matches("blake3:")] {
        assert_eq!(desk.done(&["diff", same, "agent-5"]), "");
    }
    desk.put(&["write", "agent-5", "out/changed"], "2");
    desk.put(&["write", "agent-5", "result.txt"], "2");
    fs::remove_file(desk.base().join("agent-5/out/removed")).unwrap();
    for before in [plain, compat, receipt.to_str().unwrap(), &id] {
        let differs = desk.run(&["diff", before, "agent-5"]);
        assert_eq!(differs.code(), Some(1), "{differs:?}");
        assert_eq!(differs.stdout, "changed out/changed\nremoved out/removed\nadded result.txt\n");
    }
    let told = desk.run(&["diff", plain, "agent-5", "--json"]).json().unwrap();
    assert_eq!(told["differences"][0]["path"], "out/changed");
    assert_eq!(told["differences"][2]["before"]["state"], "missing");
    let said = desk.fails(&["diff", plain, compat], 1, "ErrFailed");
    assert!(said.contains("--compat"), "{said}");
    let text = fs::read_to_string(plain).unwrap().replace("out/removed", "out/another");
    write(Path::new(plain), text);
    assert!(desk.fails(&["diff", plain, "agent-5"], 1, "ErrFailed").contains("was changed"));
}

// --- Receipts -----------------------------------------------------------------------------------------------------

/// A desk whose agent has written something, and its receipt.
fn with_receipt() -> (Desk, PathBuf) {
    let desk = Desk::with_agent();
    desk.put(&["write", "agent-5", "out/x"], "the outcome\n");
    let receipt = desk.receipt();
    (desk, receipt)
}

fn statement(receipt: &Path) -> Value {
    let envelope: Value = serde_json::from_str(&fs::read_to_string(receipt).unwrap()).unwrap();
    let payload = envelope["payload"].as_str().unwrap();
    serde_json::from_slice(&piped("base64", &["-d"], payload.as_bytes())).unwrap()
}

#[test]
fn a_receipt_states_inputs_outputs_ledger_and_rules() {
    let (desk, receipt) = with_receipt();
    let said = statement(&receipt);
    assert_eq!(said["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(said["subject"][0]["name"], "out/x");
    let stated = &said["predicate"];
    assert_eq!(stated["agent"], "agent-5");
    assert_eq!(stated["declaration"]["temp"], true);
    assert_eq!(stated["inputs"]["files"]["in/a.txt"]["size"], 6);
    assert_eq!(stated["outputs"]["files"]["result.txt"]["state"], "missing");
    let text = fs::read_to_string(desk.machine.ledger()).unwrap();
    let (first, record) = text.split_once('\n').unwrap();
    assert_eq!(stated["ledger"]["seq"], 1);
    assert_eq!(stated["ledger"]["digest"], format!("sha256:{}", sha256(first.as_bytes())));
    assert!(record.contains("workspace-receipt"), "{record}");
    let ruleset = stated["ruleset"].as_str().unwrap();
    assert!(ruleset.starts_with("sha256:") && ruleset.len() == 71, "{ruleset}");
    assert_eq!(statement(&desk.receipt())["predicate"]["ruleset"], ruleset);
    write(&desk.machine.user_settings(), "profile = \"worktree-strict\"\n");
    assert_ne!(statement(&desk.receipt())["predicate"]["ruleset"], ruleset, "other rules, another digest");
    assert_eq!(desk.done(&["receipt", "agent-5"]).lines().count(), 1);
}

#[test]
fn a_receipt_verifies_by_file_and_by_id_here_and_elsewhere() {
    let (desk, receipt) = with_receipt();
    let path = receipt.to_str().unwrap();
    let report = desk.done(&["verify", path, "--current"]);
    for check in ["signature", "statement", "store", "ledger", "current"] {
        assert!(report.contains(&format!("ok     {check}: ")), "{report}");
    }
    let kept = desk.json(&["list", "--receipts"]);
    let id = kept["receipts"][0]["receipt"].as_str().unwrap();
    assert_eq!(desk.done(&["verify", id, "--current"]), report);
    // The agent goes on, which is no fault of the receipt.
    desk.put(&["write", "agent-5", "out/x"], "later\n");
    assert!(desk.done(&["verify", path]).contains("note   current: outputs are not as the receipt says"));
    assert_eq!(desk.run(&["verify", path, "--current"]).code(), Some(1));
    desk.done(&["cleanup", "agent-5"]);
    assert!(desk.done(&["verify", path]).contains("note   current: "));
    // On another machine there is the key and nothing else.
    let other = Desk::new();
    assert!(other.wrong(&receipt, "key").contains("--key"));
    let key = other.machine.file("signer.pem", desk.done(&["key"]));
    let key = key.to_str().unwrap();
    other.done(&["verify", path, "--signature", "--key", key]);
    assert!(!other.machine.state().join("workspaces/receipt-key.pem").exists(), "none is made to check");
    let lacking = other.run(&["verify", path, "--key", key]);
    assert!(lacking.stdout.contains("FAILED store: ") && lacking.stdout.contains("FAILED ledger: "));
    other.done(&["key"]);
    assert!(other.wrong(&receipt, "signature").contains("not signed by a trusted key"));
}

#[test]
fn an_unusable_base_does_not_stop_the_other_checks_of_verify() {
    let (desk, receipt) = with_receipt();
    let receipt = receipt.to_str().unwrap();
    let current = |report: &Value| {
        let checks = report["checks"].as_array().unwrap();
        assert_eq!(checks.len(), 5, "{report}");
        assert!(checks[..4].iter().all(|check| check["outcome"] == "ok"), "{report}");
        (checks[4]["check"].clone(), checks[4]["outcome"].clone())
    };
    let recorded = desk.machine.records().len();
    symlink("elsewhere", desk.base().join("agent-5/out/link")).unwrap();
    assert_eq!(current(&desk.json(&["verify", receipt])), ("current".into(), "note".into()));
    fs::set_permissions(desk.base(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(current(&desk.json(&["verify", receipt])), ("current".into(), "note".into()));
    desk.wrong_now(receipt);
    assert_eq!(desk.machine.records().len(), recorded, "nobody was refused anything");
}

#[test]
fn list_and_read_create_neither_a_base_nor_a_key() {
    let desk = Desk::new();
    assert_eq!(desk.json(&["list"])["workspaces"].as_array().unwrap().len(), 0);
    desk.fails(&["read", "agent-5", "x"], 1, "ErrWorkspaceNotFound");
    desk.fails(&["cleanup", "agent-5"], 1, "ErrWorkspaceNotFound");
    assert_eq!(desk.json(&["list", "--receipts"])["receipts"].as_array().unwrap().len(), 0);
    assert!(!desk.base().exists() && !desk.machine.state().join("workspaces/receipt-key.pem").exists());
}

#[test]
fn one_changed_byte_of_the_receipt_is_seen() {
    let (desk, receipt) = with_receipt();
    let whole = fs::read(&receipt).unwrap();
    let envelope: Value = serde_json::from_slice(&whole).unwrap();
    let text = String::from_utf8(whole.clone()).unwrap();
    let inside = |part: &str| text.find(part).unwrap() + part.len() / 2;
    for part in [envelope["payload"].as_str().unwrap(), envelope["signatures"][0]["sig"].as_str().unwrap()] {
        flip(&receipt, |_| inside(part));
        desk.wrong(&receipt, "signature");
        fs::write(&receipt, &whole).unwrap();
    }
    flip(&receipt, |_| inside("payloadType"));
    desk.wrong(&receipt, "receipt");
    fs::write(&receipt, &whole).unwrap();
    desk.done(&["verify", receipt.to_str().unwrap()]);
}

#[test]
fn one_changed_byte_of_the_store_is_seen() {
    let (desk, receipt) = with_receipt();
    assert_eq!(desk.stored("objects").len(), 3, "two inputs and an output");
    for object in desk.stored("objects") {
        let object = desk.store("objects").join(object);
        let whole = fs::read(&object).unwrap();
        flip(&object, |bytes| bytes.len() - 1);
        assert!(desk.wrong(&receipt, "store").contains("it was changed"));
        let args = ["replay", receipt.to_str().unwrap(), "--to", "again"];
        desk.fails(&args, 1, "ErrCorrupt");
        assert!(!desk.base().join("again").exists(), "half of it is none of it");
        fs::remove_file(&object).unwrap();
        assert!(desk.wrong(&receipt, "store").contains("does not hold"));
        fs::write(&object, &whole).unwrap();
        desk.done(&["verify", receipt.to_str().unwrap()]);
    }
}

#[test]
fn one_changed_byte_of_the_ledger_is_seen() {
    let (desk, receipt) = with_receipt();
    let ledger = desk.machine.ledger();
    let whole = fs::read(&ledger).unwrap();
    let text = String::from_utf8(whole.clone()).unwrap();
    flip(&ledger, |_| text.find("agent-5").unwrap());
    assert_eq!(desk.wrong(&receipt, "ledger"), "line 1 was changed");
    fs::write(&ledger, "").unwrap();
    assert!(desk.wrong(&receipt, "ledger").contains("line 1 is missing"));
    fs::write(&ledger, &whole).unwrap();
    desk.done(&["verify", receipt.to_str().unwrap()]);
}

#[test]
fn one_changed_byte_of_the_key_is_seen() {
    let (desk, receipt) = with_receipt();
    let key = desk.machine.state().join("workspaces/receipt-key.pem");
    let whole = fs::read(&key).unwrap();
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    for at in [3, whole.len() / 2, whole.len() - 40] {
        flip(&key, |_| at);
        assert!(desk.wrong(&receipt, "key").contains("receipt-key.pem"));
        fs::write(&key, &whole).unwrap();
    }
    fs::remove_file(&key).unwrap();
    desk.done(&["key"]);
    desk.wrong(&receipt, "signature");
    fs::write(&key, &whole).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(desk.wrong(&receipt, "key").contains("chmod 600"));
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    desk.done(&["verify", receipt.to_str().unwrap()]);
    // Half of all changed keys are no key any more, the others are somebody else's.
    let public = desk.machine.file("public.pem", desk.done(&["key"]));
    let text = fs::read_to_string(&public).unwrap();
    let first = text.find("MCowBQYDK2VwAyEA").unwrap() + "MCowBQYDK2VwAyEA".len();
    let mut seen = BTreeSet::new();
    for at in first..first + 40 {
        flip(&public, |_| at);
        let answer = desk.run(&["verify", receipt.to_str().unwrap(), "--key", public.to_str().unwrap()]);
        assert_eq!(answer.code(), Some(1), "{answer:?}");
        let (failed, _) = answer.stdout.split_once(": ").unwrap();
        seen.insert(failed.lines().last().unwrap().to_owned());
        fs::write(&public, &text).unwrap();
    }
    assert!(
        seen.iter().all(|failed| ["FAILED key", "FAILED signature"].contains(&failed.as_str())),
        "{seen:?}"
    );
    assert!(seen.contains("FAILED signature"), "{seen:?}");
}

#[test]
fn openssl_agrees_with_the_signature() {
    if !have("openssl", &["version"]) {
        return;
    }
    let (desk, receipt) = with_receipt();
    let public = desk.machine.file("public.pem", desk.done(&["key"]));
    let envelope: Value = serde_json::from_str(&fs::read_to_string(&receipt).unwrap()).unwrap();
    let decoded = |text: &Value| piped("base64", &["-d"], text.as_str().unwrap().as_bytes());
    let (kind, payload) = (envelope["payloadType"].as_str().unwrap(), decoded(&envelope["payload"]));
    let mut signed = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    signed.extend(payload);
    let signature = desk.machine.file("signature", decoded(&envelope["signatures"][0]["sig"]));
    let verify = |message: &[u8]| {
        let message = desk.machine.file("signed", message);
        let mut openssl = Command::new("openssl");
        openssl.args(["pkeyutl", "-verify", "-rawin", "-pubin", "-inkey"]).arg(&public);
        openssl.arg("-sigfile").arg(&signature).arg("-in").arg(message).output().unwrap()
    };
    let right = verify(&signed);
    assert!(right.status.success(), "{right:?}");
    signed[20] ^= 1;
    assert!(!verify(&signed).status.success());
    let der =
        Command::new("openssl").args(["pkey", "-pubin", "-outform", "DER", "-in"]).arg(&public).output();
    assert_eq!(envelope["signatures"][0]["keyid"], sha256(&der.unwrap().stdout).as_str());
    assert_eq!(desk.json(&["key"])["id"], envelope["signatures"][0]["keyid"]);
}

#[test]
fn a_replay_restores_every_byte_and_cannot_be_written() {
    let (desk, receipt) = with_receipt();
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    desk.put(&["write", "agent-5", "out/binary"], &bytes);
    desk.put(&["write", "agent-5", "temp/x"], "not in it");
    let later = desk.receipt();
    let top = desk.base().join("agent-5");
    let whole: Vec<_> =
        tree(&top).into_iter().filter(|(path, _)| !path.starts_with(top.join("temp"))).collect();
    desk.done(&["cleanup", "agent-5"]);
    let again = desk.json(&["replay", later.to_str().unwrap(), "--to", "again"]);
    let found = tree(Path::new(again["path"].as_str().unwrap()));
    let below = |files: &[(PathBuf, Vec<u8>)], top: &Path| -> Vec<_> {
        files
            .iter()
            .map(|(path, bytes)| (path.strip_prefix(top).unwrap().to_owned(), bytes.clone()))
            .collect()
    };
    assert_eq!(below(&found, &desk.base().join("again")), below(&whole, &top));
    assert_eq!(again["files"], found.len());
    assert_eq!(desk.done(&["read", "again", "out/x"]), "the outcome\n");
    for path in ["out/x", "out/new", "result.txt", "temp/x", "in/a.txt"] {
        desk.fails(&["write", "again", path], 2, "ErrUndeclaredWrite");
    }
    // Two states of one agent beside each other.
    let id = format!("blake3:{}", desk.stored("receipts")[0].trim_end_matches(".json"));
    desk.done(&["replay", &id, "--to", "by-id"]);
    desk.done(&["replay", receipt.to_str().unwrap(), "--to", "before", "--before"]);
    assert_eq!(tree(&desk.base().join("before")).len(), 2, "the inputs");
    desk.fails(&["replay", receipt.to_str().unwrap(), "--to", "again"], 1, "ErrAgentInUse");
    desk.fails(&["replay", receipt.to_str().unwrap(), "--to", "../x"], 2, "ErrInvalidAgent");
    flip(&receipt, |bytes| bytes.len() / 2);
    desk.fails(&["replay", receipt.to_str().unwrap(), "--to", "forged"], 1, "ErrBadReceipt");
}

#[test]
fn gc_removes_only_what_no_receipt_or_workspace_needs() {
    let (desk, first) = with_receipt();
    desk.put(&["write", "agent-5", "out/x"], "the second outcome\n");
    let second = desk.machine.path("second.json");
    let told = desk.json(&["receipt", "agent-5", "-o", second.to_str().unwrap()]);
    // Two inputs, two outcomes; nothing twice.
    assert_eq!(desk.stored("objects").len(), 4);
    assert_eq!(desk.json(&["gc"])["removed"], 0);
    let id = told["receipt"].as_str().unwrap();
    let collected = desk.json(&["gc", "--forget", id]);
    assert_eq!((&collected["removed"], &collected["bytes"]), (&1.into(), &19.into()), "{collected}");
    assert_eq!(desk.machine.last_record()["event"], "workspace-forget");
    desk.done(&["verify", first.to_str().unwrap()]);
    desk.wrong(&second, "store");
    desk.fails(&["gc", "--forget", id], 1, "ErrFailed");
    assert_eq!(desk.run(&["gc", "--forget", "../../x"]).code(), Some(64), "no digest");
    // What the workspace began with is needed while it is there.
    let first = desk.json(&["list", "--receipts"])["receipts"][0]["receipt"].as_str().unwrap().to_owned();
    assert_eq!(desk.json(&["gc", "--forget", &first])["kept"], 2);
    desk.receipt();
    desk.done(&["cleanup", "agent-5"]);
    assert_eq!(desk.json(&["gc"])["kept"], 3, "the receipt needs them still");
    let last = desk.json(&["list", "--receipts"])["receipts"][0]["receipt"].as_str().unwrap().to_owned();
    assert_eq!(desk.json(&["gc", "--forget", &last])["kept"], 0);
    assert!(desk.stored("objects").is_empty());
}
