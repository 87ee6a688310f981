//! Code on disk: scripts, and what the command has written itself before it runs it.

use std::path::Path;

use toolgate_model::{Access, Effect, Gap, Reach, base_name};

use super::Interpreter;
use super::text::{ANY, Flow, Text};
use super::walk::Outcome;
use crate::language::Language;

/// So much of a script is read.
const MAX_SCRIPT: usize = 64 * 1024;

impl<'t> Interpreter<'t, '_> {
    /// `$(< file)`: bash reads it itself.
    pub(super) fn quick_read(&mut self, list: &'t toolgate_shell::List<'t>) -> Option<Flow> {
        use toolgate_shell::{CommandKind, RedirectOperator, RedirectTarget};
        let [item] = list.items.as_slice() else { return None };
        let [command] = item.first.commands.as_slice() else { return None };
        let (true, CommandKind::Simple { assignments, words }) = (item.rest.is_empty(), &command.kind) else {
            return None;
        };
        let [redirect] = command.redirects.as_slice() else { return None };
        if !assignments.is_empty() || !words.is_empty() || redirect.operator != RedirectOperator::Read {
            return None;
        }
        let RedirectTarget::Word(word) = &redirect.target else { return None };
        let targets: Vec<Text> = self.fields(word).into_iter().flatten().collect();
        let [target] = targets.as_slice() else { return Some(Flow::Any) };
        self.touch(Access::Read, Reach::Exact, target);
        Some(self.content(target))
    }

    /// Runs a program by its path: a script that can be followed, or code that nobody can.
    pub(super) fn run_file(&mut self, name: &str, words: &[Text], outputs: &[String]) -> Outcome {
        let mut run = self.run_of(name, words, outputs);
        run.operands = words.iter().skip(1).map(|word| word.whole().map(str::to_owned)).collect();
        self.emit(Effect::Run(run));
        let path = Text::known(name);
        self.touch(Access::Read, Reach::Exact, &path);
        let text = self.script_text(&path);
        let arguments = words.get(1..).unwrap_or_default();
        let out = match text {
            Some(Flow::Text(text)) => match shebang(text.raw()) {
                Shebang::Shell => self.forked(|shell| shell.script_body(&path, &text, arguments)),
                Shebang::Other(interpreter) => {
                    self.unknown(Gap::Project, name);
                    let written =
                        self.one_place(&path).is_some_and(|place| self.state.written(&place).is_some());
                    if written {
                        self.inline(base_name(&interpreter), language_of(base_name(&interpreter)), &text);
                    }
                    Flow::Any
                }
                // No shebang: the shell that starts it reads it itself, if it is text at all.
                Shebang::None => self.forked(|shell| shell.script_body(&path, &text, arguments)),
            },
            Some(Flow::Built) => {
                self.unknown(Gap::Project, name);
                self.scan_written();
                Flow::Any
            }
            Some(_) => {
                // Written by the command itself, with content that cannot be told.
                self.unknown(Gap::ShellCode, name);
                Flow::Any
            }
            None => {
                self.absent_script(name);
                Flow::Any
            }
        };
        self.guess_paths(words);
        Outcome::of(out)
    }

    /// `bash x.sh`, `source x`
    pub(super) fn run_script(&mut self, path: &Text, arguments: &[Text]) -> Flow {
        if path.raw() == "-" || path.raw() == "/dev/stdin" {
            let stdin = self.streams.stdin().clone();
            return self.shell_input(&stdin, "standard input");
        }
        self.touch(Access::Read, Reach::Exact, path);
        if !path.is_known() && !matches!(self.places(path).as_slice(), [Some((_, Reach::Exact))]) {
            self.unknown(Gap::ShellCode, &path.shown());
            return Flow::Any;
        }
        let path = match self.places(path).as_slice() {
            [Some((place, Reach::Exact))] if !path.is_known() => Text::known(place),
            _ => path.clone(),
        };
        match self.script_text(&path) {
            Some(Flow::Text(text)) => self.script_body(&path, &text, arguments),
            Some(_) => {
                self.unknown(Gap::ShellCode, &path.shown());
                Flow::Any
            }
            None => {
                self.doubts.lose_variables();
                self.absent_script(&path.shown());
                Flow::Any
            }
        }
    }

    /// A script that cannot be read: one of the project, unless the command may have made it in a way that was not followed.
    fn absent_script(&mut self, name: &str) {
        let place = self.one_place(&Text::known(name));
        let there = place.as_deref().is_some_and(|place| self.scene.world.look(Path::new(place)).is_ok());
        let stream = name.starts_with("/dev/") || name.starts_with("/proc/");
        let gap =
            if stream || (self.doubts.has_lost_file() && !there) { Gap::ShellCode } else { Gap::Project };
        self.unknown(gap, name);
        self.scan_written();
    }

    /// Text that a shell reads from its standard input.
    pub(super) fn shell_input(&mut self, flow: &Flow, step: &str) -> Flow {
        match flow {
            Flow::Nothing => Flow::Nothing,
            Flow::Text(text) => self.text(text, step),
            Flow::Lines(_) | Flow::Any | Flow::Built => {
                self.unknown(Gap::ShellCode, step);
                Flow::Any
            }
        }
    }

    /// What a script holds. `None`: it is not there, too long, or no text.
    fn script_text(&self, path: &Text) -> Option<Flow> {
        if let Some(flow) = self.state.written(path.raw()) {
            return Some(flow.clone());
        }
        let place = self.one_place(path)?;
        let number = ["/dev/fd/", "/proc/self/fd/"]
            .iter()
            .find_map(|start| place.strip_prefix(start)?.parse::<u32>().ok());
        if let Some(number) = number {
            let found = self.state.descriptor(number);
            return Some(match (number, found) {
                (0, None) => self.streams.stdin().clone(),
                (_, Some(flow)) => flow.clone(),
                (_, None) => Flow::Any,
            });
        }
        if let Some(flow) = self.state.written(&place) {
            return Some(flow.clone());
        }
        let place = self.state.disk.through_links(&place).ok()?.into_iter().next().unwrap_or(place);
        if let Some(flow) = self.state.written(&place) {
            return Some(flow.clone());
        }
        let bytes = self.scene.world.read(Path::new(&place), MAX_SCRIPT).ok()?;
        self.believe_disk(&place);
        if bytes.len() >= MAX_SCRIPT || bytes.contains(&0) {
            return None;
        }
        Some(Flow::Text(Text::known(&String::from_utf8_lossy(&bytes))))
    }

    fn script_body(&mut self, path: &Text, text: &Text, arguments: &[Text]) -> Flow {
        let place = self.one_place(path).unwrap_or_else(|| path.shown());
        self.scripts.add_executed(&place);
        if self.scripts.is_following(&place) {
            self.unknown(Gap::ShellCode, &format!("{} runs itself", path.shown()));
            return Flow::Any;
        }
        if !self.may_follow() {
            return Flow::Any;
        }
        let Some(whole) = text.whole() else { return self.text(text, &path.shown()) };
        let positional = self
            .state
            .positional
            .replace(std::rc::Rc::new(arguments.iter().map(|argument| vec![argument.clone()]).collect()));
        let zero = std::mem::replace(&mut self.state.zero, vec![path.clone()]);
        let out = self.following(place, |shell| shell.script_lines(&path.shown(), whole));
        self.state.zero = zero;
        self.state.positional = positional;
        out
    }

    /// Walks a script item by item, so that each effect can show the line that it comes from.
    pub(super) fn script_lines(&mut self, name: &str, whole: &str) -> Flow {
        let Some(text) = self.paid_text(whole) else { return Flow::Any };
        let toolgate_shell::Parsed { list, error } = toolgate_shell::parse(text);
        let list = self.store.trees.alloc(list);
        let mut out = Flow::Nothing;
        let (mut number, mut counted) = (1, 0);
        for item in &list.items {
            if self.is_over() {
                self.spent(0);
                break;
            }
            let start = item.first.commands.first().map_or(0, |command| command.span.start as usize);
            number += text.get(counted..start).unwrap_or_default().matches('\n').count();
            counted = start;
            let line = first_line(text.get(start..).unwrap_or_default());
            let printed = self.in_step(&format!("{name}:{number}"), &line, |shell| shell.one_item(item));
            out = out.then(printed);
        }
        if let Some(error) = error {
            let number = 1 + text.get(..error.at as usize).unwrap_or_default().matches('\n').count();
            self.unknown(Gap::Syntax, &format!("{name}:{number}: {}", error.what));
        }
        out
    }

    /// A file that an interpreter of another language runs: project code, unless the command has just written it.
    pub(super) fn foreign_script(&mut self, program: &str, language: Language, path: &Text) {
        let written = self.one_place(path).and_then(|place| self.state.written(&place).cloned());
        let stream = ["/dev/fd/", "/proc/self/fd/"].iter().any(|start| path.raw().starts_with(start));
        let written = if stream { self.script_text(path) } else { written };
        if self.doubts.has_lost_file()
            && written.is_none()
            && self.one_place(path).is_none_or(|place| self.scene.world.look(Path::new(&place)).is_err())
        {
            self.unknown(Gap::Code, &format!("{program} {}", path.shown()));
        }
        match written.or_else(|| self.state.written(path.raw()).cloned()) {
            Some(Flow::Text(text)) => {
                // A script's modules are those beside it.
                let beside = self.one_place(path).and_then(|place| Some(place.rsplit_once('/')?.0.into()));
                if language == Language::Python && self.shadows_python(beside.as_slice()) {
                    self.unknown(Gap::Project, &format!("{program} {}", path.shown()));
                }
                self.inline(program, language, &text);
            }
            Some(_) => self.unknown(Gap::Code, &format!("{program} {}", path.shown())),
            None if path.raw() == "-" || path.raw() == "/dev/stdin" => {
                let stdin = self.streams.stdin().clone();
                self.code_input(program, language, &stdin);
            }
            None => self.unknown(Gap::Project, &format!("{program} {}", path.shown())),
        }
        self.scan_written();
    }

    /// Code that an interpreter reads from its standard input.
    pub(super) fn code_input(&mut self, program: &str, language: Language, flow: &Flow) {
        match flow {
            Flow::Nothing => {}
            Flow::Text(text) => self.inline(program, language, text),
            Flow::Lines(_) | Flow::Any | Flow::Built => {
                self.unknown(Gap::Code, &format!("{program} reads its code from standard input"));
            }
        }
    }

    /// Project code may load what the command has just written: such files are looked at as code.
    pub(super) fn scan_written(&mut self) {
        self.scanning(Self::scan_files);
    }

    fn scan_files(&mut self) {
        let files: Vec<_> =
            self.state.disk.files().iter().filter(|(path, _)| !path.starts_with("/dev/")).cloned().collect();
        for (path, flow) in files {
            let ending =
                path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
            if let (
                Flow::Text(text),
                None
                | Some(
                    "ini" | "yml" | "yaml" | "cfg" | "ninja" | "build" | "cmake" | "txt" | "gemspec"
                    | "npmrc" | "sh",
                ),
            ) = (&flow, ending)
            {
                self.guess_paths(&[Text::known(&path), text.clone()]);
            }
            let language = match ending {
                Some("py" | "pth") => Language::Python,
                Some("js" | "mjs" | "cjs" | "ts" | "json") => Language::Node,
                Some("rb") => Language::Ruby,
                Some("pl" | "pm") => Language::Perl,
                Some("php") => Language::Php,
                Some("lua") => Language::Lua,
                Some("rs" | "go" | "c" | "mk" | "toml" | "gradle") => Language::Other,
                _ => continue,
            };
            if let Flow::Text(text) = &flow
                && let Some(code) = text.whole()
            {
                let deeds = crate::code::scan(language, code);
                let name = base_name(&path).to_owned();
                self.deeds(&name, deeds);
            }
        }
    }

    /// A text with holes, as recipes give it.
    pub(super) fn recipe_text(&mut self, name: &str, line: u32, text: &str) -> Flow {
        let shown = Text::marked(text.to_owned());
        let step = format!("{name}:{line}");
        if !text.contains(ANY) {
            let line = first_line(text);
            return self.in_step(&step, &line, |shell| {
                let list = shell.parsed(text);
                shell.list(list)
            });
        }
        // What make fills in is the project's own: the words around it are judged, the hole itself is project code.
        let filled = text.replace(ANY, "_");
        self.unknown(Gap::Project, &shown.shown());
        let line = first_line(&shown.shown());
        self.in_step(&step, &line, |shell| match shell.parsed_quietly(&filled) {
            Some(list) => shell.list(list),
            None => Flow::Any,
        })
    }
}

/// The line that a text begins with, as it is shown: each effect keeps its own, and a script may be one long line.
fn first_line(text: &str) -> String {
    const SHOWN: usize = 200;
    let end = text.char_indices().find(|(at, c)| *c == '\n' || *at >= SHOWN).map(|(at, _)| at);
    text.get(..end.unwrap_or(text.len())).unwrap_or_default().trim().to_owned()
}

enum Shebang {
    Shell,
    Other(String),
    None,
}

fn shebang(text: &str) -> Shebang {
    let Some(line) = text.strip_prefix("#!").and_then(|rest| rest.lines().next()) else {
        return Shebang::None;
    };
    let mut words = line.split_whitespace();
    let mut program = words.next().unwrap_or_default();
    if base_name(program) == "env" {
        program = words.find(|word| !word.starts_with('-') && !word.contains('=')).unwrap_or_default();
    }
    match base_name(program) {
        "sh" | "bash" | "dash" | "ash" | "zsh" | "ksh" | "mksh" => Shebang::Shell,
        other => Shebang::Other(other.to_owned()),
    }
}

/// The language that an interpreter speaks.
pub(super) fn language_of(interpreter: &str) -> Language {
    match interpreter.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        "python" | "pypy" => Language::Python,
        "node" | "nodejs" | "deno" | "bun" | "tsx" | "ts-node" => Language::Node,
        "perl" => Language::Perl,
        "ruby" => Language::Ruby,
        "php" => Language::Php,
        "lua" | "luajit" => Language::Lua,
        _ => Language::Other,
    }
}
