//! What a call does, by the meaning of its name.

use super::calls::{self, Meaning, Special, Touch, Use, Uses};
use super::expr::Callee;
use super::scan::{EVALUATES, RUNS, Scan};
use super::special::positional;
use super::value::Value;
use super::walk::{Arg, Target};
use super::{Deed, Path};
use crate::language::Language;
use Value::{Any, Closure, List, Map, Nothing, Number, Part, Scratch, Texts, Thing};

impl Scan {
    pub(super) fn call(&mut self, callee: &Callee, mut args: Vec<Arg>) -> Value {
        if self.language() == Language::Node
            && callee.object.is_some()
            && matches!(callee.name.as_str(), "call" | "apply")
            && !matches!(&callee.value, Thing(name) if name == "Reflect.apply")
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
        if !self.report.is_open()
            && callee.value == Nothing
            && callee.object.as_ref().is_none_or(|object| *object == Nothing)
            && self.bindings.parameters_of(&callee.name).is_none()
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
            Texts(texts) if self.language() == Language::Php => texts.clone(),
            Any(_)
                if self.language() == Language::Php
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
            let (mut meaning, own) = self.meaning(thing, callee.object.is_some());
            // `({ rmSync }) => …` of a module.
            if meaning.is_none() && callee.object.is_none() {
                meaning = calls::meaning(self.language(), &format!("{thing}.{}", callee.name));
            }
            if let Some(meaning) = meaning {
                known = true;
                let object = callee.object.as_ref().filter(|_| own);
                let value = self.act(meaning, object, &args, thing.rsplit('.').next().unwrap_or(thing));
                if meaning == Meaning::Special(Special::Add) {
                    self.append(callee, &args);
                }
                result = result.or(value);
            }
        }
        if things.is_empty()
            && callee.object.is_some()
            && let Some(meaning) = calls::meaning(self.language(), &format!(".{}", callee.name))
        {
            known = true;
            result = self.act(meaning, callee.object.as_ref(), &args, &callee.name);
            if meaning == Meaning::Special(Special::Add) {
                self.append(callee, &args);
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
        if let Some(parameters) = self.bindings.parameters_of(&own).map(<[String]>::to_vec) {
            for (at, arg) in args.iter().enumerate() {
                let name = arg.name.clone().or_else(|| parameters.get(at).cloned());
                if let Some(name) = name {
                    self.bind(&name, arg.value.clone());
                }
            }
            let returned = self.bindings.result_of(&own).cloned();
            let unset =
                if self.report.is_open() { Any(args.iter().any(|arg| arg.value.foreign())) } else { Nothing };
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
    pub(super) fn meaning(&self, thing: &str, method: bool) -> (Option<Meaning>, bool) {
        // `remove.call(x)` is a call of `remove`.
        let plain =
            [".call", ".apply", ".bind", ".to_proc"].iter().find_map(|suffix| thing.strip_suffix(suffix));
        let sync = thing.ends_with("Sync") && self.language() == Language::Node;
        let found = calls::meaning(self.language(), thing)
            .or_else(|| plain.and_then(|plain| calls::meaning(self.language(), plain)))
            .or_else(|| calls::meaning(self.language(), &format!("fs.{thing}")).filter(|_| sync));
        if found.is_some() {
            return (found, false);
        }
        for star in self.bindings.open_modules() {
            let found = calls::meaning(self.language(), &format!("{star}.{thing}"));
            if found.is_some() {
                return (found, false);
            }
        }
        let last = thing.rsplit('.').next().unwrap_or(thing);
        let found = if method { calls::meaning(self.language(), &format!(".{last}")) } else { None };
        (found, true)
    }

    /// `list.append(x)`, `push @list, x`
    pub(super) fn append(&mut self, callee: &Callee, args: &[Arg]) {
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
    pub(super) fn callbacks(&mut self, callee: &Callee, args: &[Arg]) {
        let object = callee.object.as_ref().filter(|object| !matches!(object, Thing(_)));
        for (at, arg) in args.iter().enumerate() {
            let others =
                || args.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, arg)| &arg.value);
            match &arg.value {
                Closure(parameters) => {
                    // `list.forEach(([a, b]) => …)`
                    let rows = matches!(object, Some(List(rows)) if rows.iter().all(|row| row.items().len() == parameters.len()));
                    if parameters.len() > 1 && rows {
                        let target = |name: &String| Target { name: name.clone(), key: None };
                        let targets: Vec<Target> = parameters.iter().map(target).collect();
                        self.bind_items(&targets, &object.cloned().unwrap_or(Nothing));
                        continue;
                    }
                    let item = match &callee.object {
                        Some(module @ Thing(_)) if callee.name == "then" => module.clone(),
                        _ => object.into_iter().chain(others()).map(Value::item).fold(Nothing, Value::or),
                    };
                    for parameter in parameters {
                        self.bind(parameter, item.clone());
                    }
                }
                Thing(name) => {
                    let Some(meaning) = self.meaning(name, false).0 else { continue };
                    if matches!(meaning, Meaning::Special(special) if !acts_on_items(special)) {
                        continue;
                    }
                    let items: Vec<Arg> = object
                        .into_iter()
                        .chain(others())
                        .filter(|value| !matches!(value, Number(_)))
                        .map(|value| match value {
                            Texts(_) => Arg::of(value.clone()),
                            other => Arg::of(other.item()),
                        })
                        .collect();
                    self.doubts.unknown_texts(meaning == Meaning::Special(Special::Source));
                    if !items.is_empty() {
                        self.act(meaning, None, &items, name);
                    }
                }
                _ => {}
            }
        }
    }

    /// `own` is the name itself.
    pub(super) fn act(&mut self, meaning: Meaning, object: Option<&Value>, args: &[Arg], own: &str) -> Value {
        match meaning {
            Meaning::Special(special) => self.special(special, object, args, own),
            Meaning::Uses(uses) => self.used(uses, object, args, own),
            Meaning::OwnModule | Meaning::ConnectingModule => Any(false),
        }
    }

    fn used(&mut self, uses: Uses, object: Option<&Value>, args: &[Arg], own: &str) -> Value {
        let values = positional(args);
        let mut result = Any(false);
        if let Some(used) = uses.object {
            match self.object_used(used, object, &values, own) {
                Ok(value) => result = value,
                Err(value) => return value,
            }
        }
        let inplace = args.iter().any(|arg| arg.name.as_deref() == Some("inplace"));
        for (at, used) in uses.arguments.into_iter().flatten().enumerate() {
            match (used, values.get(at).cloned().flatten()) {
                (Use::Nothing, _) | (Use::Shell | Use::Open, None) => {}
                (Use::Shell, Some(value)) => {
                    self.shell(&value, args);
                    result = Any(true);
                }
                (Use::Open, Some(value)) => result = self.argument_opened(&value, at, &values),
                (Use::Touch(touch), Some(value)) => {
                    let touch = if inplace { Touch::Write } else { touch };
                    let value = self.touch_value(touch, &value);
                    if at == 0 {
                        result = value;
                    }
                    if uses.repeats && uses.arguments.get(at + 1).is_none_or(Option::is_none) {
                        for value in values.iter().skip(at + 1).flatten() {
                            self.touch_value(touch, value);
                        }
                    }
                }
                // `zip.extractall()`
                (Use::Touch(Touch::Write), None) if own.starts_with("extract") => {
                    self.touch_value(Touch::Write, &Value::text("."));
                }
                (Use::Touch(_), None) => {}
            }
        }
        result
    }

    /// What is done with the object of a call. `Err` is the value of the whole call, where the object is not a path.
    fn object_used(
        &mut self,
        used: Use,
        object: Option<&Value>,
        values: &[Option<Value>],
        own: &str,
    ) -> Result<Value, Value> {
        let path =
            object.filter(|object| !matches!(object, Thing(_) | Nothing | List(_) | Map(_) | Number(_)));
        // `x.exists()`, `x.rename(…)` may be of anything, `x.write_text()` is of a path.
        let sure = matches!(path, Some(Texts(_) | Part(..) | Scratch));
        let changes = matches!(used, Use::Touch(Touch::Write | Touch::Delete));
        let of_path = self.language() == Language::Python && changes && own != "rename" && own != "save";
        let Some(path) = path.filter(|_| sure || of_path) else {
            return Err(match used {
                Use::Open => self.opened_by_other(values),
                Use::Touch(Touch::Read) => Any(true),
                Use::Touch(_) | Use::Shell | Use::Nothing => Any(object.is_some_and(Value::foreign)),
            });
        };
        Ok(match used {
            Use::Open => self.open(path, values.first().and_then(Option::as_ref)),
            Use::Touch(touch) => self.touch_value(touch, path),
            Use::Shell | Use::Nothing => Any(false),
        })
    }

    fn argument_opened(&mut self, value: &Value, at: usize, values: &[Option<Value>]) -> Value {
        match value {
            // `open(*list)`, `open(**options)`
            List(items) if values.len() == 1 => {
                let path = items.first().cloned().unwrap_or(Nothing);
                self.open(&path, items.get(1))
            }
            options @ Map(_) => {
                let mode = options.under(&Value::text("mode"));
                self.open(&options.under(&Value::text("file")), Some(&mode))
            }
            value => self.open(value, values.get(at + 1).and_then(Option::as_ref)),
        }
    }

    /// `.open(…)` of an object that is not a path: `Image.open('x')`.
    fn opened_by_other(&mut self, values: &[Option<Value>]) -> Value {
        match values.first() {
            Some(Some(value @ (Texts(_) | Part(..)))) => {
                self.open(value, values.get(1).and_then(Option::as_ref))
            }
            _ => Any(true),
        }
    }

    pub(super) fn open(&mut self, path: &Value, mode: Option<&Value>) -> Value {
        let writes = match mode {
            None | Some(Number(Some(0))) => false,
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
        if let (Language::Ruby, Texts(texts)) = (self.language(), path) {
            let piped: Vec<String> =
                texts.iter().filter_map(|text| text.strip_prefix('|')).map(str::to_owned).collect();
            if !piped.is_empty() {
                self.shell(&Texts(piped), &[]);
                return Any(true);
            }
        }
        self.touch_value(if writes { Touch::Write } else { Touch::Read }, path);
        if matches!(path, Scratch) { Scratch } else { Any(true) }
    }

    /// Uses a file, and says what comes of it.
    pub(super) fn touch_value(&mut self, touch: Touch, value: &Value) -> Value {
        self.touch(touch, value);
        match (touch, value) {
            (Touch::List, Texts(_) | Part(..)) => match value.clone().below(&Any(false)) {
                Part(start, _) => Part(start, false),
                other => other,
            },
            (Touch::List, other) => other.item(),
            (Touch::Read, _) => Any(true),
            (Touch::Write | Touch::Delete | Touch::Enter, _) => Any(false),
        }
    }

    pub(super) fn touch(&mut self, touch: Touch, value: &Value) {
        let deed: fn(Path) -> Deed = match touch {
            Touch::Read => Deed::Read,
            Touch::List => Deed::List,
            Touch::Write => Deed::Write,
            Touch::Delete => Deed::Delete,
            Touch::Enter => Deed::Enter,
        };
        let changes = matches!(touch, Touch::Write | Touch::Delete | Touch::Enter);
        self.doubts.acting(changes);
        match value {
            Texts(texts) => {
                for text in texts {
                    let text = text.strip_prefix("file://").unwrap_or(text);
                    match text.split_once("://") {
                        Some(("php", rest)) => {
                            // `php://filter/…/resource=/etc/passwd`
                            if let Some((_, file)) = rest.split_once("resource=") {
                                self.note(deed(Path::Known(file.to_owned())));
                            }
                        }
                        Some(("data", _)) => {}
                        // `compress.zlib:///etc/x`
                        Some((_, file)) if file.starts_with('/') => {
                            self.note(deed(Path::Known(file.to_owned())));
                        }
                        Some(_) => self.note(Deed::Connect),
                        None if text.is_empty() || text == ":memory:" => {}
                        None => self.note(deed(Path::Known(text.to_owned()))),
                    }
                }
            }
            List(items) => items.iter().for_each(|item| self.touch(touch, item)),
            Map(pairs) => pairs.iter().for_each(|(key, _)| self.touch(touch, key)),
            Scratch | Number(_) => {}
            Part(start, _) if start.contains("://") => self.note(Deed::Connect),
            // Looking below a known directory does little, whatever the name.
            Part(start, foreign)
                if (!foreign && !self.doubts.may_lead_outside())
                    || (touch == Touch::List && start.contains('/') && !start.starts_with(['/', '~'])) =>
            {
                let directory = start.rfind('/').and_then(|at| start.get(..=at));
                self.note(deed(Path::Below(directory.unwrap_or(".").to_owned())));
            }
            Any(false) | Nothing | Thing(_) | Closure(_) if !self.doubts.may_lead_outside() => {
                // A directory that is entered may hold all that follows.
                if touch == Touch::List && !self.report.is_open() {
                    return;
                }
                self.doubts.loose_writes(changes);
                self.note(deed(Path::Below(".".to_owned())));
            }
            Part(..) | Any(_) | Nothing | Thing(_) | Closure(_) => self.note(deed(Path::Unknown)),
        }
    }

    /// A text that a shell runs. The arguments may say where.
    pub(super) fn shell(&mut self, command: &Value, args: &[Arg]) {
        self.doubts.acting(true);
        match command {
            Texts(texts) => texts.iter().for_each(|text| self.start(Deed::Shell(text.clone()), args)),
            Number(_) => {}
            List(_) => self.run(&[Arg::of(command.clone())]),
            Nothing if !self.report.is_open() => {}
            _ => self.note(RUNS),
        }
    }

    /// A program by its words: `['git', 'status']`, `'git', ['status']`, or a text for the shell.
    pub(super) fn run(&mut self, args: &[Arg]) {
        self.doubts.acting(true);
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
        if let ([text], [Texts(_)]) = (given.as_slice(), words.as_slice())
            && (!matches!(text, List(_)) || shell)
        {
            let text = (*first).clone();
            return self.shell(&text, args);
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
            if self.report.is_open() || !words.iter().any(|word| matches!(word, Nothing)) {
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
            self.start(if shell { Deed::Shell(argv.join(" ")) } else { Deed::Run(argv) }, args);
        }
    }

    /// Runs something in the directory that an argument names: as a shell would, after a `cd`.
    fn start(&mut self, deed: Deed, args: &[Arg]) {
        let named = |name: &str| matches!(name, "cwd" | "chdir");
        let directory = args.iter().find_map(|arg| match &arg.value {
            Map(options) => {
                options.iter().find(|(key, _)| key.only().is_some_and(named)).map(|(_, value)| value)
            }
            value => arg.name.as_deref().is_some_and(named).then_some(value),
        });
        let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
        let text = match &deed {
            Deed::Run(words) => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
            Deed::Shell(text) => format!("{{ {text}\n}}"),
            _ => String::new(),
        };
        match directory {
            Some(Texts(places)) => {
                for place in places.iter().filter(|place| *place != ".") {
                    // A tilde is the shell's.
                    let place = match place.strip_prefix("~/") {
                        Some(rest) => format!("~/{}", quoted(rest)),
                        None if place == "~" => place.clone(),
                        None => quoted(place),
                    };
                    self.note(Deed::Shell(format!("cd {place} && {text}")));
                }
                if places.iter().any(|place| place == ".") {
                    self.note(deed);
                }
            }
            Some(Scratch) => self.note(Deed::Shell(format!("cd \"$(mktemp -d)\" && {text}"))),
            Some(value @ (Part(..) | Any(_))) if value.foreign() || self.doubts.may_lead_outside() => {
                self.note(RUNS);
            }
            Some(Part(start, _)) if start.starts_with(['/', '~']) => self.note(RUNS),
            _ => self.note(deed),
        }
    }

    pub(super) fn evaluate(&mut self, code: Option<&Value>, own: &str) {
        match code {
            Some(Texts(texts)) => {
                self.doubts.acting(true);
                if self.report.is_open() {
                    for text in texts {
                        self.look_inside(text);
                    }
                }
            }
            None | Some(Closure(_) | Number(_) | Nothing) => {}
            // A check of the syntax, a function that is called later.
            Some(_) if own == "compile" || own.starts_with("set") => {}
            Some(_) => self.note(EVALUATES),
        }
    }
}

/// Whether a function of this meaning does something with each item that it is called with.
fn acts_on_items(special: Special) -> bool {
    !matches!(
        special,
        Special::Pure
            | Special::Number
            | Special::Id
            | Special::List
            | Special::Connect
            | Special::Path
            | Special::Import
            | Special::Join
    )
}
