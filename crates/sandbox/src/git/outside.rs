//! Git itself, run by the supervisor on the real repository.
//!
//! It sees none of the command's variables, no settings but the repository's own (which the command cannot write), runs
//! no hook, and fetches nothing. It is a program in a place that the command cannot write.

use std::fs;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::compiled::CompiledPlan;
use crate::path::canonical;
use crate::plan::Rights;

/// A pack that needs more memory than this to be checked is refused.
const MOST_MEMORY: u64 = 4 << 30;
/// A pack that takes longer than this to be checked is refused.
const MOST_SECONDS: u64 = 300;

/// So much of what git says is looked at.
const MOST_SAID: u64 = 64 << 10;
/// A pack of so many objects is taken apart.
const SMALL_PACK: u32 = 5_000;

pub(super) struct Git {
    program: PathBuf,
    common: PathBuf,
}

/// The first `git` along the plan's `PATH` and the usual places that the command cannot have written.
pub(super) fn program(plan: &CompiledPlan) -> Option<PathBuf> {
    let path = plan.environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    let path = path.unwrap_or_default();
    let usual = ["/usr/bin", "/usr/local/bin", "/bin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(usual).filter(|directory| directory.is_absolute()).find_map(
        |directory| {
            let found = canonical(&directory.join("git")).ok()?;
            let is_writable = |path: &Path| {
                plan.rights_at(path) == Rights::Write
                    || path.starts_with(&plan.private)
                    || plan.caches.iter().any(|cache| path.starts_with(cache))
            };
            let is_program = fs::metadata(&found).is_ok_and(|metadata| metadata.is_file());
            (is_program && !is_writable(&found) && !is_writable(&directory)).then_some(found)
        },
    )
}

impl Git {
    pub(super) fn of(plan: &CompiledPlan, common: &Path) -> Option<Git> {
        Some(Git { program: program(plan)?, common: common.to_owned() })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .env("GIT_DIR", &self.common)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_ALLOW_PROTOCOL", "none")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0"])
            .args(words)
            .current_dir(&self.common)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// What a command prints, or what it says when it fails.
    fn ask(&self, words: &[&str], input: &str) -> io::Result<String> {
        let mut command = self.command(words);
        if !input.is_empty() {
            let mut text = fs::File::from(memfd_create("toolgate-ids", MemfdFlags::CLOEXEC)?);
            text.write_all(input.as_bytes())?;
            text.rewind()?;
            command.stdin(text);
        }
        let output = command.output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(failure(&output.stderr))
    }

    /// The commits that references hold, as far as they are there, but for references that `is_in_doubt` by name and id.
    /// What they need is taken to be in the repository.
    pub(super) fn known_commits(&self, is_in_doubt: impl Fn(&str, &str) -> bool) -> io::Result<Vec<String>> {
        let all = self.ask(&["for-each-ref", "--format=%(objectname) %(refname)"], "")?;
        let pairs = all.lines().filter_map(|line| line.split_once(' '));
        let ids = pairs.filter(|(id, name)| !is_in_doubt(name, id)).map(|(id, _)| id);
        let ids: std::collections::BTreeSet<&str> = ids.collect();
        let asked = ids.iter().fold(String::new(), |text, id| text + id + "\n");
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let kinds = self.ask(&["cat-file", "--batch-check=%(objecttype)", "--buffer"], &asked)?;
        let there = ids.into_iter().zip(kinds.lines()).filter(|(_, kind)| *kind == "commit");
        Ok(there.map(|(id, _)| id.to_owned()).collect())
    }

    /// Whether everything that a commit needs is in the repository, looking no further than at these.
    pub(super) fn is_whole(&self, id: &str, known: &[String]) -> io::Result<()> {
        let mut input = format!("{id}\n");
        for known in known {
            input.push('^');
            input.push_str(known);
            input.push('\n');
        }
        self.ask(&["rev-list", "--objects", "--quiet", "--stdin"], &input).map(drop)
    }

    /// Whether everything that these need is in the repository, looking no further than at its references.
    pub(super) fn are_whole<'i>(&self, ids: impl Iterator<Item = &'i str>) -> io::Result<()> {
        let ids = ids.fold(String::new(), |text, id| text + id + "\n");
        if ids.is_empty() {
            return Ok(());
        }
        self.ask(&["rev-list", "--objects", "--quiet", "--stdin", "--not", "--all"], &ids).map(drop)
    }

    /// What an index holds, without what it notes about files on the disk.
    pub(super) fn entries_of(&self, index: &Path) -> io::Result<String> {
        let mut command = self.command(&["ls-files", "--stage", "-v", "-z"]);
        let output = command.env("GIT_INDEX_FILE", index).output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(failure(&output.stderr))
    }

    /// The settings in a text, in their order: each key in its plain form, with its value.
    pub(super) fn settings_in(&self, text: &str) -> io::Result<Vec<(String, String)>> {
        let text = self.ask(&["config", "--file", "-", "--no-includes", "--list", "-z"], text)?;
        let pairs = text.split('\0').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('\n').unwrap_or((pair, "")));
        Ok(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
    }

    /// Has a key of the repository's settings have these values and no others.
    pub(super) fn set_setting(&self, key: &str, values: &[&str]) -> io::Result<()> {
        let file = self.common.join("config");
        let file = file.to_str().ok_or_else(|| io::Error::other("its path is not text"))?;
        // Fails where there is nothing to take away.
        let _ = self.ask(&["config", "--file", file, "--unset-all", key], "");
        values
            .iter()
            .try_for_each(|value| self.ask(&["config", "--file", file, "--add", key, value], "").map(drop))
    }

    /// Whether `older` is in the history of `newer`.
    pub(super) fn is_ancestor(&self, older: &str, newer: &str) -> bool {
        self.ask(&["merge-base", "--is-ancestor", older, newer], "").is_ok()
    }

    /// Whether all of these are commits of the repository.
    pub(super) fn are_commits<'i>(&self, ids: impl Iterator<Item = &'i str>) -> bool {
        let ids = ids.fold(String::new(), |text, id| text + id + "\n");
        if ids.is_empty() {
            return true;
        }
        let answer = self.ask(&["cat-file", "--batch-check=%(objecttype)", "--buffer"], &ids);
        answer.is_ok_and(|kinds| {
            kinds.lines().count() == ids.lines().count() && kinds.lines().all(|kind| kind == "commit")
        })
    }

    /// Deletes a branch with all that belongs to it, if it has this value.
    pub(super) fn delete_branch(&self, name: &str, value: &str) -> io::Result<()> {
        self.delete_reference(&format!("refs/heads/{name}"), value)
    }

    /// Deletes a reference with all that belongs to it, if it has this value.
    pub(super) fn delete_reference(&self, name: &str, value: &str) -> io::Result<()> {
        self.ask(&["update-ref", "--no-deref", "-d", name, value], "").map(drop)
    }

    /// Stores what is in a pack that the command has made, if all of it is sound.
    pub(super) fn take_pack(&self, pack: fs::File, left: &mut u64) -> io::Result<()> {
        // A copy of our own: a process that was left behind cannot change it any more.
        let mut copy = fs::File::from(memfd_create("toolgate-pack", MemfdFlags::CLOEXEC)?);
        let mut bounded = pack.take(left.saturating_add(1));
        let length = io::copy(&mut bounded, &mut copy)?;
        *left = left.checked_sub(length).ok_or_else(|| io::Error::other("its packs are too large"))?;
        copy.rewind()?;
        let mut header = [0; 12];
        copy.read_exact(&mut header)?;
        copy.rewind()?;
        let count = header.get(8..12).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes);
        // A small pack is taken apart, so that what is there already is not stored twice.
        let words: &[&str] = match count {
            0..=SMALL_PACK => &["unpack-objects", "-q", "--strict"],
            _ => &["index-pack", "--stdin", "--strict"],
        };
        // What it says goes into a file: a pipe that nobody reads while the pack is fed would hold up both.
        let mut said = fs::File::from(memfd_create("toolgate-said", MemfdFlags::CLOEXEC)?);
        let mut child = self.command(words).stdin(Stdio::piped()).stderr(said.try_clone()?).spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        for (resource, most) in [(Resource::As, MOST_MEMORY), (Resource::Cpu, MOST_SECONDS)] {
            // It waits for its input, so nothing has been done without limits.
            prlimit(pid, resource, Rlimit { current: Some(most), maximum: Some(most) })?;
        }
        let fed = child.stdin.take().map_or(Ok(0), |mut input| io::copy(&mut copy, &mut input));
        if !child.wait_with_output()?.status.success() {
            let mut text = Vec::new();
            said.rewind()?;
            said.take(MOST_SAID).read_to_end(&mut text)?;
            return Err(failure(&text));
        }
        fed.map(drop)
    }
}

/// The first line that a failed git says, short and without control characters.
fn failure(stderr: &[u8]) -> io::Error {
    let text = String::from_utf8_lossy(stderr);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("git failed");
    let plain: String = line.chars().filter(|character| !character.is_control()).take(200).collect();
    io::Error::other(plain)
}
