//! Private keys in blocks: from `-----BEGIN … PRIVATE KEY-----` to its `-----END`, whatever stands between: line ends,
//! `\n` as text, line numbers of a tool, colours.

use memchr::memmem;

/// Real keys have less than 16 KiB; with numbers and prefixes before each line they are longer.
pub(crate) const LONGEST: usize = 64 * 1024;
/// `OPENSSH`, `RSA`, `ENCRYPTED`, `PGP … BLOCK` and what may come.
const LONGEST_LABEL: usize = 64;
/// A line of a key that is cut off has at least this many characters of base64 in a row.
const BODY: usize = 16;

/// The end of the block that begins here; `end` is where the next `-----END` stands, if one is near.
pub(crate) fn block(text: &[u8], from: usize, end: Option<usize>) -> Option<usize> {
    let rest = text.get(from..)?;
    let rest = rest.get(..rest.len().min(LONGEST))?;
    let label = rest.get(5..rest.len().min(LONGEST_LABEL))?;
    let dashes = memmem::find(label, b"---")?;
    if !is_private(label.get(..dashes)?) {
        return None;
    }
    let Some(end) = end else {
        let first_line = 5 + dashes + label.get(dashes..)?.iter().take_while(|byte| **byte == b'-').count();
        // What belongs to the next block is not this one's. Without this, a text full of beginnings would be read to its end
        // from each of them.
        let own =
            memmem::find(rest.get(first_line..)?, b"-----BEGIN").map_or(rest.len(), |next| first_line + next);
        return Some(from + first_line + body(rest.get(..own)?, first_line));
    };
    // Behind the dashes that close the last line; they may have been cut off.
    let last = text.get(end + 8..)?;
    let last = last.get(..last.len().min(LONGEST_LABEL))?;
    let line = last.get(..memchr::memchr(b'\n', last).unwrap_or(last.len()))?;
    let label = memmem::find(line, b"---").unwrap_or_else(|| line.trim_ascii_end().len());
    let dashes = line.get(label..)?.iter().take_while(|byte| **byte == b'-').count();
    Some(end + 8 + label + dashes)
}

/// The beginning of the block that ends here, where its first line has been cut off: the lines above that look like one.
/// `done` is where the key before it ends.
pub(crate) fn headless(text: &[u8], end_line: usize, done: usize) -> Option<(usize, usize)> {
    let rest = text.get(end_line..)?;
    let label = rest.get(9..rest.len().min(LONGEST_LABEL))?;
    let length = memmem::find(label, b"---")?;
    if !is_private(label.get(..length)?) {
        return None;
    }
    let mut from = end_line;
    let above = text.get(end_line.saturating_sub(LONGEST).max(done)..end_line)?;
    // The last piece is empty where the line before ends in a line end.
    let mut lines = above.split_inclusive(|byte| *byte == b'\n').rev();
    for line in &mut lines {
        if longest_run(line) < BODY && line.trim_ascii().len() > 4 {
            break;
        }
        from -= line.len();
    }
    let to = end_line + 9 + length;
    let dashes = text.get(to..).unwrap_or_default().iter().take_while(|byte| **byte == b'-').count();
    Some((from, to + dashes))
}

/// The end of a PuTTY key that begins here: behind its last line, the MAC.
pub(crate) fn putty(text: &[u8], from: usize) -> Option<usize> {
    let near = text.get(from..text.len().min(from + LONGEST))?;
    let private = memmem::find(near, b"Private-Lines:")?;
    let tail = near.get(private..)?;
    let mac = memmem::find(tail, b"Private-MAC:").map_or_else(
        || body(tail, 16) + 16,
        |mac| {
            let line = tail.get(mac..).unwrap_or_default();
            mac + memchr::memchr(b'\n', line).unwrap_or(line.len())
        },
    );
    Some(from + private + mac)
}

fn is_private(label: &[u8]) -> bool {
    memmem::find(label, b"PRIVATE KEY").is_some()
}

/// How far, from here on, lines of a key go whose end has been cut off.
fn body(near: &[u8], from: usize) -> usize {
    let mut length = 0;
    for line in near.get(from..).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
        let is_header = memmem::find(line, b": ").is_some() && line.len() < 80 && length < 256;
        if longest_run(line) < BODY && !is_header && line.trim_ascii().len() > 4 {
            break;
        }
        length += line.len();
    }
    let whole = near.get(from..from + length).unwrap_or_default();
    whole.trim_ascii_end().len()
}

/// Whether a line may be one of a key's, of at least this many characters of base64 in a row.
pub(crate) fn is_body(line: &[u8], least: usize) -> bool {
    longest_run(line) >= least
}

/// Whether a text of its own is a line of a key: of base64, but for what a tool puts before it.
pub(crate) fn is_line(text: &[u8]) -> bool {
    let run = longest_run(text);
    run >= 2 * BODY || (run >= BODY && run + 1 >= text.trim_ascii().len())
}

fn longest_run(line: &[u8]) -> usize {
    let base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    line.split(|byte| !base64(byte)).map(<[u8]>::len).max().unwrap_or_default()
}
