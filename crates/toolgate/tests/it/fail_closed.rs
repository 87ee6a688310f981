//! Whatever keeps the gate from a verdict is a denial in the host's own format, soon, with a word on what to do
//! and nothing of the input in it. The client takes a crash, a time-out or a text that is no JSON for consent.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{
    Answer, Hook, Machine, SECRET, Said, event, fifo, harmless, have, without_powers, write,
};
use serde_json::json;

/// The hook's own deadline is 5 s.
const SOON: Duration = Duration::from_secs(7);

/// A name, and how to make something be so.
type Spoilt<T> = (&'static str, fn(&T));

/// An event in which every string but the names of its members can be replaced.
fn valid(machine: &Machine) -> String {
    harmless(&machine.home()).to_string()
}

#[test]
fn an_input_that_is_not_an_event_is_denied() {
    let machine = Machine::new();
    let valid = valid(&machine);
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let with = |name: &str, value: &str| valid.replacen('{', &format!("{{\"{name}\":{value},"), 1);
    let input = |input: &str| {
        format!(
            r#"{{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Write","note":"{SECRET}","tool_input":{input}}}"#
        )
    };
    let events: Vec<(&str, Vec<u8>)> = vec![
        ("no JSON", format!("{SECRET} is not JSON").into()),
        ("nothing", Vec::new()),
        ("blanks", b"  \n\n".to_vec()),
        ("half an event", valid.as_bytes()[..valid.len() / 2].to_vec()),
        ("all but the last brace", valid.as_bytes()[..valid.len() - 1].to_vec()),
        ("two events", format!("{valid}\n{valid}").into()),
        ("text behind the event", format!("{valid} {SECRET}").into()),
        ("a list", format!("[{valid}]").into()),
        ("a string", format!("\"{SECRET}\"").into()),
        ("null", b"null".to_vec()),
        ("a byte order mark", format!("\u{feff}{valid}").into()),
        ("only a very deep list", nested(100_000).into()),
        ("a deep input", input(&format!(r#"{{"file_path":{}}}"#, nested(100_000))).into()),
        ("an input one level too deep", input(&format!(r#"{{"x":{}}}"#, nested(65))).into()),
        ("an unclosed deep input", input(&"[".repeat(100_000)).into()),
        ("a byte that is no UTF-8", [input(r#"{"file_path":"#).as_bytes(), b"\"\xff\"}}"].concat()),
        ("a lone surrogate in a path", input(r#"{"file_path":"/a\ud800"}"#).into()),
        ("a lone surrogate in a name", input(r#"{"file_path\udc00":"/a"}"#).into()),
        ("a raw control character", input("{\"file_path\":\"/a\u{1}\"}").into()),
        ("a number out of range", input(r#"{"file_path":1e999}"#).into()),
        ("no event name", format!(r#"{{"tool_name":"Read","tool_input":{{"x":"{SECRET}"}}}}"#).into()),
        ("an event name that is null", r#"{"hook_event_name":null,"tool_name":"Read"}"#.into()),
        ("an event name that is a list", r#"{"hook_event_name":["PreToolUse"]}"#.into()),
        ("no tool", r#"{"hook_event_name":"PreToolUse","tool_input":{}}"#.into()),
        (
            "a tool that is null",
            r#"{"hook_event_name":"PreToolUse","tool_name":null,"tool_input":{}}"#.into(),
        ),
        (
            "a tool that is an object",
            r#"{"hook_event_name":"PreToolUse","tool_name":{},"tool_input":{}}"#.into(),
        ),
        ("no input", r#"{"hook_event_name":"PreToolUse","tool_name":"Read"}"#.into()),
        ("an input that is null", input("null").into()),
        ("an input that is a string", input(&format!("\"{SECRET}\"")).into()),
        ("an input that is a list", input(r#"["/etc/passwd"]"#).into()),
        ("an input that is a number", input("7").into()),
        ("a doubled event name", with("hook_event_name", "\"Stop\"").into()),
        ("a doubled tool", with("tool_name", "\"Read\"").into()),
        ("a doubled tool, spelt with an escape", with("tool\\u005fname", "\"Read\"").into()),
        ("a doubled input", with("tool_input", "{}").into()),
        ("a doubled session", with("session_id", "\"other\"").into()),
        ("a doubled directory", with("cwd", "\"/\"").into()),
        ("a doubled path", input(r#"{"file_path":"/tmp/a","file_path":"/etc/passwd"}"#).into()),
        (
            "a doubled path, spelt with an escape",
            input(r#"{"file_path":"/tmp/a","file\u005fpath":"/b"}"#).into(),
        ),
        ("a doubled member far below", input(r#"{"file_path":"/tmp/a","x":[{"y":1,"y":2}]}"#).into()),
        ("a session that is a number", with("session_id", "7").replace("\"session_id\":\"s\",", "").into()),
    ];
    for (what, event) in events {
        let answer = machine.hook("claude-code").run(&event);
        assert!(answer.is_refusal(), "{what}: {answer:?}");
        assert!(answer.took < SOON, "{what}: {:?}", answer.took);
        let answer = machine.hook("mpm").run(&event);
        assert_eq!(answer.code(), Some(0), "{what}: {answer:?}");
        let json = answer.json().expect(what);
        assert_eq!(json["action"], "block", "{what}: {json}");
        let error = json["error"].as_str().unwrap();
        assert!(error.chars().count() <= 400 && !error.contains(SECRET), "{what}: {error}");
    }
}

#[test]
fn an_unknown_member_of_an_event_is_ignored() {
    let machine = Machine::new();
    let valid = valid(&machine);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for (what, extra) in [
        ("a deep unknown member", deep.as_str()),
        ("a lone surrogate in an unknown member", r#""\ud800""#),
        ("a null", "null"),
    ] {
        let event = valid.replacen('{', &format!("{{\"unknown\":{extra},"), 1);
        let said = machine.hook("claude-code").run(event).said();
        // The home is no worktree of its own; what counts is that nothing is refused unread.
        assert_eq!(said, Said::Nothing, "{what}");
    }
}

#[test]
fn an_event_of_50_mb_is_denied() {
    let machine = Machine::new();
    let large = valid(&machine).replace(SECRET, &"x".repeat(50 * 1024 * 1024));
    let answer = machine.hook("claude-code").run(large);
    assert!(answer.is_refusal(), "{}", &answer.stdout);
    assert!(answer.reason().contains("split the call"));
    assert!(answer.took < SOON, "{:?}", answer.took);
}

/// A call that no model writes is not looked through, and the host is heard to the end. What a tool gave back may be long.
#[test]
fn a_call_of_20_mb_is_denied_and_an_output_of_20_mb_is_looked_through() {
    let machine = Machine::new();
    let long = "x".repeat(20 * 1024 * 1024);
    let early = valid(&machine).replace(SECRET, &long);
    // The name of the event stands behind what is long.
    let late = format!(
        r#"{{"tool_name":"Write","tool_input":{{"file_path":"/x","content":"{long}"}},"session_id":"s","hook_event_name":"PreToolUse"}}"#
    );
    for (what, event) in [("at first", early), ("at last", late)] {
        let mut child = machine.hook("claude-code").spawn();
        let started = Instant::now();
        let mut stdin = child.stdin.take().unwrap();
        let written = thread::spawn(move || stdin.write_all(event.as_bytes()).is_ok());
        let answer = Answer::of(child, started);
        assert!(written.join().unwrap(), "{what}: the host could not say all");
        let told = format!("{}{}", answer.stdout, answer.stderr);
        assert!(answer.code() == Some(2) || answer.is_refusal(), "{what}: {told}");
        assert!(told.contains("larger than 4 MiB; split the call"), "{what}: {told}");
        assert!(answer.took < SOON, "{what}: {:?}", answer.took);
    }
    let output = json!({"stdout": format!("{}{SECRET}", "line of words\n".repeat(1_400_000)), "stderr": ""});
    let after = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": output});
    let answer = machine.hook("claude-code").event(&event("PostToolUse", "s", &machine.home(), &after));
    assert_eq!(answer.code(), Some(0));
    assert!(!answer.stdout.contains("cannot judge"), "{}", shorten(&answer.stdout));
}

fn shorten(text: &str) -> String {
    text.chars().take(300).collect()
}

/// The next hook of it could not be started, and the call would run.
#[test]
fn a_session_whose_directory_is_gone_is_denied_where_hooks_start_there() {
    for (host, event_name, tool, is_denied) in [
        ("codex", "PreToolUse", "Bash", true),
        ("gemini", "BeforeTool", "run_shell_command", true),
        ("qwen", "PreToolUse", "run_shell_command", true),
        ("claude-code", "PreToolUse", "Bash", false),
        ("copilot", "PreToolUse", "bash", false),
    ] {
        let machine = Machine::new();
        let top = machine.repository("home/src/main");
        let start = top.join("src");
        fs::create_dir(&start).unwrap();
        let call = json!({"session_id": "s", "cwd": start, "hook_event_name": event_name, "tool_name": tool,
            "tool_input": {"command": "ls"}});
        let asked = || {
            let variables =
                ["GEMINI_PROJECT_DIR", "QWEN_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "COPILOT_PROJECT_DIR"];
            let hook = variables.iter().fold(machine.hook(host), |hook, name| hook.env(name, &start));
            // The host stands in the directory, whatever has become of it.
            let script =
                format!("cd '{0}'; [ -z \"$GONE\" ] || rm -r '{0}'; exec \"$0\" \"$@\"", start.display());
            (hook, script)
        };
        let judge = |gone: &str| {
            let (hook, script) = asked();
            let answer = hook.env("GONE", gone).under(&["/bin/sh", "-c", &script]).event(&call);
            format!("{}{}", answer.stdout, answer.stderr)
        };
        let told = judge("");
        assert!(!told.contains("is gone"), "{host}: {told}");
        let told = judge("yes");
        assert_eq!(
            told.contains("is gone, and the host starts its hooks there"),
            is_denied,
            "{host}: {told}"
        );
        assert_eq!(told.contains("deny") || told.contains("denied"), is_denied, "{host}: {told}");
        fs::create_dir(&start).unwrap();
        let told = judge("");
        assert!(!told.contains("is gone"), "{host}: {told}");
    }
}

#[test]
fn a_call_of_3_mb_is_judged() {
    let machine = Machine::new();
    let large = valid(&machine).replace(SECRET, &"x".repeat(3 * 1024 * 1024));
    let answer = machine.hook("claude-code").run(large);
    assert_eq!(answer.said(), Said::Nothing);
    assert!(answer.took < SOON, "{:?}", answer.took);
}

#[test]
fn a_call_through_a_wrong_registration_line_is_denied() {
    let machine = Machine::new();
    let event = valid(&machine);
    for (line, told) in [
        (vec!["--hoem", "/"], "`--hoem`"),
        (vec!["extra"], "`extra`"),
        (vec!["--home"], "`--home`"),
        (vec!["--home", "home"], "`home`"),
        (vec!["--home", ""], "absolute"),
        (vec!["--state", "../state"], "`../state`"),
        (vec!["--config", "."], "`.`"),
        (vec!["--root", "here"], "`here`"),
        (vec!["--home", "/", "--profile"], "`--profile`"),
        (vec!["--profile", "worktre"], "worktree-strict"),
        (vec!["--profile", ""], "profile"),
    ] {
        let answer = machine.hook("claude-code").args(&line).run(&event);
        assert!(answer.is_refusal(), "{line:?}: {answer:?}");
        assert!(answer.reason().contains(told), "{line:?}: {}", answer.reason());
        let blocked = machine.hook("mpm").args(&line).run(&event).json().unwrap();
        assert_eq!(blocked["action"], "block", "{line:?}");
    }
    let no_text = machine.hook("claude-code").arg(OsStr::from_bytes(b"--\xff")).run(&event);
    assert!(no_text.is_refusal(), "{no_text:?}");
}

#[test]
fn a_refusal_is_at_most_400_characters_long() {
    let machine = Machine::new();
    let event = valid(&machine);
    let long = "x".repeat(10_000);
    let deep = format!("/{}", "directory/".repeat(600));
    for line in [
        vec!["--option", long.as_str()],
        vec![long.as_str()],
        vec!["--home", deep.as_str()],
        vec!["--state", deep.as_str()],
        vec!["--profile", long.as_str()],
    ] {
        let answer = machine.hook("claude-code").args(&line).run(&event);
        assert!(answer.is_refusal(), "{answer:?}");
    }
}

#[test]
fn an_unknown_host_blocks_with_exit_2_and_says_nothing_on_stdout() {
    let machine = Machine::new();
    for host in ["unheard-of", "", "Claude-Code", "claude-code ", "--home"] {
        let answer = machine.hook(host).run(valid(&machine));
        assert_eq!((answer.code(), answer.stdout.as_str()), (Some(2), ""), "{host}: {answer:?}");
        assert!(answer.stderr.contains("claude-code, codex"), "{}", answer.stderr);
    }
    let answer = machine.toolgate().arg("hook").run(valid(&machine));
    assert_eq!((answer.code(), answer.stdout.as_str()), (Some(2), ""), "{answer:?}");
}

#[test]
fn a_call_is_denied_when_the_hook_panics() {
    let machine = Machine::new();
    let answer = machine.hook("claude-code").arg("--panic").run(valid(&machine));
    assert!(answer.is_refusal(), "{answer:?}");
    assert_eq!(answer.stderr, "", "a panic may quote the input");
    let answer = machine.hook("mpm").arg("--panic").run(valid(&machine));
    assert_eq!((answer.code(), &answer.json().unwrap()["action"]), (Some(0), &json!("block")));
}

#[test]
fn without_a_usable_home_the_call_is_denied() {
    let machine = Machine::new();
    let event = valid(&machine);
    let file = machine.file("file", "");
    let link = machine.path("loop");
    symlink(&link, &link).unwrap();
    for (what, hook) in [
        ("no HOME", machine.hook("claude-code").without_env("HOME")),
        ("an empty HOME", machine.hook("claude-code").env("HOME", "")),
        ("a relative HOME", machine.hook("claude-code").env("HOME", "home")),
        ("a file as HOME", machine.hook("claude-code").env("HOME", &file)),
        ("a file on the way", machine.hook("claude-code").env("HOME", file.join("home"))),
        ("a link in a circle", machine.hook("claude-code").env("HOME", &link)),
        ("a file as --home", machine.hook("claude-code").args(["--home"]).arg(&file)),
        ("a file as the registered state", machine.hook("claude-code").args(["--state"]).arg(&file)),
        ("XDG_STATE_HOME in a file", machine.hook("claude-code").env("XDG_STATE_HOME", &file)),
        ("a device as HOME", machine.hook("claude-code").env("HOME", "/dev/null")),
        ("a read-only file system as HOME", machine.hook("claude-code").env("HOME", "/proc")),
    ] {
        let answer = hook.run(&event);
        assert!(answer.is_refusal(), "{what}: {answer:?}");
    }
    let known = machine.hook("claude-code").without_env("HOME").arg("--home").arg(machine.home()).run(&event);
    assert_eq!(known.said(), Said::Nothing, "the registered home needs no HOME");
}

#[test]
fn a_call_is_denied_when_our_directories_may_not_be_entered() {
    let Some(drop) = without_powers() else {
        return;
    };
    for closed in
        ["home", "home/.local/state/toolgate", "home/.local/state/toolgate/sessions", "home/.config/toolgate"]
    {
        for mode in [0o000, 0o500] {
            let machine = Machine::new();
            let place = machine.dir(closed);
            fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
            let answer = machine.hook("claude-code").cwd("/").under(drop).run(valid(&machine));
            fs::set_permissions(&place, fs::Permissions::from_mode(0o700)).unwrap();
            // Settings that are merely not writable are no trouble.
            if closed.ends_with(".config/toolgate") && mode == 0o500 {
                assert_eq!(answer.said(), Said::Nothing, "{closed} {mode:o}");
            } else {
                assert!(answer.is_refusal(), "{closed} {mode:o}: {answer:?}");
            }
        }
    }
}

#[test]
fn a_call_is_denied_when_the_state_directory_cannot_be_used() {
    let wrong: [Spoilt<Machine>; 7] = [
        ("a file for the state", |machine| write(&machine.state(), "")),
        ("a dangling link for the state", |machine| {
            machine.dir("home/.local/state");
            symlink("/nonexistent/state", machine.state()).unwrap();
        }),
        ("a file for the sessions", |machine| write(&machine.state().join("sessions"), "")),
        ("a directory for the ledger", |machine| fs::create_dir_all(machine.ledger()).unwrap()),
        ("a pipe for the ledger", |machine| fifo(&machine.ledger())),
        ("a link for the ledger", |machine| {
            fs::create_dir_all(machine.state()).unwrap();
            symlink(machine.path("elsewhere"), machine.ledger()).unwrap();
        }),
        ("a device for the ledger", |machine| {
            fs::create_dir_all(machine.state()).unwrap();
            symlink("/dev/null", machine.ledger()).unwrap();
        }),
    ];
    for (what, spoil) in wrong {
        let machine = Machine::new();
        spoil(&machine);
        let answer = machine.hook("claude-code").run(valid(&machine));
        assert!(answer.is_refusal(), "{what}: {answer:?}");
        assert!(answer.took < SOON, "{what}: {:?}", answer.took);
        let answer = machine.hook("claude-code").arg("--root").arg(machine.home()).run(valid(&machine));
        assert!(answer.is_refusal(), "{what}, with a registered root: {answer:?}");
    }
}

#[test]
fn a_call_is_denied_when_the_pin_of_its_session_cannot_be_read() {
    let spoilt: [Spoilt<Path>; 4] = [
        ("a directory", |pin| fs::create_dir(pin).unwrap()),
        ("a pipe", |pin| fifo(pin)),
        ("half a pin", |pin| fs::write(pin, "{\"root\":\"/ho").unwrap()),
        ("another form", |pin| fs::write(pin, "[]").unwrap()),
    ];
    for (what, spoil) in spoilt {
        let machine = Machine::new();
        let top = machine.repository("repo");
        let session = machine.session("s", &top);
        assert_eq!(session.write(top.join("a")), "nothing");
        let pin = machine.pin("s");
        fs::remove_file(&pin).unwrap();
        spoil(&pin);
        let elsewhere = machine.repository("elsewhere");
        // The session is known, so its root must not be taken from where the agent has gone since.
        assert_eq!(session.from(&elsewhere).write(elsewhere.join("a")), "deny", "{what}");
    }
}

#[test]
fn a_write_is_denied_when_the_note_of_registrations_cannot_be_read() {
    let spoilt: [Spoilt<Path>; 4] = [
        ("a directory", |note| fs::create_dir_all(note).unwrap()),
        ("a pipe", |note| {
            fs::create_dir_all(note.parent().unwrap()).unwrap();
            fifo(note);
        }),
        ("half a note", |note| write(note, "{\"registrations\":[")),
        ("another form", |note| write(note, "[]")),
    ];
    for (what, spoil) in spoilt {
        let machine = Machine::new();
        let top = machine.repository("repo");
        spoil(&machine.state().join("registrations.json"));
        assert_eq!(machine.session("s", &top).write(top.join("a")), "deny", "{what}");
    }
}

#[test]
fn a_long_note_of_registrations_protects_its_files_too() {
    for length in [0, 3 * 1024 * 1024] {
        let machine = Machine::new();
        let top = machine.repository("repo");
        let file = top.join("moved/hooks.json");
        let note = json!({ "registrations": [{ "file": file, "original": "x".repeat(length) }] });
        write(&machine.state().join("registrations.json"), note.to_string());
        let session = machine.session("s", &top);
        assert_eq!(session.write(&file), "deny", "{length}");
        assert_eq!(session.write(top.join("moved/other.json")), "nothing", "{length}");
    }
}

/// A hook with so little room that nothing can be written.
fn on_a_full_disk(machine: &Machine, state: &Path) -> Hook {
    let script = r#"mount -t tmpfs -o size=4k tmpfs "$1" && { head -c 100000 /dev/zero > "$1/filler"; true; } 2>/dev/null; shift; exec "$@""#;
    let hook = machine.hook("claude-code").arg("--state").arg(state.join("state"));
    hook.under(&["unshare", "-Urm", "sh", "-c", script, "sh", state.to_str().unwrap()])
}

#[test]
fn a_call_is_denied_when_the_disk_is_full() {
    if !have("unshare", &["-Urm", "sh", "-c", "mount -t tmpfs tmpfs /mnt"]) {
        return;
    }
    let machine = Machine::new();
    let state = machine.dir("full");
    for root in [None, Some(machine.home())] {
        let mut hook = on_a_full_disk(&machine, &state);
        if let Some(root) = root {
            hook = hook.arg("--root").arg(root);
        }
        let answer = hook.run(valid(&machine));
        assert!(answer.is_refusal(), "{answer:?}");
        assert!(answer.reason().contains("room"), "{}", answer.reason());
    }
}

#[test]
fn with_too_few_open_files_the_call_is_denied_and_not_recorded() {
    let with_limit = |machine: &Machine, limit: usize| {
        // Whoever started the tests may have left files open.
        let script = format!(r#"exec 3>&- 4>&-; ulimit -n {limit}; exec "$@""#);
        machine.hook("claude-code").under(&["sh", "-c", &script, "sh"]).run(valid(machine))
    };
    // With none at all the system cannot even load the program, and the host blocks since the registration says
    // `onFailure: block`.
    let machine = Machine::new();
    let answer = with_limit(&machine, 3);
    assert_eq!((answer.code(), answer.stdout.as_str()), (Some(127), ""), "{answer:?}");
    assert_eq!(machine.records().len(), 0);
    // With one, our own directory cannot be made.
    let answer = with_limit(&machine, 4);
    assert!(answer.is_refusal(), "{answer:?}");
    assert_eq!(machine.records().len(), 0);
    // With one more the call is judged, and recorded as it was answered.
    let answer = with_limit(&machine, 5);
    assert_eq!(answer.said(), Said::Nothing, "{answer:?}");
    let decisions: Vec<_> = machine.records().iter().map(|record| record["decision"].clone()).collect();
    assert_eq!(decisions, ["allow"]);
}

#[test]
fn a_call_is_denied_in_time_when_the_ledger_stays_locked() {
    let machine = Machine::new();
    let event = valid(&machine);
    assert_eq!(machine.hook("claude-code").run(&event).said(), Said::Nothing);
    let ledger = OpenOptions::new().append(true).open(machine.ledger()).unwrap();
    ledger.lock().unwrap();
    let answer = machine.hook("claude-code").run(&event);
    assert!(answer.is_refusal(), "{answer:?}");
    assert!(answer.took < SOON, "{:?}", answer.took);
    ledger.unlock().unwrap();
    assert_eq!(machine.hook("claude-code").run(&event).said(), Said::Nothing);
    assert_eq!(machine.records().len(), 2, "what was denied for want of a record has none");
}

#[test]
fn an_event_that_never_ends_is_denied_before_the_host_gives_up() {
    let machine = Machine::new();
    let event = valid(&machine);
    for (what, first) in
        [("silence", ""), ("half an event", event.split_at(20).0), ("a whole one", event.as_str())]
    {
        let mut child = machine.hook("claude-code").spawn();
        let started = Instant::now();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(first.as_bytes()).unwrap();
        let answer = Answer::of(child, started);
        drop(stdin);
        assert!(answer.is_refusal(), "{what}: {answer:?}");
        assert!(answer.took < SOON, "{what}: {:?}", answer.took);
    }
}

#[test]
fn an_event_that_trickles_is_denied_before_the_host_gives_up() {
    let machine = Machine::new();
    let mut child = machine.hook("claude-code").spawn();
    let started = Instant::now();
    let mut stdin = child.stdin.take().unwrap();
    let writer = thread::spawn(move || {
        while stdin.write_all(b" ").is_ok() {
            thread::sleep(Duration::from_millis(200));
        }
    });
    let answer = Answer::of(child, started);
    writer.join().unwrap();
    assert!(answer.is_refusal(), "{answer:?}");
    assert!(answer.took < SOON, "{:?}", answer.took);
}

#[test]
fn a_stdin_that_is_not_a_pipe_is_denied() {
    let machine = Machine::new();
    for stdin in
        [File::open("/dev/null").unwrap(), File::open("/").unwrap(), File::open("/dev/zero").unwrap()]
    {
        let child = machine
            .hook("claude-code")
            .command()
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let answer = Answer::of(child, Instant::now());
        assert!(answer.is_refusal(), "{answer:?}");
        assert!(answer.took < SOON, "{:?}", answer.took);
    }
    let answer = machine.hook("claude-code").under(&["sh", "-c", r#"exec "$@" 0<&-"#, "sh"]).run("");
    assert!(answer.is_refusal(), "{answer:?}");
}

#[test]
fn a_denial_that_cannot_be_printed_ends_with_the_exit_code_that_blocks() {
    let machine = Machine::new();
    let denied = json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": machine.home(),
        "tool_name": "Read", "tool_input": {"file_path": "/etc/shadow"}})
    .to_string();
    for (what, event) in [("a verdict", denied.as_str()), ("a refusal", "no JSON")] {
        let mut child = machine
            .hook("claude-code")
            .command()
            .stdin(Stdio::piped())
            .stdout(OpenOptions::new().write(true).open("/dev/full").unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(2), "{what}");
    }
}

/// A settings file that cannot be used, and what the message must name.
const BROKEN: &[(&str, &[&str])] = &[
    ("grant = false\nscop = []\n", &["toolgate.toml:2", "`scop`", "`scope`"]),
    ("[policy.unproved-effect]\nshel = \"deny\"\n", &["toolgate.toml:2", "`shel`", "`shell`"]),
    ("[policy.outside-scope]\nenabled = false\n", &["toolgate.toml:2", "`enabled`", "`links`"]),
    ("[policy.gate-tampering]\nenabled = false\n", &["toolgate.toml:1", "`gate-tampering`"]),
    ("\n\n[[scope]]\npath = \"/x\"\nrights = \"raed\"\n", &["toolgate.toml:5", "`raed`", "`read`"]),
    ("[[scope]]\npath = \"src\"\nrights = \"read\"\n", &["toolgate.toml:2", "`src`"]),
    ("[[scope]]\nrights = \"read\"\n", &["toolgate.toml:1", "path"]),
    ("profile = \"worktre\"\n", &["toolgate.toml:1", "`worktre`", "`worktree`"]),
    ("grant = \"yes\"\n", &["toolgate.toml:1", "a list of hosts"]),
    ("grant = [\"copilt\"]\n", &["toolgate.toml:1", "`copilt`", "`copilot`"]),
    ("grant = true\ngrant = true\n", &["toolgate.toml:2"]),
    ("grant = \n", &["toolgate.toml:1"]),
    ("[tools.x]\naccess = \"non\"\n", &["toolgate.toml:2", "`non`", "`none`"]),
];

#[test]
fn broken_settings_deny_and_name_their_line_and_the_right_word() {
    for (text, told) in BROKEN {
        for whose in ["user", "project"] {
            let machine = Machine::new();
            let top = machine.repository("repo");
            let file = if whose == "user" { machine.user_settings() } else { top.join("toolgate.toml") };
            write(&file, text);
            for _ in 0..2 {
                let answer = machine.hook("claude-code").run(harmless(&top).to_string());
                assert!(answer.is_refusal(), "{whose} {text:?}: {answer:?}");
                let reason = answer.reason();
                assert!(reason.contains(file.to_str().unwrap()), "{whose} {text:?}: {reason}");
                for word in *told {
                    assert!(reason.contains(word), "{whose} {text:?} should name {word}: {reason}");
                }
            }
            let other = event("UserPromptSubmit", "s", &top, &json!({"prompt": "x"}));
            let answer = machine.hook("claude-code").event(&other);
            assert_eq!(answer.code(), Some(0), "{answer:?}");
            assert!(
                answer.json().unwrap()["systemMessage"].as_str().unwrap().contains(told[0]),
                "{answer:?}"
            );
            let config = event("ConfigChange", "s", &top, &json!({"source": "user_settings"}));
            let answer = machine.hook("claude-code").event(&config);
            assert_eq!((answer.code(), answer.stdout.as_str()), (Some(2), ""), "{answer:?}");
            assert!(answer.stderr.contains(told[0]), "{answer:?}");
        }
    }
}

#[test]
fn settings_that_cannot_be_read_deny_the_call() {
    let spoilt: [Spoilt<Path>; 5] = [
        ("a directory", |file| fs::create_dir_all(file).unwrap()),
        ("a pipe", fifo),
        ("a device", |file| {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            symlink("/dev/zero", file).unwrap();
        }),
        ("a link in a circle", |file| {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            symlink(file, file).unwrap();
        }),
        ("no UTF-8", |file| write(file, b"grant = false # \xff\n")),
    ];
    for (what, spoil) in spoilt {
        for whose in ["user", "project"] {
            let machine = Machine::new();
            let top = machine.repository("repo");
            let file = if whose == "user" { machine.user_settings() } else { top.join("toolgate.toml") };
            spoil(&file);
            let answer = machine.hook("claude-code").run(harmless(&top).to_string());
            assert!(answer.is_refusal(), "{whose}: {what}: {answer:?}");
            assert!(answer.reason().contains("toolgate.toml"), "{}", answer.reason());
            assert!(answer.took < SOON, "{whose}: {what}: {:?}", answer.took);
        }
    }
}

#[test]
fn settings_that_are_too_long_deny_the_call() {
    let closes = "[[scope]]\npath = \"{worktree}\"\nrights = \"none\"\n";
    let long = format!("# {}\n{closes}", "x".repeat(1 << 20));
    for whose in ["user", "project"] {
        let machine = Machine::new();
        let top = machine.repository("repo");
        let file = if whose == "user" { machine.user_settings() } else { top.join("toolgate.toml") };
        write(&file, &long);
        let answer = machine.hook("claude-code").run(harmless(&top).to_string());
        assert!(matches!(answer.said(), Said::Deny(_)), "{whose}: {answer:?}");
    }
}

#[test]
fn a_broken_dot_git_opens_nothing_outside_the_project() {
    let spoilt: [Spoilt<Path>; 5] = [
        ("a pipe", fifo),
        ("an empty file", |path| fs::write(path, "").unwrap()),
        ("a very long file", |path| fs::write(path, format!("gitdir: {}", "x".repeat(1 << 20))).unwrap()),
        ("a file of bytes", |path| fs::write(path, b"gitdir: \xff\n").unwrap()),
        ("a link in a circle", |path| symlink(path, path).unwrap()),
    ];
    for (what, spoil) in spoilt {
        let machine = Machine::new();
        let top = machine.dir("project");
        spoil(&top.join(".git"));
        let session = machine.session("s", &top);
        assert_eq!(session.write(top.join("a")), "nothing", "{what}");
        assert_eq!(session.write(machine.path("a")), "deny", "{what}");
        assert_eq!(session.read(machine.home().join("a")), "deny", "{what}");
    }
}

#[test]
fn a_denial_that_nobody_can_read_ends_with_a_code_that_denies() {
    let machine = Machine::new();
    let denied = event(
        "PreToolUse",
        "s",
        &machine.home(),
        &json!({"tool_name": "Write", "tool_input": {"file_path": "/etc/x"}}),
    );
    let shell = ["sh", "-c", "exec \"$@\" >&-", "sh"];
    let answer = machine.hook("claude-code").under(&shell).event(&denied);
    assert_eq!((answer.code(), answer.stdout.as_str()), (Some(2), ""), "{answer:?}");
    let only_read = ["sh", "-c", "exec \"$@\" 1</dev/null", "sh"];
    let full = ["sh", "-c", "exec \"$@\" >/dev/full", "sh"];
    for how in [shell, only_read, full] {
        let answer = machine.hook("claude-code").under(&how).event(&denied);
        assert_eq!(answer.code(), Some(2), "{how:?}: {answer:?}");
    }
}

/// It begins without the standard library: whatever is closed when it is started, no answer goes into the record, and none is lost.
#[test]
fn the_small_program_denies_with_closed_descriptors_and_a_pipe_that_nobody_reads() {
    let machine = Machine::new();
    let place = |path: &Path| json!({"tool_name": "Read", "tool_input": {"file_path": path}});
    let allowed = event("PreToolUse", "s", &machine.home(), &place(&machine.home().join("a.txt")));
    let denied = event("PreToolUse", "s", &machine.home(), &place(Path::new("/etc/shadow")));
    let answer = machine.small_hook("claude-code").event(&denied);
    assert_eq!(answer.said(), machine.hook("claude-code").event(&denied).said());
    assert_eq!(machine.small_hook("claude-code").event(&allowed).said(), Said::Nothing);
    let ways = [
        ("exec \"$@\" >&-", "stdout is closed"),
        ("exec \"$@\" >&- 2>&-", "stdout and stderr are closed"),
        ("exec \"$@\" <&- >&- 2>&-", "all are closed"),
        ("exec \"$@\" 1</dev/null", "stdout can only be read"),
        ("exec \"$@\" >/dev/full", "stdout is full"),
        ("\"$@\" | true; exit \"${PIPESTATUS[0]}\"", "nobody reads"),
    ];
    for (how, what) in ways {
        let answer = machine.small_hook("claude-code").under(&["bash", "-c", how, "bash"]).event(&denied);
        let ended = answer.code();
        // Whoever reads nothing may still have been there when it was written.
        assert!(ended == Some(2) || (what == "nobody reads" && ended == Some(0)), "{what}: {answer:?}");
    }
    let only_records = machine.records().iter().all(|record| record.get("seq").is_some());
    assert!(only_records, "every line of the ledger is a record");
    // Where stderr alone is closed, all is as ever.
    let quiet = ["bash", "-c", "exec \"$@\" 2>&-", "bash"];
    assert_eq!(machine.small_hook("claude-code").under(&quiet).event(&allowed).said(), Said::Nothing);
}

/// Nobody would hear that a command has to be contained, nor that it may not run: what cannot be answered does not run.
#[test]
fn where_no_answer_can_be_heard_no_host_runs_the_call() {
    let machine = Machine::new();
    for how in [["sh", "-c", "exec \"$@\" >&-", "sh"], ["sh", "-c", "exec \"$@\" 1</dev/null", "sh"]] {
        for host in ["claude-code", "codex", "copilot", "gemini", "qwen", "cursor", "mpm"] {
            let named = if host == "copilot" { vec!["--event", "preToolUse"] } else { Vec::new() };
            let answer = machine.hook(host).args(named).under(&how).run(valid(&machine));
            assert_eq!(answer.code(), Some(2), "{host} {how:?}: {answer:?}");
        }
        let ends = event("SessionEnd", "s", &machine.home(), &json!({}));
        let answer = machine.hook("claude-code").under(&how).event(&ends);
        assert_eq!(answer.code(), Some(0), "nothing can be stopped: {answer:?}");
    }
}

#[test]
fn a_call_is_denied_when_files_may_not_grow() {
    let machine = Machine::new();
    let limited = ["sh", "-c", "ulimit -f 0; exec \"$@\"", "sh"];
    let answer = machine.hook("claude-code").under(&limited).run(valid(&machine));
    assert!(answer.is_refusal(), "{answer:?}");
    assert!(answer.reason().contains("ulimit -f") && !answer.reason().contains("permissions"), "{answer:?}");
    // The ledger alone is too long, in a session that is known.
    assert_eq!(machine.hook("claude-code").run(valid(&machine)).said(), Said::Nothing);
    let answer = machine.hook("claude-code").under(&limited).run(valid(&machine));
    assert!(answer.is_refusal() && answer.reason().contains("ulimit -f"), "{answer:?}");
}

#[test]
fn a_call_is_denied_when_no_file_can_be_opened() {
    let machine = Machine::new();
    assert_eq!(machine.hook("claude-code").run(valid(&machine)).said(), Said::Nothing);
    // What a hook needs depends on how it was linked: each of these is loaded and answers, or is not even loaded.
    for files in 3..9 {
        let limited = format!("ulimit -n {files}; exec \"$@\"");
        let before = machine.records().len();
        let answer = machine.hook("claude-code").under(&["sh", "-c", &limited, "sh"]).run(valid(&machine));
        let is_loaded = answer.code().is_some_and(|code| code <= 2);
        let is_judged = answer.stdout.is_empty() && machine.records().len() == before + 1;
        assert!(!is_loaded || is_judged || answer.is_refusal(), "{files}: {answer:?}");
        assert!(!answer.stdout.contains("make room"), "{files}: {answer:?}");
    }
}

/// Rust aborts where there is no memory, and most clients take that for consent.
#[test]
fn a_call_is_denied_when_there_is_no_memory_left() {
    let machine = Machine::new();
    let binary = fs::metadata(env!("CARGO_BIN_EXE_toolgate")).unwrap().len();
    let mut refused = 0;
    // A part of the file is mapped, and how much depends on how it was built: each of these is enough, too little, or not even loaded.
    for part in 3..=24 {
        let limit = binary / 1024 * part / 24;
        let limited = format!("ulimit -v {limit}; exec \"$@\"");
        let large = valid(&machine).replace(SECRET, &"x".repeat(7 * 1024 * 1024 / 2));
        for host in ["claude-code", "codex", "gemini"] {
            let answer = machine.hook(host).under(&["sh", "-c", &limited, "sh"]).run(&large);
            // The system itself ends a process that it cannot even load; the registered line denies then.
            let is_loaded = answer.code().is_some_and(|code| code <= 2);
            let denied = answer.code() == Some(2)
                || answer.stdout.contains("no memory left")
                || answer.stdout.contains("\"decision\":\"deny\"");
            let judged = answer.code() == Some(0) && !answer.stdout.contains("cannot judge");
            assert!(!is_loaded || denied || judged, "{host} with {limit} KiB: {answer:?}");
            refused += usize::from(
                answer.stdout.contains("no memory left") || answer.stderr.contains("no memory left"),
            );
        }
    }
    assert!(refused > 0, "no limit was small enough");
}

/// A process that dies of a signal says nothing, and some clients take that for consent.
#[test]
fn a_call_is_denied_when_the_stack_is_over() {
    let machine = Machine::new();
    assert_eq!(machine.hook("claude-code").run(valid(&machine)).said(), Said::Nothing);
    let mut ended = 0;
    for stack in [16, 24, 32, 48, 64, 96, 128, 256] {
        let limited = format!("ulimit -s {stack}; exec \"$@\"");
        let answer =
            machine.small_hook("claude-code").under(&["sh", "-c", &limited, "sh"]).run(valid(&machine));
        let is_over = answer.stderr.contains("ran out of stack");
        // The system itself ends a process that it cannot even load; the registered line denies then.
        let is_loaded = is_over || answer.code().is_some_and(|code| code <= 2);
        let judged = answer.code() == Some(0) && !answer.stdout.contains("cannot judge");
        assert!(!is_loaded || judged || answer.code() == Some(2), "{stack} KiB: {answer:?}");
        ended += usize::from(is_over);
    }
    assert!(ended > 0, "no stack was small enough");
}

#[test]
fn a_reader_who_keeps_the_ledger_locked_stops_nobody() {
    let machine = Machine::new();
    assert_eq!(machine.hook("claude-code").run(valid(&machine)).said(), Said::Nothing);
    let reader = File::open(machine.ledger()).unwrap();
    reader.lock_shared().unwrap();
    let before = machine.records().len();
    for _ in 0..3 {
        let answer = machine.hook("claude-code").run(valid(&machine));
        assert_eq!(answer.said(), Said::Nothing, "{answer:?}");
    }
    assert_eq!(machine.records().len(), before + 3);
    drop(reader);
    assert_eq!(machine.hook("claude-code").run(valid(&machine)).said(), Said::Nothing);
    let verified = machine.toolgate().args(["ledger", "verify"]).run("");
    assert_eq!(verified.code(), Some(0), "{verified:?}");
}

#[test]
fn a_registered_root_that_is_not_there_denies() {
    let machine = Machine::new();
    for host in ["claude-code", "codex", "mpm"] {
        let root = machine.path("gone");
        let answer = machine.hook(host).arg("--root").arg(&root).run(valid(&machine));
        let said = format!("{}{}", answer.stdout, answer.stderr);
        assert!(said.contains("registered root"), "{host}: {answer:?}");
    }
    let gone = machine.path("gone");
    let call =
        json!({"event": "before", "session": "g", "cwd": gone, "tool": "bash", "input": {"command": "ls"}});
    let answer = machine.hook("generic").arg("--root").arg(&gone).event(&call);
    assert!(answer.stdout.contains("\"deny\""), "{answer:?}");
}

#[test]
fn a_transcript_elsewhere_than_in_the_hosts_own_directory_opens_nothing() {
    let machine = Machine::new();
    let top = machine.repository("repo");
    let read = |session: &str, transcript: &Path, file: &Path| {
        let mut event = event(
            "PreToolUse",
            session,
            &top,
            &json!({"tool_name": "Read", "tool_input": {"file_path": file}}),
        );
        event["transcript_path"] = json!(transcript);
        machine.hook("claude-code").event(&event).said()
    };
    let own = machine.home().join(".claude/projects/x");
    let notes = own.join("notes.txt");
    assert_eq!(read("own", &own.join("t.jsonl"), &notes), Said::Nothing, "the host's own");
    let outside = machine.file("elsewhere/notes.txt", "");
    let aside = outside.with_file_name("t.jsonl");
    assert!(matches!(read("aside", &aside, &outside), Said::Deny(_)));
    let climbing = own.join("../../../../elsewhere/t.jsonl");
    assert!(matches!(read("climbing", &climbing, &outside), Said::Deny(_)));
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    symlink(outside.parent().unwrap(), machine.home().join(".claude/projects/link")).unwrap();
    let linked = machine.home().join(".claude/projects/link/t.jsonl");
    assert!(matches!(read("linked", &linked, &outside), Said::Deny(_)));
    let whole = machine.home().join(".claude/t.jsonl");
    let settings = machine.home().join(".claude/other.txt");
    assert!(matches!(read("whole", &whole, &settings), Said::Deny(_)), "not the directory itself");
}

#[test]
fn a_call_under_an_unknown_event_name_is_denied() {
    let machine = Machine::new();
    let mut call = harmless(&machine.home());
    call["hook_event_name"] = json!("BeforeTheTool");
    let answer = machine.hook("claude-code").event(&call);
    assert!(answer.is_refusal(), "{answer:?}");
    let answer = machine.hook("codex").event(&call);
    assert_eq!(answer.code(), Some(2), "{answer:?}");
    let named = machine.hook("copilot").args(["--event", "beforeTheTool"]);
    let answer = named.event(&json!({"sessionId": "s", "toolName": "bash", "toolArgs": {"command": "ls"}}));
    assert_eq!(answer.code(), Some(2), "{answer:?}");
    let told = event("Notification", "s", &machine.home(), &json!({"message": "hello"}));
    assert_eq!(machine.hook("claude-code").event(&told).code(), Some(0));
}

#[test]
fn an_output_is_looked_through_even_without_a_home() {
    let machine = Machine::new();
    let after = |stdout: &str| {
        event(
            "PostToolUse",
            "s",
            &machine.home(),
            &json!({"tool_name": "Bash", "tool_input": {"command": "env"},
            "tool_response": {"stdout": stdout, "stderr": "", "interrupted": false}}),
        )
    };
    let hook = machine.hook("claude-code").without_env("HOME");
    let answer = hook.event(&after("PASSWORD=hunter2-and-more\n"));
    let output = answer.json().unwrap()["hookSpecificOutput"].clone();
    assert_eq!(output["hookEventName"], "PostToolUse", "{output}");
    assert!(!answer.stdout.contains("hunter2") && output["updatedToolOutput"].is_object(), "{output}");
    let harmless = hook.event(&after("fine\n"));
    assert!(harmless.json().is_none_or(|answer| answer.get("hookSpecificOutput").is_none()), "{harmless:?}");
}
