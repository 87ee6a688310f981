//! Email addresses, and which of them are nobody's.

use crate::Emails;
use crate::tables::{LONG_DOMAINS, NO_DOMAINS, SAFE_DOMAINS, SAFE_LOCALS};

const LONGEST_LOCAL: usize = 64;
const LONGEST_DOMAIN: usize = 253;

fn is_local(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'%' | b'+' | b'-')
}

/// The address around the `@` at this place.
pub(crate) fn around(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let before = text.get(..at)?;
    // `github-actions[bot]@…`
    let bot = if before.ends_with(b"[bot]") { 5 } else { 0 };
    let body = before.get(..at - bot)?;
    let mut local = body.iter().rev().take(LONGEST_LOCAL + 1).take_while(|byte| is_local(**byte)).count();
    let escaped = |from: usize| from > 0 && text.get(from - 1) == Some(&b'\\');
    if local > 0 && escaped(at - bot - local) {
        // The letter of `\n`.
        local -= 1;
    }
    let dots = text
        .get(at - bot - local..)
        .unwrap_or_default()
        .iter()
        .take_while(|byte| matches!(byte, b'.' | b'-'))
        .count();
    local = local.saturating_sub(dots);
    if local == 0 || local > LONGEST_LOCAL || body.ends_with(b".") {
        return None;
    }
    let from = at - bot - local;
    let rest = text.get(at + 1..)?;
    let domain = rest
        .iter()
        .take(LONGEST_DOMAIN)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
        .count();
    let domain = rest.get(..domain)?;
    let dots = domain.iter().rev().take_while(|byte| matches!(byte, b'.' | b'-')).count();
    let mut domain = domain.get(..domain.len() - dots)?;
    // What stands behind the last label that can be a top-level domain is the rest of a sentence: `a@b.com.Then`
    loop {
        let dot = domain.iter().rposition(|byte| *byte == b'.')?;
        let (head, label) = (domain.get(..dot)?, domain.get(dot + 1..)?);
        if head.is_empty() || head.split(|byte| *byte == b'.').any(<[u8]>::is_empty) {
            return None;
        }
        // No top-level domain holds a hyphen or a digit: what follows is not the address's.
        let letters = label.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        if is_top_level(label.get(..letters)?) {
            domain = domain.get(..dot + 1 + letters)?;
            break;
        }
        domain = head;
    }
    // `name@1.2.rc` is a version.
    let numbers =
        |head: &[u8]| head.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.') && head.contains(&b'.');
    if domain.iter().rposition(|byte| *byte == b'.').and_then(|dot| domain.get(..dot)).is_some_and(numbers) {
        return None;
    }
    // The end of a mark is not a name.
    if before.get(..from)?.ends_with(b"]#") {
        return None;
    }
    let first = text.get(from..at)?;
    // `scheme://user:password@host`: what stands before the `@` is not a name of a mailbox.
    let word = before.get(..from)?;
    let word = word.get(word.len().saturating_sub(LONGEST_DOMAIN)..)?;
    let word =
        word.iter().rev().take_while(|byte| byte.is_ascii_graphic() && !b"/?#\"'<>(,".contains(byte)).count();
    let url = before.get(..from - word).is_some_and(|before| before.ends_with(b"//"));
    // The user of a repository's address: `git@github.com:a/b`, `ssh://git@…`. Nobody has that for a name.
    let user = matches!(first, b"git" | b"hg" | b"svn" | b"ssh" | b"gitea" | b"forgejo" | b"aur");
    (!url && !user).then_some((from, at + 1 + domain.len()))
}

/// Whether the address at `from..to` stands where the author, the target or the account of something is named, rather than a person.
pub(crate) fn is_of_a_work(text: &[u8], from: usize, to: usize) -> bool {
    const NEAR: usize = 200;
    const HEADS: [&[u8]; 18] = [
        b"author",
        b"commit",
        b"co-authored-by:",
        b"signed-off-by:",
        b"reviewed-by:",
        b"acked-by:",
        b"tested-by:",
        b"reported-by:",
        b"suggested-by:",
        b"helped-by:",
        b"maintainer",
        b"contributor",
        b"copyright",
        b"tagger",
        b"merge",
        b"packager",
        b"uploader",
        b"@author",
    ];
    const ACCOUNTS: [&[u8]; 5] = [
        b"gserviceaccount.com",
        b"openssh.com",
        b"libssh.org",
        b"developer.gserviceaccount.com",
        b"lysator.liu.se",
    ];
    let before = text.get(from.saturating_sub(NEAR)..from).unwrap_or_default().to_ascii_lowercase();
    let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    // Behind what tools put before a line: `+`, `> `, ` * `, `file:12:`, a quote.
    let head = line
        .iter()
        .position(u8::is_ascii_alphabetic)
        .and_then(|first| line.get(first.saturating_sub(1)..))
        .unwrap_or_default();
    let head = head.strip_prefix(b"@").unwrap_or_else(|| {
        head.get(usize::from(!head.first().is_some_and(u8::is_ascii_alphabetic))..).unwrap_or_default()
    });
    let domain = text.get(from..to).unwrap_or_default().to_ascii_lowercase();
    let domain = domain.rsplit(|byte| *byte == b'@').next().unwrap_or_default();
    // `0123abcd (<jane@corp.io> 2026-…`: a line of `git blame`.
    let hash = line.iter().take_while(|byte| byte.is_ascii_hexdigit() || **byte == b'^').count();
    let blame = hash >= 7 && line.get(hash..).is_some_and(|rest| rest.starts_with(b" "));
    let behind = text.get(to).copied().unwrap_or(b' ');
    let target = [&b"ssh "[..], b"scp ", b"rsync ", b"sftp ", b"mosh "]
        .into_iter()
        .any(|word| crate::search::has(line, word))
        || (behind == b':'
            && text.get(to + 1).is_some_and(|next| b"/~.".contains(next) || next.is_ascii_alphanumeric()));
    HEADS.iter().any(|word| head.starts_with(word.strip_prefix(b"@").unwrap_or(word)))
        || crate::search::has(line, b"copyright")
        || crate::search::has(line, b"(c) ")
        || crate::search::has(line, b"\"author")
        || ACCOUNTS.iter().any(|account| is_below(domain, account))
        || blame
        || target
}

fn is_top_level(label: &[u8]) -> bool {
    let lower = label.to_ascii_lowercase();
    let listed = |list: &[&str]| list.iter().any(|known| known.as_bytes() == lower);
    label.len() >= 2
        && label.iter().all(u8::is_ascii_alphabetic)
        && if label.len() > 4 { listed(LONG_DOMAINS) } else { !listed(NO_DOMAINS) }
}

/// Whether an address is to be left alone.
pub(crate) fn is_safe(address: &[u8], wanted: Emails, more: &[String]) -> bool {
    match wanted {
        Emails::All => false,
        Emails::None => true,
        Emails::Unlisted | Emails::Personal => {
            let lower = address.to_ascii_lowercase();
            let Some(at) = lower.iter().rposition(|byte| *byte == b'@') else { return false };
            let (local, domain) =
                (lower.get(..at).unwrap_or_default(), lower.get(at + 1..).unwrap_or_default());
            let listed = |safe: &String| match safe.strip_prefix('@') {
                Some(safe) => is_below(domain, safe.to_ascii_lowercase().as_bytes()),
                None => lower == safe.to_ascii_lowercase().as_bytes(),
            };
            SAFE_DOMAINS.iter().any(|safe| is_below(domain, safe.as_bytes()))
                || SAFE_LOCALS.iter().any(|safe| local == safe.as_bytes())
                || more.iter().any(listed)
        }
    }
}

/// By whole labels: `example.com.evil.io` is not below `example.com`, and neither is `badexample.com`.
fn is_below(domain: &[u8], above: &[u8]) -> bool {
    domain.strip_suffix(above).is_some_and(|head| head.is_empty() || head.ends_with(b"."))
}
