//! JSON without the secrets in its strings, otherwise byte for byte as it came: numbers, blanks, order, doubled keys.

use memchr::memchr;

use crate::find::find_some;
use crate::json_string::JsonString;
use crate::scrub::settle;
use crate::values::secret_member;
use crate::{Found, Marks, Rules, Scrubbed, pem};

/// JSON without the secrets in its strings; `None` where it has none.
///
/// Whether it is JSON at all is its sender's business: what stands outside of strings is not looked at.
pub fn scrub_json(json: &str, rules: &Rules, marks: Marks<'_>) -> Option<Scrubbed<String>> {
    settle(|again: Option<&String>| once(again.map_or(json, String::as_str), rules, marks))
}

/// More are not marked: each mark needs a digest, and memory.
const MOST: usize = 50_000;
/// What stands in the place of a text that holds more, and of those behind it that hold one.
const TOO_MANY: &str = "[toolgate withheld this text: it marks up to 50000 secrets and addresses in an output; send it to a file and read parts of that]";

fn once(json: &str, rules: &Rules, marks: Marks<'_>) -> Option<Scrubbed<String>> {
    let raw = json.as_bytes();
    let mut out = Vec::new();
    let (mut at, mut kept, mut count) = (0, 0, 0);
    let mut key: Vec<u8> = Vec::new();
    // What `{"name": …, "value": …}` calls its value.
    let mut name: Vec<u8> = Vec::new();
    let mut open: Option<OpenKey> = None;
    let mut decoded = JsonString::default();
    while let Some(quote) = raw.get(at..).and_then(|rest| memchr(b'"', rest)) {
        let from = at + quote + 1;
        // A name tells of the values up to the next name, but not beyond its object.
        if raw.get(at..from).is_some_and(|between| memchr(b'}', between).is_some()) {
            key.clear();
            name.clear();
        }
        let (length, is_escaped) = decoded.read(raw.get(from..).unwrap_or_default());
        let to = from + length;
        let string = raw.get(from..to).unwrap_or_default();
        at = to + 1;
        let behind = raw.get(at..).unwrap_or_default().trim_ascii_start();
        let is_key = behind.first() == Some(&b':');
        let text = if is_escaped { decoded.bytes() } else { string };
        let Some(mut found) = find_some(text, rules, MOST.saturating_sub(count)) else {
            out.extend_from_slice(raw.get(kept..from).unwrap_or_default());
            out.extend_from_slice(TOO_MANY.as_bytes());
            (kept, count) = (to, count + 1);
            key.clear();
            continue;
        };
        if is_key {
            key.clear();
            key.extend_from_slice(text);
            // `"db_password": {"sensitive": true, "value": "…"}`
            if behind.get(1..).is_some_and(|value| value.trim_ascii_start().starts_with(b"{")) {
                name.clone_from(&key);
            }
        } else {
            if key.eq_ignore_ascii_case(b"name") || key.eq_ignore_ascii_case(b"key") {
                name = text.to_vec();
            } else if key.eq_ignore_ascii_case(b"value") && !name.is_empty() {
                key.clone_from(&name);
            }
            // An address in a password is a part of it.
            if !key.is_empty() && !rules.core_only && found.iter().all(|found| found.pattern == "email") {
                // Blanks at its ends are not part of it.
                let end = text.trim_ascii_end().len();
                let begin = end - text.get(..end).unwrap_or_default().trim_ascii_start().len();
                let value = text.get(begin..end).unwrap_or_default();
                let telling = secret_member(&key, value, rules.every_assignment, rules.entropy);
                if let Some(telling) = telling {
                    found = vec![Found::of(telling.into(), begin, end)];
                }
            }
            open = OpenKey::behind(open, text, &mut found);
        }
        count += found.len();
        for secret in found {
            let place = if is_escaped { decoded.back(string, secret) } else { secret }.shifted(from);
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

/// A private key of which each line is a string: the lines of a patch, the results of a search.
struct OpenKey {
    /// How many values have come since its last line: a line may have its number and its file beside it.
    others: usize,
}

impl OpenKey {
    const MOST_OTHERS: usize = 3;

    /// What is open behind this value. A line of the key is found.
    fn behind(open: Option<OpenKey>, text: &[u8], found: &mut Vec<Found>) -> Option<OpenKey> {
        if pem::is_open(text) {
            return Some(OpenKey { others: 0 });
        }
        let open = open?;
        if pem::is_line(text) {
            *found = vec![Found::private_key(0, text.len())];
            return Some(OpenKey { others: 0 });
        }
        let others = open.others + 1;
        (others <= Self::MOST_OTHERS).then_some(OpenKey { others })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrubbed(json: &str) -> String {
        scrub_json(json, &Rules::default(), Marks::Plain).map_or_else(|| json.to_owned(), |done| done.text)
    }

    #[test]
    fn a_private_key_whose_lines_are_strings_is_redacted_whole() {
        let line = "Ab3d".repeat(16);
        let begin = concat!("-----BEGIN RSA PRIVATE", " KEY-----");
        let end = concat!("-----END RSA PRIVATE", " KEY-----");
        let mark = "[PRIVATE_KEY REDACTED]";
        for (json, wanted) in [
            (
                format!(
                    r#"["a","+{begin}","+{line}","+{line}","+Ab3dAb3dAb3dAb3d=","+{end}","b","c","d","{line}"]"#
                ),
                format!(r#"["a","+{begin}","{mark}","{mark}","{mark}","+{end}","b","c","d","{line}"]"#),
            ),
            (
                format!(r#"[{{"f":"a","n":1,"t":"{begin}"}},{{"f":"a","n":2,"t":"{line}"}}]"#),
                format!(r#"[{{"f":"a","n":1,"t":"{begin}"}},{{"f":"a","n":2,"t":"{mark}"}}]"#),
            ),
            (
                format!(r#"["{begin}","is how it begins","and","then","more","{line}"]"#),
                format!(r#"["{begin}","is how it begins","and","then","more","{line}"]"#),
            ),
        ] {
            assert_eq!(scrubbed(&json), wanted);
        }
    }

    #[test]
    fn a_value_is_redacted_by_the_name_beside_it() {
        let json = r#"[{"name":"DB_PASSWORD","value":"hunter2"},{"name":"PORT","value":"hunter2"}]"#;
        let wanted =
            r#"[{"name":"DB_PASSWORD","value":"[PASSWORD REDACTED]"},{"name":"PORT","value":"hunter2"}]"#;
        assert_eq!(scrubbed(json), wanted);
    }

    #[test]
    fn a_password_that_holds_an_address_is_redacted_whole() {
        let json = concat!(r#"{"password":"Xq7zz!"#, r#"me@corp.io#q9Zz"}"#);
        assert_eq!(scrubbed(json), r#"{"password":"[PASSWORD REDACTED]"}"#);
        assert_eq!(scrubbed(r#"{"contact":"me@corp.io"}"#), r#"{"contact":"[EMAIL REDACTED]"}"#);
    }
}
