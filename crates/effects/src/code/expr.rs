//! The expressions of a program: what they come to, and which calls they make.

use super::calls::{self, Meaning, Special};
use super::lex::{Piece, Token};
use super::names::canonical;
use super::scan::{EVALUATES, RUNS, Scan};
use super::value::Value;
use super::walk::{Arg, At, MAX_ARGS, Target, collection};
use crate::language::Language;
use Value::{Any, Closure, List, Nothing, Number, Part, Scratch, Texts, Thing};

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

/// What is called.
pub(super) struct Callee {
    pub(super) value: Value,
    /// The object whose method it is.
    pub(super) object: Option<Value>,
    /// The name of the object's variable.
    pub(super) variable: Option<String>,
    pub(super) name: String,
}

impl Scan {
    pub(super) fn expr(&mut self, t: &mut At<'_>) -> Operand {
        if !self.bounds.enter() {
            t.at = t.tokens.len();
        }
        let mut left = self.term(t);
        loop {
            let start = t.at;
            left = if self.joins(t) { self.joined(t, left.value) } else { self.binary(t, left) };
            if t.at == start {
                break;
            }
        }
        self.bounds.leave();
        left
    }

    /// Whether texts are put together here.
    fn joins(&self, t: &At<'_>) -> bool {
        match self.language() {
            Language::Perl | Language::Php => t.op() == ".",
            Language::Lua => t.op() == "..",
            _ => t.op() == "+",
        }
    }

    fn joined(&mut self, t: &mut At<'_>, left: Value) -> Operand {
        t.at += 1;
        t.lines();
        let right = self.term(t).value;
        self.bounds.spend(&left);
        // `directory + '/name'` is not a path of its own.
        let begun = match &left {
            Texts(texts) => texts.iter().all(|text| !text.is_empty()),
            Part(start, _) => !start.is_empty(),
            Scratch => !right.only().is_none_or(super::climbs),
            other => other.foreign(),
        };
        if begun {
            self.harm_none(t.tokens.get(t.at.wrapping_sub(1)));
        }
        Operand::of(left.then(&right))
    }

    /// What follows an operand, if anything does that goes with it.
    fn binary(&mut self, t: &mut At<'_>, left: Operand) -> Operand {
        match (t.op(), t.word()) {
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
                Operand::of(yes.or(no))
            }
            (_, "if") if self.language() == Language::Python => {
                t.at += 1;
                t.lines();
                self.expr(t);
                t.lines();
                if !t.eat_word("else") {
                    return left;
                }
                t.lines();
                let no = self.expr(t).value;
                Operand::of(left.value.or(no))
            }
            ("&&" | "||" | "??", _) | (_, "and" | "or") => {
                t.at += 1;
                t.lines();
                let right = self.expr(t).value;
                Operand::of(left.value.or(right))
            }
            ("=>", _) if self.language() == Language::Node => {
                t.at += 1;
                t.lines();
                let parameters: Vec<String> = left.targets.into_iter().map(|target| target.name).collect();
                self.bindings.add_parameters(&parameters);
                self.expr(t);
                Operand::of(Closure(parameters))
            }
            ("<<", _) if self.language() == Language::Ruby => {
                t.at += 1;
                let right = self.term(t).value;
                for target in &left.targets {
                    self.bind(&target.name, List(vec![right.clone()]));
                }
                left
            }
            ("==" | "!=" | "===" | "!==" | "<" | ">" | "<=" | ">=" | "=~" | "!~" | "<=>" | "~=", _)
            | (_, "in" | "is" | "eq" | "ne" | "lt" | "gt" | "le" | "ge" | "cmp" | "instanceof") => {
                self.harm_none(t.tokens.get(t.at.wrapping_sub(1)));
                t.at += 1;
                t.lines();
                self.term(t);
                self.harm_none(t.tokens.get(t.at.wrapping_sub(1)));
                Operand::of(Number(None))
            }
            ("+" | "-" | "&" | "|" | "^" | "<<" | ">>" | ">>>" | ".." | "...", _) | (_, "x") => {
                // `'.' x 2`
                if t.word() == "x" && self.language() != Language::Perl {
                    return left;
                }
                t.at += 1;
                t.lines();
                let right = self.term(t).value;
                self.doubts
                    .unknown_texts(t.tokens.get(t.at.wrapping_sub(2)) == Some(&Token::Name("x".into())));
                Operand::of(match (&left.value, right) {
                    (Number(_), Number(_)) => Number(None),
                    (one, other) => Any(one.foreign() || other.foreign()),
                })
            }
            _ => left,
        }
    }

    pub(super) fn term(&mut self, t: &mut At<'_>) -> Operand {
        let mut left = self.operand(t);
        loop {
            let op = t.op();
            if !matches!(op, "/" | "*" | "%" | "//" | "**") {
                return left;
            }
            t.at += 1;
            t.lines();
            let right = self.operand(t).value;
            self.bounds.spend(&left.value);
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
                        self.doubts.unknown_texts(
                            text.is_none_or(|text| text.contains(['.', '/']) && text.len() < 3),
                        );
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
            self.doubts.loose_writes(true);
        }
        first.below(second)
    }

    pub(super) fn operand(&mut self, t: &mut At<'_>) -> Operand {
        use Language::{Lua, Node, Perl, Php, Python, Ruby};
        self.prefixes(t);
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
                self.shell(&command, &[]);
                self.postfix(t, Any(true), None)
            }
            Token::Text(_) => {
                let value = self.text(t);
                self.postfix(t, value, None)
            }
            Token::Op(open @ ("(" | "[" | "{")) => self.bracket(t, open),
            Token::Op(_) => Operand::of(Any(false)),
            Token::Name(word) => {
                if self.language() == Python && word == "lambda" {
                    return self.lambda(t);
                }
                if (matches!(word.as_str(), "function" | "fn") && self.is(&[Node, Php, Lua]))
                    || (word == "sub" && self.language() == Perl)
                {
                    return Operand::of(self.function(t));
                }
                if self.language() == Python && word == "for" {
                    self.for_loop(t);
                    return Operand::of(Nothing);
                }
                t.at += 1;
                let value = self.named(word);
                let mut operand = self.postfix(t, value, Some(word.clone()));
                if self.language() == Node && t.op() == "=>" && operand.targets.is_empty() {
                    operand.targets.push(Target { name: word.clone(), key: None });
                }
                if self.language() == Ruby && operand.targets.is_empty() && t.op() == "<<" {
                    operand.targets.push(Target { name: word.clone(), key: None });
                }
                operand
            }
        }
    }

    /// Signs and words before an operand.
    fn prefixes(&self, t: &mut At<'_>) {
        loop {
            let prefix = match t.peek() {
                Some(Token::Op(op)) => matches!(
                    *op,
                    "-" | "+"
                        | "!"
                        | "~"
                        | "*"
                        | "**"
                        | "&"
                        | "\\"
                        | "..."
                        | "@"
                        | "++"
                        | "--"
                        | "#"
                        | "$"
                        | "<"
                        | ">"
                        | "?"
                        | "|"
                        | "^"
                        | "::"
                ),
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
                return;
            }
            t.at += 1;
        }
    }

    /// A text, and those that stand right behind it.
    fn text(&mut self, t: &mut At<'_>) -> Value {
        let mut value: Option<Value> = None;
        loop {
            let start = t.at;
            if value.is_some() && self.bounds.level() > 2 && self.language() == Language::Python {
                t.lines();
            }
            let Some(Token::Text(pieces)) = t.peek() else {
                t.at = start;
                break;
            };
            t.at += 1;
            let next = self.pieces(pieces);
            value = Some(match value {
                None => next,
                Some(before) => before.then(&next),
            });
            if !self.is(&[Language::Python, Language::Ruby]) {
                break;
            }
        }
        value.unwrap_or(Nothing)
    }

    /// A list, a map, a block, or one value in brackets.
    fn bracket(&mut self, t: &mut At<'_>, open: &str) -> Operand {
        t.at += 1;
        let args = self.block(
            t,
            match open {
                "(" => ")",
                "[" => "]",
                _ => "}",
            },
        );
        let comma = matches!(t.tokens.get(t.at.wrapping_sub(2)), Some(Token::Op(",")));
        let single = open == "(" && args.len() == 1 && !comma && args.iter().all(|arg| arg.key.is_none());
        let targets = args.iter().flat_map(|arg| arg.targets.iter()).map(|target| Target {
            // `{ name }` takes what has this name.
            key: target.key.clone().or_else(|| Some(target.name.clone()).filter(|_| open == "{")),
            name: target.name.clone(),
        });
        let targets = targets.take(16).collect();
        let value =
            if single { args.into_iter().next().map_or(Nothing, |arg| arg.value) } else { collection(args) };
        // The body of something.
        let body = open == "{" && matches!(value, List(_)) && !self.is(&[Language::Python, Language::Lua]);
        let value = if body { Any(false) } else { value };
        let start = t.at;
        let mut operand = self.postfix(t, value, None);
        if t.at == start {
            operand.targets = targets;
        }
        operand
    }

    fn lambda(&mut self, t: &mut At<'_>) -> Operand {
        t.at += 1;
        let mut parameters = Vec::new();
        while !t.eat(":") && t.peek().is_some() {
            if !t.word().is_empty() {
                parameters.push(t.word().to_owned());
            }
            t.at += 1;
            if t.eat("=") {
                self.expr(t);
            }
        }
        self.bindings.add_parameters(&parameters);
        self.expr(t);
        Operand::of(Closure(parameters))
    }

    /// What stands behind an operand: members, calls, indexes.
    pub(super) fn postfix(&mut self, t: &mut At<'_>, value: Value, name: Option<String>) -> Operand {
        use Language::{Perl, Ruby};
        let mut target = name.clone();
        let mut callee = Callee { value, object: None, variable: None, name: name.unwrap_or_default() };
        while self.goes_on(t) {
            let op = t.op();
            let hash = op == "{"
                && self.language() == Perl
                && (callee.name.starts_with('$')
                    || matches!(t.tokens.get(t.at.wrapping_sub(1)), Some(Token::Op("->" | "]" | "}"))));
            let list = self.language() == Ruby
                && matches!(&callee.value, Thing(name) if name != "Dir")
                && self.known(&callee);
            if self.is_member(t) {
                t.at += 1;
                t.eat(".");
                if let Some(Token::Name(name)) = t.peek() {
                    t.at += 1;
                    let object = std::mem::replace(&mut callee.value, Nothing);
                    callee.value = self.member(&object, name);
                    callee.object = Some(object);
                    callee.variable = target.take().filter(|target| !target.starts_with('.'));
                    name.clone_into(&mut callee.name);
                    target = Some(format!(".{name}"));
                    // Brackets need not be.
                    let called =
                        self.is(&[Ruby, Perl]) && !matches!(t.op(), "(" | "=") && !self.commands(t, &callee);
                    if called && self.known(&callee) {
                        callee = self.called(t, callee, Vec::new());
                        target = None;
                    }
                } else if !matches!(t.op(), "(" | "[" | "{") {
                    break;
                }
            } else if op == "(" {
                t.at += 1;
                let args = self.block(t, ")");
                callee = self.called(t, callee, args);
                target = None;
            } else if (op == "[" && !list) || hash {
                let value = self.indexed(t, &callee.value, hash);
                callee = Callee { value, object: None, variable: None, name: String::new() };
                target = target.map(|name| format!("{}[]", name.trim_end_matches("[]")));
            } else if target.is_some() && self.commands(t, &callee) {
                let args = self.arguments(t);
                callee = self.called(t, callee, args);
                target = None;
            } else {
                break;
            }
        }
        // `exec {'sh'} 'sh', '-c', 'id'`
        if self.language() == Perl && t.op() == "{" && matches!(callee.name.as_str(), "exec" | "system") {
            self.note(RUNS);
        }
        // `unlink for @files`, `fork`: a call without a word.
        let bare = self.is(&[Perl, Ruby])
            && target.is_some()
            && callee.object.is_none()
            && !matches!(t.op(), "=" | "=>" | ":" | "(" | "{");
        if bare && matches!(callee.value, Thing(_)) && self.known(&callee) {
            let args = if self.language() == Perl { vec![Arg::of(self.named("$_"))] } else { Vec::new() };
            return Operand::of(self.call(&callee, args));
        }
        // A function that is named may be called where we do not see it.
        if let (Thing(name), Some(_)) = (&callee.value, &callee.object) {
            self.doubts.acting(self.meaning(name, false).0.is_some_and(Meaning::changes));
        }
        let targets = target.into_iter().map(|name| Target { name, key: None }).collect();
        Operand { value: callee.value, targets }
    }

    /// Whether the line goes on; a chain of members may do so in the next.
    fn goes_on(&self, t: &mut At<'_>) -> bool {
        let start = t.at;
        t.lines();
        let chain = match self.language() {
            Language::Lua => false,
            Language::Perl | Language::Php => t.op() == "->",
            _ => matches!(t.op(), "." | "?."),
        };
        if t.at > start && !(chain && matches!(t.ahead(1), Some(Token::Name(_)))) {
            t.at = start;
            return false;
        }
        t.peek().is_some()
    }

    fn is_member(&self, t: &At<'_>) -> bool {
        let op = t.op();
        match self.language() {
            Language::Perl | Language::Php => matches!(op, "->" | "::" | "?."),
            Language::Ruby => {
                matches!(op, "." | "::") || (op == "&" && matches!(t.ahead(1), Some(Token::Op("."))))
            }
            Language::Lua => {
                let method = matches!(
                    (t.ahead(1), t.ahead(2)),
                    (Some(Token::Name(_)), Some(Token::Op("(") | Token::Text(_)))
                );
                op == "." || (op == ":" && method)
            }
            _ => matches!(op, "." | "?."),
        }
    }

    fn called(&mut self, t: &mut At<'_>, callee: Callee, args: Vec<Arg>) -> Callee {
        // Among those that were left out one may say what is done: `shell=True`.
        if args.len() > MAX_ARGS {
            self.bounds.exceed();
        }
        let value = self.call(&callee, args);
        self.block_parameters(t, callee, value)
    }

    /// Arguments without brackets.
    fn arguments(&mut self, t: &mut At<'_>) -> Vec<Arg> {
        let mut args = Vec::new();
        loop {
            let start = t.at;
            let token = t.peek();
            let mut arg = self.statement(t, ")", &[]);
            arg.literal = t.at == start + 1 && matches!(token, Some(Token::Text(_)));
            args.push(arg);
            if t.at == start || !t.eat(",") {
                return args;
            }
            if args.len() > MAX_ARGS {
                self.bounds.exceed();
                return args;
            }
            t.lines();
        }
    }

    /// `[key]`, and `{key}` of perl.
    fn indexed(&mut self, t: &mut At<'_>, value: &Value, hash: bool) -> Value {
        let ahead = |count: usize, op: &str| matches!(t.ahead(count), Some(Token::Op(own)) if *own == op);
        // `[::-1]`
        self.doubts.unknown_texts(
            (ahead(1, "::") && ahead(2, "-")) || (ahead(1, ":") && ahead(2, ":") && ahead(3, "-")),
        );
        t.at += 1;
        let args = self.block(t, if hash { "}" } else { "]" });
        let bare = |arg: &Arg| arg.targets.first().filter(|_| hash).map(|target| Value::text(&target.name));
        let key = args.into_iter().next().map_or(Nothing, |arg| bare(&arg).unwrap_or(arg.value));
        self.index(value, &key)
    }

    /// `each { |x| … }`, `each do |x|`
    pub(super) fn block_parameters(&mut self, t: &mut At<'_>, callee: Callee, value: Value) -> Callee {
        if self.language() == Language::Ruby
            && (t.op() == "{" || t.word() == "do")
            && matches!(t.ahead(1), Some(Token::Op("|")))
        {
            let brace = t.op() == "{";
            t.at += 2;
            let mut targets = Vec::new();
            while !t.eat("|") && t.peek().is_some() {
                if !t.word().is_empty() {
                    targets.push(Target { name: t.word().to_owned(), key: None });
                }
                t.at += 1;
            }
            let items = match callee.object {
                Some(Thing(_)) | None => value.clone(),
                Some(object) => object,
            };
            self.bind_items(&targets, &items);
            if brace {
                self.block(t, "}");
            }
        }
        Callee { value, object: None, variable: None, name: String::new() }
    }

    pub(super) fn known(&self, callee: &Callee) -> bool {
        let full = match &callee.value {
            Thing(name) => calls::meaning(self.language(), name).is_some(),
            _ => false,
        };
        full || (callee.object.is_some()
            && calls::meaning(self.language(), &format!(".{}", callee.name)).is_some())
    }

    /// Whether arguments follow without brackets.
    pub(super) fn commands(&self, t: &At<'_>, callee: &Callee) -> bool {
        use Language::{Perl, Php, Ruby};
        if callee.name.starts_with('$') && callee.object.is_none()
            || matches!(
                callee.name.as_str(),
                "case"
                    | "from"
                    | "of"
                    | "in"
                    | "return"
                    | "throw"
                    | "typeof"
                    | "export"
                    | "default"
                    | "else"
                    | "extends"
                    | "when"
                    | "then"
                    | "and"
                    | "or"
                    | "not"
                    | "yield"
                    | "raise"
                    | "if"
                    | "unless"
                    | "while"
                    | "until"
            )
        {
            return false;
        }
        match t.peek() {
            Some(Token::Text(_) | Token::Shell(_)) => true,
            Some(Token::Name(name)) => {
                let php = self.language() == Php && self.known(callee);
                (php || self.is(&[Ruby, Perl]))
                    && !matches!(
                        name.as_str(),
                        "if" | "unless"
                            | "while"
                            | "until"
                            | "and"
                            | "or"
                            | "not"
                            | "in"
                            | "do"
                            | "then"
                            | "x"
                            | "eq"
                            | "ne"
                            | "lt"
                            | "gt"
                            | "le"
                            | "ge"
                            | "cmp"
                            | "for"
                            | "foreach"
                            | "is"
                            | "as"
                            | "else"
                            | "end"
                            | "rescue"
                    )
            }
            Some(Token::Op("[" | "*")) => {
                self.language() == Ruby
                    && matches!(&callee.value, Thing(name) if name != "Dir" && name != "ENV" && self.known(callee))
            }
            Some(Token::Number(_)) => self.is(&[Ruby, Perl]) && self.known(callee),
            Some(Token::Op("\\" | "@" | "$")) => self.language() == Perl && self.known(callee),
            _ => false,
        }
    }

    pub(super) fn index(&mut self, value: &Value, key: &Value) -> Value {
        match value {
            Thing(name) if Self::environment(name) => Self::variable(key),
            Thing(name) if name == "Dir" => self.special(Special::Glob, None, &[Arg::of(key.clone())], ""),
            Thing(name) => {
                let base = name.strip_suffix(".__dict__").unwrap_or(name);
                let modules = base == "sys.modules" || base == "globals()" || base == "require.cache";
                match key.only() {
                    Some(key) if modules => Thing(canonical(key)),
                    Some(key) => self.member(&Thing(base.to_owned()), key),
                    None => {
                        if calls::meaning(self.language(), &format!("={base}")) == Some(Meaning::OwnModule)
                            || base != name
                        {
                            self.note(EVALUATES);
                        }
                        Any(false)
                    }
                }
            }
            Texts(texts) => {
                // A part of a text may be anything.
                self.doubts.unknown_texts(texts.iter().any(|text| text.contains('/')));
                Any(false)
            }
            Nothing => Nothing,
            other => other.under(key),
        }
    }

    pub(super) fn pieces(&mut self, pieces: &[Piece]) -> Value {
        let mut whole: Option<Value> = None;
        for piece in pieces {
            let value = match piece {
                Piece::Plain(text) => Value::text(text),
                Piece::Code(code) if code.is_empty() => Any(true),
                Piece::Code(code) => {
                    let mut t = At { tokens: code, at: 0 };
                    t.lines();
                    let value = self.expr(&mut t).value;
                    self.block(&mut t, "");
                    value
                }
            };
            whole = Some(match whole {
                None if matches!(value, Texts(_)) || pieces.len() == 1 => value,
                None => Value::text("").then(&value),
                Some(before) => before.then(&value),
            });
        }
        let whole = whole.unwrap_or_else(|| Value::text(""));
        self.bounds.spend(&whole);
        whole
    }
}
