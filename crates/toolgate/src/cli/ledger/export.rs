//! `toolgate ledger export`: records for other programs, as they are or in the words of a standard.
//!
//! Promise: what a call was about (commands, arguments, messages) is left out unless it is asked for. The cursor moves once the records
//! are out, so a program that dies in between gets some of them twice, and misses none.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use clap::{Args, ValueEnum};
use toolgate_evidence::export::{Detail, csv, csv_header, jsonl, ocsf, otlp};
use toolgate_evidence::proof::{Cursor, origin};

use super::super::Out;
use super::super::people::HomeArgs;
use super::tail::{LOOK, Stop, Which};

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
        if self.format == Format::Csv && cursor.seq == 0 {
            out.line(csv_header(detail))?;
        }
        loop {
            let mut batch = Vec::new();
            let read = cursor.read(&state, BATCH, |line, record| {
                if !query.wants(&record) {
                    return Ok(());
                }
                let said = match self.format {
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
                out.line(otlp::request(&batch).to_string())?;
            }
            out.stdout.flush().map_err(|error| error.to_string())?;
            if let (Some(path), true) = (&self.cursor, count > 0) {
                store(path, &cursor)?;
            }
            match (count, self.follow) {
                (0, false) => return Ok(ExitCode::SUCCESS),
                (0, true) => thread::sleep(LOOK),
                _ => {}
            }
        }
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
