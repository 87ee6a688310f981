//! A command that is sent through `toolgate shell` behaves as it does without, in the shell and in the way in which
//! Claude Code runs it.

use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use serde_json::json;

use crate::support::{Machine, SECRET, Said, Session, have, write};

const BASH: &str = "/bin/bash";
/// A call that waits for something that it need not wait for takes longer than this.
const SOON: Duration = Duration::from_secs(10);

/// A machine on which commands are wrapped.
struct Desk {
    machine: Machine,
    session: Session,
}

impl Desk {
    fn new() -> Desk {
        Desk::with("")
    }

    /// With these settings besides.
    fn with(settings: &str) -> Desk {
        let machine = Machine::new();
        let top = machine.repository("home/src/main");
        write(&machine.user_settings(), format!("[redaction]\nwrap = true\n{settings}"));
        let session = machine.session("s-1", &top);
        Desk { machine, session }
    }

    /// A machine on which every command is contained.
    fn containing(settings: &str) -> Desk {
        let machine = Machine::new();
        let top = machine.repository("home/src/main");
        write(&machine.user_settings(), format!("[containment]\nwhen = \"always\"\n{settings}"));
        let session = machine.session("s-1", &top);
        Desk { machine, session }
    }

    /// What the hook makes of a command.
    fn rewritten(&self, command: &str) -> String {
        let input = json!({ "command": command, "description": "a command", "timeout": 1000 });
        match self.session.call("Bash", &input) {
            Said::Rewrite(mut changed) => {
                let text = changed["command"].take().as_str().unwrap().to_owned();
                changed["command"] = json!(command);
                assert_eq!(changed, input, "the rest stays");
                text
            }
            other => panic!("{command}: {other:?}"),
        }
    }

    /// The line before a command.
    fn line(&self) -> String {
        self.rewritten("true").strip_suffix("true").unwrap().to_owned()
    }

    fn wrapped(&self, shell: &str, command: &str) -> Ran {
        self.run(shell, &(self.line() + command))
    }

    /// Runs a command as the client does, in a fresh directory, and waits.
    fn run(&self, shell: &str, command: &str) -> Ran {
        let mut call = self.start(shell, command);
        let status = call.child.wait().unwrap();
        Ran {
            status,
            output: call.output(),
            cwd: fs::read_to_string(&call.cwd).ok(),
            left: fs::read_to_string(call.dir.join("left")).ok(),
        }
    }

    fn start(&self, shell: &str, command: &str) -> Call {
        let dir = self.session.cwd.join("desk");
        let output = self.machine.path("output");
        // As the client calls it.
        let number =
            self.machine.path("").display().to_string().replace(|c: char| !c.is_ascii_alphanumeric(), "");
        let cwd = std::env::temp_dir().join(format!("claude-{number}-cwd"));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("below")).unwrap();
        for file in [&cwd, &output] {
            let _ = fs::remove_file(file);
        }
        let stdin = self.machine.file("stdin", "first\nsecond\n");
        let snapshot = self.machine.file(
            "home/.claude/shell-snapshots/bash.sh",
            "greet() { echo \"hello $1\"; }\nalias say='echo said'\n",
        );
        let quoted = command.replace('\'', "'\"'\"'");
        let expand = if shell == BASH { "shopt -s expand_aliases" } else { "true" };
        let text = format!(
            "source {} 2>/dev/null || true && {expand} && eval '{quoted}' && pwd -P >| {}",
            snapshot.display(),
            cwd.display()
        );
        // One file for both, as the client has it.
        let out = File::options().create(true).append(true).open(&output).unwrap();
        let child = Command::new(shell)
            .args(["-c", &text])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.machine.home())
            .envs(std::env::var_os("TMPDIR").map(|directory| ("TMPDIR", directory)))
            .current_dir(&dir)
            .stdin(File::open(stdin).unwrap())
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .process_group(0)
            .spawn()
            .unwrap();
        Call { child, dir, cwd, output }
    }
}

/// A command under way.
struct Call {
    child: Child,
    dir: PathBuf,
    cwd: PathBuf,
    output: PathBuf,
}

impl Call {
    fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.output).unwrap()).into_owned()
    }

    /// Waits until this stands in the output.
    fn says(&self, text: &str) {
        let begun = Instant::now();
        while !self.output().contains(text) {
            assert!(begun.elapsed() < SOON, "no `{text}` in {:?}", self.output());
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn group(&self) -> Pid {
        Pid::from_raw(self.child.id().try_into().unwrap()).unwrap()
    }

    /// Waits until nobody of its group is left.
    fn is_gone(&self) {
        let begun = Instant::now();
        while test_kill_process_group(self.group()).is_ok() {
            assert!(begun.elapsed() < SOON, "somebody is left");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let _ = kill_process_group(self.group(), Signal::KILL);
        let _ = self.child.wait();
    }
}

/// What became of a command.
struct Ran {
    status: ExitStatus,
    output: String,
    cwd: Option<String>,
    /// What the command left in a file.
    left: Option<String>,
}

impl Ran {
    fn outcome(&self) -> (Option<i32>, Option<i32>, &str, Option<&str>, Option<&str>) {
        let (cwd, left) = (self.cwd.as_deref(), self.left.as_deref());
        (self.status.code(), self.status.signal(), &self.output, cwd, left)
    }
}

/// What bash and zsh both know.
const COMMANDS: &[&str] = &[
    "echo out",
    "false",
    "true",
    "",
    "exit 3",
    "echo before; exit 3; echo after",
    "cd below; exit 0",
    "cd below",
    "cd below && false",
    "cd below; echo $PWD $OLDPWD",
    "(cd below; exit 4)",
    "set -e; false; echo on",
    "set -e\nfalse\necho on",
    "set -e; (exit 7); echo on",
    "set -o pipefail; false | true",
    "false | true",
    "false || exit 9",
    "no-such-command",
    "./below",
    "echo out; echo err >&2; echo out; echo err >&2",
    "for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done; exit 1",
    "printf 'no newline'",
    "printf 'no newline'; exit 1",
    "printf 'a\\0b\\377c'",
    "cat",
    "read line; echo \"got $line\"; cat",
    "cat <<X\nhere\nX",
    "cat <<'X'\n$here\nX\n",
    "cat <<X | tr a-z A-Z; exit 5\nhere\nX",
    "echo a # comment",
    "# comment",
    "echo a \\\n  b",
    "echo a \\",
    "echo 'it'\"'\"'s' \"$(echo \"q\")\" `echo b`",
    "greet you; say it",
    "x=1; f() { echo $x; }; f; x=2; f",
    "echo $0 $# $BASH_SUBSHELL $SHLVL $LINENO",
    "echo a\necho $LINENO",
    "trap 'echo bye' EXIT; exit 3",
    "trap 'echo bye' EXIT; echo hi",
    "trap 'echo caught; exit 4' TERM; kill $$; sleep 5; echo late",
    "trap 'echo one' USR1; kill -USR1 $$; echo on",
    "trap 'echo all' USR1; kill -USR1 0; echo on",
    "kill $$; sleep 5",
    "echo first; kill -KILL $$",
    "kill -SEGV $$; sleep 5",
    "kill -HUP $$; sleep 5",
    "sh -c 'kill $$'",
    "sh -c 'kill $$'; exit",
    "sleep 30 >/dev/null & kill $!; wait $!; echo $?",
    "(sleep 0.1; exit 6) & wait $!; echo $?",
    "exec >left; echo there; echo err >&2",
    "exec 2>&1; echo x >&2",
    "exec >left 2>&1; echo there; exit 2",
    "exec sh -c 'echo replaced; exit 8'",
    "exec >&-; echo lost",
    "echo x >> /dev/stdout; echo y >> /dev/stderr",
    "{ echo a; echo b >&2; } 2>&1 | sort -r",
    "echo sub | (read x; echo $x; exit 2)",
    "umask 077; touch left; umask",
    "yes | head -n 3",
    "export A=1; env | grep ^A=",
    "eval 'echo inner; exit 2'",
    "printf '%s' \"$-\" | tr -d 'hBc569X' | wc -c",
];

/// What only bash knows, or says in its own way.
const BASH_COMMANDS: &[&str] = &[
    "echo \"unbalanced",
    "echo 'unbalanced",
    "echo $(",
    "if true; then echo a",
    "echo a\nfi",
    "echo a; )",
    "echo ok\necho \"un",
    "coproc { cat; }; echo x >&${COPROC[1]}; read -u ${COPROC[0]} y; echo $y",
    "shopt -p extglob; set -o | grep errexit",
    "sleep 30 >/dev/null & jobs | cut -c1-20; kill %1",
    "trap; trap -p EXIT",
    "exec 5>left; echo five >&5",
    "echo ${BASH_SOURCE[0]} ${#BASH_SOURCE[@]} $BASH_COMMAND",
    "[ $$ = $BASHPID ] && echo same",
    "cat < <(echo sub)",
    "echo x > >(cat >left); sleep 0.2",
    "ulimit -c",
    "set -u; echo $nothing",
    "return 3; echo on",
    "declare -p BASH_EXECUTION_STRING | wc -c",
];

fn compare(desk: &Desk, shell: &str, commands: &[&str]) {
    for command in commands {
        let (plain, wrapped) = (desk.run(shell, command), desk.wrapped(shell, command));
        assert_eq!(wrapped.outcome(), plain.outcome(), "{shell}: {command}");
    }
}

#[test]
fn a_wrapped_command_behaves_as_an_unwrapped_one() {
    let desk = Desk::new();
    compare(&desk, BASH, COMMANDS);
    compare(&desk, BASH, BASH_COMMANDS);
}

#[test]
fn a_contained_command_behaves_as_an_uncontained_one() {
    // Text that bash would not read is asked about otherwise.
    let desk = Desk::containing("[policy.unproved-effect]\nsyntax = \"allow\"\n");
    for command in COMMANDS.iter().chain(BASH_COMMANDS) {
        let (plain, contained) = (desk.run(BASH, command), desk.run(BASH, &desk.rewritten(command)));
        assert_eq!(contained.outcome(), plain.outcome(), "{command}");
    }
}

/// Whether `ls` is contained in a session now.
fn contains_ls(session: &Session) -> bool {
    match session.call("Bash", &json!({ "command": "ls" })) {
        Said::Rewrite(_) => true,
        Said::Nothing => false,
        other => panic!("{other:?}"),
    }
}

#[test]
fn while_a_contained_command_is_alive_every_command_is_contained() {
    const JOB: &str = "setsid sleep 4 >/dev/null 2>&1 </dev/null &\n";
    for level in ["hook", "landlock", "full"] {
        let machine = Machine::new();
        let main = machine.repository("home/src/main");
        let top = machine.worktree(&main, "home/src/tree");
        let desk = Desk { session: machine.session("s-1", &top), machine };
        let beside = desk.machine.repository("home/src/other");
        let nested = desk.machine.repository("home/src/tree/trees/a");
        let (beside, nested) = (desk.machine.session("s-2", &beside), desk.machine.session("s-3", &nested));
        assert!(!contains_ls(&desk.session), "{level}: nothing was ever contained");
        write(&top.join("job.sh"), JOB);
        let job = top.join("job.sh").display().to_string();
        if level == "hook" {
            let ran = desk.run(BASH, &desk.rewritten(&format!("sh {job}")));
            assert!(ran.status.success(), "{}", ran.output);
        } else {
            let answer = desk.machine.toolgate().arg("exec").args(["--level", level, "--", "sh", &job]);
            let answer = answer.cwd(&top).run("");
            assert_eq!(answer.code(), Some(0), "{level}: {}", answer.stderr);
        }
        assert!(contains_ls(&desk.session), "{level}: a job is left");
        assert!(contains_ls(&nested), "{level}: its root lies in the other");
        assert!(!contains_ls(&beside), "{level}: another worktree");
        // When it has ended, one more command is contained: it looks at what the job has left.
        thread::sleep(Duration::from_secs(5));
        assert!(contains_ls(&desk.session), "{level}: nobody has looked at what it left");
        let begun = Instant::now();
        while contains_ls(&desk.session) {
            assert!(begun.elapsed() < SOON, "{level}: it has ended");
            desk.run(BASH, &desk.rewritten("ls"));
            thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn a_contained_command_is_redacted_on_the_way_and_behaves_as_an_uncontained_one() {
    let desk = Desk::containing("");
    for command in ["echo out; exit 3", "cd below", "cat", "kill $$; sleep 5", "greet you; say it"] {
        let (plain, contained) = (desk.run(BASH, command), desk.run(BASH, &desk.rewritten(command)));
        assert_eq!(contained.outcome(), plain.outcome(), "{command}");
    }
    let ran = desk.run(BASH, &desk.rewritten(&format!("printf '%s\\n' '{SECRET}'; exit 1")));
    assert!(!ran.output.contains(SECRET) && ran.output.contains("REDACTED]"), "{}", ran.output);
    // What it was refused is told behind the last that it printed, however much that is.
    let script = desk.session.cwd.join("read.py");
    write(&script, "import os\nopen(os.environ['HOME'] + '/.ssh/' + 'id_x')\n");
    let command = format!("seq 200000; python3 {}; echo done; exit 4", script.display());
    let ran = desk.run(BASH, &desk.rewritten(&command));
    let (printed, told) = ran.output.split_once("\ndone\n").unwrap();
    assert!(told.starts_with("toolgate: ") && told.contains(".ssh/id_x"), "{told}");
    assert!(printed.contains("\n200000\n") && ran.status.code() == Some(4), "{:?}", ran.status);
}

#[test]
fn what_was_decided_holds_for_one_command() {
    let desk = Desk::containing("");
    let text = desk.rewritten("echo ran");
    assert_eq!(desk.run(BASH, &text).output, "ran\n");
    for shell in [BASH, "/bin/sh"] {
        let again = desk.run(shell, &text);
        assert!(!again.output.contains("ran\n") && !again.status.success(), "{shell}: {:?}", again.outcome());
    }
}

#[test]
fn a_contained_script_does_not_leave_and_the_record_says_what_was_enforced() {
    let desk = Desk::containing("");
    let outside = desk.machine.file("home/outside", "before");
    let state = desk.machine.state();
    let script = format!(
        "import os\nfor path in [{outside:?}, {state:?} + '/ledger.jsonl', '/tmp/../' + {outside:?}]:\n    try:\n        open(path, 'a').write('x')\n        print('wrote', path)\n    except OSError as error:\n        print('failed')\n"
    );
    let file = desk.session.cwd.join("x.py");
    write(&file, script);
    let text = desk.rewritten(&format!("python3 {}", file.display()));
    let ran = desk.run(BASH, &text);
    assert_eq!(ran.output, "failed\nfailed\nfailed\n");
    // What its own words name is explained with the rule, and a form that passes.
    let reading = desk.session.cwd.join("read.py");
    write(&reading, format!("open({outside:?})\n"));
    let ran = desk.run(BASH, &desk.rewritten(&format!("python3 {}; exit 3", reading.display())));
    assert_eq!(ran.status.code(), Some(3));
    let told = ran.output.lines().find(|line| line.starts_with("toolgate: ")).unwrap_or_default();
    assert!(told.contains(outside.to_str().unwrap()) && told.contains("[outside-scope"), "{}", ran.output);
    assert_eq!(fs::read_to_string(&outside).unwrap(), "before");
    let records = desk.machine.records();
    assert_eq!(records.last().unwrap()["contained"]["denied"].as_array().unwrap().len(), 1);
    let [call, enforced, ..] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!((&call["decision"], &call["answer"]), (&json!("contain"), &json!("rewrite")), "{call}");
    assert_eq!((&enforced["event"], &enforced["call"]), (&json!("contained"), &call["call"]), "{enforced}");
    assert_eq!(enforced["contained"]["network"], "all", "{enforced}");
    assert!(["full", "landlock"].contains(&enforced["contained"]["level"].as_str().unwrap()), "{enforced}");
}

#[test]
fn connections_of_a_contained_command_are_recorded_with_its_call() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 3]).unwrap();
        stream.write_all(b"hello").unwrap();
    });
    let desk = Desk::containing(&format!(
        "[network]\nmode = \"listed\"\n[[network.host]]\nname = \"a.test\"\nports = [{port}]\naddresses = [\"127.0.0.1\"]\n"
    ));
    let command = format!(
        "exec 3<>/dev/tcp/a.test/{port}; printf 'a\\n\\n' >&3; cat <&3; exec 3>&-; (exec 3<>/dev/tcp/evil.test/{port}); true"
    );
    let ran = desk.run(BASH, &desk.rewritten(&command));
    assert!(
        ran.output.contains("hello") && ran.output.contains("`evil.test` cannot be reached"),
        "{}",
        ran.output
    );
    let connection = loop {
        let records = desk.machine.records();
        match records.iter().find(|record| record["event"] == "connection") {
            Some(found) => break found.clone(),
            None => thread::sleep(Duration::from_millis(10)),
        }
    };
    let call = desk.machine.records().into_iter().find(|record| record["tool"] == "Bash").unwrap();
    assert_eq!((&connection["call"], &connection["agent"]), (&call["call"], &call["agent"]), "{connection}");
    assert_eq!(
        connection["connection"],
        json!({ "host": "a.test", "port": port, "address": "127.0.0.1", "sent": 3, "received": 5 })
    );
    let contained = desk.machine.records().into_iter().find(|record| record["event"] == "contained").unwrap();
    assert_eq!(contained["contained"]["network"], "listed", "{contained}");
    assert!(contained["contained"]["denied"][0].as_str().unwrap().contains("evil.test"), "{contained}");
}

#[test]
fn what_a_contained_command_names_in_tmp_is_shared_with_other_tools() {
    let desk = Desk::containing("");
    let name = |what: &str| PathBuf::from(format!("/tmp/toolgate-test-{}-{what}", std::process::id()));
    let [script, made, appended, hidden] = ["a.py", "made.txt", "log.txt", "hidden.txt"].map(name);
    let _ = desk.session.shell("true");
    fs::write(&script, format!("print(1)\nopen({hidden:?}, 'w').write('x')\n")).unwrap();
    fs::write(&appended, "first\n").unwrap();
    let command =
        format!("python3 {} > {}; echo second >> {}", script.display(), made.display(), appended.display());
    let ran = desk.run(BASH, &desk.rewritten(&command));
    let found = [&made, &appended].map(|file| fs::read_to_string(file).unwrap_or_default());
    let was_hidden = !hidden.exists();
    let again = desk.run(BASH, &desk.rewritten(&format!("cat {} {}", made.display(), hidden.display())));
    for file in [&script, &made, &appended, &hidden] {
        let _ = fs::remove_file(file);
    }
    assert_eq!(ran.outcome().0, Some(0), "{:?}", ran.outcome());
    assert_eq!(found, ["1\n", "first\nsecond\n"], "{:?}", ran.outcome());
    assert!(was_hidden, "what the command does not name stays private");
    assert_eq!(again.output, "1\nx", "and is there for the next one");
}

#[test]
fn a_server_in_the_background_outlives_its_call_and_stays_contained() {
    let desk = Desk::containing("");
    let outside = desk.machine.file("home/outside", "before");
    let served = desk.session.cwd.join("served");
    let file = desk.session.cwd.join("server.py");
    let lines = [
        "import time".to_owned(),
        "time.sleep(1)".to_owned(),
        format!("try: open({outside:?}, 'a').write('x')"),
        "except OSError: pass".to_owned(),
        format!("open({served:?}, 'w')"),
        "print('late')".to_owned(),
    ];
    write(&file, lines.join("\n"));
    let server = format!("python3 {} & echo early", file.display());
    let mut running = desk.start(BASH, &desk.rewritten(&server));
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
    assert_eq!(running.output(), "early\n");
    running.says("late");
    running.is_gone();
    assert!(served.exists());
    assert_eq!(fs::read_to_string(&outside).unwrap(), "before");
}

#[test]
fn a_wrapped_command_behaves_as_an_unwrapped_one_in_zsh() {
    if have("/bin/zsh", &["-c", "true"]) {
        compare(&Desk::new(), "/bin/zsh", COMMANDS);
    }
}

#[test]
fn another_shell_runs_a_wrapped_command_unchanged() {
    let desk = Desk::new();
    let text = desk.line() + "echo plain; exit 3";
    let output = Command::new("/bin/sh").args(["-c", &text]).output().unwrap();
    assert_eq!((output.stdout.as_slice(), output.status.code()), (b"plain\n".as_slice(), Some(3)));
}

#[test]
fn a_login_shell_stays_one() {
    let desk = Desk::new();
    desk.machine.file("home/.profile", "shout() { echo loud; }\n");
    let output = Command::new(BASH)
        .args(["-l", "-c", &(desk.line() + "shout; shopt -q login_shell; echo $?")])
        .env("HOME", desk.machine.home())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "loud\n0\n");
}

#[test]
fn a_wrapped_command_inside_another_text_fails_with_advice() {
    let desk = Desk::new();
    let output = Command::new(BASH)
        .args(["-c", "eval \"$TEXT\""])
        .env("TEXT", desk.line() + "echo ran")
        .output()
        .unwrap();
    assert_eq!(output.stdout.as_slice(), b"");
    assert_ne!(output.status.code(), Some(0));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("a different command from the one that its hook wrote"), "{told}");
}

#[test]
fn secrets_of_a_wrapped_command_are_redacted_however_it_ends() {
    let desk = Desk::new();
    for end in ["exit 1", "exit 0", "kill $$; sleep 5", "trap 'exit 2' EXIT; exit 1", "exec sh -c 'exit 1'"] {
        let command = format!("echo before; echo token={SECRET} >&2; printf '%s\\n' '{SECRET}'; {end}");
        let (plain, wrapped) = (desk.run(BASH, &command), desk.wrapped(BASH, &command));
        assert!(plain.output.contains(SECRET));
        assert_eq!(wrapped.status, plain.status);
        let marks: Vec<_> = wrapped.output.lines().filter_map(|line| line.split_once('[')).collect();
        assert!(
            wrapped.output.starts_with("before\n") && !wrapped.output.contains(SECRET),
            "{}",
            wrapped.output
        );
        assert!(marks.len() == 2 && marks[0].1 == marks[1].1, "{}", wrapped.output);
    }
}

#[test]
fn a_wrapped_command_and_the_hook_use_the_same_marks() {
    let desk = Desk::new();
    let wrapped = desk.wrapped(BASH, &format!("echo {SECRET}; false"));
    let response = |stdout: &str| {
        json!({"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_response": {
            "stdout": stdout, "stderr": "", "interrupted": false, "isImage": false
        }})
    };
    let answer = desk.session.event("PostToolUse", &response(SECRET)).json().unwrap();
    let shown = &answer["hookSpecificOutput"]["updatedToolOutput"]["stdout"];
    assert_eq!(shown.as_str(), Some(wrapped.output.trim_end()));
    let again = desk.session.event("PostToolUse", &response(&wrapped.output));
    assert_eq!(again.json(), None, "what is marked stays");
}

#[test]
fn a_wrapped_command_uses_the_redaction_settings() {
    let desk = Desk::with("marks = \"compat\"\n");
    let wrapped = desk.wrapped(BASH, &format!("echo {SECRET}; false"));
    assert!(wrapped.output.starts_with("[REDACTED:"), "{}", wrapped.output);
}

#[test]
fn stdout_and_stderr_of_a_wrapped_command_stay_apart() {
    let desk = Desk::new();
    let text = desk.line() + "echo out; echo err >&2; sleep 30 & exit 3";
    let mut child = Command::new(BASH)
        .args(["-c", &text])
        .stdout(File::create(desk.machine.path("out")).unwrap())
        .stderr(File::create(desk.machine.path("err")).unwrap())
        .process_group(0)
        .spawn()
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let text = |name| fs::read_to_string(desk.machine.path(name)).unwrap();
    assert_eq!((text("out").as_str(), text("err").as_str()), ("out\n", "err\n"));
    let group = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process_group(group, Signal::KILL).unwrap();
}

#[test]
fn a_background_job_is_not_waited_for_and_goes_on() {
    let desk = Desk::new();
    let command = "(sleep 1; echo late; echo late >&2; touch left) & echo early; exit 3";
    let mut call = desk.start(BASH, &(desk.line() + command));
    let begun = Instant::now();
    assert_eq!(call.child.wait().unwrap().code(), Some(3));
    assert_eq!(call.output(), "early\n");
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    call.is_gone();
    assert_eq!(call.output(), "early\nlate\nlate\n");
    assert!(call.dir.join("left").exists());
}

#[test]
fn a_background_job_that_never_stops_writing_does_not_delay_the_command() {
    let desk = Desk::new();
    let begun = Instant::now();
    let mut call = desk.start(BASH, &(desk.line() + "while true; do echo y; done & sleep 0.2; exit 3"));
    assert_eq!(call.child.wait().unwrap().code(), Some(3));
    assert!(begun.elapsed() < SOON);
}

#[test]
fn slow_output_is_printed_before_the_command_ends() {
    let desk = Desk::new();
    let call = desk.start(BASH, &(desk.line() + "echo first; sleep 60"));
    call.says("first\n");
}

#[test]
fn long_output_is_printed_whole_and_in_order() {
    let desk = Desk::new();
    let ran = desk.wrapped(BASH, "seq 1 1300000; exit 1");
    let expected: String =
        (1..=1_300_000).flat_map(|number: u32| [number.to_string(), "\n".to_owned()]).collect();
    assert!(expected.len() > 9_000_000);
    assert!(ran.output == expected && ran.status.code() == Some(1));
}

#[test]
fn a_signal_to_the_group_ends_every_process_of_a_wrapped_command() {
    let desk = Desk::new();
    for (signal, command) in [
        (Signal::TERM, "echo begun; sleep 60; echo late"),
        (Signal::KILL, "echo begun; sleep 60; echo late"),
        (Signal::TERM, "trap 'echo caught; exit 4' TERM; echo begun; sleep 60; echo late"),
        (Signal::INT, "echo begun; sleep 60"),
        (Signal::TERM, "sleep 60 & echo begun; sleep 60"),
    ] {
        let mut ends = Vec::new();
        for text in [command.to_owned(), desk.line() + command] {
            let mut call = desk.start(BASH, &text);
            call.says("begun");
            kill_process_group(call.group(), signal).unwrap();
            let status = call.child.wait().unwrap();
            // Bash says so of its child only where the child is gone before bash itself has the signal.
            ends.push((status, call.output().replace("Terminated\n", "")));
            call.is_gone();
        }
        if signal == Signal::KILL {
            assert_eq!(ends[0].0, ends[1].0);
        } else {
            assert_eq!(ends[0], ends[1], "{signal:?} {command}");
        }
    }
}

#[test]
fn later_events_are_judged_by_the_wrapped_command() {
    let desk = Desk::new();
    let outside = desk.machine.dir("outside").join("file");
    let text = desk.rewritten("git status");
    let call = |command: &str| json!({"tool_name": "Bash", "tool_input": {"command": command}});
    let recorded = || desk.machine.last_record()["args"].clone();
    for name in ["PermissionRequest", "PostToolUse", "PostToolUseFailure"] {
        assert_eq!(desk.session.event(name, &call(&text)).json(), None, "{name}");
        let shown = recorded().to_string();
        assert!(shown.contains("git status") && !shown.contains("exit 126"), "{name}: {shown}");
    }
    let behaviour = |command: &str| {
        let answer = desk.session.event("PermissionRequest", &call(command)).json();
        answer.map(|answer| answer["hookSpecificOutput"]["decision"]["behavior"].clone())
    };
    let denied = Some(json!("deny"));
    assert_eq!(behaviour(&(desk.line() + &format!("echo x > {}", outside.display()))), denied);
    for spoilt in [
        text.replace("calls/", "calls/../calls/"),
        text.replace(" || ", " ; true || "),
        format!("true;{text}"),
    ] {
        assert_eq!(behaviour(&spoilt), denied, "{spoilt}");
    }
    // What comes from the model is never taken for ours.
    assert_eq!(desk.session.shell(&text), "deny");
}

/// No setting asks for it: the call was let run because its output is looked through.
#[test]
fn a_search_that_comes_upon_secrets_is_wrapped_and_its_output_redacted_also_where_it_fails() {
    let machine = Machine::new();
    let top = machine.repository("home/src/main");
    write(&top.join("desk/.env"), "DB_PASSWORD=summer\nGREETING=hello\n");
    let session = machine.session("s-1", &top);
    let desk = Desk { machine, session };
    let says = |command: &str| desk.session.call("Bash", &json!({ "command": command }));
    let wrapped = desk.rewritten("grep -rn DB_ desk; false");
    // The call starts in a directory that the test makes anew.
    let line = wrapped.strip_suffix("grep -rn DB_ desk; false").unwrap();
    let ran = desk.run(
        BASH,
        &format!(
            "{line}cd .. && mkdir -p desk && echo DB_PASSWORD=summer > desk/.env && grep -rn DB_ desk; false"
        ),
    );
    assert!(ran.output.contains("DB_PASSWORD=[PASSWORD REDACTED]"), "{}", ran.output);
    assert!(!ran.output.contains("summer"), "{}", ran.output);
    assert_eq!(ran.status.code(), Some(1));
    write(&top.join("desk/.env"), "DB_PASSWORD=summer\n");
    for denied in ["grep -rn PASSWORD desk", "grep -rn DB_ desk | cut -d= -f2", "grep -rn DB_ desk > x"] {
        assert!(matches!(says(denied), Said::Deny(_)), "{denied}: {:?}", says(denied));
    }
    assert!(matches!(says("grep -rn DB_ src"), Said::Nothing), "{:?}", says("grep -rn DB_ src"));
}

#[test]
fn only_allowed_shell_calls_are_wrapped_and_only_by_setting() {
    let desk = Desk::new();
    let top = desk.session.cwd.clone();
    assert_eq!(desk.session.write(top.join("a.txt")), "nothing");
    assert_eq!(desk.session.shell("echo x > /etc/passwd"), "deny");
    assert_eq!(desk.session.call("Bash", &json!({"command": 5})).word(), "deny");
    let plain = Machine::new();
    let top = plain.repository("home/src/main");
    assert_eq!(plain.session("s-1", &top).shell("git status"), "nothing", "not by default");
}

#[test]
fn a_command_is_bound_to_the_root_before_it_is_wrapped() {
    let desk = Desk::new();
    let settings = fs::read_to_string(desk.machine.user_settings()).unwrap();
    write(&desk.machine.user_settings(), format!("relative = \"rewrite\"\n{settings}"));
    let text = desk.rewritten("git status");
    let bound = format!("cd \"{}\" && git status", desk.session.cwd.display());
    assert!(text.ends_with(&format!("\n{bound}")), "{text}");
}
