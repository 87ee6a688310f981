//! `toolgate approver`: whose signatures count as approvals.
//!
//! Against whom: an agent that would enrol a key of its own. Enrolling takes what approving takes; the list lies where no agent writes.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;
use toolgate_model::{Require, Strength};
use toolgate_setup::approval::{Approver as Enrolled, Approvers, is_name, key_of_file};

use super::Out;
use super::people::{HomeArgs, Loosened, confirmed, record, record_agreed, required_at, user};

/// Manage the keys whose signatures count as approvals
#[derive(Debug, Args)]
pub(super) struct Approver {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Enrol a key; only for a person
    #[command(
        after_help = "Examples:\n  toolgate approver add \"$USER\" ~/.ssh/id_ed25519_sk.pub    # your security key: strength `touch`\n  toolgate approver add ash ash.pub                          # another person's key: strength `other-person`"
    )]
    Add {
        /// Whose key: your user name for a security key of yours, another name for another person's
        name: String,
        /// The public key: ssh-ed25519, or sk-ssh-ed25519 of a security key
        key: PathBuf,
        #[command(flatten)]
        home: HomeArgs,
    },
    /// List the enrolled keys
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        home: HomeArgs,
    },
    /// Remove the keys of a name
    Remove {
        /// Whose keys
        name: String,
        #[command(flatten)]
        home: HomeArgs,
    },
}

impl Approver {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let failed = |error: std::io::Error| error.to_string();
        match self.command {
            Command::Add { name, key, home } => {
                let dirs = home.dirs()?;
                if !is_name(&name) {
                    return Err(format!("`{name}` is not a name: use one word of letters, digits and ._@+-"));
                }
                let enrolled = Enrolled { name, key: key_of_file(&key)? };
                let Some(strength) = enrolled.strength_for(&user()) else {
                    return Err("a software key of your own proves no more than your terminal does: enrol a security key, or another person's key".into());
                };
                let known = Approvers::read(&dirs).map_err(failed)?;
                if required_at(&dirs, None, &Loosened::Everything)? >= Require::Touch && known.list.is_empty()
                {
                    return Err(format!(
                        "nobody is enrolled whose signature the settings require; write the first line yourself, into {}:\n{} namespaces=\"toolgate\" {}",
                        known.file.display(),
                        enrolled.name,
                        enrolled.key.line()
                    ));
                }
                let fingerprint = enrolled.key.fingerprint();
                let question =
                    format!("Enrol {fingerprint} of {}, strength {}?", enrolled.name, strength.word());
                let signer = confirmed(out, &dirs, None, &Loosened::Everything, "", &question)?;
                let about = [("name", enrolled.name.as_str()), ("key", &fingerprint)];
                record_agreed(&dirs, "security-warning: approver add", &about, &signer)?;
                let is_new = Approvers::add(&dirs, &enrolled).map_err(failed)?;
                out.line(if is_new { "enrolled" } else { "was enrolled already" })?;
            }
            Command::List { json, home } => {
                let known = Approvers::read(&home.dirs()?).map_err(failed)?;
                if json {
                    let row = |enrolled: &Enrolled| {
                        let strength = enrolled.strength_for(&user()).map(Strength::word);
                        json!({ "name": enrolled.name, "key": enrolled.key.fingerprint(), "strength": strength })
                    };
                    let rows: Vec<_> = known.list.iter().map(row).collect();
                    out.json(&json!({ "approvers": rows, "unusable_lines": known.unusable }))?;
                    return Ok(ExitCode::SUCCESS);
                }
                if known.list.is_empty() {
                    out.line("nobody is enrolled")?;
                }
                for enrolled in &known.list {
                    let strength = enrolled.strength_for(&user()).map_or("nothing", Strength::word);
                    out.line(format!("{}  {}  {strength}", enrolled.name, enrolled.key.fingerprint()))?;
                }
                for line in &known.unusable {
                    out.line(format!("{}:{line}: cannot be used", known.file.display()))?;
                }
            }
            Command::Remove { name, home } => {
                let dirs = home.dirs()?;
                let count = Approvers::remove(&dirs, &name).map_err(failed)?;
                if count == 0 {
                    return Err(format!("`{name}` is not enrolled"));
                }
                record(&dirs, "approver remove", &[("name", &name)])?;
                out.line(format!("{count} key(s) of {name} removed"))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
