//! Reflogs of other branches, which a command at level `landlock` can write where its own branch has no directory of its
//! own. They are how a person finds back what was lost, so what a command deletes there is put back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, openat};

use super::Taken;
use super::refs::{LOGS, Refs, is_branch_name};
use crate::path::{Stamp, kinds_in, open_directory, read_file, read_seen_file, remove_tree};

const LARGEST: u64 = 4 << 20;
const MOST_KEPT: u64 = 32 << 20;
const MOST_NAMES: usize = 10_000;
const MOST_DEPTH: usize = 32;

/// A reflog as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Log {
    text: Vec<u8>,
    /// Which content of the file that is, where a later one must show.
    stamp: Option<Stamp>,
}

/// Reads the reflogs below a directory of `logs/refs/heads`, but for those of some branches. What is past the bounds is left out.
pub(super) fn read(common: &OwnedFd, below: &Path, but: &BTreeSet<String>) -> BTreeMap<String, Log> {
    let mut logs = BTreeMap::new();
    if let Ok(directory) = open_directory(common, &Path::new(LOGS).join(below)) {
        let mut left = MOST_KEPT;
        let _ = walk(&directory, below, but, 0, &mut left, &mut logs);
    }
    logs
}

fn walk(
    directory: &OwnedFd,
    here: &Path,
    but: &BTreeSet<String>,
    depth: usize,
    left: &mut u64,
    logs: &mut BTreeMap<String, Log>,
) -> io::Result<()> {
    for (name, kind) in kinds_in(directory, MOST_NAMES)? {
        let path = here.join(&name);
        let Some(branch) = path.to_str().filter(|branch| is_branch_name(branch)) else { continue };
        match kind {
            FileType::Directory if depth < MOST_DEPTH => {
                walk(&open_directory(directory, Path::new(&name))?, &path, but, depth + 1, left, logs)?;
            }
            FileType::RegularFile if !but.contains(branch) && logs.len() < MOST_NAMES => {
                if let Ok(Some((text, stamp))) =
                    read_seen_file(directory, Path::new(&name), LARGEST.min(*left))
                {
                    *left -= u64::try_from(text.len()).unwrap_or(*left).min(*left);
                    logs.insert(branch.to_owned(), Log { text, stamp: stamp.settled() });
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Puts back reflogs that have lost lines, of branches that are still there, and those that tell of a move that was taken back.
pub(super) fn put_back(common: &OwnedFd, refs: &Refs<'_>, before: &BTreeMap<String, Log>, taken: &mut Taken) {
    for (branch, Log { text: before, stamp }) in before {
        let path = Path::new(LOGS).join(branch);
        if stamp.is_some() && Stamp::at(common, &path) == *stamp {
            continue;
        }
        let now = read_file(common, &path, LARGEST * 4).ok().flatten().unwrap_or_default();
        let Ok(Some(id)) = refs.id(branch) else { continue };
        // Whoever moves a branch outside meanwhile has it be what the last line says.
        let tells_otherwise = last_id(&now) != Some(id.as_bytes()) && last_id(before) == Some(id.as_bytes());
        let why = match (has_grown(before, &now), tells_otherwise) {
            (true, false) => continue,
            (true, true) => "it told of a move that was not taken over; it was put back",
            (false, _) => "lines of it were gone; it was put back",
        };
        let what = format!("{LOGS}/{branch}");
        taken.refuse(&what, why);
        if let Err(error) = write(common, &path, before) {
            taken.refuse(&what, format!("it cannot be put back: {error}"));
        }
    }
}

/// What the branch was moved to by the last line.
fn last_id(log: &[u8]) -> Option<&[u8]> {
    let line = log.strip_suffix(b"\n").unwrap_or(log).rsplit(|byte| *byte == b'\n').next()?;
    line.split(|byte| *byte == b' ').nth(1)
}

/// Whether lines were only added, after some old ones may have expired.
fn has_grown(before: &[u8], now: &[u8]) -> bool {
    if now.starts_with(before) {
        return true;
    }
    // What is left of the old lines after expiry is their end, which the new text begins with.
    let mut starts = before.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    starts.any(|start| before.get(start..).is_some_and(|end| !end.is_empty() && now.starts_with(end)))
}

fn write(common: &OwnedFd, path: &Path, text: &[u8]) -> io::Result<()> {
    let above = path.parent().unwrap_or(Path::new(LOGS));
    super::refs::make_directories(common, above)?;
    let above = open_directory(common, above)?;
    let name = path.file_name().ok_or_else(|| io::Error::other("a path without a name"))?;
    remove_tree(&above, name)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::File::from(openat(&above, name, flags, Mode::from_raw_mode(0o666))?).write_all(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_says_where_a_branch_is() {
        assert_eq!(last_id(b"0 1 A <a> 1 +0\tx\n1 2 A <a> 2 +0\ty z\n"), Some(&b"2"[..]));
        assert_eq!(last_id(b"0 1 A"), Some(&b"1"[..]));
        assert_eq!((last_id(b""), last_id(b"x\n")), (None, None));
    }

    #[test]
    fn a_reflog_grows_and_expires() {
        for (now, expected) in [
            ("1\n2\n3\n", true),
            ("1\n2\n3\n4\n", true),
            ("2\n3\n4\n", true),
            ("3\n", true),
            ("", false),
            ("4\n", false),
            ("1\n2\n", false),
            ("x\n2\n3\n", false),
        ] {
            assert_eq!(has_grown(b"1\n2\n3\n", now.as_bytes()), expected, "{now:?}");
        }
    }
}
