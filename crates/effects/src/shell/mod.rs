//! What a shell command would do, found by interpreting it over values of which not all is known.
//!
//! The walk goes where bash would go: it keeps the directory, variables, functions and what the command itself has made so
//! far; of two branches it takes both and joins what they leave; a loop is walked until nothing new comes of it. Where
//! knowledge ends, there is an [`Unknown`](toolgate_model::Unknown), never nothing.
//!
//! Reading order: [`walk`] (lists, pipelines, compound commands) → [`simple`] and [`redirect`] → [`expand`] (words) →
//! [`run`] (which program a command is) → [`builtins`], or [`apply`] (what the spec of a program says of its words) and
//! [`programs`] (what no spec can say). [`places`] turns words into files and directories.
//!
//! An [`Interpreter`] is made of parts, each in a file of its own, and no other file touches its fields: [`bounds`] is
//! how much may still be walked, [`trace`] where in the call's text we are, [`streams`] what the present command reads,
//! [`control`] the ways that lead elsewhere than to the next command, [`spelling`] the present command as it is
//! written, [`scripts`] the code that runs, [`doubts`] what was lost sight of, [`links`] where names that are not known may lead, [`report`] what was found. [`state`] is
//! the shell at this moment, with what it has changed on the [`disk`]. It alone is copied where the shell forks and
//! joined where ways meet; its plain values are open, as bash has them.

mod apply;
mod bounds;
mod builtins;
mod changed;
mod control;
mod deeds;
mod dialects;
mod disk;
mod doubts;
mod elsewhere;
mod environment;
mod evaluated;
mod expand;
mod follow;
mod followers;
mod git;
mod git_programs;
mod git_reads;
mod git_trees;
mod glob;
mod guess;
mod links;
mod lists;
mod modules;
mod named_code;
mod named_in_settings;
mod output;
mod patches;
mod places;
mod programs;
mod redirect;
mod report;
mod run;
mod scripts;
mod search;
mod simple;
mod spelling;
mod state;
mod streams;
mod text;
mod trace;
mod trees;
mod variables;
mod walk;
mod words;

use std::cell::RefCell;

use toolgate_model::{
    Access, DirectoryChange, Effect, ExpandedTarget, Gap, PathArg, Resolver, Target, World, shorten,
};
use toolgate_shell::{Arithmetic, List, Parsed, Part, Word, parse};
use typed_arena::Arena;

pub use dialects::differs;
pub use git::leaves_directories;
pub(crate) use places::is_named_secret;

pub use budget::MAX_WORK;

use crate::budget::{self, PaidWorld};
use bounds::{Bounds, MAX_COMMAND};
use changed::Changed;
use control::Control;
use doubts::Doubts;
use evaluated::Names;
use links::Links;
use report::Report;
use scripts::Scripts;
use spelling::Written;
use state::State;
use streams::Streams;
use text::{ANY, Flow, Text, is_mark};
use trace::Trace;

/// Where a command would run.
pub struct Scene<'w> {
    /// The window on the disk.
    pub world: &'w dyn World,
    /// The directory in which it starts.
    pub cwd: Option<&'w str>,
    /// The session's root, where there is one.
    pub root: Option<&'w str>,
    /// The person's home.
    pub home: Option<&'w str>,
    /// The directory for temporary files that the environment names.
    pub tmp: Option<&'w str>,
    /// Whether the environment lacks a variable.
    pub unset: &'w dyn Fn(&str) -> bool,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Analysis {
    /// All effects, in the order in which they were met.
    pub effects: Vec<Effect<'static>>,
    /// Changes of directory, with the target as it is spelled.
    pub changes: Vec<DirectoryChange>,
    /// Written targets whose spelling holds an expansion.
    pub expanded: Vec<ExpandedTarget>,
    /// What it took, in units of about a byte that is copied. Never more than [`MAX_WORK`].
    pub work: u64,
}

/// Says what the command would do.
pub fn analyse(command: &str, scene: &Scene<'_>) -> Analysis {
    let world = PaidWorld::new(scene.world);
    let scene = Scene { world: &world, ..*scene };
    budget::within(|| {
        let store = Store::default();
        let mut shell = Interpreter::new(&store, &scene);
        shell.script(command);
        shell.tell_evaluated();
        shell.tell_changed();
        shell.close_accounts();
        Analysis { work: budget::spent(), ..shell.report.into_analysis() }
    })
}

/// Says what the command would do in a directory that the call names, which is entered first.
pub fn in_directory(directory: Option<&str>, command: &str, scene: &Scene<'_>) -> Analysis {
    let Some(directory) = directory else { return analyse(command, scene) };
    let path = PathArg::Text(directory.to_owned().into());
    let place = Resolver::new(scene.world, scene.cwd, None).resolve(&path).ok();
    let cwd = place.as_ref().and_then(|place| place.physical.to_str());
    let mut analysis = analyse(command, &Scene { cwd, ..*scene });
    let target = Target::exact("directory", path);
    analysis.effects.insert(0, Effect::Use(Access::Enter, target));
    analysis
}

/// The command bound to a directory as a whole: if that cannot be entered, none of it runs.
pub fn confined(command: &str, directory: &str) -> String {
    let mut quoted = String::with_capacity(directory.len() + 2);
    for c in directory.chars() {
        if matches!(c, '"' | '$' | '`' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    let parsed = parse(command);
    let one = match parsed.list.items.as_slice() {
        [item] => {
            !item.background
                && item.rest.iter().all(|(connector, _)| *connector == toolgate_shell::Connector::And)
        }
        _ => false,
    };
    // What `&&` would bind only in part stands in braces, on lines of its own: a comment or here-document ends there.
    if one && parsed.error.is_none() && !command.contains('\n') {
        format!("cd \"{quoted}\" && {command}")
    } else {
        format!("cd \"{quoted}\" && {{\n{command}\n}}")
    }
}

/// Texts and trees that come up on the way; all of them live until the end.
#[derive(Default)]
pub(crate) struct Store<'t> {
    texts: Arena<String>,
    trees: Arena<List<'t>>,
    words: Arena<Word<'t>>,
    parts: Arena<Part<'t>>,
    arithmetics: Arena<Arithmetic<'t>>,
}

/// Walks a command. Each part keeps its own rules, in its own file; what is left here is what all of them go by.
struct Interpreter<'t, 'w> {
    store: &'t Store<'t>,
    scene: &'w Scene<'w>,
    /// The shell at this moment.
    state: State<'t>,
    bounds: Bounds,
    trace: Trace,
    streams: Streams<'t>,
    control: Control<'t>,
    written: Written<'t>,
    scripts: Scripts,
    doubts: Doubts,
    names: Names,
    links: Links,
    changed: Changed,
    report: Report,
    /// The last index of a repository that was read, and the directory that it lies in.
    git_index: Option<(std::path::PathBuf, std::rc::Rc<git::Index>)>,
    /// Directories, and the repository that each lies in.
    repositories: RefCell<Vec<(String, Option<git::Repository>)>>,
    /// Texts in which marks of ours stand; see `named_code`.
    kept: Vec<&'t str>,
    /// What is touched now is where a program keeps things by default; it may be elsewhere.
    assumes: bool,
    /// What is touched now is git's own data of a repository.
    in_git_data: bool,
    /// The present program leaves contents of files as they are, or says what they are then.
    keeps_contents: bool,
}

impl<'t, 'w> Interpreter<'t, 'w> {
    fn new(store: &'t Store<'t>, scene: &'w Scene<'w>) -> Self {
        Interpreter {
            store,
            scene,
            state: State::new(scene.cwd.filter(|cwd| cwd.starts_with('/'))),
            bounds: Bounds::default(),
            trace: Trace::default(),
            streams: Streams::default(),
            control: Control::default(),
            written: Written::default(),
            scripts: Scripts::default(),
            names: Names::default(),
            doubts: Doubts::default(),
            links: Links::default(),
            changed: Changed::default(),
            report: Report::default(),
            git_index: None,
            repositories: RefCell::default(),
            kept: Vec::new(),
            assumes: false,
            in_git_data: false,
            keeps_contents: false,
        }
    }

    /// The call's own text.
    fn script(&mut self, text: &str) {
        if text.len() > MAX_COMMAND {
            self.unknown(Gap::Syntax, "longer than a command that is read");
            return;
        }
        let text: &'t str = self.store.texts.alloc(text.to_owned());
        let Parsed { list, error } = parse(text);
        let list = self.store.trees.alloc(list);
        self.doubts = Doubts::of(text);
        self.landing(|shell| shell.list(list));
        self.run_waiting();
        self.run_again();
        self.run_traps();
        if let Some(error) = error {
            let end = u32::try_from(text.len()).unwrap_or(error.at);
            self.at((error.at, end), |shell| shell.unknown(Gap::Syntax, error.what));
        }
    }

    /// A text that came up on the way, parsed. What cannot be read is an effect.
    fn parsed(&mut self, text: &str) -> &'t List<'t> {
        let Some(text) = self.paid_text(text) else { return self.store.trees.alloc(List::default()) };
        let Parsed { list, error } = parse(text);
        if list.items.is_empty() && begins_with_operator(text) {
            return self.store.trees.alloc(list);
        }
        if let Some(error) = error {
            let rest = text.get(error.at as usize..).unwrap_or_default();
            let shown = format!("{}: {}", error.what, shorten(rest.lines().next().unwrap_or_default(), 60));
            self.unknown(Gap::Syntax, &shown);
        }
        self.store.trees.alloc(list)
    }

    /// Walks shell text that came up on the way.
    fn text(&mut self, text: &Text, step: &str) -> Flow {
        if self.spent(1) {
            return Flow::Any;
        }
        let Some(whole) = text.whole() else {
            if self.has_plain_names(text) {
                return self.in_step(step, "", |shell| shell.text_with_names(text));
            }
            // The parts that are known may hold commands of their own: `bash -c "$x; rm -rf /"`.
            if text.raw().contains(is_mark) && text.raw().chars().any(|c| !is_mark(c)) {
                let readable = blanked(text);
                self.in_step(step, "", |shell| {
                    if let Some(list) = shell.parsed_quietly(&readable) {
                        shell.list(list);
                    }
                });
            }
            let gap =
                if text.raw().chars().next().is_some_and(|c| c == ANY) { Gap::ShellCode } else { Gap::Name };
            let gap = if is_harmless_blank(text) { return Flow::Any } else { gap };
            self.unknown(gap, &text.shown());
            return Flow::Any;
        };
        self.in_step(step, "", |shell| {
            let list = shell.parsed(whole);
            shell.list(list)
        })
    }

    fn parsed_quietly(&mut self, text: &str) -> Option<&'t List<'t>> {
        let text = self.paid_text(text)?;
        let Parsed { list, error } = parse(text);
        error.is_none().then(|| &*self.store.trees.alloc(list))
    }
}

/// No shell reads a text that begins so, and none of it runs: the backticks of `rg "a`|b`"`. Operators alone name no command.
fn begins_with_operator(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with(['|', '&', ')']) || text.chars().all(|c| "()|&;<> \t\n".contains(c))
}

/// Whether a glob, as programs take one, fits a name. One that cannot be worked out fits nothing.
pub(crate) fn matches_name(glob: &str, name: &str) -> bool {
    glob == name || glob::fits(glob::marked(glob).raw(), name) == Some(true)
}

/// A text that could be run with something harmless where it is not known, so that the rest of it can be walked.
fn blanked(text: &Text) -> String {
    text.raw().chars().map(|c| if is_mark(c) { '_' } else { c }).collect()
}

/// A name in a text changes no command: `echo 12`.
fn is_harmless_blank(text: &Text) -> bool {
    !text.raw().starts_with(is_mark) && text.raw().chars().filter(|c| is_mark(*c)).all(|c| c == text::NUMBER)
}
