//! Places that settings of the project name: `target-dir` of `.cargo/config.toml`, and `cargo clean` deletes what lies there.
//!
//! Against whom: a settings file that leads a plain command out of the worktree. Only what it plainly says is looked at; that
//! a program obeys settings of the project at all is a doubt of its own, so that nothing is proved by what is not found here.

use std::path::Path;

use super::Interpreter;
use super::apply::access_of;
use super::text::{Flow, Text};
use crate::budget;
use crate::recipes;
use crate::spec::WordKind;

impl Interpreter<'_, '_> {
    /// `setting` is names of files with `|` between them, and a key. The nearest file that has it counts, up to the session's root.
    pub(super) fn named_in_settings(&mut self, kind: WordKind, setting: &str) {
        let Some((files, key)) = setting.split_once(' ') else { return };
        let Some(start) = self.one_place(&Text::known(".")) else { return };
        let root =
            self.scene.root.filter(|root| Path::new(&start).starts_with(root)).unwrap_or(&start).to_owned();
        for directory in Path::new(&start).ancestors().take_while(|directory| directory.starts_with(&root)) {
            for file in files.split('|') {
                let place = directory.join(file);
                let places =
                    self.settings_text(&place).map(|text| recipes::settings::values(file, &text, key));
                for named in places.unwrap_or_default() {
                    let path = match (named.strip_prefix("~/"), self.scene.home) {
                        (Some(rest), Some(home)) => Path::new(home).join(rest),
                        _ => directory.join(&named),
                    };
                    let (Some((access, reach)), Some(path)) = (access_of(kind), path.to_str()) else {
                        continue;
                    };
                    let path = Text::known(path);
                    self.in_step(file, &format!("{key} = {named}"), |shell| {
                        shell.touch(access, reach, &path);
                    });
                    return;
                }
            }
        }
    }

    fn settings_text(&self, place: &Path) -> Option<String> {
        /// Its readers go through all of it.
        const READ: usize = 16;
        const LARGE: usize = 256 * 1024;
        match self.state.written(place.to_str()?) {
            Some(Flow::Text(text)) => return text.whole().map(str::to_owned),
            Some(_) => return None,
            None => {}
        }
        let bytes = self.scene.world.read(place, LARGE).ok().filter(|bytes| bytes.len() < LARGE)?;
        budget::pay_for(bytes.len(), READ);
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}
