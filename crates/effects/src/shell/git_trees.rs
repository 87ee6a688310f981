//! What git brings into the worktree: the files of a commit, a stash, the index.
//!
//! Against whom: a contained program, or a remote. Either can make a commit with a host's settings in it, and a checkout would put them
//! there. The tree of a commit is not read here, so such a command is doubted, and contained: in a sandbox those names are pinned. The
//! index is read. What is pulled comes by the person's keys, which no sandbox has: that is left to them.

use std::path::Path;

use toolgate_model::{Access, Doubt, Effect, Gap, Reach, Run, clean};

use super::Interpreter;
use super::git::index::MAX_INDEX;
use super::links::is_settings_directory;
use super::text::{Flow, Text, is_mark};
use crate::spec::Reading;

/// Where the files of a sub-command come from.
#[derive(Debug, PartialEq, Eq)]
enum Source {
    /// It changes none of the worktree's.
    Nowhere,
    /// From the index.
    Index,
    /// From a commit.
    Commit,
    /// From the index, what is not there any more.
    Lost,
    /// From a stash that this worktree has made.
    Own,
}

/// Options that have git write what a commit has, although nothing else is asked for.
const FORCED: &[&str] = &["-f", "--discard-changes", "-m", "--conflict"];

/// Sub-commands that take a stash out of the notes of a merge or a rebase, and apply or keep it.
const TAKE_AUTOSTASH: &[&str] = &[
    "am",
    "checkout",
    "cherry-pick",
    "commit",
    "merge",
    "pull",
    "rebase",
    "reset",
    "revert",
    "stash",
    "switch",
];

/// Where these notes lie.
const AUTOSTASH: [&str; 3] = ["MERGE_AUTOSTASH", "rebase-apply/autostash", "rebase-merge/autostash"];

/// Sub-commands behind which the index is what it was before, or what the worktree's files are.
pub(super) const KEEP_INDEX: &[&str] = &[
    "add",
    "archive",
    "blame",
    "branch",
    "cat-file",
    "commit",
    "config",
    "describe",
    "diff",
    "fetch",
    "for-each-ref",
    "grep",
    "hash-object",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge-base",
    "push",
    "reflog",
    "remote",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "stash",
    "status",
    "symbolic-ref",
    "tag",
    "version",
    "write-tree",
];

impl Interpreter<'_, '_> {
    /// Tells what a sub-command brings in.
    pub(super) fn git_brings(&mut self, sub: &str, reading: &Reading, operands: &[Text], arguments: &[Text]) {
        let separator = arguments.iter().position(|word| word.raw() == "--");
        let behind: Vec<Text> =
            separator.map(|at| arguments.iter().skip(at + 1).cloned().collect()).unwrap_or_default();
        if TAKE_AUTOSTASH.contains(&sub) && self.has_autostash() {
            self.unknown(Gap::Doubt(Doubt::Members), &format!("git {sub}: a stash that notes name"));
        }
        let (source, paths) = match sub {
            "checkout" => self.checked_out(reading, operands, &behind),
            "restore" => restored(reading, operands),
            "update-index" => {
                self.put_into_index(reading, arguments);
                return;
            }
            "mv" => {
                self.git_moved(reading, operands);
                return;
            }
            "read-tree" => {
                self.read_into_index(reading);
                return;
            }
            // Each name of the index gets another beginning.
            "checkout-index" if reading.options.iter().any(|given| given.name == "--prefix") => {
                self.unknown(Gap::Doubt(Doubt::Members), "git checkout-index");
                return;
            }
            _ => (self.source_of(sub, reading, operands), operands.to_vec()),
        };
        if !matches!(source, Source::Nowhere) {
            self.doubts.change_files();
        }
        match source {
            Source::Nowhere => {}
            Source::Commit if !paths.is_empty() && paths.iter().all(|path| self.is_plain_file(path)) => {
                for path in paths {
                    self.brought_by_git(&path);
                }
            }
            // As good as a pull.
            Source::Commit
                if !operands.is_empty() && operands.iter().all(|operand| self.is_fetched(operand)) => {}
            Source::Commit => self.unknown(Gap::Doubt(Doubt::Members), &format!("git {sub}")),
            Source::Index => {
                self.brought_from_index(sub, &paths, false);
                self.bring_links_of_index();
            }
            Source::Lost => {
                self.brought_from_index(sub, &[], true);
                self.bring_absent();
            }
            Source::Own => self.bring_absent(),
        }
    }

    fn source_of(&mut self, sub: &str, reading: &Reading, operands: &[Text]) -> Source {
        let has = |names: &[&str]| reading.options.iter().any(|given| names.contains(&given.name));
        let when = |is: bool, source: Source| if is { source } else { Source::Nowhere };
        match sub {
            "switch" => {
                let is_new = operands.is_empty() && has(&["-c", "-C"]) && !has(FORCED);
                when(!is_new, Source::Commit)
            }
            // `--abort` goes back to a commit that notes name, which contained programs write. `--quit` only forgets them, but a merge keeps the
            // stash that they name.
            "cherry-pick" | "revert" => when(!has(&["--quit"]), Source::Commit),
            "merge" => Source::Commit,
            "subtree" => when(brings_subtree(reading, operands), Source::Commit),
            // Without a branch of its own it takes the one that is called like the directory, if there is one.
            "worktree" if reading.sub.contains(&"add") => {
                let is_plain = |path: &Text| !path.raw().split('/').any(is_settings_directory);
                let is_own = operands.len() == 1 && has(&["-b", "-B"]) && operands.iter().all(is_plain);
                when(!is_own && !has(&["--no-checkout", "--orphan"]), Source::Commit)
            }
            "reset" => when(has(&["--hard", "--merge", "--keep"]), Source::Commit),
            "checkout-index" if has(&["--stdin", "-z"]) => Source::Commit,
            "checkout-index" => when(!has(&["--temp"]), Source::Index),
            "sparse-checkout" => Source::Index,
            "stash" => self.stashed(reading, operands),
            _ => Source::Nowhere,
        }
    }

    /// `git checkout` with a branch, with paths, or with both.
    fn checked_out(&self, reading: &Reading, operands: &[Text], behind: &[Text]) -> (Source, Vec<Text>) {
        let has = |names: &[&str]| reading.options.iter().any(|given| names.contains(&given.name));
        let before: Vec<&Text> = operands.iter().filter(|operand| !behind.contains(operand)).collect();
        // The branch before, also where a file is called like that.
        let there = |path: &Text| {
            path.raw() != "-"
                && self.one_place(path).is_some_and(|place| self.scene.world.look(Path::new(&place)).is_ok())
        };
        if has(&["--pathspec-from-file"]) {
            return (Source::Commit, Vec::new());
        }
        match before.as_slice() {
            [] if behind.is_empty() && has(FORCED) => (Source::Commit, Vec::new()),
            [] if behind.is_empty() => (Source::Nowhere, Vec::new()),
            [] => (Source::Index, behind.to_vec()),
            // git refuses a word that is a file and a commit.
            all if behind.is_empty() && all.iter().all(|path| there(path)) => {
                (Source::Index, operands.to_vec())
            }
            [_, paths @ ..] => {
                (Source::Commit, paths.iter().map(|path| (*path).clone()).chain(behind.to_vec()).collect())
            }
        }
    }

    /// What is in a stash was in the worktree, unless somebody else may have made it.
    fn stashed(&mut self, reading: &Reading, operands: &[Text]) -> Source {
        let verb = reading.sub.get(1).copied().or_else(|| operands.first().and_then(Text::whole));
        let named = operands.iter().filter_map(Text::whole).filter(|word| !matches!(*word, "pop" | "apply"));
        let is_stash =
            |word: &str| word.starts_with("stash@{") || word.bytes().all(|byte| byte.is_ascii_digit());
        let is_shared = self.is_linked_worktree();
        match verb {
            // In a plain clone contained programs make stashes too.
            Some("pop" | "apply") => {
                // A person is asked about a `pop`; an `apply` is not, and works in a sandbox.
                let is_own = is_shared
                    && (verb == Some("pop") || self.has_stashed())
                    && self.deciding_names("stash").is_some()
                    && operands.iter().all(Text::is_known)
                    && named.clone().all(is_stash);
                if is_own { Source::Own } else { Source::Commit }
            }
            Some("branch" | "store" | "import") => Source::Commit,
            Some("list" | "show" | "drop" | "clear" | "create" | "export") => Source::Nowhere,
            // What was put aside is taken back to the last commit, and a contained program may have said which that is. A sandbox can stash in a
            // plain clone. In a linked worktree it cannot, since all of them share the stash; there the index is taken for the last commit.
            _ if !is_shared || self.was_reset() => Source::Commit,
            _ => Source::Lost,
        }
    }

    /// Whether this call has stashed before.
    fn has_stashed(&self) -> bool {
        let is_stash = |run: &Run| run.program == "git" && run.sub.first().is_some_and(|sub| sub == "stash");
        let stashes = |effect: &&Effect<'_>| matches!(effect, Effect::Run(run) if is_stash(run));
        // One of them is this command.
        self.report.effects().iter().filter(stashes).count() > 1
    }

    /// Whether all worktrees of the repository share their stashes with this one.
    fn is_linked_worktree(&self) -> bool {
        self.repository().is_some_and(|found| found.own != found.common)
    }

    /// `git read-tree`: names in the index that no file of the worktree has, and others that are missing from it. A stash later takes the index
    /// for the last commit, and brings back what it lacks.
    fn read_into_index(&mut self, reading: &Reading) {
        if reading.options.iter().any(|given| given.name == "-n") {
            return;
        }
        let is_to_worktree = reading.options.iter().any(|given| given.name == "-u");
        if is_to_worktree {
            self.doubts.change_files();
        }
        if is_to_worktree || self.is_linked_worktree() {
            self.unknown(Gap::Doubt(Doubt::Members), "git read-tree");
        }
    }

    /// Whether the last move of `HEAD` was a reset to a commit of this repository, which may have left the files as they are: `git reset --soft
    /// HEAD~1`. A commit takes what the index has, and that is looked at.
    fn was_reset(&self) -> bool {
        let Some(repository) = self.repository() else { return false };
        let log = self.scene.world.read(&repository.own.join("logs/HEAD"), MAX_INDEX).unwrap_or_default();
        if log.len() >= MAX_INDEX {
            return true;
        }
        let log = String::from_utf8_lossy(&log);
        let moves = |line: &&str| {
            let mut ids = line.split(' ');
            let (from, to) = (ids.next().unwrap_or_default(), ids.next());
            to.is_some_and(|to| to != from) && from.bytes().any(|byte| byte != b'0')
        };
        let Some(last) = log.lines().rev().find(moves) else { return false };
        match last.split_once('\t').map(|(_, why)| why) {
            None | Some("") => true,
            Some(why) => {
                why.strip_prefix("reset: moving to ").is_some_and(|to| !self.is_branch_of_remote(to))
            }
        }
    }

    /// Whether the notes of a merge or a rebase name a stash. A contained program may have written them, and the stash.
    fn has_autostash(&self) -> bool {
        let Some(repository) = self.repository() else { return false };
        AUTOSTASH.iter().any(|name| self.scene.world.look(&repository.own.join(name)).is_ok())
    }

    /// Whether a commit is one of a remote, which this call has fetched: `git fetch origin && git merge origin/main`. No contained
    /// program moves the refs of a remote; a branch of the same name would count before them.
    fn is_fetched(&self, operand: &Text) -> bool {
        let Some(name) = operand.whole() else { return false };
        let remote = name.split_once('/').map(|(remote, _)| remote);
        let fetches = |effect: &Effect<'_>| {
            matches!(effect, Effect::Run(run) if run.program == "git" && run.sub.first().is_some_and(|sub| sub == "fetch")
                && run.operands.first().is_none_or(|from| from.as_deref() == remote.or(Some("origin"))))
        };
        if !self.report.effects().iter().any(fetches) || name.contains([':', '~', '^', '@', '*']) {
            return false;
        }
        name == "FETCH_HEAD" || self.is_branch_of_remote(name)
    }

    /// Whether a name is that of a branch of a remote, and of nothing else.
    fn is_branch_of_remote(&self, name: &str) -> bool {
        let Some(repository) = self.repository() else { return false };
        let remote = name.split_once('/').map(|(remote, _)| remote);
        let Some(remote) = remote.filter(|remote| *remote != "refs" && !remote.is_empty()) else {
            return false;
        };
        if name.contains([':', '~', '^', '@', '*']) {
            return false;
        }
        let is_there = |path: String| self.scene.world.look(&repository.common.join(path)).is_ok();
        let packed =
            self.scene.world.read(&repository.common.join("packed-refs"), MAX_INDEX).unwrap_or_default();
        let packed = String::from_utf8_lossy(&packed);
        let is_packed = |name: String| packed.lines().any(|line| line.ends_with(&name));
        let shadows = ["", "refs/", "refs/heads/", "refs/tags/"];
        let is_shadowed = shadows
            .iter()
            .any(|start| is_there(format!("{start}{name}")) || is_packed(format!(" {start}{name}")));
        let is_remote = is_there(format!("refs/remotes/{remote}"))
            || packed.contains(&format!(" refs/remotes/{remote}/"));
        is_remote && !is_shadowed && packed.len() < MAX_INDEX
    }

    /// Where nothing was, git may have put a link.
    fn bring_absent(&mut self) {
        if let Some(top) = self.git_top() {
            self.doubts.bring_link(&top, true);
        }
    }

    /// Where the index has a link and the worktree has something else, git may have put the link.
    fn bring_links_of_index(&mut self) {
        let (Some(index), Some(top)) = (self.git_index(), self.git_top()) else { return };
        for link in &index.links {
            let place = format!("{top}/{link}");
            let found = self.scene.world.look(Path::new(&place));
            if !found.is_ok_and(|node| matches!(node.kind, toolgate_model::NodeKind::Link(_))) {
                self.doubts.bring_link(&place, false);
            }
        }
    }

    fn brought_from_index(&mut self, sub: &str, paths: &[Text], lost: bool) {
        if !paths.is_empty() && paths.iter().all(|path| self.is_plain_file(path)) {
            for path in paths {
                self.brought_by_git(path);
            }
            return;
        }
        let Some(told) = self.deciding_names(sub) else {
            self.unknown(Gap::Doubt(Doubt::Members), &format!("git {sub}"));
            return;
        };
        let Some(top) = self.git_top() else {
            if !told.is_empty() {
                self.unknown(Gap::Doubt(Doubt::Members), &format!("git {sub}"));
            }
            return;
        };
        let within: Vec<String> = paths.iter().filter_map(|path| self.one_place(path)).collect();
        let is_meant = |place: &str| {
            within.len() < paths.len()
                || within.is_empty()
                || within
                    .iter()
                    .any(|within| toolgate_model::below(within.as_bytes(), place.as_bytes()).is_some())
        };
        for name in told {
            let place = format!("{top}/{name}");
            let is_there = self.scene.world.look(Path::new(&place)).is_ok();
            if is_meant(&place) && !(lost && is_there) {
                self.touch_place(Access::Write, Reach::Met, place);
            }
        }
    }

    /// Whether the index is what it was before the call, or what the worktree's files are.
    pub(super) fn keeps_index(&self) -> bool {
        self.index_changes() == 0
    }

    /// How many commands of the call have put something else into the index.
    fn index_changes(&self) -> usize {
        let changes = |effect: &&Effect<'_>| {
            matches!(effect, Effect::Run(run) if run.program == "git"
                && !run.sub.first().is_some_and(|sub| KEEP_INDEX.contains(&sub.as_str())))
        };
        self.report.effects().iter().filter(changes).count()
    }

    /// The names in the index that may decide something; `None` where the command itself may have put others there, or
    /// there are too many.
    fn deciding_names(&mut self, sub: &str) -> Option<Vec<String>> {
        // One of them is this command.
        if self.index_changes() > usize::from(sub != "stash") {
            return None;
        }
        self.repository()?;
        match self.git_index() {
            Some(index) => (!index.lacks_names).then(|| index.deciding.clone()),
            None => Some(Vec::new()),
        }
    }

    /// Whether a path is one file, and no pattern or directory.
    fn is_plain_file(&self, path: &Text) -> bool {
        let plain = |raw: &str| !raw.starts_with(':') && !raw.contains(['*', '?', '[']);
        let place = path.whole().filter(|raw| plain(raw)).and_then(|_| self.one_place(path));
        place.is_some_and(|place| {
            let found = self.scene.world.look(Path::new(&place));
            found.is_ok_and(|node| node.kind != toolgate_model::NodeKind::Directory)
        })
    }

    fn brought_by_git(&mut self, path: &Text) {
        if let Some(place) = self.one_place(path) {
            self.touch_place(Access::Write, Reach::Met, place);
        }
    }

    /// `git update-index --cacheinfo 100644,HASH,PATH`: a name in the index that no file of the worktree has.
    fn put_into_index(&mut self, reading: &Reading, arguments: &[Text]) {
        if reading.options.iter().any(|given| matches!(given.name, "--index-info" | "--stdin")) {
            self.unknown(Gap::Doubt(Doubt::Members), "git update-index");
        }
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let raw = word.raw();
            let joined = raw.strip_prefix("--cacheinfo=").map(str::to_owned);
            let Some(info) = joined.or_else(|| (raw == "--cacheinfo").then(String::new)) else { continue };
            let info = if info.is_empty() {
                words.next().map(|word| word.raw().to_owned()).unwrap_or_default()
            } else {
                info
            };
            let name = match info.splitn(3, ',').nth(2) {
                Some(name) => name.to_owned(),
                // The old form: a word each.
                None => words.nth(1).map(|word| word.raw().to_owned()).unwrap_or_default(),
            };
            if name.is_empty() || name.contains(is_mark) {
                self.unknown(Gap::Doubt(Doubt::Members), "git update-index --cacheinfo");
                continue;
            }
            let top = self.git_top().unwrap_or_default();
            self.touch(Access::Write, Reach::Exact, &Text::known(&name));
            if !top.is_empty() {
                self.touch(Access::Write, Reach::Exact, &Text::known(&format!("{top}/{name}")));
            }
        }
    }

    /// `git mv`
    fn git_moved(&mut self, reading: &Reading, operands: &[Text]) {
        let [sources @ .., destination] = operands else { return };
        let Some(into) = self.one_place(destination) else {
            self.unknown(Gap::Doubt(Doubt::Members), "git mv");
            return;
        };
        for source in sources {
            let Some(from) = self.one_place(source) else {
                self.unknown(Gap::Doubt(Doubt::Members), "git mv");
                continue;
            };
            let name = if sources.len() > 1 || self.may_be_directory(&into) {
                format!("{into}/{}", toolgate_model::base_name(&from))
            } else {
                into.clone()
            };
            let name = clean(Path::new(&name)).to_string_lossy().into_owned();
            self.touch_place(Access::Write, Reach::Met, name.clone());
            self.doubts.change_files();
            self.copied_one("mv", reading, &from, &name, Flow::Any);
        }
    }
}

/// `git restore`
fn restored(reading: &Reading, operands: &[Text]) -> (Source, Vec<Text>) {
    let has = |names: &[&str]| reading.options.iter().any(|given| names.contains(&given.name));
    let source = if has(&["-S", "--staged"]) && !has(&["-W", "--worktree"]) {
        Source::Nowhere
    } else if has(&["-s", "--source", "-S", "--staged", "--pathspec-from-file"]) {
        Source::Commit
    } else {
        Source::Index
    };
    (source, operands.to_vec())
}

/// `git subtree` with a commit of this repository. What it takes from a remote is as good as a pull.
fn brings_subtree(reading: &Reading, operands: &[Text]) -> bool {
    match reading.sub.get(1) {
        Some(&"merge") => true,
        Some(&"add") => operands.len() < 2,
        _ => false,
    }
}
