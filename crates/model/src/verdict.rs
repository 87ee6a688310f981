//! How a call is decided: every policy is asked, the strictest finding wins.
//!
//! INVARIANT: only [`Ruleset::decide`] makes a [`Verdict`], so holding one proves that every policy of
//! every layer was asked.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Facts;

/// From the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// No objection.
    Allow,
    /// A person has to say.
    Ask,
    /// Must not run.
    Deny,
}

impl Decision {
    /// The word for it in output.
    pub fn word(self) -> &'static str {
        match self {
            Decision::Allow => "allow",
            Decision::Ask => "ask",
            Decision::Deny => "deny",
        }
    }
}

/// What sort of objection a finding is: for counts, for profiles that word their messages themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// `..` or an absolute path where the settings forbid it.
    Traversal,
    /// Outside of what may be read or written.
    Outside,
    /// In the main checkout.
    MainCheckout,
    /// In another agent's place.
    OtherAgent,
    /// Changes into another agent's worktree.
    OtherAgentEntered,
    /// Not a path that could be judged.
    InvalidPath,
    /// A secret.
    Secret,
    /// toolgate's own files or registration, or the orchestrator's.
    Tampering,
    /// git's own files.
    GitInternals,
    /// A tool that is not on the list.
    Tool,
    /// An agent whose role may only read.
    Role,
    /// A rule that the user wrote.
    Rule,
    /// A directory read as a file.
    Directory,
    /// A command that destroys, publishes or gives away.
    Destructive,
    /// A change of the working directory.
    DirectoryChange,
    /// A word that bash expands where a plain one is asked for.
    Expansion,
    /// Effects that could not be named.
    Unproved,
    /// No verdict could be reached.
    Failure,
    /// The gate has stepped back, as its profile says; the floor still holds.
    Inactive,
    /// A coordinator that does the work itself.
    Coordinator,
    /// A file that is another's to write.
    NotOwner,
    /// A file that is another's to read.
    NotReader,
    /// An artifact whose author was rejected.
    LockedOut,
    /// A file that may only grow.
    AppendOnly,
    /// A log that may only be made, not changed.
    Log,
    /// An agent's own charter.
    Charter,
    /// The team's decisions.
    Decisions,
    /// A name that stays reserved.
    Registry,
    /// A team that its user has not agreed to.
    TeamPhase,
    /// A question too many.
    Question,
    /// Too much in a short time.
    Limit,
    /// A file that was not declared to be read.
    UndeclaredRead,
    /// A file that was not declared to be written.
    UndeclaredWrite,
    /// Another machine, where no network was declared.
    UndeclaredConnection,
}

impl FindingKind {
    /// The word for it in records and settings.
    pub fn word(self) -> &'static str {
        match self {
            FindingKind::Traversal => "traversal",
            FindingKind::Outside => "outside",
            FindingKind::MainCheckout => "main-checkout",
            FindingKind::OtherAgent => "other-agent",
            FindingKind::OtherAgentEntered => "other-agent-entered",
            FindingKind::InvalidPath => "invalid-path",
            FindingKind::Secret => "secret",
            FindingKind::Tampering => "tampering",
            FindingKind::GitInternals => "git-internals",
            FindingKind::Tool => "tool",
            FindingKind::Role => "role",
            FindingKind::Rule => "rule",
            FindingKind::Directory => "directory",
            FindingKind::Destructive => "destructive",
            FindingKind::DirectoryChange => "directory-change",
            FindingKind::Expansion => "expansion",
            FindingKind::Unproved => "unproved",
            FindingKind::Failure => "failure",
            FindingKind::Inactive => "inactive",
            FindingKind::Coordinator => "coordinator",
            FindingKind::NotOwner => "not-owner",
            FindingKind::NotReader => "not-reader",
            FindingKind::LockedOut => "locked-out",
            FindingKind::AppendOnly => "append-only",
            FindingKind::Log => "log",
            FindingKind::Charter => "charter",
            FindingKind::Decisions => "decisions",
            FindingKind::Registry => "registry",
            FindingKind::TeamPhase => "team-phase",
            FindingKind::Question => "question",
            FindingKind::Limit => "limit",
            FindingKind::UndeclaredRead => "undeclared-read",
            FindingKind::UndeclaredWrite => "undeclared-write",
            FindingKind::UndeclaredConnection => "undeclared-connection",
        }
    }
}

/// One objection of one policy: what, why not, and a form that passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The policy's id.
    pub policy: &'static str,
    /// What it asks for.
    pub decision: Decision,
    /// What sort of objection it is.
    pub kind: FindingKind,
    /// The parameter that it is about; empty where it is about the whole call.
    pub param: String,
    /// The path that it is about, as the person would name it; empty where it is about none.
    pub path: String,
    /// What would happen and why not.
    pub reason: String,
    /// What to do instead.
    pub instead: String,
    /// A list or a count, for profiles that word their messages themselves.
    pub detail: String,
    /// What a question is answered with in the user's stead, where the host can do that.
    pub answer: Option<String>,
    /// Whether the user is told of it at once, and not only once it has happened again and again.
    pub urgent: bool,
    /// The whole message, where a profile words it itself.
    pub wording: Option<String>,
}

/// More objections than this are not collected.
const MAX_FINDINGS: usize = 64;

/// A message that an agent reads is at most this long, in characters.
pub const MAX_MESSAGE: usize = 400;

impl Finding {
    /// An objection of this policy, about the whole call until [`Finding::at`] says otherwise.
    pub fn new(policy: &'static str, decision: Decision, kind: FindingKind) -> Finding {
        let nothing = String::new;
        Finding {
            policy,
            decision,
            kind,
            param: nothing(),
            path: nothing(),
            reason: nothing(),
            instead: nothing(),
            detail: nothing(),
            answer: None,
            urgent: false,
            wording: None,
        }
    }

    /// The parameter and the path that it is about.
    #[must_use]
    pub fn at(self, param: &str, path: impl Into<String>) -> Finding {
        Finding { param: param.to_owned(), path: path.into(), ..self }
    }

    /// What would happen and why not.
    #[must_use]
    pub fn because(self, reason: impl Into<String>) -> Finding {
        Finding { reason: reason.into(), ..self }
    }

    /// What to do instead.
    #[must_use]
    pub fn instead(self, instead: impl Into<String>) -> Finding {
        Finding { instead: instead.into(), ..self }
    }

    /// A list or a count, for profiles that word their messages themselves.
    #[must_use]
    pub fn detail(self, detail: impl Into<String>) -> Finding {
        Finding { detail: detail.into(), ..self }
    }

    /// What a question is answered with in the user's stead.
    #[must_use]
    pub fn answering(self, answer: impl Into<String>) -> Finding {
        Finding { answer: Some(answer.into()), ..self }
    }

    /// The user is told of it at once.
    #[must_use]
    pub fn urgent(self) -> Finding {
        Finding { urgent: true, ..self }
    }

    /// The text that the agent gets.
    pub fn message(&self) -> String {
        if let Some(wording) = &self.wording {
            return shorten(wording, MAX_MESSAGE);
        }
        let mut tail = String::new();
        if !self.instead.is_empty() {
            let _ = write!(tail, "; {}", self.instead);
        }
        let _ = write!(tail, " [{}]", self.policy);
        let room = MAX_MESSAGE.saturating_sub(tail.chars().count());
        format!("{}{tail}", shorten(&self.reason, room))
    }
}

/// The text, its middle left out where it is longer than `limit` characters.
pub fn shorten(text: &str, limit: usize) -> String {
    let count = text.chars().count();
    if count <= limit {
        return text.to_owned();
    }
    let keep = limit.saturating_sub(1);
    let head = keep / 2;
    let tail = keep - head;
    text.chars().take(head).chain(['…']).chain(text.chars().skip(count - tail)).collect()
}

/// A rule of the gate: a pure function from facts to findings.
///
/// It has no host, no disk and no clock within reach. If one seems to be needed, a fact is missing.
pub trait Policy {
    /// Adds what this policy has to object.
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>);
}

/// A profile that words its messages itself.
pub trait Wording {
    /// The whole message for this finding, or `None` for our own words.
    fn word(&self, finding: &Finding, facts: &Facts<'_>) -> Option<String>;
}

/// All policies of one layer of settings, and what is known of the call under that layer's rules.
pub struct Ruleset<'p> {
    /// The policies, each asked for every call.
    pub policies: Vec<&'p dyn Policy>,
    /// Whether a person can be asked; where not, asking is denying.
    pub can_ask: bool,
    /// Whether an allowed call is granted, so that the host asks nobody either.
    pub grants: bool,
    /// The layer's own words.
    pub wording: &'p dyn Wording,
    /// What is known of the call.
    pub facts: &'p Facts<'p>,
}

impl Ruleset<'_> {
    /// Asks every policy of every layer. A layer can add objections and never take one away, so a layer
    /// below can only tighten what stands above it.
    pub fn decide(layers: &[Ruleset<'_>]) -> Verdict {
        let mut findings = Vec::new();
        for layer in layers {
            let mut own = Vec::new();
            for policy in &layer.policies {
                policy.judge(layer.facts, &mut own);
                // A call with this many objections has its answer.
                if own.len() > MAX_FINDINGS {
                    break;
                }
            }
            for mut finding in own {
                if finding.decision == Decision::Ask && !layer.can_ask {
                    finding.decision = Decision::Deny;
                }
                finding.wording = layer.wording.word(&finding, layer.facts);
                if !findings.contains(&finding) {
                    findings.push(finding);
                }
            }
        }
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.decision));
        // INVARIANT: no layer at all is no rule at all, which must not read as permission.
        let decision = match findings.first() {
            Some(strictest) => strictest.decision,
            None if layers.iter().all(|layer| layer.policies.is_empty()) => Decision::Deny,
            None => Decision::Allow,
        };
        // Having no objection to what is not understood is one thing, vouching for it another.
        let vouches = |layer: &Ruleset<'_>| layer.grants && layer.facts.unknown.is_empty();
        let granted = decision == Decision::Allow && layers.iter().all(vouches);
        Verdict { decision, granted, findings, ..Verdict::none() }
    }
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Verdict {
    decision: Decision,
    granted: bool,
    findings: Vec<Finding>,
    rewrites: Vec<(String, String)>,
    redaction: Option<Redaction>,
    notice: Option<String>,
    context: Option<String>,
    said: Option<String>,
}

/// What is shown to the model instead of what a tool gave back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redaction {
    /// JSON of the very same shape, its secrets replaced by marks.
    pub output: String,
    /// How many.
    pub count: usize,
}

impl Redaction {
    /// What the model is told beside it.
    pub fn note(&self) -> String {
        format!("\u{26a0}\u{fe0f} {} sensitive value(s) redacted from tool output.", self.count)
    }
}

impl Verdict {
    /// No objection: of an event that stops nothing.
    pub fn none() -> Verdict {
        Verdict {
            decision: Decision::Allow,
            granted: false,
            findings: Vec::new(),
            rewrites: Vec::new(),
            redaction: None,
            notice: None,
            context: None,
            said: None,
        }
    }
    /// The same verdict, the agent being told one thing more with the reason.
    pub fn pressing(mut self, more: &str) -> Verdict {
        if let Some(first) = self.findings.first_mut() {
            match &mut first.wording {
                Some(wording) => *wording = format!("{wording} {more}"),
                None if first.instead.is_empty() => more.clone_into(&mut first.instead),
                None => first.instead = format!("{}. {more}", first.instead),
            }
        }
        self
    }
    /// What the user is told, and the model is not.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }
    /// The same verdict with something that the user is told.
    pub fn noticing(mut self, notice: Option<String>) -> Verdict {
        self.notice = notice;
        self
    }
    /// What the model is told besides: at the start of a session who it is, later what it had better do.
    pub fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }
    /// The same verdict with something that the model is told besides.
    pub fn telling(mut self, context: Option<String>) -> Verdict {
        self.context = context;
        self
    }
    /// What a question is answered with in the user's stead: only where that is all that is objected to it.
    pub fn answer(&self) -> Option<&str> {
        let denied = self.findings.iter().filter(|finding| finding.decision == Decision::Deny);
        denied.map(|finding| finding.answer.as_deref()).reduce(Option::and).flatten()
    }
    /// What the user is taken to have said, where that is more than the words themselves.
    pub fn said(&self) -> Option<&str> {
        self.said.as_deref()
    }
    /// The same verdict with the user's words as they are passed on.
    pub fn saying(mut self, said: Option<String>) -> Verdict {
        self.said = said;
        self
    }
    /// What is shown to the model instead of the tool's output; `None` where that stays as it is.
    pub fn redaction(&self) -> Option<&Redaction> {
        self.redaction.as_ref()
    }
    /// The same verdict with another output.
    pub fn redacting(mut self, redaction: Option<Redaction>) -> Verdict {
        self.redaction = redaction;
        self
    }
    /// The strictest of all findings.
    pub fn decision(&self) -> Decision {
        self.decision
    }
    /// Whether the gate vouches for the call, so that the host need not ask either.
    pub fn granted(&self) -> bool {
        self.granted
    }
    /// All objections, the strictest first.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
    /// The text for the agent: the strictest finding's. `None` where nothing is objected.
    pub fn message(&self) -> Option<String> {
        self.findings.first().filter(|_| self.decision != Decision::Allow).map(Finding::message)
    }
    /// Why, in one line, for people: of an allowed call too.
    pub fn explanation(&self) -> String {
        match self.findings.first() {
            Some(finding) => finding.message(),
            None => "no policy objects; allowed by default".to_owned(),
        }
    }
    /// The same verdict without the paths that hold a secret: not in a message, not in the record.
    pub fn concealing(mut self, holds_secret: impl Fn(&str) -> bool) -> Verdict {
        for finding in self.findings.iter_mut().filter(|finding| holds_secret(&finding.path)) {
            "(a path that holds a secret)".clone_into(&mut finding.path);
            finding.reason = format!("`{}` is a path that holds a secret, and is not allowed", finding.param);
            finding.wording = None;
        }
        self
    }
    /// The parameters to be changed before the call runs, each with its new text.
    pub fn rewrites(&self) -> &[(String, String)] {
        &self.rewrites
    }
    /// The same verdict with parameters changed. Only an allowed call is changed; it gets no looser by it.
    pub fn rewriting(mut self, rewrites: Vec<(String, String)>) -> Verdict {
        if self.decision == Decision::Allow {
            self.rewrites = rewrites;
        }
        self
    }
}
