//! Random sequences of operations, held against a model of maps in memory: what each one answers, to the exact error,
//! what is counted, what lies on the disk, and that no declaration ever changes.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::{base, declaration};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use toolgate_workspace::{
    Declaration, Dots, Durability, Error, Fault, Formula, Leaves, Limit, Pattern, Quota, Side, SideMetrics,
    Workspace, Workspaces,
};

const AGENTS: [&str; 3] = ["one", "two", "three"];

/// What declarations are made of. No two of them meet but in a path that [`universe`] holds.
const PATTERNS: [&str; 18] = [
    "a", "a/b", "b/x.md", "out/r", "temp/t", "d..d", "a/./b", "a/", "out/", "b/c/", "./", "out//", "*.md",
    "**/*.md", "a/**", "out/?", "*/x*", "**",
];

/// What is read and written, clean.
const PATHS: [&str; 18] = [
    "a",
    "a/b",
    "a/b/c",
    "b",
    "b/x.md",
    "x.md",
    "b/c/t",
    "b/c/x.md",
    "out",
    "out/r",
    "out/x",
    "out/long",
    "temp",
    "temp/t",
    "temp/u/v",
    "c",
    "",
    "a/.toolgate-a",
];

/// What is wrong by its text alone, declared or not.
const TRAVERSALS: [(&str, Fault); 9] = [
    ("/etc/passwd", Fault::Absolute),
    ("//a", Fault::Absolute),
    ("../a", Fault::Parent),
    ("a/../b", Fault::Parent),
    ("a/..", Fault::Parent),
    ("a\0.md", Fault::Nul),
    ("a\nb", Fault::Control),
    ("a\\b", Fault::Backslash),
    ("out/\u{7f}", Fault::Control),
];

/// A name with two dots in it, which is refused or not as the declaration says.
const DOTTED: &str = "d..d";

#[derive(Debug, Clone)]
enum Step {
    Create {
        agent: &'static str,
        declaration: Declaration,
    },
    Find {
        agent: &'static str,
    },
    Read {
        by: usize,
        path: Given,
        streamed: bool,
    },
    Write {
        by: usize,
        path: Given,
        content: Vec<u8>,
        streamed: bool,
    },
    /// Another program puts a file into the workspace.
    Put {
        agent: &'static str,
        path: &'static str,
        content: Vec<u8>,
    },
    Cleanup {
        by: usize,
    },
}

/// A path as it is given.
#[derive(Debug, Clone)]
enum Given {
    Clean { raw: String, clean: &'static str },
    Dotted,
    Traversal(&'static str, Fault),
}

impl Given {
    fn raw(&self) -> &str {
        match self {
            Given::Clean { raw, .. } => raw,
            Given::Dotted => DOTTED,
            Given::Traversal(raw, _) => raw,
        }
    }

    /// What is to be looked up, if the text passes.
    fn clean(&self, dots: Dots) -> Result<&'static str, Told> {
        match self {
            Given::Clean { clean, .. } => Ok(clean),
            Given::Dotted if dots == Dots::Component => Ok(DOTTED),
            Given::Dotted => Err(Told::Traversal(Fault::Parent)),
            Given::Traversal(_, fault) => Err(Told::Traversal(*fault)),
        }
    }
}

/// What an operation answers when it does not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Told {
    UndeclaredRead,
    UndeclaredWrite,
    Traversal(Fault),
    Gone,
    InvalidAgent,
    InUse,
    InvalidDeclaration(String),
    Conflict { pattern: String, other: String, theirs: String },
    TooMuch(Limit),
    NotAFile,
    Missing,
    NotADirectory,
    Unexpected(String),
}

impl Told {
    /// The same about a path or an agent that the error has to name as it was given.
    fn of(error: &Error, about: &str) -> Told {
        let told = match error {
            Error::UndeclaredRead { path } if path == about => Told::UndeclaredRead,
            Error::UndeclaredWrite { path } if path == about => Told::UndeclaredWrite,
            Error::PathTraversal { path, why: Leaves::Text(fault) } if path == about => {
                Told::Traversal(*fault)
            }
            Error::WorkspaceNotFound { .. } => Told::Gone,
            Error::InvalidAgent { agent, .. } if agent == about => Told::InvalidAgent,
            Error::AgentInUse { agent } if agent.as_str() == about => Told::InUse,
            Error::InvalidDeclaration(invalid) => Told::InvalidDeclaration(invalid.pattern.to_string()),
            Error::Conflict { agent, pattern, other, theirs } if agent.as_str() == about => Told::Conflict {
                pattern: pattern.to_string(),
                other: other.to_string(),
                theirs: theirs.to_string(),
            },
            Error::QuotaExceeded { limit, .. } => Told::TooMuch(*limit),
            Error::NotAFile { .. } => Told::NotAFile,
            Error::Io { source, .. } => match source.kind() {
                std::io::ErrorKind::NotFound => Told::Missing,
                std::io::ErrorKind::NotADirectory => Told::NotADirectory,
                _ => Told::Unexpected(format!("{error:?}")),
            },
            _ => Told::Unexpected(format!("{error:?}")),
        };
        let denied = matches!(told, Told::UndeclaredRead | Told::UndeclaredWrite | Told::Traversal(_));
        assert_eq!(error.is_denial(), denied, "{error:?}");
        told
    }

    fn is_denial(&self) -> bool {
        matches!(self, Told::UndeclaredRead | Told::UndeclaredWrite | Told::Traversal(_))
    }
}

/// The reference for what a pattern covers: slow, and plain to read.
fn covers(pattern: &str, path: &str) -> bool {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    let parts: Vec<&str> = pattern.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    let below = pattern.ends_with('/');
    if below { names.len() > parts.len() && names.starts_with(&parts) } else { spans(&parts, &names) }
}

fn spans(parts: &[&str], names: &[&str]) -> bool {
    match parts {
        [] => names.is_empty(),
        ["**"] => !names.is_empty(),
        ["**", rest @ ..] => (0..=names.len()).any(|skipped| spans(rest, &names[skipped..])),
        [part, rest @ ..] => {
            names.first().is_some_and(|name| spells(part.as_bytes(), name.as_bytes()))
                && spans(rest, &names[1..])
        }
    }
}

fn spells(part: &[u8], name: &[u8]) -> bool {
    match part {
        [] => name.is_empty(),
        [b'*', rest @ ..] => (0..=name.len()).any(|skipped| spells(rest, &name[skipped..])),
        [letter, rest @ ..] => {
            name.first().is_some_and(|first| *letter == b'?' || letter == first) && spells(rest, &name[1..])
        }
    }
}

/// Paths of up to three names: enough for every two of [`PATTERNS`] that meet to do so in one of them.
fn universe() -> Vec<String> {
    const NAMES: [&str; 10] = ["a", "b", "c", "x", "x.md", "out", "r", "temp", "t", DOTTED];
    let mut all: Vec<String> = NAMES.map(str::to_owned).to_vec();
    let mut last = all.clone();
    for _ in 0..2 {
        last = last.iter().flat_map(|path| NAMES.map(|name| format!("{path}/{name}"))).collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// The two formulas, from their description.
fn digest_of(formula: Formula, states: &BTreeMap<&str, Option<&[u8]>>) -> String {
    let hex = |bytes: &[u8]| bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    match formula {
        Formula::Framed => {
            let mut all = b"toolgate-snapshot-1\n".to_vec();
            let length = |bytes: &[u8]| (bytes.len() as u64).to_le_bytes();
            for (path, content) in states {
                all.extend(length(path.as_bytes()));
                all.extend(path.as_bytes());
                all.push(u8::from(content.is_some()));
                if let Some(content) = content {
                    all.extend(length(content));
                    all.extend(blake3::hash(content).as_bytes());
                }
            }
            blake3::hash(&all).to_hex().to_string()
        }
        Formula::Compat => {
            let there = states.iter().filter_map(|(path, content)| Some((path, (*content)?)));
            let lines = there.map(|(path, content)| format!("{path}:{}\n", hex(&Sha256::digest(content))));
            hex(&Sha256::digest(lines.collect::<String>()))
        }
    }
}

/// What the model knows of a workspace that is there.
#[derive(Debug)]
struct Place {
    generation: usize,
    declaration: Declaration,
    files: BTreeMap<String, Vec<u8>>,
    directories: BTreeSet<String>,
}

impl Place {
    fn empty(declaration: &Declaration) -> Place {
        let (files, directories) = (BTreeMap::new(), BTreeSet::new());
        Place { generation: 0, declaration: declaration.clone(), files, directories }
    }

    fn is_input(&self, path: &str) -> bool {
        let ours = path.split('/').any(|name| name.starts_with(".toolgate-"));
        !ours && self.declaration.inputs.iter().any(|pattern| covers(pattern.as_str(), path))
    }

    fn is_output(&self, path: &str) -> bool {
        let ours = path.split('/').any(|name| name.starts_with(".toolgate-"));
        let temporary = self.declaration.temp && path.starts_with("temp/");
        let declared = self.declaration.outputs.iter().any(|pattern| covers(pattern.as_str(), path));
        !ours && (temporary || declared)
    }

    /// The directories above a path; an error where a file is one of them.
    fn above(&self, path: &str) -> Result<Vec<String>, Told> {
        let names: Vec<&str> = path.split('/').collect();
        let above: Vec<String> = (1..names.len()).map(|count| names[..count].join("/")).collect();
        if above.iter().any(|directory| self.files.contains_key(directory)) {
            return Err(Told::NotADirectory);
        }
        Ok(above)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, Told> {
        if !self.is_input(path) {
            return Err(Told::UndeclaredRead);
        }
        self.above(path)?;
        if self.directories.contains(path) {
            return Err(Told::NotAFile);
        }
        self.files.get(path).cloned().ok_or(Told::Missing)
    }

    fn fits(&self, bytes: u64, files: u64) -> Result<(), Told> {
        if let Some(most) = self.declaration.quota.bytes.filter(|most| bytes > *most) {
            return Err(Told::TooMuch(Limit::Bytes(most)));
        }
        match self.declaration.quota.files.filter(|most| files > *most) {
            Some(most) => Err(Told::TooMuch(Limit::Files(most))),
            None => Ok(()),
        }
    }

    fn write(&mut self, path: &str, content: &[u8], streamed: bool) -> Result<(), Told> {
        if !self.is_output(path) {
            return Err(Told::UndeclaredWrite);
        }
        let above = self.above(path)?;
        let (mut bytes, mut files) = self.usage();
        if above.iter().any(|directory| !self.directories.contains(directory)) {
            // No directory is made for what is refused, as far as its length is known beforehand.
            self.fits(bytes + if streamed { 0 } else { content.len() as u64 }, files + 1)?;
        }
        self.directories.extend(above);
        bytes += content.len() as u64;
        match self.files.get(path) {
            Some(old) => bytes -= old.len() as u64,
            None => files += 1,
        }
        self.fits(bytes, files)?;
        if self.directories.contains(path) {
            return Err(Told::NotAFile);
        }
        self.files.insert(path.to_owned(), content.to_vec());
        Ok(())
    }

    /// What a snapshot of one side has to hold: each path, with its content where it is there.
    fn states(&self, side: Side) -> Result<BTreeMap<&str, Option<&[u8]>>, Told> {
        let entries = if side == Side::Input { &self.declaration.inputs } else { &self.declaration.outputs };
        let mut states = BTreeMap::new();
        for (path, content) in &self.files {
            let temporary = self.declaration.temp && path.starts_with("temp/");
            let ours = path.contains(".toolgate-");
            if !temporary && !ours && entries.iter().any(|entry| covers(entry.as_str(), path)) {
                states.insert(path.as_str(), Some(content.as_slice()));
            }
        }
        for exact in entries.iter().filter_map(Pattern::exact) {
            if self.directories.contains(exact) {
                return Err(Told::NotAFile);
            }
            states.insert(exact, self.files.get(exact).map(Vec::as_slice));
        }
        Ok(states)
    }

    /// How many bytes and files the agent has written.
    fn usage(&self) -> (u64, u64) {
        let outputs = self.files.iter().filter(|(path, _)| self.is_output(path));
        outputs.fold((0, 0), |(bytes, files), (_, content)| (bytes + content.len() as u64, files + 1))
    }
}

/// A workspace as the library gives it, with what it has to have counted.
struct Handle {
    workspace: Workspace,
    agent: &'static str,
    generation: usize,
    declaration: Declaration,
    read: SideMetrics,
    write: SideMetrics,
}

/// Both sides.
struct World {
    top: TempDir,
    base: Workspaces,
    places: BTreeMap<&'static str, Place>,
    handles: Vec<Handle>,
    created: usize,
    universe: Vec<String>,
}

impl World {
    fn new() -> World {
        let (top, base) = base();
        fs::write(top.path().join("outside"), "outside").unwrap();
        let universe = universe();
        World { top, base, places: BTreeMap::new(), handles: Vec::new(), created: 0, universe }
    }

    /// Does the step on both sides; both have to answer alike. What they answered is noted in `seen`.
    fn step(&mut self, step: &Step, seen: &mut BTreeSet<String>) {
        let by_handle = matches!(step, Step::Read { .. } | Step::Write { .. } | Step::Cleanup { .. });
        if by_handle && self.handles.is_empty() {
            return;
        }
        let answer = match step {
            Step::Create { agent, declaration } => self.create(agent, declaration),
            Step::Find { agent } => self.find(agent),
            Step::Read { by, path, streamed } => self.read(*by, path, *streamed),
            Step::Write { by, path, content, streamed } => self.write(*by, path, content, *streamed),
            Step::Put { agent, path, content } => {
                self.put(agent, path, content);
                Ok(())
            }
            Step::Cleanup { by } => self.cleanup(*by),
        };
        let word = |text: String| text.split(['(', ' ', '{']).next().unwrap_or_default().to_owned();
        seen.insert(match answer {
            Ok(()) => word(format!("{step:?}")),
            Err(told) => word(format!("{told:?}")),
        });
        for handle in &self.handles {
            assert_eq!(handle.workspace.declaration(), &handle.declaration, "never changes");
        }
        let agents = self.base.agents().unwrap();
        assert!(agents.iter().map(toolgate_workspace::AgentId::as_str).eq(self.places.keys().copied()));
    }

    fn create(&mut self, agent: &'static str, declaration: &Declaration) -> Result<(), Told> {
        let wanted = self.may_create(agent, declaration);
        let made = self.base.create(agent, declaration.clone());
        assert_eq!(made.as_ref().map(drop).map_err(|error| Told::of(error, agent)), wanted);
        wanted?;
        self.created += 1;
        let directories =
            if declaration.temp { BTreeSet::from(["temp".to_owned()]) } else { BTreeSet::new() };
        let place = Place {
            generation: self.created,
            declaration: declaration.clone(),
            files: BTreeMap::new(),
            directories,
        };
        self.places.insert(agent, place);
        self.hold(agent, made.unwrap());
        Ok(())
    }

    fn may_create(&self, agent: &str, declaration: &Declaration) -> Result<(), Told> {
        if !AGENTS.contains(&agent) {
            return Err(Told::InvalidAgent);
        }
        let mut entries = declaration.inputs.iter().chain(&declaration.outputs);
        let dotted = entries.find(|entry| entry.as_str().contains(".."));
        if let Some(dotted) = dotted.filter(|_| declaration.dots == Dots::Substring) {
            return Err(Told::InvalidDeclaration(dotted.to_string()));
        }
        if self.places.contains_key(agent) {
            return Err(Told::InUse);
        }
        for (other, place) in &self.places {
            // A whole directory of inputs is a copy, and may cover what another one writes; a name may not.
            let named = declaration
                .inputs
                .iter()
                .filter(|input| !input.as_str().contains(['*', '?']) && !input.as_str().ends_with('/'));
            for mine in declaration.outputs.iter().chain(named) {
                for theirs in &place.declaration.outputs {
                    let (pattern, theirs) = (mine.to_string(), theirs.to_string());
                    let is_output = declaration.outputs.contains(mine);
                    let below = |file: &str, other: &str| {
                        !file.contains(['*', '?']) && other.starts_with(&format!("{file}/"))
                    };
                    // A file where the other one needs a directory is in its way, too.
                    let in_the_way = is_output && (below(&pattern, &theirs) || below(&theirs, &pattern));
                    let both = |path: &String| covers(&pattern, path) && covers(&theirs, path);
                    if in_the_way || self.universe.iter().any(both) {
                        return Err(Told::Conflict { pattern, other: (*other).to_owned(), theirs });
                    }
                }
            }
        }
        Ok(())
    }

    fn find(&mut self, agent: &'static str) -> Result<(), Told> {
        let wanted = match self.places.get(agent) {
            _ if !AGENTS.contains(&agent) => Err(Told::InvalidAgent),
            None => Err(Told::Gone),
            Some(_) => Ok(()),
        };
        let found = self.base.find(agent);
        assert_eq!(found.as_ref().map(drop).map_err(|error| Told::of(error, agent)), wanted);
        wanted?;
        self.hold(agent, found.unwrap());
        Ok(())
    }

    /// Takes a workspace in, which has to be what was declared and to have counted nothing yet.
    fn hold(&mut self, agent: &'static str, workspace: Workspace) {
        let place = &self.places[agent];
        let unique = |side: &[Pattern]| {
            side.iter().map(|pattern| pattern.as_str().to_owned()).collect::<BTreeSet<_>>().len()
        };
        let declaration = place.declaration.clone();
        assert_eq!(workspace.declared(Side::Input), unique(&declaration.inputs));
        assert_eq!(workspace.declared(Side::Output), unique(&declaration.outputs));
        assert_eq!(workspace.agent().as_str(), agent);
        assert_eq!(workspace.path(), self.base.path().join(agent));
        let (read, write) = (SideMetrics::default(), SideMetrics::default());
        let handle = Handle { workspace, agent, generation: place.generation, declaration, read, write };
        assert_eq!(handle.workspace.metrics(), toolgate_workspace::Metrics { read, write });
        self.handles.push(handle);
    }

    fn read(&mut self, by: usize, path: &Given, streamed: bool) -> Result<(), Told> {
        let handle = pick(&mut self.handles, by);
        let place = living(&mut self.places, handle);
        let wanted = path.clean(handle.declaration.dots).and_then(|clean| match place {
            Some(place) => place.read(clean),
            None => {
                let place = Place::empty(&handle.declaration);
                Err(if place.is_input(clean) { Told::Gone } else { Told::UndeclaredRead })
            }
        });
        let raw = path.raw();
        let begun = Instant::now();
        let read = if streamed {
            let mut content = Vec::new();
            handle.workspace.input(raw).and_then(|input| input.read_into(&mut content)).map(|length| {
                assert_eq!(length, content.len() as u64);
                content
            })
        } else {
            handle.workspace.read(raw)
        };
        let took = begun.elapsed();
        assert_eq!(read.map_err(|error| Told::of(&error, raw)), wanted, "read {raw:?}");
        let now = handle.workspace.metrics();
        counted(&mut handle.read, now.read, wanted.as_ref().err(), took);
        assert_eq!(now.write, handle.write, "reading is not writing");
        wanted.map(drop)
    }

    fn write(&mut self, by: usize, path: &Given, content: &[u8], streamed: bool) -> Result<(), Told> {
        let handle = pick(&mut self.handles, by);
        let place = living(&mut self.places, handle);
        let wanted = path.clean(handle.declaration.dots).and_then(|clean| match place {
            Some(place) => place.write(clean, content, streamed),
            None => {
                let place = Place::empty(&handle.declaration);
                Err(if place.is_output(clean) { Told::Gone } else { Told::UndeclaredWrite })
            }
        });
        let raw = path.raw();
        let begun = Instant::now();
        let written = if streamed {
            let mut source = content;
            let output = handle.workspace.output(raw);
            output.and_then(|output| output.write_from(&mut source, Durability::Process)).map(|length| {
                assert_eq!(length, content.len() as u64);
            })
        } else {
            handle.workspace.write(raw, content)
        };
        let took = begun.elapsed();
        assert_eq!(written.map_err(|error| Told::of(&error, raw)), wanted, "write {raw:?}");
        let now = handle.workspace.metrics();
        counted(&mut handle.write, now.write, wanted.as_ref().err(), took);
        assert_eq!(now.read, handle.read, "writing is not reading");
        if let Some(place) = living(&mut self.places, handle) {
            let (bytes, files) = place.usage();
            let Quota { bytes: most_bytes, files: most_files } = place.declaration.quota;
            assert!(
                most_bytes.is_none_or(|most| bytes <= most) && most_files.is_none_or(|most| files <= most)
            );
        }
        wanted
    }

    /// Only where the quota does not count it: what others write there is counted when a workspace is opened.
    fn put(&mut self, agent: &str, path: &str, content: &[u8]) {
        let Some(place) = self.places.get_mut(agent) else { return };
        let Ok(above) = place.above(path) else { return };
        if path.is_empty() || place.is_output(path) || place.directories.contains(path) {
            return;
        }
        let on_disk = self.base.path().join(agent).join(path);
        fs::create_dir_all(on_disk.parent().unwrap()).unwrap();
        fs::write(on_disk, content).unwrap();
        place.directories.extend(above);
        place.files.insert(path.to_owned(), content.to_vec());
    }

    fn cleanup(&mut self, by: usize) -> Result<(), Told> {
        let handle = self.handles.swap_remove(by % self.handles.len());
        let wanted = if living(&mut self.places, &handle).is_some() { Ok(()) } else { Err(Told::Gone) };
        let done = handle.workspace.cleanup();
        assert_eq!(done.map_err(|error| Told::of(&error, handle.agent)), wanted);
        wanted?;
        self.places.remove(handle.agent);
        Ok(())
    }

    /// A snapshot is a function of the model's maps, and the same twice.
    fn snapshots(&self, seen: &mut BTreeSet<String>) {
        for handle in &self.handles {
            let place = self.places.get(handle.agent).filter(|place| place.generation == handle.generation);
            let Some(place) = place else { continue };
            for side in [Side::Input, Side::Output] {
                for formula in [Formula::Framed, Formula::Compat] {
                    let taken = || {
                        let taken = handle.workspace.snapshot_of(side, formula, &());
                        taken.map_err(|error| Told::of(&error, ""))
                    };
                    let (first, second) = (taken(), taken());
                    assert_eq!(first, second);
                    let digest = first.map(|snapshot| snapshot.digest().hex());
                    let wanted = place.states(side).map(|states| digest_of(formula, &states));
                    assert_eq!(digest, wanted, "{side:?}");
                    seen.insert("Snapshot".to_owned());
                }
            }
        }
    }

    /// What lies on the disk is what the model says, and nothing else.
    fn compare(&self) {
        for (agent, place) in &self.places {
            let (mut files, mut directories) = (BTreeMap::new(), BTreeSet::new());
            list(&self.base.path().join(agent), "", &mut files, &mut directories);
            assert_eq!((&files, &directories), (&place.files, &place.directories), "{agent}");
        }
        let names: BTreeSet<String> = names(self.base.path()).into_iter().collect();
        let wanted = self.places.keys().copied().chain([".toolgate"]).map(str::to_owned).collect();
        assert_eq!(names, wanted);
        assert_eq!(fs::read(self.top.path().join("outside")).unwrap(), b"outside");
    }
}

fn pick(handles: &mut [Handle], by: usize) -> &mut Handle {
    let count = handles.len();
    &mut handles[by % count]
}

/// The place that a handle stands for, if it is there still.
fn living<'p>(places: &'p mut BTreeMap<&'static str, Place>, handle: &Handle) -> Option<&'p mut Place> {
    places.get_mut(handle.agent).filter(|place| place.generation == handle.generation)
}

/// Exactly one attempt more is counted, as what it was. Its sample took no longer than the test saw, so the average lies
/// between the two ends of the formula, on whatever machine.
fn counted(before: &mut SideMetrics, now: SideMetrics, told: Option<&Told>, took: Duration) {
    let wanted = SideMetrics {
        count: before.count + 1,
        failed: before.failed + u64::from(told.is_some()),
        denied: before.denied + u64::from(told.is_some_and(Told::is_denial)),
        average: now.average,
    };
    assert_eq!(now, wanted);
    assert!(now.denied <= now.failed && now.count == now.succeeded() + now.failed);
    let (old, new) = (before.average.as_nanos() * 9, now.average.as_nanos());
    let (least, most) = (old / 10, (old + took.as_nanos()) / 10);
    assert!((least..=most).contains(&new), "{least} {new} {most}");
    *before = now;
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn list(
    top: &Path,
    directory: &str,
    files: &mut BTreeMap<String, Vec<u8>>,
    directories: &mut BTreeSet<String>,
) {
    for name in names(&top.join(directory)) {
        let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
        let on_disk = top.join(&path);
        if on_disk.is_dir() {
            list(top, &path, files, directories);
            directories.insert(path);
        } else {
            files.insert(path, fs::read(on_disk).unwrap());
        }
    }
}

fn agents() -> impl Strategy<Value = &'static str> {
    prop_oneof![12 => select(&AGENTS[..]), 1 => select(&["", "../one", "one/x", ".toolgate"][..])]
}

/// Most of them narrow: wide ones leave no room for a second agent.
fn declarations() -> impl Strategy<Value = Declaration> {
    let entries = |most| proptest::collection::vec(select(&PATTERNS[..]), 0..=most);
    let quotas = prop_oneof![
        3 => Just(Quota::default()),
        1 => (0..60_u64).prop_map(|bytes| Quota { bytes: Some(bytes), files: None }),
        1 => (0..4_u64).prop_map(|files| Quota { bytes: None, files: Some(files) }),
        1 => (0..60_u64, 0..4_u64)
            .prop_map(|(bytes, files)| Quota { bytes: Some(bytes), files: Some(files) }),
    ];
    let dots = prop_oneof![Just(Dots::Substring), Just(Dots::Component)];
    (entries(4), entries(2), any::<bool>(), quotas, dots).prop_map(|(inputs, outputs, temp, quota, dots)| {
        Declaration { temp, quota, dots, ..declaration(&inputs, &outputs) }
    })
}

fn paths() -> impl Strategy<Value = Given> {
    let spelled = (select(&PATHS[..]), 0..5_u8).prop_map(|(clean, way)| {
        let raw = match way {
            0 => format!("./{clean}"),
            1 if !clean.is_empty() => clean.replace('/', "//"),
            2 if !clean.is_empty() => format!("{clean}/."),
            _ => clean.to_owned(),
        };
        Given::Clean { raw, clean }
    });
    let traversals = select(&TRAVERSALS[..]).prop_map(|(raw, fault)| Given::Traversal(raw, fault));
    prop_oneof![12 => spelled, 1 => Just(Given::Dotted), 2 => traversals]
}

fn steps() -> impl Strategy<Value = Step> {
    let content = || proptest::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        3 => (agents(), declarations()).prop_map(|(agent, declaration)| Step::Create { agent, declaration }),
        2 => agents().prop_map(|agent| Step::Find { agent }),
        14 => (any::<usize>(), paths(), any::<bool>())
            .prop_map(|(by, path, streamed)| Step::Read { by, path, streamed }),
        18 => (any::<usize>(), paths(), content(), any::<bool>())
            .prop_map(|(by, path, content, streamed)| Step::Write { by, path, content, streamed }),
        6 => (select(&AGENTS[..]), select(&PATHS[..]), content())
            .prop_map(|(agent, path, content)| Step::Put { agent, path, content }),
        1 => any::<usize>().prop_map(|by| Step::Cleanup { by }),
    ]
}

#[test]
fn any_sequence_of_operations_agrees_with_the_model() {
    let config = Config { cases: 150, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let seen = RefCell::new(BTreeSet::new());
    let sequences = proptest::collection::vec(steps(), 1..120);
    let outcome = runner.run(&sequences, |sequence| {
        let mut world = World::new();
        for step in &sequence {
            world.step(step, &mut seen.borrow_mut());
        }
        world.compare();
        world.snapshots(&mut seen.borrow_mut());
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    // A model that never meets a case says nothing about it.
    let all = [
        "Create",
        "Find",
        "Read",
        "Write",
        "Put",
        "Snapshot",
        "Cleanup",
        "UndeclaredRead",
        "UndeclaredWrite",
        "Traversal",
        "Gone",
        "InvalidAgent",
        "InUse",
        "InvalidDeclaration",
        "Conflict",
        "TooMuch",
        "NotAFile",
        "Missing",
        "NotADirectory",
    ];
    assert_eq!(seen.into_inner(), all.map(str::to_owned).into());
}
