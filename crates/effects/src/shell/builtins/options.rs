//! Builtins that change how the shell itself works, or that evaluate: `shopt`, `enable`, `history`, `let`, `test`, `wait`.

use toolgate_model::{Access, Gap, Reach};

use crate::shell::Interpreter;
use crate::shell::evaluated::Evaluator;
use crate::shell::text::{Flow, Text, is_mark};
use crate::shell::variables::Given;
use crate::shell::walk::Outcome;

impl Interpreter<'_, '_> {
    pub(super) fn shopt(&mut self, arguments: &[Text]) -> Outcome {
        const CHANGE: [&str; 11] = [
            "localvar_inherit",
            "localvar_unset",
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
        let names = |option: &str| arguments.iter().any(|argument| argument.raw() == option);
        self.state.nullglob |= names("nullglob");
        self.state.globstar |= names("globstar");
        self.state.dots_match |= names("globskipdots");
        // They are off to begin with: taking one back, or asking for it, changes nothing.
        let turns_on =
            |name: &Text| !names("-u") && !names("-q") && !names("-p") && CHANGE.contains(&name.raw());
        if arguments.iter().any(|argument| turns_on(argument) || !argument.is_known()) {
            self.unknown(Gap::ShellCode, "shopt");
        }
        Outcome::of(Flow::Nothing)
    }

    pub(super) fn enable(&mut self, words: &[Text]) -> Outcome {
        if words.iter().skip(1).any(|word| word.raw().starts_with("-f")) {
            self.unknown(Gap::Code, "enable -f");
            self.guess_paths(words);
            return Outcome::of(Flow::Nothing);
        }
        // A builtin that is switched off is a program from then on.
        self.unknown(Gap::ShellCode, "enable");
        Outcome::of(Flow::Any)
    }

    pub(super) fn history(&mut self, arguments: &[Text]) -> Outcome {
        let is_option = |argument: &&Text| argument.raw().starts_with('-');
        let given: String = arguments.iter().filter(is_option).map(Text::raw).collect();
        let file = arguments.iter().find(|argument| !is_option(argument)).cloned();
        let path = file.unwrap_or_else(|| self.tilde("~/.bash_history"));
        for (letters, access) in [(['w', 'a'], Access::Write), (['r', 'n'], Access::Read)] {
            if given.contains(letters) {
                self.touch(access, Reach::Exact, &path);
            }
        }
        Outcome::of(Flow::Any)
    }

    pub(super) fn getopts(&mut self, arguments: &[Text]) -> Outcome {
        for name in arguments.get(1).cloned().into_iter().chain([Text::known("OPTARG")]) {
            self.set_variable(&name, Given::Unknown);
        }
        self.set_named("OPTIND", None, Given::Number, None);
        Outcome::of(Flow::Nothing)
    }

    pub(super) fn let_builtin(&mut self, arguments: &[Text]) -> Outcome {
        for argument in arguments {
            self.evaluates(argument, Evaluator::Arithmetic);
            self.evaluate(argument.unglobbed().raw());
        }
        Outcome::of(Flow::Nothing)
    }

    /// `wait -p x`
    pub(super) fn wait(&mut self, arguments: &[Text]) -> Outcome {
        let (options, _) = options_of(arguments, "p");
        for target in
            options.into_iter().filter(|(letter, _)| *letter == 'p').filter_map(|(_, target)| target)
        {
            self.set_variable(&target, Given::Number);
        }
        Outcome::of(Flow::Nothing)
    }

    /// `[ -v 'a[$(cmd)]' ]` and `[ … -eq … ]` evaluate.
    pub(super) fn test_builtin(&mut self, arguments: &[Text]) -> Outcome {
        for (at, argument) in arguments.iter().enumerate() {
            let operand = match argument.raw() {
                "-v" | "-R" => arguments.get(at + 1),
                _ => None,
            };
            if let Some(operand) = operand {
                self.evaluates(operand, Evaluator::Arithmetic);
                self.evaluate_subscript(operand);
            }
        }
        Outcome::of(Flow::Nothing)
    }
}

/// An option, by its letter, with its value.
pub(super) type Letter = (char, Option<Text>);

/// The options of a builtin, and the words behind them. `takes` are the letters that have a value, which may be in the same word.
pub(super) fn options_of<'a>(arguments: &'a [Text], takes: &str) -> (Vec<Letter>, &'a [Text]) {
    let mut options = Vec::new();
    let mut rest = arguments;
    while let Some((first, behind)) = rest.split_first() {
        let Some(letters) = first.raw().strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            break;
        };
        rest = behind;
        if letters == "-" {
            break;
        }
        for (at, letter) in letters.char_indices() {
            if !takes.contains(letter) {
                options.push((letter, None));
                // What is not known may be any of the others, and have a value or none: so it may be a name.
                if is_mark(letter) {
                    options.extend(takes.chars().map(|letter| (letter, Some(Text::any()))));
                }
                continue;
            }
            let attached = letters.get(at + letter.len_utf8()..).unwrap_or_default();
            if attached.is_empty() {
                options.push((letter, rest.first().cloned()));
                rest = rest.get(1..).unwrap_or_default();
            } else {
                options.push((letter, Some(Text::marked(attached.to_owned()))));
            }
            break;
        }
    }
    (options, rest)
}
