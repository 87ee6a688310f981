//! The name in the first message of TLS.
//!
//! Against whom: a program that names one server to us and another to whoever it is connected to. So the whole message is read, in as many
//! records as it comes in, and what is not plainly a first message with one name at most is none.

use crate::name::Name;

/// What the first bytes of a connection are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hello {
    /// The beginning of a first message.
    Unfinished,
    /// A first message, and the name that it asks for, if any.
    Whole(Option<Name>),
    /// Nothing that may be passed on.
    Bad,
}

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
/// A first message with the keys of new algorithms has two thousand bytes.
const MOST: usize = 16 * 1024;

/// What follows, cut off piece by piece.
struct Rest<'b>(&'b [u8]);

impl<'b> Rest<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<usize> {
        Some(self.take(bytes)?.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    /// What a length in so many bytes stands before.
    fn block(&mut self, bytes: usize) -> Option<Rest<'b>> {
        let length = self.number(bytes)?;
        self.take(length).map(Rest)
    }
}

/// Reads what a client has sent so far.
pub fn hello(bytes: &[u8]) -> Hello {
    let mut rest = Rest(bytes);
    let mut message: Vec<u8> = Vec::new();
    loop {
        let Some(header) = rest.take(5) else {
            let begins = rest.0.first().is_none_or(|kind| *kind == HANDSHAKE)
                && rest.0.get(1).is_none_or(|major| *major == 3);
            return if begins { Hello::Unfinished } else { Hello::Bad };
        };
        let [HANDSHAKE, 3, _, high, low] = *header else { return Hello::Bad };
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length == 0 || message.len() + length > MOST {
            return Hello::Bad;
        }
        let has_all = rest.0.len() >= length;
        message.extend(rest.0.iter().take(length));
        if let [first, ..] = message.as_slice()
            && *first != CLIENT_HELLO
        {
            return Hello::Bad;
        }
        if let [_, high, middle, low, body @ ..] = message.as_slice() {
            let length = usize::from(*high) << 16 | usize::from(*middle) << 8 | usize::from(*low);
            if length > MOST {
                return Hello::Bad;
            }
            if body.len() > length {
                // Another message behind it, before the server has said anything.
                return Hello::Bad;
            }
            if body.len() == length {
                return read_body(body).unwrap_or(Hello::Bad);
            }
        }
        if !has_all {
            return Hello::Unfinished;
        }
        rest.take(length);
    }
}

/// What the body of a first message asks for. `None`: it is malformed.
fn read_body(body: &[u8]) -> Option<Hello> {
    let mut rest = Rest(body);
    let (_version, _random) = (rest.take(2)?, rest.take(32)?);
    let (_session, _ciphers, _compression) = (rest.block(1)?, rest.block(2)?, rest.block(1)?);
    if rest.0.is_empty() {
        return Some(Hello::Whole(None));
    }
    let mut extensions = rest.block(2)?;
    if !rest.0.is_empty() {
        return None;
    }
    let mut name = None;
    while !extensions.0.is_empty() {
        let kind = extensions.number(2)?;
        let mut extension = extensions.block(2)?;
        if kind != usize::from(SERVER_NAME) {
            continue;
        }
        let mut entry = extension.block(2)?;
        let kind = entry.number(1)?;
        let text = entry.block(2)?;
        let is_only = name.is_none() && kind == 0 && entry.0.is_empty() && extension.0.is_empty();
        if !is_only {
            return None;
        }
        name = Some(Name::parse(std::str::from_utf8(text.0).ok()?)?);
    }
    Some(Hello::Whole(name))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A first message that asks for these names.
    pub(crate) fn asking_for(names: &[&[u8]]) -> Vec<u8> {
        let block = |bytes: &[u8], length: usize| {
            let size = u32::try_from(bytes.len()).unwrap().to_be_bytes();
            [&size[4 - length..], bytes].concat()
        };
        let mut extensions = [vec![0, 23], block(&[], 2)].concat();
        for name in names {
            let entry = block(&[vec![0], block(name, 2)].concat(), 2);
            extensions.extend([vec![0, 0], block(&entry, 2)].concat());
        }
        let body = [
            vec![3, 3],
            vec![7; 32],
            block(&[1; 32], 1),
            block(&[0x13, 1], 2),
            block(&[0], 1),
            block(&extensions, 2),
        ]
        .concat();
        let message = [vec![CLIENT_HELLO], block(&body, 3)].concat();
        [vec![HANDSHAKE, 3, 1], block(&message, 2)].concat()
    }

    fn name(text: &str) -> Hello {
        Hello::Whole(Name::parse(text))
    }

    #[test]
    fn the_name_is_found_however_the_message_comes() {
        let whole = asking_for(&[b"Files.Example.com"]);
        assert_eq!(hello(&whole), name("files.example.com"));
        for end in 0..whole.len() {
            assert_eq!(hello(&whole[..end]), Hello::Unfinished, "{end}");
        }
        // In records of one byte each.
        let split: Vec<u8> = whole[5..].iter().flat_map(|byte| [HANDSHAKE, 3, 1, 0, 1, *byte]).collect();
        assert_eq!(hello(&split), name("files.example.com"));
        assert_eq!(hello(&asking_for(&[])), Hello::Whole(None));
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_nothing() {
        let good = asking_for(&[b"a.example"]);
        for (bytes, why) in [
            (asking_for(&[b"a.example", b"evil.example"]), "two names"),
            (asking_for(&[b"a.example\0.evil.example"]), "a NUL"),
            (asking_for(&["\u{e4}.example".as_bytes()]), "no ASCII"),
            (asking_for(&[b"127.0.0.1"]), "an address"),
            (asking_for(&[b""]), "no name"),
            (b"GET / HTTP/1.1\r\n".to_vec(), "HTTP"),
            (vec![0x80, 0x2e, 1, 3, 1], "the old form"),
            (vec![HANDSHAKE, 3, 1, 0, 0], "an empty record"),
            ([good.clone(), vec![HANDSHAKE, 3]].concat(), ""),
            (vec![HANDSHAKE, 3, 1, 0, 4, 2, 0, 0, 0], "a server's message"),
            (vec![HANDSHAKE, 3, 1, 0, 4, 1, 0xff, 0, 0], "a message without end"),
        ] {
            let expected = if why.is_empty() { name("a.example") } else { Hello::Bad };
            assert_eq!(hello(&bytes), expected, "{why}");
        }
    }
}
