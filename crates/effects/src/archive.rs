//! The members of an archive: their names, and where links among them lead.
//!
//! Against whom: an archive that says one thing to us and another to the program that unpacks it. So whatever is not of the plainest
//! kind (another name in an extension, packed links, sizes that do not fit) makes the whole of it unknown.

use std::collections::BTreeSet;

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

/// How the program that unpacks an archive reads it. A file may be a good archive of both kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Tar,
    Zip,
}

/// The members of an archive that is written as its own packer writes it; `None` where they are not known.
///
/// Programs are lenient: they skip what they do not understand and go on. So nothing is skipped here. Every number is plain, every
/// byte belongs to something that is understood, and no two members meet.
pub(crate) fn members(format: Format, bytes: &[u8]) -> Option<Vec<Member>> {
    let members = match format {
        Format::Tar => tar(bytes),
        Format::Zip => zip(bytes),
    }?;
    let mut files: BTreeSet<&str> = BTreeSet::new();
    let mut links: BTreeSet<&str> = BTreeSet::new();
    for member in &members {
        let (Member::File(name) | Member::Link(name, _) | Member::Alias(name, _)) = member;
        let name = plain_name(name)?;
        // A member that another one has to pass, or that takes its place, is unpacked in ways that differ by program.
        let passes_link =
            name.match_indices('/').any(|(at, _)| name.get(..at).is_some_and(|above| links.contains(above)));
        if passes_link || files.contains(name) || links.contains(name) {
            return None;
        }
        match member {
            Member::File(_) => files.insert(name),
            Member::Link(..) => links.insert(name),
            // What lies on the disk under this name may be a link.
            Member::Alias(_, of) => files.contains(plain_name(of)?) && files.insert(name),
        }
        .then_some(())?;
    }
    Some(members)
}

/// The name below the directory that is unpacked into; `None` where programs may read it in several ways.
fn plain_name(name: &str) -> Option<&str> {
    let has_oddity = name.contains('\\') || name.chars().any(char::is_control);
    let mut bare = name.trim_start_matches('/');
    while let Some(rest) = bare.strip_prefix("./") {
        bare = rest.trim_start_matches('/');
    }
    let bare = bare.trim_end_matches('/');
    let is_odd_part = |part: &str| matches!(part, "" | "." | "..");
    let is_top = matches!(bare, "" | ".") && !name.is_empty();
    (!has_oddity && (is_top || !bare.split('/').any(is_odd_part))).then_some(bare)
}

const BLOCK: usize = 512;

fn tar(bytes: &[u8]) -> Option<Vec<Member>> {
    let mut members = Vec::new();
    let mut at = 0;
    let (mut long_name, mut long_link) = (None, None);
    loop {
        let header = bytes.get(at..at + BLOCK)?;
        if header.iter().all(|byte| *byte == 0) {
            let rest = bytes.get(at..)?;
            let is_end = long_name.is_none() && long_link.is_none() && rest.iter().all(|byte| *byte == 0);
            return is_end.then_some(members);
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
            b'L' if long_name.is_none() => long_name = Some(ended_text(content)?),
            b'K' if long_link.is_none() => long_link = Some(ended_text(content)?),
            b'x' | b'g' => only_harmless(content)?,
            // These have no content: whatever size a header states, `tar` takes the next block for a header.
            b'5' | b'1' | b'2' if size > 0 => return None,
            b'0' | 0 | b'7' | b'5' | b'1' | b'2' => {
                let short_name = ustar_name(header)?;
                let short_link = text(header.get(157..257)?)?;
                let is_link = matches!(kind, b'1' | b'2');
                let name = long_name.take().unwrap_or(short_name);
                let link = long_link.take().unwrap_or(short_link);
                if is_link == link.is_empty() {
                    return None;
                }
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
    match header.get(257..265)? {
        b"ustar\x0000" => {
            let prefix = text(header.get(345..500)?)?;
            Some(if prefix.is_empty() { name } else { format!("{prefix}/{name}") })
        }
        // GNU's own form keeps other things where POSIX has the first part of a long name.
        b"ustar  \0" => Some(name),
        _ => None,
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

/// Digits, then blanks: a sign or a number in another base is read differently elsewhere.
fn octal(field: &[u8]) -> Option<u64> {
    let digits = field.iter().take_while(|byte| matches!(byte, b'0'..=b'7')).count();
    let (number, rest) = field.split_at_checked(digits)?;
    if !rest.iter().all(|byte| matches!(byte, 0 | b' ')) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(number).ok()?, 8).ok()
}

/// Up to the first NUL; nothing may hide behind it.
fn text(field: &[u8]) -> Option<String> {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    let (text, rest) = field.split_at_checked(end)?;
    rest.iter().all(|byte| *byte == 0).then(|| String::from_utf8(text.to_vec()).ok())?
}

/// A text that ends in its one NUL.
fn ended_text(content: &[u8]) -> Option<String> {
    let (last, text) = content.split_last()?;
    (*last == 0 && !text.contains(&0)).then(|| String::from_utf8(text.to_vec()).ok())?
}

/// The records of a POSIX header, if they say nothing of names, sizes and kinds.
fn only_harmless(mut records: &[u8]) -> Option<()> {
    const KEYS: [&str; 8] = ["mtime", "atime", "ctime", "uid", "gid", "uname", "gname", "comment"];
    while !records.is_empty() {
        let blank = records.iter().position(|byte| *byte == b' ')?;
        let number = std::str::from_utf8(records.get(..blank)?).ok()?;
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0');
        let length = number.parse::<usize>().ok().filter(|_| is_plain)?;
        let (record, rest) = records.split_at_checked(length)?;
        let said = std::str::from_utf8(record.get(blank + 1..)?).ok()?.strip_suffix('\n')?;
        let (key, value) = said.split_once('=')?;
        if !KEYS.contains(&key) || value.contains(['\n', '\0']) {
            return None;
        }
        records = rest;
    }
    Some(())
}

fn zip(bytes: &[u8]) -> Option<Vec<Member>> {
    const END: &[u8] = b"PK\x05\x06";
    const END_LENGTH: usize = 22;
    const ENTRY: usize = 46;
    let end = bytes.windows(END.len()).rposition(|part| part == END)?;
    let (count, size, from) = (short(bytes, end + 10)?, long(bytes, end + 12)?, long(bytes, end + 16)?);
    let is_whole = long(bytes, end + 4)? == 0 && short(bytes, end + 8)? == count;
    let is_last = end.checked_add(END_LENGTH)?.checked_add(short(bytes, end + 20)?)? == bytes.len();
    // Something stands before the archive, or it is too large for plain numbers.
    if !is_whole || !is_last || from.checked_add(size)? != end || count == 0xffff {
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
        let name = bytes.get(after..after + named)?;
        only_times(bytes.get(after + named..after + named + extra)?)?;
        let content = local(bytes, entry, name)?;
        // What is behind a semicolon is a version to `unzip`, and other letters pass through a table of characters.
        let name =
            String::from_utf8(name.to_vec()).ok().filter(|name| name.is_ascii() && !name.contains(';'))?;
        let mode = long(entry, 38)? >> 16;
        let host = *entry.get(5)?;
        members.push(match (mode & 0o170_000, host, content) {
            (0o120_000, UNIX, Content::Plain(leads)) => {
                Member::Link(name, String::from_utf8(leads.to_vec()).ok()?)
            }
            (0 | 0o040_000 | 0o100_000, UNIX | DOS, _) => Member::File(name),
            _ => return None,
        });
        at = after + named + extra + comment;
    }
    // Programs go by what they find, not by the count.
    (at == end).then_some(members)
}

/// Systems that an entry is made on, whose modes are read here.
const DOS: u8 = 0;
const UNIX: u8 = 3;

/// What an entry holds.
enum Content<'b> {
    Plain(&'b [u8]),
    Packed,
}

/// The header before the content has to say the same.
fn local<'b>(bytes: &'b [u8], entry: &[u8], name: &[u8]) -> Option<Content<'b>> {
    /// How it was packed, sizes that follow later, and names in UTF-8.
    const KNOWN_FLAGS: usize = 0b1000_0000_1110;
    let (flags, method, size, from) =
        (short(entry, 8)?, short(entry, 10)?, long(entry, 20)?, long(entry, 42)?);
    let header = bytes.get(from..from.checked_add(30)?)?;
    let (named, extra) = (short(header, 26)?, short(header, 28)?);
    let is_same =
        header.starts_with(b"PK\x03\x04") && short(header, 6)? == flags && short(header, 8)? == method;
    let own_name = bytes.get(from + 30..from + 30 + named)?;
    only_times(bytes.get(from + 30 + named..from + 30 + named + extra)?)?;
    if !is_same || own_name != name || flags & !KNOWN_FLAGS != 0 {
        return None;
    }
    let start = from + 30 + named + extra;
    let content = bytes.get(start..start.checked_add(size)?)?;
    Some(if method == 0 { Content::Plain(content) } else { Content::Packed })
}

/// The fields beside an entry, if they hold times and owners: others give it another name or another kind.
fn only_times(mut fields: &[u8]) -> Option<()> {
    const TIMES_AND_OWNERS: [usize; 3] = [0x5455, 0x7875, 0x5855];
    while !fields.is_empty() {
        let (id, length) = (short(fields, 0)?, short(fields, 2)?);
        if !TIMES_AND_OWNERS.contains(&id) {
            return None;
        }
        fields = fields.get(4 + length..)?;
    }
    Some(())
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
        let read = members(Format::Tar, &archive).unwrap();
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
            assert_eq!(members(Format::Tar, &archive[..end]), None, "cut at {end}");
        }
        for odd in [
            block("p", b'x', "", b"17 path=.claude/x\n"),
            block("dev", b'3', "", b""),
            block("../up", b'0', "", b""),
            block("", b'0', "", b""),
        ] {
            assert_eq!(members(Format::Tar, &[odd, end.clone()].concat()), None);
        }
        assert_eq!(members(Format::Tar, b"\x1f\x8b\x08 packed"), None);
    }

    #[test]
    fn a_tar_that_reads_differently_elsewhere_is_not_read() {
        let end = vec![0; 2 * BLOCK];
        let own = block(".mcp.json", b'0', "", b"{}");
        let with_size = |kind: u8, link: &str, size: &[u8]| {
            let mut header = block("l", kind, link, b"");
            header[124..136].fill(0);
            header[124..124 + size.len()].copy_from_slice(size);
            header[148..156].fill(b' ');
            let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
            header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            header
        };
        let file = block("f", b'0', "", b"");
        let link = block("l", b'2', "f", b"");
        for (what, parts) in [
            ("a link with content", vec![with_size(b'2', "f", b"00000002000\0"), own.clone()]),
            (
                "a hard link with content",
                vec![file.clone(), with_size(b'1', "f", b"00000002000\0"), own.clone()],
            ),
            ("a directory with content", vec![with_size(b'5', "", b"00000002000\0"), own.clone()]),
            ("a sign before a size", vec![with_size(b'0', "", b"+0"), own.clone()]),
            (
                "a size in another base",
                vec![with_size(b'0', "", b"\x80\0\0\0\0\0\0\0\0\0\x02\0"), own.clone()],
            ),
            ("more behind the end", vec![end.clone(), own.clone()]),
            ("a member behind a link", vec![link.clone(), block("l/x", b'0', "", b"")]),
            ("a member in the place of a link", vec![link.clone(), block("./l", b'0', "", b"")]),
            ("another name of what lies on the disk", vec![block("h", b'1', "f", b"")]),
            ("another name of a link", vec![link, block("h", b'1', "l", b"")]),
            (
                "two long names",
                vec![block("x", b'L', "", b"a\0"), block("x", b'L', "", b"b\0"), file.clone()],
            ),
            ("a long name of nothing", vec![file.clone(), block("x", b'L', "", b"a\0")]),
            ("a size by a record", vec![block("p", b'x', "", b"11 size=12\n"), file]),
        ] {
            assert_eq!(members(Format::Tar, &[parts.concat(), end.clone()].concat()), None, "{what}");
        }
        let timed = [block("p", b'x', "", b"20 mtime=1700000000\n"), own, end].concat();
        assert_eq!(members(Format::Tar, &timed), Some(vec![Member::File(".mcp.json".into())]));
        assert_eq!(members(Format::Zip, &timed), None, "the other kind");
    }

    fn zipped(name: &str, mode: u32, method: u16, extra: &[u8], content: &[u8]) -> Vec<u8> {
        let two = |number: usize| u16::try_from(number).unwrap().to_le_bytes();
        let four = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
        let mut bytes = b"PK\x03\x04".to_vec();
        bytes.extend([0; 4]);
        bytes.extend(method.to_le_bytes());
        bytes.extend([0; 16]);
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
        assert_eq!(
            members(Format::Zip, &zipped("d/a", 0o100_644, 8, b"", b"..")),
            Some(vec![Member::File("d/a".into())])
        );
        let archive = zipped("l", link, 0, b"", b"/etc");
        assert_eq!(members(Format::Zip, &archive), Some(vec![Member::Link("l".into(), "/etc".into())]));
        assert_eq!(members(Format::Zip, &zipped("l", link, 8, b"", b"/etc")), None, "a packed link");
        assert_eq!(
            members(Format::Zip, &zipped("a", 0o100_644, 0, b"\x75\x70\x01\x00x", b"")),
            None,
            "another name"
        );
        assert_eq!(members(Format::Zip, &zipped("..\\a", 0o100_644, 0, b"", b"")), None);
        assert_eq!(
            members(Format::Zip, &[b"PKsfx".to_vec(), archive.clone()].concat()),
            None,
            "something before it"
        );
        assert_eq!(members(Format::Tar, &archive), None, "the other kind");
        for name in [".mcp.json;1", ".mcp\x01.json", "\u{e4}"] {
            assert_eq!(members(Format::Zip, &zipped(name, 0o100_644, 0, b"", b"")), None, "{name:?}");
        }
        let kind_by_field = b"\x6e\x75\x0e\0\0\0\0\0\xff\xa1\0\0\0\0\0\0\0\0";
        assert_eq!(
            members(Format::Zip, &zipped("a", 0o100_644, 0, kind_by_field, b"")),
            None,
            "another kind"
        );
        let mut short = zipped("a", 0o100_644, 0, b"", b"");
        let count = short.len() - 14;
        short[count..count + 4].fill(0);
        assert_eq!(members(Format::Zip, &short), None, "fewer than there are");
        for end in 0..archive.len() - 2 {
            let _ = members(Format::Zip, &archive[..end]);
        }
    }
}
