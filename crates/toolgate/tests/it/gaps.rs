//! The known gaps are gaps: every command of `cases/gaps.toml` is judged as `toolgate test` judges it, in a world that is
//! a map. One that is no longer allowed has to leave the list, and what is said to cover it has to be true.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use toolgate::cases::measure::{Measured, measure};
use toolgate_model::Decision;
use toolgate_policies::Containable;

#[derive(Deserialize)]
struct Gaps {
    gap: Vec<Gap>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Gap {
    kind: String,
    command: String,
    why: String,
    covered_by: Vec<String>,
}

fn gaps() -> Vec<Gap> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join("cases/gaps.toml");
    let text = fs::read_to_string(&path).unwrap();
    let gaps: Gaps = toml::from_str(&text).unwrap_or_else(|error| panic!("cases/gaps.toml: {error}"));
    assert!(!gaps.gap.is_empty(), "a list without gaps shows nothing");
    gaps.gap
}

fn judge(gaps: &[Gap]) -> Vec<Measured> {
    let lines =
        gaps.iter().map(|gap| serde_json::json!({ "command": gap.command, "bucket": "gap" }).to_string());
    measure(&lines.collect::<Vec<_>>().join("\n"), Containable::NotConsidered)
        .unwrap_or_else(|error| panic!("{}", error.0))
}

#[test]
fn every_gap_is_still_open() {
    let gaps = gaps();
    let closed: Vec<_> = judge(&gaps)
        .into_iter()
        .filter(|measured| measured.decision != Decision::Allow)
        .map(|measured| format!("{}\n  → {}", measured.command, measured.explanation))
        .collect();
    assert!(
        closed.is_empty(),
        "this gap is closed: take it out of cases/gaps.toml, and add a case that keeps it closed\n{}",
        closed.join("\n")
    );
}

/// The settings `opaque` and `program` of `unproved-effect` stop a command exactly where such a gap is recorded of it.
#[test]
fn settings_that_cover_a_gap_match_what_is_recorded_of_it() {
    let gaps = gaps();
    for (gap, measured) in gaps.iter().zip(judge(&gaps)) {
        for (word, kinds) in [("opaque", &["Project"][..]), ("program", &["Program", "Option"])] {
            let recorded = measured
                .unknown
                .iter()
                .any(|text| kinds.iter().any(|kind| text.split(' ').next() == Some(kind)));
            let told = gap.covered_by.iter().any(|by| by == word);
            assert_eq!(told, recorded, "`{word}` for {}: {:?}", gap.command, measured.unknown);
        }
    }
}

#[test]
fn every_gap_is_listed_once_with_its_reason_and_its_cover() {
    const WORDS: [&str; 4] = ["opaque", "program", "rule", "sandbox"];
    let gaps = gaps();
    let mut commands: Vec<_> = gaps.iter().map(|gap| gap.command.as_str()).collect();
    commands.sort_unstable();
    commands.dedup();
    assert_eq!(commands.len(), gaps.len(), "a command stands there twice");
    let mut kinds: Vec<_> = gaps.iter().map(|gap| gap.kind.as_str()).collect();
    kinds.dedup();
    let runs = kinds.len();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), runs, "the gaps of a kind stand together");
    for gap in &gaps {
        assert!(!gap.why.is_empty() && !gap.covered_by.is_empty(), "{}", gap.command);
        assert!(gap.covered_by.iter().all(|by| WORDS.contains(&by.as_str())), "{:?}", gap.covered_by);
    }
}
