//! A value that was marked once in a session is hidden wherever it appears later, even where nothing shows that it is a secret:
//! `DB_PASSWORD=x` in one output, and `using x` in the next.
//!
//! Only digests are kept, made with this person's key, in the state directory, which no agent may read. Two bytes beside each digest tell
//! nearly every other word from it at once: a text of 10 MB has a million words.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use toolgate_model::World;
use toolgate_secrets::{Marks, Scrubbed, is_odd, word_spans};

/// A secret that was marked: what its word is told by, and its digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    hash: u16,
    digest: [u8; DIGEST],
}

const DIGEST: usize = 10;
const RECORD: usize = 2 + DIGEST;
/// Of more than so many the first are forgotten.
const MOST: usize = 1024;

impl Seen {
    pub(crate) fn new(secret: &[u8], digest: [u8; 32]) -> Seen {
        let mut kept = [0; DIGEST];
        for (to, from) in kept.iter_mut().zip(digest.iter().skip(2)) {
            *to = *from;
        }
        Seen { hash: hash(secret), digest: kept }
    }
}

/// Whether a secret is one that a text does not hold by chance, and one word.
pub(crate) fn is_worth(secret: &[u8]) -> bool {
    is_odd(secret) && word_spans(secret).next() == Some((0, secret.len()))
}

fn hash(word: &[u8]) -> u16 {
    let hash = word.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let [first, second, ..] = hash.to_be_bytes();
    u16::from_be_bytes([first, second])
}

/// What this session has marked before.
pub(crate) fn read(world: &dyn World, file: &Path) -> Vec<Seen> {
    let bytes = world.read(file, MOST * RECORD).unwrap_or_default();
    let (records, _) = bytes.as_chunks::<RECORD>();
    records
        .iter()
        .map(|record| {
            let (hash, kept) = record.split_first_chunk::<2>().unwrap_or((&[0; 2], &[]));
            let mut digest = [0; DIGEST];
            digest.iter_mut().zip(kept).for_each(|(to, from)| *to = *from);
            Seen { hash: u16::from_be_bytes(*hash), digest }
        })
        .collect()
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
    let bytes: Vec<u8> = before
        .iter()
        .skip(first)
        .flat_map(|seen| seen.hash.to_be_bytes().into_iter().chain(seen.digest))
        .collect();
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
    let mut filter = vec![false; 1 << 16];
    for seen in seen {
        if let Some(slot) = filter.get_mut(usize::from(seen.hash)) {
            *slot = true;
        }
    }
    let (mut out, mut at, mut count) = (String::new(), 0, 0);
    for (from, to) in word_spans(text.as_bytes()) {
        let Some(word) = text.get(from..to) else { continue };
        if !filter.get(usize::from(hash(word.as_bytes()))).copied().unwrap_or_default()
            || !is_odd(word.as_bytes())
        {
            continue;
        }
        let digest = digest(word.as_bytes());
        if !seen.contains(&Seen::new(word.as_bytes(), digest)) {
            continue;
        }
        out.push_str(text.get(at..from).unwrap_or_default());
        let end = |_: &[u8]| u16::from_be_bytes([digest[0], digest[1]]);
        out.push_str(&Marks::Same(&end).secret(word.as_bytes()));
        (at, count) = (to, count + 1);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    (count > 0).then_some(Scrubbed { text: out, count })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(word: &[u8]) -> [u8; 32] {
        let mut digest = [0; 32];
        digest.iter_mut().zip(word).for_each(|(to, from)| *to = *from);
        digest
    }

    #[test]
    fn words_that_were_marked_are_hidden_and_no_others() {
        let seen = [Seen::new(b"q8Zr1LmW0xTf", digest(b"q8Zr1LmW0xTf"))];
        let hidden = hide("{\"a\":\"using q8Zr1LmW0xTf, not q8Zr1LmW0xTfa\"}", &seen, &digest).unwrap();
        assert_eq!(hidden.text, "{\"a\":\"using [SECRET REDACTED]#7138, not q8Zr1LmW0xTfa\"}");
        assert_eq!(hide("nothing of it", &seen, &digest), None);
        assert!(is_worth(b"q8Zr1LmW0xTf") && !is_worth(b"production") && !is_worth(b"two words1"));
    }

    #[test]
    fn of_an_output_full_of_secrets_the_last_are_kept() {
        let seen = |number: u32| {
            Seen::new(&number.to_be_bytes(), digest(&[&[0; 2][..], &number.to_be_bytes()].concat()))
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
        assert_eq!(written.get(2..RECORD), Some(&seen(200_000 - 1024).digest[..]));
        keep(Path::new("x"), vec![seen(1)], &[seen(1)], &|_, _| panic!("nothing is new")).unwrap();
    }
}
