//! The index of a worktree, as a command has left it.
//!
//! Git checks a path when it puts it into the index, and believes what it finds there. `git restore .` writes each file that the index names: `../x`
//! beside the worktree, `.git/hooks/x` where git runs it. So every path of an index is checked before git outside is given it. Git may also read
//! entries by a table at the end, in several threads; such a table is left out, or two readings of one file could differ.

use super::Format;
use super::objects::{self, is_entry_name};

/// What an index is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Index {
    /// With the name of the file that has more of its entries, if there is one.
    Sound(Option<String>),
    /// Sound without its tables, and written anew without them.
    Instead(Vec<u8>, Option<String>),
    Unsound,
}

/// No file system takes a longer path. Entries share the beginnings of their names, so without a bound a small file has endless ones.
const MOST_NAME: usize = 4096;
/// Mode of an entry that stands for a whole directory.
const DIRECTORY: u32 = 0o040_000;
/// The part of an entry's flags that holds the length of its name, and the longest that it can say.
const NAME_LENGTH: u16 = 0xfff;
const HAS_MORE_FLAGS: u16 = 0x4000;
/// Where entries end, and where blocks of them begin.
const TABLES: [&[u8]; 2] = [b"EOIE", b"IEOT"];
/// Names of entries come from another file.
const SPLIT: &[u8] = b"link";

/// Looks at all of an index. What cannot be read is not sound.
pub(super) fn judge(text: &[u8], format: Format) -> Index {
    read(text, format).unwrap_or(Index::Unsound)
}

fn read(text: &[u8], format: Format) -> Option<Index> {
    let digest = format.digits() / 2;
    let body = text.get(..text.len().checked_sub(digest)?)?;
    let mut rest = Rest(body);
    (rest.take(4)? == b"DIRC").then_some(())?;
    let version = rest.number()?;
    (2..=4).contains(&version).then_some(())?;
    let count = rest.number()?;
    let mut name = Vec::new();
    let mut has_empty = false;
    for _ in 0..count {
        let mode = rest.entry(version, digest, &mut name)?;
        has_empty |= name.is_empty();
        let path = if mode == DIRECTORY { name.strip_suffix(b"/")? } else { &name };
        (name.is_empty() || is_path(path)).then_some(())?;
    }
    let entries = body.get(..body.len().checked_sub(rest.0.len())?)?;
    let (mut kept, mut shared, mut has_tables, mut last) = (entries.to_vec(), None, false, 0);
    while !rest.0.is_empty() {
        let (from, whole) = (body.len().checked_sub(rest.0.len())?, rest.0);
        let name = rest.take(4)?;
        let length = usize::try_from(rest.number()?).ok()?;
        let content = rest.take(length)?;
        if name == SPLIT {
            let id = content.get(..digest)?;
            // Of two the last one counts; git itself writes one.
            shared.is_none().then_some(())?;
            // Zeros: there is no such file yet.
            shared =
                Some(id.iter().any(|byte| *byte != 0).then(|| format!("sharedindex.{}", objects::hex(id))));
        }
        if TABLES.contains(&name) {
            (has_tables, last) = (true, from);
        } else {
            kept.extend(whole.get(..whole.len().checked_sub(rest.0.len())?)?);
        }
    }
    // Git looks for the first table at a fixed distance from the end, whatever lies there.
    let table = body.len().checked_sub(4 + 4 + 4 + digest);
    let is_found = table.is_some_and(|at| body.get(at..).is_some_and(|end| end.starts_with(b"EOIE")));
    if (has_empty && shared.is_none()) || (is_found && (!has_tables || table != Some(last))) {
        return None;
    }
    let shared = shared.flatten();
    if !has_tables {
        return Some(Index::Sound(shared));
    }
    let digest = objects::digest(&kept, format);
    kept.extend(digest);
    Some(Index::Instead(kept, shared))
}

/// Whether git would put this path into an index.
pub(super) fn is_path(path: &[u8]) -> bool {
    !path.contains(&0) && path.split(|byte| *byte == b'/').all(is_entry_name)
}

/// What is left of a text.
struct Rest<'t>(&'t [u8]);

impl<'t> Rest<'t> {
    fn take(&mut self, length: usize) -> Option<&'t [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn short(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    /// What comes before the next NUL, which is taken too.
    fn until_nul(&mut self) -> Option<&'t [u8]> {
        let text = self.take(self.0.iter().position(|byte| *byte == 0)?)?;
        self.take(1)?;
        Some(text)
    }

    /// A number in git's own form, of seven bits in a byte.
    fn varint(&mut self) -> Option<usize> {
        let mut value: usize = 0;
        loop {
            let byte = *self.take(1)?.first()?;
            value = value.checked_add(usize::from(byte & 0x7f))?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
            value = value.checked_add(1)?.checked_mul(128)?;
        }
    }

    /// Takes an entry, whose name follows that of the entry before. Gives its mode.
    fn entry(&mut self, version: u32, digest: usize, name: &mut Vec<u8>) -> Option<u32> {
        let start = self.0.len();
        self.take(24)?;
        let mode = self.number()?;
        self.take(12 + digest)?;
        let flags = self.short()?;
        if flags & HAS_MORE_FLAGS != 0 {
            (version > 2).then_some(())?;
            self.take(2)?;
        }
        if version == 4 {
            let gone = self.varint()?;
            name.truncate(name.len().checked_sub(gone)?);
            name.extend(self.until_nul()?);
        } else {
            name.clear();
            name.extend(self.until_nul()?);
            // Filled up to a multiple of eight, with at least the one that was taken.
            let length = start.checked_sub(self.0.len())?.checked_sub(1)?;
            let filled = (length + 8) & !7;
            self.take(filled.checked_sub(length + 1)?)?;
        }
        (name.len() <= MOST_NAME).then_some(())?;
        // Git goes by the length that is stated.
        let stated = usize::from(flags & NAME_LENGTH);
        let is_stated = stated == name.len().min(usize::from(NAME_LENGTH));
        is_stated.then_some(mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(version: u32, before: &str, name: &str, mode: u32) -> Vec<u8> {
        let mut entry = [&[0; 24][..], &mode.to_be_bytes(), &[0; 32]].concat();
        let length = u16::try_from(name.len().min(0xfff)).unwrap();
        entry.extend(length.to_be_bytes());
        if version == 4 {
            let common = before.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
            entry.push(u8::try_from(before.len() - common).unwrap());
            entry.extend(&name.as_bytes()[common..]);
            entry.push(0);
        } else {
            entry.extend(name.bytes());
            let filled = (entry.len() + 8) & !7;
            entry.resize(filled, 0);
        }
        entry
    }

    fn index(version: u32, names: &[&str], extensions: &[(&str, &[u8])]) -> Vec<u8> {
        let count = u32::try_from(names.len()).unwrap();
        let mut text = [b"DIRC", &version.to_be_bytes()[..], &count.to_be_bytes()].concat();
        let mut before = "";
        for name in names {
            let mode = if name.ends_with('/') { DIRECTORY } else { 0o100_644 };
            text.extend(entry(version, before, name, mode));
            before = name;
        }
        for (name, content) in extensions {
            text.extend(name.bytes());
            text.extend(u32::try_from(content.len()).unwrap().to_be_bytes());
            text.extend(*content);
        }
        let digest = objects::digest(&text, Format::Sha1);
        text.extend(digest);
        text
    }

    #[test]
    fn a_path_that_git_would_not_add_makes_an_index_unsound() {
        let long = "a".repeat(MOST_NAME);
        let endless = "a".repeat(MOST_NAME + 1);
        for (names, expected) in [
            (&[][..], true),
            (&["a", "a/b", "ab/c", "ä"][..], true),
            (&[long.as_str()], true),
            (&[endless.as_str()], false),
            (&["dir/"], true),
            (&[".gitignore", "a.git/x", "a/.gitmodules"], true),
            (&["a", "../x"], false),
            (&["a/../../x"], false),
            (&["./a"], false),
            (&["/etc/x"], false),
            (&["a//b"], false),
            (&[".git/hooks/pre-commit"], false),
            (&["sub/.GIT/config"], false),
            (&["git~1/config"], false),
            (&[".git. /config"], false),
            (&["../dir/"], false),
            (&[""], false),
        ] {
            for version in 2..=4 {
                let found = judge(&index(version, names, &[("TREE", b"x")]), Format::Sha1);
                assert_eq!(found == Index::Sound(None), expected, "{names:?} version {version}");
            }
        }
    }

    #[test]
    fn an_index_that_is_cut_off_or_lies_about_a_length_is_unsound() {
        let whole = index(2, &["a", "b/c"], &[("TREE", b"xyz")]);
        for length in 0..whole.len() - 20 {
            let mut cut = whole[..length].to_vec();
            cut.extend([0; 20]);
            let is_at_end = length == index(2, &["a", "b/c"], &[]).len() - 20;
            assert_eq!(judge(&cut, Format::Sha1) == Index::Sound(None), is_at_end, "{length}");
        }
        let mut lies = index(2, &["a/..b"], &[]);
        lies[12 + 61] = 2;
        assert_eq!(judge(&lies, Format::Sha1), Index::Unsound);
    }

    #[test]
    fn tables_are_left_out() {
        let eoie = [0; 24];
        let plain = index(2, &["a"], &[("TREE", b"x")]);
        for extensions in [
            &[("TREE", &b"x"[..]), ("IEOT", b"1234"), ("EOIE", &eoie)][..],
            &[("IEOT", b"1234"), ("TREE", b"x")],
        ] {
            let found = judge(&index(2, &["a"], extensions), Format::Sha1);
            assert_eq!(found, Index::Instead(plain.clone(), None), "{extensions:?}");
        }
        // One that only git finds, at the end of something else.
        let hidden = [&b"1234EOIE\0\0\0\x18"[..], &eoie].concat();
        assert_eq!(judge(&index(2, &["a"], &[("UNTR", &hidden)]), Format::Sha1), Index::Unsound);
        let shared = Some(format!("sharedindex.{}", "07".repeat(20)));
        assert_eq!(judge(&index(2, &[""], &[("link", &[7; 24])]), Format::Sha1), Index::Sound(shared));
        assert_eq!(judge(&index(2, &[""], &[("link", b"x")]), Format::Sha1), Index::Unsound);
    }
}
