//! What a workspace holds, in one digest, and where two states differ.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use toolgate_workspace::{Difference, Envelope, Formula, Side, Snapshot as Held, State};

use super::super::progress::Shown;
use super::receipt::{TrustArgs, id, write_file};
use super::{Common, Failure, Out};
use toolgate_gate::disk::read_regular;
use toolgate_model::visible;

/// Print a digest of all outputs, and one of each
#[derive(Debug, Args)]
pub(super) struct Snapshot {
    /// Whose workspace
    pub(super) agent: String,
    /// SHA-256 over `path:hash` lines, to compare with other tools
    #[arg(long)]
    compat: bool,
    /// Of the inputs instead of the outputs
    #[arg(long)]
    inputs: bool,
    /// Write it to this file, as JSON, for `diff`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    pub(super) common: Common,
}

impl Snapshot {
    pub(super) fn run(&self, out: &mut Out) -> Result<ExitCode, Failure> {
        let formula = if self.compat { Formula::Compat } else { Formula::Framed };
        let held = of_agent(&self.common, &self.agent, side(self.inputs), formula)?;
        if let Some(file) = &self.output {
            let text = serde_json::to_string_pretty(&held).map_err(|error| error.to_string())?;
            write_file(file, format!("{text}\n").as_bytes())?;
        }
        if self.common.json {
            out.json(&held)?;
            return Ok(ExitCode::SUCCESS);
        }
        out.line(held.digest().to_string())?;
        for (path, state) in held.files() {
            out.line(visible(&match state {
                State::File { digest, size } => format!("  {digest} {size:>10}  {path}"),
                State::Missing => format!("  missing  {path}"),
            }))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// List the files that differ
#[derive(Debug, Args)]
#[command(after_help = "Exit code: 0 the same, 1 something differs or could not be done.")]
pub(super) struct Diff {
    /// An agent, a receipt's id, or a file: a receipt, or one from `snapshot -o` (`./FILE` if an agent has the same name)
    #[arg(value_name = "A")]
    before: String,
    /// What to compare it with, in the same form
    #[arg(value_name = "B")]
    after: String,
    /// Compare the inputs of agents and receipts
    #[arg(long)]
    inputs: bool,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    pub(super) common: Common,
}

/// What is compared: a state that is written down, or one that is yet to be looked at.
enum Compared<'d> {
    Written(Held),
    Agent(&'d str),
}

impl Diff {
    pub(super) fn run(&self, out: &mut Out) -> Result<ExitCode, Failure> {
        let (before, after) = (self.compared(&self.before)?, self.compared(&self.after)?);
        // An agent's workspace is looked at in the way of what it is compared with.
        let formula = [&before, &after].into_iter().find_map(|compared| match compared {
            Compared::Written(held) => Some(held.formula()),
            Compared::Agent(_) => None,
        });
        let (before, after) = (self.held(before, formula)?, self.held(after, formula)?);
        if before.formula() != after.formula() {
            return Err(Failure::Other(format!(
                "`{}` and `{}` use different formulas; make both with --compat, or both without",
                self.before, self.after
            )));
        }
        let differences = before.diff(&after);
        if self.common.json {
            out.json(&json!({
                "before": before.digest(),
                "after": after.digest(),
                "differences": differences,
            }))?;
        } else {
            for difference in &differences {
                out.line(visible(&format!("{} {}", word(difference), difference.path)))?;
            }
        }
        Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn compared<'d>(&self, named: &'d str) -> Result<Compared<'d>, Failure> {
        let path = Path::new(named);
        if id(named).is_none() {
            if !named.contains('/') && (self.is_agent(named) || !path.is_file()) {
                return Ok(Compared::Agent(named));
            }
            let bytes = read_regular(path, Envelope::LONGEST)
                .map_err(|error| Failure::Other(format!("cannot read `{named}`: {error}")))?;
            if let Ok(held) = serde_json::from_slice::<Held>(&bytes) {
                if !held.is_consistent() {
                    return Err(Failure::Other(format!(
                        "`{named}` was changed: its digest is not that of its files; make it again with `snapshot -o`"
                    )));
                }
                return Ok(Compared::Written(held));
            }
        }
        let receipt = self.trust.verified(&self.common.keeper()?, named)?;
        let stated = &receipt.statement().predicate;
        Ok(Compared::Written(if self.inputs { stated.inputs.clone() } else { stated.outputs.clone() }))
    }

    /// Whether an agent of this name has a workspace. Where the base cannot be looked at, two files can be compared still.
    fn is_agent(&self, named: &str) -> bool {
        let agents = self.common.workspaces_there().ok().flatten().and_then(|there| there.agents().ok());
        agents.is_some_and(|agents| agents.iter().any(|agent| agent.as_str() == named))
    }

    fn held(&self, compared: Compared<'_>, formula: Option<Formula>) -> Result<Held, Failure> {
        match compared {
            Compared::Written(held) => Ok(held),
            Compared::Agent(agent) => {
                of_agent(&self.common, agent, side(self.inputs), formula.unwrap_or_default())
            }
        }
    }
}

fn of_agent(common: &Common, agent: &str, side: Side, formula: Formula) -> Result<Held, Failure> {
    let workspace = common.find(agent)?;
    Ok(workspace.snapshot_of(side, formula, &Shown::counting("snapshot", "files"))?)
}

fn side(inputs: bool) -> Side {
    if inputs { Side::Input } else { Side::Output }
}

/// What became of a file.
pub(super) fn word(difference: &Difference) -> &'static str {
    match (&difference.before, &difference.after) {
        (Some(State::File { .. }), Some(State::File { .. })) => "changed",
        (_, Some(State::File { .. })) => "added",
        (Some(State::File { .. }), _) => "removed",
        // Declared by name in one of them only, and there in neither.
        (_, Some(State::Missing)) => "missing",
        (_, None) => "undeclared",
    }
}
