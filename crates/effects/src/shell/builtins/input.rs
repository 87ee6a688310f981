//! `read` and `mapfile`: what standard input puts into variables.

use toolgate_model::Gap;

use crate::shell::Interpreter;
use crate::shell::text::{BLANKS, Choices, Flow, Text, bounded};
use crate::shell::variables::Given;
use crate::shell::walk::Outcome;

use super::options::options_of;

impl Interpreter<'_, '_> {
    /// `read` takes a line of standard input apart.
    pub(super) fn read(&mut self, arguments: &[Text]) -> Outcome {
        let asked = Asked::of(arguments);
        let lines = self.lines_for(&asked);
        if let Some(array) = asked.array {
            let given = match lines {
                Some(lines) if lines.len() == 1 => Given::Elements {
                    values: pieces_of(&lines).into_iter().map(|piece| vec![piece]).collect(),
                    in_order: true,
                    adds: false,
                },
                _ => Given::Unknown,
            };
            self.set_variable(&array, given);
            return Outcome::of(Flow::Nothing);
        }
        for (place, name) in asked.names.iter().enumerate() {
            let value = match &lines {
                None => vec![Text::any()],
                Some(lines) => lines.iter().map(|line| field(line.raw(), place, asked.names.len())).collect(),
            };
            self.set_variable(name, Given::Text(bounded(value)));
        }
        Outcome::of(Flow::Nothing)
    }

    /// The lines of which `read` takes one, where it is known what it makes of them.
    fn lines_for(&mut self, asked: &Asked) -> Option<Choices> {
        let flow = match asked.from {
            Input::Descriptor(number) => number.and_then(|number| self.state.descriptor(number).cloned()),
            Input::Stdin => Some(self.streams.stdin().clone()),
        };
        let lines = flow.and_then(|flow| flow.lines());
        if matches!(asked.from, Input::Stdin) {
            self.streams.take_line(lines.clone());
        }
        let whole = asked.names.len() == 1 && asked.array.is_none() && !asked.is_unnamed;
        let splits_plainly = whole || self.separators().as_deref() == Some(BLANKS);
        lines.map(bounded).filter(|lines| {
            let escaped = || lines.iter().any(|line| line.raw().contains('\\'));
            !lines.is_empty() && asked.is_plain && splits_plainly && (asked.keeps_backslashes || !escaped())
        })
    }

    pub(super) fn mapfile(&mut self, arguments: &[Text]) -> Outcome {
        let (options, names) = options_of(arguments, "CnOsucd");
        for (_, text) in options.iter().filter(|(letter, _)| *letter == 'C') {
            self.unknown(Gap::ShellCode, "mapfile -C");
            if let Some(text) = text {
                self.forked(|shell| shell.text(text, "mapfile"));
            }
        }
        let name = names.first().cloned().unwrap_or_else(|| Text::known("MAPFILE"));
        let is_plain = options.iter().all(|(letter, _)| *letter == 't');
        let given = match self.streams.stdin().lines().filter(|_| is_plain).map(bounded) {
            Some(lines) => Given::Elements {
                values: lines.into_iter().map(|line| vec![line]).collect(),
                in_order: true,
                adds: false,
            },
            None => Given::Unknown,
        };
        self.set_variable(&name, given);
        Outcome::of(Flow::Nothing)
    }
}

/// Where `read` takes its line from.
enum Input {
    Stdin,
    /// `-u`: the descriptor, where it is known.
    Descriptor(Option<u32>),
}

/// What `read` is asked for.
struct Asked {
    names: Vec<Text>,
    /// No name is given, and the line goes to `REPLY`.
    is_unnamed: bool,
    /// `-a`
    array: Option<Text>,
    from: Input,
    /// Backslashes mean themselves.
    keeps_backslashes: bool,
    /// No option changes what a line is.
    is_plain: bool,
}

impl Asked {
    fn of(arguments: &[Text]) -> Asked {
        let (options, names) = options_of(arguments, "pdnNtuia");
        let mut names = names.to_vec();
        let value = |letter: char| {
            options.iter().rev().find(|(known, _)| *known == letter).map(|(_, value)| value.clone())
        };
        let array = value('a').flatten();
        let is_unnamed = names.is_empty() && array.is_none();
        if is_unnamed {
            names.push(Text::known("REPLY"));
        }
        let number = |text: Option<Text>| text.and_then(|text| text.whole()?.parse().ok());
        Asked {
            names,
            is_unnamed,
            array,
            from: value('u').map_or(Input::Stdin, |text| Input::Descriptor(number(text))),
            keeps_backslashes: value('r').is_some(),
            is_plain: options
                .iter()
                .all(|(letter, _)| matches!(letter, 'r' | 'p' | 't' | 's' | 'e' | 'u' | 'a')),
        }
    }
}

/// The field that goes to the name at this place. The last name takes all that is left.
fn field(line: &str, place: usize, names: usize) -> Text {
    if place + 1 < names {
        return Text::marked(line.split_whitespace().nth(place).unwrap_or_default().to_owned());
    }
    let mut rest = line.trim();
    for _ in 0..place {
        rest = rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start());
    }
    Text::marked(rest.to_owned())
}

fn pieces_of(lines: &Choices) -> Choices {
    let pieces = lines
        .iter()
        .flat_map(|line| line.raw().split_whitespace().map(|piece| Text::marked(piece.to_owned())));
    bounded(pieces.collect())
}
