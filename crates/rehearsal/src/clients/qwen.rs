//! Qwen Code.

use std::io;
use std::process::Command;

use serde_json::json;

use super::{Act, Casting, Client, Files, KEY, Teammate, one};
use crate::mcp;
use crate::model::{Call, Turn};

pub(super) struct Qwen;

impl Client for Qwen {
    fn host(&self) -> &'static str {
        "qwen"
    }

    fn name(&self) -> &'static str {
        "Qwen Code"
    }

    fn program(&self) -> &'static str {
        "qwen"
    }

    fn has_managed(&self) -> bool {
        true
    }

    fn configure(&self, casting: &Casting<'_>) -> io::Result<()> {
        let settings = json!({
            "security": { "auth": { "selectedType": "openai" }, "folderTrust": { "enabled": false } },
            "general": { "enableAutoUpdate": false, "disableAutoUpdate": true },
            "privacy": { "usageStatisticsEnabled": false },
            "telemetry": { "enabled": false },
            "mcpServers": { mcp::NAME: casting.mcp_server() },
        });
        casting.settings(".qwen/settings.json", &settings)
    }

    fn start(&self, casting: &Casting<'_>, prompt: &str, command: &mut Command) {
        command.env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", format!("{}/v1", casting.model));
        command.env("OPENAI_MODEL", "model");
        command.args(["--yolo", "--prompt", prompt]);
        // Its own bounds, which would stop a write before the gate is asked.
        command.arg("--include-directories").arg(casting.stage.outside());
    }

    fn adds_directories(&self) -> bool {
        true
    }

    fn plan(&self) -> Option<&'static str> {
        Some(".qwen/plans/a-plan.md")
    }

    fn turns(&self, act: Act<'_>) -> Vec<Turn> {
        one(match act {
            Act::Write(path, text) => Call::json("write_file", json!({ "file_path": path, "content": text })),
            Act::Read(path) => Call::json("read_file", json!({ "file_path": path })),
            Act::Shell(command) => Call::json(
                "run_shell_command",
                json!({ "command": command, "description": "a command", "is_background": false }),
            ),
            Act::Touch(path) => Call::json(&format!("mcp__{}__touch", mcp::NAME), json!({ "path": path })),
            Act::Fail(path) => Call::json(&format!("mcp__{}__fail", mcp::NAME), json!({ "path": path })),
            Act::Edit(path, old, new) => {
                Call::json("edit", json!({ "file_path": path, "old_string": old, "new_string": new }))
            }
            // Nobody can be asked in this mode.
            Act::Ask(_) => return Vec::new(),
            Act::Delegate(prompt) => Call::json(
                "agent",
                json!({ "description": "a part", "prompt": prompt, "subagent_type": "general-purpose" }),
            ),
        })
    }

    fn teammate(&self, name: &str, prompt: &str) -> Option<Teammate> {
        let input = json!({ "description": "a part", "prompt": prompt, "subagent_type": name });
        Some(Teammate::described(name, format!(".qwen/agents/{name}.md"), Call::json("agent", input)))
    }

    fn disarm(&self) -> Files {
        &[(".qwen/settings.json", "{\"disableAllHooks\": true}\n")]
    }
}
