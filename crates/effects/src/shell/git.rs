//! git: which repository, what its settings run, which hooks and aliases come along.

use std::path::{Path, PathBuf};

use toolgate_model::{Access, Effect, Gap, NodeKind, Origin, Reach, Resolver};

use super::Interpreter;
use super::apply::slot_text;
use super::text::{Flow, INNER, NAME, Text, bounded, is_mark};
use super::walk::Outcome;
use crate::recipes::git_config;
use crate::spec::Reading;

/// So much of a git file is read.
const MAX_CONFIG: usize = 64 * 1024;

/// Where a repository keeps its things.
pub(super) struct Repository {
    /// The top of the work tree.
    top: PathBuf,
    /// What all its worktrees share.
    pub(super) common: PathBuf,
    /// What is this worktree's own: its index.
    pub(super) own: PathBuf,
}

/// A directory that may be a bare repository, or that is not known.
struct Bare;

pub(super) fn run(shell: &mut Interpreter<'_, '_>, reading: &Reading, words: &[Text]) -> Outcome {
    let arguments = words.get(1..).unwrap_or_default();
    shell.written_settings();
    shell.settings_of_others(reading, arguments);
    for given in reading.options.iter().filter(|given| matches!(given.name, "-c" | "--config-env")) {
        if let Some(slot) = given.value {
            let setting = slot_text(arguments, &slot);
            shell.setting(&setting);
        }
    }
    if reading.options.iter().any(|given| given.name == "--exec-path" && given.value.is_some()) {
        shell.unknown(Gap::Code, "git --exec-path");
    }
    let Some(sub) = reading.sub.first().copied() else {
        return shell.alias_or_unknown(reading, words);
    };
    let operands: Vec<Text> = reading.operands.iter().filter_map(|at| arguments.get(*at)).cloned().collect();
    let outcome = if sub == "config" {
        shell.git_config(reading, &operands, arguments)
    } else {
        shell.apply("git", reading, words)
    };
    shell.git_programs(sub, reading, &operands);
    shell.read_without_index(sub, reading, &operands);
    shell.git_reads(reading, &operands, arguments);
    let verb = reading.sub.get(1).copied().or_else(|| operands.first().and_then(Text::whole));
    if sub == "remote"
        && matches!(verb, Some("add" | "remove" | "rm" | "rename" | "set-url" | "set-branches"))
    {
        shell.shared_config();
    }
    shell.made_repository(sub, reading, &operands);
    if reaches_remote(sub) {
        for operand in &operands {
            shell.remote(sub, operand);
        }
    }
    if runs_hooks(sub) && !has(reading, &["--no-verify"]) {
        shell.hooks(sub);
    }
    let line = |path: PathBuf| Flow::line(&Text::known(&path.to_string_lossy()));
    match printed(sub, reading, &operands, arguments) {
        Printed::As(flow) => Outcome::of(flow),
        Printed::Top => Outcome::of(shell.repository().map_or(Flow::Any, |found| line(found.top))),
        Printed::Common => Outcome::of(shell.repository().map_or(Flow::Any, |found| line(found.common))),
        Printed::Other => outcome,
    }
}

fn has(reading: &Reading, names: &[&str]) -> bool {
    reading.options.iter().any(|given| names.contains(&given.name))
}

/// Sub-commands that take a remote, which may be a path or run a program.
fn reaches_remote(sub: &str) -> bool {
    matches!(
        sub,
        "clone"
            | "fetch"
            | "pull"
            | "push"
            | "ls-remote"
            | "archive"
            | "fetch-pack"
            | "send-pack"
            | "remote"
            | "submodule"
    )
}

fn runs_hooks(sub: &str) -> bool {
    matches!(
        sub,
        "commit"
            | "merge"
            | "checkout"
            | "switch"
            | "rebase"
            | "am"
            | "push"
            | "cherry-pick"
            | "revert"
            | "pull"
            | "worktree"
            | "reset"
            | "clone"
    )
}

enum Printed {
    As(Flow),
    Top,
    Common,
    Other,
}

fn printed(sub: &str, reading: &Reading, operands: &[Text], arguments: &[Text]) -> Printed {
    let has = |names: &[&str]| {
        reading.options.iter().any(|given| names.contains(&given.name))
            || arguments.iter().any(|argument| names.contains(&argument.raw()))
    };
    let name = || Printed::As(Flow::Lines(vec![Text::mark(NAME)]));
    let paths = || Printed::As(Flow::Lines(vec![Text::mark(INNER)]));
    // Options that print a text of the caller's choice.
    let worded =
        arguments.iter().filter_map(|argument| argument.raw().split_once('=')).any(|(option, text)| {
            matches!(option, "--format" | "--pretty" | "--line-prefix" | "--dirty" | "--broken")
                && !matches!(text, "" | "format:" | "tformat:" | "%H" | "%h" | "format:%H" | "format:%h")
        });
    match sub {
        _ if worded || has(&["--line-prefix", "--no-index"]) => Printed::Other,
        "rev-parse" => parsed(operands, arguments),
        "rev-list" if has(&["--objects", "--header", "--oneline", "--pretty", "--format"]) => Printed::Other,
        "merge-base" | "rev-list" | "hash-object" | "write-tree" | "commit-tree" => name(),
        "describe" => paths(),
        // Paths are printed as seen from the directory, so those of others climb.
        "ls-files" | "grep" | "diff" if operands.iter().any(leads_out) => Printed::Other,
        "ls-files" if has(&["--format", "--full-name"]) => Printed::Other,
        "ls-files" => paths(),
        // The message comes with the names.
        "log" | "show" if !has_no_message(arguments) => Printed::Other,
        "diff" | "show" | "log" | "ls-tree" | "diff-tree" | "diff-index" | "diff-files"
            if has(&["--name-only"]) =>
        {
            paths()
        }
        "grep" if has(&["-l", "--files-with-matches", "--name-only"]) => paths(),
        "branch" if has(&["--show-current"]) => paths(),
        "symbolic-ref" => paths(),
        _ => Printed::Other,
    }
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
    let mark = match asks.as_slice() {
        ["--show-toplevel"] if operands.is_empty() => return Printed::Top,
        ["--git-common-dir" | "--git-dir" | "--absolute-git-dir"] if operands.is_empty() => {
            return Printed::Common;
        }
        ["--show-prefix"] if operands.is_empty() => INNER,
        ["--abbrev-ref" | "--symbolic-full-name"] => INNER,
        []
        | [
            "--is-inside-work-tree"
            | "--is-inside-git-dir"
            | "--is-bare-repository"
            | "--is-shallow-repository",
        ] => NAME,
        _ => return Printed::As(Flow::Any),
    };
    let as_given = operands.iter().cloned().map(|text| if text.is_known() { text } else { Text::any() });
    Printed::As(Flow::Lines(bounded(std::iter::once(Text::mark(mark)).chain(as_given).collect())))
}

/// Whether a path or a pathspec may name something outside of the directory: `../x`, `:/`, `/x`.
fn leads_out(operand: &Text) -> bool {
    !operand.is_known()
        || operand.raw().starts_with(['/', ':', '~'])
        || operand.raw().split('/').any(|name| name == "..")
}

/// `git log --format= --name-only`
fn has_no_message(arguments: &[Text]) -> bool {
    arguments.iter().any(|argument| {
        matches!(argument.raw().split_once('='), Some(("--format" | "--pretty", text)) if text != "oneline")
    })
}

/// Settings whose value git runs.
pub(super) fn runs(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let (section, last) =
        (key.split('.').next().unwrap_or_default(), key.rsplit('.').next().unwrap_or_default());
    match section {
        "alias" | "pager" | "man" | "browser" | "guitool" => true,
        "core" => matches!(
            last,
            "pager"
                | "editor"
                | "sshcommand"
                | "fsmonitor"
                | "askpass"
                | "gitproxy"
                | "hookspath"
                | "alternaterefscommand"
        ),
        "sequence" => last == "editor",
        "diff" => matches!(last, "external" | "command" | "textconv"),
        "filter" => matches!(last, "smudge" | "clean" | "process"),
        "merge" | "mergetool" | "difftool" => matches!(last, "driver" | "cmd" | "path"),
        "credential" => last == "helper",
        "gpg" | "user" => last == "program" || last == "defaultkeycommand",
        "remote" | "url" => matches!(last, "uploadpack" | "receivepack" | "vcs" | "proxy"),
        "interactive" => last == "difffilter",
        "sendemail" => matches!(last, "smtpserver" | "sendmailcmd" | "tocmd" | "cccmd"),
        "uploadpack" => last == "packobjectshook",
        "init" => last == "templatedir",
        "include" | "includeif" => last == "path",
        "trailer" => matches!(last, "command" | "cmd"),
        "protocol" => true,
        _ => false,
    }
}

impl Interpreter<'_, '_> {
    /// Outside of a repository, git reads files like any other program.
    fn read_without_index(&mut self, sub: &str, reading: &Reading, operands: &[Text]) {
        let no_index = has(reading, &["--no-index"]);
        if no_index || (sub == "diff" && operands.iter().any(|operand| operand.raw().starts_with('/'))) {
            for operand in operands {
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
        if has(reading, &["--bare", "--separate-git-dir", "--template"]) {
            return;
        }
        let place = match (sub, operands) {
            ("init", []) => self.one_place(&Text::known(".")),
            ("init", [directory, ..]) | ("clone", [_, directory, ..]) => self.one_place(directory),
            ("clone", [from]) => {
                let from = from.raw().trim_end_matches('/').trim_end_matches(".git");
                let name = from.rsplit(['/', ':']).next().unwrap_or_default();
                self.one_place(&Text::marked(name.to_owned()))
            }
            _ => None,
        };
        if let Some(place) = place {
            self.state.disk.make_directory(&place);
            self.state.disk.make_directory(&format!("{place}/.git"));
        }
    }

    /// `-c key=value`
    pub(super) fn setting(&mut self, setting: &Text) {
        let Some((key, value)) = setting.raw().split_once('=') else { return };
        let value = Text::marked(value.to_owned());
        if matches!(
            value.raw(),
            "" | "cat" | "less" | "true" | "false" | "always" | "never" | "less -R" | "less -FRX"
        ) {
            return;
        }
        if key.eq_ignore_ascii_case("core.hookspath")
            || key.to_ascii_lowercase().starts_with("include")
            || key.eq_ignore_ascii_case("init.templatedir")
        {
            if value.raw() != "/dev/null" {
                self.unknown(Gap::Code, &format!("git -c {key}={}", value.shown()));
                self.touch(Access::Read, Reach::Below, &value);
            }
        } else if key.eq_ignore_ascii_case("core.worktree") {
            self.touch(Access::Write, Reach::Below, &value);
        } else if key.to_ascii_lowercase().starts_with("protocol.") {
            self.unknown(Gap::Code, &format!("git -c {key}={}", value.shown()));
        } else if let (true, Some(command)) =
            (key.to_ascii_lowercase().starts_with("alias."), value.raw().strip_prefix('!'))
        {
            let command = Text::marked(command.to_owned());
            self.forked(|shell| shell.text(&command, "git alias"));
        } else if key.to_ascii_lowercase().starts_with("alias.") {
            self.git_words(value.raw());
        } else if runs(key) {
            let command = Text::marked(value.raw().trim_start_matches('!').to_owned());
            self.forked(|shell| shell.text(&command, &format!("git -c {key}")));
        }
    }

    /// Settings and hooks that the command has just written, wherever: git may come to read them.
    fn written_settings(&mut self) {
        let files = self.state.disk.files().to_vec();
        for (path, flow) in files {
            let name = toolgate_model::base_name(&path);
            let is_hook = path.contains("/hooks/") || path.contains("/.husky/");
            if !is_hook && !matches!(name, "config" | ".gitconfig" | "config.worktree") {
                continue;
            }
            match flow.whole().map(str::to_owned) {
                Some(text) if is_hook => {
                    self.forked(|shell| shell.text(&Text::known(&text), &path));
                }
                Some(text) => {
                    for (key, value) in git_config::settings(&text) {
                        self.setting(&Text::known(&format!("{key}={value}")));
                    }
                }
                None => self.unknown(Gap::Code, &path),
            }
        }
    }

    /// Words of git without the name: an alias.
    fn git_words(&mut self, text: &str) {
        let text = Text::marked(format!("git {text}"));
        self.forked(|shell| shell.text(&text, "git alias"));
    }

    fn alias_or_unknown(&mut self, reading: &Reading, words: &[Text]) -> Outcome {
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
        if let Some(body) = self.git_alias(name) {
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

    fn git_alias(&mut self, name: &str) -> Option<String> {
        let key = format!("alias.{name}");
        let mut files: Vec<PathBuf> = Vec::new();
        if let Some(repository) = self.repository() {
            files.push(repository.common.join("config"));
        }
        let homes: Vec<String> =
            self.variable_texts("HOME").iter().filter_map(|home| self.one_place(home)).collect();
        for home in homes {
            files.push(Path::new(&home).join(".gitconfig"));
            files.push(Path::new(&home).join(".config/git/config"));
        }
        files.iter().find_map(|file| git_config::value(&self.small_file(file)?, &key))
    }

    pub(super) fn small_file(&self, path: &Path) -> Option<String> {
        let place = path.to_str()?;
        if let Some(flow) = self.state.written(place) {
            return flow.whole().map(str::to_owned);
        }
        let bytes = self.scene.world.read(path, MAX_CONFIG).ok()?;
        String::from_utf8(bytes).ok()
    }

    /// The top of the work tree.
    pub(super) fn git_top(&self) -> Option<String> {
        Some(self.repository()?.top.to_str()?.to_owned())
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
    fn is_own_repository(&self) -> bool {
        // Where a session's root is known, a directory that an earlier call has entered is none.
        let start = self.scene.root.or(self.scene.cwd);
        let ([cwd], Some(start)) = (self.state.cwd.as_slice(), start) else { return false };
        let Ok(own) = self.top_above(start) else { return false };
        let mut ways = self.state.disk.through_links(cwd);
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

    fn repository_at(&self, directory: &str) -> Option<Repository> {
        let mut top = PathBuf::from(directory);
        for _ in 0..32 {
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
        None
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
            return Outcome::of(Flow::Any);
        }
        if has(&["--global"]) {
            let path = self.tilde("~/.gitconfig");
            self.touch(access, Reach::Exact, &path);
        } else if has(&["--system"]) {
            self.touch(access, Reach::Exact, &Text::known("/etc/gitconfig"));
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

    fn remote(&mut self, sub: &str, operand: &Text) {
        let raw = operand.raw();
        if let Some(command) = raw.strip_prefix("ext::") {
            let command = Text::marked(command.to_owned());
            self.forked(|shell| shell.text(&command, "git ext::"));
            return;
        }
        let path = raw.strip_prefix("file://").unwrap_or(raw);
        let is_path =
            raw.starts_with("file://") || path.starts_with('/') || path.starts_with("../") || path == "..";
        if is_path {
            let access = if matches!(sub, "push" | "send-pack") { Access::Write } else { Access::Read };
            self.touch(access, Reach::Below, &Text::marked(path.to_owned()));
        } else if raw.contains("://") || raw.contains('@') {
            self.connect();
        }
    }

    /// Hooks of the repository that this command would run.
    fn hooks(&mut self, sub: &str) {
        let names: &[&str] = match sub {
            "commit" => &["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"],
            "merge" | "pull" => &["pre-merge-commit", "post-merge", "prepare-commit-msg", "commit-msg"],
            "checkout" | "switch" | "worktree" | "clone" | "reset" => &["post-checkout"],
            "rebase" => &["pre-rebase", "post-rewrite", "post-checkout"],
            "push" => &["pre-push"],
            "am" => &["applypatch-msg", "pre-applypatch", "post-applypatch"],
            _ => &["pre-commit", "prepare-commit-msg", "post-commit"],
        };
        let Some(repository) = self.repository() else { return };
        let configured = self
            .small_file(&repository.common.join("config"))
            .and_then(|config| git_config::value(&config, "core.hookspath"))
            .map(|path| repository.top.join(path));
        let directory = configured.unwrap_or_else(|| repository.common.join("hooks"));
        for name in names {
            let path = directory.join(name);
            let written = path.to_str().and_then(|path| self.state.written(path)).is_some();
            if !written && self.scene.world.look(&path).is_err() {
                continue;
            }
            let path = Text::known(&path.to_string_lossy());
            self.unknown(Gap::Project, &format!("git hook {name}"));
            let words = [path.clone()];
            self.in_step(&format!("git hook {name}"), "", |shell| {
                shell.forked(|shell| shell.hook(&words));
            });
        }
    }

    /// A hook is the repository's own: what it does counts, that it is read does not.
    fn hook(&mut self, words: &[Text]) {
        let before = self.report.effects().len();
        let Some(path) = words.first() else { return };
        self.run_file(path.raw(), words, &[]);
        let name = path.raw().to_owned();
        let own = |effect: &toolgate_model::Effect<'_>| matches!(effect, toolgate_model::Effect::Use(Access::Read, target) if target.path.text() == name);
        self.report.retain_after(before, |effect| !own(effect));
    }
}
