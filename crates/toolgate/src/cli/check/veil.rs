//! A text as it may be shown: secrets are marks, what is left out is an ellipsis, and every place of the text as it was
//! given can still be found in it.

use std::ops::Range;

use toolgate_model::is_hidden;
use toolgate_secrets::redact;

/// What stands for a secret ends with this.
const MARK_END: &str = " REDACTED]";
/// What stands for one that is known from elsewhere.
const SECRET: &str = "[SECRET REDACTED]";
/// So many are looked for elsewhere.
const MAX_SECRETS: usize = 16;
/// A line that is longer than this is shown in parts.
const LONG: usize = 240;
/// So much is kept around the ends of what is underlined.
const AROUND: usize = 40;

/// A text with its secrets or its tedious parts replaced.
#[derive(Debug)]
pub(super) struct Veil {
    text: String,
    /// What was kept: where it stood, where it stands, how long it is. In order.
    kept: Vec<(usize, usize, usize)>,
}

impl Veil {
    /// The text without secrets, and the secrets.
    ///
    /// What stands between two marks is looked for in the text as it was given: what lies between are secrets.
    pub(super) fn redacting(given: &str) -> (Veil, Vec<String>) {
        let text = redact(given).into_string();
        if text == given {
            return (Veil { kept: vec![(0, 0, text.len())], text }, Vec::new());
        }
        let (mut kept, mut secrets) = (Vec::new(), Vec::new());
        let (mut from, mut at) = (0, 0);
        for (number, piece) in between_marks(&text).into_iter().enumerate() {
            let rest = given.get(from..).unwrap_or_default();
            let words = text.get(piece.clone()).unwrap_or_default();
            let last = piece.end == text.len();
            let found = match number {
                0 => rest.starts_with(words).then_some(0),
                _ if last => rest.ends_with(words).then(|| rest.len() - words.len()),
                _ => rest.find(words),
            };
            let Some(found) = found else { break };
            let secret = given.get(at..from + found).unwrap_or_default();
            let secret = secret.trim_matches(|c: char| c.is_whitespace() || ";,&|'\")".contains(c));
            // What is shorter is a word like any other.
            if secret.len() >= 6
                && secrets.len() < MAX_SECRETS
                && !secrets.iter().any(|known| known == secret)
            {
                secrets.push(secret.to_owned());
            }
            kept.push((from + found, piece.start, piece.len()));
            at = from + found + piece.len();
            // A secret has at least one character.
            from = at + given.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        }
        (Veil { text, kept }.without(&secrets), secrets)
    }

    /// The same with these replaced wherever else they stand.
    fn without(self, secrets: &[String]) -> Veil {
        let mut veil = Veil { text: String::with_capacity(self.text.len()), kept: Vec::new() };
        let mut done = 0;
        for (was, is, length) in self.kept {
            veil.text.push_str(self.text.get(done..is).unwrap_or_default());
            done = is + length;
            let (mut was, mut rest) = (was, self.text.get(is..done).unwrap_or_default());
            loop {
                let places =
                    secrets.iter().filter_map(|secret| Some((rest.find(secret.as_str())?, secret.len())));
                let next = places.min();
                let part = rest.get(..next.map_or(rest.len(), |(at, _)| at)).unwrap_or_default();
                veil.kept.push((was, veil.text.len(), part.len()));
                veil.text.push_str(part);
                let Some((at, length)) = next else { break };
                veil.text.push_str(SECRET);
                was += at + length;
                rest = rest.get(at + length..).unwrap_or_default();
            }
        }
        veil.text.push_str(self.text.get(done..).unwrap_or_default());
        veil
    }

    /// The text with an ellipsis in place of what is far from all that is underlined, in lines that are too long.
    pub(super) fn abridging(text: &str, underlined: &[Range<usize>]) -> Veil {
        let mut wanted: Vec<Range<usize>> = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let end = start + line.len();
            if line.len() <= LONG {
                wanted.push(start..end);
            } else {
                wanted.push(start..start + AROUND);
                for point in underlined.iter().flat_map(|range| [range.start, range.end]) {
                    if (start..=end).contains(&point) {
                        wanted.push(point.saturating_sub(AROUND).max(start)..(point + AROUND).min(end));
                    }
                }
                wanted.push(end.saturating_sub(AROUND / 2)..end);
            }
            start = end;
        }
        wanted.sort_by_key(|range| range.start);
        let mut veil = Veil { text: String::new(), kept: Vec::new() };
        let mut done = 0;
        for range in wanted {
            let (from, to) = (text.floor_char_boundary(range.start), text.ceil_char_boundary(range.end));
            if to <= done {
                continue;
            }
            // A gap of a few characters is not worth an ellipsis.
            let from = if from <= done + AROUND / 4 { done } else { from };
            if from > done {
                veil.text.push('…');
            }
            let part = text.get(from..to).unwrap_or_default();
            veil.kept.push((from, veil.text.len(), part.len()));
            veil.text.push_str(part);
            done = to;
        }
        veil
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Where a range of the given text stands. Part of what was replaced counts as all of it.
    pub(super) fn range(&self, range: Range<usize>) -> Range<usize> {
        let start = self.place(range.start, false);
        let end = self.place(range.end, true).max(start);
        self.text.floor_char_boundary(start)..self.text.ceil_char_boundary(end)
    }

    fn place(&self, at: usize, is_end: bool) -> usize {
        let behind = self.kept.partition_point(|(was, ..)| *was <= at);
        let next = self.kept.get(behind).map_or(self.text.len(), |(_, is, _)| *is);
        match behind.checked_sub(1).and_then(|before| self.kept.get(before)) {
            Some((was, is, length)) if at <= was + length => is + (at - was),
            Some((_, is, length)) if !is_end => is + length,
            None if !is_end => 0,
            _ => next,
        }
    }
}

/// What stands before, between and behind the marks.
fn between_marks(text: &str) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(MARK_END) {
        let open = text.get(start..at).and_then(|before| before.rfind('['));
        if let Some(open) = open {
            pieces.push(start..start + open);
            start = at + MARK_END.len();
        }
    }
    pieces.push(start..text.len());
    pieces
}

/// Hides the secrets of a command wherever else they come up.
#[derive(Debug, Default)]
pub(super) struct Discretion {
    secrets: Vec<String>,
}

impl Discretion {
    pub(super) fn new(secrets: Vec<String>) -> Discretion {
        Discretion { secrets }
    }

    /// The text without secrets.
    pub(super) fn hide(&self, text: &str) -> String {
        let mut text = redact(text).into_string();
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), SECRET);
            }
        }
        text
    }

    /// The text in one line, without secrets, control characters and marks of direction.
    pub(super) fn line(&self, text: &str) -> String {
        let hidden = self.hide(text);
        if !hidden.contains(is_hidden) {
            return hidden;
        }
        let escape = |c: char| if is_hidden(c) { c.escape_default().to_string() } else { c.to_string() };
        hidden.chars().map(escape).collect()
    }

    /// Words without secrets. A word can be a secret by what stands before it: `--password x`.
    pub(super) fn words(&self, words: &[String]) -> Vec<String> {
        let (veil, _) = Veil::redacting(&words.join(" "));
        let mut start = 0;
        let mut shown = Vec::with_capacity(words.len());
        for word in words {
            let range = veil.range(start..start + word.len());
            shown.push(self.hide(veil.text().get(range).unwrap_or_default()));
            start += word.len() + 1;
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_behind_redaction_marks() {
        let given = "curl -H 'Authorization: Bearer ghp_1234567890abcdefghijklmnopqrstuvwxyz' x > out";
        let (veil, secrets) = Veil::redacting(given);
        assert!(!veil.text().contains("ghp_"), "{veil:?}");
        assert!(!secrets.is_empty());
        let at = given.find("> out").unwrap();
        assert_eq!(veil.text().get(veil.range(at..given.len())), Some("> out"));
        assert_eq!(veil.range(0..given.len()), 0..veil.text().len());
    }

    #[test]
    fn a_shortened_line_keeps_what_is_underlined() {
        let given = format!("{} > out; {}\nä", "é".repeat(3_000), "x".repeat(3_000));
        let at = given.find("> out").unwrap();
        let underlined = at..at + 5;
        let veil = Veil::abridging(&given, std::slice::from_ref(&underlined));
        assert!(veil.text().len() < 500, "{}", veil.text());
        assert_eq!(veil.text().get(veil.range(underlined)), Some("> out"));
        assert!(veil.text().ends_with("\nä"));
    }

    #[test]
    fn a_word_is_redacted_by_the_word_before_it() {
        let words: Vec<String> = ["curl", "Authorization:", "hunter2hunter2", "x"].map(str::to_owned).into();
        let shown = Discretion::default().words(&words);
        assert_eq!(shown, ["curl", "Authorization:", SECRET, "x"]);
    }

    #[test]
    fn a_secret_is_redacted_wherever_it_occurs() {
        let given = "PASSWORD=hunter2hunter2; rm hunter2hunter2 > out";
        let (veil, _) = Veil::redacting(given);
        assert!(!veil.text().contains("hunter2"), "{veil:?}");
        let at = given.find("rm").unwrap();
        assert_eq!(veil.text().get(veil.range(at..at + 17)), Some("rm [PASSWORD REDACTED]"));
        assert_eq!(veil.text().get(veil.range(given.len() - 5..given.len())), Some("> out"));
    }

    #[test]
    fn every_place_of_a_redacted_text_is_at_a_character() {
        for given in
            ["", "[A REDACTED]", "TOKEN=a [SECRET REDACTED] b", "PASSWORD=hunter2 PASSWORD=hunter2", "ä\u{0}"]
        {
            let (veil, _) = Veil::redacting(given);
            for at in 0..=given.len() {
                let range = veil.range(at..given.len());
                assert!(veil.text().get(range).is_some(), "{given} {at}");
            }
        }
    }
}
