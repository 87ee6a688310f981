//! What a host's file must provide: two pure translations.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Call, Decision, FindingKind, Phase, Stoppable, Terms, Unstoppable, Verdict};

/// An agent program and its hook protocol.
pub trait Host: Sync {
    /// Its id, as in `toolgate hook <host>`.
    fn id(&self) -> &'static str;
    /// The profile that its users get unless they choose one.
    fn profile(&self) -> &'static str {
        "worktree"
    }
    /// What the directory says that a hook is started in.
    fn hooks_start(&self) -> HooksStart {
        HooksStart::Anywhere
    }
    /// Whether it can start no hook once the directory of its session is gone or closed, and runs calls all the same. A host of which this is not
    /// known may.
    fn loses_hooks_with_directory(&self) -> bool {
        !self.is_served()
    }
    /// Whether it runs a call once its own time-out has passed.
    fn runs_what_is_late(&self) -> bool {
        false
    }
    /// Whether its own code keeps one `toolgate serve` for a session, and takes the answer as it stands.
    fn is_served(&self) -> bool {
        false
    }
    /// The directory below the person's home in which the host keeps its own things, its transcripts among them.
    fn own_directory(&self) -> Option<&'static str> {
        None
    }
    /// What the host keeps for a session outside of the project, for its agent to read or to write.
    fn keeps(&self) -> &'static [Kept] {
        &[]
    }
    /// The environment variable in which the host names the project, before any agent runs.
    fn project_variable(&self) -> Option<&'static str> {
        None
    }
    /// Whether a grant overrides what the host's user has forbidden. Then only one who names the host grants.
    fn grant_overrides_user(&self) -> bool {
        false
    }
    /// Whether what this tool gives back can be changed before the model sees it. Where not, what would show a secret is
    /// stopped before it runs.
    fn changes_output(&self, tool: &str) -> bool {
        let _ = tool;
        false
    }
    /// Whether what this tool gives back stays as it is where the tool fails, although it could be changed otherwise.
    fn keeps_failed_output(&self, tool: &str) -> bool {
        let _ = tool;
        false
    }
    /// Whether an output that we change is shown otherwise than the tool's own would be: as an error, or without how the command ended.
    fn spoils_changed_output(&self, tool: &str) -> bool {
        let _ = tool;
        false
    }
    /// Whether changing this call's output keeps what comes behind it from running. An email address alone is no reason for that.
    fn stops_at_changed_output(&self, call: &Call<'_>) -> bool {
        let _ = call;
        false
    }
    /// The parameter of a search without which it also goes through directories that no event names: those that a person has added when
    /// starting the host.
    fn narrows_search(&self, tool: &str) -> Option<&'static str> {
        let _ = tool;
        None
    }
    /// Whether a command of this shell tool can be sent into a sandbox: the text that we put in its place is what a shell
    /// runs.
    fn launches(&self, tool: &str) -> bool {
        let _ = tool;
        false
    }
    /// Whether a call that its user is asked about runs with the changed input.
    fn asks_about_changed_input(&self) -> bool {
        false
    }
    /// Whether it asks its user on its own terminal, and ends or hangs where it has none. Without a terminal nobody is asked then, and
    /// what would be asked is denied.
    fn needs_terminal_to_ask(&self) -> bool {
        false
    }
    /// Where in a call's life an event of this name stands.
    fn phase(&self, event: &str) -> Phase;
    /// Reads one event. `event` is its name where the registration says it.
    fn decode<'a>(&self, event: Option<&'a str>, stdin: &'a [u8]) -> Result<Call<'a>, DecodeError>;
    /// Answers an event that can still be stopped ([`Phase::stops`]). Any other one has no verdict: it is refused.
    fn encode(&self, call: &Call<'_>, verdict: &Verdict, terms: &Terms) -> Reply {
        match call.phase.stoppable() {
            Ok(phase) => match terms.rewrites.first() {
                // INVARIANT: what has to be contained does not run as it stands.
                None if phase == Stoppable::Before && verdict.decision().contains() => {
                    self.refuse(Some(call.phase), "toolgate could not send this command into its sandbox")
                }
                // It was judged as it would run then, and would run as it stands.
                Some((param, text)) if verdict.decision().objects() && !self.asks_about_changed_input() => {
                    let hint = format!(
                        "this host cannot change a call that it asks about; give `{param}` as `{text}`"
                    );
                    self.refuse(
                        Some(call.phase),
                        &terms.message(verdict).map_or(hint.clone(), |why| format!("{why}; {hint}")),
                    )
                }
                // INVARIANT: what the host will not ask about does not run.
                _ if phase == Stoppable::Before
                    && verdict.decision() == Decision::Ask
                    && is_unasked(call, verdict) =>
                {
                    let why = terms.denial(verdict).unwrap_or_default();
                    self.refuse(
                        Some(call.phase),
                        &format!("{why}; it needs a person's word, and in this mode nobody is asked"),
                    )
                }
                _ => self.encode_verdict(phase, call, verdict, terms),
            },
            Err(_) => self.refuse(None, "toolgate decided about an event that nothing can stop"),
        }
    }
    /// Answers an event that stops nothing. One that can be stopped has no verdict here: it is refused.
    fn tell(&self, call: &Call<'_>, terms: &Terms) -> Reply {
        match call.phase.stoppable() {
            Ok(_) => self.refuse(Some(call.phase), "toolgate has reached no verdict about this call"),
            Err(phase) => self.encode_terms(phase, call, terms),
        }
    }
    /// Says the verdict in the host's words. May be stricter than the verdict where the host cannot express it, never
    /// looser. [`Host::encode`] calls it.
    fn encode_verdict(&self, phase: Stoppable, call: &Call<'_>, verdict: &Verdict, terms: &Terms) -> Reply;
    /// Says in the host's words what is shown instead of an output, and what the user and the model are told.
    /// [`Host::tell`] calls it.
    fn encode_terms(&self, phase: Unstoppable, call: &Call<'_>, terms: &Terms) -> Reply;
    /// Refuses, where no verdict could be reached. `phase` is `None` where not even the event is known.
    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply;
}

/// Whether the host would ask nobody about this call. Its own files are known by our finding, however they are named; all others by the
/// words of the call, as the host knows them.
fn is_unasked(call: &Call<'_>, verdict: &Verdict) -> bool {
    if call.unasked.is_empty() {
        return false;
    }
    verdict.findings().iter().any(|finding| finding.kind == FindingKind::Tampering)
        || call.unasked.iter().any(|name| call.input.mentions(name))
}

/// A place that a host keeps for a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Where it is looked for.
    pub from: KeptFrom,
    /// Its path from there. `{session}` stands for the host's id of the session, `{project}` for the SHA-256 of the path of the
    /// directory that the session was started in, in hexadecimal digits.
    pub path: &'static str,
    /// Whether the host has its agent write there.
    pub written: bool,
}

/// Where the path of a [`Kept`] begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptFrom {
    /// In the person's home.
    Home,
    /// In the directory above that of the session's transcript.
    AboveTranscripts,
}

impl Kept {
    /// To be read by the agent.
    pub const fn read(from: KeptFrom, path: &'static str) -> Kept {
        Kept { from, path, written: false }
    }
    /// To be written by the agent.
    pub const fn written(from: KeptFrom, path: &'static str) -> Kept {
        Kept { from, path, written: true }
    }
}

/// What the directory says that a hook is started in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HooksStart {
    /// Nothing.
    Anywhere,
    /// Where the call starts, if its event does not say.
    WithTheCall,
    /// Where the session stands. Its events name a directory that the agent chose.
    WithTheSession,
}

/// What the hook process prints and how it ends.
///
/// It has no default: whoever makes one says what the host makes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Reply {
    /// For the host.
    pub stdout: String,
    /// For the host or its user, by the host's rules.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
    /// What the host makes of it, for the log.
    pub answer: Answer,
}

/// What a host makes of a reply: what the log says was answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// Nothing is objected; the host goes on by its own rules.
    #[default]
    Silence,
    /// The call is granted; the host asks nobody.
    Grant,
    /// The call runs with another input.
    Rewrite,
    /// The host asks its user.
    Ask,
    /// The call does not run, or what it gave back is not shown.
    Deny,
    /// Another output is shown.
    Redact,
    /// Something is said, and nothing else changes.
    Tell,
}

impl Answer {
    /// The word for it in records.
    pub fn word(self) -> &'static str {
        match self {
            Answer::Silence => "silence",
            Answer::Grant => "grant",
            Answer::Rewrite => "rewrite",
            Answer::Ask => "ask",
            Answer::Deny => "deny",
            Answer::Redact => "redact",
            Answer::Tell => "tell",
        }
    }
}

impl Reply {
    /// Nothing to say.
    pub fn silent() -> Reply {
        Reply::json(Answer::Silence, String::new())
    }
    /// One line of JSON, and what the host makes of it.
    pub fn json(answer: Answer, stdout: String) -> Reply {
        Reply { stdout, stderr: String::new(), code: 0, answer }
    }
    /// A refusal without JSON: the text on stderr and exit 2, which blocks in every host whose hooks are commands.
    pub fn blocking(message: &str) -> Reply {
        Reply { stdout: String::new(), stderr: format!("{message}\n"), code: 2, answer: Answer::Deny }
    }
}

/// Why an event could not be read. Says where, never what stood there: it may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodeError {
    /// Not JSON, or not of the host's form.
    Malformed {
        /// Line in the input.
        line: usize,
        /// Column in the line.
        column: usize,
    },
    /// An object has two members of the same name.
    DoubledMember {
        /// Line in the input.
        line: usize,
        /// Column in the line.
        column: usize,
    },
    /// A field that must be there is not.
    MissingField(&'static str),
    /// A field holds something else than it must.
    WrongField(&'static str),
    /// The event is about a tool, and its name is none that we know.
    UnknownEvent,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Malformed { line, column } => {
                write!(f, "the hook event is not JSON of the expected form (line {line}, column {column})")
            }
            DecodeError::DoubledMember { line, column } => write!(
                f,
                "the hook event has a member twice, and the host may read the other one (line {line}, column {column})"
            ),
            DecodeError::MissingField(field) => write!(f, "the hook event has no `{field}`"),
            DecodeError::WrongField(field) => {
                write!(f, "`{field}` of the hook event is not of the expected form")
            }
            DecodeError::UnknownEvent => {
                f.write_str("the hook event is about a tool, and its name is none that is known")
            }
        }
    }
}

impl std::error::Error for DecodeError {}
