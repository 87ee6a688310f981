//! Each reader against what its client wrote. The files in `real` come from the clients themselves, shortened.

#![cfg(test)]

use std::fs;
use std::path::Path;

use toolgate_transcripts::{Client, PastCall, find, open, read};

fn calls(client: Client, text: &str) -> (Vec<PastCall>, usize) {
    let mut calls = Vec::new();
    let unread = read(client, text.as_bytes(), &mut |call| calls.push(call)).unwrap();
    (calls, unread)
}

fn real(client: Client) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/real").join(client.host());
    let ending = if client == Client::OpenCode { "json" } else { "jsonl" };
    fs::read_to_string(file.with_extension(ending)).unwrap()
}

#[test]
fn every_call_of_a_real_transcript_comes_out_as_a_hook_would_be_told() {
    for client in Client::ALL {
        let (calls, unread) = calls(client, &real(client));
        assert_eq!(unread, 0, "{client:?}");
        assert!(!calls.is_empty(), "{client:?}");
        for call in &calls {
            assert!(!call.session.is_empty() && !call.id.is_empty() && !call.tool.is_empty(), "{call:?}");
            assert!(call.input.is_object(), "{call:?}");
            let time = call.time.as_deref().unwrap();
            assert!(time.starts_with("2026-11-18T") && time.ends_with('Z'), "{call:?}");
            // Gemini keeps it in another file.
            let directory = (client != Client::Gemini).then_some("/home/dev/worktrees/alpha");
            assert_eq!(call.directory.as_deref(), directory, "{call:?}");
        }
    }
}

#[test]
fn tools_and_inputs_are_those_of_the_client() {
    let named = |client: Client, tool: &str, parameter: &str| {
        let (calls, _) = calls(client, &real(client));
        let found = calls.iter().find(|call| call.tool == tool);
        let found = found.unwrap_or_else(|| panic!("{client:?} {tool}: {calls:?}"));
        assert!(found.input[parameter].is_string(), "{found:?}");
    };
    named(Client::ClaudeCode, "Write", "file_path");
    named(Client::Codex, "apply_patch", "command");
    named(Client::Codex, "exec_command", "cmd");
    named(Client::Gemini, "write_file", "file_path");
    named(Client::OpenCode, "write", "filePath");
    named(Client::OpenCode, "bash", "command");
    named(Client::Pi, "bash", "command");
    named(Client::Qwen, "write_file", "file_path");
    let (copilot, _) = calls(Client::Copilot, &real(Client::Copilot));
    assert!(
        copilot.iter().any(|call| matches!(call.tool.as_str(), "bash" | "create" | "view")),
        "{copilot:?}"
    );
}

#[test]
fn a_call_that_is_repeated_comes_once() {
    for client in Client::ALL {
        let text = real(client);
        assert_eq!(calls(client, &text.repeat(2)).0.len(), calls(client, &text).0.len(), "{client:?}");
    }
}

#[test]
fn a_line_of_another_form_is_counted() {
    let line = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","name":"Bash"}]}}"#;
    assert_eq!(calls(Client::ClaudeCode, line), (Vec::new(), 1));
    let line = r#"{"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{","call_id":"a"}}"#;
    assert_eq!(calls(Client::Codex, line), (Vec::new(), 1));
}

#[test]
fn an_export_that_is_cut_short_or_of_another_form_is_counted() {
    let whole = real(Client::OpenCode);
    let count = calls(Client::OpenCode, &whole).0.len();
    let (half, _) = whole.split_at(whole.len() / 2);
    assert_eq!(calls(Client::OpenCode, half), (Vec::new(), 1));
    let (found, unread) = calls(Client::OpenCode, &format!("{whole}{half}"));
    assert_eq!((found.len(), unread), (count, 1), "what comes before is read");
    assert_eq!(calls(Client::OpenCode, "Exporting session: latest\n").1, 1);
    let (_, unread) = calls(Client::OpenCode, &whole.replace("\"callID\"", "\"id_of_call\""));
    assert_eq!(unread, count, "a call without its id");
    let (found, unread) = calls(Client::OpenCode, &whole.replacen("\"completed\",", "\"pending\",", 1));
    assert_eq!((found.len(), unread), (count - 1, 0), "one that the model has not finished");
    let failed = whole.replace("\"completed\",", "\"error\",");
    assert_eq!(calls(Client::OpenCode, &failed).0.len(), count, "one that was denied has reached the hook");
}

#[test]
fn messages_that_gemini_writes_anew_hold_their_calls() {
    let line = r#"{"$set":{"messages":[{"timestamp":"2026-11-18T05:55:09Z","toolCalls":[{"id":"a","name":"read_file","args":{}}]}]}}"#;
    let (found, unread) = calls(Client::Gemini, line);
    assert_eq!((found.len(), unread), (1, 0));
}

/// The places in a home, a compressed file among them; a link is not followed.
#[test]
fn transcripts_are_found_where_clients_keep_them() {
    let home = tempfile::tempdir().unwrap();
    let put = |path: &str, bytes: &[u8]| {
        let file = home.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    };
    put(".claude/projects/-w/s1.jsonl", real(Client::ClaudeCode).as_bytes());
    put(".claude/projects/-w/s1/subagents/agent-1.jsonl", b"");
    put(".claude/projects/-w/notes.md", b"");
    let compressed = ruzstd::encoding::compress_to_vec(
        real(Client::Codex).as_bytes(),
        ruzstd::encoding::CompressionLevel::Uncompressed,
    );
    put(".codex/sessions/2026/11/18/rollout-1.jsonl.zst", &compressed);
    put(".gemini/tmp/alpha/chats/session-1.jsonl", real(Client::Gemini).as_bytes());
    put(".gemini/tmp/alpha/.project_root", b"/home/dev/worktrees/alpha\n");
    put(".gemini/tmp/alpha/logs.jsonl", b"");
    std::os::unix::fs::symlink(home.path().join(".claude"), home.path().join(".claude/projects/loop"))
        .unwrap();

    let names = |client: Client| {
        let (found, unread) = find(client, home.path());
        assert!(unread.is_empty());
        found
            .into_iter()
            .map(|found| (found.file.file_name().unwrap().to_owned(), found.directory))
            .collect::<Vec<_>>()
    };
    assert_eq!(names(Client::ClaudeCode).len(), 2);
    assert_eq!(
        names(Client::Gemini),
        [("session-1.jsonl".into(), Some("/home/dev/worktrees/alpha".to_owned()))]
    );
    assert!(names(Client::Pi).is_empty());

    let (found, _) = find(Client::Codex, home.path());
    let mut count = 0;
    let unread = read(Client::Codex, open(&found[0].file).unwrap(), &mut |_| count += 1).unwrap();
    assert_eq!((count, unread), (calls(Client::Codex, &real(Client::Codex)).0.len(), 0));
    put(".codex/sessions/2026/11/18/rollout-2.jsonl.zst", b"no such thing");
    assert!(open(&home.path().join(".codex/sessions/2026/11/18/rollout-2.jsonl.zst")).is_err());
}
