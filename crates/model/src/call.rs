//! A call: one event of a host, in words that all hosts share.

use std::borrow::Cow;
use std::path::PathBuf;

use crate::{ActivationState, Json};

/// One event that a host told us of.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The host's id, as in `toolgate hook <host>`.
    pub host: &'static str,
    /// The host's own name of the event.
    pub event: Cow<'a, str>,
    /// Where in a call's life this event stands.
    pub phase: Phase,
    /// The host's id of the call, the same before and after it.
    pub id: Option<Cow<'a, str>>,
    /// The host's id of the session.
    pub session: Option<Cow<'a, str>>,
    /// The working directory that the event names. An agent may have moved it: never a base for trust.
    pub cwd: Option<Cow<'a, str>>,
    /// The host's transcript of the session.
    pub transcript: Option<Cow<'a, str>>,
    /// A worktree that the host has just moved the session into.
    pub entered: Option<Cow<'a, str>>,
    /// A person has taken a session up again: the host says so where it begins.
    pub resumed: bool,
    /// Who is calling, in the host's own words.
    pub agent: Agent<'a>,
    /// The host's word on its mode and on trust, where the event has it.
    pub activation: ActivationState,
    /// Names of files that the host asks nobody about in the mode that it is in, whatever a hook answers. A call that is about one of
    /// them is denied where it would be asked.
    pub unasked: &'static [&'static str],
    /// The host asks nobody for permission in the mode that it is in: what a changed command looks like in a question concerns nobody.
    pub unattended: bool,
    /// The tool's name; empty where the event is not about a tool.
    pub tool: Cow<'a, str>,
    /// The tool's input as it came.
    pub input: Json<'a>,
    /// What the tool is asked to do.
    pub action: Action<'a>,
    /// What the tool gave back: JSON, as it came. Only in [`Phase::After`].
    pub output: Option<Cow<'a, str>>,
    /// Long texts of the event have been cut, and what the tool gave back is not whole.
    pub shortened: bool,
    /// What the user said. Only in [`Phase::Prompt`], and as the answer to a question in [`Phase::After`].
    pub said: Option<Cow<'a, str>>,
    /// The file of ours that its command was launched by, where this is a later event of a call that we changed.
    pub launched: Option<PathBuf>,
}

/// For [`Call::unasked`]: nobody is asked about anything.
pub const UNASKED_ABOUT_ALL: &[&str] = &[""];

impl<'a> Call<'a> {
    /// An event of which nothing else is known.
    pub fn event(host: &'static str, event: Cow<'a, str>, phase: Phase) -> Call<'a> {
        Call {
            host,
            event,
            phase,
            id: None,
            session: None,
            cwd: None,
            transcript: None,
            entered: None,
            resumed: false,
            agent: Agent::default(),
            activation: ActivationState::default(),
            unasked: &[],
            unattended: false,
            tool: Cow::Borrowed(""),
            input: Json::Null,
            action: Action::Nothing,
            output: None,
            shortened: false,
            said: None,
            launched: None,
        }
    }

    /// A call that is about to run, by nobody in particular and from nowhere.
    pub fn before(
        host: &'static str,
        tool: impl Into<Cow<'a, str>>,
        input: Json<'a>,
        action: Action<'a>,
    ) -> Call<'a> {
        let event = Call::event(host, Cow::Borrowed("PreToolUse"), Phase::Before);
        Call { tool: tool.into(), input, action, ..event }
    }
}

/// Words that are already apart as one command line, none of them open to expansion; `None` where one is not text.
pub fn quoted(words: &[Json<'_>]) -> Option<String> {
    let word = |word: &Json<'_>| Some(format!("'{}'", word.text()?.replace('\'', "'\\''")));
    Some(words.iter().map(word).collect::<Option<Vec<_>>>()?.join(" "))
}

/// Who is calling, as the host says it (a sub-agent's id and kind), not as the agent says it.
#[derive(Debug, Clone, Default)]
pub struct Agent<'a> {
    /// The host's id of a sub-agent.
    pub id: Option<Cow<'a, str>>,
    /// The kind of a sub-agent (`Explore`, `research`).
    pub kind: Option<Cow<'a, str>>,
}

impl Agent<'_> {
    /// What it may be known by: its kind and its id. A host that tells no kind may have it at the head of the id, before
    /// an id of its own that may hold a `-` as well: `code-reviewer-call_7` is also `code-reviewer` and `code`.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let heads = self.id.as_deref().filter(|_| self.kind.is_none()).into_iter();
        let heads = heads.flat_map(|id| id.rmatch_indices('-').filter_map(|(at, _)| id.get(..at)));
        [&self.kind, &self.id].into_iter().flatten().map(|word| &**word).chain(heads)
    }
}

/// Where in a call's life an event stands; it decides what an answer can still change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Before a tool runs: it can be stopped or changed.
    Before,
    /// The host is about to ask its user for permission.
    Permission,
    /// A tool has run.
    After,
    /// The host's own settings changed on disk.
    Config,
    /// A session begins: the root is pinned now.
    Start,
    /// The user has said something: a turn begins.
    Prompt,
    /// A session ends.
    End,
    /// Something failed in the host.
    Error,
    /// Anything else: passes, and is recorded.
    Other,
}

/// A phase in which an answer can still stop something. Each is the [`Phase`] of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stoppable {
    /// Before a tool runs.
    Before,
    /// The host is about to ask its user for permission.
    Permission,
    /// The host's own settings changed on disk.
    Config,
}

/// A phase in which an answer stops nothing. Each is the [`Phase`] of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unstoppable {
    /// A tool has run.
    After,
    /// A session begins.
    Start,
    /// The user has said something.
    Prompt,
    /// A session ends.
    End,
    /// Something failed in the host.
    Error,
    /// Anything else.
    Other,
}

impl Phase {
    /// Whether an answer can still stop something.
    pub fn stops(self) -> bool {
        self.stoppable().is_ok()
    }

    /// This phase, sorted by whether an answer can still stop something.
    pub fn stoppable(self) -> Result<Stoppable, Unstoppable> {
        match self {
            Phase::Before => Ok(Stoppable::Before),
            Phase::Permission => Ok(Stoppable::Permission),
            Phase::Config => Ok(Stoppable::Config),
            Phase::After => Err(Unstoppable::After),
            Phase::Start => Err(Unstoppable::Start),
            Phase::Prompt => Err(Unstoppable::Prompt),
            Phase::End => Err(Unstoppable::End),
            Phase::Error => Err(Unstoppable::Error),
            Phase::Other => Err(Unstoppable::Other),
        }
    }
}

/// What a tool is asked to do, as far as its name and parameters say.
#[derive(Debug, Clone)]
pub enum Action<'a> {
    /// The event is not about a tool.
    Nothing,
    /// Uses files, each named by a parameter.
    Files(Vec<FileUse<'a>>),
    /// Runs a shell command.
    Shell {
        /// Its text; `None` where the parameter is missing or no string.
        command: Option<Cow<'a, str>>,
        /// The directory that it starts in, where the call names one.
        directory: Option<Cow<'a, str>>,
    },
    /// Runs one program with its words already apart, without a shell.
    Run(Vec<String>),
    /// Fetches an address.
    Fetch,
    /// Bookkeeping inside the host (a task list): nothing outside it changes.
    Internal,
    /// Asks the user something.
    Question,
    /// A tool that its host's page does not list.
    Unlisted {
        /// Offered by an MCP server that the user has added.
        mcp: bool,
    },
    /// The host's settings in this file changed.
    Configure(Option<Cow<'a, str>>),
}

/// One file that a tool uses.
#[derive(Debug, Clone)]
pub struct FileUse<'a> {
    /// What is done with it.
    pub access: Access,
    /// The parameter that names it.
    pub param: Cow<'a, str>,
    /// Its name as given.
    pub path: PathArg<'a>,
}

/// What is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// It becomes the working directory.
    Enter,
    /// Names in it, or facts about it, are looked at.
    List,
    /// Its content is read.
    Read,
    /// Names or contents below it are searched.
    Search,
    /// A link is made that leads there.
    Link,
    /// Something is added at its end; it is made where it is not there.
    Append,
    /// It is made or changed.
    Write,
    /// It is taken away.
    Delete,
}

impl Access {
    /// Whether something is made, changed or taken away.
    pub fn changes(self) -> bool {
        matches!(self, Access::Append | Access::Write | Access::Delete)
    }

    /// Whether something comes to stand there.
    pub fn fills(self) -> bool {
        matches!(self, Access::Append | Access::Write)
    }

    /// As a verb, for messages.
    pub fn verb(self) -> &'static str {
        match self {
            Access::Enter => "changes into",
            Access::List => "lists",
            Access::Read => "reads",
            Access::Search => "searches",
            Access::Link => "links to",
            Access::Append => "adds to",
            Access::Write => "writes",
            Access::Delete => "deletes",
        }
    }
}

/// A path parameter as it came.
#[derive(Debug, Clone, PartialEq)]
pub enum PathArg<'a> {
    /// A string.
    Text(Cow<'a, str>),
    /// A glob; what stands before its first special character says where it leads.
    Pattern(Cow<'a, str>),
    /// Left out where it may be: the tool takes the working directory.
    Cwd,
    /// Left out where it must not be.
    Missing,
    /// Not a string; says what it was.
    NotText(&'static str),
}

impl<'a> PathArg<'a> {
    /// The path parameter of this name in a tool's input.
    pub fn of(input: &Json<'a>, param: &str) -> PathArg<'a> {
        match input.get(param) {
            Some(Json::Text(text)) => PathArg::Text(text.clone()),
            Some(Json::Null) | None => PathArg::Missing,
            Some(other) => PathArg::NotText(other.kind()),
        }
    }

    /// Its text; empty where it has none.
    pub fn text(&self) -> &str {
        match self {
            PathArg::Text(text) | PathArg::Pattern(text) => text,
            PathArg::Cwd | PathArg::Missing | PathArg::NotText(_) => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_named_by_its_kind_or_the_head_of_its_id() {
        let words = |id: Option<&'static str>, kind: Option<&'static str>| {
            let agent = Agent { id: id.map(Into::into), kind: kind.map(Into::into) };
            agent.words().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(words(Some("a-1"), Some("Explore")), ["Explore", "a-1"]);
        assert_eq!(
            words(Some("code-reviewer-call_7"), None),
            ["code-reviewer-call_7", "code-reviewer", "code"]
        );
        assert!(words(None, None).is_empty());
    }
}
