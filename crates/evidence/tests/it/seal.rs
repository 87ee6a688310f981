//! What is sealed is found changed, whatever is done to it; and what cannot be found without a word from elsewhere is said.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use sha2::Digest as _;
use toolgate_evidence::proof::{
    Audit, AuditOutcome, Checkpoint, Known, NoteKey, SealError, SealOutcome, SealProblem, Shown, anchor,
    audit, keys, prove, seal,
};
use toolgate_evidence::{Ledger, due};

use crate::child;
use crate::support::{bytes, current, draft, filled, names, soon};

fn now() -> SystemTime {
    SystemTime::now()
}

/// A sealed log with this many records of calls.
fn sealed(count: usize) -> tempfile::TempDir {
    let temp = tempfile::tempdir().unwrap();
    filled(temp.path(), count);
    seal(temp.path(), now(), false).unwrap();
    temp
}

fn check(dir: &Path) -> Audit {
    audit(dir, &Known::default()).unwrap()
}

#[track_caller]
fn assert_good(dir: &Path) -> Audit {
    let audit = check(dir);
    assert_eq!(audit.outcome, AuditOutcome::Good, "{:?} {:?}", audit.chain, audit.problems);
    audit
}

#[track_caller]
fn assert_bad(dir: &Path, wanted: &SealProblem) {
    let audit = check(dir);
    assert_eq!(audit.outcome, AuditOutcome::Bad);
    assert!(audit.problems.contains(wanted), "{:?}", audit.problems);
}

/// A copy of a directory.
fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    let status = std::process::Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(status.success());
}

fn lines(dir: &Path) -> Vec<String> {
    String::from_utf8(bytes(dir)).unwrap().lines().map(str::to_owned).collect()
}

fn write_lines(dir: &Path, lines: &[String]) {
    fs::write(current(dir), lines.join("\n") + "\n").unwrap();
}

fn append(dir: &Path, name: &str) {
    Ledger::at(dir).append(draft(name), soon()).unwrap();
}

#[test]
fn what_is_sealed_is_said_and_what_is_not() {
    let temp = sealed(3);
    let dir = temp.path();
    append(dir, "later");
    let audit = assert_good(dir);
    let seal = audit.seal.unwrap();
    assert_eq!((seal.size, seal.unsealed, seal.keys, seal.checkpoints, seal.level), (4, 1, 1, 1, "own"));
    assert!(!seal.pinned && seal.origin.starts_with("toolgate/"));
    assert_eq!(keys(dir).unwrap()[0].key.to_string(), seal.first_key);
    let pinned = Known { first_key: NoteKey::parse(&seal.first_key), ..Known::default() };
    assert!(super::seal::audit(dir, &pinned).unwrap().seal.unwrap().pinned);
}

#[test]
fn sealing_again_goes_on_where_it_was_and_changes_nothing_without_new_records() {
    let temp = sealed(2);
    let dir = temp.path();
    let before = fs::read(dir.join("tlog/checkpoint")).unwrap();
    assert_eq!(seal(dir, now(), false).unwrap(), SealOutcome::Sealed { size: 3, new: 0, epoch: 1 });
    assert_eq!(fs::read(dir.join("tlog/checkpoint")).unwrap(), before);
    for round in 0..600 {
        append(dir, "more");
        if round % 7 == 0 {
            seal(dir, now(), false).unwrap();
        }
    }
    assert_eq!(seal(dir, now(), false).unwrap(), SealOutcome::Sealed { size: 603, new: 4, epoch: 1 });
    let audit = assert_good(dir);
    assert_eq!(audit.seal.unwrap().checkpoints, 1, "a later one under the same key stands for the earlier");
    // What only helps is not needed.
    fs::remove_file(dir.join("tlog/next")).unwrap();
    append(dir, "again");
    assert!(matches!(seal(dir, now(), false).unwrap(), SealOutcome::Sealed { size: 604, .. }));
    assert_good(dir);
    assert_eq!(due::look(dir, now()), due::Due::Nothing);
    assert_eq!(due::look(dir, now() + Duration::from_secs(61)), due::Due::Seal);
}

#[test]
fn nothing_is_sealed_where_nothing_was_recorded() {
    let temp = tempfile::tempdir().unwrap();
    assert_eq!(seal(temp.path(), now(), false).unwrap(), SealOutcome::Nothing);
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    let asked = Known {
        first_key: NoteKey::parse("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"),
        ..Known::default()
    };
    assert_eq!(audit(temp.path(), &asked).unwrap().outcome, AuditOutcome::CannotTell);
}

#[test]
fn full_files_are_sealed_like_the_growing_one() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let ledger = Ledger::at(dir).full_at(20_000);
    for name in 0..300 {
        ledger.append(draft(&name.to_string()), soon()).unwrap();
        if name % 40 == 0 {
            seal(dir, now(), name % 80 == 0).unwrap();
        }
    }
    seal(dir, now(), true).unwrap();
    let audit = assert_good(dir);
    assert!(audit.chain.segments > 3 && audit.seal.unwrap().keys > 3);
}

#[test]
fn a_flipped_byte_is_found_and_its_record_named() {
    let whole = sealed(10);
    for seq in [1_usize, 4, 10] {
        let temp = tempfile::tempdir().unwrap();
        let dir = &temp.path().join("state");
        copy(whole.path(), dir);
        let mut all = lines(dir);
        all[seq - 1] = all[seq - 1].replace("\"tool\":\"Read\"", "\"tool\":\"Reap\"");
        write_lines(dir, &all);
        assert_bad(dir, &SealProblem::Changed { seq: seq as u64 });
    }
}

#[test]
fn a_record_that_was_changed_with_its_whole_chain_is_found() {
    let temp = sealed(10);
    let dir = temp.path();
    // Somebody writes the ledger anew from record 4 on, with right numbers and right links.
    let kept = lines(dir)[..3].to_vec();
    write_lines(dir, &kept);
    for name in 0..8 {
        append(dir, &format!("other {name}"));
    }
    let audit = check(dir);
    assert_eq!(audit.chain.problem, None, "the chain alone does not show it");
    assert_bad(dir, &SealProblem::Changed { seq: 4 });
    let refused = seal(dir, now(), false).unwrap_err();
    assert!(matches!(refused, SealError::NotExtended { .. }), "{refused:?}");
}

#[test]
fn dropped_swapped_and_inserted_records_are_found() {
    let whole = sealed(10);
    let dir = whole.path();
    let all = lines(dir);
    let mut dropped = all.clone();
    dropped.remove(4);
    write_lines(dir, &dropped);
    assert_bad(dir, &SealProblem::Cut { have: 10, sealed: 11, noted: false });
    assert!(check(dir).chain.problem.is_some());
    let mut swapped = all.clone();
    swapped.swap(4, 5);
    write_lines(dir, &swapped);
    assert_bad(dir, &SealProblem::Changed { seq: 5 });
    let mut inserted = all.clone();
    inserted.insert(7, all[0].clone());
    write_lines(dir, &inserted);
    assert_bad(dir, &SealProblem::Changed { seq: 8 });
}

#[test]
fn a_cut_end_is_found() {
    let temp = sealed(10);
    let dir = temp.path();
    write_lines(dir, &lines(dir)[..8]);
    let audit = check(dir);
    assert_eq!(audit.chain.problem, None, "the chain alone does not show it");
    assert_bad(dir, &SealProblem::Cut { have: 8, sealed: 11, noted: false });
    assert!(matches!(seal(dir, now(), false).unwrap_err(), SealError::NotExtended { .. }));
    // Other records in place of those that were cut off.
    for name in 0..9 {
        append(dir, &format!("other {name}"));
    }
    assert_bad(dir, &SealProblem::Changed { seq: 9 });
}

#[test]
fn an_old_checkpoint_in_the_place_of_the_last_is_found() {
    let temp = sealed(3);
    let dir = temp.path();
    let old = fs::read(dir.join("tlog/checkpoint")).unwrap();
    append(dir, "later");
    seal(dir, now(), false).unwrap();
    fs::write(dir.join("tlog/checkpoint"), &old).unwrap();
    assert_bad(dir, &SealProblem::OldCheckpoint { size: 4, sealed: 5 });
    // With all of them replaced, and the ledger cut to match: the sealer remembers what it has signed.
    fs::write(dir.join("tlog/checkpoints"), &old).unwrap();
    write_lines(dir, &lines(dir)[..4]);
    assert_bad(dir, &SealProblem::PutBack { size: 4, signed: 5 });
    assert!(matches!(seal(dir, now(), false).unwrap_err(), SealError::PutBack { .. }));
}

#[test]
fn each_key_is_sealed_by_the_one_before_and_the_old_one_is_gone() {
    let temp = sealed(3);
    let dir = temp.path();
    let first = fs::read_to_string(dir.join("tlog/key")).unwrap();
    append(dir, "a");
    assert!(matches!(seal(dir, now(), true).unwrap(), SealOutcome::Sealed { size: 6, new: 2, epoch: 2 }));
    assert!(
        matches!(seal(dir, now(), true).unwrap(), SealOutcome::Sealed { size: 6, new: 0, epoch: 2 }),
        "nothing to seal"
    );
    append(dir, "b");
    assert!(matches!(seal(dir, now(), true).unwrap(), SealOutcome::Sealed { epoch: 3, .. }));
    append(dir, "c");
    seal(dir, now() + Duration::from_hours(25), false).unwrap();
    let audit = assert_good(dir);
    assert_eq!(audit.seal.unwrap().keys, 4, "and one by age");
    let present = fs::read_to_string(dir.join("tlog/key")).unwrap();
    assert_ne!(first, present);
    let found = std::process::Command::new("grep")
        .args(["-rF", first.lines().nth(1).unwrap()])
        .arg(dir)
        .status()
        .unwrap();
    assert!(!found.success(), "the first private key is nowhere");
    assert_eq!(names_of_keys(dir), ["key"]);
}

fn names_of_keys(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir.join("tlog"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("key") && name != "keys").collect()
}

#[test]
fn a_checkpoint_under_a_later_key_is_found() {
    let temp = sealed(3);
    let dir = temp.path();
    append(dir, "a");
    seal(dir, now(), true).unwrap();
    append(dir, "b");
    seal(dir, now(), false).unwrap();
    let checkpoints = fs::read_to_string(dir.join("tlog/checkpoints")).unwrap();
    assert_good(dir);
    // Somebody with the present key signs what the first key had sealed.
    let pem = fs::read_to_string(dir.join("tlog/key")).unwrap();
    let key =
        <ed25519_dalek::SigningKey as ed25519_dalek::pkcs8::DecodePrivateKey>::from_pkcs8_pem(&pem).unwrap();
    let mut notes = checkpoints.split_inclusive("=\n");
    let (text, _) = checkpoints.split_once("\n\n").unwrap();
    let text = format!("{text}\n");
    let signature = ed25519_dalek::Signer::sign(&key, text.as_bytes()).to_bytes();
    let last = keys(dir).unwrap().pop().unwrap().key;
    let id = last.to_string().split('+').nth(1).unwrap().to_owned();
    let id = u32::from_str_radix(&id, 16).unwrap().to_be_bytes();
    let line = <base64ct::Base64 as base64ct::Encoding>::encode_string(&[&id[..], &signature].concat());
    let forged = format!("{text}\n\u{2014} {} {line}\n", last.name());
    let rest = checkpoints.get(notes.by_ref().take(2).map(str::len).sum()..).unwrap();
    fs::write(dir.join("tlog/checkpoints"), format!("{forged}{rest}")).unwrap();
    let size = Checkpoint::parse(&forged).unwrap().size;
    assert_bad(dir, &SealProblem::KeyOfAnotherTime { size, epoch: 1, signed: 2 });
}

#[test]
fn a_handover_that_is_missing_is_found() {
    let temp = sealed(3);
    let dir = temp.path();
    append(dir, "a");
    seal(dir, now(), true).unwrap();
    append(dir, "b");
    seal(dir, now(), false).unwrap();
    fs::copy(dir.join("tlog/checkpoint"), dir.join("tlog/checkpoints")).unwrap();
    assert_bad(dir, &SealProblem::NoHandover { epoch: 2, seq: 6 });
}

#[test]
fn a_key_that_the_sealer_has_not_made_is_not_sealed() {
    let temp = sealed(3);
    let dir = temp.path();
    let line = lines(dir)[3].clone();
    let last = toolgate_evidence::last_position(dir).unwrap().unwrap();
    let forged = line.replace("\"seq\":4", "\"seq\":5").replace("\"epoch\":\"1\"", "\"epoch\":\"2\"");
    let prev = serde_json::from_str::<serde_json::Value>(&line).unwrap()["prev"].as_str().unwrap().to_owned();
    let mut all = lines(dir);
    all.push(forged.replace(&prev, &last.digest.hex()));
    write_lines(dir, &all);
    assert_eq!(check(dir).chain.problem, None);
    let refused = seal(dir, now(), false).unwrap_err();
    assert!(matches!(refused, SealError::ForeignKey { seq: 5 }), "{refused:?}");
}

#[test]
fn a_restored_backup_is_found_unless_it_is_whole_and_then_by_who_noted_a_checkpoint() {
    let temp = tempfile::tempdir().unwrap();
    let dir = &temp.path().join("state");
    let backup = &temp.path().join("backup");
    fs::create_dir(dir).unwrap();
    filled(dir, 3);
    seal(dir, now(), false).unwrap();
    copy(dir, backup);
    append(dir, "a");
    seal(dir, now(), true).unwrap();
    let noted = Checkpoint::parse(&fs::read_to_string(dir.join("tlog/checkpoint")).unwrap()).unwrap();
    // The ledger alone.
    let good = temp.path().join("good");
    copy(dir, &good);
    fs::copy(current(backup), current(dir)).unwrap();
    assert_bad(dir, &SealProblem::Cut { have: 4, sealed: 6, noted: false });
    // Everything but the key.
    copy(backup, dir);
    fs::copy(good.join("tlog/key"), dir.join("tlog/key")).unwrap();
    assert_bad(dir, &SealProblem::AnotherKey);
    assert!(matches!(seal(dir, now(), false).unwrap_err(), SealError::Key(_)));
    // Everything: what level `own` cannot find by itself.
    copy(backup, dir);
    assert_good(dir);
    let known = Known { noted: Some(noted), ..Known::default() };
    let audit = audit(dir, &known).unwrap();
    assert_eq!(audit.problems, [SealProblem::Cut { have: 4, sealed: 6, noted: true }]);
}

#[test]
fn a_forked_log_is_found_by_who_noted_a_checkpoint() {
    let temp = tempfile::tempdir().unwrap();
    let dir = &temp.path().join("state");
    let fork = &temp.path().join("fork");
    fs::create_dir(dir).unwrap();
    filled(dir, 3);
    seal(dir, now(), false).unwrap();
    copy(dir, fork);
    for (place, name) in [(dir, "one"), (fork, "other")] {
        append(place, name);
        append(place, "same");
        seal(place, now(), false).unwrap();
        assert_good(place);
    }
    let noted = Checkpoint::parse(&fs::read_to_string(dir.join("tlog/checkpoint")).unwrap()).unwrap();
    let known = Known { noted: Some(noted), ..Known::default() };
    assert_eq!(audit(dir, &known).unwrap().outcome, AuditOutcome::Good);
    assert_eq!(audit(fork, &known).unwrap().problems, [SealProblem::Forked { after: 0, size: 6 }]);
}

#[test]
fn a_log_that_was_written_anew_is_found_by_its_first_key() {
    let one = sealed(3);
    let other = sealed(3);
    let known =
        Known { first_key: keys(one.path()).unwrap().pop().map(|epoch| epoch.key), ..Known::default() };
    assert_eq!(audit(one.path(), &known).unwrap().outcome, AuditOutcome::Good);
    assert_eq!(audit(other.path(), &known).unwrap().problems, [SealProblem::AnotherFirstKey]);
}

#[test]
fn a_changed_tile_is_told_from_a_changed_record_and_made_again() {
    let temp = sealed(600);
    let dir = temp.path();
    for (name, problem) in [
        ("tlog/tile/0/001", SealProblem::Tile { level: 0, index: 300 }),
        ("tlog/tile/1/000.p/2", SealProblem::Tile { level: 1, index: 1 }),
    ] {
        let path = dir.join(name);
        let mut tile = fs::read(&path).unwrap();
        let at = if name.contains("/0/") { 44 * 32 } else { 32 };
        tile[at] ^= 1;
        fs::write(&path, &tile).unwrap();
        assert_bad(dir, &problem);
        fs::remove_file(&path).unwrap();
        assert_eq!(check(dir).outcome, AuditOutcome::Bad, "{name}");
        if name.contains("/1/") {
            assert!(matches!(seal(dir, now(), false).unwrap(), SealOutcome::Sealed { .. }));
        } else {
            tile[at] ^= 1;
            fs::write(&path, &tile).unwrap();
        }
        assert_good(dir);
    }
}

#[test]
fn a_proof_is_about_one_line_and_one_key() {
    let temp = sealed(20);
    let dir = temp.path();
    let proved = prove(dir, 7).unwrap();
    assert_eq!(proved.proof.shows(&proved.line, &proved.key), Shown::InTheLog);
    assert_eq!(proved.proof.shows(b"{}", &proved.key), Shown::AnotherLine);
    let other = sealed(1);
    let foreign = keys(other.path()).unwrap().pop().unwrap().key;
    assert_eq!(proved.proof.shows(&proved.line, &foreign), Shown::AnotherKey);
    let text = proved.proof.to_string();
    let changed =
        toolgate_evidence::proof::InclusionProof::parse(&text.replace("index 6", "index 5")).unwrap();
    assert_eq!(changed.shows(&proved.line, &proved.key), Shown::AnotherLine);
    assert!(prove(dir, 22).is_err() && prove(dir, 0).is_err());
}

/// What somebody else adds to the last checkpoint.
#[test]
fn what_a_witness_has_signed_is_kept_and_checked_with_its_key() {
    use base64ct::{Base64, Encoding};
    use ed25519_dalek::Signer;
    let temp = sealed(3);
    let dir = temp.path();
    let checkpoint = fs::read_to_string(dir.join("tlog/checkpoint")).unwrap();
    let text = format!("{}\n", checkpoint.split_once("\n\n").unwrap().0);
    let key = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
    let public = [&[4][..], key.verifying_key().as_bytes()].concat();
    let sum = sha2::Sha256::new_with_prefix([b"w.example\n", &public[..]].concat()).finalize();
    let vkey = format!(
        "w.example+{:08x}+{}",
        u32::from_be_bytes(sum[..4].try_into().unwrap()),
        Base64::encode_string(&public)
    );
    let witness = NoteKey::parse(&vkey).unwrap();
    let line = |signed: &str| {
        let signature = key.sign(format!("cosignature/v1\ntime 1800000000\n{signed}").as_bytes()).to_bytes();
        let bytes = [&sum[..4], &1_800_000_000_u64.to_be_bytes(), &signature].concat();
        format!("\u{2014} w.example {}\n", Base64::encode_string(&bytes))
    };
    assert!(anchor::cosign(dir, "nonsense").is_err());
    assert_eq!(anchor::cosign(dir, &line(&text)).unwrap(), (4, 1));
    assert_eq!(anchor::cosign(dir, &format!("{checkpoint}{}", line(&text))).unwrap(), (4, 0));
    assert!(anchor::attach_stamp(dir, b"of something else").is_err());
    let digest = sha2::Sha256::digest(text.as_bytes());
    assert_eq!(anchor::attach_stamp(dir, &[b"a stamp of ", &digest[..]].concat()).unwrap(), 4);
    // A later checkpoint does not take its place.
    append(dir, "later");
    seal(dir, now(), false).unwrap();
    let known = Known { witnesses: vec![witness], ..Known::default() };
    let seal = audit(dir, &known).unwrap().seal.unwrap();
    assert_eq!((seal.checkpoints, seal.size), (2, 5));
    let told: Vec<_> =
        seal.witnessed.iter().map(|one| (one.size, one.by.as_str(), one.checked, one.time)).collect();
    assert_eq!(told, [(4, "w.example", true, Some(1_800_000_000)), (4, "a time stamp", false, None)]);
    assert_eq!(
        assert_good(dir).seal.unwrap().witnessed.iter().filter(|one| one.checked).count(),
        0,
        "without its key"
    );
    // A signature of something else under its name.
    anchor::cosign(dir, &line("another text\n")).unwrap();
    let found = audit(dir, &known).unwrap();
    assert_eq!(found.problems, [SealProblem::BadCosignature { size: 5, by: "w.example".into() }]);
}

/// Writers are killed while sealers run, and some of those too.
#[test]
fn killed_writers_and_killed_sealers_leave_a_whole_log() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    filled(dir, 1);
    let answered = dir.join("answered");
    fs::create_dir(&answered).unwrap();
    for round in 0..4 {
        let spawn = |test: &str| child::command(test, dir, usize::MAX, "exec \"$@\"").spawn().unwrap();
        let mut children: Vec<_> = (0..64).map(|_| spawn("child::appends_and_answers")).collect();
        children.push(spawn("child::seals"));
        thread::sleep(Duration::from_millis(900 + 130 * round));
        for mut child in children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_good(dir);
    }
    append(dir, "last");
    seal(dir, now(), false).unwrap();
    let audit = assert_good(dir);
    let seal = audit.seal.unwrap();
    assert_eq!(seal.unsealed, 0);
    let written: std::collections::BTreeSet<_> = names(dir).into_iter().collect();
    let mut count = 0;
    for file in fs::read_dir(&answered).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        for name in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            assert!(written.contains(name), "{name} was answered and is not in the ledger");
            count += 1;
        }
    }
    assert!(count > 64 && seal.keys > 1, "{count} answered, {} keys", seal.keys);
}

/// Whoever takes the seal away leaves the records that name its keys, and the next seal stands under another name.
#[test]
fn a_seal_that_was_taken_away_is_missed_and_one_that_was_made_anew_is_told_apart() {
    let temp = sealed(3);
    let dir = temp.path();
    append(dir, "later");
    let whole = tempfile::tempdir().unwrap();
    copy(dir, &whole.path().join("state"));
    let gone = SealProblem::SealGone { seq: Some(4) };
    for files in [&["checkpoints"][..], &["origin"], &["checkpoints", "memory"]] {
        copy(&whole.path().join("state"), dir);
        for file in files {
            fs::remove_file(dir.join("tlog").join(file)).unwrap();
        }
        assert_bad(dir, &gone);
        assert!(matches!(seal(dir, now(), false).unwrap_err(), SealError::Gone));
        assert_bad(dir, &gone);
    }
    // All of it is gone, and the log was cut: records that were sealed are missing.
    copy(&whole.path().join("state"), dir);
    fs::remove_dir_all(dir.join("tlog")).unwrap();
    assert_bad(dir, &gone);
    write_lines(dir, &lines(dir)[..4]);
    assert_bad(dir, &gone);
    assert!(matches!(seal(dir, now(), false).unwrap(), SealOutcome::Sealed { .. }));
    assert_bad(dir, &SealProblem::SealedAnew { seq: 4 });
    append(dir, "much later");
    seal(dir, now(), true).unwrap();
    assert_bad(dir, &SealProblem::SealedAnew { seq: 4 });
}

/// A first seal that was killed has named its key and signed nothing.
#[test]
fn a_first_seal_that_was_killed_goes_on() {
    let temp = sealed(3);
    let dir = temp.path();
    for file in ["checkpoints", "checkpoint", "checkpoint.pem", "memory", "next", "keys"] {
        fs::remove_file(dir.join("tlog").join(file)).unwrap();
    }
    let audit = check(dir);
    assert_eq!(
        (audit.outcome, &audit.problems[..]),
        (AuditOutcome::CannotTell, &[SealProblem::Unfinished][..])
    );
    seal(dir, now(), false).unwrap();
    assert_good(dir);
}

/// What other tools check with, and what the next seal needs.
#[test]
fn a_key_that_was_changed_is_told() {
    let temp = sealed(3);
    let dir = temp.path();
    for name in ["checkpoint.pem", "key"] {
        let path = dir.join("tlog").join(name);
        let before = fs::read(&path).unwrap();
        let other = sealed(1);
        fs::write(&path, fs::read(other.path().join("tlog/checkpoint.pem")).unwrap()).unwrap();
        assert_bad(dir, &SealProblem::Damaged { path: path.clone() });
        fs::write(&path, before).unwrap();
        assert_good(dir);
    }
    // Whoever checks a copy has neither.
    fs::remove_file(dir.join("tlog/key")).unwrap();
    fs::remove_file(dir.join("tlog/checkpoint.pem")).unwrap();
    assert_good(dir);
}

/// The key record behind a change is another line, or elsewhere: the key is no other.
#[test]
fn a_change_before_a_key_record_is_no_word_about_the_key() {
    let temp = sealed(5);
    let dir = temp.path();
    let mut all = lines(dir);
    all.remove(1);
    write_lines(dir, &all);
    let problems = check(dir).problems;
    assert!(!problems.is_empty());
    assert!(!problems.iter().any(|problem| matches!(problem, SealProblem::KeyRecord { .. })), "{problems:?}");
}
