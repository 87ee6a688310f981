//! Patterns: what matches, and what they match on the disk.

use toolgate_model::World;

use super::text::{ANY, CLASS, INNER, NAME, ONE, PIECE, STAR, Text, is_mark};

/// More matches than this are not told apart.
const MAX_MATCHES: usize = 256;
/// So many directories are looked into for one pattern.
const MAX_LISTED: usize = 64;

/// The text with its bare glob characters as marks.
pub(crate) fn marked(text: &str) -> Text {
    if !text.contains(['*', '?', '[']) {
        return Text::known(text);
    }
    let mut out = String::with_capacity(text.len() + 4);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        out.push(match c {
            '*' => STAR,
            '?' => ONE,
            '[' if rest.contains(']') => CLASS,
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
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    // A pattern with many stars over a long text is quadratic; nobody writes one.
    (pattern.len() * text.len() <= 1 << 14).then(|| fit(&pattern, &text))
}

/// The usual way: on a star, remember where to go on should the rest fail.
fn fit(pattern: &[char], text: &[char]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        let step = match (pattern.get(p), text.get(t)) {
            (Some(&STAR), _) => {
                retry = Some((p + 1, t + 1));
                p += 1;
                continue;
            }
            (Some(&ONE), _) => Some(p + 1),
            (Some(&CLASS), Some(c)) => class(pattern, p + 1, *c),
            (Some(want), Some(c)) => (want == c).then_some(p + 1),
            _ => None,
        };
        match (step, retry) {
            (Some(next), _) => (p, t) = (next, t + 1),
            (None, Some((star, from))) => {
                (p, t) = (star, from);
                retry = Some((star, from + 1));
            }
            (None, None) => return false,
        }
    }
    pattern.get(p..).is_none_or(|rest| rest.iter().all(|c| *c == STAR))
}

/// Where the pattern goes on behind the class, if the character is in it.
fn class(pattern: &[char], from: usize, c: char) -> Option<usize> {
    let mut at = from;
    let negated = matches!(pattern.get(at), Some('!' | '^'));
    if negated {
        at += 1;
    }
    let first = at;
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
            let mut names: Vec<String> = match world.list(std::path::Path::new(directory)) {
                Ok(paths) => {
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
