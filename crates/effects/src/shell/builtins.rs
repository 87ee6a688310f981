//! What the shell does itself.

mod directories;
mod input;
mod options;
mod running;
mod variables;

use toolgate_model::{Effect, Gap};
use toolgate_shell::Word;

use super::text::{Flow, Text, spaced};
use super::walk::{Outcome, Status};
use super::{Interpreter, output};

impl<'t> Interpreter<'t, '_> {
    /// Runs a builtin; `None` if there is none of this name.
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
            "popd" => self.popd(arguments),
            "pwd" => self.pwd(),
            "eval" => Outcome::of(self.text(&spaced(arguments), "eval")),
            "source" | "." => self.source(arguments)?,
            "exec" => self.exec(arguments, outputs),
            "command" | "builtin" => self.command_builtin(arguments, outputs),
            "trap" => self.trap(arguments),
            "export" | "declare" | "typeset" | "local" | "readonly" => self.declare(name, arguments, spelled),
            "unset" => self.unset(arguments),
            "set" => self.set(arguments),
            "shift" => self.shift(arguments),
            "read" => self.read(arguments),
            "mapfile" | "readarray" => self.mapfile(arguments),
            "printf" => self.printf(arguments),
            // Plain shells read escapes here, and know no `-e`.
            "echo" if self.state.plain && arguments.iter().any(|word| word.raw().contains('\\')) => {
                Outcome::sure(Flow::Any)
            }
            "echo" => Outcome::sure(output::echo(arguments)),
            "let" => self.let_builtin(arguments),
            "test" | "[" => self.test_builtin(arguments),
            "alias" => self.alias(arguments),
            "unalias" => self.unalias(arguments),
            "getopts" => self.getopts(arguments),
            "enable" => self.enable(words),
            "hash" => self.hash(arguments),
            "history" => self.history(arguments),
            "fc" => {
                self.unknown(Gap::ShellCode, "fc");
                Outcome::of(Flow::Any)
            }
            "complete" | "compgen" => self.complete(name, arguments),
            "bind" => self.bind(arguments),
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
            "wait" => self.wait(arguments),
            "umask" | "ulimit" => Outcome::of(Flow::Any),
            "exit" => {
                self.run_traps();
                self.control.leave();
                Outcome::of(Flow::Nothing)
            }
            "logout" | "fg" | "bg" | "disown" | "suspend" | "compopt" => Outcome::of(Flow::Nothing),
            "shopt" => self.shopt(arguments),
            _ => return None,
        };
        // The packs have rules for some of them.
        let mut run = self.run_of(name, words, outputs);
        run.operands = words.iter().skip(1).map(|word| word.whole().map(str::to_owned)).collect();
        self.emit(Effect::Run(run));
        Some(outcome)
    }
}
