//! Receipts: made, kept, replayed, forgotten; and the key that signs them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use toolgate_workspace::{
    Algorithm, Digest, Envelope, Error, Moment, PublicKey, Receipt as Verified, SigningKey, Store,
};

use super::super::progress::Shown;
use super::{Common, Failure, Out};
use crate::cli::people::{PlaceArgs, person};
use crate::workspace::Keeper;
use toolgate_gate::disk::read_regular;
use toolgate_model::visible;

/// Make a signed receipt: what was declared, the inputs, and the outputs
#[derive(Debug, Args)]
pub(super) struct Receipt {
    /// Whose workspace
    pub(super) agent: String,
    /// Write it to this file; the store keeps a copy in any case
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The worktree whose settings count as the rules in force [default: the one of the working directory]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// The profile for these settings
    #[arg(long)]
    profile: Option<String>,
    #[command(flatten)]
    pub(super) common: Common,
}

impl Receipt {
    pub(super) fn run(&self, out: &mut Out) -> Result<ExitCode, Failure> {
        let keeper = self.common.keeper()?;
        let workspace = self.common.find(&self.agent)?;
        let place = PlaceArgs { root: self.root.clone(), home: self.common.home.clone() };
        let (places, profile) = (place.places(keeper.dirs())?, self.profile.as_deref());
        let receipt =
            keeper.receipt(&workspace, &places, profile, &person(), &Shown::counting("receipt", "files"))?;
        let Some(file) = &self.output else {
            out.line(receipt.to_json().trim_end())?;
            return Ok(ExitCode::SUCCESS);
        };
        let (id, outputs) = (receipt.id(), receipt.statement().predicate.outputs.digest());
        write_file(file, receipt.to_json().as_bytes())?;
        if self.common.json {
            out.json(&json!({"agent": self.agent, "receipt": id, "outputs": outputs, "file": file}))?;
        } else {
            out.line(visible(&format!("receipt {id} of {}: {}", self.agent, file.display())))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Make a read-only workspace with the files of a receipt
#[derive(Debug, Args)]
pub(super) struct Replay {
    /// A receipt's file, or the id of a stored receipt
    receipt: String,
    /// The name for the new workspace
    #[arg(long, value_name = "AGENT")]
    pub(super) to: String,
    /// Restore what the agent began with, instead of the result
    #[arg(long)]
    before: bool,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    pub(super) common: Common,
}

impl Replay {
    pub(super) fn run(&self, out: &mut Out) -> Result<ExitCode, Failure> {
        let keeper = self.common.keeper()?;
        let receipt = self.trust.verified(&keeper, &self.receipt)?;
        let store = Store::open(&keeper.store())?;
        let moment = if self.before { Moment::Before } else { Moment::After };
        let workspaces = self.common.workspaces()?;
        let workspace =
            workspaces.replay(&self.to, &receipt, &store, moment, &Shown::counting("replay", "files"))?;
        let (id, path) = (receipt.id().to_string(), workspace.path().to_path_buf());
        let about = [("receipt", id.as_str()), ("by", &person())];
        if let Err(error) = keeper.done("workspace-replay", &self.to, &about) {
            // What matters is why there is no record.
            let _ = workspace.cleanup();
            return Err(error.into());
        }
        let files = workspace.list()?.inputs.len();
        if self.common.json {
            out.json(&json!({"agent": self.to, "receipt": id, "path": path, "files": files}))?;
        } else {
            out.line(format!("{} has a workspace as the receipt says: {}", self.to, path.display()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Remove stored contents that no receipt and no workspace needs
#[derive(Debug, Args)]
pub(super) struct Gc {
    /// Forget this receipt first; can be given several times
    #[arg(long, value_name = "RECEIPT-ID")]
    forget: Vec<Digest>,
    #[command(flatten)]
    pub(super) common: Common,
}

impl Gc {
    pub(super) fn run(&self, out: &mut Out) -> Result<ExitCode, Failure> {
        let keeper = self.common.keeper()?;
        let store = Store::open(&keeper.store())?;
        for id in &self.forget {
            if !store.forget(id)? {
                return Err(Failure::Other(format!(
                    "no receipt `{id}` is kept; `toolgate workspace list --receipts` shows all"
                )));
            }
            keeper.done("workspace-forget", &person(), &[("receipt", &id.to_string())])?;
        }
        let collected = store.collect()?;
        if self.common.json {
            out.json(&collected)?;
        } else {
            out.line(format!(
                "{} contents removed, {} bytes; {} are still needed",
                collected.removed, collected.bytes, collected.kept
            ))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Print the public key for checking this machine's receipts; makes a key if there is none
#[derive(Debug, Args)]
pub(super) struct Key {
    #[command(flatten)]
    pub(super) common: Common,
}

impl Key {
    pub(super) fn run(&self, out: &mut Out) -> Result<ExitCode, Failure> {
        let public = SigningKey::open(&self.common.keeper()?.key())?.public();
        if self.common.json {
            out.json(&json!({"id": public.id(), "pem": public.to_pem()}))?;
        } else {
            // What stands before the key itself, readers of PEM pass over.
            out.line(format!("id {}", public.id()))?;
            out.line(public.to_pem().trim_end())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Whose signatures count.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct TrustArgs {
    /// A public key, as PEM, whose signature counts [default: this machine's own]
    #[arg(long, value_name = "PEM")]
    key: Vec<PathBuf>,
}

impl TrustArgs {
    /// The keys that count. None is made here: a key that signed nothing would say nothing.
    pub(super) fn keys(&self, keeper: &Keeper) -> Result<Vec<PublicKey>, Failure> {
        if self.key.is_empty() {
            let own = keeper.public_key()?.ok_or_else(|| {
                "this machine has signed no receipt yet; name the signer's public key with --key".to_owned()
            })?;
            return Ok(vec![own]);
        }
        let read = |file: &PathBuf| {
            let wrong = |why: String| Failure::Other(format!("`{}` {why}", file.display()));
            let text = read_regular(file, Envelope::LONGEST)
                .map_err(|error| wrong(format!("cannot be read: {error}")))?;
            PublicKey::parse(&String::from_utf8_lossy(&text)).ok_or_else(|| {
                wrong("is not a public Ed25519 key in PEM; `toolgate workspace key` prints one".to_owned())
            })
        };
        self.key.iter().map(read).collect()
    }

    /// A receipt whose signature counts, by its file or its id.
    pub(super) fn verified(&self, keeper: &Keeper, named: &str) -> Result<Verified, Failure> {
        Ok(find(keeper, named)?.verify(&self.keys(keeper)?)?)
    }
}

/// A receipt by its file, or by the id of one that is kept. Nobody has checked it.
pub(super) fn find(keeper: &Keeper, named: &str) -> Result<Envelope, Failure> {
    let Some(id) = id(named) else {
        let bytes = read_regular(Path::new(named), Envelope::LONGEST)
            .map_err(|error| Failure::Other(format!("cannot read `{named}`: {error}")))?;
        return Ok(Envelope::parse(&bytes)?);
    };
    let kept = Store::open(&keeper.store())?.receipts()?;
    let found = kept.into_iter().find(|(kept, _)| *kept == id);
    found.map(|(_, envelope)| envelope).ok_or_else(|| {
        Failure::Other(format!("no receipt `{id}` is kept; `toolgate workspace list --receipts` shows all"))
    })
}

/// The id of a receipt, where that is what is named: `blake3:HEX`, or HEX alone, as its file in the store is called.
pub(super) fn id(named: &str) -> Option<Digest> {
    named.parse().or_else(|_| format!("{}:{named}", Algorithm::Blake3.name()).parse()).ok()
}

/// Writes a file that the person named, whole or not at all.
pub(super) fn write_file(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = || -> io::Result<()> {
        let mut new = tempfile::NamedTempFile::new_in(directory)?;
        new.write_all(bytes)?;
        new.persist(file)?;
        Ok(())
    };
    written().map_err(|source| Error::Io { path: file.display().to_string(), source }.into())
}
