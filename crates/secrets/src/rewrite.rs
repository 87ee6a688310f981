//! A text while parts of it are being replaced.
//!
//! Why not simply collect into a string: redacting twice must change nothing. A rule that looks back must
//! therefore see what a second run would see, which is what has been written so far, not what stood there.

use std::borrow::Cow;

use crate::Mark;

/// A text of which a front part has been worked off.
pub(crate) struct Rewrite<'t> {
    text: &'t str,
    done: String,
    /// Everything before this is in `done`.
    kept: usize,
}

impl<'t> Rewrite<'t> {
    pub(crate) fn of(text: &'t str) -> Rewrite<'t> {
        Rewrite { text, done: String::new(), kept: 0 }
    }

    /// What stands before `at`, back to the last mark.
    pub(crate) fn before(&self, at: usize) -> &'t [u8] {
        self.text.as_bytes().get(self.kept..at).unwrap_or_default()
    }

    /// Puts a mark in the place of `from..to`. Both stand beside ASCII or at an end of the text, so that no
    /// character is cut.
    pub(crate) fn replace(&mut self, from: usize, to: usize, mark: Mark) {
        self.done.push_str(self.text.get(self.kept..from).unwrap_or_default());
        self.done.push_str(mark.text());
        self.kept = to;
    }

    pub(crate) fn finish(mut self) -> Cow<'t, str> {
        if self.done.is_empty() {
            return Cow::Borrowed(self.text);
        }
        self.done.push_str(self.text.get(self.kept..).unwrap_or_default());
        Cow::Owned(self.done)
    }
}
