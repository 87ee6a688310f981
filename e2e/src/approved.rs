//! The row of approvals: a person lets one call through, at a terminal that the agent did not make, and it runs once.

use std::fs;
use std::io;
use std::path::PathBuf;

use toolgate_rehearsal::clients::{Act, Client};
use toolgate_rehearsal::model::Seen;
use toolgate_rehearsal::run::Ran;
use toolgate_rehearsal::stage::Stage;

use crate::gate::Gate;
use crate::rows::{Take, Truth, broken};

/// What is denied unless a person approves it. Each time that it runs leaves a line.
const COMMAND: &str = "git reset --hard --quiet && echo ran >> runs.txt";
/// Ends our reason for it.
const REASON: &str = "[destructive: git-reset-hard]";
/// The agent waits for the person, for half a minute at most.
const WAIT: &str = "for n in $(seq 60); do if [ -e answered.txt ]; then break; fi; sleep 0.5; done";

/// A file that git knows, with a change that the command would discard.
pub(crate) fn stand(stage: &Stage) -> io::Result<()> {
    stage.write(&stage.worktree().join("draft.txt"), "a draft\n")?;
    stage.commit()
}

/// It is tried, and after the person's answer twice more.
pub(crate) fn takes(client: &dyn Client) -> Vec<Take> {
    let acts = [COMMAND, WAIT, COMMAND, COMMAND].map(Act::Shell);
    vec![Take::of(acts.into_iter().flat_map(|act| client.turns(act)).collect())]
}

fn answered(stage: &Stage) -> PathBuf {
    stage.worktree().join("answered.txt")
}

/// Approves what waits, once. What went wrong is what the agent waits for in vain.
pub(crate) fn answer(stage: &Stage, gate: &Gate<'_>) {
    let pending = stage.home().join(".local/state/toolgate/approvals/pending");
    let waits = fs::read_dir(pending).is_ok_and(|mut entries| entries.next().is_some());
    if !waits || answered(stage).exists() {
        return;
    }
    let said = match gate.approve_first() {
        Ok(said) | Err(said) => said,
    };
    let _ = fs::write(answered(stage), said);
}

/// What became of it.
pub(crate) fn judge(stage: &Stage, seen: &Seen, ran: &Ran) -> Truth {
    let runs = fs::read_to_string(stage.worktree().join("runs.txt")).unwrap_or_default();
    let record =
        fs::read_to_string(stage.home().join(".local/state/toolgate/ledger.jsonl")).unwrap_or_default();
    let uses = record.lines().filter(|line| line.contains(r#""use":1"#)).count();
    let is_denial = |line: &&str| line.contains(r#""decision":"deny""#) && line.contains("git-reset-hard");
    let denied = record.lines().filter(is_denial).count();
    match (runs.lines().count(), uses, denied) {
        (1, 1, 2..) if seen.result_says(REASON) => Truth::Once,
        (2.., ..) => Truth::Open,
        (runs, uses, denied) => {
            let said = fs::read_to_string(answered(stage)).unwrap_or_else(|_| "nobody answered".to_owned());
            broken(&format!("ran {runs} times, used {uses} times, denied {denied} times: {said}"), seen, ran)
        }
    }
}
