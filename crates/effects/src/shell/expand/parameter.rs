//! Parameters: what `$x`, `${x:-y}`, `${x%y}` and their kin stand for.

use toolgate_shell::{Index, Operation, Parameter, Word};

use super::Expansion;
use super::change::{change_case, replace, slice, strip};
use crate::shell::Interpreter;
use crate::shell::evaluated::Evaluator;
use crate::shell::text::{ANY, BLANKS, Choices, NAME, NUMBER, Text, bounded, either};
use crate::shell::variables::{Given, Variable};

impl<'t> Interpreter<'t, '_> {
    /// What a variable holds: set in the command, or known of every shell, or whatever the environment says.
    pub(in crate::shell) fn variable_texts(&self, name: &str) -> Choices {
        // The shell sets these itself, whatever is assigned.
        if matches!(
            name,
            "_" | "BASH_ARGV0"
                | "BASH_REMATCH"
                | "FUNCNAME"
                | "BASH_SOURCE"
                | "BASH_COMMAND"
                | "BASH_EXECUTION_STRING"
                | "DIRSTACK"
        ) {
            return vec![Text::any()];
        }
        match self.state.variables.get(name) {
            Some(Variable::Unset) => return vec![Text::default()],
            Some(Variable::Scalar(texts)) => return texts.clone(),
            Some(Variable::Array(elements)) => {
                return elements.first().cloned().unwrap_or_else(|| vec![Text::default()]);
            }
            Some(Variable::Reference(_)) => return vec![Text::any()],
            None => {}
        }
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
        if is_name && self.state.variables.are_lost() {
            return vec![Text::any()];
        }
        let known = |text: Option<&str>| vec![text.map_or_else(Text::any, Text::known)];
        match name {
            "HOME" => known(self.scene.home),
            "PWD" if self.state.cwd.is_empty() => vec![Text::any()],
            "PWD" => self.state.cwd.iter().map(|cwd| Text::marked(cwd.to_string())).collect(),
            "OLDPWD" => match &self.state.previous {
                Some(cwd) if !cwd.is_empty() => cwd.iter().map(|cwd| Text::marked(cwd.to_string())).collect(),
                _ => vec![Text::any()],
            },
            "TMPDIR" | "TMP" | "TEMP" => vec![Text::known(self.scene.tmp.unwrap_or("/tmp"))],
            "IFS" => vec![Text::known(BLANKS)],
            "BASH" => vec![Text::known("/bin/bash")],
            "SHELL" => vec![Text::known("/bin/bash")],
            "UID" | "EUID" | "PPID" | "RANDOM" | "SRANDOM" | "SECONDS" | "LINENO" | "SHLVL" | "BASHPID"
            | "PIPESTATUS" | "EPOCHSECONDS" | "COLUMNS" | "LINES" | "OPTIND" => {
                vec![Text::mark(NUMBER)]
            }
            "USER" | "LOGNAME" | "HOSTNAME" | "HOSTTYPE" | "OSTYPE" | "MACHTYPE" | "EPOCHREALTIME"
            | "BASH_VERSION" | "REPLY_PID" | "COPROC_PID" | "TERM" | "LANG" => {
                vec![Text::mark(NAME)]
            }
            "0" => self.state.zero.clone(),
            "#" | "?" | "$" | "!" => vec![Text::mark(NUMBER)],
            "-" => vec![Text::mark(NAME)],
            "@" | "*" => match &self.state.positional {
                Some(fields) => vec![join_fields(fields)],
                None => vec![Text::any()],
            },
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                let number: usize = digits.parse().unwrap_or(usize::MAX);
                match &self.state.positional {
                    Some(fields) => {
                        fields.get(number.wrapping_sub(1)).cloned().unwrap_or_else(|| vec![Text::default()])
                    }
                    None => vec![Text::any()],
                }
            }
            _ => vec![Text::any()],
        }
    }

    /// Whether the command itself has said what this variable is.
    fn is_assigned(&self, name: &str) -> bool {
        self.state.variables.get(name).is_some()
            || matches!(name, "HOME" | "PWD" | "0" | "#" | "?" | "$" | "@" | "*")
            || (name.bytes().all(|byte| byte.is_ascii_digit()) && self.state.positional.is_some())
    }

    fn elements(&self, name: &str) -> Option<Vec<Choices>> {
        if matches!(name, "@" | "*") {
            return self.state.positional.as_ref().map(|fields| fields.to_vec());
        }
        match self.state.variables.get(name) {
            Some(Variable::Array(elements)) => Some(elements.clone()),
            Some(Variable::Unset) => Some(Vec::new()),
            Some(Variable::Scalar(texts)) => Some(vec![texts.clone()]),
            Some(Variable::Reference(_)) | None => None,
        }
    }

    pub(super) fn parameter(&mut self, parameter: &'t Parameter<'t>, quoted: bool) -> Expansion {
        let name = parameter.name;
        let all = matches!(name, "@" | "*") || matches!(parameter.index, Some(Index::Each | Index::Joined));
        if let Some(Index::At(index)) = &parameter.index {
            let at = self.arithmetic(index);
            let texts = self.indexed(name, &at);
            return Expansion::One(self.operate(name, Some(&at), texts, &parameter.operation));
        }
        if all {
            let elements = self.elements(name);
            let separate = name == "@" || matches!(parameter.index, Some(Index::Each)) || !quoted;
            return match (&parameter.operation, elements) {
                (Operation::None, Some(elements)) if separate => Expansion::Each(elements),
                (Operation::None, Some(_))
                    if (!quoted || name == "*" || matches!(parameter.index, Some(Index::Joined)))
                        && self.separators().as_deref() != Some(BLANKS) =>
                {
                    Expansion::One(vec![Text::any()])
                }
                (Operation::None, Some(elements)) => Expansion::One(vec![join_fields(&elements)]),
                (Operation::Default { operator: b'-' | b'=', word, .. }, Some(elements))
                    if elements.is_empty() =>
                {
                    Expansion::One(self.single(word))
                }
                (Operation::Default { .. }, _) => {
                    if let Operation::Default { word, .. } = &parameter.operation {
                        self.single(word);
                    }
                    Expansion::One(vec![Text::any()])
                }
                (Operation::Slice { offset, length }, Some(elements)) => {
                    let from = self.arithmetic(offset);
                    let count = length.as_ref().map(|length| self.arithmetic(length));
                    let zero = matches!(name, "@" | "*").then(|| self.state.zero.clone());
                    slice_fields(elements, zero, &from, count.as_ref())
                }
                (Operation::Length, _) => Expansion::One(vec![Text::mark(NUMBER)]),
                (Operation::Keys | Operation::Names, _) => Expansion::One(vec![Text::any()]),
                (operation, elements) => {
                    let texts = elements.unwrap_or_else(|| vec![vec![Text::any()]]);
                    let place = Text::mark(NUMBER);
                    let changed = texts
                        .into_iter()
                        .map(|choices| self.operate(name, Some(&place), choices, operation))
                        .collect::<Vec<_>>();
                    if separate {
                        Expansion::Each(changed)
                    } else {
                        Expansion::One(vec![join_fields(&changed)])
                    }
                }
            };
        }
        let texts = self.variable_texts(name);
        Expansion::One(match &parameter.operation {
            Operation::None => texts,
            operation => self.operate(name, None, texts, operation),
        })
    }

    fn indexed(&mut self, name: &str, at: &Text) -> Choices {
        if name.starts_with("BASH_") || matches!(name, "FUNCNAME" | "DIRSTACK") {
            return vec![Text::any()];
        }
        // As long as nobody has made it another variable.
        if name == "PIPESTATUS" && self.state.variables.get(name).is_none() {
            return self.variable_texts(name);
        }
        match self.state.variables.get(name) {
            Some(Variable::Array(elements)) => {
                // A leading zero counts by eights.
                let decimal = at.whole().map(str::trim).filter(|at| *at == "0" || !at.starts_with('0'));
                let at = decimal
                    .and_then(|at| at.parse::<i64>().ok())
                    .map(|at| if at < 0 { at + i64::try_from(elements.len()).unwrap_or(0) } else { at });
                match at.and_then(|at| usize::try_from(at).ok()).and_then(|at| elements.get(at)) {
                    Some(found) => found.clone(),
                    // Any of them; beyond the end none, or one of an array with gaps.
                    None => bounded(elements.iter().flatten().cloned().chain([Text::default()]).collect()),
                }
            }
            Some(Variable::Scalar(texts)) => either(texts, &vec![Text::default()]),
            Some(Variable::Unset) => vec![Text::default()],
            Some(Variable::Reference(_)) | None => vec![Text::any()],
        }
    }

    fn operate(
        &mut self,
        name: &'t str,
        at: Option<&Text>,
        texts: Choices,
        operation: &'t Operation<'t>,
    ) -> Choices {
        // A name that is changed is no longer one that a pattern finds.
        let changes = matches!(
            operation,
            Operation::Strip { .. }
                | Operation::Replace { .. }
                | Operation::Case { .. }
                | Operation::Slice { .. }
        );
        let texts = if changes { texts.iter().map(Text::unmatched).collect() } else { texts };
        match operation {
            Operation::None => texts,
            Operation::Length => vec![Text::mark(NUMBER)],
            Operation::Names | Operation::Keys => vec![Text::any()],
            Operation::Indirect(inner) => {
                let targets: Vec<String> = texts.iter().filter_map(Text::whole).map(str::to_owned).collect();
                if targets.len() != texts.len() {
                    for text in &texts {
                        self.evaluates(text, Evaluator::Arithmetic);
                        self.evaluate_subscript(text);
                    }
                    return vec![Text::any()];
                }
                let mut all = Vec::new();
                for target in &targets {
                    // `${!x}` also takes `x='a[$(cmd)]'`, which runs it.
                    if let Some((array, index)) = target.split_once('[') {
                        self.evaluate(index.trim_end_matches(']'));
                        all.extend(self.indexed(array, &Text::mark(NAME)));
                    } else {
                        all.extend(self.variable_texts(target));
                    }
                }
                // Which variable the default is for is known here alone.
                if let Operation::Default { operator, word, .. } = &**inner {
                    let word = self.single(word);
                    let other = if *operator == b'+' { vec![Text::default()] } else { bounded(all) };
                    let value = either(&other, &word);
                    for target in targets.iter().filter(|_| *operator == b'=') {
                        self.set_variable(&Text::known(target), Given::Text(value.clone()));
                    }
                    return value;
                }
                self.operate(name, at, bounded(all), inner)
            }
            Operation::Default { operator, or_empty, word } => {
                self.default(name, at, texts, (*operator, *or_empty), word)
            }
            Operation::Strip { suffix, longest, pattern } => {
                let patterns = self.pattern(pattern);
                each(&texts, &patterns, |text, pattern| strip(text, pattern, *suffix, *longest))
            }
            Operation::Replace { all, anchor, pattern, with } => {
                let patterns = self.pattern(pattern);
                let replacements = self.single(with);
                let [replacement] = replacements.as_slice() else { return vec![Text::any()] };
                if replacement.raw().contains(['&', '\\']) {
                    return vec![Text::any()];
                }
                each(&texts, &patterns, |text, pattern| replace(text, pattern, replacement, *all, *anchor))
            }
            Operation::Case { operator, all, pattern } => {
                self.pattern(pattern);
                let plain = pattern.parts.is_empty();
                texts.into_iter().map(|text| change_case(&text, *operator, *all && plain)).collect()
            }
            Operation::Slice { offset, length } => {
                let from = self.arithmetic(offset);
                let count = length.as_ref().map(|length| self.arithmetic(length));
                texts.into_iter().map(|text| slice(&text, &from, count.as_ref())).collect()
            }
            Operation::Transform(b'P') => {
                // A prompt: what stands in the value is expanded, substitutions too.
                for text in &texts {
                    self.expand_prompt(text);
                }
                vec![Text::any()]
            }
            Operation::Transform(b'U' | b'L' | b'u') => vec![Text::any()],
            Operation::Transform(kind) if *kind != b'Q' => vec![Text::any()],
            Operation::Transform(_) => {
                texts.into_iter().map(|text| if text.is_known() { text } else { Text::any() }).collect()
            }
        }
    }

    fn default(
        &mut self,
        name: &'t str,
        at: Option<&Text>,
        texts: Choices,
        (operator, or_empty): (u8, bool),
        word: &'t Word<'t>,
    ) -> Choices {
        let assigned = self.is_assigned(name);
        let beyond = |digits: &str| {
            let number: usize = digits.parse().unwrap_or(0);
            number > 0 && self.state.positional.as_ref().is_some_and(|fields| number > fields.len())
        };
        // An array without its first element is unset by its bare name; of one with gaps that is not known.
        let (is_array, is_bare) = match self.state.variables.get(name) {
            Some(Variable::Array(elements)) => (true, elements.is_empty()),
            _ => (false, false),
        };
        let unset =
            matches!(self.state.variables.get(name), Some(Variable::Unset)) || beyond(name) || is_bare;
        let empty = |text: &Text| text.is_empty();
        let surely_set = assigned
            && !is_array
            && !unset
            && (!or_empty || texts.iter().all(|text| !text.head().is_empty()));
        let surely_not = unset || (assigned && or_empty && texts.iter().all(empty));
        match operator {
            b'+' => {
                let word = self.single(word);
                if surely_set {
                    word
                } else if surely_not {
                    vec![Text::default()]
                } else {
                    either(&word, &vec![Text::default()])
                }
            }
            _ if surely_set => texts,
            b'?' => {
                self.single(word);
                texts
            }
            _ => {
                let word = self.single(word);
                // What neither the command nor the environment sets is unset.
                let value = if surely_not || (!assigned && (self.scene.unset)(name)) {
                    word
                } else {
                    either(&texts, &word)
                };
                if operator == b'=' {
                    self.set_named(name, at, Given::Text(value.clone()), None);
                }
                value
            }
        }
    }
}

fn join_fields(fields: &[Choices]) -> Text {
    let mut joined = Text::default();
    for (place, choices) in fields.iter().enumerate() {
        if place > 0 {
            joined.push_raw(" ");
        }
        match choices.as_slice() {
            [only] => joined.push(only),
            _ => joined.push_mark(ANY),
        }
    }
    joined
}

/// `${@:from:count}`. `${@:1}` counts from 1 and `${@:0}` begins with the shell's own name; an array counts from 0.
fn slice_fields(
    elements: Vec<Choices>,
    zero: Option<Choices>,
    from: &Text,
    count: Option<&Text>,
) -> Expansion {
    let number = |text: &Text| text.whole().and_then(|text| text.trim().parse::<i64>().ok());
    let elements: Vec<Choices> = zero.into_iter().chain(elements).collect();
    let length = i64::try_from(elements.len()).unwrap_or(i64::MAX);
    // How many there are then is not known either.
    let (Some(from), Some(count)) = (number(from), count.map_or(Some(length), number)) else {
        return Expansion::Each(vec![vec![Text::any()]]);
    };
    let from = if from < 0 { from.saturating_add(length) } else { from };
    let (Ok(from), Ok(count)) = (usize::try_from(from), usize::try_from(count)) else {
        return Expansion::Each(Vec::new());
    };
    Expansion::Each(elements.into_iter().skip(from).take(count).collect())
}

fn each(texts: &Choices, patterns: &Choices, change: impl Fn(&Text, &Text) -> Text) -> Choices {
    match patterns.as_slice() {
        [pattern] => texts.iter().map(|text| change(text, pattern)).collect(),
        _ => vec![Text::any()],
    }
}
