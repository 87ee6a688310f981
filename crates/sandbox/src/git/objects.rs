//! Objects that a command has made, verified and copied to the repository.
//!
//! The command could write anything into its layer. So an object is read once, and the bytes that were read are the ones
//! that are checked and kept: it is never linked, since a process that was left behind may still hold the file open.
//! Inflating is bounded by what the header says and by a budget for the whole layer.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, linkat, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use sha2::Digest;

use super::outside::Git;
use super::{Format, Taken};
use crate::path::{kind_at, names_in, open_directory, open_file, remove_tree};

/// A layer may hold this many objects.
const MOST_OBJECTS: usize = 200_000;
/// One object, inflated.
const LARGEST_OBJECT: u64 = 1 << 30;
/// One object that is taken apart: a commit, a tree or a tag.
const LARGEST_STRUCTURE: u64 = 64 << 20;
/// All objects of a layer, inflated.
const MOST_INFLATED: u64 = 8 << 30;
/// All packs of a layer.
const MOST_PACKED: u64 = 4 << 30;

/// Takes over the objects in `from` that `to` does not have. `clears`: what was looked at is removed from there, so that it
/// is looked at once. Unfinished files stay: another command may be writing them.
pub(super) fn take_over(
    from: &OwnedFd,
    to: &OwnedFd,
    format: Format,
    git: Option<&Git>,
    clears: bool,
    taken: &mut Taken,
) {
    let mut import = Import { from, to, format, clears, inflated: 0, count: 0, deleted: 0, taken };
    let names = match names_in(from, 4096) {
        Ok(names) => names,
        Err(error) => return import.taken.refuse("objects", error),
    };
    for name in names {
        match name.to_str() {
            Some("pack") => import.packs(git),
            // Locks of git's own housekeeping, and its unfinished files.
            Some("info" | "maintenance.lock") => {}
            Some(text) if text.starts_with("tmp_") => {}
            Some(text) if text.len() == 2 && is_hex(text) => import.directory(text),
            _ => import
                .taken
                .refuse(&format!("objects/{}", name.display()), "it does not belong in a store of objects"),
        }
    }
    import.alternates();
    if import.deleted > 0 {
        let why = "what was deleted inside is still there: history is never deleted by a contained command";
        import.taken.refuse("objects", why);
    }
}

struct Import<'i> {
    from: &'i OwnedFd,
    to: &'i OwnedFd,
    format: Format,
    clears: bool,
    inflated: u64,
    count: usize,
    /// How much was deleted in the layer. Git tidies up by the hundred, so that is told once.
    deleted: usize,
    taken: &'i mut Taken,
}

impl Import<'_> {
    fn clear(&self, directory: &OwnedFd, name: &OsStr) {
        if self.clears {
            let _ = remove_tree(directory, name);
        }
    }

    fn alternates(&mut self) {
        let path = Path::new("info/alternates");
        if let Ok(Some(kind)) = kind_at(self.from, path)
            && !is_whiteout(kind)
        {
            self.taken
                .refuse("objects/info/alternates", "objects are only taken from this repository itself");
            self.clear(self.from, OsStr::new("info"));
        }
    }

    fn directory(&mut self, prefix: &str) {
        let here = format!("objects/{prefix}");
        match kind_at(self.from, Path::new(prefix)) {
            Ok(Some(FileType::Directory)) => {}
            Ok(Some(kind)) if is_whiteout(kind) => {
                self.deleted += 1;
                return;
            }
            Ok(_) => {
                self.taken.refuse(&here, "it is not a directory");
                return self.clear(self.from, OsStr::new(prefix));
            }
            Err(error) => return self.taken.refuse(&here, error),
        }
        let listed = open_directory(self.from, Path::new(prefix))
            .map_err(io::Error::from)
            .and_then(|directory| Ok((names_in(&directory, MOST_OBJECTS)?, directory)));
        let (names, from) = match listed {
            Ok(listed) => listed,
            Err(error) => return self.taken.refuse(&here, error),
        };
        for name in names {
            let Some(text) = name.to_str() else { continue };
            if text.starts_with("tmp_obj_") {
                continue;
            }
            let what = format!("{here}/{text}");
            if prefix.len() + text.len() != self.format.digits() || !is_hex(text) {
                self.taken.refuse(&what, "it is not an object");
                self.clear(&from, &name);
                continue;
            }
            let path = Path::new(prefix).join(text);
            match kind_at(&from, Path::new(text)) {
                Ok(Some(kind)) if is_whiteout(kind) => {
                    self.deleted += 1;
                    continue;
                }
                Ok(Some(_)) => {}
                Ok(None) => continue,
                Err(error) => {
                    self.taken.refuse(&what, error);
                    continue;
                }
            }
            // What is there is kept, whatever this one holds. Git also touches objects that it would write again.
            if !matches!(kind_at(self.to, &path), Ok(Some(_))) {
                match self.object(&from, prefix, text) {
                    Ok(true) => self.taken.objects += 1,
                    Ok(false) => {}
                    Err(error) => self.taken.refuse(&what, error),
                }
            }
            self.clear(&from, &name);
        }
    }

    /// Verifies one object while it is copied. `false`: somebody else has stored it by now.
    fn object(&mut self, from: &OwnedFd, prefix: &str, rest: &str) -> io::Result<bool> {
        self.count += 1;
        if self.count > MOST_OBJECTS {
            return Err(wrong("there are too many objects to take over"));
        }
        let source = open_file(from, Path::new(rest))?;
        match mkdirat(self.to, prefix, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let to = open_directory(self.to, Path::new(prefix))?;
        let temporary = format!("tmp_obj_toolgate_{}_{}", std::process::id(), self.count);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut copy = fs::File::from(openat(&to, &temporary, flags, Mode::from_raw_mode(0o444))?);
        let placed = (|| {
            let left = MOST_INFLATED.saturating_sub(self.inflated);
            let mut reader = Reader::new(self.format, left);
            let outcome = reader.read(source, &mut copy);
            self.inflated = self.inflated.saturating_add(reader.inflated);
            outcome?;
            if reader.finish()? != format!("{prefix}{rest}") {
                return Err(wrong("its content does not have this id"));
            }
            // INVARIANT: a link never replaces what has the name already.
            match linkat(&to, &temporary, &to, rest, AtFlags::empty()) {
                Ok(()) => Ok(true),
                Err(Errno::EXIST) => Ok(false),
                Err(error) => Err(error.into()),
            }
        })();
        let _ = unlinkat(&to, &temporary, AtFlags::empty());
        placed
    }

    /// Packs go through git itself, which builds its own index and checks every object and every link in them.
    fn packs(&mut self, git: Option<&Git>) {
        let listed = open_directory(self.from, Path::new("pack"))
            .map_err(io::Error::from)
            .and_then(|directory| Ok((names_in(&directory, 4096)?, directory)));
        let (names, from) = match listed {
            Ok(listed) => listed,
            Err(error) => return self.taken.refuse("objects/pack", error),
        };
        let mut left = MOST_PACKED;
        for name in names {
            let path = Path::new(&name);
            let what = format!("objects/pack/{}", name.display());
            match kind_at(&from, path) {
                Ok(Some(kind)) if is_whiteout(kind) => {
                    self.deleted += 1;
                    continue;
                }
                _ => {}
            }
            let is_pack = path.extension() == Some(OsStr::new("pack"))
                && name.as_encoded_bytes().starts_with(b"pack-")
                && !matches!(kind_at(self.to, &Path::new("pack").join(path)), Ok(Some(_)));
            if !is_pack {
                // Indexes and the like are made anew.
                continue;
            }
            let Some(git) = git else {
                self.taken.refuse(
                    &what,
                    "a pack can only be checked by git, and there is none that can be trusted",
                );
                continue;
            };
            match open_file(&from, path).and_then(|pack| git.take_pack(pack, &mut left)) {
                Ok(()) => self.taken.packs += 1,
                Err(error) => self.taken.refuse(&what, error),
            }
            for part in ["pack", "idx", "rev", "bitmap", "mtimes", "promisor", "keep"] {
                self.clear(&from, path.with_extension(part).as_os_str());
            }
        }
    }
}

/// An overlay marks what was deleted with a device.
pub(super) fn is_whiteout(kind: FileType) -> bool {
    kind == FileType::CharacterDevice
}

pub(super) fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn wrong(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

enum Hasher {
    // Plain: git's own check for crafted collisions is made by git when it reads the object.
    Sha1(sha1::Sha1),
    Sha256(sha2::Sha256),
}

impl Hasher {
    fn update(&mut self, bytes: &[u8]) {
        match self {
            Hasher::Sha1(hasher) => hasher.update(bytes),
            Hasher::Sha256(hasher) => hasher.update(bytes),
        }
    }

    fn hex(self) -> String {
        let bytes: Vec<u8> = match self {
            Hasher::Sha1(hasher) => hasher.finalize().to_vec(),
            Hasher::Sha256(hasher) => hasher.finalize().to_vec(),
        };
        hex(&bytes)
    }
}

/// An id as text.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Blob,
    Tree,
    Commit,
    Tag,
}

/// Reads a loose object: inflates and hashes it, and takes it apart at its end.
struct Reader {
    format: Format,
    hasher: Hasher,
    header: Vec<u8>,
    /// The kind and the length that the header states.
    stated: Option<(Kind, u64)>,
    length: u64,
    structure: Vec<u8>,
    inflated: u64,
    most: u64,
}

impl Reader {
    fn new(format: Format, most: u64) -> Reader {
        let hasher = match format {
            Format::Sha1 => Hasher::Sha1(sha1::Sha1::new()),
            Format::Sha256 => Hasher::Sha256(sha2::Sha256::new()),
        };
        let (header, structure) = (Vec::new(), Vec::new());
        Reader { format, hasher, header, stated: None, length: 0, structure, inflated: 0, most }
    }

    fn read(&mut self, source: fs::File, copy: &mut impl Write) -> io::Result<()> {
        let mut state = InflateState::new_boxed(DataFormat::Zlib);
        let (mut stored, mut plain) = (vec![0; 1 << 16], vec![0; 1 << 16]);
        let mut has_ended = false;
        // Deflate makes nothing much larger: what is stored in more bytes than this holds padding.
        let mut source = source.take(LARGEST_OBJECT + (LARGEST_OBJECT >> 4));
        loop {
            let read = source.read(&mut stored)?;
            let mut piece = stored.get(..read).unwrap_or_default();
            copy.write_all(piece)?;
            if read == 0 {
                return if has_ended { Ok(()) } else { Err(wrong("it is cut off")) };
            }
            if has_ended {
                return Err(wrong("something follows its end"));
            }
            loop {
                let step = inflate(&mut state, piece, &mut plain, MZFlush::None);
                self.take(plain.get(..step.bytes_written).unwrap_or_default())?;
                piece = piece.get(step.bytes_consumed..).unwrap_or_default();
                match step.status {
                    Ok(MZStatus::StreamEnd) => {
                        has_ended = true;
                        break;
                    }
                    Ok(_) if step.bytes_written == 0 && step.bytes_consumed == 0 => break,
                    Ok(_) if piece.is_empty() && step.bytes_written < plain.len() => break,
                    Ok(_) => {}
                    Err(miniz_oxide::MZError::Buf) if piece.is_empty() => break,
                    Err(_) => return Err(wrong("it cannot be inflated")),
                }
            }
            if has_ended && !piece.is_empty() {
                return Err(wrong("something follows its end"));
            }
        }
    }

    fn take(&mut self, plain: &[u8]) -> io::Result<()> {
        self.inflated = self.inflated.saturating_add(u64::try_from(plain.len()).unwrap_or(u64::MAX));
        if self.inflated > self.most {
            return Err(wrong("there is too much to inflate"));
        }
        self.hasher.update(plain);
        let mut content = plain;
        if self.stated.is_none() {
            let end = plain.iter().position(|byte| *byte == 0);
            self.header.extend(plain.get(..end.unwrap_or(plain.len())).unwrap_or_default());
            if self.header.len() > 32 {
                return Err(wrong("it has no header"));
            }
            let Some(end) = end else { return Ok(()) };
            self.stated = Some(stated(&self.header).ok_or_else(|| wrong("its header is malformed"))?);
            content = plain.get(end + 1..).unwrap_or_default();
        }
        let Some((kind, length)) = self.stated else { return Ok(()) };
        let most = if kind == Kind::Blob { LARGEST_OBJECT } else { LARGEST_STRUCTURE };
        if length > most {
            return Err(wrong("it is too large"));
        }
        self.length = self.length.saturating_add(u64::try_from(content.len()).unwrap_or(u64::MAX));
        if self.length > length {
            return Err(wrong("it is longer than its header says"));
        }
        if kind != Kind::Blob {
            self.structure.extend(content);
        }
        Ok(())
    }

    /// The id of what was read, if it is an object.
    fn finish(self) -> io::Result<String> {
        let Some((kind, length)) = self.stated else { return Err(wrong("it has no header")) };
        if self.length != length {
            return Err(wrong("it is shorter than its header says"));
        }
        let is_whole = match kind {
            Kind::Blob => true,
            Kind::Tree => is_tree(&self.structure, self.format),
            Kind::Commit => is_commit(&self.structure, self.format),
            Kind::Tag => is_tag(&self.structure, self.format),
        };
        if is_whole { Ok(self.hasher.hex()) } else { Err(wrong("it is malformed")) }
    }
}

fn stated(header: &[u8]) -> Option<(Kind, u64)> {
    let (kind, length) = std::str::from_utf8(header).ok()?.split_once(' ')?;
    let kind = match kind {
        "blob" => Kind::Blob,
        "tree" => Kind::Tree,
        "commit" => Kind::Commit,
        "tag" => Kind::Tag,
        _ => return None,
    };
    let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let is_short = length == "0" || !length.starts_with('0');
    if is_number && is_short { Some((kind, length.parse().ok()?)) } else { None }
}

/// Entries with known modes and plain names, in git's order, each once.
fn is_tree(mut text: &[u8], format: Format) -> bool {
    let mut before: Option<Vec<u8>> = None;
    while !text.is_empty() {
        let Some(end) = text.iter().position(|byte| *byte == 0) else { return false };
        let (entry, rest) = (text.get(..end).unwrap_or_default(), text.get(end + 1..).unwrap_or_default());
        let Some(space) = entry.iter().position(|byte| *byte == b' ') else { return false };
        let (mode, name) =
            (entry.get(..space).unwrap_or_default(), entry.get(space + 1..).unwrap_or_default());
        let known = [&b"40000"[..], b"100644", b"100755", b"120000", b"160000", b"100664"];
        if !known.contains(&mode) || !is_entry_name(name) {
            return false;
        }
        // A directory sorts as if its name ended in a slash.
        let mut key = name.to_vec();
        if mode == b"40000" {
            key.push(b'/');
        }
        let is_in_order = before
            .as_ref()
            .is_none_or(|before| before < &key && before.strip_suffix(b"/").unwrap_or(before) != name);
        let Some(rest) = rest.get(format.digits() / 2..) else { return false };
        if !is_in_order {
            return false;
        }
        before = Some(key);
        text = rest;
    }
    true
}

/// Whether git would add a file of this name. Some file systems take more than one name for `.git`; git refuses those everywhere.
pub(super) fn is_entry_name(name: &[u8]) -> bool {
    let stem = name.split(|byte| *byte == b':').next().unwrap_or_default();
    let length = stem.iter().rposition(|byte| !matches!(byte, b' ' | b'.')).map_or(0, |last| last + 1);
    let stem = stem.get(..length).unwrap_or_default();
    !name.is_empty()
        && !name.contains(&b'/')
        && name != b"."
        && name != b".."
        && ![&b".git"[..], b"git~1"].iter().any(|git| stem.eq_ignore_ascii_case(git))
}

/// The checksum that git puts behind a file of its own.
pub(super) fn digest(text: &[u8], format: Format) -> Vec<u8> {
    match format {
        Format::Sha1 => sha1::Sha1::digest(text).to_vec(),
        Format::Sha256 => sha2::Sha256::digest(text).to_vec(),
    }
}

/// Takes `WORD ID` off the start of a text.
fn id_line<'t>(text: &'t [u8], word: &str, format: Format) -> Option<&'t [u8]> {
    let rest = text.strip_prefix(word.as_bytes())?.strip_prefix(b" ")?;
    let id = std::str::from_utf8(rest.get(..format.digits())?).ok()?;
    if is_hex(id) { rest.get(format.digits()..)?.strip_prefix(b"\n") } else { None }
}

/// Takes `WORD NAME <ADDRESS> SECONDS ZONE` off the start of a text.
fn person_line<'t>(text: &'t [u8], word: &str) -> Option<&'t [u8]> {
    let rest = text.strip_prefix(word.as_bytes())?.strip_prefix(b" ")?;
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    is_person(rest.get(..end)?).then(|| rest.get(end + 1..))?
}

/// `NAME <ADDRESS> SECONDS ZONE`.
pub(super) fn is_person(text: &[u8]) -> bool {
    let parts = || {
        let open = text.iter().position(|byte| *byte == b'<')?;
        let close = open + text.get(open..)?.iter().position(|byte| *byte == b'>')?;
        let (name, address) = (text.get(..open)?, text.get(open + 1..close)?);
        let date = std::str::from_utf8(text.get(close + 1..)?).ok()?;
        let (seconds, zone) = date.strip_prefix(' ')?.split_once(' ')?;
        let is_plain = |text: &[u8]| !text.iter().any(|byte| matches!(byte, 0 | b'\n' | b'<' | b'>'));
        let has_name = name.is_empty() || name.ends_with(b" ");
        let has_date = !seconds.is_empty()
            && (seconds == "0" || !seconds.starts_with('0'))
            && seconds.parse::<u64>().is_ok_and(|seconds| seconds < 1 << 40)
            // Some histories have longer ones.
            && (5..=7).contains(&zone.len())
            && zone.starts_with(['+', '-'])
            && zone.bytes().skip(1).all(|byte| byte.is_ascii_digit());
        (is_plain(name) && is_plain(address) && has_name && has_date).then_some(())
    };
    parts().is_some()
}

fn is_commit(text: &[u8], format: Format) -> bool {
    let read = || {
        let mut rest = id_line(text, "tree", format)?;
        while let Some(after) = id_line(rest, "parent", format) {
            rest = after;
        }
        let rest = person_line(person_line(rest, "author")?, "committer")?;
        // Then more headers or an empty line, and no NUL in any of it.
        let has_end = rest.starts_with(b"\n") || rest.windows(2).any(|pair| pair == b"\n\n");
        (has_end && !text.contains(&0)).then_some(())
    };
    read().is_some()
}

fn is_tag(text: &[u8], format: Format) -> bool {
    let read = || {
        let rest = id_line(text, "object", format)?.strip_prefix(b"type ")?;
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        stated(&[rest.get(..end)?, b" 0"].concat())?;
        let rest = rest.get(end + 1..)?.strip_prefix(b"tag ")?;
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let rest = person_line(rest.get(end + 1..)?, "tagger")?;
        ((rest.is_empty() || rest.starts_with(b"\n")) && !text.contains(&0)).then_some(())
    };
    read().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn structures_are_taken_apart() {
        let person = "A U Thor <a@example.com> 1700000000 +0100";
        let commit =
            |tree: &str, author: &str| format!("tree {tree}\nauthor {author}\ncommitter {person}\n\ntext\n");
        for (text, expected) in [
            (commit(ID, person), true),
            (commit(ID, "A <a> 1700000000 +0100"), true),
            (commit("01", person), false),
            (commit(ID, "A a@example.com 1 +0000"), false),
            (commit(ID, "A <a> 01 +0000"), false),
            (commit(ID, person).replace("\n\n", "\n\0\n"), false),
            (format!("tree {ID}\nauthor {person}\n\n"), false),
        ] {
            assert_eq!(is_commit(text.as_bytes(), Format::Sha1), expected, "{text}");
        }
        let entry = |mode: &str, name: &str| [format!("{mode} {name}\0").as_bytes(), &[7; 20]].concat();
        for (entries, expected) in [
            (vec![], true),
            (vec![entry("100644", "a"), entry("40000", "b")], true),
            (vec![entry("100644", "a.c"), entry("40000", "a")], true),
            (vec![entry("40000", "a"), entry("100644", "a.c")], false),
            (vec![entry("100644", "a"), entry("40000", "a")], false),
            (vec![entry("100644", "b"), entry("100644", "a")], false),
            (vec![entry("100644", ".GIT")], false),
            (vec![entry("100644", "..")], false),
            (vec![entry("100644", "a/b")], false),
            (vec![entry("040000", "a")], false),
            (vec![b"100644 a\0short".to_vec()], false),
        ] {
            assert_eq!(is_tree(&entries.concat(), Format::Sha1), expected, "{entries:?}");
        }
    }

    #[test]
    fn a_header_states_a_kind_and_a_length() {
        for (header, expected) in [
            ("blob 12", Some((Kind::Blob, 12))),
            ("commit 0", Some((Kind::Commit, 0))),
            ("blob 012", None),
            ("blob", None),
            ("blob -1", None),
            ("sock 1", None),
            ("blob 99999999999999999999", None),
        ] {
            assert_eq!(stated(header.as_bytes()), expected, "{header}");
        }
    }
}
