//! Scripts: the code that runs at present, and what has run.

use toolgate_model::{Doubt, Gap};

use super::Interpreter;
use super::text::Flow;

/// Places that are remembered as run.
const MAX_EXECUTED: usize = 64;

#[derive(Default)]
pub(super) struct Scripts {
    /// Places that were run as code.
    executed: Vec<String>,
    /// More than are remembered.
    is_cut: bool,
    /// Files that are being followed.
    following: Vec<String>,
    /// Files that the command has written are being looked at as code.
    scanning: bool,
}

impl Scripts {
    pub(super) fn is_following(&self, place: &str) -> bool {
        self.following.iter().any(|known| known == place)
    }

    pub(super) fn add_executed(&mut self, place: &str) {
        if self.executed.iter().any(|known| known == place) {
            return;
        }
        if self.executed.len() < MAX_EXECUTED {
            self.executed.push(place.to_owned());
        } else {
            self.is_cut = true;
        }
    }
}

impl Interpreter<'_, '_> {
    /// Walks the script that lies there.
    pub(super) fn following<T>(&mut self, place: String, walk: impl FnOnce(&mut Self) -> T) -> T {
        self.scripts.following.push(place);
        let out = walk(self);
        self.scripts.following.pop();
        out
    }

    /// Looks at files as code, unless that is being done.
    pub(super) fn scanning(&mut self, look: impl FnOnce(&mut Self)) {
        if !std::mem::replace(&mut self.scripts.scanning, true) {
            look(self);
            self.scripts.scanning = false;
        }
    }

    /// What was run as code may have been written before or after, by a part that runs beside: all that it ever held counts.
    pub(super) fn run_again(&mut self) {
        if self.scripts.is_cut && !self.state.disk.files().is_empty() {
            self.unknown(Gap::Doubt(Doubt::Changed), "more scripts than are looked at again");
        }
        for place in std::mem::take(&mut self.scripts.executed) {
            let files = self.state.disk.files().iter();
            let contents: Vec<Flow> =
                files.filter(|(path, _)| **path == *place).map(|(_, flow)| flow.clone()).collect();
            for flow in contents {
                match flow {
                    Flow::Text(text) => {
                        self.forked(|shell| shell.text(&text, &place));
                    }
                    Flow::Any | Flow::Lines(_) => self.unknown(Gap::ShellCode, &place),
                    Flow::Nothing | Flow::Built => {}
                }
            }
        }
    }
}
