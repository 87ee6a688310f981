//! What a program does that makes its unknown paths suspicious.
//!
//! A path that is not known is taken to lie inside only while there is no doubt. Doubts are never taken back.

use super::Deed;

/// What has been seen so far.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the program")]
pub(super) struct Doubts {
    unknown_texts: bool,
    climbing: bool,
    acting: bool,
    loose_writes: bool,
    loops: bool,
}

impl Doubts {
    /// Texts come from outside, or are made of numbers or of parts of other texts, where `so`.
    pub(super) fn unknown_texts(&mut self, so: bool) {
        self.unknown_texts |= so;
    }

    /// A text has `..`, where `so`.
    pub(super) fn climbing(&mut self, so: bool) {
        self.climbing |= so;
    }

    /// Something is written, deleted or run, where `so`.
    pub(super) fn acting(&mut self, so: bool) {
        self.acting |= so;
    }

    /// Something is written at a place that is only taken to lie inside, where `so`.
    pub(super) fn loose_writes(&mut self, so: bool) {
        self.loose_writes |= so;
    }

    /// The program has loops, where `so`.
    pub(super) fn loops(&mut self, so: bool) {
        self.loops |= so;
    }

    /// Looks at a deed that the program does.
    pub(super) fn look_at(&mut self, deed: &Deed) {
        self.acting(matches!(deed, Deed::Unknown(_) | Deed::Run(_) | Deed::Shell(_) | Deed::Project));
    }

    /// Whether an unknown path may lead anywhere.
    pub(super) fn may_lead_outside(&self) -> bool {
        self.unknown_texts || self.climbing
    }

    /// Whether a path that no call explains may be written.
    pub(super) fn may_write(&self) -> bool {
        self.acting || self.loose_writes
    }

    /// Whether something may be written elsewhere than it is taken to be.
    pub(super) fn writes_loosely(&self) -> bool {
        self.loose_writes
    }

    /// Whether something may be done again and again.
    pub(super) fn has_loops(&self) -> bool {
        self.loops
    }
}
