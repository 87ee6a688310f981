//! git in a temporary directory that the command itself has made: its repository is the command's own.
//!
//! Against whom: an agent that leads git to another repository from there, by a variable or by a temporary directory inside of one, and
//! one that names code in a setting, which git would run later.

use std::path::Path;

use super::super::Interpreter;
use super::super::text::Text;
use super::settings;
use crate::spec::Reading;

impl Interpreter<'_, '_> {
    /// Whether git works in a directory that the command has just made (`mktemp -d`), and finds no repository above it: what it finds
    /// there is the command's own.
    pub(super) fn is_in_new_directory(&self) -> bool {
        let [cwd] = self.state.cwd.as_slice() else { return false };
        let is_new = |place: &Path| self.state.disk.has_made(place);
        // A repository that is named by a variable is found from anywhere.
        let variables = &self.state.variables;
        let is_set = |name| variables.get(name).is_some() || !(self.scene.unset)(name);
        let is_named = variables.are_lost()
            || ["GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_CONFIG"].into_iter().any(is_set);
        Path::new(&**cwd).ancestors().any(is_new) && self.repository().is_none() && !is_named
    }
}

/// `git config KEY VALUE` with a key that neither runs anything nor names a place.
pub(super) fn sets_harmless(reading: &Reading, operands: &[Text]) -> bool {
    let plain = ["--add", "--replace-all", "--local", "-C"];
    let words = match operands {
        [verb, rest @ ..] if verb.whole() == Some("set") => rest,
        words => words,
    };
    let [key, value] = words else { return false };
    let is_harmless =
        |key: &str| settings::is_harmless(&key.to_ascii_lowercase(), value.whole().unwrap_or("\0"));
    reading.options.iter().all(|given| plain.contains(&given.name)) && key.whole().is_some_and(is_harmless)
}
