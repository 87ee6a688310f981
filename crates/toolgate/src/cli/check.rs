//! `toolgate check`: what would become of one call, drawn like a compiler's diagnostics.

mod draw;
mod veil;
mod words;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Read};
use std::ops::Range;
use std::process::ExitCode;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use clap::Args;
use serde::Serialize;
use toolgate_gate::counter::SessionCounter;
use toolgate_gate::explain::{Explanation, explain};
use toolgate_gate::gather::gather;
use toolgate_hosts::{host, tools_like};
use toolgate_model::{Action, Call, Decision, Finding, Json, Verdict, visible};
use toolgate_secrets::redact;

use super::config::settings_in_force;
use super::{LineArgs, Out};
use toolgate_setup::this_machine;
use veil::{Discretion, Veil};

/// Show what would happen to one call, without running or logging it
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  toolgate check 'rm -rf ../x && echo ok > out.txt'\n  toolgate check --effects --json 'make test'\n  toolgate check - < script.sh\n  toolgate check read ../x\n  toolgate check --json < event.json\n\nExit code: 0 allowed, 2 denied, 3 asked, 1 could not be judged."
)]
pub(super) struct Check {
    /// A shell command, in quotes, or `-` to read one from stdin; or read, write, edit, search, bash, or a tool's own
    /// name. Without it a hook event is read from stdin
    #[arg(value_name = "COMMAND|TOOL")]
    what: Option<OsString>,
    /// The tool's file or command; for a tool by its own name, `parameter=value` pairs
    args: Vec<OsString>,
    /// List the effects, one per line; with --json as JSON
    #[arg(long)]
    effects: bool,
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
        let options = self.line.options()?;
        let cwd = std::env::current_dir().map_err(|error| error.to_string())?;
        let event;
        let mut call = match &self.what {
            Some(what) => {
                let args = self.args.iter().map(text).collect::<Result<Vec<_>, _>>()?;
                let (tool, input) = spell_out(&text(what)?, &args)?;
                typed_call(host.id(), tool, input)
            }
            None => {
                event = read_stdin()?;
                host.decode(self.line.event.as_deref(), &event).map_err(|error| error.to_string())?
            }
        };
        if call.cwd.is_none() {
            call.cwd = Some(cwd.to_string_lossy().into_owned().into());
        }
        // A look is not an event of the session: it pins nothing, and starts where the person stands.
        call.session = None;
        // Where the host's own variable would place a session does not count either.
        let machine = this_machine().without_variables(&["CLAUDE_PROJECT_DIR"]);
        let mut counter = SessionCounter::looking(&options.dirs.state, &call);
        let surroundings =
            gather(&machine, host, &options, &call, &mut counter).map_err(|failure| failure.to_string())?;
        let explanation = explain(&machine, &call, &surroundings);
        let verdict = &explanation.verdict;
        let root = surroundings.session.places.root.as_ref().map(|root| root.lexical.display().to_string());
        let (command, hiding) = veiled(&call);
        match (self.effects, self.json, &command) {
            (true, true, _) => {
                out.json(&words::EffectsReport::of(&call.tool, &explanation, command.as_ref(), &hiding))?;
            }
            (true, false, _) => {
                for line in words::lines(&explanation, &hiding) {
                    out.line(line)?;
                }
            }
            (false, true, _) => out.json(&Report::of(&call, &explanation, &hiding))?,
            (false, false, Some(command)) => {
                out.line(draw::draw(&explanation, command, &hiding, root.as_deref(), out.colour))?;
            }
            (false, false, None) => out.line(draw_call(&call, &explanation, root.as_deref(), out.colour))?,
        }
        // A setting that a person relies on and that says nothing may be why.
        if !self.json && !self.effects && !verdict.decision().may_run() {
            for found in settings_in_force(&options, host.profile(), false)?.without_effect {
                out.line(format!("without effect: {}; {}", found.line(), found.help))?;
            }
        }
        Ok(match verdict.decision() {
            Decision::Allow | Decision::Contain => ExitCode::SUCCESS,
            Decision::Deny => ExitCode::from(2),
            Decision::Ask => ExitCode::from(3),
        })
    }
}

/// The command of a call without its secrets, and what hides them elsewhere.
fn veiled(call: &Call<'_>) -> (Option<Veil>, Discretion) {
    match &call.action {
        Action::Shell { command: Some(command), .. } => {
            let (veil, secrets) = Veil::redacting(command);
            (Some(veil), Discretion::new(secrets))
        }
        _ => (None, Discretion::default()),
    }
}

/// What would become of a call, drawn, and all that it would do.
pub(super) fn picture(
    call: &Call<'_>,
    explanation: &Explanation<'_>,
    root: Option<&str>,
    colour: bool,
) -> String {
    let (command, hiding) = veiled(call);
    let drawn = match &command {
        Some(command) => draw::draw(explanation, command, &hiding, root, colour),
        None => draw_call(call, explanation, root, colour),
    };
    let effects: Vec<String> =
        words::lines(explanation, &hiding).into_iter().map(|line| format!("  {line}")).collect();
    format!("{drawn}\neffects:\n{}", effects.join("\n"))
}

/// A call as one line of text, without its secrets.
pub(super) fn one_line(call: &Call<'_>) -> String {
    source(call).0
}

/// Hosts send text; what is none cannot be judged as they would send it.
fn text(arg: &OsString) -> Result<String, String> {
    arg.to_str().map(str::to_owned).ok_or_else(|| format!("`{}` is not UTF-8", arg.to_string_lossy()))
}

fn read_stdin() -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    if !io::stdin().is_terminal() {
        io::stdin().lock().read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err("give a command (toolgate check 'rm -rf ../x'), a tool and a file (toolgate check read ../x), or a hook event on stdin".into());
    }
    Ok(bytes)
}

/// Whether a lone word is the name of a tool and no command: `WebSearch`, `mcp__fs__write`.
fn names_tool(word: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    word.starts_with("mcp__")
        || (word.starts_with(|c: char| c.is_ascii_uppercase()) && word.chars().all(is_name))
}

/// Commands and the short words for common tools, spelt out.
fn spell_out(tool: &str, args: &[String]) -> Result<(String, Json<'static>), String> {
    let (name, param) = match tool {
        "read" => ("Read", "file_path"),
        "write" => ("Write", "file_path"),
        "edit" => ("Edit", "file_path"),
        "search" => ("Grep", "path"),
        "bash" if !args.is_empty() => ("Bash", "command"),
        "-" if args.is_empty() => {
            let text = String::from_utf8(read_stdin()?).map_err(|_| "the command on stdin is not UTF-8")?;
            return Ok(shell(text));
        }
        command if args.is_empty() && !names_tool(command) => return Ok(shell(command.to_owned())),
        own => {
            let pair = |arg: &String| {
                let (name, value) = arg.split_once('=').ok_or_else(|| {
                    format!("`{arg}` is not `parameter=value`; put a whole command in quotes")
                })?;
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

fn shell(command: String) -> (String, Json<'static>) {
    let input = vec![(Cow::Borrowed("command"), Json::Text(Cow::Owned(command)))];
    ("Bash".to_owned(), Json::Object(input))
}

fn typed_call(host: &'static str, tool: String, input: Json<'static>) -> Call<'static> {
    let action = tools_like("claude-code").action(&tool, &input);
    Call::before(host, tool, input, action)
}

#[derive(Serialize)]
struct Report<'a> {
    decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    would: Option<&'static str>,
    granted: bool,
    event: &'a str,
    tool: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rewrites: Vec<Rewritten<'a>>,
    findings: Vec<Row<'a>>,
    /// What of the call is not proved, whatever was decided.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unproved: Vec<UnprovedRow>,
}

#[derive(Serialize)]
struct UnprovedRow {
    reason: &'static str,
    text: String,
}

#[derive(Serialize)]
struct Rewritten<'a> {
    parameter: &'a str,
    text: String,
}

#[derive(Serialize)]
struct Row<'a> {
    policy: &'a str,
    /// The rule of the policy that it is about; switched by this id in `[rules]`.
    #[serde(skip_serializing_if = "str::is_empty")]
    rule: &'a str,
    decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    would: Option<&'static str>,
    kind: &'static str,
    parameter: &'a str,
    path: String,
    message: String,
}

impl<'a> Row<'a> {
    fn of(finding: &'a Finding, hiding: &Discretion) -> Row<'a> {
        Row {
            policy: finding.policy,
            rule: &finding.rule,
            decision: finding.decision.word(),
            would: finding.would.map(Decision::word),
            kind: finding.kind.word(),
            parameter: &finding.param,
            path: hiding.hide(&finding.path),
            message: hiding.hide(&finding.line()),
        }
    }
}

impl<'a> Report<'a> {
    fn of(call: &'a Call<'_>, explanation: &'a Explanation<'_>, hiding: &Discretion) -> Report<'a> {
        let Explanation { verdict, rewrites, .. } = explanation;
        Report {
            decision: verdict.decision().word(),
            would: verdict.would().map(Decision::word),
            granted: verdict.granted(),
            event: &call.event,
            tool: &call.tool,
            rewrites: rewrites
                .iter()
                .map(|(parameter, text)| Rewritten { parameter, text: hiding.hide(text) })
                .collect(),
            findings: verdict.findings().iter().map(|finding| Row::of(finding, hiding)).collect(),
            unproved: verdict
                .unproved()
                .iter()
                .map(|unproved| UnprovedRow { reason: unproved.reason, text: hiding.hide(&unproved.text) })
                .collect(),
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
                Json::Text(value) => {
                    let value = redact(value).named(name).into_string();
                    toolgate_model::shorten(&value.escape_debug().to_string(), 120)
                }
                other => other.kind().to_owned(),
            };
            text.push_str(&format!(" {name}="));
            places.push((name.to_string(), text.len()..text.len() + shown.len()));
            text.push_str(&shown);
        }
    }
    (text, places)
}

fn draw_call(call: &Call<'_>, explanation: &Explanation<'_>, root: Option<&str>, colour: bool) -> String {
    let Explanation { verdict, rewrites, .. } = explanation;
    let (text, places) = source(call);
    let text = draw::with_all_shown(&text);
    let whole = 0..text.len();
    let mut groups: Vec<Group<'_>> = Vec::new();
    for one in draw::folded(verdict.findings()) {
        let finding = one.finding;
        let (level, word) = match finding.decision {
            Decision::Deny => (Level::ERROR, "denied"),
            Decision::Ask => (Level::WARNING, "asked"),
            Decision::Contain => (Level::NOTE, "contained"),
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
        let mut group = level.primary_title(visible(&title)).id(finding.policy).element(snippet);
        if let Some(also) = one.also(&Discretion::default()) {
            group = group.element(Level::NOTE.message(also));
        }
        if !finding.instead.is_empty() {
            group = group.element(Level::HELP.message(visible(&finding.instead)));
        }
        groups.push(group);
    }
    if groups.is_empty() {
        let snippet = Snippet::source(text.clone())
            .path("call")
            .annotation(AnnotationKind::Primary.span(whole).label("allowed"));
        let mut group = Level::NOTE.primary_title("no policy objects").element(snippet);
        for (param, to) in rewrites {
            group = group.element(Level::NOTE.message(format!("`{param}` becomes `{to}`")));
        }
        groups.push(group);
    }
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let root = root.map(|root| format!("\nroot: {root}")).unwrap_or_default();
    let drawn = draw::with_all_shown(&renderer.render(&groups));
    format!("{drawn}\nverdict: {}{root}", decided_as(verdict))
}

/// What was decided, and what would be if the settings did not only observe.
fn decided_as(verdict: &Verdict) -> String {
    match verdict.would() {
        Some(would) => format!("{} (only observed, would be {})", verdict.decision().word(), would.word()),
        None => verdict.decision().word().to_owned(),
    }
}
