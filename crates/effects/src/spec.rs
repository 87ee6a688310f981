//! What a command's arguments mean, by the tables that `build.rs` makes of `specs/*.toml`.
//!
//! [`read`] goes over the words as the program's own parser would. It judges nothing: what a spec does not
//! list comes back as [`Reading::unlisted`], and the caller must take that for an unknown effect.

mod reader;
mod table;
mod value;

pub(crate) use reader::read;
pub(crate) use value::is_remote;

use crate::language::Language;
use table::{INDEX, OPTIONS, Opt, SPECS, Span, Takes, Text};

/// What a command or a sub-command does with its words.
#[derive(Debug)]
pub(crate) struct Spec {
    names: Text,
    options: Span,
    subs: Span,
    args: Span,
    args1: Option<Span>,
    effects: Span,
    default: Span,
    flags: u16,
    heeds: Heeds,
    output: Output,
    stdin: Option<Language>,
}

/// What a program heeds besides its words and what these name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heeds {
    /// Nothing.
    Words,
    /// Settings of the person's home and of the environment, and nothing of the project.
    Home,
    /// The project's settings or code, or nobody has said.
    Project,
}

/// What a program of this name heeds, where a spec describes it.
pub fn heeds(program: &str) -> Option<Heeds> {
    find(program).map(Spec::heeds)
}

/// What a word is to its command. The README of the specs explains each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordKind {
    Text,
    Read,
    ReadTree,
    List,
    Append,
    Write,
    WriteTree,
    Delete,
    DeleteTree,
    Enter,
    Into,
    Link,
    Beside,
    Command,
    Shell,
    Program,
    Code(Language),
    Script(Language),
    Sed,
    Awk,
    Assign,
    Host,
    /// `@file`; in a reading it has become `Read` or `Write`.
    At,
    /// In a reading it has become `Code`, or is left out where it stays within its database.
    Sql,
    /// Likewise `name=@file`.
    Form,
    /// Commands of a debugger; in a reading `Code`, or left out where they only look.
    Debug,
    /// `host:container`; in a reading `ReadTree` and `WriteTree`, and prose.
    Mount,
    /// A program for `jq` or `yq`; in a reading what it loads.
    Filter,
    /// Likewise `{a,b}`.
    Each,
    /// Options for another program, with commas between them; in a reading what they name.
    Relayed,
    /// A file of settings that can have the program do anything.
    Settings,
    /// A file that is written, in whose name the program fills something in.
    Template,
    /// Only in a reading: a path that is only known when it is read.
    OpenRead,
    /// In a reading it stands among the `prose`.
    Prose,
    /// An ending that names get which are written: those of its operands, or others beside them.
    Suffix,
}

/// What a command's standard output holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// Anything.
    Text,
    /// Paths at or below its path operands, or the working directory where it has none.
    Paths,
    /// One plain word without a slash.
    Name,
    /// What it read, unchanged or in parts.
    Input,
    /// Nothing.
    Nothing,
}

/// One word of a command, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'w> {
    /// The text at its beginning.
    pub(crate) head: &'w str,
    /// Whether that is all of it.
    pub(crate) known: bool,
}

/// A part of a word, from the byte `skip` to the byte `end` or to the word's own end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) word: usize,
    pub(crate) skip: usize,
    pub(crate) end: Option<usize>,
}

/// An option that is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Given {
    /// The first spelling that the spec lists.
    pub(crate) name: &'static str,
    pub(crate) value: Option<Slot>,
    /// All spellings.
    names: Text,
}

impl Given {
    /// The spellings behind the first one.
    pub(crate) fn aliases(&self) -> impl Iterator<Item = &'static str> {
        self.names.words().skip(1)
    }
}

/// What a command does whatever its words are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fixed {
    /// Uses a path, relative to the working directory or to `~/`.
    Use(WordKind, &'static str),
    /// Uses the path that settings of the project name, where they do: names of files with `|` between them, and a key.
    Setting(WordKind, &'static str),
    Connect,
    /// Runs project code.
    Project,
    RepoRead,
    RepoWrite,
    /// Writes what git keeps of the repository, and none of its files.
    RepoData,
    /// Acts somewhere that no rule here speaks of: a daemon, a cloud, another agent.
    Foreign,
    /// More than can be said.
    Unknown,
}

/// A command's words, read. Numbers are places in the list of words, which begins behind the command's name.
#[derive(Debug)]
pub(crate) struct Reading {
    /// Of the deepest sub-command.
    pub(crate) spec: &'static Spec,
    /// The sub-commands, by their first names.
    pub(crate) sub: Vec<&'static str>,
    pub(crate) options: Vec<Given>,
    /// Options that are not listed and do no harm, as the spec has only such.
    pub(crate) plain: Vec<usize>,
    /// All values and operands that mean more than text, in the order of the words. The words of a repeated
    /// `shell` operand are one text, joined by spaces.
    pub(crate) uses: Vec<(WordKind, Slot)>,
    /// What is neither option nor sub-command, up to `rest`.
    pub(crate) operands: Vec<usize>,
    /// Options, sub-commands and operands that the spec does not list.
    pub(crate) unlisted: Vec<usize>,
    pub(crate) effects: Vec<Fixed>,
    pub(crate) output: Output,
    /// Words that name no place of this machine, whatever they look like.
    pub(crate) prose: Vec<usize>,
    /// Values and operands that are described as text, and nothing more.
    pub(crate) texts: Vec<Slot>,
    /// The first word of a command that this one runs.
    pub(crate) rest: Option<usize>,
}

/// The spec of a program, by its name without directories.
pub(crate) fn find(name: &str) -> Option<&'static Spec> {
    let hash =
        name.bytes().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let at = INDEX.binary_search_by_key(&hash, |(hash, _)| *hash).ok()?;
    SPECS.get(usize::from(INDEX.get(at)?.1)).filter(|spec| spec.first_name(name).is_some())
}

impl Spec {
    const PLAIN: u16 = 1;
    const STOPS: u16 = 2;
    const SINGLE_DASH: u16 = 4;
    const OLD_STYLE: u16 = 8;
    const KEY_VALUE: u16 = 16;
    const GLOBAL: u16 = 64;
    const REMOTE: u16 = 128;
    const FACTS: u16 = 256;

    /// The language of the code that it reads from standard input where no word gives it any.
    pub(crate) fn stdin_code(&self) -> Option<Language> {
        self.stdin
    }

    pub(crate) fn heeds(&self) -> Heeds {
        self.heeds
    }

    /// Whether its operands may lie on another machine.
    pub(crate) fn is_remote(&self) -> bool {
        self.is(Self::REMOTE)
    }

    /// Whether no option of it, listed or not, writes, runs or connects.
    pub(crate) fn is_plain(&self) -> bool {
        self.is(Spec::PLAIN)
    }

    /// Its first name.
    pub(crate) fn name(&self) -> &'static str {
        self.names.first()
    }

    /// The sub-command of this name, and its first name.
    pub(crate) fn sub(&self, name: &str) -> Option<(&'static Spec, &'static str)> {
        self.subs.of(&SPECS).iter().find_map(|sub| Some((sub, sub.first_name(name)?)))
    }

    /// The first name of what is also called `name`. Names of something else of the same meaning begin with a bar.
    fn first_name(&self, name: &str) -> Option<&'static str> {
        // Every sub-command is asked for each word, and most have one name.
        let names = self.names.str();
        if !names.as_bytes().contains(&b' ') {
            return (names == name).then_some(names);
        }
        let mut first = self.name();
        for word in self.names.words() {
            let other = word.strip_prefix('|');
            first = other.unwrap_or(first);
            if other.unwrap_or(word) == name {
                return Some(first);
            }
        }
        None
    }

    fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    fn options(&self) -> &'static [Opt] {
        self.options.of(&OPTIONS)
    }

    /// The option that is spelled so.
    fn option(&self, spelling: &str) -> Option<&'static Opt> {
        self.options().iter().find(|option| option.takes != Takes::Key && option.is_spelled(spelling))
    }
}

impl Slot {
    fn at(word: usize, skip: usize) -> Slot {
        Slot { word, skip, end: None }
    }

    /// The part of the word's text that is meant.
    pub(crate) fn of<'w>(&self, text: &'w str) -> &'w str {
        text.get(self.skip..self.end.unwrap_or(text.len())).unwrap_or_default()
    }
}

impl WordKind {
    /// Whether the word names a file or a directory.
    pub(crate) fn is_path(self) -> bool {
        match self {
            WordKind::Read
            | WordKind::ReadTree
            | WordKind::List
            | WordKind::Append
            | WordKind::Write
            | WordKind::WriteTree => true,
            WordKind::Delete
            | WordKind::DeleteTree
            | WordKind::Enter
            | WordKind::Into
            | WordKind::Beside
            | WordKind::At
            | WordKind::Each
            | WordKind::Template
            | WordKind::Form => true,
            WordKind::Link | WordKind::Script(_) | WordKind::Program => false,
            WordKind::Text
            | WordKind::Command
            | WordKind::Shell
            | WordKind::Code(_)
            | WordKind::Sed
            | WordKind::Awk => false,
            WordKind::Assign
            | WordKind::Host
            | WordKind::Sql
            | WordKind::Debug
            | WordKind::Mount
            | WordKind::Filter
            | WordKind::Relayed
            | WordKind::Settings
            | WordKind::OpenRead
            | WordKind::Prose
            | WordKind::Suffix => false,
        }
    }

    /// Whether what the word names is made, changed or taken away.
    fn changes(self) -> bool {
        let fills =
            matches!(self, WordKind::Append | WordKind::Write | WordKind::WriteTree | WordKind::Beside)
                || self == WordKind::Template;
        fills || matches!(self, WordKind::Delete | WordKind::DeleteTree)
    }
}

#[cfg(test)]
mod tests;
