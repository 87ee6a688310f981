//! Path patterns: how settings and rules name places.
//!
//! `{worktree}`, `{main}`, `{git}`, `{home}` or `~`, `{siblings}`, `{agents}`, `{agent-dir}`, `{transcripts}`
//! stand for places of the session's ground; one that the session does not have matches nothing. Then names,
//! divided by `/`; a `*` in a name stands for any part of it; a leading `**/` for any directories before.
//! A pattern covers the place that it names and everything below.

use std::path::Path;

use toolgate_model::{Ground, Spot};

/// How many components of `path` the pattern names, if it covers `path`. The deeper, the more specific.
pub(crate) fn covers(pattern: &str, path: &Path, ground: &Ground) -> Option<usize> {
    match_with(pattern, path, ground, wildcard)
}

/// The same for patterns that forbid: letters in either case, and names that only look alike by
/// characters that show as nothing, count as the same. On a file system that folds them they are.
/// The pattern itself is written in small letters.
pub(crate) fn covers_folded(pattern: &str, path: &Path, ground: &Ground) -> Option<usize> {
    match_with(pattern, path, ground, |pattern, name| {
        wildcard(pattern, name) || (!is_plain(name) && wildcard(pattern, &fold(name)))
    })
}

/// The places that a pattern without wildcards names.
pub(crate) fn literal_places(pattern: &str, ground: &Ground) -> Vec<Spot> {
    if pattern.contains('*') {
        return Vec::new();
    }
    let (bases, rest) = split(pattern, ground);
    match bases {
        Bases::Root => vec![Spot::plain(format!("/{rest}"))],
        Bases::Anywhere => Vec::new(),
        Bases::Spots(spots) => spots
            .iter()
            .map(|spot| Spot { lexical: spot.lexical.join(rest), physical: spot.physical.join(rest) })
            .collect(),
    }
}

/// Whether the pattern is one that can be read: a known place and no `..`.
pub(crate) fn check(pattern: &str) -> Result<(), String> {
    let known = BASES.iter().any(|(name, _)| pattern.starts_with(name));
    if !known && !pattern.starts_with(['/', '~']) && !pattern.starts_with("**/") {
        let names = BASES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        return Err(format!("`{pattern}` must begin with `/`, `~/`, `**/` or one of {names}"));
    }
    if toolgate_model::has_dotdot(pattern) {
        return Err(format!("`{pattern}` must not hold `..`"));
    }
    Ok(())
}

type Find = fn(&Ground) -> &[Spot];

const BASES: &[(&str, Find)] = &[
    ("{worktree}", |ground| ground.root.as_slice()),
    ("{main}", |ground| ground.main.as_slice()),
    ("{git}", |ground| ground.git.as_slice()),
    ("{home}", |ground| ground.home.as_slice()),
    ("~", |ground| ground.home.as_slice()),
    ("{siblings}", |ground| &ground.siblings),
    ("{agents}", |ground| ground.agents.as_slice()),
    ("{agent-dir}", |ground| ground.agent_dir.as_slice()),
    ("{transcripts}", |ground| ground.transcripts.as_slice()),
];

enum Bases<'g> {
    Root,
    Anywhere,
    Spots(&'g [Spot]),
}

fn split<'p, 'g>(pattern: &'p str, ground: &'g Ground) -> (Bases<'g>, &'p str) {
    if let Some(rest) = pattern.strip_prefix("**/") {
        return (Bases::Anywhere, rest);
    }
    if let Some(rest) = pattern.strip_prefix('/') {
        return (Bases::Root, rest);
    }
    for (name, find) in BASES {
        if let Some(rest) = pattern.strip_prefix(name) {
            return (Bases::Spots(find(ground)), rest.trim_start_matches('/'));
        }
    }
    (Bases::Spots(&[]), pattern)
}

fn match_with(
    pattern: &str,
    path: &Path,
    ground: &Ground,
    same: impl Fn(&[u8], &[u8]) -> bool + Copy,
) -> Option<usize> {
    let (bases, rest) = split(pattern, ground);
    match bases {
        Bases::Root => names_match(rest, path.strip_prefix("/").ok()?, same),
        Bases::Spots(spots) => spots
            .iter()
            .filter_map(|spot| {
                let below = spot.below(path)?;
                let above = path.components().count() - below.components().count() - 1;
                names_match(rest, below, same).map(|depth| above + depth)
            })
            .max(),
        Bases::Anywhere => {
            let mut tail = path.strip_prefix("/").ok()?;
            let mut above = 0;
            loop {
                if let Some(depth) = names_match(rest, tail, same) {
                    return Some(above + depth);
                }
                let mut names = tail.components();
                names.next()?;
                tail = names.as_path();
                above += 1;
            }
        }
    }
}

/// Whether `path` begins with these names, and how many they are.
fn names_match(names: &str, path: &Path, same: impl Fn(&[u8], &[u8]) -> bool) -> Option<usize> {
    let mut depth = 0;
    let mut components = path.components();
    for name in names.split('/').filter(|name| !name.is_empty()) {
        let component = components.next()?;
        if !same(name.as_bytes(), component.as_os_str().as_encoded_bytes()) {
            return None;
        }
        depth += 1;
    }
    Some(depth)
}

/// One name against a pattern in which `*` stands for any run of characters. Linear in both.
fn wildcard(pattern: &[u8], name: &[u8]) -> bool {
    if !pattern.contains(&b'*') {
        return pattern == name;
    }
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, n + 1));
                p += 1;
            }
            Some(byte) if name.get(n) == Some(byte) => {
                p += 1;
                n += 1;
            }
            _ => match retry {
                Some((after, from)) => {
                    (p, n) = (after, from);
                    retry = Some((after, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern.get(p..).is_some_and(|rest| rest.iter().all(|byte| *byte == b'*'))
}

/// Whether folding would leave the name as it is; nearly every name is, and folding costs an allocation.
fn is_plain(name: &[u8]) -> bool {
    name.iter().all(|byte| matches!(byte, b'!'..=b'~') && !byte.is_ascii_uppercase())
        && name.last() != Some(&b'.')
}

fn fold(name: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(name);
    let shown =
        text.chars().filter(|c| !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{feff}'));
    shown.flat_map(char::to_lowercase).collect::<String>().trim_end_matches([' ', '.']).as_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ground() -> Ground {
        Ground {
            root: Some(Spot::plain("/work/tree")),
            home: Some(Spot { lexical: "/home/u".into(), physical: "/data/u".into() }),
            siblings: vec![Spot::plain("/work/a"), Spot::plain("/work/b")],
            ..Ground::default()
        }
    }

    #[test]
    fn a_pattern_covers_its_place_and_what_is_below() {
        for (pattern, path, depth) in [
            ("/", "/x", Some(0)),
            ("/usr", "/usr/lib/x", Some(1)),
            ("/usr", "/usr2", None),
            ("{worktree}", "/work/tree", Some(2)),
            ("{worktree}/src", "/work/tree/src/a", Some(3)),
            ("{worktree}", "/work/tree2/a", None),
            ("{main}", "/anything", None),
            ("~/.ssh", "/home/u/.ssh/id", Some(3)),
            ("~/.ssh", "/data/u/.ssh/id", Some(3)),
            ("{siblings}", "/work/b/x", Some(2)),
            ("**/.claude/settings*.json", "/a/b/.claude/settings.local.json", Some(4)),
            ("**/agents/*/repo", "/r/agents/x/repo/y", Some(4)),
            ("**/agents/*/repo", "/r/agents/repo", None),
            ("/a/*", "/a", None),
        ] {
            assert_eq!(covers(pattern, Path::new(path), &ground()), depth, "{pattern} {path}");
        }
    }

    #[test]
    fn what_is_forbidden_is_forbidden_in_every_spelling() {
        for name in [".claude", ".CLAUDE", ".cl\u{200c}aude", ".claude "] {
            let path = format!("/r/{name}/settings.json");
            assert!(
                covers_folded("**/.claude/settings.json", Path::new(&path), &ground()).is_some(),
                "{name:?}"
            );
        }
    }

    #[test]
    fn wildcards() {
        for (pattern, name, fits) in [
            ("*", "x", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "abbc", true),
            ("a*c", "abd", false),
            ("**", "", true),
            ("a*b*c", "axbxxc", true),
            ("", "", true),
            ("a", "", false),
        ] {
            assert_eq!(wildcard(pattern.as_bytes(), name.as_bytes()), fits, "{pattern} {name}");
        }
    }
}
