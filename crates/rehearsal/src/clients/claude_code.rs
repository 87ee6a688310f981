//! Claude Code.

use std::io;
use std::process::Command;

use serde_json::json;

use super::{Act, Casting, Client, Files, KEY, Teammate, one};
use crate::mcp;
use crate::model::{Call, Turn};

pub(super) struct ClaudeCode;

impl Client for ClaudeCode {
    fn host(&self) -> &'static str {
        "claude-code"
    }

    fn name(&self) -> &'static str {
        "Claude Code"
    }

    fn program(&self) -> &'static str {
        "claude"
    }

    fn has_managed(&self) -> bool {
        true
    }

    fn configure(&self, casting: &Casting<'_>) -> io::Result<()> {
        let trusted = json!({ "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true });
        let state = json!({
            "hasCompletedOnboarding": true,
            "mcpServers": { mcp::NAME: casting.mcp_server() },
            "projects": { casting.stage.worktree().to_string_lossy(): trusted },
        });
        casting.settings(".claude.json", &state)
    }

    fn modes(&self) -> &'static [&'static str] {
        &["default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"]
    }

    fn start(&self, casting: &Casting<'_>, prompt: &str, command: &mut Command) {
        command.env("ANTHROPIC_BASE_URL", casting.model).env("ANTHROPIC_API_KEY", KEY);
        command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").env("DISABLE_AUTOUPDATER", "1");
        // Without this the client refuses to open its permissions to root, and a rehearsal of the administrator's
        // settings has to be root.
        command.env("IS_SANDBOX", "1");
        if let Some(part) = casting.part {
            // In this form it also prints what is for the user and not for the model.
            command.args(["--verbose", "--output-format", "stream-json"]);
            // It asks its user only where there is one.
            command.args(["--permission-prompt-tool", &format!("mcp__{}__{}", mcp::NAME, mcp::USER)]);
            command.args(part.goes_on.then_some("--continue"));
        }
        match casting.mode {
            None => command.arg("--dangerously-skip-permissions"),
            Some(mode) => {
                // Somebody is there to be asked, and agrees.
                command.args(["--permission-prompt-tool", &format!("mcp__{}__{}", mcp::NAME, mcp::USER)]);
                command.args(["--permission-mode", mode])
            }
        };
        if let Some(added) = casting.added {
            command.arg("--add-dir").arg(added);
        }
        command.args(["--print", prompt]);
    }

    fn adds_directories(&self) -> bool {
        true
    }

    fn plan(&self) -> Option<&'static str> {
        Some(".claude/plans/a-plan.md")
    }

    fn isolated(&self, prompt: &str) -> Vec<Turn> {
        let input = json!({
            "description": "a part", "prompt": prompt, "subagent_type": "general-purpose", "isolation": "worktree",
        });
        one(Call::json("Agent", input))
    }

    fn turns(&self, act: Act<'_>) -> Vec<Turn> {
        one(match act {
            Act::Write(path, text) => Call::json("Write", json!({ "file_path": path, "content": text })),
            Act::Read(path) => Call::json("Read", json!({ "file_path": path })),
            Act::Shell(command) => {
                Call::json("Bash", json!({ "command": command, "description": "a command" }))
            }
            Act::Touch(path) => Call::json(&format!("mcp__{}__touch", mcp::NAME), json!({ "path": path })),
            Act::Fail(path) => Call::json(&format!("mcp__{}__fail", mcp::NAME), json!({ "path": path })),
            Act::Delegate(prompt) => Call::json(
                "Agent",
                json!({ "description": "a part", "prompt": prompt, "subagent_type": "general-purpose" }),
            ),
            Act::Edit(path, old, new) => {
                Call::json("Edit", json!({ "file_path": path, "old_string": old, "new_string": new }))
            }
            Act::Ask(question) => {
                let options = ["one", "two"].map(|label| json!({ "label": label, "description": label }));
                let asked = json!({ "question": question, "header": "rehearsal", "options": options, "multiSelect": false });
                Call::json("AskUserQuestion", json!({ "questions": [asked] }))
            }
        })
    }

    fn teammate(&self, name: &str, prompt: &str) -> Option<Teammate> {
        let input = json!({ "description": "a part", "prompt": prompt, "subagent_type": name });
        Some(Teammate::described(name, format!(".claude/agents/{name}.md"), Call::json("Agent", input)))
    }

    fn disarm(&self) -> Files {
        &[(".claude/settings.json", "{\"disableAllHooks\": true}\n")]
    }
}
