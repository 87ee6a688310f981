//! The line. A call goes one way, once:
//!
//! ```text
//! host JSON ─decode─▶ Call ─effects─▶ Effects ─observe─▶ Facts ─decide─▶ Verdict ─append─▶ ledger ─encode─▶ host JSON
//! ```
//!
//! [`judge`] is its middle: from a call to a verdict, asking only the [`World`].

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use toolgate_effects::{Analysis, Scene, confined, effects, in_directory};
use toolgate_hosts::host;
use toolgate_model::{
    Access, Action, ActivationState, Call, ConfigChange, DirectoryChange, Effect, ExpandedTarget, Facts,
    Json, LookError, NodeId, NodeKind, PathArg, Place, Places, Reach, Resolved, Resolver, Ruleset,
    SECRET_LOOK, SecretName, Target, Team, Use, Verdict, World, holds_secret, secret_name,
};
use toolgate_policies::{Boundary, LimitKind, Relative, Settings, Sought, denied_names};

use crate::change::change;
use crate::content::Content;

/// What the gate knows besides the call.
pub struct Circumstances<'c> {
    /// The window on the disk.
    pub world: &'c dyn World,
    /// The layers of settings; every one of them has to be content.
    pub layers: &'c [Settings],
    /// Where the session stands.
    pub places: &'c Places,
    /// The host's word on trust and mode.
    pub activation: ActivationState,
    /// Who is calling, and what the team and the session have come to.
    pub team: &'c Team,
    /// What a change of the host's settings would do to us.
    pub config: Option<ConfigChange>,
    /// The directory for temporary files that the host's environment names.
    pub tmp: Option<&'c str>,
    /// Whether the host's environment lacks a variable.
    pub unset: &'c dyn Fn(&str) -> bool,
    /// The directory that an environment variable names, for profiles that take their root from there.
    pub env_root: &'c dyn Fn(&str) -> Option<Place>,
}

/// Decides one call.
pub fn judge(call: &Call<'_>, known: &Circumstances<'_>) -> Verdict {
    judge_and_count(call, known).verdict
}

/// A verdict, and what of the call is counted.
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// What limits count it as; empty where there are none.
    pub counted: Vec<LimitKind>,
    /// The directories that it writes to; empty where nobody asks.
    pub directories: Vec<PathBuf>,
}

/// Decides one call, and says what of it is counted.
pub fn judge_and_count(call: &Call<'_>, known: &Circumstances<'_>) -> Judged {
    let bench = Bench::of(call, known);
    let facts = bench.observed(bench.commanded().as_ref());
    let verdict = bench.verdict(&facts);
    let layers = || known.layers.iter().zip(&facts);
    let mut counted: Vec<LimitKind> = layers().flat_map(|(layer, facts)| layer.counted(facts)).collect();
    counted.sort();
    counted.dedup();
    let asks = |(layer, _): &(&Settings, _)| layer.telling.new_directories;
    let written = layers().filter(asks).flat_map(|(_, facts)| facts.uses.iter().filter(|used| used.writes()));
    let places = written.filter_map(|used| used.place.as_ref().ok());
    let mut directories: Vec<PathBuf> =
        places.filter_map(|place| place.lexical.parent().map(Path::to_path_buf)).collect();
    directories.sort();
    directories.dedup();
    Judged { verdict, counted, directories }
}

/// A verdict, and what each part of the call has to do with it.
pub struct Account<'a> {
    /// The verdict on the whole call.
    pub verdict: Verdict,
    /// The directory in which it starts.
    pub cwd: Option<String>,
    /// What it would do, in order.
    pub effects: Vec<Blamed<Effect<'a>>>,
    /// Changes of directory by the way they are written.
    pub changes: Vec<Blamed<DirectoryChange>>,
    /// Targets that bash expands first.
    pub expanded: Vec<Blamed<ExpandedTarget>>,
}

/// Something that a call would do, and the findings about it: their numbers in the verdict.
pub struct Blamed<T> {
    /// What.
    pub what: T,
    /// The findings.
    pub findings: Vec<usize>,
}

/// Decides one call and says which part of a command each objection is about: what is objected to a part that stands
/// alone, and not to a command that does nothing, is about that part. For people; a call of an agent needs no account.
pub fn account<'a>(call: &Call<'a>, known: &Circumstances<'_>) -> Account<'a> {
    let bench = Bench::of(call, known);
    let cwd = bench.cwd().map(str::to_owned);
    let Some(command) = bench.commanded() else {
        let own = known.layers.first().map(|layer| effects(call, &layer.tools, &scene(known, bench.cwd())));
        let effects = own.into_iter().flatten().map(|what| Blamed { what, findings: Vec::new() }).collect();
        return Account {
            verdict: bench.decide(None),
            cwd,
            effects,
            changes: Vec::new(),
            expanded: Vec::new(),
        };
    };
    let verdict = bench.decide(Some(&command));
    let of_nothing = bench.decide(Some(&Analysis::default()));
    let blame = |part: Analysis| -> Vec<usize> {
        if verdict.findings().is_empty() {
            return Vec::new();
        }
        let alone = bench.decide(Some(&part));
        let all = verdict.findings().iter().enumerate();
        let about = all.filter(|(_, finding)| {
            alone.findings().contains(finding) && !of_nothing.findings().contains(finding)
        });
        about.map(|(number, _)| number).collect()
    };
    let effects = command.effects.into_iter().map(|what| {
        let findings = blame(Analysis { effects: vec![what.clone()], ..Analysis::default() });
        Blamed { what, findings }
    });
    let changes = command.changes.into_iter().map(|what| {
        let findings = blame(Analysis { changes: vec![what.clone()], ..Analysis::default() });
        Blamed { what, findings }
    });
    let expanded = command.expanded.into_iter().map(|what| {
        let findings = blame(Analysis { expanded: vec![what.clone()], ..Analysis::default() });
        Blamed { what, findings }
    });
    let (effects, changes, expanded) = (effects.collect(), changes.collect(), expanded.collect());
    Account { verdict, cwd, effects, changes, expanded }
}

/// A call before its layers of settings.
struct Bench<'j, 'a> {
    call: &'j Call<'a>,
    known: &'j Circumstances<'j>,
    grounds: Vec<Cow<'j, Places>>,
    rewriting: bool,
}

impl<'j, 'a> Bench<'j, 'a> {
    fn of(call: &'j Call<'a>, known: &'j Circumstances<'_>) -> Self {
        let grounds: Vec<Cow<'_, Places>> =
            known.layers.iter().map(|layer| layer_ground(call, known, layer)).collect();
        // A path is made absolute only where every layer wants that, from the same root: each has then judged what
        // will run.
        let rewriting = known.layers.iter().all(|layer| layer.relative == Relative::Rewrite)
            && grounds.windows(2).all(|pair| matches!(pair, [one, other] if one.root == other.root))
            && (!matches!(call.action, Action::Shell { .. }) || command_member(call).is_some());
        Bench { call, known, grounds, rewriting }
    }

    /// The directory in which a command starts; a confined one starts in the root.
    fn cwd(&self) -> Option<&str> {
        if !self.rewriting {
            return self.call.cwd.as_deref();
        }
        self.grounds.first().and_then(|places| places.root.as_ref()).and_then(|root| root.lexical.to_str())
    }

    /// What a shell command would do. Found once, for all layers.
    fn commanded(&self) -> Option<Analysis> {
        let Action::Shell { command: Some(command), directory } = &self.call.action else { return None };
        // A command that is bound to the root does not start in the directory that the call names.
        let directory = directory.as_deref().filter(|_| !self.rewriting);
        Some(in_directory(directory, command, &scene(self.known, self.cwd())))
    }

    fn decide(&self, command: Option<&Analysis>) -> Verdict {
        self.verdict(&self.observed(command))
    }

    /// What is known of the call under each layer of settings.
    fn observed(&self, command: Option<&Analysis>) -> Vec<Facts<'_>> {
        let Bench { call, known, grounds, rewriting } = self;
        let looks = known
            .layers
            .iter()
            .zip(grounds)
            .map(|(layer, places)| observe(call, known, layer, places, *rewriting, command));
        looks.collect()
    }

    fn verdict(&self, facts: &[Facts<'_>]) -> Verdict {
        let Bench { call, known, rewriting, .. } = self;
        let lists: Vec<_> = known.layers.iter().map(Settings::lists).collect();
        let layers = known.layers.iter().zip(facts).zip(&lists);
        let overrides = host(call.host).is_some_and(toolgate_model::Host::grant_overrides_user);
        let rulesets: Vec<Ruleset<'_>> = layers
            .map(|((layer, facts), lists)| {
                layer.ruleset(facts, lists, layer.grant.reaches(call.host, overrides))
            })
            .collect();
        let verdict = Ruleset::decide(&rulesets);
        let stands = known.layers.iter().zip(facts).all(|(layer, facts)| layer.inactive(facts).is_none());
        match facts.first() {
            Some(facts) if *rewriting && stands => verdict.rewriting(rewrites(call, facts)),
            _ => verdict,
        }
    }
}

fn scene<'c>(known: &'c Circumstances<'_>, cwd: Option<&'c str>) -> Scene<'c> {
    let home = known.places.home.as_ref().and_then(|home| home.lexical.to_str());
    Scene { world: known.world, cwd, home, tmp: known.tmp, unset: known.unset }
}

/// The places as this layer sees them: a profile may take each event's directory for the boundary, or one that
/// an environment variable names.
fn layer_ground<'k>(call: &Call<'_>, known: &'k Circumstances<'_>, layer: &Settings) -> Cow<'k, Places> {
    let root = match (layer.activation.root_env.as_str(), layer.boundary) {
        ("", Boundary::Session) => return Cow::Borrowed(known.places),
        ("", Boundary::Cwd) => {
            let place = Resolver::new(known.world, call.cwd.as_deref(), None).resolve(&PathArg::Cwd);
            place.ok().map(|place| Place { lexical: place.lexical, physical: place.physical })
        }
        (variable, _) => (known.env_root)(variable),
    };
    Cow::Owned(Places { root, ..known.places.clone() })
}

/// Looks up what the call would do.
fn observe<'a>(
    call: &'a Call<'a>,
    known: &'a Circumstances<'_>,
    layer: &Settings,
    places: &'a Places,
    rewriting: bool,
    command: Option<&Analysis>,
) -> Facts<'a> {
    let home = places.home.as_ref().map(|home| home.lexical.as_path());
    let as_it_runs = Resolver::new(known.world, call.cwd.as_deref(), home);
    let from_the_root = rewriting.then(|| {
        let root = places.root.as_ref().and_then(|root| root.lexical.to_str());
        Resolver::new(known.world, root, home)
    });
    let mut facts = Facts {
        tool: &call.tool,
        agent: &call.agent,
        team: known.team,
        phase: call.phase,
        asks_user: matches!(call.action, Action::Question),
        command: match &call.action {
            Action::Shell { command, .. } => command.as_deref(),
            _ => None,
        },
        places,
        activation: known.activation.clone(),
        uses: Vec::new(),
        runs: Vec::new(),
        connects: false,
        unknown: Vec::new(),
        config: known.config.clone(),
        changes: command.map(|command| command.changes.clone()).unwrap_or_default(),
        expanded: command.map(|command| command.expanded.clone()).unwrap_or_default(),
    };
    let all = match command {
        Some(command) => command.effects.clone(),
        None => effects(call, &layer.tools, &scene(known, call.cwd.as_deref())),
    };
    for effect in all {
        let (access, target) = match effect {
            Effect::Use(access, target) => (access, target),
            Effect::Run(run) => {
                facts.runs.push(run);
                continue;
            }
            Effect::Connect => {
                facts.connects = true;
                continue;
            }
            Effect::Unknown(unknown) => {
                facts.unknown.push(unknown);
                continue;
            }
        };
        let text = target.path.text();
        // A guess at a path that names nothing on this machine was none: `/vercel/next.js`, `/remind me`.
        if target.guess && !begins_on_disk(known.world, text) {
            continue;
        }
        let from_the_root = from_the_root.as_ref().filter(|_| is_rewritable(call, &target.param, text));
        let resolver = from_the_root.unwrap_or(&as_it_runs);
        let place = match stream(text).filter(|_| target.origin.is_some()) {
            Some(place) => Ok(place),
            // A shell takes any name, blanks and line ends too.
            None if target.origin.is_some() => resolver.resolve_name(text),
            None => resolver.resolve(&target.path),
        };
        facts.uses.push(look_up(call, known, places, access, target, place));
    }
    let shown = host(call.host).is_some_and(|host| !host.changes_output(&call.tool));
    let mut content = Content::new(call, &facts.runs, layer, known.world);
    for used in &mut facts.uses {
        let sought = layer.sought(used, places, shown);
        used.private = content.private(used, Sought { change: false, ..sought });
        used.change = match &used.place {
            Ok(place) if sought.change => Some(change(call, used, place, known.world)),
            _ => None,
        };
    }
    facts
}

/// The standard streams by their names. Where these lead is the business of whoever starts the command; for us they are
/// links to our own.
fn stream(text: &str) -> Option<Resolved> {
    let is_stream = matches!(text, "/dev/stdin" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
        || text
            .strip_prefix("/dev/fd/")
            .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    is_stream.then(|| Resolved { lexical: text.into(), physical: text.into(), node: None })
}

/// Whether the first name of an absolute path stands for anything. Below what is not there nobody but the
/// administrator could make a file.
fn begins_on_disk(world: &dyn World, text: &str) -> bool {
    let Some(rest) = text.strip_prefix('/') else { return true };
    let first = rest.trim_start_matches('/').split('/').next().unwrap_or_default();
    !matches!(world.look(&Path::new("/").join(first)), Err(LookError::Absent))
}

fn look_up<'a>(
    call: &Call<'_>,
    known: &Circumstances<'_>,
    places: &Places,
    access: Access,
    target: Target<'a>,
    place: Result<Resolved, toolgate_model::Trouble>,
) -> Use<'a> {
    let alias_of_own =
        access.changes() && place.as_ref().is_ok_and(|place| is_alias_of_own(known.world, places, place));
    let foreign = place.as_ref().is_ok_and(|place| is_foreign(call, known, access, target.reach, place));
    let holds_secret = !access.changes() && place.as_ref().is_ok_and(|place| has_secret(known.world, place));
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
        private: Vec::new(),
        change: None,
        holds_secret,
        origin: target.origin,
    }
}

/// Whether a file whose name leaves that open holds a secret: a certificate's `.pem`, or a key's.
fn has_secret(world: &dyn World, place: &Resolved) -> bool {
    let leaves_open =
        |path: &Path| path.to_str().is_some_and(|path| secret_name(path) == Some(SecretName::Perhaps));
    place.node.as_ref().is_some_and(|node| node.kind == NodeKind::File)
        && place.paths().any(leaves_open)
        && world.read(&place.physical, SECRET_LOOK).is_ok_and(|start| holds_secret(&start))
}

/// Whether a change reaches what was in a shared temporary directory before the session.
fn is_foreign(
    call: &Call<'_>,
    known: &Circumstances<'_>,
    access: Access,
    reach: Reach,
    place: &Resolved,
) -> bool {
    const SHARED: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
    let reads_all = reach == Reach::Below && matches!(access, Access::Read | Access::Search);
    if !access.changes() && !reads_all {
        return false;
    }
    let path = place.physical.as_path();
    let Some((shared, rest)) =
        SHARED.iter().find_map(|shared| Some((shared, path.strip_prefix(shared).ok()?)))
    else {
        return false;
    };
    let Some(first) = rest.components().next() else { return reach == Reach::Below };
    let top = Path::new(shared).join(first);
    let of_session = call
        .session
        .as_deref()
        .is_some_and(|session| rest.components().any(|name| name.as_os_str() == session));
    let own = [&known.places.root, &known.places.home]
        .into_iter()
        .flatten()
        .any(|place| place.physical.starts_with(&top))
        || known.tmp.is_some_and(|tmp| Path::new(tmp).starts_with(&top));
    if !access.changes() || of_session || own || known.world.look(&top).is_err() {
        return false;
    }
    known.world.born(&top).is_some_and(|born| known.places.since.is_none_or(|since| born < since))
}

/// Whether the file has a second name among the files that no agent writes. Few files have two names at all.
fn is_alias_of_own(world: &dyn World, places: &Places, place: &Resolved) -> bool {
    const MOST: usize = 100_000;
    let Some(node) = place.node.as_ref().filter(|node| node.names > 1) else { return false };
    let own = places.own.iter().map(|own| own.physical.clone());
    let tops = [&places.home, &places.project, &places.main];
    let settings =
        tops.into_iter().flatten().flat_map(|top| denied_names().map(|name| top.physical.join(name)));
    let mut left = MOST;
    own.chain(settings).any(|path| is_or_holds(world, &path, node.id, &mut left))
}

/// More files than can be looked at count as the one that is sought.
fn is_or_holds(world: &dyn World, path: &Path, id: NodeId, left: &mut usize) -> bool {
    if *left == 0 {
        return true;
    }
    *left -= 1;
    if world.look(path).is_ok_and(|found| found.id == id) {
        return true;
    }
    world.list(path).is_ok_and(|names| names.iter().any(|name| is_or_holds(world, name, id, left)))
}

/// Whether a relative path can be made absolute: it is a member of the input itself. In the input of a tool
/// that nobody listed, a name could also have been found further down; then it must be the only one of its kind.
/// Any other path is judged where it will run.
fn is_rewritable(call: &Call<'_>, param: &str, text: &str) -> bool {
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

/// The relative paths of an allowed call, made absolute from the root. A pattern stays a pattern.
fn rewrites(call: &Call<'_>, facts: &Facts<'_>) -> Vec<(String, String)> {
    let Some(root) = facts.places.root.as_ref().and_then(|root| root.lexical.to_str()) else {
        return Vec::new();
    };
    if let Some((param, command)) = command_member(call) {
        // Another of our hooks may have bound it before.
        let start = confined(":", root);
        let inner = start.strip_suffix(':').and_then(|start| command.strip_prefix(start));
        // Not by its beginning alone: `cd ROOT && : & rest` starts the rest elsewhere.
        let is_bound = inner.is_some_and(|inner| confined(inner, root) == *command);
        return if is_bound { Vec::new() } else { vec![(param.to_owned(), confined(command, root))] };
    }
    let relative = facts.uses.iter().filter(|used| is_rewritable(call, &used.param, &used.text));
    let absolute = |used: &Use<'_>| match &used.place {
        Ok(place) if used.reach == Reach::Exact => place.lexical.to_str().map(str::to_owned),
        _ => Some(format!("{root}/{}", used.text)),
    };
    relative.filter_map(|used| Some((used.param.to_string(), absolute(used)?))).collect()
}
