//! Bounds: how much of a command is walked.
//!
//! Against whom: a command that would keep the gate busy until it is late, or that hides what it does behind more than
//! anybody can follow. Only this file says "too much", and it always does so with an `Unknown`, which is denied: what
//! lies beyond a bound is never taken for nothing. Bytes and work of all kinds are counted by the [budget](crate::budget); the
//! numbers here are of what a person would count: commands, words, effects, scripts.

use toolgate_model::{Gap, Unknown};

use super::Interpreter;
use crate::budget;

/// Commands that are walked at most, loops and functions counted each time.
const MAX_STEPS: u32 = 5_000;
/// How deep texts, functions and scripts may run one another.
const MAX_DEPTH: u32 = 24;
/// How deep the value of a variable may name another one in arithmetic.
const MAX_VALUES: u32 = 8;
/// So many scripts are followed in one command.
const MAX_SCRIPTS: u32 = 24;
/// A longer command is asked about as a whole, so that the answer comes in time.
pub(super) const MAX_COMMAND: usize = 64 * 1024;
/// Effects that are listed one by one.
pub(super) const MAX_EFFECTS: usize = 2_000;
/// What a command costs besides its texts, in units of the budget.
const STEP: usize = 512;
/// After so many commands somebody looks at the clock.
const LOOK_AT_CLOCK: u32 = 64;
/// Words of one command that are looked at one by one.
pub(super) const MAX_WORDS: usize = 2_000;

/// What there is too much of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Limit {
    Arithmetic,
    Commands,
    Depth,
    Effects,
    Functions,
    Jumps,
    Links,
    Scripts,
    Words,
    Work,
}

impl Limit {
    /// For people.
    fn reason(self) -> &'static str {
        match self {
            Limit::Arithmetic => "arithmetic",
            Limit::Commands => "more commands than can be followed",
            Limit::Depth => "nested too deeply",
            Limit::Effects => "more effects than can be told apart",
            Limit::Functions => "more functions than can be kept",
            Limit::Jumps => "more ways out than can be followed",
            Limit::Links => "more links than can be followed",
            Limit::Scripts => "more scripts than can be followed",
            Limit::Words => "more words than can be told apart",
            Limit::Work => "more work than can be done in time",
        }
    }
}

/// What the walk has used up so far.
#[derive(Default)]
pub(super) struct Bounds {
    steps: u32,
    depth: u32,
    scripts: u32,
}

impl Bounds {
    /// Counts work that cannot be refused any more, such as the copy of a state.
    pub(super) fn spend(&mut self, steps: u32) {
        self.steps = self.steps.saturating_add(steps);
    }

    /// What is left for a text that is walked on its own, one step deeper.
    pub(super) fn deeper(&self) -> Bounds {
        Bounds { depth: self.depth + 1, ..*self }
    }

    /// Counts what such a text has used up.
    pub(super) fn add(&mut self, inner: &Bounds) {
        self.steps = self.steps.max(inner.steps);
        self.scripts = self.scripts.max(inner.scripts);
    }

    fn are_spent(&self) -> bool {
        self.steps >= MAX_STEPS || budget::is_spent()
    }
}

impl<'t> Interpreter<'t, '_> {
    /// Gives up on a part of the command.
    pub(super) fn too_much(&mut self, limit: Limit) {
        self.unknown(Gap::Bounds, limit.reason());
    }

    /// What says that there is more.
    pub(super) fn beyond(&self, limit: Limit) -> Unknown<'static> {
        Unknown::Shell { gap: Gap::Bounds, text: limit.reason().to_owned(), origin: self.origin() }
    }

    /// Counts commands before they are walked. Once there are too many, nothing more may be.
    pub(super) fn spent(&mut self, steps: u32) -> bool {
        self.spent_on(steps, Limit::Commands)
    }

    /// The same for an expression.
    pub(super) fn spent_on_arithmetic(&mut self) -> bool {
        self.spent_on(1, Limit::Arithmetic)
    }

    fn spent_on(&mut self, steps: u32, limit: Limit) -> bool {
        let before = self.bounds.steps;
        self.bounds.spend(steps);
        budget::pay(steps as usize * STEP);
        if before / LOOK_AT_CLOCK != self.bounds.steps / LOOK_AT_CLOCK && self.scene.world.is_late() {
            budget::give_up();
        }
        let spent = self.bounds.are_spent();
        if spent {
            self.too_much(if budget::is_spent() { Limit::Work } else { limit });
        }
        spent
    }

    /// Whether nothing more is walked: all that can be said of the rest has been said.
    pub(super) fn is_over(&self) -> bool {
        self.bounds.are_spent() || self.report.is_full()
    }

    /// The end of the walk: whatever was cut short on the way, it is said.
    pub(super) fn close_accounts(&mut self) {
        if budget::is_spent() {
            self.too_much(Limit::Work);
        }
    }

    /// Reads a text that came up on the way, which is paid for. `None` once nothing is left.
    pub(super) fn paid_text(&mut self, text: &str) -> Option<&'t str> {
        budget::pay_for_tree(text);
        let store = self.store;
        (!budget::is_spent()).then(|| store.texts.alloc(text.to_owned()).as_str())
    }

    /// Whether a value that names another variable may be evaluated too, at this depth.
    pub(super) fn may_evaluate(&mut self, depth: u32) -> bool {
        let may = depth < MAX_VALUES && !self.bounds.are_spent();
        if !may {
            self.too_much(Limit::Arithmetic);
        }
        may
    }

    /// Whether one more script may be followed.
    pub(super) fn may_follow(&mut self) -> bool {
        self.bounds.scripts += 1;
        let may = self.bounds.scripts <= MAX_SCRIPTS;
        if !may {
            self.too_much(Limit::Scripts);
        }
        may
    }

    /// Walks one level deeper; too deep, nothing is walked.
    pub(super) fn deeper<T: Default>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> T {
        if self.bounds.depth >= MAX_DEPTH {
            self.too_much(Limit::Depth);
            return T::default();
        }
        self.bounds.depth += 1;
        let out = walk(self);
        self.bounds.depth -= 1;
        out
    }
}
