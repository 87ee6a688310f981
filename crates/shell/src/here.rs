//! Here-documents: their bodies stand after the line, their redirections within it.

use std::borrow::Cow;

use crate::reader::{Parser, Result, push_quoted, span, span_at};
use crate::words::Quoting;
use crate::{
    Arithmetic, Assignment, Command, CommandKind, Element, Index, Item, List, Operation, Part, Redirect,
    RedirectTarget, Span, Value, Word,
};

/// A here-document whose body has not been read.
pub(crate) struct Pending {
    delimiter: String,
    /// Any part of the delimiter was quoted: nothing in the body is expanded.
    quoted: bool,
    /// `<<-`: tabs at the start of lines are taken off.
    strip: bool,
    /// The place of its body among [`Parser::bodies`].
    number: usize,
}

impl<'s> Parser<'s> {
    /// Notes a here-document with this delimiter; what stands in its redirection until [`Parser::place`] fills it.
    pub(crate) fn here_document(&mut self, word: &Word<'s>, strip: bool) -> Result<RedirectTarget<'s>> {
        let Some((delimiter, quoted)) = self.delimiter(word) else {
            return self.error("a delimiter of a here-document with an expansion");
        };
        let number = self.bodies.len();
        self.bodies.push(Word::default());
        self.pending.push(Pending { delimiter, quoted, strip, number });
        let span = Span { start: span_at(number), end: span_at(number) };
        Ok(RedirectTarget::Body(Word { span, parts: Vec::new() }))
    }

    /// The delimiter without its quotes, and whether it had any. `$x` in it is text.
    fn delimiter(&self, word: &Word<'s>) -> Option<(String, bool)> {
        let mut delimiter = String::new();
        let mut quoted = false;
        for part in &word.parts {
            match part {
                Part::Bare(text) => delimiter.push_str(text),
                Part::Quoted(text) => {
                    delimiter.push_str(text);
                    quoted = true;
                }
                Part::Double(parts) => {
                    for part in parts {
                        let Part::Quoted(text) = part else { return None };
                        delimiter.push_str(text);
                    }
                    quoted = true;
                }
                Part::Parameter(parameter) => {
                    let Span { start, end } = parameter.span;
                    delimiter.push_str(&self.text.get(start as usize..end as usize)?.replace("\\\n", ""));
                    if !matches!(parameter.operation, Operation::None) || parameter.index.is_some() {
                        return None;
                    }
                }
                _ => return None,
            }
        }
        Some((delimiter, quoted))
    }

    /// Reads the bodies of all that wait, right after a newline.
    pub(crate) fn read_bodies(&mut self) -> Result<()> {
        for pending in std::mem::take(&mut self.pending) {
            let body = self.body(&pending)?;
            if let Some(place) = self.bodies.get_mut(pending.number) {
                *place = body;
            }
        }
        Ok(())
    }

    fn body(&mut self, pending: &Pending) -> Result<Word<'s>> {
        let start = self.at;
        let mut end = start;
        // bash only warns where the text ends before the delimiter.
        let mut next = self.bytes.len();
        while end < self.bytes.len() {
            let (line_end, joined) = self.line_end(end, pending.quoted);
            if let Some(after) = self.after_delimiter(end, line_end, pending) {
                if after == line_end {
                    next = line_end + 1;
                    break;
                }
                // Inside of `$( )` bash ends it at `EOF)` and even at `EOFrm x)`, and reads on after the delimiter.
                if self.substituting && self.raw(after, line_end).contains(&b')') {
                    if joined {
                        self.at = end;
                        return self.error("a delimiter of a here-document that is broken over two lines");
                    }
                    next = after;
                    break;
                }
            }
            end = line_end + 1;
        }
        let end = end.min(self.bytes.len());
        let next = next.min(self.bytes.len());
        let parts = self.body_parts(start, end, pending)?;
        self.at = next;
        Ok(Word { span: span(start, end), parts })
    }

    /// Where the line ends. In an unquoted body a backslash joins it with the next before anything is compared.
    fn line_end(&self, from: usize, quoted: bool) -> (usize, bool) {
        let mut end = self.find(b'\n', from).unwrap_or(self.bytes.len());
        let mut joined = false;
        while !quoted && end < self.bytes.len() {
            let backslashes = self.raw(from, end).iter().rev().take_while(|&&byte| byte == b'\\').count();
            if backslashes % 2 == 0 {
                break;
            }
            joined = true;
            end = self.find(b'\n', end + 1).unwrap_or(self.bytes.len());
        }
        (end, joined)
    }

    /// The place in the line after the delimiter with which it begins.
    fn after_delimiter(&self, from: usize, end: usize, pending: &Pending) -> Option<usize> {
        let skip = |at: usize| if pending.quoted { at } else { self.joined(at) };
        let mut at = skip(from);
        while pending.strip && self.byte(at) == b'\t' {
            at = skip(at + 1);
        }
        for wanted in pending.delimiter.bytes() {
            if at >= end || self.byte(at) != wanted {
                return None;
            }
            at = skip(at + 1);
        }
        Some(at)
    }

    fn body_parts(&mut self, start: usize, end: usize, pending: &Pending) -> Result<Vec<Part<'s>>> {
        let mut parts = Vec::new();
        let text = self.slice(start, end);
        if pending.quoted || !text.bytes().any(|byte| matches!(byte, b'$' | b'`' | b'\\')) {
            if pending.strip {
                let lines = text.split_inclusive('\n').map(|line| line.trim_start_matches('\t'));
                parts.push(Part::Quoted(Cow::Owned(lines.collect())));
            } else {
                push_quoted(&mut parts, text);
            }
            return Ok(parts);
        }
        self.enter()?;
        let all = self.bytes;
        let outer = std::mem::take(&mut self.pending);
        self.bytes = all.get(..end).unwrap_or_default();
        self.at = start;
        self.here_parts(&mut parts, pending.strip)?;
        self.bytes = all;
        self.pending = outer;
        self.leave();
        Ok(parts)
    }

    /// The text up to the end of what may be read, as the body of a here-document.
    pub(crate) fn here_parts(&mut self, parts: &mut Vec<Part<'s>>, strip: bool) -> Result<()> {
        loop {
            let before = self.at;
            let known = parts.len();
            self.double_parts(parts, Quoting::Here)?;
            if self.byte(self.at) == b'`' {
                parts.push(self.backtick(false)?);
            } else if self.at == before {
                break;
            }
            self.check_rewritten(parts.get(known..).unwrap_or_default(), before, strip)?;
        }
        if strip {
            strip_tabs(parts);
        }
        Ok(())
    }

    /// bash joins lines and takes tabs off in the whole body before it reads what is in it. We read it as it stands,
    /// which comes to the same, unless an expansion holds a comment or a here-document of its own.
    fn check_rewritten(&self, parts: &[Part<'s>], from: usize, strip: bool) -> Result<()> {
        if parts.iter().all(|part| matches!(part, Part::Quoted(_))) {
            return Ok(());
        }
        let raw = self.raw(from, self.at);
        let has = |what: &[u8]| raw.windows(what.len()).any(|there| there == what);
        if (has(b"\\\n") && (has(b"#") || has(b"<<"))) || (strip && has(b"\n\t") && has(b"<<")) {
            return self.error("an expansion over several lines of a here-document");
        }
        Ok(())
    }
}

/// Takes the tabs off that stand at the start of a line.
fn strip_tabs(parts: &mut [Part<'_>]) {
    let mut line_start = true;
    for part in parts {
        if let Part::Quoted(text) = part {
            if line_start || text.contains("\n\t") {
                let mut stripped = String::with_capacity(text.len());
                for line in text.split_inclusive('\n') {
                    stripped.push_str(if line_start { line.trim_start_matches('\t') } else { line });
                    line_start = line.ends_with('\n');
                }
                *text = Cow::Owned(stripped);
            } else {
                line_start = text.ends_with('\n');
            }
        } else {
            line_start = false;
        }
    }
}

impl<'s> Parser<'s> {
    /// Puts the bodies that were read in the places of their redirections.
    pub(crate) fn place(&mut self, items: &mut [Item<'s>]) {
        if !self.bodies.is_empty() {
            Placing { bodies: &mut self.bodies }.items(items);
            self.bodies.clear();
        }
    }

    pub(crate) fn place_parts(&mut self, parts: &mut [Part<'s>]) {
        Placing { bodies: &mut self.bodies }.parts(parts);
    }
}

struct Placing<'b, 's> {
    bodies: &'b mut [Word<'s>],
}

impl<'s> Placing<'_, 's> {
    fn list(&mut self, list: &mut List<'s>) {
        self.items(&mut list.items);
    }

    fn items(&mut self, items: &mut [Item<'s>]) {
        for item in items {
            for pipeline in std::iter::once(&mut item.first).chain(item.rest.iter_mut().map(|(_, next)| next))
            {
                for command in &mut pipeline.commands {
                    self.command(command);
                }
            }
        }
    }

    fn command(&mut self, command: &mut Command<'s>) {
        match &mut command.kind {
            CommandKind::Simple { assignments, words } => {
                for assignment in assignments {
                    self.assignment(assignment);
                }
                self.words(words);
            }
            CommandKind::Group(list) | CommandKind::Subshell(list) => self.list(list),
            CommandKind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    self.list(condition);
                    self.list(body);
                }
                if let Some(list) = otherwise {
                    self.list(list);
                }
            }
            CommandKind::While { condition, body, .. } => {
                self.list(condition);
                self.list(body);
            }
            CommandKind::For { words, body, .. } => {
                self.words(words.as_deref_mut().unwrap_or_default());
                self.list(body);
            }
            CommandKind::ForArithmetic { clauses, body } => {
                for clause in clauses {
                    self.arithmetic(clause);
                }
                self.list(body);
            }
            CommandKind::Case { subject, arms } => {
                self.parts(&mut subject.parts);
                for arm in arms {
                    self.words(&mut arm.patterns);
                    self.list(&mut arm.body);
                }
            }
            CommandKind::Function { body, .. } | CommandKind::Coproc { body, .. } => self.command(body),
            CommandKind::Test(words) => self.words(words),
            CommandKind::Arithmetic(arithmetic) => self.arithmetic(arithmetic),
        }
        for redirect in &mut command.redirects {
            self.redirect(redirect);
        }
    }

    fn redirect(&mut self, redirect: &mut Redirect<'s>) {
        match &mut redirect.target {
            RedirectTarget::Word(word) => self.parts(&mut word.parts),
            RedirectTarget::Body(word) => {
                if let Some(body) = self.bodies.get_mut(word.span.start as usize) {
                    *word = std::mem::take(body);
                    self.parts(&mut word.parts);
                }
            }
        }
    }

    fn assignment(&mut self, assignment: &mut Assignment<'s>) {
        if let Some(index) = &mut assignment.index {
            self.arithmetic(index);
        }
        match &mut assignment.value {
            Value::Word(word) => self.parts(&mut word.parts),
            Value::Array(elements) => self.elements(elements),
        }
    }

    fn elements(&mut self, elements: &mut [Element<'s>]) {
        for element in elements {
            if let Some(index) = &mut element.index {
                self.arithmetic(index);
            }
            self.parts(&mut element.value.parts);
        }
    }

    fn arithmetic(&mut self, arithmetic: &mut Arithmetic<'s>) {
        self.parts(&mut arithmetic.parts);
    }

    fn words(&mut self, words: &mut [Word<'s>]) {
        for word in words {
            self.parts(&mut word.parts);
        }
    }

    fn parts(&mut self, parts: &mut [Part<'s>]) {
        for part in parts {
            match part {
                Part::Bare(_) | Part::Quoted(_) | Part::Backtick(_) => {}
                Part::Double(parts) => self.parts(parts),
                Part::Parameter(parameter) => {
                    if let Some(Index::At(index)) = &mut parameter.index {
                        self.arithmetic(index);
                    }
                    self.operation(&mut parameter.operation);
                }
                Part::Substitution(list) | Part::Process { list, .. } => self.list(list),
                Part::Arithmetic(arithmetic) => self.arithmetic(arithmetic),
                Part::ExtendedGlob { patterns, .. } => self.words(patterns),
                Part::Array(elements) => self.elements(elements),
            }
        }
    }

    fn operation(&mut self, operation: &mut Operation<'s>) {
        match operation {
            Operation::None
            | Operation::Length
            | Operation::Names
            | Operation::Keys
            | Operation::Transform(_) => {}
            Operation::Indirect(operation) => self.operation(operation),
            Operation::Default { word, .. } => self.parts(&mut word.parts),
            Operation::Strip { pattern, .. } | Operation::Case { pattern, .. } => {
                self.parts(&mut pattern.parts);
            }
            Operation::Replace { pattern, with, .. } => {
                self.parts(&mut pattern.parts);
                self.parts(&mut with.parts);
            }
            Operation::Slice { offset, length } => {
                self.arithmetic(offset);
                if let Some(length) = length {
                    self.arithmetic(length);
                }
            }
        }
    }
}
