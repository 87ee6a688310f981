//! JSON without the secrets in its strings, otherwise byte for byte as it came: numbers, blanks, order, doubled keys.

use memchr::{memchr, memchr2};

use crate::lens::Lens;
use crate::scrub::settle;
use crate::values::secret_member;
use crate::{Found, Marks, Rules, Scrubbed, find};

/// JSON without the secrets in its strings; `None` where it has none.
///
/// Whether it is JSON at all is its sender's business: what stands outside of strings is not looked at.
pub fn scrub_json(json: &str, rules: &Rules, marks: Marks<'_>) -> Option<Scrubbed<String>> {
    settle(|again: Option<&String>| once(again.map_or(json, String::as_str), rules, marks))
}

fn once(json: &str, rules: &Rules, marks: Marks<'_>) -> Option<Scrubbed<String>> {
    let raw = json.as_bytes();
    let mut out = Vec::new();
    let (mut at, mut kept, mut count) = (0, 0, 0);
    let mut key: Vec<u8> = Vec::new();
    while let Some(quote) = raw.get(at..).and_then(|rest| memchr(b'"', rest)) {
        let from = at + quote + 1;
        // A name tells of the values up to the next name, but not beyond its object.
        if raw.get(at..from).is_some_and(|between| memchr(b'}', between).is_some()) {
            key.clear();
        }
        let to = end_of_string(raw, from);
        let string = raw.get(from..to).unwrap_or_default();
        at = to + 1;
        let behind = raw.get(at..).unwrap_or_default().trim_ascii_start();
        let is_key = behind.first() == Some(&b':');
        let lens = Lens::of_json(string);
        let text = lens.as_ref().map_or(string, Lens::bytes);
        let mut found = find(text, rules);
        if is_key {
            key.clear();
            key.extend_from_slice(text);
        } else if found.is_empty() && !key.is_empty() && !rules.core_only {
            let telling = secret_member(&key, text, rules.every_assignment, rules.entropy);
            found.extend(telling.map(|telling| Found::of(telling.into(), 0, text.len())));
        }
        count += found.len();
        for secret in found {
            let place = lens.as_ref().map_or(secret, |lens| lens.back(secret)).shifted(from);
            out.extend_from_slice(raw.get(kept..place.from).unwrap_or_default());
            // The secret as it reads: the same one has the same mark however it is escaped.
            marks.write(&secret, text.get(secret.from..secret.to).unwrap_or_default(), &mut out);
            kept = place.to;
        }
    }
    if count == 0 {
        return None;
    }
    out.extend_from_slice(raw.get(kept..).unwrap_or_default());
    // Marks stand beside whole characters, so this does not fail; should it, nothing is shown.
    let text = String::from_utf8(out).unwrap_or_else(|_| "null".to_owned());
    Some(Scrubbed { text, count })
}

/// Where the quote stands that ends the string.
fn end_of_string(raw: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(found) = raw.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        match raw.get(at + found) {
            Some(b'\\') => at += found + 2,
            _ => return at + found,
        }
    }
    raw.len()
}
