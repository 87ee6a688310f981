//! The texts of a JSON file below one member, with their lines. Comments and trailing commas are read over, as
//! deno does. A key that stands twice gives both texts, so that it does not matter which of them a tool takes.

use super::cursor::Cursor;
use super::{Leaf, MAX_KEY};

const MAX_DEPTH: usize = 32;

/// `None` where the file is no JSON.
pub(super) fn leaves(text: &str, section: &str) -> Option<Vec<Leaf>> {
    let mut reader = Reader { at: Cursor::new(text), keys: Vec::new(), section, leaves: Vec::new() };
    reader.value(MAX_DEPTH)?;
    reader.blank();
    reader.at.rest.is_empty().then_some(reader.leaves)
}

struct Reader<'a> {
    at: Cursor<'a>,
    keys: Vec<String>,
    section: &'a str,
    leaves: Vec<Leaf>,
}

impl Reader<'_> {
    fn value(&mut self, left: usize) -> Option<()> {
        let left = left.checked_sub(1)?;
        self.blank();
        let line = self.at.line;
        if self.at.eat("{") {
            self.members("}", |reader| {
                let key = reader.string().filter(|key| key.len() <= MAX_KEY)?;
                reader.blank();
                reader.at.eat(":").then_some(())?;
                reader.keys.push(key);
                reader.value(left)?;
                reader.keys.pop();
                Some(())
            })
        } else if self.at.eat("[") {
            self.members("]", |reader| reader.value(left))
        } else {
            let text = match self.at.peek()? {
                '"' => self.string()?,
                // A number or a word: no text, yet it must not look absent.
                _ => self.at.take_while(|c| c.is_ascii_alphanumeric() || "+-.".contains(c)).to_owned(),
            };
            if self.keys.first().is_some_and(|key| key == self.section) {
                self.leaves.push(Leaf { keys: self.keys.clone(), text, line });
            }
            Some(())
        }
    }

    fn members(&mut self, end: &str, mut member: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        loop {
            self.blank();
            if self.at.eat(end) {
                return Some(());
            }
            member(self)?;
            self.blank();
            if !self.at.eat(",") {
                return self.at.eat(end).then_some(());
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        self.at.eat("\"").then_some(())?;
        let mut text = String::new();
        loop {
            text.push_str(self.at.take_while(|c| !matches!(c, '"' | '\\' | '\n')));
            match self.at.bump()? {
                '"' => return Some(text),
                '\\' => text.push(match self.at.bump()? {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'u' => self.at.code(4)?,
                    c => c,
                }),
                _ => return None,
            }
        }
    }

    /// White space and comments.
    fn blank(&mut self) {
        loop {
            self.at.take_while(|c| matches!(c, ' ' | '\t' | '\r' | '\n'));
            if self.at.eat("//") {
                self.at.rest_of_line();
            } else if self.at.eat("/*") {
                self.at.take_until("*/");
            } else {
                return;
            }
        }
    }
}
