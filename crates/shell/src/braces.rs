//! `${…}` and arithmetic: what bash expands inside of an expansion.

use std::borrow::Cow;

use crate::reader::{Parser, Result, name_start, push_bare, push_quoted, span};
use crate::words::{Quoting, Stretch};
use crate::{Arithmetic, Index, Operation, Parameter, Part, Word};

impl<'s> Parser<'s> {
    /// `${…}` after its brace; `start` is the place of its `$`.
    pub(crate) fn brace(&mut self, start: usize, quoting: Quoting) -> Result<Part<'s>> {
        let first = self.peek();
        if matches!(first, b' ' | b'\t' | b'\n' | b'|') {
            return self.function_substitution();
        }
        let after = self.peek_second();
        // `${#x}` and `${!x}`, but `${#}`, `${#-x}`, `${!}`, `${!:-x}` are about `$#` and `$!`.
        let length = first == b'#' && parameter_byte(after) && self.ends_after_name();
        let indirect = first == b'!' && parameter_byte(after) && (after != b'-' || self.ends_after_name());
        if length || indirect {
            self.at = self.joined(self.at + 1);
        }
        let name_at = self.at;
        let byte = self.byte(name_at);
        let end = if name_start(byte) {
            self.name_end(name_at)?
        } else if byte.is_ascii_digit() {
            name_at + self.bytes.iter().skip(name_at).take_while(|byte| byte.is_ascii_digit()).count()
        } else if parameter_byte(byte) {
            name_at + 1
        } else {
            return self.error("a substitution that bash cannot read");
        };
        let name = self.slice(name_at, end);
        self.at = end;
        let index = if self.take(b'[') { Some(self.index()?) } else { None };
        let mut operation = match self.peek() {
            b'}' if length => Operation::Length,
            _ if length => return self.error("a substitution that bash cannot read"),
            b'@' | b'*' if indirect && index.is_none() && self.peek_second() == b'}' => {
                self.at += 1;
                Operation::Names
            }
            b'}' if indirect && matches!(index, Some(Index::Each | Index::Joined)) => Operation::Keys,
            _ => self.operation(quoting)?,
        };
        if indirect && !matches!(operation, Operation::Names | Operation::Keys) {
            operation = Operation::Indirect(Box::new(operation));
        }
        if !self.take(b'}') {
            return self.error("`${` that is not closed");
        }
        Ok(Part::Parameter(Box::new(Parameter { span: span(start, self.at), name, index, operation })))
    }

    /// Whether `#` or `!` here is followed by one parameter and then by `}` or `[`.
    fn ends_after_name(&self) -> bool {
        let at = self.joined(self.at + 1);
        let end = if self.byte(at).is_ascii_alphanumeric() || self.byte(at) == b'_' {
            let name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
            at + self.bytes.iter().skip(at).take_while(name).count()
        } else {
            at + 1
        };
        matches!(self.byte(self.joined(end)), b'}' | b'[')
    }

    /// `${ …; }` of bash 5.3. Before that it was an error, with another end: only where both ends are the same.
    fn function_substitution(&mut self) -> Result<Part<'s>> {
        let start = self.at;
        self.at += usize::from(self.byte(self.at) == b'|');
        let list = self.substitution(b'}')?;
        if self.raw(start, self.at - 1).iter().any(|byte| matches!(byte, b'}' | b'\'' | b'"' | b'`' | b'#')) {
            return self.error("`${ …; }` that not every bash reads in the same way");
        }
        Ok(Part::Substitution(list))
    }

    /// A subscript within `${…}`, after its bracket.
    fn index(&mut self) -> Result<Index<'s>> {
        let each = match self.byte(self.at) {
            b'@' => Some(Index::Each),
            b'*' => Some(Index::Joined),
            _ => None,
        };
        if let Some(each) = each.filter(|_| self.byte(self.at + 1) == b']') {
            self.at += 2;
            return Ok(each);
        }
        Ok(Index::At(self.subscript(true)?))
    }

    /// A subscript after its bracket, and its end. `braced`: within `${…}`, which a `}` would close for bash.
    pub(crate) fn subscript(&mut self, braced: bool) -> Result<Arithmetic<'s>> {
        self.enter()?;
        let start = self.at;
        let parts = self.arithmetic_parts(b'[', b']', if braced { b'}' } else { 0 }, false)?;
        if self.byte(self.at) != b']' {
            return self.error("a subscript that is not closed");
        }
        let subscript = Arithmetic { span: span(start, self.at), parts };
        self.at += 1;
        self.leave();
        Ok(subscript)
    }

    /// What follows the name, up to the closing brace.
    fn operation(&mut self, quoting: Quoting) -> Result<Operation<'s>> {
        let operator = self.byte(self.at);
        let second = self.peek_second();
        let doubled = second == operator;
        match operator {
            b'}' => Ok(Operation::None),
            b':' if !matches!(second, b'-' | b'=' | b'?' | b'+') => {
                self.at += 1;
                let offset = self.slice_part()?;
                let length = if self.take(b':') { Some(self.slice_part()?) } else { None };
                Ok(Operation::Slice { offset, length })
            }
            b':' | b'-' | b'=' | b'?' | b'+' => {
                let or_empty = operator == b':';
                self.at = if or_empty { self.joined(self.at + 1) + 1 } else { self.at + 1 };
                let word = self.brace_word(quoting, false, false)?;
                Ok(Operation::Default { operator: if or_empty { second } else { operator }, or_empty, word })
            }
            b'#' | b'%' => {
                self.at = if doubled { self.joined(self.at + 1) + 1 } else { self.at + 1 };
                let pattern = self.brace_word(quoting, true, false)?;
                Ok(Operation::Strip { suffix: operator == b'%', longest: doubled, pattern })
            }
            b'/' => {
                self.at = if doubled { self.joined(self.at + 1) + 1 } else { self.at + 1 };
                let anchor = Some(self.peek()).filter(|byte| !doubled && matches!(byte, b'#' | b'%'));
                self.at += usize::from(anchor.is_some());
                let pattern = self.brace_word(quoting, true, true)?;
                let with =
                    if self.take(b'/') { self.brace_word(quoting, true, false)? } else { Word::default() };
                Ok(Operation::Replace { all: doubled, anchor, pattern, with })
            }
            b'^' | b',' | b'~' => {
                self.at = if doubled { self.joined(self.at + 1) + 1 } else { self.at + 1 };
                let pattern = self.brace_word(quoting, operator != b'~', false)?;
                Ok(Operation::Case { operator, all: doubled, pattern })
            }
            b'@' if second.is_ascii_alphabetic() => {
                self.at = self.joined(self.at + 1) + 1;
                Ok(Operation::Transform(second))
            }
            _ => self.error("a substitution that bash cannot read"),
        }
    }

    /// One of the numbers of `${x:a:b}`.
    fn slice_part(&mut self) -> Result<Arithmetic<'s>> {
        let start = self.at;
        let parts = self.arithmetic_parts(b'(', b'}', b':', false)?;
        Ok(Arithmetic { span: span(start, self.at), parts })
    }

    /// A word or pattern within `${…}`, up to `}`, or to `/` if `slash`.
    ///
    /// In double quotes, single quotes quote in a pattern only; in a default value they are text, see [`Stretch`].
    fn brace_word(&mut self, quoting: Quoting, pattern: bool, slash: bool) -> Result<Word<'s>> {
        let quoted = quoting != Quoting::None;
        let literal = quoted && !pattern;
        let begin = self.at;
        let mut parts = Vec::new();
        let mut stretch = Stretch::default();
        let push = if literal { push_quoted } else { push_bare };
        let mut start = begin;
        // `${x////-}`: a first slash is what is looked for.
        if slash && self.byte(self.at) == b'/' {
            self.at += 1;
        }
        loop {
            let at = self.at;
            let byte = self.byte(at);
            match byte {
                0 => return self.error("`${` that is not closed"),
                b'}' if !stretch.inside() => break,
                b'/' if slash && !stretch.inside() => break,
                b'\'' if literal => {
                    stretch.quote(self)?;
                    self.at += 1;
                    continue;
                }
                b'"' if stretch.inside() => return self.error("a double quote between single quotes"),
                b'\\' => {
                    let next = self.byte(at + 1);
                    let escaped = match next {
                        0 => return self.error("`${` that is not closed"),
                        b'$' | b'`' | b'"' | b'\\' | b'}' | b'\n' => true,
                        _ => !literal,
                    };
                    if !escaped {
                        // In a stretch a backslash does not keep its quote from closing it.
                        let keep = stretch.inside() && next == b'\'';
                        self.at += if keep { 1 } else { 1 + self.width(at + 1) };
                        continue;
                    }
                    push(&mut parts, self.slice(start, at));
                    self.at += 1 + self.width(at + 1);
                    if next != b'\n' {
                        push_quoted(&mut parts, self.slice(at + 1, self.at));
                    }
                }
                b'\'' | b'"' | b'`' | b'$' => {
                    push(&mut parts, self.slice(start, at));
                    self.brace_expansion(&mut parts, quoting, literal)?;
                }
                b'<' | b'>' if self.peek_second() == b'(' => {
                    if quoted {
                        return self.error("a process substitution in quotes");
                    }
                    push(&mut parts, self.slice(start, at));
                    let process = self.process()?;
                    parts.push(process);
                }
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            stretch.check(self)?;
            start = self.at;
        }
        push(&mut parts, self.slice(start, self.at));
        Ok(Word { span: span(begin, self.at), parts })
    }

    /// A quote or expansion within the word of `${…}`.
    fn brace_expansion(&mut self, parts: &mut Vec<Part<'s>>, quoting: Quoting, literal: bool) -> Result<()> {
        let unquoted = quoting == Quoting::None;
        match self.byte(self.at) {
            b'\'' => {
                parts.push(self.single()?);
                Ok(())
            }
            b'"' => {
                self.at += 1;
                parts.push(self.double(unquoted)?);
                Ok(())
            }
            b'`' => {
                parts.push(self.backtick(false)?);
                Ok(())
            }
            _ => match self.peek_second() {
                b'\'' if !literal => {
                    self.at = self.joined(self.at + 1);
                    parts.push(self.ansi()?);
                    Ok(())
                }
                b'\'' if quoting != Quoting::Here => self.ansi_read_twice(parts),
                b'"' => {
                    self.at = self.joined(self.at + 1) + 1;
                    parts.push(self.double(unquoted)?);
                    Ok(())
                }
                _ => self.dollar(parts, quoting),
            },
        }
    }

    /// An arithmetic expression up to its end, which is not taken.
    ///
    /// `open` and `close` are counted; `split` ends it too: `;` anywhere, `:` where it belongs to no `?` or
    /// parenthesis, `}` as an error. `comments`: bash would take ` #` for a comment while it looks for the end.
    pub(crate) fn arithmetic_parts(
        &mut self,
        open: u8,
        close: u8,
        split: u8,
        comments: bool,
    ) -> Result<Vec<Part<'s>>> {
        let mut parts = Vec::new();
        let mut stretch = Stretch::default();
        let (mut level, mut questions) = (0usize, 0usize);
        let mut start = self.at;
        loop {
            let at = self.at;
            let byte = self.byte(at);
            match byte {
                0 => break,
                b'\'' => {
                    stretch.quote(self)?;
                    self.at += 1;
                    continue;
                }
                b'"' if stretch.inside() => return self.error("a double quote between single quotes"),
                b'\\' => {
                    let next = self.byte(at + 1);
                    if !matches!(next, b'$' | b'`' | b'"' | b'\\' | b'\n') {
                        let keep = next == 0 || (stretch.inside() && next == b'\'');
                        self.at += if keep { 1 } else { 1 + self.width(at + 1) };
                        continue;
                    }
                    push_bare(&mut parts, self.slice(start, at));
                    self.at += 2;
                    if next != b'\n' {
                        parts.push(Part::Quoted(Cow::Borrowed(self.slice(at + 1, at + 2))));
                    }
                }
                b'"' => {
                    push_bare(&mut parts, self.slice(start, at));
                    self.at += 1;
                    parts.push(self.double(false)?);
                }
                b'`' => {
                    push_bare(&mut parts, self.slice(start, at));
                    parts.push(self.backtick(false)?);
                }
                b'$' => {
                    push_bare(&mut parts, self.slice(start, at));
                    match self.peek_second() {
                        b'\'' => self.ansi_read_twice(&mut parts)?,
                        second => {
                            self.dollar(&mut parts, Quoting::Arithmetic)?;
                            // While bash looks for `))` it does not know `${…}`; a parenthesis in it counts.
                            let counts = second == b'{' && close == b')';
                            if counts && self.even(at, self.at, b'(', true) != Some(true) {
                                return self.error("parentheses that cannot be counted");
                            }
                        }
                    }
                }
                _ if stretch.inside() => {
                    self.at += 1;
                    continue;
                }
                b'<' | b'>' if open == b'[' && self.peek_second() == b'(' => {
                    push_bare(&mut parts, self.slice(start, at));
                    let process = self.process()?;
                    parts.push(process);
                }
                b'#' if comments && matches!(self.byte(at.wrapping_sub(1)), b' ' | b'\t' | b'\n') => {
                    return self.error("a comment in arithmetic");
                }
                _ => {
                    if byte == close && (level == 0 || byte == b'}') {
                        break;
                    }
                    if byte == split {
                        match byte {
                            b';' => break,
                            b':' if level == 0 && questions == 0 => break,
                            b':' => questions = questions.saturating_sub(1),
                            b'}' => return self.error("a brace in a subscript"),
                            _ => {}
                        }
                    }
                    if byte == open {
                        level += 1;
                    } else if byte == close || (byte == b')' && open == b'(') {
                        level = level.saturating_sub(1);
                    } else if byte == b'?' {
                        questions += 1;
                    }
                    self.at += 1;
                    continue;
                }
            }
            stretch.check(self)?;
            start = self.at;
        }
        push_bare(&mut parts, self.slice(start, self.at));
        Ok(parts)
    }
}

/// Begins the name of a parameter.
fn parameter_byte(byte: u8) -> bool {
    name_start(byte)
        || byte.is_ascii_digit()
        || matches!(byte, b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')
}
