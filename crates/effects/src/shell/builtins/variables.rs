//! `declare`, `unset`, `set`, `shift`, `printf -v`: what variables hold from now on.

use std::rc::Rc;

use toolgate_model::Gap;
use toolgate_shell::{Element, Part, Word};

use crate::shell::bounds::MAX_WORDS;
use crate::shell::state::Variable;
use crate::shell::text::{Choices, Flow, NAME, Text, bounded, either, is_mark};
use crate::shell::walk::Outcome;
use crate::shell::{Interpreter, output};

impl<'t> Interpreter<'t, '_> {
    /// `declare`, and the words that are it with options: `export`, `local`, `readonly`, `typeset`.
    pub(super) fn declare(
        &mut self,
        name: &str,
        arguments: &[Text],
        spelled: Option<&'t [Word<'t>]>,
    ) -> Outcome {
        let asked = Declared::of(name, arguments);
        // Without names, or asked to, it prints what there is.
        if asked.prints {
            if asked.functions && name == "export" {
                let names = arguments
                    .iter()
                    .filter_map(Text::whole)
                    .filter(|name| !name.starts_with('-'))
                    .map(Rc::from);
                self.state.exported_functions.extend(names);
            }
            if asked.functions && asked.readonly {
                for name in arguments.iter().filter(|name| !name.raw().starts_with('-')) {
                    self.state.keep_function(name.raw());
                }
            }
            return Outcome::of(Flow::Any);
        }
        for (at, argument) in arguments.iter().enumerate() {
            if !argument.raw().starts_with(['-', '+']) {
                self.declare_one(&asked, argument, spelled.and_then(|words| words.get(at + 1)));
            }
        }
        Outcome::of(Flow::Nothing)
    }

    fn declare_one(&mut self, asked: &Declared, argument: &Text, word: Option<&'t Word<'t>>) {
        let (target, value) = match argument.raw().split_once('=') {
            Some((target, value)) => (target, Some(Text::marked(value.to_owned()))),
            None => (argument.raw(), None),
        };
        let append = target.ends_with('+');
        let target = target.trim_end_matches('+');
        let (target, index) = match target.split_once('[') {
            Some((target, index)) => (target, Some(index.trim_end_matches(']'))),
            None => (target, None),
        };
        let is_open = asked.reference && value.as_ref().is_none_or(|value| value.raw().contains('['));
        if target.contains(is_mark) || target.is_empty() || is_open {
            // Which variable it is cannot be told: any of them.
            if let Some((_, index)) = value.as_ref().and_then(|value| value.raw().split_once('[')) {
                self.evaluate(index.trim_end_matches(']'));
            }
            self.forget_variables();
            return;
        }
        if asked.integer {
            self.doubts.add_integer(target);
        }
        if asked.cased {
            self.state.change_case(target);
        }
        if let Some(value) = value.as_ref().filter(|value| value.raw().starts_with('(')) {
            self.expand_again(value.raw());
        }
        if let Some(index) = index {
            self.evaluate(index);
        }
        if asked.always_local || (asked.local_in_function && self.control.is_in_function()) {
            self.make_local(target);
        }
        let array = word.and_then(|word| {
            word.parts.iter().find_map(|part| match part {
                Part::Array(elements) => Some(elements.as_slice()),
                _ => None,
            })
        });
        let value = match (array, value) {
            (Some(elements), _) => Some(self.declared_array(elements)),
            (None, Some(value)) => Some(self.declared_value(asked, target, value, append || index.is_some())),
            (None, None) => (asked.unsets && self.state.own(target).is_none()).then_some(Variable::Unset),
        };
        self.heed_spelling(target, word);
        match value {
            // Beside a local of the same name it is another variable.
            Some(_) if asked.global && self.control.sets_global(target) => {
                self.state.set(target, Variable::unknown());
            }
            Some(value) if asked.reference => self.state.put(target, value),
            Some(value) => self.state.set(target, value),
            None => {}
        }
        if asked.readonly {
            self.state.readonly.push(Rc::from(target));
        }
        if asked.exports {
            self.export(target);
        }
        self.environment_changed(target);
        self.doubts.keep_own_path(false);
    }

    fn declared_array(&mut self, elements: &'t [Element<'t>]) -> Variable {
        let mut values: Vec<Choices> = Vec::new();
        for element in elements {
            match self.element(element).as_slice() {
                [fields] => values.extend(fields.iter().map(|text| vec![text.clone()])),
                _ => values.push(vec![Text::any()]),
            }
        }
        Variable::Array(values)
    }

    /// What `x=value` makes of a variable; `adds` where the old value stays a part of it.
    fn declared_value(&mut self, asked: &Declared, target: &str, value: Text, adds: bool) -> Variable {
        if value.raw().starts_with('(') {
            return Variable::unknown();
        }
        if asked.reference {
            return match value.whole() {
                Some(name) => Variable::Reference(Rc::from(name)),
                None => Variable::unknown(),
            };
        }
        if asked.integer {
            self.evaluate(value.raw());
            return Variable::Scalar(vec![Text::mark(NAME)]);
        }
        if !adds {
            return Variable::Scalar(vec![value]);
        }
        let longer = |mut text: Text| {
            text.push(&value);
            text
        };
        let mut texts: Choices = self.variable_texts(target).into_iter().map(longer).collect();
        texts.push(value);
        Variable::Scalar(bounded(texts))
    }

    pub(super) fn unset(&mut self, arguments: &[Text]) -> Outcome {
        for argument in arguments.iter().filter(|argument| !argument.raw().starts_with('-')) {
            match argument.whole() {
                Some(name) => {
                    // `unset 'a[$(cmd)]'` evaluates the subscript.
                    if let Some((name, index)) = name.split_once('[') {
                        self.evaluate(index.trim_end_matches(']'));
                        self.state.set(name, Variable::unknown());
                    } else {
                        let has = |flag: &str| arguments.iter().any(|argument| argument.raw() == flag);
                        // A variable comes first; only where there is none, it is a function.
                        match self.state.get(name) {
                            _ if has("-v") => {}
                            _ if has("-f") => self.state.undefine(name),
                            Some(Variable::Unset) => self.state.undefine(name),
                            Some(Variable::Scalar(_) | Variable::Array(_) | Variable::Reference(_)) => {}
                            None => self.state.may_undefine(name),
                        }
                        if !has("-f") {
                            self.state.set(name, Variable::Unset);
                        }
                    }
                }
                None => {
                    self.forget_variables();
                }
            }
        }
        Outcome::of(Flow::Nothing)
    }

    pub(super) fn set(&mut self, arguments: &[Text]) -> Outcome {
        const CHANGE: [&str; 5] = ["posix", "keyword", "noclobber", "restricted", "history"];
        let mut skip = false;
        let start = arguments.iter().position(|argument| {
            let value = std::mem::take(&mut skip);
            let raw = argument.raw();
            skip = raw.len() > 1 && raw.starts_with(['-', '+']) && raw.ends_with('o');
            !value && (raw == "--" || raw == "-" || !raw.starts_with(['-', '+']))
        });
        let start =
            start.map(|at| at + usize::from(matches!(arguments.get(at).map(Text::raw), Some("--" | "-"))));
        let long = arguments
            .windows(2)
            .any(|pair| matches!(pair, [flag, name] if flag.raw() == "-o" && name.raw() == "physical"));
        self.state.physical |= long
            || arguments
                .iter()
                .any(|argument| argument.raw().starts_with('-') && argument.raw().contains('P'));
        if arguments.is_empty() {
            return Outcome::of(Flow::Any);
        }
        let flag = |letter: char| {
            arguments.iter().any(|argument| {
                argument.raw().starts_with('-')
                    && !argument.raw().starts_with("--")
                    && argument.raw().contains(letter)
            })
        };
        if flag('k')
            || flag('C')
            || flag('r')
            || arguments.iter().any(|argument| CHANGE.contains(&argument.raw()))
        {
            self.unknown(Gap::ShellCode, "set");
        }
        self.state.all_exported |=
            flag('a') || arguments.iter().any(|argument| argument.raw() == "allexport");
        // A word that may be several moves all that come after it.
        let moved =
            start.is_some_and(|start| arguments.iter().skip(start).any(|argument| !argument.is_known()));
        if moved || arguments.len() > MAX_WORDS {
            self.state.positional = None;
            return Outcome::of(Flow::Nothing);
        }
        if let Some(start) = start {
            let fields =
                arguments.get(start..).unwrap_or_default().iter().map(|text| vec![text.clone()]).collect();
            self.state.positional = Some(Rc::new(fields));
        }
        Outcome::of(Flow::Nothing)
    }

    pub(super) fn shift(&mut self, arguments: &[Text]) -> Outcome {
        let count = match arguments.first() {
            None => Some(1),
            Some(count) => count.whole().and_then(|count| count.parse::<usize>().ok()),
        };
        self.state.positional = match (&self.state.positional, count) {
            (Some(fields), Some(count)) => Some(Rc::new(fields.iter().skip(count).cloned().collect())),
            _ => None,
        };
        Outcome::of(Flow::Nothing)
    }

    pub(super) fn printf(&mut self, arguments: &[Text]) -> Outcome {
        let (into, rest) = match arguments {
            [flag, name, dashes, rest @ ..] if flag.raw() == "-v" && dashes.raw() == "--" => {
                (Some(name), rest)
            }
            [flag, name, rest @ ..] if flag.raw() == "-v" => (Some(name), rest),
            [flag, ..] if flag.raw().starts_with("-v") => {
                self.forget_variables();
                return Outcome::of(Flow::Nothing);
            }
            [flag, rest @ ..] if flag.raw() == "--" => (None, rest),
            rest => (None, rest),
        };
        let out = output::printf(rest);
        match into {
            Some(name) => {
                let text = match &out {
                    Flow::Text(text) => vec![text.clone()],
                    Flow::Nothing => vec![Text::default()],
                    Flow::Lines(_) | Flow::Any | Flow::Built => vec![Text::any()],
                };
                match name.whole() {
                    Some(target) => {
                        if let Some((target, index)) = target.split_once('[') {
                            self.evaluate(index.trim_end_matches(']'));
                            let had = self.variable_texts(target);
                            self.state.set(target, Variable::Scalar(either(&had, &text)));
                        } else {
                            // Plain shells know no `-v`: then nothing is set.
                            let text = if self.state.plain {
                                either(&self.variable_texts(target), &text)
                            } else {
                                text
                            };
                            self.state.set(target, Variable::Scalar(text));
                            self.environment_changed(target);
                        }
                    }
                    None => self.unknown(Gap::Name, "printf -v"),
                }
                if self.state.plain { Outcome::of(Flow::Any) } else { Outcome::sure(Flow::Nothing) }
            }
            None => Outcome::of(out),
        }
    }
}

/// What `declare` or one of its kin is asked for.
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
struct Declared {
    /// Nothing is declared, what there is gets printed.
    prints: bool,
    functions: bool,
    /// `-n`
    reference: bool,
    /// `-i`
    integer: bool,
    /// `-l`, `-u`, `-c`
    cased: bool,
    /// `-g`
    global: bool,
    exports: bool,
    readonly: bool,
    /// `local`
    always_local: bool,
    local_in_function: bool,
    /// A name without a value is unset.
    unsets: bool,
}

impl Declared {
    fn of(name: &str, arguments: &[Text]) -> Declared {
        let has = |letter: char| {
            arguments
                .iter()
                .any(|argument| argument.raw().starts_with('-') && argument.raw().contains(letter))
        };
        let functions = has('f');
        let declares = matches!(name, "declare" | "typeset");
        Declared {
            prints: has('p') || functions || has('F') || arguments.is_empty(),
            functions,
            reference: has('n') && name != "export",
            integer: has('i'),
            cased: has('l') || has('u') || has('c'),
            global: has('g'),
            exports: name == "export" || has('x'),
            readonly: name == "readonly" || has('r'),
            always_local: name == "local",
            local_in_function: declares && !has('g'),
            unsets: declares || name == "local",
        }
    }
}
