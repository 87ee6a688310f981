//! Registration with Codex CLI: `hooks.json`, and the trust in it in `config.toml`; for the administrator,
//! `requirements.toml`.
//!
//! Facts that shape it, seen with the client: whatever goes wrong with a hook lets the call run, so the shell that
//! starts us denies in our place; a hook that nobody has trusted does not run, and trust is a digest of the handler
//! under the place where it stands; hooks run in the session's directory; only `requirements.toml` can keep a
//! repository from switching hooks off, and can take away the tool that types into a running shell unseen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use toml_edit::{Item, Table, value};
use toolgate_evidence::Digest;

use super::content::{Content, EditError, Noted, WantedFile};
use super::files::{locate, read};
use super::handler::ours_of;
use super::hook_line::text_of;
use super::json::{Members, tolerant};
use super::toml::{Switch, TomlHooks, as_json, parse, table_in};
use super::{
    HookForm, HookLine, HostIdentity, HostPlaces, RegisterError, Registrar, Role, Scope, ScopeFiles, Shape,
    Start, TIMEOUT_TELLING, not_plain_json, shell_handler,
};

/// Codex CLI.
pub struct Codex;

/// How its hooks are written down.
pub const FORM: HookForm = HookForm {
    host: "codex",
    events: &[
        ("PreToolUse", Role::FailsClosed),
        ("PermissionRequest", Role::FailsClosed),
        ("PostToolUse", Role::Withholds),
        ("UserPromptSubmit", Role::Tells),
        ("SessionStart", Role::Tells),
        ("SessionEnd", Role::Tells),
        ("Stop", Role::Tells),
    ],
    shape: Shape::Groups(None),
    names_event: false,
    handler,
};

/// Seconds. Running out of time lets the call run, so a hook that hangs has to mean waiting.
const TIMEOUT: u32 = 3600;
/// The client gives the end of a session no more.
const TIMEOUT_AT_END: u32 = 3;

fn handler(event: &str, role: Role, start: &Start) -> Members {
    let timeout = match role {
        Role::Tells if event == "SessionEnd" => TIMEOUT_AT_END,
        Role::Tells => TIMEOUT_TELLING,
        Role::FailsClosed | Role::Withholds | Role::FailsOpen => TIMEOUT,
    };
    shell_handler(role, start, timeout)
}

/// Who it is, and where its files are.
const IDENTITY: HostIdentity = HostIdentity {
    id: FORM.host,
    name: "Codex CLI",
    programs: &["codex"],
    config_variable: Some("CODEX_HOME"),
    config: ".codex",
    files: ScopeFiles {
        user: "hooks.json",
        project: ".codex/hooks.json",
        local: None,
        managed: Some("codex/requirements.toml"),
    },
};

impl Registrar for Codex {
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
        if scope == Scope::Managed {
            let switches: Vec<Switch> = vec![
                (&["allow_managed_hooks_only"], true),
                (&["features", "hooks"], true),
                (&["features", "unified_exec"], false),
            ];
            return Ok(vec![WantedFile::new(file, TomlHooks::new(&FORM, line, switches)?)]);
        }
        let hooks = FORM.content(line, Vec::new())?;
        let now = read(&locate(&file)?.0)?.unwrap_or_default();
        let then = hooks.insert(&now).map_err(|error| error.in_file(&file))?;
        let trust = Trust::new(text_of(&file)?, &now, &then);
        let config = places.config(FORM.host).join("config.toml");
        Ok(vec![WantedFile::new(config, trust), WantedFile::new(file, hooks)])
    }

    fn warnings(&self, file: &Path, _: &str, after: &str) -> Vec<String> {
        if file.extension().is_some_and(|end| end == "toml") {
            let off = as_json(after).is_ok_and(|settings| hooks_off(&settings));
            let warning =
                format!("`[features] hooks = false` in `{}` switches our hooks off", file.display());
            return off.then_some(warning).into_iter().collect();
        }
        let mut warnings: Vec<_> = not_plain_json(after).into_iter().collect();
        if let Some(key) = foreign_key(after) {
            warnings
                .push(format!("the client drops this file, and our hooks with it: it does not know `{key}`"));
        }
        warnings
    }
}

/// A key at the top of `hooks.json` for which the client drops the whole file.
pub fn foreign_key(hooks: &str) -> Option<String> {
    let Some(Value::Object(top)) = tolerant(hooks) else { return None };
    top.keys().find(|key| *key != "hooks").cloned()
}

/// Whether a `config.toml` switches all hooks off.
pub fn hooks_off(config: &Value) -> bool {
    config.pointer("/features/hooks").is_some_and(|on| on == &Value::Bool(false))
}

/// The trust in our handlers of one `hooks.json`: tables `[hooks.state."<file>:<event>:<group>:<handler>"]`.
struct Trust {
    /// `<file>:`
    file: String,
    /// Key → digest, as it is to be.
    wanted: BTreeMap<String, String>,
    /// Keys under which handlers of ours stand now.
    now: BTreeSet<String>,
    /// Digests of handlers of ours, now and then.
    digests: BTreeSet<String>,
}

impl Trust {
    fn new(file: &str, now: &str, then: &str) -> Trust {
        let (now, wanted) = (trusted(file, now), trusted(file, then));
        let digests = now.values().chain(wanted.values()).cloned().collect();
        Trust { file: format!("{file}:"), wanted, now: now.into_keys().collect(), digests }
    }

    fn is_ours(&self, key: &str, entry: Option<&str>) -> bool {
        let known = self.now.contains(key) || entry.is_some_and(|digest| self.digests.contains(digest));
        key.starts_with(&self.file) && (known || self.wanted.contains_key(key))
    }

    /// Removes what is ours and not in `keep`.
    fn take_out(&self, state: &mut Table, keep: &BTreeMap<String, String>) {
        let gone = state.iter().filter(|(key, item)| {
            let entry = item.get("trusted_hash").and_then(Item::as_str);
            self.is_ours(key, entry) && !keep.contains_key(*key)
        });
        let gone: Vec<_> = gone.map(|(key, _)| key.to_owned()).collect();
        for key in gone {
            state.remove(&key);
        }
    }

    /// The settings without what is ours, for comparing.
    fn rest(&self, text: &str) -> Result<Value, EditError> {
        let mut settings = as_json(text)?;
        let entry = |entry: &Value| Some(entry.get("trusted_hash")?.as_str()?.to_owned());
        if let Some(Value::Object(state)) = settings.pointer_mut("/hooks/state") {
            state.retain(|key, value| !self.is_ours(key, entry(value).as_deref()));
        }
        for (parent, key) in [("/hooks", "state"), ("", "hooks")] {
            if let Some(Value::Object(parent)) = settings.pointer_mut(parent)
                && parent.get(key).and_then(Value::as_object).is_some_and(serde_json::Map::is_empty)
            {
                parent.remove(key);
            }
        }
        Ok(settings)
    }
}

impl Content for Trust {
    fn insert(&self, text: &str) -> Result<String, EditError> {
        let mut doc = parse(text)?;
        let state = table_in(table_in(doc.as_table_mut(), "hooks")?, "state")?;
        self.take_out(state, &self.wanted);
        for (key, digest) in &self.wanted {
            let entry = state.entry(key).or_insert_with(|| Item::Table(Table::new()));
            let what = || EditError::NotAnObject { what: format!("`hooks.state.\"{key}\"`") };
            let entry = entry.as_table_like_mut().ok_or_else(what)?;
            if entry.get("trusted_hash").and_then(Item::as_str) != Some(digest) {
                entry.insert("trusted_hash", value(digest));
            }
        }
        let after = doc.to_string();
        if self.rest(text)? == self.rest(&after)? { Ok(after) } else { Err(EditError::Unclear) }
    }

    fn remove(&self, text: &str, noted: Noted<'_>) -> Result<Option<String>, EditError> {
        let mut doc = parse(text)?;
        let state = doc.get_mut("hooks").and_then(Item::as_table_mut);
        let Some(state) = state.and_then(|hooks| hooks.get_mut("state")).and_then(Item::as_table_mut) else {
            return Ok(Some(text.to_owned()));
        };
        self.take_out(state, &BTreeMap::new());
        let after = doc.to_string();
        if self.rest(text)? != self.rest(&after)? {
            return Err(EditError::Unclear);
        }
        let ours_alone = noted == Noted::New && after.trim().is_empty();
        Ok((!ours_alone).then_some(after))
    }
}

/// What the client trusts, once a person has agreed to our handlers in this file: key → digest.
pub fn trusted(file: &str, hooks: &str) -> BTreeMap<String, String> {
    let settings = tolerant(hooks).unwrap_or_default();
    let events = settings.get("hooks").and_then(Value::as_object);
    let mut trusted = BTreeMap::new();
    for event in events.into_iter().flat_map(|events| events.keys()) {
        for (group, place, element, handler) in ours_of(&settings, FORM.host, event) {
            let name = snake(event);
            let matcher = element.get("matcher").and_then(Value::as_str);
            trusted.insert(format!("{file}:{name}:{group}:{place}"), digest(&name, matcher, handler));
        }
    }
    trusted
}

/// The digest by which the client knows a handler: of compact JSON with sorted keys.
fn digest(event: &str, matcher: Option<&str>, handler: &Value) -> String {
    // The members stand in the order of their names.
    #[derive(Serialize)]
    struct Group<'a> {
        event_name: &'a str,
        hooks: [Handler<'a>; 1],
        #[serde(skip_serializing_if = "Option::is_none")]
        matcher: Option<&'a str>,
    }
    #[derive(Serialize)]
    struct Handler<'a> {
        r#async: bool,
        command: &'a str,
        timeout: u64,
        r#type: &'a str,
    }
    let text = |key: &str| handler.get(key).and_then(Value::as_str).unwrap_or_default();
    let handler = Handler {
        r#async: handler.get("async").and_then(Value::as_bool).unwrap_or_default(),
        command: text("command"),
        timeout: handler.get("timeout").and_then(Value::as_u64).unwrap_or(600),
        r#type: text("type"),
    };
    let group = Group { event_name: event, hooks: [handler], matcher };
    Digest::of(&serde_json::to_vec(&group).unwrap_or_default()).to_string()
}

/// `PreToolUse` as the client's keys have it: `pre_tool_use`.
fn snake(event: &str) -> String {
    let mut name = String::new();
    for c in event.chars() {
        if c.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
    }
    name
}
