//! `toolgate ledger`: the record, to be read, counted and verified.

use std::collections::VecDeque;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use toolgate_evidence::{Record, Report, Totals, entries, render, tail, verify};
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
                let state = line.dirs()?.state;
                let last = if denied {
                    let mut last = VecDeque::new();
                    for entry in entries(&state).map_err(|error| error.to_string())? {
                        let entry = entry.map_err(|error| error.to_string())?;
                        if entry.decision.known().is_some_and(Decision::denies) {
                            last.push_back(entry);
                            if last.len() > n {
                                last.pop_front();
                            }
                        }
                    }
                    last.into()
                } else {
                    let last = tail(&state, n).map_err(|error| error.to_string())?;
                    last.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?
                };
                for entry in &last {
                    print(out, entry, if json { Format::Json } else { format })?;
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
                let mut counts = Totals::default();
                for entry in entries(&line.dirs()?.state).map_err(|error| error.to_string())? {
                    counts.add(&entry.map_err(|error| error.to_string())?);
                }
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
                Some(Decision::Allow) => "32",
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
