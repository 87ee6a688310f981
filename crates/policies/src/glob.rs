//! Globs below the root, as people write them for what an agent may write or may not revise: `src/**`, `docs/*.md`.
//!
//! `*` and `?` stand for letters within a name, `**` for any number of names. One without any of these covers what it names
//! and everything below. Backslashes divide names too, since such lists come from teams on Windows as well.

use std::collections::BTreeSet;
use std::path::Path;

use toolgate_model::Ground;

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
    /// INVARIANT: `path` is absolute and clean, as every path of a `Place` is.
    pub(crate) fn of(path: &Path, ground: &Ground) -> Names {
        let mut root = ground.root.iter().flat_map(|root| [&root.physical, &root.lexical]);
        let mut teams = ground
            .team
            .iter()
            .filter(|team| team.holds(path))
            .flat_map(|team| [&team.physical, &team.lexical])
            .filter_map(|team| team.parent());
        let rest = root
            .find_map(|base| path.strip_prefix(base).ok())
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
        let wanted = Wanted::of(glob);
        self.spelled(&wanted).any(|names| wanted.covers(names))
    }

    /// Whether a glob that forbids covers the path: letters in either case count as the same, as some file systems have
    /// it.
    pub(crate) fn forbidden_by(&self, glob: &str) -> bool {
        let wanted = Wanted::of(&glob.to_lowercase());
        self.spelled(&wanted).any(|names| wanted.covers(&lower(names)))
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
        let wanted = Wanted::of(&glob.to_lowercase());
        self.spelled(&wanted).any(|names| leads_below(&wanted.names, &lower(names)))
    }

    /// Whether the path is the root itself.
    pub(crate) fn are_root(&self) -> bool {
        self.below.as_ref().is_some_and(Vec::is_empty)
    }

    /// The names to compare with the glob, in each spelling.
    fn spelled(&self, wanted: &Wanted) -> impl Iterator<Item = &[String]> {
        let below = self.below.iter().chain(&self.divided).filter(|_| !wanted.absolute);
        below.chain(wanted.absolute.then_some(&self.whole)).map(Vec::as_slice)
    }
}

/// A glob, taken apart.
struct Wanted {
    names: Vec<String>,
    absolute: bool,
    /// Without a placeholder it covers everything below, too.
    plain: bool,
}

impl Wanted {
    fn of(glob: &str) -> Wanted {
        let glob = glob.trim().replace('\\', "/");
        let mut names = Vec::new();
        for name in split(&glob) {
            match name.as_str() {
                "." => {}
                ".." => drop(names.pop()),
                _ => names.push(name),
            }
        }
        Wanted { names, absolute: glob.starts_with('/'), plain: !glob.contains(['*', '?']) }
    }

    fn covers(&self, names: &[String]) -> bool {
        if self.plain { names.starts_with(&self.names) } else { covers(&self.names, names) }
    }
}

fn lower(names: &[String]) -> Vec<String> {
    names.iter().map(|name| name.to_lowercase()).collect()
}

/// Whether the names are the beginning of what a glob covers, by names that it spells out: what `**` alone leads to lies
/// below everything. Follows all ways at once, so that no glob makes it slow.
fn leads_below(glob: &[String], names: &[String]) -> bool {
    let is_any = |at: usize| glob.get(at).is_some_and(|name| name == "**");
    // Where in the glob one may stand, and whether a name that it spells out led there.
    let mut ways = BTreeSet::from([(0, names.is_empty())]);
    let skip = |ways: &mut BTreeSet<(usize, bool)>| {
        for at in 0..glob.len() {
            let here: Vec<bool> =
                ways.iter().filter(|way| way.0 == at && is_any(at)).map(|way| way.1).collect();
            ways.extend(here.into_iter().map(|spelled| (at + 1, spelled)));
        }
    };
    skip(&mut ways);
    for name in names {
        let stay = ways.iter().filter(|way| is_any(way.0)).copied();
        let fits = |way: &&(usize, bool)| glob.get(way.0).is_some_and(|wanted| letters(wanted, name));
        let step = ways.iter().filter(fits).filter(|way| !is_any(way.0)).map(|way| (way.0 + 1, true));
        ways = stay.chain(step).collect();
        skip(&mut ways);
    }
    ways.iter().any(|(at, spelled)| *spelled && *at < glob.len())
}

fn split(path: &str) -> Vec<String> {
    path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Linear in each run of names between two `**`, since only the last one of these is ever tried again.
fn covers(glob: &[String], names: &[String]) -> bool {
    let (mut g, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match (glob.get(g), names.get(n)) {
            (Some(any), _) if any == "**" => {
                retry = Some((g + 1, n));
                g += 1;
            }
            (Some(wanted), Some(name)) if letters(wanted, name) => {
                g += 1;
                n += 1;
            }
            (None, None) => return true,
            _ => match retry {
                Some((after, from)) if from < names.len() => {
                    (g, n) = (after, from + 1);
                    retry = Some((after, from + 1));
                }
                _ => return false,
            },
        }
    }
}

/// One name against one of the glob: likewise.
fn letters(wanted: &str, name: &str) -> bool {
    let (wanted, name): (Vec<char>, Vec<char>) = (wanted.chars().collect(), name.chars().collect());
    let (mut w, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match (wanted.get(w), name.get(n)) {
            (Some('*'), _) => {
                retry = Some((w + 1, n));
                w += 1;
            }
            (Some('?'), Some(_)) => {
                w += 1;
                n += 1;
            }
            (Some(one), Some(other)) if one == other => {
                w += 1;
                n += 1;
            }
            (None, None) => return true,
            _ => match retry {
                Some((after, from)) if from < name.len() => {
                    (w, n) = (after, from + 1);
                    retry = Some((after, from + 1));
                }
                _ => return false,
            },
        }
    }
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
    use toolgate_model::Spot;

    #[test]
    fn globs_cover_what_people_mean() {
        let ground = Ground { root: Some(Spot::plain("/r")), ..Ground::default() };
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
            assert_eq!(Names::of(Path::new(path), &ground).covered_by(glob), fits, "{glob} {path}");
        }
    }

    #[test]
    fn bare_words_name_artifacts() {
        let ground = Ground { root: Some(Spot::plain("/r")), ..Ground::default() };
        for (word, path, fits) in [
            ("auth", "/r/src/auth.ts", true),
            ("auth", "/r/src/auth/login.ts", true),
            ("auth", "/r/src/author.ts", false),
            ("auth", "/r/src/oauth.ts", false),
            ("env", "/r/.env", false),
        ] {
            assert_eq!(Names::of(Path::new(path), &ground).hold(word), fits, "{word} {path}");
        }
    }

    #[test]
    fn a_glob_that_cannot_be_meant() {
        assert!(check("src/**").is_ok());
        assert!(check("../x").is_err() && check(" ").is_err() && check(&"x".repeat(500)).is_err());
    }
}
