//! What programs print, where that can be worked out: the pieces from which commands build names and code.
//!
//! Against whom: `$(printf 'r\x6d')`, `echo cm0gLXJmIC8= | base64 -d | sh`, `rev <<< 'mr'`.

use toolgate_model::{NodeKind, Reach, Resolver};

use super::Interpreter;
use super::apply::{access_of, slot_text};
use super::evaluated::begins_code;
use super::text::{
    ANY, CLASS, Choices, Flow, INNER, NAME, NUMBER, ONE, OWN, PIECE, STAR, Text, bounded, is_mark,
    solid_number, spaced_as_is,
};
use crate::spec::{Output, Reading, WordKind};

impl Interpreter<'_, '_> {
    pub(super) fn output_of(&mut self, program: &str, reading: &Reading, words: &[Text]) -> Flow {
        if is_count(program, reading, words.get(1..).unwrap_or_default()) {
            return Flow::Lines(vec![Text::mark(NUMBER)]);
        }
        if counts_lines(program, reading) {
            return counted(reading, words.get(1..).unwrap_or_default());
        }
        let arguments = words.get(1..).unwrap_or_default();
        let operand = |at: usize| reading.operands.get(at).and_then(|at| arguments.get(*at));
        match program {
            "head" | "tail" if has(reading, "-c") || has(reading, "--bytes") => Flow::Any,
            "cat" => self.input_of(reading, arguments),
            "tee" => self.tee_output(reading, arguments),
            "grep" | "egrep" | "fgrep" if has(reading, "--label") => Flow::Any,
            "grep" | "egrep" | "fgrep" if lists_files(reading) => {
                self.paths_of(reading, arguments, has(reading, "-r") && !has(reading, "-R"))
            }
            "grep" | "egrep" | "fgrep" if rewrites(reading) => Flow::Any,
            // They print the names of their files, too, where they have several; and `shuf` its words.
            "grep" | "egrep" | "fgrep" | "head" | "tail" | "more" if has_several_files(reading) => Flow::Any,
            "shuf" if !reading.operands.is_empty() || arguments.len() > 2 => Flow::Any,
            // Some of the lines, in some order.
            "tac" | "head" | "tail" | "sort" | "uniq" | "grep" | "egrep" | "fgrep" | "shuf" | "less"
            | "more" => self
                .input_of(reading, arguments)
                .lines()
                .map_or(Flow::Any, |lines| if lines.is_empty() { Flow::Nothing } else { Flow::Lines(lines) }),
            "basename" if !reading.options.is_empty() => Flow::Any,
            "basename" => {
                // The last name of what is not known is not known either.
                if operand(0).is_some_and(Text::has_any) || operand(1).is_some_and(Text::has_any) {
                    self.draws_unknown();
                }
                base_name_of(operand(0), operand(1))
            }
            "date" => match operand(0).and_then(Text::whole) {
                // A format that asks for nothing is the text itself.
                Some(format) if format.starts_with('+') && !format.contains('%') => {
                    Flow::line(&Text::known(format.trim_start_matches('+')))
                }
                _ => reading.output.flow(),
            },
            "dirname" => match operand(0) {
                Some(path) if !path.has_any() && operand(1).is_none() => Flow::line(&directory(path)),
                _ => Flow::Any,
            },
            "realpath" | "readlink" => match operand(0) {
                Some(path) if operand(1).is_none() => self.led_to(program, reading, arguments, path),
                _ => Flow::Any,
            },
            "mktemp" => self.made_temporary(reading, arguments),
            "tempfile" if !has(reading, "-d") && !has(reading, "-n") => {
                let base = self.scene.tmp.unwrap_or("/tmp");
                let path = Text::marked(format!("{base}/file{NAME}"));
                self.touch(toolgate_model::Access::Write, Reach::Exact, &path);
                Flow::line(&path)
            }
            "rev" => computed(&self.input_of(reading, arguments), |text| {
                Some(text.lines().map(|line| line.chars().rev().collect::<String>() + "\n").collect())
            }),
            "base64" | "basenc" if has(reading, "-d") || has(reading, "--decode") => {
                computed(&self.input_of(reading, arguments), decode_base64)
            }
            "xxd" if has(reading, "-r") => computed(&self.input_of(reading, arguments), decode_hex),
            "tr" => renamed(self.streams.stdin(), reading, operand(0), operand(1)).unwrap_or_else(|| {
                computed(self.streams.stdin(), |text| translated(text, reading, operand(0), operand(1)))
            }),
            "sed" => self.sed_output(reading, arguments),
            "cut" | "awk" | "gawk" | "mawk" | "jq" | "column" | "fmt" | "fold" | "nl" => Flow::Any,
            "which" => match operand(0).and_then(Text::whole) {
                Some(name) if !name.contains('/') => Flow::line(&Text::known(&format!("/usr/bin/{name}"))),
                _ => Flow::Any,
            },
            "go" if reading.sub.first() == Some(&"env") => self.go_setting(operand(0)),
            "ls" => self.listing(reading, arguments),
            _ => match reading.output {
                Output::Paths => self.paths_of(reading, arguments, program == "rg" && !has(reading, "-L")),
                Output::Input => {
                    let flow = self.input_of(reading, arguments);
                    flow.lines().map_or(Flow::Any, Flow::Lines)
                }
                other => other.flow(),
            },
        }
    }

    /// What `realpath` and `readlink` print of one path: where it really leads, or what is written in the link.
    fn led_to(&self, program: &str, reading: &Reading, arguments: &[Text], path: &Text) -> Flow {
        let has_only = |letters: &[&str]| {
            reading.options.iter().all(|given| letters.contains(&given.name))
                && reading
                    .plain
                    .iter()
                    .all(|at| arguments.get(*at).is_some_and(|word| letters.contains(&word.raw())))
        };
        let Some(whole) = path.whole() else { return Flow::Any };
        let place = match self.state.cwd.as_slice() {
            _ if whole.starts_with('/') => whole.to_owned(),
            [cwd] if !cwd.contains(is_mark) => format!("{cwd}/{whole}"),
            _ => return Flow::Any,
        };
        self.believe_disk(&place);
        let is_asked = !(reading.options.is_empty() && reading.plain.is_empty());
        if program == "readlink" && !is_asked {
            return match self.scene.world.look(std::path::Path::new(&place)).map(|node| node.kind) {
                Ok(NodeKind::Link(target)) if self.state.disk.link_target(&place).is_none() => {
                    target.to_str().map_or(Flow::Any, |target| Flow::line(&Text::known(target)))
                }
                Ok(NodeKind::File | NodeKind::Directory | NodeKind::Special)
                    if self.state.disk.link_target(&place).is_none() =>
                {
                    Flow::Nothing
                }
                _ => Flow::Any,
            };
        }
        if !has_only(&["-e", "-f", "-m", "-q", "--canonicalize", "--canonicalize-existing"]) {
            return Flow::Any;
        }
        let leads = !self.state.disk.through_links(&place).is_ok_and(|leads| leads.is_empty());
        match Resolver::new(self.scene.world, None, None).walk(std::path::PathBuf::from(&place)) {
            Ok(found) if !leads => {
                found.physical.to_str().map_or(Flow::Any, |place| Flow::line(&Text::known(place)))
            }
            _ => Flow::Any,
        }
    }

    /// It prints what it writes.
    fn tee_output(&mut self, reading: &Reading, arguments: &[Text]) -> Flow {
        let flow = self.input_of(reading, arguments);
        for (kind, slot) in &reading.uses {
            if !matches!(kind, WordKind::Append | WordKind::Write) {
                continue;
            }
            match self.one_place(&slot_text(arguments, slot)) {
                Some(place) => self.state.write(&place, flow.clone()),
                None => self.doubts.change_files(),
            }
        }
        flow
    }

    /// `go env NAME`
    fn go_setting(&self, name: Option<&Text>) -> Flow {
        match name.and_then(Text::whole) {
            Some("GOMODCACHE") => Flow::line(&self.tilde("~/go/pkg/mod")),
            Some("GOPATH") => Flow::line(&self.tilde("~/go")),
            Some("GOROOT") => Flow::line(&Text::known("/usr/local/go")),
            Some("GOOS" | "GOARCH" | "GOVERSION") => Flow::Lines(vec![Text::mark(NAME)]),
            _ => Flow::Any,
        }
    }

    /// `ls` prints names of a directory, or the operands themselves.
    fn listing(&mut self, reading: &Reading, arguments: &[Text]) -> Flow {
        let shows_more = arguments.iter().map(Text::raw).any(|word| {
            word.starts_with('-')
                && !word.starts_with("--")
                && word.contains(['a', 'f', 'l', 'R', 'i', 's', 'Q', 'g', 'o'])
                || word.starts_with("--a")
        });
        if shows_more {
            return Flow::Any;
        }
        let operands: Vec<Text> =
            reading.operands.iter().filter_map(|at| arguments.get(*at)).cloned().collect();
        if self.lists_odd_names(&operands) {
            return Flow::Any;
        }
        // What they name, and what lies in them.
        let here = vec![Text::known(".")];
        for path in if operands.is_empty() { &here } else { &operands } {
            let mut inside = path.clone();
            inside.push_raw("/");
            inside.push_mark(STAR);
            self.draws(path);
            self.draws(&inside);
        }
        match self.paths_below(reading, arguments, false) {
            Flow::Lines(mut lines) if !reading.operands.is_empty() => {
                lines.push(Text::mark(NAME));
                Flow::Lines(bounded(lines))
            }
            _ => Flow::Lines(vec![Text::mark(NAME)]),
        }
    }

    /// What a filter reads: its files, or standard input.
    pub(super) fn input_of(&mut self, reading: &Reading, arguments: &[Text]) -> Flow {
        let mut flow: Option<Flow> = None;
        for (kind, slot) in &reading.uses {
            if !matches!(kind, WordKind::Read | WordKind::ReadTree) {
                continue;
            }
            let text = slot_text(arguments, slot);
            let next = if text.raw() == "-" { self.streams.stdin().clone() } else { self.content(&text) };
            flow = Some(match flow {
                Some(flow) => flow.then(next),
                None => next,
            });
        }
        flow.unwrap_or_else(|| self.streams.stdin().clone())
    }

    /// What a file holds: written by the command itself, or on the disk if it is small.
    pub(super) fn content(&self, path: &Text) -> Flow {
        const SMALL: usize = 4096;
        let Some(place) = self.one_place(path) else { return Flow::Any };
        let written = self.state.written(&place).or_else(|| self.state.written(path.raw()));
        if let Some(flow) = written {
            return flow.clone();
        }
        if place.starts_with("/dev/") || place.starts_with("/proc/") {
            return if place == "/dev/stdin" { self.streams.stdin().clone() } else { Flow::Any };
        }
        if !self.doubts.believes_file(&place) {
            return Flow::Any;
        }
        let bytes = self.scene.world.read(std::path::Path::new(&place), SMALL);
        match bytes.ok().filter(|bytes| bytes.len() < SMALL).and_then(|bytes| String::from_utf8(bytes).ok()) {
            Some(text) => {
                self.believe_disk(&place);
                Flow::Text(Text::known(&text))
            }
            None => Flow::Any,
        }
    }

    /// `find . -name x`, `ls dir`, `grep -l`: paths at or below the operands. Where no links are followed below these, and only
    /// regular files are printed, they are `solid`.
    fn paths_below(&mut self, reading: &Reading, arguments: &[Text], solid: bool) -> Flow {
        let mut lines: Choices = Vec::new();
        for (kind, slot) in &reading.uses {
            if access_of(*kind).is_none() {
                continue;
            }
            let text = slot_text(arguments, slot);
            if text.has_any() {
                return Flow::Any;
            }
            let mut below = Text::marked(text.raw().trim_end_matches('/').to_owned());
            if text.raw() == "/" {
                below = Text::known("/");
            }
            below.push_raw("/");
            below.push_mark(INNER);
            if let Some(mark) = self.solid_below(&text).filter(|_| solid) {
                below.push_mark(mark);
            }
            lines.push(below);
        }
        if lines.is_empty() {
            let mark = self.solid_below(&Text::known(".")).filter(|_| solid);
            lines.push(Text::marked(std::iter::once(INNER).chain(mark).collect()));
        }
        Flow::Lines(bounded(lines))
    }

    /// The same, which come to where they may be evaluated.
    fn paths_of(&mut self, reading: &Reading, arguments: &[Text], solid: bool) -> Flow {
        let printed = self.paths_below(reading, arguments, solid);
        self.draws_printed(&printed);
        printed
    }

    /// A new file or directory in the temporary directory, or where the template says.
    fn made_temporary(&mut self, reading: &Reading, arguments: &[Text]) -> Flow {
        let base = self.scene.tmp.unwrap_or("/tmp").to_owned();
        let template = reading.operands.first().and_then(|at| arguments.get(*at)).cloned();
        let directory = reading
            .options
            .iter()
            .find(|given| matches!(given.name, "-p" | "--tmpdir"))
            .and_then(|given| given.value)
            .map(|slot| slot_text(arguments, &slot));
        let in_temporary = reading.options.iter().any(|given| matches!(given.name, "-t" | "-p" | "--tmpdir"));
        let path = match (template, directory) {
            (Some(template), Some(directory)) => {
                Text::marked(format!("{}/{}", directory.raw(), template.raw()))
            }
            (Some(template), None) if in_temporary => Text::marked(format!("{base}/{}", template.raw())),
            (Some(template), None) => template,
            (None, Some(directory)) => Text::marked(format!("{}/tmp.{NAME}", directory.raw())),
            (None, None) => Text::marked(format!("{base}/tmp.{NAME}")),
        };
        // The letters that mktemp fills in.
        let path = Text::marked(
            path.raw()
                .replace("XXX", &NAME.to_string())
                .replace(&format!("{NAME}X"), &NAME.to_string())
                .replace(&format!("{NAME}X"), &NAME.to_string())
                .replace(&format!("{NAME}{NAME}{NAME}"), &NAME.to_string())
                .replace(&format!("{NAME}{NAME}"), &NAME.to_string()),
        );
        self.touch(toolgate_model::Access::Write, Reach::Exact, &path);
        if has(reading, "-d") && !has(reading, "-u") {
            // As the directory is called once somebody works in it.
            self.state.disk.make_directory(&path.shown());
            if path.raw().ends_with(NAME) && path.raw().starts_with('/') {
                return Flow::line(&Text::marked(format!("{}{OWN}", path.raw())));
            }
        }
        Flow::line(&path)
    }

    /// A lone `s/a/b/` over plain text; anything else that sed prints is not worked out.
    fn sed_output(&mut self, reading: &Reading, arguments: &[Text]) -> Flow {
        let script = reading
            .uses
            .iter()
            .find(|(kind, _)| *kind == WordKind::Sed)
            .map(|(_, slot)| slot_text(arguments, slot));
        let input = self.input_of(reading, arguments);
        let prints_lines = script.as_ref().and_then(Text::whole).is_some_and(|script| {
            script.ends_with('p')
                && script.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | 'p' | '$'))
        });
        if prints_lines && has(reading, "-n") {
            return input.lines().map_or(Flow::Any, Flow::Lines);
        }
        let scripts = reading.uses.iter().filter(|(kind, _)| *kind == WordKind::Sed).count();
        if scripts != 1 || has(reading, "-n") || has(reading, "-f") || has(reading, "-z") {
            return Flow::Any;
        }
        let Some(script) = script.as_ref().and_then(Text::whole) else { return Flow::Any };
        computed(&input, |text| {
            let rest = script.strip_prefix('s')?;
            let delimiter = rest.chars().next()?;
            let mut pieces = rest.get(delimiter.len_utf8()..)?.split(delimiter);
            let (from, to, flags) = (pieces.next()?, pieces.next()?, pieces.next()?);
            let plain = |text: &str| !text.contains(['\\', '.', '*', '[', '^', '$', '&', '+', '?', '(', '|']);
            if pieces.next().is_some() || from.is_empty() || !plain(from) || !plain(to) {
                return None;
            }
            match flags {
                "g" => Some(text.replace(from, to)),
                "" => Some(text.lines().map(|line| line.replacen(from, to, 1) + "\n").collect()),
                _ => None,
            }
        })
    }
}

fn has(reading: &Reading, option: &str) -> bool {
    reading.options.iter().any(|given| given.name == option)
}

/// Whether a program prints one number for each thing that it counts, and nothing else.
fn is_count(program: &str, reading: &Reading, arguments: &[Text]) -> bool {
    const LENGTHS: [&str; 9] = ["-l", "-c", "-w", "-m", "-L", "--lines", "--bytes", "--chars", "--words"];
    let words: Vec<&str> = arguments.iter().map(Text::raw).collect();
    let operand =
        |at: usize| reading.operands.get(at).and_then(|at| arguments.get(*at)).and_then(Text::whole);
    match program {
        "wc" | "gwc" => matches!(words.as_slice(), [only] if LENGTHS.contains(only)),
        "nproc" | "gnproc" => true,
        "id" => matches!(words.as_slice(), ["-u" | "-g" | "-ur" | "-gr" | "--user" | "--group", ..]),
        "seq" | "gseq" => {
            reading.options.is_empty()
                && arguments.iter().all(|word| word.raw().chars().all(|c| c == NUMBER || c.is_ascii_digit()))
        }
        "stat" | "gstat" => match words.as_slice() {
            [option, format, ..] if matches!(*option, "-c" | "--printf") => {
                is_number_format(format, "sYZXWahiugbBdo")
            }
            [option, ..] => option
                .strip_prefix("-c")
                .or_else(|| option.strip_prefix("--format="))
                .is_some_and(|format| is_number_format(format, "sYZXWahiugbBdo")),
            [] => false,
        },
        "date" | "gdate" => operand(0).is_some_and(|format| {
            format.strip_prefix('+').is_some_and(|format| is_number_format(format, "sYmdHMSjNuwVGyCIgU"))
        }),
        // One that is not set is not there.
        "expr" | "gexpr" => {
            let is_number = |word: &&str| word.chars().all(|c| c == NUMBER || c.is_ascii_digit());
            words.len() <= 3
                && words.last().is_some_and(is_number)
                && words.iter().all(|word| is_number(word) || matches!(*word, "+" | "-" | "*" | "/" | "%"))
        }
        _ => false,
    }
}

/// Whether it is a `grep -c` that prints nothing but counts, and names where there are several files.
fn counts_lines(program: &str, reading: &Reading) -> bool {
    const OTHERS: [&str; 9] = ["-i", "-v", "-w", "-x", "-E", "-F", "-P", "-e", "-s"];
    matches!(program, "grep" | "egrep" | "fgrep")
        && (has(reading, "-c") || has(reading, "--count"))
        && reading
            .options
            .iter()
            .all(|given| matches!(given.name, "-c" | "--count") || OTHERS.contains(&given.name))
}

/// `grep -c`: a number, behind the name of the file where it has several.
fn counted(reading: &Reading, arguments: &[Text]) -> Flow {
    let files: Vec<Text> = reading
        .uses
        .iter()
        .filter(|(kind, _)| *kind == WordKind::Read)
        .map(|(_, slot)| slot_text(arguments, slot))
        .collect();
    let mut lines = vec![Text::mark(NUMBER)];
    if files.len() > 1 || files.iter().any(|file| file.raw().contains([STAR, ONE, CLASS])) {
        lines.extend(files.iter().map(|file| Text::marked(format!("{}:{NUMBER}", file.raw()))));
    }
    if files.iter().any(Text::has_any) { Flow::Any } else { Flow::Lines(bounded(lines)) }
}

/// Whether a format is nothing but conversions of these letters.
fn is_number_format(format: &str, letters: &str) -> bool {
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' || !chars.next().is_some_and(|c| letters.contains(c)) {
            return false;
        }
    }
    !format.is_empty()
}

fn lists_files(reading: &Reading) -> bool {
    has(reading, "-l")
        || has(reading, "-L")
        || has(reading, "--files-with-matches")
        || has(reading, "--files-without-match")
}

fn has_several_files(reading: &Reading) -> bool {
    reading.uses.iter().filter(|(kind, _)| *kind == WordKind::Read).count() > 1
}

/// Options by which grep prints something else than lines of its input.
fn rewrites(reading: &Reading) -> bool {
    ["-n", "-H", "-c", "-o", "-b", "--line-number", "--only-matching", "-A", "-B", "-C"]
        .iter()
        .any(|option| has(reading, option))
}

/// The last name of a path that leads down from what is known: the path may end there, and that may be `..`.
pub(super) fn last_name(path: &Text) -> Text {
    let known = path.raw().split(INNER).next().unwrap_or_default().trim_end_matches('/');
    let last = known.rsplit('/').next().unwrap_or_default();
    Text::mark(if last == ".." || last.contains([PIECE, ANY]) { PIECE } else { NAME })
}

/// `basename path ending`
fn base_name_of(path: Option<&Text>, ending: Option<&Text>) -> Flow {
    let piece = || Flow::Lines(vec![Text::mark(PIECE)]);
    match path {
        Some(path) if path.has_any() => piece(),
        // Without its ending a name may be `..`.
        Some(path) if path.raw().contains(INNER) => match ending {
            Some(_) => piece(),
            None => Flow::Lines(vec![last_name(path)]),
        },
        Some(path) => {
            let name = path.raw().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let ending = ending.map(Text::raw).unwrap_or_default();
            match name.strip_suffix(ending).filter(|_| !ending.is_empty()) {
                Some(rest) if rest.contains(is_mark) => piece(),
                _ if ending.contains(is_mark) => piece(),
                rest => Flow::line(&Text::marked(rest.unwrap_or(name).to_owned())),
            }
        }
        None => Flow::Nothing,
    }
}

/// What `tr` makes of a text.
fn translated(text: &str, reading: &Reading, from: Option<&Text>, to: Option<&Text>) -> Option<String> {
    let from = set_of(from?.unglobbed().whole()?)?;
    if ["-c", "-s", "-t"].iter().any(|option| has(reading, option)) {
        return None;
    }
    if has(reading, "-d") {
        return Some(text.chars().filter(|c| !from.contains(c)).collect());
    }
    let to = set_of(to?.unglobbed().whole()?)?;
    let swap = |c: char| match from.iter().rposition(|from| *from == c) {
        Some(at) => to.get(at).or(to.last()).copied().unwrap_or(c),
        None => c,
    };
    Some(text.chars().map(swap).collect())
}

/// `tr` over names of which not all is known: a name stays one, and a path that leads down does, as long as no dot and no slash
/// comes of it.
fn renamed(input: &Flow, reading: &Reading, from: Option<&Text>, to: Option<&Text>) -> Option<Flow> {
    if has(reading, "-d") {
        let is_number = |c: char| c == NUMBER || c.is_ascii_digit() || c.is_whitespace();
        let are_numbers = |lines: &Choices| lines.iter().all(|line| line.raw().chars().all(is_number));
        return input.lines().filter(are_numbers).map(|_| Flow::Lines(vec![Text::mark(NUMBER)]));
    }
    let made = set_of(to?.unglobbed().whole()?)?;
    if made.is_empty() || made.iter().any(|c| matches!(c, '/' | '.') || begins_code(*c)) {
        return None;
    }
    let one = |text: &Text| {
        let (mut out, mut known) = (String::new(), String::new());
        for c in text.raw().chars().filter(|c| solid_number(*c).is_none()) {
            match c {
                NAME | NUMBER | INNER => {
                    out.push_str(&translated(&known, reading, from, to)?);
                    known.clear();
                    out.push(if c == INNER { INNER } else { NAME });
                }
                c if is_mark(c) => return None,
                c => known.push(c),
            }
        }
        out.push_str(&translated(&known, reading, from, to)?);
        Some(Text::marked(out))
    };
    match input {
        Flow::Text(text) if text.raw().contains(is_mark) => one(text).map(Flow::Text),
        Flow::Lines(lines) => lines.iter().map(one).collect::<Option<Vec<Text>>>().map(Flow::Lines),
        _ => None,
    }
}

fn directory(path: &Text) -> Text {
    let raw = path.raw().trim_end_matches('/');
    match raw.rsplit_once('/') {
        // What is above a path that leads down is still within.
        Some((above, last)) if last.contains(INNER) => Text::marked(format!("{above}/{INNER}")),
        Some(("", _)) => Text::known("/"),
        Some((above, _)) => Text::marked(above.to_owned()),
        None if raw.contains(INNER) => Text::mark(INNER),
        None => Text::known("."),
    }
}

/// A flow through a function of known text.
fn computed(input: &Flow, change: impl FnOnce(&str) -> Option<String>) -> Flow {
    match input.whole().and_then(change) {
        Some(text) => Flow::Text(Text::known(&text)),
        None => Flow::Any,
    }
}

pub(super) fn echo(arguments: &[Text]) -> Flow {
    let mut escapes = false;
    let mut newline = true;
    let mut rest = arguments;
    while let Some((first, behind)) = rest.split_first() {
        match first.raw() {
            "-n" => newline = false,
            "-e" => escapes = true,
            "-E" => escapes = false,
            "-ne" | "-en" => (newline, escapes) = (false, true),
            _ => break,
        }
        rest = behind;
    }
    let mut text = spaced_as_is(rest);
    if escapes {
        text = unescaped(&text, true);
    }
    if newline {
        text.push_raw("\n");
    }
    Flow::Text(text)
}

/// `printf FORMAT ARGS`, the format used again while there are arguments.
pub(super) fn printf(arguments: &[Text]) -> Flow {
    let Some((format, mut rest)) = arguments.split_first() else { return Flow::Nothing };
    let Some(format) = format.whole() else { return Flow::Any };
    // Backslashes of the format are read first, those of arguments only by `%b`.
    let Some(format) = unescaped(&Text::known(format), false).whole().map(str::to_owned) else {
        return Flow::Any;
    };
    let mut out = Text::default();
    for round in 0.. {
        if round == 64 {
            return Flow::Any;
        }
        let before = rest.len();
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push_raw(c.encode_utf8(&mut [0; 4]));
                continue;
            }
            let mut plain = true;
            let conversion = loop {
                match chars.next() {
                    Some(c) if c.is_ascii_alphabetic() || c == '%' => break Some(c),
                    Some('-' | '0'..='9' | '.' | '+' | ' ' | '#' | '*') => plain = false,
                    _ => break None,
                }
            };
            if conversion == Some('%') {
                out.push_raw("%");
                continue;
            }
            let argument = match rest.split_first() {
                // Names that a pattern matches are printed one by one.
                Some((first, behind)) if plain && conversion == Some('s') => {
                    rest = behind;
                    first.clone()
                }
                Some((first, behind)) => {
                    rest = behind;
                    first.unglobbed()
                }
                None => Text::default(),
            };
            match conversion {
                Some('s') if plain => out.push(&argument),
                Some('b') if plain => out.push(&unescaped(&argument, true)),
                Some('d' | 'i' | 'u')
                    if plain && argument.whole().is_some_and(|text| text.parse::<u32>().is_ok()) =>
                {
                    out.push(&argument);
                }
                Some('d' | 'i' | 'u' | 'x' | 'X' | 'o') => out.push_mark(super::text::NUMBER),
                _ => out.push(&Text::any()),
            }
        }
        if rest.is_empty() || rest.len() == before {
            break;
        }
    }
    Flow::Text(out)
}

/// Backslashes as `echo -e` and `printf` read them.
fn unescaped(text: &Text, echo: bool) -> Text {
    if !text.raw().contains('\\') {
        return text.clone();
    }
    let mut out: Vec<u8> = Vec::new();
    let chars: Vec<char> = text.raw().chars().collect();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        at += 1;
        let escaped = if c == '\\' { chars.get(at).copied() } else { None };
        let Some(escaped) = escaped else {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        };
        at += 1;
        match escaped {
            'n' => out.push(b'\n'),
            't' => out.push(b'\t'),
            'r' => out.push(b'\r'),
            'a' => out.push(7),
            'b' => out.push(8),
            'e' | 'E' => out.push(27),
            'f' => out.push(12),
            'v' => out.push(11),
            'c' => break,
            '\\' => out.push(b'\\'),
            'x' => {
                let (value, next) = number(&chars, at, 2, 16);
                out.push(value.to_le_bytes().first().copied().unwrap_or_default());
                at = next;
            }
            'u' | 'U' => {
                let (value, next) = number(&chars, at, if escaped == 'u' { 4 } else { 8 }, 16);
                let c = char::from_u32(value).unwrap_or(super::text::ANY);
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                at = next;
            }
            '"' if !echo => out.push(b'"'),
            // `echo -e` wants the zero, `printf` takes three digits.
            '1'..='7' if echo => {
                out.push(b'\\');
                out.extend_from_slice(escaped.encode_utf8(&mut [0; 4]).as_bytes());
            }
            '0'..='7' => {
                let (value, next) = number(&chars, at - 1, if echo { 4 } else { 3 }, 8);
                out.push(value.to_le_bytes().first().copied().unwrap_or_default());
                at = next;
            }
            other => {
                out.push(b'\\');
                out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
    Text::marked(String::from_utf8_lossy(&out).into_owned())
}

/// At most so many digits, and where they end.
fn number(chars: &[char], from: usize, most: usize, radix: u32) -> (u32, usize) {
    let mut value: u32 = 0;
    let mut at = from;
    while at < from + most
        && let Some(digit) = chars.get(at).and_then(|c| c.to_digit(radix))
    {
        value = value.wrapping_mul(radix).wrapping_add(digit);
        at += 1;
    }
    (value, at)
}

fn decode_base64(text: &str) -> Option<String> {
    let mut out = Vec::new();
    let (mut bits, mut count) = (0_u32, 0_u32);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from((bits >> count) & 0xff).ok()?);
        }
    }
    String::from_utf8(out).ok()
}

fn decode_hex(text: &str) -> Option<String> {
    let digits: Vec<u32> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let bytes = digits.chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    });
    String::from_utf8(bytes.collect::<Option<_>>()?).ok()
}

/// `a-z`, `[:lower:]` and plain characters of `tr`.
fn set_of(text: &str) -> Option<Vec<char>> {
    if text.contains(is_mark) || text.contains('\\') {
        return None;
    }
    match text {
        "[:lower:]" => return Some(('a'..='z').collect()),
        "[:upper:]" => return Some(('A'..='Z').collect()),
        _ if text.contains("[:") => return None,
        _ => {}
    }
    let chars: Vec<char> = text.chars().collect();
    let mut set = Vec::new();
    let mut at = 0;
    while let Some(c) = chars.get(at) {
        match (chars.get(at + 1), chars.get(at + 2)) {
            (Some('-'), Some(last)) => {
                set.extend(*c..=*last);
                at += 3;
            }
            _ => {
                set.push(*c);
                at += 1;
            }
        }
    }
    Some(set)
}
