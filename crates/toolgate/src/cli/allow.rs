//! `toolgate allow`: a person opens a place, or sets a rule, in a settings file.
//!
//! Against whom: an agent that runs this command. The gate denies it to every agent (`own-command`), and the answer has to come
//! from a terminal, which an agent has not. The record has it before the file changes.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use toolgate_gate::dirs::Dirs;
use toolgate_gate::machine::Machine as _;
use toolgate_gate::settings::{FILE, SettingsSources, digest};
use toolgate_gate::store::write_private;
use toolgate_model::visible;
use toolgate_policies::{Response, Rights, rules_about};
use toolgate_setup::allow::{Opening, OpeningTerms, SettingsChange};
use toolgate_setup::config::nearest_on_disk;
use toolgate_setup::this_machine;

use super::people::{Loosened, PlaceArgs, confirmed, record_agreed};
use super::{LineArgs, Out};

/// Open a place, or allow what a rule stops; shows what changes and asks. Only for a person at a terminal
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  toolgate allow read ~/Downloads\n  toolgate allow write ../fixtures --until 2026-12-31 --reason 'shared test data'\n  toolgate allow read ~/src/other --ask\n  toolgate allow rule git-checkout-paths\n  toolgate allow program kubectl --ask --scope project"
)]
pub(super) struct Allow {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Let agents read a place and what is below it
    Read(PlaceLine),
    /// Let agents read and write a place and what is below it
    Write(PlaceLine),
    /// Switch a rule off, by the id at the end of its messages
    Rule(NamedLine),
    /// Switch off the rules about a program; some may be about other programs too
    Program(NamedLine),
}

#[derive(Debug, Args)]
struct PlaceLine {
    /// The place: a path, or as in [[scope]] ({main}/docs, **/fixtures)
    place: PathBuf,
    #[command(flatten)]
    terms: TermArgs,
}

#[derive(Debug, Args)]
struct NamedLine {
    /// The rule's id, or the program's name
    name: String,
    #[command(flatten)]
    terms: TermArgs,
}

#[derive(Debug, Args)]
struct TermArgs {
    /// Ask a person each time instead
    #[arg(long)]
    ask: bool,
    /// Why, for whoever reads the file
    #[arg(long)]
    reason: Option<String>,
    /// The last day on which it holds (2026-12-31), or the moment at which it ends (2026-12-31T18:00Z)
    #[arg(long)]
    until: Option<String>,
    /// Whose settings
    #[arg(long, value_enum, default_value = "user")]
    scope: Scope,
    #[command(flatten)]
    line: LineArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scope {
    /// Your own, for all projects
    User,
    /// The project's; it counts where the project's file is trusted
    Project,
}

impl Allow {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let terms = match &self.what {
            What::Read(line) | What::Write(line) => &line.terms,
            What::Rule(line) | What::Program(line) => &line.terms,
        };
        let options = terms.line.options()?;
        let dirs = &options.dirs;
        let places = PlaceArgs { root: options.session.root.clone(), ..PlaceArgs::default() }.places(dirs)?;
        let root = places.root.as_ref().map(|root| root.physical.clone());
        let response = if terms.ask { Response::Ask } else { Response::Allow };
        let mut absent = None;
        let mut place = |line: &PlaceLine, rights| {
            let named = pattern_of(&line.place, &dirs.home)?;
            absent = (!named.is_there).then(|| named.text.clone());
            Ok::<_, String>(Opening::Place { path: named.text, rights, ask: terms.ask })
        };
        let opening = match &self.what {
            What::Read(line) => place(line, Rights::Read)?,
            What::Write(line) => place(line, Rights::Write)?,
            What::Rule(line) => Opening::Rules { ids: vec![line.name.clone()], response },
            What::Program(line) => {
                let ids: Vec<String> = rules_about(&line.name).into_iter().map(str::to_owned).collect();
                if ids.is_empty() {
                    return Err(format!("there is no rule to switch about `{}`", line.name));
                }
                Opening::Rules { ids, response }
            }
        };
        let file = match terms.scope {
            Scope::User => dirs.config.join(FILE),
            Scope::Project => {
                root.as_ref().ok_or("there is no project here; name it with --root")?.join(FILE)
            }
        };
        let conditions = OpeningTerms { reason: terms.reason.clone(), until: terms.until.clone() };
        let change = SettingsChange::plan(&file, &opening, &conditions)?;
        if !change.changes() {
            out.line(format!("{} says so already", file.display()))?;
            return Ok(ExitCode::SUCCESS);
        }
        let sources =
            SettingsSources { root: root.as_deref(), ..SettingsSources::of(dirs, &places, None, "worktree") };
        let machine = this_machine();
        // Who has trusted the file, and sees the change, trusts the changed file.
        let is_trusted = terms.scope == Scope::Project
            && change
                .before
                .as_ref()
                .is_none_or(|before| sources.is_trusted(machine.world(), before.as_bytes()));
        out.diff(&change.diff())?;
        if let Some(absent) = &absent {
            out.line(format!("{} `{absent}` is not there yet", out.paint("33", "note:")))?;
        }
        write_agreed(out, dirs, root.as_deref(), &[&opening], &change, "security-warning: allow")?;
        if is_trusted {
            trust(&sources.trust_note(), change.after.as_bytes())?;
        }
        if terms.scope == Scope::Project && !is_trusted {
            out.line("nobody has trusted this file, so it opens nothing yet: `toolgate trust` shows it and trusts it")?;
        }
        let config = super::config::settings_in_force(&options, "worktree", false)?;
        let is_said = |setting: &str| {
            absent.as_ref().is_some_and(|absent| setting.strip_prefix("[[scope]] ") == Some(absent))
        };
        for found in
            config.without_effect.iter().filter(|found| found.file == file && !is_said(&found.setting))
        {
            out.line(format!("{} {}; {}", out.paint("33", "warning:"), found.line(), found.help))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes a change that was shown, if a person agrees. The record has it before the file changes.
pub(super) fn write_agreed(
    out: &mut Out,
    dirs: &Dirs,
    root: Option<&Path>,
    openings: &[&Opening],
    change: &SettingsChange,
    event: &str,
) -> Result<(), String> {
    let shown = change.file().display().to_string();
    let diff = change.diff();
    let is_change = |line: &&str| {
        line.starts_with(['+', '-'])
            && !line.starts_with("+++ ")
            && !line.starts_with("--- ")
            && line.len() > 1
    };
    // Whoever signs this elsewhere sees nothing else of it.
    let changed: Vec<&str> = diff.lines().filter(is_change).collect();
    let question = format!("Write this into {} ({})?", visible(&shown), visible(&changed.join(", ")));
    let signer = confirmed(out, dirs, root, &Loosened::Openings(openings), &diff, &question)?;
    let about = [("file", shown.as_str()), ("change", &diff)];
    record_agreed(dirs, event, &about, &signer)?;
    change.apply()?;
    out.line(format!("{shown}: written"))
}

/// Adds bytes to those that a person has trusted.
pub(super) fn trust(note: &Path, bytes: &[u8]) -> Result<(), String> {
    let mut known = fs::read_to_string(note).unwrap_or_default();
    known.push_str(&digest(bytes));
    known.push('\n');
    write_private(note, known.as_bytes()).map_err(|error| format!("{}: {error}", note.display()))
}

/// A place as `[[scope]]` names it.
pub(super) struct Named {
    pub(super) text: String,
    is_there: bool,
}

/// The place as `[[scope]]` names it: below the home with `~`, and anything else by its whole path. A denial also names places that
/// are not there, as where a worktree would be made.
pub(super) fn pattern_of(place: &Path, home: &Path) -> Result<Named, String> {
    let text = place.to_str().ok_or("the place is not UTF-8")?;
    if text.starts_with('{') || text.starts_with("**/") || text.starts_with("~/") {
        return Ok(Named { text: text.trim_end_matches('/').to_owned(), is_there: true });
    }
    let absolute = std::path::absolute(place).map_err(|error| error.to_string())?;
    let (real, is_there) = match fs::canonicalize(&absolute) {
        Ok(real) => (real, true),
        Err(_) => (absent_place(&absolute)?, false),
    };
    let home = fs::canonicalize(home).unwrap_or_else(|_| home.to_path_buf());
    if home.starts_with(&real) {
        return Err(format!("`{}` holds all of your files; open what is needed", real.display()));
    }
    let text = match real.strip_prefix(&home) {
        Ok(below) => format!("~/{}", below.to_str().ok_or("the place is not UTF-8")?),
        Err(_) => real.to_str().ok_or("the place is not UTF-8")?.to_owned(),
    };
    if text.contains('*') {
        return Err(format!("`{text}` holds a `*`, which stands for any name in settings"));
    }
    Ok(Named { text, is_there })
}

/// Where a place would be that is not there: the nearest directory that is there, links followed, and the rest as written. A name
/// like one that is there is taken for a misspelt one.
fn absent_place(place: &Path) -> Result<PathBuf, String> {
    let shown = place.display();
    let refused = |why: &str| format!("there is no `{shown}`{why}");
    let there = place.ancestors().find(|above| fs::symlink_metadata(above).is_ok());
    let there = there.ok_or_else(|| refused(""))?;
    // The first name that is not there may be the misspelt one, whatever follows it.
    let first = place.strip_prefix(there).ok().and_then(|rest| rest.components().next());
    if let Some(near) = first.and_then(|first| nearest_on_disk(&there.join(first))) {
        return Err(refused(&format!(
            "; did you mean `{}`? If not, make the directory first",
            near.display()
        )));
    }
    let real = fs::canonicalize(there)
        .map_err(|error| refused(&format!(": `{}` cannot be followed: {error}", there.display())))?;
    if !real.is_dir() {
        return Err(refused(&format!(": `{}` is no directory", there.display())));
    }
    let rest = place.strip_prefix(there).map_err(|_| refused(""))?;
    if rest.components().any(|part| !matches!(part, Component::Normal(_))) {
        return Err(refused(": name it without `..`"));
    }
    Ok(real.join(rest))
}
