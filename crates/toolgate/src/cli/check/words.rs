//! The words for what a command would do, for people and for programs.

use std::path::Path;

use serde::Serialize;
use toolgate_model::{
    Access, Decision, Effect, Finding, Gap, Origin, PathArg, Reach, Run, Unknown, Verdict, Via, clean,
    shorten,
};

use super::Row;
use super::veil::{Discretion, Veil};
use toolgate_gate::explain::Explanation;

/// A path or a text in a label is at most this long, in characters.
const MAX_LABEL: usize = 100;

/// Where an effect stands, where it comes from a shell command.
pub(super) fn origin<'e>(effect: &'e Effect<'_>) -> Option<&'e Origin> {
    match effect {
        Effect::Use(_, target) => target.origin.as_ref(),
        Effect::Run(run) => run.origin.as_ref(),
        Effect::Connect => None,
        Effect::Unknown(Unknown::Shell { origin, .. }) => Some(origin),
        Effect::Unknown(Unknown::Tool(_) | Unknown::McpTool(_)) => None,
    }
}

/// The way to an effect, the first step first.
pub(super) fn steps(origin: &Origin) -> Vec<&Via> {
    let mut steps: Vec<&Via> = Vec::new();
    let mut next = origin.via.as_deref();
    while let Some(via) = next {
        steps.push(via);
        next = via.before.as_deref();
    }
    steps.reverse();
    steps
}

/// An effect as a label says it.
pub(super) fn label(effect: &Effect<'_>, hiding: &Discretion) -> String {
    let short = |text: &str| shorten(&hiding.line(text), MAX_LABEL);
    match effect {
        Effect::Use(access, target) => {
            let below = match (target.reach, access) {
                _ if target.git_data => ": git data only",
                (Reach::Exact, _) | (_, Access::Search) => "",
                (Reach::Met, _) => " on its way",
                (Reach::Below, _) => " and all below",
            };
            format!("{} {}{below}", access.verb(), short(&path(&target.path)))
        }
        Effect::Run(run) => {
            format!("runs {}", shorten(&hiding.line(&hiding.words(&run.words).join(" ")), MAX_LABEL))
        }
        Effect::Connect => "connects to another machine".to_owned(),
        Effect::Unknown(Unknown::Shell { gap: Gap::Syntax, text, .. }) => {
            format!("is not proved: bash would not parse it ({})", short(text))
        }
        Effect::Unknown(Unknown::Shell { gap: Gap::Bounds, text, .. }) => {
            format!("is not proved: {}", short(text))
        }
        Effect::Unknown(Unknown::Shell { gap, text, .. }) => {
            format!("`{}` is not proved: {}", short(text), why(*gap))
        }
        Effect::Unknown(Unknown::Tool(name) | Unknown::McpTool(name)) => {
            format!("`{}` is not proved: what the tool does is not known", short(name))
        }
    }
}

/// Why it is not proved.
pub(super) fn why(gap: Gap) -> String {
    match gap {
        Gap::Missing => "there is no command".to_owned(),
        Gap::Syntax => "bash would not parse it".to_owned(),
        Gap::Name => "which program it starts is only known when it runs".to_owned(),
        Gap::Path(access) => format!("{} a path that is only known when it runs", access.verb()),
        Gap::Program => "no spec describes the program".to_owned(),
        Gap::Option => "the program's spec does not list it".to_owned(),
        Gap::Project => "runs project code".to_owned(),
        Gap::Code => "code that does more than compute".to_owned(),
        Gap::ShellCode => "shell code that is only known when it runs".to_owned(),
        Gap::Doubt(doubt) => doubt.words().to_owned(),
        Gap::Bounds => "more than can be followed".to_owned(),
    }
}

/// ` (denied by outside-scope)`, ` (main-checkout: denied by outside-scope)`, ` (denied by destructive: git-clean)`
pub(super) fn objections<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> String {
    let mut said: Vec<String> = Vec::new();
    for finding in findings {
        let Finding { kind, policy, rule, .. } = finding;
        let kind = if kind.word() == *policy { String::new() } else { format!("{}: ", kind.word()) };
        let rule = if rule.is_empty() { String::new() } else { format!(": {rule}") };
        let text = format!("{kind}{} by {policy}{rule}", decided(finding.decision));
        if !said.contains(&text) {
            said.push(text);
        }
    }
    if said.is_empty() { String::new() } else { format!(" ({})", said.join("; ")) }
}

pub(super) fn decided(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allowed",
        Decision::Contain => "contained",
        Decision::Ask => "asked",
        Decision::Deny => "denied",
    }
}

/// A path as it is meant: without `..` where it is absolute.
fn path(path: &PathArg<'_>) -> String {
    match path {
        PathArg::Text(text) if text.starts_with('/') => {
            clean(Path::new(&**text)).to_string_lossy().into_owned()
        }
        PathArg::Text(text) | PathArg::Pattern(text) => text.to_string(),
        PathArg::Cwd => ".".to_owned(),
        PathArg::Missing | PathArg::NotText(_) => String::new(),
    }
}

/// `--effects --json`
#[derive(Serialize)]
pub(super) struct EffectsReport<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    effects: Vec<EffectRow>,
    verdict: VerdictRow<'a>,
}

#[derive(Serialize)]
struct VerdictRow<'a> {
    decision: &'static str,
    granted: bool,
    findings: Vec<Row<'a>>,
}

/// One effect for programs.
#[derive(Default, Serialize)]
#[serde(default)]
struct EffectRow {
    #[serde(rename = "do")]
    does: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reach: Option<&'static str>,
    #[serde(flatten)]
    run: Option<RunRow>,
    #[serde(flatten)]
    gap: Option<GapRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<[usize; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<Vec<String>>,
    /// Numbers in the verdict's findings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<usize>,
}

#[derive(Serialize)]
struct RunRow {
    program: String,
    words: Vec<String>,
    fed_by: Vec<String>,
}

#[derive(Serialize)]
struct GapRow {
    gap: &'static str,
    text: String,
}

impl<'a> EffectsReport<'a> {
    /// `command` is the call's command as it is shown; spans are those of its text.
    pub(super) fn of(
        tool: &'a str,
        explanation: &'a Explanation<'_>,
        command: Option<&'a Veil>,
        hiding: &Discretion,
    ) -> Self {
        let rows = explanation.effects.iter().map(|effect| {
            let mut row = EffectRow { findings: effect.findings.clone(), ..row(&effect.what, hiding) };
            if let (Some(origin), Some(command)) = (origin(&effect.what), command) {
                let range = command.range(origin.span.0 as usize..origin.span.1 as usize);
                row.span = Some([range.start, range.end]);
                row.via = Some(steps(origin).iter().map(|via| hiding.hide(&via.step)).collect());
            }
            row
        });
        EffectsReport {
            command: command.map(Veil::text),
            tool,
            cwd: explanation.cwd.as_deref().map(|cwd| hiding.hide(cwd)),
            effects: rows.collect(),
            verdict: VerdictRow::of(&explanation.verdict, hiding),
        }
    }
}

impl<'a> VerdictRow<'a> {
    fn of(verdict: &'a Verdict, hiding: &Discretion) -> Self {
        let findings = verdict.findings().iter().map(|finding| Row::of(finding, hiding)).collect();
        VerdictRow { decision: verdict.decision().word(), granted: verdict.granted(), findings }
    }
}

fn row(effect: &Effect<'_>, hiding: &Discretion) -> EffectRow {
    match effect {
        Effect::Use(access, target) => EffectRow {
            does: access_word(*access),
            path: Some(hiding.hide(&path(&target.path))),
            reach: Some(match target.reach {
                _ if target.git_data => "git-data",
                Reach::Exact => "exact",
                Reach::Below => "below",
                Reach::Met => "met",
            }),
            ..EffectRow::default()
        },
        Effect::Run(Run { program, words, fed_by, .. }) => {
            let (program, words, fed_by) = (hiding.hide(program), hiding.words(words), fed_by.clone());
            EffectRow { does: "run", run: Some(RunRow { program, words, fed_by }), ..EffectRow::default() }
        }
        Effect::Connect => EffectRow { does: "connect", ..EffectRow::default() },
        Effect::Unknown(unknown) => {
            let (gap, text) = match unknown {
                Unknown::Shell { gap, text, .. } => (gap.word(), hiding.hide(text)),
                Unknown::Tool(name) => ("tool", hiding.hide(name)),
                Unknown::McpTool(name) => ("mcp", hiding.hide(name)),
            };
            EffectRow { does: "unknown", gap: Some(GapRow { gap, text }), ..EffectRow::default() }
        }
    }
}

/// `--effects`: one effect a line.
pub(super) fn lines(explanation: &Explanation<'_>, hiding: &Discretion) -> Vec<String> {
    let line = |number: usize| -> Option<String> {
        let effect = explanation.effects.get(number)?;
        let mut text = match &effect.what {
            Effect::Use(access, target) => {
                let below = match target.reach {
                    _ if target.git_data => " (git data only)",
                    Reach::Below => " (and all below)",
                    Reach::Exact | Reach::Met => "",
                };
                format!("{} {}{below}", access_word(*access), hiding.line(&path(&target.path)))
            }
            Effect::Run(run) => format!("run {}", hiding.line(&hiding.words(&run.words).join(" "))),
            Effect::Connect => "connect".to_owned(),
            Effect::Unknown(Unknown::Shell { gap, text, .. }) => {
                format!("unknown {} `{}`", gap.word(), hiding.line(text))
            }
            Effect::Unknown(Unknown::Tool(name)) => format!("unknown tool `{}`", hiding.line(name)),
            Effect::Unknown(Unknown::McpTool(name)) => format!("unknown mcp `{}`", hiding.line(name)),
        };
        let steps = origin(&effect.what).map(steps).unwrap_or_default();
        if !steps.is_empty() {
            let steps: Vec<String> = steps.iter().map(|via| hiding.line(&via.step)).collect();
            text.push_str(&format!(" through {}", steps.join(" → ")));
        }
        let findings =
            effect.findings.iter().filter_map(|number| explanation.verdict.findings().get(*number));
        text.push_str(&objections(findings));
        Some(text)
    };
    let mut lines: Vec<String> = Vec::new();
    for line in (0..explanation.effects.len()).filter_map(line) {
        // A program that connects twice, or is doubted for two reasons, is said once.
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

fn access_word(access: Access) -> &'static str {
    match access {
        Access::Enter => "enter",
        Access::List => "list",
        Access::Read => "read",
        Access::Search => "search",
        Access::Link => "link",
        Access::Append => "append",
        Access::Write => "write",
        Access::Delete => "delete",
    }
}
