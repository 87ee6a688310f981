//! The first line that sends a shell command through `toolgate shell`.
//!
//! Why: Claude Code never lets the output of a command that fails be changed. So the output has to be without secrets
//! before the client has it.
//!
//! The command itself stays as it is, behind that line. The client gives both to a shell as one text (`bash -c "… eval
//! '…' && pwd …"`). The line has this shell become `toolgate shell`, which takes the line out again and starts the same
//! shell with what is left, its output in a pipe. So the command runs in a shell of its own right: exit codes, signals,
//! traps, jobs, here-documents, syntax errors and their line numbers are those of the command without the line. What
//! differs: what the client puts before the command runs twice, and the shell does not lead its process group (`kill --
//! -$$`). A shell that does not say what it runs (neither bash nor zsh, or not with `-c`) runs the command as it is.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

use toolgate_model::{Action, Call, Phase};
use toolgate_policies::Redaction;

use crate::machine::Machine;
use crate::observe::command_member;

/// What the line begins with. No apostrophe: clients put a command between two of them.
const HEAD: &str = r#"[ -z "${BASH_EXECUTION_STRING-${ZSH_EXECUTION_STRING-}}" ] || builtin exec "#;
/// What it ends with: the shell, the name that it was started by, its options, and the whole text that it runs.
const TAIL: &str = concat!(
    r#" -- "${BASH-$0}" "$0" "${BASHOPTS-$-}" "${BASH_EXECUTION_STRING-${ZSH_EXECUTION_STRING-}}""#,
    "\n"
);

/// The part of the line that is the same throughout a session.
#[derive(Debug)]
pub struct LaunchLine {
    start: String,
}

impl LaunchLine {
    /// `None` where a shell could not be given one of these on one line.
    pub fn new(binary: &Path, state: &Path, session: Option<&str>) -> Option<LaunchLine> {
        let (binary, state) = (word(binary.to_str()?)?, word(state.to_str()?)?);
        let session = word(session.unwrap_or_default())?;
        Some(LaunchLine { start: format!("{HEAD}{binary} shell --state {state} --session {session}") })
    }

    /// This program's, for a session. The hook is meant where the command line has it beside itself.
    pub fn of_session(machine: &dyn Machine, state: &Path, session: Option<&str>) -> Option<LaunchLine> {
        let own = machine.program()?;
        let hook = own.with_file_name("toolgate");
        let is_beside = own.file_name().is_some_and(|name| name == "toolgate-cli")
            && machine.world().stamp(&hook).is_ok();
        LaunchLine::new(if is_beside { &hook } else { &own }, state, session)
    }

    /// The command behind its line.
    pub fn around(&self, command: &str, wanted: &Redaction) -> Option<String> {
        let mut text = self.start.clone();
        if *wanted != usual() {
            let _ = write!(text, " --redaction {}", word(&serde_json::to_string(wanted).ok()?)?);
        }
        Some(text + TAIL + command)
    }

    /// The command inside. Only of a text that is ours byte for byte: what merely looks like it is a command like any
    /// other.
    pub fn inside<'c>(&self, text: &'c str) -> Option<&'c str> {
        let (between, command) = text.strip_prefix(&self.start)?.split_once(TAIL)?;
        let wanted = match between.strip_prefix(" --redaction ") {
            Some(word) => serde_json::from_str(&meant(word)).ok()?,
            None => usual(),
        };
        (self.around(command, &wanted)? == text).then_some(command)
    }

    /// Whether this may be a later event of a call that we have changed. Most are not, and need not know who we are.
    pub fn may_be_on(call: &Call<'_>) -> bool {
        matches!(call.phase, Phase::Permission | Phase::After)
            && command_member(call).is_some_and(|(_, text)| text.starts_with(HEAD))
    }

    /// The call as it was before we changed it, where this is a later event of one that we have.
    pub fn opened<'a>(&self, call: &Call<'a>) -> Option<Call<'a>> {
        let Action::Shell { directory, .. } = &call.action else { return None };
        if !LaunchLine::may_be_on(call) {
            return None;
        }
        let (param, text) = command_member(call)?;
        let command = self.inside(text)?.to_owned();
        Some(Call {
            input: call.input.with_text(param, command.clone()),
            action: Action::Shell { command: Some(Cow::Owned(command)), directory: directory.clone() },
            ..call.clone()
        })
    }
}

/// What a shell's whole text is without the line.
pub fn without_line(text: &[u8]) -> Option<Vec<u8>> {
    let (before, rest) = split(text, HEAD.as_bytes())?;
    let (_, after) = split(rest, TAIL.as_bytes())?;
    Some([before, after].concat())
}

fn split<'t>(text: &'t [u8], at: &[u8]) -> Option<(&'t [u8], &'t [u8])> {
    let place = text.windows(at.len()).position(|window| window == at)?;
    Some((text.get(..place)?, text.get(place + at.len()..)?))
}

/// What need not be said.
fn usual() -> Redaction {
    Redaction { wrap: true, ..Redaction::default() }
}

/// A word of the line in quotes; `None` where it would not stay on it.
fn word(text: &str) -> Option<String> {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            c if c.is_control() => return None,
            '"' | '$' | '`' | '\\' => quoted.extend(['\\', c]),
            c => quoted.push(c),
        }
    }
    Some(quoted + "\"")
}

/// What a word in quotes stands for.
fn meant(word: &str) -> String {
    let mut text = String::new();
    let mut chars = word.trim_matches('"').chars();
    while let Some(c) = chars.next() {
        text.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    text
}

#[cfg(test)]
mod tests {
    use toolgate_policies::Emails;

    use super::*;

    const COMMANDS: &[&str] = &["git status", "", "cat <<X\nhi\nX", "echo '", "a\nb\n# c", "echo \\"];

    fn line() -> LaunchLine {
        LaunchLine::new(Path::new("/opt/it's \"$HOME\"/toolgate"), Path::new("/home/me/state"), Some("s-1"))
            .unwrap()
    }

    fn wanted() -> Redaction {
        Redaction { emails: Emails::All, safe_emails: vec!["o'neil\\@x.org\n".to_owned()], ..usual() }
    }

    #[test]
    fn what_is_wrapped_is_known_again() {
        for command in COMMANDS {
            for wanted in [usual(), wanted()] {
                let text = line().around(command, &wanted).unwrap();
                assert!(text.ends_with(command) && text.lines().count() == 1 + command.lines().count());
                assert_eq!(line().inside(&text), Some(*command), "{text}");
            }
        }
    }

    #[test]
    fn a_look_alike_is_not() {
        let text = line().around("git status", &usual()).unwrap();
        let other = |binary, state, session| {
            LaunchLine::new(Path::new(binary), Path::new(state), session).unwrap().inside(&text).is_some()
        };
        assert!(!other("/tmp/toolgate", "/home/me/state", Some("s-1")));
        assert!(!other("/opt/it's \"$HOME\"/toolgate", "/tmp", Some("s-1")));
        assert!(!other("/opt/it's \"$HOME\"/toolgate", "/home/me/state", Some("s-2")));
        assert!(!other("/opt/it's \"$HOME\"/toolgate", "/home/me/state", None));
        let spoilt = [
            format!(" {text}"),
            format!("true\n{text}"),
            text.replacen(" -- ", " ; rm -r ~ ; true -- ", 1),
            text.replacen(" -- ", " --redaction \"{}\" -- ", 1),
            text.replacen(" -- ", " --redaction \"$(rm -r ~)\" -- ", 1),
            text.replacen(" -- ", "\nrm -r ~\n: -- ", 1),
            text.replacen("|| builtin", "|| rm -r ~ || builtin", 1),
        ];
        for text in spoilt {
            assert_eq!(line().inside(&text), None, "{text}");
        }
    }

    #[test]
    fn only_one_line_is_taken_off() {
        let once = line().around("git status", &usual()).unwrap();
        let twice = line().around(&once, &usual()).unwrap();
        assert_eq!(line().inside(&twice), Some(once.as_str()));
    }

    #[test]
    fn the_shell_gets_its_text_without_the_line() {
        for command in COMMANDS {
            let client = |command: &str| {
                let quoted = command.replace('\'', "'\"'\"'");
                format!("source x 2>/dev/null || true && eval '{quoted}' && pwd -P >| y")
            };
            let text = client(&line().around(command, &wanted()).unwrap());
            assert_eq!(without_line(text.as_bytes()), Some(client(command).into_bytes()));
        }
        assert_eq!(without_line(b"git status"), None);
    }

    #[test]
    fn a_name_over_two_lines_is_left_alone() {
        assert!(LaunchLine::new(Path::new("/a\nb/toolgate"), Path::new("/s"), None).is_none());
        assert!(LaunchLine::new(Path::new("/toolgate"), Path::new("/s"), Some("a\nb")).is_none());
    }
}
