//! pi.

use std::io;
use std::process::Command;

use serde_json::json;

use super::{Act, Casting, Client, Files, KEY, one};
use crate::mcp;
use crate::model::{Call, Turn};

pub(super) struct Pi;

impl Client for Pi {
    fn host(&self) -> &'static str {
        "pi"
    }

    fn name(&self) -> &'static str {
        "pi"
    }

    fn program(&self) -> &'static str {
        "pi"
    }

    fn configure(&self, casting: &Casting<'_>) -> io::Result<()> {
        let model = json!({
            "id": "model", "reasoning": false, "input": ["text"], "contextWindow": 128_000, "maxTokens": 8192,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 },
        });
        let provider = json!({
            "baseUrl": format!("{}/v1", casting.model), "apiKey": KEY, "api": "openai-completions", "models": [model],
        });
        casting.settings(".pi/agent/models.json", &json!({ "providers": { "rehearsal": provider } }))?;
        let mut server = casting.mcp_server();
        if let Some(server) = server.as_object_mut() {
            // Otherwise its tools are called from inside of a script.
            server.insert("exposure".to_owned(), "direct".into());
        }
        casting.settings(".pi/agent/mcp.json", &json!({ "mcpServers": { mcp::NAME: server } }))
    }

    fn start(&self, _scene: &Casting<'_>, prompt: &str, command: &mut Command) {
        command.env("PI_OFFLINE", "1").env("PI_TELEMETRY", "0");
        // A repository's settings count only where the person trusts it, as the person does who works in it.
        command.args(["--approve", "--provider", "rehearsal", "--model", "model", "--print", prompt]);
    }

    fn turns(&self, act: Act<'_>) -> Vec<Turn> {
        one(match act {
            Act::Write(path, text) => Call::json("write", json!({ "path": path, "content": text })),
            Act::Read(path) => Call::json("read", json!({ "path": path })),
            Act::Shell(command) => Call::json("bash", json!({ "command": command })),
            Act::Touch(path) => Call::json(&format!("mcp__{}__touch", mcp::NAME), json!({ "path": path })),
            Act::Fail(path) => Call::json(&format!("mcp__{}__fail", mcp::NAME), json!({ "path": path })),
            Act::Edit(path, old, new) => {
                Call::json("edit", json!({ "path": path, "edits": [{ "oldText": old, "newText": new }] }))
            }
            // It knows no sub-agents, and no questions to the user.
            Act::Delegate(_) | Act::Ask(_) => return Vec::new(),
        })
    }

    fn disarm(&self) -> Files {
        &[(".pi/settings.json", "{\"extensions\": [\"!**/*\"]}\n")]
    }
}
