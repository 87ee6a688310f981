//! Children that may mount, in a user and mount namespace of their own.

use std::io::{self, Write as _};
use std::process::{Command, Stdio};

/// Makes a child one that may mount.
pub(crate) const MAY_MOUNT: &str = r#"exec unshare -rm "$@""#;

/// Whether the system lets us have such children. Where it does not, what is left out is said past the harness, which
/// captures what a test prints. Where `CI` is set that is a failure: there everything has to be tested.
pub(crate) fn may_mount(left_out: &str) -> bool {
    let tried = Command::new("unshare").args(["-rm", "true"]).stderr(Stdio::null()).status();
    let may = tried.is_ok_and(|status| status.success());
    if !may {
        assert!(std::env::var_os("CI").is_none(), "must not be skipped in CI: {left_out}");
        writeln!(io::stderr(), "SKIPPED, as there is no user and mount namespace to be had: {left_out}")
            .unwrap();
    }
    may
}
