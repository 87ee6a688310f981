//! Why a command that was read as harmless may not be: what no text says, and the machine does.
//!
//! Against whom: a contained program of an earlier call. It cannot leave its sandbox, so it leaves something that a later call runs
//! outside of one: a program under a name that `PATH` finds first, a module where `PYTHONPATH` leads, a file that it exchanges
//! between our look and the run.

use std::path::Path;

use toolgate_effects::{
    Analysis, Heeds, differs, heeds, is_heeded_elsewhere, is_heeded_everywhere, leaves_directories,
};
use toolgate_model::{
    Action, Call, Doubt, Effect, Gap, Json, Origin, Reach, Resolver, Run, Unknown, base_name, clean, shorten,
};
use toolgate_policies::Containable;

use crate::gather::Surroundings;
use crate::machine::Machine;

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
    if let Some((text, origin)) = endangers_start(call, surroundings, analysis) {
        doubts.push((Doubt::Start, text, origin.unwrap_or_else(whole)));
    }
    let look = Look { machine, surroundings };
    let runs: Vec<&Run> = analysis.effects.iter().filter_map(run_of).collect();
    // What nobody marked is a doubt already, whatever the environment says.
    let heeding = runs.iter().find(|run| heeds(&run.program) == Some(Heeds::Home));
    if let Some((name, place)) = look.first_loose(heeding.is_some()) {
        let origin = heeding.filter(|_| !is_heeded_everywhere(&name));
        let origin = origin.and_then(|run| run.origin.clone()).unwrap_or_else(whole);
        doubts.push((Doubt::Environment, format!("{name}={place}"), origin));
    }
    if let Some((run, place)) = look.found_in_loose_path(&runs) {
        let origin = run.origin.clone().unwrap_or_else(whole);
        doubts.push((Doubt::Environment, format!("PATH={place}"), origin));
    }
    let unknown =
        |(doubt, text, origin)| Effect::Unknown(Unknown::Shell { gap: Gap::Doubt(doubt), text, origin });
    analysis.effects.extend(doubts.into_iter().map(unknown));
}

/// What changes a whole tree in which the directory lies that the host starts its hooks in, where that is not the worktree's top: another
/// branch need not have it, an archive may close it, a search may delete it.
///
/// git keeps the directory that it is started in (since 2.35).
fn endangers_start(
    call: &Call<'_>,
    surroundings: &Surroundings,
    analysis: &Analysis,
) -> Option<(String, Option<Origin>)> {
    let places = &surroundings.session.places;
    let (start, root) = (places.start.as_ref()?, places.root.as_ref()?);
    if start.physical == root.physical {
        return None;
    }
    let directory = match &call.action {
        Action::Shell { directory: None, .. } if analysis.changes.is_empty() => call.cwd.as_deref(),
        _ => None,
    };
    let stands_there = directory.is_some_and(|cwd| start.holds(&clean(Path::new(cwd))));
    let holds_start = |path: &str| {
        let from = Path::new(call.cwd.as_deref().unwrap_or("/"));
        let path = clean(&from.join(path));
        start.physical.starts_with(&path) || start.lexical.starts_with(&path)
    };
    let runs: Vec<&Run> = analysis.effects.iter().filter_map(run_of).collect();
    let leaves_it =
        |run: &Run| (run.program == "git" && stands_there) || leaves_directories(&run.program, &run.sub);
    analysis.effects.iter().find_map(|effect| {
        let Effect::Use(access, target) = effect else { return None };
        let text = target.path.text();
        if !access.changes() || target.guess || target.reach != Reach::Below || !holds_start(text) {
            return None;
        }
        let run = runs.iter().find(|run| run.origin == target.origin);
        match run {
            Some(run) if leaves_it(run) => None,
            Some(run) => Some((shorten(&run.words.join(" "), 60), target.origin.clone())),
            None => Some((shorten(text, 60), target.origin.clone())),
        }
    })
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
    /// The first variable that leads to a place which contained programs can write, and that place: of those that every program heeds, and
    /// `for_settings` of all that may lead a program to settings.
    fn first_loose(&self, for_settings: bool) -> Option<(String, String)> {
        let variables = self.machine.variables();
        variables.into_iter().find_map(|(name, value)| {
            // What holds no slash leads nowhere, but for lists of directories.
            let (Some(name), value) = (name.to_str(), value.to_str()) else { return None };
            let Some(value) = value else { return Some((name.to_owned(), String::new())) };
            let is_elsewhere = value.contains("://") && !value.contains("file:");
            let may_lead = !value.is_empty() && !is_elsewhere && (value.contains('/') || is_list(name));
            let counts = || {
                is_heeded_everywhere(name) || (for_settings && name != "PATH" && !is_heeded_elsewhere(name))
            };
            if !may_lead || !counts() {
                return None;
            }
            let is_end = |letter: char| {
                matches!(letter, ':' | ';' | ',' | '=' | '"' | '\'' | '|') || letter.is_whitespace()
            };
            // A word with a slash in it is a path only where its variable is known to hold one: `linux/amd64`.
            let is_word =
                |place: &str| !place.starts_with(['/', '.']) && !is_list(name) && !is_heeded_everywhere(name);
            let mut places = value.split(is_end).filter(|place| !is_word(place));
            let place = places.find(|place| self.is_loose(place, is_list(name)))?;
            Some((name.to_owned(), place.to_owned()))
        })
    }

    /// The first program that its name may find in a directory which contained programs can write.
    fn found_in_loose_path<'r>(&self, runs: &[&'r Run]) -> Option<(&'r Run, String)> {
        let path = self.machine.variable("PATH")?;
        // What is not text names no directory that we know.
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
