//! `toolgate test`: runs case files, and measures files of shell commands.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::Out;
use toolgate_policies::Containable;

use crate::cases;
use crate::cases::measure::{self, Bucket, Measured, Report, Selection};

/// Run case files
#[derive(Debug, Args)]
pub(super) struct Test {
    /// Case files: JSON lines, or TOML with [[case]]; or JSON lines of shell commands, to be measured
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Cases that toolgate disagrees with on purpose, each with its reason [default: cases/disagreements.toml, if it exists]
    #[arg(long, value_name = "TOML")]
    disagreements: Option<PathBuf>,
    /// Show the shell commands of a bucket (`benign`, `escape-*`, `hidden`) with this outcome: any, allow, known,
    /// opaque, ask, deny, silent
    #[arg(long, value_name = "BUCKET:OUTCOME")]
    list: Option<Selection>,
    /// Measure as if commands could run in a sandbox
    #[arg(long)]
    contained: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// What became of all case files.
#[derive(Default)]
struct Sum {
    files: usize,
    passed: usize,
    failed: Vec<String>,
    disagreed: Vec<String>,
    skipped: Vec<(String, usize)>,
}

impl Test {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let read = |path: &PathBuf| {
            std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let usual = PathBuf::from("cases/disagreements.toml");
        let listed = self.disagreements.clone().or_else(|| usual.is_file().then_some(usual));
        let disagreements = listed.as_ref().map(read).transpose()?;
        let containable = if self.contained { Containable::Yes } else { Containable::NotConsidered };
        let mut sum = Sum::default();
        let mut measured: Vec<Measured> = Vec::new();
        for file in &self.files {
            let text = read(file)?;
            let toml = file.extension().is_some_and(|extension| extension == "toml");
            let wrong = |error: cases::CaseFileError| format!("{}: {}", file.display(), error.0);
            if !toml && measure::is_shell_file(&text) {
                measured.extend(measure::measure(&text, containable).map_err(wrong)?);
                continue;
            }
            let outcome = cases::run(&text, toml, disagreements.as_deref()).map_err(wrong)?;
            sum.files += 1;
            sum.passed += outcome.passed;
            sum.failed.extend(outcome.failed);
            sum.disagreed.extend(outcome.disagreed);
            sum.skipped.extend(outcome.skipped);
        }
        let report = Report::of(&measured, containable);
        if self.json {
            out.json(&self.as_json(&sum, &measured, &report))?;
        } else {
            sum.print(out, measured.is_empty())?;
            if !measured.is_empty() {
                self.print_measured(out, &measured, &report)?;
            }
        }
        let fine = sum.failed.is_empty() && report.broken.is_empty();
        Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn selected<'m>(&self, measured: &'m [Measured]) -> Vec<&'m Measured> {
        let Some(list) = &self.list else { return Vec::new() };
        measured.iter().filter(|measured| list.fits(measured)).collect()
    }

    fn as_json(&self, sum: &Sum, measured: &[Measured], report: &Report<'_>) -> serde_json::Value {
        json!({
            "cases": (sum.files > 0).then(|| json!({
                "passed": sum.passed,
                "failed": sum.failed,
                "disagreed": sum.disagreed,
                "skipped": sum.skipped.iter().map(|(why, count)| json!({"why": why, "count": count})).collect::<Vec<_>>(),
            })),
            "shell": (!measured.is_empty()).then_some(report),
            "listed": self.list.as_ref().map(|_| self.selected(measured)),
        })
    }

    fn print_measured(
        &self,
        out: &mut Out,
        measured: &[Measured],
        report: &Report<'_>,
    ) -> Result<(), String> {
        if self.list.is_some() {
            let selected = self.selected(measured);
            for measured in &selected {
                show(out, measured)?;
            }
            out.line(format!("{} commands; by reason:", selected.len()))?;
            for (reason, count) in measure::reasons(selected).into_iter().take(40) {
                out.line(format!("{count:>6}  {reason}"))?;
            }
            out.line("")?;
        }
        table(out, report)?;
        for (doubt, count) in &report.doubted {
            out.line(format!("{count:>6} benign ones contained, though known: {doubt}"))?;
        }
        let escapes = [
            ("escapes allowed as fully known", &report.escapes_missed),
            ("escapes allowed as opaque", &report.escapes_opaque),
            ("hidden commands missed silently", &report.silent_misses),
        ];
        for (title, list) in escapes.into_iter().filter(|(_, list)| !list.is_empty()) {
            out.line(format!("\n{title}: {}", list.len()))?;
            for measured in list {
                out.line(format!("  {:<24} {}", measured.id, measure::shown(&measured.command)))?;
            }
        }
        out.line("")?;
        for broken in &report.broken {
            out.line(format!("{} {broken}", out.paint("31", "FAIL")))?;
        }
        if report.broken.is_empty() {
            out.line("all limits are kept")?;
        }
        Ok(())
    }
}

impl Sum {
    fn print(&self, out: &mut Out, always: bool) -> Result<(), String> {
        for failure in &self.failed {
            out.line(format!("{} {failure}", out.paint("31", "FAIL")))?;
        }
        for disagreement in &self.disagreed {
            out.line(format!("{} {disagreement}", out.paint("33", "not followed")))?;
        }
        for (why, count) in &self.skipped {
            out.line(format!("{} {count}: {why}", out.paint("33", "skipped")))?;
        }
        if always || self.files > 0 {
            let skipped = self.skipped.iter().map(|(_, count)| count).sum::<usize>() + self.disagreed.len();
            out.line(format!("{} passed, {} failed, {skipped} skipped", self.passed, self.failed.len()))?;
        }
        Ok(())
    }
}

fn show(out: &mut Out, measured: &Measured) -> Result<(), String> {
    out.line(format!("{} [{}] {}", measured.id, measured.bucket, measured.decision.word()))?;
    for line in measured.command.lines() {
        out.line(format!("    {}", out.paint("1", line)))?;
    }
    if !measured.explanation.is_empty() {
        out.line(format!("  → {}", measured.explanation))?;
    }
    for unknown in &measured.unknown {
        out.line(format!("  ? {}", measure::shown(unknown)))?;
    }
    Ok(())
}

fn table(out: &mut Out, report: &Report<'_>) -> Result<(), String> {
    let is_contained = report.buckets.values().any(|tally| tally.contained > 0);
    let head =
        ["bucket", "count", "allowed", if is_contained { "contained" } else { "opaque" }, "asked", "denied"];
    let [bucket, count, rest @ ..] = head;
    let rest = rest.map(|word| format!("{word:>16}")).concat();
    out.line(format!("{bucket:<26}{count:>7}{rest}"))?;
    let row = |name: &str, tally: &Bucket| {
        let cell = |part| format!("{part:>7} {:>6.2} %", tally.percent(part));
        let cells = [
            tally.allowed,
            if is_contained { tally.contained } else { tally.opaque },
            tally.asked,
            tally.denied,
        ]
        .map(cell)
        .concat();
        format!("{name:<26}{:>7}{cells}", tally.count)
    };
    for (name, tally) in &report.buckets {
        out.line(row(name, tally))?;
    }
    if report.benign.count > 0 {
        out.line(row("all benign", &report.benign))?;
    }
    Ok(())
}
