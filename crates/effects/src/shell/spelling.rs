//! How a word is spelled, for the rules that go by it.

use toolgate_model::{Access, ExpandedTarget, Origin, Reach};
use toolgate_shell::{Part, Word};

use super::Interpreter;
use super::text::Text;

impl<'t> Interpreter<'t, '_> {
    /// A written target, with its spelling.
    pub(super) fn touch_spelled(&mut self, access: Access, target: &Text, word: &'t Word<'t>) {
        self.tell_spelling(access, target, word);
        self.touch(access, Reach::Exact, target);
    }

    pub(super) fn tell_spelling(&mut self, access: Access, target: &Text, word: &'t Word<'t>) {
        let spelling = Spelling::of(word);
        if spelling.dynamic || spelling.glob || spelling.lone_tilde {
            let origin: Option<Origin> = Some(self.origin());
            self.found.expanded.push(ExpandedTarget { access, text: target.shown(), origin });
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
