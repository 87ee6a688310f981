//! `read` and `mapfile`: what standard input puts into variables.

use toolgate_model::Gap;

use crate::shell::Interpreter;
use crate::shell::state::Variable;
use crate::shell::text::{Choices, Flow, Text, bounded, is_mark};
use crate::shell::walk::Outcome;

impl Interpreter<'_, '_> {
    /// `read` takes a line of standard input apart.
    pub(super) fn read(&mut self, arguments: &[Text]) -> Outcome {
        let asked = Asked::of(arguments);
        let lines = self.lines_for(&asked, arguments);
        // `read 'a[$(cmd)]'` evaluates the subscript.
        for name in &asked.names {
            if let Some((array, index)) = name.split_once('[') {
                self.evaluate(index.trim_end_matches(']'));
                self.state.set(array, Variable::unknown());
            }
            if name.contains(is_mark) {
                self.forget_variables();
            }
        }
        if let Some(array) = asked.array {
            let value = match lines {
                Some(lines) if lines.len() == 1 => {
                    Variable::Array(pieces_of(&lines).into_iter().map(|piece| vec![piece]).collect())
                }
                _ => Variable::unknown(),
            };
            self.state.set(&array, value);
            return Outcome::of(Flow::Nothing);
        }
        for (place, name) in asked.names.iter().enumerate() {
            let value = match &lines {
                None => vec![Text::any()],
                Some(lines) => lines.iter().map(|line| field(line.raw(), place, asked.names.len())).collect(),
            };
            self.state.set(name, Variable::Scalar(bounded(value)));
            self.environment_changed(name);
        }
        Outcome::of(Flow::Nothing)
    }

    /// The lines of which `read` takes one, where it is known what it makes of them.
    fn lines_for(&mut self, asked: &Asked, arguments: &[Text]) -> Option<Choices> {
        let flow = match asked.descriptor {
            Some(number) => self.state.descriptor(number).cloned(),
            None => Some(self.streams.stdin().clone()),
        };
        let lines = flow.and_then(|flow| flow.lines());
        if asked.descriptor.is_none() {
            self.streams.take_line(lines.clone());
        }
        let options = || arguments.iter().map(Text::raw).filter(|argument| argument.starts_with('-'));
        let keeps_backslashes = options().any(|option| option.contains('r'));
        let plain = options().all(|option| {
            let mut letters = option.chars().skip(1);
            letters.all(|c| matches!(c, 'r' | 'p' | 't' | 's' | 'e' | 'u' | 'a') || c.is_ascii_digit())
        });
        let whole = asked.names.len() == 1 && asked.array.is_none() && !asked.is_unnamed;
        let splits_plainly = whole || self.separators() == " \t\n";
        lines.map(bounded).filter(|lines| {
            let escaped = || lines.iter().any(|line| line.raw().contains('\\'));
            !lines.is_empty() && plain && splits_plainly && (keeps_backslashes || !escaped())
        })
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

/// What `read` is asked for.
#[derive(Default)]
struct Asked {
    names: Vec<String>,
    /// No name is given, and the line goes to `REPLY`.
    is_unnamed: bool,
    /// `-a`
    array: Option<String>,
    /// `-u`
    descriptor: Option<u32>,
}

impl Asked {
    fn of(arguments: &[Text]) -> Asked {
        /// Options with a value, by their last letter.
        const TAKE: [char; 8] = ['p', 'd', 'n', 'N', 't', 'u', 'i', 'a'];
        let mut asked = Asked::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let raw = argument.raw();
            if !raw.starts_with('-') || raw.len() < 2 {
                asked.names.push(raw.to_owned());
                continue;
            }
            match raw.chars().next_back().filter(|last| TAKE.contains(last)) {
                Some(last) => {
                    let value = arguments.next().and_then(Text::whole);
                    match last {
                        'a' => asked.array = value.map(str::to_owned),
                        'u' => asked.descriptor = value.and_then(|text| text.parse().ok()),
                        _ => {}
                    }
                }
                None => {
                    if let Some(number) = raw.strip_prefix("-u") {
                        asked.descriptor = number.parse().ok();
                    }
                }
            }
        }
        if asked.names.is_empty() && asked.array.is_none() {
            asked.is_unnamed = true;
            asked.names.push("REPLY".to_owned());
        }
        asked
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
