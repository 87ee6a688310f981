//! A walk over everything in a tree that bash could run.

use std::path::Path;
use std::process::{Command as Process, Stdio};

use toolgate_shell::{
    Assignment, Command, CommandKind, Element, Index, Item, List, Operation, Parsed, Part, RedirectTarget,
    Value, Word, parse,
};

/// What was seen in a text.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The name of every simple command that is plain text.
    pub(crate) names: Vec<String>,
    /// How many commands have a name that is more than text.
    pub(crate) built: usize,
    /// Whether anything could not be read, in backticks too.
    pub(crate) error: bool,
}

pub(crate) fn seen(text: &str) -> Seen {
    let mut walk = Seen::default();
    walk.script(&parse(text), 0);
    walk
}

impl Seen {
    fn script(&mut self, parsed: &Parsed<'_>, depth: usize) {
        self.error |= parsed.error.is_some() || depth > 20;
        if depth <= 20 {
            self.list(&parsed.list, depth);
        }
    }

    fn list(&mut self, list: &List<'_>, depth: usize) {
        for item in &list.items {
            self.item(item, depth);
        }
    }

    fn item(&mut self, item: &Item<'_>, depth: usize) {
        for pipeline in std::iter::once(&item.first).chain(item.rest.iter().map(|(_, next)| next)) {
            for command in &pipeline.commands {
                self.command(command, depth);
            }
        }
    }

    fn command(&mut self, command: &Command<'_>, depth: usize) {
        match &command.kind {
            CommandKind::Simple { assignments, words } => {
                for assignment in assignments {
                    self.assignment(assignment, depth);
                }
                match words.first().map(literal) {
                    Some(Some(name)) => self.names.push(name),
                    Some(None) => self.built += 1,
                    None => {}
                }
                self.words(words, depth);
            }
            CommandKind::Group(list) | CommandKind::Subshell(list) => self.list(list, depth),
            CommandKind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    self.list(condition, depth);
                    self.list(body, depth);
                }
                if let Some(list) = otherwise {
                    self.list(list, depth);
                }
            }
            CommandKind::While { condition, body, .. } => {
                self.list(condition, depth);
                self.list(body, depth);
            }
            CommandKind::For { words, body, .. } => {
                self.words(words.as_deref().unwrap_or_default(), depth);
                self.list(body, depth);
            }
            CommandKind::ForArithmetic { clauses, body } => {
                for clause in clauses {
                    self.parts(&clause.parts, depth);
                }
                self.list(body, depth);
            }
            CommandKind::Case { subject, arms } => {
                self.parts(&subject.parts, depth);
                for arm in arms {
                    self.words(&arm.patterns, depth);
                    self.list(&arm.body, depth);
                }
            }
            CommandKind::Function { body, .. } | CommandKind::Coproc { body, .. } => {
                self.command(body, depth);
            }
            CommandKind::Test(words) => self.words(words, depth),
            CommandKind::Arithmetic(arithmetic) => self.parts(&arithmetic.parts, depth),
        }
        for redirect in &command.redirects {
            match &redirect.target {
                RedirectTarget::Word(word) | RedirectTarget::Body(word) => self.parts(&word.parts, depth),
            }
        }
    }

    fn assignment(&mut self, assignment: &Assignment<'_>, depth: usize) {
        assignment.index.iter().for_each(|index| self.parts(&index.parts, depth));
        match &assignment.value {
            Value::Word(word) => self.parts(&word.parts, depth),
            Value::Array(elements) => self.elements(elements, depth),
        }
    }

    fn elements(&mut self, elements: &[Element<'_>], depth: usize) {
        for element in elements {
            element.index.iter().for_each(|index| self.parts(&index.parts, depth));
            self.parts(&element.value.parts, depth);
        }
    }

    fn words(&mut self, words: &[Word<'_>], depth: usize) {
        for word in words {
            self.parts(&word.parts, depth);
        }
    }

    fn parts(&mut self, parts: &[Part<'_>], depth: usize) {
        for part in parts {
            match part {
                Part::Bare(_) | Part::Quoted(_) => {}
                Part::Double(parts) => self.parts(parts, depth),
                Part::Backtick(text) => self.script(&parse(text), depth + 1),
                Part::Parameter(parameter) => {
                    if let Some(Index::At(index)) = &parameter.index {
                        self.parts(&index.parts, depth);
                    }
                    self.operation(&parameter.operation, depth);
                }
                Part::Substitution(list) | Part::Process { list, .. } => self.list(list, depth),
                Part::Arithmetic(arithmetic) => self.parts(&arithmetic.parts, depth),
                Part::ExtendedGlob { patterns, .. } => self.words(patterns, depth),
                Part::Array(elements) => self.elements(elements, depth),
            }
        }
    }

    fn operation(&mut self, operation: &Operation<'_>, depth: usize) {
        match operation {
            Operation::None
            | Operation::Length
            | Operation::Names
            | Operation::Keys
            | Operation::Transform(_) => {}
            Operation::Indirect(operation) => self.operation(operation, depth),
            Operation::Default { word, .. } => self.parts(&word.parts, depth),
            Operation::Strip { pattern, .. } | Operation::Case { pattern, .. } => {
                self.parts(&pattern.parts, depth);
            }
            Operation::Replace { pattern, with, .. } => {
                self.parts(&pattern.parts, depth);
                self.parts(&with.parts, depth);
            }
            Operation::Slice { offset, length } => {
                self.parts(&offset.parts, depth);
                if let Some(length) = length {
                    self.parts(&length.parts, depth);
                }
            }
        }
    }
}

/// The text of a word that is nothing but text.
pub(crate) fn literal(word: &Word<'_>) -> Option<String> {
    let mut text = String::new();
    for part in &word.parts {
        match part {
            Part::Bare(piece) | Part::Quoted(piece) => text.push_str(piece),
            Part::Double(parts) => {
                for part in parts {
                    let Part::Quoted(piece) = part else { return None };
                    text.push_str(piece);
                }
            }
            _ => return None,
        }
    }
    Some(text)
}

/// What bash says of a text without running it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bash {
    Accepts,
    /// With a warning, such as for a here-document that does not end.
    Warns,
    Rejects,
}

pub(crate) fn bash_syntax(text: &str, scratch: &Path) -> Bash {
    let output = Process::new("bash")
        .args(["-n", "-c", "--", text])
        .current_dir(scratch)
        .stdin(Stdio::null())
        .output()
        .expect("bash");
    match (output.status.success(), output.stderr.is_empty()) {
        (true, true) => Bash::Accepts,
        (true, false) => Bash::Warns,
        (false, _) => Bash::Rejects,
    }
}

/// The probes of `hidden.txt`: the text, and whether the command's name only comes about by expansion.
pub(crate) fn probes() -> Vec<(String, bool)> {
    let lines = include_str!("../hidden.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("## "));
    lines
        .map(|line| {
            let (built, probe) = match line.strip_prefix("~ ") {
                Some(probe) => (true, probe),
                None => (false, line),
            };
            (probe.replace('⏎', "\n").replace('→', "\t"), built)
        })
        .collect()
}
