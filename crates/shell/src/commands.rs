//! The grammar: lists and pipelines. Its two halves are [`compound`] and [`simple`] commands.

mod compound;
mod simple;

use std::borrow::Cow;

use crate::reader::{BREAK, Parser, Result, class, span};
use crate::{
    Command, CommandKind, Connector, Descriptor, Item, List, Operation, Parsed, Part, Pipeline, Redirect,
    RedirectOperator, RedirectTarget, Word,
};

/// The reserved words, where bash takes them for such.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keyword {
    Bang,
    Brace,
    BraceEnd,
    Case,
    Coproc,
    Do,
    Done,
    Elif,
    Else,
    Esac,
    Fi,
    For,
    Function,
    If,
    In,
    Select,
    Test,
    Then,
    Time,
    Until,
    While,
}

impl Keyword {
    fn of(word: &[u8]) -> Option<Keyword> {
        Some(match word {
            b"!" => Keyword::Bang,
            b"{" => Keyword::Brace,
            b"}" => Keyword::BraceEnd,
            b"case" => Keyword::Case,
            b"coproc" => Keyword::Coproc,
            b"do" => Keyword::Do,
            b"done" => Keyword::Done,
            b"elif" => Keyword::Elif,
            b"else" => Keyword::Else,
            b"esac" => Keyword::Esac,
            b"fi" => Keyword::Fi,
            b"for" => Keyword::For,
            b"function" => Keyword::Function,
            b"if" => Keyword::If,
            b"in" => Keyword::In,
            b"select" => Keyword::Select,
            b"[[" => Keyword::Test,
            b"then" => Keyword::Then,
            b"time" => Keyword::Time,
            b"until" => Keyword::Until,
            b"while" => Keyword::While,
            _ => return None,
        })
    }

    /// Ends a list; never begins a command.
    fn closes(self) -> bool {
        matches!(
            self,
            Keyword::BraceEnd
                | Keyword::Do
                | Keyword::Done
                | Keyword::Elif
                | Keyword::Else
                | Keyword::Esac
                | Keyword::Fi
                | Keyword::Then
        )
    }
}

/// Whether this comes out the same when it is expanded twice: plain text, or a variable, whose value is not ours to know.
fn stays_the_same(parts: &[Part<'_>]) -> bool {
    parts.iter().all(|part| match part {
        Part::Bare(text) | Part::Quoted(text) => !text.contains(['$', '`', '\\']),
        Part::Double(parts) => stays_the_same(parts),
        Part::Parameter(parameter) => parameter.operation == Operation::None,
        _ => false,
    })
}

impl<'s> Parser<'s> {
    /// All of the text. bash runs each line before it reads the next, so an error takes only its own line away.
    pub(crate) fn script(mut self) -> Parsed<'s> {
        let mut items = Vec::new();
        loop {
            let complete = items.len();
            let line = self.line(&mut items);
            if let Err(error) = line {
                items.truncate(complete);
                return Parsed { list: List { items }, error: Some(error) };
            }
            self.place(items.get_mut(complete..).unwrap_or_default());
            if self.at >= self.bytes.len() {
                return Parsed { list: List { items }, error: None };
            }
        }
    }

    /// One line, with everything that its commands go on to.
    fn line(&mut self, items: &mut Vec<Item<'s>>) -> Result<()> {
        self.skip_newlines()?;
        while self.at < self.bytes.len() {
            let mut item = self.item()?;
            self.skip_blanks();
            let end = self.byte(self.at);
            item.background = end == b'&';
            items.push(item);
            match end {
                b'&' | b';' => self.at += 1,
                b'\n' => return self.newline(),
                0 => return Ok(()),
                _ => return self.error("something that no command begins with"),
            }
            self.skip_blanks();
            if self.byte(self.at) == b'\n' {
                return self.newline();
            }
        }
        Ok(())
    }

    /// Commands up to something that ends them, which the caller has to know.
    pub(crate) fn list(&mut self) -> Result<List<'s>> {
        let mut items = Vec::new();
        self.skip_newlines()?;
        while !self.at_list_end() {
            let mut item = self.item()?;
            self.skip_blanks();
            let byte = self.byte(self.at);
            let second = self.peek_second();
            let separated = match byte {
                b'\n' => true,
                b'&' => {
                    item.background = true;
                    self.at += 1;
                    true
                }
                b';' if !matches!(second, b';' | b'&') => {
                    self.at += 1;
                    true
                }
                _ => false,
            };
            items.push(item);
            if !separated {
                break;
            }
            self.skip_newlines()?;
        }
        Ok(List { items })
    }

    /// Commands of which there has to be one.
    fn some_list(&mut self) -> Result<List<'s>> {
        let list = self.list()?;
        if list.items.is_empty() { self.error("a command is missing") } else { Ok(list) }
    }

    fn at_list_end(&self) -> bool {
        match self.byte(self.at) {
            0 | b')' | b';' => true,
            _ => self.keyword().is_some_and(|(keyword, _)| keyword.closes()),
        }
    }

    /// The reserved word here, if the whole word is one, and where it ends.
    fn keyword(&self) -> Option<(Keyword, usize)> {
        // Most commands begin with something that none of them begins with.
        if !matches!(self.byte(self.at), b'a'..=b'z' | b'{' | b'}' | b'!' | b'[' | b'\\') {
            return None;
        }
        let mut word = [0u8; 8];
        let mut length = 0;
        let mut at = self.joined(self.at);
        while class(self.byte(at)) != BREAK {
            *word.get_mut(length)? = self.byte(at);
            length += 1;
            at = self.joined(at + 1);
        }
        Some((Keyword::of(word.get(..length)?)?, at))
    }

    fn take_keyword(&mut self, wanted: Keyword) -> bool {
        match self.keyword() {
            Some((keyword, end)) if keyword == wanted => {
                self.at = end;
                true
            }
            _ => false,
        }
    }

    fn expect(&mut self, wanted: Keyword, what: &'static str) -> Result<()> {
        if self.take_keyword(wanted) { Ok(()) } else { self.error(what) }
    }

    /// `a && b || c`
    fn item(&mut self) -> Result<Item<'s>> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.skip_blanks();
            let connector = match (self.byte(self.at), self.peek_second()) {
                (b'&', b'&') => Connector::And,
                (b'|', b'|') => Connector::Or,
                _ => return Ok(Item { first, rest, background: false }),
            };
            self.at = self.joined(self.at + 1) + 1;
            self.skip_newlines()?;
            rest.push((connector, self.pipeline()?));
        }
    }

    /// `! time a | b`
    fn pipeline(&mut self) -> Result<Pipeline<'s>> {
        let mut pipeline = Pipeline { negated: false, timed: false, commands: Vec::with_capacity(1) };
        let mut bare = false;
        loop {
            self.skip_blanks();
            match self.keyword() {
                Some((Keyword::Bang, end)) => {
                    // With `extglob` on this would be a pattern, and the files that it matches the command.
                    if self.byte(end) == b'(' && self.mentions_extglob() {
                        return self.error("`!(` where `extglob` may be on");
                    }
                    pipeline.negated = !pipeline.negated;
                    self.at = end;
                }
                Some((Keyword::Time, end)) => {
                    pipeline.timed = true;
                    self.at = end;
                    self.time_options();
                }
                _ => break,
            }
            bare = true;
        }
        if bare && matches!(self.byte(self.at), 0 | b'\n' | b';' | b'&' | b')' | b'|') {
            if matches!(self.byte(self.at), 0 | b'\n' | b';' | b')') {
                return Ok(pipeline);
            }
            return self.error("a command is missing");
        }
        loop {
            pipeline.commands.push(self.command()?);
            self.skip_blanks();
            if self.byte(self.at) != b'|' || self.peek_second() == b'|' {
                return Ok(pipeline);
            }
            self.at += 1;
            if self.peek() == b'&' {
                self.at += 1;
                self.both_outputs(&mut pipeline);
            }
            self.skip_newlines()?;
            if matches!(self.keyword(), Some((Keyword::Bang, _))) {
                return self.error("`!` after `|`");
            }
        }
    }

    /// `time -p --`
    fn time_options(&mut self) {
        for letter in *b"p-" {
            self.skip_blanks();
            let second = self.joined(self.at + 1);
            let end = self.joined(second + 1);
            if self.byte(self.at) == b'-' && self.byte(second) == letter && class(self.byte(end)) == BREAK {
                self.at = end;
            }
        }
    }

    /// `|&` is `2>&1 |`.
    fn both_outputs(&self, pipeline: &mut Pipeline<'s>) {
        let Some(command) = pipeline.commands.last_mut() else { return };
        let span = span(self.at - 1, self.at);
        let word = Word { span, parts: vec![Part::Bare(Cow::Borrowed("1"))] };
        command.redirects.push(Redirect {
            span,
            descriptor: Some(Descriptor::Number(2)),
            operator: RedirectOperator::DuplicateOutput,
            target: RedirectTarget::Word(word),
        });
    }

    fn command(&mut self) -> Result<Command<'s>> {
        self.enter()?;
        self.skip_blanks();
        let start = self.at;
        let command = match self.compound()? {
            Some(kind) => self.redirected(start, kind)?,
            None => match self.keyword() {
                Some((Keyword::Function, end)) => {
                    self.at = end;
                    self.skip_blanks();
                    self.function(start)?
                }
                Some((Keyword::Coproc, end)) => {
                    self.at = end;
                    self.coproc(start)?
                }
                Some((keyword, _)) if keyword.closes() || keyword == Keyword::Bang => {
                    return self.error("a reserved word where a command should begin");
                }
                _ => self.simple()?,
            },
        };
        self.leave();
        Ok(command)
    }

    /// A compound command with the redirections after it.
    fn redirected(&mut self, start: usize, kind: CommandKind<'s>) -> Result<Command<'s>> {
        let mut end = self.at;
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => break,
            }
            end = self.at;
        }
        // What follows must end the command; a word here is an error, but a reserved word may close what is around.
        let closes = class(self.byte(self.at)) == BREAK && self.byte(self.at) != b'(';
        if !closes && !self.keyword().is_some_and(|(keyword, _)| keyword.closes()) {
            return self.error("a word after a compound command");
        }
        Ok(Command { span: span(start, end), kind, redirects })
    }
}
