//! Parts of the ledger, lines that cannot be read, and a store that is not a file.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use toolgate_evidence::{
    Ending, Fault, Ledger, LedgerError, Part, Record, RecordIter, Records, StoredLine, StoredLines, Totals,
    position_of, verify, verify_chain,
};
use toolgate_secrets::redact;

use crate::support::{all, bytes, current, draft, filled, soon};

#[test]
fn the_last_records_are_the_end_of_all_records() {
    let temp = tempfile::tempdir().unwrap();
    let ledger = Ledger::at(temp.path()).full_at(3000);
    let long = "x".repeat(3000);
    for index in 0..60 {
        let name = if index % 7 == 0 { &long } else { "short" };
        ledger.append(draft(name), soon()).unwrap();
    }
    let whole = all(temp.path());
    for count in [0, 1, 2, 3, 10, 59, 60, 61, 1000] {
        let end: Vec<Record> =
            Ledger::at(temp.path()).last(count).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(end, whole[whole.len().saturating_sub(count)..], "{count}");
    }
}

#[test]
fn the_last_records_of_a_large_torn_file_are_read() {
    let temp = tempfile::tempdir().unwrap();
    filled(temp.path(), 300);
    let mut text = bytes(temp.path());
    assert!(text.len() > 64 * 1024, "more than one step backwards");
    text.extend(b"{\"seq\":301");
    fs::write(current(temp.path()), text).unwrap();
    for count in [1, 150, 299, 300] {
        let end: Vec<_> =
            Ledger::at(temp.path()).last(count).unwrap().map(|record| record.unwrap().seq).collect();
        assert!(end.into_iter().eq(301 - count as u64..=300), "{count}");
    }
}

#[test]
fn a_malformed_line_is_reported_and_reading_continues() {
    let temp = tempfile::tempdir().unwrap();
    filled(temp.path(), 3);
    let text = String::from_utf8(bytes(temp.path())).unwrap();
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines[1] = "x".repeat(3 * 1024 * 1024);
    fs::write(current(temp.path()), lines.join("\n") + "\n").unwrap();
    let read: Vec<_> = Ledger::at(temp.path()).all().unwrap().collect();
    assert_eq!(read.len(), 3);
    assert!(matches!(read[1], Err(LedgerError::Malformed { line: 2, .. })));
    assert_eq!(read[2].as_ref().unwrap().seq, 3);
}

#[test]
fn a_range_is_read_from_the_files_that_hold_it() {
    let temp = tempfile::tempdir().unwrap();
    let ledger = Ledger::at(temp.path()).full_at(1500);
    for name in 0..30 {
        ledger.append(draft(&name.to_string()), soon()).unwrap();
    }
    let whole = all(temp.path());
    for (first, last) in [(1, 1), (1, 30), (7, 12), (30, 30), (29, 100), (0, 2)] {
        let read: Vec<Record> = ledger.range(first..=last).unwrap().collect::<Result<_, _>>().unwrap();
        let wanted: Vec<_> =
            whole.iter().filter(|record| (first..=last).contains(&record.seq)).cloned().collect();
        assert_eq!(read, wanted, "{first} to {last}");
    }
    let (before, after) = (ledger.range(0..=0).unwrap(), ledger.range(31..=40).unwrap());
    assert_eq!((before.count(), after.count()), (0, 0));
    // A full file before the range is not even opened.
    fs::remove_file(temp.path().join("ledger.000000000001.jsonl")).unwrap();
    fs::create_dir(temp.path().join("ledger.000000000001.jsonl")).unwrap();
    assert_eq!(
        ledger.range(29..=30).unwrap().map(|record| record.unwrap().seq).collect::<Vec<_>>(),
        [29, 30]
    );
    assert_eq!(ledger.last(2).unwrap().map(|record| record.unwrap().seq).collect::<Vec<_>>(), [29, 30]);
    assert!(ledger.range(1..=1).unwrap().next().unwrap().is_err());
}

#[test]
fn a_malformed_line_is_reported_inside_a_range() {
    let temp = tempfile::tempdir().unwrap();
    let ledger = filled(temp.path(), 5);
    let text = String::from_utf8(bytes(temp.path())).unwrap();
    let mut lines: Vec<_> = text.lines().collect();
    lines[2] = "somebody was here";
    fs::write(current(temp.path()), lines.join("\n") + "\n").unwrap();
    let read: Vec<_> = ledger.range(3..=4).unwrap().collect();
    assert!(matches!(read[0], Err(LedgerError::Malformed { line: 3, .. })), "{read:?}");
    assert_eq!((read.len(), read[1].as_ref().unwrap().seq), (2, 4));
}

#[test]
fn only_the_records_of_a_session_are_read() {
    let temp = tempfile::tempdir().unwrap();
    let ledger = Ledger::at(temp.path());
    let long = "x".repeat(500);
    for session in ["one", "two", "one", &long, "", "two"] {
        ledger.append(draft("a").session(redact(session)), soon()).unwrap();
    }
    let of = |session: &str| -> Vec<u64> {
        ledger.of_session(session).unwrap().map(|record| record.unwrap().seq).collect()
    };
    assert_eq!((of("one"), of("two"), of(&long), of("")), (vec![1, 3], vec![2, 6], vec![4], vec![5]));
    assert!(of("three").is_empty());
}

/// Lines in memory: what a database would be.
struct Kept(Vec<Vec<u8>>);

impl Records for Kept {
    fn lines(&self, part: Part) -> Result<StoredLines<'_>, LedgerError> {
        let (skip, take) = match part {
            Part::All => (0, usize::MAX),
            Part::Numbers(numbers) => {
                let skip = usize::try_from(*numbers.start()).unwrap().saturating_sub(1);
                (skip, usize::try_from(*numbers.end()).unwrap().saturating_sub(skip))
            }
            Part::Last(count) => (self.0.len().saturating_sub(count), count),
        };
        let table: Arc<Path> = Path::new("records").into();
        Ok(StoredLines::new(self.0.iter().zip(1..).skip(skip).take(take).map(move |(bytes, number)| {
            Ok(StoredLine { bytes: bytes.clone(), file: table.clone(), number, ending: Ending::Whole })
        })))
    }
}

#[test]
fn another_store_gives_the_same_answers_as_the_file() {
    let temp = tempfile::tempdir().unwrap();
    let ledger = filled(temp.path(), 20);
    let mut kept = Kept(bytes(temp.path()).split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect());
    kept.0.pop();
    let read = |records: RecordIter<'_>| -> Vec<Record> { records.collect::<Result<_, _>>().unwrap() };
    assert_eq!(read(kept.all().unwrap()), read(ledger.all().unwrap()));
    assert_eq!(read(kept.last(3).unwrap()), read(ledger.last(3).unwrap()));
    assert_eq!(read(kept.range(4..=9).unwrap()), read(ledger.range(4..=9).unwrap()));
    assert_eq!(read(kept.of_session("a-session").unwrap()).len(), 20);
    assert_eq!(Totals::over(&kept).unwrap(), Totals::over(&ledger).unwrap());
    assert_eq!(position_of(&kept, 7).unwrap(), position_of(&ledger, 7).unwrap());
    assert_eq!(verify_chain(&kept).unwrap(), verify(temp.path()).unwrap());
    kept.0.remove(5);
    let problem = verify_chain(&kept).unwrap().problem.unwrap();
    assert_eq!((problem.line, problem.what), (6, Fault::Number { wanted: 6, found: 7 }));
}
