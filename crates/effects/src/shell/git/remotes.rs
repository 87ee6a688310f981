//! Other repositories that a command names: by a path, by an address, or by a program that git starts to talk to them.

use std::path::Path;

use toolgate_model::{Access, Doubt, Gap, Reach};

use super::super::Interpreter;
use super::super::apply::slot_text;
use super::super::text::Text;
use super::call::GitCall;
use super::settings::InForce;

/// Addresses that git itself speaks, or talks by its own helpers.
const SCHEMES: [&str; 9] = ["http", "https", "ssh", "git", "git+ssh", "ssh+git", "git+https", "ftp", "ftps"];

/// Merge strategies that are git's own; another one is a program.
const STRATEGIES: [&str; 6] = ["ort", "recursive", "resolve", "octopus", "ours", "subtree"];

/// The words of a command that may each be another repository.
fn repositories(call: &GitCall<'_>) -> Vec<Text> {
    let GitCall { sub, reading, operands, arguments, .. } = *call;
    let values = |name: &str| -> Vec<Text> {
        let given = reading.options.iter().filter(|given| given.name == name);
        given.filter_map(|given| Some(slot_text(arguments, &given.value?))).collect()
    };
    let verb = reading.sub.get(1).copied().unwrap_or_default();
    match (sub, verb) {
        ("fetch", _) if reading.options.iter().any(|given| given.name == "--multiple") => operands.to_vec(),
        ("clone", _) => operands.iter().take(1).cloned().chain(values("--bundle-uri")).collect(),
        ("push", _) => operands.iter().take(1).cloned().chain(values("--repo")).collect(),
        ("fetch" | "pull" | "ls-remote" | "fetch-pack", _) | ("submodule" | "lfs", "add" | "clone") => {
            operands.iter().take(1).cloned().collect()
        }
        ("archive", _) => values("--remote"),
        ("remote", "add" | "set-url") => operands.iter().skip(1).cloned().collect(),
        ("remote", "show" | "update" | "prune") => operands.to_vec(),
        ("submodule", "set-url") | ("request-pull", _) => operands.iter().skip(1).take(1).cloned().collect(),
        ("subtree", "add" | "pull" | "push") | ("svn", "clone" | "init") => {
            operands.iter().take(1).cloned().collect()
        }
        _ => Vec::new(),
    }
}

impl Interpreter<'_, '_> {
    /// Tells the repositories that a command names, and the merge strategies, which may be programs.
    pub(super) fn remotes(&mut self, call: &GitCall<'_>) {
        let GitCall { sub, reading, arguments, settings, .. } = *call;
        for place in repositories(call) {
            if !place.whole().is_some_and(|name| is_remote(settings, name)) {
                self.remote_address(sub, &place);
            }
        }
        if matches!(sub, "merge" | "pull" | "rebase" | "cherry-pick" | "revert") {
            let given = reading.options.iter().filter(|given| matches!(given.name, "-s" | "--strategy"));
            for strategy in given.filter_map(|given| Some(slot_text(arguments, &given.value?))) {
                if !strategy.whole().is_some_and(|name| STRATEGIES.contains(&name)) {
                    self.unknown(Gap::Program, &format!("git-merge-{}", strategy.shown()));
                }
            }
        }
    }

    /// One of them. A path is read, or written by who pushes there.
    pub(super) fn remote_address(&mut self, sub: &str, operand: &Text) {
        let raw = operand.raw();
        let is_word = |word: &str| {
            !word.is_empty()
                && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        };
        if let Some((helper, address)) = raw.split_once("::").filter(|(helper, _)| is_word(helper)) {
            if helper == "ext" {
                // A blank of an argument is written so.
                let command = Text::marked(address.replace("% ", "\\ "));
                self.forked(|shell| shell.text(&command, "git ext::"));
                self.unknown(Gap::Code, "git ext::");
            } else {
                self.unknown(Gap::Program, &format!("git-remote-{helper}"));
            }
            return;
        }
        let path = match raw.split_once("://").filter(|(scheme, _)| is_word(scheme)) {
            Some(("file", path)) => path,
            Some((scheme, _)) if SCHEMES.contains(&scheme) => return self.connect(),
            Some((scheme, _)) => return self.unknown(Gap::Program, &format!("git-remote-{scheme}")),
            None => raw,
        };
        let path = Text::marked(path.to_owned());
        let is_there = || {
            let place = self.one_place(&path);
            place.is_some_and(|place| self.scene.world.look(Path::new(&place)).is_ok())
        };
        let is_path = raw.starts_with(['/', '~', '.']) || raw.starts_with("file:") || is_there();
        if is_path {
            let access = if sub == "push" { Access::Write } else { Access::Read };
            let path = self.tilde_marked(path.raw());
            self.touch(access, Reach::Below, &path);
        } else if raw.contains(':') {
            self.connect();
        } else if operand.has_any() {
            self.unknown(Gap::Doubt(Doubt::Repository), &format!("git {sub} {}", operand.shown()));
        } else if raw.contains('/') {
            self.touch(Access::Read, Reach::Below, &path);
        }
    }
}

/// Whether a person has set up a remote of this name.
pub(super) fn is_remote(settings: &[InForce], name: &str) -> bool {
    let key = |part: &str| format!("remote.{}.{part}", name.to_ascii_lowercase());
    let keys = [key("url"), key("pushurl"), key("fetch"), format!("remotes.{}", name.to_ascii_lowercase())];
    settings.iter().any(|setting| !setting.is_loose && keys.contains(&setting.key))
}
