//! Codex CLI.

use std::io;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{Act, Casting, Client, Files, KEY, one};
use crate::mcp;
use crate::model::{Call, Turn};

pub(super) struct Codex;

/// The one model for which the client offers its tools plainly, and not from inside of a script.
const MODEL: &str = "gpt-5.5";
/// One that makes its calls in scripts.
const SCRIPTING: &str = "gpt-6.1-sol";
/// The mode in which that one is asked.
const SCRIPTS: &str = "scripts";

impl Client for Codex {
    fn host(&self) -> &'static str {
        "codex"
    }

    fn name(&self) -> &'static str {
        "Codex CLI"
    }

    fn program(&self) -> &'static str {
        "codex"
    }

    fn has_managed(&self) -> bool {
        true
    }

    fn configure(&self, casting: &Casting<'_>) -> io::Result<()> {
        let (home, worktree) = (casting.stage.home(), casting.stage.worktree());
        // A JSON text is a TOML text too.
        let text = |text: &str| json!(text);
        let path = |path: &Path| json!(path);
        let (command, args) = casting.mcp_command();
        let config = format!(
            "model = \"{MODEL}\"
model_provider = \"rehearsal\"
approval_policy = \"never\"
sandbox_mode = \"danger-full-access\"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.rehearsal]
name = \"rehearsal\"
base_url = {url}
env_key = \"OPENAI_API_KEY\"
wire_api = \"responses\"
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0

[mcp_servers.{server}]
command = {command}
args = {args}

[projects.{worktree}]
trust_level = \"trusted\"
",
            url = text(&format!("{}/v1", casting.model)),
            server = mcp::NAME,
            command = text(command),
            args = json!(args),
            worktree = path(&worktree),
        );
        casting.stage.write(&home.join(".codex/config.toml"), config)
    }

    fn start(&self, casting: &Casting<'_>, prompt: &str, command: &mut Command) {
        command.env("OPENAI_API_KEY", KEY);
        command.args(["exec", "--json", "--dangerously-bypass-approvals-and-sandbox"]);
        if casting.mode == Some(SCRIPTS) {
            command.args(["--model", SCRIPTING]);
        }
        if let Some(added) = casting.added {
            command.arg("--add-dir").arg(added);
        }
        command
            .args(casting.resumed.then_some(["resume", "--last", "--all"]).into_iter().flatten())
            .arg(prompt);
    }

    fn scripted(&self, commands: &[&str]) -> Option<(&'static str, Vec<Turn>)> {
        let step = |command: &&str| {
            format!("text(JSON.stringify(await tools.exec_command({})));\n", json!({ "cmd": command }))
        };
        let script: String = commands.iter().map(step).collect();
        Some((SCRIPTS, one(Call::text("exec", script))))
    }

    fn adds_directories(&self) -> bool {
        true
    }

    fn resumes_elsewhere(&self) -> bool {
        true
    }

    fn turns(&self, act: Act<'_>) -> Vec<Turn> {
        let shell =
            |command: &str| Call::json("exec_command", json!({ "cmd": command, "yield_time_ms": 20_000 }));
        one(match act {
            Act::Write(path, text) => {
                let lines: String = text.lines().flat_map(|line| ["+", line, "\n"]).collect();
                let path = path.display();
                Call::text(
                    "apply_patch",
                    format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch"),
                )
            }
            Act::Edit(path, old, new) => {
                let path = path.display();
                Call::text(
                    "apply_patch",
                    format!("*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch"),
                )
            }
            // Nobody can be asked in this mode.
            Act::Ask(_) => return Vec::new(),
            // It has no tool that reads.
            Act::Read(path) => shell(&format!("cat '{}'", path.display())),
            Act::Shell(command) => shell(command),
            Act::Touch(path) => grouped(&format!("mcp__{}", mcp::NAME), "touch", json!({ "path": path })),
            Act::Fail(path) => grouped(&format!("mcp__{}", mcp::NAME), "fail", json!({ "path": path })),
            Act::Delegate(prompt) => {
                // It would wait for a sub-agent whose id it is told, and a script does not know that.
                let spawn = grouped("multi_agent_v1", "spawn_agent", json!({ "message": prompt }));
                return vec![vec![spawn], vec![shell("sleep 8")]];
            }
        })
    }

    fn disarm(&self) -> Files {
        &[(".codex/config.toml", "[features]\nhooks = false\n")]
    }
}

fn grouped(group: &str, tool: &str, input: serde_json::Value) -> Call {
    Call { group: Some(group.to_owned()), ..Call::json(tool, input) }
}
