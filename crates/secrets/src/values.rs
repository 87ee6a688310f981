//! Whether a value is a secret, by its looks and by the name that it is given to.
//!
//! What must stay: code (`token = next()`), numbers, references to where the secret is kept, the placeholders of manuals,
//! names of types, hashes. What is left is a secret where the name is a variable of the environment, or where nobody
//! would have thought such a value up.

use crate::forms::{Assignment, Form, LONGEST_VALUE, is_quote};
use crate::gram::pairs;
use crate::names::{Plain, Telling, header_value, is_credential_like, telling};
use crate::search::has;
use crate::tables::{MAKERS, PLACEHOLDER_PARTS, PLACEHOLDERS, REFERENCES};

/// Whether the value of an assignment is a secret. Of a long one, its beginning says.
pub(crate) fn secret(text: &[u8], found: &Assignment, every: bool, entropy: bool) -> Option<Telling> {
    let name = text.get(found.name.0..found.name.1)?;
    let value = text.get(found.value.0..found.value.1.min(found.value.0 + LONGEST_VALUE))?;
    let telling = judge(name, value, found.form, every, entropy).or_else(|| {
        let quote = found.value.0.checked_sub(1).and_then(|before| text.get(before));
        let quoted = quote.copied().is_some_and(is_quote);
        // Without quotes, code that has been made small looks like it.
        let alone = || found.form == Form::Yaml && !value.iter().any(|byte| b",;=".contains(byte));
        let is_meant = (found.form == Form::Loose && quoted) || alone();
        let telling = telling(name).filter(|telling| matches!(telling, Telling::Password | Telling::Secret));
        telling.filter(|_| is_meant && is_noise(value) && !is_reference(value) && !is_mark(value))
    });
    telling.filter(|telling| *telling != Telling::Header)
}

/// Whether the value of a member of this name is a secret, where both are known to be just that. Any member comes here, so it has to be
/// asked whether the name is credential-like at all: in a text only such names are found.
pub(crate) fn secret_member(name: &[u8], value: &[u8], every: bool, entropy: bool) -> Option<Telling> {
    is_credential_like(name).then(|| judge(name, value, Form::Quoted, every, entropy)).flatten()
}

pub(crate) fn judge(name: &[u8], value: &[u8], form: Form, every: bool, entropy: bool) -> Option<Telling> {
    let telling = telling(name)?;
    // First what says most: the value of a member may be an output of megabytes, of which the rest would be four searches.
    let is_made = || is_random(value, false) || (is_random(value, true) && names_maker(name));
    let quoted = matches!(form, Form::Quoted | Form::TightQuoted);
    let is_odd = || quoted && names_secret_inside(name) && is_noise(value);
    if telling == Telling::Weak && !(entropy && (is_made() || is_odd())) {
        return None;
    }
    let nothing = is_reference(value) || is_mark(value) || has(value, b"://");
    if nothing || is_path(value) || is_route(value) || says_name(name, value) {
        return None;
    }
    // The variable of the working directory, and the one before.
    if matches!(name, b"PWD" | b"OLDPWD")
        && value.first().is_some_and(|first| matches!(first, b'/' | b'~' | b'.'))
    {
        return None;
    }
    let is_password = telling == Telling::Password;
    let is_secret = match telling {
        Telling::Header => header_value(value, 0).is_some(),
        Telling::Weak => !matches!(form, Form::Loose | Form::Beside),
        Telling::Password | Telling::Secret if form == Form::Beside => {
            entropy && is_random(value, true) && !holds_word(value)
        }
        Telling::Password | Telling::Secret if form == Form::Loose => {
            entropy
                && !holds_word(value)
                && (is_random(value, true) || is_brief(value) || (is_password && is_strong(value, form)))
        }
        Telling::Password | Telling::Secret => {
            is_variable(name, value, form, is_password)
                || (is_password && form == Form::Tight && is_pin(value))
                || (every && is_literal(value, form))
                || (entropy && (is_random(value, true) || is_brief(value)) && !is_type(value, form))
                || is_strong(value, form)
                || is_serial(value)
                || (quoted && is_noise(value))
                || (is_password && is_set(value, form))
                || (is_password && form == Form::Cell && is_cell(value))
        }
    };
    is_secret.then_some(telling)
}

/// Too short to be surely random, but nobody writes digits and letters in such turns: `hz6a35yv3lww80h`.
fn is_brief(value: &[u8]) -> bool {
    let kind = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        _ => 3,
    };
    // A capital that begins a word is no turn.
    let turns = |pair: &[u8]| matches!(pair, [one, other] if kind(*one) != kind(*other) && (kind(*one), kind(*other)) != (2, 1));
    let changes = value.windows(2).filter(|pair| turns(pair)).count();
    (10..20).contains(&value.len())
        && value.iter().all(u8::is_ascii_alphanumeric)
        && has_digit(value)
        && value.iter().any(u8::is_ascii_alphabetic)
        && !value.iter().all(u8::is_ascii_hexdigit)
        && changes * 10 >= value.len() * 4
        && !is_placeholder(value)
        && !holds_word(value)
}

/// `DB_PASSWORD=…`: a variable of the environment, which holds what it says.
fn is_variable(name: &[u8], value: &[u8], form: Form, is_password: bool) -> bool {
    let mut letters = name.iter().filter(|byte| byte.is_ascii_alphabetic());
    let odd = |value: &[u8]| value.iter().any(|byte| !byte.is_ascii_alphabetic());
    let tight = matches!(form, Form::Tight | Form::TightQuoted);
    form != Form::Other
        && letters.clone().count() > 2
        && letters.all(u8::is_ascii_uppercase)
        && if tight { is_set_by_a_shell(value) } else { is_literal(value, form) && odd(value) }
        // `optional-secret`, `API_KEY=too_short`
        && (has_digit(value) || !(holds_word(value) || (!is_password && is_words(value))))
}

/// `/v1/accounts:resetPassword`, `.token`: a place in a program or on a server.
fn is_route(value: &[u8]) -> bool {
    let part = |part: &[u8]| part.len() < 24 && (is_words(part) || is_version(part));
    matches!(value.first(), Some(b'/' | b'.'))
        && value.split(|byte| matches!(byte, b'/' | b':' | b'.')).all(part)
}

/// `v1`, `2`
fn is_version(part: &[u8]) -> bool {
    part.len() < 4 && part.last().is_some_and(u8::is_ascii_digit)
}

/// `Ed25519PrivateKey`: the name of a type, where a value has no quotes.
fn is_type(value: &[u8], form: Form) -> bool {
    // `key-0b14eda6…`: behind the word there is more than a word.
    let end = value.rsplit(|byte| matches!(byte, b'-' | b'_')).next().unwrap_or_default();
    let goes_on = end.len() < value.len() && is_random(end, true);
    matches!(form, Form::Yaml | Form::Line) && ((holds_word(value) && !goes_on) || has(value, b"::"))
}

/// Words and nothing else: nobody is given such a token.
fn is_words(value: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b':'))
        && !is_mixed(value.iter().copied())
        && value.len() < 40
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
    // `SECRET=config['secret']`
    let is_list = is_list || matches!(value.last(), Some(b'{' | b'[' | b'('));
    let is_rest = value.iter().rev().take(2).any(|byte| matches!(byte, b']' | b'}' | b')'))
        && !value.iter().any(|byte| matches!(byte, b'[' | b'{' | b'('));
    let is_file =
        is_file || value.starts_with(b"./") || value.starts_with(b"../") || value.starts_with(b"~/");
    let is_code = is_call || is_file || is_list || is_rest;
    value.len() >= 4 && !is_code && !value.contains(&b'\n') && !is_number(value) && !is_placeholder(value)
}

/// `password: hunter2` alone on its line, or `password=hunter2`: a file of settings, not a program.
fn is_set(value: &[u8], form: Form) -> bool {
    matches!(form, Form::Tight | Form::Yaml | Form::Line | Form::Other)
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

/// `ZAQWS-XCDER-VBGTR-FRTGU`: groups of as many capitals and digits each, as licences are sold.
fn is_serial(value: &[u8]) -> bool {
    let mut groups = value.split(|byte| *byte == b'-');
    let length = groups.clone().next().map_or(0, <[u8]>::len);
    let is_group = |group: &[u8]| {
        group.len() == length && group.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    };
    (4..=8).contains(&length)
        && groups.clone().count() >= 4
        && groups.all(is_group)
        && !is_placeholder(value)
        && entropy(value) >= 3.0
}

/// What only a generator writes: letters among many signs, and brackets that do not fit each other. Templates and patterns have brackets
/// that do. Only in quotes: without them, a value in code that has been made small ends anywhere.
fn is_noise(value: &[u8]) -> bool {
    const SHORTEST: usize = 12;
    let (mut signs, mut kinds) = (0, 0_u128);
    for byte in value.iter().take(LONGEST_VALUE) {
        if byte.is_ascii_punctuation() && !b"_-./,;\"'\\".contains(byte) {
            signs += 1;
            kinds |= 1 << (byte & 127);
        }
    }
    value.len() >= SHORTEST
        && signs >= 6
        && kinds.count_ones() >= 6
        && signs * 2 <= value.len() + value.len() / 4
        && value.iter().all(u8::is_ascii_graphic)
        && value.iter().filter(|byte| byte.is_ascii_alphabetic()).count() * 4 >= value.len()
        && !is_nested(value)
}

/// A password in a column of passwords: digits or signs among its letters. What stands beside a name in a text is not so sure.
fn is_cell(value: &[u8]) -> bool {
    let any = |fits: fn(&u8) -> bool| value.iter().any(fits);
    let sign = |byte: &u8| byte.is_ascii_punctuation() && !b"_-./:,".contains(byte);
    (6..=64).contains(&value.len())
        && any(u8::is_ascii_alphabetic)
        && (any(u8::is_ascii_digit) || value.iter().any(sign))
        && value.iter().all(u8::is_ascii_graphic)
        && is_literal(value, Form::Cell)
        && !holds_word(value)
        && !is_path(value)
}

/// Whether a value is text that stands for itself: no code, no number, no placeholder.
pub(crate) fn is_literal(value: &[u8], form: Form) -> bool {
    let any = |bytes: &[u8]| value.iter().any(|byte| bytes.contains(byte));
    let is_code = match form {
        // A sentence, or a pattern for a program.
        Form::Quoted | Form::TightQuoted => value.contains(&b' ') || (any(b"([{") && any(b")]}")),
        // `&` and `*` name another value in YAML, `!` its type, `|` and `>` a text of several lines.
        Form::Yaml => {
            any(b"(){}[]")
                || has(value, b"::")
                || any(b"|")
                || value.first().is_some_and(|first| b"&*|>!".contains(first))
        }
        _ => {
            any(b"(){}[]|")
                || has(value, b"::")
                || value.first().is_some_and(|first| b"&*./|-!@~+?".contains(first))
        }
    };
    value.len() >= 4 && !is_code && !value.contains(&b'\n') && !is_number(value) && !is_placeholder(value)
}

/// `1256`, `0x10100`, `331.1`, `1_000`
fn is_number(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"0x").unwrap_or(value);
    let hex = digits.len() < value.len();
    let is_version = value.iter().filter(|byte| **byte == b'.').count() > 1;
    (value.len() <= 18 || is_version)
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
            && part.iter().filter(|byte| byte.is_ascii_digit()).count() * 4 <= part.len() + 8
            && !is_mixed(part.iter().copied())
    };
    value.contains(&b'.') && value.split(|byte| *byte == b'.').all(is_name)
}

/// Whether a value only says its name again: `PULP_PASSWORD=pulp_password`.
fn says_name(name: &[u8], value: &[u8]) -> bool {
    let (name, value) = (Plain::of(name), Plain::of(value));
    value.bytes().len() >= 4 && name.bytes().ends_with(value.bytes())
}

/// Whether a name holds that of a service which gives keys away: `zenserp_key`.
fn names_maker(name: &[u8]) -> bool {
    let plain = Plain::of(name);
    MAKERS.iter().any(|maker| has(plain.bytes(), maker.as_bytes()))
}

/// `password_super_secure`: the word stands somewhere in the name.
fn names_secret_inside(name: &[u8]) -> bool {
    let plain = Plain::of(name);
    has(plain.bytes(), b"password") || has(plain.bytes(), b"secret")
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
    let pairs = pairs(trimmed);
    PLACEHOLDERS.iter().any(|word| trimmed == word.as_bytes())
        || PLACEHOLDER_PARTS.iter().any(|(part, needed)| needed & !pairs == 0 && has(trimmed, part.as_bytes()))
        || value.iter().all(|byte| Some(byte) == value.first())
        || says_that_it_is_none(trimmed)
        // `key_0000000000000000`
        || (value.len() >= 16 && (is_filled(value) || is_sequence(value)))
}

/// `lsv2_pt_short`, `eyJ….e30.signature`: one of its parts is a word that no maker puts into a token.
fn says_that_it_is_none(lower: &[u8]) -> bool {
    const WORDS: [&[u8]; 7] =
        [b"short", b"tooshort", b"invalid", b"malformed", b"truncated", b"bogus", b"signature"];
    let mut parts = lower.split(|byte| !byte.is_ascii_alphanumeric());
    lower.iter().any(|byte| matches!(byte, b'_' | b'.' | b'-' | b'!'))
        && parts.any(|part| WORDS.contains(&part))
}

/// Whether a token goes on with such a word: `eyJ….eyJ….signature`.
pub(crate) fn goes_on_as_none(rest: &[u8]) -> bool {
    const LONGEST: usize = 16;
    let near = rest.get(..rest.len().min(LONGEST)).unwrap_or_default();
    let [b'.' | b'_' | b'-', word @ ..] = near else { return false };
    let length = word.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    says_that_it_is_none(&[b"_", word.get(..length).unwrap_or_default()].concat().to_ascii_lowercase())
}

/// `key-YmVkcm9jay5hbWF6b25hd3M`: words in base64.
pub(crate) fn is_encoded_words(value: &[u8]) -> bool {
    let value = value.rsplit(|byte| *byte == b'-').next().unwrap_or_default();
    from_base64(value).is_some_and(|text| is_words(&text))
}

/// What is written in base64, in whichever alphabet and without padding.
pub(crate) fn from_base64(value: &[u8]) -> Option<Vec<u8>> {
    let (mut bits, mut count) = (0_u32, 0_u32);
    let mut text = Vec::new();
    for byte in value {
        let sign = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(sign)) & 0xffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            let [.., byte] = (bits >> count).to_be_bytes();
            text.push(byte);
        }
    }
    Some(text)
}

/// `key_0000000000000000`: most of it is one character.
pub(crate) fn is_filled(value: &[u8]) -> bool {
    let near = value.get(..value.len().min(256)).unwrap_or_default();
    let near = near.strip_suffix(b"==").or_else(|| near.strip_suffix(b"=")).unwrap_or(near);
    let same = near.last().map_or(0, |last| near.iter().filter(|byte| *byte == last).count());
    same * 10 >= near.len() * 6
}

/// `abcdef0123456789`, `AbCdEfGh…`, `abc123def456`: each character follows from the one before it. Nobody's secret does.
pub(crate) fn is_sequence(value: &[u8]) -> bool {
    let mut plain =
        value.iter().take(256).filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase);
    let Some(mut last) = plain.next() else { return false };
    let (mut steps, mut pairs) = (0, 0);
    for byte in plain {
        steps += usize::from(byte == last + 1 || matches!((last, byte), (b'9', b'0') | (b'z', b'a')));
        pairs += 1;
        last = byte;
    }
    pairs >= 12 && steps * 2 >= pairs
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
                || has(value, b"$(")
                || [(&b"${"[..], &b"}"[..]), (b"{{", b"}}")]
                    .into_iter()
                    .any(|(open, close)| holds_reference(value, open, close))
        }
    }
}

/// Whether a name stands between these signs somewhere in the value, or the value ends before they close: `${e]nob` is noise.
fn holds_reference(value: &[u8], open: &[u8], close: &[u8]) -> bool {
    let mut rest = value;
    while let Some(at) = memchr::memmem::find(rest, open) {
        rest = rest.get(at + open.len()..).unwrap_or_default();
        match memchr::memmem::find(rest, close) {
            Some(end) if is_nested(rest.get(..end).unwrap_or_default()) => return true,
            Some(_) => {}
            None if !rest.iter().any(|byte| matches!(byte, b')' | b']' | b'}')) => return true,
            None => {}
        }
    }
    false
}

/// Whether the brackets fit each other, as in `{{ f(x)[0] }}`.
fn is_nested(text: &[u8]) -> bool {
    let mut open = Vec::new();
    let fits = text.iter().take(LONGEST_VALUE).all(|byte| {
        let opened_by = match byte {
            b'(' | b'[' | b'{' => {
                open.push(*byte);
                return true;
            }
            b')' => b'(',
            b']' => b'[',
            b'}' => b'{',
            _ => return true,
        };
        open.pop() == Some(opened_by)
    });
    fits && open.is_empty()
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
    // A random text of any length, but not one of millions.
    const MOST: usize = 2 * LONGEST_VALUE;
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
        || is_camel(value)
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
        return sure && (value.len() >= 20 || has_hex_letter(value)) && entropy(value) > 2.8;
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
    // One letter of the other case is chance.
    let both = lowers > 1 && uppers > 1;
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

/// Sixteen digits in hexadecimal are more than a number only with several letters among them.
fn has_hex_letter(value: &[u8]) -> bool {
    value.iter().filter(|byte| byte.is_ascii_alphabetic()).count() >= 3
}

/// `XmlStringMaxLen256`: words with a capital each, and perhaps a number at the end.
pub(crate) fn is_camel(value: &[u8]) -> bool {
    let digits = value.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let words = value.get(..value.len() - digits).unwrap_or_default();
    let capitals = words.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    digits <= 4
        && capitals > 0
        && words.iter().any(u8::is_ascii_lowercase)
        && capitals * 3 <= words.len()
        && words.iter().all(u8::is_ascii_alphabetic)
        && words.windows(2).filter(|pair| pair.iter().all(u8::is_ascii_uppercase)).count() < 4
}

/// Whether a picture's name ends here.
pub(crate) fn is_picture(rest: &[u8]) -> bool {
    [&b"png"[..], b"jpg", b"jpeg", b"gif", b"svg", b"webp", b"ico", b"css", b"js"].into_iter().any(|end| {
        rest.strip_prefix(end).is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphanumeric))
    })
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

/// Whether a value is so odd that it stands for itself wherever it appears; `production` may be a password, and is a word.
pub(crate) fn is_telling(value: &[u8]) -> bool {
    // Percent codes are letters of another script, which stand in many words.
    has_digit(value)
        && value.iter().any(|byte| byte.is_ascii_alphabetic() || byte.is_ascii_punctuation())
        && !value.contains(&b'%')
}

/// The same of a value of which only the name is known.
pub(crate) fn is_telling_by_itself(value: &[u8]) -> bool {
    is_telling(value) && !is_number(value) && !is_placeholder(value)
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
