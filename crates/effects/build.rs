//! Compiles `specs/*.toml` into static tables, so that a hook process parses none of them. Likewise
//! `src/code/calls/*.txt`, see `build/calls.rs`.
//!
//! The tables hold numbers and one text, no pointers: the loader has nothing to relocate, and a command's
//! options and their spellings lie side by side.

#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::struct_excessive_bools,
    reason = "it runs while we build, on our own files"
)]

#[path = "build/calls.rs"]
mod calls;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use serde::Deserialize;

type Result<T, E = String> = std::result::Result<T, E>;

/// What stands in a file, and for a sub-command in its table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    about: Option<String>,
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    same: Vec<String>,
    args: Option<String>,
    args1: Option<String>,
    #[serde(default)]
    plain: bool,
    #[serde(default)]
    stops: bool,
    #[serde(default)]
    single_dash: bool,
    #[serde(default)]
    old_style: bool,
    #[serde(default)]
    key_value: bool,
    #[serde(default)]
    handler: bool,
    #[serde(default)]
    global: bool,
    #[serde(default)]
    remote: bool,
    stdin: Option<String>,
    heeds: Option<Heeds>,
    #[serde(default = "text")]
    output: String,
    #[serde(default)]
    effects: Vec<String>,
    #[serde(default)]
    default: Vec<String>,
    #[serde(default)]
    options: BTreeMap<String, OptionSource>,
    #[serde(default)]
    sub: BTreeMap<String, Source>,
    #[serde(default)]
    examples: Vec<Example>,
}

/// What a command heeds besides its words and what these name.
#[derive(Deserialize, Clone, Copy, Debug)]
#[serde(rename_all = "lowercase")]
enum Heeds {
    Words,
    Home,
    Project,
}

/// What an option means.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OptionSource {
    takes: Option<String>,
    maybe: Option<String>,
    #[serde(default)]
    keys: BTreeMap<String, String>,
    turns: Option<String>,
    args: Option<String>,
    output: Option<String>,
    #[serde(default)]
    effects: Vec<String>,
    #[serde(default)]
    default: Vec<String>,
    #[serde(default)]
    instead: bool,
    #[serde(default)]
    ends: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    run: String,
    does: Vec<String>,
}

fn text() -> String {
    "text".to_owned()
}

/// The tables. Equal short lists are kept once; names and options are kept by command.
#[derive(Default)]
struct Tables {
    text: String,
    specs: Vec<String>,
    options: Vec<String>,
    /// Each as its Rust expression.
    kinds: Vec<String>,
    args: Vec<String>,
    turns: Vec<String>,
    effects: Vec<String>,
    mores: Vec<String>,
    index: BTreeMap<u32, (String, usize)>,
    /// The place of the file that is being read.
    file: usize,
    examples: String,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=specs");
    println!("cargo::rerun-if-changed=variables.toml");
    println!("cargo::rerun-if-changed=src/code/calls");
    let mut files: Vec<_> = fs::read_dir("specs")?.collect::<Result<_, _>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    let mut tables = Tables::default();
    tables.kinds.push(kinds("text")?);
    tables.mores.push("More::NONE".to_owned());
    let mut wrong = 0;
    for file in files {
        let path = file.path();
        let Some(stem) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".toml")) else {
            continue;
        };
        let read = toml::from_str(&fs::read_to_string(&path)?).map_err(|error| error.to_string());
        if let Err(error) = read.and_then(|source| tables.file(stem, source)) {
            println!("cargo::error=specs/{stem}.toml: {}", error.replace('\n', " "));
            wrong += 1;
        }
    }
    if wrong > 0 {
        return Err(format!("{wrong} specs are wrong").into());
    }
    let out = env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("specs.rs"), tables.code()?)?;
    fs::write(Path::new(&out).join("examples.rs"), format!("&[\n{}]", tables.examples))?;
    fs::write(Path::new(&out).join("calls.rs"), calls::tables()?)?;
    fs::write(Path::new(&out).join("variables.rs"), variables()?)?;
    Ok(())
}

/// `variables.toml`: names of variables, by what they lead programs to.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Variables {
    harmless: Vec<String>,
    values: BTreeMap<String, Vec<String>>,
    everywhere: Vec<String>,
    elsewhere: Vec<String>,
}

/// The lists of `variables.toml`, each as one text.
fn variables() -> Result<String, Box<dyn std::error::Error>> {
    let lists: Variables = toml::from_str(&fs::read_to_string("variables.toml")?)?;
    let values = lists.values.iter().map(|(name, values)| format!("{name}={}", values.join(",")));
    let mut code = String::new();
    for (name, words) in [
        ("HARMLESS", lists.harmless),
        ("VALUES", values.collect()),
        ("EVERYWHERE", lists.everywhere),
        ("ELSEWHERE", lists.elsewhere),
    ] {
        if let Some(word) = words.iter().find(|word| word.is_empty() || word.contains(char::is_whitespace)) {
            return Err(format!("variables.toml: `{word}` is no name").into());
        }
        writeln!(code, "static {name}: &str = {:?};", words.join(" "))?;
    }
    Ok(code)
}

impl Tables {
    fn file(&mut self, stem: &str, mut source: Source) -> Result<()> {
        if source.names.is_empty() {
            source.names.push(stem.to_owned());
        }
        for name in &source.names {
            let entry = (name.clone(), self.specs.len());
            if let Some((other, _)) = self.index.insert(hash(name), entry) {
                return Err(format!("`{name}` is taken, or has the hash of `{other}`"));
            }
        }
        self.file = self.specs.len();
        self.specs.push(String::new());
        self.spec(self.file, stem, &source.names, &source, Heeds::Project)
    }

    /// Fills the place of a spec, and appends those of its sub-commands. `above` is what the command above heeds.
    fn spec(
        &mut self,
        place: usize,
        path: &str,
        names: &[String],
        source: &Source,
        above: Heeds,
    ) -> Result<()> {
        let heeds = source.heeds.unwrap_or(above);
        let within = |error| format!("{path}: {error}");
        if source.about.as_ref().is_none_or(|about| about.trim().is_empty() || about.contains('\n')) {
            return Err(within("it needs a line `about`".to_owned()));
        }
        if source.examples.is_empty() && source.sub.is_empty() {
            return Err(within("it needs examples".to_owned()));
        }
        for Example { run, does } in &source.examples {
            let program = run.split_whitespace().next().unwrap_or_default();
            if self.index.get(&hash(program)).is_none_or(|(_, place)| *place != self.file) {
                return Err(within(format!("`{run}` is an example of something else")));
            }
            writeln!(
                self.examples,
                "    Example {{ file: {path:?}, handler: {}, run: {run:?}, does: &{does:?} }},",
                source.handler
            )
            .map_err(|error| error.to_string())?;
        }
        let listed = self.text(&names.join(" "))?;
        let first = self.options.len();
        let mut seen = BTreeSet::new();
        for (spellings, meaning) in &source.options {
            self.option(spellings, meaning, source, &mut seen)
                .map_err(|error| within(format!("`{spellings}`: {error}")))?;
        }
        let options = span(first, self.options.len() - first)?;
        let args = self.args(source.args.as_deref().unwrap_or_default()).map_err(within)?;
        let args1 = match &source.args1 {
            Some(args1) => format!("Some({})", self.args(args1).map_err(within)?),
            None => "None".to_owned(),
        };
        let effects = self.effects(&source.effects).map_err(within)?;
        let default = self.effects(&source.default).map_err(within)?;
        let facts = source.output == "facts";
        let output = output(if facts { "name" } else { &source.output }).map_err(within)?;
        let stdin = match source.stdin.as_deref().map(kind).transpose().map_err(within)? {
            Some(code) => {
                match code.strip_prefix("WordKind::Code(").and_then(|rest| rest.strip_suffix(')')) {
                    Some(language) => format!("Some({language})"),
                    None => return Err(within("`stdin` is `code:` and a language".to_owned())),
                }
            }
            None => "None".to_owned(),
        };
        let first = self.specs.len();
        let subs = span(first, source.sub.len())?;
        let flags = [
            source.plain,
            source.stops,
            source.single_dash,
            source.old_style,
            source.key_value,
            source.handler,
            source.global,
            source.remote,
            facts,
        ];
        let flags = flags.iter().rev().fold(0, |flags, flag| flags << 1 | u16::from(*flag));
        self.specs[place] = format!(
            "Spec {{ names: {listed}, options: {options}, subs: {subs}, args: {args}, args1: {args1}, effects: {effects}, default: {default}, flags: {flags}, heeds: Heeds::{heeds:?}, output: {output}, stdin: {stdin} }}"
        );
        self.specs.extend(source.sub.keys().map(|_| String::new()));
        let mut seen = BTreeSet::new();
        for (place, (name, sub)) in source.sub.iter().enumerate() {
            let mut sub_names = vec![name.clone()];
            sub_names.extend(sub.names.iter().cloned());
            sub_names.extend(sub.same.iter().map(|other| format!("|{other}")));
            let all = sub_names.iter().flat_map(|names| names.trim_start_matches('|').split(' '));
            for one in all {
                if !seen.insert(one.to_owned()) {
                    return Err(within(format!("sub-command `{one}` is there twice")));
                }
            }
            self.spec(first + place, &format!("{path} {name}"), &sub_names, sub, heeds)?;
        }
        Ok(())
    }

    fn option(
        &mut self,
        spellings: &str,
        meaning: &OptionSource,
        source: &Source,
        seen: &mut BTreeSet<String>,
    ) -> Result<()> {
        for spelling in spellings.split(' ') {
            let dashed = spelling.starts_with('-') && spelling != "-" && spelling != "--";
            if !(dashed || spelling == "+" || source.key_value && spelling.ends_with('=')) {
                return Err(format!("`{spelling}` is not the spelling of an option"));
            }
            if !seen.insert(spelling.to_owned()) {
                return Err(format!("`{spelling}` is there twice"));
            }
        }
        let (mut takes, mut value) = match (&meaning.takes, &meaning.maybe) {
            (None, None) => ("No", "text"),
            (Some(kind), None) if kind.contains(' ') => ("Pair", kind.as_str()),
            (Some(kind), None) => ("Value", kind.as_str()),
            (None, Some(kind)) => ("Attached", kind.as_str()),
            (Some(_), Some(_)) => return Err("`takes` and `maybe`".to_owned()),
        };
        if !meaning.keys.is_empty() {
            if takes != "No" {
                return Err("`keys` says what it takes".to_owned());
            }
            (takes, value) = ("Keyed", meaning.keys.get("*").map_or("text", String::as_str));
        }
        let kinds = self.kinds(&value.replace(' ', "+"))?;
        let more = self.more(meaning)?;
        let names = self.text(spellings)?;
        self.options
            .push(format!("Opt {{ names: {names}, kinds: {kinds}, takes: Takes::{takes}, more: {more} }}"));
        let first = spellings.split(' ').next().unwrap_or_default();
        for (key, kind) in &meaning.keys {
            let (names, kinds) = (self.text(&format!("{first}:{key}"))?, self.kinds(kind)?);
            self.options
                .push(format!("Opt {{ names: {names}, kinds: {kinds}, takes: Takes::Key, more: 0 }}"));
        }
        Ok(())
    }

    fn more(&mut self, meaning: &OptionSource) -> Result<usize> {
        let args = match &meaning.args {
            Some(args) => format!("Some({})", self.args(args)?),
            None => "None".to_owned(),
        };
        let turns = self.turns(meaning.turns.as_deref().unwrap_or_default())?;
        let effects = self.effects(&meaning.effects)?;
        let default = self.effects(&meaning.default)?;
        let output = match &meaning.output {
            Some(name) => format!("Some({})", output(name)?),
            None => "None".to_owned(),
        };
        let (instead, ends) = (meaning.instead, meaning.ends);
        let plain = meaning.args.is_none() && meaning.turns.is_none() && meaning.output.is_none();
        if plain && meaning.effects.is_empty() && meaning.default.is_empty() && !instead && !ends {
            return Ok(0);
        }
        Ok(place(
            &mut self.mores,
            format!(
                "More {{ args: {args}, turns: {turns}, effects: {effects}, default: {default}, output: {output}, instead: {instead}, ends: {ends} }}"
            ),
        ))
    }

    fn args(&mut self, args: &str) -> Result<String> {
        let mut list = Vec::new();
        for arg in args.split_whitespace() {
            let (kind, times) = match (arg.strip_suffix("..."), arg.strip_suffix('?')) {
                (Some(kind), _) => (kind, "Many"),
                (None, Some(kind)) => (kind, "Optional"),
                (None, None) => (arg, "One"),
            };
            list.push(format!("Arg {{ kinds: {}, times: Times::{times} }}", self.kinds(kind)?));
        }
        if list.iter().filter(|arg| arg.contains("Times::Many")).count() > 1 && !args.starts_with("assign...")
        {
            return Err(format!("`{args}` repeats two kinds"));
        }
        run(&mut self.args, list)
    }

    fn turns(&mut self, turns: &str) -> Result<String> {
        let mut list = Vec::new();
        for turn in turns.split(',').filter(|turn| !turn.trim().is_empty()) {
            let [from, to] = turn.split_whitespace().collect::<Vec<_>>()[..] else {
                return Err(format!("`{turn}` is not two kinds"));
            };
            let to = self.kinds(to)?;
            list.push(if from.starts_with('-') {
                format!("Turn {{ option: {}, from: WordKind::Text, to: {to} }}", self.text(from)?)
            } else {
                format!("Turn {{ option: Text(0), from: {}, to: {to} }}", kind(from)?)
            });
        }
        run(&mut self.turns, list)
    }

    fn effects(&mut self, effects: &[String]) -> Result<String> {
        let mut list = Vec::new();
        for effect in effects {
            list.push(match effect.as_str() {
                "connect" => "Stored { what: What::Connect, path: Text(0) }".to_owned(),
                "project" => "Stored { what: What::Project, path: Text(0) }".to_owned(),
                "repo-read" => "Stored { what: What::RepoRead, path: Text(0) }".to_owned(),
                "repo-write" => "Stored { what: What::RepoWrite, path: Text(0) }".to_owned(),
                "repo-data" => "Stored { what: What::RepoData, path: Text(0) }".to_owned(),
                "unknown" => "Stored { what: What::Unknown, path: Text(0) }".to_owned(),
                "foreign" => "Stored { what: What::Foreign, path: Text(0) }".to_owned(),
                other => match other.split_once(' ') {
                    Some((name, setting)) if PATHS.contains(&name) && setting.starts_with('@') => {
                        let setting = setting[1..].trim();
                        if setting.split(' ').count() != 2 {
                            return Err(format!("`{other}` does not name files and a key"));
                        }
                        format!(
                            "Stored {{ what: What::Setting({}), path: {} }}",
                            kind(name)?,
                            self.text(setting)?
                        )
                    }
                    Some((name, path)) if PATHS.contains(&name) && !path.trim().is_empty() => {
                        format!("Stored {{ what: What::Use({}), path: {} }}", kind(name)?, self.text(path)?)
                    }
                    _ => return Err(format!("`{other}` is no effect")),
                },
            });
        }
        run(&mut self.effects, list)
    }

    /// The place of a combination of kinds, such as `read+write`.
    fn kinds(&mut self, names: &str) -> Result<usize> {
        Ok(place(&mut self.kinds, kinds(names)?))
    }

    /// Where a text stands: 20 bits for its beginning, 12 for its length.
    fn text(&mut self, text: &str) -> Result<String> {
        // The last text of the same kind is often near: looking back a little keeps a command's texts together.
        let mut back = self.text.len().saturating_sub(2048);
        while !self.text.is_char_boundary(back) {
            back += 1;
        }
        let at = match self.text[back..].find(text) {
            Some(at) => back + at,
            None => {
                self.text.push_str(text);
                self.text.len() - text.len()
            }
        };
        if at >= 1 << 20 || text.len() >= 1 << 12 || !text.is_ascii() {
            return Err(format!("`{text}` is too long or not ASCII, or all texts are too long together"));
        }
        Ok(format!("Text({})", at << 12 | text.len()))
    }

    fn code(&self) -> Result<String> {
        let list = |name: &str, of: &str, items: &[String]| {
            format!(
                "pub(in crate::spec) static {name}: [{of}; {}] = [\n{}];\n",
                items.len(),
                items.iter().fold(String::new(), |all, item| all + "    " + item + ",\n")
            )
        };
        let index: Vec<_> =
            self.index.iter().map(|(hash, (_, place))| format!("({hash}, {place})")).collect();
        for (what, len) in
            [("specs", self.specs.len()), ("kinds", self.kinds.len() << 8), ("options", self.options.len())]
        {
            u16::try_from(len).map_err(|_| format!("too many {what}"))?;
        }
        Ok([
            format!("pub(in crate::spec) static TEXT: &str = {:?};\n", self.text),
            list("INDEX", "(u32, u16)", &index),
            list("SPECS", "Spec", &self.specs),
            list("OPTIONS", "Opt", &self.options),
            list("MORES", "More", &self.mores),
            list("KINDS", "[WordKind; 3]", &self.kinds),
            list("ARGS", "Arg", &self.args),
            list("TURNS", "Turn", &self.turns),
            list("EFFECTS", "Stored", &self.effects),
        ]
        .concat())
    }
}

/// Kinds of paths, which an effect may have too.
const PATHS: [&str; 9] =
    ["read", "read-tree", "list", "append", "write", "write-tree", "delete", "delete-tree", "enter"];

fn kinds(names: &str) -> Result<String> {
    let mut list = names.split('+').map(kind).collect::<Result<Vec<_>>>()?;
    if list.len() > 3 {
        return Err(format!("`{names}` is more than three kinds"));
    }
    list.resize(3, "WordKind::Text".to_owned());
    Ok(format!("[{}]", list.join(", ")))
}

/// The Rust name of a kind.
fn kind(name: &str) -> Result<String> {
    const SIMPLE: [&str; 32] = [
        "text",
        "read",
        "read-tree",
        "list",
        "append",
        "write",
        "write-tree",
        "delete",
        "delete-tree",
        "enter",
        "into",
        "link",
        "beside",
        "command",
        "shell",
        "program",
        "sed",
        "awk",
        "assign",
        "host",
        "at",
        "sql",
        "form",
        "debug",
        "each",
        "mount",
        "filter",
        "relayed",
        "settings",
        "template",
        "prose",
        "suffix",
    ];
    const LANGUAGES: [&str; 8] = ["python", "node", "perl", "ruby", "php", "lua", "shell", "other"];
    match name.split_once(':') {
        None if SIMPLE.contains(&name) => Ok(format!("WordKind::{}", camel(name))),
        Some((what @ ("code" | "script"), language)) if LANGUAGES.contains(&language) => {
            Ok(format!("WordKind::{}(Language::{})", camel(what), camel(language)))
        }
        _ => Err(format!("`{name}` is no kind")),
    }
}

fn output(name: &str) -> Result<String> {
    if ["text", "paths", "name", "input", "nothing"].contains(&name) {
        Ok(format!("Output::{}", camel(name)))
    } else {
        Err(format!("`{name}` is no kind of output"))
    }
}

/// `read-tree` as `ReadTree`.
fn camel(name: &str) -> String {
    name.split('-').map(|part| part[..1].to_uppercase() + &part[1..]).collect()
}

/// FNV-1a, as in `spec.rs`.
fn hash(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The place of an item, which is kept once.
fn place(items: &mut Vec<String>, item: String) -> usize {
    items.iter().position(|other| *other == item).unwrap_or_else(|| {
        items.push(item);
        items.len() - 1
    })
}

/// The place of a run of items, which is kept once.
fn run(items: &mut Vec<String>, list: Vec<String>) -> Result<String> {
    let mut windows = items.windows(list.len().max(1));
    let at = if list.is_empty() { Some(0) } else { windows.position(|window| window == list) };
    let at = at.unwrap_or(items.len());
    let len = list.len();
    if at == items.len() {
        items.extend(list);
    }
    span(at, len)
}

fn span(at: usize, len: usize) -> Result<String> {
    let fits = |number| u16::try_from(number).map_err(|_| "too many for a table".to_owned());
    Ok(format!("Span {{ at: {}, len: {} }}", fits(at)?, fits(len)?))
}
