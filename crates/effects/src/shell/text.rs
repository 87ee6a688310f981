//! A text of which not all is known.
//!
//! What is not known stands in it as a mark, one character that Unicode has set aside as never meaning anything. So a
//! partly known text is cut, joined and compared like any other, and no piece of it can get lost on the way.

use std::fmt::Write as _;

use crate::budget;

/// A part of one name: no slash, not empty, and not the whole of `.` or `..`. A number, a hash, a date.
pub(crate) const NAME: char = '\u{fdd0}';
/// Digits: a number that is not known. A name that holds no code either.
pub(crate) const NUMBER: char = '\u{fdd6}';
/// A text without a slash of which nothing more is known: it may be empty, and it may be `..`. A piece of a name.
pub(crate) const PIECE: char = '\u{fdd7}';
/// A path that leads down: names and slashes, nothing that climbs. May be empty.
pub(crate) const INNER: char = '\u{fdd1}';
/// Anything at all, or nothing.
pub(crate) const ANY: char = crate::recipes::HOLE;
/// An unquoted `*`, to be matched against the disk.
pub(crate) const STAR: char = '\u{fdd3}';
/// An unquoted `?`.
pub(crate) const ONE: char = '\u{fdd4}';
/// An unquoted `[` that begins a class; the class follows as it is written.
pub(crate) const CLASS: char = '\u{fdd5}';

/// Behind [`INNER`]: what stands there holds no blank, so that nothing takes it apart. The name of a branch.
pub(crate) const UNBROKEN: char = '\u{fde8}';
/// Behind [`NAME`]: the command has made the directory itself, under a name that nothing else had (`mktemp -d`).
pub(crate) const OWN: char = '\u{fde9}';
/// The first of the marks behind [`INNER`] that say: what stands there is a regular file, and no link leads to it. Each belongs to
/// one directory, below which it was found; see `links`.
const FIRST_SOLID: u32 = 0xfdd8;
/// So many directories have a mark.
pub(crate) const MAX_SOLID: usize = 16;

/// The mark of the directory with this number.
pub(crate) fn solid_mark(number: usize) -> Option<char> {
    let number = u32::try_from(number).ok().filter(|_| number < MAX_SOLID)?;
    char::from_u32(FIRST_SOLID + number)
}

/// The number of the directory that a mark belongs to.
pub(crate) fn solid_number(mark: char) -> Option<usize> {
    let number = usize::try_from(u32::from(mark).checked_sub(FIRST_SOLID)?).ok()?;
    (number < MAX_SOLID).then_some(number)
}

/// What stands between fields, unless somebody says otherwise.
pub(crate) const BLANKS: &str = " \t\n";

/// Longer texts are not put together.
const MAX_TEXT: usize = 128 * 1024;
/// Longer ones are not even read.
const MAX_READ: usize = 256 * 1024;

/// What a text may hold that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hides {
    /// Digits at most.
    Nothing,
    /// Facts of the system, or names of files, which have any letters but a slash.
    Names,
    /// Anything.
    Anything,
}

/// A text of which not all is known. Whoever makes, copies, compares or looks through one pays for it; once nothing is left,
/// every new text is anything.
#[derive(Debug, Default, Eq, PartialOrd, Ord)]
pub(crate) struct Text(String);

impl Clone for Text {
    fn clone(&self) -> Text {
        if Text::paid(self.0.len()) { Text(self.0.clone()) } else { Text::any() }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        if self.0.len() == other.0.len() {
            budget::pay(self.0.len() / 16);
        }
        self.0 == other.0
    }
}

/// Whether a character is one of the marks.
pub(crate) fn is_mark(c: char) -> bool {
    matches!(c, '\u{fdd0}'..='\u{fdef}')
}

impl Text {
    /// A text that is known. What looks like a mark in it counts as anything, so that nobody can write a mark.
    pub(crate) fn known(text: &str) -> Text {
        if !Text::paid(text.len()) {
            return Text::any();
        }
        Text(if text.contains(is_mark) { text.replace(is_mark, "\u{fdd2}") } else { text.to_owned() })
    }

    /// The same with names in place of patterns: what a pattern has found, and what was then made another name.
    pub(crate) fn unmatched(&self) -> Text {
        let is_pattern = |letter: char| matches!(letter, STAR | ONE | CLASS);
        if !self.0.contains(is_pattern) {
            return self.clone();
        }
        let mut named = String::with_capacity(self.0.len());
        let mut letters = self.0.chars();
        while let Some(letter) = letters.next() {
            if letter == CLASS {
                // The first letter of a class may be its last sign.
                if matches!(letters.next(), Some('!' | '^')) {
                    letters.next();
                }
                letters.by_ref().find(|letter| *letter == ']');
            }
            if is_pattern(letter) {
                // With a dot before it, it may be `..` as a whole.
                let climbs =
                    named.ends_with('.') && !named.trim_end_matches('.').ends_with(|c: char| c != '/');
                named.push(if climbs { PIECE } else { NAME });
            } else {
                named.push(letter);
            }
        }
        Text::marked(named)
    }

    /// Nothing is known of it.
    pub(crate) fn any() -> Text {
        Text(ANY.into())
    }

    /// A single mark.
    pub(crate) fn mark(mark: char) -> Text {
        Text(mark.into())
    }

    /// A text that may hold marks on purpose.
    pub(crate) fn marked(text: String) -> Text {
        if Text::paid(text.len()) { Text(text) } else { Text::any() }
    }

    /// Pays for a new text. `false` where it is too long, or nothing is left to pay with.
    fn paid(length: usize) -> bool {
        budget::pay(budget::COPY + length);
        length <= MAX_READ && !budget::is_spent()
    }

    /// With its marks. Whoever asks looks through it.
    pub(crate) fn raw(&self) -> &str {
        budget::pay(self.0.len() / 4);
        &self.0
    }

    /// All of it, if all of it is known.
    pub(crate) fn whole(&self) -> Option<&str> {
        budget::pay(self.0.len() / 4);
        (!self.0.contains(is_mark)).then_some(self.0.as_str())
    }

    pub(crate) fn is_known(&self) -> bool {
        self.whole().is_some()
    }

    /// What it may hold beside what is known of it, for whoever evaluates it.
    pub(crate) fn hides(&self) -> Hides {
        let of = |letter: char| match letter {
            ANY => Hides::Anything,
            NAME | PIECE | INNER | UNBROKEN | STAR | ONE | CLASS => Hides::Names,
            // Numbers, what says more of the mark before it, and what is known.
            _ => Hides::Nothing,
        };
        self.raw().chars().map(of).max().unwrap_or(Hides::Nothing)
    }

    /// Whether anything could stand somewhere in it.
    pub(crate) fn has_any(&self) -> bool {
        self.0.contains(ANY)
    }

    /// What is known at its beginning.
    pub(crate) fn head(&self) -> &str {
        self.0.split(is_mark).next().unwrap_or_default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds to its end; beyond all bounds it becomes anything.
    pub(crate) fn push(&mut self, other: &Text) {
        self.push_raw(&other.0);
    }

    pub(crate) fn push_raw(&mut self, other: &str) {
        budget::pay(other.len());
        if self.0.len() + other.len() > MAX_TEXT || budget::is_spent() {
            self.0.clear();
            self.0.push(ANY);
        } else {
            self.0.push_str(other);
        }
    }

    pub(crate) fn push_mark(&mut self, mark: char) {
        self.0.push(mark);
    }

    /// What is left behind the first `skip` bytes.
    pub(crate) fn skip(&self, skip: usize) -> Text {
        Text::marked(self.0.get(skip..).unwrap_or_default().to_owned())
    }

    /// For people: what is not known is `…`.
    pub(crate) fn shown(&self) -> String {
        budget::pay(budget::COPY + self.0.len());
        let mut shown = String::with_capacity(self.0.len());
        for c in self.0.chars() {
            match c {
                STAR => shown.push('*'),
                ONE => shown.push('?'),
                CLASS => shown.push('['),
                c if matches!(c, UNBROKEN | OWN) || solid_number(c).is_some() => {}
                c if is_mark(c) => shown.push('…'),
                c => {
                    let _ = shown.write_char(c);
                }
            }
        }
        shown
    }

    /// The text with its glob characters meaning themselves: what bash leaves where nothing matches.
    pub(crate) fn unglobbed(&self) -> Text {
        if !self.0.contains([STAR, ONE, CLASS]) {
            return self.clone();
        }
        Text::marked(self.0.replace(STAR, "*").replace(ONE, "?").replace(CLASS, "["))
    }
}

/// A text with a piece exchanged for another, the first time or each time that it stands there. `None`: longer than any text
/// that is followed, and so never made.
pub(crate) fn replaced(text: &str, piece: &str, with: &str, all: bool) -> Option<String> {
    let count = text.matches(piece).take(if all { usize::MAX } else { 1 }).count();
    budget::pay(text.len());
    let length = count.checked_mul(with.len())?.checked_add(text.len())?;
    (length <= MAX_READ).then(|| text.replacen(piece, with, count))
}

/// The texts that a word may have, one of them at a time.
pub(crate) type Choices = Vec<Text>;

/// More choices than this are one: anything.
pub(crate) const MAX_CHOICES: usize = 16;

/// The choices of two branches.
pub(crate) fn either(one: &Choices, other: &Choices) -> Choices {
    let mut all = one.clone();
    all.extend(other.iter().filter(|text| !one.contains(text)).cloned());
    bounded(all)
}

/// The text, where there is but one.
pub(crate) fn one_of(choices: Choices) -> Text {
    let mut choices = choices.into_iter();
    match (choices.next(), choices.next()) {
        (Some(only), None) => only,
        _ => Text::any(),
    }
}

/// Collapses what has become too many.
pub(crate) fn bounded(choices: Choices) -> Choices {
    if choices.len() > MAX_CHOICES { vec![Text::any()] } else { choices }
}

/// What a command prints, or reads.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Flow {
    /// Nothing.
    #[default]
    Nothing,
    /// This text.
    Text(Text),
    /// Any number of lines, each one of these.
    Lines(Choices),
    /// Anything.
    Any,
    /// What a build tool made: project code.
    Built,
}

impl Flow {
    pub(crate) fn line(text: &Text) -> Flow {
        let mut line = text.clone();
        line.push_raw("\n");
        Flow::Text(line)
    }

    /// One flow after another.
    #[must_use]
    pub(crate) fn then(self, next: Flow) -> Flow {
        match (self, next) {
            (Flow::Nothing, flow) | (flow, Flow::Nothing) => flow,
            (Flow::Text(mut one), Flow::Text(two)) => {
                one.push(&two);
                Flow::Text(one)
            }
            (Flow::Any | Flow::Built, _) | (_, Flow::Any | Flow::Built) => Flow::Any,
            (one, two) => match (one.lines(), two.lines()) {
                (Some(one), Some(two)) => Flow::Lines(either(&one, &two)),
                _ => Flow::Any,
            },
        }
    }

    /// One flow or another.
    #[must_use]
    pub(crate) fn or(self, other: &Flow) -> Flow {
        if self == *other {
            return self;
        }
        // One line or another, or none: as lines they can be told apart; longer texts cannot.
        let short = |flow: &Flow| match flow {
            Flow::Text(text) => text.raw().trim_end_matches('\n').lines().count() <= 1,
            Flow::Nothing | Flow::Lines(_) => true,
            Flow::Any | Flow::Built => false,
        };
        if !short(&self) || !short(other) {
            return Flow::Any;
        }
        match (self.lines(), other.lines()) {
            (Some(one), Some(two)) => Flow::Lines(either(&one, &two)),
            _ => Flow::Any,
        }
    }

    /// Its lines, where each can be told.
    pub(crate) fn lines(&self) -> Option<Choices> {
        match self {
            Flow::Nothing => Some(Vec::new()),
            Flow::Any | Flow::Built => None,
            Flow::Lines(lines) => Some(lines.clone()),
            Flow::Text(text) if text.has_any() => None,
            Flow::Text(text) => {
                let lines: Choices = text
                    .raw()
                    .lines()
                    .take(MAX_CHOICES * 4 + 1)
                    .map(|line| Text::marked(line.to_owned()))
                    .collect();
                (lines.len() <= MAX_CHOICES * 4).then_some(lines)
            }
        }
    }

    /// Its text, where that can be told.
    pub(crate) fn whole(&self) -> Option<&str> {
        match self {
            Flow::Nothing => Some(""),
            Flow::Text(text) => text.whole(),
            Flow::Lines(_) | Flow::Any | Flow::Built => None,
        }
    }

    /// What `$( )` makes of it.
    pub(crate) fn substituted(&self) -> Choices {
        match self {
            Flow::Nothing => vec![Text::default()],
            Flow::Text(text) => vec![Text::marked(text.0.trim_end_matches('\n').to_owned())],
            Flow::Lines(lines) if lines.is_empty() => vec![Text::default()],
            // Any number of lines may be none.
            Flow::Lines(lines) => either(&bounded(lines.clone()), &vec![Text::default()]),
            Flow::Any | Flow::Built => vec![Text::any()],
        }
    }
}

/// The same, patterns as they are: they may still match.
pub(super) fn spaced_as_is(words: &[Text]) -> Text {
    let mut text = Text::default();
    for (place, word) in words.iter().enumerate() {
        if place > 0 {
            text.push_raw(" ");
        }
        text.push(word);
    }
    text
}

/// Words as one text with blanks between.
pub(super) fn spaced(words: &[Text]) -> Text {
    let mut text = Text::default();
    for (place, word) in words.iter().enumerate() {
        if place > 0 {
            text.push_raw(" ");
        }
        text.push(&word.unglobbed());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{CLASS, NAME, ONE, PIECE, STAR, Text};

    #[test]
    fn what_a_pattern_has_found_is_a_name_once_it_is_changed() {
        for (pattern, named) in [
            (format!("{STAR}.json"), format!("{NAME}.json")),
            (format!("d/{ONE}x"), format!("d/{NAME}x")),
            (format!("{CLASS}a-z]b"), format!("{NAME}b")),
            (format!("{CLASS}]a]b"), format!("{NAME}b")),
            (format!("{CLASS}!]a]b"), format!("{NAME}b")),
            (format!(".{STAR}"), format!(".{PIECE}")),
            (format!("d/.{ONE}"), format!("d/.{PIECE}")),
            (format!("a.{STAR}"), format!("a.{NAME}")),
            ("plain".to_owned(), "plain".to_owned()),
        ] {
            assert_eq!(Text::marked(pattern.clone()).unmatched().raw(), named, "{pattern:?}");
        }
    }
}
