//! The lines that a patch of git adds, straight from its output into the search.
//!
//! Against whom: a file that holds what looks like a patch. The body of a hunk is read by the numbers in its head, so
//! that nothing in it is taken for a head; what does not fit the numbers ends the look with an error.

use std::ffi::OsString;
use std::io::{BufRead, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use super::Failure;
use super::search::Search;

/// A head holds no more than a path, every byte of it escaped.
const MAX_HEAD: u64 = 64 * 1024;

/// Reads a patch without context lines, of one tree or of many commits.
pub(super) fn read(patch: &mut dyn BufRead, search: &mut Search<'_>) -> Result<(), Failure> {
    let mut head = Vec::new();
    loop {
        head.clear();
        if patch.take(MAX_HEAD).read_until(b'\n', &mut head).map_err(|error| unreadable(&error))? == 0 {
            return Ok(());
        }
        let Some(head) = head.strip_suffix(b"\n") else { return Err(malformed("a head without an end")) };
        if let Some(name) = head.strip_prefix(b"+++ ") {
            let path = path(name).ok_or_else(|| malformed("a name that cannot be read"))?;
            search.begin_file(PathBuf::from(OsString::from_vec(path)));
        } else if head.starts_with(b"@@") {
            let hunk = Hunk::parse(head).ok_or_else(|| malformed("a hunk that cannot be read"))?;
            hunk.read(patch, search)?;
        } else if let Some(commit) = commit(head) {
            search.begin_commit(commit);
        }
    }
}

/// What the head of a hunk says of it.
#[derive(Debug, PartialEq, Eq)]
struct Hunk {
    removed: usize,
    added: usize,
    /// The first line that it adds.
    line: usize,
}

impl Hunk {
    /// `@@ -1,2 +3,4 @@ …`; a number of lines that is not said is one.
    fn parse(head: &[u8]) -> Option<Hunk> {
        let head = std::str::from_utf8(head.get(..head.len().min(100))?.split(|&byte| byte == b'@').nth(2)?);
        let mut words = head.ok()?.split_ascii_whitespace();
        let range = |word: &str| match word.split_once(',') {
            Some((line, count)) => Some((line.parse().ok()?, count.parse().ok()?)),
            None => Some((word.parse().ok()?, 1)),
        };
        let (_, removed): (usize, usize) = range(words.next()?.strip_prefix('-')?)?;
        let (line, added) = range(words.next()?.strip_prefix('+')?)?;
        words.next().is_none().then_some(Hunk { removed, added, line })
    }

    fn read(mut self, patch: &mut dyn BufRead, search: &mut Search<'_>) -> Result<(), Failure> {
        search.begin_text(self.line);
        while self.removed > 0 || self.added > 0 {
            let mut kind = [0];
            patch.read_exact(&mut kind).map_err(|error| unreadable(&error))?;
            match kind {
                [b'+'] if self.added > 0 => {
                    self.added -= 1;
                    take_line(patch, search)?;
                }
                [b'-'] if self.removed > 0 => {
                    self.removed -= 1;
                    skip_line(patch)?;
                }
                // `\ No newline at end of file`
                [b'\\'] => skip_line(patch)?,
                _ => return Err(malformed("a line that is neither added nor removed")),
            }
        }
        search.end_text()
    }
}

fn take_line(patch: &mut dyn BufRead, search: &mut Search<'_>) -> Result<(), Failure> {
    loop {
        let room = search.room()? as u64;
        let window = search.window();
        if patch.take(room).read_until(b'\n', window).map_err(|error| unreadable(&error))? == 0 {
            return Err(malformed("the end in the middle of a line"));
        }
        if window.ends_with(b"\n") {
            return Ok(());
        }
    }
}

fn skip_line(patch: &mut dyn BufRead) -> Result<(), Failure> {
    patch.skip_until(b'\n').map(|_| ()).map_err(|error| unreadable(&error))
}

/// A line that is a commit's id and nothing else.
fn commit(head: &[u8]) -> Option<String> {
    let is_id = matches!(head.len(), 40 | 64) && head.iter().all(u8::is_ascii_hexdigit);
    is_id.then(|| String::from_utf8_lossy(head).into_owned())
}

/// The path in `b/path`: odd ones stand in quotes, and one with a space has a tab behind it.
fn path(name: &[u8]) -> Option<Vec<u8>> {
    let name = name.strip_suffix(b"\t").unwrap_or(name);
    let whole = match name.strip_prefix(b"\"") {
        Some(quoted) => unquote(quoted.strip_suffix(b"\"")?)?,
        None => name.to_vec(),
    };
    // `/dev/null` stands for a file that is gone. It adds nothing.
    whole.strip_prefix(b"b/").or(whole.strip_prefix(b"/")).map(<[u8]>::to_vec)
}

/// As C writes strings.
fn unquote(quoted: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(quoted.len());
    let mut rest = quoted.iter();
    while let Some(&byte) = rest.next() {
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        plain.push(match rest.next()? {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            escaped @ (b'"' | b'\\') => *escaped,
            high @ b'0'..=b'3' => {
                let mut digit = || rest.next().filter(|digit| (b'0'..=b'7').contains(*digit));
                let (middle, low) = (digit()?, digit()?);
                ((high - b'0') << 6) | ((middle - b'0') << 3) | (low - b'0')
            }
            _ => return None,
        });
    }
    Some(plain)
}

fn unreadable(error: &std::io::Error) -> Failure {
    Failure::Input(format!("the output of git: {error}"))
}

fn malformed(what: &str) -> Failure {
    Failure::Input(format!("the output of git holds {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_hunk_is_parsed() {
        let hunk =
            |head: &str| Hunk::parse(head.as_bytes()).map(|hunk| (hunk.removed, hunk.added, hunk.line));
        assert_eq!(hunk("@@ -1 +1 @@"), Some((1, 1, 1)));
        assert_eq!(hunk("@@ -0,0 +1,12 @@ fn x() { @@ }"), Some((0, 12, 1)));
        assert_eq!(hunk("@@ -7,3 +6,0 @@"), Some((3, 0, 6)));
        for wrong in ["@@", "@@ -1 @@", "@@ +1 -1 @@", "@@@ -1 -1 +1 @@@", "@@ -1 +x @@", "@@ -1 +1 +1 @@"] {
            assert_eq!(hunk(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn quoted_names_of_a_patch_are_unquoted() {
        for (name, wanted) in [
            (&b"b/a.rs"[..], Some(&b"a.rs"[..])),
            (b"b/a b\t", Some(b"a b")),
            (br#""b/a\n\"\\\377\t.rs""#, Some(b"a\n\"\\\xff\t.rs")),
            (b"\"b/a \\\"b\"\t", Some(b"a \"b")),
            (b"/dev/null", Some(b"dev/null")),
            (br#""b/a"#, None),
            (br#""b/\9""#, None),
            (b"a", None),
        ] {
            assert_eq!(path(name).as_deref(), wanted, "{}", String::from_utf8_lossy(name));
        }
    }
}
