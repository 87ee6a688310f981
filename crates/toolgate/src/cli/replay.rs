//! `toolgate replay`: what the settings of today would have decided about the calls of the past, as the clients' transcripts tell of them.
//!
//! Nothing is run, asked, pinned or logged. Each call is judged on the disk as it is today, so what a script held then is not known; a call whose
//! directory is gone is not judged at all, and is counted as that.

mod judge;
mod tally;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum};
use serde::Serialize;
use toolgate_gate::options::HookOptions;
use toolgate_hosts::host;
use toolgate_model::{Decision, Host};
use toolgate_transcripts::{Found, open, read};

use super::transcripts::TranscriptArgs;
use super::{LineArgs, Out};
use judge::{Judge, Judged};
use tally::{Groups, Tally};

pub(super) use tally::shown;

/// Try today's settings on the calls that agents have made, as their own transcripts tell of them
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  toolgate replay\n  toolgate replay --since 7d --list deny\n  toolgate replay --host codex --json\n  toolgate replay --against stricter.toml\n  toolgate replay --host claude-code ~/backup/session.jsonl\n\nNothing is run or logged. Calls are judged on the disk as it is today."
)]
pub(super) struct Replay {
    #[command(flatten)]
    transcripts: TranscriptArgs,
    /// How far back, as 12h, 7d or 4w
    #[arg(long, default_value = "30d", value_parser = humantime::parse_duration)]
    since: Duration,
    /// Another settings file of a user, to see which decisions it would change
    #[arg(long, value_name = "TOML")]
    against: Option<PathBuf>,
    /// Show every call with this decision, not only examples
    #[arg(long, value_enum)]
    list: Option<Word>,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    line: LineArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Word {
    Deny,
    Ask,
    Contain,
}

impl Word {
    fn decision(self) -> Decision {
        match self {
            Word::Deny => Decision::Deny,
            Word::Ask => Decision::Ask,
            Word::Contain => Decision::Contain,
        }
    }
}

/// What a whole replay has found.
#[derive(Debug, Default, Serialize)]
struct Report {
    days: u64,
    #[serde(flatten)]
    tally: Tally,
    /// Transcripts that could not be opened, and directories that could not be listed.
    unread_files: Vec<String>,
    /// Calls that the other settings would decide differently, by both decisions.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<Groups>,
}

impl Replay {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let options = self.line.options()?;
        let from = SystemTime::now().checked_sub(self.since).unwrap_or(SystemTime::UNIX_EPOCH);
        let (files, unlisted) = self.transcripts.found(&options.dirs.home, from)?;
        let other = self.against.as_deref().map(|file| Other::settings(&options, file)).transpose()?;
        let examples = if self.list.is_some() { usize::MAX } else { tally::EXAMPLES };
        let work = Work {
            files: &files,
            next: AtomicUsize::new(0),
            from,
            options: &options,
            other: other.as_ref(),
            examples,
        };
        let mut report = work.done()?;
        report.days = self.since.as_secs() / (24 * 60 * 60);
        report.unread_files.extend(unlisted.iter().map(|path| path.display().to_string()));
        if self.json {
            out.json(&report)?;
        } else {
            report.print(out, self.list.map(Word::decision))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Another user's settings, in a directory of their own for as long as they are needed.
struct Other {
    options: HookOptions,
    directory: PathBuf,
}

impl Other {
    fn settings(options: &HookOptions, file: &Path) -> Result<Other, String> {
        use std::os::unix::fs::DirBuilderExt;
        let shown = |error: std::io::Error| format!("{}: {error}", file.display());
        let text = fs::read(file).map_err(shown)?;
        toolgate_setup::compile::check(file, &text).map_err(|error| error.to_string())?;
        // Beside our state, where no agent writes.
        let directory = options.dirs.state.join(format!("replay-{}", std::process::id()));
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&directory)
            .map_err(|error| error.to_string())?;
        let mut options = options.clone();
        options.dirs.config.clone_from(&directory);
        fs::write(directory.join(toolgate_gate::settings::FILE), text).map_err(|error| error.to_string())?;
        Ok(Other { options, directory })
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Transcripts that several threads go through.
struct Work<'w> {
    files: &'w [Found],
    next: AtomicUsize,
    from: SystemTime,
    options: &'w HookOptions,
    other: Option<&'w Other>,
    examples: usize,
}

impl Work<'_> {
    fn done(&self) -> Result<Report, String> {
        let threads =
            std::thread::available_parallelism().map_or(1, usize::from).min(self.files.len().max(1));
        let parts: Vec<Result<Report, String>> = std::thread::scope(|scope| {
            let started: Vec<_> = (0..threads).map(|_| scope.spawn(|| self.part())).collect();
            let joined = started
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Err("it failed inside".into())));
            joined.collect()
        });
        let mut whole = Report { changed: self.other.map(|_| Groups::default()), ..Report::default() };
        for part in parts {
            let part = part?;
            whole.tally.add(part.tally, self.examples);
            whole.unread_files.extend(part.unread_files);
            if let (Some(changed), Some(more)) = (&mut whole.changed, part.changed) {
                changed.add(more, self.examples);
            }
        }
        whole.unread_files.sort();
        Ok(whole)
    }

    /// What one thread does.
    fn part(&self) -> Result<Report, String> {
        let mut report = Report { changed: self.other.map(|_| Groups::default()), ..Report::default() };
        let mut judge = Judge::of(self.options);
        let mut other = self.other.map(|other| Judge::of(&other.options));
        while let Some(found) = self.files.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let host: &'static dyn Host = host(found.client.host())
                .ok_or_else(|| format!("there is no host `{}`", found.client.host()))?;
            let mut start = None;
            let mut count = 0_u64;
            let Report { tally, changed, .. } = &mut report;
            let read = open(&found.file).and_then(|text| {
                read(found.client, text, &mut |mut call| {
                    call.directory = call.directory.or_else(|| found.directory.clone());
                    let start: &Option<String> = start.get_or_insert_with(|| call.directory.clone());
                    let time = call.time.as_deref().and_then(|time| humantime::parse_rfc3339_weak(time).ok());
                    if time.is_some_and(|time| time < self.from) {
                        return;
                    }
                    count += 1;
                    let judged = judge.judge(host, &call, start.as_deref());
                    if let (Some(other), Some(changed)) = (&mut other, changed.as_mut()) {
                        let instead = other.judge(host, &call, start.as_deref());
                        note_change(changed, host, &call, &judged, &instead, self.examples);
                    }
                    tally.note(host, &call, judged, self.examples);
                })
            });
            match read {
                Ok(unread) => {
                    tally.unread_lines += unread as u64;
                    tally.sessions += u64::from(count > 0);
                }
                Err(error) => report.unread_files.push(format!("{}: {error}", found.file.display())),
            }
        }
        Ok(report)
    }
}

fn note_change(
    changed: &mut Groups,
    host: &dyn Host,
    call: &toolgate_transcripts::PastCall,
    before: &Judged,
    after: &Judged,
    examples: usize,
) {
    let (Judged::Decided { decision: was, .. }, Judged::Decided { decision: is, findings }) = (before, after)
    else {
        return;
    };
    if was != is {
        let said = findings.first().map_or("", |finding| finding.message.as_str());
        changed.note(&format!("{} -> {}", was.word(), is.word()), host.id(), call, said, examples);
    }
}

impl Report {
    fn print(&self, out: &mut Out, list: Option<Decision>) -> Result<(), String> {
        let tally = &self.tally;
        if tally.calls == 0 && self.unread_files.is_empty() {
            return out.line(format!("no calls in transcripts of the last {} days", self.days));
        }
        out.line(format!(
            "{} days: {} calls in {} sessions ({})",
            self.days,
            tally.calls,
            tally.sessions,
            tally
                .clients
                .iter()
                .map(|(client, count)| format!("{client} {count}"))
                .collect::<Vec<_>>()
                .join(", "),
        ))?;
        for (word, said) in
            [("allow", "allowed"), ("contain", "contained"), ("ask", "asked"), ("deny", "denied")]
        {
            out.line(format!("{:>8}  {said}", tally.decisions.get(word).copied().unwrap_or_default()))?;
        }
        for (why, count) in &tally.unjudged {
            out.line(format!("{count:>8}  not judged: {why}"))?;
        }
        if tally.unread_lines > 0 {
            out.line(format!("{:>8}  lines of transcripts not understood", tally.unread_lines))?;
        }
        for file in &self.unread_files {
            out.line(format!("could not be read: {file}"))?;
        }
        for decision in [Decision::Deny, Decision::Ask, Decision::Contain] {
            // What is contained runs: its rows are shown when asked for.
            if list.map_or(decision != Decision::Contain, |wanted| wanted == decision)
                && let Some(groups) = tally.rules.get(decision.word())
            {
                groups.print(out, &format!("{}, by rule", decision.past()))?;
            }
        }
        match &self.changed {
            Some(changed) if changed.is_empty() => {
                out.line("the other settings would decide nothing differently")
            }
            Some(changed) => changed.print(out, "decided differently by the other settings"),
            None => Ok(()),
        }
    }
}

/// A decision as something that was done to a call.
trait Past {
    fn past(&self) -> &'static str;
}

impl Past for Decision {
    fn past(&self) -> &'static str {
        match self {
            Decision::Allow => "allowed",
            Decision::Contain => "contained",
            Decision::Ask => "asked",
            Decision::Deny => "denied",
        }
    }
}
