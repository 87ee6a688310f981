//! `toolgate exec`: a command in the sandbox that a call in this place would get.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use toolgate_gate::contain::{Contained, word_of};
use toolgate_gate::failure::Failure;
use toolgate_sandbox::{Error, Kernel, Level, Network, Observer, Outcome, run, run_observed};
use toolgate_setup::WholeProgram;

use super::LineArgs;
use super::explained::{self, Tried};
use crate::egress::Egress;
use crate::exec::{NoPlan, advise, planned, tell_refused};
use crate::launcher::{advise_on_git, advise_on_limits, complain, contain, ended, refused};
use crate::seatbelt::run_by_seatbelt;

/// Run a command in a kernel sandbox, with the rules that a call would get here
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  toolgate exec -- make test\n  toolgate exec --network none -- npm test\n  toolgate exec --level full -- python3 x.py\n  toolgate exec --explain -- make test\n\nExit code: the command's own; 125 if it could not be contained, then nothing of it has run; 126 or 127 if it could not be started."
)]
pub(super) struct Exec {
    /// The level to enforce [default: the highest that this kernel supports, and no less than the settings require]
    #[arg(long, value_enum)]
    level: Option<LevelArg>,
    /// What the command may reach over the network [default: what the settings say]
    #[arg(long, value_enum)]
    network: Option<NetworkArg>,
    /// Watch the command, and say at the end what the sandbox refused, by which rule, and what would open it. Slower;
    /// nothing is allowed for it
    #[arg(long)]
    explain: bool,
    /// The same, and print the settings that the command would need. It still runs contained, and may stop at the first
    /// refusal, so add what you agree with, and repeat until nothing is missing
    #[arg(long)]
    learn: bool,
    #[command(flatten)]
    line: LineArgs,
    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LevelArg {
    Full,
    Landlock,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum NetworkArg {
    None,
    All,
}

impl Exec {
    pub(super) fn run(self) -> ExitCode {
        let mut made = match self.plan() {
            Ok(planned) => planned,
            Err(why) => return refused(&why),
        };
        if let Some(code) = run_by_seatbelt(&made, self.level(), self.is_observed(), &self.command) {
            return code;
        }
        let mut egress = match Egress::open(&mut made.plan, &made.terms, None) {
            Ok(egress) => egress,
            Err(why) => return refused(&why),
        };
        let mut tried = Tried::default();
        let outcome = self.contain(&made, &mut tried);
        if self.is_observed() {
            // Also where the program was not started: it may be the sandbox that hides it.
            self.tell(&tried, &made);
        } else if let Ok(outcome) = &outcome {
            advise_on_git(&made.plan, outcome, &self.command);
            advise(Some(outcome));
        }
        if let Ok(outcome) = &outcome {
            advise_on_limits(&made.plan, outcome);
        }
        tell_refused(egress.as_mut());
        ended(&made.plan, outcome, &self.command)
    }

    fn is_observed(&self) -> bool {
        self.explain || self.learn
    }

    fn tell(&self, tried: &Tried, made: &Contained) {
        let Some(level) = tried.level else { return };
        let denied = tried.denied(&made.terms, level, &made.plan.private.join("tmp"));
        let mut told = tried.told(&denied);
        if self.learn && !denied.is_empty() {
            told.push_str("toolgate: settings that it would need, for your own settings file:\n\n");
            told.push_str(&explained::settings(&denied));
        }
        let _ = io::stderr().write_all(told.as_bytes());
    }

    fn plan(&self) -> Result<Contained, String> {
        let network = self.network.map(|network| match network {
            NetworkArg::None => Network::None,
            NetworkArg::All => Network::All,
        });
        planned(self.line.options()?, network, Some(&WholeProgram)).map_err(|none| match none {
            NoPlan::Because(why) => why,
            NoPlan::NeedsSetup => Failure::NeedsSetup.to_string(),
        })
    }

    fn level(&self) -> Option<Level> {
        self.level.map(|level| match level {
            LevelArg::Landlock => Level::Landlock,
            LevelArg::Full => Level::Full,
        })
    }

    fn contain(&self, made: &Contained, tried: &mut Tried) -> Result<Outcome, Error> {
        contain(made.require, self.level(), |level, kernel| self.contain_at(level, made, kernel, tried))
    }

    fn contain_at(
        &self,
        level: Level,
        made: &Contained,
        kernel: Kernel,
        tried: &mut Tried,
    ) -> Result<Outcome, Error> {
        if !self.is_observed() {
            return run(&made.plan, level, &kernel, &self.command);
        }
        let mut note = |attempt| tried.note(attempt);
        let mut observer = Observer::new(&mut note);
        let done = run_observed(&made.plan, level, &kernel, &self.command, &mut observer);
        let (unavailable, missed) = (observer.unavailable, observer.missed);
        let has_looked = unavailable.is_none() && matches!(done, Ok(_) | Err(Error::Start(_)));
        tried.level = has_looked.then_some(word_of(level));
        if let (Some(error), Ok(_)) = (&unavailable, &done) {
            complain(&format!("the command ran, but toolgate could not watch it: {}", reason(error)));
        }
        if missed > 0 {
            complain(&format!("{missed} attempts could not be examined"));
        }
        done
    }
}

/// Why the kernel does not let us look on.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ResourceBusy => {
            "the command is watched already, as in a sandbox within a sandbox".to_owned()
        }
        io::ErrorKind::InvalidInput => {
            "this kernel cannot report system calls (Linux 5.5 or later can)".to_owned()
        }
        _ => error.to_string(),
    }
}
