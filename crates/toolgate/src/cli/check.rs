//! `toolgate check`: what would become of one call, drawn like a compiler's diagnostics.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Read};
use std::ops::Range;
use std::process::ExitCode;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use clap::Args;
use serde::Serialize;
use toolgate_hosts::{action_for, host, tools_like};
use toolgate_model::{Agent, Call, Decision, Finding, Json, Phase, Verdict};

use super::{LineArgs, Out};
use crate::disk::Disk;

/// Say what would become of one call, without running or recording it
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  toolgate check read ../x\n  toolgate check write src/main.rs\n  toolgate check --json < event.json\n\nExit code: 0 allowed, 2 denied, 3 asked, 1 could not be judged."
)]
pub(super) struct Check {
    /// read, write, edit, search, bash, or a tool's own name; without it a hook event is read from stdin
    tool: Option<String>,
    /// The file or command; for a tool by its own name `parameter=value` pairs
    args: Vec<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// The host whose tools and events these are
    #[arg(long, default_value = "claude-code")]
    host: String,
    #[command(flatten)]
    line: LineArgs,
}

impl Check {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let host = host(&self.host).ok_or_else(|| format!("there is no host `{}`", self.host))?;
        let line = self.line.line()?;
        let cwd = std::env::current_dir().map_err(|error| error.to_string())?;
        let event;
        let mut call = match &self.tool {
            Some(tool) => {
                let (tool, input) = spell_out(tool, &self.args)?;
                typed_call(host.id(), tool, input)
            }
            None => {
                event = read_event()?;
                host.decode(&event).map_err(|error| error.to_string())?
            }
        };
        if call.cwd.is_none() {
            call.cwd = Some(cwd.to_string_lossy().into_owned().into());
        }
        // A look is not an event of the session: it pins nothing, and starts where the person stands.
        call.session = None;
        let (verdict, ground) = line
            .judge(host, &call, &Disk::default(), |name| {
                (name != "CLAUDE_PROJECT_DIR").then(|| std::env::var_os(name)).flatten()
            })
            .map_err(|failure| failure.to_string())?;
        if self.json {
            out.json(&Report::of(&call, &verdict))?;
        } else {
            let root = ground.root.map(|root| root.lexical.display().to_string());
            out.line(draw(&call, &verdict, root.as_deref(), out.colour))?;
        }
        Ok(match verdict.decision() {
            Decision::Allow => ExitCode::SUCCESS,
            Decision::Deny => ExitCode::from(2),
            Decision::Ask => ExitCode::from(3),
        })
    }
}

fn read_event() -> Result<Vec<u8>, String> {
    if io::stdin().is_terminal() {
        return Err("name a tool and a file (toolgate check read ../x), or give a hook event on stdin".into());
    }
    let mut event = Vec::new();
    io::stdin().lock().read_to_end(&mut event).map_err(|error| error.to_string())?;
    Ok(event)
}

/// The short words for common tools, spelt out.
fn spell_out(tool: &str, args: &[String]) -> Result<(String, Json<'static>), String> {
    let (name, param) = match tool {
        "read" => ("Read", "file_path"),
        "write" => ("Write", "file_path"),
        "edit" => ("Edit", "file_path"),
        "search" => ("Grep", "path"),
        "bash" => ("Bash", "command"),
        own => {
            let pair = |arg: &String| {
                let (name, value) =
                    arg.split_once('=').ok_or_else(|| format!("`{arg}` is not `parameter=value`"))?;
                Ok((Cow::Owned(name.to_owned()), Json::Text(Cow::Owned(value.to_owned()))))
            };
            return Ok((own.to_owned(), Json::Object(args.iter().map(pair).collect::<Result<_, String>>()?)));
        }
    };
    match args {
        [value] => Ok((
            name.to_owned(),
            Json::Object(vec![(Cow::Borrowed(param), Json::Text(Cow::Owned(value.clone())))]),
        )),
        _ => Err(format!("`toolgate check {tool}` takes one argument")),
    }
}

fn typed_call(host: &'static str, tool: String, input: Json<'static>) -> Call<'static> {
    let action = action_for(tools_like("claude-code"), &tool, &input);
    Call {
        host,
        event: Cow::Borrowed("PreToolUse"),
        phase: Phase::Before,
        session: None,
        cwd: None,
        transcript: None,
        entered: None,
        agent: Agent::default(),
        tool: Cow::Owned(tool),
        input,
        action,
    }
}

#[derive(Serialize)]
struct Report<'a> {
    decision: &'static str,
    granted: bool,
    event: &'a str,
    tool: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rewrites: Vec<Rewritten<'a>>,
    findings: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Rewritten<'a> {
    parameter: &'a str,
    text: &'a str,
}

#[derive(Serialize)]
struct Row<'a> {
    policy: &'a str,
    decision: &'static str,
    kind: &'static str,
    parameter: &'a str,
    path: &'a str,
    message: String,
}

impl<'a> Report<'a> {
    fn of(call: &'a Call<'_>, verdict: &'a Verdict) -> Report<'a> {
        let row = |finding: &'a Finding| Row {
            policy: finding.policy,
            decision: finding.decision.word(),
            kind: finding.kind.word(),
            parameter: &finding.param,
            path: &finding.path,
            message: finding.message(),
        };
        Report {
            decision: verdict.decision().word(),
            granted: verdict.granted(),
            event: &call.event,
            tool: &call.tool,
            rewrites: verdict
                .rewrites()
                .iter()
                .map(|(parameter, text)| Rewritten { parameter, text })
                .collect(),
            findings: verdict.findings().iter().map(row).collect(),
        }
    }
}

/// The call as one line of text, and where each parameter's value stands in it.
fn source(call: &Call<'_>) -> (String, Vec<(String, Range<usize>)>) {
    let mut text = if call.tool.is_empty() { call.event.to_string() } else { call.tool.to_string() };
    let mut places = Vec::new();
    if let Json::Object(members) = &call.input {
        for (name, value) in members {
            let shown = match value {
                Json::Text(value) => toolgate_model::shorten(&value.escape_debug().to_string(), 120),
                other => other.kind().to_owned(),
            };
            text.push_str(&format!(" {name}="));
            places.push((name.to_string(), text.len()..text.len() + shown.len()));
            text.push_str(&shown);
        }
    }
    (text, places)
}

fn draw(call: &Call<'_>, verdict: &Verdict, root: Option<&str>, colour: bool) -> String {
    let (text, places) = source(call);
    let whole = 0..text.len();
    let mut groups: Vec<Group<'_>> = Vec::new();
    for finding in verdict.findings() {
        let (level, word) = match finding.decision {
            Decision::Deny => (Level::ERROR, "denied"),
            Decision::Ask => (Level::WARNING, "asked"),
            Decision::Allow => (Level::NOTE, "allowed"),
        };
        let span = places
            .iter()
            .find(|(name, _)| *name == finding.param)
            .map_or(whole.clone(), |(_, at)| at.clone());
        let title = finding.wording.clone().unwrap_or_else(|| finding.reason.clone());
        let snippet = Snippet::source(text.clone())
            .path("call")
            .annotation(AnnotationKind::Primary.span(span).label(word));
        let mut group = level.primary_title(title).id(finding.policy).element(snippet);
        if !finding.instead.is_empty() {
            group = group.element(Level::HELP.message(finding.instead.clone()));
        }
        groups.push(group);
    }
    if groups.is_empty() {
        let snippet = Snippet::source(text.clone())
            .path("call")
            .annotation(AnnotationKind::Primary.span(whole).label("allowed"));
        let mut group = Level::NOTE.primary_title("no policy objects").element(snippet);
        for (param, to) in verdict.rewrites() {
            group = group.element(Level::NOTE.message(format!("`{param}` becomes `{to}`")));
        }
        groups.push(group);
    }
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let root = root.map(|root| format!("\nroot: {root}")).unwrap_or_default();
    format!("{}\nverdict: {}{root}", renderer.render(&groups), verdict.decision().word())
}
