//! Shells by any of their names: `bash -c text`, `bash file`, `bash < file`.

use std::rc::Rc;

use toolgate_model::{Access, Doubt, Gap, Reach};

use crate::shell::Interpreter;
use crate::shell::dialects::differs;
use crate::shell::text::{Flow, Text};
use crate::shell::walk::Outcome;

impl Interpreter<'_, '_> {
    /// `bash -c text`, `bash file`, `bash < file`
    pub(in crate::shell) fn shell_program(&mut self, program: &str, words: &[Text]) -> Outcome {
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
            if self.state.variables.get(name).is_some() {
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
                    let stdin = shell.streams.stdin().clone();
                    // A shell without input to read is one that waits for a person.
                    if !shell.streams.has_input() {
                        shell.unknown(Gap::ShellCode, program);
                        return Flow::Any;
                    }
                    let fields = if input { rest } else { &[] };
                    shell.state.positional =
                        Some(Rc::new(fields.iter().map(|field| vec![field.clone()]).collect()));
                    shell.input_of_other_shell(program, &stdin);
                    shell.shell_input(&stdin, program)
                }
            }
        });
        Outcome::of(out)
    }

    /// Text that is walked as bash would walk it and that another shell reads.
    pub(in crate::shell) fn read_by_other_shell(&mut self, program: &str, text: &Text) {
        if differs(program, text.raw()) {
            self.unknown(Gap::Doubt(Doubt::OtherShell), &format!("{program} -c"));
        }
    }

    fn input_of_other_shell(&mut self, program: &str, input: &Flow) {
        if let Flow::Text(text) = input {
            self.read_by_other_shell(program, text);
        }
    }

    /// Another shell reads some things otherwise than bash would.
    fn not_bash(&mut self, program: &str, text: &Text) {
        self.read_by_other_shell(program, text);
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
}

/// A shell by any of its names.
pub(in crate::shell) fn is_shell(program: &str) -> bool {
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
