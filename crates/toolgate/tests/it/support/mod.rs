//! What the tests from outside share: a scratch machine with its own home, real git worktrees, and the built
//! binary, spawned as a host spawns it.

#[cfg(target_os = "linux")]
pub(crate) mod commands;
#[cfg(target_os = "linux")]
pub(crate) mod outside;
#[cfg(target_os = "linux")]
pub(crate) mod said;
pub(crate) mod squad;
pub(crate) mod terminal;
#[cfg(target_os = "linux")]
pub(crate) mod watch;

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A token in the shape of a real one. It is planted in inputs and must not come out again.
pub(crate) const SECRET: &str = "ghp_1234567890abcdefghijklmnopqrstuvwxyz";
/// A hook that has not answered by then hangs.
const HANGS: Duration = Duration::from_secs(20);
/// Where every agent may write: a scratch machine below one of these could show nothing.
const OPEN: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// A machine in a directory of its own, removed with it.
pub(crate) struct Machine {
    dir: TempDir,
}

impl Machine {
    pub(crate) fn new() -> Machine {
        let machine = Machine { dir: tempfile::Builder::new().prefix("tg").tempdir_in(base()).unwrap() };
        fs::create_dir(machine.home()).unwrap();
        machine
    }

    /// A machine below /tmp, where the default profile opens everything that is not closed by name.
    pub(crate) fn in_tmp() -> Machine {
        let machine = Machine { dir: tempfile::Builder::new().prefix("tg").tempdir_in("/tmp").unwrap() };
        fs::create_dir(machine.home()).unwrap();
        machine
    }

    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.home().join(".local/state/toolgate")
    }

    /// Where a session is pinned; the name's end stands for the registration line.
    #[allow(dead_code, reason = "not every test file looks at pins")]
    pub(crate) fn pin(&self, session: &str) -> PathBuf {
        let start = format!("{session}.");
        let pins = fs::read_dir(self.state().join("sessions")).unwrap().map(|pin| pin.unwrap());
        let mut own = pins.filter(|pin| pin.file_name().to_string_lossy().starts_with(&start));
        own.next().expect("a pin").path()
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.state().join("ledger.jsonl")
    }

    pub(crate) fn user_settings(&self) -> PathBuf {
        self.home().join(".config/toolgate/toolgate.toml")
    }

    /// Makes a file, and the directories on the way to it.
    pub(crate) fn file(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        write(&path, text);
        path
    }

    pub(crate) fn dir(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// A repository with one commit.
    pub(crate) fn repository(&self, path: &str) -> PathBuf {
        let top = self.dir(path);
        git(&top, ["init", "-q", "-b", "main"]);
        write(&top.join("README.md"), "hello\n");
        git(&top, ["add", "."]);
        git(&top, ["commit", "-q", "-m", "start"]);
        top
    }

    /// A linked worktree of a repository.
    pub(crate) fn worktree(&self, repository: &Path, path: &str) -> PathBuf {
        let top = self.path(path);
        let branch = path.replace(['/', '.'], "-");
        git(
            repository,
            [
                OsStr::new("worktree"),
                OsStr::new("add"),
                OsStr::new("-q"),
                OsStr::new("-b"),
                OsStr::new(&branch),
                top.as_os_str(),
            ],
        );
        top
    }

    /// `toolgate`, with nothing of the environment but the home.
    pub(crate) fn toolgate(&self) -> Hook {
        Hook::new(env!("CARGO_BIN_EXE_toolgate")).env("HOME", self.home()).cwd(self.home())
    }

    /// `toolgate hook <host>` of the small program, which begins without the standard library.
    pub(crate) fn small_hook(&self, host: &str) -> Hook {
        let small = Hook::new(env!("CARGO_BIN_EXE_toolgate-hook"));
        small.env("HOME", self.home()).cwd(self.home()).arg("hook").arg(host)
    }

    /// `toolgate hook <host>`.
    pub(crate) fn hook(&self, host: &str) -> Hook {
        self.toolgate().arg("hook").arg(host)
    }

    /// A session of Claude Code that begins in this directory.
    pub(crate) fn session(&self, id: &str, cwd: &Path) -> Session {
        Session { hook: self.hook("claude-code"), id: id.to_owned(), cwd: cwd.to_path_buf() }
    }

    /// The records of the ledger, the oldest first.
    pub(crate) fn records(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.ledger()).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The last record of a call or a command: the sealer, who runs beside us, adds records of its own.
    pub(crate) fn last_record(&self) -> Value {
        let records = self.records().into_iter().rev();
        let mut others = records.filter(|record| record["event"] != "ledger-key");
        others.next().expect("something was recorded")
    }
}

/// Where scratch machines stand: not where agents may write anyway.
fn base() -> PathBuf {
    let open = |path: &PathBuf| OPEN.iter().any(|open| path.starts_with(open));
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let cache = std::env::home_dir().map(|home| home.join(".cache"));
    let base = [Some(target), cache].into_iter().flatten().find(|path| !open(path));
    let base = base.expect("the target directory or the home lies outside of /tmp");
    fs::create_dir_all(&base).unwrap();
    base
}

/// Writes a file, and makes the directories on the way to it.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Runs git without anybody's settings.
pub(crate) fn git<A: AsRef<OsStr>>(dir: &Path, args: impl IntoIterator<Item = A>) -> String {
    let output = git_command(dir, args).output().expect("these tests need git");
    assert!(output.status.success(), "git failed: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn git_command<A: AsRef<OsStr>>(dir: &Path, args: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new("git");
    command
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null");
    command
}

/// Makes a pipe in the file system.
pub(crate) fn fifo(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let made = Command::new("mkfifo").arg(path).status().expect("these tests need mkfifo");
    assert!(made.success());
}

/// Says past the harness, which captures what a test prints, that something is not tested here. Where `CI` is set that is a
/// failure: there everything has to be tested.
pub(crate) fn skipped(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "must not be skipped in CI: {why}");
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// Whether a helper program is there. Where it is not, the test is [skipped].
pub(crate) fn have(program: &str, probe: &[&str]) -> bool {
    let there = Command::new(program)
        .args(probe)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !there {
        skipped(&format!("`{program} {}` does not work on this machine", probe.join(" ")));
    }
    there
}

/// Permissions do not hold root. Where the tests run as root, the words that take its powers away come first.
pub(crate) fn without_powers() -> Option<&'static [&'static str]> {
    const DROP: &[&str] = &["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"];
    let root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if !root {
        return Some(&[]);
    }
    have("setpriv", &["--bounding-set=-all", "--inh-caps=-all", "--", "true"]).then_some(DROP)
}

/// One run of the binary, still to be started.
#[derive(Clone)]
pub(crate) struct Hook {
    words: Vec<Vec<u8>>,
    envs: Vec<(String, Vec<u8>)>,
    cwd: PathBuf,
}

impl Hook {
    pub(crate) fn new(program: &str) -> Hook {
        Hook { words: vec![program.into()], envs: Vec::new(), cwd: PathBuf::from("/") }
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Hook {
        self.words.push(arg.as_ref().as_bytes().to_vec());
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(self, args: impl IntoIterator<Item = A>) -> Hook {
        args.into_iter().fold(self, Hook::arg)
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Hook {
        self.envs.retain(|(known, _)| known != name);
        self.envs.push((name.to_owned(), value.as_ref().as_bytes().to_vec()));
        self
    }

    pub(crate) fn without_env(mut self, name: &str) -> Hook {
        self.envs.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn cwd(mut self, dir: impl AsRef<Path>) -> Hook {
        self.cwd = dir.as_ref().to_path_buf();
        self
    }

    /// Started by another program: `under(&["setpriv", …])`.
    pub(crate) fn under(mut self, words: &[&str]) -> Hook {
        let before = words.iter().map(|word| word.as_bytes().to_vec());
        self.words.splice(0..0, before);
        self
    }

    /// Another program in its place, with the same environment.
    pub(crate) fn instead(mut self, words: &[&str]) -> Hook {
        self.words = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        self
    }

    pub(crate) fn command(&self) -> Command {
        let mut words = self.words.iter().map(|word| OsStr::from_bytes(word));
        let mut command = Command::new(words.next().unwrap());
        command.args(words).env_clear().current_dir(&self.cwd);
        // Helpers that start the binary are looked for in the usual places.
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        for (name, value) in &self.envs {
            command.env(name, OsStr::from_bytes(value));
        }
        command
    }

    pub(crate) fn spawn(&self) -> Child {
        self.command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary can be started")
    }

    /// Runs it with this on stdin.
    pub(crate) fn run(&self, stdin: impl AsRef<[u8]>) -> Answer {
        let mut child = self.spawn();
        let started = Instant::now();
        let mut pipe = child.stdin.take().unwrap();
        let stdin = stdin.as_ref().to_vec();
        // It may well stop reading before the end.
        let writer = thread::spawn(move || drop(pipe.write_all(&stdin)));
        let answer = Answer::of(child, started);
        writer.join().unwrap();
        answer
    }

    pub(crate) fn event(&self, event: &Value) -> Answer {
        self.run(event.to_string())
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Answer {
    /// Waits for a process that was started with pipes.
    pub(crate) fn of(child: Child, started: Instant) -> Answer {
        Answer::within(HANGS, child, started)
    }

    /// Waits so long.
    pub(crate) fn within(limit: Duration, mut child: Child, started: Instant) -> Answer {
        let stdout = collect(child.stdout.take().unwrap());
        let stderr = collect(child.stderr.take().unwrap());
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if started.elapsed() > limit {
                let _ = child.kill();
                panic!("no answer after {limit:?}");
            }
            thread::sleep(Duration::from_millis(1));
        };
        let took = started.elapsed();
        Answer { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap(), took }
    }

    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// stdout as the client takes it: nothing, or exactly one JSON object without nulls.
    pub(crate) fn json(&self) -> Option<Value> {
        if self.stdout.is_empty() {
            return None;
        }
        let value: Value = serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("not one JSON value ({error}): {:?}", self.stdout));
        assert!(value.is_object(), "not an object: {value}");
        assert!(!holds_null(&value), "the client drops an answer with a null: {value}");
        Some(value)
    }

    /// What it said to a PreToolUse event. Panics where the client would not understand it.
    pub(crate) fn said(&self) -> Said {
        assert_eq!(self.code(), Some(0), "{self:?}");
        let Some(answer) = self.json() else { return Said::Nothing };
        let output = &answer["hookSpecificOutput"];
        assert_eq!(output["hookEventName"], "PreToolUse", "the client drops an answer to another event");
        let reason = || {
            let reason = output["permissionDecisionReason"].as_str().expect("a reason").to_owned();
            assert!(!reason.is_empty() && reason.chars().count() <= 400, "{reason}");
            reason
        };
        match (output["permissionDecision"].as_str(), output.get("updatedInput")) {
            (Some("deny"), None) => Said::Deny(reason()),
            (Some("ask"), None) => Said::Ask(reason()),
            (Some("allow"), None) => Said::Grant,
            (None | Some("allow"), Some(input)) => Said::Rewrite(input.clone()),
            _ => panic!("not an answer that the client knows: {answer}"),
        }
    }

    pub(crate) fn reason(&self) -> String {
        match self.said() {
            Said::Deny(reason) | Said::Ask(reason) => reason,
            other => panic!("{other:?} has no reason"),
        }
    }

    /// A refusal without a verdict: a denial that says what to do, and repeats nothing of the input.
    pub(crate) fn is_refusal(&self) -> bool {
        assert!(!self.stdout.contains(SECRET) && !self.stderr.contains(SECRET), "{self:?}");
        matches!(self.said(), Said::Deny(reason)
            if reason.starts_with("toolgate cannot judge this call, so it is denied: ") && reason.contains("; "))
    }
}

fn collect(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8(bytes).expect("UTF-8")
    })
}

fn holds_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(values) => values.iter().any(holds_null),
        // The agent's own input may hold one, and comes back as it was.
        Value::Object(members) => {
            members.iter().any(|(name, value)| name != "updatedInput" && holds_null(value))
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// What a PreToolUse answer means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    /// No objection: the host decides.
    Nothing,
    /// The host need not ask.
    Grant,
    /// No objection, with another input.
    Rewrite(Value),
    Ask(String),
    Deny(String),
}

impl Said {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Said::Nothing => "nothing",
            Said::Grant => "grant",
            Said::Rewrite(_) => "rewrite",
            Said::Ask(_) => "ask",
            Said::Deny(_) => "deny",
        }
    }
}

/// The events of one session.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) hook: Hook,
    pub(crate) id: String,
    pub(crate) cwd: PathBuf,
}

impl Session {
    pub(crate) fn with(mut self, change: impl FnOnce(Hook) -> Hook) -> Session {
        self.hook = change(self.hook);
        self
    }

    /// The same session, whose events now name another working directory.
    pub(crate) fn from(&self, cwd: &Path) -> Session {
        Session { cwd: cwd.to_path_buf(), ..self.clone() }
    }

    pub(crate) fn event(&self, name: &str, more: &Value) -> Answer {
        self.hook.event(&event(name, &self.id, &self.cwd, more))
    }

    /// A PreToolUse event.
    pub(crate) fn call(&self, tool: &str, input: &Value) -> Said {
        self.event("PreToolUse", &json!({"tool_name": tool, "tool_input": input})).said()
    }

    pub(crate) fn read(&self, path: impl AsRef<Path>) -> &'static str {
        self.call("Read", &json!({"file_path": path.as_ref()})).word()
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>) -> &'static str {
        self.call("Write", &json!({"file_path": path.as_ref(), "content": "x"})).word()
    }

    pub(crate) fn shell(&self, command: &str) -> &'static str {
        self.call("Bash", &json!({"command": command})).word()
    }
}

/// An event of Claude Code with the members that all of its events have.
pub(crate) fn event(name: &str, session: &str, cwd: &Path, more: &Value) -> Value {
    let mut event = json!({
        "session_id": session,
        "transcript_path": "/nonexistent/projects/x/t.jsonl",
        "cwd": cwd,
        "permission_mode": "default",
        "hook_event_name": name,
    });
    for (name, value) in more.as_object().unwrap() {
        event[name] = value.clone();
    }
    event
}

/// A harmless PreToolUse event.
pub(crate) fn harmless(cwd: &Path) -> Value {
    event(
        "PreToolUse",
        "s",
        cwd,
        &json!({"tool_name": "Write", "tool_input": {"file_path": cwd.join("a.txt"), "content": SECRET}}),
    )
}
