//! Records as lines, for people and for tools that read older logs.
//!
//! Against whom: a model that names a file `x\n[2026-01-10 …] [PreToolUse] …`, or one with escape codes in it.
//! Nothing that a terminal or a line-wise reader would act on gets into a line: control characters and those
//! that turn the writing direction are written as escapes.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use toolgate_model::{Decision, FindingKind, shorten};

use crate::Record;
use crate::record::RecordedConnection;

/// A denial as `ib` logs it; `None` for what it does not log: its readers take every line for an attempt of an agent.
///
/// `[2026-01-10 15:05:06] [PreToolUse] Permission denied: Read (file_path: /etc/passwd)`
pub fn ib(record: &Record) -> Option<String> {
    if !record.is_denied() || record.canary {
        return None;
    }
    let reason = record.findings.first().and_then(|finding| finding.kind.known());
    let form = match reason {
        Some(FindingKind::MainCheckout) => IbForm::MainRepo,
        Some(FindingKind::OtherAgent) => IbForm::OtherAgent,
        Some(FindingKind::OtherAgentEntered) => IbForm::OtherWorktree,
        _ => IbForm::Denied,
    };
    let (event, args) = match form {
        IbForm::Denied => (record.event.as_str(), record.args.clone()),
        IbForm::MainRepo | IbForm::OtherAgent | IbForm::OtherWorktree => {
            (CHECK_PATH, vec![("path".to_owned(), path(record).to_owned())])
        }
    };
    let line = IbLine {
        time: record.time.get(..19).unwrap_or(&record.time).replace('T', " "),
        event: event.to_owned(),
        tool: record.tool.clone(),
        form,
        newer: false,
        args,
    };
    Some(line.to_string())
}

/// A line as the `mpm` file guard logs it.
pub fn mpm(record: &Record) -> String {
    let tool = plain(&record.tool);
    let path = plain(path(record));
    let finding = record.findings.first();
    let message = plain(finding.map_or("", |finding| finding.message.as_str()));
    if record.canary {
        return format!("INFO Tried the gate with {tool} operation: {path}");
    }
    let Some(decision) = record.decision.known() else {
        return format!("INFO Decided {} on {tool} operation: {path}", plain(record.decision.as_str()));
    };
    match (decision, finding.and_then(|finding| finding.kind.known())) {
        (Decision::Allow | Decision::Contain, _) => format!("INFO Allowed {tool} operation: {path}"),
        (Decision::Ask, _) => format!("INFO Asked about {tool} operation: {message}"),
        (
            Decision::Deny,
            Some(
                FindingKind::Outside
                | FindingKind::MainCheckout
                | FindingKind::OtherAgent
                | FindingKind::OtherAgentEntered,
            ),
        ) => {
            format!("WARNING Security: Blocked {tool} operation outside working directory: {path}")
        }
        (Decision::Deny, Some(FindingKind::Traversal)) => {
            format!(
                "WARNING Security: Blocked {tool} operation: Path traversal attempts are not allowed: {path}"
            )
        }
        (Decision::Deny, Some(FindingKind::InvalidPath)) => {
            format!("ERROR Error validating file path: {path}")
        }
        (Decision::Deny, _) => format!("WARNING Security: Blocked {tool} operation: {message}"),
    }
}

/// One line for a person. It shows what a later version has added, too.
///
/// `2026-01-10 15:05:06 deny Read file_path=/etc/passwd: writes outside … [outside-workspace]`
pub fn text(record: &Record) -> String {
    let time = record.time.get(..19).unwrap_or(&record.time).replace('T', " ");
    let mut line = format!("{} {:<5}", plain(&time), plain(record.decision.as_str()));
    if let Some(would) = &record.would {
        let _ = write!(line, " (only observed, would be {})", plain(would.as_str()));
    }
    if record.canary {
        line.push_str(" (canary)");
    }
    let subject = if record.tool.is_empty() { &record.event } else { &record.tool };
    for (name, value) in [("", subject), ("agent=", &record.agent)] {
        if !value.is_empty() {
            line.push(' ');
            line.push_str(name);
            line.push_str(&plain(value));
        }
    }
    for (name, value) in &record.args {
        let _ = write!(line, " {}={}", plain(name), plain(value));
    }
    for (name, value) in record.unknown.iter() {
        let value = shorten(&value.to_string(), MAX_UNKNOWN);
        let _ = write!(line, " {}={}", plain(name), plain(&value));
    }
    if let Some(approval) = &record.approval {
        let how = if approval.how == "terminal" { "terminal, weak" } else { &approval.how };
        let (by, code) = (plain(&approval.by), plain(&approval.code));
        let _ = write!(line, ": approved by {by} ({}, code {code})", plain(how));
    }
    if let Some(connection) = &record.connection {
        let RecordedConnection { host, port, address, sent, received, refused, .. } = connection;
        let _ = write!(line, ": connection to {}:{port}", plain(host));
        if !address.is_empty() && address != host {
            let _ = write!(line, " ({})", plain(address));
        }
        if refused.is_empty() {
            let _ = write!(line, ", {sent} bytes sent, {received} received");
        } else {
            let _ = write!(line, ", refused: {}", plain(refused));
        }
    }
    if let Some(finding) = record.findings.first() {
        line.push_str(": ");
        line.push_str(&plain(&finding.message));
        if record.findings.len() > 1 {
            let _ = write!(line, " (and {} more)", record.findings.len() - 1);
        }
    } else if let Some(contained) = &record.contained {
        let _ = write!(
            line,
            ": contained, level {}, network {}",
            plain(&contained.level),
            plain(&contained.network)
        );
        if let Some(denied) = contained.denied.first() {
            let _ = write!(line, ": {}", plain(denied));
        }
        if contained.denied.len() > 1 {
            let _ = write!(line, " (and {} more)", contained.denied.len() - 1);
        }
    } else if let Some(unproved) = record.unproved.first() {
        let _ = write!(line, ": not proved: {} ({})", plain(&unproved.text), plain(&unproved.reason));
        if record.unproved.len() > 1 {
            let _ = write!(line, " (and {} more)", record.unproved.len() - 1);
        }
    }
    line
}

/// How many characters of a field are shown that this version does not know.
const MAX_UNKNOWN: usize = 120;

/// A line of an `ib` log, ours or an older one. Shown, it is the line that it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IbLine {
    /// As it is written in the line: with a space or a `T`, with or without a zone.
    pub time: String,
    /// The event, or the check that blocked.
    pub event: String,
    /// The tool.
    pub tool: String,
    /// Which sentence it is.
    pub form: IbForm,
    /// A sentence about isolation begins with `Path violation:`, as newer logs have it, not with `Blocked:`.
    pub newer: bool,
    /// What the call named, in its order; `path` alone in a sentence about isolation.
    pub args: Vec<(String, String)>,
}

/// The sentences of an `ib` log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IbForm {
    /// `Permission denied: …`
    Denied,
    /// `Blocked: … tried to access main repo: …`
    MainRepo,
    /// `Blocked: … tried to access other agent's data: …`
    OtherAgent,
    /// `Blocked: … cd command tried to enter other agent's worktree: …`
    OtherWorktree,
}

const CHECK_PATH: &str = "hook-check-path";
const DENIED: &str = "Permission denied: ";
const BLOCKED: &str = "Blocked: ";
const VIOLATION: &str = "Path violation: ";
const MAIN_REPO: &str = " tried to access main repo: ";
const OTHER_AGENT: &str = " tried to access other agent's data: ";
const OTHER_WORKTREE: &str = " cd command tried to enter other agent's worktree: ";

impl fmt::Display for IbLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = plain(&self.tool);
        write!(f, "[{}] [{}] ", plain(&self.time), plain(&self.event))?;
        let isolation = match self.form {
            IbForm::Denied => {
                write!(f, "{DENIED}{tool}")?;
                for (index, (name, value)) in self.args.iter().enumerate() {
                    let before = if index == 0 { " (" } else { ", " };
                    write!(f, "{before}{}: {}", plain(name), plain(value))?;
                }
                return f.write_str(if self.args.is_empty() { "" } else { ")" });
            }
            IbForm::MainRepo => MAIN_REPO,
            IbForm::OtherAgent => OTHER_AGENT,
            IbForm::OtherWorktree => OTHER_WORKTREE,
        };
        let begins = if self.newer { VIOLATION } else { BLOCKED };
        let path = self.args.first().map_or("", |(_, path)| path.as_str());
        write!(f, "{begins}{tool}{isolation}{}", plain(path))
    }
}

/// Reads a line of an `ib` log; `None` where it is about something else.
///
/// Names and values are not quoted there. A value that holds `, name: ` reads as two, and still shows as it
/// was.
pub fn parse_ib_line(line: &str) -> Option<IbLine> {
    let (time, rest) = line.strip_prefix('[')?.split_once("] [")?;
    let (event, sentence) = rest.split_once("] ")?;
    let looks_like_time = time.len() >= 19 && time.starts_with(|first: char| first.is_ascii_digit());
    if !looks_like_time {
        return None;
    }
    let (form, tool, args) = if let Some(call) = sentence.strip_prefix(DENIED) {
        let (tool, args) = denied_call(call);
        (IbForm::Denied, tool, args)
    } else {
        let call = sentence.strip_prefix(BLOCKED).or_else(|| sentence.strip_prefix(VIOLATION))?;
        let forms = [
            (MAIN_REPO, IbForm::MainRepo),
            (OTHER_AGENT, IbForm::OtherAgent),
            (OTHER_WORKTREE, IbForm::OtherWorktree),
        ];
        let (form, (tool, path)) =
            forms.into_iter().find_map(|(words, form)| Some((form, call.split_once(words)?)))?;
        (form, tool, vec![("path".to_owned(), path.to_owned())])
    };
    let parsed = IbLine {
        time: time.to_owned(),
        event: event.to_owned(),
        tool: tool.to_owned(),
        form,
        newer: sentence.starts_with(VIOLATION),
        args,
    };
    // Only what can be shown again is understood.
    (parsed.to_string() == line).then_some(parsed)
}

/// `Read (file_path: /etc/passwd)`
fn denied_call(call: &str) -> (&str, Vec<(String, String)>) {
    let whole = (call, Vec::new());
    let Some((tool, list)) =
        call.split_once(" (").and_then(|(tool, list)| Some((tool, list.strip_suffix(')')?)))
    else {
        return whole;
    };
    let mut args: Vec<(String, String)> = Vec::new();
    for piece in list.split(", ") {
        match (piece.split_once(": "), args.last_mut()) {
            (Some((name, value)), _) if is_name(name) => args.push((name.to_owned(), value.to_owned())),
            // The value before held a comma.
            (_, Some((_, value))) => {
                value.push_str(", ");
                value.push_str(piece);
            }
            (_, None) => return whole,
        }
    }
    (tool, args)
}

/// What parameters are called.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

/// The path that the record is about.
fn path(record: &Record) -> &str {
    let found = record.findings.first().map(|finding| finding.path.as_str());
    let named = record.args.first().map(|(_, value)| value.as_str());
    found.filter(|path| !path.is_empty()).or(named).unwrap_or_default()
}

/// Whether a terminal acts on it, breaks the line at it or turns the line around.
pub fn unsafe_in_line(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text on one line, with nothing in it that a terminal acts on.
fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(unsafe_in_line) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if unsafe_in_line(c) {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{RecordedFinding, RecordedUnproved, UnknownFields};

    fn record(decision: Decision, kind: Option<FindingKind>, path: &str) -> Record {
        let finding = kind.map(|kind| RecordedFinding {
            policy: "some-policy".to_owned(),
            rule: String::new(),
            kind: kind.into(),
            decision: decision.into(),
            would: None,
            path: path.to_owned(),
            message: "not this way [some-policy]".to_owned(),
            unknown: UnknownFields::default(),
        });
        Record {
            tool: "Read".to_owned(),
            args: vec![("file_path".to_owned(), path.to_owned())],
            decision: decision.into(),
            findings: finding.into_iter().collect(),
            ..Record::blank("2026-01-10T15:05:06.789Z".to_owned(), "PreToolUse".to_owned())
        }
    }

    #[test]
    fn denials_are_rendered_in_the_format_of_ittybitty() {
        let denied = |kind| ib(&record(Decision::Deny, Some(kind), "/etc/passwd"));
        assert_eq!(
            denied(FindingKind::Outside).unwrap(),
            "[2026-01-10 15:05:06] [PreToolUse] Permission denied: Read (file_path: /etc/passwd)"
        );
        assert_eq!(
            denied(FindingKind::MainCheckout).unwrap(),
            "[2026-01-10 15:05:06] [hook-check-path] Blocked: Read tried to access main repo: /etc/passwd"
        );
        assert_eq!(
            denied(FindingKind::OtherAgent).unwrap(),
            "[2026-01-10 15:05:06] [hook-check-path] Blocked: Read tried to access other agent's data: /etc/passwd"
        );
        assert_eq!(ib(&record(Decision::Allow, None, "a")), None);
        let mut two = record(Decision::Deny, None, "a, b");
        two.args.push(("limit".to_owned(), "5".to_owned()));
        assert_eq!(
            ib(&two).unwrap(),
            "[2026-01-10 15:05:06] [PreToolUse] Permission denied: Read (file_path: a, b, limit: 5)"
        );
        two.args.clear();
        assert_eq!(ib(&two).unwrap(), "[2026-01-10 15:05:06] [PreToolUse] Permission denied: Read");
    }

    #[test]
    fn decisions_are_rendered_in_the_format_of_mpm() {
        let outside = "WARNING Security: Blocked Read operation outside working directory: /x";
        for (decision, kind, line) in [
            (Decision::Deny, Some(FindingKind::Outside), outside),
            (Decision::Deny, Some(FindingKind::MainCheckout), outside),
            (Decision::Deny, Some(FindingKind::OtherAgent), outside),
            (
                Decision::Deny,
                Some(FindingKind::Traversal),
                "WARNING Security: Blocked Read operation: Path traversal attempts are not allowed: /x",
            ),
            (Decision::Deny, Some(FindingKind::InvalidPath), "ERROR Error validating file path: /x"),
            (
                Decision::Deny,
                Some(FindingKind::Secret),
                "WARNING Security: Blocked Read operation: not this way [some-policy]",
            ),
            (
                Decision::Ask,
                Some(FindingKind::Outside),
                "INFO Asked about Read operation: not this way [some-policy]",
            ),
            (Decision::Allow, None, "INFO Allowed Read operation: /x"),
        ] {
            assert_eq!(mpm(&record(decision, kind, "/x")), line);
        }
    }

    #[test]
    fn decisions_are_rendered_as_text() {
        assert_eq!(
            text(&record(Decision::Deny, Some(FindingKind::Outside), "/x")),
            "2026-01-10 15:05:06 deny  Read file_path=/x: not this way [some-policy]"
        );
        assert_eq!(text(&record(Decision::Allow, None, "/x")), "2026-01-10 15:05:06 allow Read file_path=/x");
    }

    #[test]
    fn a_canary_is_marked_and_is_no_denial_in_older_logs() {
        let mut canary = record(Decision::Deny, Some(FindingKind::Outside), "/x");
        canary.canary = true;
        assert_eq!(
            text(&canary),
            "2026-01-10 15:05:06 deny  (canary) Read file_path=/x: not this way [some-policy]"
        );
        assert_eq!(ib(&canary), None);
        assert_eq!(mpm(&canary), "INFO Tried the gate with Read operation: /x");
    }

    #[test]
    fn unproved_effects_are_rendered_with_their_reason() {
        let mut make = record(Decision::Allow, None, "/x");
        for (reason, words) in [("opaque", "make\u{1b}[2J"), ("program", "frobnicate")] {
            make.unproved.push(RecordedUnproved {
                reason: reason.to_owned(),
                text: words.to_owned(),
                unknown: UnknownFields::default(),
            });
        }
        assert_eq!(
            text(&make),
            "2026-01-10 15:05:06 allow Read file_path=/x: not proved: make\\u{1b}[2J (opaque) (and 1 more)"
        );
    }

    #[test]
    fn words_and_fields_of_a_later_version_are_rendered() {
        let later: Record = serde_json::from_str(concat!(
            r#"{"seq":1,"v":3,"time":"2027-01-10T15:05:06.789Z","event":"PreToolUse","tool":"Bash","#,
            r#""decision":"con\ntain","findings":[{"policy":"p","kind":"leak","decision":"contain","#,
            r#""message":"in a box"}],"box":{"net":false,"\u001b":1},"prev":"p"}"#
        ))
        .unwrap();
        assert_eq!(
            text(&later),
            r#"2027-01-10 15:05:06 con\ntain Bash box={"\u001b":1,"net":false}: in a box"#
        );
        assert_eq!(mpm(&later), r"INFO Decided con\ntain on Bash operation: ");
        assert_eq!(ib(&later), None);
    }

    #[test]
    fn a_path_cannot_forge_a_line_or_drive_a_terminal() {
        let forged = record(
            Decision::Deny,
            Some(FindingKind::Outside),
            "x\n[2026-01-10 15:05:06] \u{1b}[2Jy\u{202e}z",
        );
        for line in [ib(&forged).unwrap(), mpm(&forged), text(&forged)] {
            assert!(!line.contains(['\n', '\u{1b}', '\u{202e}']), "{line}");
            assert!(line.contains("x\\n[2026-01-10 15:05:06] \\u{1b}[2Jy\\u{202e}z"), "{line}");
        }
    }

    #[test]
    fn a_line_of_an_older_log_is_parsed() {
        let line = "[2026-01-10T15:05:06-06:00] [PermissionRequest] Permission denied: Bash (command: curl https://example.com/api/data, description: Execute curl request to fetch data)";
        let parsed = parse_ib_line(line).unwrap();
        assert_eq!(parsed.time, "2026-01-10T15:05:06-06:00");
        assert_eq!((parsed.event.as_str(), parsed.tool.as_str()), ("PermissionRequest", "Bash"));
        assert_eq!(
            parsed.args,
            [
                ("command".to_owned(), "curl https://example.com/api/data".to_owned()),
                ("description".to_owned(), "Execute curl request to fetch data".to_owned()),
            ]
        );
        assert_eq!(parsed.to_string(), line);
        for other in [
            "",
            "[2026-01-10 15:05:06] Agent created (manager: X, prompt: Y)",
            "[2026-01-10 15:05:06] [x] something else",
            "[Read] [x] Permission denied: Read",
        ] {
            assert_eq!(parse_ib_line(other), None, "{other}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_rendered_line_is_parsed_and_printed_unchanged(
            path in any::<String>(),
            args in prop::collection::vec(("[a-z_]{1,8}", "[a-z,:() \n]{0,12}"), 0..4),
            kind in prop::sample::select(vec![FindingKind::Outside, FindingKind::MainCheckout, FindingKind::OtherAgent]),
        ) {
            let mut record = record(Decision::Deny, Some(kind), &path);
            record.args.extend(args);
            let line = ib(&record).unwrap();
            prop_assert_eq!(parse_ib_line(&line).map(|line| line.to_string()), Some(line));
        }

        #[test]
        fn any_parsed_line_is_printed_unchanged(line in "(\\[2026-01-10 15:05:06\\] \\[x\\] (Permission denied|Blocked): )?.{0,40}") {
            if let Some(parsed) = parse_ib_line(&line) {
                prop_assert_eq!(parsed.to_string(), line);
            }
        }
    }
}
