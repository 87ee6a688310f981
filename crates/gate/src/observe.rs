//! What a call would do, and what is there: the facts that policies judge by. Asks the [`World`] and nothing else.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use toolgate_effects::{Analysis, Scene, effects, in_directory};
use toolgate_hosts::host;
use toolgate_model::{
    Access, Action, Call, Effect, Facts, InShared, Json, LookError, NodeId, NodeKind, PathArg, Places, Reach,
    Resolved, Resolver, SECRET_LOOK, SecretName, Target, Trouble, Use, World, holds_secret, secret_name,
};
use toolgate_policies::{ContentSearch, Secrets, Settings, denied_names};

use crate::change::change;
use crate::content::Content;
use crate::doubts::add_doubts;
use crate::gather::Surroundings;
use crate::git::{own_git_dir, worktree_notes};
use crate::machine::Machine;
use crate::redaction::wanted;

/// What is known of the call under each layer of settings.
pub fn observe<'a>(
    machine: &'a dyn Machine,
    call: &'a Call<'a>,
    surroundings: &'a Surroundings,
) -> Vec<Facts<'a>> {
    observe_as(machine, call, surroundings, analysed(machine, call, surroundings).as_ref())
}

/// The same, of a call whose command would do this.
pub(crate) fn observe_as<'a>(
    machine: &'a dyn Machine,
    call: &'a Call<'a>,
    surroundings: &'a Surroundings,
    command: Option<&Analysis>,
) -> Vec<Facts<'a>> {
    let view = View { machine, call, surroundings };
    surroundings.layers().map(|(layer, places)| view.facts(layer, places, command)).collect()
}

/// What a shell command would do; `None` of any other call. Found once, for all layers.
pub(crate) fn analysed(
    machine: &dyn Machine,
    call: &Call<'_>,
    surroundings: &Surroundings,
) -> Option<Analysis> {
    let Action::Shell { command: Some(command), directory } = &call.action else { return None };
    // A command that is bound to the root does not start in the directory that the call names.
    let directory = directory.as_deref().filter(|_| !surroundings.binds_to_root);
    let start = start(call, surroundings);
    let mut analysis =
        in_scene(machine, surroundings, start, |scene| in_directory(directory, command, scene));
    add_doubts(machine, call, surroundings, command, &mut analysis);
    Some(analysis)
}

/// The directory in which a command starts; a bound one starts in the root.
pub(crate) fn start<'c>(call: &'c Call<'_>, surroundings: &'c Surroundings) -> Option<&'c str> {
    if !surroundings.binds_to_root {
        return call.cwd.as_deref();
    }
    surroundings
        .layers()
        .next()
        .and_then(|(_, places)| places.root.as_ref())
        .and_then(|root| root.lexical.to_str())
}

/// Looks at something in the scene of a call that starts in this directory.
pub(crate) fn in_scene<T>(
    machine: &dyn Machine,
    surroundings: &Surroundings,
    cwd: Option<&str>,
    look: impl FnOnce(&Scene<'_>) -> T,
) -> T {
    let home = surroundings.session.places.home.as_ref().and_then(|home| home.lexical.to_str());
    let unset = |name: &str| machine.variable(name).is_none();
    let root = surroundings.session.places.root.as_ref().and_then(|root| root.lexical.to_str());
    look(&Scene { world: machine.world(), cwd, root, home, tmp: surroundings.tmp.as_deref(), unset: &unset })
}

/// A call, looked at in its surroundings.
struct View<'a> {
    machine: &'a dyn Machine,
    call: &'a Call<'a>,
    surroundings: &'a Surroundings,
}

impl<'a> View<'a> {
    /// Looks up what the call would do, under one layer of settings.
    fn facts(&self, layer: &Settings, places: &'a Places, command: Option<&Analysis>) -> Facts<'a> {
        let View { machine, call, surroundings } = *self;
        let world = machine.world();
        let mut facts = Facts {
            tool: &call.tool,
            agent: &call.agent,
            team: &surroundings.team,
            phase: call.phase,
            asks_user: matches!(call.action, Action::Question),
            command: match &call.action {
                Action::Shell { command, .. } => command.as_deref(),
                _ => None,
            },
            places,
            activation: surroundings.activation.clone(),
            uses: Vec::new(),
            runs: Vec::new(),
            connects: false,
            unknown: Vec::new(),
            config: surroundings.config.clone(),
            redacts: redacts(call, surroundings),
            changes: command.map(|command| command.changes.clone()).unwrap_or_default(),
            expanded: command.map(|command| command.expanded.clone()).unwrap_or_default(),
        };
        let all = match command {
            Some(command) => command.effects.clone(),
            None => in_scene(machine, surroundings, call.cwd.as_deref(), |scene| {
                effects(call, &layer.tools, scene)
            }),
        };
        let resolvers = Resolvers::new(world, call, surroundings.binds_to_root, places);
        let own_files = OwnFiles::default();
        for effect in all {
            match effect {
                // A guess at a path that names nothing on this machine was none: `/vercel/next.js`, `/remind me`.
                Effect::Use(_, target) if target.guess && !begins_on_disk(world, target.path.text()) => {}
                Effect::Use(access, target) => {
                    let place = resolvers.resolve(call, &target);
                    facts.uses.push(self.used((places, &own_files), access, target, place));
                }
                Effect::Run(run) => facts.runs.push(run),
                Effect::Connect => facts.connects = true,
                Effect::Unknown(unknown) => facts.unknown.push(unknown),
            }
        }
        let shown = host(call.host).is_some_and(|host| !host.changes_output(&call.tool));
        let mut content = Content::new(call, &facts.runs, layer, world);
        for used in &mut facts.uses {
            let search = layer.content_search(used, places, shown);
            used.private = content.private(used, ContentSearch { change: false, ..search });
            used.change = match &used.place {
                Ok(place) if search.change => Some(change(call, used, place, world)),
                _ => None,
            };
        }
        facts
    }

    fn used(
        &self,
        (places, own_files): (&Places, &OwnFiles),
        access: Access,
        target: Target<'a>,
        place: Result<Resolved, Trouble>,
    ) -> Use<'a> {
        let world = self.machine.world();
        let alias_of_own =
            access.changes() && place.as_ref().is_ok_and(|place| own_files.have(world, places, place));
        let foreign = place.as_ref().is_ok_and(|place| self.is_foreign(access, target.reach, place));
        let one_file = access == Access::Delete && target.reach == Reach::Exact;
        let nothing = |place: &Resolved| one_file && place.node.is_none();
        let nowhere = place.as_ref().is_ok_and(|place| nothing(place) || is_nowhere(world, place));
        let own_lock =
            access == Access::Delete && place.as_ref().is_ok_and(|place| is_own_lock(world, places, place));
        let holds_secret = !access.changes() && place.as_ref().is_ok_and(|place| has_secret(world, place));
        let text = match target.path {
            PathArg::Text(text) | PathArg::Pattern(text) => text,
            PathArg::Cwd | PathArg::Missing | PathArg::NotText(_) => Cow::Borrowed(""),
        };
        Use {
            access,
            reach: target.reach,
            param: target.param,
            text,
            place,
            alias_of_own,
            foreign,
            nowhere,
            own_lock,
            guess: target.guess || target.assumed,
            private: Vec::new(),
            change: None,
            holds_secret,
            origin: target.origin,
        }
    }

    /// Whether a change reaches what was in a shared temporary directory before the session.
    fn is_foreign(&self, access: Access, reach: Reach, place: &Resolved) -> bool {
        let View { call, surroundings, .. } = self;
        let (places, world) = (&surroundings.session.places, self.machine.world());
        let reads_all = reach == Reach::Below && matches!(access, Access::Read | Access::Search);
        if !access.changes() && !reads_all {
            return false;
        }
        let Some(shared) = InShared::of(&place.physical) else { return false };
        let Some(top) = shared.top() else { return reach == Reach::Below };
        let of_session = call
            .session
            .as_deref()
            .is_some_and(|session| shared.rest.components().any(|name| name.as_os_str() == session));
        let own =
            [&places.root, &places.home].into_iter().flatten().any(|place| place.physical.starts_with(&top))
                || surroundings.tmp.as_deref().is_some_and(|tmp| Path::new(tmp).starts_with(&top));
        if !access.changes() || of_session || own || world.look(&top).is_err() {
            return false;
        }
        world.born(&top).is_some_and(|born| places.since.is_none_or(|since| born < since))
    }
}

/// Whether secrets are taken out of what a call prints, also where it fails: after the call, or on the way where the host does not let
/// a failing command's output be changed.
fn redacts(call: &Call<'_>, surroundings: &Surroundings) -> bool {
    let Some(host) = host(call.host) else { return false };
    let on_the_way = || host.launches(&call.tool) && command_member(call).is_some();
    host.changes_output(&call.tool)
        && (!host.keeps_failed_output(&call.tool) || on_the_way())
        && wanted(&surroundings.rules.layers).secrets == Secrets::All
}

/// Where paths of a call lead: as it runs, or from the root where it is bound to that.
struct Resolvers<'r> {
    as_it_runs: Resolver<'r>,
    from_the_root: Option<Resolver<'r>>,
}

impl<'r> Resolvers<'r> {
    fn new(
        world: &'r dyn World,
        call: &'r Call<'_>,
        binds_to_root: bool,
        places: &'r Places,
    ) -> Resolvers<'r> {
        let home = places.home.as_ref().map(|home| home.lexical.as_path());
        let root = places.root.as_ref().and_then(|root| root.lexical.to_str());
        Resolvers {
            as_it_runs: Resolver::new(world, call.cwd.as_deref(), home),
            from_the_root: binds_to_root.then(|| Resolver::new(world, root, home)),
        }
    }

    fn resolve(&self, call: &Call<'_>, target: &Target<'_>) -> Result<Resolved, Trouble> {
        let text = target.path.text();
        let from_the_root = self.from_the_root.as_ref().filter(|_| is_rewritable(call, &target.param, text));
        let resolver = from_the_root.unwrap_or(&self.as_it_runs);
        match stream(text).filter(|_| target.origin.is_some()) {
            Some(place) => Ok(place),
            // A shell takes any name, blanks and line ends too.
            None if target.origin.is_some() => resolver.resolve_name(text),
            None => resolver.resolve(&target.path),
        }
    }
}

/// The standard streams by their names. Where these lead is the business of whoever starts the command; for us they are
/// links to our own.
fn stream(text: &str) -> Option<Resolved> {
    let is_stream = matches!(text, "/dev/stdin" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
        || text
            .strip_prefix("/dev/fd/")
            .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    is_stream.then(|| Resolved { lexical: text.into(), physical: text.into(), node: None, link: None })
}

/// Whether the first name of an absolute path stands for anything. Below what is not there nobody but the
/// administrator could make a file.
fn begins_on_disk(world: &dyn World, text: &str) -> bool {
    let Some(rest) = text.strip_prefix('/') else { return true };
    let first = rest.trim_start_matches('/').split('/').next().unwrap_or_default();
    !matches!(world.look(&Path::new("/").join(first)), Err(LookError::Absent))
}

/// Whether there is no directory that a place could lie in: none of that name, or a file. A linked worktree's `.git` is one.
fn is_nowhere(world: &dyn World, place: &Resolved) -> bool {
    let holds_nothing = |path: &Path| match world.look(path) {
        Ok(node) => matches!(node.kind, NodeKind::File | NodeKind::Special),
        Err(error) => error == LookError::Absent,
    };
    place.node.is_none() && place.physical.parent().is_some_and(holds_nothing)
}

/// Whether this is one of git's locks, and this session's own: in the git directory of a plain clone, or in the part of it that
/// is this linked worktree's. What others hold in a directory that they share is theirs.
fn is_own_lock(world: &dyn World, places: &Places, place: &Resolved) -> bool {
    let is_lock = place.physical.extension().is_some_and(|ending| ending == "lock");
    let is_file = place.node.as_ref().is_none_or(|node| node.kind == NodeKind::File);
    let Some(root) = places.root.as_ref().filter(|_| is_lock && is_file) else { return false };
    let dot_git = root.physical.join(".git");
    let is_clone = || world.look(&dot_git).is_ok_and(|node| node.kind == NodeKind::Directory);
    let own = match own_git_dir(world, &root.physical) {
        Some(own) => own,
        // A clone of its own: all of it, but for the worktrees that hang on it.
        None if is_clone() && !place.physical.starts_with(worktree_notes(&dot_git)) => dot_git,
        None => return false,
    };
    place.physical.starts_with(own)
}

/// Whether a file whose name leaves that open holds a secret: a certificate's `.pem`, or a key's.
fn has_secret(world: &dyn World, place: &Resolved) -> bool {
    let leaves_open =
        |path: &Path| path.to_str().is_some_and(|path| secret_name(path) == Some(SecretName::Perhaps));
    place.node.as_ref().is_some_and(|node| node.kind == NodeKind::File)
        && place.paths().any(leaves_open)
        && world.read(&place.physical, SECRET_LOOK).is_ok_and(|start| holds_secret(&start))
}

/// The files that no agent writes, by what they are and not by their names. They are looked for once, when the first file with a second
/// name is changed: few files have two names at all.
#[derive(Default)]
struct OwnFiles(OnceCell<Option<Vec<NodeId>>>);

impl OwnFiles {
    /// Whether the file has a second name among them. Where they are more than can be looked at, any file may.
    fn have(&self, world: &dyn World, places: &Places, place: &Resolved) -> bool {
        let Some(node) = place.node.as_ref().filter(|node| node.names > 1) else { return false };
        let own = self.0.get_or_init(|| own_files(world, places));
        own.as_ref().is_none_or(|own| own.contains(&node.id))
    }
}

/// `None` where there are too many. Only a file with two names can be one that is also called otherwise.
fn own_files(world: &dyn World, places: &Places) -> Option<Vec<NodeId>> {
    const MOST: usize = 20_000;
    let own = places.own.iter().map(|own| own.physical.clone());
    let tops = [&places.home, &places.project, &places.main];
    let settings =
        tops.into_iter().flatten().flat_map(|top| denied_names().map(|name| top.physical.join(name)));
    let mut open: Vec<PathBuf> = own.chain(settings).collect();
    let (mut left, mut ids) = (MOST, Vec::new());
    while let Some(path) = open.pop() {
        left = left.checked_sub(1)?;
        match world.look(&path) {
            Ok(node) if node.kind == NodeKind::Directory => {
                if let Ok(names) = world.names(&path, left) {
                    open.extend(names?);
                }
            }
            Ok(node) if node.names > 1 => ids.push(node.id),
            Ok(_) | Err(_) => {}
        }
    }
    Some(ids)
}

/// Whether a relative path can be made absolute: it is a member of the input itself. In the input of a tool
/// that nobody listed, a name could also have been found further down; then it must be the only one of its kind.
/// Any other path is judged where it will run.
pub(crate) fn is_rewritable(call: &Call<'_>, param: &str, text: &str) -> bool {
    let is_relative = !text.is_empty() && !text.starts_with(['/', '~']);
    let is_text = matches!(call.input.get(param), Some(Json::Text(_)));
    let is_member = match &call.action {
        // Not the member's own text: its host may read `@a` as `a`.
        Action::Files(uses) => uses
            .iter()
            .any(|used| used.param == param && matches!(&used.path, PathArg::Text(own) if own == text)),
        _ => matches!(call.input.get(param), Some(Json::Text(member)) if member == text),
    };
    let listed = !matches!(call.action, Action::Unlisted { .. });
    is_relative && is_text && is_member && (listed || occurs_once(&call.input, param))
}

fn occurs_once(input: &Json<'_>, key: &str) -> bool {
    fn count(value: &Json<'_>, key: &str) -> usize {
        match value {
            Json::Object(members) => {
                members.iter().map(|(name, value)| usize::from(name == key) + count(value, key)).sum()
            }
            Json::List(values) => values.iter().map(|value| count(value, key)).sum(),
            Json::Null | Json::Bool(_) | Json::Int(_) | Json::Big(_) | Json::Float(_) | Json::Text(_) => 0,
        }
    }
    count(input, key) == 1
}

/// The member of the input that is the command, as it stands.
pub(crate) fn command_member<'c>(call: &'c Call<'_>) -> Option<(&'c str, &'c str)> {
    let (Action::Shell { command: Some(command), .. }, Json::Object(members)) = (&call.action, &call.input)
    else {
        return None;
    };
    let is_command = |value: &Json<'_>| value.text() == Some(command);
    members.iter().find(|(_, value)| is_command(value)).map(|(name, _)| (&**name, &**command))
}
