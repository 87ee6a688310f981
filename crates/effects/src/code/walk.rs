//! The statements of a program: what they assign, loop over and define.

use super::Deed;
use super::lex::Token;
use super::scan::Scan;
use super::value::Value;
use crate::language::Language;
use Value::{Any, Closure, List, Map, Nothing, Number, Texts, Thing};

pub(super) struct At<'t> {
    pub(super) tokens: &'t [Token],
    pub(super) at: usize,
}

impl<'t> At<'t> {
    pub(super) fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.at)
    }

    pub(super) fn ahead(&self, count: usize) -> Option<&'t Token> {
        self.tokens.get(self.at + count)
    }

    pub(super) fn op(&self) -> &'static str {
        match self.peek() {
            Some(Token::Op(op)) => op,
            _ => "",
        }
    }

    pub(super) fn word(&self) -> &'t str {
        match self.peek() {
            Some(Token::Name(name)) => name,
            _ => "",
        }
    }

    pub(super) fn eat(&mut self, op: &str) -> bool {
        let found = !op.is_empty() && self.op() == op;
        self.at += usize::from(found);
        found
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.word() == word;
        self.at += usize::from(found);
        found
    }

    pub(super) fn lines(&mut self) {
        while self.peek() == Some(&Token::Line) {
            self.at += 1;
        }
    }
}

/// A name that can be assigned to, and under which key it is taken from the value.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) name: String,
    pub(super) key: Option<String>,
}

/// Arguments and items that are told one by one; those behind them may be anything.
pub(super) const MAX_ARGS: usize = 256;

/// An argument, an item or a statement.
pub(super) struct Arg {
    /// `name=value`, `name: value`
    pub(super) name: Option<String>,
    pub(super) key: Option<Value>,
    pub(super) value: Value,
    pub(super) targets: Vec<Target>,
    /// Nothing but a text.
    pub(super) literal: bool,
}

impl Arg {
    pub(super) fn of(value: Value) -> Arg {
        Arg { name: None, key: None, value, targets: Vec::new(), literal: false }
    }
}

impl Scan {
    /// Items or statements up to what closes them.
    pub(super) fn block(&mut self, t: &mut At<'_>, close: &str) -> Vec<Arg> {
        let mut args: Vec<Arg> = Vec::new();
        if !self.bounds.enter() {
            t.at = t.tokens.len();
        }
        // `a, b = …`
        let mut before: Vec<Target> = Vec::new();
        while let Some(token) = t.peek() {
            match token {
                Token::Op(op) if *op == close => {
                    t.at += 1;
                    break;
                }
                Token::Line | Token::Op(";") => {
                    t.at += 1;
                    before.clear();
                }
                Token::Op("," | ")" | "]" | "}") => t.at += 1,
                _ => {
                    let start = t.at;
                    let mut arg = self.statement(t, close, &before);
                    arg.literal = t.at == start + 1 && matches!(token, Token::Text(_));
                    if t.at == start {
                        t.at += 1;
                    }
                    if close.is_empty() {
                        before.extend(arg.targets.iter().take(8).cloned());
                    } else if args.len() < MAX_ARGS {
                        args.push(arg);
                    } else if args.len() == MAX_ARGS {
                        // All the others.
                        args.push(Arg::of(Any(true)));
                    }
                }
            }
        }
        self.bounds.leave();
        args
    }

    pub(super) fn statement(&mut self, t: &mut At<'_>, close: &str, before: &[Target]) -> Arg {
        if !self.bounds.enter() {
            t.at = t.tokens.len();
        }
        let arg = self.said(t, close, before);
        self.bounds.leave();
        arg
    }

    pub(super) fn said(&mut self, t: &mut At<'_>, close: &str, before: &[Target]) -> Arg {
        let plain = Arg::of;
        let start = t.at;
        while self.skipped(t) {
            t.at += 1;
        }
        if let Some(value) = self.keyword(t, close) {
            return plain(value);
        }
        if t.at > start && matches!(t.peek(), None | Some(Token::Line)) {
            return plain(Nothing);
        }
        let bare = match (t.peek(), t.ahead(1)) {
            (Some(Token::Name(name)), Some(Token::Op(":" | "=>" | "="))) => Some(name.clone()),
            _ => None,
        };
        let left = self.expr(t);
        let in_call = !close.is_empty();
        match t.op() {
            "=" if in_call
                && (self.language() == Language::Python && close == ")"
                    || self.language() == Language::Lua) =>
            {
                t.at += 1;
                t.lines();
                let value = self.expr(t).value;
                Arg { key: bare.as_deref().map(Value::text), name: bare, value, ..Arg::of(Nothing) }
            }
            "=" | ":=" | "||=" | "??=" => {
                t.at += 1;
                t.lines();
                let targets: Vec<Target> = before.iter().cloned().chain(left.targets).collect();
                let value = self.assigned(t, close, &targets);
                Arg::of(value)
            }
            "+=" | ".=" | "-=" | "*=" | "/=" | "%=" | "|=" | "&=" | "**=" | "//=" | "&&=" => {
                t.at += 1;
                t.lines();
                let value = self.expr(t).value;
                for target in &left.targets {
                    match &value {
                        List(_) | Map(_) => self.bind(&target.name, value.clone()),
                        Number(_) => self.bind(&target.name, Number(None)),
                        other => self.bind(&target.name, Any(other.foreign())),
                    }
                }
                plain(value)
            }
            op @ (":" | "=>") if in_call || op == "=>" => {
                t.at += 1;
                t.lines();
                let right = self.expr(t);
                // `{ name: other }` takes `name` and calls it `other`.
                let key = bare.clone();
                let targets =
                    right.targets.into_iter().map(|target| Target { key: key.clone(), ..target }).collect();
                let name = bare.clone().or_else(|| left.value.only().map(str::to_owned));
                let key = bare.filter(|name| !name.starts_with('$') && self.language() != Language::Python);
                let key = key.map_or(left.value, |name| Value::text(&name));
                let value = if t.eat("=") { right.value.or(self.expr(t).value) } else { right.value };
                Arg { name, key: Some(key), value, targets, literal: false }
            }
            ":" if self.language() == Language::Python && bare.is_some() => {
                // `name: type = value`
                t.at += 1;
                let kind = self.expr(t);
                if t.eat("=") {
                    self.assigned(t, close, &left.targets);
                }
                plain(kind.value)
            }
            _ => {
                if t.eat_word("as") && self.language() == Language::Python {
                    let target = self.operand(t);
                    self.bind_all(&target.targets, &left.value);
                }
                Arg { targets: left.targets, ..Arg::of(left.value) }
            }
        }
    }

    /// The right side of an assignment.
    pub(super) fn assigned(&mut self, t: &mut At<'_>, close: &str, targets: &[Target]) -> Value {
        let outer = self.bindings.begin_assignment(targets.first().map(|target| target.name.clone()));
        let first = self.statement(t, "", &[]).value;
        let mut value = first;
        if close.is_empty() && t.op() == "," && !targets.is_empty() {
            let mut items = vec![value];
            while t.eat(",") && items.len() < 64 {
                if matches!(t.peek(), None | Some(Token::Line)) {
                    break;
                }
                items.push(self.expr(t).value);
                if t.op() == "=" {
                    // `let a = 1, b = 2`
                    t.at -= 1;
                    items.pop();
                    break;
                }
            }
            value = match (targets.len(), items.len()) {
                (_, 1) => items.pop().unwrap_or(Nothing),
                (1, _) if self.language() != Language::Python => items.into_iter().next().unwrap_or(Nothing),
                _ => List(items),
            };
        }
        if self.bindings.end_assignment(outer) && !matches!(value, List(_) | Map(_) | Number(_)) {
            value = Any(value.foreign());
        }
        self.bind_all(targets, &value);
        value
    }

    /// Statements that begin with a word of their own. `None` is any other.
    pub(super) fn keyword(&mut self, t: &mut At<'_>, close: &str) -> Option<Value> {
        use Language::{Lua, Node, Perl, Php, Python, Ruby};
        let word = t.word();
        // `{ import: 1 }`, `x.import`
        if word.is_empty()
            || matches!(t.ahead(1), Some(Token::Op(":" | "=>" | "=" | "." | ")" | ",")) if word != "else" && word != "try" && word != "do" && word != "lambda")
        {
            return None;
        }
        match (self.language(), word) {
            (Python, "import") => self.import_python(t),
            (Python, "from") => self.import_from(t),
            (Node, "import") if !matches!(t.ahead(1), Some(Token::Op("(" | "."))) => self.import_node(t),
            (Perl, "use" | "no") => {
                t.at += 1;
                let module = t.word().to_owned();
                t.at += 1;
                if !module.is_empty() && module.chars().any(|c| !c.is_ascii_digit() && c != 'v') {
                    self.import(&module);
                }
                if module == "lib" || module == "if" || module == "Module" {
                    self.note(Deed::Project);
                }
            }
            (Python | Ruby, "def") | (Php | Node | Lua, "function") | (Perl, "sub") | (Php, "fn") => {
                return Some(self.function(t));
            }
            (Python | Ruby, "class") | (Ruby, "module") | (Php | Perl, "namespace" | "package") => {
                t.at += 2;
            }
            (Python | Ruby | Lua | Node | Perl | Php, "for" | "foreach") => self.for_loop(t),
            (_, "return" | "yield") => {
                t.at += 1;
                let value = self.statement(t, "", &[]).value;
                let name = self.bindings.name_of_result();
                self.bind(&name, value.clone());
                return Some(value);
            }
            (Ruby, "include" | "extend") => {
                t.at += 1;
                self.bindings.import_all_of(t.word().to_owned());
            }
            (
                Python,
                "if" | "elif" | "while" | "with" | "else" | "try" | "finally" | "except" | "async" | "match"
                | "case",
            ) if close.is_empty() => {
                t.at += 1;
                if t.op() == ":" {
                    t.at += 1;
                    return Some(Nothing);
                }
                let arg = self.statement(t, "", &[]);
                while t.eat(",") {
                    self.statement(t, "", &[]);
                }
                t.eat(":");
                return Some(arg.value);
            }
            _ => return None,
        }
        Some(Nothing)
    }

    /// A word before a statement that says nothing about it.
    pub(super) fn skipped(&self, t: &At<'_>) -> bool {
        let named = matches!(t.ahead(1), Some(Token::Op(":" | "=>" | "=" | "." | ")" | ",")))
            && !matches!(t.word(), "else" | "try" | "do");
        let python = self.language() == Language::Python
            && matches!(t.word(), "if" | "while" | "else" | "try" | "finally" | "async");
        !t.word().is_empty()
            && !named
            && !python
            && !self.is_call(t)
            && matches!(
                t.word(),
                "const"
                    | "let"
                    | "var"
                    | "my"
                    | "our"
                    | "local"
                    | "export"
                    | "else"
                    | "elsif"
                    | "elseif"
                    | "begin"
                    | "do"
                    | "then"
                    | "end"
                    | "async"
                    | "global"
                    | "nonlocal"
                    | "static"
                    | "public"
                    | "private"
                    | "del"
                    | "raise"
                    | "throw"
                    | "assert"
                    | "if"
                    | "unless"
                    | "while"
                    | "until"
                    | "try"
                    | "ensure"
                    | "rescue"
                    | "finally"
                    | "final"
                    | "state"
            )
    }

    /// `do "file"` and `assert($code)` are calls where the language has them.
    pub(super) fn is_call(&self, t: &At<'_>) -> bool {
        match t.word() {
            "do" => {
                self.language() == Language::Perl
                    && matches!(t.ahead(1), Some(Token::Text(_) | Token::Name(_)))
            }
            "assert" => self.is(&[Language::Php, Language::Lua]),
            _ => false,
        }
    }

    pub(super) fn function(&mut self, t: &mut At<'_>) -> Value {
        t.at += 1;
        while matches!(t.op(), "*" | "&") {
            t.at += 1;
        }
        let mut name = String::new();
        while !t.word().is_empty() {
            t.word().clone_into(&mut name);
            t.at += 1;
            if !(t.eat(".") || t.eat(":")) {
                break;
            }
        }
        let mut parameters = Vec::new();
        if t.eat("(") {
            for arg in self.block(t, ")") {
                let own = arg.targets.first().map(|target| target.name.clone()).or(arg.name);
                if let Some(own) = own {
                    // What it is when nobody says.
                    if arg.key.is_some() && !matches!(arg.value, Thing(_)) {
                        self.bind(&own, arg.value);
                    }
                    parameters.push(own);
                }
            }
        } else if self.language() == Language::Ruby {
            while !t.word().is_empty() && matches!(t.ahead(1), Some(Token::Op(",") | Token::Line)) {
                parameters.push(t.word().to_owned());
                t.at += 1;
                t.eat(",");
            }
        }
        if name.is_empty() {
            return self.postfix(t, Closure(parameters), None).value;
        }
        if parameters.first().is_some_and(|first| first == "self" || first == "cls") {
            parameters.remove(0);
        }
        if !self.report.is_open() {
            self.bindings.define(&name, parameters);
        }
        self.bindings.enter_function(name);
        Nothing
    }

    pub(super) fn for_loop(&mut self, t: &mut At<'_>) {
        use Language::{Perl, Php};
        t.at += 1;
        t.eat_word("await");
        if self.language() == Php {
            if !t.eat("(") {
                return;
            }
            let values = self.expr(t).value;
            if t.eat_word("as") {
                let mut targets = Vec::new();
                while !matches!(t.op(), ")" | ";") && t.peek().is_some() {
                    if !t.word().is_empty() {
                        targets.push(Target { name: t.word().to_owned(), key: None });
                    }
                    t.at += 1;
                }
                self.bind_items(&targets, &values);
            }
            return;
        }
        if self.language() == Perl {
            while matches!(t.word(), "my" | "our" | "local") {
                t.at += 1;
            }
            let name = if t.word().starts_with('$') && matches!(t.ahead(1), Some(Token::Op("("))) {
                let name = t.word().to_owned();
                t.at += 1;
                name
            } else {
                "$_".to_owned()
            };
            let values = self.expr(t).value;
            let item = match values {
                Texts(_) | Number(_) | Thing(_) => values,
                other => other.item(),
            };
            self.bind(&name, item);
            return;
        }
        let start = t.at;
        let bracket = t.eat("(");
        let mut targets = Vec::new();
        for _ in 0..24 {
            match t.peek() {
                Some(Token::Name(word)) if word == "in" || word == "of" => {
                    t.at += 1;
                    let mut values = self.expr(t).value;
                    while t.eat(",") {
                        values = values.or(self.expr(t).value);
                    }
                    self.bind_items(&targets, &values);
                    return;
                }
                Some(Token::Name(word)) if matches!(word.as_str(), "const" | "let" | "var") => {}
                Some(Token::Name(word)) => targets.push(Target { name: word.clone(), key: None }),
                Some(Token::Op("," | "(" | ")" | "[" | "]" | "{" | "}" | "*")) => {}
                _ => break,
            }
            t.at += 1;
        }
        t.at = start;
        if bracket {
            t.at += 1;
        }
    }
}

/// A list or a map of what stands in brackets.
pub(super) fn collection(args: Vec<Arg>) -> Value {
    const MOST: usize = 128;
    if args.len() > MOST {
        return Any(args.iter().any(|arg| arg.value.foreign()));
    }
    if args.iter().any(|arg| arg.key.is_some()) {
        return Map(args.into_iter().map(|arg| (arg.key.unwrap_or(Nothing), arg.value)).collect());
    }
    List(args.into_iter().map(|arg| arg.value).filter(|value| *value != Nothing).collect())
}
