//! Which secret files a search would come upon.
//!
//! A search reads every file below a directory. Telling them all would be thousands of effects, and no rule is about
//! most of them; so those are listed that go by the name of a secret, as the options of the search and the
//! `.gitignore` files on the way leave them.
//!
//! Does not see: what is beyond the bound, which is told; what is in directories that tools fill, behind links to directories, and ignored
//! by a file outside of the repository.

use std::path::{Path, PathBuf};

use toolgate_model::{NodeKind, SecretName, World, secret_name};

use crate::shell::matches_name;

/// So many names are looked at for one search.
const MAX_NAMES: usize = 2_000;
/// So many files are listed.
const MAX_FOUND: usize = 16;
/// So much of an ignore file is read.
const MAX_IGNORE: usize = 16 * 1024;
/// How far up a repository's top is looked for.
const MAX_ABOVE: usize = 16;
/// Directories that tools fill, and nobody keeps settings in.
const FILLED: &[&str] = &[
    ".git",
    "node_modules",
    "target",
    "vendor",
    "dist",
    "build",
    ".venv",
    "venv",
    "__pycache__",
    ".terraform",
    ".next",
    ".cache",
    ".tox",
    ".gradle",
    "Pods",
];

/// What a search leaves out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sift {
    /// Whether it reads files and directories whose names begin with a dot.
    pub(crate) hidden: bool,
    /// Whether it reads what the repository ignores.
    pub(crate) ignored: bool,
    /// Patterns of which a file has to fit one, where there are any.
    pub(crate) only: Vec<String>,
    /// Patterns of files that are left out.
    pub(crate) without: Vec<String>,
    /// Patterns of directories that are left out.
    pub(crate) without_directories: Vec<String>,
}

impl Sift {
    fn lets_file(&self, name: &str, relative: &str) -> bool {
        (self.hidden || !name.starts_with('.'))
            && (self.only.is_empty() || self.only.iter().any(|glob| fits(glob, name, relative)))
            && !self.without.iter().any(|glob| fits(glob, name, relative))
    }

    fn lets_directory(&self, name: &str, relative: &str) -> bool {
        (self.hidden || !name.starts_with('.'))
            && !FILLED.contains(&name)
            && !self.without_directories.iter().any(|glob| fits(glob, name, relative))
    }
}

/// What was found below a directory.
#[derive(Debug, Default)]
pub(crate) struct Below {
    /// Files that hold secrets by their names, and that the search would read.
    pub(crate) found: Vec<String>,
    /// Whether there is more than was looked at.
    pub(crate) has_more: bool,
}

/// Files below the directory that hold secrets by their names, and that the search would read.
pub(crate) fn secrets_below(world: &dyn World, directory: &Path, sift: &Sift) -> Below {
    let mut ignores = if sift.ignored { None } else { Ignores::above(world, directory) };
    let mut open = vec![directory.to_path_buf()];
    let mut found = Vec::new();
    let mut left = MAX_NAMES;
    let mut has_more = false;
    // Level by level: what lies near counts first.
    while !open.is_empty() {
        let mut next = Vec::new();
        for directory_here in open {
            let names = match world.names(&directory_here, left) {
                Ok(Some(names)) => names,
                Ok(None) => {
                    has_more = true;
                    continue;
                }
                Err(_) => continue,
            };
            if let Some(ignores) = &mut ignores {
                ignores.enter(world, &directory_here);
            }
            for path in names {
                if left == 0 || found.len() >= MAX_FOUND {
                    return Below { found, has_more: true };
                }
                left -= 1;
                let relative = path.strip_prefix(directory).ok().and_then(Path::to_str);
                let (Some(name), Some(relative)) =
                    (path.file_name().and_then(|name| name.to_str()), relative)
                else {
                    continue;
                };
                let is_ignored =
                    |directory| ignores.as_ref().is_some_and(|ignores| ignores.cover(&path, name, directory));
                if secret_name(relative) == Some(SecretName::Settings) {
                    let is_file = world.look(&path).is_ok_and(|node| node.kind != NodeKind::Directory);
                    if is_file && sift.lets_file(name, relative) && !is_ignored(false) {
                        found.extend(path.to_str().map(str::to_owned));
                    }
                } else if sift.lets_directory(name, relative)
                    && world.look(&path).is_ok_and(|node| node.kind == NodeKind::Directory)
                    && !is_ignored(true)
                {
                    next.push(path);
                }
            }
        }
        open = next;
    }
    Below { found, has_more }
}

/// Whether a glob of a search fits a file: by its name, or by its path where the glob has a slash.
fn fits(glob: &str, name: &str, relative: &str) -> bool {
    choices(glob).iter().any(|glob| {
        let glob = glob.trim_start_matches("./").trim_start_matches('/').trim_end_matches('/');
        let anywhere = glob.strip_prefix("**/").unwrap_or(glob);
        if anywhere.contains('/') {
            matches_name(glob, relative) || matches_name(anywhere, relative)
        } else {
            matches_name(anywhere, name)
        }
    })
}

/// `{a,b}` as one glob each.
fn choices(glob: &str) -> Vec<String> {
    let parts = glob.split_once('{').and_then(|(before, rest)| {
        let (inner, after) = rest.split_once('}')?;
        Some((before, inner, after))
    });
    match parts {
        Some((before, inner, after)) => {
            inner.split(',').map(|choice| format!("{before}{choice}{after}")).collect()
        }
        None => vec![glob.to_owned()],
    }
}

/// What a repository ignores, as far as it has been walked.
struct Ignores {
    /// The directory of a rule, its pattern, and whether it takes back what others ignore. Later ones win.
    rules: Vec<(PathBuf, String, bool)>,
}

impl Ignores {
    /// Those of the directories from the repository's top down to this one; `None` outside of a repository, where
    /// ignore files do not count.
    fn above(world: &dyn World, directory: &Path) -> Option<Ignores> {
        let ancestors: Vec<&Path> = directory.ancestors().take(MAX_ABOVE).collect();
        let top = ancestors.iter().position(|above| world.look(&above.join(".git")).is_ok())?;
        let mut ignores = Ignores { rules: Vec::new() };
        // The directory itself is entered when it is searched.
        for above in ancestors.get(1..=top).unwrap_or_default().iter().rev() {
            ignores.enter(world, above);
        }
        Some(ignores)
    }

    fn enter(&mut self, world: &dyn World, directory: &Path) {
        for file in [".gitignore", ".ignore"] {
            let Ok(bytes) = world.read(&directory.join(file), MAX_IGNORE) else { continue };
            // What is not read to its end may take back what it ignores before.
            if bytes.len() >= MAX_IGNORE {
                continue;
            }
            for line in String::from_utf8_lossy(&bytes).lines() {
                let line = line.trim_end();
                if line.is_empty() || line.starts_with('#') {
                    continue;
                }
                let (pattern, back) = match line.strip_prefix('!') {
                    Some(rest) => (rest, true),
                    None => (line, false),
                };
                self.rules.push((directory.to_path_buf(), pattern.to_owned(), back));
            }
        }
    }

    fn cover(&self, path: &Path, name: &str, is_directory: bool) -> bool {
        let rule = self.rules.iter().rev().find(|(base, pattern, _)| {
            let Some(relative) = path.strip_prefix(base).ok().and_then(Path::to_str) else { return false };
            let bare = pattern.trim_end_matches('/');
            if bare.len() < pattern.len() && !is_directory {
                return false;
            }
            let anywhere = bare.strip_prefix("**/").unwrap_or(bare);
            if anywhere.contains('/') {
                matches_name(bare.trim_start_matches('/'), relative)
            } else {
                matches_name(anywhere, name)
            }
        });
        rule.is_some_and(|(_, _, back)| !back)
    }
}
