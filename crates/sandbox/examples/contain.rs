//! Runs a command that may read the system and write one directory:
//!
//! ```sh
//! cargo run -p toolgate-sandbox --example contain -- full /path/to/worktree /path/to/private make test
//! ```
//!
//! Options come first: `--read`, `--write`, `--close`, `--pin`, `--keep` and `--cache` each take a path and may be repeated, `--nested` a name,
//! `--start` the directory of a host's hooks,
//! `--repository` takes the shared git directory and the worktree's own directory in it, `--network` takes `none` or `all`.
//! `--seconds`, `--disk` (bytes) and `--processes` are limits.
//! `--report` takes a file for what became of the repository and the pins, one line each. `--landlock` takes a number, and has the rules made as for a kernel that knows no more than that.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use toolgate_sandbox::{
    Ended, Grant, Kernel, Level, Nested, Network, Outcome, Plan, Repository, Rights, run,
};

const SYSTEM: [&str; 9] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt", "/proc", "/sys"];

fn main() -> ExitCode {
    let mut kernel = Kernel::probe();
    let Some((plan, level, command, report)) = understand(std::env::args_os().skip(1), &mut kernel) else {
        eprintln!("contain [OPTION VALUE…]… LEVEL WORKTREE PRIVATE COMMAND…");
        return ExitCode::from(2);
    };
    match run(&plan, level, &kernel, &command) {
        Ok(outcome) => {
            if let Some(Err(error)) = report.map(|report| std::fs::write(report, lines(&outcome))) {
                eprintln!("{error}");
            }
            match outcome.status {
                Ended::Code(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
                Ended::Signal(signal) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)),
            }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(125)
        }
    }
}

fn understand(
    mut words: impl Iterator<Item = OsString>,
    kernel: &mut Kernel,
) -> Option<(Plan, Level, Vec<OsString>, Option<PathBuf>)> {
    let mut report = None;
    let mut nested: Vec<PathBuf> = Vec::new();
    let mut options = Plan::new("/", "/");
    options.grants = SYSTEM.map(|path| Grant::new(path, Rights::Read)).into();
    let level = loop {
        let word = words.next()?;
        match word.to_str()? {
            "full" => break Level::Full,
            "landlock" => break Level::Landlock,
            "--read" => options.grants.push(Grant::new(words.next()?, Rights::Read)),
            "--write" => options.grants.push(Grant::new(words.next()?, Rights::Write)),
            "--close" => options.grants.push(Grant::new(words.next()?, Rights::None)),
            "--report" => report = Some(words.next()?.into()),
            "--pin" => options.pinned.push(words.next()?.into()),
            "--nested" => nested.push(words.next()?.into()),
            "--keep" => options.kept.push(words.next()?.into()),
            "--unclosed" => options.unclosed.push(words.next()?.into()),
            "--start" => options.start = Some(words.next()?.into()),
            "--cache" => options.caches.push(words.next()?.into()),
            "--repository" => {
                let (common, own) = (words.next()?.into(), words.next()?.into());
                options.repository = Some(Repository { common, own });
            }
            "--seconds" => options.limits.wall_time = Some(Duration::from_secs(number(&words.next()?)?)),
            "--memory" => options.limits.memory = Some(number(&words.next()?)?),
            "--disk" => options.limits.disk = Some(number(&words.next()?)?),
            "--processes" => options.limits.processes = Some(number(&words.next()?)?),
            "--network" => {
                options.network = if words.next()? == "all" { Network::All } else { Network::None };
            }
            "--landlock" => {
                kernel.landlock = words.next()?.to_str()?.parse().ok()?;
                kernel.scopes &= kernel.landlock >= 6;
            }
            _ => return None,
        }
    };
    let mut plan = Plan::new(PathBuf::from(words.next()?), PathBuf::from(words.next()?));
    plan.grants.append(&mut options.grants);
    let Plan { pinned, kept, unclosed, start, caches, repository, network, limits, .. } = options;
    let environment = std::env::vars_os().collect();
    plan = Plan { pinned, kept, unclosed, start, caches, repository, network, limits, environment, ..plan };
    if !nested.is_empty() {
        let passed_over = vec!["node_modules".into()];
        plan.nested = Some(Nested { top: plan.directory.clone(), names: nested, passed_over });
    }
    Some((plan, level, words.collect(), report))
}

fn number(word: &OsStr) -> Option<u64> {
    word.to_str()?.parse().ok()
}

fn lines(outcome: &Outcome) -> String {
    let taken = &outcome.repository;
    let mut text = format!("objects: {}\npacks: {}\n", taken.objects, taken.packs);
    let none = || "none".to_owned();
    for moved in &taken.branches {
        let (from, to) = (moved.from.clone().unwrap_or_else(none), moved.to.clone().unwrap_or_else(none));
        let _ = writeln!(text, "branch: {} {from} {to}", moved.name);
    }
    for refused in &taken.refused {
        let _ = writeln!(text, "refused: {refused}");
    }
    if let Some(limit) = outcome.ended_by {
        let _ = writeln!(text, "ended by: {limit:?}");
    }
    for pin in &outcome.pins {
        let _ = writeln!(text, "pin: {pin}");
    }
    text
}
