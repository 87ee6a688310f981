//! `toolgate ledger`: read, count, seal, verify, export and shorten the log.

mod apart;
mod export;
mod post;
pub(super) mod prove;
mod retain;
mod stamps;
pub(super) mod tail;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;
use toolgate_evidence::{Ledger as Store, LedgerError, Record, RecordIter, Records, Report, Totals};
use toolgate_report::Corrections;

use super::Out;
use super::people::HomeArgs;

/// Read and verify the log
#[derive(Debug, Args)]
pub(super) struct Ledger {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the last records of the log
    Tail(tail::Tail),
    /// Check that no record was changed, removed or inserted: chain, tree, signatures and keys
    Verify(prove::Verify),
    /// Count calls by decision, denials by kind, and how agents went on after them
    Counts {
        /// As JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        home: HomeArgs,
    },
    /// Sign what was recorded so far; the hook starts this by itself
    Seal(prove::Seal),
    #[command(hide = true)]
    Apart(apart::Apart),
    /// List the keys that the log was sealed with
    Keys(prove::Keys),
    /// Write one record with the proof that it is in the log
    Prove(prove::Prove),
    /// Check such a proof
    CheckProof(prove::CheckProof),
    /// Attach somebody else's signature or time stamp to the last checkpoint
    Anchor(prove::Anchor),
    /// Export records for other programs
    Export(export::Export),
    /// Drop old files of the log; what remains can still be verified; only for a person at a terminal
    Prune(retain::Prune),
    /// Erase the text of one record, and keep its hash; only for a person at a terminal
    Erase(retain::Erase),
}

impl Ledger {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        match self.command {
            Command::Tail(command) => command.run(out),
            Command::Verify(command) => command.run(out),
            Command::Counts { json, home } => {
                let (mut totals, mut corrections) = (Totals::default(), Corrections::default());
                let store = Store::at(&home.dirs()?.state);
                let mut passed = 0;
                for record in readable(store.all().map_err(|error| error.to_string())?, &mut passed) {
                    let record = record.map_err(|error| error.to_string())?;
                    totals.add(&record);
                    corrections.add(&record);
                }
                let counts = Counts { totals, corrections };
                if json {
                    out.json(&counts)?;
                } else {
                    print_counts(out, &counts.totals)?;
                    for line in counts.corrections.lines() {
                        out.line(line)?;
                    }
                }
                Ok(passed_over(passed))
            }
            Command::Seal(command) => command.run(out),
            Command::Apart(command) => command.run(out),
            Command::Keys(command) => command.run(out),
            Command::Prove(command) => command.run(out),
            Command::CheckProof(command) => command.run(out),
            Command::Anchor(command) => command.run(out),
            Command::Export(command) => command.run(out),
            Command::Prune(command) => command.run(out),
            Command::Erase(command) => command.run(out),
        }
    }
}

/// What `toolgate ledger counts` counts.
#[derive(Serialize)]
struct Counts {
    #[serde(flatten)]
    totals: Totals,
    corrections: Corrections,
}

/// The records without the lines that are none, which are counted: one of them must not hide the rest.
pub(super) fn readable<'r>(
    records: RecordIter<'r>,
    passed: &'r mut u64,
) -> impl Iterator<Item = Result<Record, LedgerError>> + 'r {
    records.filter(move |record| {
        let is_none = matches!(record, Err(LedgerError::Malformed { .. }));
        *passed += u64::from(is_none);
        !is_none
    })
}

/// Says that lines were passed over; the exit code of a command that has shown the others.
pub(super) fn passed_over(lines: u64) -> ExitCode {
    if lines == 0 {
        return ExitCode::SUCCESS;
    }
    let what = if lines == 1 {
        "1 line of the log is no record and was"
    } else {
        "some lines of the log are no records and were"
    };
    let _ = writeln!(io::stderr(), "toolgate: {what} passed over; `toolgate ledger verify` says more");
    ExitCode::FAILURE
}

/// The totals over all records.
pub(super) fn totals(state: &Path) -> Result<Totals, String> {
    let mut totals = Totals::default();
    for record in Store::at(state).all().map_err(|error| error.to_string())? {
        totals.add(&record.map_err(|error| error.to_string())?);
    }
    Ok(totals)
}

/// The outcome of a verification of the chain, in one line.
pub(super) fn describe(report: &Report) -> String {
    let files = if report.segments == 1 { "file" } else { "files" };
    let records = if report.lines == 1 { "record" } else { "records" };
    let size = format!("{} {records} in {} {files}", report.lines, report.segments);
    match &report.problem {
        Some(problem) => format!("{size}; broken: {problem}"),
        None if report.lines == 0 && !report.torn => "there is no record yet".to_owned(),
        None if report.torn => {
            format!("{size}, all in order; a crash left half a record, which the next one repairs")
        }
        None => format!("{size}, all in order"),
    }
}

/// Decisions first, then the kinds of objections.
pub(super) fn print_counts(out: &mut Out, counts: &Totals) -> Result<(), String> {
    for (name, count) in &counts.decisions {
        out.line(format!("{count:>6}  {name}"))?;
    }
    for (name, count) in &counts.observed {
        out.line(format!("{count:>6}  would be {name} (only observed)"))?;
    }
    for (name, count) in &counts.kinds {
        out.line(format!("{count:>6}  {name}"))?;
    }
    Ok(())
}
