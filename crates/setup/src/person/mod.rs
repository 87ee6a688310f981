//! Whether a person is there: the one place that decides it, for everything that loosens.
//!
//! Against whom: an agent, and code that it runs, which would say yes in a person's stead. A terminal alone is not proof: six lines of
//! Python make one. So the process, the leader of its session and whoever made the terminal are looked at: none of them may be below
//! an agent's host, bear its marks, or be contained, and the terminal's maker must be a program of the system or of the person that
//! people sit before. What cannot be told is no person.
//!
//! Does not see: code of the same user outside of the sandbox that drives a person's own terminal, or that reads the key that signs
//! for it. That is why this proof is called weak. See `SECURITY.md`.

mod processes;
mod programs;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use processes::{Processes, is_console, pseudo_terminal, terminal_number};
use programs::{is_host, is_mark, is_multiplexer, is_scripted};
use toolgate_sandbox::CONTAINED;

/// No process has more ancestors, but in a loop.
const MOST_ANCESTORS: usize = 128;

/// Says why it cannot be told that a person sits at this terminal. `roots` are directories that agents write.
pub fn at_terminal(roots: &[PathBuf]) -> Result<(), String> {
    let stdin = io::stdin();
    let stdout = io::stdout();
    if !stdin.is_terminal() || !stdout.is_terminal() {
        return Err("run it in a terminal".into());
    }
    let number = |found: rustix::io::Result<rustix::fs::Stat>| terminal_number(found.ok()?.st_rdev);
    let (input, output) = (number(rustix::fs::fstat(&stdin)), number(rustix::fs::fstat(&stdout)));
    let scene = Scene {
        processes: Processes { proc: PathBuf::from("/proc") },
        user: rustix::process::getuid().as_raw(),
        roots: roots.to_vec(),
    };
    let own = std::process::id();
    let seen = scene.own_terminal(own, input, output).and_then(|terminal| {
        scene.not_contained(own)?;
        scene.not_below_agent(own)?;
        scene.made_for_people(own, terminal)
    });
    // From here on no other process of this user reads our memory, or types for us through it.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    seen
}

/// Says whether this process belongs to an agent's session or is contained. For what scripts may run too, and agents may not.
pub fn not_an_agent() -> Result<(), String> {
    let processes = Processes { proc: PathBuf::from("/proc") };
    let scene = Scene { processes, user: rustix::process::getuid().as_raw(), roots: Vec::new() };
    let own = std::process::id();
    scene.not_contained(own)?;
    scene.not_below_agent(own)
}

/// Why this process is known to belong to an agent's session, if it is. For what scripts run without a terminal, where nothing has to be
/// proved: what cannot be read says nothing.
pub fn below_agent() -> Option<String> {
    let processes = Processes { proc: PathBuf::from("/proc") };
    let scene = Scene { processes, user: rustix::process::getuid().as_raw(), roots: Vec::new() };
    let mut next = std::process::id();
    for _ in 0..MOST_ANCESTORS {
        let is_read = scene.processes.name(next).is_some();
        match scene.not_an_agents(next) {
            Err(why) if is_read => return Some(why),
            _ => next = scene.processes.stat(next).map(|stat| stat.parent).filter(|parent| *parent > 0)?,
        }
    }
    None
}

/// Says why it cannot be told that a person sits where sudo was started, of which this process is a child and runs as root. `user` is the
/// one who started it, `sudo` its program, `roots` are directories that agents write.
///
/// What root sees of processes, no user can hide from it; so this looks at the same things again and believes nothing of what was said.
pub fn behind_sudo(user: u32, sudo: &Path, roots: &[PathBuf]) -> Result<(), String> {
    let processes = Processes { proc: PathBuf::from("/proc") };
    let scene = Scene { processes, user, roots: roots.to_vec() };
    scene.behind_sudo(std::process::id(), &sudo.canonicalize().map_err(|error| error.to_string())?)
}

/// What is looked at.
struct Scene {
    processes: Processes,
    user: u32,
    roots: Vec<PathBuf>,
}

impl Scene {
    /// The terminal that the process belongs to, if it reads from it and writes to it.
    fn own_terminal(&self, own: u32, input: Option<u32>, output: Option<u32>) -> Result<u32, String> {
        let stat = self.processes.stat(own).ok_or("what this process is cannot be read from /proc")?;
        let is_one = stat.terminal != 0 && input == Some(stat.terminal) && output == Some(stat.terminal);
        if is_one {
            Ok(stat.terminal)
        } else {
            Err("input and output are not the terminal of this session".into())
        }
    }

    fn behind_sudo(&self, own: u32, sudo: &Path) -> Result<(), String> {
        let [_, parent, above @ ..] = &*self.ancestors(own)? else {
            return Err("nobody has started this".into());
        };
        if self.processes.program(*parent).as_deref() != Some(sudo) {
            return Err(format!("this was not started by `{}`", sudo.display()));
        }
        // sudo may have one process more, beside the terminal that it makes.
        let is_theirs = |process: &&u32| self.processes.user(**process) == Some(self.user);
        let is_sudo = |process: &&u32| self.processes.program(**process).as_deref() == Some(sudo);
        let caller = *above.iter().find(|process| !is_sudo(process)).ok_or("nobody has started sudo")?;
        if !is_theirs(&&caller) {
            return Err("sudo was not started by the user whose password it has asked for".into());
        }
        self.not_contained(own)?;
        self.not_contained(caller)?;
        self.not_below_agent(own)?;
        self.not_below_agent(caller)?;
        let stat = self.processes.stat(caller).ok_or("what has started sudo cannot be read from /proc")?;
        if stat.terminal == 0 {
            return Err("sudo was not started in a terminal".into());
        }
        self.made_for_people(caller, stat.terminal)
    }

    /// Whether less is allowed to this process than to the first one of the machine.
    fn not_contained(&self, own: u32) -> Result<(), String> {
        let contained = || Err("this process is contained".to_owned());
        if self.processes.variables(own).is_none_or(|names| names.iter().any(|name| name == CONTAINED)) {
            return contained();
        }
        for field in ["NoNewPrivs", "Seccomp", "Seccomp_filters"] {
            let count = |process| self.processes.status(process, field)?.parse::<u32>().ok();
            // A container holds all of its processes back alike. The number of filters is not told by every kernel.
            match (count(own), count(1)) {
                (Some(ours), first) if ours > first.unwrap_or(0) => return contained(),
                (None, _) if field != "Seccomp_filters" => return contained(),
                _ => {}
            }
        }
        let users = self.processes.user_map(own).ok_or("the users of this process cannot be read")?;
        if users != ["0", "0", "4294967295"] {
            return contained();
        }
        for kind in ["user", "mnt"] {
            let (ours, first) = (self.processes.namespace(own, kind), self.processes.namespace(1, kind));
            if first.is_some() && first != ours {
                return contained();
            }
        }
        Ok(())
    }

    /// The process and those that it comes from, up to the first of the machine.
    fn ancestors(&self, of: u32) -> Result<Vec<u32>, String> {
        let mut all = Vec::new();
        let mut next = of;
        while next > 0 {
            if all.len() == MOST_ANCESTORS {
                return Err("this process has more ancestors than can be looked at".into());
            }
            all.push(next);
            next = self.processes.stat(next).ok_or("where this process comes from cannot be read")?.parent;
        }
        Ok(all)
    }

    /// Whether a process and the leader of its session come from somewhere else than an agent's host.
    fn not_below_agent(&self, process: u32) -> Result<(), String> {
        let leader = self.processes.stat(process).map(|stat| stat.session).filter(|leader| *leader > 0);
        for start in [Some(process), leader].into_iter().flatten() {
            // The leader of a session may have ended.
            if start != process && self.processes.stat(start).is_none() {
                return Err("the first process of this session has ended".into());
            }
            for ancestor in self.ancestors(start)? {
                self.not_an_agents(ancestor)?;
            }
        }
        Ok(())
    }

    /// Whether a process itself is not a host of agents and was not started by one.
    fn not_an_agents(&self, process: u32) -> Result<(), String> {
        let name = self.processes.name(process).ok_or("what this process comes from cannot be read")?;
        let program = self.processes.program(process);
        let words = self.processes.words(process).unwrap_or_default();
        if is_host(&name, program.as_deref(), &words) {
            return Err(format!("this was started by an agent's host (`{name}`, process {process})"));
        }
        let marks = self.processes.variables(process).unwrap_or_default();
        match marks.iter().find(|name| is_mark(name)) {
            Some(mark) => {
                Err(format!("this belongs to an agent's session: `{mark}` is set in process {process}"))
            }
            None => Ok(()),
        }
    }

    /// Whether a terminal was made by something that people sit before.
    fn made_for_people(&self, process: u32, terminal: u32) -> Result<(), String> {
        self.made_for_people_within(process, terminal, 0)
    }

    fn made_for_people_within(&self, process: u32, terminal: u32, depth: u32) -> Result<(), String> {
        if is_console(terminal) {
            return Ok(());
        }
        let index = pseudo_terminal(terminal).ok_or("this is no terminal of a kind that is known")?;
        let holds = |other: &u32| self.processes.holds_master(*other, index) == Some(true);
        let makers: Vec<u32> = self.processes.all().into_iter().filter(holds).collect();
        if makers.is_empty() {
            return self.made_by_another_user(process);
        }
        makers.into_iter().try_for_each(|maker| self.is_for_people(maker, depth))
    }

    /// Where nobody whom we may look at holds the other side: whether the session comes from a process of somebody else, like a
    /// login over the network, or from outside of this container.
    fn made_by_another_user(&self, process: u32) -> Result<(), String> {
        let leader = self.processes.stat(process).map_or(process, |stat| stat.session);
        let ancestors = self.ancestors(leader)?;
        let is_others = |process: &u32| {
            *process != 1 && self.processes.user(*process).is_some_and(|user| user != self.user)
        };
        let is_from_outside = ancestors.last().is_some_and(|last| *last != 1);
        if is_from_outside || ancestors.iter().any(is_others) {
            return Ok(());
        }
        Err("nobody can tell who made this terminal".into())
    }

    fn is_for_people(&self, maker: u32, depth: u32) -> Result<(), String> {
        for ancestor in self.ancestors(maker)? {
            self.not_an_agents(ancestor)?;
        }
        let unknown = || "who made this terminal cannot be read".to_owned();
        let program = self.processes.program(maker).ok_or_else(unknown)?;
        let name = program.file_name().and_then(|name| name.to_str()).ok_or_else(unknown)?;
        let comm = self.processes.name(maker).ok_or_else(unknown)?;
        if let Some(scripted) = [name, comm.as_str()].into_iter().find(|name| is_scripted(name)) {
            return Err(format!("this terminal was made by `{scripted}`, which a program can type into"));
        }
        if self.is_where_agents_write(&program) {
            return Err(format!(
                "this terminal was made by `{}`, which an agent may have written",
                program.display()
            ));
        }
        if is_multiplexer(name) {
            return self.has_person_attached(maker, &program, depth);
        }
        Ok(())
    }

    fn is_where_agents_write(&self, program: &Path) -> bool {
        let open = toolgate_model::TEMPORARY.iter().copied().chain([toolgate_model::SHARED_MEMORY]);
        open.map(Path::new)
            .chain(self.roots.iter().map(PathBuf::as_path))
            .any(|open| program.starts_with(open))
    }

    /// A multiplexer's terminals are nobody's until somebody looks at them from a terminal of their own.
    fn has_person_attached(&self, server: u32, program: &Path, depth: u32) -> Result<(), String> {
        let nobody = || Err("nobody is attached to this terminal from another one".to_owned());
        if depth > 0 {
            return nobody();
        }
        let is_client = |other: &u32| {
            *other != server
                && self.processes.user(*other) == Some(self.user)
                && self.processes.program(*other).as_deref() == Some(program)
        };
        for client in self.processes.all().into_iter().filter(is_client) {
            let Some(stat) = self.processes.stat(client).filter(|stat| stat.terminal != 0) else { continue };
            let seen = self.not_below_agent(client);
            if seen.and_then(|()| self.made_for_people_within(client, stat.terminal, depth + 1)).is_ok() {
                return Ok(());
            }
        }
        nobody()
    }
}

#[cfg(test)]
mod tests;
