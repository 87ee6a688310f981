//! `toolgate reconcile`: whether every call in the clients' transcripts is in the log.
//!
//! A call that stands in a transcript and not in the log never reached the gate: its hooks were off, it was made on another machine, or its host
//! does not tell. This is the only local test for completeness. It is not proof against whoever rewrites a transcript: a missing call is a finding,
//! a full match is none.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;
use serde::Serialize;
use toolgate_evidence::{Ledger, Records, last_position};
use toolgate_gate::dirs::Dirs;
use toolgate_hosts::host;
use toolgate_model::Phase;
use toolgate_secrets::redact;
use toolgate_transcripts::{Client, PastCall, open, read};

use super::ledger::readable;
use super::progress::Shown;
use super::replay::shown;
use super::transcripts::TranscriptArgs;
use super::{CANNOT_TELL, LineArgs, Out};

/// So many missing calls are shown in full; all are counted.
const MOST_SHOWN: usize = 200;

/// Look for calls in the agents' own transcripts that are not in the log
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code: 0 every call is in the log, 1 some are missing, 2 cannot tell.\n\nCopilot, Gemini and Qwen name no call in their hooks: theirs are compared by how often a session used each tool."
)]
pub(super) struct Reconcile {
    #[command(flatten)]
    transcripts: TranscriptArgs,
    /// How far back, as 12h, 7d or 4w [default: since the first record of the log]
    #[arg(long, value_parser = humantime::parse_duration)]
    since: Option<Duration>,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    line: LineArgs,
}

#[derive(Debug, Default, Serialize)]
struct Report {
    /// Calls in the transcripts, and those of them that the log holds.
    calls: u64,
    in_log: u64,
    /// By client.
    clients: BTreeMap<&'static str, Found>,
    missing: Vec<Missing>,
    /// Why it cannot be told whether this is all.
    unsure: Vec<String>,
}

#[derive(Debug, Default, Clone, Copy, Serialize)]
struct Found {
    calls: u64,
    in_log: u64,
}

/// A call that never reached the gate, as it may be shown.
#[derive(Debug, Serialize)]
struct Missing {
    host: &'static str,
    session: String,
    call: String,
    time: Option<String>,
    shown: String,
}

/// What the log holds.
#[derive(Default)]
struct Logged {
    first: Option<SystemTime>,
    /// When the last call was recorded.
    last_call: Option<SystemTime>,
    /// Lines that are no records: a call that is missing may be one of them.
    unreadable: u64,
    /// Each call as a number, so that a million take little room. Nobody can choose two that are the same: the key is random.
    calls: BTreeSet<u64>,
    key: RandomState,
    /// How often a session used a tool, for hosts whose hooks name no call.
    tools: BTreeMap<(String, String, String), u64>,
}

impl Logged {
    fn read(state: &Path) -> Result<Logged, String> {
        let ledger = Ledger::at(state);
        let last = last_position(state).map_err(|error| error.to_string())?.map_or(0, |last| last.seq);
        let (mut logged, mut last_call) = (Logged::default(), String::new());
        let progress = Shown::counting("reconcile", "records");
        let mut passed = 0;
        let records = readable(ledger.all().map_err(|error| error.to_string())?, &mut passed);
        for (number, record) in records.enumerate() {
            let record = record.map_err(|error| error.to_string())?;
            progress.at(number as u64, last);
            if logged.first.is_none() {
                logged.first = humantime::parse_rfc3339_weak(&record.time).ok();
            }
            if record.tool.is_empty() {
                continue;
            }
            if !record.canary {
                last_call.clone_from(&record.time);
            }
            let is_before = host(&record.host).is_some_and(|host| host.phase(&record.event) == Phase::Before);
            if is_counted(&record.host) && is_before {
                *logged.tools.entry((record.host, record.session, record.tool)).or_default() += 1;
            } else if !record.call.is_empty() {
                logged.calls.insert(logged.key.hash_one((&record.host, &record.call)));
            }
        }
        logged.unreadable = passed;
        logged.last_call = humantime::parse_rfc3339_weak(&last_call).ok();
        Ok(logged)
    }

    /// Whether a call is there. One that is counted is used up.
    fn takes(&mut self, host: &str, call: &PastCall) -> bool {
        if !is_counted(host) {
            return self.calls.contains(&self.key.hash_one((host, redact(&call.id).as_str())));
        }
        let name = |text: &str| redact(text).as_str().to_owned();
        match self.tools.get_mut(&(host.to_owned(), name(&call.session), name(&call.tool))) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }
}

/// Whether the hooks of a host name no call.
pub(super) fn is_counted(host: &str) -> bool {
    [Client::Copilot, Client::Gemini, Client::Qwen].iter().any(|client| client.host() == host)
}

/// Whether every call of the transcripts is in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Complete {
    Yes,
    No,
    CannotTell,
}

impl Reconcile {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let dirs = self.line.dirs()?;
        let report = Report::of(&dirs, &self.transcripts, self.since)?;
        if self.json {
            out.json(&report)?;
        } else {
            report.print(out)?;
        }
        Ok(match report.complete() {
            Complete::No => ExitCode::FAILURE,
            Complete::Yes => ExitCode::SUCCESS,
            Complete::CannotTell => ExitCode::from(CANNOT_TELL),
        })
    }
}

/// Compares everything that is there, in one line.
pub(super) fn in_one_line(dirs: &Dirs) -> (Complete, String) {
    match Report::of(dirs, &TranscriptArgs::default(), None) {
        Ok(report) => {
            let missing = report.calls - report.in_log;
            let line = match (report.complete(), report.unsure.first()) {
                (Complete::Yes, _) => {
                    format!("every one of {} calls in transcripts is in the log", report.calls)
                }
                (Complete::No, _) => format!(
                    "no: {missing} of {} calls in transcripts are not in the log; `toolgate reconcile` lists them",
                    report.calls
                ),
                (Complete::CannotTell, why) => format!("cannot tell: {}", why.map_or("", String::as_str)),
            };
            (report.complete(), line)
        }
        Err(why) => (Complete::CannotTell, format!("cannot tell: {why}")),
    }
}

impl Report {
    /// `since`: how far back; `None` is the first record of the log.
    fn of(dirs: &Dirs, transcripts: &TranscriptArgs, since: Option<Duration>) -> Result<Report, String> {
        let mut logged = Logged::read(&dirs.state)?;
        let from = match since {
            Some(since) => SystemTime::now().checked_sub(since),
            None => logged.first,
        };
        let Some(from) = from else {
            return Err("there is no record yet, so there is nothing to compare with".into());
        };
        Report::compare(transcripts, &dirs.home, from, &mut logged)
    }

    fn complete(&self) -> Complete {
        match (self.calls == self.in_log, self.unsure.is_empty()) {
            (false, _) => Complete::No,
            (true, true) => Complete::Yes,
            (true, false) => Complete::CannotTell,
        }
    }

    fn line(&self) -> String {
        match (self.calls - self.in_log, self.unsure.is_empty()) {
            (0, true) => format!("complete: every one of {} calls is in the log", self.calls),
            (0, false) => "cannot tell whether every call is in the log".to_owned(),
            (missing, _) => format!("not complete: {missing} of {} calls never reached the gate", self.calls),
        }
    }

    fn compare(
        asked: &TranscriptArgs,
        home: &Path,
        from: SystemTime,
        logged: &mut Logged,
    ) -> Result<Report, String> {
        let (transcripts, unlisted) = asked.found(home, from)?;
        let mut report = Report::default();
        report.unsure.extend(unlisted.iter().map(|path| format!("{} cannot be listed", path.display())));
        report.unsure.extend(asked.unexported(home, from));
        let (progress, files) = (Shown::counting("reconcile", "transcripts"), transcripts.len());
        for (number, transcript) in transcripts.into_iter().enumerate() {
            progress.at(number as u64, files as u64);
            let (host, mut undated) = (transcript.client.host(), 0);
            let read = open(&transcript.file).and_then(|text| {
                read(transcript.client, text, &mut |call| {
                    let time = call.time.as_deref().and_then(|time| humantime::parse_rfc3339_weak(time).ok());
                    undated += usize::from(time.is_none());
                    if time.is_some_and(|time| time >= from) {
                        report.note(host, &call, logged.takes(host, &call));
                    }
                })
            });
            let file = transcript.file.display();
            match read {
                Ok(0) => {}
                Ok(unread) => report.unsure.push(format!("{file}: {unread} lines not understood")),
                Err(error) => report.unsure.push(format!("{file}: {error}")),
            }
            if undated > 0 {
                report.unsure.push(format!("{file}: {undated} calls without a time"));
            }
        }
        if logged.unreadable > 0 {
            report.unsure.push("some lines of the log are no records: toolgate ledger verify".to_owned());
        }
        // Whoever takes all transcripts away must not be told that nothing is missing.
        if report.calls == 0 && logged.last_call.is_some_and(|time| time >= from) {
            report.unsure.push("no transcript holds a call, and the log does".to_owned());
        }
        Ok(report)
    }
}

impl Report {
    fn note(&mut self, host: &'static str, call: &PastCall, is_there: bool) {
        let found = self.clients.entry(host).or_default();
        (self.calls, found.calls) = (self.calls + 1, found.calls + 1);
        if is_there {
            (self.in_log, found.in_log) = (self.in_log + 1, found.in_log + 1);
        } else if self.missing.len() < MOST_SHOWN {
            let (session, time) = (call.session.clone(), call.time.clone());
            self.missing.push(Missing { host, session, call: call.id.clone(), time, shown: shown(call) });
        }
    }

    fn print(&self, out: &mut Out) -> Result<(), String> {
        for (client, found) in &self.clients {
            out.line(format!("{client}: {} of {} calls are in the log", found.in_log, found.calls))?;
        }
        for missing in &self.missing {
            let time =
                missing.time.as_deref().and_then(|time| time.get(..16)).unwrap_or("").replace('T', " ");
            out.line(format!("  not in the log: {time} {} {}", missing.host, missing.shown))?;
        }
        let unshown = (self.calls - self.in_log).saturating_sub(self.missing.len() as u64);
        if unshown > 0 {
            out.line(format!("  and {unshown} more"))?;
        }
        for unsure in &self.unsure {
            out.line(format!("cannot tell: {unsure}"))?;
        }
        out.line(self.line())
    }
}
