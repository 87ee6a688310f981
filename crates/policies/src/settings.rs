//! What can be set: the words of `toolgate.toml`, and the policies that they make.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{
    ApprovalSettings, Facts, Finding, FindingKind, Mode, Places, Ruleset, Sandboxing, ToolRule, Use, Wording,
    shorten,
};

use crate::activation::Activation;
use crate::containment::{Containable, ContainmentSettings};
use crate::custom_rule::Rule;
use crate::destructive::CommandRule;
use crate::grant::Grant;
use crate::network::NetworkSettings;
use crate::outside_scope::{OutsideScope, Rights, ScopeEntry};
use crate::project::team_path;
use crate::rate_limit::kinds;
use crate::redaction::Redaction;
use crate::registry::{Judges, Policies};
use crate::response::Response;
use crate::rules::RuleSwitches;
use crate::team::{Limit, LimitKind, Roles, TeamSettings};

/// All that can be set. A file holds any part of it; what it leaves out comes from the layers above it and
/// from the profile.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The shipped profile to start from: `worktree`, `worktree-strict`, `write-guard`, `ittybitty` …
    pub profile: Option<String>,
    /// Where a call that nothing objects to is granted, so that the host asks nobody either: `false`, `true`, `"contained"`
    /// (what runs in a sandbox, and nothing else), or a list of hosts and `"contained"`. A host in which a grant overrides what its user has forbidden (Copilot) must be listed.
    pub grant: Grant,
    /// Whether what is objected stops a call: `enforce`; `observe`, where it is only recorded, but for the floor; or `observe-all`, the
    /// floor included. A project's own file has no say in it.
    pub mode: Mode,
    /// Whether nobody is there to answer: toolgate then denies what it would ask about.
    pub unattended: bool,
    /// What the boundary is.
    pub boundary: Boundary,
    /// What toolgate does with a relative path in an allowed call.
    pub relative: Relative,
    /// When the gate is active.
    pub activation: Activation,
    /// Places and the rights there; the most specific entry wins.
    pub scope: Vec<ScopeEntry>,
    /// Rules of your own.
    pub rule: Vec<Rule>,
    /// Rules of your own about commands.
    pub command: Vec<CommandRule>,
    /// What single rules are set to, by the id at the end of their messages: `git-checkout-paths = "ask"`.
    pub rules: RuleSwitches,
    /// Tools that their host's page does not list, by name; a `*` at the end stands for any rest.
    pub tools: BTreeMap<String, ToolRule>,
    /// What toolgate removes from a tool's output before the model sees it.
    pub redaction: Redaction,
    /// What it takes to approve a call that was stopped, and to loosen anything else.
    pub approval: ApprovalSettings,
    /// What a contained program may do besides what the scopes say.
    pub containment: ContainmentSettings,
    /// What a contained program may reach.
    pub network: NetworkSettings,
    /// Who works here, and who owns the team's files.
    pub team: TeamSettings,
    /// What agents in a role may do, by the role's name.
    pub role: Roles,
    /// What single agents may do, by name.
    pub agent: Roles,
    /// Limits on the calls of a kind in a minute.
    pub limit: Vec<Limit>,
    /// When toolgate tells the user about denials.
    pub notices: Notices,
    /// Settings of single policies.
    pub(crate) policy: Policies,
    /// Messages in your own words, by the kind of objection. `{path}`, `{root}`, `{tool}`, `{noun}`,
    /// `{agent}`, `{detail}`, `{reason}` and `{instead}` are filled in.
    pub messages: BTreeMap<FindingKind, String>,
}

/// `[notices]`: an agent that is denied tries another way, and its user need not know, unless it does not get on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Notices {
    /// Denials by one policy within a turn after which toolgate tells the user; 0: never.
    pub after: u32,
    /// Denials by one policy within a turn after which toolgate tells the agent to leave it to the user; 0: never.
    pub retries: u32,
    /// Denials of one agent within a minute that toolgate reports to the user as a burst; 0: never.
    pub burst: u32,
    /// Whether toolgate tells the user when an agent writes to a directory for the first time.
    pub new_directories: bool,
}

impl Default for Notices {
    fn default() -> Self {
        Notices { after: 2, retries: 3, burst: 10, new_directories: false }
    }
}

/// What the boundary is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Boundary {
    /// The worktree in which the session began; it does not follow the agent.
    #[default]
    Session,
    /// The working directory of each event. It follows the agent, so it protects less.
    Cwd,
}

/// What toolgate does with a relative path in an allowed call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Relative {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is made absolute, from the root.
    Rewrite,
}

impl Settings {
    /// The policies of these settings, ready to be asked.
    ///
    /// `host` is its id and whether a grant there overrides what its user has forbidden.
    pub fn ruleset<'s>(
        &'s self,
        facts: &'s Facts<'s>,
        judges: &'s Judges<'s>,
        (host, overrides): (&str, bool),
        containable: Containable,
    ) -> Ruleset<'s> {
        // INVARIANT: the floor comes first, and nothing in the settings can leave it out.
        let mut policies = judges.floor();
        let floor = policies.len();
        let inactive = self.inactive(facts);
        match inactive {
            Some(inactive) => policies.push(inactive),
            None => policies.extend(judges.settable()),
        }
        let is_active = inactive.is_none();
        let contained = self.grant.reaches_contained(host, overrides);
        Ruleset {
            policies,
            can_ask: !self.unattended,
            grants: is_active && self.grant.reaches(host, overrides),
            wording: self,
            facts,
            sandboxing: if is_active {
                self.containment.sandboxing(facts, containable, contained)
            } else {
                Sandboxing::Unwanted
            },
            floor,
            approval: Some(&self.approval),
            mode: self.mode,
        }
    }

    /// Whether a contained program may write this place. Where the whole home is open, no place is told from any other.
    pub fn lets_write(&self, path: &Path, places: &Places) -> bool {
        let opens = |path: &Path| self.rights_at(path, places) == Rights::Write;
        opens(path) && !places.home.as_ref().is_some_and(|home| opens(&home.physical))
    }

    /// What may be done in a place without asking anybody, as far as the scopes say.
    pub fn rights_at(&self, path: &Path, places: &Places) -> Rights {
        OutsideScope::of(self).rights(path, places)
    }

    /// Whether keys or credentials are kept in a place, which no scope opens.
    pub fn keeps_secrets_at(&self, path: &Path, places: &Places) -> bool {
        self.policy.secret_file.closes(path, places)
    }

    /// What a rule of a pack does under these settings.
    pub fn response_of(&self, rule: &str) -> Option<Response> {
        let shipped = crate::rules::find(rule)?;
        Some(self.rules.get(rule).unwrap_or_else(|| self.policy.destructive.response(shipped)))
    }

    /// Drops the entries that have ended at this second since the beginning of 1970.
    pub fn drop_ended(&mut self, now: u64) {
        self.scope.retain(|entry| !entry.until.is_some_and(|until| until.is_over(now)));
        self.rules.drop_ended(now);
    }

    /// What has to be looked for in what a use writes or reads, so that the policies can judge it. `shown`: the host
    /// shows whatever is read.
    pub fn content_search(&self, used: &Use<'_>, places: &Places, shown: bool) -> ContentSearch {
        let Ok(place) = &used.place else { return ContentSearch::default() };
        let Policies { private_content, mcp_secret, secret_shown, .. } = &self.policy;
        if !used.access.fills() {
            let secrets = shown && secret_shown.seeks(used, place, places);
            return ContentSearch { secrets, ..ContentSearch::default() };
        }
        let hard_coded = mcp_secret.seeks(place, places);
        let (secrets, emails) = private_content.seeks(place, places);
        let Policies { create_only_log, append_only, registry_names, .. } = &self.policy;
        let change = place.paths().filter_map(|path| team_path(path, places)).any(|below| {
            create_only_log.seeks(&below)
                || append_only.seeks(&below, &self.team.file)
                || registry_names.seeks(&below)
        });
        ContentSearch { secrets: secrets || hard_coded, emails, hard_coded, marks: true, change }
    }

    /// Email addresses and domains that may be written to guarded places.
    pub fn safe_emails(&self) -> &[String] {
        &self.policy.private_content.safe_emails
    }

    /// What judges by these settings.
    pub fn judges(&self) -> Judges<'_> {
        Judges::of(self)
    }

    /// Whether it has to be known who is calling.
    pub fn has_team(&self) -> bool {
        let listed = !self.role.is_empty() || !self.agent.is_empty() || !self.limit.is_empty();
        self.policy.ask_who_calls()
            || listed
            || self.team != TeamSettings::default()
            || self.notices.new_directories
    }

    /// Whether it has to be known who may not revise what.
    pub fn asks_lockouts(&self) -> bool {
        self.policy.reviewer_lockout.is_on()
    }

    /// Whether it has to be known what has happened in the session before a call of this kind is judged.
    pub fn asks_history(&self, question: bool) -> bool {
        (question && self.policy.ask_user_limit.counts())
            || !self.limit.is_empty()
            || self.notices.new_directories
    }

    /// What is counted of a call, for limits.
    pub fn counted(&self, facts: &Facts<'_>) -> Vec<LimitKind> {
        if self.limit.is_empty() { Vec::new() } else { kinds(facts) }
    }

    /// A brief answer of the user as it is passed on; `None` where it stays as it is.
    pub fn spelled_out(&self, answer: &str) -> Option<String> {
        self.policy.ask_user_limit.spelled_out(answer)
    }
}

/// What is to be looked for in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent things to look for")]
pub struct ContentSearch {
    /// Secrets that are known by their looks.
    pub secrets: bool,
    /// Email addresses that are on no safe list.
    pub emails: bool,
    /// Values that are secrets by their names, as [`hard_coded`](crate::hard_coded) finds them.
    pub hard_coded: bool,
    /// Marks that stand in the place of a secret.
    pub marks: bool,
    /// What the file holds now and what it would hold then.
    pub change: bool,
}

impl Wording for Settings {
    fn word(&self, finding: &Finding, facts: &Facts<'_>) -> Option<String> {
        let template = self.messages.get(&finding.kind)?;
        let tool = facts.tool;
        let noun = match tool.to_ascii_lowercase().as_str() {
            "write" => "writes",
            "edit" => "edits",
            _ => "file operations",
        };
        let root = facts.places.root.as_ref().map(|root| root.physical.to_string_lossy()).unwrap_or_default();
        // As the agent gave it, which is how older guards show it.
        let is_it = |used: &&Use<'_>| {
            let place = used.place.as_ref().ok().map(|place| place.lexical.to_string_lossy());
            used.param == finding.param
                && !used.text.is_empty()
                && place.is_none_or(|path| path == *finding.path)
        };
        let used = facts.uses.iter().find(is_it);
        let given = used.map(|used| used.text.escape_debug().to_string());
        let text = template
            .replace("{root}", &shorten(&root, 90))
            .replace("{tool}", tool)
            .replace("{noun}", noun)
            .replace("{agent}", facts.team.member.called())
            .replace("{detail}", &finding.detail)
            .replace("{reason}", &finding.reason)
            .replace("{instead}", &finding.instead)
            .replace("{path}", &shorten(given.as_deref().unwrap_or(&finding.path), 90));
        Some(text)
    }
}

#[cfg(test)]
#[cfg(feature = "files")]
mod tests {
    use super::*;
    use crate::stack;
    use crate::tests::{facts, place, used};
    use toolgate_model::{
        Access, ActivationState, Decision, Member, Node, NodeId, NodeKind, Place, Resolved, Run, Team,
        Trouble,
    };

    fn settings(text: &str) -> Settings {
        toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn unusable_settings_are_refused_with_a_reason() {
        for (text, complaint) in [
            ("[policy.destructive]\npacks = [\"gti\"]", "unknown pack `gti`"),
            ("[[redaction.pattern]]\npattern = \"(\"", "the pattern `(` cannot be used"),
            (
                "[[redaction.pattern]]\npattern = \"(x{999}){999}\"",
                "the pattern `(x{999}){999}` cannot be used",
            ),
            ("[[policy.private-content.guard]]\npaths = []", "a guard of private-content needs `paths`"),
            ("[policy.secret-file]\nopen = [\"*\"]", "`*` in `open` of [policy.secret-file] names no file"),
            ("[[team.file]]\npath = \"../x\"", "`../x` must be names below the team's directory"),
            ("[role.qa]\nwrite = [\"../x\"]", "`../x`"),
            ("[agent.kane]\nnot-read = [\"../x\"]", "`../x`"),
            (
                "[[command]]\ncommand = [\"curl\"]",
                "the command rule `` needs `message`, and `command` or `pattern`",
            ),
            (
                "[[command]]\nmessage = \"no\"\ncommand = [\" \"]",
                "the command rule `no` needs `message`, and `command` or `pattern`",
            ),
            ("[[command]]\nmessage = \"no\"\npattern = \"[\"", "the pattern `[` cannot be used"),
            ("[tools.put]\naccess = \"read\"", "the tool `put` needs `paths`, or `access = \"none\"`"),
            ("[[scope]]\npath = \"src\"\nrights = \"read\"", "`src` must begin with"),
            ("[[rule]]\nmessage = \"no\"\npaths = [\"src\"]", "`src` must begin with"),
            (
                "[[rule]]\nmessage = \"no\"\npaths = [\"/x\"]\ndecision = \"allow\"",
                "the rule `no` can `deny` or `ask`, not `allow`",
            ),
            ("[[rule]]\nmessage = \"no\"", "the rule `no` names no `directories`, `extensions` or `paths`"),
        ] {
            let told = settings(text).check().expect_err(text);
            assert!(told.starts_with(complaint), "{text}: {told}");
        }
    }

    #[test]
    fn usable_settings_are_accepted() {
        for text in [
            "",
            "[[redaction.pattern]]\npattern = \"EMP-[0-9]+\"",
            "[[command]]\nmessage = \"no\"\npattern = \"deploy +prod\"",
            "[[command]]\nmessage = \"no\"\ncommand = [\"curl\"]",
            "[tools.think]\naccess = \"none\"",
            "[tools.put]\npaths = [\"to\"]",
            "[[rule]]\nmessage = \"no\"\nextensions = [\".md\"]\ndecision = \"ask\"",
        ] {
            assert_eq!(settings(text).check(), Ok(()), "{text}");
        }
    }

    #[test]
    fn lists_of_more_than_1000_entries_are_refused() {
        let mut rule = settings("[[rule]]\nmessage = \"no\"\nextensions = [\".md\"]");
        rule.rule[0].directories = vec!["x".into(); 999];
        assert_eq!(rule.check(), Ok(()));
        rule.rule[0].paths = vec!["/x".into()];
        assert_eq!(rule.check(), Err("the rule `no` names more than 1000 things".into()));
        for entry in [
            "[[scope]]\npath = \"/x\"\nrights = \"read\"\n",
            "[[rule]]\nmessage = \"no\"\npaths = [\"/x\"]\n",
            "[[command]]\nmessage = \"no\"\ncommand = [\"x\"]\n",
            "[tools.t{}]\npaths = [\"to\"]\n",
            "[[team.roster]]\nname = \"kane\"\n",
            "[[team.file]]\npath = \"x\"\n",
            "[role.r{}]\n",
            "[agent.a{}]\n",
            "[[limit]]\nkind = \"call\"\nper-minute = 1\n",
            "[[policy.private-content.guard]]\npaths = [\"/x\"]\n",
        ] {
            let many = |count: usize| {
                let entries = (0..count).map(|number| entry.replace("{}", &number.to_string()));
                settings(&entries.collect::<String>()).check()
            };
            assert_eq!(many(1000), Ok(()), "{entry}");
            assert_eq!(many(1001), Err("more than 1000 entries of one kind".into()), "{entry}");
        }
    }

    #[test]
    fn placeholders_in_a_users_message_are_filled_in() {
        let own = settings(
            "[messages]\noutside = \"{agent}|{tool}|{noun}|{path}|{root}|{detail}|{reason}|{instead}\"",
        );
        let places = Places { root: Some(Place::plain("/r")), ..Places::default() };
        let team = Team { member: Member { name: "kane".into(), ..Member::default() }, ..Team::default() };
        let finding = Finding::new("outside-scope", Decision::Deny, FindingKind::Outside)
            .at("path", "/r/up")
            .because("why")
            .instead("what else")
            .detail("1/2");
        let said = |tool: &str, places: &Places, text: &'static str, place: Result<Resolved, Trouble>| {
            let uses = vec![Use { text: text.into(), ..used(Access::Write, place) }];
            own.word(&finding, &Facts { uses, ..facts(tool, places, &team) }).unwrap()
        };
        // The path is shown as the agent gave it, and nothing in it is a place to be filled in or a line of its own.
        for (tool, text, wanted) in [
            ("Write", "../r/up", "kane|Write|writes|../r/up|/r|1/2|why|what else"),
            ("edit", "up", "kane|edit|edits|up|/r|1/2|why|what else"),
            ("Bash", "a\n{reason}", "kane|Bash|file operations|a\\n{reason}|/r|1/2|why|what else"),
            ("Write", "", "kane|Write|writes|/r/up|/r|1/2|why|what else"),
        ] {
            assert_eq!(said(tool, &places, text, Ok(place("/r/up"))), wanted);
        }
        let another = said("Write", &places, "x", Ok(place("/r/x")));
        assert!(another.contains("|/r/up|"), "the file of another finding: {another}");
        let nowhere = said("Write", &Places::default(), "x", Err(Trouble::LinkLoop));
        assert_eq!(nowhere, "kane|Write|writes|x||1/2|why|what else");
        let other = Finding { kind: FindingKind::Secret, ..finding.clone() };
        assert_eq!(own.word(&other, &facts("Write", &places, &team)), None, "our own words");
    }

    #[test]
    fn settings_ask_only_for_the_team_facts_they_need() {
        for (text, team, lockouts, history, of_question) in [
            ("", false, false, false, false),
            ("[team]\nmain = \"coordinator\"", true, false, false, false),
            ("[team]\nreviewers = [\"lead\"]", true, false, false, false),
            ("[[team.roster]]\nname = \"kane\"", true, false, false, false),
            ("[role.qa]\ntools = []", true, false, false, false),
            ("[agent.kane]\ntools = []", true, false, false, false),
            ("[policy.ownership]\nenabled = true", true, false, false, false),
            ("[policy.read-only-role]\nroles = [\"qa\"]", true, false, false, false),
            ("[policy.reviewer-lockout]\nenabled = true", true, true, false, false),
            ("[policy.ask-user-limit]\nmax = 3", true, false, false, true),
            ("[policy.ask-user-limit]\nshortest = 3", true, false, false, false),
            ("[policy.coordinator-write]\nenabled = true", true, false, false, false),
            ("[policy.init-phase]\nenabled = true", true, false, false, false),
            ("[team]\ninit = true", true, false, false, false),
            ("[[limit]]\nkind = \"run\"\nper-minute = 9", true, false, true, true),
            ("[notices]\nnew-directories = true", true, false, true, true),
        ] {
            let own = settings(text);
            assert_eq!(
                (own.has_team(), own.asks_lockouts(), own.asks_history(false), own.asks_history(true)),
                (team, lockouts, history, of_question),
                "{text}"
            );
        }
    }

    #[test]
    fn calls_are_counted_only_where_something_is_limited() {
        use LimitKind::{Call, Connect, Read, Run as Started, Write};

        let (places, team) = (Places::default(), Team::default());
        let call = Facts {
            uses: vec![used(Access::Read, Ok(place("/r/a"))), used(Access::Delete, Ok(place("/r/b")))],
            runs: vec![Run::of(vec!["curl".into()])],
            connects: true,
            ..facts("Bash", &places, &team)
        };
        let limited = settings("[[limit]]\nkind = \"run\"\nper-minute = 9");
        assert_eq!(limited.counted(&call), [Call, Read, Write, Started, Connect]);
        assert_eq!(limited.counted(&facts("Think", &places, &team)), [Call]);
        assert_eq!(settings("").counted(&call), []);
        assert_eq!(
            settings("[policy.ask-user-limit]\nshortest = 3\nbrief = \"!\"").spelled_out("no").as_deref(),
            Some("no!")
        );
    }

    #[test]
    fn content_is_searched_only_for_what_a_policy_asks_for() {
        let squad = stack(Some("squad"), "", &[]).unwrap();
        let team = ["/r/.squad", "/r/.ai-team"].map(Place::plain).into();
        let places = Places { root: Some(Place::plain("/r")), team, ..Places::default() };
        let nothing = ContentSearch::default();
        // Marks of ours stay out of every file.
        let marks = ContentSearch { marks: true, ..nothing };
        let private = ContentSearch { secrets: true, emails: true, ..marks };
        let whole = ContentSearch { change: true, ..private };
        for (access, path, wanted) in [
            (Access::Write, "/r/.squad/team.md", private),
            (Access::Write, "/r/.squad/decisions.md", whole),
            (Access::Append, "/r/.ai-team/agents/kane/history.md", whole),
            (Access::Write, "/r/.squad/Casting/Registry.json", whole),
            (Access::Write, "/r/.squad/log/today.md", whole),
            (Access::Delete, "/r/.squad/decisions.md", nothing),
            (Access::Write, "/r/decisions.md", marks),
            (Access::Write, "/r/.mcp.json", ContentSearch { secrets: true, hard_coded: true, ..marks }),
        ] {
            assert_eq!(
                squad.content_search(&used(access, Ok(place(path))), &places, true),
                wanted,
                "{access:?} {path}"
            );
        }
        let id = NodeId { device: 0, inode: 1 };
        let node = Some(Node { kind: NodeKind::File, id, names: 1, changed: (0, 0) });
        let read = used(Access::Read, Ok(Resolved { node, ..place("/r/notes") }));
        assert_eq!(squad.content_search(&read, &places, true), ContentSearch { secrets: true, ..nothing });
        assert_eq!(
            squad.content_search(&read, &places, false),
            nothing,
            "its output is looked through instead"
        );
        assert_eq!(squad.content_search(&used(Access::Write, Err(Trouble::Empty)), &places, true), nothing);
    }

    #[test]
    fn an_inactive_gate_says_why_and_keeps_its_floor() {
        let own = settings(
            "grant = true\n[activation]\nmodes = [\"tui\"]\nskip-untrusted = true\nroot-env = \"WORKTREE\"",
        );
        let (team, nowhere) = (Team::default(), Places::default());
        let places = Places { root: Some(Place::plain("/r")), ..Places::default() };
        let mode = |mode: &str| ActivationState { mode: Some(mode.into()), ..ActivationState::default() };
        let untrusted = ActivationState { trusted: Some(false), ..ActivationState::default() };
        let paused = ActivationState { paused: true, ..ActivationState::default() };
        for (activation, places, why) in [
            (ActivationState::default(), &places, None),
            (mode("tui"), &places, None),
            (mode("print"), &places, Some("the host's mode")),
            (untrusted, &places, Some("not trusted")),
            (ActivationState::default(), &nowhere, Some("the variable that names the root")),
            (paused, &places, Some("toolgate pause")),
        ] {
            let outside = used(Access::Write, Ok(place("/elsewhere/a")));
            let mut call = Facts { activation, uses: vec![outside], ..facts("Write", places, &team) };
            let judges = own.judges();
            let verdict = Ruleset::decide(
                &[own.ruleset(&call, &judges, ("generic", false), Containable::default())],
                |_| false,
            );
            let expected = if why.is_some() { Decision::Allow } else { Decision::Deny };
            assert_eq!(verdict.decision(), expected, "{}", verdict.explanation());
            if let Some(why) = why {
                assert!(verdict.explanation().contains(why), "{}", verdict.explanation());
                assert!(!verdict.granted(), "what is not judged is not vouched for");
            }
            call.uses = vec![used(Access::Write, Ok(place("/dev/sda")))];
            let verdict = Ruleset::decide(
                &[own.ruleset(&call, &judges, ("generic", false), Containable::default())],
                |_| false,
            );
            assert_eq!(verdict.decision(), Decision::Deny, "the floor");
        }
    }
}
