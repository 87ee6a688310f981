//! `toolgate ledger`: the record, to be read, counted and verified.

use std::collections::VecDeque;
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use toolgate_evidence::{Ledger as Store, LedgerError, Record, Records, Report, Totals, render, verify};
use toolgate_model::Decision;

use super::{LineArgs, Out};

/// Read and verify the record
#[derive(Debug, Args)]
pub(super) struct Ledger {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the last records
    Tail {
        /// How many
        #[arg(short, long, default_value_t = 20)]
        n: usize,
        /// Only calls that were denied
        #[arg(long)]
        denied: bool,
        /// In which form
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
        /// The same as --format json
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        line: LineArgs,
    },
    /// Check that no record was changed, removed or put in
    Verify {
        /// As JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        line: LineArgs,
    },
    /// Count calls by what was decided, and denials by kind
    Counts {
        /// As JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        line: LineArgs,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// As it is recorded
    Json,
    /// As ittybitty logs denials
    Ib,
    /// As Claude MPM logs
    Mpm,
}

impl Ledger {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        match self.command {
            Command::Tail { n, denied, format, json, line } => {
                let ledger = Store::at(&line.dirs()?.state);
                let last =
                    if denied { last_denied(&ledger, n) } else { ledger.last(n).and_then(Iterator::collect) };
                for record in last.map_err(|error: LedgerError| error.to_string())? {
                    print(out, &record, if json { Format::Json } else { format })?;
                }
                Ok(ExitCode::SUCCESS)
            }
            Command::Verify { json, line } => {
                let report = verify(&line.dirs()?.state).map_err(|error| error.to_string())?;
                if json {
                    out.json(&report)?;
                } else {
                    out.line(describe(&report))?;
                }
                Ok(if report.problem.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
            }
            Command::Counts { json, line } => {
                let counts = totals(&line.dirs()?.state)?;
                if json {
                    out.json(&counts)?;
                } else {
                    print_counts(out, &counts)?;
                }
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

/// The last `n` calls that were denied.
fn last_denied(records: &dyn Records, n: usize) -> Result<Vec<Record>, LedgerError> {
    let mut last = VecDeque::new();
    for record in records.all()? {
        let record = record?;
        if record.decision.known().is_some_and(Decision::denies) {
            last.push_back(record);
            if last.len() > n {
                last.pop_front();
            }
        }
    }
    Ok(last.into())
}

/// The totals over all records.
pub(super) fn totals(state: &Path) -> Result<Totals, String> {
    let mut totals = Totals::default();
    for record in Store::at(state).all().map_err(|error| error.to_string())? {
        totals.add(&record.map_err(|error| error.to_string())?);
    }
    Ok(totals)
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

/// The outcome of a verification, in one line.
pub(super) fn describe(report: &Report) -> String {
    let files = if report.segments == 1 { "file" } else { "files" };
    let size = format!("{} records in {} {files}", report.lines, report.segments);
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
    for (name, count) in counts.decisions.iter().chain(&counts.kinds) {
        out.line(format!("{count:>6}  {name}"))?;
    }
    Ok(())
}
