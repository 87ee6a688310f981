//! `toolgate replay`: what the settings of today would decide about the calls of the past, as the clients' transcripts and our own log tell of them.
//!
//! Nothing is run, asked, pinned or logged. Each call is judged on the disk as it is today, so what a script held then is not known; a call whose
//! directory is gone is not judged at all, and is counted as that. A call that both a transcript and the log hold is judged once, by the transcript:
//! that has all of it.
//!
//! Memory does not grow with the texts: of each call of a transcript its verdict is kept, to be compared with the log's, and nothing else.

mod judge;
mod needs;
mod recorded;
mod tally;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum};
use serde::Serialize;
use toolgate_evidence::{Ending, Ledger, Part, Record, Records, last_position, rfc3339};
use toolgate_gate::explain::Explanation;
use toolgate_gate::gather::Surroundings;
use toolgate_gate::options::HookOptions;
use toolgate_hosts::host;
use toolgate_model::{Call, Decision, Host, Phase};
use toolgate_secrets::redact;
use toolgate_transcripts::{Found, PastCall, open, read};

use super::progress::Shown;
use super::reconcile::is_counted;
use super::transcripts::TranscriptArgs;
use super::{LineArgs, Out};
use judge::{Judge, Judged};
use recorded::Recorded;
use tally::{Groups, Tally};

pub(super) use needs::{Need, Needs, Wanted};
pub(super) use tally::shown;

/// Try today's settings on past calls, from the agents' own transcripts and from the log
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  toolgate replay\n  toolgate replay --since 7d --list deny\n  toolgate replay --host codex --json\n  toolgate replay --from log\n  toolgate replay --against stricter.toml\n  toolgate replay --host claude-code ~/backup/session.jsonl\n\nNothing is run or logged. Calls are judged on the disk as it is today."
)]
pub(super) struct Replay {
    #[command(flatten)]
    transcripts: TranscriptArgs,
    /// Where the calls come from; a call that is in both counts once [default: both, or the files given]
    #[arg(long, value_enum)]
    from: Option<Source>,
    /// How far back, as 12h, 7d or 4w
    #[arg(long, default_value = "30d", value_parser = humantime::parse_duration)]
    since: Duration,
    /// Another file of user settings, to see which decisions it would change
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
enum Source {
    /// What the clients have written
    Transcripts,
    /// What toolgate has recorded
    Log,
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
    /// The calls of the transcripts, for the log.
    #[serde(skip)]
    judged: AlreadyJudged,
    /// What stopped calls would need; `None` where nobody asks.
    #[serde(skip)]
    needs: Option<Needs>,
}

/// What became of the calls that transcripts hold.
#[derive(Debug, Default)]
struct AlreadyJudged {
    /// By what tells a call from all others; `None` where it could not be judged.
    calls: BTreeMap<u64, Option<Decision>>,
    /// Sessions of clients whose hooks name no call: all their calls are a transcript's.
    sessions: BTreeSet<u64>,
}

/// Stands for a few texts where nobody needs to read them again.
fn key(texts: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    hasher.finish()
}

impl Report {
    fn of(work: &Work<'_>) -> Report {
        let changed = work.other.map(|_| Groups::default());
        Report { changed, needs: work.asks_needs.then(Needs::default), ..Report::default() }
    }

    fn add(&mut self, part: Report, examples: usize) {
        self.tally.add(part.tally, examples);
        self.unread_files.extend(part.unread_files);
        self.judged.calls.extend(part.judged.calls);
        self.judged.sessions.extend(part.judged.sessions);
        if let (Some(changed), Some(more)) = (&mut self.changed, part.changed) {
            changed.add(more, examples);
        }
        if let (Some(needs), Some(more)) = (&mut self.needs, part.needs) {
            needs.add(more);
        }
    }

    fn finish(&mut self) {
        self.unread_files.sort();
        self.tally.settle_grades();
        self.tally.sessions = self.tally.each_session.len() as u64;
    }
}

impl Replay {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let options = self.line.options()?;
        let from = SystemTime::now().checked_sub(self.since).unwrap_or(SystemTime::UNIX_EPOCH);
        let (files, unlisted) = match self.from {
            Some(Source::Log) => (Vec::new(), Vec::new()),
            Some(Source::Transcripts) | None => self.transcripts.found(&options.dirs.home, from)?,
        };
        let reads_log = self.from.map_or(!self.transcripts.names_files(), |from| from == Source::Log);
        let other = self.against.as_deref().map(|file| Other::settings(&options, file)).transpose()?;
        let examples = if self.list.is_some() { usize::MAX } else { tally::EXAMPLES };
        let work = Work {
            files: &files,
            next: AtomicUsize::new(0),
            from,
            options: &options,
            other: other.as_ref(),
            examples,
            asks_needs: false,
            progress: Shown::counting("replay", "transcripts"),
        };
        let mut report = work.transcripts()?;
        if reads_log {
            let judged = std::mem::take(&mut report.judged);
            let logged = work.log(&judged, &|host| self.transcripts.wants_host(host))?;
            report.add(logged, examples);
        }
        report.finish();
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
        let shown = |error: std::io::Error| format!("{}: {error}", file.display());
        let text = fs::read(file).map_err(shown)?;
        toolgate_setup::compile::check(file, &text).map_err(|error| error.to_string())?;
        Other::of_text(options, &text)
    }

    fn of_text(options: &HookOptions, text: &[u8]) -> Result<Other, String> {
        use std::os::unix::fs::DirBuilderExt;
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
    /// Whether it is kept what stopped calls would need.
    asks_needs: bool,
    /// How far the transcripts have been read.
    progress: Shown,
}

/// So many lines of the log are handed to a thread at once.
const LINES: usize = 256;

/// So many such batches wait for a thread.
const WAITING: usize = 4;

impl Work<'_> {
    fn threads() -> usize {
        thread::available_parallelism().map_or(1, usize::from)
    }

    /// What the threads have found, together.
    fn joined(&self, started: Vec<ScopedJoinHandle<'_, Result<Report, String>>>) -> Result<Report, String> {
        let mut whole = Report::of(self);
        for thread in started {
            let part = thread.join().unwrap_or_else(|_| Err("it failed inside".into()))?;
            whole.add(part, self.examples);
        }
        Ok(whole)
    }

    fn transcripts(&self) -> Result<Report, String> {
        let threads = Self::threads().min(self.files.len());
        thread::scope(|scope| {
            self.joined((0..threads).map(|_| scope.spawn(|| self.some_transcripts())).collect())
        })
    }

    /// The calls of the log that no transcript holds. Those that one holds are compared with their verdict of then.
    fn log(&self, judged: &AlreadyJudged, wants: &(dyn Fn(&str) -> bool + Sync)) -> Result<Report, String> {
        let (sender, receiver) = mpsc::sync_channel::<Vec<Vec<u8>>>(WAITING);
        let receiver = Arc::new(Mutex::new(receiver));
        thread::scope(|scope| {
            let some = |receiver: Arc<_>| scope.spawn(move || self.some_of_log(&receiver, judged, wants));
            let started = (0..Self::threads()).map(|_| some(Arc::clone(&receiver))).collect();
            // Theirs alone: with the last of them it ends, and so does whoever sends to it.
            drop(receiver);
            // A thread of its own: what the main thread asks for and another gives back stays taken (see `toolgate-arena`).
            let reader = scope.spawn(move || self.read_log(&sender));
            let mut whole = self.joined(started)?;
            whole.unread_files.extend(reader.join().unwrap_or_else(|_| Err("it failed inside".into()))?);
            Ok(whole)
        })
    }

    /// Hands the lines of the log to the threads. What could not be read of it.
    fn read_log(&self, sender: &mpsc::SyncSender<Vec<Vec<u8>>>) -> Result<Option<String>, String> {
        let ledger = Ledger::at(&self.options.dirs.state);
        let last = last_position(&self.options.dirs.state).ok().flatten().map_or(0, |last| last.seq);
        let mut batch = Vec::with_capacity(LINES);
        let mut unreadable = None;
        let progress = Shown::counting("replay", "records");
        for (number, line) in ledger.lines(Part::All).map_err(|error| error.to_string())?.enumerate() {
            progress.at(number as u64, last);
            match line {
                Ok(line) if line.ending == Ending::Whole => batch.push(line.bytes),
                // What a crash left is no record.
                Ok(_) => {}
                Err(error) => {
                    unreadable = Some(error.to_string());
                    break;
                }
            }
            if batch.len() == LINES && sender.send(std::mem::take(&mut batch)).is_err() {
                return Ok(unreadable);
            }
        }
        // Where nobody listens any more a thread has failed, and its own result says so.
        let _ = sender.send(batch);
        Ok(unreadable)
    }

    /// What one thread does with the log.
    fn some_of_log(
        &self,
        receiver: &Mutex<mpsc::Receiver<Vec<Vec<u8>>>>,
        judged: &AlreadyJudged,
        wants: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Report, String> {
        let mut judges = Judges::of(self);
        let mut report = Report::of(self);
        let from = rfc3339(self.from);
        loop {
            let batch = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(batch) = batch else { return Ok(report) };
            for line in batch {
                let Ok(record) = serde_json::from_slice::<Record>(&line) else {
                    report.tally.unread_lines += 1;
                    continue;
                };
                if record.time < from || !wants(&record.host) {
                    continue;
                }
                if let Some(needs) = &mut report.needs
                    && host(&record.host).is_some_and(|host| host.phase(&record.event) == Phase::After)
                {
                    needs.ran(key(&[&record.host, &record.call]));
                }
                let Some(past) = Recorded::of(record) else { continue };
                let (host, call) = (past.host, &past.call);
                if let Some(needs) = &mut report.needs {
                    needs.hear(key(&[host.id(), &call.id]), past.then.is_approved, past.then.decision);
                }
                let known = judged.calls.get(&key(&[host.id(), &call.id]));
                if judged.sessions.contains(&key(&[host.id(), &call.session])) {
                    continue;
                }
                if let Some(today) = known {
                    report.tally.regrade(host, call, past.then, *today, self.examples);
                    continue;
                }
                report.tally.each_session.insert(key(&[host.id(), &call.session]));
                *report.tally.sources.entry("log").or_default() += 1;
                let today = match past.lacks {
                    Some(why) => {
                        report.tally.note(host, call, Judged::Not(why), self.examples);
                        None
                    }
                    None => judges.judge(&mut report, host, call, past.start.as_deref()),
                };
                report.tally.grade(host, call, Some(past.then), today, self.examples);
            }
        }
    }

    /// What one thread does with transcripts.
    fn some_transcripts(&self) -> Result<Report, String> {
        let mut report = Report::of(self);
        let mut judges = Judges::of(self);
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(found) = self.files.get(number) else { break };
            self.progress.at(number as u64, self.files.len() as u64);
            let host: &'static dyn Host = host(found.client.host())
                .ok_or_else(|| format!("there is no host `{}`", found.client.host()))?;
            let mut start = None;
            let report = &mut report;
            let read = open(&found.file).and_then(|text| {
                read(found.client, text, &mut |mut call| {
                    call.directory = call.directory.or_else(|| found.directory.clone());
                    let start: &Option<String> = start.get_or_insert_with(|| call.directory.clone());
                    let time = call.time.as_deref().and_then(|time| humantime::parse_rfc3339_weak(time).ok());
                    if time.is_some_and(|time| time < self.from) {
                        return;
                    }
                    let today = judges.judge(report, host, &call, start.as_deref());
                    report.tally.grade(host, &call, None, today, self.examples);
                    report.remember(found, &call, today);
                })
            });
            match read {
                Ok(unread) => report.tally.unread_lines += unread as u64,
                Err(error) => report.unread_files.push(format!("{}: {error}", found.file.display())),
            }
        }
        Ok(report)
    }
}

impl Report {
    /// Keeps what the log is compared with.
    fn remember(&mut self, found: &Found, call: &PastCall, today: Option<Decision>) {
        let (host, name) = (found.client.host(), |text: &str| redact(text).into_string());
        let session =
            if call.session.is_empty() { found.file.display().to_string() } else { name(&call.session) };
        let session = key(&[host, &session]);
        self.tally.each_session.insert(session);
        *self.tally.sources.entry("transcripts").or_default() += 1;
        if is_counted(host) {
            self.judged.sessions.insert(session);
        } else if !call.id.is_empty() {
            self.judged.calls.insert(key(&[host, &name(&call.id)]), today);
        }
    }
}

/// Today's settings, and other ones where two are compared.
struct Judges<'w> {
    own: Judge<'w>,
    other: Option<Judge<'w>>,
    examples: usize,
}

impl<'w> Judges<'w> {
    fn of(work: &Work<'w>) -> Judges<'w> {
        let other = work.other.map(|other| Judge::of(&other.options));
        Judges { own: Judge::of(work.options), other, examples: work.examples }
    }

    /// Judges a call and notes what came of it. What is decided today.
    fn judge(
        &mut self,
        report: &mut Report,
        host: &'static dyn Host,
        call: &PastCall,
        start: Option<&str>,
    ) -> Option<Decision> {
        let judged = self.own.judge(host, call, start);
        let today = match &judged {
            Judged::Decided { decision, .. } => Some(*decision),
            Judged::Not(_) => None,
        };
        if let (Some(other), Some(changed)) = (&mut self.other, report.changed.as_mut()) {
            let instead = other.judge(host, call, start);
            note_change(changed, host, call, &judged, &instead, self.examples);
        }
        if let (Some(needs), Some(start)) = (&mut report.needs, start) {
            let name = |text: &str| redact(text).into_string();
            let keys = (key(&[host.id(), &name(&call.id)]), key(&[host.id(), &name(&call.session)]));
            needs.note(host.id(), call, start, &judged, keys);
        }
        report.tally.note(host, call, judged, self.examples);
        today
    }
}

/// What calls since then needed that is stopped today.
pub(super) fn needs(
    options: &HookOptions,
    transcripts: &TranscriptArgs,
    from: SystemTime,
) -> Result<Needs, String> {
    let (files, _) = transcripts.found(&options.dirs.home, from)?;
    let next = AtomicUsize::new(0);
    let progress = Shown::counting("suggest", "transcripts");
    let work =
        Work { files: &files, next, from, options, other: None, examples: 0, asks_needs: true, progress };
    let mut report = work.transcripts()?;
    let judged = std::mem::take(&mut report.judged);
    report.add(work.log(&judged, &|host| transcripts.wants_host(host))?, 0);
    Ok(report.needs.unwrap_or_default())
}

/// What today's settings say of a call of the log, part by part; or why they cannot say it.
pub(super) fn explained_today<T>(
    options: &HookOptions,
    record: Record,
    with: impl FnOnce(&Call<'_>, &Explanation<'_>, &Surroundings) -> T,
) -> Result<T, &'static str> {
    let past =
        Recorded::of(record).ok_or("it is not the record of a call that an agent was about to make")?;
    match past.lacks {
        Some(why) => Err(why),
        None => Judge::of(options).explained(past.host, &past.call, past.start.as_deref(), with),
    }
}

/// What each of these calls would still need with other settings of the user: nothing where it would run, and nothing that
/// could be named where something else stops it.
pub(super) fn judged_again(
    options: &HookOptions,
    settings: &[u8],
    calls: &[Need],
) -> Result<Vec<Result<Option<Wanted>, String>>, String> {
    let other = Other::of_text(options, settings)?;
    let mut judge = Judge::of(&other.options);
    let again = |need: &Need| {
        let judged = host(need.host).map(|host| judge.judge(host, &need.call, Some(&need.start)));
        judged.map_or_else(|| Err("no such host".to_owned()), |judged| needs::wanted(&judged))
    };
    Ok(calls.iter().map(again).collect())
}

fn note_change(
    changed: &mut Groups,
    host: &dyn Host,
    call: &PastCall,
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
            return out.line(format!("no calls in transcripts and log of the last {} days", self.days));
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
            out.line(format!("{:>8}  lines of transcripts and log not understood", tally.unread_lines))?;
        }
        let grades = [
            (tally::SAME, "decided as the log says that it was decided then"),
            (tally::TODAY, "judged on today's disk; the log has no verdict of then, or another one"),
            (tally::NOT, "cannot be judged"),
        ];
        out.line("how sure that is:")?;
        for (grade, said) in grades {
            out.line(format!("{:>8}  {said}", tally.grades.get(grade).copied().unwrap_or_default()))?;
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
        if !tally.since_then.is_empty() {
            tally.since_then.print(out, "decided differently then, as the log says")?;
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
