//! Guesses: a program that nobody described could write whatever looks like a path among its words.

use toolgate_model::{Access, Effect, Reach};

use super::Interpreter;
use super::places::is_named_secret;
use super::text::{Flow, Text};

impl Interpreter<'_, '_> {
    /// Words of a program that nobody described: whatever looks like a path could be written.
    pub(super) fn guess_paths(&mut self, words: &[Text]) {
        for word in words.iter().skip(usize::from(words.len() > 1)) {
            // Prose is not a path. A text of several lines is not prose: it may be code.
            if word.raw().contains(' ') && !word.raw().contains('\n') {
                continue;
            }
            let cut = ['=', ',', ':', '@', ';', '|', '<', '>', '(', ')', '"', '\'', ' ', '\n', '\t'];
            let pieces: Vec<String> = word.raw().split(cut).map(str::to_owned).collect();
            for piece in pieces {
                let outside =
                    piece.starts_with('/') || piece.starts_with("~/") || piece == "~" || climbs(&piece);
                let named = piece.contains(char::is_alphanumeric) || piece.contains("..");
                if outside && named && !piece.starts_with("//") && !is_device(&piece) {
                    self.guess_path(&piece);
                }
            }
        }
    }

    /// A program that nobody described could print a secret file that it is given: `Get-Content .env`.
    pub(super) fn secrets_given(&mut self, words: &[Text]) {
        for word in words.iter().filter(|word| !word.raw().contains([' ', '\n'])) {
            let path = word.raw().rsplit(['=', '@']).next().unwrap_or_default();
            if is_named_secret(path) {
                self.touch(Access::Read, Reach::Exact, &Text::marked(path.to_owned()));
            }
        }
    }

    fn guess_path(&mut self, piece: &str) {
        let path = self.tilde_marked(piece);
        if path.has_any() {
            return;
        }
        for (place, reach) in self.places(&path).into_iter().flatten() {
            let within = self.scene.cwd.is_some_and(|cwd| {
                toolgate_model::below(cwd.as_bytes(), place.as_bytes()).is_some() && !climbs(&place)
            });
            if !within {
                self.guess(place, reach);
            }
        }
    }

    /// What a program that nobody described is given: its input could be commands, and a script that the command has just
    /// written is there to be run.
    pub(super) fn given_to_unknown(&mut self, name: &str, words: &[Text]) {
        if let Flow::Text(text) = self.streams.stdin().clone() {
            if name == "apply_patch" {
                self.patched(&text);
            } else {
                self.guess_paths(&[Text::known(name), text]);
            }
        }
        for word in words.iter().skip(1) {
            let Some(place) = self.one_place(word) else { continue };
            if let Some(Flow::Text(text)) = self.state.written(&place).cloned()
                && text.raw().starts_with("#!")
            {
                self.forked(|shell| shell.run_script(word, &[]));
            }
        }
    }

    /// The files that a patch names.
    fn patched(&mut self, text: &Text) {
        for line in text.raw().lines() {
            let named = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
            if let Some(path) = named.iter().find_map(|start| line.strip_prefix(start)) {
                let path = Text::marked(path.trim().to_owned());
                self.touch(Access::Write, Reach::Exact, &path);
            }
        }
    }

    fn guess(&mut self, place: String, reach: Reach) {
        let origin = Some(self.origin());
        let path = toolgate_model::PathArg::Text(place.into());
        let target = toolgate_model::Target {
            param: "command".into(),
            path,
            reach,
            guess: true,
            assumed: false,
            git_data: false,
            origin,
        };
        self.emit(Effect::Use(Access::Write, target));
    }
}

fn is_device(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
        || path.starts_with("/dev/fd/")
}

fn climbs(piece: &str) -> bool {
    piece == ".." || piece.starts_with("../") || piece.contains("/../") || piece.ends_with("/..")
}
