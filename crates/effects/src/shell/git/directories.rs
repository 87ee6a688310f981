//! Which commands of git leave the directories of a work tree as they are: neither another branch nor a clean-up takes one away.
//!
//! Against whom: a command that removes the directory in which the host starts its hooks, so that none starts any more.

/// Sub-commands that change no file of the work tree, or nothing but files that are there. All others may take a directory away.
const LEAVES_DIRECTORIES: &[&str] = &[
    "add",
    "archive",
    "blame",
    "branch",
    "bundle",
    "cat-file",
    "commit",
    "config",
    "describe",
    "diff",
    "fetch",
    "for-each-ref",
    "gc",
    "grep",
    "init",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "notes",
    "push",
    "reflog",
    "remote",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "stage",
    "status",
    "tag",
    "update-index",
    "update-ref",
];

/// Whether this program leaves directories alone, by its name and its sub-commands.
pub fn leaves_directories(program: &str, sub: &[String]) -> bool {
    program == "git" && sub.first().is_some_and(|sub| LEAVES_DIRECTORIES.contains(&sub.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec;

    /// A name that git does not know would stand for nothing.
    #[test]
    fn each_is_a_sub_command_of_git() {
        let git = spec::find("git").unwrap();
        for sub in LEAVES_DIRECTORIES {
            let word = [spec::Shown { head: sub, known: true }];
            assert!(!spec::read(git, &word).sub.is_empty(), "{sub}");
        }
    }

    #[test]
    fn what_changes_the_work_tree_is_not_among_them() {
        for sub in [
            "checkout", "clean", "merge", "mv", "pull", "rebase", "reset", "restore", "rm", "stash", "switch",
        ] {
            assert!(!leaves_directories("git", &[sub.to_owned()]), "{sub}");
        }
        assert!(leaves_directories("git", &["status".to_owned()]));
        assert!(!leaves_directories("git", &[]) && !leaves_directories("hg", &["status".to_owned()]));
    }
}
