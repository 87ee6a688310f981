//! Compiles the packs, so that a hook process parses none of them. A rule without examples does not build.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads files; the crate that it builds does not"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pack {
    about: String,
    /// Holds only where the settings name it.
    #[serde(default)]
    optional: bool,
    rule: Vec<Rule>,
}

/// One rule as it is written; `packs/README.md` says what each key means.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Rule {
    id: String,
    /// Other shapes of the same rule.
    #[serde(default)]
    or: Vec<Shape>,
    #[serde(default)]
    after: Vec<String>,
    #[serde(default)]
    unless_env: Vec<String>,
    decision: String,
    #[serde(default)]
    floor: bool,
    #[serde(default)]
    lease: bool,
    reason: String,
    #[serde(default)]
    instead: String,
    hits: Vec<String>,
    misses: Vec<String>,
    /// Every other key: the rule's first shape, which refuses what it does not know.
    #[serde(flatten)]
    first: toml::Table,
}

/// What a rule asks of a command.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Shape {
    command: OneOrMore,
    #[serde(default)]
    any: Vec<String>,
    #[serde(default)]
    all: Vec<String>,
    #[serde(default)]
    operand: Vec<String>,
    #[serde(default)]
    operands: u8,
    #[serde(default)]
    text: Vec<String>,
    #[serde(default)]
    fed_by: Vec<String>,
    #[serde(default)]
    output: Vec<String>,
    #[serde(default)]
    unless: Vec<String>,
    #[serde(default)]
    unless_text: Vec<String>,
    #[serde(default)]
    elsewhere_but: Vec<String>,
    #[serde(default)]
    default_branch: bool,
}

impl Rule {
    /// All shapes, the rule's own first.
    fn shapes(&mut self) -> Result<Vec<Shape>, toml::de::Error> {
        let first = std::mem::take(&mut self.first).try_into()?;
        Ok(std::iter::once(first).chain(std::mem::take(&mut self.or)).collect())
    }
}

impl Shape {
    fn commands(&self) -> Vec<String> {
        match &self.command {
            OneOrMore::One(command) => vec![command.clone()],
            OneOrMore::More(commands) => commands.clone(),
        }
    }

    /// The value of the table that this shape becomes.
    fn code(&self) -> String {
        format!(
            "Shape {{ command: &{:?}, any: &{:?}, all: &{:?}, operand: &{:?}, operands: {}, text: &{:?}, fed_by: &{:?}, \
             output: &{:?}, unless: &{:?}, unless_text: &{:?}, elsewhere_but: &{:?}, default_branch: {} }}",
            self.commands(),
            self.any,
            self.all,
            self.operand,
            self.operands,
            self.text,
            self.fed_by,
            self.output,
            self.unless,
            self.unless_text,
            self.elsewhere_but,
            self.default_branch
        )
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=packs");
    let mut files: Vec<PathBuf> =
        fs::read_dir("packs")?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    let (mut packs, mut rules, mut examples) = (String::new(), String::new(), String::new());
    let mut by_command: BTreeMap<(String, String), BTreeSet<usize>> = BTreeMap::new();
    let mut ids = BTreeSet::new();
    let mut number = 0;
    for path in &files {
        let name = path.file_stem().and_then(|name| name.to_str()).ok_or("a pack's name is no text")?;
        let pack: Pack = toml::from_str(&fs::read_to_string(path)?)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        writeln!(packs, "    ({name:?}, {:?}),", pack.about)?;
        for mut rule in pack.rule {
            check(&rule, &ids).map_err(|error| format!("{}: rule `{}`: {error}", path.display(), rule.id))?;
            ids.insert(rule.id.clone());
            writeln!(examples, "    ({:?}, {:?}),", rule.id, rule.hits.first().ok_or("no example")?)?;
            let response = if rule.decision == "deny" { "Deny" } else { "Ask" };
            let shapes = rule.shapes();
            let shapes =
                shapes.map_err(|error| format!("{}: rule `{}`: {error}", path.display(), rule.id))?;
            for shape in shapes {
                for (program, first) in shape.commands().iter().flat_map(|command| keys(command)) {
                    by_command.entry((program, first)).or_default().insert(number);
                }
                number += 1;
                writeln!(
                    rules,
                    "    PackRule {{ id: {:?}, pack: {name:?}, optional: {}, shape: {}, after: &{:?}, unless_env: &{:?}, \
                     response: Response::{response}, floor: {}, lease: {}, reason: {:?}, instead: {:?} }},",
                    rule.id,
                    pack.optional,
                    shape.code(),
                    rule.after,
                    rule.unless_env,
                    rule.floor,
                    rule.lease,
                    rule.reason,
                    rule.instead
                )?;
            }
        }
    }
    let mut index = String::new();
    for ((program, first), numbers) in &by_command {
        let numbers: Vec<usize> = numbers.iter().copied().collect();
        writeln!(index, "    ({program:?}, {first:?}, &{numbers:?}),")?;
    }
    let text = format!(
        "/// The packs, by name, and what each is about.\n\
         pub const PACKS: &[(&str, &str)] = &[\n{packs}];\n\
         /// All rules. Several in a row have the same id where a rule has several shapes.\n\
         pub(crate) static RULES: &[PackRule] = &[\n{rules}];\n\
         /// The numbers of the rules for each program and first sub-command; `*` for those that no single program names,\n\
         /// and nothing for those that no single sub-command does.\n\
         pub(crate) static BY_COMMAND: &[(&str, &str, &[u16])] = &[\n{index}];\n\
         /// Each rule's id and a command that it finds, in the order of the rules.\n\
         #[cfg(feature = \"files\")]\n\
         pub(crate) static EXAMPLES: &[(&str, &str)] = &[\n{examples}];\n"
    );
    fs::write(Path::new(&env::var("OUT_DIR")?).join("packs.rs"), text)?;
    Ok(())
}

/// The program and the first sub-command that a command names, one by one.
fn keys(command: &str) -> Vec<(String, String)> {
    let mut names = command.split(' ');
    let program = names.next().unwrap_or_default();
    let first = names.next().unwrap_or_default();
    let first = if first.contains(['*', '$']) { "" } else { first };
    let programs = program.split('|').map(|program| if program.contains('*') { "*" } else { program });
    let pairs = programs.flat_map(|program| first.split('|').map(move |first| (program, first)));
    pairs.map(|(program, first)| (program.to_owned(), first.to_owned())).collect()
}

fn check(rule: &Rule, ids: &BTreeSet<String>) -> Result<(), String> {
    let plain =
        |id: &str| id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if ids.contains(&rule.id) || !plain(&rule.id) || rule.id.is_empty() {
        return Err("its id is taken, or is not of small letters, digits and `-`".to_owned());
    }
    if rule.hits.is_empty() || rule.misses.is_empty() {
        return Err("it needs `hits` and `misses`".to_owned());
    }
    if rule.reason.is_empty() || rule.reason.chars().count() > 160 || rule.instead.chars().count() > 140 {
        return Err("its `reason` is empty, or its `reason` or `instead` is too long".to_owned());
    }
    match rule.decision.as_str() {
        "deny" | "ask" => Ok(()),
        other => Err(format!("`decision` is `deny` or `ask`, not `{other}`")),
    }
}
