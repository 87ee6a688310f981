//! Secrets that are known by their names: `DB_PASSWORD=…`, `"client_secret": "…"`, `--token …`, `Authorization: …`.
//!
//! Two degrees. A name in capitals that ends in `PASSWORD`, `SECRET`, `TOKEN` or `API_KEY` is a variable of the
//! environment, and its value is a secret whatever it looks like. Any other telling name stands in source code far more
//! often than in a file of secrets (`token = next_token()`, `password: "test"`), so there the value has to look like
//! one too.
//!
//! Reads text in any language, so it reads it as none of them. A reference (`$TOKEN`, `${{ secrets.X }}`, `<token>`), a
//! placeholder (`changeme`) and code are no secrets.

/// A name and the value that it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) name: (usize, usize),
    pub(crate) value: (usize, usize),
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A value in quotes.
    Quoted,
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
const LONGEST_VALUE: usize = 4096;
const MOST_BLANKS: usize = 16;

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
    let escapes = count(text, at, 3, |byte| byte == b'\\');
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
            if !parted {
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
        _ => return None,
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
    let escapes = count(text, at, 3, |byte| byte == b'\\');
    match byte(at + escapes) {
        Some(quote) if is_quote(quote) => {
            let begin = at + escapes + 1;
            let end = closing_quote(text, begin, quote, escapes);
            some(name, begin, end, Form::Quoted)
        }
        _ => {
            let tight = before == 0 && operator == b'=';
            let end = at
                + count(text, at, LONGEST_VALUE, |byte| {
                    !byte.is_ascii_whitespace()
                        && !is_quote(byte)
                        && !matches!(byte, b'\\' | b'<' | b'>' | 0x1b)
                });
            let last = text.get(at..end)?.iter().rev().take_while(|byte| matches!(byte, b',' | b';')).count();
            let ends_line = matches!(byte(end), None | Some(b'\n' | b'\r')) && last == 0;
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

/// The ends of names that are no secrets, though they hold such a word.
const HARMLESS: &[&str] = &[
    "nexttoken",
    "pagetoken",
    "synctoken",
    "continuationtoken",
    "canceltoken",
    "cancellationtoken",
    "publickey",
    "pubkey",
    "publishablekey",
    "primarykey",
    "foreignkey",
    "cachekey",
    "sortkey",
    "partitionkey",
    "routingkey",
    "rowkey",
    "hotkey",
    "idempotencykey",
    "sitekey",
    "id",
    "secretname",
    "tokentype",
    "keytype",
    "keyname",
    "tokenname",
    "hash",
    "digest",
    "checksum",
    "fingerprint",
    "sha",
    "sha1",
    "sha256",
    "integrity",
    "author",
    "authors",
    "authority",
    "url",
    "uri",
    "path",
    "file",
    "dir",
    "endpoint",
    "address",
    "arn",
    "pub",
    "thumbprint",
];

/// What may stand behind a telling word and says nothing.
const ENDINGS: &[&str] =
    &["base64", "b64", "value", "prod", "production", "dev", "test", "staging", "live", "old", "new"];

const PASSWORDS: &[&str] = &["password", "passwd", "passphrase", "passcode", "passwort"];
const SECRETS: &[&str] = &[
    "secret",
    "token",
    "apikey",
    "secretkey",
    "accesskey",
    "privatekey",
    "authkey",
    "masterkey",
    "signingkey",
    "encryptionkey",
    "secretkeybase",
    "appkey",
    "clientkey",
    "licensekey",
    "servicekey",
];

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

/// What the name says; `None` where it says nothing.
pub(crate) fn telling(name: &[u8]) -> Option<Telling> {
    let whole = Plain::of(name);
    let mut plain = whole.bytes();
    if HARMLESS.iter().any(|end| plain.ends_with(end.as_bytes())) {
        return None;
    }
    while let [rest @ .., b'0'..=b'9'] = plain {
        plain = rest;
    }
    for ending in ENDINGS {
        plain = plain.strip_suffix(ending.as_bytes()).unwrap_or(plain);
    }
    let ends = |words: &[&str]| words.iter().any(|word| plain.ends_with(word.as_bytes()));
    let short = |word: &[u8]| {
        name.len() > word.len()
            && name.get(name.len() - word.len()..).is_some_and(|end| end.eq_ignore_ascii_case(word))
    };
    if is_header(name) {
        Some(Telling::Header)
    } else if ends(PASSWORDS) || short(b"_pass") || short(b"-pass") || short(b"_pwd") {
        Some(Telling::Password)
    } else if ends(SECRETS) {
        Some(Telling::Secret)
    } else {
        Some(Telling::Weak)
    }
}

/// Whether the value of an assignment is a secret, by its name and by its looks.
pub(crate) fn secret(text: &[u8], found: &Assignment, all: bool, entropy: bool) -> Option<Telling> {
    let name = text.get(found.name.0..found.name.1)?;
    let telling = telling(name)?;
    let (from, to) = found.value;
    let value = text.get(from..to)?;
    if is_reference(value) || is_mark(value) {
        return None;
    }
    let is_secret = match telling {
        Telling::Header => false,
        Telling::Weak => entropy && is_random(value, false),
        Telling::Password | Telling::Secret => {
            is_variable(name, value, found.form)
                || (all && is_literal(value, found.form))
                || (entropy && is_random(value, true))
                || is_strong(value, found.form)
                || (telling == Telling::Password && is_set(name, value, found.form))
        }
    };
    is_secret.then_some(telling)
}

/// Whether the value of a member of this name is a secret, where both are known to be just that.
pub(crate) fn secret_member(name: &[u8], value: &[u8], all: bool, entropy: bool) -> Option<Telling> {
    let telling = telling(name).filter(|telling| *telling != Telling::Weak || entropy)?;
    if is_reference(value) || is_mark(value) {
        return None;
    }
    let form = Form::Quoted;
    let strong = || {
        is_variable(name, value, form)
            || (all && is_literal(value, form))
            || (entropy && is_random(value, true))
            || is_strong(value, form)
    };
    match telling {
        Telling::Header => header_value(value, 0).is_some(),
        Telling::Weak => is_random(value, false),
        Telling::Password | Telling::Secret => strong(),
    }
    .then_some(telling)
}

const SCHEMES: &[&[u8]] = &[b"bearer ", b"basic ", b"token ", b"apikey ", b"digest ", b"negotiate "];

/// The credentials of an `Authorization` header whose name ends here.
pub(crate) fn header(text: &[u8], name_end: usize) -> Option<(usize, usize)> {
    let escapes = count(text, name_end, 3, |byte| byte == b'\\');
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
fn header_value(text: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let rest = text.get(at..)?;
    let scheme = SCHEMES.iter().find(|scheme| starts_with(rest, scheme));
    at += scheme.map_or(0, |scheme| scheme.len());
    let length = count(text, at, LONGEST_VALUE, is_credential);
    let value = text.get(at..at + length)?;
    let enough = match scheme {
        Some(_) => value.len() >= 6,
        None => value.len() >= 8 && has_digit(value),
    };
    let behind = text.get(at + length).copied().unwrap_or(b' ');
    let ends = !matches!(behind, b'(' | b'{' | b'$');
    (enough && ends && !is_placeholder(value) && !is_reference(value)).then_some((at, at + length))
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
    let alike = value.len() >= 16 && has_digit(value) && letters && !is_placeholder(value);
    alike.then_some((to, to + length))
}

fn starts_with(value: &[u8], word: &[u8]) -> bool {
    value.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

fn has_digit(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit)
}

/// `DB_PASSWORD=…`: a variable of the environment, which holds what it says.
fn is_variable(name: &[u8], value: &[u8], form: Form) -> bool {
    let letters = || name.iter().filter(|byte| byte.is_ascii_alphabetic());
    matches!(form, Form::Tight | Form::Quoted | Form::Yaml | Form::Line)
        && letters().all(u8::is_ascii_uppercase)
        && letters().count() > 2
        && value.len() >= 4
        && is_literal(value, form)
        && (form == Form::Tight || has_digit(value) || form == Form::Yaml && value.len() >= 8)
}

/// `password: hunter2` alone on its line, or `password=hunter2`: a file of settings, not a program.
fn is_set(name: &[u8], value: &[u8], form: Form) -> bool {
    let plain = !value.iter().any(|byte| matches!(byte, b'(' | b')' | b'[' | b']' | b'{' | b'}' | b','));
    matches!(form, Form::Tight | Form::Yaml | Form::Line)
        && plain
        && value.len() >= 6
        && has_digit(value)
        && value.iter().any(u8::is_ascii_alphabetic)
        && is_literal(value, form)
        && !name.contains(&b'(')
        && !holds_word(value)
}

/// A password that nobody writes into an example: letters, digits, and signs or both cases.
fn is_strong(value: &[u8], form: Form) -> bool {
    let any = |fits: fn(&u8) -> bool| value.iter().any(fits);
    let signs = value
        .iter()
        .filter(|byte| matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'?'))
        .count();
    let kinds =
        [any(u8::is_ascii_lowercase), any(u8::is_ascii_uppercase), any(u8::is_ascii_digit), signs > 0];
    value.len() >= 8
        && value.len() <= 64
        && value.iter().all(u8::is_ascii_graphic)
        && kinds.into_iter().filter(|kind| *kind).count() >= 3
        && any(u8::is_ascii_digit)
        && signs > 0
        && signs <= value.len() / 3
        && is_literal(value, form)
        && !holds_word(value)
}

/// Whether a value is text that stands for itself: no code, no placeholder.
fn is_literal(value: &[u8], form: Form) -> bool {
    let any = |bytes: &[u8]| value.iter().any(|byte| bytes.contains(byte));
    let is_code = match form {
        Form::Quoted => value.contains(&b' '),
        _ => any(b"({[") || value.first().is_some_and(|first| b"&*./|-!@~+?".contains(first)),
    };
    value.len() >= 4 && !is_code && !value.contains(&b'\n') && !is_placeholder(value)
}

const WORDS: &[&str] = &["token", "secret", "passw", "key", "credential"];

fn holds_word(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    WORDS.iter().any(|word| memchr::memmem::find(&lower, word.as_bytes()).is_some())
}

/// What stands in manuals where a secret is meant.
const PLACEHOLDERS: &[&str] = &[
    "null",
    "none",
    "nil",
    "true",
    "false",
    "undefined",
    "string",
    "str",
    "text",
    "bytes",
    "number",
    "integer",
    "boolean",
    "object",
    "optional",
    "required",
    "password",
    "passwd",
    "pass",
    "pwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "key",
    "value",
    "test",
    "todo",
    "empty",
    "default",
    "user",
    "username",
    "admin",
    "root",
    "hidden",
    "masked",
    "redacted",
    "unset",
    "default_value",
    "any",
    "char",
    "varchar",
    "yes",
    "read",
    "write",
    "auto",
    "vault",
    "prompt",
    "xxx",
];
const PARTS: &[&str] = &[
    "change",
    "example",
    "your",
    "placeholder",
    "xxxx",
    "****",
    "....",
    "dummy",
    "replace",
    "insert",
    "redacted",
    "foobar",
    "____",
    "----",
    "####",
    "n/a",
    "not-a-",
    "not_a_",
    "todo",
];

fn is_placeholder(value: &[u8]) -> bool {
    let lower = value.get(..value.len().min(64)).unwrap_or_default().to_ascii_lowercase();
    let trimmed = lower.trim_ascii();
    PLACEHOLDERS.iter().any(|word| trimmed == word.as_bytes())
        || PARTS.iter().any(|part| memchr::memmem::find(trimmed, part.as_bytes()).is_some())
        || value.iter().all(|byte| Some(byte) == value.first())
}

/// A value that is looked up somewhere else: `$X`, `${X}`, `$(…)`, `{{x}}`, `<x>`, `%X%`, `%s`, `process.env.X`.
pub(crate) fn is_reference(value: &[u8]) -> bool {
    const SOURCES: &[&[u8]] = &[
        b"process.env",
        b"os.environ",
        b"os.getenv",
        b"env.",
        b"env(",
        b"ENV[",
        b"import.meta",
        b"secrets.",
        b"vault:",
        b"ssm:",
        b"op://",
        b"sops",
        b"ENC[",
        b"ref+",
        b"!Ref",
        b"!Sub",
        b"arn:",
        b"var.",
        b"local.",
        b"data.",
    ];
    match value {
        [] => true,
        [b'$', second, ..] => second.is_ascii_alphabetic() || matches!(second, b'{' | b'(' | b'_' | b'$'),
        [b'{' | b'#' | b'@', b'{', ..] | [b'<', ..] => true,
        [b'%', rest @ ..] => rest.ends_with(b"%") || rest.len() < 3,
        [b'{', rest @ ..] => rest.ends_with(b"}"),
        _ => {
            SOURCES.iter().any(|source| value.starts_with(source))
                || memchr::memmem::find(value, b"${").is_some()
                || memchr::memmem::find(value, b"{{").is_some()
                || memchr::memmem::find(value, b"$(").is_some()
        }
    }
}

/// Whether a mark of ours stands at the beginning.
pub(crate) fn is_mark(value: &[u8]) -> bool {
    let Some(rest) = value.strip_prefix(b"[") else { return false };
    let near = rest.get(..rest.len().min(48)).unwrap_or_default();
    near.starts_with(b"REDACTED")
        || near.starts_with(b"EMAIL_REDACTED]")
        || memchr::memmem::find(near, b" REDACTED]").is_some()
}

/// Whether a value looks as if nobody had thought it up. `sure` says that the name leaves no doubt: then hexadecimal
/// digits count too, which are a hash elsewhere.
pub(crate) fn is_random(value: &[u8], sure: bool) -> bool {
    const FEWEST: usize = 16;
    const MOST: usize = 512;
    let value = value.strip_suffix(b"==").or_else(|| value.strip_suffix(b"=")).unwrap_or(value);
    if value.len() < FEWEST || value.len() > MOST || is_placeholder(value) {
        return false;
    }
    let fits = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-' | b'.' | b'~' | b'=')
    };
    if !value.iter().all(fits) {
        return false;
    }
    let count = |fits: fn(&u8) -> bool| value.iter().filter(|byte| fits(byte)).count();
    let (digits, lowers, uppers) =
        (count(u8::is_ascii_digit), count(u8::is_ascii_lowercase), count(u8::is_ascii_uppercase));
    if digits < 2 || lowers + uppers == 0 {
        return false;
    }
    let separators = value.len() - digits - lowers - uppers;
    if value.iter().all(u8::is_ascii_hexdigit) || is_uuid(value) {
        let hash = matches!(value.len(), 40 | 64 | 96 | 128);
        return sure && !hash && value.len() >= 20 && entropy(value) > 2.8;
    }
    // Names and versions have few changes between letters and digits, and many signs between words.
    let kind = |byte: u8| {
        if byte.is_ascii_digit() {
            0
        } else if byte.is_ascii_lowercase() {
            1
        } else if byte.is_ascii_uppercase() {
            2
        } else {
            3
        }
    };
    let changes = value
        .windows(2)
        .filter(|pair| matches!(pair, [one, other] if kind(*one) != kind(*other) && kind(*one) < 3 && kind(*other) < 3))
        .count();
    let climbs = value.windows(2).filter(|pair| matches!(pair, [one, other] if one + 1 == *other)).count();
    let mixed = lowers > 0 && uppers > 0;
    let needed = if mixed { 35 } else { 22 };
    changes * 100 >= needed * (value.len() - separators)
        && separators * 5 <= value.len()
        && climbs * 3 <= value.len()
        && entropy(value) >= if sure { 3.0 } else { 3.5 }
}

/// Letters in both cases as only chance mixes them: a token of twenty characters may well have no digit.
pub(crate) fn is_mixed(bytes: impl Iterator<Item = u8>) -> bool {
    const FEWEST: usize = 16;
    let (mut lowers, mut uppers, mut changes, mut was_upper) = (0, 0, 0, None);
    for byte in bytes.filter(u8::is_ascii_alphabetic) {
        let upper = byte.is_ascii_uppercase();
        *if upper { &mut uppers } else { &mut lowers } += 1;
        changes += usize::from(was_upper.is_some_and(|was| was != upper));
        was_upper = Some(upper);
    }
    let letters = lowers + uppers;
    letters >= FEWEST
        && uppers * 10 >= letters * 3
        && lowers * 10 >= letters * 3
        && changes * 10 >= letters * 3
}

fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Shannon's, in bits for each byte.
#[expect(clippy::cast_precision_loss, reason = "lengths are small")]
pub(crate) fn entropy(bytes: &[u8]) -> f32 {
    let mut counts = [0_u16; 256];
    for byte in bytes.iter().take(LONGEST_VALUE) {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let length = bytes.len().min(LONGEST_VALUE) as f32;
    let bits = |count: u16| {
        let part = f32::from(count) / length;
        -part * part.log2()
    };
    counts.into_iter().filter(|count| *count > 0).map(bits).sum()
}
