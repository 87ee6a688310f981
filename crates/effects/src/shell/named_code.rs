//! Names inside of shell code: `find . -exec sh -c "wc -l {} | sort" \\;`.
//!
//! Against whom: a file called `$(touch x)`, or `a;b`. The shell takes such a name for code. So the names that may stand there are looked
//! for on the disk, and the code is walked with their marks in it only where all of them are plain. Whatever the
//! command itself has written by then may have any name.

use toolgate_model::{Effect, Gap};

use super::Interpreter;
use super::links::Among;
use super::places::Located;
use super::text::{Flow, INNER, NUMBER, Text, is_mark, solid_number};

/// What may stand beside a name: the end of the word, or of a quoted text.
const ENDS: [char; 14] = [' ', '\t', '\n', '\'', '"', '=', ':', '<', '>', ';', '|', '&', '(', ')'];

impl<'t> Interpreter<'t, '_> {
    /// Whether all that is not known of a text of code is names of files that hold no code.
    pub(super) fn has_plain_names(&mut self, text: &Text) -> bool {
        let raw = text.raw();
        let is_name = |c: char| c == INNER || c == NUMBER || solid_number(c).is_some();
        if raw.starts_with(is_mark) || !raw.contains(INNER) || raw.chars().any(|c| is_mark(c) && !is_name(c))
        {
            return false;
        }
        let fills = |effect: &Effect<'_>| matches!(effect, Effect::Use(access, _) if access.fills());
        if self.report.effects().iter().any(fills) {
            return false;
        }
        let mut starts: Vec<&str> = Vec::new();
        for (at, _) in raw.match_indices(INNER) {
            let before = raw.get(..at).unwrap_or_default();
            let start = before.rsplit(ENDS).next().unwrap_or_default();
            if start.contains(is_mark) || start.contains(['$', '`', '\\', '*', '?', '[', '{', '~']) {
                return false;
            }
            if !starts.contains(&start) {
                starts.push(start);
            }
        }
        starts.into_iter().all(|start| self.are_plain_below(start))
    }

    fn are_plain_below(&mut self, start: &str) -> bool {
        let path = Text::marked(format!("{start}{INNER}"));
        let among: Option<Vec<Among>> = self
            .located(&path)
            .into_iter()
            .map(|located| match located {
                Located::Child { among, .. } | Located::Below { among, .. } => among,
                Located::Exact(_) | Located::Unknown => None,
            })
            .collect();
        among.is_some_and(|among| !among.is_empty() && among.iter().all(|among| self.has_no_code(among)))
    }

    /// Walks code with the marks of names in it.
    pub(super) fn text_with_names(&mut self, text: &Text) -> Flow {
        let Some(code) = self.paid_text(text.raw()) else { return Flow::Any };
        let toolgate_shell::Parsed { list, error } = toolgate_shell::parse(code);
        if error.is_some() {
            self.unknown(Gap::Syntax, &text.shown());
            return Flow::Any;
        }
        self.kept.push(code);
        let list = self.store.trees.alloc(list);
        self.list(list)
    }

    /// What is written in a command. Marks stay where they are ours.
    pub(super) fn literal(&self, text: &str) -> Text {
        let stands_in = |kept: &&'t str| kept.as_bytes().as_ptr_range().contains(&text.as_ptr());
        if self.kept.iter().any(stands_in) { Text::marked(text.to_owned()) } else { Text::known(text) }
    }
}
