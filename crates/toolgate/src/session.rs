//! The ground of a session: found once, pinned, and from then on not for the agent to move.
//!
//! The root comes from the registration (`--root`), or from what was pinned when the session began, or from
//! the host's own word (`CLAUDE_PROJECT_DIR`), or, for the first event only, from the event's directory.
//! Never from where an agent has since gone.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toolgate_model::{Call, Ground, NodeKind, Resolver, Spot, World};

use crate::dirs::Dirs;
use crate::git::{self, Layout};

/// What the registration line says of the session.
#[derive(Debug, Clone, Default)]
pub struct Registered {
    /// The root.
    pub root: Option<PathBuf>,
    /// The orchestrator's id of the agent.
    pub agent: Option<String>,
}

/// What is kept of a session between its events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Pin {
    root: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    main: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    git: Option<PathBuf>,
    /// Worktrees that the host itself moved the session into.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    entered: Vec<PathBuf>,
}

/// A pin is a few paths.
const MAX_PIN: usize = 64 * 1024;

/// Finds the ground that this call stands on, and pins it where that has not been done.
pub fn ground(
    world: &dyn World,
    dirs: &Dirs,
    registered: &Registered,
    call: &Call<'_>,
    env: impl Fn(&str) -> Option<OsString>,
) -> io::Result<Ground> {
    let resolver = Resolver::new(world, None, None);
    let spot = |path: &Path| {
        let physical =
            resolver.walk(path.to_path_buf()).map_or_else(|_| path.to_path_buf(), |place| place.physical);
        Spot { lexical: toolgate_model::clean(path), physical }
    };
    let home = spot(&dirs.home);
    let pin = pinned(world, dirs, registered, call, &home, &spot, env)?;
    let mut own: Vec<Spot> =
        [&dirs.config, &dirs.state, &dirs.managed].into_iter().map(|path| spot(path)).collect();
    own.extend(std::env::current_exe().map(Spot::plain));
    let mut ground = Ground {
        transcripts: call
            .transcript
            .as_deref()
            .and_then(|path| Path::new(path).parent())
            .filter(|path| path.is_absolute())
            .map(&spot),
        own,
        home: Some(home),
        ..Ground::default()
    };
    if let Some(pin) = pin {
        let root = spot(&pin.root);
        if let Some(git) = &pin.git {
            let entered = |path: &PathBuf| pin.entered.contains(path);
            let others = git::siblings(world, git, &root.physical).into_iter().filter(|path| !entered(path));
            ground.siblings =
                others.map(|path| spot(&path)).filter(|other| other.physical != root.physical).collect();
        }
        ground.main = pin.main.as_deref().map(&spot);
        ground.git = pin.git.as_deref().map(&spot);
        if let Some(agent) = &registered.agent {
            let agents = agents_dir(&root.physical, agent, ground.main.as_ref());
            ground.agent_dir = agents.as_ref().map(|agents| spot(&agents.join(agent)));
            ground.agents = agents.as_deref().map(&spot);
            if ground.main.is_none() {
                let main = ground
                    .agents
                    .as_ref()
                    .and_then(|agents| agents.physical.parent()?.parent().map(Path::to_path_buf));
                ground.main = main.as_deref().map(&spot);
            }
        }
        ground.root = Some(root);
    }
    Ok(ground)
}

/// The root that an environment variable names, for profiles that take it from there. `None`: it names no
/// directory. It must not name another one than the registration does.
pub fn root_from_env(
    world: &dyn World,
    registered: Option<&Path>,
    value: Option<OsString>,
) -> Result<Option<Spot>, &'static str> {
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
    Ok(Some(Spot { lexical: place.lexical, physical: place.physical }))
}

/// `<agents>/<id>/repo` is where an orchestrator puts an agent's worktree.
fn agents_dir(root: &Path, agent: &str, main: Option<&Spot>) -> Option<PathBuf> {
    let own = root.parent()?;
    if own.file_name().is_some_and(|name| name == agent) {
        return own.parent().map(Path::to_path_buf);
    }
    main.map(|main| main.physical.join(".ittybitty/agents"))
}

fn pinned(
    world: &dyn World,
    dirs: &Dirs,
    registered: &Registered,
    call: &Call<'_>,
    home: &Spot,
    spot: &impl Fn(&Path) -> Spot,
    env: impl Fn(&str) -> Option<OsString>,
) -> io::Result<Option<Pin>> {
    let find = |start: &Path| {
        let Layout { top, main, git } = git::layout(world, &spot(start).physical, Some(&home.physical));
        Pin { root: top, main, git, entered: Vec::new() }
    };
    if let Some(root) = &registered.root {
        return Ok(Some(Pin { root: root.clone(), ..find(root) }));
    }
    let file = call.session.as_deref().map(|session| pin_file(dirs, session));
    let known = file.as_ref().and_then(|file| world.read(file, MAX_PIN).ok());
    let known: Option<Pin> = known.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let (mut pin, mut changed) = match known {
        Some(pin) => (pin, false),
        None => {
            let told = env("CLAUDE_PROJECT_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
            let here = || call.cwd.as_deref().map(PathBuf::from).filter(|path| path.is_absolute());
            match told.or_else(here) {
                Some(start) => (find(&start), true),
                None => return Ok(None),
            }
        }
    };
    if let Some(entered) = call.entered.as_deref().map(|path| spot(Path::new(path)).physical)
        && entered.starts_with(spot(&pin.root).physical)
        && !pin.entered.contains(&entered)
    {
        pin.entered.push(entered);
        changed = true;
    }
    if let Some(file) = file.filter(|_| changed) {
        write_private(&file, &serde_json::to_vec(&pin)?)?;
    }
    Ok(Some(pin))
}

/// A session's id is the host's; it names a file only after it has been made harmless.
fn pin_file(dirs: &Dirs, session: &str) -> PathBuf {
    let plain = !session.is_empty()
        && session.len() <= 64
        && session.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let name = if plain { session.to_owned() } else { hex(&Sha256::digest(session.as_bytes())) };
    dirs.state.join("sessions").join(name)
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

/// Writes a file of ours as a whole or not at all, for our eyes only.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    let temporary = path.with_extension(format!("{}.new", std::process::id()));
    let open = || fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary);
    let mut file = match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
            open()?
        }
        opened => opened?,
    };
    let written = file.write_all(bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // Best effort: what counts is that the old file is whole.
        let _ = fs::remove_file(&temporary);
    }
    written
}
