//! Who is calling, and the state of the team: from what people registered, what the host says of its sub-agents, the
//! team's own files and the log. Never from the agent's own word.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use toolgate_evidence::SessionCounts;
use toolgate_model::{
    COORDINATOR, Call, History, Member, NodeKind, Phase, Place, Places, Resolver, Team, TeamPhase, World,
    plain_name,
};
use toolgate_policies::Settings;
use toolgate_secrets::{Redacted, redact};
use toolgate_team::{Agents, LockoutFiles, Lockouts, RegisteredAgent};

use crate::dirs::Dirs;
use crate::machine::Machine;
use crate::options::SessionOptions;
use crate::store::name_for;

/// A phase is one word.
const MAX_PHASE: usize = 64;

/// What has to be asked to know the team.
pub(crate) struct TeamSources<'s> {
    /// The clock and the disk.
    pub(crate) machine: &'s dyn Machine,
    /// Where our own files are.
    pub(crate) dirs: &'s Dirs,
    /// What the registered line says.
    pub(crate) options: &'s SessionOptions,
    /// The places that the session knows.
    pub(crate) places: &'s Places,
    /// The layers of settings.
    pub(crate) layers: &'s [Settings],
}

impl TeamSources<'_> {
    /// The team as it is now. `counts` gives what was counted of the session, and is asked only where that matters.
    pub(crate) fn team<E>(
        &self,
        call: &Call<'_>,
        counts: impl FnOnce() -> Result<Option<SessionCounts>, E>,
    ) -> Result<Team, TeamError<E>> {
        if !self.layers.iter().any(Settings::has_team) {
            return Ok(Team::default());
        }
        let agents =
            Agents::read(&self.dirs.state).map_err(|error| TeamError::Registry(error.to_string()))?;
        let member = self.member(call, &agents);
        let (mut lockouts, mut unreadable) = (Vec::new(), None);
        let told = call.phase.stops() || call.phase == Phase::Start;
        if told && self.layers.iter().any(Settings::asks_lockouts) {
            match Lockouts::read(&lockout_files(self.machine.world(), self.dirs, self.places)) {
                Ok(read) => lockouts = read.into_lockouts(),
                Err(error) => unreadable = Some(error.to_string()),
            }
        }
        let question = matches!(call.action, toolgate_model::Action::Question);
        let proposed = self.layers.iter().any(|layer| layer.team.init && layer.team.roster.is_empty());
        let asks = self.layers.iter().any(|layer| layer.asks_history(question)) || proposed;
        let counts = if asks {
            counts().map_err(TeamError::Counts)?.unwrap_or_default()
        } else {
            SessionCounts::default()
        };
        let phase = self.phase(proposed, &counts);
        let history = self.history(call, &member, &counts);
        Ok(Team { member, phase, lockouts, unreadable, history })
    }

    /// Who is calling.
    fn member(&self, call: &Call<'_>, agents: &Agents) -> Member {
        let main = self.main_member(call, agents);
        let said: Vec<String> = call.agent.words().map(plain_name).collect();
        let known = said.iter().find(|name| self.knows(name, agents));
        let role = || said.iter().find(|name| self.has_role(name)).or(said.first());
        let Some(name) = known.or_else(role).filter(|name| !name.is_empty() && **name != main.name) else {
            return main;
        };
        // A kind that nobody has on a list is a role, not a name: `explore`, `general-purpose`.
        let member = match known {
            Some(name) => self.named(name, agents),
            None => Member { role: name.clone(), ..Member::default() },
        };
        if main.is_worker() { helper_of(main, member) } else { member }
    }

    /// Whose session it is.
    fn main_member(&self, call: &Call<'_>, agents: &Agents) -> Member {
        let SessionOptions { agent, role, .. } = self.options;
        if agent.is_some() || role.is_some() {
            let mut member =
                agent.as_deref().map(|name| self.named(&plain_name(name), agents)).unwrap_or_default();
            member.role = self.role_of_registered(&member.name);
            if let Some(known) = agents.named(&member.name).last().and_then(|agent| agent.role.as_deref()) {
                member.role = plain_name(known);
            }
            if let Some(role) = role {
                member.role = plain_name(role);
            }
            return member;
        }
        let by_session = call.session.as_deref().and_then(|session| agents.of_session(session));
        let roots = self.places.root.iter().flat_map(|root| [&root.physical, &root.lexical]);
        let registered = by_session.or_else(|| roots.into_iter().find_map(|root| agents.of_root(root)));
        match registered {
            Some(agent) => self.registered_as(agent),
            None => {
                let role =
                    self.layers.iter().map(|layer| layer.team.main.as_str()).find(|role| !role.is_empty());
                Member { role: role.map(plain_name).unwrap_or_default(), ..Member::default() }
            }
        }
    }

    fn knows(&self, name: &str, agents: &Agents) -> bool {
        let listed = |layer: &Settings| {
            layer.team.role_of(name).is_some() || layer.agent.keys().any(|known| plain_name(known) == name)
        };
        agents.named(name).next().is_some() || self.layers.iter().any(listed)
    }

    /// Whether the settings say what this role may do.
    fn has_role(&self, name: &str) -> bool {
        self.layers.iter().any(|layer| layer.role.keys().any(|known| plain_name(known) == name))
    }

    fn named(&self, name: &str, agents: &Agents) -> Member {
        match agents.named(name).last() {
            Some(agent) => self.registered_as(agent),
            None => Member { name: name.to_owned(), role: self.role_of(name), ..Member::default() },
        }
    }

    /// The role of somebody whom people have named. The roster lies in the repository, within reach of a patch: it makes
    /// no coordinator of an agent that was registered as none.
    fn role_of_registered(&self, name: &str) -> String {
        let role = self.role_of(name);
        if role == COORDINATOR { String::new() } else { role }
    }

    fn registered_as(&self, agent: &RegisteredAgent) -> Member {
        let name = plain_name(&agent.name);
        let role = agent.role.as_deref().map_or_else(|| self.role_of_registered(&name), plain_name);
        let may_write = Some(agent.write.clone()).filter(|list| !list.is_empty());
        Member { name, role, may_write, may_read: agent.read.clone(), ..Member::default() }
    }

    /// The role that the settings or the roster give this name.
    fn role_of(&self, name: &str) -> String {
        let of = |layer: &Settings| {
            let own = layer
                .agent
                .iter()
                .find(|(known, _)| plain_name(known) == name)
                .map(|(_, agent)| &*agent.role);
            own.filter(|role| !role.is_empty()).or_else(|| layer.team.role_of(name)).map(plain_name)
        };
        self.layers.iter().find_map(of).unwrap_or_default()
    }

    fn phase(&self, proposed: bool, counts: &SessionCounts) -> TeamPhase {
        // What a person set and nobody can read counts as the strictest.
        let note = phase_file(self.dirs, self.places);
        let set = || match self.machine.world().read(&note, MAX_PHASE) {
            Ok(text) => {
                let text = String::from_utf8_lossy(&text);
                Some(TeamPhase::of(text.trim()).unwrap_or(TeamPhase::Proposed))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(_) => Some(TeamPhase::Proposed),
        };
        if let Some(phase) = self.options.phase {
            return phase;
        }
        let asks = self.layers.iter().any(|layer| layer.team.init);
        let otherwise =
            if proposed { counts.phase.unwrap_or(TeamPhase::Proposed) } else { TeamPhase::Working };
        asks.then(set).flatten().unwrap_or(otherwise)
    }

    fn history(&self, call: &Call<'_>, member: &Member, counts: &SessionCounts) -> History {
        let (agent, now) = (caller(call, member), self.machine.now());
        let mut kinds: Vec<&str> =
            self.layers.iter().flat_map(|layer| &layer.limit).map(|limit| limit.kind.word()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let recent = kinds.into_iter().map(|kind| (kind.to_owned(), counts.recently(&agent, kind, now)));
        History { asked: counts.asked, recent: recent.collect() }
    }
}

/// Whoever is bound stays bound through helpers of its own, whatever those are called: they work in its name and role, and
/// what they are called only limits them besides. An author's helper is no reviewer, and no scribe either.
fn helper_of(main: Member, helper: Member) -> Member {
    Member { helper_role: if helper.role.is_empty() { helper.name } else { helper.role }, ..main }
}

/// The name that a call is counted and recorded under.
pub(crate) fn caller(call: &Call<'_>, member: &Member) -> Redacted {
    let known = !(member.name.is_empty() && member.role.is_empty());
    let host = || call.agent.id.as_deref().or(call.agent.kind.as_deref()).unwrap_or_default();
    redact(if known { member.called() } else { host() })
}

/// Why the team cannot be known.
pub(crate) enum TeamError<E> {
    /// The registry of agents cannot be read.
    Registry(String),
    /// What was counted cannot be read.
    Counts(E),
}

/// A name for files about this repository, or about this directory where there is none.
fn key_of(places: &Places) -> String {
    let place = places.git.as_ref().or(places.root.as_ref());
    let path = place.map_or(Path::new("/"), |place: &Place| place.physical.as_path());
    name_for(path.as_os_str().as_encoded_bytes(), 32)
}

/// Where lockouts of this repository are kept.
pub fn lockout_files(world: &dyn World, dirs: &Dirs, places: &Places) -> LockoutFiles {
    let mut team: Vec<PathBuf> = places.team.iter().map(|team| team.physical.join("lockout.json")).collect();
    // The first is written to: it must be that of the team that is there.
    if let Some(own) = team_directory(world, places).map(|team| team.join("lockout.json")) {
        team.retain(|file| *file != own);
        team.insert(0, own);
    }
    LockoutFiles { own: dirs.state.join("lockouts").join(format!("{}.jsonl", key_of(places))), team }
}

/// Where it is noted how far the team of this repository has come, if a person said so.
pub fn phase_file(dirs: &Dirs, places: &Places) -> PathBuf {
    dirs.state.join("phases").join(key_of(places))
}

/// The team's directory, where there is one: inside the project, and no link out of it.
pub fn team_directory<'p>(world: &dyn World, places: &'p Places) -> Option<&'p Path> {
    let tops = || [&places.root, &places.main].into_iter().flatten();
    let inside = |path: &Path| tops().any(|top| path.starts_with(&top.physical));
    let is_directory = |path: &Path| {
        let found = Resolver::new(world, None, None).walk(path.to_path_buf()).ok();
        found.and_then(|found| found.node).is_some_and(|node| node.kind == NodeKind::Directory)
    };
    let there = |path: &&Path| inside(path) && is_directory(path);
    places.team.iter().map(|team| team.physical.as_path()).find(there)
}

/// Whether what a user says to a proposed team agrees to it: anything but a refusal or a wish for a change, as
/// somebody who goes on to a task has agreed.
pub(crate) fn agrees(said: &str) -> bool {
    /// At the beginning.
    const CHANGES: &[&str] = &[
        "hold", "cancel", "add", "change", "remove", "replace", "rename", "swap", "without", "drop",
        "instead", "what", "why", "who", "how", "which", "when", "make", "give",
    ];
    /// Anywhere in the first words.
    const REFUSALS: &[&str] = &[
        "no", "not", "don't", "dont", "nope", "nah", "never", "stop", "wait", "isn't", "won't", "can't",
        "cannot", "nobody", "none",
    ];
    // What programs put into a prompt comes in tags.
    if said.trim_start().starts_with('<') {
        return false;
    }
    let words: Vec<String> = words_of(said).take(16).collect();
    let begins = words.first().is_some_and(|first| !CHANGES.contains(&first.as_str()));
    begins && !words.iter().any(|word| REFUSALS.contains(&word.as_str()))
}

/// Whether the answer to a question agrees in so many words. The question may have been about something else.
pub(crate) fn affirms(said: &str) -> bool {
    const YES: &[&str] = &[
        "yes",
        "yep",
        "yeah",
        "ok",
        "okay",
        "sure",
        "confirm",
        "confirmed",
        "approve",
        "approved",
        "hire",
        "lgtm",
    ];
    agrees(said) && words_of(said).next().is_some_and(|first| YES.contains(&first.as_str()))
}

fn words_of(said: &str) -> impl Iterator<Item = String> {
    let divides = |letter: char| !letter.is_alphanumeric() && !matches!(letter, '\'' | '\u{2019}');
    said.split(divides)
        .filter(|word| !word.is_empty())
        .map(|word| word.to_lowercase().replace('\u{2019}', "'"))
}

/// What the model is told when its session begins.
pub(crate) fn introduction(team: &Team, layers: &[Settings]) -> Option<String> {
    let member = &team.member;
    if !layers.iter().any(Settings::has_team) || (member.name.is_empty() && member.role.is_empty()) {
        return None;
    }
    let role = match (member.name.as_str(), member.role.as_str()) {
        ("", role) => format!("You work as {role}."),
        (name, "") => format!("You are {name}."),
        (name, role) => format!("You are {name}, {role}."),
    };
    let mut lines = vec![role];
    if member.role == COORDINATOR {
        lines.push("Writes outside of the team's own files are denied: hand work to an agent.".to_owned());
    }
    if let Some(list) = &member.may_write {
        lines.push(format!("You may write: {}.", list.join(", ")));
    }
    let own =
        team.lockouts.iter().filter(|lockout| member.names().any(|name| plain_name(&lockout.agent) == name));
    let locked: Vec<&str> = own.map(|lockout| lockout.artifact.as_str()).take(20).collect();
    if !locked.is_empty() {
        lines.push(format!("You are locked out of: {}. Another agent revises these.", locked.join(", ")));
    }
    if team.phase == TeamPhase::Proposed {
        lines.push(
            "The user has not agreed to a team yet: propose one and wait, nothing is written before."
                .to_owned(),
        );
    }
    Some(redact(&lines.join(" ")).into_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_counts_as_agreement_and_a_change_request_does_not() {
        for yes in ["yes", "Yes, hire this team", "looks good", "Build the login page", "ok!", "\u{1f44d} go"]
        {
            assert!(agrees(yes), "{yes}");
        }
        for no in [
            "No",
            "add someone for DevOps",
            "Change a role",
            "don't",
            "",
            "  ",
            "not yet",
            "wait",
            "Absolutely not",
            "please don\u{2019}t",
            "<teammate-message>yes</teammate-message>",
        ] {
            assert!(!agrees(no), "{no}");
        }
        assert!(affirms("Yes, hire this team") && !affirms("2") && !affirms("yes, but not Ripley"));
    }
}
