//! Level `landlock`: the rules of a plan, put together by a process of their own while the supervisor looks at pins and at the repository.
//!
//! Each rule needs its place opened. As root, who owns what is closed in `/etc`, that is a rule for nearly each of its entries, and takes about as long
//! as all that the supervisor looks at meanwhile. The two share nothing, so that neither waits for the other's memory or descriptors.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, set_parent_process_death_signal, waitpid};

use crate::compiled::CompiledPlan;
use crate::handed;
use crate::kernel::Kernel;
use crate::plan::Plan;
use crate::rules::Rules;
use crate::sys::{self, Fork, Signals};

/// Rules that are being put together.
pub(crate) struct Ahead {
    process: Pid,
    link: OwnedFd,
    kernel: Kernel,
}

impl Ahead {
    /// Begins with the rules of this plan. Places that the plan has made must be there. What the supervisor adds to the plan for its own use opens
    /// nothing at this level.
    pub(crate) fn begin(plan: &Plan, kernel: Kernel, held: &[i32]) -> io::Result<Ahead> {
        let (link, theirs) = handed::link()?;
        match sys::fork(0)? {
            Fork::Child => {
                drop(link);
                // What ends the command's group is the supervisor's to pass on.
                let signals = Signals::hold(held);
                let made = signals.map_err(|error| error.to_string()).and_then(|_| rules(plan, kernel));
                let _ = match made {
                    Ok(rules) => handed::give(&theirs, Some(rules.handle()), b"+"),
                    Err(error) => handed::give(&theirs, None, error.as_bytes()),
                };
                sys::exit_at_once(0)
            }
            Fork::Parent(process) => Ok(Ahead { process, link, kernel }),
        }
    }

    /// The rules, to which others can be added.
    pub(crate) fn finish(&self) -> io::Result<Rules> {
        match handed::take(&self.link)? {
            (Some(ruleset), _) => Ok(Rules::handed(ruleset, self.kernel)),
            (None, why) if why.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            (None, why) => Err(io::Error::other(String::from_utf8_lossy(&why).into_owned())),
        }
    }
}

fn rules(plan: &Plan, kernel: Kernel) -> Result<Rules, String> {
    let made = || -> io::Result<Rules> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        let plan = &CompiledPlan::of(plan.clone());
        let root = open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let rules = Rules::new(kernel).map_err(io::Error::other)?;
        rules.of_plan(&root, plan)?.devices(&root, plan)
    };
    made().map_err(|error| error.to_string())
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // It has ended long ago, unless the command could not be started.
        while matches!(waitpid(Some(self.process), WaitOptions::empty()), Err(Errno::INTR)) {}
    }
}
