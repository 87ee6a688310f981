//! What is dropped or erased on purpose is said, and the rest verifies and proves as before.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use toolgate_evidence::proof::index::{Query, search, search_back, time};
use toolgate_evidence::proof::{
    AuditOutcome, Known, RetentionError, SealProblem, Shown, audit, erase, prove, prune, seal,
};
use toolgate_evidence::{Draft, Ledger, Record};
use toolgate_model::{Decision, FindingKind};
use toolgate_secrets::redact;

use crate::support::{current, draft, soon};

/// No search of these tests takes as long.
const PATIENCE: Duration = Duration::from_mins(5);

fn now() -> SystemTime {
    SystemTime::now()
}

/// A ledger in several files, sealed.
fn in_files(count: usize) -> tempfile::TempDir {
    let temp = tempfile::tempdir().unwrap();
    let ledger = Ledger::at(temp.path()).full_at(40_000);
    for name in 0..count {
        ledger.append(draft(&name.to_string()), soon()).unwrap();
    }
    seal(temp.path(), now(), true).unwrap();
    temp
}

#[track_caller]
fn assert_good(dir: &Path) {
    let audit = audit(dir, &Known::default()).unwrap();
    assert_eq!(audit.outcome, AuditOutcome::Good, "{:?} {:?}", audit.chain, audit.problems);
}

fn files(dir: &Path) -> usize {
    fs::read_dir(dir)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("ledger.0"))
        .count()
}

#[test]
fn old_files_are_dropped_and_the_rest_verifies_and_proves() {
    let temp = in_files(1000);
    let dir = temp.path();
    let before = files(dir);
    assert!(before > 4);
    assert_eq!(prune(dir, "2020-01-01", &[("by", "dev")], now()).unwrap().files, 0);
    let later = time("2999-01-01", now()).unwrap();
    let dropped = prune(dir, &later, &[("by", "dev")], now()).unwrap();
    assert_eq!((dropped.files, files(dir)), (before, 0), "the growing one stays");
    assert_good(dir);
    seal(dir, now(), true).unwrap();
    assert_good(dir);
    let audit = audit(dir, &Known::default()).unwrap();
    assert_eq!(audit.dropped_through, Some(dropped.through));
    let proved = prove(dir, dropped.through + 3).unwrap();
    assert_eq!(proved.proof.shows(&proved.line, &proved.key), Shown::InTheLog);
    assert!(prove(dir, dropped.through).is_err());
    let mut found = 0;
    search(dir, &Query { session: Some("a-session".into()), ..Query::default() }, |_| {
        found += 1;
        true
    })
    .unwrap();
    assert_eq!(found, 1000 - dropped.through);
    // A file that goes on top of that, without a word.
    Ledger::at(dir).append(draft("x"), soon()).unwrap();
    fs::write(dir.join("ledger.dropped"), (dropped.through + 1).to_string()).unwrap();
    let text = fs::read_to_string(current(dir)).unwrap();
    fs::write(current(dir), text.split_once('\n').unwrap().1).unwrap();
    let audit = super::retention::audit(dir, &Known::default()).unwrap();
    assert!(
        audit.problems.contains(&SealProblem::DroppedUnsaid { through: dropped.through + 1 }),
        "{:?}",
        audit.problems
    );
}

#[test]
fn one_text_is_erased_and_its_hash_stays() {
    let temp = in_files(300);
    let dir = temp.path();
    let length = |dir: &Path| {
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).max().unwrap()
    };
    let before = length(dir);
    erase(dir, 7, &[("by", "dev")], now()).unwrap();
    erase(dir, 300, &[("by", "dev")], now()).unwrap();
    assert_eq!(length(dir), before, "in its place");
    assert_good(dir);
    let audit = audit(dir, &Known::default()).unwrap();
    assert_eq!(audit.erased, [7, 300]);
    let proved = prove(dir, 7).unwrap();
    assert!(!String::from_utf8_lossy(&proved.line).contains("a-session"));
    assert_eq!(
        proved.proof.shows(&proved.line, &proved.key),
        Shown::AnotherLine,
        "its text is no longer there to be proved"
    );
    assert!(matches!(erase(dir, 7, &[("by", "dev")], now()), Err(RetentionError::Erased)));
    assert!(matches!(erase(dir, 9999, &[("by", "dev")], now()), Err(RetentionError::NoRecord)));
    assert!(
        matches!(erase(dir, 301, &[("by", "dev")], now()), Err(RetentionError::Needed)),
        "it names the key"
    );
    Ledger::at(dir).append(draft("later"), soon()).unwrap();
    seal(dir, now(), true).unwrap();
    assert_good(dir);
}

#[test]
fn a_text_that_goes_without_a_word_is_found() {
    let temp = in_files(20);
    let dir = temp.path();
    erase(dir, 7, &[("by", "dev")], now()).unwrap();
    // The same rest of a record, where no record says so.
    let text = fs::read_to_string(current(dir)).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let eighth: serde_json::Value = serde_json::from_str(&lines[7]).unwrap();
    let rest = format!(
        r#"{{"seq":8,"time":{},"event":"ledger-rest","decision":"allow","prev":{}}}"#,
        eighth["time"], eighth["prev"]
    );
    lines[7] = format!("{rest:<width$}", width = lines[7].len());
    fs::write(current(dir), lines.join("\n") + "\n").unwrap();
    let audit = audit(dir, &Known::default()).unwrap();
    assert_eq!(
        (audit.outcome, audit.problems),
        (AuditOutcome::Bad, vec![SealProblem::ErasedUnsaid { seq: 8 }])
    );
}

/// A record of the given session, agent and policy.
fn of(session: &str, agent: &str, policy: &'static str, path: &str, at: SystemTime) -> Draft {
    Draft::new(at, "claude", redact("PreToolUse"))
        .session(redact(session))
        .agent(redact(agent))
        .tool(redact("Read"))
        .root(redact(&format!("/w/{agent}")))
        .arg(redact("file_path"), redact(path))
        .decision(Decision::Deny)
        .finding(policy, FindingKind::Rule, Decision::Deny, redact(path), redact("no"))
}

#[test]
fn a_search_finds_what_a_scan_finds_and_reads_less() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let ledger = Ledger::at(dir).full_at(300_000);
    let start = now() - Duration::from_hours(10);
    for number in 0..3000_u64 {
        let at = start + Duration::from_secs(number);
        let draft = if number == 700 || number == 2999 {
            of("rare", "ash", "rare-policy", "/w/rare", at)
        } else {
            of(
                &format!("s{}", number / 100),
                &format!("agent{}", number / 500),
                "a-policy",
                &format!("/w/{}", number % 50),
                at,
            )
        };
        ledger.append(draft, soon()).unwrap();
        if number % 500 == 499 {
            seal(dir, now(), false).unwrap();
        }
    }
    let since = toolgate_evidence::rfc3339(start + Duration::from_secs(2800));
    let text = |text: &str| Some(text.to_owned());
    for (query, wanted, reads_less) in [
        (Query { session: text("rare"), ..Query::default() }, 2, true),
        (Query { agent: text("ash"), ..Query::default() }, 2, true),
        (Query { root: text("/w/ash"), ..Query::default() }, 2, true),
        (Query { policy: text("rare-policy"), ..Query::default() }, 2, true),
        (Query { path: text("/w/rare"), ..Query::default() }, 2, true),
        (Query { session: text("s7"), ..Query::default() }, 99, true),
        (Query { agent: text("agent1"), path: text("/w/3"), ..Query::default() }, 10, true),
        (Query { since: Some(since), policy: text("a-policy"), ..Query::default() }, 199, true),
        (Query { session: text("nobody"), ..Query::default() }, 0, true),
        (Query { denied: true, ..Query::default() }, 3000, false),
    ] {
        let scanned: Vec<u64> =
            all(dir).iter().filter(|record| query.wants(record)).map(|record| record.seq).collect();
        let mut found = Vec::new();
        let looked = search(dir, &query, |record| {
            found.push(record.seq);
            true
        })
        .unwrap();
        assert_eq!((found.len(), &found), (wanted, &scanned), "{query:?}");
        assert_eq!(looked.read < 1500, reads_less, "{query:?}: {looked:?}");
        for before in [0, 1, 2, 256, 257, 258, 1500, 2999, 3001, u64::MAX] {
            let mut back = Vec::new();
            let looked = search_back(dir, &query, before, PATIENCE, |record| {
                back.push(record.seq);
                true
            })
            .unwrap();
            let wanted: Vec<u64> = scanned.iter().rev().copied().filter(|seq| *seq < before).collect();
            assert_eq!(back, wanted, "{query:?} before {before}: {looked:?}");
        }
    }
    // Damaged or gone, it costs time and no answer.
    let query = Query { session: text("rare"), ..Query::default() };
    let count = || {
        let mut found = 0;
        search(dir, &query, |_| {
            found += 1;
            true
        })
        .unwrap();
        found
    };
    let index = dir.join("tlog/index");
    let mut bytes = fs::read(&index).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&index, &bytes).unwrap();
    assert_eq!(count(), 2);
    fs::remove_file(&index).unwrap();
    assert_eq!(count(), 2);
    seal(dir, now(), true).unwrap();
    assert!(index.is_file());
    assert_eq!(count(), 2);
}

#[test]
fn a_page_at_the_end_reads_no_more_than_its_block() {
    let temp = in_files(2000);
    let dir = temp.path();
    let page = |before: u64| {
        let mut found = Vec::new();
        let looked = search_back(dir, &Query::default(), before, PATIENCE, |record| {
            found.push(record.seq);
            found.len() < 50
        });
        (found, looked.unwrap())
    };
    for is_indexed in [true, false] {
        if !is_indexed {
            fs::remove_file(dir.join("tlog/index")).unwrap();
        }
        for before in [2001, 1999, 700, 51] {
            let (found, looked) = page(before);
            assert!(found.iter().copied().eq((before - 50..before).rev()), "{before}: {found:?}");
            assert!(looked.read <= 512, "{looked:?}");
        }
        // Without time, a block is looked at, and it is said where to go on.
        let (mut before, mut found) = (u64::MAX, Vec::new());
        loop {
            let looked = search_back(dir, &Query::default(), before, Duration::ZERO, |record| {
                found.push(record.seq);
                true
            });
            let looked = looked.unwrap();
            assert!(looked.read <= 256, "{looked:?}");
            match looked.next {
                Some(next) => before = next,
                None => break,
            }
        }
        assert!(found.into_iter().eq((1..=all(dir).len() as u64).rev()), "{is_indexed}");
    }
    // A line that is no record, and is longer than is read at once, is passed over.
    let whole = all(dir).len();
    let text = fs::read_to_string(current(dir)).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    fs::write(current(dir), format!("{first}\n{}\n{rest}", "x".repeat(10 * 1024 * 1024))).unwrap();
    let mut found = 0;
    let looked = search_back(dir, &Query::default(), u64::MAX, PATIENCE, |_| {
        found += 1;
        true
    })
    .unwrap();
    assert_eq!(found, whole, "{looked:?}");
    assert!(looked.unreadable >= 1, "{looked:?}");
}

fn all(dir: &Path) -> Vec<Record> {
    crate::support::all(dir)
}

#[test]
fn times_are_read_as_people_write_them() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 20_000);
    for (text, wanted) in [
        ("2026-11-18", Some("2026-11-18T00:00:00.000Z")),
        ("2026-11-18T05:00:00Z", Some("2026-11-18T05:00:00.000Z")),
        ("2026-11-18 05:00:00", Some("2026-11-18T05:00:00.000Z")),
        ("2d", Some("2024-10-02T00:00:00.000Z")),
        ("yesterday", None),
        ("", None),
    ] {
        assert_eq!(time(text, now).as_deref(), wanted, "{text}");
    }
}
