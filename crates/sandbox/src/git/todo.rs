//! What a rebase still has to do, as a command has left it.
//!
//! A line of that list may name a program, or a branch to be moved. `git rebase --continue` does it, and where that is a call of its own,
//! it does so outside of the sandbox. So only lines that apply commits are kept, and that is said.

pub(super) const LIST: &str = "rebase-merge/git-rebase-todo";

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

pub(super) const WHY: &str = "it may only apply commits: `exec` lines would run outside of the sandbox, and `update-ref` moves other \
                              branches; run these as calls of their own";

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
