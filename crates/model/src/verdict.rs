//! How a call is decided: every policy is asked, the strictest finding wins.
//!
//! INVARIANT: only [`Ruleset::decide`] makes a [`Verdict`], and nothing changes one afterwards. So holding one proves
//! that every policy of every layer was asked, and that this is the result. Everything else is in
//! [`crate::Terms`].

use std::borrow::Cow;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::terms::DENIED;
use crate::{Approval, ApprovalSettings, Facts, PersonsWord, Require, Unproved, shorten, work};

/// From the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// No objection.
    Allow,
    /// No objection, if it runs in a sandbox: what it does is not known beforehand.
    Contain,
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
            Decision::Contain => "contain",
            Decision::Ask => "ask",
            Decision::Deny => "deny",
        }
    }

    /// Whether the call may run without anybody being asked by us, be it in a sandbox.
    pub fn may_run(self) -> bool {
        match self {
            Decision::Allow | Decision::Contain => true,
            Decision::Ask | Decision::Deny => false,
        }
    }

    /// Whether the call may run in a sandbox and nowhere else.
    pub fn contains(self) -> bool {
        match self {
            Decision::Contain => true,
            Decision::Allow | Decision::Ask | Decision::Deny => false,
        }
    }

    /// Whether something is objected to the call: a person has to say, or nobody can.
    pub fn objects(self) -> bool {
        !self.may_run()
    }

    /// Whether the call must not run, whatever a person says.
    pub fn denies(self) -> bool {
        match self {
            Decision::Deny => true,
            Decision::Allow | Decision::Contain | Decision::Ask => false,
        }
    }

    /// The same for what a sandbox will judge when it runs.
    #[must_use]
    fn in_sandbox(self) -> Decision {
        match self {
            Decision::Ask => Decision::Contain,
            Decision::Allow | Decision::Contain | Decision::Deny => self,
        }
    }

    /// The same where nobody can be asked.
    #[must_use]
    pub fn without_asking(self) -> Decision {
        match self {
            Decision::Ask => Decision::Deny,
            Decision::Allow | Decision::Contain | Decision::Deny => self,
        }
    }
}

/// What sort of objection a finding is: for counts, for profiles that word their messages themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// `..` or an absolute path where the settings forbid it.
    Traversal,
    /// Outside of what may be read or written. Records and settings of earlier versions say `outside`.
    #[serde(rename = "outside-scope", alias = "outside")]
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
            FindingKind::Outside => "outside-scope",
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
#[expect(clippy::struct_excessive_bools, reason = "each says something else, and policies set them apart")]
pub struct Finding {
    /// The policy's id.
    pub policy: &'static str,
    /// The id of the rule behind it; empty where the policy is the rule.
    pub rule: Cow<'static, str>,
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
    /// Whether it objects only to what is known no earlier than when it runs. Then the kernel can judge it: in a sandbox it
    /// is no objection any more.
    pub containable: bool,
    /// Whether there is nothing to object to in a sandbox: what it is about is not there, and cannot be made from inside. A denial
    /// is none any more then, and the command fails as it would by itself.
    pub held: bool,
    /// Whether no person's approval lets it pass: a denial of the floor, or of what could not be judged. Only the decision sets it.
    pub is_final: bool,
    /// What it would ask for, where its layer only observes. Only the decision sets it.
    pub would: Option<Decision>,
}

/// More objections of one layer than this are not reported.
const MAX_FINDINGS: usize = 64;

/// What is said where a settings file would open something and has no say in it.
const OVERRULED: &str =
    "a settings file would open it, but has no effect: have a person look at `toolgate config show`";

/// A message that an agent reads is at most this long, in characters.
pub const MAX_MESSAGE: usize = 400;

impl Finding {
    /// An objection of this policy, about the whole call until [`Finding::at`] says otherwise.
    pub fn new(policy: &'static str, decision: Decision, kind: FindingKind) -> Finding {
        let nothing = String::new;
        Finding {
            policy,
            rule: Cow::Borrowed(""),
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
            containable: false,
            held: false,
            is_final: false,
            would: None,
        }
    }

    /// Whether it objects to the same thing at least as strictly.
    fn covers(&self, other: &Finding) -> bool {
        let is_same = (self.policy, self.kind, &self.rule, &self.param, &self.path)
            == (other.policy, other.kind, &other.rule, &other.param, &other.path);
        is_same && self.decision >= other.decision
    }

    /// It objects only to what is known no earlier than when it runs.
    #[must_use]
    pub fn containable(self) -> Finding {
        Finding { containable: true, ..self }
    }

    /// A sandbox holds what it is about, if `held`.
    #[must_use]
    pub fn held(self, held: bool) -> Finding {
        Finding { held, ..self }
    }

    /// The rule behind it.
    #[must_use]
    pub fn rule(self, id: impl Into<Cow<'static, str>>) -> Finding {
        Finding { rule: id.into(), ..self }
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

    /// Takes out what would show a path that holds a secret: not in a message, not in the log.
    fn conceal(&mut self) {
        "(a path that holds a secret)".clone_into(&mut self.path);
        self.reason = format!("`{}` is a path that holds a secret, and is not allowed", self.param);
        self.wording = None;
    }

    /// The text that the agent gets, in two lines: what would happen and why not; what to do instead.
    pub fn message(&self) -> String {
        self.message_urging(None)
    }

    /// The text that the agent gets, and what it is urged to do besides: at the end of the second line.
    pub fn message_urging(&self, urge: Option<&str>) -> String {
        self.told(("\nInstead: ", "\n"), urge)
    }

    /// The same text in one line, for logs and lists.
    pub fn line(&self) -> String {
        self.told(("; ", "; "), None)
    }

    /// `between`: what stands before a form that passes, and before an urge where there is no such form.
    fn told(&self, between: (&str, &str), urge: Option<&str>) -> String {
        if let Some(wording) = &self.wording {
            return match urge {
                Some(urge) => shorten(&format!("{wording} {urge}"), MAX_MESSAGE),
                None => shorten(wording, MAX_MESSAGE),
            };
        }
        let mut tail = match (self.instead.as_str(), urge) {
            ("", None) => String::new(),
            ("", Some(urge)) => format!("{}{urge}", between.1),
            (instead, None) => format!("{}{instead}", between.0),
            // What goes on with the sentence.
            (instead, Some(urge)) if urge.starts_with(", ") => format!("{}{instead}{urge}", between.0),
            (instead, Some(urge)) => format!("{}{instead}. {urge}", between.0),
        };
        let _ = match &*self.rule {
            "" => write!(tail, " [{}]", self.policy),
            rule => write!(tail, " [{}: {rule}]", self.policy),
        };
        // With the words that say who speaks and what was decided.
        let room = MAX_MESSAGE.saturating_sub(tail.chars().count() + DENIED.len());
        format!("{}{tail}", shorten(&self.reason, room))
    }
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
    /// What the layer says about running it in a sandbox.
    pub sandboxing: Sandboxing,
    /// How many of the policies, from the first, are the floor: what these deny, nobody approves.
    pub floor: usize,
    /// What it takes to approve a call under this layer; `None` where nobody can.
    pub approval: Option<&'p ApprovalSettings>,
    /// Whether what this layer objects counts.
    pub mode: Mode,
}

/// Whether a layer's objections to a call count. Only the user's and the administrator's settings decide this.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// They do.
    #[default]
    Enforce,
    /// They are logged, and stop nothing. The floor still holds.
    Observe,
    /// They are logged, and stop nothing. The floor does not hold either.
    ObserveAll,
}

impl Mode {
    /// Whether an objection stops nothing. `is_final`: it is the floor's, or about what could not be judged.
    fn lets_pass(self, is_final: bool) -> bool {
        match self {
            Mode::Enforce => false,
            Mode::Observe => !is_final,
            Mode::ObserveAll => true,
        }
    }

    /// Whether calls are judged for the log alone.
    pub fn observes(self) -> bool {
        self.lets_pass(false)
    }
}

/// What a layer of settings says about running a call in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sandboxing {
    /// The call runs as it stands, whatever is known of it.
    Unwanted,
    /// The call runs as it stands, and could run in a sandbox.
    Possible {
        /// Whether a contained call is granted.
        grants: bool,
    },
    /// The call runs in a sandbox.
    Wanted {
        /// Whether such a call is granted, so that the host asks nobody either.
        grants: bool,
    },
    /// The call should run in a sandbox, and cannot: what is objected to it then.
    Impossible(Box<Finding>),
}

impl Ruleset<'_> {
    /// Asks every policy of every layer. A layer can add objections and never take one away, so a layer
    /// below can only tighten what stands above it. No finding shows a path for which `holds_secret` is true.
    ///
    /// The policies of all layers have one [budget](work) together. What would take more is denied: nobody knows what those that were not
    /// asked, or not to the end, would have said.
    pub fn decide(layers: &[Ruleset<'_>], holds_secret: impl Fn(&str) -> bool) -> Verdict {
        Ruleset::decide_hearing(layers, None, holds_secret)
    }

    /// The same, where a person has said something about this very call. An approval lets those objections pass that its person was
    /// shown, in every layer, if each is content with its strength. It never lets the floor's denials pass. A rejection denies.
    pub fn decide_hearing(
        layers: &[Ruleset<'_>],
        word: Option<&PersonsWord>,
        holds_secret: impl Fn(&str) -> bool,
    ) -> Verdict {
        work::within(|| Ruleset::decide_within(layers, word, holds_secret))
    }

    fn decide_within(
        layers: &[Ruleset<'_>],
        word: Option<&PersonsWord>,
        holds_secret: impl Fn(&str) -> bool,
    ) -> Verdict {
        let mut findings = Vec::new();
        let mut unproved: Vec<Unproved> = Vec::new();
        let (approval, rejection) = match word {
            Some(PersonsWord::Approved(approval)) => (Some(approval), None),
            Some(PersonsWord::Rejected { by, note }) => (None, Some(rejected(by, note))),
            None => (None, None),
        };
        let mut approved = None;
        for (number, layer) in layers.iter().enumerate() {
            let mut own = Vec::new();
            for (place, policy) in layer.policies.iter().enumerate() {
                let before = own.len();
                if !work::is_spent() {
                    policy.judge(layer.facts, &mut own);
                }
                // INVARIANT: the floor's denials are marked by their place, whatever the policy says of itself.
                for finding in own.iter_mut().skip(before).filter(|_| place < layer.floor) {
                    finding.is_final = finding.decision.denies();
                }
            }
            // INVARIANT: whoever runs out of budget may say anything, as this stands beside it.
            if work::is_spent() {
                own.push(too_much());
            }
            match &layer.sandboxing {
                Sandboxing::Unwanted | Sandboxing::Possible { .. } => {}
                Sandboxing::Wanted { .. } => {
                    // A setting that denies is a person's word, and stays.
                    for finding in own.iter_mut().filter(|finding| finding.containable) {
                        finding.decision = finding.decision.in_sandbox();
                    }
                }
                Sandboxing::Impossible(finding) => own.push(Finding::clone(finding)),
            }
            if !layer.can_ask {
                for finding in &mut own {
                    finding.decision = finding.decision.without_asking();
                }
            }
            // INVARIANT: what is left out is never stricter than what is kept. Many questions must not hide a denial.
            own.sort_by_key(|finding| std::cmp::Reverse(finding.decision));
            own.truncate(MAX_FINDINGS);
            for mut finding in own {
                // The first layer holds all settings. What it lets pass, a file opens that has no say in it.
                if number > 0 && !findings.iter().any(|known: &Finding| known.covers(&finding)) {
                    OVERRULED.clone_into(&mut finding.instead);
                }
                finding.wording = layer.wording.word(&finding, layer.facts);
                if holds_secret(&finding.path) {
                    finding.conceal();
                }
                let require = layer.required_for(&finding);
                let lets_pass = |approval: &&Approval| approval.lets_pass(&finding, require);
                if finding.decision.objects()
                    && let Some(approval) = approval.filter(lets_pass)
                {
                    finding.decision = Decision::Allow;
                    approved = Some(approval.clone());
                }
                // INVARIANT: the same objection of a layer that enforces is another finding, and stays.
                finding.would = layer.mode.lets_pass(finding.is_final).then_some(finding.decision);
                if !findings.contains(&finding) {
                    findings.push(finding);
                }
            }
            findings.extend(layer.add_unproved(&mut unproved));
        }
        // A person who approves a call lets it run as it was shown, without a sandbox.
        let is_approved = approved.is_some() && !findings.iter().any(|finding| finding.decision.objects());
        let is_held = !is_approved && hold(layers, &mut findings);
        if let Some(rejection) = rejection {
            findings.insert(0, rejection);
        }
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.decision));
        let wants_sandbox = |layer: &Ruleset<'_>| matches!(layer.sandboxing, Sandboxing::Wanted { .. });
        let is_contained = is_held || (!is_approved && layers.iter().any(wants_sandbox));
        let unobjected = if is_contained { Decision::Contain } else { Decision::Allow };
        // INVARIANT: no layer at all is no rule at all, which must not read as permission.
        let decision = match findings.first() {
            Some(strictest) => strictest.decision.max(unobjected),
            None if layers.iter().all(|layer| layer.policies.is_empty()) => Decision::Deny,
            None => unobjected,
        };
        // Having no objection to what is not understood is one thing, vouching for it another.
        let vouches = |layer: &Ruleset<'_>| match &layer.sandboxing {
            _ if layer.mode.observes() => false,
            Sandboxing::Wanted { grants } => *grants,
            // What another layer has contained need not be understood.
            Sandboxing::Unwanted if is_contained => true,
            Sandboxing::Possible { grants } if is_contained => *grants,
            Sandboxing::Unwanted | Sandboxing::Possible { .. } => {
                layer.grants && layer.facts.unknown.is_empty()
            }
            Sandboxing::Impossible(_) => false,
        };
        // A person lets it run. That is no vouching for it.
        let granted = !is_approved && decision.may_run() && layers.iter().all(vouches);
        let approval = approved.filter(|_| is_approved);
        let enforces = |layer: &&Ruleset<'_>| !layer.mode.observes();
        let is_contained = !is_approved && layers.iter().filter(enforces).any(wants_sandbox);
        let unobjected = if is_contained { Decision::Contain } else { Decision::Allow };
        let enforced = observe(&mut findings, decision, unobjected, layers);
        let would = (enforced != decision).then_some(decision);
        Verdict { decision: enforced, would, granted, findings, unproved, approval }
    }

    /// Adds what of the call was not proved under this layer. What is objected where that takes too much work.
    fn add_unproved(&self, unproved: &mut Vec<Unproved>) -> Option<Finding> {
        for unknown in &self.facts.unknown {
            let unknown = Unproved::of(unknown);
            // Compared with all that are known already.
            work::pay_for(unproved.len(), COMPARED);
            if work::is_spent() {
                let would = self.mode.lets_pass(true).then_some(Decision::Deny);
                return Some(Finding { would, ..too_much() });
            }
            if !unproved.contains(&unknown) {
                unproved.push(unknown);
            }
        }
        None
    }

    /// What it takes under this layer to let an objection pass.
    fn required_for(&self, finding: &Finding) -> Require {
        self.approval.map_or(Require::Nobody, |approval| approval.required_for(finding.policy, &finding.rule))
    }
}

/// Takes the effect from the objections that are only observed, and says what is left of the decision. `unobjected` is what
/// the layers that enforce want where nothing is objected.
fn observe(
    findings: &mut [Finding],
    decision: Decision,
    unobjected: Decision,
    layers: &[Ruleset<'_>],
) -> Decision {
    let has_policies = layers.iter().any(|layer| !layer.policies.is_empty());
    if !has_policies || !layers.iter().any(|layer| layer.mode.observes()) {
        return decision;
    }
    for finding in findings.iter_mut() {
        // It may have been contained since.
        let asked = finding.decision;
        finding.would = finding.would.map(|_| asked).filter(|would| *would != Decision::Allow);
        if finding.would.is_some() {
            finding.decision = Decision::Allow;
        }
    }
    findings.sort_by_key(|finding| std::cmp::Reverse((finding.decision, finding.would)));
    findings.first().map_or(unobjected, |strictest| strictest.decision.max(unobjected)).min(decision)
}

/// What is objected to a call that a person has rejected.
fn rejected(by: &str, note: &str) -> Finding {
    let why = if note.is_empty() { "without a reason" } else { note };
    let finding = Finding::new("rejected", Decision::Deny, FindingKind::Rule)
        .because(format!("{by} has rejected this very call: {why}"));
    Finding { is_final: true, ..finding }
}

/// What a comparison of two things that were not proved costs, in units of the budget.
const COMPARED: usize = 4;

/// What is said where judging takes more work than can be done in time.
fn too_much() -> Finding {
    let finding = Finding::new("failure", Decision::Deny, FindingKind::Failure)
        .because("judging this takes more work than can be done in time")
        .instead("split it into several calls");
    Finding { is_final: true, ..finding }
}

/// Contains a call to which nothing is objected but what a sandbox holds, and says so. Where something else is objected, all stays: a
/// person who is asked about it would let it run without a sandbox.
fn hold(layers: &[Ruleset<'_>], findings: &mut [Finding]) -> bool {
    let can_be_contained = |layer: &Ruleset<'_>| {
        matches!(layer.sandboxing, Sandboxing::Possible { .. } | Sandboxing::Wanted { .. })
    };
    let is_held = findings.iter().any(|finding| finding.held)
        && findings.iter().all(|finding| finding.held || !finding.decision.objects())
        && layers.iter().all(can_be_contained);
    for finding in findings.iter_mut().filter(|finding| is_held && finding.held) {
        finding.decision = Decision::Contain;
    }
    is_held
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Verdict {
    decision: Decision,
    would: Option<Decision>,
    granted: bool,
    findings: Vec<Finding>,
    unproved: Vec<Unproved>,
    approval: Option<Approval>,
}

impl Verdict {
    /// The strictest of all findings.
    pub fn decision(&self) -> Decision {
        self.decision
    }
    /// What would have been decided, were all that is only observed enforced; `None` where that is the same.
    pub fn would(&self) -> Option<Decision> {
        self.would
    }
    /// Whether the gate vouches for the call, so that the host need not ask either.
    pub fn granted(&self) -> bool {
        self.granted
    }
    /// All objections, the strictest first.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
    /// What of the call was not proved, whatever was decided about it.
    pub fn unproved(&self) -> &[Unproved] {
        &self.unproved
    }
    /// The approval by which it may run; `None` where it needs none, or has none that is enough.
    pub fn approval(&self) -> Option<&Approval> {
        self.approval.as_ref()
    }
    /// Whether a person could let it through: something is objected, and no objection is final.
    pub fn is_approvable(&self) -> bool {
        let objecting = || self.findings.iter().filter(|finding| finding.decision.objects());
        objecting().next().is_some() && !objecting().any(|finding| finding.is_final)
    }
    /// What a question is answered with in the user's stead: only where that is all that is objected to it.
    pub fn answer(&self) -> Option<&str> {
        let denied = self.findings.iter().filter(|finding| finding.decision.denies());
        denied.map(|finding| finding.answer.as_deref()).reduce(Option::and).flatten()
    }
    /// The text for the agent: the strictest finding's. `None` where nothing is objected.
    pub fn message(&self) -> Option<String> {
        self.message_urging(None)
    }
    /// The text for the agent, and what it is urged to do besides.
    pub fn message_urging(&self, urge: Option<&str>) -> Option<String> {
        let objection = self.findings.first().filter(|_| self.decision.objects());
        objection.map(|finding| finding.message_urging(urge))
    }
    /// Why, in one line, for people: of an allowed call too.
    pub fn explanation(&self) -> String {
        match self.findings.first() {
            Some(finding) if finding.would.is_some() => {
                let would = self.would.unwrap_or(self.decision).word();
                format!("only observed, would be {would}: {}", finding.line())
            }
            Some(finding) => finding.line(),
            None if self.would.is_some() => "only observed, would run in a sandbox".to_owned(),
            None if self.decision.contains() => "no policy objects; it runs in a sandbox".to_owned(),
            None => "no policy objects; allowed by default".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ActivationState, Agent, Objection, Phase, Places, Strength, Team};

    #[test]
    fn a_message_of_any_length_ends_with_its_policy_and_rule() {
        let finding = Finding::new("destructive", Decision::Deny, FindingKind::Destructive)
            .because("throws work away")
            .instead("`git stash` keeps it");
        assert_eq!(finding.message(), "throws work away\nInstead: `git stash` keeps it [destructive]");
        assert_eq!(finding.line(), "throws work away; `git stash` keeps it [destructive]");
        let ruled = finding.rule("git-clean");
        assert_eq!(ruled.line(), "throws work away; `git stash` keeps it [destructive: git-clean]");
        let alone = ruled.clone().instead("");
        assert_eq!(alone.message(), "throws work away [destructive: git-clean]");
        assert_eq!(alone.message_urging(Some("Stop")), "throws work away\nStop [destructive: git-clean]");
        let urged = ruled.message_urging(Some("Ask the user"));
        assert!(urged.ends_with("keeps it. Ask the user [destructive: git-clean]"), "{urged}");
        let goes_on = ruled.message_urging(Some(", or ask the user"));
        assert!(goes_on.ends_with("keeps it, or ask the user [destructive: git-clean]"), "{goes_on}");
        let long = ruled.clone().because("x".repeat(1000)).message();
        assert_eq!(long.chars().count(), MAX_MESSAGE - DENIED.len());
        assert!(long.ends_with(" [destructive: git-clean]"), "{long}");
        let worded = Finding { wording: Some("no".into()), ..ruled };
        assert_eq!(worded.message(), "no", "a profile's own words stay as they are");
    }

    struct Asks(usize);

    impl Policy for Asks {
        fn judge(&self, _: &Facts<'_>, findings: &mut Vec<Finding>) {
            for number in 0..self.0 {
                let finding = Finding::new("asks", Decision::Ask, FindingKind::Rule);
                findings.push(finding.at("path", number.to_string()));
            }
        }
    }

    struct Denies;

    impl Policy for Denies {
        fn judge(&self, _: &Facts<'_>, findings: &mut Vec<Finding>) {
            findings.push(Finding::new("denies", Decision::Deny, FindingKind::Rule));
        }
    }

    impl Wording for Denies {
        fn word(&self, _: &Finding, _: &Facts<'_>) -> Option<String> {
            None
        }
    }

    fn facts<'a>(places: &'a Places, team: &'a Team, agent: &'a Agent) -> Facts<'a> {
        Facts {
            tool: "",
            agent,
            team,
            phase: Phase::Before,
            asks_user: false,
            command: None,
            places,
            activation: ActivationState::default(),
            uses: Vec::new(),
            runs: Vec::new(),
            connects: false,
            unknown: Vec::new(),
            changes: Vec::new(),
            expanded: Vec::new(),
            config: None,
            redacts: false,
        }
    }

    #[test]
    fn many_questions_do_not_hide_a_denial() {
        let (places, team, agent) = (Places::default(), Team::default(), Agent { id: None, kind: None });
        let facts = facts(&places, &team, &agent);
        for asks in [1, MAX_FINDINGS, MAX_FINDINGS + 1, 1000] {
            let many = Asks(asks);
            let layer = Ruleset {
                policies: vec![&many, &Denies],
                can_ask: true,
                grants: false,
                wording: &Denies,
                facts: &facts,
                sandboxing: Sandboxing::Unwanted,
                floor: 0,
                approval: None,
                mode: Mode::Enforce,
            };
            let verdict = Ruleset::decide(&[layer], |_| false);
            assert_eq!(verdict.decision(), Decision::Deny, "{asks}");
            assert_eq!(verdict.findings()[0].policy, "denies");
            assert!(verdict.findings().len() <= MAX_FINDINGS);
        }
    }

    #[test]
    fn neither_the_order_of_policies_nor_that_of_layers_matters() {
        let (places, team, agent) = (Places::default(), Team::default(), Agent { id: None, kind: None });
        let facts = facts(&places, &team, &agent);
        let (none, asks) = (Asks(0), Asks(2));
        let layer = |policies: &[&'static str]| {
            let policy = |name: &&str| -> &dyn Policy {
                match *name {
                    "none" => &none,
                    "asks" => &asks,
                    _ => &Denies,
                }
            };
            let policies = policies.iter().map(policy).collect();
            let sandboxing = Sandboxing::Unwanted;
            Ruleset {
                policies,
                can_ask: true,
                grants: false,
                wording: &Denies,
                facts: &facts,
                sandboxing,
                floor: 0,
                approval: None,
                mode: Mode::Enforce,
            }
        };
        for (one, other, decision) in [
            (["none", "none"], ["none", "none"], Decision::Allow),
            (["none", "asks"], ["none", "none"], Decision::Ask),
            (["none", "denies"], ["asks", "none"], Decision::Deny),
            (["asks", "denies"], ["none", "asks"], Decision::Deny),
        ] {
            let turned = |[first, second]: [&'static str; 2]| [second, first];
            let decide = |layers: [[&'static str; 2]; 2]| {
                let verdict = Ruleset::decide(&layers.map(|policies| layer(&policies)), |_| false);
                let first = verdict.findings().first().map(|finding| (finding.policy, finding.decision));
                (verdict.decision(), first)
            };
            let verdict = decide([one, other]);
            assert_eq!(verdict.0, decision, "{one:?} {other:?}");
            for layers in
                [[other, one], [turned(one), other], [one, turned(other)], [turned(other), turned(one)]]
            {
                assert_eq!(decide(layers), verdict, "{layers:?}");
            }
            assert_eq!(decide([one, other]), verdict, "the same again");
        }
    }

    /// Asks about what is only known when it runs.
    struct AsksWhatRuns;

    impl Policy for AsksWhatRuns {
        fn judge(&self, _: &Facts<'_>, findings: &mut Vec<Finding>) {
            findings.push(Finding::new("asks", Decision::Ask, FindingKind::Unproved).containable());
        }
    }

    #[test]
    fn a_sandbox_takes_the_place_of_a_question_about_what_runs_and_of_no_other() {
        let (places, team, agent) = (Places::default(), Team::default(), Agent { id: None, kind: None });
        let facts = facts(&places, &team, &agent);
        let (none, asks) = (Asks(0), Asks(1));
        let wanted = |grants| Sandboxing::Wanted { grants };
        let impossible = |decision| {
            Sandboxing::Impossible(Box::new(Finding::new("sandbox", decision, FindingKind::Unproved)))
        };
        let decide = |policies: Vec<&dyn Policy>, sandboxing| {
            let layer = Ruleset {
                policies,
                can_ask: true,
                grants: true,
                wording: &Denies,
                facts: &facts,
                sandboxing,
                floor: 0,
                approval: None,
                mode: Mode::Enforce,
            };
            let verdict = Ruleset::decide(&[layer], |_| false);
            (verdict.decision(), verdict.granted())
        };
        for (policies, sandboxing, decision, granted) in [
            (vec![&none as &dyn Policy], Sandboxing::Unwanted, Decision::Allow, true),
            (vec![&none], wanted(false), Decision::Contain, false),
            (vec![&none], wanted(true), Decision::Contain, true),
            (vec![&AsksWhatRuns], Sandboxing::Unwanted, Decision::Ask, false),
            (vec![&AsksWhatRuns], wanted(true), Decision::Contain, true),
            (vec![&AsksWhatRuns, &asks], wanted(true), Decision::Ask, false),
            (vec![&AsksWhatRuns, &Denies], wanted(true), Decision::Deny, false),
            (vec![&none], impossible(Decision::Ask), Decision::Ask, false),
            (vec![&AsksWhatRuns], impossible(Decision::Deny), Decision::Deny, false),
        ] {
            assert_eq!(decide(policies, sandboxing), (decision, granted));
        }
    }

    #[test]
    fn what_is_only_observed_stops_nothing_and_is_told() {
        use Decision::{Allow, Ask, Contain, Deny};
        let (places, team, agent) = (Places::default(), Team::default(), Agent { id: None, kind: None });
        let facts = facts(&places, &team, &agent);
        let (none, asks) = (Asks(0), Asks(1));
        let layer = |policies, floor, sandboxing, mode| Ruleset {
            policies,
            can_ask: true,
            grants: true,
            wording: &Denies,
            facts: &facts,
            sandboxing,
            floor,
            approval: None,
            mode,
        };
        let wanted = || Sandboxing::Wanted { grants: true };
        let decide = |layers: Vec<Ruleset<'_>>| {
            let verdict = Ruleset::decide(&layers, |_| false);
            assert!(!verdict.granted(), "who only observes vouches for nothing");
            (verdict.decision(), verdict.would())
        };
        let (plain, free) = (Sandboxing::Unwanted, || Sandboxing::Unwanted);
        assert_eq!(decide(vec![layer(vec![&none], 0, plain, Mode::Observe)]), (Allow, None));
        for mode in [Mode::Observe, Mode::ObserveAll] {
            assert_eq!(decide(vec![layer(vec![&asks], 0, free(), mode)]), (Allow, Some(Ask)));
            assert_eq!(decide(vec![layer(vec![&asks, &Denies], 0, free(), mode)]), (Allow, Some(Deny)));
            assert_eq!(decide(vec![layer(vec![&none], 0, wanted(), mode)]), (Allow, Some(Contain)));
        }
        // The floor holds, unless it is left out by name.
        let on_floor = |mode| vec![layer(vec![&Denies, &asks], 1, free(), mode)];
        assert_eq!(decide(on_floor(Mode::Observe)), (Deny, None));
        assert_eq!(decide(on_floor(Mode::ObserveAll)), (Allow, Some(Deny)));
        // Another layer that enforces objects as before.
        let both = |policy| {
            vec![
                layer(vec![&asks, &Denies], 0, wanted(), Mode::ObserveAll),
                layer(policy, 0, free(), Mode::Enforce),
            ]
        };
        assert_eq!(decide(both(vec![&Denies])), (Deny, None));
        assert_eq!(decide(both(vec![&asks])), (Ask, Some(Deny)));
        assert_eq!(decide(both(vec![&none])), (Allow, Some(Deny)));
        // No rule at all is no permission here either.
        assert_eq!(decide(vec![layer(vec![], 0, free(), Mode::ObserveAll)]), (Deny, None));
        let verdict = Ruleset::decide(&[layer(vec![&asks, &Denies], 0, free(), Mode::Observe)], |_| false);
        let findings: Vec<_> =
            verdict.findings().iter().map(|finding| (finding.decision, finding.would)).collect();
        assert_eq!(findings, [(Allow, Some(Deny)), (Allow, Some(Ask))]);
        assert_eq!(verdict.message(), None, "the agent is told nothing");
        assert!(verdict.explanation().starts_with("only observed, would be deny: "), "{verdict:?}");
    }

    /// Denies what a sandbox holds.
    struct DeniesWhatIsHeld;

    impl Policy for DeniesWhatIsHeld {
        fn judge(&self, _: &Facts<'_>, findings: &mut Vec<Finding>) {
            findings.push(Finding::new("held", Decision::Deny, FindingKind::Outside).held(true));
        }
    }

    #[test]
    fn what_a_sandbox_holds_is_denied_where_there_is_none_or_where_more_is_objected() {
        let (places, team, agent) = (Places::default(), Team::default(), Agent { id: None, kind: None });
        let facts = facts(&places, &team, &agent);
        let asks = Asks(1);
        let decide = |layers: Vec<(Vec<&dyn Policy>, Sandboxing)>| {
            let layer = |(policies, sandboxing)| Ruleset {
                policies,
                can_ask: true,
                grants: true,
                wording: &Denies,
                facts: &facts,
                sandboxing,
                floor: 0,
                approval: None,
                mode: Mode::Enforce,
            };
            let verdict = Ruleset::decide(&layers.into_iter().map(layer).collect::<Vec<_>>(), |_| false);
            (verdict.decision(), verdict.granted())
        };
        let held = || vec![&DeniesWhatIsHeld as &dyn Policy];
        let possible = |grants| Sandboxing::Possible { grants };
        for (layers, decision, granted) in [
            (vec![(held(), Sandboxing::Unwanted)], Decision::Deny, false),
            (vec![(held(), possible(false))], Decision::Contain, false),
            (vec![(held(), possible(true))], Decision::Contain, true),
            (vec![(held(), Sandboxing::Wanted { grants: true })], Decision::Contain, true),
            (vec![(vec![&DeniesWhatIsHeld, &Denies], possible(true))], Decision::Deny, false),
            (vec![(vec![&DeniesWhatIsHeld, &asks], possible(true))], Decision::Deny, false),
            (vec![(held(), possible(true)), (vec![&asks], possible(true))], Decision::Deny, false),
            (vec![(held(), possible(true)), (vec![&Asks(0)], Sandboxing::Unwanted)], Decision::Deny, false),
            (vec![(vec![&Asks(0)], possible(false))], Decision::Allow, true),
        ] {
            assert_eq!(decide(layers), (decision, granted));
        }
    }

    #[test]
    fn one_layer_that_wants_a_sandbox_has_it_and_the_others_keep_their_objections() {
        let (places, team, agent) = (Places::default(), Team::default(), Agent { id: None, kind: None });
        let facts = facts(&places, &team, &agent);
        let none = Asks(0);
        let layer = |policy: &'static str, sandboxing| {
            let policies: Vec<&dyn Policy> = if policy == "asks" { vec![&AsksWhatRuns] } else { vec![&none] };
            Ruleset {
                policies,
                can_ask: true,
                grants: true,
                wording: &Denies,
                facts: &facts,
                sandboxing,
                floor: 0,
                approval: None,
                mode: Mode::Enforce,
            }
        };
        let wanted = || Sandboxing::Wanted { grants: true };
        let both = [layer("none", Sandboxing::Unwanted), layer("asks", wanted())];
        assert_eq!(Ruleset::decide(&both, |_| false).decision(), Decision::Contain);
        let both = [layer("asks", Sandboxing::Unwanted), layer("none", wanted())];
        assert_eq!(Ruleset::decide(&both, |_| false).decision(), Decision::Ask);
    }

    #[test]
    fn an_approval_lets_pass_what_was_shown_and_nothing_of_the_floor() {
        let (places, team, agent) = (Places::default(), Team::default(), Agent { id: None, kind: None });
        let facts = facts(&places, &team, &agent);
        let asks = Asks(1);
        let settings = |require| ApprovalSettings { require, ..ApprovalSettings::default() };
        let (weak, strong, off) =
            (settings(Require::Terminal), settings(Require::Touch), settings(Require::Nobody));
        let layer = |floor, approval| Ruleset {
            policies: vec![&Denies, &asks],
            can_ask: true,
            grants: true,
            wording: &Denies,
            facts: &facts,
            sandboxing: Sandboxing::Wanted { grants: true },
            floor,
            approval,
            mode: Mode::Enforce,
        };
        let shown = Ruleset::decide(&[layer(0, Some(&weak))], |_| false);
        assert!(shown.is_approvable());
        let objections: Vec<Objection> = shown.findings().iter().map(Objection::of).collect();
        let approval = |strength, count: usize| {
            PersonsWord::Approved(Approval {
                by: "kane".into(),
                strength,
                code: "CODE".into(),
                nonce: "n".into(),
                number: 1,
                shown: String::new(),
                objections: objections.iter().take(count).cloned().collect(),
            })
        };
        let decide = |layers: &[Ruleset<'_>], word: &PersonsWord| {
            let verdict = Ruleset::decide_hearing(layers, Some(word), |_| false);
            assert_eq!(verdict.approval().is_some(), verdict.decision().may_run());
            assert!(!verdict.granted(), "an approval vouches for nothing");
            verdict.decision()
        };
        let (typed, touched) = (approval(Strength::Terminal, 2), approval(Strength::Touch, 2));
        assert_eq!(decide(&[layer(0, Some(&weak))], &typed), Decision::Allow);
        assert_eq!(decide(&[layer(0, Some(&weak))], &approval(Strength::Terminal, 1)), Decision::Ask);
        assert_eq!(decide(&[layer(1, Some(&weak))], &typed), Decision::Deny, "the floor");
        assert_eq!(decide(&[layer(0, Some(&strong))], &typed), Decision::Deny);
        assert_eq!(decide(&[layer(0, Some(&strong))], &touched), Decision::Allow);
        assert_eq!(decide(&[layer(0, Some(&weak)), layer(0, Some(&strong))], &typed), Decision::Deny);
        assert_eq!(decide(&[layer(0, Some(&off))], &touched), Decision::Deny);
        assert_eq!(decide(&[layer(0, None)], &touched), Decision::Deny);
        let rejected = PersonsWord::Rejected { by: "kane".into(), note: "use staging".into() };
        let verdict = Ruleset::decide_hearing(&[layer(0, Some(&weak))], Some(&rejected), |_| false);
        assert_eq!(verdict.decision(), Decision::Deny);
        assert_eq!(
            verdict.message().unwrap(),
            "kane has rejected this very call: use staging [rejected]",
            "the note is what the agent reads"
        );
        assert!(!verdict.is_approvable());
    }
}
