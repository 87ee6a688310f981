//! What a rebase still has to do, as a command has left it.
//!
//! A line of that list may name a program. `git rebase --continue` runs it, and where that is a call of its own, it runs outside of the
//! sandbox. So such lines are left out, and that is said.

use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};

use super::Taken;
use crate::path::{open_directory, read_file};

pub(super) const LIST: &str = "rebase-merge/git-rebase-todo";
const LARGEST: u64 = 64 << 20;

/// The list without lines that run programs; `None` where there are none.
pub(super) fn harmless(text: &[u8]) -> Option<Vec<u8>> {
    let runs = |line: &&[u8]| {
        let word = line.trim_ascii_start();
        let end = word.iter().position(|byte| byte.is_ascii_whitespace() || *byte == 0).unwrap_or(word.len());
        matches!(word.get(..end), Some(b"exec" | b"x"))
    };
    let lines = || text.split_inclusive(|byte| *byte == b'\n');
    lines().any(|line| runs(&line)).then(|| lines().filter(|line| !runs(line)).collect::<Vec<_>>().concat())
}

pub(super) fn tell(taken: &mut Taken) {
    taken.refuse(
        LIST,
        "its `exec` lines would run outside of the sandbox; run their commands as calls of their own",
    );
}

/// Leaves out such lines in a worktree's own git directory, which the command has written itself.
pub(super) fn check(own: &OwnedFd, taken: &mut Taken) -> io::Result<()> {
    let Ok(Some(text)) = read_file(own, Path::new(LIST), LARGEST) else { return Ok(()) };
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
            ("exec\r\nexecute\n", Some("execute\n")),
        ] {
            assert_eq!(harmless(text.as_bytes()).as_deref(), expected.map(str::as_bytes), "{text:?}");
        }
    }
}
