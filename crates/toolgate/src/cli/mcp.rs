//! `toolgate mcp`: a declared workspace as the file tools of an agent. Hosts start it, as the registration says.
//!
//! Against whom: the agent that it serves. The file that declares the workspace is named on the registration line, and so is
//! where the record goes; the environment of the host decides neither where `--home` is given.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use toolgate_mcp::{Keeper, Signed};
use toolgate_model::Ground;
use toolgate_workspace::{Algorithm, Digest, Error, SigningKey, Store, Workspace, WorkspaceFile};

use super::people::{PlaceArgs, person};
use crate::workspace;

/// Serve a declared workspace to an agent as its file tools: the Model Context Protocol on stdin and stdout
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct Mcp {
    /// The workspace, as TOML: agent, inputs, outputs, temp, quota, dots, base, from
    #[arg(long, value_name = "FILE")]
    workspace: PathBuf,
    /// Keep the workspace's metrics in this file, as Prometheus reads them
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
    /// The profile that a receipt names as the rules in force
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

The workspace is made at the first start; later ones use it, unless the file declares it otherwise by then. What is \
refused, and each receipt, is in the ledger.";

impl Mcp {
    pub(super) fn run(self) -> Result<ExitCode, String> {
        let dirs = self.place.dirs()?;
        let ground = self.place.ground(&dirs)?;
        let keeper = workspace::Keeper::new(dirs);
        let workspace = open(&keeper, &self.workspace)?;
        let metrics = self.metrics.map(std::path::absolute).transpose().map_err(|error| error.to_string())?;
        let desk = Desk { keeper, ground, profile: self.profile, metrics };
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
    let store = Store::open(&keeper.store()).map_err(|error| error.to_string())?;
    let made = file.create(&store, &()).map_err(|error| error.to_string())?;
    let path = made.path().to_path_buf();
    let shown = path.display().to_string();
    let about = [("name", file.agent.as_str()), ("directory", shown.as_str())];
    if let Err(error) = keeper.done("workspace-create", &person(), &about) {
        made.cleanup().map_err(|error| error.to_string())?;
        store.unpin(&path).map_err(|error| error.to_string())?;
        return Err(error.to_string());
    }
    Ok(made)
}

/// Where denials and receipts go.
struct Desk {
    keeper: workspace::Keeper,
    ground: Ground,
    profile: Option<String>,
    metrics: Option<PathBuf>,
}

/// In the record: through what the agent came.
const BY: &str = "mcp";

impl Keeper for Desk {
    fn failed(&self, tool: &'static str, workspace: &Workspace, error: &Error) {
        // The refusal stands, recorded or not.
        if let Err(error) = self.keeper.refused(tool, workspace.agent().as_str(), BY, error) {
            note(&error.to_string());
        }
    }

    fn receipt(&self, workspace: &Workspace) -> Result<Signed, String> {
        let about = self.keeper.about(&self.ground, self.profile.as_deref())?;
        let store = Store::open(&self.keeper.store()).map_err(|error| error.to_string())?;
        let key = SigningKey::open(&self.keeper.key()).map_err(|error| error.to_string())?;
        let receipt = workspace.receipt(&store, &key, about, &()).map_err(|error| error.to_string())?;
        let text = receipt.to_json();
        let id = Digest::of(Algorithm::Blake3, text.as_bytes()).to_string();
        let stated = &receipt.statement().predicate;
        let (inputs, outputs) = (stated.inputs.digest().to_string(), stated.outputs.digest().to_string());
        let agent = workspace.agent().as_str();
        let recorded = [("name", agent), ("receipt", id.as_str()), ("outputs", outputs.as_str()), ("by", BY)];
        self.keeper.done("workspace-receipt", agent, &recorded).map_err(|error| error.to_string())?;
        let told = json!({
            "receipt": id,
            "inputs": inputs,
            "outputs": outputs,
            "ruleset": stated.ruleset,
            "ledger": stated.ledger,
            "key": receipt.key(),
            "verify": format!("toolgate workspace verify {id}"),
        });
        let envelope = serde_json::from_str(&text).map_err(|error| error.to_string())?;
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
