//! What of a call is about the project: the worktree, the main checkout, other worktrees, the team's own files.

use std::path::Path;

use toolgate_model::{Facts, Ground, Place, Use};

/// What is changed in the project, git's own files left out: those change with every commit and have their own policy.
pub(crate) fn changed_in_project<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = (&'f Use<'f>, &'f Place)> {
    let ground = facts.ground;
    let changed = facts.uses.iter().filter(|used| used.writes() && !is_device(used));
    let placed = changed.filter_map(|used| Some((used, used.place.as_ref().ok()?)));
    placed.filter(move |(_, place)| place.paths().any(|path| is_in_project(path, ground)))
}

fn is_in_project(path: &Path, ground: &Ground) -> bool {
    let tops = [&ground.root, &ground.project, &ground.main].into_iter().flatten();
    let mut tops = tops.chain(&ground.siblings);
    let of_git = ground.git.as_ref().is_some_and(|git| git.holds(path))
        || tops.clone().any(|top| below(path, &top.physical).is_some_and(|rest| rest.starts_with(".git")));
    ground.team.iter().any(|team| team.holds(path)) || (!of_git && tops.any(|top| top.holds(path)))
}

fn below<'p>(path: &'p Path, top: &Path) -> Option<&'p Path> {
    path.strip_prefix(top).ok()
}

/// Whether it is one of the devices that a command redirects to without meaning a file.
pub(crate) fn is_device(used: &Use<'_>) -> bool {
    used.place
        .as_ref()
        .is_ok_and(|place| place.physical.starts_with("/dev") || place.lexical.starts_with("/dev"))
}

/// The part of the path below the team's directory, in small letters: some file systems take `Decisions.md` for
/// `decisions.md`. Empty for the directory itself.
pub(crate) fn team_path(path: &Path, ground: &Ground) -> Option<String> {
    let tops = ground.team.iter().flat_map(|team| [&team.physical, &team.lexical]);
    let rest = tops.into_iter().find_map(|top| {
        // On a file system that folds letters, `.Squad` is the same directory.
        let (parent, name) = (top.parent()?, top.file_name()?);
        let mut rest = path.strip_prefix(parent).ok()?.components();
        let first = rest.next()?.as_os_str();
        first.eq_ignore_ascii_case(name).then_some(rest.as_path())
    })?;
    Some(rest.to_string_lossy().to_lowercase())
}
