//! What a contained command costs, beside the same command without a sandbox, in bubblewrap and in nono, in one run.
//!
//! Spawns are interleaved, so that a busy moment of the machine meets all programs alike. Run it through
//! `scripts/bench-exec`, which builds the fast binaries and the static `true` first, and measures as an ordinary user too
//! where it is root that runs it.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark stops when anything is odd"
)]

mod runner;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use runner::{Runner, run_in_turns};

/// Enough that a cost for each branch or each object would be seen.
const BRANCHES: usize = 200;
const OBJECTS: usize = 2_000;

fn main() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let home = scratch.path().canonicalize().expect("its real path");
    furnish(&home);
    let plain = repository(&home, "plain", 1, 0);
    let large = repository(&home, "large", BRANCHES, OBJECTS);
    let toolgate = runner::toolgate();
    let contained = |name: &str, worktree: &Path, level: &str, command: &[&str]| {
        let options = ["exec", "--level", level, "--"];
        let words = options.iter().chain(command);
        Runner {
            args: words.map(|word| (*word).to_owned()).collect(),
            directory: worktree.to_owned(),
            ..Runner::plain(name, &toolgate, &home)
        }
    };
    let bash = ["/bin/bash", "-c", "true"];
    let mut runners = Runner::idle(&home);
    runners.push(Runner {
        args: bash[1..].iter().map(|word| (*word).to_owned()).collect(),
        ..Runner::plain("bash -c true", Path::new(bash[0]), &home)
    });
    for level in ["landlock", "full"] {
        runners.push(contained(&format!("{level}: /bin/true"), &plain, level, &["/bin/true"]));
        runners.push(contained(&format!("{level}: bash -c true"), &plain, level, &bash));
        let name = format!("{level}: /bin/true, large repository");
        runners.push(contained(&name, &large, level, &["/bin/true"]));
    }
    runners.extend(bubblewrap(&plain, &home));
    runners.extend(nono(&plain, &home));
    // Once without a clock: settings are compiled, and private directories made.
    for runner in &runners {
        runner.run();
    }
    let rounds = runner::rounds();
    run_in_turns(&mut runners, rounds);
    report(&runners, rounds);
}

/// What a home has that the sandbox has to keep closed or gives a layer.
fn furnish(home: &Path) {
    for (path, text) in [
        (".ssh/id_ed25519", "key"),
        (".aws/credentials", "key"),
        (".cargo/credentials.toml", "token"),
        (".cargo/config.toml", "[net]\n"),
        (".npm/cache", "x"),
        (".cache/x", "x"),
        (".gitconfig", "[user]\n\tname = a\n\temail = a@example.com\n"),
    ] {
        let path = home.join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(path, text).expect("written");
    }
}

/// A repository with so many branches and at least so many loose objects, and a linked worktree of it.
fn repository(home: &Path, name: &str, branches: usize, objects: usize) -> PathBuf {
    let main = home.join(name);
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin");
        command.arg("-C").arg(&main).args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(command.status().expect("git starts").success(), "git {arguments:?}");
    };
    fs::create_dir_all(&main).expect("made");
    for file in 0..objects.max(1) {
        fs::write(main.join(format!("{file}.txt")), format!("{file}\n")).expect("written");
    }
    git(&["init", "-q", "-b", "main"]);
    git(&["-c", "core.looseCompression=0", "add", "."]);
    git(&["commit", "-q", "-m", "first"]);
    for branch in 1..branches {
        git(&["branch", &format!("feature-{branch}")]);
    }
    let worktree = home.join(format!("{name}-worktree"));
    git(&["worktree", "add", "-q", "-b", "agent", &worktree.to_string_lossy()]);
    worktree
}

/// The same command in bubblewrap, with namespaces like ours, where it is installed.
fn bubblewrap(worktree: &Path, home: &Path) -> Vec<Runner> {
    let program = Path::new("/usr/bin/bwrap");
    if !program.exists() {
        println!("no bubblewrap to compare with: install it");
        return Vec::new();
    }
    let tree = worktree.to_string_lossy().into_owned();
    let mut words: Vec<String> = [
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--die-with-parent",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",
    ]
    .map(str::to_owned)
    .into();
    for place in ["/usr", "/etc", "/bin", "/lib", "/lib64"] {
        if let Ok(link) = fs::read_link(place) {
            words.extend(["--symlink".to_owned(), link.to_string_lossy().into_owned(), place.to_owned()]);
        } else if Path::new(place).exists() {
            words.extend(["--ro-bind".to_owned(), place.to_owned(), place.to_owned()]);
        }
    }
    words.extend(["--bind".to_owned(), tree.clone(), tree.clone(), "--chdir".to_owned(), tree]);
    words.push("/bin/true".to_owned());
    vec![Runner { args: words, ..Runner::plain("bubblewrap: /bin/true", program, home) }]
}

/// The same command in nono, where the variable names its program: it stays beside the command (`run`), or becomes it (`wrap`).
fn nono(worktree: &Path, home: &Path) -> Vec<Runner> {
    let Some(program) = std::env::var_os("NONO").map(PathBuf::from) else {
        println!("no nono to compare with: `cargo install nono-cli`, and name the program in NONO");
        return Vec::new();
    };
    let runner = |how: &str| Runner {
        args: [how, "--silent", "--allow", &worktree.to_string_lossy(), "--", "/bin/true"]
            .map(str::to_owned)
            .into(),
        directory: worktree.to_owned(),
        ..Runner::plain(&format!("nono {how}: /bin/true"), &program, home)
    };
    ["run", "wrap"].map(runner).into()
}

fn report(runners: &[Runner], rounds: usize) {
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let at = |runner: &Runner, part: usize| micros(runner.times[(runner.times.len() - 1) * part / 100]);
    let (base, base_median) = (at(&runners[0], 0), at(&runners[0], 50));
    println!("{rounds} interleaved spawns each, microseconds; as many times `/bin/true` without a sandbox");
    println!("{:<40} {:>8} {:>8} {:>8}  {:>7} {:>9}", "", "min", "median", "p90", "x min", "x median");
    for runner in runners {
        println!(
            "{:<40} {:>8.0} {:>8.0} {:>8.0}  {:>7.2} {:>9.2}",
            runner.name,
            at(runner, 0),
            at(runner, 50),
            at(runner, 90),
            at(runner, 0) / base,
            at(runner, 50) / base_median,
        );
    }
}
