//! `toolgate report`: what the agents did in a session, a day or a place, as a page that can be sent to somebody.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::{Args, ValueEnum};
use toolgate_evidence::proof::index::{search, time};
use toolgate_evidence::{last_position, rfc3339};
use toolgate_policies::POLICIES;
use toolgate_report::{Facts, html, markdown, page, terminal};

use super::Out;
use super::ledger::prove::standing;
use super::ledger::tail::Which;
use super::people::HomeArgs;
use super::progress::Shown;
use super::reconcile::in_one_line;

/// Where nobody says how wide the page may be.
const WIDTH: usize = 100;

/// Write a page about what the agents did
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  toolgate report --since 1d\n  toolgate report --day 2026-11-18 --format html -o day.html\n  toolgate report --session ID --format markdown\n  toolgate report --root . --since 7d --format json\n\nThe page holds what the log holds: commands, paths and messages, without known secrets. The HTML file needs no network and no script."
)]
pub(super) struct Report {
    /// The form of the page
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Write the page to this file, which must not exist
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only records of this day, in UTC
    #[arg(long, value_name = "DATE", conflicts_with_all = ["since", "until"])]
    day: Option<String>,
    /// Only records before this time; written as for --since
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    #[command(flatten)]
    which: Which,
    /// Do not compare the log with the agents' own transcripts
    #[arg(long)]
    no_transcripts: bool,
    #[command(flatten)]
    home: HomeArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For a terminal
    Text,
    /// Markdown
    Markdown,
    /// One HTML file
    Html,
    /// The facts as JSON
    Json,
}

impl Report {
    pub(super) fn run(mut self, out: &mut Out) -> Result<ExitCode, String> {
        let dirs = self.home.dirs()?;
        let until = self.range()?;
        let mut facts = Facts::new(rfc3339(SystemTime::now()), self.which.chosen());
        let query = self.which.clone().query()?;
        let records =
            last_position(&dirs.state).map_err(|error| error.to_string())?.map_or(0, |last| last.seq);
        let progress = Shown::counting("report", "records");
        let looked = search(&dirs.state, &query, |record| {
            if until.as_ref().is_some_and(|until| record.time >= *until) {
                return false;
            }
            progress.at(record.seq, records);
            facts.add(&record);
            true
        })
        .map_err(|error| error.to_string())?;
        drop(progress);
        facts.proof = standing(&self.home)?;
        if looked.unreadable > 0 {
            let lines = "some lines of the log are no records, and are not on this page".to_owned();
            facts.proof.parts.push(("unreadable", lines));
        }
        let complete = if self.no_transcripts {
            "not compared with the agents' transcripts".to_owned()
        } else {
            in_one_line(&dirs).1
        };
        facts.proof.parts.push(("complete", complete));
        facts.finish(POLICIES.iter().map(|policy| policy.id));
        let colour = out.colour && self.output.is_none();
        let form = if self.json { Form::Json } else { self.format };
        let text = match form {
            Form::Text => terminal(&page(&facts), width(), colour),
            Form::Markdown => markdown(&page(&facts)),
            Form::Html => html(&page(&facts)),
            Form::Json => serde_json::to_string_pretty(&facts).map_err(|error| error.to_string())? + "\n",
        };
        match &self.output {
            Some(path) => {
                let failed = |error: io::Error| format!("cannot write `{}`: {error}", path.display());
                let mut file = std::fs::File::create_new(path).map_err(failed)?;
                file.write_all(text.as_bytes()).map_err(failed)?;
            }
            None => out.line(text.trim_end())?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Sets the beginning of the range, and gives its end.
    fn range(&mut self) -> Result<Option<String>, String> {
        let Some(day) = &self.day else {
            return self.until.as_deref().map(at).transpose();
        };
        let begin = at(day)?;
        if day.len() != "2026-11-18".len() {
            return Err(format!("`{day}` is not a day; write 2026-11-18"));
        }
        self.which.since = Some(begin);
        // No time of this day is later, and every time of the next one is.
        Ok(Some(format!("{day}T99")))
    }
}

fn at(text: &str) -> Result<String, String> {
    time(text, SystemTime::now()).ok_or_else(|| {
        format!(
            "`{text}` is not a time; write 2026-11-18, 2026-11-18T05:00:00Z, or 90m, 12h, 3d for how long ago"
        )
    })
}

/// How wide the terminal is.
fn width() -> usize {
    rustix::termios::tcgetwinsize(io::stdout()).map_or(WIDTH, |size| usize::from(size.ws_col).max(40))
}
