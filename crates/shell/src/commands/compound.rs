//! Compound commands: groups, loops, branches, tests, functions.

use std::borrow::Cow;

use super::Keyword;
use crate::reader::{Parser, Result, class, span};
use crate::words::Place;
use crate::{Arithmetic, Arm, ArmEnd, Command, CommandKind, List, Part, Word};

impl<'s> Parser<'s> {
    /// A compound command, if one begins here.
    pub(super) fn compound(&mut self) -> Result<Option<CommandKind<'s>>> {
        if self.byte(self.at) == b'(' {
            return self.parentheses().map(Some);
        }
        let Some((keyword, end)) = self.keyword() else { return Ok(None) };
        let before = std::mem::replace(&mut self.at, end);
        let kind = match keyword {
            Keyword::Brace => self.group(),
            Keyword::Case => self.case(),
            Keyword::For => self.for_loop(),
            Keyword::If => self.if_command(),
            Keyword::Select => self.for_words(true),
            Keyword::Test => self.test(),
            Keyword::Until => self.while_loop(true),
            Keyword::While => self.while_loop(false),
            _ => {
                self.at = before;
                return Ok(None);
            }
        };
        kind.map(Some)
    }

    fn group(&mut self) -> Result<CommandKind<'s>> {
        let list = self.some_list()?;
        self.expect(Keyword::BraceEnd, "`{` without `}`")?;
        Ok(CommandKind::Group(list))
    }

    /// `( … )`, or `(( … ))` where it ends in `))`.
    fn parentheses(&mut self) -> Result<CommandKind<'s>> {
        let open = self.at;
        let inner = self.joined(open + 1);
        if self.byte(inner) == b'(' && !self.known_parentheses(open) {
            self.at = inner + 1;
            let start = self.at;
            let parts = self.arithmetic_parts(b'(', b')', 0, false)?;
            if self.byte(self.at) != b')' {
                return self.error("`((` that is not closed");
            }
            if self.byte(self.at + 1) == b')' {
                let arithmetic = Arithmetic { span: span(start, self.at), parts };
                self.at += 2;
                return Ok(CommandKind::Arithmetic(arithmetic));
            }
            if self.joined_comment(open, self.at) {
                return self.error("`((` that bash could read in two ways");
            }
            self.note_parentheses(open, open)?;
        }
        self.at = open + 1;
        let documents = self.bodies.len();
        let list = self.some_list()?;
        if self.bodies.len() != documents && self.known_parentheses(open) {
            // bash reads the commands again, but the body from where it is by then.
            return self.error("a here-document in `((`");
        }
        if self.byte(self.at) != b')' {
            return self.error("`(` without `)`");
        }
        self.at += 1;
        Ok(CommandKind::Subshell(list))
    }

    fn if_command(&mut self) -> Result<CommandKind<'s>> {
        let mut branches = Vec::new();
        loop {
            let condition = self.some_list()?;
            self.expect(Keyword::Then, "`if` without `then`")?;
            branches.push((condition, self.some_list()?));
            if !self.take_keyword(Keyword::Elif) {
                break;
            }
        }
        let otherwise = if self.take_keyword(Keyword::Else) { Some(self.some_list()?) } else { None };
        self.expect(Keyword::Fi, "`if` without `fi`")?;
        Ok(CommandKind::If { branches, otherwise })
    }

    fn while_loop(&mut self, until: bool) -> Result<CommandKind<'s>> {
        let condition = self.some_list()?;
        self.expect(Keyword::Do, "a loop without `do`")?;
        let body = self.some_list()?;
        self.expect(Keyword::Done, "a loop without `done`")?;
        Ok(CommandKind::While { until, condition, body })
    }

    /// `do …; done`, or `{ …; }`
    fn loop_body(&mut self) -> Result<List<'s>> {
        if self.take_keyword(Keyword::Brace) {
            let body = self.some_list()?;
            self.expect(Keyword::BraceEnd, "`{` without `}`")?;
            return Ok(body);
        }
        self.expect(Keyword::Do, "a loop without `do`")?;
        let body = self.some_list()?;
        self.expect(Keyword::Done, "a loop without `done`")?;
        Ok(body)
    }

    fn for_loop(&mut self) -> Result<CommandKind<'s>> {
        self.skip_blanks();
        if self.byte(self.at) != b'(' {
            return self.for_words(false);
        }
        if self.peek_second() != b'(' {
            return self.error("`for` without a name");
        }
        self.at = self.joined(self.at + 1) + 1;
        let mut clauses: [Arithmetic<'s>; 3] = Default::default();
        let last = clauses.len() - 1;
        for (number, clause) in clauses.iter_mut().enumerate() {
            let start = self.at;
            let parts = self.arithmetic_parts(b'(', b')', b';', false)?;
            *clause = Arithmetic { span: span(start, self.at), parts };
            let wanted = if number == last { b')' } else { b';' };
            if self.byte(self.at) != wanted {
                return self.error("`for ((` that is not three expressions");
            }
            self.at += 1;
        }
        if self.byte(self.at) != b')' {
            return self.error("`for ((` that is not closed");
        }
        self.at += 1;
        self.skip_blanks();
        if self.byte(self.at) == b';' {
            self.at += 1;
        }
        self.skip_newlines()?;
        let body = self.loop_body()?;
        Ok(CommandKind::ForArithmetic { clauses, body })
    }

    /// `for x in a b`, after its reserved word.
    fn for_words(&mut self, select: bool) -> Result<CommandKind<'s>> {
        self.skip_blanks();
        let name = self.some_word(Place::Argument, "a loop without a name")?;
        let name = self.slice(name.span.start as usize, name.span.end as usize);
        self.skip_blanks();
        let mut words = None;
        if self.byte(self.at) == b';' {
            self.at += 1;
            self.skip_newlines()?;
        } else {
            self.skip_newlines()?;
            if self.take_keyword(Keyword::In) {
                let mut list = Vec::new();
                loop {
                    self.skip_blanks();
                    let word = self.word(Place::Argument)?;
                    if word.parts.is_empty() {
                        break;
                    }
                    list.push(word);
                }
                words = Some(list);
                match self.byte(self.at) {
                    b';' => self.at += 1,
                    b'\n' => {}
                    _ => return self.error("a loop whose words do not end"),
                }
                self.skip_newlines()?;
            }
        }
        let body = self.loop_body()?;
        Ok(CommandKind::For { name, words, body, select })
    }

    fn case(&mut self) -> Result<CommandKind<'s>> {
        self.skip_blanks();
        let subject = self.some_word(Place::Argument, "`case` without a word")?;
        self.skip_newlines()?;
        self.expect(Keyword::In, "`case` without `in`")?;
        let mut arms = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.take_keyword(Keyword::Esac) {
                return Ok(CommandKind::Case { subject, arms });
            }
            self.take(b'(');
            let mut patterns = Vec::new();
            loop {
                self.skip_blanks();
                patterns.push(self.some_word(Place::Argument, "`case` without a pattern")?);
                self.skip_blanks();
                let byte = self.byte(self.at);
                self.at += 1;
                match byte {
                    b'|' => {}
                    b')' => break,
                    _ => {
                        self.at -= 1;
                        return self.error("a pattern that does not end in `)`");
                    }
                }
            }
            let body = self.list()?;
            let end = match (self.byte(self.at), self.peek_second()) {
                (b';', b';') => {
                    self.at = self.joined(self.at + 1) + 1;
                    if self.take(b'&') { ArmEnd::TryNext } else { ArmEnd::Break }
                }
                (b';', b'&') => {
                    self.at = self.joined(self.at + 1) + 1;
                    ArmEnd::FallThrough
                }
                _ if self.take_keyword(Keyword::Esac) => {
                    arms.push(Arm { patterns, body, end: ArmEnd::Break });
                    return Ok(CommandKind::Case { subject, arms });
                }
                _ => return self.error("`case` without `esac`"),
            };
            arms.push(Arm { patterns, body, end });
        }
    }

    /// `[[ … ]]`, after its brackets.
    fn test(&mut self) -> Result<CommandKind<'s>> {
        let mut words: Vec<Word<'s>> = Vec::new();
        let mut place = Place::Argument;
        loop {
            self.skip_newlines()?;
            let start = self.at;
            let byte = self.byte(start);
            let second = self.peek_second();
            let length = match byte {
                0 => return self.error("`[[` without `]]`"),
                _ if place == Place::Regex => 0,
                b'&' | b'|' if second == byte => self.joined(start + 1) + 1 - start,
                b'(' | b')' => 1,
                b'<' | b'>' if second != b'(' => 1,
                b'!' if second == b'(' => 1,
                _ => 0,
            };
            if length > 0 {
                self.at += length;
                let text = match byte {
                    b'&' => "&&",
                    b'|' => "||",
                    _ => self.slice(start, self.at),
                };
                words.push(Word { span: span(start, self.at), parts: vec![Part::Bare(Cow::Borrowed(text))] });
                continue;
            }
            let word = self.some_word(place, "`[[ ]]` that cannot be read")?;
            place = Place::Argument;
            if let [Part::Bare(text)] = word.parts.as_slice() {
                match text.as_ref() {
                    "]]" if words.is_empty() => return self.error("an empty `[[ ]]`"),
                    "]]" => return Ok(CommandKind::Test(words)),
                    "=~" if !words.is_empty() => place = Place::Regex,
                    _ => {}
                }
            }
            words.push(word);
        }
    }

    /// A function from its name on.
    pub(super) fn function(&mut self, start: usize) -> Result<Command<'s>> {
        let name = self.some_word(Place::Name, "a function without a name")?;
        self.skip_blanks();
        if self.byte(self.at) == b'(' {
            let open = self.at;
            self.at += 1;
            self.skip_blanks();
            if self.byte(self.at) == b')' {
                self.at += 1;
            } else {
                self.at = open;
            }
        }
        self.function_body(start, name)
    }

    pub(super) fn function_body(&mut self, start: usize, mut name: Word<'s>) -> Result<Command<'s>> {
        self.skip_newlines()?;
        self.enter()?;
        let body_start = self.at;
        let Some(kind) = self.compound()? else {
            return self.error("a function without a body");
        };
        let body = self.redirected(body_start, kind)?;
        self.leave();
        let name = match (name.parts.pop(), name.parts.is_empty()) {
            (Some(Part::Bare(text)), true) => text,
            _ => Cow::Borrowed(self.slice(name.span.start as usize, name.span.end as usize)),
        };
        let span = span(start, body.span.end as usize);
        Ok(Command {
            span,
            kind: CommandKind::Function { name, body: Box::new(body) },
            redirects: Vec::new(),
        })
    }

    pub(super) fn coproc(&mut self, start: usize) -> Result<Command<'s>> {
        self.enter()?;
        self.skip_blanks();
        let mut name = None;
        let mut body_start = self.at;
        let mut kind = self.compound()?;
        if kind.is_none() {
            // A plain word with a compound command after it is a name.
            let mut end = self.at;
            while class(self.byte(end)) == 0 {
                end += 1;
            }
            if end > self.at && matches!(self.byte(end), b' ' | b'\t') {
                let word = self.slice(self.at, end);
                self.at = end;
                self.skip_blanks();
                let after = self.at;
                kind = self.compound()?;
                if kind.is_some() {
                    name = Some(word);
                    body_start = after;
                } else {
                    self.at = body_start;
                }
            }
        }
        let body = match kind {
            Some(kind) => self.redirected(body_start, kind)?,
            None if self.keyword().is_some() => return self.error("a reserved word after `coproc`"),
            None => self.simple()?,
        };
        self.leave();
        let span = span(start, body.span.end as usize);
        Ok(Command { span, kind: CommandKind::Coproc { name, body: Box::new(body) }, redirects: Vec::new() })
    }
}
