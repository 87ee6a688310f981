//! What `patterns/*.toml` says, as the build has written it down: numbers and one text, nothing to be set up.

use crate::search::has;

/// A part of [`TEXT`]: where it begins and how long it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text(u32, u16);

impl Text {
    pub(crate) fn as_str(self) -> &'static str {
        let from = self.0 as usize;
        TEXT.get(from..from + usize::from(self.1)).unwrap_or_default()
    }
}

/// One kind of secret.
pub(crate) struct Pattern {
    pub(crate) id: Text,
    pub(crate) about: Text,
    pub(crate) mark: Text,
    /// Looked for whatever is set.
    pub(crate) core: bool,
    needs: u8,
    /// In hundredths of a bit for each byte.
    pub(crate) entropy: u16,
    shapes: (u16, u16),
}

impl Pattern {
    pub(crate) fn shapes(&self) -> &'static [Shape] {
        SHAPES.get(usize::from(self.shapes.0)..usize::from(self.shapes.1)).unwrap_or_default()
    }

    /// Whether what is not literal has a digit, a small and a capital letter, as far as they are asked for.
    pub(crate) fn is_satisfied_by(&self, digit: bool, lower: bool, upper: bool) -> bool {
        (self.needs & 1 == 0 || digit) && (self.needs & 2 == 0 || lower) && (self.needs & 4 == 0 || upper)
    }
}

/// How a secret is put together.
pub(crate) struct Shape {
    pattern: u16,
    steps: (u16, u16),
    /// The first of its steps that stay, since they are not secret.
    pub(crate) kept: u8,
    /// How far its anchor lies from its beginning.
    pub(crate) lead: u16,
    /// Its anchor is so short that chance writes it.
    pub(crate) is_short: bool,
}

impl Shape {
    pub(crate) fn steps(&self) -> &'static [Step] {
        STEPS.get(usize::from(self.steps.0)..usize::from(self.steps.1)).unwrap_or_default()
    }

    /// Whether it begins with nothing but a short word, as people write them into names and addresses too: `API-`.
    pub(crate) fn is_brief_word(&self) -> bool {
        let Some(Step::Literal(word)) = self.steps().first() else { return false };
        word.as_str()
            .strip_suffix('-')
            .is_some_and(|word| word.len() < 4 && !word.chars().any(|sign| !sign.is_ascii_uppercase()))
    }

    /// Whether it has so many parts that nobody writes anything else in this form, not even made up: `1PRK-ABCD-EFGH-…`.
    pub(crate) fn is_intricate(&self) -> bool {
        const PARTS: usize = 16;
        self.steps().len() >= PARTS
    }

    /// Whether it begins with so much that what follows is no name of a program: `sm_pat_`.
    pub(crate) fn is_named(&self) -> bool {
        const LONG: usize = 7;
        matches!(self.steps().first(), Some(Step::Literal(word)) if word.as_str().len() >= LONG)
    }

    /// Whether it begins with a word and a `_`, which base64 does not have beside `/` and `+`.
    pub(crate) fn is_parted(&self) -> bool {
        matches!(self.steps().first(), Some(Step::Literal(word)) if word.as_str().ends_with('_'))
    }

    /// Whether the first of its literals, one that chance does not write, stands here.
    pub(crate) fn begins(&self, text: &[u8]) -> bool {
        const TELLING: usize = 4;
        match self.steps().first() {
            Some(Step::Literal(word)) => {
                word.as_str().len() >= TELLING && text.starts_with(word.as_str().as_bytes())
            }
            _ => false,
        }
    }

    pub(crate) fn pattern(&self) -> Option<&'static Pattern> {
        PATTERNS.get(usize::from(self.pattern))
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Step {
    Literal(Text),
    /// The class, and how many of its bytes.
    Class(u8, u16, u16),
}

/// 256 bits, one for each byte.
pub(crate) type Class = [u64; 4];

pub(crate) const CLASS_COUNT: usize = CLASSES.len();

pub(crate) fn class(number: u8) -> Class {
    CLASSES.get(usize::from(number)).copied().unwrap_or_default()
}

pub(crate) fn holds(class: &Class, byte: u8) -> bool {
    class.get(usize::from(byte >> 6)).is_some_and(|bits| bits >> (byte & 63) & 1 == 1)
}

/// What begins where a literal stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// Perhaps a secret of this shape.
    Shape(u16),
    /// Perhaps the name of a secret.
    Name,
    /// `Bearer ` and kin.
    Scheme,
    /// The first line of a PEM block.
    PemBegin,
    /// Its last line.
    PemEnd,
    /// The first line of a PuTTY key.
    Putty,
    /// `IDENTIFIED BY `
    Sql,
    /// `-u `, `--user`
    User,
    /// A call that takes a user and a password.
    Pair,
    /// `-p `
    Option,
    /// `mysql `, whose password stands behind `-p` without a blank.
    Glued,
    /// `:5432:`
    Pgpass,
    /// `Cookie: `
    Cookie,
    /// `_live_`, `_pat_`: the middle of a token whose maker we need not know.
    Prefixed,
}

/// A literal by which something is found.
pub(crate) struct Literal {
    pub(crate) text: Text,
    pub(crate) anchor: Anchor,
}

/// A gram and the byte behind it, as far as both are the literal's, and the literal.
pub(crate) struct GramEntry {
    bytes: u32,
    mask: u32,
    anchor: u16,
    pub(crate) offset: u8,
}

impl GramEntry {
    pub(crate) fn literal(&self) -> Option<&'static Literal> {
        LITERALS.get(usize::from(self.anchor))
    }
}

/// Which slots of grams are in use.
pub(crate) static GRAMS: &[u8; crate::gram::SLOTS] = include_bytes!(concat!(env!("OUT_DIR"), "/grams.bin"));

#[expect(clippy::unreadable_literal, reason = "the build writes them, nobody reads them")]
mod made {
    use super::{Anchor, Class, GramEntry, Literal, Pattern, Shape, Step, Text};

    include!(concat!(env!("OUT_DIR"), "/patterns.rs"));
}
use made::{CLASSES, ENTRIES, EXAMPLES, GROUPS, LITERALS, NEAR, PATTERNS, SHAPES, STEPS, TEXT};
pub(crate) use made::{
    ENDINGS, FACTOR, HARMLESS, LONG_DOMAINS, MADE_UP, MAKERS, NAME_WORDS, NO_DOMAINS, PASSWORDS,
    PLACEHOLDER_PARTS, PLACEHOLDERS, REFERENCES, SAFE_DOMAINS, SAFE_LOCALS, SECRETS, URL_PLACEHOLDERS,
};

pub(crate) fn shape(number: u16) -> Option<&'static Shape> {
    SHAPES.get(usize::from(number))
}

/// The patterns that the value of this name may fit, by the makers' words in it. The name has no separators and no capitals.
pub(crate) fn near(name: &[u8]) -> impl Iterator<Item = &'static Pattern> {
    // Most words have a pair of letters that the name does not have.
    let pairs = crate::gram::pairs(name);
    let meant = NEAR
        .iter()
        .filter(move |(word, needed, _)| needed & !pairs == 0 && has(name, word.as_str().as_bytes()));
    meant.filter_map(|(_, _, pattern)| PATTERNS.get(usize::from(*pattern)))
}

/// All patterns, for those who list them.
pub(crate) fn patterns() -> &'static [Pattern] {
    &PATTERNS
}

/// Whether a maker prints this very text in its manual.
pub(crate) fn is_example(text: &[u8]) -> bool {
    // AWS writes the word into all of its own.
    EXAMPLES.iter().any(|example| example.as_str().as_bytes() == text) || has(text, b"EXAMPLE")
}

/// The literals that may have these four bytes, whose gram has this slot.
pub(crate) fn entries(slot: usize, bytes: u32) -> impl Iterator<Item = &'static GramEntry> {
    let group = crate::gram::group(slot);
    let bound = |number: usize| GROUPS.get(number).copied().map_or(0, usize::from);
    let group = ENTRIES.get(bound(group)..bound(group + 1)).unwrap_or_default();
    group.iter().filter(move |entry| bytes & entry.mask == entry.bytes)
}
