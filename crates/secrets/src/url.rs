//! Passwords in addresses: `scheme://user:password@host`.

use crate::names::{is_mark, is_reference};

const LONGEST: usize = 1024;

/// The password before this `@`. `every` one, or only those that nobody writes into a manual.
pub(crate) fn password(text: &[u8], at: usize, every: bool) -> Option<(usize, usize)> {
    let inside = |byte: &&u8| {
        !byte.is_ascii_whitespace()
            && !byte.is_ascii_control()
            && !matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b'|' | b',')
    };
    let before = text.get(at.saturating_sub(LONGEST)..at)?;
    let length = before.iter().rev().take_while(inside).count();
    let (head, authority) = before.split_at_checked(before.len() - length)?;
    if !head.ends_with(b"://") {
        return None;
    }
    // A password may hold an `@` that nobody has escaped: then the last one counts, and finds the whole.
    let colon = authority.iter().position(|byte| *byte == b':')?;
    let (user, secret) = (authority.get(..colon)?, authority.get(colon + 1..)?);
    let harmless = secret.is_empty() || is_reference(secret) || is_mark(secret);
    (!harmless && (every || !is_of_a_manual(user, secret))).then_some((at - secret.len(), at))
}

/// `user:password@`, `postgres:postgres@`, `user:***@`
fn is_of_a_manual(user: &[u8], secret: &[u8]) -> bool {
    const WORDS: &[&str] = &[
        "password",
        "passwd",
        "pass",
        "pwd",
        "pw",
        "secret",
        "token",
        "key",
        "apikey",
        "changeme",
        "xxx",
        "xxxx",
        "your_password",
        "yourpassword",
        "your-password",
        "mypassword",
        "dbpass",
        "dbpassword",
        "example",
        "redacted",
    ];
    let same = |one: &[u8], other: &[u8]| one.eq_ignore_ascii_case(other);
    (same(user, secret) && !user.is_empty())
        || WORDS.iter().any(|word| same(secret, word.as_bytes()))
        || secret.iter().all(|byte| matches!(byte, b'*' | b'x' | b'X' | b'.'))
        || secret.contains(&b'{')
        || secret.contains(&b'[')
}
