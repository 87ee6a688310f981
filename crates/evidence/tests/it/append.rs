//! What one writer can rely on.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, Instant};

use toolgate_evidence::{Ledger, LedgerError, Records, verify};
use toolgate_model::{Decision, FindingKind};
use toolgate_secrets::redact;

use crate::child;
use crate::support::{all, assert_whole, bytes, current, draft, filled, names, soon};

#[test]
fn the_first_append_makes_a_private_directory_and_counts_from_one() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("a/b");
    let ledger = Ledger::at(&dir);
    assert_eq!(ledger.append(draft("x"), soon()).unwrap(), 1);
    assert_eq!(ledger.append(draft("y"), soon()).unwrap(), 2);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    assert_eq!(mode(&current(&dir)), 0o600);
    let records = all(&dir);
    assert_eq!(records[0].prev, "0".repeat(64));
    assert_eq!(records[1].seq, 2);
    assert_whole(&dir, 2);
}

#[test]
fn a_missing_ledger_is_read_as_an_empty_one() {
    let temp = tempfile::tempdir().unwrap();
    let nowhere = temp.path().join("nowhere");
    assert_eq!(Ledger::at(&nowhere).all().unwrap().count(), 0);
    assert_eq!(verify(&nowhere).unwrap().lines, 0);
}

#[test]
fn a_record_that_is_withdrawn_under_the_lock_is_not_written() {
    let temp = tempfile::tempdir().unwrap();
    let ledger = filled(temp.path(), 2);
    let torn = [&bytes(temp.path())[..], b"half a line"].concat();
    fs::write(current(temp.path()), &torn).unwrap();
    let is_locked = || File::open(current(temp.path())).unwrap().try_lock().is_err();
    let withdrawn = || {
        assert!(is_locked(), "nobody writes in between");
        true
    };
    assert_eq!(ledger.append_unless(draft("x"), soon(), withdrawn).unwrap(), None);
    assert_eq!(bytes(temp.path()), torn, "the file is as it was");
    assert_eq!(ledger.append_unless(draft("y"), soon(), || false).unwrap(), Some(4), "after the repair");
    assert_eq!(names(temp.path()), ["0", "1", "repair", "y"]);
    assert_whole(temp.path(), 4);
}

#[test]
fn no_secret_reaches_the_file() {
    let temp = tempfile::tempdir().unwrap();
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let text = format!("curl -H 'Authorization: Bearer qwertz' https://u:hunter2@h/ {token}");
    let draft = draft(&text)
        .session(redact(&text))
        .agent(redact(&text))
        .tool(redact(&text))
        .root(redact(&text))
        .call(redact(&text))
        .user(redact(&text))
        .machine(redact(&text))
        .unproved("program", redact(&text))
        .arg(redact(&text), redact(&text))
        .arg(redact("password"), redact("geheim"))
        .finding("p", FindingKind::Secret, Decision::Deny, redact(&text), redact(&text));
    Ledger::at(temp.path()).append(draft, soon()).unwrap();
    let line = String::from_utf8(bytes(temp.path())).unwrap();
    for secret in [token, "hunter2", "qwertz", "geheim"] {
        assert!(!line.contains(secret), "{line}");
    }
    assert!(line.contains("[GITHUB_TOKEN REDACTED]"));
}

#[test]
fn a_full_file_is_continued_in_a_new_one() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let ledger = Ledger::at(dir).full_at(2048);
    for name in 0..40 {
        let seq = ledger.append(draft(&name.to_string()), soon()).unwrap();
        assert_eq!(seq, name + 1);
    }
    let report = assert_whole(dir, 40);
    assert!(report.segments > 3, "{report:?}");
    assert!(dir.join("ledger.000000000001.jsonl").exists());
    assert!(fs::metadata(current(dir)).unwrap().len() < 4096);
    let wanted: Vec<_> = (0..40).map(|name| name.to_string()).collect();
    assert_eq!(names(dir), wanted);
}

#[test]
fn a_full_file_does_not_replace_another_file_of_its_name() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    filled(dir, 3);
    let taken = dir.join("ledger.000000000001.jsonl");
    fs::write(&taken, "somebody's").unwrap();
    let seq = Ledger::at(dir).full_at(1).append(draft("x"), soon()).unwrap();
    assert_eq!(seq, 4);
    assert_eq!(fs::read_to_string(&taken).unwrap(), "somebody's");
    assert!(verify(dir).unwrap().problem.is_some());
}

#[test]
fn an_append_to_a_locked_ledger_fails_at_its_deadline() {
    let temp = tempfile::tempdir().unwrap();
    filled(temp.path(), 1);
    let before = bytes(temp.path());
    let holder = File::open(current(temp.path())).unwrap();
    holder.lock().unwrap();
    let start = Instant::now();
    let result = Ledger::at(temp.path()).append(draft("x"), start + Duration::from_millis(30));
    assert!(matches!(result, Err(LedgerError::Busy { .. })), "{result:?}");
    assert!(start.elapsed() >= Duration::from_millis(30));
    assert_eq!(bytes(temp.path()), before);
    // A reader does not depend on it.
    assert_eq!(names(temp.path()), ["0"]);
}

#[test]
fn an_append_names_the_path_that_is_in_its_way() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("file");
    fs::write(&file, "x").unwrap();
    for dir in [file.clone(), file.join("below")] {
        let error = Ledger::at(&dir).append(draft("x"), soon()).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("not a directory"), "{text}");
        assert!(text.contains(dir.to_str().unwrap()), "{text}");
        assert!(!text.contains("os error"), "{text}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "x");

    let linked = temp.path().join("linked");
    fs::create_dir(&linked).unwrap();
    symlink(&file, current(&linked)).unwrap();
    let error = Ledger::at(&linked).append(draft("x"), soon()).unwrap_err();
    assert!(matches!(error, LedgerError::NotAFile { .. }), "{error:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "x");
}

#[test]
fn an_append_that_hits_a_size_limit_leaves_the_file_unchanged() {
    let temp = tempfile::tempdir().unwrap();
    // Without the trap the system would end the process instead of failing the write.
    let wrapper = "trap '' XFSZ; ulimit -f 10; exec \"$@\"";
    child::run("child::appends_until_full", temp.path(), wrapper);
    let written = all(temp.path()).len() as u64;
    assert!(written > 1, "{written}");
    assert_eq!(Ledger::at(temp.path()).append(draft("x"), soon()).unwrap(), written + 1);
    assert_whole(temp.path(), written + 1);
}

/// Whether this system lets us mount in a namespace of our own. Containers often do not. Where `CI` is set that is a
/// failure: there everything has to be tested.
fn can_mount() -> bool {
    let mount = "mount -t tmpfs none /mnt";
    let result = std::process::Command::new("unshare").args(["-rm", "sh", "-c", mount]).output();
    let can = result.is_ok_and(|output| output.status.success());
    if !can {
        let left_out = "a full and a read-only disk";
        assert!(std::env::var_os("CI").is_none(), "must not be skipped in CI: {left_out}");
        // Past the harness, which captures what a test prints.
        writeln!(io::stderr(), "SKIPPED, as mounting is not allowed: {left_out}").unwrap();
    }
    can
}

#[test]
fn an_append_to_a_full_or_read_only_disk_is_an_error() {
    if !can_mount() {
        return;
    }
    for (test, options) in [("child::appends_until_full", "size=32k"), ("child::is_refused", "ro")] {
        let temp = tempfile::tempdir().unwrap();
        let wrapper = format!(
            "exec unshare -rm sh -c 'mount -t tmpfs -o {options} none {} && exec \"$@\"' sh \"$@\"",
            temp.path().display()
        );
        child::run(test, temp.path(), &wrapper);
    }
}
