//! What can be set: the words of `toolgate.toml`, and the policies that they make.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{
    Access, Decision, Facts, Finding, Ground, Kind, Policy, Ruleset, ToolAccess, ToolRule, Use, Wording,
    shorten,
};

use crate::custom_rule::{CustomRules, Rule};
use crate::destructive::{CommandRule, Destructive, DiskFloor, OwnRules};
use crate::directory_change::DirectoryChange;
use crate::directory_read::DirectoryRead;
use crate::expanded_target::ExpandedTarget;
use crate::gate_tampering::GateTampering;
use crate::git_internals_write::GitInternalsWrite;
use crate::grant::Grant;
use crate::hooks_off::HooksOff;
use crate::invalid_path::InvalidPath;
use crate::mcp_secret::McpSecret;
use crate::orchestrator_command::OrchestratorCommand;
use crate::outside_scope::{Needs, OutsideScope, ScopeEntry};
use crate::own_command::OwnCommand;
use crate::path_traversal::PathTraversal;
use crate::pattern;
use crate::private_content::PrivateContent;
use crate::read_only_role::ReadOnlyRole;
use crate::redaction::Redaction;
use crate::secret_file::SecretFile;
use crate::secret_shown::SecretShown;
use crate::shared_temporary::SharedTemporary;
use crate::unlisted_tool::UnlistedTool;
use crate::unproved_effect::UnprovedEffect;
use crate::worktree_removal::WorktreeRemoval;

/// All that can be set. A file holds any part of it; what it leaves out comes from the layers above it and
/// from the profile.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The shipped profile to start from: `worktree`, `worktree-strict`, `write-guard`, `ittybitty` …
    pub profile: Option<String>,
    /// Where a call that nothing objects to is granted, so that the host asks nobody either: `false`, `true`, or a list
    /// of hosts. A host in which a grant overrides what its user has forbidden (Copilot) has to be named.
    pub grant: Grant,
    /// Whether there is nobody to be asked: what would be asked is then denied.
    pub unattended: bool,
    /// What the boundary is.
    pub boundary: Boundary,
    /// What becomes of a relative path in an allowed call.
    pub relative: Relative,
    /// When the gate stands.
    pub activation: Activation,
    /// Places and the rights there; the most specific entry wins.
    pub scope: Vec<ScopeEntry>,
    /// Rules of your own.
    pub rule: Vec<Rule>,
    /// Rules of your own about commands.
    pub command: Vec<CommandRule>,
    /// Tools that their host's page does not list, by name; a `*` at the end stands for any rest.
    pub tools: BTreeMap<String, ToolRule>,
    /// What is taken out of a tool's output before the model sees it.
    pub redaction: Redaction,
    /// Settings of single policies.
    pub(crate) policy: Policies,
    /// Messages in words of your own, by the kind of objection. `{path}`, `{root}`, `{tool}`, `{noun}`,
    /// `{reason}` and `{instead}` are filled in.
    pub messages: BTreeMap<Kind, String>,
}

/// `[policy.*]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct Policies {
    invalid_path: InvalidPath,
    path_traversal: PathTraversal,
    git_internals_write: GitInternalsWrite,
    unlisted_tool: UnlistedTool,
    read_only_role: ReadOnlyRole,
    directory_read: DirectoryRead,
    orchestrator_command: OrchestratorCommand,
    unproved_effect: UnprovedEffect,
    shared_temporary: SharedTemporary,
    outside_scope: Needs,
    destructive: Destructive,
    worktree_removal: WorktreeRemoval,
    directory_change: DirectoryChange,
    expanded_target: ExpandedTarget,
    private_content: PrivateContent,
    mcp_secret: McpSecret,
    secret_shown: SecretShown,
    secret_file: SecretFile,
}

/// What the boundary is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Boundary {
    /// The worktree in which the session began; it does not follow the agent.
    #[default]
    Session,
    /// The working directory of each event. Follows the agent, so it holds less.
    Cwd,
}

/// What becomes of a relative path in an allowed call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Relative {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is made absolute, from the root.
    Rewrite,
}

/// When the gate stands. The floor always does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Activation {
    /// The host's modes in which it stands; empty: all.
    pub modes: Vec<String>,
    /// Whether it steps back in a project that the host's user has not trusted.
    pub skip_untrusted: bool,
    /// The environment variable that names the root; without it the gate steps back. Empty: none.
    pub root_env: String,
}

impl Settings {
    /// Says what in these settings cannot be used.
    pub fn check(&self) -> Result<(), String> {
        // Every call pays for every entry; more than this are a mistake or an attack on the deadline.
        const MOST: usize = 1000;
        let private = self.policy.private_content.len();
        let most = [self.scope.len(), self.rule.len(), self.command.len(), self.tools.len(), private]
            .into_iter()
            .max();
        if most > Some(MOST) {
            return Err(format!("more than {MOST} entries of one kind"));
        }
        self.policy.destructive.check()?;
        self.policy.private_content.check()?;
        self.policy.secret_file.check()?;
        for rule in &self.command {
            if rule.message.is_empty() || rule.command.iter().all(|command| command.trim().is_empty()) {
                return Err(format!(
                    "the command rule `{}` needs `message` and `command`",
                    shorten(&rule.message, 60)
                ));
            }
        }
        for (name, tool) in &self.tools {
            if tool.access != ToolAccess::None && tool.paths.is_empty() {
                return Err(format!("the tool `{name}` needs `paths`, or `access = \"none\"`"));
            }
        }
        for entry in &self.scope {
            pattern::check(&entry.path)?;
        }
        for rule in &self.rule {
            rule.paths.iter().try_for_each(|path| pattern::check(path))?;
            if rule.decision == Decision::Allow {
                return Err(format!(
                    "the rule `{}` can `deny` or `ask`, not `allow`",
                    shorten(&rule.message, 60)
                ));
            }
            if rule.directories.len() + rule.extensions.len() + rule.paths.len() > MOST {
                return Err(format!(
                    "the rule `{}` names more than {MOST} things",
                    shorten(&rule.message, 60)
                ));
            }
            if rule.directories.is_empty() && rule.extensions.is_empty() && rule.paths.is_empty() {
                return Err(format!(
                    "the rule `{}` names no `directories`, `extensions` or `paths`",
                    shorten(&rule.message, 60)
                ));
            }
        }
        Ok(())
    }

    /// Why the gate steps back for this call, if it does.
    pub fn inactive(&self, facts: &Facts<'_>) -> Option<&'static SteppedBack> {
        const MODE: &SteppedBack =
            &SteppedBack("the host's mode is one in which this profile does not stand");
        const TRUST: &SteppedBack =
            &SteppedBack("the project is not trusted, and this profile stands in trusted ones only");
        const ROOT: &SteppedBack = &SteppedBack("the variable that names the root is not set to a directory");
        let activation = &self.activation;
        let standing = &facts.standing;
        let other_mode = |mode: &String| !activation.modes.is_empty() && !activation.modes.contains(mode);
        if standing.mode.as_ref().is_some_and(other_mode) {
            Some(MODE)
        } else if activation.skip_untrusted && standing.trusted == Some(false) {
            Some(TRUST)
        } else if !activation.root_env.is_empty() && facts.ground.root.is_none() {
            Some(ROOT)
        } else {
            None
        }
    }

    /// The policies of these settings, ready to be asked.
    pub fn ruleset<'s>(&'s self, facts: &'s Facts<'s>, lists: &'s Lists<'s>, grants: bool) -> Ruleset<'s> {
        // INVARIANT: the floor comes first and nothing above this line can leave it out.
        let mut policies: Vec<&dyn Policy> =
            vec![&GateTampering, &self.policy.secret_file, &HooksOff, &OwnCommand, &DiskFloor];
        let stepped_back = self.inactive(facts);
        if let Some(stepped_back) = stepped_back {
            policies.push(stepped_back);
        } else {
            let Policies {
                invalid_path,
                path_traversal,
                git_internals_write,
                unlisted_tool,
                read_only_role,
                directory_read,
                orchestrator_command,
                unproved_effect,
                shared_temporary,
                outside_scope: _,
                destructive,
                worktree_removal,
                directory_change,
                expanded_target,
                private_content,
                mcp_secret,
                secret_shown,
                secret_file: _,
            } = &self.policy;
            let settable: [&dyn Policy; 19] = [
                invalid_path,
                path_traversal,
                &lists.scope,
                git_internals_write,
                worktree_removal,
                directory_change,
                expanded_target,
                destructive,
                &lists.commands,
                unlisted_tool,
                read_only_role,
                directory_read,
                orchestrator_command,
                &lists.rules,
                unproved_effect,
                shared_temporary,
                private_content,
                mcp_secret,
                secret_shown,
            ];
            policies.extend(settable);
        }
        Ruleset {
            policies,
            can_ask: !self.unattended,
            grants: grants && stepped_back.is_none(),
            wording: self,
            facts,
        }
    }

    /// What has to be looked for in what a use writes or reads, so that the policies can judge it. `shown`: the host
    /// shows whatever is read.
    pub fn sought(&self, used: &Use<'_>, ground: &Ground, shown: bool) -> Sought {
        let Ok(place) = &used.place else { return Sought::default() };
        let Policies { private_content, mcp_secret, secret_shown, .. } = &self.policy;
        if used.access != Access::Write {
            let secrets = shown && secret_shown.seeks(used, place, ground);
            return Sought { secrets, ..Sought::default() };
        }
        let hard_coded = mcp_secret.seeks(place, ground);
        let (secrets, emails) = private_content.seeks(place, ground);
        Sought { secrets: secrets || hard_coded, emails, hard_coded }
    }

    /// Email addresses and domains that may be written to guarded places.
    pub fn safe_emails(&self) -> &[String] {
        &self.policy.private_content.safe_emails
    }

    /// The policies that are lists rather than structs.
    pub fn lists(&self) -> Lists<'_> {
        Lists {
            scope: OutsideScope { entries: &self.scope, needs: &self.policy.outside_scope },
            rules: CustomRules(&self.rule),
            commands: OwnRules(&self.command),
        }
    }
}

/// What is to be looked for in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sought {
    /// Secrets that are known by their looks.
    pub secrets: bool,
    /// Email addresses that are on no safe list.
    pub emails: bool,
    /// Values that are secrets by their names, as [`hard_coded`](crate::hard_coded) finds them.
    pub hard_coded: bool,
}

/// Says in the verdict, and with it in the record, that the gate has stepped back: not standing is a state that one
/// can see.
pub struct SteppedBack(&'static str);

impl Policy for SteppedBack {
    fn judge(&self, _: &Facts<'_>, findings: &mut Vec<Finding>) {
        findings.push(
            Finding::new("activation", Decision::Allow, Kind::Inactive)
                .because(format!("not judged: {}", self.0)),
        );
    }
}

/// The policies that are made of `[[scope]]`, `[[rule]]` and `[[command]]`.
pub struct Lists<'s> {
    scope: OutsideScope<'s>,
    rules: CustomRules<'s>,
    commands: OwnRules<'s>,
}

impl Wording for Settings {
    fn word(&self, finding: &Finding, facts: &Facts<'_>) -> Option<String> {
        let template = self.messages.get(&finding.kind)?;
        let tool = facts.tool;
        let noun = match tool.to_ascii_lowercase().as_str() {
            "write" => "writes",
            "edit" => "edits",
            _ => "file operations",
        };
        let root = facts.ground.root.as_ref().map(|root| root.physical.to_string_lossy()).unwrap_or_default();
        // As the agent gave it, which is how older guards show it.
        let used = facts.uses.iter().find(|used| used.param == finding.param && !used.text.is_empty());
        let given = used.map(|used| used.text.escape_debug().to_string());
        let text = template
            .replace("{root}", &shorten(&root, 90))
            .replace("{tool}", tool)
            .replace("{noun}", noun)
            .replace("{reason}", &finding.reason)
            .replace("{instead}", &finding.instead)
            .replace("{path}", &shorten(given.as_deref().unwrap_or(&finding.path), 90));
        Some(text)
    }
}
