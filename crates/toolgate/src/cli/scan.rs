//! `toolgate scan`: secrets in files, in what is staged, in a history.
//!
//! Promise: no secret is printed, in no format; what could not be looked at is said, and the exit code with it.
//! Memory does not grow with what is looked at.
//!
//! The rules are those of the arguments and nothing else, so that a look has the same outcome on every machine. A word
//! in the text can excuse a finding here, never a redaction: there it would be the model's to write.

mod git;
mod json;
mod known;
mod patch;
mod sarif;
mod search;
mod text;
mod walk;

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use toolgate_secrets::{Emails, Rules};

use super::{CANNOT_TELL, Out, READER_GONE};
use git::Repository;
use known::Known;
use search::{Finding, Search, Totals};

/// Find secrets in files, in staged changes, or in a git history
#[derive(Debug, Args)]
#[command(after_help = HELP)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct Scan {
    /// Files, and directories with everything below them; with --staged or --git-history, a directory of the repository
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// Only files that git tracks
    #[arg(long, conflicts_with_all = ["staged", "git_history"])]
    tracked: bool,
    /// Search what is staged: the lines that the next commit adds
    #[arg(long, conflicts_with = "git_history")]
    staged: bool,
    /// Search the lines that any commit has added; each finding names its oldest commit
    #[arg(long)]
    git_history: bool,
    /// The format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// A report in JSON; findings that are in it are not reported again
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Also report email addresses that are on no safe list
    #[arg(long)]
    emails: bool,
    /// Also report keys that vendors print in their manuals
    #[arg(long)]
    examples: bool,
    /// Leave out values that only look random
    #[arg(long)]
    no_entropy: bool,
    /// Report only private keys and the tokens of the best known vendors
    #[arg(long)]
    core: bool,
}

const HELP: &str = "\
Examples:
  toolgate scan .
  toolgate scan --tracked --format sarif > scan.sarif
  toolgate scan --git-history --format json > known.json
  toolgate scan --baseline known.json .

Before every commit, in .git/hooks/pre-commit (make it executable):
  #!/bin/sh
  exec toolgate scan --staged

The same with the pre-commit framework, in .pre-commit-config.yaml:
  repos:
    - repo: local
      hooks:
        - id: toolgate-scan
          name: toolgate scan
          entry: toolgate scan --staged
          language: system
          pass_filenames: false

A false alarm: write `toolgate: not-a-secret` on its line, or keep a report of it and name that
with --baseline. A report holds no part of a secret. So if a new secret takes the place of a known
one, and the rest of the line is the same, it counts as known.

Not searched: what git keeps in .git, links, files with a NUL byte in their first 8 KiB.

Exit code: 0 nothing found, 1 something found, 2 could not look at everything.";

/// What to do about findings in what is staged.
const STAGED_ADVICE: &str = "\
Stopped before the commit. For each finding: put a reference in its place (an environment variable, the name in a
secret store) and stage the file again, or take it out with `git restore --staged FILE`. A false alarm: write
`toolgate: not-a-secret` on its line, or keep a report (--format json) and name it with --baseline.";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One object
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
}

/// Writes findings down, as they come.
trait Report {
    fn finding(&mut self, finding: &Finding) -> io::Result<()>;
    fn end(&mut self, totals: &Totals) -> io::Result<()>;
}

/// Why a look ends early.
enum Failure {
    /// What is to be looked at cannot be, and why.
    Input(String),
    /// The report cannot be written.
    Output(io::Error),
}

impl From<String> for Failure {
    fn from(what: String) -> Failure {
        Failure::Input(what)
    }
}

impl Scan {
    pub(super) fn run(self, out: &mut Out) -> ExitCode {
        match self.look(out) {
            Ok(Totals { problems: 0, findings: 0, .. }) => ExitCode::SUCCESS,
            Ok(Totals { problems: 0, .. }) => ExitCode::from(1),
            Ok(_) => ExitCode::from(CANNOT_TELL),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::from(READER_GONE),
            Err(error) => {
                complain(&format!("stdout: {error}"));
                ExitCode::FAILURE
            }
        }
    }

    /// Looks at everything that the arguments name. Fails only where the report cannot be written.
    fn look(&self, out: &mut Out) -> io::Result<Totals> {
        let rules = Rules {
            core_only: self.core,
            emails: if self.emails { Emails::Unlisted } else { Emails::None },
            entropy: !self.no_entropy,
            keep_examples: !self.examples,
            ..Rules::default()
        };
        let known = match Known::new(self.baseline.as_deref(), self.git_history) {
            Ok(known) => known,
            // Before the first word of a report.
            Err(what) => {
                complain(&what);
                return Ok(Totals { problems: 1, ..Totals::default() });
            }
        };
        let format = if self.json { Format::Json } else { self.format };
        let mut report: Box<dyn Report + '_> = match format {
            Format::Text => Box::new(text::Text::new(out)),
            Format::Json => Box::new(json::Json::begin(&mut out.stdout)?),
            Format::Sarif => Box::new(sarif::Sarif::begin(&mut out.stdout)?),
        };
        let mut search = Search::new(&rules, known, &mut *report);
        match self.search(&mut search) {
            Ok(()) => {}
            Err(Failure::Input(what)) => search.problem(&what),
            Err(Failure::Output(error)) => return Err(error),
        }
        let totals = search.totals();
        report.end(&totals)?;
        drop(report);
        out.stdout.flush()?;
        if self.staged && totals.findings > 0 {
            let _ = writeln!(io::stderr(), "{STAGED_ADVICE}");
        }
        Ok(totals)
    }

    fn search(&self, search: &mut Search<'_>) -> Result<(), Failure> {
        if self.staged || self.git_history {
            let [dir] = self.paths.as_slice() else {
                return Err("name one repository, by a directory of it".to_owned().into());
            };
            let repository = Repository::at(dir)?;
            let patch = if self.staged { repository.staged()? } else { repository.history()? };
            return patch.read_all(|text| patch::read(text, search));
        }
        for path in &self.paths {
            if self.tracked {
                git::tracked(path, |file| search.file(file))?;
            } else {
                walk::below(path, search)?;
            }
        }
        Ok(())
    }
}

fn complain(what: &str) {
    let _ = writeln!(io::stderr(), "toolgate: {what}");
}

/// A path as people write it: without the `./` in front.
fn plain(path: &Path) -> &Path {
    path.strip_prefix(".").unwrap_or(path)
}
