//! Where `git push` goes: whether a branch that it changes is the one that others start from.
//!
//! Against whom: an agent that stands on the default branch and pushes without naming it. A name is not enough then: `HEAD`, the
//! settings of the branch and what the remote calls its own `HEAD` say where a push goes. What a command has switched to
//! before counts as switched.

use std::path::Path;

use toolgate_model::{Effect, Elsewhere, Run};

use super::super::Interpreter;
use super::super::apply::slot_text;
use super::super::text::Text;
use super::call::GitCall;
use super::remotes::is_remote;
use super::settings::{InForce, last};
use super::{Repository, has};

/// What default branches are called, wherever the remote does not say.
const DEFAULTS: [&str; 3] = ["main", "master", "trunk"];

/// Options of `git checkout` and `git switch` that make the branch they switch to.
const MAKES: [&str; 6] = ["-b", "-B", "-c", "-C", "--create", "--orphan"];

/// The branch on which a command stands.
enum Branch {
    /// This one.
    Named(String),
    /// None: a push that names no branch fails.
    Detached,
    /// One that only git can tell.
    Unknown,
}

impl Interpreter<'_, '_> {
    /// Notes a push that changes the default branch of its remote.
    pub(super) fn push_to_default(&mut self, call: &GitCall<'_>) {
        if call.sub != "push" {
            return;
        }
        let Some(repository) = self.repository() else { return };
        if self.changes_default(call, &repository) {
            let elsewhere = Elsewhere { default_branch: true, ..Elsewhere::default() };
            let is_push =
                |run: &Run| run.program == "git" && run.sub.first().is_some_and(|sub| sub == "push");
            self.report.set_elsewhere(elsewhere, is_push);
        }
    }

    fn changes_default(&self, call: &GitCall<'_>, repository: &Repository) -> bool {
        let GitCall { reading, operands, arguments, settings, .. } = *call;
        let branch = self.present_branch(repository);
        let name = match &branch {
            Branch::Named(name) => name.as_str(),
            Branch::Detached | Branch::Unknown => "",
        };
        let by_option = reading.options.iter().rev().find(|given| given.name == "--repo");
        let by_option = by_option.and_then(|given| Some(slot_text(arguments, &given.value?)));
        let named = operands.first().cloned().or(by_option);
        if named.as_ref().is_some_and(|named| self.is_on_this_machine(named, settings)) {
            return false;
        }
        let remote = match &named {
            Some(remote) => remote.whole().unwrap_or("origin"),
            None => followed_remote(settings, name),
        };
        if has(reading, &["--all", "--branches"]) {
            return true;
        }
        let own_default = self.remote_head(repository, remote);
        let is_default = |name: &str| {
            let name = name.strip_prefix("refs/heads/").unwrap_or(name);
            DEFAULTS.contains(&name) || own_default.as_deref() == Some(name)
        };
        let here = match &branch {
            Branch::Named(name) => is_default(name),
            Branch::Detached => false,
            Branch::Unknown => true,
        };
        let goes_there = |refspec: &str| {
            let refspec = refspec.strip_prefix('+').unwrap_or(refspec);
            let target = refspec.rsplit_once(':').map_or(refspec, |(_, target)| target);
            match target {
                // `:` pushes every branch that both sides have.
                "" => refspec == ":",
                "HEAD" | "@" => here,
                target => target.contains('*') || is_default(target),
            }
        };
        let refspecs = operands.get(1..).unwrap_or_default();
        if !refspecs.is_empty() {
            let by_word = |refspec: &Text| refspec.whole().map_or(here, goes_there);
            return refspecs.iter().any(by_word);
        }
        if has(reading, &["--tags"]) {
            return false;
        }
        let key = format!("remote.{}.push", remote.to_ascii_lowercase());
        let mut set = settings.iter().filter(|setting| setting.key == key).peekable();
        if set.peek().is_some() {
            return set.any(|setting| goes_there(&setting.value));
        }
        match last(settings, "push.default") {
            Some("nothing") => false,
            Some("matching") => true,
            Some("upstream" | "tracking") => {
                let followed = last(settings, &format!("branch.{}.merge", name.to_ascii_lowercase()));
                followed.map_or(here, is_default)
            }
            // `simple` pushes only to a branch of the same name.
            _ => here,
        }
    }

    /// Whether a remote is a directory here, by its name: then nobody else starts from it.
    fn is_on_this_machine(&self, remote: &Text, settings: &[InForce]) -> bool {
        let Some(name) = remote.whole().filter(|name| !is_remote(settings, name)) else { return false };
        let is_path = name.starts_with(['/', '.', '~']) || name.starts_with("file:");
        let place = || self.one_place(remote);
        is_path || place().is_some_and(|place| self.scene.world.look(Path::new(&place)).is_ok())
    }

    /// What the remote calls its default branch, as git has noted it.
    fn remote_head(&self, repository: &Repository, remote: &str) -> Option<String> {
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
        if !remote.chars().all(is_name) || remote.starts_with('.') {
            return None;
        }
        let head = self.small_file(&repository.common.join(format!("refs/remotes/{remote}/HEAD")))?;
        let branch = head.trim().strip_prefix(&format!("ref: refs/remotes/{remote}/"))?;
        Some(branch.to_owned())
    }

    /// The branch that the push starts from: the last one that the command has switched to, or the one that is checked out.
    fn present_branch(&self, repository: &Repository) -> Branch {
        let checked_out = || {
            let head = self.small_file(&repository.own.join("HEAD"));
            match head.as_deref().map(str::trim) {
                Some(head) => head
                    .strip_prefix("ref: refs/heads/")
                    .map_or(Branch::Detached, |name| Branch::Named(name.to_owned())),
                None => Branch::Detached,
            }
        };
        let runs = self.report.effects().iter().rev().filter_map(|effect| match effect {
            Effect::Run(run) => Some(run),
            Effect::Use(..) | Effect::Connect | Effect::Unknown(_) => None,
        });
        let mut switches = runs.filter(|run| {
            run.program == "git"
                && run.sub.first().is_some_and(|sub| matches!(sub.as_str(), "checkout" | "switch"))
        });
        let Some(switch) = switches.find(|run| !run.words.iter().any(|word| word == "--")) else {
            return checked_out();
        };
        if let Some((_, made)) = switch.options.iter().find(|(name, _)| MAKES.contains(&name.as_str())) {
            return made.clone().map_or(Branch::Unknown, Branch::Named);
        }
        match switch.operands.first() {
            Some(Some(name)) if DEFAULTS.contains(&name.as_str()) => Branch::Named(name.clone()),
            Some(Some(name)) if self.has_branch(repository, name) => Branch::Named(name.clone()),
            // A file, a commit, or a branch that the remote has.
            Some(Some(name)) if name != "-" => checked_out(),
            Some(_) => Branch::Unknown,
            None => checked_out(),
        }
    }

    fn has_branch(&self, repository: &Repository, name: &str) -> bool {
        let is_packed = || {
            let packed = self.small_file(&repository.common.join("packed-refs")).unwrap_or_default();
            packed.lines().any(|line| line.split(' ').nth(1) == Some(&format!("refs/heads/{name}")))
        };
        !name.starts_with('/')
            && !name.split('/').any(|part| part == "..")
            && (self.small_file(&repository.common.join("refs/heads").join(name)).is_some() || is_packed())
    }
}

/// The remote to which a branch is pushed by itself.
fn followed_remote<'s>(settings: &'s [InForce], branch: &str) -> &'s str {
    let branch = branch.to_ascii_lowercase();
    last(settings, &format!("branch.{branch}.pushremote"))
        .or_else(|| last(settings, "remote.pushdefault"))
        .or_else(|| last(settings, &format!("branch.{branch}.remote")))
        .unwrap_or("origin")
}
