//! Secrets that are known by their names: `DB_PASSWORD=…`, `"client_secret": "…"`, `--token …`, `Authorization: …`.
//!
//! Two degrees (`values` judges). A name in capitals that ends in `PASSWORD`, `SECRET`, `TOKEN` or `API_KEY` is a variable of the
//! environment, and its value is a secret whatever it looks like. Any other telling name stands in source code far more
//! often than in a file of secrets (`token = next_token()`, `password: "test"`), so there the value has to look like
//! one too.
//!
//! Reads text in any language, so it reads it as none of them. A reference (`$TOKEN`, `${{ secrets.X }}`, `<token>`), a
//! placeholder (`changeme`) and code are no secrets.

use crate::search::has;
use crate::tables::{ENDINGS, HARMLESS, PASSWORDS, SECRETS};
use crate::values::{has_digit, is_mark, is_mixed, is_path, is_placeholder, is_random, is_reference};

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
}

/// What a name says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Telling {
    /// A password.
    Password,
    /// A secret of another kind.
    Secret,
    /// Perhaps.
    Weak,
    /// An `Authorization` header.
    Header,
}

const LONGEST_NAME: usize = 64;
pub(crate) const LONGEST_VALUE: usize = 4096;
const MOST_BLANKS: usize = 16;
/// A quote in a string in a string in a string has so many backslashes before it.
const MOST_ESCAPES: usize = 7;

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn count(text: &[u8], from: usize, most: usize, fits: impl Fn(u8) -> bool) -> usize {
    text.get(from..).unwrap_or_default().iter().take(most).take_while(|byte| fits(**byte)).count()
}

/// The name in which this word stands.
pub(crate) fn name_around(text: &[u8], from: usize, to: usize) -> (usize, usize) {
    let left = text.get(..from).unwrap_or_default();
    let left = left.iter().rev().take(LONGEST_NAME).take_while(|byte| is_name(**byte)).count();
    let mut begin = from - left;
    // The letter of `\n` is no part of the name behind it.
    if left > 0 && begin > 0 && text.get(begin - 1) == Some(&b'\\') {
        begin += 1;
    }
    let right = count(text, to, LONGEST_NAME, is_name);
    let end = to + right;
    // `token.` ends a sentence.
    let dots = text.get(to..end).unwrap_or_default().iter().rev().take_while(|byte| **byte == b'.').count();
    (begin, end - dots)
}

/// The value that is given to the name at `from..to`; `None` where none is.
pub(crate) fn assignment(text: &[u8], from: usize, to: usize) -> Option<Assignment> {
    let name = (from, to);
    let byte = |at: usize| text.get(at).copied();
    let mut at = to;
    // The quote that closes the name, perhaps escaped, and the bracket around it.
    let escapes = count(text, at, MOST_ESCAPES, |byte| byte == b'\\');
    let quoted_name = byte(at + escapes).is_some_and(is_quote);
    if quoted_name {
        at += escapes + 1;
    }
    at += count(text, at, 1, |byte| byte == b']');
    let before = count(text, at, MOST_BLANKS, is_blank);
    let option = text.get(from..from + 2) == Some(b"--");
    let operator = byte(at + before)?;
    let mut yaml = false;
    let mut at = match operator {
        b'=' => {
            let next = byte(at + before + 1)?;
            if matches!(next, b'=' | b'~') {
                return None;
            }
            let arrow = usize::from(next == b'>');
            let after = byte(at + before + 1 + arrow)?;
            // `NAME= command` sets nothing.
            if before == 0 && arrow == 0 && is_blank(after) {
                return None;
            }
            at + before + 1 + arrow
        }
        b':' | b'+' | b'?' if byte(at + before + 1) == Some(b'=') => at + before + 2,
        b':' => {
            let next = byte(at + before + 1)?;
            // Without a blank, `a:b` is rather a ratio, a port or a path.
            let parted = is_blank(next) || is_quote(next) || (next == b'\\' && quoted_name);
            let password = || text.get(from..to).and_then(telling) == Some(Telling::Password);
            if !parted && (matches!(next, b':' | b'/' | b'\n' | b'\r') || !password()) {
                return None;
            }
            yaml = true;
            at + before + 1
        }
        b'>' if before == 0 && from > 0 && byte(from - 1) == Some(b'<') => {
            let value = at + 1;
            let length = count(text, value, LONGEST_VALUE, |byte| !matches!(byte, b'<' | b'\n'));
            return some(name, value, value + length, Form::Other);
        }
        _ if option && before > 0 && !quoted_name => at + before,
        _ => value_beside(text, at)?,
    };
    at += count(text, at, MOST_BLANKS, is_blank);
    if yaml && let Some(behind) = behind_type(text, at) {
        at = behind;
    }
    // `b"…"`, `r'…'`
    let letters = count(text, at, 2, |byte| matches!(byte, b'b' | b'r' | b'u' | b'f' | b'B' | b'R'));
    if letters > 0 && byte(at + letters).is_some_and(is_quote) {
        at += letters;
    }
    if text.get(at..).is_some_and(is_mark) {
        return None;
    }
    let escapes = count(text, at, MOST_ESCAPES, |byte| byte == b'\\');
    match byte(at + escapes) {
        Some(quote) if is_quote(quote) => {
            let begin = at + escapes + 1;
            let end = closing_quote(text, begin, quote, escapes);
            let tight = before == 0 && operator == b'=' && !quoted_name;
            some(name, begin, end, if tight { Form::TightQuoted } else { Form::Quoted })
        }
        _ => {
            let tight = before == 0 && operator == b'=';
            let end = at
                + count(text, at, LONGEST_VALUE, |byte| {
                    !byte.is_ascii_whitespace() && !byte.is_ascii_control() && !is_quote(byte)
                });
            // A line end that is written out ends it too.
            let whole = text.get(at..end)?;
            let escaped = |pair: &[u8]| matches!(pair, [b'\\', b'n' | b'r' | b't' | b'"' | b'\'']);
            let written = whole.windows(2).position(escaped);
            let whole = whole.get(..written.unwrap_or(whole.len()))?;
            let end = at + whole.len();
            // What stands behind a comma or a semicolon is code, or the next value.
            let parted = |byte: &u8| matches!(byte, b',' | b';') || (tight && *byte == b'&');
            let first = match whole.iter().position(parted) {
                Some(first) if tight || whole.ends_with(b",") || whole.ends_with(b";") => first,
                _ => whole.len(),
            };
            let last = whole.len() - first;
            let ends_line =
                (matches!(byte(end), None | Some(b'\n' | b'\r')) || written.is_some()) && last == 0;
            // `{"name": value}`: a variable of a program.
            if quoted_name && yaml {
                return None;
            }
            let form = match (option && operator != b'=', tight, ends_line) {
                (true, ..) => Form::Other,
                (_, true, _) => Form::Tight,
                (_, _, true) if yaml => Form::Yaml,
                (_, _, true) => Form::Line,
                _ => return None,
            };
            some(name, at, end - last, form)
        }
    }
}

/// `"name": "DB_PASSWORD", "value": "…"` and the like: where the value begins.
fn value_beside(text: &[u8], at: usize) -> Option<usize> {
    const WORD: &[u8] = b"value";
    let between =
        count(text, at, 80, |byte| byte.is_ascii_whitespace() || matches!(byte, b',' | b'"' | b'\'' | b'\\'));
    let at = at + between;
    if between == 0 || !text.get(at..at + WORD.len())?.eq_ignore_ascii_case(WORD) {
        return None;
    }
    let at = at + WORD.len();
    let at = at + count(text, at, 4, |byte| is_quote(byte) || matches!(byte, b'\\' | b' '));
    matches!(text.get(at), Some(b':' | b'=')).then_some(at + 1)
}

fn some(name: (usize, usize), from: usize, to: usize, form: Form) -> Option<Assignment> {
    (from < to).then_some(Assignment { name, value: (from, to), form })
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
        .then(|| at + length + 1 + count(text, at + length + 1, MOST_BLANKS, is_blank))
}

/// Where a value in quotes ends: at the same quote, as deeply escaped, or at the end of the line.
fn closing_quote(text: &[u8], from: usize, quote: u8, escapes: usize) -> usize {
    let mut backslashes = 0;
    let mut length = 0;
    for byte in text.get(from..).unwrap_or_default().iter().take(LONGEST_VALUE) {
        if *byte == b'\n' || (*byte == quote && backslashes <= escapes) {
            break;
        }
        backslashes = if *byte == b'\\' { backslashes + 1 } else { 0 };
        length += 1;
    }
    from + length - backslashes.min(escapes)
}

/// A name in small letters, without what separates its words.
pub(crate) struct Plain {
    bytes: [u8; LONGEST_NAME],
    length: usize,
}

impl Plain {
    /// Of a longer name, its end.
    pub(crate) fn of(name: &[u8]) -> Plain {
        let mut plain = Plain { bytes: [0; LONGEST_NAME], length: 0 };
        let name = name.get(name.len().saturating_sub(LONGEST_NAME)..).unwrap_or_default();
        for (to, from) in plain.bytes.iter_mut().zip(name.iter().filter(|byte| byte.is_ascii_alphanumeric()))
        {
            *to = from.to_ascii_lowercase();
            plain.length += 1;
        }
        plain
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// Whether this is the name of a header with credentials: `Authorization`, `Proxy-Authorization`, `x-amz-authorization`.
pub(crate) fn is_header(name: &[u8]) -> bool {
    const END: &[u8] = b"authorization";
    let Some((head, end)) = name.len().checked_sub(END.len()).and_then(|at| name.split_at_checked(at)) else {
        return false;
    };
    end.eq_ignore_ascii_case(END) && matches!(head.last(), None | Some(b'-' | b'_' | b'.'))
}

/// `DB_PASS`, `dbpass`, `pwd`, but not `bypass`, nor the variable of the working directory.
fn is_pass(name: &[u8], plain: &[u8]) -> bool {
    const WHOLE: [&[u8]; 9] = [
        b"pass",
        b"pwd",
        b"dbpass",
        b"userpass",
        b"adminpass",
        b"rootpass",
        b"smtppass",
        b"mysqlpwd",
        b"dbpwd",
    ];
    let ends = |word: &[u8]| {
        name.len()
            .checked_sub(word.len())
            .is_some_and(|at| name.get(at..).is_some_and(|end| end.eq_ignore_ascii_case(word)))
    };
    let parted = || [&b"_pass"[..], b"-pass", b".pass", b"_pwd", b"-pwd", b".pwd"].into_iter().any(ends);
    name != b"PWD" && name != b"OLDPWD" && (WHOLE.contains(&plain) || parted())
}

/// What the name says; `None` where it says nothing.
pub(crate) fn telling(name: &[u8]) -> Option<Telling> {
    let whole = Plain::of(name);
    let mut plain = whole.bytes();
    let is_harmless = |plain: &[u8]| HARMLESS.iter().any(|end| plain.ends_with(end.as_bytes()));
    if is_harmless(plain) || has(plain, b"public") {
        return None;
    }
    while let [rest @ .., b'0'..=b'9'] = plain {
        plain = rest;
    }
    if is_harmless(plain) {
        return None;
    }
    for ending in ENDINGS {
        plain = plain.strip_suffix(ending.as_bytes()).unwrap_or(plain);
    }
    let ends = |words: &[&str]| words.iter().any(|word| plain.ends_with(word.as_bytes()));
    if is_header(name) {
        Some(Telling::Header)
    } else if ends(PASSWORDS) || is_pass(name, plain) {
        Some(Telling::Password)
    } else if ends(SECRETS) {
        Some(Telling::Secret)
    } else {
        Some(Telling::Weak)
    }
}

const SCHEMES: &[&[u8]] = &[b"bearer ", b"basic ", b"token ", b"apikey ", b"digest ", b"negotiate "];

/// The credentials of an `Authorization` header whose name ends here.
pub(crate) fn header(text: &[u8], name_end: usize) -> Option<(usize, usize)> {
    let escapes = count(text, name_end, MOST_ESCAPES, |byte| byte == b'\\');
    let quote = text.get(name_end + escapes).copied().is_some_and(is_quote);
    let mut at = if quote { name_end + escapes + 1 } else { name_end };
    at += count(text, at, MOST_BLANKS, |byte| is_blank(byte) || byte == b']');
    if !matches!(text.get(at), Some(b':' | b'=')) {
        return None;
    }
    at += 1 + count(text, at + 1, MOST_BLANKS, |byte| is_blank(byte) || is_quote(byte) || byte == b'\\');
    header_value(text, at)
}

/// The credentials that begin here, perhaps behind a scheme.
pub(crate) fn header_value(text: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let rest = text.get(at..)?;
    let scheme = SCHEMES.iter().find(|scheme| starts_with(rest, scheme));
    at += scheme.map_or(0, |scheme| scheme.len());
    let length = count(text, at, LONGEST_VALUE, is_credential);
    let value = text.get(at..at + length)?;
    let enough = match scheme {
        Some(scheme) if scheme.starts_with(b"basic") => value.len() >= 8 && is_base64(value),
        Some(_) => value.len() >= 6 && (has_digit(value) || is_mixed(value.iter().copied())),
        // What AWS writes first is the name of a method; the signature behind it has a shape of its own.
        None => is_random(value, true) && !value.starts_with(b"AWS4-"),
    };
    let behind = text.get(at + length).copied().unwrap_or(b' ');
    let is_code = matches!(behind, b'(' | b'{' | b'$') || has(value, b"://") || is_path(value);
    (enough && !is_code && !is_placeholder(value) && !is_reference(value)).then_some((at, at + length))
}

/// Not a word: `Basic authentication`.
fn is_base64(value: &[u8]) -> bool {
    let both = || value.iter().any(u8::is_ascii_uppercase) && value.iter().any(u8::is_ascii_lowercase);
    value.ends_with(b"=") || has_digit(value) || (value.len().is_multiple_of(4) && both())
}

fn is_credential(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'.' | b'_' | b'~' | b'-' | b':')
}

/// What stands behind `Bearer ` or `Basic ` without a header's name before it.
pub(crate) fn credentials(text: &[u8], from: usize, to: usize) -> Option<(usize, usize)> {
    let before = text.get(from.saturating_sub(1)..from).unwrap_or_default();
    if before.iter().any(u8::is_ascii_alphanumeric) {
        return None;
    }
    let length = count(text, to, LONGEST_VALUE, is_credential);
    let value = text.get(to..to + length)?;
    let letters = value.iter().any(u8::is_ascii_alphabetic);
    let alike = value.len() >= 16 && (has_digit(value) && letters || is_mixed(value.iter().copied()));
    let is_code = has(value, b"://") || is_path(value) || is_placeholder(value);
    (alike && !is_code).then_some((to, to + length))
}

fn starts_with(value: &[u8], word: &[u8]) -> bool {
    value.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}
