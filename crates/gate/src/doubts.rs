//! Why a command that was read as harmless may not be: what no text says, and the machine does.
//!
//! Against whom: a contained program of an earlier call. It cannot leave its sandbox, so it leaves something that a later call runs
//! outside of one: a program under a name that `PATH` finds first, a module where `PYTHONPATH` leads, a file that it exchanges
//! between our look and the run.

use std::path::Path;

use toolgate_effects::{Analysis, differs};
use toolgate_model::{Call, Doubt, Effect, Gap, Json, Origin, Resolver, Run, Unknown, base_name, shorten};
use toolgate_policies::Containable;

use crate::gather::Surroundings;
use crate::machine::Machine;

/// Variables that every program heeds, or every shell.
const EVERYWHERE: &[&str] = &[
    "LD_PRELOAD",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "GCONV_PATH",
    "LOCPATH",
    "BASH_ENV",
    "ENV",
    "ZDOTDIR",
    "XDG_CONFIG_HOME",
];

/// Variables that lead git and its kin to programs, settings and repositories.
const OF_GIT: &[&str] = &[
    "GIT_DIR",
    "GIT_COMMON_DIR",
    "GIT_WORK_TREE",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_EXTERNAL_DIFF",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_PROXY_COMMAND",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_PAGER",
    "PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "LESSOPEN",
    "LESSCLOSE",
    "LESSKEY",
    "LESSKEYIN",
];

/// Variables that lead interpreters and compilers to code.
const OF_LANGUAGES: &[&str] = &[
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONPLATLIBDIR",
    "NODE_PATH",
    "NODE_OPTIONS",
    "PERL5LIB",
    "PERLLIB",
    "PERL5OPT",
    "RUBYLIB",
    "RUBYOPT",
    "GEM_HOME",
    "GEM_PATH",
    "BUNDLE_GEMFILE",
    "LUA_PATH",
    "LUA_CPATH",
    "LUA_INIT",
    "PHP_INI_SCAN_DIR",
    "PHPRC",
    "AWKPATH",
    "AWKLIBPATH",
    "OPENSSL_CONF",
    "OPENSSL_MODULES",
    "OPENSSL_ENGINES",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "CLASSPATH",
    "RUSTC_WRAPPER",
    "RUSTC",
    "RUSTFLAGS",
    "RUSTUP_HOME",
    "CARGO_HOME",
    "GCC_EXEC_PREFIX",
    "COMPILER_PATH",
    "RIPGREP_CONFIG_PATH",
    "CURL_HOME",
    "WGETRC",
    "INPUTRC",
    "npm_config_userconfig",
    "npm_config_globalconfig",
];

/// Programs that are neither interpreters nor start one.
const NATIVE: &[&str] = &[
    "[",
    "basename",
    "cat",
    "cd",
    "chmod",
    "cmp",
    "comm",
    "cp",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "env",
    "expr",
    "false",
    "file",
    "find",
    "grep",
    "head",
    "hostname",
    "id",
    "join",
    "kill",
    "ln",
    "ls",
    "md5sum",
    "mkdir",
    "mktemp",
    "mv",
    "nl",
    "od",
    "paste",
    "printf",
    "ps",
    "pwd",
    "readlink",
    "realpath",
    "rm",
    "rmdir",
    "sed",
    "seq",
    "sha1sum",
    "sha256sum",
    "sleep",
    "sort",
    "stat",
    "tac",
    "tail",
    "tee",
    "test",
    "touch",
    "tr",
    "true",
    "tree",
    "uname",
    "uniq",
    "uptime",
    "wc",
    "which",
    "whoami",
    "xxd",
];

/// Programs that load no code by the variables of languages.
const NO_LANGUAGE: &[&str] = &["git", "gh", "ssh", "scp", "jq", "tar", "gzip", "less"];

/// Directories of the system, which no contained program writes.
const SYSTEM: &[&str] =
    &["/usr/", "/bin/", "/sbin/", "/opt/", "/snap/", "/nix/", "/lib/", "/lib64/", "/etc/"];

/// Adds what makes this command doubtful besides its own text.
pub(crate) fn add_doubts(
    machine: &dyn Machine,
    call: &Call<'_>,
    surroundings: &Surroundings,
    command: &str,
    analysis: &mut Analysis,
) {
    if surroundings.containable != Containable::Yes {
        return;
    }
    let end = u32::try_from(command.len()).unwrap_or(u32::MAX);
    let whole = || Origin { span: (0, end), via: None };
    let mut doubts: Vec<(Doubt, String, Origin)> = Vec::new();
    if surroundings.is_any_alive && !is_ours_alone(analysis) {
        doubts.push((Doubt::Background, shorten(command, 60), whole()));
    }
    if matches!(call.input.get("tty"), Some(Json::Bool(true))) {
        doubts.push((Doubt::Terminal, shorten(command, 60), whole()));
    }
    if let Some(shell) = shell_of(machine, call).filter(|shell| differs(shell, command)) {
        doubts.push((Doubt::OtherShell, shell, whole()));
    }
    let look = Look { machine, surroundings };
    let runs: Vec<&Run> = analysis.effects.iter().filter_map(run_of).collect();
    if let Some((name, place)) = look.first_loose(EVERYWHERE) {
        doubts.push((Doubt::Environment, format!("{name}={place}"), whole()));
    }
    let others = || runs.iter().filter(|run| !NATIVE.contains(&run.program.as_str()));
    for (names, run) in [
        (OF_GIT, others().next()),
        (OF_LANGUAGES, others().find(|run| !NO_LANGUAGE.contains(&run.program.as_str()))),
    ] {
        if let Some(run) = run
            && let Some((name, place)) = look.first_loose(names)
        {
            let origin = run.origin.clone().unwrap_or_else(whole);
            doubts.push((Doubt::Environment, format!("{name}={place}"), origin));
        }
    }
    if let Some((run, place)) = look.found_in_loose_path(&runs) {
        let origin = run.origin.clone().unwrap_or_else(whole);
        doubts.push((Doubt::Environment, format!("PATH={place}"), origin));
    }
    let unknown =
        |(doubt, text, origin)| Effect::Unknown(Unknown::Shell { gap: Gap::Doubt(doubt), text, origin });
    analysis.effects.extend(doubts.into_iter().map(unknown));
}

/// The shell that runs the command, where it is none of bash's kind: the one that the call names (Codex), or the person's own, where the host
/// takes that.
fn shell_of(machine: &dyn Machine, call: &Call<'_>) -> Option<String> {
    const OWN: [&str; 3] = ["claude-code", "codex", "opencode"];
    let named = call.input.get("shell").and_then(Json::text).map(|shell| base_name(shell).to_owned());
    let own = || {
        let shell = machine.variable("SHELL").filter(|_| OWN.contains(&call.host))?;
        let shell = base_name(shell.to_str()?).to_owned();
        // Hosts that cannot speak a shell's language take another one.
        matches!(shell.as_str(), "zsh" | "sh" | "dash" | "ash" | "ksh" | "mksh").then_some(shell)
    };
    named.or_else(own)
}

fn run_of<'e>(effect: &'e Effect<'_>) -> Option<&'e Run> {
    match effect {
        Effect::Run(run) => Some(run),
        Effect::Use(..) | Effect::Connect | Effect::Unknown(_) => None,
    }
}

/// Whether a command is one of ours and nothing else: it would not find our state in a sandbox.
fn is_ours_alone(analysis: &Analysis) -> bool {
    let mut has_run = false;
    let is_ours = analysis.effects.iter().all(|effect| match effect {
        Effect::Run(run) => {
            has_run = true;
            run.program == "toolgate"
        }
        Effect::Use(..) => false,
        Effect::Connect | Effect::Unknown(_) => true,
    });
    has_run && is_ours
}

struct Look<'l> {
    machine: &'l dyn Machine,
    surroundings: &'l Surroundings,
}

impl Look<'_> {
    /// The first of these variables that leads to a place which contained programs can write, and that place.
    fn first_loose(&self, names: &[&'static str]) -> Option<(&'static str, String)> {
        names.iter().find_map(|name| {
            let value = self.machine.variable(name)?;
            let Some(value) = value.to_str() else { return Some((*name, String::new())) };
            let is_end = |letter: char| {
                matches!(letter, ':' | ';' | ',' | '=' | '"' | '\'' | '|') || letter.is_whitespace()
            };
            let place = value.split(is_end).find(|place| self.is_loose(place, is_list(name)))?;
            Some((*name, place.to_owned()))
        })
    }

    /// The first program that its name may find in a directory which contained programs can write.
    fn found_in_loose_path<'r>(&self, runs: &[&'r Run]) -> Option<(&'r Run, String)> {
        let path = self.machine.variable("PATH")?;
        // What is no text names no directory that we know.
        let path = path.to_str()?;
        let directories: Vec<(&str, bool)> =
            path.split(':').map(|place| (place, place.is_empty() || self.is_loose(place, true))).collect();
        if directories.iter().all(|(_, is_loose)| !is_loose) {
            return None;
        }
        let is_there =
            |place: &str, name: &str| self.machine.world().look(&Path::new(place).join(name)).is_ok();
        runs.iter().find_map(|run| {
            let name = run.words.first()?;
            if name.contains('/') {
                return None;
            }
            let first = directories.iter().find(|(place, is_loose)| *is_loose || is_there(place, name))?;
            first.1.then(|| (*run, first.0.to_owned()))
        })
    }

    /// Whether contained programs can write there. A relative name leads to wherever a command stands, and that is the worktree.
    fn is_loose(&self, place: &str, is_list: bool) -> bool {
        if place.is_empty() || place.starts_with('~') || SYSTEM.iter().any(|system| place.starts_with(system))
        {
            return place.contains("/../");
        }
        // It is how people say "none", and it holds nothing.
        if place == "/dev/null" {
            return false;
        }
        if !place.starts_with('/') {
            return is_list || place.contains('/');
        }
        let home = self.surroundings.session.places.home.as_ref();
        let resolver = Resolver::new(self.machine.world(), None, home.map(|home| home.lexical.as_path()));
        let Ok(found) = resolver.resolve_name(place) else { return true };
        self.surroundings.layers().any(|(layer, places)| layer.lets_write(&found.physical, places))
    }
}

/// Whether a variable is a list of directories, or names one.
fn is_list(name: &str) -> bool {
    name.ends_with("PATH") || name.ends_with("_DIR") || name.ends_with("LIB") || name.ends_with("HOME")
}
