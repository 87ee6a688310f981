//! Denies writes to toolgate's settings, log, binary and registrations; asks before writes to code that hosts run by themselves.
//!
//! Why: an agent that can change the rules has no rules. A host's settings file can switch off every hook, and a
//! skill or command file holds shell code that some hosts run without asking any hook.
//!
//! Settings: none. This is the floor; no file opens it.
//!
//! Sees through: links, `..`, other letter case, invisible characters, another name (hard
//! link) of one of our own files, and names that come with a patch, a plain archive or a copied tree.
//! Does not see: what a started program writes. That is the sandbox's job.

use std::path::Path;

use toolgate_model::{Decision, Facts, Finding, FindingKind, Policy, Reach, Run, shorten};

use crate::pattern::{Patterns, Probe};

pub(crate) struct GateTampering;

/// What no agent writes: the hosts' own settings, where our hooks are registered and can be switched off.
static DENIED: Patterns = Patterns::new(&[
    "{project}/toolgate.toml",
    "{main}/toolgate.toml",
    "/etc/toolgate",
    "**/.claude/settings.json",
    "**/.claude/settings.local.json",
    "**/.claude/managed-settings.json",
    "~/.claude.json",
    "/etc/claude-code",
    "**/.codex/hooks.json",
    "**/.codex/config.toml",
    "/etc/codex",
    "~/.copilot/hooks",
    "~/.copilot/config.json",
    "~/.copilot/settings.json",
    "**/.copilot/config.json",
    "**/.github/hooks",
    "**/.github/copilot/settings.json",
    "**/.github/copilot/settings.local.json",
    "/etc/github-copilot",
    "**/.cursor/hooks.json",
    "/etc/cursor",
    "**/.gemini/settings.json",
    // Variables of the client itself: where its settings and its home are.
    "**/.gemini/.env",
    "/etc/gemini-cli",
    "**/.qwen/settings.json",
    "**/.qwen/.env",
    "/etc/qwen-code",
    "**/.opencode/plugin",
    "**/.opencode/plugins",
    // Code that OpenCode loads when it starts, without a question, and that may take the place of its own tools.
    "**/.opencode/tool",
    "**/.opencode/tools",
    "**/opencode.json",
    "**/opencode.jsonc",
    "~/.config/opencode",
    "/etc/opencode",
    "**/.pi/settings.json",
    "**/.pi/extensions",
    // Packages of the project, with their extensions.
    "**/.pi/git",
    "**/.pi/npm",
    "~/.pi/agent",
    // Who may not revise what, and what was denied: a team's own record, kept by toolgate.
    "**/.squad/lockout.json",
    "**/.squad/security-audit.log",
    "**/.ai-team/lockout.json",
    "**/.ai-team/security-audit.log",
]);

/// What hosts load and run by themselves, and people do have agents write now and then.
static ASKED: Patterns = Patterns::new(&[
    "**/.claude/skills",
    "**/.claude/commands",
    "**/.claude/agents",
    "**/.claude/hooks",
    "**/.claude/plugins",
    "**/.claude/workflows",
    "**/.claude/statusline.sh",
    "**/.claude-plugin",
    "**/.agents/plugins",
    "**/.agents/skills",
    "**/.codex",
    "**/.codex-plugin",
    "**/.cursor/agents",
    "**/.cursor/cli.json",
    "**/.cursor/commands",
    "**/.cursor/environment.json",
    "**/.cursor/hooks",
    "**/.cursor/mcp.json",
    "**/.cursor/permissions.json",
    "**/.cursor/plugins",
    "**/.cursor/sandbox.json",
    "**/.cursor/skills",
    "**/.cursor/worktrees.json",
    "**/.gemini/agents",
    "**/.gemini/commands",
    "**/.gemini/extensions",
    "**/.gemini/hooks",
    "**/.gemini/policies",
    "**/.gemini/skills",
    "**/.github/agents",
    "**/.github/copilot",
    "**/.github/lsp.json",
    "**/.github/mcp.json",
    "**/.github/skills",
    "**/.opencode",
    "**/.pi",
    "**/.qwen/agents",
    "**/.qwen/commands",
    "**/.qwen/extensions",
    "**/.qwen/hooks",
    "**/.qwen/skills",
    "**/.lsp.json",
    "**/.mcp.json",
    "**/.vscode/mcp.json",
]);

/// The names, below a project or a home, of what no agent writes.
pub fn denied_names() -> impl Iterator<Item = &'static str> {
    names(&DENIED)
}

/// The names, below a project or a home, of what is asked about.
pub fn asked_names() -> impl Iterator<Item = &'static str> {
    names(&ASKED)
}

/// Those of both that count in any directory, and not in a project's top or a home alone.
pub(crate) fn nested_names() -> impl Iterator<Item = &'static str> {
    let patterns = DENIED.iter().chain(ASKED.iter());
    patterns.filter_map(|pattern| pattern.strip_prefix("**/")).filter(|name| !name.contains('*'))
}

fn names(patterns: &'static Patterns) -> impl Iterator<Item = &'static str> {
    let starts = ["**/", "~/", "{project}/"];
    patterns.iter().filter_map(move |pattern| starts.iter().find_map(|start| pattern.strip_prefix(start)))
}

impl Policy for GateTampering {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        for used in facts.uses.iter().filter(|used| used.writes()) {
            let Ok(place) = &used.place else { continue };
            let probes: Vec<Probe<'_>> = place.paths().map(|path| Probe::new(path, facts.places)).collect();
            let covered = |patterns| probes.iter().any(|probe| probe.forbidden_by_any(patterns));
            let own = facts.places.own.iter().any(|own| probes.iter().any(|probe| probe.is_in(own)));
            let named = shorten(&place.lexical.to_string_lossy(), 120);
            let is_link = || facts.runs.iter().any(|run| makes_links(run) && run.origin == used.origin);
            let (decision, reason) = if own || used.alias_of_own {
                (Decision::Deny, format!("`{named}` belongs to toolgate itself"))
            } else if covered(&DENIED) {
                (Decision::Deny, format!("`{named}` controls what agents may do, or whether anyone is asked"))
            } else if covered(&ASKED) {
                (Decision::Ask, format!("`{named}` is code or configuration that agents load automatically"))
            // Few commands make links, and all the patterns are looked at for each path.
            } else if is_link() && place.paths().zip(&probes).any(|(path, probe)| holds_settings(path, probe))
            {
                (
                    Decision::Ask,
                    format!("`{named}` would be a link to something that controls what agents may do"),
                )
            } else {
                continue;
            };
            findings.push(
                Finding::new("gate-tampering", decision, FindingKind::Tampering)
                    .at(&used.param, place.lexical.to_string_lossy().into_owned())
                    .because(reason)
                    .instead("have a person change it, outside the agent")
                    // Such files are pinned inside of a sandbox.
                    .held(used.reach == Reach::Met),
            );
        }
    }
}

/// Whether a path is that of a directory in which a host looks for its settings.
fn holds_settings(path: &Path, probe: &Probe<'_>) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let above =
        DENIED.iter().chain(ASKED.iter()).filter_map(|pattern| pattern.strip_prefix("**/")?.rsplit_once('/'));
    let mut above = above.map(|(above, _)| above);
    above.any(|above| {
        above.rsplit('/').next() == Some(name.as_str()) && probe.forbidden_by(&format!("**/{above}"))
    })
}

/// `ln -s`, `cp -s`
fn makes_links(run: &Run) -> bool {
    matches!(run.program.as_str(), "ln" | "gln" | "cp" | "gcp") && run.has("-s")
}

#[cfg(test)]
mod tests {
    use toolgate_model::TEAM_DIRECTORIES;

    use super::*;

    #[test]
    fn lockouts_and_audit_logs_are_denied_in_every_team_directory() {
        for directory in TEAM_DIRECTORIES {
            for file in ["lockout.json", "security-audit.log"] {
                let pattern = format!("**/{directory}/{file}");
                assert!(DENIED.iter().any(|known| known == pattern), "{pattern}");
            }
        }
    }
}
