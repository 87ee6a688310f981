//! Streams: what the present command reads, and which programs it comes from.
//!
//! Rules about `curl … | sh` ask who feeds whom, so every program that was met is remembered here, and for each command
//! those whose output reaches it: by a pipe, by a substitution in its words, or by a file that stands for a process.

use toolgate_shell::{Command, List};

use super::Interpreter;
use super::bounds::Limit;
use super::text::{Choices, Flow, Text};

/// Programs that are remembered, over the whole command.
const MAX_PROGRAMS: usize = 4096;
/// Programs of one pipeline that are told apart.
const MAX_FEEDING: usize = 32;

/// `>( … )` with the file that stands for it.
pub(super) type Waiting<'t> = Vec<(String, &'t List<'t>)>;

/// `<( … )`: a file that stands for a process, and the programs that write it.
struct Pipe {
    path: String,
    ran: Vec<String>,
}

pub(super) struct Streams<'t> {
    stdin: Flow,
    /// The programs whose output is the present input.
    fed_by: Vec<String>,
    /// Every program that was met, in order.
    ran: Vec<String>,
    /// Those that ran inside of substitutions in the words of the present command.
    substituted: Vec<String>,
    /// Those that ran inside of substitutions in the words of the loops around the present command: `for f in $(ls -A)`.
    looped: Vec<String>,
    /// `>( … )` of the present command: they run once it is known what it writes.
    waiting: Waiting<'t>,
    pipes: Vec<Pipe>,
    /// Files that stand for processes so far.
    processes: u32,
    /// Standard error goes where standard output goes.
    merged: bool,
}

impl Default for Streams<'_> {
    fn default() -> Self {
        Streams {
            stdin: Flow::Any,
            fed_by: Vec::new(),
            ran: Vec::new(),
            substituted: Vec::new(),
            looped: Vec::new(),
            waiting: Vec::new(),
            pipes: Vec::new(),
            processes: 0,
            merged: false,
        }
    }
}

impl<'t> Streams<'t> {
    /// What the present command reads.
    pub(super) fn stdin(&self) -> &Flow {
        &self.stdin
    }

    /// Gives the present command another input. Returns the one that it had, to be put back.
    pub(super) fn replace_stdin(&mut self, stdin: Flow) -> Flow {
        std::mem::replace(&mut self.stdin, stdin)
    }

    /// Whether some program writes the input.
    pub(super) fn is_fed(&self) -> bool {
        !self.fed_by.is_empty()
    }

    /// Whether there is an input of which something is known. Without one, a program that reads waits for a person.
    pub(super) fn has_input(&self) -> bool {
        self.stdin != Flow::Any || self.is_fed()
    }

    /// A builtin has taken one of these lines; the rest is some of them.
    pub(super) fn take_line(&mut self, lines: Option<Choices>) {
        if self.stdin != Flow::Any {
            self.stdin = lines.map_or(Flow::Any, Flow::Lines);
        }
    }

    /// A program has read: what it leaves is some of the lines, or nothing.
    pub(super) fn take_some(&mut self) {
        if let Flow::Text(_) = &self.stdin {
            self.stdin = self.stdin.lines().map_or(Flow::Any, Flow::Lines);
        }
    }

    pub(super) fn is_merged(&self) -> bool {
        self.merged
    }

    /// A name for one more file that stands for a process.
    pub(super) fn new_process(&mut self) -> String {
        let path = format!("/dev/fd/{}", 63 + self.processes);
        self.processes += 1;
        path
    }

    /// `>( … )`: runs after the present command.
    pub(super) fn wait(&mut self, path: String, list: &'t List<'t>) {
        self.waiting.push((path, list));
    }

    /// Takes what waits for the present command and leaves other things to wait.
    pub(super) fn replace_waiting(&mut self, waiting: Waiting<'t>) -> Waiting<'t> {
        std::mem::replace(&mut self.waiting, waiting)
    }

    /// `<( … )`: these programs write the file.
    pub(super) fn add_pipe(&mut self, path: String, ran: Vec<String>) {
        self.pipes.push(Pipe { path, ran });
    }

    /// The programs that write what is read from this file that stands for a process.
    pub(super) fn writers_of(&self, path: &str) -> Vec<String> {
        let writes = |pipe: &&Pipe| pipe.path == path;
        self.pipes.iter().filter(writes).flat_map(|pipe| pipe.ran.iter().cloned()).collect()
    }

    /// Whether a path is a file that stands for a process of the command, and no place on the disk.
    pub(super) fn is_pipe(&self, path: &str) -> bool {
        path.starts_with("/dev/fd/6") && self.pipes.iter().any(|pipe| pipe.path == path)
    }

    /// These programs ran in a substitution: they feed the present command by its words.
    pub(super) fn add_substituted(&mut self, ran: Vec<String>) {
        self.substituted.extend(ran);
    }

    pub(super) fn has_substituted(&self) -> bool {
        !self.substituted.is_empty()
    }

    /// Takes the programs of substitutions so far and puts others in their place.
    pub(super) fn replace_substituted(&mut self, substituted: Vec<String>) -> Vec<String> {
        std::mem::replace(&mut self.substituted, substituted)
    }

    /// The programs whose output is what the words of the loops around are made of.
    pub(super) fn looped(&self) -> &[String] {
        &self.looped
    }

    /// A program is met.
    pub(super) fn met(&mut self, program: &str) {
        if self.ran.len() < MAX_PROGRAMS {
            self.ran.push(program.to_owned());
        }
    }

    /// Of programs that feed more than once, the nearest counts.
    fn forget_repeated(&mut self) {
        let all = std::mem::take(&mut self.fed_by);
        for (at, program) in all.iter().enumerate() {
            if !all.iter().skip(at + 1).any(|later| later == program) {
                self.fed_by.push(program.clone());
            }
        }
    }

    /// The programs whose output reaches a command with these words.
    pub(super) fn feeding(&self, words: &[Text]) -> Vec<String> {
        let mut fed_by = self.fed_by.clone();
        fed_by.extend(self.substituted.iter().cloned());
        for pipe in &self.pipes {
            if words.iter().any(|word| word.raw() == pipe.path) {
                fed_by.extend(pipe.ran.iter().cloned());
            }
        }
        fed_by
    }
}

impl<'t> Interpreter<'t, '_> {
    /// Walks, and says which programs were met.
    pub(super) fn noting<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> (T, Vec<String>) {
        let before = self.streams.ran.len();
        let out = walk(self);
        (out, self.streams.ran.get(before..).unwrap_or_default().to_vec())
    }

    /// Walks the body of a loop, in whose words these programs ran.
    pub(super) fn looping<T>(&mut self, ran: Vec<String>, walk: impl FnOnce(&mut Self) -> T) -> T {
        let looped = self.streams.looped.len();
        if looped + ran.len() <= MAX_FEEDING {
            self.streams.looped.extend(ran);
        }
        let out = walk(self);
        self.streams.looped.truncate(looped);
        out
    }

    /// `>( … )` in words that belong to no simple command: `for x in >(rm y)`, `{ a; } > >(rm y)`.
    pub(super) fn run_waiting(&mut self) {
        for (_, list) in std::mem::take(&mut self.streams.waiting) {
            self.unfed(|shell| shell.forked(|shell| shell.list(list)));
        }
    }

    /// Walks with this input.
    pub(super) fn reading<T>(&mut self, stdin: Flow, walk: impl FnOnce(&mut Self) -> T) -> T {
        let stdin = self.streams.replace_stdin(stdin);
        let out = walk(self);
        self.streams.stdin = stdin;
        out
    }

    /// Walks with standard error going where standard output goes, if `merges`.
    pub(super) fn merging<T>(&mut self, merges: bool, walk: impl FnOnce(&mut Self) -> T) -> T {
        let merged = self.streams.merged;
        self.streams.merged |= merges;
        let out = walk(self);
        self.streams.merged = merged;
        out
    }

    /// Walks with an input that these programs write, beside those that do already.
    pub(super) fn fed<T>(&mut self, by: Vec<String>, walk: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.streams.fed_by.len();
        if before + by.len() <= MAX_FEEDING {
            self.streams.fed_by.extend(by);
        }
        let out = walk(self);
        self.streams.fed_by.truncate(before);
        out
    }

    /// Walks with an input that comes from elsewhere.
    pub(super) fn unfed<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> T {
        let fed_by = std::mem::take(&mut self.streams.fed_by);
        let out = self.reading(Flow::Any, walk);
        self.streams.fed_by = fed_by;
        out
    }

    /// Walks commands in children, each with the output of the one before as its input.
    pub(super) fn piped(&mut self, commands: &'t [Command<'t>]) -> Flow {
        let (stdin, fed_by) = (self.streams.stdin.clone(), self.streams.fed_by.clone());
        let mut out = Flow::Nothing;
        for (place, command) in commands.iter().enumerate() {
            if place > 0 {
                self.streams.stdin = out;
            }
            let ran;
            (out, ran) = self.noting(|shell| shell.forked(|shell| shell.command(command).out));
            self.streams.fed_by.extend(ran);
            if self.streams.fed_by.len() > MAX_FEEDING {
                self.streams.forget_repeated();
            }
            if self.streams.fed_by.len() > MAX_FEEDING {
                self.too_much(Limit::Commands);
                break;
            }
        }
        (self.streams.stdin, self.streams.fed_by) = (stdin, fed_by);
        out
    }
}
