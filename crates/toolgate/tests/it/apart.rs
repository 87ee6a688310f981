//! The level `apart` with real users: a person who may do as they like with their files, the system user who seals, root who starts both.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::skipped;

const ALICE: u32 = 20_001;
const SEALER: u32 = 990;

/// A machine in a directory that everybody may enter.
struct Office {
    dir: TempDir,
    program: PathBuf,
}

impl Office {
    /// `None` without root, who alone can become somebody else.
    fn new() -> Option<Office> {
        if fs::metadata("/proc/self").is_ok_and(|own| own.uid() != 0) {
            skipped("nobody but root becomes another user");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let built = Path::new(env!("CARGO_BIN_EXE_toolgate"));
        let reached = Command::new(built).arg("--version").uid(ALICE).gid(ALICE).output();
        let program = if reached.is_ok_and(|output| output.status.success()) {
            built.to_path_buf()
        } else {
            let copy = dir.path().join("toolgate");
            fs::copy(built, &copy).unwrap();
            copy
        };
        let office = Office { dir, program };
        for name in ["etc", "var/lib", "root"] {
            fs::create_dir_all(office.path(name)).unwrap();
        }
        let home = office.home();
        fs::create_dir_all(&home).unwrap();
        lchown(&home, Some(ALICE), Some(ALICE)).unwrap();
        let list = format!(
            "root:x:0:0::/root:/bin/sh\ntoolgate:x:{SEALER}:{SEALER}::/nonexistent:/usr/sbin/nologin\nalice:x:{ALICE}:{ALICE}::{}:/bin/sh\n",
            home.display()
        );
        fs::write(office.path("etc/passwd"), list).unwrap();
        let said = office.by_root(&["init", "--managed", "--yes", "--host", "claude-code"]);
        assert!(said.contains("seals the log of everybody each minute"), "{said}");
        Some(office)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn home(&self) -> PathBuf {
        self.path("home/alice")
    }

    fn state(&self) -> PathBuf {
        self.home().join(".local/state/toolgate")
    }

    fn store(&self) -> PathBuf {
        self.path("var/lib/toolgate/apart")
    }

    fn etc(&self) -> String {
        self.path("etc").display().to_string()
    }

    fn toolgate(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).env_clear().env("PATH", "/usr/bin:/bin").current_dir(self.home());
        command
    }

    fn root(&self, args: &[&str]) -> Output {
        self.toolgate(args).args(["--etc", &self.etc()]).env("HOME", self.path("root")).output().unwrap()
    }

    fn by_root(&self, args: &[&str]) -> String {
        let output = self.root(args);
        assert!(output.status.success(), "{output:?}");
        text(&output)
    }

    /// One run of the timer's service: how it ended, and what it said.
    fn timer(&self) -> (Option<i32>, String) {
        let output = self.root(&["ledger", "seal", "--apart"]);
        (output.status.code(), text(&output))
    }

    fn alice(&self, args: &[&str]) -> Command {
        let mut command = self.toolgate(args);
        command.env("HOME", self.home()).uid(ALICE).gid(ALICE);
        command
    }

    fn verify(&self) -> (Option<i32>, String) {
        let output = self.alice(&["ledger", "verify", "--etc", &self.etc()]).output().unwrap();
        (output.status.code(), text(&output))
    }

    /// So many calls of an agent that runs as Alice.
    fn calls(&self, count: usize) {
        for _ in 0..count {
            let event = json!({
                "hook_event_name": "PreToolUse", "session_id": "s", "cwd": self.home(), "tool_name": "Read",
                "tool_input": {"file_path": "/etc/hostname"}, "permission_mode": "default",
                "transcript_path": self.home().join(".claude/projects/p/s.jsonl"),
            });
            let home = self.home().display().to_string();
            let mut hook = self.alice(&["hook", "claude-code", "--home", &home]);
            let mut hook = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            hook.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
            assert!(hook.wait_with_output().unwrap().status.success());
        }
    }

    /// Alice's shell.
    fn shell(&self, command: &str) -> bool {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(self.home()).uid(ALICE).gid(ALICE);
        shell.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn another_user_seals_and_verify_names_the_level() {
    let Some(office) = Office::new() else { return };
    assert_eq!(office.timer(), (Some(0), "alice: there is no record yet\n".into()));
    office.calls(2);
    let (code, said) = office.timer();
    assert_eq!(
        (code, said.as_str()),
        (Some(0), "alice: sealed up to record 2, 2 of them new, level apart\n")
    );
    office.calls(1);
    let (code, said) = office.verify();
    assert_eq!(code, Some(0), "{said}");
    let line = said.lines().find(|line| line.contains("level apart")).unwrap_or_else(|| panic!("{said}"));
    assert!(
        line.starts_with("sealed      up to record 2 of ") && line.ends_with("; 1 record follows"),
        "{said}"
    );
    let output = office.alice(&["ledger", "verify", "--json", "--etc", &office.etc()]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["apart"]["size"], &report["apart"]["unsealed"]), (&json!(2), &json!(1)));
    assert!(office.timer().1.contains("sealed up to record 3, 1 of them new"));
    let doctor = office.alice(&["doctor", "--host", "claude-code", "--etc", &office.etc()]).output().unwrap();
    let said = text(&doctor);
    assert!(said.contains("the system user `toolgate` has sealed it up to record 3 of "), "{said}");
}

#[test]
fn the_key_and_what_was_sealed_are_out_of_the_persons_reach() {
    let Some(office) = Office::new() else { return };
    office.calls(1);
    office.timer();
    let key = fs::metadata(office.store().join("key")).unwrap();
    assert_eq!((key.uid(), key.mode() & 0o777), (SEALER, 0o600));
    let store = office.store().display().to_string();
    assert!(!office.shell(&format!("cat {store}/key")));
    assert!(office.shell(&format!("cat {store}/{ALICE}/checkpoint")));
    for command in
        ["rm -rf {}/20001", "echo x > {}/20001/checkpoint", "mv {}/20001 {}/other", "touch {}/20001/whole"]
    {
        let command = command.replace("{}", &store);
        assert!(!office.shell(&command), "{command}");
    }
    assert!(!office.shell(&format!("echo x > {}/toolgate/apart.pub", office.etc())));
    let refused = office.alice(&["ledger", "seal", "--apart", "--etc", &office.etc()]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "only root becomes others");
}

#[test]
fn a_log_that_the_person_writes_anew_is_refused_and_found() {
    let Some(office) = Office::new() else { return };
    office.calls(3);
    assert!(office.alice(&["ledger", "seal"]).output().unwrap().status.success());
    office.timer();
    let state = office.state().display().to_string();
    assert!(office.shell(&format!("rm -rf {state}")));
    office.calls(9);
    assert!(office.alice(&["ledger", "seal"]).output().unwrap().status.success());
    let own = office.alice(&["ledger", "verify"]).output().unwrap();
    assert_eq!(own.status.code(), Some(0), "by itself it cannot be seen: {}", text(&own));
    let (code, said) = office.verify();
    assert_eq!(code, Some(1), "{said}");
    let before = fs::read(office.store().join("20001/checkpoint")).unwrap();
    let (code, said) = office.timer();
    assert_eq!(code, Some(2));
    assert!(said.starts_with("alice: refused: record "), "{said}");
    assert_eq!(fs::read(office.store().join("20001/checkpoint")).unwrap(), before, "never merged");
    assert!(office.shell(&format!("rm -rf {state}")));
    let (code, said) = office.timer();
    assert_eq!(code, Some(2));
    assert!(said.contains("records were cut off or put back from a copy"), "{said}");
    assert_eq!(office.verify().0, Some(1), "without a log too");
}

/// Nobody with more rights than the person opens a file of theirs.
#[test]
fn a_link_in_the_persons_home_leads_only_where_they_may_go() {
    let Some(office) = Office::new() else { return };
    office.calls(2);
    office.timer();
    let secret = office.path("secret");
    fs::write(&secret, "{\"seq\":1,\"prev\":\"\",\"only\":\"root reads this\"}\n").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let log = office.state().join("ledger.jsonl");
    fs::remove_file(&log).unwrap();
    symlink(&secret, &log).unwrap();
    lchown(&log, Some(ALICE), Some(ALICE)).unwrap();
    let (code, said) = office.timer();
    assert_ne!(code, Some(0), "{said}");
    let found =
        Command::new("grep").args(["-r", "only", office.path("var").to_str().unwrap()]).output().unwrap();
    assert_eq!(text(&found), "");
    assert_eq!(office.verify().0.map(|code| code > 0), Some(true));
}

#[test]
fn a_person_who_sends_nothing_holds_up_nobody_for_long() {
    let Some(office) = Office::new() else { return };
    office.calls(1);
    let log = office.state().join("ledger.jsonl");
    fs::remove_file(&log).unwrap();
    // A pipe that nobody writes to.
    assert!(office.shell(&format!("mkfifo {}", log.display())));
    let begun = std::time::Instant::now();
    let output = office.root(&["ledger", "seal", "--apart", "--patience", "1"]);
    assert_eq!(text(&output), "alice: took longer than 1 seconds\n");
    assert!(begun.elapsed() < std::time::Duration::from_mins(1));
}

#[test]
fn init_writes_the_units_and_uninstall_takes_them_out_and_leaves_what_was_sealed() {
    let Some(office) = Office::new() else { return };
    office.calls(1);
    office.timer();
    let service = fs::read_to_string(office.path("etc/systemd/system/toolgate-seal.service")).unwrap();
    let starts = format!("ExecStart={} ledger seal --apart", office.program.display());
    assert!(service.lines().any(|line| line == starts), "{service}");
    let timer = office.path("etc/systemd/system/toolgate-seal.timer");
    assert!(fs::read_to_string(&timer).unwrap().contains("OnUnitActiveSec=1min"));
    if Command::new("systemd-analyze").arg("--version").output().is_ok_and(|output| output.status.success()) {
        let checked =
            Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&timer).output().unwrap();
        assert!(checked.status.success(), "{checked:?}");
    }
    let key = fs::read(office.path("etc/toolgate/apart.pub")).unwrap();
    office.by_root(&["init", "--managed", "--yes", "--host", "claude-code"]);
    assert_eq!(fs::read(office.path("etc/toolgate/apart.pub")).unwrap(), key, "the key stays");
    let said = office.by_root(&["uninstall", "--managed", "--yes"]);
    assert!(said.contains("left as it is, with all that was sealed"), "{said}");
    assert!(!timer.exists() && !office.path("etc/toolgate/apart.pub").exists());
    assert!(office.store().join("20001/checkpoint").exists());
    let (code, said) = office.verify();
    assert!(code == Some(0) && !said.contains("apart"), "{said}");
}
