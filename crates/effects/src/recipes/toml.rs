//! The texts of a TOML file, with the keys that lead to them and their lines.

use super::cursor::Cursor;
use super::{Leaf, MAX_KEY};

const MAX_DEPTH: usize = 16;

/// `None` where the file is no TOML.
pub(super) fn leaves(text: &str) -> Option<Vec<Leaf>> {
    let mut reader = Reader { at: Cursor::new(text), leaves: Vec::new() };
    let mut table = Vec::new();
    loop {
        reader.blank();
        if reader.at.rest.is_empty() {
            return Some(reader.leaves);
        }
        if reader.at.eat("[") {
            let double = reader.at.eat("[");
            table = reader.key()?;
            reader.at.eat(if double { "]]" } else { "]" }).then_some(())?;
        } else {
            reader.pair(&table, MAX_DEPTH)?;
        }
        reader.at.blanks();
        if !matches!(reader.at.peek(), None | Some('\n' | '#')) {
            return None;
        }
    }
}

struct Reader<'a> {
    at: Cursor<'a>,
    leaves: Vec<Leaf>,
}

impl Reader<'_> {
    fn pair(&mut self, table: &[String], left: usize) -> Option<()> {
        let mut keys = table.to_vec();
        keys.extend(self.key()?);
        if keys.len() > MAX_DEPTH || !self.at.eat("=") {
            return None;
        }
        self.at.blanks();
        self.value(&keys, left)
    }

    /// `a."b c".d`, and the blanks around it.
    fn key(&mut self) -> Option<Vec<String>> {
        let mut keys = Vec::new();
        loop {
            self.at.blanks();
            let key = match self.at.peek()? {
                '"' | '\'' => self.string()?,
                _ => self.at.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).to_owned(),
            };
            if key.is_empty() || key.len() > MAX_KEY || keys.len() > MAX_DEPTH {
                return None;
            }
            keys.push(key);
            self.at.blanks();
            if !self.at.eat(".") {
                return Some(keys);
            }
        }
    }

    fn value(&mut self, keys: &[String], left: usize) -> Option<()> {
        let left = left.checked_sub(1)?;
        let line = self.at.line;
        if self.at.eat("[") {
            return self.members("]", |reader| reader.value(keys, left));
        }
        if self.at.eat("{") {
            return self.members("}", |reader| reader.pair(keys, left));
        }
        let text = match self.at.peek()? {
            '"' | '\'' => self.string()?,
            _ => {
                let bare = self.at.take_while(|c| !matches!(c, ',' | ']' | '}' | '#' | '\n')).trim();
                (!bare.is_empty()).then(|| bare.to_owned())?
            }
        };
        self.leaves.push(Leaf { keys: keys.to_vec(), text, line });
        Some(())
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
        if self.at.eat("'''") {
            self.at.eat("\n");
            return self.at.take_until("'''").map(str::to_owned);
        }
        if self.at.eat("'") {
            return self.at.take_until("'").filter(|text| !text.contains('\n')).map(str::to_owned);
        }
        let long = self.at.eat("\"\"\"");
        if long {
            self.at.eat("\n");
        } else {
            self.at.bump();
        }
        let mut text = String::new();
        loop {
            text.push_str(self.at.take_while(|c| !matches!(c, '"' | '\\' | '\n')));
            if long && self.at.eat("\"\"\"") {
                return Some(text);
            }
            match self.at.bump()? {
                '"' if !long => return Some(text),
                '\n' if !long => return None,
                '\\' => match self.at.bump()? {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    'b' => text.push('\u{8}'),
                    'f' => text.push('\u{c}'),
                    'e' => text.push('\u{1b}'),
                    'u' => text.push(self.at.code(4)?),
                    'U' => text.push(self.at.code(8)?),
                    c if long && c.is_ascii_whitespace() => {
                        self.at.take_while(|c| c.is_ascii_whitespace());
                    }
                    c => text.push(c),
                },
                c => text.push(c),
            }
        }
    }

    /// White space, line ends and comments.
    fn blank(&mut self) {
        loop {
            self.at.take_while(|c| matches!(c, ' ' | '\t' | '\r' | '\n'));
            if !self.at.eat("#") {
                return;
            }
            self.at.rest_of_line();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipes::tests::scrambled;

    #[test]
    fn texts_are_found_with_their_lines_and_keys() {
        let file = "a.b = 'x' # c\n[t.\"u v\"]\nlist = [\n  \"p\\\"\", # c\n  { q = '''\nm\nn''' },\n]\nn = 1979-05-27\n[[w]]\ns = \"\"\"\nl\\\n   k\"\"\"\n";
        let found = leaves(file).unwrap();
        let shown: Vec<String> =
            found.iter().map(|leaf| format!("{} {}={}", leaf.line, leaf.keys.join("/"), leaf.text)).collect();
        assert_eq!(
            shown,
            ["1 a/b=x", "4 t/u v/list=p\"", "5 t/u v/list/q=m\nn", "9 t/u v/n=1979-05-27", "11 w/s=lk",]
        );
        for broken in ["a", "a = ", "[a", "a = 'x", "a = \"x\n\"", "a = [1", "a = 1 b = 2\n= 3", "\"a"] {
            assert_eq!(leaves(broken), None, "{broken}");
        }
    }

    #[test]
    fn any_text_is_read_or_refused_without_a_panic() {
        let pieces =
            ["[", "]", "{", "}", "a", ".", "=", "'", "'''", "\"", "\"\"\"", "\\", "\n", "#", ",", "u12", "é"];
        scrambled(&pieces, 2000, |text| drop(leaves(text)));
        assert_eq!(leaves(&"a=[".repeat(100_000)), None);
    }
}
