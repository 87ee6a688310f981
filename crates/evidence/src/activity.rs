//! What a call counts as in its session.

use std::borrow::Cow;

use toolgate_model::TeamPhase;
use toolgate_secrets::Redacted;

/// What a call counts as in its session; see [`crate::SessionCounts`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Activity {
    /// `question`: the user was asked.
    Question,
    /// `prompt`: the user spoke, and a turn begins.
    Prompt,
    /// `phase:` and its word: the team's phase was set.
    Phase(TeamPhase),
    /// `read`: something was read.
    Read,
    /// `write`: something was written.
    Write,
    /// `run`: a command was run.
    Run,
    /// `connect`: something was sent or fetched.
    Connect,
    /// `call`: a tool was called.
    Call,
    /// `in:` and the directory: something in it was written.
    In(Redacted),
}

/// What the words begin with that are more than a word.
pub(crate) const PHASE: &str = "phase:";
pub(crate) const IN: &str = "in:";

impl Activity {
    pub(crate) fn word(self) -> Cow<'static, str> {
        match self {
            Activity::Question => "question".into(),
            Activity::Prompt => "prompt".into(),
            Activity::Phase(phase) => format!("{PHASE}{}", phase.word()).into(),
            Activity::Read => "read".into(),
            Activity::Write => "write".into(),
            Activity::Run => "run".into(),
            Activity::Connect => "connect".into(),
            Activity::Call => "call".into(),
            Activity::In(directory) => format!("{IN}{directory}").into(),
        }
    }
}
