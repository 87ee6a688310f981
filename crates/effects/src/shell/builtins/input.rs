//! `read` and `mapfile`: what standard input puts into variables.

use toolgate_model::Gap;

use crate::shell::Interpreter;
use crate::shell::state::Variable;
use crate::shell::text::{Choices, Flow, Text, bounded, is_mark};
use crate::shell::walk::Outcome;

impl Interpreter<'_, '_> {
    /// `read` takes a line of standard input apart.
    #[expect(clippy::too_many_lines, reason = "one builtin, its options in turn")]
    pub(super) fn read(&mut self, arguments: &[Text]) -> Outcome {
        const TAKE: [&str; 8] = ["-p", "-d", "-n", "-N", "-t", "-u", "-i", "-a"];
        let mut names: Vec<String> = Vec::new();
        let mut array = None;
        let mut skip = false;
        let mut from = None;
        for (at, argument) in arguments.iter().enumerate() {
            if std::mem::take(&mut skip) {
                continue;
            }
            let raw = argument.raw();
            if raw.starts_with('-') && raw.len() > 1 {
                let last = format!("-{}", raw.chars().next_back().unwrap_or_default());
                if TAKE.contains(&last.as_str()) {
                    skip = true;
                    let value = arguments.get(at + 1);
                    match last.as_str() {
                        "-a" => array = value.and_then(Text::whole).map(str::to_owned),
                        "-u" => from = value.and_then(Text::whole).and_then(|text| text.parse::<u32>().ok()),
                        _ => {}
                    }
                } else if let Some(number) = raw.strip_prefix("-u") {
                    from = number.parse::<u32>().ok();
                }
            } else {
                names.push(raw.to_owned());
            }
        }
        let flow = match from {
            Some(number) => self
                .state
                .descriptors
                .iter()
                .rev()
                .find(|(known, _)| *known == number)
                .map(|(_, flow)| flow.clone()),
            None => Some(self.streams.stdin().clone()),
        };
        let lines = flow.and_then(|flow| flow.lines());
        if from.is_none() {
            self.streams.take_line(lines.clone());
        }
        let raw =
            arguments.iter().any(|argument| argument.raw().starts_with('-') && argument.raw().contains('r'));
        let plain = arguments.iter().filter(|argument| argument.raw().starts_with('-')).all(|argument| {
            argument
                .raw()
                .chars()
                .skip(1)
                .all(|c| matches!(c, 'r' | 'p' | 't' | 's' | 'e' | 'u' | 'a') || c.is_ascii_digit())
        });
        let lines = lines.map(bounded).filter(|lines| !lines.is_empty());
        let lines =
            lines.filter(|lines| plain && (raw || !lines.iter().any(|line| line.raw().contains('\\'))));
        let default = self.separators() == " \t\n";
        let lines = lines.filter(|_| default || (names.len() == 1 && array.is_none()));
        if names.is_empty() && array.is_none() {
            names.push("REPLY".to_owned());
        }
        // `read 'a[$(cmd)]'` evaluates the subscript.
        for name in &names {
            if let Some((array, index)) = name.split_once('[') {
                self.evaluate(index.trim_end_matches(']'));
                self.state.set(array, Variable::unknown());
            }
            if name.contains(is_mark) {
                self.forget_variables();
            }
        }
        let any = || vec![Text::any()];
        if let Some(array) = array {
            let value = match lines {
                Some(lines) if lines.len() == 1 => {
                    Variable::Array(pieces_of(&lines).into_iter().map(|piece| vec![piece]).collect())
                }
                Some(_) => Variable::unknown(),
                None => Variable::unknown(),
            };
            self.state.set(&array, value);
            return Outcome::of(Flow::Nothing);
        }
        let single = names.len() == 1;
        for (place, name) in names.iter().enumerate() {
            let value = match &lines {
                None => any(),
                // The last name takes all that is left.
                Some(lines) if single => lines.iter().map(trimmed).collect(),
                Some(lines) if place + 1 < names.len() => {
                    let field = |line: &Text| {
                        let field = line.raw().split_whitespace().nth(place).unwrap_or_default();
                        Text::marked(field.to_owned())
                    };
                    lines.iter().map(field).collect()
                }
                Some(lines) => {
                    let rest = |line: &Text| {
                        let mut rest = line.raw().trim();
                        for _ in 0..place {
                            rest = rest
                                .split_once(char::is_whitespace)
                                .map_or("", |(_, rest)| rest.trim_start());
                        }
                        Text::marked(rest.to_owned())
                    };
                    lines.iter().map(rest).collect()
                }
            };
            self.state.set(name, Variable::Scalar(bounded(value)));
            self.environment_changed(name);
        }
        Outcome::of(Flow::Nothing)
    }

    pub(super) fn mapfile(&mut self, arguments: &[Text]) -> Outcome {
        let mut name = "MAPFILE".to_owned();
        let mut skip = false;
        for (at, argument) in arguments.iter().enumerate() {
            if std::mem::take(&mut skip) {
                continue;
            }
            match argument.raw() {
                "-C" => {
                    skip = true;
                    self.unknown(Gap::ShellCode, "mapfile -C");
                    if let Some(text) = arguments.get(at + 1).cloned() {
                        self.forked(|shell| shell.text(&text, "mapfile"));
                    }
                }
                "-n" | "-O" | "-s" | "-u" | "-c" | "-d" => skip = true,
                option if option.starts_with('-') => {}
                other => other.clone_into(&mut name),
            }
        }
        let plain = arguments
            .iter()
            .filter(|argument| argument.raw().starts_with('-'))
            .all(|argument| argument.raw() == "-t");
        if arguments.iter().any(|argument| {
            argument.raw().starts_with('-') && argument.raw().len() > 2 && argument.raw().contains('C')
        }) {
            self.unknown(Gap::ShellCode, "mapfile -C");
        }
        if name.contains(is_mark) {
            self.forget_variables();
            return Outcome::of(Flow::Nothing);
        }
        let value = match self.streams.stdin().lines().filter(|_| plain).map(bounded) {
            Some(lines) => Variable::Array(lines.into_iter().map(|line| vec![line]).collect()),
            None => Variable::unknown(),
        };
        self.state.set(&name, value);
        Outcome::of(Flow::Nothing)
    }
}

fn trimmed(text: &Text) -> Text {
    Text::marked(text.raw().trim().to_owned())
}

fn pieces_of(lines: &Choices) -> Choices {
    let pieces = lines
        .iter()
        .flat_map(|line| line.raw().split_whitespace().map(|piece| Text::marked(piece.to_owned())));
    bounded(pieces.collect())
}
