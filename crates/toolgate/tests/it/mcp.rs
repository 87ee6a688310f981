//! `toolgate mcp` from outside, line by line, as a client speaks to it that keeps to nothing.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use crate::support::Machine;
use serde_json::{Value, json};

/// What has not been answered by then will not be.
const PATIENCE: Duration = Duration::from_mins(1);

const DECLARED: &str = r#"
agent = "agent-5"
base = "base"
from = "project"
inputs = ["in/", "link"]
outputs = ["out/", "result.txt"]
temp = true
quota = { bytes = 10_000, files = 4 }
"#;

/// A machine with a project and the file that declares a workspace.
fn machine(declared: &str) -> Machine {
    let machine = Machine::new();
    fs::create_dir_all(machine.path("project/in")).unwrap();
    fs::write(machine.path("project/in/a.txt"), "text\n").unwrap();
    fs::write(machine.path("project/in/umlaut"), "äöü").unwrap();
    fs::write(machine.path("project/in/bytes"), [0xff, 0, 0xfe]).unwrap();
    fs::write(machine.path("outside"), "outside").unwrap();
    fs::write(machine.path("workspace.toml"), declared).unwrap();
    machine
}

fn command(machine: &Machine) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolgate"));
    command.env_clear().env("HOME", machine.home()).current_dir(machine.path(""));
    command
}

fn workspace_of(machine: &Machine) -> PathBuf {
    machine.path("base/agent-5")
}

/// A client and its server.
struct Session {
    server: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    next: u64,
}

impl Session {
    fn start(machine: &Machine) -> Session {
        let mut server = command(machine)
            .args(["mcp", "--workspace", "workspace.toml", "--metrics", "metrics.prom"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (send, lines) = channel();
        let stdout = BufReader::new(server.stdout.take().unwrap());
        thread::spawn(move || {
            for line in stdout.lines() {
                // INVARIANT: everything on stdout is a message.
                let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
                assert_eq!(message["jsonrpc"], "2.0");
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        let stdin = server.stdin.take();
        Session { server, stdin, lines, next: 1 }
    }

    /// With the handshake done.
    fn open(machine: &Machine) -> Session {
        let mut session = Session::start(machine);
        let client = json!({ "name": "test", "version": "0" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        let answer = session.request("initialize", &params);
        assert_eq!(answer["result"]["serverInfo"]["name"], "toolgate", "{answer}");
        session.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        session
    }

    fn send(&mut self, line: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_ref()).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    fn receive(&self) -> Value {
        self.lines.recv_timeout(PATIENCE).unwrap()
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.next;
        self.next += 1;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }));
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// The text of the first block.
    fn read(&mut self, arguments: &Value) -> String {
        let result = self.call("read_input", arguments);
        assert_eq!(result["isError"], false, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn refused(&mut self, tool: &str, arguments: &Value, error: &str, saying: &str) {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{arguments}: {result}");
        assert_eq!(result["structuredContent"]["error"], error, "{arguments}");
        let message = result["structuredContent"]["message"].as_str().unwrap();
        assert!(message.contains(saying) && message.len() < 1000, "{arguments}: {message}");
        assert_eq!(result["content"][0]["text"], format!("{error}: {message}"));
    }

    /// Closes stdin and says how it ended, with stderr.
    fn close(mut self) -> Output {
        drop(self.stdin.take());
        let output = self.server.wait_with_output().unwrap();
        assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{output:?}");
        output
    }
}

#[test]
fn five_tools_are_offered_and_no_other_method_is_served() {
    let machine = machine(DECLARED);
    let mut session = Session::open(&machine);
    let listed = session.request("tools/list", &json!({}))["result"]["tools"].clone();
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["read_input", "write_output", "list_declared", "snapshot", "receipt"]);
    let hints: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            assert_eq!(tool["inputSchema"]["additionalProperties"], false);
            assert_eq!(tool["annotations"]["openWorldHint"], false);
            ["readOnlyHint", "destructiveHint"].map(|hint| tool["annotations"][hint].as_bool().unwrap())
        })
        .collect();
    assert_eq!(hints, [[true, false], [false, true], [true, false], [true, false], [false, false]]);
    for method in ["resources/read", "prompts/get", "sampling/createMessage", "toolgate/anything"] {
        assert!(
            session.request(method, &json!({ "uri": "file:///etc/passwd", "name": "x" }))["error"]
                .is_object()
        );
    }
    assert!(session.close().status.success());
}

#[test]
fn each_tool_does_what_it_says() {
    let machine = machine(DECLARED);
    let mut session = Session::open(&machine);
    assert_eq!(session.read(&json!({ "path": "in/a.txt" })), "text\n");
    assert_eq!(session.read(&json!({ "path": "in/a.txt", "encoding": "base64" })), "dGV4dAo=");
    assert_eq!(session.read(&json!({ "path": "in/bytes" })), "/wD+");
    assert_eq!(session.read(&json!({ "path": "./in//a.txt", "offset": 2, "limit": 1 })), "x");
    assert_eq!(session.read(&json!({ "path": "in/a.txt", "offset": u64::MAX })), "");
    // A character is not cut in two: where one byte is asked for, it comes as bytes.
    let part = session.call("read_input", &json!({ "path": "in/umlaut", "limit": 3 }));
    assert_eq!(part["content"][0]["text"], "ä");
    assert_eq!(part["_meta"]["toolgate/read"]["next"], 2);
    assert!(part["content"][1]["text"].as_str().unwrap().contains("go on with offset 2"), "{part}");
    let half = session.call("read_input", &json!({ "path": "in/umlaut", "limit": 1 }));
    assert_eq!(half["_meta"]["toolgate/read"]["encoding"], "base64");

    let written = session.call("write_output", &json!({ "path": "out/new/x", "content": "ä" }));
    assert_eq!(written["structuredContent"], json!({ "path": "out/new/x", "bytes": 2, "durable": false }));
    session.call("write_output", &json!({ "path": "temp/t", "content": "AA==", "encoding": "base64" }));
    assert_eq!(fs::read(workspace_of(&machine).join("temp/t")).unwrap(), [0]);
    assert_eq!(fs::read(workspace_of(&machine).join("out/new/x")).unwrap(), "ä".as_bytes());

    let listed = session.call("list_declared", &json!({}))["structuredContent"].clone();
    assert_eq!(
        listed["outputs"]["files"],
        json!([{ "path": "out/new/x", "size": 2 }, { "path": "temp/t", "size": 1 }])
    );
    assert_eq!(listed["quota"]["bytes"], json!({ "limit": 10_000, "used": 3, "left": 9997 }));

    let snapshot = session.call("snapshot", &json!({}))["structuredContent"].clone();
    assert!(snapshot["digest"].as_str().unwrap().starts_with("blake3:"));
    assert_eq!(snapshot["files"]["result.txt"]["state"], "missing", "{snapshot}");
    assert!(snapshot["files"].get("temp/t").is_none());
    let compat = session.call("snapshot", &json!({ "compat": true }))["structuredContent"].clone();
    assert!(compat["digest"].as_str().unwrap().starts_with("sha256:"));

    let receipt = session.call("receipt", &json!({}));
    assert_eq!(receipt["structuredContent"]["outputs"], snapshot["digest"]);
    let kept = machine.path("receipt.json");
    fs::write(&kept, receipt["_meta"]["toolgate/receipt"].to_string()).unwrap();
    let verified =
        command(&machine).args(["workspace", "verify", "receipt.json", "--base", "base"]).output().unwrap();
    assert!(verified.status.success(), "{verified:?}");
    assert!(session.close().status.success());
    let metrics = fs::read_to_string(machine.path("metrics.prom")).unwrap();
    assert!(metrics.contains("operations_total{agent=\"agent-5\",op=\"write\"} 2"), "{metrics}");
    assert_eq!(fs::metadata(machine.path("metrics.prom")).unwrap().permissions().mode() & 0o777, 0o644);
}

#[test]
fn each_refusal_names_its_error_with_advice_and_is_recorded() {
    let machine = machine(DECLARED);
    let mut session = Session::open(&machine);
    symlink(machine.path("outside"), workspace_of(&machine).join("link")).unwrap();
    symlink(machine.path(""), workspace_of(&machine).join("in/up")).unwrap();
    fs::create_dir_all(workspace_of(&machine).join("in/directory")).unwrap();
    let outside = machine.path("outside").display().to_string();
    let long = "x/".repeat(4000);
    let read = |path: &str| json!({ "path": path });
    let write = |path: &str| json!({ "path": path, "content": "" });
    let denials = [
        ("read_input", read("secret"), "ErrUndeclaredRead", "the declared inputs are `in/`, `link`"),
        ("read_input", read(""), "ErrUndeclaredRead", "the declared inputs are"),
        ("read_input", read("out/x"), "ErrUndeclaredRead", "the declared inputs are"),
        ("read_input", read(&outside), "ErrPathTraversal", "is absolute; give it relative"),
        ("read_input", read("in/../../../outside"), "ErrPathTraversal", "holds `..`"),
        ("read_input", read("in/a\0.txt"), "ErrPathTraversal", "null byte"),
        ("read_input", read("in\\a.txt"), "ErrPathTraversal", "divide names by `/`"),
        ("read_input", read("link"), "ErrPathTraversal", "symbolic link"),
        ("read_input", read("in/up/outside"), "ErrPathTraversal", "symbolic link"),
        ("read_input", read(&long), "ErrPathTraversal", "is too long; give a shorter one"),
        (
            "write_output",
            write("in/a.txt"),
            "ErrUndeclaredWrite",
            "the declared outputs are `out/`, `result.txt`, `temp/`",
        ),
        ("write_output", write("../agent-6/x"), "ErrPathTraversal", "holds `..`"),
        ("write_output", write("/etc/passwd"), "ErrPathTraversal", "is absolute"),
        ("write_output", write("temp"), "ErrUndeclaredWrite", "the declared outputs are"),
    ];
    for (tool, arguments, error, saying) in &denials {
        session.refused(tool, arguments, error, saying);
    }
    let large = json!({ "path": "out/x", "content": "x".repeat(10_001) });
    session.refused("write_output", &large, "ErrQuotaExceeded", "`list_declared` says how much is left");
    let huge = json!({ "path": "out/x", "content": "x".repeat(4 * 1024 * 1024 + 1) });
    session.refused("write_output", &huge, "ErrTooLarge", "divide it");
    for (arguments, error, saying) in [
        (json!({}), "ErrInvalidArguments", "missing field `path`"),
        (json!({ "path": 3 }), "ErrInvalidArguments", "invalid type"),
        (json!({ "path": "x", "offset": "x".repeat(100_000) }), "ErrInvalidArguments", "invalid type"),
        (json!({ "path": "in/a.txt", "file": "x" }), "ErrInvalidArguments", "unknown field `file`"),
        (json!({ "path": "in/a.txt", "limit": 1 << 30 }), "ErrInvalidArguments", "read a long file in parts"),
        (json!({ "path": "in/a.txt", "limit": 0 }), "ErrInvalidArguments", "at least 1"),
        (json!({ "path": "in/a.txt", "offset": -1 }), "ErrInvalidArguments", "invalid value"),
        (json!({ "path": "in/bytes", "encoding": "text" }), "ErrNotText", "encoding `base64`"),
        (json!({ "path": "in/missing" }), "ErrIO", "`list_declared` says which files are there"),
        (json!({ "path": "in/directory" }), "ErrNotAFile", "name a file"),
    ] {
        session.refused("read_input", &arguments, error, saying);
    }
    let odd = json!({ "path": "out/x", "content": "no base64!", "encoding": "base64" });
    session.refused("write_output", &odd, "ErrInvalidArguments", "is not base64");
    session.refused("receipt", &json!({ "path": "x" }), "ErrInvalidArguments", "unknown field `path`");
    assert_eq!(session.request("tools/call", &json!({ "name": "write_file" }))["error"]["code"], -32602);
    assert_eq!(fs::read(machine.path("outside")).unwrap(), b"outside");
    assert!(!workspace_of(&machine).join("out/x").exists());
    assert!(session.close().status.success());

    let tail =
        command(&machine).args(["ledger", "tail", "-n", "100", "--denied", "--json"]).output().unwrap();
    let recorded: Vec<Value> = String::from_utf8(tail.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(recorded.len(), denials.len() + 1, "each denial, and the quota's");
    for (entry, (tool, ..)) in recorded.iter().zip(&denials) {
        // As the command that does the same.
        let event = if *tool == "read_input" { "workspace-read" } else { "workspace-write" };
        assert_eq!((&entry["agent"], &entry["event"]), (&json!("agent-5"), &json!(event)), "{entry}");
        assert_eq!(entry["args"]["by"], "mcp", "{entry}");
    }
    assert!(command(&machine).args(["ledger", "verify"]).status().unwrap().success());
}

#[test]
fn a_receipt_that_cannot_be_made_is_refused_and_recorded() {
    let machine = machine(DECLARED);
    let mut session = Session::open(&machine);
    fs::create_dir_all(workspace_of(&machine).join("out")).unwrap();
    let link = workspace_of(&machine).join("out/link");
    symlink(machine.path("outside"), &link).unwrap();
    session.refused("receipt", &json!({}), "ErrPathTraversal", "symbolic link");
    fs::remove_file(link).unwrap();
    fs::write(workspace_of(&machine).join("in/a.txt"), "another").unwrap();
    session.refused("receipt", &json!({}), "ErrInputChanged", "have a person do that");
    let output = session.close();
    assert!(output.status.success());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("`link` is declared, and is not in"), "{told}");
    let tail = command(&machine).args(["ledger", "tail", "--denied", "--json"]).output().unwrap();
    let recorded: Value = serde_json::from_slice(&tail.stdout).unwrap();
    assert_eq!((&recorded["event"], &recorded["args"]["by"]), (&json!("workspace-receipt"), &json!("mcp")));
}

#[test]
fn the_server_still_answers_after_malformed_messages() {
    let machine = machine(DECLARED);
    let mut session = Session::start(&machine);
    for line in [&b"not json"[..], b"", b"\xff\xfe\x00", b"{", b"[1,2", b"\"text\"", b"[[[[[[[[["] {
        session.send(line);
    }
    session.send("[".repeat(100_000));
    // Before the handshake nothing else is answered with a result.
    session.send(r#"{"jsonrpc":"2.0","id":90,"method":"tools/call","params":{"name":"receipt"}}"#);
    assert!(session.receive()["error"].is_object());
    let client = json!({ "name": "test", "version": "0" });
    let params = json!({ "protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": client });
    assert!(session.request("initialize", &params)["result"].is_object(), "another version is offered");
    session.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    session.send(r#"{"jsonrpc":"2.0","method":"notifications/of-nobody","params":{}}"#);
    session.send(r#"{"jsonrpc":"2.0","id":91,"method":7}"#);
    assert_eq!(session.receive()["error"]["code"], -32600);
    session.send(r#"{"jsonrpc":"2.0","id":92,"method":"tools/call","params":{"name":["x"]}}"#);
    let answer = session.receive();
    assert_eq!((answer["id"].clone(), answer["error"].is_object()), (json!(92), true), "{answer}");
    assert_eq!(session.read(&json!({ "path": "in/a.txt" })), "text\n");
    assert!(session.close().status.success());
}

#[test]
fn a_message_of_200_mib_is_refused_and_not_kept_in_memory() {
    let machine = machine(DECLARED);
    let mut session = Session::open(&machine);
    let piece = "x".repeat(1024 * 1024);
    let head = r#"{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"write_output","arguments":{"path":"out/x","content":""#;
    let stdin = session.stdin.as_mut().unwrap();
    stdin.write_all(head.as_bytes()).unwrap();
    for _ in 0..200 {
        stdin.write_all(piece.as_bytes()).unwrap();
    }
    stdin.write_all(b"\"}}}\n").unwrap();
    let answer = session.receive();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(77), &json!(-32600)), "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("send less at once"));
    let status = fs::read_to_string(format!("/proc/{}/status", session.server.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < 80 * 1024, "the peak of its memory is {kib} KiB");
    assert_eq!(session.read(&json!({ "path": "in/a.txt" })), "text\n");
    assert!(session.close().status.success());
}

#[test]
fn a_whole_request_is_answered_when_stdin_closes_after_it() {
    let machine = machine(DECLARED);
    assert!(Session::start(&machine).close().status.success(), "before anything was said");
    let mut session = Session::open(&machine);
    let write = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"write_output","arguments":{"path":"out/x","content":"whole"}}}"#;
    session.send(write);
    session.stdin.as_mut().unwrap().write_all(write.replace("whole", "half").as_bytes()).unwrap();
    drop(session.stdin.take());
    assert_eq!(session.receive()["id"], 5, "what was asked whole is answered");
    assert!(session.server.wait().unwrap().success());
    assert_eq!(fs::read(workspace_of(&machine).join("out/x")).unwrap(), b"whole");
}

#[test]
fn a_changed_declaration_is_refused_and_the_same_one_reopens_its_workspace() {
    let machine = machine(DECLARED);
    assert!(Session::open(&machine).close().status.success());
    let refused = |declared: &str, saying: &str| {
        fs::write(machine.path("workspace.toml"), declared).unwrap();
        let output = Session::start(&machine).close();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(saying), "{stderr}");
    };
    refused(&DECLARED.replace("\"in/\"", "\"in/\", \"more\""), "a different declaration (inputs)");
    refused(&format!("{DECLARED}\ninput = []"), "unknown field `input`");
    refused(&DECLARED.replace("agent-5", "agent-6"), "which overlaps");
    fs::write(machine.path("workspace.toml"), DECLARED).unwrap();
    assert!(
        Session::open(&machine).close().status.success(),
        "the same declaration finds the same workspace"
    );
    let inside = workspace_of(&machine).join("result.txt");
    fs::write(&inside, "agent = \"agent-5\"\nbase = \"..\"\n").unwrap();
    let output = command(&machine).args(["mcp", "--workspace"]).arg(&inside).output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("keep it where the agent cannot write"));
}

/// The hook is started for every call, and must not carry what only the server needs.
#[test]
fn the_hook_has_no_async_runtime() {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--package", "toolgate", "--no-default-features"])
        .args(["--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    let names: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.contains(&"toolgate-policies"), "{tree}");
    for unwanted in [
        "tokio",
        "rmcp",
        "hyper",
        "futures",
        "toolgate-dashboard",
        "toolgate-mcp",
        "toolgate-workspace",
        "clap",
    ] {
        assert!(!names.contains(&unwanted), "{unwanted} is in the hook");
    }
}
