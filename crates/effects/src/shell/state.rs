//! What the shell knows at one moment: directory, variables, functions, and what the command itself has made so far.

use std::rc::Rc;

use toolgate_shell::Command;

use crate::budget::{self, Toll};

use super::disk::{Disk, MAX_KEPT, extend};
use super::text::{Choices, Flow, Text};
use super::variables::Variables;

/// More directories than this at once are none that we know.
const MAX_DIRECTORIES: usize = 4;

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
    pub(super) variables: Variables,
    functions: Vec<Function<'t>>,
    /// Functions that are passed on to other shells.
    pub(crate) exported_functions: Vec<Rc<str>>,
    /// `readonly -f`
    readonly_functions: Vec<Rc<str>>,
    /// `hash -p`
    pub(crate) hashed: Vec<(Rc<str>, Rc<str>)>,
    /// Where ways met, more aliases, programs or directories were there than are kept: any command may be one of them.
    pub(super) is_cut: bool,
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
            variables: Variables::default(),
            functions: Vec::new(),
            exported_functions: Vec::new(),
            readonly_functions: Vec::new(),
            hashed: Vec::new(),
            is_cut: false,
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

    /// What another shell inherits.
    pub(crate) fn inherit(&mut self, keeps_functions: bool) {
        self.variables.inherit();
        let functions = &self.exported_functions;
        self.functions.retain(|function| keeps_functions && functions.contains(&function.name));
        // Whatever stands between the two shells may have taken it away: `env -i`, `sudo`.
        for function in &mut self.functions {
            function.may_lack = true;
        }
        self.aliases.clear();
        self.readonly_functions.clear();
        self.hashed.clear();
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

    /// What it costs to clone or join it, in commands.
    pub(crate) fn weight(&self) -> u32 {
        let listed = self.variables.weight() + self.functions.len() + self.aliases.len();
        let others = self.stack.len() + self.path.len() + self.descriptors.len();
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
        let mut is_whole = self.variables.join(&other.variables);
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
        is_whole &= extend(&mut self.exported_functions, &other.exported_functions);
        is_whole &= extend(&mut self.readonly_functions, &other.readonly_functions);
        is_whole &= extend(&mut self.outputs, &other.outputs);
        self.join_descriptors(other);
        is_whole &= extend(&mut self.hashed, &other.hashed);
        is_whole &= extend(&mut self.aliases, &other.aliases);
        is_whole &= extend(&mut self.path, &other.path);
        is_whole &= self.disk.join(&other.disk);
        self.is_cut |= other.is_cut || !is_whole;
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
            || self.variables.differ(&other.variables)
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
        self.variables.widen(&earlier.variables);
        if self.positional != earlier.positional {
            self.positional = None;
        }
    }
}
