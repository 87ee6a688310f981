//! A line of a terminal: pieces of text, each in a style.

use std::fmt::Write as _;

use toolgate_model::visible;
use unicode_width::UnicodeWidthChar;

/// How a piece of text looks. Without colours all differences but bold ones are told by words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// As the terminal has it.
    Plain,
    /// Less important.
    Dim,
    /// A head.
    Bold,
    /// Allowed, or contained.
    Good,
    /// Asked.
    Ask,
    /// Denied.
    Bad,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Style::Plain => "0",
            Style::Dim => "2",
            Style::Bold => "1",
            Style::Good => "32",
            Style::Ask => "33",
            Style::Bad => "31",
        }
    }
}

/// A line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    pieces: Vec<(Style, String)>,
    /// The one that keys act on.
    pub(crate) is_selected: bool,
}

impl Line {
    /// A line of one piece.
    pub fn of(style: Style, text: &str) -> Line {
        Line::default().with(style, text)
    }

    /// With a piece more. What a terminal would obey is spelled out.
    #[must_use]
    pub fn with(mut self, style: Style, text: &str) -> Line {
        self.pieces.push((style, visible(text).replace('\n', " ⏎ ").replace('\t', " ")));
        self
    }

    /// The text alone.
    pub fn text(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// What is written to the terminal: at most so many columns.
    pub(crate) fn drawn(&self, width: usize, colour: bool) -> String {
        let mut out = String::new();
        let mut left = width;
        if self.is_selected {
            out.push_str("\u{1b}[7m");
        }
        for (style, text) in &self.pieces {
            let (text, used) = cut(text, left);
            left -= used;
            match (style, colour) {
                (Style::Plain, _) => out.push_str(&text),
                (Style::Bold, false) | (_, true) => {
                    let again = if self.is_selected { "\u{1b}[7m" } else { "" };
                    let _ = write!(out, "\u{1b}[{}m{text}\u{1b}[0m{again}", style.code());
                }
                (_, false) => out.push_str(&text),
            }
        }
        if self.is_selected {
            out.push_str("\u{1b}[0m");
        }
        out
    }
}

/// As much of a text as fits, and how many columns it takes. A character of two columns is not halved.
fn cut(text: &str, width: usize) -> (String, usize) {
    let columns = |c: char| c.width().unwrap_or(0);
    let whole: usize = text.chars().map(columns).sum();
    if whole <= width {
        return (text.to_owned(), whole);
    }
    let (mut out, mut used) = (String::new(), 0);
    for c in text.chars() {
        if used + columns(c) + 1 > width {
            break;
        }
        used += columns(c);
        out.push(c);
    }
    if used < width {
        out.push('…');
        used += 1;
    }
    (out, used)
}

/// A text in lines of at most so many columns, broken between words where that can be done.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let columns = |text: &str| text.chars().map(|c| c.width().unwrap_or(0)).sum::<usize>();
    let width = width.max(1);
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let mut out = String::new();
        for word in line.split_inclusive(' ') {
            if !out.is_empty() && columns(&out) + columns(word.trim_end()) > width {
                lines.push(std::mem::take(&mut out).trim_end().to_owned());
            }
            for c in word.chars() {
                // What follows a full line begins a new one, but for a blank.
                if columns(&out) + c.width().unwrap_or(0) > width && c != ' ' {
                    lines.push(std::mem::take(&mut out).trim_end().to_owned());
                }
                out.push(c);
            }
        }
        lines.push(out.trim_end().to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_to_the_width_in_columns() {
        let line = Line::of(Style::Plain, "日本語のファイル").with(Style::Bad, " denied");
        for width in 0..30 {
            let drawn = line.drawn(width, false);
            let columns: usize = drawn.chars().map(|c| c.width().unwrap_or(0)).sum();
            assert!(columns <= width, "{width}: {drawn}");
        }
        assert_eq!(wrapped("abcdef\ng", 4), ["abcd", "ef", "g"]);
        assert_eq!(wrapped("ab cde  fghij", 4), ["ab", "cde", "fghi", "j"]);
    }

    #[test]
    fn a_text_is_never_obeyed() {
        let line = Line::of(Style::Plain, "a\u{1b}]0;title\u{7}b\nc");
        assert_eq!(line.drawn(80, true), "a\\u{1b}]0;title\\u{7}b ⏎ c");
    }

    #[test]
    fn without_colours_there_are_none() {
        let line = Line::of(Style::Bad, "deny").with(Style::Good, "allow");
        assert_eq!(line.drawn(80, false), "denyallow");
        assert_eq!(line.drawn(80, true), "\u{1b}[31mdeny\u{1b}[0m\u{1b}[32mallow\u{1b}[0m");
    }
}
