//! Programs of which a table cannot say it all: those that run others, read code, or make what later parts rely on.

use std::rc::Rc;

use toolgate_model::{Access, Effect, Gap, Reach, patched};

use super::follow::language_of;
use super::run::slot_text;
use super::text::{ANY, Flow, INNER, Text, is_mark};
use super::walk::Outcome;
use super::{Interpreter, git, lists};
use crate::recipes::{self, Found};
use crate::spec::{Kind, Language, Reading};

/// Whether a directory holds the system's own programs.
pub(super) fn is_system_directory(directory: &str) -> bool {
    ["/bin", "/sbin", "/usr", "/snap", "/opt", "/lib"]
        .iter()
        .any(|top| directory.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Runs a program that needs more than its spec; `None` leaves it to the spec.
#[expect(clippy::too_many_lines, reason = "one arm a program")]
pub(super) fn handler(
    shell: &mut Interpreter<'_, '_>,
    program: &str,
    reading: &Reading,
    words: &[Text],
) -> Option<Outcome> {
    let arguments = words.get(1..).unwrap_or_default();
    match program {
        "find" | "gfind" => Some(shell.find(arguments)),
        "xargs" | "gxargs" => Some(shell.xargs(reading, words)),
        "git" => Some(git::run(shell, reading, words)),
        "parallel" => Some(shell.parallel(reading, words)),
        "busybox" | "toybox" => {
            let (name, _) = arguments.split_first()?;
            let name = name.whole()?.to_owned();
            Some(shell.invoke_program(&name, arguments, None, &[]))
        }
        "grep" | "egrep" | "fgrep" | "zgrep" | "zegrep" | "zfgrep" | "bzgrep" | "xzgrep" | "zstdgrep"
        | "ggrep" | "gegrep" | "gfgrep" | "rg" | "ag" | "ack" | "ack-grep" | "diff" | "gdiff"
        | "colordiff" => {
            let outcome = shell.apply(program, reading, words);
            shell.searched(program, reading, arguments);
            Some(outcome)
        }
        "ln" | "link" => {
            let outcome = shell.apply(program, reading, words);
            shell.linked(reading, arguments);
            Some(outcome)
        }
        "cp" | "mv" | "install" | "gcp" => {
            let contents: Vec<Flow> = reading
                .operands
                .iter()
                .filter_map(|at| arguments.get(*at))
                .map(|source| shell.content(source))
                .collect();
            let outcome = shell.apply(program, reading, words);
            shell.copied(reading, arguments, &contents);
            Some(outcome)
        }
        "sed" | "gsed" => {
            let outcome = shell.apply(program, reading, words);
            for given in reading.options.iter().filter(|given| matches!(given.name, "-f" | "--file")) {
                if let Some(slot) = given.value {
                    let file = slot_text(arguments, &slot);
                    let flow = if file.raw() == "-" { shell.stdin.clone() } else { shell.content(&file) };
                    match flow.whole() {
                        Some(script) => {
                            let deeds = crate::code::sed(script);
                            shell.deeds(program, deeds);
                        }
                        None => shell.unknown(Gap::Code, "sed -f"),
                    }
                }
            }
            shell.backed_up(reading, arguments);
            Some(outcome)
        }
        "ssh"
            if reading
                .operands
                .first()
                .and_then(|at| arguments.get(*at))
                .and_then(Text::whole)
                .is_some_and(is_this_machine) =>
        {
            let outcome = shell.apply(program, reading, words);
            let at = reading.operands.first().copied().unwrap_or_default();
            let text = super::builtins::spaced_as_is(arguments.get(at + 1..).unwrap_or_default());
            shell.forked(|shell| shell.text(&text, "ssh"));
            Some(outcome)
        }
        _ if lists::takes_list(program) => {
            let outcome = shell.apply(program, reading, words);
            shell.listed(program, reading, arguments);
            Some(outcome)
        }
        "split" | "csplit" => {
            // The pieces begin with the prefix.
            let outcome = shell.apply(program, reading, words);
            if let Some(prefix) = reading.operands.get(1).and_then(|at| arguments.get(*at)) {
                shell.touch(Access::Write, Reach::Exact, &Text::marked(format!("{}…", prefix.raw())));
            }
            Some(outcome)
        }
        "mkdir" => {
            let outcome = shell.apply(program, reading, words);
            for at in &reading.operands {
                if let Some(place) = arguments.get(*at).and_then(|path| shell.one_place(path)) {
                    shell.state.write(&place, Flow::Nothing);
                    let above = place.rsplit_once('/').map_or("/", |(above, _)| above);
                    let can = has(reading, &["-p", "--parents"])
                        || shell.is_directory(above)
                        || shell.state.made.iter().any(|made| **made == *above);
                    if can {
                        shell.state.made.push(Rc::from(place.as_str()));
                    }
                }
            }
            Some(outcome)
        }
        "apply_patch" | "applypatch" => {
            let stdin = shell.stdin.clone();
            let patch = match arguments {
                [] => stdin.whole(),
                [patch] => patch.whole(),
                _ => None,
            };
            let files = patch.map(patched).unwrap_or_default();
            if files.is_empty() {
                shell.unknown(Gap::Path(Access::Write), program);
            }
            for (access, name) in files {
                shell.touch(access, Reach::Exact, &Text::known(name));
            }
            Some(Outcome::of(Flow::Any))
        }
        "make" | "gmake" => Some(shell.make(reading, words)),
        "just" => Some(shell.just(reading, words)),
        "cargo" => shell.cargo_alias(reading, words),
        "mise" | "deno" | "composer" => {
            let outcome = shell.apply(program, reading, words);
            shell.task(program, reading, arguments);
            Some(outcome)
        }
        "npm" | "pnpm" | "yarn" | "bun" | "yarnpkg" => Some(shell.package(program, reading, words)),
        "ed" | "red" | "ex" | "vi" | "vim" | "nvim" | "view" | "vimdiff" => {
            let outcome = shell.apply(program, reading, words);
            shell.editor_input(program);
            Some(outcome)
        }
        "su" | "sudo" | "doas" | "ssh" | "chroot" | "unshare" | "nsenter" | "script" | "setpriv"
        | "runuser" | "pkexec" | "proot" | "fakeroot" | "env" | "nohup"
            if reading.rest.is_none() =>
        {
            // Without a command it is a shell, and a shell reads its input.
            let outcome = shell.apply(program, reading, words);
            if !matches!(program, "env" | "nohup")
                && !has(reading, &["-l", "-v", "-V", "-k", "-K", "--help", "--version"])
            {
                let stdin = shell.stdin.clone();
                if stdin != Flow::Any
                    || matches!(program, "su" | "sudo" | "doas") && has(reading, &["-s", "-i"])
                {
                    shell.forked(|shell| shell.shell_input(&stdin, program));
                }
            }
            Some(outcome)
        }
        "sqlite3" | "psql" | "mysql" | "mariadb" | "gdb" | "dc" | "m4" | "gnuplot" | "octave" | "tclsh"
        | "expect" | "irb" | "R" | "ghci" | "guile" | "scala" | "jshell" | "awk" | "ftp" | "sftp"
        | "mail" | "rlwrap" | "bc" => {
            let outcome = shell.apply(program, reading, words);
            if let Flow::Text(text) = shell.stdin.clone() {
                shell.commands_on_input(program, &text);
            }
            for word in arguments.iter().filter(|word| word.raw().contains([' ', '.'])) {
                shell.commands_on_input(program, &word.clone());
            }
            Some(outcome)
        }
        _ => {
            let language = language_of(program);
            let runs_input = language != Language::Other
                && !reading.uses.iter().any(|(kind, _)| matches!(kind, Kind::Script(_) | Kind::Code(_)))
                && reading.operands.is_empty()
                && !has(reading, &["-m", "-V", "-v", "--version", "-h", "--help"])
                && reading.sub.is_empty();
            if runs_input {
                let outcome = shell.apply(program, reading, words);
                let stdin = shell.stdin.clone();
                if stdin != Flow::Any || !shell.fed_by.is_empty() {
                    shell.code_input(program, language, &stdin);
                }
                return Some(outcome);
            }
            if !matches!(language, Language::Perl | Language::Ruby) {
                return None;
            }
            let outcome = shell.apply(program, reading, words);
            shell.backed_up(reading, arguments);
            if language == Language::Perl {
                shell.opened_by_perl(reading, arguments);
            } else {
                shell.read_by_ruby(reading, arguments);
            }
            Some(outcome)
        }
    }
}

/// The operands that are known.
fn known_operands(reading: &Reading, arguments: &[Text]) -> Vec<String> {
    let known = |at: &usize| arguments.get(*at).and_then(Text::whole).map(str::to_owned);
    reading.operands.iter().filter_map(known).collect()
}

fn is_this_machine(host: &str) -> bool {
    let host = host.rsplit('@').next().unwrap_or(host);
    matches!(host, "localhost" | "127.0.0.1" | "::1" | "[::1]" | "0.0.0.0" | "ip6-localhost")
        || host.starts_with("127.")
}

fn has(reading: &Reading, options: &[&str]) -> bool {
    reading.options.iter().any(|given| options.contains(&given.name))
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
    plain.filter(|name| super::is_named_secret(name)).collect()
}

/// A shell by any of its names.
pub(super) fn is_shell(program: &str) -> bool {
    matches!(
        program,
        "bash"
            | "sh"
            | "dash"
            | "zsh"
            | "ksh"
            | "ash"
            | "mksh"
            | "rbash"
            | "lksh"
            | "yash"
            | "fish"
            | "csh"
            | "tcsh"
            | "posh"
    )
}

impl Interpreter<'_, '_> {
    /// `bash -c text`, `bash file`, `bash < file`
    pub(super) fn shell_program(&mut self, program: &str, words: &[Text]) -> Outcome {
        let mut rest = words.get(1..).unwrap_or_default();
        let mut command = false;
        let mut input = false;
        let mut only_checks = false;
        let mut starts = false;
        while let Some((first, behind)) = rest.split_first() {
            let raw = first.raw();
            match raw {
                "--" | "-" => {
                    rest = behind;
                    break;
                }
                "--rcfile" | "--init-file" => {
                    if let Some(file) = behind.first().cloned() {
                        self.forked(|shell| shell.run_script(&file, &[]));
                    }
                    rest = behind.get(1..).unwrap_or_default();
                    continue;
                }
                "-o" | "+o" | "-O" | "+O" => {
                    rest = behind.get(1..).unwrap_or_default();
                    continue;
                }
                _ if raw.starts_with("--") => {
                    starts |= raw == "--login";
                    if let Some(file) =
                        raw.strip_prefix("--rcfile=").or_else(|| raw.strip_prefix("--init-file="))
                    {
                        let file = Text::marked(file.to_owned());
                        self.forked(|shell| shell.run_script(&file, &[]));
                    }
                }
                _ if raw.starts_with(['-', '+']) && raw.len() > 1 => {
                    command |= raw.starts_with('-') && raw.contains('c');
                    starts |= raw.starts_with('-') && raw.contains(['i', 'l']);
                    input |= raw.contains('s');
                    only_checks |= raw.starts_with('-') && raw.contains('n') && !raw.contains('c');
                    if raw.contains(['o', 'O']) {
                        rest = behind.get(1..).unwrap_or_default();
                        continue;
                    }
                }
                _ => break,
            }
            rest = behind;
        }
        if starts {
            self.start_files();
        }
        if matches!(program, "rbash") || words.iter().any(|word| matches!(word.raw(), "-r" | "--restricted"))
        {
            self.unknown(Gap::ShellCode, "a restricted shell");
        }
        for name in ["BASH_ENV", "ENV"] {
            if self.state.get(name).is_some() {
                for value in self.variable_texts(name) {
                    self.expand_again(value.raw());
                    self.forked(|shell| shell.run_script(&value, &[]));
                }
            }
        }
        // Functions that were exported go along; directory and variables do too, as far as they matter.
        let out = self.forked(|shell| {
            shell.state.inherit(program == "bash");
            shell.state.plain = matches!(program, "sh" | "dash" | "ash" | "posh");
            if command {
                let Some((text, names)) = rest.split_first() else { return Flow::Nothing };
                let (zero, fields) = names
                    .split_first()
                    .map_or((Text::known(program), &[][..]), |(zero, rest)| (zero.clone(), rest));
                shell.state.zero = vec![zero];
                shell.state.positional =
                    Some(Rc::new(fields.iter().map(|field| vec![field.clone()]).collect()));
                shell.not_bash(program, text);
                return shell.text(text, &format!("{program} -c"));
            }
            match rest.split_first() {
                Some((script, fields)) if !input => {
                    if only_checks {
                        shell.touch(Access::Read, Reach::Exact, script);
                        return Flow::Any;
                    }
                    shell.run_script(script, fields)
                }
                _ => {
                    let stdin = shell.stdin.clone();
                    // A shell without input to read is one that waits for a person.
                    if stdin == Flow::Any && shell.fed_by.is_empty() {
                        shell.unknown(Gap::ShellCode, program);
                        return Flow::Any;
                    }
                    let fields = if input { rest } else { &[] };
                    shell.state.positional =
                        Some(Rc::new(fields.iter().map(|field| vec![field.clone()]).collect()));
                    shell.shell_input(&stdin, program)
                }
            }
        });
        Outcome::of(out)
    }

    /// Another shell reads some things otherwise than bash would.
    fn not_bash(&mut self, program: &str, text: &Text) {
        let otherwise = ["((", "[[", "$'", "<(", ">(", "pushd", "declare ", "function "];
        let odd = match program {
            "bash" | "rbash" | "zsh" | "ksh" | "mksh" => false,
            "sh" | "dash" | "ash" | "posh" => {
                otherwise.iter().any(|word| text.raw().contains(word)) && !text.raw().contains("$((")
            }
            _ => true,
        };
        if odd {
            self.unknown(Gap::ShellCode, &format!("{program} is no bash"));
        }
    }

    /// What an interactive or login shell reads first. The person's own files are their own; others are code.
    fn start_files(&mut self) {
        let home = self.variable_texts("HOME");
        for name in
            [".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".bash_login", ".bash_logout"]
        {
            for home in &home {
                let path = Text::marked(format!("{}/{name}", home.raw()));
                let place = self.one_place(&path);
                let foreign = home.whole() != self.scene.home;
                let written = place.as_deref().is_some_and(|place| self.state.written(place).is_some());
                let there = place
                    .as_deref()
                    .is_some_and(|place| self.scene.world.look(std::path::Path::new(place)).is_ok());
                if written || (foreign && there) {
                    self.forked(|shell| shell.run_script(&path, &[]));
                }
            }
        }
    }

    // ── find and xargs ──────────────────────────────────────────────────────────────────────────────────────────────

    fn find(&mut self, arguments: &[Text]) -> Outcome {
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
                            .inside("find -exec", "", |shell| shell.forked(|shell| shell.run_words(&words)));
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

    fn xargs(&mut self, reading: &Reading, words: &[Text]) -> Outcome {
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
            None => self.stdin.clone(),
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
            let printed = shell.inside("xargs", "", |shell| shell.forked(|shell| shell.run_words(words)));
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
    fn parallel(&mut self, reading: &Reading, words: &[Text]) -> Outcome {
        let arguments = words.get(1..).unwrap_or_default();
        let start = reading.rest.unwrap_or(arguments.len());
        let rest = arguments.get(start..).unwrap_or_default();
        let end = rest.iter().position(|word| word.raw().starts_with(":::")).unwrap_or(rest.len());
        let command = super::builtins::spaced_as_is(rest.get(..end).unwrap_or_default());
        let mut items: Vec<Text> = rest.get(end + 1..).unwrap_or_default().to_vec();
        if items.is_empty() {
            items = self.stdin.lines().unwrap_or_else(|| vec![Text::any()]);
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

    // ── what later parts rely on ────────────────────────────────────────────────────────────────────────────────────

    /// Links that `ln` makes.
    fn linked(&mut self, reading: &Reading, arguments: &[Text]) {
        let operands: Vec<Text> =
            reading.operands.iter().filter_map(|at| arguments.get(*at)).cloned().collect();
        let symbolic = has(reading, &["-s", "--symbolic"]);
        let into = reading.options.iter().find(|given| matches!(given.name, "-t" | "--target-directory"));
        let (targets, destination): (&[Text], Option<Text>) =
            match (into.and_then(|given| given.value), operands.as_slice()) {
                (Some(slot), targets) => (targets, Some(slot_text(arguments, &slot))),
                (None, [only]) => (std::slice::from_ref(only), Some(Text::known("."))),
                (None, [targets @ .., last]) => (targets, Some(last.clone())),
                (None, []) => return,
            };
        let Some(destination) = destination.and_then(|path| self.one_place(&path)) else { return };
        let is_directory = into.is_some()
            || operands.len() != 2
            || (self.is_directory(&destination) && !has(reading, &["-T", "-n", "--no-target-directory"]));
        for target in targets {
            // A hard link is the file itself under another name: writing one writes the other.
            if !symbolic {
                self.touch(Access::Write, Reach::Exact, target);
            }
            let Some(whole) = target.whole() else {
                self.unknown(Gap::Path(Access::Link), &target.shown());
                continue;
            };
            let name = if is_directory {
                format!("{destination}/{}", toolgate_model::base_name(whole.trim_end_matches('/')))
            } else {
                destination.clone()
            };
            let base = name.rsplit_once('/').map_or("", |(above, _)| above);
            let leads = if whole.starts_with('/') {
                whole.to_owned()
            } else if symbolic {
                format!("{base}/{whole}")
            } else {
                self.one_place(target).unwrap_or_else(|| whole.to_owned())
            };
            self.touch(Access::Link, Reach::Exact, &Text::known(&leads));
            let leads = toolgate_model::clean(std::path::Path::new(&leads)).to_string_lossy().into_owned();
            if self.state.links.len() >= 64 {
                self.unknown(Gap::Bounds, "more links than can be followed");
                return;
            }
            self.state.links.push((Rc::from(name.as_str()), Rc::from(leads.as_str())));
        }
    }

    /// What `cp` and `mv` bring along: the file in the directory, its content, and links.
    fn copied(&mut self, reading: &Reading, arguments: &[Text], contents: &[Flow]) {
        let operands: Vec<Text> =
            reading.operands.iter().filter_map(|at| arguments.get(*at)).cloned().collect();
        let into = reading
            .options
            .iter()
            .find(|given| matches!(given.name, "-t" | "--target-directory"))
            .and_then(|given| given.value);
        let (sources, destination) = match (into, operands.as_slice()) {
            (Some(slot), sources) => (sources, slot_text(arguments, &slot)),
            (None, [sources @ .., destination]) => (sources, destination.clone()),
            (None, []) => return,
        };
        let place = self.one_place(&destination);
        let is_directory = into.is_some()
            || sources.len() > 1
            || place.as_deref().is_none_or(|place| self.may_be_directory(place));
        for (at, source) in sources.iter().enumerate() {
            if is_directory {
                for name in self.names_of(source) {
                    let path = Text::marked(format!("{}/{name}", destination.raw()));
                    self.touch(Access::Write, Reach::Exact, &path);
                }
            }
            let Some(destination) = &place else { continue };
            let name = match source.whole() {
                _ if !is_directory => destination.clone(),
                Some(source) => {
                    format!("{destination}/{}", toolgate_model::base_name(source.trim_end_matches('/')))
                }
                None => continue,
            };
            if self.one_place(source).is_some_and(|place| self.may_be_directory(&place)) {
                // All that is known below the old name is now below the new one, or may be.
                self.lost = true;
                if let Some(place) = self.one_place(source) {
                    let inside =
                        |cwd: &Rc<str>| toolgate_model::below(place.as_bytes(), cwd.as_bytes()).is_some();
                    if self.state.cwd.iter().any(inside) {
                        self.state.cwd.clear();
                    }
                    let moved = |path: &Rc<str>| {
                        let rest = path.strip_prefix(place.as_str())?;
                        rest.starts_with('/').then(|| Rc::from(format!("{name}{rest}").as_str()))
                    };
                    let links: Vec<_> = self
                        .state
                        .links
                        .iter()
                        .filter_map(|(link, leads)| Some((moved(link)?, leads.clone())))
                        .collect();
                    let files: Vec<_> = self
                        .state
                        .files
                        .iter()
                        .filter_map(|(file, flow)| Some((moved(file)?, flow.clone())))
                        .collect();
                    self.state.links.extend(links);
                    self.state.files.extend(files);
                }
            }
            let content = contents.get(at).cloned().unwrap_or(Flow::Any);
            self.state.write(&name, content);
            let leads = self.one_place(source).and_then(|place| self.link_target(&place));
            if let Some(leads) = leads {
                self.state.links.push((Rc::from(name.as_str()), leads));
            }
        }
    }

    /// The last names of a path, pattern by pattern as they are on the disk.
    fn names_of(&self, path: &Text) -> Vec<String> {
        let last = |path: &str| match path.trim_end_matches('/').rsplit('/').next() {
            Some(name) if !name.is_empty() && !matches!(name, "." | "..") && !name.contains(is_mark) => {
                name.to_owned()
            }
            _ => INNER.to_string(),
        };
        if path.is_known() {
            return vec![last(path.raw())];
        }
        let name = |place: &Option<(String, Reach)>| match place {
            Some((place, Reach::Exact)) => last(place),
            _ => INNER.to_string(),
        };
        self.places(path).iter().map(name).collect()
    }

    /// `sed -i.bak` leaves the old file beside the new one, or where the suffix says.
    fn backed_up(&mut self, reading: &Reading, arguments: &[Text]) {
        let Some(slot) = reading
            .options
            .iter()
            .find(|given| matches!(given.name, "-i" | "--in-place"))
            .and_then(|given| given.value)
        else {
            return;
        };
        let suffix = slot_text(arguments, &slot);
        for (kind, slot) in
            reading.uses.iter().filter(|(kind, _)| matches!(kind, Kind::Read | Kind::Append | Kind::Write))
        {
            let _ = kind;
            let file = slot_text(arguments, slot);
            let (above, name) = file.raw().rsplit_once('/').unwrap_or((".", file.raw()));
            let backup = match (suffix.raw().contains('*'), suffix.raw().contains('/')) {
                (false, _) => format!("{}{}", file.raw(), suffix.raw()),
                (true, true) => suffix.raw().replace('*', name),
                (true, false) => format!("{above}/{}", suffix.raw().replace('*', name)),
            };
            self.touch(Access::Write, Reach::Exact, &Text::marked(backup));
        }
    }

    /// `ruby -e 'puts gets' file`
    fn read_by_ruby(&mut self, reading: &Reading, arguments: &[Text]) {
        let codes = reading.uses.iter().filter(|(kind, _)| matches!(kind, Kind::Code(Language::Ruby)));
        if codes.into_iter().any(|(_, slot)| crate::code::reads_operands(slot_text(arguments, slot).raw())) {
            for at in &reading.operands {
                if let Some(file) = arguments.get(*at) {
                    self.touch(Access::Read, Reach::Exact, file);
                }
            }
        }
    }

    /// Perl opens its files as a shell would: `command|` is run, `>file` is written.
    fn opened_by_perl(&mut self, reading: &Reading, arguments: &[Text]) {
        let files = reading.uses.iter().filter(|(kind, _)| matches!(kind, Kind::Read | Kind::Write));
        for (_, slot) in files.filter(|(_, slot)| reading.operands.contains(&slot.word)) {
            let file = slot_text(arguments, slot);
            let raw = file.raw();
            if let Some(command) = raw.trim_end().strip_suffix('|') {
                let command = Text::marked(command.to_owned());
                self.forked(|shell| shell.text(&command, "perl"));
            }
            let odd = |letter: char| is_mark(letter) || letter.is_whitespace();
            let opens = |letter: char| odd(letter) || matches!(letter, '<' | '>' | '|' | '&' | '+');
            if raw.starts_with(opens) || raw.ends_with(|letter: char| odd(letter) || letter == '|') {
                self.unknown(Gap::Project, &format!("perl opens {}", file.shown()));
            }
        }
    }

    /// Where a link leads that is on the disk or that the command has made.
    fn link_target(&self, place: &str) -> Option<Rc<str>> {
        if let Some((_, leads)) = self.state.links.iter().rev().find(|(link, _)| **link == *place) {
            return Some(leads.clone());
        }
        match self.scene.world.look(std::path::Path::new(place)).ok()?.kind {
            toolgate_model::NodeKind::Link(target) => {
                let above = std::path::Path::new(place).parent()?;
                Some(Rc::from(toolgate_model::clean(&above.join(target)).to_str()?))
            }
            _ => None,
        }
    }

    /// A directory on the disk, one that the command has made, or a link that may lead to one.
    fn may_be_directory(&self, place: &str) -> bool {
        self.is_directory(place)
            || self.state.written(place) == Some(&Flow::Nothing)
            || self.state.links.iter().any(|(name, _)| **name == *place)
            || self.state.files.iter().any(|(path, _)| {
                toolgate_model::below(place.as_bytes(), path.as_bytes()).is_some_and(|rest| !rest.is_empty())
            })
    }

    // ── code on standard input ──────────────────────────────────────────────────────────────────────────────────────

    /// `ed`, `ex -s`, `vim -es` read commands: `w file`, `r file`, `!command`.
    fn editor_input(&mut self, program: &str) {
        match self.stdin.clone() {
            Flow::Nothing => {}
            Flow::Text(text) => {
                for line in text.raw().lines() {
                    let line = line.trim_start_matches(|c: char| {
                        c.is_ascii_digit() || matches!(c, ',' | '$' | '%' | '.' | ':' | ' ')
                    });
                    self.editor_command(program, line);
                }
            }
            Flow::Lines(_) | Flow::Any | Flow::Built => {
                if !self.fed_by.is_empty() {
                    self.unknown(Gap::Code, program);
                }
            }
        }
    }

    /// One command of an editor.
    pub(super) fn editor_command(&mut self, program: &str, line: &str) {
        let line = line.trim();
        if let Some((_, command)) = line.split_once('!') {
            let text = Text::marked(command.to_owned());
            self.forked(|shell| shell.text(&text, program));
            return;
        }
        let Some((verb, path)) = line.split_once(char::is_whitespace) else { return };
        let path = Text::marked(path.trim().to_owned());
        let access = match verb.trim_end_matches('!') {
            "w" | "wq" | "W" | "write" | "sav" | "saveas" | "wn" => Access::Write,
            "r" | "e" | "f" | "E" | "read" | "edit" | "sp" | "split" | "so" | "source" => Access::Read,
            "py" | "py3" | "python" | "python3" | "lua" | "perl" | "ruby" | "call" | "exe" | "execute"
            | "normal" | "norm" => {
                self.unknown(Gap::Code, &format!("{program} {line}"));
                return;
            }
            _ => return,
        };
        let path = self.tilde_marked(path.raw());
        self.touch(access, Reach::Exact, &path);
    }

    /// Commands for a program that has a language of its own: what names a place outside, or a way to a shell, is told.
    fn commands_on_input(&mut self, program: &str, text: &Text) {
        // Words of commands, one by one.
        for word in text.raw().split_whitespace() {
            self.guess_paths(&[Text::known(program), Text::marked(word.to_owned())]);
        }
        let shells = [
            "system(",
            "system ",
            "\n!",
            ".shell",
            ".system",
            "\\!",
            "esyscmd",
            "popen",
            "to program",
            "edit(",
        ];
        if text.raw().starts_with('!') || shells.iter().any(|word| text.raw().contains(word)) {
            self.unknown(Gap::Code, program);
        }
    }

    // ── recipes ─────────────────────────────────────────────────────────────────────────────────────────────────────

    fn project_file(&mut self, names: &[&str]) -> Option<(String, String)> {
        for name in names {
            let path = Text::known(name);
            if let Flow::Text(text) = self.project_text(&path) {
                return Some(((*name).to_owned(), text.raw().to_owned()));
            }
        }
        None
    }

    fn project_text(&self, path: &Text) -> Flow {
        const LARGE: usize = 256 * 1024;
        let Some(place) = self.one_place(path) else { return Flow::Any };
        if let Some(flow) = self.state.written(&place) {
            return flow.clone();
        }
        match self.scene.world.read(std::path::Path::new(&place), LARGE) {
            Ok(bytes) if bytes.len() < LARGE => Flow::Text(Text::known(&String::from_utf8_lossy(&bytes))),
            _ => Flow::Any,
        }
    }

    fn recipe(&mut self, file: &str, found: Found, program: &str) {
        match found {
            Found::Steps(steps) => {
                self.forked(|shell| {
                    for step in steps {
                        let shell_named = step.shell.as_deref().map(|named| {
                            toolgate_model::base_name(named.split_whitespace().next().unwrap_or_default())
                                .to_owned()
                        });
                        match shell_named {
                            Some(named) if !is_shell(&named) && named != "env" => {
                                shell.unknown(Gap::Project, &format!("{program} ({named})"));
                            }
                            _ => {
                                shell.forked(|shell| shell.recipe_text(file, step.line, &step.text));
                            }
                        }
                    }
                });
            }
            Found::Absent => {}
            Found::Opaque(why) => self.unknown(Gap::Project, &format!("{program}: {why}")),
        }
        self.unknown(Gap::Project, program);
    }

    fn make(&mut self, reading: &Reading, words: &[Text]) -> Outcome {
        let arguments = words.get(1..).unwrap_or_default();
        let outcome = self.apply("make", reading, words);
        let file = reading
            .options
            .iter()
            .find(|given| matches!(given.name, "-f" | "--file" | "--makefile"))
            .and_then(|given| given.value);
        let named = file.map(|slot| slot_text(arguments, &slot));
        let operands = known_operands(reading, arguments);
        let found = match named.as_ref().and_then(Text::whole) {
            Some("-" | "/dev/stdin") => match self.stdin.clone() {
                Flow::Text(text) => Some(("standard input".to_owned(), text.raw().to_owned())),
                _ => {
                    self.unknown(Gap::ShellCode, "make -f -");
                    None
                }
            },
            Some(name) => self.project_file(&[name]),
            None if named.is_some() => None,
            None => self.project_file(&["GNUmakefile", "makefile", "Makefile"]),
        };
        // `--eval` and variables on the command line are make code too.
        for text in reading.options.iter().filter(|given| matches!(given.name, "--eval" | "-E")) {
            if let Some(slot) = text.value {
                let text = slot_text(arguments, &slot);
                let found = recipes::make::recipe(text.raw(), &[], &[], &mut |_| None);
                self.recipe("--eval", found, "make");
            }
        }
        let Some((file, text)) = found else { return outcome };
        let (variables, targets): (Vec<&String>, Vec<&String>) =
            operands.iter().partition(|operand| operand.contains('='));
        let variables: Vec<(&str, &str)> = variables.iter().filter_map(|pair| pair.split_once('=')).collect();
        let targets: Vec<&str> = targets.iter().map(|target| target.as_str()).collect();
        let found = {
            let this = &*self;
            recipes::make::recipe(&text, &targets, &variables, &mut |name| match this
                .project_text(&Text::known(name))
            {
                Flow::Text(text) => Some(text.raw().to_owned()),
                _ => None,
            })
        };
        self.recipe(&file, found, "make");
        outcome
    }

    fn just(&mut self, reading: &Reading, words: &[Text]) -> Outcome {
        let arguments = words.get(1..).unwrap_or_default();
        let outcome = self.apply("just", reading, words);
        let operands = known_operands(reading, arguments);
        if let Some((file, text)) = self.project_file(&["justfile", "Justfile", ".justfile"]) {
            let (name, rest) =
                operands.split_first().map_or((None, &[][..]), |(name, rest)| (Some(name.as_str()), rest));
            let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
            let found = recipes::just::recipe(&text, name, &rest);
            self.recipe(&file, found, "just");
        }
        outcome
    }

    /// `npm run x`, `npm test`, `yarn x`
    fn package(&mut self, program: &str, reading: &Reading, words: &[Text]) -> Outcome {
        let arguments = words.get(1..).unwrap_or_default();
        let operand = reading
            .operands
            .first()
            .and_then(|at| arguments.get(*at))
            .and_then(Text::whole)
            .map(str::to_owned);
        let sub = reading.sub.first().copied();
        let script = match (sub, operand) {
            (Some("run" | "run-script" | "rum" | "urn"), Some(name)) => Some(name),
            (Some("test" | "t" | "tst"), _) => Some("test".to_owned()),
            (Some(name @ ("start" | "stop" | "restart")), _) => Some(name.to_owned()),
            (None, Some(name)) if matches!(program, "yarn" | "pnpm" | "bun" | "yarnpkg") => Some(name),
            _ => None,
        };
        let installs = matches!(sub, Some("install" | "i" | "ci" | "add" | "rebuild"))
            || (sub.is_none() && script.is_none());
        let package = if script.is_some() || installs { self.project_file(&["package.json"]) } else { None };
        let outcome = match (&package, &script, sub) {
            // A script by its bare name: not an unlisted sub-command.
            (_, Some(_), None) => {
                self.unknown(Gap::Project, program);
                Outcome::of(Flow::Any)
            }
            _ => self.apply(program, reading, words),
        };
        if let Some((file, text)) = package {
            let found = match &script {
                Some(name) => recipes::package::script(&text, name),
                None => recipes::package::install_scripts(&text),
            };
            self.recipe(&file, found, program);
        }
        outcome
    }

    /// `cargo xtask`: an alias of the project's configuration.
    fn cargo_alias(&mut self, reading: &Reading, words: &[Text]) -> Option<Outcome> {
        if !reading.sub.is_empty() {
            return None;
        }
        let arguments = words.get(1..).unwrap_or_default();
        let at = *reading.unlisted.first().or(reading.operands.first())?;
        let name = arguments.get(at)?.whole()?;
        let (_, text) = self.project_file(&[".cargo/config.toml", ".cargo/config"])?;
        let alias = recipes::cargo_config::aliases(&text)?.into_iter().find(|(known, _)| known == name)?.1;
        let rest = arguments.get(at + 1..).unwrap_or_default();
        let expanded: Vec<Text> = std::iter::once(Text::known("cargo"))
            .chain(alias.iter().map(|word| Text::known(word)))
            .chain(rest.iter().cloned())
            .collect();
        let step = format!("cargo {name}");
        Some(Outcome::of(self.inside(&step, "", |shell| shell.run_words(&expanded))))
    }

    /// `mise run x`, `deno task x`, `composer run x`
    fn task(&mut self, program: &str, reading: &Reading, arguments: &[Text]) {
        let operand = reading
            .operands
            .first()
            .and_then(|at| arguments.get(*at))
            .and_then(Text::whole)
            .unwrap_or_default()
            .to_owned();
        let sub = reading.sub.first().copied().unwrap_or_default();
        let found = match (program, sub) {
            ("mise", "run" | "r") => self
                .project_file(&["mise.toml", ".mise.toml"])
                .map(|(file, text)| (file, recipes::mise::task(&text, &operand))),
            ("deno", "task") => self
                .project_file(&["deno.json", "deno.jsonc", "package.json"])
                .map(|(file, text)| (file, recipes::package::deno_task(&text, &operand))),
            ("composer", "run" | "run-script" | "exec") => self
                .project_file(&["composer.json"])
                .map(|(file, text)| (file, recipes::package::composer_script(&text, &operand))),
            ("composer", "install" | "update" | "require") => self
                .project_file(&["composer.json"])
                .map(|(file, text)| (file, recipes::package::composer_install_scripts(&text))),
            _ => None,
        };
        if let Some((file, found)) = found {
            self.recipe(&file, found, program);
        }
    }

    pub(super) fn connect(&mut self) {
        self.emit(Effect::Connect);
    }
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

/// Whether this program prints the files that it is given as they are.
fn prints_files(program: &Text) -> bool {
    const PRINTERS: [&str; 14] = [
        "cat", "head", "tail", "bat", "batcat", "nl", "tac", "more", "less", "xxd", "od", "hexdump",
        "strings", "base64",
    ];
    program.whole().is_some_and(|program| PRINTERS.contains(&toolgate_model::base_name(program)))
}

/// An item of xargs with its own quotes off.
fn unquoted(item: &str) -> String {
    let inner = item.strip_prefix(['"', '\'']).and_then(|rest| rest.strip_suffix(['"', '\'']));
    inner.unwrap_or(item).to_owned()
}
