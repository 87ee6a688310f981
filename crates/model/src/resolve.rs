//! Where a path leads, in the two senses that count: as written, and as the kernel would walk it.
//!
//! One resolver for every tool, command and setting. It never follows a string into a verdict: a path is
//! cleaned component by component (`a/../b` is `b`), and walked component by component through the
//! [`World`], links included, down to the deepest part that exists. Both answers must lie inside; each
//! alone can be fooled (`link/../x`, or a link that appears later).
//!
//! Does not see: hard links (one file, two names: see `Node::names`), and what changes after the check.
//! Names are compared as they are written: on a file system that folds case, `/Repo` is not inside
//! `/repo` for us, which can only deny too much. Rules that *forbid* a name compare it folded instead.

use std::path::{Component, Path, PathBuf};

use crate::{LookError, Node, NodeKind, PathArg, World};

/// The kernel's own bounds, so that what we accept is what it would accept.
const MAX_PATH: usize = 4096;
const MAX_NAME: usize = 255;
const MAX_LINKS: usize = 40;

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Absolute, cleaned as a string.
    pub lexical: PathBuf,
    /// Absolute, links resolved as far as the path exists, the rest appended.
    pub physical: PathBuf,
    /// What stands there; `None` where nothing does yet.
    pub node: Option<Node>,
    /// Where the last name is a link itself: where that link stands, links before it resolved.
    pub link: Option<PathBuf>,
}

impl Resolved {
    /// Both of its names, or the one where they are the same. Each must pass.
    pub fn paths(&self) -> impl Iterator<Item = &Path> + Clone {
        let lexical = (self.lexical != self.physical).then_some(self.lexical.as_path());
        std::iter::once(self.physical.as_path()).chain(lexical)
    }
}

/// Why a path leads nowhere that we could judge. Each of these denies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The parameter is not there.
    Missing,
    /// The parameter is not a string; says what it is.
    NotText(&'static str),
    /// The empty string.
    Empty,
    /// A NUL byte: the kernel would stop reading there.
    Nul,
    /// A control or invisible formatting character.
    Control(char),
    /// A blank at its beginning or end: some tools trim it, and then mean another file.
    Blank,
    /// Longer than the kernel takes.
    TooLong,
    /// A relative path, and the event names no directory that it starts from.
    NoDirectory,
    /// Links that lead in a circle, or too many of them.
    LinkLoop,
    /// A directory on the way cannot be looked into.
    Unreadable(PathBuf),
}

/// Resolves paths against a working directory.
pub struct Resolver<'w> {
    world: &'w dyn World,
    cwd: Option<PathBuf>,
    home: Option<PathBuf>,
}

impl<'w> Resolver<'w> {
    /// `cwd` counts only if it is a sound absolute path; a wrong one is no better than none.
    pub fn new(world: &'w dyn World, cwd: Option<&str>, home: Option<&Path>) -> Self {
        let sound = |text: &&str| text.starts_with('/') && check_text(text).is_ok();
        Resolver { world, cwd: cwd.filter(sound).map(PathBuf::from), home: home.map(Path::to_path_buf) }
    }

    /// Where a tool's path parameter leads.
    pub fn resolve(&self, path: &PathArg<'_>) -> Result<Resolved, Trouble> {
        match path {
            PathArg::Text(text) => self.resolve_text(text),
            PathArg::Pattern(pattern) => self.resolve_pattern(pattern),
            PathArg::Cwd => self.walk(self.cwd.clone().ok_or(Trouble::NoDirectory)?),
            PathArg::Missing => Err(Trouble::Missing),
            PathArg::NotText(kind) => Err(Trouble::NotText(kind)),
        }
    }

    /// Where this text leads.
    pub fn resolve_text(&self, text: &str) -> Result<Resolved, Trouble> {
        check_text(text)?;
        self.walk(self.absolute(text)?)
    }

    /// Where a file's name leads, whatever characters it is made of.
    pub fn resolve_name(&self, text: &str) -> Result<Resolved, Trouble> {
        match check_text(text) {
            Ok(()) | Err(Trouble::Blank | Trouble::Control(_)) => self.walk(self.absolute(text)?),
            Err(trouble) => Err(trouble),
        }
    }

    /// A glob reaches what lies below the part before its first special character. A `..` behind that part
    /// could climb out again, so it counts as standing right there.
    fn resolve_pattern(&self, pattern: &str) -> Result<Resolved, Trouble> {
        check_text(pattern)?;
        let mut fixed = PathBuf::new();
        let mut components = Path::new(pattern).components();
        for component in components.by_ref() {
            let name = component.as_os_str();
            if name.as_encoded_bytes().iter().any(|byte| b"*?[{".contains(byte)) {
                break;
            }
            fixed.push(name);
        }
        fixed.extend(components.filter(|component| *component == Component::ParentDir));
        if fixed.as_os_str().is_empty() {
            fixed.push(".");
        }
        self.walk(self.absolute(&fixed.to_string_lossy())?)
    }

    /// `~` is the home only for tools that expand it; those that do not would make a directory of that
    /// name. Either way the place is judged that the text most likely means.
    fn absolute(&self, text: &str) -> Result<PathBuf, Trouble> {
        let home = |rest: &str| self.home.as_ref().map(|home| home.join(rest));
        let from_home = match text.strip_prefix('~') {
            Some("") => home(""),
            Some(rest) => rest.strip_prefix('/').and_then(|rest| home(rest.trim_start_matches('/'))),
            None => None,
        };
        match from_home {
            Some(path) => Ok(path),
            None if text.starts_with('/') => Ok(PathBuf::from(text)),
            None => self.cwd.as_ref().map(|cwd| cwd.join(text)).ok_or(Trouble::NoDirectory),
        }
    }

    /// Walks an absolute path as the kernel would: one name at a time, a link replaced by where it leads,
    /// `..` taken from where the walk really is. What does not exist is walked on as it is written: a
    /// `missing/../link` leads through `link` as soon as someone makes `missing`.
    pub fn walk(&self, absolute: PathBuf) -> Result<Resolved, Trouble> {
        self.walk_past(absolute, &mut |_| {})
    }

    /// The same, telling what the walk passes. A path without links and `..` passes nothing that would be told.
    pub fn walk_past(
        &self,
        absolute: PathBuf,
        pass: &mut dyn FnMut(Passed<'_>),
    ) -> Result<Resolved, Trouble> {
        let lexical = clean(&absolute);
        if lexical.as_os_str() == absolute.as_os_str()
            && let Straight::Yes(node) = self.straight(&absolute)
        {
            return Ok(Resolved { lexical, physical: absolute, node, link: None });
        }
        let mut path = absolute;
        let mut own_link = None;
        for links in 0..=MAX_LINKS {
            match self.walk_to_link(&path, links, pass)? {
                Step::End { physical, node } => {
                    return Ok(Resolved { lexical, physical, node, link: own_link });
                }
                Step::Link { onward, last } => {
                    path = onward;
                    // A link that the last name leads on to is no longer what was named.
                    own_link = own_link.or(last);
                }
            }
        }
        Err(Trouble::LinkLoop)
    }

    /// The short way, where the world can tell by one look that there is no link on the way: to the place itself,
    /// or to the directory in which it would be made.
    fn straight(&self, path: &Path) -> Straight {
        match self.world.look_straight(path) {
            Some(Ok(node)) => Straight::Yes(Some(node)),
            Some(Err(LookError::Absent)) => {
                match path.parent().and_then(|above| self.world.look_straight(above)) {
                    Some(Ok(Node { kind: NodeKind::Directory, .. })) => Straight::Yes(None),
                    _ => Straight::Unknown,
                }
            }
            Some(Err(_)) | None => Straight::Unknown,
        }
    }

    fn walk_to_link(
        &self,
        path: &Path,
        links: usize,
        pass: &mut dyn FnMut(Passed<'_>),
    ) -> Result<Step, Trouble> {
        let mut at = PathBuf::with_capacity(path.as_os_str().len() + 1);
        at.push("/");
        let mut node = None;
        // Whether `node` says what stands at `at`.
        let mut looked = false;
        let mut components = path.components();
        while let Some(component) = components.next() {
            match component {
                Component::Normal(name) => at.push(name),
                Component::ParentDir => {
                    pass(Passed::Up { from: &at });
                    at.pop();
                    looked = false;
                    continue;
                }
                Component::CurDir | Component::RootDir | Component::Prefix(_) => continue,
            }
            looked = true;
            let found = self.world.look(&at);
            let is_link = matches!(found, Ok(Node { kind: NodeKind::Link(_), .. }));
            let is_last = components.as_path().as_os_str().is_empty();
            pass(Passed::Name { at: &at, is_link, is_last, links });
            match found {
                Ok(Node { kind: NodeKind::Link(target), .. }) => {
                    let last = is_last.then(|| at.clone());
                    at.pop();
                    at.push(target);
                    at.push(components.as_path());
                    return Ok(Step::Link { onward: at, last });
                }
                Ok(found) => node = Some(found),
                Err(LookError::Absent) => node = None,
                Err(LookError::Forbidden | LookError::Failed) => return Err(Trouble::Unreadable(at)),
                Err(LookError::TooLong) => return Err(Trouble::TooLong),
            }
        }
        if !looked {
            node = self.world.look(&at).ok();
        }
        Ok(Step::End { physical: at, node })
    }
}

/// What a walk passes.
#[derive(Debug, Clone, Copy)]
pub enum Passed<'p> {
    /// A name.
    Name {
        /// Where that is.
        at: &'p Path,
        /// Whether a link stands there, which is followed next.
        is_link: bool,
        /// Whether the path ends here, or goes on behind the link that stands here.
        is_last: bool,
        /// How many links were followed to come here.
        links: usize,
    },
    /// A `..`.
    Up {
        /// The directory that is left.
        from: &'p Path,
    },
}

/// Whether a path has no link in it.
enum Straight {
    /// None; and what stands at its end.
    Yes(Option<Node>),
    /// It has to be walked.
    Unknown,
}

/// How far one walk came.
enum Step {
    End {
        physical: PathBuf,
        node: Option<Node>,
    },
    /// A link: the path to walk instead, from the root again.
    Link {
        onward: PathBuf,
        /// Where the link stands, if it is the last name.
        last: Option<PathBuf>,
    },
}

/// What no honest path holds. Comes first, before anything is looked up.
fn check_text(text: &str) -> Result<(), Trouble> {
    if text.is_empty() {
        return Err(Trouble::Empty);
    }
    if text.len() >= MAX_PATH || text.split('/').any(|name| name.len() > MAX_NAME) {
        return Err(Trouble::TooLong);
    }
    if text.starts_with(char::is_whitespace) || text.ends_with([' ', '\u{a0}']) {
        return Err(Trouble::Blank);
    }
    // Printable ASCII needs no second look, and is what nearly every path is made of.
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return Ok(());
    }
    match text.chars().find(|c| c.is_control() || is_invisible(*c)) {
        Some('\0') => Err(Trouble::Nul),
        Some(c) => Err(Trouble::Control(c)),
        None => Ok(()),
    }
}

/// Characters that show as nothing or turn the writing direction: a name with them reads as another name.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// `..` as a component of its own, by either separator: a name that merely holds two dots is fine.
pub fn has_dotdot(text: &str) -> bool {
    text.split(['/', '\\']).any(|name| name == "..")
}

/// Most paths are clean already, and seeing that is much cheaper than taking them apart.
fn is_clean(path: &[u8]) -> bool {
    let mut names = path.split(|byte| *byte == b'/');
    path.len() > 1
        && names.next() == Some(b"".as_slice())
        && names.all(|name| !matches!(name, b"" | b"." | b".."))
}

/// The path with `.` and `..` worked out as text, without asking the disk.
pub fn clean(path: &Path) -> PathBuf {
    if is_clean(path.as_os_str().as_encoded_bytes()) {
        return path.to_path_buf();
    }
    let mut clean = PathBuf::from("/");
    for name in path.components() {
        match name {
            Component::Normal(name) => clean.push(name),
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    clean
}
