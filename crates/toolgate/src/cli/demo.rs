//! `toolgate demo`: a session of two agents in a scratch repository, through the real hook.
//!
//! Everything happens in a temporary directory with a home of its own; nothing of it is left.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use clap::Args;
use serde_json::{Value, json};
use toolgate_evidence::verify;
use toolgate_model::{DENIED, Decision, shorten};

use super::Out;
use super::ledger::{describe, print_counts, totals};

/// Play a session of two agents in a scratch repository
#[derive(Debug, Args)]
pub(super) struct Demo {}

/// One call of the script.
struct ScriptedCall {
    agent: &'static str,
    tool: &'static str,
    input: Value,
    shown: String,
}

impl Demo {
    #[expect(clippy::unused_self, reason = "every command is run the same way")]
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let scratch =
            tempfile::Builder::new().prefix("toolgate-demo-").tempdir().map_err(|error| error.to_string())?;
        let top = scratch.path().canonicalize().map_err(|error| error.to_string())?;
        lay_out(&top).map_err(|error| format!("the scratch repository: {error}"))?;
        out.line("A repository with a main checkout and two agents, each in a worktree of its own:")?;
        out.line(format!("  {}", top.display()))?;
        out.line("  ├── project   the main checkout\n  ├── alpha     agent alpha's worktree\n  └── beta      agent beta's worktree\n")?;
        out.line(out.paint("1", &format!("{:<6} {:<44} {:<7} {}", "agent", "call", "verdict", "why")))?;
        for scripted in script(&top) {
            let event = json!({
                "session_id": format!("demo-{}", scripted.agent),
                "cwd": top.join(scripted.agent),
                "hook_event_name": "PreToolUse",
                "tool_name": scripted.tool,
                "tool_input": scripted.input,
            });
            let (verdict, why) = ask_the_hook(&top, scripted.agent, &event)?;
            let colour = match verdict.as_str() {
                "deny" => "31",
                "ask" => "33",
                _ => "32",
            };
            // The reason: the verdict stands beside it, and what to do instead is for the agent.
            let why = why.strip_prefix(DENIED).unwrap_or(&why).lines().next().unwrap_or_default();
            let why = why.replace(&format!("{}/", top.display()), "");
            let painted = out.paint(colour, &format!("{verdict:<7}"));
            out.line(format!(
                "{:<6} {:<44} {painted} {}",
                scripted.agent,
                shorten(&scripted.shown, 44),
                shorten(&why, 90)
            ))?;
        }
        let state = top.join("home/.local/state/toolgate");
        let report = verify(&state).map_err(|error| error.to_string())?;
        out.line(format!("\nThe log: {}", describe(&report)))?;
        print_counts(out, &totals(&state)?)?;
        let left = scratch.path().to_path_buf();
        scratch.close().map_err(|error| error.to_string())?;
        if left.exists() || report.problem.is_some() {
            return Err("the demo did not finish".into());
        }
        out.line(
            "\nThe scratch repository is gone again. `toolgate init` registers the hook with your agent.",
        )?;
        Ok(ExitCode::SUCCESS)
    }
}

fn script(top: &Path) -> Vec<ScriptedCall> {
    let at = |path: &str| top.join(path).to_string_lossy().into_owned();
    let file = |agent, tool, path: &str| {
        let param = if tool == "Grep" { "path" } else { "file_path" };
        let target = if path.starts_with('/') { path.to_owned() } else { at(path) };
        ScriptedCall { agent, tool, input: json!({ param: target }), shown: format!("{tool} {path}") }
    };
    vec![
        file("alpha", "Read", "alpha/README.md"),
        file("alpha", "Write", "alpha/src/parser.rs"),
        file("alpha", "Read", "/usr/include/stdio.h"),
        file("alpha", "Write", "project/src/lib.rs"),
        file("alpha", "Edit", "beta/README.md"),
        file("alpha", "Write", "alpha/notes/todo.md"),
        file("alpha", "Read", "home/.ssh/id_ed25519"),
        file("beta", "Edit", "beta/README.md"),
        file("beta", "Write", "beta/../project/README.md"),
        file("beta", "Write", "beta/.claude/settings.json"),
        file("beta", "Write", "beta/.git"),
        ScriptedCall {
            agent: "beta",
            tool: "mcp__files__save",
            input: json!({ "destination": "/etc/cron.d/job" }),
            shown: "mcp__files__save /etc/cron.d/job".into(),
        },
        ScriptedCall {
            agent: "beta",
            tool: "Bash",
            input: json!({ "command": "make test" }),
            shown: "Bash make test".into(),
        },
    ]
}

/// The repository: with git where it is there, else by the three files that make a linked worktree.
fn lay_out(top: &Path) -> std::io::Result<()> {
    let project = top.join("project");
    fs::create_dir_all(project.join("src"))?;
    fs::create_dir_all(top.join("home/.ssh"))?;
    fs::write(top.join("home/.ssh/id_ed25519"), "not a real key\n")?;
    fs::write(project.join("README.md"), "# A project\n")?;
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C")
            .arg(&project)
            .args(["-c", "user.name=demo", "-c", "user.email=demo@example.com"])
            .args(args);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            git.env_remove(name);
        }
        git.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let real = git(&["init", "-q"])
        && git(&["add", "."])
        && git(&["commit", "-q", "-m", "Begin"])
        && git(&["worktree", "add", "-q", "-b", "alpha", "../alpha"])
        && git(&["worktree", "add", "-q", "-b", "beta", "../beta"]);
    if !real {
        for agent in ["alpha", "beta"] {
            let own = project.join(".git/worktrees").join(agent);
            fs::create_dir_all(&own)?;
            fs::create_dir_all(top.join(agent))?;
            fs::write(own.join("commondir"), "../..\n")?;
            fs::write(own.join("gitdir"), format!("{}\n", top.join(agent).join(".git").display()))?;
            fs::write(top.join(agent).join(".git"), format!("gitdir: {}\n", own.display()))?;
            fs::write(top.join(agent).join("README.md"), "# A project\n")?;
        }
    }
    // A link that leads out, as a careless or clever agent might have made it.
    std::os::unix::fs::symlink("../project", top.join("alpha/notes"))
}

/// Runs the hook as a host would, and reads its answer.
fn ask_the_hook(top: &Path, agent: &str, event: &Value) -> Result<(String, String), String> {
    let binary = super::hook_binary()?;
    let mut hook = Command::new(binary)
        .args(["hook", "claude-code", "--home"])
        .arg(top.join("home"))
        .env("CLAUDE_PROJECT_DIR", top.join(agent))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    if let Some(mut stdin) = hook.stdin.take() {
        stdin.write_all(event.to_string().as_bytes()).map_err(|error| error.to_string())?;
    }
    let output = hook.wait_with_output().map_err(|error| error.to_string())?;
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let part = |name: &str| {
        answer.pointer(&format!("/hookSpecificOutput/{name}")).and_then(Value::as_str).map(str::to_owned)
    };
    // Another command that leads into the sandbox.
    let is_contained = answer.pointer("/hookSpecificOutput/updatedInput").is_some();
    let unobjected = if is_contained { Decision::Contain } else { Decision::Allow };
    Ok((
        part("permissionDecision").unwrap_or_else(|| unobjected.word().to_owned()),
        part("permissionDecisionReason").unwrap_or_default(),
    ))
}
