//! What an operator makes of a text of which not all is known: `${x#y}`, `${x/y/z}`, `${x^^}`, `${x:1:2}`.

use crate::shell::evaluated::begins_code;
use crate::shell::text::{ANY, CLASS, INNER, NAME, NUMBER, ONE, PIECE, STAR, Text, replaced};
use crate::shell::{glob, output};

/// Where the bytes of a text may be cut.
fn cuts(text: &str) -> impl DoubleEndedIterator<Item = usize> + '_ {
    text.char_indices().map(|(at, _)| at).chain([text.len()])
}

pub(super) fn strip(text: &Text, pattern: &Text, suffix: bool, longest: bool) -> Text {
    let raw = text.raw();
    // What `*.txt` matches begins with no dot, and does so without its ending.
    let visible = raw.starts_with(|c| matches!(c, STAR | ONE | CLASS)) && !raw.contains(['/', INNER, ANY]);
    if visible && suffix && pattern.raw().starts_with('.') {
        return Text::mark(NAME);
    }
    if let Some(pattern) = pattern.whole() {
        // Plain text comes off a partly known text too, if it surely stands there.
        let stripped = if suffix { raw.strip_suffix(pattern) } else { raw.strip_prefix(pattern) };
        if let Some(rest) = stripped {
            // `${f%.txt}` of `*.txt` is `..` where a file is called `...txt`.
            let matched = rest.contains([STAR, ONE, CLASS]) && !rest.contains(['/', INNER, ANY]);
            return if matched { shortened(text) } else { Text::marked(rest.to_owned()) };
        }
    }
    let slash_star = pattern.raw() == format!("/{STAR}");
    let star_slash = pattern.raw() == format!("{STAR}/");
    if !text.has_any() && !text.is_known() {
        return match (suffix, longest) {
            // The last name, the directory: of paths that lead down, both lead down.
            (false, true) if star_slash => match raw.rsplit_once('/') {
                Some((_, last)) if !last.contains(INNER) => Text::marked(last.to_owned()),
                _ => output::last_name(text),
            },
            (true, false) if slash_star => match raw.rsplit_once('/') {
                Some((above, last)) if !last.contains(INNER) => Text::marked(above.to_owned()),
                _ => text.clone(),
            },
            _ if !raw.contains(['/', INNER]) => shortened(text),
            (true, false) => text.clone(),
            _ => Text::any(),
        };
    }
    let Some(whole) = text.whole().filter(|whole| whole.len() <= 512) else { return Text::any() };
    let fitting = |at: &usize| {
        let part = if suffix { whole.get(*at..) } else { whole.get(..*at) };
        part.and_then(|part| glob::fits(pattern.raw(), part)) == Some(true)
    };
    if glob::fits(pattern.raw(), whole).is_none() {
        return Text::any();
    }
    // From the shortest to the longest piece, or the other way round.
    let found = if suffix == longest { cuts(whole).find(fitting) } else { cuts(whole).rev().find(fitting) };
    match found {
        Some(at) => Text::known(if suffix { whole.get(..at) } else { whole.get(at..) }.unwrap_or_default()),
        None => text.clone(),
    }
}

/// What is left of a name that is not known: of `..a` it may be `..`, of a number only digits.
fn shortened(name: &Text) -> Text {
    let number = name.raw().chars().all(|c| c == NUMBER || c.is_ascii_digit());
    Text::mark(if number { NUMBER } else { PIECE })
}

pub(super) fn replace(text: &Text, pattern: &Text, with: &Text, all: bool, anchor: Option<u8>) -> Text {
    let (Some(whole), Some(with)) = (text.whole(), with.whole()) else {
        // A name in which one known piece is exchanged for another that holds no slash stays a name; without the piece
        // it is what is left of one.
        let plain = !text.raw().contains(['/', INNER, ANY]) && !with.raw().contains(['/', INNER, ANY, '.']);
        return match with.whole() {
            _ if !plain || with.raw().contains(begins_code) => Text::any(),
            Some(with) if !with.is_empty() && !text.raw().contains(PIECE) => Text::mark(NAME),
            _ => shortened(text),
        };
    };
    if let Some(pattern) = pattern.whole() {
        if pattern.is_empty() {
            return text.clone();
        }
        return match anchor {
            Some(b'#') => Text::known(
                &whole.strip_prefix(pattern).map_or(whole.to_owned(), |rest| format!("{with}{rest}")),
            ),
            Some(_) => Text::known(
                &whole.strip_suffix(pattern).map_or(whole.to_owned(), |rest| format!("{rest}{with}")),
            ),
            None => replaced(whole, pattern, with, all).map_or_else(Text::any, |text| Text::known(&text)),
        };
    }
    if whole.len() > 96 || pattern.raw().matches(STAR).count() > 2 {
        return Text::any();
    }
    let mut out = String::new();
    let mut at = 0;
    let mut done = false;
    while at <= whole.len() {
        let rest = whole.get(at..).unwrap_or_default();
        let longest = (!done)
            .then(|| {
                cuts(rest)
                    .rev()
                    .find(|end| glob::fits(pattern.raw(), rest.get(..*end).unwrap_or_default()) == Some(true))
            })
            .flatten();
        match longest {
            Some(end) if end > 0 => {
                out.push_str(with);
                at += end;
                done = !all;
            }
            _ => match rest.chars().next() {
                Some(c) => {
                    out.push(c);
                    at += c.len_utf8();
                }
                None => break,
            },
        }
    }
    if anchor.is_some() { Text::any() } else { Text::known(&out) }
}

pub(super) fn change_case(text: &Text, operator: u8, all: bool) -> Text {
    match (text.whole(), operator, all) {
        (Some(text), b'^', true) => Text::known(&text.to_uppercase()),
        (Some(text), b',', true) => Text::known(&text.to_lowercase()),
        (Some(text), b'^', false) => {
            let mut chars = text.chars();
            Text::known(
                &chars
                    .next()
                    .map_or(String::new(), |c| c.to_uppercase().collect::<String>() + chars.as_str()),
            )
        }
        (Some(text), b',', false) => {
            let mut chars = text.chars();
            Text::known(
                &chars
                    .next()
                    .map_or(String::new(), |c| c.to_lowercase().collect::<String>() + chars.as_str()),
            )
        }
        (Some(_), _, _) => Text::any(),
        (None, _, _) if text.raw().contains([ANY, INNER, '/']) => Text::any(),
        (None, _, _) if text.raw().contains(PIECE) => Text::mark(PIECE),
        (None, _, _) => Text::mark(NAME),
    }
}

pub(super) fn slice(text: &Text, from: &Text, count: Option<&Text>) -> Text {
    let number = |text: &Text| text.whole().and_then(|text| text.trim().parse::<i64>().ok());
    let Some(whole) = text.whole() else {
        return if text.raw().contains([ANY, INNER, '/']) { Text::any() } else { shortened(text) };
    };
    let length = i64::try_from(whole.chars().count()).unwrap_or(i64::MAX);
    let zero = |text: &Text| {
        text.raw().trim_start_matches('-').len() > 1 && text.raw().trim_start_matches('-').starts_with('0')
    };
    if zero(from) || count.is_some_and(zero) {
        return Text::any();
    }
    let (Some(from), count) = (number(from), count.map(number)) else { return Text::any() };
    let from = if from < 0 { (length + from).max(0) } else { from.min(length) };
    let end = match count {
        None => length,
        Some(Some(count)) if count < 0 => (length + count).max(from),
        Some(Some(count)) => (from + count).min(length),
        Some(None) => return Text::any(),
    };
    let (from, count) = (usize::try_from(from).unwrap_or(0), usize::try_from(end - from).unwrap_or(0));
    Text::known(&whole.chars().skip(from).take(count).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_stripped_as_bash_does() {
        let cases = [
            ("a.tar.gz", ".*", true, false, "a.tar"),
            ("a.tar.gz", ".*", true, true, "a"),
            ("/x/y/z", "*/", false, true, "z"),
            ("/x/y/z", "/*", true, false, "/x/y"),
            ("abc", "x", true, false, "abc"),
        ];
        for (text, pattern, suffix, longest, expected) in cases {
            let stripped = strip(&Text::known(text), &glob::marked(pattern), suffix, longest);
            assert_eq!(stripped.whole(), Some(expected), "{text} {pattern}");
        }
    }
}
