//! Numbers in documents that count what is in the repository. They are counted here: `UPDATE=1` writes them.

use std::fs;
use std::path::{Path, PathBuf};

use toolgate_policies::{POLICIES, PROFILES, rules};

/// What a number counts.
type Count = fn() -> usize;

/// A document, what stands before the number, what stands behind it, and what it counts.
const COUNTED: &[(&str, &str, &str, Count)] = &[
    ("docs/shell.md", "What commands mean is data: ", " files in [crates/effects/specs]", specs),
    ("docs/shell.md", "describe programs under ", " names.", names),
    ("docs/shell.md", "names. ", " rules in ", || rules().count()),
    ("docs/shell.md", " rules in ", " packs, in", packs),
    ("docs/redaction.md", "toolgate finds private keys, ", " kinds of token", patterns),
    ("README.md", "or choose one of ", " other profiles", || PROFILES.len() - 1),
    ("ARCHITECTURE.md", "cannot parse ", " files; the tables", specs),
    ("ARCHITECTURE.md", "A row is a policy: there are ", " of them", || POLICIES.len()),
    ("ARCHITECTURE.md", "in one file each, ", " of them", || PROFILES.len()),
];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(directory: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(top().join(directory)).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect()
}

fn specs() -> usize {
    files("crates/effects/specs").len()
}

fn packs() -> usize {
    files("crates/policies/packs").len()
}

fn patterns() -> usize {
    files("crates/secrets/patterns").len()
}

/// The names that programs are described under: those that a spec lists, or that of its file.
fn names() -> usize {
    let listed = |file: &PathBuf| {
        let spec: toml::Table = toml::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        spec.get("names").and_then(toml::Value::as_array).map_or(1, Vec::len)
    };
    files("crates/effects/specs").iter().map(listed).sum()
}

/// 1725 as people write it: 1,725.
fn written(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[test]
fn numbers_in_documents_match_the_repository() {
    for (document, before, behind, count) in COUNTED {
        let path = top().join(document);
        let text = fs::read_to_string(&path).unwrap();
        let number = text.match_indices(before).find_map(|(at, _)| {
            let rest = &text[at + before.len()..];
            let length = rest.find(|c: char| !c.is_ascii_digit() && c != ',')?;
            rest[length..].starts_with(behind).then_some(at + before.len()..at + before.len() + length)
        });
        let number = number.unwrap_or_else(|| panic!("{document} has no number in `{before}…{behind}`"));
        let right = written(count());
        if text[number.clone()] == right {
            continue;
        }
        assert!(
            std::env::var_os("UPDATE").is_some(),
            "{document}: `{before}{}{behind}` should say {right}; run it with UPDATE=1",
            &text[number]
        );
        let mut text = text.clone();
        text.replace_range(number, &right);
        fs::write(&path, text).unwrap();
    }
}
