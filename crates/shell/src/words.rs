//! Words: quotes, substitutions, patterns, array literals.

use std::borrow::Cow;

use crate::ansi;
use crate::reader::{BREAK, Parser, Result, class, name_byte, name_start, push_bare, push_quoted, span};
use crate::{Arithmetic, Element, List, Operation, Parameter, Part, Word};

/// Where a word stands, which decides what may be part of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The first of a command: `f@()` is the head of a function, not a pattern.
    Name,
    Argument,
    /// An argument of `declare` and its kin: `x=(…)` is an array.
    Declaration,
    /// After `=~`: parentheses and bars are part of the word.
    Regex,
}

/// What surrounds an expansion.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quoting {
    None,
    Double,
    /// The body of a here-document: like `Double`, but bash sees it only when it expands it.
    Here,
    /// `(( ))` and subscripts: like `Double` in what is expanded.
    Arithmetic,
}

/// A stretch between single quotes inside of double quotes or arithmetic.
///
/// bash pairs the quotes up while it looks for the end of `${…}` or `$((…))`, and later expands what is between them
/// all the same. So a bracket in there closes nothing, and `$(…)` in there runs.
#[derive(Default)]
pub(crate) struct Stretch {
    /// Where it closes; 0 outside of one.
    end: usize,
}

impl Stretch {
    pub(crate) fn inside(&self) -> bool {
        self.end != 0
    }

    /// At a `'`: the stretch begins or ends here.
    pub(crate) fn quote(&mut self, parser: &Parser<'_>) -> Result<()> {
        self.end = if self.end == parser.at {
            0
        } else {
            match parser.find(b'\'', parser.at + 1) {
                Some(end) => end,
                None => return parser.error("a single quote that is not closed"),
            }
        };
        Ok(())
    }

    /// After an expansion. One that reaches over the closing quote means two things to bash.
    pub(crate) fn check(&self, parser: &Parser<'_>) -> Result<()> {
        if self.inside() && parser.at > self.end {
            return parser.error("single quotes that overlap with an expansion");
        }
        Ok(())
    }
}

impl<'s> Parser<'s> {
    /// A word, which begins here. Empty where something that ends words follows.
    pub(crate) fn word(&mut self, place: Place) -> Result<Word<'s>> {
        self.at = self.joined(self.at);
        let start = self.at;
        let mut parts = Vec::new();
        self.word_parts(&mut parts, place)?;
        Ok(Word { span: span(start, self.at), parts })
    }

    /// A word that has to be there.
    pub(crate) fn some_word(&mut self, place: Place, what: &'static str) -> Result<Word<'s>> {
        let word = self.word(place)?;
        if word.parts.is_empty() { self.error(what) } else { Ok(word) }
    }

    pub(crate) fn word_parts(&mut self, parts: &mut Vec<Part<'s>>, place: Place) -> Result<()> {
        loop {
            let start = self.at;
            while class(self.byte(self.at)) == 0 {
                self.at += 1;
            }
            let byte = self.byte(self.at);
            if byte == b'(' && self.at > start && self.extended_glob_here(place) {
                push_bare(parts, self.slice(start, self.at - 1));
                let operator = self.byte(self.at - 1);
                self.at += 1;
                parts.push(self.extended_glob(operator)?);
                continue;
            }
            push_bare(parts, self.slice(start, self.at));
            match byte {
                b'<' | b'>' if self.peek_second() == b'(' => parts.push(self.process()?),
                b'(' if place == Place::Regex => self.regex_group(parts)?,
                b'|' if place == Place::Regex => {
                    push_bare(parts, "|");
                    self.at += 1;
                }
                b'(' if place == Place::Declaration && ends_in_assignment(parts) => {
                    self.at += 1;
                    let elements = self.elements()?;
                    parts.push(Part::Array(elements));
                }
                _ if class(byte) == BREAK => return Ok(()),
                _ => self.special(parts)?,
            }
        }
    }

    /// A quote, backslash, backtick or `$` outside of quotes.
    fn special(&mut self, parts: &mut Vec<Part<'s>>) -> Result<()> {
        match self.byte(self.at) {
            b'\\' => {
                let next = self.at + 1;
                match self.byte(next) {
                    b'\n' => self.at += 2,
                    0 => {
                        push_bare(parts, "\\");
                        self.at += 1;
                    }
                    _ => {
                        self.at = next + self.width(next);
                        push_quoted(parts, self.slice(next, self.at));
                    }
                }
            }
            b'\'' => parts.push(self.single()?),
            b'"' => {
                self.at += 1;
                parts.push(self.double(true)?);
            }
            b'`' => parts.push(self.backtick(false)?),
            _ => match self.peek_second() {
                b'\'' => {
                    self.at = self.joined(self.at + 1);
                    parts.push(self.ansi()?);
                }
                b'"' => {
                    self.at = self.joined(self.at + 1) + 1;
                    parts.push(self.double(true)?);
                }
                _ => self.dollar(parts, Quoting::None)?,
            },
        }
        Ok(())
    }

    /// `'…'`, at its first quote.
    pub(crate) fn single(&mut self) -> Result<Part<'s>> {
        let start = self.at + 1;
        let Some(end) = self.find(b'\'', start) else {
            return self.error("a single quote that is not closed");
        };
        self.at = end + 1;
        Ok(Part::Quoted(Cow::Borrowed(self.slice(start, end))))
    }

    /// `$'…'`, at its first quote.
    pub(crate) fn ansi(&mut self) -> Result<Part<'s>> {
        let start = self.at + 1;
        let mut end = start;
        loop {
            match self.byte(end) {
                0 => return self.error("a quote `$'` that is not closed"),
                b'\'' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        self.at = end + 1;
        Ok(Part::Quoted(ansi::decode(self.slice(start, end))))
    }

    /// `$'…'` where bash decodes it and then reads the result once more, as in `"${x:-$'\x24(rm)'}"`.
    ///
    /// Only what cannot mean anything the second time is let through.
    pub(crate) fn ansi_read_twice(&mut self, parts: &mut Vec<Part<'s>>) -> Result<()> {
        let start = self.at;
        self.at = self.joined(self.at + 1);
        let part = self.ansi()?;
        let Part::Quoted(text) = &part else { return Ok(()) };
        // `$a$'b'` is `$ab` to bash.
        let after_name =
            matches!(parts.last(), Some(Part::Parameter(_))) && self.byte(start.wrapping_sub(1)) != b'}';
        let special = |byte: u8| {
            matches!(byte, b'$' | b'`' | b'\\' | b'"' | b'\'' | b'{' | b'}' | b'(' | b')' | b'[' | b']')
        };
        if after_name
            || text.bytes().any(special)
            || self.slice(start + 2, self.at - 1).contains(['$', '`', '"'])
        {
            return self.error("a quote `$'` whose content bash would read again");
        }
        parts.push(part);
        Ok(())
    }

    /// The inside of `"…"` and its end. `strip`: whether `\"` in backticks loses its backslash.
    pub(crate) fn double(&mut self, strip: bool) -> Result<Part<'s>> {
        self.enter()?;
        let mut parts = Vec::new();
        loop {
            self.double_parts(&mut parts, Quoting::Double)?;
            match self.byte(self.at) {
                b'"' => break,
                b'`' => parts.push(self.backtick(strip)?),
                _ => return self.error("a double quote that is not closed"),
            }
        }
        self.at += 1;
        self.leave();
        Ok(Part::Double(parts))
    }

    /// Text in which `$`, backslash and backtick mean something; stops at a backtick, a `"`, or the end.
    pub(crate) fn double_parts(&mut self, parts: &mut Vec<Part<'s>>, quoting: Quoting) -> Result<()> {
        let mut start = self.at;
        loop {
            while !matches!(self.byte(self.at), 0 | b'"' | b'\\' | b'$' | b'`') {
                self.at += 1;
            }
            match self.byte(self.at) {
                b'"' if quoting == Quoting::Here => self.at += 1,
                b'\\' => {
                    let next = self.byte(self.at + 1);
                    let escaped = match next {
                        b'$' | b'`' | b'\\' | b'\n' => true,
                        b'"' => quoting != Quoting::Here,
                        _ => false,
                    };
                    if escaped {
                        push_quoted(parts, self.slice(start, self.at));
                        start = self.at + 1 + usize::from(next == b'\n');
                    }
                    self.at += if next == 0 { 1 } else { 1 + self.width(self.at + 1) };
                }
                b'$' => {
                    push_quoted(parts, self.slice(start, self.at));
                    self.dollar(parts, quoting)?;
                    start = self.at;
                }
                _ => {
                    push_quoted(parts, self.slice(start, self.at));
                    return Ok(());
                }
            }
        }
    }

    /// `` `…` ``, at its first backtick, with one layer of backslashes taken off.
    pub(crate) fn backtick(&mut self, strip: bool) -> Result<Part<'s>> {
        let mut command = String::new();
        let mut start = self.at + 1;
        let mut at = start;
        loop {
            match self.byte(at) {
                0 => return self.error("a backtick that is not closed"),
                b'`' => break,
                b'\\' => {
                    let next = self.byte(at + 1);
                    if matches!(next, b'$' | b'`' | b'\\' | b'\n') || (strip && next == b'"') {
                        command.push_str(self.slice(start, at));
                        start = at + 1 + usize::from(next == b'\n');
                    }
                    at += 2;
                }
                _ => at += 1,
            }
        }
        command.push_str(self.slice(start, at));
        self.at = at + 1;
        Ok(Part::Backtick(command))
    }

    /// An expansion at `$`, or the character itself. `$'` and `$"` are the caller's.
    pub(crate) fn dollar(&mut self, parts: &mut Vec<Part<'s>>, quoting: Quoting) -> Result<()> {
        let start = self.at;
        let next = self.joined(start + 1);
        let byte = self.byte(next);
        let end = match byte {
            b'(' => {
                self.at = next;
                parts.push(self.parenthesis()?);
                return Ok(());
            }
            b'{' => {
                self.at = next + 1;
                self.enter()?;
                let part = self.brace(start, quoting)?;
                self.leave();
                parts.push(part);
                return Ok(());
            }
            b'[' => {
                self.at = next + 1;
                parts.push(self.old_arithmetic()?);
                return Ok(());
            }
            b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' | b'0'..=b'9' => next + 1,
            _ if name_start(byte) => self.name_end(next)?,
            _ => {
                self.at = start + 1;
                match quoting {
                    Quoting::Double | Quoting::Here => push_quoted(parts, "$"),
                    Quoting::None | Quoting::Arithmetic => push_bare(parts, "$"),
                }
                return Ok(());
            }
        };
        self.at = end;
        let name = self.slice(next, end);
        let span = span(start, end);
        parts.push(Part::Parameter(Box::new(Parameter {
            span,
            name,
            index: None,
            operation: Operation::None,
        })));
        Ok(())
    }

    /// Where the name that begins here ends. A name is borrowed from the text, so it cannot be broken over lines.
    pub(crate) fn name_end(&self, mut at: usize) -> Result<usize> {
        while name_byte(self.byte(at)) {
            at += 1;
        }
        let joined = self.joined(at);
        if joined != at && name_byte(self.byte(joined)) {
            return self.error("a name that is broken over two lines");
        }
        Ok(at)
    }

    /// `$(…)` or `$((…))`, at the first parenthesis.
    fn parenthesis(&mut self) -> Result<Part<'s>> {
        let open = self.at;
        let inner = self.joined(open + 1);
        if self.byte(inner) != b'(' {
            self.at = open + 1;
            return Ok(Part::Substitution(self.substitution(b')')?));
        }
        // As bash: arithmetic if it ends in `))` and its parentheses pair up, else a command after all.
        if self.known_parentheses(open) {
            self.at = open + 1;
            return Ok(Part::Substitution(self.substitution(b')')?));
        }
        self.enter()?;
        self.at = inner + 1;
        let parts = self.arithmetic_parts(b'(', b')', 0, true)?;
        let end = self.at;
        if self.byte(end) != b')' {
            return self.error("`$((` that is not closed");
        }
        if self.byte(end + 1) == b')' {
            match self.even(inner + 1, end, b'(', false) {
                Some(true) => {
                    self.at = end + 2;
                    self.leave();
                    return Ok(Part::Arithmetic(Arithmetic { span: span(inner + 1, end), parts }));
                }
                Some(false) => self.at = end + 2,
                None => return self.error("parentheses that cannot be counted"),
            }
        } else {
            self.at = end + 1;
            self.arithmetic_parts(b'(', b')', 0, true)?;
            if !self.take(b')') {
                return self.error("`$((` that is not closed");
            }
        }
        self.leave();
        let list = self.counted_substitution(open)?;
        Ok(Part::Substitution(list))
    }

    /// Commands whose end bash has found by counting: it is here, and they begin after the parenthesis at `open`.
    fn counted_substitution(&mut self, open: usize) -> Result<List<'s>> {
        let end = self.at;
        let documents = self.bodies.len();
        self.note_parentheses(open, open + 1)?;
        let list = self.substitution(b')')?;
        if self.at != end || self.bodies.len() != documents {
            return self.error("`((` that bash could read in two ways");
        }
        Ok(list)
    }

    /// The commands of `$(…)` or `${ …; }`, after its opening, and its end.
    pub(crate) fn substitution(&mut self, close: u8) -> Result<List<'s>> {
        self.enter()?;
        // A here-document of the line around is not read at a newline in here.
        let pending = std::mem::take(&mut self.pending);
        let substituting = std::mem::replace(&mut self.substituting, true);
        let list = self.list()?;
        if self.byte(self.at) != close {
            return self.error("a command substitution that is not closed");
        }
        if !self.pending.is_empty() {
            // bash takes the rest of the line for its body.
            return self.error("a here-document without a body");
        }
        self.at += 1;
        self.pending = pending;
        self.substituting = substituting;
        self.leave();
        Ok(list)
    }

    /// `<(…)` or `>(…)`
    pub(crate) fn process(&mut self) -> Result<Part<'s>> {
        let writes = self.byte(self.at) == b'>';
        let open = self.joined(self.at + 1);
        let inner = self.joined(open + 1);
        self.at = open + 1;
        let list = if self.byte(inner) == b'(' && !self.known_parentheses(open) {
            // bash looks for its end as if this were `$((`.
            self.enter()?;
            self.arithmetic_parts(b'(', b')', 0, true)?;
            if !self.take(b')') {
                return self.error("a process substitution that is not closed");
            }
            self.leave();
            self.counted_substitution(open)?
        } else {
            self.substitution(b')')?
        };
        Ok(Part::Process { writes, list })
    }

    /// `$[…]`, after its bracket.
    fn old_arithmetic(&mut self) -> Result<Part<'s>> {
        self.enter()?;
        let start = self.at;
        let parts = self.arithmetic_parts(b'[', b']', 0, false)?;
        if self.byte(self.at) != b']' {
            return self.error("`$[` that is not closed");
        }
        // bash 5.2 counts the brackets inside of `$(…)` too.
        if self.even(start, self.at, b'[', true) != Some(true) {
            return self.error("brackets that cannot be counted");
        }
        let arithmetic = Arithmetic { span: span(start, self.at), parts };
        self.at += 1;
        self.leave();
        Ok(Part::Arithmetic(arithmetic))
    }

    /// Whether the parenthesis here, after a bare character, opens `@(…)`.
    fn extended_glob_here(&self, place: Place) -> bool {
        let operator = matches!(self.byte(self.at - 1), b'?' | b'*' | b'+' | b'@' | b'!');
        operator && !(place == Place::Name && self.byte(self.at + 1) == b')')
    }

    /// `@(a|b)`, after its parenthesis.
    fn extended_glob(&mut self, operator: u8) -> Result<Part<'s>> {
        self.enter()?;
        let mut patterns = Vec::new();
        loop {
            let start = self.at;
            let mut parts = Vec::new();
            self.counted_parts(&mut parts, true)?;
            patterns.push(Word { span: span(start, self.at), parts });
            match self.byte(self.at) {
                b'|' => self.at += 1,
                _ => break,
            }
        }
        self.at += 1;
        self.leave();
        Ok(Part::ExtendedGlob { operator, patterns })
    }

    /// `(…)` within a regular expression, at its parenthesis.
    fn regex_group(&mut self, parts: &mut Vec<Part<'s>>) -> Result<()> {
        push_bare(parts, "(");
        self.at += 1;
        self.counted_parts(parts, false)?;
        push_bare(parts, ")");
        self.at += 1;
        Ok(())
    }

    /// What stands between parentheses that bash only counts; up to the closing one, or to a bar.
    fn counted_parts(&mut self, parts: &mut Vec<Part<'s>>, bars: bool) -> Result<()> {
        let mut level = 0u32;
        loop {
            let start = self.at;
            while class(self.byte(self.at)) == 0 {
                self.at += 1;
            }
            let byte = self.byte(self.at);
            if byte == b'(' && bars && self.at > start && self.extended_glob_here(Place::Argument) {
                push_bare(parts, self.slice(start, self.at - 1));
                let operator = self.byte(self.at - 1);
                self.at += 1;
                parts.push(self.extended_glob(operator)?);
                continue;
            }
            push_bare(parts, self.slice(start, self.at));
            match byte {
                0 => return self.error("a parenthesis that is not closed"),
                b'|' if bars && level == 0 => return Ok(()),
                b'<' | b'>' if self.peek_second() == b'(' => {
                    let before = self.at;
                    parts.push(self.process()?);
                    if self.even(before, self.at, b'(', true) != Some(true) {
                        return self.error("parentheses that cannot be counted");
                    }
                    continue;
                }
                b')' if level == 0 => return Ok(()),
                b'(' => level += 1,
                b')' => level -= 1,
                _ if class(byte) == BREAK => {}
                _ => {
                    let before = self.at;
                    self.special(parts)?;
                    if byte == b'$' && self.even(before, self.at, b'(', true) != Some(true) {
                        return self.error("parentheses that cannot be counted");
                    }
                    continue;
                }
            }
            push_bare(parts, self.slice(self.at, self.at + 1));
            self.at += 1;
        }
    }

    /// The elements of `x=(…)`, after its parenthesis, and its end.
    pub(crate) fn elements(&mut self) -> Result<Vec<Element<'s>>> {
        self.enter()?;
        let mut elements = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.take(b')') {
                break;
            }
            let start = self.at;
            let mut parts = Vec::new();
            let mut index = None;
            if self.byte(start) == b'[' {
                self.at += 1;
                let subscript = self.subscript(false)?;
                let append = self.peek() == b'+' && self.peek_second() == b'=';
                self.at += usize::from(append);
                if self.take(b'=') {
                    index = Some(subscript);
                } else if append {
                    return self.error("an array element that cannot be read");
                } else {
                    push_bare(&mut parts, "[");
                    parts.extend(subscript.parts);
                    push_bare(&mut parts, "]");
                }
            }
            let value_start = if index.is_some() { self.at } else { start };
            self.word_parts(&mut parts, Place::Argument)?;
            if self.at == start {
                return self.error("an array element that cannot be read");
            }
            elements.push(Element { index, value: Word { span: span(value_start, self.at), parts } });
        }
        self.leave();
        Ok(elements)
    }
}

/// Whether what was read of a word is `name=`, `name+=` or `name[…]=`.
fn ends_in_assignment(parts: &[Part<'_>]) -> bool {
    let [Part::Bare(text)] = parts else { return false };
    let Some(left) = text.strip_suffix('=') else { return false };
    let left = left.strip_suffix('+').unwrap_or(left);
    let name = match left.split_once('[') {
        Some((name, index)) if index.ends_with(']') => name,
        Some(_) => return false,
        None => left,
    };
    name.bytes().next().is_some_and(name_start) && name.bytes().all(name_byte)
}
