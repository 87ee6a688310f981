//! What a shell command would do, found by interpreting it over values of which not all is known.
//!
//! The walk goes where bash would go: it keeps the directory, variables, functions and what the command itself has made so
//! far; of two branches it takes both and joins what they leave; a loop is walked until nothing new comes of it. Where
//! knowledge ends stands an [`Unknown`], never nothing.
//!
//! Reading order: [`walk`] (lists, pipelines, compound commands) → [`expand`] (words) → [`run`] (which program a command
//! is, and what its spec says) → [`builtins`].

mod builtins;
mod environment;
mod expand;
mod follow;
mod git;
mod git_reads;
mod glob;
mod lists;
mod modules;
mod output;
mod programs;
mod run;
mod search;
mod state;
mod text;
mod walk;

use std::borrow::Cow;
use std::path::Path;
use std::rc::Rc;

use toolgate_model::{
    Access, DirectoryChange, Effect, ExpandedTarget, Gap, Origin, PathArg, Reach, Resolver, SecretName,
    Target, Unknown, Via, World, clean, secret_name, shorten,
};
use toolgate_shell::{Arithmetic, List, Parsed, Part, Word, parse};
use typed_arena::Arena;

use state::State;
use text::{ANY, Flow, INNER, NAME, PIECE, Text, is_mark};

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

    // ── places ──────────────────────────────────────────────────────────────────────────────────────────────────────

    /// A file or directory is used.
    fn touch(&mut self, access: Access, reach: Reach, path: &Text) {
        if path.is_empty() || path.raw() == "-" || self.found.effects.len() > MAX_EFFECTS {
            return;
        }
        if path.head().starts_with("/dev/fd/6") && self.pipes.iter().any(|piped| piped.path == path.raw()) {
            return;
        }
        // All that is in a directory is as good as the directory.
        if access == Access::Delete
            && reach == Reach::Below
            && let Some(directory) = path.raw().strip_suffix(text::STAR)
            && (directory.is_empty() || directory.ends_with('/'))
            && !directory.contains(is_mark)
        {
            let directory = if directory.is_empty() { "." } else { directory };
            for (place, _) in self.places(&Text::marked(directory.to_owned())).into_iter().flatten() {
                self.touch_place(access, reach, clean(Path::new(&place)).to_string_lossy().into_owned());
            }
        }
        self.named_secret(access, reach, path);
        for place in self.places(path) {
            match place {
                // Some of what lies below, not all of it.
                Some((place, Reach::Below)) if access.changes() => {
                    self.touch_place(access, reach, format!("{}/…", place.trim_end_matches('/')));
                }
                Some((place, Reach::Below)) => self.touch_place(access, Reach::Below, place),
                Some((place, Reach::Exact)) => self.touch_place(access, reach, place),
                None => {
                    self.lost |= access.changes();
                    self.unknown(Gap::Path(access), &path.shown());
                }
            }
        }
        // An unset variable before a slash is the root directory.
        if access == Access::Delete
            && reach == Reach::Below
            && let Some(rest) = path.raw().strip_prefix(ANY)
            && rest.starts_with('/')
        {
            self.touch(access, reach, &Text::marked(rest.to_owned()));
        }
    }

    /// A file of secrets is known by its last name, wherever it lies: `$DIR/.env`.
    fn named_secret(&mut self, access: Access, reach: Reach, path: &Text) {
        let raw = path.raw();
        let unplaced = raw.contains(is_mark) || (self.state.cwd.is_empty() && !raw.starts_with('/'));
        if access.changes() || matches!(access, Access::List | Access::Enter) || !unplaced {
            return;
        }
        let name = raw.rsplit('/').next().unwrap_or(raw);
        if !name.contains(is_mark) && is_named_secret(name) {
            self.touch_place(access, reach, path.shown());
        }
    }

    fn touch_place(&mut self, access: Access, reach: Reach, place: String) {
        // A link that the command has made leads on; the place itself counts too.
        let leads = self.through_links(&place);
        for place in std::iter::once(place).chain(leads) {
            let origin = Some(self.origin());
            let known = |found: &Effect<'_>| {
                matches!(found, Effect::Use(had, Target { path: PathArg::Text(text), reach: reached, .. })
                    if *had == access && *reached == reach && *text == place)
            };
            if self.found.effects.iter().rev().take(64).any(known) {
                continue;
            }
            let path = PathArg::Text(Cow::Owned(place));
            let target = Target { param: Cow::Borrowed("command"), path, reach, guess: false, origin };
            self.emit(Effect::Use(access, target));
        }
    }

    /// Where a path leads through links that the command itself has made.
    fn through_links(&self, place: &str) -> Vec<String> {
        if self.state.links.is_empty() {
            return Vec::new();
        }
        let mut found: Vec<String> = Vec::new();
        let mut open = vec![place.to_owned()];
        while let Some(path) = open.pop() {
            // One name at a time, as the kernel walks: `docs/../link/../x` leads through the link.
            let mut at = String::new();
            let mut names = path.split('/').filter(|name| !name.is_empty() && *name != ".");
            while let Some(name) = names.next() {
                if name == ".." {
                    at.truncate(at.rfind('/').unwrap_or(0));
                    continue;
                }
                at.push('/');
                at.push_str(name);
                let rest: Vec<&str> = names.clone().collect();
                for (_, target) in self.state.links.iter().filter(|(link, _)| **link == *at) {
                    let led = format!("{target}/{}", rest.join("/"));
                    let clean = clean(Path::new(&led)).to_string_lossy().into_owned();
                    if found.len() < 16 && clean != path && !found.contains(&clean) {
                        found.push(clean);
                        open.push(led);
                    }
                }
            }
        }
        found
    }

    /// The absolute places that a path may name, and how far from there; `None` is one that cannot be told.
    fn places(&self, path: &Text) -> Vec<Option<(String, Reach)>> {
        let raw = path.raw();
        if raw.starts_with('/') {
            return self.located(raw);
        }
        // A tilde that was not expanded is one for programs that expand it themselves.
        if self.state.cwd.is_empty() {
            return vec![None];
        }
        self.state.cwd.iter().flat_map(|cwd| self.located(&format!("{cwd}/{raw}"))).collect()
    }

    fn located(&self, absolute: &str) -> Vec<Option<(String, Reach)>> {
        self.dotted(absolute).iter().flat_map(|absolute| self.located_below(absolute)).collect()
    }

    /// The spellings of a path in which a pattern is `..`: `.*` matches it in a plain shell, in a bash before 5.2, and
    /// where `globskipdots` is off. The first is the path itself.
    fn dotted(&self, absolute: &str) -> Vec<String> {
        const MAX_SPELLINGS: usize = 16;
        let is_pattern = |name: &str| {
            name.starts_with('.')
                && name.contains([text::STAR, text::ONE, text::CLASS])
                && glob::fits(name, "..") != Some(false)
        };
        if !absolute.split('/').any(is_pattern) {
            return vec![absolute.to_owned()];
        }
        let all_shells = self.state.plain || self.state.dots_match;
        let mut spellings = vec![String::new()];
        let mut names = absolute.split('/').skip(1).peekable();
        while let Some(name) = names.next() {
            // People list `.*` in their bash, and mean no more than what begins with a dot.
            let climbs = is_pattern(name) && (all_shells || names.peek().is_some());
            let climbed = spellings.iter().filter(|_| climbs).map(|path| format!("{path}/.."));
            let climbed: Vec<String> = climbed.take(MAX_SPELLINGS).collect();
            for path in &mut spellings {
                path.push('/');
                path.push_str(name);
            }
            spellings.extend(climbed);
            if spellings.len() > MAX_SPELLINGS {
                return vec![ANY.to_string()];
            }
        }
        spellings
    }

    fn located_below(&self, absolute: &str) -> Vec<Option<(String, Reach)>> {
        if !absolute.contains(is_mark) {
            return vec![Some((absolute.to_owned(), Reach::Exact))];
        }
        if absolute.contains(ANY) {
            return vec![None];
        }
        let blank = absolute.find(is_mark).unwrap_or(absolute.len());
        let (known, rest) = absolute.split_at_checked(blank).unwrap_or((absolute, ""));
        // Dots around what is not known may be `..` in the end.
        let may_climb = |name: &str| {
            name == ".."
                || (name.contains(['.', PIECE])
                    && name.contains(is_blank)
                    && name.chars().all(|c| c == '.' || is_blank(c)))
        };
        if absolute.split('/').skip_while(|name| !name.contains(is_mark)).any(may_climb) {
            return vec![None];
        }
        if !absolute.contains(is_blank) {
            let made = |directory: &str| self.made_in(directory);
            let clean_dots = clean(Path::new(absolute));
            let pattern = clean_dots.to_str().unwrap_or(absolute);
            if let Some(found) = glob::expand(self.scene.world, pattern, &made)
                && !found.is_empty()
            {
                return found.into_iter().map(|path| Some((path, Reach::Exact))).collect();
            }
        }
        let above = known.rsplit_once('/').map_or("", |(above, _)| above);
        let above = if above.is_empty() { "/" } else { above };
        // A name that is not known in a directory that is: some child of it.
        let child = !rest.contains(['/', INNER]);
        if child {
            let child = Text::marked(absolute.to_owned()).shown();
            return vec![Some((child, Reach::Exact))];
        }
        vec![Some((above.to_owned(), Reach::Below))]
    }

    /// Names in a directory that the command itself has made.
    fn made_in(&self, directory: &str) -> Vec<String> {
        let files = self.state.files.iter().map(|(path, _)| path);
        let links = self.state.links.iter().map(|(path, _)| path);
        let prefix = if directory.ends_with('/') { directory.to_owned() } else { format!("{directory}/") };
        files
            .chain(links)
            .filter_map(|path| path.strip_prefix(prefix.as_str()))
            .filter_map(|rest| rest.split('/').next())
            .map(str::to_owned)
            .collect()
    }

    /// The one absolute place that a known path names.
    fn one_place(&self, path: &Text) -> Option<String> {
        let whole = path.whole()?;
        let absolute = match self.state.cwd.as_slice() {
            _ if whole.starts_with('/') => whole.to_owned(),
            [cwd] if !cwd.contains(is_mark) => format!("{cwd}/{whole}"),
            _ => return None,
        };
        Some(clean(Path::new(&absolute)).to_string_lossy().into_owned())
    }
}

/// Whether a file of this name holds secrets, whatever stands in it.
pub(crate) fn is_named_secret(name: &str) -> bool {
    matches!(secret_name(name), Some(SecretName::Settings | SecretName::Key))
}

/// Whether a glob, as programs take one, fits a name. One that cannot be worked out fits nothing.
pub(crate) fn matches_name(glob: &str, name: &str) -> bool {
    glob == name || glob::fits(glob::marked(glob).raw(), name) == Some(true)
}

/// A mark that is no pattern.
fn is_blank(c: char) -> bool {
    matches!(c, NAME | PIECE | INNER | ANY | text::NUMBER)
}

/// A text that could be run with something harmless where it is not known, so that the rest of it can be walked.
fn blanked(text: &Text) -> String {
    text.raw().chars().map(|c| if is_mark(c) { '_' } else { c }).collect()
}

/// A name in a text changes no command: `echo 12`.
fn is_harmless_blank(text: &Text) -> bool {
    !text.raw().starts_with(is_mark) && text.raw().chars().filter(|c| is_mark(*c)).all(|c| c == text::NUMBER)
}
