//! Programs that take commands while they run, and start others by them: `!sh` in a pager, `:!sh` in an editor, `.shell` in a database.
//!
//! Against whom: an agent whose host keeps a terminal open. What is typed there later raises no event.

use crate::shell::Interpreter;
use crate::shell::apply::slot_text;
use crate::shell::git::opens_editor;
use crate::shell::text::{Flow, Text};
use crate::spec::Reading;

use super::{has, runs_input};

/// They read the terminal itself, whatever their input is.
const OF_TERMINAL: &[&str] = &[
    "dialog", "emacs", "gitui", "htop", "info", "k9s", "lazygit", "less", "man", "more", "most", "nano",
    "ncdu", "screen", "tig", "tmux", "top", "vi", "watch",
];

/// They read commands of their own from their input, unless they are given some.
const OF_INPUT: &[&str] = &[
    "bc",
    "dc",
    "ed",
    "erl",
    "expect",
    "ftp",
    "gdb",
    "ghci",
    "gnuplot",
    "guile",
    "irb",
    "jshell",
    "mail",
    "mongosh",
    "mysql",
    "octave",
    "psql",
    "R",
    "racket",
    "redis-cli",
    "sbcl",
    "scala",
    "sftp",
    "sqlite3",
    "tclsh",
    "telnet",
];

impl Interpreter<'_, '_> {
    /// `GIT_EDITOR=true git rebase --continue`
    fn has_silent_editor(&self) -> bool {
        let editors = self.variable_texts("GIT_EDITOR");
        let is_silent =
            |editor: &Text| editor.whole().is_some_and(|editor| matches!(editor, "true" | ":" | "cat"));
        !editors.is_empty() && editors.iter().all(is_silent)
    }

    /// Whether a program takes commands that nobody has read.
    pub(in crate::shell) fn takes_commands(
        &self,
        program: &str,
        reading: &Reading,
        arguments: &[Text],
    ) -> bool {
        if has(reading, &["--version", "--help", "-V", "--batch", "-batch"]) {
            return false;
        }
        let is_open = matches!(self.streams.stdin(), Flow::Any) && !self.streams.is_fed();
        match program {
            "git" => opens_editor(reading) && !self.has_silent_editor(),
            "env" => drops_pager(reading, arguments),
            "crontab" | "sudoedit" | "visudo" | "vipw" => program != "crontab" || has(reading, &["-e"]),
            _ if OF_TERMINAL.contains(&program) => true,
            _ if OF_INPUT.contains(&program) => is_open && !is_given(reading),
            "python" | "python2" | "python3" | "node" | "php" | "lua" | "ruby" | "perl" | "ipython"
            | "deno" | "bun" => {
                (is_open && runs_input(reading)) || has(reading, &["-i", "-a", "--interactive"])
            }
            _ => false,
        }
    }
}

/// Whether a program is given its commands as words: `psql -c`, `sqlite3 db 'select 1'`.
fn is_given(reading: &Reading) -> bool {
    has(reading, &["-c", "--command", "-e", "--execute", "--eval", "-f", "--file", "-l", "--list"])
        || reading.operands.len() > 1
}

/// Whether a variable, once it is gone, has programs page through what reads keys: hosts that keep a terminal open set `PAGER` to `cat`.
pub(in crate::shell) fn names_pager(variable: &str) -> bool {
    variable == "PAGER" || variable.ends_with("_PAGER")
}

/// `env -u GIT_PAGER git log`, `env -i git log`.
fn drops_pager(reading: &Reading, arguments: &[Text]) -> bool {
    let mut unset = reading.options.iter().filter(|given| given.name == "-u");
    has(reading, &["-i"])
        || unset.any(|given| {
            let name = given.value.map(|slot| slot_text(arguments, &slot));
            name.is_none_or(|name| name.whole().is_none_or(names_pager))
        })
}
