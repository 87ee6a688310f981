//! The lines as a host starts them: through `sh` and `bash`, from any path, with a gate that works and one that
//! does not.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use super::machine::{HOSTS, Machine, script};

const SHELLS: &[&str] = &["sh", "bash"];

/// The commands of the events before and after a call.
fn commands(machine: &Machine, host: &str) -> (String, String) {
    let (before, after) = match host {
        "gemini" => ("BeforeTool", "AfterTool"),
        _ => ("PreToolUse", "PostToolUse"),
    };
    (command(machine, host, before), command(machine, host, after))
}

fn command(machine: &Machine, host: &str, event: &str) -> String {
    let settings: Value = serde_json::from_str(&machine.must(&["init", "--print", "--host", host])).unwrap();
    settings["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap().to_owned()
}

#[test]
fn a_prompt_passes_when_toolgate_fails() {
    for (host, event) in
        [("codex", "UserPromptSubmit"), ("gemini", "BeforeAgent"), ("qwen", "UserPromptSubmit")]
    {
        let machine = Machine::new();
        let prompt = command(&machine, host, event);
        let passes = |told: &str, what: &str| {
            let output = start("sh", &machine, &prompt, told);
            assert_eq!(output.status.code(), Some(0), "{host}, {what}");
            let said = String::from_utf8(output.stdout).unwrap();
            let stops = ["deny", "block", "\"continue\":false"].iter().any(|word| said.contains(word));
            assert!(!stops, "{host}, {what}: {said}");
        };
        passes("no JSON at all", "an event that cannot be read");
        passes(r#"{"prompt":7}"#, "a prompt that is no text");
        fs::create_dir_all(machine.path("home/.config/toolgate")).unwrap();
        fs::write(machine.path("home/.config/toolgate/toolgate.toml"), "broken = [").unwrap();
        passes(r#"{"session_id":"s","cwd":"/","prompt":"do it"}"#, "settings that cannot be read");
        for body in ["exit 1", "echo reason >&2; exit 2", "kill -KILL $$"] {
            script(machine.binary(), body);
            passes("event", body);
        }
        fs::remove_file(machine.binary()).unwrap();
        passes("event", "a program that is not there");
    }
}

fn start(shell: &str, machine: &Machine, command: &str, event: &str) -> Output {
    let mut child = Command::new(shell)
        .args(["-c", command])
        .current_dir(machine.path("project"))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // One that does not read has ended already.
    let _ = child.stdin.take().unwrap().write_all(event.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn the_shell_line_denies_when_toolgate_cannot_run() {
    for host in ["codex", "gemini", "qwen"] {
        let machine = Machine::new();
        let (gate, after) = commands(&machine, host);
        // What toolgate does, and what the host gets from the gate: exit code, stdout, stderr.
        let cases = [
            ("cat; echo said; exit 80", 0, "eventsaid\n", ""),
            ("echo json; echo reason >&2; exit 82", 2, "json\n", "reason\n"),
            // No answer of ours, whatever it ends with.
            ("exit 0", 2, "", "could not run"),
            ("exit 2", 2, "", "could not run"),
            ("exit 1", 2, "", "could not run"),
            ("exit 3", 2, "", "could not run"),
            ("kill -KILL $$", 2, "", "could not run"),
            ("kill -SEGV $$", 2, "", "could not run"),
        ];
        for shell in SHELLS {
            for (body, code, stdout, stderr) in cases {
                script(machine.binary(), body);
                let output = start(shell, &machine, &gate, "event");
                let said = String::from_utf8(output.stderr).unwrap();
                assert_eq!(output.status.code(), Some(code), "{host}, {shell}, {body}: {said}");
                assert_eq!(String::from_utf8(output.stdout).unwrap(), stdout, "{host}, {shell}, {body}");
                assert!(
                    said.contains(stderr) && said.is_empty() == stderr.is_empty(),
                    "{host}, {shell}: {said}"
                );
                let heard = start(shell, &machine, &after, "event");
                // Qwen Code shows the output whatever the hook says.
                let withheld = if host == "qwen" { 0 } else { code };
                assert_eq!(heard.status.code(), Some(withheld), "{host}, {shell}, {body}");
                let said = String::from_utf8(heard.stderr).unwrap();
                if host != "qwen" {
                    assert!(
                        said.contains(stderr) && said.is_empty() == stderr.is_empty(),
                        "{host}, {shell}, {body}: {said}"
                    );
                }
            }
            // As an installation leaves it that was cut short, or a machine that lost its power: empty, all zeros, a part of it, nothing
            // but its head; some other text; not to be run; not there.
            let us = fs::read(env!("CARGO_BIN_EXE_toolgate")).unwrap();
            for spoil in ["empty", "zeros", "part", "head", "text", "closed", "missing"] {
                let put = |bytes: &[u8]| {
                    script(machine.binary(), "");
                    fs::write(machine.binary(), bytes).unwrap();
                };
                match spoil {
                    "empty" => put(b""),
                    "zeros" => put(&vec![0; 100_000]),
                    "part" => put(us.split_at(1_000_000).0),
                    "head" => put(us.split_at(64).0),
                    "text" => put(b"a text\n"),
                    "closed" => {
                        script(machine.binary(), "exit 0");
                        fs::set_permissions(machine.binary(), fs::Permissions::from_mode(0o644)).unwrap();
                    }
                    _ => fs::remove_file(machine.binary()).unwrap(),
                }
                let output = start(shell, &machine, &gate, "event");
                let said = String::from_utf8(output.stderr).unwrap();
                assert_eq!(output.status.code(), Some(2), "{host}, {shell}, {spoil}: {said}");
                assert!(
                    said.contains("could not run, so this call is denied"),
                    "{host}, {shell}, {spoil}: {said}"
                );
                let heard = start(shell, &machine, &after, "event");
                let said = String::from_utf8(heard.stderr).unwrap();
                let withheld = "could not run, so what the tool gave back is not shown";
                assert_eq!(said.contains(withheld), host != "qwen", "{host}, {shell}: {said}");
            }
            script(machine.binary(), "exit 0");
        }
    }
}

#[test]
fn odd_paths_of_the_binary_survive_the_shell_line() {
    for place in ["b in/toolgate", "it's \"here\"/toolgate", "a$HOME;b`c`/toolgate", "ünï*?[x]/toolgate"] {
        let machine = Machine::with_binary(place);
        for host in ["codex", "gemini", "qwen"] {
            let (gate, _) = commands(&machine, host);
            let (event, tool) =
                if host == "gemini" { ("BeforeTool", "write_file") } else { ("PreToolUse", "write_file") };
            let event = json!({
                "hook_event_name": event,
                "cwd": machine.path("project"),
                "tool_name": tool,
                "tool_input": { "file_path": "/toolgate-canary/x", "content": "x", "command": "echo > /toolgate-canary/x" },
            });
            for shell in SHELLS {
                let output = start(shell, &machine, &gate, &event.to_string());
                // Gemini reads what is printed; a code would show it as a hook that failed.
                let (said, code) = match host {
                    "gemini" => (output.stdout, 0),
                    _ => (output.stderr, 2),
                };
                let said = String::from_utf8(said).unwrap();
                assert_eq!(output.status.code(), Some(code), "{place}, {host}, {shell}: {said}");
                assert!(
                    !said.contains("could not run") && !said.is_empty(),
                    "{place}, {host}, {shell}: {said}"
                );
            }
        }
        for (host, _, _) in HOSTS {
            machine.must(&["init", "--yes", "--host", host]);
        }
        let said = machine.must(&["doctor"]);
        assert_eq!(said.matches("\nactive: ").count(), HOSTS.len(), "{place}: {said}");
    }
}

/// What a host's environment may take away. Whatever is left, the call is judged and recorded, or it is denied with a word on why.
const LIMITS: &[&str] = &[
    "ulimit -v 4000",
    "ulimit -v 20000",
    "ulimit -v 60000",
    "ulimit -f 0",
    "ulimit -n 3",
    "ulimit -n 4",
    "ulimit -n 5",
    "ulimit -s 16",
    "ulimit -s 64",
    "ulimit -t 1",
    "ulimit -c 0",
    "exec <&-",
    "exec >&-",
    "exec </dev/full",
    "exec >/dev/full",
    "umask 777",
];

#[test]
fn a_line_under_any_limit_judges_the_call_or_denies_it() {
    for host in ["codex", "gemini", "qwen"] {
        let machine = Machine::new();
        let (gate, _) = commands(&machine, host);
        let event = json!({
            "hook_event_name": if host == "gemini" { "BeforeTool" } else { "PreToolUse" },
            "session_id": "s",
            "cwd": machine.path("project"),
            "tool_name": if host == "codex" { "Bash" } else { "run_shell_command" },
            "tool_input": { "command": "ls" },
        });
        let ledger = machine.path("home/.local/state/toolgate/ledger.jsonl");
        let recorded = || fs::read_to_string(&ledger).unwrap_or_default().lines().count();
        let plain = start("sh", &machine, &gate, &event.to_string());
        assert_eq!((plain.status.code(), recorded()), (Some(0), 1), "{host}: {plain:?}");
        for limit in LIMITS {
            let before = recorded();
            let output = start("sh", &machine, &format!("{limit}\n{gate}"), &event.to_string());
            let (told, said) = (String::from_utf8_lossy(&output.stderr), output.stdout.len());
            let judged = output.status.code() == Some(0) && said == 0 && recorded() == before + 1;
            // With three descriptors the shell has none left to say it on; what it says then is enough to block.
            let is_told = told.contains("denied") || (*limit == "ulimit -n 3" && !told.trim().is_empty());
            let in_words =
                host == "gemini" && String::from_utf8_lossy(&output.stdout).contains(r#""decision":"deny""#);
            let denied = (output.status.code() == Some(2) && is_told) || in_words;
            assert!(judged || denied, "{host}, {limit}: {output:?}, {} records", recorded() - before);
        }
    }
}
