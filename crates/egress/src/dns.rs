//! Questions to the resolver of a sandbox, and its answers.
//!
//! Against whom: a program that carries data out in the names that it asks for. Nothing of a question leaves: its name is listed or not,
//! and a listed one is answered with an address that means this name to the proxy and nothing to anybody else.

use std::net::Ipv4Addr;

use crate::name::Name;

/// What was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The header's number and flags, and the question as it was written: an answer repeats both.
    id: [u8; 2],
    recursion: bool,
    raw: Vec<u8>,
    /// The name; `None` where it is in no plain form.
    pub name: Option<Name>,
    /// Which kind of record.
    kind: u16,
    class: u16,
}

/// What is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// The name has this address. Of another kind of record it has none.
    Address(Ipv4Addr),
    /// There is such a name, and no address of it is known just now.
    NotNow,
    /// There is no such name here.
    NoName,
}

const HEADER: usize = 12;
const A: u16 = 1;
const INTERNET: u16 = 1;
/// How long an answer may be kept, in seconds. It holds as long as the sandbox does.
const LIFETIME: [u8; 4] = [0, 0, 1, 44];

/// Reads a message with one question. `None`: it is none, and nobody is answered.
pub fn question(message: &[u8]) -> Option<Question> {
    let header = message.get(..HEADER)?;
    let [id0, id1, flags, _, 0, 1, ..] = *header else { return None };
    let is_standard = flags & 0b1111_1000 == 0;
    if !is_standard {
        return None;
    }
    let mut at = HEADER;
    let mut text = String::new();
    let mut is_plain = true;
    loop {
        let length = usize::from(*message.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        // Also a pointer, which no question has any use for.
        if length > 63 || at - HEADER > 255 {
            return None;
        }
        let label = message.get(at..at + length)?;
        at += length;
        // A dot inside of a label would make two of it.
        is_plain &= label.iter().all(|byte| byte.is_ascii() && *byte != b'.');
        text.extend(label.iter().map(|byte| char::from(*byte)));
        text.push('.');
    }
    let [kind0, kind1, class0, class1] = *message.get(at..at + 4)? else { return None };
    Some(Question {
        id: [id0, id1],
        recursion: flags & 1 == 1,
        raw: message.get(HEADER..at + 4)?.to_vec(),
        name: Name::parse(&text).filter(|_| is_plain),
        kind: u16::from_be_bytes([kind0, kind1]),
        class: u16::from_be_bytes([class0, class1]),
    })
}

impl Question {
    /// Whether it asks for an address of IPv4, the only kind of record that is ever given.
    pub fn wants_address(&self) -> bool {
        (self.kind, self.class) == (A, INTERNET)
    }

    /// The answer to it.
    pub fn answered(&self, reply: Reply) -> Vec<u8> {
        let (code, address) = match reply {
            Reply::Address(address) => (0, Some(address).filter(|_| self.wants_address())),
            Reply::NotNow => (2, None),
            Reply::NoName => (3, None),
        };
        // A response, with authority, to a question that may have wished for recursion, which is there.
        let flags = [0b1000_0100 | u8::from(self.recursion), 0b1000_0000 | code];
        let count = u8::from(address.is_some());
        let mut message = Vec::with_capacity(HEADER + self.raw.len() + 16);
        message.extend(self.id);
        message.extend(flags);
        message.extend([0, 1, 0, count, 0, 0, 0, 0]);
        message.extend(&self.raw);
        if let Some(address) = address {
            // The name of the question, by its place.
            message.extend([0xc0, 0x0c, 0, 1, 0, 1]);
            message.extend(LIFETIME);
            message.extend([0, 4]);
            message.extend(address.octets());
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(labels: &[&[u8]], kind: u16) -> Vec<u8> {
        let mut message = vec![7, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in labels {
            message.push(u8::try_from(label.len()).unwrap());
            message.extend(*label);
        }
        message.push(0);
        message.extend(kind.to_be_bytes());
        message.extend([0, 1]);
        message
    }

    #[test]
    fn a_question_is_read_and_answered_by_its_own_words() {
        let asked = asking(&[b"WWW", b"Example", b"com"], 1);
        let question = question(&asked).unwrap();
        assert_eq!(question.name.as_ref().unwrap().as_str(), "www.example.com");
        assert!(question.wants_address());
        let answer = question.answered(Reply::Address(Ipv4Addr::new(198, 18, 0, 3)));
        assert_eq!(answer[..12], [7, 9, 0x85, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        assert_eq!(answer[12..asked.len()], asked[12..], "letters as they were: some resolvers compare them");
        assert!(answer.ends_with(&[0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 198, 18, 0, 3]));
        assert_eq!(question.answered(Reply::NoName)[3], 0x83);
        assert_eq!(question.answered(Reply::NotNow)[3], 0x82);
    }

    #[test]
    fn other_kinds_of_records_are_none() {
        let question = question(&asking(&[b"a", b"example"], 28)).unwrap();
        let answer = question.answered(Reply::Address(Ipv4Addr::LOCALHOST));
        assert_eq!((answer[3], answer[7]), (0x80, 0));
    }

    #[test]
    fn a_name_in_no_plain_form_is_none() {
        for labels in [
            &[&b"a.b"[..], b"example"][..],
            &[b"a\0"],
            &[b"evil\0", b"example"],
            &["\u{fc}".as_bytes()],
            &[b"127", b"1"],
            &[],
        ] {
            assert_eq!(question(&asking(labels, 1)).unwrap().name, None, "{labels:?}");
        }
    }

    #[test]
    fn what_is_no_plain_question_has_no_answer() {
        let good = asking(&[b"a", b"example"], 1);
        let changed = |at: usize, byte: u8| {
            let mut message = good.clone();
            message[at] = byte;
            message
        };
        for (message, why) in [
            (Vec::new(), "empty"),
            (good[..good.len() - 1].to_vec(), "cut off"),
            (changed(2, 0x81), "an answer"),
            (changed(2, 0x29), "another operation"),
            (changed(5, 2), "two questions"),
            (changed(12, 0xc0), "a pointer"),
            (changed(12, 60), "a label that goes on behind the end"),
            (asking(&[&[b'a'; 60][..]; 6], 1), "a name that is too long"),
        ] {
            assert_eq!(question(&message), None, "{why}");
        }
    }
}
