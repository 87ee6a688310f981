//! A line that is named by number and digest is found again, and only as it was.

use std::fs;

use toolgate_evidence::{Digest, Ledger, last_position, position_of};

use crate::support::{bytes, current, draft, filled, soon};

#[test]
fn the_last_position_is_the_last_whole_line() {
    let temp = tempfile::tempdir().unwrap();
    assert_eq!(last_position(temp.path()).unwrap(), None);
    filled(temp.path(), 3);
    let text = bytes(temp.path());
    let last = text.split(|&byte| byte == b'\n').nth(2).unwrap();
    let found = last_position(temp.path()).unwrap().unwrap();
    assert_eq!((found.seq, found.digest), (3, Digest::of(last)));
    fs::write(current(temp.path()), [text.as_slice(), b"{\"seq\":4"].concat()).unwrap();
    assert_eq!(last_position(temp.path()).unwrap(), Some(found), "half a line is none");
}

#[test]
fn each_line_is_found_in_whichever_file_holds_it() {
    let temp = tempfile::tempdir().unwrap();
    let ledger = Ledger::at(temp.path()).full_at(2048);
    let mut noted = Vec::new();
    for name in 0..20 {
        ledger.append(draft(&name.to_string()), soon()).unwrap();
        noted.push(last_position(temp.path()).unwrap().unwrap());
    }
    for position in &noted {
        assert_eq!(position_of(&Ledger::at(temp.path()), position.seq).unwrap(), Some(*position));
    }
    assert_eq!(
        (
            position_of(&Ledger::at(temp.path()), 0).unwrap(),
            position_of(&Ledger::at(temp.path()), 21).unwrap()
        ),
        (None, None)
    );
    fs::remove_file(current(temp.path())).unwrap();
    let full = last_position(temp.path()).unwrap().unwrap();
    assert_eq!(full, noted[usize::try_from(full.seq).unwrap() - 1], "the last of the full files");
}

#[test]
fn a_changed_line_has_another_digest_and_a_cut_one_is_missing() {
    let temp = tempfile::tempdir().unwrap();
    filled(temp.path(), 4);
    let noted = last_position(temp.path()).unwrap().unwrap();
    let text = String::from_utf8(bytes(temp.path())).unwrap();
    fs::write(current(temp.path()), text.replace("\"file_path\":\"3\"", "\"file_path\":\"5\"")).unwrap();
    assert_ne!(position_of(&Ledger::at(temp.path()), 4).unwrap().unwrap().digest, noted.digest);
    let kept: String = text.split_inclusive('\n').take(3).collect();
    fs::write(current(temp.path()), kept).unwrap();
    assert_eq!(position_of(&Ledger::at(temp.path()), 4).unwrap(), None);
}
