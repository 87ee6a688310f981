//! Patterns: what matches, and what they match on the disk.

use toolgate_declaration::wildcard_fits;
use toolgate_model::World;

use crate::budget;

use super::text::{ANY, CLASS, INNER, NAME, ONE, PIECE, STAR, Text, is_mark};

/// More matches than this are not told apart.
const MAX_MATCHES: usize = 256;
/// Names of one directory that a pattern is held against. Where there are more, the matches are some of them, and not told apart.
pub(super) const MAX_NAMES: usize = 8_192;
/// So many directories are looked into for one pattern.
const MAX_LISTED: usize = 64;

/// The text with its bare glob characters as marks.
pub(crate) fn marked(text: &str) -> Text {
    if !text.contains(['*', '?', '[']) {
        return Text::known(text);
    }
    let mut out = String::with_capacity(text.len() + 4);
    let last_end = text.rfind(']').unwrap_or(0);
    for (at, c) in text.char_indices() {
        out.push(match c {
            '*' => STAR,
            '?' => ONE,
            '[' if at < last_end => CLASS,
            c if is_mark(c) => ANY,
            c => c,
        });
    }
    Text::marked(out)
}

/// Whether a pattern fits a text that is known. `None` where that cannot be told.
pub(crate) fn fits(pattern: &str, text: &str) -> Option<bool> {
    // Classes by name, quoted characters inside of classes and backslashes from variables are not worked out.
    let odd = pattern.contains("[:") || pattern.contains(['\\', '[']) || pattern.contains("\u{fdd5}:");
    if odd || pattern.contains([ANY, NAME, PIECE, INNER, super::text::NUMBER]) || text.contains(is_mark) {
        return None;
    }
    budget::pay(32 + pattern.len() + text.len());
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    // A pattern with many stars over a long text is quadratic; nobody writes one.
    let work = pattern.len() * text.len();
    (work <= 1 << 14).then(|| {
        budget::pay(work / 2);
        fit(&pattern, &text)
    })
}

fn fit(pattern: &[char], text: &[char]) -> bool {
    wildcard_fits(
        pattern,
        text,
        |c| *c == STAR,
        |rest, c| match rest {
            [ONE, ..] => Some(1),
            [CLASS, class @ ..] => class_length(class, *c).map(|length| 1 + length),
            [wanted, ..] => (wanted == c).then_some(1),
            [] => None,
        },
    )
}

/// How long the class is that the pattern begins with, if the character is in it.
fn class_length(pattern: &[char], c: char) -> Option<usize> {
    let negated = matches!(pattern.first(), Some('!' | '^'));
    let first = usize::from(negated);
    let mut at = first;
    let mut within = false;
    loop {
        match pattern.get(at) {
            Some(']') if at > first => break,
            // `[:alpha:]` and its kin: any character will do, which matches too much rather than too little.
            Some('[') if matches!(pattern.get(at + 1), Some(':' | '.' | '=')) => {
                within = true;
                let rest = pattern.get(at + 2..).unwrap_or_default();
                at += 2 + rest.iter().position(|c| *c == ']')? + 1;
            }
            Some(low) => match (pattern.get(at + 1), pattern.get(at + 2)) {
                (Some('-'), Some(high)) if *high != ']' => {
                    within |= (*low..=*high).contains(&c);
                    at += 3;
                }
                _ => {
                    within |= *low == c;
                    at += 1;
                }
            },
            None => return None,
        }
    }
    (within != negated).then_some(at + 1)
}

/// The absolute names on the disk that a pattern matches. `None`: too many, or a directory that cannot be listed.
pub(crate) fn expand(
    world: &dyn World,
    pattern: &str,
    made: &dyn Fn(&str) -> Vec<String>,
) -> Option<Vec<String>> {
    let mut places = vec![String::new()];
    let mut listed = 0;
    for name in pattern.split('/').skip(1) {
        if !name.contains(is_mark) {
            for place in &mut places {
                place.push('/');
                place.push_str(name);
            }
            continue;
        }
        let mut next = Vec::new();
        for place in &places {
            listed += 1;
            if listed > MAX_LISTED {
                return None;
            }
            let directory = if place.is_empty() { "/" } else { place.as_str() };
            let mut names: Vec<String> = match world.names(std::path::Path::new(directory), MAX_NAMES) {
                Ok(None) => return None,
                Ok(Some(paths)) => {
                    paths.iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect()
                }
                Err(_) => Vec::new(),
            };
            names.extend(made(directory));
            for found in names {
                let hidden = found.starts_with('.') && !name.starts_with('.');
                if !hidden && fits(name, &found)? {
                    next.push(format!("{place}/{found}"));
                }
            }
            if next.len() > MAX_MATCHES {
                return None;
            }
        }
        places = next;
    }
    Some(places)
}
