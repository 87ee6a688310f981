//! Everything that comes from the process and its machine, as one argument.
//!
//! The line asks a [`Machine`] and nothing else: no `std::env`, no clock, no current directory. So it runs in a test as
//! it runs in a hook, and whoever embeds it says what the machine is. `clippy.toml` keeps the rest of the crate to it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Instant, SystemTime};

use rustix::fs::{Mode, OFlags};
use toolgate_model::{ConfigChange, World};
use toolgate_policies::{Containable, Settings};
use toolgate_sandbox::Kernel;

use crate::approval::{Subject, Verified};
use crate::dirs::Dirs;
use crate::disk::Disk;
use crate::failure::DEADLINE;
use crate::process::words;
use crate::self_test;
use crate::settings::{SettingsError, SettingsSources};

/// The process that judges a call, and the machine that it runs on.
pub trait Machine {
    /// The window on the disk.
    fn world(&self) -> &dyn World;
    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<OsString>;
    /// All variables of the environment.
    fn variables(&self) -> Vec<(OsString, OsString)>;
    /// The directory that the process was started in.
    fn directory(&self) -> Option<PathBuf>;
    /// The program's own file.
    fn program(&self) -> Option<PathBuf>;
    /// The name that the program was started by.
    fn started_as(&self) -> OsString;
    /// The time of day.
    fn now(&self) -> SystemTime;
    /// A clock that nobody sets.
    fn instant(&self) -> Instant;
    /// The number of the user who runs it.
    fn user_id(&self) -> u32;
    /// The machine's name.
    fn name(&self) -> String;
    /// Whether a command can be contained here: `Yes`, `NotByKernel` or `NotHolding`, and `NotConsidered` where nothing is to be contained.
    /// `state`: where our own state is.
    fn containable(&self, state: &Path) -> Containable;
    /// Has another process of this program try a sandbox, and note what it found.
    fn start_self_test(&self, state: &Path) {
        let _ = state;
    }
    /// Whether a contained program holds one of these marks in a file of our state; see [`toolgate_sandbox::is_alive`].
    fn is_alive(&self, file: &Path, marks: &[u64]) -> bool;
    /// Whether the session of processes that this one belongs to has a terminal, at which a person may sit.
    fn has_terminal(&self) -> bool {
        true
    }
    /// What only the whole program can do; `None` in the small one.
    fn setup(&self) -> Option<&dyn Setup>;
    /// Takes the right to answer. `false` once somebody else has answered, because we were late: then nothing that this
    /// call would have been told may be recorded.
    fn claim_answer(&self) -> bool {
        true
    }
}

/// What reads files that people write. The hook's small binary does not have it, and hands the event over.
pub trait Setup {
    /// Reads the settings files and makes layers of them.
    fn compile(
        &self,
        machine: &dyn Machine,
        sources: &SettingsSources<'_>,
    ) -> Result<Vec<Settings>, SettingsError>;
    /// What a change of a host's settings file would do to our hooks. `state` is where registrations are noted.
    fn config_change(&self, machine: &dyn Machine, state: &Path, host: &str, file: &Path) -> ConfigChange;
    /// The approval that these bytes state, if it holds now and for this very call: signed by somebody whose word counts, and not over.
    fn approval(
        &self,
        machine: &dyn Machine,
        dirs: &Dirs,
        subject: &Subject,
        answer: &[u8],
    ) -> Option<Verified>;
}

/// The machine that this process runs on.
pub struct ThisMachine {
    disk: Disk,
    setup: Option<&'static dyn Setup>,
    claim_answer: fn() -> bool,
    hidden_variables: &'static [&'static str],
    is_unjudged: bool,
    program: Program,
    /// Where it stands, if not where the process does.
    directory: Option<PathBuf>,
}

/// Which file runs commands for us.
enum Program {
    /// This process's own.
    Own,
    /// Another one; `None` where nobody has named one.
    Other(Option<PathBuf>),
}

impl ThisMachine {
    /// With what only the whole program can do, where this is it. What the disk looks like is remembered: make one for each
    /// call.
    pub fn new(setup: Option<&'static dyn Setup>) -> ThisMachine {
        ThisMachine {
            disk: Disk::default(),
            setup,
            claim_answer: || true,
            hidden_variables: &[],
            is_unjudged: false,
            program: Program::Own,
            directory: None,
        }
    }

    /// The same machine in a program that is not ours: this file is, where there is one. Without it no command can be contained.
    #[must_use]
    pub fn launching_with(self, program: Option<PathBuf>) -> ThisMachine {
        ThisMachine { program: Program::Other(program), ..self }
    }

    /// The same machine in a process that may be late: `claim` takes the right to answer, see [`Machine::claim_answer`].
    #[must_use]
    pub fn claiming_answers_by(self, claim: fn() -> bool) -> ThisMachine {
        ThisMachine { claim_answer: claim, ..self }
    }

    /// The same machine for one call from now on: when the time for its answer is over, whoever looks at the disk is told so.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the one place that asks the process")]
    pub fn for_one_call(self) -> ThisMachine {
        ThisMachine { disk: self.disk.until(Instant::now() + DEADLINE), ..self }
    }

    /// The same machine, with notes about large files in our state.
    #[must_use]
    pub fn noting_in(self, state: &Path) -> ThisMachine {
        ThisMachine { disk: self.disk.noting_in(state), ..self }
    }

    /// The same machine, as if these variables of the environment were not set.
    #[must_use]
    pub fn without_variables(self, names: &'static [&'static str]) -> ThisMachine {
        ThisMachine { hidden_variables: names, ..self }
    }

    /// The same machine for a session that began in this directory, and not in that of the process.
    #[must_use]
    pub fn standing_in(self, directory: PathBuf) -> ThisMachine {
        ThisMachine { directory: Some(directory), ..self }
    }

    /// The same machine for a command that is contained whatever it does: nobody has to know beforehand whether it can be.
    #[must_use]
    pub fn unjudged(self) -> ThisMachine {
        ThisMachine { is_unjudged: true, ..self }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that asks the process")]
impl Machine for ThisMachine {
    fn world(&self) -> &dyn World {
        &self.disk
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        std::env::var_os(name).filter(|_| !self.hidden_variables.contains(&name))
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        let is_shown = |name: &OsString| !self.hidden_variables.iter().any(|hidden| name == hidden);
        std::env::vars_os().filter(|(name, _)| is_shown(name)).collect()
    }

    fn directory(&self) -> Option<PathBuf> {
        self.directory.clone().or_else(|| std::env::current_dir().ok())
    }

    fn program(&self) -> Option<PathBuf> {
        match &self.program {
            Program::Own => std::env::current_exe().ok(),
            Program::Other(program) => program.clone(),
        }
    }

    fn started_as(&self) -> OsString {
        words().next().unwrap_or_default()
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn instant(&self) -> Instant {
        Instant::now()
    }

    fn user_id(&self) -> u32 {
        rustix::process::getuid().as_raw()
    }

    fn name(&self) -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }

    fn containable(&self, state: &Path) -> Containable {
        if self.is_unjudged {
            Containable::NotConsidered
        } else if matches!(self.program, Program::Other(None)) {
            Containable::NotByHost
        } else if Kernel::has_landlock() {
            self_test::found(self, state)
        } else {
            Containable::NotByKernel
        }
    }

    fn start_self_test(&self, state: &Path) {
        let Some(program) = self.program() else { return };
        // It makes processes, and this one may have threads.
        let mut test = Command::new(program);
        test.arg(self_test::COMMAND).arg(state).env_clear();
        let _ = test.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }

    fn is_alive(&self, file: &Path, marks: &[u64]) -> bool {
        toolgate_sandbox::is_alive(file, marks)
    }

    fn has_terminal(&self) -> bool {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        rustix::fs::open("/dev/tty", flags, Mode::empty()).is_ok()
    }
    fn setup(&self) -> Option<&dyn Setup> {
        self.setup
    }

    fn claim_answer(&self) -> bool {
        (self.claim_answer)()
    }
}
