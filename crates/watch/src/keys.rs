//! What is typed, out of the bytes that a terminal sends.

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// An arrow up.
    Up,
    /// An arrow down.
    Down,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the first.
    Home,
    /// To the last.
    End,
    /// Return.
    Enter,
    /// Escape.
    Escape,
    /// Takes the last character back.
    Backspace,
    /// Stops the program.
    Interrupt,
}

/// Bytes that have come and are not a key yet.
#[derive(Debug, Default)]
pub struct Keys {
    left: Vec<u8>,
}

/// Keys that terminals send as several bytes, in the two forms that are about.
const SEQUENCES: [(&[u8], Key); 14] = [
    (b"\x1b[A", Key::Up),
    (b"\x1bOA", Key::Up),
    (b"\x1b[B", Key::Down),
    (b"\x1bOB", Key::Down),
    (b"\x1b[5~", Key::PageUp),
    (b"\x1b[6~", Key::PageDown),
    (b"\x1b[H", Key::Home),
    (b"\x1bOH", Key::Home),
    (b"\x1b[1~", Key::Home),
    (b"\x1b[7~", Key::Home),
    (b"\x1b[F", Key::End),
    (b"\x1bOF", Key::End),
    (b"\x1b[4~", Key::End),
    (b"\x1b[8~", Key::End),
];

impl Keys {
    /// What these bytes are. `is_all`: nothing more is coming right now, so an escape alone is the key.
    pub fn of(&mut self, bytes: &[u8], is_all: bool) -> Vec<Key> {
        self.left.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((key, used)) = next(&self.left, is_all) {
            keys.extend(key);
            self.left.drain(..used);
        }
        keys
    }
}

/// The first key, and how many bytes it took; no key where the bytes mean nothing. `None` where more has to come.
fn next(bytes: &[u8], is_all: bool) -> Option<(Option<Key>, usize)> {
    let first = *bytes.first()?;
    if first == 0x1b {
        if let Some((sequence, key)) = SEQUENCES.iter().find(|(sequence, _)| bytes.starts_with(sequence)) {
            return Some((Some(*key), sequence.len()));
        }
        let rest = bytes.get(1..).unwrap_or_default();
        return match rest.first() {
            None if is_all => Some((Some(Key::Escape), 1)),
            None => None,
            Some(b'[' | b'O') => {
                // A key that means nothing here: it ends with a letter or a tilde.
                let end = rest.iter().skip(1).position(|byte| matches!(byte, b'@'..=b'~'));
                end.map(|end| (None, end + 3)).or(is_all.then_some((None, bytes.len())))
            }
            Some(_) => Some((Some(Key::Escape), 1)),
        };
    }
    let key = match first {
        b'\r' | b'\n' => Some(Key::Enter),
        0x7f | 0x08 => Some(Key::Backspace),
        0x03 => Some(Key::Interrupt),
        0x0e => Some(Key::Down),
        0x10 => Some(Key::Up),
        0x20..=0x7e => Some(Key::Char(char::from(first))),
        0x00..=0x1f => None,
        0x80.. => return character(bytes, is_all),
    };
    Some((key, 1))
}

/// A character of several bytes.
fn character(bytes: &[u8], is_all: bool) -> Option<(Option<Key>, usize)> {
    let head = bytes.get(..bytes.len().min(4)).unwrap_or_default();
    let valid = match std::str::from_utf8(head) {
        Ok(text) => Some(text),
        Err(error) => head.get(..error.valid_up_to()).and_then(|head| std::str::from_utf8(head).ok()),
    };
    match valid.and_then(|text| text.chars().next()) {
        Some(c) => Some((Some(Key::Char(c)), c.len_utf8())),
        None if bytes.len() >= 4 || is_all => Some((None, 1)),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_apart_however_their_bytes_come() {
        let typed = b"j\x1b[A\x1b[5~\xc3\xa9\x1b[15~/x\r\x7f\x03";
        let wanted = [
            Key::Char('j'),
            Key::Up,
            Key::PageUp,
            Key::Char('é'),
            Key::Char('/'),
            Key::Char('x'),
            Key::Enter,
            Key::Backspace,
            Key::Interrupt,
        ];
        assert_eq!(Keys::default().of(typed, true), wanted);
        let mut keys = Keys::default();
        let one_by_one: Vec<Key> = typed.iter().flat_map(|byte| keys.of(&[*byte], false)).collect();
        assert_eq!(one_by_one, wanted);
        assert_eq!(Keys::default().of(b"\x1b", false), []);
        // Somebody who types a note and goes back a letter sends nothing and drops nothing.
        assert_eq!(Keys::default().of(b"a\x1b[Cb\x1b[D\x1bOC\x1bOD", true), [Key::Char('a'), Key::Char('b')]);
        assert_eq!(Keys::default().of(b"\x1b", true), [Key::Escape]);
        assert_eq!(Keys::default().of(b"\xff\xffq", true), [Key::Char('q')]);
    }
}
