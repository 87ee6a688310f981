//! git shows files too: a revision's by its name, and whatever changed in passing.
//!
//! What is named counts as read. What is not named counts as read where the index has a secret file that the paths
//! of the command do not leave out; a repository without one is not concerned.

use std::path::Path;

use toolgate_model::{Access, Doubt, Gap, Reach, SecretName, clean, secret_name, secret_pattern};

use super::text::Text;
use super::{Interpreter, matches_name};
use crate::spec::Reading;

/// So many secret files are listed.
const MAX_TOLD: usize = 16;

/// The paths of a command, as git takes them.
#[derive(Default)]
struct Paths {
    /// Those that are shown, where there are any.
    only: Vec<String>,
    /// Those that are left out.
    without: Vec<String>,
}

impl Interpreter<'_, '_> {
    /// Tells the secret files that a sub-command shows.
    pub(super) fn git_reads(&mut self, reading: &Reading, operands: &[Text], arguments: &[Text]) {
        let Some(shows) = shows(reading) else { return };
        let separator = arguments.iter().position(|word| word.raw() == "--");
        let top = match self.git_top() {
            Some(top) => top,
            None => match self.state.cwd.as_slice() {
                [cwd] => cwd.to_string(),
                _ => String::new(),
            },
        };
        let behind: Vec<&Text> =
            separator.map(|at| arguments.iter().skip(at + 1).collect()).unwrap_or_default();
        let mut paths = Paths::default();
        let mut named = false;
        for operand in operands {
            let raw = operand.raw();
            let is_path = behind.contains(&operand);
            match of_revision(raw).filter(|_| !is_path) {
                // A revision's file, from the top of the repository or from here.
                Some(path) => {
                    let from_here = path.starts_with("./") || path.starts_with("../");
                    named |= self.shown_by_git(path, if from_here { "" } else { &top });
                }
                None => named |= self.git_path(raw, is_path, &mut paths),
            }
        }
        for given in reading.options.iter().filter(|given| given.name == "-L") {
            let range = given.value.map(|slot| super::apply::slot_text(arguments, &slot)).unwrap_or_default();
            if let Some((_, path)) = range.raw().rsplit_once(':') {
                named |= self.shown_by_git(path, "");
            }
        }
        // `git show HEAD:a` is that file and no change.
        let one_file = reading.sub.first() == Some(&"show")
            && operands.iter().any(|operand| of_revision(operand.raw()).is_some());
        if !named && !one_file && shows == GitShows::Changes {
            self.shown_in_passing(&top, &paths);
        }
    }

    /// One path of the command; says whether it names a secret file.
    fn git_path(&mut self, raw: &str, is_path: bool, paths: &mut Paths) -> bool {
        let left_out = [":!", ":^", ":(exclude)"].iter().find_map(|start| raw.strip_prefix(start));
        if let Some(path) = left_out {
            paths.without.push(path.to_owned());
            return false;
        }
        let magic = raw
            .strip_prefix(":/")
            .or_else(|| raw.strip_prefix(":(").and_then(|rest| Some(rest.split_once(')')?.1)));
        let path = magic.unwrap_or(raw);
        if self.shown_by_git(path, "") {
            return true;
        }
        let there = || {
            self.one_place(&Text::known(path))
                .is_some_and(|place| self.scene.world.look(Path::new(&place)).is_ok())
        };
        if is_path || magic.is_some() || there() {
            paths.only.push(path.to_owned());
        }
        false
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

    fn shown_in_passing(&mut self, top: &str, paths: &Paths) {
        let Some(index) = self.git_index() else { return };
        let Some(covers) = self.coverage(top) else { return };
        let shown = index.secrets.iter().filter(|name| {
            (paths.only.is_empty() || paths.only.iter().any(|pattern| covers(pattern, name)))
                && !paths.without.iter().any(|pattern| covers(pattern, name))
        });
        let shown: Vec<&String> = shown.collect();
        for name in shown.iter().take(MAX_TOLD) {
            self.touch_place(Access::Search, Reach::Exact, format!("{top}/{name}"));
        }
        if index.has_more || shown.len() > MAX_TOLD {
            self.unknown(Gap::Doubt(Doubt::Secrets), "more tracked files than are looked at");
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
            let from = clean(Path::new(&format!("{here}/{pattern}"))).to_string_lossy().into_owned();
            let whole = format!("{top}/{name}");
            let last = name.rsplit('/').next().unwrap_or(name);
            toolgate_model::below(from.as_bytes(), whole.as_bytes()).is_some()
                || matches_name(&from, &whole)
                || matches_name(pattern.trim_start_matches("**/"), last)
        })
    }
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
    let has = |names: &[&str]| reading.options.iter().any(|given| names.contains(&given.name));
    let patch = has(&["-p", "-u", "--patch", "-U", "-W", "--patch-with-stat", "-c", "--cc", "-L"]);
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
        ["cat-file", ..] => (!has(&["-e", "-s", "-t"])).then_some(GitShows::Named),
        // The name of an object is as good as what is in it, for who asks by it.
        ["blame" | "archive" | "mv" | "rev-parse", ..] => Some(GitShows::Named),
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
