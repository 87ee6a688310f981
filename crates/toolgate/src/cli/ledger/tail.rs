//! `toolgate ledger tail`: the last records, those of one session, agent, place or policy, and those that come.

use std::collections::VecDeque;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum};
use toolgate_evidence::proof::Cursor;
use toolgate_evidence::proof::index::{Query, search, time};
use toolgate_evidence::{Ledger, LedgerError, Record, Records, last_position, render};
use toolgate_model::Decision;

use super::super::Out;
use super::super::people::HomeArgs;
use super::{passed_over, readable};

/// How often somebody who follows looks.
pub(super) const LOOK: Duration = Duration::from_millis(200);

/// Print the last records of the log
#[derive(Debug, Args)]
pub(super) struct Tail {
    /// How many records
    #[arg(short, long, default_value_t = 20)]
    n: usize,
    /// Follow the log, until you stop it
    #[arg(short, long)]
    follow: bool,
    #[command(flatten)]
    which: Which,
    /// The format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The same as --format json
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    home: HomeArgs,
}

/// Which records are wanted.
#[derive(Debug, Clone, Args)]
pub(in super::super) struct Which {
    /// Only calls that were denied
    #[arg(long)]
    denied: bool,
    /// Only records of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only records of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only records of agents that were confined to this directory
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Only records with an objection of this policy or rule
    #[arg(long, value_name = "ID")]
    policy: Option<String>,
    /// Only records about this path
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Only records since this time: 2026-11-18, 2026-11-18T05:00:00Z, or 90m, 12h, 3d ago
    #[arg(long, value_name = "TIME")]
    pub(in super::super) since: Option<String>,
}

impl Which {
    /// What was chosen, as options and their values.
    pub(in super::super) fn chosen(&self) -> Vec<(&'static str, String)> {
        let path = self.root.as_ref().map(|root| root.display().to_string());
        let texts = [
            ("session", self.session.as_ref()),
            ("agent", self.agent.as_ref()),
            ("root", path.as_ref()),
            ("policy", self.policy.as_ref()),
            ("path", self.path.as_ref()),
        ];
        let mut chosen: Vec<_> =
            texts.into_iter().filter_map(|(name, value)| Some((name, value?.clone()))).collect();
        if self.denied {
            chosen.push(("denied", "only".to_owned()));
        }
        chosen
    }

    pub(in super::super) fn query(self) -> Result<Query, String> {
        let since = match self.since {
            Some(text) => Some(time(&text, SystemTime::now()).ok_or_else(|| {
                format!("`{text}` is not a time; write 2026-11-18, 2026-11-18T05:00:00Z, or 90m, 12h, 3d for how long ago")
            })?),
            None => None,
        };
        let root = self.root.map(std::path::absolute).transpose().map_err(|error| error.to_string())?;
        Ok(Query {
            session: self.session,
            agent: self.agent,
            root: root.map(|root| root.to_string_lossy().into_owned()),
            policy: self.policy,
            path: self.path,
            since,
            denied: self.denied,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people
    Text,
    /// As it is recorded
    Json,
    /// In the form in which ittybitty logs denials
    Ib,
    /// In the form of Claude MPM's log
    Mpm,
}

impl Tail {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let format = if self.json { Format::Json } else { self.format };
        let state = self.home.dirs()?.state;
        let query = self.which.query()?;
        let failed = |error: LedgerError| error.to_string();
        let end = last_position(&state).map_err(failed)?.map_or(0, |last| last.seq);
        let mut passed = 0;
        let last: VecDeque<Record> = if query.is_empty() {
            let ledger = Ledger::at(&state);
            readable(ledger.last(self.n).map_err(failed)?, &mut passed)
                .collect::<Result<_, _>>()
                .map_err(failed)?
        } else {
            let mut last = VecDeque::new();
            let n = self.n;
            let looked = search(&state, &query, |record| {
                last.push_back(record);
                if last.len() > n {
                    last.pop_front();
                }
                true
            })
            .map_err(failed)?;
            passed = looked.unreadable;
            last
        };
        for record in &last {
            print(out, record, format)?;
        }
        let code = passed_over(passed);
        if !self.follow {
            return Ok(code);
        }
        // What came while the others were looked for was printed with them.
        let end = last.back().map_or(end, |last| last.seq.max(end));
        let mut cursor = Cursor::after(end);
        let mut told = 0;
        loop {
            if cursor.unreadable > told {
                passed_over(cursor.unreadable - told);
                told = cursor.unreadable;
            }
            out.stdout.flush().map_err(|error| error.to_string())?;
            let read = cursor.read(&state, usize::MAX, |_, record| {
                let wanted = query.wants(&record);
                if wanted { print(out, &record, format).map_err(Stop::Printing) } else { Ok(()) }
            });
            match read {
                Ok(_) => thread::sleep(LOOK),
                Err(Stop::Printing(error)) => return Err(error),
                Err(Stop::Ledger(error)) => return Err(error.to_string()),
            }
        }
    }
}

/// Why nothing more is read.
pub(super) enum Stop {
    Ledger(LedgerError),
    Printing(String),
}

impl From<LedgerError> for Stop {
    fn from(error: LedgerError) -> Stop {
        Stop::Ledger(error)
    }
}

fn print(out: &mut Out, entry: &Record, format: Format) -> Result<(), String> {
    match format {
        Format::Json => {
            let text = serde_json::to_string(entry).map_err(|error| error.to_string())?;
            out.line(text)
        }
        Format::Ib => render::ib(entry).iter().try_for_each(|line| out.line(line)),
        // That log knows operations of tools only.
        Format::Mpm if entry.tool.is_empty() => Ok(()),
        Format::Mpm => out.line(render::mpm(entry)),
        Format::Text => {
            let code = match entry.decision.known() {
                Some(Decision::Deny) | None => "31",
                Some(Decision::Ask) => "33",
                Some(Decision::Allow | Decision::Contain) => "32",
            };
            let line = render::text(entry);
            out.line(out.paint(code, &line))
        }
    }
}
