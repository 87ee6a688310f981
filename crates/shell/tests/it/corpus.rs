//! What `bash -n` accepts is read, over the scripts of this machine and the probes.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::support::{Bash, bash_syntax, probes, seen};
use toolgate_shell::parse;

/// Where scripts are looked for. No more than this many are read.
const PLACES: &[&str] = &["/usr/bin", "/usr/sbin", "/usr/local", "/usr/lib", "/usr/share", "/etc", "/opt"];
const MOST: usize = 1500;

fn scripts() -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut folders: Vec<PathBuf> = PLACES.iter().map(PathBuf::from).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() && is_script(&path) => {
                    found.insert(path);
                }
                _ => {}
            }
        }
    }
    let texts = found.iter().filter_map(|path| fs::read_to_string(path).ok());
    texts.filter(|text| text.len() < 120_000).take(MOST).collect()
}

fn is_script(path: &Path) -> bool {
    use std::io::Read;
    let mut head = [0; 32];
    let length = fs::File::open(path).and_then(|mut file| file.read(&mut head)).unwrap_or(0);
    let Some(line) = head.get(..length).and_then(|head| head.strip_prefix(b"#!")) else { return false };
    let line: Vec<u8> = line.iter().copied().take_while(|&byte| byte != b'\n').collect();
    line.ends_with(b"/sh") || line.ends_with(b"bash") || line.windows(4).any(|part| part == b"/sh ")
}

#[test]
fn scripts_that_bash_accepts_are_parsed() {
    let scripts = scripts();
    if scripts.len() < 100 {
        let few = format!("only {} scripts on this machine", scripts.len());
        assert!(std::env::var_os("CI").is_none(), "must not be skipped in CI: {few}");
        // Past the harness, which captures what a test prints.
        writeln!(std::io::stderr(), "SKIPPED IN PART: {few}").unwrap();
    }
    let count = scripts.len();
    let texts = scripts.into_iter().chain(probes().into_iter().map(|(probe, _)| probe));
    let scratch = std::env::temp_dir();
    let (mut both, mut neither, mut warned) = (0, 0, 0);
    let (mut rejected, mut accepted) = (Vec::new(), 0);
    for (number, text) in texts.enumerate() {
        let ours = parse(&text).error;
        match (bash_syntax(&text, &scratch), ours) {
            (Bash::Accepts, None) => both += 1,
            (Bash::Accepts, Some(error)) => {
                rejected.push((number, error, text.chars().take(120).collect::<String>()));
            }
            (Bash::Warns, _) => warned += 1,
            (Bash::Rejects, None) => accepted += 1,
            (Bash::Rejects, Some(_)) => neither += 1,
        }
    }
    println!(
        "{count} scripts and the probes: both accept {both}, both reject {neither}, bash warns {warned}"
    );
    println!("we accept and bash rejects: {accepted}; we reject and bash accepts: {}", rejected.len());
    let scripts_rejected: Vec<_> = rejected.iter().filter(|(number, ..)| *number < count).collect();
    assert!(scripts_rejected.is_empty(), "{scripts_rejected:#?}");
    // Only probes are left: what bash reads in two ways, or reads and then cannot expand. They are refused on purpose,
    // so their number grows with the probes; it is here so that a new kind of refusal is noticed.
    assert!(rejected.len() <= 50, "{rejected:#?}");
}

#[test]
fn a_script_is_parsed_the_same_inside_a_group() {
    let (scripts, mut compared) = (scripts(), 0);
    for text in &scripts {
        let alone = seen(text);
        if alone.error || alone.names.is_empty() || text.contains("<<") {
            continue;
        }
        let grouped = format!("{{\n{text}\n}}");
        let inside = seen(&grouped);
        assert!(!inside.error, "{:?} in {text}", parse(&grouped).error);
        assert_eq!(alone.names, inside.names);
        compared += 1;
    }
    assert!(compared > 0 || scripts.len() < 100, "none of {} scripts was compared", scripts.len());
}
