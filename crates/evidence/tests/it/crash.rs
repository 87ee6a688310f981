//! What a crash leaves is put aside and named, and no line before it is lost.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::Duration;

use toolgate_evidence::{Digest, Ledger, verify};

use crate::child;
use crate::support::{all, assert_whole, bytes, current, draft, filled, names, soon};

fn append_bytes(dir: &Path, bytes: &[u8]) {
    let mut file = OpenOptions::new().append(true).open(current(dir)).unwrap();
    file.write_all(bytes).unwrap();
}

/// The one file that was put aside.
fn torn(dir: &Path) -> Vec<u8> {
    let mut files: Vec<_> = fs::read_dir(dir.join("torn")).unwrap().collect();
    assert_eq!(files.len(), 1);
    fs::read(files.remove(0).unwrap().path()).unwrap()
}

#[test]
fn killed_writers_leave_a_whole_ledger() {
    let temp = tempfile::tempdir().unwrap();
    for round in 0..12 {
        let children: Vec<_> = (0..3)
            .map(|_| {
                child::command("child::appends", temp.path(), usize::MAX, "exec \"$@\"").spawn().unwrap()
            })
            .collect();
        thread::sleep(Duration::from_millis(15 + 3 * round));
        for mut child in children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let seq = Ledger::at(temp.path()).append(draft("next"), soon()).unwrap();
        assert_whole(temp.path(), seq);
    }
    let records = all(temp.path());
    assert!(records.len() > 12, "the children have written too");
}

#[test]
fn a_line_cut_at_any_byte_is_repaired() {
    let whole = tempfile::tempdir().unwrap();
    filled(whole.path(), 3);
    let text = bytes(whole.path());
    let last_length =
        text.len() - text[..text.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap() - 1;
    for cut in 1..=last_length {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        let rest = &text[..text.len() - cut];
        fs::write(current(dir), rest).unwrap();
        let left = &rest[text.len() - last_length..];
        assert_eq!(verify(dir).unwrap().torn, !left.is_empty());
        assert_eq!(names(dir), ["0", "1"]);
        Ledger::at(dir).append(draft("new"), soon()).unwrap();
        if left.is_empty() {
            // The whole line is gone: nothing is left that could be seen.
            assert_eq!(names(dir), ["0", "1", "new"]);
            continue;
        }
        assert_eq!(names(dir), ["0", "1", "repair", "new"]);
        assert_whole(dir, 4);
        assert_eq!(torn(dir), left);
        let digest = Digest::of(left);
        let args = &all(dir)[2].args;
        let file = format!("torn/3-{}", digest.hex().get(..8).unwrap());
        assert_eq!(args[0], ("bytes".to_owned(), left.len().to_string()));
        assert_eq!(args[1], ("digest".to_owned(), digest.to_string()));
        assert_eq!(args[2], ("file".to_owned(), file));
    }
}

#[test]
fn junk_after_the_last_record_is_put_aside() {
    for junk in [
        b"not a record\n".to_vec(),
        b"{\"seq\":9}\n".to_vec(),
        b"\n".to_vec(),
        b"one\ntwo\nthree".to_vec(),
        // Blocks that were given out but not filled before the power went.
        vec![0; 100_000],
        b"\xff\xfe\n".repeat(10_000),
    ] {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        filled(dir, 2);
        append_bytes(dir, &junk);
        Ledger::at(dir).append(draft("new"), soon()).unwrap();
        assert_eq!(names(dir), ["0", "1", "repair", "new"]);
        assert_whole(dir, 4);
        assert_eq!(torn(dir), junk);
    }
}

#[test]
fn a_torn_first_line_is_repaired() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(current(temp.path()), "{\"seq\":1,\"ti").unwrap();
    assert_eq!(Ledger::at(temp.path()).append(draft("new"), soon()).unwrap(), 2);
    assert_eq!(names(temp.path()), ["repair", "new"]);
    assert_whole(temp.path(), 2);
}

#[test]
fn the_chain_goes_on_after_a_crash_between_the_steps_of_a_rotation() {
    for left in [None, Some(""), Some("{\"seq\":4,")] {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        let ledger = filled(dir, 3);
        fs::rename(current(dir), dir.join("ledger.000000000001.jsonl")).unwrap();
        if let Some(left) = left {
            fs::write(current(dir), left).unwrap();
        }
        ledger.append(draft("new"), soon()).unwrap();
        let found = names(dir);
        assert_eq!(found[..3], ["0", "1", "2"]);
        assert_eq!(found.last().unwrap(), "new");
        assert_whole(dir, found.len() as u64);
    }
}

#[test]
fn a_torn_end_that_cannot_be_put_aside_is_kept() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    filled(dir, 2);
    append_bytes(dir, b"torn");
    fs::write(dir.join("torn"), "a file where the directory should be").unwrap();
    let before = bytes(dir);
    Ledger::at(dir).append(draft("new"), soon()).unwrap_err();
    assert_eq!(bytes(dir), before);
}
