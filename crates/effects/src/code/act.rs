//! What a call does, by the meaning of its name.

use super::lex::{Piece, Token};
use super::scan::{Arg, At, Callee, EVALUATES, Operand, RUNS, Scan, Target, look};
use super::value::Value;
use super::{Deed, Language, Path, calls, climbs};
use Value::{Any, Closure, List, Map, Nothing, Number, Part, Scratch, Texts, Thing};

/// Longer names are of nothing that we know.
const MAX_NAME: usize = 128;

impl Scan {
    // Names

    pub(super) fn named(&mut self, word: &str) -> Value {
        if self.assigned.as_deref() == Some(word) {
            self.own_value = true;
        }
        if let Some(value) = self.names.get(word) {
            let value = value.clone();
            self.spend(&value);
            return value;
        }
        if let Some(value) = self.constant(word) {
            return value;
        }
        match (self.told, self.parameters.contains(word)) {
            (false, true) => Nothing,
            (true, true) => Any(false),
            // It may be assigned further down.
            _ if self.pass == 0 && !self.told => Nothing,
            _ => Thing(canonical(word)),
        }
    }

    fn constant(&self, name: &str) -> Option<Value> {
        let text = match name {
            "None" | "null" | "nil" | "undefined" | "True" | "False" | "true" | "false" | "NULL" | "TRUE"
            | "FALSE" => {
                return Some(Number(None));
            }
            "sys.argv" | "sys.stdin" | "process.argv" | "process.stdin" | "ARGV" | "STDIN" | "ARGF"
            | "$ARGV" | "$STDIN" | "$stdin" | "$argv" | "$_GET" | "$_POST" | "$_SERVER" | "$_REQUEST"
            | "arg" | "io.stdin" | "$<" | "Deno.args" | "Bun.argv" | "$*" | "Bun.stdin"
            | "sys.stdin.buffer" | "$0" | "$1" | "$2" | "$3" | "$&" | "$_" => {
                return Some(Any(true));
            }
            "os.sep" | "path.sep" | "File.SEPARATOR" | "DIRECTORY_SEPARATOR" | "os.path.sep" => "/",
            "os.pardir" | "os.path.pardir" => "..",
            "os.curdir" | "__dirname" | "__DIR__" | "import.meta.dirname" | "import.meta.dir" => ".",
            "__file__" | "__filename" | "__FILE__" | "import.meta.filename" => "./-",
            "os.devnull" => "/dev/null",
            "sys.executable" => "python3",
            "process.execPath" => "node",
            "string.punctuation" | "string.printable" | "sys.path" | "sys.prefix" | "sys.modules.keys" => {
                return Some(Any(true));
            }
            _ => return None,
        };
        Some(Value::text(text))
    }

    fn environment(&self, thing: &str) -> bool {
        matches!(
            thing,
            "os.environ"
                | "os.environb"
                | "process.env"
                | "ENV"
                | "$ENV"
                | "$_ENV"
                | "Bun.env"
                | "Deno.env"
                | "import.meta.env"
        )
    }

    fn variable(key: &Value) -> Value {
        match key.only() {
            Some("HOME") => Value::text("~"),
            Some("PWD") => Value::text("."),
            _ => Any(true),
        }
    }

    pub(super) fn member(&mut self, object: &Value, name: &str) -> Value {
        match object {
            Thing(base)
                if self.environment(base)
                    && !matches!(
                        name,
                        "get"
                            | "setdefault"
                            | "pop"
                            | "fetch"
                            | "items"
                            | "copy"
                            | "update"
                            | "dig"
                            | "delete"
                    ) =>
            {
                Self::variable(&Value::text(name))
            }
            Thing(base) if !matches!(base.as_str(), "self" | "this" | "cls") => {
                if base.len() > MAX_NAME {
                    return Any(false);
                }
                let full = canonical(&format!("{base}.{name}"));
                self.constant(&full).unwrap_or(Thing(full))
            }
            Texts(_) | Part(..) | Scratch if name == "parent" => parent(object),
            Scratch => Scratch,
            Map(_) if !matches!(name, "items" | "keys" | "values" | "get") => {
                object.under(&Value::text(name))
            }
            Nothing => Nothing,
            other => {
                self.source |= name == "parents";
                let own = self.names.get(&format!(".{name}")).cloned();
                own.unwrap_or(Any(other.foreign()))
            }
        }
    }

    // What stands behind an operand

    pub(super) fn postfix(&mut self, t: &mut At<'_>, value: Value, name: Option<String>) -> Operand {
        use Language::{Lua, Node, Perl, Php, Python, Ruby};
        let mut target = name.clone();
        let mut callee = Callee { value, object: None, variable: None, name: name.unwrap_or_default() };
        loop {
            // A chain that goes on in the next line.
            if t.peek() == Some(&Token::Line) {
                let start = t.at;
                t.lines();
                let goes_on = matches!(t.op(), "." | "?." | "->")
                    && matches!(t.ahead(1), Some(Token::Name(_)))
                    && !matches!(self.language, Perl | Php if t.op() == ".");
                if !goes_on || self.language == Lua {
                    t.at = start;
                    break;
                }
            }
            let op = t.op();
            let member = match self.language {
                Perl | Php => matches!(op, "->" | "::" | "?."),
                Ruby => matches!(op, "." | "::") || (op == "&" && matches!(t.ahead(1), Some(Token::Op(".")))),
                Lua => {
                    op == "."
                        || (op == ":"
                            && matches!(
                                (t.ahead(1), t.ahead(2)),
                                (Some(Token::Name(_)), Some(Token::Op("(") | Token::Text(_)))
                            ))
                }
                _ => matches!(op, "." | "?."),
            };
            if member {
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
                    if self.is(&[Ruby, Perl])
                        && t.op() != "("
                        && t.op() != "="
                        && !self.commands(t, &callee)
                        && self.known(&callee)
                    {
                        let value = self.call(&callee, Vec::new());
                        callee = self.block_parameters(t, callee, value);
                        target = None;
                    }
                } else if !matches!(t.op(), "(" | "[" | "{") {
                    break;
                }
                continue;
            }
            let hash = op == "{"
                && self.language == Perl
                && (callee.name.starts_with('$')
                    || matches!(t.tokens.get(t.at.wrapping_sub(1)), Some(Token::Op("->" | "]" | "}"))));
            if op == "(" {
                t.at += 1;
                let args = self.block(t, ")");
                let value = self.call(&callee, args);
                callee = self.block_parameters(t, callee, value);
                target = None;
            } else if (op == "["
                && !(self.language == Ruby
                    && self.known(&callee)
                    && matches!(callee.value, Thing(ref name) if name != "Dir")))
                || hash
            {
                let backwards =
                    matches!((t.ahead(1), t.ahead(2)), (Some(Token::Op("::")), Some(Token::Op("-"))))
                        || (self.language == Python
                            && matches!(
                                (t.ahead(1), t.ahead(2), t.ahead(3)),
                                (Some(Token::Op(":")), Some(Token::Op(":")), Some(Token::Op("-")))
                            ));
                self.source |= backwards;
                t.at += 1;
                let args = self.block(t, if hash { "}" } else { "]" });
                let key = args.into_iter().next();
                let bare = |arg: &Arg| arg.targets.first().map(|target| Value::text(&target.name));
                let key = key
                    .map(|arg| if hash { bare(&arg).unwrap_or(arg.value) } else { arg.value })
                    .unwrap_or(Nothing);
                let value = self.index(&callee.value, &key);
                let base = target.take();
                callee = Callee { value, object: None, variable: None, name: String::new() };
                target = base.map(|name| format!("{}[]", name.trim_end_matches("[]")));
            } else if target.is_some() && self.commands(t, &callee) {
                let mut args = Vec::new();
                loop {
                    let start = t.at;
                    let token = t.peek();
                    let mut arg = self.statement(t, ")", &[]);
                    arg.literal = t.at == start + 1 && matches!(token, Some(Token::Text(_)));
                    args.push(arg);
                    if t.at == start || args.len() > 64 || !t.eat(",") {
                        break;
                    }
                    t.lines();
                }
                let value = self.call(&callee, args);
                callee = self.block_parameters(t, callee, value);
                target = None;
            } else if op == "!" && self.language == Node {
                break;
            } else {
                break;
            }
        }
        // `unlink for @files`, `fork`: a call without a word.
        let bare = self.is(&[Perl, Ruby])
            && target.is_some()
            && callee.object.is_none()
            && !matches!(t.op(), "=" | "=>" | ":" | "(" | "{");
        if bare && matches!(callee.value, Thing(_)) && self.known(&callee) {
            let args = if self.language == Perl { vec![Arg::of(self.named("$_"))] } else { Vec::new() };
            let value = self.call(&callee, args);
            return Operand { value, targets: Vec::new() };
        }
        let targets = target.into_iter().map(|name| Target { name, key: None }).collect();
        Operand { value: callee.value, targets }
    }

    /// `each { |x| … }`, `each do |x|`
    fn block_parameters(&mut self, t: &mut At<'_>, callee: Callee, value: Value) -> Callee {
        if self.language == Language::Ruby
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

    fn known(&self, callee: &Callee) -> bool {
        let full = match &callee.value {
            Thing(name) => calls::meaning(self.language, name).is_some(),
            _ => false,
        };
        full || (callee.object.is_some()
            && calls::meaning(self.language, &format!(".{}", callee.name)).is_some())
    }

    /// Whether arguments follow without brackets.
    fn commands(&self, t: &At<'_>, callee: &Callee) -> bool {
        use Language::{Perl, Php, Ruby};
        const NOT: &str = "case from of in return throw typeof export default else extends when then and or not yield raise if unless while until";
        const INFIX: &str = "if unless while until and or not in do then x eq ne lt gt le ge cmp for foreach is as else end rescue";
        if callee.name.starts_with('$') && callee.object.is_none()
            || NOT.split(' ').any(|word| word == callee.name)
        {
            return false;
        }
        match t.peek() {
            Some(Token::Text(_) | Token::Shell(_)) => true,
            Some(Token::Name(name)) => {
                let php = self.language == Php && self.known(callee);
                (php || self.is(&[Ruby, Perl])) && !INFIX.split(' ').any(|word| word == name)
            }
            Some(Token::Op("[" | "*")) => {
                self.language == Ruby
                    && matches!(&callee.value, Thing(name) if name != "Dir" && name != "ENV" && self.known(callee))
            }
            Some(Token::Op("\\" | "@" | "$")) => self.language == Perl && self.known(callee),
            _ => false,
        }
    }

    fn index(&mut self, value: &Value, key: &Value) -> Value {
        match value {
            Thing(name) if self.environment(name) => Self::variable(key),
            Thing(name) if name == "Dir" => self.special("!glob", None, &[Arg::of(key.clone())], ""),
            Thing(name) => {
                let base = name.strip_suffix(".__dict__").unwrap_or(name);
                let modules = base == "sys.modules" || base == "globals()" || base == "require.cache";
                match key.only() {
                    Some(key) if modules => Thing(canonical(key)),
                    Some(key) => self.member(&Thing(base.to_owned()), key),
                    None => {
                        if calls::meaning(self.language, &format!("={base}")) == Some("own") || base != name {
                            self.note(EVALUATES);
                        }
                        Any(false)
                    }
                }
            }
            Texts(texts) => {
                // A part of a text may be anything.
                self.source |= texts.iter().any(|text| text.contains('/'));
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
        self.spend(&whole);
        whole
    }

    // Calls

    fn call(&mut self, callee: &Callee, mut args: Vec<Arg>) -> Value {
        if self.language == Language::Node
            && callee.object.is_some()
            && matches!(callee.name.as_str(), "call" | "apply")
            && !args.is_empty()
        {
            args.remove(0);
            let flat = args.into_iter().flat_map(|arg| match arg.value {
                List(items) => items.into_iter().map(Arg::of).collect(),
                _ => vec![arg],
            });
            args = flat.collect();
        }
        // Not assigned yet: the next walk knows more.
        if !self.told
            && callee.value == Nothing
            && callee.object.as_ref().is_none_or(|object| *object == Nothing)
            && !self.functions.contains_key(&callee.name)
        {
            return Nothing;
        }
        let things: Vec<String> = match &callee.value {
            Thing(name) => vec![name.clone()],
            List(items) => items
                .iter()
                .filter_map(|item| match item {
                    Thing(name) => Some(name.clone()),
                    _ => None,
                })
                .collect(),
            Texts(texts) if self.language == Language::Php => texts.clone(),
            Any(_)
                if self.language == Language::Php
                    && callee.name.starts_with('$')
                    && callee.object.is_none() =>
            {
                self.note(EVALUATES);
                Vec::new()
            }
            _ => Vec::new(),
        };
        let mut result = Nothing;
        let mut known = false;
        for thing in &things {
            let (meaning, own) = self.meaning(thing, callee.object.is_some());
            if let Some(meaning) = meaning {
                known = true;
                let object = callee.object.as_ref().filter(|_| own);
                let value = self.act(meaning, object, &args, thing.rsplit('.').next().unwrap_or(thing));
                if meaning == "!add" {
                    self.append(callee, &args);
                }
                result = result.or(value);
            }
        }
        if things.is_empty() && callee.object.is_some() {
            if let Some(meaning) = calls::meaning(self.language, &format!(".{}", callee.name)) {
                known = true;
                result = self.act(meaning, callee.object.as_ref(), &args, &callee.name);
                if meaning == "!add" {
                    self.append(callee, &args);
                }
            }
        }
        self.callbacks(callee, &args);
        if let Closure(parameters) = &callee.value {
            for (parameter, arg) in parameters.iter().zip(&args) {
                self.bind(parameter, arg.value.clone());
            }
        }
        // One of the program's own.
        let own =
            things.first().and_then(|thing| thing.rsplit('.').next()).unwrap_or(&callee.name).to_owned();
        if let Some(parameters) = self.functions.get(&own).cloned() {
            for (at, arg) in args.iter().enumerate() {
                let name = arg.name.clone().or_else(|| parameters.get(at).cloned());
                if let Some(name) = name {
                    self.bind(&name, arg.value.clone());
                }
            }
            let returned = self.names.get(&format!("{own}()")).cloned();
            let unset = if self.told { Any(args.iter().any(|arg| arg.value.foreign())) } else { Nothing };
            return result.or(returned.unwrap_or(unset));
        }
        if known {
            return result;
        }
        let foreign = args.iter().any(|arg| arg.value.foreign())
            || callee.object.as_ref().is_some_and(Value::foreign)
            || callee.value.foreign();
        Any(foreign)
    }

    /// What a name means, and whether it is a method of some object.
    fn meaning(&self, thing: &str, method: bool) -> (Option<&'static str>, bool) {
        let found = calls::meaning(self.language, thing);
        if found.is_some() {
            return (found, false);
        }
        for star in &self.stars {
            let found = calls::meaning(self.language, &format!("{star}.{thing}"));
            if found.is_some() {
                return (found, false);
            }
        }
        let last = thing.rsplit('.').next().unwrap_or(thing);
        let found = if method { calls::meaning(self.language, &format!(".{last}")) } else { None };
        (found, true)
    }

    /// `list.append(x)`, `push @list, x`
    fn append(&mut self, callee: &Callee, args: &[Arg]) {
        let (name, values) = match &callee.variable {
            Some(name) => (Some(name.clone()), args),
            None => (
                args.first().and_then(|arg| arg.targets.first()).map(|target| target.name.clone()),
                args.get(1..).unwrap_or_default(),
            ),
        };
        if let Some(name) = name {
            for arg in values {
                let value = match &arg.value {
                    list @ List(_) => list.clone(),
                    Nothing => continue,
                    one => List(vec![one.clone()]),
                };
                self.bind(&name, value);
            }
        }
    }

    /// Functions that are given to a call are called with the items of what is given along.
    fn callbacks(&mut self, callee: &Callee, args: &[Arg]) {
        let object = callee.object.as_ref().filter(|object| !matches!(object, Thing(_)));
        for (at, arg) in args.iter().enumerate() {
            let others =
                || args.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, arg)| &arg.value);
            match &arg.value {
                Closure(parameters) => {
                    let item = object.into_iter().chain(others()).map(Value::item).fold(Nothing, Value::or);
                    for parameter in parameters {
                        self.bind(parameter, item.clone());
                    }
                }
                Thing(name) => {
                    let Some(meaning) = self.meaning(name, false).0 else { continue };
                    if matches!(
                        meaning,
                        "!pure" | "!number" | "!id" | "!list" | "!connect" | "!path" | "!import" | "!join"
                    ) {
                        continue;
                    }
                    let items: Vec<Arg> = object
                        .into_iter()
                        .chain(others())
                        .map(|value| match value {
                            Texts(_) => Arg::of(value.clone()),
                            other => Arg::of(other.item()),
                        })
                        .collect();
                    self.source |= meaning == "!source";
                    if !items.is_empty() {
                        self.act(meaning, None, &items, name);
                    }
                }
                _ => {}
            }
        }
    }

    /// `own` is the name itself.
    fn act(&mut self, meaning: &'static str, object: Option<&Value>, args: &[Arg], own: &str) -> Value {
        if meaning.starts_with('!') {
            return self.special(meaning, object, args, own);
        }
        let values = positional(args);
        let inplace = args.iter().any(|arg| arg.name.as_deref() == Some("inplace"));
        let mut result = Any(false);
        let mut letters = meaning.chars().peekable();
        let mut at = 0;
        while let Some(letter) = letters.next() {
            let value = if letter == '^' {
                let Some(letter) = letters.next() else { break };
                let path = object
                    .filter(|object| !matches!(object, Thing(_) | Nothing | List(_) | Map(_) | Number(_)));
                // `x.exists()`, `x.rename(…)` may be of anything, `x.write_text()` is of a path.
                let sure = matches!(path, Some(Texts(_) | Part(..) | Scratch));
                let python = self.language == Language::Python;
                let Some(path) = path.filter(|_| {
                    sure || (python && matches!(letter, 'w' | 'd') && own != "rename" && own != "save")
                }) else {
                    return if letter == 'o' || letter == 'r' {
                        self.opened_by_other(letter, &values)
                    } else {
                        Any(object.is_some_and(Value::foreign))
                    };
                };
                if letter == 'o' {
                    let mode = values.first().cloned().flatten();
                    result = self.open(&path.clone(), mode.as_ref());
                    continue;
                }
                result = self.touch_value(letter, &path.clone());
                continue;
            } else {
                values.get(at).cloned().flatten()
            };
            let many = letters.peek() == Some(&'*');
            match (letter, value) {
                ('-', _) => {}
                ('s', Some(value)) => {
                    self.shell(&value);
                    result = Any(true);
                }
                ('s', None) => {}
                ('o', Some(value)) => {
                    let mode = values.get(at + 1).cloned().flatten();
                    result = self.open(&value, mode.as_ref());
                }
                (letter, Some(value)) => {
                    let letter = if inplace { 'w' } else { letter };
                    let value = self.touch_value(letter, &value);
                    if at == 0 {
                        result = value;
                    }
                    if many {
                        for value in values.iter().skip(at + 1).flatten() {
                            self.touch_value(letter, value);
                        }
                    }
                }
                // `zip.extractall()`
                ('w', None) if own.starts_with("extract") => {
                    self.touch_value('w', &Value::text("."));
                }
                _ => {}
            }
            if many {
                break;
            }
            at += 1;
        }
        for arg in args {
            let directory = matches!(arg.name.as_deref(), Some("cwd" | "chdir" | "dir"));
            if directory && arg.value.only().is_some_and(|path| path.starts_with(['/', '~']) || climbs(path))
            {
                self.touch_value('l', &arg.value);
            }
        }
        result
    }

    /// `.open(…)` of an object that is no path: `Image.open('x')`.
    fn opened_by_other(&mut self, letter: char, values: &[Option<Value>]) -> Value {
        if letter == 'o' {
            if let Some(Some(value @ (Texts(_) | Part(..)))) = values.first() {
                let mode = values.get(1).cloned().flatten();
                return self.open(value, mode.as_ref());
            }
        }
        Any(true)
    }

    fn open(&mut self, path: &Value, mode: Option<&Value>) -> Value {
        let writes = match mode {
            None | Some(Number(_)) => false,
            Some(Texts(modes)) => {
                modes.iter().any(|mode| mode.len() > 8 || mode.contains(['w', 'a', 'x', '+', 'c']))
            }
            Some(Thing(flags)) => !flags.ends_with("RDONLY") && !flags.ends_with("Encoding.UTF_8"),
            Some(Map(options)) => {
                options.iter().any(|(key, _)| key.only() != Some("read") && key.only() != Some("encoding"))
            }
            Some(Closure(_)) => false,
            Some(_) => true,
        };
        // `open("|command")`
        if let (Language::Ruby, Texts(texts)) = (self.language, path) {
            let piped: Vec<String> =
                texts.iter().filter_map(|text| text.strip_prefix('|')).map(str::to_owned).collect();
            if !piped.is_empty() {
                self.shell(&Texts(piped));
                return Any(true);
            }
        }
        self.touch_value(if writes { 'w' } else { 'r' }, path);
        if matches!(path, Scratch) { Scratch } else { Any(true) }
    }

    /// Uses a file, and says what comes of it.
    fn touch_value(&mut self, letter: char, value: &Value) -> Value {
        self.touch(letter, value);
        match (letter, value) {
            ('l', Texts(_) | Part(..)) => match value.clone().below(&Any(false)) {
                Part(start, _) => Part(start, false),
                other => other,
            },
            ('l', other) => other.item(),
            ('r', _) => Any(true),
            _ => Any(false),
        }
    }

    pub(super) fn touch(&mut self, letter: char, value: &Value) {
        let deed: fn(Path) -> Deed = match letter {
            'r' => Deed::Read,
            'l' => Deed::List,
            'd' => Deed::Delete,
            'e' => Deed::Enter,
            _ => Deed::Write,
        };
        let changes = matches!(letter, 'w' | 'd' | 'e');
        self.acts |= changes;
        match value {
            Texts(texts) => {
                for text in texts {
                    let text = text.strip_prefix("file://").unwrap_or(text);
                    match text.split_once("://") {
                        Some(("php" | "data", _)) => {}
                        Some(_) => self.note(Deed::Connect),
                        None if text.is_empty() || text == ":memory:" => {}
                        None => self.note(deed(Path::Known(text.to_owned()))),
                    }
                }
            }
            List(items) => items.iter().for_each(|item| self.touch(letter, item)),
            Map(pairs) => pairs.iter().for_each(|(key, _)| self.touch(letter, key)),
            Scratch | Number(_) => {}
            Part(start, _) if start.contains("://") => self.note(Deed::Connect),
            // Looking below a known directory does little, whatever the name.
            Part(start, foreign)
                if (!foreign && !self.source && !self.dots)
                    || (letter == 'l' && start.contains('/') && !start.starts_with(['/', '~'])) =>
            {
                let directory = start.rfind('/').and_then(|at| start.get(..=at));
                self.note(deed(Path::Below(directory.unwrap_or(".").to_owned())));
            }
            Any(false) | Nothing | Thing(_) | Closure(_) if !self.source && !self.dots => {
                // A directory that is entered may hold all that follows.
                if letter == 'l' && !self.told {
                    return;
                }
                self.loose |= changes;
                self.note(deed(Path::Below(".".to_owned())));
            }
            Part(..) | Any(_) | Nothing | Thing(_) | Closure(_) => self.note(deed(Path::Unknown)),
        }
    }

    pub(super) fn shell(&mut self, command: &Value) {
        self.acts = true;
        match command {
            Texts(texts) => texts.iter().for_each(|text| self.note(Deed::Shell(text.clone()))),
            Number(_) => {}
            List(_) => self.run(&[Arg::of(command.clone())]),
            Nothing if !self.told => {}
            _ => self.note(RUNS),
        }
    }

    /// A program by its words: `['git', 'status']`, `'git', ['status']`, or a text for the shell.
    fn run(&mut self, args: &[Arg]) {
        self.acts = true;
        let named = args.iter().find(|arg| matches!(arg.name.as_deref(), Some("args" | "cmd")));
        let plain = args
            .iter()
            .filter(|arg| arg.name.is_none() && !matches!(arg.value, Map(_) | Closure(_) | Number(_)));
        let given: Vec<&Value> = named.into_iter().chain(plain).map(|arg| &arg.value).collect();
        let words: Vec<&Value> = given.iter().flat_map(|value| value.items()).collect();
        let truth = |value: &Value| !matches!(value, Nothing);
        let shell = args.iter().any(|arg| match &arg.value {
            Map(options) => options.iter().any(|(key, _)| key.only() == Some("shell")),
            value => arg.name.as_deref() == Some("shell") && truth(value),
        });
        let [first, ..] = words.as_slice() else { return };
        if let ([text], [Texts(_)]) = (given.as_slice(), words.as_slice()) {
            if !matches!(text, List(_)) || shell {
                let text = (*first).clone();
                return self.shell(&text);
            }
        }
        // One of the words may be one of several.
        let most = words.iter().map(|word| match word {
            Texts(texts) => texts.len(),
            Number(Some(_)) => 1,
            _ => 0,
        });
        let (least, several) = most.fold((usize::MAX, 0), |(least, several), count| {
            (least.min(count), several + usize::from(count > 1))
        });
        if least == 0 || several > 1 {
            if self.told || !words.iter().any(|word| matches!(word, Nothing)) {
                self.note(RUNS);
            }
            return;
        }
        let rows =
            words.iter().map(|word| if let Texts(texts) = word { texts.len() } else { 1 }).max().unwrap_or(1);
        for row in 0..rows {
            let argv: Vec<String> = words
                .iter()
                .map(|word| match word {
                    Texts(texts) => texts.get(row).or(texts.first()).cloned().unwrap_or_default(),
                    Number(Some(number)) => number.to_string(),
                    _ => String::new(),
                })
                .collect();
            self.note(if shell { Deed::Shell(argv.join(" ")) } else { Deed::Run(argv) });
        }
    }

    fn evaluate(&mut self, code: Option<&Value>, own: &str) {
        match code {
            Some(Texts(texts)) => {
                self.acts = true;
                if self.told {
                    for text in texts {
                        look(self.language, text, self.nested + 1, &self.names.clone(), &mut self.deeds);
                    }
                }
            }
            None | Some(Closure(_) | Number(_) | Nothing) => {}
            // A check of the syntax, a function that is called later.
            Some(_) if own == "compile" || own.starts_with("set") => {}
            Some(_) => self.note(EVALUATES),
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each meaning")]
    pub(super) fn special(
        &mut self,
        meaning: &'static str,
        object: Option<&Value>,
        args: &[Arg],
        own: &str,
    ) -> Value {
        let values = positional(args);
        let first = values.first().cloned().flatten();
        let second = values.get(1).cloned().flatten();
        let object = object.filter(|object| !matches!(object, Thing(_)));
        let foreign = object.is_some_and(Value::foreign) || args.iter().any(|arg| arg.value.foreign());
        match meaning {
            "!pure" => {
                for arg in args.iter().filter(|arg| arg.literal) {
                    self.harmless_value(&arg.value);
                }
                Any(foreign)
            }
            "!number" => Number(None),
            "!foreign" => Any(true),
            "!source" => {
                let numbers: Option<String> =
                    args.iter().map(|arg| arg.value.number().and_then(char::from_u32)).collect();
                match numbers {
                    Some(text)
                        if !text.is_empty()
                            && (own.starts_with("chr")
                                || own.ends_with("har")
                                || own.starts_with("from")) =>
                    {
                        Value::text(&text)
                    }
                    _ => {
                        self.source = true;
                        Any(true)
                    }
                }
            }
            "!id" => match (object, first) {
                (Some(object), _) => object.clone(),
                (None, Some(first)) if own == "expand_path" => {
                    second.map_or(first.clone(), |base| base.below(&first))
                }
                (None, first) => first.unwrap_or(Any(foreign)),
            },
            "!home" => Value::text("~"),
            "!cwd" => Value::text("."),
            "!tmp" => Value::text("/tmp"),
            "!scratch" => {
                let place =
                    args.iter().find(|arg| arg.name.as_deref() == Some("dir")).map(|arg| arg.value.clone());
                let place = place.or_else(|| {
                    first.filter(|_| own.starts_with("mkdtemp") && self.language == Language::Node)
                });
                if let Some(place) = place.filter(|place| !matches!(place, Texts(texts) if texts.iter().all(|text| text.starts_with("/tmp/")))) {
                    self.touch('w', &place);
                    return place;
                }
                Scratch
            }
            "!env" => {
                let value = Self::variable(&first.unwrap_or(Nothing));
                if value == Any(true) { value } else { second.map_or(value.clone(), |other| value.or(other)) }
            }
            "!join" | "!path" => {
                let mut parts = object.into_iter().cloned().chain(args.iter().map(|arg| arg.value.clone()));
                let Some(mut whole) = parts.next() else { return Value::text(".") };
                for part in parts {
                    whole = if meaning == "!join" && self.language != Language::Python {
                        whole.then(&Value::text("/")).then(&part)
                    } else {
                        self.join(whole, &part)
                    };
                }
                if let Thing(_) = whole { Any(false) } else { whole }
            }
            "!parent" => parent(&object.cloned().or(first).unwrap_or(Nothing)),
            "!glob" => {
                let directory = |text: &String| {
                    let plain = text.split(['*', '?', '[', '{']).next().unwrap_or_default();
                    if plain.len() == text.len() {
                        return text.clone();
                    }
                    plain.rfind('/').and_then(|at| plain.get(..=at)).unwrap_or(".").to_owned()
                };
                match first {
                    Some(Texts(patterns)) => {
                        self.touch_value('l', &Texts(patterns.iter().map(directory).collect()))
                    }
                    Some(Part(start, foreign)) => self.touch_value('l', &Part(start, foreign)),
                    Some(other) => self.touch_value('l', &other),
                    None => Any(false),
                }
            }
            "!eval" => {
                self.evaluate(first.as_ref().or(object.filter(|_| self.language != Language::Ruby)), own);
                Any(true)
            }
            "!code" => {
                self.note(Deed::Unknown("reaches into what cannot be followed"));
                Any(true)
            }
            "!run" => {
                self.run(args);
                let directory =
                    args.iter().find(|arg| arg.name.as_deref() == Some("cwd")).map(|arg| arg.value.clone());
                let option = args.iter().find_map(|arg| match &arg.value {
                    Map(options) => options
                        .iter()
                        .find(|(key, _)| key.only() == Some("cwd"))
                        .map(|(_, value)| value.clone()),
                    _ => None,
                });
                if let Some(Texts(texts)) = directory.or(option) {
                    if texts.iter().any(|path| path.starts_with(['/', '~']) || climbs(path)) {
                        self.touch('l', &Texts(texts));
                    }
                }
                Any(true)
            }
            "!execl" => {
                // The name that a program is called by is no argument of it.
                let skip = usize::from(own.starts_with("spawn"));
                let flat = args
                    .iter()
                    .skip(skip)
                    .filter(|arg| !matches!(arg.value, Map(_)) && arg.name.is_none())
                    .flat_map(|arg| arg.value.items());
                let mut words: Vec<Arg> = flat.cloned().map(Arg::of).collect();
                if words.len() > 1 {
                    words.remove(1);
                }
                let list = List(words.into_iter().map(|arg| arg.value).collect());
                self.run(&[Arg::of(list)]);
                Any(true)
            }
            "!import" => match first {
                Some(Texts(names)) => names.iter().map(|name| self.required(name)).fold(Nothing, Value::or),
                None | Some(Nothing) => Thing("require".to_owned()),
                Some(_) if own == "createRequire" => Thing("require".to_owned()),
                Some(_) => {
                    self.note(Deed::Unknown("loads a module that is only known when it runs"));
                    Any(true)
                }
            },
            "!include" => {
                if let Some(first) = first {
                    self.touch('r', &first);
                }
                self.note(Deed::Project);
                Any(false)
            }
            "!project" => {
                self.note(Deed::Project);
                Any(true)
            }
            "!module" => match first {
                Some(Thing(name)) => Thing(format!("{name}.__dict__")),
                _ => Any(foreign),
            },
            "!getattr" => match (first, second) {
                (Some(Thing(base)), Some(Texts(names))) => {
                    names.iter().map(|name| self.member(&Thing(base.clone()), name)).fold(Nothing, Value::or)
                }
                (Some(Thing(base)), Some(Any(_) | Part(..) | Thing(_)))
                    if self.names.values().any(|value| *value == Thing(base.clone())) =>
                {
                    self.note(EVALUATES);
                    Any(true)
                }
                _ => Any(foreign),
            },
            "!apply" => match first {
                Some(Texts(names)) => {
                    let rest: Vec<Value> = args.iter().skip(1).map(|arg| arg.value.clone()).collect();
                    let mut result = Nothing;
                    for name in names {
                        let name = canonical(&name);
                        let Some(meaning) = self.meaning(&name, false).0 else { continue };
                        if rest.is_empty() {
                            result = result.or(Thing(name));
                            continue;
                        }
                        let items =
                            rest.iter().flat_map(Value::items).cloned().map(Arg::of).collect::<Vec<_>>();
                        let value = self.act(meaning, object, &items, &name);
                        result = result.or(value);
                    }
                    if result == Nothing { Any(foreign) } else { result }
                }
                Some(Thing(name))
                    if self.language != Language::Ruby || self.meaning(&name, false).0.is_some() =>
                {
                    Thing(name)
                }
                Some(Any(_) | Part(..) | Thing(_)) if self.is(&[Language::Ruby, Language::Php]) => {
                    self.note(EVALUATES);
                    Any(true)
                }
                _ => Any(foreign),
            },
            "!fork" => {
                if self.loops {
                    self.note(Deed::Unknown("forks without end"));
                }
                Number(None)
            }
            "!connect" => {
                self.note(Deed::Connect);
                // `urlopen('file:///etc/x')`
                if let Some(Texts(texts)) = &first {
                    if texts.iter().any(|text| text.starts_with("file:")) {
                        self.touch('r', &Texts(texts.clone()));
                    }
                }
                Any(true)
            }
            "!perlopen" => {
                self.perl_open(args);
                Any(true)
            }
            "!list" | "!values" => {
                let list = object.cloned().or_else(|| args.last().map(|arg| arg.value.clone()));
                match list {
                    Some(Map(pairs)) => {
                        let pick =
                            |(key, value): (Value, Value)| if meaning == "!values" { value } else { key };
                        List(pairs.into_iter().map(pick).collect())
                    }
                    Some(Texts(texts)) => {
                        self.source |= texts.iter().any(|text| text.contains('/'));
                        Any(false)
                    }
                    Some(other) => other,
                    None => List(Vec::new()),
                }
            }
            "!items" => {
                if own == "zip" {
                    let columns: Vec<&Value> =
                        object.into_iter().chain(args.iter().map(|arg| &arg.value)).collect();
                    let rows = columns.iter().map(|column| column.items().len()).max().unwrap_or(0).min(64);
                    let cell = |column: &Value, row: usize| match column {
                        List(items) => items.get(row).cloned().unwrap_or(Nothing),
                        other => other.item(),
                    };
                    return List(
                        (0..rows)
                            .map(|row| List(columns.iter().map(|column| cell(column, row)).collect()))
                            .collect(),
                    );
                }
                match object.cloned().or(first) {
                    Some(Map(pairs)) => {
                        List(pairs.into_iter().map(|(key, value)| List(vec![key, value])).collect())
                    }
                    Some(other) => other,
                    None => Any(foreign),
                }
            }
            "!enumerate" => match first {
                Some(List(items)) => {
                    List(items.into_iter().map(|item| List(vec![Number(None), item])).collect())
                }
                Some(other) => List(vec![List(vec![Number(None), other.item()])]),
                None => Any(foreign),
            },
            "!format" => {
                let (format, rest) = match object {
                    Some(format) => (Some(format.clone()), args),
                    None => (first, args.get(1..).unwrap_or_default()),
                };
                let Some(format) = format else { return Any(foreign) };
                if own == "rep" {
                    self.source = true;
                }
                let rest: Vec<Value> = rest.iter().map(|arg| arg.value.clone()).collect();
                self.formatted(&format, &List(rest))
            }
            "!text" => {
                let parts: Vec<&Value> =
                    object.into_iter().chain(args.iter().map(|arg| &arg.value)).collect();
                let between = parts
                    .iter()
                    .find_map(|part| part.only())
                    .unwrap_or(if self.language == Language::Node { "," } else { "" });
                let list = parts.iter().find_map(|part| match part {
                    List(items) => Some(items.iter().map(Value::only).collect::<Option<Vec<_>>>()),
                    _ => None,
                });
                if let Some(Some(words)) = list {
                    return Value::text(&words.join(between));
                }
                if self.language == Language::Perl && args.iter().all(|arg| arg.value.only().is_some()) {
                    let words: Vec<&str> = args.iter().skip(1).filter_map(|arg| arg.value.only()).collect();
                    return Value::text(&words.join(between));
                }
                Any(foreign)
            }
            "!split" => {
                let mut parts =
                    object.into_iter().chain(args.iter().map(|arg| &arg.value)).filter_map(Value::only);
                let (one, other) = (parts.next(), parts.next());
                let (text, sign) = if object.is_some() { (one, other) } else { (other, one) };
                match (text, sign) {
                    (Some(text), Some(sign)) if !sign.is_empty() => {
                        List(text.split(sign).take(100).map(Value::text).collect())
                    }
                    (Some(text), None) if args.is_empty() => {
                        List(text.split_whitespace().take(100).map(Value::text).collect())
                    }
                    (text, _) => {
                        self.source |= text.is_some_and(|text| text.contains('/'));
                        Any(foreign)
                    }
                }
            }
            "!sub" => match (object, args) {
                // `path.replace(other)` moves a file.
                (Some(path), [to]) if self.language == Language::Python => {
                    self.touch('d', &path.clone());
                    self.touch('w', &to.value);
                    to.value.clone()
                }
                (Some(text), [from, to, ..]) => match (text.only(), from.value.only(), to.value.only()) {
                    (Some(text), Some(from), Some(to)) if !from.is_empty() && text.len() < 4096 => {
                        Value::text(&text.replace(from, to))
                    }
                    (None, _, _) => {
                        for arg in args.iter().filter(|arg| arg.literal) {
                            self.harmless_value(&arg.value);
                        }
                        Any(foreign)
                    }
                    _ => {
                        self.source = true;
                        Any(foreign)
                    }
                },
                _ => {
                    self.source |=
                        args.iter().any(|arg| arg.value.only().is_some_and(|text| text.contains('/')));
                    Any(foreign)
                }
            },
            _ => Any(foreign),
        }
    }

    /// `open(F, ">x")`, `open(F, ">", "x")`, `open(F, "x|")`, `open(F, "-|", "ls", "-l")`
    fn perl_open(&mut self, args: &[Arg]) {
        let (Some(mode), rest) = (args.get(1), args.get(2..).unwrap_or_default()) else { return };
        if let [file, ..] = rest {
            match mode.value.only() {
                Some(mode) if mode.contains('|') => self.run(rest),
                Some(mode) => self.touch(if mode.contains(['>', '+']) { 'w' } else { 'r' }, &file.value),
                None => self.touch('w', &file.value),
            }
            return;
        }
        match &mode.value {
            Texts(texts) => {
                for text in texts {
                    let text = text.trim();
                    let name =
                        |text: &str| Value::text(text.trim_start_matches(['+', '>', '<', '&', '=']).trim());
                    if let Some(command) = text.strip_prefix('|').or(text.strip_suffix('|')) {
                        self.shell(&Value::text(command));
                    } else {
                        self.touch(if text.starts_with(['>', '+']) { 'w' } else { 'r' }, &name(text));
                    }
                }
            }
            Part(start, foreign) => {
                let writes = start.starts_with(['>', '+']);
                let name = start.trim_start_matches(['+', '>', '<', ' ']);
                self.touch(if writes { 'w' } else { 'r' }, &Part(name.to_owned(), *foreign));
            }
            // It may be a command.
            _ => self.note(RUNS),
        }
    }

    /// `'%s/x' % a`, `'{}/x'.format(a)`
    pub(super) fn formatted(&mut self, format: &Value, args: &Value) -> Value {
        let Some(format) = format.only() else { return Any(format.foreign() || args.foreign()) };
        let mut given = args.items().into_iter();
        let braces = !format.contains('%');
        let mut parts = format.split(if braces { '{' } else { '%' });
        let mut whole = Value::text(parts.next().unwrap_or_default());
        for part in parts {
            let rest = if braces {
                part.split_once('}').map(|(_, rest)| rest)
            } else {
                let spec =
                    part.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.' | '+'));
                self.source |= spec.starts_with('c');
                spec.get(1..)
            };
            let value = given.next().cloned().unwrap_or(Any(args.foreign()));
            whole = whole.then(&value).then(&Value::text(rest.unwrap_or_default()));
        }
        whole
    }

    fn harmless_value(&mut self, value: &Value) {
        if let Some(text) = value.only().filter(|text| self.outside.contains_key(*text)) {
            *self.harmless.entry(text.to_owned()).or_default() += 1;
        }
    }

    /// A text at a place where it can do nothing.
    pub(super) fn harm_none(&mut self, token: Option<&Token>) {
        if let Some(Token::Text(pieces)) = token {
            if let [Piece::Plain(text)] = pieces.as_slice() {
                self.harmless_value(&Value::text(text));
            }
        }
    }
}

/// The arguments by their place; those with a well-known name are put where they belong.
fn positional(args: &[Arg]) -> Vec<Option<Value>> {
    let mut values: Vec<Option<Value>> =
        args.iter().filter(|arg| arg.name.is_none()).map(|arg| Some(arg.value.clone())).collect();
    for arg in args {
        let at = match arg.name.as_deref() {
            Some(
                "file" | "path" | "filename" | "src" | "source" | "name" | "fname" | "database" | "args"
                | "command" | "cmd" | "path_or_buf" | "fp",
            ) => 0,
            Some("mode" | "dst" | "dest" | "destination" | "target") => 1,
            _ => continue,
        };
        while values.len() <= at {
            values.push(None);
        }
        if let Some(slot @ None) = values.get_mut(at) {
            *slot = Some(arg.value.clone());
        }
    }
    values
}

/// The directory that holds it.
fn parent(path: &Value) -> Value {
    match path {
        Texts(texts) => Texts(
            texts
                .iter()
                .map(|text| match text.trim_end_matches('/').rsplit_once('/') {
                    Some(("", _)) => "/".to_owned(),
                    Some((above, _)) => above.to_owned(),
                    None if text == "." || text == ".." || text.is_empty() => "..".to_owned(),
                    None if text == "~" => "/home".to_owned(),
                    None => ".".to_owned(),
                })
                .collect(),
        ),
        Part(start, foreign) => {
            let above = start.trim_end_matches('/').rsplit_once('/').map(|(above, _)| format!("{above}/"));
            Part(above.unwrap_or_default(), *foreign)
        }
        other => Any(other.foreign()),
    }
}

/// One name for what has several.
pub(super) fn canonical(name: &str) -> String {
    if !name.contains(['.', ':', '/', '-']) {
        return name.to_owned();
    }
    let mut name = name;
    for prefix in [
        "node:",
        "builtins.",
        "__builtins__.",
        "__builtin__.",
        "globalThis.",
        "global.",
        "window.",
        "CORE::",
        "_G.",
        "Kernel.",
    ] {
        name = name.strip_prefix(prefix).unwrap_or(name);
    }
    for suffix in [".call", ".apply", ".bind", ".to_proc", ".default", ".__call__", ".promises"] {
        name = name.strip_suffix(suffix).unwrap_or(name);
    }
    let name = name
        .replace("fs/promises", "fs")
        .replace("fs-extra", "fs")
        .replace("graceful-fs", "fs")
        .replace("path/posix", "path");
    name.replace(".promises.", ".").replace(".default.", ".")
}
