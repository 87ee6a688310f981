//! Programs that take commands while they run, and start others by them: `!sh` in a pager, `:!sh` in an editor, `.shell` in a database.
//!
//! Against whom: an agent whose host keeps a terminal open. What is typed there later raises no event.

use crate::shell::Interpreter;
use crate::shell::text::Flow;
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

/// Options of `git` that put a question for each piece, and can start an editor.
const PIECES: &[&str] = &["-p", "--patch", "-i", "--interactive", "-e", "--edit"];

impl Interpreter<'_, '_> {
    /// Whether a program takes commands that nobody has read.
    pub(in crate::shell) fn takes_commands(&self, program: &str, reading: &Reading) -> bool {
        if has(reading, &["--version", "--help", "-V", "--batch", "-batch"]) {
            return false;
        }
        let is_open = matches!(self.streams.stdin(), Flow::Any) && !self.streams.is_fed();
        match program {
            // Without a message it starts an editor.
            "git" => match reading.sub.first().copied() {
                Some("add" | "checkout" | "reset" | "restore" | "stash" | "commit" | "clean") => {
                    has(reading, PIECES)
                }
                Some("rebase") => has(reading, &["-i", "--interactive", "--edit-todo"]),
                Some("bisect" | "difftool" | "mergetool" | "gui" | "citool" | "instaweb" | "send-email") => {
                    true
                }
                _ => false,
            },
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
