//! git: which repository, what its settings run, which hooks and aliases come along.

mod call;
mod directories;
mod hooks;
pub(super) mod index;
mod push;
mod remotes;
mod scratch;
mod settings;
mod shared;

use std::path::{Path, PathBuf};

use toolgate_model::{Access, Doubt, Effect, Gap, NodeKind, Origin, Reach, Resolver};

use super::Interpreter;
use super::apply::slot_text;
use super::text::{Flow, INNER, NAME, NUMBER, Text, UNBROKEN, bounded, is_mark};
use super::walk::Outcome;
use crate::budget;
use crate::spec::Reading;

pub(super) use call::GitCall;
pub use directories::leaves_directories;
pub(super) use index::Index;
pub(super) use settings::is_harmless_program;
use settings::{InForce, last};

/// So much of a git file is read.
const MAX_CONFIG: usize = 64 * 1024;

/// So many directories are kept with the repository that they lie in.
const MAX_REPOSITORIES: usize = 8;

/// Where a repository keeps its things.
#[derive(Clone)]
pub(super) struct Repository {
    /// The top of the work tree.
    top: PathBuf,
    /// What all its worktrees share.
    pub(super) common: PathBuf,
    /// What is this worktree's own: its index.
    pub(super) own: PathBuf,
}

impl Repository {
    /// Where a file of the git directory lies: what is not among the few things of each worktree is shared.
    fn keeps(&self, name: &str) -> PathBuf {
        let shared = matches!(
            name.split('/').next(),
            Some("config" | "hooks" | "info" | "objects" | "packed-refs" | "refs" | "shallow" | "worktrees")
        );
        let directory = if shared { &self.common } else { &self.own };
        if name.is_empty() { directory.clone() } else { directory.join(name) }
    }
}

/// A directory that may be a bare repository, or that is not known.
struct Bare;

pub(super) fn run(shell: &mut Interpreter<'_, '_>, reading: &Reading, words: &[Text]) -> Outcome {
    let arguments = words.get(1..).unwrap_or_default();
    shell.written_settings();
    shell.settings_of_others(reading, arguments);
    shell.given_settings(reading, arguments);
    if reading.options.iter().any(|given| given.name == "--exec-path" && given.value.is_some()) {
        shell.unknown(Gap::Code, "git --exec-path");
    }
    shell.programs_by_path();
    let settings = shell.settings_in_force();
    let Some(sub) = reading.sub.first().copied() else {
        return shell.alias_or_unknown(reading, words, &settings);
    };
    let operands: Vec<Text> = reading.operands.iter().filter_map(|at| arguments.get(*at)).cloned().collect();
    let outcome = if sub == "config" {
        shell.git_config(reading, &operands, arguments)
    } else {
        shell.apply("git", reading, words)
    };
    let call = GitCall { sub, reading, operands: &operands, arguments, settings: &settings };
    shell.push_to_default(&call);
    shell.git_programs(&call);
    shell.read_without_index(sub, reading, &operands);
    shell.git_reads(reading, &operands, arguments);
    shell.git_brings(sub, reading, &operands, arguments);
    shell.git_exchanges(sub, &operands);
    shell.index_moves(sub);
    let verb = reading.sub.get(1).copied().or_else(|| operands.first().and_then(Text::whole));
    if sub == "remote"
        && matches!(verb, Some("add" | "remove" | "rm" | "rename" | "set-url" | "set-branches"))
    {
        shell.shared_config();
    }
    shell.made_repository(sub, reading, &operands);
    shell.made_anew(sub, reading, &operands);
    shell.remotes(&call);
    shell.shared_writes(&call);
    shell.index_names(sub, reading, &operands, arguments);
    let is_unchecked = has(reading, &["--no-verify"]) || (sub != "push" && has(reading, &["-n"]));
    shell.hooks(sub, &settings, !is_unchecked);
    let line = |path: PathBuf| Flow::line(&Text::known(&path.to_string_lossy()));
    match printed(sub, reading, &operands, arguments) {
        Printed::As(flow) => {
            shell.draws_from_git(sub, &operands, arguments, &flow);
            Outcome::of(flow)
        }
        Printed::Top => Outcome::of(shell.repository().map_or(Flow::Any, |found| line(found.top))),
        Printed::Common => Outcome::of(shell.repository().map_or(Flow::Any, |found| line(found.common))),
        Printed::Tracked => Outcome::of(Flow::Lines(shell.tracked_paths(&operands))),
        Printed::In(name) => {
            Outcome::of(shell.repository().map_or(Flow::Any, |found| line(found.keeps(&name))))
        }
        Printed::Up => Outcome::of(shell.way_up().map_or(Flow::Any, |way| Flow::line(&Text::known(&way)))),
        Printed::Other => outcome,
    }
}

/// What git calls a clone by itself.
fn clone_name(from: &Text) -> Text {
    let from = from.raw().trim_end_matches('/').trim_end_matches(".git");
    Text::marked(from.rsplit(['/', ':']).next().unwrap_or_default().to_owned())
}

/// Whether git may open an editor, or ask for each piece: both take commands from its terminal, or from what was meant for git.
pub(super) fn opens_editor(reading: &Reading) -> bool {
    let Some(sub) = reading.sub.first().copied() else { return false };
    let has = |names: &[&str]| has(reading, names);
    match sub {
        "commit" => {
            !has(&["-m", "-F", "-C", "--no-edit", "--fixup", "--dry-run"])
                || has(&["-e", "--edit", "-p", "--interactive"])
        }
        "rebase" => has(&["-i", "--interactive", "--edit-todo", "--continue"]),
        "add" | "stage" | "checkout" | "reset" | "restore" | "stash" | "clean" => {
            has(&["-p", "--patch", "-i", "--interactive", "-e", "--edit"])
        }
        "bisect" | "difftool" | "mergetool" | "gui" | "citool" | "instaweb" | "send-email" => true,
        "tag" => has(&["-a", "-s", "-e"]) && !has(&["-m", "-F"]),
        "notes" => {
            matches!(reading.sub.get(1), Some(&("add" | "append" | "edit"))) && !has(&["-m", "-F", "-C"])
        }
        "branch" => has(&["--edit-description"]),
        "merge" | "revert" | "cherry-pick" | "am" => has(&["-e", "--edit", "-i"]),
        "config" => has(&["-e", "--edit"]) || reading.sub.get(1) == Some(&"edit"),
        "replace" => has(&["--edit", "-e"]),
        _ => false,
    }
}

fn has(reading: &Reading, names: &[&str]) -> bool {
    reading.options.iter().any(|given| names.contains(&given.name))
}

enum Printed {
    As(Flow),
    Top,
    Common,
    /// Names of tracked files.
    Tracked,
    /// The path of a file in the git directory.
    In(String),
    /// The way from here to the top of the work tree.
    Up,
    Other,
}

fn printed(sub: &str, reading: &Reading, operands: &[Text], arguments: &[Text]) -> Printed {
    let has = |names: &[&str]| {
        reading.options.iter().any(|given| names.contains(&given.name))
            || arguments.iter().any(|argument| names.contains(&argument.raw()))
    };
    let name = || Printed::As(Flow::Lines(vec![Text::mark(NAME)]));
    let paths = || Printed::As(Flow::Lines(vec![Text::mark(INNER)]));
    let refs = || Printed::As(Flow::Lines(vec![Text::marked(format!("{INNER}{UNBROKEN}"))]));
    // Options that print a text of the caller's choice.
    let worded =
        arguments.iter().filter_map(|argument| argument.raw().split_once('=')).any(|(option, text)| {
            matches!(option, "--format" | "--pretty" | "--line-prefix" | "--dirty" | "--broken")
                && !matches!(text, "" | "format:" | "tformat:" | "%H" | "%h" | "format:%H" | "format:%h")
        });
    match sub {
        "rev-list" | "log" if is_number(sub, arguments) => Printed::As(Flow::Lines(vec![Text::mark(NUMBER)])),
        _ if worded || has(&["--line-prefix", "--no-index"]) => Printed::Other,
        "rev-parse" => parsed(operands, arguments),
        "rev-list" if has(&["--objects", "--header", "--oneline", "--pretty", "--format"]) => Printed::Other,
        "merge-base" | "rev-list" | "hash-object" | "write-tree" | "commit-tree" => name(),
        "describe" => refs(),
        // Paths are printed as seen from the directory, so those of others climb.
        "ls-files" | "grep" | "diff" if operands.iter().any(leads_out) => Printed::Other,
        "ls-files" if has(&["--format", "--full-name"]) => Printed::Other,
        "ls-files" if has(&["-o", "--others", "-i", "-d", "--deleted"]) => paths(),
        "ls-files" => Printed::Tracked,
        // The message comes with the names.
        "log" | "show" if !has_no_message(arguments) => Printed::Other,
        "diff" | "show" | "log" | "ls-tree" | "diff-tree" | "diff-index" | "diff-files"
            if has(&["--name-only"]) =>
        {
            paths()
        }
        "grep" if has(&["-l", "--files-with-matches", "--name-only"]) => paths(),
        "branch" if has(&["--show-current"]) => refs(),
        "symbolic-ref" => refs(),
        _ => Printed::Other,
    }
}

/// Whether nothing is printed but numbers: `git rev-list --count`, `git log -1 --format=%ct`.
fn is_number(sub: &str, arguments: &[Text]) -> bool {
    const ASKS: [&str; 5] =
        ["--count", "--format=%ct", "--format=%at", "--pretty=format:%ct", "--pretty=format:%at"];
    const PICKS: [&str; 4] = ["--all", "--no-merges", "--merges", "--first-parent"];
    let words = || arguments.iter().map(Text::raw).skip_while(|word| *word != sub).skip(1);
    let is_limit = |word: &str| {
        word.strip_prefix('-')
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    let mut asks = words().filter(|word| ASKS.contains(word));
    asks.next().is_some_and(|ask| (ask == "--count") == (sub == "rev-list"))
        && asks.next().is_none()
        && words().take_while(|word| *word != "--").all(|word| {
            // What is not known may be an option, too.
            !word.starts_with(|c| c == '-' || is_mark(c))
                || ASKS.contains(&word)
                || PICKS.contains(&word)
                || is_limit(word)
        })
}

/// `git rev-parse`: it prints hashes, and whatever it cannot make a hash of as it is given.
fn parsed(operands: &[Text], arguments: &[Text]) -> Printed {
    let words = arguments.iter().map(Text::raw).skip_while(|word| *word != "rev-parse");
    let options = words.filter(|word| word.starts_with('-'));
    let asks: Vec<&str> = options
        .filter(|option| {
            !matches!(*option, "--verify" | "-q" | "--quiet" | "--short" | "--path-format=absolute")
                && !option.starts_with("--short=")
        })
        .collect();
    let name = match asks.as_slice() {
        ["--show-toplevel"] if operands.is_empty() => return Printed::Top,
        ["--git-common-dir"] if operands.is_empty() => return Printed::Common,
        ["--git-dir" | "--absolute-git-dir"] if operands.is_empty() => return Printed::In(String::new()),
        ["--show-cdup"] if operands.is_empty() => return Printed::Up,
        ["--git-path"] => match arguments {
            [.., option, path] if option.raw() == "--git-path" && path.is_known() => {
                return Printed::In(path.raw().to_owned());
            }
            _ => return Printed::As(Flow::Any),
        },
        ["--show-prefix"] if operands.is_empty() => Text::mark(INNER),
        ["--abbrev-ref" | "--symbolic-full-name"] => Text::marked(format!("{INNER}{UNBROKEN}")),
        []
        | [
            "--is-inside-work-tree"
            | "--is-inside-git-dir"
            | "--is-bare-repository"
            | "--is-shallow-repository",
        ] => Text::mark(NAME),
        _ => return Printed::As(Flow::Any),
    };
    let as_given = operands.iter().cloned().map(|text| if text.is_known() { text } else { Text::any() });
    Printed::As(Flow::Lines(bounded(std::iter::once(name).chain(as_given).collect())))
}

/// Whether a path or a pathspec may name something outside of the directory: `../x`, `:/`, `/x`.
fn leads_out(operand: &Text) -> bool {
    !operand.is_known()
        || operand.raw().starts_with(['/', ':', '~'])
        || operand.raw().split('/').any(|name| name == "..")
}

/// Whether an operand is a path that may lie outside: `/x`, `../x`. A range of revisions is none.
fn climbs(operand: &Text) -> bool {
    operand.is_known()
        && (operand.raw().starts_with(['/', '~']) || operand.raw().split('/').any(|name| name == ".."))
}

/// `git log --format= --name-only`
fn has_no_message(arguments: &[Text]) -> bool {
    arguments.iter().any(|argument| {
        matches!(argument.raw().split_once('='), Some(("--format" | "--pretty", text)) if text != "oneline")
    })
}

impl Interpreter<'_, '_> {
    /// git starts others by their bare names: `ssh`, `gpg`, `git-remote-x`.
    fn programs_by_path(&mut self) {
        let root = self.scene.root.or(self.scene.cwd).unwrap_or("/");
        let is_loose = |directory: &std::rc::Rc<str>| {
            root == "/" || toolgate_model::below(root.as_bytes(), directory.as_bytes()).is_some()
        };
        if let Some(directory) = self.state.path.iter().find(|directory| is_loose(directory)) {
            let named = format!("PATH={directory}");
            self.unknown(Gap::Doubt(Doubt::Environment), &named);
        }
    }

    /// Settings that the command line gives: to git itself, or to the clone that it makes.
    fn given_settings(&mut self, reading: &Reading, arguments: &[Text]) {
        // Behind the sub-command, `-c` is an option of that.
        let is_value =
            |at: usize| reading.options.iter().any(|given| given.value.is_some_and(|slot| slot.word == at));
        let sub = arguments
            .iter()
            .enumerate()
            .position(|(at, word)| !word.raw().starts_with('-') && !is_value(at))
            .unwrap_or(arguments.len());
        for given in &reading.options {
            let Some(slot) = given.value else { continue };
            let is_own = slot.word < sub || reading.sub.first() == Some(&"clone");
            match given.name {
                "-c" if is_own => self.setting(&slot_text(arguments, &slot)),
                "--config-env" => self.setting_by_variable(&slot_text(arguments, &slot)),
                _ => {}
            }
        }
    }

    /// Outside of a repository, git reads files like any other program. `git diff a b` takes two files where one of them is outside.
    fn read_without_index(&mut self, sub: &str, reading: &Reading, operands: &[Text]) {
        let no_index = has(reading, &["--no-index"]);
        let is_diff = matches!(sub, "diff" | "difftool");
        let is_pair = is_diff && operands.len() == 2;
        for operand in operands {
            if no_index || (is_diff && climbs(operand)) {
                self.touch(Access::Read, Reach::Exact, operand);
            } else if is_pair && operand.has_any() {
                self.unknown(Gap::Doubt(Doubt::Repository), &format!("git {sub} {}", operand.shown()));
            }
        }
        if is_pair && operands.iter().any(climbs) {
            for operand in operands.iter().filter(|operand| operand.is_known()) {
                self.touch(Access::Read, Reach::Exact, operand);
            }
        }
        if sub == "grep" && no_index && !has(reading, &["-l", "-L", "-c", "-q", "--name-only"]) {
            // Without an index there is nothing that leaves a file of settings out.
            let pathspecs = operands.get(1..).unwrap_or_default();
            if pathspecs.is_empty() {
                self.secrets_printed(&[Text::known(".")]);
            } else if !pathspecs.iter().any(|path| path.raw().starts_with(':')) {
                self.secrets_printed(pathspecs);
            }
        }
    }

    /// `git init`, `git clone`: directories that are there from now on.
    fn made_repository(&mut self, sub: &str, reading: &Reading, operands: &[Text]) {
        // Without a directory the clone lies beside us, by its own name, or by one that only git can tell.
        if let ("clone", [from]) = (sub, operands) {
            let name = clone_name(from);
            let is_name = name.is_known() && !matches!(name.raw(), "" | "." | "..");
            let place = if is_name { name } else { Text::known(".") };
            self.touch(Access::Write, Reach::Below, &place);
        }
        if has(reading, &["--bare", "--separate-git-dir", "--template"]) {
            return;
        }
        let place = match (sub, operands) {
            ("init", []) => self.one_place(&Text::known(".")),
            ("init", [directory, ..]) | ("clone", [_, directory, ..]) => self.one_place(directory),
            ("clone", [from]) => self.one_place(&clone_name(from)),
            _ => None,
        };
        if let Some(place) = place {
            self.state.disk.make_directory(&place);
            self.state.disk.make_directory(&format!("{place}/.git"));
        }
    }

    /// Words of git without the name: an alias.
    fn git_words(&mut self, text: &str) {
        let text = Text::marked(format!("git {text}"));
        self.forked(|shell| shell.text(&text, "git alias"));
    }

    fn alias_or_unknown(&mut self, reading: &Reading, words: &[Text], settings: &[InForce]) -> Outcome {
        let arguments = words.get(1..).unwrap_or_default();
        let first = reading
            .unlisted
            .first()
            .or(reading.operands.first())
            .and_then(|at| arguments.get(*at).map(|word| (*at, word.clone())));
        let Some((at, name)) = first else { return self.apply("git", reading, words) };
        let Some(name) = name.whole() else {
            self.unknown(Gap::Name, "git");
            return Outcome::of(Flow::Any);
        };
        if let Some(body) = last(settings, &format!("alias.{}", name.to_ascii_lowercase())) {
            let rest = arguments.get(at + 1..).unwrap_or_default();
            let mut text = match body.strip_prefix('!') {
                Some(command) => Text::known(command),
                None => Text::known(&format!("git {body}")),
            };
            for word in rest {
                text.push_raw(" ");
                text.push_raw(&super::run::quoted(word));
            }
            let step = format!("git {name}");
            return Outcome::of(self.forked(|shell| shell.text(&text, &step)));
        }
        // `git-name` in PATH.
        self.unknown(Gap::Program, &format!("git {name}"));
        self.guess_paths(words);
        Outcome::of(Flow::Any)
    }

    pub(super) fn small_file(&self, path: &Path) -> Option<String> {
        let place = path.to_str()?;
        if let Some(flow) = self.state.written(place) {
            return flow.whole().map(str::to_owned);
        }
        let bytes = self.scene.world.read(path, MAX_CONFIG).ok()?;
        String::from_utf8(bytes).ok().filter(|text| text.len() < MAX_CONFIG)
    }

    /// The top of the work tree.
    pub(super) fn git_top(&self) -> Option<String> {
        Some(self.repository()?.top.to_str()?.to_owned())
    }

    /// From the working directory up to the top of the work tree: `../../`, and nothing at the top.
    fn way_up(&self) -> Option<String> {
        let [cwd] = self.state.cwd.as_slice() else { return None };
        let below = Path::new(&**cwd).strip_prefix(self.repository()?.top).ok()?;
        below.to_str()?.chars().all(|c| !is_mark(c)).then(|| "../".repeat(below.components().count()))
    }

    /// The directory of the index.
    pub(super) fn git_directory(&self) -> Option<PathBuf> {
        Some(self.repository()?.own)
    }

    /// git in another repository than the session's own: its settings start programs (`core.fsmonitor`, a pager, filters),
    /// and they are those of whoever made it. A bare one can be made of plain files, so that no name tells of it.
    fn settings_of_others(&mut self, reading: &Reading, arguments: &[Text]) {
        let sub = reading.sub.first().copied().unwrap_or_default();
        for given in &reading.options {
            let elsewhere = match (given.name, given.value) {
                ("--git-dir", Some(slot)) => {
                    let own = self.scene.cwd.and_then(|cwd| self.repository_at(cwd)).map(|own| own.own);
                    let named = self.one_place(&slot_text(arguments, &slot)).map(PathBuf::from);
                    named.is_none() || named != own
                }
                ("--bare", _) => !matches!(sub, "clone" | "init"),
                _ => false,
            };
            if elsewhere {
                self.unknown(Gap::Project, &format!("git {}", given.name));
            }
        }
        // Whoever makes one or only asks for help reads no settings of another.
        if !sub.is_empty()
            && !matches!(sub, "init" | "clone" | "version" | "help")
            && !self.is_own_repository()
        {
            self.unknown(Gap::Project, "git in a repository that is not the session's own");
        }
    }

    /// Whether git would find the same repository here as where the session is, and no bare one on the way.
    pub(super) fn is_own_repository(&self) -> bool {
        // Where a session's root is known, a directory that an earlier call has entered is none.
        let start = self.scene.root.or(self.scene.cwd);
        let ([cwd], Some(start)) = (self.state.cwd.as_slice(), start) else { return false };
        let Ok(own) = self.top_above(start) else { return false };
        let Ok(mut ways) = self.state.disk.through_links(cwd) else { return false };
        ways.push(cwd.to_string());
        ways.iter().all(|way| self.top_above(way).is_ok_and(|top| top == own))
    }

    /// The top of the work tree that a directory lies in, where there is one.
    fn top_above(&self, directory: &str) -> Result<Option<PathBuf>, Bare> {
        if directory.contains(is_mark) {
            return Err(Bare);
        }
        let place = Resolver::new(self.scene.world, None, None).walk(directory.into()).map_err(|_| Bare)?;
        let mut top = place.physical;
        loop {
            let dot_git = top.join(".git");
            let made = self.state.disk.has_made(&dot_git);
            if made || self.scene.world.look(&dot_git).is_ok() {
                return Ok(Some(top));
            }
            let head = top.join("HEAD");
            if self.scene.world.look(&head).is_ok() || self.may_have_filled(&head) {
                return Err(Bare);
            }
            if !top.pop() {
                return Ok(None);
            }
        }
    }

    /// Whether the command may have made this file, by its name or with a directory that it lies in. What git puts there
    /// is the repository's.
    pub(super) fn may_have_filled(&self, file: &Path) -> bool {
        let by_git = |origin: &Option<Origin>| {
            let runs = |effect: &Effect<'_>| matches!(effect, Effect::Run(run) if run.program == "git" && run.origin == *origin);
            self.report.effects().iter().any(runs)
        };
        let lies_in = |directory: &str| {
            toolgate_model::below(directory.as_bytes(), file.as_os_str().as_encoded_bytes()).is_some()
        };
        self.report.effects().iter().any(|effect| {
            let Effect::Use(access, target) = effect else { return false };
            let path = target.path.text();
            let filled = match path.split_once('…') {
                Some((known, _)) => lies_in(known.rsplit_once('/').map_or("/", |(directory, _)| directory)),
                None if target.reach == Reach::Below => lies_in(path),
                None => Path::new(path) == file,
            };
            filled && access.fills() && !by_git(&target.origin)
        })
    }

    /// The repository of the working directory.
    pub(super) fn repository(&self) -> Option<Repository> {
        let [cwd] = self.state.cwd.as_slice() else { return None };
        self.repository_at(cwd)
    }

    /// Each command of git asks for it a dozen times. What was found stays as long as the command has changed nothing itself.
    fn repository_at(&self, directory: &str) -> Option<Repository> {
        if !self.state.disk.is_untouched() {
            return self.find_repository(directory);
        }
        let known = |(at, found): &(String, Option<Repository>)| (at == directory).then(|| found.clone());
        if let Some(found) = self.repositories.borrow().iter().find_map(known) {
            return found;
        }
        let found = self.find_repository(directory);
        let mut repositories = self.repositories.borrow_mut();
        // What nobody could look for any more was not found.
        if repositories.len() < MAX_REPOSITORIES && !budget::is_spent() {
            repositories.push((directory.to_owned(), found.clone()));
        }
        found
    }

    fn find_repository(&self, directory: &str) -> Option<Repository> {
        let mut top = PathBuf::from(directory);
        loop {
            let dot_git = top.join(".git");
            if self.state.disk.has_made(&dot_git) {
                return Some(Repository { top, common: dot_git.clone(), own: dot_git });
            }
            match self.scene.world.look(&dot_git).map(|node| node.kind) {
                Ok(NodeKind::Directory) => {
                    return Some(Repository { top, common: dot_git.clone(), own: dot_git });
                }
                Ok(NodeKind::File) => {
                    let text = self.small_file(&dot_git)?;
                    let directory = top.join(text.strip_prefix("gitdir:")?.trim());
                    let common = match self.small_file(&directory.join("commondir")) {
                        Some(common) => toolgate_model::clean(&directory.join(common.trim())),
                        // A linked worktree's directory lies in `worktrees` of the shared one.
                        None => match directory
                            .parent()
                            .filter(|above| above.ends_with("worktrees"))
                            .and_then(Path::parent)
                        {
                            Some(common) => common.to_path_buf(),
                            None => directory.clone(),
                        },
                    };
                    return Some(Repository { top, common, own: directory });
                }
                _ => {
                    if !top.pop() {
                        return None;
                    }
                }
            }
        }
    }

    /// `git config`: reading is nothing; writing is a write of the file.
    fn git_config(&mut self, reading: &Reading, operands: &[Text], arguments: &[Text]) -> Outcome {
        let has = |names: &[&str]| reading.options.iter().any(|given| names.contains(&given.name));
        let verb = reading.sub.get(1).copied().or_else(|| {
            operands
                .first()
                .and_then(Text::whole)
                .filter(|word| {
                    matches!(
                        *word,
                        "set" | "unset" | "get" | "list" | "rename-section" | "remove-section" | "edit"
                    )
                })
                .map(|word| match word {
                    "set" | "unset" | "rename-section" | "remove-section" | "edit" => "set",
                    _ => "get",
                })
        });
        let changes = match verb {
            Some("set" | "unset" | "rename-section" | "remove-section" | "edit") => true,
            Some(_) => false,
            None => {
                has(&[
                    "--add",
                    "--unset",
                    "--unset-all",
                    "--replace-all",
                    "--rename-section",
                    "--remove-section",
                    "-e",
                    "--edit",
                ]) || (operands.len() >= 2
                    && !has(&[
                        "--get",
                        "--get-all",
                        "--get-regexp",
                        "-l",
                        "--list",
                        "--get-urlmatch",
                        "--get-color",
                        "--get-colorbool",
                    ]))
            }
        };
        let access = if changes { Access::Write } else { Access::Read };
        let file = reading
            .options
            .iter()
            .find(|given| matches!(given.name, "-f" | "--file"))
            .and_then(|given| given.value);
        if let Some(slot) = file {
            let path = slot_text(arguments, &slot);
            self.touch(access, Reach::Exact, &path);
            if has(&["--includes"]) {
                // It names further files, which are shown as well.
                self.unknown(Gap::Option, "git config --includes");
            }
            return Outcome::of(Flow::Any);
        }
        if has(&["--global"]) {
            let path = self.tilde("~/.gitconfig");
            self.touch(access, Reach::Exact, &path);
        } else if has(&["--system"]) {
            self.touch(access, Reach::Exact, &Text::known("/etc/gitconfig"));
        } else if changes && self.is_in_new_directory() && scratch::sets_harmless(reading, operands) {
            self.touch(Access::Write, Reach::Exact, &Text::known("."));
        } else if changes {
            self.shared_config();
        } else {
            self.touch(Access::Search, Reach::Below, &Text::known("."));
        }
        Outcome::of(Flow::Any)
    }

    /// The settings that all worktrees share are written.
    fn shared_config(&mut self) {
        match self.repository() {
            // One that the command has made itself is its own.
            Some(repository) if self.state.disk.has_made(&repository.common) => {
                self.touch(Access::Write, Reach::Exact, &Text::known(&repository.top.to_string_lossy()));
            }
            Some(repository) => {
                let config = repository.common.join("config");
                self.touch(Access::Write, Reach::Exact, &Text::known(&config.to_string_lossy()));
            }
            None => self.touch(Access::Write, Reach::Exact, &Text::known(".git/config")),
        }
    }

    /// The index gets names that neither it nor the disk had before the call.
    fn index_moves(&mut self, sub: &str) {
        const MOVES: [&str; 14] = [
            "am",
            "apply",
            "checkout",
            "cherry-pick",
            "merge",
            "pull",
            "read-tree",
            "rebase",
            "reset",
            "restore",
            "revert",
            "stash",
            "switch",
            "update-index",
        ];
        if MOVES.contains(&sub) {
            self.index_is_moved();
        }
    }

    /// Names of files and branches that git prints. Those of commits need not be on the disk.
    fn draws_from_git(&mut self, sub: &str, operands: &[Text], arguments: &[Text], printed: &Flow) {
        let Flow::Lines(lines) = printed else { return };
        if !lines.iter().any(|line| line.raw().contains(INNER)) {
            return;
        }
        let is_staged = arguments.iter().any(|word| matches!(word.raw(), "--cached" | "--staged"));
        match sub {
            "ls-files" => {
                self.draws_printed(printed);
                self.draws_tracked();
            }
            "diff" if operands.is_empty() && !is_staged => self.draws_tracked(),
            "grep" if operands.len() <= 1 => self.draws_tracked(),
            _ => self.draws_unknown(),
        }
    }

    /// Names of tracked files, as far as they matter: secret files, and links that lead out. All others lead down.
    fn tracked_paths(&mut self, operands: &[Text]) -> Vec<Text> {
        const MOST: usize = 12;
        let mut paths = vec![Text::mark(INNER)];
        self.draws_tracked();
        if let (Some(index), Some(top)) = (self.git_index(), self.git_top()) {
            let links = self.tracked_links_out(&index, &top);
            let secrets = index.secrets.iter().map(|secret| &secret.name);
            let named = self.covered_by(&top, operands, secrets.chain(&links));
            // Names are printed as seen from here.
            let here = match self.state.cwd.as_slice() {
                [cwd] => cwd.to_string(),
                _ => top.clone(),
            };
            let from_here = |name: String| {
                let whole = format!("{top}/{name}");
                whole.strip_prefix(&format!("{here}/")).map(Text::known)
            };
            if named.len() > MOST {
                self.unknown(Gap::Doubt(Doubt::Names), "more tracked files than are told one by one");
            }
            paths.extend(named.into_iter().filter_map(from_here).take(MOST));
        }
        paths
    }
}
