//! Case files: calls and what has to become of them, as plain data that any other gate could run too.
//!
//! A file is JSON lines, one case a line, or TOML with `[[case]]` tables. Paths in a case lie in a world of its
//! own, a map of what the case says exists, so nothing on the machine is touched.
//!
//! `{{aws-key}}`, `{{github-token}}`, `{{api-key}}` and `{{slack-token}}` stand for a token of that kind, always the same
//! one: written out, scanners would take the file for a leak.

mod agent_world;
mod map;
pub mod measure;
mod redaction;
mod team;
mod workspace;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toolgate_evidence::render::{ib, parse_ib_line};
use toolgate_gate::gather::Surroundings;
use toolgate_gate::line::{Considered, consider};
use toolgate_gate::record;
use toolgate_gate::session::Session;
use toolgate_gate::settings::RulesInForce;
use toolgate_hosts::{host, tools_like};
use toolgate_model::{Action, ActivationState, Agent, Call, Decision, Json, Place, Places, Terms};
use toolgate_policies::{Containable, Settings, read, stack};

use map::{Map, MapMachine};

/// One case.
#[derive(Debug, Deserialize)]
struct Case<'a> {
    id: String,
    #[serde(default)]
    host_style: String,
    tool: String,
    #[serde(borrow)]
    input: Json<'a>,
    #[serde(default)]
    cwd: String,
    #[serde(default)]
    root: String,
    context: Context,
    expect: String,
    #[serde(default)]
    detail: Detail,
}

/// What the case's world holds and which rules it is about.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Context {
    profile: String,
    /// Settings of the case's own, as in `toolgate.toml`.
    settings: String,
    home: String,
    symlinks: BTreeMap<PathBuf, PathBuf>,
    dirs: Vec<PathBuf>,
    files: Vec<PathBuf>,
    /// Files with what they hold.
    contents: BTreeMap<PathBuf, String>,
    /// Files that the root's repository tracks, by their names below it.
    tracked: Vec<String>,
    main_repo: Option<PathBuf>,
    /// Where the session was started, where its host starts its hooks there.
    start: Option<PathBuf>,
    agents_dir: Option<PathBuf>,
    agent_dir: Option<PathBuf>,
    siblings: Vec<PathBuf>,
    allow_list: Option<Vec<String>>,
    protected_glob: Option<String>,
    policy: ProductPolicy,
    is_agent: Option<bool>,
    agent_id: Option<String>,
    subagent_type: Option<String>,
    trusted: Option<bool>,
    /// The call can be contained, also where it should not be.
    containable: bool,
    /// A contained program of an earlier call is still running.
    alive: bool,
    /// Variables of the host's environment.
    environment: BTreeMap<String, String>,
    mode: Option<String>,
    workspace: Option<workspace::Workspace>,
    #[serde(flatten)]
    team: team::TeamContext,
}

/// Settings in the words of the product that a case comes from.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ProductPolicy {
    #[serde(rename = "blockedCommands")]
    blocked_commands: Option<Vec<String>>,
    #[serde(rename = "scrubPii")]
    scrub_pii: Option<bool>,
    #[serde(rename = "scrubSecrets")]
    scrub_secrets: Option<bool>,
    #[serde(rename = "allowedWritePaths")]
    allowed_write_paths: Option<Vec<String>>,
    #[serde(rename = "maxAskUserPerSession")]
    max_ask_user: Option<u32>,
}

/// What else has to hold.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Detail {
    reason_contains: Vec<String>,
    rewritten: Option<String>,
    log_contains: Vec<String>,
    wire: Option<serde_json::Map<String, serde_json::Value>>,
    policy: Option<String>,
    /// The whole output.
    output: Option<serde_json::Value>,
    /// Parts of the output, by their path in it.
    values: BTreeMap<String, serde_json::Value>,
    /// Texts in it, or pairs of a path and a text there.
    contains: Vec<serde_json::Value>,
    not_contains: Vec<serde_json::Value>,
    /// How many secrets were taken out.
    redactions: Option<usize>,
    /// What the model is told beside it.
    additional_context: Option<String>,
    /// Who is locked out.
    agents: Option<Vec<String>>,
    /// Words of which the reason has one.
    reason_matches: Vec<String>,
    /// What the agent gets for an answer.
    answer: Option<String>,
    /// The name of the error that the reason has to begin with.
    error: Option<String>,
}

/// A case that we do not follow on purpose.
#[derive(Debug, Deserialize)]
struct Disagreement {
    id: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
struct Disagreements {
    #[serde(default)]
    case: Vec<Disagreement>,
}

/// What became of the cases of a file.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Cases that came out as they should.
    pub passed: usize,
    /// Those that did not, each with what is wrong.
    pub failed: Vec<String>,
    /// How many were not run, by the reason.
    pub skipped: BTreeMap<String, usize>,
    /// Those that we do not follow on purpose, each with the reason.
    pub disagreed: Vec<String>,
}

/// Why a file of cases cannot be run.
#[derive(Debug)]
pub struct CaseFileError(pub String);

/// Runs all cases of a file. `disagreements` is the text of a file that lists those not to be followed.
pub fn run(text: &str, toml: bool, disagreements: Option<&str>) -> Result<Outcome, CaseFileError> {
    let known: Disagreements = match disagreements {
        Some(text) => toml::from_str(text).map_err(|error| CaseFileError(error.to_string()))?,
        None => Disagreements { case: Vec::new() },
    };
    let mut outcome = Outcome::default();
    for (number, line) in lines(&with_tokens(text), toml)? {
        let case: Case<'_> =
            serde_json::from_str(&line).map_err(|error| CaseFileError(format!("case {number}: {error}")))?;
        let disagreement = known.case.iter().find(|known| known.id == case.id);
        match (run_case(&case), disagreement) {
            (Ok(()), None) => outcome.passed += 1,
            (Ok(()), Some(_)) => {
                outcome.failed.push(format!("{}: listed as not followed, but it passes", case.id));
            }
            (Err(Trouble::Skip(why)), _) => *outcome.skipped.entry(why).or_default() += 1,
            (Err(Trouble::Wrong(what)), Some(known)) => {
                outcome.disagreed.push(format!("{}: {what} ({})", case.id, known.reason));
            }
            (Err(Trouble::Wrong(what)), None) => outcome.failed.push(format!("{}: {what}", case.id)),
        }
    }
    Ok(outcome)
}

/// The text with a token for each placeholder.
fn with_tokens(text: &str) -> Cow<'_, str> {
    const TOKENS: &[(&str, &str, usize, &[u8])] = &[
        ("{{aws-key}}", "AKIA", 16, b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
        ("{{github-token}}", "ghp_", 36, ALPHANUMERIC),
        ("{{api-key}}", "sk-", 48, ALPHANUMERIC),
        ("{{slack-token}}", "xoxb-", 44, ALPHANUMERIC),
    ];
    const ALPHANUMERIC: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let present = TOKENS.iter().filter(|(placeholder, ..)| text.contains(placeholder));
    present.fold(Cow::Borrowed(text), |text, (placeholder, start, length, letters)| {
        // Steps that share no factor with the number of letters come by all of them, in no order that one sees.
        let rest = letters.iter().cycle().step_by(23).take(*length).map(|letter| char::from(*letter));
        let token: String = start.chars().chain(rest).collect();
        Cow::Owned(text.replace(placeholder, &token))
    })
}

/// A case file in TOML.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    defaults: serde_json::Value,
    case: Vec<serde_json::Value>,
}

fn lines(text: &str, toml: bool) -> Result<Vec<(usize, String)>, CaseFileError> {
    if !toml {
        let lines = text.lines().map(str::to_owned).enumerate().map(|(at, line)| (at + 1, line));
        return Ok(lines.filter(|(_, line)| !line.trim().is_empty()).collect());
    }
    let file: File = toml::from_str(text).map_err(|error| CaseFileError(error.to_string()))?;
    let whole = file.case.iter().map(|case| over(&file.defaults, case).to_string());
    Ok(whole.enumerate().map(|(at, case)| (at + 1, case)).collect())
}

/// A case on top of its file's defaults; `context` is merged, anything else replaced.
fn over(defaults: &serde_json::Value, case: &serde_json::Value) -> serde_json::Value {
    let (serde_json::Value::Object(defaults), serde_json::Value::Object(case)) = (defaults, case) else {
        return case.clone();
    };
    let mut whole = defaults.clone();
    for (key, value) in case {
        let merged = match whole.get(key) {
            Some(below) if key == "context" => over(below, value),
            _ => value.clone(),
        };
        whole.insert(key.clone(), merged);
    }
    serde_json::Value::Object(whole)
}

enum Trouble {
    Skip(String),
    Wrong(String),
}

fn run_case(case: &Case<'_>) -> Result<(), Trouble> {
    if case.context.profile == "audit-line" {
        return audit_line(case);
    }
    // A person at the terminal is not gated.
    if case.context.is_agent == Some(false) {
        return expect(case, "allow", "the gate is not asked");
    }
    let settings = settings(case)?;
    if redaction::is_meant(case) {
        return redaction::run(case, &settings);
    }
    let places = places(case);
    if team::is_meant(case) {
        return team::run(case, &settings, &places);
    }
    let call = call(case);
    let machine = MapMachine(world(case), case.context.environment.clone());
    let rules = RulesInForce { layers: vec![settings], digest: String::new() };
    let session = Session { places: places.clone(), user: String::new(), registration_changed: false };
    let activation =
        ActivationState { trusted: case.context.trusted, mode: case.context.mode.clone(), paused: false };
    let surroundings = Surroundings::new(&machine, &call, session, rules, |_| places.root.clone());
    let can_be = case.context.containable || case.expect == Decision::Contain.word();
    let containable = if can_be { Containable::Yes } else { Containable::NotConsidered };
    let surroundings = Surroundings {
        team: team::team(case),
        containable,
        is_any_alive: case.context.alive,
        ..surroundings.active_as(activation)
    };
    let considered = consider(&machine, &call, &surroundings);
    let verdict = &considered.verdict;
    let word = match verdict.decision() {
        Decision::Allow if !considered.rewrites.is_empty() && case.expect == "rewrite" => "rewrite",
        Decision::Deny if verdict.answer().is_some() && case.expect == "answer" => "answer",
        decision => decision.word(),
    };
    expect(case, word, &verdict.explanation())?;
    details(case, &call, &considered, &machine, &places)
}

fn expect(case: &Case<'_>, word: &str, why: &str) -> Result<(), Trouble> {
    if case.expect == word {
        return Ok(());
    }
    Err(Trouble::Wrong(format!("expected {}, got {word} ({why})", case.expect)))
}

fn details(
    case: &Case<'_>,
    call: &Call<'_>,
    considered: &Considered,
    machine: &MapMachine,
    places: &Places,
) -> Result<(), Trouble> {
    let Considered { verdict, rewrites } = considered;
    let wrong = |what: String| Err(Trouble::Wrong(what));
    let why = verdict.explanation();
    for text in &case.detail.reason_contains {
        if !why.to_lowercase().contains(&text.to_lowercase()) {
            return wrong(format!("the reason lacks `{text}`: {why}"));
        }
    }
    let matches = &case.detail.reason_matches;
    if !matches.is_empty() && !matches.iter().any(|text| why.to_lowercase().contains(&text.to_lowercase())) {
        return wrong(format!("the reason has none of {matches:?}: {why}"));
    }
    if let Some(answer) = &case.detail.answer
        && verdict.answer() != Some(answer)
    {
        return wrong(format!("answered with {:?}", verdict.answer()));
    }
    if let Some(error) = &case.detail.error
        && why.split_once(':').is_none_or(|(name, _)| name != error)
    {
        return wrong(format!("the reason is no `{error}`: {why}"));
    }
    if let Some(policy) = &case.detail.policy
        && !verdict.findings().iter().any(|finding| finding.policy == policy)
    {
        return wrong(format!("not found by `{policy}`: {why}"));
    }
    let rewritten = rewrites.first().map(|(_, text)| text);
    if let Some(expected) = &case.detail.rewritten
        && rewritten != Some(expected)
    {
        return wrong(format!("rewritten to {rewritten:?}, not `{expected}`"));
    }
    if let (Some(wire), Some(host)) = (&case.detail.wire, host("mpm")) {
        let reply = host.encode(call, verdict, &Terms { rewrites: rewrites.clone(), ..Terms::default() });
        let answer: serde_json::Map<_, _> = serde_json::from_str(&reply.stdout).unwrap_or_default();
        if let Some((key, value)) = wire.iter().find(|(key, value)| answer.get(*key) != Some(*value)) {
            return wrong(format!("the answer's `{key}` is not {value}: {}", reply.stdout));
        }
    }
    let draft = record::of_verdict(machine, Path::new("/nonexistent"), call, verdict, places);
    let log = ib(&draft.into_record()).unwrap_or_default();
    for text in &case.detail.log_contains {
        if !log.contains(text.trim_end_matches("...")) {
            return wrong(format!("the log lacks `{text}`: {log}"));
        }
    }
    Ok(())
}

/// A line of an older log has to be read as a denial and to be written the same again.
fn audit_line(case: &Case<'_>) -> Result<(), Trouble> {
    let line = case.input.get("line").and_then(Json::text).unwrap_or_default();
    match parse_ib_line(line) {
        Some(parsed) if parsed.tool != case.tool => {
            Err(Trouble::Wrong(format!("read as a denial of {}", parsed.tool)))
        }
        Some(parsed) if parsed.to_string() != line => Err(Trouble::Wrong(format!("written as {parsed}"))),
        Some(_) => expect(case, "deny", "read as a denial"),
        None => expect(case, "allow", "not read as a denial"),
    }
}

fn settings(case: &Case<'_>) -> Result<Settings, Trouble> {
    let context = &case.context;
    let name = match context.profile.as_str() {
        "worktree-agent" => "ittybitty-compat",
        "worktree-agent-strict" | "self-protection" => "ittybitty",
        "worktree-main" => "main-checkout",
        "tool-allowlist" => "tool-list",
        "permission-policy" => "read-only-roles",
        "squad-policy" => "squad",
        other => other,
    };
    if toolgate_policies::profile(name).is_none() {
        return Err(Trouble::Skip(format!("there is no profile `{name}`")));
    }
    let mut text = context.settings.clone();
    if let Some(allow) = &context.allow_list {
        text.push_str(&format!("\n[policy.unlisted-tool]\nallow = {allow:?}\n"));
    }
    if let Some(block) = &context.policy.blocked_commands {
        // The product's own list stands for all of its rules.
        text.push_str(&format!("\n[policy.destructive]\npacks = []\nblock = {block:?}\n"));
    }
    if let Some(glob) = &context.protected_glob {
        text.push_str(&format!("\n[[scope]]\npath = {glob:?}\nrights = \"none\"\n"));
    }
    text.push_str(&team::settings(case));
    text.push_str(&redaction::settings(case));
    text.push_str(&workspace::settings(case));
    let layer = read(&text).map_err(|error| Trouble::Wrong(format!("settings: {}", error.what)))?;
    stack(Some(name), name, &[&layer]).map_err(|error| Trouble::Wrong(format!("settings: {}", error.what)))
}

fn call<'c>(case: &'c Case<'c>) -> Call<'c> {
    let style = if case.host_style.is_empty() { "claude-code" } else { &case.host_style };
    let action = if case.tool == "self-command" {
        let command = case.input.get("command").and_then(Json::text).unwrap_or_default();
        Action::Run(command.split_whitespace().map(str::to_owned).collect())
    } else {
        tools_like(style).action(&case.tool, &case.input)
    };
    let text = |text: &'c str| (!text.is_empty()).then_some(text.into());
    // A style is also a host where the case says one, so that what that host cannot do counts.
    let host = host(&case.host_style).map_or("case", toolgate_model::Host::id);
    Call {
        cwd: text(team::or_of_team(case, &case.cwd)),
        agent: Agent {
            id: case.context.agent_id.as_deref().map(Into::into),
            kind: case.context.subagent_type.as_deref().map(Into::into),
        },
        ..Call::before(host, case.tool.as_str(), case.input.clone(), action)
    }
}

fn places(case: &Case<'_>) -> Places {
    let context = &case.context;
    let home = if context.home.is_empty() { "/home/someone" } else { &context.home };
    let place = |path: &PathBuf| Place::plain(path.clone());
    let root = team::or_of_team(case, &case.root);
    Places {
        since: None,
        root: (!root.is_empty()).then(|| Place::plain(root)),
        start: context.start.as_ref().map(place),
        project: (!root.is_empty()).then(|| Place::plain(root)),
        main: context.main_repo.as_ref().map(place),
        git: context.main_repo.as_ref().map(|main| Place::plain(main.join(".git"))),
        siblings: context.siblings.iter().map(place).collect(),
        inner: Vec::new(),
        home: Some(Place::plain(home)),
        agents: context.agents_dir.as_ref().map(place),
        agent_dir: context.agent_dir.as_ref().map(place),
        transcripts: None,
        kept: Vec::new(),
        drafts: Vec::new(),
        team: team::directories(Path::new(root), context.main_repo.as_deref()),
        own: vec![
            Place::plain(Path::new(home).join(".config/toolgate")),
            Place::plain(Path::new(home).join(".local/state/toolgate")),
        ],
    }
}

/// What the case names, and nothing else, exists. Where a command runs, a directory is.
fn world(case: &Case<'_>) -> Map {
    let context = &case.context;
    let mut map = Map::default();
    if case.input.get("command").is_some() {
        let places = [&case.cwd, &case.root].into_iter().filter(|place| place.starts_with('/'));
        places.for_each(|place| map.dir(place));
    }
    context.dirs.iter().for_each(|path| map.dir(path));
    context.files.iter().for_each(|path| map.file(path, ""));
    context.contents.iter().for_each(|(path, text)| map.file(path, text));
    if let (Some(text), Some(Json::Text(path))) = (&context.team.file, case.input.get("path")) {
        map.file(Path::new(team::or_of_team(case, &case.root)).join(&**path), text);
    }
    context.symlinks.iter().for_each(|(path, target)| map.link(path, target));
    if !context.tracked.is_empty() {
        let is_link = |name: &str| context.symlinks.contains_key(Path::new(&case.root).join(name).as_path());
        map.file(Path::new(&case.root).join(".git/index"), index(&context.tracked, is_link));
    }
    map
}

/// The names as an index of git has them. Those that are links are links there. The id of the first is `0101…`, of the second `0202…`.
fn index(names: &[String], is_link: impl Fn(&str) -> bool) -> Vec<u8> {
    let count = u32::try_from(names.len()).unwrap_or(u32::MAX);
    let mut index = [&b"DIRC\0\0\0\x02"[..], &count.to_be_bytes()].concat();
    for (name, id) in names.iter().zip(1..) {
        let mode: u32 = if is_link(name) { 0o120_000 } else { 0o100_644 };
        let length = u16::try_from(name.len().min(0xfff)).unwrap_or_default();
        let (facts, id): ([u8; 12], [u8; 20]) = ([0; 12], [id; 20]);
        let entry =
            [&[0; 24][..], &mode.to_be_bytes(), &facts, &id, &length.to_be_bytes(), name.as_bytes()].concat();
        let fill = 8 - entry.len() % 8;
        index.extend(entry);
        index.extend(vec![0; fill]);
    }
    index
}
