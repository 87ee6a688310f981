//! `toolgate suggest`: the narrowest settings that would have let through what people approved, or what agents needed again and again.
//!
//! It names places, not the texts of commands: a place is needed again, a text hardly ever. What it proposes has been tried: every call is judged
//! again with the proposal in force, and what does not help is left out. So the floor is its bound, and so is an administrator's file.
//!
//! Against whom: an agent that asks again and again for what it should not have. Nothing is written unless a person says yes, by the same road
//! as `toolgate allow`; a place that its user has closed by name is not proposed; and files are folded into their directory only where no secret
//! lies in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;
use serde::Serialize;
use toolgate_gate::options::HookOptions;
use toolgate_gate::settings::{FILE, SettingsSources};
use toolgate_model::{Decision, Places, secret_name, visible};
use toolgate_policies::{Response, Rights, Settings, read_noting, settings_of};
use toolgate_setup::allow::{Opening, OpeningTerms, SettingsChange};

use super::allow::write_agreed;
use super::people::PlaceArgs;
use super::replay::{Need, Needs, Wanted, judged_again, needs, shown};
use super::transcripts::TranscriptArgs;
use super::{LineArgs, Out, layers_of};

/// Propose the narrowest settings for what people approved, or for what agents needed again and again
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  toolgate suggest\n  toolgate suggest --since 7d --least 5\n  toolgate suggest --apply\n\nNothing is written without --apply and a person's yes."
)]
pub(super) struct Suggest {
    #[command(flatten)]
    transcripts: TranscriptArgs,
    /// How far back, as 12h, 7d or 4w
    #[arg(long, default_value = "30d", value_parser = humantime::parse_duration)]
    since: Duration,
    /// Propose what at least this many calls needed; two approved calls are enough
    #[arg(long, default_value_t = 3)]
    least: usize,
    /// Ask, and write the proposal; only for a person at a terminal
    #[arg(long, conflicts_with = "json")]
    apply: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    line: LineArgs,
}

/// So many approvals are enough.
const APPROVED: usize = 2;

/// Something that is proposed, with its reasons.
#[derive(Debug, Serialize)]
struct Proposal {
    /// `read`, `write`, `ask` or `allow`.
    what: &'static str,
    /// The place, or the id of the rule.
    name: String,
    calls: usize,
    sessions: usize,
    approved: usize,
    example: String,
    #[serde(skip)]
    opening: Opening,
}

#[derive(Debug, Serialize)]
struct Report<'r> {
    /// Calls that are stopped today.
    stopped: u64,
    /// Those that would run, or be asked about, with the proposal.
    let_through: usize,
    proposals: &'r [Proposal],
    /// What stops calls that nothing here opens, and how many.
    beyond: &'r BTreeMap<String, u64>,
    diff: String,
}

impl Suggest {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let options = self.line.options()?;
        let from = SystemTime::now().checked_sub(self.since).unwrap_or(SystemTime::UNIX_EPOCH);
        let needs = needs(&options, &self.transcripts, from)?;
        let file = options.dirs.config.join(FILE);
        let finder = Finder::of(&options, &needs, self.least)?;
        let proposals = finder.proposals()?;
        let entries = entries(&proposals);
        let change = SettingsChange::plan_all(&file, &entries)?;
        let stopped = needs.calls.len() as u64 + needs.beyond.values().sum::<u64>();
        let passed = finder.passing(&entries)?;
        let report = Report {
            stopped,
            let_through: passed.iter().filter(|passes| **passes).count(),
            proposals: &proposals,
            beyond: &needs.beyond,
            diff: if change.changes() { change.diff() } else { String::new() },
        };
        if self.json {
            out.json(&report)?;
            return Ok(ExitCode::SUCCESS);
        }
        report.print(out)?;
        if proposals.is_empty() || !change.changes() {
            return Ok(ExitCode::SUCCESS);
        }
        if !self.apply {
            out.line("nothing was written; `toolgate suggest --apply` asks you, and writes it")?;
            return Ok(ExitCode::SUCCESS);
        }
        let openings: Vec<&Opening> = entries.iter().map(|(opening, _)| opening).collect();
        write_agreed(out, &options.dirs, finder.root(), &openings, &change, "security-warning: suggest")?;
        Ok(ExitCode::SUCCESS)
    }
}

fn entries(proposals: &[Proposal]) -> Vec<(Opening, OpeningTerms)> {
    let entry = |proposal: &Proposal| {
        (proposal.opening.clone(), OpeningTerms { reason: Some(proposal.reason()), until: None })
    };
    proposals.iter().map(entry).collect()
}

impl Proposal {
    /// Why, in a line.
    fn reason(&self) -> String {
        let calls = if self.calls == 1 { "call" } else { "calls" };
        let sessions = if self.sessions == 1 { "session" } else { "sessions" };
        format!(
            "{} {calls} in {} {sessions} needed it, {} approved",
            self.calls, self.sessions, self.approved
        )
    }
}

impl Report<'_> {
    fn print(&self, out: &mut Out) -> Result<(), String> {
        if self.proposals.is_empty() {
            out.line(format!(
                "nothing to propose: {} calls are stopped, and no place or rule is needed often enough",
                self.stopped
            ))?;
        } else {
            out.line(format!(
                "{} calls are stopped today; {} of them would not be with this:",
                self.stopped, self.let_through
            ))?;
        }
        for proposal in self.proposals {
            out.line(format!("  {} {}: {}", proposal.what, proposal.name, proposal.reason()))?;
            out.line(format!("      {}", proposal.example))?;
        }
        for (why, count) in self.beyond {
            out.line(format!("{count:>8}  left as they are: {}", visible(why)))?;
        }
        out.diff(&self.diff)
    }
}

/// Finds what to propose.
struct Finder<'f> {
    options: &'f HookOptions,
    needs: &'f Needs,
    least: usize,
    places: Places,
    layers: Vec<Settings>,
    /// What the user's own file says.
    own: Settings,
    text: String,
}

impl<'f> Finder<'f> {
    fn of(options: &'f HookOptions, needs: &'f Needs, least: usize) -> Result<Finder<'f>, String> {
        let dirs = &options.dirs;
        let places = PlaceArgs { root: options.session.root.clone(), ..PlaceArgs::default() }.places(dirs)?;
        let layers = layers_of(&SettingsSources::of(dirs, &places, None, "worktree"))?;
        let file = dirs.config.join(FILE);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(format!("{}: {error}", file.display())),
        };
        let own = read_noting(&text).and_then(|layer| settings_of(&layer.table));
        let own = own.map_err(|error| format!("{}: {}", file.display(), error.what))?;
        Ok(Finder { options, needs, least, places, layers, own, text })
    }

    fn root(&self) -> Option<&Path> {
        self.places.root.as_ref().map(|root| root.physical.as_path())
    }

    fn proposals(&self) -> Result<Vec<Proposal>, String> {
        let folded = self.folded();
        let rules = self.rules();
        let openings = |rights: &dyn Fn(&Path) -> Rights| -> Vec<(Opening, OpeningTerms)> {
            let places = folded.iter().filter_map(|place| self.opening(place, rights(place)));
            places.chain(rules.iter().cloned()).map(|opening| (opening, OpeningTerms::default())).collect()
        };
        // Reading is enough, unless something is still objected there.
        let mut written: BTreeSet<&PathBuf> = BTreeSet::new();
        for wanted in self.wanted_with(&openings(&|_| Rights::Read))?.into_iter().flatten().flatten() {
            written.extend(wanted.0.iter().filter_map(|path| holding(&folded, Path::new(path))));
        }
        let rights =
            |place: &Path| if written.contains(&place.to_path_buf()) { Rights::Write } else { Rights::Read };
        let passes = self.passing(&openings(&rights))?;
        let helped: Vec<&Need> =
            self.needs.calls.iter().zip(passes).filter(|(_, passes)| *passes).map(|(need, _)| need).collect();
        let mut proposals = Vec::new();
        for place in &folded {
            let needed = |need: &&Need| {
                need.places.iter().any(|path| holding(&folded, Path::new(path)) == Some(place))
            };
            let what = if rights(place) == Rights::Write { "write" } else { "read" };
            proposals.extend(
                self.opening(place, rights(place))
                    .and_then(|opening| self.proposal(what, opening, &helped, &needed)),
            );
        }
        for opening in rules {
            let Opening::Rules { ids, response } = &opening else { continue };
            let (ids, what) = (ids.clone(), response.word());
            let needed = |need: &&Need| ids.iter().any(|id| need.rules.contains_key(id));
            proposals.extend(self.proposal(what, opening, &helped, &needed));
        }
        Ok(proposals)
    }

    /// Something that enough of the calls needed which it lets through.
    fn proposal(
        &self,
        what: &'static str,
        opening: Opening,
        helped: &[&Need],
        needed: &dyn Fn(&&Need) -> bool,
    ) -> Option<Proposal> {
        let calls: Vec<&&Need> = helped.iter().filter(|need| needed(need)).collect();
        let approved = calls.iter().filter(|need| self.needs.is_approved(need)).count();
        let sessions: BTreeSet<u64> = calls.iter().map(|need| need.session).collect();
        let name = match &opening {
            Opening::Place { path, .. } => path.clone(),
            Opening::Rules { ids, .. } => ids.join(", "),
        };
        let is_enough = calls.len() >= self.least.max(1) || approved >= APPROVED;
        let example = shown(&calls.first()?.call);
        is_enough.then_some(Proposal {
            what,
            name,
            calls: calls.len(),
            sessions: sessions.len(),
            approved,
            example,
            opening,
        })
    }

    /// The places that calls needed: a file, or the directory of several where that opens no more than a person would mean.
    fn folded(&self) -> Vec<PathBuf> {
        let mut by_directory: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
        for path in self.needs.calls.iter().flat_map(|need| &need.places).map(PathBuf::from) {
            let directory = path.parent().map(Path::to_path_buf).unwrap_or_default();
            by_directory.entry(directory).or_default().insert(path);
        }
        let mut folded: Vec<PathBuf> = Vec::new();
        for (directory, files) in by_directory {
            // What lies above comes first, and holds what lies below.
            let is_new = |path: &PathBuf| holding(&folded, path).is_none();
            let new: Vec<PathBuf> = if files.len() > 1 && self.may_be_opened(&directory) {
                [directory].into_iter().filter(is_new).collect()
            } else {
                files.into_iter().filter(is_new).collect()
            };
            folded.extend(new);
        }
        folded
    }

    /// Whether a directory can be opened for the sake of a few files in it.
    fn may_be_opened(&self, directory: &Path) -> bool {
        let homes = self.places.home.iter().chain(&self.places.root);
        let holds_own = homes
            .into_iter()
            .any(|own| own.physical.starts_with(directory) || own.lexical.starts_with(directory));
        // `/etc` and `/usr` hold more than anybody means.
        let is_wide = directory.components().count() <= 2;
        let is_secret = |path: &Path| {
            secret_name(&path.to_string_lossy()).is_some()
                || self.layers.iter().any(|layer| layer.keeps_secrets_at(path, &self.places))
        };
        let below = fs::read_dir(directory).into_iter().flatten().flatten();
        !holds_own
            && !is_wide
            && !is_secret(directory)
            && !below.into_iter().any(|entry| is_secret(&entry.path()))
    }

    /// A place as an entry of the user's file; `None` where it cannot be written as one, or where the user has closed it by name.
    fn opening(&self, place: &Path, rights: Rights) -> Option<Opening> {
        let home = self.places.home.as_ref();
        let below = home.and_then(|home| {
            place.strip_prefix(&home.lexical).or_else(|_| place.strip_prefix(&home.physical)).ok()
        });
        let path = match below {
            Some(below) => format!("~/{}", below.to_str()?),
            None => place.to_str()?.to_owned(),
        };
        let is_theirs =
            |entry: &str| path == entry || path.strip_prefix(entry).is_some_and(|rest| rest.starts_with('/'));
        let is_closed = self
            .own
            .scope
            .iter()
            .any(|entry| is_theirs(&entry.path) && (entry.ask || entry.rights == Rights::None));
        let is_plain = path != "~/"
            && path.starts_with(['/', '~'])
            && !path.contains(['*', '{'])
            && !path.contains(char::is_control);
        (is_plain && !is_closed).then_some(Opening::Place { path, rights, ask: false })
    }

    /// Rules that people let pass: what was denied is asked, what was asked is allowed.
    fn rules(&self) -> Vec<Opening> {
        let mut approved: BTreeMap<&String, (usize, Decision)> = BTreeMap::new();
        for need in self.needs.calls.iter().filter(|need| self.needs.is_approved(need)) {
            for (rule, decision) in &need.rules {
                let known = approved.entry(rule).or_insert((0, *decision));
                *known = (known.0 + 1, known.1.max(*decision));
            }
        }
        let enough = approved
            .into_iter()
            .filter(|(rule, (count, _))| *count >= APPROVED && self.own.rules.get(rule).is_none());
        let opening = |(rule, (_, decision)): (&String, (usize, Decision))| {
            let response = if decision.denies() { Response::Ask } else { Response::Allow };
            Opening::Rules { ids: vec![rule.clone()], response }
        };
        enough.map(opening).collect()
    }

    /// What each call would still need with these entries; nothing where it would run.
    fn wanted_with(
        &self,
        entries: &[(Opening, OpeningTerms)],
    ) -> Result<Vec<Result<Option<Wanted>, String>>, String> {
        let text = SettingsChange::text_with(&self.text, entries)?;
        judged_again(self.options, text.as_bytes(), &self.needs.calls)
    }

    /// Whether each call would run with these entries, or be asked about where it would be denied.
    fn passing(&self, entries: &[(Opening, OpeningTerms)]) -> Result<Vec<bool>, String> {
        let wanted = self.wanted_with(entries)?;
        let is_milder = |need: &Need, (places, rules): Wanted| {
            let milder = |(rule, decision): (&String, &Decision)| {
                need.rules.get(rule).is_some_and(|before| decision < before)
            };
            places.is_empty() && rules.iter().all(milder)
        };
        let passes = |(need, left): (&Need, Result<Option<Wanted>, String>)| match left {
            Ok(None) => true,
            Ok(Some(left)) => is_milder(need, left),
            Err(_) => false,
        };
        Ok(self.needs.calls.iter().zip(wanted).map(passes).collect())
    }
}

/// The place that holds this path.
fn holding<'p>(places: &'p [PathBuf], path: &Path) -> Option<&'p PathBuf> {
    places.iter().find(|place| path.starts_with(place))
}
