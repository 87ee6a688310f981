//! Passwords in addresses: `scheme://user:password@host`.

use crate::tables::URL_PLACEHOLDERS;
use crate::values::{is_mark, is_random, is_reference};

const LONGEST: usize = 1024;

/// The password before this `@`. `every` one, or only those that nobody writes into a manual. Before `least` it does not
/// begin.
pub(crate) fn password(text: &[u8], at: usize, least: usize, every: bool) -> Option<(usize, usize)> {
    let inside = |byte: &&u8| {
        !byte.is_ascii_whitespace()
            && !byte.is_ascii_control()
            && !matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b'|' | b',')
    };
    let before = text.get(at.saturating_sub(LONGEST).max(least)..at)?;
    let length = before.iter().rev().take_while(inside).count();
    let (head, authority) = before.split_at_checked(before.len() - length)?;
    if !head.ends_with(b"://") {
        return None;
    }
    let host = text.get(at + 1..).unwrap_or_default();
    let host = host.get(..host.iter().take(LONGEST).take_while(|byte| is_host(**byte)).count())?;
    if let Some((from, to)) = token(authority) {
        let begin = at - authority.len();
        return Some((begin + from, begin + to));
    }
    // A password may hold an `@` that nobody has escaped: then the last one counts, and finds the whole.
    let colon = authority.iter().position(|byte| *byte == b':')?;
    let (user, secret) = (authority.get(..colon)?, authority.get(colon + 1..)?);
    let harmless = secret.is_empty() || is_reference(secret) || is_mark(secret);
    (!harmless && (every || !is_of_a_manual(user, secret, host))).then_some((at - secret.len(), at))
}

/// A token in the place of the user: `https://TOKEN@host`, `https://TOKEN:x-oauth-basic@host`.
fn token(authority: &[u8]) -> Option<(usize, usize)> {
    let user = authority.split(|byte| *byte == b':').next()?;
    let password = authority.get(user.len() + 1..).unwrap_or_default();
    let alone = password.is_empty() || matches!(password, b"x-oauth-basic" | b"x" | b"X");
    (alone && user.len() >= 20 && is_random(user, true)).then_some((0, user.len()))
}

fn is_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-')
}

/// `Qv8h2Lp4Rk7m`: too short to be surely random, and nothing that people write.
fn is_generated(secret: &[u8]) -> bool {
    let is = |fits: fn(&u8) -> bool| secret.iter().filter(|byte| fits(byte)).count();
    let words = secret.split(|byte| !byte.is_ascii_lowercase()).any(|run| run.len() > 3);
    secret.len() >= 10
        && secret.iter().all(u8::is_ascii_alphanumeric)
        && is(u8::is_ascii_digit) > 1
        && is(u8::is_ascii_uppercase) > 1
        && is(u8::is_ascii_lowercase) > 1
        && !words
}

/// `user:password@`, `postgres:postgres@`, `user:***@`, `DB_USER:DB_PASS@`, anything at `example.com`.
fn is_of_a_manual(user: &[u8], secret: &[u8], host: &[u8]) -> bool {
    let same = |one: &[u8], other: &[u8]| one.eq_ignore_ascii_case(other);
    let plain = |byte: &u8| byte.is_ascii_uppercase() || *byte == b'_';
    let example = |host: &[u8]| {
        let meant = |label: &[u8]| [&b"example"[..], b"somehost"].into_iter().any(|word| same(label, word));
        // Nobody's server has such a name.
        let short =
            [&b"host"[..], b"foo", b"bar", b"hostname", b"server"].into_iter().any(|word| same(host, word));
        // In a network of containers `db` is the name of a real one.
        let letter = host.len() < 3 && !host.is_empty() && !same(host, b"db");
        host.split(|byte| *byte == b'.').any(meant) || short || letter
    };
    secret.len() < 3
        || (same(user, secret) && !user.is_empty())
        || URL_PLACEHOLDERS.iter().any(|word| same(secret, word.as_bytes()))
        || secret.iter().all(|byte| matches!(byte, b'*' | b'x' | b'X' | b'.'))
        || secret.iter().all(plain)
        || secret.iter().any(|byte| matches!(byte, b'{' | b'[' | b']' | b';'))
        || secret.starts_with(b"pserver:")
        // Nobody makes up a random password for a manual.
        || (example(host) && !is_random(secret, true) && !is_generated(secret))
}
