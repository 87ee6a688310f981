//! `declare`, `unset`, `set`, `shift`, `printf -v`: what variables hold from now on.

use std::rc::Rc;

use toolgate_model::{Doubt, Gap};
use toolgate_shell::{Part, Word};

use crate::shell::bounds::MAX_WORDS;
use crate::shell::evaluated::Evaluator;
use crate::shell::programs::names_pager;
use crate::shell::text::{CLASS, Flow, ONE, STAR, Text, either, is_mark};
use crate::shell::variables::{Given, Variable, is_shells_own};
use crate::shell::walk::Outcome;
use crate::shell::{Interpreter, output};

use super::options::options_of;

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
        let target = Text::marked(target.trim_end_matches('+').to_owned());
        self.evaluates(&target, Evaluator::Arithmetic);
        // What a pattern has found may be the name of any variable.
        let is_pattern = target.raw().contains([STAR, ONE, CLASS]);
        let target = target.unglobbed();
        let (name, index) = match target.raw().split_once('[') {
            Some((name, index)) => (name, Some(Text::marked(index.trim_end_matches(']').to_owned()))),
            None => (target.raw(), None),
        };
        if let Some(index) = &index {
            self.evaluate(index.raw());
        }
        if is_pattern {
            return self.set_some_variable();
        }
        if name.contains(is_mark) || name.is_empty() {
            return self.set_variable(&target, Given::Unknown);
        }
        if asked.always_local || (asked.local_in_function && self.control.is_in_function()) {
            self.make_local(name);
        }
        // What the shell sets itself is led elsewhere, or evaluated, by every command.
        if (asked.reference || asked.integer) && is_shells_own(name) {
            self.doubt_variable(name);
        }
        if asked.reference {
            return self.refer(name, value.as_ref());
        }
        if asked.integer {
            self.make_integer(name);
        }
        if asked.cased {
            self.change_case(name);
        }
        match self.declared(word, value, append) {
            // Beside a local of the same name it is another variable.
            Some(_) if asked.global && self.control.sets_global(name) => {
                self.set_named(name, None, Given::Unknown, word);
            }
            Some(given) => self.set_named(name, index.as_ref(), given, word),
            None if asked.unsets => self.make_unset(name),
            None => {}
        }
        if asked.readonly {
            self.make_readonly(name);
        }
        if asked.exports {
            self.export(name);
        }
    }

    /// What `declare` gives a variable, if anything.
    fn declared(&mut self, word: Option<&'t Word<'t>>, value: Option<Text>, adds: bool) -> Option<Given> {
        let array = word.and_then(|word| {
            word.parts.iter().find_map(|part| match part {
                Part::Array(elements) => Some(elements.as_slice()),
                _ => None,
            })
        });
        if let Some(elements) = array {
            return Some(self.given_elements(elements, adds));
        }
        let value = value?;
        // A text that is an array, if the variable is one.
        if value.raw().starts_with('(') {
            self.evaluates(&value, Evaluator::Words);
            self.expand_again(value.unglobbed().raw());
            return Some(Given::Unknown);
        }
        Some(if adds { Given::More(vec![value]) } else { Given::Text(vec![value]) })
    }

    pub(super) fn unset(&mut self, arguments: &[Text]) -> Outcome {
        let (options, names) = options_of(arguments, "");
        let has = |letter: char| options.iter().any(|(known, _)| *known == letter);
        for target in names {
            let Some(name) = target.whole().filter(|name| !name.contains('[')) else {
                self.set_variable(target, Given::Unset);
                continue;
            };
            if names_pager(name) && !has('f') {
                self.unknown(Gap::Doubt(Doubt::Terminal), &format!("unset {name}"));
            }
            // A variable comes first; only where there is none, it is a function.
            match self.state.variables.get(name) {
                _ if has('v') || has('n') => {}
                _ if has('f') => self.state.undefine(name),
                Some(Variable::Unset) => self.state.undefine(name),
                Some(Variable::Scalar(_) | Variable::Array(_) | Variable::Reference(_)) => {}
                None => self.state.may_undefine(name),
            }
            if has('n') {
                self.unset_reference(name);
            } else if !has('f') {
                self.set_variable(target, Given::Unset);
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
        if flag('a') || arguments.iter().any(|argument| argument.raw() == "allexport") {
            self.state.variables.export_all();
        }
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
        let (options, rest) = options_of(arguments, "v");
        let is_plain = options.iter().all(|(letter, _)| *letter == 'v');
        let out = if is_plain { output::printf(rest) } else { Flow::Any };
        let Some(target) = options.into_iter().find_map(|(letter, value)| value.filter(|_| letter == 'v'))
        else {
            return Outcome::of(out);
        };
        let text = match &out {
            Flow::Text(text) => vec![text.clone()],
            Flow::Nothing => vec![Text::default()],
            Flow::Lines(_) | Flow::Any | Flow::Built => vec![Text::any()],
        };
        if !self.state.plain {
            self.set_variable(&target, Given::Text(text));
            return Outcome::sure(Flow::Nothing);
        }
        // Plain shells know no `-v`: then nothing is set.
        let had = target.whole().map_or_else(|| vec![Text::any()], |name| self.variable_texts(name));
        self.set_variable(&target, Given::Text(either(&had, &text)));
        Outcome::of(Flow::Any)
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
