//! Globs below the root, as people write them for what an agent may write or may not revise: `src/**`, `docs/*.md`.
//!
//! `*` and `?` stand for letters within a name, `**` for any number of names. One without any of these covers what it names
//! and everything below. Backslashes divide names too, since such lists come from teams on Windows as well.

use std::path::Path;

use toolgate_model::Ground;

/// The names of a path below the root, or of the whole path where it lies elsewhere.
pub(crate) struct Names {
    /// As the path is.
    own: Vec<String>,
    /// With backslashes taken for dividers, where there are any.
    divided: Option<Vec<String>>,
    /// Whether the path lies below the root.
    below: bool,
}

impl Names {
    /// INVARIANT: `path` is absolute and clean, as every path of a `Place` is.
    pub(crate) fn of(path: &Path, ground: &Ground) -> Names {
        let base = ground.root.iter().flat_map(|root| [&root.physical, &root.lexical]);
        let rest = base.into_iter().find_map(|base| path.strip_prefix(base).ok());
        let text = rest.unwrap_or(path).to_string_lossy();
        let divided = text.contains('\\').then(|| split(&text.replace('\\', "/"))).filter(|names| {
            // On a system that divides by it, this would lead elsewhere.
            !names.iter().any(|name| name == "..")
        });
        Names { own: split(&text), divided, below: rest.is_some() }
    }

    /// Whether the glob covers the path.
    pub(crate) fn covered_by(&self, glob: &str) -> bool {
        let glob = glob.replace('\\', "/");
        let absolute = glob.starts_with('/');
        if absolute == self.below {
            return false;
        }
        let is_plain = !glob.contains(['*', '?']);
        let wanted = split(glob.trim_start_matches("./"));
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).filter(|name| *name != ".").collect();
        let fits = |names: &[String]| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            if is_plain { names.starts_with(&wanted) } else { covers(&wanted, &names) }
        };
        fits(&self.own) || self.divided.as_deref().is_some_and(fits)
    }

    /// Whether one of the names, with or without its ending, is this bare word.
    pub(crate) fn hold(&self, word: &str) -> bool {
        let is_named = |name: &String| {
            name == word || name.split_once('.').is_some_and(|(stem, _)| stem == word && !stem.is_empty())
        };
        self.own.iter().any(is_named)
    }

    /// Whether the glob could cover something below the path.
    pub(crate) fn are_above(&self, glob: &str) -> bool {
        let wanted = split(&glob.replace('\\', "/"));
        let literal: Vec<&String> = wanted.iter().take_while(|name| !name.contains(['*', '?'])).collect();
        self.below
            && self.own.len() < literal.len()
            && self.own.iter().zip(literal).all(|(name, wanted)| name == wanted)
    }

    /// Whether the path is the root itself.
    pub(crate) fn are_root(&self) -> bool {
        self.below && self.own.is_empty()
    }
}

fn split(path: &str) -> Vec<String> {
    path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Linear in each run of names between two `**`, since only the last one of these is ever tried again.
fn covers(glob: &[&str], names: &[&str]) -> bool {
    let (mut g, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match (glob.get(g), names.get(n)) {
            (Some(&"**"), _) => {
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
