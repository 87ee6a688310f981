//! `toolgate ledger export`: records for other programs, as they are or in the words of a standard.
//!
//! Promise: what a call was about (commands, arguments, messages) is left out unless it is asked for. The cursor moves once the records
//! are out; with `--ack` once their reader has said so, and with `--to` once the collector has. So a program that dies in between gets some
//! of them twice, and misses none.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use clap::{Args, ValueEnum};
use toolgate_evidence::export::{Detail, csv, csv_header, jsonl, ocsf, otlp};
use toolgate_evidence::proof::{Cursor, origin};

use super::super::Out;
use super::super::people::HomeArgs;
use super::passed_over;
use super::post::Collector;
use super::tail::{LOOK, Stop, Which};

/// So often a batch is sent to a collector that does not take it; and where the export goes on for ever.
const ATTEMPTS: u32 = 7;
const PATIENT: u32 = 14;
/// So many records go out before the cursor moves.
const BATCH: usize = 512;

/// Export records for other programs
#[derive(Debug, Args)]
pub(super) struct Export {
    /// The format
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// Include commands, arguments and messages
    #[arg(long)]
    with_text: bool,
    /// Begin after the record that this file names, and note there how far the export has come
    #[arg(long, value_name = "FILE")]
    cursor: Option<PathBuf>,
    /// Follow the log, until you stop it
    #[arg(long)]
    follow: bool,
    /// Wait for a line on standard input after each batch, before the cursor moves
    #[arg(long, requires = "cursor", conflicts_with = "to")]
    ack: bool,
    /// Send the batches to a collector on this machine, as OTLP/HTTP in JSON: http://127.0.0.1:4318/v1/logs
    #[arg(long, value_name = "URL", requires = "cursor", conflicts_with = "format")]
    to: Option<Collector>,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    home: HomeArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The records as they are, one object per line
    Jsonl,
    /// One line per record, with a header
    Csv,
    /// Events of the Open Cybersecurity Schema Framework, one per line
    Ocsf,
    /// Bodies for OTLP/HTTP: log records of OpenTelemetry, one batch per line
    Otlp,
}

impl Export {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let state = self.home.dirs()?.state;
        let query = self.which.query()?;
        let detail = if self.with_text { Detail::WithText } else { Detail::Verdicts };
        let origin = origin(&state);
        let mut cursor = match &self.cursor {
            Some(path) => load(path)?,
            None => Cursor::default(),
        };
        let format = if self.to.is_some() { Format::Otlp } else { self.format };
        if format == Format::Csv && cursor.seq == 0 {
            out.line(csv_header(detail))?;
        }
        let mut told = 0;
        loop {
            let (mut batch, mut printed) = (Vec::new(), 0_usize);
            let read = cursor.read(&state, BATCH, |line, record| {
                if !query.wants(&record) {
                    return Ok(());
                }
                printed += 1;
                let said = match format {
                    Format::Jsonl => out.line(jsonl(line, &record, detail)),
                    Format::Csv => out.line(csv(&record, detail)),
                    Format::Ocsf => out.line(ocsf(&origin, line, &record, detail).to_string()),
                    Format::Otlp => {
                        batch.push(otlp::log_record(&origin, line, &record, detail));
                        Ok(())
                    }
                };
                said.map_err(Stop::Printing)
            });
            let count = read.map_err(|stop| match stop {
                Stop::Printing(error) => error,
                Stop::Ledger(error) => error.to_string(),
            })?;
            if !batch.is_empty() {
                let body = otlp::request(&batch).to_string();
                match &self.to {
                    Some(collector) => {
                        collector.deliver(&body, if self.follow { PATIENT } else { ATTEMPTS })?;
                    }
                    None => out.line(body)?,
                }
            }
            out.stdout.flush().map_err(|error| error.to_string())?;
            if self.ack && printed > 0 {
                acknowledged()?;
            }
            if let (Some(path), true) = (&self.cursor, count > 0) {
                store(path, &cursor)?;
            }
            match (count, self.follow) {
                (0, false) => return Ok(passed_over(cursor.unreadable)),
                (0, true) => {
                    if cursor.unreadable > told {
                        passed_over(cursor.unreadable - told);
                        told = cursor.unreadable;
                    }
                    thread::sleep(LOOK);
                }
                _ => {}
            }
        }
    }
}

/// Waits for the line by which a reader says that it has what was printed. The end of the input is no such line.
fn acknowledged() -> Result<(), String> {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(1..) if line.ends_with('\n') => Ok(()),
        Ok(_) => {
            Err("the reader is gone, and has not said that it has the last batch; it is sent again next time"
                .into())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// INVARIANT: a cursor that cannot be read is an error. Beginning anew would send everything again.
fn load(path: &Path) -> Result<Cursor, String> {
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map_err(|_| format!("`{}` is not a cursor that toolgate wrote", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Cursor::default()),
        Err(error) => Err(format!("cannot read `{}`: {error}", path.display())),
    }
}

fn store(path: &Path, cursor: &Cursor) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot write `{}`: {error}", path.display());
    let text = serde_json::to_vec(cursor).map_err(|error| error.to_string())?;
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    fs::write(&new, text).map_err(failed)?;
    fs::rename(&new, path).map_err(failed)
}
