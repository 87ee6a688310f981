//! The worktree, its main checkout and its siblings, read from git's files without starting git.
//!
//! Against whom: the `.git` file of a linked worktree lies where its agent works. What it says counts only
//! if git's own directory says the same of the worktree, and a session keeps what was true when it began.

use std::path::{Component, Path, PathBuf};

use toolgate_model::{NodeKind, Resolved, Resolver, World, clean};

/// Pointer files are one line.
const MAX_POINTER: usize = 8192;

/// Where a directory stands in its repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// The top of the worktree that the directory is in; the directory itself where there is no repository.
    pub top: PathBuf,
    /// The main checkout, if `top` is a linked worktree of one.
    pub main: Option<PathBuf>,
    /// The git directory that all worktrees of the repository share.
    pub git: Option<PathBuf>,
}

/// Finds the worktree that `start` is in. A repository that is the home or contains it does not count: an
/// agent that starts below it would be given the whole home.
pub fn layout(world: &dyn World, start: &Path, home: Option<&Path>) -> Layout {
    let alone = || Layout { top: start.to_path_buf(), ..Layout::default() };
    for top in start.ancestors() {
        if top == Path::new("/") || home.is_some_and(|home| home.starts_with(top)) {
            return alone();
        }
        let dot_git = top.join(".git");
        match world.look(&dot_git).map(|node| node.kind) {
            Ok(NodeKind::Directory) => {
                return Layout { top: top.to_path_buf(), main: None, git: Some(dot_git) };
            }
            Ok(NodeKind::File) => {
                return linked(world, top, &dot_git)
                    .unwrap_or_else(|| Layout { top: top.to_path_buf(), ..Layout::default() });
            }
            // git follows a link to the git directory. One that leads out of the tree may come with a
            // repository that wants to be taken for another: it makes a root, and nothing more.
            Ok(NodeKind::Link(_)) => {
                let place = Resolver::new(world, None, None).walk(dot_git).ok();
                let own = |place: &Resolved| {
                    place.physical.starts_with(top)
                        && place.node.as_ref().is_some_and(|node| node.kind == NodeKind::Directory)
                };
                let git = place.filter(own).map(|place| place.physical);
                return Layout { top: top.to_path_buf(), main: None, git };
            }
            Ok(NodeKind::Special) | Err(_) => {}
        }
    }
    alone()
}

/// A linked worktree, if git's own directory confirms it.
fn linked(world: &dyn World, top: &Path, dot_git: &Path) -> Option<Layout> {
    let resolver = Resolver::new(world, None, None);
    let real = |path: PathBuf| resolver.walk(path).ok().map(|place| place.physical);
    let own = real(pointer(world, dot_git, "gitdir: ")?)?;
    let back = pointer(world, &own.join("gitdir"), "")?;
    let git = real(pointer(world, &own.join("commondir"), "")?)?;
    // Both ways: git's directory names this worktree, and this worktree's part lies in git's directory. A
    // pointer to a place that an agent made itself shows nothing that it could not reach anyway.
    if real(back)? != real(dot_git.to_path_buf())? || own.parent()? != worktree_notes(&git) {
        return None;
    }
    let main = match git.components().next_back() {
        Some(Component::Normal(name)) if name == ".git" => git.parent().map(Path::to_path_buf),
        _ => None,
    };
    Some(Layout { top: top.to_path_buf(), main, git: Some(git) })
}

/// The part of the git directory that is this linked worktree's own, if git's directory confirms it.
pub(crate) fn own_git_dir(world: &dyn World, top: &Path) -> Option<PathBuf> {
    let dot_git = top.join(".git");
    linked(world, top, &dot_git)?;
    Resolver::new(world, None, None)
        .walk(pointer(world, &dot_git, "gitdir: ")?)
        .ok()
        .map(|place| place.physical)
}

/// The git directory that a `.git` file or link in this directory leads to, whoever wrote it.
pub fn git_dir_of(world: &dyn World, top: &Path) -> Option<PathBuf> {
    let dot_git = top.join(".git");
    match world.look(&dot_git).ok()?.kind {
        NodeKind::File => pointer(world, &dot_git, "gitdir: "),
        NodeKind::Link(_) => Resolver::new(world, None, None).walk(dot_git).ok().map(|place| place.physical),
        NodeKind::Directory | NodeKind::Special => None,
    }
}

/// Where git notes the worktrees of a repository.
pub fn worktree_notes(git: &Path) -> PathBuf {
    git.join("worktrees")
}

/// The linked worktrees of the repository: the file that says where each is, and where it is. All of them: one that is left out would be
/// nobody's. Whoever makes more than can be read in time is refused by the deadline.
pub fn worktrees(world: &dyn World, git: &Path) -> Vec<(PathBuf, PathBuf)> {
    let entries = world.names(&worktree_notes(git), usize::MAX).ok().flatten().unwrap_or_default();
    let place = |entry: PathBuf| {
        let note = entry.join("gitdir");
        let top = pointer(world, &note, "")?.parent()?.to_path_buf();
        Some((note, top))
    };
    entries.into_iter().filter_map(place).collect()
}

/// The path in a pointer file, made absolute from where the file lies.
fn pointer(world: &dyn World, file: &Path, prefix: &str) -> Option<PathBuf> {
    let bytes = world.read(file, MAX_POINTER).ok()?;
    let text = std::str::from_utf8(&bytes).ok()?;
    let path = text.strip_prefix(prefix)?.trim_end_matches(['\n', '\r']);
    if path.is_empty() || path.contains('\n') {
        return None;
    }
    Some(clean(&file.parent()?.join(path)))
}
