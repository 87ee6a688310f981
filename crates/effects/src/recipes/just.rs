//! Justfiles.
//!
//! Every assignment is evaluated, as just does it, so each backtick is a piece; an interpolation is known where
//! its expression is. An `import` may bring any code: one piece is all hole.
//! Does not see: `NAME=value` on the command line, `set positional-arguments`, `.env` files.

mod value;

use std::collections::{BTreeMap, BTreeSet};

use super::cursor::Cursor;
use super::{Found, HOLE, MAX_STEPS, Step, TOO_MUCH, export_line, uses};
use crate::budget;
use value::{expression, is_name, name};

const MAX_DEPTH: u32 = 32;
const FUEL: usize = 4 << 20;

/// What `just NAME ARGS…` runs; without a name, the first recipe. Arguments that the recipe does not take name
/// more recipes.
pub(crate) fn recipe(text: &str, name: Option<&str>, args: &[&str]) -> Found {
    let mut just = Just::read(text);
    let mut rest = args;
    let mut next = name.or_else(|| just.recipes.first().map(|recipe| recipe.name));
    if next.is_none() && just.imports.is_empty() {
        return Found::Absent;
    }
    for line in std::mem::take(&mut just.imports) {
        just.steps.push(Step::unknown(line));
    }
    for variable in just.variables.keys().copied().collect::<Vec<_>>() {
        just.variable(variable);
    }
    while let Some(name) = next {
        let Some(taken) = just.invoke(name, rest, 0) else {
            return if name.contains("::") || !just.modules.is_empty() || just.imported {
                Found::Opaque("the recipe may lie in another file")
            } else if just.fallback {
                Found::Opaque("the recipe may lie in a directory above")
            } else {
                Found::Absent
            };
        };
        rest = rest.get(taken..).unwrap_or_default();
        next = rest.first().copied();
        rest = rest.get(1..).unwrap_or_default();
    }
    if just.fuel == 0 || budget::is_spent() || just.steps.len() > MAX_STEPS {
        Found::Opaque(TOO_MUCH)
    } else {
        Found::Steps(just.steps)
    }
}

#[derive(Clone)]
struct Recipe<'a> {
    name: &'a str,
    parameters: Vec<Parameter<'a>>,
    before: &'a str,
    after: &'a str,
    header: u32,
    /// Each line with its number.
    body: Vec<(u32, &'a str)>,
    attributes: Vec<&'a str>,
}

#[derive(Clone)]
struct Parameter<'a> {
    name: &'a str,
    many: bool,
    exported: bool,
    default: Option<&'a str>,
}

struct Assignment<'a> {
    line: u32,
    expression: &'a str,
    exported: bool,
    value: Option<String>,
}

struct Just<'a> {
    recipes: Vec<Recipe<'a>>,
    aliases: BTreeMap<&'a str, &'a str>,
    variables: BTreeMap<&'a str, Assignment<'a>>,
    imports: Vec<u32>,
    imported: bool,
    modules: Vec<&'a str>,
    shell: Option<String>,
    script: Option<String>,
    directory: Option<String>,
    export_all: bool,
    fallback: bool,
    /// The parameters of the recipe that runs.
    bound: BTreeMap<&'a str, String>,
    exported: BTreeSet<&'a str>,
    done: BTreeSet<String>,
    steps: Vec<Step>,
    line: u32,
    depth: u32,
    fuel: usize,
}

/// Reading.
impl<'a> Just<'a> {
    fn read(text: &'a str) -> Just<'a> {
        let mut just = Just {
            recipes: Vec::new(),
            aliases: BTreeMap::new(),
            variables: BTreeMap::new(),
            imports: Vec::new(),
            imported: false,
            modules: Vec::new(),
            shell: None,
            script: None,
            directory: None,
            export_all: false,
            fallback: false,
            bound: BTreeMap::new(),
            exported: BTreeSet::new(),
            done: BTreeSet::new(),
            steps: Vec::new(),
            line: 1,
            depth: 0,
            fuel: FUEL,
        };
        let mut at = Cursor::new(text);
        let mut attributes = Vec::new();
        while at.peek().is_some() {
            let line = at.line;
            just.line = line;
            if at.rest.starts_with([' ', '\t']) {
                just.body_line(&mut at);
                continue;
            }
            // An item may go on where a text or a bracket is open.
            let item = value::item(&mut at).trim_end();
            at.eat("\n");
            if item.is_empty() || item.starts_with('#') {
                // An empty line may stand within a body.
                continue;
            }
            if item.starts_with('[') {
                attributes.push(item);
                continue;
            }
            just.item(item, line, std::mem::take(&mut attributes));
        }
        just
    }

    fn body_line(&mut self, at: &mut Cursor<'a>) {
        let line = at.line;
        let text = at.rest_of_line();
        at.eat("\n");
        if let Some(recipe) = self.recipes.last_mut() {
            recipe.body.push((line, text.strip_suffix('\r').unwrap_or(text)));
        }
    }

    fn item(&mut self, item: &'a str, line: u32, attributes: Vec<&'a str>) {
        let (word, rest) = item.split_once([' ', '\t']).unwrap_or((item, ""));
        let rest = rest.trim_start();
        let assigned = |text: &'a str| {
            let (left, right) = text.split_once(":=")?;
            is_name(left.trim()).then(|| (left.trim(), right.trim_start()))
        };
        match word {
            "set" if !rest.starts_with(':') => return self.setting(rest),
            "alias" => {
                if let Some((name, target)) = assigned(rest) {
                    self.aliases.insert(name, target.split([' ', '\t', '#']).next().unwrap_or_default());
                    return;
                }
            }
            "import" | "import?" if rest.starts_with(['\'', '"', 'x']) => {
                self.imported = true;
                return self.imports.push(line);
            }
            "mod" | "mod?" if !rest.starts_with(':') => {
                return self.modules.push(rest.split_whitespace().next().unwrap_or_default());
            }
            "unexport" => return,
            _ => {}
        }
        let (exported, text) = match word {
            "export" | "eager" | "lazy" if assigned(rest).is_some() => (word == "export", rest),
            _ => (false, item),
        };
        if let Some((name, expression)) = assigned(text) {
            self.variables.insert(name, Assignment { line, expression, exported, value: None });
            return;
        }
        match header(item, line, attributes) {
            Some(recipe) => self.recipes.push(recipe),
            // just stops at what it cannot read; so that we do not stop short of it, anything may run.
            None => self.imports.push(line),
        }
    }

    fn setting(&mut self, rest: &'a str) {
        let (name, value) = rest.split_once(":=").unwrap_or((rest, "true"));
        let value = value.trim();
        let on = !value.starts_with("false");
        match name.trim() {
            "shell" => self.shell = Some(self.words(value)),
            "script-interpreter" => self.script = Some(self.words(value)),
            "working-directory" => self.directory = Some(self.expand(value)),
            "export" => self.export_all = on,
            "fallback" => self.fallback = on,
            _ => {}
        }
    }

    /// `["bash", "-uc"]`
    fn words(&mut self, list: &'a str) -> String {
        let list = list.strip_prefix('[').and_then(|list| list.split(']').next()).unwrap_or(list);
        let words: Vec<String> = list
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .map(|word| self.expand(word))
            .collect();
        words.join(" ")
    }
}

/// `@name a b='x' +c: before && after`
fn header<'a>(item: &'a str, line: u32, attributes: Vec<&'a str>) -> Option<Recipe<'a>> {
    let mut at = Cursor::new(item.strip_prefix('@').unwrap_or(item));
    let own = name(&mut at)?;
    let mut parameters = Vec::new();
    loop {
        at.blanks();
        if at.eat(":") {
            break;
        }
        let many = at.eat("+") || at.eat("*");
        let exported = at.eat("$");
        let name = name(&mut at)?;
        at.blanks();
        let default = if at.eat("=") {
            at.blanks();
            Some(value::operand(&mut at)?)
        } else {
            None
        };
        parameters.push(Parameter { name, many, exported, default });
    }
    let dependencies = value::without_comment(at.rest);
    let (before, after) = value::split_after(dependencies);
    Some(Recipe { name: own, parameters, before, after, header: line, body: Vec::new(), attributes })
}

/// Running.
impl<'a> Just<'a> {
    /// Runs a recipe and says how many arguments it took; `None` where there is none of that name.
    fn invoke(&mut self, name: &str, args: &[&str], level: u32) -> Option<usize> {
        let name = self.aliases.get(name).copied().unwrap_or(name);
        // One name may stand for more than one system: `[linux]`, `[macos]`.
        let all: Vec<Recipe<'a>> =
            self.recipes.iter().filter(|recipe| recipe.name == name).cloned().collect();
        self.burn(self.recipes.len());
        let first = all.first()?;
        let many = first.parameters.iter().any(|parameter| parameter.many);
        let taken = if many { args.len() } else { args.len().min(first.parameters.len()) };
        let given = args.get(..taken).unwrap_or_default();
        let key = format!("{name} {}", given.join("\0"));
        if level > MAX_DEPTH {
            self.steps.push(Step::unknown(self.line));
        } else if self.done.insert(key) {
            for recipe in all {
                self.run(&recipe, given, level.saturating_add(1));
            }
        }
        Some(taken)
    }

    fn run(&mut self, recipe: &Recipe<'a>, args: &[&str], level: u32) {
        let outer = std::mem::take(&mut self.bound);
        let exported = std::mem::take(&mut self.exported);
        let mut rest = args;
        for parameter in &recipe.parameters {
            self.line = recipe.header;
            let value = match (rest.split_first(), parameter.default) {
                (Some(_), _) if parameter.many => std::mem::take(&mut rest).join(" "),
                (Some((first, others)), _) => {
                    rest = others;
                    (*first).to_owned()
                }
                (None, Some(default)) => self.expand(default),
                (None, None) if parameter.many => String::new(),
                (None, None) => HOLE.to_string(),
            };
            self.bound.insert(parameter.name, value);
            if parameter.exported || self.export_all {
                self.exported.insert(parameter.name);
            }
        }
        self.dependencies(recipe.before, recipe.header, level);
        self.body(recipe);
        self.dependencies(recipe.after, recipe.header, level);
        self.bound = outer;
        self.exported = exported;
    }

    /// `a (b 'x' y) c`
    fn dependencies(&mut self, list: &'a str, line: u32, level: u32) {
        let mut at = Cursor::new(list);
        loop {
            at.take_while(char::is_whitespace);
            self.line = line;
            let mut args = Vec::new();
            let own;
            if at.eat("(") {
                at.blanks();
                own = name(&mut at);
                loop {
                    at.take_while(char::is_whitespace);
                    if at.eat(")") || at.rest.is_empty() {
                        break;
                    }
                    let Some(text) = value::operand(&mut at) else { break };
                    args.push(self.expand(text));
                }
            } else {
                own = name(&mut at);
            }
            if at.rest.is_empty() && own.is_none() {
                return;
            }
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            if own.and_then(|own| self.invoke(own, &args, level)).is_none() {
                // In another file, or not understood.
                self.line = line;
                self.steps.push(Step::unknown(line));
                if own.is_none() {
                    return;
                }
            }
        }
    }

    fn body(&mut self, recipe: &Recipe<'a>) {
        let Some((first_line, first)) = recipe.body.iter().find(|(_, text)| !text.trim().is_empty()) else {
            return;
        };
        let indent = first.len().saturating_sub(first.trim_start().len());
        let inner = |text: &'a str| text.get(indent..).unwrap_or_else(|| text.trim_start());
        let attribute = |word: &str| {
            let of = recipe.attributes.iter().find_map(|text| text.find(word).and_then(|at| text.get(at..)));
            of.and_then(|text| text.strip_prefix(word))
        };
        let script = attribute("script").filter(|rest| rest.starts_with(['(', ']', ',', ' ']));
        let directory = match attribute("working-directory") {
            Some(rest) => {
                let text = rest.trim_start_matches([':', ' ', '(']);
                let mut at = Cursor::new(text);
                let directory = value::operand(&mut at).unwrap_or_default();
                Some(self.expand(directory))
            }
            None if attribute("no-cd").is_some() => None,
            None => self.directory.clone(),
        };
        let shebang = inner(first).strip_prefix("#!");
        if shebang.is_some() || script.is_some() {
            let mut body = String::new();
            let mut last = *first_line;
            for (line, text) in recipe.body.iter().skip_while(|(line, _)| line < first_line) {
                self.line = *line;
                for _ in last..line.saturating_sub(1) {
                    body.push('\n');
                }
                last = *line;
                if shebang.is_none() || line != first_line {
                    body.push_str(&self.interpolated(inner(text)));
                    body.push('\n');
                }
            }
            let shell = match (shebang, script.and_then(|rest| rest.strip_prefix('('))) {
                (Some(shebang), _) => self.interpolated(shebang.trim()),
                (None, Some(words)) => self.words(words.split(')').next().unwrap_or_default()),
                (None, None) => self.script.clone().unwrap_or_else(|| "sh -eu".into()),
            };
            return self.push(*first_line, &body, Some(shell), directory.as_deref());
        }
        let mut lines = recipe.body.iter();
        while let Some((line, text)) = lines.next() {
            self.line = *line;
            let mut command = self.interpolated(inner(text));
            while text_continues(&command) {
                let Some((_, next)) = lines.next() else { break };
                command.pop();
                command.push_str(&self.interpolated(next.trim_start()));
            }
            let command = command.trim_start_matches(['@', '-', '?', ' ', '\t']);
            let shell = self.shell.clone();
            if !command.is_empty() && (shell.is_some() || !command.starts_with('#')) {
                self.push(*line, command, shell, directory.as_deref());
            }
        }
    }

    fn push(&mut self, line: u32, command: &str, shell: Option<String>, directory: Option<&str>) {
        if self.steps.len() > MAX_STEPS || self.burn(command.len().saturating_add(self.variables.len())) {
            return;
        }
        let mut text =
            directory.map(|dir| format!("cd '{}'\n", dir.replace('\'', r"'\''"))).unwrap_or_default();
        let all = self.export_all;
        let global =
            self.variables.iter().filter(|(_, variable)| variable.exported || all).map(|(name, _)| *name);
        let names: Vec<&str> =
            global.chain(self.exported.iter().copied()).filter(|name| uses(command, name)).collect();
        for name in names {
            let value = self.variable(name);
            text.push_str(&export_line(name, &value));
        }
        text.push_str(command);
        self.steps.push(Step { line, text, shell });
    }

    /// A line with its `{{…}}` evaluated.
    fn interpolated(&mut self, text: &'a str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((plain, after)) = rest.split_once("{{") {
            out.push_str(plain);
            if let Some(after) = after.strip_prefix("{{") {
                out.push_str("{{");
                rest = after;
                continue;
            }
            let mut at = Cursor::new(after);
            let line = self.line;
            out.push_str(&expression(self, &mut at));
            self.line = line;
            at.take_while(char::is_whitespace);
            if at.eat("}}") {
                rest = at.rest;
            } else {
                out.push(HOLE);
                rest = after.split_once("}}").map(|(_, rest)| rest).unwrap_or_default();
            }
            if self.burn(out.len()) {
                break;
            }
        }
        out.push_str(rest);
        out
    }

    /// The value of an expression that stands alone.
    fn expand(&mut self, text: &'a str) -> String {
        let mut at = Cursor::new(text);
        let value = expression(self, &mut at);
        at.take_while(char::is_whitespace);
        if at.rest.is_empty() || at.rest.starts_with('#') { value } else { self.lost() }
    }

    /// An expression that we cannot read may run a command.
    fn lost(&mut self) -> String {
        let step = Step::unknown(self.line);
        if self.steps.last() != Some(&step) {
            self.steps.push(step);
        }
        HOLE.to_string()
    }

    fn variable(&mut self, name: &str) -> String {
        if let Some(value) = self.bound.get(name) {
            return value.clone();
        }
        let Some(variable) = self.variables.get(name) else { return HOLE.to_string() };
        if let Some(value) = &variable.value {
            return value.clone();
        }
        if self.depth > MAX_DEPTH {
            return HOLE.to_string();
        }
        let (line, text) = (variable.line, variable.expression);
        let bound = std::mem::take(&mut self.bound);
        let outer = std::mem::replace(&mut self.line, line);
        self.depth = self.depth.saturating_add(1);
        let value = self.expand(text);
        self.depth = self.depth.saturating_sub(1);
        self.line = outer;
        self.bound = bound;
        if let Some(variable) = self.variables.get_mut(name) {
            variable.value = Some(value.clone());
        }
        self.burn(value.len());
        value
    }

    fn shell_text(&mut self, command: &str) {
        let line = self.line;
        let shell = self.shell.clone();
        self.push(line, command, shell, None);
    }

    fn burn(&mut self, cost: usize) -> bool {
        budget::pay(cost);
        self.fuel = self.fuel.saturating_sub(cost.saturating_add(1));
        self.fuel == 0 || budget::is_spent()
    }
}

fn text_continues(line: &str) -> bool {
    line.ends_with('\\') && !line.starts_with('#')
}

#[cfg(test)]
mod tests;
