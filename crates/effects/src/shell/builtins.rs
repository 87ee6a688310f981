//! What the shell does itself.

mod directories;
mod input;
mod variables;

use std::rc::Rc;

use toolgate_model::{Access, Gap, Reach};
use toolgate_shell::Word;

use super::state::Variable;
use super::text::{ANY, Flow, Text, is_mark, spaced};
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
                self.jump();
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
                self.run_traps();
                self.control.leave();
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
                self.control.take_failure();
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
            self.control.at_exit(text);
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
