//! The grammar: lists, pipelines, compound and simple commands, redirections.

use std::borrow::Cow;

use crate::reader::{BREAK, Parser, Result, class, name_byte, name_start, push_bare, span};
use crate::words::Place;
use crate::{
    Arithmetic, Arm, ArmEnd, Assignment, Command, Connector, Descriptor, Item, Kind, List, Parsed, Part,
    Pipeline, Redirect, RedirectOperator, RedirectTarget, Value, Word,
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

/// The builtins after whose name `x=(…)` is an array.
fn declares(name: &str) -> bool {
    matches!(name, "declare" | "local" | "export" | "readonly" | "typeset" | "alias" | "eval" | "let")
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
        let mut pipeline = Pipeline { negated: false, timed: false, commands: Vec::new() };
        let mut bare = false;
        loop {
            self.skip_blanks();
            match self.keyword() {
                Some((Keyword::Bang, end)) => {
                    // With `extglob` on this would be a pattern, and the files that it matches the command.
                    if self.byte(end) == b'(' && self.text.contains("extglob") {
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
        for option in [b"-p".as_slice(), b"--"] {
            self.skip_blanks();
            let end = self.at + option.len();
            if self.raw(self.at, end) == option && class(self.byte(end)) == BREAK {
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
    fn redirected(&mut self, start: usize, kind: Kind<'s>) -> Result<Command<'s>> {
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

    /// A compound command, if one begins here.
    fn compound(&mut self) -> Result<Option<Kind<'s>>> {
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

    fn group(&mut self) -> Result<Kind<'s>> {
        let list = self.some_list()?;
        self.expect(Keyword::BraceEnd, "`{` without `}`")?;
        Ok(Kind::Group(list))
    }

    /// `( … )`, or `(( … ))` where it ends in `))`.
    fn parentheses(&mut self) -> Result<Kind<'s>> {
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
                return Ok(Kind::Arithmetic(arithmetic));
            }
            self.note_parentheses(open, open)?;
        }
        self.at = open + 1;
        let list = self.some_list()?;
        if self.byte(self.at) != b')' {
            return self.error("`(` without `)`");
        }
        self.at += 1;
        Ok(Kind::Subshell(list))
    }

    fn if_command(&mut self) -> Result<Kind<'s>> {
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
        Ok(Kind::If { branches, otherwise })
    }

    fn while_loop(&mut self, until: bool) -> Result<Kind<'s>> {
        let condition = self.some_list()?;
        self.expect(Keyword::Do, "a loop without `do`")?;
        let body = self.some_list()?;
        self.expect(Keyword::Done, "a loop without `done`")?;
        Ok(Kind::While { until, condition, body })
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

    fn for_loop(&mut self) -> Result<Kind<'s>> {
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
        Ok(Kind::ForArithmetic { clauses, body })
    }

    /// `for x in a b`, after its reserved word.
    fn for_words(&mut self, select: bool) -> Result<Kind<'s>> {
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
        Ok(Kind::For { name, words, body, select })
    }

    fn case(&mut self) -> Result<Kind<'s>> {
        self.skip_blanks();
        let subject = self.some_word(Place::Argument, "`case` without a word")?;
        self.skip_newlines()?;
        self.expect(Keyword::In, "`case` without `in`")?;
        let mut arms = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.take_keyword(Keyword::Esac) {
                return Ok(Kind::Case { subject, arms });
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
                    return Ok(Kind::Case { subject, arms });
                }
                _ => return self.error("`case` without `esac`"),
            };
            arms.push(Arm { patterns, body, end });
        }
    }

    /// `[[ … ]]`, after its brackets.
    fn test(&mut self) -> Result<Kind<'s>> {
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
                    "]]" => return Ok(Kind::Test(words)),
                    "=~" if !words.is_empty() => place = Place::Regex,
                    _ => {}
                }
            }
            words.push(word);
        }
    }

    /// A function from its name on.
    fn function(&mut self, start: usize) -> Result<Command<'s>> {
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

    fn function_body(&mut self, start: usize, mut name: Word<'s>) -> Result<Command<'s>> {
        self.skip_newlines()?;
        let body_start = self.at;
        let Some(kind) = self.compound()? else {
            return self.error("a function without a body");
        };
        let body = self.redirected(body_start, kind)?;
        let name = match (name.parts.pop(), name.parts.is_empty()) {
            (Some(Part::Bare(text)), true) => text,
            _ => Cow::Borrowed(self.slice(name.span.start as usize, name.span.end as usize)),
        };
        let span = span(start, body.span.end as usize);
        Ok(Command { span, kind: Kind::Function { name, body: Box::new(body) }, redirects: Vec::new() })
    }

    fn coproc(&mut self, start: usize) -> Result<Command<'s>> {
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
        let span = span(start, body.span.end as usize);
        Ok(Command { span, kind: Kind::Coproc { name, body: Box::new(body) }, redirects: Vec::new() })
    }

    /// `A=1 name word >file`
    fn simple(&mut self) -> Result<Command<'s>> {
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
                let mut parts = Vec::new();
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
        Ok(Command { span: span(start, end), kind: Kind::Simple { assignments, words }, redirects })
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
    fn redirect(&mut self) -> Result<Option<Redirect<'s>>> {
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
                let after = self.joined(at);
                // What bash does not take for a number is a word.
                match self.slice(start, at).parse::<u32>() {
                    Ok(number) if i32::try_from(number).is_ok() => {
                        Ok((Some(Descriptor::Number(number)), after))
                    }
                    _ => Ok((None, start)),
                }
            }
            b'{' => {
                at += 1;
                if !name_start(self.byte(at)) {
                    return Ok((None, start));
                }
                while name_byte(self.byte(at)) {
                    at += 1;
                }
                let plain = self.byte(at) == b'}';
                if self.byte(at) == b'[' {
                    // `{a[0]}>`; blanks end the word, and with it this.
                    while class(self.byte(at)) != BREAK && self.byte(at) != b'}' {
                        at += 1;
                    }
                }
                let after = self.joined(at + 1);
                if self.byte(at) != b'}' || !matches!(self.byte(after), b'<' | b'>') {
                    return Ok((None, start));
                }
                let name = self.slice(start + 1, at);
                if !plain && name.contains(['$', '`', '\\', '\'', '"']) {
                    return self.error("a descriptor with an expansion");
                }
                Ok((Some(Descriptor::Variable(name)), after))
            }
            _ => Ok((None, start)),
        }
    }
}
