//! What the shell knows at one moment: directory, variables, functions, and what the command itself has made so far.

use std::rc::Rc;

use toolgate_shell::Command;

use crate::budget::{self, Toll};

use super::disk::{Disk, MAX_KEPT, extend};
use super::text::{ANY, Choices, Flow, Text, either};

/// More directories than this at once are none that we know.
const MAX_DIRECTORIES: usize = 4;

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
            _ => Variable::unknown(),
        }
    }
}

/// A function: one of these bodies.
#[derive(Debug, Clone)]
struct Function<'t> {
    name: Rc<str>,
    bodies: Vec<&'t Command<'t>>,
    /// In some branch it is not defined.
    may_lack: bool,
}

/// The shell at one moment. Cloned where it forks.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the shell")]
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
    functions: Vec<Function<'t>>,
    /// Functions that are passed on to other shells.
    pub(crate) exported_functions: Vec<Rc<str>>,
    /// `readonly`
    pub(crate) readonly: Vec<Rc<str>>,
    /// `readonly -f`
    readonly_functions: Vec<Rc<str>>,
    /// `declare -l`, `-u`: what these are given is changed on the way.
    cased: Vec<Rc<str>>,
    /// `hash -p`
    pub(crate) hashed: Vec<(Rc<str>, Rc<str>)>,
    /// `set -a`
    pub(crate) all_exported: bool,
    /// Aliases with their texts.
    pub(crate) aliases: Vec<(Rc<str>, Rc<str>)>,
    /// `$1` and so on.
    pub(crate) positional: Option<Rc<Vec<Choices>>>,
    /// `$0`
    pub(crate) zero: Choices,
    /// What the command has changed on the disk so far.
    pub(super) disk: Disk,
    /// Directories that the command has put before the others in `PATH`.
    pub(crate) path: Vec<Rc<str>>,
    /// `set -P`
    pub(crate) physical: bool,
    /// `shopt -s nullglob`
    pub(crate) nullglob: bool,
    /// `shopt -s globstar`
    pub(crate) globstar: bool,
    /// `shopt -u globskipdots`
    pub(crate) dots_match: bool,
    /// A shell that may be no bash: `sh`.
    pub(crate) plain: bool,
    /// Descriptors above 2 and the flow behind them.
    descriptors: Vec<(u32, Flow)>,
    /// What a copy of all this costs, whatever it holds.
    #[expect(dead_code, reason = "it pays by being copied")]
    toll: Toll,
    /// Files that descriptors above 2 may write.
    outputs: Vec<(u32, Rc<str>)>,
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
            exported_functions: Vec::new(),
            readonly: Vec::new(),
            readonly_functions: Vec::new(),
            cased: Vec::new(),
            hashed: Vec::new(),
            all_exported: false,
            aliases: Vec::new(),
            positional: Some(Rc::new(Vec::new())),
            zero: vec![Text::known("bash")],
            disk: Disk::default(),
            path: Vec::new(),
            physical: false,
            globstar: false,
            nullglob: false,
            dots_match: false,
            plain: false,
            descriptors: Vec::new(),
            toll: Toll,
            outputs: Vec::new(),
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

    /// The variable that a name stands for, behind all references.
    pub(crate) fn referred(&self, name: &str) -> Rc<str> {
        let mut name: Rc<str> = Rc::from(name);
        for _ in 0..8 {
            match self.variables.iter().find(|(known, _)| *known == name).map(|(_, value)| &**value) {
                Some(Variable::Reference(target)) => name = target.clone(),
                _ => break,
            }
        }
        name
    }

    pub(crate) fn set(&mut self, name: &str, value: Variable) {
        let name = self.referred(name);
        let value = if self.cased.contains(&name) { Variable::unknown() } else { value };
        // Whoever sets this one sets `$0`.
        if &*name == "BASH_ARGV0" {
            self.zero = vec![Text::any()];
        }
        if self.readonly.contains(&name) {
            // It stays what it was, unless the word came later than we think.
            let old = self.own(&name).unwrap_or_else(Variable::unknown);
            self.put(&name, old.or(&value));
            return;
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

    /// The bodies that a name may call, and whether it may call none of them.
    pub(crate) fn function(&self, name: &str) -> Option<(Vec<&'t Command<'t>>, bool)> {
        let found = self.functions.iter().find(|function| *function.name == *name)?;
        Some((found.bodies.clone(), found.may_lack))
    }

    /// Whether there was room for it. A function that is read-only stays what it was, unless the word for that came later
    /// than we think.
    pub(crate) fn define(&mut self, name: &str, body: &'t Command<'t>) -> bool {
        let is_kept = self.is_kept(name);
        if let Some(kept) = self.functions.iter_mut().find(|function| is_kept && *function.name == *name) {
            kept.bodies.push(body);
            return kept.bodies.len() < MAX_KEPT;
        }
        self.functions.retain(|function| *function.name != *name);
        if self.functions.len() >= MAX_KEPT {
            return false;
        }
        self.functions.push(Function { name: Rc::from(name), bodies: vec![body], may_lack: false });
        true
    }

    pub(crate) fn undefine(&mut self, name: &str) {
        if self.is_kept(name) {
            return self.may_undefine(name);
        }
        self.functions.retain(|function| *function.name != *name);
    }

    /// The function may be gone from now on.
    pub(crate) fn may_undefine(&mut self, name: &str) {
        for function in self.functions.iter_mut().filter(|function| *function.name == *name) {
            function.may_lack = true;
        }
    }

    /// `readonly -f`
    pub(crate) fn keep_function(&mut self, name: &str) {
        self.readonly_functions.push(Rc::from(name));
    }

    fn is_kept(&self, name: &str) -> bool {
        self.readonly_functions.iter().any(|known| **known == *name)
    }

    /// `declare -l`, `declare -u`
    pub(crate) fn change_case(&mut self, name: &str) {
        let name = self.referred(name);
        if self.own(&name).is_some() {
            self.put(&name, Variable::unknown());
        }
        self.cased.push(name);
    }

    /// What another shell inherits.
    pub(crate) fn inherit(&mut self, keeps_functions: bool) {
        let (exported, all) = (&self.exported, self.all_exported);
        self.variables.retain(|(name, _)| {
            all || exported.contains(name) || matches!(&**name, "HOME" | "PATH" | "PWD" | "CDPATH" | "IFS")
        });
        self.variables.retain(|(name, _)| all || &**name != "IFS");
        let functions = &self.exported_functions;
        self.functions.retain(|function| keeps_functions && functions.contains(&function.name));
        // Whatever stands between the two shells may have taken it away: `env -i`, `sudo`.
        for function in &mut self.functions {
            function.may_lack = true;
        }
        self.aliases.clear();
        self.readonly.clear();
        self.readonly_functions.clear();
        self.cased.clear();
        self.hashed.clear();
    }

    /// Any variable may have changed.
    pub(crate) fn forget_variables(&mut self) {
        for (_, value) in &mut self.variables {
            *value = Rc::new(Variable::unknown());
        }
        self.positional = None;
    }

    /// What a file holds that the command itself has written.
    pub(crate) fn written(&self, path: &str) -> Option<&Flow> {
        self.disk.content(path)
    }

    pub(crate) fn write(&mut self, path: &str, flow: Flow) {
        self.disk.write(path, flow);
    }

    /// What is behind a descriptor that the command has opened.
    pub(super) fn descriptor(&self, number: u32) -> Option<&Flow> {
        self.descriptors.iter().rev().find(|(known, _)| *known == number).map(|(_, flow)| flow)
    }

    pub(super) fn open_descriptor(&mut self, number: u32, flow: Flow) {
        self.descriptors.retain(|(known, _)| *known != number);
        self.descriptors.push((number, flow));
    }

    /// From now on a descriptor writes these files.
    pub(super) fn open_output(&mut self, number: u32, files: Vec<Rc<str>>) {
        self.outputs.retain(|(known, _)| *known != number);
        self.outputs.extend(files.into_iter().map(|file| (number, file)));
    }

    /// The files that a descriptor may write; of one whose number is not known, all that any does.
    pub(super) fn outputs_of(&self, number: Option<u32>) -> Vec<Rc<str>> {
        let is_it = |known: u32| number.is_none_or(|number| number == known);
        self.outputs.iter().filter(|(known, _)| is_it(*known)).map(|(_, file)| file.clone()).collect()
    }

    /// Whether a variable is passed on to programs.
    pub(super) fn is_exported(&self, name: &str) -> bool {
        self.all_exported || self.exported.iter().any(|known| **known == *name)
    }

    /// The variables that the command has said something of.
    pub(super) fn variable_names(&self) -> Vec<Rc<str>> {
        self.variables.iter().map(|(name, _)| name.clone()).collect()
    }

    /// What it costs to clone or join it, in commands.
    pub(crate) fn weight(&self) -> u32 {
        let listed = self.variables.len() + self.functions.len() + self.exported.len() + self.aliases.len();
        let others = self.stack.len() + self.path.len() + self.descriptors.len() + self.readonly.len();
        u32::try_from((listed + others + self.disk.weight()) / 8).unwrap_or(u32::MAX)
    }

    /// Either of two states: what both agree on, and the choices where they do not.
    pub(crate) fn join(&mut self, other: &State<'t>) {
        self.join_cwd(&other.cwd);
        self.physical |= other.physical;
        self.globstar |= other.globstar;
        self.dots_match |= other.dots_match;
        self.nullglob |= other.nullglob;
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
        for function in &mut self.functions {
            match other.functions.iter().find(|there| there.name == function.name) {
                Some(there) => {
                    budget::pay_for(there.bodies.len() * function.bodies.len(), 2);
                    for body in &there.bodies {
                        if !function.bodies.iter().any(|known| std::ptr::eq(*known, *body)) {
                            function.bodies.push(body);
                        }
                    }
                    function.may_lack |= there.may_lack;
                }
                None => function.may_lack = true,
            }
        }
        for there in &other.functions {
            if !self.functions.iter().any(|function| function.name == there.name) {
                self.functions.push(Function { may_lack: true, ..there.clone() });
            }
        }
        extend(&mut self.exported_functions, &other.exported_functions);
        extend(&mut self.readonly, &other.readonly);
        extend(&mut self.readonly_functions, &other.readonly_functions);
        extend(&mut self.cased, &other.cased);
        extend(&mut self.outputs, &other.outputs);
        self.join_descriptors(other);
        extend(&mut self.hashed, &other.hashed);
        self.all_exported |= other.all_exported;
        extend(&mut self.exported, &other.exported);
        extend(&mut self.aliases, &other.aliases);
        extend(&mut self.path, &other.path);
        self.disk.join(&other.disk);
    }

    fn join_descriptors(&mut self, other: &State<'t>) {
        if self.descriptors == other.descriptors {
            return;
        }
        for (number, flow) in &mut self.descriptors {
            if other.descriptor(*number) != Some(flow) {
                *flow = Flow::Any;
            }
        }
        let more = other.descriptors.iter().filter(|(number, _)| self.descriptor(*number).is_none());
        let more: Vec<_> = more.map(|(number, _)| (*number, Flow::Any)).collect();
        self.descriptors.extend(more);
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
        self.disk.adopt(&child.disk);
    }

    /// Whether something that later commands go by differs.
    pub(crate) fn differs(&self, other: &State<'t>) -> bool {
        self.cwd != other.cwd
            || self.variables != other.variables
            || self.positional != other.positional
            || self.disk.differs(&other.disk)
            || self.aliases != other.aliases
            || self.path != other.path
            || self.descriptors != other.descriptors
            || self.functions.len() != other.functions.len()
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
        !text.is_empty()
            && text
                .raw()
                .chars()
                .all(|c| c.is_ascii_digit() || matches!(c, super::text::NAME | super::text::NUMBER))
    };
    match value {
        Variable::Scalar(texts) if texts.iter().all(is_plain) => {
            Variable::Scalar(vec![Text::mark(super::text::NAME)])
        }
        _ => Variable::Scalar(vec![Text::mark(ANY)]),
    }
}
