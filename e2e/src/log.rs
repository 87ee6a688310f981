//! Rows about the log: what the client says of its session is what the gate has recorded of it.

use std::fs;

use toolgate_rehearsal::clients::Client;
use toolgate_rehearsal::model::Seen;
use toolgate_rehearsal::run::Ran;
use toolgate_rehearsal::stage::Stage;

use crate::gate::Gate;
use crate::rows::{Truth, broken};

/// What every one of the calls is said with.
const COMPLETE: &str = "complete: every one of ";
/// So many calls are made in the row.
const CALLS: u64 = 4;

/// Whether the client writes down what its agent does, in a form that toolgate reads.
pub(crate) fn keeps_transcript(host: &str) -> bool {
    ["claude-code", "codex", "copilot", "gemini", "opencode", "pi", "qwen"].contains(&host)
}

/// Every call of the transcript is in the log: those that ran, and the one that was denied.
pub(crate) fn judge(client: &dyn Client, stage: &Stage, gate: &Gate<'_>, seen: &Seen, ran: &Ran) -> Truth {
    let mut words = vec!["reconcile".to_owned(), "--host".to_owned(), client.host().to_owned()];
    match client.exported(stage) {
        Ok(Some(text)) => {
            let file = stage.dir().join("export.json");
            if let Err(error) = fs::write(&file, text) {
                return broken(&format!("the export: {error}"), seen, ran);
            }
            words.push(file.to_string_lossy().into_owned());
        }
        Ok(None) => {}
        Err(error) => return broken(&format!("the client exports nothing: {error}"), seen, ran),
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let asked = match gate.ask(&words) {
        Ok(asked) => asked,
        Err(error) => return broken(&error, seen, ran),
    };
    let told = asked
        .output
        .lines()
        .find_map(|line| line.strip_prefix(COMPLETE)?.split(' ').next()?.parse::<u64>().ok());
    match (asked.code, told) {
        (Some(0), Some(count)) if count >= CALLS => Truth::Complete,
        // One that has no record at all has nothing to compare with.
        (Some(1), None) => Truth::Open,
        _ => broken(&format!("reconcile: {}", asked.output.trim()), seen, ran),
    }
}
