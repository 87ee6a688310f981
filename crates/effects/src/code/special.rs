//! Calls with a meaning of their own.

use super::lex::{Piece, Token};
use super::names::{canonical, parent};
use super::scan::{EVALUATES, RUNS, Scan};
use super::value::Value;
use super::walk::Arg;
use super::{Deed, Language};
use Value::{Any, List, Map, Nothing, Number, Part, Scratch, Texts, Thing};

impl Scan {
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
        let module = object;
        let object = object.filter(|object| !matches!(object, Thing(_)));
        let foreign = object.is_some_and(Value::foreign) || args.iter().any(|arg| arg.value.foreign());
        match meaning {
            "!pure" => {
                for arg in args.iter().filter(|arg| arg.literal) {
                    self.harmless_value(&arg.value);
                }
                // What is left of a path may be another.
                let cut = match object {
                    Some(object) => names_path(object),
                    None => args.iter().any(|arg| names_path(&arg.value)),
                };
                Any(foreign || cut)
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
                // `'a/etc'.lstrip('a')`
                (Some(text @ Texts(_)), Some(_)) => Any(names_path(text)),
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
            "!define" => {
                if let (Some(name), Some(value)) = (first.as_ref().and_then(Value::only), second) {
                    self.bind(name, value);
                }
                Any(false)
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
                match first {
                    Some(Thing(module)) => {
                        self.import(&module);
                        return Any(false);
                    }
                    Some(first) => self.touch('r', &first),
                    None => {}
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
            "!apply" => self.apply(module, object, args),
            "!fork" => {
                if self.loops {
                    self.note(Deed::Unknown("forks without end"));
                }
                Number(None)
            }
            "!connect" => {
                self.note(Deed::Connect);
                // `urlopen('file:///etc/x')`
                if let Some(Texts(texts)) = &first
                    && texts.iter().any(|text| text.starts_with("file:"))
                {
                    self.touch('r', &Texts(texts.clone()));
                }
                Any(true)
            }
            "!perlopen" => {
                match (own, args) {
                    ("new", [_]) => self.perl_open(&[Arg::of(Nothing), Arg::of(first.unwrap_or(Nothing))]),
                    ("new", _) => {
                        self.open(&first.unwrap_or(Nothing), second.as_ref());
                    }
                    _ => self.perl_open(args),
                }
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
            // `Pathname('a').join('b')`
            "!text" if matches!(object, Some(Texts(_) | Part(..))) && self.language == Language::Ruby => {
                self.special("!path", object, args, own)
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

    /// Calls what is given by its name: `send(:system, 'id')`, `array_map('system', $x)`.
    fn apply(&mut self, module: Option<&Value>, object: Option<&Value>, args: &[Arg]) -> Value {
        let foreign = args.iter().any(|arg| arg.value.foreign());
        // php has the function behind the list, too.
        let named = |arg: &Arg| matches!(&arg.value, Texts(names) if names.iter().any(|name| self.meaning(&canonical(name), false).0.is_some()));
        let at = if self.language == Language::Php { args.iter().position(named).unwrap_or(0) } else { 0 };
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
            Thing(name) if self.language != Language::Ruby || self.meaning(name, false).0.is_some() => {
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
                        self.shell(&Value::text(command), &[]);
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

    pub(super) fn harmless_value(&mut self, value: &Value) {
        if let Some(text) = value.only().filter(|text| self.outside.contains_key(*text)) {
            *self.harmless.entry(text.to_owned()).or_default() += 1;
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

/// Whether it is a text that may hold the name of a place.
fn names_path(value: &Value) -> bool {
    matches!(value, Texts(texts) if texts.iter().any(|text| text.contains('/')))
}
