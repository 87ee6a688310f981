//! The line before a shell command that sends it through `toolgate shell`: into its sandbox, or past the redaction.
//!
//! The command itself stays as it is, behind that line, which names a file of ours and nothing else:
//!
//! ```text
//! . "/home/me/.local/state/toolgate/calls/5f1c…" || exit 126
//! npm test
//! ```
//!
//! The client gives both to a shell as one text (`bash -c "… eval '…' && pwd …"`). The file has this shell become `toolgate shell`,
//! which takes the line out again and starts the same shell with what is left. So the command runs in a shell of its own right, with
//! what the client puts around it: exit codes, signals, traps, jobs, here-documents, syntax errors and their line numbers are those of
//! the command without the line. What differs: what the client puts before the command runs twice, and the shell does not lead its
//! process group (`kill -- -$$`).
//!
//! Against whom: the agent, who sees the line and may write one. The file lies where no contained program can look, and a command that names
//! it is denied. Its name is a random number. It holds what is decided about this call, and is gone once it has been used; where
//! there is none, the shell ends. What a forged file would say counts for nothing more than a shell that the agent starts itself.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolgate_evidence::Record;
use toolgate_model::{Action, Call, Facts, InShared, Phase};
use toolgate_policies::Redaction;
use toolgate_sandbox::Level;

use crate::contain::ContainedTerms;
use crate::machine::Machine;
use crate::observe::command_member;
use crate::settings::BUILD;
use crate::store::{hex, name_for, remove, write_private};
use toolgate_evidence::random::fill_with_random;

/// Where the files are, in our state.
const CALLS: &str = "calls";
/// What stands around the file's name on the line. No apostrophe: clients put a command between two of them.
const HEAD: &str = ". ";
const TAIL: &str = " || exit 126\n";
/// A file's name has so many digits.
const DIGITS: usize = 32;
/// What comes before the data in a file. A shell does not read it.
const DATA: &str = "\n#";

/// What a launched command runs under, and whose it is. Lies in our state until it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The file with the terms of its sandbox; `None` where it runs in none.
    pub contained: Option<PathBuf>,
    /// What it names in temporary directories that everybody shares. Empty where it runs in no sandbox.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<Shared>,
    /// The directory that the host starts our hooks in; it has to be there when the command has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<PathBuf>,
    /// What is taken out of its output on the way; `None` where that is nobody's wish.
    pub redaction: Option<Redaction>,
    /// Whose it is, for the log.
    pub caller: Caller,
}

/// Something in a temporary directory that everybody shares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// Whether it may be written.
    pub write: bool,
}

/// More of them are not passed in.
const MOST_SHARED: usize = 32;

/// What a call names in temporary directories that everybody shares. Nothing that was there before the session is written, and nothing that
/// the worktree or the home lies in is opened: what holds there, the settings say.
pub(crate) fn shared(facts: &Facts<'_>) -> Vec<Shared> {
    let places = facts.places;
    let mut shared: Vec<Shared> = Vec::new();
    for used in &facts.uses {
        let Ok(place) = &used.place else { continue };
        let path = place.physical.as_path();
        let Some(top) = InShared::temporary(path).and_then(|shared| shared.top()) else { continue };
        let holds_more = [&places.root, &places.home, &places.main]
            .into_iter()
            .flatten()
            .chain(&places.own)
            .chain(&places.siblings)
            .any(|place| place.physical.starts_with(&top));
        let write = used.access.changes();
        let is_heeded = InShared::temporary(path).is_some_and(|shared| shared.is_heeded_below());
        if holds_more || (write && is_heeded) || (write && used.foreign) || shared.len() == MOST_SHARED {
            continue;
        }
        let path = if write { top } else { path.to_owned() };
        match shared.iter_mut().find(|known| known.path == path) {
            Some(known) => known.write |= write,
            None => shared.push(Shared { path, write }),
        }
    }
    shared
}

impl Caller {
    /// The caller of a call that will be recorded so.
    pub(crate) fn of(record: &Record) -> Caller {
        Caller {
            host: record.host.clone(),
            session: record.session.clone(),
            call: record.call.clone(),
            agent: record.agent.clone(),
            tool: record.tool.clone(),
            root: record.root.clone(),
            rules: record.rules.clone(),
        }
    }
}

/// Whose a launched command is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// The host's id.
    pub host: String,
    /// The host's id of the session.
    pub session: String,
    /// The call's id, as in its other records.
    pub call: String,
    /// Who called.
    pub agent: String,
    /// The tool.
    pub tool: String,
    /// The directory that the agent is confined to.
    pub root: String,
    /// The digest of the rules in force.
    pub rules: String,
}

impl Launch {
    /// Puts it down for a command that is about to run, and gives the line that leads to it.
    ///
    /// One that contains is for one command: it has a name of its own that nobody can guess. One that does not is the same
    /// throughout a session, so it is written once.
    pub fn line(&self, machine: &dyn Machine, state: &Path) -> io::Result<LaunchLine> {
        let program = program(machine).ok_or(io::ErrorKind::NotFound)?;
        let data = serde_json::to_string(self).map_err(io::Error::other)?;
        let name = match &self.contained {
            Some(_) => {
                let mut random = [0; DIGITS / 2];
                fill_with_random(&mut random)?;
                hex(&random)
            }
            None => {
                let all = (data.as_bytes(), program.as_os_str().as_encoded_bytes(), BUILD);
                name_for(&postcard::to_allocvec(&all).map_err(io::Error::other)?, DIGITS)
            }
        };
        let file = state.join(CALLS).join(&name);
        let line = LaunchLine::to(&file).ok_or(io::ErrorKind::InvalidInput)?;
        let script = script(&program, &file).ok_or(io::ErrorKind::InvalidInput)?;
        let text = format!("{script}{DATA}{data}\n");
        // A file that a crash has cut short would run the command past us.
        let is_whole =
            || machine.world().read(&file, text.len() + 1).is_ok_and(|found| found == text.as_bytes());
        if self.contained.is_none() && is_whole() {
            return Ok(line);
        }
        write_private(&file, text.as_bytes())?;
        Ok(line)
    }

    /// What such a file holds.
    pub fn parse(file: &[u8]) -> Option<Launch> {
        let (_, data) = split(file, DATA.as_bytes())?;
        serde_json::from_slice(data).ok()
    }
}

/// Our program for hooks and launching, where the command line has it beside itself.
fn program(machine: &dyn Machine) -> Option<PathBuf> {
    let own = machine.program()?;
    let hook = own.with_file_name("toolgate");
    let is_beside =
        own.file_name().is_some_and(|name| name == "toolgate-cli") && machine.world().stamp(&hook).is_ok();
    Some(if is_beside { hook } else { own })
}

/// What the shell of a client runs first. bash and zsh say what they run; of another shell it is read off its process, which
/// then has to wait.
fn script(program: &Path, file: &Path) -> Option<String> {
    let (program, file) = (word(program.to_str()?)?, word(file.to_str()?)?);
    Some(format!(
        r#"[ -z "${{BASH_EXECUTION_STRING-${{ZSH_EXECUTION_STRING-}}}}" ] || builtin exec {program} shell --call {file} -- "${{BASH-${{ZSH_ARGZERO-$0}}}}" "${{ZSH_ARGZERO-$0}}" "${{BASHOPTS-$-}}" "${{BASH_EXECUTION_STRING-${{ZSH_EXECUTION_STRING-}}}}"
{program} shell --call {file} --process $$
exit"#
    ))
}

/// Notes that a contained command has ended, at this level and under these terms, and that nobody has looked through its output: its
/// host's next event can.
pub fn note_end(file: &Path, level: Level, terms: &Path) -> io::Result<()> {
    let note = [level.word().as_bytes(), b"\n", terms.as_os_str().as_encoded_bytes()].concat();
    write_private(&end_of(file), &note)
}

/// The level at which a contained command has run whose output is still to be looked through, and its terms. Once.
pub(crate) fn take_end(machine: &dyn Machine, file: &Path) -> Option<(Level, ContainedTerms)> {
    const MAX_NOTE: usize = 8192;
    let note = end_of(file);
    let read = machine.world().read(&note, MAX_NOTE).ok()?;
    let _ = remove(&note);
    let (word, terms) = split(&read, b"\n")?;
    let level = [Level::Landlock, Level::Full].into_iter().find(|level| level.word().as_bytes() == word)?;
    let terms = Path::new(std::str::from_utf8(terms).ok()?);
    Some((level, ContainedTerms::read(machine.world(), terms).ok()?))
}

fn end_of(file: &Path) -> PathBuf {
    file.with_extension("ended")
}

/// The line before a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchLine(String);

impl LaunchLine {
    /// `None` where a shell could not be given the file on one line.
    fn to(file: &Path) -> Option<LaunchLine> {
        Some(LaunchLine(format!("{HEAD}{}{TAIL}", word(file.to_str()?)?)))
    }

    /// The line with the command behind it.
    pub fn put_before(&self, command: &str) -> String {
        format!("{}{command}", self.0)
    }

    /// The file that a text's line names, and the command behind it. `None` unless the line is ours byte for byte: what merely looks
    /// like it is a command like any other.
    pub fn strip_from<'c>(state: &Path, text: &'c str) -> Option<(PathBuf, &'c str)> {
        let (line, command) = text.split_once('\n')?;
        let calls = state.join(CALLS);
        let start = format!("{HEAD}{}/", word(calls.to_str()?)?.strip_suffix('"')?);
        let name = line.strip_prefix(&start)?.get(..DIGITS)?;
        let file = calls.join(name);
        let is_name = name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        (is_name && format!("{line}\n") == LaunchLine::to(&file)?.0).then_some((file, command))
    }

    /// Whether this may be a later event of a call that we have changed. Most are not.
    fn may_be_on(call: &Call<'_>) -> bool {
        matches!(call.phase, Phase::Permission | Phase::After)
            && command_member(call).is_some_and(|(_, text)| text.starts_with(HEAD))
    }

    /// The call as the host first sent it, where this is a later event of one that we changed.
    pub fn as_first_sent<'a>(state: &Path, call: &Call<'a>) -> Option<Call<'a>> {
        let Action::Shell { directory, .. } = &call.action else { return None };
        if !LaunchLine::may_be_on(call) {
            return None;
        }
        let (param, text) = command_member(call)?;
        let (file, command) = LaunchLine::strip_from(state, text)?;
        let command = command.to_owned();
        Some(Call {
            launched: Some(file),
            input: call.input.with_text(param, command.clone()),
            action: Action::Shell { command: Some(Cow::Owned(command)), directory: directory.clone() },
            ..call.clone()
        })
    }
}

/// What a shell's whole text is without the line that names this file. The client may have put quotes of its own between those
/// of the file's name; what it cannot have changed is its last part.
pub fn without_line(text: &[u8], file: &Path) -> Option<Vec<u8>> {
    let end = format!("{}\"{TAIL}", file.file_name()?.to_str()?);
    let (line, after) = split(text, end.as_bytes())?;
    let head = format!("{HEAD}\"");
    let start = line.windows(head.len()).rposition(|window| window == head.as_bytes())?;
    Some([line.get(..start)?, after].concat())
}

fn split<'t>(text: &'t [u8], at: &[u8]) -> Option<(&'t [u8], &'t [u8])> {
    let place = text.windows(at.len()).position(|window| window == at)?;
    Some((text.get(..place)?, text.get(place + at.len()..)?))
}

/// A word of the line in quotes; `None` where it would not stay on it.
fn word(text: &str) -> Option<String> {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            c if c.is_control() => return None,
            '"' | '$' | '`' | '\\' => {
                let _ = write!(quoted, "\\{c}");
            }
            c => quoted.push(c),
        }
    }
    Some(quoted + "\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMANDS: &[&str] = &["git status", "", "cat <<X\nhi\nX", "echo '", "a\nb\n# c", "echo \\"];
    const NAME: &str = "0123456789abcdef0123456789abcdef";

    fn state() -> &'static Path {
        Path::new("/home/o'neil/it's \"$HOME\"/state")
    }

    fn line() -> LaunchLine {
        LaunchLine::to(&state().join(CALLS).join(NAME)).unwrap()
    }

    #[test]
    fn a_launched_command_is_stripped_of_its_line_unchanged() {
        for command in COMMANDS {
            let text = line().put_before(command);
            assert!(text.ends_with(command) && text.lines().count() == 1 + command.lines().count());
            let file = state().join(CALLS).join(NAME);
            assert_eq!(LaunchLine::strip_from(state(), &text), Some((file, *command)), "{text}");
        }
    }

    #[test]
    fn a_forged_line_is_not_stripped() {
        let text = line().put_before("git status");
        assert_eq!(LaunchLine::strip_from(Path::new("/tmp"), &text), None);
        let spoilt = [
            format!(" {text}"),
            format!("true\n{text}"),
            text.replacen(" || ", " ; rm -r ~ ; true || ", 1),
            text.replacen(" || exit 126", " || rm -r ~", 1),
            text.replacen(NAME, &NAME.to_uppercase(), 1),
            text.replacen(NAME, "$(rm -r ~)", 1),
            text.replacen(NAME, &format!("{NAME}0"), 1),
            text.replacen(NAME, &format!("../{NAME}"), 1),
            text.replacen(" || exit 126\n", "", 1),
        ];
        for text in spoilt {
            assert_eq!(LaunchLine::strip_from(state(), &text), None, "{text}");
        }
    }

    #[test]
    fn only_one_line_is_stripped() {
        let once = line().put_before("git status");
        let twice = line().put_before(&once);
        let (_, command) = LaunchLine::strip_from(state(), &twice).unwrap();
        assert_eq!(command, once);
    }

    #[test]
    fn the_line_is_removed_from_the_text_of_a_client() {
        let file = state().join(CALLS).join(NAME);
        for command in COMMANDS {
            let client = |command: &str| {
                let quoted = command.replace('\'', "'\"'\"'");
                format!("source x 2>/dev/null || true && eval '{quoted}' && pwd -P >| y")
            };
            let text = client(&line().put_before(command));
            assert_eq!(without_line(text.as_bytes(), &file), Some(client(command).into_bytes()));
        }
        assert_eq!(without_line(b"git status", &file), None);
    }

    #[test]
    fn no_line_is_made_for_a_name_with_a_line_break() {
        assert_eq!(LaunchLine::to(Path::new("/a\nb/calls/x")), None);
        assert_eq!(script(Path::new("/a\nb/toolgate"), Path::new("/x")), None);
    }

    #[test]
    fn what_is_put_down_is_read_back() {
        let launch = Launch {
            contained: Some("/state/terms/x".into()),
            shared: vec![Shared { path: "/tmp/x".into(), write: true }],
            start: Some("/work".into()),
            redaction: Some(Redaction::default()),
            caller: Caller { session: "a\n#b".to_owned(), ..Caller::default() },
        };
        let script = script(Path::new("/bin/toolgate"), Path::new("/state/calls/x")).unwrap();
        let file = format!("{script}{DATA}{}\n", serde_json::to_string(&launch).unwrap());
        assert_eq!(Launch::parse(file.as_bytes()), Some(launch));
        assert_eq!(Launch::parse(script.as_bytes()), None);
    }
}
