//! `find`, `xargs`, `parallel`: programs that run others on what they find or read.

use toolgate_model::{Access, Gap, Reach};

use super::input::prints_files;
use crate::shell::Interpreter;
use crate::shell::apply::slot_text;
use crate::shell::places::is_named_secret;
use crate::shell::text::{ANY, Flow, INNER, Text, spaced_as_is};
use crate::shell::walk::Outcome;
use crate::spec::Reading;

impl Interpreter<'_, '_> {
    pub(super) fn find(&mut self, arguments: &[Text]) -> Outcome {
        let mut roots: Vec<Text> = Vec::new();
        let mut at = 0;
        while let Some(word) = arguments.get(at) {
            match word.raw() {
                "-H" | "-L" | "-P" => {}
                "-D" => at += 1,
                raw if raw.starts_with("-O") => {}
                raw if raw.starts_with(['-', '(', ')', ',', '!']) => break,
                _ => roots.push(word.clone()),
            }
            at += 1;
        }
        if roots.is_empty() {
            roots.push(Text::known("."));
        }
        let expression = arguments.get(at..).unwrap_or_default().to_vec();
        // `-maxdepth 0` and a plain listing look at names only; contents are not read by find itself.
        for root in &roots {
            self.touch(Access::List, Reach::Exact, root);
        }
        let secrets = secret_names(&expression);
        let below: Vec<Text> = roots
            .iter()
            .flat_map(|root| {
                let mut below = Text::marked(root.raw().trim_end_matches('/').to_owned());
                below.push_raw("/");
                below.push_mark(INNER);
                let named = |name: &String| {
                    let mut named = below.clone();
                    named.push_raw("/");
                    named.push_raw(name);
                    named
                };
                let named: Vec<Text> = secrets.iter().map(named).collect();
                std::iter::once(below).chain(named)
            })
            .collect();
        let mut out = Flow::Lines(below.clone());
        let mut at = 0;
        while let Some(word) = expression.get(at) {
            at += 1;
            match word.raw() {
                "-delete" => {
                    for root in &roots {
                        self.touch(Access::Delete, Reach::Below, root);
                    }
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let rest = expression.get(at..).unwrap_or_default();
                    let length = rest
                        .iter()
                        .enumerate()
                        .position(|(place, word)| {
                            word.raw() == ";"
                                || (word.raw() == "+"
                                    && place > 0
                                    && rest.get(place - 1).is_some_and(|word| word.raw() == "{}"))
                        })
                        .unwrap_or(rest.len());
                    let command = rest.get(..length).unwrap_or_default().to_vec();
                    at += length + 1;
                    if !is_sifted(&expression) && command.first().is_some_and(prints_files) {
                        self.secrets_printed(&roots);
                    }
                    for found in &below {
                        let words: Vec<Text> = command
                            .iter()
                            .map(|word| Text::marked(word.raw().replace("{}", found.raw())))
                            .collect();
                        let printed = self
                            .in_step("find -exec", "", |shell| shell.forked(|shell| shell.run_words(&words)));
                        out = out.then(printed);
                    }
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    if let Some(file) = expression.get(at).cloned() {
                        self.touch(Access::Write, Reach::Exact, &file);
                    }
                    at += 1 + usize::from(word.raw() == "-fprintf");
                }
                "-files0-from" | "-newer" | "-anewer" | "-cnewer" | "-samefile" => {
                    if let Some(file) = expression.get(at).cloned() {
                        self.touch(Access::Read, Reach::Exact, &file);
                        if word.raw() == "-files0-from" {
                            self.unknown(Gap::Path(Access::List), "find -files0-from");
                        }
                    }
                    at += 1;
                }
                "-printf" => {
                    out = Flow::Any;
                    at += 1;
                }
                "-ls" => out = Flow::Any,
                // An expression that is only known when it runs could be any of the above.
                raw if raw.starts_with(ANY) => self.unknown(Gap::Option, "find"),
                _ => {}
            }
        }
        Outcome::of(out)
    }

    /// Words that something else runs: a program, not a function.
    pub(super) fn run_words(&mut self, words: &[Text]) -> Flow {
        match words.first().and_then(Text::whole).map(str::to_owned) {
            Some(name) => self.invoke_program(&name, words, None, &[]).out,
            None if words.is_empty() => Flow::Nothing,
            None => self.invoke(words, None, &[]).out,
        }
    }

    pub(super) fn xargs(&mut self, reading: &Reading, words: &[Text]) -> Outcome {
        let arguments = words.get(1..).unwrap_or_default();
        for at in &reading.unlisted {
            if let Some(word) = arguments.get(*at) {
                self.unknown(Gap::Option, &format!("xargs {}", word.shown()));
            }
        }
        let option = |names: &[&str]| reading.options.iter().find(|given| names.contains(&given.name));
        let input = match option(&["-a", "--arg-file"]).and_then(|given| given.value) {
            Some(slot) => {
                let file = slot_text(arguments, &slot);
                self.touch(Access::Read, Reach::Exact, &file);
                self.content(&file)
            }
            None => self.streams.stdin().clone(),
        };
        let replace = option(&["-I", "-i", "--replace", "-J"]).map(|given| match given.value {
            Some(slot) => slot_text(arguments, &slot).raw().to_owned(),
            None => "{}".to_owned(),
        });
        let command: Vec<Text> = match reading.rest {
            Some(at) => arguments.get(at..).unwrap_or_default().to_vec(),
            None => vec![Text::known("echo")],
        };
        let whole_lines = replace.is_some() || option(&["-d", "--delimiter", "-0", "--null"]).is_some();
        let odd = |line: &Text| {
            line.raw().contains('\\') || line.raw().chars().filter(|c| matches!(c, '"' | '\'')).count() > 0
        };
        let delimited = option(&["-d", "--delimiter"]).is_some();
        let items: Vec<Text> = match input.lines() {
            Some(lines) if delimited => lines.iter().map(|_| Text::any()).collect(),
            Some(lines) if lines.iter().any(odd) => vec![Text::any()],
            Some(lines) if whole_lines => lines,
            Some(lines) => lines
                .iter()
                .flat_map(|line| {
                    line.raw().split_whitespace().map(|item| Text::marked(unquoted(item))).collect::<Vec<_>>()
                })
                .collect(),
            None => vec![Text::any()],
        };
        let items = if items.len() > 64 { vec![Text::any()] } else { items };
        let mut out = Flow::Nothing;
        let mut run = |shell: &mut Self, words: &[Text]| {
            let printed = shell.in_step("xargs", "", |shell| shell.forked(|shell| shell.run_words(words)));
            out = std::mem::take(&mut out).then(printed);
        };
        match &replace {
            Some(mark) => {
                for item in items {
                    let words: Vec<Text> = command
                        .iter()
                        .map(|word| Text::marked(word.raw().replace(mark.as_str(), item.raw())))
                        .collect();
                    run(self, &words);
                }
            }
            None => {
                let words: Vec<Text> = command.into_iter().chain(items).collect();
                run(self, &words);
            }
        }
        Outcome::of(out)
    }

    /// `parallel command ::: a b`
    pub(super) fn parallel(&mut self, reading: &Reading, words: &[Text]) -> Outcome {
        let arguments = words.get(1..).unwrap_or_default();
        let start = reading.rest.unwrap_or(arguments.len());
        let rest = arguments.get(start..).unwrap_or_default();
        let end = rest.iter().position(|word| word.raw().starts_with(":::")).unwrap_or(rest.len());
        let command = spaced_as_is(rest.get(..end).unwrap_or_default());
        let mut items: Vec<Text> = rest.get(end + 1..).unwrap_or_default().to_vec();
        if items.is_empty() {
            items = self.streams.stdin().lines().unwrap_or_else(|| vec![Text::any()]);
        }
        for item in items.into_iter().take(64) {
            let text = if command.is_empty() {
                item
            } else if command.raw().contains("{}") {
                Text::marked(command.raw().replace("{}", item.raw()))
            } else {
                Text::marked(format!("{} {}", command.raw(), item.raw()))
            };
            self.forked(|shell| shell.text(&text, "parallel"));
        }
        Outcome::of(Flow::Any)
    }
}

/// Files of secrets that an expression of `find` asks for by name: what it then does is done to these.
fn secret_names(expression: &[Text]) -> Vec<String> {
    let pairs =
        expression.windows(3).filter(|triple| !matches!(triple.first().map(Text::raw), Some("!" | "-not")));
    let first = expression.get(..2).into_iter();
    let asked = first.chain(pairs.filter_map(|triple| triple.get(1..))).filter_map(|pair| match pair {
        [test, name] if matches!(test.raw(), "-name" | "-iname") => name.whole().map(str::to_owned),
        _ => None,
    });
    let plain = asked.map(|name| name.replace(['*', '?'], ""));
    plain.filter(|name| is_named_secret(name)).collect()
}

/// Whether an expression of find chooses files by their names, or not all that are there.
fn is_sifted(expression: &[Text]) -> bool {
    const TESTS: [&str; 11] = [
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-iwholename",
        "-regex",
        "-iregex",
        "-not",
        "!",
        "-prune",
    ];
    expression.iter().any(|word| TESTS.contains(&word.raw()))
}

/// An item of xargs with its own quotes off.
fn unquoted(item: &str) -> String {
    let inner = item.strip_prefix(['"', '\'']).and_then(|rest| rest.strip_suffix(['"', '\'']));
    inner.unwrap_or(item).to_owned()
}
