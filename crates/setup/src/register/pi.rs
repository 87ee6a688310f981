//! Registration with pi: an extension that keeps one `toolgate serve` for the session.
//!
//! Facts that shape it, seen with the client: an extension that fails to load ends the start, so a broken one is
//! noticed; extensions of the person run after those of a project, so ours has the last word.

use std::path::{Path, PathBuf};

use super::content::WantedFile;
use super::{HookLine, HostPlaces, RegisterError, Registrar, Scope, script_array, with_beside};

/// pi.
pub struct Pi;

/// The host's id.
pub const HOST: &str = "pi";

/// What init writes besides the extension itself: its name beside it, and what.
pub const BESIDE: &[(&str, &str)] = &[
    ("gate.ts", include_str!("../../adapters/gate.ts")),
    ("adapter.ts", include_str!("../../adapters/pi/adapter.ts")),
];

/// The directory of our extension.
fn dir(places: &HostPlaces, scope: Scope) -> Result<PathBuf, RegisterError> {
    let settings = match scope {
        Scope::User => places.config(HOST),
        Scope::Project => places.project()?.join(".pi"),
        Scope::Local | Scope::Managed => return Err(Pi.has_no(scope)),
    };
    Ok(settings.join("extensions/toolgate"))
}

impl Registrar for Pi {
    fn id(&self) -> &'static str {
        HOST
    }

    fn name(&self) -> &'static str {
        "pi"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["pi"]
    }

    fn config(&self, home: &Path, var: &dyn Fn(&str) -> Option<PathBuf>) -> PathBuf {
        var("PI_CODING_AGENT_DIR").unwrap_or_else(|| home.join(".pi/agent"))
    }

    fn file(&self, places: &HostPlaces, scope: Scope) -> Result<PathBuf, RegisterError> {
        Ok(dir(places, scope)?.join("index.ts"))
    }

    fn wanted(
        &self,
        places: &HostPlaces,
        scope: Scope,
        line: &HookLine,
    ) -> Result<Vec<WantedFile>, RegisterError> {
        let command = script_array(&line.serve(HOST)?);
        let index = format!(
            "import {{ toolgate }} from \"./adapter.ts\";\n\
             export default toolgate({{ command: {command} }});\n"
        );
        Ok(with_beside(BESIDE, &dir(places, scope)?, self.file(places, scope)?, &index))
    }
}
