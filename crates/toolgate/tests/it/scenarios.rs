//! What the gate calls proved is proved: every scenario of `cases/scenarios.toml` is played without the gate, where it does harm, and
//! then through the hook with default settings, where it does none, whether it is denied, asked about, contained or let run.
//!
//! `TOOLGATE_SCENARIO=git` plays those whose name holds the word.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;

use crate::support::outside::{self, CANARY, Place};
use crate::support::{Said, skipped, write};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenarios {
    scenario: Vec<Scenario>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    name: String,
    #[serde(default)]
    needs: Vec<String>,
    /// What a person or the repository had made before the session: a script, run in the worktree.
    #[serde(default)]
    before: String,
    /// What the agent has written with its file tools.
    #[serde(default)]
    files: BTreeMap<PathBuf, String>,
    calls: Vec<String>,
    /// Files of the worktree that the agent may not change.
    #[serde(default)]
    watch: Vec<PathBuf>,
}

#[test]
fn what_is_called_proved_does_no_harm() {
    let scenarios: Scenarios = outside::cases("scenarios.toml");
    let wanted = std::env::var("TOOLGATE_SCENARIO").unwrap_or_default();
    let scenarios: Vec<Scenario> =
        scenarios.scenario.into_iter().filter(|scenario| scenario.name.contains(&wanted)).collect();
    assert!(!scenarios.is_empty(), "no scenario is called `{wanted}`");
    outside::try_each(&scenarios, |scenario| Some(format!("{}: {}", scenario.name, scenario.wrong()?)));
}

impl Scenario {
    /// What went wrong: it did no harm without the gate, or some with it.
    fn wrong(&self) -> Option<String> {
        let bare = Place::new("");
        let needs: Vec<String> = self.needs.iter().map(|need| with_toolchain(need)).collect();
        if !bare.has(&needs) {
            skipped(&format!("{}: needs {:?}", self.name, self.needs));
            return None;
        }
        if self.played(&bare, |text| Some(text.to_owned())).is_empty() {
            return Some("does no harm without the gate, so that it shows nothing".to_owned());
        }
        let gated = Place::new("");
        let harm = self.played(&gated, |text| match gated.asked(text) {
            Said::Nothing | Said::Grant => Some(text.to_owned()),
            Said::Rewrite(input) => Some(input["command"].as_str().unwrap().to_owned()),
            Said::Ask(_) | Said::Deny(_) => None,
        });
        (!harm.is_empty()).then(|| format!("did harm: {}", harm.join("; ")))
    }

    /// Plays it up to the first call that is stopped, and says what harm was done.
    fn played(&self, place: &Place, judge: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let filled = |text: &str| {
            let top = place.machine.path("");
            with_toolchain(&text.replace("{top}", top.to_str().unwrap().trim_end_matches('/')))
        };
        place.run(&filled(&self.before));
        for (path, text) in &self.files {
            write(&place.alpha.join(path), filled(text));
        }
        let mut harm = Vec::new();
        for call in &self.calls {
            // What the hook itself writes is no harm, so it is asked before the look at the disk.
            let Some(text) = judge(&filled(call)) else { break };
            let (before, watched) = (place.outside(), self.watched(place));
            let printed = place.run(&text);
            harm.extend(outside::changed(&before, &place.outside()));
            harm.extend((self.watched(place) != watched).then(|| format!("changed: {:?}", self.watch)));
            harm.extend(printed.contains(CANARY).then(|| format!("printed: {printed}")));
            harm.extend(place.brought_in());
        }
        harm
    }

    fn watched(&self, place: &Place) -> Vec<Option<Vec<u8>>> {
        self.watch.iter().map(|path| fs::read(place.alpha.join(path)).ok()).collect()
    }
}

fn with_toolchain(text: &str) -> String {
    if text.contains("{toolchain}") {
        text.replace("{toolchain}", &outside::toolchain())
    } else {
        text.to_owned()
    }
}
