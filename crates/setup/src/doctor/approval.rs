//! What it takes to approve a call here, and whether anybody can.

use toolgate_gate::settings::SettingsSources;
use toolgate_model::{Require, Strength};

use super::{Check, Status, Subject};
use crate::approval::{Approvers, password};
use crate::this_machine;
use toolgate_gate::dirs::user_name;

const ID: &str = "approval";

/// Names the strength in force, and says what is missing for it.
pub(super) fn examine(subject: &Subject<'_>) -> Vec<Check> {
    let (dirs, root) = (subject.dirs, subject.places.project.as_deref());
    let sources =
        SettingsSources { dirs, root, repository: None, team: &[], fixed: None, default: "worktree" };
    let machine = this_machine();
    // Settings that cannot be read are told already.
    let Ok(rules) = sources.rules(&machine) else { return Vec::new() };
    let require = rules.layers.iter().map(|layer| layer.approval.require).max().unwrap_or(Require::Nobody);
    let approvers = match Approvers::read(dirs) {
        Ok(approvers) => approvers,
        Err(error) => {
            let text = format!("the list of approvers cannot be read: {error}");
            return vec![Check::new(ID, Status::Warn, text).help("fix it; until then no signature counts")];
        }
    };
    let user = user_name(&machine);
    let strengths = || approvers.list.iter().filter_map(|approver| approver.strength_for(&user));
    let mut checks = Vec::new();
    let word = require.word();
    let meaning = match require {
        Require::Terminal => {
            "a person at a terminal, which code of the same user outside of the sandbox can imitate"
        }
        Require::Password => "a person at a terminal, and their password, which sudo asks for each time",
        Require::Touch => "a touch of an enrolled security key",
        Require::OtherPerson => "the signature of another enrolled person",
        Require::Nobody => "approvals are off, and so is everything else that loosens",
    };
    let is_met = |strength: Strength| require.is_met_by(strength);
    let nobody = matches!(require, Require::Touch | Require::OtherPerson) && !strengths().any(is_met);
    let text = format!("`{word}` is required: {meaning}");
    // A stronger signature is enough as well.
    let no_password = match require {
        Require::Password if !strengths().any(is_met) => password::available(dirs).err(),
        _ => None,
    };
    checks.push(if let Some(why) = no_password {
        Check::new(ID, Status::Warn, format!("{text}; nobody can be asked for it: {why}")).help(
            "`toolgate init --managed` sets it up; until then nothing that takes a password can be approved",
        )
    } else if nobody {
        let text = format!("{text}; nobody is enrolled who could give it");
        Check::new(ID, Status::Warn, text).help("`toolgate approver add` enrols a key")
    } else {
        Check::new(ID, Status::Info, text)
    });
    for line in &approvers.unusable {
        let text = format!("{}:{line}: not a line about an approver", approvers.file.display());
        checks.push(
            Check::new(ID, Status::Warn, text)
                .help("`NAME namespaces=\"toolgate\" ssh-ed25519 …`, or `sk-ssh-ed25519@openssh.com …`"),
        );
    }
    checks
}
