//! A machine of the test's own: the environment is a map, the clock stands where it is put, the disk is the real one.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use toolgate_gate::disk::Disk;
use toolgate_gate::machine::{Machine, Setup};
use toolgate_model::World;
use toolgate_policies::Containable;

/// A process that is none, on a machine that has nothing but a disk.
pub(crate) struct TestMachine {
    /// The window on the disk.
    pub(crate) disk: Disk,
    /// The environment.
    pub(crate) variables: BTreeMap<&'static str, OsString>,
    /// The directory that the process was started in.
    pub(crate) directory: Option<PathBuf>,
    /// The time of day.
    pub(crate) now: SystemTime,
    /// When the process was started.
    pub(crate) started: Instant,
    /// How long after that the clock stands, look by look; the last one stays.
    pub(crate) looks_at_clock: RefCell<VecDeque<Duration>>,
    /// Whether its kernel can contain a command.
    pub(crate) containable: Containable,
    /// What only the whole program can do.
    pub(crate) setup: Option<&'static dyn Setup>,
    /// Whether the right to answer is still to be had.
    pub(crate) may_answer: bool,
    /// How often it was asked for.
    pub(crate) claims: Cell<usize>,
}

impl Default for TestMachine {
    fn default() -> TestMachine {
        TestMachine {
            disk: Disk::default(),
            variables: BTreeMap::new(),
            directory: None,
            // 2026-01-02T03:04:05Z
            now: SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_323_045),
            started: Instant::now(),
            looks_at_clock: RefCell::default(),
            containable: Containable::NotConsidered,
            setup: None,
            may_answer: true,
            claims: Cell::new(0),
        }
    }
}

impl Machine for TestMachine {
    fn world(&self) -> &dyn World {
        &self.disk
    }
    fn variable(&self, name: &str) -> Option<OsString> {
        self.variables.get(name).cloned()
    }
    fn variables(&self) -> Vec<(OsString, OsString)> {
        self.variables.iter().map(|(name, value)| (OsString::from(*name), value.clone())).collect()
    }
    fn directory(&self) -> Option<PathBuf> {
        self.directory.clone()
    }
    fn program(&self) -> Option<PathBuf> {
        None
    }
    fn started_as(&self) -> OsString {
        "toolgate".into()
    }
    fn now(&self) -> SystemTime {
        self.now
    }
    fn instant(&self) -> Instant {
        let mut looks = self.looks_at_clock.borrow_mut();
        let after = if looks.len() > 1 { looks.pop_front() } else { looks.front().copied() };
        self.started + after.unwrap_or_default()
    }
    fn user_id(&self) -> u32 {
        // Not in any list of people.
        4_000_000_000
    }
    fn name(&self) -> String {
        "workbench".to_owned()
    }
    fn containable(&self, _: &Path) -> Containable {
        self.containable
    }
    fn is_alive(&self, file: &Path, marks: &[u64]) -> bool {
        toolgate_sandbox::is_alive(file, marks)
    }
    fn setup(&self) -> Option<&dyn Setup> {
        self.setup
    }
    fn claim_answer(&self) -> bool {
        self.claims.set(self.claims.get() + 1);
        self.may_answer
    }
}
