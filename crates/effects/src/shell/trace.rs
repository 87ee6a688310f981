//! Trace: where the walk is, so that each effect can say which part of the call it comes from.

use std::rc::Rc;

use toolgate_model::{Origin, Via};

use super::Interpreter;
use crate::budget;

/// Where the walk is.
pub(super) struct Trace {
    /// The bytes of the call's own text that are being walked; inside of other texts, those of the command that led there.
    span: (u32, u32),
    /// The tree that is being walked is that of the call's own text, so that its spans count.
    in_call: bool,
    /// The texts that led here: scripts, recipes, strings.
    via: Option<Rc<Via>>,
}

impl Default for Trace {
    fn default() -> Trace {
        Trace { span: (0, 0), in_call: true, via: None }
    }
}

impl Interpreter<'_, '_> {
    pub(super) fn origin(&self) -> Origin {
        Origin { span: self.trace.span, via: self.trace.via.clone() }
    }

    /// Walks a part of the tree.
    pub(super) fn at<T>(&mut self, span: (u32, u32), walk: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.trace.span;
        if self.trace.in_call {
            self.trace.span = span;
        }
        let out = walk(self);
        self.trace.span = before;
        out
    }

    /// Walks another text, which `step` leads to; `line` is its line, where there is one to show.
    pub(super) fn in_step<T: Default>(
        &mut self,
        step: &str,
        line: &str,
        walk: impl FnOnce(&mut Self) -> T,
    ) -> T {
        budget::pay(budget::COPY + step.len() + line.len());
        let before = self.trace.via.clone();
        let via = Via { step: step.to_owned(), line: line.to_owned(), before };
        let via = self.trace.via.replace(Rc::new(via));
        let in_call = std::mem::replace(&mut self.trace.in_call, false);
        let out = self.deeper(walk);
        self.trace.in_call = in_call;
        self.trace.via = via;
        out
    }
}
