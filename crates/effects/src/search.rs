//! The hosts' own search tools: which secret files they would print lines of.

use std::borrow::Cow;

use toolgate_model::{
    Access, Call, Doubt, Effect, FileUse, Gap, Json, Origin, PathArg, Resolver, SecretName, Target, Unknown,
    secret_pattern,
};

use crate::Scene;
use crate::secrets_below::{Sift, secrets_below};

/// Parameters that say which files are searched, by their names.
const GLOBS: [&str; 4] = ["glob", "include", "include_pattern", "file_pattern"];

/// Reads of secrets that a search tool's call comes to: of the file that it names, by its path or by its glob, and of
/// those that lie below.
pub(crate) fn reads<'a>(call: &Call<'a>, uses: &[FileUse<'a>], scene: &Scene<'_>) -> Vec<Effect<'a>> {
    let Some(shows) = shows(call).filter(|_| uses.iter().any(|used| used.access == Access::Search)) else {
        return Vec::new();
    };
    let globs: Vec<&str> =
        GLOBS.iter().filter_map(|name| call.input.get(name).and_then(Json::text)).collect();
    let (without, only): (Vec<&str>, Vec<&str>) =
        globs.iter().partition(|glob| glob.trim_start().starts_with('!'));
    let without: Vec<String> =
        without.iter().map(|glob| glob.trim_start_matches([' ', '!']).to_owned()).collect();
    let named = |text: &str| matches!(secret_pattern(text), Some(SecretName::Settings | SecretName::Key));
    let effect = |access, param: Cow<'a, str>, path| Effect::Use(access, Target::exact(param, path));
    let sift = Sift {
        hidden: true,
        ignored: false,
        only: only.iter().map(|glob| (*glob).to_owned()).collect(),
        without_directories: without.clone(),
        without,
    };
    let resolver = Resolver::new(scene.world, scene.cwd, scene.home.map(std::path::Path::new));
    let mut all = Vec::new();
    for glob in only.iter().filter(|glob| named(glob)) {
        let path = PathArg::Text(Cow::Owned(glob.replace(['*', '?'], "").trim_start_matches('/').to_owned()));
        all.push(effect(Access::Read, Cow::Borrowed("glob"), path));
    }
    for used in uses.iter().filter(|used| used.access == Access::Search) {
        let param = used.param.clone();
        if let PathArg::Text(text) = &used.path
            && named(text)
        {
            all.push(effect(Access::Read, param.clone(), used.path.clone()));
        }
        // A glob's own place is searched as a part of the directory that it starts from.
        let Ok(place) = resolver.resolve(&used.path) else { continue };
        if shows == Shows::Unsaid || matches!(used.path, PathArg::Pattern(_)) {
            continue;
        }
        let below = secrets_below(scene.world, &place.physical, &sift);
        if below.has_more {
            all.push(more_files());
        }
        for found in below.found {
            all.push(effect(Access::Search, param.clone(), PathArg::Text(Cow::Owned(found))));
        }
    }
    all
}

/// More files than are looked at, and secrets may be among them.
fn more_files<'a>() -> Effect<'a> {
    Effect::Unknown(Unknown::Shell {
        gap: Gap::Doubt(Doubt::Secrets),
        text: "more files than are looked at".to_owned(),
        origin: Origin { span: (0, 0), via: None },
    })
}

/// What a search shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shows {
    /// Lines of files.
    Lines,
    /// Names, most likely: who names a secret file for that is refused all the same.
    Unsaid,
}

/// Tools that search contents are called so in every host; where they can show names instead, they say which, and show
/// names if nothing is said. `None` for a tool that shows names only.
fn shows(call: &Call<'_>) -> Option<Shows> {
    const SAYS_WHICH: [&str; 2] = ["claude-code", "copilot"];
    let tool = call.tool.to_ascii_lowercase();
    if !tool.contains("grep") && tool != "rg" && tool != "read_many_files" {
        return None;
    }
    match call.input.get("output_mode").and_then(Json::text) {
        Some("files_with_matches" | "count") => None,
        None if SAYS_WHICH.contains(&call.host) => Some(Shows::Unsaid),
        _ => Some(Shows::Lines),
    }
}
