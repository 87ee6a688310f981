//! What is no longer kept: old files, and the text of one record. A person decides, and a record says who.

use std::process::ExitCode;
use std::time::SystemTime;

use clap::Args;
use toolgate_evidence::proof::index::time;
use toolgate_evidence::proof::{erase, prune};

use super::super::Out;
use super::super::people::{Agreement, HomeArgs, Loosened, confirmed, person, seal_soon};

/// Drop old files of the log
#[derive(Debug, Args)]
pub(super) struct Prune {
    /// Drop files whose records are all older: 2026-11-18, or 180d for how long ago
    #[arg(long, value_name = "TIME")]
    before: String,
    #[command(flatten)]
    home: HomeArgs,
}

impl Prune {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let now = SystemTime::now();
        let before = time(&self.before, now).ok_or_else(|| {
            format!("`{}` is not a time; write 2026-11-18, or 180d for how long ago", self.before)
        })?;
        let dirs = self.home.dirs()?;
        let question =
            format!("The files of the log whose records are all older than {before} are removed for good.");
        let agreement = confirmed(out, &dirs, None, &Loosened::NoRule, "", &question)?;
        agreement.keep(&dirs)?;
        let dropped = prune(&dirs.state, &before, &who(&agreement, &person()), now)
            .map_err(|error| error.to_string())?;
        seal_soon(&dirs);
        out.line(match dropped.files {
            0 => "no file of the log is that old; the one that grows stays".to_owned(),
            1 => format!("1 file dropped, up to record {}", dropped.through),
            files => format!("{files} files dropped, up to record {}", dropped.through),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Erase the text of one record
#[derive(Debug, Args)]
pub(super) struct Erase {
    /// The record's number
    seq: u64,
    #[command(flatten)]
    home: HomeArgs,
}

impl Erase {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let dirs = self.home.dirs()?;
        let question = format!(
            "The text of record {} is erased for good; its number, time and decision stay.",
            self.seq
        );
        let agreement = confirmed(out, &dirs, None, &Loosened::NoRule, "", &question)?;
        agreement.keep(&dirs)?;
        erase(&dirs.state, self.seq, &who(&agreement, &person()), SystemTime::now())
            .map_err(|error| error.to_string())?;
        seal_soon(&dirs);
        out.line(format!("the text of record {} is erased; the log still verifies", self.seq))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Who wants it, as the record says it.
fn who<'a>(agreement: &'a Agreement, person: &'a str) -> Vec<(&'a str, &'a str)> {
    std::iter::once(("by", person)).chain(agreement.recorded()).collect()
}
