//! Code of other languages: what a scan of it found becomes effects.

use std::path::Path;

use toolgate_model::{Access, Doubt, Effect, Gap, LookError, Reach, shorten};

use super::text::Text;
use super::{Interpreter, blanked};
use crate::code::{self, Deed};
use crate::language::Language;

impl Interpreter<'_, '_> {
    /// Code of another language in a word or on standard input.
    ///
    /// What the scan finds is told. What it does not find is not proof: a library that is open has more ways to a file or a program than
    /// any table lists (`operator.methodcaller`, `site.addsitedir`).
    pub(super) fn inline(&mut self, program: &str, language: Language, text: &Text) {
        self.unknown(Gap::Doubt(Doubt::Code), program);
        let filled;
        let code = match text.whole() {
            Some(code) => code,
            None => {
                // A shell variable inside of the code: what is around it is scanned, and it could be anything.
                filled = blanked(text);
                if text.has_any() {
                    self.unknown(Gap::Code, &format!("{program} {}", shorten(&text.shown(), 60)));
                }
                &filled
            }
        };
        let deeds = code::scan(language, code);
        self.deeds(program, deeds);
        if language == Language::Python && self.shadows_python(&self.state.cwd) {
            self.unknown(Gap::Project, &format!("{program} with modules of the working directory"));
        }
        self.scan_written();
    }

    pub(super) fn deeds(&mut self, program: &str, deeds: Vec<Deed>) {
        let before = self.state.cwd.clone();
        for deed in deeds {
            let (access, path) = match deed {
                Deed::Read(path) => (Access::Read, path),
                Deed::List(path) => (Access::List, path),
                Deed::Write(path) => (Access::Write, path),
                Deed::Delete(path) => (Access::Delete, path),
                Deed::Enter(path) => (Access::Enter, path),
                Deed::Shell(text) => {
                    let text = Text::known(&text);
                    self.read_by_other_shell("sh", &text);
                    self.forked(|shell| shell.text(&text, program));
                    continue;
                }
                Deed::Run(words) => {
                    let words: Vec<Text> = words.iter().map(|word| Text::known(word)).collect();
                    let name = words.first().map(|word| word.raw().to_owned()).unwrap_or_default();
                    self.in_step(program, "", |shell| {
                        shell.forked(|shell| shell.invoke_program(&name, &words, None, &[]).out)
                    });
                    continue;
                }
                Deed::Mention(text) if !self.begins_on_disk(&text) => continue,
                Deed::Mention(text) => (Access::Read, code::Path::Known(text)),
                Deed::Connect => {
                    self.emit(Effect::Connect);
                    continue;
                }
                Deed::Project => {
                    self.unknown(Gap::Project, program);
                    continue;
                }
                Deed::Unknown(why) => {
                    self.unknown(Gap::Code, &format!("{program}: {why}"));
                    continue;
                }
            };
            match path {
                code::Path::Known(path) => {
                    let path = self.tilde(&path);
                    self.touch(access, Reach::Exact, &path);
                    if access == Access::Write {
                        self.wrote(program, &path);
                    }
                    if access == Access::Enter {
                        self.state.cwd = self.directories(&path);
                    }
                }
                code::Path::Below(path) => {
                    let path = self.tilde(&path);
                    self.touch(access, Reach::Below, &path);
                }
                code::Path::Unknown => self.unknown(Gap::Path(access), &format!("a path in {program} code")),
            }
        }
        self.state.cwd = before;
    }

    /// Whether the first directory of an absolute path is there, or may be by now. Where it is not, the text is the path of an
    /// address (`/sheets/1/cells`), and there is nothing to read.
    fn begins_on_disk(&self, text: &str) -> bool {
        let first = text.trim_start_matches('/').split('/').next().unwrap_or_default();
        let top = format!("/{first}");
        let is_missing = matches!(self.scene.world.look(Path::new(&top)), Err(LookError::Absent));
        !is_missing || self.may_have_filled(Path::new(&top)) || self.state.disk.has_made(Path::new(&top))
    }
}
