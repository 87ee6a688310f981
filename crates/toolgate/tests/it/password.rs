//! The strength `password` for real: sudo and PAM ask a person of this machine for their password, and root's helper signs. All of it
//! happens in namespaces in which `/etc`, `/run`, `/opt` and `/var/lib` are the test's own; the machine sees nothing of it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use toolgate_setup::approval::{About, Statement};

use crate::support::skipped;
use crate::support::terminal::{IN_SESSION, conversation};

const ALICE: u32 = 20_001;
const PASSWORD: &str = "correct horse\n";
/// What sudo asks.
const ASKS: &str = "password of alice";
/// What root's helper asks.
const SURE: &str = "Type yes: ";
const COMMAND: &str = "git reset --hard";
/// Set where the machine is the test's own.
const INSIDE: &str = "TOOLGATE_TEST_INSIDE";

/// The first process is the shell: a terminal that the first process holds was made by nobody that can be looked at.
const ENTER: &str = "mount -t tmpfs tmpfs \"$1\" && mkdir \"$1/etc\" \"$1/work\" \
    && mount -t overlay overlay -o \"lowerdir=/etc,upperdir=$1/etc,workdir=$1/work\" /etc \
    && for at in /run /opt /var/lib; do mount -t tmpfs -o mode=755 tmpfs $at || exit 77; done || exit 77; shift; \"$@\"; exit $?";

#[test]
fn a_password_is_asked_for_each_time_and_signs_what_was_shown() {
    if fs::metadata("/proc/self").is_ok_and(|own| own.uid() != 0) {
        return skipped("nobody but root makes a machine with another user on it");
    }
    if !Path::new("/usr/bin/sudo").exists() {
        return skipped("there is no sudo");
    }
    let layer = tempfile::tempdir().unwrap();
    let output = Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", ENTER, "sh"])
        .arg(layer.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "password::on_a_machine_of_its_own", "--ignored", "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    if output.status.code() == Some(77) {
        return skipped("no file system can be mounted here");
    }
    let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}

#[test]
#[ignore = "the test above runs it where it harms nothing"]
fn on_a_machine_of_its_own() {
    if std::env::var_os(INSIDE).is_none() {
        return;
    }
    let desk = Desk::new();
    desk.the_right_password_lets_a_call_pass_once();
    desk.a_wrong_password_and_a_no_sign_nothing();
    desk.what_a_terminal_has_signed_is_not_enough();
    desk.everything_else_that_loosens_asks_too();
    desk.the_helper_signs_what_it_shows_and_for_whom_sudo_asked();
    desk.no_remembered_password_counts();
    desk.an_agent_is_refused_whatever_it_knows();
    desk.where_sudo_asks_for_nothing_nothing_is_proved();
    desk.a_helper_that_others_can_replace_is_not_started();
    desk.it_is_taken_away_again();
}

/// A machine with a person who has a password.
struct Desk {
    home: PathBuf,
    program: PathBuf,
}

impl Desk {
    fn new() -> Desk {
        let desk = Desk { home: "/opt/home/alice".into(), program: "/opt/bin/toolgate".into() };
        for directory in ["/opt/bin", "/opt/home/root", "/opt/home/alice/src"] {
            fs::create_dir_all(directory).unwrap();
        }
        fs::copy(env!("CARGO_BIN_EXE_toolgate"), &desk.program).unwrap();
        for directory in [&desk.home, &desk.home.join("src")] {
            lchown(directory, Some(ALICE), Some(ALICE)).unwrap();
        }
        let line = format!("alice:x:{ALICE}:{ALICE}::{}:/bin/sh\n", desk.home.display());
        fs::write("/etc/passwd", fs::read_to_string("/etc/passwd").unwrap() + &line).unwrap();
        let group = format!("alice:x:{ALICE}:\n");
        fs::write("/etc/group", fs::read_to_string("/etc/group").unwrap() + &group).unwrap();
        let mut chpasswd = Command::new("chpasswd").stdin(Stdio::piped()).spawn().unwrap();
        chpasswd.stdin.take().unwrap().write_all(format!("alice:{PASSWORD}").as_bytes()).unwrap();
        assert!(chpasswd.wait().unwrap().success());
        assert!(
            desk.shell("git init -q && git -c user.name=a -c user.email=a@a commit -q --allow-empty -m a")
        );
        let doctor = desk.require("password");
        assert!(doctor.contains("nobody can be asked for it: it is not set up"), "{doctor}");
        let code = desk.stopped();
        let (ended, shown) = desk.person(&["approve", &code], &[]);
        assert!(ended == Some(1) && shown.contains("init --managed"), "{shown}");
        let said = desk.root(&["init", "--managed", "--yes", "--host", "claude-code"]);
        assert!(said.contains("approvals can take a person's password"), "{said}");
        assert_eq!(
            desk.root(&["init", "--managed", "--yes", "--host", "claude-code"]).matches("written").count(),
            0
        );
        let doctor = desk.require("password");
        assert!(doctor.contains("`password` is required") && !doctor.contains("nobody can be"), "{doctor}");
        desk
    }

    /// Alice's settings; what the doctor says of them.
    fn require(&self, word: &str) -> String {
        let settings = self.home.join(".config/toolgate/toolgate.toml");
        fs::create_dir_all(settings.parent().unwrap()).unwrap();
        fs::write(&settings, format!("[approval]\nrequire = \"{word}\"\n")).unwrap();
        for own in settings.ancestors().take_while(|above| *above != self.home) {
            lchown(own, Some(ALICE), Some(ALICE)).unwrap();
        }
        let doctor = self.as_alice(&[self.program.to_str().unwrap(), "doctor", "--host", "claude-code"]);
        text(&{ doctor }.output().unwrap().stdout)
    }

    fn as_alice(&self, words: &[&str]) -> Command {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", &self.home);
        command.current_dir(self.home.join("src")).uid(ALICE).gid(ALICE);
        command
    }

    fn root(&self, args: &[&str]) -> String {
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", "/opt/home/root");
        let output = command.current_dir("/").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        text(&output.stdout)
    }

    fn shell(&self, line: &str) -> bool {
        self.as_alice(&["sh", "-c", line]).status().unwrap().success()
    }

    /// A command of toolgate that Alice types.
    fn person(&self, args: &[&str], said: &[(&str, &str)]) -> (Option<i32>, String) {
        let words: Vec<&str> = IN_SESSION
            .iter()
            .copied()
            .chain([self.program.to_str().unwrap()])
            .chain(args.iter().copied())
            .collect();
        conversation(self.as_alice(&words), said)
    }

    /// A line of shell that Alice types, or that is run as her.
    fn typed(&self, line: &str, said: &[(&str, &str)]) -> (Option<i32>, String) {
        let words: Vec<&str> = IN_SESSION.iter().copied().chain(["sh", "-c", line]).collect();
        conversation(self.as_alice(&words), said)
    }

    /// The call of an agent: the reason why it is denied, or nothing.
    fn try_it(&self) -> Option<String> {
        let event = json!({
            "hook_event_name": "PreToolUse", "session_id": "s", "cwd": self.home.join("src"), "tool_name": "Bash",
            "tool_input": {"command": COMMAND}, "permission_mode": "default",
            "transcript_path": self.home.join(".claude/projects/p/s.jsonl"),
        });
        let home = self.home.display().to_string();
        let mut hook =
            self.as_alice(&[self.program.to_str().unwrap(), "hook", "claude-code", "--home", &home]);
        let mut hook = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        hook.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
        let Output { status, stdout, .. } = hook.wait_with_output().unwrap();
        assert!(status.success());
        let answer: Value = serde_json::from_slice(&stdout).unwrap_or_default();
        answer["hookSpecificOutput"]["permissionDecisionReason"].as_str().map(str::to_owned)
    }

    fn stopped(&self) -> String {
        let reason = self.try_it().expect("denied");
        let (_, rest) =
            reason.split_once("`toolgate approve ").unwrap_or_else(|| panic!("no code in {reason}"));
        rest.split('`').next().unwrap().to_owned()
    }

    /// A request to the helper as a program of Alice's would make it, in a file.
    fn request(&self, by: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
        let about = About::Command { what: "open everything".into() };
        let now = SystemTime::now();
        let statement = Statement::new(about, by, "shown", now, Duration::from_mins(15)).unwrap();
        let mut request = json!({"statement": statement, "input": "", "action": ""});
        change(&mut request);
        let file = self.home.join("request.json");
        fs::write(&file, request.to_string()).unwrap();
        file
    }

    /// Has sudo start the helper as a program of Alice's would, with this request. What the helper gives is in the file `answer`.
    fn directly(&self, request: &Path, said: &[(&str, &str)]) -> (Option<i32>, String) {
        let line = format!(
            "sudo -p '{ASKS}' {} sign-approval < {} > ~/answer",
            self.program.display(),
            request.display()
        );
        let done = self.typed(&line, said);
        if done.0 != Some(0) {
            assert_eq!(fs::read(self.home.join("answer")).unwrap(), b"", "nothing was signed");
        }
        done
    }

    fn the_right_password_lets_a_call_pass_once(&self) {
        let code = self.stopped();
        let (ended, shown) = self.person(&["approve", &code], &[(ASKS, PASSWORD), (SURE, "yes\n")]);
        assert_eq!(ended, Some(0), "{shown}");
        let (_, signed) = shown.split_once("This is what your password signs:").expect("what is signed");
        for part in [
            COMMAND,
            code.as_str(),
            "git-reset-hard",
            "/opt/home/alice/src",
            "15 minutes",
            "approved by alice (password)",
        ] {
            assert!(signed.contains(part), "no {part:?} in {shown}");
        }
        assert_eq!(self.try_it(), None, "it passes");
        let ledger = fs::read_to_string(self.home.join(".local/state/toolgate/ledger.jsonl")).unwrap();
        let used: Value = serde_json::from_str(ledger.lines().next_back().unwrap()).unwrap();
        assert_eq!(
            (&used["approval"]["how"], &used["approval"]["by"]),
            (&json!("password"), &json!("alice"))
        );
        assert!(self.try_it().is_some(), "once");
        let key = Path::new("/var/lib/toolgate/approval/key.pem");
        assert_eq!(fs::metadata(key).unwrap().mode() & 0o777, 0o600);
        assert!(!self.shell(&format!("cat {} 2>/dev/null", key.display())), "nobody but root reads the key");
    }

    fn a_wrong_password_and_a_no_sign_nothing(&self) {
        let code = self.stopped();
        let (ended, shown) = self.person(&["approve", &code], &[(ASKS, "wrong\n"), ("try again", "\x03")]);
        assert!(ended != Some(0) && !shown.contains("This is what"), "{shown}");
        let (ended, shown) = self.person(&["approve", &code], &[(ASKS, PASSWORD), (SURE, "no\n")]);
        assert!(ended == Some(1) && shown.contains("nothing was signed"), "{shown}");
        // What was typed before the question could be read is no answer to it.
        let (ended, shown) =
            self.person(&["approve", &code], &[(ASKS, "correct horse\nyes\n"), (SURE, "\n")]);
        assert!(ended == Some(1) && shown.contains("nothing was signed"), "{shown}");
        assert_eq!(self.stopped(), code);
    }

    fn what_a_terminal_has_signed_is_not_enough(&self) {
        self.require("terminal");
        let code = self.stopped();
        let (ended, shown) = self.person(&["approve", &code], &[("Type yes: ", "yes\n")]);
        assert_eq!(ended, Some(0), "{shown}");
        self.require("password");
        assert!(self.try_it().is_some(), "the key in the state directory signs for a terminal and no more");
        self.require("terminal");
        assert_eq!(self.try_it(), None);
        self.require("password");
    }

    fn everything_else_that_loosens_asks_too(&self) {
        let (ended, shown) =
            self.person(&["pause", "--no-hooks"], &[(ASKS, "wrong\n"), ("try again", "\x03")]);
        assert!(ended != Some(0), "{shown}");
        assert!(self.try_it().is_some());
        let (ended, shown) =
            self.person(&["allow", "rule", "git-clean"], &[(ASKS, PASSWORD), (SURE, "yes\n")]);
        assert_eq!(ended, Some(0), "{shown}");
        assert!(shown.contains("command") && shown.contains("git-clean"), "{shown}");
    }

    fn the_helper_signs_what_it_shows_and_for_whom_sudo_asked(&self) {
        let alices = self.request("alice", |_| ());
        let (ended, shown) = self.directly(&alices, &[(ASKS, PASSWORD), (SURE, "yes\n")]);
        assert!(ended == Some(0) && shown.contains("open everything"), "{shown}");
        let others = self.request("root", |_| ());
        let (ended, shown) = self.directly(&others, &[(ASKS, PASSWORD), (SURE, "yes\n")]);
        assert!(ended != Some(0) && shown.contains("alice whose password"), "{shown}");
        let subject = json!({
            "host": "claude-code", "session": "s", "agent": "", "tool": "Bash", "cwd": "/nowhere", "root": "/nowhere",
            "input": "sha256:00", "action": "sha256:00",
        });
        let call = json!({"call": {"code": "AAAA-AAAA", "subject": subject, "objections": [], "uses": 1}});
        let lying = self.request("alice", |request| {
            request["statement"]["about"] = call;
            request["input"] = json!("{\"command\":\"ls\"}");
        });
        let (ended, shown) = self.directly(&lying, &[(ASKS, PASSWORD), (SURE, "yes\n")]);
        assert!(ended != Some(0) && shown.contains("not those that the statement is about"), "{shown}");
        let painted = self.request("alice", |request| {
            request["statement"]["about"]["command"]["what"] = json!("evil\u{1b}[2K\rharmless");
        });
        let (_, shown) = self.directly(&painted, &[(ASKS, PASSWORD), (SURE, "no\n")]);
        assert!(shown.contains("evil\\u{1b}[2K\\u{d}harmless"), "{shown:?}");
        for hour in [3, 9 * 3600] {
            let endless = self.request("alice", |request| {
                let made = request["statement"]["made"].as_u64().unwrap();
                request["statement"]["expires"] = json!(if hour == 3 { made - 1 } else { made + hour });
            });
            let (ended, shown) = self.directly(&endless, &[(ASKS, PASSWORD), (SURE, "yes\n")]);
            assert!(ended != Some(0) && shown.contains("the statement "), "{shown}");
        }
    }

    /// For all that she may do as root, sudo remembers her password for a while. Not for this.
    fn no_remembered_password_counts(&self) {
        fs::write("/etc/sudoers.d/alice", "alice ALL=(ALL) ALL\n").unwrap();
        let request = self.request("alice", |_| ());
        let program = self.program.display();
        let line = format!(
            "sudo -v -p '{ASKS}'; sudo -n true && echo remembered; sudo -n {program} sign-approval < {} > ~/answer",
            request.display()
        );
        let (ended, shown) = self.typed(&line, &[(ASKS, PASSWORD)]);
        assert!(
            ended != Some(0) && shown.contains("remembered") && shown.contains("a password is required"),
            "{shown}"
        );
        let code = self.stopped();
        let line = format!("sudo -v -p '{ASKS}'; {program} approve {code}");
        let said = [(ASKS, PASSWORD), ("to sign this", PASSWORD), (SURE, "no\n")];
        let (ended, shown) = self.typed(&line, &said);
        assert!(ended != Some(0) && shown.contains("This is what"), "asked twice: {shown}");
        fs::remove_file("/etc/sudoers.d/alice").unwrap();
    }

    fn an_agent_is_refused_whatever_it_knows(&self) {
        let request = self.request("alice", |_| ());
        let (program, code) = (self.program.display(), self.stopped());
        let start = format!("sudo -p '{ASKS}' {program} sign-approval < {} > ~/answer", request.display());
        let fake = self.home.join("claude");
        fs::copy("/bin/sh", &fake).unwrap();
        fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
        let fake = fake.display();
        let approve = format!("{program} approve {code}");
        for (how, line) in [
            ("mark", format!("CLAUDECODE=1 sh -c \"{start}; exit 1\"")),
            ("host", format!("{fake} -c \"{start}; exit 1\"")),
            ("mark", format!("CLAUDECODE=1 {approve}")),
            ("host", format!("{fake} -c '{approve}; exit $?'")),
        ] {
            let (ended, shown) = self.typed(&line, &[(ASKS, PASSWORD), (SURE, "yes\n")]);
            assert!(ended != Some(0) && shown.contains("only a person can do this"), "{how}: {shown}");
            assert!(!shown.contains("This is what"), "{how}: {shown}");
        }
        // A terminal of its own, and the password at hand.
        let python = self.home.join("agent.py");
        fs::write(&python, PYTHON.replace("START", &start)).unwrap();
        let tried =
            self.as_alice(&["setsid", "--wait", "python3", python.to_str().unwrap()]).output().unwrap();
        let shown = text(&tried.stdout);
        assert!(shown.contains("made by `python3"), "{tried:?}");
        // Without a terminal.
        let none = format!("printf '{}' | sudo -S -p '' {program} sign-approval", PASSWORD.trim());
        assert!(!self.shell(&format!("setsid --wait sh -c \"{none}\" 2>/dev/null")));
        assert_eq!(fs::read(self.home.join("answer")).unwrap(), b"");
        // Root by itself, without sudo.
        let bare =
            Command::new(&self.program).arg("sign-approval").env("SUDO_UID", ALICE.to_string()).output();
        let bare = bare.unwrap();
        assert!(!bare.status.success() && bare.stdout.is_empty(), "{bare:?}");
    }

    fn where_sudo_asks_for_nothing_nothing_is_proved(&self) {
        // It comes after our rule, so that even the helper is started without a password.
        fs::write("/etc/sudoers.d/zz-alice", "alice ALL=(ALL) NOPASSWD: ALL\n").unwrap();
        let code = self.stopped();
        let (ended, shown) = self.person(&["approve", &code], &[]);
        assert!(ended == Some(1) && shown.contains("NOPASSWD"), "{shown}");
        let request = self.request("alice", |_| ());
        let (ended, shown) = self.directly(&request, &[(SURE, "yes\n")]);
        assert!(ended != Some(0) && shown.contains("NOPASSWD") && !shown.contains("This is what"), "{shown}");
        fs::remove_file("/etc/sudoers.d/zz-alice").unwrap();
    }

    fn a_helper_that_others_can_replace_is_not_started(&self) {
        let code = self.stopped();
        for (path, mode) in [(self.program.as_path(), 0o777), (Path::new("/opt/bin"), 0o777)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            let (ended, shown) = self.person(&["approve", &code], &[(ASKS, PASSWORD), (SURE, "yes\n")]);
            assert!(ended == Some(1) && shown.contains("somebody else can replace it"), "{shown}");
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    fn it_is_taken_away_again(&self) {
        let said = self.root(&["uninstall", "--managed", "--yes", "--host", "claude-code"]);
        for file in
            ["/etc/sudoers.d/toolgate", "/etc/toolgate/sign-approval.json", "/var/lib/toolgate/approval"]
        {
            assert!(!Path::new(file).exists(), "{file}: {said}");
        }
        let (ended, shown) = self.person(&["approve", &self.stopped()], &[]);
        assert!(ended == Some(1) && shown.contains("it is not set up"), "{shown}");
    }
}

const PYTHON: &str = r#"
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp("sh", ["sh", "-c", """START"""])
shown = b""
try:
    while True:
        part = os.read(fd, 4096)
        if not part:
            break
        shown += part
        if b"password of" in part:
            os.write(fd, b"correct horse\n")
        if b"Type yes" in part:
            os.write(fd, b"yes\n")
except OSError:
    pass
sys.stdout.write(shown.decode())
"#;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
