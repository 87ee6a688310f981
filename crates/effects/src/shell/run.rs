//! Which program a command is: an alias, a function, a builtin, a file, or a program that a spec describes.

use toolgate_model::{Doubt, Effect, Gap, PathArg, Run, Target, base_name, shorten};
use toolgate_shell::{CommandKind, Part, Word};

use super::bounds::{Limit, MAX_WORDS};
use super::glob::MAX_NAMES;
use super::places::Located;
use super::text::{ANY, CLASS, Flow, INNER, NAME, ONE, PIECE, STAR, Text, is_mark};
use super::walk::{Outcome, Status};
use super::{Interpreter, glob, programs};
use crate::{budget, spec};

/// Files that a program takes for options, told one by one.
const MAX_DASHED: usize = 64;
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
        if self.state.is_cut {
            self.doubt_variable("more aliases, programs or directories than are kept");
        }
        let few = words.get(..MAX_WORDS);
        if few.is_some() {
            self.too_much(Limit::Words);
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
            && self.control.calls_of(name) == 0
        {
            // Whether aliases are on is not known: it may run, and so may what goes by its own name.
            let mut text = Text::known(&body);
            for word in words.iter().skip(1) {
                text.push_raw(" ");
                text.push_raw(&quoted(word));
            }
            let start = self.state.clone();
            self.named(name, |shell| shell.text(&text, &format!("alias {name}")));
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
        let is_past = |located: &Located| match located {
            Located::Child { among, .. } | Located::Below { among, .. } => {
                among.as_ref().is_some_and(|among| among.is_past)
            }
            Located::Exact(_) | Located::Unknown => false,
        };
        if self.located(pattern).iter().any(is_past) {
            return false;
        }
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
            && self.state.variables.get(name).is_none()
            && !self.doubts.has_lost_variables()
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
        let outcome = self.written_as(spelled, |shell| shell.program(name, &words, outputs));
        self.streams.take_some();
        outcome
    }

    /// `tar cf x.tar *` in a directory that holds a file called `--checkpoint-action=exec=sh f`: a program takes a file
    /// for an option by its name. Files whose names begin with no dash need not be told apart.
    fn with_files_as_options<'w>(&mut self, words: &'w [Text]) -> std::borrow::Cow<'w, [Text]> {
        let end = words.iter().position(|word| word.raw() == "--").unwrap_or(words.len());
        let is_open = |word: &Text| {
            let raw = word.raw().strip_prefix('-').unwrap_or(word.raw());
            raw.starts_with([STAR, ONE, CLASS, NAME, PIECE, INNER]) && !raw.contains('/')
        };
        let mut all = std::borrow::Cow::Borrowed(words);
        for (at, word) in words.iter().enumerate().take(end).skip(1).rev().filter(|(_, word)| is_open(word)) {
            let fits = |name: &String| glob::fits(word.raw(), name) != Some(false);
            let names = self.dashed_names();
            if self.is_large_directory() {
                self.unknown(Gap::Doubt(Doubt::Names), "a directory of many files");
            }
            if names.len() > MAX_DASHED {
                self.unknown(Gap::Option, "more files than can be told apart, whose names begin with a dash");
            }
            let found: Vec<Text> =
                names.iter().filter(|name| fits(name)).map(|name| Text::known(name)).collect();
            if !found.is_empty() {
                all.to_mut().splice(at + 1..=at, found);
            }
        }
        all
    }

    /// Whether there are more names where the command runs than are looked through.
    fn is_large_directory(&self) -> bool {
        let known = self.state.cwd.iter().filter(|cwd| !cwd.contains(is_mark));
        let is_large = |cwd: &std::rc::Rc<str>| {
            matches!(self.scene.world.names(std::path::Path::new(&**cwd), MAX_NAMES), Ok(None))
        };
        known.into_iter().any(is_large)
    }

    /// Names that begin with a dash in the directory where the command runs: on the disk, or of files that it writes.
    fn dashed_names(&self) -> Vec<String> {
        budget::pay_for(self.report.effects().len(), 16);
        let listed = |cwd: &str| {
            let there = self.scene.world.names(std::path::Path::new(cwd), MAX_NAMES);
            let there = there.unwrap_or_default().unwrap_or_default();
            let names = there.iter().filter_map(|path| path.file_name()?.to_str());
            let there = names.filter(|name| name.starts_with('-')).map(str::to_owned);
            let written = self.report.effects().iter().filter_map(|effect| match effect {
                Effect::Use(access, Target { path: PathArg::Text(path), .. }) if access.changes() => {
                    let (directory, name) = path.rsplit_once('/')?;
                    (directory == cwd).then(|| name.to_owned())
                }
                _ => None,
            });
            there.chain(self.state.disk.names_in(cwd)).chain(written).collect::<Vec<_>>()
        };
        let known = self.state.cwd.iter().filter(|cwd| !cwd.contains(is_mark));
        let names = known.flat_map(|cwd| listed(cwd));
        names.filter(|name| name.starts_with('-')).take(MAX_DASHED + 1).collect()
    }

    fn call(
        &mut self,
        name: &str,
        body: &'t toolgate_shell::Command<'t>,
        words: &[Text],
        moved: bool,
    ) -> Outcome {
        if self.control.calls_of(name) >= 2 {
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
        if moved {
            self.state.positional = None;
        }
        let out = self.calling(name, |shell| shell.deeper_command(body));
        self.state.positional = positional;
        Outcome::of(out)
    }

    /// The name itself is only known when it runs.
    pub(super) fn unknown_name(&mut self, words: &[Text], outputs: &[String]) -> Outcome {
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
        self.streams.met(&program);
        Run {
            program,
            words: words.iter().map(|word| shorten(&word.shown(), 200)).collect(),
            fed_by: self.streams.feeding(words),
            outputs: outputs.to_vec(),
            origin: Some(self.origin()),
            ..Run::default()
        }
    }

    /// A program by its name or its path.
    pub(super) fn program(&mut self, name: &str, words: &[Text], outputs: &[String]) -> Outcome {
        self.doubt_environment();
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
    pub(super) fn is_toolchain(&self, directory: &str) -> bool {
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
        self.state.path.iter().find_map(|directory| {
            let place = format!("{directory}/{name}");
            let there = self.state.written(&place).is_some()
                || self.scene.world.look(std::path::Path::new(&place)).is_ok();
            there.then_some(place)
        })
    }
}

/// `python3.11`, `gcc-12`, `clang-15`: the program without its version.
pub(super) fn unversioned(name: &str) -> &str {
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
    let (CommandKind::Group(list) | CommandKind::Subshell(list)) = &body.kind else { return true };
    list.items.iter().any(|item| {
        let own = |command: &toolgate_shell::Command<'_>| match &command.kind {
            CommandKind::Simple { words, .. } => words
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
