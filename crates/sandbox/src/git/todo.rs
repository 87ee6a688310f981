//! What a rebase still has to do, as a command has left it.
//!
//! A line of that list may name a program, or a branch to be moved. `git rebase --continue` does it, and where that is a call of its own,
//! it does so outside of the sandbox. So only lines that apply commits are kept, and that is said.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};

use super::Taken;
use crate::path::{open_directory, reach_directory, read_file, remove_tree};

pub(super) const LIST: &str = "rebase-merge/git-rebase-todo";
const LARGEST: u64 = 64 << 20;

/// What applies commits, and moves nothing but the worktree's own `HEAD`.
const APPLYING: [&str; 21] = [
    "pick", "p", "reword", "r", "edit", "e", "squash", "s", "fixup", "f", "drop", "d", "noop", "break", "b",
    "label", "l", "reset", "t", "merge", "m",
];

/// The list without lines that do more than apply commits; `None` where there are none.
pub(super) fn harmless(text: &[u8]) -> Option<Vec<u8>> {
    let applies = |line: &[u8]| {
        let word = line.trim_ascii_start();
        let end = word.iter().position(|byte| byte.is_ascii_whitespace() || *byte == 0).unwrap_or(word.len());
        let word = word.get(..end).unwrap_or_default();
        // A comment may begin with any sign, by a setting; no command begins with one.
        let is_comment = word.first().is_none_or(|first| !first.is_ascii_alphanumeric());
        is_comment || APPLYING.iter().any(|applying| applying.as_bytes() == word)
    };
    let lines = || text.split_inclusive(|byte| *byte == b'\n');
    let kept = || lines().filter(|line| applies(line)).collect::<Vec<_>>().concat();
    (!lines().all(applies)).then(kept)
}

pub(super) fn tell(taken: &mut Taken) {
    taken.refuse(
        LIST,
        "it may only apply commits: `exec` lines would run outside of the sandbox, and `update-ref` moves other branches; run these \
         as calls of their own",
    );
}

/// Leaves out such lines in a worktree's own git directory, which the command has written itself. A list that cannot be read is taken away.
pub(super) fn check(own: &OwnedFd, taken: &mut Taken) -> io::Result<()> {
    let text = match read_file(own, Path::new(LIST), LARGEST) {
        Ok(None) => return Ok(()),
        Ok(Some(text)) => text,
        Err(error) => {
            taken.refuse(LIST, format_args!("it cannot be looked through ({error}); begin the rebase again"));
            let above = reach_directory(own, Path::new("rebase-merge"))?;
            return remove_tree(above, OsStr::new("git-rebase-todo"));
        }
    };
    let Some(text) = harmless(&text) else { return Ok(()) };
    tell(taken);
    let above = open_directory(own, Path::new("rebase-merge"))?;
    let new = "git-rebase-todo.toolgate";
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = fs::File::from(openat(&above, new, flags, Mode::from_raw_mode(0o666))?);
    let written = file.write_all(&text).and_then(|()| Ok(renameat(&above, new, &above, "git-rebase-todo")?));
    if written.is_err() {
        let _ = unlinkat(&above, new, AtFlags::empty());
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_run_programs_are_left_out() {
        for (text, expected) in [
            ("pick 1 a\n# exec x\n", None),
            ("pick 1 exec\nfixup -C 2 x\n", None),
            ("pick 1 a\nexec evil\npick 2 b\n", Some("pick 1 a\npick 2 b\n")),
            ("x evil", Some("")),
            ("  \texec\tevil\npick 1 a", Some("pick 1 a")),
            ("exec\r\nexecute\npick 1 a\n", Some("pick 1 a\n")),
            (
                "; a comment\n\nm -C 1 side\nupdate-ref refs/heads/other\n",
                Some("; a comment\n\nm -C 1 side\n"),
            ),
        ] {
            assert_eq!(harmless(text.as_bytes()).as_deref(), expected.map(str::as_bytes), "{text:?}");
        }
    }
}
