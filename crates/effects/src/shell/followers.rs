//! Programs that go through a tree: which of them follow the links that they come upon.
//!
//! The list is of those that do not, with the options that make them. Any other that reads or changes a whole tree is taken to
//! follow. Programs that only list do not count as reading a tree: which of them go into a link that they are given, and which follow
//! those that they come upon, is told for each.

use std::path::Path;

use toolgate_model::{Access, NodeKind};

use super::Interpreter;
use super::apply::{access_of, slot_text};
use super::places::Located;
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

/// How a program that lists deals with links.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Listing {
    /// It lists what is behind a link that it is given.
    goes_in: bool,
    /// It looks behind the links that it comes upon: right in the directory, or at any depth.
    follows: Option<char>,
}

/// What a listing program does with links, by its options.
fn listing(program: &str, arguments: &[Text]) -> Listing {
    let given = |letter: char, long: &[&str]| has_option(arguments, letter, long);
    let deep = |follows: bool| follows.then_some(INNER);
    match program {
        "ls" | "gls" | "dir" | "gdir" | "vdir" | "gvdir" => {
            let all = given('L', &["--dereference"]);
            // By default a link to a directory is gone into, but not where its facts are shown.
            let columns = ['C', 'x', 'm'].into_iter().any(|letter| given(letter, &[]));
            let long = !columns
                && (program.ends_with("vdir") || ['l', 'g', 'n', 'o'].into_iter().any(|it| given(it, &[])));
            let shown = long || given('d', &["--directory"]) || given('F', &["--classify"]);
            let told = given('H', &["--dereference-command-line"])
                || given('\0', &["--dereference-command-line-symlink-to-dir"]);
            let mark = if given('R', &["--recursive"]) { INNER } else { NAME };
            Listing { goes_in: all || told || !shown, follows: all.then_some(mark) }
        }
        "tree" => Listing { goes_in: true, follows: deep(given('l', &[])) },
        "exa" | "eza" => Listing {
            goes_in: !given('l', &["--long"]) && !given('d', &["--list-dirs"]),
            follows: deep(given('X', &["--dereference", "--follow-symlinks"])),
        },
        "fd" | "fdfind" => Listing { goes_in: true, follows: deep(given('L', &["--follow"])) },
        "du" | "gdu" => {
            let all = given('L', &["--dereference"]);
            let told = given('D', &["--dereference-args"]) || given('H', &[]);
            Listing { goes_in: all || told, follows: deep(all) }
        }
        "stat" | "gstat" => Listing { goes_in: given('L', &["--dereference"]), follows: None },
        "find" | "gfind" => {
            let all = arguments.iter().any(|word| matches!(word.raw(), "-L" | "-follow"));
            Listing { goes_in: all || arguments.iter().any(|word| word.raw() == "-H"), follows: deep(all) }
        }
        _ => Listing::default(),
    }
}

/// Whether an option is among the words: its letter, also among others, or one of its long names, also shortened.
fn has_option(arguments: &[Text], letter: char, long: &[&str]) -> bool {
    let before = arguments.iter().map(Text::raw).take_while(|word| *word != "--");
    before.into_iter().any(|word| match word.strip_prefix("--") {
        Some(name) => !name.is_empty() && long.iter().any(|known| known.starts_with(word)),
        None => word.strip_prefix('-').is_some_and(|letters| letters.contains(letter)),
    })
}

impl Interpreter<'_, '_> {
    /// Tells where links lead that a listing goes into: those that it is given, and those below that it follows.
    pub(super) fn gone_into(&mut self, program: &str, arguments: &[Text], operands: &[Text]) {
        let Listing { goes_in, follows } = listing(program, arguments);
        for operand in operands.iter().filter(|_| goes_in) {
            for located in self.located(operand) {
                let Located::Exact(place) = located else { continue };
                let is_link = |node: &toolgate_model::Node| matches!(node.kind, NodeKind::Link(_));
                if !place.ends_with('/')
                    && self.scene.world.look(Path::new(&place)).is_ok_and(|it| is_link(&it))
                {
                    self.touch_place(Access::List, toolgate_model::Reach::Exact, format!("{place}/"));
                }
            }
        }
        if let Some(mark) = follows {
            for operand in operands {
                self.followed_below(Access::Read, operand, mark);
            }
        }
    }

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
        if listing(program, arguments) != Listing::default() {
            let named = reading.uses.iter().filter(|(kind, _)| *kind == WordKind::List);
            let mut operands: Vec<Text> = named.map(|(_, slot)| slot_text(arguments, slot)).collect();
            for fixed in &reading.effects {
                if let Fixed::Use(WordKind::List, path) = fixed {
                    operands.push(self.tilde(path));
                }
            }
            self.gone_into(program, arguments, &operands);
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
