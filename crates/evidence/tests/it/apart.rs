//! What was sealed apart cannot be changed, cut off or written anew by the person whose ledger it is.

use std::fs;
use std::io::Cursor;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use toolgate_evidence::Ledger;
use toolgate_evidence::proof::apart::{Places, Refusal, Seen, TakeError, Taken, feed, make_key, take};
use toolgate_evidence::proof::{Audit, AuditOutcome, Known, SealProblem, audit, seal};

use crate::support::{bytes, current, draft, filled, soon};

const PERSON: u32 = 1000;

/// A person's ledger, and those who seal it apart.
struct Desk {
    temp: tempfile::TempDir,
    places: Places,
}

impl Desk {
    fn new(count: usize) -> Desk {
        let temp = tempfile::tempdir().unwrap();
        let places = Places::below(&temp.path().join("etc"), &temp.path().join("var"));
        fs::create_dir_all(&places.store).unwrap();
        let key = make_key(&places).unwrap();
        fs::create_dir_all(places.public.parent().unwrap()).unwrap();
        fs::write(&places.public, format!("{key}\n")).unwrap();
        let desk = Desk { temp, places };
        fs::create_dir(desk.state()).unwrap();
        filled(&desk.state(), count);
        desk
    }

    fn state(&self) -> PathBuf {
        self.temp.path().join("state")
    }

    fn more(&self, count: usize) {
        for number in 0..count {
            Ledger::at(&self.state()).append(draft(&format!("more {number}")), soon()).unwrap();
        }
    }

    fn sent(&self, from: u64) -> Vec<u8> {
        let mut sent = Vec::new();
        feed(&self.state(), from, &mut sent).unwrap();
        sent
    }

    fn take(&self, sent: &[u8], now: SystemTime) -> Result<Taken, TakeError> {
        take(&self.places, PERSON, &mut Cursor::new(sent), now)
    }

    /// One run of the timer.
    fn run(&self) -> Taken {
        self.run_at(SystemTime::now())
    }

    fn run_at(&self, now: SystemTime) -> Taken {
        self.take(&self.sent(self.places.begin_at(PERSON, now)), now).unwrap()
    }

    fn audit(&self) -> Audit {
        let apart = Seen::read(&self.places, PERSON);
        audit(&self.state(), &Known { apart, ..Known::default() }).unwrap()
    }

    fn edit(&self, edit: impl FnOnce(&mut Vec<String>)) {
        let mut lines: Vec<String> =
            String::from_utf8(bytes(&self.state())).unwrap().lines().map(str::to_owned).collect();
        edit(&mut lines);
        fs::write(current(&self.state()), lines.join("\n") + "\n").unwrap();
    }

    fn kept(&self, name: &str) -> PathBuf {
        self.places.of_person(PERSON).join(name)
    }
}

/// Only root's file counts as the public key, so what is read of it needs root.
fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

#[test]
fn what_is_sealed_grows_and_is_said() {
    let desk = Desk::new(0);
    assert_eq!(desk.run(), Taken::Nothing);
    desk.more(300);
    assert_eq!(desk.run(), Taken::Sealed { size: 300, new: 300 });
    desk.more(3);
    assert_eq!(desk.run(), Taken::Sealed { size: 303, new: 3 });
    assert_eq!(desk.run(), Taken::Sealed { size: 303, new: 0 });
    desk.more(1);
    if is_root() {
        let audit = desk.audit();
        assert_eq!(audit.outcome, AuditOutcome::Good, "{:?}", audit.problems);
        let apart = audit.apart.unwrap();
        assert_eq!((apart.size, apart.unsealed), (303, 1));
        assert!(audit.seal.is_none(), "the person has sealed nothing");
    }
}

#[test]
fn only_the_end_is_read_again_within_the_hour() {
    let desk = Desk::new(20);
    desk.run();
    desk.more(2);
    let now = SystemTime::now();
    if is_root() {
        assert_eq!(desk.places.begin_at(PERSON, now), 20);
    }
    let end = desk.sent(20);
    assert_eq!(end.iter().filter(|byte| **byte == b'\n').count(), 5, "its beginning, three records, its end");
    let late = now + Duration::from_secs(3601);
    assert_eq!(desk.places.begin_at(PERSON, late), 1);
    assert!(matches!(desk.take(&end, late), Err(TakeError::Feed(_))), "nobody chooses to send the end only");
    assert!(matches!(desk.take(&desk.sent(21), now), Err(TakeError::Feed(_))), "nor to leave something out");
    assert_eq!(desk.take(&end, now).unwrap(), Taken::Sealed { size: 22, new: 2 });
}

#[test]
fn a_ledger_that_does_not_go_on_from_what_was_sealed_is_refused_and_never_merged() {
    type Edit = fn(&mut Vec<String>);
    let cases: [(&str, Edit, Refusal); 4] = [
        ("changed", |lines| lines[3] = lines[3].replace("allow", "deny!"), Refusal::Changed { seq: 4 }),
        ("cut", |lines| lines.truncate(8), Refusal::Cut { have: 8, sealed: 10 }),
        ("one taken out", |lines| drop(lines.remove(5)), Refusal::Changed { seq: 6 }),
        (
            "a new one that does not follow",
            |lines| {
                let last = lines[9].replace("\"seq\":10", "\"seq\":11");
                lines.push(last);
            },
            Refusal::NotChained { seq: 11 },
        ),
    ];
    for (name, edit, refusal) in cases {
        let desk = Desk::new(10);
        desk.run();
        let checkpoint = fs::read(desk.kept("checkpoint")).unwrap();
        let whole = bytes(&desk.state());
        desk.edit(edit);
        let late = SystemTime::now() + Duration::from_secs(3601);
        assert_eq!(desk.run_at(late), Taken::Refused(refusal), "{name}");
        assert_eq!(fs::read(desk.kept("checkpoint")).unwrap(), checkpoint, "{name}");
        let said = fs::read_to_string(desk.kept("refused")).unwrap();
        assert!(said.contains(&refusal.to_string()), "{name}: {said}");
        if is_root() {
            let audit = desk.audit();
            assert_eq!(audit.outcome, AuditOutcome::Bad, "{name}");
            let refused = |problem: &SealProblem| matches!(problem, SealProblem::ApartRefused { .. });
            assert!(audit.problems.iter().any(refused), "{name}: {:?}", audit.problems);
        }
        // Put right, it goes on; that it was refused stays written.
        fs::write(current(&desk.state()), whole).unwrap();
        desk.more(1);
        assert_eq!(desk.run(), Taken::Sealed { size: 11, new: 1 }, "{name}");
        assert!(!desk.kept("refused").exists() && desk.kept("refusals").exists(), "{name}");
    }
}

#[test]
fn the_end_alone_shows_what_was_cut_off_or_replaced() {
    let desk = Desk::new(10);
    desk.run();
    let now = SystemTime::now();
    let whole = bytes(&desk.state());
    desk.edit(|lines| lines.truncate(6));
    assert_eq!(desk.take(&desk.sent(10), now).unwrap(), Taken::Refused(Refusal::Cut { have: 6, sealed: 10 }));
    // Written anew from there, with a chain that holds.
    desk.more(9);
    assert_eq!(desk.take(&desk.sent(10), now).unwrap(), Taken::Refused(Refusal::Changed { seq: 10 }));
    fs::remove_file(current(&desk.state())).unwrap();
    assert_eq!(desk.take(&desk.sent(10), now).unwrap(), Taken::Refused(Refusal::Cut { have: 0, sealed: 10 }));
    fs::write(current(&desk.state()), whole).unwrap();
    assert_eq!(desk.take(&desk.sent(10), now).unwrap(), Taken::Sealed { size: 10, new: 0 });
}

/// The person forges everything that is theirs, the own seal with it: what was sealed apart is another log.
#[test]
fn a_ledger_written_anew_and_sealed_by_its_own_key_is_found() {
    if !is_root() {
        return;
    }
    let desk = Desk::new(10);
    seal(&desk.state(), SystemTime::now(), false).unwrap();
    desk.run();
    fs::remove_dir_all(desk.state()).unwrap();
    fs::create_dir(desk.state()).unwrap();
    filled(&desk.state(), 30);
    seal(&desk.state(), SystemTime::now(), false).unwrap();
    let own = audit(&desk.state(), &Known::default()).unwrap();
    assert_eq!(own.outcome, AuditOutcome::Good, "by itself it cannot be seen");
    let audit = desk.audit();
    assert_eq!(audit.outcome, AuditOutcome::Bad);
    assert!(matches!(desk.run(), Taken::Refused(Refusal::Changed { seq: 11 | 1 })));
}

#[test]
fn what_the_person_dropped_or_erased_on_purpose_is_no_reason_to_refuse() {
    let desk = Desk::new(10);
    let now = SystemTime::now();
    seal(&desk.state(), now, false).unwrap();
    assert_eq!(desk.run(), Taken::Sealed { size: 11, new: 11 });
    toolgate_evidence::proof::erase(&desk.state(), 4, &[("by", "dev")], now).unwrap();
    seal(&desk.state(), now, false).unwrap();
    let late = now + Duration::from_secs(3601);
    assert!(matches!(desk.run_at(late), Taken::Sealed { new: 1.., .. }));
    if is_root() {
        assert_eq!(desk.audit().outcome, AuditOutcome::Good);
    }
}

#[test]
fn a_feed_that_is_cut_off_or_something_else_seals_nothing() {
    let desk = Desk::new(5);
    let sent = desk.sent(1);
    let now = SystemTime::now();
    for length in [0, 1, 2, 3, 10, sent.len() / 2, sent.len() - 3, sent.len() - 1] {
        assert!(matches!(desk.take(&sent[..length], now), Err(TakeError::Feed(_))), "{length}");
    }
    for garbage in ["F0\nE0\n", "F1\nF1\nE0\n", "F1\nHnonsense\nE1\n", "F1\nE9\n", "x\n", "\n", "F2\nE2\n"] {
        assert!(matches!(desk.take(garbage.as_bytes(), now), Err(TakeError::Feed(_))), "{garbage}");
    }
    assert!(!desk.kept("checkpoint").exists());
}

#[test]
fn a_key_that_others_may_write_or_a_forged_checkpoint_is_told() {
    if !is_root() {
        return;
    }
    let desk = Desk::new(5);
    desk.run();
    let told = |path: &Path| {
        let audit = desk.audit();
        assert_eq!(audit.outcome, AuditOutcome::Bad);
        let wanted = SealProblem::ApartDamaged { path: path.to_path_buf() };
        assert!(audit.problems.contains(&wanted), "{:?}", audit.problems);
    };
    let checkpoint = desk.kept("checkpoint");
    let text = fs::read_to_string(&checkpoint).unwrap();
    fs::write(&checkpoint, text.replacen("\n5\n", "\n4\n", 1)).unwrap();
    told(&checkpoint);
    let now = SystemTime::now();
    assert!(matches!(desk.take(&desk.sent(1), now), Err(TakeError::Damaged(_))));
    fs::write(&checkpoint, text).unwrap();
    assert_eq!(desk.audit().outcome, AuditOutcome::Good);
    fs::set_permissions(&desk.places.public, fs::Permissions::from_mode(0o666)).unwrap();
    told(&desk.places.public);
}
