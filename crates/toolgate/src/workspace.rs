//! What the gate adds to the workspaces of this machine: who did and who was refused what goes into the ledger, receipts say
//! which rules were in force, and store and signing key lie in the state directory, where no agent comes.

use std::path::PathBuf;
use std::time::{Instant, SystemTime};

use toolgate_evidence::{Draft, Ledger, LedgerError, position};
use toolgate_model::{Decision, Ground, Kind};
use toolgate_secrets::redact;
use toolgate_workspace::{About, Error, LedgerPosition};

use crate::dirs::Dirs;
use crate::hook::DEADLINE;
use crate::settings::Wanted;

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

    /// What a receipt says besides what lies in the workspace: when, under which rules, and where the ledger stands.
    /// `ground` is where the agent works; `profile` the one that its registration fixes.
    pub fn about(&self, ground: &Ground, profile: Option<&str>) -> Result<About, String> {
        let wanted = Wanted {
            dirs: &self.dirs,
            root: ground.root.as_ref().map(|root| root.physical.as_path()),
            repository: ground.git.as_ref().map(|git| git.physical.as_path()),
            team: &ground.team,
            fixed: profile,
            default: "worktree",
        };
        let ruleset = wanted.ruleset().map_err(|error| error.to_string())?;
        let position = position(&self.dirs.state).map_err(|error| error.to_string())?;
        let ledger = position.map(|at| LedgerPosition { seq: at.seq, digest: at.digest.to_string() });
        Ok(About { time: SystemTime::now(), ruleset: Some(ruleset), ledger })
    }

    /// Records what `by` has done, with what it was about.
    pub fn done(&self, event: &str, by: &str, about: &[(&str, &str)]) -> Result<(), LedgerError> {
        self.append(draft(event, by, about))
    }

    /// Records that an agent was refused something: who attempted undeclared I/O is then a question that the ledger answers.
    /// Does nothing for an error that is no refusal; says whether it is one.
    pub fn refused(&self, event: &str, agent: &str, by: &str, error: &Error) -> Result<bool, LedgerError> {
        let Some((kind, path)) = refusal(error) else { return Ok(false) };
        let finding = |draft: Draft| {
            let message = redact(&format!("{}: {error}", error.name()));
            draft.finding("declared-io", kind, Decision::Deny, redact(path), message)
        };
        let draft = draft(event, agent, &[("path", path), ("by", by)]).decision(Decision::Deny);
        self.append(finding(draft))?;
        Ok(true)
    }

    fn append(&self, draft: Draft) -> Result<(), LedgerError> {
        Ledger::at(&self.dirs.state).append(draft, Instant::now() + DEADLINE).map(|_| ())
    }
}

fn draft(event: &str, agent: &str, about: &[(&str, &str)]) -> Draft {
    let draft = Draft::new(SystemTime::now(), "toolgate", redact(event)).agent(redact(agent));
    about.iter().fold(draft, |draft, (name, value)| draft.arg(redact(name), redact(value)))
}

/// What sort of refusal an error is, and what it is about; `None` where nobody was refused anything and something could not
/// be done.
pub fn refusal(error: &Error) -> Option<(Kind, &str)> {
    match error {
        Error::UndeclaredRead { path } => Some((Kind::UndeclaredRead, path)),
        Error::UndeclaredWrite { path } => Some((Kind::UndeclaredWrite, path)),
        Error::PathTraversal { path, .. } => Some((Kind::Traversal, path)),
        Error::QuotaExceeded { path, .. } => Some((Kind::Limit, path)),
        Error::Conflict { pattern, .. } => Some((Kind::OtherAgent, pattern.as_str())),
        Error::InvalidAgent { agent, .. } => Some((Kind::InvalidPath, agent)),
        _ => None,
    }
}
