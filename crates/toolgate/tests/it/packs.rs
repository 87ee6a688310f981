//! Every rule of the packs finds what it says, and nothing of what it says it misses, in commands as the gate itself
//! reads them: behind its parser, its specs and its other policies.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toolgate_gate::dirs::Dirs;
use toolgate_gate::gather::Surroundings;
use toolgate_gate::line::consider;
use toolgate_gate::options::SessionOptions;
use toolgate_gate::session::{Session, session};
use toolgate_gate::settings::RulesInForce;
use toolgate_hosts::tools_like;
use toolgate_model::{Call, Json};
use toolgate_policies::{Settings, read, stack};

use crate::test_machine::TestMachine;

#[derive(Deserialize)]
struct Pack {
    rule: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    id: String,
    reason: String,
    #[serde(default)]
    floor: bool,
    hits: Vec<String>,
    misses: Vec<String>,
}

fn packs() -> Vec<(String, Pack)> {
    let below = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/packs");
    let files = fs::read_dir(below).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|it| it == "toml")).collect();
    files.sort();
    let named = files.iter().map(|path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, toml::from_str(&fs::read_to_string(path).unwrap()).unwrap())
    });
    named.collect()
}

/// A directory with a few files in it, in which every command is tried.
struct Place {
    root: tempfile::TempDir,
    machine: TestMachine,
    session: Session,
}

impl Place {
    fn new() -> Place {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for dir in ["home", "work/src", "work/dist", "work/build"] {
            fs::create_dir_all(at(dir)).unwrap();
        }
        for file in ["a.rs", "a", "src/a.rs", "a.db", "x.patch"] {
            fs::write(at("work").join(file), "x\n").unwrap();
        }
        let machine = TestMachine::default();
        let dirs = Dirs::of_home(&at("home"));
        let work = at("work");
        let call = call("", work.to_str().unwrap());
        let session = session(&machine, &dirs, &SessionOptions::default(), &call, None).unwrap();
        Place { root, machine, session }
    }

    /// Whether the rule finds the command. All others of its pack are off, but for the floor.
    fn finds(&self, settings: &Settings, reason: &str, command: &str) -> bool {
        let cwd = self.root.path().join("work");
        let call = call(command, cwd.to_str().unwrap());
        let rules = RulesInForce { layers: vec![settings.clone()], digest: String::new() };
        let around = Surroundings::new(&self.machine, &call, self.session.clone(), rules, |_| None);
        let verdict = consider(&self.machine, &call, &around).verdict;
        verdict
            .findings()
            .iter()
            .any(|finding| finding.policy == "destructive" && finding.reason.contains(reason))
    }
}

fn call<'a>(command: &'a str, cwd: &str) -> Call<'a> {
    let input = Json::Object(vec![("command".into(), Json::Text(Cow::Borrowed(command)))]);
    let action = tools_like("claude-code").action("Bash", &input);
    Call { cwd: Some(cwd.to_owned().into()), ..Call::before("claude-code", "Bash", input, action) }
}

/// The settings under which one rule of a pack holds, and the floor.
fn only(name: &str, pack: &Pack, rule: &Rule) -> Settings {
    let others = pack.rule.iter().filter(|other| other.id != rule.id && !other.floor);
    let mut text =
        format!("[policy.destructive]\npacks = [{name:?}]\nallow-force-with-lease = false\n[rules]\n");
    for other in others {
        writeln!(text, "{} = \"allow\"", other.id).unwrap();
    }
    let layer = read(&text).unwrap_or_else(|error| panic!("{}", error.what));
    let profile = "shell-blocklist";
    stack(Some(profile), profile, &[&layer]).unwrap_or_else(|error| panic!("{}", error.what))
}

#[test]
fn every_rule_hits_and_misses_its_examples_behind_the_interpreter() {
    let place = Place::new();
    let (mut wrong, mut rules) = (Vec::new(), 0);
    for (name, pack) in packs() {
        for rule in &pack.rule {
            let settings = only(&name, &pack, rule);
            let finds = |command: &String| place.finds(&settings, &rule.reason, command);
            rules += 1;
            assert!(!rule.hits.is_empty() && !rule.misses.is_empty(), "{name}: {} has no examples", rule.id);
            let missed = rule.hits.iter().filter(|command| !finds(command));
            wrong.extend(missed.map(|command| format!("{name}: {} misses `{command}`", rule.id)));
            let found = rule.misses.iter().filter(|command| finds(command));
            wrong.extend(found.map(|command| format!("{name}: {} finds `{command}`", rule.id)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rules > 100, "only {rules} rules");
}
