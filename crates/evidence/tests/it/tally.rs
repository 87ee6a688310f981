//! The tally's promise, held against crowds, kills at any point, torn pages and long sequences: the counts are those of
//! the session's records in the ledger.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use proptest::prelude::*;
use toolgate_evidence::{
    Activity, Draft, Ledger, LedgerError, Record, Records, SessionCounts, Tally, verify,
};
use toolgate_model::{Decision, FindingKind, TeamPhase};
use toolgate_secrets::{Redacted, redact};

fn soon() -> Instant {
    Instant::now() + Duration::from_mins(1)
}

fn session() -> Redacted {
    redact("a-session")
}

/// A call that names itself; its number decides what it counts as.
fn draft(name: &str, number: u64) -> Draft {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + number);
    let agent = ["", "ripley", "dallas"][(number % 3) as usize];
    let draft = Draft::new(time, "claude", redact("PreToolUse"))
        .agent(redact(agent))
        .arg(redact("file_path"), redact(name))
        .counting(Activity::Call);
    match number % 7 {
        0 => draft.counting(Activity::Question),
        1 => draft.counting(Activity::Prompt),
        2 => draft.counting(Activity::Phase(TeamPhase::Agreed)),
        3 => draft.counting(Activity::Write).counting(Activity::In(redact(&format!("/w/{}", number % 40)))),
        4 => draft.counting(Activity::Run),
        _ => draft.decision(Decision::Deny).finding(
            if number.is_multiple_of(2) { "even" } else { "odd" },
            FindingKind::Rule,
            Decision::Deny,
            redact(""),
            redact("no"),
        ),
    }
}

fn append(ledger: &Ledger, session: &Redacted, draft: Draft) -> u64 {
    Tally::open(ledger, session, soon()).unwrap().append(draft, soon()).unwrap()
}

/// A ledger with so many records of the session.
fn filled(dir: &Path, count: u64) -> Ledger {
    let ledger = Ledger::at(dir);
    for number in 0..count {
        append(&ledger, &session(), draft(&number.to_string(), number));
    }
    ledger
}

fn records(dir: &Path, session: &Redacted) -> Vec<Record> {
    let all: Vec<Record> = Ledger::at(dir).all().unwrap().collect::<Result<_, _>>().unwrap();
    all.into_iter().filter(|record| record.session == session.as_str() && !record.is_repair()).collect()
}

fn fold(dir: &Path, session: &Redacted) -> SessionCounts {
    SessionCounts::of(&records(dir, session))
}

fn kept(ledger: &Ledger, session: &Redacted) -> SessionCounts {
    let peeked = Tally::peek(ledger, session).unwrap();
    let opened = Tally::open(ledger, session, soon()).unwrap().counts().clone();
    assert_eq!(peeked, opened);
    opened
}

fn tally_file(dir: &Path) -> PathBuf {
    dir.join("tallies").join("a-session")
}

const DIR: &str = "TALLY_TEST_DIR";
const COUNT: &str = "TALLY_TEST_COUNT";

/// More records than a process that is to be killed gets round to; it ends all the same should its test fail.
const ENDLESS: u64 = 20_000;

/// This test binary, in a process of its own, appending so many records.
fn process(dir: &Path, count: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["tally::appends", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(DIR, dir)
        .env(COUNT, count.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "run by other tests"]
fn appends() {
    let Some(dir) = std::env::var_os(DIR).map(PathBuf::from) else { return };
    let count: u64 = std::env::var(COUNT).unwrap().parse().unwrap();
    let ledger = Ledger::at(&dir).full_at(64 * 1024);
    for index in 0..count {
        let name = format!("{}-{index}", std::process::id());
        append(&ledger, &session(), draft(&name, u64::from(std::process::id()) + index));
    }
}

/// Nothing is lost, nothing is double, the ledger is whole, and the counts are those of its records.
fn assert_exact(dir: &Path) -> Vec<Record> {
    let ledger = Ledger::at(dir);
    assert_eq!(kept(&ledger, &session()), fold(dir, &session()));
    append(&ledger, &session(), draft(&format!("check-{:?}", Instant::now()), 1));
    assert_eq!(kept(&ledger, &session()), fold(dir, &session()));
    let report = verify(dir).unwrap();
    assert_eq!((report.problem, report.torn), (None, false));
    let records = records(dir, &session());
    let names: BTreeSet<_> = records.iter().map(|record| &record.args[0].1).collect();
    assert_eq!(names.len(), records.len());
    records
}

#[test]
fn concurrent_appends_of_which_some_are_killed_are_counted_exactly() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    // Another session writes at the same time.
    let other = redact("other");
    for round in 0..4_u64 {
        let mut doomed: Vec<_> = (0..16).map(|_| process(dir, ENDLESS)).collect();
        let survivors: Vec<_> = (0..16).map(|_| process(dir, 6)).collect();
        let wanted: Vec<_> = survivors.iter().map(Child::id).collect();
        for (number, child) in doomed.iter_mut().enumerate() {
            thread::sleep(Duration::from_micros(5000 + (number as u64 * 7919 + round * 104_729) % 20_000));
            append(&Ledger::at(dir), &other, draft("other", round));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        for mut child in survivors {
            assert!(child.wait().unwrap().success());
        }
        let names: BTreeSet<_> =
            assert_exact(dir).into_iter().map(|record| record.args[0].1.clone()).collect();
        for id in wanted {
            assert!((0..6).all(|index| names.contains(&format!("{id}-{index}"))), "{id}");
        }
    }
    assert_eq!(kept(&Ledger::at(dir), &other), fold(dir, &other));
    assert!(verify(dir).unwrap().segments > 1, "files were full meanwhile");
}

/// A process alone is killed in the middle of an append nearly always.
#[test]
fn repeated_kills_leave_exact_counts() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    for round in 0..60_u64 {
        let mut children = [process(dir, ENDLESS), process(dir, ENDLESS)];
        thread::sleep(Duration::from_micros(8000 + round * 7919 % 9000));
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(kept(&Ledger::at(dir), &session()), fold(dir, &session()), "round {round}");
    }
    assert!(assert_exact(dir).len() > 60);
}

/// The files of a session before and after one append, and all that a kill in between can leave.
#[test]
fn a_kill_after_any_written_byte_leaves_exact_counts() {
    for count in 0..4 {
        let temp = tempfile::tempdir().unwrap();
        let before_dir = temp.path().join("before");
        let after_dir = temp.path().join("after");
        for (dir, count) in [(&before_dir, count), (&after_dir, count + 1)] {
            drop(Tally::open(&filled(dir, count), &session(), soon()).unwrap());
        }
        let ledger = |dir: &Path| fs::read(dir.join("ledger.jsonl")).unwrap_or_default();
        let (ledger_before, ledger_after) = (ledger(&before_dir), ledger(&after_dir));
        let (before, after) =
            (fs::read(tally_file(&before_dir)).unwrap(), fs::read(tally_file(&after_dir)).unwrap());
        // The mark is written, then the record, then one page.
        let changed = |at: &usize| before.get(*at).copied().unwrap_or_default() != after[*at];
        let changed = (0..after.len()).filter(changed);
        let (mark, page): (Vec<_>, Vec<_>) = changed.partition(|&at| at < 128);
        let page = page[0]..page[page.len() - 1] + 1;
        let (before_counts, after_counts) = (fold(&before_dir, &session()), fold(&after_dir, &session()));
        let check = |written: &[std::ops::Range<usize>], ledger: &[u8], wanted: &SessionCounts| {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir(dir.path().join("tallies")).unwrap();
            let file = fs::File::create(tally_file(dir.path())).unwrap();
            file.write_all_at(&before, 0).unwrap();
            for range in written {
                file.write_all_at(&after[range.clone()], range.start as u64).unwrap();
            }
            fs::write(dir.path().join("ledger.jsonl"), ledger).unwrap();
            let ledger = Ledger::at(dir.path());
            assert_eq!(&kept(&ledger, &session()), wanted, "{count} {written:?}");
            append(&ledger, &session(), draft("next", 4));
            append(&ledger, &session(), draft("last", 5));
            assert_eq!(kept(&ledger, &session()), fold(dir.path(), &session()));
        };
        let mark_end = mark[mark.len() - 1] + 1;
        for end in 0..=mark_end {
            check(std::slice::from_ref(&(0..end)), &ledger_before, &before_counts);
        }
        for end in (ledger_before.len()..ledger_after.len()).step_by(7) {
            check(std::slice::from_ref(&(0..mark_end)), &ledger_after[..end], &before_counts);
        }
        for end in page.clone() {
            check(&[0..mark_end, page.start..end], &ledger_after, &after_counts);
        }
        check(&[0..mark_end, page], &ledger_after, &after_counts);
    }
}

#[test]
fn damaged_pages_are_restored_or_counted_again() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let ledger = filled(dir, 50);
    let wanted = fold(dir, &session());
    let whole = fs::read(tally_file(dir)).unwrap();
    let second = 128 + 32 + 128 * 1024;
    let spoil = |places: &[usize]| {
        let mut bytes = whole.clone();
        for &at in places {
            bytes[at] ^= 1;
        }
        fs::write(tally_file(dir), bytes).unwrap();
    };
    for offset in [0, 9, 17, 25, 40] {
        for places in [vec![128 + offset], vec![second + offset], vec![128 + offset, second + offset]] {
            spoil(&places);
            assert_eq!(kept(&ledger, &session()), wanted, "{places:?}");
        }
    }
    for bytes in [&whole[..1], &whole[..100], &whole[..140], &vec![0; 300_000], b"something else"] {
        fs::write(tally_file(dir), bytes).unwrap();
        assert_eq!(kept(&ledger, &session()), wanted);
        append(&ledger, &session(), draft("more", 3));
        append(&ledger, &session(), draft("and more", 5));
        let wanted = fold(dir, &session());
        assert_eq!(kept(&ledger, &session()), wanted);
        fs::write(tally_file(dir), &whole).unwrap();
        Tally::rebuild(&ledger, &session(), soon()).unwrap().append(draft("again", 6), soon()).unwrap();
        assert_eq!(kept(&ledger, &session()), fold(dir, &session()));
        return_to(dir, &whole, 50);
    }
}

/// The ledger's first records and the tally that goes with them.
fn return_to(dir: &Path, tally: &[u8], lines: usize) {
    let ledger = fs::read_to_string(dir.join("ledger.jsonl")).unwrap();
    let kept: String = ledger.split_inclusive('\n').take(lines).collect();
    fs::write(dir.join("ledger.jsonl"), kept).unwrap();
    fs::write(tally_file(dir), tally).unwrap();
}

#[test]
fn a_marked_record_is_counted_after_its_file_was_rotated() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let ledger = filled(dir, 9);
    let before = fs::read(tally_file(dir)).unwrap();
    append(&ledger, &session(), draft("marked", 9));
    let after = fs::read(tally_file(dir)).unwrap();
    // The process was killed behind the record: its mark is there, its counts are not.
    let file = fs::File::create(tally_file(dir)).unwrap();
    file.write_all_at(&before, 0).unwrap();
    file.write_all_at(&after[..128], 0).unwrap();
    // Others go on, and their files are full again and again.
    let small = Ledger::at(dir).full_at(2000);
    for number in 0..40 {
        append(&small, &redact("other"), draft("other", number));
    }
    assert!(verify(dir).unwrap().segments > 5);
    assert_eq!(kept(&ledger, &session()), fold(dir, &session()));
    assert_exact(dir);
}

#[test]
fn sessions_keep_separate_counts_in_separate_files() {
    let temp = tempfile::tempdir().unwrap();
    let ledger = Ledger::at(temp.path());
    let sessions =
        ["a-session", "b", "A-Session", "", "../../etc", "a/b", &"x".repeat(500), "\0"].map(redact);
    for (number, session) in sessions.iter().enumerate() {
        for _ in 0..=number {
            append(&ledger, session, draft("a", 1));
        }
    }
    for (number, session) in sessions.iter().enumerate() {
        assert_eq!(Tally::peek(&ledger, session).unwrap().prompts as usize, number + 1);
        let rebuilt = Tally::rebuild(&ledger, session, soon()).unwrap();
        assert_eq!(rebuilt.counts().prompts as usize, number + 1);
    }
    assert_eq!(fs::read_dir(temp.path().join("tallies")).unwrap().count(), sessions.len());
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 2, "nothing stands elsewhere");
    assert_eq!(Tally::peek(&ledger, &redact("unknown")).unwrap(), SessionCounts::default());
    assert_eq!(fs::read_dir(temp.path().join("tallies")).unwrap().count(), sessions.len());
}

#[test]
fn a_tally_records_under_its_own_session() {
    let temp = tempfile::tempdir().unwrap();
    let ledger = Ledger::at(temp.path());
    append(&ledger, &session(), draft("a", 1).session(redact("another")));
    assert_eq!(Ledger::at(temp.path()).last(1).unwrap().next().unwrap().unwrap().session, "a-session");
}

#[test]
fn a_withdrawn_record_is_not_counted() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let ledger = filled(dir, 5);
    let before = kept(&ledger, &session());
    let open = || Tally::open(&ledger, &session(), soon()).unwrap();
    assert_eq!(open().append_unless(draft("a", 6), soon(), || true).unwrap(), None);
    assert_eq!(kept(&ledger, &session()), before);
    assert_eq!(open().append_unless(draft("b", 6), soon(), || false).unwrap(), Some(6));
    assert_ne!(kept(&ledger, &session()), before);
    assert_exact(dir);
}

#[test]
fn a_missing_or_empty_tally_starts_a_new_session() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let ledger = filled(dir, 20);
    fs::write(tally_file(dir), "").unwrap();
    assert_eq!(kept(&ledger, &session()), SessionCounts::default());
    fs::remove_file(tally_file(dir)).unwrap();
    assert_eq!(kept(&ledger, &session()), SessionCounts::default());
    let rebuilt = Tally::rebuild(&ledger, &session(), soon()).unwrap();
    assert_eq!(rebuilt.counts(), &fold(dir, &session()));
}

#[test]
fn tally_files_are_private() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("state");
    filled(&dir, 1);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&tally_file(&dir)), 0o600);
    assert_eq!((mode(&dir), mode(&dir.join("tallies"))), (0o700, 0o700));
}

#[test]
fn a_link_in_place_of_a_tally_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    fs::create_dir(dir.join("tallies")).unwrap();
    fs::write(dir.join("elsewhere"), "").unwrap();
    std::os::unix::fs::symlink(dir.join("elsewhere"), tally_file(dir)).unwrap();
    let error = Tally::open(&Ledger::at(dir), &session(), soon()).unwrap_err();
    assert!(matches!(error, LedgerError::NotAFile { .. }), "{error:?}");
}

#[test]
fn an_open_tally_blocks_a_second_one_and_not_a_peek() {
    let temp = tempfile::tempdir().unwrap();
    let ledger = filled(temp.path(), 3);
    let held = Tally::open(&ledger, &session(), soon()).unwrap();
    let deadline = Instant::now() + Duration::from_millis(20);
    let error = Tally::open(&ledger, &session(), deadline).unwrap_err();
    assert!(matches!(error, LedgerError::Busy { .. }), "{error:?}");
    assert_eq!(&Tally::peek(&ledger, &session()).unwrap(), held.counts());
    drop(held);
    drop(Tally::open(&ledger, &session(), soon()).unwrap());
}

#[test]
fn a_record_that_the_ledger_rejects_is_not_counted() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let ledger = filled(dir, 4);
    let path = dir.join("ledger.jsonl");
    // A torn end that cannot be put aside.
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [&whole[..], b"torn"].concat()).unwrap();
    fs::write(dir.join("torn"), "a file where the directory should be").unwrap();
    Tally::open(&ledger, &session(), soon()).unwrap().append(draft("a", 0), soon()).unwrap_err();
    assert_eq!(kept(&ledger, &session()), fold(dir, &session()));
    fs::remove_file(dir.join("torn")).unwrap();
    assert_exact(dir);
}

/// Any call of any session, at any time within some minutes.
fn call() -> impl Strategy<Value = (usize, Draft)> {
    (0_usize..2, 0_u64..100, 0_u64..200, proptest::collection::vec(0_u64..100, 0..3)).prop_map(
        |(session, kind, second, more)| {
            let mut draft = draft("a", kind + second * 7);
            for number in more {
                draft = match number % 3 {
                    0 => draft.counting(Activity::In(redact(&format!("/w/{number}")))),
                    1 => draft.counting(Activity::Read),
                    _ => draft.counting(Activity::Prompt),
                };
            }
            (session, draft)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn kept_counts_equal_rebuilt_counts(calls in proptest::collection::vec(call(), 1..80)) {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        let ledger = Ledger::at(dir).full_at(8 * 1024);
        let sessions = [redact("one"), redact("Two")];
        for (session, draft) in calls {
            let tally = Tally::open(&ledger, &sessions[session], soon()).unwrap();
            let foreseen = tally.counts_after(&draft).unwrap();
            tally.append(draft, soon()).unwrap();
            prop_assert_eq!(Tally::peek(&ledger, &sessions[session]).unwrap(), foreseen);
        }
        for session in &sessions {
            let kept = kept(&ledger, session);
            prop_assert_eq!(&kept, &fold(dir, session));
            drop(Tally::rebuild(&ledger, session, soon()).unwrap());
            prop_assert_eq!(&Tally::peek(&ledger, session).unwrap(), &kept);
        }
    }
}
