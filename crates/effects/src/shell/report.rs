//! Report: what was found, in the order in which it was met.

use std::rc::Rc;

use toolgate_model::{
    Access, DirectoryChange, Effect, Elsewhere, ExpandedTarget, Gap, PathArg, Reach, Run, Target, Unknown,
    shorten,
};

use super::bounds::{Limit, MAX_EFFECTS};
use super::{Analysis, Interpreter};

/// Effects that are looked through for one that is already there.
const MAX_LOOKED_BACK: usize = 64;

/// What was found so far.
#[derive(Default)]
pub(super) struct Report {
    found: Analysis,
}

impl Report {
    pub(super) fn into_analysis(self) -> Analysis {
        self.found
    }

    pub(super) fn effects(&self) -> &[Effect<'static>] {
        &self.found.effects
    }

    /// Nothing more is taken in.
    pub(super) fn is_full(&self) -> bool {
        self.found.effects.len() > MAX_EFFECTS
    }

    /// Whether this use of a place is among the last effects, and says no less there. `milder`: whether it is only assumed, and
    /// whether it is one of git's own data.
    pub(super) fn has_use(&self, access: Access, reach: Reach, place: &str, milder: (bool, bool)) -> bool {
        let same = |found: &Effect<'_>| {
            matches!(found, Effect::Use(had, Target { path: PathArg::Text(text), reach: reached, assumed, git_data, .. })
                if (milder.0 || !assumed) && (milder.1 || !git_data) && *had == access && *reached == reach && *text == place)
        };
        self.found.effects.iter().rev().take(MAX_LOOKED_BACK).any(same)
    }

    /// Takes back, of the effects behind the first `count`, those that are not `kept`.
    pub(super) fn retain_after(&mut self, count: usize, kept: impl Fn(&Effect<'_>) -> bool) {
        let mut at = 0;
        self.found.effects.retain(|effect| {
            at += 1;
            at <= count || kept(effect)
        });
    }

    /// Says what the last program that fits does on another machine.
    pub(super) fn set_elsewhere(&mut self, elsewhere: Elsewhere, fits: impl Fn(&Run) -> bool) {
        let runs = self.found.effects.iter_mut().rev().filter_map(|effect| match effect {
            Effect::Run(run) => Some(run),
            Effect::Use(..) | Effect::Connect | Effect::Unknown(_) => None,
        });
        if let Some(run) = runs.into_iter().find(|run| fits(run)) {
            run.elsewhere = Some(Rc::new(elsewhere));
        }
    }

    pub(super) fn add_change(&mut self, change: DirectoryChange) {
        self.found.changes.push(change);
    }

    pub(super) fn add_expanded(&mut self, target: ExpandedTarget) {
        self.found.expanded.push(target);
    }
}

impl Interpreter<'_, '_> {
    /// Something cannot be told: never nothing, always an effect.
    pub(super) fn unknown(&mut self, gap: Gap, text: &str) {
        self.doubts.heed(gap);
        let unknown = Unknown::Shell { gap, text: shorten(text, 120), origin: self.origin() };
        let known = |found: &Effect<'_>| matches!(found, Effect::Unknown(other) if *other == unknown);
        if !self.report.effects().iter().rev().take(MAX_LOOKED_BACK).any(known) {
            self.emit(Effect::Unknown(unknown));
        }
    }

    /// Adds an effect. The last one says that there are more.
    pub(super) fn emit(&mut self, effect: Effect<'static>) {
        let count = self.report.found.effects.len();
        if count < MAX_EFFECTS {
            self.report.found.effects.push(effect);
        } else if count == MAX_EFFECTS {
            let more = Effect::Unknown(self.beyond(Limit::Effects));
            self.report.found.effects.push(more);
        }
    }
}
