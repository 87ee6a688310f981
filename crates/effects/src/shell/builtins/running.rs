//! Builtins that run something, now or later: `exec`, `command`, `source`, `trap`, `alias`, `hash`, `bind`, `complete`.

use std::rc::Rc;

use toolgate_model::{Access, Doubt, Gap, Reach};

use crate::shell::Interpreter;
use crate::shell::evaluated::Evaluator;
use crate::shell::text::{ANY, Flow, Text, is_mark};
use crate::shell::walk::Outcome;

use super::options::options_of;

impl Interpreter<'_, '_> {
    /// `None` without a script.
    pub(super) fn source(&mut self, arguments: &[Text]) -> Option<Outcome> {
        let (script, rest) = arguments.split_first()?;
        let plain = script.whole().filter(|name| !name.contains('/'));
        if let Some(found) = plain.and_then(|name| self.found_in_path(name)) {
            let found = Text::known(&found);
            self.run_script(&found, rest);
        }
        Some(Outcome::of(self.run_script(script, rest)))
    }

    pub(super) fn exec(&mut self, arguments: &[Text], outputs: &[String]) -> Outcome {
        let mut rest = arguments;
        while let Some((first, behind)) = rest.split_first() {
            match first.raw() {
                // Some programs are another one by another name.
                "-a" => {
                    self.unknown(Gap::Option, "exec -a");
                    rest = behind.get(1..).unwrap_or_default();
                }
                option if option.starts_with('-') => rest = behind,
                _ => break,
            }
        }
        if rest.is_empty() {
            // What goes there is what all the following commands print.
            return Outcome::sure(if outputs.is_empty() { Flow::Nothing } else { Flow::Any });
        }
        self.invoke_without_functions(rest, outputs)
    }

    pub(super) fn command_builtin(&mut self, arguments: &[Text], outputs: &[String]) -> Outcome {
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
        if rest.is_empty() {
            Outcome::of(Flow::Nothing)
        } else {
            self.invoke_without_functions(rest, outputs)
        }
    }

    pub(super) fn invoke_without_functions(&mut self, words: &[Text], outputs: &[String]) -> Outcome {
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

    pub(super) fn trap(&mut self, arguments: &[Text]) -> Outcome {
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

    pub(super) fn alias(&mut self, arguments: &[Text]) -> Outcome {
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

    pub(super) fn unalias(&mut self, arguments: &[Text]) -> Outcome {
        let aliases = &mut self.state.aliases;
        aliases.retain(|(name, _)| !arguments.iter().any(|argument| argument.raw() == &**name));
        Outcome::of(Flow::Nothing)
    }

    /// `hash -p /path name`: the name is another program from now on.
    pub(super) fn hash(&mut self, arguments: &[Text]) -> Outcome {
        if arguments.iter().any(|argument| argument.raw().starts_with("-p") && argument.raw().len() > 2) {
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

    pub(super) fn complete(&mut self, name: &str, arguments: &[Text]) -> Outcome {
        let (options, _) = options_of(arguments, "oAGWPSXFC");
        for words in options.into_iter().filter(|(letter, _)| *letter == 'W').filter_map(|(_, words)| words) {
            self.evaluates(&words, Evaluator::Words);
            if words.has_any() {
                self.unknown(Gap::ShellCode, name);
            }
        }
        for argument in arguments {
            self.expand_again(argument.unglobbed().raw());
            // `compgen -f ../` lists.
            if name == "compgen" && argument.raw().contains('/') {
                self.touch(Access::List, Reach::Exact, argument);
            }
        }
        for flag in ["-C", "-F"] {
            if let Some(at) = arguments.iter().position(|argument| argument.raw() == flag)
                && let Some(text) = arguments.get(at + 1)
            {
                self.forked(|shell| shell.text(text, name));
            }
        }
        Outcome::of(Flow::Any)
    }

    /// `bind -x '"key": command'`, `bind -f file`: what it cannot read of the file it prints.
    pub(super) fn bind(&mut self, arguments: &[Text]) -> Outcome {
        for (at, argument) in arguments.iter().enumerate() {
            let Some((_, attached)) = argument.raw().strip_prefix('-').and_then(|raw| raw.split_once('f'))
            else {
                continue;
            };
            let next = || arguments.get(at + 1).cloned().unwrap_or_default();
            let file = if attached.is_empty() { next() } else { Text::marked(attached.to_owned()) };
            self.touch(Access::Read, Reach::Exact, &file);
            self.unknown(Gap::Doubt(Doubt::Settings), &format!("bind -f {}", file.shown()));
        }
        for argument in arguments {
            if let Some((_, text)) = argument.raw().split_once(':') {
                let text = Text::marked(text.trim().trim_matches('"').to_owned());
                self.forked(|shell| shell.text(&text, "bind"));
            }
        }
        Outcome::of(Flow::Nothing)
    }
}
