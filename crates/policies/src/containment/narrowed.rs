//! What the rules about the calling agent leave of its places: its role, what it was handed, the team's table, lockouts, the phase,
//! what is declared.
//!
//! The policies judge a path that a call names. A contained program names none, so they are asked here about places, one by one, and what
//! they deny there is closed to the program. A kernel holds places and no patterns. So:
//!
//! - **What a list opens** (`write`, `read`) is all that is open. A pattern in it opens the files that it covers when the command
//!   starts; new ones cannot be made. What is not there cannot be opened either, nor what a link leads to.
//! - **What is closed** by a pattern or a bare name is closed where it is there when the command starts.
//! - **Directories of builds** are not looked into for patterns: they hold more files than all else.
//!
//! Where a worktree is too large to be looked through, there are no terms, and nothing runs.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolgate_model::{
    Access, ActivationState, Agent, Decision, Facts, Finding, Node, NodeId, NodeKind, Origin, Phase, Places,
    Policy, Reach, Resolved, Team, TeamPhase, Use,
};

use crate::append_only::GrowingFiles;
use crate::custom_rule::CustomRules;
use crate::glob::{self, Names};
use crate::outside_scope::Rights;
use crate::ownership::Owners;
use crate::pattern;
use crate::project::BUILT;
use crate::read_scope::Readers;
use crate::reviewer_lockout::Lockouts;
use crate::role_scope::RoleScope;
use crate::settings::Settings;
use crate::team_settings::TeamFiles;

/// So many names are looked at for patterns.
const MOST_LOOKED: usize = 50_000;
/// So many places are found by patterns. Each is a mount.
const MOST_FOUND: usize = 512;

/// What is in a directory, and whether each entry is a directory itself. A link is none.
pub type Entries = Vec<(PathBuf, bool)>;

/// Looks at the disk for what patterns cover.
#[derive(Clone, Copy)]
pub struct Look<'l> {
    /// What is in a directory. `None`: it cannot be read.
    pub entries: &'l dyn Fn(&Path) -> Option<Entries>,
    /// Whether something is at a path, and no link on the way to it.
    pub is_plain: &'l dyn Fn(&Path) -> bool,
    /// Whether nothing is at a path, not even a link.
    pub is_free: &'l dyn Fn(&Path) -> bool,
}

/// What the rules about the calling agent leave, under each layer of settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Narrowed {
    /// INVARIANT: as many as there are layers, in their order; or none, where nothing is narrowed.
    layers: Vec<Vec<Narrow>>,
    /// Directories of builds that are open and not there yet, in a project that is built there.
    pub(super) made: Vec<PathBuf>,
    /// Whether it may not change the repository either.
    pub(super) is_read_only: bool,
    /// Whether it may not talk to other machines.
    pub(super) is_offline: bool,
}

/// A place, and the most that the agent may do there and below.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Narrow {
    pub(super) path: PathBuf,
    pub(super) most: Rights,
    /// Why it is no more; `None` where nothing objects.
    pub(super) rule: Option<AgentRule>,
}

/// A rule about the calling agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AgentRule {
    /// The policy.
    pub(super) policy: String,
    pub(super) reason: String,
    pub(super) instead: String,
}

impl Narrowed {
    /// What the rules of these layers leave to this agent. An error says why that cannot be held.
    pub fn of(
        layers: &[(&Settings, &Places)],
        team: &Team,
        agent: &Agent<'_>,
        look: Look<'_>,
    ) -> Result<Narrowed, String> {
        let mut narrowed = Narrowed::default();
        let mut left = MOST_LOOKED;
        for (settings, places) in layers {
            let asked = Asked { settings, places, team, agent };
            let own = asked.narrow(look, &mut left, &mut narrowed.made)?;
            narrowed.is_read_only |= asked.is_read_only();
            narrowed.is_offline |= asked.is_offline();
            narrowed.layers.push(own);
        }
        Ok(narrowed)
    }

    /// The places that any layer narrows, those above first.
    pub(super) fn places(&self) -> Vec<&Path> {
        let mut places: Vec<&Path> =
            self.layers.iter().flatten().map(|narrow| narrow.path.as_path()).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// What this layer leaves at a path: what it leaves at the most specific place. `None`: everything.
    pub(super) fn at(&self, layer: usize, path: &Path) -> Option<&Narrow> {
        let covering = self.layers.get(layer)?.iter().filter(|narrow| path.starts_with(&narrow.path));
        covering.max_by_key(|narrow| narrow.path.components().count())
    }
}

/// A place to ask about.
struct Asking {
    path: PathBuf,
    /// Whether all that lies below is meant.
    tree: bool,
}

/// What is asked about.
#[derive(Default)]
struct Questions {
    places: Vec<Asking>,
    /// Globs, and the directory that all they cover lies in.
    patterns: Vec<(PathBuf, String)>,
}

/// The rules of one layer, and the agent that they are asked about.
struct Asked<'a> {
    settings: &'a Settings,
    places: &'a Places,
    team: &'a Team,
    agent: &'a Agent<'a>,
}

impl Asked<'_> {
    fn narrow(
        &self,
        look: Look<'_>,
        left: &mut usize,
        made: &mut Vec<PathBuf>,
    ) -> Result<Vec<Narrow>, String> {
        let mut questions = self.questions();
        for (base, glob) in std::mem::take(&mut questions.patterns) {
            self.find(&base, &glob, look, left, &mut questions.places)?;
        }
        questions.places.sort_by(|one, other| (&one.path, other.tree).cmp(&(&other.path, one.tree)));
        questions.places.dedup_by(|later, earlier| later.path == earlier.path);
        let mut narrowed: Vec<Narrow> = Vec::new();
        for asking in questions.places {
            let narrow = self.ask(asking);
            let above = narrowed.iter().filter(|above| narrow.path.starts_with(&above.path));
            let above = above.max_by_key(|above| above.path.components().count());
            let most = above.map_or(Rights::Write, |above| above.most);
            if narrow.most > most && is_to_be_made(&narrow.path, look) {
                made.push(narrow.path.clone());
                narrowed.push(narrow);
                continue;
            }
            // INVARIANT: what is opened inside of something closed is what it is named. A link would open what it leads to.
            if narrow.most == most || (narrow.most > most && !(look.is_plain)(&narrow.path)) {
                continue;
            }
            narrowed.push(narrow);
        }
        Ok(narrowed)
    }

    /// What the policies leave of a place.
    fn ask(&self, Asking { path, tree }: Asking) -> Narrow {
        let read = self.objection(&path, Access::Read, tree);
        let write = self.objection(&path, Access::Write, tree);
        let (most, rule) = match (read, write) {
            (Some(read), None) => {
                let only =
                    "it may be written and not read, and a sandbox cannot give the one without the other";
                let instead = "have a person list it for reading too, or write it by another tool".to_owned();
                (Rights::None, Some(AgentRule { reason: only.to_owned(), instead, ..read }))
            }
            (Some(read), Some(_)) => (Rights::None, Some(read)),
            (None, Some(write)) => (Rights::Read, Some(write)),
            (None, None) => (Rights::Write, None),
        };
        Narrow { path, most, rule }
    }

    /// Whether not even a commit may be made.
    fn is_read_only(&self) -> bool {
        let policy = &self.settings.policy;
        let Some(git) = &self.places.git else { return false };
        let facts = self.facts(vec![asked_use(&git.physical, Access::Write, true)]);
        let mut findings = Vec::new();
        policy.read_only_role.judge(&facts, &mut findings);
        policy.declared_io.judge(&facts, &mut findings);
        !findings.is_empty()
    }

    fn is_offline(&self) -> bool {
        let mut findings = Vec::new();
        let facts = Facts { connects: true, ..self.facts(Vec::new()) };
        self.settings.policy.declared_io.judge(&facts, &mut findings);
        !findings.is_empty()
    }

    /// What the policies that are about agents deny of a place.
    fn objection(&self, path: &Path, access: Access, tree: bool) -> Option<AgentRule> {
        let facts = self.facts(vec![asked_use(path, access, tree)]);
        let settings = self.settings;
        let policy = &settings.policy;
        let mut findings = Vec::new();
        let judges: [&dyn Policy; 14] = [
            &policy.init_phase,
            &policy.coordinator_write,
            &policy.own_charter,
            &policy.decision_inbox,
            &policy.create_only_log,
            &GrowingFiles::of(settings),
            &policy.registry_names,
            &Owners::of(settings),
            &Lockouts::of(settings),
            &Readers::of(settings),
            &RoleScope::of(settings),
            &policy.declared_io,
            &policy.read_only_role,
            &TeamFiles,
        ];
        for judge in judges {
            judge.judge(&facts, &mut findings);
        }
        let denied = findings.into_iter().find(|finding| finding.decision == Decision::Deny);
        denied.map(AgentRule::of).or_else(|| {
            let rules = CustomRules::of(settings);
            let id = rules.denies_place(path, self.places).filter(|_| access == Access::Write)?;
            Some(AgentRule {
                policy: format!("custom-rule: {id}"),
                reason: "a rule of the settings forbids it".to_owned(),
                instead: PERSON.to_owned(),
            })
        })
    }

    /// A call without a name and a command: only its paths count.
    fn facts<'f>(&'f self, uses: Vec<Use<'f>>) -> Facts<'f> {
        Facts {
            tool: "",
            agent: self.agent,
            team: self.team,
            phase: Phase::Before,
            asks_user: false,
            command: None,
            places: self.places,
            activation: ActivationState::default(),
            uses,
            runs: Vec::new(),
            connects: false,
            unknown: Vec::new(),
            changes: Vec::new(),
            expanded: Vec::new(),
            config: None,
            redacts: false,
        }
    }

    /// The places that any of these rules names, and those that they hold for as a whole.
    fn questions(&self) -> Questions {
        let mut questions = Questions::default();
        let rules = self.settings.rule.iter().flat_map(|rule| &rule.paths);
        for place in rules.flat_map(|path| pattern::literal_places(path, self.places)) {
            questions.places.push(Asking { path: place.physical, tree: false });
        }
        let io = &self.settings.policy.declared_io;
        if io.is_on() {
            self.tops(&mut questions);
            for entry in io.entries() {
                self.glob(entry, entry.ends_with('/') || entry.ends_with("**"), &mut questions);
            }
        }
        let reads_only = !self.settings.policy.read_only_role.roles.is_empty();
        if self.settings.has_team() || reads_only {
            if reads_only {
                self.tops(&mut questions);
            }
            self.of_roles(&mut questions);
            self.of_team(&mut questions);
        }
        questions
    }

    fn of_roles(&self, questions: &mut Questions) {
        let facts = self.facts(Vec::new());
        for (_, role) in RoleScope::of(self.settings).limits(&facts) {
            self.tops(questions);
            let opened = role.write.iter().chain(&role.read).flatten().chain(&role.also_write);
            for glob in opened.chain(&role.not_write).chain(&role.not_read) {
                self.glob(glob, false, questions);
            }
        }
        let member = &self.team.member;
        if let Some(list) = &member.may_write {
            self.tops(questions);
            let own = Owners::of(self.settings);
            for glob in list.iter().chain(own.also_open(member)) {
                self.glob(glob, false, questions);
            }
        }
        for glob in &member.may_read {
            self.glob(glob, false, questions);
        }
        let lockouts = Lockouts::of(self.settings);
        for artifact in lockouts.artifacts(&facts) {
            self.glob(artifact, false, questions);
        }
        if self.team.unreadable.is_some() {
            self.tops(questions);
        }
    }

    fn of_team(&self, questions: &mut Questions) {
        let settings = self.settings;
        let member = &self.team.member;
        if settings.policy.init_phase.is_on() && self.team.phase == TeamPhase::Proposed
            || member.is_coordinator()
        {
            self.tops(questions);
        }
        self.below_team("", false, questions);
        for path in ["config", "team.md", "decisions.md", "casting/registry.json", "agents/{name}/charter.md"]
        {
            self.below_team(path, false, questions);
        }
        for path in settings.policy.append_only.files() {
            self.below_team(path, false, questions);
        }
        for path in settings.policy.create_only_log.directories() {
            self.below_team(path, true, questions);
        }
        for rule in &settings.team.file {
            self.below_team(&rule.path, false, questions);
        }
    }

    /// The directories that a project has, and those of its builds, which some of the rules leave out.
    fn tops(&self, questions: &mut Questions) {
        let places = self.places;
        let tops =
            [&places.root, &places.project, &places.main].into_iter().flatten().chain(&places.siblings);
        for top in tops {
            questions.places.push(Asking { path: top.physical.clone(), tree: false });
        }
        if let Some(root) = &places.root {
            let built = BUILT.iter().map(|name| Asking { path: root.physical.join(name), tree: true });
            questions.places.extend(built);
        }
    }

    /// A path below the team's directory, with an owner's name or a `*` in it or not.
    fn below_team(&self, path: &str, tree: bool, questions: &mut Questions) {
        for team in &self.places.team {
            let (Some(above), Some(name)) = (team.physical.parent(), team.physical.file_name()) else {
                continue;
            };
            let whole = format!("{}/{}", name.to_string_lossy(), path.replace("{name}", "*"));
            if path.contains("{name}") {
                let own = self.team.member.names().map(|own| team.physical.join(path.replace("{name}", own)));
                questions.places.extend(own.map(|path| Asking { path, tree }));
            }
            glob_below(above, &whole, tree, questions);
        }
    }

    /// What a glob covers, below the root and beside the team's directories.
    fn glob(&self, glob: &str, tree: bool, questions: &mut Questions) {
        if glob::is_absolute(glob) {
            return glob_below(Path::new("/"), glob, tree, questions);
        }
        let roots = self.places.root.iter().map(|root| root.physical.as_path());
        let teams = self.places.team.iter().filter_map(|team| team.physical.parent());
        let mut bases: Vec<&Path> = roots.chain(teams).collect();
        bases.sort_unstable();
        bases.dedup();
        for base in bases {
            glob_below(base, glob, tree, questions);
        }
    }

    /// Looks for what a pattern covers.
    fn find(
        &self,
        directory: &Path,
        glob: &str,
        look: Look<'_>,
        left: &mut usize,
        found: &mut Vec<Asking>,
    ) -> Result<(), String> {
        let too_much = |what: &str| {
            format!(
                "{what} to hold `{glob}`, which the rules for this agent name; have a person name a directory instead"
            )
        };
        // Whoever owns a directory that is closed opens it and writes what is in it.
        let entries = (look.entries)(directory).ok_or_else(|| {
            let directory = directory.display();
            format!("{directory} cannot be read, so it cannot be told what `{glob}` covers there; `chmod u+rwx` it")
        })?;
        for (path, is_directory) in entries {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name == ".git" || (is_directory && BUILT.contains(&name)) {
                continue;
            }
            *left = left.checked_sub(1).ok_or_else(|| too_much("there are too many files"))?;
            let names = Names::of(&path, self.places);
            let is_meant = names.forbidden_by(glob) || (glob::is_bare(glob) && names.hold(glob));
            if is_meant {
                if found.len() == MOST_FOUND {
                    return Err(too_much("too many files would have"));
                }
                found.push(Asking { path: path.clone(), tree: false });
            }
            // All below a name that is meant as a whole has its rights.
            if is_directory && !(is_meant && (glob::is_bare(glob) || glob.ends_with("**"))) {
                self.find(&path, glob, look, left, found)?;
            }
        }
        Ok(())
    }
}

/// Whether it is the directory of a build that the project will make: nothing is there, and what says how to build is beside it.
fn is_to_be_made(path: &Path, look: Look<'_>) -> bool {
    const BUILDS: [(&str, &str); 2] = [("target", "Cargo.toml"), ("node_modules", "package.json")];
    let build = BUILDS.iter().find(|(name, _)| path.ends_with(name));
    let Some(((_, recipe), above)) = build.zip(path.parent()) else { return false };
    (look.is_plain)(&above.join(recipe)) && (look.is_free)(path)
}

fn glob_below(base: &Path, glob: &str, tree: bool, questions: &mut Questions) {
    let (names, is_place) = glob::known_part(glob);
    let path = names.iter().fold(base.to_owned(), |path, name| path.join(name));
    if is_place && !glob::is_bare(glob) {
        questions.places.push(Asking { path, tree });
    } else if is_place {
        // A bare word is a name anywhere for one rule, and a place for another.
        questions.places.push(Asking { path, tree });
        questions.patterns.push((base.to_owned(), glob.to_owned()));
    } else {
        questions.patterns.push((path, glob.to_owned()));
    }
}

/// What a program would do with a place. `tree`: with all that is in this directory.
fn asked_use(path: &Path, access: Access, tree: bool) -> Use<'static> {
    let id = NodeId { device: 0, inode: 0 };
    let directory = Node { kind: NodeKind::Directory, id, names: 1, changed: (0, 0) };
    Use {
        access,
        reach: if tree { Reach::Below } else { Reach::Exact },
        param: Cow::Borrowed(""),
        text: Cow::Borrowed(""),
        place: Ok(Resolved {
            lexical: path.to_owned(),
            physical: path.to_owned(),
            node: tree.then_some(directory),
            link: None,
        }),
        alias_of_own: false,
        foreign: false,
        nowhere: false,
        private: Vec::new(),
        holds_secret: false,
        own_lock: false,
        guess: false,
        change: None,
        origin: Some(Origin { span: (0, 0), via: None }),
    }
}

const PERSON: &str = "have a person do it, outside the agent";

impl AgentRule {
    fn of(finding: Finding) -> AgentRule {
        let reason = match finding.policy {
            "role-scope" => "this agent's role leaves it out",
            "read-only-role" => "this agent's role is to read",
            "coordinator-write" => "a coordinator does not do the work itself",
            "ownership" => "it is not this agent's to write",
            "own-charter" => "it is the charter that this agent works under",
            "init-phase" => "the user has not agreed to the team",
            "append-only" => "it may only grow, which a sandbox cannot hold a program to",
            "create-only-log" => "it is a log, which is written once and stays",
            "decision-inbox" => "the coordinator keeps it",
            "registry-names" => "no name may be lost in it, which a sandbox cannot hold a program to",
            "reviewer-lockout" => "this agent is locked out of it",
            "read-scope" => "it is private to another agent",
            "declared-io" => "it is not declared",
            "team-settings" => "it defines the team and its rules",
            _ => "the rules for this agent do not open it",
        };
        let instead = if finding.instead.is_empty() { PERSON.to_owned() } else { finding.instead };
        AgentRule { policy: finding.policy.to_owned(), reason: reason.to_owned(), instead }
    }
}

#[cfg(test)]
mod tests;
