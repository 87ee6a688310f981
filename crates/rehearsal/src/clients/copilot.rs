//! GitHub Copilot CLI.

use std::io;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::json;

use super::{Act, Casting, Client, Files, KEY, Teammate, one};
use crate::mcp;
use crate::model::{Call, Turn};

pub(super) struct Copilot;

impl Client for Copilot {
    fn host(&self) -> &'static str {
        "copilot"
    }

    fn name(&self) -> &'static str {
        "Copilot CLI"
    }

    fn program(&self) -> &'static str {
        "copilot"
    }

    fn has_managed(&self) -> bool {
        true
    }

    fn configure(&self, casting: &Casting<'_>) -> io::Result<()> {
        // A repository's settings count only where the person trusts it, as the person does who works in it.
        casting.settings(".copilot/config.json", &json!({ "trustedFolders": [casting.stage.worktree()] }))?;
        let mut server = casting.mcp_server();
        if let Some(server) = server.as_object_mut() {
            server.insert("type".to_owned(), "local".into());
            server.insert("tools".to_owned(), json!(["*"]));
        }
        casting.settings(".copilot/mcp-config.json", &json!({ "mcpServers": { mcp::NAME: server } }))?;
        // The client unpacks itself into the cache of each new home.
        let unpacked = casting.installed.join("home/.cache/copilot");
        if unpacked.is_dir() {
            let cache = casting.stage.home().join(".cache");
            std::fs::create_dir_all(&cache)?;
            symlink(unpacked, cache.join("copilot"))?;
        }
        Ok(())
    }

    fn start(&self, casting: &Casting<'_>, prompt: &str, command: &mut Command) {
        command.env("COPILOT_OFFLINE", "true").env("COPILOT_AUTO_UPDATE", "false");
        command.env("COPILOT_PROVIDER_BASE_URL", format!("{}/v1", casting.model));
        command.env("COPILOT_PROVIDER_API_KEY", KEY).env("COPILOT_MODEL", "rehearsal");
        if let Some(added) = casting.added {
            command.arg("--add-dir").arg(added);
        }
        command.args(["--allow-all", "--prompt", prompt]);
    }

    fn adds_directories(&self) -> bool {
        true
    }

    fn turns(&self, act: Act<'_>) -> Vec<Turn> {
        one(match act {
            Act::Write(path, text) => Call::json("create", json!({ "path": path, "file_text": text })),
            Act::Read(path) => Call::json("view", json!({ "path": path })),
            Act::Shell(command) => {
                Call::json("bash", json!({ "command": command, "description": "a command", "mode": "sync" }))
            }
            Act::Touch(path) => Call::json(&format!("{}-touch", mcp::NAME), json!({ "path": path })),
            Act::Fail(path) => Call::json(&format!("{}-fail", mcp::NAME), json!({ "path": path })),
            Act::Edit(path, old, new) => {
                Call::json("edit", json!({ "path": path, "old_str": old, "new_str": new }))
            }
            // Nobody can be asked in this mode.
            Act::Ask(_) => return Vec::new(),
            Act::Delegate(prompt) => Call::json(
                "task",
                json!({
                    "name": "part", "description": "a part", "prompt": prompt,
                    "agent_type": "general-purpose", "mode": "sync",
                }),
            ),
        })
    }

    fn teammate(&self, name: &str, prompt: &str) -> Option<Teammate> {
        let input = json!({
            "name": "part", "description": "a part", "prompt": prompt, "agent_type": name, "mode": "sync",
        });
        let file = format!(".github/agents/{name}.agent.md");
        Some(Teammate::described(name, file, Call::json("task", input)))
    }

    fn disarm(&self) -> Files {
        &[(".github/copilot/settings.json", "{\"disableAllHooks\": true}\n")]
    }
}
