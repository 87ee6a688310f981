//! What the shell knows at one moment: directory, variables, functions, and what the command itself has made so far.

use std::rc::Rc;

use toolgate_shell::Command;

use super::text::{ANY, Choices, Flow, Text, either};

/// More directories than this at once are none that we know.
const MAX_DIRECTORIES: usize = 4;
/// More of anything than this is not kept.
const MAX_KEPT: usize = 512;

/// A variable.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Variable {
    /// Known to be unset.
    Unset,
    /// One of these texts.
    Scalar(Choices),
    /// Elements in order.
    Array(Vec<Choices>),
    /// `declare -n`: another name for this one.
    Reference(Rc<str>),
}

impl Variable {
    pub(crate) fn unknown() -> Variable {
        Variable::Scalar(vec![Text::any()])
    }

    fn or(&self, other: &Variable) -> Variable {
        match (self, other) {
            (one, two) if one == two => one.clone(),
            (Variable::Scalar(one), Variable::Scalar(two)) => Variable::Scalar(either(one, two)),
            (Variable::Unset, Variable::Scalar(texts)) | (Variable::Scalar(texts), Variable::Unset) => {
                Variable::Scalar(either(texts, &vec![Text::default()]))
            }
            _ => Variable::unknown(),
        }
    }
}

/// The shell at one moment. Cloned where it forks.
#[derive(Debug, Clone)]
pub(crate) struct State<'t> {
    /// The working directory: one of these. None: it is not known.
    pub(crate) cwd: Vec<Rc<str>>,
    /// The directory before the last change.
    pub(crate) previous: Option<Vec<Rc<str>>>,
    /// `pushd`, each with whether it surely succeeded.
    pub(crate) stack: Vec<(Vec<Rc<str>>, bool)>,
    variables: Vec<(Rc<str>, Rc<Variable>)>,
    /// Names that are passed on to programs.
    pub(crate) exported: Vec<Rc<str>>,
    functions: Vec<(Rc<str>, &'t Command<'t>)>,
    /// Aliases with their texts.
    pub(crate) aliases: Vec<(Rc<str>, Rc<str>)>,
    /// `$1` and so on.
    pub(crate) positional: Option<Rc<Vec<Choices>>>,
    /// `$0`
    pub(crate) zero: Choices,
    /// What the command has written so far, by absolute name.
    pub(crate) files: Vec<(Rc<str>, Flow)>,
    /// Links that the command has made so far: name and where it leads, both absolute.
    pub(crate) links: Vec<(Rc<str>, Rc<str>)>,
    /// Directories that the command has put before the others in `PATH`.
    pub(crate) path: Vec<Rc<str>>,
    /// `set -P`
    pub(crate) physical: bool,
    /// `shopt -s globstar`
    pub(crate) globstar: bool,
    /// A shell that may be no bash: `sh`.
    pub(crate) plain: bool,
    /// Descriptors above 2 and the flow behind them.
    pub(crate) descriptors: Vec<(u32, Flow)>,
}

impl<'t> State<'t> {
    pub(crate) fn new(cwd: Option<&str>) -> State<'t> {
        State {
            cwd: cwd.map(Rc::from).into_iter().collect(),
            previous: None,
            stack: Vec::new(),
            variables: Vec::new(),
            exported: Vec::new(),
            functions: Vec::new(),
            aliases: Vec::new(),
            positional: Some(Rc::new(Vec::new())),
            zero: vec![Text::known("bash")],
            files: Vec::new(),
            links: Vec::new(),
            path: Vec::new(),
            physical: false,
            globstar: false,
            plain: false,
            descriptors: Vec::new(),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Variable> {
        let mut name = name;
        // References that lead in a circle end somewhere; bash complains, we do not care where.
        for _ in 0..8 {
            match self.variables.iter().find(|(known, _)| **known == *name).map(|(_, value)| &**value) {
                Some(Variable::Reference(target)) => name = target,
                found => return found,
            }
        }
        None
    }

    pub(crate) fn set(&mut self, name: &str, value: Variable) {
        let mut name: Rc<str> = Rc::from(name);
        for _ in 0..8 {
            match self.variables.iter().find(|(known, _)| *known == name).map(|(_, value)| &**value) {
                Some(Variable::Reference(target)) => name = target.clone(),
                _ => break,
            }
        }
        self.put(&name, value);
    }

    /// Sets the variable itself, also where it is a reference.
    pub(crate) fn put(&mut self, name: &str, value: Variable) {
        if let Some((_, old)) = self.variables.iter_mut().find(|(known, _)| **known == *name) {
            *old = Rc::new(value);
        } else if self.variables.len() < MAX_KEPT {
            // INVARIANT: what is not kept must not be taken for unset; the environment's answer is "anything".
            self.variables.push((Rc::from(name), Rc::new(value)));
        }
    }

    /// Takes a variable back to what an earlier state knew of it, at the end of a function or a prefix.
    pub(crate) fn restore(&mut self, name: &str, earlier: Option<Variable>) {
        match earlier {
            Some(value) => self.put(name, value),
            None => self.variables.retain(|(known, _)| **known != *name),
        }
    }

    pub(crate) fn own(&self, name: &str) -> Option<Variable> {
        self.variables.iter().find(|(known, _)| **known == *name).map(|(_, value)| (**value).clone())
    }

    pub(crate) fn function(&self, name: &str) -> Option<&'t Command<'t>> {
        self.functions.iter().rev().find(|(known, _)| **known == *name).map(|(_, body)| *body)
    }

    pub(crate) fn define(&mut self, name: &str, body: &'t Command<'t>) {
        if self.functions.len() < MAX_KEPT {
            self.functions.push((Rc::from(name), body));
        }
    }

    pub(crate) fn undefine(&mut self, name: &str) {
        self.functions.retain(|(known, _)| **known != *name);
    }

    /// What a file holds that the command itself has written.
    pub(crate) fn written(&self, path: &str) -> Option<&Flow> {
        self.files.iter().rev().find(|(known, _)| **known == *path).map(|(_, flow)| flow)
    }

    pub(crate) fn write(&mut self, path: &str, flow: Flow) {
        if self.files.len() < MAX_KEPT {
            self.files.push((Rc::from(path), flow));
        }
    }

    /// Either of two states: what both agree on, and the choices where they do not.
    pub(crate) fn join(&mut self, other: &State<'t>) {
        self.join_cwd(&other.cwd);
        self.physical |= other.physical;
        self.globstar |= other.globstar;
        self.previous = match (self.previous.take(), &other.previous) {
            (Some(mut one), Some(two)) => {
                extend(&mut one, two);
                (one.len() <= MAX_DIRECTORIES).then_some(one)
            }
            _ => None,
        };
        if self.stack != other.stack {
            self.stack.clear();
        }
        for (name, value) in &mut self.variables {
            match other.variables.iter().find(|(known, _)| known == name) {
                Some((_, there)) if Rc::ptr_eq(there, value) => {}
                Some((_, there)) => *value = Rc::new(value.or(there)),
                // In the other branch it is what the environment says, which we do not know.
                None => *value = Rc::new(value.or(&Variable::unknown())),
            }
        }
        for (name, value) in &other.variables {
            if !self.variables.iter().any(|(known, _)| known == name) && self.variables.len() < MAX_KEPT {
                self.variables.push((name.clone(), Rc::new(value.or(&Variable::unknown()))));
            }
        }
        if self.positional != other.positional {
            self.positional = None;
        }
        let missing = |name: &Rc<str>, list: &[(Rc<str>, &'t Command<'t>)]| {
            !list.iter().any(|(known, _)| known == name)
        };
        let more: Vec<_> =
            other.functions.iter().filter(|(name, _)| missing(name, &self.functions)).cloned().collect();
        self.functions.extend(more);
        extend(&mut self.exported, &other.exported);
        extend(&mut self.aliases, &other.aliases);
        extend(&mut self.links, &other.links);
        extend(&mut self.path, &other.path);
        extend(&mut self.files, &other.files);
    }

    fn join_cwd(&mut self, other: &[Rc<str>]) {
        if self.cwd.is_empty() || other.is_empty() {
            self.cwd.clear();
            return;
        }
        extend(&mut self.cwd, other);
        if self.cwd.len() > MAX_DIRECTORIES {
            self.cwd.clear();
        }
    }

    /// Takes in what a child of this shell left on the disk. Its variables and directory die with it.
    pub(crate) fn adopt_files(&mut self, child: &State<'t>) {
        extend(&mut self.links, &child.links);
        extend(&mut self.files, &child.files);
    }

    /// Whether something that later commands go by differs.
    pub(crate) fn differs(&self, other: &State<'t>) -> bool {
        self.cwd != other.cwd || self.variables != other.variables || self.positional != other.positional
    }

    /// Gives up what two rounds of a loop could not agree on.
    pub(crate) fn widen(&mut self, earlier: &State<'t>) {
        if self.cwd != earlier.cwd {
            self.cwd.clear();
        }
        for (name, value) in &mut self.variables {
            let same = earlier.variables.iter().any(|(known, there)| known == name && there == value);
            if !same {
                *value = Rc::new(widened(value));
            }
        }
        if self.positional != earlier.positional {
            self.positional = None;
        }
    }
}

/// A counter stays a plain name whatever it counts to; anything else can become anything.
fn widened(value: &Variable) -> Variable {
    let is_plain = |text: &Text| {
        !text.is_empty() && text.raw().chars().all(|c| c.is_ascii_digit() || c == super::text::NAME)
    };
    match value {
        Variable::Scalar(texts) if texts.iter().all(is_plain) => {
            Variable::Scalar(vec![Text::mark(super::text::NAME)])
        }
        _ => Variable::Scalar(vec![Text::mark(ANY)]),
    }
}

fn extend<T: Clone + PartialEq>(to: &mut Vec<T>, from: &[T]) {
    for item in from {
        if to.len() < MAX_KEPT && !to.contains(item) {
            to.push(item.clone());
        }
    }
}
