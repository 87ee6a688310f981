//! The shapes of a makefile's text: lines, words, patterns.

use crate::recipes::HOLE;

/// What a line is, by the first sign outside of `$(…)`.
pub(super) enum MakeLine<'a> {
    Assignment {
        name: &'a str,
        operator: &'a str,
        value: &'a str,
    },
    /// `rest` may begin with the second colon.
    Rule {
        targets: &'a str,
        rest: &'a str,
    },
    Other,
}

impl<'a> MakeLine<'a> {
    pub(super) fn of(line: &'a str) -> MakeLine<'a> {
        let found = outside(line).find(|(_, c)| matches!(c, '=' | ':' | '#' | ';'));
        let Some((at, sign)) = found else { return MakeLine::Other };
        let Some((before, after)) = line.split_at_checked(at) else { return MakeLine::Other };
        if sign == ':' {
            let rest = after.trim_start_matches(':');
            if let Some(value) = rest.strip_prefix('=') {
                let operator = after.strip_suffix(value).unwrap_or(":=");
                return MakeLine::Assignment { name: before.trim(), operator, value: value.trim_start() };
            }
            return MakeLine::Rule { targets: before, rest: after.strip_prefix(':').unwrap_or(after) };
        }
        if sign != '=' {
            return MakeLine::Other;
        }
        let value = after.strip_prefix('=').unwrap_or(after).trim_start();
        let (name, operator) = match before.char_indices().next_back() {
            Some((at, '?')) => (before.get(..at), "?="),
            Some((at, '+')) => (before.get(..at), "+="),
            Some((at, '!')) => (before.get(..at), "!="),
            _ => (Some(before), "="),
        };
        MakeLine::Assignment { name: name.unwrap_or(before).trim(), operator, value }
    }
}

/// The characters outside of `$(…)` and `${…}` that are not escaped.
fn outside(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut closers: Vec<char> = Vec::new();
    let mut last = ' ';
    text.char_indices().filter(move |(_, c)| {
        let before = last;
        last = if before == '\\' && *c == '\\' { ' ' } else { *c };
        let closer = match c {
            '(' => ')',
            '{' => '}',
            _ => '\0',
        };
        if closer != '\0' && (before == '$' || closers.last() == Some(&closer)) {
            closers.push(closer);
        } else if closers.last() == Some(c) {
            closers.pop();
            return false;
        }
        closers.is_empty() && before != '\\'
    })
}

/// Without the comment at the end.
pub(super) fn uncommented(text: &str) -> String {
    let end = outside(text).find(|(_, c)| *c == '#').map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text).replace("\\#", "#")
}

/// Prerequisites, and the recipe behind a `;`.
pub(super) fn cut_recipe(text: &str) -> (&str, Option<&str>) {
    match outside(text).find(|(_, c)| matches!(c, ';' | '#')) {
        Some((at, sign)) => {
            let (head, rest) = text.split_at_checked(at).unwrap_or((text, ""));
            (head, rest.strip_prefix(';').filter(|_| sign == ';'))
        }
        None => (text, None),
    }
}

/// Whether the next line belongs to this one.
pub(super) fn continues(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

pub(super) fn without_first_word(line: &str) -> (&str, &str) {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (word, rest.trim_start())
}

pub(super) fn join_words<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(" ")
}

/// What the `%` of a pattern stands for; a hole where it may stand for something.
pub(super) fn stem(pattern: &str, word: &str) -> Option<String> {
    let (start, end) = pattern.split_once('%')?;
    let exact = |word: &str| word.strip_prefix(start)?.strip_suffix(end).map(str::to_owned);
    if let Some(stem) = exact(word).filter(|stem| !stem.is_empty()) {
        return Some(stem);
    }
    let hole = || Some(HOLE.to_string());
    if let Some(((before, _), (_, after))) = word.split_once(HOLE).zip(word.rsplit_once(HOLE)) {
        let starts = before.starts_with(start) || start.starts_with(before);
        let ends = after.ends_with(end) || end.ends_with(after);
        return if starts && ends { hole() } else { None };
    }
    // A pattern without a directory looks at the file's name alone.
    let stem = exact(not_dir(word)).filter(|stem| !stem.is_empty() && !pattern.contains('/'))?;
    if stem == word { Some(stem) } else { hole() }
}

/// A pattern with its `%` replaced.
pub(super) fn over_stem(word: &str, stem: Option<&str>) -> String {
    match (word.split_once('%'), stem) {
        (Some((start, end)), Some(stem)) => format!("{start}{stem}{end}"),
        _ => word.to_owned(),
    }
}

pub(super) fn dir(word: &str) -> &str {
    word.rsplit_once('/').map_or(".", |(dir, _)| if dir.is_empty() { "/" } else { dir })
}

pub(super) fn not_dir(word: &str) -> &str {
    word.rsplit_once('/').map_or(word, |(_, name)| name)
}
