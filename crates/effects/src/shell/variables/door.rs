//! The one way in which a variable gets a value, whoever gives it: an assignment, `for`, `read`, `mapfile`, `printf -v`,
//! `getopts`, `declare`, `${x:=y}`, arithmetic, `{fd}>`, `coproc`, `wait -p`, `unset`.
//!
//! Whoever sets a variable says what it is called and what it is given. Here is what bash makes of that: references are
//! followed, subscripts and what integers are given are evaluated, with all that runs in them; what is read-only stays;
//! and names that mean something to the shell, or to the programs that it starts, are heeded.

use std::rc::Rc;

use toolgate_model::Gap;
use toolgate_shell::Word;

use super::{Behind, Variable};
use crate::shell::Interpreter;
use crate::shell::evaluated::Evaluator;
use crate::shell::text::{CLASS, Choices, Hides, NUMBER, ONE, STAR, Text, bounded, either, is_mark};

/// Elements of an array whose order is not known.
const MAX_ANY_ORDER: usize = 64;

/// What a variable is given.
#[derive(Debug, Clone)]
pub(in crate::shell) enum Given {
    /// One of these texts.
    Text(Choices),
    /// `+=`: one of these behind what it holds.
    More(Choices),
    /// `(a b c)`; `in_order` where none of them has a key, `adds` with `+=`.
    Elements { values: Vec<Choices>, in_order: bool, adds: bool },
    /// A number that the shell itself makes.
    Number,
    /// Nothing is known of it.
    Unknown,
    /// It is taken away.
    Unset,
}

impl Given {
    /// What is given, as it is written.
    fn texts(&self) -> Choices {
        match self {
            Given::Text(texts) | Given::More(texts) => texts.clone(),
            Given::Elements { values, .. } => values.iter().flatten().cloned().collect(),
            Given::Unknown => vec![Text::any()],
            Given::Number | Given::Unset => Vec::new(),
        }
    }

    fn hides_anything(&self) -> bool {
        let hides = |texts: &Choices| texts.iter().any(|text| text.hides() == Hides::Anything);
        match self {
            Given::Text(texts) | Given::More(texts) => hides(texts),
            Given::Elements { values, .. } => values.iter().any(hides),
            Given::Unknown => true,
            Given::Number | Given::Unset => false,
        }
    }

    /// The same behind a change of each text.
    fn changed(self, change: impl Fn(&Choices) -> Choices) -> Given {
        match self {
            Given::Text(texts) => Given::Text(change(&texts)),
            Given::More(texts) => Given::More(change(&texts)),
            Given::Elements { values, in_order, adds } => {
                Given::Elements { values: values.iter().map(change).collect(), in_order, adds }
            }
            given => given,
        }
    }
}

/// What a variable was before a function or a prefix made it its own.
pub(in crate::shell) struct Kept {
    pub(in crate::shell) name: Rc<str>,
    value: Option<Variable>,
    /// The directories of `PATH`, where it is that.
    path: Option<Vec<Rc<str>>>,
}

impl<'t> Interpreter<'t, '_> {
    /// A variable by the text that names it, as builtins get it: `x`, `x[i]`.
    pub(in crate::shell) fn set_variable(&mut self, target: &Text, given: Given) {
        self.evaluates(target, Evaluator::Arithmetic);
        let is_pattern = target.raw().contains([STAR, ONE, CLASS]);
        let target = target.unglobbed();
        let (name, index) = match target.raw().split_once('[') {
            Some((name, index)) => (name, Some(index.strip_suffix(']').unwrap_or(index))),
            None => (target.raw(), None),
        };
        if let Some(index) = index {
            self.evaluate(index);
        }
        // What a pattern has found may be the name of any variable.
        if name.contains(is_mark) || is_pattern {
            return self.set_some_variable();
        }
        // bash complains of what is not a name, and sets nothing.
        if is_name(name) {
            let index = index.map(|index| Text::marked(index.to_owned()));
            self.set_named(name, index.as_ref(), given, None);
        }
    }

    /// A variable by its name; its subscript, where there is one, has been evaluated. `word` is how the value is spelled.
    pub(in crate::shell) fn set_named(
        &mut self,
        name: &str,
        index: Option<&Text>,
        given: Given,
        word: Option<&'t Word<'t>>,
    ) {
        let name = match self.state.variables.behind(name) {
            Behind::Variable(name) => name,
            Behind::Open => return self.set_by_open_reference(&given),
        };
        let given = if self.doubts.is_integer(&name) { self.evaluated(&name, given) } else { given };
        let is_unset = matches!(given, Given::Unset);
        // A path is no expression, and its own old value is not looked at.
        if &*name != "PATH" && given.hides_anything() {
            self.holds_unknown();
        }
        self.heed_spelling(&name, word);
        let value = self.new_value(&name, index, given);
        let variables = &mut self.state.variables;
        let value = if variables.cased.contains(&name) && !is_unset { Variable::unknown() } else { value };
        let value = if variables.readonly.contains(&name) {
            // It stays what it was, unless the word came later than we think.
            variables.own_ref(&name).map_or_else(Variable::unknown, |old| old.or(&value))
        } else {
            value
        };
        self.put_variable(&name, value);
        self.heed_name(&name, is_unset);
        self.doubts.keep_own_path(false);
    }

    /// Keeps a value. Where there is no room for one more, it is not known any more which of them have been set.
    fn put_variable(&mut self, name: &str, value: Variable) {
        self.state.variables.put(name, value);
        if !self.state.variables.has_own(name) {
            self.set_some_variable();
        }
    }

    /// The name of a loop. A reference does not hand on what it is given here: it leads there.
    pub(in crate::shell) fn set_for_round(&mut self, name: &str, texts: Choices) {
        if !matches!(self.state.variables.own_ref(name), Some(Variable::Reference(_))) {
            return self.set_named(name, None, Given::Text(texts), None);
        }
        match texts.as_slice() {
            [text] => self.refer(name, Some(text)),
            _ => self.refer(name, Some(&Text::any())),
        }
    }

    /// `env A=1 command`: what a program gets, whatever the shell says of a variable of this name.
    pub(in crate::shell) fn set_for_program(&mut self, name: &str, value: Text) {
        self.put_variable(name, Variable::Scalar(vec![value]));
        if self.state.variables.is_exported(name) || name == "PATH" {
            self.environment_changed(name);
        } else {
            self.export(name);
        }
    }

    /// The shell has moved, and sets these itself. Where it may not have, both are whatever somebody has assigned.
    pub(in crate::shell) fn set_directories(&mut self, is_sure: bool) {
        let variables = &mut self.state.variables;
        for name in ["PWD", "OLDPWD"] {
            if is_sure {
                variables.remove(name);
            } else if variables.has_own(name) {
                variables.put(name, Variable::unknown());
            }
        }
    }

    // ── references ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// `declare -n name`, `declare -n name=value`
    pub(in crate::shell) fn refer(&mut self, name: &str, value: Option<&Text>) {
        let had = match self.state.variables.own_ref(name) {
            _ if value.is_some() => None,
            Some(Variable::Scalar(texts)) => Some(texts.clone()),
            Some(Variable::Reference(_)) => return,
            _ => None,
        };
        // Without a value, what it holds already says where it leads.
        let target = match had.as_deref() {
            None => value.cloned(),
            Some([only]) => Some(only.clone()),
            Some(_) => Some(Text::any()),
        };
        let led = target.as_ref().and_then(Text::whole).filter(|target| is_name(target) && *target != name);
        let reference = Variable::Reference(led.map(Rc::from));
        if led.is_none()
            && let Some(target) = target
        {
            self.evaluate_subscript(&target);
            if !target.is_known() || target.raw().contains('[') {
                self.doubt_variable("a reference to what is only known when it runs");
            }
        }
        self.put_variable(name, reference);
    }

    /// `unset -n`
    pub(in crate::shell) fn unset_reference(&mut self, name: &str) {
        self.put_variable(name, Variable::Unset);
    }

    /// What is given to a reference that leads nowhere yet says where it leads; of another one it is not known who gets it.
    fn set_by_open_reference(&mut self, given: &Given) {
        for text in given.texts() {
            self.evaluate_subscript(&text);
        }
        self.set_some_variable();
    }

    /// The subscript in a text that names a variable.
    pub(in crate::shell) fn evaluate_subscript(&mut self, target: &Text) {
        if let Some((_, index)) = target.unglobbed().raw().split_once('[') {
            self.evaluate(index.strip_suffix(']').unwrap_or(index));
        }
    }

    /// Something was set, and which variable it is cannot be told: any of them, with all that comes of some.
    pub(in crate::shell) fn set_some_variable(&mut self) {
        self.state.variables.forget();
        self.state.positional = None;
        self.doubts.lose_variables();
        self.doubt_variable("a variable that is only known when it runs");
    }

    // ── what `declare` says ─────────────────────────────────────────────────────────────────────────────────────────

    /// The variable that attributes given to this name belong to.
    fn attributed(&self, name: &str) -> Rc<str> {
        match self.state.variables.behind(name) {
            Behind::Variable(name) => name,
            Behind::Open => Rc::from(name),
        }
    }

    /// `declare -i`
    pub(in crate::shell) fn make_integer(&mut self, name: &str) {
        let name = self.attributed(name);
        self.doubts.add_integer(&name);
    }

    /// `declare -l`, `declare -u`
    pub(in crate::shell) fn change_case(&mut self, name: &str) {
        let name = self.attributed(name);
        let variables = &mut self.state.variables;
        if variables.has_own(&name) {
            variables.put(&name, Variable::unknown());
        }
        variables.cased.push(name);
        variables.changed();
    }

    /// `readonly`
    pub(in crate::shell) fn make_readonly(&mut self, name: &str) {
        let name = self.attributed(name);
        self.state.variables.readonly.push(name);
        self.state.variables.changed();
    }

    /// `declare x`: unset, where it is not set.
    pub(in crate::shell) fn make_unset(&mut self, name: &str) {
        if !self.state.variables.has_own(name) {
            self.put_variable(name, Variable::Unset);
        }
    }

    /// `export`, and whatever else passes a variable on to programs.
    pub(in crate::shell) fn export(&mut self, name: &str) {
        let name = self.attributed(name);
        let variables = &mut self.state.variables;
        if !variables.is_exported(&name) {
            variables.changed();
            variables.exported.0.push(name.clone());
            // `PATH` is passed on as it is, and was looked at when it was set.
            if &*name != "PATH" {
                self.environment_changed(&name);
            }
        }
    }

    // ── for a while ─────────────────────────────────────────────────────────────────────────────────────────────────

    /// What a variable is now, to be brought back later.
    pub(in crate::shell) fn keep_variable(&self, name: &str) -> Kept {
        let name: Rc<str> = Rc::from(name);
        let value = self.state.variables.own_ref(&name).cloned();
        let path = (&*name == "PATH").then(|| self.state.path.clone());
        Kept { name, value, path }
    }

    /// The same for what a prefix of a command sets, which is the variable behind a reference.
    pub(in crate::shell) fn keep_assigned(&self, name: &str) -> Kept {
        self.keep_variable(&self.attributed(name))
    }

    /// `local x`: a new variable. Plain shells leave it what it was.
    pub(in crate::shell) fn renew(&mut self, name: &str) {
        let value = if self.state.plain { Variable::unknown() } else { Variable::Unset };
        self.put_variable(name, value);
        if name == "PATH" {
            self.environment_changed(name);
        }
    }

    /// At the end of a function or a prefix. `is_known`: nobody has set it meanwhile behind our back.
    pub(in crate::shell) fn bring_back(&mut self, kept: Kept, is_known: bool) {
        if !is_known {
            self.put_variable(&kept.name, Variable::unknown());
            return self.heed_name(&kept.name, false);
        }
        match kept.value {
            Some(value) => self.put_variable(&kept.name, value),
            None => self.state.variables.remove(&kept.name),
        }
        if let Some(path) = kept.path {
            self.state.path = path;
        }
    }

    // ── values ──────────────────────────────────────────────────────────────────────────────────────────────────────

    /// bash evaluates what an integer is given. Whether it still is one here is not known, so the text counts too.
    fn evaluated(&mut self, name: &str, given: Given) -> Given {
        for text in given.texts() {
            self.evaluates(&text, Evaluator::Arithmetic);
            self.evaluate(text.unglobbed().raw());
        }
        let is_decimal = |text: &str| {
            !text.is_empty() && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        // What is added to a number makes another one.
        let given = match given {
            Given::More(more) => Given::Text(
                appended(&self.variable_texts(name), &more).into_iter().chain([Text::mark(NUMBER)]).collect(),
            ),
            given => given,
        };
        given.changed(|texts| {
            let is_plain = texts.iter().all(|text| text.whole().is_some_and(is_decimal));
            if is_plain { texts.clone() } else { either(texts, &vec![Text::mark(NUMBER)]) }
        })
    }

    fn new_value(&self, name: &str, index: Option<&Text>, given: Given) -> Variable {
        let had = self.state.variables.own_ref(name);
        match (given, index) {
            (Given::Unset, None) => Variable::Unset,
            (Given::Unset, Some(_)) | (Given::Unknown, _) => Variable::unknown(),
            (Given::More(_), Some(_)) => self.with_text(name, index, vec![Text::any()]),
            (Given::Number, _) => self.with_text(name, index, vec![Text::mark(NUMBER)]),
            (Given::Text(texts), _) => self.with_text(name, index, texts),
            (Given::More(more), None) => match had {
                None | Some(Variable::Scalar(_)) => {
                    let had = self.variable_texts(name);
                    let longer = appended(&had, &more);
                    // Plain shells know no `+=`: then nothing is set.
                    Variable::Scalar(if self.state.plain { either(&had, &longer) } else { longer })
                }
                Some(Variable::Unset) => Variable::Scalar(more),
                Some(Variable::Array(_) | Variable::Reference(_)) => Variable::unknown(),
            },
            (Given::Elements { values, in_order, adds }, _) => {
                let mut all: Vec<Choices> = match had {
                    Some(Variable::Array(had)) if adds => had.clone(),
                    Some(Variable::Scalar(had)) if adds => vec![had.clone()],
                    None if adds && !(self.scene.unset)(name) => vec![vec![Text::any()]],
                    _ => Vec::new(),
                };
                all.extend(values);
                if in_order { Variable::Array(all) } else { any_order(all) }
            }
        }
    }

    /// What a variable is with these texts as its value, or as one of its elements.
    fn with_text(&self, name: &str, index: Option<&Text>, texts: Choices) -> Variable {
        let had = self.state.variables.own_ref(name);
        let Some(index) = index else {
            return match had {
                Some(Variable::Array(elements)) => {
                    let mut elements = elements.clone();
                    match elements.first_mut() {
                        Some(first) => *first = texts,
                        None => elements.push(texts),
                    }
                    Variable::Array(elements)
                }
                _ => Variable::Scalar(texts),
            };
        };
        let mut elements = match had {
            Some(Variable::Array(elements)) => elements.clone(),
            Some(Variable::Scalar(texts)) => vec![texts.clone()],
            None if !(self.scene.unset)(name) => vec![vec![Text::any()]],
            _ => Vec::new(),
        };
        match index.whole().and_then(|index| index.parse::<usize>().ok()) {
            Some(at) if at == elements.len() => elements.push(texts),
            Some(at) if at < elements.len() => {
                if let Some(element) = elements.get_mut(at) {
                    *element = texts;
                }
            }
            _ => {
                elements.push(texts);
                return any_order(elements);
            }
        }
        Variable::Array(elements)
    }

    // ── names that mean something ───────────────────────────────────────────────────────────────────────────────────

    /// A variable has a new value, which may act at once.
    fn heed_name(&mut self, name: &str, is_unset: bool) {
        match name {
            "BASH_CMDS" | "BASH_ALIASES" => self.unknown(Gap::ShellCode, name),
            // Whoever sets this one sets `$0`.
            "BASH_ARGV0" => self.state.zero = vec![Text::any()],
            "OLDPWD" => self.state.previous = None,
            // They change what the shell itself does, in ways that are not followed.
            "DIRSTACK" | "GLOBIGNORE" | "EXECIGNORE" | "POSIXLY_CORRECT" | "BASH_COMPAT" | "SHELLOPTS"
            | "BASHOPTS" => self.doubt_variable(name),
            "IFS" if self.separators().is_none() => self.doubt_variable(name),
            _ => {}
        }
        // What is taken away leads no program anywhere, but where there is no `PATH`, programs are those of this directory.
        if !is_unset || name == "PATH" {
            self.environment_changed(name);
        }
    }

    /// Every text that a variable may hold, in any of its elements.
    pub(in crate::shell) fn held_texts(&self, name: &str) -> Choices {
        match self.state.variables.own_ref(name) {
            Some(array @ Variable::Array(_)) => array.texts().into_iter().cloned().collect(),
            _ => self.variable_texts(name),
        }
    }
}

/// Whether the shell sets this variable itself, by ways that do not come through the door.
pub(in crate::shell) fn is_shells_own(name: &str) -> bool {
    matches!(
        name,
        "_" | "PWD" | "OLDPWD" | "PIPESTATUS" | "FUNCNAME" | "DIRSTACK" | "GROUPS" | "LINES" | "COLUMNS"
    ) || ["BASH", "COMP_", "READLINE_"].iter().any(|start| name.starts_with(start))
}

/// Whether the shell keeps words of commands in this variable, or in its first element.
pub(in crate::shell) fn is_last_words(name: &str) -> bool {
    matches!(name, "_" | "FUNCNAME" | "DIRSTACK" | "PWD" | "OLDPWD")
        || (name.starts_with("BASH_") && !matches!(name, "BASH_VERSION" | "BASH_VERSINFO" | "BASH_SUBSHELL"))
}

/// Whether a variable can be called so.
pub(in crate::shell) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn appended(had: &Choices, more: &Choices) -> Choices {
    let mut all = Vec::new();
    for had in had {
        for more in more {
            let mut text = had.clone();
            text.push(more);
            all.push(text);
        }
    }
    bounded(all)
}

/// Elements by keys: each place may hold any of them.
fn any_order(values: Vec<Choices>) -> Variable {
    let count = values.len();
    let all = bounded(values.into_iter().flatten().collect());
    Variable::Array(vec![all; count.min(MAX_ANY_ORDER)])
}
