//! Files of a git directory that git believes when it goes on outside of the sandbox: which paths it writes, which programs it starts, which
//! branches it moves.
//!
//! Against whom: a command that leaves a merge, a rebase or an index behind, made by itself and not by git. The person's next `git restore .` or
//! `git cherry-pick --continue` would act by it, and so would the agent's own next `git commit`, which nobody asks about. So what is in such
//! a file is only what git itself could have put there; else the file is left out, and that is said. What git keeps in directories of its own
//! and is not known here is left out too.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};
use rustix::rand::{GetRandomFlags, getrandom};

use super::index::{self, Index, is_path};
use super::objects::is_hex;
use super::refs::is_branch_name;
use super::{Format, Taken, todo};
use crate::path::{open_directory, open_file, reach_directory, read_file};
use crate::pins::move_away;

const INDEX: &str = "index";
const SHARED_INDEX: &str = "sharedindex.";
/// What stands there instead of a branch.
const NO_BRANCH: &str = "detached HEAD\n";

const LARGEST_NOTE: u64 = 64 << 20;
/// A reference, or a line or two.
const LARGEST_LINES: u64 = 64 << 10;
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

/// What is known of a worktree when its files are judged.
pub(super) struct Ground<'g> {
    pub(super) format: Format,
    /// Whether a branch may be checked out here.
    pub(super) checks_out: &'g dyn Fn(&str) -> bool,
    /// Whether a branch may be moved here, at the end of a rebase.
    pub(super) rebases: &'g dyn Fn(&str) -> bool,
    /// What `HEAD` was before.
    pub(super) head: Option<&'g str>,
}

/// What a file of a git directory may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Anything: git shows it, or reads it in a way that does no harm.
    Any,
    Index,
    /// The branch that is checked out, or a commit.
    Head,
    /// The branch that a rebase moves at its end.
    Rebased,
    /// Names of objects, one a line. The name of another reference would have git write that one.
    Ids,
    /// The same, with words behind each.
    Fetched,
    /// Anything but the name of another reference.
    NoReference,
    Todo,
    Strategy,
    Options,
    Conflicts,
    /// Options of `git apply`.
    ApplyOptions,
    /// References that a rebase deletes at its end.
    Deleted,
    /// Where a bisection began: a branch or a commit, as `git checkout` takes it.
    Start,
    /// What a bisection calls good and bad.
    Words,
    /// Nothing that git outside should find.
    Refused(&'static str),
}

const UNKNOWN: &str = "git does not write it there in ordinary work";

/// Files at the top that git shows, or asks only whether they are there.
const SHOWN: [&str; 24] = [
    "ADD_EDIT.patch",
    "BISECT_ANCESTORS_OK",
    "BISECT_FIRST_PARENT",
    "BISECT_LOG",
    "BISECT_NAMES",
    "BISECT_RUN",
    "COMMIT_EDITMSG",
    "EDIT_DESCRIPTION",
    "MERGE_MODE",
    "MERGE_MSG",
    "NOTES_EDITMSG",
    "SQUASH_MSG",
    "TAG_EDITMSG",
    "addp-hunk-edit.diff",
    "commondir",
    "config",
    "config.worktree",
    "description",
    "gc.log",
    "gc.pid",
    "gitdir",
    "locked",
    "packed-refs",
    "shallow",
];
/// Files at the top that are references.
const REFERENCES: [&str; 9] = [
    "AUTO_MERGE",
    "BISECT_EXPECTED_REV",
    "BISECT_HEAD",
    "CHERRY_PICK_HEAD",
    "MERGE_AUTOSTASH",
    "MERGE_HEAD",
    "ORIG_HEAD",
    "REBASE_HEAD",
    "REVERT_HEAD",
];
/// Others at the top that git acts by.
const ACTED_BY: [&str; 7] = [
    "BISECT_START",
    "BISECT_TERMS",
    "FETCH_HEAD",
    "HEAD",
    "MERGE_RR",
    "NOTES_MERGE_PARTIAL",
    "NOTES_MERGE_REF",
];
/// Directories at the top.
const DIRECTORIES: [&str; 8] =
    ["NOTES_MERGE_WORKTREE", "info", "logs", "rebase-apply", "rebase-merge", "refs", "rr-cache", "sequencer"];

/// What of a rebase in `rebase-merge` git shows, counts, or asks only whether it is there.
const OF_MERGING: [&str; 28] = [
    "allow_rerere_autoupdate",
    "author-script",
    "cdate_is_adate",
    "current-fixups",
    "done",
    "drop_redundant_commits",
    "dropped",
    "end",
    "git-rebase-todo.backup",
    "gpg_sign_opt",
    "ignore_date",
    "interactive",
    "keep_redundant_commits",
    "message",
    "message-fixup",
    "message-squash",
    "msgnum",
    "no-reschedule-failed-exec",
    "patch",
    "quiet",
    "reschedule-failed-exec",
    "rewritten-list",
    "rewritten-pending",
    "signoff",
    "strategy_opts",
    "trailer",
    "verbose",
    "rewritten",
];
/// The same of `git am` and of a rebase in `rebase-apply`.
const OF_APPLYING: [&str; 25] = [
    "applying",
    "author-script",
    "committer-date-is-author-date",
    "dirtyindex",
    "final-commit",
    "gpg_sign_opt",
    "info",
    "keep",
    "last",
    "messageid",
    "mode",
    "msg",
    "msg-clean",
    "msgnum",
    "next",
    "no_inbody_headers",
    "patch",
    "quiet",
    "quoted-cr",
    "rebasing",
    "rewritten",
    "scissors",
    "sign",
    "threeway",
    "utf8",
];

/// Names at the top under which git writes or acts.
pub(super) fn known_names() -> impl Iterator<Item = &'static str> {
    [INDEX].into_iter().chain(SHOWN).chain(REFERENCES).chain(ACTED_BY).chain(DIRECTORIES)
}

fn form_of(path: &str) -> Form {
    let is_lock = path.as_bytes().ends_with(b".lock");
    match path.split_once('/') {
        None if is_index(path) => Form::Index,
        None => match path {
            "HEAD" => Form::Head,
            "FETCH_HEAD" => Form::Fetched,
            "MERGE_RR" => Form::Conflicts,
            "BISECT_START" => Form::Start,
            "BISECT_TERMS" => Form::Words,
            "NOTES_MERGE_REF" | "NOTES_MERGE_PARTIAL" => {
                Form::Refused("all worktrees share notes; merge them by a call of their own")
            }
            path if REFERENCES.contains(&path) => Form::Ids,
            path if SHOWN.contains(&path) || is_lock => Form::Any,
            // What git does not know may be another program's. By its name git could take it for a reference.
            _ => Form::NoReference,
        },
        Some((_, _)) if path == todo::LIST => Form::Todo,
        Some(("rebase-merge", name)) => match name {
            "head-name" => Form::Rebased,
            "strategy" => Form::Strategy,
            "update-refs" => Form::Refused("it moves other branches; move these by calls of their own"),
            "refs-to-delete" => Form::Deleted,
            "amend" | "autostash" | "onto" | "orig-head" | "squash-onto" | "stopped-sha" => Form::Ids,
            name if OF_MERGING.contains(&name) || is_lock => Form::Any,
            _ => Form::Refused(UNKNOWN),
        },
        Some(("rebase-apply", name)) => match name {
            "head-name" => Form::Rebased,
            "apply-opt" => Form::ApplyOptions,
            "abort-safety" | "autostash" | "onto" | "orig-head" | "original-commit" => Form::Ids,
            name if OF_APPLYING.contains(&name) || is_lock => Form::Any,
            // The patches, by their numbers.
            name if name.bytes().all(|byte| byte.is_ascii_digit()) => Form::Any,
            _ => Form::Refused(UNKNOWN),
        },
        Some(("sequencer", name)) => match name {
            "opts" => Form::Options,
            "abort-safety" | "head" => Form::Ids,
            // Of all commands, git takes only the one that goes on.
            "todo" => Form::Any,
            _ if is_lock => Form::Any,
            _ => Form::Refused(UNKNOWN),
        },
        Some(("refs", name)) => match name.split('/').next() {
            // Of these a worktree has none of its own, and a person may have given a branch a second name.
            Some("heads" | "tags" | "remotes" | "notes" | "stash") => Form::Any,
            _ if is_lock => Form::Any,
            _ => Form::Ids,
        },
        Some(_) => Form::Any,
    }
}

/// What becomes of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judged {
    Harmless,
    /// This content is harmless. With a reason where that is to be told.
    Instead(Vec<u8>, Option<&'static str>),
    Refused(&'static str),
}

/// Whether a path of a git directory is that of an index, or of a part of one.
fn is_index(path: &str) -> bool {
    path == INDEX || path.starts_with(SHARED_INDEX)
}

/// Judges what a command has left at a path of its git directory.
pub(super) fn judge(path: &Path, text: &[u8], ground: &Ground<'_>) -> Judged {
    let format = ground.format;
    let refused_unless = |is_harmless: bool, why| {
        if is_harmless { Judged::Harmless } else { Judged::Refused(why) }
    };
    let line = std::str::from_utf8(text).map(|text| text.strip_suffix('\n').unwrap_or(text));
    let line = line.unwrap_or("\0");
    match path.to_str().map_or(Form::Refused(UNKNOWN), form_of) {
        Form::Any => Judged::Harmless,
        Form::Refused(why) => Judged::Refused(why),
        Form::Index => match index::judge(text, format) {
            Index::Sound(_) => Judged::Harmless,
            Index::Instead(text, _) => Judged::Instead(text, None),
            Index::Unsound => Judged::Refused(
                "it names paths that git never adds, or is damaged; run `git reset` for a new one",
            ),
        },
        Form::Head => {
            const WHY: &str = "it names neither a commit nor a branch that is free; check out another one";
            let branch = line.strip_prefix("ref: refs/heads/").filter(|branch| is_branch_name(branch));
            if ground.head == Some(line) || format.is_id(line) || branch.is_some_and(ground.checks_out) {
                return Judged::Harmless;
            }
            match ground.head {
                Some(before) => Judged::Instead(format!("{before}\n").into_bytes(), Some(WHY)),
                None => Judged::Refused(WHY),
            }
        }
        Form::Rebased => {
            let branch = line.strip_prefix("refs/heads/").filter(|branch| is_branch_name(branch));
            if text == NO_BRANCH.as_bytes() || branch.is_some_and(ground.rebases) {
                return Judged::Harmless;
            }
            let why = "the branch is not this worktree's own; the rebase goes on without a branch";
            Judged::Instead(NO_BRANCH.into(), Some(why))
        }
        Form::Ids => refused_unless(
            line.lines().all(|line| is_id_or_start(line, format)),
            "it is not the name of a commit, and git could write another branch by it",
        ),
        Form::Fetched => refused_unless(
            line.lines().all(|line| line.split('\t').next().is_some_and(|id| format.is_id(id))),
            "it is not what a fetch leaves",
        ),
        Form::NoReference => refused_unless(
            !text.starts_with(b"ref:"),
            "it names a reference, and git could write that one by it",
        ),
        Form::Todo => {
            todo::harmless(text).map_or(Judged::Harmless, |text| Judged::Instead(text, Some(todo::WHY)))
        }
        Form::Strategy => refused_unless(
            STRATEGIES.iter().any(|known| known.as_bytes() == text.trim_ascii()),
            "it names a program that git would run outside of the sandbox",
        ),
        Form::Options => refused_unless(
            are_options(text),
            "it may name a program that git would run outside of the sandbox; begin again",
        ),
        Form::Conflicts => refused_unless(
            are_conflicts(text, format),
            "it names files outside of the worktree, which git would copy; begin the merge again",
        ),
        Form::ApplyOptions => {
            refused_unless(are_apply_options(line), "it has git write files that no patch names; begin again")
        }
        Form::Deleted => refused_unless(
            line.lines().all(|name| name.strip_prefix("refs/rewritten/").is_some_and(is_branch_name)),
            "it deletes branches; delete these by calls of their own",
        ),
        Form::Start => refused_unless(
            format.is_id(line) || is_branch_name(line),
            "it is neither a branch nor a commit; begin the bisection again",
        ),
        Form::Words => refused_unless(
            line.lines().all(|word| is_branch_name(word) && !word.contains('/')),
            "these are not words for good and bad; begin the bisection again",
        ),
    }
}

/// The name of an object, or its beginning, as git shortens it.
fn is_id_or_start(text: &str, format: Format) -> bool {
    (4..=format.digits()).contains(&text.len()) && is_hex(text)
}

/// Options of `git apply` as `git am` keeps them: each in quotes, behind a space.
fn are_apply_options(text: &str) -> bool {
    const PLAIN: [&str; 5] =
        ["--ignore-whitespace", "--ignore-space-change", "--reject", "--allow-empty", "--no-allow-empty"];
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_option = |word: &str| {
        let Some(option) = word.strip_prefix('\'').and_then(|word| word.strip_suffix('\'')) else {
            return false;
        };
        if option.contains(['\'', '\\']) {
            return false;
        }
        match option.split_once('=') {
            Some(("--whitespace" | "--exclude" | "--include", _)) => true,
            Some(("--directory", value)) => is_path(value.trim_end_matches('/').as_bytes()),
            Some(_) => false,
            None => {
                PLAIN.contains(&option)
                    || option.strip_prefix("-p").or(option.strip_prefix("-C")).is_some_and(is_number)
            }
        }
    };
    // A value may hold a space; then it is not told apart here, and git begins again.
    text.split(' ').filter(|word| !word.is_empty()).all(is_option)
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

/// Has the index of a git directory that the command has written itself name only what is harmless. Gives the files that were looked at.
pub(super) fn check_index(
    own: &OwnedFd,
    ground: &Ground<'_>,
    quarantine: &OwnedFd,
    taken: &mut Taken,
) -> io::Result<Vec<PathBuf>> {
    let index = PathBuf::from(INDEX);
    let text = check_file(own, &index, ground, quarantine, taken)?;
    let Some(Index::Sound(shared) | Index::Instead(_, shared)) =
        text.map(|text| index::judge(&text, ground.format))
    else {
        return Ok(Vec::new());
    };
    let shared = shared.map(PathBuf::from);
    if let Some(shared) = &shared {
        check_file(own, shared, ground, quarantine, taken)?;
    }
    Ok([index].into_iter().chain(shared).collect())
}

/// The same for any other file, at a path of a git directory.
pub(super) fn check_note(
    own: &OwnedFd,
    path: &Path,
    ground: &Ground<'_>,
    quarantine: &OwnedFd,
    taken: &mut Taken,
) -> io::Result<()> {
    match path.to_str().map(form_of) {
        // An index is large. It is looked at when it has changed.
        Some(Form::Any | Form::Index) => Ok(()),
        _ => check_file(own, path, ground, quarantine, taken).map(drop),
    }
}

/// Judges one file. Gives what was in it, if it stays. An error: it is still there, whatever it is.
fn check_file(
    own: &OwnedFd,
    path: &Path,
    ground: &Ground<'_>,
    quarantine: &OwnedFd,
    taken: &mut Taken,
) -> io::Result<Option<Vec<u8>>> {
    let most = match path.to_str().map(form_of) {
        Some(Form::Index) => LARGEST_INDEX,
        Some(Form::Todo | Form::Conflicts | Form::Fetched) => LARGEST_NOTE,
        _ => LARGEST_LINES,
    };
    let found = match path.to_str().map(form_of) {
        // Its beginning tells.
        Some(Form::NoReference) => start_of(own, path).map(Some),
        _ => read_file(own, path, most),
    };
    let (text, judged) = match found {
        Ok(None) => return Ok(None),
        Ok(Some(text)) => {
            let judged = judge(path, &text, ground);
            (Some(text), judged)
        }
        // Past a bound nobody knows what is in it.
        Err(_) => (None, judge(path, b"\0", ground)),
    };
    let judged = match (text.is_some(), judged) {
        (false, Judged::Harmless) => Judged::Refused("it cannot be looked through; begin again"),
        (_, judged) => judged,
    };
    let away = |why: &str, taken: &mut Taken| -> io::Result<()> {
        taken.refuse(&path.to_string_lossy(), why);
        let (above, name) = parts(path);
        move_away(&reach_directory(own, above)?, name.as_os_str(), quarantine)
    };
    match judged {
        Judged::Harmless => Ok(text),
        Judged::Instead(instead, why) => {
            if replace(own, path, &instead).is_err() {
                return away("nothing harmless can be written in its place", taken).map(|()| None);
            }
            if let Some(why) = why {
                taken.refuse(&path.to_string_lossy(), why);
            }
            Ok(text)
        }
        Judged::Refused(why) => away(why, taken).map(|()| None),
    }
}

/// The first bytes of a file.
fn start_of(own: &OwnedFd, path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    open_file(own, path)?.take(16).read_to_end(&mut text)?;
    Ok(text)
}

fn parts(path: &Path) -> (&Path, PathBuf) {
    let above = path.parent().filter(|above| *above != Path::new("")).unwrap_or(Path::new("."));
    (above, path.file_name().map(PathBuf::from).unwrap_or_default())
}

/// Under another name first: whatever is there, a link for one, is replaced and not written through.
fn replace(own: &OwnedFd, path: &Path, text: &[u8]) -> io::Result<()> {
    let (above, name) = parts(path);
    let above = open_directory(own, above)?;
    let mut random = [0; 8];
    getrandom(&mut random, GetRandomFlags::empty())?;
    // A name that the command could not take beforehand.
    let new = format!("tmp_toolgate_{:016x}", u64::from_ne_bytes(random));
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
        let is_own = |branch: &str| branch == "own";
        let ground = Ground { format: Format::Sha1, checks_out: &is_own, rebases: &is_own, head: None };
        judge(Path::new(path), text.as_bytes(), &ground) == Judged::Harmless
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
            ("HEAD", "ref: refs/heads/own\n", true),
            ("HEAD", &format!("{id}\n"), true),
            ("HEAD", "ref: refs/heads/other\n", false),
            ("HEAD", "ref: refs/tags/v1\n", false),
            ("HEAD", "ref:\trefs/heads/own\n", false),
            ("ORIG_HEAD", &format!("{id}\n"), true),
            ("ORIG_HEAD", "ref: refs/heads/main\n", false),
            ("MERGE_HEAD", &format!("{id}\n{id}\n"), true),
            ("FETCH_HEAD", &format!("{id}\tnot-for-merge\tbranch 'a' of x\n"), true),
            ("FETCH_HEAD", "ref: refs/heads/main", false),
            ("refs/bisect/bad", id, true),
            ("refs/bisect/bad", "ref: refs/heads/other", false),
            ("refs/worktree/x", "ref: refs/heads/other", false),
            ("ANYTHING", "ref: refs/heads/other", false),
            ("anything", "text", true),
            ("COMMIT_EDITMSG", "ref: is what it is about", true),
            ("NOTES_MERGE_REF", "ref: refs/notes/commits", false),
            ("BISECT_START", "own\n", true),
            ("BISECT_START", "-Bother\n", false),
            ("BISECT_TERMS", "bad\ngood\n", true),
            ("BISECT_TERMS", "../heads/x\ngood\n", false),
            ("rebase-merge/head-name", "refs/heads/own\n", true),
            ("rebase-merge/head-name", "detached HEAD\n", true),
            ("rebase-merge/head-name", "refs/heads/main\0", false),
            ("rebase-apply/head-name", "refs/heads/main\n", false),
            ("rebase-merge/orig-head", id, true),
            ("rebase-merge/orig-head", "main", false),
            ("rebase-merge/stopped-sha", "0123abc", true),
            ("rebase-merge/refs-to-delete", "refs/rewritten/onto\n", true),
            ("rebase-merge/refs-to-delete", "refs/heads/main\n", false),
            ("rebase-merge/new-in-git", "x", false),
            ("rebase-merge/git-rebase-todo.lock", "x", true),
            ("rebase-apply/apply-opt", " '-p1' '--directory=a/b'\n", true),
            ("rebase-apply/apply-opt", "\n", true),
            ("rebase-apply/apply-opt", " '--build-fake-ancestor=/x'\n", false),
            ("rebase-apply/apply-opt", " '--directory=../x'\n", false),
            ("rebase-apply/apply-opt", " --reject\n", false),
            ("rebase-apply/0001", "From x", true),
            ("rebase-apply/new", "x", false),
            ("sequencer/head", id, true),
            ("sequencer/head", "main", false),
            ("sequencer/new", "x", false),
            ("logs/HEAD", "anything", true),
        ] {
            assert_eq!(is_harmless(path, text), expected, "{path}: {text:?}");
        }
    }
}
