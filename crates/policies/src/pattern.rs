//! Path patterns: how settings and rules name places.
//!
//! `{worktree}`, `{main}`, `{git}`, `{home}` or `~`, `{siblings}`, `{helpers}`, `{agents}`, `{agent-dir}`, `{kept}`, `{drafts}`,
//! `{transcripts}`, `{team}` stand for places of the session; one that the session does not have matches nothing. Then names,
//! divided by `/`; a `*` in a name stands for any part of it; a leading `**/` for any directories before.
//! A pattern covers the place that it names and everything below.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use toolgate_model::{Place, Places, below, work};

/// What a pattern costs that is tried, in units of the budget. Most are settled by their first letter.
const TRIED: usize = 1;

/// A path that patterns are tried on: looked at once, compared as bytes. There are a hundred patterns to a
/// call, and taking a path apart for each would cost more than the rest of the call.
pub(crate) struct Probe<'p> {
    path: &'p [u8],
    /// The path in small letters, byte for byte as long.
    lower: Cow<'p, [u8]>,
    /// Holds names that some file systems may take for other ones by more than the case of letters.
    odd: bool,
    /// What such a file system makes of them, where that is not `lower`. Made when it is first asked for.
    folded: OnceCell<Option<Folded>>,
    /// Where the part below the home begins, and how many components stand before it. Found once: half of all
    /// patterns begin there.
    home: Option<(usize, usize)>,
    /// Where each name begins.
    starts: Cow<'p, [usize]>,
    places: &'p Places,
}

impl<'p> Probe<'p> {
    /// INVARIANT: `path` is absolute and clean, as every path of a `Resolved` is.
    pub(crate) fn new(path: &'p Path, places: &'p Places) -> Probe<'p> {
        let path = path.as_os_str().as_encoded_bytes();
        work::pay(TRIED + path.len() / 2);
        let lower = if path.iter().any(u8::is_ascii_uppercase) {
            Cow::Owned(path.to_ascii_lowercase())
        } else {
            Cow::Borrowed(path)
        };
        let ends_oddly = |name: &[u8]| name.ends_with(b".") || name.ends_with(b" ");
        let odd = !path.is_ascii() || path.split(|byte| *byte == b'/').any(ends_oddly);
        let home = places.home.as_ref().and_then(|home| start_below(home, path));
        Probe { path, lower, odd, folded: OnceCell::new(), home, starts: Cow::Owned(starts(path)), places }
    }

    /// How many components of the path the pattern names, if it covers the path. The deeper, the more specific.
    pub(crate) fn covered_by(&self, pattern: &str) -> Option<usize> {
        self.covers(pattern, self.path)
    }

    /// The same with letters in either case, for what takes rights away where the file system folds them. Places of the session are taken
    /// as they are: what lies outside of them is closed anyway.
    pub(crate) fn covered_in_either_case_by(&self, pattern: &str) -> Option<usize> {
        self.covers(&pattern.to_ascii_lowercase(), &self.lower)
    }

    /// Whether a pattern that forbids covers the path: letters in either case, and names that only look alike
    /// by characters that show as nothing, count as the same. On a file system that folds them they are.
    /// The names of the pattern are written in small letters.
    pub(crate) fn forbidden_by(&self, pattern: &str) -> bool {
        self.covers(pattern, &self.lower).is_some()
            || self.folded().is_some_and(|folded| self.folded_by(pattern, folded))
    }

    /// Whether one of these patterns forbids the path.
    pub(crate) fn forbidden_by_any(&self, patterns: &Patterns) -> bool {
        self.may_be_among(patterns) && patterns.list.iter().any(|pattern| self.forbidden_by(pattern))
    }

    /// False where none of the patterns can cover the path, for lack of a name.
    fn may_be_among(&self, patterns: &Patterns) -> bool {
        let holds =
            |path: &[u8], starts: &[usize]| starts.iter().any(|start| patterns.has(key(path, *start)));
        patterns.anything
            || holds(&self.lower, &self.starts)
            || self.folded().is_some_and(|folded| holds(&folded.path, &folded.starts))
    }

    /// The path as a file system that folds names takes it, where that is another one than `lower`.
    fn folded(&self) -> Option<&Folded> {
        if !self.odd {
            return None;
        }
        let folded = self.folded.get_or_init(|| {
            let path = fold(self.path);
            (path != *self.lower).then(|| Folded { starts: starts(&path), path })
        });
        folded.as_ref()
    }

    /// `names` is the path as the pattern's names are compared with it, byte for byte as long.
    fn covers(&self, pattern: &str, names: &[u8]) -> Option<usize> {
        work::pay(TRIED);
        if work::is_spent() {
            return None;
        }
        let below = |(start, above): (usize, usize), wanted: &str| {
            names_match(wanted.as_bytes(), names.get(start..)?).map(|depth| above + depth)
        };
        // Most patterns are settled by the first letter of the first name: no need to take them apart.
        let differs = |first: u8, start: usize| first != b'*' && names.get(start) != Some(&first);
        match pattern.as_bytes() {
            [b'/', first, ..] if differs(*first, 1) => return None,
            [b'~', b'/', first, ..] if self.home.is_none_or(|(start, _)| differs(*first, start)) => {
                return None;
            }
            _ => {}
        }
        // The names that it may begin with are looked for, and then compared.
        work::pay(names.len() / 16 + pattern.len() / 4);
        match pattern.as_bytes().first() {
            Some(b'/') => below((1, 0), pattern.get(1..)?),
            Some(b'~') => below(self.home?, pattern.strip_prefix("~/").unwrap_or_default()),
            Some(b'*') => {
                let wanted = pattern.strip_prefix("**/")?;
                let first = *wanted.as_bytes().first()?;
                let starts = self.starts.iter().copied().enumerate();
                let likely = starts.filter(|(_, start)| !differs(first, *start));
                likely.map(|(above, start)| (start, above)).find_map(|start| below(start, wanted))
            }
            _ => {
                let (bases, wanted) = bases_of(pattern, self.places);
                bases.iter().filter_map(|base| below(start_below(base, self.path)?, wanted)).max()
            }
        }
    }

    /// Whether the path lies in this place, letters in either case.
    pub(crate) fn is_in(&self, base: &Place) -> bool {
        let holds = |base: &Path| {
            let base = base.as_os_str().as_encoded_bytes();
            let ends = matches!(self.path.get(base.len()), None | Some(b'/')) || base.ends_with(b"/");
            ends && self.path.get(..base.len()).is_some_and(|start| start.eq_ignore_ascii_case(base))
        };
        holds(&base.physical) || holds(&base.lexical)
    }

    /// Whether the pattern could name something below the path: a search that starts here could come upon it.
    /// Counts from the place that the pattern begins with; above it, and for patterns that may stand anywhere,
    /// nothing could be searched at all.
    pub(crate) fn is_above(&self, pattern: &str) -> bool {
        work::pay(TRIED + self.path.len() / 16);
        if work::is_spent() {
            return false;
        }
        let above = |base: &[u8], wanted: &str| {
            let Some(rest) = below(base, self.path) else { return false };
            // As above: most are settled by the first letter.
            if let (Some(first), Some(wanted)) = (rest.first(), wanted.as_bytes().first())
                && *wanted != b'*'
                && wanted != first
            {
                return false;
            }
            let mut names = wanted.split('/').filter(|name| !name.is_empty());
            let mut parts = rest.split(|byte| *byte == b'/').filter(|part| !part.is_empty());
            parts.all(|part| names.next().is_some_and(|name| wildcard(name.as_bytes(), part)))
                && names.next().is_some()
        };
        if let Some(wanted) = pattern.strip_prefix('/') {
            return self.path != b"/" && above(b"/", wanted);
        }
        let (bases, wanted) = bases_of(pattern, self.places);
        let bases = bases.iter().flat_map(|base| [&base.physical, &base.lexical]);
        bases.into_iter().any(|base| above(base.as_os_str().as_encoded_bytes(), wanted))
    }

    fn folded_by(&self, pattern: &str, folded: &Folded) -> bool {
        // Before a place of the session the path is taken as it is; what is below it is folded.
        let (bases, wanted) = bases_of(pattern, self.places);
        if bases.is_empty() {
            let path = Probe {
                path: &folded.path,
                lower: Cow::Borrowed(&folded.path),
                odd: false,
                folded: OnceCell::new(),
                home: None,
                starts: Cow::Borrowed(&folded.starts),
                places: self.places,
            };
            return path.covers(pattern, &folded.path).is_some();
        }
        // Names are folded one by one, so that each is still in its turn.
        let rest = |start: usize| {
            let turn = self.starts.iter().position(|known| *known == start)?;
            folded.path.get(*folded.starts.get(turn)?..)
        };
        bases
            .iter()
            .filter_map(|base| start_below(base, self.path))
            .any(|(start, _)| names_match(wanted.as_bytes(), rest(start).unwrap_or_default()).is_some())
    }
}

/// A path in small letters, without characters that show as nothing, name by name.
struct Folded {
    path: Vec<u8>,
    /// Where each name begins.
    starts: Vec<usize>,
}

/// Patterns that forbid, and by what names they could cover a path at all: nearly every path is none of theirs, and that is seen
/// without looking at a pattern.
pub(crate) struct Patterns {
    list: &'static [&'static str],
    /// A bit for the key of one name of each pattern.
    keys: [u64; KEYS / 64],
    /// Some pattern has no name with a key.
    anything: bool,
}

/// How many keys there are.
const KEYS: usize = 2048;

impl Patterns {
    /// Of each pattern the last name that has a key counts: what it is about stands there, before it `.config`.
    pub(crate) const fn new(list: &'static [&'static str]) -> Patterns {
        let mut patterns = Patterns { list, keys: [0; KEYS / 64], anything: false };
        let mut rest = list;
        while let [pattern, others @ ..] = rest {
            match last_key(pattern.as_bytes()) {
                #[expect(clippy::indexing_slicing, reason = "a key is less than the number of keys")]
                Some(key) => patterns.keys[key / 64] |= 1 << (key % 64),
                None => patterns.anything = true,
            }
            rest = others;
        }
        patterns
    }

    /// Every one of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.list.iter().copied()
    }

    fn has(&self, key: usize) -> bool {
        self.keys.get(key / 64).is_some_and(|keys| keys & (1 << (key % 64)) != 0)
    }
}

/// The key of the last name of a pattern that begins with letters. None of a place of the session, whose names are not known.
const fn last_key(pattern: &[u8]) -> Option<usize> {
    let (mut found, mut at, mut is_start) = (None, 0, true);
    let mut rest = pattern;
    while let [byte, others @ ..] = rest {
        let is_place = at == 0 && matches!(byte, b'~' | b'{');
        if is_start && !is_place && *byte != b'/' && is_spelled_out(rest) {
            found = Some(key(pattern, at));
        }
        is_start = *byte == b'/';
        rest = others;
        at += 1;
    }
    found
}

/// Whether the part of a name that its key is made of has no `*`.
const fn is_spelled_out(mut name: &[u8]) -> bool {
    let mut left = KEY_LETTERS;
    while let [byte, rest @ ..] = name {
        if left == 0 || *byte == b'/' {
            return true;
        }
        if *byte == b'*' {
            return false;
        }
        name = rest;
        left -= 1;
    }
    true
}

/// So many letters of a name make its key.
const KEY_LETTERS: u32 = 4;

/// The key of the name that begins here.
const fn key(path: &[u8], start: usize) -> usize {
    let mut key: u32 = 0;
    let (_, mut rest) = if start <= path.len() { path.split_at(start) } else { (path, [].as_slice()) };
    let mut left = KEY_LETTERS;
    while left > 0 {
        key <<= 8;
        if let [byte, others @ ..] = rest
            && *byte != b'/'
        {
            key |= *byte as u32;
            rest = others;
        }
        left -= 1;
    }
    // The golden ratio spreads them.
    (key.wrapping_mul(0x9e37_79b9) >> (u32::BITS - KEYS.ilog2())) as usize
}

fn starts(path: &[u8]) -> Vec<usize> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at + 1).collect()
}

/// Where the part of `path` below this place begins, and how many components stand before it.
fn start_below(base: &Place, path: &[u8]) -> Option<(usize, usize)> {
    let start = |base: &Path| {
        let base = base.as_os_str().as_encoded_bytes();
        below(base, path).map(|rest| (path.len() - rest.len(), depth_of(base)))
    };
    start(&base.physical).or_else(|| start(&base.lexical))
}

/// The places that a pattern without wildcards names.
pub(crate) fn literal_places(pattern: &str, places: &Places) -> Vec<Place> {
    if pattern.contains('*') {
        return Vec::new();
    }
    if let Some(rest) = pattern.strip_prefix('/') {
        return vec![Place::plain(format!("/{rest}"))];
    }
    let (bases, rest) = bases_of(pattern, places);
    let join = |base: &Place| Place { lexical: base.lexical.join(rest), physical: base.physical.join(rest) };
    bases.iter().map(join).collect()
}

/// Where the places lead that a pattern without wildcards names; none for a pattern with one.
pub fn scope_places(pattern: &str, places: &Places) -> Vec<PathBuf> {
    literal_places(pattern, places).into_iter().map(|place| place.physical).collect()
}

/// Whether the pattern is one that can be read: a known place and no `..`.
pub(crate) fn check(pattern: &str) -> Result<(), String> {
    let known = BASES.iter().any(|(name, _)| pattern.starts_with(name));
    if !known && !pattern.starts_with(['/', '~']) && !pattern.starts_with("**/") {
        let names = BASES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        return Err(format!("`{pattern}` must begin with `/`, `~/`, `**/` or one of {names}"));
    }
    let names = pattern.strip_prefix("**/").or(pattern.strip_prefix('/')).unwrap_or(pattern);
    let odd = |name: &str| matches!(name, "." | ".." | "**") || name.starts_with('~') && name != "~";
    if names.trim_end_matches('/').split('/').any(|name| odd(name) || (name.is_empty() && !names.is_empty()))
    {
        return Err(format!("`{pattern}` must not hold `..`, `.`, `**`, `~user` or an empty name within"));
    }
    let closed = BASES.iter().any(|(name, _)| {
        pattern.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    if pattern.starts_with('{') && !closed {
        return Err(format!("`{pattern}` needs a `/` behind its place"));
    }
    Ok(())
}

type Find = fn(&Places) -> &[Place];

const BASES: &[(&str, Find)] = &[
    ("{worktree}", |places| places.root.as_slice()),
    ("{project}", |places| places.project.as_slice()),
    ("{main}", |places| places.main.as_slice()),
    ("{git}", |places| places.git.as_slice()),
    ("{home}", |places| places.home.as_slice()),
    ("{siblings}", |places| &places.siblings),
    ("{helpers}", |places| &places.inner),
    ("{agents}", |places| places.agents.as_slice()),
    ("{agent-dir}", |places| places.agent_dir.as_slice()),
    ("{kept}", |places| &places.kept),
    ("{drafts}", |places| &places.drafts),
    ("{transcripts}", |places| places.transcripts.as_slice()),
    ("{team}", |places| &places.team),
];

/// The places of the session that a pattern begins with, and what follows; none for a pattern that begins at the
/// root or anywhere.
fn bases_of<'p, 'g>(pattern: &'p str, places: &'g Places) -> (&'g [Place], &'p str) {
    if let Some(rest) = pattern.strip_prefix('~') {
        return (places.home.as_slice(), rest.trim_start_matches('/'));
    }
    let base = BASES.iter().find_map(|(name, find)| Some((find, pattern.strip_prefix(name)?)));
    base.map_or((&[], pattern), |(find, rest)| (find(places), rest.trim_start_matches('/')))
}

fn depth_of(path: &[u8]) -> usize {
    if path == b"/" { 0 } else { path.iter().filter(|byte| **byte == b'/').count() }
}

/// Whether `path` begins with these names, and how many they are.
fn names_match(names: &[u8], path: &[u8]) -> Option<usize> {
    // Most names differ in their first letter, and most comparisons end here.
    match names.first() {
        None => return Some(0),
        Some(b'*') => {}
        first if first == path.first() => {}
        Some(_) => return None,
    }
    let count = 1 + names.iter().filter(|byte| **byte == b'/').count();
    if !names.contains(&b'*') {
        return below(names, path).map(|_| count);
    }
    let mut parts = path.split(|byte| *byte == b'/');
    let fits = names
        .split(|byte| *byte == b'/')
        .all(|name| parts.next().is_some_and(|part| !part.is_empty() && wildcard(name, part)));
    fits.then_some(count)
}

/// One name against a pattern in which `*` stands for any run of characters. Asked so often that it goes by slices: what stands before the
/// first star, behind the last, and what lies between, each as early as it can.
pub(crate) fn wildcard(pattern: &[u8], name: &[u8]) -> bool {
    let is_star = |byte: &u8| *byte == b'*';
    let mut parts = pattern.split(is_star);
    let Some(rest) = parts.next().and_then(|start| name.strip_prefix(start)) else { return false };
    let Some(end) = parts.next_back() else { return rest.is_empty() };
    let Some(mut rest) = rest.strip_suffix(end) else { return false };
    parts.all(|part| match position(rest, part) {
        Some(at) => {
            rest = rest.get(at + part.len()..).unwrap_or_default();
            true
        }
        None => false,
    })
}

/// Where a part of a pattern first stands in a name. Both are short.
fn position(name: &[u8], part: &[u8]) -> Option<usize> {
    let Some((first, behind)) = part.split_first() else { return Some(0) };
    (0..name.len()).find(|at| match name.get(*at..) {
        Some([byte, rest @ ..]) => byte == first && rest.starts_with(behind),
        _ => false,
    })
}

/// The path in small letters, without characters that show as nothing, name by name.
fn fold(path: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(path);
    let hidden = |c: &char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    // The long s and the Kelvin sign fold to letters that their small forms do not.
    let plain = |c: char| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other,
    };
    let mut folded = String::with_capacity(path.len());
    for (turn, name) in text.split('/').enumerate() {
        if turn > 0 {
            folded.push('/');
        }
        let start = folded.len();
        for c in name.chars().filter(|c| !hidden(c)).map(plain) {
            if c.is_ascii() {
                folded.push(c.to_ascii_lowercase());
            } else {
                folded.extend(c.to_lowercase());
            }
        }
        let shown = folded.get(start..).unwrap_or_default().trim_end_matches([' ', '.']).len();
        folded.truncate(start + shown);
    }
    folded.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        Places {
            root: Some(Place::plain("/work/tree")),
            home: Some(Place { lexical: "/home/u".into(), physical: "/data/u".into() }),
            siblings: vec![Place::plain("/work/a"), Place::plain("/work/b")],
            ..Places::default()
        }
    }

    #[test]
    fn a_pattern_covers_its_place_and_everything_below() {
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
            assert_eq!(Probe::new(Path::new(path), &places()).covered_by(pattern), depth, "{pattern} {path}");
        }
    }

    #[test]
    fn a_forbidden_name_is_matched_in_every_spelling() {
        for name in [".claude", ".CLAUDE", ".cl\u{200c}aude", ".claude ", ".claude."] {
            for file in ["hooks.json", "hoo\u{212a}s.json", "hook\u{17f}.json"] {
                let path = format!("/r/{name}/{file}");
                assert!(
                    Probe::new(Path::new(&path), &places()).forbidden_by("**/.claude/hooks.json"),
                    "{path:?}"
                );
            }
        }
    }

    /// The first look must never pass over a pattern that covers the path.
    #[test]
    fn what_one_pattern_forbids_the_list_of_them_does() {
        const LIST: &[&str] = &[
            "~/.ssh",
            "~/.config/gcloud",
            "/etc/ssh/ssh_host_*",
            "/proc/*/mem",
            "/x",
            "**/.pi",
            "**/.claude/settings*.json",
            "{worktree}/toolgate.toml",
            "{siblings}/ab",
        ];
        const ANYTHING: Patterns = Patterns::new(&["**/mcp*.json"]);
        let list = Patterns::new(LIST);
        assert!(!list.anything && ANYTHING.anything);
        let covered = [
            "/home/u/.ssh",
            "/data/u/.SSH/id",
            "/data/u/.s\u{200b}sh./id",
            "/data/u/.config/gcloud/x",
            "/data/u/.config/gCloud. /x",
            "/etc/ssh/ssh_host_key",
            "/proc/1/mem",
            "/x",
            "/X/y",
            "/r/.pi",
            "/r/.pi/x",
            "/r/.claude/settings.json",
            "/ж/.CLAUDE/Settings.local.json",
            "/work/tree/toolgate.toml",
            "/work/a/a\u{feff}B",
            "/work/b/ab/c",
        ];
        for path in covered {
            assert!(Probe::new(Path::new(path), &places()).forbidden_by_any(&list), "{path}");
        }
        assert!(Probe::new(Path::new("/r/mcp.json"), &places()).forbidden_by_any(&ANYTHING));
        let others = [
            "/",
            "/home/u",
            "/home/u/.config",
            "/etc/ssh/sshd_config",
            "/proc/mem",
            "/r/.pixi",
            "/r/settings.json",
            "/r/документы/отчёт.md",
            "/work/tree/toolgate.tom",
            "/work/ab",
        ];
        for path in others {
            let (path, places) = (Path::new(path), places());
            let probe = Probe::new(path, &places);
            assert!(!probe.forbidden_by_any(&list), "{}", path.display());
            assert!(!LIST.iter().any(|pattern| probe.forbidden_by(pattern)), "{}", path.display());
        }
    }

    /// What is folded name by name, once for all patterns, is what each name folds to.
    #[test]
    fn a_place_of_the_session_is_taken_as_it_is_and_folded_below() {
        for (path, forbidden) in [
            ("/work/tree/Ж/keys", false),
            ("/work/tree/\u{212a}eys", true),
            ("/work/tree/keys.", true),
            ("/work/tree/\u{200b}/keys", false),
            ("/work/tree\u{200b}/keys", false),
            ("/work/tree", false),
        ] {
            let places = places();
            assert_eq!(
                Probe::new(Path::new(path), &places).forbidden_by("{worktree}/keys"),
                forbidden,
                "{path:?}"
            );
        }
    }

    #[test]
    fn a_star_matches_any_part_of_a_name() {
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

    /// The short way by slices says what the matcher says that goes letter by letter.
    #[test]
    fn every_short_pattern_fits_what_the_general_matcher_says() {
        fn words(letters: &[u8], longest: usize) -> Vec<Vec<u8>> {
            let mut all: Vec<Vec<u8>> = vec![Vec::new()];
            let mut from = 0;
            for _ in 0..longest {
                let shorter = all[from..].to_vec();
                from = all.len();
                let longer = |word: &Vec<u8>| {
                    letters.iter().map(|next| [&word[..], &[*next]].concat()).collect::<Vec<_>>()
                };
                all.extend(shorter.iter().flat_map(longer));
            }
            all
        }
        let same = |rest: &[u8], byte: &u8| (rest.first() == Some(byte)).then_some(1);
        let names = words(b"ab", 6);
        for pattern in words(b"ab*", 5) {
            for name in &names {
                let fits = toolgate_declaration::wildcard_fits(&pattern, name, |byte| *byte == b'*', same);
                assert_eq!(wildcard(&pattern, name), fits, "{pattern:?} {name:?}");
            }
        }
    }

    #[test]
    fn a_malformed_pattern_is_refused_with_a_reason() {
        for right in ["/", "/usr/*", "~/.ssh", "~", "**/.env", "{worktree}", "{worktree}/src", "{team}/log/"]
        {
            assert_eq!(check(right), Ok(()), "{right}");
        }
        for (wrong, why) in [
            ("src", "must begin with"),
            ("{nowhere}/x", "must begin with"),
            ("{worktree}x", "needs a `/` behind its place"),
            ("/a/../b", "must not hold"),
            ("/a//b", "must not hold"),
            ("/a/**/b", "must not hold"),
            ("~root/x", "must not hold"),
        ] {
            assert!(check(wrong).unwrap_err().contains(why), "{wrong}");
        }
    }
}
