//! `docs/coverage.md` is checked by what it names: cases are run here, tests have to be among those that `cargo test` runs. A row that
//! is done names a test, a case, an end-to-end row or a benchmark; a sentence in the source proves nothing.
//!
//! How a row is read: a path in backticks, then the names that belong to it.
//!
//! | path | names behind it |
//! |---|---|
//! | a Rust file with tests | test functions of that file; without a name, all that it has; `compile_fail` for an example in its documentation that must not compile |
//! | a case file | ids of cases; without an id, all of them |
//! | `e2e/run` | rows of the end-to-end table; `e2e/src/rows.rs` checks that they exist |
//! | a test file of the adapters | names of tests there |
//! | a benchmark or a script | none |
//! | any other file | none: it is a place to read on, and proves nothing |

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use toolgate::cases;

use crate::docs::{is_path, quoted, read, repository};

/// One row of the table.
struct Row {
    id: String,
    state: String,
    shown: String,
    proofs: Vec<Proof>,
}

/// A file that a row names, and what it names in it.
struct Proof {
    file: String,
    kind: Kind,
    names: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tests,
    Cases,
    EndToEnd,
    AdapterTests,
    Benchmark,
    Script,
    Page,
}

impl Kind {
    fn of(file: &str) -> Kind {
        let has_ending = |ending: &str| Path::new(file).extension().is_some_and(|found| found == ending);
        if file == "e2e/run" {
            Kind::EndToEnd
        } else if file.contains("/benches/") || file.starts_with("scripts/bench") {
            Kind::Benchmark
        } else if file.starts_with("cases/policies/") || (file.starts_with("cases/") && has_ending("toml")) {
            Kind::Cases
        } else if file.starts_with("adapters/") && file.ends_with(".test.ts") {
            Kind::AdapterTests
        } else if has_ending("rs") {
            Kind::Tests
        } else if file.starts_with("scripts/") || file == "adapters/test" || file == ".ci/run" {
            Kind::Script
        } else {
            Kind::Page
        }
    }

    /// Whether naming it is enough for a row to be done. The adapters' tests need packages from the network and a host's own
    /// types: `.ci/run` runs them, and a row needs something besides that runs everywhere.
    fn is_enough(self) -> bool {
        match self {
            Kind::Tests | Kind::Cases | Kind::EndToEnd | Kind::Benchmark => true,
            Kind::AdapterTests | Kind::Script | Kind::Page => false,
        }
    }
}

/// The rows of the table, with all that they name.
fn rows() -> Vec<Row> {
    let page = read("docs/coverage.md");
    let is_row = |line: &&str| line.starts_with("| S") && line.get(4..5) == Some("-");
    let rows = page.lines().filter(is_row).map(|line| {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [id, _, state, shown] = cells[..] else { panic!("not four cells: {line}") };
        let mut proofs: Vec<Proof> = Vec::new();
        for word in quoted(shown) {
            if is_path(word) {
                assert!(repository().join(word).is_file(), "{id} names `{word}`, which is no file");
                proofs.push(Proof { file: word.to_owned(), kind: Kind::of(word), names: Vec::new() });
            } else {
                let proof = proofs.last_mut().unwrap_or_else(|| panic!("{id}: `{word}` belongs to no file"));
                proof.names.push(word.to_owned());
            }
        }
        Row { id: id.to_owned(), state: state.to_owned(), shown: shown.to_owned(), proofs }
    });
    rows.collect()
}

/// The rows that name something.
type Rows = BTreeSet<String>;

/// Everything of one kind that the table names: for each file the names in it, and the rows that have the name. The empty name
/// means all that the file has.
fn named(kind: Kind) -> BTreeMap<String, BTreeMap<String, Rows>> {
    let mut found: BTreeMap<String, BTreeMap<String, Rows>> = BTreeMap::new();
    for row in rows() {
        for mut proof in row.proofs.into_iter().filter(|proof| proof.kind == kind) {
            if proof.names.is_empty() {
                proof.names.push(String::new());
            }
            let names = found.entry(proof.file).or_default();
            for name in proof.names {
                names.entry(name).or_default().insert(row.id.clone());
            }
        }
    }
    found
}

#[test]
fn every_requirement_has_one_row_with_a_proof_and_the_sums_are_right() {
    let numbers = |prefix: &str, last: u32| (1..=last).map(|n| format!("{prefix}{n:02}")).collect::<Vec<_>>();
    let mut wanted: BTreeSet<String> = BTreeSet::new();
    for (part, last) in [("S0-", 17), ("S1-", 30), ("S2-", 42), ("S3-", 24), ("S4-", 26)] {
        wanted.extend(numbers(part, last));
    }
    wanted.extend((1..=18).map(|n| format!("S2-P{n}")));
    let mut seen = BTreeSet::new();
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for Row { id, state, shown, proofs } in rows() {
        assert!(wanted.contains(&id), "{id} is no requirement");
        assert!(seen.insert(id.clone()), "{id} has two rows");
        match state.as_str() {
            "open" | "none" => assert!(!shown.is_empty(), "{id} is {state} without a reason"),
            "done" | "part" => {
                let proved = proofs.iter().any(|proof| proof.kind.is_enough());
                assert!(proved, "{id} is {state}, but names nothing that is run");
            }
            other => panic!("{id}: `{other}` is none of done, part, open, none"),
        }
        for proof in &proofs {
            let takes_names = !matches!(proof.kind, Kind::Benchmark | Kind::Script | Kind::Page);
            assert!(takes_names || proof.names.is_empty(), "{id}: {:?} of `{}`", proof.names, proof.file);
        }
        *counts.entry((id.chars().take(2).collect(), state)).or_default() += 1;
    }
    let missing: Vec<_> = wanted.difference(&seen).collect();
    assert!(missing.is_empty(), "not in the table: {missing:?}");
    let page = read("docs/coverage.md");
    for part in ["S0", "S1", "S2", "S3", "S4"] {
        let of = |state: &str| counts.get(&(part.to_owned(), state.to_owned())).copied().unwrap_or_default();
        let sums = format!(" | {} | {} | {} | {} |", of("done"), of("part"), of("open"), of("none"));
        let right = page.lines().any(|line| line.starts_with(&format!("| {part} ")) && line.ends_with(&sums));
        assert!(right, "the sums of {part} are not{sums}");
    }
}

/// Each case alone: a file in which another case fails does not hide it, and an id that does not exist is no case.
#[test]
fn every_case_in_the_coverage_table_passes() {
    for (file, names) in named(Kind::Cases) {
        let mut table: toml::Table = read(&file).parse().unwrap();
        let all = table["case"].as_array().unwrap().clone();
        let id = |case: &toml::Value| case["id"].as_str().unwrap().to_owned();
        let chosen: Vec<_> = all
            .iter()
            .filter(|case| names.contains_key("") || names.contains_key(&id(case)))
            .cloned()
            .collect();
        let found: BTreeSet<_> = chosen.iter().map(id).collect();
        for (name, by) in names.iter().filter(|(name, _)| !name.is_empty()) {
            assert!(found.contains(name), "{by:?}: {file} has no case `{name}`");
        }
        let count = chosen.len();
        table.insert("case".to_owned(), toml::Value::Array(chosen));
        let outcome =
            cases::run(&table.to_string(), true, None).unwrap_or_else(|error| panic!("{file}: {}", error.0));
        assert_eq!(outcome.passed, count, "{file}: {outcome:#?}");
    }
}

/// What runs elsewhere than here is at least there, and CI calls it.
#[test]
fn scripts_benchmarks_and_adapter_tests_in_the_coverage_table_are_called() {
    let callers = [read(".ci/run"), read("scripts/check")].concat();
    // The first word of a command, not a word of a comment or of a message.
    let is_called = |script: &str| {
        let commands = callers.lines().filter(|line| !line.trim_start().starts_with('#'));
        commands.flat_map(|line| line.split([';', '&', '|'])).any(|command| {
            let mut words = command.split_whitespace();
            words.any(|word| word == script)
        })
    };
    let is_executable = |file: &str| {
        fs::metadata(repository().join(file)).is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
    };
    for row in rows() {
        for Proof { file, kind, names } in &row.proofs {
            match kind {
                Kind::Script | Kind::EndToEnd => {
                    assert!(is_executable(file), "{}: {file} cannot be started", row.id);
                    let by_hand = row.state == "part" && *kind == Kind::Script;
                    assert!(is_called(file) || by_hand, "{}: nothing calls {file}", row.id);
                }
                Kind::Benchmark if file.starts_with("scripts/") => {
                    assert!(is_executable(file), "{}: {file} cannot be started", row.id);
                }
                Kind::Benchmark => {
                    let path = Path::new(file);
                    let manifest = path.ancestors().nth(2).unwrap().join("Cargo.toml");
                    let manifest: toml::Table = read(manifest.to_str().unwrap()).parse().unwrap();
                    let benches = manifest["bench"].as_array().unwrap();
                    let stem = path.file_stem().unwrap().to_str();
                    assert!(benches.iter().any(|bench| bench["name"].as_str() == stem), "{}: {file}", row.id);
                }
                Kind::AdapterTests => {
                    assert!(is_called("adapters/test"));
                    let text = read(file);
                    for name in names {
                        let test = format!("\ntest(\"{name}\", ");
                        assert!(text.contains(&test), "{}: {file} has no test `{name}`", row.id);
                    }
                }
                Kind::Tests | Kind::Cases | Kind::Page => {}
            }
        }
    }
}

/// A test program that cargo has built.
struct TestProgram {
    executable: PathBuf,
    package: PathBuf,
    /// The file that it is made from: `lib.rs`, `main.rs`.
    root: PathBuf,
}

impl TestProgram {
    fn run(&self, args: &[&str]) -> String {
        let output = Command::new(&self.executable)
            .args(args)
            .current_dir(&self.package)
            .env("CARGO_MANIFEST_DIR", &self.package)
            .env_remove("UPDATE")
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}", self.executable.display()));
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            said.push_str(&String::from_utf8_lossy(&output.stderr));
        }
        said
    }

    fn list(&self, which: &[&str]) -> BTreeSet<String> {
        let listed = self.run(&[which, &["--list"]].concat());
        listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
    }
}

/// Cargo, as it built this test: the same profile, the same target directory. What `cargo test --workspace` has built is not
/// built again.
fn cargo(words: &[&str]) -> Command {
    let own = std::env::current_exe().unwrap();
    let profile = own.ancestors().nth(2).unwrap();
    let mut command = Command::new(env!("CARGO"));
    command.args(words).current_dir(repository()).arg("--target-dir").arg(profile.parent().unwrap());
    match profile.file_name().unwrap().to_str().unwrap() {
        "debug" => {}
        profile => {
            command.args(["--profile", profile]);
        }
    }
    command
}

/// The test programs of the workspace.
fn test_programs() -> Vec<TestProgram> {
    let built = cargo(&["test", "--workspace", "--no-run", "--message-format=json"]).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let messages = String::from_utf8(built.stdout).unwrap();
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let programs = messages.filter_map(|message| {
        let text = |at: &str| message.pointer(at).and_then(Value::as_str).map(PathBuf::from);
        if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
            return None;
        }
        let package = text("/manifest_path")?.parent()?.to_path_buf();
        Some(TestProgram { executable: text("/executable")?, package, root: text("/target/src_path")? })
    });
    programs.collect()
}

/// The program that holds the tests of a file, and the path of the file's module in it.
fn program_of<'p>(programs: &'p [TestProgram], file: &str) -> (&'p TestProgram, String) {
    let file = repository().join(file);
    let holds = |program: &&TestProgram| file.starts_with(program.root.parent().unwrap());
    // A library and the programs of its package share a directory; the tests are in the library.
    let rank = |program: &&TestProgram| (program.root.components().count(), program.root.ends_with("lib.rs"));
    let program = programs.iter().filter(holds).max_by_key(rank);
    let program = program.unwrap_or_else(|| panic!("no test program is made from {}", file.display()));
    let module = if file == program.root {
        String::new()
    } else {
        let below = file.strip_prefix(program.root.parent().unwrap()).unwrap().with_extension("");
        let names = below.iter().map(|name| name.to_str().unwrap()).filter(|name| *name != "mod");
        names.fold(String::new(), |module, name| format!("{module}{name}::"))
    };
    (program, module)
}

/// Every test that the table names is there, once, and is not ignored. `cargo test --workspace` runs it; running it again here would
/// only take the time twice.
#[test]
fn every_test_in_the_coverage_table_is_one_that_runs() {
    let programs = test_programs();
    let mut wrong = String::new();
    for (file, names) in named(Kind::Tests) {
        let (program, module) = program_of(&programs, &file);
        let ignored = program.list(&["--ignored"]);
        // A test of the file itself, or of a module in it.
        let in_file =
            |test: &&String| test.strip_prefix(&module).is_some_and(|rest| rest.split("::").count() <= 2);
        let listed = program.list(&[]);
        let runs: Vec<&String> =
            listed.iter().filter(in_file).filter(|test| !ignored.contains(*test)).collect();
        for (name, by) in names {
            let found = match name.as_str() {
                "" => usize::from(!runs.is_empty()),
                _ if name.starts_with("compile_fail") => {
                    usize::from(has_example_that_must_fail(&file, &name))
                }
                _ => runs.iter().filter(|test| test.rsplit("::").next() == Some(&name)).count(),
            };
            if found != 1 {
                writeln!(wrong, "{by:?}: {file} has {found} tests `{name}` that run").unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Whether the documentation of a file has an example that must not compile for this reason, and the compiler lists its examples.
fn has_example_that_must_fail(file: &str, reason: &str) -> bool {
    let package = read(&format!("{}/Cargo.toml", file.split("/src/").next().unwrap()));
    let package: toml::Table = package.parse().unwrap();
    let name = package["package"]["name"].as_str().unwrap();
    let listed = cargo(&["test", "--doc", "-p", name]).args(["--", "--list", file]).output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let is_fence = |line: &str| line.trim_start_matches(['/', '!', ' ']) == format!("```{reason}");
    String::from_utf8_lossy(&listed.stdout).lines().any(|line| line.ends_with(": test"))
        && read(file).lines().any(is_fence)
}
