//! Every way of changing a ledger that a chain can show.

use std::fs;
use std::path::Path;

use toolgate_evidence::{Digest, Fault, Ledger, verify};

use crate::support::{assert_whole, bytes, current, draft, filled, soon};

/// Where the problem is and what, after `change` was made to five lines.
fn after(change: impl FnOnce(&mut Vec<String>)) -> Option<(u64, Fault)> {
    let temp = tempfile::tempdir().unwrap();
    filled(temp.path(), 5);
    let text = String::from_utf8(bytes(temp.path())).unwrap();
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    change(&mut lines);
    fs::write(current(temp.path()), lines.join("\n") + "\n").unwrap();
    let problem = verify(temp.path()).unwrap().problem?;
    assert_eq!(problem.file, current(temp.path()));
    Some((problem.line, problem.what))
}

#[test]
fn an_untouched_ledger_is_whole() {
    assert_eq!(after(|_| {}), None);
}

#[test]
fn an_edited_line_is_found() {
    for line in 0..4 {
        let found = after(|lines| lines[line] = lines[line].replace("Read", "Edit"));
        assert_eq!(found, Some((line as u64 + 2, Fault::Link)));
    }
    // Even a space that changes nothing.
    assert_eq!(after(|lines| lines[1].insert(1, ' ')), Some((3, Fault::Link)));
    assert_eq!(after(|lines| lines[2].truncate(20)), Some((3, Fault::NotARecord)));
}

#[test]
fn a_removed_line_is_found() {
    for line in 0..4 {
        let wanted = line as u64 + 1;
        let found = after(|lines| drop(lines.remove(line)));
        let number = Fault::Number { wanted, found: wanted + 1 };
        assert_eq!(found, Some((wanted, number)));
    }
}

#[test]
fn a_removed_line_is_found_even_with_corrected_numbers() {
    let found = after(|lines| {
        lines.remove(2);
        lines[2] = lines[2].replace("\"seq\":4", "\"seq\":3");
        lines[3] = lines[3].replace("\"seq\":5", "\"seq\":4");
    });
    assert_eq!(found, Some((3, Fault::Link)));
}

#[test]
fn an_inserted_line_is_found() {
    for line in 0..4 {
        let number = line as u64 + 1;
        let doubled = after(|lines| lines.insert(line + 1, lines[line].clone()));
        assert_eq!(doubled, Some((number + 1, Fault::Number { wanted: number + 1, found: number })));
        assert_eq!(after(|lines| lines.insert(line, String::new())), Some((number, Fault::NotARecord)));
        // One that is linked to the line before, as well as a forger can.
        let found = after(|lines| {
            let forged = lines[line + 1].replace("Read", "Edit");
            assert!(forged.contains(&Digest::of(lines[line].as_bytes()).hex()));
            lines.insert(line + 1, forged);
        });
        assert!(matches!(found, Some((at, Fault::Number { .. })) if at == line as u64 + 3));
    }
}

#[test]
fn moved_lines_are_found() {
    for line in 0..4 {
        let number = line as u64 + 1;
        let swapped = after(|lines| lines.swap(line, line + 1));
        assert_eq!(swapped, Some((number, Fault::Number { wanted: number, found: number + 1 })));
    }
}

#[test]
fn a_cut_at_the_very_end_is_not_found() {
    // The limit that the documentation of `verify` states.
    assert_eq!(after(|lines| lines.truncate(3)), None);
    assert_eq!(after(|lines| lines[4] = lines[4].replace("Read", "Edit")), None);
}

/// A ledger of several files.
fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let ledger = Ledger::at(dir).full_at(1200);
    for name in 0..20 {
        ledger.append(draft(&name.to_string()), soon()).unwrap();
    }
    let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 4);
    assert_whole(dir, 20);
    files
}

#[test]
fn a_missing_file_is_found() {
    let count = files(tempfile::tempdir().unwrap().path()).len();
    for missing in 0..count {
        let temp = tempfile::tempdir().unwrap();
        let files = files(temp.path());
        fs::remove_file(&files[missing]).unwrap();
        let problem = verify(temp.path()).unwrap().problem.unwrap();
        match problem.what {
            Fault::Number { .. } => assert_eq!(problem.line, 1),
            Fault::NewestFileMissing => assert_eq!(problem.file, current(temp.path())),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_renamed_emptied_or_cut_file_is_found() {
    let temp = tempfile::tempdir().unwrap();
    let first = files(temp.path()).remove(0);
    fs::rename(&first, temp.path().join("ledger.000000000002.jsonl")).unwrap();
    assert_eq!(verify(temp.path()).unwrap().problem.unwrap().what, Fault::Name);

    let temp = tempfile::tempdir().unwrap();
    let first = files(temp.path()).remove(0);
    fs::write(&first, "").unwrap();
    assert_eq!(verify(temp.path()).unwrap().problem.unwrap().what, Fault::NotARecord);

    let temp = tempfile::tempdir().unwrap();
    let first = files(temp.path()).remove(0);
    let text = fs::read(&first).unwrap();
    fs::write(&first, &text[..text.len() - 1]).unwrap();
    assert_eq!(verify(temp.path()).unwrap().problem.unwrap().what, Fault::Unended);
}

#[test]
fn a_problem_is_described_in_words() {
    let temp = tempfile::tempdir().unwrap();
    filled(temp.path(), 3);
    let text = String::from_utf8(bytes(temp.path())).unwrap();
    fs::write(current(temp.path()), text.replacen("Read", "Edit", 1)).unwrap();
    let problem = verify(temp.path()).unwrap().problem.unwrap();
    assert_eq!(
        problem.to_string(),
        format!(
            "line 2 of `{}` does not follow from the line before it: one of the two was changed",
            current(temp.path()).display()
        )
    );
}
