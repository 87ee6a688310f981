//! Tests that are run by other tests, in a process of their own. Run by a person, they do nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use toolgate_evidence::{Ledger, LedgerError};

use crate::support::{assert_whole, bytes, draft, soon};

const DIR: &str = "LEDGER_TEST_DIR";
const COUNT: &str = "LEDGER_TEST_COUNT";

/// This test binary, running one of the tests below. `wrapper` is a shell text that ends in `exec "$@"`.
pub(crate) fn command(test: &str, dir: &Path, count: usize, wrapper: &str) -> Command {
    let mut command = Command::new("bash");
    command
        .args(["-c", wrapper, "bash"])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(DIR, dir)
        .env(COUNT, count.to_string())
        .stdout(std::process::Stdio::piped());
    command
}

/// Runs one of the tests below to its end, and holds it to having run: a harness that finds no such test succeeds too.
pub(crate) fn run(test: &str, dir: &Path, wrapper: &str) {
    let output = command(test, dir, 0, wrapper).output().unwrap();
    let ran = String::from_utf8_lossy(&output.stdout).contains("test result: ok. 1 passed");
    assert!(output.status.success() && ran, "{test}: {output:?}");
}

fn dir() -> Option<PathBuf> {
    std::env::var_os(DIR).map(PathBuf::from)
}

fn count() -> usize {
    std::env::var(COUNT).unwrap().parse().unwrap()
}

#[test]
#[ignore = "run by other tests"]
fn appends() {
    let Some(dir) = dir() else { return };
    let ledger = Ledger::at(&dir).full_at(64 * 1024);
    for index in 0..count() {
        let name = format!("{}-{index}", std::process::id());
        ledger.append(draft(&name), soon()).unwrap();
    }
}

#[test]
#[ignore = "run by other tests"]
fn appends_until_full() {
    let Some(dir) = dir() else { return };
    let ledger = Ledger::at(&dir);
    let mut written = 0;
    loop {
        let before = std::fs::read(dir.join("ledger.jsonl")).unwrap_or_default();
        match ledger.append(draft("a"), soon()) {
            Ok(_) => written += 1,
            Err(LedgerError::Full { .. }) => {
                assert_eq!(bytes(&dir), before, "the file is as it was");
                break;
            }
            Err(error) => panic!("{error:?}"),
        }
        assert!(written < 10_000, "never full");
    }
    assert!(written > 1);
    assert_whole(&dir, written);
}

#[test]
#[ignore = "run by other tests"]
fn is_refused() {
    let Some(dir) = dir() else { return };
    let error = Ledger::at(&dir).append(draft("a"), soon()).unwrap_err();
    assert!(matches!(error, LedgerError::Refused { .. }), "{error:?}");
}

/// Appends, and notes each name once its record is there, as a host hears an answer.
#[test]
#[ignore = "run by other tests"]
fn appends_and_answers() {
    use std::io::Write as _;
    let Some(dir) = dir() else { return };
    let ledger = Ledger::at(&dir).full_at(64 * 1024);
    let mut answers =
        std::fs::File::create(dir.join("answered").join(std::process::id().to_string())).unwrap();
    for index in 0..count() {
        let name = format!("{}-{index}", std::process::id());
        ledger.append(draft(&name), soon()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(8));
        answers.write_all(format!("{name}\n").as_bytes()).unwrap();
    }
}

/// Seals without end, with a new key each time.
#[test]
#[ignore = "run by other tests"]
fn seals() {
    let Some(dir) = dir() else { return };
    for _ in 0..count() {
        toolgate_evidence::proof::seal(&dir, std::time::SystemTime::now(), true).unwrap();
    }
}
