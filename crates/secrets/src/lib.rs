//! Text in, text without secrets out.
//!
//! Promise: what has the shape of a known token, or stands where a secret stands (after `DB_PASSWORD=`, in a
//! URL before the `@`), is replaced by a mark that says what was there. Redacting twice changes nothing.
//! Time grows with the length of the text and with nothing else; no text makes it panic.
//!
//! Against whom: nobody clever. Tools show secrets by carelessness. Whoever wants to hide a secret from this crate can
//! (by encoding it, by splitting it); the gate's other rules are there for that.
//!
//! ```
//! use toolgate_secrets::{Marks, Rules, Stream, find, scrub};
//!
//! let token = format!("ghp_{}", "a1B2".repeat(9));
//! let text = format!("remote: {token} expires today");
//!
//! // A whole text; `None` where there is nothing to replace.
//! let rules = Rules::default();
//! let scrubbed = scrub(text.as_bytes(), &rules, Marks::Plain).ok_or("nothing was found")?;
//! assert_eq!(scrubbed.text, b"remote: [GITHUB_TOKEN REDACTED] expires today");
//! assert_eq!(scrub(&scrubbed.text, &rules, Marks::Plain), None);
//!
//! // Where it stands and what it is.
//! let found = find(text.as_bytes(), &rules);
//! assert_eq!((found[0].pattern, &text[found[0].from..found[0].to]), ("github-token", token.as_str()));
//!
//! // A text that comes in pieces, wherever it is cut.
//! let (mut stream, mut out) = (Stream::new(&rules, Marks::Plain), Vec::new());
//! for piece in text.as_bytes().chunks(7) {
//!     stream.push(piece, &mut out);
//! }
//! assert_eq!(stream.finish(&mut out), 1);
//! assert_eq!(out, scrubbed.text);
//! # Ok::<(), &str>(())
//! ```
//!
//! The way of a text: the search (`search.rs`) finds all literals of all patterns in one pass over the text; [`find()`] looks
//! closer where one stands (a shape from `patterns/*.toml`, a credential-like name, a key block, an address); a lens (`lens.rs`) lets it
//! see through escapes and colours; [`scrub()`], [`scrub_json`] and [`Stream`] put marks in the place of what was found.
//!
//! [`redact`] is for records: those are kept for long and shown to many, and nobody edits by them, so it takes any value
//! behind a credential-like name (`places.rs`).
//!
//! Reading order: [`scrub()`] → [`Rules`] → [`find()`] → [`Stream`] → [`redact`].

mod email;
mod find;
mod forms;
mod gram;
mod json;
mod json_string;
mod known;
mod lens;
mod names;
mod pem;
mod places;
mod rewrite;
mod scrub;
mod search;
mod spots;
mod stream;
mod tables;
mod url;
mod values;

pub use find::{Found, Rules, find};
pub use json::scrub_json;
pub use known::{HEADS, Heads, KnownValues, is_odd, word_headed};
pub use lens::quote_or_escape;
pub use scrub::{Emails, Marks, Scrubbed, scrub};
pub use stream::Stream;

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

/// A text that has been through [`redact`].
///
/// INVARIANT: only this crate builds one. A place that takes `Redacted` cannot be handed a raw text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Redacted(String);

impl Redacted {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
    /// The text, without a copy.
    pub fn into_string(self) -> String {
        self.0
    }
    /// The value of a parameter of this name. Where the name says that it is a secret, no look at the value is
    /// needed.
    #[must_use]
    pub fn named(self, name: &str) -> Redacted {
        if places::names_secret(name) && !places::is_harmless(&self.0) {
            return Redacted(Mark::Secret.text().to_owned());
        }
        self
    }
}

impl fmt::Display for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Redacted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// The text with every secret that we know replaced by its mark.
///
/// ```
/// let text = toolgate_secrets::redact("psql postgres://app:hunter2@db/main");
/// assert_eq!(text.as_str(), "psql postgres://app:[PASSWORD REDACTED]@db/main");
/// ```
pub fn redact(text: &str) -> Redacted {
    // A mark can make a value out of what was too short to be one (`TOKEN=:r@`), so what was changed is looked at
    // again until it stays as it is. Every round replaces text by marks; a few are enough.
    let mut redacted = Cow::Borrowed(text);
    for _ in 0..MAX_ROUNDS {
        match once(&redacted) {
            Some(changed) => redacted = Cow::Owned(changed),
            None => break,
        }
    }
    Redacted(redacted.into_owned())
}

/// How often a text is looked at again.
const MAX_ROUNDS: usize = 8;

/// One round; `None` where nothing is to be replaced.
fn once(text: &str) -> Option<String> {
    let shaped = scrub(text.as_bytes(), &Rules::default(), Marks::Plain)
        .map(|scrubbed| String::from_utf8_lossy(&scrubbed.text).into_owned());
    let placed = match places::redact(shaped.as_deref().unwrap_or(text)) {
        Cow::Owned(text) => Some(text),
        Cow::Borrowed(_) => None,
    };
    placed.or(shaped).filter(|changed| changed != text)
}

/// The first of our marks in a text: `[EMAIL REDACTED]#22a0`. With `numbered`, only one with its digits counts: those are written by nobody else.
pub fn mark_in(text: &str, numbered: bool) -> Option<&str> {
    const DIGITS: usize = 4;
    let mut at = 0;
    while let Some(open) = text.get(at..).and_then(|rest| rest.find('[')).map(|open| at + open) {
        at = open + 1;
        let rest = text.get(open..).unwrap_or_default().as_bytes();
        let compat = rest.starts_with(b"[REDACTED:") || rest.starts_with(b"[EMAIL_REDACTED]");
        let length = match Mark::length_at(rest) {
            Some(length) => length,
            None if compat && !numbered => {
                rest.iter().take(48).position(|byte| *byte == b']').map_or(0, |end| end + 1)
            }
            None => continue,
        };
        let digits = rest.get(length..).and_then(|rest| rest.strip_prefix(b"#")).unwrap_or_default();
        let digits = digits.iter().take(DIGITS).take_while(|byte| byte.is_ascii_hexdigit()).count();
        if length > 0 && (digits == DIGITS || !numbered) {
            return text.get(open..open + length + if digits == DIGITS { DIGITS + 1 } else { 0 });
        }
    }
    None
}

/// A kind of secret, for those who list them.
pub struct Pattern {
    /// Its id: `github-token`.
    pub id: &'static str,
    /// The name in its mark: `GITHUB_TOKEN`.
    pub mark: &'static str,
    /// What it is: `a GitHub token`.
    pub about: &'static str,
}

/// Every kind of secret that is known, those first that are more than a shape.
pub fn patterns() -> impl Iterator<Item = Pattern> {
    let kinds = find::KINDS.iter().map(|kind| Pattern { id: kind.id, mark: kind.mark, about: kind.about });
    let shapes = tables::patterns().iter().map(|pattern| Pattern {
        id: pattern.id.as_str(),
        mark: pattern.mark.as_str(),
        about: pattern.about.as_str(),
    });
    kinds.chain(shapes)
}

/// What stands in a record where a secret stood that is known by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Password,
    Secret,
}

impl Mark {
    fn text(self) -> &'static str {
        match self {
            Mark::Password => "[PASSWORD REDACTED]",
            Mark::Secret => "[SECRET REDACTED]",
        }
    }

    /// The length of the mark that stands at the beginning of `rest`, whosever it is.
    fn length_at(rest: &[u8]) -> Option<usize> {
        const LONGEST: usize = 48;
        const END: &[u8] = b" REDACTED]";
        let name = rest.strip_prefix(b"[")?;
        let length = name
            .iter()
            .take(LONGEST)
            .take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b'_')
            .count();
        (length > 0 && name.get(length..)?.starts_with(END)).then_some(1 + length + END.len())
    }
}

#[cfg(test)]
mod tests {
    use super::{Redacted, redact};

    #[test]
    fn tokens_inside_assignments_are_redacted_once() {
        for (text, wanted) in [
            // The more telling mark stays.
            ("GITHUB_TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345", "GITHUB_TOKEN=[GITHUB_TOKEN REDACTED]"),
            // What is left of the value beside a token is a secret all the same.
            ("API_KEY=AKIAIOSFODNN7EXAMPLE:hunter2", "API_KEY=[SECRET REDACTED]"),
            // A key block that begins inside a value ends where the block ends, not at the first space.
            (
                "SECRET=x-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- tail",
                "SECRET=[SECRET REDACTED] tail",
            ),
            (
                "https://x-access-token:ghs_0123456789abcdefghijABCDEFGHIJ012345@github.com/a/b",
                "https://x-access-token:[GITHUB_TOKEN REDACTED]@github.com/a/b",
            ),
        ] {
            assert_eq!(redact(text).as_str(), wanted);
            assert_eq!(redact(wanted).as_str(), wanted, "a second time");
        }
    }

    #[test]
    fn redacting_twice_changes_nothing() {
        for text in ["://TOKEN=:r@", "PASSWORD=hunter2", "https://a:b@c TOKEN=x:y@z"] {
            let once = redact(text);
            assert_eq!(redact(once.as_str()), once, "{text}");
        }
    }

    #[test]
    fn a_parameter_that_names_a_secret_hides_any_value() {
        assert_eq!(redact("abc").named("db_password").as_str(), "[SECRET REDACTED]");
        assert_eq!(redact("Bearer abc").named("Authorization").as_str(), "[SECRET REDACTED]");
        assert_eq!(redact("$TOKEN").named("token").as_str(), "$TOKEN");
        assert_eq!(redact("").named("token").as_str(), "");
        assert_eq!(redact("/home/u/token").named("file_path").as_str(), "/home/u/token");
    }

    #[test]
    fn marks_are_known_again() {
        for (text, numbered, found) in [
            ("\"author\": \"[EMAIL REDACTED]#22a0\"", true, Some("[EMAIL REDACTED]#22a0")),
            ("a [x] [JWT REDACTED] b", true, None),
            ("a [x] [JWT REDACTED] b", false, Some("[JWT REDACTED]")),
            ("[REDACTED:JWT]", false, Some("[REDACTED:JWT]")),
            ("[EMAIL_REDACTED]", false, Some("[EMAIL_REDACTED]")),
            ("[REDACTED] [not REDACTED] [", false, None),
        ] {
            assert_eq!(super::mark_in(text, numbered), found, "{text}");
        }
    }

    #[test]
    fn a_redacted_text_is_shown_and_stored_as_its_text() {
        let text: Redacted = redact("a b");
        assert_eq!(text.to_string(), "a b");
        assert_eq!(serde_json::to_string(&text).unwrap(), "\"a b\"");
    }
}
