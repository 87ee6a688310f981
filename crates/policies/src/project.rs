//! What of a call is about the project: the worktree, the main checkout, other worktrees, the team's own files.

use std::path::Path;

use toolgate_model::{Access, Facts, Phase, Places, Reach, Resolved, Run, Use};

/// What is changed in the project, git's own files left out: those change with every commit and have their own policy. Git
/// works on the whole worktree when it commits, switches branches or merges; that is nobody's writing. What it moves or
/// deletes by name is told by name.
pub(crate) fn changed_in_project<'f>(
    facts: &'f Facts<'_>,
) -> impl Iterator<Item = (&'f Use<'f>, &'f Resolved)> {
    let places = facts.places;
    // What a call has made is there when it has run, and would look like something that it changes.
    let has_run = facts.phase == Phase::After;
    let changed = facts.uses.iter().filter(move |used| used.writes() && !is_device(used) && !has_run);
    let placed = changed.filter_map(|used| Some((used, used.place.as_ref().ok()?)));
    placed.filter(move |(used, place)| {
        place.paths().any(|path| is_in_project(path, places)) && !is_git_at_work(used, &place.physical, facts)
    })
}

/// Whether git works on the whole worktree.
pub(crate) fn is_git_at_work(used: &Use<'_>, path: &Path, facts: &Facts<'_>) -> bool {
    const PROGRAMS: [&str; 3] = ["git", "gh", "glab"];
    // These write what a file says that somebody has written.
    const PATCHES: [&str; 2] = ["apply", "am"];
    let places = facts.places;
    let mut tops =
        [&places.root, &places.project, &places.main].into_iter().flatten().chain(&places.siblings);
    let is_top = tops.any(|top| top.physical == path || top.lexical == path);
    let by_git = |run: &Run| {
        let patches = run.sub.first().is_some_and(|sub| PATCHES.contains(&sub.as_str()));
        PROGRAMS.contains(&run.program.as_str()) && run.origin == used.origin && !patches
    };
    used.access == Access::Write && used.reach == Reach::Below && is_top && facts.runs.iter().any(by_git)
}

fn is_in_project(path: &Path, places: &Places) -> bool {
    let tops = [&places.root, &places.project, &places.main].into_iter().flatten();
    let mut tops = tops.chain(&places.siblings);
    let of_git = places.git.as_ref().is_some_and(|git| git.holds(path))
        || tops.clone().any(|top| below(path, &top.physical).is_some_and(|rest| rest.starts_with(".git")));
    places.team.iter().any(|team| team.holds(path)) || (!of_git && tops.any(|top| top.holds(path)))
}

fn below<'p>(path: &'p Path, top: &Path) -> Option<&'p Path> {
    path.strip_prefix(top).ok()
}

/// Where compilers and package managers put what they make.
pub(crate) const BUILT: &[&str] = &[
    "target",
    "node_modules",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".venv",
    ".next",
    ".turbo",
    ".gradle",
    "coverage",
];

/// Whether it is where compilers and package managers put what they make: whoever runs the tests has written nothing there.
pub(crate) fn is_built(used: &Use<'_>, place: &Resolved) -> bool {
    let made = place.physical.file_name().and_then(|name| name.to_str());
    let by_program = used.origin.is_some() && used.reach == Reach::Below && used.access == Access::Write;
    by_program && made.is_some_and(|name| BUILT.contains(&name))
}

/// Stands for some of what lies in a directory, where a command does not say which.
const SOME: &str = "…";

/// Whether what lies below the named place is meant too, all of it or nobody knows which part. Whoever moves a directory
/// away deletes it, as far as this is concerned.
pub(crate) fn takes_tree(used: &Use<'_>) -> bool {
    let some = used.place.as_ref().is_ok_and(|place| place.lexical.ends_with(SOME));
    used.reach == Reach::Below || used.access == Access::Delete || some
}

/// Whether a tree may hold something: one that is only now made holds nothing that could be lost.
pub(crate) fn takes_old_tree(used: &Use<'_>, place: &Resolved) -> bool {
    takes_tree(used) && (place.node.is_some() || place.lexical.ends_with(SOME))
}

/// The path without what stands for some of the names in it.
pub(crate) fn named(path: &Path) -> &Path {
    path.parent().filter(|_| path.ends_with(SOME)).unwrap_or(path)
}

/// Whether it is one of the devices that a command redirects to without meaning a file.
pub(crate) fn is_device(used: &Use<'_>) -> bool {
    used.place
        .as_ref()
        .is_ok_and(|place| place.physical.starts_with("/dev") || place.lexical.starts_with("/dev"))
}

/// The part of the path below the team's directory, in small letters: some file systems take `Decisions.md` for
/// `decisions.md`. Empty for the directory itself.
pub(crate) fn team_path(path: &Path, places: &Places) -> Option<String> {
    // Every path is held against every team's directory: bytes, as both are absolute and clean.
    let path = named(path).as_os_str().as_encoded_bytes();
    let tops = places.team.iter().flat_map(|team| [&team.physical, &team.lexical]);
    let rest = tops.into_iter().find_map(|top| {
        // On a file system that folds letters, `.Squad` is the same directory.
        let top = top.as_os_str().as_encoded_bytes();
        let (start, rest) = path.split_at_checked(top.len())?;
        let ends = rest.is_empty() || rest.starts_with(b"/");
        // The name alone: what is above it is compared as it is written.
        let name = top.iter().rposition(|byte| *byte == b'/')? + 1;
        let same = ends && start.get(..name) == top.get(..name) && start.eq_ignore_ascii_case(top);
        same.then(|| rest.strip_prefix(b"/").unwrap_or_default())
    })?;
    Some(String::from_utf8_lossy(rest).to_lowercase())
}
