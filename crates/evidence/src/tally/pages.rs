//! The file of a tally: a mark and two pages of counts.
//!
//! Each write of counts is a generation, one more than the last, and goes to the page that holds the older one. A
//! process that is killed in the middle leaves one half-written page, and the other is whole. The mark says which
//! record was about to be written on top of which generation.
//!
//! A page and the mark have the same form: format, generation, length, checksum, content.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::session_counts::SessionCounts;
use crate::Digest;

/// Which format this is. Another one cannot be read, and is counted anew.
const FORMAT: [u8; 8] = *b"tally 1\n";

/// How long the content of a page can be.
pub(super) const LARGEST: usize = 128 * 1024;

const HEADER: usize = 32;
const MARK: u64 = 0;
const PAGES: [u64; 2] = [128, 128 + (HEADER + LARGEST) as u64];

/// What is read of a page at once: nearly always all of it.
const WINDOW: usize = 8 * 1024;

/// The record that was about to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// Where its line is in its file of the ledger.
    pub(super) offset: u64,
    /// How long the line is, its newline included.
    pub(super) length: usize,
    /// Of the line.
    pub(super) digest: Digest,
}

/// What a tally's file says.
#[derive(Debug)]
pub(super) enum State {
    /// These counts; and a record may have been written that they do not hold.
    Known(Page),
    /// Nothing that could be read.
    Unreadable,
}

/// The newest counts.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) generation: u64,
    pub(super) counts: SessionCounts,
    pub(super) mark: Option<Mark>,
}

pub(super) fn read(file: &File) -> io::Result<State> {
    let start = window(file, MARK)?;
    if start.is_empty() {
        return Ok(State::Known(Page::default()));
    }
    let mark: Option<(u64, Mark)> = Header::of(&start).and_then(|header| header.content(&start));
    let [first, second] = PAGES;
    let offset = usize::try_from(first - MARK).map_err(io::Error::other)?;
    let mut pages = Vec::with_capacity(2);
    for (at, bytes) in [(first, start.get(offset..).unwrap_or_default()), (second, &window(file, second)?)] {
        if let Some(header) = Header::of(bytes) {
            pages.push((at, header, bytes.to_vec()));
        }
    }
    pages.sort_by_key(|(_, header, _)| std::cmp::Reverse(header.generation));
    for (at, header, mut bytes) in pages {
        if bytes.len() < header.end() {
            bytes.resize(header.end(), 0);
            match file.read_exact_at(&mut bytes, at) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => continue,
                result => result?,
            }
        }
        if let Some((generation, counts)) = header.content(&bytes) {
            let mark = mark.filter(|(marked, _)| *marked == generation).map(|(_, mark)| mark);
            return Ok(State::Known(Page { generation, counts, mark }));
        }
    }
    // Before the first counts are written there is a mark alone.
    Ok(match mark {
        Some((0, mark)) => State::Known(Page { mark: Some(mark), ..Page::default() }),
        _ => State::Unreadable,
    })
}

/// Says which record is about to be written on top of this generation.
pub(super) fn write_mark(file: &File, generation: u64, mark: Mark) -> io::Result<()> {
    file.write_all_at(&framed(generation, &mark)?, MARK)
}

/// Writes the counts of this generation, in the place of the one before the last.
pub(super) fn write_page(file: &File, generation: u64, counts: &SessionCounts) -> io::Result<()> {
    let [even, odd] = PAGES;
    file.write_all_at(&framed(generation, counts)?, if generation.is_multiple_of(2) { even } else { odd })
}

/// Begins again with these counts. Until they stand there, the file is not empty and cannot be read, so that nobody
/// takes it for a new one.
pub(super) fn rewrite(file: &File, counts: &SessionCounts) -> io::Result<u64> {
    const FIRST: u64 = 1;
    file.set_len(1)?;
    write_page(file, FIRST, counts)?;
    Ok(FIRST)
}

/// Up to a window's length of what is at this offset.
fn window(file: &File, offset: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; WINDOW];
    let read = loop {
        match file.read_at(&mut bytes, offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => break result?,
        }
    };
    bytes.truncate(read);
    Ok(bytes)
}

/// What precedes a content.
#[derive(Debug, Clone, Copy)]
struct Header {
    generation: u64,
    length: usize,
    checksum: u64,
}

impl Header {
    fn of(bytes: &[u8]) -> Option<Header> {
        let (format, rest) = bytes.split_first_chunk()?;
        let (generation, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (checksum, _) = rest.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        (*format == FORMAT && length <= LARGEST).then_some(Header {
            generation: u64::from_le_bytes(*generation),
            length,
            checksum: u64::from_le_bytes(*checksum),
        })
    }

    fn end(self) -> usize {
        HEADER + self.length
    }

    /// The generation and the content, if they are what was written.
    fn content<T: DeserializeOwned>(self, bytes: &[u8]) -> Option<(u64, T)> {
        let content = bytes.get(HEADER..self.end())?;
        let is_whole = checksum(self.generation, content) == self.checksum;
        let (content, rest) = is_whole.then(|| postcard::take_from_bytes(content).ok()).flatten()?;
        // What another build has written may end elsewhere.
        rest.is_empty().then_some((self.generation, content))
    }
}

fn framed(generation: u64, content: &impl Serialize) -> io::Result<Vec<u8>> {
    let content = postcard::to_allocvec(content).map_err(io::Error::other)?;
    let mut bytes = Vec::with_capacity(HEADER + content.len());
    bytes.extend(FORMAT);
    bytes.extend(generation.to_le_bytes());
    bytes.extend((content.len() as u64).to_le_bytes());
    bytes.extend(checksum(generation, &content).to_le_bytes());
    bytes.extend(content);
    Ok(bytes)
}

/// FNV-1a, eight bytes at a time: against half-written pages, not against a person.
fn checksum(generation: u64, content: &[u8]) -> u64 {
    let step = |sum: u64, word: u64| {
        let mixed = (sum ^ word).wrapping_mul(0x0100_0000_01b3);
        // Multiplying alone carries nothing downwards.
        mixed ^ (mixed >> 32)
    };
    let (words, rest) = content.as_chunks();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
    [generation, content.len() as u64].into_iter().chain(words).fold(0xcbf2_9ce4_8422_2325, step)
}
