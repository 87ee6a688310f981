//! `toolgate scrub`: stdin to stdout without secrets, in pieces as they come.
//!
//! Promise: whatever goes wrong, nothing leaves unread. Settings that cannot be used count as none, and the rules
//! that are built in hold.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use toolgate_policies::{self as policies, Redaction};
use toolgate_secrets::{Marks, Stream};

use super::{Out, READER_GONE, layers_of};
use toolgate_gate::dirs::Dirs;
use toolgate_gate::disk::Disk;
use toolgate_gate::redaction::{Marker, rules};
use toolgate_gate::settings::SettingsSources;

/// What is read at once.
const PIECE: usize = 64 * 1024;

/// Copy stdin to stdout with a mark in place of every secret
#[derive(Debug, Args)]
#[command(after_help = HELP)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct Scrub {
    /// Which email addresses to remove
    #[arg(long, value_enum)]
    emails: Option<Emails>,
    /// Leave values that only look random
    #[arg(long)]
    no_entropy: bool,
    /// Remove only private keys and the tokens of the best known vendors
    #[arg(long)]
    core: bool,
    /// Leave keys that vendors print in their manuals
    #[arg(long)]
    keep_examples: bool,
    /// The mark that replaces a secret
    #[arg(long, value_enum)]
    marks: Option<Shape>,
    /// Print on stderr how many secrets there were
    #[arg(long)]
    count: bool,
    /// End each mark with four digits, which are the same for the same secret within this session
    #[arg(long, value_name = "ID", hide_short_help = true)]
    session: Option<String>,
    /// The profile whose settings hold
    #[arg(long, hide_short_help = true)]
    profile: Option<String>,
    /// The home directory
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    home: Option<PathBuf>,
    /// The directory of the user's settings
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    config: Option<PathBuf>,
    /// The directory of the log and of toolgate's other state
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    state: Option<PathBuf>,
}

const HELP: &str = "\
Examples:
  make deploy 2>&1 | toolgate scrub
  toolgate scrub --count < server.log > clean.log

Everything else comes from [redaction] in your toolgate.toml. The input may have any size and any
bytes; text without secrets stays as it is. docs/secrets.md lists what is removed.

Exit code: 0 done, 1 could not be read or written.";

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Emails {
    /// All
    All,
    /// Those that are on no safe list
    Unlisted,
    /// The same, but not those of authors, of the targets of ssh and of service accounts
    Personal,
    /// None
    None,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shape {
    /// [JWT REDACTED]
    Plain,
    /// [REDACTED:JWT], and [EMAIL_REDACTED] for addresses
    Compat,
}

impl Scrub {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let disk = Disk::default();
        let dirs = self.dirs();
        let wanted = self.wanted(dirs.as_ref());
        let state = dirs.map(|dirs| dirs.state).unwrap_or_default();
        let marker = Marker::new(&disk, &state, self.session.as_deref());
        let end = |secret: &[u8]| marker.end(secret);
        let marks = match wanted.marks {
            policies::Marks::Compat => Marks::Compat,
            policies::Marks::Same if self.session.is_some() => Marks::Same(&end),
            policies::Marks::Same | policies::Marks::Plain => Marks::Plain,
        };
        let rules = rules(&wanted);
        match copy(io::stdin().lock(), &mut out.stdout, Stream::new(&rules, marks)) {
            Ok(count) => {
                if self.count {
                    let things = if count == 1 { "redaction" } else { "redactions" };
                    let _ = writeln!(io::stderr(), "{count} {things}");
                }
                Ok(ExitCode::SUCCESS)
            }
            Err(Failure::Write(error)) if error.kind() == ErrorKind::BrokenPipe => {
                Ok(ExitCode::from(READER_GONE))
            }
            Err(Failure::Write(error)) => Err(format!("stdout: {error}")),
            Err(Failure::Read(error)) => Err(format!("stdin: {error}")),
        }
    }

    fn dirs(&self) -> Option<Dirs> {
        let mut dirs = match &self.home {
            Some(home) => Dirs::of_home(home),
            None => Dirs::from_env(|name| std::env::var_os(name))?,
        };
        dirs.config = self.config.clone().unwrap_or(dirs.config);
        dirs.state = self.state.clone().unwrap_or(dirs.state);
        Some(dirs)
    }

    /// What the arguments say, upon what the settings of administrator and user say. The project's have no say: nobody
    /// knows where the text comes from.
    fn wanted(&self, dirs: Option<&Dirs>) -> Redaction {
        let layers = dirs.ok_or_else(|| "HOME is not set".to_owned()).and_then(|dirs| {
            let fixed = self.profile.as_deref();
            let wanted =
                SettingsSources { dirs, root: None, repository: None, team: &[], fixed, default: "worktree" };
            layers_of(&wanted)
        });
        let layers = layers.unwrap_or_else(|error| {
            let _ = writeln!(io::stderr(), "toolgate: {error}; scrubbing by the built-in rules");
            Vec::new()
        });
        let mut wanted = Redaction::of_all(layers.iter().map(|layer| &layer.redaction));
        match self.emails {
            Some(Emails::All) => wanted.emails = policies::Emails::All,
            Some(Emails::Personal) => wanted.emails = policies::Emails::Personal,
            Some(Emails::Unlisted) => wanted.emails = policies::Emails::Unlisted,
            Some(Emails::None) => wanted.emails = policies::Emails::None,
            None => {}
        }
        match self.marks {
            Some(Shape::Plain) => wanted.marks = policies::Marks::Plain,
            Some(Shape::Compat) => wanted.marks = policies::Marks::Compat,
            None => {}
        }
        if self.core {
            wanted.secrets = policies::Secrets::Core;
        }
        wanted.entropy &= !self.no_entropy;
        wanted.keep_examples |= self.keep_examples;
        wanted
    }
}

/// Which side went wrong.
enum Failure {
    Read(io::Error),
    Write(io::Error),
}

/// Copies until the end, and says how many secrets were on the way. What can be said is said at once: somebody may be
/// waiting for it.
fn copy(
    mut input: impl Read + AsFd,
    output: &mut impl Write,
    mut stream: Stream<'_>,
) -> Result<usize, Failure> {
    let mut piece = vec![0; PIECE];
    let mut clean = Vec::with_capacity(PIECE);
    let (mut patience, mut held) = (Patience::default(), false);
    let ended = loop {
        // A line that does not end is passed on all the same.
        if !soon(&input, patience.left(stream.is_waiting() && !held)) {
            stream.pause(&mut clean);
            // What is left may become a secret, and has to wait for more.
            held = true;
            hand_on(&mut clean, output)?;
            continue;
        }
        match input.read(&mut piece) {
            Ok(0) => break Ok(()),
            Ok(length) => stream.push(piece.get(..length).unwrap_or_default(), &mut clean),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => break Err(Failure::Read(error)),
        }
        held = false;
        patience.heard(!clean.is_empty());
        hand_on(&mut clean, output)?;
    };
    // What came before an error came all the same.
    let count = stream.finish(&mut clean);
    hand_on(&mut clean, output)?;
    ended.map(|()| count)
}

/// How long something may still wait before it is passed on though its line has not ended. It counts from when something began to wait, not
/// from the last byte: a program that prints a dot every tenth of a second never falls silent.
#[derive(Default)]
pub(super) struct Patience {
    since: Option<Instant>,
}

impl Patience {
    /// As long as somebody who watches would wait.
    const WHOLE: Duration = Duration::from_millis(500);

    /// What is left of it; `None` where nothing waits.
    pub(super) fn left(&mut self, waiting: bool) -> Option<Timespec> {
        if !waiting {
            self.since = None;
            return None;
        }
        let since = self.since.get_or_insert_with(Instant::now);
        let left = Self::WHOLE.saturating_sub(since.elapsed());
        Some(Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() })
    }

    /// Something has come. If something was said for it, what waits now has come with it.
    pub(super) fn heard(&mut self, said: bool) {
        if said {
            self.since = None;
        }
    }
}

/// Whether something comes within this time.
pub(super) fn soon(input: &impl AsFd, patience: Option<Timespec>) -> bool {
    let mut polled = [PollFd::new(input, PollFlags::IN)];
    // Where that fails, reading says why.
    poll(&mut polled, patience.as_ref()).map_or(true, |ready| ready > 0)
}

fn hand_on(clean: &mut Vec<u8>, output: &mut impl Write) -> Result<(), Failure> {
    if !clean.is_empty() {
        output.write_all(clean).and_then(|()| output.flush()).map_err(Failure::Write)?;
        clean.clear();
    }
    Ok(())
}
