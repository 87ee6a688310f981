//! Reading and writing, and which workspaces there are.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;
use serde_json::json;
use toolgate_evidence::rfc3339;
use toolgate_workspace::{Declaration, Durability, Error, Pattern, Store};

use super::{Common, Failure, Out};
use crate::cli::people::person;
use toolgate_gate::disk::open_regular;
use toolgate_model::visible;

/// List the workspaces
#[derive(Debug, Args)]
pub(super) struct List {
    /// List the stored receipts instead
    #[arg(long)]
    receipts: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

impl List {
    pub(super) fn run(&self, out: &mut Out) -> Result<ExitCode, Failure> {
        if self.receipts {
            return self.receipts(out);
        }
        let base = std::path::absolute(self.common.base()).map_err(|error| error.to_string())?;
        let mut found = Vec::new();
        if let Some(workspaces) = self.common.workspaces_there()? {
            for agent in workspaces.agents()? {
                match workspaces.find(agent.as_str()) {
                    Ok(workspace) => found.push(workspace),
                    // Taken away since it was listed.
                    Err(Error::WorkspaceNotFound { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        if self.common.json {
            let list: Vec<_> = found
                .iter()
                .map(|workspace| {
                    json!({
                        "agent": workspace.agent(),
                        "path": workspace.path(),
                        "declaration": workspace.declaration(),
                    })
                })
                .collect();
            out.json(&json!({"base": base, "workspaces": list}))?;
            return Ok(ExitCode::SUCCESS);
        }
        if found.is_empty() {
            out.line(format!(
                "{} has no workspace; `toolgate workspace create AGENT --input FILE --output FILE --from DIR` makes one",
                base.display()
            ))?;
        }
        for workspace in found {
            let (agent, path) = (workspace.agent(), workspace.path().display());
            out.line(visible(&format!("{agent}{}  {path}", described(workspace.declaration()))))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// What each says is told only where this machine has signed it.
    fn receipts(&self, out: &mut Out) -> Result<ExitCode, Failure> {
        let keeper = self.common.keeper()?;
        let own = keeper.public_key()?;
        let mut found = Vec::new();
        for (id, envelope) in Store::open(&keeper.store())?.receipts()? {
            let receipt = envelope.verify(own.as_slice()).ok();
            let stated = receipt.as_ref().map(|receipt| &receipt.statement().predicate);
            found.push(stated.map_or_else(
                || (id, None),
                |stated| {
                    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(stated.time);
                    (id, Some((rfc3339(time), stated.agent.clone(), stated.outputs.digest())))
                },
            ));
        }
        found.sort_by(|(_, one), (_, other)| one.cmp(other));
        if self.common.json {
            let list = found.iter().map(|(id, stated)| match stated {
                Some((time, agent, outputs)) => {
                    json!({"receipt": id, "time": time, "agent": agent, "outputs": outputs})
                }
                None => json!({"receipt": id}),
            });
            out.json(&json!({"receipts": list.collect::<Vec<_>>()}))?;
            return Ok(ExitCode::SUCCESS);
        }
        if found.is_empty() {
            out.line("no receipt is kept; `toolgate workspace receipt AGENT` makes one")?;
        }
        for (id, stated) in found {
            out.line(match stated {
                Some((time, agent, _)) => format!("{id}  {time}  {agent}"),
                None => format!("{id}  not signed by this machine's key"),
            })?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn described(declaration: &Declaration) -> String {
    let list = |word: &str, patterns: &[Pattern]| {
        let list = patterns.iter().map(Pattern::as_str).collect::<Vec<_>>().join(", ");
        if list.is_empty() { String::new() } else { format!("  {word} {list}") }
    };
    let temp = if declaration.temp { "  temp/" } else { "" };
    format!("{}{}{temp}", list("reads", &declaration.inputs), list("writes", &declaration.outputs))
}

/// Print a declared input
#[derive(Debug, Args)]
pub(super) struct Read {
    /// Whose workspace
    pub(super) agent: String,
    /// The input, relative to the workspace
    path: String,
    #[command(flatten)]
    pub(super) common: Common,
}

impl Read {
    pub(super) fn run(&self, out: &mut Out) -> Result<ExitCode, Failure> {
        let workspace = self.common.find(&self.agent)?;
        workspace.input(&self.path)?.read_into(&mut out.stdout)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Write stdin to a declared output, as a whole or not at all
#[derive(Debug, Args)]
pub(super) struct Write {
    /// Whose workspace
    pub(super) agent: String,
    /// The output, relative to the workspace
    path: String,
    /// Wait until a power failure cannot undo the write
    #[arg(long)]
    durable: bool,
    /// Write the content of this file, instead of stdin
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    #[command(flatten)]
    pub(super) common: Common,
}

impl Write {
    pub(super) fn run(&self, out: &mut Out) -> Result<ExitCode, Failure> {
        let workspace = self.common.find(&self.agent)?;
        // Before anything is read: a refused write must not eat what it was given.
        let output = workspace.output(&self.path)?;
        let durability = if self.durable { Durability::Machine } else { Durability::Process };
        let written = match &self.from {
            Some(file) => {
                let (mut file, _) = open_regular(file)
                    .map_err(|error| Failure::Other(format!("cannot read `{}`: {error}", file.display())))?;
                output.write_from(&mut file, durability)?
            }
            None => output.write_from(&mut io::stdin().lock(), durability)?,
        };
        if self.common.json {
            out.json(&json!({"agent": workspace.agent(), "path": self.path, "bytes": written}))?;
        } else {
            out.line(visible(&format!("{} is written: {written} bytes", self.path)))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Remove a workspace, with everything in it
#[derive(Debug, Args)]
pub(super) struct Cleanup {
    /// Whose workspace
    pub(super) agent: String,
    #[command(flatten)]
    pub(super) common: Common,
}

impl Cleanup {
    pub(super) fn run(&self, out: &mut Out) -> Result<ExitCode, Failure> {
        let keeper = self.common.keeper()?;
        // One whose files cannot be counted can be taken away all the same.
        if let Err(error @ (Error::WorkspaceNotFound { .. } | Error::InvalidAgent { .. })) =
            self.common.find(&self.agent)
        {
            return Err(error.into());
        }
        let workspaces = self.common.workspaces()?;
        let path = workspaces.path().join(&self.agent);
        let about = [("directory", &*path.to_string_lossy()), ("by", &person())];
        // First: what is gone without a record nobody can ask about.
        keeper.done("workspace-cleanup", &self.agent, &about)?;
        workspaces.cleanup(&self.agent)?;
        Store::open(&keeper.store())?.unpin(&path)?;
        if self.common.json {
            out.json(&json!({"agent": self.agent, "path": path, "removed": true}))?;
        } else {
            out.line(format!("the workspace of {} is gone; receipts stay", self.agent))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
