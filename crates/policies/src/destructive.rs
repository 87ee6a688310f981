//! Denies or asks about commands that destroy, publish or give away something, by the rules in the packs.
//!
//! Why: some commands cannot be taken back. `git reset --hard` throws away what was never committed, `git push
//! --force` what others have built on, `npm publish` is out within seconds, `terraform destroy` can be the end of the company.
//!
//! Settings: `packs` = the packs that hold (`git`, `disk`, `system`, `database`, `container`, `cloud`, `kubernetes`,
//! `publish`, `package`, `remote`, `credentials`, `person` by default; `core` and `email` only if you name them);
//! `allow-force-with-lease` = whether `git push --force-with-lease` passes (default `true`); `block` = commands of
//! your own that are denied, by their words (`"rm -rf"`, `"git push --force"`); words of SQL (`"DROP TABLE"`) are looked for
//! in what the clients of databases are given. `[[command]]` entries are whole rules
//! of your own, each with an `id` if you like. `[rules]` sets single rules by the id at the end of their messages:
//! `git-checkout-paths = "ask"`, or `"allow"` for a rule that does not hold here. If two rules find the same command, the
//! stricter one counts. Rules against destroying a disk, and against fork bombs, are the floor: no setting switches them off.
//!
//! Sees through: spellings (`rm -r -f`, `rm --force -R`, `git -C x push origin +main`), paths to programs, wrappers
//! (`sudo`, `env`, `xargs`, `find -exec`), scripts, pipes into a shell. Words in quotes, a commit's message or an
//! `echo` are no commands.
//! Does not see: what programs do that no rule mentions, and the same done through an interpreter's own functions.

use std::cmp::Reverse;

use regex_lite::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Decision, Facts, Finding, FindingKind, Gap, Policy, Run, Unknown, Via, shorten, work};

use crate::command::{Shape, canonical, glob, says_one};
use crate::packs::{self, PackRule};
use crate::response::Response;
use crate::rules::{OwnRule, RuleSwitches};
use crate::settings::Settings;

/// `[policy.destructive]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct Destructive {
    /// The packs that hold; by default all except `core` and `email`.
    pub packs: Option<Vec<String>>,
    /// Whether `git push --force-with-lease` passes.
    pub allow_force_with_lease: bool,
    /// Commands that are denied, by their words: `rm -rf`, `curl`, `git push --force`.
    pub block: Vec<String>,
}

impl Default for Destructive {
    fn default() -> Self {
        Destructive { packs: None, allow_force_with_lease: true, block: Vec::new() }
    }
}

/// One `[[command]]`: a rule of your own about commands. Every part that you give must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct CommandRule {
    /// Its id, for `[rules]` and the end of its messages; left out: `command-` and its place among these entries.
    pub id: String,
    /// What the agent is told.
    pub message: String,
    /// What to do instead.
    pub instead: String,
    /// Programs with their sub-commands: `git push`, `aws * delete-*`, `systemctl stop|disable`.
    pub command: Vec<String>,
    /// A regular expression that the text of the call, or one of the commands that it runs, fits. It goes by letters, so
    /// that a quoted mention counts too: `command` is better where it will do.
    pub pattern: String,
    /// Options, one of which is given; every spelling is listed, `--prune=now` asks for the value too.
    pub any: Vec<String>,
    /// Options that are all given; `-r|--recursive` is either.
    pub all: Vec<String>,
    /// Patterns, one of which an operand fits.
    pub operand: Vec<String>,
    /// At least this many operands.
    pub operands: u8,
    /// Texts, one of which a word holds, whatever the case of letters.
    pub text: Vec<String>,
    /// Programs, one of which is piped into it.
    pub fed_by: Vec<String>,
    /// Patterns, one of which a file fits that its output goes to.
    pub output: Vec<String>,
    /// Options and patterns of operands that take it back; `^` before a pattern is the first operand alone.
    pub unless: Vec<String>,
    /// Texts in a word that take it back.
    pub unless_text: Vec<String>,
    /// Whether to ask instead of denying.
    pub ask: bool,
}

impl OwnRule for CommandRule {
    const KIND: &'static str = "command";
    fn id(&self) -> &str {
        &self.id
    }
}

impl CommandRule {
    fn response(&self) -> Response {
        if self.ask { Response::Ask } else { Response::Deny }
    }

    fn shape(&self) -> Shape<'_, String> {
        Shape {
            command: &self.command,
            any: &self.any,
            all: &self.all,
            operand: &self.operand,
            operands: self.operands,
            text: &self.text,
            fed_by: &self.fed_by,
            output: &self.output,
            unless: &self.unless,
            unless_text: &self.unless_text,
            elsewhere_but: &[],
            default_branch: false,
        }
    }
}

impl Destructive {
    /// Says which pack is named that there is not.
    pub(crate) fn check(&self) -> Result<(), String> {
        let pack =
            self.packs.iter().flatten().find(|name| !packs::PACKS.iter().any(|(pack, _)| pack == name));
        if let Some(name) = pack {
            let names =
                packs::PACKS.iter().map(|(pack, _)| format!("`{pack}`")).collect::<Vec<_>>().join(", ");
            return Err(format!("unknown pack `{name}`, expected one of {names}"));
        }
        match self.block.iter().find(|words| words.trim().is_empty() || words.starts_with('-')) {
            Some(words) => Err(format!("`{words}` in `block` names no command")),
            None => Ok(()),
        }
    }

    /// What the rule does where no switch names it.
    pub(crate) fn response(&self, rule: &PackRule) -> Response {
        let chosen = match &self.packs {
            Some(packs) => packs.iter().any(|pack| pack == rule.pack),
            None => !rule.optional,
        };
        let passes = rule.lease && self.allow_force_with_lease;
        if chosen && !passes { rule.response } else { Response::Allow }
    }
}

/// The packs' rules as the settings have them, and the `[[command]]` entries.
pub(crate) struct CommandRules<'s> {
    settings: &'s Destructive,
    switches: &'s RuleSwitches,
    own: &'s [CommandRule],
}

impl<'s> CommandRules<'s> {
    pub(crate) fn of(settings: &'s Settings) -> CommandRules<'s> {
        CommandRules {
            settings: &settings.policy.destructive,
            switches: &settings.rules,
            own: &settings.command,
        }
    }
}

impl Policy for CommandRules<'_> {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        // A person's own words come first.
        self.judge_blocked(facts, findings);
        let response = |rule: &PackRule| {
            if rule.floor {
                return Response::Allow;
            }
            self.switches.get(rule.id).unwrap_or_else(|| self.settings.response(rule))
        };
        let home = home_of(facts);
        for (number, run) in facts.runs.iter().enumerate() {
            let run = &*canonical(run, home);
            // What the floor forbids is forbidden already, and in its own words.
            if let Some((decision, rule)) = strictest(facts, number, run, response)
                && strictest(facts, number, run, of_floor).is_none()
            {
                findings.push(finding(decision, rule, run));
            }
        }
        self.judge_patterns(facts, findings);
        self.judge_own(facts, findings);
    }
}

/// The rules that hold whatever the settings say.
pub(crate) struct DiskFloor;

/// What nobody writes to by a file's name: whole disks, and the machine's memory.
const DEVICES: &[&str] = &[
    "/dev/sd*",
    "/dev/hd*",
    "/dev/vd*",
    "/dev/xvd*",
    "/dev/nvme*",
    "/dev/mmcblk*",
    "/dev/disk*",
    "/dev/rdisk*",
    "/dev/md*",
    "/dev/dm-*",
    "/dev/mapper/*",
    "/dev/loop*",
    "/dev/mem",
    "/dev/kmem",
    "/dev/port",
    "/proc/sysrq-trigger",
];

impl Policy for DiskFloor {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let home = home_of(facts);
        let mut judged = Vec::new();
        for (number, run) in facts.runs.iter().enumerate() {
            let known = &*canonical(run, home);
            if let Some((decision, rule)) = strictest(facts, number, known, of_floor) {
                findings.push(finding(decision, rule, known));
                judged.extend(&run.origin);
            }
        }
        for used in facts.uses.iter().filter(|used| used.writes()) {
            let Ok(place) = &used.place else { continue };
            let is_device = place.paths().any(|path| {
                let path = path.to_string_lossy();
                DEVICES.iter().any(|device| glob(device, &path))
            });
            let is_judged = used.origin.as_ref().is_some_and(|origin| judged.contains(&origin));
            if is_device && !is_judged {
                let named = place.lexical.to_string_lossy().into_owned();
                findings.push(
                    Finding::new("destructive", Decision::Deny, FindingKind::Destructive)
                        .rule("disk-redirect")
                        .because(format!("Direct disk write is blocked: `{}`", shorten(&named, 100)))
                        .at(&used.param, named)
                        .instead("write to a file in the worktree"),
                );
            }
        }
        let bomb = |unknown: &&Unknown<'_>| matches!(unknown, Unknown::Shell { gap: Gap::Bounds, text, .. } if text == "fork bomb");
        if facts.unknown.iter().any(|unknown| bomb(&unknown)) {
            findings.push(
                Finding::new("destructive", Decision::Deny, FindingKind::Destructive)
                    .rule("fork-bomb")
                    .because("Fork bomb detected: a function that starts itself without end")
                    .instead("do without it"),
            );
        }
    }
}

fn of_floor(rule: &PackRule) -> Response {
    if rule.floor { rule.response } else { Response::Allow }
}

fn home_of<'f>(facts: &'f Facts<'_>) -> Option<&'f str> {
    facts.places.home.as_ref().and_then(|home| home.lexical.to_str())
}

/// The one rule that speaks about a run where several find it: the strictest; of these one of a pack that the settings
/// have to name, since somebody wanted its words; of these the one that asks the most of the command.
fn strictest(
    facts: &Facts<'_>,
    number: usize,
    run: &Run,
    response: impl Fn(&PackRule) -> Response,
) -> Option<(Decision, &'static PackRule)> {
    let before = facts.runs.get(..number).unwrap_or_default();
    let hits = packs::rules_for(run).filter_map(|rule| {
        let decision = response(rule).objection()?;
        let fits = rule.shape.fits(run)
            && !rule.unless_env.iter().any(|set| is_set(facts, run, set))
            && !before.iter().any(|run| settles(run, rule.after));
        fits.then_some((decision, rule))
    });
    hits.min_by_key(|(decision, rule)| Reverse((*decision, rule.optional, rule.shape.conditions())))
}

fn finding(decision: Decision, rule: &PackRule, run: &Run) -> Finding {
    let opening = format!("a person can run `toolgate allow rule {}`", rule.id);
    let instead = match (rule.instead, decision.denies() && !rule.floor) {
        ("", true) => opening,
        (instead, true) => format!("{instead}; or {opening}"),
        (instead, false) => instead.to_owned(),
    };
    Finding::new("destructive", decision, FindingKind::Destructive)
        .rule(rule.id)
        .because(format!("{}{}{}", subject(run, rule.reason), rule.reason, there(run, rule)))
        .instead(instead)
}

/// What a reason is about: the two make a sentence where the reason begins with a verb (``"`git clean` deletes …"``). A fork bomb has no
/// name that could be shown.
fn subject(run: &Run, reason: &str) -> String {
    if run.words.is_empty() {
        return String::new();
    }
    let first = reason.split([' ', ',']).next().unwrap_or_default();
    let is_verb = first.ends_with('s') && first.chars().all(|c| c.is_ascii_lowercase());
    format!("{}{} ", shown(run), if is_verb { "" } else { ":" })
}

/// What it does on the other machine, where a rule is about that.
fn there(run: &Run, rule: &PackRule) -> String {
    let Some(there) = run.elsewhere.as_ref().filter(|_| !rule.shape.elsewhere_but.is_empty()) else {
        return String::new();
    };
    let unlisted = || there.runs.iter().find(|run| !rule.shape.is_listed_elsewhere(run));
    match (&there.more, unlisted()) {
        (Some(more), _) => format!(" ({})", shorten(more, 100)),
        (None, Some(run)) => format!(" (runs {} there)", shown(run)),
        (None, None) => String::new(),
    }
}

/// Whether a variable is set for this one command, as it is written before it: `RAILS_ENV=test`, or `NAME=` for any
/// value. What cannot be read at a glance is not set.
fn is_set(facts: &Facts<'_>, run: &Run, assignment: &str) -> bool {
    let before = || {
        let origin = run.origin.as_ref()?;
        let mut step = origin.via.as_deref();
        while let Some(Via { line, before, .. }) = step {
            if !line.is_empty() {
                return None;
            }
            step = before.as_deref();
        }
        let (from, to) = (usize::try_from(origin.span.0).ok()?, usize::try_from(origin.span.1).ok()?);
        let command = facts.command?;
        let program = from + command.get(from..to)?.find(run.words.first()?.as_str())?;
        let before = command.get(..program)?;
        before.rsplit([';', '|', '&', '(', '\n', '`']).next()
    };
    let Some(before) = before() else { return false };
    let name = assignment.split_inclusive('=').next().unwrap_or(assignment);
    // Set twice, or by a wrapper that takes it away again.
    if before.matches(name).count() != 1 || (!assignment.ends_with('=') && before.contains(" -")) {
        return false;
    }
    let any = assignment.ends_with('=');
    before.match_indices(assignment).any(|(at, _)| {
        let (front, rest) = before.split_at(at);
        let rest = rest.strip_prefix(assignment).unwrap_or_default();
        (front.is_empty() || front.ends_with(' '))
            && !front.contains(['\'', '"', '$'])
            && (any || (rest.starts_with(' ') && !rest.contains(['\'', '"', '$'])))
    })
}

/// Whether the run is one of these commands, which settle a rule.
fn settles(run: &Run, commands: &[&str]) -> bool {
    let shape = Shape {
        command: commands,
        any: &[],
        all: &[],
        operand: &[],
        operands: 0,
        text: &[],
        fed_by: &[],
        output: &[],
        unless: &[],
        unless_text: &[],
        elsewhere_but: &[],
        default_branch: false,
    };
    !commands.is_empty() && shape.fits(run)
}

/// A command that is denied by its words: the program, its sub-commands in order, its options in any order.
struct Blocked<'s> {
    words: &'s str,
    /// With the letters of a bundle apart, and as it is written.
    rules: [CommandRule; 2],
}

impl<'s> Blocked<'s> {
    fn of(words: &'s str) -> Blocked<'s> {
        let (options, names): (Vec<&str>, Vec<&str>) =
            words.split_whitespace().partition(|word| word.starts_with('-'));
        // `-rf` asks for both of its letters.
        let mut all = Vec::new();
        for option in options {
            match option.strip_prefix('-') {
                Some(letters)
                    if letters.len() > 1 && letters.bytes().all(|byte| byte.is_ascii_alphabetic()) =>
                {
                    all.extend(letters.chars().map(|letter| format!("-{letter}")));
                }
                _ => all.push(option.to_owned()),
            }
        }
        let rule = CommandRule { command: vec![names.join(" ")], all, ..CommandRule::default() };
        let as_written = CommandRule {
            command: vec![names.join(" ")],
            all: words.split_whitespace().filter(|word| word.starts_with('-')).map(str::to_owned).collect(),
            ..CommandRule::default()
        };
        Blocked { words, rules: [rule, as_written] }
    }

    fn is(&self, run: &Run) -> bool {
        self.rules.iter().any(|rule| rule.shape().fits(run))
    }
}

/// What a client of a database is given: its words, and the text of the call, as a statement may come through a pipe or a
/// here-document. Nothing for any other program: there, words in quotes are no commands.
fn statements<'f>(facts: &'f Facts<'_>, run: &'f Run) -> impl Iterator<Item = &'f str> {
    let is_client = packs::rules_for(run).any(|rule| rule.pack == "database" && !rule.shape.text.is_empty());
    let words = run.words.iter().skip(1).map(String::as_str);
    words.chain(facts.command).filter(move |_| is_client)
}

/// Whether a statement begins with this word.
fn is_sql(word: &str) -> bool {
    const VERBS: [&str; 14] = [
        "alter", "attach", "call", "copy", "create", "delete", "drop", "grant", "insert", "merge", "rename",
        "revoke", "truncate", "update",
    ];
    VERBS.iter().any(|verb| word.eq_ignore_ascii_case(verb))
}

/// Whether a pattern about statements fits what a client of a database is given. The case of letters says nothing in SQL.
fn is_in_statement(facts: &Facts<'_>, pattern: &str) -> bool {
    if !pattern.split(|c: char| !c.is_ascii_alphabetic()).any(is_sql) {
        return false;
    }
    let mut texts = facts.runs.iter().flat_map(|run| statements(facts, run)).peekable();
    texts.peek().is_some()
        && Regex::new(&format!("(?i){pattern}"))
            .is_ok_and(|pattern| texts.any(|text| is_match(&pattern, text)))
}

/// Whether a regular expression fits a text, if that can be paid: each letter is tried at each place of the expression.
fn is_match(pattern: &Regex, text: &str) -> bool {
    work::pay_for(64 + text.len(), pattern.as_str().len().max(8));
    !work::is_spent() && pattern.is_match(text)
}

impl CommandRules<'_> {
    /// The commands that `block` names.
    fn judge_blocked(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let blocked: Vec<Blocked<'_>> = self.settings.block.iter().map(|words| Blocked::of(words)).collect();
        for run in facts.runs.iter().filter(|_| !blocked.is_empty()) {
            let known = &*canonical(run, None);
            let said = |words: &str| {
                is_sql(words.split(' ').next().unwrap_or_default())
                    && statements(facts, run).any(|text| says_one(text, &[words]))
            };
            let mut blocked = blocked.iter().enumerate();
            let found = blocked.find(|(_, blocked)| blocked.is(known) || said(blocked.words));
            if let Some((index, Blocked { words, .. })) = found {
                let finding = Finding::new("destructive", Decision::Deny, FindingKind::Rule)
                    .rule(format!("block-{}", index + 1))
                    .because(format!("Shell command blocked: {} is `{}`", shown(run), shorten(words, 80)))
                    .instead("do without it, or have a person run it");
                findings.push(finding);
            }
        }
    }

    /// The entries that go by a pattern.
    fn judge_patterns(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        for (index, rule) in self.own.iter().enumerate().filter(|(_, rule)| !rule.pattern.is_empty()) {
            let fits = match Regex::new(&rule.pattern) {
                Ok(pattern) => {
                    let runs = facts.runs.iter().map(|run| run.words.join(" "));
                    facts.command.is_some_and(|text| is_match(&pattern, text))
                        || runs.into_iter().any(|text| is_match(&pattern, &text))
                        || is_in_statement(facts, &rule.pattern)
                }
                // It was checked when it was written; one that cannot be read now forbids.
                Err(_) => !facts.runs.is_empty(),
            };
            if fits {
                let reason = format!("a rule forbids such a command: {}", shorten(&rule.message, 200));
                findings.extend(self.own_finding(index, rule, reason));
            }
        }
    }

    /// The entries that go by parsed words.
    fn judge_own(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        for run in &facts.runs {
            let known = canonical(run, None);
            let fits = |rule: &CommandRule| rule.shape().fits(run) || rule.shape().fits(&known);
            for (index, rule) in self.own.iter().enumerate() {
                if !rule.command.is_empty() && fits(rule) {
                    let reason = format!("{}: {}", shown(run), shorten(&rule.message, 200));
                    findings.extend(self.own_finding(index, rule, reason));
                }
            }
        }
    }

    fn own_finding(&self, index: usize, rule: &CommandRule, reason: String) -> Option<Finding> {
        let id = rule.id_at(index);
        let decision = self.switches.get(&id).unwrap_or_else(|| rule.response()).objection()?;
        let finding = Finding::new("destructive", decision, FindingKind::Rule).rule(id.into_owned());
        Some(finding.because(reason).instead(shorten(&rule.instead, 140)))
    }
}

/// The command for people, with the line of the script that it stands in.
pub(crate) fn shown(run: &Run) -> String {
    let command = shorten(&run.words.join(" "), 80)
        .escape_debug()
        .to_string()
        .replace("\\'", "'")
        .replace("\\\"", "\"");
    let mut step = run.origin.as_ref().and_then(|origin| origin.via.as_deref());
    while let Some(Via { step: place, line, before }) = step {
        if !line.is_empty() {
            return format!("`{command}` in {} (`{}`)", shorten(place, 60), shorten(line.trim(), 60));
        }
        step = before.as_deref();
    }
    format!("`{command}`")
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::command::tests::runs;
    use crate::tests::{facts, objections, place, used};
    use toolgate_model::{Access, Origin, Places, Resolved, Team, Trouble};

    /// The `[[command]]` entries alone.
    fn own_rules(own: &[CommandRule]) -> Settings {
        let destructive = Destructive { packs: Some(Vec::new()), ..Destructive::default() };
        let mut settings = Settings { command: own.to_vec(), ..Settings::default() };
        settings.policy.destructive = destructive;
        settings
    }

    /// What a policy objects to a command whose text this is, and that runs what `run` says.
    fn judged(policy: &dyn Policy, text: &str, run: &str) -> Vec<(Decision, String)> {
        let (places, team) = (Places::default(), Team::default());
        let call = Facts { command: Some(text), runs: runs(run), ..facts("Bash", &places, &team) };
        let messages = objections(policy, &call).into_iter();
        messages.map(|finding| (finding.decision, finding.line())).collect()
    }

    #[test]
    fn a_users_pattern_is_matched_against_the_text_and_what_it_runs() {
        let rule = CommandRule {
            message: "a person deploys".into(),
            instead: "open a pull request".into(),
            pattern: r"deploy\s+prod\b".into(),
            ..CommandRule::default()
        };
        let denied =
            "a rule forbids such a command: a person deploys; open a pull request [destructive: command-1]";
        let own = own_rules(std::slice::from_ref(&rule));
        let own = CommandRules::of(&own);
        for (text, run, fits) in [
            ("./deploy   prod", "./deploy prod", true),
            ("echo 'deploy prod'", "echo 'deploy prod'", true),
            ("w=prod; deploy $w", "deploy prod", true),
            ("deploy production", "deploy production", false),
            ("deploy stage", "deploy stage", false),
        ] {
            let wanted = if fits { vec![(Decision::Deny, denied.to_owned())] } else { Vec::new() };
            assert_eq!(judged(&own, text, run), wanted, "{text}");
        }
        let asks = own_rules(&[CommandRule { ask: true, ..rule.clone() }]);
        assert_eq!(judged(&CommandRules::of(&asks), "deploy prod", ""), [(Decision::Ask, denied.to_owned())]);
        let (places, team) = (Places::default(), Team::default());
        assert_eq!(objections(&own, &facts("Write", &places, &team)), [], "no command at all");
    }

    #[test]
    fn a_pattern_that_cannot_be_read_forbids_every_command() {
        let broken = CommandRule { message: "no".into(), pattern: "(".into(), ..CommandRule::default() };
        let broken = own_rules(&[broken]);
        let broken = CommandRules::of(&broken);
        assert_eq!(judged(&broken, "ls", "ls").len(), 1);
        let (places, team) = (Places::default(), Team::default());
        assert_eq!(objections(&broken, &facts("Write", &places, &team)), []);
    }

    #[test]
    fn a_users_command_rule_denies_or_asks() {
        let rule = CommandRule {
            id: "network".into(),
            message: "the network is closed".into(),
            instead: "use the cache".into(),
            command: vec!["curl".into()],
            ..CommandRule::default()
        };
        let said = "`curl x`: the network is closed; use the cache [destructive: network]".to_owned();
        let denies = own_rules(std::slice::from_ref(&rule));
        let asks = own_rules(&[CommandRule { ask: true, ..rule }]);
        let (denies, asks) = (CommandRules::of(&denies), CommandRules::of(&asks));
        assert_eq!(judged(&denies, "curl x", "curl x"), [(Decision::Deny, said.clone())]);
        assert_eq!(judged(&asks, "curl x", "curl x"), [(Decision::Ask, said)]);
        assert_eq!(judged(&asks, "echo curl", "echo curl"), []);
    }

    #[test]
    fn a_blocked_command_is_denied_and_named_as_the_settings_name_it() {
        let mut settings = Settings::default();
        settings.policy.destructive.block = vec!["git push --force".into()];
        let block = CommandRules::of(&settings);
        let found = judged(&block, "", "git push --force origin main");
        let (decision, message) = found.first().unwrap();
        assert_eq!(*decision, Decision::Deny);
        assert!(message.contains("`git push --force origin main` is `git push --force`"), "{message}");
        assert_eq!(judged(&block, "", "git push origin work"), []);
    }

    #[test]
    fn writes_to_disk_devices_are_denied_by_the_floor() {
        let (places, team) = (Places::default(), Team::default());
        let denied = |access, place: Result<Resolved, Trouble>| {
            let call = Facts { uses: vec![used(access, place)], ..facts("Write", &places, &team) };
            objections(&DiskFloor, &call).into_iter().map(|finding| finding.path).collect::<Vec<_>>()
        };
        for device in ["/dev/sda", "/dev/nvme0n1p2", "/dev/mapper/root", "/dev/mem", "/proc/sysrq-trigger"] {
            assert_eq!(denied(Access::Write, Ok(place(device))), [device]);
            assert_eq!(denied(Access::Read, Ok(place(device))), [""; 0], "{device} is only read");
        }
        for file in ["/dev/null", "/dev/shm/sda", "/r/dev/sda", "/dev/tty"] {
            assert_eq!(denied(Access::Write, Ok(place(file))), [""; 0], "{file}");
        }
        let linked = Resolved { physical: "/dev/sdb".into(), ..place("/r/disk") };
        assert_eq!(denied(Access::Append, Ok(linked)), ["/r/disk"], "through a link");
        assert_eq!(denied(Access::Write, Err(Trouble::LinkLoop)), [""; 0], "another policy's");
    }

    #[test]
    fn a_fork_bomb_is_denied_by_the_floor() {
        let (places, team) = (Places::default(), Team::default());
        let count = |gap, text: &str| {
            let origin = Origin { span: (0, 1), via: None };
            let unknown = vec![Unknown::Shell { gap, text: text.into(), origin }];
            objections(&DiskFloor, &Facts { unknown, ..facts("Bash", &places, &team) }).len()
        };
        assert_eq!(count(Gap::Bounds, "fork bomb"), 1);
        assert_eq!(count(Gap::Bounds, "too deep"), 0);
        assert_eq!(count(Gap::Program, "fork bomb"), 0);
    }

    #[test]
    fn a_command_is_shown_with_the_line_of_its_script() {
        let script = Via { step: "clean.sh:12".into(), line: "  sudo rm -r x".into(), before: None };
        let wrapper = Via { step: "sudo".into(), line: String::new(), before: Some(Rc::new(script)) };
        let mut run = runs("rm -r x").remove(0);
        assert_eq!(shown(&run), "`rm -r x`");
        run.origin = Some(Origin { span: (0, 1), via: Some(Rc::new(wrapper)) });
        assert_eq!(shown(&run), "`rm -r x` in clean.sh:12 (`sudo rm -r x`)");
        run.words.push("it's\n\u{202e}\"q\"".into());
        assert!(shown(&run).starts_with("`rm -r x it's\\n\\u{202e}\"q\"` in"), "{}", shown(&run));
    }

    #[test]
    fn blocked_words_match_parsed_commands() {
        for (block, command, blocked) in [
            ("rm -rf", "rm -r -f x", true),
            ("rm -rf", "rm x", false),
            ("rm -rf", "echo rm -rf", false),
            ("git push --force", "git push origin main --force", true),
            ("git push --force", "git push --force-with-lease", false),
            ("curl", "curl https://x", true),
            ("find -delete", "find . -delete", true),
        ] {
            let run = runs(command).remove(0);
            assert_eq!(Blocked::of(block).is(&canonical(&run, None)), blocked, "{block}: {command}");
        }
    }

    #[test]
    fn an_unknown_pack_or_a_blocked_command_without_a_name_is_an_error() {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let packs = |names: &[&str]| Destructive { packs: Some(words(names)), ..Destructive::default() };
        let block = |commands: &[&str]| Destructive { block: words(commands), ..Destructive::default() };
        for right in [packs(&["core", "git"]), packs(&[]), block(&["rm -rf", "curl"])] {
            assert_eq!(right.check(), Ok(()), "{right:?}");
        }
        for (wrong, complaint) in [
            (packs(&["git", "gti"]), "unknown pack `gti`, expected one of `cloud`, "),
            (block(&["curl", " "]), "` ` in `block` names no command"),
            (block(&["-rf"]), "`-rf` in `block` names no command"),
        ] {
            let complained = wrong.check().unwrap_err();
            assert!(complained.starts_with(complaint), "{complained}");
        }
    }

    #[test]
    #[cfg(feature = "files")]
    fn two_rules_that_match_the_same_command_give_one_finding() {
        let said = |settings: &str, command: &str| {
            let settings: Settings = toml::from_str(settings).unwrap();
            let found = judged(&CommandRules::of(&settings), command, command);
            found.into_iter().map(|(_, message)| message).collect::<Vec<_>>()
        };
        for (settings, command, rule) in [
            ("", "git checkout -f main -- src", "git-checkout-force"),
            ("", "git branch --del --forc x", "git-branch-delete-force"),
            ("", "sysctl -w a=b", "system-sysctl"),
            ("[policy.destructive]\npacks = [\"core\", \"git\"]", "git push -f", "core-git-push-force"),
            ("[rules]\ngit-checkout-force = \"allow\"", "git checkout -f main -- src", "git-checkout-paths"),
        ] {
            let messages = said(settings, command);
            let [message] = &messages[..] else { panic!("{command}: {messages:?}") };
            assert!(message.ends_with(&format!(" [destructive: {rule}]")), "{message}");
        }
        assert_eq!(said("", "shred /dev/sda"), [""; 0], "the floor has said so");
    }

    #[test]
    #[cfg(feature = "files")]
    fn a_rule_is_switched_by_its_id() {
        let decided = |settings: &str, command: &str| {
            let settings: Settings = toml::from_str(settings).unwrap();
            judged(&CommandRules::of(&settings), command, command).first().map(|(decision, _)| *decision)
        };
        for (settings, command, decision) in [
            ("", "git push --force-with-lease", None),
            ("git-push-lease = \"deny\"", "git push --force-with-lease", Some(Decision::Deny)),
            ("", "git reset --hard", Some(Decision::Deny)),
            ("git-reset-hard = \"ask\"", "git reset --hard", Some(Decision::Ask)),
            ("git-reset-hard = \"allow\"", "git reset --hard", None),
            ("", "git config user.email", None),
            ("core-git-email = \"ask\"", "git config user.email", Some(Decision::Ask)),
            (
                "own = \"ask\"\n[[command]]\nid = \"own\"\nmessage = \"no\"\ncommand = [\"x\"]",
                "x",
                Some(Decision::Ask),
            ),
        ] {
            assert_eq!(decided(&format!("[rules]\n{settings}"), command), decision, "{settings} {command}");
        }
    }
}
