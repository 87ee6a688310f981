//! Any text as a script: read or refused, never a panic; every span lies in the text, between characters; and what is
//! read without an error is read inside of a group too.

#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgate_shell::{
    Arithmetic, Assignment, Command, CommandKind, Element, Index, List, Operation, Part, RedirectTarget,
    Span, Value, Word, parse, parse_arithmetic, parse_word,
};

fuzz_target!(|text: &str| {
    let parsed = parse(text);
    let walk = Walk { text };
    walk.list(&parsed.list);
    match parsed.error {
        Some(error) => assert!(error.at as usize <= text.len()),
        // A last line that ends in a backslash or within a here-document goes on with what follows it.
        None if text.ends_with('\\') || text.replace("\\\n", "").contains("<<") => {}
        None if parsed.list.items.is_empty() => {}
        None => {
            let grouped = format!("{{\n{text}\n}}");
            let inside = parse(&grouped);
            let deep = inside
                .error
                .is_some_and(|error| error.what == "nested too deeply" || error.what.starts_with("longer"));
            if !deep {
                assert_eq!(inside.error, None, "{text:?}");
                assert_eq!(inside.list.items.len(), 1);
            }
        }
    }
    if let Ok(word) = parse_word(text) {
        walk.word(&word);
    }
    if let Ok(arithmetic) = parse_arithmetic(text) {
        walk.arithmetic(&arithmetic);
    }
});

struct Walk<'t> {
    text: &'t str,
}

impl Walk<'_> {
    fn span(&self, span: Span) {
        assert!(
            self.text.get(span.start as usize..span.end as usize).is_some(),
            "{span:?} in {:?}",
            self.text
        );
    }

    fn list(&self, list: &List<'_>) {
        for item in &list.items {
            for pipeline in std::iter::once(&item.first).chain(item.rest.iter().map(|(_, next)| next)) {
                pipeline.commands.iter().for_each(|command| self.command(command));
            }
        }
    }

    fn command(&self, command: &Command<'_>) {
        self.span(command.span);
        match &command.kind {
            CommandKind::Simple { assignments, words } => {
                assignments.iter().for_each(|assignment| self.assignment(assignment));
                self.words(words);
            }
            CommandKind::Group(list) | CommandKind::Subshell(list) => self.list(list),
            CommandKind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    self.list(condition);
                    self.list(body);
                }
                otherwise.iter().for_each(|list| self.list(list));
            }
            CommandKind::While { condition, body, .. } => {
                self.list(condition);
                self.list(body);
            }
            CommandKind::For { words, body, .. } => {
                self.words(words.as_deref().unwrap_or_default());
                self.list(body);
            }
            CommandKind::ForArithmetic { clauses, body } => {
                clauses.iter().for_each(|clause| self.arithmetic(clause));
                self.list(body);
            }
            CommandKind::Case { subject, arms } => {
                self.word(subject);
                for arm in arms {
                    self.words(&arm.patterns);
                    self.list(&arm.body);
                }
            }
            CommandKind::Function { body, .. } | CommandKind::Coproc { body, .. } => self.command(body),
            CommandKind::Test(words) => self.words(words),
            CommandKind::Arithmetic(arithmetic) => self.arithmetic(arithmetic),
        }
        for redirect in &command.redirects {
            self.span(redirect.span);
            match &redirect.target {
                RedirectTarget::Word(word) | RedirectTarget::Body(word) => self.word(word),
            }
        }
    }

    fn assignment(&self, assignment: &Assignment<'_>) {
        self.span(assignment.span);
        assignment.index.iter().for_each(|index| self.arithmetic(index));
        match &assignment.value {
            Value::Word(word) => self.word(word),
            Value::Array(elements) => self.elements(elements),
        }
    }

    fn elements(&self, elements: &[Element<'_>]) {
        for element in elements {
            element.index.iter().for_each(|index| self.arithmetic(index));
            self.word(&element.value);
        }
    }

    fn words(&self, words: &[Word<'_>]) {
        words.iter().for_each(|word| self.word(word));
    }

    fn word(&self, word: &Word<'_>) {
        self.span(word.span);
        self.parts(&word.parts);
    }

    fn arithmetic(&self, arithmetic: &Arithmetic<'_>) {
        self.span(arithmetic.span);
        self.parts(&arithmetic.parts);
    }

    fn parts(&self, parts: &[Part<'_>]) {
        for part in parts {
            match part {
                Part::Bare(_) | Part::Quoted(_) | Part::Backtick(_) => {}
                Part::Double(parts) => self.parts(parts),
                Part::Parameter(parameter) => {
                    self.span(parameter.span);
                    assert!(!parameter.name.is_empty());
                    if let Some(Index::At(index)) = &parameter.index {
                        self.arithmetic(index);
                    }
                    self.operation(&parameter.operation);
                }
                Part::Substitution(list) | Part::Process { list, .. } => self.list(list),
                Part::Arithmetic(arithmetic) => self.arithmetic(arithmetic),
                Part::ExtendedGlob { patterns, .. } => self.words(patterns),
                Part::Array(elements) => self.elements(elements),
            }
        }
    }

    fn operation(&self, operation: &Operation<'_>) {
        match operation {
            Operation::None
            | Operation::Length
            | Operation::Names
            | Operation::Keys
            | Operation::Transform(_) => {}
            Operation::Indirect(operation) => self.operation(operation),
            Operation::Default { word, .. } => self.word(word),
            Operation::Strip { pattern, .. } | Operation::Case { pattern, .. } => self.word(pattern),
            Operation::Replace { pattern, with, .. } => {
                self.word(pattern);
                self.word(with);
            }
            Operation::Slice { offset, length } => {
                self.arithmetic(offset);
                length.iter().for_each(|length| self.arithmetic(length));
            }
        }
    }
}
