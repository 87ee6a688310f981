//! What a program imports.

use super::Deed;
use super::calls::{self, Meaning, Touch};
use super::lex::{Piece, Token};
use super::names::canonical;
use super::scan::Scan;
use super::value::Value;
use super::walk::At;
use crate::language::Language;
use Value::{Any, Thing};

impl Scan {
    pub(super) fn dotted(t: &mut At<'_>) -> String {
        let mut name = String::new();
        while matches!(t.op(), "." | "..." | "..") {
            name.push('.');
            t.at += 1;
        }
        while !t.word().is_empty() {
            name.push_str(t.word());
            t.at += 1;
            if t.op() == "." {
                name.push('.');
                t.at += 1;
            } else {
                break;
            }
        }
        name
    }

    pub(super) fn import_python(&mut self, t: &mut At<'_>) {
        t.at += 1;
        loop {
            let module = Self::dotted(t);
            if module.is_empty() {
                return;
            }
            self.import(&module);
            if t.eat_word("as") {
                self.bind(t.word(), Thing(module));
                t.at += 1;
            } else {
                let top = module.split('.').next().unwrap_or_default().to_owned();
                self.bind(&top, Thing(top.clone()));
            }
            if !t.eat(",") {
                return;
            }
        }
    }

    pub(super) fn import_from(&mut self, t: &mut At<'_>) {
        t.at += 1;
        let module = Self::dotted(t);
        if !t.eat_word("import") {
            return;
        }
        let bracket = t.eat("(");
        let mut connects = false;
        loop {
            if bracket {
                t.lines();
            }
            if t.eat("*") {
                self.bindings.import_all_of(module.clone());
            }
            let name = t.word();
            if name.is_empty() {
                break;
            }
            t.at += 1;
            let full = format!("{module}.{name}");
            connects |=
                calls::meaning(self.language(), &format!("={full}")) == Some(Meaning::ConnectingModule);
            let own = if t.eat_word("as") {
                let own = t.word();
                t.at += 1;
                own
            } else {
                name
            };
            self.bind(own, Thing(full));
            if !t.eat(",") {
                break;
            }
        }
        self.import(&module);
        if connects {
            self.note(Deed::Connect);
        }
    }

    pub(super) fn import_node(&mut self, t: &mut At<'_>) {
        t.at += 1;
        let start = t.at;
        // Up to the module's name.
        while !matches!(t.peek(), None | Some(Token::Text(_) | Token::Op(";"))) {
            t.at += 1;
        }
        let Some(Token::Text(pieces)) = t.peek() else { return };
        let module = match pieces.as_slice() {
            [Piece::Plain(module)] => module.clone(),
            _ => return,
        };
        let thing = self.required(&module);
        let end = t.at;
        t.at = start;
        let mut named = false;
        while t.at < end {
            match t.peek() {
                Some(Token::Op("{")) => named = true,
                Some(Token::Op("}")) => named = false,
                Some(Token::Name(word)) if word != "from" && word != "as" && word != "type" => {
                    let mut own = word;
                    let renamed = matches!(t.ahead(1), Some(Token::Name(next)) if next == "as");
                    if let (true, Some(Token::Name(other))) = (renamed, t.ahead(2)) {
                        own = other;
                        t.at += 2;
                    }
                    let value = if named { self.member(&thing, word) } else { thing.clone() };
                    self.bind(own, value);
                }
                _ => {}
            }
            t.at += 1;
        }
        t.at = end + 1;
    }

    /// A module by its name: what it means that it is loaded.
    pub(super) fn import(&mut self, module: &str) {
        let plain = module.strip_prefix("node:").unwrap_or(module);
        let mut name = plain;
        let mut own = false;
        loop {
            match calls::meaning(self.language(), &format!("={name}")) {
                Some(Meaning::ConnectingModule) => return self.note(Deed::Connect),
                Some(Meaning::OwnModule) => own = true,
                _ => {}
            }
            // `urllib.parse` is of `urllib`.
            let cut = if self.language() == Language::Python { name.rfind('.') } else { None };
            match cut.and_then(|at| name.get(..at)) {
                Some(above) if !above.is_empty() && !own => name = above,
                _ => break,
            }
        }
        if plain.split('.').next() == Some("ctypes") {
            self.note(Deed::Unknown("calls the machine's own libraries"));
        } else if !own {
            self.note(Deed::Project);
        }
    }

    /// `require('…')`
    pub(super) fn required(&mut self, module: &str) -> Value {
        let path = module.starts_with(['.', '/', '~']);
        if self.language() == Language::Node && path && module.rsplit('.').next() == Some("json") {
            self.touch(Touch::Read, &Value::text(module));
            return Any(true);
        }
        if path {
            self.touch(Touch::Read, &Value::text(module));
            self.note(Deed::Project);
            return Any(false);
        }
        self.import(module);
        Thing(canonical(module))
    }
}
