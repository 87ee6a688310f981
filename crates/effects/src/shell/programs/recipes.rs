//! Programs that run recipes of the project: make, just, package scripts and other task runners.

use toolgate_model::Gap;

use super::known_operands;
use super::shells::is_shell;
use crate::budget;
use crate::recipes::{self, Found};
use crate::shell::Interpreter;
use crate::shell::apply::slot_text;
use crate::shell::text::{Flow, Text};
use crate::shell::walk::Outcome;
use crate::spec::Reading;

impl Interpreter<'_, '_> {
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
        /// Its readers go through all of it.
        const READ: usize = 16;
        const LARGE: usize = 256 * 1024;
        let Some(place) = self.one_place(path) else { return Flow::Any };
        if let Some(flow) = self.state.written(&place) {
            return flow.clone();
        }
        match self.scene.world.read(std::path::Path::new(&place), LARGE) {
            Ok(bytes) if bytes.len() < LARGE => {
                budget::pay_for(bytes.len(), READ);
                Flow::Text(Text::known(&String::from_utf8_lossy(&bytes)))
            }
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

    pub(super) fn make(&mut self, reading: &Reading, words: &[Text]) -> Outcome {
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
            Some("-" | "/dev/stdin") => match self.streams.stdin().clone() {
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

    pub(super) fn just(&mut self, reading: &Reading, words: &[Text]) -> Outcome {
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
    pub(super) fn package(&mut self, program: &str, reading: &Reading, words: &[Text]) -> Outcome {
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
    pub(super) fn cargo_alias(&mut self, reading: &Reading, words: &[Text]) -> Option<Outcome> {
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
        Some(Outcome::of(self.in_step(&step, "", |shell| shell.run_words(&expanded))))
    }

    /// `mise run x`, `deno task x`, `composer run x`
    pub(super) fn task(&mut self, program: &str, reading: &Reading, arguments: &[Text]) {
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
}
