//! The end of the ledger, and lines that cannot be read.

use std::fs;

use toolgate_evidence::{Ledger, LedgerError, Record, entries, tail};

use crate::support::{all, bytes, current, draft, filled, soon};

#[test]
fn the_tail_is_the_end_of_the_whole() {
    let temp = tempfile::tempdir().unwrap();
    let ledger = Ledger::at(temp.path()).full_at(3000);
    let long = "x".repeat(3000);
    for index in 0..60 {
        let name = if index % 7 == 0 { &long } else { "short" };
        ledger.append(draft(name), soon()).unwrap();
    }
    let whole = all(temp.path());
    for count in [0, 1, 2, 3, 10, 59, 60, 61, 1000] {
        let end: Vec<Record> = tail(temp.path(), count).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(end, whole[whole.len().saturating_sub(count)..], "{count}");
    }
}

#[test]
fn the_tail_of_a_large_file_and_of_a_torn_one() {
    let temp = tempfile::tempdir().unwrap();
    filled(temp.path(), 300);
    let mut text = bytes(temp.path());
    assert!(text.len() > 64 * 1024, "more than one step backwards");
    text.extend(b"{\"seq\":301");
    fs::write(current(temp.path()), text).unwrap();
    for count in [1, 150, 299, 300] {
        let end: Vec<_> = tail(temp.path(), count).unwrap().map(|record| record.unwrap().seq).collect();
        assert!(end.into_iter().eq(301 - count as u64..=300), "{count}");
    }
}

#[test]
fn a_line_that_is_no_record_is_told_and_passed() {
    let temp = tempfile::tempdir().unwrap();
    filled(temp.path(), 3);
    let text = String::from_utf8(bytes(temp.path())).unwrap();
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines[1] = "x".repeat(3 * 1024 * 1024);
    fs::write(current(temp.path()), lines.join("\n") + "\n").unwrap();
    let read: Vec<_> = entries(temp.path()).unwrap().collect();
    assert_eq!(read.len(), 3);
    assert!(matches!(read[1], Err(LedgerError::Malformed { line: 2, .. })));
    assert_eq!(read[2].as_ref().unwrap().seq, 3);
}
