//! Which program a command is, and what its spec says of its words.

use toolgate_model::{Access, Effect, Gap, NodeKind, PathArg, Reach, Run, Target, base_name, shorten};
use toolgate_shell::{Part, Word};

use super::text::{ANY, CLASS, Flow, INNER, NAME, ONE, PIECE, STAR, Text, is_mark};
use super::walk::{Outcome, Status};
use super::{Interpreter, blanked, programs};
use crate::code::{self, Deed};
use crate::spec::{self, Fixed, Kind, Language, Output, Reading, Shown, Slot};

/// Directories whose programs are those of the system, known by their names.
const SYSTEM: [&str; 14] = [
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
    "/snap/bin",
    "/usr/lib/git-core",
    "/opt/conda/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/usr/libexec",
    "/usr/games",
    "/opt/venv/bin",
];

impl<'t> Interpreter<'t, '_> {
    /// Runs a command whose words are expanded. `spelled` are its words as they are written, where there are such.
    pub(super) fn invoke(
        &mut self,
        words: &[Text],
        spelled: Option<&'t [Word<'t>]>,
        outputs: &[String],
    ) -> Outcome {
        let Some(first) = words.first() else { return Outcome::of(Flow::Nothing) };
        let few = words.get(..super::builtins::MAX_FIELDS);
        if few.is_some() {
            self.unknown(Gap::Bounds, "more words than can be told apart");
        }
        let words = few.unwrap_or(words);
        let literal;
        let name = match first.whole() {
            Some(name) => name,
            // A pattern that matches no file is the name itself.
            None if !first.raw().contains([ANY, NAME, PIECE, INNER]) && self.matches_nothing(first) => {
                literal = first.unglobbed();
                literal.raw()
            }
            None if spelled.is_some_and(|words| self.is_named_by_environment(words)) => {
                self.unknown(Gap::Program, "a program that the environment names");
                let run = self.run_of("", words, outputs);
                self.emit(Effect::Run(run));
                self.guess_paths(words);
                return Outcome::of(Flow::Any);
            }
            None => return self.unknown_name(words, outputs),
        };
        let mut aliased = None;
        if spelled.is_some_and(is_bare_name)
            && let Some(body) = self
                .state
                .aliases
                .iter()
                .rev()
                .find(|(known, _)| **known == *name)
                .map(|(_, body)| body.clone())
            && !self.calling.iter().any(|calling| **calling == *name)
        {
            // Whether aliases are on is not known: it may run, and so may what goes by its own name.
            let mut text = Text::known(&body);
            for word in words.iter().skip(1) {
                text.push_raw(" ");
                text.push_raw(&quoted(word));
            }
            let start = self.state.clone();
            self.calling.push(name.into());
            self.text(&text, &format!("alias {name}"));
            self.calling.pop();
            aliased = Some(std::mem::replace(&mut self.state, start));
        }
        let outcome = self.invoke_named(name, words, spelled, outputs);
        if let Some(aliased) = aliased {
            self.state.join(&aliased);
            return Outcome::of(Flow::Any);
        }
        outcome
    }

    fn invoke_named(
        &mut self,
        name: &str,
        words: &[Text],
        spelled: Option<&'t [Word<'t>]>,
        outputs: &[String],
    ) -> Outcome {
        if let Some((bodies, may_lack)) = self.state.function(name) {
            // A word that may be several moves all that come after it.
            let moved = words.iter().enumerate().skip(1).any(|(at, word)| {
                let whole = spelled
                    .and_then(|words| words.get(at))
                    .is_some_and(|word| matches!(word.parts.as_slice(), [Part::Double(_)]));
                word.raw().contains([ANY, NAME, PIECE, INNER]) && !whole
            });
            let start = self.state.clone();
            let mut outcome = Outcome::of(Flow::Nothing);
            let mut ends: Option<super::state::State<'t>> = None;
            for body in bodies {
                self.state = start.clone();
                let next = self.call(name, body, words, moved);
                outcome = Outcome::of(if ends.is_some() { outcome.out.or(&next.out) } else { next.out });
                match &mut ends {
                    Some(ends) => ends.join(&self.state),
                    None => ends = Some(self.state.clone()),
                }
            }
            if may_lack {
                self.state = start;
                self.invoke_program(name, words, spelled, outputs);
                if let Some(ends) = ends {
                    self.state.join(&ends);
                }
                outcome.out = Flow::Any;
            }
            return outcome;
        }
        self.invoke_program(name, words, spelled, outputs)
    }

    fn matches_nothing(&self, pattern: &Text) -> bool {
        let places = self.places(pattern);
        let there = |place: &str| self.scene.world.look(std::path::Path::new(place)).is_ok();
        !places.iter().flatten().any(|(place, _)| there(place) || self.state.written(place).is_some())
    }

    /// `$PROG x`: a plain variable that the command has not touched is the person's own; nothing else may stand in it.
    fn is_named_by_environment(&self, spelled: &[Word<'_>]) -> bool {
        let Some([Part::Parameter(parameter)]) = spelled.first().map(|word| word.parts.as_slice()) else {
            return false;
        };
        let name = parameter.name;
        parameter.operation == toolgate_shell::Operation::None
            && parameter.index.is_none()
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && !name.starts_with("BASH")
            && !matches!(
                name,
                "REPLY" | "COPROC" | "MAPFILE" | "OPTARG" | "PIPESTATUS" | "FUNCNAME" | "DIRSTACK"
            )
            && self.state.get(name).is_none()
            && !self.sourced
    }

    /// Functions aside: `command x`, `env x`, `xargs x`.
    pub(super) fn invoke_program(
        &mut self,
        name: &str,
        words: &[Text],
        spelled: Option<&'t [Word<'t>]>,
        outputs: &[String],
    ) -> Outcome {
        if let Some(outcome) = self.builtin(name, words, spelled, outputs) {
            return outcome;
        }
        let words = self.with_files_as_options(words);
        let spelled = spelled.filter(|spelled| spelled.len() == words.len());
        let before = std::mem::replace(&mut self.spelled, spelled);
        let outcome = self.program(name, &words, outputs);
        self.spelled = before;
        // What a program leaves of the input is some of it, or nothing.
        if let Flow::Text(_) = &self.stdin {
            self.stdin = self.stdin.lines().map_or(Flow::Any, Flow::Lines);
        }
        outcome
    }

    /// `tar cf x.tar *` in a directory that holds a file called `--checkpoint-action=exec=sh f`: a program takes a file
    /// for an option by its name. Files whose names begin with no dash need not be told apart.
    fn with_files_as_options<'w>(&self, words: &'w [Text]) -> std::borrow::Cow<'w, [Text]> {
        let end = words.iter().position(|word| word.raw() == "--").unwrap_or(words.len());
        let is_open = |word: &Text| {
            let raw = word.raw().strip_prefix('-').unwrap_or(word.raw());
            raw.starts_with([STAR, ONE, CLASS, NAME, PIECE, INNER]) && !raw.contains('/')
        };
        let mut all = std::borrow::Cow::Borrowed(words);
        for (at, word) in words.iter().enumerate().take(end).skip(1).rev().filter(|(_, word)| is_open(word)) {
            let fits = |name: &String| super::glob::fits(word.raw(), name) != Some(false);
            let found: Vec<Text> =
                self.dashed_names().iter().filter(|name| fits(name)).map(|name| Text::known(name)).collect();
            if !found.is_empty() {
                all.to_mut().splice(at + 1..=at, found);
            }
        }
        all
    }

    /// Names that begin with a dash in the directory where the command runs: on the disk, or of files that it writes.
    fn dashed_names(&self) -> Vec<String> {
        const MAX_NAMES: usize = 64;
        let listed = |cwd: &str| {
            let there = self.scene.world.list(std::path::Path::new(cwd)).unwrap_or_default();
            let there = there.iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
            let written = self.found.effects.iter().filter_map(|effect| match effect {
                Effect::Use(access, Target { path: PathArg::Text(path), .. }) if access.changes() => {
                    let (directory, name) = path.rsplit_once('/')?;
                    (directory == cwd).then(|| name.to_owned())
                }
                _ => None,
            });
            there.chain(self.made_in(cwd)).chain(written).collect::<Vec<_>>()
        };
        let known = self.state.cwd.iter().filter(|cwd| !cwd.contains(is_mark));
        let names = known.flat_map(|cwd| listed(cwd));
        names.filter(|name| name.starts_with('-')).take(MAX_NAMES).collect()
    }

    fn call(
        &mut self,
        name: &str,
        body: &'t toolgate_shell::Command<'t>,
        words: &[Text],
        moved: bool,
    ) -> Outcome {
        if self.calling.iter().filter(|calling| ***calling == *name).count() >= 2 {
            // What calls itself without end, and beside itself, is meant to.
            let run = Run { program: "fork-bomb".to_owned(), origin: Some(self.origin()), ..Run::default() };
            if forks(body, name) {
                self.emit(Effect::Run(run));
            }
            self.unknown(Gap::ShellCode, &format!("{name} calls itself"));
            return Outcome::of(Flow::Any);
        }
        let positional = self
            .state
            .positional
            .replace(std::rc::Rc::new(words.iter().skip(1).map(|word| vec![word.clone()]).collect()));
        self.calling.push(name.into());
        if moved {
            self.state.positional = None;
        }
        let locals = std::mem::take(&mut self.locals);
        let jumps = std::mem::take(&mut self.jumps);
        let out = self.deeper_command(body);
        for state in std::mem::replace(&mut self.jumps, jumps) {
            self.state.join(&state);
        }
        let mine = std::mem::replace(&mut self.locals, locals);
        for (local, value) in mine.into_iter().rev() {
            self.state.restore(&local, value);
        }
        self.calling.pop();
        self.state.positional = positional;
        Outcome::of(out)
    }

    /// The name itself is only known when it runs.
    fn unknown_name(&mut self, words: &[Text], outputs: &[String]) -> Outcome {
        let shown: Vec<String> = words.iter().map(Text::shown).collect();
        self.unknown(Gap::Name, &shown.join(" "));
        let mut run = self.run_of(&words.first().map(Text::shown).unwrap_or_default(), words, outputs);
        run.program = String::new();
        self.emit(Effect::Run(run));
        self.guess_paths(words);
        Outcome::of(Flow::Any)
    }

    pub(super) fn run_of(&mut self, name: &str, words: &[Text], outputs: &[String]) -> Run {
        let program = base_name(name).to_owned();
        if self.ran.len() < 4096 {
            self.ran.push(program.clone());
        }
        let mut fed_by = self.fed_by.clone();
        fed_by.extend(self.substituted.iter().cloned());
        for piped in &self.pipes {
            if words.iter().any(|word| word.raw() == piped.path) {
                fed_by.extend(piped.ran.iter().cloned());
            }
        }
        Run {
            program,
            words: words.iter().map(|word| shorten(&word.shown(), 200)).collect(),
            fed_by,
            outputs: outputs.to_vec(),
            origin: Some(self.origin()),
            ..Run::default()
        }
    }

    /// A program by its name or its path.
    pub(super) fn program(&mut self, name: &str, words: &[Text], outputs: &[String]) -> Outcome {
        let mut name = name;
        if name.contains('/') {
            let place = self.one_place(&Text::known(name));
            let directory =
                place.as_deref().and_then(|place| place.rsplit_once('/')).map(|(directory, _)| directory);
            let is_system = directory
                .is_some_and(|directory| SYSTEM.contains(&directory) || self.is_toolchain(directory));
            let replaced = place.as_deref().is_some_and(|place| self.state.written(place).is_some());
            if !is_system || replaced {
                return self.run_file(name, words, outputs);
            }
            name = base_name(name);
        } else if let Some(place) = self.found_in_path(name) {
            return self.run_file(&place, words, outputs);
        }
        // `git-push` is `git push`.
        if let Some(sub) =
            name.strip_prefix("git-").filter(|sub| spec::find(name).is_none() && !sub.is_empty())
        {
            let words: Vec<Text> = [Text::known("git"), Text::known(sub)]
                .into_iter()
                .chain(words.iter().skip(1).cloned())
                .collect();
            return self.program("git", &words, outputs);
        }
        if programs::is_shell(name) {
            let mut run = self.run_of(name, words, outputs);
            run.operands = words.iter().skip(1).map(|word| word.whole().map(str::to_owned)).collect();
            self.emit(Effect::Run(run));
            return self.deeper_outcome_of(|shell| shell.shell_program(name, words));
        }
        let Some(spec) = spec::find(name).or_else(|| spec::find(unversioned(name))) else {
            let mut run = self.run_of(name, words, outputs);
            run.operands = words.iter().skip(1).map(|word| word.whole().map(str::to_owned)).collect();
            self.emit(Effect::Run(run));
            self.unknown(Gap::Program, name);
            self.guess_paths(words);
            self.secrets_given(words.get(1..).unwrap_or_default());
            self.given_to_unknown(name, words);
            return Outcome::of(Flow::Any);
        };
        self.deeper_outcome_of(|shell| shell.described(name, spec, words, outputs))
    }

    fn deeper_outcome_of(&mut self, run: impl FnOnce(&mut Self) -> Outcome) -> Outcome {
        let mut outcome = None;
        self.deeper(|shell| outcome = Some(run(shell)));
        outcome.unwrap_or(Outcome { out: Flow::Any, status: Status::Either })
    }

    /// Toolchains of the home keep programs that are known by their names too.
    fn is_toolchain(&self, directory: &str) -> bool {
        let Some(rest) = self.scene.home.and_then(|home| directory.strip_prefix(home)) else { return false };
        matches!(rest, "/.cargo/bin" | "/.local/bin" | "/go/bin" | "/.bun/bin" | "/.deno/bin" | "/bin")
            || [
                "/.nvm/",
                "/.rustup/",
                "/.pyenv/",
                "/.volta/",
                "/.rbenv/",
                "/.asdf/",
                "/.local/share/mise/",
                "/miniconda3/",
            ]
            .iter()
            .any(|start| rest.starts_with(start))
    }

    /// A program of this name in a directory that the command has put into `PATH`, or that it has written itself.
    pub(super) fn found_in_path(&self, name: &str) -> Option<String> {
        if let Some((_, path)) = self.state.hashed.iter().rev().find(|(known, _)| **known == *name) {
            return Some(path.to_string());
        }
        self.state.path.iter().take(16).find_map(|directory| {
            let place = format!("{directory}/{name}");
            let there = self.state.written(&place).is_some()
                || self.scene.world.look(std::path::Path::new(&place)).is_ok();
            there.then_some(place)
        })
    }

    // ── what a spec says ────────────────────────────────────────────────────────────────────────────────────────────

    fn described(
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
        self.emit(Effect::Run(run));
        let entered = self.enter(&reading, arguments);
        let outcome = match programs::handler(self, &program, &reading, words) {
            Some(outcome) => outcome,
            None => self.apply(&program, &reading, words),
        };
        if let Some(cwd) = entered {
            self.state.cwd = cwd;
        }
        outcome
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
        let known = |at: &usize| arguments.get(*at).and_then(Text::whole).map(str::to_owned);
        run.operands = reading.operands.iter().map(known).collect();
        run
    }

    /// A directory that the command itself changes into. Returns the one to go back to.
    fn enter(&mut self, reading: &Reading, arguments: &[Text]) -> Option<Vec<std::rc::Rc<str>>> {
        let before = self.state.cwd.clone();
        let mut entered = false;
        for (kind, slot) in &reading.uses {
            if *kind == Kind::Enter {
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
        for (_, slot) in reading.uses.iter().filter(|(kind, _)| *kind == Kind::Into) {
            let target = slot_text(arguments, slot);
            self.touch(Access::Enter, Reach::Exact, &target);
            self.state.cwd = self.directories(&target);
        }
        let inside = self.state.cwd.clone();
        let mut joined: Vec<Text> = Vec::new();
        for (kind, slot) in &reading.uses {
            let text = slot_text(arguments, slot);
            if *kind == Kind::Shell && reading.operands.contains(&slot.word) {
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
            let text = super::builtins::spaced_as_is(&joined);
            out = Some(self.forked(|shell| shell.text(&text, program)));
        }
        for fixed in &reading.effects {
            self.fixed(program, fixed);
        }
        // Code on standard input, for programs that read it where they are given none.
        let given =
            reading.uses.iter().any(|(kind, _)| matches!(kind, Kind::Script(_) | Kind::Code(_) | Kind::Read));
        if let (Some(language), false, true) =
            (reading.spec.stdin_code(), given, self.stdin != Flow::Any || !self.fed_by.is_empty())
        {
            let stdin = self.stdin.clone();
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
        if program == "patch" || (program == "git" && matches!(reading.sub.first(), Some(&"apply" | &"am"))) {
            self.applied(reading, arguments);
        }
        self.state.cwd = outside;
        Outcome::of(out)
    }

    /// The files that a patch names, where the patch can be seen: in a here-document, or in a small file.
    fn applied(&mut self, reading: &Reading, arguments: &[Text]) {
        let Flow::Text(patch) = self.input_of(reading, arguments) else { return };
        let Some(patch) = patch.whole().map(str::to_owned) else { return };
        let value = |names: &[&str]| {
            let given = reading.options.iter().find(|given| names.contains(&given.name));
            given.and_then(|given| given.value).map(|slot| slot_text(arguments, &slot).raw().to_owned())
        };
        let below = value(&["--directory"]);
        let more = value(&["-p", "--strip"])
            .and_then(|count| count.parse::<usize>().ok())
            .unwrap_or(1)
            .saturating_sub(1);
        for (access, name) in toolgate_model::patched(&patch) {
            let stripped = name.splitn(more + 1, '/').last().unwrap_or(name);
            for name in [name, stripped] {
                let path = below.as_ref().map_or_else(|| name.to_owned(), |below| format!("{below}/{name}"));
                self.touch(access, Reach::Exact, &Text::known(&path));
            }
        }
    }

    fn fixed(&mut self, program: &str, fixed: &Fixed) {
        match fixed {
            // A toolchain's store is its own to fill; what it puts there is as much the project's as what it builds.
            Fixed::Use(Kind::Append | Kind::Write | Kind::WriteTree, path) if is_store(path) => {
                self.unknown(Gap::Project, &format!("{program} fills {path}"));
            }
            Fixed::Use(kind, path) => {
                let path = match path.strip_prefix("~/") {
                    Some(rest) => Text::known(&format!("{}/{rest}", self.scene.home.unwrap_or("/home"))),
                    None => Text::known(path),
                };
                if let Some((access, reach)) = access_of(*kind) {
                    self.touch(access, reach, &path);
                }
            }
            Fixed::Connect => self.emit(Effect::Connect),
            Fixed::Project => {
                self.unknown(Gap::Project, program);
                self.scan_written();
            }
            Fixed::RepoRead => self.touch(Access::Search, Reach::Below, &Text::known(".")),
            Fixed::RepoWrite => self.touch(Access::Write, Reach::Below, &Text::known(".")),
            Fixed::Unknown => self.unknown(Gap::Code, program),
            Fixed::Foreign => self.unknown(Gap::Program, program),
        }
    }

    /// One word by its kind. Some kinds say what is printed.
    fn apply_one(
        &mut self,
        program: &str,
        kind: Kind,
        text: &Text,
        words: &[Text],
        slot: &Slot,
    ) -> Option<Flow> {
        // `ln` tells where its links lead from the directory that they lie in.
        if kind == Kind::Link && matches!(program, "ln" | "gln") {
            if let Some(word) = self.spelled.and_then(|words| words.get(slot.word + 1)) {
                self.tell_spelling(Access::Link, text, word);
            }
            return None;
        }
        if let Some((access, reach)) = access_of(kind) {
            let spelled = self.spelled.and_then(|words| words.get(slot.word + 1));
            if let (true, Some(word)) = (access.changes() || access == Access::Link, spelled) {
                self.tell_spelling(access, text, word);
            }
            self.touch(access, reach, text);
            if access == Access::Delete
                && let Some(place) = self.one_place(text)
            {
                self.state.files.retain(|(path, _)| **path != *place);
            }
            if access == Access::Delete
                && let Some(place) = self.one_place(text)
            {
                self.state
                    .made
                    .retain(|made| toolgate_model::below(place.as_bytes(), made.as_bytes()).is_none());
                self.state.gone.push(place.as_str().into());
            }
            if access == Access::Write {
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
            return None;
        }
        match kind {
            Kind::Beside => {
                // `gzip x` makes `x.gz`, `gunzip x.gz` makes `x`.
                let base = text.raw().rsplit_once('.').map_or(text.raw(), |(base, _)| base);
                self.touch(Access::Write, Reach::Exact, &Text::marked(base.to_owned()));
                self.touch(Access::Write, Reach::Exact, &Text::marked(format!("{}.…", text.raw())));
                None
            }
            Kind::Shell => Some(self.forked(|shell| shell.text(text, program))),
            Kind::Program => {
                let out = self.inside(program, "", |shell| {
                    shell.forked(|shell| shell.invoke(std::slice::from_ref(text), None, &[]).out)
                });
                Some(out)
            }
            Kind::Code(Language::Shell) => Some(self.forked(|shell| shell.text(text, program))),
            Kind::Code(language) => {
                self.inline(program, language, text);
                None
            }
            Kind::Script(Language::Shell) => {
                let rest = words.get(slot.word + 2..).unwrap_or_default().to_vec();
                Some(self.forked(|shell| shell.run_script(text, &rest)))
            }
            Kind::Script(language) => {
                self.touch(Access::Read, Reach::Exact, text);
                self.foreign_script(program, language, text);
                None
            }
            Kind::Sed | Kind::Awk => {
                match text.whole() {
                    Some(code) => {
                        let deeds = if kind == Kind::Sed { code::sed(code) } else { code::awk(code) };
                        self.deeds(program, deeds);
                    }
                    None => self.partly_known_program(program, kind, text),
                }
                None
            }
            Kind::Assign => {
                self.assign_environment(text);
                None
            }
            Kind::Host => {
                self.emit(Effect::Connect);
                if let Some(path) = text.head().strip_prefix("file://") {
                    self.touch(Access::Read, Reach::Exact, &Text::marked(path.to_owned()));
                }
                None
            }
            _ => None,
        }
    }

    /// What a file holds after a program has written it.
    fn wrote(&mut self, program: &str, path: &Text) {
        const KEEP: [&str; 9] =
            ["chmod", "chown", "chgrp", "touch", "setfacl", "chattr", "mkdir", "ln", "tee"];
        if KEEP.contains(&program) {
            return;
        }
        let Some(place) = self.one_place(path) else {
            self.lost = true;
            return;
        };
        if self.state.written(&place).is_some() {
            self.state.write(&place, Flow::Any);
        } else if self.scene.world.look(std::path::Path::new(&place)).is_err() {
            self.state.write(&place, if is_builder(program) { Flow::Built } else { Flow::Any });
        }
    }

    /// A sed or awk program with a variable in it: the variable could hold anything, so what stands around it is read with
    /// a plain word in its place, and the rest is the variable's.
    fn partly_known_program(&mut self, program: &str, kind: Kind, text: &Text) {
        let read = |blank: char| {
            let filled: String = text.raw().chars().map(|c| if is_mark(c) { blank } else { c }).collect();
            if kind == Kind::Sed { code::sed(&filled) } else { code::awk(&filled) }
        };
        let unread = |deeds: &[Deed]| deeds.iter().any(|deed| matches!(deed, Deed::Unknown(_)));
        // A line number or a word: whichever makes sense of the rest.
        let as_word = read('X');
        let deeds = if unread(&as_word) { read('1') } else { as_word };
        self.deeds(program, deeds);
        if text.raw().starts_with(ANY) || (kind == Kind::Awk && text.has_any()) {
            self.unknown(Gap::Code, &format!("{program} {}", text.shown()));
        }
    }

    fn wrapped(&mut self, program: &str, rest: &[Text]) -> Flow {
        if rest.is_empty() {
            return Flow::Any;
        }
        let (exported, path) = (self.state.exported.clone(), self.state.path.clone());
        let out = self.inside(program, "", |shell| {
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
        (self.state.exported, self.state.path) = (exported, path);
        out
    }

    // ── code ────────────────────────────────────────────────────────────────────────────────────────────────────────

    /// Code of another language in a word or on standard input.
    pub(super) fn inline(&mut self, program: &str, language: Language, text: &Text) {
        let filled;
        let code = match text.whole() {
            Some(code) => code,
            None => {
                // A shell variable inside of the code: what is around it is scanned, and it could be anything.
                filled = blanked(text);
                if text.has_any() {
                    self.unknown(Gap::Code, &format!("{program} {}", shorten(&text.shown(), 60)));
                }
                &filled
            }
        };
        let deeds = code::scan(code_language(language), code);
        self.deeds(program, deeds);
        if language == Language::Python && self.shadows_python(&self.state.cwd) {
            self.unknown(Gap::Project, &format!("{program} with modules of the working directory"));
        }
        self.scan_written();
    }

    pub(super) fn deeds(&mut self, program: &str, deeds: Vec<Deed>) {
        let before = self.state.cwd.clone();
        for deed in deeds {
            let (access, path) = match deed {
                Deed::Read(path) => (Access::Read, path),
                Deed::List(path) => (Access::List, path),
                Deed::Write(path) => (Access::Write, path),
                Deed::Delete(path) => (Access::Delete, path),
                Deed::Enter(path) => (Access::Enter, path),
                Deed::Shell(text) => {
                    self.forked(|shell| shell.text(&Text::known(&text), program));
                    continue;
                }
                Deed::Run(words) => {
                    let words: Vec<Text> = words.iter().map(|word| Text::known(word)).collect();
                    let name = words.first().map(|word| word.raw().to_owned()).unwrap_or_default();
                    self.inside(program, "", |shell| {
                        shell.forked(|shell| shell.invoke_program(&name, &words, None, &[]).out)
                    });
                    continue;
                }
                Deed::Connect => {
                    self.emit(Effect::Connect);
                    continue;
                }
                Deed::Project => {
                    self.unknown(Gap::Project, program);
                    continue;
                }
                Deed::Unknown(why) => {
                    self.unknown(Gap::Code, &format!("{program}: {why}"));
                    continue;
                }
            };
            match path {
                code::Path::Known(path) => {
                    let path = self.tilde(&path);
                    self.touch(access, Reach::Exact, &path);
                    if access == Access::Write {
                        self.wrote(program, &path);
                    }
                    if access == Access::Enter {
                        self.state.cwd = self.directories(&path);
                    }
                }
                code::Path::Below(path) => {
                    let path = self.tilde(&path);
                    self.touch(access, Reach::Below, &path);
                }
                code::Path::Unknown => self.unknown(Gap::Path(access), &format!("a path in {program} code")),
            }
        }
        self.state.cwd = before;
    }

    /// A tilde that a program expands itself.
    pub(super) fn tilde(&self, path: &str) -> Text {
        match path.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                Text::known(&format!("{}{rest}", self.scene.home.unwrap_or("/home")))
            }
            _ => Text::known(path),
        }
    }

    // ── guesses ─────────────────────────────────────────────────────────────────────────────────────────────────────

    /// Words of a program that nobody described: whatever looks like a path could be written.
    pub(super) fn guess_paths(&mut self, words: &[Text]) {
        for word in words.iter().skip(usize::from(words.len() > 1)) {
            // Prose is no path. A text of several lines is no prose: it may be code.
            if word.raw().contains(' ') && !word.raw().contains('\n') {
                continue;
            }
            let cut = ['=', ',', ':', '@', ';', '|', '<', '>', '(', ')', '"', '\'', ' ', '\n', '\t'];
            let pieces: Vec<String> = word.raw().split(cut).map(str::to_owned).collect();
            for piece in pieces {
                let outside =
                    piece.starts_with('/') || piece.starts_with("~/") || piece == "~" || climbs(&piece);
                let named = piece.contains(char::is_alphanumeric) || piece.contains("..");
                if outside && named && !piece.starts_with("//") && !is_device(&piece) {
                    self.guess_path(&piece);
                }
            }
        }
    }

    /// A program that nobody described could print a file of secrets that it is given: `Get-Content .env`.
    pub(super) fn secrets_given(&mut self, words: &[Text]) {
        for word in words.iter().filter(|word| !word.raw().contains([' ', '\n'])) {
            let path = word.raw().rsplit(['=', '@']).next().unwrap_or_default();
            if super::is_named_secret(path) {
                self.touch(Access::Read, Reach::Exact, &Text::marked(path.to_owned()));
            }
        }
    }

    fn guess_path(&mut self, piece: &str) {
        let path = self.tilde_marked(piece);
        if path.has_any() {
            return;
        }
        for (place, reach) in self.places(&path).into_iter().flatten() {
            let within = self.scene.cwd.is_some_and(|cwd| {
                toolgate_model::below(cwd.as_bytes(), place.as_bytes()).is_some() && !climbs(&place)
            });
            if !within {
                self.guess(place, reach);
            }
        }
    }

    /// What a program that nobody described is given: its input could be commands, and a script that the command has just
    /// written is there to be run.
    fn given_to_unknown(&mut self, name: &str, words: &[Text]) {
        if let Flow::Text(text) = self.stdin.clone() {
            if name == "apply_patch" {
                self.patched(&text);
            } else {
                self.guess_paths(&[Text::known(name), text]);
            }
        }
        for word in words.iter().skip(1) {
            let Some(place) = self.one_place(word) else { continue };
            if let Some(Flow::Text(text)) = self.state.written(&place).cloned()
                && text.raw().starts_with("#!")
            {
                self.forked(|shell| shell.run_script(word, &[]));
            }
        }
    }

    /// The files that a patch names.
    fn patched(&mut self, text: &Text) {
        for line in text.raw().lines() {
            let named = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
            if let Some(path) = named.iter().find_map(|start| line.strip_prefix(start)) {
                let path = Text::marked(path.trim().to_owned());
                self.touch(Access::Write, Reach::Exact, &path);
            }
        }
    }

    /// The same for a path of which not all is known.
    pub(super) fn tilde_marked(&self, path: &str) -> Text {
        match path.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                Text::marked(format!("{}{rest}", self.scene.home.unwrap_or("/home")))
            }
            _ => Text::marked(path.to_owned()),
        }
    }

    fn guess(&mut self, place: String, reach: Reach) {
        let origin = Some(self.origin());
        let path = toolgate_model::PathArg::Text(place.into());
        let target = toolgate_model::Target { param: "command".into(), path, reach, guess: true, origin };
        self.emit(Effect::Use(Access::Write, target));
    }

    pub(super) fn is_directory(&self, place: &str) -> bool {
        let mut at = place.to_owned();
        for _ in 0..8 {
            match self.scene.world.look(std::path::Path::new(&at)).map(|node| node.kind) {
                Ok(NodeKind::Directory) => return true,
                Ok(NodeKind::Link(target)) => {
                    let base = at.rsplit_once('/').map_or("", |(above, _)| above);
                    at = match target.to_str() {
                        Some(target) if target.starts_with('/') => target.to_owned(),
                        Some(target) => format!("{base}/{target}"),
                        None => return false,
                    };
                }
                _ => return false,
            }
        }
        false
    }

    /// The directories that a path may name.
    pub(super) fn directories(&self, target: &Text) -> Vec<std::rc::Rc<str>> {
        let mut all = Vec::new();
        for place in self.places(target) {
            match place {
                Some((place, Reach::Exact)) => {
                    let clean = toolgate_model::clean(std::path::Path::new(&place));
                    all.push(std::rc::Rc::from(clean.to_string_lossy().as_ref()));
                }
                // Somewhere below: kept as a path with a mark in it.
                Some((place, Reach::Below)) => {
                    all.push(std::rc::Rc::from(format!("{place}/{INNER}").as_str()));
                }
                None => return Vec::new(),
            }
        }
        if all.len() > 4 { Vec::new() } else { all }
    }
}

/// Where toolchains of the home keep what they fetch and build.
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
    let Some(rest) = path.strip_prefix("~/") else { return false };
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

pub(super) fn access_of(kind: Kind) -> Option<(Access, Reach)> {
    Some(match kind {
        Kind::Read => (Access::Read, Reach::Exact),
        Kind::ReadTree => (Access::Search, Reach::Below),
        Kind::List => (Access::List, Reach::Exact),
        Kind::Append => (Access::Append, Reach::Exact),
        Kind::Write => (Access::Write, Reach::Exact),
        Kind::WriteTree => (Access::Write, Reach::Below),
        Kind::Delete => (Access::Delete, Reach::Exact),
        Kind::DeleteTree => (Access::Delete, Reach::Below),
        Kind::Link => (Access::Link, Reach::Exact),
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

pub(super) fn code_language(language: Language) -> code::Language {
    match language {
        Language::Python => code::Language::Python,
        Language::Node => code::Language::Node,
        Language::Perl => code::Language::Perl,
        Language::Ruby => code::Language::Ruby,
        Language::Php => code::Language::Php,
        Language::Lua => code::Language::Lua,
        Language::Shell | Language::Other => code::Language::Other,
    }
}

fn is_device(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
        || path.starts_with("/dev/fd/")
}

fn climbs(piece: &str) -> bool {
    piece == ".." || piece.starts_with("../") || piece.contains("/../") || piece.ends_with("/..")
}

/// `python3.11`, `gcc-12`, `clang-15`: the program without its version.
fn unversioned(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-')
}

/// A word as the shell would have to be given it.
pub(super) fn quoted(word: &Text) -> String {
    format!("'{}'", word.raw().replace('\'', "'\\''"))
}

fn is_bare_name(spelled: &[Word<'_>]) -> bool {
    matches!(spelled.first().map(|word| word.parts.as_slice()), Some([Part::Bare(_)]))
}

/// Whether a body calls its own name beside itself: in a pipeline or in the background.
fn forks(body: &toolgate_shell::Command<'_>, name: &str) -> bool {
    use toolgate_shell::Kind as K;
    let (K::Group(list) | K::Subshell(list)) = &body.kind else { return true };
    list.items.iter().any(|item| {
        let own = |command: &toolgate_shell::Command<'_>| match &command.kind {
            K::Simple { words, .. } => words
                .first()
                .is_some_and(|word| matches!(word.parts.as_slice(), [Part::Bare(text)] if text == name)),
            _ => false,
        };
        let pipelines = std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline));
        pipelines.into_iter().any(|pipeline| {
            pipeline.commands.iter().any(own)
                && (item.background || pipeline.commands.len() > 1 || list.items.len() > 1)
        })
    })
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
