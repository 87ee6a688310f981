//! Whether a value is a secret, by its looks and by the name that it is given to.
//!
//! What must stay: code (`token = next()`), numbers, references to where the secret is kept, the placeholders of manuals,
//! names of types, hashes. What is left is a secret where the name is a variable of the environment, or where nobody
//! would have thought such a value up.

use crate::names::{Assignment, Form, LONGEST_VALUE, Plain, Telling, header_value, telling};
use crate::search::has;
use crate::tables::{PLACEHOLDER_PARTS, PLACEHOLDERS, REFERENCES};

/// Whether the value of an assignment is a secret.
pub(crate) fn secret(text: &[u8], found: &Assignment, every: bool, entropy: bool) -> Option<Telling> {
    let name = text.get(found.name.0..found.name.1)?;
    let value = text.get(found.value.0..found.value.1)?;
    judge(name, value, found.form, every, entropy).filter(|telling| *telling != Telling::Header)
}

/// Whether the value of a member of this name is a secret, where both are known to be just that.
pub(crate) fn secret_member(name: &[u8], value: &[u8], every: bool, entropy: bool) -> Option<Telling> {
    judge(name, value, Form::Quoted, every, entropy)
}

fn judge(name: &[u8], value: &[u8], form: Form, every: bool, entropy: bool) -> Option<Telling> {
    let telling = telling(name)?;
    // First what says most: the value of a member may be an output of megabytes, of which the rest would be four searches.
    if telling == Telling::Weak && !(entropy && is_random(value, false)) {
        return None;
    }
    let nothing = is_reference(value) || is_mark(value) || has(value, b"://");
    if nothing || is_path(value) || says_name(name, value) {
        return None;
    }
    let sure = matches!(form, Form::Tight | Form::TightQuoted) || !is_uuid(value) || names_access(name);
    let is_secret = match telling {
        Telling::Header => header_value(value, 0).is_some(),
        Telling::Weak => true,
        Telling::Password | Telling::Secret => {
            is_variable(name, value, form)
                || (telling == Telling::Password && form == Form::Tight && is_pin(value))
                || (every && is_literal(value, form))
                || (entropy && sure && is_random(value, true))
                || is_strong(value, form)
                || (telling == Telling::Password && is_set(value, form))
        }
    };
    is_secret.then_some(telling)
}

/// `DB_PASSWORD=…`: a variable of the environment, which holds what it says.
fn is_variable(name: &[u8], value: &[u8], form: Form) -> bool {
    let mut letters = name.iter().filter(|byte| byte.is_ascii_alphabetic());
    let odd = |value: &[u8]| value.iter().any(|byte| !byte.is_ascii_alphabetic());
    let tight = matches!(form, Form::Tight | Form::TightQuoted);
    form != Form::Other
        && letters.clone().count() > 2
        && letters.all(u8::is_ascii_uppercase)
        && if tight { is_set_by_a_shell(value) } else { is_literal(value, form) && odd(value) }
        // `optional-secret`
        && (has_digit(value) || !holds_word(value))
}

/// Whether a shell would take it as it stands; what a program writes behind its own names looks otherwise.
fn is_set_by_a_shell(value: &[u8]) -> bool {
    let is_call = memchr::memchr(b'(', value).is_some_and(|open| {
        open == 0
            || value.get(open - 1).is_some_and(|before| before.is_ascii_alphanumeric() || *before == b'_')
    });
    let is_file =
        value.first() == Some(&b'/') && memchr::memchr(b'/', value.get(1..).unwrap_or_default()).is_some();
    let is_list = matches!(value.first(), Some(b'{' | b'[' | b'('));
    let is_rest = value.iter().rev().take(2).any(|byte| matches!(byte, b']' | b'}' | b')'))
        && !value.iter().any(|byte| matches!(byte, b'[' | b'{' | b'('));
    let is_file =
        is_file || value.starts_with(b"./") || value.starts_with(b"../") || value.starts_with(b"~/");
    let is_code = is_call || is_file || is_list || is_rest;
    value.len() >= 4 && !is_code && !value.contains(&b'\n') && !is_number(value) && !is_placeholder(value)
}

/// `password: hunter2` alone on its line, or `password=hunter2`: a file of settings, not a program.
fn is_set(value: &[u8], form: Form) -> bool {
    matches!(form, Form::Tight | Form::Yaml | Form::Line)
        && value.len() >= 6
        && has_digit(value)
        && value.iter().any(u8::is_ascii_alphabetic)
        && is_literal(value, form)
        && !holds_word(value)
}

/// A password that nobody writes into an example: letters, digits and signs.
fn is_strong(value: &[u8], form: Form) -> bool {
    let any = |fits: fn(&u8) -> bool| value.iter().any(fits);
    let signs = value.iter().filter(|byte| byte.is_ascii_punctuation() && !b"_-./".contains(byte)).count();
    (8..=64).contains(&value.len())
        && value.iter().all(u8::is_ascii_graphic)
        && any(u8::is_ascii_alphabetic)
        && any(u8::is_ascii_digit)
        && signs > 0
        && signs <= value.len() / 2
        && is_literal(value, form)
        && !holds_word(value)
}

/// Whether a value is text that stands for itself: no code, no number, no placeholder.
fn is_literal(value: &[u8], form: Form) -> bool {
    let any = |bytes: &[u8]| value.iter().any(|byte| bytes.contains(byte));
    let is_code = match form {
        // A sentence, or a pattern for a program.
        Form::Quoted | Form::TightQuoted => value.contains(&b' ') || (any(b"([{") && any(b")]}")),
        // `&` and `*` name another value in YAML, `!` its type, `|` and `>` a text of several lines.
        Form::Yaml => any(b"(){}[]") || value.first().is_some_and(|first| b"&*|>!".contains(first)),
        _ => any(b"(){}[]") || value.first().is_some_and(|first| b"&*./|-!@~+?".contains(first)),
    };
    value.len() >= 4 && !is_code && !value.contains(&b'\n') && !is_number(value) && !is_placeholder(value)
}

/// `1256`, `0x10100`, `331.1`, `1_000`
fn is_number(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"0x").unwrap_or(value);
    let hex = digits.len() < value.len();
    value.len() <= 18
        && digits.iter().all(|byte| {
            byte.is_ascii_digit() || matches!(byte, b'.' | b'_') || (hex && byte.is_ascii_hexdigit())
        })
}

/// A password of digits alone.
fn is_pin(value: &[u8]) -> bool {
    (6..=32).contains(&value.len()) && value.iter().all(u8::is_ascii_digit) && !is_placeholder(value)
}

/// `creds.Token`, `win32api.RegEnumKey`: names of a program, joined by dots.
pub(crate) fn is_path(value: &[u8]) -> bool {
    let is_name = |part: &[u8]| {
        part.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
            && part.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
            && part.len() <= 40
            && !is_mixed(part.iter().copied())
    };
    value.contains(&b'.') && value.split(|byte| *byte == b'.').all(is_name)
}

/// Whether a value only says its name again: `PULP_PASSWORD=pulp_password`.
fn says_name(name: &[u8], value: &[u8]) -> bool {
    let (name, value) = (Plain::of(name), Plain::of(value));
    value.bytes().len() >= 4 && name.bytes().ends_with(value.bytes())
}

/// Whether a name is that of a key to something, not of one among many: `access_token`, not `lockToken`.
fn names_access(name: &[u8]) -> bool {
    const WORDS: [&[u8]; 9] =
        [b"access", b"auth", b"api", b"refresh", b"bearer", b"secret", b"passw", b"client", b"session"];
    let plain = Plain::of(name);
    WORDS.iter().any(|word| has(plain.bytes(), word))
}

/// Words that a secret does not hold, but the name of one does.
fn holds_word(value: &[u8]) -> bool {
    const WORDS: [&[u8]; 5] = [b"token", b"secret", b"passw", b"key", b"credential"];
    let lower = value.to_ascii_lowercase();
    WORDS.iter().any(|word| has(&lower, word))
}

/// What stands in manuals where a secret is meant.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    let lower = value.get(..value.len().min(64)).unwrap_or_default().to_ascii_lowercase();
    let trimmed = lower.trim_ascii();
    PLACEHOLDERS.iter().any(|word| trimmed == word.as_bytes())
        || PLACEHOLDER_PARTS.iter().any(|part| has(trimmed, part.as_bytes()))
        || value.iter().all(|byte| Some(byte) == value.first())
}

/// A value that is looked up somewhere else: `$X`, `${X}`, `$(…)`, `{{x}}`, `<x>`, `%X%`, `%s`, `process.env.X`.
pub(crate) fn is_reference(value: &[u8]) -> bool {
    let is_name = |name: &[u8]| {
        name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b' '))
    };
    match value {
        [] | [b'$', b'{' | b'(' | b'$', ..] | [b'{' | b'#' | b'@', b'{', ..] => true,
        [b'$', rest @ ..] => {
            let name = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
            name > 0 && rest.get(name).is_none_or(|behind| b"&;,)/\\ .:-".contains(behind))
        }
        [b'<', rest @ .., b'>'] | [b'{', rest @ .., b'}'] | [b'%', rest @ .., b'%'] => is_name(rest),
        [b'<', rest @ ..] => is_name(rest),
        [b'%', rest @ ..] => rest.len() < 3,
        _ => {
            REFERENCES.iter().any(|source| value.starts_with(source.as_bytes()))
                || [&b"${"[..], b"{{", b"$("].iter().any(|open| has(value, open))
        }
    }
}

/// Whether a mark of ours stands at the beginning.
pub(crate) fn is_mark(value: &[u8]) -> bool {
    let Some(rest) = value.strip_prefix(b"[") else { return false };
    let near = rest.get(..rest.len().min(48)).unwrap_or_default();
    near.starts_with(b"REDACTED") || near.starts_with(b"EMAIL_REDACTED]") || has(near, b" REDACTED]")
}

/// Whether a value looks as if nobody had thought it up. `sure` says that the name leaves no doubt: then hexadecimal
/// digits count too, which are a hash elsewhere.
pub(crate) fn is_random(value: &[u8], sure: bool) -> bool {
    const FEWEST: usize = 16;
    const MOST: usize = 512;
    // Public keys in DER begin so.
    const PUBLIC: [&[u8]; 4] = [b"MFkwEwYHKoZIzj0", b"MCowBQYDK2V", b"MIIBIjANBgkq", b"MIICIjANBgkq"];
    let value = value.strip_suffix(b"==").or_else(|| value.strip_suffix(b"=")).unwrap_or(value);
    let fits = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-' | b'.' | b'~' | b'=')
    };
    if !(FEWEST..=MOST).contains(&value.len())
        || !value.iter().all(fits)
        || is_placeholder(value)
        || PUBLIC.iter().any(|begin| value.starts_with(begin))
    {
        return false;
    }
    let count = |fits: fn(&u8) -> bool| value.iter().filter(|byte| fits(byte)).count();
    let (digits, lowers, uppers) =
        (count(u8::is_ascii_digit), count(u8::is_ascii_lowercase), count(u8::is_ascii_uppercase));
    if is_mixed(value.iter().copied()) && wordiness(value) < 50 {
        return entropy(value) >= 3.0;
    }
    if digits < 2 || lowers + uppers == 0 {
        return false;
    }
    if value.iter().all(u8::is_ascii_hexdigit) || is_uuid(value) {
        let hash = matches!(value.len(), 40 | 64 | 96 | 128);
        return sure && !hash && value.len() >= 20 && entropy(value) > 2.8;
    }
    // Names and versions have few changes between letters and digits, and many signs between words.
    let kind = |byte: u8| match byte {
        b'0'..=b'9' => Some(0),
        b'a'..=b'z' => Some(1),
        b'A'..=b'Z' => Some(2),
        _ => None,
    };
    let changed = |one: u8, other: u8| kind(one).zip(kind(other)).is_some_and(|(one, other)| one != other);
    let changes =
        value.windows(2).filter(|pair| matches!(pair, [one, other] if changed(*one, *other))).count();
    let climbs = value.windows(2).filter(|pair| matches!(pair, [one, other] if one + 1 == *other)).count();
    let separators = value.len() - digits - lowers - uppers;
    let both = lowers > 0 && uppers > 0;
    let needed = match (both, sure) {
        (true, _) => 35,
        (false, true) => 14,
        (false, false) => 22,
    };
    changes * 100 >= needed * (value.len() - separators)
        && separators * 5 <= value.len()
        && climbs * 3 <= value.len()
        && (!both || wordiness(value) < 50)
        && entropy(value) >= if sure { 3.0 } else { 3.5 }
}

/// How much of a value stands in runs of four small letters and more, in percent: chance seldom writes words.
fn wordiness(value: &[u8]) -> usize {
    let runs = value.split(|byte| !byte.is_ascii_lowercase()).map(<[u8]>::len).filter(|run| *run >= 4);
    runs.sum::<usize>() * 100 / value.len().max(1)
}

/// Letters in both cases as only chance mixes them: a token of twenty characters may well have no digit.
pub(crate) fn is_mixed(bytes: impl Iterator<Item = u8>) -> bool {
    const FEWEST: usize = 14;
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

pub(crate) fn has_digit(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit)
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
