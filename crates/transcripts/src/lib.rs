//! The tool calls in the transcripts that agents keep.
//!
//! **Promise.** Every tool call that a transcript names comes out once, in the order of the file, with the name and the input that the client
//! would tell a hook. A line that is not understood is counted, never passed over in silence. A file is read line by line, so memory does not
//! grow with it.
//!
//! **Against whom.** Nobody: a transcript is the client's own word, and whoever runs as the same user can rewrite it. A call that is missing
//! from a log and stands in a transcript is a finding; a full match is not proof.
//!
//! Clients do not document these files. Each reader follows what a client at its pinned version was seen to write, in a file of its own.
//!
//! ```
//! use toolgate_transcripts::{Client, read};
//!
//! let line = r#"{"type":"assistant","sessionId":"s1","cwd":"/work","timestamp":"2026-11-18T05:52:23Z","message":
//!     {"content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]}}"#.replace('\n', "");
//! let mut calls = Vec::new();
//! let unread = read(Client::ClaudeCode, line.as_bytes(), &mut |call| calls.push(call))?;
//! assert_eq!((calls[0].tool.as_str(), calls[0].input["command"].as_str(), unread), ("Bash", Some("ls"), 0));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Reading order: [`Client`] → [`find`] → [`open`] → [`read`] → [`PastCall`].

mod claude_code;
mod codex;
mod copilot;
mod gemini;
mod lines;
mod opencode;
mod pi;
mod places;
mod qwen;

use std::io::{self, BufRead};

use serde_json::Value;

pub use places::{Found, find, open, unexported};

/// A client whose transcripts can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI, its compressed files included.
    Codex,
    /// Copilot CLI.
    Copilot,
    /// Gemini CLI.
    Gemini,
    /// OpenCode, through what `opencode export` prints.
    OpenCode,
    /// pi.
    Pi,
    /// Qwen Code.
    Qwen,
}

impl Client {
    /// All of them.
    pub const ALL: [Client; 7] = [
        Client::ClaudeCode,
        Client::Codex,
        Client::Copilot,
        Client::Gemini,
        Client::OpenCode,
        Client::Pi,
        Client::Qwen,
    ];

    /// The name of the host.
    pub fn host(self) -> &'static str {
        match self {
            Client::ClaudeCode => "claude-code",
            Client::Codex => "codex",
            Client::Copilot => "copilot",
            Client::Gemini => "gemini",
            Client::OpenCode => "opencode",
            Client::Pi => "pi",
            Client::Qwen => "qwen",
        }
    }

    /// The client of this host.
    pub fn of_host(host: &str) -> Option<Client> {
        Client::ALL.into_iter().find(|client| client.host() == host)
    }
}

/// A tool call that an agent has made.
#[derive(Debug, Clone, PartialEq)]
pub struct PastCall {
    /// The session, by the client's own name for it; empty where the transcript has none.
    pub session: String,
    /// The call, by the client's own name for it: the same that its hooks are told.
    pub id: String,
    /// The tool, as a hook is told of it.
    pub tool: String,
    /// Its input, as a hook is told of it.
    pub input: Value,
    /// The directory in which it was made, where the transcript says so.
    pub directory: Option<String>,
    /// When, in the transcript's words: RFC 3339 in UTC.
    pub time: Option<String>,
}

/// Reads the calls of one transcript, each once. Returns how many lines, or parts of one, were not understood.
pub fn read(client: Client, text: impl BufRead, each: &mut dyn FnMut(PastCall)) -> io::Result<usize> {
    let mut seen = std::collections::BTreeSet::new();
    let mut once = |call: PastCall| {
        // Resumed sessions, forks and compaction repeat lines.
        if call.id.is_empty() || seen.insert(call.id.clone()) {
            each(call);
        }
    };
    match client {
        Client::ClaudeCode => lines::read(text, &mut claude_code::Reader, &mut once),
        Client::Codex => lines::read(text, &mut codex::Reader::default(), &mut once),
        Client::Copilot => lines::read(text, &mut copilot::Reader::default(), &mut once),
        Client::Gemini => lines::read(text, &mut gemini::Reader::default(), &mut once),
        Client::OpenCode => opencode::read(text, &mut once),
        Client::Pi => lines::read(text, &mut pi::Reader::default(), &mut once),
        Client::Qwen => lines::read(text, &mut qwen::Reader, &mut once),
    }
}
