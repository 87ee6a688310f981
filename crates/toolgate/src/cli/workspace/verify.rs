//! Re-checks a receipt: who signed it, whether it agrees with itself, with the store, with the ledger, and with what is there
//! now.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::json;
use toolgate_evidence::line;
use toolgate_workspace::{
    DEFAULT_BASE, Digest, Error, Formula, LedgerPosition, Predicate, Progress, Side, State, Store,
};

use super::progress::Shown;
use super::receipt::{TrustArgs, find, id};
use super::snapshot::word;
use super::{Common, Failure, Out};
use crate::register::visible;
use crate::workspace::Keeper;

/// Re-check a receipt: signature, statement, store, ledger
#[derive(Debug, Args)]
#[command(after_help = "Exit code: 0 all is right, 1 something is not.")]
pub(super) struct Verify {
    /// A receipt's file, or the id of one that is kept
    receipt: String,
    /// It is wrong, too, if the agent's workspace has other outputs now, or is gone
    #[arg(long)]
    current: bool,
    /// Only signature and statement, where neither store nor ledger are at hand
    #[arg(long, conflicts_with = "current")]
    signature: bool,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    pub(super) common: Common,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    #[serde(rename = "check")]
    name: &'static str,
    outcome: Outcome,
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Ok,
    /// Worth a word, and not wrong.
    Note,
    Failed,
}

impl Check {
    fn ok(name: &'static str, message: impl Into<String>) -> Check {
        Check { name, outcome: Outcome::Ok, message: message.into() }
    }

    fn note(name: &'static str, message: impl Into<String>) -> Check {
        Check { name, outcome: Outcome::Note, message: message.into() }
    }

    fn failed(name: &'static str, message: impl Into<String>) -> Check {
        Check { name, outcome: Outcome::Failed, message: message.into() }
    }
}

impl Verify {
    pub(super) fn run(&self, out: &mut Out) -> Result<ExitCode, Failure> {
        let keeper = self.common.keeper()?;
        let envelope = match find(&keeper, &self.receipt) {
            Err(Failure::Workspace(error @ Error::BadReceipt { .. })) => {
                return self.report(out, None, &[Check::failed("receipt", error.to_string())]);
            }
            found => found?,
        };
        let keys = match self.trust.keys(&keeper) {
            Ok(keys) => keys,
            Err(failure) => return self.report(out, None, &[Check::failed("key", failure.to_string())]),
        };
        let receipt = match envelope.verify(&keys) {
            Ok(receipt) => receipt,
            // Nothing that it says can be used.
            Err(error) => return self.report(out, None, &[Check::failed("signature", error.to_string())]),
        };
        let stated = &receipt.statement().predicate;
        let files = stated.outputs.files().len();
        let mut checks = vec![
            Check::ok("signature", format!("by the key {}", receipt.key())),
            Check::ok("statement", format!("agrees with itself: {files} outputs of {}", stated.agent)),
        ];
        if !self.signature {
            checks.push(stored(&Store::open(&keeper.store())?, stated)?);
            checks.push(recorded(&keeper, stated.ledger.as_ref())?);
            checks.push(self.as_it_is_now(stated)?);
        }
        self.report(out, Some(id(&receipt)), &checks)
    }

    fn report(&self, out: &mut Out, id: Option<Digest>, checks: &[Check]) -> Result<ExitCode, Failure> {
        let is_right = checks.iter().all(|check| check.outcome != Outcome::Failed);
        if self.common.json {
            let mut report = json!({"ok": is_right, "checks": checks});
            if let (Some(id), Some(report)) = (id, report.as_object_mut()) {
                report.insert("receipt".to_owned(), id.to_string().into());
            }
            out.json(&report)?;
        } else {
            for Check { name, outcome, message } in checks {
                let (code, word) = match outcome {
                    Outcome::Ok => ("32", "ok    "),
                    Outcome::Note => ("33", "note  "),
                    Outcome::Failed => ("31", "FAILED"),
                };
                out.line(format!("{} {name}: {}", out.paint(code, word), visible(message)))?;
            }
        }
        Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Whether the agent's outputs are still those of the receipt.
    fn as_it_is_now(&self, stated: &Predicate) -> Result<Check, Failure> {
        let differs = |message: String| {
            if self.current { Check::failed("current", message) } else { Check::note("current", message) }
        };
        // Looking must not make a base.
        let base = self.common.base.as_deref().unwrap_or(Path::new(DEFAULT_BASE));
        let gone = || differs(format!("the workspace of {} is not there any more", stated.agent));
        if !base.exists() {
            return Ok(gone());
        }
        let workspace = match self.common.workspaces()?.find(stated.agent.as_str()) {
            Err(Error::WorkspaceNotFound { .. }) => return Ok(gone()),
            found => found?,
        };
        let now = workspace.snapshot_of(Side::Output, Formula::Framed, &Shown::new("current outputs"))?;
        let differences = stated.outputs.diff(&now);
        let Some(first) = differences.first() else {
            return Ok(Check::ok("current", "the outputs are as the receipt says"));
        };
        Ok(differs(format!(
            "outputs are not as the receipt says: {} {}, and {} more",
            word(first),
            first.path,
            differences.len() - 1
        )))
    }
}

/// Whether the store holds every content that the receipt names, as it was.
fn stored(store: &Store, stated: &Predicate) -> Result<Check, Failure> {
    let both = stated.inputs.files().iter().chain(stated.outputs.files());
    let contents: BTreeMap<Digest, (u64, &String)> = both
        .filter_map(|(path, state)| match state {
            State::File { digest, size } => Some((*digest, (*size, path))),
            State::Missing => None,
        })
        .collect();
    let progress = Shown::new("store");
    let mut wrong = Vec::new();
    for (done, (digest, (size, path))) in contents.iter().enumerate() {
        match store.read_into(digest, &mut io::sink()) {
            Ok(length) if length == *size => {}
            Ok(_) => wrong.push((path, format!("`{digest}` has another length than the receipt says"))),
            Err(error @ (Error::NotStored { .. } | Error::Corrupt { .. })) => {
                wrong.push((path, error.to_string()));
            }
            Err(error) => return Err(error.into()),
        }
        progress.at(done + 1, contents.len());
    }
    Ok(match wrong.first() {
        None => Check::ok("store", format!("all {} contents are there, unchanged", contents.len())),
        Some((path, first)) => Check::failed(
            "store",
            format!(
                "{} of {} contents are wrong, the first, of {path}: {first}",
                wrong.len(),
                contents.len()
            ),
        ),
    })
}

/// Whether the ledger still has the line that it ended with.
fn recorded(keeper: &Keeper, position: Option<&LedgerPosition>) -> Result<Check, Failure> {
    let Some(LedgerPosition { seq, digest }) = position else {
        return Ok(Check::note("ledger", "the receipt names no line of a ledger"));
    };
    let found = line(&keeper.dirs().state, *seq).map_err(|error| error.to_string())?;
    Ok(match found {
        Some(found) if found.digest.to_string() == *digest => {
            Check::ok("ledger", format!("line {seq} is as the receipt says"))
        }
        Some(_) => Check::failed("ledger", format!("line {seq} was changed")),
        None => Check::failed(
            "ledger",
            format!("line {seq} is missing: lines were removed, or it is another ledger"),
        ),
    })
}
