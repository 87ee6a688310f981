//! git shows files too: a revision's by its name, and whatever changed in passing.
//!
//! What is named counts as read. What is not named counts as read where the index has a file of secrets that the paths
//! of the command do not leave out; a repository without one is not concerned.

use std::path::Path;

use toolgate_model::{Access, Reach, SecretName, clean, secret_name, secret_pattern};

use super::text::Text;
use super::{Interpreter, matches_name};
use crate::spec::Reading;

/// So much of an index is read: some thirty thousand files.
const MAX_INDEX: usize = 4 * 1024 * 1024;
/// So many files of secrets are listed.
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
    /// Tells the files of secrets that a sub-command shows.
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

    /// One path of the command; says whether it names a file of secrets.
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
        let Some(index) = self.git_directory().map(|directory| directory.join("index")) else { return };
        let Ok(bytes) = self.scene.world.read(&index, MAX_INDEX) else { return };
        let here = match self.state.cwd.as_slice() {
            [cwd] => cwd.to_string(),
            _ => return,
        };
        let covers = |pattern: &String, name: &str| {
            let from = clean(Path::new(&format!("{here}/{pattern}"))).to_string_lossy().into_owned();
            let whole = format!("{top}/{name}");
            let last = name.rsplit('/').next().unwrap_or(name);
            toolgate_model::below(from.as_bytes(), whole.as_bytes()).is_some()
                || matches_name(&from, &whole)
                || matches_name(pattern.trim_start_matches("**/"), last)
        };
        let tracked = tracked(&bytes);
        let secrets = tracked.iter().filter(|name| secret_name(name) == Some(SecretName::Settings));
        let shown = secrets.filter(|name| {
            (paths.only.is_empty() || paths.only.iter().any(|pattern| covers(pattern, name)))
                && !paths.without.iter().any(|pattern| covers(pattern, name))
        });
        for name in shown.take(MAX_TOLD) {
            self.touch_place(Access::Search, Reach::Exact, format!("{top}/{name}"));
        }
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
        ["blame" | "archive" | "mv", ..] => Some(GitShows::Named),
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

/// The names in an index, of any of its versions; as far as it can be read.
fn tracked(index: &[u8]) -> Vec<String> {
    const FIXED: usize = 62;
    const EXTENDED: u8 = 0x40;
    let number =
        |at: usize| index.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
    let (true, Some(version), Some(count)) = (index.starts_with(b"DIRC"), number(4), number(8)) else {
        return Vec::new();
    };
    let mut names = Vec::new();
    let mut at = 12;
    let mut before: Vec<u8> = Vec::new();
    for _ in 0..count {
        let Some(flags) = index.get(at + FIXED - 2) else { break };
        let mut from = at + FIXED + if flags & EXTENDED == 0 { 0 } else { 2 };
        if version >= 4 {
            let Some((dropped, length)) = index.get(from..).and_then(offset) else { break };
            before.truncate(before.len().saturating_sub(dropped));
            from += length;
        } else {
            before.clear();
        }
        let Some(length) = index.get(from..).and_then(|rest| rest.iter().position(|byte| *byte == 0)) else {
            break;
        };
        before.extend(index.get(from..from + length).unwrap_or_default());
        names.push(String::from_utf8_lossy(&before).into_owned());
        // Up to version 3 an entry is filled up to eight bytes, with one NUL at least.
        at = if version >= 4 { from + length + 1 } else { at + (from + length - at) / 8 * 8 + 8 };
    }
    names
}

/// A number as version 4 writes it, and how many bytes it takes.
fn offset(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value = (value << 7) + usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
        value += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(version: u32, names: &[&str]) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend(u32::try_from(names.len()).unwrap().to_be_bytes());
        let mut before = "";
        for name in names {
            let start = bytes.len();
            bytes.extend([0; 62]);
            if version == 4 {
                let common = before.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
                bytes.push(u8::try_from(before.len() - common).unwrap());
                bytes.extend(&name.as_bytes()[common..]);
                bytes.push(0);
            } else {
                bytes.extend(name.as_bytes());
                bytes.push(0);
                while !(bytes.len() - start).is_multiple_of(8) {
                    bytes.push(0);
                }
            }
            before = name;
        }
        bytes
    }

    #[test]
    fn an_index_of_any_version_is_read() {
        let names = [".env", "src/a.rs", "src/ab.rs", "web/.env.local"];
        for version in [2, 3, 4] {
            let bytes = index(version, &names);
            assert_eq!(tracked(&bytes), names, "{version}");
            // What is cut off or mangled ends the list and nothing else.
            for end in 0..bytes.len() {
                let _ = tracked(&bytes[..end]);
            }
        }
        assert!(tracked(b"DIRC\xff\xff\xff\xff\xff\xff\xff\xff").is_empty());
    }

    #[test]
    fn offsets_are_decoded_as_git_encodes_them() {
        assert_eq!(offset(&[5]), Some((5, 1)));
        assert_eq!(offset(&[0x80, 0]), Some((128, 2)));
        assert_eq!(offset(&[0x80]), None);
    }
}
