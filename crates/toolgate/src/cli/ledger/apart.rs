//! Sealing apart: root starts, for each person, a process as that person that sends the log, and one as the system user that seals it.
//!
//! Promise: root opens no file of either. A person who sends nothing, or without end, holds nobody else up for longer than
//! one person's log may take. What each of the two does is in `toolgate_evidence::proof::apart`.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use clap::{Args, Subcommand};
use toolgate_evidence::proof::apart::{Taken, feed, make_key, take};
use toolgate_setup::apart::{Account, SEALER, System, as_account};

use super::super::Out;
use super::super::people::HomeArgs;

/// So many people's logs are sealed at once.
const AT_ONCE: usize = 8;
/// How a run ends that has refused a log.
const REFUSED: u8 = 2;
/// How a run ends that could not be done.
const FAILED: u8 = 1;

/// Where the machine keeps its settings.
#[derive(Debug, Clone, Args)]
pub(super) struct EtcArgs {
    /// The directory to use as /etc
    #[arg(long, hide = true, default_value = "/etc")]
    etc: PathBuf,
}

impl Default for EtcArgs {
    fn default() -> EtcArgs {
        EtcArgs { etc: "/etc".into() }
    }
}

impl EtcArgs {
    pub(super) fn system(&self) -> System {
        System::of(&self.etc)
    }
}

/// The parts of sealing apart, which `ledger seal --apart` starts
#[derive(Debug, Args)]
pub(super) struct Apart {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Send the log, as the person whose log it is
    Feed {
        /// From this record on
        #[arg(long)]
        from: u64,
        #[command(flatten)]
        home: HomeArgs,
    },
    /// Seal what is sent, as the system user
    Take {
        /// Whose log it is
        #[arg(long)]
        person: u32,
        #[command(flatten)]
        etc: EtcArgs,
    },
    /// Make the key, as the system user, and print its public part
    Key {
        #[command(flatten)]
        etc: EtcArgs,
    },
}

impl Apart {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        match self.part {
            Part::Feed { from, home } => {
                let state = home.dirs()?.state;
                let mut sent = BufWriter::new(&mut out.stdout);
                feed(&state, from, &mut sent).map_err(|error| error.to_string())?;
                sent.flush().map_err(|error| error.to_string())?;
                Ok(ExitCode::SUCCESS)
            }
            Part::Take { person, etc } => {
                let mut sent = BufReader::new(io::stdin().lock());
                let taken = take(&etc.system().places(), person, &mut sent, SystemTime::now());
                let (said, code) = match taken {
                    Ok(Taken::Nothing) => ("there is no record yet".to_owned(), 0),
                    Ok(Taken::Sealed { size, new }) => {
                        (format!("sealed up to record {size}, {new} of them new, level apart"), 0)
                    }
                    Ok(Taken::Refused(why)) => (format!("refused: {why}"), REFUSED),
                    Err(error) => (error.to_string(), FAILED),
                };
                out.line(said)?;
                Ok(ExitCode::from(code))
            }
            Part::Key { etc } => {
                let key = make_key(&etc.system().places()).map_err(|error| error.to_string())?;
                out.line(key.to_string())?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

/// Seals the log of everybody. It ends well if each was sealed, or has no record.
pub(super) fn seal_all(
    out: &mut Out,
    etc: &EtcArgs,
    patience: Duration,
    quiet: bool,
) -> Result<ExitCode, String> {
    let system = etc.system();
    if !rustix::process::geteuid().is_root() {
        return Err("only root can do this: it becomes the person, and the system user".into());
    }
    let sealer = system
        .sealer()
        .ok_or_else(|| format!("there is no system user `{SEALER}`; `toolgate init --managed` makes it"))?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let run = &Run { program, etc: etc.etc.to_string_lossy().into_owned(), patience, system, sealer };
    let mut worst = 0;
    for people in run.system.people().chunks(AT_ONCE) {
        let ended: Vec<_> = thread::scope(|scope| {
            let one = |person| scope.spawn(move || run.seal(person));
            let started: Vec<_> = people.iter().map(one).collect();
            let failed = || io::Error::other("failed");
            started.into_iter().map(|one| one.join().unwrap_or_else(|_| Err(failed()))).collect()
        });
        for (person, ended) in people.iter().zip(ended) {
            let (code, said) = ended.unwrap_or_else(|error| (FAILED, error.to_string()));
            worst = worst.max(code);
            if code != 0 || !quiet {
                out.line(format!("{}: {said}", person.name))?;
            }
        }
    }
    Ok(ExitCode::from(worst))
}

/// What is the same for everybody.
struct Run {
    program: PathBuf,
    etc: String,
    /// So long one person's log may take.
    patience: Duration,
    system: System,
    sealer: Account,
}

impl Run {
    /// Seals the log of one person. Gives how it ended, and what was said.
    fn seal(&self, person: &Account) -> io::Result<(u8, String)> {
        let from = self.system.places().begin_at(person.user, SystemTime::now()).to_string();
        let (home, number) = (person.home.to_string_lossy(), person.user.to_string());
        let args = ["ledger", "apart", "feed", "--home", &home, "--from", &from];
        let mut sends = as_account(person, &self.program, &args).stdout(Stdio::piped()).spawn()?;
        let sent = sends.stdout.take().map_or_else(Stdio::null, Stdio::from);
        let args = ["ledger", "apart", "take", "--person", &number, "--etc", &self.etc];
        let takes = as_account(&self.sealer, &self.program, &args).stdin(sent).stdout(Stdio::piped()).spawn();
        let ended = takes.and_then(|mut takes| ended(&mut takes, self.patience));
        // One that goes on sends to nobody.
        let _ = sends.kill();
        sends.wait()?;
        ended
    }
}

/// Waits for the one that seals. What it says fits into a pipe.
fn ended(takes: &mut Child, patience: Duration) -> io::Result<(u8, String)> {
    let deadline = Instant::now() + patience;
    let status = loop {
        if let Some(status) = takes.try_wait()? {
            break status;
        }
        if Instant::now() > deadline {
            let _ = takes.kill();
            takes.wait()?;
            return Ok((FAILED, format!("took longer than {} seconds", patience.as_secs())));
        }
        thread::sleep(Duration::from_millis(5));
    };
    let mut said = String::new();
    if let Some(stdout) = takes.stdout.take() {
        stdout.take(4096).read_to_string(&mut said)?;
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED);
    Ok((code, said.trim().to_owned()))
}
