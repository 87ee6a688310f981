//! What surrounds a call: where its session is, which rules hold there, who is calling. Gathered once, before the call
//! itself is looked at.

use std::path::PathBuf;

use toolgate_model::{
    Action, ActivationState, Call, ConfigChange, HooksStart, Host, NodeKind, PathArg, Phase, Place, Places,
    Resolver, Team,
};
use toolgate_policies::{Boundary, Containable, Relative, Settings};

use crate::alive::is_any_alive;
use crate::contain::containable;
use crate::counter::SessionCounter;
use crate::failure::Failure;
use crate::machine::Machine;
use crate::observe::command_member;
use crate::options::HookOptions;
use crate::pause;
use crate::registered;
use crate::session::{self, Session};
use crate::settings::{NoRules, RulesInForce, SettingsSources};
use crate::team::{TeamError, TeamSources};

/// What the gate knows besides the call.
#[derive(Debug)]
pub struct Surroundings {
    /// Where the session is, and whose.
    pub session: Session,
    /// The rules in force.
    pub rules: RulesInForce,
    /// The places as each layer of the rules sees them; `None` where that is as the session does.
    pub places: Vec<Option<Places>>,
    /// What decides whether the gate is active.
    pub activation: ActivationState,
    /// Who is calling, and what the team and the session have come to.
    pub team: Team,
    /// What a change of the host's settings would do to us.
    pub config: Option<ConfigChange>,
    /// The directory for temporary files that the host's environment names.
    pub tmp: Option<String>,
    /// Whether relative paths and commands are bound to the root: each layer wants that, and has the same root.
    pub binds_to_root: bool,
    /// Whether the call can be run in a sandbox.
    pub containable: Containable,
    /// Whether a contained program of an earlier call is alive that may write here.
    pub is_any_alive: bool,
    /// Files of hosts' settings from which our registration has gone, as an earlier call has found.
    pub lost: Vec<String>,
}

impl Surroundings {
    /// Each layer of settings, and the places as it sees them.
    pub fn layers(&self) -> impl Iterator<Item = (&Settings, &Places)> {
        let places = self.places.iter().map(|own| own.as_ref().unwrap_or(&self.session.places));
        self.rules.layers.iter().zip(places)
    }

    /// The same with what decides whether the gate is active. Where a layer is not, nothing is bound to the root: the call
    /// runs where it stands, and the floor judges it there.
    #[must_use]
    pub fn active_as(mut self, activation: ActivationState) -> Surroundings {
        let is_active = self.layers().all(|(layer, places)| layer.inactive_in(&activation, places).is_none());
        self.binds_to_root &= is_active;
        self.activation = activation;
        self
    }

    /// Sees the rules of a call whose session, team and place are known already. `env_root` gives the directory that a
    /// variable of the environment names, for profiles that take their root from there.
    pub fn new(
        machine: &dyn Machine,
        call: &Call<'_>,
        session: Session,
        rules: RulesInForce,
        env_root: impl Fn(&str) -> Option<Place>,
    ) -> Surroundings {
        let of = |layer: &Settings| layer_places(machine, call, &session.places, layer, &env_root);
        let places: Vec<Option<Places>> = rules.layers.iter().map(of).collect();
        let root = |own: &Option<Places>| own.as_ref().unwrap_or(&session.places).root.clone();
        // A path is made absolute only where every layer wants that, from the same root: each has then judged what
        // will run.
        let binds_to_root = rules.layers.iter().all(|layer| layer.relative == Relative::Rewrite)
            && places.windows(2).all(|pair| matches!(pair, [one, other] if root(one) == root(other)))
            && (!matches!(call.action, Action::Shell { .. }) || command_member(call).is_some());
        Surroundings {
            session,
            rules,
            places,
            activation: ActivationState::default(),
            team: Team::default(),
            config: None,
            tmp: None,
            binds_to_root,
            containable: Containable::NotConsidered,
            is_any_alive: false,
            lost: Vec::new(),
        }
    }
}

/// The places as this layer sees them: a profile may take each event's directory for the boundary, or one that
/// an environment variable names.
fn layer_places(
    machine: &dyn Machine,
    call: &Call<'_>,
    places: &Places,
    layer: &Settings,
    env_root: &impl Fn(&str) -> Option<Place>,
) -> Option<Places> {
    let root = match (layer.activation.root_env.as_str(), layer.boundary) {
        ("", Boundary::Session) => return None,
        ("", Boundary::Cwd) => {
            let found = Resolver::new(machine.world(), call.cwd.as_deref(), None).resolve(&PathArg::Cwd);
            found.ok().map(|found| Place { lexical: found.lexical, physical: found.physical })
        }
        (variable, _) => env_root(variable),
    };
    Some(Places { root, ..places.clone() })
}

/// Gathers what surrounds a call.
pub fn gather(
    machine: &dyn Machine,
    host: &dyn Host,
    options: &HookOptions,
    call: &Call<'_>,
    counter: &mut SessionCounter,
) -> Result<Surroundings, Failure> {
    let dirs = &options.dirs;
    let session = session_of(machine, host, options, call)?;
    let rules = rules_of(machine, host, options, &session.places)?;
    let mut env_roots = Vec::new();
    for layer in &rules.layers {
        let name = layer.activation.root_env.as_str();
        if !name.is_empty() {
            let value = machine.variable(name);
            let root = session::root_from_env(machine.world(), options.session.root.as_deref(), value);
            let root = root.map_err(|what| Failure::Options(format!("{name} {what}")))?;
            env_roots.push((name.to_owned(), root));
        }
    }
    let env_root = |wanted: &str| env_roots.iter().find(|(name, _)| name == wanted)?.1.clone();
    let config = config_change(machine, options, call)?;
    let sources = TeamSources {
        machine,
        dirs,
        options: &options.session,
        places: &session.places,
        layers: &rules.layers,
    };
    let team = sources.team(call, || counter.counts()).map_err(|error| match error {
        TeamError::Registry(what) => Failure::Registry(what),
        TeamError::Counts(error) => Failure::Ledger(error),
    })?;
    if session.registration_changed {
        registered::look(machine, dirs, call.host, &session.places);
    }
    let note = pause::note_of(machine, dirs, &session.places);
    let activation = ActivationState {
        trusted: options.activation.trusted.or(call.activation.trusted),
        mode: options.activation.mode.clone().or_else(|| call.activation.mode.clone()),
        paused: note.paused,
    };
    let tmp = machine.variable("TMPDIR").and_then(|tmp| tmp.into_string().ok());
    let containable = containable(machine, host, call, &session.places, &dirs.state);
    let root = session.places.root.as_ref().filter(|_| containable == Containable::Yes);
    let is_any_alive = root.is_some_and(|root| is_any_alive(machine, dirs, &root.physical));
    let surroundings = Surroundings::new(machine, call, session, rules, env_root);
    Ok(Surroundings {
        team,
        config,
        containable,
        is_any_alive,
        lost: note.lost,
        tmp: tmp.filter(|tmp| tmp.starts_with('/')),
        ..surroundings.active_as(activation)
    })
}

/// The session that a call belongs to.
pub(crate) fn session_of(
    machine: &dyn Machine,
    host: &dyn Host,
    options: &HookOptions,
    call: &Call<'_>,
) -> Result<Session, Failure> {
    let dirs = &options.dirs;
    if let Some(root) = &options.session.root {
        let found = Resolver::new(machine.world(), None, None).walk(root.clone()).ok();
        if found.and_then(|place| place.node).is_none_or(|node| node.kind != NodeKind::Directory) {
            return Err(Failure::Root(root.clone()));
        }
    }
    let named = host.project_variable().and_then(|name| machine.variable(name)).map(PathBuf::from);
    let in_place = host.hooks_start() == HooksStart::WithTheSession;
    let start = named.or_else(|| machine.directory().filter(|_| in_place));
    let session = session::session(machine, dirs, &options.session, call, start)
        .map_err(|error| Failure::Pin(dirs.state.clone(), error))?;
    // This hook has started in what is left of it, and the next one may not.
    if matches!(call.phase, Phase::Before | Phase::Permission) && host.loses_hooks_with_directory() {
        let is_gone = |start: &Place| {
            !machine.world().look(&start.physical).is_ok_and(|found| found.kind == NodeKind::Directory)
        };
        if let Some(gone) = session.places.start.as_ref().filter(|start| is_gone(start)) {
            return Err(Failure::Start(gone.lexical.clone()));
        }
        if in_place && machine.directory().is_none() {
            return Err(Failure::Start(call.cwd.as_deref().unwrap_or_default().into()));
        }
    }
    Ok(session)
}

/// The rules in force for a call that cannot be judged, where they can be read all the same.
pub(crate) fn rules_in_force(
    machine: &dyn Machine,
    host: &dyn Host,
    options: &HookOptions,
    call: &Call<'_>,
) -> Option<RulesInForce> {
    let session = session_of(machine, host, options, call).ok()?;
    rules_of(machine, host, options, &session.places).ok()
}

fn rules_of(
    machine: &dyn Machine,
    host: &dyn Host,
    options: &HookOptions,
    places: &Places,
) -> Result<RulesInForce, Failure> {
    let sources = SettingsSources::of(&options.dirs, places, options.profile.as_deref(), host.profile());
    sources.rules(machine).map_err(|error| match error {
        NoRules::Broken(error) => Failure::Settings(error),
        NoRules::Stale => Failure::NeedsSetup,
    })
}

/// What the host's changed settings would do to our hooks.
fn config_change(
    machine: &dyn Machine,
    options: &HookOptions,
    call: &Call<'_>,
) -> Result<Option<ConfigChange>, Failure> {
    let Action::Configure(file) = &call.action else { return Ok(None) };
    let setup = machine.setup().ok_or(Failure::NeedsSetup)?;
    let Some(file) = file.as_deref() else { return Ok(None) };
    Ok(Some(setup.config_change(machine, &options.dirs.state, call.host, file.as_ref())))
}
