//! What a shell command would do, found by interpreting it over values of which not all is known.
//!
//! The walk goes where bash would go: it keeps the directory, variables, functions and what the command itself has made so
//! far; of two branches it takes both and joins what they leave; a loop is walked until nothing new comes of it. Where
//! knowledge ends stands an [`Unknown`], never nothing.
//!
//! Reading order: [`walk`] (lists, pipelines, compound commands) → [`expand`] (words) → [`run`] (which program a command
//! is, and what its spec says) → [`builtins`].

mod apply;
mod builtins;
mod deeds;
mod environment;
mod expand;
mod follow;
mod git;
mod git_reads;
mod glob;
mod guess;
mod lists;
mod modules;
mod output;
mod places;
mod programs;
mod redirect;
mod run;
mod search;
mod simple;
mod spelling;
mod state;
mod text;
mod walk;

use std::rc::Rc;

use toolgate_model::{
    Access, DirectoryChange, Effect, ExpandedTarget, Gap, Origin, PathArg, Reach, Resolver, Target, Unknown,
    Via, World, shorten,
};
use toolgate_shell::{Arithmetic, List, Parsed, Part, Word, parse};
use typed_arena::Arena;

pub(crate) use places::is_named_secret;
use state::State;
use text::{ANY, Flow, Text, is_mark};

/// Commands that are walked at most, loops and functions counted each time.
const MAX_STEPS: u32 = 5_000;
/// A longer command is asked about as a whole, so that the answer comes in time.
const MAX_COMMAND: usize = 64 * 1024;
/// How deep texts, functions and scripts may run one another.
const MAX_DEPTH: u32 = 24;
/// Effects that are told apart at most.
const MAX_EFFECTS: usize = 2_000;

/// Where a command would run.
pub struct Scene<'w> {
    /// The window on the disk.
    pub world: &'w dyn World,
    /// The directory in which it starts.
    pub cwd: Option<&'w str>,
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
}

/// Says what the command would do.
pub fn analyse(command: &str, scene: &Scene<'_>) -> Analysis {
    let store = Store::default();
    let mut shell = Interpreter::new(&store, scene);
    shell.script(command);
    shell.found
}

/// Says what the command would do in a directory that the call names, which is entered first.
pub fn in_directory(directory: Option<&str>, command: &str, scene: &Scene<'_>) -> Analysis {
    let Some(directory) = directory else { return analyse(command, scene) };
    let path = PathArg::Text(directory.to_owned().into());
    let place = Resolver::new(scene.world, scene.cwd, None).resolve(&path).ok();
    let cwd = place.as_ref().and_then(|place| place.physical.to_str());
    let mut analysis = analyse(command, &Scene { cwd, ..*scene });
    let target = Target { param: "directory".into(), path, reach: Reach::Exact, guess: false, origin: None };
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

/// The working directory and the one before it.
type Directories = (Vec<Rc<str>>, Option<Vec<Rc<str>>>);

/// A file that stands for a process, and the programs that write it.
struct Piped {
    path: String,
    ran: Vec<String>,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a thing that has happened on the way")]
struct Interpreter<'t, 'w> {
    store: &'t Store<'t>,
    scene: &'w Scene<'w>,
    state: State<'t>,
    /// The directory and the one before it, should the last command have failed.
    pending: Option<Directories>,
    stdin: Flow,
    /// The programs whose output is the present input.
    fed_by: Vec<String>,
    /// Every program that was met, in order.
    ran: Vec<String>,
    /// Those that ran inside of substitutions in the words of the present command.
    substituted: Vec<String>,
    /// `>( … )` of the present command.
    waiting: Vec<(String, &'t List<'t>)>,
    pipes: Vec<Piped>,
    processes: u32,
    /// The words of the present program as they are written.
    spelled: Option<&'t [Word<'t>]>,
    /// Variables of the present function, with what they were before.
    locals: Vec<(String, Option<state::Variable>)>,
    /// Texts that run when the shell ends.
    traps: Vec<Text>,
    /// Variables that are declared as integers.
    integers: Vec<String>,
    /// The shell has left the list that it was in.
    left: bool,
    /// States at `return`, `break` and `continue`, to be joined where these lead.
    jumps: Vec<State<'t>>,
    /// Something was written whose place or content is not known.
    lost: bool,
    /// Places that were run as code.
    executed: Vec<String>,
    /// The call's text quotes what arithmetic would run: `a[$(…)]`.
    quotes_subscripts: bool,
    /// The present command has no redirections.
    bare_command: bool,
    /// Standard error goes where standard output goes.
    merged: bool,
    /// Code whose text is not known has run in this shell: any variable may be its.
    sourced: bool,
    /// Functions that are being called, for those that call themselves.
    calling: Vec<Rc<str>>,
    /// Files that are being followed.
    following: Vec<String>,
    followed: u32,
    /// Files that the command has written are being looked at as code.
    scanning: bool,
    /// The bytes of the call's own text that are being walked; inside of other texts, those of the command that led there.
    span: (u32, u32),
    /// Whether spans of the tree are those of the call's own text.
    at_home: bool,
    via: Option<Rc<Via>>,
    depth: u32,
    steps: u32,
    found: Analysis,
}

impl<'t, 'w> Interpreter<'t, 'w> {
    fn new(store: &'t Store<'t>, scene: &'w Scene<'w>) -> Self {
        Interpreter {
            store,
            scene,
            state: State::new(scene.cwd.filter(|cwd| cwd.starts_with('/'))),
            pending: None,
            stdin: Flow::Any,
            fed_by: Vec::new(),
            ran: Vec::new(),
            substituted: Vec::new(),
            waiting: Vec::new(),
            pipes: Vec::new(),
            processes: 0,
            spelled: None,
            locals: Vec::new(),
            traps: Vec::new(),
            integers: Vec::new(),
            left: false,
            jumps: Vec::new(),
            lost: false,
            executed: Vec::new(),
            quotes_subscripts: false,
            bare_command: true,
            merged: false,
            sourced: false,
            calling: Vec::new(),
            following: Vec::new(),
            followed: 0,
            scanning: false,
            span: (0, 0),
            at_home: true,
            via: None,
            depth: 0,
            steps: 0,
            found: Analysis::default(),
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
        self.quotes_subscripts = text.contains("[$(") || text.contains("[`");
        self.list(list);
        for state in std::mem::take(&mut self.jumps) {
            self.state.join(&state);
        }
        self.run_again();
        for text in std::mem::take(&mut self.traps) {
            self.forked(|shell| shell.text(&text, "trap"));
        }
        if let Some(error) = error {
            self.span = (error.at, u32::try_from(text.len()).unwrap_or(error.at));
            self.unknown(Gap::Syntax, error.what);
        }
    }

    /// What was run as code may have been written before or after, by a part that runs beside: all that it ever held counts.
    fn run_again(&mut self) {
        for place in std::mem::take(&mut self.executed) {
            let contents: Vec<Flow> = self
                .state
                .files
                .iter()
                .filter(|(path, _)| **path == *place)
                .map(|(_, flow)| flow.clone())
                .collect();
            for flow in contents {
                match flow {
                    Flow::Text(text) => {
                        self.forked(|shell| shell.text(&text, &place));
                    }
                    Flow::Any | Flow::Lines(_) => self.unknown(Gap::ShellCode, &place),
                    Flow::Nothing | Flow::Built => {}
                }
            }
        }
    }

    /// A text that came up on the way, parsed; what cannot be read is told.
    fn parsed(&mut self, text: &str) -> &'t List<'t> {
        let text: &'t str = self.store.texts.alloc(text.to_owned());
        let Parsed { list, error } = parse(text);
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
            // The parts that are known may hold commands of their own: `bash -c "$x; rm -rf /"`.
            if text.raw().contains(is_mark) && text.raw().chars().any(|c| !is_mark(c)) {
                let readable = blanked(text);
                self.inside(step, "", |shell| {
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
        self.inside(step, "", |shell| {
            let list = shell.parsed(whole);
            shell.list(list)
        })
    }

    fn parsed_quietly(&mut self, text: &str) -> Option<&'t List<'t>> {
        let text: &'t str = self.store.texts.alloc(text.to_owned());
        let Parsed { list, error } = parse(text);
        error.is_none().then(|| &*self.store.trees.alloc(list))
    }

    /// Counts what is walked; says, and tells, when that has become too much.
    fn spent(&mut self, steps: u32) -> bool {
        self.steps = self.steps.saturating_add(steps);
        let spent = self.steps >= MAX_STEPS;
        if spent {
            self.unknown(Gap::Bounds, "more commands than can be followed");
        }
        spent
    }

    /// Walks, and says which programs were met.
    fn noting<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> (T, Vec<String>) {
        let before = self.ran.len();
        let out = walk(self);
        (out, self.ran.get(before..).unwrap_or_default().to_vec())
    }

    /// Walks on with one more step on the way.
    fn inside<T: Default>(&mut self, step: &str, line: &str, walk: impl FnOnce(&mut Self) -> T) -> T {
        let via = Via { step: step.to_owned(), line: line.to_owned(), before: self.via.clone() };
        let via = self.via.replace(Rc::new(via));
        let at_home = std::mem::replace(&mut self.at_home, false);
        let out = self.deeper(walk);
        self.at_home = at_home;
        self.via = via;
        out
    }

    fn deeper<T: Default>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= MAX_DEPTH {
            self.unknown(Gap::Bounds, "nested too deeply");
            return T::default();
        }
        self.depth += 1;
        let out = walk(self);
        self.depth -= 1;
        out
    }

    /// Walks in a child of this shell: what it leaves on the disk stays, all else is forgotten.
    fn forked<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> T {
        self.steps = self.steps.saturating_add(self.state.weight() / 2);
        let before = self.state.clone();
        let pending = self.pending.take();
        let traps = std::mem::take(&mut self.traps);
        let out = walk(self);
        // What a child has set a trap for runs when the child ends.
        for text in std::mem::replace(&mut self.traps, traps) {
            self.text(&text, "trap");
        }
        let child = std::mem::replace(&mut self.state, before);
        self.state.adopt_files(&child);
        self.pending = pending;
        out
    }

    fn origin(&self) -> Origin {
        Origin { span: self.span, via: self.via.clone() }
    }

    fn unknown(&mut self, gap: Gap, text: &str) {
        self.sourced |= matches!(gap, Gap::ShellCode | Gap::Syntax | Gap::Name);
        let effect = Unknown::Shell { gap, text: shorten(text, 120), origin: self.origin() };
        let known = |found: &Effect<'_>| matches!(found, Effect::Unknown(other) if *other == effect);
        if !self.found.effects.iter().any(known) {
            self.emit(Effect::Unknown(effect));
        }
    }

    fn emit(&mut self, effect: Effect<'static>) {
        match self.found.effects.len() {
            MAX_EFFECTS => {
                let text = "more effects than can be told apart".to_owned();
                let origin = self.origin();
                self.found.effects.push(Effect::Unknown(Unknown::Shell { gap: Gap::Bounds, text, origin }));
            }
            count if count < MAX_EFFECTS => self.found.effects.push(effect),
            _ => {}
        }
    }
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
