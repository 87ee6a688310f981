//! Registration with pi: an extension that keeps one `toolgate serve` for the session.
//!
//! Facts that shape it, seen with the client: an extension that fails to load ends the start, so a broken one is
//! noticed; extensions of the person run after those of a project, so ours has the last word.

use super::content::WantedFile;
use super::{
    HookLine, HostIdentity, HostPlaces, RegisterError, Registrar, Scope, ScopeFiles, script_array,
    with_beside,
};

/// pi.
pub struct Pi;

/// The host's id.
pub const HOST: &str = "pi";

/// What init writes besides the extension itself: its name beside it, and what.
pub const BESIDE: &[(&str, &str)] = &[
    ("gate.ts", include_str!("../../adapters/gate.ts")),
    ("adapter.ts", include_str!("../../adapters/pi/adapter.ts")),
];

/// Who it is, and where its files are.
const IDENTITY: HostIdentity = HostIdentity {
    id: HOST,
    name: "pi",
    programs: &["pi"],
    config_variable: Some("PI_CODING_AGENT_DIR"),
    config: ".pi/agent",
    files: ScopeFiles {
        user: "extensions/toolgate/index.ts",
        project: ".pi/extensions/toolgate/index.ts",
        local: None,
        managed: None,
    },
};

impl Registrar for Pi {
    fn identity(&self) -> &'static HostIdentity {
        &IDENTITY
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
        let file = self.file(places, scope)?;
        let extension = file.parent().unwrap_or(&file).to_path_buf();
        Ok(with_beside(BESIDE, &extension, file, &index))
    }
}
