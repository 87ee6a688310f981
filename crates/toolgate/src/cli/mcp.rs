//! `toolgate mcp`: a declared workspace as the file tools of an agent. Hosts start it, as the registration says.
//!
//! Against whom: the agent that it serves. The file that declares the workspace is named on the registration line, and so is
//! where the log goes; the environment of the host decides neither where `--home` is given.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use toolgate_mcp::{Keeper, Signed, Tool};
use toolgate_model::Places;
use toolgate_workspace::{Error, Workspace, WorkspaceFile};

use super::people::{PlaceArgs, person};
use crate::workspace::{self, missing_inputs};

/// Serve a declared workspace to an agent as its file tools, by the Model Context Protocol on stdin and stdout
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct Mcp {
    /// The workspace, as TOML: agent, inputs, outputs, temp, quota, dots, base, from
    #[arg(long, value_name = "FILE")]
    workspace: PathBuf,
    /// Keep the workspace's metrics in this file, in Prometheus' format
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
    /// The profile whose rules a receipt states as in force
    #[arg(long)]
    profile: Option<String>,
    #[command(flatten)]
    place: PlaceArgs,
}

const HELP: &str = "\
Tools: read_input, write_output, list_declared, snapshot, receipt.

A file like this:
  agent = \"agent-5\"
  inputs = [\"data.txt\", \"docs/\"]
  outputs = [\"out/*.md\"]
  temp = true
  quota = { bytes = 1_000_000, files = 100 }
  from = \".\"      # where the inputs are copied from, beside this file

The first start makes the workspace; later starts use it, unless the declaration has changed. The ledger holds every \
refusal and every receipt.";

impl Mcp {
    pub(super) fn run(self) -> Result<ExitCode, String> {
        let dirs = self.place.dirs()?;
        let places = self.place.places(&dirs)?;
        let keeper = workspace::Keeper::new(dirs);
        let workspace = open(&keeper, &self.workspace)?;
        let metrics = self.metrics.map(std::path::absolute).transpose().map_err(|error| error.to_string())?;
        let desk = Desk { keeper, places, profile: self.profile, metrics };
        // A file that cannot be written is better known now than never.
        desk.write_metrics(&workspace)?;
        toolgate_mcp::serve(workspace, desk).map_err(|error| error.to_string())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The workspace that the file declares, made where there is none.
fn open(keeper: &workspace::Keeper, file: &Path) -> Result<Workspace, String> {
    let file = WorkspaceFile::read(file).map_err(|error| error.to_string())?;
    if let Some(there) = file.find().map_err(|error| error.to_string())? {
        return Ok(there);
    }
    let made = keeper.create(&file, &person(), &()).map_err(|error| error.to_string())?;
    for input in missing_inputs(&made).map_err(|error| error.to_string())? {
        note(&format!("the input `{input}` is declared, and is not in {}", made.path().display()));
    }
    Ok(made)
}

/// Where denials and receipts go.
struct Desk {
    keeper: workspace::Keeper,
    places: Places,
    profile: Option<String>,
    metrics: Option<PathBuf>,
}

/// In the log: through what the agent came.
const BY: &str = "mcp";

impl Keeper for Desk {
    fn failed(&self, tool: Tool, workspace: &Workspace, error: &Error) {
        // As the command is recorded that does the same.
        let event = match tool {
            Tool::ReadInput => "workspace-read",
            Tool::WriteOutput => "workspace-write",
            Tool::ListDeclared => "workspace-list",
            Tool::Snapshot => "workspace-snapshot",
            Tool::Receipt => "workspace-receipt",
        };
        // The refusal stands, recorded or not.
        if let Err(error) = self.keeper.refused(event, workspace.agent().as_str(), BY, error) {
            note(&error.to_string());
        }
    }

    fn receipt(&self, workspace: &Workspace) -> Result<Signed, Error> {
        let profile = self.profile.as_deref();
        let receipt = self.keeper.receipt(workspace, &self.places, profile, BY, &())?;
        let (id, stated) = (receipt.id(), &receipt.statement().predicate);
        let told = json!({
            "receipt": id,
            "inputs": stated.inputs.digest(),
            "outputs": stated.outputs.digest(),
            "ruleset": stated.ruleset,
            "ledger": stated.ledger,
            "key": receipt.key(),
            "verify": format!("toolgate workspace verify {id}"),
        });
        let envelope = serde_json::from_str(&receipt.to_json());
        let envelope = envelope.map_err(|error| Error::Io { path: id.to_string(), source: error.into() })?;
        Ok(Signed { told, envelope })
    }

    fn answered(&self, workspace: &Workspace) {
        if let Err(error) = self.write_metrics(workspace) {
            note(&error);
        }
    }
}

impl Desk {
    /// Whole or not at all, since somebody collects it while we write; for all to read, since that one is somebody else.
    fn write_metrics(&self, workspace: &Workspace) -> Result<(), String> {
        use std::os::unix::fs::PermissionsExt;

        let Some(file) = &self.metrics else { return Ok(()) };
        let written = || -> io::Result<()> {
            let mut new = tempfile::Builder::new()
                .permissions(std::fs::Permissions::from_mode(0o644))
                .tempfile_in(file.parent().unwrap_or(Path::new("/")))?;
            new.write_all(workspace.metrics().to_prometheus(workspace.agent()).as_bytes())?;
            new.persist(file)?;
            Ok(())
        };
        written().map_err(|error| format!("cannot write `{}`: {error}", file.display()))
    }
}

fn note(what: &str) {
    let _ = writeln!(io::stderr(), "toolgate: {what}");
}
