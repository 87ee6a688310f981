//! Programs that go through a tree: which of them follow the links that they come upon.
//!
//! The list is of those that do not, with the options that make them. Any other that reads or changes a whole tree is taken to
//! follow.

use std::path::Path;

use toolgate_model::{Access, NodeKind};

use super::Interpreter;
use super::apply::{access_of, slot_text};
use super::text::{INNER, NAME, Text};
use crate::spec::{Fixed, Reading, WordKind};

/// Programs that follow no link below what they are given, unless one of these options says so.
const STAY: &[(&[&str], &[&str])] = &[
    (
        &[
            "grep", "egrep", "fgrep", "zgrep", "zegrep", "zfgrep", "bzgrep", "xzgrep", "zstdgrep", "ggrep",
            "gegrep", "gfgrep",
        ],
        &["-R", "--dereference-recursive"],
    ),
    (&["rg"], &["-L", "--follow"]),
    (&["ag"], &["-f", "--follow"]),
    (&["ack", "ack-grep"], &["--follow"]),
    (&["cp", "gcp"], &["-L", "--dereference", "-H"]),
    (&["tar", "gtar", "bsdtar"], &["-h", "--dereference", "-L", "-H"]),
    (
        &["rsync"],
        &[
            "-L",
            "--copy-links",
            "-k",
            "--copy-dirlinks",
            "--copy-unsafe-links",
            "-K",
            "--keep-dirlinks",
            "--inplace",
        ],
    ),
    (
        &["chmod", "gchmod", "chown", "gchown", "chgrp", "gchgrp", "chcon", "setfacl"],
        &["-L", "-H", "--logical"],
    ),
    (&["zip"], &[]),
    (&["gzip", "gunzip", "xz", "unxz", "zstd", "bzip2"], &["-f", "--force"]),
    (
        &["tokei", "scc", "cloc", "fd", "fdfind", "tree", "du", "gdu", "ls", "gls", "exa", "eza"],
        &["-L", "--follow", "-l"],
    ),
    (
        &[
            "rm", "grm", "mv", "gmv", "git", "mkdir", "rmdir", "ln", "install", "mktemp", "find", "gfind",
            "unzip",
        ],
        &[],
    ),
];

/// `zip` follows, unless it is told to keep links.
fn follows(program: &str, reading: &Reading) -> bool {
    let has = |names: &[&str]| reading.options.iter().any(|given| names.contains(&given.name));
    if program == "zip" {
        return !has(&["-y", "--symlinks", "-d", "--delete"]);
    }
    if matches!(program, "diff" | "gdiff" | "colordiff") {
        return !has(&["--no-dereference"]);
    }
    match STAY.iter().find(|(programs, _)| programs.contains(&program)) {
        Some((_, options)) => has(options),
        None => true,
    }
}

impl Interpreter<'_, '_> {
    /// Tells where the links lead that a program follows below what it is given.
    pub(super) fn followed(&mut self, program: &str, reading: &Reading, arguments: &[Text]) {
        let tree = |kind: WordKind| match access_of(kind) {
            Some((access, toolgate_model::Reach::Below)) if access != Access::Delete => Some(access),
            _ => None,
        };
        let mut trees: Vec<(Access, Text)> = Vec::new();
        for (kind, slot) in &reading.uses {
            let text = slot_text(arguments, slot);
            let kind = if self.compares_tree(program, *kind, &text) { WordKind::ReadTree } else { *kind };
            trees.extend(tree(kind).map(|access| (access, text)));
        }
        for fixed in &reading.effects {
            if let Fixed::Use(kind, path) = fixed {
                trees.extend(tree(*kind).map(|access| (access, self.tilde(path))));
            }
        }
        if trees.is_empty() || !follows(program, reading) {
            return;
        }
        for (access, tree) in trees {
            // What puts files into a directory by names that it is told elsewhere writes through a link of that name, and hardly
            // goes further down. Archives and copies are looked at by their members.
            let puts = access.changes() && !STAY.iter().any(|(programs, _)| programs.contains(&program));
            self.followed_below(access, &tree, if puts { NAME } else { INNER });
        }
    }

    /// `diff a b`: two directories are compared file by file, and a file with the one of its name in a directory.
    pub(super) fn compares_tree(&self, program: &str, kind: WordKind, path: &Text) -> bool {
        const COMPARE: [&str; 7] = ["diff", "gdiff", "colordiff", "sdiff", "delta", "diff-so-fancy", "ydiff"];
        let is_file = |place: &String| {
            self.scene.world.look(Path::new(place)).is_ok_and(|found| matches!(found.kind, NodeKind::File))
        };
        kind == WordKind::Read
            && COMPARE.contains(&program)
            && !self.one_place(path).is_some_and(|place| is_file(&place))
    }
}
