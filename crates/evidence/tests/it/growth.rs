//! Versions side by side: the first form is gone on with, and what a later version writes is read, shown and counted.

use std::fs;
use std::path::Path;

use toolgate_evidence::{
    Digest, Ledger, LedgerError, Record, Records, SessionCounts, Tally, Totals, VERSION, render, verify,
};
use toolgate_model::{Answer, Decision, FindingKind};
use toolgate_secrets::redact;

use crate::support::{all, assert_whole, bytes, current, draft, filled, soon};

/// As the first version wrote them.
const FIRST_FORM: &str = concat!(
    r#"{"seq":1,"time":"2026-11-16T21:38:29.048Z","host":"claude","event":"PreToolUse","session":"a-session","agent":"ripley","tool":"Write","root":"/home/user/project","args":{"file_path":"/home/user/project/src/a.rs"},"decision":"allow","granted":false,"counted":["call","write","in:/home/user/project/src"],"input":"sha256:a1923c2912a3fd66e3986909e8f8dc831303d0cb4a30be5ed8e028523848f6d5","micros":300,"prev":"0000000000000000000000000000000000000000000000000000000000000000"}"#,
    "\n",
    r#"{"seq":2,"time":"2026-11-16T21:38:29.052Z","host":"claude","event":"PreToolUse","session":"a-session","agent":"ripley","tool":"Read","root":"/home/user/project","args":{"file_path":"/etc/passwd"},"decision":"deny","granted":false,"findings":[{"policy":"outside-scope","kind":"outside","decision":"deny","path":"/etc/passwd","message":"no [outside-scope]"}],"counted":["call","read"],"prev":"680f631b212bc118fb0a794e53b9acb343fdf5dd30aec65cff9485e218b47406"}"#,
    "\n",
);

/// As nobody writes them yet, without the link.
const LATER: &str = concat!(
    r#"{"seq":SEQ,"v":3,"time":"2031-01-01T00:00:00.000Z","host":"claude","event":"PreToolUse","session":"a-session","agent":"ripley","tool":"Bash","args":{"command":"make"},"decision":"rehearse","granted":false,"#,
    r#""findings":[{"policy":"kernel","kind":"syscall","decision":"rehearse","message":"in a box","calls":[{"name":"ptrace","times":2}]}],"#,
    r#""unproved":[{"reason":"quantum","text":"make","since":{"a":[1,2,{"b":null}]}}],"answer":"rehearse","counted":["call","orbit","question"],"#,
    r#""sandbox":{"net":false,"writes":["/w",{"deep":true}]},"signature":"ed25519:00","prev":"PREV"}"#,
);

/// Appends a line to the growing file, linked to the one before, as a later version would.
fn append_later(dir: &Path) -> String {
    let text = String::from_utf8(bytes(dir)).unwrap();
    let seq = (text.lines().count() + 1).to_string();
    let last = Digest::of(text.lines().last().unwrap().as_bytes()).hex();
    let line = LATER.replace("SEQ", &seq).replace("PREV", &last);
    fs::write(current(dir), format!("{text}{line}\n")).unwrap();
    line
}

#[test]
fn a_ledger_of_the_first_version_is_continued_in_the_current_one() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    fs::write(current(dir), FIRST_FORM).unwrap();
    assert_whole(dir, 2);
    let ledger = Ledger::at(dir);
    let new = draft("new").call(redact("toolu_1")).answer(Answer::Silence).unproved("opaque", redact("make"));
    assert_eq!(ledger.append(new, soon()).unwrap(), 3);
    assert_whole(dir, 3);
    let text = String::from_utf8(bytes(dir)).unwrap();
    assert!(text.starts_with(FIRST_FORM), "what stood there is untouched");
    let records = all(dir);
    assert_eq!(records.iter().map(|record| record.version).collect::<Vec<_>>(), [1, 1, VERSION]);
    assert_eq!(records[1].findings[0].kind.known(), Some(FindingKind::Outside));
    // Written out again, each is the line that it was read from.
    let again: Vec<_> = records.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
    assert_eq!(again, text.lines().collect::<Vec<_>>());
}

#[test]
fn a_changed_line_of_the_first_version_is_found() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(current(temp.path()), FIRST_FORM.replacen("src/a.rs", "src/b.rs", 1)).unwrap();
    assert!(verify(temp.path()).unwrap().problem.is_some());
}

#[test]
fn records_of_a_later_version_are_read_verified_and_written_out_again() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    filled(dir, 2);
    let later = append_later(dir);
    assert_eq!(Ledger::at(dir).append(draft("2"), soon()).unwrap(), 4);
    let latest = append_later(dir);
    assert_whole(dir, 5);
    let read = |records: toolgate_evidence::RecordIter<'_>| -> Vec<Record> {
        records.collect::<Result<_, LedgerError>>().unwrap()
    };
    let ledger = Ledger::at(dir);
    let records = read(ledger.all().unwrap());
    assert_eq!(records.iter().map(|record| record.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(read(ledger.last(3).unwrap()), records[2..]);
    assert_eq!(read(ledger.range(3..=4).unwrap()), records[2..4]);
    assert_eq!(read(ledger.of_session("a-session").unwrap()), records);
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    for (record, line) in [(&records[2], &later), (&records[4], &latest)] {
        assert_eq!((record.version, record.decision.as_str()), (3, "rehearse"));
        assert_eq!((record.decision.known(), record.findings[0].kind.known()), (None, None));
        // Nothing is dropped, in whatever order the members of an unknown object come out.
        assert_eq!(value(&serde_json::to_string(record).unwrap()), value(line));
    }
}

#[test]
fn records_of_a_later_version_are_shown_and_counted() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    filled(dir, 2);
    append_later(dir);
    let ledger = Ledger::at(dir);
    let denied = draft("2").decision(Decision::Deny).finding(
        "p",
        FindingKind::Secret,
        Decision::Deny,
        redact(""),
        redact("no"),
    );
    ledger.append(denied, soon()).unwrap();
    let records = all(dir);
    assert_eq!(
        render::text(&records[2]),
        concat!(
            r#"2031-01-01 00:00:00 rehearse Bash agent=ripley command=make "#,
            r#"sandbox={"net":false,"writes":["/w",{"deep":true}]} signature="ed25519:00": in a box"#
        )
    );
    assert_eq!(render::mpm(&records[2]), "INFO Decided rehearse on Bash operation: make");
    assert_eq!(render::ib(&records[2]), None);
    let totals = Totals::over(&ledger).unwrap();
    assert_eq!(totals, Totals::of(&records));
    assert_eq!((totals.calls, totals.decisions["rehearse"], totals.decisions["deny"]), (4, 1, 1));
    assert_eq!((totals.kinds["syscall"], totals.kinds["secret"]), (1, 1));
    let tally = Tally::rebuild(&ledger, &redact("a-session"), soon()).unwrap();
    assert_eq!(tally.counts(), &SessionCounts::of(&records));
    assert_eq!((tally.counts().denied, tally.counts().asked), (1, 1), "what is neither counts as neither");
}
