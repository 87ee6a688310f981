//! Whether a sandbox holds on this machine: toolgate makes one, and a program inside tries what it must not be able to do.
//!
//! Set-up asks for each right that the kernel gives, and ends if a step fails. This test is about the rest: a kernel that accepts a
//! rule and does not enforce it, as some have done, and a mistake of ours. It runs once for each start of the machine and each
//! build of the program.
//!
//! ```text
//! supervisor ── the same program again, as `probe`, in a sandbox
//! ```

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};

use crate::kernel::Kernel;
use crate::outcome::{Ended, Error};
use crate::plan::{Grant, Level, Plan, Rights};
use crate::run;
#[cfg(target_os = "linux")]
use crate::sys::{self, Fork};

/// What a program is given to read: the loader and its libraries lie there.
const SYSTEM: [&str; 6] = ["/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/nix/store"];
/// A probe that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(5);
/// The names in the directory of a test.
const OPEN: &str = "open";
const CLOSED: &str = "closed";
const READ: &str = "read";
const MADE: &str = "made";

/// Something that a sandbox did not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leak {
    /// A closed file could be opened.
    Read,
    /// A file could be written that may only be read.
    Write,
    /// A file could be made in a closed place.
    Make,
    /// A process outside could be sent a signal.
    Signal,
    /// New namespaces could be made.
    Namespace,
    /// Nothing leaked, but what is open could not be written.
    Shut,
}

impl Leak {
    const ALL: [Leak; 6] = [Leak::Read, Leak::Write, Leak::Make, Leak::Signal, Leak::Namespace, Leak::Shut];

    /// The exit code of a probe that found it.
    fn code(self) -> i32 {
        let at = Leak::ALL.iter().position(|leak| *leak == self).unwrap_or_default();
        FIRST_CODE + i32::try_from(at).unwrap_or_default()
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Leak::Read => "read",
            Leak::Write => "write",
            Leak::Make => "make",
            Leak::Signal => "signal",
            Leak::Namespace => "namespace",
            Leak::Shut => "shut",
        }
    }

    /// The leak of this word.
    pub fn of(word: &str) -> Option<Leak> {
        Leak::ALL.into_iter().find(|leak| leak.word() == word)
    }

    /// What happened, as a sentence without its end.
    pub fn told(self) -> &'static str {
        match self {
            Leak::Read => "a closed file could be read in the sandbox",
            Leak::Write => "a file that may only be read could be written in the sandbox",
            Leak::Make => "a file could be made in a closed place",
            Leak::Signal => "a process outside could be sent a signal",
            Leak::Namespace => "new namespaces could be made in the sandbox",
            Leak::Shut => "what is open could not be written in the sandbox",
        }
    }
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.told())
    }
}

/// Other codes are those of programs that could not be started.
const FIRST_CODE: i32 = 40;

/// Why it is not known whether a sandbox holds, or that it does not.
#[derive(Debug)]
pub enum Untrusted {
    /// It leaks.
    Leaks(Level, Leak),
    /// There is none, or the test could not be made.
    Failed(String),
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Untrusted::Leaks(level, leak) => write!(f, "{leak} (level {})", level.word()),
            Untrusted::Failed(why) => f.write_str(why),
        }
    }
}

/// Makes a sandbox and has `probe` try to leave it: the program and the words by which it calls [`probe`] with those that follow. The best level
/// that there is, and what was found. `directory` is ours and is empty afterwards. This process must be the only thread of its program.
pub fn self_test(kernel: &Kernel, directory: &Path, probe: &[OsString]) -> Result<Level, Untrusted> {
    let tested = match at(Level::Full, *kernel, directory, probe) {
        Err(Error::NoNamespaces(_)) => at(Level::Landlock, *kernel, directory, probe),
        done => done,
    };
    let _ = fs::remove_dir_all(directory);
    match tested {
        Ok((level, Ended::Code(0))) => Ok(level),
        Ok((level, Ended::Code(code))) => match Leak::ALL.into_iter().find(|leak| leak.code() == code) {
            Some(leak) => Err(Untrusted::Leaks(level, leak)),
            None => Err(Untrusted::Failed(format!("its probe ended with {code}"))),
        },
        Ok((_, Ended::Signal(signal))) => {
            Err(Untrusted::Failed(format!("its probe ended by signal {signal}")))
        }
        Err(error) => Err(Untrusted::Failed(error.to_string())),
    }
}

fn at(level: Level, kernel: Kernel, directory: &Path, probe: &[OsString]) -> Result<(Level, Ended), Error> {
    let program = probe.first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let _ = fs::remove_dir_all(directory);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory.join(OPEN))?;
    let directory = directory.canonicalize()?;
    for name in [CLOSED, READ] {
        fs::write(directory.join(name), "closed")?;
    }
    let mut plan = Plan::new(directory.join(OPEN), directory.join("private"));
    plan.grants.push(Grant::new(directory.join(READ), Rights::Read));
    plan.grants.push(Grant::new(PathBuf::from(program).canonicalize()?, Rights::Read));
    plan.grants.extend(SYSTEM.map(|place| Grant::new(place, Rights::Read)));
    plan.limits.wall_time = Some(LONGEST);
    // Where the kernel cannot keep signals inside, that is known and said, and no leak.
    let reaches = level == Level::Landlock && !kernel.scopes;
    let outside = if reaches { 0 } else { rustix::process::getpid().as_raw_nonzero().get() };
    let made = directory.join(MADE);
    let words = [directory.into_os_string(), outside.to_string().into()];
    let command: Vec<OsString> = probe.iter().cloned().chain(words).collect();
    let outcome = run(&plan, level, &kernel, &command)?;
    let is_made = outcome.status == Ended::Code(0) && fs::symlink_metadata(made).is_ok();
    let status = if is_made { Ended::Code(Leak::Make.code()) } else { outcome.status };
    Ok((outcome.level, status))
}

/// Tries to leave the sandbox that it is in: the exit code for the program. The words are those that [`self_test`] gives.
pub fn probe(directory: &OsStr, outside: &OsStr) -> u8 {
    let directory = Path::new(directory);
    let outside = outside.to_str().and_then(|number| number.parse().ok()).unwrap_or(0);
    let code = find_leak(directory, Pid::from_raw(outside)).map_or(0, Leak::code);
    u8::try_from(code).unwrap_or(u8::MAX)
}

fn find_leak(directory: &Path, outside: Option<Pid>) -> Option<Leak> {
    // In a private directory of the same name that works. Whoever made the sandbox looks whether it is there.
    let _ = fs::write(directory.join(MADE), "x");
    let append = |path: PathBuf| fs::OpenOptions::new().append(true).open(path);
    let leaks = [
        (fs::read(directory.join(CLOSED)).is_ok(), Leak::Read),
        (append(directory.join(READ)).is_ok(), Leak::Write),
        (outside.is_some_and(|pid| test_kill_process(pid).is_ok()), Leak::Signal),
        (makes_namespace(), Leak::Namespace),
        (fs::write(directory.join(OPEN).join("x"), "x").is_err(), Leak::Shut),
    ];
    leaks.into_iter().find_map(|(is_there, leak)| is_there.then_some(leak))
}

/// There are none elsewhere.
#[cfg(not(target_os = "linux"))]
fn makes_namespace() -> bool {
    false
}

#[cfg(target_os = "linux")]
fn makes_namespace() -> bool {
    let user = u64::from(libc::CLONE_NEWUSER.cast_unsigned());
    match sys::fork(user) {
        Ok(Fork::Child) => sys::exit_at_once(0),
        Ok(Fork::Parent(_)) => true,
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_leak_has_a_word_and_a_code_of_its_own() {
        for leak in Leak::ALL {
            assert_eq!(Leak::of(leak.word()), Some(leak));
            assert_eq!(Leak::ALL.iter().filter(|other| other.code() == leak.code()).count(), 1);
        }
        assert_eq!(Leak::of(""), None);
    }

    /// Without a sandbox each attempt gets through: a probe that finds nothing anywhere would prove nothing.
    #[test]
    fn without_a_sandbox_the_probe_finds_a_leak() {
        let directory = std::env::temp_dir().join(format!("toolgate-probe-{}", std::process::id()));
        fs::create_dir_all(directory.join(OPEN)).unwrap();
        find_leak(&directory, None);
        assert!(directory.join(MADE).exists());
        fs::write(directory.join(READ), "x").unwrap();
        assert_eq!(find_leak(&directory, None), Some(Leak::Write));
        fs::write(directory.join(CLOSED), "x").unwrap();
        assert_eq!(find_leak(&directory, None), Some(Leak::Read));
        fs::remove_dir_all(directory).unwrap();
    }
}
