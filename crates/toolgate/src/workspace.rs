//! What the gate adds to the workspaces of this machine: who did and who was refused what goes into the ledger, receipts say
//! which rules were in force, and store and signing key lie in the state directory, where no agent comes.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

use toolgate_evidence::{Draft, Ledger, last_position};
use toolgate_model::{Decision, FindingKind, Places};
use toolgate_secrets::redact;
use toolgate_workspace::{
    About, Error, FileError, LedgerPosition, Pattern, Progress, PublicKey, Receipt, SigningKey, Store,
    Workspace, WorkspaceFile,
};

use toolgate_gate::dirs::Dirs;
use toolgate_gate::failure::DEADLINE;
use toolgate_gate::settings::{NoRules, SettingsSources};
use toolgate_setup::this_machine;

/// Keeps what belongs to workspaces and is none of their agents' business.
#[derive(Debug, Clone)]
pub struct Keeper {
    dirs: Dirs,
}

impl Keeper {
    /// In these directories.
    pub fn new(dirs: Dirs) -> Keeper {
        Keeper { dirs }
    }

    /// Where everything lies.
    pub fn dirs(&self) -> &Dirs {
        &self.dirs
    }

    /// Where the contents lie that receipts name.
    pub fn store(&self) -> PathBuf {
        self.dirs.state.join("workspaces/store")
    }

    /// The key that receipts are signed with.
    pub fn key(&self) -> PathBuf {
        self.dirs.state.join("workspaces/receipt-key.pem")
    }

    /// The key that this machine's receipts are checked with; `None` where it has signed none. Looking makes no key.
    pub fn public_key(&self) -> Result<Option<PublicKey>, Error> {
        match fs::symlink_metadata(self.key()) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            _ => Ok(Some(SigningKey::open(&self.key())?.public())),
        }
    }

    /// Makes the workspace that is declared, with its inputs and its record, or nothing. `by` is who had it made.
    pub fn create(
        &self,
        declared: &WorkspaceFile,
        by: &str,
        progress: &dyn Progress,
    ) -> Result<Workspace, FileError> {
        let store = Store::open(&self.store())?;
        let made = declared.create(&store, progress)?;
        let path = made.path().to_path_buf();
        let about = [("directory", &*path.to_string_lossy()), ("by", by)];
        if let Err(error) = self.done("workspace-create", declared.agent.as_str(), &about) {
            // What matters is why there is no record; what is left behind is seen by whoever tries again.
            if made.cleanup().is_ok() {
                let _ = store.unpin(&path);
            }
            return Err(error.into());
        }
        Ok(made)
    }

    /// Signs a statement of the workspace as it is now, keeps it and records it. `places` is where the agent works;
    /// `profile` the one that its registration fixes; `by` who had it made.
    pub fn receipt(
        &self,
        workspace: &Workspace,
        places: &Places,
        profile: Option<&str>,
        by: &str,
        progress: &dyn Progress,
    ) -> Result<Receipt, Error> {
        let about = self.about(places, profile)?;
        let (store, key) = (Store::open(&self.store())?, SigningKey::open(&self.key())?);
        let receipt = workspace.receipt(&store, &key, about, progress)?;
        let (id, outputs) =
            (receipt.id().to_string(), receipt.statement().predicate.outputs.digest().to_string());
        let about = [("receipt", id.as_str()), ("outputs", outputs.as_str()), ("by", by)];
        self.done("workspace-receipt", workspace.agent().as_str(), &about)?;
        Ok(receipt)
    }

    /// What a receipt says besides what lies in the workspace: when, under which rules, and where the ledger stands.
    fn about(&self, places: &Places, profile: Option<&str>) -> Result<About, Error> {
        let wanted = SettingsSources::of(&self.dirs, places, profile, "worktree");
        let rules = wanted.rules(&this_machine()).map_err(|error| match error {
            NoRules::Broken(error) => unusable("toolgate.toml", error),
            NoRules::Stale => unusable("toolgate.toml", io::Error::from(io::ErrorKind::InvalidData)),
        })?;
        let position = last_position(&self.dirs.state).map_err(|error| unusable("ledger.jsonl", error))?;
        let ledger = position.map(|at| LedgerPosition { seq: at.seq, digest: at.digest.to_string() });
        Ok(About { time: SystemTime::now(), ruleset: Some(rules.digest), ledger })
    }

    /// Records what was done in the name of `agent`, with what it was about.
    pub fn done(&self, event: &str, agent: &str, about: &[(&str, &str)]) -> Result<(), Error> {
        self.append(draft(event, agent, about))
    }

    /// Records that an agent was refused something: who attempted undeclared I/O is then a question that the ledger answers.
    /// Does nothing for an error that is no refusal; says whether it is one.
    pub fn refused(&self, event: &str, agent: &str, by: &str, error: &Error) -> Result<bool, Error> {
        let Some((kind, path)) = refusal(error) else { return Ok(false) };
        let message = redact(&format!("{}: {error}", error.name()));
        let draft = draft(event, agent, &[("path", path), ("by", by)]).decision(Decision::Deny);
        self.append(draft.finding("declared-io", kind, Decision::Deny, redact(path), message))?;
        Ok(true)
    }

    fn append(&self, draft: Draft) -> Result<(), Error> {
        let appended = Ledger::at(&self.dirs.state).append(draft, Instant::now() + DEADLINE);
        appended.map(|_| ()).map_err(|error| unusable("ledger.jsonl", error))
    }
}

/// The word of those who keep settings and ledger, as the library's.
fn unusable(file: &str, why: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Io { path: file.to_owned(), source: io::Error::other(why) }
}

/// The inputs that are declared by name and are not in the workspace.
pub fn missing_inputs(workspace: &Workspace) -> Result<Vec<&str>, Error> {
    let there = workspace.list()?.inputs;
    let is_missing = |input: &&str| !there.iter().any(|file| file.path == *input);
    Ok(workspace.declaration().inputs.iter().filter_map(Pattern::exact).filter(is_missing).collect())
}

fn draft(event: &str, agent: &str, about: &[(&str, &str)]) -> Draft {
    let draft = Draft::new(SystemTime::now(), "toolgate", redact(event)).agent(redact(agent));
    about.iter().fold(draft, |draft, (name, value)| draft.arg(redact(name), redact(value)))
}

/// What sort of refusal an error is, and what it is about; `None` where nobody was refused anything and something could not
/// be done.
pub fn refusal(error: &Error) -> Option<(FindingKind, &str)> {
    match error {
        Error::UndeclaredRead { path } => Some((FindingKind::UndeclaredRead, path)),
        Error::UndeclaredWrite { path } => Some((FindingKind::UndeclaredWrite, path)),
        Error::PathTraversal { path, .. } => Some((FindingKind::Traversal, path)),
        Error::QuotaExceeded { path, .. } => Some((FindingKind::Limit, path)),
        Error::Conflict { pattern, .. } => Some((FindingKind::OtherAgent, pattern.as_str())),
        Error::InvalidAgent { agent, .. } => Some((FindingKind::InvalidPath, agent)),
        _ => None,
    }
}
