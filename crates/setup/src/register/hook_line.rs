//! The command line that a host is to start, as words and as text for a shell.
//!
//! Against whom: a repository can set the environment of its agent's hooks, so the line says everything that
//! toolgate must not learn from there; and most hosts let a call run when its hook cannot, so where a host goes
//! through a shell, the shell answers in our place.

use std::path::{Path, PathBuf};

use toolgate_model::TeamPhase;

use super::RegisterError;
use toolgate_gate::dirs::{Dirs, FROM_PASSWD};

/// What a registration line says beyond the host's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookLine {
    /// The hook binary, absolute.
    pub binary: PathBuf,
    /// Where toolgate keeps its things.
    pub dirs: Dirs,
    /// For everybody on the machine: each person's home is looked up when the hook starts.
    pub everybody: bool,
    /// The profile, where it is not the host's usual one.
    pub profile: Option<String>,
    /// The agent's name, where an orchestrator starts several.
    pub agent: Option<String>,
    /// The agent's role, where it is not known by its name.
    pub role: Option<String>,
    /// How far the agent's team has come, where an orchestrator knows it.
    pub phase: Option<TeamPhase>,
    /// The root of the agent's work, where it is not the host's word.
    pub root: Option<PathBuf>,
}

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
}

// `concat!` takes nothing but literals.
macro_rules! could_not_run {
    () => {
        "toolgate could not run"
    };
}

/// How a denial begins that the shell says in our place.
pub const COULD_NOT_RUN: &str = could_not_run!();

/// What has the hook end with codes of its own ([`toolgate_gate::hook`]), so that a shell can tell an answer of ours from that of a file
/// which is not us any more: cut short, or zeros to its full length after a crash of the machine. A shell takes such a file for
/// a script, and most of them for one that does nothing and ends well, which these hosts take for consent.
const OWN_CODES: [&str; 2] = ["--codes", "own"];

// `concat!` takes nothing but literals.
macro_rules! unless_answered {
    ($words:literal) => {
        concat!(
            "; case $? in 80) ;; 82) exit 2 ;; *) echo '",
            could_not_run!(),
            $words,
            "' >&2; exit 2 ;; esac"
        )
    };
}

/// Behind a line that fails closed: whatever keeps toolgate from answering (it is missing, it is killed, it fails, it is not
/// toolgate) denies. Exit 2 blocks only with a text on stderr; where toolgate itself denies, it has said why. No variable
/// but `$?` is used, since some hosts put their environment in the place of names.
pub const OR_DENY: &str = unless_answered!(", so this call is denied");

/// Behind a line whose event comes after a call, in a host that shows the text on stderr instead of what the tool gave back.
pub const OR_WITHHOLD: &str = unless_answered!(", so what the tool gave back is not shown");

/// How lines ended and began that earlier versions have registered. They are still ours to replace.
const OR_DENY_BEFORE: &str =
    concat!(" || { [ $? = 2 ] || echo '", could_not_run!(), ", so this call is denied' >&2; exit 2; }");
const IF_FILLED: &str = "[ -s ";
const THEN: &str = " ] && ";

/// Behind a line that fails open: a failure must not block the person's prompt or the end of a session.
pub const OR_PASS: &str = " || true";

impl HookLine {
    /// `toolgate hook <host>`, one process for each event. `event` is for hosts whose events do not say their name.
    pub fn hook(&self, host: &str, event: Option<&str>) -> Result<Start, RegisterError> {
        let mut words = vec!["hook", host];
        words.extend(event.into_iter().flat_map(|event| ["--event", event]));
        self.start(&words)
    }

    /// `toolgate serve <host>`, one process for a session.
    pub fn serve(&self, host: &str) -> Result<Start, RegisterError> {
        self.start(&["serve", host])
    }

    /// The configuration and state directories are named only where they do not follow from the home.
    fn start(&self, words: &[&str]) -> Result<Start, RegisterError> {
        let usual = Dirs::of_home(&self.dirs.home);
        let mut args: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let mut flag = |name: &str, value: &str| args.extend([name.to_owned(), value.to_owned()]);
        if self.everybody {
            flag("--home", FROM_PASSWD);
        } else {
            flag("--home", text_of(&self.dirs.home)?);
        }
        if self.dirs.config != usual.config && !self.everybody {
            flag("--config", text_of(&self.dirs.config)?);
        }
        if self.dirs.state != usual.state && !self.everybody {
            flag("--state", text_of(&self.dirs.state)?);
        }
        if let Some(profile) = &self.profile {
            flag("--profile", profile);
        }
        if let Some(agent) = &self.agent {
            flag("--agent", agent);
        }
        if let Some(role) = &self.role {
            flag("--role", role);
        }
        if let Some(phase) = self.phase {
            flag("--phase", phase.word());
        }
        if let Some(root) = &self.root {
            flag("--root", text_of(root)?);
        }
        Ok(Start { program: text_of(&self.binary)?.to_owned(), args })
    }
}

impl Start {
    /// As text for `sh -c`.
    pub fn shell(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.args);
        words.map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// The same, ending with codes of our own.
    pub fn coded_shell(&self) -> String {
        format!("{} {}", self.shell(), OWN_CODES.join(" "))
    }

    /// The words of a text for `sh -c` that starts one program and does nothing else, but for denying where that
    /// fails. `None` for any other text: `true # toolgate hook codex` starts nothing of ours.
    pub fn of_shell(text: &str) -> Option<Start> {
        if let Some(line) = text.strip_suffix(OR_DENY) {
            let mut start = Start::of_plain(line)?;
            let plain = start.args.len().checked_sub(OWN_CODES.len())?;
            // Without them the shell behind it would deny everything.
            return (start.args.split_off(plain) == OWN_CODES).then_some(start);
        }
        let text = text.strip_suffix(OR_DENY_BEFORE).unwrap_or(text);
        if let Some((file, line)) = text.strip_prefix(IF_FILLED).and_then(|rest| rest.split_once(THEN)) {
            let start = Start::of_plain(line)?;
            return (words(file)? == [start.program.as_str()]).then_some(start);
        }
        Start::of_plain(text)
    }

    fn of_plain(text: &str) -> Option<Start> {
        let mut words = words(text)?.into_iter();
        let program = words.next().filter(|program| !program.contains('='))?;
        Some(Start { program, args: words.collect() })
    }

    /// Whether this is `toolgate hook <host>` or `toolgate serve <host>`.
    pub fn is_ours(&self, host: &str) -> bool {
        let mut args = self.args.iter().map(String::as_str);
        let named = Path::new(&self.program).file_name().is_some_and(|name| name == "toolgate");
        named
            && args.next().is_some_and(|verb| ["hook", "serve"].contains(&verb))
            && args.next() == Some(host)
    }
}

/// Characters that mean themselves to every shell.
fn is_tame(c: char) -> bool {
    c.is_ascii_alphanumeric() || "/._-+,:@%=".contains(c)
}

/// One word for `sh`. The quote is opened anew behind every `$`: Gemini CLI and Qwen Code replace `$NAME`
/// anywhere in their settings, quoted or not.
fn quoted(word: &str) -> String {
    if !word.is_empty() && word.chars().all(is_tame) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''").replace('$', "$''"))
}

/// The words of a text as `sh` sees them; `None` where it holds anything but plain and quoted words.
fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '$' | '`' | '\\' | '!' if c == '"' => return None,
                        inner => word.push(inner),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next().filter(|c| *c == '\'')?),
            c if is_tame(c) => word.get_or_insert_default().push(c),
            _ => return None,
        }
    }
    words.extend(word);
    Some(words)
}

pub(super) fn text_of(path: &Path) -> Result<&str, RegisterError> {
    if !path.is_absolute() {
        return Err(RegisterError::NotAbsolute { path: path.to_path_buf() });
    }
    path.to_str().ok_or_else(|| RegisterError::NotText { path: path.to_path_buf() })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// What we write, both we and the shell read back word for word.
        #[test]
        fn a_registration_line_is_read_back_word_for_word_by_us_and_the_shell(all in proptest::collection::vec("[ -~é\n]{0,9}", 1..5)) {
            prop_assume!(!all[0].contains('='));
            let start = Start { program: all[0].clone(), args: all[1..].to_vec() };
            let text = start.shell();
            prop_assert_eq!(Start::of_shell(&text), Some(start.clone()));
            prop_assert_eq!(Start::of_shell(&format!("{}{OR_DENY}", start.coded_shell())), Some(start.clone()));
            prop_assert_eq!(Start::of_shell(&format!("{text}{OR_DENY_BEFORE}")), Some(start.clone()));
            let filled = format!("{IF_FILLED}{}{THEN}{text}{OR_DENY_BEFORE}", quoted(&start.program));
            prop_assert_eq!(Start::of_shell(&filled), Some(start));
            let said = Command::new("sh").args(["-c", &format!("printf '%s\\0' {text}")]).output().unwrap();
            let said = String::from_utf8(said.stdout).unwrap();
            prop_assert_eq!(said.split_terminator('\0').collect::<Vec<_>>(), all);
            let named = text.match_indices('$').any(|(at, _)| {
                text.split_at(at + 1).1.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '{')
            });
            prop_assert!(!named, "{}", text);
        }
    }

    #[test]
    fn a_shell_text_that_does_more_is_not_taken_for_ours() {
        for text in [
            "true # toolgate hook codex",
            "toolgate hook codex || true",
            "[ -s /bin/true ] && toolgate hook codex",
            "[ -s toolgate ] && true; toolgate hook codex",
            "toolgate hook codex; true",
            "A=/toolgate hook codex",
            "$(toolgate) hook codex",
            "toolgate hook codex\ntrue",
            "toolgate hook \"$x\"",
            "toolgate hook 'codex",
            &format!("toolgate hook codex{OR_DENY}"),
            &format!("toolgate hook codex --codes{OR_DENY}"),
            &format!("toolgate hook codex --codes own; true{OR_DENY}"),
        ] {
            assert_eq!(Start::of_shell(text), None, "{text}");
        }
    }
}
