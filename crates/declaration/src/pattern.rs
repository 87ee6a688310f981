//! What a declaration names: a file, a directory with all that lies below it, or what a glob covers.
//!
//! `a/b.txt` is that file and nothing else. `a/` is everything below `a`. In `src/**/*.rs`, `*` and `?` stand for letters
//! within a name and `**` for any number of names; at the end it stands for one or more.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::path::{CleanPath, Dots, Fault, MAX_GLOB};
use crate::wildcard::wildcard_fits;

/// One entry of a declaration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    /// As it is written: clean, with a `/` at the end of a directory.
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Exact,
    Below,
    Glob,
}

/// All of the workspace.
const EVERYTHING: &str = "./";

/// One step of a glob.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step<'p> {
    /// One name, letters of which may be open.
    Name(&'p str),
    /// Any number of names.
    Any,
}

impl Step<'_> {
    fn of(name: &str) -> Step<'_> {
        if name == "**" { Step::Any } else { Step::Name(name) }
    }
}

impl Pattern {
    /// Reads an entry. What could not be a path below the workspace is no pattern.
    pub fn parse(text: &str) -> Result<Pattern, Fault> {
        let path = CleanPath::of(text, Dots::Component)?;
        let kind = if text.contains(['*', '?']) {
            if text.len() > MAX_GLOB {
                return Err(Fault::TooLong);
            }
            Kind::Glob
        } else if path.as_str().is_empty() || text.ends_with('/') {
            Kind::Below
        } else {
            Kind::Exact
        };
        let text = match (kind, path.as_str()) {
            (Kind::Below, "") => return Ok(Pattern::everything()),
            (Kind::Below, directory) => format!("{directory}/"),
            (_, path) => path.to_owned(),
        };
        Ok(Pattern { text, kind })
    }

    /// All of the workspace.
    pub fn everything() -> Pattern {
        Pattern { text: EVERYTHING.to_owned(), kind: Kind::Below }
    }

    /// The entry as people write it: `a/b.txt`, `a/`, `a/**/*.rs`; `./` for all of the workspace.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The path, where the entry names one file.
    pub fn exact(&self) -> Option<&str> {
        (self.kind == Kind::Exact).then_some(self.text.as_str())
    }

    /// The directory, where the entry names all that lies below one; empty for the workspace itself.
    pub fn directory(&self) -> Option<&str> {
        (self.kind == Kind::Below).then(|| self.below())
    }

    /// The directory below which all that the entry covers lies; empty for the workspace itself.
    pub fn top(&self) -> &str {
        let fixed = match self.kind {
            Kind::Below => return self.below(),
            Kind::Exact => self.text.as_str(),
            Kind::Glob => {
                let open = self.text.find(['*', '?']).unwrap_or(self.text.len());
                self.text.get(..open).unwrap_or_default()
            }
        };
        fixed.rsplit_once('/').map_or("", |(directory, _)| directory)
    }

    /// Whether it covers this path.
    pub fn covers(&self, path: &CleanPath<'_>) -> bool {
        let text = path.as_str();
        match self.kind {
            Kind::Exact => text == self.text,
            Kind::Below => !text.is_empty() && self.covers_text(text),
            Kind::Glob => covers(&self.steps(), &path.names().collect::<Vec<_>>()),
        }
    }

    /// Whether it covers everything that could ever lie below this directory.
    pub fn covers_below(&self, directory: &CleanPath<'_>) -> bool {
        // A name that no glob spells out. What covers it covers every name there.
        const ANY_NAME: &str = "\0";
        let names: Vec<&str> = directory.names().chain([ANY_NAME]).collect();
        match self.kind {
            Kind::Exact => false,
            Kind::Below => {
                let mut wanted = self.below().split('/').filter(|name| !name.is_empty());
                let mut given = directory.names();
                wanted.all(|name| given.next() == Some(name))
            }
            Kind::Glob => {
                let steps = self.steps();
                steps.last() == Some(&Step::Any) && covers(&steps, &names)
            }
        }
    }

    /// Whether there may be a path that both cover.
    pub fn overlaps(&self, other: &Pattern) -> bool {
        match (self.kind, other.kind) {
            (Kind::Exact, Kind::Exact) => self.text == other.text,
            (Kind::Below, Kind::Below) => self.covers_text(&other.text) || other.covers_text(&self.text),
            (Kind::Exact, Kind::Below) => other.covers_text(&self.text),
            (Kind::Below, Kind::Exact) => self.covers_text(&other.text),
            _ => meet(&self.steps(), &other.steps()),
        }
    }

    /// Whether two agents that write these would get in each other's way: they may write the same path, or the one a
    /// file where the other one needs a directory.
    pub fn collides(&self, other: &Pattern) -> bool {
        let needs_directory = |file: &Pattern, other: &Pattern| {
            file.kind == Kind::Exact
                && other.text.strip_prefix(&file.text).is_some_and(|rest| rest.starts_with('/'))
        };
        self.overlaps(other) || needs_directory(self, other) || needs_directory(other, self)
    }

    /// For a directory: whether this clean text lies below it.
    fn covers_text(&self, text: &str) -> bool {
        self.text == EVERYTHING || text.starts_with(&self.text)
    }

    /// For a directory: its path, empty for the workspace itself.
    fn below(&self) -> &str {
        if self.text == EVERYTHING { "" } else { self.text.trim_end_matches('/') }
    }

    fn steps(&self) -> Vec<Step<'_>> {
        let text = if self.kind == Kind::Below { self.below() } else { &self.text };
        let names = text.split('/').filter(|name| !name.is_empty());
        let mut steps: Vec<Step<'_>> = names.map(Step::of).collect();
        // Below a directory, and at the end of a glob, there is at least one name.
        if self.kind == Kind::Below {
            steps.push(Step::Any);
        }
        if steps.last() == Some(&Step::Any) {
            steps.insert(steps.len() - 1, Step::Name("*"));
        }
        steps
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for Pattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Pattern, PatternError> {
        Pattern::parse(&text).map_err(|fault| PatternError { text, fault })
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> String {
        pattern.text
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Pattern {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Pattern".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        generator.subschema_for::<String>()
    }
}

/// A text that is no pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternError {
    text: String,
    fault: Fault,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.text.escape_debug(), self.fault)
    }
}

impl std::error::Error for PatternError {}

/// Whether a glob covers a path, both as their names; `**` stands for any number of names, also for none at the end.
pub fn glob_covers(glob: &[impl AsRef<str>], names: &[impl AsRef<str>]) -> bool {
    let steps: Vec<Step<'_>> = glob.iter().map(|name| Step::of(name.as_ref())).collect();
    covers(&steps, &names.iter().map(AsRef::as_ref).collect::<Vec<_>>())
}

fn covers(steps: &[Step<'_>], names: &[&str]) -> bool {
    wildcard_fits(
        steps,
        names,
        |step| *step == Step::Any,
        |rest, name| match rest.first() {
            Some(Step::Name(wanted)) if letters(wanted, name) => Some(1),
            _ => None,
        },
    )
}

/// One name against one of the glob. `?` is one character, `*` any number.
pub fn letters(wanted: &str, name: &str) -> bool {
    if wanted == "*" {
        return true;
    }
    if !wanted.contains(['*', '?']) {
        return wanted == name;
    }
    let (wanted, name): (Vec<char>, Vec<char>) = (wanted.chars().collect(), name.chars().collect());
    wildcard_fits(
        &wanted,
        &name,
        |letter| *letter == '*',
        |rest, letter| match rest.first() {
            Some(one) if *one == '?' || one == letter => Some(1),
            _ => None,
        },
    )
}

/// Whether some list of names is covered by both. Goes through both at once, each pair of places looked at once, so that
/// no pattern makes it slow.
fn meet(one: &[Step<'_>], other: &[Step<'_>]) -> bool {
    both_reach(
        one,
        other,
        |step| *step == Step::Any,
        |a, b| match (a, b) {
            (Step::Name(a), Step::Name(b)) => {
                let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
                both_reach(&a, &b, |letter| *letter == '*', |a, b| *a == '?' || *b == '?' || a == b)
            }
            _ => true,
        },
    )
}

/// Whether two patterns of steps can be gone through with the same input: `open` steps stand for any number of things,
/// the others for one, and `agree` says whether two of them can be the same thing.
fn both_reach<T>(one: &[T], other: &[T], open: impl Fn(&T) -> bool, agree: impl Fn(&T, &T) -> bool) -> bool {
    let width = other.len() + 1;
    let mut seen = vec![false; (one.len() + 1) * width];
    let mut places = vec![(0, 0)];
    while let Some((a, b)) = places.pop() {
        let Some(seen) = seen.get_mut(a * width + b).filter(|seen| !**seen) else { continue };
        *seen = true;
        let (step_a, step_b) = (one.get(a), other.get(b));
        if step_a.is_none() && step_b.is_none() {
            return true;
        }
        let (open_a, open_b) = (step_a.is_some_and(&open), step_b.is_some_and(&open));
        if open_a {
            places.push((a + 1, b));
        }
        if open_b {
            places.push((a, b + 1));
        }
        if let (Some(step_a), Some(step_b)) = (step_a, step_b) {
            match (open_a, open_b) {
                (true, true) => {}
                (true, false) => places.push((a, b + 1)),
                (false, true) => places.push((a + 1, b)),
                (false, false) if agree(step_a, step_b) => places.push((a + 1, b + 1)),
                (false, false) => {}
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::try_from(text.to_owned()).unwrap()
    }

    fn path(text: &str) -> CleanPath<'_> {
        CleanPath::of(text, Dots::Component).unwrap()
    }

    #[test]
    fn patterns_cover_matching_files() {
        for (entry, given, covered) in [
            ("a/b.txt", "a/b.txt", true),
            ("./a//b.txt", "a/b.txt", true),
            ("a/b.txt", "a/b.txt.bak", false),
            ("a/b.txt", "a", false),
            ("a/", "a/x", true),
            ("a/", "a/x/y", true),
            ("a/", "a", false),
            (".a/", ".a/x", true),
            (".a/", "a/x", false),
            ("a/", "ab", false),
            ("./", "x", true),
            ("./", "x/y", true),
            ("./", "", false),
            ("*.md", "README.md", true),
            ("*.md", "docs/README.md", false),
            ("**/*.md", "README.md", true),
            ("**/*.md", "docs/a/README.md", true),
            ("src/**", "src/a/b", true),
            ("src/**", "src", false),
            ("**", "x", true),
            ("src/**/x.rs", "src/x.rs", true),
            ("a?c", "abc", true),
            ("a?c", "aéc", true),
            ("a?c", "ac", false),
            ("*", ".hidden", true),
            ("[...slug].tsx", "[...slug].tsx", true),
            ("**/a/**/b", "a/x/a/y/b", true),
        ] {
            assert_eq!(pattern(entry).covers(&path(given)), covered, "{entry} {given}");
        }
    }

    #[test]
    fn patterns_cover_whole_trees() {
        for (entry, directory, covered) in [
            ("a/", "a", true),
            ("a/", "a/b", true),
            ("a/", "", false),
            ("./", "", true),
            ("a/**", "a", true),
            ("**", "", true),
            ("*/**", "", false),
            ("*/**", "a", true),
            ("a/*.txt", "a", false),
            ("**/x", "a", false),
            ("a/b", "a/b", false),
            ("**/b/**", "q/b", true),
            ("**/b/**", "q", false),
        ] {
            assert_eq!(pattern(entry).covers_below(&path(directory)), covered, "{entry} {directory}");
        }
    }

    #[test]
    fn patterns_overlap_if_a_file_matches_both() {
        for (one, other, meets) in [
            ("a/b", "a/b", true),
            ("a/b", "a/c", false),
            ("a/", "a/b", true),
            ("a/", "a", false),
            ("a/", "b/", false),
            ("src/**", "src/gen/*.rs", true),
            ("src/*.rs", "src/*.ts", false),
            ("src/*.rs", "src/m*", true),
            ("**/*.md", "docs/", true),
            ("**/x", "**/y", false),
            ("a/**/z", "a/b/**", true),
            ("*a", "b*", true),
            ("a?", "?b", true),
            ("a?", "b?", false),
        ] {
            assert_eq!(pattern(one).overlaps(&pattern(other)), meets, "{one} {other}");
            assert_eq!(pattern(other).overlaps(&pattern(one)), meets, "{other} {one}");
        }
        // No pattern makes it slow.
        let deep = pattern(&format!("{}b", "**/a*/".repeat(60)));
        assert!(deep.overlaps(&deep));
        assert_eq!(Pattern::parse(&"a*".repeat(300)), Err(Fault::TooLong));
    }

    #[test]
    fn a_file_collides_with_a_directory_of_its_name() {
        for (one, other, collides) in [
            ("out", "out/x", true),
            ("out", "out/", true),
            ("out", "out/*.md", true),
            ("out", "outer/x", false),
            ("out/a", "out/b", false),
            ("out/", "out/b", true),
        ] {
            assert_eq!(pattern(one).collides(&pattern(other)), collides, "{one} {other}");
            assert_eq!(pattern(other).collides(&pattern(one)), collides, "{other} {one}");
        }
    }

    #[test]
    fn the_top_of_a_pattern_is_its_fixed_directory() {
        for (entry, top) in [
            ("a/b", "a"),
            ("a", ""),
            ("a/b/", "a/b"),
            ("./", ""),
            ("a/b*/c", "a"),
            ("**/x", ""),
            ("a/b/*", "a/b"),
        ] {
            assert_eq!(pattern(entry).top(), top, "{entry}");
        }
    }

    proptest! {
        #[test]
        fn patterns_that_cover_the_same_path_overlap(
            one in "[ab*?/]{1,6}", other in "[ab*?/]{1,6}", given in "[ab]{1,2}(/[ab]{1,2}){0,3}",
        ) {
            if let (Ok(one), Ok(other)) = (Pattern::parse(&one), Pattern::parse(&other)) {
                let given = path(&given);
                if one.covers(&given) && other.covers(&given) {
                    prop_assert!(one.overlaps(&other));
                }
                prop_assert_eq!(Pattern::try_from(String::from(one.clone())).unwrap(), one);
            }
        }

        #[test]
        fn every_path_in_a_covered_tree_is_covered(
            entry in "[ab*?/]{1,6}", directory in "[ab]?(/[ab]){0,2}", below in "[ab]{1,2}(/[ab]{1,2}){0,3}",
        ) {
            if let (Ok(entry), Ok(directory)) = (Pattern::parse(&entry), CleanPath::of(&directory, Dots::Component))
                && entry.covers_below(&directory)
            {
                let inside = format!("{directory}/{below}");
                prop_assert!(entry.covers(&path(inside.trim_start_matches('/'))));
            }
        }
    }
}
