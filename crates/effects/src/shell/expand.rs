//! Words: from parts to the texts that a program would be given.

mod arithmetic;
mod braces;
mod change;
mod parameter;

use toolgate_model::{Doubt, Gap};
use toolgate_shell::{Element, List, Part, Word};

use super::bounds::{Limit, MAX_WORDS};
use super::text::{BLANKS, CLASS, Choices, Flow, INNER, MAX_CHOICES, NAME, ONE, PIECE, STAR, Text, one_of};
use super::variables::Variable;
use super::{Interpreter, glob};
use braces::{Braces, Spelled, braces};

/// What a parameter expands to.
enum Expansion {
    One(Choices),
    /// `"$@"`: a field each.
    Each(Vec<Choices>),
}

impl Expansion {
    /// What a pattern has found and what is put together with more is another name, which no pattern finds.
    fn whole_or_unmatched(self, is_whole: bool) -> Expansion {
        let unmatched = |choices: &Choices| choices.iter().map(Text::unmatched).collect();
        match self {
            all if is_whole => all,
            Expansion::One(choices) => Expansion::One(unmatched(&choices)),
            Expansion::Each(all) => Expansion::Each(all.iter().map(unmatched).collect()),
        }
    }
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
    fn split(&mut self, text: &Text, separators: Option<&str>) {
        let Some(separators) = separators else {
            if !text.is_empty() {
                self.quoted(&Text::any());
            }
            return;
        };
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
            if lists.first().is_some_and(|list| list.len() > MAX_WORDS * 2) {
                self.too_much(Limit::Words);
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
            return vec![vec![self.literal(text)]];
        }
        if let [Part::Bare(text)] = word.parts.as_slice()
            && !text.contains(['~', '*', '?', '[', '{'])
        {
            return vec![vec![self.literal(text)]];
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
        let lists: Vec<Vec<Text>> = builders
            .into_iter()
            .map(|mut fields| {
                fields.close();
                fields.done
            })
            .collect();
        for word in lists.iter().flatten() {
            self.draws_matches(word);
        }
        lists
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
            [Part::Quoted(text)] => return vec![self.literal(text)],
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
                    let text = self.literal(text);
                    for fields in builders.iter_mut() {
                        fields.quoted(&text);
                    }
                }
                Part::Double(inner) => {
                    for fields in builders.iter_mut() {
                        fields.open = true;
                    }
                    self.double(builders, inner, mode, parts.len() == 1 && inner.len() == 1);
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
                    if may_climb {
                        self.draws_unknown();
                    }
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
                    if mode == Mode::Argument {
                        self.split_names(&expansion);
                    }
                    let is_whole = parts.len() == 1 || mode == Mode::Pattern;
                    let expansion = expansion.whole_or_unmatched(is_whole);
                    add(builders, &expansion, mode, self.separators().as_deref());
                }
            }
        }
    }

    fn double(&mut self, builders: &mut Vec<Fields>, parts: &'t [Part<'t>], mode: Mode, is_whole: bool) {
        for part in parts {
            match part {
                Part::Quoted(text) | Part::Bare(text) => {
                    let text = self.literal(text);
                    for fields in builders.iter_mut() {
                        fields.quoted(&text);
                    }
                }
                Part::Double(parts) => self.double(builders, parts, mode, is_whole && parts.len() == 1),
                part => match self.expansion(part, true).whole_or_unmatched(is_whole) {
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
        let is_plain = mode == Mode::Single || !rest.contains(['*', '?', '[']);
        let marked = if is_plain { self.literal(rest) } else { glob::marked(rest) };
        if mode == Mode::Argument && self.state.globstar {
            out.push_raw(&marked.raw().replace(&format!("{STAR}{STAR}"), &INNER.to_string()));
        } else {
            out.push(&marked);
        }
        out
    }

    pub(super) fn home_of(&self, user: &str) -> Text {
        match user {
            "" => match self.state.variables.get("HOME") {
                // The shell asks the system for it then.
                Some(Variable::Unset) => self.scene.home.map_or_else(Text::any, Text::known),
                _ => one_of(self.variable_texts("HOME")),
            },
            "+" => one_of(self.variable_texts("PWD")),
            "-" => one_of(self.variable_texts("OLDPWD")),
            // Directories of the stack: `~1`, `~+1`.
            place if place.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-')) => Text::any(),
            "root" => Text::known("/root"),
            user => Text::known(&format!("/home/{user}")),
        }
    }

    /// What is between fields, where that is known.
    pub(super) fn separators(&self) -> Option<String> {
        if let Some(Variable::Unset) = self.state.variables.get("IFS") {
            return Some(BLANKS.to_owned());
        }
        match self.variable_texts("IFS").as_slice() {
            [text] => text.whole().map(str::to_owned),
            _ => None,
        }
    }

    fn expansion(&mut self, part: &'t Part<'t>, quoted: bool) -> Expansion {
        match part {
            Part::Parameter(parameter) => self.parameter(parameter, quoted),
            Part::Substitution(list) => Expansion::One(self.substitution(list).substituted()),
            Part::Backtick(text) => Expansion::One(self.backtick(text).substituted()),
            Part::Arithmetic(arithmetic) => Expansion::One(vec![self.arithmetic(arithmetic)]),
            Part::Process { writes, list } => Expansion::One(vec![self.process(*writes, list)]),
            Part::Bare(text) | Part::Quoted(text) => Expansion::One(vec![self.literal(text)]),
            Part::Double(_) | Part::ExtendedGlob { .. } | Part::Array(_) => Expansion::One(vec![Text::any()]),
        }
    }

    /// Names that are not known fall apart at blanks where they are not quoted.
    fn split_names(&mut self, expansion: &Expansion) {
        let texts: Vec<Text> = match expansion {
            Expansion::One(choices) => choices.clone(),
            Expansion::Each(all) => all.iter().flatten().cloned().collect(),
        };
        match self.separators().as_deref() {
            Some("") | None => {}
            Some(separators) if separators.chars().all(|letter| BLANKS.contains(letter)) => {
                for text in &texts {
                    self.taken_apart(text);
                }
            }
            // Names may hold any other letter.
            Some(_) => {
                let is_open = |letter: char| matches!(letter, INNER | STAR | ONE | CLASS | NAME);
                if let Some(text) = texts.iter().find(|text| text.raw().contains(is_open)) {
                    self.unknown(Gap::Doubt(Doubt::Names), &text.shown());
                }
            }
        }
    }

    /// `$( … )`: runs in a child.
    pub(super) fn substitution(&mut self, list: &'t List<'t>) -> Flow {
        if let Some(flow) = self.quick_read(list) {
            return flow;
        }
        let (flow, ran) = self.noting(|shell| shell.forked(|shell| shell.list(list)));
        self.streams.add_substituted(ran);
        flow
    }

    fn backtick(&mut self, text: &str) -> Flow {
        let list = self.parsed(text);
        self.substitution(list)
    }

    /// `<( … )` is a file to read from, `>( … )` one to write to; what it gets is known once the command has run.
    fn process(&mut self, writes: bool, list: &'t List<'t>) -> Text {
        let path = self.streams.new_process();
        if writes {
            self.streams.wait(path.clone(), list);
        } else {
            let (flow, ran) = self.noting(|shell| shell.forked(|shell| shell.list(list)));
            self.state.write(&path, flow);
            self.streams.add_pipe(path.clone(), ran);
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
}

fn add(builders: &mut Vec<Fields>, expansion: &Expansion, mode: Mode, separators: Option<&str>) {
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

// ── braces ──────────────────────────────────────────────────────────────────────────────────────────────────────────
