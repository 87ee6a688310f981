//! Commands that a sandbox would only break: they need the person's keys, or change what all worktrees share. `when = "most"` leaves
//! them alone where every effect of theirs is known.
//!
//! Against whom: an agent that hides something else among them. So each program of such a call is named here, `git` comes without options
//! of its own, nothing sets a variable that programs obey, and no repository is named by its path.

use toolgate_model::{Facts, Run, Use};

/// Of git: what talks to another machine, and what writes refs or settings of all worktrees.
const GIT: &[&str] = &[
    "push",
    "fetch",
    "pull",
    "ls-remote",
    "stash",
    "tag",
    "notes",
    "gc",
    "maintenance",
    "pack-refs",
    "worktree",
];
/// Of these the first operand is a repository.
const REMOTE: &[&str] = &["push", "fetch", "pull", "ls-remote"];
/// `git branch` with one of these writes settings, or moves other branches.
const BRANCH: &[&str] =
    &["-d", "--delete", "-m", "--move", "-u", "--set-upstream-to", "--unset-upstream", "-t", "--track"];
/// Of git: what only shows.
const SHOWS: &[&str] =
    &["log", "show", "status", "rev-parse", "branch", "diff", "merge-base", "rev-list", "remote"];
/// What stands around them: programs that show, and run nothing.
const AROUND: &[&str] = &[
    "cat", "head", "tail", "grep", "rg", "jq", "wc", "sort", "uniq", "cut", "tr", "echo", "printf", "true",
    "false", "test", "[", "cd", "sleep", "date", ":",
];

/// Whether a call needs what no sandbox has, and holds nothing else.
pub(super) fn is_outward(facts: &Facts<'_>) -> bool {
    let command = facts.command.unwrap_or_default();
    let is_around = |run: &Run| AROUND.contains(&run.program.as_str()) || shows(run);
    !sets_variable(command)
        && facts.runs.iter().all(|run| is_plain(run) && (needs_person(run) || is_around(run)))
        && facts.runs.iter().any(needs_person)
}

/// Of git: what talks to another machine and takes nothing from the worktree's files.
const TALKS: &[&str] = &["push", "fetch", "ls-remote"];
/// Of gh, as the second word (`gh pr view`): what asks another machine and shows the answer. What makes something reads templates of the worktree.
const ASKS: &[&str] = &["checks", "list", "status", "view", "watch"];
/// What shortens such an output.
const FILTERS: &[&str] = &["cat", "head", "tail", "grep", "wc", "sort", "uniq"];

/// Whether a call only talks to a remote, and rests on no file of the worktree that a program could exchange meanwhile.
///
/// Against whom: a contained program that still runs. It reaches neither the settings of the repository nor its hooks nor its objects, and
/// these are all that such a command heeds.
pub(super) fn only_talks(facts: &Facts<'_>) -> bool {
    let talks = |run: &Run| of_git(run).is_some_and(|sub| TALKS.contains(&sub)) && needs_person(run);
    let asks = |run: &Run| {
        let is_asked = matches!(run.sub.as_slice(), [_, verb, ..] if ASKS.contains(&verb.as_str()));
        // A browser is a program of the person's, with settings of its own.
        run.program == "gh" && is_asked && !run.has("--web") && !run.has("-w")
    };
    let talks = |run: &Run| talks(run) || asks(run);
    let is_filter = |run: &Run| FILTERS.contains(&run.program.as_str()) && run.operands.len() <= 1;
    let root = facts.places.root.as_ref().map(|root| &root.physical);
    let is_root = |used: &Use<'_>| used.place.as_ref().is_ok_and(|place| Some(&place.physical) == root);
    !sets_variable(facts.command.unwrap_or_default())
        && facts.runs.iter().all(|run| is_plain(run) && (talks(run) || is_filter(run)))
        && facts.runs.iter().any(talks)
        && facts.uses.iter().all(is_root)
}

/// A program by its bare name: not one that lies somewhere else.
fn is_plain(run: &Run) -> bool {
    run.words.first() == Some(&run.program)
}

/// The sub-command of a `git` that is given no options of its own (`-c`, `-C`, `--git-dir`).
fn of_git(run: &Run) -> Option<&str> {
    let sub = run.sub.first()?;
    (run.program == "git" && run.words.get(1) == Some(sub)).then_some(sub)
}

fn shows(run: &Run) -> bool {
    of_git(run).is_some_and(|sub| SHOWS.contains(&sub))
}

fn needs_person(run: &Run) -> bool {
    if run.program == "gh" {
        return true;
    }
    let Some(sub) = of_git(run) else { return false };
    if sub == "branch" {
        return BRANCH.iter().any(|option| run.has(option));
    }
    let is_by_name = || match run.operands.first() {
        None => true,
        Some(None) => false,
        Some(Some(remote)) => !remote.contains(['/', ':', '~', '\\']) && !remote.starts_with('.'),
    };
    GIT.contains(&sub) && (!REMOTE.contains(&sub) || is_by_name())
}

/// Whether a word of the command looks like a variable that is set for programs: in capital letters, as `PATH` and `GIT_SSH` are.
fn sets_variable(command: &str) -> bool {
    command.split(|letter: char| !(letter.is_ascii_alphanumeric() || "_=+".contains(letter))).any(|word| {
        let name = word.split(['=', '+']).next().unwrap_or_default();
        name.len() < word.len()
            && name.starts_with(|first: char| first.is_ascii_uppercase())
            && !name.contains(|letter: char| letter.is_ascii_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{facts, place, used};
    use toolgate_model::{Access, Places, Team};

    fn run(words: &str) -> Run {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let mut run = Run::of(words.clone());
        if run.program == "git" {
            run.sub = words
                .iter()
                .skip(1)
                .find(|word| !word.starts_with('-') && !word.contains('='))
                .cloned()
                .into_iter()
                .collect();
            run.operands =
                words.iter().skip(2).filter(|word| !word.starts_with('-')).cloned().map(Some).collect();
            run.options = words
                .iter()
                .skip(2)
                .filter(|word| word.starts_with('-'))
                .cloned()
                .map(|name| (name, None))
                .collect();
        }
        if run.program == "gh" {
            run.sub = words.iter().skip(1).take(2).cloned().collect();
            let options = words.iter().filter(|word| word.starts_with('-')).cloned();
            run.options = options.map(|name| (name, None)).collect();
        }
        run
    }

    #[test]
    fn only_a_remote_is_talked_to_where_no_file_is_named() {
        let (places, team) = (Places::default(), Team::default());
        for (command, runs, expected) in [
            ("git push origin alpha", &["git push origin alpha"][..], true),
            ("git fetch origin && git push", &["git fetch origin", "git push"], true),
            ("git push 2>&1 | tail -3", &["git push", "tail -3"], true),
            ("git pull", &["git pull"], false),
            ("git stash", &["git stash"], false),
            ("gh pr view 7 | head -40", &["gh pr view 7", "head -40"], true),
            ("gh run watch 7 && git push", &["gh run watch 7", "git push"], true),
            ("gh pr view --web", &["gh pr view --web"], false),
            ("gh pr create --fill", &["gh pr create --fill"], false),
            ("gh api x", &["gh api x"], false),
            ("./gh pr view", &["./gh pr view"], false),
            ("git push ../other", &["git push ../other"], false),
            ("git -c a.b=c push", &["git -c a.b=c push"], false),
            ("GIT_SSH=x git push", &["git push"], false),
            ("git push; ls", &["git push", "ls"], false),
            ("tail", &["tail"], false),
        ] {
            let runs = runs.iter().map(|words| run(words)).collect();
            let mut facts = Facts { command: Some(command), runs, ..facts("Bash", &places, &team) };
            assert_eq!(only_talks(&facts), expected, "{command}");
            // It names a file besides.
            facts.uses.push(used(Access::Read, Ok(place("/work/alpha/notes"))));
            assert!(!only_talks(&facts), "{command}");
        }
    }

    #[test]
    fn a_call_is_outward_where_all_of_it_is_known_by_name() {
        let (places, team) = (Places::default(), Team::default());
        for (command, runs, expected) in [
            ("git push", &["git push"][..], true),
            ("git push origin alpha", &["git push origin alpha"], true),
            (
                "git fetch origin main && git log origin/main",
                &["git fetch origin main", "git log origin/main"],
                true,
            ),
            ("git stash", &["git stash"], true),
            ("git branch -d x", &["git branch -d x"], true),
            ("gh pr view 1 | head", &["gh pr view 1", "head"], true),
            ("x=1; gh pr view $x", &["gh pr view 1"], true),
            // Nothing in these needs a person.
            ("git log", &["git log"], false),
            ("git branch", &["git branch"], false),
            ("git commit -m x", &["git commit -m x"], false),
            ("", &[], false),
            // Something else is among them.
            ("git push && npm test", &["git push", "npm test"], false),
            ("gh pr view 1 | awk 1", &["gh pr view 1", "awk 1"], false),
            ("git tag x; git commit -m x", &["git tag x", "git commit -m x"], false),
            // It runs other code, or goes somewhere else.
            ("git -c core.sshCommand=x push", &["git -c core.sshCommand=x push"], false),
            ("GIT_SSH=x git push", &["git push"], false),
            ("PATH+=:b; git push", &["git push"], false),
            ("export HOME=.; gh pr list", &["gh pr list"], false),
            ("./gh pr view", &["./gh pr view"], false),
            ("git fetch ../other main", &["git fetch ../other main"], false),
            ("git push . HEAD:zz", &["git push . HEAD:zz"], false),
            ("git pull ext::x", &["git pull ext::x"], false),
        ] {
            let runs = runs.iter().map(|words| run(words)).collect();
            let facts = Facts { command: Some(command), runs, ..facts("Bash", &places, &team) };
            assert_eq!(is_outward(&facts), expected, "{command}");
        }
    }
}
