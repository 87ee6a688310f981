//! `toolgate exec`: a command in the sandbox that a call in this place would get. In both programs: the small one starts in a
//! fraction of the time, and hands over what it cannot do.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use toolgate_gate::contain::{Contained, Kept, contained};
use toolgate_gate::counter::SessionCounter;
use toolgate_gate::failure::Failure;
use toolgate_gate::gather::gather;
use toolgate_gate::line::NeedsSetup;
use toolgate_gate::machine::{Setup, ThisMachine};
use toolgate_gate::options::HookOptions;
use toolgate_gate::process;
use toolgate_hosts::{host, tools_like};
use toolgate_model::{Call, Json};
use toolgate_policies::{NetworkMode, explain_denied};
use toolgate_sandbox::{CONTAINED, Ended, Level, Network, Outcome, run};

use crate::egress::Egress;
use crate::launcher::{advise_on_git, advise_on_limits, complain, contain, ended, refused};
use crate::seatbelt::run_by_seatbelt;

/// What `toolgate exec` was asked for.
#[derive(Debug)]
pub struct Exec {
    /// How much has to be enforced; without it the most that this kernel gives, and no less than the settings require.
    pub level: Option<Level>,
    /// What may be reached over the network; without it what the settings say.
    pub network: Option<Network>,
    /// Whose rules they are.
    pub options: HookOptions,
    /// The command and its words.
    pub command: Vec<OsString>,
}

/// Why there is no plan.
pub(crate) enum NoPlan {
    NeedsSetup,
    Because(String),
}

impl From<String> for NoPlan {
    fn from(why: String) -> NoPlan {
        NoPlan::Because(why)
    }
}

impl Exec {
    /// Reads the arguments of this process, `exec` being the first. `None`: they are for the command line to read, which knows more
    /// forms of them, and says what is wrong.
    pub fn of_arguments() -> Option<Exec> {
        Exec::parse(process::words().skip(1))
    }

    fn parse(mut words: impl Iterator<Item = OsString>) -> Option<Exec> {
        words.next().filter(|word| word == "exec")?;
        let (mut level, mut network) = (None, None);
        let mut others: Vec<(OsString, OsString)> = Vec::new();
        loop {
            let name = words.next()?;
            if name == "--" {
                break;
            }
            let value = words.next()?;
            match name.to_str()? {
                "--level" if level.is_none() => level = Some(level_of(&value)?),
                "--network" if network.is_none() => network = Some(network_of(&value)?),
                "--level" | "--network" => return None,
                _ if others.iter().any(|(known, _)| *known == name) => return None,
                _ => others.push((name, value)),
            }
        }
        let command: Vec<OsString> = words.collect();
        let pairs = others.into_iter().flat_map(|(name, value)| [name, value]);
        let options = HookOptions::parse(&ThisMachine::new(None), pairs).ok()?;
        (!command.is_empty()).then_some(Exec { level, network, options, command })
    }

    /// Runs the command and ends as it has. `setup` is what only the whole program can do.
    pub fn run(self, setup: Option<&'static dyn Setup>) -> Result<ExitCode, NeedsSetup> {
        let mut made = match planned(self.options, self.network, setup) {
            Ok(made) => made,
            Err(NoPlan::NeedsSetup) => return Err(NeedsSetup),
            Err(NoPlan::Because(why)) => return Ok(refused(&why)),
        };
        if let Some(code) = run_by_seatbelt(&made, self.level, false, &self.command) {
            return Ok(code);
        }
        let mut egress = match Egress::open(&mut made.plan, &made.terms, None) {
            Ok(egress) => egress,
            Err(why) => return Ok(refused(&why)),
        };
        let outcome =
            contain(made.require, self.level, |level, kernel| run(&made.plan, level, &kernel, &self.command));
        if let Ok(outcome) = &outcome {
            advise_on_git(&made.plan, outcome, &self.command);
            advise_on_limits(&made.plan, outcome);
        }
        tell_refused(egress.as_mut());
        advise(outcome.as_ref().ok());
        Ok(ended(&made.plan, outcome, &self.command))
    }
}

/// Says which hosts the list has refused.
pub(crate) fn tell_refused(egress: Option<&mut Egress>) {
    let refused = egress.map(Egress::refused).unwrap_or_default();
    if !refused.is_empty() {
        complain(&explain_denied(&refused));
    }
}

/// Tells a person at a terminal how to ask why a command failed. Hosts read what a command writes, and are not told.
pub(crate) fn advise(outcome: Option<&Outcome>) {
    if outcome.is_some_and(|outcome| outcome.status != Ended::Code(0)) && io::stderr().is_terminal() {
        complain("run it with --explain to see what the sandbox refused");
    }
}

/// Whether this process is contained itself. The variable alone says nothing, since anybody can set it: inside, no new rights can be
/// got, and our state is out of reach.
fn is_inside(state: &Path) -> bool {
    std::env::var_os(CONTAINED).is_some() && has_no_new_privileges() && std::fs::read_dir(state).is_err()
}

#[cfg(target_os = "linux")]
fn has_no_new_privileges() -> bool {
    rustix::thread::no_new_privs().unwrap_or(false)
}

/// Nothing here tells a contained process from another.
#[cfg(not(target_os = "linux"))]
fn has_no_new_privileges() -> bool {
    false
}

/// The plan for a command that is started here, with the network as it was asked for.
pub(crate) fn planned(
    mut options: HookOptions,
    network: Option<Network>,
    setup: Option<&'static dyn Setup>,
) -> Result<Contained, NoPlan> {
    let is_inside = is_inside(&options.dirs.state);
    if is_inside {
        // Our own state is out of reach here, and whatever is planned, the kernel only tightens.
        options.dirs.state = std::env::temp_dir().join("toolgate");
    }
    let directory = std::env::current_dir().map_err(|error| format!("the current directory: {error}"))?;
    let host = host("claude-code").ok_or_else(|| "there is no host".to_owned())?;
    let input = Json::Object(vec![(Cow::Borrowed("command"), Json::Text(Cow::Borrowed("")))]);
    let action = tools_like(host.id()).action("Bash", &input);
    let mut call = Call::before(host.id(), "Bash", input, action);
    call.cwd = Some(directory.to_string_lossy().into_owned().into());
    let machine = ThisMachine::new(setup).without_variables(&["CLAUDE_PROJECT_DIR"]).unjudged();
    let mut counter = SessionCounter::looking(&options.dirs.state, &call);
    let surroundings =
        gather(&machine, host, &options, &call, &mut counter).map_err(|failure| match failure {
            Failure::NeedsSetup => NoPlan::NeedsSetup,
            failure => NoPlan::Because(failure.to_string()),
        })?;
    // INVARIANT: inside, what is kept between commands can be written by all of them, so nothing kept is read.
    let kept = if is_inside { Kept::Ignore } else { Kept::Read };
    let variables = std::env::vars_os();
    let mut made =
        contained(&machine, &options.dirs, &surroundings, &call.agent, kept, directory, variables)?;
    if is_inside {
        // Whoever contains us looks after both. Here they may not even be seen.
        made.plan.repository = None;
        made.plan.pinned.clear();
        made.plan.nested = None;
        made.plan.kept.clear();
        // The network that is there is the outer sandbox's, which leads to its own list.
        if made.plan.network == Network::Listed {
            made.plan.network = Network::All;
            made.require = Level::Landlock;
        }
    }
    match network {
        Some(Network::None) => {
            made.plan.network = Network::None;
            made.terms.network = NetworkMode::None;
        }
        Some(Network::All) if made.plan.network == Network::None => {
            return Err("the settings allow no network ([network] mode)".to_owned().into());
        }
        Some(Network::All) if made.plan.network == Network::Listed => {
            return Err("the settings allow only the hosts that they list ([network] mode)"
                .to_owned()
                .into());
        }
        Some(Network::All | Network::Listed) | None => {}
    }
    Ok(made)
}

fn level_of(word: &OsStr) -> Option<Level> {
    [Level::Landlock, Level::Full].into_iter().find(|level| word == level.word())
}

fn network_of(word: &OsStr) -> Option<Network> {
    match word.to_str()? {
        "none" => Some(Network::None),
        "all" => Some(Network::All),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Option<Exec> {
        Exec::parse(words.iter().map(OsString::from))
    }

    #[test]
    fn plain_arguments_are_read_and_all_others_left_to_the_command_line() {
        let exec =
            parse(&["exec", "--home", "/home/u", "--level", "full", "--network", "none", "--", "a", "--"]);
        let exec = exec.unwrap();
        assert_eq!((exec.level, exec.network), (Some(Level::Full), Some(Network::None)));
        assert_eq!(exec.command, ["a", "--"]);
        assert!(exec.options.dirs.state.starts_with("/home/u"));
        for words in [
            &["exec", "--help"][..],
            &["exec", "a"],
            &["exec", "--home", "/h", "--"],
            &["exec", "--home", "/h", "--level", "most", "--", "a"],
            &["exec", "--home", "/h", "--level", "full", "--level", "landlock", "--", "a"],
            &["exec", "--home", "/h", "--level=full", "--", "a"],
            &["exec", "--home", "/h", "--root", "relative", "--", "a"],
            &["exec", "--home", "/h", "--home", "/g", "--", "a"],
            &["exec", "--unknown", "x", "--", "a"],
            &["hook", "claude-code", "--", "a"],
        ] {
            assert!(parse(words).is_none(), "{words:?}");
        }
    }
}
