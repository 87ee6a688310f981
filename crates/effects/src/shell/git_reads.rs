//! git shows files too: a revision's by its name, and whatever changed in passing.
//!
//! What is named counts as read. What is not named counts as read where the index has a secret file that the paths
//! of the command do not leave out; a repository without one is not concerned.

use std::path::Path;

use toolgate_model::{Access, Doubt, Effect, Gap, Reach, SecretName, clean, secret_name, secret_pattern};

use super::git::index::Secret;
use super::git_trees::KEEP_INDEX;
use super::places::covers;
use super::text::{Flow, Text};
use super::{Interpreter, matches_name};
use crate::spec::Reading;

/// So many secret files are listed.
const MAX_TOLD: usize = 16;
/// The shortest beginning of an id that git takes.
const SHORTEST_ID: usize = 4;
/// Variables by which git takes another index, other objects or other files.
const LEADS_ELSEWHERE: [&str; 6] = [
    "GIT_COMMON_DIR",
    "GIT_CONFIG_COUNT",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_WORK_TREE",
];
/// Ordinary names. A pattern that fits one of them asks for more than secret files.
const ORDINARY: &[&str] = &[
    ".gitignore",
    "LICENSE",
    "README.md",
    "app.conf",
    "build.sh",
    "config.yml",
    "index.html",
    "index.test.ts",
    "main.c",
    "main.py",
    "package.json",
    "pyproject.toml",
];
/// Sub-commands that say no more of an object than its name, its kind or its length.
const NAMES_OBJECTS: &[&str] =
    &["check-ignore", "hash-object", "ls-files", "ls-tree", "merge-base", "rev-parse"];

/// The paths of a command, as git takes them.
#[derive(Default)]
struct Paths {
    /// Those that are shown, where there are any.
    only: Vec<String>,
    /// Those that are left out.
    without: Vec<String>,
    /// Whether their letters count for both cases.
    folds: bool,
}

impl Interpreter<'_, '_> {
    /// Tells the secret files that a sub-command shows.
    pub(super) fn git_reads(&mut self, reading: &Reading, operands: &[Text], arguments: &[Text]) {
        self.shown_after_all(reading);
        let by_id = self.secret_objects(reading, arguments);
        if reading.sub.first() == Some(&"merge-file") && !has_option(reading, &["--object-id"]) {
            // What it writes begins with what was there, and may be printed instead.
            operands.iter().take(1).for_each(|file| self.touch(Access::Read, Reach::Exact, file));
            return;
        }
        let Some(shows) = shows(reading) else { return };
        let separator = arguments.iter().position(|word| word.raw() == "--");
        let top = match self.git_top() {
            Some(top) => top,
            None => match self.state.cwd.as_slice() {
                [cwd] => cwd.to_string(),
                _ => String::new(),
            },
        };
        let mut paths = Paths { folds: has_option(reading, &["--icase-pathspecs"]), ..Paths::default() };
        let mut named = by_id;
        let mut has_revision = false;
        for (at, operand) in reading.operands.iter().zip(operands) {
            // What no file matched is handed on as it was written.
            let as_given = operand.unglobbed();
            let raw = as_given.raw();
            let is_path = separator.is_some_and(|separator| *at > separator);
            if !is_path && of_revision(raw).is_some() {
                has_revision = true;
                named |= self.named_object(raw, &top);
            } else {
                let found = self.git_path(raw, is_path, &mut paths);
                named |= found == GitPath::Secret;
                has_revision |= found == GitPath::Other || (separator.is_some() && !is_path);
            }
        }
        named |= self.picked_out(&top, &paths);
        for given in reading.options.iter().filter(|given| given.name == "-L") {
            let range = given.value.map(|slot| super::apply::slot_text(arguments, &slot)).unwrap_or_default();
            if let Some((_, path)) = range.raw().rsplit_once(':') {
                named |= self.shown_by_git(path, "");
            }
        }
        match reading.sub.first() {
            Some(&"cat-file") => self.objects_printed(reading, operands, &top),
            // Copies that go by other names.
            Some(&"unpack-file") if operands.iter().any(Text::has_any) => self.tracked_are_read(&top),
            Some(&"checkout-index") if has_option(reading, &["-a", "--stdin"]) => self.tracked_are_read(&top),
            _ => {}
        }
        // `git show HEAD:a` is that file and no change.
        let one_file = reading.sub.first() == Some(&"show")
            && operands.iter().any(|operand| of_revision(operand.raw()).is_some());
        if !named && !one_file && shows == GitShows::Changes {
            let of_worktree =
                !has_revision && compares_worktree(reading) && self.keeps_index() && !self.is_led_elsewhere();
            self.shown_in_passing(&top, &paths, of_worktree);
        }
    }

    /// One path of the command.
    fn git_path(&mut self, raw: &str, is_path: bool, paths: &mut Paths) -> GitPath {
        let spec = Pathspec::of(raw);
        let mut path = spec.path.to_owned();
        if spec.folds || paths.folds {
            path.make_ascii_lowercase();
        }
        let from_top = if spec.from_top { self.git_top() } else { None };
        let whole = from_top.map_or_else(|| path.clone(), |top| format!("{top}/{path}"));
        if spec.leaves_out {
            paths.without.push(whole);
            return GitPath::Path;
        }
        if self.shown_by_git(&path, "") {
            return GitPath::Secret;
        }
        let there = || {
            self.one_place(&Text::known(&path))
                .is_some_and(|place| self.scene.world.look(Path::new(&place)).is_ok())
        };
        // git takes a word with a pattern for a path.
        if is_path || spec.has_magic || path.contains(['*', '?', '[']) || there() {
            paths.only.push(whole);
            return GitPath::Path;
        }
        GitPath::Other
    }

    /// What a revision's file names, from the top of the repository or from here: `HEAD:path`, `:0:path`. Says whether it is a secret file.
    fn named_object(&mut self, object: &str, top: &str) -> bool {
        // A revision may hold a colon itself: `HEAD^{/x: y}:path`.
        let behind_last = object.rsplit_once(':').map(|(_, path)| path);
        let mut paths: Vec<&str> = of_revision(object).into_iter().chain(behind_last).collect();
        paths.dedup();
        paths.into_iter().any(|path| {
            let from_here = path.starts_with("./") || path.starts_with("../");
            self.shown_by_git(path, if from_here { "" } else { top })
        })
    }

    /// `git cat-file --batch` takes its objects from its input. One that is not known may be that of a secret file.
    fn objects_printed(&mut self, reading: &Reading, operands: &[Text], top: &str) {
        let mut is_known = operands.iter().all(|operand| !operand.has_any());
        if has_option(reading, &["--batch", "--batch-command"]) {
            is_known &= !has_option(reading, &["--batch-all-objects"]);
            let input = match self.streams.stdin().clone() {
                Flow::Nothing => Vec::new(),
                Flow::Text(text) => vec![text],
                Flow::Lines(lines) => lines,
                Flow::Any | Flow::Built => vec![Text::any()],
            };
            for text in input {
                is_known &= !text.has_any();
                for line in text.raw().split(['\n', '\0']) {
                    // `contents HEAD:a`; a path may hold blanks.
                    let words = line.split_ascii_whitespace().chain([line]);
                    let objects: Vec<&str> = words.filter(|word| of_revision(word).is_some()).collect();
                    for object in objects {
                        self.named_object(object, top);
                    }
                    for word in line.split_ascii_whitespace() {
                        self.secret_object(word);
                    }
                }
            }
        }
        if !is_known {
            self.shown_in_passing(top, &Paths::default(), false);
        }
    }

    /// Tells the secret files whose content a command names by its id. Says whether there is one.
    fn secret_objects(&mut self, reading: &Reading, arguments: &[Text]) -> bool {
        let names_only = reading.sub.first().is_some_and(|sub| NAMES_OBJECTS.contains(sub))
            || (reading.sub.first() == Some(&"cat-file") && has_option(reading, &["-e", "-s", "-t"]));
        if names_only {
            return false;
        }
        let mut named = false;
        for argument in arguments {
            // `A..B`, `--cacheinfo=100644,A,x`
            for word in argument.raw().split([',', '=']).flat_map(|word| word.split("..")) {
                named |= self.secret_object(word);
            }
        }
        named
    }

    /// Tells the secret file whose content this is the id of, or the beginning of one: `1a2b3c`, `1a2b3c^{blob}`.
    fn secret_object(&mut self, word: &str) -> bool {
        let id = word.split(['^', '.']).next().unwrap_or_default();
        if id.len() < SHORTEST_ID || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return false;
        }
        let id = id.to_ascii_lowercase();
        let (Some(index), Some(top)) = (self.git_index(), self.git_top()) else { return false };
        let mut named = false;
        for secret in index.secrets.iter().filter(|secret| secret.id.starts_with(&id)) {
            self.touch_place(Access::Read, Reach::Exact, format!("{top}/{}", secret.name));
            named = true;
        }
        named
    }

    /// Tells all tracked secret files as read.
    fn tracked_are_read(&mut self, top: &str) {
        let Some(index) = self.git_index() else { return };
        for Secret { name, .. } in &index.secrets {
            self.touch_place(Access::Read, Reach::Exact, format!("{top}/{name}"));
        }
    }

    /// Tells the tracked secret files that a pattern picks out: `.e*`, and not `*` or `*.json`. Says whether there is one.
    fn picked_out(&mut self, top: &str, paths: &Paths) -> bool {
        let patterns: Vec<&String> = paths.only.iter().filter(|pattern| picks_out(pattern)).collect();
        if patterns.is_empty() {
            return false;
        }
        let Some(index) = self.git_index() else { return false };
        let Some(covers) = self.coverage(top) else { return false };
        let mut named = false;
        for Secret { name, .. } in &index.secrets {
            let is_picked = patterns.iter().any(|pattern| covers(pattern, name))
                && !paths.without.iter().any(|pattern| covers(pattern, name));
            if is_picked {
                self.touch_place(Access::Read, Reach::Exact, format!("{top}/{name}"));
                named = true;
            }
        }
        named
    }

    /// Tells a file as read, if it holds secrets by its name.
    fn shown_by_git(&mut self, path: &str, directory: &str) -> bool {
        let named = match secret_pattern(path) {
            Some(SecretName::Settings | SecretName::Key) => true,
            Some(SecretName::Perhaps) => secret_name(path).is_some(),
            None => false,
        };
        if named {
            let path = path.replace(['*', '?'], "");
            let path = if directory.is_empty() { path } else { format!("{directory}/{path}") };
            self.touch(Access::Read, Reach::Exact, &Text::marked(path));
        }
        named
    }

    /// `of_worktree`: what is shown is how the files differ from the index.
    fn shown_in_passing(&mut self, top: &str, paths: &Paths, of_worktree: bool) {
        let Some(index) = self.git_index() else { return };
        let Some(covers) = self.coverage(top) else { return };
        let is_same = |secret: &&Secret| {
            let place = format!("{top}/{}", secret.name);
            self.is_unchanged(secret, Path::new(&place)) && !self.may_have_changed(&place)
        };
        let shown = index.secrets.iter().filter(|secret| {
            let name = &secret.name;
            (paths.only.is_empty() || paths.only.iter().any(|pattern| covers(pattern, name)))
                && !paths.without.iter().any(|pattern| covers(pattern, name))
        });
        let (same, shown): (Vec<&Secret>, Vec<&Secret>) =
            shown.partition(|secret| of_worktree && is_same(secret));
        for secret in same {
            self.doubts.take_for_unchanged(&format!("{top}/{}", secret.name));
        }
        let shown: Vec<&String> = shown.iter().map(|secret| &secret.name).collect();
        for name in shown.iter().take(MAX_TOLD) {
            self.touch_place(Access::Search, Reach::Exact, format!("{top}/{name}"));
        }
        if index.has_more || shown.len() > MAX_TOLD {
            self.unknown(Gap::Doubt(Doubt::Secrets), "more tracked files than are looked at");
        }
    }

    /// Whether a variable may name another index, or other files to compare it with.
    fn is_led_elsewhere(&self) -> bool {
        let variables = &self.state.variables;
        let is_set = |name| variables.get(name).is_some() || !(self.scene.unset)(name);
        variables.are_lost() || LEADS_ELSEWHERE.into_iter().any(is_set)
    }

    /// Whether the call may have changed a file by now.
    fn may_have_changed(&self, file: &str) -> bool {
        let changes = |effect: &Effect<'_>| {
            matches!(effect, Effect::Use(access, target)
                if access.changes() && !target.git_data && covers(target.path.text(), target.reach, file))
        };
        !self.doubts.believes_file(file) || self.report.effects().iter().any(changes)
    }

    /// Tells the files of which an earlier `git diff` was taken to show nothing, where this command changes what it compares.
    fn shown_after_all(&mut self, reading: &Reading) {
        let only_looks = reading.sub.first() == Some(&"apply")
            && has_option(reading, &["--check", "--stat", "--numstat", "--summary"])
            && !has_option(reading, &["--apply"]);
        let keeps = reading.sub.first().is_none_or(|sub| KEEP_INDEX.contains(sub));
        if !only_looks && !keeps {
            for file in self.doubts.changed_after_all(|_| true) {
                self.touch_place(Access::Search, Reach::Exact, file);
            }
        }
    }

    /// Those of the tracked files that the operands of `git ls-files` leave.
    pub(super) fn covered_by<'n>(
        &self,
        top: &str,
        operands: &[Text],
        names: impl Iterator<Item = &'n String>,
    ) -> Vec<String> {
        let Some(covers) = self.coverage(top) else { return Vec::new() };
        let (without, only): (Vec<&str>, Vec<&str>) = operands
            .iter()
            .map(Text::raw)
            .partition(|raw| [":!", ":^", ":(exclude)"].iter().any(|start| raw.starts_with(start)));
        let without: Vec<String> = without
            .iter()
            .map(|raw| raw.trim_start_matches([':', '!', '^']).trim_start_matches("(exclude)").to_owned())
            .collect();
        let covered = |name: &&String| {
            (only.is_empty() || only.iter().any(|pattern| covers(&(*pattern).to_owned(), name)))
                && !without.iter().any(|pattern| covers(pattern, name))
        };
        names.filter(covered).cloned().collect()
    }

    /// Whether a pathspec covers a name that is seen from the top; `None` where it is not known from where pathspecs are seen.
    fn coverage(&self, top: &str) -> Option<impl Fn(&String, &str) -> bool + use<>> {
        let here = match self.state.cwd.as_slice() {
            [cwd] => cwd.to_string(),
            _ => return None,
        };
        let top = top.to_owned();
        Some(move |pattern: &String, name: &str| {
            let from = if pattern.starts_with('/') { pattern.clone() } else { format!("{here}/{pattern}") };
            let from = clean(Path::new(&from)).to_string_lossy().into_owned();
            let whole = format!("{top}/{name}");
            let last = name.rsplit('/').next().unwrap_or(name);
            toolgate_model::below(from.as_bytes(), whole.as_bytes()).is_some()
                || matches_name(&from, &whole)
                || matches_name(pattern.trim_start_matches("**/"), last)
        })
    }
}

/// What a word of the command is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GitPath {
    /// A secret file.
    Secret,
    /// Another path.
    Path,
    /// None, but a revision.
    Other,
}

/// A path of a command of git, taken apart: `:(exclude,top)src`, `:!/src`, `src`.
#[expect(clippy::struct_excessive_bools, reason = "each is a sign of its own")]
struct Pathspec<'w> {
    path: &'w str,
    has_magic: bool,
    leaves_out: bool,
    from_top: bool,
    folds: bool,
}

impl<'w> Pathspec<'w> {
    fn of(word: &'w str) -> Pathspec<'w> {
        let plain =
            Pathspec { path: word, has_magic: false, leaves_out: false, from_top: false, folds: false };
        let Some(rest) = word.strip_prefix(':') else { return plain };
        if let Some((magic, path)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            let has = |name: &str| magic.split(',').any(|word| word == name);
            let (leaves_out, from_top, folds) = (has("exclude"), has("top"), has("icase"));
            return Pathspec { path, has_magic: true, leaves_out, from_top, folds };
        }
        let path = rest.trim_start_matches(['!', '^', '/']);
        let signs = rest.strip_suffix(path).unwrap_or_default();
        Pathspec {
            path: path.strip_prefix(':').unwrap_or(path),
            has_magic: !signs.is_empty(),
            leaves_out: signs.contains(['!', '^']),
            from_top: signs.contains('/'),
            folds: false,
        }
    }
}

/// Whether a pattern asks for names that no ordinary file has.
fn picks_out(pattern: &str) -> bool {
    let last = pattern.rsplit('/').next().unwrap_or(pattern);
    last.contains(['*', '?', '[']) && !ORDINARY.iter().any(|name| matches_name(last, name))
}

fn has_option(reading: &Reading, names: &[&str]) -> bool {
    reading.options.iter().any(|given| names.contains(&given.name))
}

/// `git diff` without a revision.
fn compares_worktree(reading: &Reading) -> bool {
    matches!(reading.sub.as_slice(), ["diff", ..])
        && !has_option(reading, &["--cached", "--staged", "--merge-base", "--no-index"])
        && !has_option(reading, &["--git-dir", "--work-tree", "--bare", "--config-env"])
        && !reading.options.iter().any(|given| given.name == "-c" && given.value.is_some())
}

/// What of files a sub-command shows or hands on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GitShows {
    /// Those that are named.
    Named,
    /// Whatever has changed, or fits.
    Changes,
}

fn shows(reading: &Reading) -> Option<GitShows> {
    let has = |names: &[&str]| has_option(reading, names);
    let patch = has(&[
        "-p",
        "-u",
        "--patch",
        "-U",
        "-W",
        "--patch-with-stat",
        "--patch-with-raw",
        "--binary",
        "--remerge-diff",
        "--cc",
        "-L",
    ]) || reading.options.iter().any(|given| given.name == "-c" && given.value.is_none());
    let facts = [
        "-s",
        "--stat",
        "--name-only",
        "--name-status",
        "--numstat",
        "--shortstat",
        "--summary",
        "--raw",
        "-X",
        "--dirstat",
        "--compact-summary",
        "--check",
        "--quiet",
        "-q",
    ];
    let by_default = || patch || !has(&facts);
    match reading.sub.as_slice() {
        ["show" | "diff" | "difftool" | "range-diff", ..] => by_default().then_some(GitShows::Changes),
        ["format-patch", ..] => has(&["--stdout"]).then_some(GitShows::Changes),
        ["log" | "whatchanged" | "diff-tree" | "diff-index" | "diff-files" | "reflog", ..] => {
            (patch && !has(&["-s"])).then_some(GitShows::Changes)
        }
        ["stash", "show" | "list", ..] => has(&["-p", "--patch", "-U"]).then_some(GitShows::Changes),
        ["grep", ..] => (!has(&["-l", "-L", "-c", "-q", "--name-only"])).then_some(GitShows::Changes),
        ["fast-export", ..] => Some(GitShows::Changes),
        ["cat-file", ..] => (!has(&["-e", "-s", "-t"])).then_some(GitShows::Named),
        // The name of an object is as good as what is in it, for who asks by it.
        ["archive" | "blame" | "merge-file" | "mv" | "rev-parse" | "unpack-file", ..] => {
            Some(GitShows::Named)
        }
        ["checkout-index", ..] => has(&["--temp", "--prefix"]).then_some(GitShows::Named),
        _ => None,
    }
}

/// The path of `HEAD:path`, `:path` and `:0:path`; none of a pathspec with magic.
fn of_revision(operand: &str) -> Option<&str> {
    if let Some(rest) = operand.strip_prefix(':') {
        if rest.starts_with(['!', '^', '(', '/']) {
            return None;
        }
        return Some(rest.split_once(':').map_or(rest, |(_, path)| path));
    }
    operand.split_once(':').map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use std::io;

    use toolgate_model::{Entry, FileStamp, LookError, Node, NodeId, NodeKind, World};

    use super::super::{Scene, analyse};
    use super::*;

    /// A repository in `/w` with a tracked `.env`, which is as the index has it, or was changed at this time.
    struct Clone(i64);

    const ID: NodeId = NodeId { device: 1, inode: 7 };

    impl World for Clone {
        fn look(&self, path: &Path) -> Result<Node, LookError> {
            let kind = match clean(path).to_str().unwrap_or_default() {
                "/" | "/w" | "/w/.git" => NodeKind::Directory,
                "/w/.env" | "/w/README.md" | "/w/.git/index" => NodeKind::File,
                _ => return Err(LookError::Absent),
            };
            Ok(Node { kind, id: ID, names: 1, changed: (self.0, 0) })
        }
        fn stamp(&self, path: &Path) -> Result<FileStamp, LookError> {
            let time = if path.ends_with("index") { 9 } else { self.0 };
            Ok(FileStamp { id: ID, size: 4, modified: (time, 0), changed: (time, 0) })
        }
        fn read(&self, path: &Path, _: usize) -> io::Result<Vec<u8>> {
            if !path.ends_with("index") {
                return Err(io::ErrorKind::NotFound.into());
            }
            let facts = [5, 0, 5, 0, 1, 7, 0o100_644, 0, 0, 4_u32].map(u32::to_be_bytes).concat();
            Ok([&b"DIRC\0\0\0\x02\0\0\0\x01"[..], &facts, &[7; 20], &[0, 4], b".env", &[0; 6]].concat())
        }
        fn entries(&self, _: &Path, _: usize) -> io::Result<Option<Vec<Entry>>> {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    /// Whether the command is told to come upon the file.
    fn shows(changed: i64, command: &str) -> bool {
        let world = Clone(changed);
        let unset = |_: &str| true;
        let scene =
            Scene { world: &world, cwd: Some("/w"), root: Some("/w"), home: None, tmp: None, unset: &unset };
        analyse(command, &scene).effects.iter().any(
            |effect| matches!(effect, Effect::Use(Access::Search, target) if target.path.text() == "/w/.env"),
        )
    }

    #[test]
    fn a_secret_file_that_is_as_the_index_has_it_is_in_no_diff() {
        for fine in [
            "git diff",
            "git diff > /tmp/x.patch && git apply --check /tmp/x.patch",
            "git diff -- .",
            "git diff > x; touch README.md; git status; git commit -qam x",
        ] {
            assert!(!shows(5, fine), "{fine}");
            assert!(shows(6, fine), "{fine}: it was changed");
        }
        for shown in [
            "git diff HEAD",
            "git diff main -- .",
            "git diff --cached",
            "git show",
            "echo X > .env; git diff",
            "printf x | tee -a .env; git diff",
            "mv README.md .env; git diff",
            "rm .env; git diff",
            "git stash; git diff",
            "git reset -q HEAD~1; git diff",
            "for i in 1 2; do git diff > x; echo X > .env; done",
            "(sleep 1; git diff > x) & echo X > .env; wait",
            "for i in 1 2; do git diff > x; git reset -q HEAD~1; done",
            "GIT_INDEX_FILE=x git diff",
            "export GIT_WORK_TREE=/x; git diff",
            "git --work-tree=/x diff",
            "git -c core.worktree=/x diff",
            "for i in *; do git diff > /tmp/x; echo X > \"$i\"; done",
        ] {
            assert!(shows(5, shown), "{shown}");
        }
    }
}
