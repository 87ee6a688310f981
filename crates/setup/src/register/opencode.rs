//! Registration with OpenCode: a plugin that keeps one `toolgate serve` for the session.
//!
//! Facts that shape it, seen with the client: every file in the directory of plugins is loaded as one, so what the
//! plugin needs lies beside that directory; a plugin that fails while it loads is skipped and everything runs, so
//! the plugin itself does nothing that can fail.

use std::path::{Path, PathBuf};

use super::content::WantedFile;
use super::{
    HookLine, HostIdentity, HostPlaces, RegisterError, Registrar, Scope, ScopeFiles, script_array,
    with_beside,
};

/// OpenCode.
pub struct OpenCode;

/// The host's id.
pub const HOST: &str = "opencode";

/// What init writes besides the plugin itself: where, below the settings, and what.
pub const BESIDE: &[(&str, &str)] = &[
    ("toolgate/gate.ts", include_str!("../../adapters/gate.ts")),
    ("toolgate/adapter.ts", include_str!("../../adapters/opencode/adapter.ts")),
];

/// Who it is, and where its files are.
const IDENTITY: HostIdentity = HostIdentity {
    id: HOST,
    name: "OpenCode",
    programs: &["opencode"],
    config_variable: None,
    config: ".config/opencode",
    files: ScopeFiles {
        user: "plugin/toolgate.ts",
        project: ".opencode/plugin/toolgate.ts",
        local: None,
        managed: None,
    },
};

impl Registrar for OpenCode {
    fn identity(&self) -> &'static HostIdentity {
        &IDENTITY
    }

    fn config(&self, home: &Path, var: &dyn Fn(&str) -> Option<PathBuf>) -> PathBuf {
        // `OPENCODE_CONFIG_DIR` adds a directory to this one: a plugin only there would be missing without it.
        var("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")).join("opencode")
    }

    fn wanted(
        &self,
        places: &HostPlaces,
        scope: Scope,
        line: &HookLine,
    ) -> Result<Vec<WantedFile>, RegisterError> {
        let command = script_array(&line.serve(HOST)?);
        let plugin = format!(
            "import {{ toolgate }} from \"../toolgate/adapter.ts\";\n\
             export const Toolgate = toolgate({{ command: {command} }});\n"
        );
        let file = self.file(places, scope)?;
        let settings = file.ancestors().nth(2).unwrap_or(&file).to_path_buf();
        Ok(with_beside(BESIDE, &settings, file, &plugin))
    }
}
