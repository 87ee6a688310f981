//! Watches a command while it runs: which files it tries to use, and which addresses it tries to reach.
//!
//! The kernel stops the command at each such call and tells the supervisor, which notes what was asked for and lets the kernel go on. Nothing
//! is decided here, and nothing could be: what a pointer leads to can change after it was read. The same rules as always hold
//! the command, and they refuse after this. So an observed command can do no more than another.
//!
//! The supervisor does not see the kernel's answer. It notes attempts.

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::filter;
use crate::handed;
pub(crate) use crate::outcome::Attempt;
use crate::sys::{self, Fork, Notification};

/// Who is told what a command tries.
pub struct Observer<'o> {
    seen: &'o mut dyn FnMut(Attempt),
    /// Why nothing was seen, where the kernel does not let us look on.
    pub unavailable: Option<io::Error>,
    /// How many attempts could not be examined.
    pub missed: u64,
    link: Link,
}

/// How far the supervisor has got.
enum Link {
    Apart,
    /// Where the listener will come from.
    Waiting(OwnedFd),
    Listening(OwnedFd),
    Over,
}

/// The longest path, with its end.
const LONGEST_PATH: usize = 4096;
/// An address with a path in it.
const LONGEST_ADDRESS: usize = 110;

impl<'o> Observer<'o> {
    /// One that tells this function of each attempt.
    pub fn new(seen: &'o mut dyn FnMut(Attempt)) -> Observer<'o> {
        Observer { seen, unavailable: None, missed: 0, link: Link::Apart }
    }

    /// Makes the way by which the command's process will hand over its listener. The end for that process is given back.
    pub(crate) fn start(&mut self) -> io::Result<OwnedFd> {
        let (ours, theirs) = handed::link()?;
        self.link = Link::Waiting(ours);
        Ok(theirs)
    }

    /// What has to be waited for.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.link {
            Link::Waiting(link) | Link::Listening(link) => Some(link.as_fd()),
            Link::Apart | Link::Over => None,
        }
    }

    /// Does what there is to do once something has come.
    pub(crate) fn serve(&mut self, ready: PollFlags) {
        match &self.link {
            Link::Waiting(link) => {
                self.link = match take(link) {
                    Ok(listener) => {
                        sys::wake_at_once(&listener);
                        Link::Listening(listener)
                    }
                    Err(error) => {
                        self.unavailable = Some(error);
                        Link::Over
                    }
                }
            }
            Link::Listening(listener) if ready.contains(PollFlags::IN) => {
                // Where it was ended between the signal and the look, there is nothing to answer.
                let Ok(told) = sys::next_notification(listener) else { return };
                let attempts = attempts(&told);
                // What was read may be another process's by now, if this one was ended meanwhile.
                let is_there = sys::is_waiting(listener, told.id);
                let _ = sys::let_continue(listener, told.id);
                match attempts {
                    Ok(attempts) if is_there => attempts.into_iter().for_each(&mut self.seen),
                    Ok(_) => {}
                    Err(_) => self.missed += u64::from(is_there),
                }
            }
            // Nobody is left who could be listened to.
            Link::Listening(_) if !ready.is_empty() => self.link = Link::Over,
            Link::Listening(_) | Link::Apart | Link::Over => {}
        }
    }

    /// The command has ended. What it has left behind would fail at its next call if nobody listened any more, so another process
    /// goes on answering. It notes nothing, and ends with the last of them.
    pub(crate) fn leave(&mut self) {
        let Link::Listening(listener) = std::mem::replace(&mut self.link, Link::Over) else { return };
        if !is_in_use(&listener) {
            return;
        }
        if let Ok(Fork::Child) = sys::fork(0) {
            sys::keep_only(&[&listener]);
            while is_in_use(&listener) {
                let mut polled = [PollFd::new(&listener, PollFlags::IN)];
                match poll(&mut polled, None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(_) => break,
                }
                if polled.iter().any(|polled| polled.revents().contains(PollFlags::IN))
                    && let Ok(told) = sys::next_notification(&listener)
                {
                    let _ = sys::let_continue(&listener, told.id);
                }
            }
            sys::exit_at_once(0);
        }
    }
}

/// Whether any process is left that is listened to.
fn is_in_use(listener: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(listener, PollFlags::IN)];
    let done = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    done.is_ok() && !polled.iter().any(|polled| polled.revents().intersects(PollFlags::HUP | PollFlags::ERR))
}

/// In the command's process, as the last step: has the kernel tell of its calls from now on, and hands the listener over. Where the
/// kernel does not, the supervisor is told why, and the command runs unobserved.
pub(crate) fn hand_over(link: &OwnedFd) -> io::Result<()> {
    match sys::install_listener(&filter::OBSERVED) {
        Ok(listener) => handed::give(link, Some(&listener), b"+"),
        Err(error) => {
            let number = error.raw_os_error().unwrap_or(libc::EIO).to_ne_bytes();
            handed::give(link, None, &[b"-".as_slice(), number.as_slice()].concat())
        }
    }
}

fn take(link: &OwnedFd) -> io::Result<OwnedFd> {
    let (handle, text) = handed::take(link)?;
    let number = text.get(1..5).and_then(|number| number.try_into().ok()).map(i32::from_ne_bytes);
    match (handle, number) {
        (Some(handle), _) => Ok(handle),
        (None, Some(number)) if text.len() == 5 => Err(io::Error::from_raw_os_error(number)),
        // The command's process has ended before.
        (None, _) => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// What a call asks for. An error: it could not be read.
fn attempts(told: &Notification) -> io::Result<Vec<Attempt>> {
    let caller = Caller { told, memory: File::open(format!("/proc/{}/mem", told.process))? };
    let at = |index: usize| told.arguments.get(index).copied().unwrap_or_default();
    let here = |index| caller.path(None, at(index));
    let below = |directory, index| caller.path(Some(at(directory)), at(index));
    Ok(match told.call {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => opened(here(0)?, at(1)),
        libc::SYS_openat => opened(below(0, 1)?, at(2)),
        libc::SYS_openat2 => opened(below(0, 1)?, caller.number(at(2))?),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_creat => vec![Attempt::Write(here(0)?)],
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename => vec![Attempt::Change(here(0)?), Attempt::Write(here(1)?)],
        libc::SYS_renameat | libc::SYS_renameat2 => {
            vec![Attempt::Change(below(0, 1)?), Attempt::Write(below(2, 3)?)]
        }
        #[cfg(target_arch = "x86_64")]
        libc::SYS_unlink | libc::SYS_rmdir | libc::SYS_truncate => vec![Attempt::Change(here(0)?)],
        #[cfg(not(target_arch = "x86_64"))]
        libc::SYS_truncate => vec![Attempt::Change(here(0)?)],
        libc::SYS_unlinkat => vec![Attempt::Change(below(0, 1)?)],
        #[cfg(target_arch = "x86_64")]
        libc::SYS_mkdir | libc::SYS_mknod => vec![Attempt::Make(here(0)?)],
        libc::SYS_mkdirat | libc::SYS_mknodat => vec![Attempt::Make(below(0, 1)?)],
        #[cfg(target_arch = "x86_64")]
        libc::SYS_link => vec![Attempt::Read(here(0)?), Attempt::Make(here(1)?)],
        libc::SYS_linkat => vec![Attempt::Read(below(0, 1)?), Attempt::Make(below(2, 3)?)],
        #[cfg(target_arch = "x86_64")]
        libc::SYS_symlink => vec![Attempt::Make(here(1)?)],
        libc::SYS_symlinkat => vec![Attempt::Make(below(1, 2)?)],
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod | libc::SYS_chown | libc::SYS_lchown => vec![Attempt::Attributes(here(0)?)],
        libc::SYS_fchmodat | libc::SYS_fchownat | filter::FCHMODAT2 => {
            vec![Attempt::Attributes(below(0, 1)?)]
        }
        libc::SYS_execve => vec![Attempt::Read(here(0)?)],
        libc::SYS_execveat => vec![Attempt::Read(below(0, 1)?)],
        libc::SYS_connect => caller.address(at(1), at(2))?,
        libc::SYS_sendto => caller.address(at(4), at(5))?,
        // A socket with a path is a file that is made. Listening at a port is nobody's loss.
        libc::SYS_bind => {
            let path = caller.address(at(1), at(2))?.into_iter().filter_map(|attempt| match attempt {
                Attempt::Read(path) => Some(Attempt::Make(path)),
                _ => None,
            });
            path.collect()
        }
        _ => Vec::new(),
    })
}

/// What opening with these flags is for. The kernel looks at the low half of them.
fn opened(path: PathBuf, flags: u64) -> Vec<Attempt> {
    let has = |flag: i32| flags & u64::from(flag.cast_unsigned()) == u64::from(flag.cast_unsigned());
    let writes = flags & u64::from(libc::O_ACCMODE.cast_unsigned()) != 0 || has(libc::O_TRUNC);
    if has(libc::O_PATH) {
        // A handle with which nothing can be read or written.
        return Vec::new();
    }
    vec![if has(libc::O_TMPFILE) {
        Attempt::Change(path)
    } else if has(libc::O_CREAT) {
        Attempt::Write(path)
    } else if writes {
        Attempt::Change(path)
    } else {
        Attempt::Read(path)
    }]
}

/// The process that made a call.
struct Caller<'c> {
    told: &'c Notification,
    memory: File,
}

impl Caller<'_> {
    fn bytes(&self, at: u64, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; most];
        let read = self.memory.read_at(&mut bytes, at)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    fn number(&self, at: u64) -> io::Result<u64> {
        let bytes = self.bytes(at, 8)?;
        Ok(u64::from_ne_bytes(bytes.as_slice().try_into().map_err(io::Error::other)?))
    }

    /// The path at an address, made absolute: from the directory behind a descriptor, or the one that the process is in.
    fn path(&self, directory: Option<u64>, at: u64) -> io::Result<PathBuf> {
        let mut bytes = self.bytes(at, LONGEST_PATH)?;
        let end = bytes.iter().position(|byte| *byte == 0).ok_or(io::ErrorKind::InvalidData)?;
        bytes.truncate(end);
        let path = Path::new(std::ffi::OsStr::from_bytes(&bytes));
        if path.is_absolute() {
            return Ok(path.to_owned());
        }
        // The kernel takes 32 bits of it.
        let number =
            directory.and_then(|number| u32::try_from(number & 0xffff_ffff).ok()).map(u32::cast_signed);
        let process = self.told.process;
        let base = match number {
            Some(number) if number != libc::AT_FDCWD => format!("/proc/{process}/fd/{number}"),
            _ => format!("/proc/{process}/cwd"),
        };
        let base = std::fs::read_link(base)?;
        if !base.is_absolute() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(if path.as_os_str().is_empty() { base } else { base.join(path) })
    }

    /// The address of a socket.
    fn address(&self, at: u64, length: u64) -> io::Result<Vec<Attempt>> {
        if at == 0 {
            return Ok(Vec::new());
        }
        let most = usize::try_from(length).unwrap_or(LONGEST_ADDRESS).min(LONGEST_ADDRESS);
        let bytes = self.bytes(at, most)?;
        let part = |from: usize, to: usize| bytes.get(from..to).unwrap_or_default();
        let family = part(0, 2).try_into().map(u16::from_ne_bytes).map_or(0, i32::from);
        let number = part(2, 4).try_into().map_or(0, u16::from_be_bytes);
        let address = match family {
            libc::AF_INET => <[u8; 4]>::try_from(part(4, 8)).ok().map(Ipv4Addr::from).map(IpAddr::from),
            libc::AF_INET6 => <[u8; 16]>::try_from(part(8, 24)).ok().map(Ipv6Addr::from).map(IpAddr::from),
            libc::AF_UNIX => {
                let path = part(2, bytes.len());
                let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
                let path = Path::new(std::ffi::OsStr::from_bytes(path.get(..end).unwrap_or_default()));
                return Ok(path.is_absolute().then(|| Attempt::Read(path.to_owned())).into_iter().collect());
            }
            _ => None,
        };
        Ok(address.map(|address| Attempt::Connect(SocketAddr::new(address, number))).into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_say_what_a_file_is_opened_for() {
        let attempt = |flags: i32| opened("/x".into(), u64::from(flags.cast_unsigned())).into_iter().next();
        let path = || PathBuf::from("/x");
        for (flags, expected) in [
            (libc::O_RDONLY, Some(Attempt::Read(path()))),
            (libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC, Some(Attempt::Read(path()))),
            (libc::O_WRONLY, Some(Attempt::Change(path()))),
            (libc::O_RDWR | libc::O_APPEND, Some(Attempt::Change(path()))),
            (libc::O_RDONLY | libc::O_TRUNC, Some(Attempt::Change(path()))),
            (libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC, Some(Attempt::Write(path()))),
            (libc::O_RDONLY | libc::O_CREAT, Some(Attempt::Write(path()))),
            (libc::O_RDWR | libc::O_TMPFILE, Some(Attempt::Change(path()))),
            (libc::O_PATH, None),
        ] {
            assert_eq!(attempt(flags), expected, "{flags:o}");
        }
    }
}
