//! `toolgate prompt`: what of a prompt the gate makes needless.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;
use similar::TextDiff;

use super::Out;
use toolgate_prompt::{Audit, Finding, Inventory, Outcome, audit, tokens};

/// How much of a sentence a report shows.
const SHOWN: usize = 72;

/// Check agents' prompts for rules that policies enforce
#[derive(Debug, Args)]
pub(super) struct Prompt {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Find the rules that toolgate enforces, and the bytes that they take
    Audit(AuditArgs),
}

#[derive(Debug, Args)]
#[command(after_help = HELP)]
struct AuditArgs {
    /// The prompt, in Markdown
    file: PathBuf,
    /// As JSON
    #[arg(long, conflicts_with = "diff")]
    json: bool,
    /// As a diff to the shortened text
    #[arg(long)]
    diff: bool,
    /// Write the shortened text to this file
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

const HELP: &str = "\
Every rule is enforced (a policy stops it, so it can leave the prompt), hybrid (a policy stops it, a
short form stays, for the model) or guidance (it stays). A sentence that says more than a rule stays whole.

Examples:
  toolgate prompt audit .github/agents/squad.agent.md
  toolgate prompt audit coordinator.md --diff
  toolgate prompt audit coordinator.md --write coordinator.short.md

Exit code: 0 done, 1 could not be read or written.";

impl Prompt {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        match self.command {
            Command::Audit(args) => args.run(out),
        }
    }
}

/// The report as data.
#[derive(Serialize)]
struct Report<'a> {
    file: String,
    #[serde(flatten)]
    audit: &'a Audit,
    tokens: Tokens,
    saved_percent: f64,
    shortened: &'a str,
}

/// The totals in tokens of 3.3 bytes.
#[derive(Serialize)]
struct Tokens {
    all: usize,
    goes: usize,
    reminders: usize,
    saved: usize,
}

impl AuditArgs {
    fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let name = self.file.display();
        let text = fs::read_to_string(&self.file).map_err(|error| format!("`{name}`: {error}"))?;
        let found = audit(&text, &Inventory::shipped()?);
        if let Some(target) = &self.write {
            write(target, &self.file, &found.shortened)?;
        }
        if self.json {
            let totals = found.totals;
            out.json(&Report {
                file: name.to_string(),
                audit: &found,
                tokens: Tokens {
                    all: tokens(totals.bytes),
                    goes: tokens(totals.goes),
                    reminders: tokens(totals.reminders),
                    saved: tokens(totals.saved),
                },
                saved_percent: f64::from(u32::try_from(tenths(&found)).unwrap_or(u32::MAX)) / 10.0,
                shortened: &found.shortened,
            })?;
        } else if self.diff {
            let diff = TextDiff::from_lines(text.as_str(), found.shortened.as_str());
            let diff = diff.unified_diff().header(&format!("a/{name}"), &format!("b/{name}")).to_string();
            out.line(diff.trim_end_matches('\n'))?;
        } else {
            report(out, &self.file, &found)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Never over the prompt itself: what went should be looked at first.
fn write(target: &Path, source: &Path, text: &str) -> Result<(), String> {
    let name = target.display();
    let same = |path: &Path| path.canonicalize().ok();
    if same(target).is_some_and(|target| Some(target) == same(source)) {
        return Err(format!(
            "`{name}` is the prompt itself; write to another file, compare the two, then replace the prompt"
        ));
    }
    fs::write(target, text).map_err(|error| format!("`{name}`: {error}"))
}

fn report(out: &mut Out, file: &Path, audit: &Audit) -> Result<(), String> {
    for finding in &audit.findings {
        let (code, outcome) = match &finding.outcome {
            Outcome::Goes => ("32", "goes".to_owned()),
            Outcome::Shortened(keep) => ("33", format!("becomes: {keep}")),
            Outcome::Stays(why) => ("2", format!("stays: {why}")),
        };
        let head = format!("{:>5}  {:<9} {}", finding.line, finding.kind.name(), by(finding));
        out.line(format!("{}  {} bytes", out.paint("1", &head), thousands(finding.bytes)))?;
        out.line(format!("       {}", shown(&finding.text)))?;
        out.line(format!("       {}", out.paint(code, &outcome)))?;
    }
    if !audit.findings.is_empty() {
        out.line("")?;
    }
    let totals = audit.totals;
    let tenths = tenths(audit);
    let row = |name: &str, bytes: usize| {
        format!("{name:<22}{:>8} bytes{:>7} tokens", thousands(bytes), thousands(tokens(bytes)))
    };
    out.line(format!("{}", file.display()))?;
    out.line(row("  the whole text", totals.bytes))?;
    out.line(row("  can go", totals.goes))?;
    out.line(row("  stays as reminders", totals.reminders))?;
    out.line(format!("{}, {}.{} %", row("  saved", totals.saved), tenths / 10, tenths % 10))?;
    out.line("A token counts as 3.3 bytes. The policies are those of the profile `squad`.")
}

/// The share that is saved, in tenths of a percent.
fn tenths(audit: &Audit) -> usize {
    (audit.totals.saved * 1000).checked_div(audit.totals.bytes).unwrap_or_default()
}

/// Which policies and rules a finding is about.
fn by(finding: &Finding) -> String {
    match (finding.policies.is_empty(), finding.rules.is_empty()) {
        (true, true) => "nothing is left below it".to_owned(),
        (true, false) => finding.rules.join(", "),
        (false, _) => format!("{} ({})", finding.policies.join(", "), finding.rules.join(", ")),
    }
}

/// The beginning of a text, in one line.
fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= SHOWN {
        return line;
    }
    let cut: String = line.chars().take(SHOWN - 1).collect();
    format!("{}…", cut.trim_end())
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
