//! How a word is spelled, for the rules that go by it.

use toolgate_model::{Access, ExpandedTarget, Reach};
use toolgate_shell::{Part, Word};

use super::Interpreter;
use super::text::Text;

/// The present command as it is written.
pub(super) struct Written<'t> {
    /// The words of the present program, where each of them became one.
    words: Option<&'t [Word<'t>]>,
    /// It has no redirections.
    bare: bool,
}

impl Default for Written<'_> {
    fn default() -> Self {
        Written { words: None, bare: true }
    }
}

impl<'t> Written<'t> {
    /// An argument as it is written, counted from the one behind the program's name.
    pub(super) fn argument(&self, at: usize) -> Option<&'t Word<'t>> {
        self.words.and_then(|words| words.get(at + 1))
    }

    pub(super) fn is_bare(&self) -> bool {
        self.bare
    }

    /// Returns what it was, to be put back.
    pub(super) fn replace_bare(&mut self, bare: bool) -> bool {
        std::mem::replace(&mut self.bare, bare)
    }
}

impl<'t> Interpreter<'t, '_> {
    /// Walks a program whose words are written so.
    pub(super) fn written_as<T>(
        &mut self,
        words: Option<&'t [Word<'t>]>,
        walk: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = std::mem::replace(&mut self.written.words, words);
        let out = walk(self);
        self.written.words = before;
        out
    }

    /// A written target, with its spelling.
    pub(super) fn touch_spelled(&mut self, access: Access, target: &Text, word: &'t Word<'t>) {
        self.note_spelling(access, target, word);
        self.touch(access, Reach::Exact, target);
    }

    pub(super) fn note_spelling(&mut self, access: Access, target: &Text, word: &'t Word<'t>) {
        let spelling = Spelling::of(word);
        if spelling.dynamic || spelling.glob || spelling.lone_tilde {
            let origin = Some(self.origin());
            self.report.add_expanded(ExpandedTarget { access, text: target.shown(), origin });
        }
    }
}

/// How a word is spelled.
#[derive(Default)]
pub(super) struct Spelling {
    pub(super) dynamic: bool,
    pub(super) glob: bool,
    pub(super) lone_tilde: bool,
}

impl Spelling {
    pub(super) fn of(word: &Word<'_>) -> Spelling {
        let mut spelling = Spelling::default();
        if let [Part::Bare(text)] = word.parts.as_slice()
            && text == "~"
        {
            spelling.lone_tilde = true;
            return spelling;
        }
        for (place, part) in word.parts.iter().enumerate() {
            spelling.add(part, place == 0);
        }
        spelling
    }

    fn add(&mut self, part: &Part<'_>, first: bool) {
        match part {
            Part::Bare(text) => {
                self.dynamic |= first && text.starts_with('~');
                self.glob |= text.contains(['*', '?', '[', '{']);
            }
            Part::Quoted(_) => {}
            Part::Double(parts) => {
                for part in parts {
                    self.dynamic |= !matches!(part, Part::Quoted(_) | Part::Bare(_));
                }
            }
            Part::ExtendedGlob { .. } => self.glob = true,
            _ => self.dynamic = true,
        }
    }
}
