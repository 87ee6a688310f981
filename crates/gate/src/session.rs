//! The places of a session: found once, pinned, and from then on out of the agent's hands.
//!
//! The root comes from the registration (`--root`), or from what was pinned when the session began, or from the
//! host's own word (a variable, or where it starts its hooks), or, for the first event only, from the event's
//! directory. Never from where an agent has since gone.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolgate_evidence::Digest;
use toolgate_model::{
    Call, HooksStart, Kept, KeptFrom, LookError, NodeKind, Phase, Place, Places, Resolver, TEAM_DIRECTORIES,
    World,
};
use toolgate_policies::{asked_names, denied_names};

use crate::dirs::{Dirs, user_name};
use crate::git::{self, Layout};
use crate::machine::Machine;
use crate::options::SessionOptions;
use crate::registered;
use crate::settings::BUILD;
use crate::store::{checksum, name_for, read_checked, write_checked};

/// A session as a call finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The places that it knows.
    pub places: Places,
    /// The name of the user who runs it.
    pub user: String,
    /// A settings file in which we are registered has changed since the session's last event.
    pub registration_changed: bool,
}

/// What is kept of a session between its events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Pin {
    /// What the registration said; another registration has another pin.
    registration: String,
    places: Places,
    user: String,
    /// Worktrees that the host itself moved the session into.
    entered: Vec<PathBuf>,
    /// The files of git that the siblings were read from, and when each last changed.
    notes: Vec<Stamped>,
    /// The settings files in which the host has our registration, likewise.
    registered: Vec<Stamped>,
}

/// A file, and when it last changed; `None` where it is not there.
type Stamped = (PathBuf, Option<(i64, i64)>);

/// The form of a pin, as a part of its name: one that has another form is not read.
const FORM: &[u8] = b"with settings files";

/// A pin is a few paths, and one for every sibling.
const MAX_PIN: usize = 16 * 1024 * 1024;
/// The note of registrations holds every file as it was before, some of them a repository's.
const MAX_NOTE: usize = 64 * 1024 * 1024;

/// Finds the places of this call's session, and pins them where that has not been done.
///
/// What is pinned is where links led when the session began; only the list of the repository's worktrees is
/// kept up to date, from git's own files.
pub fn session(
    machine: &dyn Machine,
    dirs: &Dirs,
    options: &SessionOptions,
    call: &Call<'_>,
    start: Option<PathBuf>,
) -> io::Result<Session> {
    let world = machine.world();
    let finder = Finder { machine, world, dirs, options };
    let registration = finder.registration(None);
    let pinned = |registration: &str| -> io::Result<(Option<PathBuf>, Option<Pin>)> {
        let file = call.session.as_deref().map(|session| pin_file(dirs, session, registration));
        let known = match &file {
            Some(file) => read_pin(world, file)?,
            None => None,
        };
        Ok((file, known.filter(|pin| pin.registration == registration)))
    };
    let (mut file, mut known) = pinned(&registration)?;
    let mut registration = registration;
    // A client that starts its hooks where it stands itself, and stands elsewhere once a person has taken the session up again, has
    // another pin there. Only the event that says so makes one: a link in the place of the session's directory does not.
    let stands =
        toolgate_hosts::host(call.host).filter(|host| host.hooks_start() == HooksStart::WithTheSession);
    if let (Some(first), Some(start)) = (&known, stands.and(start.as_deref())) {
        let elsewhere = finder.place_at(start).physical;
        if first.places.start.as_ref().is_some_and(|start| start.physical != elsewhere) {
            let there = finder.registration(Some(&elsewhere));
            let (file_there, known_there) = pinned(&there)?;
            if known_there.is_some() || call.resumed {
                (file, known, registration) = (file_there, known_there, there);
            }
        }
    }
    let (mut pin, mut changed) = match known {
        Some(pin) => (pin, false),
        None => match finder.find(call, start, registration)? {
            Some(pin) => (pin, true),
            None => {
                let places = finder.nowhere();
                return Ok(Session { places, user: user_name(machine), registration_changed: false });
            }
        },
    };
    let siblings_before = pin.places.siblings.clone();
    if pin.notes.iter().any(|note| has_changed(world, note)) {
        finder.list_worktrees(&mut pin);
        changed = true;
    }
    let mut registration_changed = false;
    if matches!(call.phase, Phase::Start | Phase::Prompt)
        || pin.registered.iter().any(|file| has_changed(world, file))
    {
        let registered = finder.registered(call.host, &pin.places);
        registration_changed = registered != pin.registered;
        changed |= registration_changed;
        pin.registered = registered;
    }
    let transcripts = call.transcript.as_deref().and_then(|path| Path::new(path).parent());
    if let Some(path) = transcripts.filter(|path| path.is_absolute())
        && pin.places.transcripts.as_ref().is_none_or(|known| known.lexical.as_os_str() != path.as_os_str())
        && let Some(place) = finder.transcripts_at(path, call.host, &pin.places)
    {
        pin.places.transcripts = Some(place);
        finder.find_kept(call, &mut pin.places);
        changed = true;
    }
    if let Some(entered) = finder.worktree_of_host(call, &pin, &siblings_before) {
        pin.entered.push(entered);
        finder.list_worktrees(&mut pin);
        changed = true;
    }
    if let (Some(file), true) = (file, changed) {
        // INVARIANT: a session that cannot be pinned is an error. Found anew for each call, its root would follow the agent. A
        // path that is not UTF-8 cannot be.
        let bytes = postcard::to_allocvec(&pin).map_err(|_| io::ErrorKind::InvalidFilename)?;
        write_checked(&file, bytes)?;
        // Once a session: from now on its records are sealed. Best effort, as the sealing itself.
        let _ = toolgate_evidence::due::enable(&dirs.state);
    }
    Ok(Session { places: pin.places, user: pin.user, registration_changed })
}

/// INVARIANT: a pin that is there and cannot be read is an error. Finding the root anew would let it follow the
/// agent.
fn read_pin(world: &dyn World, file: &Path) -> io::Result<Option<Pin>> {
    let Some(bytes) = read_checked(world, file, MAX_PIN)? else { return Ok(None) };
    postcard::from_bytes(&bytes).map(Some).map_err(|_| io::ErrorKind::InvalidData.into())
}

fn has_changed(world: &dyn World, (path, stamp): &Stamped) -> bool {
    stamp_of(world, path) != *stamp
}

fn stamp_of(world: &dyn World, path: &Path) -> Option<(i64, i64)> {
    world.look(path).ok().map(|node| node.changed)
}

/// Looks for the places of a session that is not pinned yet.
struct Finder<'f> {
    machine: &'f dyn Machine,
    world: &'f dyn World,
    dirs: &'f Dirs,
    options: &'f SessionOptions,
}

impl Finder<'_> {
    /// All that the registration says, in one text, and where the client stands, where that is told apart.
    fn registration(&self, stands: Option<&Path>) -> String {
        let Dirs { home, config, state, managed } = self.dirs;
        let SessionOptions { root, agent, .. } = self.options;
        let root = root.as_deref().unwrap_or(Path::new(""));
        let parts = [home, config, state, managed, root].map(|path| path.to_string_lossy());
        // The name by which we were started: after an installation elsewhere, other files are our own.
        let binary = self.machine.started_as();
        format!(
            "{}\n{}\n{}\n{}",
            parts.join("\n"),
            agent.as_deref().unwrap_or_default(),
            binary.to_string_lossy(),
            stands.unwrap_or(Path::new("")).to_string_lossy(),
        )
    }

    fn place_at(&self, path: &Path) -> Place {
        let place = Resolver::new(self.world, None, None).walk(path.to_path_buf());
        let lexical = toolgate_model::clean(path);
        Place { physical: place.map_or_else(|_| lexical.clone(), |place| place.physical), lexical }
    }

    /// A directory of transcripts, if it lies where this host keeps its own things: in its directory of the home, or beside
    /// the settings that we are registered in. Anywhere else an event's word would open what is nobody's transcript.
    fn transcripts_at(&self, path: &Path, host: &str, places: &Places) -> Option<Place> {
        let place = self.place_at(path);
        let usual = toolgate_hosts::host(host)?.own_directory()?;
        let usual = self.place_at(&self.dirs.home.join(usual));
        let registered = places.own.iter().filter(|own| own.lexical.ends_with("settings.json"));
        let beside = registered.filter_map(|own| Some((own.lexical.parent()?, own.physical.parent()?)));
        let homes = [(usual.lexical.as_path(), usual.physical.as_path())];
        let is_inside = |(lexical, physical): (&Path, &Path)| {
            let below = |path: &Path, top: &Path| path != top && path.starts_with(top);
            below(&place.lexical, lexical) && below(&place.physical, physical)
        };
        homes.into_iter().chain(beside).any(is_inside).then_some(place)
    }

    /// A worktree that the host has made for this session, or for a helper of it.
    ///
    /// The session's is the one that the host says it has moved to, if it was not there before: that would be somebody else's. The list is
    /// as old as the event before the call. A helper's bears the id by which the host knows the helper that calls, which nobody else
    /// gives out. Both lie where the host puts them, of this worktree or of the main checkout, and git knows them.
    fn worktree_of_host(&self, call: &Call<'_>, pin: &Pin, before: &[Place]) -> Option<PathBuf> {
        let root = pin.places.root.as_ref()?;
        let own = toolgate_hosts::host(call.host)?.own_directory()?;
        let made = |top: &Place| top.physical.join(own).join("worktrees");
        let places: Vec<PathBuf> = std::iter::once(root).chain(&pin.places.main).map(made).collect();
        let is_new = |path: &PathBuf| !pin.entered.contains(path);
        if let Some(entered) = call.entered.as_deref() {
            let entered = self.place_at(Path::new(entered)).physical;
            let lies_well =
                root.holds(&entered) || places.iter().any(|place| entered.parent() == Some(place));
            let known = before.iter().any(|sibling| sibling.physical == entered);
            return Some(entered).filter(|entered| lies_well && !known && is_new(entered));
        }
        let id = call.agent.id.as_deref().filter(|id| is_plain_id(id))?;
        let name = format!("agent-{id}");
        let mut helpers = places.iter().map(|place| place.join(&name));
        helpers.find(|path| is_new(path) && pin.places.siblings.iter().any(|known| known.physical == *path))
    }

    /// What the host keeps for this session, by its own ways of naming it.
    fn find_kept(&self, call: &Call<'_>, places: &mut Places) {
        let Some(host) = toolgate_hosts::host(call.host) else { return };
        let session = call.session.as_deref().filter(|id| {
            id.len() >= 8 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        });
        let started = places.start.as_ref().or(places.root.as_ref());
        let project = started.map(|start| {
            let digest = Digest::of(start.lexical.as_os_str().as_encoded_bytes()).to_string();
            digest.rsplit(':').next().unwrap_or_default().to_owned()
        });
        let above =
            places.transcripts.as_ref().and_then(|place| place.lexical.parent()).map(Path::to_path_buf);
        (places.kept, places.drafts) = (Vec::new(), Vec::new());
        for Kept { from, path, written } in host.keeps() {
            let base = match from {
                KeptFrom::Home => Some(self.dirs.home.clone()),
                KeptFrom::AboveTranscripts => above.clone(),
            };
            let mut path = (*path).to_owned();
            for (name, value) in [("{session}", session), ("{project}", project.as_deref())] {
                match value {
                    Some(value) => path = path.replace(name, value),
                    None if path.contains(name) => path.clear(),
                    None => {}
                }
            }
            if let (Some(base), false) = (base, path.is_empty()) {
                let place = self.place_at(&base.join(path));
                if *written { places.drafts.push(place) } else { places.kept.push(place) }
            }
        }
    }

    /// The places of a call that comes from nowhere.
    fn nowhere(&self) -> Places {
        let Dirs { home, config, state, managed } = self.dirs;
        let mut own: Vec<Place> = [config, state, managed].map(|path| self.place_at(path)).into();
        if let Some(binary) = self.machine.program() {
            own.extend(["toolgate", "toolgate-cli"].map(|name| Place::plain(binary.with_file_name(name))));
        }
        Places { home: Some(self.place_at(home)), own, ..Places::default() }
    }

    /// `start` is where the host's own word places the session, where that is not the event's.
    fn find(&self, call: &Call<'_>, start: Option<PathBuf>, registration: String) -> io::Result<Option<Pin>> {
        let told = || start.filter(|path| path.is_absolute());
        let here = || call.cwd.as_deref().map(PathBuf::from).filter(|path| path.is_absolute());
        let Some(start) = self.options.root.clone().or_else(told).or_else(here) else { return Ok(None) };
        let mut places = self.nowhere();
        // Only a session that is pinned has a beginning.
        places.since = call.session.as_ref().and_then(|_| {
            let now = self.machine.now().duration_since(std::time::UNIX_EPOCH).ok()?;
            Some((i64::try_from(now.as_secs()).ok()?, i64::from(now.subsec_nanos())))
        });
        let start = self.place_at(&start);
        let served = toolgate_hosts::host(call.host).is_some_and(toolgate_model::Host::is_served);
        places.start = (!served).then(|| start.clone());
        // A session that starts above the home has no project: it would be given everybody's.
        let above_home =
            |home: &Place| home.physical != start.physical && home.physical.starts_with(&start.physical);
        if self.options.root.is_none() && places.home.as_ref().is_some_and(above_home) {
            return Ok(None);
        }
        let home = places.home.as_ref().map(|home| home.physical.as_path());
        let Layout { top, main, git } = git::layout(self.world, &start.physical, home);
        // A root that the registration names is that very directory, and no other above it.
        let root = match &self.options.root {
            Some(_) => start,
            None if top == start.physical => start,
            None => self.place_at(&top),
        };
        places.main = main.as_deref().map(|main| self.place_at(main));
        places.git = git.as_deref().map(|git| self.place_at(git));
        if let Some(agent) = self.options.agent.clone().or_else(|| agent_of(&root.physical)) {
            let agent = agent.as_str();
            let agents = agents_dir(&root.physical, agent, places.main.as_ref());
            places.agent_dir = agents.as_ref().map(|agents| self.place_at(&agents.join(agent)));
            if places.main.is_none() {
                places.main =
                    agents.as_deref().and_then(|agents| Some(self.place_at(agents.parent()?.parent()?)));
            }
            places.agents = agents.as_deref().map(|agents| self.place_at(agents));
        }
        self.protect(&root, &mut places)?;
        let team = TEAM_DIRECTORIES.map(|name| self.place_at(&root.lexical.join(name)));
        places.team = team.into();
        places.project = Some(root.clone());
        places.root = Some(root);
        self.find_kept(call, &mut places);
        let user = user_name(self.machine);
        let registered = self.registered(call.host, &places);
        let mut pin = Pin { registration, places, user, entered: Vec::new(), notes: Vec::new(), registered };
        self.list_worktrees(&mut pin);
        Ok(Some(pin))
    }

    /// Adds the files behind names that no agent may write, where a link or a pointer in the repository leads
    /// elsewhere: `.claude -> cfg` must not make `cfg/settings.json` an ordinary file.
    fn protect(&self, root: &Place, places: &mut Places) -> io::Result<()> {
        let names: Vec<&str> = denied_names().chain(asked_names()).chain([".git/hooks"]).collect();
        let tops = [Some(root), places.main.as_ref(), places.home.as_ref()];
        let mut own = Vec::new();
        for top in tops.into_iter().flatten() {
            let usual = |name: &&str| top.physical.join(name);
            // Nothing leads elsewhere from what is not there, and most of it never is.
            let is_there = |name: &&&str| {
                let first = name.split('/').next().unwrap_or_default();
                !matches!(self.world.look_straight(&top.physical.join(first)), Some(Err(LookError::Absent)))
            };
            let there = names.iter().filter(is_there);
            let elsewhere = there.map(|name| (usual(name), self.place_at(&usual(name))));
            own.extend(elsewhere.filter(|(usual, place)| place.physical != *usual).map(|(_, place)| place));
        }
        let git = git::git_dir_of(self.world, &root.physical).map(|git| self.place_at(&git));
        own.extend(git.filter(|git| root.holds(&git.physical)));
        own.extend(self.registered_files()?.iter().map(|file| self.place_at(file)));
        places.own.extend(own);
        Ok(())
    }

    /// The hosts' settings files that hold our registration, wherever they lie.
    ///
    /// INVARIANT: a note that is there and cannot be read is an error. Taken for an empty one, it would leave the
    /// registration to the agent.
    fn registered_files(&self) -> io::Result<Vec<PathBuf>> {
        #[derive(Deserialize)]
        struct Note {
            registrations: Vec<Registration>,
        }
        #[derive(Deserialize)]
        struct Registration {
            file: PathBuf,
        }
        let bytes = match self.world.read(&self.dirs.state.join("registrations.json"), MAX_NOTE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read?,
        };
        let note: Note = serde_json::from_slice(&bytes).map_err(|_| io::ErrorKind::InvalidData)?;
        Ok(note.registrations.into_iter().map(|entry| entry.file).collect())
    }

    /// The settings files in which this host has our registration, by both of their names, and when each last changed.
    fn registered(&self, host: &str, places: &Places) -> Vec<Stamped> {
        let files = registered::files(self.world, self.dirs, host, places);
        let names = files.into_iter().flat_map(|file| {
            let behind = self.place_at(&file).physical;
            let other = (behind != file).then_some(behind);
            std::iter::once(file).chain(other)
        });
        names.map(|file| (file.clone(), stamp_of(self.world, &file))).collect()
    }

    /// Reads anew which worktrees the repository has besides this one.
    fn list_worktrees(&self, pin: &mut Pin) {
        let (Some(git), Some(root)) = (&pin.places.git, &pin.places.root) else { return };
        let notes = git::worktree_notes(&git.physical);
        pin.notes = vec![(notes.clone(), stamp_of(self.world, &notes))];
        pin.places.siblings.clear();
        pin.places.inner.clear();
        for (note, top) in git::worktrees(self.world, &git.physical) {
            let stamp = stamp_of(self.world, &note);
            pin.notes.push((note, stamp));
            let sibling = self.place_at(&top);
            if pin.entered.contains(&sibling.physical) {
                pin.places.inner.push(sibling);
            } else if sibling.physical != root.physical {
                pin.places.siblings.push(sibling);
            }
        }
        // The worktree's own first, as a team does that keeps its files with each branch.
        let tops = pin.places.root.iter().chain(&pin.places.inner).chain(&pin.places.main);
        let team = tops.flat_map(|top| TEAM_DIRECTORIES.map(|name| self.place_at(&top.lexical.join(name))));
        pin.places.team = team.collect();
    }
}

/// Whether an id is long enough that nobody has guessed it, and no path.
fn is_plain_id(id: &str) -> bool {
    id.len() >= 8 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The root that an environment variable names, for profiles that take it from there. `None`: it names no
/// directory. It must not name another one than the registration does.
pub fn root_from_env(
    world: &dyn World,
    registered: Option<&Path>,
    value: Option<OsString>,
) -> Result<Option<Place>, &'static str> {
    let Some(path) = value.map(PathBuf::from).filter(|path| path.is_absolute()) else { return Ok(None) };
    let resolver = Resolver::new(world, None, None);
    let Ok(place) = resolver.walk(path) else { return Ok(None) };
    if place.node.is_none_or(|node| node.kind != NodeKind::Directory) {
        return Ok(None);
    }
    let other =
        |root: &Path| resolver.walk(root.to_path_buf()).is_ok_and(|root| root.physical != place.physical);
    if registered.is_some_and(other) {
        return Err("names another directory than the registration");
    }
    Ok(Some(Place { lexical: place.lexical, physical: place.physical }))
}

/// The agent whose worktree this is, by where an orchestrator puts it: `.ittybitty/agents/<id>/repo`.
fn agent_of(root: &Path) -> Option<String> {
    let own = root.parent()?;
    let agents = own.parent()?;
    let is_repo = root.file_name()? == "repo";
    (is_repo && agents.ends_with(".ittybitty/agents"))
        .then(|| own.file_name().map(|id| id.to_string_lossy().into_owned()))?
}

/// `<agents>/<id>/repo` is where an orchestrator puts an agent's worktree.
fn agents_dir(root: &Path, agent: &str, main: Option<&Place>) -> Option<PathBuf> {
    let own = root.parent()?;
    if own.file_name().is_some_and(|name| name == agent) {
        return own.parent().map(Path::to_path_buf);
    }
    main.map(|main| main.physical.join(".ittybitty/agents"))
}

/// A session's id is the host's; it names a file only after it has been made harmless.
fn pin_file(dirs: &Dirs, session: &str, registration: &str) -> PathBuf {
    let plain = !session.is_empty()
        && session.len() <= 64
        && session.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let name = if plain { session.to_owned() } else { name_for(session.as_bytes(), 64) };
    // Two registrations of one session (a person's and an administrator's) have two pins, and so have two versions
    // of toolgate. The pin holds the registration too, so a hash that happens to be the same does no harm.
    let hash = checksum(registration.as_bytes()) ^ checksum(BUILD.as_bytes()) ^ checksum(FORM);
    dirs.state.join("sessions").join(format!("{name}.{hash:016x}"))
}
