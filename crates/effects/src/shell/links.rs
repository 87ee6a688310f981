//! Links below a directory: where a command is led that goes through a tree, or that is given names which are only known
//! when it runs.
//!
//! Against whom: a contained program of an earlier call, or whoever made the repository. Among ordinary files they leave a link
//! that leads out, and `find . -name '*.txt' | xargs cat` follows it outside of every sandbox. So whatever is used by a name that
//! is not known is looked for on the disk. Where a link among it leads elsewhere the command is doubted, and contained; so it is past
//! the bound of the look. A pattern's matches are known by their names, and judged one by one.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use toolgate_model::{Access, Doubt, EntryKind, Gap, NodeKind, Resolved, Resolver, World, base_name, clean};

use super::evaluated::begins_code;
use super::text::{
    ANY, CLASS, INNER, MAX_SOLID, NAME, NUMBER, ONE, OWN, PIECE, STAR, Text, UNBROKEN, is_mark, solid_mark,
    solid_number,
};
use super::words::may_make_settings;
use super::{Interpreter, glob};
use crate::shell::places::{Located, is_named_secret};

/// What one command may have looked at: an entry costs one, a directory some more.
const MAX_LOOKED_AT: usize = 2_048;
/// What opening a directory costs.
const DIRECTORY: usize = 8;
/// Links whose targets are looked at.
const MAX_TOLD: usize = 32;
/// Directories of hosts and teams, in lower case.
pub(super) const SETTINGS_DIRECTORIES: &[&str] = &[
    ".agents",
    ".ai-team",
    ".claude",
    ".claude-plugin",
    ".codex",
    ".codex-plugin",
    ".copilot",
    ".cursor",
    ".gemini",
    ".git",
    ".github",
    ".opencode",
    ".pi",
    ".qwen",
    ".squad",
    ".vscode",
];
/// Files of settings that lie anywhere.
pub(super) const SETTINGS_FILES: &[&str] =
    &[".claude.json", ".lsp.json", ".mcp.json", "opencode.json", "opencode.jsonc", "toolgate.toml"];

/// Whether a directory of this name, in whatever case, is one of a host or a team.
pub(super) fn is_settings_directory(name: &str) -> bool {
    SETTINGS_DIRECTORIES.iter().any(|known| name.eq_ignore_ascii_case(known)) || name.contains(is_mark)
}

/// Names of which not all is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Among {
    /// The directory in which they lie.
    pub(super) directory: String,
    /// The rest of their path, with marks.
    pub(super) rest: String,
    /// More of them match than are told apart.
    pub(super) is_past: bool,
}

/// What a look has found.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Links.
    links: Vec<String>,
    /// Files that may be settings of a host or of ours: whatever lies in a hidden directory or goes by such a name.
    settings: Vec<String>,
    /// Whether a name is there that a shell or `xargs` would take apart.
    is_odd: bool,
    /// Whether a name is there that means something to a shell which takes it for code.
    is_code: bool,
    /// Whether a name is there that means something to an evaluator of `evaluated`.
    begins_code: bool,
    /// Where git keeps branches, which may be called anything.
    branches: Option<PathBuf>,
    /// Whether something was left out.
    is_cut: bool,
}

/// What has been looked at so far.
#[derive(Default)]
pub(super) struct Links {
    seen: Vec<(Among, Rc<Found>)>,
    /// What was told already: which names, of which use, and how many links the command had made by then.
    told: Vec<(Among, Access, usize)>,
    /// Entries that were looked at.
    spent: usize,
    /// Directories below which only regular files, or only directories, were asked for, each with a mark of its own.
    solid: Vec<String>,
}

impl Interpreter<'_, '_> {
    /// The mark for regular files below a directory, as something prints them that goes through no link; `None` where
    /// the directory is not known, or there are too many.
    pub(super) fn solid_below(&mut self, directory: &Text) -> Option<char> {
        let place = self.one_place(directory)?;
        // The operand itself may be a link, and is followed then.
        let is_plain = |node: &toolgate_model::Node| node.kind == NodeKind::Directory;
        if !self.scene.world.look(Path::new(&place)).is_ok_and(|node| is_plain(&node)) {
            return None;
        }
        let known = self.links.solid.iter().position(|known| *known == place);
        let number = match known {
            Some(number) => number,
            None if self.links.solid.len() < MAX_SOLID => {
                self.links.solid.push(place);
                self.links.solid.len() - 1
            }
            None => return None,
        };
        solid_mark(number)
    }

    /// Whether a path is one that was printed for a regular file below this very directory.
    fn is_solid(&self, among: &Among) -> bool {
        let number = among.rest.chars().next_back().and_then(solid_number);
        let place = clean(Path::new(&among.directory));
        number.and_then(|number| self.links.solid.get(number)).is_some_and(|known| Path::new(known) == place)
    }

    /// What a name that is not known leads to, where it is a link.
    pub(super) fn met(&mut self, access: Access, among: &Among) {
        let counts = match access {
            // Names behind a link are no more than names.
            Access::List | Access::Enter | Access::Link => false,
            Access::Read | Access::Search | Access::Append | Access::Write | Access::Delete => true,
        };
        let is_solid = self.is_solid(among);
        if !counts || (is_solid && !access.changes()) {
            return;
        }
        if among.is_past {
            self.unknown(Gap::Doubt(Doubt::Names), &shown(among));
            return;
        }
        let found = self.look_among(among);
        if found.is_cut {
            self.unknown(Gap::Doubt(Doubt::Names), &shown(among));
            return;
        }
        self.tell_settings(access, &found);
        if !is_solid {
            self.tell_links(access, among, &found);
        }
    }

    /// A name of which not all is known may be that of a host's settings.
    pub(super) fn named_unknown(&mut self, access: Access, among: &Among) {
        if access.fills() && may_make_settings(&among.rest) {
            self.unknown(Gap::Doubt(Doubt::Members), &shown(among));
        }
    }

    /// Files that may decide what agents do count where one of them may be changed.
    fn tell_settings(&mut self, access: Access, found: &Found) {
        if let Some(file) = found.settings.first().filter(|_| access.changes()).cloned() {
            self.unknown(Gap::Doubt(Doubt::Names), &file);
        }
    }

    /// All that lies below a directory, links followed: at any depth, or right in it where the mark is that of a name.
    pub(super) fn followed_below(&mut self, access: Access, directory: &Text, mark: char) {
        for located in self.located(directory) {
            if let Located::Exact(directory) = located {
                self.met(access, &Among { directory, rest: mark.to_string(), is_past: false });
            }
        }
    }

    /// A name that is taken apart at blanks where it is not known: a directory called `a ` makes `a /etc/x` of what lies in it, and
    /// so does one that a pattern has found.
    pub(super) fn taken_apart(&mut self, path: &Text) {
        let is_open = |letter: char| matches!(letter, INNER | STAR | ONE | CLASS);
        if !path.raw().contains(is_open) || path.raw().contains(UNBROKEN) {
            return;
        }
        for located in self.located(path) {
            let among = match located {
                Located::Child { among, .. } | Located::Below { among, .. } => among,
                Located::Exact(place) => {
                    let own = |cwd: &Rc<str>| place.strip_prefix(&**cwd);
                    if self.state.cwd.iter().find_map(own).unwrap_or(&place).contains(is_separating) {
                        self.unknown(Gap::Doubt(Doubt::Names), &place);
                    }
                    None
                }
                Located::Unknown => None,
            };
            let Some(among) = among else { continue };
            let found = self.look_among(&among);
            if found.is_cut || found.is_odd {
                self.unknown(Gap::Doubt(Doubt::Names), &shown(&among));
            }
        }
    }

    /// Whether one of the names in these directories, or in the working directory, is taken apart by whoever reads them as a list.
    pub(super) fn lists_odd_names(&mut self, directories: &[Text]) -> bool {
        let here = [Text::known(".")];
        let directories = if directories.is_empty() { &here } else { directories };
        let located: Vec<Located> = directories.iter().flat_map(|path| self.located(path)).collect();
        located.into_iter().any(|located| match located {
            Located::Exact(place) => self.has_odd_names(Path::new(&place)),
            // What the pattern finds, and what lies in the directories among it.
            Located::Child { among: Some(among), .. } | Located::Below { among: Some(among), .. } => {
                let inside = Among { rest: format!("{}/{STAR}", among.rest), ..among.clone() };
                [among, inside].iter().any(|among| {
                    let found = self.look_among(among);
                    found.is_odd || found.is_cut
                })
            }
            Located::Child { among: None, .. } | Located::Below { among: None, .. } => false,
            Located::Unknown => true,
        })
    }

    fn has_odd_names(&self, directory: &Path) -> bool {
        let is_odd = |path: &Path| {
            path.file_name().is_none_or(|name| name.to_str().is_none_or(|name| name.contains(is_separating)))
        };
        match self.scene.world.entries(directory, MAX_LOOKED_AT) {
            Ok(Some(entries)) => entries.iter().any(|entry| is_odd(&entry.path)),
            Ok(None) => true,
            Err(error) => !is_nothing(error.kind()),
        }
    }

    /// Whether a shell that takes these names for code finds none in them.
    pub(super) fn has_no_code(&mut self, among: &Among) -> bool {
        let found = self.look_among(among);
        !among.is_past && !found.is_cut && !found.is_code
    }

    /// Whether one of these names has a letter that begins code, or may have.
    pub(super) fn has_code_names(&mut self, among: &Among) -> bool {
        let found = self.look_among(among);
        let branches = || {
            let directory = found.branches.as_ref()?.to_str()?.to_owned();
            Some(Among { directory, rest: INNER.to_string(), is_past: false })
        };
        among.is_past
            || found.is_cut
            || found.begins_code
            || (found.branches.is_some() && branches().is_none_or(|among| self.has_code_names(&among)))
    }

    fn tell_links(&mut self, access: Access, among: &Among, found: &Found) {
        if found.links.len() > MAX_TOLD {
            self.unknown(Gap::Doubt(Doubt::Names), &shown(among));
            return;
        }
        let made = self.state.disk.links_below(&among.directory);
        let telling = (among.clone(), access, made.len());
        if (found.links.is_empty() && made.is_empty()) || self.links.told.contains(&telling) {
            return;
        }
        self.links.told.push(telling);
        let resolver = Resolver::new(self.scene.world, None, None);
        let physical = |place: &str| resolver.walk(PathBuf::from(place)).ok().map(|found| found.physical);
        let own: Vec<PathBuf> = [Some(among.directory.as_str()), self.scene.root]
            .into_iter()
            .flatten()
            .filter_map(physical)
            .collect();
        let counts = |link: &&String| {
            let Ok(Resolved { physical, node, .. }) = resolver.walk(PathBuf::from(link)) else {
                // What leads in a circle, or where nobody may look, cannot be opened either.
                return false;
            };
            let is_inside = own.iter().any(|own| physical.starts_with(own));
            let is_open = || physical.to_str().is_some_and(super::programs::is_system_directory);
            match access {
                Access::Delete => !is_inside && node.is_some_and(|node| node.kind == NodeKind::Directory),
                _ if access.changes() => {
                    let rest = own.iter().rev().find_map(|own| physical.strip_prefix(own).ok());
                    !is_inside || rest.is_none_or(may_be_settings)
                }
                _ if is_inside => physical.to_str().is_none_or(|path| is_named_secret(base_name(path))),
                _ => !is_open(),
            }
        };
        // Which of the names the command comes to is not known, so none of them counts as used: a doubt, and no more.
        let told = found.links.iter().find(counts).cloned().or_else(|| made.first().cloned());
        if let Some(link) = told {
            self.unknown(Gap::Doubt(Doubt::Names), &link);
        }
    }

    /// Looks for links among names that are not known. Each look is made once.
    fn look_among(&mut self, among: &Among) -> Rc<Found> {
        if let Some((_, found)) = self.links.seen.iter().find(|(known, _)| known == among) {
            return found.clone();
        }
        let mut look = Look {
            world: self.scene.world,
            left: MAX_LOOKED_AT.saturating_sub(self.links.spent),
            root: self.scene.root.map(Path::new),
            own_git: self.scene.root.map(|root| Path::new(root).join(".git")),
            found: Found::default(),
        };
        look.go(among);
        self.links.spent = MAX_LOOKED_AT - look.left;
        let found = Rc::new(look.found);
        self.links.seen.push((among.clone(), found.clone()));
        found
    }

    /// All that lies below a directory, by its path from there, with what it is; `None` where that is more than can be told.
    pub(super) fn tree(&mut self, directory: &str, most: usize) -> Option<Vec<(String, EntryKind)>> {
        let mut all = Vec::new();
        let mut open = vec![PathBuf::from(directory)];
        while let Some(path) = open.pop() {
            let left = MAX_LOOKED_AT.saturating_sub(self.links.spent + DIRECTORY);
            let entries = match self.scene.world.entries(&path, left.min(most)) {
                Ok(entries) => entries?,
                Err(error) if is_nothing(error.kind()) => continue,
                Err(_) => return None,
            };
            self.links.spent += DIRECTORY + entries.len();
            for entry in entries {
                let rest = entry.path.strip_prefix(directory).ok()?.to_str()?.to_owned();
                // A repository that comes along whole is its own; whether it is heeded is asked where git runs.
                let is_git = base_name(&rest) == ".git" && rest.contains('/');
                if entry.kind == EntryKind::Directory && !is_git && rest != ".git" {
                    open.push(entry.path);
                }
                all.push((rest, entry.kind));
            }
            if all.len() > most {
                return None;
            }
        }
        Some(all)
    }
}

/// For people.
fn shown(among: &Among) -> String {
    Text::marked(format!("{}/{}", among.directory.trim_end_matches('/'), among.rest)).shown()
}

/// A character at which a shell or `xargs` takes names apart.
fn is_separating(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '\'' | '"' | '\\')
}

/// What is not there, or not ours to look at, is nothing to the command either.
fn is_nothing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied)
}

/// One look at names that are not known.
struct Look<'w> {
    world: &'w dyn World,
    left: usize,
    /// The session's root.
    root: Option<&'w Path>,
    /// The directory that git keeps for the session's own repository: no contained program can leave a link there.
    own_git: Option<PathBuf>,
    found: Found,
}

impl Look<'_> {
    fn go(&mut self, among: &Among) {
        let is_name = |name: &&str| !name.is_empty() && *name != ".";
        let names: Vec<&str> = among.rest.split('/').filter(is_name).collect();
        let mut open = vec![(PathBuf::from(&among.directory), 0)];
        while let Some((directory, at)) = open.pop() {
            let Some(name) = names.get(at) else { continue };
            let is_last = at + 1 == names.len();
            if !name.contains(is_mark) {
                match self.world.look(&directory.join(name)).map(|node| node.kind) {
                    Ok(NodeKind::Link(_)) => self.add(&directory.join(name)),
                    Ok(NodeKind::Directory) if !is_last => open.push((directory.join(name), at + 1)),
                    Ok(_) | Err(_) => {}
                }
                continue;
            }
            if self.left < DIRECTORY {
                self.found.is_cut = true;
                return;
            }
            self.left -= DIRECTORY;
            let entries = match self.world.entries(&directory, self.left) {
                Ok(Some(entries)) => entries,
                Err(error) if is_nothing(error.kind()) => continue,
                Ok(None) | Err(_) => {
                    self.left = 0;
                    self.found.is_cut = true;
                    return;
                }
            };
            self.left -= entries.len();
            // A path that leads down: whatever lies below counts, and what follows may stand at any depth.
            let is_deep = name.contains(INNER);
            let pattern = loose(name);
            for entry in entries {
                let Some(own) = entry.path.file_name().and_then(|name| name.to_str()) else {
                    self.found.is_odd = true;
                    self.found.is_code = true;
                    self.found.begins_code = true;
                    self.found.is_cut |= entry.kind == EntryKind::Link;
                    continue;
                };
                if !is_deep && glob::fits(&pattern, own) == Some(false) {
                    continue;
                }
                self.found.is_odd |= own.contains(is_separating);
                let is_plain = |c: char| c.is_alphanumeric() || "_.-+,:@%".contains(c);
                self.found.is_code |= !own.chars().all(is_plain);
                self.found.begins_code |= own.contains(begins_code);
                if matches!(entry.kind, EntryKind::File | EntryKind::Special)
                    && may_be_settings(self.within_root(&entry.path))
                {
                    self.found.settings.extend(entry.path.to_str().map(str::to_owned));
                }
                match entry.kind {
                    EntryKind::Link => self.add(&entry.path),
                    // A branch may be called anything.
                    EntryKind::Directory if self.own_git.as_ref() == Some(&entry.path) => {
                        self.found.is_code = true;
                        self.found.branches = is_deep.then(|| entry.path.join("refs"));
                    }
                    EntryKind::Directory if is_deep => open.push((entry.path, at)),
                    EntryKind::Directory if !is_last => open.push((entry.path, at + 1)),
                    EntryKind::Directory | EntryKind::File | EntryKind::Special => {}
                }
            }
        }
    }

    /// Its path from the session's root: what lies above that says nothing.
    fn within_root<'p>(&self, path: &'p Path) -> &'p Path {
        self.root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path)
    }

    fn add(&mut self, link: &Path) {
        match link.to_str() {
            Some(link) => self.found.links.push(link.to_owned()),
            None => self.found.is_cut = true,
        }
    }
}

/// Whether a file may decide what agents do: it lies in a directory of a host or a team, or goes by the name of such settings.
/// Only those that a look comes upon, so that a doubt can be told; which of them are closed is the policies' business.
fn may_be_settings(file: &Path) -> bool {
    file.iter().any(|name| {
        let name = name.to_string_lossy().to_lowercase();
        SETTINGS_DIRECTORIES.contains(&name.as_str()) || SETTINGS_FILES.contains(&name.as_str())
    })
}

/// A name with what is not known as anything that it may be.
pub(super) fn loose(name: &str) -> String {
    let is_blank = |c: char| {
        matches!(c, NAME | NUMBER | PIECE | INNER | ANY | UNBROKEN | OWN) || solid_number(c).is_some()
    };
    name.chars().map(|c| if is_blank(c) { STAR } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use std::io;

    use toolgate_model::{Effect, Entry, LookError, Node, NodeId, Unknown};

    use super::super::{Scene, analyse};
    use super::*;

    /// `/w/pad` with so many files, and a link that leads out.
    struct Many(usize);

    impl World for Many {
        fn look(&self, path: &Path) -> Result<Node, LookError> {
            let kind = match clean(path).to_str().unwrap_or_default() {
                "/" | "/w" | "/w/pad" => NodeKind::Directory,
                "/w/pad/link" => NodeKind::Link("/home/u/notes".into()),
                path if path.starts_with("/w/pad/f") => NodeKind::File,
                _ => return Err(LookError::Absent),
            };
            Ok(Node { kind, id: NodeId { device: 0, inode: 0 }, names: 1, changed: (0, 0) })
        }
        fn read(&self, _: &Path, _: usize) -> io::Result<Vec<u8>> {
            Err(io::ErrorKind::NotFound.into())
        }
        fn entries(&self, path: &Path, most: usize) -> io::Result<Option<Vec<Entry>>> {
            let file = |number| Entry { path: path.join(format!("f{number}")), kind: EntryKind::File };
            let entries: Vec<Entry> = match clean(path).to_str() {
                Some("/w") => vec![Entry { path: path.join("pad"), kind: EntryKind::Directory }],
                Some("/w/pad") => {
                    let link = Entry { path: path.join("link"), kind: EntryKind::Link };
                    (0..self.0).map(file).chain([link]).collect()
                }
                _ => return Err(io::ErrorKind::NotFound.into()),
            };
            Ok((entries.len() <= most).then_some(entries))
        }
    }

    /// Whether the command is told to use the link, and whether it is doubted.
    fn seen(files: usize, command: &str) -> (bool, bool) {
        let world = Many(files);
        let unset = |_: &str| true;
        let scene = Scene {
            world: &world,
            cwd: Some("/w"),
            root: Some("/w"),
            home: Some("/home/u"),
            tmp: None,
            unset: &unset,
        };
        let effects = analyse(command, &scene).effects;
        let is_link = |effect: &Effect<'_>| {
            matches!(effect, Effect::Use(Access::Read | Access::Search | Access::Write, target)
                if target.path.text().ends_with("/pad/link"))
        };
        let is_doubted = |effect: &Effect<'_>| {
            matches!(effect, Effect::Unknown(Unknown::Shell { gap: Gap::Doubt(Doubt::Names), .. }))
        };
        (effects.iter().any(is_link), effects.iter().any(is_doubted))
    }

    #[test]
    fn no_bound_hides_a_link() {
        for files in [0, 1, 254, 255, 256, 257, 2_000, 3_000] {
            for command in [
                "truncate -s 0 pad/*",
                "cat pad/*",
                "find . -name l | xargs cat",
                "find pad -exec cat {} +",
                "cat $(git ls-files)",
                "grep -R x .",
                "zip -qr z.zip pad",
                "for f in $(find pad); do echo x > \"$f\"; done",
            ] {
                let (told, doubted) = seen(files, command);
                assert!(told || doubted, "{command} with {files} files");
            }
        }
    }

    #[test]
    fn a_listing_that_follows_links_meets_them() {
        for command in [
            "find -L pad",
            "find pad -follow -name x",
            "ls -LR",
            "ls -lL pad",
            "tree -l pad",
            "du -shL pad",
            "du --deref .",
            "fd -L x pad",
        ] {
            assert_eq!(seen(3, command), (false, true), "{command}");
        }
        for command in
            ["find pad", "ls -lR", "ls -l pad", "tree pad", "du -sh pad", "fd x pad", "stat pad/link"]
        {
            assert_eq!(seen(3, command), (false, false), "{command}");
        }
    }

    #[test]
    fn what_meets_no_link_is_not_looked_at() {
        for files in [1, 1_500] {
            for command in [
                "find pad -type f -print0 | xargs -0 cat",
                "grep -r x pad",
                "cp -r pad/f0 new",
                "find pad -name x",
                "ls pad/*",
                "tar cf t.tar pad",
            ] {
                assert_eq!(seen(files, command), (false, false), "{command} with {files} files");
            }
        }
    }

    #[test]
    fn a_mark_for_plain_files_counts_in_its_own_directory() {
        assert_eq!(seen(3, "find pad -type f | while read f; do cat \"$f\"; done"), (false, false));
        for command in [
            "find pad -type f | while read f; do cat \"$f.x\"; done",
            "cd pad; find . -type f | while read f; do cat \"../$f\"; done",
            "find pad ! -type f | while read f; do cat \"$f\"; done",
            "find -L pad -type f | while read f; do cat \"$f\"; done",
            "find pad -exec cat {} + -type f",
        ] {
            let (told, doubted) = seen(3, command);
            assert!(told || doubted, "{command}");
        }
    }
}
