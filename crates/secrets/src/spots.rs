//! Secrets that are known by the place where they stand, and not by a name: `curl -u user:password`, `IDENTIFIED BY '…'`, cookies, `.pgpass`,
//! the columns of a table whose head says what they hold.

use crate::forms::{Form, count, is_blank, is_quote};
use crate::names::{Telling, is_made_up, telling};
use crate::values::{has_digit, is_encoded_words, is_literal, is_random, is_reference, judge};

/// A word that stands here, perhaps in quotes.
fn word(text: &[u8], at: usize) -> Option<(usize, usize)> {
    const LONGEST: usize = 4096;
    let at = at + count(text, at, 16, is_blank);
    let escapes = count(text, at, 3, |byte| byte == b'\\');
    match text.get(at + escapes).copied() {
        Some(quote) if is_quote(quote) => {
            let from = at + escapes + 1;
            let to =
                from + count(text, from, LONGEST, |byte| byte != quote && byte != b'\n' && byte != b'\\');
            (from < to).then_some((from, to))
        }
        _ => {
            let to = at
                + count(text, at, LONGEST, |byte| {
                    !byte.is_ascii_whitespace() && !is_quote(byte) && byte != b';'
                });
            (at < to).then_some((at, to))
        }
    }
}

/// Whether somebody has thought of this as a password: no reference, no word of a manual, not only a number.
fn is_meant(value: &[u8]) -> bool {
    // Of a mark only the beginning may stand here.
    is_literal(value, Form::Quoted) && !is_reference(value) && !value.starts_with(b"[")
}

/// `IDENTIFIED BY 'password'`, `IDENTIFIED WITH plugin AS '…'`, `CREATE ROLE x PASSWORD '…'`, from behind the words.
pub(crate) fn sql(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let mut at = at;
    // The plugin, and the word behind it.
    for _ in 0..3 {
        let (from, to) = word(text, at)?;
        let found = text.get(from..to)?;
        let between = [&b"by"[..], b"as", b"with", b"password"]
            .into_iter()
            .any(|word| found.eq_ignore_ascii_case(word));
        let plugin = found.ends_with(b"_password") || found.starts_with(b"caching_");
        if !between && !plugin {
            let found = found.strip_suffix(b")").unwrap_or(found);
            return is_meant(found).then_some((from, from + found.len()));
        }
        at = to + count(text, to, 1, is_quote);
    }
    None
}

/// Whether the name at `from` is the word of a statement about a user, or of a `.netrc`: `CREATE USER x WITH PASSWORD '…'`,
/// `machine host login bob password …`.
pub(crate) fn is_of_a_user(text: &[u8], from: usize) -> bool {
    const NEAR: usize = 160;
    let before = text.get(from.saturating_sub(NEAR)..from).unwrap_or_default().to_ascii_lowercase();
    // In a `.netrc` a line may have one word and its value: the machine or the user stands in a line before.
    let mut lines = before.rsplit(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    if lines.next().is_some_and(<[u8]>::is_empty)
        && lines.take(3).any(|line| line.starts_with(b"login ") || line.starts_with(b"machine "))
    {
        return true;
    }
    let line = before.rsplit(|byte| matches!(byte, b'\n' | b';')).next().unwrap_or_default();
    [&b"create user "[..], b"alter user ", b"create role ", b"alter role ", b"grant ", b"machine "]
        .into_iter()
        .any(|word| crate::search::has(line, word))
}

/// `-u user:password`, `--user "user:password"`, from behind the option.
pub(crate) fn user(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let at = at + count(text, at, 1, |byte| byte == b'=');
    let (from, to) = word(text, at)?;
    let whole = text.get(from..to)?;
    let colon = whole.iter().position(|byte| *byte == b':')?;
    let (user, secret) = (whole.get(..colon)?, whole.get(colon + 1..)?);
    let is_user = user.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._@+%\\-".contains(byte));
    let mixed = has_digit(secret) && secret.iter().any(u8::is_ascii_alphabetic);
    // `--user 1000:1000`, `-u node:node`, `-u path:/to`
    (is_user && !user.is_empty() && user != secret && is_meant(secret) && (mixed || is_random(secret, true)))
        .then_some((from + colon + 1, to))
}

/// `NetworkCredential("user", "password")`, from behind the bracket.
pub(crate) fn pair(text: &[u8], at: usize) -> Option<(usize, usize)> {
    const NEAR: usize = 160;
    const SHORTEST: usize = 6;
    let at = at + count(text, at, 64, |byte| byte.is_ascii_whitespace());
    let near = text.get(at..at + count(text, at, NEAR, |byte| byte != b'\n'))?;
    let comma = memchr::memchr(b',', near)? + 1;
    let behind = at + comma + count(text, at + comma, 16, is_blank);
    if !text.get(behind).copied().is_some_and(is_quote) {
        return None;
    }
    let (from, to) = word(text, behind)?;
    let value = text.get(from..to)?;
    let odd =
        has_digit(value) || value.iter().any(|byte| byte.is_ascii_punctuation() && !b"_-. ".contains(byte));
    (value.len() >= SHORTEST && odd && is_meant(value)).then_some((from, to))
}

/// `-p value`, where the value is random.
pub(crate) fn option(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let (from, to) = word(text, at)?;
    let value = text.get(from..to)?;
    (is_random(value, false) && !is_reference(value)).then_some((from, to))
}

/// `mysql -u root -pPASSWORD`, from behind the program.
pub(crate) fn glued(text: &[u8], at: usize) -> Option<(usize, usize)> {
    const NEAR: usize = 256;
    const SHORTEST: usize = 6;
    let line = text.get(at..at + count(text, at, NEAR, |byte| !matches!(byte, b'\n' | b';' | b'|')))?;
    // `curl -ubob:password`
    if text.get(..at).is_some_and(|before| before.ends_with(b"curl ")) {
        let option = if line.starts_with(b"-u") { 0 } else { memchr::memmem::find(line, b" -u")? + 1 };
        let behind = at + option + 2;
        return user(text, behind).filter(|_| text.get(behind).is_some_and(|byte| !is_blank(*byte)));
    }
    let option = if line.starts_with(b"-p") { 0 } else { memchr::memmem::find(line, b" -p")? + 1 };
    let behind = at + option + 2;
    let (from, to) = word(text, behind)?;
    let value = text.get(from..to)?;
    // With a blank between, the next word is the database.
    let is_glued = from <= behind + 1 && text.get(behind).is_some_and(|byte| !is_blank(*byte));
    (is_glued && value.len() >= SHORTEST && has_digit(value) && is_meant(value)).then_some((from, to))
}

/// `host:5432:database:user:password`, `*:*:*:user:password`, from behind the port.
pub(crate) fn pgpass(text: &[u8], at: usize) -> Option<(usize, usize)> {
    // `arn:aws:logs:*:*:…` has more before it than a line of this file.
    let any = at.checked_sub(4).filter(|from| text.get(*from..at) == Some(b"*:*:"));
    if any.is_some_and(|from| {
        from.checked_sub(1).and_then(|before| text.get(before)).is_some_and(u8::is_ascii_graphic)
    }) {
        return None;
    }
    let length = count(text, at, 512, |byte| byte.is_ascii_graphic() && !is_quote(byte));
    let rest = text.get(at..at + length)?;
    let mut parts = rest.splitn(3, |byte| *byte == b':');
    let (database, user, secret) = (parts.next()?, parts.next()?, parts.next()?);
    let is_word = |part: &[u8]| {
        !part.is_empty() && part.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-.*".contains(byte))
    };
    (is_word(database) && is_word(user) && is_meant(secret))
        .then_some((at + length - secret.len(), at + length))
}

/// The random values of `Cookie: a=…; b=…`, from behind the colon.
pub(crate) fn cookies(text: &[u8], at: usize, found: &mut impl FnMut(usize, usize)) {
    const LONGEST: usize = 16 * 1024;
    let length = count(text, at, LONGEST, |byte| !matches!(byte, b'\n' | b'\r' | b'"' | b'\''));
    let line = text.get(at..at + length).unwrap_or_default();
    let mut from = at;
    for pair in line.split(|byte| *byte == b';') {
        let equals = pair.iter().position(|byte| *byte == b'=');
        if let Some(value) = equals.and_then(|equals| pair.get(equals + 1..)) {
            let value = value.trim_ascii_end();
            let begin = from + equals.unwrap_or_default() + 1;
            if is_random(value, true) && !is_reference(value) {
                found(begin, begin + value.len());
            }
        }
        from += pair.len() + 1;
    }
}

/// A table whose head names secrets: where its head begins, and where its last row ends.
pub(crate) struct Table {
    pub(crate) end: usize,
    pub(crate) found: Vec<(usize, usize, Telling)>,
}

const LONGEST_HEAD: usize = 1024;
const LONGEST_ROW: usize = 64 * 1024;

/// The table in whose head the name at `from..to` stands. The head is a line of short names, between the same signs or in columns.
pub(crate) fn table(text: &[u8], from: usize, to: usize) -> Option<Table> {
    separated(text, from, to).or_else(|| aligned(text, from, to))
}

/// The columns below a head like `NAME    TOKEN`: words with at least two blanks between.
fn aligned(text: &[u8], from: usize, to: usize) -> Option<Table> {
    // Behind a name in a head there is the next column, or nothing. Most names are ruled out here.
    let blanks = count(text, to, LONGEST_HEAD, |byte| byte == b' ');
    let ends_line = matches!(text.get(to + blanks), Some(b'\n' | b'\r'));
    if blanks < 2 && !ends_line {
        return None;
    }
    let before = text.get(from.saturating_sub(LONGEST_HEAD)..from)?;
    let begin = from - before.iter().rev().take_while(|byte| **byte != b'\n').count();
    let end = to + count(text, to, LONGEST_HEAD, |byte| byte != b'\n');
    let head = text.get(begin..end)?.trim_ascii_end();
    let begins = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let is_head = head.trim_ascii_start().first().is_some_and(begins)
        && head.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-. ".contains(byte));
    let columns: Vec<usize> = (0..head.len())
        .filter(|at| {
            let before = head.get(at.saturating_sub(2)..*at).unwrap_or_default();
            head.get(*at) != Some(&b' ') && before.iter().all(|byte| *byte == b' ') && before.len() != 1
        })
        .collect();
    // A single name is the head of nothing.
    if !is_head || columns.len() < 2 || end >= text.len() {
        return None;
    }
    let name = |column: usize| {
        let rest = head.get(column..).unwrap_or_default();
        rest.get(..memchr::memmem::find(rest, b"  ").unwrap_or(rest.len())).unwrap_or_default()
    };
    let is_secret =
        |column: &usize| matches!(telling(name(*column)), Some(Telling::Password | Telling::Secret));
    let secret: Vec<usize> = columns.into_iter().filter(is_secret).collect();
    if secret.is_empty() {
        return None;
    }
    let mut table = Table { end, found: Vec::new() };
    let mut at = end + 1;
    for line in text.get(at..)?.split(|byte| *byte == b'\n') {
        if line.trim_ascii().is_empty() || line.len() > LONGEST_ROW {
            break;
        }
        for column in &secret {
            let cell = line.get(*column..).unwrap_or_default();
            let cell =
                cell.get(..count(cell, 0, cell.len(), |byte| byte.is_ascii_graphic())).unwrap_or_default();
            let begins = column.checked_sub(1).is_none_or(|before| line.get(before) == Some(&b' '));
            if begins && let Some(telling) = judge(name(*column), cell, Form::Cell, false, true) {
                table.found.push((at + column, at + column + cell.len(), telling));
            }
        }
        at += line.len() + 1;
        table.end = at;
    }
    Some(table)
}

fn separated(text: &[u8], from: usize, to: usize) -> Option<Table> {
    // Behind a name in a head there is the next cell, or nothing.
    let behind = to + count(text, to, 40, |byte| byte == b' ' || byte == b'"');
    if !matches!(text.get(behind), Some(b',' | b'|' | b'\t' | b'\n' | b'\r')) {
        return None;
    }
    let begin = from
        - text
            .get(from.saturating_sub(LONGEST_HEAD)..from)?
            .iter()
            .rev()
            .take_while(|byte| **byte != b'\n')
            .count();
    let end = to + count(text, to, LONGEST_HEAD, |byte| byte != b'\n');
    let head = text.get(begin..end)?;
    let sign = *[b'|', b'\t', b','].iter().find(|sign| head.contains(sign))?;
    let cells = |line: &'_ [u8]| line.iter().filter(|byte| **byte == sign).count() + 1;
    let is_head = |cell: &[u8]| {
        let cell = trimmed(cell);
        // The number of a line is no head, nor is the end of a key.
        let begins = cell.first().is_none_or(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
        begins
            && cell.len() <= 40
            && cell.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-. ".contains(byte))
    };
    if end >= text.len() || !head.split(|byte| *byte == sign).all(is_head) {
        return None;
    }
    let names: Vec<&[u8]> = head.split(|byte| *byte == sign).map(trimmed).collect();
    let is_secret = |name: &&[u8]| matches!(telling(name), Some(Telling::Password | Telling::Secret));
    if !names.iter().any(is_secret) || names.iter().filter(|name| !name.is_empty()).count() < 2 {
        return None;
    }
    let mut table = Table { end, found: Vec::new() };
    let mut at = end + 1;
    for line in text.get(at..)?.split(|byte| *byte == b'\n') {
        let rule = line.iter().all(|byte| matches!(byte, b'-' | b'+' | b'|' | b'=' | b' ' | b'\r' | b':'));
        if line.is_empty() || line.len() > LONGEST_ROW || (!rule && cells(line) != names.len()) {
            break;
        }
        let mut from = at;
        for (cell, name) in line.split(|byte| *byte == sign).zip(&names) {
            let value = trimmed(cell);
            let begin = from + (value.as_ptr() as usize - cell.as_ptr() as usize);
            if !rule
                && is_secret(name)
                && let Some(telling) = judge(name, value, Form::Cell, false, true)
            {
                table.found.push((begin, begin + value.len(), telling));
            }
            from += cell.len() + 1;
        }
        at += line.len() + 1;
        table.end = at;
    }
    Some(table)
}

/// A cell without its blanks and quotes.
fn trimmed(cell: &[u8]) -> &[u8] {
    let cell = cell.trim_ascii();
    cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\"")).unwrap_or(cell)
}

/// `fake_token := "task_test_…"`: the name before says that it is nobody's.
fn is_given_to_nobody(text: &[u8], at: usize) -> bool {
    const NEAR: usize = 48;
    let before = text.get(at.saturating_sub(NEAR)..at).unwrap_or_default();
    let quoted = before.strip_suffix(b"\"").or_else(|| before.strip_suffix(b"'")).unwrap_or(before);
    let signs = quoted.iter().rev().take_while(|byte| matches!(byte, b' ' | b'=' | b':')).count();
    let name = quoted.get(..quoted.len() - signs).unwrap_or_default();
    let length = name.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    signs > 0 && length > 0 && is_made_up(name.get(name.len() - length..).unwrap_or_default())
}

/// `sm_pat_…`, `acme_live_…`: a short prefix in small letters, the word at `from..to`, and something random.
pub(crate) fn prefixed(text: &[u8], from: usize, to: usize) -> Option<(usize, usize)> {
    const PREFIX: usize = 14;
    const SHORTEST: usize = 16;
    const LONGEST: usize = 256;
    let before = text.get(from.saturating_sub(PREFIX + 1)..from)?;
    let prefix =
        before.iter().rev().take_while(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()).count();
    let name = before.get(before.len() - prefix..)?;
    let first = before.len().checked_sub(prefix + 1).and_then(|at| before.get(at));
    let apart = first.is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    let length =
        count(text, to, LONGEST + 1, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let value = text.get(to..to + length)?;
    let hex = value.iter().all(u8::is_ascii_hexdigit) && length >= 24 && is_random(value, true);
    // Publishable keys are for everybody, and so are the ids of sessions at a checkout.
    let public = name.starts_with(b"pk") || name.starts_with(b"pub") || name == b"cs";
    let is_token =
        (2..=PREFIX).contains(&prefix) && apart && !public && (SHORTEST..=LONGEST).contains(&length);
    (is_token
        && (hex || is_random(value, false))
        && !is_encoded_words(value)
        && !is_given_to_nobody(text, from - prefix))
    .then_some((from - prefix, to + length))
}
