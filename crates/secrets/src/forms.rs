//! The ways in which texts give a name its value, in any language: `NAME=value`, `"name": "value"`, `name: value`,
//! `<name>value</name>`, `set("NAME", "value")`, `getenv("NAME") || "value"`, `var name string = "value"`, `| name | value |`.
//!
//! Reads text in any language, so it reads it as none of them. How sure it is that a value was meant is the [`Form`]; whether
//! that value is a secret is for `values` to say.

use crate::names::{Telling, telling};
use crate::values::is_mark;

/// A name and the value that it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) name: (usize, usize),
    pub(crate) value: (usize, usize),
    pub(crate) form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A value in quotes.
    Quoted,
    /// `name="value"`
    TightQuoted,
    /// `name=value`
    Tight,
    /// `name = value`, up to the end of the line.
    Line,
    /// `name: value`, up to the end of the line.
    Yaml,
    /// `--name value`, `<name>value</name>`
    Other,
    /// `{name:value n:1}`, `(name == "value")`, `("NAME", "value")`, `env.NAME || "value"`
    Loose,
    /// Only beside its name: `name value`, `| name | value |`, `the name is value`.
    Beside,
    /// In a column of a table whose head is the name.
    Cell,
}

pub(crate) const LONGEST_NAME: usize = 64;
/// So much of a value is looked at; what is behind it goes where the value goes.
pub(crate) const LONGEST_VALUE: usize = 4096;
const MOST_BLANKS: usize = 64;
/// A quote in a string in a string in a string has so many backslashes before it.
pub(crate) const MOST_ESCAPES: usize = 7;
/// What stands beside a name and is shorter is a word.
const SHORTEST_BESIDE: usize = 16;
/// Spaces and line ends between an element of XML and its text.
const MOST_SPACE: usize = 256;

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

pub(crate) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

pub(crate) fn count(text: &[u8], from: usize, most: usize, fits: impl Fn(u8) -> bool) -> usize {
    text.get(from..).unwrap_or_default().iter().take(most).take_while(|byte| fits(**byte)).count()
}

fn behind_blanks(text: &[u8], at: usize) -> usize {
    at + count(text, at, MOST_BLANKS, is_blank)
}

fn begins(text: &[u8], at: usize, word: &[u8]) -> bool {
    text.get(at..).is_some_and(|rest| rest.starts_with(word))
}

/// The runs of bytes that were measured last. Values lie in values (`a=b=c=…`) and end at the same place; without this, each of them would be
/// measured to its end.
#[derive(Default)]
pub(crate) struct Runs {
    tight: (usize, usize),
    word: (usize, usize),
    quoted: [(usize, usize); 3],
}

impl Runs {
    /// Where a value without quotes ends that begins here.
    fn bare(&mut self, text: &[u8], at: usize, tight: bool) -> usize {
        let known = if tight { &mut self.tight } else { &mut self.word };
        if (known.0..known.1).contains(&at) {
            return known.1;
        }
        let rest = text.get(at..).unwrap_or_default();
        let mut length = 0;
        for (number, byte) in rest.iter().enumerate() {
            let ends = byte.is_ascii_whitespace()
                || byte.is_ascii_control()
                || is_quote(*byte)
                || (tight && matches!(byte, b',' | b';' | b'&'))
                // A line end that is written out ends it too.
                || (*byte == b'\\' && matches!(rest.get(number + 1), Some(b'n' | b'r' | b't' | b'"' | b'\'')))
                || (*byte == 0xe2 && smart_quote(rest.get(number..).unwrap_or_default()).is_some());
            if ends {
                break;
            }
            length = number + 1;
        }
        *known = (at, at + length);
        at + length
    }

    /// Where a value in quotes ends: at the same quote, as deeply escaped, or at the end of the line.
    fn closing_quote(&mut self, text: &[u8], from: usize, quote: u8, escapes: usize) -> usize {
        let slot = self.quoted.get_mut(match quote {
            b'"' => 0,
            b'\'' => 1,
            _ => 2,
        });
        if escapes == 0
            && let Some(known) = slot.as_deref().filter(|known| (known.0..known.1).contains(&from))
        {
            return known.1;
        }
        let mut backslashes = 0;
        let mut length = 0;
        for byte in text.get(from..).unwrap_or_default() {
            if *byte == b'\n' || (*byte == quote && backslashes <= escapes) {
                break;
            }
            backslashes = if *byte == b'\\' { backslashes + 1 } else { 0 };
            length += 1;
        }
        let end = from + length - backslashes.min(escapes);
        if let Some(slot) = slot.filter(|_| escapes == 0) {
            *slot = (from, end);
        }
        end
    }
}

/// The name in which this word stands.
pub(crate) fn name_around(text: &[u8], from: usize, to: usize) -> (usize, usize) {
    let left = text.get(..from).unwrap_or_default();
    let left = left.iter().rev().take(LONGEST_NAME).take_while(|byte| is_name(**byte)).count();
    let mut begin = from - left;
    // The letter of `\n` is not part of the name behind it.
    if left > 0 && begin > 0 && text.get(begin - 1) == Some(&b'\\') {
        begin += 1;
    }
    let right = count(text, to, LONGEST_NAME, is_name);
    let end = to + right;
    // `token.` ends a sentence, and `token .= …` and `token->x` go on.
    let dots = text.get(to..end).unwrap_or_default().iter().rev().take_while(|byte| **byte == b'.').count();
    let arrow = usize::from(dots == 0 && end > to && begins(text, end - 1, b"->"));
    (begin, end - dots - arrow)
}

/// What stands between a name and its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    /// `=`, `:=`, `::=`, `?=`, `.=`, `||=`, `=>`
    Sets,
    /// `:`
    Colon,
    /// `:` without a blank behind it.
    Tight,
    /// `||`, `??`, `?:`, ` or `, ` == `, `,`, `(`: what follows is a value only in quotes.
    Quoted,
    /// `|`, ` is `, or a blank.
    Beside,
}

/// The operator at this place, and what is behind it.
fn operator(text: &[u8], at: usize, blanks: usize, quoted_name: bool) -> Option<(Operator, usize)> {
    const SIGNS: &[(&[u8], Operator)] = &[
        (b":::=", Operator::Sets),
        (b"::=", Operator::Sets),
        (b"||=", Operator::Sets),
        (b"??=", Operator::Sets),
        (b"===", Operator::Quoted),
        (b"!==", Operator::Quoted),
        (b"==", Operator::Quoted),
        (b"!=", Operator::Quoted),
        (b"=>", Operator::Sets),
        (b":=", Operator::Sets),
        (b"?=", Operator::Sets),
        (b"+=", Operator::Sets),
        (b".=", Operator::Sets),
        (b"||", Operator::Quoted),
        (b"??", Operator::Quoted),
        (b"?:", Operator::Quoted),
        (b"->", Operator::Quoted),
        (b":-", Operator::Beside),
        (b"|", Operator::Beside),
    ];
    let byte = |at: usize| text.get(at).copied();
    let first = byte(at)?;
    if let Some((sign, operator)) = SIGNS.iter().find(|(sign, _)| begins(text, at, sign)) {
        return Some((*operator, at + sign.len()));
    }
    match first {
        b'=' => {
            let next = byte(at + 1)?;
            // `NAME= command` sets nothing.
            let nothing = (blanks == 0 && is_blank(next) && !quoted_name) || next == b'~';
            (!nothing).then_some((Operator::Sets, at + 1))
        }
        b':' => Some((Operator::Colon, at + 1)),
        b',' if quoted_name => Some((Operator::Quoted, at + 1)),
        b'(' if blanks == 0 => Some((Operator::Quoted, at + 1)),
        b'{' if quoted_name && blanks > 0 => Some((Operator::Quoted, at + 1)),
        _ if blanks > 0 => {
            for word in [&b"or "[..], b"is "] {
                if begins(text, at, word) {
                    let operator = if word == b"or " { Operator::Quoted } else { Operator::Beside };
                    return Some((operator, at + word.len()));
                }
            }
            Some((Operator::Beside, at))
        }
        _ => None,
    }
}

/// The value that is given to the name at `from..to`; `None` where none is.
pub(crate) fn assignment(text: &[u8], from: usize, to: usize, runs: &mut Runs) -> Option<Assignment> {
    let name = (from, to);
    let byte = |at: usize| text.get(at).copied();
    let some = |(from, to): (usize, usize), form| {
        (from < to).then_some(Assignment { name, value: (from, to), form })
    };
    if let Some(value) = element(text, from, to) {
        return some(value, Form::Other);
    }
    // The quote that closes the name, perhaps escaped, and the brackets around it.
    let mut at = to;
    let quoted_name = match quote_at(text, at) {
        Some(quote) => {
            at = quote.begin;
            true
        }
        None => false,
    };
    at += count(text, at, 2, |byte| matches!(byte, b']' | b'*'));
    // `Unseal Key 1: value`
    let number = count(text, at + 1, 2, |byte| byte.is_ascii_digit());
    if number > 0 && begins(text, at, b" ") && begins(text, at + 1 + number, b":") {
        at += 1 + number;
    }
    // `getenv("NAME") || "value"`
    let closed = at + count(text, at, 1, |byte| byte == b')');
    if closed > at && fallback(text, closed) {
        at = closed;
    }
    let blanks = count(text, at, MOST_BLANKS, is_blank);
    if let Some(value) = value_beside(text, at) {
        return found(text, name, value, Operator::Sets, false, quoted_name, runs);
    }
    // `--password x`, and as PowerShell and Java write it, `-Password x`.
    let option = begins(text, from, b"-") && to - from > 4 && !quoted_name;
    let (operator, behind) = operator(text, at + blanks, blanks, quoted_name)?;
    // `variable "db_password" { default = "…" }`
    if quoted_name
        && operator == Operator::Quoted
        && let Some(value) = default_inside(text, behind)
    {
        return found(text, name, value, Operator::Sets, false, quoted_name, runs);
    }
    if quoted_name
        && operator == Operator::Colon
        && let Some(value) = value_inside(text, behind)
    {
        return found(text, name, value, operator, false, quoted_name, runs);
    }
    let tight = blanks == 0 && operator == Operator::Sets && behind == at + 1;
    let unparted = operator == Operator::Colon && from > 0 && byte(from - 1) == Some(b':');
    let operator = match operator {
        // `arn:aws:secretsmanager:…:secret:name`
        Operator::Colon if unparted && byte(behind).is_some_and(|next| !is_blank(next)) => return None,
        // Without a blank, `a:b` is rather a ratio, a port or a path.
        Operator::Colon => {
            let next = byte(behind)?;
            if matches!(next, b':' | b'/') {
                return None;
            }
            let parted = is_blank(next) || quote_at(text, behind).is_some() || next == b'*';
            let password = || text.get(from..to).and_then(telling) == Some(Telling::Password);
            if parted || matches!(next, b'\n' | b'\r') || password() { operator } else { Operator::Tight }
        }
        other => other,
    };
    if option && operator == Operator::Beside {
        let (value, form) = match quote_at(text, behind) {
            Some(quote) => (quote.value(text, runs), Form::Quoted),
            None => ((behind, runs.bare(text, behind, false)), Form::Other),
        };
        return some(value, form);
    }
    found(text, name, behind, operator, tight, quoted_name, runs)
}

/// Whether a value follows that is taken where there is none.
fn fallback(text: &[u8], at: usize) -> bool {
    let at = behind_blanks(text, at);
    [&b"||"[..], b"??", b"?:", b"or ", b"{ "].iter().any(|sign| begins(text, at, sign))
}

/// The value that begins here or a little further on.
fn found(
    text: &[u8],
    name: (usize, usize),
    at: usize,
    operator: Operator,
    tight: bool,
    quoted_name: bool,
    runs: &mut Runs,
) -> Option<Assignment> {
    let byte = |at: usize| text.get(at).copied();
    let some = |(from, to): (usize, usize), form| {
        (from < to).then_some(Assignment { name, value: (from, to), form })
    };
    let mut at = behind_blanks(text, at);
    if operator == Operator::Colon {
        // `**Token:** value`
        at = behind_blanks(text, at + count(text, at, 2, |byte| byte == b'*'));
        at = behind_type(text, at).unwrap_or(at);
        if let Some(block) = block(text, at) {
            return some((block, runs.bare(text, block, false)), Form::Yaml);
        }
    }
    let mut typed = false;
    if operator == Operator::Beside
        && let Some(behind) = behind_typed_name(text, at)
    {
        (at, typed) = (behind, true);
    }
    let called = behind_call(text, at);
    at = called.unwrap_or(at);
    if text.get(at..).is_some_and(is_mark) {
        return None;
    }
    if let Some(quote) = quote_at(text, at) {
        let value = quote.value(text, runs);
        let form = match operator {
            _ if called.is_some() => Form::Loose,
            Operator::Sets if tight && !quoted_name => Form::TightQuoted,
            Operator::Sets | Operator::Colon => Form::Quoted,
            Operator::Quoted | Operator::Tight => Form::Loose,
            Operator::Beside if typed => Form::Quoted,
            Operator::Beside => Form::Beside,
        };
        return some(value, form);
    }
    if operator == Operator::Quoted {
        return None;
    }
    let end = runs.bare(text, at, tight);
    let whole = text.get(at..end)?;
    // Only beside its name nothing short is meant, but in a `.netrc`.
    // `ENV NAME value` in a Dockerfile sets a variable as `NAME=value` does.
    if operator == Operator::Beside && sets_variable(text, name.0) {
        return some((at, end), Form::Tight);
    }
    if operator == Operator::Beside
        && whole.len() < SHORTEST_BESIDE
        && !text.get(name.0..name.1).is_some_and(|name| name.eq_ignore_ascii_case(b"password"))
    {
        return None;
    }
    if tight {
        return some((at, end), Form::Tight);
    }
    // What stands behind a comma or a semicolon is code, or the next value.
    let near = whole.get(..whole.len().min(LONGEST_VALUE))?;
    let closed =
        near.iter().rev().take_while(|byte| matches!(byte, b',' | b';' | b'}' | b')' | b']')).count();
    let opened = near.iter().any(|byte| matches!(byte, b'{' | b'(' | b'['));
    let parted = near.iter().position(|byte| matches!(byte, b',' | b';'));
    let value_end = match parted {
        Some(first) if closed > 0 => at + first,
        _ if closed > 0 && !opened && near.len() == whole.len() => end - closed,
        _ => end,
    };
    let ends_line = value_end == end && is_end_of_line(text, end);
    let form = match operator {
        // `{"name": value}`: a variable of a program.
        Operator::Colon if quoted_name => return None,
        Operator::Colon if ends_line => Form::Yaml,
        Operator::Sets if ends_line => Form::Line,
        Operator::Beside => Form::Beside,
        _ => Form::Loose,
    };
    // A sentence about a name goes on; a value beside it is alone, or the next cell begins.
    if operator == Operator::Beside
        && byte(at).is_some_and(|first| !first.is_ascii_alphanumeric() && first != b'-')
    {
        return None;
    }
    some((at, value_end), form)
}

/// Whether `ENV ` stands before a name, at the beginning of its line.
fn sets_variable(text: &[u8], from: usize) -> bool {
    let before = text.get(from.saturating_sub(16)..from).unwrap_or_default().trim_ascii_end();
    let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    line.trim_ascii().eq_ignore_ascii_case(b"env")
}

/// Whether nothing follows, or only a comment.
fn is_end_of_line(text: &[u8], end: usize) -> bool {
    let behind = behind_blanks(text, end);
    match text.get(behind) {
        None | Some(b'\n' | b'\r' | b'\\') => true,
        Some(b'#') => behind > end,
        Some(b'/') => behind > end && begins(text, behind, b"//"),
        _ => false,
    }
}

/// A quote that opens a value or closes a name.
struct Quote {
    begin: usize,
    sign: Sign,
}

#[derive(Clone, Copy)]
enum Sign {
    Ascii(u8, usize),
    /// It ends at one of these.
    Text(&'static [&'static [u8]]),
}

impl Quote {
    /// What stands between the quotes, without blanks at its ends.
    fn value(&self, text: &[u8], runs: &mut Runs) -> (usize, usize) {
        let (from, to) = self.whole(text, runs);
        let begin = behind_blanks(text, from).min(to);
        let value = text.get(begin..to).unwrap_or_default();
        (begin, to - value.iter().rev().take(MOST_BLANKS).take_while(|byte| is_blank(**byte)).count())
    }

    fn whole(&self, text: &[u8], runs: &mut Runs) -> (usize, usize) {
        match self.sign {
            Sign::Ascii(quote, escapes) => (self.begin, runs.closing_quote(text, self.begin, quote, escapes)),
            Sign::Text(ends) => {
                let rest = text.get(self.begin..).unwrap_or_default();
                let near = rest.get(..rest.len().min(LONGEST_VALUE)).unwrap_or_default();
                let near = near.split(|byte| *byte == b'\n').next().unwrap_or_default();
                let end = ends.iter().filter_map(|end| memchr::memmem::find(near, end)).min();
                (self.begin, self.begin + end.unwrap_or(near.len()))
            }
        }
    }
}

const SMART: &[&[u8]] =
    &["\u{201c}".as_bytes(), "\u{201d}".as_bytes(), "\u{2018}".as_bytes(), "\u{2019}".as_bytes()];
const ENTITIES: &[&[u8]] = &[b"&quot;", b"&#34;", b"&#39;", b"&apos;"];

fn smart_quote(rest: &[u8]) -> Option<usize> {
    SMART.iter().find(|quote| rest.starts_with(quote)).map(|quote| quote.len())
}

/// The quote at this place, perhaps escaped, perhaps behind the letters of a kind of string (`b"…"`), perhaps three of them.
fn quote_at(text: &[u8], at: usize) -> Option<Quote> {
    let letters = count(text, at, 2, |byte| matches!(byte, b'b' | b'r' | b'u' | b'f' | b'B' | b'R' | b'@'));
    for at in [at + letters, at] {
        let escapes = count(text, at, MOST_ESCAPES, |byte| byte == b'\\');
        let Some(byte) = text.get(at + escapes).copied() else { continue };
        if is_quote(byte) {
            let begin = at + escapes + 1;
            let threefold = escapes == 0 && text.get(begin..begin + 2) == Some(&[byte, byte]);
            let more = if threefold { 2 } else { 0 };
            // `'"value"'`
            let inner =
                matches!(text.get(begin), Some(b'"' | b'\'')) && !threefold && text.get(begin) != Some(&byte);
            return match (inner, text.get(begin)) {
                (true, Some(inner)) if text.get(begin + 1).is_some_and(u8::is_ascii_alphanumeric) => {
                    Some(Quote { begin: begin + 1, sign: Sign::Ascii(*inner, 0) })
                }
                _ => Some(Quote { begin: begin + more, sign: Sign::Ascii(byte, escapes) }),
            };
        }
    }
    let rest = text.get(at..)?;
    if let Some(length) = smart_quote(rest) {
        return Some(Quote { begin: at + length, sign: Sign::Text(SMART) });
    }
    let entity = ENTITIES.iter().find(|entity| rest.starts_with(entity))?;
    Some(Quote { begin: at + entity.len(), sign: Sign::Text(ENTITIES) })
}

const VALUE: &[u8] = b"value";

/// `"name": "DB_PASSWORD", "value": "…"` and the like: where the value begins.
fn value_beside(text: &[u8], at: usize) -> Option<usize> {
    let between = count(text, at, 80, |byte| {
        byte.is_ascii_whitespace() || matches!(byte, b',' | b'"' | b'\'' | b'\\' | b'-')
    });
    let at = at + between;
    if between == 0 || !text.get(at..at + VALUE.len())?.eq_ignore_ascii_case(VALUE) {
        return None;
    }
    behind_value_word(text, at)
}

/// `"name": {"sensitive": true, "value": "…"}`, as terraform writes it: where the value begins, if it lies in this very object.
fn value_inside(text: &[u8], at: usize) -> Option<usize> {
    const NEAR: usize = 256;
    let at = at + count(text, at, MOST_SPACE, |byte| byte.is_ascii_whitespace());
    if !begins(text, at, b"{") {
        return None;
    }
    let length = count(text, at + 1, NEAR, |byte| !matches!(byte, b'{' | b'}'));
    let members = text.get(at..at + 1 + length)?;
    let word = memchr::memmem::find_iter(members, VALUE).find(|word| {
        word.checked_sub(1).and_then(|before| members.get(before)).is_some_and(|byte| is_quote(*byte))
    })?;
    behind_value_word(text, at + word)
}

/// `{ type = string … default = "…" }`, from behind the bracket: what is behind the sign.
fn default_inside(text: &[u8], at: usize) -> Option<usize> {
    const NEAR: usize = 512;
    const WORD: &[u8] = b"default";
    if !begins(text, at.checked_sub(1)?, b"{") {
        return None;
    }
    let length = count(text, at, NEAR, |byte| byte != b'}');
    let word = at + memchr::memmem::find(text.get(at..at + length)?, WORD)?;
    let sign = behind_blanks(text, word + WORD.len());
    (text.get(word - 1).is_some_and(u8::is_ascii_whitespace) && begins(text, sign, b"=")).then_some(sign + 1)
}

/// Behind `value": `, from its first letter on.
fn behind_value_word(text: &[u8], at: usize) -> Option<usize> {
    let at = at + VALUE.len();
    let behind = at + count(text, at, 4, |byte| is_quote(byte) || matches!(byte, b'\\' | b' '));
    match text.get(behind) {
        Some(b':' | b'=') => Some(behind + 1),
        // `["--name", "TOKEN", "--value", "…"]`
        Some(b',') if behind > at => Some(behind + 1),
        _ => None,
    }
}

/// The value that stands before its name: `"value": "…", "key": "TOKEN"`.
pub(crate) fn value_before(text: &[u8], from: usize) -> Option<(usize, usize)> {
    const NEAR: usize = 1024;
    let before = text.get(from.saturating_sub(NEAR)..from)?;
    let head = [&b"\"key\": \""[..], b"\"key\":\"", b"\"name\": \"", b"\"name\":\""]
        .into_iter()
        .find_map(|end| before.strip_suffix(end))?;
    let head = head.trim_ascii_end().strip_suffix(b",")?.trim_ascii_end().strip_suffix(b"\"")?;
    let open = head.iter().rposition(|byte| *byte == b'"')?;
    let is_value = [&b"\"value\": "[..], b"\"value\":"]
        .into_iter()
        .any(|word| head.get(..open).is_some_and(|head| head.ends_with(word)));
    let end = from - before.len() + head.len();
    is_value.then_some((end - (head.len() - open - 1), end))
}

/// `"…" == password`: the value that stands before what it is compared with.
pub(crate) fn compared_before(text: &[u8], from: usize) -> Option<(usize, usize)> {
    const NEAR: usize = 256;
    let before = text.get(from.saturating_sub(NEAR)..from)?;
    let head = before.trim_ascii_end();
    let equals = head.iter().rev().take_while(|byte| **byte == b'=').count();
    let head = head.get(..head.len() - equals)?;
    let (head, is_not) = head.strip_suffix(b"!").map_or((head, false), |head| (head, true));
    if !(2..=3).contains(&(equals + usize::from(is_not))) || equals == 0 {
        return None;
    }
    let head = head.trim_ascii_end();
    let quote = head.last().copied().filter(|byte| is_quote(*byte))?;
    let head = head.get(..head.len() - 1)?;
    let open = head.iter().rposition(|byte| *byte == quote || *byte == b'\n')?;
    let begin = from - before.len() + open + 1;
    (head.get(open) == Some(&quote)).then_some((begin, from - before.len() + head.len()))
}

/// `: str = `, `: &'static str = `, `: string = `: behind the type.
fn behind_type(text: &[u8], at: usize) -> Option<usize> {
    const LONGEST_TYPE: usize = 40;
    let length = count(text, at, LONGEST_TYPE, |byte| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'&' | b'\'' | b'<' | b'>' | b'[' | b']' | b'|' | b' ' | b':')
    });
    let annotation = text.get(at..at + length)?;
    (text.get(at + length) == Some(&b'=') && annotation.ends_with(b" ") && length > 2)
        .then(|| behind_blanks(text, at + length + 1))
}

/// `var name string = "…"`: behind the type and the sign.
fn behind_typed_name(text: &[u8], at: usize) -> Option<usize> {
    let length = count(text, at, 24, |byte| byte.is_ascii_alphanumeric() || b"_.*&[]<>?".contains(&byte));
    let sign = behind_blanks(text, at + length);
    let behind = if begins(text, sign, b":=") { sign + 2 } else { sign + 1 };
    (length > 1 && begins(text, behind - 1, b"=") && !begins(text, behind, b"="))
        .then(|| behind_blanks(text, behind))
        .filter(|at| quote_at(text, *at).is_some())
}

/// `Some("…")`, `String::from("…")`, `[]byte("…")`, `env("X", "…")` does not count: behind the bracket.
fn behind_call(text: &[u8], at: usize) -> Option<usize> {
    let length = count(text, at, 32, |byte| byte.is_ascii_alphanumeric() || b"_.:[] ".contains(&byte));
    (begins(text, at + length, b"(") && quote_at(text, at + length + 1).is_some()).then_some(at + length + 1)
}

/// A plan shows what was and what will be: `"old" -> "new"`. The new value, behind the old one.
pub(crate) fn behind_change(text: &[u8], end: usize, runs: &mut Runs) -> Option<(usize, usize)> {
    let rest = text.get(end..)?;
    let arrow = [&b"\" -> "[..], b"' -> "].into_iter().find(|arrow| rest.starts_with(arrow))?;
    let quote = quote_at(text, end + arrow.len())?;
    let (from, to) = quote.value(text, runs);
    (from < to).then_some((from, to))
}

/// `name: |` and `name: >-` with the value in the next line: where that begins.
fn block(text: &[u8], at: usize) -> Option<usize> {
    let marks = count(text, at, 2, |byte| matches!(byte, b'|' | b'>' | b'-' | b'+'));
    let line_end = at + marks + usize::from(begins(text, at + marks, b"\r"));
    if !begins(text, line_end, b"\n") {
        return None;
    }
    let indent = count(text, line_end + 1, MOST_BLANKS, is_blank);
    (marks > 0 && indent > 0).then_some(line_end + 1 + indent)
}

/// `<name>value</name>`, over lines and as CDATA; `<key>name</key><string>value</string>`.
fn element(text: &[u8], from: usize, to: usize) -> Option<(usize, usize)> {
    let begin = if begins(text, to, b">") && from > 0 && matches!(text.get(from - 1), Some(b'<' | b':')) {
        to + 1
    } else if begins(text, to, b"</") && from > 0 && text.get(from - 1) == Some(&b'>') {
        let close = to + 2 + count(text, to + 2, LONGEST_NAME, |byte| byte.is_ascii_alphanumeric());
        let next = close + 1 + count(text, close + 1, MOST_SPACE, |byte| byte.is_ascii_whitespace());
        let tag = count(text, next + 1, LONGEST_NAME, |byte| byte.is_ascii_alphanumeric());
        (begins(text, close, b">")
            && begins(text, next, b"<")
            && begins(text, next + 1 + tag, b">")
            && tag > 0)
            .then_some(next + tag + 2)?
    } else {
        return None;
    };
    let begin = begin + count(text, begin, MOST_SPACE, |byte| byte.is_ascii_whitespace());
    let begin = if begins(text, begin, b"<![CDATA[") { begin + 9 } else { begin };
    let rest = text.get(begin..)?;
    let length =
        rest.iter().take(16 * LONGEST_VALUE).take_while(|byte| !matches!(byte, b'<' | b'\n' | b'\r')).count();
    let value = rest.get(..length)?;
    let value =
        value.strip_suffix(b"]]>").or_else(|| value.strip_suffix(b"]]")).unwrap_or(value).trim_ascii_end();
    Some((begin, begin + value.len()))
}
