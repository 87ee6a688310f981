//! JSON lines, one at a time, within a bound.

use std::io::{self, BufRead, Read};

use serde_json::Value;

use crate::PastCall;

/// A longer line is not read: it counts as one that was not understood. Clients keep whole outputs and pictures in a line.
const LONGEST: u64 = 64 * 1024 * 1024;

/// What one client's lines mean.
pub(crate) trait Lines {
    /// Tells of the calls in a line. `None`: the line is of no form that is known.
    fn line(&mut self, line: Value, each: &mut dyn FnMut(PastCall)) -> Option<()>;

    /// Whether a line can be passed over without being read: none of these words is in it.
    fn words(&self) -> &'static [&'static str];
}

/// Reads all lines. Returns how many were not understood.
pub(crate) fn read(
    mut text: impl BufRead,
    reader: &mut dyn Lines,
    each: &mut dyn FnMut(PastCall),
) -> io::Result<usize> {
    let mut unread = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        let taken = (&mut text).take(LONGEST).read_until(b'\n', &mut line)?;
        if taken == 0 {
            return Ok(unread);
        }
        if line.last() != Some(&b'\n') && u64::try_from(taken).unwrap_or(u64::MAX) >= LONGEST {
            unread += 1;
            skip_line(&mut text)?;
            continue;
        }
        let trimmed = line.trim_ascii();
        if trimmed.is_empty() || !holds_any(trimmed, reader.words()) {
            continue;
        }
        let known = serde_json::from_slice(trimmed).ok().and_then(|line| reader.line(line, each));
        unread += usize::from(known.is_none());
    }
}

/// Passes over the rest of a line, however long.
fn skip_line(text: &mut impl BufRead) -> io::Result<()> {
    loop {
        let piece = text.fill_buf()?;
        let (taken, is_over) = match piece.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (piece.len(), piece.is_empty()),
        };
        text.consume(taken);
        if is_over {
            return Ok(());
        }
    }
}

fn holds_any(line: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| line.windows(word.len()).any(|part| part == word.as_bytes()))
}

/// The text of a member.
pub(crate) fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counts;

    impl Lines for Counts {
        fn line(&mut self, line: Value, _: &mut dyn FnMut(PastCall)) -> Option<()> {
            line.get("known").map(|_| ())
        }
        fn words(&self) -> &'static [&'static str] {
            &["known", "call"]
        }
    }

    #[test]
    fn what_is_not_understood_is_counted_and_what_holds_no_call_is_not() {
        let text = "{\"known\":1}\n\n{\"other\":1}\n{\"call\":1}\n{\"call\":\n{\"known\":2}";
        assert_eq!(read(text.as_bytes(), &mut Counts, &mut |_| ()).unwrap(), 2);
    }

    #[test]
    fn the_rest_of_a_line_is_passed_over() {
        let mut text = io::BufReader::with_capacity(4, &b"0123456789\nrest"[..]);
        skip_line(&mut text).unwrap();
        let mut rest = String::new();
        text.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "rest");
        skip_line(&mut text).unwrap();
    }
}
