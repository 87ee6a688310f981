//! What the shell does itself.

use std::rc::Rc;

use toolgate_model::{Access, DirectoryChange, ExpandedTarget, Gap, Origin, Reach};
use toolgate_shell::{Part, Word};

use super::state::Variable;
use super::text::{ANY, Choices, Flow, NAME, Text, either, is_mark};
use super::walk::{Outcome, Status};
use super::{Interpreter, output};

impl<'t> Interpreter<'t, '_> {
    /// Runs a builtin; `None` if there is none of this name.
    #[expect(clippy::too_many_lines, reason = "one arm a builtin")]
    pub(super) fn builtin(
        &mut self,
        name: &str,
        words: &[Text],
        spelled: Option<&'t [Word<'t>]>,
        outputs: &[String],
    ) -> Option<Outcome> {
        let arguments = words.get(1..).unwrap_or_default();
        let outcome = match name {
            ":" | "true" => Outcome::sure(Flow::Nothing),
            "false" => Outcome { out: Flow::Nothing, status: Status::Fails },
            "cd" | "chdir" => self.cd(arguments, spelled),
            // Plain shells know neither; then nothing moves.
            "pushd" | "popd" if self.state.plain => {
                self.unknown(Gap::Program, name);
                Outcome::of(Flow::Any)
            }
            "pushd" => self.pushd(arguments, spelled),
            "popd" if !arguments.is_empty() => {
                self.unknown(Gap::Path(Access::Enter), "popd");
                self.state.cwd.clear();
                Outcome::of(Flow::Any)
            }
            "popd" => self.popd(),
            "pwd" => Outcome::sure(match self.variable_texts("PWD").as_slice() {
                [cwd] => Flow::line(cwd),
                _ => Flow::Any,
            }),
            "eval" => {
                let text = spaced(arguments);
                Outcome::of(self.text(&text, "eval"))
            }
            "source" | "." => {
                let (script, rest) = arguments.split_first()?;
                if let Some(found) = script
                    .whole()
                    .filter(|name| !name.contains('/'))
                    .and_then(|name| self.found_in_path(name))
                {
                    let found = Text::known(&found);
                    self.run_script(&found, rest);
                }
                Outcome::of(self.run_script(script, rest))
            }
            "exec" => self.exec(arguments, outputs),
            "command" | "builtin" => self.command_builtin(name, arguments, outputs),
            "trap" => self.trap(arguments),
            "export" | "declare" | "typeset" | "local" | "readonly" => self.declare(name, arguments, spelled),
            "unset" => self.unset(arguments),
            "set" => self.set(arguments),
            "shift" => self.shift(arguments),
            "read" => self.read(arguments),
            "mapfile" | "readarray" => self.mapfile(arguments),
            "printf" => self.printf(arguments),
            "echo" => Outcome::sure(output::echo(arguments)),
            "let" => {
                for argument in arguments {
                    self.evaluate(argument.unglobbed().raw());
                }
                Outcome::of(Flow::Nothing)
            }
            "test" | "[" => {
                self.test_builtin(arguments);
                Outcome::of(Flow::Nothing)
            }
            "alias" => self.alias(arguments),
            "unalias" => {
                self.state
                    .aliases
                    .retain(|(name, _)| !arguments.iter().any(|argument| argument.raw() == &**name));
                Outcome::sure(Flow::Nothing)
            }
            "getopts" => {
                for name in arguments.get(1).and_then(Text::whole).into_iter().chain(["OPTARG", "OPTIND"]) {
                    self.state.set(name, Variable::unknown());
                }
                Outcome::of(Flow::Nothing)
            }
            "enable" if arguments.iter().any(|argument| argument.raw().starts_with("-f")) => {
                self.unknown(Gap::Code, "enable -f");
                self.guess_paths(words);
                Outcome::of(Flow::Nothing)
            }
            "hash" => {
                // `hash -p /path name`: the name is another program from now on.
                if arguments
                    .iter()
                    .any(|argument| argument.raw().starts_with("-p") && argument.raw().len() > 2)
                {
                    self.unknown(Gap::ShellCode, "hash -p");
                }
                if let Some(at) = arguments.iter().position(|argument| argument.raw() == "-p")
                    && let (Some(path), Some(name)) = (arguments.get(at + 1), arguments.get(at + 2))
                {
                    match (name.whole(), self.one_place(path)) {
                        (Some(name), Some(path)) => {
                            self.state.hashed.push((Rc::from(name), Rc::from(path.as_str())));
                        }
                        _ => self.unknown(Gap::ShellCode, "hash -p"),
                    }
                }
                Outcome::of(Flow::Nothing)
            }
            "history" => {
                for flag in ["-w", "-a", "-r", "-n"] {
                    if let Some(at) = arguments.iter().position(|argument| argument.raw() == flag) {
                        let path =
                            arguments.get(at + 1).cloned().unwrap_or_else(|| self.tilde("~/.bash_history"));
                        let access = if matches!(flag, "-w" | "-a") { Access::Write } else { Access::Read };
                        self.touch(access, Reach::Exact, &path);
                    }
                }
                Outcome::of(Flow::Any)
            }
            "fc" => {
                self.unknown(Gap::ShellCode, "fc");
                Outcome::of(Flow::Any)
            }
            "complete" | "compgen" => {
                for argument in arguments {
                    self.expand_again(argument.raw());
                }
                for flag in ["-C", "-F"] {
                    if let Some(at) = arguments.iter().position(|argument| argument.raw() == flag)
                        && let Some(text) = arguments.get(at + 1).cloned()
                    {
                        self.forked(|shell| shell.text(&text, name));
                    }
                }
                Outcome::of(Flow::Any)
            }
            "bind" => {
                for argument in arguments {
                    if let Some((_, text)) = argument.raw().split_once(':') {
                        let text = Text::marked(text.trim().trim_matches('"').to_owned());
                        self.forked(|shell| shell.text(&text, "bind"));
                    }
                }
                Outcome::of(Flow::Nothing)
            }
            "jobs" if arguments.first().is_some_and(|argument| argument.raw() == "-x") => {
                self.invoke_without_functions(arguments.get(1..).unwrap_or_default(), outputs)
            }
            "caller" | "dirs" | "type" | "times" | "jobs" | "help" => {
                // `type` prints a file in the shells of Windows, whose commands come here too.
                self.secrets_given(arguments);
                Outcome::of(Flow::Any)
            }
            "return" | "break" | "continue" => {
                self.left = true;
                // The shell goes on elsewhere with what it has now.
                if self.jumps.len() < 16 {
                    self.jumps.push(self.state.clone());
                } else {
                    self.unknown(Gap::Bounds, "more ways out than can be followed");
                }
                Outcome::of(Flow::Nothing)
            }
            "wait" => {
                for argument in arguments {
                    if let Some((_, index)) = argument.raw().split_once('[') {
                        self.evaluate(index.trim_end_matches(']'));
                    }
                }
                Outcome::of(Flow::Nothing)
            }
            "umask" | "ulimit" => Outcome::of(Flow::Any),
            "enable" => {
                // A builtin that is switched off is a program from then on.
                self.unknown(Gap::ShellCode, "enable");
                Outcome::of(Flow::Any)
            }
            "exit" => {
                for text in self.traps.clone() {
                    self.forked(|shell| shell.text(&text, "trap"));
                }
                self.left = true;
                Outcome::of(Flow::Nothing)
            }
            "logout" | "fg" | "bg" | "disown" | "suspend" | "compopt" => Outcome::of(Flow::Nothing),
            "shopt" => {
                const CHANGE: [&str; 9] = [
                    "lastpipe",
                    "cdable_vars",
                    "execfail",
                    "nocasematch",
                    "nocaseglob",
                    "dotglob",
                    "xpg_echo",
                    "autocd",
                    "restricted_shell",
                ];
                self.state.nullglob |= arguments.iter().any(|argument| argument.raw() == "nullglob");
                self.state.globstar |= arguments.iter().any(|argument| argument.raw() == "globstar");
                self.state.dots_match |= arguments.iter().any(|argument| argument.raw() == "globskipdots");
                if arguments.iter().any(|argument| CHANGE.contains(&argument.raw()) || !argument.is_known()) {
                    self.unknown(Gap::ShellCode, "shopt");
                }
                Outcome::of(Flow::Nothing)
            }
            _ => return None,
        };
        // Those that the packs have rules for are told as runs.
        self.told(name, words, outputs);
        Some(outcome)
    }

    fn told(&mut self, name: &str, words: &[Text], outputs: &[String]) {
        let mut run = self.run_of(name, words, outputs);
        run.operands = words.iter().skip(1).map(|word| word.whole().map(str::to_owned)).collect();
        self.emit(toolgate_model::Effect::Run(run));
    }

    // ── directories ─────────────────────────────────────────────────────────────────────────────────────────────────

    fn cd(&mut self, arguments: &[Text], spelled: Option<&'t [Word<'t>]>) -> Outcome {
        let mut operands: Vec<(usize, &Text)> = Vec::new();
        let mut physical = self.state.physical;
        let mut odd = false;
        let mut ended = false;
        for (at, argument) in arguments.iter().enumerate() {
            match argument.raw() {
                "--" if !ended => ended = true,
                option if !ended && option.len() > 1 && option.starts_with('-') && option != "-" => {
                    physical |= option.contains('P');
                    odd |= !option.chars().skip(1).all(|c| matches!(c, 'L' | 'P'));
                }
                _ => operands.push((at, argument)),
            }
        }
        let before = self.state.cwd.clone();
        odd |= operands.len() > 1 || !self.bare_command;
        let (place, target) = match operands.first() {
            Some((at, target)) => (Some(*at), (*target).clone()),
            None => (None, self.home_of("")),
        };
        let word = place.and_then(|at| spelled.and_then(|words| words.get(at + 1)));
        self.change_told(place.is_none(), &target, word);
        if target.raw() == "-" {
            let previous = self.state.previous.clone();
            return match previous {
                Some(cwd) => {
                    for directory in &cwd {
                        self.touch(Access::Enter, Reach::Exact, &Text::marked(directory.to_string()));
                    }
                    self.moved(before, cwd);
                    Outcome::sure(Flow::Any)
                }
                // Where the shell was before this command is not known.
                None => {
                    self.unknown(Gap::Path(Access::Enter), "cd -");
                    self.moved(before, Vec::new());
                    Outcome::of(Flow::Any)
                }
            };
        }
        if target.is_empty() {
            return Outcome::of(Flow::Nothing);
        }
        // With `nullglob` a pattern without a match is no word at all.
        if self.state.nullglob && target.raw().contains(is_mark) {
            self.unknown(Gap::Path(Access::Enter), &target.shown());
        }
        // `CDPATH` sends a plain name somewhere else.
        let plain = !["/", "./", "../"].iter().any(|start| target.raw().starts_with(start))
            && !matches!(target.raw(), "." | "..");
        if plain && matches!(self.state.get("CDPATH"), Some(Variable::Array(_) | Variable::Reference(_))) {
            self.unknown(Gap::Path(Access::Enter), "CDPATH");
        }
        if plain && let Some(Variable::Scalar(paths)) = self.state.get("CDPATH").cloned() {
            let mut cwd: Vec<Rc<str>> = self.directories(&target);
            for base in
                paths.iter().flat_map(|paths| paths.raw().split(':').map(str::to_owned).collect::<Vec<_>>())
            {
                let place = Text::marked(format!("{base}/{}", target.raw()));
                self.touch(Access::Enter, Reach::Exact, &place);
                cwd.extend(self.directories(&place));
            }
            self.moved(before, cwd);
            return Outcome::of(Flow::Any);
        }
        self.touch(Access::Enter, Reach::Exact, &target);
        let mut cwd = self.directories(&target);
        if physical {
            cwd = self.physical(&target);
        }
        let sure = !odd
            && match cwd.as_slice() {
                [only] if !only.contains(is_mark) => {
                    let gone = self
                        .state
                        .gone
                        .iter()
                        .any(|gone| toolgate_model::below(gone.as_bytes(), only.as_bytes()).is_some());
                    self.state.made.contains(only) || (self.is_directory(only) && !gone)
                }
                _ => false,
            };
        let earlier = self.state.previous.clone();
        self.moved(before.clone(), cwd);
        if sure {
            return Outcome::sure(Flow::Nothing);
        }
        self.pending = Some((before, earlier));
        Outcome::of(Flow::Nothing)
    }

    /// `cd -P`: links are followed before `..` is.
    fn physical(&self, target: &Text) -> Vec<Rc<str>> {
        let resolver = toolgate_model::Resolver::new(self.scene.world, None, None);
        let walked = |place: Option<(String, Reach)>| {
            let (path, _) = place?;
            let walked = resolver.walk(path.into()).ok()?;
            Some(Rc::from(walked.physical.to_str()?))
        };
        let all: Option<Vec<Rc<str>>> = self.places(target).into_iter().map(walked).collect();
        all.unwrap_or_default()
    }

    fn moved(&mut self, before: Vec<Rc<str>>, cwd: Vec<Rc<str>>) {
        self.state.previous = Some(before);
        self.state.cwd = cwd;
    }

    fn pushd(&mut self, arguments: &[Text], spelled: Option<&'t [Word<'t>]>) -> Outcome {
        let target = arguments.iter().find(|argument| !argument.raw().starts_with('-'));
        let rotates = target.is_none_or(|target| target.raw().starts_with('+'));
        if rotates {
            if arguments.iter().any(|argument| argument.raw().contains(|c: char| c.is_ascii_digit())) {
                self.unknown(Gap::Path(Access::Enter), "pushd");
                self.state.cwd.clear();
                return Outcome::of(Flow::Any);
            }
            let before = self.state.cwd.clone();
            let (top, _) = self.state.stack.pop().unwrap_or_default();
            self.state.stack.push((before.clone(), false));
            self.moved(before, top);
            return Outcome::of(Flow::Any);
        }
        let before = self.state.cwd.clone();
        let outcome = self.cd(arguments, spelled);
        self.state.stack.push((before, outcome.status == Status::Succeeds));
        outcome
    }

    fn popd(&mut self) -> Outcome {
        let before = self.state.cwd.clone();
        let origin = Some(self.origin());
        let text = "popd".to_owned();
        let change =
            DirectoryChange { text, home: false, previous: true, dynamic: false, glob: false, origin };
        self.found.changes.push(change);
        match self.state.stack.pop() {
            Some((cwd, sure)) => {
                for directory in &cwd {
                    self.touch(Access::Enter, Reach::Exact, &Text::marked(directory.to_string()));
                }
                self.moved(before.clone(), cwd);
                // Where there was nothing to go back from, the shell stays.
                if !sure {
                    self.pending = Some((before, None));
                    self.state.previous = None;
                }
            }
            None => self.unknown(Gap::Path(Access::Enter), "popd"),
        }
        Outcome::of(Flow::Any)
    }

    /// Tells the spelling of a change of directory, for rules that go by it.
    fn change_told(&mut self, bare: bool, target: &Text, word: Option<&'t Word<'t>>) {
        let text = if bare { String::new() } else { target.shown() };
        let spelling = word.map_or_else(Spelling::default, Spelling::of);
        let change = DirectoryChange {
            home: bare || spelling.lone_tilde,
            previous: !bare && target.raw() == "-",
            dynamic: spelling.dynamic,
            glob: spelling.glob,
            text,
            origin: Some(self.origin()),
        };
        self.found.changes.push(change);
    }

    /// A written target, with its spelling.
    pub(super) fn touch_spelled(&mut self, access: Access, target: &Text, word: &'t Word<'t>) {
        self.tell_spelling(access, target, word);
        self.touch(access, Reach::Exact, target);
    }

    pub(super) fn tell_spelling(&mut self, access: Access, target: &Text, word: &'t Word<'t>) {
        let spelling = Spelling::of(word);
        if spelling.dynamic || spelling.glob || spelling.lone_tilde {
            let origin: Option<Origin> = Some(self.origin());
            self.found.expanded.push(ExpandedTarget { access, text: target.shown(), origin });
        }
    }

    // ── running ─────────────────────────────────────────────────────────────────────────────────────────────────────

    fn exec(&mut self, arguments: &[Text], outputs: &[String]) -> Outcome {
        let mut rest = arguments;
        while let Some((first, behind)) = rest.split_first() {
            match first.raw() {
                "-a" => rest = behind.get(1..).unwrap_or_default(),
                option if option.starts_with('-') => rest = behind,
                _ => break,
            }
        }
        if rest.is_empty() {
            return Outcome::sure(Flow::Nothing);
        }
        self.invoke_without_functions(rest, outputs)
    }

    fn command_builtin(&mut self, name: &str, arguments: &[Text], outputs: &[String]) -> Outcome {
        let mut rest = arguments;
        while let Some((first, behind)) = rest.split_first() {
            match first.raw() {
                "-v" | "-V" | "-pv" => {
                    let text = behind.first().cloned().unwrap_or_default();
                    let known = text.whole().filter(|text| !text.contains('/'));
                    return Outcome::of(
                        known.map_or(Flow::Any, |name| Flow::line(&Text::known(&format!("/usr/bin/{name}")))),
                    );
                }
                "-p" | "--" => rest = behind,
                _ => break,
            }
        }
        let _ = name;
        if rest.is_empty() {
            Outcome::of(Flow::Nothing)
        } else {
            self.invoke_without_functions(rest, outputs)
        }
    }

    fn invoke_without_functions(&mut self, words: &[Text], outputs: &[String]) -> Outcome {
        let mut outcome = Outcome::of(Flow::Any);
        self.deeper(|shell| outcome = shell.invoke_plainly(words, outputs));
        outcome
    }

    fn invoke_plainly(&mut self, words: &[Text], outputs: &[String]) -> Outcome {
        match words.first().and_then(Text::whole).map(str::to_owned) {
            Some(name) => self.invoke_program(&name, words, None, outputs),
            None => self.invoke(words, None, outputs),
        }
    }

    fn trap(&mut self, arguments: &[Text]) -> Outcome {
        let mut rest = arguments.iter().skip_while(|argument| matches!(argument.raw(), "--" | "-p" | "-l"));
        if let Some(text) = rest.next()
            && let Some(signal) = rest.next()
            && !matches!(text.raw(), "-" | "")
        {
            if !matches!(signal.raw(), "EXIT" | "0") {
                // It runs between any two commands, and leaves the shell as it likes.
                let before = self.state.clone();
                self.text(text, "trap");
                self.pending = None;
                let after = std::mem::replace(&mut self.state, before);
                if after.differs(&self.state)
                    || matches!(signal.raw(), "DEBUG" | "ERR" | "RETURN") && text.raw().contains('$')
                {
                    self.unknown(Gap::ShellCode, "trap");
                }
                return Outcome::of(Flow::Nothing);
            }
            let text = text.clone();
            // It runs later, in whatever state the shell is then: with the directory and variables of now, and with what
            // the whole command leaves. Now is what can be walked.
            self.forked(|shell| shell.text(&text, "trap"));
            self.traps.push(text);
        }
        Outcome::of(Flow::Nothing)
    }

    fn alias(&mut self, arguments: &[Text]) -> Outcome {
        for argument in arguments {
            match argument.raw().split_once('=') {
                Some((name, _))
                    if !name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+')) =>
                {
                    self.unknown(Gap::ShellCode, "alias");
                }
                Some((name, body)) if !body.contains(is_mark) => {
                    self.state.aliases.push((Rc::from(name), Rc::from(body)));
                }
                Some((name, _)) => {
                    self.state.aliases.push((Rc::from(name), Rc::from(ANY.to_string().as_str())));
                }
                None => {}
            }
        }
        Outcome::of(Flow::Any)
    }

    // ── variables ───────────────────────────────────────────────────────────────────────────────────────────────────

    #[expect(clippy::too_many_lines, reason = "one builtin, its options in turn")]
    fn declare(&mut self, name: &str, arguments: &[Text], spelled: Option<&'t [Word<'t>]>) -> Outcome {
        let has = |letter: char| {
            arguments
                .iter()
                .any(|argument| argument.raw().starts_with('-') && argument.raw().contains(letter))
        };
        let (reference, integer, exports) =
            (has('n') && name != "export", has('i'), name == "export" || has('x'));
        let functions = has('f');
        // Without names, or asked to, it prints what there is.
        if has('p') || functions || has('F') || arguments.is_empty() {
            if functions && name == "export" {
                let names = arguments
                    .iter()
                    .filter_map(Text::whole)
                    .filter(|name| !name.starts_with('-'))
                    .map(Rc::from);
                self.state.exported_functions.extend(names);
            }
            return Outcome::of(Flow::Any);
        }
        for (at, argument) in arguments.iter().enumerate() {
            if argument.raw().starts_with(['-', '+']) {
                continue;
            }
            let (target, value) = match argument.raw().split_once('=') {
                Some((target, value)) => (target, Some(Text::marked(value.to_owned()))),
                None => (argument.raw(), None),
            };
            let append = target.ends_with('+');
            let target = target.trim_end_matches('+');
            let (target, index) = match target.split_once('[') {
                Some((target, index)) => (target, Some(index.trim_end_matches(']').to_owned())),
                None => (target, None),
            };
            if target.contains(is_mark)
                || target.is_empty()
                || (reference && value.as_ref().is_none_or(|value| value.raw().contains('[')))
            {
                // Which variable it is cannot be told: any of them.
                if let Some(index) = value.as_ref().and_then(|value| value.raw().split_once('[')) {
                    self.evaluate(index.1.trim_end_matches(']'));
                }
                self.state.forget_variables();
                self.sourced = true;
                continue;
            }
            if integer {
                self.integers.push(target.to_owned());
            }
            if let Some(value) = &value
                && value.raw().starts_with('(')
            {
                self.expand_again(value.raw());
            }
            if let Some(index) = &index {
                self.evaluate(index);
            }
            let global = has('g');
            if name == "local"
                || (matches!(name, "declare" | "typeset") && !self.calling.is_empty() && !global)
            {
                let before = self.state.own(target);
                self.locals.push((target.to_owned(), before));
            }
            let array = spelled.and_then(|words| words.get(at + 1)).and_then(|word| {
                word.parts
                    .iter()
                    .find_map(|part| if let Part::Array(elements) = part { Some(elements) } else { None })
            });
            let value = match (array, value) {
                (Some(elements), _) => {
                    let mut values: Vec<Choices> = Vec::new();
                    for element in elements {
                        match self.element(element).as_slice() {
                            [fields] => values.extend(fields.iter().map(|text| vec![text.clone()])),
                            _ => values.push(vec![Text::any()]),
                        }
                    }
                    Some(Variable::Array(values))
                }
                (None, Some(value)) if value.raw().starts_with('(') => Some(Variable::unknown()),
                (None, Some(value)) if reference => Some(match value.whole() {
                    Some(name) => Variable::Reference(Rc::from(name)),
                    None => Variable::unknown(),
                }),
                (None, Some(value)) if integer => {
                    self.evaluate(value.raw());
                    Some(Variable::Scalar(vec![Text::mark(NAME)]))
                }
                (None, Some(value)) if append || index.is_some() => {
                    let had = self.variable_texts(target);
                    let mut texts: Choices = had
                        .into_iter()
                        .map(|mut text| {
                            text.push(&value);
                            text
                        })
                        .collect();
                    texts.push(value);
                    Some(Variable::Scalar(super::text::bounded(texts)))
                }
                (None, Some(value)) => Some(Variable::Scalar(vec![value])),
                (None, None)
                    if matches!(name, "local" | "declare" | "typeset")
                        && self.state.own(target).is_none() =>
                {
                    Some(Variable::Unset)
                }
                (None, None) => None,
            };
            match value {
                Some(value) if reference => self.state.put(target, value),
                Some(value) => self.state.set(target, value),
                None => {}
            }
            if name == "readonly" || has('r') {
                self.state.readonly.push(Rc::from(target));
            }
            if exports && !functions {
                self.export(target);
            }
            self.environment_changed(target);
        }
        Outcome::of(Flow::Nothing)
    }

    fn unset(&mut self, arguments: &[Text]) -> Outcome {
        for argument in arguments.iter().filter(|argument| !argument.raw().starts_with('-')) {
            match argument.whole() {
                Some(name) => {
                    // `unset 'a[$(cmd)]'` evaluates the subscript.
                    if let Some((name, index)) = name.split_once('[') {
                        self.evaluate(index.trim_end_matches(']'));
                        self.state.set(name, Variable::unknown());
                    } else {
                        let has = |flag: &str| arguments.iter().any(|argument| argument.raw() == flag);
                        if !has("-f") {
                            self.state.set(name, Variable::Unset);
                        }
                        if !has("-v") {
                            self.state.undefine(name);
                        }
                    }
                }
                None => {
                    self.state.forget_variables();
                    self.sourced = true;
                }
            }
        }
        Outcome::of(Flow::Nothing)
    }

    fn set(&mut self, arguments: &[Text]) -> Outcome {
        const CHANGE: [&str; 5] = ["posix", "keyword", "noclobber", "restricted", "history"];
        let mut skip = false;
        let start = arguments.iter().position(|argument| {
            let value = std::mem::take(&mut skip);
            let raw = argument.raw();
            skip = raw.len() > 1 && raw.starts_with(['-', '+']) && raw.ends_with('o');
            !value && (raw == "--" || raw == "-" || !raw.starts_with(['-', '+']))
        });
        let start =
            start.map(|at| at + usize::from(matches!(arguments.get(at).map(Text::raw), Some("--" | "-"))));
        let long = arguments
            .windows(2)
            .any(|pair| matches!(pair, [flag, name] if flag.raw() == "-o" && name.raw() == "physical"));
        self.state.physical |= long
            || arguments
                .iter()
                .any(|argument| argument.raw().starts_with('-') && argument.raw().contains('P'));
        if arguments.is_empty() {
            return Outcome::of(Flow::Any);
        }
        let flag = |letter: char| {
            arguments.iter().any(|argument| {
                argument.raw().starts_with('-')
                    && !argument.raw().starts_with("--")
                    && argument.raw().contains(letter)
            })
        };
        if flag('k')
            || flag('C')
            || flag('r')
            || arguments.iter().any(|argument| CHANGE.contains(&argument.raw()))
        {
            self.unknown(Gap::ShellCode, "set");
        }
        self.state.all_exported |=
            flag('a') || arguments.iter().any(|argument| argument.raw() == "allexport");
        // A word that may be several moves all that come after it.
        let moved =
            start.is_some_and(|start| arguments.iter().skip(start).any(|argument| !argument.is_known()));
        if moved || arguments.len() > MAX_FIELDS {
            self.state.positional = None;
            return Outcome::of(Flow::Nothing);
        }
        if let Some(start) = start {
            let fields =
                arguments.get(start..).unwrap_or_default().iter().map(|text| vec![text.clone()]).collect();
            self.state.positional = Some(Rc::new(fields));
        }
        Outcome::of(Flow::Nothing)
    }

    fn shift(&mut self, arguments: &[Text]) -> Outcome {
        let count = match arguments.first() {
            None => Some(1),
            Some(count) => count.whole().and_then(|count| count.parse::<usize>().ok()),
        };
        self.state.positional = match (&self.state.positional, count) {
            (Some(fields), Some(count)) => Some(Rc::new(fields.iter().skip(count).cloned().collect())),
            _ => None,
        };
        Outcome::of(Flow::Nothing)
    }

    /// `read` takes a line of standard input apart.
    #[expect(clippy::too_many_lines, reason = "one builtin, its options in turn")]
    fn read(&mut self, arguments: &[Text]) -> Outcome {
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
            None => Some(self.stdin.clone()),
        };
        let lines = flow.and_then(|flow| flow.lines());
        if from.is_none() && self.stdin != Flow::Any {
            // The rest of it is some of these lines.
            self.stdin = lines.clone().map_or(Flow::Any, Flow::Lines);
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
        let lines = lines.map(super::text::bounded).filter(|lines| !lines.is_empty());
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
                self.state.forget_variables();
                self.sourced = true;
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
            self.state.set(name, Variable::Scalar(super::text::bounded(value)));
            self.environment_changed(name);
        }
        Outcome::of(Flow::Nothing)
    }

    fn mapfile(&mut self, arguments: &[Text]) -> Outcome {
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
            self.state.forget_variables();
            self.sourced = true;
            return Outcome::of(Flow::Nothing);
        }
        let value = match self.stdin.lines().filter(|_| plain).map(super::text::bounded) {
            Some(lines) => Variable::Array(lines.into_iter().map(|line| vec![line]).collect()),
            None => Variable::unknown(),
        };
        self.state.set(&name, value);
        Outcome::of(Flow::Nothing)
    }

    fn printf(&mut self, arguments: &[Text]) -> Outcome {
        let (into, rest) = match arguments {
            [flag, name, dashes, rest @ ..] if flag.raw() == "-v" && dashes.raw() == "--" => {
                (Some(name), rest)
            }
            [flag, name, rest @ ..] if flag.raw() == "-v" => (Some(name), rest),
            [flag, ..] if flag.raw().starts_with("-v") => {
                self.state.forget_variables();
                self.sourced = true;
                return Outcome::of(Flow::Nothing);
            }
            [flag, rest @ ..] if flag.raw() == "--" => (None, rest),
            rest => (None, rest),
        };
        let out = output::printf(rest);
        match into {
            Some(name) => {
                let text = match &out {
                    Flow::Text(text) => vec![text.clone()],
                    Flow::Nothing => vec![Text::default()],
                    Flow::Lines(_) | Flow::Any | Flow::Built => vec![Text::any()],
                };
                match name.whole() {
                    Some(target) => {
                        if let Some((target, index)) = target.split_once('[') {
                            self.evaluate(index.trim_end_matches(']'));
                            let had = self.variable_texts(target);
                            self.state.set(target, Variable::Scalar(either(&had, &text)));
                        } else {
                            self.state.set(target, Variable::Scalar(text));
                            self.environment_changed(target);
                        }
                    }
                    None => self.unknown(Gap::Name, "printf -v"),
                }
                Outcome::sure(Flow::Nothing)
            }
            None => Outcome::of(out),
        }
    }

    /// `[ -v 'a[$(cmd)]' ]` and `[ … -eq … ]` evaluate.
    fn test_builtin(&mut self, arguments: &[Text]) {
        for (at, argument) in arguments.iter().enumerate() {
            let operand = match argument.raw() {
                "-v" | "-R" => arguments.get(at + 1),
                _ => None,
            };
            if let Some(operand) = operand
                && let Some((_, index)) = operand.unglobbed().raw().split_once('[')
            {
                self.evaluate(index.trim_end_matches(']'));
            }
        }
    }
}

/// More fields than this are not told apart.
pub(super) const MAX_FIELDS: usize = 2_000;

/// How a word is spelled.
#[derive(Default)]
struct Spelling {
    dynamic: bool,
    glob: bool,
    lone_tilde: bool,
}

impl Spelling {
    fn of(word: &Word<'_>) -> Spelling {
        let mut spelling = Spelling::default();
        if let [Part::Bare(text)] = word.parts.as_slice()
            && text == "~"
        {
            spelling.lone_tilde = true;
            return spelling;
        }
        for (place, part) in word.parts.iter().enumerate() {
            spelling.add(part, place == 0);
        }
        spelling
    }

    fn add(&mut self, part: &Part<'_>, first: bool) {
        match part {
            Part::Bare(text) => {
                self.dynamic |= first && text.starts_with('~');
                self.glob |= text.contains(['*', '?', '[', '{']);
            }
            Part::Quoted(_) => {}
            Part::Double(parts) => {
                for part in parts {
                    self.dynamic |= !matches!(part, Part::Quoted(_) | Part::Bare(_));
                }
            }
            Part::ExtendedGlob { .. } => self.glob = true,
            _ => self.dynamic = true,
        }
    }
}

fn trimmed(text: &Text) -> Text {
    Text::marked(text.raw().trim().to_owned())
}

fn pieces_of(lines: &Choices) -> Choices {
    let pieces = lines
        .iter()
        .flat_map(|line| line.raw().split_whitespace().map(|piece| Text::marked(piece.to_owned())));
    super::text::bounded(pieces.collect())
}

/// The same, patterns as they are: they may still match.
pub(super) fn spaced_as_is(words: &[Text]) -> Text {
    let mut text = Text::default();
    for (place, word) in words.iter().enumerate() {
        if place > 0 {
            text.push_raw(" ");
        }
        text.push(word);
    }
    text
}

/// Words as one text with blanks between.
pub(super) fn spaced(words: &[Text]) -> Text {
    let mut text = Text::default();
    for (place, word) in words.iter().enumerate() {
        if place > 0 {
            text.push_raw(" ");
        }
        text.push(&word.unglobbed());
    }
    text
}
