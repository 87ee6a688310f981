//! Two other parsers against ours: every command with a plain name that they see, we see too.
//!
//! Both are read through their debug output: a walk over each of their trees would be longer than our parser.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::catch_unwind;
use std::time::{Duration, Instant};

use crate::support::{Bash, bash_syntax, probes, seen};

/// Names that are compared; others may be quoted or expanded in ways that the parsers show differently.
fn plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/');
    !name.is_empty() && name.bytes().all(plain)
}

fn counted(names: impl IntoIterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for name in names.into_iter().filter(|name| plain(name)) {
        *counts.entry(name).or_insert(0) += 1;
    }
    counts
}

/// The text that a debug string literal stands for, up to its closing quote.
fn unquoted(literal: &str) -> String {
    let mut text = String::new();
    let mut letters = literal.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => match letters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('r') => text.push('\r'),
                Some('0') => text.push('\0'),
                Some('u') => {
                    let code: String = letters.by_ref().skip(1).take_while(|letter| *letter != '}').collect();
                    text.extend(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32));
                }
                Some(other) => text.push(other),
                None => break,
            },
            _ => text.push(letter),
        }
    }
    text
}

/// Commands whose name is one literal part. Its trees hold some words twice, so each place counts once.
fn shuck(text: &str) -> Option<BTreeMap<String, usize>> {
    let parsed = catch_unwind(|| shuck_parser::parser::Parser::new(text).parse()).ok()?;
    if !matches!(parsed.status, shuck_parser::parser::ParseStatus::Clean) {
        return None;
    }
    let tree = format!("{:?}", parsed.file);
    let marker = "SimpleCommand { name: Word { parts: [WordPartNode { kind: Literal(";
    let mut found = BTreeSet::new();
    for after in tree.split(marker).skip(1) {
        let mut offsets = after.split("offset: ").skip(1).map(|rest| {
            rest.bytes()
                .take_while(u8::is_ascii_digit)
                .fold(0usize, |value, digit| value * 10 + usize::from(digit - b'0'))
        });
        let (start, end) = (offsets.next()?, offsets.next()?);
        // More than one part would go on with another node.
        let parts = after.split("], span: ").next().unwrap_or_default();
        if parts.contains("WordPartNode") {
            continue;
        }
        let name = match after.strip_prefix("Owned(\"") {
            Some(literal) => unquoted(literal),
            None => text.get(start..end).unwrap_or_default().to_owned(),
        };
        found.insert((start, end, name));
    }
    Some(counted(found.into_iter().map(|(.., name)| name)))
}

fn brush(text: &str) -> Option<BTreeMap<String, usize>> {
    let mut names = Vec::new();
    brush_names(text, &mut names, 0)?;
    Some(counted(names))
}

fn brush_names(text: &str, names: &mut Vec<String>, depth: usize) -> Option<()> {
    if depth > 8 {
        return Some(());
    }
    let tree = catch_unwind(|| {
        let tokens =
            brush_parser::uncached_tokenize_str(text, &brush_parser::TokenizerOptions::default()).ok()?;
        brush_parser::parse_tokens(&tokens, &brush_parser::ParserOptions::default()).ok()
    });
    let tree = format!("{:?}", tree.ok()??);
    let mut skipped = 0;
    let mut before = "";
    for piece in tree.split("Word { value: \"") {
        // The delimiter of a here-document is no word, and neither is a body that is not expanded.
        if before.contains("requires_expansion: false") {
            skipped = 2;
        } else if before.contains("requires_expansion: true") {
            skipped = 1;
        }
        let first = before.is_empty();
        let named = before.ends_with("word_or_name: Some(");
        before = piece;
        if first || skipped > 0 {
            skipped = if first { 0 } else { skipped - 1 };
            continue;
        }
        let word = unquoted(piece);
        // It holds an assignment twice, as such and as a word.
        if word
            .split_once('=')
            .is_some_and(|(name, _)| !name.is_empty() && !name.contains(['$', '`', '"', '\'']))
        {
            continue;
        }
        let Ok(Ok(pieces)) =
            catch_unwind(|| brush_parser::word::parse(&word, &brush_parser::ParserOptions::default()))
        else {
            continue;
        };
        for inner in format!("{pieces:?}").split("CommandSubstitution(\"").skip(1) {
            brush_names(&unquoted(inner), names, depth + 1);
        }
        if named {
            names.push(word);
        }
    }
    Some(())
}

/// Scripts from pieces of the grammar, always the same.
struct Generator(u64);

impl Generator {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn command(&mut self, depth: usize) -> String {
        let kind = if depth > 3 { self.below(4) } else { self.below(22) };
        match kind {
            0 | 1 => format!("{} {} {}", self.name(), self.word(depth), self.word(depth)),
            2 => format!("{} {}", self.name(), self.word(depth)),
            3 => self.name(),
            4 => format!("{{ {}; }}", self.list(depth)),
            5 => format!("( {} )", self.list(depth)),
            6 => format!("if {}; then {}; else {}; fi", self.list(depth), self.list(depth), self.list(depth)),
            7 => format!("while {}; do {}; done", self.list(depth), self.list(depth)),
            8 => format!("for x in {} {}; do {}; done", self.word(depth), self.word(depth), self.list(depth)),
            9 => format!(
                "case {} in a|{}) {};; *) {};; esac",
                self.word(depth),
                self.word(depth),
                self.list(depth),
                self.list(depth)
            ),
            10 => format!("f() {{ {}; }}", self.list(depth)),
            11 => format!("[[ {} == {} && -n {} ]]", self.word(depth), self.word(depth), self.word(depth)),
            12 => format!("(( {} + 1 ))", self.expansion(depth)),
            13 => format!(
                "x={} y=({} {}) {}",
                self.word(depth),
                self.word(depth),
                self.word(depth),
                self.name()
            ),
            14 => format!("{} > {} 2>&1", self.command(depth + 1), self.word(depth)),
            15 => format!("{} <<< {}", self.name(), self.word(depth)),
            16 => format!("! {}", self.command(depth + 1)),
            17 => format!("{} | {}", self.command(depth + 1), self.command(depth + 1)),
            18 => format!("{} && {}", self.command(depth + 1), self.command(depth + 1)),
            19 => format!("for ((i=0;i<{};i++)); do {}; done", self.expansion(depth), self.list(depth)),
            20 => format!("declare -a x=({} {})", self.word(depth), self.word(depth)),
            _ => format!(
                "{} <<E\n{} {}\nE\n{}",
                self.name(),
                self.expansion(depth),
                self.expansion(depth),
                self.name()
            ),
        }
    }

    fn list(&mut self, depth: usize) -> String {
        let first = self.command(depth + 1);
        match self.below(3) {
            0 => first,
            1 => format!("{first}\n{}", self.command(depth + 1)),
            _ if first.ends_with('E') => first,
            _ => format!("{first}; {}", self.command(depth + 1)),
        }
    }

    fn name(&mut self) -> String {
        ["ls", "rm", "cat", "git", "cp", "make", "sed", "touch"][self.below(8)].to_owned()
    }

    fn word(&mut self, depth: usize) -> String {
        match self.below(9) {
            0 | 1 => "a".into(),
            2 => "'b c'".into(),
            3 => format!("\"d {} e\"", self.expansion(depth)),
            4 => "x*y".into(),
            5 => "\\$z".into(),
            6 => "$'q\\n'".into(),
            _ => self.expansion(depth),
        }
    }

    fn expansion(&mut self, depth: usize) -> String {
        let kind = if depth > 3 { self.below(3) } else { self.below(10) };
        match kind {
            0 => "$x".into(),
            1 => "${x}".into(),
            2 => "${#x}".into(),
            3 | 4 => format!("$({})", self.list(depth + 1)),
            5 => format!("`{}`", self.name()),
            6 => format!("${{x:-{}}}", self.expansion(depth + 1)),
            7 => format!("$((1 + {}))", self.expansion(depth + 1)),
            8 => format!("${{x#{}}}", self.expansion(depth + 1)),
            _ => format!("${{x/a/{}}}", self.expansion(depth + 1)),
        }
    }
}

#[test]
fn commands_that_other_parsers_see_are_in_our_tree() {
    // The other parsers panic often. What other tests of this process have to say is still said.
    let (here, usual) = (std::thread::current().id(), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() != here {
            usual(panic);
        }
    }));
    let deadline = Instant::now() + Duration::from_secs(10);
    let scratch = std::env::temp_dir();
    let mut generator = Generator(0x5EED);
    let generated = (0..4_000).map(|_| generator.command(0));
    let texts: Vec<String> = probes().into_iter().map(|(probe, _)| probe).chain(generated).collect();
    let mut compared = [0usize; 2];
    let mut refused = 0;
    let mut missing = Vec::new();
    for text in &texts {
        // A busy machine compares fewer; the order is always the same.
        if Instant::now() > deadline {
            break;
        }
        let ours = seen(text);
        if ours.error {
            refused += 1;
            continue;
        }
        let ours = counted(ours.names);
        for (which, theirs) in [("brush", brush(text)), ("shuck", shuck(text))] {
            let Some(theirs) = theirs else { continue };
            compared[usize::from(which == "shuck")] += 1;
            let lacks = theirs.iter().find(|(name, count)| ours.get(*name).is_none_or(|known| known < count));
            let Some((name, _)) = lacks else { continue };
            if !known(name, text) && bash_syntax(text, &scratch) != Bash::Rejects {
                missing.push(format!("{which} sees `{name}` in {text:?}"));
            }
        }
    }
    let _ = std::panic::take_hook();
    println!("compared with brush {}, with shuck {}; refused by us {refused}", compared[0], compared[1]);
    assert!(missing.is_empty(), "{} missing: {missing:#?}", missing.len());
    assert!(compared.iter().all(|count| *count > 500), "too few were compared: {compared:?}");
}

/// Differences where bash agrees with us, each with its reason. `hidden.rs` has run the same probes.
fn known(name: &str, text: &str) -> bool {
    // `time --` and `! time`: options and reserved words, taken for commands.
    let reserved = matches!(name, "--" | "time");
    // The delimiter of a here-document inside of a loop or after a joined line, taken for a command.
    let delimiter = name == "E" || text.contains("a\\\nE\n");
    // `\"` in backticks in double quotes is `"` for bash.
    let backticks = text.contains("\\\"; HIDDEN");
    // A subscript with a quoted bracket, which brush holds twice.
    let subscript = text.contains("[\"a]b\"]");
    // The name of a coprocess before `((`, and `time` after a bar, which is no reserved word there.
    let coprocess = text.starts_with("coproc X ((") || text.contains("| time -p");
    // A descriptor right before a joined line, which shuck takes for a command; bash runs what follows.
    let descriptor = name == "2" && text.starts_with("2\\\n>");
    // Aliases, which shuck expands.
    reserved || delimiter || backticks || subscript || coprocess || descriptor || text.contains("alias a=")
}
