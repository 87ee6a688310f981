//! `toolgate policies` and `toolgate explain`: the policies, and the rules of the packs behind them.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::json;
use toolgate_policies::{POLICIES, RulePage, rules};

use super::Out;
use toolgate_setup::compile::nearest;

/// The policy whose rules stand in packs.
const PACKS: &str = "destructive";

/// List the policies
#[derive(Debug, Args)]
pub(super) struct Policies {
    /// As JSON
    #[arg(long)]
    json: bool,
    /// List the rules of the packs instead, each with its id
    #[arg(long)]
    rules: bool,
}

#[derive(Serialize)]
struct PolicyRow {
    id: &'static str,
    floor: bool,
    summary: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<RuleRow>,
}

#[derive(Serialize)]
struct RuleRow {
    id: &'static str,
    pack: &'static str,
    /// The pack holds only where the settings name it.
    optional: bool,
    floor: bool,
    response: &'static str,
    reason: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instead: &'static str,
    example: &'static str,
}

impl RuleRow {
    fn of(rule: RulePage) -> RuleRow {
        let RulePage { id, pack, optional, floor, response, reason, instead, example } = rule;
        RuleRow { id, pack, optional, floor, response: response.word(), reason, instead, example }
    }
}

impl Policies {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        if self.rules {
            return self.list_rules(out);
        }
        let rows = POLICIES.iter().map(|policy| PolicyRow {
            id: policy.id,
            floor: policy.floor,
            summary: policy.summary(),
            rules: if policy.id == PACKS { rules().map(RuleRow::of).collect() } else { Vec::new() },
        });
        if self.json {
            out.json(&json!({ "policies": rows.collect::<Vec<_>>() }))?;
            return Ok(ExitCode::SUCCESS);
        }
        for row in rows {
            let floor = if row.floor { "floor" } else { "     " };
            let id = out.paint("1", &format!("{:<22}", row.id));
            out.line(format!("{id}  {floor}  {}", row.summary))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn list_rules(&self, out: &mut Out) -> Result<ExitCode, String> {
        let rows = rules().map(RuleRow::of);
        if self.json {
            out.json(&json!({ "rules": rows.collect::<Vec<_>>() }))?;
            return Ok(ExitCode::SUCCESS);
        }
        for row in rows {
            let word = if row.floor { "floor" } else { row.response };
            let id = out.paint("1", &format!("{:<32}", row.id));
            out.line(format!("{id}  {word:<5}  {}: {}", row.pack, row.reason))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Print the manual of a policy, or what a rule is about
#[derive(Debug, Args)]
pub(super) struct Explain {
    /// The id, as at the end of a denial
    #[arg(value_name = "POLICY|RULE")]
    id: String,
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        // As at the end of a denial: `[policy]` or `[policy: rule]`.
        let named = self.id.trim_matches(['[', ']']);
        let wanted = named.rsplit_once(": ").map_or(named, |(_, rule)| rule).trim();
        if let Some(policy) = POLICIES.iter().find(|policy| policy.id == wanted) {
            if self.json {
                let page = json!({ "id": policy.id, "floor": policy.floor, "manual": policy.doc() });
                out.json(&json!({ "policy": page }))?;
                return Ok(ExitCode::SUCCESS);
            }
            out.line(out.paint("1", policy.id))?;
            out.line("")?;
            out.line(policy.doc())?;
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(rule) = rules().find(|rule| rule.id == wanted) {
            if self.json {
                out.json(&json!({ "rule": RuleRow::of(rule) }))?;
                return Ok(ExitCode::SUCCESS);
            }
            explain_rule(out, rule)?;
            return Ok(ExitCode::SUCCESS);
        }
        let ids = POLICIES.iter().map(|policy| policy.id).chain(rules().map(|rule| rule.id));
        let near = nearest(wanted, ids.collect::<Vec<_>>().into_iter());
        let hint = near.map_or_else(
            || "`toolgate policies` and `toolgate policies --rules` list them".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        Err(format!("there is no policy or rule `{wanted}`; {hint}"))
    }
}

fn explain_rule(out: &mut Out, rule: RulePage) -> Result<(), String> {
    out.line(out.paint("1", rule.id))?;
    out.line("")?;
    out.line(format!("A rule of the pack `{}`, by the policy `{PACKS}`.", rule.pack))?;
    out.line(format!("Example: `{}`", rule.example))?;
    out.line(format!("Reason: {}", rule.reason))?;
    if !rule.instead.is_empty() {
        out.line(format!("Instead: {}", rule.instead))?;
    }
    if rule.floor {
        return out.line("It is part of the floor: no setting switches it off.");
    }
    if rule.optional {
        out.line(format!("Its pack holds where the settings name it: packs = [\"{}\"].", rule.pack))?;
    }
    out.line(format!("Default: {}. To change it, in toolgate.toml:", rule.response.word()))?;
    out.line(format!("\n    [rules]\n    {} = \"ask\"    # or \"allow\", or \"deny\"", rule.id))
}
