//! The process that restores what must not change if the supervisor of a command at level `full` is killed, for example by a host that ends a call.
//!
//! The kernel then ends init and the command, and nobody would check anything until the next command. So the supervisor makes this process, which
//! does nothing while the supervisor lives. At level `landlock` the keeper does the same (`keeper.rs`).

use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, WaitOptions, pidfd_open, setsid, waitpid};

use crate::compiled::CompiledPlan;
use crate::sys::{self, Fork};

/// The kernel needs so long, at most, to end the processes of a supervisor that was killed.
const END_PATIENCE: Duration = Duration::from_secs(10);
/// What is said to an heir that is not needed any more.
const DISMISSED: u8 = b'.';

/// A process that looks, unless it is dismissed.
pub(crate) struct Heir {
    word: fs::File,
}

impl Heir {
    /// Makes one that runs `look` once this process is gone, and init with it. `used`: the descriptors that `look` needs.
    pub(crate) fn appoint(
        init: Pid,
        plan: &CompiledPlan,
        used: &[&OwnedFd],
        look: &dyn Fn(),
    ) -> io::Result<Heir> {
        let init = pidfd_open(init, PidfdFlags::empty())?;
        let (waits, word) = pipe_with(PipeFlags::CLOEXEC)?;
        let mut made = Ok(());
        // Hosts end every process below their own. The child of a process that is gone is none of them.
        let between = sys::fork_to_become(&mut || match sys::fork(0) {
            Ok(Fork::Child) => wait_and_look(&waits, &init, &at_work(&plan.private), used, look),
            Ok(Fork::Parent(_)) => {}
            Err(error) => made = Err(error),
        })?;
        while matches!(waitpid(Some(between), WaitOptions::empty()), Err(Errno::INTR)) {}
        made.map(|()| Heir { word: word.into() })
    }

    /// The supervisor has looked itself.
    pub(crate) fn dismiss(mut self) {
        let _ = self.word.write_all(&[DISMISSED]);
    }
}

/// Waits until no heir is at work for a plan: what it moves away must not be taken for what was there before.
pub(crate) fn wait_for(private: &Path) -> io::Result<()> {
    match fs::File::open(at_work(private)) {
        Ok(file) => Ok(flock(&file, FlockOperation::LockShared)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// The file that an heir locks while it is at work.
fn at_work(private: &Path) -> PathBuf {
    private.join("heir")
}

/// What an heir does. It never comes back, so descriptors can be closed behind their owners' backs.
fn wait_and_look(waits: &OwnedFd, init: &OwnedFd, at_work: &Path, used: &[&OwnedFd], look: &dyn Fn()) -> ! {
    // Hosts end the process group of a call.
    let _ = setsid();
    sys::keep_only(&[&[waits, init], used].concat());
    // Whoever reads the command's output waits until nobody has it; and what is opened below must not be taken for a stream.
    for _ in 0..3 {
        std::mem::forget(fs::File::options().read(true).write(true).open("/dev/null"));
    }
    let mut word = [0];
    loop {
        match rustix::io::read(waits, &mut word) {
            Err(Errno::INTR) => {}
            Ok(0) => break,
            Ok(_) | Err(_) => sys::exit_at_once(0),
        }
    }
    let file = fs::File::options().create(true).truncate(false).write(true).open(at_work);
    let _ = file.as_ref().map(|file| flock(file, FlockOperation::LockExclusive));
    let patience = Timespec { tv_sec: i64::try_from(END_PATIENCE.as_secs()).unwrap_or(i64::MAX), tv_nsec: 0 };
    let mut polled = [PollFd::new(init, PollFlags::IN)];
    while poll(&mut polled, Some(&patience)) == Err(Errno::INTR) {}
    look();
    sys::exit_at_once(0)
}
