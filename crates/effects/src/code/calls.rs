//! What the calls of each language mean, as data.
//!
//! A line of a table is a name and its meaning; the lines are sorted. A name is written in full (`os.path.join`), or as
//! `.name` for a method of whatever object, or as `=name` for a module: one of the language's `own` library, or one
//! that `connect`s.
//!
//! `build.rs` compiles the tables into values of the enums below, so that a meaning which nobody acts on does not compile.
//!
//! The letters of a meaning stand for the arguments in their order: `r`ead, `l`ist, `w`rite, `d`elete, `e`nter, `s`hell
//! text, `o`pen by the mode behind it, `-` nothing; `*` repeats the letter before it; `^` stands before the letter
//! for the object itself. A word behind `!` is a meaning of its own, see `Scan::special`.

use crate::language::Language;

/// What it means that a name is called, or that a module is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// What is done with its object and its arguments.
    Uses(Uses),
    /// More than letters can say.
    Special(Special),
    /// A module of the language's own library.
    OwnModule,
    /// A module that reaches the network.
    ConnectingModule,
}

/// What a call does with its object and with its arguments, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Uses {
    pub(super) object: Option<Use>,
    pub(super) arguments: [Option<Use>; 3],
    /// The last one counts for all further arguments.
    pub(super) repeats: bool,
}

/// What is done with one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Nothing,
    /// It names a file or a directory.
    Touch(Touch),
    /// It is run by a shell.
    Shell,
    /// It names a file that is opened by the mode behind it.
    Open,
}

/// What is done with a file or a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touch {
    Read,
    List,
    Write,
    Delete,
    Enter,
}

/// Meanings of their own. `Scan::special` acts on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Special {
    /// Adds to a list.
    Add,
    /// Calls what is given by its name.
    Apply,
    /// Reaches into what cannot be followed.
    Code,
    /// Reaches the network.
    Connect,
    /// The working directory.
    Cwd,
    /// Gives a constant its value.
    Define,
    /// Rows of a number and an item.
    Enumerate,
    /// A variable of the environment.
    Env,
    /// Runs a text as code.
    Eval,
    /// Runs a program whose words are the arguments, the name it goes by among them.
    Execl,
    /// Text from outside of the program.
    Foreign,
    /// Copies the process.
    Fork,
    /// Puts values into a text.
    Format,
    /// A member by its name.
    GetAttribute,
    /// The names that a pattern matches.
    Glob,
    /// The home.
    Home,
    /// The same value, or nearly so.
    Id,
    /// Loads a module by its name.
    Import,
    /// Runs a file as code of the same language.
    Include,
    /// Rows of a key and a value.
    Items,
    /// Puts parts of a path together.
    Join,
    /// The items of a list, or the keys of a map.
    List,
    /// The names of a module.
    Module,
    /// A number.
    Number,
    /// The directory of a path.
    Parent,
    /// A path.
    Path,
    /// `open` of perl.
    PerlOpen,
    /// Plain computing.
    Pure,
    /// Runs project code.
    Project,
    /// Runs a program.
    Run,
    /// Makes a place for what is temporary.
    Scratch,
    /// Makes a text out of numbers or codes.
    Source,
    /// Cuts a text.
    Split,
    /// Exchanges a part of a text.
    Sub,
    /// Joins a list into a text.
    Text,
    /// The directory for temporary files.
    Tmp,
    /// The values of a map.
    Values,
}

impl Meaning {
    /// Whether a call of this meaning changes something.
    pub(super) fn changes(self) -> bool {
        let changes = |one: &Use| match one {
            Use::Touch(Touch::Write | Touch::Delete) | Use::Shell | Use::Open => true,
            Use::Nothing | Use::Touch(Touch::Read | Touch::List | Touch::Enter) => false,
        };
        match self {
            Meaning::Uses(uses) => uses.object.iter().chain(uses.arguments.iter().flatten()).any(changes),
            Meaning::Special(special) => {
                matches!(special, Special::Run | Special::Execl | Special::Eval | Special::Code)
            }
            Meaning::OwnModule | Meaning::ConnectingModule => false,
        }
    }
}

mod generated {
    use super::{Meaning, Special, Touch, Use, Uses};

    include!(concat!(env!("OUT_DIR"), "/calls.rs"));
}

/// The names of a language, one behind the other in their order, and for each where it ends and what it means.
fn table(language: Language) -> (&'static str, &'static [(u16, Meaning)]) {
    match language {
        Language::Python => (generated::PYTHON_NAMES, &generated::PYTHON),
        Language::Node => (generated::NODE_NAMES, &generated::NODE),
        Language::Perl => (generated::PERL_NAMES, &generated::PERL),
        Language::Ruby => (generated::RUBY_NAMES, &generated::RUBY),
        Language::Php => (generated::PHP_NAMES, &generated::PHP),
        Language::Lua => (generated::LUA_NAMES, &generated::LUA),
        Language::Shell | Language::Other => ("", &[]),
    }
}

/// What a name means: a search by halves.
pub(super) fn meaning(language: Language, name: &str) -> Option<Meaning> {
    let (names, entries) = table(language);
    let (mut low, mut high) = (0, entries.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        let start = middle.checked_sub(1).and_then(|before| entries.get(before)).map_or(0, |(end, _)| *end);
        let (end, meaning) = entries.get(middle)?;
        match name.cmp(names.get(usize::from(start)..usize::from(*end))?) {
            std::cmp::Ordering::Equal => return Some(*meaning),
            std::cmp::Ordering::Less => high = middle,
            std::cmp::Ordering::Greater => low = middle + 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_of_the_tables_is_found() {
        use Language::{Lua, Node, Perl, Php, Python, Ruby};
        for language in [Python, Node, Perl, Ruby, Php, Lua] {
            let (names, entries) = table(language);
            assert_eq!(usize::from(entries.last().unwrap().0), names.len());
            let mut start = 0;
            for (end, expected) in entries {
                let name = names.get(start..usize::from(*end)).unwrap();
                assert_eq!(meaning(language, name), Some(*expected), "{name}");
                start = usize::from(*end);
            }
            assert_eq!(meaning(language, "no.such.name"), None);
            assert_eq!(meaning(language, ""), None);
        }
    }

    #[test]
    fn uses_of_a_call_are_read_in_their_order() {
        let read = Some(Use::Touch(Touch::Read));
        let write = Some(Use::Touch(Touch::Write));
        for (language, name, object, arguments, repeats) in [
            (Language::Python, "open", None, [Some(Use::Open), None, None], false),
            (Language::Python, ".hardlink_to", write, [read, None, None], false),
            (Language::Python, ".download_file", None, [Some(Use::Nothing), write, None], false),
        ] {
            let expected = Meaning::Uses(Uses { object, arguments, repeats });
            assert_eq!(meaning(language, name), Some(expected), "{name}");
        }
    }
}
