//! Secrets that are known by their names: `DB_PASSWORD=…`, `"client_secret": "…"`, `--token …`, `Authorization: …`.
//!
//! Two degrees (`values` judges). A name in capitals that ends in `PASSWORD`, `SECRET`, `TOKEN` or `API_KEY` is a variable of the
//! environment, and its value is a secret whatever it looks like. Any other credential-like name stands in source code far more
//! often than in a secret file (`token = next_token()`, `password: "test"`), so there the value has to look like
//! one too.
//!
//! Reads text in any language, so it reads it as none of them. A reference (`$TOKEN`, `${{ secrets.X }}`, `<token>`), a
//! placeholder (`changeme`) and code are no secrets.

use crate::forms::{LONGEST_NAME, LONGEST_VALUE, MOST_ESCAPES, count, is_blank, is_quote};
use crate::search::has;
use crate::tables::{ENDINGS, HARMLESS, MADE_UP, NAME_WORDS, PASSWORDS, SECRETS};
use crate::values::{has_digit, is_mixed, is_path, is_placeholder, is_random, is_reference};

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
    const WHOLE: [&[u8]; 11] = [
        b"pw",
        b"userpw",
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
    let parted = || {
        [&b"_pw"[..], b"-pw", b".pw", b" pw", b"_pass", b"-pass", b".pass", b"_pwd", b"-pwd", b".pwd"]
            .into_iter()
            .any(ends)
    };
    WHOLE.contains(&plain) || parted()
}

/// Whether one of the words by which names are found stands in this one.
pub(crate) fn is_credential_like(name: &[u8]) -> bool {
    let name = name.get(name.len().saturating_sub(LONGEST_NAME)..).unwrap_or_default().to_ascii_lowercase();
    NAME_WORDS.iter().any(|word| match word.as_bytes() {
        // `pw=`: a word so short counts only at the end of a name.
        [word @ .., b':' | b'='] => name.ends_with(word),
        word => has(&name, word),
    })
}

/// Whether a name says that what it holds is nobody's: `fakeToken`.
pub(crate) fn is_made_up(name: &[u8]) -> bool {
    begins_made_up(Plain::of(name).bytes())
}

fn begins_made_up(plain: &[u8]) -> bool {
    MADE_UP.iter().any(|start| plain.starts_with(start.as_bytes()))
}

/// What the name says of its value, if it is a credential-like one; `None` where it says that it is none.
pub(crate) fn telling(name: &[u8]) -> Option<Telling> {
    let whole = Plain::of(name);
    let mut plain = whole.bytes();
    let is_harmless = |plain: &[u8]| ends_in_one_of(plain, HARMLESS);
    if is_harmless(plain) || has(plain, b"public") || begins_made_up(plain) {
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
    let ends = |words: &[&str]| ends_in_one_of(plain, words);
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

/// Whether a name ends in one of these words. Most end in another letter, which is told without a call: an output full of secrets asks
/// this a million times.
fn ends_in_one_of(name: &[u8], words: &[&str]) -> bool {
    let last = name.last();
    words.iter().any(|word| word.as_bytes().last() == last && name.ends_with(word.as_bytes()))
}

const SCHEMES: &[&[u8]] = &[b"bearer ", b"basic ", b"token ", b"apikey ", b"digest ", b"negotiate "];

/// The credentials of an `Authorization` header whose name ends here.
pub(crate) fn header(text: &[u8], name_end: usize) -> Option<(usize, usize)> {
    let escapes = count(text, name_end, MOST_ESCAPES, |byte| byte == b'\\');
    let quote = text.get(name_end + escapes).copied().is_some_and(is_quote);
    let mut at = if quote { name_end + escapes + 1 } else { name_end };
    at += count(text, at, 64, |byte| is_blank(byte) || byte == b']');
    if !matches!(text.get(at), Some(b':' | b'=')) {
        return None;
    }
    at += 1 + count(text, at + 1, 64, |byte| is_blank(byte) || is_quote(byte) || byte == b'\\');
    header_value(text, at)
}

/// The credentials that begin here, perhaps behind a scheme.
pub(crate) fn header_value(text: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let rest = text.get(at..)?;
    let scheme = SCHEMES.iter().find(|scheme| starts_with(rest, scheme)).copied();
    at += scheme.map_or(0, <[u8]>::len);
    match scheme {
        // `Token token="…"`
        Some(b"token ") if starts_with(text.get(at..)?, b"token=") => {
            at += b"token=".len();
            at += count(text, at, 8, |byte| is_blank(byte) || is_quote(byte) || byte == b'\\');
        }
        // Of a digest, the answer is what proves; the rest are names.
        Some(b"digest ") => {
            let line = text.get(at..at + count(text, at, LONGEST_VALUE, |byte| byte != b'\n'))?;
            let response = memchr::memmem::find(line, b"response=")? + b"response=".len();
            at += response;
            at += count(text, at, 8, |byte| is_blank(byte) || is_quote(byte) || byte == b'\\');
        }
        _ => {}
    }
    // `ApiToken …`, `aivenv1 …`: any other word, where what follows is random.
    let other = count(text, at, 24, |byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if scheme.is_none() && other > 2 && text.get(at + other) == Some(&b' ') {
        let behind = at + other + 1;
        let length = count(text, behind, LONGEST_VALUE, is_credential);
        let value = text.get(behind..behind + length)?;
        if is_random(value, true) && !value.starts_with(b"Credential=") {
            return Some((behind, behind + length));
        }
    }
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
