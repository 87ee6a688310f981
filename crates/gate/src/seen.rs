//! A value that was marked once in a session is hidden wherever it appears later, even where nothing shows that it is a secret:
//! `DB_PASSWORD=x` in one output, and `using x` in the next.
//!
//! Only digests are kept, made with this person's key, in the state directory, which no agent may read. A few bytes beside each digest tell
//! nearly every other place of a text from it at once: a text of 10 MB has a million words.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use toolgate_model::World;
use toolgate_secrets::{HEADS, Heads, Marks, Scrubbed, is_odd, word_headed};

/// A secret that was marked: what its word is told by, and its digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    heads: [u16; HEADS],
    digest: [u8; DIGEST],
}

const DIGEST: usize = 10;
const RECORD: usize = 2 * HEADS + DIGEST;
/// Of more than so many the first are forgotten.
const MOST: usize = 1024;

impl Seen {
    /// `None` where it is too short.
    pub(crate) fn new(secret: &[u8], digest: [u8; 32]) -> Option<Seen> {
        let mut kept = [0; DIGEST];
        for (to, from) in kept.iter_mut().zip(digest.iter().skip(2)) {
            *to = *from;
        }
        Some(Seen { heads: Heads::of(secret)?, digest: kept })
    }

    fn bytes(self) -> impl Iterator<Item = u8> {
        self.heads.into_iter().flat_map(u16::to_be_bytes).chain(self.digest)
    }

    fn of(record: &[u8; RECORD]) -> Seen {
        let mut bytes = record.iter().copied();
        let mut next = || bytes.next().unwrap_or_default();
        let heads = [(); HEADS].map(|()| u16::from_be_bytes([next(), next()]));
        Seen { heads, digest: [(); DIGEST].map(|()| next()) }
    }
}

/// Whether a secret is one that a text does not hold by chance, and one word.
pub(crate) fn is_worth(secret: &[u8]) -> bool {
    is_odd(secret) && word_headed(secret, 0) == Some((0, secret.len()))
}

/// What this session has marked before.
pub(crate) fn read(world: &dyn World, file: &Path) -> Vec<Seen> {
    let bytes = world.read(file, MOST * RECORD).unwrap_or_default();
    let (records, _) = bytes.as_chunks::<RECORD>();
    records.iter().map(Seen::of).collect()
}

/// Keeps what has been marked now, if anything of it is new.
pub(crate) fn keep(
    file: &Path,
    mut before: Vec<Seen>,
    marked: &[Seen],
    write: &dyn Fn(&Path, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    // By a set: an output can be full of secrets, and a look through all of them for each takes seconds.
    let mut known: BTreeSet<Seen> = before.iter().copied().collect();
    let first_new = before.len();
    before.extend(marked.iter().copied().filter(|seen| known.insert(*seen)));
    if before.len() == first_new {
        return Ok(());
    }
    let first = before.len().saturating_sub(MOST);
    let bytes: Vec<u8> = before.iter().skip(first).flat_map(|seen| seen.bytes()).collect();
    write(file, &bytes)
}

/// The text without the words that have been marked before; `None` where it has none.
pub(crate) fn hide(
    text: &str,
    seen: &[Seen],
    digest: &dyn Fn(&[u8]) -> [u8; 32],
) -> Option<Scrubbed<String>> {
    if seen.is_empty() {
        return None;
    }
    let mut heads = Heads::default();
    for seen in seen {
        heads.add(seen.heads);
    }
    let (mut out, mut at, mut count) = (String::new(), 0, 0);
    heads.each(text.as_bytes(), |place| {
        let Some((from, to)) = word_headed(text.as_bytes(), place) else { return };
        let Some(word) = text.get(from..to).filter(|_| from >= at) else { return };
        if !is_odd(word.as_bytes()) || !seen.iter().any(|seen| Some(seen.heads) == Heads::of(word.as_bytes()))
        {
            return;
        }
        let digest = digest(word.as_bytes());
        if !Seen::new(word.as_bytes(), digest).is_some_and(|word| seen.contains(&word)) {
            return;
        }
        out.push_str(text.get(at..from).unwrap_or_default());
        let end = |_: &[u8]| u16::from_be_bytes([digest[0], digest[1]]);
        out.push_str(&Marks::Same(&end).secret(word.as_bytes()));
        (at, count) = (to, count + 1);
    });
    out.push_str(text.get(at..).unwrap_or_default());
    (count > 0).then_some(Scrubbed { text: out, count })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(word: &[u8]) -> [u8; 32] {
        let mut digest = [0; 32];
        digest.iter_mut().zip(word).for_each(|(to, from)| *to = *from);
        digest[2] ^= u8::try_from(word.len()).unwrap();
        digest
    }

    #[test]
    fn words_that_were_marked_are_hidden_and_no_others() {
        let seen = [Seen::new(b"q8Zr1LmW0xTf", digest(b"q8Zr1LmW0xTf")).unwrap()];
        let hidden = hide("{\"a\":\"using q8Zr1LmW0xTf, not q8Zr1LmW0xTfa\"}", &seen, &digest).unwrap();
        assert_eq!(hidden.text, "{\"a\":\"using [SECRET REDACTED]#7138, not q8Zr1LmW0xTfa\"}");
        assert_eq!(hide("nothing of it", &seen, &digest), None);
        assert!(is_worth(b"q8Zr1LmW0xTf") && !is_worth(b"production") && !is_worth(b"two words1"));
    }

    #[test]
    fn of_an_output_full_of_secrets_the_last_are_kept() {
        let seen = |number: u32| {
            let number = u64::from(number).to_be_bytes();
            Seen::new(&number, digest(&[&[0; 2][..], &number].concat())).unwrap()
        };
        // Each twice. With a look through all of them for each, this does not end.
        let marked: Vec<Seen> = (0..200_000).flat_map(|number| [seen(number), seen(number)]).collect();
        let written = std::cell::RefCell::new(Vec::new());
        let write = |_: &Path, bytes: &[u8]| -> io::Result<()> {
            bytes.clone_into(&mut written.borrow_mut());
            Ok(())
        };
        keep(Path::new("x"), vec![seen(7)], &marked, &write).unwrap();
        let written = written.borrow();
        assert_eq!(written.len(), MOST * RECORD);
        assert_eq!(written.last_chunk::<DIGEST>(), Some(&seen(199_999).digest));
        assert_eq!(written.get(2 * HEADS..RECORD), Some(&seen(200_000 - 1024).digest[..]));
        keep(Path::new("x"), vec![seen(1)], &[seen(1)], &|_, _| panic!("nothing is new")).unwrap();
    }
}
