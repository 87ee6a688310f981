//! What toolgate knows about a call after it has looked at the disk. Policies see this and nothing else.

use std::borrow::Cow;

use crate::{Access, Agent, Origin, Phase, Places, Reach, Resolved, Run, Team, Trouble, Unknown};

/// Everything that a policy may know.
#[derive(Debug)]
pub struct Facts<'a> {
    /// The tool's name; empty where the event is not about a tool.
    pub tool: &'a str,
    /// Who is calling, in the host's own words.
    pub agent: &'a Agent<'a>,
    /// Who is calling, as people know it, and what the team and the session have come to.
    pub team: &'a Team,
    /// Where in the call's life it is judged. What it would change has changed once it has run.
    pub phase: Phase,
    /// Whether the call asks the user something.
    pub asks_user: bool,
    /// The text of a shell command, for lists that go by its first words. What the command does is an effect.
    pub command: Option<&'a str>,
    /// The places that the session knows.
    pub places: &'a Places,
    /// What decides whether the gate is active, for hosts and profiles that can switch it off.
    pub activation: ActivationState,
    /// The files that the call would use.
    pub uses: Vec<Use<'a>>,
    /// Programs that it would start.
    pub runs: Vec<Run>,
    /// Whether it would talk to another machine.
    pub connects: bool,
    /// What could not be named.
    pub unknown: Vec<Unknown<'a>>,
    /// Changes of the working directory in a shell command, as they are written.
    pub changes: Vec<DirectoryChange>,
    /// What a shell command changes by a word that bash expands first.
    pub expanded: Vec<ExpandedTarget>,
    /// What the host's changed settings would do to us.
    pub config: Option<ConfigChange>,
    /// Whether secrets are taken out of what the call prints before the model sees it, also where the call fails.
    pub redacts: bool,
}

/// One file that the call would use, looked up.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug)]
pub struct Use<'a> {
    /// What is done with it.
    pub access: Access,
    /// How far from there.
    pub reach: Reach,
    /// The parameter that names it.
    pub param: Cow<'a, str>,
    /// Its name as given; empty where there was none.
    pub text: Cow<'a, str>,
    /// Where it leads, or why that cannot be said.
    pub place: Result<Resolved, Trouble>,
    /// One of our own files is the same file under another name.
    pub alias_of_own: bool,
    /// It lies in a temporary directory that everybody shares, in something that was there before the session.
    pub foreign: bool,
    /// Taken for a path by its looks alone, or for the place that a program uses by default.
    pub guess: bool,
    /// The directory that it would lie in is not there, or it is to be deleted and is not there itself: nothing can be read,
    /// changed or deleted by this name.
    pub nowhere: bool,
    /// It is a lock of git's in the part of the repository that is this session's own, and it is taken away: what git itself
    /// tells people to do with one that a process left behind.
    pub own_lock: bool,
    /// The private things in what would be written there, or in what is read there. Looked for only where the settings
    /// ask for it: empty says nothing anywhere else.
    pub private: Vec<Private>,
    /// Its name leaves open whether it holds a secret, and what stands in it says that it does.
    pub holds_secret: bool,
    /// What the call makes of the file. Looked for only where the settings ask for it.
    pub change: Option<Change>,
    /// What in a shell command leads to it.
    pub origin: Option<Origin>,
}

/// What a call makes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What stands in it now; `None` where it is not there.
    pub before: Option<String>,
    /// What would stand in it then.
    pub after: After,
}

/// What would stand in a file after a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// This.
    Text(String),
    /// What is there now and more.
    More,
    /// What is there now with each first text replaced by the second. That the first stands there is not known.
    Replaced(Vec<(String, String)>),
    /// Nobody can say.
    Unknown,
}

impl Use<'_> {
    /// Whether something is made, changed or taken away.
    pub fn writes(&self) -> bool {
        self.access.changes()
    }

    /// Whether a shell command would come to nothing here by itself, in a sandbox too: there is nothing to read, to delete or to
    /// write into. Whoever deletes a whole tree means one that is there, and `rm -rf` would not say that it is not.
    pub fn fails_by_itself(&self) -> bool {
        let tree = self.access == Access::Delete && self.reach == Reach::Below;
        self.nowhere && self.origin.is_some() && !tree
    }

    /// Whether one thing is to be deleted that is not there.
    pub fn deletes_nothing(&self) -> bool {
        self.nowhere && self.access == Access::Delete && self.reach == Reach::Exact
    }

    /// Whether a shell command is only thought to come here. In a sandbox the kernel knows.
    pub fn is_guessed(&self) -> bool {
        self.guess && self.origin.is_some()
    }

    /// Whether a sandbox holds it: there the command fails by itself, or does the rest without what it would only have met on
    /// its way.
    pub fn is_held(&self) -> bool {
        self.fails_by_itself() || self.reach == Reach::Met
    }
}

/// Something private in a text: what it is, never the thing itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Private {
    /// What it is, for people: `a GitHub token`.
    pub about: Cow<'static, str>,
    /// The name in its mark: `GITHUB_TOKEN`.
    pub mark: &'static str,
    /// Whether it is an email address, and no secret.
    pub email: bool,
}

/// One `cd`, `pushd` or `popd`, as it is written. Where it leads is a [`Use`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four independent facts about one word")]
pub struct DirectoryChange {
    /// The target's word; empty for a bare `cd`.
    pub text: String,
    /// Leads home: bare, or a lone tilde.
    pub home: bool,
    /// Leads back: `cd -`, `popd`.
    pub previous: bool,
    /// The word has an expansion that bash makes: a variable, a substitution, a tilde with more behind it.
    pub dynamic: bool,
    /// The word is a glob or has braces.
    pub glob: bool,
    /// Where it stands.
    pub origin: Option<Origin>,
}

/// A file that a shell command makes, changes, takes away or links to, named by a word that bash expands first: with a
/// variable, a substitution, a tilde, a glob or braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpandedTarget {
    /// What is done there.
    pub access: Access,
    /// The word as it is written.
    pub text: String,
    /// Where it stands.
    pub origin: Option<Origin>,
}

/// What decides whether the gate is active. An inactive gate is recorded and reported, never passed over in silence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActivationState {
    /// The host's word on whether its user trusts the project.
    pub trusted: Option<bool>,
    /// The host's mode (`tui`, `rpc`, `json`, `print`).
    pub mode: Option<String>,
    /// A person has switched the gate off for a while.
    pub paused: bool,
}

/// What a change of the host's settings would do to our hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigChange {
    /// Nothing.
    Harmless,
    /// Switches all hooks off.
    HooksOff,
    /// Takes our registration out.
    RegistrationGone,
    /// The file cannot be read as the host would read it, so that our registration in it is void.
    Unreadable,
}
