//! The index: which names git has tracked, as far as they matter here.
//!
//! A repository may have a hundred thousand files, and a call waits while we look. So an entry is passed over by its length, a name is only
//! looked at where its letters could be those of a secret, and nothing is kept of all others.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use toolgate_model::{FileStamp, NodeKind, SecretName, may_hold_secrets, secret_name};

use super::super::Interpreter;
use super::super::evaluated::begins_code;
use super::super::trees::MAX_MEMBERS;

/// So much of an index is read: half a million files. What is behind is not known.
pub(in super::super) const MAX_INDEX: usize = 64 * 1024 * 1024;
/// What notes about an index are called, so that the next call need not read it. Another layout has another name.
const ABOUT: &str = "index 2";
/// So many names are kept of a kind.
const MAX_KEPT: usize = 64;

const LINK: u32 = 0o120_000;
const REPOSITORY: u32 = 0o160_000;

/// What matters of an index.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Index {
    /// Files that hold secrets by their names, from the top of the work tree.
    pub(in super::super) secrets: Vec<Secret>,
    /// Symbolic links.
    pub(in super::super) links: Vec<String>,
    /// Names that may decide for a host or for us, if all of them were read and there are not too many.
    pub(in super::super) deciding: Vec<String>,
    /// Whether names may be missing among these.
    pub(in super::super) lacks_names: bool,
    /// Whether a name has a letter that begins code where a shell evaluates it.
    pub(in super::super) names_code: bool,
    /// Whether it has another repository.
    pub(in super::super) has_repository: bool,
    /// Whether there may be more than was read or kept.
    pub(in super::super) has_more: bool,
}

/// A tracked file that holds secrets by its name.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(in super::super) struct Secret {
    /// From the top of the work tree.
    pub(in super::super) name: String,
    /// The id of its content, in hexadecimal.
    pub(in super::super) id: String,
    /// What git has noted of the file, to see whether it has changed: its first forty bytes in an index.
    facts: Vec<u8>,
}

impl Secret {
    /// Whether git takes the file for what it was when it was added, and so shows no change of it. One that may have changed in the second in
    /// which the index was written is looked into.
    pub(in super::super) fn is_unchanged(&self, file: &FileStamp, index: &FileStamp) -> bool {
        let low = |number: i64| u32::try_from(number & 0xffff_ffff).ok();
        let noted = |at: usize| number(&self.facts, at);
        let same = [
            (0, low(file.changed.0)),
            (4, low(file.changed.1)),
            (8, low(file.modified.0)),
            (12, low(file.modified.1)),
            (20, u32::try_from(file.id.inode & 0xffff_ffff).ok()),
            (36, u32::try_from(file.size).ok()),
        ];
        same.into_iter().all(|(at, is)| is.is_some() && noted(at) == is) && index.modified.0 > file.modified.0
    }
}

impl Interpreter<'_, '_> {
    /// Whether git takes a tracked secret file for unchanged.
    pub(in super::super) fn is_unchanged(&self, secret: &Secret, place: &Path) -> bool {
        let Some(directory) = self.git_directory() else { return false };
        let world = self.scene.world;
        match (world.look(place), world.stamp(place), world.stamp(&directory.join("index"))) {
            (Ok(node), Ok(file), Ok(index)) => {
                node.kind == NodeKind::File && secret.is_unchanged(&file, &index)
            }
            _ => false,
        }
    }

    /// The index of the repository here, read once for a call; `None` where there is none.
    pub(in super::super) fn git_index(&mut self) -> Option<Rc<Index>> {
        let directory = self.git_directory()?;
        if let Some((known, index)) = &self.git_index
            && *known == directory
        {
            return Some(Rc::clone(index));
        }
        let file = directory.join("index");
        let noted = self.scene.world.noted(&file, ABOUT).and_then(|note| Index::of_note(&note));
        if let Some(index) = noted.map(Rc::new) {
            self.git_index = Some((directory, Rc::clone(&index)));
            return Some(index);
        }
        let bytes = self.scene.world.read(&file, MAX_INDEX).ok()?;
        let mut index = Index::default();
        let shared = index.take(&bytes);
        if shared.is_none() {
            self.scene.world.note(&file, ABOUT, &index.to_note());
        }
        if let Some(name) = shared {
            // Names in one may be those that the other takes away.
            index.lacks_names = true;
            match self.scene.world.read(&directory.join(name), MAX_INDEX) {
                Ok(bytes) => drop(index.take(&bytes)),
                Err(_) => index.has_more = true,
            }
        }
        let index = Rc::new(index);
        self.git_index = Some((directory, Rc::clone(&index)));
        Some(index)
    }

    /// The tracked links that lead out of the directory, from the top.
    pub(in super::super) fn tracked_links_out(&self, index: &Index, top: &str) -> Vec<String> {
        let leads_out = |name: &&String| {
            let walk = toolgate_model::Resolver::new(self.scene.world, None, None);
            let place: PathBuf = Path::new(top).join(name.as_str());
            walk.walk(place).is_ok_and(|found| {
                toolgate_model::below(top.as_bytes(), found.physical.as_os_str().as_encoded_bytes()).is_none()
            })
        };
        index.links.iter().filter(leads_out).cloned().collect()
    }
}

impl Index {
    /// Takes in the entries of one file. Returns the name of the file that holds the others, where the index is split.
    fn take(&mut self, bytes: &[u8]) -> Option<String> {
        if bytes.len() >= MAX_INDEX {
            self.has_more = true;
            self.lacks_names = true;
        }
        // An entry holds the id of an object, which is longer in repositories that use SHA-256.
        let read = [20, 32].into_iter().find_map(|length| Entries::new(bytes, length)?.collect());
        let Some(Found { index, end, id }) = read else {
            // Nothing that git would read, or a version that came later.
            self.has_more |= !bytes.is_empty();
            self.lacks_names |= !bytes.is_empty();
            return None;
        };
        self.secrets.extend(index.secrets);
        self.links.extend(index.links);
        self.deciding.extend(index.deciding);
        self.lacks_names |= index.lacks_names;
        self.names_code |= index.names_code;
        self.has_repository |= index.has_repository;
        self.has_more |= index.has_more;
        let extension = bytes.get(end..)?;
        let name = extension.strip_prefix(b"link")?.get(4..4 + id)?;
        Some(format!("sharedindex.{}", hex(name)))
    }
}

impl Index {
    const HAS_REPOSITORY: u8 = 1;
    const HAS_MORE: u8 = 2;
    const LACKS_NAMES: u8 = 4;
    const NAMES_CODE: u8 = 8;
    const SECRET: u8 = b's';
    const DECIDING: u8 = b'd';
    const A_LINK: u8 = b'l';

    /// What matters of it, for a note. No name holds a NUL.
    fn to_note(&self) -> Vec<u8> {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let flags = flag(self.has_repository, Self::HAS_REPOSITORY)
            | flag(self.has_more, Self::HAS_MORE)
            | flag(self.lacks_names, Self::LACKS_NAMES)
            | flag(self.names_code, Self::NAMES_CODE);
        let mut note = vec![flags];
        for secret in &self.secrets {
            let line = format!("{} {} {}\0", secret.id, hex(&secret.facts), secret.name);
            note.push(Self::SECRET);
            note.extend_from_slice(line.as_bytes());
        }
        let links = self.links.iter().map(|name| (Self::A_LINK, name));
        let deciding = self.deciding.iter().map(|name| (Self::DECIDING, name));
        for (kind, name) in links.chain(deciding) {
            note.push(kind);
            note.extend_from_slice(name.as_bytes());
            note.push(0);
        }
        note
    }

    /// `None` where it is no such note.
    fn of_note(note: &[u8]) -> Option<Index> {
        let (flags, names) = note.split_first()?;
        let mut index = Index {
            has_repository: flags & Self::HAS_REPOSITORY != 0,
            has_more: flags & Self::HAS_MORE != 0,
            lacks_names: flags & Self::LACKS_NAMES != 0,
            names_code: flags & Self::NAMES_CODE != 0,
            ..Index::default()
        };
        for name in names.split_inclusive(|byte| *byte == 0) {
            let (kind, name) = name.strip_suffix(&[0])?.split_first()?;
            let name = std::str::from_utf8(name).ok()?.to_owned();
            match *kind {
                Self::SECRET => {
                    let (id, rest) = name.split_once(' ')?;
                    let (facts, name) = rest.split_once(' ')?;
                    let facts = unhex(facts)?;
                    index.secrets.push(Secret { name: name.to_owned(), id: id.to_owned(), facts });
                }
                Self::A_LINK => index.links.push(name),
                Self::DECIDING => index.deciding.push(name),
                _ => return None,
            }
        }
        Some(index)
    }
}

struct Found {
    index: Index,
    /// Where the entries end.
    end: usize,
    /// How long an object's id is.
    id: usize,
}

/// The entries of an index.
struct Entries<'b> {
    bytes: &'b [u8],
    version: u32,
    count: u32,
    /// How long an object's id is.
    id: usize,
}

impl<'b> Entries<'b> {
    /// Where the entries begin.
    const HEAD: usize = 12;
    /// What stands before the id, and where in it the mode does.
    const FACTS: usize = 40;
    const MODE: usize = 24;
    const EXTENDED: u16 = 0x4000;
    const LENGTH: u16 = 0x0fff;
    const MOST_NAME: usize = 4096;

    fn new(bytes: &'b [u8], id: usize) -> Option<Entries<'b>> {
        let entries = Entries { bytes, version: number(bytes, 4)?, count: number(bytes, 8)?, id };
        (bytes.starts_with(b"DIRC") && (2..=4).contains(&entries.version)).then_some(entries)
    }

    /// `None` where they are not laid out so. One that was cut off at our bound ends there.
    fn collect(&self) -> Option<Found> {
        let mut index = Index::default();
        let mut at = Self::HEAD;
        let mut name: Vec<u8> = Vec::new();
        for _ in 0..self.count {
            let Some((next, name)) = self.entry(at, &mut name) else {
                let is_cut = self.bytes.len() >= MAX_INDEX && at + 8192 > self.bytes.len();
                return is_cut.then_some(Found { index, end: self.bytes.len(), id: self.id });
            };
            // Not one of git's modes: the ids are of another length.
            let mode = number(self.bytes, at + Self::MODE)?;
            match mode & 0o170_000 {
                0o100_000 | 0o040_000 => {}
                LINK => keep(&mut index.links, &mut index.has_more, name),
                REPOSITORY => index.has_repository = true,
                _ => return None,
            }
            index.names_code |= name.iter().fold(false, |has, byte| has | begins_code(char::from(*byte)));
            if may_decide(name) {
                if index.deciding.len() < MAX_MEMBERS {
                    index.deciding.push(String::from_utf8_lossy(name).into_owned());
                } else {
                    index.lacks_names = true;
                }
            }
            if may_hold_secrets(name) {
                let text = String::from_utf8_lossy(name);
                if secret_name(&text) == Some(SecretName::Settings) {
                    let id = at + Self::FACTS;
                    let facts = self.bytes.get(at..id)?.to_vec();
                    let id = hex(self.bytes.get(id..id + self.id)?);
                    match std::str::from_utf8(name) {
                        Ok(name) if index.secrets.len() < MAX_KEPT => {
                            index.secrets.push(Secret { name: name.to_owned(), id, facts });
                        }
                        Ok(_) | Err(_) => index.has_more = true,
                    }
                }
            }
            at = next;
        }
        Some(Found { index, end: at, id: self.id })
    }

    /// Where the next entry begins, and the name of this one.
    fn entry<'n>(&self, at: usize, name: &'n mut Vec<u8>) -> Option<(usize, &'n [u8])>
    where
        'b: 'n,
    {
        let fixed = at + Self::FACTS + self.id;
        let flags = u16::from_be_bytes(self.bytes.get(fixed..fixed + 2)?.try_into().ok()?);
        let from = fixed + 2 + if flags & Self::EXTENDED == 0 { 0 } else { 2 };
        let end_of = |from: usize| Some(from + self.bytes.get(from..)?.iter().position(|byte| *byte == 0)?);
        if self.version >= 4 {
            let (dropped, length) = offset(self.bytes.get(from..)?)?;
            let from = from + length;
            let end = end_of(from)?;
            name.truncate(name.len().saturating_sub(dropped));
            name.extend_from_slice(self.bytes.get(from..end)?);
            // Names share their beginnings, so without a bound a small index has endless ones. No file system takes a longer path.
            if name.len() > Self::MOST_NAME {
                return None;
            }
            return Some((end + 1, name.as_slice()));
        }
        let length = flags & Self::LENGTH;
        let end = if length == Self::LENGTH { end_of(from)? } else { from + usize::from(length) };
        if self.bytes.get(end) != Some(&0) {
            return None;
        }
        // An entry is filled up to eight bytes, with one NUL at least.
        Some((at + (end - at) / 8 * 8 + 8, self.bytes.get(from..end)?))
    }
}

/// What is hidden nowhere, and goes by none of these names, is no host's settings.
fn may_decide(name: &[u8]) -> bool {
    let last = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name.starts_with(b".")
        || name.windows(2).any(|pair| pair == b"/.")
        || matches!(last, b"toolgate.toml" | b"opencode.json" | b"opencode.jsonc")
}

fn keep(kept: &mut Vec<String>, has_more: &mut bool, name: &[u8]) {
    // A name that is not text cannot be looked at.
    match std::str::from_utf8(name) {
        Ok(name) if kept.len() < MAX_KEPT => kept.push(name.to_owned()),
        Ok(_) | Err(_) => *has_more = true,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pair = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(pair).collect()
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A number as version 4 writes it, and how many bytes it takes.
fn offset(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value = (value << 7) + usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
        value += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(version: u32, id: usize, entries: &[(u32, &str)]) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend(u32::try_from(entries.len()).unwrap().to_be_bytes());
        let mut before = "";
        for (mode, name) in entries {
            let start = bytes.len();
            bytes.extend([7; 24]);
            bytes.extend(mode.to_be_bytes());
            bytes.extend([7; 12]);
            bytes.extend(vec![7; id]);
            bytes.extend(u16::try_from(name.len().min(0xfff)).unwrap().to_be_bytes());
            if version == 4 {
                let common = before.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
                bytes.push(u8::try_from(before.len() - common).unwrap());
                bytes.extend(&name.as_bytes()[common..]);
                bytes.push(0);
            } else {
                bytes.extend(name.as_bytes());
                bytes.push(0);
                while !(bytes.len() - start).is_multiple_of(8) {
                    bytes.push(0);
                }
            }
            before = name;
        }
        bytes
    }

    fn taken(bytes: &[u8]) -> (Index, Option<String>) {
        let mut index = Index::default();
        let shared = index.take(bytes);
        (index, shared)
    }

    #[test]
    fn an_index_of_any_version_is_read() {
        let entries = [
            (0o100_644, ".env"),
            (0o100_644, "src/a.rs"),
            (0o100_644, "src/ab.rs"),
            (LINK, "way"),
            (0o100_755, "web/.env.local"),
        ];
        for version in [2, 3, 4] {
            for id in [20, 32] {
                let bytes = index(version, id, &entries);
                let (found, _) = taken(&bytes);
                let secrets: Vec<&str> = found.secrets.iter().map(|secret| secret.name.as_str()).collect();
                assert_eq!(secrets, [".env", "web/.env.local"], "{version}, {id}");
                assert!(found.secrets.iter().all(|secret| secret.id == "07".repeat(id)), "{version}, {id}");
                assert_eq!(found.links, ["way"]);
                assert!(!found.has_repository && !found.has_more);
                // What is cut off or mangled is not taken for all there is.
                for end in 1..bytes.len() - 8 {
                    assert!(taken(&bytes[..end]).0.has_more, "{version}, {id}, {end}");
                }
            }
        }
        assert!(taken(b"DIRC\xff\xff\xff\xff\xff\xff\xff\xff").0.has_more);
        assert_eq!(taken(b"").0, Index::default());
    }

    #[test]
    fn a_note_says_all_that_matters_of_an_index() {
        let whole = Index {
            deciding: vec![".mcp.json".to_owned()],
            lacks_names: true,
            names_code: true,
            secrets: vec![
                Secret { name: ".env".into(), id: "07".repeat(20), facts: vec![0, 1, 255] },
                Secret { name: "a b/.env".into(), id: "70".repeat(32), facts: vec![0; 40] },
            ],
            links: vec!["way".into()],
            has_repository: true,
            has_more: false,
        };
        let more = Index { has_more: true, ..Index::default() };
        for index in [Index::default(), whole, more] {
            let note = index.to_note();
            assert_eq!(Index::of_note(&note).as_ref(), Some(&index));
            for end in 0..note.len() {
                assert_ne!(Index::of_note(&note[..end]).as_ref(), Some(&index));
            }
        }
        assert_eq!(Index::of_note(b"\0xname\0"), None);
    }

    /// git's own test: times, number and length; and whether the file may have changed while the index was written.
    #[test]
    fn a_file_that_git_takes_for_unchanged_is() {
        let facts = [10, 11, 8, 9, 3, 4, 0o100_644, 6, 7, 5_u32].map(u32::to_be_bytes).concat();
        let secret = Secret { facts, ..Secret::default() };
        let stamp = |inode, size, modified, changed| FileStamp {
            id: toolgate_model::NodeId { device: 3, inode },
            size,
            modified,
            changed,
        };
        let index = stamp(9, 9, (9, 0), (9, 0));
        assert!(secret.is_unchanged(&stamp(4, 5, (8, 9), (10, 11)), &index));
        for other in [
            stamp(5, 5, (8, 9), (10, 11)),
            stamp(4, 6, (8, 9), (10, 11)),
            stamp(4, 5, (8, 8), (10, 11)),
            stamp(4, 5, (8, 9), (10, 12)),
            stamp(4, 5, (8, 9), (12, 11)),
        ] {
            assert!(!secret.is_unchanged(&other, &index));
        }
        assert!(!secret.is_unchanged(&stamp(4, 5, (8, 9), (10, 11)), &stamp(9, 9, (8, 99), (8, 99))));
        assert!(!Secret::default().is_unchanged(&stamp(0, 0, (0, 0), (0, 0)), &index));
    }

    #[test]
    fn an_entry_that_is_a_repository_is_found() {
        assert!(taken(&index(2, 20, &[(REPOSITORY, "sub")])).0.has_repository);
        assert!(!taken(&index(2, 20, &[(0o100_644, "sub")])).0.has_repository);
    }

    #[test]
    fn a_split_index_names_the_file_with_the_others() {
        let mut bytes = index(2, 20, &[(0o100_644, "a")]);
        bytes.extend(b"link");
        bytes.extend(28_u32.to_be_bytes());
        bytes.extend([0xab; 20]);
        assert_eq!(taken(&bytes).1, Some(format!("sharedindex.{}", "ab".repeat(20))));
    }

    #[test]
    fn offsets_are_decoded_as_git_encodes_them() {
        assert_eq!(offset(&[5]), Some((5, 1)));
        assert_eq!(offset(&[0x80, 0]), Some((128, 2)));
        assert_eq!(offset(&[0x80]), None);
    }
}
