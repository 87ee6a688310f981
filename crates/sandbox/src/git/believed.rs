//! Files of a git directory that git believes when it goes on outside of the sandbox: which paths it writes, which programs it starts, which
//! branches it moves.
//!
//! Against whom: a command that leaves a merge, a rebase or an index behind, made by itself and not by git. The person's next `git restore .` or
//! `git cherry-pick --continue` would act by it. So what is in such a file is only what git itself could have put there; else the
//! file is left out, and that is said.

use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};

use super::index::{self, Index, is_path};
use super::objects::is_hex;
use super::{Format, Taken, todo};
use crate::path::{open_directory, reach_directory, read_file};
use crate::pins::move_away;

/// What a rebase has to do to other branches at its end.
const UPDATES: &str = "rebase-merge/update-refs";
/// Which program merges.
const STRATEGY: &str = "rebase-merge/strategy";
const OPTIONS: &str = "sequencer/opts";
/// Paths whose conflicts git looks at again.
const CONFLICTS: &str = "MERGE_RR";
const INDEX: &str = "index";
const SHARED_INDEX: &str = "sharedindex.";
/// Which branch a rebase moves at its end.
pub(super) const REBASED: [&str; 2] = ["rebase-merge/head-name", "rebase-apply/head-name"];
/// What stands there instead of a branch.
const NO_BRANCH: &str = "detached HEAD\n";

const LARGEST_NOTE: u64 = 64 << 20;
pub(super) const LARGEST_INDEX: u64 = 2 << 30;

/// Strategies that are parts of git. Any other name is that of a program.
const STRATEGIES: [&str; 6] = ["ort", "recursive", "resolve", "octopus", "ours", "subtree"];
/// What git notes of the options of a cherry-pick or a revert.
const OPTION_NAMES: [&str; 15] = [
    "allow-empty",
    "allow-empty-message",
    "allow-ff",
    "allow-rerere-auto",
    "default-msg-cleanup",
    "drop-redundant-commits",
    "edit",
    "gpg-sign",
    "keep-redundant-commits",
    "mainline",
    "no-commit",
    "record-origin",
    "signoff",
    "strategy",
    "strategy-option",
];

/// What becomes of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judged {
    Harmless,
    /// This content is harmless. With a reason where that is to be told.
    Instead(Vec<u8>, Option<&'static str>),
    Refused(&'static str),
}

/// Whether a path of a git directory is that of an index, or of a part of one.
fn is_index(path: &Path) -> bool {
    path.to_str().is_some_and(|name| name == INDEX || name.starts_with(SHARED_INDEX))
}

/// Judges what a command has left at a path of its git directory.
pub(super) fn judge(path: &Path, text: &[u8], format: Format) -> Judged {
    let path = path.to_str().unwrap_or_default();
    let refused_unless = |is_harmless: bool, why| {
        if is_harmless { Judged::Harmless } else { Judged::Refused(why) }
    };
    match path {
        _ if is_index(Path::new(path)) => match index::judge(text, format) {
            Index::Sound(_) => Judged::Harmless,
            Index::Instead(text, _) => Judged::Instead(text, None),
            Index::Unsound => Judged::Refused(
                "it names paths that git never adds, or is damaged; run `git reset` for a new one",
            ),
        },
        todo::LIST => {
            todo::harmless(text).map_or(Judged::Harmless, |text| Judged::Instead(text, Some(todo::WHY)))
        }
        UPDATES => Judged::Refused("it moves other branches; move these by calls of their own"),
        STRATEGY => refused_unless(
            STRATEGIES.iter().any(|known| known.as_bytes() == text.trim_ascii()),
            "it names a program that git would run outside of the sandbox",
        ),
        OPTIONS => refused_unless(
            are_options(text),
            "it may name a program that git would run outside of the sandbox; begin again",
        ),
        CONFLICTS => refused_unless(
            are_conflicts(text, format),
            "it names files outside of the worktree, which git would copy; begin the merge again",
        ),
        _ => Judged::Harmless,
    }
}

/// Lines as git writes them: `[options]`, and below it a name and a value.
fn are_options(text: &[u8]) -> bool {
    let is_option = |line: &str| {
        let (name, value) =
            line.split_once('=').map_or((line, ""), |(name, value)| (name.trim(), value.trim()));
        let is_known = OPTION_NAMES.contains(&name);
        // A value may go on in the next line.
        is_known && !value.ends_with('\\') && (name != "strategy" || STRATEGIES.contains(&value))
    };
    std::str::from_utf8(text).is_ok_and(|text| {
        text.lines().map(str::trim).all(|line| line.is_empty() || line == "[options]" || is_option(line))
    })
}

/// `ID<tab>PATH<nul>`, where an id may have a number behind it.
fn are_conflicts(text: &[u8], format: Format) -> bool {
    let is_conflict = |entry: &[u8]| {
        let mut parts = entry.splitn(2, |byte| *byte == b'\t');
        let (id, path) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let id = std::str::from_utf8(id).unwrap_or_default();
        let (id, number) = id.split_once('.').unwrap_or((id, "0"));
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        id.len() == format.digits() && is_hex(id) && is_number && is_path(path)
    };
    match text.strip_suffix(b"\0") {
        Some(entries) => entries.split(|byte| *byte == 0).all(is_conflict),
        None => text.is_empty(),
    }
}

/// Has a git directory that the command has written itself hold only what is harmless, but for its index.
pub(super) fn check(
    own: &OwnedFd,
    format: Format,
    quarantine: &OwnedFd,
    taken: &mut Taken,
) -> io::Result<()> {
    for path in [CONFLICTS, OPTIONS, todo::LIST, STRATEGY, UPDATES] {
        check_file(own, Path::new(path), format, quarantine, taken)?;
    }
    Ok(())
}

/// The same for the index of such a directory. Gives the files that were looked at.
pub(super) fn check_index(
    own: &OwnedFd,
    format: Format,
    quarantine: &OwnedFd,
    taken: &mut Taken,
) -> io::Result<Vec<PathBuf>> {
    let index = PathBuf::from(INDEX);
    let text = check_file(own, &index, format, quarantine, taken)?;
    let Some(Index::Sound(shared) | Index::Instead(_, shared)) = text.map(|text| index::judge(&text, format))
    else {
        return Ok(Vec::new());
    };
    let shared = shared.map(PathBuf::from);
    if let Some(shared) = &shared {
        check_file(own, shared, format, quarantine, taken)?;
    }
    Ok([index].into_iter().chain(shared).collect())
}

/// Judges one file. Gives what was in it, if it stays.
fn check_file(
    own: &OwnedFd,
    path: &Path,
    format: Format,
    quarantine: &OwnedFd,
    taken: &mut Taken,
) -> io::Result<Option<Vec<u8>>> {
    let most = if is_index(path) { LARGEST_INDEX } else { LARGEST_NOTE };
    let (text, judged) = match read_file(own, path, most) {
        Ok(None) => return Ok(None),
        Ok(Some(text)) => {
            let judged = judge(path, &text, format);
            (Some(text), judged)
        }
        Err(_) => (None, Judged::Refused("it cannot be looked through; begin again")),
    };
    match judged {
        Judged::Harmless => Ok(text),
        Judged::Instead(instead, why) => {
            if let Some(why) = why {
                taken.refuse(&path.to_string_lossy(), why);
            }
            replace(own, path, &instead)?;
            Ok(text)
        }
        Judged::Refused(why) => {
            taken.refuse(&path.to_string_lossy(), why);
            let (above, name) = parts(path);
            move_away(&reach_directory(own, above)?, name.as_os_str(), quarantine)?;
            Ok(None)
        }
    }
}

/// Has a rebase that goes on move none but these branches at its end.
pub(super) fn check_rebased(
    own: &OwnedFd,
    is_moved: impl Fn(&str) -> bool,
    taken: &mut Taken,
) -> io::Result<()> {
    for path in REBASED.map(Path::new) {
        let Ok(Some(text)) = read_file(own, path, LARGEST_NOTE) else { continue };
        let text = String::from_utf8_lossy(&text);
        let branch = text.trim().strip_prefix("refs/heads/");
        if text != NO_BRANCH && !branch.is_some_and(&is_moved) {
            taken.refuse(
                &path.to_string_lossy(),
                "the branch is not this worktree's own; the rebase goes on without a branch",
            );
            replace(own, path, NO_BRANCH.as_bytes())?;
        }
    }
    Ok(())
}

fn parts(path: &Path) -> (&Path, PathBuf) {
    let above = path.parent().filter(|above| *above != Path::new("")).unwrap_or(Path::new("."));
    (above, path.file_name().map(PathBuf::from).unwrap_or_default())
}

/// Under another name first: whatever is there, a link for one, is replaced and not written through.
fn replace(own: &OwnedFd, path: &Path, text: &[u8]) -> io::Result<()> {
    let (above, name) = parts(path);
    let above = open_directory(own, above)?;
    let new = format!("tmp_toolgate_{}", std::process::id());
    let _ = unlinkat(&above, &new, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = fs::File::from(openat(&above, &new, flags, Mode::from_raw_mode(0o666))?);
    let written = file.write_all(text).and_then(|()| Ok(renameat(&above, &new, &above, &name)?));
    if written.is_err() {
        let _ = unlinkat(&above, &new, AtFlags::empty());
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_harmless(path: &str, text: &str) -> bool {
        judge(Path::new(path), text.as_bytes(), Format::Sha1) == Judged::Harmless
    }

    #[test]
    fn what_names_a_program_a_path_or_a_branch_elsewhere_is_refused() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        for (path, text, expected) in [
            ("rebase-merge/strategy", "ort\n", true),
            ("rebase-merge/strategy", "x/y\n", false),
            ("rebase-merge/strategy", "ort\nx", false),
            ("rebase-merge/update-refs", "refs/heads/main\n0\n1\n", false),
            ("rebase-merge/message", "strategy = x/y\n", true),
            ("sequencer/opts", "[options]\n\tmainline = 1\n\tno-commit = true\n", true),
            ("sequencer/opts", "[options]\n\tstrategy = ort\n\tstrategy-option = theirs\n\tedit\n", true),
            ("sequencer/opts", "[options]\n\tstrategy = x/y\n", false),
            ("sequencer/opts", "[options]\n\tstrategy = \"x/y\"\n", false),
            ("sequencer/opts", "[options] strategy = x/y\n", false),
            ("sequencer/opts", "[options]\n\tSTRATEGY = x/y\n", false),
            ("sequencer/opts", "[options]\n\tedit = \\\n\tstrategy = x\n", false),
            ("sequencer/opts", "[include]\n\tpath = x\n", false),
            ("MERGE_RR", "", true),
            ("MERGE_RR", &format!("{id}\ta/b c\0{id}.12\tx\0"), true),
            ("MERGE_RR", &format!("{id}\t../secret\0"), false),
            ("MERGE_RR", &format!("{id}\t/etc/passwd\0"), false),
            ("MERGE_RR", &format!("{id}\ta\0{id}\t.git/config\0"), false),
            ("MERGE_RR", &format!("{id}\ta"), false),
            ("MERGE_RR", "../x\ta\0", false),
            ("index", "DIRC", false),
            ("sharedindex.0", "DIRC", false),
            ("ORIG_HEAD", "anything", true),
        ] {
            assert_eq!(is_harmless(path, text), expected, "{path}: {text:?}");
        }
    }
}
