//! Calls with a meaning of their own.

use super::Deed;
use super::calls::{Special, Touch};
use super::lex::{Piece, Token};
use super::names::{canonical, parent};
use super::scan::{EVALUATES, RUNS, Scan};
use super::value::Value;
use super::walk::Arg;
use crate::language::Language;
use Value::{Any, List, Map, Nothing, Number, Part, Scratch, Texts, Thing};

/// Rows that two lists are paired into at most.
const MAX_ROWS: usize = 64;
/// Pieces that a text is cut into.
const MAX_PIECES: usize = 100;

/// A call, as its meaning wants to see it.
struct SpecialCall<'c> {
    /// What the name is a member of.
    module: Option<&'c Value>,
    /// The same, where it is a value of the program and no module.
    object: Option<&'c Value>,
    args: &'c [Arg],
    /// The last part of the name.
    own: &'c str,
    first: Option<Value>,
    second: Option<Value>,
    /// Text from outside of the program goes in, and may come out.
    foreign: bool,
}

impl<'c> SpecialCall<'c> {
    fn of(module: Option<&'c Value>, args: &'c [Arg], own: &'c str) -> SpecialCall<'c> {
        let object = module.filter(|object| !matches!(object, Thing(_)));
        let foreign = object.is_some_and(Value::foreign) || args.iter().any(|arg| arg.value.foreign());
        let mut values = positional(args).into_iter();
        let (first, second) = (values.next().flatten(), values.next().flatten());
        SpecialCall { module, object, args, own, first, second, foreign }
    }

    /// The object and the arguments.
    fn parts(&self) -> impl Iterator<Item = &'c Value> {
        self.object.into_iter().chain(self.args.iter().map(|arg| &arg.value))
    }

    /// The object, or the first argument.
    fn subject(&self) -> Option<Value> {
        self.object.or(self.first.as_ref()).cloned()
    }
}

impl Scan {
    pub(super) fn special(
        &mut self,
        meaning: Special,
        object: Option<&Value>,
        args: &[Arg],
        own: &str,
    ) -> Value {
        let call = SpecialCall::of(object, args, own);
        match meaning {
            Special::Add => Any(call.foreign),
            Special::Apply => self.apply(&call),
            Special::Code => {
                self.note(Deed::Unknown("reaches into what cannot be followed"));
                Any(true)
            }
            Special::Connect => self.connect(&call),
            Special::Cwd => Value::text("."),
            Special::Define => self.define(call),
            Special::Enumerate => enumerated(call),
            Special::Env => environment(call),
            Special::Eval => self.eval(&call),
            Special::Execl => self.execl(&call),
            Special::Foreign => Any(true),
            Special::Fork => self.fork(),
            Special::Format => self.format(call),
            Special::GetAttribute => self.attribute(&call),
            Special::Glob => self.glob(call),
            Special::Home => Value::text("~"),
            Special::Id => same(call),
            Special::Import => self.imported(&call),
            Special::Include => self.include(call),
            Special::Items => items(&call),
            Special::Join | Special::Path => self.path(meaning, &call),
            Special::List | Special::Values => self.listed(meaning, &call),
            Special::Module => match call.first {
                Some(Thing(name)) => Thing(format!("{name}.__dict__")),
                _ => Any(call.foreign),
            },
            Special::Number => Number(None),
            Special::Parent => parent(&call.subject().unwrap_or(Nothing)),
            Special::PerlOpen => self.perl_opened(call),
            Special::Project => {
                self.note(Deed::Project);
                Any(true)
            }
            Special::Pure => self.pure(&call),
            Special::Run => {
                self.run(args);
                Any(true)
            }
            Special::Scratch => self.scratch(call),
            Special::Source => self.made_of_numbers(&call),
            Special::Split => self.split(&call),
            Special::Sub => self.exchanged(&call),
            Special::Text => self.text_of_list(&call),
            Special::Tmp => Value::text("/tmp"),
        }
    }

    // ── texts ───────────────────────────────────────────────────────────────────────────────────────────────────────

    fn pure(&mut self, call: &SpecialCall<'_>) -> Value {
        for arg in call.args.iter().filter(|arg| arg.literal) {
            self.harmless_value(&arg.value);
        }
        // What is left of a path may be another.
        let cut = match call.object {
            Some(object) => names_path(object),
            None => call.args.iter().any(|arg| names_path(&arg.value)),
        };
        Any(call.foreign || cut)
    }

    /// `chr(47)`, `String.fromCharCode(47, 101)`, and what cannot be worked out.
    fn made_of_numbers(&mut self, call: &SpecialCall<'_>) -> Value {
        let own = call.own;
        let numbers: Option<String> =
            call.args.iter().map(|arg| arg.value.number().and_then(char::from_u32)).collect();
        let makes_text = own.starts_with("chr") || own.ends_with("har") || own.starts_with("from");
        match numbers {
            Some(text) if !text.is_empty() && makes_text => Value::text(&text),
            _ => {
                self.doubts.unknown_texts(true);
                Any(true)
            }
        }
    }

    fn format(&mut self, call: SpecialCall<'_>) -> Value {
        let (format, rest) = match call.object {
            Some(format) => (Some(format.clone()), call.args),
            None => (call.first, call.args.get(1..).unwrap_or_default()),
        };
        let Some(format) = format else { return Any(call.foreign) };
        if call.own == "rep" {
            self.doubts.unknown_texts(true);
        }
        let rest: Vec<Value> = rest.iter().map(|arg| arg.value.clone()).collect();
        self.formatted(&format, &List(rest))
    }

    /// `','.join(list)`, `list.join(',')`
    fn text_of_list(&mut self, call: &SpecialCall<'_>) -> Value {
        // `Pathname('a').join('b')`
        if matches!(call.object, Some(Texts(_) | Part(..))) && self.language() == Language::Ruby {
            return self.path(Special::Path, call);
        }
        let between = call.parts().find_map(Value::only).unwrap_or(if self.language() == Language::Node {
            ","
        } else {
            ""
        });
        let list = call.parts().find_map(|part| match part {
            List(items) => Some(items.iter().map(Value::only).collect::<Option<Vec<_>>>()),
            _ => None,
        });
        if let Some(Some(words)) = list {
            return Value::text(&words.join(between));
        }
        if self.language() == Language::Perl && call.args.iter().all(|arg| arg.value.only().is_some()) {
            let words: Vec<&str> = call.args.iter().skip(1).filter_map(|arg| arg.value.only()).collect();
            return Value::text(&words.join(between));
        }
        Any(call.foreign)
    }

    fn split(&mut self, call: &SpecialCall<'_>) -> Value {
        let mut parts = call.parts().filter_map(Value::only);
        let (one, other) = (parts.next(), parts.next());
        let (text, sign) = if call.object.is_some() { (one, other) } else { (other, one) };
        match (text, sign) {
            (Some(text), Some(sign)) if !sign.is_empty() => pieces(text.split(sign)),
            (Some(text), None) if call.args.is_empty() => pieces(text.split_whitespace()),
            (text, _) => {
                self.doubts.unknown_texts(text.is_some_and(|text| text.contains('/')));
                Any(call.foreign)
            }
        }
    }

    /// `text.replace(from, to)`
    fn exchanged(&mut self, call: &SpecialCall<'_>) -> Value {
        match (call.object, call.args) {
            // `path.replace(other)` moves a file.
            (Some(path), [to]) if self.language() == Language::Python => {
                self.touch(Touch::Delete, path);
                self.touch(Touch::Write, &to.value);
                to.value.clone()
            }
            (Some(text), [from, to, ..]) => match (text.only(), from.value.only(), to.value.only()) {
                (Some(text), Some(from), Some(to)) if !from.is_empty() && text.len() < 4096 => {
                    Value::text(&text.replace(from, to))
                }
                (None, _, _) => {
                    for arg in call.args.iter().filter(|arg| arg.literal) {
                        self.harmless_value(&arg.value);
                    }
                    Any(call.foreign)
                }
                _ => {
                    self.doubts.unknown_texts(true);
                    Any(call.foreign)
                }
            },
            (_, args) => {
                self.doubts.unknown_texts(
                    args.iter().any(|arg| arg.value.only().is_some_and(|text| text.contains('/'))),
                );
                Any(call.foreign)
            }
        }
    }

    // ── paths ───────────────────────────────────────────────────────────────────────────────────────────────────────

    /// `os.path.join(a, b)`, `Path(a, b)`
    fn path(&mut self, meaning: Special, call: &SpecialCall<'_>) -> Value {
        let mut parts = call.parts().cloned();
        let Some(mut whole) = parts.next() else { return Value::text(".") };
        for part in parts {
            whole = if meaning == Special::Join && self.language() != Language::Python {
                whole.then(&Value::text("/")).then(&part)
            } else {
                self.join(whole, &part)
            };
        }
        if let Thing(_) = whole { Any(false) } else { whole }
    }

    fn scratch(&mut self, call: SpecialCall<'_>) -> Value {
        let named = call.args.iter().find(|arg| arg.name.as_deref() == Some("dir"));
        let made = call.own.starts_with("mkdtemp") && self.language() == Language::Node;
        let place = named.map(|arg| arg.value.clone()).or_else(|| call.first.filter(|_| made));
        let is_temporary = |place: &Value| matches!(place, Texts(texts) if texts.iter().all(|text| text.starts_with("/tmp/")));
        match place.filter(|place| !is_temporary(place)) {
            Some(place) => {
                self.touch(Touch::Write, &place);
                place
            }
            None => Scratch,
        }
    }

    fn glob(&mut self, call: SpecialCall<'_>) -> Value {
        let directory = |text: &String| {
            let plain = text.split(['*', '?', '[', '{']).next().unwrap_or_default();
            if plain.len() == text.len() {
                return text.clone();
            }
            plain.rfind('/').and_then(|at| plain.get(..=at)).unwrap_or(".").to_owned()
        };
        match call.first {
            Some(Texts(patterns)) => {
                self.touch_value(Touch::List, &Texts(patterns.iter().map(directory).collect()))
            }
            Some(other) => self.touch_value(Touch::List, &other),
            None => Any(false),
        }
    }

    // ── lists ───────────────────────────────────────────────────────────────────────────────────────────────────────

    fn listed(&mut self, meaning: Special, call: &SpecialCall<'_>) -> Value {
        let list = call.object.cloned().or_else(|| call.args.last().map(|arg| arg.value.clone()));
        match list {
            Some(Map(pairs)) => {
                let pick =
                    |(key, value): (Value, Value)| if meaning == Special::Values { value } else { key };
                List(pairs.into_iter().map(pick).collect())
            }
            Some(Texts(texts)) => {
                self.doubts.unknown_texts(texts.iter().any(|text| text.contains('/')));
                Any(false)
            }
            Some(other) => other,
            None => List(Vec::new()),
        }
    }

    // ── code and programs ───────────────────────────────────────────────────────────────────────────────────────────

    fn define(&mut self, call: SpecialCall<'_>) -> Value {
        if let (Some(name), Some(value)) = (call.first.as_ref().and_then(Value::only), call.second) {
            self.bind(name, value);
        }
        Any(false)
    }

    fn eval(&mut self, call: &SpecialCall<'_>) -> Value {
        let object = call.object.filter(|_| self.language() != Language::Ruby);
        self.evaluate(call.first.as_ref().or(object), call.own);
        Any(true)
    }

    fn execl(&mut self, call: &SpecialCall<'_>) -> Value {
        // The name that a program is called by is no argument of it.
        let skip = usize::from(call.own.starts_with("spawn"));
        let flat = call
            .args
            .iter()
            .skip(skip)
            .filter(|arg| !matches!(arg.value, Map(_)) && arg.name.is_none())
            .flat_map(|arg| arg.value.items());
        let mut words: Vec<Value> = flat.cloned().collect();
        if words.len() > 1 {
            words.remove(1);
        }
        self.run(&[Arg::of(List(words))]);
        Any(true)
    }

    fn fork(&mut self) -> Value {
        if self.doubts.has_loops() {
            self.note(Deed::Unknown("forks without end"));
        }
        Number(None)
    }

    fn imported(&mut self, call: &SpecialCall<'_>) -> Value {
        match &call.first {
            Some(Texts(names)) => names.iter().map(|name| self.required(name)).fold(Nothing, Value::or),
            None | Some(Nothing) => Thing("require".to_owned()),
            Some(_) if call.own == "createRequire" => Thing("require".to_owned()),
            Some(_) => {
                self.note(Deed::Unknown("loads a module that is only known when it runs"));
                Any(true)
            }
        }
    }

    fn include(&mut self, call: SpecialCall<'_>) -> Value {
        match call.first {
            Some(Thing(module)) => {
                self.import(&module);
                return Any(false);
            }
            Some(first) => self.touch(Touch::Read, &first),
            None => {}
        }
        self.note(Deed::Project);
        Any(false)
    }

    /// `getattr(os, 'system')`
    fn attribute(&mut self, call: &SpecialCall<'_>) -> Value {
        match (&call.first, &call.second) {
            (Some(base @ Thing(_)), Some(Texts(names))) => {
                names.iter().map(|name| self.member(base, name)).fold(Nothing, Value::or)
            }
            (Some(base @ Thing(_)), Some(Any(_) | Part(..) | Thing(_)))
                if self.bindings.values().values().any(|value| value == base) =>
            {
                self.note(EVALUATES);
                Any(true)
            }
            _ => Any(call.foreign),
        }
    }

    fn connect(&mut self, call: &SpecialCall<'_>) -> Value {
        self.note(Deed::Connect);
        // `urlopen('file:///etc/x')`
        if let Some(place @ Texts(texts)) = &call.first
            && texts.iter().any(|text| text.starts_with("file:"))
        {
            self.touch(Touch::Read, place);
        }
        Any(true)
    }

    fn perl_opened(&mut self, call: SpecialCall<'_>) -> Value {
        match (call.own, call.args) {
            ("new", [_]) => self.perl_open(&[Arg::of(Nothing), Arg::of(call.first.unwrap_or(Nothing))]),
            ("new", _) => {
                self.open(&call.first.unwrap_or(Nothing), call.second.as_ref());
            }
            _ => self.perl_open(call.args),
        }
        Any(true)
    }

    /// Calls what is given by its name: `send(:system, 'id')`, `array_map('system', $x)`.
    fn apply(&mut self, call: &SpecialCall<'_>) -> Value {
        let SpecialCall { module, object, args, .. } = *call;
        let foreign = args.iter().any(|arg| arg.value.foreign());
        // php has the function behind the list, too.
        let named = |arg: &Arg| matches!(&arg.value, Texts(names) if names.iter().any(|name| self.meaning(&canonical(name), false).0.is_some()));
        let at = if self.language() == Language::Php { args.iter().position(named).unwrap_or(0) } else { 0 };
        let Some(function) = args.get(at) else { return Any(foreign) };
        match &function.value {
            Texts(names) => {
                let rest = args.iter().enumerate().filter(|(own, _)| *own != at);
                let items: Vec<Arg> =
                    rest.flat_map(|(_, arg)| arg.value.items()).cloned().map(Arg::of).collect();
                let mut result = Nothing;
                for name in names {
                    // `File.method(:delete)`
                    let full = match module {
                        Some(Thing(module)) => canonical(&format!("{module}.{name}")),
                        _ => String::new(),
                    };
                    let known = self.meaning(&full, false).0.is_some();
                    let name = if known { full } else { canonical(name) };
                    let Some(meaning) = self.meaning(&name, false).0 else { continue };
                    let value =
                        if items.is_empty() { Thing(name) } else { self.act(meaning, object, &items, &name) };
                    result = result.or(value);
                }
                if result == Nothing { Any(foreign) } else { result }
            }
            Thing(name) if self.language() != Language::Ruby || self.meaning(name, false).0.is_some() => {
                Thing(name.clone())
            }
            Any(_) | Part(..) | Thing(_) if self.is(&[Language::Ruby, Language::Php]) => {
                self.note(EVALUATES);
                Any(true)
            }
            _ => Any(foreign),
        }
    }

    /// `open(F, ">x")`, `open(F, ">", "x")`, `open(F, "x|")`, `open(F, "-|", "ls", "-l")`
    pub(super) fn perl_open(&mut self, args: &[Arg]) {
        let (Some(mode), rest) = (args.get(1), args.get(2..).unwrap_or_default()) else { return };
        if let [file, ..] = rest {
            match mode.value.only() {
                Some(mode) if mode.contains('|') => self.run(rest),
                Some(mode) => self.touch(written_if(mode.contains(['>', '+'])), &file.value),
                None => self.touch(Touch::Write, &file.value),
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
                        self.shell(&Value::text(command), &[]);
                    } else {
                        self.touch(written_if(text.starts_with(['>', '+'])), &name(text));
                    }
                }
            }
            Part(start, foreign) => {
                let writes = start.starts_with(['>', '+']);
                let name = start.trim_start_matches(['+', '>', '<', ' ']);
                self.touch(written_if(writes), &Part(name.to_owned(), *foreign));
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
                self.doubts.unknown_texts(spec.starts_with('c'));
                spec.get(1..)
            };
            let value = given.next().cloned().unwrap_or(Any(args.foreign()));
            whole = whole.then(&value).then(&Value::text(rest.unwrap_or_default()));
        }
        whole
    }

    pub(super) fn harmless_value(&mut self, value: &Value) {
        if let Some(text) = value.only() {
            self.report.harmless(text);
        }
    }

    /// A text at a place where it can do nothing.
    pub(super) fn harm_none(&mut self, token: Option<&Token>) {
        if let Some(Token::Text(pieces)) = token
            && let [Piece::Plain(text)] = pieces.as_slice()
        {
            self.harmless_value(&Value::text(text));
        }
    }
}

/// What comes back as it was given, or nearly so.
fn same(call: SpecialCall<'_>) -> Value {
    match (call.object, call.first) {
        // `'a/etc'.lstrip('a')`
        (Some(text @ Texts(_)), Some(_)) => Any(names_path(text)),
        (Some(object), _) => object.clone(),
        (None, Some(first)) if call.own == "expand_path" => {
            call.second.map_or(first.clone(), |base| base.below(&first))
        }
        (None, first) => first.unwrap_or(Any(call.foreign)),
    }
}

/// `os.getenv('HOME', other)`
fn environment(call: SpecialCall<'_>) -> Value {
    let value = Scan::variable(&call.first.unwrap_or(Nothing));
    if value == Any(true) { value } else { call.second.map_or(value.clone(), |other| value.or(other)) }
}

/// The pieces of a text. Any text, where they are too many to tell apart: a list that is cut would hide what comes later.
fn pieces<'p>(all: impl Iterator<Item = &'p str>) -> Value {
    let all: Vec<Value> = all.take(MAX_PIECES + 1).map(Value::text).collect();
    if all.len() > MAX_PIECES { Any(false) } else { List(all) }
}

/// `map.items()`, `zip(a, b)`
fn items(call: &SpecialCall<'_>) -> Value {
    if call.own == "zip" {
        let rows = call.parts().map(|column| column.items().len()).max().unwrap_or(0);
        if rows > MAX_ROWS {
            return Any(call.parts().any(Value::foreign));
        }
        let cell = |column: &Value, row: usize| match column {
            List(items) => items.get(row).cloned().unwrap_or(Nothing),
            other => other.item(),
        };
        return List(
            (0..rows).map(|row| List(call.parts().map(|column| cell(column, row)).collect())).collect(),
        );
    }
    match call.subject() {
        Some(Map(pairs)) => List(pairs.into_iter().map(|(key, value)| List(vec![key, value])).collect()),
        Some(other) => other,
        None => Any(call.foreign),
    }
}

fn enumerated(call: SpecialCall<'_>) -> Value {
    match call.first {
        Some(List(items)) => List(items.into_iter().map(|item| List(vec![Number(None), item])).collect()),
        Some(other) => List(vec![List(vec![Number(None), other.item()])]),
        None => Any(call.foreign),
    }
}

/// The arguments by their place; those with a well-known name are put where they belong.
pub(super) fn positional(args: &[Arg]) -> Vec<Option<Value>> {
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

fn written_if(writes: bool) -> Touch {
    if writes { Touch::Write } else { Touch::Read }
}

/// Whether it is a text that may hold the name of a place.
fn names_path(value: &Value) -> bool {
    matches!(value, Texts(texts) if texts.iter().any(|text| text.contains('/')))
}
