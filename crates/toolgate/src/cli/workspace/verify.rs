//! Re-checks a receipt: who signed it, whether it agrees with itself, with the store, with the ledger, and with what is there
//! now.

use std::collections::BTreeMap;
use std::io;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::json;
use toolgate_evidence::{Ledger, position_of};
use toolgate_workspace::{Digest, Error, Formula, LedgerPosition, Predicate, Side, State, Store};

use super::super::progress::Shown;
use super::receipt::{TrustArgs, find};
use super::snapshot::word;
use super::{Common, Failure, Out};
use crate::workspace::Keeper;
use toolgate_model::visible;

/// Check a receipt: signature, statement, store, ledger
#[derive(Debug, Args)]
#[command(after_help = "Exit code: 0 all is right, 1 something is not.")]
pub(super) struct Verify {
    /// A receipt's file, or the id of a stored receipt
    receipt: String,
    /// Also fail if the workspace's outputs have changed since, or if it is gone
    #[arg(long)]
    current: bool,
    /// Check only signature and statement, if neither store nor ledger is at hand
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
        let mut checks = vec![
            Check::ok("signature", format!("by the key {}", receipt.key())),
            Check::ok("statement", format!("about {}, is consistent", stated.agent)),
        ];
        if !self.signature {
            checks.push(stored(&keeper, stated));
            checks.push(recorded(&keeper, stated.ledger.as_ref()));
            checks.push(self.as_it_is_now(stated));
        }
        self.report(out, Some(receipt.id()), &checks)
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

    /// Whether the agent's outputs are still those of the receipt. That they cannot be looked at is no fault of the receipt.
    fn as_it_is_now(&self, stated: &Predicate) -> Check {
        let differs = |message: String| {
            if self.current { Check::failed("current", message) } else { Check::note("current", message) }
        };
        let now = self.common.find(stated.agent.as_str()).and_then(|workspace| {
            workspace.snapshot_of(Side::Output, Formula::Framed, &Shown::counting("current outputs", "files"))
        });
        let differences = match now {
            Ok(now) => stated.outputs.diff(&now),
            Err(Error::WorkspaceNotFound { .. }) => {
                return differs(format!("the workspace of {} no longer exists", stated.agent));
            }
            Err(error) => return differs(error.to_string()),
        };
        let Some(first) = differences.first() else {
            return Check::ok("current", "the outputs are as the receipt says");
        };
        let more = match differences.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        differs(format!("outputs are not as the receipt says: {} {}{more}", word(first), first.path))
    }
}

/// Where a receipt of another machine is checked, or one from before its state was lost.
const NOT_AT_HAND: &str = "--signature checks a receipt where store and ledger are not at hand";

/// Whether the store holds every content that the receipt names, as it was.
fn stored(keeper: &Keeper, stated: &Predicate) -> Check {
    let store = match Store::open(&keeper.store()) {
        Ok(store) => store,
        Err(error) => return Check::failed("store", error.to_string()),
    };
    let both = stated.inputs.files().iter().chain(stated.outputs.files());
    let contents: BTreeMap<Digest, (u64, &String)> = both
        .filter_map(|(path, state)| match state {
            State::File { digest, size } => Some((*digest, (*size, path))),
            State::Missing => None,
        })
        .collect();
    let progress = Shown::counting("store", "files");
    let (mut wrong, mut absent) = (Vec::new(), 0);
    for (done, (digest, (size, path))) in contents.iter().enumerate() {
        match store.read_into(digest, &mut io::sink()) {
            Ok(length) if length == *size => {}
            Ok(_) => wrong.push((path, format!("`{digest}` has another length than the receipt says"))),
            Err(error) => {
                absent += usize::from(matches!(error, Error::NotStored { .. }));
                wrong.push((path, error.to_string()));
            }
        }
        progress.at(done as u64 + 1, contents.len() as u64);
    }
    let (all, wrong_ones) = (contents.len(), wrong.len());
    match wrong.first() {
        None => Check::ok("store", format!("all {all} contents are there, unchanged")),
        Some(_) if absent == all => {
            Check::failed("store", format!("none of {all} contents is there; {NOT_AT_HAND}"))
        }
        Some((path, first)) => Check::failed(
            "store",
            format!("{wrong_ones} of {all} contents are missing or changed, the first, of {path}: {first}"),
        ),
    }
}

/// Whether the ledger still has the line that it ended with.
fn recorded(keeper: &Keeper, position: Option<&LedgerPosition>) -> Check {
    let Some(LedgerPosition { seq, digest }) = position else {
        return Check::note("ledger", "the receipt names no line of a ledger");
    };
    match position_of(&Ledger::at(&keeper.dirs().state), *seq) {
        Ok(Some(found)) if found.digest.to_string() == *digest => {
            Check::ok("ledger", format!("line {seq} is as the receipt says"))
        }
        Ok(Some(_)) => Check::failed("ledger", format!("line {seq} was changed")),
        Ok(None) => Check::failed(
            "ledger",
            format!("line {seq} is missing: lines were removed, or it is another ledger; {NOT_AT_HAND}"),
        ),
        Err(error) => Check::failed("ledger", error.to_string()),
    }
}
