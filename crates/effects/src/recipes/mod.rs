//! Shell text that lies in the project's files and that `make test`, `npm run build`, `just x` or `git ci` run.
//!
//! Against whom: a command that looks harmless and runs a file that is not. Everything here takes the text of a
//! file, touches no disk, and rather tells of a piece that will not run than leaves one out: both branches of a
//! condition, every rule that may fit. What cannot be known is a [`HOLE`] in the text, never left out.

pub(crate) mod cargo_config;
mod cursor;
pub(crate) mod git_config;
mod json;
pub(crate) mod just;
pub(crate) mod make;
pub(crate) mod mise;
pub(crate) mod package;
pub(crate) mod settings;
mod toml;

/// Stands for text that cannot be known: none, a part of a word, many words, or more shell code.
pub(crate) const HOLE: char = '\u{fdd2}';

/// More pieces than this are not looked at one by one.
const MAX_STEPS: usize = 2048;

/// What is said of a recipe with more than [`MAX_STEPS`] pieces, or of one that grows without end.
const TOO_MUCH: &str = "more than can be looked at";

/// One piece of shell text that a recipe runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// In the file, from 1; for a piece of an included file the line that includes it.
    pub line: u32,
    /// As the shell gets it, with a [`HOLE`] for each part that cannot be known. Where the recipe exports a
    /// variable that this text uses, or changes the directory, a line that does the same stands before it.
    pub text: String,
    /// Another interpreter that the recipe names, with its arguments: `SHELL`, or a shebang line without `#!`.
    pub shell: Option<String>,
}

impl Step {
    /// Something runs here, and nobody can say what.
    fn unknown(line: u32) -> Step {
        Step { line, text: HOLE.to_string(), shell: None }
    }
}

/// What a file says about a target, task or script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// These run, in this order.
    Steps(Vec<Step>),
    /// There is no such target.
    Absent,
    /// It cannot be told, and why.
    Opaque(&'static str),
}

/// A text in a JSON or TOML file: the keys that lead to it, without the places in lists.
#[derive(Debug, PartialEq, Eq)]
struct Leaf {
    keys: Vec<String>,
    text: String,
    line: u32,
}

impl Leaf {
    fn is_at(&self, keys: &[&str]) -> bool {
        self.keys == keys
    }
}

/// A key longer than this is not a name of anything; the file is refused.
const MAX_KEY: usize = 256;

/// `export NAME='value'`, to stand before the text that uses it.
fn export_line(name: &str, value: &str) -> String {
    format!("export {name}='{}'\n", value.replace('\'', r"'\''"))
}

/// Whether shell text may use a variable: it names it, or its shell reads it by itself.
fn uses(text: &str, name: &str) -> bool {
    matches!(name, "PATH" | "BASH_ENV" | "ENV" | "LD_PRELOAD" | "LD_LIBRARY_PATH" | "IFS" | "HOME" | "CDPATH")
        || text.contains('$') && text.contains(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `line: text` or `line: [shell] text`, with `?` for a hole.
    pub(super) fn shown(found: &Found) -> Vec<String> {
        match found {
            Found::Absent => vec!["absent".into()],
            Found::Opaque(why) => vec![format!("opaque: {why}")],
            Found::Steps(steps) => steps
                .iter()
                .map(|step| {
                    let text = step.text.replace(HOLE, "?");
                    match &step.shell {
                        Some(shell) => format!("{}: [{}] {text}", step.line, shell.replace(HOLE, "?")),
                        None => format!("{}: {text}", step.line),
                    }
                })
                .collect(),
        }
    }

    /// Text made of the pieces that matter to a reader, in every order that a small generator gives.
    pub(super) fn scrambled(pieces: &[&str], rounds: u32, mut check: impl FnMut(&str)) {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        for _ in 0..rounds {
            let mut text = String::new();
            for _ in 0..24 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let at = usize::try_from(state % pieces.len() as u64).unwrap();
                text.push_str(pieces[at]);
            }
            check(&text);
        }
    }
}
