//! Denies what an agent's role does not include: files, tools, commands.
//!
//! Why: a reviewer does not need to push, and a documentation agent does not need `src`. A role should be able to do only what
//! it needs.
//!
//! Settings: `[role.<name>]` and `[agent.<name>]`; both must allow a call: `write` and `read` (globs below the root, and
//! nothing else is open), `tools`, `commands` (`git diff`; nothing else may run, except `cd`, `echo` and the like), and `not-write`, `not-read`, `not-tools`, `not-commands`.
//! What you leave out is not limited. An agent has its role by registration (`toolgate agent add`, `--role`), by
//! `[agent.<name>] role`, or by the team's roster.
//!
//! Sees through: the shell, wrappers and scripts, links, `..`; a helper in an agent's session has that agent's limits, and also those
//! of its own kind.
//! Does not see: what else an allowed command does, if that cannot be known; see `unproved-effect`. What
//! a search from the root finds.

use toolgate_model::{
    Access, Decision, Facts, Finding, FindingKind, Policy, Resolved, Run, Use, plain_name, shorten,
};

use crate::glob::Names;
use crate::project::{is_device, takes_tree};
use crate::settings::Settings;
use crate::team::{Role, Roles};

pub(crate) struct RoleScope<'s> {
    roles: &'s Roles,
    agents: &'s Roles,
}

impl<'s> RoleScope<'s> {
    pub(crate) fn of(settings: &'s Settings) -> RoleScope<'s> {
        RoleScope { roles: &settings.role, agents: &settings.agent }
    }
}

impl RoleScope<'_> {
    /// What limits this member: by its name, by its role, and as the helper of the one that it acts for.
    pub(crate) fn limits<'r>(&'r self, facts: &Facts<'_>) -> Vec<(&'r str, &'r Role)> {
        let member = &facts.team.member;
        let named = |name: &str, list: &'r Roles| {
            let found = list.iter().find(|(known, _)| plain_name(known) == name && !name.is_empty());
            found.map(|(known, role)| (known.as_str(), role))
        };
        // What the host calls it counts too: a roster that a repository brings must not talk an agent out of its role.
        let kinds: Vec<String> = facts.agent.words().map(plain_name).collect();
        let mut names: Vec<&str> = member.names().chain(kinds.iter().map(String::as_str)).collect();
        names.sort_unstable();
        names.dedup();
        let by_name = names.iter().filter_map(|name| named(name, self.agents));
        let own = [&member.role, &member.helper_role, &member.name].into_iter().chain(&kinds);
        let mut roles: Vec<&str> = own.map(String::as_str).collect();
        roles.sort_unstable();
        roles.dedup();
        let by_role = roles.iter().filter_map(|role| named(role, self.roles));
        by_name.chain(by_role).collect()
    }
}

impl Policy for RoleScope<'_> {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        if self.roles.is_empty() && self.agents.is_empty() {
            return;
        }
        for (name, role) in self.limits(facts) {
            let object = |what: String, instead: &str| {
                Finding::new("role-scope", Decision::Deny, FindingKind::Role)
                    .because(format!("{what}, which `{name}` may not do"))
                    .instead(instead.to_owned())
            };
            for used in facts.uses.iter().filter(|used| !is_device(used)) {
                let Ok(place) = &used.place else { continue };
                let nothing: &[String] = &[];
                let (list, more, not) = match used.access {
                    Access::Append | Access::Write | Access::Delete => {
                        (&role.write, role.also_write.as_slice(), &role.not_write)
                    }
                    Access::Read | Access::Search => (&role.read, nothing, &role.not_read),
                    Access::Enter | Access::List | Access::Link => continue,
                };
                if is_closed(used, place, facts, list.as_deref(), more, not) {
                    let path = place.lexical.to_string_lossy();
                    let what = format!("{} {} `{}`", facts.tool, used.access.verb(), shorten(&path, 120));
                    let open = list.as_deref().map(|list| shorten(&list.join(", "), 120)).unwrap_or_default();
                    let instead = "hand it to an agent whose role it is";
                    findings.push(object(what, instead).at(&used.param, path).detail(open));
                }
            }
            let fits = |pattern: &String| match pattern.strip_suffix('*') {
                Some(start) => facts.tool.starts_with(start),
                None => facts.tool == pattern,
            };
            let open = role.tools.as_ref().is_none_or(|tools| tools.iter().any(fits));
            if !facts.tool.is_empty() && (!open || role.not_tools.iter().any(fits)) {
                findings.push(object(
                    format!("uses the tool `{}`", facts.tool),
                    "use one of the tools that the role has",
                ));
            }
            for run in &facts.runs {
                let listed = |list: &Vec<String>| list.iter().any(|words| is_run(run, words));
                let open = role.commands.as_ref().is_none_or(listed) || is_of_shell(run);
                if !open || role.not_commands.iter().any(|words| is_run(run, words)) {
                    let words = shorten(&run.words.join(" "), 120);
                    findings
                        .push(object(format!("runs `{words}`"), "run one of the commands that the role has"));
                }
            }
        }
    }
}

/// Whether a file is not open to the role. A list is about the project; what lies elsewhere is judged by the scopes.
fn is_closed(
    used: &Use<'_>,
    place: &Resolved,
    facts: &Facts<'_>,
    list: Option<&[String]>,
    more: &[String],
    not: &[String],
) -> bool {
    let root = facts.places.root.as_ref();
    place.paths().any(|path| {
        let names = Names::of(path, facts.places);
        let inside = root.is_some_and(|root| root.holds(path));
        let open = list.is_none_or(|list| list.iter().chain(more).any(|glob| names.covered_by(glob)));
        let whole_search = used.access == Access::Search && names.are_root();
        let tree = takes_tree(used) && !names.are_root();
        let closed = |glob: &String| names.forbidden_by(glob) || (tree && names.are_above(glob));
        (inside && !open && !whole_search) || not.iter().any(closed)
    })
}

/// Whether it is a word of the shell itself that starts nothing. Files that it is redirected to are judged as files.
fn is_of_shell(run: &Run) -> bool {
    const WORDS: &[&str] = &[
        ":", "[", "[[", "cd", "echo", "exit", "export", "false", "local", "popd", "printf", "pushd", "pwd",
        "read", "return", "set", "shift", "test", "true", "unset",
    ];
    WORDS.contains(&run.program.as_str())
}

/// Whether a program and its first words are these, options left aside: `git diff` is `git -C a diff --stat`, and no
/// `git push diff`.
fn is_run(run: &Run, words: &str) -> bool {
    let mut words = words.split_whitespace();
    let is_program = words.next().is_some_and(|name| name == run.program || name == "*");
    let (options, wanted): (Vec<&str>, Vec<&str>) = words.clone().partition(|word| word.starts_with('-'));
    let operands = run.operands.iter().map(|operand| operand.as_deref().unwrap_or_default());
    let given: Vec<&str> = run.sub.iter().map(String::as_str).chain(operands).collect();
    let read = options.iter().all(|option| run.has(option)) && given.starts_with(&wanted);
    // Or word for word, for what is an option's value: `python -m pytest`.
    let spelled = run.words.iter().skip(1).map(String::as_str).take(words.clone().count());
    is_program && (read || spelled.eq(words))
}
