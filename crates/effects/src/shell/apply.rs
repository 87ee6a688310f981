//! What the spec of a program says of its words, applied.

use toolgate_model::{Access, Doubt, Effect, Gap, Reach, Run, Unknown};

use super::places::Located;
use super::run::unversioned;
use super::text::{ANY, Flow, NAME, NUMBER, Text, is_mark, spaced_as_is};
use super::walk::Outcome;
use super::{Interpreter, programs};
use crate::code::{self, Deed};
use crate::language::Language;
use crate::spec::{self, Fixed, Heeds, Output, Reading, Shown, Slot, WordKind};

/// Programs after which a file holds what it held, or what is worked out elsewhere.
const KEEP_CONTENTS: [&str; 9] =
    ["chmod", "chown", "chgrp", "touch", "setfacl", "chattr", "mkdir", "ln", "tee"];

impl Interpreter<'_, '_> {
    pub(super) fn described(
        &mut self,
        name: &str,
        spec: &'static spec::Spec,
        words: &[Text],
        outputs: &[String],
    ) -> Outcome {
        let plain = without_backup_suffix(name, words);
        let words = plain.as_deref().unwrap_or(words);
        let arguments = words.get(1..).unwrap_or_default();
        let shown: Vec<Shown<'_>> =
            arguments.iter().map(|word| Shown { head: word.head(), known: word.is_known() }).collect();
        let reading = spec::read(spec, &shown);
        let run = self.run_with(name, words, outputs, &reading);
        let program = run.program.clone();
        let is_fed = program == "kill" && run.fed_by.iter().any(|feeding| feeding == "pgrep");
        self.emit(Effect::Run(run));
        if is_fed {
            self.killed_by_name();
        }
        if programs::prints_files(words) && arguments.iter().any(|word| word.whole().is_none()) {
            self.listed_secrets();
        }
        let before = self.report.effects().len();
        if self.takes_commands(&program, &reading, arguments) {
            self.unknown(Gap::Doubt(Doubt::Terminal), &program);
        }
        let entered = self.enter(&reading, arguments);
        let kept = std::mem::replace(&mut self.keeps_contents, KEEP_CONTENTS.contains(&program.as_str()));
        let outcome = match programs::handler(self, &program, &reading, words) {
            Some(outcome) => outcome,
            None => self.apply(&program, &reading, words),
        };
        if reading.spec.is_remote() {
            self.received(&program, &reading, arguments);
        }
        self.keeps_contents = kept;
        if let Some(cwd) = entered {
            self.state.cwd = cwd;
        }
        if !self.is_unproved_since(before) {
            if reading.spec.heeds() == Heeds::Project {
                self.unknown(Gap::Doubt(Doubt::Settings), &program);
            }
            self.doubt_words(&program, &reading, arguments);
        }
        outcome
    }

    /// Whether something was not proved since then, and not only doubted: that says more than a doubt would.
    fn is_unproved_since(&self, before: usize) -> bool {
        let since = self.report.effects().get(before..).unwrap_or_default();
        since.iter().any(|effect| {
            matches!(effect, Effect::Unknown(Unknown::Shell { gap, .. }) if !matches!(gap, Gap::Doubt(_)))
        })
    }

    /// `kill $(pgrep x)` is `pkill x`, and the packs have rules for that.
    fn killed_by_name(&mut self) {
        let found = self.report.effects().iter().rev().find_map(|effect| match effect {
            Effect::Run(run) if run.program == "pgrep" => Some(run.clone()),
            _ => None,
        });
        if let Some(mut run) = found {
            "pkill".clone_into(&mut run.program);
            if let Some(name) = run.words.first_mut() {
                "pkill".clone_into(name);
            }
            run.origin = Some(self.origin());
            self.emit(Effect::Run(run));
        }
    }

    fn run_with(&mut self, name: &str, words: &[Text], outputs: &[String], reading: &Reading) -> Run {
        let arguments = words.get(1..).unwrap_or_default();
        let mut run = self.run_of(name, words, outputs);
        let value = |slot: &Slot| slot_text(arguments, slot).whole().map(str::to_owned);
        run.sub = reading.sub.iter().map(|sub| (*sub).to_owned()).collect();
        run.options = reading
            .options
            .iter()
            .map(|given| (given.name.to_owned(), given.value.as_ref().and_then(value)))
            .chain(reading.unlisted.iter().chain(&reading.plain).filter_map(|at| {
                let text = arguments.get(*at)?.whole()?;
                text.starts_with('-').then(|| (text.to_owned(), None))
            }))
            .collect();
        // Two letters in one entry of a spec may only be alike: one counts for the other where it stands there.
        let stands = |alias: &str| arguments.iter().any(|argument| argument.raw() == alias);
        let given = reading.options.iter().enumerate();
        let aliases = given.flat_map(|(at, given)| given.aliases().map(move |alias| (at, given.name, alias)));
        run.aliases = aliases
            .filter(|(_, name, alias)| name.starts_with("--") || alias.starts_with("--") || stands(alias))
            .map(|(at, _, alias)| (at, alias))
            .collect();
        let known = |at: &usize| arguments.get(*at).and_then(Text::whole).map(str::to_owned);
        run.operands = reading.operands.iter().map(known).collect();
        run
    }

    /// A directory that the command itself changes into. Returns the one to go back to.
    fn enter(&mut self, reading: &Reading, arguments: &[Text]) -> Option<Vec<std::rc::Rc<str>>> {
        let before = self.state.cwd.clone();
        let mut entered = false;
        for (kind, slot) in &reading.uses {
            if *kind == WordKind::Enter {
                let target = slot_text(arguments, slot);
                self.touch(Access::Enter, Reach::Exact, &target);
                self.state.cwd = self.directories(&target);
                entered = true;
            }
        }
        entered.then_some(before)
    }

    pub(super) fn apply(&mut self, program: &str, reading: &Reading, words: &[Text]) -> Outcome {
        let arguments = words.get(1..).unwrap_or_default();
        for at in &reading.unlisted {
            if let Some(word) = arguments.get(*at) {
                self.unknown(Gap::Option, &format!("{program} {}", word.shown()));
                self.guess_paths(std::slice::from_ref(word));
            }
        }
        let mut out = None;
        let outside = self.state.cwd.clone();
        for (_, slot) in reading.uses.iter().filter(|(kind, _)| *kind == WordKind::Into) {
            let target = slot_text(arguments, slot);
            self.touch(Access::Enter, Reach::Exact, &target);
            self.state.cwd = self.directories(&target);
        }
        let inside = self.state.cwd.clone();
        let mut joined: Vec<Text> = Vec::new();
        for (kind, slot) in &reading.uses {
            let text = slot_text(arguments, slot);
            if *kind == WordKind::Shell && reading.operands.contains(&slot.word) {
                joined.push(text);
                continue;
            }
            // `tar -C` counts for what is packed, not for the archive.
            self.state.cwd =
                if reading.operands.contains(&slot.word) { inside.clone() } else { outside.clone() };
            if let Some(printed) = self.apply_one(program, *kind, &text, words, slot) {
                out = Some(printed);
            }
            self.state.cwd.clone_from(&inside);
        }
        if !joined.is_empty() {
            let text = spaced_as_is(&joined);
            self.read_by_other_shell("sh", &text);
            out = Some(self.forked(|shell| shell.text(&text, program)));
        }
        for fixed in &reading.effects {
            self.fixed(program, fixed);
        }
        self.followed(program, reading, arguments);
        // Code on standard input, for programs that read it where they are given none.
        let given = reading
            .uses
            .iter()
            .any(|(kind, _)| matches!(kind, WordKind::Script(_) | WordKind::Code(_) | WordKind::Read));
        if let (Some(language), false, true) = (reading.spec.stdin_code(), given, self.streams.has_input()) {
            let stdin = self.streams.stdin().clone();
            self.code_input(program, language, &stdin);
        }
        if let Some(rest) = reading.rest {
            let rest = arguments.get(rest..).unwrap_or_default();
            out = Some(self.wrapped(program, rest));
        } else if reading
            .effects
            .iter()
            .any(|fixed| matches!(fixed, Fixed::Project | Fixed::Unknown | Fixed::Foreign))
        {
            // Whatever it does with the places that it is given.
            // Words that the spec has given a meaning have been judged by it.
            let judged = |at: usize| {
                reading.prose.contains(&at) || reading.uses.iter().any(|(_, slot)| slot.word == at)
            };
            let place = |at: &usize| *at == 0 || !judged(*at - 1);
            let guessed: Vec<Text> =
                words.iter().enumerate().filter(|(at, _)| place(at)).map(|(_, word)| word.clone()).collect();
            self.guess_paths(&guessed);
            self.given_to_unknown(program, words);
        }
        // `@file` is a file of further words for compilers and their kin.
        for word in arguments.iter().filter(|word| word.raw().starts_with('@') && word.raw().contains('/')) {
            self.touch(Access::Read, Reach::Exact, &word.skip(1));
        }
        let out = match out {
            Some(out) => out,
            None => self.output_of(program, reading, words),
        };
        self.brought_in(program, reading, arguments);
        let writes_repository = |fixed: &Fixed| matches!(fixed, Fixed::RepoWrite | Fixed::RepoData);
        if program != "git" && reading.effects.iter().any(writes_repository) {
            self.git_started_by(program, reading);
        }
        self.suffixed(program, reading, arguments);
        self.state.cwd = outside;
        Outcome::of(out)
    }

    fn fixed(&mut self, program: &str, fixed: &Fixed) {
        match fixed {
            // A toolchain's store is its own to fill; what it puts there is as much the project's as what it builds.
            Fixed::Use(WordKind::Append | WordKind::Write | WordKind::WriteTree, path) if is_store(path) => {
                self.unknown(Gap::Project, &format!("{program} fills {path}"));
            }
            Fixed::Use(kind, path) => {
                let path = match path.strip_prefix("~/") {
                    Some(rest) => Text::known(&format!("{}/{rest}", self.scene.home.unwrap_or("/home"))),
                    None => Text::known(path),
                };
                // Where a program keeps its things is a setting of this machine's, and by default here.
                self.assumes = path.raw().starts_with('/');
                if let Some((access, reach)) = access_of(*kind) {
                    self.touch(access, reach, &path);
                }
                self.assumes = false;
            }
            Fixed::Setting(kind, setting) => self.named_in_settings(*kind, setting),
            Fixed::Connect => self.emit(Effect::Connect),
            Fixed::Project => {
                self.unknown(Gap::Project, program);
                self.scan_written();
            }
            Fixed::RepoRead => self.touch(Access::Search, Reach::Below, &Text::known(".")),
            Fixed::RepoWrite => {
                self.doubts.leave_to_git(true);
                self.touch(Access::Write, Reach::Below, &Text::known("."));
                self.doubts.leave_to_git(false);
            }
            Fixed::RepoData => {
                self.in_git_data = true;
                self.touch(Access::Write, Reach::Below, &Text::known("."));
                self.in_git_data = false;
            }
            Fixed::Unknown => self.unknown(Gap::Code, program),
            Fixed::Foreign => self.unknown(Gap::Program, program),
        }
    }

    /// One word by its kind. Some kinds say what is printed.
    fn apply_one(
        &mut self,
        program: &str,
        kind: WordKind,
        text: &Text,
        words: &[Text],
        slot: &Slot,
    ) -> Option<Flow> {
        // `ln` tells where its links lead from the directory that they lie in.
        if kind == WordKind::Link && matches!(program, "ln" | "gln") {
            if let Some(word) = self.written.argument(slot.word) {
                self.note_spelling(Access::Link, text, word);
            }
            return None;
        }
        if kind == WordKind::List && names_port(program, text) {
            return None;
        }
        if let Some((access, reach)) = access_of(kind) {
            self.use_path(program, access, reach, text, slot);
            return None;
        }
        match kind {
            WordKind::Beside => {
                // `gzip x` makes `x.gz`, `gunzip x.gz` makes `x`.
                for base in unpacked(text.raw()) {
                    let base = Text::marked(base.to_owned());
                    self.touch(Access::Write, Reach::Exact, &base);
                    self.wrote(program, &base);
                }
                if text.is_known() {
                    // A link may lie there, and some programs write through it.
                    self.touch(Access::Write, Reach::Exact, &Text::marked(format!("{}.{NAME}", text.raw())));
                } else {
                    self.touch(Access::Write, Reach::Exact, text);
                    self.beside_each(program, text);
                }
                None
            }
            WordKind::Shell => {
                self.read_by_other_shell("sh", text);
                Some(self.forked(|shell| shell.text(text, program)))
            }
            WordKind::Program => {
                let out = self.in_step(program, "", |shell| {
                    shell.forked(|shell| shell.invoke(std::slice::from_ref(text), None, &[]).out)
                });
                Some(out)
            }
            WordKind::Code(Language::Shell) => Some(self.forked(|shell| shell.text(text, program))),
            WordKind::Code(language) => {
                self.inline(program, language, text);
                None
            }
            WordKind::Script(Language::Shell) => {
                let rest = words.get(slot.word + 2..).unwrap_or_default().to_vec();
                Some(self.forked(|shell| shell.run_script(text, &rest)))
            }
            WordKind::Script(language) => {
                self.touch(Access::Read, Reach::Exact, text);
                self.foreign_script(program, language, text);
                None
            }
            WordKind::Sed | WordKind::Awk => {
                match text.whole() {
                    Some(code) if kind == WordKind::Sed => self.deeds(program, code::sed(code)),
                    Some(code) => {
                        let deeds = code::awk(code);
                        // A name that the program sets may have another value from its words, and what it starts may read what it prints.
                        let starts = deeds.iter().any(|deed| matches!(deed, Deed::Shell(_)));
                        if starts || (!deeds.is_empty() && words.iter().skip(1).any(assigns)) {
                            self.unknown(Gap::Doubt(Doubt::Code), program);
                        }
                        self.deeds(program, deeds);
                    }
                    None => self.partly_known_program(program, kind, text),
                }
                None
            }
            WordKind::Assign => {
                self.assign_environment(text);
                None
            }
            WordKind::Settings => {
                if !text.is_empty() {
                    self.touch(Access::Read, Reach::Exact, text);
                }
                self.unknown(Gap::Doubt(Doubt::Settings), &format!("{program} {}", text.shown()));
                None
            }
            WordKind::Template | WordKind::OpenRead => {
                let access = if kind == WordKind::Template { Access::Write } else { Access::Read };
                self.unknown(Gap::Path(access), &format!("{program} {}", text.shown()));
                None
            }
            WordKind::Host => {
                self.reached(program, text);
                None
            }
            _ => None,
        }
    }

    /// Another machine, or what a program makes of its name.
    fn reached(&mut self, program: &str, host: &Text) {
        self.emit(Effect::Connect);
        // Further addresses, one a line.
        if let Some(file) = host.raw().strip_prefix('@').filter(|_| program == "curl") {
            self.touch(Access::Read, Reach::Exact, &Text::marked(file.to_owned()));
            self.unknown(Gap::Doubt(Doubt::Settings), &format!("{program} {}", host.shown()));
        }
        if matches!(program, "ssh" | "scp" | "sftp" | "ssh-copy-id") && !is_plain_host(host.raw()) {
            self.unknown(Gap::Code, &format!("{program} {}", host.shown()));
        }
        if let Some(path) = host.head().strip_prefix("file://") {
            self.touch(Access::Read, Reach::Exact, &Text::marked(path.to_owned()));
        }
    }

    /// `gunzip .mcp*` makes `.mcp.json`: each name that a pattern finds loses its ending.
    fn beside_each(&mut self, program: &str, text: &Text) {
        for located in self.located(text) {
            match located {
                Located::Exact(place) => {
                    for base in unpacked(&place) {
                        self.touch_place(Access::Write, Reach::Met, base.to_owned());
                    }
                }
                Located::Child { among: None, .. } | Located::Below { among: None, .. } => {}
                Located::Child { .. } | Located::Below { .. } | Located::Unknown => {
                    self.unknown(Gap::Doubt(Doubt::Members), program);
                }
            }
        }
    }

    /// A word that names a file or a directory.
    fn use_path(&mut self, program: &str, access: Access, reach: Reach, text: &Text, slot: &Slot) {
        let spelled = self.written.argument(slot.word);
        if let (true, Some(word)) = (access.changes() || access == Access::Link, spelled) {
            self.note_spelling(access, text, word);
        }
        self.touch(access, reach, text);
        if access == Access::Delete
            && let Some(place) = self.one_place(text)
        {
            self.state.disk.remove(&place);
        }
        if access == Access::Write && !self.edits_nothing(program, text) {
            self.wrote(program, text);
        }
        // What comes from elsewhere can hold anything; what a compiler makes is the project's.
        let fetches = matches!(
            program,
            "curl" | "wget" | "dd" | "openssl" | "gpg" | "scp" | "aria2c" | "uudecode" | "xxd" | "base64"
        );
        if access == Access::Write
            && fetches
            && let Some(place) = self.one_place(text)
        {
            self.state.write(&place, Flow::Any);
        }
    }

    /// Whether a program that only changes what is there comes upon nothing: `sed -i` makes no file.
    fn edits_nothing(&self, program: &str, path: &Text) -> bool {
        const EDITS: [&str; 6] = ["sed", "gsed", "black", "isort", "gofmt", "rustfmt"];
        let is_absent = |place: String| {
            self.state.written(&place).is_none()
                && self.scene.world.look(std::path::Path::new(&place)).is_err()
        };
        EDITS.contains(&program) && self.one_place(path).is_some_and(is_absent)
    }

    /// What a file holds after a program has written it.
    pub(super) fn wrote(&mut self, program: &str, path: &Text) {
        if KEEP_CONTENTS.contains(&program) {
            return;
        }
        let Some(place) = self.one_place(path) else {
            self.doubts.lose_file();
            return;
        };
        // What was there before is the project's, and so is what becomes of it.
        let is_new = self.scene.world.look(std::path::Path::new(&place)).is_err();
        let is_built = self.state.written(&place).is_none() && (!is_new || is_builder(program));
        self.state.write(&place, if is_built { Flow::Built } else { Flow::Any });
    }

    /// A sed or awk program with a variable in it: the variable could hold anything, so what stands around it is read with
    /// a plain word in its place, and the rest is the variable's.
    fn partly_known_program(&mut self, program: &str, kind: WordKind, text: &Text) {
        let read = |blank: char| {
            let filled: String = text.raw().chars().map(|c| if is_mark(c) { blank } else { c }).collect();
            if kind == WordKind::Sed { code::sed(&filled) } else { code::awk(&filled) }
        };
        let unread = |deeds: &[Deed]| deeds.iter().any(|deed| matches!(deed, Deed::Unknown(_)));
        // A line number or a word: whichever makes sense of the rest.
        let as_word = read('X');
        let deeds = if unread(&as_word) { read('1') } else { as_word };
        self.deeds(program, deeds);
        if text.raw().chars().any(|letter| is_mark(letter) && letter != NUMBER) {
            self.unknown(Gap::Doubt(Doubt::Code), program);
        }
        if text.raw().starts_with(ANY) || (kind == WordKind::Awk && text.has_any()) {
            self.unknown(Gap::Code, &format!("{program} {}", text.shown()));
        }
    }

    fn wrapped(&mut self, program: &str, rest: &[Text]) -> Flow {
        if rest.is_empty() {
            return Flow::Any;
        }
        // `flock FILE -c TEXT`: the one option that stands behind an operand which ends the options.
        if let ("flock", [option, text, ..]) = (program, rest)
            && matches!(option.raw(), "-c" | "--command")
        {
            self.read_by_other_shell("sh", text);
            return self.forked(|shell| shell.text(text, program));
        }
        let (exported, path) = (self.state.variables.exported(), self.state.path.clone());
        let out = self.in_step(program, "", |shell| {
            shell.forked(|shell| match rest.first().and_then(Text::whole) {
                Some(name) => {
                    let name = name.to_owned();
                    // A wrapper is a program: it sees neither functions nor builtins that have no program.
                    if matches!(name.as_str(), "cd" | "eval" | "source" | "." | "export" | "exec" | "builtin")
                    {
                        shell.unknown(Gap::Program, &name);
                        Flow::Any
                    } else {
                        shell.invoke_program(&name, rest, None, &[]).out
                    }
                }
                None => shell.unknown_name(rest, &[]).out,
            })
        });
        self.state.variables.bring_back_exported(exported);
        self.state.path = path;
        out
    }
}

/// `awk -v name=value`, `awk '…' name=value`
fn assigns(word: &Text) -> bool {
    let raw = word.raw();
    let is_name = |name: &str| {
        !name.is_empty()
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | ':'))
    };
    !word.is_known()
        || raw.starts_with("-v")
        || raw.starts_with("--as")
        || raw.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// Where toolchains keep what they fetch and build: in the home, and the store that a daemon of nix's own fills.
fn is_store(path: &str) -> bool {
    const STORES: [&str; 30] = [
        ".cache",
        ".cargo",
        ".rustup",
        ".npm",
        ".nvm",
        ".conda",
        ".volta",
        ".bun",
        ".deno",
        ".pyenv",
        ".rbenv",
        ".gem",
        ".dotnet",
        ".nuget",
        ".m2",
        ".gradle",
        ".ivy2",
        ".cabal",
        ".stack",
        ".ghcup",
        ".opam",
        ".asdf",
        ".pub-cache",
        ".luarocks",
        ".vmodules",
        ".swiftpm",
        ".cpan",
        ".ansible",
        ".local",
        "go",
    ];
    let Some(rest) = path.strip_prefix("~/") else { return path == "/nix" };
    let (first, more) = rest.split_once('/').unwrap_or((rest, ""));
    STORES.contains(&first) && !more.contains("credentials") && !more.starts_with("bin")
}

/// `sed -i '' …`: an empty word behind `-i` is BSD's way to want no backup; GNU would take it for the program.
fn without_backup_suffix(program: &str, words: &[Text]) -> Option<Vec<Text>> {
    let at = words
        .windows(2)
        .position(|pair| matches!(pair, [flag, empty] if flag.raw() == "-i" && empty.is_empty()))?;
    matches!(program, "sed" | "gsed" | "perl").then(|| {
        words.iter().enumerate().filter(|(place, _)| *place != at + 1).map(|(_, word)| word.clone()).collect()
    })
}

/// The text of a slot.
pub(super) fn slot_text(arguments: &[Text], slot: &Slot) -> Text {
    let Some(word) = arguments.get(slot.word) else { return Text::default() };
    match slot.end {
        Some(end) => Text::marked(word.raw().get(slot.skip..end).unwrap_or_default().to_owned()),
        None if slot.skip == 0 => word.clone(),
        None => word.skip(slot.skip),
    }
}

/// The names that a packed file may have when it is unpacked: without its last ending, or without one that gzip knows beside those with a dot.
fn unpacked(packed: &str) -> impl Iterator<Item = &str> {
    let undotted = ["-gz", "-z", "_z"].into_iter().filter_map(move |ending| {
        let (name, last) = packed.split_at_checked(packed.len().checked_sub(ending.len())?)?;
        last.eq_ignore_ascii_case(ending).then_some(name)
    });
    [packed.rsplit_once('.').map_or(packed, |(name, _)| name)].into_iter().chain(undotted)
}

/// `:3000`, `tcp:3000` for `lsof`, `3000/tcp` for `fuser`: who uses a port is asked, and no file.
fn names_port(program: &str, text: &Text) -> bool {
    let Some(text) = text.whole() else { return false };
    let is_protocol = |name: &str| matches!(name.to_ascii_lowercase().as_str(), "tcp" | "udp" | "sctp");
    let is_port =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '-'));
    match program {
        "lsof" => {
            let named = text.trim_start_matches(['4', '6']).split_once(':');
            named.is_some_and(|(protocol, port)| {
                (protocol.is_empty() || is_protocol(protocol)) && is_port(port)
            })
        }
        "fuser" => {
            text.split_once('/').is_some_and(|(port, protocol)| is_port(port) && is_protocol(protocol))
        }
        _ => false,
    }
}

pub(super) fn access_of(kind: WordKind) -> Option<(Access, Reach)> {
    Some(match kind {
        WordKind::Read => (Access::Read, Reach::Exact),
        WordKind::ReadTree => (Access::Search, Reach::Below),
        WordKind::List => (Access::List, Reach::Exact),
        WordKind::Append => (Access::Append, Reach::Exact),
        WordKind::Write => (Access::Write, Reach::Exact),
        WordKind::WriteTree => (Access::Write, Reach::Below),
        WordKind::Delete => (Access::Delete, Reach::Exact),
        WordKind::DeleteTree => (Access::Delete, Reach::Below),
        WordKind::Link => (Access::Link, Reach::Exact),
        _ => return None,
    })
}

fn is_builder(program: &str) -> bool {
    matches!(
        unversioned(program),
        "gcc"
            | "g++"
            | "cc"
            | "c++"
            | "clang"
            | "clang++"
            | "ld"
            | "as"
            | "rustc"
            | "go"
            | "tsc"
            | "esbuild"
            | "javac"
            | "zig"
            | "cargo"
            | "make"
            | "cmake"
            | "ninja"
            | "bun"
            | "deno"
            | "swc"
            | "ghc"
            | "dotnet"
            | "kotlinc"
            | "nvcc"
            | "ar"
            | "strip"
    )
}

impl Output {
    /// What is printed by a program that nothing more is known of.
    pub(super) fn flow(self) -> Flow {
        match self {
            Output::Nothing => Flow::Nothing,
            Output::Name => Flow::Lines(vec![Text::mark(NAME)]),
            Output::Text | Output::Paths | Output::Input => Flow::Any,
        }
    }
}

/// Whether a host is not an option, and nothing in it means something to the shell that `ssh` starts for a jump.
fn is_plain_host(host: &str) -> bool {
    !host.starts_with('-')
        && !host.contains([';', '|', '&', '$', '`', '\'', '"', '(', ')', '<', '>', ' ', '\n'])
}
