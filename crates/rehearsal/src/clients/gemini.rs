//! Gemini CLI.

use std::io;
use std::process::Command;

use serde_json::json;

use super::{Act, Casting, Client, Files, KEY, one};
use crate::mcp;
use crate::model::{Call, Turn};

pub(super) struct Gemini;

impl Client for Gemini {
    fn host(&self) -> &'static str {
        "gemini"
    }

    fn name(&self) -> &'static str {
        "Gemini CLI"
    }

    fn program(&self) -> &'static str {
        "gemini"
    }

    fn has_managed(&self) -> bool {
        true
    }

    fn configure(&self, casting: &Casting<'_>) -> io::Result<()> {
        let settings = json!({
            "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
            "model": { "name": "gemini-2.5-flash" },
            "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
            "privacy": { "usageStatisticsEnabled": false },
            "telemetry": { "enabled": false },
            "mcpServers": { mcp::NAME: casting.mcp_server() },
        });
        casting.settings(".gemini/settings.json", &settings)
    }

    fn start(&self, casting: &Casting<'_>, prompt: &str, command: &mut Command) {
        command.env("GEMINI_API_KEY", KEY).env("GOOGLE_GEMINI_BASE_URL", casting.model);
        command.env("GEMINI_CLI_NO_RELAUNCH", "true");
        command.args(["--yolo", "--prompt", prompt]);
        // Its own bounds, which would stop a write before the gate is asked.
        command.arg("--include-directories").arg(casting.stage.outside());
    }

    fn adds_directories(&self) -> bool {
        true
    }

    fn turns(&self, act: Act<'_>) -> Vec<Turn> {
        one(match act {
            Act::Write(path, text) => Call::json("write_file", json!({ "file_path": path, "content": text })),
            Act::Read(path) => Call::json("read_file", json!({ "file_path": path })),
            Act::Shell(command) => {
                Call::json("run_shell_command", json!({ "command": command, "description": "a command" }))
            }
            Act::Touch(path) => Call::json(&format!("mcp_{}_touch", mcp::NAME), json!({ "path": path })),
            Act::Fail(path) => Call::json(&format!("mcp_{}_fail", mcp::NAME), json!({ "path": path })),
            Act::Edit(path, old, new) => Call::json(
                "replace",
                json!({ "file_path": path, "instruction": "an edit", "old_string": old, "new_string": new }),
            ),
            // Nobody can be asked in this mode.
            Act::Ask(_) => return Vec::new(),
            Act::Delegate(prompt) => {
                Call::json("invoke_agent", json!({ "agent_name": "generalist", "prompt": prompt }))
            }
        })
    }

    fn disarm(&self) -> Files {
        &[(".gemini/settings.json", "{\"hooksConfig\": {\"enabled\": false}}\n")]
    }
}
