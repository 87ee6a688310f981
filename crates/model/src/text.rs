//! Texts as people are shown them.

/// The text, its middle left out where it is longer than `limit` characters.
pub fn shorten(text: &str, limit: usize) -> String {
    let count = text.chars().count();
    if count <= limit {
        return text.to_owned();
    }
    let keep = limit.saturating_sub(1);
    let head = keep / 2;
    let tail = keep - head;
    text.chars().take(head).chain(['…']).chain(text.chars().skip(count - tail)).collect()
}

/// A text with every character that a terminal would obey instead of show spelled out: what is shown comes
/// from a repository's files.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' | '\t' => shown.push(c),
            c if c.is_control() || turns => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}
