//! `{a,b}` and `{1..3}`: the words that braces make of one.

use toolgate_shell::Part;

use crate::shell::text::NUMBER;

/// A piece of a word whose braces have been taken apart.
#[derive(Clone)]
pub(super) enum Spelled<'t> {
    Part(&'t Part<'t>),
    Bare(String),
}

/// More words than this do not come out of one.
const MAX_SPELLINGS: usize = 64;

/// The words that braces make of one.
pub(super) enum Braces<'t> {
    None,
    Many,
    Words(Vec<Vec<Spelled<'t>>>),
}

pub(super) fn braces<'t>(parts: &'t [Part<'t>]) -> Braces<'t> {
    if !parts.iter().any(|part| matches!(part, Part::Bare(text) if text.contains('{'))) {
        return Braces::None;
    }
    // One token a bare character; other parts are tokens as they are.
    let mut tokens: Vec<BraceToken<'t>> = Vec::new();
    for part in parts {
        match part {
            Part::Bare(text) => tokens.extend(text.chars().map(BraceToken::Char)),
            part => tokens.push(BraceToken::Part(part)),
        }
    }
    if tokens.len() > 768 {
        return Braces::Many;
    }
    match spell(&tokens, 0) {
        None => Braces::Many,
        Some(words) if words.len() == 1 && !changed(&tokens, &words) => Braces::None,
        Some(words) => Braces::Words(words.iter().map(|tokens| gather(tokens)).collect()),
    }
}

/// `{1..1}` is one word, and another one.
fn changed(tokens: &[BraceToken<'_>], words: &[Vec<BraceToken<'_>>]) -> bool {
    words.first().is_none_or(|word| word.len() != tokens.len())
}

#[derive(Clone, Copy)]
enum BraceToken<'t> {
    Char(char),
    Part(&'t Part<'t>),
}

fn gather<'t>(tokens: &[BraceToken<'t>]) -> Vec<Spelled<'t>> {
    let mut out: Vec<Spelled<'t>> = Vec::new();
    for token in tokens {
        match (token, out.last_mut()) {
            (BraceToken::Char(c), Some(Spelled::Bare(text))) => text.push(*c),
            (BraceToken::Char(c), _) => out.push(Spelled::Bare((*c).into())),
            (BraceToken::Part(part), _) => out.push(Spelled::Part(part)),
        }
    }
    out
}

/// All spellings of the tokens. `None`: too many.
fn spell<'t>(tokens: &[BraceToken<'t>], depth: u32) -> Option<Vec<Vec<BraceToken<'t>>>> {
    if depth > 16 {
        return None;
    }
    let mut from = 0;
    while let Some(open) = position(tokens, from, '{') {
        let Some((close, commas)) = matching(tokens, open) else {
            from = open + 1;
            continue;
        };
        let before = tokens.get(..open).unwrap_or_default();
        let inside = tokens.get(open + 1..close).unwrap_or_default();
        let after = spell(tokens.get(close + 1..).unwrap_or_default(), depth + 1)?;
        let options: Vec<Vec<BraceToken<'t>>> = if commas.is_empty() {
            match sequence(inside) {
                Some(names) => {
                    names.into_iter().map(|name| name.chars().map(BraceToken::Char).collect()).collect()
                }
                None => {
                    from = open + 1;
                    continue;
                }
            }
        } else {
            let mut options = Vec::new();
            let mut start = open + 1;
            for end in commas.into_iter().chain([close]) {
                options.extend(spell(tokens.get(start..end).unwrap_or_default(), depth + 1)?);
                start = end + 1;
            }
            options
        };
        if options.len() * after.len() > MAX_SPELLINGS {
            return None;
        }
        let combine = |option: &Vec<BraceToken<'t>>| {
            after
                .iter()
                .map(|after| [before, option.as_slice(), after.as_slice()].concat())
                .collect::<Vec<_>>()
        };
        return Some(options.iter().flat_map(combine).collect());
    }
    Some(vec![tokens.to_vec()])
}

fn position(tokens: &[BraceToken<'_>], from: usize, wanted: char) -> Option<usize> {
    tokens
        .iter()
        .enumerate()
        .skip(from)
        .find(|(_, token)| matches!(token, BraceToken::Char(c) if *c == wanted))
        .map(|(at, _)| at)
}

/// The brace that closes this one, and the commas between that belong to it.
fn matching(tokens: &[BraceToken<'_>], open: usize) -> Option<(usize, Vec<usize>)> {
    let mut depth = 0_u32;
    let mut commas = Vec::new();
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token {
            BraceToken::Char('{') => depth += 1,
            BraceToken::Char('}') => {
                depth -= 1;
                if depth == 0 {
                    return Some((at, commas));
                }
            }
            BraceToken::Char(',') if depth == 1 => commas.push(at),
            BraceToken::Char(_) | BraceToken::Part(_) => {}
        }
    }
    None
}

/// `1..5`, `a..e`, `1..9..2`; a part whose value is not known makes it a sequence of names.
fn sequence(tokens: &[BraceToken<'_>]) -> Option<Vec<String>> {
    let mut text = String::new();
    for token in tokens {
        match token {
            BraceToken::Char(c) => text.push(*c),
            BraceToken::Part(_) => return None,
        }
    }
    let mut pieces = text.split("..");
    let (first, last, step) = (pieces.next()?, pieces.next()?, pieces.next());
    if pieces.next().is_some() {
        return None;
    }
    let step = step.map_or(Some(1), |step| step.parse::<i64>().ok())?.unsigned_abs().max(1);
    let padded =
        |text: &str| text.trim_start_matches('-').len() > 1 && text.trim_start_matches('-').starts_with('0');
    if padded(first) || padded(last) {
        return Some(vec![NUMBER.to_string(); 2]);
    }
    if let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let count = first.abs_diff(last) / step + 1;
        if count > MAX_SPELLINGS as u64 {
            return Some(vec![String::new(); MAX_SPELLINGS + 1]);
        }
        let at = |n: u64| {
            if first <= last { first + (n * step).cast_signed() } else { first - (n * step).cast_signed() }
        };
        return Some((0..count).map(|n| at(n).to_string()).collect());
    }
    let one = |text: &str| {
        let mut chars = text.chars();
        chars.next().filter(|c| c.is_ascii_alphabetic() && chars.as_str().is_empty())
    };
    let (first, last) = (one(first)?, one(last)?);
    let (low, high) = (first.min(last), first.max(last));
    Some((low..=high).step_by(usize::try_from(step).ok()?).map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brace_sequence_is_counted_out() {
        let tokens: Vec<BraceToken<'_>> = "1..3".chars().map(BraceToken::Char).collect();
        assert_eq!(sequence(&tokens), Some(vec!["1".into(), "2".into(), "3".into()]));
    }
}
