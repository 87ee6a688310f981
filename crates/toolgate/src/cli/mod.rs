//! The command line, for people and scripts. Nothing here is on the hook's path.
//!
//! stdout holds what was asked for, stderr what went wrong and how far long work has come. Colours only on a terminal, and not
//! where `NO_COLOR` is set or `TERM` is `dumb`, unless `--color` says otherwise. What is said as JSON is one object with the
//! version of its form. Exit codes: 0 fine or allowed, 1 could not be done or is not as it should be, 2 denied, or cannot
//! tell where nothing is denied, 3 asked, 64 a wrong command line.

mod agent;
mod allow;
mod approve;
mod approver;
mod check;
mod config;
mod dashboard;
mod demo;
mod exec;
mod explained;
mod generate;
mod install;
mod ledger;
mod lockout;
mod mcp;
mod pause;
mod people;
mod phase;
mod policies;
mod progress;
mod prompt;
mod reconcile;
mod replay;
mod report;
mod scan;
mod scrub;
pub(crate) mod shell;
mod suggest;
mod team_rules;
mod test;
mod transcripts;
mod trust;
mod watch;
mod why;
mod workspace;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use serde::Serialize;

use toolgate_gate::dirs::Dirs;
use toolgate_gate::options::{HookOptions, SessionOptions};
use toolgate_gate::settings::{NoRules, SettingsSources};
use toolgate_hosts::HOSTS;
use toolgate_model::{ActivationState, TeamPhase};
use toolgate_policies::Settings;
use toolgate_setup::approval::password::sign;
use toolgate_setup::this_machine;

pub use generate::{completions, man_page, reference, schema};

/// The gate at the tool-call boundary of AI coding agents
#[derive(Debug, Parser)]
#[command(
    name = "toolgate",
    bin_name = "toolgate",
    version,
    propagate_version = true,
    disable_help_subcommand = true,
    after_help = "Begin with `toolgate init`, which registers the hook with your agents, and `toolgate doctor`, which proves that it works."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Whether output is coloured [default: auto]
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        hide_possible_values = true,
        display_order = 900
    )]
    color: Option<Colour>,
}

/// Whether output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Colour {
    /// On a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`
    Auto,
    /// Also into pipes and files
    Always,
    /// Not at all
    Never,
}

impl Colour {
    /// Whether colours may be used on this stream.
    fn allows(self, stream: &impl IsTerminal) -> bool {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        match self {
            Colour::Auto => stream.is_terminal() && !is_set("NO_COLOR") && !is_dumb(),
            Colour::Always => true,
            Colour::Never => false,
        }
    }
}

/// Whether the terminal shows what it gets, and obeys nothing in it.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Commands whose output is no page for people: a host's, a program's own, or a file. They take no `--color`.
const COLOURLESS: &[&str] = &[
    "dashboard",
    "hook",
    "serve",
    "scrub",
    "mcp",
    "exec",
    "shell",
    "sign-approval",
    "schema",
    "completions",
    "man",
];

/// The command line as it is parsed and described.
fn command() -> clap::Command {
    let refused = |_: &str| Err::<Colour, _>("this command colours nothing");
    let none = Arg::new("color").long("color").hide(true).value_parser(refused);
    COLOURLESS
        .iter()
        .fold(Cli::command(), |command, name| command.mut_subcommand(name, |sub| sub.arg(none.clone())))
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Judge one hook event of a host: JSON on stdin, the host's answer on stdout
    Hook {
        /// The host: claude-code, codex, copilot, copilot-sdk, cursor, gemini, generic, mpm, opencode, pi, qwen
        host: String,
        #[command(flatten)]
        line: LineArgs,
    },
    /// Judge the events of a whole session in one process: JSON lines on stdin and stdout
    Serve {
        /// The host: copilot-sdk, generic, opencode, pi
        host: String,
        #[command(flatten)]
        line: LineArgs,
    },
    /// Show what would happen to one call, without running or logging it
    Check(check::Check),
    /// Register the hook with a host; shows what changes first
    Init(install::Init),
    /// Remove the registration
    Uninstall(install::Uninstall),
    /// Prove that the gate is active: registration, test call, what would switch it off
    Doctor(install::Doctor),
    /// List the policies
    Policies(policies::Policies),
    /// Print a policy's manual
    Explain(policies::Explain),
    /// Try today's settings on past calls, from the agents' own transcripts and from the log
    Replay(replay::Replay),
    /// Propose the narrowest settings for what people approved, or for what agents needed again and again
    Suggest(suggest::Suggest),
    /// Look for calls in the agents' own transcripts that are not in the log
    Reconcile(reconcile::Reconcile),
    /// Read and verify the log
    Ledger(ledger::Ledger),
    /// Watch the agents and their calls as they come
    Watch(watch::Watch),
    /// Show the log, the agents, the rules and a playground in a browser; only for a person
    Dashboard(dashboard::Dashboard),
    /// Write a page about what the agents did: for a terminal, as Markdown, HTML or JSON
    Report(report::Report),
    /// Copy stdin to stdout with a mark in place of every secret
    Scrub(scrub::Scrub),
    /// Find secrets in files, in staged changes, or in a git history
    Scan(scan::Scan),
    /// Check agents' prompts for rules that policies enforce
    Prompt(prompt::Prompt),
    /// Let this project's toolgate.toml, as it is now, loosen rules
    Trust(trust::Trust),
    /// Open a place, or allow what a rule stops; only for a person at a terminal
    Allow(allow::Allow),
    /// Show what a stopped call would do, and let it through; only for a person
    Approve(approve::Approve),
    /// Reject a stopped call, with a note for the agent
    Reject(approve::Reject),
    /// Explain a past verdict: a record of the log, a call by its id, or by the code in its denial
    Why(why::Why),
    /// List the calls that wait for a person's answer
    Pending(approve::ListPending),
    /// Sign an approval, once sudo has taken a password: `toolgate approve` has sudo start it
    #[command(hide = true)]
    SignApproval,
    /// Manage the keys whose signatures count as approvals
    Approver(approver::Approver),
    /// Show which settings are in force, and where each comes from
    Config(config::Config),
    /// Register who works where, and in what role
    Agent(agent::Agent),
    /// Keep the author of rejected work from revising it
    Lockout(lockout::Lockout),
    /// Show or set the phase of this repository's team
    Phase(phase::Phase),
    /// Let agents read and write what was declared, and nothing else
    Workspace(workspace::Workspace),
    /// Serve a declared workspace to an agent as its file tools, by the Model Context Protocol on stdin and stdout
    Mcp(mcp::Mcp),
    /// Switch the gate off in this worktree for a while; only for a person at a terminal
    Pause(pause::Pause),
    /// Run a command in a kernel sandbox, with the rules that a call would get here
    Exec(exec::Exec),
    /// Run case files
    Test(test::Test),
    /// Play a session of two agents in a scratch repository
    Demo(demo::Demo),
    /// Run a shell's command and show its output without secrets; written into commands by the hook
    #[command(hide = true)]
    Shell(shell::Shell),
    /// Print the JSON schema of toolgate.toml
    Schema,
    /// Print shell completions
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// What a registration line can say.
#[derive(Debug, Clone, Default, Args)]
struct LineArgs {
    /// The profile to judge by
    #[arg(long)]
    profile: Option<String>,
    /// The agent's id, as the orchestrator names it
    #[arg(long)]
    agent: Option<String>,
    /// The agent's role: coordinator, reviewer, or one of your own
    #[arg(long)]
    role: Option<String>,
    /// The phase of the team
    #[arg(long, value_parser = ["init-phase-1", "init-phase-2", "team-mode"], hide_short_help = true)]
    phase: Option<String>,
    /// The directory that the agent is confined to
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// The event that the hook is registered for, if the host does not name it
    #[arg(long, hide_short_help = true)]
    event: Option<String>,
    /// The host's mode (tui, rpc, json, print), for profiles that are active in some modes only
    #[arg(long, hide_short_help = true)]
    mode: Option<String>,
    /// Whether the host's user trusts the project, for profiles that are active in trusted projects only
    #[arg(long, value_parser = ["yes", "no"], hide_short_help = true)]
    trusted: Option<String>,
    /// The home directory
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    home: Option<PathBuf>,
    /// The directory of the user's settings
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    config: Option<PathBuf>,
    /// The directory of the log and of toolgate's other state
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    state: Option<PathBuf>,
}

impl LineArgs {
    fn dirs(&self) -> Result<Dirs, String> {
        let mut dirs = match &self.home {
            Some(home) => Dirs::of_home(home),
            None => Dirs::from_env(|name| std::env::var_os(name)).ok_or("HOME is not set")?,
        };
        dirs.config = self.config.clone().unwrap_or(dirs.config);
        dirs.state = self.state.clone().unwrap_or(dirs.state);
        Ok(dirs)
    }

    fn options(&self) -> Result<HookOptions, String> {
        let root =
            self.root.as_ref().map(std::path::absolute).transpose().map_err(|error| error.to_string())?;
        Ok(HookOptions {
            dirs: self.dirs()?,
            profile: self.profile.clone(),
            session: SessionOptions {
                root,
                agent: self.agent.clone(),
                role: self.role.clone(),
                phase: self.phase.as_deref().and_then(TeamPhase::of),
            },
            activation: ActivationState {
                trusted: self.trusted.as_deref().map(|word| word == "yes"),
                mode: self.mode.clone(),
                paused: false,
            },
            event: self.event.clone(),
        })
    }
}

/// The exit code of one whose reader has gone, as a shell shows it: a program that does not catch the signal has the
/// same.
const READER_GONE: u8 = 128 + 13;

/// Whether whoever reads has seen enough: `toolgate schema | head`.
fn is_reader_gone(error: &str) -> bool {
    error == io::Error::from(rustix::io::Errno::PIPE).to_string()
}

/// Where output goes, and whether it may be coloured.
struct Out {
    stdout: io::StdoutLock<'static>,
    colour: bool,
}

/// The version of what commands say as JSON: `docs/json.md`. A later toolgate may add members without changing it.
const JSON_VERSION: u32 = 1;

/// One object, with the version of its form.
#[derive(Serialize)]
struct Versioned<'v, T> {
    version: u32,
    #[serde(flatten)]
    value: &'v T,
}

impl Out {
    fn new(colour: Colour) -> Out {
        Out { stdout: io::stdout().lock(), colour: colour.allows(&io::stdout()) }
    }

    fn line(&mut self, text: impl AsRef<str>) -> Result<(), String> {
        writeln!(self.stdout, "{}", text.as_ref()).map_err(|error| error.to_string())
    }

    /// An object, as JSON.
    fn json(&mut self, value: &impl Serialize) -> Result<(), String> {
        let value = Versioned { version: JSON_VERSION, value };
        let text = serde_json::to_string_pretty(&value).map_err(|error| error.to_string())?;
        self.line(text)
    }

    /// A unified diff.
    fn diff(&mut self, text: &str) -> Result<(), String> {
        for line in text.lines() {
            let code = match line.chars().next() {
                Some('+') => "32",
                Some('-') => "31",
                _ => "0",
            };
            self.line(self.paint(code, line))?;
        }
        Ok(())
    }

    /// The text in a colour by its ANSI code, where colours may be used.
    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// The layers of settings, or what is wrong with them.
fn layers_of(sources: &SettingsSources<'_>) -> Result<Vec<Settings>, String> {
    match sources.rules(&this_machine()) {
        Ok(rules) => Ok(rules.layers),
        Err(NoRules::Broken(error)) => Err(error.to_string()),
        Err(NoRules::Stale) => Err("the settings are not compiled".to_owned()),
    }
}

/// The binary that hosts start: `toolgate`, beside the command line where the two are apart.
fn hook_binary() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let hook = own.with_file_name("toolgate");
    Ok(if hook.is_file() { hook } else { own })
}

/// Root's half of `toolgate approve`, where a password is required.
fn sign_approval(out: &mut Out) -> Result<ExitCode, String> {
    let answer = sign(&this_machine())?;
    out.stdout.write_all(&answer).and_then(|()| out.stdout.flush()).map_err(|error| error.to_string())?;
    Ok(ExitCode::SUCCESS)
}

fn serve(name: &str, line: &LineArgs) -> Result<ExitCode, String> {
    let served = || HOSTS.iter().filter(|host| host.is_served());
    let Some(host) = served().find(|host| host.id() == name) else {
        let known: Vec<_> = served().map(|host| host.id()).collect();
        return Err(format!("`{name}` is not served; these are: {}", known.join(", ")));
    };
    Ok(crate::serve::run(*host, &line.options()?))
}

/// The exit code of a command that looked and cannot tell: not everything could be looked at. None of these denies anything.
const CANNOT_TELL: u8 = 2;

/// The exit code of a command line that cannot be read (`EX_USAGE`): no command uses it for anything else, so nobody takes a misspelt option
/// for a denial.
const WRONG_LINE: u8 = 64;

/// Says what is wrong with the command line, or the help that it asks for.
fn not_a_command(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    let is_hook = std::env::args_os().nth(1).is_some_and(|word| word == "hook");
    match (error.use_stderr(), is_hook) {
        (false, _) => ExitCode::SUCCESS,
        // A host takes this one, and no other, for a denial.
        (true, true) => ExitCode::from(2),
        (true, false) => ExitCode::from(WRONG_LINE),
    }
}

/// Runs the command that the arguments name.
pub fn run() -> ExitCode {
    let parsed = command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return not_a_command(&error),
    };
    let mut out = Out::new(cli.color.unwrap_or(Colour::Auto));
    let done = match cli.command {
        // Only a wrong line comes here: `main` runs the hook itself.
        Command::Hook { .. } => Ok(ExitCode::from(2)),
        Command::Serve { host, line } => serve(&host, &line),
        Command::Check(command) => command.run(&mut out),
        Command::Replay(command) => command.run(&mut out),
        Command::Suggest(command) => command.run(&mut out),
        Command::Reconcile(command) => command.run(&mut out),
        Command::Init(command) => command.run(&mut out),
        Command::Uninstall(command) => command.run(&mut out),
        Command::Doctor(command) => command.run(&mut out),
        Command::Policies(command) => command.run(&mut out),
        Command::Explain(command) => command.run(&mut out),
        Command::Ledger(command) => command.run(&mut out),
        Command::Watch(command) => {
            let colour = out.colour;
            // The terminal is the page's, and that of the commands that it starts.
            drop(out);
            command.run(colour)
        }
        Command::Dashboard(command) => {
            drop(out);
            command.run()
        }
        Command::Report(command) => command.run(&mut out),
        Command::Scrub(command) => command.run(&mut out),
        Command::Scan(command) => Ok(command.run(&mut out)),
        Command::Prompt(command) => command.run(&mut out),
        Command::Trust(command) => command.run(&mut out),
        Command::Allow(command) => command.run(&mut out),
        Command::Approve(command) => command.run(&mut out),
        Command::Reject(command) => command.run(&mut out),
        Command::Why(command) => command.run(&mut out),
        Command::Pending(command) => command.run(&mut out),
        Command::SignApproval => sign_approval(&mut out),
        Command::Approver(command) => command.run(&mut out),
        Command::Config(command) => command.run(&mut out),
        Command::Agent(command) => command.run(&mut out),
        Command::Lockout(command) => command.run(&mut out),
        Command::Phase(command) => command.run(&mut out),
        Command::Workspace(command) => Ok(command.run(&mut out)),
        Command::Mcp(command) => {
            // It holds stdout, which the server writes from another thread.
            drop(out);
            command.run()
        }
        Command::Pause(command) => command.run(&mut out),
        Command::Exec(command) => {
            drop(out);
            Ok(command.run())
        }
        Command::Test(command) => command.run(&mut out),
        Command::Demo(command) => command.run(&mut out),
        Command::Shell(command) => command.run(),
        Command::Schema => out.line(schema()).map(|()| ExitCode::SUCCESS),
        Command::Completions { shell } => out.line(completions(shell).trim_end()).map(|()| ExitCode::SUCCESS),
        Command::Man => out.line(man_page().trim_end()).map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        if is_reader_gone(&error) {
            return ExitCode::from(READER_GONE);
        }
        let _ = writeln!(io::stderr(), "toolgate: {error}");
        ExitCode::FAILURE
    })
}
