//! Other repositories that a command names: by a path, by an address, or by a program that git starts to talk to them.

use std::path::Path;

use toolgate_model::{Access, Doubt, Gap, Reach, Resolver, below, clean};

use super::super::Interpreter;
use super::super::apply::slot_text;
use super::super::text::Text;
use super::call::GitCall;
use super::settings::InForce;
use crate::spec::Reading;

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
        ("fetch", _) if reading.options.iter().any(|given| given.name == "-m") => operands.to_vec(),
        ("clone", _) => operands.iter().take(1).cloned().chain(values("--bundle-uri")).collect(),
        ("push", _) => operands.iter().take(1).cloned().chain(values("--repo")).collect(),
        ("fetch" | "pull" | "ls-remote" | "fetch-pack", _)
        | ("submodule", "add" | "clone")
        | ("lfs", "clone" | "fetch" | "pull" | "push" | "ls-remote") => {
            operands.iter().take(1).cloned().collect()
        }
        ("archive", _) => values("--remote"),
        ("remote", "add" | "set-url") => operands.iter().skip(1).cloned().collect(),
        ("remote", "show" | "update" | "prune") => operands.to_vec(),
        ("remote", "set-head") => operands.iter().take(1).cloned().collect(),
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
        let named = repositories(call);
        if named.is_empty() && goes_to_default(sub, reading) {
            self.default_remote(call);
        }
        for place in named {
            match place.whole().filter(|name| is_remote(settings, name)) {
                Some(name) => self.remote_by_name(sub, name, settings),
                None => self.remote_address(sub, &place),
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

    /// Where a command goes that names no repository: to the remote that the branch follows. Contained programs can say which that is, and an
    /// agent can: it may be the repository itself, or a path.
    fn default_remote(&mut self, call: &GitCall<'_>) {
        let GitCall { sub, reading, settings, .. } = *call;
        if reading.options.iter().any(|given| given.name == "--all") || sub == "remote" {
            return self.remotes_of_worktree(sub, settings, |_| true);
        }
        let head = self.repository().and_then(|found| self.small_file(&found.own.join("HEAD")));
        let branch = head.as_deref().and_then(|head| head.trim().strip_prefix("ref: refs/heads/"));
        let branch = branch.map(str::to_ascii_lowercase).unwrap_or_default();
        let key = |part: &str| format!("branch.{branch}.{part}");
        let mut keys = vec![key("remote")];
        if sub == "push" {
            keys.extend([key("pushremote"), "remote.pushdefault".to_owned()]);
        }
        let values = settings.iter().filter(|setting| keys.contains(&setting.key));
        let mut values: Vec<&str> = values.map(|setting| setting.value.as_str()).collect();
        if values.is_empty() {
            values.push("origin");
        }
        for value in values {
            if value == "." {
                // A branch that follows another one here: what is pulled is a commit of this repository.
                if sub == "pull" {
                    self.unknown(Gap::Doubt(Doubt::Members), "git pull: a branch of this repository");
                }
            } else if is_remote(settings, value) {
                self.remote_by_name(sub, value, settings);
            } else {
                self.remote_address(sub, &Text::marked(value.to_owned()));
            }
        }
    }

    /// A remote that was set up, or a group of them. A person's is trusted, wherever it is, but not one that contained programs can write.
    fn remote_by_name(&mut self, sub: &str, name: &str, settings: &[InForce]) {
        let name = name.to_ascii_lowercase();
        let is_group = settings.iter().any(|setting| setting.key == format!("remotes.{name}"));
        let keys = [format!("remote.{name}.url"), format!("remote.{name}.pushurl")];
        self.remotes_of_worktree(sub, settings, |key| is_group || keys.iter().any(|own| own == key));
    }

    fn remotes_of_worktree(&mut self, sub: &str, settings: &[InForce], is_meant: impl Fn(&str) -> bool) {
        let is_address = |key: &str| {
            key.starts_with("remote.") && matches!(key.rsplit('.').next(), Some("url" | "pushurl"))
        };
        let meant = settings.iter().filter(|setting| is_address(&setting.key) && is_meant(&setting.key));
        if meant.into_iter().any(|setting| self.lies_in_worktree(&setting.value)) {
            self.on_this_machine(sub);
        }
    }

    /// Whether an address is a path in the session's worktree. A relative one is seen from its top.
    fn lies_in_worktree(&self, address: &str) -> bool {
        let root = self.scene.root.or(self.scene.cwd).unwrap_or("/");
        let Some(path) = local_path(address) else { return false };
        let place = match self.git_top() {
            Some(top) => clean(&Path::new(&top).join(self.tilde(path).raw())),
            None => return !path.starts_with('/'),
        };
        let place = Resolver::new(self.scene.world, None, None).walk(place).map(|found| found.physical);
        place.is_ok_and(|place| below(root.as_bytes(), place.as_os_str().as_encoded_bytes()).is_some())
    }

    /// git runs the hooks of the other side and heeds its settings, where that is a directory here.
    pub(in super::super) fn on_this_machine(&mut self, sub: &str) {
        self.unknown(Gap::Doubt(Doubt::Repository), &format!("git {sub}: a repository on this machine"));
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
        let is_bare = || local_path(raw).is_some_and(|path| path.contains('/'));
        if is_path || (!operand.has_any() && is_bare()) {
            let access = if sub == "push" { Access::Write } else { Access::Read };
            let path = self.tilde_marked(path.raw());
            self.touch(access, Reach::Below, &path);
            self.on_this_machine(sub);
        } else if raw.contains(':') {
            self.connect();
        } else if operand.has_any() {
            self.unknown(Gap::Doubt(Doubt::Repository), &format!("git {sub} {}", operand.shown()));
        }
    }
}

/// Sub-commands that reach a remote without being told which.
fn goes_to_default(sub: &str, reading: &Reading) -> bool {
    let verb = reading.sub.get(1).copied().unwrap_or_default();
    matches!(
        (sub, verb),
        ("fetch" | "pull" | "push" | "ls-remote", _)
            | ("remote", "update")
            | ("lfs", "fetch" | "pull" | "push")
    )
}

/// The path of an address, where git would take it for one: a colon behind a slash makes no host.
fn local_path(address: &str) -> Option<&str> {
    if let Some(path) = address.strip_prefix("file://") {
        return Some(path);
    }
    let host = address.split_once(':').map(|(host, _)| host);
    host.is_none_or(|host| host.contains('/')).then_some(address)
}

/// Whether a person has set up a remote of this name.
pub(super) fn is_remote(settings: &[InForce], name: &str) -> bool {
    let key = |part: &str| format!("remote.{}.{part}", name.to_ascii_lowercase());
    let keys = [key("url"), key("pushurl"), key("fetch"), format!("remotes.{}", name.to_ascii_lowercase())];
    settings.iter().any(|setting| !setting.is_loose && keys.contains(&setting.key))
}
