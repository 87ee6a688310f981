//! Private keys in blocks: from `-----BEGIN … PRIVATE KEY-----` to its `-----END`, whatever stands between: line ends,
//! `\n` as text, line numbers of a tool, colours. A block without base64 in it is a word about keys, not one.

use memchr::{memchr, memchr_iter, memmem};

/// Real keys have less than 16 KiB; with numbers and prefixes before each line they are longer.
pub(crate) const LONGEST: usize = 64 * 1024;
/// `OPENSSH`, `RSA`, `ENCRYPTED`, `PGP … BLOCK` and what may come.
const LONGEST_LABEL: usize = 64;
/// A key has at least this many characters of base64 in a row.
const BODY: usize = 24;
/// A line with this many in a row is one of a key's, whatever stands before them.
const LINE: usize = 40;
/// More of a line is not looked at.
const LONGEST_LINE: usize = 512;

/// The end of the block that begins here; `end` is where the next `-----END` stands, if one is near.
pub(crate) fn block(text: &[u8], from: usize, end: Option<usize>) -> Option<usize> {
    let first_line = label(text, from + 5)?;
    let Some(end) = end else {
        let to = first_line + body(text.get(first_line..text.len().min(from + LONGEST))?);
        return (to > first_line).then_some(to);
    };
    let inside = text.get(first_line..end)?;
    if longest_run(inside) < BODY && !is_short_body(inside) {
        return None;
    }
    // `MIIEpQ…fG..`: what a manual shows of one.
    if inside.len() < 120 && memmem::find(inside, b"..").is_some() {
        return None;
    }
    // Behind the dashes that close the last line; they may have been cut off.
    Some(label(text, end + 8).unwrap_or(end + 8))
}

/// The block that ends here, where its first line has been cut off: the lines above that look like one. `done` is where
/// the key before it ends.
pub(crate) fn headless(text: &[u8], end_line: usize, done: usize) -> Option<(usize, usize)> {
    let to = label(text, end_line + 8)?;
    let mut from = end_line;
    let above = text.get(end_line.saturating_sub(LONGEST).max(done)..end_line)?;
    for line in above.split_inclusive(|byte| *byte == b'\n').rev() {
        // The last line of a key may be short.
        if !is_body(line) && (from < end_line || longest_run(line) < 4 || !is_mostly_base64(line)) {
            break;
        }
        from -= line.len();
    }
    (longest_run(text.get(from..end_line)?) >= BODY).then_some((from, to))
}

/// The end of a PuTTY key that begins here: behind its last line, the MAC.
pub(crate) fn putty(text: &[u8], from: usize) -> Option<usize> {
    let near = text.get(from..text.len().min(from + LONGEST))?;
    let private = memmem::find(near, b"Private-Lines: ")? + 15;
    let digits = near.get(private..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let lines = near.get(private + digits..)?;
    let length = body(lines);
    if digits == 0 || length == 0 {
        return None;
    }
    let rest = lines.get(length..)?;
    let mac = memmem::find(rest.get(..rest.len().min(128))?, b"Private-MAC:").map_or(0, |mac| {
        let line = rest.get(mac..).unwrap_or_default();
        mac + memchr(b'\n', line).unwrap_or(line.len())
    });
    Some(from + private + digits + length + mac)
}

/// Nothing but a few letters on a line of their own: an example, or a key cut short.
fn is_short_body(inside: &[u8]) -> bool {
    let inside = inside.strip_prefix(b"\\n").or_else(|| inside.strip_prefix(b"\n")).unwrap_or_default();
    let inside = inside.strip_suffix(b"\\n").unwrap_or(inside).trim_ascii();
    // A word in small letters is said about keys.
    inside.iter().any(|byte| is_base64(*byte) && !byte.is_ascii_lowercase())
        && inside.iter().all(|byte| is_base64(*byte) || byte.is_ascii_whitespace() || *byte == b'\\')
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Whether a private key begins in this text and does not end there.
pub(crate) fn is_open(text: &[u8]) -> bool {
    // Nearly every text has none, and the search from the beginning is much the faster one.
    let any = memmem::find(text, b"-----BEGIN ");
    let begin = any
        .and_then(|_| memmem::rfind(text, b"-----BEGIN "))
        .filter(|begin| label(text, begin + 5).is_some());
    begin.is_some_and(|begin| memmem::find(text.get(begin..).unwrap_or_default(), b"-----END").is_none())
}

/// Where a private key begins that may go on behind this text: its end has not come, and what stands behind its first line is still its
/// own. A word about keys is followed by other lines.
pub(crate) fn open_from(text: &[u8]) -> Option<usize> {
    const MOST_OTHER_LINES: usize = 8;
    let lines = |rest: &[u8]| memchr_iter(b'\n', rest).count();
    let blocks = [&b"-----BEGIN "[..], b"---- BEGIN SSH2 "];
    let block = blocks.iter().filter_map(|begin| memmem::rfind(text, begin)).max().filter(|from| {
        let rest = text.get(*from..).unwrap_or_default();
        let Some(first_line) = label(text, from + 5) else { return false };
        let behind = block(text, *from, None).unwrap_or(first_line);
        memmem::find(rest, b"-----END").is_none()
            && memmem::find(rest, b"---- END").is_none()
            && lines(text.get(behind..).unwrap_or_default()) <= MOST_OTHER_LINES
    });
    let putty = || {
        memmem::rfind(text, b"PuTTY-User-Key-File-").filter(|from| {
            let rest = text.get(*from..).unwrap_or_default();
            let ended = memmem::find(rest, b"Private-MAC:")
                .is_some_and(|mac| memchr(b'\n', rest.get(mac..).unwrap_or_default()).is_some());
            let near = rest.get(..rest.len().min(1024)).unwrap_or_default();
            !ended && (lines(rest) <= MOST_OTHER_LINES || memmem::find(near, b"-Lines: ").is_some())
        })
    };
    block.or_else(putty)
}

/// Whether a text of its own is a line of an open key, the last of which may be short.
pub(crate) fn is_line(text: &[u8]) -> bool {
    let (run, text) = (longest_run(text), text.trim_ascii());
    is_body(text) || (run + 1 >= text.len() && (run >= 16 || (run >= 4 && text.ends_with(b"="))))
}

/// Whether a line may be one of a key's.
pub(crate) fn is_body(line: &[u8]) -> bool {
    let line = line.get(..line.len().min(LONGEST_LINE)).unwrap_or_default();
    let run = longest_run(line);
    run >= LINE || (run >= BODY && is_mostly_base64(line))
}

fn is_mostly_base64(line: &[u8]) -> bool {
    longest_run(line) * 10 >= line.trim_ascii().len() * 7
}

/// The end of a label that begins here and its dashes, if it is that of a private key.
fn label(text: &[u8], from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    let line = rest.get(..rest.len().min(LONGEST_LABEL))?;
    let line = line.get(..memchr(b'\n', line).unwrap_or(line.len()))?;
    let dashes = memmem::find(line, b"---")?;
    memmem::find(line.get(..dashes)?, b"PRIVATE KEY")?;
    let closing = rest.get(dashes..)?.iter().take(5).take_while(|byte| **byte == b'-').count();
    Some(from + dashes + closing)
}

/// How far the lines of a key go whose end has been cut off.
fn body(rest: &[u8]) -> usize {
    let (mut length, mut sure) = (0, 0);
    for line in rest.split_inclusive(|byte| *byte == b'\n') {
        let is_header = length < 256 && line.len() < 80 && memmem::find(line, b": ").is_some();
        let blank = line.trim_ascii().len() < 2;
        length += line.len();
        if is_body(line) {
            sure = length;
        } else if !is_header && !blank {
            break;
        }
    }
    rest.get(..sure).unwrap_or_default().trim_ascii_end().len()
}

fn longest_run(text: &[u8]) -> usize {
    text.split(|byte| !is_base64(*byte)).map(<[u8]>::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::{Marks, Rules, scrub};

    fn scrubbed(text: &str) -> String {
        scrub(text.as_bytes(), &Rules::default(), Marks::Plain)
            .map_or_else(|| text.to_owned(), |scrubbed| String::from_utf8(scrubbed.text).unwrap())
    }

    #[test]
    fn a_private_key_is_redacted_whole() {
        let line = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz";
        let begin = "-----BEGIN OPENSSH PRIVATE KEY-----";
        let end = "-----END OPENSSH PRIVATE KEY-----";
        for (key, left) in [
            (format!("a\n{begin}\n{line}\n{line}\nAbc=\n{end}\nb"), "a\n[PRIVATE_KEY REDACTED]\nb"),
            (format!("\"{begin}\\n{line}\\n{end}\\n\""), "\"[PRIVATE_KEY REDACTED]\\n\""),
            (format!("k:1:{begin}\nk:2:{line}\nk:3:{end}\nb"), "k:1:[PRIVATE_KEY REDACTED]\nb"),
            (format!("{begin}\n{line}\n{line}\nthen it was cut"), "[PRIVATE_KEY REDACTED]\nthen it was cut"),
            (format!("above\n{line}\n{line}\nAbc=\n{end}\nb"), "above\n[PRIVATE_KEY REDACTED]\nb"),
        ] {
            assert_eq!(scrubbed(&key), left);
        }
    }

    #[test]
    fn text_about_keys_is_unchanged() {
        for text in [
            "keyRegex = /-----BEGIN PRIVATE KEY-----.*?-----END PRIVATE KEY-----/s",
            "(\"-----BEGIN PRIVATE KEY-----\", \"-----END PRIVATE KEY-----\")",
            "if (pkcs8.indexOf(\"-----BEGIN PRIVATE KEY-----\") !== 0) {\n    someVeryLongIdentifierOfAFunction();\n",
            "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----END CERTIFICATE-----",
        ] {
            assert_eq!(scrubbed(text), text);
        }
    }
}
