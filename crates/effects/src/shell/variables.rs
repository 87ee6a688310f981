//! Variables: what the names of a shell stand for at one moment, and what `declare` has said of them.
//!
//! Against whom: a command that gives a variable its value by another way than `x=y`, so that the value runs, or leads
//! elsewhere, without anybody having looked. So a value is put here by [`door`] alone: what writes the list is private
//! to this file, and a setter that does not go through the door does not compile.

mod door;
#[cfg(test)]
mod tests;

use std::rc::Rc;

pub(super) use door::{Given, Kept, is_last_words, is_name, is_shells_own};

use super::disk::{MAX_KEPT, extend};
use super::text::{ANY, Choices, NAME, NUMBER, Text, either};

/// References lead so far; bash follows none further.
const MAX_REFERENCES: usize = 8;

/// A variable.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Variable {
    /// Known to be unset.
    Unset,
    /// One of these texts.
    Scalar(Choices),
    /// Elements in order.
    Array(Vec<Choices>),
    /// `declare -n`: another name for this one. `None`: which one is not known, or not yet said.
    Reference(Option<Rc<str>>),
}

impl Variable {
    fn unknown() -> Variable {
        Variable::Scalar(vec![Text::any()])
    }

    fn or(&self, other: &Variable) -> Variable {
        match (self, other) {
            (one, two) if one == two => one.clone(),
            (Variable::Scalar(one), Variable::Scalar(two)) => Variable::Scalar(either(one, two)),
            // INVARIANT: what may be a reference stays one, or what is assigned to it would not be seen to arrive elsewhere.
            (Variable::Reference(_), _) | (_, Variable::Reference(_)) => Variable::Reference(None),
            _ => Variable::unknown(),
        }
    }

    /// Every text that it may hold, in any of its elements.
    fn texts(&self) -> Vec<&Text> {
        match self {
            Variable::Unset | Variable::Reference(_) => Vec::new(),
            Variable::Scalar(texts) => texts.iter().collect(),
            Variable::Array(elements) => elements.iter().flatten().collect(),
        }
    }
}

/// What is behind a name.
enum Behind {
    /// The variable of this name.
    Variable(Rc<str>),
    /// A reference of which it is not known where it leads.
    Open,
}

/// Names that are passed on to programs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Exported(Vec<Rc<str>>);

/// All variables that the command has said something of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variables {
    held: Vec<(Rc<str>, Rc<Variable>)>,
    exported: Exported,
    /// `set -a`
    all_exported: bool,
    /// `readonly`
    readonly: Vec<Rc<str>>,
    /// `declare -l`, `-u`: what these are given is changed on the way.
    cased: Vec<Rc<str>>,
    /// Something was set, and it is not known which of them: also those that nothing was said of.
    is_lost: bool,
    /// Another one with every change: where two have the same, all else is the same.
    stamp: Stamp,
}

/// Tells one set of variables from another.
#[derive(Debug, Clone, Default)]
pub(super) struct Stamp(Rc<()>);

impl PartialEq for Stamp {
    fn eq(&self, other: &Stamp) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Variables {
    pub(super) fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    fn changed(&mut self) {
        self.stamp = Stamp::default();
    }

    fn own_ref(&self, name: &str) -> Option<&Variable> {
        self.held.iter().find(|(known, _)| **known == *name).map(|(_, value)| &**value)
    }

    /// What a name stands for, behind all references.
    pub(super) fn get(&self, name: &str) -> Option<&Variable> {
        let mut name = name;
        for _ in 0..MAX_REFERENCES {
            match self.own_ref(name) {
                Some(Variable::Reference(Some(target))) => name = target,
                found => return found,
            }
        }
        Some(&Variable::Reference(None))
    }

    /// Whether something was said of the very name, references not followed.
    pub(super) fn has_own(&self, name: &str) -> bool {
        self.own_ref(name).is_some()
    }

    fn behind(&self, name: &str) -> Behind {
        let mut name: Rc<str> = Rc::from(name);
        for _ in 0..MAX_REFERENCES {
            match self.own_ref(&name) {
                Some(Variable::Reference(Some(target))) => name = target.clone(),
                Some(Variable::Reference(None)) => return Behind::Open,
                _ => return Behind::Variable(name),
            }
        }
        // They lead in a circle, or from a function's own to the global one of the same name.
        Behind::Open
    }

    /// Puts a value. Only [`door`] calls this.
    fn put(&mut self, name: &str, value: Variable) {
        self.changed();
        if let Some((_, old)) = self.held.iter_mut().find(|(known, _)| **known == *name) {
            *old = Rc::new(value);
        } else if self.held.len() < MAX_KEPT {
            self.held.push((Rc::from(name), Rc::new(value)));
        } else {
            // INVARIANT: what is not kept must not be taken for what the environment has.
            self.is_lost = true;
        }
    }

    fn remove(&mut self, name: &str) {
        self.changed();
        self.held.retain(|(known, _)| **known != *name);
    }

    /// Whether a variable may have been set of which nothing is held.
    pub(super) fn are_lost(&self) -> bool {
        self.is_lost
    }

    /// Any variable may have changed.
    fn forget(&mut self) {
        self.changed();
        // One value for all: a list that is full is forgotten with every further name.
        let (unknown, open) = (Rc::new(Variable::unknown()), Rc::new(Variable::Reference(None)));
        for (_, value) in &mut self.held {
            let is_reference = matches!(**value, Variable::Reference(_));
            *value = Rc::clone(if is_reference { &open } else { &unknown });
        }
        self.is_lost = true;
    }

    /// What another shell inherits.
    pub(super) fn inherit(&mut self) {
        self.changed();
        let (exported, all) = (&self.exported.0, self.all_exported);
        self.held.retain(|(name, value)| {
            let goes_along = exported.contains(name) || matches!(&**name, "HOME" | "PATH" | "PWD" | "CDPATH");
            all || goes_along && &**name != "IFS" && !matches!(**value, Variable::Reference(_))
        });
        self.readonly.clear();
        self.cased.clear();
    }

    /// The variables that the command has said something of.
    pub(super) fn names(&self) -> Vec<Rc<str>> {
        self.held.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Whether a variable is passed on to programs.
    pub(super) fn is_exported(&self, name: &str) -> bool {
        self.all_exported || self.exported.0.iter().any(|known| **known == *name)
    }

    /// `set -a`
    pub(super) fn export_all(&mut self) {
        self.changed();
        self.all_exported = true;
    }

    /// What is passed on now, to be brought back later.
    pub(super) fn exported(&self) -> Exported {
        self.exported.clone()
    }

    pub(super) fn bring_back_exported(&mut self, exported: Exported) {
        self.changed();
        self.exported = exported;
    }

    pub(super) fn weight(&self) -> usize {
        self.held.len() + self.readonly.len() + self.exported.0.len()
    }

    /// Either of two. Whether all of it was kept.
    pub(super) fn join(&mut self, other: &Variables) -> bool {
        if self.stamp == other.stamp {
            return true;
        }
        self.changed();
        for (name, value) in &mut self.held {
            match other.held.iter().find(|(known, _)| known == name) {
                Some((_, there)) if Rc::ptr_eq(there, value) => {}
                Some((_, there)) => *value = Rc::new(value.or(there)),
                // In the other branch it is what the environment says, which we do not know.
                None => *value = Rc::new(value.or(&Variable::unknown())),
            }
        }
        for (name, value) in &other.held {
            if !self.has_own(name) {
                let value = value.or(&Variable::unknown());
                self.put(name, value);
            }
        }
        self.is_lost |= other.is_lost;
        self.all_exported |= other.all_exported;
        let mut is_whole = extend(&mut self.readonly, &other.readonly);
        is_whole &= extend(&mut self.cased, &other.cased);
        is_whole & extend(&mut self.exported.0, &other.exported.0)
    }

    /// Whether something that later commands go by differs.
    pub(super) fn differ(&self, other: &Variables) -> bool {
        self.stamp != other.stamp && (self.held != other.held || self.is_lost != other.is_lost)
    }

    /// Gives up what two rounds of a loop could not agree on.
    pub(super) fn widen(&mut self, earlier: &Variables) {
        if self.stamp == earlier.stamp {
            return;
        }
        self.changed();
        for (name, value) in &mut self.held {
            let same = earlier.held.iter().any(|(known, there)| known == name && there == value);
            if !same {
                *value = Rc::new(widened(value));
            }
        }
    }
}

/// A counter stays a number whatever it counts to; anything else can become anything.
fn widened(value: &Variable) -> Variable {
    let is_number = |text: &Text| text.raw().chars().all(|c| c.is_ascii_digit() || c == NUMBER);
    let is_plain = |text: &Text| {
        !text.is_empty() && text.raw().chars().all(|c| c.is_ascii_digit() || matches!(c, NAME | NUMBER))
    };
    match value {
        Variable::Scalar(texts) if texts.iter().all(is_number) => {
            let empty = texts.iter().find(|text| text.is_empty()).cloned();
            Variable::Scalar(std::iter::once(Text::mark(NUMBER)).chain(empty).collect())
        }
        Variable::Scalar(texts) if texts.iter().all(is_plain) => Variable::Scalar(vec![Text::mark(NAME)]),
        Variable::Reference(_) => Variable::Reference(None),
        _ => Variable::Scalar(vec![Text::mark(ANY)]),
    }
}
