//! What gets out of a worktree does not get out of the sandbox: every way of `cases/escapes.toml` is gone without the gate, where it does
//! harm, and then through the hook, where it does none. `scripts/measure-contained` does the same with corpora of commands.
//!
//! `TOOLGATE_ESCAPE=git` goes those whose name holds the word.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use serde::Deserialize;

use crate::support::outside::{self, CANARY, Place};
use crate::support::{Said, skipped, write};

/// Every call is contained, also what is proved.
const ALWAYS: &str = "[containment]\nwhen = \"always\"\n";
/// Time for what was left in the background.
const LATE: Duration = Duration::from_millis(600);
/// Runs a script that nobody has described.
const RUNNER: &str = "import subprocess, sys\nsys.exit(subprocess.call(['bash', 'escape.sh']))\n";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Escapes {
    escape: Vec<Escape>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Escape {
    name: String,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    files: BTreeMap<PathBuf, String>,
    #[serde(default)]
    script: String,
    #[serde(default)]
    calls: Vec<String>,
    #[serde(default)]
    full: bool,
}

#[test]
fn what_gets_out_of_a_worktree_does_not_get_out_of_the_sandbox() {
    let escapes: Escapes = outside::cases("escapes.toml");
    let wanted = std::env::var("TOOLGATE_ESCAPE").unwrap_or_default();
    let level = Place::new(ALWAYS).level();
    let escapes: Vec<Escape> =
        escapes.escape.into_iter().filter(|escape| escape.name.contains(&wanted)).collect();
    assert!(!escapes.is_empty(), "no escape is called `{wanted}`");
    outside::try_each(&escapes, |escape| Some(format!("{}: {}", escape.name, escape.wrong(level)?)));
}

impl Escape {
    /// What went wrong: it did no harm without the gate, or some with it.
    fn wrong(&self, level: &str) -> Option<String> {
        if self.full && level != "full" {
            skipped(&format!("{}: only level full holds it", self.name));
            return None;
        }
        let bare = Place::new(ALWAYS);
        if !bare.has(&self.needs) {
            skipped(&format!("{}: needs {:?}", self.name, self.needs));
            return None;
        }
        match (self.gone(&bare, None), self.gone(&Place::new(ALWAYS), Some(level))) {
            (Err(error), _) | (_, Err(error)) => Some(error),
            (Ok(bare), _) if bare.is_empty() => {
                Some("does no harm without the gate, so that it shows nothing".to_owned())
            }
            (_, Ok(harm)) => (!harm.is_empty()).then(|| format!("did harm in the sandbox: {harm:?}")),
        }
    }

    /// Goes it, in the sandbox if a level is given, and says what harm was done.
    fn gone(&self, place: &Place, level: Option<&str>) -> Result<Vec<String>, String> {
        let filled = |text: &str| text.replace("{top}", place.machine.path("").to_str().unwrap());
        for (path, text) in &self.files {
            write(&place.alpha.join(path), text);
        }
        write(&place.alpha.join("run.py"), RUNNER);
        write(&place.alpha.join("escape.sh"), filled(&self.script));
        let scripted = ["python3 run.py".to_owned()];
        let calls = if self.calls.is_empty() { &scripted[..] } else { &self.calls[..] };
        let texts: Vec<String> = match level {
            None => calls.iter().map(|call| filled(call)).collect(),
            // What the hook itself writes is no harm, so it is asked before the look at the disk.
            Some(_) => calls.iter().map(|call| contained(place, &filled(call))).collect::<Result<_, _>>()?,
        };
        let before = place.outside();
        let printed: String = texts.iter().map(|text| place.run(text)).collect();
        thread::sleep(LATE);
        let after = place.outside();
        if let Some(level) = level
            && place.levels() != vec![level; texts.len()]
        {
            return Err(format!("did not run at level {level}: {:?}: {printed}", place.levels()));
        }
        let mut harm = outside::changed(&before, &after);
        harm.extend(printed.contains(CANARY).then(|| format!("printed: {printed}")));
        harm.extend(place.brought_in());
        Ok(harm)
    }
}

/// What the host would run in place of a command. One that is stopped shows nothing of the sandbox.
fn contained(place: &Place, command: &str) -> Result<String, String> {
    match place.asked(command) {
        Said::Rewrite(input) => Ok(input["command"].as_str().unwrap().to_owned()),
        other => Err(format!("{command}: {other:?}")),
    }
}
