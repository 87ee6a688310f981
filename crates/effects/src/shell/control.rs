//! Control: ways that lead elsewhere than to the next command.
//!
//! A command may fail, and then the shell is still where it was. `return`, `break` and `continue` go on further out,
//! with what the shell has at that point. Functions end with their own variables; children end with their traps.
//! Whoever writes a command chooses among these ways, so each of them is walked and what they leave is joined.

use std::rc::Rc;

use super::Interpreter;
use super::bounds::Limit;
use super::state::State;
use super::text::Text;
use super::variables::Kept;
use super::walk::Status;

/// States at jumps that are kept, until they are joined where the jumps lead.
const MAX_JUMPS: usize = 16;

/// The working directory and the one before it.
pub(super) type Directories = (Vec<Rc<str>>, Option<Vec<Rc<str>>>);

#[derive(Default)]
pub(super) struct Control<'t> {
    /// The directories, should the last command have failed.
    failed: Option<Directories>,
    /// The shell has left the list that it was in.
    left: bool,
    /// States at `return`, `break` and `continue`, to be joined where these lead.
    jumps: Vec<State<'t>>,
    /// Functions and aliases that are being called, for those that call themselves.
    calling: Vec<Rc<str>>,
    /// Variables of the present function, with what they were before.
    locals: Vec<Kept>,
    /// Names that were local to some function.
    local_names: Vec<String>,
    /// Those that some function has set as global ones.
    globals: Vec<String>,
    /// Texts that run when the shell ends.
    traps: Vec<Text>,
}

impl Control<'_> {
    /// Where the shell still is, should the last command have failed.
    pub(super) fn fails_in(&mut self, directories: Directories) {
        self.failed = Some(directories);
    }

    pub(super) fn failure(&self) -> Option<Directories> {
        self.failed.clone()
    }

    pub(super) fn replace_failure(&mut self, failed: Option<Directories>) {
        self.failed = failed;
    }

    /// Both ways are the same from here on.
    pub(super) fn take_failure(&mut self) -> Option<Directories> {
        self.failed.take()
    }

    /// `declare -g`: whether that may be beside a local of this name. Then the one that comes back is not known.
    pub(super) fn sets_global(&mut self, name: &str) -> bool {
        let was_local = self.local_names.iter().any(|local| local == name);
        if was_local {
            self.globals.push(name.to_owned());
        }
        was_local
    }

    /// `exit`: nothing more of this list runs.
    pub(super) fn leave(&mut self) {
        self.left = true;
    }

    pub(super) fn has_left(&self) -> bool {
        self.left
    }

    /// Begins a list. Returns what [`Control::end_list`] wants.
    pub(super) fn begin_list(&mut self) -> bool {
        std::mem::take(&mut self.left)
    }

    pub(super) fn end_list(&mut self, left_before: bool) {
        self.left |= left_before;
    }

    pub(super) fn is_in_function(&self) -> bool {
        !self.calling.is_empty()
    }

    /// How often a function calls itself at present.
    pub(super) fn calls_of(&self, name: &str) -> usize {
        self.calling.iter().filter(|calling| ***calling == *name).count()
    }

    /// `trap … EXIT`
    pub(super) fn at_exit(&mut self, text: Text) {
        self.traps.push(text);
    }
}

impl<'t> Interpreter<'t, '_> {
    // ── failure ─────────────────────────────────────────────────────────────────────────────────────────────────────

    /// Both outcomes of the last command count from here on.
    pub(super) fn settle(&mut self) {
        if let Some(failed) = self.control.failed.take() {
            let mut other = self.state.clone();
            (other.cwd, other.previous) = failed;
            self.state.join(&other);
        }
    }

    /// Goes on as if the last command had ended so.
    pub(super) fn assume(&mut self, success: bool) {
        let failed = self.control.failed.take();
        if !success {
            self.go_to(failed);
        }
    }

    /// Goes on where the shell is after a failure.
    pub(super) fn go_to(&mut self, failed: Option<Directories>) {
        if let Some(failed) = failed {
            (self.state.cwd, self.state.previous) = failed;
        }
    }

    /// `! command`: success and failure change places.
    pub(super) fn negate(&mut self) {
        if let Some((cwd, previous)) = &mut self.control.failed {
            std::mem::swap(cwd, &mut self.state.cwd);
            std::mem::swap(previous, &mut self.state.previous);
        }
    }

    /// The states after the last command: if it succeeded, and if it failed.
    pub(super) fn outcomes(&mut self, status: Status) -> (Option<State<'t>>, Option<State<'t>>) {
        let failed = self.control.failed.take();
        let success = (status != Status::Fails).then(|| self.state.clone());
        let failure = (status != Status::Succeeds).then(|| {
            let mut failure = self.state.clone();
            if let Some(failed) = failed {
                (failure.cwd, failure.previous) = failed;
            }
            failure
        });
        (success, failure)
    }

    /// Goes on after a chain that may have ended in either state.
    pub(super) fn rejoin(&mut self, success: Option<State<'t>>, failure: Option<State<'t>>) {
        self.control.failed = None;
        match (success, failure) {
            (Some(success), Some(failure)) => {
                // Someone who asks for the chain's success gets the directory of the success.
                let (cwd, previous) = (success.cwd.clone(), success.previous.clone());
                self.state = success;
                self.state.join(&failure);
                if self.state.cwd != cwd || self.state.previous != previous {
                    let joined = (
                        std::mem::replace(&mut self.state.cwd, cwd),
                        std::mem::replace(&mut self.state.previous, previous),
                    );
                    self.control.failed = Some(joined);
                }
            }
            (Some(only), None) | (None, Some(only)) => self.state = only,
            (None, None) => {}
        }
    }

    // ── jumps ───────────────────────────────────────────────────────────────────────────────────────────────────────

    /// `return`, `break`, `continue`: the shell goes on elsewhere with what it has now.
    pub(super) fn jump(&mut self) {
        self.control.left = true;
        if self.control.jumps.len() < MAX_JUMPS {
            self.control.jumps.push(self.state.clone());
        } else {
            self.too_much(Limit::Jumps);
        }
    }

    /// Walks something behind which jumps lead.
    pub(super) fn landing<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::take(&mut self.control.jumps);
        let out = walk(self);
        self.land();
        self.control.jumps = outer;
        out
    }

    /// The jumps so far lead here.
    pub(super) fn land(&mut self) {
        for state in std::mem::take(&mut self.control.jumps) {
            self.state.join(&state);
        }
    }

    // ── functions ───────────────────────────────────────────────────────────────────────────────────────────────────

    /// Walks what goes by this name.
    pub(super) fn named<T>(&mut self, name: &str, walk: impl FnOnce(&mut Self) -> T) -> T {
        self.control.calling.push(name.into());
        let out = walk(self);
        self.control.calling.pop();
        out
    }

    /// Walks the body of a function: its own variables end with it, and `return` leads behind it.
    pub(super) fn calling<T>(&mut self, name: &str, walk: impl FnOnce(&mut Self) -> T) -> T {
        self.named(name, |shell| {
            let outer = std::mem::take(&mut shell.control.locals);
            let out = shell.landing(walk);
            let own = std::mem::replace(&mut shell.control.locals, outer);
            for kept in own.into_iter().rev() {
                let is_known = !shell.control.globals.iter().any(|global| **global == *kept.name);
                shell.bring_back(kept, is_known);
            }
            out
        })
    }

    /// `local x`: what it is now comes back when the function ends. Said twice, it stays what it is.
    pub(super) fn make_local(&mut self, name: &str) {
        if self.control.locals.iter().any(|kept| *kept.name == *name) {
            return;
        }
        let kept = self.keep_variable(name);
        self.control.locals.push(kept);
        self.control.local_names.push(name.to_owned());
        self.renew(name);
    }

    // ── children ────────────────────────────────────────────────────────────────────────────────────────────────────

    /// Walks in a child of this shell: what it leaves on the disk stays, all else is forgotten.
    pub(super) fn forked<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> T {
        self.bounds.spend(self.state.weight() / 2);
        let before = self.state.clone();
        let failed = self.control.failed.take();
        let traps = std::mem::take(&mut self.control.traps);
        let out = walk(self);
        // What a child has set a trap for runs when the child ends.
        for text in std::mem::replace(&mut self.control.traps, traps) {
            self.text(&text, "trap");
        }
        let child = std::mem::replace(&mut self.state, before);
        self.state.adopt_files(&child);
        self.control.failed = failed;
        out
    }

    /// The shell may end here, and then its traps run.
    pub(super) fn run_traps(&mut self) {
        for text in self.control.traps.clone() {
            self.forked(|shell| shell.text(&text, "trap"));
        }
    }
}
