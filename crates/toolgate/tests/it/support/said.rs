//! What toolgate says of a command, on the real disk. The one place that knows how to ask.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use toolgate_effects::{Scene, effects};
use toolgate_gate::disk::Disk;
use toolgate_hosts::tools_like;
use toolgate_model::{Call, Effect, Json, PathArg, Reach, Resolver};

use super::watch::{Said, Scratch};

/// The effects that are said of a command which starts in `inside`; `None` where any of them is unknown.
pub(crate) fn said(scratch: &Scratch, command: &str) -> Option<Vec<Said>> {
    let cwd = scratch.inside();
    let cwd = cwd.to_str().unwrap();
    let input = Json::Object(vec![("command".into(), Json::Text(Cow::Borrowed(command)))]);
    let action = tools_like("claude-code").action("Bash", &input);
    let call = Call { cwd: Some(cwd.into()), ..Call::before("claude-code", "Bash", input, action) };
    let disk = Disk::default();
    let (home, tmp) = (scratch.home(), scratch.path("tmp"));
    let scene = Scene {
        world: &disk,
        cwd: Some(cwd),
        root: None,
        home: home.to_str(),
        tmp: tmp.to_str(),
        unset: &|_| true,
    };
    resolved(&effects(&call, &BTreeMap::new(), &scene), &disk, cwd, &home)
}

fn resolved(effects: &[Effect<'_>], disk: &Disk, cwd: &str, home: &Path) -> Option<Vec<Said>> {
    let resolver = Resolver::new(disk, Some(cwd), Some(home));
    let mut said = Vec::new();
    for effect in effects {
        match effect {
            Effect::Use(access, target) => {
                // A path that leads nowhere that could be judged is refused: as good as unknown.
                let place = resolver.resolve(&target.path).ok()?;
                let reach =
                    if matches!(target.path, PathArg::Pattern(_)) { Reach::Below } else { target.reach };
                // Both names of a place have to pass, so each of them is said.
                said.extend(place.paths().map(|path| (*access, path.to_path_buf(), reach)));
            }
            Effect::Run(_) | Effect::Connect => {}
            Effect::Unknown(_) => return None,
        }
    }
    Some(said)
}
