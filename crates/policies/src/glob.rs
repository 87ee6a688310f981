//! Globs below the root, as people write them for what an agent may write or may not revise: `src/**`, `docs/*.md`.
//!
//! `*` and `?` stand for letters within a name, `**` for any number of names. One without any of these covers what it names
//! and everything below. Backslashes divide names too, since such lists come from teams on Windows as well.

use std::path::Path;

use toolgate_declaration::{glob_covers, letters};
use toolgate_model::Places;

/// The names of a path.
pub(crate) struct Names {
    /// Below the root, or below the directory that the team's lies in, which may be the main checkout; `None` where the
    /// path lies elsewhere.
    below: Option<Vec<String>>,
    /// All of them.
    whole: Vec<String>,
    /// The same as the first, with backslashes taken for dividers, where there are any.
    divided: Option<Vec<String>>,
}

impl Names {
    /// INVARIANT: `path` is absolute and clean, as every path of a `Resolved` is.
    pub(crate) fn of(path: &Path, places: &Places) -> Names {
        // What lies in a worktree inside of this one is named from there: it is the same file of another branch.
        let nested = places.inner.iter().chain(&places.siblings);
        let root = nested.chain(&places.root).flat_map(|root| [&root.physical, &root.lexical]);
        let mut teams = places
            .team
            .iter()
            .filter(|team| team.holds(path))
            .flat_map(|team| [&team.physical, &team.lexical])
            .filter_map(|team| team.parent());
        let rest = root
            .filter_map(|base| path.strip_prefix(base).ok())
            .min_by_key(|rest| rest.as_os_str().len())
            .or_else(|| teams.find_map(|base| path.strip_prefix(base).ok()));
        let below = rest.map(|rest| rest.to_string_lossy());
        let divided =
            below.as_ref().filter(|text| text.contains('\\')).map(|text| split(&text.replace('\\', "/")));
        Names {
            // On a system that divides by backslashes, this would lead elsewhere.
            divided: divided.filter(|names| !names.iter().any(|name| name == "..")),
            below: below.map(|text| split(&text)),
            whole: split(&path.to_string_lossy()),
        }
    }

    /// Whether a glob that opens covers the path.
    pub(crate) fn covered_by(&self, glob: &str) -> bool {
        let glob = Glob::of(glob);
        self.spelled(&glob).any(|names| glob.covers(names))
    }

    /// Whether a glob that forbids covers the path: letters in either case count as the same, as some file systems have
    /// it.
    pub(crate) fn forbidden_by(&self, glob: &str) -> bool {
        let glob = Glob::of(&glob.to_lowercase());
        self.spelled(&glob).any(|names| glob.covers(&lower(names)))
    }

    /// Whether one of the names, with or without its ending, is this bare word.
    pub(crate) fn hold(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        let is_named = |name: &String| {
            let name = name.to_lowercase();
            name == word || (!word.is_empty() && name.split('.').next() == Some(&word))
        };
        self.below.iter().chain(&self.divided).flatten().any(is_named)
    }

    /// Whether something that a forbidding glob covers may lie below the path, so that who moves it away moves that
    /// along, to a name that the glob does not cover.
    pub(crate) fn are_above(&self, glob: &str) -> bool {
        let glob = Glob::of(&glob.to_lowercase());
        self.spelled(&glob).any(|names| leads_below(&glob.names, &lower(names)))
    }

    /// Whether the path is the root itself.
    pub(crate) fn are_root(&self) -> bool {
        self.below.as_ref().is_some_and(Vec::is_empty)
    }

    /// The names to compare with the glob, in each spelling.
    fn spelled(&self, glob: &Glob) -> impl Iterator<Item = &[String]> {
        let below = self.below.iter().chain(&self.divided).filter(|_| !glob.absolute);
        below.chain(glob.absolute.then_some(&self.whole)).map(Vec::as_slice)
    }
}

/// A glob, taken apart.
struct Glob {
    names: Vec<String>,
    absolute: bool,
    /// Without a placeholder it covers everything below, too.
    plain: bool,
}

impl Glob {
    fn of(glob: &str) -> Glob {
        let glob = glob.trim().replace('\\', "/");
        let mut names = Vec::new();
        for name in split(&glob) {
            match name.as_str() {
                "." => {}
                ".." => drop(names.pop()),
                _ => names.push(name),
            }
        }
        Glob { names, absolute: glob.starts_with('/'), plain: !glob.contains(['*', '?']) }
    }

    fn covers(&self, names: &[String]) -> bool {
        if self.plain { names.starts_with(&self.names) } else { glob_covers(&self.names, names) }
    }
}

fn lower(names: &[String]) -> Vec<String> {
    names.iter().map(|name| name.to_lowercase()).collect()
}

/// Whether the names are the beginning of what a glob covers, by names that it spells out: what `**` alone leads to lies
/// below everything. Follows all ways at once, so that no glob makes it slow.
fn leads_below(glob: &[String], names: &[String]) -> bool {
    // For each place in the glob: whether one may stand before it, and whether a name that it spells out led there.
    let mut passed = Some(names.is_empty());
    let first = |wanted: &String| {
        let at = passed;
        passed = at.filter(|_| wanted == "**");
        at
    };
    let mut ways: Vec<Option<bool>> = glob.iter().map(first).collect();
    for name in names {
        let (mut stepped, mut passed) = (None, None);
        for (wanted, way) in glob.iter().zip(&mut ways) {
            let any = wanted == "**";
            let at = way.filter(|_| any).max(stepped).max(passed);
            stepped = way.filter(|_| !any && letters(wanted, name)).map(|_| true);
            passed = at.filter(|_| any);
            *way = at;
        }
    }
    ways.contains(&Some(true))
}

fn split(path: &str) -> Vec<String> {
    path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The names that a glob begins with and spells out, and whether they are all that it says: a place, and everything below.
pub(crate) fn known_part(glob: &str) -> (Vec<String>, bool) {
    let Glob { mut names, .. } = Glob::of(glob);
    let is_open = |name: &String| name.contains(['*', '?']);
    if names.last().is_some_and(|last| last == "**") {
        names.pop();
    }
    let known = names.iter().take_while(|name| !is_open(name)).count();
    let is_place = known == names.len();
    names.truncate(known);
    (names, is_place)
}

/// Whether a glob begins at the root of the file system.
pub(crate) fn is_absolute(glob: &str) -> bool {
    Glob::of(glob).absolute
}

/// Whether it is the bare name of an artifact, wherever that lies.
pub(crate) fn is_bare(artifact: &str) -> bool {
    !artifact.contains(['/', '\\', '.', '*', '?'])
}

/// Says what in a glob cannot be used.
pub(crate) fn check(glob: &str) -> Result<(), String> {
    const LONGEST: usize = 400;
    let names = glob.replace('\\', "/");
    if glob.trim().is_empty() || glob.len() > LONGEST {
        return Err(format!("`{}` is no glob", toolgate_model::shorten(glob, 60)));
    }
    if names.split('/').any(|name| name == "..") {
        return Err(format!("`{glob}` must not hold `..`"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolgate_model::Place;

    #[test]
    fn globs_cover_paths_below_the_root() {
        let places = Places { root: Some(Place::plain("/r")), ..Places::default() };
        for (glob, path, fits) in [
            ("src/**", "/r/src/a/b.ts", true),
            ("src/**", "/r/src", true),
            ("src/**", "/r/srcs/a", false),
            ("src", "/r/src/a", true),
            ("src/", "/r/src/a", true),
            ("./src/a.ts", "/r/src/a.ts", true),
            ("src/a.ts", "/r/src/a.tsx", false),
            ("**/*.md", "/r/docs/README.md", true),
            ("**/*.md", "/r/README.md", true),
            ("*.md", "/r/docs/README.md", false),
            ("config/*.json", "/r/config/a.json", true),
            ("config/*.json", "/r/config/a/b.json", false),
            ("src/**/*.ts", "/r/src/x.ts", true),
            ("src/**/*.ts", "/r/src/a/b/x.ts", true),
            ("src/**/*.ts", "/r/src/a/b/x.js", false),
            ("**/.squad/decisions/inbox/**", "/r/.squad/decisions/inbox/a.md", true),
            (".test-*/**", "/r/.test-00/x", true),
            ("**", "/r/x/y", true),
            ("**", "/etc/passwd", false),
            ("/etc/**", "/etc/passwd", true),
            ("a?c", "/r/abc", true),
            ("a?c", "/r/ac", false),
            (".squad\\**", "/r/.squad/team.md", true),
            (".squad\\**", "/r/.squad\\team.md", true),
            ("src/**", "/r/src\\..\\x", false),
            ("**/a/**/b", "/r/a/x/a/y/b", true),
        ] {
            assert_eq!(Names::of(Path::new(path), &places).covered_by(glob), fits, "{glob} {path}");
        }
    }

    #[test]
    fn globs_cover_absolute_paths_and_the_team_directory_elsewhere() {
        let places = Places {
            root: Some(Place::plain("/r")),
            team: vec![Place::plain("/r/.squad"), Place::plain("/main/.squad")],
            ..Places::default()
        };
        for (glob, path, fits) in [
            ("/r/src/**", "/r/src/a", true),
            ("/r/src", "/r/src/a", true),
            ("/x/src/**", "/r/src/a", false),
            ("./src/x/../a", "/r/src/a", true),
            ("src/./a", "/r/src/a", true),
            (".squad/log/**", "/main/.squad/log/a", true),
            ("src/**", "/main/src/a", false),
            ("Src/**", "/r/src/a", false),
        ] {
            assert_eq!(Names::of(Path::new(path), &places).covered_by(glob), fits, "{glob} {path}");
        }
        let names = |path: &str| Names::of(Path::new(path), &places);
        assert!(names("/r/SRC/A").forbidden_by("src/a") && names("/r/src/a").forbidden_by("Src/*"));
        assert!(names("/r").are_root() && !names("/r/a").are_root() && !names("/x").are_root());
    }

    #[test]
    fn a_directory_is_above_a_glob_that_could_match_below_it() {
        let places = Places { root: Some(Place::plain("/r")), ..Places::default() };
        for (glob, path, below) in [
            ("src/auth.ts", "/r/src", true),
            ("src/auth.ts", "/r", true),
            ("src/auth.ts", "/r/SRC", true),
            ("src/auth.ts", "/r/src/auth.ts", false),
            ("src/auth.ts", "/r/lib", false),
            ("/r/src/auth.ts", "/r/src", true),
            ("src/**/*.ts", "/r/src", true),
            ("src/**/*.ts", "/r/src/a/b", true),
            ("**/auth.ts", "/r/src", false),
            ("**/auth/*.ts", "/r/src/auth", true),
            ("**/auth/*.ts", "/r/src/lib", false),
            ("src/auth.ts", "/elsewhere/src", false),
        ] {
            assert_eq!(Names::of(Path::new(path), &places).are_above(glob), below, "{glob} {path}");
        }
        // No glob makes it slow.
        let deep = format!("/r/{}", "a/".repeat(200));
        let glob = format!("{}b", "**/a/".repeat(80));
        assert!(!Names::of(Path::new(&deep), &places).covered_by(&glob));
        assert!(Names::of(Path::new(&deep), &places).are_above(&glob));
    }

    #[test]
    fn a_bare_word_matches_whole_names_without_their_extension() {
        let places = Places { root: Some(Place::plain("/r")), ..Places::default() };
        for (word, path, fits) in [
            ("auth", "/r/src/auth.ts", true),
            ("auth", "/r/src/auth/login.ts", true),
            ("auth", "/r/src/author.ts", false),
            ("auth", "/r/src/oauth.ts", false),
            ("env", "/r/.env", false),
            ("Auth", "/r/src/AUTH.ts", true),
            ("auth", "/r/src\\auth.ts", true),
            ("", "/r/.env", false),
        ] {
            assert_eq!(Names::of(Path::new(path), &places).hold(word), fits, "{word} {path}");
        }
    }

    #[test]
    fn a_glob_is_a_place_where_nothing_but_its_end_is_open() {
        for (glob, names, is_place) in [
            ("src/**", &["src"][..], true),
            ("./src/a/", &["src", "a"], true),
            ("**", &[], true),
            ("src/*/**", &["src"], false),
            ("docs/*.md", &["docs"], false),
            ("**/auth.ts", &[], false),
        ] {
            let (known, found) = known_part(glob);
            assert_eq!(
                (known.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), found),
                (names, is_place),
                "{glob}"
            );
        }
    }

    #[test]
    fn a_glob_that_climbs_is_blank_or_is_too_long_is_refused() {
        assert!(check("src/**").is_ok());
        assert!(check("../x").is_err() && check(" ").is_err() && check(&"x".repeat(500)).is_err());
    }
}
