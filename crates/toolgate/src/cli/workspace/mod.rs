//! `toolgate workspace`: declared I/O by hand and from scripts.
//!
//! Exit codes: 0 done, 1 could not be done, or a check failed, or there is a difference, 2 refused. What was refused is in
//! the ledger, whoever was refused it.

mod create;
mod files;
mod receipt;
mod snapshot;
mod verify;

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fmt, fs};

use clap::{Args, Subcommand};
use serde_json::json;
use toolgate_workspace::{DEFAULT_BASE, Error, FileError, Progress, Workspaces};

use super::people::{HomeArgs, person};
use super::progress::Shown;
use super::{Out, READER_GONE, is_reader_gone};
use crate::workspace::{Keeper, refusal};
use toolgate_model::visible;

/// Let agents read and write what was declared, and nothing else
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct Workspace {
    #[command(subcommand)]
    command: Command,
}

const HELP: &str = "\
Examples:
  toolgate workspace create agent-5 --input data.txt --output out/ --from .
  toolgate workspace read agent-5 data.txt
  sort data.txt | toolgate workspace write agent-5 out/sorted.txt
  toolgate workspace receipt agent-5 -o agent-5.json
  toolgate workspace verify agent-5.json
  toolgate workspace replay agent-5.json --to agent-5-again
  toolgate workspace cleanup agent-5

Exit code: 0 done, 1 could not be done or differs, 2 refused. The ledger holds each refusal.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a workspace from a declaration, and copy the inputs into it
    Create(create::Create),
    /// List the workspaces
    List(files::List),
    /// Print a declared input
    Read(files::Read),
    /// Write stdin to a declared output, as a whole or not at all
    Write(files::Write),
    /// Print a digest of all outputs, and one of each
    Snapshot(snapshot::Snapshot),
    /// List the files that differ
    Diff(snapshot::Diff),
    /// Make a signed receipt: what was declared, the inputs, and the outputs
    Receipt(receipt::Receipt),
    /// Check a receipt: signature, statement, store, ledger
    Verify(verify::Verify),
    /// Make a read-only workspace with the files of a receipt
    Replay(receipt::Replay),
    /// Remove a workspace, with everything in it
    Cleanup(files::Cleanup),
    /// Remove stored contents that no receipt and no workspace needs
    Gc(receipt::Gc),
    /// Print the public key for checking this machine's receipts; makes a key if there is none
    Key(receipt::Key),
}

impl Progress for Shown {
    fn at(&self, done: usize, of: usize) {
        Shown::at(self, done as u64, of as u64);
    }
}

/// What all of them take.
#[derive(Debug, Clone, Args)]
struct Common {
    /// The directory in which workspaces are made [default: /tmp/kgc-workspaces]
    #[arg(long, value_name = "DIR")]
    base: Option<PathBuf>,
    /// As JSON: one object, and on an error one on stderr
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    home: HomeArgs,
}

impl Common {
    fn base(&self) -> &Path {
        self.base.as_deref().unwrap_or(Path::new(DEFAULT_BASE))
    }

    /// The base, made where there is none.
    fn workspaces(&self) -> Result<Workspaces, Error> {
        Workspaces::open(self.base())
    }

    /// The base, where there is one: looking makes none.
    fn workspaces_there(&self) -> Result<Option<Workspaces>, Error> {
        match fs::symlink_metadata(self.base()) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            _ => self.workspaces().map(Some),
        }
    }

    fn find(&self, agent: &str) -> Result<toolgate_workspace::Workspace, Error> {
        let not_found = || Error::WorkspaceNotFound { agent: agent.to_owned() };
        self.workspaces_there()?.ok_or_else(not_found)?.find(agent)
    }

    fn keeper(&self) -> Result<Keeper, Failure> {
        Ok(Keeper::new(self.home.dirs()?))
    }
}

/// Why a command has not done what it was asked for.
#[derive(Debug)]
enum Failure {
    /// The library's word.
    Workspace(Error),
    /// A declaration that cannot be used.
    Declaration(String),
    /// Anything else.
    Other(String),
}

impl Failure {
    fn name(&self) -> &'static str {
        match self {
            Failure::Workspace(error) => error.name(),
            Failure::Declaration(_) => "ErrInvalidDeclaration",
            Failure::Other(_) => "ErrFailed",
        }
    }

    /// What would pass, where the library's word leaves that to those who know how it was called.
    fn way_out(&self) -> &'static str {
        match self {
            Failure::Workspace(Error::UndeclaredRead { .. } | Error::UndeclaredWrite { .. }) => {
                "; `toolgate workspace list` shows what is"
            }
            Failure::Workspace(Error::WorkspaceNotFound { .. }) => {
                "; `toolgate workspace list` shows the existing ones, and `--base` names another base"
            }
            Failure::Workspace(Error::QuotaExceeded { .. }) => {
                "; write less, or declare a workspace with a larger quota"
            }
            Failure::Workspace(Error::Damaged { .. } | Error::NotStored { .. } | Error::Corrupt { .. }) => {
                "; put it back from a copy"
            }
            Failure::Workspace(Error::BadReceipt { .. }) => {
                "; use the stored one (`toolgate workspace list --receipts`), or name its signer with --key"
            }
            Failure::Workspace(Error::InputChanged { .. }) => {
                ": run `toolgate workspace cleanup`, then `create`; copy what the agent wrote first, or it is lost"
            }
            Failure::Workspace(Error::AgentInUse { .. }) => {
                ": `toolgate workspace cleanup` removes it, with everything that the agent wrote"
            }
            Failure::Workspace(Error::Io { path, source })
                if path == DEFAULT_BASE && source.kind() == ErrorKind::PermissionDenied =>
            {
                "; it belongs to whoever used it first: name a base of your own with --base"
            }
            Failure::Workspace(_) | Failure::Declaration(_) | Failure::Other(_) => "",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Workspace(error) => error.fmt(f),
            Failure::Declaration(what) | Failure::Other(what) => f.write_str(what),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Workspace(error)
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Failure {
        match error {
            FileError::Workspace(error) => Failure::Workspace(error),
            other => Failure::Declaration(other.to_string()),
        }
    }
}

impl From<String> for Failure {
    fn from(what: String) -> Failure {
        Failure::Other(what)
    }
}

impl Workspace {
    pub(super) fn run(self, out: &mut Out) -> ExitCode {
        let failure = match self.command.run(out) {
            Ok(code) => match out.stdout.flush() {
                Ok(()) => return code,
                Err(error) => Failure::Workspace(Error::Io { path: "stdout".to_owned(), source: error }),
            },
            Err(failure) => failure,
        };
        self.command.tell(&failure)
    }
}

impl Command {
    fn run(&self, out: &mut Out) -> Result<ExitCode, Failure> {
        match self {
            Command::Create(command) => command.run(out),
            Command::List(command) => command.run(out),
            Command::Read(command) => command.run(out),
            Command::Write(command) => command.run(out),
            Command::Snapshot(command) => command.run(out),
            Command::Diff(command) => command.run(out),
            Command::Receipt(command) => command.run(out),
            Command::Verify(command) => command.run(out),
            Command::Replay(command) => command.run(out),
            Command::Cleanup(command) => command.run(out),
            Command::Gc(command) => command.run(out),
            Command::Key(command) => command.run(out),
        }
    }

    /// Its word, the agent that it is about, and what all have in common.
    fn about(&self) -> (&'static str, &str, &Common) {
        match self {
            Command::Create(command) => ("workspace-create", command.agent(), &command.common),
            Command::List(command) => ("workspace-list", "", &command.common),
            Command::Read(command) => ("workspace-read", &command.agent, &command.common),
            Command::Write(command) => ("workspace-write", &command.agent, &command.common),
            Command::Snapshot(command) => ("workspace-snapshot", &command.agent, &command.common),
            Command::Diff(command) => ("workspace-diff", "", &command.common),
            Command::Receipt(command) => ("workspace-receipt", &command.agent, &command.common),
            Command::Verify(command) => ("workspace-verify", "", &command.common),
            Command::Replay(command) => ("workspace-replay", &command.to, &command.common),
            Command::Cleanup(command) => ("workspace-cleanup", &command.agent, &command.common),
            Command::Gc(command) => ("workspace-gc", "", &command.common),
            Command::Key(command) => ("workspace-key", "", &command.common),
        }
    }

    /// Says on stderr what was not done, and records what was refused.
    fn tell(&self, failure: &Failure) -> ExitCode {
        let (event, agent, common) = self.about();
        if matches!(failure, Failure::Other(what) if is_reader_gone(what)) {
            return ExitCode::from(READER_GONE);
        }
        let mut stderr = io::stderr().lock();
        if let Failure::Workspace(error) = failure {
            if matches!(error, Error::Io { source, .. } if source.kind() == ErrorKind::BrokenPipe) {
                return ExitCode::from(READER_GONE);
            }
            if refusal(error).is_some() {
                let recorded =
                    common.keeper().and_then(|keeper| Ok(keeper.refused(event, agent, &person(), error)?));
                if let Err(error) = recorded {
                    let _ = writeln!(stderr, "toolgate: the refusal could not be recorded: {error}");
                }
            }
        }
        let message = visible(&format!("{failure}{}", failure.way_out()));
        let _ = if common.json {
            writeln!(stderr, "{}", json!({"error": failure.name(), "message": message}))
        } else {
            writeln!(stderr, "toolgate: {}: {message}", failure.name())
        };
        match failure {
            Failure::Workspace(error) if refusal(error).is_some() => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }
}
