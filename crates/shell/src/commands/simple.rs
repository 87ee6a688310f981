//! Simple commands: assignments, words and redirections.

use std::borrow::Cow;

use super::stays_the_same;
use crate::reader::{BREAK, Parser, Result, class, name_byte, name_start, push_bare, span};
use crate::words::Place;
use crate::{
    Assignment, Command, CommandKind, Descriptor, Part, Redirect, RedirectOperator, RedirectTarget, Value,
    Word,
};

impl<'s> Parser<'s> {
    /// `A=1 name word >file`
    pub(super) fn simple(&mut self) -> Result<Command<'s>> {
        let start = self.at;
        let mut end = start;
        let mut assignments = Vec::new();
        let mut words: Vec<Word<'s>> = Vec::new();
        let mut redirects = Vec::new();
        let mut place = Place::Argument;
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect()? {
                redirects.push(redirect);
            } else if words.is_empty() {
                let at = self.at;
                let mut parts = Vec::with_capacity(1);
                if let Some(assignment) = self.assignment(&mut parts)? {
                    assignments.push(assignment);
                } else {
                    self.word_parts(&mut parts, Place::Name)?;
                    if parts.is_empty() {
                        break;
                    }
                    if matches!(parts.as_slice(), [Part::Bare(name)] if declares(name)) {
                        place = Place::Declaration;
                    }
                    words.push(Word { span: span(at, self.at), parts });
                    end = self.at;
                    self.skip_blanks();
                    if self.byte(self.at) == b'(' {
                        return self.function_after(start, &assignments, words, &redirects);
                    }
                    continue;
                }
            } else {
                let word = self.word(place)?;
                if word.parts.is_empty() {
                    break;
                }
                words.push(word);
            }
            end = self.at;
        }
        if self.byte(self.at) == b'(' {
            return self.error("a parenthesis in a command");
        }
        if end == start {
            return self.error("a command is missing");
        }
        Ok(Command { span: span(start, end), kind: CommandKind::Simple { assignments, words }, redirects })
    }

    /// `name ( )` with what follows.
    fn function_after(
        &mut self,
        start: usize,
        assignments: &[Assignment<'s>],
        words: Vec<Word<'s>>,
        redirects: &[Redirect<'s>],
    ) -> Result<Command<'s>> {
        self.at += 1;
        self.skip_blanks();
        let name = words.into_iter().next().filter(|_| assignments.is_empty() && redirects.is_empty());
        match name {
            Some(name) if self.byte(self.at) == b')' => {
                self.at += 1;
                self.function_body(start, name)
            }
            _ => self.error("a parenthesis in a command"),
        }
    }

    /// `name=value`, if one stands here. Otherwise what was read of the word is in `parts`: bash reads a subscript
    /// to its end here, blanks and `;` included, even if no `=` follows.
    fn assignment(&mut self, parts: &mut Vec<Part<'s>>) -> Result<Option<Assignment<'s>>> {
        self.at = self.joined(self.at);
        let start = self.at;
        if !name_start(self.byte(start)) {
            return Ok(None);
        }
        let mut end = start;
        while name_byte(self.byte(end)) {
            end += 1;
        }
        let after = self.joined(end);
        if after != end {
            return self.broken_name(start, after);
        }
        let mut index = None;
        match self.byte(end) {
            b'[' => {
                self.at = end + 1;
                index = Some(self.subscript(false)?);
            }
            b'=' | b'+' => self.at = end,
            _ => return Ok(None),
        }
        let append = self.peek() == b'+' && self.peek_second() == b'=';
        if append {
            self.at = self.joined(self.at + 1);
        }
        if self.peek() != b'=' {
            match index {
                Some(index) => {
                    push_bare(parts, self.slice(start, end + 1));
                    parts.extend(index.parts);
                    push_bare(parts, "]");
                }
                None => self.at = start,
            }
            return Ok(None);
        }
        self.at += 1;
        let name = self.slice(start, end);
        let value = if self.peek() == b'(' {
            self.at += 1;
            let elements = self.elements()?;
            if class(self.byte(self.joined(self.at))) != BREAK || self.byte(self.at) == b'(' {
                return self.error("something right after an array");
            }
            Value::Array(elements)
        } else {
            Value::Word(self.word(Place::Argument)?)
        };
        Ok(Some(Assignment { span: span(start, self.at), name, index, append, value }))
    }

    /// A name that goes on in the next line is read as any word, unless it is assigned to: a name is borrowed.
    fn broken_name(&mut self, start: usize, mut at: usize) -> Result<Option<Assignment<'s>>> {
        while name_byte(self.byte(at)) {
            at = self.joined(at + 1);
        }
        let assigned = match self.byte(at) {
            b'=' | b'[' => true,
            b'+' => self.byte(self.joined(at + 1)) == b'=',
            _ => false,
        };
        if assigned {
            return self.error("a name that is broken over two lines");
        }
        self.at = start;
        Ok(None)
    }

    /// A redirection, if one stands here.
    pub(super) fn redirect(&mut self) -> Result<Option<Redirect<'s>>> {
        let start = self.at;
        // Nothing else can begin one.
        if !matches!(self.byte(start), b'<' | b'>' | b'&' | b'{' | b'0'..=b'9') {
            return Ok(None);
        }
        let (descriptor, at) = self.descriptor(start)?;
        let second = self.joined(at + 1);
        let third = self.joined(second + 1);
        let (operator, end) = match (self.byte(at), self.byte(second), self.byte(third)) {
            (b'<' | b'>', b'(', _) => return Ok(None),
            (b'<', b'<', b'<') => (RedirectOperator::HereString, third + 1),
            (b'<', b'<', b'-') => (RedirectOperator::HereDocument, third + 1),
            (b'<', b'<', _) => (RedirectOperator::HereDocument, second + 1),
            (b'<', b'&', _) => (RedirectOperator::DuplicateInput, second + 1),
            (b'<', b'>', _) => (RedirectOperator::ReadWrite, second + 1),
            (b'<', ..) => (RedirectOperator::Read, at + 1),
            (b'>', b'>', _) => (RedirectOperator::Append, second + 1),
            (b'>', b'&', _) => (RedirectOperator::DuplicateOutput, second + 1),
            (b'>', b'|', _) => (RedirectOperator::Clobber, second + 1),
            (b'>', ..) => (RedirectOperator::Write, at + 1),
            (b'&', b'>', b'>') if descriptor.is_none() => (RedirectOperator::AppendBoth, third + 1),
            (b'&', b'>', _) if descriptor.is_none() => (RedirectOperator::WriteBoth, second + 1),
            _ => return Ok(None),
        };
        self.at = end;
        let strip = operator == RedirectOperator::HereDocument && end == third + 1;
        self.skip_blanks();
        let duplicates =
            matches!(operator, RedirectOperator::DuplicateInput | RedirectOperator::DuplicateOutput);
        let target = if duplicates && self.byte(self.at) == b'-' {
            // `>&-` ends there: in `>&-rm`, `rm` is the next word.
            self.at += 1;
            let span = span(self.at - 1, self.at);
            RedirectTarget::Word(Word { span, parts: vec![Part::Bare(Cow::Borrowed("-"))] })
        } else {
            let word = self.some_word(Place::Argument, "a redirection without a target")?;
            if operator == RedirectOperator::HereDocument {
                self.here_document(&word, strip)?
            } else if duplicates && !stays_the_same(&word.parts) {
                // For a file after `>&` bash expands the word, and then what came out: `>&'$(rm)'` runs `rm`.
                return self.error("an expansion after `>&`");
            } else {
                RedirectTarget::Word(word)
            }
        };
        Ok(Some(Redirect { span: span(start, self.at), descriptor, operator, target }))
    }

    /// What stands before `<` or `>` here, and where those stand if they do.
    fn descriptor(&self, start: usize) -> Result<(Option<Descriptor<'s>>, usize)> {
        let mut at = start;
        match self.byte(start) {
            b'0'..=b'9' => {
                while self.byte(at).is_ascii_digit() {
                    at += 1;
                }
                let mut after = self.joined(at);
                while self.byte(after).is_ascii_digit() {
                    after = self.joined(after + 1);
                    if matches!(self.byte(after), b'<' | b'>') {
                        return self.error("a descriptor that is broken over two lines");
                    }
                }
                // What bash does not take for a number is a word.
                match self.slice(start, at).parse::<u32>() {
                    Ok(number) if i32::try_from(number).is_ok() => {
                        Ok((Some(Descriptor::Number(number)), after))
                    }
                    _ => Ok((None, start)),
                }
            }
            b'{' => {
                at = self.joined(at + 1);
                if !name_start(self.byte(at)) {
                    return Ok((None, start));
                }
                while name_byte(self.byte(at)) {
                    at = self.joined(at + 1);
                }
                if self.byte(at) == b'[' {
                    // `{a[0]}>`; blanks end the word, and with it this.
                    while class(self.byte(at)) != BREAK && self.byte(at) != b'}' {
                        at = self.joined(at + 1);
                    }
                }
                let after = self.joined(at + 1);
                if self.byte(at) != b'}' || !matches!(self.byte(after), b'<' | b'>') {
                    return Ok((None, start));
                }
                let name = self.slice(start + 1, at);
                if name.contains(['$', '`', '\\', '\'', '"']) {
                    return self.error("a descriptor that is more than a name");
                }
                Ok((Some(Descriptor::Variable(name)), after))
            }
            _ => Ok((None, start)),
        }
    }
}

/// The builtins after whose name `x=(…)` is an array.
pub(super) fn declares(name: &str) -> bool {
    matches!(name, "declare" | "local" | "export" | "readonly" | "typeset" | "alias" | "eval" | "let")
}
