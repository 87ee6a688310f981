//! Words: from parts to the texts that a program would be given.

use std::rc::Rc;

use toolgate_model::Gap;
use toolgate_shell::{
    Arithmetic, Element, Index, List, Operation, Parameter, Part, Word, parse_arithmetic, parse_word,
};

use super::glob;
use super::state::Variable;
use super::text::NUMBER;
use super::text::{
    ANY, CLASS, Choices, Flow, INNER, MAX_CHOICES, NAME, ONE, PIECE, STAR, Text, bounded, either,
};
use super::{Interpreter, Piped};

/// What a parameter expands to.
enum Expansion {
    One(Choices),
    /// `"$@"`: a field each.
    Each(Vec<Choices>),
}

/// The fields of a word while they grow.
#[derive(Clone, Default)]
struct Fields {
    done: Vec<Text>,
    current: Text,
    /// Something, if only `''`, stands in `current`.
    open: bool,
}

impl Fields {
    fn quoted(&mut self, text: &Text) {
        self.current.push(text);
        self.open = true;
    }

    /// Splits at the separators, as the shell does with what an unquoted expansion gives.
    fn split(&mut self, text: &Text, separators: &str) {
        if separators.is_empty() {
            self.open |= !text.is_empty();
            self.current.push(text);
            return;
        }
        let mut pieces = text.raw().split(|c| separators.contains(c)).peekable();
        while let Some(piece) = pieces.next() {
            if !piece.is_empty() {
                self.current.push_raw(piece);
                self.open = true;
            }
            if pieces.peek().is_some() {
                // Only blanks run together.
                self.open |= !separators.trim().is_empty();
                self.close();
            }
        }
    }

    fn close(&mut self) {
        if self.open {
            self.done.push(std::mem::take(&mut self.current));
            self.open = false;
        }
    }
}

/// How the parts of a word are read.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    /// Split and matched against files.
    Argument,
    /// Neither: values of assignments, what `case` and `[[` look at.
    Single,
    /// Not split, but `*` means something: patterns.
    Pattern,
}

impl<'t> Interpreter<'t, '_> {
    /// The argument lists that these words may become, one of them at a time.
    pub(super) fn arguments(&mut self, words: &'t [Word<'t>]) -> Vec<Vec<Text>> {
        let mut lists: Vec<Vec<Text>> = vec![Vec::with_capacity(words.len())];
        for word in words {
            let choices = self.fields(word);
            if lists.len() * choices.len() > MAX_CHOICES {
                // Too many at once: what this word says is given up.
                for list in &mut lists {
                    list.push(Text::any());
                }
                continue;
            }
            if lists.first().is_some_and(|list| list.len() > super::builtins::MAX_FIELDS * 2) {
                self.unknown(Gap::Bounds, "more words than can be told apart");
                break;
            }
            match choices.as_slice() {
                [only] => lists.iter_mut().for_each(|list| list.extend(only.iter().cloned())),
                choices => {
                    lists = lists
                        .iter()
                        .flat_map(|list| {
                            choices.iter().map(move |fields| [list.as_slice(), fields.as_slice()].concat())
                        })
                        .collect();
                }
            }
        }
        lists
    }

    /// The fields that one word may become.
    pub(super) fn fields(&mut self, word: &'t Word<'t>) -> Vec<Vec<Text>> {
        if let [Part::Quoted(text)] = word.parts.as_slice() {
            return vec![vec![Text::known(text)]];
        }
        if let [Part::Bare(text)] = word.parts.as_slice()
            && !text.contains(['~', '*', '?', '[', '{'])
        {
            return vec![vec![Text::known(text)]];
        }
        let spellings = match braces(&word.parts) {
            Braces::None => return self.field_choices(&word.parts.iter().collect::<Vec<_>>()),
            Braces::Many => {
                self.field_choices(&word.parts.iter().collect::<Vec<_>>());
                return vec![vec![Text::any(), Text::any()]];
            }
            Braces::Words(words) => words,
        };
        // A plain shell leaves braces as they are.
        let literal = self.state.plain.then(|| self.field_choices(&word.parts.iter().collect::<Vec<_>>()));
        let mut all: Vec<Vec<Text>> = vec![Vec::new()];
        for parts in spellings {
            let parts: Vec<&'t Part<'t>> = parts.into_iter().map(|part| self.kept(part)).collect();
            let choices = self.field_choices(&parts);
            if all.len() * choices.len() > MAX_CHOICES {
                for list in &mut all {
                    list.push(Text::any());
                }
                continue;
            }
            all = all
                .iter()
                .flat_map(|list| {
                    choices.iter().map(move |fields| [list.as_slice(), fields.as_slice()].concat())
                })
                .collect();
        }
        all.extend(literal.into_iter().flatten());
        all
    }

    /// A part that lives as long as the trees: either it does already, or it is a piece of plain text.
    fn kept(&self, part: Spelled<'t>) -> &'t Part<'t> {
        match part {
            Spelled::Part(part) => part,
            Spelled::Bare(text) => self.store.parts.alloc(Part::Bare(text.into())),
        }
    }

    fn field_choices(&mut self, parts: &[&'t Part<'t>]) -> Vec<Vec<Text>> {
        let mut builders = vec![Fields::default()];
        self.build(&mut builders, parts, Mode::Argument);
        builders
            .into_iter()
            .map(|mut fields| {
                fields.close();
                fields.done
            })
            .collect()
    }

    /// The one text of a word that is not split: an assignment's value, a here-document, what `case` looks at.
    pub(super) fn single(&mut self, word: &'t Word<'t>) -> Choices {
        self.joined(&word.parts, Mode::Single)
    }

    /// The one text of a pattern.
    pub(super) fn pattern(&mut self, word: &'t Word<'t>) -> Choices {
        self.joined(&word.parts, Mode::Pattern)
    }

    fn joined(&mut self, parts: &'t [Part<'t>], mode: Mode) -> Choices {
        match parts {
            [] => return vec![Text::default()],
            [Part::Quoted(text)] => return vec![Text::known(text)],
            _ => {}
        }
        let mut builders = vec![Fields::default()];
        self.build(&mut builders, &parts.iter().collect::<Vec<_>>(), mode);
        builders.into_iter().map(|fields| fields.current).collect()
    }

    fn build(&mut self, builders: &mut Vec<Fields>, parts: &[&'t Part<'t>], mode: Mode) {
        for (place, part) in parts.iter().enumerate() {
            match part {
                Part::Bare(text) => {
                    let text = self.bare(text, place == 0, mode);
                    for fields in builders.iter_mut() {
                        fields.quoted(&text);
                    }
                }
                Part::Quoted(text) => {
                    let text = Text::known(text);
                    for fields in builders.iter_mut() {
                        fields.quoted(&text);
                    }
                }
                Part::Double(parts) => {
                    for fields in builders.iter_mut() {
                        fields.open = true;
                    }
                    self.double(builders, parts, mode);
                }
                Part::ExtendedGlob { patterns, .. } => {
                    let mut may_climb = false;
                    for pattern in patterns {
                        let texts = self.pattern(pattern);
                        may_climb |= texts.iter().any(|text| !text.is_known() || text.raw().starts_with('.'));
                    }
                    if mode == Mode::Pattern {
                        for fields in builders.iter_mut() {
                            fields.quoted(&Text::mark(NAME));
                        }
                        continue;
                    }
                    // `@(..)`, `.@(.)`
                    let mark = if may_climb { PIECE } else { STAR };
                    for fields in builders.iter_mut() {
                        fields.quoted(&Text::mark(mark));
                    }
                }
                Part::Array(elements) => {
                    for element in elements {
                        self.element(element);
                    }
                    for fields in builders.iter_mut() {
                        fields.quoted(&Text::any());
                    }
                }
                part => {
                    let expansion = self.expansion(part, false);
                    add(builders, &expansion, mode, &self.separators());
                }
            }
        }
    }

    fn double(&mut self, builders: &mut Vec<Fields>, parts: &'t [Part<'t>], mode: Mode) {
        for part in parts {
            match part {
                Part::Quoted(text) | Part::Bare(text) => {
                    let text = Text::known(text);
                    for fields in builders.iter_mut() {
                        fields.quoted(&text);
                    }
                }
                Part::Double(parts) => self.double(builders, parts, mode),
                part => match self.expansion(part, true) {
                    Expansion::One(choices) => multiply(builders, &choices, Fields::quoted),
                    Expansion::Each(fields) if mode == Mode::Argument => {
                        for (place, choices) in fields.iter().enumerate() {
                            if place > 0 {
                                builders.iter_mut().for_each(Fields::close);
                            }
                            multiply(builders, choices, Fields::quoted);
                        }
                        // `"$@"` of nothing is nothing, not an empty word.
                        if fields.is_empty() {
                            builders
                                .iter_mut()
                                .filter(|fields| fields.current.is_empty())
                                .for_each(|fields| fields.open = false);
                        }
                    }
                    Expansion::Each(fields) => {
                        for (place, choices) in fields.iter().enumerate() {
                            if place > 0 {
                                multiply(builders, &vec![Text::known(" ")], Fields::quoted);
                            }
                            multiply(builders, choices, Fields::quoted);
                        }
                    }
                },
            }
        }
    }

    /// Bare text: a tilde at the start of a word, and in values also behind a colon; characters of patterns.
    fn bare(&mut self, text: &str, first: bool, mode: Mode) -> Text {
        let mut out = Text::default();
        let mut rest = text;
        if first && let Some(after) = text.strip_prefix('~') {
            let end = after.find(['/', ':']).unwrap_or(after.len());
            let (user, behind) = after.split_at_checked(end).unwrap_or((after, ""));
            out.push(&self.home_of(user));
            rest = behind;
        } else if mode == Mode::Argument
            && let Some((before, after)) = text.split_once("=~")
            && (after.is_empty() || after.starts_with('/'))
            && before.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            // `export X=~/y`, and `make PREFIX=~/y`, where the shell leaves it and many programs do not.
            out.push_raw(before);
            out.push_raw("=");
            out.push(&self.home_of(""));
            rest = after;
        } else if mode == Mode::Single && text.contains(":~") {
            let home = self.home_of("");
            out.push_raw(&text.replace(":~", &format!(":{}", home.raw())));
            return out;
        }
        let marked = if mode == Mode::Single { Text::known(rest) } else { glob::marked(rest) };
        if mode == Mode::Argument && self.state.globstar {
            out.push_raw(&marked.raw().replace(&format!("{STAR}{STAR}"), &INNER.to_string()));
        } else {
            out.push(&marked);
        }
        out
    }

    pub(super) fn home_of(&self, user: &str) -> Text {
        match user {
            "" => match self.variable_texts("HOME").as_slice() {
                [home] => home.clone(),
                _ => Text::any(),
            },
            "+" => Self::one_directory(&self.state.cwd),
            "-" => self.state.previous.as_ref().map_or_else(Text::any, |cwd| Self::one_directory(cwd)),
            "root" => Text::known("/root"),
            user => Text::known(&format!("/home/{user}")),
        }
    }

    fn one_directory(cwd: &[Rc<str>]) -> Text {
        match cwd {
            [only] => Text::marked(only.to_string()),
            _ => Text::any(),
        }
    }

    /// What is between fields.
    pub(super) fn separators(&self) -> String {
        match self.state.get("IFS") {
            None | Some(Variable::Unset) => " \t\n".to_owned(),
            Some(Variable::Scalar(texts)) => match texts.as_slice() {
                [text] => text.whole().unwrap_or(" \t\n").to_owned(),
                _ => " \t\n".to_owned(),
            },
            Some(_) => " \t\n".to_owned(),
        }
    }

    fn expansion(&mut self, part: &'t Part<'t>, quoted: bool) -> Expansion {
        match part {
            Part::Parameter(parameter) => self.parameter(parameter, quoted),
            Part::Substitution(list) => Expansion::One(self.substitution(list).substituted()),
            Part::Backtick(text) => Expansion::One(self.backtick(text).substituted()),
            Part::Arithmetic(arithmetic) => Expansion::One(vec![self.arithmetic(arithmetic)]),
            Part::Process { writes, list } => Expansion::One(vec![self.process(*writes, list)]),
            Part::Bare(text) | Part::Quoted(text) => Expansion::One(vec![Text::known(text)]),
            Part::Double(_) | Part::ExtendedGlob { .. } | Part::Array(_) => Expansion::One(vec![Text::any()]),
        }
    }

    /// `$( … )`: runs in a child.
    pub(super) fn substitution(&mut self, list: &'t List<'t>) -> Flow {
        if let Some(flow) = self.quick_read(list) {
            return flow;
        }
        let (flow, ran) = self.noting(|shell| shell.forked(|shell| shell.list(list)));
        self.substituted.extend(ran);
        flow
    }

    fn backtick(&mut self, text: &str) -> Flow {
        let list = self.parsed(text);
        self.substitution(list)
    }

    /// `<( … )` is a file to read from, `>( … )` one to write to; what it gets is known once the command has run.
    fn process(&mut self, writes: bool, list: &'t List<'t>) -> Text {
        let path = format!("/dev/fd/{}", 63 + self.processes);
        self.processes += 1;
        if writes {
            self.waiting.push((path.clone(), list));
        } else {
            let (flow, ran) = self.noting(|shell| shell.forked(|shell| shell.list(list)));
            self.state.write(&path, flow);
            self.pipes.push(Piped { path: path.clone(), ran });
        }
        Text::known(&path)
    }

    /// Evaluates a subscript or a value; returns the choices of the value.
    pub(super) fn element(&mut self, element: &'t Element<'t>) -> Vec<Vec<Text>> {
        if let Some(index) = &element.index {
            self.arithmetic(index);
        }
        self.fields(&element.value)
    }

    // ── parameters ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// What a variable holds: set in the command, or known of every shell, or whatever the environment says.
    pub(super) fn variable_texts(&self, name: &str) -> Choices {
        // The shell sets these itself, whatever is assigned.
        if matches!(
            name,
            "_" | "BASH_ARGV0"
                | "BASH_REMATCH"
                | "FUNCNAME"
                | "BASH_SOURCE"
                | "BASH_COMMAND"
                | "BASH_EXECUTION_STRING"
                | "PIPESTATUS"
                | "DIRSTACK"
        ) {
            return vec![Text::any()];
        }
        match self.state.get(name) {
            Some(Variable::Unset) => return vec![Text::default()],
            Some(Variable::Scalar(texts)) => return texts.clone(),
            Some(Variable::Array(elements)) => {
                return elements.first().cloned().unwrap_or_else(|| vec![Text::default()]);
            }
            Some(Variable::Reference(_)) => return vec![Text::any()],
            None => {}
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
            "IFS" => vec![Text::known(" \t\n")],
            "BASH" => vec![Text::known("/bin/bash")],
            "SHELL" => vec![Text::known("/bin/bash")],
            "UID" | "EUID" | "PPID" | "RANDOM" | "SRANDOM" | "SECONDS" | "LINENO" | "SHLVL" | "BASHPID" => {
                vec![Text::mark(NUMBER)]
            }
            "USER" | "LOGNAME" | "HOSTNAME" | "HOSTTYPE" | "OSTYPE" | "MACHTYPE" | "EPOCHSECONDS"
            | "EPOCHREALTIME" | "COLUMNS" | "LINES" | "BASH_VERSION" | "OPTIND" | "REPLY_PID"
            | "COPROC_PID" | "TERM" | "LANG" => {
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
        self.state.get(name).is_some()
            || matches!(name, "HOME" | "PWD" | "0" | "#" | "?" | "$" | "@" | "*")
            || (name.bytes().all(|byte| byte.is_ascii_digit()) && self.state.positional.is_some())
    }

    fn elements(&self, name: &str) -> Option<Vec<Choices>> {
        if matches!(name, "@" | "*") {
            return self.state.positional.as_ref().map(|fields| fields.to_vec());
        }
        match self.state.get(name) {
            Some(Variable::Array(elements)) => Some(elements.clone()),
            Some(Variable::Unset) => Some(Vec::new()),
            Some(Variable::Scalar(texts)) => Some(vec![texts.clone()]),
            Some(Variable::Reference(_)) | None => None,
        }
    }

    fn parameter(&mut self, parameter: &'t Parameter<'t>, quoted: bool) -> Expansion {
        let name = parameter.name;
        let all = matches!(name, "@" | "*") || matches!(parameter.index, Some(Index::Each | Index::Joined));
        if let Some(Index::At(index)) = &parameter.index {
            let at = self.arithmetic(index);
            let texts = self.indexed(name, &at);
            return Expansion::One(self.operate(name, texts, &parameter.operation));
        }
        if all {
            let elements = self.elements(name);
            let separate = name == "@" || matches!(parameter.index, Some(Index::Each)) || !quoted;
            return match (&parameter.operation, elements) {
                (Operation::None, Some(elements)) if separate => Expansion::Each(elements),
                (Operation::None, Some(_))
                    if (!quoted || name == "*" || matches!(parameter.index, Some(Index::Joined)))
                        && self.separators() != " \t\n" =>
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
                    slice_fields(name, elements, &from, count.as_ref())
                }
                (Operation::Length, _) => Expansion::One(vec![Text::mark(NUMBER)]),
                (Operation::Keys | Operation::Names, _) => Expansion::One(vec![Text::any()]),
                (operation, elements) => {
                    let texts = elements.unwrap_or_else(|| vec![vec![Text::any()]]);
                    let changed = texts
                        .into_iter()
                        .map(|choices| self.operate(name, choices, operation))
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
            operation => self.operate(name, texts, operation),
        })
    }

    fn indexed(&mut self, name: &str, at: &Text) -> Choices {
        if name.starts_with("BASH_") || matches!(name, "FUNCNAME" | "PIPESTATUS" | "DIRSTACK") {
            return vec![Text::any()];
        }
        match self.state.get(name) {
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

    fn operate(&mut self, name: &'t str, texts: Choices, operation: &'t Operation<'t>) -> Choices {
        match operation {
            Operation::None => texts,
            Operation::Length => vec![Text::mark(NUMBER)],
            Operation::Names | Operation::Keys => vec![Text::any()],
            Operation::Indirect(inner) => {
                let targets: Vec<String> = texts.iter().filter_map(Text::whole).map(str::to_owned).collect();
                if targets.len() != texts.len() {
                    return vec![Text::any()];
                }
                let mut all = Vec::new();
                for target in targets {
                    // `${!x}` also takes `x='a[$(cmd)]'`, which runs it.
                    if let Some((array, index)) = target.split_once('[') {
                        self.evaluate(index.trim_end_matches(']'));
                        all.extend(self.indexed(array, &Text::mark(NAME)));
                    } else {
                        all.extend(self.variable_texts(&target));
                    }
                }
                self.operate(name, bounded(all), inner)
            }
            Operation::Default { operator, or_empty, word } => {
                self.default(name, texts, *operator, *or_empty, word)
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
                    self.expand_again(text.raw());
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
        texts: Choices,
        operator: u8,
        or_empty: bool,
        word: &'t Word<'t>,
    ) -> Choices {
        let assigned = self.is_assigned(name);
        let beyond = |digits: &str| {
            let number: usize = digits.parse().unwrap_or(0);
            number > 0 && self.state.positional.as_ref().is_some_and(|fields| number > fields.len())
        };
        let unset = matches!(self.state.get(name), Some(Variable::Unset)) || beyond(name);
        let empty = |text: &Text| text.is_empty();
        let surely_set =
            assigned && !unset && (!or_empty || texts.iter().all(|text| !text.head().is_empty()));
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
                    self.state.set(name, Variable::Scalar(value.clone()));
                }
                value
            }
        }
    }

    /// Text that is expanded once more when it is used: prompts, arithmetic values.
    pub(super) fn expand_again(&mut self, text: &str) {
        if !text.contains(['$', '`']) {
            return;
        }
        let text = self.store.texts.alloc(text.to_owned());
        match parse_word(text) {
            Ok(word) => {
                let word = self.store.words.alloc(word);
                self.deeper(|shell| shell.single(word));
            }
            Err(_) => self.unknown(Gap::Syntax, "a value that is expanded again"),
        }
    }

    // ── arithmetic ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// Walks an expression for what it runs. Its value is a number; which one is known only for a plain numeral.
    pub(super) fn arithmetic(&mut self, arithmetic: &'t Arithmetic<'t>) -> Text {
        let choices = self.joined(&arithmetic.parts, Mode::Single);
        for text in &choices {
            self.evaluate_names(text.raw(), 0);
            if text.raw().contains(['$', '`']) {
                self.evaluate(text.raw());
            }
        }
        match choices.as_slice() {
            [text] => match text.whole().map(str::trim) {
                Some(number) if number.parse::<i64>().is_ok() => Text::known(number),
                Some("") => Text::default(),
                Some(name) if is_name(name) => match self.variable_texts(name).as_slice() {
                    [text] if text.whole().is_some_and(|text| text.parse::<i64>().is_ok()) => text.clone(),
                    _ => Text::mark(NUMBER),
                },
                // An associative array's key.
                _ => Text::mark(NUMBER),
            },
            _ => Text::mark(NUMBER),
        }
    }

    /// Evaluates a text as arithmetic: `let`, `[[ -eq`, a subscript inside of a value.
    pub(super) fn evaluate(&mut self, text: &str) {
        self.deeper(|shell| shell.evaluate_text(text));
    }

    fn evaluate_text(&mut self, text: &str) {
        self.steps += 1;
        if self.steps >= super::MAX_STEPS {
            self.unknown(Gap::Bounds, "arithmetic");
            return;
        }
        let text: &'t str = self.store.texts.alloc(text.to_owned());
        match parse_arithmetic(text) {
            Ok(arithmetic)
                if arithmetic.parts.iter().any(|part| !matches!(part, Part::Bare(_) | Part::Quoted(_))) =>
            {
                let arithmetic = self.store.arithmetics.alloc(arithmetic);
                self.deeper(|shell| shell.arithmetic(arithmetic));
            }
            Ok(_) => self.evaluate_names(text, 0),
            Err(_) => self.unknown(Gap::Syntax, "arithmetic"),
        }
    }

    /// bash evaluates a variable's value as an expression again, and a subscript in it is expanded: `x='a[$(cmd)]'`. What
    /// is assigned here is a number from now on.
    fn evaluate_names(&mut self, text: &str, depth: u32) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let start = at;
            while bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
                at += 1;
            }
            if at == start {
                at += 1;
                continue;
            }
            let Some(name) = text.get(start..at).filter(|name| is_name(name)) else { continue };
            let behind = text.get(at..).unwrap_or_default().trim_start();
            let before = text.get(..start).unwrap_or_default().trim_end();
            let assigned = (behind.starts_with('=') && !behind.starts_with("=="))
                || ["++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="]
                    .iter()
                    .any(|op| behind.starts_with(op))
                || before.ends_with("++")
                || before.ends_with("--");
            self.steps += 1;
            for value in self.variable_texts(name) {
                if value.raw().contains(['[', '$', '`']) {
                    self.evaluate(value.raw());
                } else if value.has_any() && self.quotes_subscripts && self.state.get(name).is_some() {
                    self.unknown(Gap::Code, "a value that arithmetic evaluates");
                } else if value.raw().contains(|c: char| c.is_ascii_alphabetic() || c == '_') {
                    if depth < 8 && self.steps < super::MAX_STEPS {
                        self.evaluate_names(value.raw(), depth + 1);
                    } else {
                        self.unknown(Gap::Bounds, "arithmetic");
                    }
                }
            }
            if assigned {
                self.state.set(name, Variable::Scalar(vec![Text::mark(NUMBER)]));
                self.environment_changed(name);
            }
        }
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn add(builders: &mut Vec<Fields>, expansion: &Expansion, mode: Mode, separators: &str) {
    let put = |fields: &mut Fields, text: &Text| match mode {
        Mode::Single => fields.quoted(text),
        Mode::Pattern => fields.quoted(&reglob(text)),
        Mode::Argument => fields.split(&reglob(text), separators),
    };
    match expansion {
        Expansion::One(choices) => multiply(builders, choices, put),
        Expansion::Each(all) => {
            for (place, choices) in all.iter().enumerate() {
                if place > 0 {
                    match mode {
                        Mode::Argument => builders.iter_mut().for_each(Fields::close),
                        Mode::Single | Mode::Pattern => {
                            multiply(builders, &vec![Text::known(" ")], Fields::quoted);
                        }
                    }
                }
                multiply(builders, choices, put);
            }
        }
    }
}

/// Glob characters that come out of a variable mean files again where it is not quoted.
fn reglob(text: &Text) -> Text {
    if !text.raw().contains(['*', '?', '[']) {
        return text.clone();
    }
    let has_class = text.raw().contains(']');
    let swap = |c| match c {
        '*' => STAR,
        '?' => ONE,
        '[' if has_class => CLASS,
        c => c,
    };
    Text::marked(text.raw().chars().map(swap).collect())
}

fn multiply(builders: &mut Vec<Fields>, choices: &Choices, put: impl Fn(&mut Fields, &Text)) {
    match choices.as_slice() {
        [] => {}
        [only] => builders.iter_mut().for_each(|fields| put(fields, only)),
        choices if builders.len() * choices.len() > MAX_CHOICES => {
            for fields in builders.iter_mut() {
                put(fields, &Text::any());
            }
        }
        choices => {
            *builders = builders
                .iter()
                .flat_map(|fields| {
                    choices.iter().map(|text| {
                        let mut fields = fields.clone();
                        put(&mut fields, text);
                        fields
                    })
                })
                .collect();
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

fn slice_fields(name: &str, elements: Vec<Choices>, from: &Text, count: Option<&Text>) -> Expansion {
    let number = |text: &Text| text.whole().and_then(|text| text.trim().parse::<usize>().ok());
    // `${@:1}` counts from 1, an array from 0.
    let shift = usize::from(matches!(name, "@" | "*"));
    match (number(from).filter(|from| shift == 0 || *from > 0), count.map(number)) {
        (Some(from), None) => {
            Expansion::Each(elements.into_iter().skip(from.saturating_sub(shift)).collect())
        }
        (Some(from), Some(Some(count))) => {
            Expansion::Each(elements.into_iter().skip(from.saturating_sub(shift)).take(count).collect())
        }
        _ => Expansion::Each(vec![bounded(elements.into_iter().flatten().collect())]),
    }
}

fn each(texts: &Choices, patterns: &Choices, change: impl Fn(&Text, &Text) -> Text) -> Choices {
    match patterns.as_slice() {
        [pattern] => texts.iter().map(|text| change(text, pattern)).collect(),
        _ => vec![Text::any()],
    }
}

/// Where the bytes of a text may be cut.
fn cuts(text: &str) -> impl DoubleEndedIterator<Item = usize> + '_ {
    text.char_indices().map(|(at, _)| at).chain([text.len()])
}

fn strip(text: &Text, pattern: &Text, suffix: bool, longest: bool) -> Text {
    let raw = text.raw();
    // What `*.txt` matches begins with no dot, and does so without its ending.
    let visible = raw.starts_with(|c| matches!(c, STAR | ONE | CLASS)) && !raw.contains(['/', INNER, ANY]);
    if visible && suffix && pattern.raw().starts_with('.') {
        return Text::mark(NAME);
    }
    if let Some(pattern) = pattern.whole() {
        // Plain text comes off a partly known text too, if it surely stands there.
        let stripped = if suffix { raw.strip_suffix(pattern) } else { raw.strip_prefix(pattern) };
        if let Some(rest) = stripped {
            // `${f%.txt}` of `*.txt` is `..` where a file is called `...txt`.
            let matched = rest.contains([STAR, ONE, CLASS]) && !rest.contains(['/', INNER, ANY]);
            return if matched { shortened(text) } else { Text::marked(rest.to_owned()) };
        }
    }
    let slash_star = pattern.raw() == format!("/{STAR}");
    let star_slash = pattern.raw() == format!("{STAR}/");
    if !text.has_any() && !text.is_known() {
        return match (suffix, longest) {
            // The last name, the directory: of paths that lead down, both lead down.
            (false, true) if star_slash => match raw.rsplit_once('/') {
                Some((_, last)) if !last.contains(INNER) => Text::marked(last.to_owned()),
                _ => super::output::last_name(text),
            },
            (true, false) if slash_star => match raw.rsplit_once('/') {
                Some((above, last)) if !last.contains(INNER) => Text::marked(above.to_owned()),
                _ => text.clone(),
            },
            _ if !raw.contains(['/', INNER]) => shortened(text),
            (true, false) => text.clone(),
            _ => Text::any(),
        };
    }
    let Some(whole) = text.whole().filter(|whole| whole.len() <= 512) else { return Text::any() };
    let fitting = |at: &usize| {
        let part = if suffix { whole.get(*at..) } else { whole.get(..*at) };
        part.and_then(|part| glob::fits(pattern.raw(), part)) == Some(true)
    };
    if glob::fits(pattern.raw(), whole).is_none() {
        return Text::any();
    }
    // From the shortest to the longest piece, or the other way round.
    let found = if suffix == longest { cuts(whole).find(fitting) } else { cuts(whole).rev().find(fitting) };
    match found {
        Some(at) => Text::known(if suffix { whole.get(..at) } else { whole.get(at..) }.unwrap_or_default()),
        None => text.clone(),
    }
}

/// What is left of a name that is not known: of `..a` it may be `..`, of a number only digits.
fn shortened(name: &Text) -> Text {
    let number = name.raw().chars().all(|c| c == NUMBER || c.is_ascii_digit());
    Text::mark(if number { NUMBER } else { PIECE })
}

fn replace(text: &Text, pattern: &Text, with: &Text, all: bool, anchor: Option<u8>) -> Text {
    let (Some(whole), Some(with)) = (text.whole(), with.whole()) else {
        // A name in which one known piece is exchanged for another that holds no slash stays a name; without the piece
        // it is what is left of one.
        let plain = !text.raw().contains(['/', INNER, ANY]) && !with.raw().contains(['/', INNER, ANY, '.']);
        return match with.whole() {
            _ if !plain => Text::any(),
            Some(with) if !with.is_empty() && !text.raw().contains(PIECE) => Text::mark(NAME),
            _ => shortened(text),
        };
    };
    if let Some(pattern) = pattern.whole() {
        if pattern.is_empty() {
            return text.clone();
        }
        return Text::known(&match anchor {
            Some(b'#') => {
                whole.strip_prefix(pattern).map_or(whole.to_owned(), |rest| format!("{with}{rest}"))
            }
            Some(_) => whole.strip_suffix(pattern).map_or(whole.to_owned(), |rest| format!("{rest}{with}")),
            None if all => whole.replace(pattern, with),
            None => whole.replacen(pattern, with, 1),
        });
    }
    if whole.len() > 96 || pattern.raw().matches(STAR).count() > 2 {
        return Text::any();
    }
    let mut out = String::new();
    let mut at = 0;
    let mut done = false;
    while at <= whole.len() {
        let rest = whole.get(at..).unwrap_or_default();
        let longest = (!done)
            .then(|| {
                cuts(rest)
                    .rev()
                    .find(|end| glob::fits(pattern.raw(), rest.get(..*end).unwrap_or_default()) == Some(true))
            })
            .flatten();
        match longest {
            Some(end) if end > 0 => {
                out.push_str(with);
                at += end;
                done = !all;
            }
            _ => match rest.chars().next() {
                Some(c) => {
                    out.push(c);
                    at += c.len_utf8();
                }
                None => break,
            },
        }
    }
    if anchor.is_some() { Text::any() } else { Text::known(&out) }
}

fn change_case(text: &Text, operator: u8, all: bool) -> Text {
    match (text.whole(), operator, all) {
        (Some(text), b'^', true) => Text::known(&text.to_uppercase()),
        (Some(text), b',', true) => Text::known(&text.to_lowercase()),
        (Some(text), b'^', false) => {
            let mut chars = text.chars();
            Text::known(
                &chars
                    .next()
                    .map_or(String::new(), |c| c.to_uppercase().collect::<String>() + chars.as_str()),
            )
        }
        (Some(text), b',', false) => {
            let mut chars = text.chars();
            Text::known(
                &chars
                    .next()
                    .map_or(String::new(), |c| c.to_lowercase().collect::<String>() + chars.as_str()),
            )
        }
        (Some(_), _, _) => Text::any(),
        (None, _, _) if text.raw().contains([ANY, INNER, '/']) => Text::any(),
        (None, _, _) if text.raw().contains(PIECE) => Text::mark(PIECE),
        (None, _, _) => Text::mark(NAME),
    }
}

fn slice(text: &Text, from: &Text, count: Option<&Text>) -> Text {
    let number = |text: &Text| text.whole().and_then(|text| text.trim().parse::<i64>().ok());
    let Some(whole) = text.whole() else {
        return if text.raw().contains([ANY, INNER, '/']) { Text::any() } else { shortened(text) };
    };
    let length = i64::try_from(whole.chars().count()).unwrap_or(i64::MAX);
    let zero = |text: &Text| {
        text.raw().trim_start_matches('-').len() > 1 && text.raw().trim_start_matches('-').starts_with('0')
    };
    if zero(from) || count.is_some_and(zero) {
        return Text::any();
    }
    let (Some(from), count) = (number(from), count.map(number)) else { return Text::any() };
    let from = if from < 0 { (length + from).max(0) } else { from.min(length) };
    let end = match count {
        None => length,
        Some(Some(count)) if count < 0 => (length + count).max(from),
        Some(Some(count)) => (from + count).min(length),
        Some(None) => return Text::any(),
    };
    let (from, count) = (usize::try_from(from).unwrap_or(0), usize::try_from(end - from).unwrap_or(0));
    Text::known(&whole.chars().skip(from).take(count).collect::<String>())
}

// ── braces ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/// A piece of a word whose braces have been taken apart.
#[derive(Clone)]
enum Spelled<'t> {
    Part(&'t Part<'t>),
    Bare(String),
}

/// More words than this do not come out of one.
const MAX_SPELLINGS: usize = 64;

/// The words that braces make of one.
enum Braces<'t> {
    None,
    Many,
    Words(Vec<Vec<Spelled<'t>>>),
}

fn braces<'t>(parts: &'t [Part<'t>]) -> Braces<'t> {
    if !parts.iter().any(|part| matches!(part, Part::Bare(text) if text.contains('{'))) {
        return Braces::None;
    }
    // One token a bare character; other parts are tokens as they are.
    let mut tokens: Vec<Token<'t>> = Vec::new();
    for part in parts {
        match part {
            Part::Bare(text) => tokens.extend(text.chars().map(Token::Char)),
            part => tokens.push(Token::Part(part)),
        }
    }
    if tokens.len() > 768 {
        return Braces::Many;
    }
    match spell(&tokens, 0) {
        None => Braces::Many,
        Some(words) if words.len() == 1 && !changed(&tokens, &words) => Braces::None,
        Some(words) => Braces::Words(words.iter().map(|tokens| gather(tokens)).collect()),
    }
}

/// `{1..1}` is one word, and another one.
fn changed(tokens: &[Token<'_>], words: &[Vec<Token<'_>>]) -> bool {
    words.first().is_none_or(|word| word.len() != tokens.len())
}

#[derive(Clone, Copy)]
enum Token<'t> {
    Char(char),
    Part(&'t Part<'t>),
}

fn gather<'t>(tokens: &[Token<'t>]) -> Vec<Spelled<'t>> {
    let mut out: Vec<Spelled<'t>> = Vec::new();
    for token in tokens {
        match (token, out.last_mut()) {
            (Token::Char(c), Some(Spelled::Bare(text))) => text.push(*c),
            (Token::Char(c), _) => out.push(Spelled::Bare((*c).into())),
            (Token::Part(part), _) => out.push(Spelled::Part(part)),
        }
    }
    out
}

/// All spellings of the tokens. `None`: too many.
fn spell<'t>(tokens: &[Token<'t>], depth: u32) -> Option<Vec<Vec<Token<'t>>>> {
    if depth > 16 {
        return None;
    }
    let mut from = 0;
    while let Some(open) = position(tokens, from, '{') {
        let Some((close, commas)) = matching(tokens, open) else {
            from = open + 1;
            continue;
        };
        let before = tokens.get(..open).unwrap_or_default();
        let inside = tokens.get(open + 1..close).unwrap_or_default();
        let after = spell(tokens.get(close + 1..).unwrap_or_default(), depth + 1)?;
        let options: Vec<Vec<Token<'t>>> = if commas.is_empty() {
            match sequence(inside) {
                Some(names) => {
                    names.into_iter().map(|name| name.chars().map(Token::Char).collect()).collect()
                }
                None => {
                    from = open + 1;
                    continue;
                }
            }
        } else {
            let mut options = Vec::new();
            let mut start = open + 1;
            for end in commas.into_iter().chain([close]) {
                options.extend(spell(tokens.get(start..end).unwrap_or_default(), depth + 1)?);
                start = end + 1;
            }
            options
        };
        if options.len() * after.len() > MAX_SPELLINGS {
            return None;
        }
        let combine = |option: &Vec<Token<'t>>| {
            after
                .iter()
                .map(|after| [before, option.as_slice(), after.as_slice()].concat())
                .collect::<Vec<_>>()
        };
        return Some(options.iter().flat_map(combine).collect());
    }
    Some(vec![tokens.to_vec()])
}

fn position(tokens: &[Token<'_>], from: usize, wanted: char) -> Option<usize> {
    tokens
        .iter()
        .enumerate()
        .skip(from)
        .find(|(_, token)| matches!(token, Token::Char(c) if *c == wanted))
        .map(|(at, _)| at)
}

/// The brace that closes this one, and the commas between that belong to it.
fn matching(tokens: &[Token<'_>], open: usize) -> Option<(usize, Vec<usize>)> {
    let mut depth = 0_u32;
    let mut commas = Vec::new();
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Char('{') => depth += 1,
            Token::Char('}') => {
                depth -= 1;
                if depth == 0 {
                    return Some((at, commas));
                }
            }
            Token::Char(',') if depth == 1 => commas.push(at),
            Token::Char(_) | Token::Part(_) => {}
        }
    }
    None
}

/// `1..5`, `a..e`, `1..9..2`; a part whose value is not known makes it a sequence of names.
fn sequence(tokens: &[Token<'_>]) -> Option<Vec<String>> {
    let mut text = String::new();
    for token in tokens {
        match token {
            Token::Char(c) => text.push(*c),
            Token::Part(_) => return None,
        }
    }
    let mut pieces = text.split("..");
    let (first, last, step) = (pieces.next()?, pieces.next()?, pieces.next());
    if pieces.next().is_some() {
        return None;
    }
    let step = step.map_or(Some(1), |step| step.parse::<i64>().ok())?.unsigned_abs().max(1);
    let padded =
        |text: &str| text.trim_start_matches('-').len() > 1 && text.trim_start_matches('-').starts_with('0');
    if padded(first) || padded(last) {
        return Some(vec![NUMBER.to_string(); 2]);
    }
    if let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let count = first.abs_diff(last) / step + 1;
        if count > MAX_SPELLINGS as u64 {
            return Some(vec![String::new(); MAX_SPELLINGS + 1]);
        }
        let at = |n: u64| {
            if first <= last { first + (n * step).cast_signed() } else { first - (n * step).cast_signed() }
        };
        return Some((0..count).map(|n| at(n).to_string()).collect());
    }
    let one = |text: &str| {
        let mut chars = text.chars();
        chars.next().filter(|c| c.is_ascii_alphabetic() && chars.as_str().is_empty())
    };
    let (first, last) = (one(first)?, one(last)?);
    let (low, high) = (first.min(last), first.max(last));
    Some((low..=high).step_by(usize::try_from(step).ok()?).map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_stripped_as_bash_does() {
        let cases = [
            ("a.tar.gz", ".*", true, false, "a.tar"),
            ("a.tar.gz", ".*", true, true, "a"),
            ("/x/y/z", "*/", false, true, "z"),
            ("/x/y/z", "/*", true, false, "/x/y"),
            ("abc", "x", true, false, "abc"),
        ];
        for (text, pattern, suffix, longest, expected) in cases {
            let stripped = strip(&Text::known(text), &glob::marked(pattern), suffix, longest);
            assert_eq!(stripped.whole(), Some(expected), "{text} {pattern}");
        }
    }

    #[test]
    fn sequences_count() {
        let tokens: Vec<Token<'_>> = "1..3".chars().map(Token::Char).collect();
        assert_eq!(sequence(&tokens), Some(vec!["1".into(), "2".into(), "3".into()]));
    }
}
