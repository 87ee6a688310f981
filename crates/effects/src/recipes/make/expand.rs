//! Variables, conditions and functions of a makefile.

use std::collections::BTreeMap;

use super::text::{join_words, not_dir, over_stem, stem};
use super::{FUEL, MAX_DEPTH, Make};
use crate::recipes::{HOLE, Step};

/// A variable that a condition sets more ways than this is a hole.
const MAX_WAYS: usize = 4;

/// What a variable may be: more than one definition where a condition chooses.
pub(super) type Variable = Vec<Definition>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Definition {
    text: String,
    /// Expanded where it is used.
    recursive: bool,
}

impl Definition {
    pub(super) fn recursive(text: &str) -> Definition {
        Definition { text: text.to_owned(), recursive: true }
    }
    pub(super) fn simple(text: String) -> Definition {
        Definition { text, recursive: false }
    }
    pub(super) fn unknown() -> Definition {
        Definition::simple(HOLE.to_string())
    }
}

/// An open condition.
pub(super) struct Frame {
    /// The variable of `ifndef`.
    undefined: Option<String>,
    /// The branch has a target that may be the first of the file.
    pub(super) has_first: bool,
    /// What the variables that a branch has set were before it, and after each branch.
    before: BTreeMap<String, Option<Variable>>,
    changed: BTreeMap<String, Option<Variable>>,
    branches: Vec<BTreeMap<String, Option<Variable>>>,
    has_else: bool,
}

/// Conditions and assignments.
impl Make<'_> {
    pub(super) fn condition(&mut self, word: &str, rest: &str) {
        let operands = self.expand(rest);
        let undefined = (word == "ifndef").then(|| operands.trim().to_owned());
        self.frames.push(Frame {
            undefined,
            has_first: false,
            before: BTreeMap::new(),
            changed: BTreeMap::new(),
            branches: Vec::new(),
            has_else: false,
        });
        if self.frames.len() > 64 {
            self.opaque = Some("conditions are nested too deeply");
        }
    }

    /// `else`, or `else ifeq …`
    pub(super) fn other_branch(&mut self, rest: &str) {
        self.expand(rest);
        self.end_branch();
        if let Some(frame) = self.frames.last_mut() {
            frame.has_else = !rest.starts_with("if");
            frame.has_first = false;
        }
    }

    fn end_branch(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        let mut after = BTreeMap::new();
        for (name, before) in std::mem::take(&mut frame.changed) {
            let value = match before.clone() {
                Some(value) => self.variables.insert(name.clone(), value),
                None => self.variables.remove(&name),
            };
            after.insert(name.clone(), value);
            frame.before.entry(name).or_insert(before);
        }
        frame.branches.push(after);
    }

    /// Joins the branches; `false` if no condition is open.
    pub(super) fn end_condition(&mut self) -> bool {
        self.end_branch();
        let Some(mut frame) = self.frames.pop() else { return false };
        if !frame.has_else {
            frame.branches.push(BTreeMap::new());
        }
        for (name, before) in frame.before {
            let mut joined: Variable = Vec::new();
            for branch in &frame.branches {
                let value = match branch.get(&name).unwrap_or(&before) {
                    Some(value) => value.clone(),
                    None if frame.undefined.as_ref() == Some(&name) => continue,
                    None => vec![Definition::unknown()],
                };
                for definition in value {
                    if !joined.contains(&definition) {
                        joined.push(definition);
                    }
                }
            }
            if joined.len() > MAX_WAYS {
                joined = vec![Definition::unknown()];
            }
            self.set(&name, joined);
        }
        true
    }

    pub(super) fn set(&mut self, name: &str, value: Variable) {
        self.burn(value.iter().map(|definition| definition.text.len()).sum());
        let before = self.variables.insert(name.to_owned(), value);
        if let Some(frame) = self.frames.last_mut() {
            frame.changed.entry(name.to_owned()).or_insert(before);
        }
    }

    pub(super) fn assign(&mut self, name: &str, operator: &str, value: &str, forced: bool) {
        let name = self.expand(name);
        let name = name.trim();
        let new = match operator {
            "!=" => {
                let command = self.expand(value);
                self.shell(&command);
                vec![Definition::unknown()]
            }
            ":=" | "::=" | ":::=" => vec![Definition::simple(self.expand(value))],
            "?=" if self.variables.contains_key(name) => return,
            "+=" => match self.variables.get(name).cloned() {
                None => vec![Definition::recursive(value)],
                Some(mut known) => {
                    let expanded = self.expand(value);
                    for definition in &mut known {
                        let more = if definition.recursive { value } else { &expanded };
                        let gap = if definition.text.is_empty() { "" } else { " " };
                        definition.text = format!("{}{gap}{more}", definition.text);
                    }
                    known
                }
            },
            _ => vec![Definition::recursive(value)],
        };
        if name.contains(HOLE) {
            // It may be any variable: what is known so far holds no more.
            self.unknown();
        } else if forced || !self.fixed.contains(name) {
            if name == ".RECIPEPREFIX" {
                self.prefix = new.first().and_then(|new| new.text.chars().next()).unwrap_or('\t');
            }
            self.set(name, new);
        }
    }
}

/// Expansion.
impl Make<'_> {
    pub(super) fn expand(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((plain, after)) = rest.split_once('$') {
            out.push_str(plain);
            let mut chars = after.chars();
            let Some(c) = chars.next() else {
                out.push('$');
                return out;
            };
            rest = chars.as_str();
            let value = match c {
                '$' => "$".to_owned(),
                '(' | '{' => match closed(rest, c) {
                    Some((body, after)) => {
                        rest = after;
                        self.reference(body, c)
                    }
                    // make stops at this
                    None => {
                        rest = "";
                        HOLE.to_string()
                    }
                },
                c => self.variable(c.encode_utf8(&mut [0; 4])),
            };
            if self.burn(value.len().saturating_add(plain.len()).saturating_add(2)) {
                out.push(HOLE);
                return out;
            }
            out.push_str(&value);
        }
        out.push_str(rest);
        out
    }

    /// What stands between the brackets.
    fn reference(&mut self, body: &str, open: char) -> String {
        if self.depth >= MAX_DEPTH || self.burn(body.len()) {
            return HOLE.to_string();
        }
        self.depth = self.depth.saturating_add(1);
        let joined;
        let body = if body.contains("\\\n") {
            joined = join_words(body.split("\\\n").map(str::trim));
            &joined
        } else {
            body
        };
        let function = body.split_once([' ', '\t', '\n']).filter(|(name, _)| is_function(name));
        let value = match function {
            Some((name, text)) => self.function(name, &arguments(text.trim_start(), open, limit(name))),
            None => {
                let name = self.expand(body);
                match name.split_once(':').and_then(|(name, rest)| Some((name, rest.split_once('=')?))) {
                    Some((name, (from, to))) => {
                        let text = self.variable(name);
                        if self.too_long(&text, to.len()) {
                            return HOLE.to_string();
                        }
                        if from.contains('%') {
                            substituted(&text, from, to)
                        } else {
                            substituted(&text, &format!("%{from}"), &format!("%{to}"))
                        }
                    }
                    None => self.variable(&name),
                }
            }
        };
        self.depth = self.depth.saturating_sub(1);
        value
    }

    pub(super) fn variable(&mut self, name: &str) -> String {
        let Some(definitions) = self.variables.get(name) else {
            return match name {
                "MAKE" => "make".into(),
                "RM" => "rm -f".into(),
                "CC" => "cc".into(),
                "CXX" => "g++".into(),
                "AR" => "ar".into(),
                "LD" => "ld".into(),
                "SHELL" => "/bin/sh".into(),
                _ => HOLE.to_string(),
            };
        };
        let pick = match (definitions.len(), self.picks.get(name)) {
            (1, _) => 0,
            (_, Some(pick)) => *pick,
            _ => {
                self.unsettled.insert(name.to_owned());
                return HOLE.to_string();
            }
        };
        let Some(definition) = definitions.get(pick).cloned() else { return HOLE.to_string() };
        if self.burn(definition.text.len()) || !definition.recursive {
            return definition.text;
        }
        if self.depth >= MAX_DEPTH {
            return HOLE.to_string();
        }
        self.depth = self.depth.saturating_add(1);
        let value = self.expand(&definition.text);
        self.depth = self.depth.saturating_sub(1);
        value
    }

    /// Whether there is no fuel for a text of as many characters for each word.
    fn too_long(&mut self, words: &str, each: usize) -> bool {
        self.burn(words.split_whitespace().count().saturating_mul(each.min(FUEL)))
    }

    /// A command that make runs by itself.
    fn shell(&mut self, command: &str) {
        let command = command.trim();
        if !command.is_empty() && self.shelled.insert(command.to_owned()) {
            let shell = self.variables.get("SHELL").map(|shell| match shell.as_slice() {
                [only] if !only.text.contains('$') => only.text.clone(),
                _ => HOLE.to_string(),
            });
            self.steps.push(Step { line: self.line, text: command.to_owned(), shell });
        }
    }

    fn function(&mut self, name: &str, arguments: &[&str]) -> String {
        let hole = || HOLE.to_string();
        match name {
            "foreach" => return self.foreach(arguments),
            "call" => return self.call(arguments),
            "if" => {
                let [condition, branches @ ..] = arguments else { return String::new() };
                let condition = self.expand(condition);
                let values: Vec<String> = branches.iter().map(|branch| self.expand(branch)).collect();
                let known = match (condition.trim(), condition.contains(HOLE)) {
                    (_, true) => return hole(),
                    ("", _) => values.get(1),
                    _ => values.first(),
                };
                return known.cloned().unwrap_or_default();
            }
            _ => {}
        }
        let values: Vec<String> = arguments.iter().map(|argument| self.expand(argument)).collect();
        let value = |at: usize| values.get(at).map_or("", String::as_str);
        let longest = values.iter().rev().skip(1).map(String::len).max().unwrap_or(0);
        if self.too_long(value(values.len().saturating_sub(1)), longest) {
            return hole();
        }
        let has_hole = values.iter().any(|value| value.contains(HOLE));
        let each = |change: &dyn Fn(&str) -> String| {
            value(values.len().saturating_sub(1)).split_whitespace().map(change).collect::<Vec<_>>().join(" ")
        };
        match name {
            "shell" => {
                self.shell(value(0));
                hole()
            }
            "eval" => {
                let text = value(0).to_owned();
                if text.contains(HOLE) {
                    self.unknown();
                }
                let current = self.current.take();
                self.reread(&text);
                self.current = current;
                String::new()
            }
            "info" | "warning" | "error" => String::new(),
            // `$(file >name,text)` writes.
            "file" => {
                self.shell(&format!(": {}", value(0)));
                if value(0).trim_start().starts_with('>') { String::new() } else { hole() }
            }
            "guile" => {
                self.unknown();
                hole()
            }
            "strip" => each(&str::to_owned),
            "addprefix" => each(&|word| format!("{}{word}", value(0))),
            "addsuffix" => each(&|word| format!("{word}{}", value(0))),
            "patsubst" => substituted(value(2), value(0), value(1)),
            // As many words as there are files.
            "wildcard" => each(&|word| match (word.find(['*', '?', '[']), word.rfind(['*', '?', ']'])) {
                (Some(from), Some(to)) => {
                    let end = word.get(to.saturating_add(1)..).unwrap_or_default();
                    format!("{}{HOLE}{end}", word.get(..from).unwrap_or_default())
                }
                _ => word.to_owned(),
            }),
            "dir" => each(&|word| match word.rsplit_once('/') {
                Some((dir, _)) => format!("{dir}/"),
                None if word.contains(HOLE) => hole(),
                None => "./".into(),
            }),
            "notdir" => each(&|word| not_dir(word).to_owned()),
            "abspath" | "realpath" => {
                let root = self.variables.contains_key("CURDIR").then(|| self.variable("CURDIR"));
                let text = value(0).to_owned();
                let absolute = |word: &str| match (&root, word.starts_with('/')) {
                    (_, true) => word.to_owned(),
                    (Some(root), _) if !word.starts_with(HOLE) => format!("{root}/{word}"),
                    _ => hole(),
                };
                join_words(
                    text.split_whitespace().map(absolute).collect::<Vec<_>>().iter().map(String::as_str),
                )
            }
            _ if has_hole => hole(),
            _ => self.known(name, &values),
        }
    }

    /// Functions of texts that have no hole.
    fn known(&mut self, name: &str, values: &[String]) -> String {
        let value = |at: usize| values.get(at).map_or("", String::as_str);
        match name {
            "subst" if !value(0).is_empty() => {
                let bound = value(2).len().saturating_mul(value(1).len().saturating_add(1));
                if self.burn(bound) { HOLE.to_string() } else { value(2).replace(value(0), value(1)) }
            }
            "firstword" => value(0).split_whitespace().next().unwrap_or_default().to_owned(),
            "lastword" => value(0).split_whitespace().next_back().unwrap_or_default().to_owned(),
            "sort" => {
                let mut words: Vec<&str> = value(0).split_whitespace().collect();
                words.sort_unstable();
                words.dedup();
                words.join(" ")
            }
            "filter" | "filter-out" => {
                let patterns: Vec<&str> = value(0).split_whitespace().collect();
                if self.burn(patterns.len().saturating_mul(value(1).len())) {
                    return HOLE.to_string();
                }
                let fits = |word: &str| patterns.iter().any(|p| *p == word || stem(p, word).is_some());
                join_words(value(1).split_whitespace().filter(|word| fits(word) == (name == "filter")))
            }
            "basename" => join_words(value(0).split_whitespace().map(|word| match word.rsplit_once('.') {
                Some((base, end)) if !end.contains('/') => base,
                _ => word,
            })),
            _ => HOLE.to_string(),
        }
    }

    fn foreach(&mut self, arguments: &[&str]) -> String {
        let [name, list, body] = arguments else { return HOLE.to_string() };
        let (name, list) = (self.expand(name), self.expand(list));
        let name = name.trim();
        let before = self.variables.get(name).cloned();
        let mut values = Vec::new();
        for word in list.split_whitespace() {
            if self.burn(1) {
                break;
            }
            self.variables.insert(name.to_owned(), vec![Definition::simple(word.to_owned())]);
            values.push(self.expand(body));
        }
        self.restore(name, before);
        values.join(" ")
    }

    fn call(&mut self, arguments: &[&str]) -> String {
        let values: Vec<String> = arguments.iter().map(|argument| self.expand(argument)).collect();
        let Some((name, values)) = values.split_first() else { return String::new() };
        let name = name.trim();
        if is_function(name) {
            // The values are text now, not to be expanded again.
            let escaped: Vec<String> = values.iter().map(|value| value.replace('$', "$$")).collect();
            return self.function(name, &escaped.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let places = values.len().clamp(9, 32);
        let names: Vec<String> = (1..=places).map(|place| place.to_string()).collect();
        let before: Vec<Option<Variable>> =
            names.iter().map(|name| self.variables.get(name).cloned()).collect();
        for (at, place) in names.iter().enumerate() {
            let value = values.get(at).cloned().unwrap_or_default();
            self.variables.insert(place.clone(), vec![Definition::simple(value)]);
        }
        let value = self.variable(name);
        for (place, before) in names.iter().zip(before) {
            self.restore(place, before);
        }
        value
    }

    fn restore(&mut self, name: &str, before: Option<Variable>) {
        match before {
            Some(before) => drop(self.variables.insert(name.to_owned(), before)),
            None => drop(self.variables.remove(name)),
        }
    }
}

const FUNCTIONS: [&str; 37] = [
    "abspath",
    "addprefix",
    "addsuffix",
    "and",
    "basename",
    "call",
    "dir",
    "error",
    "eval",
    "file",
    "filter",
    "filter-out",
    "findstring",
    "firstword",
    "flavor",
    "foreach",
    "guile",
    "if",
    "info",
    "intcmp",
    "join",
    "lastword",
    "let",
    "notdir",
    "or",
    "origin",
    "patsubst",
    "realpath",
    "shell",
    "sort",
    "strip",
    "subst",
    "suffix",
    "value",
    "warning",
    "wildcard",
    "word",
];

fn is_function(name: &str) -> bool {
    FUNCTIONS.contains(&name) || matches!(name, "words" | "wordlist")
}

/// How many arguments a function takes: a comma in the last one is text.
fn limit(name: &str) -> usize {
    match name {
        "shell" | "eval" | "info" | "warning" | "error" | "strip" | "wildcard" | "dir" | "notdir"
        | "firstword" | "lastword" | "sort" | "abspath" | "realpath" | "basename" | "suffix" | "words"
        | "guile" => 1,
        "addprefix" | "addsuffix" | "filter" | "filter-out" | "file" | "findstring" | "join" | "word" => 2,
        "subst" | "patsubst" | "foreach" | "if" | "wordlist" => 3,
        _ => usize::MAX,
    }
}

/// The text up to the bracket that closes, and what follows it.
fn closed(text: &str, open: char) -> Option<(&str, &str)> {
    let close = if open == '(' { ')' } else { '}' };
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth = depth.saturating_add(1);
        } else if c == close {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => {
                    return text
                        .split_at_checked(at)
                        .map(|(body, rest)| (body, rest.strip_prefix(close).unwrap_or(rest)));
                }
            }
        }
    }
    None
}

/// Splits at the commas outside of brackets.
fn arguments(text: &str, open: char, limit: usize) -> Vec<&str> {
    let close = if open == '(' { ')' } else { '}' };
    let mut depth = 0_usize;
    let mut parts = 1_usize;
    let split = |c: char| {
        if c == open {
            depth = depth.saturating_add(1);
        } else if c == close {
            depth = depth.saturating_sub(1);
        }
        let is_split = c == ',' && depth == 0 && parts < limit;
        parts = parts.saturating_add(usize::from(is_split));
        is_split
    };
    text.split(split).collect()
}

/// `$(patsubst from,to,text)`
fn substituted(text: &str, from: &str, to: &str) -> String {
    let hole = HOLE.to_string();
    let change = |word: &str| match stem(from, word) {
        _ if from.contains(HOLE) => hole.clone(),
        // A word that is unknown at an end may fit or not.
        Some(stem) if stem == hole && over_stem(from, Some(&stem)) != word => hole.clone(),
        Some(stem) => over_stem(to, Some(&stem)),
        None if from == word => to.to_owned(),
        None => word.to_owned(),
    };
    text.split_whitespace().map(change).collect::<Vec<_>>().join(" ")
}
