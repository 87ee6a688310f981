//! Level `seatbelt`, for macOS: the profile that `sandbox-exec` takes, made from the same [`Plan`], and the command run by it. Untested: the
//! text is checked, and nobody has run it on a Mac yet.
//!
//! A profile is a list of rules, and the last one that fits decides. So rules go from the top of the tree down, and what must not change
//! comes at the end. Unlike Landlock, a rule holds for names that do not exist yet: a pinned name cannot be made.
//!
//! Volumes of a Mac usually fold case, and a name that is made there is spelt as the command likes. So names that must not
//! appear are matched in either case.
//!
//! What it does not have: layers for caches and for the repository, so a command reads both and writes neither; limits other than the
//! time; an own view of processes. A plan that asks for such a limit is refused.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::compiled::CompiledPlan;
use crate::names::above;
use crate::outcome::{CONTAINED, Ended, Error};
use crate::plan::{Grant, Limits, Network, Plan, Rights};

/// The word for this level.
pub const LEVEL: &str = "seatbelt";
/// The program that runs a command by a profile. By its path: another one of this name would contain nothing.
const PROGRAM: &str = "/usr/bin/sandbox-exec";
/// So often it is looked whether the time is over.
const INTERVAL: Duration = Duration::from_millis(50);

/// What every program needs before it comes to its own code.
const BASE: &str = "(version 1)
(deny default)
(allow process-exec* process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* (literal \"/\"))
(allow file-read* file-write-data file-ioctl (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\"))
(allow file-read* (literal \"/dev/random\") (literal \"/dev/urandom\") (literal \"/dev/dtracehelper\"))
(allow file-read* file-write-data (subpath \"/dev/fd\"))
(allow file-read* file-write-data file-ioctl (regex #\"^/dev/ttys[0-9]+$\"))
(allow file-read* (subpath \"/System\") (subpath \"/usr/lib\") (subpath \"/usr/share\") (subpath \"/Library/Apple\"))
(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\") (global-name \"com.apple.system.notification_center\"))
(allow ipc-posix-sem)
";

/// What a program needs to reach other machines.
const NETWORK: &str = "(allow network* system-socket)
(allow mach-lookup (global-name \"com.apple.SystemConfiguration.configd\") (global-name \"com.apple.trustd.agent\"))
";

/// Runs a command by a plan and waits for its end. Only on macOS: elsewhere there is no such program.
pub fn run(plan: &Plan, command: &[OsString]) -> Result<Ended, Error> {
    let profile = profile(plan)?;
    if !cfg!(target_os = "macos") {
        return Err(Error::Plan("level seatbelt is for macOS".to_owned()));
    }
    let own_caches = plan.own_caches();
    for own in [plan.temporary()].into_iter().chain(own_caches.clone()) {
        std::fs::create_dir_all(own)?;
    }
    for made in &plan.made {
        // What stands there already has rights by the plan.
        let _ = std::fs::create_dir(made);
    }
    let mut child = Command::new(PROGRAM);
    child.arg("-p").arg(profile).args(command).current_dir(&plan.directory).env_clear();
    child.envs(plan.environment.iter().map(|(name, value)| (name, value)));
    child.envs(plan.cache_variables.iter().zip(own_caches.iter().cycle()));
    child.env("TMPDIR", plan.temporary()).env(CONTAINED, LEVEL);
    let mut child = child.spawn().map_err(Error::Start)?;
    let started = Instant::now();
    let status = loop {
        match plan.limits.wall_time {
            None => break child.wait()?,
            Some(most) if started.elapsed() >= most => {
                child.kill()?;
                break child.wait()?;
            }
            Some(_) => {
                if let Some(status) = child.try_wait()? {
                    break status;
                }
                thread::sleep(INTERVAL);
            }
        }
    };
    Ok(status.signal().map_or_else(|| Ended::Code(status.code().unwrap_or(1)), Ended::Signal))
}

/// The profile of a plan. A path that cannot be written in one is an error, and so is a limit that cannot be kept.
pub fn profile(plan: &Plan) -> Result<String, Error> {
    refuse_limits(&plan.limits)?;
    let mut plan = plan.clone();
    let kept = plan.kept.iter().map(|path| Grant::new(path, Rights::Read));
    plan.grants.extend(kept.collect::<Vec<_>>());
    let caches = plan.caches.iter().map(|path| Grant::new(path, Rights::Read));
    plan.grants.extend(caches.collect::<Vec<_>>());
    let plan = CompiledPlan::of(plan);
    if plan.rights_at(&plan.private) == Rights::Write {
        let told =
            format!("{} belongs to toolgate, and may not lie in a writable place", plan.private.display());
        return Err(Error::Plan(told));
    }
    let mut text = BASE.to_owned();
    if plan.network == Network::All {
        text.push_str(NETWORK);
    }
    // Sorted by name: what a path lies in comes before it.
    for Grant { path, rights } in &plan.grants {
        let place = subpath(path)?;
        let _ = match rights {
            Rights::None => writeln!(text, "(deny file-read* file-write* {place})"),
            Rights::Read => writeln!(text, "(allow file-read* {place})\n(deny file-write* {place})"),
            Rights::Write => writeln!(text, "(allow file-read* file-write* {place})"),
        };
    }
    // Ours: closed, but for what is made for the command.
    let _ = writeln!(text, "(deny file-read* file-write* {})", subpath(&plan.private)?);
    for own in [plan.temporary()].into_iter().chain(plan.own_caches()) {
        let _ = writeln!(text, "(allow file-read* file-write* {})", subpath(&own)?);
    }
    if let Some(repository) = &plan.repository {
        for place in [&repository.common, &repository.own] {
            let _ = writeln!(text, "(allow file-read* {0})\n(deny file-write* {0})", subpath(place)?);
        }
    }
    for pinned in &plan.pinned {
        let _ = writeln!(text, "(deny file-write* (regex #\"^{}(/|$)\"))", either_case(pinned)?);
        // A directory above it could be moved away with it.
        for above in above(pinned).filter(|above| plan.rights_at(above) == Rights::Write) {
            let _ = writeln!(text, "(deny file-write-unlink (regex #\"^{}$\"))", either_case(above)?);
        }
    }
    if let Some(nested) = &plan.nested {
        let top = either_case(&nested.top)?;
        for name in &nested.names {
            let _ =
                writeln!(text, "(deny file-write* (regex #\"^{top}/(.*/)?{}(/|$)\"))", either_case(name)?);
        }
    }
    Ok(text)
}

fn refuse_limits(limits: &Limits) -> Result<(), Error> {
    let Limits { wall_time: _, processes, memory, file_size, disk } = limits;
    let asked = [(processes, "processes"), (memory, "memory"), (file_size, "file-size"), (disk, "disk")];
    match asked.iter().find(|(limit, _)| limit.is_some()) {
        Some((_, name)) => Err(Error::Plan(format!(
            "level seatbelt cannot keep the limit `{name}`; leave it out of [containment]"
        ))),
        None => Ok(()),
    }
}

/// A path and all below it.
fn subpath(path: &Path) -> Result<String, Error> {
    Ok(format!("(subpath \"{}\")", plain(path)?.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// A regular expression for a path in which every letter may be large or small.
fn either_case(path: &Path) -> Result<String, Error> {
    let mut pattern = String::new();
    for letter in plain(path)?.chars() {
        let (small, large) = (letter.to_lowercase().to_string(), letter.to_uppercase().to_string());
        let _ = match letter {
            '"' => return Err(unwritable(path)),
            _ if small != large && small.chars().count() == 1 && large.chars().count() == 1 => {
                write!(pattern, "[{small}{large}]")
            }
            _ if letter.is_alphanumeric() || matches!(letter, '/' | '-' | '_' | ' ') => {
                write!(pattern, "{letter}")
            }
            _ => write!(pattern, "\\{letter}"),
        };
    }
    Ok(pattern)
}

fn plain(path: &Path) -> Result<&str, Error> {
    path.to_str().filter(|text| !text.contains(char::is_control)).ok_or_else(|| unwritable(path))
}

fn unwritable(path: &Path) -> Error {
    Error::Plan(format!("{} cannot be named in a profile of Seatbelt; rename it", path.display()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::names::is_below;
    use crate::plan::{Nested, Repository};

    /// Whether a profile lets a path be written: the last rule that fits decides.
    fn lets_write(profile: &str, path: &str) -> bool {
        let mut lets = false;
        for line in profile.lines().filter(|line| line.contains("file-write*")) {
            let named = line.split("(subpath \"").skip(1).filter_map(|rest| rest.split('"').next());
            if named.into_iter().any(|place| is_below(Path::new(path), Path::new(place))) {
                lets = line.starts_with("(allow");
            }
        }
        lets
    }

    fn worktree() -> Plan {
        let mut plan = Plan::new("/Users/me/wt", "/Users/me/state/p");
        plan.grants.extend([
            Grant::new("/usr", Rights::Read),
            Grant::new("/Users/me/wt/logs", Rights::Read),
            Grant::new("/Users/me/.ssh", Rights::None),
            Grant::new("/Users/me", Rights::Read),
        ]);
        plan
    }

    #[test]
    fn a_profile_says_what_a_plan_says() {
        let text = profile(&worktree()).unwrap();
        assert!(text.starts_with("(version 1)\n(deny default)\n"), "{text}");
        for (path, written) in [
            ("/Users/me/wt/src/a", true),
            ("/Users/me/wt/logs/1", false),
            ("/Users/me/notes", false),
            ("/Users/me/.ssh/id", false),
            ("/usr/bin/x", false),
            ("/etc/hosts", false),
            ("/Users/me/state/p/tmp/x", true),
            ("/Users/me/state/p/x", false),
        ] {
            assert_eq!(lets_write(&text, path), written, "{path}\n{text}");
        }
        assert!(text.contains("(deny file-read* file-write* (subpath \"/Users/me/.ssh\"))"), "{text}");
        let place = |line: &str| text.lines().position(|known| known == line).unwrap();
        assert!(
            place("(allow file-read* (subpath \"/Users/me\"))")
                < place("(allow file-read* file-write* (subpath \"/Users/me/wt\"))"),
            "{text}"
        );
    }

    #[test]
    fn the_network_is_closed_unless_the_plan_opens_it() {
        let mut plan = worktree();
        assert!(!profile(&plan).unwrap().contains("network"));
        plan.network = Network::All;
        assert!(profile(&plan).unwrap().contains("(allow network* system-socket)"));
    }

    #[test]
    fn pinned_names_cannot_be_made_in_any_case() {
        let mut plan = worktree();
        plan.pinned.push("/Users/me/wt/.claude/x.json".into());
        plan.nested = Some(Nested {
            top: "/Users/me/wt".into(),
            names: vec![PathBuf::from("AGENTS.md")],
            passed_over: Vec::new(),
        });
        let text = profile(&plan).unwrap();
        let wt = "/[uU][sS][eE][rR][sS]/[mM][eE]/[wW][tT]";
        let claude = format!("{wt}/\\.[cC][lL][aA][uU][dD][eE]");
        let pinned = format!("(deny file-write* (regex #\"^{claude}/[xX]\\.[jJ][sS][oO][nN](/|$)\"))");
        assert!(text.contains(&pinned), "{text}");
        assert!(text.contains(&format!("(deny file-write-unlink (regex #\"^{claude}$\"))")), "{text}");
        assert!(text.contains(&format!("^{wt}/(.*/)?[aA][gG][eE][nN][tT][sS]\\.[mM][dD](/|$)")), "{text}");
        let last_grant = text.rfind("(subpath").unwrap();
        assert!(text.find(&pinned).unwrap() > last_grant, "what must not change comes at the end: {text}");
    }

    #[test]
    fn the_repository_is_read_and_never_written() {
        let mut plan = worktree();
        let common = PathBuf::from("/Users/me/wt/.git");
        plan.repository = Some(Repository { own: common.clone(), common });
        let text = profile(&plan).unwrap();
        assert!(!lets_write(&text, "/Users/me/wt/.git/config"), "{text}");
    }

    #[test]
    fn what_cannot_be_said_or_kept_is_refused() {
        let mut plan = worktree();
        plan.grants.push(Grant::new("/Users/me/a\nb", Rights::Write));
        assert!(profile(&plan).is_err());
        let mut plan = worktree();
        plan.grants.push(Grant::new("/Users/me/say \"x\" \\", Rights::Write));
        assert!(profile(&plan).unwrap().contains(r#"(subpath "/Users/me/say \"x\" \\")"#));
        let mut plan = worktree();
        plan.limits.memory = Some(1);
        assert!(profile(&plan).unwrap_err().to_string().contains("`memory`"));
        let plan = Plan::new("/Users/me/wt", "/Users/me/wt/state");
        assert!(profile(&plan).is_err(), "our own directory in a writable place");
        #[cfg(not(target_os = "macos"))]
        assert!(run(&worktree(), &["true".into()]).unwrap_err().to_string().contains("for macOS"));
    }
}
