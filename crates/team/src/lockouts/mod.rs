//! Who may not revise what, after a reviewer's rejection.
//!
//! Promise: a lockout that [`Lockouts::add`] has written stays until somebody clears it, whatever becomes of the
//! repository; and one that was cleared does not come back. It is written twice: into the team's
//! `lockout.json`, which people see and commit, and into a copy of our own, which no agent reaches. All files lock out
//! together, and only our own clears, so neither a `git checkout` of an older file nor a forged line lets anybody in.
//!
//! Against whom: an author who would rather change the list than leave the work to another, several reviewers at once,
//! and writers that are killed. A file that cannot be read is an error, and the caller then denies: an empty
//! list would let everybody through.
//!
//! A file is JSON lines that are only ever appended:
//!
//! ```json
//! {"id":"5f0c…","time":"2026-03-01T10:00:00.000Z","artifact":"src/auth.ts","agent":"ripley","by":"dallas","reason":"tests missing"}
//! {"time":"2026-03-01T11:00:00.000Z","clear":"5f0c…","by":"lambert"}
//! ```
//!
//! What others write is understood too: see `format.rs`.

mod format;

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use serde::Serialize;
use serde_json::Value;
use toolgate_evidence::{lock, rfc3339};
use toolgate_model::{Lockout, plain_name};
use toolgate_secrets::redact;

use crate::state_file::{self, FileError, Whose};
use crate::text::{self, TextError};
use format::{Content, FileEnd, derived_id};

/// A file may be this large. Some twenty thousand lockouts have room in it.
const MAX_FILE: usize = 4 * 1024 * 1024;

/// One lockout, and how it came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Locked {
    /// What a clear names. Made from the content where its writer gave none.
    pub id: String,
    /// Who may not revise what.
    #[serde(flatten)]
    pub lockout: Lockout,
    /// When: RFC 3339, where we have written it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub time: String,
    /// Who rejected the work.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// All lockouts that hold: in order of artifact and agent, none of them twice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lockouts {
    locked: Vec<Locked>,
}

impl Lockouts {
    /// Reads all of these files that exist. Runs before each call: one failed look for a file that is not there, one
    /// read for one that is.
    pub fn read(files: &LockoutFiles) -> Result<Lockouts, LockoutError> {
        let team = files.team.iter().map(|path| content_at(path)).collect::<Result<Vec<_>, _>>()?;
        Ok(Lockouts::of(content_at(&files.own)?, team))
    }

    /// INVARIANT: only our own copy clears. The team's files lie in the repository, and there are many ways to get a line into one:
    /// a patch, a merge, an archive. Such a line may lock out, and never let in.
    fn of(own: Content, team: Vec<Content>) -> Lockouts {
        let mut cleared = own.cleared;
        let stated = team.into_iter().flat_map(|content| content.locked);
        let mut stated: Vec<_> = own.locked.into_iter().chain(stated).collect();
        cleared.sort_unstable();
        let is_cleared = |id: &String| cleared.binary_search(id).is_ok();
        stated.retain(|stated| {
            !is_cleared(&stated.locked.id) && !stated.statement_id.as_ref().is_some_and(is_cleared)
        });
        let mut locked: Vec<Locked> = stated.into_iter().map(|stated| stated.locked).collect();
        locked.sort_by(|one, other| one.place().cmp(&other.place()));
        locked.dedup_by(|one, other| one.place() == other.place());
        Lockouts { locked }
    }

    /// Every lockout, with its history.
    pub fn iter(&self) -> std::slice::Iter<'_, Locked> {
        self.locked.iter()
    }

    /// Who may not revise what. An author whom two reviewers rejected is named once.
    pub fn into_lockouts(self) -> Vec<Lockout> {
        let mut lockouts: Vec<Lockout> = self.locked.into_iter().map(|locked| locked.lockout).collect();
        lockouts.dedup();
        lockouts
    }

    /// How many agents' rejections `covers` says yes to; two of one agent for one artifact count once.
    pub fn count(&self, covers: impl Fn(&Lockout) -> bool) -> usize {
        let mut covered: Vec<&Lockout> = self.iter().map(|locked| &locked.lockout).collect();
        covered.dedup();
        covered.retain(|lockout| covers(lockout));
        covered.len()
    }

    /// Whether nobody of the roster is left: each is locked out of what `covers` says yes to. A roster of nobody is
    /// no team, and is not deadlocked.
    pub fn deadlocked(&self, roster: &[String], covers: impl Fn(&Lockout) -> bool) -> bool {
        let is_locked_out = |name: &String| {
            let name = plain_name(name);
            self.iter().any(|locked| locked.lockout.agent == name && covers(&locked.lockout))
        };
        !roster.is_empty() && roster.iter().all(is_locked_out)
    }

    /// Locks an agent out. What is locked already stays as it is, and is written where it was missing.
    pub fn add(
        files: &LockoutFiles,
        new: &NewLockout<'_>,
        now: SystemTime,
        deadline: Instant,
    ) -> Result<Added, LockoutError> {
        new.check()?;
        let files = Held::take(files, deadline)?;
        let wanted = new.lockout();
        let known = files.lockouts().locked.into_iter().find(|locked| locked.lockout == wanted);
        let is_new = known.is_none();
        let locked = known.unwrap_or_else(|| new.at(wanted, now, |id| files.knows(id)));
        let lines = [locked.json_line()];
        if !files.own.holds(&locked.id) {
            files.write_own(&lines)?;
        }
        let is_with_team = files.teams.first().is_some_and(|content| content.holds(&locked.id));
        let team = if is_with_team { TeamCopy::Unchanged } else { files.write_team(&lines) };
        Ok(Added { locked, is_new, team })
    }

    /// Ends all lockouts of an artifact, of an agent, or of the two together.
    pub fn clear(
        files: &LockoutFiles,
        which: Which<'_>,
        by: &str,
        now: SystemTime,
        deadline: Instant,
    ) -> Result<Cleared, LockoutError> {
        text::check_name("name of who clears", by)?;
        let files = Held::take(files, deadline)?;
        let mut locked = files.lockouts().locked;
        locked.retain(|locked| which.is(&locked.lockout));
        if locked.is_empty() {
            return Ok(Cleared { locked, team: TeamCopy::Unchanged });
        }
        let time = rfc3339(now);
        let lines: Vec<_> = locked.iter().map(|locked| locked.clear_json_line(&time, by)).collect();
        files.write_own(&lines)?;
        let team = files.write_team(&lines);
        Ok(Cleared { locked, team })
    }
}

impl<'l> IntoIterator for &'l Lockouts {
    type Item = &'l Locked;
    type IntoIter = std::slice::Iter<'l, Locked>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Locked {
    /// Two with the same are one lockout, read from two files.
    fn place(&self) -> (&str, &str, &str) {
        (&self.lockout.artifact, &self.lockout.agent, &self.id)
    }

    /// The line that locks out.
    fn json_line(&self) -> Vec<u8> {
        let Locked { id, lockout: Lockout { artifact, agent }, time, by, reason } = self;
        json_line(&[
            ("id", id),
            ("time", time),
            ("artifact", artifact),
            ("agent", agent),
            ("by", by),
            ("reason", reason),
        ])
    }

    /// The line that clears it.
    fn clear_json_line(&self, time: &str, by: &str) -> Vec<u8> {
        json_line(&[("time", time), ("clear", &self.id), ("by", by)])
    }
}

/// One line of JSON, its members in this order; those that say nothing are left out.
fn json_line(members: &[(&str, &str)]) -> Vec<u8> {
    let said = members.iter().filter(|(_, text)| !text.is_empty());
    let members: Vec<_> = said.map(|(name, text)| format!("\"{name}\":{}", Value::from(*text))).collect();
    format!("{{{}}}\n", members.join(",")).into_bytes()
}

/// Where lockouts are kept.
#[derive(Debug, Clone)]
pub struct LockoutFiles {
    /// Our own copy, in the state directory.
    pub own: PathBuf,
    /// The team's files, of the worktree and of the main checkout. All are read; the first is written.
    pub team: Vec<PathBuf>,
}

/// A reviewer's rejection. Each text is one line and has at most [`crate::MAX_TEXT`] bytes.
#[derive(Debug, Clone, Copy)]
pub struct NewLockout<'a> {
    /// A path below the root, a directory, a glob, or the bare name of an artifact.
    pub artifact: &'a str,
    /// Whose work was rejected.
    pub agent: &'a str,
    /// Who rejected it.
    pub by: &'a str,
    /// Why; may be empty. Secrets in it are not written.
    pub reason: &'a str,
}

impl NewLockout<'_> {
    fn check(&self) -> Result<(), TextError> {
        text::check_name("artifact", self.artifact)?;
        text::check_name("agent's name", self.agent)?;
        text::check_name("agent's name", &plain_name(self.agent))?;
        text::check_name("reviewer's name", self.by)?;
        text::check_text("reason", self.reason)
    }

    fn lockout(&self) -> Lockout {
        Lockout { artifact: self.artifact.to_owned(), agent: plain_name(self.agent) }
    }

    /// INVARIANT: its id is a new one. With that of a lockout that was cleared it would be cleared from the start.
    fn at(&self, lockout: Lockout, now: SystemTime, is_known: impl Fn(&str) -> bool) -> Locked {
        let mut locked = Locked {
            id: String::new(),
            lockout,
            time: rfc3339(now),
            by: self.by.to_owned(),
            reason: redact(self.reason).into_string(),
        };
        let nanos = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let mut salt = nanos;
        locked.id = derived_id(&locked, &salt.to_string());
        while is_known(&locked.id) {
            salt = salt.wrapping_add(1);
            locked.id = derived_id(&locked, &salt.to_string());
        }
        locked
    }
}

/// What is to be cleared. An artifact is meant as it was written when it was locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which<'a> {
    /// All lockouts of this artifact.
    Artifact(&'a str),
    /// All lockouts of this agent.
    Agent(&'a str),
    /// This agent's lockout of this artifact.
    Both {
        /// The artifact.
        artifact: &'a str,
        /// The agent.
        agent: &'a str,
    },
}

impl Which<'_> {
    fn is(self, lockout: &Lockout) -> bool {
        match self {
            Which::Artifact(artifact) => lockout.artifact == artifact,
            Which::Agent(agent) => lockout.agent == plain_name(agent),
            Which::Both { artifact, agent } => {
                lockout.artifact == artifact && lockout.agent == plain_name(agent)
            }
        }
    }
}

/// What became of a rejection. It holds in any case.
#[derive(Debug)]
pub struct Added {
    /// The lockout as it is now.
    pub locked: Locked,
    /// Whether it did not hold before.
    pub is_new: bool,
    /// What became of the team's file.
    pub team: TeamCopy,
}

/// What was cleared. It is, in any case.
#[derive(Debug)]
pub struct Cleared {
    /// What no longer holds.
    pub locked: Vec<Locked>,
    /// What became of the team's file.
    pub team: TeamCopy,
}

/// What became of the team's file, after our own copy was written.
#[derive(Debug)]
pub enum TeamCopy {
    /// The lines were appended to it.
    Written,
    /// There was nothing to write.
    Unchanged,
    /// There is no team.
    NoTeam,
    /// It is one JSON document and no list of lines, and was left as it is.
    Document,
    /// It could not be written.
    Failed(LockoutError),
}

/// Why lockouts could not be read or written.
#[derive(Debug)]
pub enum LockoutError {
    /// A file.
    File(FileError),
    /// A text that cannot be kept.
    Text(TextError),
}

impl From<FileError> for LockoutError {
    fn from(error: FileError) -> LockoutError {
        LockoutError::File(error)
    }
}

impl From<TextError> for LockoutError {
    fn from(error: TextError) -> LockoutError {
        LockoutError::Text(error)
    }
}

impl fmt::Display for LockoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockoutError::File(error) => error.fmt(f),
            LockoutError::Text(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LockoutError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LockoutError::File(error) => error.source(),
            LockoutError::Text(_) => None,
        }
    }
}

/// The files, while nobody else who keeps the same copy writes.
struct Held<'f> {
    paths: &'f LockoutFiles,
    /// INVARIANT: locked as long as this lives.
    own_file: File,
    own: Content,
    teams: Vec<Content>,
    deadline: Instant,
}

impl<'f> Held<'f> {
    fn take(paths: &'f LockoutFiles, deadline: Instant) -> Result<Held<'f>, LockoutError> {
        let own_file = state_file::open_locked(&paths.own, Whose::Ours, deadline)?;
        let own = content_at(&paths.own)?;
        let teams = paths.team.iter().map(|path| content_at(path)).collect::<Result<Vec<_>, _>>()?;
        Ok(Held { paths, own_file, own, teams, deadline })
    }

    fn contents(&self) -> impl Iterator<Item = &Content> {
        [&self.own].into_iter().chain(&self.teams)
    }

    fn lockouts(&self) -> Lockouts {
        Lockouts::of(self.own.clone(), self.teams.clone())
    }

    /// Whether any file names this id.
    fn knows(&self, id: &str) -> bool {
        self.contents()
            .any(|content| content.holds(id) || content.cleared.iter().any(|cleared| cleared == id))
    }

    fn write_own(&self, lines: &[Vec<u8>]) -> Result<(), LockoutError> {
        let path = &self.paths.own;
        match append(path, &self.own_file, lines)? {
            Appended::Lines => Ok(()),
            // Ours is never a document, unless somebody has put one there.
            Appended::NotToDocument => Err(FileError::Malformed { path: path.clone(), line: 1 }.into()),
        }
    }

    /// Our own copy holds by now, so a failure here is reported and changes nothing.
    fn write_team(&self, lines: &[Vec<u8>]) -> TeamCopy {
        let Some(path) = self.paths.team.first() else {
            return TeamCopy::NoTeam;
        };
        let write = || {
            for _ in 0..state_file::ATTEMPTS {
                let file = state_file::open_locked(path, Whose::Teams, self.deadline)?;
                let appended = append(path, &file, lines)?;
                // git replaces files without asking for locks. What went into the one that is gone is written again.
                if lock::still_at(path, &file).map_err(FileError::from)?.is_some() {
                    return Ok(appended);
                }
            }
            Err(FileError::Busy { path: path.clone() }.into())
        };
        match write() {
            Ok(Appended::Lines) => TeamCopy::Written,
            Ok(Appended::NotToDocument) => TeamCopy::Document,
            Err(error) => TeamCopy::Failed(error),
        }
    }
}

/// What became of lines for a file.
enum Appended {
    /// They stand at its end.
    Lines,
    /// The file is one JSON document, and was left as it is.
    NotToDocument,
}

/// Appends lines to a locked file, each by one write. After an error none of them is there.
fn append(path: &Path, mut file: &File, lines: &[Vec<u8>]) -> Result<Appended, LockoutError> {
    let failed = |error| FileError::about(path, error);
    let text = state_file::read_open(path, file, MAX_FILE)?;
    let content = content_of(path, &text)?;
    if content.is_document {
        return Ok(Appended::NotToDocument);
    }
    let (length, newline): (usize, &[u8]) = match content.end {
        FileEnd::Whole => (text.len(), b""),
        FileEnd::Unended => (text.len(), b"\n"),
        FileEnd::Torn(start) => (start, b""),
    };
    if length + newline.len() + lines.iter().map(Vec::len).sum::<usize>() > MAX_FILE {
        return Err(FileError::TooLarge { path: path.to_path_buf(), bytes: MAX_FILE }.into());
    }
    if length < text.len() {
        // Nobody counts half a line, and a line behind it would run into it.
        file.set_len(length as u64).map_err(failed)?;
    }
    let mut write = || {
        let mut before = newline;
        for line in lines {
            file.write_all(&[before, line].concat())?;
            before = b"";
        }
        file.sync_all()
    };
    if let Err(error) = write() {
        let _ = file.set_len(length as u64);
        return Err(failed(error).into());
    }
    if text.is_empty() {
        state_file::sync_parent(path)?;
    }
    Ok(Appended::Lines)
}

/// What the file at this path says; nothing where there is none.
fn content_at(path: &Path) -> Result<Content, LockoutError> {
    let text = state_file::read_whole(path, MAX_FILE)?.unwrap_or_default();
    content_of(path, &text)
}

fn content_of(path: &Path, text: &[u8]) -> Result<Content, LockoutError> {
    Content::of(text).map_err(|line| FileError::Malformed { path: path.to_path_buf(), line }.into())
}
