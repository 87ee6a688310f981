//! The clients: how each is told where its model is, how it is started, and what its tools are called. One file each.
//!
//! A client is started with its own permissions open, so that what does not run was stopped by the gate.

mod claude_code;
mod codex;
mod copilot;
mod copilot_sdk;
mod gemini;
mod opencode;
mod pi;
mod qwen;

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::model::{Call, Turn};
use crate::stage::Stage;

/// The clients that can be rehearsed.
pub const CLIENTS: &[&dyn Client] = &[
    &claude_code::ClaudeCode,
    &copilot::Copilot,
    &copilot_sdk::CopilotSdk,
    &codex::Codex,
    &gemini::Gemini,
    &opencode::OpenCode,
    &pi::Pi,
    &qwen::Qwen,
];

/// What every key is: the model on loopback asks for none.
const KEY: &str = "dummy";

/// Something that an agent does, in words that all clients share.
#[derive(Debug, Clone, Copy)]
pub enum Act<'a> {
    /// Writes a file with the client's tool for that.
    Write(&'a Path, &'a str),
    /// Reads a file.
    Read(&'a Path),
    /// Runs a shell command.
    Shell(&'a str),
    /// Calls the MCP tool that makes a file.
    Touch(&'a Path),
    /// Calls the MCP tool that gives back as an error what stands in a file.
    Fail(&'a Path),
    /// Starts a sub-agent with this prompt, and waits for it.
    Delegate(&'a str),
    /// Puts other words in the place of those that stand once in a file which it has read.
    Edit(&'a Path, &'a str, &'a str),
    /// Asks the user.
    Ask(&'a str),
}

/// A part in a team, whose user sits beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// The profile of the gate.
    pub profile: &'a str,
    /// The agent's name.
    pub agent: Option<&'a str>,
    /// Its role.
    pub role: Option<&'a str>,
    /// The session is the one of the part before. Clients that have a tool to ask the user know how.
    pub goes_on: bool,
}

/// A sub-agent with a name of its own.
#[derive(Debug)]
pub struct Teammate {
    /// The file of the repository that makes it.
    pub file: String,
    /// What stands in it.
    pub text: String,
    /// The turns in which it is started.
    pub turns: Vec<Turn>,
}

impl Teammate {
    /// One whose file is Markdown with its name at the head, and who is started by one call.
    fn described(name: &str, file: String, call: Call) -> Teammate {
        let text = format!("---\nname: {name}\ndescription: works on a part\n---\nYou work on a part.\n");
        Teammate { file, text, turns: one(call) }
    }
}

/// What a client is set into.
#[derive(Debug, Clone, Copy)]
pub struct Casting<'a> {
    /// The scratch world.
    pub stage: &'a Stage,
    /// Where the model is.
    pub model: &'a str,
    /// The command line of the MCP server.
    pub mcp: &'a [String],
    /// Where the clients are installed, for what they would otherwise fetch or unpack anew for each empty home.
    pub installed: &'a Path,
    /// Where our adapters are, for a client that is a program with one of them in it. `None`: it runs without.
    pub adapters: Option<&'a Path>,
    /// Who plays, where it is somebody in a team.
    pub part: Option<Part<'a>>,
    /// The permission mode, one of [`Client::modes`]; without one its permissions are open.
    pub mode: Option<&'a str>,
    /// A directory that the person opens when starting the client.
    pub added: Option<&'a Path>,
    /// The last session is taken up again.
    pub resumed: bool,
}

impl Casting<'_> {
    /// The program of the MCP server, and its arguments.
    fn mcp_command(&self) -> (&str, &[String]) {
        self.mcp.split_first().map_or(("", &[]), |(program, args)| (program, args))
    }

    /// The MCP server as most clients want it.
    fn mcp_server(&self) -> Value {
        let (command, args) = self.mcp_command();
        serde_json::json!({ "command": command, "args": args })
    }

    /// Writes a JSON file into the home.
    fn settings(&self, path: &str, value: &Value) -> io::Result<()> {
        self.stage.write(&self.stage.home().join(path), format!("{value:#}\n"))
    }
}

/// Files that a repository commits, with their texts.
pub type Files = &'static [(&'static str, &'static str)];

/// A client.
pub trait Client: Sync {
    /// The host's id, as `toolgate init --host` knows it.
    fn host(&self) -> &'static str;

    /// Its name for people.
    fn name(&self) -> &'static str;

    /// Its program.
    fn program(&self) -> &'static str;

    /// Whether the gate is registered in its settings. Otherwise whoever writes the program puts it there.
    fn registers(&self) -> bool {
        true
    }

    /// Whether an administrator can register it for everybody.
    fn has_managed(&self) -> bool {
        false
    }

    /// Its version: what looks like one in what it prints.
    fn version(&self, stage: &Stage, _installed: &Path) -> Option<String> {
        let output = stage.command(stage.bin().join(self.program())).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let numbers = |word: &&str| {
            let mut parts = word.split('.');
            parts.clone().count() >= 3 && parts.all(|part| part.starts_with(|one: char| one.is_ascii_digit()))
        };
        text.split_whitespace().map(|word| word.trim_end_matches('.')).find(numbers).map(str::to_owned)
    }

    /// Longest time for a session that nothing holds up, on a machine that is busy.
    fn limit(&self) -> Duration {
        Duration::from_mins(3)
    }

    /// Writes its settings, as a person has them before the gate is registered.
    fn configure(&self, casting: &Casting<'_>) -> io::Result<()>;

    /// The permission modes that it can be started in. A client that can ask somebody in one of them does.
    fn modes(&self) -> &'static [&'static str] {
        &["open"]
    }

    /// Adds to the command what makes it work on one prompt and end.
    fn start(&self, casting: &Casting<'_>, prompt: &str, command: &mut Command);

    /// The turns in which a model has it do something: mostly one call, and none where it cannot do it.
    fn turns(&self, act: Act<'_>) -> Vec<Turn>;

    /// A script of the model that makes these shell commands one after the other and shows what each gave back, where the client runs such
    /// scripts in this mode.
    fn scripted(&self, _commands: &[&str]) -> Option<(&'static str, Vec<Turn>)> {
        None
    }

    /// What the client prints of its sessions when it is asked to, where it keeps them in no files that can be read.
    fn exported(&self, _stage: &Stage) -> io::Result<Option<String>> {
        Ok(None)
    }

    /// A sub-agent that the client gives a worktree of its own.
    fn isolated(&self, _prompt: &str) -> Vec<Turn> {
        Vec::new()
    }

    /// Whether a session can be taken up again from another directory, which its hooks are then started in.
    fn resumes_elsewhere(&self) -> bool {
        false
    }

    /// Whether a person can open a directory more when starting it.
    fn adds_directories(&self) -> bool {
        false
    }

    /// A file below the home in which the client has its agent keep a plan or notes, where its name is known beforehand.
    fn plan(&self) -> Option<&'static str> {
        None
    }

    /// A sub-agent of this name with this prompt, where a gate is told the name.
    fn teammate(&self, _name: &str, _prompt: &str) -> Option<Teammate> {
        None
    }

    /// What a repository commits to be rid of the hooks, or to have its way behind their back: then a write inside of
    /// the worktree ends up outside of it.
    fn disarm(&self) -> Files;
}

/// One call in one turn.
fn one(call: Call) -> Vec<Turn> {
    vec![vec![call]]
}
