//! `toolgate init`, `uninstall` and `doctor`.
//!
//! Without `--host` they are about every host that is there: init about the installed ones, uninstall about those on
//! the note, doctor about both.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::people::{Loosened, confirmed, record_agreed, required_at};
use super::{LineArgs, Out, team_rules};
use toolgate_gate::dirs::Dirs;
use toolgate_gate::disk::Disk;
use toolgate_gate::git;
use toolgate_model::Require;
use toolgate_setup::apart::{SEALER, System};
use toolgate_setup::approval::password;
use toolgate_setup::doctor::{self, Subject};
use toolgate_setup::person::below_agent;
use toolgate_setup::register::{
    self, Change, HostPlaces, Plan, REGISTRARS, RegisterError, Registrar, Registrations, registrar,
};

/// The hosts that have nothing to register: what people call them, and what to do instead.
const NOTHING_TO_REGISTER: &[(&str, &str, &str)] = &[
    (
        "generic",
        "A program of your own; nothing to register",
        "start `toolgate serve generic` beside your program and ask it before every tool call",
    ),
    (
        "copilot-sdk",
        "GitHub Copilot SDK; nothing to register",
        "give the hooks of the package `@toolgate/copilot-sdk` to `createSession` in your program",
    ),
    (
        "mpm",
        "Claude MPM; nothing to register",
        "have its hook handler start `toolgate hook mpm` for every event",
    ),
];

/// The hosts that can be named.
fn host_names() -> PossibleValuesParser {
    let registered = REGISTRARS.iter().map(|host| (host.id(), host.name()));
    let others = NOTHING_TO_REGISTER.iter().map(|(id, name, _)| (*id, *name));
    PossibleValuesParser::new(registered.chain(others).map(|(id, name)| PossibleValue::new(id).help(name)))
}

/// The host of this name, or what to do instead of registering.
fn host_named(id: &str) -> Result<&'static dyn Registrar, String> {
    registrar(id).ok_or_else(|| {
        let instead = NOTHING_TO_REGISTER.iter().find(|(other, ..)| *other == id);
        let instead =
            instead.map_or("have it start `toolgate hook` for every event", |(_, _, instead)| *instead);
        format!("{id} has no settings to register in: {instead}")
    })
}

/// Whose settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scope {
    /// Your own, for all projects
    User,
    /// The project's, shared through the repository
    Project,
    /// Your own, for this checkout of the project
    Local,
    /// The administrator's, which no repository and no agent can switch off
    Managed,
}

#[derive(Debug, Args)]
struct Where {
    /// The host; can be given several times [default: the hosts that are installed]
    #[arg(long, value_parser = host_names())]
    host: Vec<String>,
    /// Whose settings [default: user]
    #[arg(long, value_enum)]
    scope: Option<Scope>,
    /// The same as `--scope managed`
    #[arg(long, conflicts_with = "scope")]
    managed: bool,
    /// The directory to use as /etc
    #[arg(long, hide = true, default_value = "/etc")]
    etc: PathBuf,
    #[command(flatten)]
    line: LineArgs,
}

impl Where {
    /// The scope, where one was named.
    fn scope(&self) -> Option<register::Scope> {
        match self.scope {
            _ if self.managed => Some(register::Scope::Managed),
            None => None,
            Some(Scope::User) => Some(register::Scope::User),
            Some(Scope::Project) => Some(register::Scope::Project),
            Some(Scope::Local) => Some(register::Scope::Local),
            Some(Scope::Managed) => Some(register::Scope::Managed),
        }
    }

    /// The project is the worktree that the person stands in: a linked one has settings of its own.
    fn places(&self) -> Result<HostPlaces, String> {
        let dirs = self.line.dirs()?;
        let here = std::env::current_dir().map_err(|error| error.to_string())?;
        let project = git::layout(&Disk::default(), &here, Some(&dirs.home)).top;
        Ok(HostPlaces::new(&dirs.home, Some(&project), &self.etc, |name| std::env::var_os(name)))
    }

    /// The hosts that were named, each once.
    fn named(&self) -> Result<Vec<&'static dyn Registrar>, String> {
        let mut hosts: Vec<&'static dyn Registrar> = Vec::new();
        for name in &self.host {
            let host = host_named(name)?;
            if !hosts.iter().any(|other| other.id() == host.id()) {
                hosts.push(host);
            }
        }
        Ok(hosts)
    }

    fn line(&self) -> Result<register::HookLine, String> {
        let options = self.line.options()?;
        Ok(register::HookLine {
            binary: super::hook_binary()?,
            dirs: options.dirs,
            everybody: self.scope() == Some(register::Scope::Managed) && self.line.home.is_none(),
            profile: options.profile,
            agent: options.session.agent,
            role: options.session.role,
            phase: options.session.phase,
            root: options.session.root,
        })
    }
}

/// Register with the hosts that are there; shows what changes first
#[derive(Debug, Args)]
pub(super) struct Init {
    #[command(flatten)]
    place: Where,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print the settings instead, for orchestrators that write one file for each agent
    #[arg(long, conflicts_with_all = ["dry_run", "yes"])]
    print: bool,
}

impl Init {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let line = self.place.line()?;
        if let Some(profile) = &line.profile
            && toolgate_policies::profile(profile).is_none()
        {
            let names =
                toolgate_policies::PROFILES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            return Err(format!("there is no profile `{profile}`; choose one of {names}"));
        }
        let places = self.place.places()?;
        let named = self.place.named()?;
        if self.print {
            return print(out, &named, &places, &line);
        }
        let found = || REGISTRARS.iter().copied().filter(|host| host.is_installed(&places));
        let hosts: Vec<_> = if named.is_empty() { found().collect() } else { named.clone() };
        if hosts.is_empty() {
            let ids = REGISTRARS.iter().map(|host| host.id()).collect::<Vec<_>>().join(", ");
            return Err(format!("no host was found on this machine; name one with --host ({ids})"));
        }
        if named.is_empty() {
            let names = hosts.iter().map(|host| host.name()).collect::<Vec<_>>().join(", ");
            out.line(format!("found {names}"))?;
        }
        let scope = self.place.scope().unwrap_or(register::Scope::User);
        let mut work = Work::default();
        for host in hosts {
            match Plan::init(host, &places, scope, &line, &line.dirs.state) {
                Err(RegisterError::NoScope { .. }) if named.is_empty() => {
                    out.line(format!("{} has no {scope} settings and is left out", host.name()))?;
                }
                plan => work.add(host, plan),
            }
        }
        let done = "registered; `toolgate doctor` proves that it works";
        // Another profile, role or root for a registration that is there can open everything. A new one opens nothing, and the
        // administrator's is root's to change.
        let noted = Registrations::load(&line.dirs.state).map_err(|error| error.to_string())?;
        let is_ours = |(host, change): &(&str, &Change)| {
            change.before.is_some() && noted.find(host, &change.file).is_some()
        };
        let changes: Vec<_> = work.changes().filter(is_ours).map(|(_, change)| change).collect();
        if !changes.is_empty() && !self.dry_run && scope != register::Scope::Managed {
            proved(out, &line.dirs, &changes, "Change the registrations in", "security-warning: init")?;
        }
        work.announce(out, scope)?;
        let words = Words { question: "Write this?", nothing: "is registered already", done };
        let code = work.carry_out(out, self.dry_run, self.yes, &words)?;
        if scope == register::Scope::Managed {
            let system = System::of(&self.place.etc);
            seal_apart(out, &system, self.dry_run)?;
            sign_by_password(out, &system, self.dry_run)?;
        }
        if line.profile.as_deref() == Some("squad")
            && let Some(project) = places.project.as_deref().filter(|project| project.join(".git").exists())
        {
            team_rules::write(out, project, self.dry_run)?;
        }
        Ok(code)
    }
}

/// Has a system user seal everybody's log from now on. Where that cannot be had, the registration stays, and it is said who seals.
fn seal_apart(out: &mut Out, system: &System, dry_run: bool) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let obstacle = system.obstacle(&program);
    if let Some(why) = obstacle.filter(|_| !dry_run) {
        return out.line(format!(
            "everybody seals their own log (level own), and no system user does it for them (level apart): {why}"
        ));
    }
    if dry_run {
        return out.line(format!(
            "where systemd runs, the system user `{SEALER}` would seal the log of everybody each minute: toolgate-seal.timer"
        ));
    }
    for done in system.install(&program)? {
        out.line(done)?;
    }
    out.line(format!(
        "the system user `{SEALER}` seals the log of everybody each minute: toolgate-seal.timer"
    ))
}

/// Lets people approve with their passwords from now on, where sudo can ask for them.
fn sign_by_password(out: &mut Out, system: &System, dry_run: bool) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    if dry_run {
        return out.line(
            "where sudo is installed, approvals could take a person's password: `require = \"password\"`",
        );
    }
    if let Some(why) = password::obstacle(system, &program) {
        return out.line(format!("no approval can take a person's password (strength password): {why}"));
    }
    for done in password::install(system, &program)? {
        out.line(done)?;
    }
    out.line("approvals can take a person's password: `require = \"password\"` in `[approval]`")
}

/// Prints the file by which one host starts us, as it would be if it held nothing else.
fn print(
    out: &mut Out,
    named: &[&'static dyn Registrar],
    places: &HostPlaces,
    line: &register::HookLine,
) -> Result<ExitCode, String> {
    let host: &dyn Registrar = match named {
        [] => &register::claude_code::ClaudeCode,
        [host] => *host,
        _ => return Err("--print is for one host".into()),
    };
    let wanted = host.wanted(places, register::Scope::User, line).map_err(|error| error.to_string())?;
    let last = wanted.last().ok_or("there is nothing to print")?;
    let text = last
        .content
        .insert("")
        .map_err(|error| RegisterError::Edit { file: last.file.clone(), error }.to_string())?;
    out.line(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// Take the registrations out again: all that init made, or those that are named
#[derive(Debug, Args)]
pub(super) struct Uninstall {
    #[command(flatten)]
    place: Where,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl Uninstall {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let places = self.place.places()?;
        let line = self.place.line()?;
        let state = &line.dirs.state;
        let noted = Registrations::load(state).map_err(|error| error.to_string())?;
        let is_noted = |host: &&'static dyn Registrar| noted.of(host.id()).next().is_some();
        let named = self.place.named()?;
        let mut hosts = named.clone();
        if hosts.is_empty() {
            hosts = REGISTRARS.iter().copied().filter(is_noted).collect();
        }
        let unknown = hosts.is_empty();
        if unknown {
            // The note may be lost, and the registrations still be there.
            hosts = REGISTRARS.to_vec();
        }
        let mut work = Work::default();
        for host in hosts {
            let plan = match self.place.scope() {
                None if is_noted(&host) => Plan::uninstall_noted(host, &places, &line, state),
                scope => {
                    let scope = scope.unwrap_or(register::Scope::User);
                    Plan::uninstall(host, &places, scope, &line, state)
                }
            };
            match plan {
                Err(RegisterError::NoScope { .. }) if named.is_empty() => {}
                Ok(plan) if unknown && !plan.changes() && !plan.leaves => {}
                plan => work.add(host, plan),
            }
        }
        if work.plans.is_empty() && work.errors.is_empty() {
            out.line("nothing is registered")?;
        }
        if !self.dry_run {
            let changes: Vec<_> = work.changes().map(|(_, change)| change).collect();
            proved(
                out,
                &line.dirs,
                &changes,
                "Take the registrations out of",
                "security-warning: uninstall",
            )?;
        }
        let words = Words { question: "Remove it?", nothing: "holds no registration", done: "removed" };
        let code = work.carry_out(out, self.dry_run, self.yes, &words)?;
        let is_managed = |noted: &Registrations| {
            let mut all = REGISTRARS.iter().flat_map(|host| noted.of(host.id()));
            all.any(|noted| noted.scope == register::Scope::Managed)
        };
        let was_managed = self.place.scope() == Some(register::Scope::Managed) || is_managed(&noted);
        let left = Registrations::load(state).map_err(|error| error.to_string())?;
        let system = System::of(&self.place.etc);
        // The last managed registration takes the sealer with it, and whoever signs by passwords.
        if was_managed && !is_managed(&left) && password::is_installed(&system) && !self.dry_run {
            for done in password::remove(&system)? {
                out.line(done)?;
            }
        }
        if was_managed && !is_managed(&left) && system.is_installed() && !self.dry_run {
            for done in system.remove()? {
                out.line(done)?;
            }
        }
        Ok(code)
    }
}

/// Has somebody prove what the settings require, before registrations that are there are changed or taken out. Scripts do that too, so
/// nothing has to be proved where `terminal` is enough; an agent's own processes do not.
fn proved(out: &mut Out, dirs: &Dirs, changes: &[&Change], what: &str, event: &str) -> Result<(), String> {
    if let Some(why) = below_agent() {
        return Err(format!("only a person can do this: {why}"));
    }
    if changes.is_empty() || required_at(dirs, None, &Loosened::Everything)? <= Require::Terminal {
        return Ok(());
    }
    let files: Vec<String> = changes.iter().map(|change| change.target.display().to_string()).collect();
    let files = files.join(", ");
    let diff: String = changes.iter().map(|change| change.diff()).collect();
    let agreement = confirmed(out, dirs, None, &Loosened::Everything, &diff, &format!("{what} {files}?"))?;
    record_agreed(dirs, event, &[("file", &files)], &agreement)
}

/// What is to be done for several hosts. What cannot be planned for one is told, and does not keep the others.
#[derive(Default)]
struct Work {
    plans: Vec<Plan>,
    errors: Vec<String>,
}

/// Names as a sentence lists them.
fn in_words(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// What is said while the work is done.
struct Words {
    /// Before anything is written.
    question: &'static str,
    /// Of a file that stays as it is.
    nothing: &'static str,
    /// Of a file that was written.
    done: &'static str,
}

impl Work {
    /// Every file that changes, with its host.
    fn changes(&self) -> impl Iterator<Item = (&str, &Change)> {
        let all = self.plans.iter().flat_map(|plan| plan.files.iter().map(|change| (plan.host, change)));
        all.filter(|(_, change)| change.changes())
    }

    /// Says in three lines what registering will change, before the diff shows every letter of it.
    fn announce(&self, out: &mut Out, scope: register::Scope) -> Result<(), String> {
        let plans = || self.plans.iter().filter(|plan| plan.changes());
        if plans().next().is_none() {
            return Ok(());
        }
        let hosts: Vec<&str> =
            plans().map(|plan| host_named(plan.host).map_or(plan.host, Registrar::name)).collect();
        let changed = plans().flat_map(|plan| plan.files.iter().filter(|change| change.changes()));
        let files: Vec<String> = changed.map(|change| change.file.display().to_string()).collect();
        out.line(format!(
            "{} will ask toolgate before every tool call, and obey its answer.",
            in_words(&hosts)
        ))?;
        out.line(format!("This changes {}.", files.join(", ")))?;
        if scope == register::Scope::Managed {
            out.line("A system user seals the log of everybody, where systemd runs.")?;
        }
        out.line("`toolgate uninstall` removes it again.")?;
        let alone = plans().filter(|plan| matches!(plan.host, "claude-code" | "copilot"));
        let alone: Vec<&str> =
            alone.map(|plan| host_named(plan.host).map_or(plan.host, Registrar::name)).collect();
        if scope == register::Scope::Managed && !alone.is_empty() {
            out.line(format!(
                "{} will then run no other hooks: those of users, projects and plugins are ignored (`allowManagedHooksOnly`).",
                in_words(&alone)
            ))?;
        }
        out.line("")
    }

    fn add(&mut self, host: &dyn Registrar, plan: Result<Plan, RegisterError>) {
        match plan {
            Ok(plan) => self.plans.push(plan),
            Err(error) => self.errors.push(format!("{}: {error}", host.name())),
        }
    }

    fn carry_out(
        mut self,
        out: &mut Out,
        dry_run: bool,
        yes: bool,
        words: &Words,
    ) -> Result<ExitCode, String> {
        for plan in &self.plans {
            show(out, plan, words.nothing)?;
        }
        let changes = self.plans.iter().any(Plan::changes);
        if !dry_run {
            let asks = changes && !yes && io::stdin().is_terminal() && io::stdout().is_terminal();
            if asks && !agrees(out, words.question)? {
                return Err("nothing was changed".into());
            }
            for plan in &self.plans {
                match plan.apply() {
                    Err(error) => self.errors.push(error.to_string()),
                    Ok(()) if plan.changes() => {
                        out.line(format!("{}: {}", plan.file.display(), words.done))?;
                    }
                    Ok(()) => {}
                }
            }
        }
        match self.errors.split_last() {
            None => Ok(ExitCode::SUCCESS),
            Some((last, others)) => {
                for error in others {
                    let _ = writeln!(io::stderr(), "toolgate: {error}");
                }
                Err(last.clone())
            }
        }
    }
}

fn show(out: &mut Out, plan: &Plan, nothing: &str) -> Result<(), String> {
    for warning in &plan.warnings {
        out.line(format!("{} {warning}", out.paint("33", "warning:")))?;
    }
    if !plan.changes() && plan.leaves {
        return Ok(());
    }
    if !plan.changes() {
        return out.line(format!("{} {nothing}", plan.file.display()));
    }
    out.diff(&plan.diff())
}

fn agrees(out: &mut Out, question: &str) -> Result<bool, String> {
    let _ = write!(out.stdout, "{question} [Y/n] ");
    let _ = out.stdout.flush();
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(|error| error.to_string())?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes"))
}

/// Prove that the gate is active: registration, test call, what would switch it off
#[derive(Debug, Args)]
pub(super) struct Doctor {
    #[command(flatten)]
    place: Where,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Also start each installed agent once, in a scratch home with a scripted model on loopback, and check that
    /// it obeys
    #[arg(long)]
    live: bool,
}

impl Doctor {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let places = self.place.places()?;
        let dirs = self.place.line.dirs()?;
        let mut hosts = self.place.named()?;
        if hosts.is_empty() {
            // A note that cannot be read is told by every diagnosis.
            let noted = Registrations::load(&dirs.state).unwrap_or_default();
            let is_there = |host: &&'static dyn Registrar| {
                host.is_installed(&places) || noted.of(host.id()).next().is_some()
            };
            hosts = REGISTRARS.iter().copied().filter(is_there).collect();
        }
        if hosts.is_empty() {
            return Err("no host is installed or registered here; name one with --host".into());
        }
        let subject = Subject { places: &places, dirs: &dirs };
        let mut diagnoses: Vec<_> = hosts.into_iter().map(|host| doctor::examine(&subject, host)).collect();
        if self.live {
            let toolgate = super::hook_binary()?;
            let all = diagnoses.len();
            for (number, diagnosis) in diagnoses.iter_mut().enumerate() {
                // One agent takes many seconds, so each is named as it begins.
                let _ = writeln!(io::stderr(), "rehearsing {} ({} of {all}) …", diagnosis.name, number + 1);
                diagnosis.rehearse(&toolgate, &places);
            }
        }
        let active = diagnoses.iter().all(|diagnosis| diagnosis.active);
        if self.json {
            out.json(&json!({ "active": active, "hosts": diagnoses }))?;
        } else {
            let colour = out.colour;
            for (at, diagnosis) in diagnoses.iter().enumerate() {
                if diagnoses.len() > 1 {
                    let gap = if at == 0 { "" } else { "\n" };
                    out.line(format!("{gap}{}", out.paint("1", diagnosis.name)))?;
                }
                diagnosis.render(&mut out.stdout, colour).map_err(|error| error.to_string())?;
            }
        }
        Ok(if active { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

#[cfg(test)]
mod tests {
    use toolgate_hosts::HOSTS;

    use super::*;

    #[test]
    fn every_host_is_registered_or_listed_as_not_registrable_once() {
        let mut named: Vec<_> = REGISTRARS.iter().map(|host| host.id()).collect();
        named.extend(NOTHING_TO_REGISTER.iter().map(|(id, ..)| *id));
        named.sort_unstable();
        let mut spoken_with: Vec<_> = HOSTS.iter().map(|host| host.id()).collect();
        spoken_with.sort_unstable();
        assert_eq!(named, spoken_with);
    }
}
