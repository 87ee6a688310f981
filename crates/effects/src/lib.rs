//! What a call would do, without running it.
//!
//! Promise: what is not understood is an effect too ([`Effect::Unknown`]), never an empty list. Time, depth and the number of
//! effects are bounded. All that is asked of the disk goes through a [`World`](toolgate_model::World).
//!
//! Against whom: an agent that reaches a file or a program by a way that the rules do not name: through `sudo`, a script, a
//! variable, a link, a here-document, or a few lines of Python.
//!
//! ```
//! use toolgate_effects::{Scene, analyse};
//! use toolgate_model::{Effect, EmptyWorld};
//!
//! // The real disk is `toolgate_gate::disk::Disk`.
//! let scene = Scene { world: &EmptyWorld, cwd: Some("/work"), root: None, home: None, tmp: None, unset: &|_| true };
//! let command = "dir=old; sudo rm -r $dir/logs";
//! let used: Vec<String> = analyse(command, &scene)
//!     .effects
//!     .iter()
//!     .filter_map(|effect| match effect {
//!         Effect::Use(access, target) => Some(format!("{} {}", access.verb(), target.path.text())),
//!         _ => None,
//!     })
//!     .collect();
//! assert_eq!(used, ["deletes /work/old/logs"]);
//! ```
//!
//! Tools that their host's page lists say it by their parameters. A tool that nobody listed is read for
//! anything that looks like a path, and each of these counts as written: a tool that we do not know must
//! not be a way around the rules for those that we know.
//!
//! A shell command is interpreted ([`analyse`]): what bash would do with it, over values of which not all is known.
//!
//! Reading order: [`effects`] → [`analyse`] → [`Scene`] → [`Analysis`].

mod archive;
mod budget;
mod code;
mod language;
mod powershell;
mod recipes;
mod search;
mod secrets_below;
mod shell;
mod spec;
mod unlisted;
mod variables;

pub use shell::{Analysis, MAX_WORK, Scene, analyse, confined, differs, in_directory, leaves_directories};
pub use spec::{Heeds, heeds};
pub use variables::{is_heeded_elsewhere, is_heeded_everywhere};

use std::collections::BTreeMap;

use toolgate_model::{
    Access, Action, Call, Effect, FileUse, Gap, Origin, PathArg, Reach, Run, Target, ToolAccess, ToolRule,
    Unknown,
};

/// Says what a call would do. `rules` are the user's own words on tools, by name; a `*` at a name's end
/// stands for any rest. A shell command is interpreted in the scene.
pub fn effects<'a>(
    call: &Call<'a>,
    rules: &BTreeMap<String, ToolRule>,
    scene: &Scene<'_>,
) -> Vec<Effect<'a>> {
    let ruled = rule_for(rules, &call.tool);
    let mut effects = budget::within(|| acted(call, ruled, scene));
    if let Some(rule) = ruled {
        effects.extend(rule.paths.iter().filter_map(|param| ruled_effect(call, rule, param)));
    }
    effects
}

/// What the call's action would do.
fn acted<'a>(call: &Call<'a>, ruled: Option<&ToolRule>, scene: &Scene<'_>) -> Vec<Effect<'a>> {
    match &call.action {
        Action::Nothing | Action::Internal | Action::Question | Action::Configure(_) => Vec::new(),
        Action::Fetch => vec![Effect::Connect],
        Action::Run(words) => vec![Effect::Run(Run::of(words.clone()))],
        Action::Shell { command: Some(command), directory } => {
            in_directory(directory.as_deref(), command, scene).effects
        }
        Action::Shell { command: None, .. } => {
            let (text, origin) = (String::new(), Origin { span: (0, 0), via: None });
            vec![Effect::Unknown(Unknown::Shell { gap: Gap::Missing, text, origin })]
        }
        Action::Files(uses) => uses.iter().map(file_effect).chain(search::reads(call, uses, scene)).collect(),
        Action::Unlisted { .. } if ruled.is_some() => Vec::new(),
        Action::Unlisted { mcp } => unlisted::effects(&call.tool, *mcp, &call.input, scene),
    }
}

/// The rule with the longest name that fits.
fn rule_for<'r>(rules: &'r BTreeMap<String, ToolRule>, tool: &str) -> Option<&'r ToolRule> {
    if rules.is_empty() || tool.is_empty() {
        return None;
    }
    let fits = |name: &str| match name.strip_suffix('*') {
        Some(start) => tool.starts_with(start),
        None => tool == name,
    };
    rules.iter().filter(|(name, _)| fits(name)).max_by_key(|(name, _)| name.len()).map(|(_, rule)| rule)
}

fn file_effect<'a>(file: &FileUse<'a>) -> Effect<'a> {
    let reach = if file.access == Access::Search { Reach::Below } else { Reach::Exact };
    Effect::Use(file.access, Target { reach, ..Target::exact(file.param.clone(), file.path.clone()) })
}

fn ruled_effect<'a>(call: &Call<'a>, rule: &ToolRule, param: &str) -> Option<Effect<'a>> {
    let path = PathArg::of(&call.input, param);
    let access = match rule.access {
        ToolAccess::Write => Access::Write,
        ToolAccess::Read => Access::Read,
        ToolAccess::None => return None,
    };
    Some(Effect::Use(access, Target::exact(param.to_owned(), path)))
}
