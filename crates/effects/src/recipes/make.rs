//! Makefiles, as GNU make reads them.
//!
//! Both branches of a condition are taken, every pattern rule that fits is run, files are never asked for their
//! age. `$(shell …)` and `!=` are pieces of their own, also those that make runs while it reads. Where any
//! code may come in (an `include` or `$(eval …)` of unknown text, an unknown prerequisite), one piece is all hole.
//!
//! The caller may know more than the file: `CURDIR` and `MAKEFILE_LIST` go into `variables` like any other.
//! Does not see: `-e`, `MAKEFLAGS`, variables of the environment where the file sets the same name.

mod expand;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use super::{Found, HOLE, MAX_STEPS, Step, TOO_MUCH, export_line, uses};
use crate::budget;
use expand::{Definition, Frame, Variable};
use text::{MakeLine, continues, join_words, over_stem, stem, uncommented, without_first_word};

const MAX_INCLUDES: u32 = 8;
const MAX_DEPTH: u32 = 48;
/// Characters that may be looked at, those that come from variables again and again.
const FUEL: usize = 4 << 20;

/// What making the targets runs; without a target, the first of the file. `include` gives the text of a file
/// that the makefile includes, `None` where there is no such file.
pub(crate) fn recipe(
    text: &str,
    targets: &[&str],
    variables: &[(&str, &str)],
    include: &mut dyn FnMut(&str) -> Option<String>,
) -> Found {
    let mut make = Make {
        variables: BTreeMap::new(),
        fixed: BTreeSet::new(),
        exported: BTreeSet::new(),
        frames: Vec::new(),
        rules: Vec::new(),
        explicit: BTreeMap::new(),
        patterns: Vec::new(),
        specific: Vec::new(),
        first: Vec::new(),
        has_first: false,
        current: None,
        included: Vec::new(),
        include,
        includes_left: MAX_INCLUDES,
        visited: BTreeSet::new(),
        steps: Vec::new(),
        shelled: BTreeSet::new(),
        line: 1,
        inner: 0,
        depth: 0,
        fuel: FUEL,
        picks: BTreeMap::new(),
        unsettled: BTreeSet::new(),
        prefix: '\t',
        one_shell: false,
        second_expansion: false,
        opaque: None,
    };
    for (name, value) in variables {
        make.set(name, vec![Definition::recursive(value)]);
        make.fixed.insert((*name).to_owned());
        make.exported.insert((*name).to_owned());
    }
    make.read(text);
    while make.end_condition() {}
    let found = make.goals(targets);
    if make.fuel == 0 || budget::is_spent() || make.steps.len() > MAX_STEPS {
        Found::Opaque(TOO_MUCH)
    } else if let Some(why) = make.opaque {
        Found::Opaque(why)
    } else if !found && make.steps.is_empty() {
        Found::Absent
    } else {
        Found::Steps(make.steps)
    }
}

struct Rule {
    line: u32,
    /// `%.o` of `a.o b.o: %.o: %.c`
    pattern: Option<String>,
    /// Still to be split into words, and expanded once more under `.SECONDEXPANSION`.
    prerequisites: String,
    recipe: Vec<(u32, String)>,
}

/// `target: NAME = value`
#[derive(Clone)]
struct Specific {
    target: String,
    name: String,
    operator: String,
    value: String,
}

struct Make<'f> {
    variables: BTreeMap<String, Variable>,
    /// Set on the command line: stronger than the file.
    fixed: BTreeSet<String>,
    exported: BTreeSet<String>,
    /// Open conditions.
    frames: Vec<Frame>,
    rules: Vec<Rule>,
    explicit: BTreeMap<String, Vec<usize>>,
    patterns: Vec<(String, usize)>,
    specific: Vec<Specific>,
    /// Targets that may be the first: more than one where a condition chooses.
    first: Vec<String>,
    has_first: bool,
    /// The rule that a recipe line would belong to.
    current: Option<usize>,
    included: Vec<String>,
    include: &'f mut dyn FnMut(&str) -> Option<String>,
    includes_left: u32,
    visited: BTreeSet<String>,
    steps: Vec<Step>,
    shelled: BTreeSet<String>,
    line: u32,
    /// How deep we are in included files and `$(eval …)`: there `line` stays.
    inner: u32,
    depth: u32,
    fuel: usize,
    /// Which of a variable's definitions to take, and those for which nobody has said it.
    picks: BTreeMap<String, usize>,
    unsettled: BTreeSet<String>,
    prefix: char,
    one_shell: bool,
    second_expansion: bool,
    opaque: Option<&'static str>,
}

/// Reading.
impl Make<'_> {
    fn read(&mut self, text: &str) {
        if self.inner > 16 {
            return self.unknown();
        }
        let start = self.line;
        let mut lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).zip(1_u32..);
        while let Some((raw, number)) = lines.next() {
            self.line = if self.inner > 0 { start } else { number };
            let is_recipe = self.current.is_some() && raw.starts_with(self.prefix);
            let mut whole = raw.to_owned();
            while continues(&whole) {
                let Some((next, _)) = lines.next() else { break };
                if is_recipe {
                    whole.push('\n');
                    whole.push_str(next.strip_prefix(self.prefix).unwrap_or(next));
                } else {
                    whole.pop();
                    whole.truncate(whole.trim_end().len());
                    whole.push(' ');
                    whole.push_str(next.trim_start());
                }
            }
            if self.burn(whole.len().saturating_add(1)) {
                return;
            }
            if let (true, Some(current)) = (is_recipe, self.current) {
                let body = whole.strip_prefix(self.prefix).unwrap_or(&whole).to_owned();
                if let Some(rule) = self.rules.get_mut(current) {
                    rule.recipe.push((self.line, body));
                }
            } else if let Some(name) = define(&whole) {
                let mut body = Vec::new();
                let mut open = 1_u32;
                for (line, _) in lines.by_ref() {
                    let word = line.split_whitespace().next().unwrap_or_default();
                    open = if define(line).is_some() { open.saturating_add(1) } else { open };
                    open = if word == "endef" { open.saturating_sub(1) } else { open };
                    if open == 0 {
                        break;
                    }
                    body.push(line);
                }
                self.current = None;
                let (name, operator) = match MakeLine::of(name) {
                    MakeLine::Assignment { name, operator, .. } => (name, operator),
                    _ => (name, "="),
                };
                let forced = whole.trim_start().starts_with("override");
                let body = body.join("\n");
                self.burn(body.len());
                self.assign(uncommented(name).trim(), operator, &body, forced);
            } else {
                self.ordinary(&whole, false);
            }
        }
        self.line = start;
    }

    /// A line that is no recipe. `forced` by `override`.
    fn ordinary(&mut self, line: &str, forced: bool) {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            return;
        }
        let (word, rest) = without_first_word(line);
        let directive = !rest.starts_with(['=', ':']) && !rest.starts_with("?=") && !rest.starts_with("+=");
        match word {
            "ifeq" | "ifneq" | "ifdef" | "ifndef" if directive => return self.condition(word, rest),
            "else" if directive => return self.other_branch(rest),
            "endif" if directive => {
                self.end_condition();
                return;
            }
            _ => self.current = None,
        }
        match word {
            "override" if directive => return self.ordinary(rest, true),
            "private" if directive => return self.ordinary(rest, forced),
            "unexport" | "vpath" | "endef" if directive => {
                self.expand(rest);
                return;
            }
            "undefine" if directive => {
                let name = self.expand(&uncommented(rest));
                if forced || !self.fixed.contains(name.trim()) {
                    self.set(name.trim(), vec![Definition::unknown()]);
                }
                return;
            }
            "export" if directive => {
                if let MakeLine::Assignment { name, .. } = MakeLine::of(rest) {
                    let name = self.expand(name);
                    self.exported.insert(name.trim().to_owned());
                    return self.ordinary(rest, forced);
                }
                let names = self.expand(&uncommented(rest));
                self.exported.extend(names.split_whitespace().map(str::to_owned));
                return;
            }
            "include" | "-include" | "sinclude" if directive => return self.include(rest, word == "include"),
            "load" | "-load" if directive => return self.unknown(),
            _ => {}
        }
        match MakeLine::of(line) {
            MakeLine::Assignment { name, operator, value } => {
                let value = if operator == "!=" { value.to_owned() } else { uncommented(value) };
                self.assign(name, operator, &value, forced);
            }
            MakeLine::Rule { targets, rest } => self.rule(targets, rest),
            MakeLine::Other => {
                // `$(eval …)`, `$(call macro,…)`: what comes out is read again.
                let text = self.expand(&uncommented(line));
                if text.contains(HOLE) {
                    self.unknown();
                } else if !text.trim().is_empty() {
                    if text == line {
                        self.opaque = Some("a line of the makefile is not understood");
                    } else {
                        self.reread(&text);
                    }
                }
            }
        }
    }

    /// Text that make reads as if it stood here.
    fn reread(&mut self, text: &str) {
        self.inner = self.inner.saturating_add(1);
        self.read(text);
        self.inner = self.inner.saturating_sub(1);
    }

    fn include(&mut self, rest: &str, must_exist: bool) {
        let names = self.expand(&uncommented(rest));
        for name in names.split_whitespace() {
            if name.contains([HOLE, '*', '?', '[']) || self.includes_left == 0 {
                self.unknown();
                continue;
            }
            self.includes_left = self.includes_left.saturating_sub(1);
            self.included.push(name.to_owned());
            match (self.include)(name) {
                Some(text) => self.reread(&text),
                None if must_exist => self.unknown(),
                None => {}
            }
            self.current = None;
        }
    }

    fn rule(&mut self, targets: &str, rest: &str) {
        let targets = self.expand(targets.trim_end_matches('&'));
        let targets: Vec<&str> = targets.split_whitespace().collect();
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        let (head, recipe) = text::cut_recipe(rest);
        if let MakeLine::Assignment { name, operator, value } = MakeLine::of(rest.trim_start())
            && !name.contains(';')
        {
            let words = name.split_whitespace();
            let exported = name.split_whitespace().any(|word| word == "export");
            let name = words
                .skip_while(|word| matches!(*word, "export" | "override" | "private"))
                .collect::<String>();
            if exported {
                self.exported.insert(name.clone());
            }
            let value = uncommented(value);
            for target in targets {
                let (name, operator, value) = (name.clone(), operator.to_owned(), value.clone());
                self.specific.push(Specific { target: target.to_owned(), name, operator, value });
            }
            return;
        }
        let (pattern, prerequisites) = match MakeLine::of(head) {
            MakeLine::Rule { targets: pattern, rest } => (Some(self.expand(pattern).trim().to_owned()), rest),
            _ => (None, head),
        };
        let prerequisites = self.expand(prerequisites);
        let recipe = recipe.map(|recipe| (self.line, recipe.trim_start().to_owned()));
        let id = self.rules.len();
        if targets.is_empty() || self.burn(targets.len()) {
            return;
        }
        let (line, recipe) = (self.line, recipe.into_iter().collect());
        self.rules.push(Rule { line, pattern: pattern.clone(), prerequisites, recipe });
        self.current = Some(id);
        for target in targets {
            self.one_shell |= target == ".ONESHELL";
            self.second_expansion |= target == ".SECONDEXPANSION";
            if let Some((start, _)) = target.split_once(HOLE) {
                let end = target.rsplit_once(HOLE).map(|(_, end)| end).unwrap_or_default();
                let fits = pattern.clone().unwrap_or_else(|| format!("{start}%{end}"));
                self.patterns.push((fits, id));
                continue;
            }
            if target.contains('%') {
                self.patterns.push((target.to_owned(), id));
                continue;
            }
            // `.c.o:` is `%.o: %.c`
            if let Some((from, to)) = target.strip_prefix('.').and_then(|rest| rest.split_once('.'))
                && !target.contains('/')
                && self.rules.get(id).is_some_and(|rule| rule.prerequisites.trim().is_empty())
            {
                self.patterns.push((format!("%.{to}"), id));
                if let Some(rule) = self.rules.get_mut(id) {
                    rule.prerequisites.push_str(" %.");
                    rule.prerequisites.push_str(from);
                }
            }
            let special = target.starts_with('.') && !target.contains('/');
            if !self.has_first && !special {
                let seen = match self.frames.last_mut() {
                    Some(frame) => &mut frame.has_first,
                    None => &mut self.has_first,
                };
                if !std::mem::replace(seen, true) {
                    self.first.push(target.to_owned());
                }
            }
            self.explicit.entry(target.to_owned()).or_default().push(id);
        }
    }

    /// Something runs here, and nobody can say what.
    fn unknown(&mut self) {
        let step = Step::unknown(self.line);
        if self.steps.last() != Some(&step) {
            self.steps.push(step);
        }
    }

    /// Whether there is nothing left to spend.
    fn burn(&mut self, cost: usize) -> bool {
        budget::pay(cost);
        self.fuel = self.fuel.saturating_sub(cost);
        self.fuel == 0 || budget::is_spent()
    }
}

/// Running.
impl Make<'_> {
    /// Whether any of the targets is known here.
    fn goals(&mut self, targets: &[&str]) -> bool {
        // make first brings the makefiles themselves up to date.
        let mut files = std::mem::take(&mut self.included);
        files.extend(["GNUmakefile", "makefile", "Makefile"].map(str::to_owned));
        for file in files {
            let by_pattern = self.patterns.iter().any(|(p, _)| p != "%" && stem(p, &file).is_some());
            if self.explicit.contains_key(&file) || by_pattern {
                self.visit(&file, 0);
            }
        }
        if targets.is_empty() {
            let named = if self.variables.contains_key(".DEFAULT_GOAL") {
                Some(self.expand("$(.DEFAULT_GOAL)").trim().to_owned()).filter(|name| !name.is_empty())
            } else {
                None
            };
            let goals = named.map_or_else(|| std::mem::take(&mut self.first), |named| vec![named]);
            return goals.iter().filter(|goal| self.visit(goal, 0)).count() > 0;
        }
        targets.iter().filter(|target| self.visit(target, 0)).count() > 0
    }

    /// Runs the recipes of the prerequisites, then those of the target. Whether there is any rule for it.
    fn visit(&mut self, target: &str, level: u32) -> bool {
        let cost = self.patterns.len().saturating_add(self.specific.len()).saturating_add(target.len());
        if self.visited.contains(target) || self.burn(cost) {
            return true;
        }
        if level > MAX_DEPTH {
            self.unknown();
            return true;
        }
        self.visited.insert(target.to_owned());
        let level = level.saturating_add(1);
        let hole = target.split_once(HOLE).zip(target.rsplit_once(HOLE)).map(|((a, _), (_, b))| (a, b));
        if let Some((start, end)) = hole {
            if start.is_empty() && end.is_empty() {
                self.unknown();
            } else if !self.burn(self.explicit.len()) {
                let fits = |name: &&String| {
                    name.starts_with(start) && name.ends_with(end) && name.len() >= start.len() + end.len()
                };
                for name in self.explicit.keys().filter(fits).cloned().collect::<Vec<_>>() {
                    self.visit(&name, level);
                }
            }
        }
        let own = self.explicit.get(target).cloned().unwrap_or_default();
        let has_recipe = own.iter().any(|id| self.rules.get(*id).is_some_and(|rule| !rule.recipe.is_empty()));
        let stem_of = |id: usize| stem(self.rules.get(id)?.pattern.as_deref()?, target);
        let mut rules: Vec<(usize, Option<String>)> = own.into_iter().map(|id| (id, stem_of(id))).collect();
        if !has_recipe {
            let fitting =
                self.patterns.iter().filter_map(|(pattern, id)| Some((*id, Some(stem(pattern, target)?))));
            rules.extend(fitting);
        }
        if rules.is_empty() && level == 1 {
            let default = self.explicit.get(".DEFAULT").cloned().unwrap_or_default();
            rules.extend(default.into_iter().map(|id| (id, None)));
        }
        let before = self.enter(target);
        let prerequisites: Vec<Vec<String>> =
            rules.iter().map(|(id, stem)| self.prerequisites(*id, target, stem.as_deref())).collect();
        for name in prerequisites.iter().flatten() {
            self.visit(name, level);
        }
        for ((id, stem), mine) in rules.iter().zip(&prerequisites) {
            let others = prerequisites.iter().filter(|names| !std::ptr::eq(*names, mine)).flatten();
            let all: Vec<&String> = mine.iter().chain(others).collect();
            if self.burn(all.len().saturating_mul(8)) {
                break;
            }
            self.automatic(target, stem.as_deref(), &all);
            let recipe = self.rules.get(*id).map(|rule| rule.recipe.clone()).unwrap_or_default();
            self.run(recipe);
        }
        let without_recipe =
            |(id, _): &(usize, _)| self.rules.get(*id).is_some_and(|rule| rule.recipe.is_empty());
        if rules.iter().all(without_recipe) {
            let rule = rules.first().and_then(|(id, _)| self.rules.get(*id));
            self.line = rule.map_or(self.line, |rule| rule.line);
            self.built_in(target, prerequisites.iter().flatten());
        }
        for (name, value) in before {
            match value {
                Some(value) => drop(self.variables.insert(name, value)),
                None => drop(self.variables.remove(&name)),
            }
        }
        !rules.is_empty()
    }

    /// The rules that make brings along, as far as a makefile can change what they run.
    fn built_in<'n>(&mut self, target: &str, mut prerequisites: impl Iterator<Item = &'n String>) {
        let changed = ["CC", "CXX", "COMPILE.c", "COMPILE.cc", "LINK.o", "LD", "AS", "CPP"]
            .iter()
            .any(|name| self.variables.contains_key(*name));
        let command = if is_object(target) {
            "$(CC) $(CFLAGS) -c -o $@"
        } else if prerequisites.any(|name| is_object(name)) {
            "$(CC) $(LDFLAGS) $^ -o $@"
        } else {
            return;
        };
        if changed {
            self.automatic(target, None, &[]);
            self.run(vec![(self.line, command.to_owned())]);
        }
    }

    /// Sets the target's own variables, and gives the former ones back.
    fn enter(&mut self, target: &str) -> Vec<(String, Option<Variable>)> {
        let fits = |own: &&Specific| own.target == target || stem(&own.target, target).is_some();
        let own: Vec<Specific> = self.specific.iter().filter(fits).cloned().collect();
        let before =
            own.iter().rev().map(|own| (own.name.clone(), self.variables.get(&own.name).cloned())).collect();
        for Specific { name, operator, value, .. } in own {
            self.assign(&name, &operator, &value, false);
        }
        before
    }

    fn prerequisites(&mut self, rule: usize, target: &str, stem: Option<&str>) -> Vec<String> {
        let Some(text) = self.rules.get(rule).map(|rule| rule.prerequisites.clone()) else {
            return Vec::new();
        };
        self.burn(text.len());
        let text = if self.second_expansion {
            self.automatic(target, stem, &[]);
            self.expand(&text)
        } else {
            text
        };
        let words =
            text.split_whitespace().filter(|word| *word != "|" && (stem.is_some() || !word.contains('%')));
        words.map(|word| over_stem(word, stem)).collect()
    }

    fn automatic(&mut self, target: &str, stem: Option<&str>, prerequisites: &[&String]) {
        let all = join_words(prerequisites.iter().map(|name| name.as_str()));
        self.burn(all.len());
        let hole = HOLE.to_string();
        let first = prerequisites.first().map_or(String::new(), |name| (*name).clone());
        for (name, value) in
            [("@", target), ("<", &first), ("^", &all), ("+", &all), ("?", &hole), ("|", &hole)]
        {
            let dirs = join_words(value.split_whitespace().map(text::dir));
            let files = join_words(value.split_whitespace().map(text::not_dir));
            self.variables.insert(format!("{name}D"), vec![Definition::simple(dirs)]);
            self.variables.insert(format!("{name}F"), vec![Definition::simple(files)]);
            self.variables.insert(name.to_owned(), vec![Definition::simple(value.to_owned())]);
        }
        let stem = stem.map_or(hole, str::to_owned);
        self.variables.insert("*".into(), vec![Definition::simple(stem)]);
    }

    fn run(&mut self, recipe: Vec<(u32, String)>) {
        if self.one_shell
            && let Some((line, _)) = recipe.first()
        {
            let line = *line;
            let strip = |text: &str| text.trim_start_matches(['@', '-', '+', ' ', '\t']).to_owned();
            let whole: Vec<String> = recipe.iter().map(|(_, text)| strip(text)).collect();
            return self.command(line, &whole.join("\n"));
        }
        for (line, text) in recipe {
            self.command(line, &text);
        }
    }

    /// One line of a recipe, once for each reading of the variables that a condition has set two ways.
    fn command(&mut self, line: u32, text: &str) {
        self.line = line;
        self.unsettled.clear();
        let mark = self.steps.len();
        let blurred = self.expand(text);
        let names: Vec<String> = std::mem::take(&mut self.unsettled).into_iter().collect();
        let counts: Vec<usize> =
            names.iter().map(|name| self.variables.get(name).map_or(1, Vec::len)).collect();
        let readings = counts.iter().fold(1_usize, |all, count| all.saturating_mul(*count));
        if readings == 1 || readings > 8 {
            return self.commands(&blurred);
        }
        // What `$(shell …)` ran with holes is listed again without them.
        for step in self.steps.drain(mark.min(self.steps.len())..) {
            self.shelled.remove(&step.text);
        }
        for reading in 0..readings {
            let mut left = reading;
            for (name, count) in names.iter().zip(&counts) {
                let count = (*count).max(1);
                self.picks.insert(name.clone(), left % count);
                left /= count;
            }
            let text = self.expand(text);
            self.commands(&text);
            self.picks.clear();
        }
    }

    /// An expanded recipe line, which may have become many lines.
    fn commands(&mut self, text: &str) {
        let mut command = String::new();
        for piece in text.split('\n') {
            command.push_str(piece);
            if self.one_shell || continues(&command) {
                command.push('\n');
                continue;
            }
            self.push(&command);
            command.clear();
        }
        self.push(&command);
    }

    fn push(&mut self, command: &str) {
        let command = command.trim_start_matches(['@', '-', '+', ' ', '\t', '\n']).trim_end_matches('\n');
        if command.is_empty() || self.steps.len() > MAX_STEPS {
            return;
        }
        let step = self.step(command);
        let recent = self.steps.iter().rev().take(8);
        if step.shell.is_none() && command.starts_with('#') || recent.clone().any(|known| *known == step) {
            return;
        }
        self.steps.push(step);
    }

    /// The text with the exports that it sees.
    fn step(&mut self, command: &str) -> Step {
        let shell = if self.variables.contains_key("SHELL") {
            let flags = if self.variables.contains_key(".SHELLFLAGS") {
                "$(SHELL) $(.SHELLFLAGS)"
            } else {
                "$(SHELL)"
            };
            Some(self.expand(flags).trim().to_owned())
        } else {
            None
        };
        self.burn(self.exported.len().saturating_add(command.len()));
        let seen = |name: &&String| uses(command, name) && self.variables.contains_key(*name);
        let names: Vec<String> = self.exported.iter().filter(seen).cloned().collect();
        let mut text = String::new();
        for name in names {
            let value = self.variable(&name);
            text.push_str(&export_line(&name, &value));
        }
        text.push_str(command);
        Step { line: self.line, text, shell }
    }
}

fn is_object(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, end)| end == "o")
}

/// What stands behind `define`.
fn define(line: &str) -> Option<&str> {
    let (mut word, mut rest) = without_first_word(line.trim_start());
    while matches!(word, "override" | "export") {
        (word, rest) = without_first_word(rest);
    }
    (word == "define" && !rest.is_empty() && !rest.starts_with(['=', ':'])).then_some(rest)
}

#[cfg(test)]
mod tests;
