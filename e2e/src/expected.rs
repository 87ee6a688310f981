//! What is known to be true of each client, at the version that `clients/package.json` names. A cell that is found
//! otherwise fails, so that a change of a client's ways is noticed.

use crate::rows::{Row, Truth};

/// What is expected of a cell. What is not listed is the promise itself.
pub(crate) fn expected(host: &str, row: Row) -> Truth {
    let known = EXCEPTIONS.iter().find(|(of, at, _)| *of == host && *at == row);
    known.map_or_else(|| promise(row), |(_, _, truth)| truth.clone())
}

/// What is expected of a cell without a gate: what a promise speaks of happens, and so the gate is what keeps it.
pub(crate) fn expected_alone(host: &str, row: Row) -> Truth {
    if expected(host, row) == Truth::None {
        return Truth::None;
    }
    let known = ALONE.iter().find(|(of, at, _)| *of == host && *at == row);
    match (known, promise(row)) {
        (Some((_, _, truth)), _) => truth.clone(),
        (None, Truth::Runs) => Truth::Runs,
        (None, _) => Truth::Open,
    }
}

/// What we want everywhere.
pub(crate) fn promise(row: Row) -> Truth {
    match row {
        Row::Allowed => Truth::Runs,
        Row::Write | Row::Shell | Row::SubAgent | Row::Mcp | Row::Off | Row::OffManaged => Truth::Denied,
        Row::Coordinator | Row::Lockout => Truth::Denied,
        Row::AskLimit => Truth::Answered,
        Row::Told => Truth::Told,
        Row::Reconciled => Truth::Complete,
        Row::Closed | Row::Moved | Row::Asked => Truth::Denied,
        Row::Temporary | Row::Long | Row::Plan | Row::SavedOutput | Row::Isolated | Row::Added => Truth::Runs,
        Row::Resumed => Truth::Denied,
        Row::Contained => Truth::Contained,
        Row::Approved => Truth::Once,
        Row::Rewrite => Truth::Rewritten,
        Row::SecretOutput
        | Row::SecretRead
        | Row::SecretFailing
        | Row::PlainFailing
        | Row::McpError
        | Row::Scripted
        | Row::Email => Truth::Redacted,
        Row::Missing | Row::Empty | Row::Zeros | Row::Cut | Row::Forbidden | Row::Crash | Row::Hang => {
            Truth::Fails
        }
    }
}

/// Where a client is different.
const EXCEPTIONS: &[(&str, Row, Truth)] = &[
    // A setting of the repository switches the person's hooks off; the administrator's stay.
    ("claude-code", Row::Off, Truth::Open),
    ("codex", Row::Off, Truth::Open),
    ("copilot", Row::Off, Truth::Open),
    ("gemini", Row::Off, Truth::Open),
    ("qwen", Row::Off, Truth::Open),
    // There is nothing in the repository that could switch these off, and nothing for an administrator.
    ("opencode", Row::OffManaged, Truth::None),
    ("pi", Row::OffManaged, Truth::None),
    ("copilot-sdk", Row::OffManaged, Truth::None),
    // These run the call when their own time-out has passed. It is set to an hour, which nobody waits for here.
    ("codex", Row::Hang, Truth::Waits),
    ("copilot", Row::Hang, Truth::Waits),
    ("gemini", Row::Hang, Truth::Waits),
    ("qwen", Row::Hang, Truth::Waits),
    // It takes no changed input from a hook.
    ("qwen", Row::Rewrite, Truth::Hint),
    // So nothing can be sent into a sandbox there; what is not proved runs as without one, unless the settings say otherwise.
    ("qwen", Row::Contained, Truth::Open),
    ("pi", Row::SubAgent, Truth::None),
    // One process of ours answers for the whole session, wherever that goes.
    ("opencode", Row::Closed, Truth::Runs),
    ("opencode", Row::Moved, Truth::Runs),
    ("pi", Row::Closed, Truth::Runs),
    ("pi", Row::Moved, Truth::Runs),
    ("copilot-sdk", Row::Closed, Truth::Runs),
    ("copilot-sdk", Row::Moved, Truth::Runs),
    // It starts hooks at the top of the project, wherever the session is.
    ("copilot", Row::Closed, Truth::Runs),
    ("copilot", Row::Moved, Truth::Runs),
    // It hands to the application what is asked.
    ("copilot-sdk", Row::Asked, Truth::None),
    // What a tool of an MCP server gives back as an error is shown by these as it is, and raises no event that could change it.
    ("claude-code", Row::McpError, Truth::Open),
    ("codex", Row::McpError, Truth::Open),
    ("opencode", Row::McpError, Truth::Open),
    ("qwen", Row::McpError, Truth::Open),
    ("qwen", Row::PlainFailing, Truth::Denied),
    // It keeps a long output to itself, and tells its agent of no file.
    ("codex", Row::SavedOutput, Truth::None),
    // Their models call tools one by one.
    ("claude-code", Row::Scripted, Truth::None),
    ("copilot", Row::Scripted, Truth::None),
    ("copilot-sdk", Row::Scripted, Truth::None),
    ("gemini", Row::Scripted, Truth::None),
    ("opencode", Row::Scripted, Truth::None),
    ("pi", Row::Scripted, Truth::None),
    ("qwen", Row::Scripted, Truth::None),
    // These have none, or one whose name only the session knows; `hook.rs` of the tests has those.
    ("copilot", Row::Plan, Truth::None),
    ("copilot-sdk", Row::Plan, Truth::None),
    ("codex", Row::Plan, Truth::None),
    ("gemini", Row::Plan, Truth::None),
    ("pi", Row::Plan, Truth::None),
    // These give a helper no worktree.
    ("copilot", Row::Isolated, Truth::None),
    ("copilot-sdk", Row::Isolated, Truth::None),
    ("codex", Row::Isolated, Truth::None),
    ("gemini", Row::Isolated, Truth::None),
    ("opencode", Row::Isolated, Truth::None),
    ("pi", Row::Isolated, Truth::None),
    ("qwen", Row::Isolated, Truth::None),
    // Nothing is added to these when they are started.
    ("copilot-sdk", Row::Added, Truth::None),
    ("opencode", Row::Added, Truth::None),
    ("pi", Row::Added, Truth::None),
    // The hooks of these say where the project is, or stay with the session.
    ("claude-code", Row::Resumed, Truth::None),
    ("copilot", Row::Resumed, Truth::None),
    ("copilot-sdk", Row::Resumed, Truth::None),
    ("gemini", Row::Resumed, Truth::None),
    ("opencode", Row::Resumed, Truth::None),
    ("pi", Row::Resumed, Truth::None),
    ("qwen", Row::Resumed, Truth::None),
    // It keeps none that is known.
    ("copilot-sdk", Row::Reconciled, Truth::None),
    // It starts no command inside of another's words, with or without a gate.
    ("gemini", Row::Temporary, Truth::None),
    // These have no tool to ask their user with, or none where a prompt is all that they are started with.
    ("copilot", Row::AskLimit, Truth::None),
    ("codex", Row::AskLimit, Truth::None),
    ("gemini", Row::AskLimit, Truth::None),
    ("opencode", Row::AskLimit, Truth::None),
    ("pi", Row::AskLimit, Truth::None),
    ("qwen", Row::AskLimit, Truth::None),
    // A hook has no words for its user.
    ("copilot", Row::Told, Truth::Untold),
    // These show it on the screen of a session that has one, and the rehearsed one has none.
    ("codex", Row::Told, Truth::Untold),
    ("pi", Row::Told, Truth::Untold),
    // Beside a denial it has not been seen to show anything.
    ("qwen", Row::Told, Truth::Untold),
    // It takes no changed output either: what would show a secret is stopped, what would show an address is not.
    ("qwen", Row::SecretOutput, Truth::Denied),
    ("qwen", Row::SecretRead, Truth::Denied),
    ("qwen", Row::SecretFailing, Truth::Denied),
    ("qwen", Row::Email, Truth::Open),
];

/// Where a client alone does something else than what the gate is to keep from happening.
const ALONE: &[(&str, Row, Truth)] = &[
    // These take tokens of well-known makers out of what the model sees.
    ("copilot", Row::SecretOutput, Truth::Redacted),
    ("copilot", Row::SecretRead, Truth::Redacted),
    ("copilot", Row::SecretFailing, Truth::Redacted),
    ("copilot", Row::PlainFailing, Truth::Redacted),
    ("copilot", Row::McpError, Truth::Redacted),
    ("copilot-sdk", Row::SecretOutput, Truth::Redacted),
    ("copilot-sdk", Row::SecretRead, Truth::Redacted),
    ("copilot-sdk", Row::SecretFailing, Truth::Redacted),
    ("copilot-sdk", Row::PlainFailing, Truth::Redacted),
    ("copilot-sdk", Row::McpError, Truth::Redacted),
];

#[cfg(test)]
mod tests {
    use toolgate_rehearsal::clients::CLIENTS;

    use super::*;

    #[test]
    fn exceptions_name_known_clients_differ_from_the_promise_and_occur_once() {
        for (place, (host, row, truth)) in EXCEPTIONS.iter().enumerate() {
            assert!(CLIENTS.iter().any(|client| client.host() == *host), "{host}");
            assert_ne!(*truth, promise(*row), "{host} {row:?}");
            let again = EXCEPTIONS.iter().skip(place + 1).any(|(of, at, _)| of == host && at == row);
            assert!(!again, "{host} {row:?} twice");
        }
    }
}
