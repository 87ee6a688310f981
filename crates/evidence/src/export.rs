//! Records in the words of other programs: CSV, OCSF, OpenTelemetry.
//!
//! Promise: without [`Detail::WithText`] nothing of what a call was about leaves: no command, no argument, no path, no message. What
//! leaves is who called what tool, what was decided by which policy, and digests. Each event names the line that it was made from by
//! number and SHA-256, so that it can be found again in the ledger; the ledger is the evidence, these are views of it.

pub mod ocsf;
pub mod otlp;

use std::borrow::Cow;

use serde_json::Value;

pub use ocsf::ocsf;

use crate::Record;

/// How much leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Who, which tool, what was decided.
    Verdicts,
    /// And what the call was about.
    WithText,
}

/// The members of a record that say what a call was about.
const TEXTS: [&str; 2] = ["args", "unproved"];

/// A record as JSON: its line as it is, or the same without its texts.
pub fn jsonl<'l>(line: &'l [u8], record: &Record, detail: Detail) -> Cow<'l, str> {
    if detail == Detail::WithText {
        return String::from_utf8_lossy(line);
    }
    let mut value = serde_json::to_value(record).unwrap_or_default();
    if let Value::Object(members) = &mut value {
        // What a later version has added may be a text too.
        for name in TEXTS.into_iter().chain(record.unknown.iter().map(|(name, _)| name)) {
            members.remove(name);
        }
        for finding in members.get_mut("findings").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Value::Object(finding) = finding {
                finding.retain(|name, _| {
                    matches!(name.as_str(), "policy" | "rule" | "kind" | "decision" | "would")
                });
            }
        }
        if let Some(Value::Object(contained)) = members.get_mut("contained") {
            contained.retain(|name, _| matches!(name.as_str(), "level" | "network"));
        }
        // Directories that were written to are among them.
        if let Some(Value::Array(counted)) = members.get_mut("counted") {
            counted.retain(|word| !word.as_str().is_some_and(|word| word.contains(':')));
        }
        members.remove("root");
        members.remove("cwd");
    }
    Cow::Owned(value.to_string())
}

/// The names of the columns.
pub fn csv_header(detail: Detail) -> &'static str {
    match detail {
        Detail::Verdicts => {
            "seq,time,host,event,session,agent,tool,decision,answer,policy,rule,user,machine,call,input"
        }
        Detail::WithText => {
            "seq,time,host,event,session,agent,tool,decision,answer,policy,rule,user,machine,call,input,root,args,message"
        }
    }
}

/// A record as a line of CSV (RFC 4180). The first finding stands for all of them.
pub fn csv(record: &Record, detail: Detail) -> String {
    let finding = record.findings.first();
    let seq = record.seq.to_string();
    let mut cells = vec![
        seq.as_str(),
        &record.time,
        &record.host,
        &record.event,
        &record.session,
        &record.agent,
        &record.tool,
        record.decision.as_str(),
        record.answer.as_ref().map_or("", |answer| answer.as_str()),
        finding.map_or("", |finding| &finding.policy),
        finding.map_or("", |finding| &finding.rule),
        &record.user,
        &record.machine,
        &record.call,
        &record.input,
    ];
    let args: Vec<_> = record.args.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let args = args.join(" ");
    if detail == Detail::WithText {
        cells.extend([record.root.as_str(), &args, finding.map_or("", |finding| &finding.message)]);
    }
    cells.into_iter().map(cell).collect::<Vec<_>>().join(",")
}

/// Against whom: a model that names a file `=cmd()`, so that a table of numbers runs it. Such a cell begins with an apostrophe.
fn cell(text: &str) -> Cow<'_, str> {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text: Cow<'_, str> = if is_formula { format!("'{text}").into() } else { text.into() };
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text
    }
}

/// Milliseconds since 1970 of a record's time; 0 where it is none.
fn milliseconds(record: &Record) -> u64 {
    let time = humantime::parse_rfc3339(&record.time).ok();
    let since = time.and_then(|time| time.duration_since(std::time::SystemTime::UNIX_EPOCH).ok());
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn a_cell_is_quoted_and_never_a_formula() {
        assert_eq!(cell("plain"), "plain");
        assert_eq!(cell("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(cell("=HYPERLINK(1)"), "'=HYPERLINK(1)");
        assert_eq!(cell("a\nb"), "\"a\nb\"");
    }
}
