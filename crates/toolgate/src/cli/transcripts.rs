//! Which transcripts a command reads.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use toolgate_transcripts::{Client, Found, find, unexported};

/// Which transcripts.
#[derive(Debug, Default, Args)]
pub(super) struct TranscriptArgs {
    /// Transcripts of the one client that --host names [default: those in the home]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only the transcripts of this client; can be given several times: claude-code, codex, copilot, gemini, opencode, pi, qwen
    #[arg(long)]
    host: Vec<String>,
}

impl TranscriptArgs {
    /// Whether single files are named.
    pub(super) fn names_files(&self) -> bool {
        !self.files.is_empty()
    }

    /// Whether calls of this host are wanted.
    pub(super) fn wants_host(&self, host: &str) -> bool {
        self.host.is_empty() || self.host.iter().any(|wanted| wanted == host)
    }

    /// Those that were written since, and the directories that could not be listed.
    pub(super) fn found(&self, home: &Path, from: SystemTime) -> Result<(Vec<Found>, Vec<PathBuf>), String> {
        let clients = self.clients()?;
        if let ([client], false) = (clients.as_slice(), self.files.is_empty()) {
            let given = self.files.iter().map(|file| {
                let found = fs::metadata(file).and_then(|found| found.modified());
                let modified = found.map_err(|error| format!("{}: {error}", file.display()))?;
                Ok(Found { client: *client, file: file.clone(), modified, directory: None })
            });
            return Ok((given.collect::<Result<_, String>>()?, Vec::new()));
        }
        let (mut all, mut unlisted) = (Vec::new(), Vec::new());
        for client in clients {
            let (found, unread) = find(client, home);
            all.extend(found.into_iter().filter(|found| found.modified >= from));
            unlisted.extend(unread);
        }
        Ok((all, unlisted))
    }

    /// Sessions that were written since and that their client has to export first: what to do about them.
    pub(super) fn unexported(&self, home: &Path, from: SystemTime) -> Vec<String> {
        if self.names_files() {
            return Vec::new();
        }
        let written = |file: &PathBuf| fs::metadata(file).and_then(|found| found.modified()).ok();
        let clients = Client::ALL.into_iter().filter(|client| self.wants_host(client.host()));
        let kept = clients.filter_map(|client| Some((client, unexported(client, home)?)));
        let recent = kept.filter(|(_, file)| written(file).is_none_or(|written| written >= from));
        recent
            .map(|(client, file)| {
                let host = client.host();
                format!(
                    "{} is a database; `{host} export SESSION > FILE` for each session, then `--host {host} FILE`",
                    file.display()
                )
            })
            .collect()
    }

    fn clients(&self) -> Result<Vec<Client>, String> {
        if !self.files.is_empty() && self.host.len() != 1 {
            return Err("name the one client whose files these are, as --host claude-code".into());
        }
        if self.host.is_empty() {
            return Ok(Client::ALL.into());
        }
        let client = |name: &String| {
            Client::of_host(name).ok_or_else(|| {
                format!("the transcripts of `{name}` cannot be read; see --help for those that can")
            })
        };
        self.host.iter().map(client).collect()
    }
}
