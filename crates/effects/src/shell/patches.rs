//! Patches: the files that `git apply`, `git am` and `patch` change.
//!
//! Against whom: a patch that names one file where a reader looks and another where the program does. So whatever could be a
//! header counts as one, wherever it stands, under every name that the program may make of it. A form that is not read here
//! makes all names unknown.

use std::path::Path;

use toolgate_model::{Access, Doubt, Gap, NodeKind, Reach, base_name};

use super::Interpreter;
use super::apply::slot_text;
use super::text::Text;
use super::trees::value;
use crate::spec::{Reading, WordKind};

/// Lines that name a file of a tree, whose leading directories are taken off.
const NAMES: [&str; 2] = ["--- ", "+++ "];
/// The same, for `patch` only.
const NAMES_OF_PATCH: [&str; 2] = ["*** ", "Index: "];
/// Lines of git's own that name a file. Their names have one leading directory less.
const MOVES: [(&str, Access); 6] = [
    ("rename from ", Access::Delete),
    ("rename old ", Access::Delete),
    ("rename to ", Access::Write),
    ("rename new ", Access::Write),
    ("copy from ", Access::Read),
    ("copy to ", Access::Write),
];
const GIT: &str = "diff --git ";
/// A name with more blanks than this is not read.
const MAX_BLANKS: usize = 8;

/// Who reads a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    Apply,
    Mail,
    Patch,
}

/// A file as a patch names it, and what happens to it.
#[derive(Debug, PartialEq, Eq)]
struct Named<'p> {
    access: Access,
    name: &'p str,
    /// Whether it has one leading directory less.
    is_move: bool,
}

impl Interpreter<'_, '_> {
    /// The files and links that a patch names, where the patch can be seen: in a here-document, or in a file.
    pub(super) fn applied(&mut self, reading: &Reading, arguments: &[Text]) {
        let reader = match reading.sub.first() {
            Some(&"apply") => Reader::Apply,
            Some(&"am") => Reader::Mail,
            _ => Reader::Patch,
        };
        let files: Vec<Text> = reading
            .uses
            .iter()
            .filter(|(kind, _)| *kind == WordKind::Read)
            .map(|(_, slot)| slot_text(arguments, slot))
            .collect();
        let patch = if files.is_empty() {
            self.bytes(None)
        } else {
            let all = files.iter().map(|file| self.bytes(Some(file)));
            all.collect::<Option<Vec<_>>>().map(|all| all.join(&b'\n'))
        };
        let patch = patch.and_then(|patch| String::from_utf8(patch).ok());
        let found = patch.as_deref().and_then(|patch| Some((names(reader, patch)?, links(patch)?)));
        let given = ["-p", "--strip"].iter().find_map(|name| value(reading, arguments, name));
        let given = given.map(|count| count.raw().parse::<usize>());
        let (Some((names, links)), None | Some(Ok(_))) = (found, &given) else {
            self.unknown(Gap::Doubt(Doubt::Members), reading.spec.name());
            return;
        };
        let strip = match given {
            Some(Ok(count)) => Strip::Exactly(count),
            _ if reader == Reader::Patch => Strip::Guessed(1),
            _ => Strip::Guessed(1 + self.depth_below_top()),
        };
        let below = value(reading, arguments, "--directory").map(|below| below.raw().to_owned());
        // A mail is applied from the top, whatever directory one is in.
        let top = if reader == Reader::Mail { self.git_top() } else { None };
        let spelled = |name: &str, is_move: bool| -> Vec<Text> {
            let stripped = strip.apply(name, is_move, reader == Reader::Patch);
            let place = |name: &str| {
                let parts = top.iter().map(String::as_str).chain(below.as_deref()).chain([name]);
                Text::known(&parts.collect::<Vec<_>>().join("/"))
            };
            stripped.into_iter().map(place).collect()
        };
        for Named { access, name, is_move } in &names {
            for path in spelled(name, *is_move) {
                self.touch(*access, Reach::Exact, &path);
                // A link that is moved leads elsewhere from there.
                let is_source = *is_move && *access != Access::Write;
                let place = self.one_place(&path);
                let is_link = |place: String| {
                    let found = self.scene.world.look(Path::new(&place));
                    found.is_ok_and(|node| matches!(node.kind, NodeKind::Link(_)))
                };
                if is_source && place.is_none_or(is_link) {
                    self.unknown(Gap::Doubt(Doubt::Members), reading.spec.name());
                }
            }
        }
        for (name, leads) in links {
            let paths = spelled(name, false);
            for at in paths.iter().filter_map(|path| self.one_place(path)).collect::<Vec<_>>() {
                self.brought_link(&at, leads);
            }
        }
    }

    /// How many directories one is below the top of the worktree.
    fn depth_below_top(&self) -> usize {
        let (Some(top), Some(here)) = (self.git_top(), self.one_place(&Text::known("."))) else { return 0 };
        let below = Path::new(&here).strip_prefix(&top);
        below.map_or(0, |below| below.components().count())
    }
}

/// How many leading directories are taken off a name.
#[derive(Debug, Clone, Copy)]
enum Strip {
    Exactly(usize),
    /// The program finds out by itself; up to this many.
    Guessed(usize),
}

impl Strip {
    /// The names that may be meant.
    fn apply(self, name: &str, is_move: bool, takes_base: bool) -> Vec<&str> {
        let without = |count: usize| {
            let mut rest = name;
            for _ in 0..count {
                rest = rest.split_once('/')?.1.trim_start_matches('/');
            }
            Some(rest).filter(|rest| !rest.is_empty())
        };
        match self {
            Strip::Exactly(count) if is_move => without(count.saturating_sub(1)).into_iter().collect(),
            Strip::Exactly(count) => without(count).into_iter().collect(),
            Strip::Guessed(most) => {
                let base = takes_base.then(|| base_name(name));
                (0..=most).filter_map(without).chain(base).collect()
            }
        }
    }
}

/// All that the patch names; `None` where it is written in a way that is not read here, or names nothing.
fn names(reader: Reader, patch: &str) -> Option<Vec<Named<'_>>> {
    let mut named = Vec::new();
    for line in patch.lines() {
        let line = match reader {
            // It takes patches that are indented.
            Reader::Patch => line.trim_start_matches([' ', '\t', 'X']),
            Reader::Apply | Reader::Mail => line,
        };
        if (reader == Reader::Patch && is_edit_command(line)) || (reader == Reader::Mail && is_encoded(line))
        {
            return None;
        }
        if let Some(both) = line.strip_prefix(GIT) {
            let found = of_git_header(both)?;
            named.extend(found.into_iter().map(|name| Named { access: Access::Write, name, is_move: false }));
        } else if let Some((head, access)) = MOVES.iter().find(|(head, _)| line.starts_with(head)) {
            let name = line.get(head.len()..)?.trim_end();
            named.push(Named { access: *access, name: unquoted(name)?, is_move: true });
        } else {
            let more = NAMES_OF_PATCH.iter().filter(|_| reader == Reader::Patch);
            let head = NAMES.iter().chain(more).find(|head| line.starts_with(**head));
            let Some(rest) = head.and_then(|head| line.get(head.len()..)) else { continue };
            // A date may follow, behind a tab or a blank.
            let rest = unquoted(rest.split('\t').next()?.trim())?;
            let ends = rest.match_indices(' ').map(|(at, _)| at).chain([rest.len()]);
            let all: Vec<&str> = ends.filter_map(|end| rest.get(..end)).collect();
            if all.len() > MAX_BLANKS {
                return None;
            }
            let is_name = |name: &&str| !matches!(*name, "" | "/dev/null");
            let names = all.into_iter().filter(is_name);
            named.extend(names.map(|name| Named { access: Access::Write, name, is_move: false }));
        }
    }
    (!named.is_empty()).then_some(named)
}

/// The names that `diff --git a/x b/x` gives: a file that is only made, or only gets another mode, has no other.
fn of_git_header(both: &str) -> Option<Vec<&str>> {
    let both = both.trim_end();
    if both.contains('"') {
        return None;
    }
    let below_first = |name: &str| name.split_once('/').map(|(_, rest)| rest.to_owned());
    let is_same = |(one, other): &(&str, &str)| below_first(one) == below_first(other);
    let halves =
        || both.match_indices(' ').filter_map(|(at, _)| Some((both.get(..at)?, both.get(at + 1..)?)));
    let mut pairs: Vec<(&str, &str)> = halves().filter(is_same).collect();
    if let ([], Some((one, other))) = (pairs.as_slice(), both.split_once(' ')) {
        pairs.push((one, other));
    }
    Some(pairs.into_iter().flat_map(|(one, other)| [one, other]).collect())
}

fn unquoted(name: &str) -> Option<&str> {
    (!name.starts_with('"')).then_some(name)
}

/// `3a`, `1,2d`, `5c7`: a command of `ed`, or of a diff without context.
fn is_edit_command(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ',');
    rest.len() < line.len() && rest.starts_with(['a', 'c', 'd', 'i', 's'])
}

/// Whether a mail says that its text is not written as it is read.
fn is_encoded(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    if let Some(encoding) = line.strip_prefix("content-transfer-encoding:") {
        return !matches!(encoding.trim(), "7bit" | "8bit");
    }
    let is_other_kind =
        line.strip_prefix("content-type:").is_some_and(|kind| !kind.trim().starts_with("text/plain"));
    let charset = line.split_once("charset=").map(|(_, charset)| charset.trim_start_matches('"'));
    is_other_kind
        || charset.is_some_and(|charset| !charset.starts_with("utf-8") && !charset.starts_with("us-ascii"))
}

/// The links that a patch makes or changes, and where each leads; `None` where it does not say.
fn links(patch: &str) -> Option<Vec<(&str, &str)>> {
    let mut links: Vec<(Vec<&str>, Option<&str>)> = Vec::new();
    let mut names = Vec::new();
    let mut is_link = false;
    for line in patch.lines() {
        if let Some(both) = line.strip_prefix(GIT) {
            (names, is_link) = (of_git_header(both)?, false);
        } else if ["new file mode ", "new mode ", "old mode ", "index "]
            .iter()
            .any(|head| line.starts_with(head))
            && line.trim_end().ends_with("120000")
        {
            if !is_link {
                links.push((names.clone(), None));
            }
            is_link = true;
        } else if is_link && MOVES.iter().any(|(head, _)| line.starts_with(head)) {
            return None;
        } else if is_link
            && let Some(leads) = line.strip_prefix('+').filter(|_| !line.starts_with("+++ "))
            && let Some((_, of_last)) = links.last_mut()
        {
            *of_last = Some(leads);
        }
    }
    let mut all = Vec::new();
    for (names, leads) in links {
        let leads = leads.filter(|_| !names.is_empty())?;
        all.extend(names.into_iter().map(|name| (name, leads)));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(reader: Reader, patch: &str) -> Option<Vec<&str>> {
        Some(names(reader, patch)?.into_iter().map(|named| named.name).collect())
    }

    #[test]
    fn the_links_of_a_patch_are_read() {
        let link = "diff --git a/d b/d\nnew file mode 120000\nindex 0..1\n--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+/etc\n\\ No newline\n";
        let file =
            "diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+120000\n";
        let both = [("a/d", "/etc"), ("b/d", "/etc")];
        assert_eq!(links(&format!("{file}{link}{file}")), Some(both.to_vec()));
        assert_eq!(links(file), Some(vec![]));
        let packed = "diff --git a/d b/d\nnew file mode 120000\nGIT binary patch\nliteral 4\n";
        assert_eq!(links(packed), None);
        let changed = "diff --git a/d b/d\nindex 1..2 120000\n--- a/d\n+++ b/d\n@@ -1 +1 @@\n-a\n+/etc\n";
        assert_eq!(links(changed), Some(both.to_vec()));
    }

    #[test]
    fn a_name_that_is_not_plain_is_not_read() {
        assert_eq!(written(Reader::Apply, "--- /dev/null\n+++ \"b/.claude\\057settings.json\"\n"), None);
        assert_eq!(written(Reader::Apply, "diff --git \"a/x\" \"b/x\"\nnew file mode 100644\n"), None);
        assert!(written(Reader::Apply, "--- a/x\n+++ b/x\n+said \"so\"\n").is_some());
        assert_eq!(written(Reader::Patch, "Index: x\n1a2\n> y\n"), None, "a diff without context");
        assert_eq!(written(Reader::Patch, "--- x\n+++ x\n1d\n"), None, "a script for ed");
        let mail = |encoding: &str| format!("Content-Transfer-Encoding: {encoding}\n\n--- a/x\n+++ b/x\n");
        assert_eq!(written(Reader::Mail, &mail("base64")), None);
        assert_eq!(written(Reader::Mail, &mail("")), None, "on the next line");
        assert_eq!(written(Reader::Mail, &mail("8bit")), Some(vec!["a/x", "b/x"]));
        assert_eq!(written(Reader::Apply, "no patch"), None);
    }

    #[test]
    fn every_way_to_name_a_file_is_read() {
        for (reader, patch, name) in [
            (Reader::Apply, "diff --git a/t b/t\nnew file mode 100644\n", "b/t"),
            (Reader::Apply, "diff --git a/a t b/a t\nnew file mode 100644\n", "b/a t"),
            (Reader::Apply, "diff --git a/l b/l\nrename old l\nrename new t\n", "t"),
            (Reader::Apply, "diff --git i/t w/t\n--- i/t\n+++ w/t\n", "w/t"),
            (Reader::Apply, "--- a/t 2026-01-01 10:00:00 +0000\n+++ b/t 2026-01-01 10:00:00 +0000\n", "b/t"),
            (Reader::Patch, "  --- t\n  +++ t\n  @@ -1 +1 @@\n", "t"),
            (Reader::Patch, "X*** t\nX--- /dev/null\n", "t"),
            (Reader::Patch, "Index: t\n--- \n+++ \n@@ -1 +1 @@\n", "t"),
        ] {
            assert!(written(reader, patch).is_some_and(|names| names.contains(&name)), "{patch}");
        }
    }

    #[test]
    fn leading_directories_are_taken_off_as_the_program_does() {
        assert_eq!(Strip::Exactly(1).apply("a/b/c", false, false), ["b/c"]);
        assert_eq!(Strip::Exactly(2).apply("b/c", true, false), ["c"]);
        assert_eq!(Strip::Exactly(2).apply("a", false, false), [""; 0]);
        assert_eq!(Strip::Guessed(1).apply("a/b/c", false, false), ["a/b/c", "b/c"]);
        assert_eq!(Strip::Guessed(1).apply("a/b/c", false, true), ["a/b/c", "b/c", "c"]);
    }
}
