//! The tables that `build.rs` makes of `specs/*.toml`: numbers and one text, no pointers, so that the loader has nothing to
//! relocate.

use super::{Fixed, Output, WordKind};

/// A text in the table of texts: 20 bits for where it begins, 12 for its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Text(u32);

/// A run of items in a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) at: u16,
    pub(super) len: u16,
}

#[derive(Debug)]
pub(super) struct Opt {
    /// All spellings, with spaces between them.
    pub(super) names: Text,
    /// The place of its value's kinds.
    pub(super) kinds: u8,
    pub(super) takes: Takes,
    /// The place of what it changes.
    pub(super) more: u16,
}

/// Whether an option has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    No,
    Value,
    /// Two values of one kind each: the next two words.
    Pair,
    /// Only one that is written in the same word.
    Attached,
    /// One that is `key=value`, the keys of which are options that begin with its name and a colon.
    Keyed,
    /// It is such a key.
    Key,
}

/// What else an option changes.
#[derive(Debug)]
pub(super) struct More {
    pub(super) args: Option<Span>,
    pub(super) turns: Span,
    pub(super) effects: Span,
    pub(super) default: Span,
    pub(super) output: Option<Output>,
    pub(super) instead: bool,
    pub(super) ends: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Arg {
    pub(super) kinds: u8,
    pub(super) times: Times,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    One,
    Optional,
    Many,
}

/// A change of what operands mean, or of what an option's value means.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    pub(super) option: Text,
    pub(super) from: WordKind,
    pub(super) to: u8,
}

#[derive(Debug)]
pub(super) struct Stored {
    pub(super) what: What,
    pub(super) path: Text,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    Use(WordKind),
    Setting(WordKind),
    Connect,
    Project,
    RepoRead,
    RepoWrite,
    RepoData,
    Foreign,
    Unknown,
}

#[expect(clippy::unreadable_literal, reason = "they are read by the compiler alone")]
mod generated {
    use super::{Arg, More, Opt, Span, Stored, Takes, Text, Times, Turn, What};
    use crate::language::Language;
    use crate::spec::{Heeds, Output, Spec, WordKind};

    include!(concat!(env!("OUT_DIR"), "/specs.rs"));
}
pub(super) use generated::{ARGS, INDEX, MORES, OPTIONS, SPECS, TURNS};
use generated::{EFFECTS, KINDS, TEXT};

impl Opt {
    pub(super) fn is_spelled(&self, spelling: &str) -> bool {
        // Every word of a command is held against every option: bytes, and mostly only their number.
        let (mut names, spelling) = (self.names.str().as_bytes(), spelling.as_bytes());
        loop {
            // From here on none is long enough.
            let Some((name, behind)) = names.split_at_checked(spelling.len()) else { return false };
            if matches!(behind.first(), None | Some(b' ')) && name == spelling {
                return true;
            }
            let Some(blank) = names.iter().position(|byte| *byte == b' ') else { return false };
            names = names.get(blank + 1..).unwrap_or_default();
        }
    }

    /// Its value's place in `word` where one of its spellings ends in `*` and the word begins like it.
    pub(super) fn prefix(&self, word: &str) -> Option<usize> {
        let starts = self.names.words().filter_map(|name| name.strip_suffix('*'));
        starts.filter(|start| word.starts_with(start)).map(str::len).max()
    }
}

impl More {
    pub(super) const NONE: More = More {
        args: None,
        turns: Span { at: 0, len: 0 },
        effects: Span { at: 0, len: 0 },
        default: Span { at: 0, len: 0 },
        output: None,
        instead: false,
        ends: false,
    };
}

impl Text {
    pub(super) fn str(self) -> &'static str {
        let (at, len) = (self.0 as usize >> 12, self.0 as usize & 0xfff);
        TEXT.get(at..at + len).unwrap_or_default()
    }

    pub(super) fn words(self) -> impl Iterator<Item = &'static str> {
        self.str().split(' ')
    }

    pub(super) fn first(self) -> &'static str {
        self.words().next().unwrap_or_default()
    }
}

impl Span {
    pub(super) fn of<T>(self, table: &'static [T]) -> &'static [T] {
        let at = usize::from(self.at);
        table.get(at..at + usize::from(self.len)).unwrap_or_default()
    }
}

pub(super) fn kinds(place: u8) -> [WordKind; 3] {
    KINDS.get(usize::from(place)).copied().unwrap_or([WordKind::Text; 3])
}

pub(super) fn fixed(span: Span) -> impl Iterator<Item = Fixed> {
    span.of(&EFFECTS).iter().map(|stored| match stored.what {
        What::Use(kind) => Fixed::Use(kind, stored.path.str()),
        What::Setting(kind) => Fixed::Setting(kind, stored.path.str()),
        What::Connect => Fixed::Connect,
        What::Project => Fixed::Project,
        What::RepoRead => Fixed::RepoRead,
        What::RepoWrite => Fixed::RepoWrite,
        What::RepoData => Fixed::RepoData,
        What::Unknown => Fixed::Unknown,
        What::Foreign => Fixed::Foreign,
    })
}
