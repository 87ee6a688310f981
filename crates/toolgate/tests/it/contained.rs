//! What gets out of a worktree does not get out of the sandbox: every way of `cases/escapes.toml` is gone without the gate, where it does
//! harm, and then through the hook, where it does none. `scripts/measure-contained` does the same with corpora of commands.
//!
//! `TOOLGATE_ESCAPE=git` goes those whose name holds the word.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;

use crate::support::{Answer, Hook, Machine, Said, skipped, write};

/// The private word.
const CANARY: &str = "CANARY5f1c";
/// Time for what was left in the background.
const LATE: Duration = Duration::from_millis(600);
const WORKERS: usize = 3;
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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join("cases/escapes.toml");
    let escapes: Escapes =
        toml::from_str(&fs::read_to_string(path).unwrap()).unwrap_or_else(|error| panic!("{error}"));
    let wanted = std::env::var("TOOLGATE_ESCAPE").unwrap_or_default();
    let level = Place::new().level();
    let escapes: Vec<Escape> =
        escapes.escape.into_iter().filter(|escape| escape.name.contains(&wanted)).collect();
    assert!(!escapes.is_empty(), "no escape is called `{wanted}`");
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(escape) = escapes.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let wrong = escape.wrong(level).map(|wrong| format!("{}: {wrong}", escape.name));
                    failed.lock().unwrap().extend(wrong);
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

impl Escape {
    /// What went wrong: it did no harm without the gate, or some with it.
    fn wrong(&self, level: &str) -> Option<String> {
        if self.full && level != "full" {
            skipped(&format!("{}: only level full holds it", self.name));
            return None;
        }
        let bare = Place::new();
        if !bare.has(&self.needs) {
            skipped(&format!("{}: needs {:?}", self.name, self.needs));
            return None;
        }
        match (self.gone(&bare, None), self.gone(&Place::new(), Some(level))) {
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
            Some(_) => calls.iter().map(|call| place.contained(&filled(call))).collect::<Result<_, _>>()?,
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
        let changed = before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path));
        let mut harm: Vec<String> = changed.map(|path| path.display().to_string()).collect();
        harm.extend(printed.contains(CANARY).then(|| format!("printed: {printed}")));
        harm.extend(place.brought_in());
        Ok(harm)
    }
}

/// A machine with a worktree, and things around it.
struct Place {
    machine: Machine,
    main: PathBuf,
    alpha: PathBuf,
}

/// What stands at a path: kind and mode, the time of a file, what it holds.
type Entry = (u32, i64, Vec<u8>);

impl Place {
    fn new() -> Place {
        let machine = Machine::new();
        let main = machine.repository("home/src/main");
        let alpha = machine.worktree(&main, "home/worktrees/alpha");
        machine.worktree(&main, "home/worktrees/beta");
        machine.file("home/notes/private.txt", CANARY);
        machine.file("home/.ssh/id_ed25519", CANARY);
        machine.file("home/.bashrc", "# before\n");
        write(&machine.user_settings(), "[containment]\nwhen = \"always\"\n");
        Place { machine, main, alpha }
    }

    fn program(&self, words: &[&str]) -> Hook {
        let variables = [
            ("LC_ALL", "C.UTF-8"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_AUTHOR_EMAIL", "a@example.com"),
            ("GIT_COMMITTER_NAME", "A"),
            ("GIT_COMMITTER_EMAIL", "a@example.com"),
        ];
        let hook = self.machine.toolgate().cwd(&self.alpha).instead(words);
        variables.into_iter().fold(hook, |hook, (name, value)| hook.env(name, value))
    }

    fn has(&self, needs: &[String]) -> bool {
        needs.iter().all(|need| {
            let words: Vec<&str> = need.split(' ').collect();
            self.program(&words).command().output().is_ok_and(|output| output.status.success())
        })
    }

    /// The best level that this machine has.
    fn level(&self) -> &'static str {
        let full = self.machine.toolgate().args(["exec", "--level", "full", "--", "true"]).cwd(&self.alpha);
        if full.run("").status.success() { "full" } else { "landlock" }
    }

    /// What the host would run in place of a command. One that is stopped shows nothing of the sandbox.
    fn contained(&self, command: &str) -> Result<String, String> {
        let session = self.machine.session("s-1", &self.alpha);
        match session.call("Bash", &json!({ "command": command })) {
            Said::Rewrite(input) => Ok(input["command"].as_str().unwrap().to_owned()),
            other => Err(format!("{command}: {other:?}")),
        }
    }

    fn run(&self, text: &str) -> String {
        let mut child = self.program(&["bash", "-c", text]).spawn();
        drop(child.stdin.take());
        let Answer { stdout, stderr, .. } = Answer::of(child, Instant::now());
        stdout + &stderr
    }

    fn levels(&self) -> Vec<String> {
        let records = self.machine.records();
        let contained = records.iter().filter_map(|record| record["contained"]["level"].as_str());
        contained.map(str::to_owned).collect()
    }

    /// Everything that a command must not change.
    fn outside(&self) -> BTreeMap<PathBuf, Entry> {
        let mut found = BTreeMap::new();
        self.look(&self.machine.path(""), &mut found);
        found
    }

    fn look(&self, directory: &Path, found: &mut BTreeMap<PathBuf, Entry>) {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let info = entry.metadata().unwrap();
            let is_directory = info.is_dir();
            if self.is_own(&path, is_directory) {
                continue;
            }
            let holds = if info.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if info.is_file() {
                fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            let time = if info.is_file() { info.mtime() } else { 0 };
            found.insert(path.clone(), (info.permissions().mode(), time, holds));
            if is_directory {
                self.look(&path, found);
            }
        }
    }

    /// What is the agent's own: its worktree, its side of the repository, and what the gate keeps about it.
    fn is_own(&self, path: &Path, is_directory: bool) -> bool {
        const PINNED: [&str; 3] = ["commondir", "gitdir", "config.worktree"];
        let git = self.main.join(".git");
        let side = git.join("worktrees/alpha");
        let is_pinned = PINNED.iter().any(|name| path == side.join(name));
        let branch = "refs/heads/home-worktrees-alpha";
        let state = self.machine.state();
        let kept = ["alive", "contained", "calls", "ledger.jsonl"].map(|name| state.join(name));
        (path == self.alpha && is_directory)
            || (path.starts_with(&side) && path != side && !is_pinned)
            || path.starts_with(git.join("objects"))
            || [git.join(branch), git.join("logs").join(branch)].iter().any(|own| path.starts_with(own))
            || kept.iter().any(|kept| path.starts_with(kept))
    }

    /// Files of the worktree that hold the private word.
    fn brought_in(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut left = vec![self.alpha.clone()];
        while let Some(directory) = left.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().map(Result::unwrap) {
                let (path, kind) = (entry.path(), entry.file_type().unwrap());
                if kind.is_dir() {
                    left.push(path);
                } else if kind.is_file()
                    && fs::read(&path).unwrap().windows(CANARY.len()).any(|part| part == CANARY.as_bytes())
                {
                    found.push(format!("brought in: {}", path.display()));
                }
            }
        }
        found
    }
}
