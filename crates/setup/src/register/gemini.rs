//! Registration with Gemini CLI: hooks in its settings files.
//!
//! Facts that shape it, seen with the client: a hook that is killed, runs out of time or ends with 1 lets the call
//! run, so the shell that starts us denies in our place; any repository can switch a hook off whose name it knows,
//! even the administrator's, so ours has a name that nobody can guess; time is in milliseconds.

use std::path::Path;

use serde_json::Value;

use super::content::WantedFile;
use super::files::{io_error, locate, read};
use super::handler::ours_of;
use super::json::tolerant;
use super::{
    HookForm, HookLine, HostIdentity, HostPlaces, RegisterError, Registrar, Role, Scope, ScopeFiles, Setting,
    Shape, handler_in_milliseconds,
};
use toolgate_evidence::random::fill_with_random;
use toolgate_gate::store::hex;

/// Gemini CLI.
pub struct Gemini;

/// How its hooks are written down, but for their name.
pub const FORM: HookForm = HookForm {
    host: "gemini",
    events: &[
        ("BeforeTool", Role::FailsClosed),
        ("AfterTool", Role::Withholds),
        ("BeforeAgent", Role::Tells),
        ("SessionStart", Role::Tells),
        ("SessionEnd", Role::Tells),
    ],
    shape: Shape::Groups(Some("*")),
    names_event: false,
    handler: handler_in_milliseconds,
};

/// Who it is, and where its files are.
const IDENTITY: HostIdentity = HostIdentity {
    id: FORM.host,
    name: "Gemini CLI",
    programs: &["gemini"],
    config_variable: None,
    config: ".gemini",
    files: ScopeFiles {
        user: "settings.json",
        project: ".gemini/settings.json",
        local: None,
        managed: Some("gemini-cli/settings.json"),
    },
};

impl Registrar for Gemini {
    fn identity(&self) -> &'static HostIdentity {
        &IDENTITY
    }

    fn wanted(
        &self,
        places: &HostPlaces,
        scope: Scope,
        line: &HookLine,
    ) -> Result<Vec<WantedFile>, RegisterError> {
        let file = self.file(places, scope)?;
        let settings: Vec<Setting> = match scope {
            // Set by the administrator, it cannot be unset by a repository.
            Scope::Managed => vec![(&["hooksConfig", "enabled"], Value::Bool(true))],
            Scope::User | Scope::Project | Scope::Local => Vec::new(),
        };
        let mut hooks = FORM.content(line, settings)?;
        let name = hook_name(&file)?;
        for (_, handler) in &mut hooks.handlers {
            handler.insert(1, ("name", Value::from(name.as_str())));
        }
        Ok(vec![WantedFile::new(file, hooks)])
    }
}

/// The name that our hooks have in the file already, or a new one.
fn hook_name(file: &Path) -> Result<String, RegisterError> {
    let settings = read(&locate(file)?.0)?.and_then(|text| tolerant(&text));
    if let Some(name) = settings.as_ref().and_then(our_name) {
        return Ok(name);
    }
    let mut bytes = [0; 12];
    fill_with_random(&mut bytes).map_err(io_error(file))?;
    Ok(format!("gate-{}", hex(&bytes)))
}

/// The name of our hooks in a file of settings.
pub fn our_name(settings: &Value) -> Option<String> {
    let events = FORM.events.iter();
    let mut ours = events.flat_map(|(event, _)| ours_of(settings, FORM.host, event));
    ours.find_map(|(_, _, _, handler)| Some(handler.get("name")?.as_str()?.to_owned()))
}
