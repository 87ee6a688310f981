//! A call that was stopped, and a person's word about it: from the built programs, with real events, at a terminal that no agent made.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use toolgate_gate::approval::{Pending, answer};
use toolgate_gate::dirs::Dirs;
use toolgate_setup::approval::{About, Statement, sign_at_terminal};
use toolgate_setup::this_machine;

use crate::support::terminal::{Terminal, at_terminal};
use crate::support::{Answer, Hook, Machine, Said, Session, have, write};

/// A machine with a worktree, in which `git reset --hard` is denied.
struct Desk {
    machine: Machine,
    top: PathBuf,
}

const COMMAND: &str = "git reset --hard";

impl Desk {
    fn new() -> Desk {
        let machine = Machine::new();
        let main = machine.repository("main");
        let top = machine.worktree(&main, "top");
        Desk { machine, top }
    }

    fn session(&self) -> Session {
        self.machine.session("first", &self.top)
    }

    fn try_it(&self) -> Said {
        self.session().call("Bash", &json!({"command": COMMAND}))
    }

    /// Tries the call, which is stopped, and gives the code for it.
    fn stopped(&self) -> String {
        let Said::Deny(reason) = self.try_it() else { panic!("not denied") };
        code_in(&reason).unwrap_or_else(|| panic!("no code in {reason}"))
    }

    fn toolgate(&self, words: &[&str]) -> Hook {
        self.machine.toolgate().args(words).cwd(&self.top)
    }

    fn types_yes(&self, words: &[&str]) -> Answer {
        at_terminal(&self.toolgate(words), "yes\n")
    }

    fn dirs(&self) -> Dirs {
        Dirs::of_home(&self.machine.home())
    }

    fn pending(&self) -> Pending {
        Pending::all(&this_machine(), &self.dirs()).unwrap().remove(0)
    }

    fn statement(&self, made: SystemTime) -> Statement {
        let pending = self.pending();
        let about = About::Call {
            code: pending.code.clone(),
            subject: pending.subject.clone(),
            objections: pending.objections,
            uses: 1,
        };
        Statement::new(about, "dev", "", made, Duration::from_mins(15)).unwrap()
    }

    fn answers(&self) -> PathBuf {
        let directory = self.machine.state().join("approvals/answers");
        fs::read_dir(directory).unwrap().next().expect("an answer").unwrap().path()
    }
}

fn code_in(reason: &str) -> Option<String> {
    let named = |before: &str| reason.split_once(&format!("{before}`toolgate approve "));
    let (_, rest) = named("A person can let it through: ").or_else(|| named(", or "))?;
    rest.split('`').next().map(str::to_owned)
}

#[test]
fn a_call_that_a_person_approves_runs_once() {
    let desk = Desk::new();
    let code = desk.stopped();
    assert_eq!(desk.stopped(), code, "the same call has the same code");
    let listed = desk.toolgate(&["pending"]).run("").stdout;
    assert!(listed.contains(&code) && listed.contains(COMMAND), "{listed}");
    let no = at_terminal(&desk.toolgate(&["approve", &code]), "no\n");
    assert_eq!(no.code(), Some(1), "{no:?}");
    assert_eq!(desk.stopped(), code, "after a no");
    let approved = desk.types_yes(&["approve", &code.to_lowercase()]);
    assert_eq!(approved.code(), Some(0), "{approved:?}");
    for part in [COMMAND, "effects:", "objections that an approval lets pass:", "once within 15 minutes"] {
        assert!(approved.stdout.contains(part), "no {part:?} in {}", approved.stdout);
    }
    assert_eq!(desk.toolgate(&["pending"]).run("").stdout, "nothing waits\n");
    assert_eq!(desk.try_it(), Said::Nothing, "the next identical call passes");
    let used = desk.machine.last_record();
    assert_eq!((used["decision"].as_str(), used["granted"].as_bool()), (Some("allow"), Some(false)));
    assert_eq!(
        (
            used["approval"]["code"].as_str(),
            used["approval"]["how"].as_str(),
            used["approval"]["use"].as_u64()
        ),
        (Some(code.as_str()), Some("terminal"), Some(1))
    );
    let given =
        desk.machine.records().into_iter().find(|record| record["event"] == "security-warning: approve");
    let given = given.expect("the record has it");
    assert_eq!(
        (&given["args"]["nonce"], &given["args"]["how"]),
        (&used["approval"]["nonce"], &json!("terminal"))
    );
    let told = desk.toolgate(&["ledger", "tail"]).run("").stdout;
    assert!(told.contains(&format!("(terminal, weak, code {code})")), "{told}");
    let again = desk.stopped();
    assert_ne!(again, code, "no second use exists");
    assert_eq!(desk.machine.last_record()["decision"], "deny");
    assert_eq!(desk.toolgate(&["ledger", "verify"]).run("").code(), Some(0));
}

/// Whoever comes afterwards finds neither records that they could take out of the log, nor the key to sign it anew.
#[test]
fn an_approval_and_its_use_are_sealed_at_once() {
    let desk = Desk::new();
    let code = desk.stopped();
    let verified = || desk.toolgate(&["ledger", "verify", "--json"]).run("").json().unwrap_or_default();
    assert_eq!(verified()["seal"], Value::Null, "nothing is due yet");
    assert_eq!(desk.types_yes(&["approve", &code]).code(), Some(0));
    let sealed_with = |keys: u64| {
        let deadline = Instant::now() + Duration::from_mins(1);
        let is_sealed = || {
            let seal = &verified()["seal"];
            (seal["keys"].as_u64(), seal["unsealed"].as_u64()) == (Some(keys), Some(0))
        };
        while !is_sealed() {
            assert!(Instant::now() < deadline, "{}", verified());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    sealed_with(1);
    assert_eq!(desk.try_it(), Said::Nothing, "the use of it");
    sealed_with(2);
    assert_eq!(verified()["outcome"], "good");
}

#[test]
fn an_approval_is_for_its_call_and_no_other() {
    let desk = Desk::new();
    let code = desk.stopped();
    let approved = desk.types_yes(&["approve", &code, "--uses", "2", "--for", "60"]);
    assert_eq!(approved.code(), Some(0), "{approved:?}");
    let bash = |session: &Session, command: &str| session.call("Bash", &json!({"command": command})).word();
    assert_eq!(bash(&desk.machine.session("second", &desk.top), COMMAND), "deny", "another session");
    assert_eq!(bash(&desk.session(), "git reset --hard HEAD"), "deny", "another input");
    assert_eq!(bash(&desk.session(), "git reset --hard "), "deny", "to the byte");
    fs::create_dir(desk.top.join("sub")).unwrap();
    assert_eq!(bash(&desk.session().from(&desk.top.join("sub")), COMMAND), "deny", "another directory");
    let described = json!({"command": COMMAND, "description": "x"});
    assert_eq!(desk.session().call("Bash", &described).word(), "deny", "another parameter");
    assert_eq!((desk.try_it(), desk.try_it()), (Said::Nothing, Said::Nothing), "twice, as was asked for");
    assert_eq!(desk.try_it().word(), "deny");
}

#[test]
fn what_a_host_says_of_a_call_besides_its_input_is_approved_with_it() {
    let desk = Desk::new();
    let try_it = |action: &str| {
        let event = json!({
            "event": "before", "session": "plain", "cwd": desk.top, "tool": "note",
            "action": {action: desk.machine.path("elsewhere")}, "input": {},
        });
        desk.machine.hook("generic").cwd(&desk.top).event(&event).json().unwrap_or_default()
    };
    let denied = try_it("write");
    let code = code_in(denied["reason"].as_str().unwrap()).unwrap();
    let approved = desk.types_yes(&["approve", &code]);
    assert_eq!(approved.code(), Some(0), "{approved:?}");
    assert_eq!(try_it("delete")["decision"], "deny");
    assert_ne!(try_it("write")["decision"], "deny");
    assert_eq!(try_it("write")["decision"], "deny");
}

#[test]
fn a_question_can_be_approved_too_and_the_permission_that_follows_takes_no_use() {
    let desk = Desk::new();
    write(&desk.machine.user_settings(), "[rules]\ngit-reset-hard = \"ask\"\n");
    let Said::Ask(reason) = desk.try_it() else { panic!("not asked") };
    let approved = desk.types_yes(&["approve", &code_in(&reason).unwrap()]);
    assert_eq!(approved.code(), Some(0), "{approved:?}");
    assert_eq!(desk.try_it(), Said::Nothing);
    let input = json!({"tool_name": "Bash", "tool_input": {"command": COMMAND}});
    let asked = desk.session().event("PermissionRequest", &input);
    assert_eq!((asked.code(), asked.stdout.as_str()), (Some(0), ""), "{asked:?}");
    assert_eq!(desk.try_it().word(), "ask", "and the next call needs another");
}

/// Copilot announces a call with all of its input, and asks permission in other words: for a command alone, and for each file of an edit.
#[test]
fn a_permission_in_other_words_than_the_call_was_announced_in_passes_with_it() {
    let desk = Desk::new();
    let other = desk.machine.dir("elsewhere").join("notes.md");
    write(&other, "old\n");
    let hook = |event: &str, named: &str, tool: &str, input: &Value| {
        let sent = json!({"sessionId": "s", "timestamp": 1, "cwd": desk.top, "toolName": tool, named: input});
        desk.machine.hook("copilot").args(["--event", event]).run(sent.to_string())
    };
    let announced = |tool: &str, input: &Value| hook("preToolUse", "toolArgs", tool, input);
    let asked = |tool: &str, input: &Value| hook("permissionRequest", "toolInput", tool, input);
    for (tool, input, permission, words, others) in [
        (
            "bash",
            json!({"command": COMMAND, "description": "start over"}),
            "bash",
            json!({"command": COMMAND}),
            json!({"command": "git reset --hard HEAD"}),
        ),
        (
            "edit",
            json!({"path": other, "old_str": "old", "new_str": "new"}),
            "edit",
            json!({"file_path": other, "diff": "-old\n+new\n"}),
            json!({"file_path": other.with_file_name("keys.md"), "diff": "-old\n+new\n"}),
        ),
    ] {
        let denied = announced(tool, &input);
        let code = code_in(&denied.stdout).unwrap_or_else(|| panic!("{denied:?}"));
        assert!(asked(permission, &words).stdout.contains("deny"), "nobody has approved it");
        assert_eq!(desk.types_yes(&["approve", &code]).code(), Some(0));
        assert!(asked(permission, &words).stdout.contains("deny"), "it was not announced since");
        let passed = announced(tool, &input);
        assert_eq!((passed.code(), passed.stdout.as_str()), (Some(0), ""), "{passed:?}");
        assert!(asked(permission, &others).stdout.contains("deny"), "{others}");
        let permitted = asked(permission, &words);
        assert_eq!((permitted.code(), permitted.stdout.as_str()), (Some(0), ""), "{permitted:?}");
        assert!(announced(tool, &input).stdout.contains("deny"), "it is used");
    }
}

#[test]
fn forged_edited_and_expired_approvals_let_nothing_pass() {
    let desk = Desk::new();
    desk.stopped();
    let (dirs, now) = (desk.dirs(), SystemTime::now());
    let hour = Duration::from_hours(1);
    let pending = desk.pending();
    let put = |bytes: &[u8]| answer(&dirs, &pending, bytes).unwrap();
    let good = desk.statement(now);
    let over = desk.statement(now - hour);
    put(&sign_at_terminal(&dirs, &over).unwrap());
    assert_eq!(desk.try_it().word(), "deny", "over");
    let elsewhere = Machine::new();
    put(&sign_at_terminal(&Dirs::of_home(&elsewhere.home()), &good).unwrap());
    assert_eq!(desk.try_it().word(), "deny", "a key that is not enrolled");
    put(br#"{"approved_by":"dev","until":99999999999}"#);
    assert_eq!(desk.try_it().word(), "deny", "no statement at all");
    let signed = sign_at_terminal(&dirs, &good).unwrap();
    let mut edited: Value = serde_json::from_slice(&signed).unwrap();
    let other: Value =
        serde_json::from_slice(&sign_at_terminal(&dirs, &desk_statement_with_uses(&good, 20)).unwrap())
            .unwrap();
    edited["payload"] = other["payload"].clone();
    put(edited.to_string().as_bytes());
    assert_eq!(desk.try_it().word(), "deny", "another statement under the signature");
    put(&signed);
    assert_eq!(desk.try_it(), Said::Nothing, "and the one that was signed passes");
    put(&signed);
    assert_eq!(desk.try_it().word(), "deny", "put back, it is used all the same");
    let text = fs::read(desk.answers()).unwrap();
    assert!(!String::from_utf8_lossy(&text).contains("PRIVATE"));
}

fn desk_statement_with_uses(statement: &Statement, uses: u32) -> Statement {
    let About::Call { code, subject, objections, .. } = statement.about.clone() else { panic!("a call") };
    Statement { about: About::Call { code, subject, objections, uses }, ..statement.clone() }
}

#[test]
fn of_calls_at_once_one_has_the_use() {
    let desk = Desk::new();
    let code = desk.stopped();
    assert_eq!(desk.types_yes(&["approve", &code]).code(), Some(0));
    let said: Vec<Said> = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..8).map(|_| scope.spawn(|| desk.try_it())).collect();
        tries.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(said.iter().filter(|said| **said == Said::Nothing).count(), 1, "{said:?}");
    let uses = desk.machine.records().iter().filter(|record| record["approval"]["use"] == 1).count();
    assert_eq!(uses, 1);
}

#[test]
fn the_floor_has_no_code_and_cannot_be_approved() {
    let desk = Desk::new();
    let session = desk.session();
    for command in [
        "toolgate pause --no-hooks",
        "toolgate approve AAAA-AAAA",
        "echo x > ~/.config/toolgate/toolgate.toml",
        "cat ~/.ssh/id_ed25519",
        "mkfs.ext4 /dev/sda1",
        "git reset --hard; cat ~/.aws/credentials",
    ] {
        let Said::Deny(reason) = session.call("Bash", &json!({"command": command})) else {
            panic!("{command} is not denied")
        };
        assert_eq!(code_in(&reason), None, "{reason}");
    }
    assert_eq!(desk.toolgate(&["pending"]).run("").stdout, "nothing waits\n");
    let answer = desk.types_yes(&["approve", "AAAA-AAAA"]);
    assert!(answer.stdout.contains("What the floor denies"), "{answer:?}");
}

#[test]
fn a_rejection_is_what_the_agent_reads() {
    let desk = Desk::new();
    let code = desk.stopped();
    let answer = desk.toolgate(&["reject", &code, "keep the work:\nuse git stash"]).run("");
    assert_eq!(answer.code(), Some(0), "{answer:?}");
    let Said::Deny(reason) = desk.try_it() else { panic!("not denied") };
    assert!(
        reason.contains("has rejected this very call: keep the work: use git stash [rejected]"),
        "{reason}"
    );
    assert_eq!(code_in(&reason), None, "{reason}");
    assert_eq!(desk.toolgate(&["pending"]).run("").stdout, "nothing waits\n");
    let Said::Deny(other) = desk.session().call("Bash", &json!({"command": "git reset --hard HEAD"})) else {
        panic!("not denied")
    };
    assert!(code_in(&other).is_some(), "another call is another matter: {other}");
}

#[test]
fn settings_can_require_more_and_forbid() {
    let desk = Desk::new();
    let code = desk.stopped();
    write(&desk.machine.user_settings(), "[approval]\nrules.git-reset-hard = \"touch\"\n");
    let weak = desk.types_yes(&["approve", &code]);
    assert_eq!(weak.code(), Some(1), "{weak:?}");
    assert!(weak.stdout.contains("no security key of yours is enrolled"), "{weak:?}");
    // One that was signed before, at a terminal, is not enough any more.
    let signed = sign_at_terminal(&desk.dirs(), &desk.statement(SystemTime::now())).unwrap();
    answer(&desk.dirs(), &desk.pending(), &signed).unwrap();
    assert_eq!(desk.try_it().word(), "deny");
    write(&desk.machine.user_settings(), "");
    assert_eq!(desk.try_it(), Said::Nothing, "nothing of it was used up");
    // A project can ask for more, and for no less.
    write(&desk.machine.user_settings(), "[approval]\nrequire = \"nobody\"\n");
    write(&desk.top.join("toolgate.toml"), "[approval]\nrequire = \"terminal\"\n");
    let Said::Deny(reason) = desk.try_it() else { panic!("not denied") };
    assert_eq!(code_in(&reason), None, "{reason}");
    for words in [&["trust"][..], &["pause", "--no-hooks"], &["allow", "rule", "git-clean"]] {
        let refused = desk.types_yes(words);
        assert_eq!(refused.code(), Some(1), "{refused:?}");
        assert!(refused.stdout.contains("let nobody do this"), "{refused:?}");
    }
    let doctor = desk.toolgate(&["doctor", "--host", "claude-code"]).run("").stdout;
    assert!(doctor.contains("approval") && doctor.contains("nobody"), "{doctor}");
}

#[test]
fn to_open_more_is_never_had_for_less_than_one_call() {
    let desk = Desk::new();
    write(&desk.machine.user_settings(), "[approval]\nrules.git-reset-hard = \"nobody\"\n");
    write(&desk.top.join("toolgate.toml"), "[rules]\ngit-reset-hard = \"allow\"\n");
    for words in [
        &["allow", "rule", "git-reset-hard"][..],
        &["allow", "program", "git"],
        &["pause", "--no-hooks"],
        &["trust"],
    ] {
        let refused = desk.types_yes(words);
        assert_eq!(refused.code(), Some(1), "{refused:?}");
        assert!(refused.stdout.contains("let nobody do this"), "{refused:?}");
    }
    let place = desk.machine.dir("elsewhere");
    for words in [&["allow", "rule", "git-clean"][..], &["allow", "read", place.to_str().unwrap()]] {
        let other = desk.types_yes(words);
        assert_eq!(other.code(), Some(0), "another matter: {other:?}");
    }
}

#[test]
fn another_person_signs_with_a_key_of_their_own() {
    if !have("sh", &["-c", "command -v ssh-keygen"]) {
        return;
    }
    let desk = Desk::new();
    let key = desk.machine.path("ash");
    let made = desk.machine.toolgate().instead(&[
        "ssh-keygen",
        "-q",
        "-t",
        "ed25519",
        "-N",
        "",
        "-f",
        key.to_str().unwrap(),
    ]);
    assert_eq!(made.run("").code(), Some(0));
    let public = format!("{}.pub", key.display());
    let enrolled = desk.types_yes(&["approver", "add", "ash", &public]);
    assert_eq!(enrolled.code(), Some(0), "{enrolled:?}");
    assert!(desk.toolgate(&["approver", "list"]).run("").stdout.contains("other-person"));
    write(&desk.machine.user_settings(), "[approval]\nrequire = \"other-person\"\n");
    let code = desk.stopped();
    let statement = desk.toolgate(&["approve", &code, "--statement"]).run("");
    assert_eq!(statement.code(), Some(0), "{statement:?}");
    assert!(statement.stderr.contains(COMMAND), "what is signed is shown: {statement:?}");
    let file = desk.machine.file("statement", &statement.stdout);
    let sign = |purpose: &str, file: &str| {
        let _ = fs::remove_file(format!("{file}.sig"));
        let words = ["ssh-keygen", "-q", "-Y", "sign", "-n", purpose, "-f", key.to_str().unwrap(), file];
        assert_eq!(desk.machine.toolgate().instead(&words).run("").code(), Some(0));
        format!("{file}.sig")
    };
    let take = |signature: &str| desk.toolgate(&["approve", &code, "--signature", signature]).run("");
    let file = file.to_str().unwrap();
    let refused = take(&sign("git", file));
    assert!(refused.stderr.contains("made for another purpose"), "{refused:?}");
    let other = desk.machine.file("other", statement.stdout.replace("\"uses\":1", "\"uses\":9"));
    let refused = take(&sign("toolgate", other.to_str().unwrap()));
    assert!(refused.stderr.contains("the statement was changed"), "{refused:?}");
    let typed = desk.types_yes(&["approve", &code]);
    assert_eq!(typed.code(), Some(1), "a yes at the terminal is not enough: {typed:?}");
    assert_eq!(desk.try_it().word(), "deny");
    let taken = take(&sign("toolgate", file));
    assert_eq!(taken.code(), Some(0), "{taken:?}");
    assert_eq!(desk.try_it(), Said::Nothing);
    let approval = &desk.machine.last_record()["approval"];
    assert_eq!((&approval["by"], &approval["how"]), (&json!("ash"), &json!("other-person")));
    // OpenSSH's own program verifies the same statement against the same list.
    let list = desk.machine.home().join(".config/toolgate/approvers");
    let words = ["ssh-keygen", "-Y", "verify", "-n", "toolgate", "-I", "ash", "-s"];
    let signature = format!("{file}.sig");
    let verify =
        desk.machine.toolgate().instead(&words).args([signature.as_str(), "-f", list.to_str().unwrap()]);
    assert_eq!(verify.run(&statement.stdout).code(), Some(0));
}

/// Commands that a person alone can run, each of which would loosen something.
fn loosening(code: &str) -> Vec<Vec<String>> {
    let words = |line: String| line.split(' ').map(str::to_owned).collect();
    [format!("approve {code}"), "pause --no-hooks".into(), "allow rule git-clean".into(), "trust".into()]
        .map(words)
        .into()
}

#[test]
fn nobody_approves_from_an_agents_side() {
    let desk = Desk::new();
    write(&desk.top.join("toolgate.toml"), "grant = false\n");
    let code = desk.stopped();
    let state = |desk: &Desk| {
        let there = |name: &str| desk.machine.state().join(name).exists();
        (there("approvals/answers"), there("paused"), there("trusted"), desk.machine.user_settings().exists())
    };
    let before = state(&desk);
    let binary = env!("CARGO_BIN_EXE_toolgate");
    // A program by the name of a host: its children are an agent's, whoever made the terminal.
    let fake = desk.machine.path("bin/claude");
    fs::create_dir_all(fake.parent().unwrap()).unwrap();
    fs::copy("/bin/sh", &fake).unwrap();
    for words in loosening(&code) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let line = format!("'{binary}' {}", words.join(" "));
        let plain = desk.toolgate(&words);
        let below = plain.clone().under(&[fake.to_str().unwrap(), "-c", "\"$@\"; exit $?", "sh"]);
        let marked = plain.clone().env("CLAUDECODE", "1");
        let contained = plain.clone().under(&[binary, "exec", "--"]);
        let privileges = plain.clone().under(&["setpriv", "--no-new-privs", "--"]);
        for (how, hook) in
            [("host", below), ("mark", marked), ("exec", contained), ("privileges", privileges)]
        {
            let refused = at_terminal(&hook, "yes\n");
            assert_ne!(refused.code(), Some(0), "{how} {words:?}: {refused:?}");
            assert_eq!(state(&desk), before, "{how} {words:?}: {refused:?}");
        }
        let piped = plain.run("yes\n");
        assert!(piped.stderr.contains("only a person can do this"), "{piped:?}");
        // Terminals that programs make.
        let mut makers = vec![vec!["script", "-qec", &line, "/dev/null"]];
        let spawn = format!("import pty; pty.spawn(['sh', '-c', {line:?}])");
        let away = format!(
            "import os, pty, time\nif os.fork(): time.sleep(3); os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n\
             time.sleep(0.3)\npid, fd = pty.fork()\nif pid == 0: os.execv('/bin/sh', ['sh', '-c', {line:?}])\n\
             os.write(fd, b'yes\\n')\ntry:\n    while os.read(fd, 999): pass\nexcept OSError: pass"
        );
        if have("/usr/bin/python3", &["-c", "import pty"]) {
            makers.push(vec!["/usr/bin/python3", "-c", &spawn]);
            makers.push(vec!["/usr/bin/python3", "-c", &away]);
        }
        for maker in makers {
            let hook = desk.machine.toolgate().cwd(&desk.top).instead(&maker);
            let _ = hook.run("yes\n");
            assert_eq!(state(&desk), before, "{maker:?}");
        }
    }
    for (name, script) in windows() {
        // That it types at all: a reader of its terminal gets the word.
        let heard = desk.machine.path("heard");
        let reads = format!("read x; echo $x > '{}'", heard.display());
        let type_at = |line: &str| {
            let socket = desk.machine.path("socket");
            let words = ["sh", "-c", script, line, socket.to_str().unwrap()];
            desk.machine
                .toolgate()
                .cwd(&desk.top)
                .instead(&words)
                .env("SCREENDIR", desk.machine.path("screens"))
                .run("yes\n")
        };
        let _ = type_at(&reads);
        assert_eq!(fs::read_to_string(&heard).unwrap_or_default(), "yes\n", "{name} types");
        fs::remove_file(&heard).unwrap();
        for words in loosening(&code) {
            let said = type_at(&format!("'{binary}' {}", words.join(" ")));
            assert_eq!(state(&desk), before, "{name} {words:?}: {said:?}");
        }
    }
    assert_eq!(desk.stopped(), code, "and the call still waits");
}

/// Programs that make a terminal and type into it, as far as they are installed: `$0` is run there, and `yes` is typed. `$1` is a name
/// for a socket.
fn windows() -> Vec<(&'static str, &'static str)> {
    const ALL: &[(&str, &str)] = &[
        (
            "tmux",
            "tmux -S \"$1\" -f /dev/null new-session -d -s a \"$0\"; sleep 0.4; tmux -S \"$1\" send-keys -t a yes Enter; sleep 0.6; \
             tmux -S \"$1\" kill-server; true",
        ),
        (
            "screen",
            "mkdir -p -m 700 \"$SCREENDIR\"; screen -dmS a sh -c \"$0\"; sleep 0.4; screen -S a -p 0 -X stuff \"yes$(printf '\\r')\"; \
             sleep 0.6; screen -S a -X quit; true",
        ),
        (
            "expect",
            "expect -c \"spawn -noecho sh -c {$0}; after 400; send yes\\\\r; set timeout 5; expect eof\"",
        ),
        (
            "socat",
            "{ sleep 0.4; echo yes; sleep 0.6; } | socat - SYSTEM:\"$(printf '%s' \"$0\" | sed 's/[\\\\\":,!]/\\\\&/g')\",pty,setsid,ctty",
        ),
    ];
    let is_there = |one: &&(&str, &str)| have("sh", &["-c", &format!("command -v {}", one.0)]);
    ALL.iter().filter(is_there).copied().collect()
}

/// On request it is wider, by the road of `toolgate allow`, and no wider than what stops this call.
#[test]
fn an_approval_can_open_the_place_or_the_rule_that_stops_the_call() {
    let desk = Desk::new();
    let code = desk.stopped();
    let refused = desk.types_yes(&["approve", &code, "--rule", "git-clean"]);
    assert!(refused.code() == Some(1) && refused.stdout.contains("does not stop this call"), "{refused:?}");
    let alone = desk.types_yes(&["approve", &code, "--until", "2999-12-31"]);
    assert_eq!(alone.code(), Some(1), "{alone:?}");
    let no = at_terminal(&desk.toolgate(&["approve", &code, "--rule", "git-reset-hard"]), "no\n");
    assert!(no.code() == Some(1) && !desk.machine.user_settings().exists(), "{no:?}");
    write(&desk.machine.user_settings(), "[approval]\nrules.git-reset-hard = \"touch\"\n");
    let weak = desk.types_yes(&["approve", &code, "--rule", "git-reset-hard"]);
    assert!(
        weak.code() == Some(1) && weak.stdout.contains("no security key of yours is enrolled"),
        "{weak:?}"
    );
    fs::remove_file(desk.machine.user_settings()).unwrap();
    let opened = desk.types_yes(&["approve", &code, "--rule", "git-reset-hard", "--until", "2999-12-31"]);
    assert_eq!(opened.code(), Some(0), "{opened:?}");
    assert!(opened.stdout.contains(COMMAND) && opened.stdout.contains("+git-reset-hard"), "{opened:?}");
    for _ in 0..2 {
        assert!(
            matches!(desk.try_it(), Said::Nothing | Said::Rewrite(_)),
            "it runs, in the sandbox where there is one"
        );
    }

    let shared = desk.machine.dir("shared");
    let read = || desk.session().read(shared.join("a.txt").to_str().unwrap());
    assert_eq!(read(), "deny");
    let listed: Value = serde_json::from_str(&desk.toolgate(&["pending", "--json"]).run("").stdout).unwrap();
    let reads = listed["pending"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["call"].as_str().unwrap().contains("Read"));
    let code = reads.unwrap_or_else(|| panic!("{listed}"))["code"].as_str().unwrap().to_owned();
    let elsewhere = desk.machine.dir("elsewhere");
    let other = desk.types_yes(&["approve", &code, "--place", elsewhere.to_str().unwrap()]);
    assert!(other.code() == Some(1) && other.stdout.contains("nothing that stops this call"), "{other:?}");
    let opened = desk.types_yes(&["approve", &code, "--place", shared.to_str().unwrap()]);
    assert_eq!(opened.code(), Some(0), "{opened:?}");
    assert_ne!(read(), "deny");
    let write = json!({"file_path": shared.join("a.txt"), "content": "x"});
    assert_eq!(desk.session().call("Write", &write).word(), "deny", "reading alone was opened");
}

/// Everything that loosens takes one road: whoever reads the log later finds who agreed, to what, and the signature for it.
#[test]
fn the_record_of_every_loosening_act_names_the_signed_statement() {
    let desk = Desk::new();
    write(&desk.top.join("toolgate.toml"), "grant = false\n");
    let key = desk.machine.path("ash");
    let make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key.to_str().unwrap()];
    assert_eq!(desk.machine.toolgate().instead(&make).run("").code(), Some(0));
    let public = format!("{}.pub", key.display());
    let locked = desk.toolgate(&["lockout", "add", "auth", "--agent", "ash"]).run("");
    assert_eq!(locked.code(), Some(0), "{locked:?}");
    let code = desk.stopped();
    let other = desk.machine.dir("elsewhere");
    let other = other.to_str().unwrap();
    for (event, words) in [
        ("security-warning: approve", &["approve", &code][..]),
        ("security-warning: trust", &["trust"]),
        ("security-warning: pause --no-hooks", &["pause", "--no-hooks"]),
        ("phase-set", &["phase", "set", "team-mode"]),
        ("phase-clear", &["phase", "clear"]),
        ("lockout-clear", &["lockout", "clear", "auth"]),
        ("security-warning: approver add", &["approver", "add", "ash", &public]),
        ("security-warning: allow", &["allow", "rule", "git-clean"]),
        ("security-warning: allow", &["allow", "read", other]),
        ("ledger-erased", &["ledger", "erase", "1"]),
    ] {
        let no = at_terminal(&desk.toolgate(words), "no\n");
        assert_ne!(no.code(), Some(0), "{words:?}: {no:?}");
        let before = desk.machine.records().len();
        let yes = desk.types_yes(words);
        assert_eq!(yes.code(), Some(0), "{words:?}: {yes:?}");
        let records = desk.machine.records();
        let made: Vec<_> = records[before..].iter().filter(|record| record["event"] == event).collect();
        let [record] = made.as_slice() else { panic!("{words:?}: {made:?}") };
        the_statement_is_kept(&desk, &record["args"], &format!("{words:?}"));
    }
    // A file of the log is dropped once it is full, and no test fills one: what is asked is the same.
    assert_eq!(desk.types_yes(&["ledger", "prune", "--before", "180d"]).code(), Some(0));
    assert_eq!(desk.toolgate(&["ledger", "verify"]).run("").code(), Some(0));
}

fn the_statement_is_kept(desk: &Desk, args: &Value, what: &str) {
    use base64ct::{Base64, Encoding};
    let text = |name: &str| args[name].as_str().unwrap_or_else(|| panic!("{what}: no {name} in {args}"));
    assert_eq!(text("how"), "terminal", "{what}");
    assert!(!text("approved-by").is_empty() && !text("question").is_empty(), "{what}");
    let kept = desk.machine.state().join("approvals/agreed").join(text("nonce"));
    let envelope: Value = serde_json::from_slice(&fs::read(&kept).unwrap()).unwrap();
    let payload = Base64::decode_vec(envelope["payload"].as_str().unwrap()).unwrap();
    let statement: Statement = serde_json::from_slice(&payload).unwrap();
    assert_eq!(
        (statement.nonce.as_str(), statement.shown.as_str()),
        (text("nonce"), text("shown")),
        "{what}"
    );
    assert_eq!(statement.digest().unwrap(), text("statement"), "{what}");
    let signature = Base64::decode_vec(envelope["signatures"][0]["sig"].as_str().unwrap()).unwrap();
    let signed = sign_at_terminal(&desk.dirs(), &statement).unwrap();
    let again: Value = serde_json::from_slice(&signed).unwrap();
    // Ed25519 signs the same text the same way, so this is the signature of this machine's key over this statement.
    assert_eq!(Base64::encode_string(&signature), again["signatures"][0]["sig"].as_str().unwrap(), "{what}");
}

#[test]
fn taking_the_gate_out_needs_what_the_settings_require() {
    let desk = Desk::new();
    let settings = desk.machine.home().join(".claude/settings.json");
    let toolgate = |words: &[&str]| desk.machine.toolgate().args(words).cwd(&desk.top).run("");
    assert_eq!(toolgate(&["init", "--host", "claude-code", "--yes"]).code(), Some(0));
    let is_there = || fs::read_to_string(&settings).unwrap_or_default().contains("toolgate");
    for (require, why) in [("touch", "only a person can do this"), ("nobody", "let nobody do this")] {
        write(&desk.machine.user_settings(), format!("[approval]\nrequire = \"{require}\"\n"));
        let refused = toolgate(&["uninstall", "--yes"]);
        assert_eq!(refused.code(), Some(1), "{refused:?}");
        assert!(refused.stderr.contains(why) && is_there(), "{refused:?}");
        assert_eq!(toolgate(&["uninstall", "--dry-run"]).code(), Some(0));
        let refused = toolgate(&["init", "--host", "claude-code", "--profile", "pi-worktree", "--yes"]);
        assert_eq!(refused.code(), Some(1), "{refused:?}");
        assert!(refused.stderr.contains(why), "{refused:?}");
        assert!(!fs::read_to_string(&settings).unwrap().contains("pi-worktree"));
    }
    write(&desk.machine.user_settings(), "");
    assert_eq!(toolgate(&["uninstall", "--yes"]).code(), Some(0));
    assert!(!is_there());
}

#[test]
fn the_small_program_hands_an_approved_call_over() {
    let desk = Desk::new();
    let bin = desk.machine.dir("bin");
    for (from, to) in
        [(env!("CARGO_BIN_EXE_toolgate-hook"), "toolgate"), (env!("CARGO_BIN_EXE_toolgate"), "toolgate-cli")]
    {
        fs::copy(from, bin.join(to)).unwrap();
    }
    let small = Hook::new(bin.join("toolgate").to_str().unwrap()).env("HOME", desk.machine.home());
    let hook = small.cwd(desk.machine.home()).args(["hook", "claude-code"]);
    let session = Session { hook, id: "small".to_owned(), cwd: desk.top.clone() };
    let try_it = || session.call("Bash", &json!({"command": COMMAND}));
    let Said::Deny(reason) = try_it() else { panic!("not denied") };
    assert_eq!(desk.types_yes(&["approve", &code_in(&reason).unwrap()]).code(), Some(0));
    assert_eq!((try_it(), try_it().word()), (Said::Nothing, "deny"));
}

#[test]
fn a_call_that_nothing_is_objected_to_pays_nothing() {
    if !have("strace", &["-V"]) {
        return;
    }
    let desk = Desk::new();
    let looks = |command: &str| {
        let trace = desk.machine.path("trace");
        let hook = desk.session().hook.under(&["strace", "-f", "-o", trace.to_str().unwrap()]);
        let session = Session { hook, ..desk.session() };
        let said = session.call("Bash", &json!({"command": command})).word();
        let text = fs::read_to_string(trace).unwrap();
        (said, text.lines().filter(|line| line.contains("approvals/")).map(str::to_owned).collect::<Vec<_>>())
    };
    looks("ls");
    assert_eq!(looks("git status"), ("nothing", Vec::new()));
    let (said, denied) = looks(COMMAND);
    let answers = denied.iter().filter(|line| line.contains("approvals/answers/")).count();
    assert_eq!((said, answers), ("deny", 1), "one look, and the note: {denied:?}");
}

#[test]
fn input_and_output_have_to_be_the_same_terminal() {
    let desk = Desk::new();
    let code = desk.stopped();
    let (one, other) = (Terminal::new().unwrap(), Terminal::new().unwrap());
    let hook = desk.toolgate(&["approve", &code]).under(&crate::support::terminal::IN_SESSION);
    let child = hook
        .command()
        .stdin(one.side().unwrap())
        .stdout(other.side().unwrap())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let shown = [one.typing("yes\n").unwrap(), other.typing("").unwrap()];
    let started = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    drop(shown);
    assert_eq!(desk.stopped(), code);
}
