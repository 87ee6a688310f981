//! `docs/json.md` says what every command prints as JSON. Here each command of that page is run, and what it prints is held against the
//! page: no member that is not there, none missing, each of its type.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::docs::read;
use crate::habits::World;

/// What the page says of one member.
#[derive(Debug)]
struct Member {
    kinds: Vec<String>,
    is_optional: bool,
}

/// A command, and the members of what it prints, by their paths: `findings[].policy`, `clients.*`.
struct Section {
    command: String,
    members: BTreeMap<String, Member>,
}

/// What a type of the page is called.
const KINDS: &[&str] = &["text", "number", "yes or no", "list", "object", "null", "anything"];

fn sections() -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in read("docs/json.md").lines() {
        if let Some(command) = line.strip_prefix("### `").and_then(|line| line.strip_suffix('`')) {
            sections.push(Section { command: command.to_owned(), members: BTreeMap::new() });
        }
        let mut cells = line.split('|').map(str::trim).skip(1);
        let (Some(name), Some(kind), Some(section)) = (cells.next(), cells.next(), sections.last_mut())
        else {
            continue;
        };
        let Some(name) = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else { continue };
        let is_optional = kind.ends_with(", or absent");
        let kinds: Vec<String> =
            kind.trim_end_matches(", or absent").split(" / ").map(str::to_owned).collect();
        for kind in &kinds {
            assert!(KINDS.contains(&kind.as_str()), "{}: `{name}` has the type {kind:?}", section.command);
        }
        section.members.insert(name.to_owned(), Member { kinds, is_optional });
    }
    sections
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "yes or no",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

/// Holds a value against the page; gives the paths that were met.
fn compare(section: &Section, path: &str, value: &Value, met: &mut BTreeSet<String>) {
    let inside: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            let any = format!("{path}.*");
            let named = |name: &String| {
                let own = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                if section.members.contains_key(&any) { any.clone() } else { own }
            };
            members.iter().map(|(name, value)| (named(name), value)).collect()
        }
        Value::Array(values) => values.iter().map(|value| (format!("{path}[]"), value)).collect(),
        _ => Vec::new(),
    };
    for (path, value) in inside {
        let is_element = path.ends_with("[]");
        met.insert(path.clone());
        match section.members.get(&path) {
            None if is_element => {}
            None => panic!("{}: `{path}` is not on the page: {value}", section.command),
            Some(member) if member.kinds.iter().any(|kind| kind == "anything") => continue,
            Some(member) => {
                let kind = kind_of(value);
                assert!(
                    member.kinds.iter().any(|known| known == kind),
                    "{}: `{path}` is a {kind}",
                    section.command
                );
            }
        }
        compare(section, &path, value, met);
    }
}

#[test]
fn every_command_prints_what_the_page_says() {
    let world = World::new();
    let programs = world.machine.dir("bin");
    symlink(env!("CARGO_BIN_EXE_toolgate"), programs.join("toolgate")).unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display());
    for section in sections() {
        let shell = world.machine.toolgate().instead(&["bash", "-c", &section.command]);
        let answer = shell.env("PATH", &path).cwd(&world.top).run("");
        assert!(matches!(answer.code(), Some(0..=4)), "{}: {answer:?}", section.command);
        let said: Value = serde_json::from_str(&answer.stdout)
            .unwrap_or_else(|error| panic!("{}: {error}: {answer:?}", section.command));
        assert_eq!(said["version"], 1, "{}", section.command);
        let mut met = BTreeSet::new();
        compare(&section, "", &said, &mut met);
        for (path, member) in &section.members {
            let above = path.rsplit_once('.').map_or("", |(above, _)| above);
            let is_due = above.is_empty() || met.contains(above);
            let is_list_of_nothing = path.ends_with("[]") || path.ends_with(".*");
            assert!(
                met.contains(path) || member.is_optional || !is_due || is_list_of_nothing,
                "{}: no `{path}` in {said:#}",
                section.command
            );
        }
    }
}

#[test]
fn the_page_has_every_command_that_takes_json() {
    let sections = sections();
    let mut command = "";
    let page = read("docs/commands.md");
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix('#') {
            command = heading.trim_start_matches('#').trim();
        }
        // What prints a file, or lines of the log, as they are.
        let prints_another = ["toolgate ledger tail", "toolgate workspace read"].contains(&command);
        if line.starts_with("| `--json`") && !prints_another {
            let is_there = sections.iter().any(|section| section.command.contains(command));
            assert!(is_there, "{command} is not in docs/json.md");
        }
    }
}
