//! A look at a program of a large language: which of its calls reach files, programs or the network.
//!
//! No parser: names, texts and brackets are the same in all of these languages. The tokens are walked as a row of
//! expressions; calls whose names are known (see `calls`) act on what is known of their arguments. Names are followed
//! without regard to the order of what happens: a name can be whatever was ever assigned to it.
//!
//! A path that is not known is taken to lie inside only if nothing in the program can lead elsewhere: no text
//! from outside, no `..`, no way to make texts out of numbers. Every absolute path that the program names counts.

use std::collections::{BTreeMap, BTreeSet};

use super::act::canonical;
use super::lex::{Piece, Token, lex};
use super::value::Value;
use super::{Deed, Language, Path, calls, climbs, note};
use Value::{Any, Closure, List, Map, Nothing, Number, Part, Scratch, Texts, Thing};

/// Longer programs are not looked at.
const MAX_CODE: usize = 256 * 1024;
/// Brackets inside of brackets.
const MAX_LEVEL: usize = 160;
/// Code inside of `eval` inside of `eval`.
const MAX_NESTED: usize = 3;
/// Bytes that may be copied, so that no program takes long.
const FUEL: usize = 8_000_000;

pub(super) const RUNS: Deed = Deed::Unknown("runs a program that is only known when it runs");
pub(super) const EVALUATES: Deed = Deed::Unknown("runs code that is only known when it runs");
const TOO_MUCH: Deed = Deed::Unknown("code that is too long or too deep to be followed");

/// What a program would do, as far as a look can tell.
pub(crate) fn scan(language: Language, text: &str) -> Vec<Deed> {
    let mut deeds = Vec::new();
    look(language, text, 0, &BTreeMap::new(), &mut deeds);
    deeds
}

pub(super) fn look(
    language: Language,
    text: &str,
    nested: usize,
    names: &BTreeMap<String, Value>,
    deeds: &mut Vec<Deed>,
) {
    if text.len() > MAX_CODE || nested > MAX_NESTED {
        return note(deeds, TOO_MUCH);
    }
    let code = if language == Language::Php { php_code(text) } else { text.to_owned() };
    let Some(tokens) = lex(language, &code) else {
        return note(deeds, Deed::Unknown("code that cannot be read"));
    };
    let mut scan = Scan::new(language, nested, names.clone());
    scan.texts(&tokens, 0);
    if language == Language::Other {
        scan.other(&tokens);
    } else {
        for pass in 0..6 {
            (scan.pass, scan.changed) = (pass, false);
            scan.walk(&tokens);
            if !scan.changed && pass > 0 {
                break;
            }
        }
        // What still grows is not known.
        scan.source |= scan.changed;
        scan.told = true;
        scan.walk(&tokens);
        if scan.fuel == 0 || scan.deep {
            note(&mut scan.deeds, TOO_MUCH);
        }
        scan.left_over();
    }
    scan.deeds.into_iter().for_each(|deed| note(deeds, deed));
}

/// What stands between `<?php` and `?>`; all of it where there is no such mark.
fn php_code(text: &str) -> String {
    if !text.contains("<?") {
        return text.to_owned();
    }
    let parts = text.split("<?").skip(1).map(|part| {
        let part = part.strip_prefix("php").unwrap_or(part);
        let part = part.strip_prefix('=').unwrap_or(part);
        part.split("?>").next().unwrap_or_default()
    });
    parts.collect::<Vec<_>>().join(";")
}

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

/// A value and the names that it stands for.
pub(super) struct Operand {
    pub(super) value: Value,
    pub(super) targets: Vec<Target>,
}

impl Operand {
    pub(super) fn of(value: Value) -> Operand {
        Operand { value, targets: Vec::new() }
    }
}

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

/// What is called.
pub(super) struct Callee {
    pub(super) value: Value,
    /// The object whose method it is.
    pub(super) object: Option<Value>,
    /// The name of the object's variable.
    pub(super) variable: Option<String>,
    pub(super) name: String,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the program")]
pub(super) struct Scan {
    pub(super) language: Language,
    pub(super) nested: usize,
    pub(super) names: BTreeMap<String, Value>,
    /// Parameters of the program's own functions.
    pub(super) functions: BTreeMap<String, Vec<String>>,
    pub(super) parameters: BTreeSet<String>,
    /// The function whose body is walked.
    pub(super) function: String,
    /// Modules all of whose names were imported.
    pub(super) stars: Vec<String>,
    pub(super) pass: usize,
    pub(super) changed: bool,
    /// The last walk, which says what is done.
    pub(super) told: bool,
    pub(super) deeds: Vec<Deed>,
    /// The name that is being assigned, and whether its own value was asked for.
    pub(super) assigned: Option<String>,
    pub(super) own_value: bool,
    /// Texts come from outside, or are made of numbers.
    pub(super) source: bool,
    /// A text has `..`.
    pub(super) dots: bool,
    /// Something is written, deleted or run.
    pub(super) acts: bool,
    /// Something is written at a place that is only taken to lie inside.
    pub(super) loose: bool,
    pub(super) loops: bool,
    /// Texts that look like paths leading outside, and how often they stand there.
    pub(super) outside: BTreeMap<String, usize>,
    /// How often such a text is used where it can do nothing.
    pub(super) harmless: BTreeMap<String, usize>,
    pub(super) level: usize,
    pub(super) deep: bool,
    pub(super) fuel: usize,
}

impl Scan {
    fn new(language: Language, nested: usize, names: BTreeMap<String, Value>) -> Scan {
        Scan {
            language,
            nested,
            names,
            functions: BTreeMap::new(),
            parameters: BTreeSet::new(),
            function: String::new(),
            stars: Vec::new(),
            pass: 0,
            changed: false,
            told: false,
            deeds: Vec::new(),
            assigned: None,
            own_value: false,
            source: false,
            dots: false,
            acts: false,
            loose: false,
            loops: false,
            outside: BTreeMap::new(),
            harmless: BTreeMap::new(),
            level: 0,
            deep: false,
            fuel: FUEL,
        }
    }

    pub(super) fn is(&self, languages: &[Language]) -> bool {
        languages.contains(&self.language)
    }

    pub(super) fn note(&mut self, deed: Deed) {
        if matches!(deed, Deed::Unknown(_) | Deed::Run(_) | Deed::Shell(_) | Deed::Project) {
            self.acts = true;
        }
        if self.told {
            note(&mut self.deeds, deed);
        }
    }

    /// Gathers the texts that look like paths.
    fn texts(&mut self, tokens: &[Token], depth: usize) {
        for token in tokens {
            match token {
                Token::Text(pieces) | Token::Shell(pieces) => {
                    for (at, piece) in pieces.iter().enumerate() {
                        match piece {
                            Piece::Plain(text) => {
                                self.dots |= !text.contains([' ', '\n']) && climbs(text);
                                if at == 0 && matches!(token, Token::Text(_)) && leads_outside(text) {
                                    *self.outside.entry(text.clone()).or_default() += 1;
                                }
                            }
                            Piece::Code(code) if depth < MAX_LEVEL => self.texts(code, depth + 1),
                            Piece::Code(_) => {}
                        }
                    }
                }
                Token::Name(word) => {
                    self.loops |= matches!(
                        word.as_str(),
                        "while" | "for" | "foreach" | "loop" | "until" | "times" | "forEach"
                    );
                }
                _ => {}
            }
        }
    }

    fn walk(&mut self, tokens: &[Token]) {
        self.function.clear();
        self.harmless.clear();
        self.level = 0;
        self.block(&mut At { tokens, at: 0 }, "");
    }

    // Statements

    /// Items or statements up to what closes them.
    pub(super) fn block(&mut self, t: &mut At<'_>, close: &str) -> Vec<Arg> {
        let mut args: Vec<Arg> = Vec::new();
        self.level += 1;
        if self.level > MAX_LEVEL || self.fuel == 0 {
            self.deep = true;
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
                    } else if args.len() < 256 {
                        args.push(arg);
                    }
                }
            }
        }
        self.level -= 1;
        args
    }

    pub(super) fn statement(&mut self, t: &mut At<'_>, close: &str, before: &[Target]) -> Arg {
        self.level += 1;
        if self.level > MAX_LEVEL || self.fuel == 0 {
            self.deep = true;
            t.at = t.tokens.len();
        }
        let arg = self.said(t, close, before);
        self.level -= 1;
        arg
    }

    fn said(&mut self, t: &mut At<'_>, close: &str, before: &[Target]) -> Arg {
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
                && (self.language == Language::Python && close == ")" || self.language == Language::Lua) =>
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
                let key = bare.filter(|name| !name.starts_with('$') && self.language != Language::Python);
                let key = key.map_or(left.value, |name| Value::text(&name));
                let value = if t.eat("=") { right.value.or(self.expr(t).value) } else { right.value };
                Arg { name, key: Some(key), value, targets, literal: false }
            }
            ":" if self.language == Language::Python && bare.is_some() => {
                // `name: type = value`
                t.at += 1;
                let kind = self.expr(t);
                if t.eat("=") {
                    self.assigned(t, close, &left.targets);
                }
                plain(kind.value)
            }
            _ => {
                if t.eat_word("as") {
                    if self.language == Language::Python {
                        let target = self.operand(t);
                        self.bind_all(&target.targets, &left.value);
                    }
                }
                Arg { targets: left.targets, ..Arg::of(left.value) }
            }
        }
    }

    /// The right side of an assignment.
    fn assigned(&mut self, t: &mut At<'_>, close: &str, targets: &[Target]) -> Value {
        let outer = self.assigned.take();
        let outer_own = std::mem::take(&mut self.own_value);
        self.assigned = targets.first().map(|target| target.name.clone());
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
                (1, _) if self.language != Language::Python => items.into_iter().next().unwrap_or(Nothing),
                _ => List(items),
            };
        }
        if self.own_value && !matches!(value, List(_) | Map(_) | Number(_)) {
            value = Any(value.foreign());
        }
        self.assigned = outer;
        self.own_value = outer_own;
        self.bind_all(targets, &value);
        value
    }

    fn bind_all(&mut self, targets: &[Target], value: &Value) {
        for (at, target) in targets.iter().enumerate() {
            let value = match (value, &target.key) {
                (Thing(base), Some(key)) => self.member(&Thing(base.clone()), key),
                (Map(_), Some(key)) => value.under(&Value::text(key)),
                (_, Some(_)) => value.item(),
                (List(items), None) if targets.len() > 1 && items.len() == targets.len() => {
                    items.get(at).cloned().unwrap_or(Nothing)
                }
                (List(items), None) if targets.len() > 1 => {
                    // A list of rows: by column.
                    let column = |row: &Value| match row {
                        List(cells) if cells.len() == targets.len() => {
                            cells.get(at).cloned().unwrap_or(Nothing)
                        }
                        other => other.item(),
                    };
                    items.iter().map(column).fold(Nothing, Value::or)
                }
                (Part(..) | Texts(_) | Scratch | Number(_), None) => value.clone(),
                (other, None) if targets.len() > 1 => other.item(),
                _ => value.clone(),
            };
            self.bind(&target.name, value);
        }
    }

    /// Binds names to the items of a value, row by row.
    pub(super) fn bind_items(&mut self, targets: &[Target], value: &Value) {
        match value {
            List(rows) if targets.len() > 1 => {
                for row in rows.iter().take(64) {
                    self.bind_all(targets, row);
                }
            }
            Map(pairs) if targets.len() > 1 => {
                for (key, value) in pairs.iter().take(64) {
                    self.bind_all(targets, &List(vec![key.clone(), value.clone()]));
                }
            }
            _ => {
                let item = value.item();
                self.bind_all(targets, &item);
            }
        }
    }

    pub(super) fn bind(&mut self, name: &str, value: Value) {
        if self.told || value == Nothing {
            return;
        }
        self.spend(&value);
        // One item of a list or map.
        let (name, value) = match name.strip_suffix("[]") {
            Some(name) => (name, List(vec![value])),
            None => (name, value),
        };
        let old = self.names.get(name).cloned().unwrap_or(Nothing);
        let mut new = match &old {
            Any(foreign) if self.pass > 2 => Any(*foreign || value.foreign()),
            _ => old.clone().or(value),
        };
        if new != old {
            if self.pass > 2 {
                new = Any(new.foreign());
            }
            if new != old {
                self.changed = true;
                self.names.insert(name.to_owned(), new);
            }
        }
    }

    pub(super) fn spend(&mut self, value: &Value) {
        fn size(value: &Value) -> usize {
            match value {
                Texts(texts) => texts.iter().map(|text| text.len() + 16).sum(),
                List(items) => items.iter().map(size).sum::<usize>() + 16,
                Map(pairs) => pairs.iter().map(|(key, value)| size(key) + size(value)).sum::<usize>() + 16,
                Part(text, _) | Thing(text) => text.len() + 16,
                _ => 16,
            }
        }
        self.fuel = self.fuel.saturating_sub(size(value));
    }

    /// Statements that begin with a word of their own. `None` is any other.
    fn keyword(&mut self, t: &mut At<'_>, close: &str) -> Option<Value> {
        use Language::{Lua, Node, Perl, Php, Python, Ruby};
        let word = t.word();
        // `{ import: 1 }`, `x.import`
        if word.is_empty()
            || matches!(t.ahead(1), Some(Token::Op(":" | "=>" | "=" | "." | ")" | ",")) if word != "else" && word != "try" && word != "do" && word != "lambda")
        {
            return None;
        }
        match (self.language, word) {
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
            (Python, "def")
            | (Php | Node | Lua, "function")
            | (Perl, "sub")
            | (Ruby, "def")
            | (Php, "fn") => {
                return self.function(t);
            }
            (Python | Ruby, "class") | (Ruby, "module") | (Php | Perl, "namespace" | "package") => {
                t.at += 2;
            }
            (Python | Ruby | Lua | Node | Perl | Php, "for" | "foreach") => self.for_loop(t),
            (_, "return" | "yield") => {
                t.at += 1;
                let value = self.statement(t, "", &[]).value;
                let name = format!("{}()", self.function);
                self.bind(&name, value.clone());
                return Some(value);
            }
            (Ruby, "include" | "extend") => {
                t.at += 1;
                self.stars.push(t.word().to_owned());
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
    fn skipped(&self, t: &At<'_>) -> bool {
        const WORDS: &str = "const let var my our local export else elsif elseif begin do then end async global nonlocal static public private del raise throw assert if unless while until try ensure rescue finally final state";
        let named = matches!(t.ahead(1), Some(Token::Op(":" | "=>" | "=" | "." | ")" | ",")))
            && !matches!(t.word(), "else" | "try" | "do");
        let python = self.language == Language::Python
            && matches!(t.word(), "if" | "while" | "else" | "try" | "finally" | "async");
        !t.word().is_empty()
            && !named
            && !python
            && !self.is_call(t)
            && WORDS.split_whitespace().any(|word| word == t.word())
    }

    /// `do "file"` and `assert($code)` are calls where the language has them.
    fn is_call(&self, t: &At<'_>) -> bool {
        match t.word() {
            "do" => {
                self.language == Language::Perl && matches!(t.ahead(1), Some(Token::Text(_) | Token::Name(_)))
            }
            "assert" => self.is(&[Language::Php, Language::Lua]),
            _ => false,
        }
    }

    fn function(&mut self, t: &mut At<'_>) -> Option<Value> {
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
        } else if self.language == Language::Ruby {
            while !t.word().is_empty() && matches!(t.ahead(1), Some(Token::Op(",") | Token::Line)) {
                parameters.push(t.word().to_owned());
                t.at += 1;
                t.eat(",");
            }
        }
        if name.is_empty() {
            return Some(self.postfix(t, Closure(parameters), None).value);
        }
        if parameters.first().is_some_and(|first| first == "self" || first == "cls") {
            parameters.remove(0);
        }
        if !self.told {
            self.parameters.extend(parameters.iter().cloned());
            self.functions.insert(name.clone(), parameters);
        }
        self.function = name;
        Some(Nothing)
    }

    fn for_loop(&mut self, t: &mut At<'_>) {
        use Language::{Perl, Php};
        t.at += 1;
        t.eat_word("await");
        if self.language == Php {
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
        if self.language == Perl {
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

    // Imports

    fn dotted(t: &mut At<'_>) -> String {
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

    fn import_python(&mut self, t: &mut At<'_>) {
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

    fn import_from(&mut self, t: &mut At<'_>) {
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
                self.stars.push(module.clone());
            }
            let name = t.word();
            if name.is_empty() {
                break;
            }
            t.at += 1;
            let full = format!("{module}.{name}");
            connects |= calls::meaning(self.language, &format!("={full}")) == Some("connect");
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

    fn import_node(&mut self, t: &mut At<'_>) {
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
    fn import(&mut self, module: &str) {
        let plain = module.strip_prefix("node:").unwrap_or(module);
        let mut name = plain;
        let mut own = false;
        loop {
            match calls::meaning(self.language, &format!("={name}")) {
                Some("connect") => return self.note(Deed::Connect),
                Some("own") => own = true,
                _ => {}
            }
            // `urllib.parse` is of `urllib`.
            let cut = if self.language == Language::Python { name.rfind('.') } else { None };
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
        if self.language == Language::Node && path && module.ends_with(".json") {
            self.touch('r', &Value::text(module));
            return Any(true);
        }
        if path {
            self.touch('r', &Value::text(module));
            self.note(Deed::Project);
            return Any(false);
        }
        self.import(module);
        Thing(canonical(module))
    }

    // Expressions

    pub(super) fn expr(&mut self, t: &mut At<'_>) -> Operand {
        self.level += 1;
        if self.level > MAX_LEVEL || self.fuel == 0 {
            self.deep = true;
            t.at = t.tokens.len();
        }
        let mut left = self.term(t);
        loop {
            let joins = match self.language {
                Language::Perl | Language::Php => t.op() == ".",
                Language::Lua => t.op() == "..",
                _ => t.op() == "+",
            };
            match (t.op(), t.word()) {
                _ if joins => {
                    t.at += 1;
                    t.lines();
                    let right = self.term(t).value;
                    self.spend(&left.value);
                    // `directory + '/name'` is no path of its own.
                    let begun = match &left.value {
                        Texts(texts) => texts.iter().all(|text| !text.is_empty()),
                        Part(start, _) => !start.is_empty(),
                        other => other.foreign(),
                    };
                    if begun {
                        self.harm_none(t.tokens.get(t.at.wrapping_sub(1)));
                    }
                    left = Operand::of(left.value.then(&right));
                }
                ("?", _) => {
                    t.at += 1;
                    t.lines();
                    let yes = self.expr(t).value;
                    t.lines();
                    let no = if t.eat(":") {
                        t.lines();
                        self.expr(t).value
                    } else {
                        Nothing
                    };
                    left = Operand::of(yes.or(no));
                }
                (_, "if") if self.language == Language::Python => {
                    t.at += 1;
                    t.lines();
                    self.expr(t);
                    t.lines();
                    if t.eat_word("else") {
                        t.lines();
                        let no = self.expr(t).value;
                        left = Operand::of(left.value.or(no));
                    }
                }
                ("&&" | "||" | "??", _) | (_, "and" | "or") => {
                    t.at += 1;
                    t.lines();
                    let right = self.expr(t).value;
                    left = Operand::of(left.value.or(right));
                }
                ("=>", _) if self.language == Language::Node => {
                    t.at += 1;
                    t.lines();
                    let parameters: Vec<String> =
                        left.targets.into_iter().map(|target| target.name).collect();
                    self.parameters.extend(parameters.iter().cloned());
                    self.expr(t);
                    left = Operand::of(Closure(parameters));
                }
                ("<<", _) if self.language == Language::Ruby => {
                    t.at += 1;
                    let right = self.term(t).value;
                    for target in &left.targets {
                        self.bind(&target.name, List(vec![right.clone()]));
                    }
                }
                ("==" | "!=" | "===" | "!==" | "<" | ">" | "<=" | ">=" | "=~" | "!~" | "<=>" | "~=", _)
                | (_, "in" | "is" | "eq" | "ne" | "lt" | "gt" | "le" | "ge" | "cmp" | "instanceof") => {
                    self.harm_none(t.tokens.get(t.at.wrapping_sub(1)));
                    t.at += 1;
                    t.lines();
                    self.term(t);
                    self.harm_none(t.tokens.get(t.at.wrapping_sub(1)));
                    left = Operand::of(Number(None));
                }
                ("+" | "-" | "&" | "|" | "^" | "<<" | ">>" | ">>>" | ".." | "...", _) | (_, "x") => {
                    // `'.' x 2`
                    if t.word() == "x" && self.language != Language::Perl {
                        break;
                    }
                    t.at += 1;
                    t.lines();
                    let right = self.term(t).value;
                    self.source |= t.tokens.get(t.at.wrapping_sub(2)) == Some(&Token::Name("x".into()));
                    left = Operand::of(match (&left.value, right) {
                        (Number(_), Number(_)) => Number(None),
                        (one, other) => Any(one.foreign() || other.foreign()),
                    });
                }
                _ => break,
            }
        }
        self.level -= 1;
        left
    }

    fn term(&mut self, t: &mut At<'_>) -> Operand {
        let mut left = self.operand(t);
        loop {
            let op = t.op();
            if !matches!(op, "/" | "*" | "%" | "//" | "**") {
                return left;
            }
            t.at += 1;
            t.lines();
            let right = self.operand(t).value;
            self.spend(&left.value);
            let (times, right) = match (op, &left.value, &right) {
                // `2 * 'x'`
                ("*", Number(_), Texts(_)) => (right, left.value),
                _ => (left.value, right),
            };
            left = Operand::of(match (op, &times) {
                ("/", Texts(_) | Part(..) | Scratch) => self.join(times, &right),
                ("/", Any(foreign)) => match &right {
                    // A number or a path, from who knows where.
                    Texts(_) | Part(..) => Any(*foreign || right.foreign()),
                    _ => Any(*foreign),
                },
                ("%", Texts(_)) => self.formatted(&times, &right),
                ("*", Texts(_)) => match (times.only(), right.number()) {
                    (Some(text), Some(count)) if count < 64 && text.len() < 64 => {
                        Value::text(&text.repeat(usize::try_from(count).unwrap_or(0)))
                    }
                    (text, _) => {
                        self.source |= text.is_none_or(|text| text.contains(['.', '/']) && text.len() < 3);
                        Any(false)
                    }
                },
                _ => Number(None),
            });
        }
    }

    /// The second below the first. A second that is not known may be absolute.
    pub(super) fn join(&mut self, first: Value, second: &Value) -> Value {
        if matches!(second, Any(_) | Nothing | Thing(_)) {
            self.loose = true;
        }
        first.below(second)
    }

    fn operand(&mut self, t: &mut At<'_>) -> Operand {
        use Language::{Node, Perl, Php, Python, Ruby};
        // Signs and words before an operand.
        for _ in 0..64 {
            let prefix = match t.peek() {
                Some(Token::Op(
                    "-" | "+" | "!" | "~" | "*" | "**" | "&" | "\\" | "..." | "@" | "++" | "--" | "#" | "$"
                    | "<" | ">" | "?" | "|" | "^" | "::",
                )) => true,
                Some(Token::Name(word)) => {
                    matches!(
                        word.as_str(),
                        "not"
                            | "await"
                            | "new"
                            | "my"
                            | "our"
                            | "typeof"
                            | "void"
                            | "async"
                            | "in"
                            | "is"
                            | "and"
                            | "or"
                            | "else"
                            | "if"
                            | "unless"
                            | "defined"
                            | "scalar"
                            | "then"
                            | "do"
                            | "local"
                    ) && !matches!(t.ahead(1), Some(Token::Op("=" | ":" | "." | ")" | ",")))
                        && !self.is_call(t)
                }
                _ => false,
            };
            if !prefix {
                break;
            }
            t.at += 1;
        }
        let Some(token) = t.peek() else { return Operand::of(Any(false)) };
        match token {
            Token::Line => Operand::of(Any(false)),
            Token::Number(number) => {
                t.at += 1;
                self.postfix(t, Number(*number), None)
            }
            Token::Regex => {
                t.at += 1;
                self.postfix(t, Any(false), None)
            }
            Token::Shell(pieces) => {
                t.at += 1;
                let command = self.pieces(pieces);
                self.shell(&command);
                self.postfix(t, Any(true), None)
            }
            Token::Text(pieces) => {
                t.at += 1;
                let mut value = self.pieces(pieces);
                // `'a' 'b'`
                if self.is(&[Python, Ruby]) {
                    loop {
                        let start = t.at;
                        if self.level > 2 && self.language == Python {
                            t.lines();
                        }
                        let Some(Token::Text(pieces)) = t.peek() else {
                            t.at = start;
                            break;
                        };
                        t.at += 1;
                        let next = self.pieces(pieces);
                        self.spend(&value);
                        value = value.then(&next);
                    }
                }
                self.postfix(t, value, None)
            }
            Token::Op("(") => {
                t.at += 1;
                let args = self.block(t, ")");
                let comma = matches!(t.tokens.get(t.at.wrapping_sub(2)), Some(Token::Op(",")));
                let targets: Vec<Target> =
                    args.iter().flat_map(|arg| arg.targets.iter().cloned()).take(16).collect();
                let single = args.len() == 1 && !comma && args.iter().all(|arg| arg.key.is_none());
                let value = if single {
                    args.into_iter().next().map_or(Nothing, |arg| arg.value)
                } else {
                    collection(args)
                };
                let start = t.at;
                let mut operand = self.postfix(t, value, None);
                if t.at == start {
                    operand.targets = targets;
                }
                operand
            }
            Token::Op("[") => {
                t.at += 1;
                let args = self.block(t, "]");
                let targets = args.iter().flat_map(|arg| arg.targets.iter().cloned()).take(16).collect();
                let value = collection(args);
                let mut operand = self.postfix(t, value, None);
                operand.targets = targets;
                operand
            }
            Token::Op("{") => {
                t.at += 1;
                let args = self.block(t, "}");
                let targets = args.iter().flat_map(|arg| {
                    arg.targets.iter().map(|target| Target {
                        key: target.key.clone().or_else(|| Some(target.name.clone())),
                        name: target.name.clone(),
                    })
                });
                let targets = targets.take(16).collect();
                let value = collection(args);
                let mut operand = self.postfix(t, value, None);
                operand.targets = targets;
                operand
            }
            Token::Op(_) => Operand::of(Any(false)),
            Token::Name(word) => {
                if self.language == Python && word == "lambda" {
                    t.at += 1;
                    let mut parameters = Vec::new();
                    while !t.eat(":") && t.peek().is_some() {
                        if !t.word().is_empty() {
                            parameters.push(t.word().to_owned());
                        }
                        t.at += 1;
                    }
                    self.parameters.extend(parameters.iter().cloned());
                    self.expr(t);
                    return Operand::of(Closure(parameters));
                }
                if (matches!(word.as_str(), "function" | "fn") && self.is(&[Node, Php, Language::Lua]))
                    || (word == "sub" && self.language == Perl)
                {
                    return Operand::of(self.function(t).unwrap_or(Nothing));
                }
                if self.language == Python && word == "for" {
                    self.for_loop(t);
                    return Operand::of(Nothing);
                }
                t.at += 1;
                let value = self.named(word);
                let mut operand = self.postfix(t, value, Some(word.clone()));
                if self.language == Node && t.op() == "=>" && operand.targets.is_empty() {
                    operand.targets.push(Target { name: word.clone(), key: None });
                }
                if self.language == Ruby && operand.targets.is_empty() && t.op() == "<<" {
                    operand.targets.push(Target { name: word.clone(), key: None });
                }
                operand
            }
        }
    }

    // What is left

    /// Paths that the program names and that no call explains.
    fn left_over(&mut self) {
        let connects = self.deeds.contains(&Deed::Connect);
        for (text, count) in std::mem::take(&mut self.outside) {
            let used = self.harmless.get(&text).copied().unwrap_or(0);
            let plain = text.strip_prefix("file://").unwrap_or(&text);
            let explained = self.deeds.iter().any(|deed| match deed {
                Deed::Write(path) | Deed::Delete(path) | Deed::Enter(path) => path.begins(plain),
                Deed::Read(path) | Deed::List(path) => !self.loose && path.begins(plain),
                Deed::Shell(command) => command.contains(plain),
                Deed::Run(words) => words.iter().any(|word| word.contains(plain)),
                Deed::Connect | Deed::Project | Deed::Unknown(_) => false,
            });
            // `'/users'` behind an address.
            let route = connects && !is_root(plain);
            if !explained && used < count && !route {
                let path = Path::Known(plain.to_owned());
                note(
                    &mut self.deeds,
                    if self.acts || self.loose { Deed::Write(path) } else { Deed::Read(path) },
                );
            }
        }
    }

    /// A language that we do not know: its texts, and words that sound like deeds.
    fn other(&mut self, tokens: &[Token]) {
        const WORDS: [&str; 14] = [
            "system", "exec", "unlink", "remove", "open", "delete", "write", "spawn", "popen", "eval",
            "rename", "shell", "run", "fork",
        ];
        for token in tokens {
            if let Token::Name(name) = token {
                let name = name.to_ascii_lowercase();
                if WORDS.iter().any(|word| name.contains(word)) {
                    note(&mut self.deeds, EVALUATES);
                }
            }
        }
        for text in self.outside.keys() {
            note(&mut self.deeds, Deed::Write(Path::Known(text.clone())));
        }
    }
}

impl Path {
    fn begins(&self, text: &str) -> bool {
        match self {
            Path::Known(path) | Path::Below(path) => {
                path.starts_with(text)
                    || (path.len() > 1 && text.starts_with(path.as_str()) && matches!(self, Path::Below(_)))
            }
            Path::Unknown => false,
        }
    }
}

/// A list or a map of what stands in brackets.
fn collection(args: Vec<Arg>) -> Value {
    if args.iter().any(|arg| arg.key.is_some()) {
        return Map(args.into_iter().take(128).map(|arg| (arg.key.unwrap_or(Nothing), arg.value)).collect());
    }
    List(args.into_iter().map(|arg| arg.value).filter(|value| *value != Nothing).take(128).collect())
}

/// Looks like a path that leads out of the directory, and like nothing else.
fn leads_outside(text: &str) -> bool {
    const ODD: [char; 19] =
        ['<', '>', '|', '(', ')', '^', '$', '"', '\'', ';', '&', '#', '`', '!', '\n', '\t', '\\', '\r', '\0'];
    if text.len() > 300 || text.contains(ODD) {
        return false;
    }
    if text.starts_with("file://") {
        return true;
    }
    if text == "/dev/null" || text.contains("://") || (text.contains('?') && text.contains('=')) {
        return false;
    }
    let named =
        |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '~'));
    let absolute = text.strip_prefix('/').is_some_and(named);
    let home =
        text == "~" || text.strip_prefix('~').is_some_and(|rest| rest.starts_with('/') || rest.contains('/'));
    let spaces = text.contains(' ') && !is_root(text);
    (absolute || home || climbs(text)) && !spaces
}

/// Begins with a directory that is at the top of most machines.
fn is_root(path: &str) -> bool {
    const ROOTS: &str = "bin boot dev etc home lib lib64 media mnt opt proc root run sbin srv sys tmp usr var Users Volumes private Library Applications data work workspace";
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    path.starts_with("~/") || climbs(path) || ROOTS.split(' ').any(|root| root == first)
}
