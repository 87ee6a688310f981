//! The members of an archive: their names, and where links among them lead.
//!
//! Against whom: an archive that says one thing to us and another to the program that unpacks it. So whatever is not of the plainest
//! kind (another name in an extension, packed links, sizes that do not fit) makes the whole of it unknown.

/// Something in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Member {
    /// A file or a directory.
    File(String),
    /// A link, and where it leads as it is written.
    Link(String, String),
    /// Another name for an earlier member.
    Alias(String, String),
}

/// The members of a plain tar or zip archive; `None` where they are not known.
pub(crate) fn members(bytes: &[u8]) -> Option<Vec<Member>> {
    let members = if bytes.starts_with(b"PK") { zip(bytes) } else { tar(bytes) }?;
    let is_plain = |name: &String| {
        !name.is_empty() && !name.contains(['\\', '\0']) && !name.split('/').any(|part| part == "..")
    };
    let names_well = |member: &Member| match member {
        Member::File(name) | Member::Link(name, _) => is_plain(name),
        Member::Alias(name, of) => is_plain(name) && is_plain(of),
    };
    members.iter().all(names_well).then_some(members)
}

const BLOCK: usize = 512;

fn tar(bytes: &[u8]) -> Option<Vec<Member>> {
    let mut members = Vec::new();
    let mut at = 0;
    let (mut long_name, mut long_link) = (None, None);
    loop {
        let header = bytes.get(at..at + BLOCK)?;
        if header.iter().all(|byte| *byte == 0) {
            return Some(members);
        }
        if !sums_up(header) {
            return None;
        }
        let size = usize::try_from(octal(header.get(124..136)?)?).ok()?;
        let start = at + BLOCK;
        let content = bytes.get(start..start.checked_add(size)?)?;
        let kind = *header.get(156)?;
        at = start.checked_add(size.checked_next_multiple_of(BLOCK)?)?;
        match kind {
            b'L' => long_name = Some(text(content)?),
            b'K' => long_link = Some(text(content)?),
            b'x' | b'g' => {
                if names_something(content) {
                    return None;
                }
            }
            b'0' | 0 | b'7' | b'5' | b'1' | b'2' => {
                let name = match long_name.take() {
                    Some(name) => name,
                    None => ustar_name(header)?,
                };
                let link = match long_link.take() {
                    Some(link) => link,
                    None => text(header.get(157..257)?)?,
                };
                members.push(match kind {
                    b'1' => Member::Alias(name, link),
                    b'2' => Member::Link(name, link),
                    _ => Member::File(name),
                });
            }
            _ => return None,
        }
    }
}

fn ustar_name(header: &[u8]) -> Option<String> {
    let name = text(header.get(..100)?)?;
    let prefix = text(header.get(345..500)?)?;
    // GNU's own form keeps other things where POSIX has the first part of a long name.
    match header.get(257..265)? {
        b"ustar\x0000" if !prefix.is_empty() => Some(format!("{prefix}/{name}")),
        _ => Some(name),
    }
}

/// Whether the sum of a header is the one that it states: nothing else is a header.
fn sums_up(header: &[u8]) -> bool {
    let is_sum = |at: usize| (148..156).contains(&at);
    let sum: u64 = header
        .iter()
        .enumerate()
        .map(|(at, byte)| if is_sum(at) { u64::from(b' ') } else { u64::from(*byte) })
        .sum();
    header.get(148..156).and_then(octal) == Some(sum)
}

fn octal(field: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(field).ok()?.trim_matches(['\0', ' ']), 8).ok()
}

/// Up to the first NUL.
fn text(field: &[u8]) -> Option<String> {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8(field.get(..end)?.to_vec()).ok()
}

/// Whether a header of POSIX gives a member another name.
fn names_something(records: &[u8]) -> bool {
    let has = |key: &[u8]| records.windows(key.len()).any(|part| part == key);
    has(b"path=") || has(b"linkpath=") || has(b"GNU.sparse") || has(b"size=")
}

fn zip(bytes: &[u8]) -> Option<Vec<Member>> {
    const END: &[u8] = b"PK\x05\x06";
    const ENTRY: usize = 46;
    let end = bytes.windows(END.len()).rposition(|part| part == END)?;
    let (count, size, from) = (short(bytes, end + 10)?, long(bytes, end + 12)?, long(bytes, end + 16)?);
    // Something stands before the archive, or it is too large for plain numbers.
    if from.checked_add(size)? != end || count == 0xffff {
        return None;
    }
    let mut members = Vec::new();
    let mut at = from;
    for _ in 0..count {
        let entry = bytes.get(at..at.checked_add(ENTRY)?)?;
        if !entry.starts_with(b"PK\x01\x02") {
            return None;
        }
        let (named, extra, comment) = (short(entry, 28)?, short(entry, 30)?, short(entry, 32)?);
        let after = at + ENTRY;
        let name = String::from_utf8(bytes.get(after..after + named)?.to_vec()).ok()?;
        // A field may give the member another name.
        let fields = bytes.get(after + named..after + named + extra)?;
        if fields.windows(2).any(|id| id == [0x75, 0x70]) {
            return None;
        }
        let mode = long(entry, 38)? >> 16;
        let is_unix = entry.get(5) == Some(&3);
        members.push(match mode & 0o170_000 {
            0o120_000 if is_unix => Member::Link(name, stored(bytes, entry)?),
            0 | 0o040_000 | 0o100_000 => Member::File(name),
            _ => return None,
        });
        at = after + named + extra + comment;
    }
    Some(members)
}

/// The content of an entry that is not packed.
fn stored(bytes: &[u8], entry: &[u8]) -> Option<String> {
    let (method, size, from) = (short(entry, 10)?, long(entry, 20)?, long(entry, 42)?);
    let (named, extra) = (short(bytes, from.checked_add(26)?)?, short(bytes, from.checked_add(28)?)?);
    let start = from + 30 + named + extra;
    let content = bytes.get(start..start.checked_add(size)?).filter(|_| method == 0)?;
    String::from_utf8(content.to_vec()).ok()
}

fn short(bytes: &[u8], at: usize) -> Option<usize> {
    let two: [u8; 2] = bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
    Some(usize::from(u16::from_le_bytes(two)))
}

fn long(bytes: &[u8], at: usize) -> Option<usize> {
    let four: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(four)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(name: &str, kind: u8, link: &str, content: &[u8]) -> Vec<u8> {
        let mut header = vec![0_u8; BLOCK];
        let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
        put(0, name.as_bytes());
        put(124, format!("{:011o}\0", content.len()).as_bytes());
        put(148, b"        ");
        put(156, &[kind]);
        put(157, link.as_bytes());
        put(257, b"ustar\x0000");
        let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        header.extend(content);
        header.resize(BLOCK + content.len().next_multiple_of(BLOCK), 0);
        header
    }

    #[test]
    fn the_members_of_a_tar_are_read() {
        let end = vec![0; 2 * BLOCK];
        let archive = [
            block("d/", b'5', "", b""),
            block("d/a", b'0', "", b"text"),
            block("l", b'2', "/etc", b""),
            block("h", b'1', "d/a", b""),
            block("x", b'L', "", b"d/long\0"),
            block("short", b'0', "", b""),
            end.clone(),
        ]
        .concat();
        let file = |name: &str| Member::File(name.into());
        let read = members(&archive).unwrap();
        assert_eq!(
            read,
            [
                file("d/"),
                file("d/a"),
                Member::Link("l".into(), "/etc".into()),
                Member::Alias("h".into(), "d/a".into()),
                file("d/long"),
            ]
        );
        for end in 0..archive.len() - 2 * BLOCK {
            assert_eq!(members(&archive[..end]), None, "cut at {end}");
        }
        for odd in [
            block("p", b'x', "", b"17 path=.claude/x\n"),
            block("dev", b'3', "", b""),
            block("../up", b'0', "", b""),
            block("", b'0', "", b""),
        ] {
            assert_eq!(members(&[odd, end.clone()].concat()), None);
        }
        assert_eq!(members(b"\x1f\x8b\x08 packed"), None);
    }

    fn zipped(name: &str, mode: u32, method: u16, extra: &[u8], content: &[u8]) -> Vec<u8> {
        let two = |number: usize| u16::try_from(number).unwrap().to_le_bytes();
        let four = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
        let mut bytes = b"PK\x03\x04".to_vec();
        bytes.extend([0; 22]);
        bytes.extend(two(name.len()));
        bytes.extend(two(0));
        bytes.extend(name.as_bytes());
        bytes.extend(content);
        let from = bytes.len();
        bytes.extend(b"PK\x01\x02\x14\x03\x14\x00\x00\x00");
        bytes.extend(method.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(four(content.len()));
        bytes.extend(four(content.len()));
        bytes.extend(two(name.len()));
        bytes.extend(two(extra.len()));
        bytes.extend([0; 6]);
        bytes.extend((mode << 16).to_le_bytes());
        bytes.extend(four(0));
        bytes.extend(name.as_bytes());
        bytes.extend(extra);
        let size = bytes.len() - from;
        bytes.extend(b"PK\x05\x06\0\0\0\0");
        bytes.extend(two(1));
        bytes.extend(two(1));
        bytes.extend(four(size));
        bytes.extend(four(from));
        bytes.extend(two(0));
        bytes
    }

    #[test]
    fn the_members_of_a_zip_are_read() {
        let link = 0o120_777;
        assert_eq!(members(&zipped("d/a", 0o100_644, 8, b"", b"..")), Some(vec![Member::File("d/a".into())]));
        let archive = zipped("l", link, 0, b"", b"/etc");
        assert_eq!(members(&archive), Some(vec![Member::Link("l".into(), "/etc".into())]));
        assert_eq!(members(&zipped("l", link, 8, b"", b"/etc")), None, "a packed link");
        assert_eq!(members(&zipped("a", 0o100_644, 0, b"\x75\x70\x01\x00x", b"")), None, "another name");
        assert_eq!(members(&zipped("..\\a", 0o100_644, 0, b"", b"")), None);
        assert_eq!(members(&[b"PKsfx".to_vec(), archive.clone()].concat()), None, "something before it");
        for end in 0..archive.len() - 2 {
            let _ = members(&archive[..end]);
        }
    }
}
