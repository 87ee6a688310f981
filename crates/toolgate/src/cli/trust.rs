//! `toolgate trust`: a person lets a project's settings loosen rules.
//!
//! Against whom: an agent that runs this command. The answer has to come from a person: see `people`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::allow::trust;
use super::people::{Loosened, PlaceArgs, confirmed, record_agreed};
use super::{LineArgs, Out};
use toolgate_gate::disk::Disk;
use toolgate_gate::git;
use toolgate_gate::settings::{FILE, SettingsSources, digest};
use toolgate_model::visible;
use toolgate_setup::compile::check;

/// Let this project's own settings loosen rules, in their present form: toolgate.toml, and a team's policies.json
#[derive(Debug, Args)]
pub(super) struct Trust {
    /// Only print whether it is trusted
    #[arg(long)]
    status: bool,
    /// As JSON; with --status
    #[arg(long, requires = "status")]
    json: bool,
    /// Revoke the trust
    #[arg(long, conflicts_with = "status")]
    revoke: bool,
    #[command(flatten)]
    line: LineArgs,
}

impl Trust {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let options = self.line.options()?;
        let disk = Disk::default();
        let here = std::env::current_dir().map_err(|error| error.to_string())?;
        let layout = git::layout(&disk, &here, Some(&options.dirs.home));
        let root = options.session.root.as_deref().unwrap_or(&layout.top);
        let repository = layout.git.as_deref().and_then(|git| fs::canonicalize(git).ok());
        let places = PlaceArgs::at(root).places(&options.dirs)?;
        let wanted = SettingsSources {
            dirs: &options.dirs,
            root: Some(root),
            repository: repository.as_deref(),
            team: &places.team,
            fixed: None,
            default: "worktree",
        };
        if self.revoke {
            return revoke(out, &wanted.trust_note());
        }
        let own = root.join(FILE);
        let files: Vec<PathBuf> = Some(own.clone())
            .filter(|own| own.exists())
            .into_iter()
            .chain(wanted.team_rules(&disk))
            .collect();
        if files.is_empty() {
            return Err(format!("there is no {}; nothing to trust", own.display()));
        }
        let (mut open, mut rows) = (Vec::new(), Vec::new());
        for file in files {
            let bytes = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            check(&file, &bytes).map_err(|error| error.to_string())?;
            let trusted = wanted.is_trusted(&disk, &bytes);
            if self.json {
                rows.push(json!({ "file": file, "trusted": trusted }));
            } else if self.status || trusted {
                let word = if trusted { "trusted" } else { "not trusted: it can only add rules" };
                out.line(format!("{} is {word}", file.display()))?;
            }
            if !trusted {
                open.push((file, bytes));
            }
        }
        if self.json {
            out.json(&json!({ "files": rows }))?;
        }
        if self.status || open.is_empty() {
            return Ok(if open.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        let mut agreed = Vec::new();
        for (file, bytes) in &open {
            let text = visible(&String::from_utf8_lossy(bytes)).trim_end().to_owned();
            out.line(&text)?;
            out.line("")?;
            // Whoever signs this elsewhere sees nothing else of it.
            let question = format!(
                "Let {} (SHA-256 {}) loosen rules for all worktrees of this repository?",
                file.display(),
                digest(bytes)
            );
            let signer = confirmed(out, &options.dirs, Some(root), &Loosened::Everything, &text, &question)
                .map_err(|why| format!("not trusted: {why}"))?;
            agreed.push((file.display().to_string(), bytes, signer));
        }
        // The record has it before it counts.
        for (file, bytes, signer) in &agreed {
            let about = [("file", file.as_str()), ("digest", &digest(bytes))];
            record_agreed(&options.dirs, "security-warning: trust", &about, signer)?;
            trust(&wanted.trust_note(), bytes)?;
        }
        out.line("trusted; if the file changes, it must be trusted again")?;
        Ok(ExitCode::SUCCESS)
    }
}

fn revoke(out: &mut Out, note: &Path) -> Result<ExitCode, String> {
    match fs::remove_file(note) {
        Ok(()) => out.line("no longer trusted")?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => out.line("was not trusted")?,
        Err(error) => return Err(format!("{}: {error}", note.display())),
    }
    Ok(ExitCode::SUCCESS)
}
