//! Searches of file contents: which secret files they would print lines of.

use std::path::Path;

use toolgate_model::{Access, Doubt, Gap, Reach};

use super::Interpreter;
use super::apply::slot_text;
use super::text::Text;
use crate::secrets_below::{Below, Sift, secrets_below};
use crate::spec::{Fixed, Reading, WordKind};

/// Options with which a search prints names or numbers only.
const QUIET: [&str; 9] =
    ["-l", "-L", "-c", "-q", "--files", "--files-without-match", "--count-matches", "--type-list", "-f"];

impl Interpreter<'_, '_> {
    /// Tells the secret files below these directories, all of which are printed.
    pub(super) fn secrets_printed(&mut self, places: &[Text]) {
        let sift = Sift { hidden: true, ignored: true, ..Sift::default() };
        self.tell_secrets(places, &sift);
    }

    /// Tells the secret files that a search below directories would read.
    pub(super) fn searched(&mut self, program: &str, reading: &Reading, arguments: &[Text]) {
        let is_grep = program.ends_with("grep") && program != "ack-grep";
        let has = |name: &str| reading.options.iter().any(|given| given.name == name);
        // `-f` is a file of patterns for all but `ack`, and `-L` follows links for `rg`.
        let quiet = QUIET.iter().any(|name| match (program, *name) {
            ("rg", "-L") => false,
            ("diff" | "gdiff" | "colordiff" | "sdiff", name) => name == "-q" && has(name),
            ("ack" | "ack-grep", _) => has(name) || has("-g"),
            ("ag", _) => (*name != "-f" && has(name)) || has("-g"),
            (_, name) => name != "-f" && has(name),
        });
        if quiet {
            return;
        }
        let values = |names: &[&str]| -> Vec<String> {
            let given = reading.options.iter().filter(|given| names.contains(&given.name));
            given
                .filter_map(|given| Some(slot_text(arguments, &given.value?).unglobbed().raw().to_owned()))
                .collect()
        };
        let sift = if program.ends_with("diff") {
            let without = values(&["-x"]);
            Sift {
                hidden: true,
                ignored: true,
                without_directories: without.clone(),
                without,
                ..Sift::default()
            }
        } else if is_grep {
            Sift {
                hidden: true,
                ignored: true,
                only: values(&["--include"]),
                without: values(&["--exclude"]),
                without_directories: values(&["--exclude-dir"]),
            }
        } else if program == "rg" {
            let types = values(&["-t"]);
            if !types.is_empty() && !types.iter().any(|name| matches!(name.as_str(), "sh" | "all")) {
                return;
            }
            let unrestricted = reading.options.iter().filter(|given| given.name == "-u").count();
            let (without, only): (Vec<String>, Vec<String>) =
                values(&["-g", "--iglob"]).into_iter().partition(|glob| glob.starts_with('!'));
            let without: Vec<String> =
                without.iter().map(|glob| glob.trim_start_matches('!').to_owned()).collect();
            Sift {
                // A glob that names a hidden file brings it back.
                hidden: unrestricted > 1 || has("-.") || !only.is_empty(),
                ignored: unrestricted > 0 || has("--no-ignore") || has("--no-ignore-vcs") || !only.is_empty(),
                only,
                without_directories: without.clone(),
                without,
            }
        } else if program == "ag" {
            Sift {
                hidden: has("--hidden") || has("-u"),
                ignored: has("-U") || has("-u"),
                without: values(&["--ignore"]),
                without_directories: values(&["--ignore", "--ignore-dir"]),
                ..Sift::default()
            }
        } else if values(&["-t"]).is_empty() {
            let left_out = |value: String| value.rsplit(':').next().unwrap_or_default().to_owned();
            Sift {
                hidden: true,
                ignored: true,
                without: values(&["--ignore-file"]).into_iter().map(left_out).collect(),
                without_directories: values(&["--ignore-dir"]),
                ..Sift::default()
            }
        } else {
            return;
        };
        let mut places: Vec<Text> = reading
            .uses
            .iter()
            .map(|(kind, slot)| (*kind, slot_text(arguments, slot)))
            .filter(|(kind, text)| *kind == WordKind::ReadTree || self.compares_tree(program, *kind, text))
            .map(|(_, text)| text)
            .collect();
        if reading.effects.iter().any(|fixed| matches!(fixed, Fixed::Use(WordKind::ReadTree, "."))) {
            places.push(Text::known("."));
        }
        self.tell_secrets(&places, &sift);
    }

    pub(super) fn tell_secrets(&mut self, places: &[Text], sift: &Sift) {
        for place in places.iter().filter_map(|place| self.one_place(place)).collect::<Vec<_>>() {
            let Below { found, has_more } = secrets_below(self.scene.world, Path::new(&place), sift);
            if has_more {
                self.unknown(Gap::Doubt(Doubt::Secrets), "more files than are looked at");
            }
            for found in found {
                self.touch_place(Access::Search, Reach::Exact, found);
            }
        }
    }
}
