//! What is known to be true of each client, at the version that `clients/package.json` names. A cell that is found
//! otherwise fails, so that a change of a client's ways is noticed.

use crate::rows::{Row, Truth};

/// What is expected of a cell. What is not listed is the promise itself.
pub(crate) fn expected(host: &str, row: Row) -> Truth {
    let known = EXCEPTIONS.iter().find(|(of, at, _)| *of == host && *at == row);
    known.map_or_else(|| promise(row), |(_, _, truth)| truth.clone())
}

/// What we want everywhere.
fn promise(row: Row) -> Truth {
    match row {
        Row::Allowed => Truth::Runs,
        Row::Write | Row::Shell | Row::SubAgent | Row::Mcp | Row::Off | Row::OffManaged => Truth::Denied,
        Row::Rewrite => Truth::Rewritten,
        Row::Missing | Row::Crash | Row::Hang => Truth::Fails,
    }
}

/// Where a client is different.
const EXCEPTIONS: &[(&str, Row, Truth)] = &[
    ("claude-code", Row::Off, Truth::Open),
    ("codex", Row::Off, Truth::Open),
    ("copilot", Row::Off, Truth::Open),
    ("gemini", Row::Off, Truth::Open),
];
