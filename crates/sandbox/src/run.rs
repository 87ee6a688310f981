//! Runs a command by a plan: the process that stays, and the ones that it makes.
//!
//! ```text
//! level landlock:  supervisor ─┬─ keeper ── command
//!                              └─ who puts together its rules, and ends
//! level full:      supervisor ── init (pid 1 of its own processes) ── command
//! ```
//!
//! The supervisor is outside. It passes signals on, keeps the time, and checks what must be checked when the command
//! has ended. It ends as the command did. Background jobs may stay, still contained; keeper or init stays with them.

mod launch;
mod watched;

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::fd::AsFd;

use rustix::fs::{FileType, fstat};

use crate::ahead::Ahead;
use crate::alive::Alive;
use crate::compiled::CompiledPlan;
use crate::git;
use crate::heir;
use crate::keeper::DONE;
use crate::kernel::Kernel;
use crate::limits;
use crate::observe::Observer;
use crate::outcome::{Ended, Error, Outcome, Refused};
use crate::path::make_own;
use crate::pins::{self, Guard, Pins, Tree, Turn};
use crate::plan::{Grant, Level, Network, Plan, Rights};
use crate::reachable::keep_reachable;
use crate::view::Caches;

use launch::{Kept, PASSED_ON, supervise};
pub(crate) use watched::ended;

/// Runs a command by a plan and waits for its end. This process must be the only thread of its program.
pub fn run(plan: &Plan, level: Level, kernel: &Kernel, command: &[OsString]) -> Result<Outcome, Error> {
    run_with(plan, level, *kernel, command, None)
}

/// The same, and tells of what the command tries. It is slower, and no less contained.
pub fn run_observed(
    plan: &Plan,
    level: Level,
    kernel: &Kernel,
    command: &[OsString],
    observer: &mut Observer<'_>,
) -> Result<Outcome, Error> {
    run_with(plan, level, *kernel, command, Some(observer))
}

fn run_with(
    plan: &Plan,
    level: Level,
    kernel: Kernel,
    command: &[OsString],
    observer: Option<&mut Observer<'_>>,
) -> Result<Outcome, Error> {
    if kernel.landlock == 0 {
        return Err(Error::NoLandlock);
    }
    refuse_directories()?;
    limits::check(&plan.limits)?;
    heir::wait_for(&plan.private)?;
    let mut plan = plan.clone();
    for made in &plan.made {
        // Follows no link at its end. What stands there already has rights by the plan.
        let _ = fs::create_dir(made);
    }
    // From here on all that the plan opens is there.
    let ahead = (level == Level::Landlock).then(|| Ahead::begin(&plan, kernel, &PASSED_ON)).transpose()?;
    git::complete(&mut plan, level)?;
    let mut tree = Tree::look(&mut plan)?;
    if level == Level::Full {
        let there = plan.kept.iter().filter(|path| pins::is_plain(path));
        plan.grants.extend(there.map(|path| Grant::new(path, Rights::Read)));
    }
    if let Some(grant) = plan.grants.iter().find(|grant| !grant.path.is_absolute()) {
        return Err(Error::Plan(format!("{} is not an absolute path", grant.path.display())));
    }
    let plan = &CompiledPlan::of(plan);
    let caches = prepare(plan, level)?;
    let left_before = tree.as_mut().map(|tree| tree.begin(plan)).unwrap_or_default();
    let alive = plan.alive.as_ref().map(Alive::lock).transpose()?;
    let turn = (level == Level::Landlock).then(|| Turn::take(&plan.private)).transpose()?;
    let mut pins = match level {
        // At this level another command or a background job may have changed them a moment ago.
        Level::Landlock => Pins::once_as_noted(&plan.private, || Pins::look(plan, level))?,
        Level::Full => Pins::look(plan, level)?,
    };
    let guard = RefCell::new(pins.guard.take());
    let (orders, heir) = (RefCell::new(None), RefCell::new(None));
    let repository = plan.repository.as_ref();
    let repository = repository.map(|repository| git::Run::start(plan, repository, level)).transpose()?;
    let kept = Kept {
        repository: repository.as_ref(),
        ahead: ahead.as_ref(),
        alive: alive.as_ref(),
        guard: &guard,
        caches: &caches,
        pins: &pins,
        turn: turn.as_ref(),
        orders: &orders,
        heir: &heir,
    };
    let (ended, left) = supervise(plan, level, kernel, command, &kept, observer);
    // Also where the command could not be started: what earlier ones have left is taken over anyway.
    let moved = guard.take().map(Guard::moved).unwrap_or_default();
    let mut disturbed = pins.check(plan, moved);
    if let Some(turn) = &turn {
        turn.leave();
    }
    if let Some(start) = &plan.start {
        keep_reachable(start);
    }
    if let Some(mut orders) = orders.take() {
        let _ = orders.write_all(&[DONE]);
    }
    disturbed.retain(|disturbed| !git::is_ordinary(plan, disturbed));
    disturbed.extend(left_before);
    disturbed.extend(tree.map(|tree| tree.finish(plan, left.is_over)).unwrap_or_default());
    let mut taken =
        repository.map(|repository| repository.finish(left.is_over, left.has_told)).unwrap_or_default();
    if let Some(heir) = heir.take() {
        heir.dismiss();
    }
    if left.held_open {
        taken.refused.push(Refused {
            what: "what background jobs would write".to_owned(),
            why: "they could not be kept from files of git when the command had ended, as one that is open to write, so they were ended"
                .to_owned(),
        });
    }
    Ok(Outcome { repository: taken, pins: disturbed, is_over: left.is_over, ..ended? })
}

/// A directory as a stream leads out: what is below it can be looked at and changed by names relative to it, though not opened.
fn refuse_directories() -> Result<(), Error> {
    let (input, output, error) = (io::stdin(), io::stdout(), io::stderr());
    for stream in [input.as_fd(), output.as_fd(), error.as_fd()] {
        if fstat(stream).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory) {
            return Err(Error::Plan("an input or output of the command is a directory".to_owned()));
        }
    }
    Ok(())
}

/// Makes what the plan has of its own. Done outside, where our directories can be written.
fn prepare(plan: &CompiledPlan, level: Level) -> Result<Caches, Error> {
    if plan.rights_at(&plan.private) == Rights::Write {
        let told =
            format!("{} belongs to toolgate, and may not lie in a writable place", plan.private.display());
        return Err(Error::Plan(told));
    }
    if let (Level::Landlock, Some((closed, writable))) = (level, plan.closed_in_writable()) {
        return Err(Error::Plan(format!(
            "level landlock cannot keep {} from being written, because {} may be; that needs level full",
            closed.display(),
            writable.display()
        )));
    }
    if level == Level::Landlock && plan.network == Network::Listed {
        return Err(Error::Plan(
            "level landlock cannot keep the network to a list of hosts; that needs level full".to_owned(),
        ));
    }
    let own_caches = plan.own_caches().filter(|_| level == Level::Landlock);
    for own in [plan.temporary()].into_iter().chain(own_caches) {
        if !fs::symlink_metadata(&own).is_ok_and(|found| found.is_dir()) {
            make_own(&own)?;
        }
    }
    Ok(if level == Level::Full { Caches::prepare(plan)? } else { Caches::default() })
}
