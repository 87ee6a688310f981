//! Calls and settings that are made to take long together. Budgets are of work, of requests for memory and of bytes, never of time: they are
//! the same on every machine.

use std::borrow::Cow;

use serde_json::{Value, json};
use toolgate_arena::{Counting, Taken};
use toolgate_model::work::{MAX_WORK, spent, within};
use toolgate_model::{
    Access, ActivationState, Agent, Decision, Facts, Gap, Origin, Phase, Places, Reach, Resolved, Ruleset,
    Run, Team, Unknown, Use, Verdict,
};
use toolgate_policies::{Containable, Settings};

#[global_allocator]
static MEMORY: Counting = Counting::new();

/// How often judging one call may ask for memory.
const MAX_CALLS: usize = 400_000;
/// How many bytes it may ask for.
const MAX_BYTES: usize = 128 * 1024 * 1024;
/// How many bytes it may hold at one time.
const MAX_HELD: usize = 16 * 1024 * 1024;
/// So many effects an analysis lists.
const EFFECTS: usize = 2_000;
/// So many entries of a kind settings may have.
const ENTRIES: usize = 1_000;
/// So many patterns.
const PATTERNS: usize = 64;

/// A call, as far as it is hard to judge.
#[derive(Default)]
struct Hard {
    settings: Value,
    command: String,
    files: Vec<String>,
    runs: Vec<Run>,
    unknown: usize,
    layers: usize,
}

fn origin(number: usize) -> Origin {
    let at = u32::try_from(number).unwrap();
    Origin { span: (at, at + 1), via: None }
}

fn written(number: usize, path: &str) -> Use<'static> {
    Use {
        access: Access::Write,
        reach: Reach::Exact,
        param: Cow::Borrowed("command"),
        text: Cow::Owned(path.to_owned()),
        place: Ok(Resolved { lexical: path.into(), physical: path.into(), node: None, link: None }),
        alias_of_own: false,
        foreign: false,
        nowhere: false,
        private: Vec::new(),
        holds_secret: false,
        own_lock: false,
        guess: false,
        change: None,
        origin: Some(origin(number)),
    }
}

/// The verdict, the work that it took, and the memory.
fn decide(hard: &Hard) -> (Verdict, u64, Taken) {
    let settings: Settings = serde_json::from_value(hard.settings.clone()).unwrap();
    let (places, team, agent) = (Places::default(), Team::default(), Agent { id: None, kind: None });
    let unknown = |number: usize| Unknown::Shell {
        gap: Gap::Program,
        text: format!("program{number}"),
        origin: origin(number),
    };
    let mut runs = hard.runs.clone();
    for (number, run) in runs.iter_mut().enumerate() {
        run.origin = Some(origin(number));
    }
    let facts = Facts {
        tool: "Bash",
        agent: &agent,
        team: &team,
        phase: Phase::Before,
        asks_user: false,
        command: Some(&hard.command),
        places: &places,
        activation: ActivationState::default(),
        uses: hard.files.iter().enumerate().map(|(number, path)| written(number, path)).collect(),
        runs,
        connects: false,
        unknown: (0..hard.unknown).map(unknown).collect(),
        changes: Vec::new(),
        expanded: Vec::new(),
        config: None,
        redacts: false,
    };
    let judges = settings.judges();
    let layers = hard.layers.max(1);
    let ruleset = || settings.ruleset(&facts, &judges, ("generic", false), Containable::NotConsidered);
    let rulesets: Vec<Ruleset<'_>> = (0..layers).map(|_| ruleset()).collect();
    within(|| {
        let (verdict, taken) = MEMORY.measure(|| Ruleset::decide(&rulesets, |_| false));
        (verdict, spent(), taken)
    })
}

fn files(count: usize, length: usize) -> Vec<String> {
    (0..count).map(|number| format!("/work/{number}/{}", "a/".repeat(length / 2)) + "f").collect()
}

fn runs(count: usize, words: &[&str]) -> Vec<Run> {
    (0..count).map(|_| Run::of(words.iter().map(|word| (*word).to_owned()).collect())).collect()
}

fn gave_up(verdict: &Verdict) -> bool {
    verdict.decision() == Decision::Deny
        && verdict.findings().iter().any(|finding| finding.reason.contains("more work than can be done"))
}

/// Entries that begin like the files, and go as deep.
fn scopes(count: usize, depth: usize) -> Value {
    let path = |number: usize| format!("/w*k/*/{}b{number}", "a/".repeat(depth));
    (0..count).map(|number| json!({ "path": path(number), "rights": "write" })).collect()
}

fn hard() -> Vec<(&'static str, Hard)> {
    let many = |text: &str| -> Vec<String> { (0..ENTRIES).map(|number| format!("{text}{number}")).collect() };
    let rule =
        |number: usize| json!({ "message": "no", "decision": "deny", "paths": [format!("**/a/b{number}")] });
    let named =
        |number: usize| json!({ "message": "no", "decision": "deny", "directories": [format!("b{number}")] });
    let command = |number: usize| json!({ "message": "no", "command": ["deploy ** **"], "any": [format!("--x{number}")] });
    let pattern = |number: usize| json!({ "message": "no", "pattern": format!("(a|b|ab)+c{number}$") });
    let same: Vec<&str> =
        std::iter::once("deploy").chain(["-x", "deploy"].into_iter().cycle().take(1_999)).collect();
    let blocked = |block: Vec<String>| json!({ "policy": { "destructive": { "block": block } } });
    vec![
        (
            "files and scopes",
            Hard {
                settings: json!({ "scope": scopes(ENTRIES, 100) }),
                files: files(EFFECTS, 4_000),
                ..Hard::default()
            },
        ),
        (
            "files and rules of paths",
            Hard {
                settings: json!({ "rule": (0..ENTRIES).map(rule).collect::<Value>() }),
                files: files(EFFECTS, 4_000),
                ..Hard::default()
            },
        ),
        (
            "files and rules of directories",
            Hard {
                settings: json!({ "rule": (0..ENTRIES).map(named).collect::<Value>() }),
                files: files(EFFECTS, 4_000),
                ..Hard::default()
            },
        ),
        (
            "runs and blocked commands",
            Hard {
                settings: blocked(many("git push --force x")),
                runs: runs(EFFECTS, &["git", "push", "x"]),
                ..Hard::default()
            },
        ),
        (
            "statements and blocked statements",
            Hard {
                settings: blocked(many("DROP TABLE x")),
                command: "drop table ".repeat(6_000),
                runs: runs(EFFECTS, &["psql", "-c", "select"]),
                ..Hard::default()
            },
        ),
        (
            "words and rules of commands",
            Hard {
                settings: json!({ "command": (0..ENTRIES).map(command).collect::<Value>() }),
                runs: runs(1, &same),
                ..Hard::default()
            },
        ),
        (
            "a long text and patterns",
            Hard {
                settings: json!({ "command": (0..PATTERNS).map(pattern).collect::<Value>() }),
                command: "ab".repeat(2_000_000),
                ..Hard::default()
            },
        ),
        (
            "files and declared inputs",
            Hard {
                settings: json!({ "policy": { "declared-io": { "outputs": many("a/*/c/d") } } }),
                files: files(EFFECTS, 400),
                runs: runs(EFFECTS, &["cp", "a", "b"]),
                ..Hard::default()
            },
        ),
        (
            "what is not known in three layers",
            Hard { settings: json!({}), unknown: EFFECTS, layers: 3, ..Hard::default() },
        ),
    ]
}

/// One test, since all threads share the counts.
#[test]
fn no_call_is_judged_for_longer_than_its_budget() {
    let mut over = Vec::new();
    for (what, hard) in hard() {
        let (verdict, work, taken) = decide(&hard);
        let within = taken.calls <= MAX_CALLS && taken.bytes <= MAX_BYTES && taken.peak <= MAX_HELD;
        let told = work < MAX_WORK || gave_up(&verdict);
        if !within || !told {
            over.push(format!("{what}: {taken:?}, {work} of work, told: {told}"));
        }
    }
    assert!(over.is_empty(), "{over:#?}");
    for (what, hard) in [
        (
            "many files, few entries",
            Hard { settings: json!({ "scope": scopes(20, 3) }), files: files(300, 200), ..Hard::default() },
        ),
        (
            "a few files, many entries",
            Hard {
                settings: json!({ "scope": scopes(ENTRIES, 3) }),
                files: files(20, 200),
                ..Hard::default()
            },
        ),
        ("an empty call", Hard { settings: json!({}), ..Hard::default() }),
    ] {
        let (verdict, work, _) = decide(&hard);
        assert!(!gave_up(&verdict) && work < MAX_WORK / 2, "{what}: {work}");
    }
}
