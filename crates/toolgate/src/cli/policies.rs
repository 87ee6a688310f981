//! `toolgate policies` and `toolgate explain`.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use toolgate_policies::POLICIES;

use super::Out;
use toolgate_setup::compile::nearest;

/// List the policies
#[derive(Debug, Args)]
pub(super) struct Policies {
    /// As JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    id: &'static str,
    floor: bool,
    summary: &'static str,
}

impl Policies {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let rows = POLICIES.iter().map(|policy| Row {
            id: policy.id,
            floor: policy.floor,
            summary: policy.summary(),
        });
        if self.json {
            out.json(&rows.collect::<Vec<_>>())?;
        } else {
            for row in rows {
                let floor = if row.floor { "floor" } else { "     " };
                out.line(format!(
                    "{}  {floor}  {}",
                    out.paint("1", &format!("{:<22}", row.id)),
                    row.summary
                ))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Print a policy's manual
#[derive(Debug, Args)]
pub(super) struct Explain {
    /// Its id, as at the end of a denial
    policy: String,
}

impl Explain {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let wanted = self.policy.trim_matches(['[', ']']);
        match POLICIES.iter().find(|policy| policy.id == wanted) {
            Some(policy) => {
                out.line(out.paint("1", policy.id))?;
                out.line("")?;
                out.line(policy.doc())?;
                Ok(ExitCode::SUCCESS)
            }
            None => {
                let near = nearest(wanted, POLICIES.iter().map(|policy| policy.id));
                let hint = near.map_or_else(
                    || "`toolgate policies` lists them".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
                Err(format!("there is no policy `{wanted}`; {hint}"))
            }
        }
    }
}
