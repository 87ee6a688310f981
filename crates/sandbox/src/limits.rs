//! What a command may use up: limits that the kernel keeps, and two that it does not: the disk, and the processes of root.
//!
//! The disk is looked at a few times a second. While the file systems that a command writes to have grown by less than the limit, it
//! cannot have written more. Past that, what it has written is added up: files in its places that were made or changed since it began.
//! So a file that was there before and was only changed counts whole, and what was written between two looks is past the limit. A file that has lost its
//! name takes up room all the same, as long as a process has it: such files are looked for among what the command's processes have open.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{statfs, statvfs};
use rustix::process::{Pid, Resource, Rlimit, geteuid, setrlimit};

use crate::compiled::CompiledPlan;
use crate::git::{HEADS, LOGS};
use crate::outcome::Error;
use crate::plan::{Level, Limits, Rights};
use crate::processes::{all_below, can_be_counted, count_below};

/// So often the disk is looked at, and processes are counted.
pub(crate) const INTERVAL: Duration = Duration::from_millis(200);
/// More entries than this are not added up.
const MOST_ENTRIES: usize = 2_000_000;
/// Times of files come from a clock that ticks.
const TICK: Duration = Duration::from_millis(10);

/// Sets the limits that the kernel keeps, for this process and what it becomes.
pub(crate) fn set(limits: &Limits) -> io::Result<()> {
    // One file is never larger than all of them.
    let file_size = limits.file_size.into_iter().chain(limits.disk).min();
    for (resource, most) in [
        (Resource::Nproc, limits.processes),
        (Resource::As, limits.memory),
        (Resource::Fsize, file_size),
        // What a program leaves when it crashes may hold what it has read.
        (Resource::Core, Some(0)),
    ] {
        if let Some(most) = most {
            setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
        }
    }
    Ok(())
}

/// Whether these limits can be kept on this system.
pub(crate) fn check(limits: &Limits) -> Result<(), Error> {
    match limits.processes {
        Some(_) if geteuid().is_root() && !can_be_counted() => Err(Error::Plan(
            "[containment] processes cannot be kept for root here: the kernel does not tell what the children of a process are; run as \
             another user, or leave the limit out"
                .to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Counts what a command has started, where nobody else does: root may have as many processes as it wants, whatever its limit is and in whatever
/// namespace.
pub(crate) struct Tally {
    most: usize,
}

impl Tally {
    /// `None`: there is no limit, or the kernel keeps it.
    pub(crate) fn of(plan: &CompiledPlan, level: Level) -> Option<Tally> {
        let most = plan.limits.processes.filter(|_| geteuid().is_root())?;
        // At level `landlock` one of ours is in the command's group.
        let ours = usize::from(level == Level::Landlock);
        Some(Tally { most: usize::try_from(most).unwrap_or(usize::MAX).saturating_add(ours) })
    }

    /// Whether there are more below init or the keeper than there may be.
    pub(crate) fn is_over(&self, top: Pid) -> bool {
        count_below(top, self.most) > self.most
    }
}

/// Looks at what a command has written.
pub(crate) struct Meter {
    most: u64,
    places: Vec<PathBuf>,
    /// One place of each file system, and how much of it was in use.
    systems: Vec<(PathBuf, u64)>,
    begun: SystemTime,
    /// What is added up only when the file systems have grown by more than this.
    looks_at: u64,
}

impl Meter {
    /// `None`: there is no limit.
    pub(crate) fn of(plan: &CompiledPlan) -> Option<Meter> {
        let most = plan.limits.disk?;
        let written = plan.grants.iter().filter(|grant| grant.rights == Rights::Write);
        let mut places: Vec<PathBuf> = written.map(|grant| grant.path.clone()).collect();
        places.push(plan.private.clone());
        // What git writes of a linked worktree beside it.
        places.extend(plan.repository.iter().flat_map(|repository| {
            [HEADS, LOGS].map(|part| repository.common.join(part)).into_iter().chain([repository.own.clone()])
        }));
        places.sort();
        // What lies in another place is added up with it.
        places.dedup_by(|later, earlier| later.starts_with(&*earlier));
        let (mut known, mut systems) = (Vec::new(), Vec::new());
        for place in &places {
            if let (Ok(found), Some(used)) = (fs::metadata(place), used(place))
                && !known.contains(&found.dev())
            {
                known.push(found.dev());
                systems.push((place.clone(), used));
            }
        }
        let begun = SystemTime::now().checked_sub(TICK).unwrap_or(SystemTime::UNIX_EPOCH);
        Some(Meter { most, places, systems, begun, looks_at: most })
    }

    /// Whether more was written than may be, by the processes below `top`.
    pub(crate) fn is_over(&mut self, top: Pid) -> bool {
        let grown = |(place, before): &(PathBuf, u64)| used(place).unwrap_or(0).saturating_sub(*before);
        let grown: u64 = self.systems.iter().map(grown).sum();
        if grown < self.looks_at {
            return false;
        }
        let mut left = MOST_ENTRIES;
        let named: u64 = self.places.iter().map(|place| self.written_below(place, &mut left)).sum();
        let written = named.saturating_add(self.written_without_name(top));
        // Others write too. It is added up again when it can have come to the limit.
        self.looks_at = grown.saturating_add(self.most.saturating_sub(written).max(1));
        written > self.most
    }

    fn written_below(&self, place: &Path, left: &mut usize) -> u64 {
        let Ok(entries) = fs::read_dir(place) else { return 0 };
        let mut sum: u64 = 0;
        for entry in entries.flatten() {
            if *left == 0 {
                break;
            }
            *left -= 1;
            // Of the entry itself: no link is followed.
            let Ok(found) = entry.metadata() else { continue };
            if found.is_dir() {
                sum = sum.saturating_add(self.written_below(&entry.path(), left));
            } else if changed(&found).is_some_and(|changed| changed >= self.begun) {
                sum = sum.saturating_add(found.blocks().saturating_mul(512));
            }
        }
        sum
    }
}

/// A command with more processes than this has those of the others left out.
const MOST_PROCESSES: usize = 4096;

impl Meter {
    /// What lies in files that have no name any more, and take up room as long as a process below `top` has them open or mapped. What is
    /// mapped alone counts with the length of the mapping, which everybody may look up.
    fn written_without_name(&self, top: Pid) -> u64 {
        let mut files: BTreeMap<u64, u64> = BTreeMap::new();
        for pid in all_below(top, MOST_PROCESSES) {
            let process = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
            for entry in fs::read_dir(process.join("fd")).into_iter().flatten().flatten() {
                if let Some((inode, size)) = self.size_without_name(&entry.path()) {
                    files.insert(inode, size);
                }
            }
            let maps = fs::read(process.join("maps")).unwrap_or_default();
            for (inode, size) in maps.split(|byte| *byte == b'\n').filter_map(mapped_without_name) {
                files.entry(inode).or_insert(size);
            }
        }
        files.values().sum()
    }

    /// Of a regular file on a disk that a process has open: which it is, and its size.
    fn size_without_name(&self, handle: &Path) -> Option<(u64, u64)> {
        let found = fs::metadata(handle).ok().filter(|found| found.is_file() && found.nlink() == 0)?;
        let is_new = changed(&found).is_some_and(|changed| changed >= self.begun);
        let is_in_memory = || statfs(handle).is_ok_and(|system| system.f_type == TMPFS);
        (is_new && !is_in_memory()).then(|| (found.ino(), found.blocks().saturating_mul(512)))
    }
}

/// The file system that keeps nothing on a disk: shared memory, and files of memory alone.
const TMPFS: i64 = 0x0102_1994;

/// Which file without a name a line of `/proc/PID/maps` is about, and how much of it is mapped there.
fn mapped_without_name(line: &[u8]) -> Option<(u64, u64)> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.strip_suffix(" (deleted)")?.split_ascii_whitespace();
    let (first, last) = words.next()?.split_once('-')?;
    let (inode, name) = (words.nth(3)?.parse().ok()?, words.next()?);
    let is_memory = ["/memfd:", "/dev/zero", "/dev/shm/", "/SYSV"].iter().any(|own| name.starts_with(own));
    let address = |text| u64::from_str_radix(text, 16).ok();
    (!is_memory).then_some((inode, address(last)?.checked_sub(address(first)?)?))
}

fn used(place: &Path) -> Option<u64> {
    let found = statvfs(place).ok()?;
    Some(found.f_blocks.saturating_sub(found.f_bfree).saturating_mul(found.f_frsize))
}

fn changed(found: &fs::Metadata) -> Option<SystemTime> {
    let seconds = u64::try_from(found.ctime()).ok()?;
    let nanoseconds = u32::try_from(found.ctime_nsec()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds))
}
