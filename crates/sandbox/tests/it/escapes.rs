//! Programs that try to leave the sandbox. Each is made uncontained first, to show that it works, and then at both levels;
//! as root and as an ordinary user, where the tests run as root.
//!
//! The attempts are data, one file a topic, in `escapes/`. Success is what the world shows from outside (see `world`). A program's own
//! word (`ESCAPED`) counts only where nothing else can show it.
//!
//! `ESCAPE=part-of-an-id` runs only some of them, and shows what they print.

pub(crate) mod world;

use std::cell::RefCell;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::world::copy_program;
use serde::Deserialize;
use toolgate_sandbox::Kernel;
use world::{Evidence, Need, User, World};

const TOPICS: &[(&str, &str)] = &[
    ("files", include_str!("escapes/files.toml")),
    ("links", include_str!("escapes/links.toml")),
    ("state", include_str!("escapes/state.toml")),
    ("processes", include_str!("escapes/processes.toml")),
    ("shared", include_str!("escapes/shared.toml")),
    ("sockets", include_str!("escapes/sockets.toml")),
    ("kernel", include_str!("escapes/kernel.toml")),
    ("privileges", include_str!("escapes/privileges.toml")),
    ("descriptors", include_str!("escapes/descriptors.toml")),
    ("terminals", include_str!("escapes/terminals.toml")),
    ("launcher", include_str!("escapes/launcher.toml")),
    ("clone", include_str!("escapes/clone.toml")),
];

/// Attempts that have to be there, at least.
const FEWEST: usize = 120;
/// How many may be impossible here even uncontained, of a hundred: they show nothing.
const MOST_IMPOSSIBLE: usize = 12;
/// How many may be open at every level. Each needs somebody outside who does a part of it, but for a lock on what may be read, which takes nothing from
/// a file and which builds need.
const MOST_RESIDUAL: usize = 4;
/// Longer than any attempt takes.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Topic {
    attempt: Vec<Attempt>,
}

/// One way out, as it is tried.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "a row of a table, each with its own mark")]
struct Attempt {
    id: String,
    /// What it tries.
    tries: String,
    /// A shell script, or a Python program that follows `prelude.py`.
    sh: Option<String>,
    python: Option<String>,
    /// A command that runs before it, in the same way.
    first: Option<String>,
    /// What shows that it has worked.
    seen: Seen,
    #[serde(default)]
    needs: Vec<Needed>,
    /// Who tries it. Both, if nothing is said.
    only: Option<Who>,
    /// With these networks; without, if nothing is said.
    #[serde(default)]
    networks: Vec<String>,
    /// What stands around it when it is tried uncontained, so that it touches nothing but its world.
    #[serde(default)]
    around: Vec<String>,
    /// Why it is not tried uncontained.
    uncontrolled: Option<String>,
    /// What a shell does outside before it is started: opens descriptors, most of all.
    outside: Option<String>,
    /// It runs in a plain clone, and not in a linked worktree.
    #[serde(default)]
    clone: bool,
    /// It runs in the group of the other process.
    #[serde(default)]
    in_group: bool,
    /// It may be stopped by not being started at all.
    #[serde(default)]
    may_be_refused: bool,
    /// It goes on in the background for this long.
    #[serde(default)]
    later_ms: u64,
    /// Why the level `landlock` does not stop it.
    open: Option<String>,
    /// It sends signals. Before Linux 6.12 only level `full` keeps them inside.
    #[serde(default)]
    signals: bool,
    /// Why no level stops it: somebody outside has a part in it.
    residual: Option<String>,
    /// The Landlock interface that stops it after all.
    closed_by: Option<u8>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
enum Seen {
    /// The secret is printed.
    Secret,
    /// Something outside is not as it was.
    Changed,
    /// Somebody was reached who listens.
    Arrived,
    /// The other process was ended, stopped or changed.
    Victim,
    /// A terminal has got input or output.
    Typed,
    /// It says so itself. Nothing else can show it.
    Says,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Needed {
    Victim,
    Shared,
    Terminals,
    Privileged,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Who {
    /// Only as root: it uses root's rights.
    Root,
    /// Only as an ordinary user, and never as the one who runs the tests: it would reach everything of that one.
    Stranger,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How<'a> {
    Uncontained,
    Contained(&'a str, &'a str),
}

/// What became of an attempt by one user.
struct Result {
    topic: &'static str,
    attempt: usize,
    user: &'static str,
    /// `None`: it is not tried uncontained.
    control: Option<bool>,
    why_not: String,
    levels: &'static [&'static str],
    /// What got through: level and network, and what showed it.
    through: Vec<(&'static str, String)>,
    /// The levels at which it was not even started.
    broken: Vec<String>,
}

fn attempts() -> Vec<(&'static str, Attempt)> {
    let mut all = Vec::new();
    for (name, text) in TOPICS {
        let topic: Topic = toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        all.extend(topic.attempt.into_iter().map(|attempt| (*name, attempt)));
    }
    all
}

#[test]
fn every_attempt_is_described_once_and_can_be_run() {
    let all = attempts();
    assert!(all.len() >= FEWEST, "{} attempts", all.len());
    let residual = all.iter().filter(|(_, attempt)| attempt.residual.is_some()).count();
    assert!(residual <= MOST_RESIDUAL, "{residual} attempts are open at every level");
    let mut ids: Vec<&str> = all.iter().map(|(_, attempt)| attempt.id.as_str()).collect();
    ids.sort_unstable();
    for pair in ids.windows(2) {
        assert_ne!(pair[0], pair[1]);
    }
    for (topic, attempt) in &all {
        assert!(attempt.sh.is_some() != attempt.python.is_some(), "{topic}/{}", attempt.id);
        assert!(!attempt.tries.is_empty() && !attempt.tries.ends_with('.'), "{topic}/{}", attempt.id);
        assert!(attempt.closed_by.is_none() || attempt.open.is_some(), "{topic}/{}", attempt.id);
    }
}

#[test]
fn nothing_leaves_the_sandbox() {
    let (all, kernel) = (attempts(), Kernel::probe());
    let (results, took) = try_all(&all, kernel, None);
    let (text, failures) = summary(&all, &results, kernel, took);
    println!("{text}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The same with the rules of the first Landlock. What that one cannot keep inside, level `full` has to.
#[test]
fn nothing_leaves_the_sandbox_of_an_old_kernel() {
    let (all, kernel) = (attempts(), Kernel::probe());
    let (results, took) = try_all(&all, kernel, Some(1));
    let mut failures = Vec::new();
    for result in &results {
        let attempt = &all[result.attempt].1;
        let name = format!("{}/{} as {}", result.topic, attempt.id, result.user);
        failures.extend(result.broken.iter().map(|how| format!("{name} was not started: {how}")));
        for (level, shown) in &result.through {
            let is_listed = attempt.residual.is_some()
                || *level == "landlock" && (attempt.open.is_some() || attempt.signals);
            if !is_listed {
                failures.push(format!("{name} got through at level {level}, {shown}"));
            }
        }
    }
    println!("{} attempts with the first Landlock, in {took:.0?}", results.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Where there are no namespaces, level `full` is refused, and nothing has been run or signalled.
#[test]
fn without_namespaces_level_full_runs_nothing() {
    let base = tempfile::tempdir().unwrap();
    let user = User { other: None, word: "user" };
    let world = World::new(base.path().join("w"), user).unwrap();
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-current-user", "--keep-caps", "sh", "-c", script, "sh"]);
    command.arg(crate::world::contain()).arg("full");
    command.args([world.root.join("trees/one"), world.root.join("state/sessions/one")]);
    let done = command.args(["touch", "ran"]).output().unwrap();
    let text = String::from_utf8_lossy(&done.stderr);
    if text.starts_with("unshare: ") || text.starts_with("sh: ") {
        println!("no namespaces here at all: {text}");
        return;
    }
    assert!(text.contains("does not let the user make namespaces"), "{text}");
    assert_eq!(done.status.code(), Some(125));
    assert!(!world.root.join("trees/one/ran").exists());
}

/// Makes all attempts, or those that were asked for. With the rules of an old kernel there is no control and no root: both
/// are in the other test.
fn try_all(all: &[(&'static str, Attempt)], kernel: Kernel, landlock: Option<u8>) -> (Vec<Result>, Duration) {
    // One after the other: each test keeps all processors busy.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    if kernel.landlock == 0 {
        println!("no Landlock here: nothing can be contained");
        return (Vec::new(), Duration::ZERO);
    }
    let begun = Instant::now();
    let chosen = std::env::var("ESCAPE").ok();
    let base = tempfile::tempdir().unwrap();
    fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let contain = base.path().join("contain");
    copy_program(&crate::world::contain(), &contain);
    let is_root = rustix::process::geteuid().is_root();
    let levels = levels(base.path(), &contain, User { other: is_root.then_some(61_240), word: "user" });
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        // Waiting is a good part of it, so there are more workers than processors.
        for worker in 0..4_u32 {
            let (next, results, base, contain, chosen, levels) =
                (&next, &results, base.path(), &contain, &chosen, levels);
            scope.spawn(move || {
                let stranger = User { other: is_root.then_some(61_240 + worker), word: "user" };
                let root = User { other: None, word: "root" };
                let users = if is_root && landlock.is_none() { vec![root, stranger] } else { vec![stranger] };
                let spare = RefCell::new(Vec::new());
                let bench = Bench { base, contain, shows: chosen.is_some(), levels, landlock, spare };
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((topic, attempt)) = all.get(at) else { return };
                    if chosen.as_ref().is_some_and(|part| !attempt.id.contains(part)) {
                        continue;
                    }
                    for user in users.iter().filter(|user| attempt.is_for(**user)) {
                        let result = bench.judge(topic, at, attempt, *user);
                        results.lock().unwrap().push(result);
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap();
    results.sort_by_key(|result: &Result| (result.attempt, result.user));
    (results, begun.elapsed())
}

/// The levels that can be tried. Where an ordinary user gets no namespaces, that is said; in CI it is an error.
fn levels(base: &Path, contain: &Path, user: User) -> &'static [&'static str] {
    let world = World::new(base.join("probe"), user).unwrap();
    let mut command = user.command(contain);
    command.arg("full").args([world.root.join("trees/one"), world.root.join("state/sessions/one")]);
    let done = command.arg("true").output().unwrap();
    let text = String::from_utf8_lossy(&done.stderr);
    if !text.contains("does not let the user make namespaces") || std::env::var_os("CI").is_some() {
        return &["full", "landlock"];
    }
    println!("level full is not tried: {text}");
    &["landlock"]
}

impl Attempt {
    fn is_for(&self, user: User) -> bool {
        match self.only {
            Some(Who::Root) => user.word == "root",
            Some(Who::Stranger) => user.other.is_some(),
            None => true,
        }
    }

    fn needs(&self) -> Vec<Need> {
        let needs = self.needs.iter().map(|need| match need {
            Needed::Victim => Need::Victim,
            Needed::Shared => Need::Shared,
            Needed::Terminals => Need::Terminals,
            Needed::Privileged => Need::Privileged,
        });
        needs.chain(self.clone.then_some(Need::Clone)).collect()
    }

    /// Where it runs.
    fn worktree(&self) -> &'static str {
        if self.clone { "clone" } else { "trees/one" }
    }

    fn place_script(&self, world: &World, name: &str, head: &str, text: &str) -> PathBuf {
        let path = world.root.join(self.worktree()).join(name);
        fs::write(&path, format!("{head}\n{text}")).unwrap();
        path
    }

    fn has_worked(&self, evidence: &Evidence) -> bool {
        match self.seen {
            Seen::Secret => evidence.secret,
            Seen::Changed => !evidence.changed.is_empty(),
            Seen::Arrived => !evidence.arrived.is_empty(),
            Seen::Victim => evidence.victim.is_some(),
            Seen::Typed => evidence.typed,
            Seen::Says => evidence.says,
        }
    }

    /// Contained, whatever shows is too much, and not only what was aimed at.
    fn got_through(&self, evidence: &Evidence) -> Option<String> {
        let Evidence { secret, changed, arrived, victim, typed, says } = evidence;
        let says = *says && self.seen == Seen::Says;
        let any = *secret || !changed.is_empty() || !arrived.is_empty() || victim.is_some() || *typed || says;
        any.then(|| format!("{evidence:?}"))
    }
}

struct Bench<'a> {
    base: &'a Path,
    contain: &'a Path,
    shows: bool,
    levels: &'static [&'static str],
    /// Rules as for an older kernel.
    landlock: Option<u8>,
    /// Worlds that can be used again.
    spare: RefCell<Vec<World>>,
}

impl Bench<'_> {
    fn judge(&self, topic: &'static str, at: usize, attempt: &Attempt, user: User) -> Result {
        let (mut control, mut why_not) = (None, attempt.uncontrolled.clone().unwrap_or_default());
        if attempt.uncontrolled.is_none() && self.landlock.is_none() {
            let (evidence, output) = self.attempt(attempt, user, How::Uncontained);
            control = Some(attempt.has_worked(&evidence));
            why_not = output.lines().last().unwrap_or_default().to_owned();
        }
        let (mut through, mut broken) = (Vec::new(), Vec::new());
        let networks = if attempt.networks.is_empty() { &["none".to_owned()][..] } else { &attempt.networks };
        for level in self.levels.iter().copied() {
            for network in networks {
                let (evidence, output) = self.attempt(attempt, user, How::Contained(level, network));
                if !output.contains("started") && !attempt.may_be_refused {
                    broken.push(format!("{level}, network {network}: {output}"));
                }
                let shown = attempt.got_through(&evidence);
                through.extend(shown.map(|shown| (level, format!("network {network}: {shown}"))));
            }
        }
        Result { topic, attempt: at, user: user.word, control, why_not, levels: self.levels, through, broken }
    }

    /// Makes an attempt in a world that nothing has happened in.
    fn attempt(&self, attempt: &Attempt, user: User, how: How<'_>) -> (Evidence, String) {
        let mut world = self.world(user);
        world.get_ready(&attempt.needs()).unwrap();
        let out = world.root.with_extension("out");
        fs::write(&out, "").unwrap();
        if let Some(first) = &attempt.first {
            let script = attempt.place_script(&world, "first", "#!/bin/sh\n", first);
            self.run(attempt, &world, how, &["sh".into(), script], &out);
        }
        let command = match (&attempt.sh, &attempt.python) {
            (Some(text), _) => {
                vec!["sh".into(), attempt.place_script(&world, "attempt", "echo started\n", text)]
            }
            (None, Some(text)) => {
                let script =
                    attempt.place_script(&world, "attempt", include_str!("escapes/prelude.py"), text);
                vec!["/usr/bin/python3".into(), "-IS".into(), script]
            }
            (None, None) => Vec::new(),
        };
        self.run(attempt, &world, how, &command, &out);
        std::thread::sleep(Duration::from_millis(attempt.later_ms));
        let output = String::from_utf8_lossy(&fs::read(&out).unwrap()).into_owned();
        let evidence = world.evidence(&output).unwrap();
        if self.shows {
            let how = match how {
                How::Uncontained => "uncontained".to_owned(),
                How::Contained(level, network) => format!("{level}, network {network}"),
            };
            println!("{} as {}, {how}: {evidence:?}\n{output}", attempt.id, user.word);
        }
        // A world in which nothing has changed serves again. One in which somebody may still be at work does not.
        let is_untouched = evidence.changed.is_empty() && attempt.later_ms == 0;
        if is_untouched && !attempt.needs.contains(&Needed::Privileged) && world.clean().is_ok() {
            self.spare.borrow_mut().push(world);
        }
        (evidence, output)
    }

    fn world(&self, user: User) -> World {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let mut spare = self.spare.borrow_mut();
        if let Some(at) = spare.iter().position(|world| world.user == user) {
            return spare.swap_remove(at);
        }
        let name = format!("w{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        World::new(self.base.join(name), user).unwrap()
    }

    fn run(&self, attempt: &Attempt, world: &World, how: How<'_>, command: &[PathBuf], out: &Path) {
        let mut words: Vec<PathBuf> = Vec::new();
        if world.terminal.is_some() {
            words.extend(["setsid", "--ctty", "--wait"].map(PathBuf::from));
        }
        if let Some(outside) = &attempt.outside {
            words.extend(["sh".into(), "-c".into(), format!("{outside}\nexec \"$@\"").into(), "sh".into()]);
        }
        match how {
            How::Uncontained => words.extend(attempt.around.iter().map(PathBuf::from)),
            How::Contained(level, network) => {
                words.push(self.contain.to_owned());
                words.extend(["--read".into(), self.contain.to_owned()]);
                words.extend(
                    self.landlock.iter().flat_map(|abi| ["--landlock".into(), abi.to_string().into()]),
                );
                let options = if attempt.clone { options_in_clone } else { options };
                words.extend(options(&world.root, level, network));
            }
        }
        words.extend(command.iter().cloned());
        let mut process = world.user.command(&words[0]);
        process.args(&words[1..]).env_clear().envs(world.variables().unwrap());
        process.current_dir(world.root.join(attempt.worktree()));
        process.process_group(world.victim_group().filter(|_| attempt.in_group).unwrap_or(0));
        let output = fs::OpenOptions::new().append(true).open(out).unwrap();
        process.stdout(output.try_clone().unwrap()).stderr(output);
        match &world.terminal {
            Some(terminal) => process.stdin(terminal.open().unwrap()),
            None => process.stdin(Stdio::null()),
        };
        wait(process).unwrap();
    }
}

/// What a plan for a plain clone would hold.
fn options_in_clone(root: &Path, level: &str, network: &str) -> Vec<PathBuf> {
    let git = root.join("clone/.git");
    let mut words: Vec<PathBuf> = vec!["--repository".into(), git.clone(), git];
    words.extend(["--network".into(), network.into(), level.into()]);
    words.extend([root.join("clone"), root.join("state/sessions/one")]);
    words
}

/// What a plan for a linked worktree would hold.
fn options(root: &Path, level: &str, network: &str) -> Vec<PathBuf> {
    let mut words: Vec<PathBuf> = Vec::new();
    let mut add = |option: &str, path: &str| words.extend([option.into(), root.join(path)]);
    add("--read", "home/.cargo");
    add("--close", "home/.cargo/credentials.toml");
    add("--close", "home/.cargo/vault");
    add("--read", "main/.git");
    add("--write", "trees/one/build");
    // A plan that closes something in a writable place is refused at level landlock, which could not hold it.
    if level == "full" {
        for closed in ["trees/one/vault", "trees/one/.env", "trees/one/config/secret.env"] {
            add("--close", closed);
        }
    }
    add("--pin", "trees/one/.git");
    add("--pin", "trees/one/.claude/settings.json");
    add("--pin", "main/.git/worktrees/one/commondir");
    // Two, so that they share a layer over the home.
    add("--cache", "home/.cache/pip");
    add("--cache", "home/.npm");
    words.extend(["--repository".into(), root.join("main/.git"), root.join("main/.git/worktrees/one")]);
    words.extend(["--network".into(), network.into(), level.into()]);
    words.extend([root.join("trees/one"), root.join("state/sessions/one")]);
    words
}

/// Waits for a process, and ends it where it takes too long.
fn wait(mut command: Command) -> io::Result<()> {
    let mut process = command.spawn()?;
    let begun = Instant::now();
    while process.try_wait()?.is_none() {
        if begun.elapsed() > PATIENCE {
            process.kill()?;
        }
        std::thread::sleep(Duration::from_millis(3));
    }
    Ok(())
}

/// What became of all attempts, in words, and what is wrong with it.
fn summary(
    all: &[(&str, Attempt)],
    results: &[Result],
    kernel: Kernel,
    took: Duration,
) -> (String, Vec<String>) {
    let (mut text, mut failures) = (String::new(), Vec::new());
    let mut residual = String::new();
    let (mut open, mut impossible, mut uncontrolled) = (String::new(), String::new(), String::new());
    let mut count = [0_usize; 4];
    for result in results {
        let attempt = &all[result.attempt].1;
        let name = format!("{}/{} as {}", result.topic, attempt.id, result.user);
        match result.control {
            Some(true) => count[0] += 1,
            Some(false) => {
                count[1] += 1;
                let _ = writeln!(impossible, "  {name}: {}", result.why_not);
            }
            None => {
                let _ = writeln!(uncontrolled, "  {name}: {}", result.why_not);
            }
        }
        failures.extend(result.broken.iter().map(|how| format!("{name} was not started: {how}")));
        let at = |level| result.through.iter().find(|(at, _)| *at == level).map(|(_, shown)| shown);
        match at("full") {
            Some(_) if attempt.residual.is_some() => {
                let _ = writeln!(residual, "  {name}: {}", attempt.residual.as_deref().unwrap_or_default());
            }
            Some(shown) => failures.push(format!("{name} got through at level full, {shown}")),
            None => count[2] += usize::from(result.levels.contains(&"full")),
        }
        let reason = attempt
            .open
            .as_ref()
            .or(attempt.residual.as_ref())
            .filter(|_| attempt.closed_by.is_none_or(|by| kernel.landlock < by));
        match (at("landlock"), reason) {
            (Some(_), Some(_)) if attempt.residual.is_some() => {}
            (Some(_), Some(why)) => {
                let _ = writeln!(open, "  {name}: {why}");
            }
            (Some(shown), None) => failures.push(format!("{name} got through at level landlock, {shown}")),
            (None, _) => count[3] += 1,
        }
    }
    // What is listed as open and is not would be a wrong list.
    for (at, (topic, attempt)) in all.iter().enumerate() {
        let mut of_it = results.iter().filter(|result| result.attempt == at).peekable();
        let is_listed = attempt.open.is_some() && attempt.closed_by.is_none();
        let worked = |result: &Result| result.control == Some(true);
        let is_open = |result: &Result| result.through.iter().any(|(level, _)| *level == "landlock");
        let tried = results.iter().any(|result| result.attempt == at && worked(result));
        if is_listed && tried && of_it.peek().is_some() && !of_it.any(is_open) {
            failures.push(format!("{topic}/{} is listed as open at level landlock, and is not", attempt.id));
        }
    }
    let [worked, not_possible, at_full, at_landlock] = count;
    let _ = writeln!(
        text,
        "{} attempts, {} counted for each user, Landlock {}, in {took:.0?}\n\
         uncontained: {worked} worked, {not_possible} are not possible here\n\
         level full: {at_full} stopped\nlevel landlock: {at_landlock} stopped",
        all.len(),
        results.len(),
        kernel.landlock,
    );
    for (title, list) in [
        ("open at every level", &residual),
        ("open at level landlock", &open),
        ("not possible here, so nothing is shown", &impossible),
        ("not tried uncontained", &uncontrolled),
    ] {
        let _ = writeln!(text, "{title}:\n{list}");
    }
    if not_possible * 100 > results.len() * MOST_IMPOSSIBLE && results.len() > FEWEST {
        failures.push(format!("{not_possible} attempts are not possible here even uncontained"));
    }
    (text, failures)
}
