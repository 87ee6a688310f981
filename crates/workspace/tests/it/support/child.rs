//! Tests that are run by other tests, in a process of their own. Run by a person, they do nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const DIR: &str = "WORKSPACE_TEST_DIR";

/// This test binary, running one of its tests that are for children alone. `wrapper` is a shell text that ends in
/// `exec "$@"`.
pub(crate) fn child(test: &str, dir: &Path, wrapper: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", wrapper, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(DIR, dir)
        .stdin(Stdio::null());
    command
}

/// What the child was given; nothing for a person.
pub(crate) fn dir() -> Option<PathBuf> {
    std::env::var_os(DIR).map(PathBuf::from)
}
