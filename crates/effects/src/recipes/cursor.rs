//! A place in a text, and the line it is on.

#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub(super) rest: &'a str,
    pub(super) line: u32,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Cursor<'a> {
        Cursor { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1 }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        self.line = self.line.saturating_add(u32::from(c == '\n'));
        Some(c)
    }

    /// Goes past `what` if it stands here.
    pub(super) fn eat(&mut self, what: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(what) else { return false };
        self.rest = rest;
        self.line = self.line.saturating_add(lines(what));
        true
    }

    pub(super) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !wanted(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        self.line = self.line.saturating_add(lines(taken));
        taken
    }

    /// Everything up to `end`, and past it; `None`, and everything is taken, if it never comes.
    pub(super) fn take_until(&mut self, end: &str) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_once(end).unwrap_or((self.rest, ""));
        let closed = taken.len() < self.rest.len();
        self.rest = rest;
        self.line =
            self.line.saturating_add(lines(taken)).saturating_add(if closed { lines(end) } else { 0 });
        closed.then_some(taken)
    }

    pub(super) fn rest_of_line(&mut self) -> &'a str {
        self.take_while(|c| c != '\n')
    }

    pub(super) fn blanks(&mut self) {
        self.take_while(|c| matches!(c, ' ' | '\t' | '\r'));
    }

    /// A character that is given by `digits` hexadecimal digits.
    pub(super) fn code(&mut self, digits: usize) -> Option<char> {
        let (code, rest) = self.rest.split_at_checked(digits)?;
        self.rest = rest;
        Some(char::from_u32(u32::from_str_radix(code, 16).ok()?).unwrap_or(char::REPLACEMENT_CHARACTER))
    }
}

fn lines(text: &str) -> u32 {
    u32::try_from(text.bytes().filter(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX)
}
