//! Every host through the built binary: what its own events say is judged, and answered in the form that it obeys.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Answer, Machine, have, write};
use serde_json::{Value, json};

/// A repository with a linked worktree in which the agent works, and a place outside of both.
struct Yard {
    machine: Machine,
    work: PathBuf,
    outside: PathBuf,
}

impl Yard {
    fn new() -> Yard {
        let machine = Machine::new();
        let main = machine.repository("main");
        let work = machine.worktree(&main, "work");
        let outside = machine.dir("outside");
        Yard { machine, work, outside }
    }

    fn hook(&self, host: &str, event: &str, payload: &Value) -> Answer {
        // Hooks are started in the session's directory.
        let hook = self.machine.hook(host).args(["--event", event]).cwd(&self.work);
        hook.event(payload)
    }

    fn outside(&self, name: &str) -> String {
        self.outside.join(name).to_str().unwrap().to_owned()
    }
}

/// The call of a tool as a host tells it.
struct Teller {
    host: &'static str,
    event: &'static str,
    /// The payload for a tool, its input and the directory.
    tell: fn(&str, &Value, &Path) -> Value,
    /// The name of the shell tool.
    shell: &'static str,
    /// The name of the tool that writes a file, and its parameter for the path.
    write: Option<(&'static str, &'static str)>,
    /// Whether a call is denied by this answer.
    denies: fn(&Answer) -> bool,
}

fn snake(tool: &str, input: &Value, cwd: &Path) -> Value {
    json!({ "hook_event_name": "PreToolUse", "session_id": "s", "cwd": cwd, "tool_name": tool, "tool_input": input })
}

fn with_reason(answer: &Answer) -> bool {
    answer.code() == Some(2) && !answer.stderr.trim().is_empty()
}

const TELLERS: &[Teller] = &[
    Teller {
        host: "claude-code",
        event: "PreToolUse",
        tell: snake,
        shell: "Bash",
        write: Some(("Write", "file_path")),
        denies: |answer| {
            answer.json().is_some_and(|json| json["hookSpecificOutput"]["permissionDecision"] == "deny")
        },
    },
    Teller {
        host: "mpm",
        event: "PreToolUse",
        tell: snake,
        shell: "Bash",
        write: Some(("Write", "file_path")),
        denies: |answer| answer.json().is_some_and(|json| json["action"] == "block"),
    },
    Teller {
        host: "codex",
        event: "PreToolUse",
        tell: snake,
        shell: "Bash",
        write: None,
        // Where the user is told something too, the client reads it beside exit 0 only.
        denies: |answer| {
            let denial = |json: Value| json["hookSpecificOutput"]["permissionDecision"] == "deny";
            with_reason(answer) || answer.code() == Some(0) && answer.json().is_some_and(denial)
        },
    },
    Teller {
        host: "qwen",
        event: "PreToolUse",
        tell: snake,
        shell: "run_shell_command",
        write: Some(("write_file", "file_path")),
        denies: with_reason,
    },
    Teller {
        host: "gemini",
        event: "BeforeTool",
        tell: |tool, input, cwd| json!({ "hook_event_name": "BeforeTool", "session_id": "s", "cwd": cwd, "tool_name": tool, "tool_input": input }),
        shell: "run_shell_command",
        write: Some(("write_file", "file_path")),
        // Any other code would be shown to the user as a hook that failed.
        denies: |answer| {
            answer.code() == Some(0) && answer.json().is_some_and(|json| json["decision"] == "deny")
        },
    },
    Teller {
        host: "copilot",
        event: "preToolUse",
        tell: |tool, input, cwd| json!({ "sessionId": "s", "cwd": cwd, "toolName": tool, "toolArgs": input }),
        shell: "bash",
        write: Some(("create", "path")),
        denies: |answer| {
            with_reason(answer) && answer.json().is_some_and(|json| json["permissionDecision"] == "deny")
        },
    },
    Teller {
        host: "cursor",
        event: "preToolUse",
        tell: |tool, input, cwd| json!({ "hook_event_name": "preToolUse", "conversation_id": "s", "workspace_roots": [cwd], "tool_name": tool, "tool_input": input }),
        shell: "Shell",
        write: Some(("Write", "file_path")),
        denies: |answer| {
            with_reason(answer) && answer.json().is_some_and(|json| json["permission"] == "deny")
        },
    },
    Teller {
        host: "pi",
        event: "tool_call",
        tell: |tool, input, cwd| {
            json!({ "event": { "type": "tool_call", "toolName": tool, "input": input },
                    "ctx": { "mode": "print", "cwd": cwd, "trusted": false, "sessionId": "s" } })
        },
        shell: "bash",
        write: Some(("write", "path")),
        denies: |answer| answer.json().is_some_and(|json| json["decision"] == "deny"),
    },
    Teller {
        host: "opencode",
        event: "tool.execute.before",
        tell: |tool, input, cwd| json!({ "directory": cwd, "input": { "tool": tool, "sessionID": "s" }, "output": { "args": input } }),
        shell: "bash",
        write: Some(("write", "filePath")),
        denies: |answer| answer.json().is_some_and(|json| json["decision"] == "deny"),
    },
    Teller {
        host: "copilot-sdk",
        event: "onPreToolUse",
        tell: |tool, input, cwd| {
            json!({ "input": { "sessionId": "s", "toolName": tool, "toolArgs": input, "workingDirectory": cwd },
                    "invocation": { "sessionId": "s" } })
        },
        shell: "bash",
        write: Some(("create", "path")),
        denies: |answer| answer.json().is_some_and(|json| json["decision"] == "deny"),
    },
    Teller {
        host: "generic",
        event: "before",
        tell: |tool, input, cwd| json!({ "session": "s", "cwd": cwd, "tool": tool, "input": input }),
        shell: "bash",
        write: Some(("Write", "file_path")),
        denies: |answer| answer.json().is_some_and(|json| json["decision"] == "deny"),
    },
];

impl Teller {
    fn call(&self, yard: &Yard, tool: &str, input: &Value) -> Answer {
        let answer = yard.hook(self.host, self.event, &(self.tell)(tool, input, &yard.work));
        assert!(!answer.stdout.contains("cannot judge"), "{} {tool}: {answer:?}", self.host);
        answer
    }
}

#[test]
fn every_host_is_covered_by_these_tests() {
    for host in toolgate_hosts::HOSTS {
        assert!(TELLERS.iter().any(|teller| teller.host == host.id()), "{}", host.id());
    }
}

#[test]
fn every_host_is_denied_writes_outside_and_allowed_writes_inside() {
    for teller in TELLERS {
        let yard = Yard::new();
        let host = teller.host;
        if let Some((tool, path)) = teller.write {
            let write = |place: &str| teller.call(&yard, tool, &json!({ path: place, "content": "x" }));
            assert!((teller.denies)(&write(&yard.outside("f"))), "{host}: a write outside");
            assert!((teller.denies)(&write("../outside/f")), "{host}: a write outside, climbing");
            assert!(!(teller.denies)(&write("new.txt")), "{host}: a write inside");
        }
        let shell = |command: String| teller.call(&yard, teller.shell, &json!({ "command": command }));
        let denied = shell(format!("echo x > {}", yard.outside("f")));
        assert!((teller.denies)(&denied), "{host}: {denied:?}");
        let inside = shell("echo x > new.txt && cat new.txt".to_owned());
        assert!(!(teller.denies)(&inside), "{host}: {inside:?}");
        let empty = shell(String::new());
        assert_eq!(empty.code(), Some(0), "{host}: {empty:?}");
    }
}

#[test]
fn the_record_says_what_every_host_was_answered() {
    for teller in TELLERS {
        let yard = Yard::new();
        let host = teller.host;
        let shell = |command: String| {
            let answer = teller.call(&yard, teller.shell, &json!({ "command": command }));
            (answer, yard.machine.last_record())
        };
        let (denied, record) = shell(format!("echo x > {}", yard.outside("f")));
        assert!((teller.denies)(&denied), "{host}: {denied:?}");
        assert_eq!((&record["host"], &record["answer"]), (&json!(host), &json!("deny")), "{record}");
        let (passed, record) = shell("echo x > new.txt".to_owned());
        let silent = matches!(
            passed.stdout.trim(),
            "" | "{}" | r#"{"decision":"allow"}"# | r#"{"action":"continue"}"#
        );
        let expected = if silent { "silence" } else { "rewrite" };
        assert_eq!(record["answer"], expected, "{host}: {passed:?} {record}");
    }
}

#[test]
fn a_patch_is_judged_by_all_files_that_it_names() {
    type Input = fn(String) -> Value;
    let yard = Yard::new();
    let patch = |name: &str| {
        format!(
            "*** Begin Patch\n*** Add File: a.txt\n+x\n*** Update File: {name}\n@@\n-a\n+b\n*** End Patch\n"
        )
    };
    let cases: [(&str, &str, Input); 4] = [
        ("codex", "apply_patch", |patch| json!({ "command": patch })),
        ("copilot", "apply_patch", Value::String),
        ("copilot", "Edit", Value::String),
        ("opencode", "apply_patch", |patch| json!({ "patchText": patch })),
    ];
    for (host, tool, input) in cases {
        let teller = TELLERS.iter().find(|teller| teller.host == host).unwrap();
        let denied = |name: &str| (teller.denies)(&teller.call(&yard, tool, &input(patch(name))));
        assert!(denied(&yard.outside("f")) && denied("../../f"), "{host} {tool}");
        assert!(!denied("b.txt"), "{host} {tool}");
        let nothing = teller.call(&yard, tool, &input("no patch at all".to_owned()));
        assert!((teller.denies)(&nothing), "{host} {tool}: {nothing:?}");
    }
}

#[test]
fn a_directory_that_the_call_names_is_where_its_command_starts() {
    let yard = Yard::new();
    let outside = yard.outside.to_str().unwrap();
    for (host, param) in [("gemini", "dir_path"), ("qwen", "directory"), ("opencode", "workdir")] {
        let teller = TELLERS.iter().find(|teller| teller.host == host).unwrap();
        let in_directory = |directory: &str| {
            (teller.denies)(&teller.call(
                &yard,
                teller.shell,
                &json!({ "command": "echo x > f", param: directory }),
            ))
        };
        assert!(in_directory(outside) && in_directory("../outside"), "{host}");
        assert!(!in_directory(yard.work.to_str().unwrap()) && !in_directory("."), "{host}");
    }
}

#[test]
fn the_directory_of_a_codex_call_does_not_move_the_session() {
    let yard = Yard::new();
    let teller = TELLERS.iter().find(|teller| teller.host == "codex").unwrap();
    let call = |command: &str, cwd: &Path| {
        yard.hook("codex", "PreToolUse", &snake("Bash", &json!({ "command": command }), cwd))
    };
    // The first event of the session, and its directory is one that the agent chose.
    assert!((teller.denies)(&call("echo x > f", &yard.outside)));
    assert!(!(teller.denies)(&call("echo x > f", &yard.work)));
}

#[test]
fn every_host_can_be_named_in_a_grant() {
    let hosts: Vec<&str> = toolgate_hosts::HOSTS.iter().map(|host| host.id()).collect();
    assert_eq!(toolgate_policies::GRANTEES, hosts);
}

#[test]
fn copilot_is_granted_only_where_the_settings_name_it() {
    let yard = Yard::new();
    let claude = &TELLERS[0];
    let copilot = TELLERS.iter().find(|teller| teller.host == "copilot").unwrap();
    let inside = json!({ "file_path": "new.txt", "path": "new.txt", "content": "x" });
    for (settings, claude_granted, copilot_granted) in [
        ("grant = false", false, false),
        ("grant = true", true, false),
        ("grant = [\"copilot\"]", false, true),
        ("grant = [\"copilot\", \"claude-code\"]", true, true),
    ] {
        write(&yard.machine.user_settings(), settings);
        let granted = claude.call(&yard, "Write", &inside).stdout.contains("\"allow\"");
        assert_eq!(granted, claude_granted, "{settings}");
        let granted = copilot.call(&yard, "create", &inside).stdout.contains("\"allow\"");
        assert_eq!(granted, copilot_granted, "{settings}");
    }
}

#[test]
fn an_unreadable_event_is_refused_in_the_form_of_the_registered_event() {
    let yard = Yard::new();
    let permission = yard.machine.hook("copilot").args(["--event", "permissionRequest"]).run("no JSON");
    assert_eq!(permission.json().unwrap()["behavior"], "deny", "{permission:?}");
    let claude = yard.machine.hook("claude-code").args(["--event", "PermissionRequest"]).run("no JSON");
    let decision = claude.json().unwrap();
    assert_eq!(decision["hookSpecificOutput"]["decision"]["behavior"], "deny", "{claude:?}");
    let after = yard.machine.hook("copilot").args(["--event", "sessionEnd"]).run("no JSON");
    assert_eq!((after.code(), after.stdout.as_str()), (Some(0), ""), "{after:?}");
}

#[test]
fn a_call_is_denied_in_time_when_the_disk_does_not_answer() {
    if !have("strace", &["-V"]) {
        return;
    }
    // The kernel takes half a minute to say where a path leads.
    let slow = ["strace", "-f", "-o", "/dev/null", "-e", "inject=openat2:delay_enter=30000000:when=1"];
    let yard = Yard::new();
    let call = snake("Bash", &json!({ "command": "cat a.txt" }), &yard.work).to_string();
    let mut child = yard.machine.hook("codex").cwd(&yard.work).under(&slow).spawn();
    child.stdin.take().unwrap().write_all(call.as_bytes()).unwrap();
    let started = Instant::now();
    let mut answer = [0; 1024];
    let length = child.stdout.take().unwrap().read(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
    assert!(answer.contains("\"deny\"") && answer.contains("more than 5 s"), "{answer}");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    // The tracer would wait for the kernel.
    child.kill().unwrap();
    child.wait().unwrap();
}

/// `toolgate serve`, and a conversation with it.
struct Served {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Served {
    fn new(yard: &Yard, host: &str, more: &[&str], env: &[(&str, &str)]) -> Served {
        let mut hook = yard.machine.toolgate().args(["serve", host]).args(more).cwd(&yard.work);
        for (name, value) in env {
            hook = hook.env(name, value);
        }
        let mut command = hook.command();
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Served { child, input, output }
    }

    fn say(&mut self, line: &str) -> Value {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{line}: {answer:?}: {error}"))
    }

    fn ask(&mut self, event: &str, payload: &Value) -> Value {
        let said = self.say(&json!({ "id": 7, "event": event, "payload": payload }).to_string());
        assert_eq!(said["id"], 7, "{said}");
        said["answer"].clone()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success(), "it ends when nobody asks any more");
    }
}

#[test]
fn one_gate_serves_a_whole_session() {
    let yard = Yard::new();
    let mut served = Served::new(&yard, "generic", &[], &[]);
    for (command, decision) in [("ls", "allow"), ("echo x > ../../f", "deny"), ("cat new.txt", "allow")] {
        let call =
            json!({ "session": "s", "cwd": yard.work, "tool": "bash", "input": { "command": command } });
        let answer = served.ask("before", &call);
        assert_eq!(answer["decision"], decision, "{command}: {answer}");
    }
    for bad in
        ["no JSON", "{}", "[]", "{\"id\":1}", "{\"id\":1,\"event\":\"before\",\"payload\":{},\"more\":1}"]
    {
        let said = served.say(bad);
        assert_eq!(
            (&said["id"], &said["answer"]["decision"]),
            (&Value::Null, &json!("deny")),
            "{bad}: {said}"
        );
    }
    let strange = served.ask("before", &json!({ "tool": "bash" }));
    assert_eq!(strange["decision"], "deny", "{strange}");
    let unknown = served.ask("whenever", &json!({}));
    assert_eq!(unknown["decision"], "deny", "{unknown}");
    // Settings are looked at anew for each call.
    write(&yard.machine.user_settings(), "grant = true\n");
    let call =
        json!({ "session": "s", "cwd": yard.work, "tool": "Write", "input": { "file_path": "new.txt" } });
    assert_eq!(served.ask("before", &call)["granted"], true);
    assert_eq!(yard.machine.records().len(), 11, "every call is in the record, and every line that is none");
}

/// The Copilot SDK and the plain protocol, each with its events for a question, the answer to it, an error and the end.
#[test]
fn questions_are_limited_answers_passed_on_errors_handled_and_sessions_summed_up() {
    let yard = Yard::new();
    write(&yard.machine.user_settings(), "[policy.ask-user-limit]\nmax = 2\nshortest = 10\n");
    let sdk = |input: Value| json!({ "input": input, "invocation": { "sessionId": "sdk" } });
    let plain = |members: Value| {
        let mut payload = json!({ "session": "plain", "cwd": yard.work });
        payload.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        payload
    };
    let tellers: [(&str, [(&str, Value); 5]); 2] = [
        (
            "generic",
            [
                ("question", plain(json!({ "text": "Which?" }))),
                ("answer", plain(json!({ "text": "blue" }))),
                ("error", plain(json!({ "message": "m", "recoverable": true }))),
                ("error", plain(json!({ "message": "m" }))),
                ("end", plain(json!({}))),
            ],
        ),
        (
            "copilot-sdk",
            [
                ("onUserInputRequest", sdk(json!({ "question": "Which?" }))),
                ("onUserInputResponse", sdk(json!({ "answer": "blue", "wasFreeform": true }))),
                ("onErrorOccurred", sdk(json!({ "error": "m", "recoverable": true }))),
                ("onErrorOccurred", sdk(json!({ "error": "m", "recoverable": false }))),
                ("onSessionEnd", sdk(json!({ "reason": "complete" }))),
            ],
        ),
    ];
    for (host, [question, answer, mild, grave, end]) in tellers {
        // A new process for each: what is counted outlives them.
        let ask = |(event, payload): &(&str, Value)| Served::new(&yard, host, &[], &[]).ask(event, payload);
        assert_eq!(ask(&question)["decision"], "allow", "{host}");
        let passed = ask(&answer);
        let text = passed["text"].as_str().unwrap_or_default();
        assert!(text.starts_with("blue (brief response"), "{host}: {passed}");
        assert_eq!(ask(&question)["decision"], "allow", "{host}");
        let denied = ask(&question);
        let said = "Proceed with your best judgment \u{2014} question limit reached.";
        assert_eq!(
            [&denied["decision"], &denied["answer"], &denied["reason"]],
            ["deny", said, said],
            "{host}: {denied}"
        );
        assert_eq!(ask(&mild)["handling"], "retry", "{host}");
        assert_eq!(ask(&grave)["handling"], "abort", "{host}");
        let ended = ask(&end);
        assert!(ended["summary"].as_str().is_some_and(|summary| !summary.is_empty()), "{host}: {ended}");
    }
    // The SDK tells of the call as well: it is the same question.
    let call = sdk(json!({ "toolName": "ask_user", "toolArgs": { "question": "Which?" } }));
    assert_eq!(Served::new(&yard, "copilot-sdk", &[], &[]).ask("onPreToolUse", &call)["decision"], "allow");
}

#[test]
fn serve_refuses_hosts_whose_hooks_are_not_code() {
    let yard = Yard::new();
    for host in ["claude-code", "unheard-of"] {
        let answer = yard.machine.toolgate().args(["serve", host]).run("");
        assert_eq!(answer.code(), Some(1), "{answer:?}");
        let said = format!("`{host}` is not served; these are: copilot-sdk, generic, opencode, pi");
        assert!(answer.stderr.contains(&said), "{answer:?}");
    }
}

fn pi_call(yard: &Yard, tool: &str, input: &Value, mode: &str, trusted: bool) -> Value {
    json!({ "event": { "type": "tool_call", "toolName": tool, "input": input },
            "ctx": { "mode": mode, "cwd": yard.work, "trusted": trusted, "sessionId": "s" } })
}

#[test]
fn pi_enforces_in_every_mode_unless_its_own_profile_is_chosen() {
    let yard = Yard::new();
    let write = |path: &str| json!({ "path": path, "content": "x" });
    let outside = write(&yard.outside("f"));
    let sandbox = yard.work.to_str().unwrap();
    let mut usual = Served::new(&yard, "pi", &[], &[]);
    for (mode, trusted) in [("tui", true), ("rpc", true), ("print", true), ("json", false), ("tui", false)] {
        let answer = usual.ask("tool_call", &pi_call(&yard, "write", &outside, mode, trusted));
        assert_eq!(answer["decision"], "deny", "{mode} {trusted}: {answer}");
    }
    let mut to_the_letter =
        Served::new(&yard, "pi", &["--profile", "pi-worktree"], &[("WORKTREE_SANDBOX_PATH", sandbox)]);
    for (mode, trusted, decision) in [
        ("tui", true, "deny"),
        ("rpc", true, "deny"),
        ("print", true, "allow"),
        ("json", true, "allow"),
        ("tui", false, "allow"),
    ] {
        let answer = to_the_letter.ask("tool_call", &pi_call(&yard, "write", &outside, mode, trusted));
        assert_eq!(answer["decision"], decision, "{mode} {trusted}: {answer}");
        // That it was denied again and again is told too.
        let stepped_back = answer.get("notice").is_some_and(|notice| !notice.to_string().contains("blocked"));
        assert_eq!(stepped_back, decision == "allow", "stepping back is told: {answer}");
    }
    let unset = Served::new(&yard, "pi", &["--profile", "pi-worktree"], &[])
        .ask("tool_call", &pi_call(&yard, "write", &outside, "tui", true));
    assert_eq!(unset["decision"], "allow", "{unset}");
}

#[test]
fn paths_and_commands_of_pi_are_bound_to_the_root() {
    let yard = Yard::new();
    let sandbox = yard.work.to_str().unwrap();
    let mut served =
        Served::new(&yard, "pi", &["--profile", "pi-worktree"], &[("WORKTREE_SANDBOX_PATH", sandbox)]);
    let mut ask =
        |tool: &str, input: Value| served.ask("tool_call", &pi_call(&yard, tool, &input, "tui", true));
    for (raw, absolute) in [
        ("a.txt", format!("{sandbox}/a.txt")),
        ("@a.txt", format!("{sandbox}/a.txt")),
        ("src/../a.txt", format!("{sandbox}/a.txt")),
    ] {
        for tool in ["write", "edit", "read"] {
            let answer = ask(tool, json!({ "path": raw, "content": "x" }));
            assert_eq!(
                answer["input"],
                json!({ "path": absolute, "content": "x" }),
                "{tool} {raw}: {answer}"
            );
        }
    }
    for raw in ["@/etc/passwd", "~/x", "file:///etc/passwd", "@~/x", "../../x", "FILE:///etc/x"] {
        let answer = ask("read", json!({ "path": raw }));
        assert_eq!(answer["decision"], "deny", "{raw}: {answer}");
    }
    let inside = format!("{sandbox}/a.txt");
    assert_eq!(
        ask("read", json!({ "path": inside })).get("input"),
        None,
        "an absolute path inside stays as it is"
    );
    let directory = ask("read", json!({ "path": "." }));
    assert!(directory["reason"].as_str().unwrap().contains("ls"), "{directory}");
    let bash = ask("bash", json!({ "command": "ls", "timeout": 5 }));
    assert_eq!(bash["input"], json!({ "command": format!("cd \"{sandbox}\" && ls"), "timeout": 5 }));
    let again = ask("bash", bash["input"].clone());
    assert_eq!(again.get("input"), None, "what is bound to the root stays as it is: {again}");
    for half in [format!("cd \"{sandbox}\" && : & ls"), format!("cd \"{sandbox}\" && ls; ls")] {
        let bound = ask("bash", json!({ "command": half }));
        let whole = format!("cd \"{sandbox}\" && {{\n{half}\n}}");
        assert_eq!(bound["input"]["command"], whole, "what is bound in part is bound as a whole: {half}");
    }
}

/// What a tool gave back as a host tells it, and what the host takes in its place.
pub(crate) struct Given {
    pub(crate) host: &'static str,
    pub(crate) event: &'static str,
    /// The event with this output.
    pub(crate) tell: fn(&Value, &Path) -> Value,
    /// An output that holds this text.
    pub(crate) output: fn(&str) -> Value,
    /// The answer that shows this output and this note, as the host takes it.
    shows: fn(&Value, &str) -> Value,
    /// The answer to an output that stays as it is.
    silence: &'static str,
}

fn snake_after(output: &Value, cwd: &Path) -> Value {
    json!({ "hook_event_name": "PostToolUse", "session_id": "s", "cwd": cwd,
            "tool_name": "Bash", "tool_input": { "command": "env" }, "tool_response": output })
}

fn cursor_after(tool: &str, output: &Value, cwd: &Path) -> Value {
    json!({ "hook_event_name": "postToolUse", "conversation_id": "s", "workspace_roots": [cwd],
            "tool_name": tool, "tool_input": { "command": "env" }, "tool_output": output.to_string() })
}

fn mcp_output(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text, "annotations": { "priority": 0.25 } }], "isError": false })
}

fn plain_after(output: &Value, note: &str) -> Value {
    json!({ "decision": "allow", "output": output, "note": note })
}

const PLAIN_ALLOW: &str = r#"{"decision":"allow"}"#;

pub(crate) const GIVEN: &[Given] = &[
    Given {
        host: "claude-code",
        event: "PostToolUse",
        tell: snake_after,
        output: |text| json!({ "stdout": text, "stderr": "", "interrupted": false, "isImage": false }),
        shows: |output, note| {
            json!({ "hookSpecificOutput": { "hookEventName": "PostToolUse", "updatedToolOutput": output,
                    "additionalContext": note } })
        },
        silence: "",
    },
    Given {
        host: "codex",
        event: "PostToolUse",
        tell: snake_after,
        output: |text| json!(text),
        shows: |output, note| json!({ "decision": "block", "reason": format!("{}\n{note}", output.as_str().unwrap()) }),
        silence: "",
    },
    Given {
        host: "codex",
        event: "PostToolUse",
        tell: snake_after,
        output: mcp_output,
        shows: |output, note| {
            let text = output["content"][0]["text"].as_str().unwrap();
            json!({ "decision": "block", "reason": format!("{text}\n{note}") })
        },
        silence: "",
    },
    Given {
        host: "copilot",
        event: "postToolUse",
        tell: |output, cwd| json!({ "sessionId": "s", "cwd": cwd, "toolName": "bash", "toolArgs": { "command": "env" }, "toolResult": output }),
        output: |text| json!({ "resultType": "success", "textResultForLlm": text }),
        shows: |output, note| json!({ "modifiedResult": output, "additionalContext": note }),
        silence: "",
    },
    Given {
        host: "copilot",
        event: "PostToolUse",
        tell: |output, cwd| json!({ "hook_event_name": "PostToolUse", "session_id": "s", "cwd": cwd, "tool_name": "Bash", "tool_input": { "command": "env" }, "tool_result": output }),
        output: |text| json!({ "result_type": "success", "text_result_for_llm": text }),
        // The client takes no other spelling than this.
        shows: |output, note| {
            json!({ "modifiedResult": { "resultType": "success", "textResultForLlm": output["text_result_for_llm"] },
                    "additionalContext": note })
        },
        silence: "",
    },
    Given {
        host: "copilot-sdk",
        event: "onPostToolUse",
        tell: |output, cwd| {
            json!({ "input": { "workingDirectory": cwd, "toolName": "bash", "toolArgs": { "command": "env" },
                    "toolResult": output }, "invocation": { "sessionId": "s" } })
        },
        output: |text| json!({ "textResultForLlm": text, "resultType": "success", "toolTelemetry": { "metrics": { "ms": 1.5 } } }),
        shows: plain_after,
        silence: PLAIN_ALLOW,
    },
    Given {
        host: "cursor",
        event: "postToolUse",
        tell: |output, cwd| cursor_after("MCP:env", output, cwd),
        output: mcp_output,
        shows: |output, note| json!({ "updated_mcp_tool_output": output, "additional_context": note }),
        silence: "",
    },
    Given {
        host: "gemini",
        event: "AfterTool",
        tell: |output, cwd| json!({ "hook_event_name": "AfterTool", "session_id": "s", "cwd": cwd, "tool_name": "run_shell_command", "tool_input": { "command": "env" }, "tool_response": output }),
        output: |text| json!({ "llmContent": [{ "text": text }], "returnDisplay": "" }),
        shows: |output, note| {
            let text = output["llmContent"][0]["text"].as_str().unwrap();
            json!({ "decision": "deny", "reason": format!("{text}\n{note}") })
        },
        silence: "",
    },
    Given {
        host: "generic",
        event: "after",
        tell: |output, cwd| json!({ "session": "s", "cwd": cwd, "tool": "env", "input": {}, "output": output }),
        output: |text| json!([null, 18_446_744_073_709_551_615_u64, { "a": { "b": [text] } }]),
        shows: plain_after,
        silence: PLAIN_ALLOW,
    },
    Given {
        host: "opencode",
        event: "tool.execute.after",
        tell: |output, cwd| json!({ "directory": cwd, "input": { "tool": "bash", "sessionID": "s", "args": { "command": "env" } }, "output": output }),
        output: |text| json!({ "title": "env", "output": text, "metadata": { "exit": 0 } }),
        shows: plain_after,
        silence: PLAIN_ALLOW,
    },
    Given {
        host: "pi",
        event: "tool_result",
        tell: |output, cwd| {
            let mut event = json!({ "type": "tool_result", "toolName": "bash", "input": { "command": "env" }, "isError": true });
            event.as_object_mut().unwrap().extend(output.as_object().unwrap().clone());
            json!({ "event": event, "ctx": { "cwd": cwd, "sessionId": "s" } })
        },
        output: |text| json!({ "content": [{ "type": "text", "text": text }], "details": { "n": 1 }, "structuredContent": { "exit_code": 0 } }),
        shows: plain_after,
        silence: PLAIN_ALLOW,
    },
];

/// A key as a provider makes them. No one has it.
pub(crate) fn token() -> String {
    ["AKIA", "Q3ZX", "7WNB", "5KTM", "2RLD"].concat()
}

const NOTE: &str = "\u{26a0}\u{fe0f} 1 sensitive value(s) redacted from tool output.";

fn around(secret: &str) -> String {
    format!("first\tline\nkey=<{secret}>\n\u{1f642} last \"line\" \\n")
}

/// What was said, with the token back in the place of its mark.
fn restored(said: &str) -> Value {
    let (before, rest) = said.split_once("key=<").unwrap_or_else(|| panic!("{said}"));
    let (_, after) = rest.split_once('>').unwrap();
    serde_json::from_str(&format!("{before}key=<{}>{after}", token())).unwrap()
}

#[test]
fn no_secret_in_an_output_reaches_the_model() {
    let yard = Yard::new();
    // By default rules too, where the settings cannot be read.
    for settings in ["", "what is this"] {
        write(&yard.machine.user_settings(), settings);
        for given in GIVEN {
            let output = (given.output)(&around(&token()));
            let answer = yard.hook(given.host, given.event, &(given.tell)(&output, &yard.work));
            assert_eq!((answer.code(), answer.stderr.as_str()), (Some(0), ""), "{}: {answer:?}", given.host);
            assert!(!answer.stdout.contains(&token()), "{}: {answer:?}", given.host);
            let expected = (given.shows)(&output, NOTE);
            assert_eq!(restored(&answer.stdout), expected, "{}: {answer:?}", given.host);
            assert_eq!(yard.machine.last_record()["answer"], "redact", "{}", given.host);

            let clean = (given.output)(&around("nothing"));
            let answer = yard.hook(given.host, given.event, &(given.tell)(&clean, &yard.work));
            assert_eq!(
                (answer.code(), answer.stdout.trim_end()),
                (Some(0), given.silence),
                "{}: {answer:?}",
                given.host
            );
            assert_eq!(yard.machine.last_record()["answer"], "silence", "{}", given.host);
        }
    }
}

#[test]
fn a_host_that_cannot_change_an_output_gets_no_changed_output() {
    let yard = Yard::new();
    let text = json!(around(&token()));
    let qwen = json!({ "llmContent": text, "returnDisplay": "" });
    for (host, event, payload, said) in [
        ("qwen", "PostToolUse", snake_after(&qwen, &yard.work), ""),
        ("mpm", "PostToolUse", snake_after(&text, &yard.work), r#"{"action":"continue"}"#),
        ("cursor", "postToolUse", cursor_after("Shell", &text, &yard.work), ""),
        ("cursor", "afterShellExecution", json!({ "command": "env", "output": text }), ""),
    ] {
        let answer = yard.hook(host, event, &payload);
        assert_eq!((answer.code(), answer.stdout.trim_end()), (Some(0), said), "{host} {event}: {answer:?}");
    }
}

#[test]
fn an_output_in_an_unreadable_event_is_withheld() {
    let yard = Yard::new();
    for given in GIVEN {
        let payload = (given.tell)(&(given.output)(&around(&token())), &yard.work).to_string();
        let unreadable = payload.strip_suffix('}').unwrap();
        let hook = yard.machine.hook(given.host).args(["--event", given.event]).cwd(&yard.work);
        let answer = hook.run(unreadable);
        assert!(!answer.stdout.contains(&token()), "{answer:?}");
        let said: Value = serde_json::from_str(&answer.stdout).unwrap();
        let shown = shown(given.host, &said).unwrap_or_else(|| panic!("{}: {answer:?}", given.host));
        assert!(
            shown.contains("[toolgate withheld this output: the hook event is not JSON"),
            "{}: {answer:?}",
            given.host
        );
    }
}

/// What the model is shown in the place of an output.
pub(crate) fn shown(host: &str, said: &Value) -> Option<String> {
    let shown = match host {
        // Without any of these the client takes another output for none, and shows the tool's own.
        "claude-code" => Some(&said["hookSpecificOutput"]["updatedToolOutput"])
            .filter(|output| output["stdout"].is_string() && output["stderr"].is_string())
            .filter(|output| output["interrupted"].is_boolean() && output["isImage"].is_boolean()),
        "codex" => Some(&said["reason"]).filter(|_| said["decision"] == "block"),
        "copilot" => Some(&said["modifiedResult"]).filter(|result| result["textResultForLlm"].is_string()),
        "cursor" => Some(&said["updated_mcp_tool_output"]),
        "gemini" => Some(&said["reason"]).filter(|_| said["decision"] == "deny"),
        _ => Some(&said["output"]).filter(|_| said["decision"] == "allow"),
    };
    shown.filter(|shown| !shown.is_null()).map(Value::to_string)
}

#[test]
fn a_secret_in_a_deeply_nested_output_is_redacted() {
    let yard = Yard::new();
    let depth = 5_000;
    let (open, close) = ("[".repeat(depth), "]".repeat(depth));
    let output = format!(r#"{open}"key=<{}>",{{"a":1,"a":2}}{close}"#, token());
    let payload = format!(r#"{{"tool":"t","input":{{}},"output":{output}}}"#);
    let answer = yard.machine.hook("generic").args(["--event", "after"]).run(payload);
    let (before, after) = output.split_once(&token()).unwrap();
    assert!(answer.stdout.contains(before) && answer.stdout.contains(after), "{answer:?}");
    assert!(answer.stdout.contains(NOTE) && !answer.stdout.contains(&token()), "{answer:?}");
}
