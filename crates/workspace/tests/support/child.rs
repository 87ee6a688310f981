//! Tests that are run by other tests, in a process of their own. Run by a person, they do nothing.

use std::io::{self, Write as _};
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

/// A child that may mount, where the system lets us have one.
pub(crate) fn may_mount() -> bool {
    let tried = Command::new("unshare").args(["-rm", "true"]).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

/// Makes a child one that may mount.
pub(crate) const MAY_MOUNT: &str = r#"exec unshare -rm "$@""#;

/// Said past the harness, which keeps what a test that passes says to itself.
pub(crate) fn say(text: &str) {
    writeln!(io::stderr(), "{text}").unwrap();
}
