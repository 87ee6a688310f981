//! Secrets that are known by where they stand: after a credential-like name, in a URL, in an `Authorization` header.
//!
//! Works on text in any language (shell, JSON, TOML, YAML, headers), so it reads it as none of them: a value
//! in quotes ends at the same quote or at the line's end, any other at the first space or quote.
//! A reference (`$TOKEN`, `${TOKEN}`, `$(…)`) is not a secret, and a reader of the log wants to see it.
//!
//! Does not see: a password that is an argument of its own (`-p hunter2`), one behind a name that does not
//! tell, and the rest of one that holds quotes without being quoted.

use std::borrow::Cow;

use crate::Mark;
use crate::rewrite::Rewrite;

/// The ends of names, in capitals, whose values are secrets.
const NAMES: [&str; 10] = [
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "SECRET",
    "SECRET_KEY",
    "SECRET_ACCESS_KEY",
    "TOKEN",
    "API_KEY",
    "API-KEY",
    "APIKEY",
];

/// What may stand between `Authorization:` and the secret.
const SCHEMES: [&str; 3] = ["BEARER", "BASIC", "TOKEN"];

/// After a name in running text a shorter word is more likely `none` or `true`.
const MIN_VALUE: usize = 6;

/// A quote that stands in a string in a string is escaped three times; deeper nesting is not followed, so
/// that the number of looks for a closing quote stays bounded.
const MAX_BACKSLASHES: usize = 3;

/// The text with secrets replaced.
pub(crate) fn redact(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = Rewrite::of(text);
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let after = at + 1;
        let found = match byte {
            b':' if rest(bytes, after).starts_with(b"//") => url_password(bytes, after + 2),
            b':' => after_colon(bytes, out.before(at), after),
            b'=' => after_equals(bytes, out.before(at), after),
            _ => None,
        };
        at = match found {
            Some(found) => {
                out.replace(found.from, found.to, found.mark);
                found.to
            }
            None => after,
        };
    }
    out.finish()
}

/// Whether a parameter of this name holds a secret.
pub(crate) fn names_secret(name: &str) -> bool {
    ends_in_secret(name.as_bytes()) || ends_in(name.as_bytes(), "AUTHORIZATION")
}

/// Whether a value says nothing: empty, a reference, or a mark already.
pub(crate) fn is_harmless(value: &str) -> bool {
    let bytes = value.as_bytes();
    bytes.is_empty() || is_reference(bytes) || Mark::length_at(bytes) == Some(bytes.len())
}

/// What to replace.
struct Found {
    from: usize,
    to: usize,
    mark: Mark,
}

/// `scheme://user:password@host`, from behind the slashes.
fn url_password(bytes: &[u8], from: usize) -> Option<Found> {
    // A password may hold an `@` that nobody has escaped, so the last one counts.
    let end = end_of(bytes, from, |byte| {
        byte.is_ascii_whitespace() || matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>')
    });
    let authority = bytes.get(from..end)?;
    let at_sign = authority.iter().rposition(|&byte| byte == b'@')?;
    let colon = authority.get(..at_sign)?.iter().position(|&byte| byte == b':')?;
    secret(bytes, from + colon + 1, from + at_sign, 1, Mark::Password)
}

/// `name: value`, `"name":"value"` and `Authorization: Bearer value`.
fn after_colon(bytes: &[u8], before: &[u8], from: usize) -> Option<Found> {
    let name = without_quote(before);
    let next = *bytes.get(from)?;
    if ends_in(name, "AUTHORIZATION") {
        return header_value(bytes, from);
    }
    // Without a space, `a:b` is rather a ratio, a port or a path than a name and its value.
    let separates = next == b' ' || next == b'\t' || is_quote(next) || next == b'\\';
    if !separates || !ends_in_secret(name) {
        return None;
    }
    let (from, to) = value(bytes, skip_blanks(bytes, from));
    secret(bytes, from, to, MIN_VALUE, Mark::Secret)
}

/// `name=value`, `name = value`, `name := value`.
fn after_equals(bytes: &[u8], before: &[u8], from: usize) -> Option<Found> {
    let next = *bytes.get(from)?;
    let operand = match before.split_last() {
        Some((b':' | b'+' | b'?', operand)) => operand,
        _ => before,
    };
    let name = operand.trim_ascii_end();
    let spaced = name.len() < operand.len();
    // `NAME= command` sets an empty value, `a == b` compares.
    if next == b'=' || (!spaced && (next == b' ' || next == b'\t')) {
        return None;
    }
    if !ends_in_secret(without_quote(name)) {
        return None;
    }
    let (from, to) = value(bytes, skip_blanks(bytes, from));
    secret(bytes, from, to, MIN_VALUE, Mark::Secret)
}

/// The credentials of an `Authorization` header, its scheme kept.
fn header_value(bytes: &[u8], from: usize) -> Option<Found> {
    let from = skip_blanks(bytes, from);
    let from = opening_quote(bytes, from).map_or(from, |quote| quote.end);
    let to = end_of_word(bytes, from);
    let scheme = bytes.get(from..to)?;
    if SCHEMES.iter().any(|name| scheme.eq_ignore_ascii_case(name.as_bytes())) {
        let from = skip_blanks(bytes, to);
        return secret(bytes, from, end_of_word(bytes, from), 1, Mark::Secret);
    }
    secret(bytes, from, to, MIN_VALUE, Mark::Secret)
}

/// The value between these ends, unless it is none worth hiding.
fn secret(bytes: &[u8], from: usize, to: usize, min: usize, mark: Mark) -> Option<Found> {
    let value = bytes.get(from..to)?;
    // Bytes that continue a character do not count.
    let long_enough =
        value.iter().filter(|byte| !byte.is_ascii_whitespace() && (**byte & 0xc0) != 0x80).take(min).count()
            == min;
    let marked = Mark::length_at(value) == Some(value.len());
    (long_enough && !marked && !is_reference(value)).then_some(Found { from, to, mark })
}

/// From where to where the value goes that begins at `from`, its quotes left out.
fn value(bytes: &[u8], from: usize) -> (usize, usize) {
    let Some(quote) = opening_quote(bytes, from) else {
        return (from, end_of_word(bytes, from));
    };
    let mut backslashes = 0;
    let mut at = quote.end;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'\n' || (byte == quote.byte && backslashes <= quote.backslashes) {
            break;
        }
        backslashes = if byte == b'\\' { backslashes + 1 } else { 0 };
        at += 1;
    }
    // A closing quote is as deeply escaped as the opening one.
    (quote.end, at - backslashes.min(quote.backslashes))
}

/// The quote that a value begins with, perhaps escaped.
struct Quote {
    byte: u8,
    backslashes: usize,
    /// Behind it.
    end: usize,
}

fn opening_quote(bytes: &[u8], from: usize) -> Option<Quote> {
    let rest = rest(bytes, from);
    let backslashes = rest.iter().take(MAX_BACKSLASHES).take_while(|&&byte| byte == b'\\').count();
    let &byte = rest.get(backslashes)?;
    is_quote(byte).then_some(Quote { byte, backslashes, end: from + backslashes + 1 })
}

/// The end of a word that is not in quotes: at a space, or before a quote with its backslashes.
fn end_of_word(bytes: &[u8], from: usize) -> usize {
    let end = end_of(bytes, from, |byte| byte.is_ascii_whitespace() || is_quote(byte));
    let word = bytes.get(from..end).unwrap_or_default();
    let ends_at_quote = bytes.get(end).is_some_and(|&byte| is_quote(byte));
    let backslashes = word.iter().rev().take_while(|&&byte| byte == b'\\').count();
    if ends_at_quote { end - backslashes } else { end }
}

/// Where a byte stands that stops. A mark is one piece, although it holds a space.
fn end_of(bytes: &[u8], from: usize, stops: fn(u8) -> bool) -> usize {
    let mut at = from;
    while let Some(&byte) = bytes.get(at) {
        match Mark::length_at(rest(bytes, at)) {
            Some(length) => at += length,
            None if stops(byte) => break,
            None => at += 1,
        }
    }
    at
}

fn rest(bytes: &[u8], from: usize) -> &[u8] {
    bytes.get(from..).unwrap_or_default()
}

fn skip_blanks(bytes: &[u8], from: usize) -> usize {
    let blanks = rest(bytes, from).iter().take_while(|&&byte| byte == b' ' || byte == b'\t');
    from + blanks.count()
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

/// A name without the quote that closes it.
fn without_quote(name: &[u8]) -> &[u8] {
    match name.split_last() {
        // In prose a backtick closes a command (`gh auth token`: …), and only around one word a name.
        Some((b'`', name)) => {
            let word = name.iter().rev().take_while(|byte| !byte.is_ascii_whitespace()).count();
            name.get(name.len() - word..).filter(|word| word.contains(&b'`')).unwrap_or_default()
        }
        Some((&byte, name)) if is_quote(byte) => {
            let backslashes = name.iter().rev().take_while(|&&byte| byte == b'\\').count();
            name.get(..name.len() - backslashes).unwrap_or_default()
        }
        _ => name,
    }
}

fn ends_in_secret(name: &[u8]) -> bool {
    NAMES.iter().any(|end| ends_in(name, end))
}

fn ends_in(name: &[u8], end: &str) -> bool {
    name.len()
        .checked_sub(end.len())
        .and_then(|from| name.get(from..))
        .is_some_and(|tail| tail.eq_ignore_ascii_case(end.as_bytes()))
}

/// `$NAME`, `${NAME}` and nothing beside it, or a command's output.
fn is_reference(value: &[u8]) -> bool {
    let Some(name) = value.strip_prefix(b"$") else {
        return false;
    };
    if name.starts_with(b"(") {
        return true;
    }
    let braced = name.strip_prefix(b"{").and_then(|name| name.strip_suffix(b"}"));
    let name = braced.unwrap_or(name);
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::redact;

    #[test]
    fn secrets_are_replaced_and_the_text_around_them_is_unchanged() {
        for (text, wanted) in [
            ("PASSWORD=hunter2", "PASSWORD=[SECRET REDACTED]"),
            ("db_password=hunter2 psql -h x", "db_password=[SECRET REDACTED] psql -h x"),
            ("export API_KEY='a b c d e f'; ls", "export API_KEY='[SECRET REDACTED]'; ls"),
            ("password = \"hunter2\"", "password = \"[SECRET REDACTED]\""),
            ("Token := `hunter2`", "Token := `[SECRET REDACTED]`"),
            ("the `API_TOKEN`: hunter2", "the `API_TOKEN`: [SECRET REDACTED]"),
            ("secret: hunter2\nuser: bob", "secret: [SECRET REDACTED]\nuser: bob"),
            ("{\"token\":\"abcdef\",\"n\":1}", "{\"token\":\"[SECRET REDACTED]\",\"n\":1}"),
            (
                "{\\\"api_key\\\": \\\"abc\\\\\\\"def\\\", 1}",
                "{\\\"api_key\\\": \\\"[SECRET REDACTED]\\\", 1}",
            ),
            ("x-api-key: abcdef", "x-api-key: [SECRET REDACTED]"),
            ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY=[SECRET REDACTED]"),
            ("--password=hunter2 --verbose", "--password=[SECRET REDACTED] --verbose"),
            ("PASSWORD=$A$hunter2", "PASSWORD=[SECRET REDACTED]"),
            ("PASSWORD=пароль", "PASSWORD=[SECRET REDACTED]"),
            ("PASSWORD=\"never closed\nnext", "PASSWORD=\"[SECRET REDACTED]\nnext"),
            (
                "curl -H \"Authorization: Bearer abc\" x",
                "curl -H \"Authorization: Bearer [SECRET REDACTED]\" x",
            ),
            ("authorization: basic dTpw", "authorization: basic [SECRET REDACTED]"),
            ("\"Authorization\":\"Bearer abc\"", "\"Authorization\":\"Bearer [SECRET REDACTED]\""),
            ("Authorization: opaque-credentials", "Authorization: [SECRET REDACTED]"),
            ("https://bob:hunter2@host/x", "https://bob:[PASSWORD REDACTED]@host/x"),
            ("redis://:pw@host:6379/0", "redis://:[PASSWORD REDACTED]@host:6379/0"),
            ("postgres://u:p@ss@h:5432/d u", "postgres://u:[PASSWORD REDACTED]@h:5432/d u"),
            // Text behind a mark that somebody wrote himself is not safe from us.
            ("PASSWORD=[SECRET REDACTED]hunter2", "PASSWORD=[SECRET REDACTED]"),
        ] {
            assert_eq!(redact(text), wanted, "{text}");
            assert_eq!(redact(wanted), wanted, "a second time");
        }
    }

    #[test]
    fn text_that_only_resembles_a_secret_is_unchanged() {
        for text in [
            "",
            "=",
            ":",
            "TOKEN=",
            "TOKEN= make",
            "PASSWORD=short",
            "PASSWORD=$DB_PASSWORD",
            "PASSWORD=\"${DB_PASSWORD}\"",
            "TOKEN=$(gh auth token)",
            "if token == expected {",
            "tokens=100000",
            "token:abcdefgh",
            "password_file=/run/secrets/db",
            "git@github.com:foo/bar",
            "ssh://git@github.com:22/foo/bar",
            "https://host:8080/a@b",
            "https://github.com/a/b",
            "https://bob:$PW@host",
            "Authorization: Bearer $TOKEN",
            "Authorization: Bearer",
            "a: b = c",
            "/home/u/token",
            "`gh auth token`: prints the user's token",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "measures time")]
    fn texts_that_invite_repeated_scans_are_redacted_in_time() {
        // Quadratic work on a text of this size would take half a minute.
        for piece in
            ["token=\"$(", "token=\\\"$( token='$(", "://", "://a", "= ", ": ", "Authorization: ", "token=$"]
        {
            let text = piece.repeat(1 << 16);
            let start = std::time::Instant::now();
            let _ = redact(&text);
            assert!(start.elapsed().as_secs() < 10, "{piece:?} took {:?}", start.elapsed());
        }
    }
}
