//! How much of a program is walked.
//!
//! Against whom: a program that would keep the gate busy until it is late, or that hides what it does behind more brackets
//! than anybody can follow. What lies beyond a bound is never taken for nothing: `scan` makes an unknown of it.

use super::value::Value;
use crate::budget;
use Value::{List, Map, Part, Texts, Thing};

/// Brackets inside of brackets.
pub(super) const MAX_LEVEL: usize = 160;
/// Bytes that may be copied, so that no program takes long.
const FUEL: usize = 2_000_000;
/// What one level costs, in units of the whole budget.
const STEP: usize = 16;

/// What the walk has used up so far.
pub(super) struct Bounds {
    level: usize,
    fuel: usize,
    too_deep: bool,
}

impl Bounds {
    pub(super) fn new() -> Bounds {
        Bounds { level: 0, fuel: FUEL, too_deep: false }
    }

    /// Begins another walk through the whole program, with what fuel is left.
    pub(super) fn restart(&mut self) {
        self.level = 0;
    }

    /// Goes one level deeper. `false` where the rest must not be walked.
    pub(super) fn enter(&mut self) -> bool {
        self.level += 1;
        budget::pay(STEP);
        let within = self.level <= MAX_LEVEL && self.fuel > 0 && !budget::is_spent();
        self.too_deep |= !within;
        within
    }

    /// A part of the program is left out.
    pub(super) fn exceed(&mut self) {
        self.too_deep = true;
    }

    /// Comes back from one level.
    pub(super) fn leave(&mut self) {
        self.level -= 1;
    }

    /// How deep the walk is.
    pub(super) fn level(&self) -> usize {
        self.level
    }

    /// Pays for a copy.
    pub(super) fn spend(&mut self, value: &Value) {
        fn size(value: &Value) -> usize {
            match value {
                Texts(texts) => texts.iter().map(|text| text.len() + 16).sum(),
                List(items) => items.iter().map(size).sum::<usize>() + 16,
                Map(pairs) => pairs.iter().map(|(key, value)| size(key) + size(value)).sum::<usize>() + 16,
                Part(text, _) | Thing(text) => text.len() + 16,
                _ => 16,
            }
        }
        let size = size(value);
        budget::pay(size);
        self.fuel = self.fuel.saturating_sub(size);
    }

    /// Whether a part of the program was not walked.
    pub(super) fn were_exceeded(&self) -> bool {
        self.fuel == 0 || self.too_deep
    }
}
