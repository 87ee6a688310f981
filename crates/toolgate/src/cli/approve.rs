//! `toolgate approve`, `reject` and `pending`: a person's word about one call that was stopped.
//!
//! Against whom: an agent that runs these commands, and a note in the state directory that shows one call and means another. A person
//! proves to be one as `people` says; what is shown is judged anew from the event itself, and has to be the call that the note is about.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;
use serde::Serialize;
use serde_json::json;
use toolgate_evidence::Digest;
use toolgate_gate::approval::{Pending, action_of, action_text, answer, reject, required};
use toolgate_gate::counter::SessionCounter;
use toolgate_gate::dirs::Dirs;
use toolgate_gate::explain::explain;
use toolgate_gate::gather::gather;
use toolgate_gate::line;
use toolgate_gate::settings::FILE;
use toolgate_gate::store::write_private;
use toolgate_hosts::host;
use toolgate_model::{Call, Require, shorten, visible};
use toolgate_policies::{Response, Rights};
use toolgate_secrets::redact;
use toolgate_setup::allow::{Opening, OpeningTerms, SettingsChange};
use toolgate_setup::approval::{About, Statement, verified};
use toolgate_setup::this_machine;

use super::Out;
use super::allow::{pattern_of, write_agreed};
use super::check::{one_line, picture};
use super::people::{
    Agreement, Asked, HomeArgs, Loosened, agreed_to_call, record, record_agreed, required_at, signature_of,
    signed, user,
};

/// What is said where no call waits under a code.
const NOTHING_WAITS: &str = "nothing waits under this code: `toolgate pending` lists what does. What the floor denies (the gate's own files \
     and commands, secret files, disks) has no code, since nobody can approve it";

/// Show what a stopped call would do, and let it through; only for a person
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  toolgate approve 7KQF-2MXD\n  toolgate approve 7KQF-2MXD --for 60 --uses 3\n  toolgate approve 7KQF-2MXD --statement > statement\n  toolgate approve 7KQF-2MXD --signature statement.sig\n\nIt is for this call: the same session, agent, directory and input. With --place or --rule, your settings are opened for good, or --until a day, as with `toolgate allow`."
)]
pub(super) struct Approve {
    /// The code that the denial or the question names
    code: String,
    /// For how many minutes, 480 at most
    #[arg(long = "for", value_name = "MINUTES", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=480))]
    minutes: u64,
    /// For how many such calls, 20 at most
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=20))]
    uses: u32,
    /// Print the statement for somebody else to sign: ssh-keygen -Y sign -n toolgate -f KEY FILE
    #[arg(long, conflicts_with = "signature")]
    statement: bool,
    /// Take the signature of the statement
    #[arg(long, value_name = "FILE", conflicts_with_all = ["minutes", "uses"])]
    signature: Option<PathBuf>,
    #[command(flatten)]
    wider: Wider,
    #[command(flatten)]
    home: HomeArgs,
}

/// What is opened besides this one call, in the user's settings.
#[derive(Debug, Args)]
struct Wider {
    /// Open a place that the call needs, and what is below it, for reading
    #[arg(long, value_name = "PATH", conflicts_with_all = ["rule", "statement", "signature", "minutes", "uses"])]
    place: Option<PathBuf>,
    /// Open that place for writing too
    #[arg(long, requires = "place")]
    write: bool,
    /// Switch off a rule that stops the call
    #[arg(long, value_name = "ID", conflicts_with_all = ["statement", "signature", "minutes", "uses"])]
    rule: Option<String>,
    /// The last day on which that holds (2026-12-31), or the moment at which it ends
    #[arg(long)]
    until: Option<String>,
}

impl Wider {
    /// What would be opened. Nothing but what stops this call: whoever approves looks at the call, and not at all settings.
    fn opening(&self, dirs: &Dirs, pending: &Pending) -> Result<Option<Opening>, String> {
        let objections = &pending.objections;
        let opening = match (&self.place, &self.rule) {
            (None, None) if self.until.is_some() => {
                return Err("--until goes with --place or --rule; one call is let through with --for".into());
            }
            (None, None) => return Ok(None),
            (Some(place), _) => {
                let real =
                    fs::canonicalize(place).map_err(|error| format!("{}: {error}", place.display()))?;
                let is_in = |path: &str| !path.is_empty() && Path::new(path).starts_with(&real);
                if !objections.iter().any(|objection| is_in(&objection.path)) {
                    return Err(format!("nothing that stops this call is in `{}`", real.display()));
                }
                let rights = if self.write { Rights::Write } else { Rights::Read };
                Opening::Place { path: pattern_of(place, &dirs.home)?.text, rights, ask: false }
            }
            (None, Some(rule)) => {
                if !objections.iter().any(|objection| objection.rule == *rule) {
                    return Err(format!("the rule `{}` does not stop this call", visible(rule)));
                }
                Opening::Rules { ids: vec![rule.clone()], response: Response::Allow }
            }
        };
        Ok(Some(opening))
    }
}

/// Reject a stopped call, with a note for the agent
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  toolgate reject 7KQF-2MXD 'use the staging database'")]
pub(super) struct Reject {
    /// The code that the denial or the question names
    code: String,
    /// Why, for the agent
    why: String,
    #[command(flatten)]
    home: HomeArgs,
}

/// List the calls that wait for a person's answer
#[derive(Debug, Args)]
pub(super) struct ListPending {
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    home: HomeArgs,
}

/// A call that waits, and what would become of it now.
struct Shown {
    pending: Pending,
    /// Drawn for this terminal.
    drawn: String,
    /// What is approved is this text.
    plain: String,
    /// The input, and what the host says that the call does: the texts whose digests are approved.
    input: String,
    action: String,
    require: Require,
}

impl Approve {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let dirs = self.home.dirs()?;
        let shown = show(&dirs, &self.code, out.colour)?;
        let Shown { pending, require, .. } = &shown;
        let root = Some(Path::new(&pending.subject.root)).filter(|root| root.is_absolute());
        if let Some(opening) = self.wider.opening(&dirs, pending)? {
            // INVARIANT: to open more is never had for less than the one call.
            if *require > required_at(&dirs, root, &Loosened::Openings(&[&opening]))? {
                return Err(format!(
                    "this call needs `{}`, and settings are opened for less: approve it without --place and --rule",
                    require.word()
                ));
            }
            out.line(&shown.drawn)?;
            out.line("")?;
            let reason = Some(format!("approved with {}", pending.code));
            let terms = OpeningTerms { reason, until: self.wider.until.clone() };
            let change = SettingsChange::plan(&dirs.config.join(FILE), &opening, &terms)?;
            out.diff(&change.diff())?;
            write_agreed(out, &dirs, root, &[&opening], &change, "security-warning: allow")?;
            out.line("have the agent try it again")?;
            return Ok(ExitCode::SUCCESS);
        }
        let question = self.question(pending);
        let asked = Asked { dirs: &dirs, root, require: *require, question: &question };
        let kept = dirs.state.join("approvals/statements").join(pending.code.as_str());
        let failed = |error: io::Error| format!("{}: {error}", kept.display());
        if self.statement {
            let text = self.about(&shown)?.text().map_err(failed)?;
            write_private(&kept, &text).map_err(failed)?;
            let _ = writeln!(io::stderr(), "{}", shown.drawn);
            out.stdout
                .write_all(&text)
                .and_then(|()| out.stdout.flush())
                .map_err(|error| error.to_string())?;
            return Ok(ExitCode::SUCCESS);
        }
        let (statement, done) = if let Some(file) = &self.signature {
            let text = fs::read(&kept).map_err(|_| {
                format!("print the statement first: `toolgate approve {} --statement`", pending.code)
            })?;
            let statement =
                Statement::parse(&text).ok_or_else(|| failed(io::ErrorKind::InvalidData.into()))?;
            let done = signed(&asked, &statement, &signature_of(file)?)?;
            (statement, done)
        } else {
            out.line(&shown.drawn)?;
            out.line("")?;
            let statement = self.about(&shown)?;
            let done = agreed_to_call(out, &asked, &statement, &shown.input, &shown.action)?;
            (statement, done)
        };
        let bytes = done.answer.clone();
        // As the hook will see it.
        let found = verified(&this_machine(), &dirs, &pending.subject, &bytes)?;
        let agreement = Agreement::of(&statement, done, &question)?;
        let (uses, until) = (found.uses.to_string(), statement.expires.to_string());
        let about = [
            ("code", pending.code.as_str()),
            ("tool", &pending.subject.tool),
            ("input", &pending.subject.input),
            ("session", &pending.subject.session),
            ("uses", &uses),
            ("expires", &until),
        ];
        record_agreed(&dirs, "security-warning: approve", &about, &agreement)?;
        answer(&dirs, pending, &bytes).map_err(|error| error.to_string())?;
        let _ = fs::remove_file(&kept);
        let signer = &agreement.signer;
        let how = signer.strength.word();
        out.line(format!("approved by {} ({how}); have the agent try it again", signer.name))?;
        Ok(ExitCode::SUCCESS)
    }

    fn question(&self, pending: &Pending) -> String {
        let times = if self.uses == 1 { "once".to_owned() } else { format!("{} times", self.uses) };
        format!(
            "Let this call run {times} within {} minutes, in session {} of {}, with all your rights and without a sandbox?",
            self.minutes,
            visible(&shorten(&pending.subject.session, 40)),
            pending.subject.host
        )
    }

    fn about(&self, shown: &Shown) -> Result<Statement, String> {
        let Pending { code, subject, objections, .. } = &shown.pending;
        let about = About::Call {
            code: code.clone(),
            subject: subject.clone(),
            objections: objections.clone(),
            uses: self.uses,
        };
        let length = Duration::from_mins(self.minutes);
        Statement::new(about, &user(), &shown.plain, SystemTime::now(), length)
            .map_err(|error| error.to_string())
    }
}

impl Reject {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        const LONGEST_NOTE: usize = 240;
        let dirs = self.home.dirs()?;
        let pending = find(&dirs, &self.code)?;
        let note = redact(&shorten(&visible(&self.why).replace('\n', " "), LONGEST_NOTE)).into_string();
        record(
            &dirs,
            "reject",
            &[("code", &pending.code), ("input", &pending.subject.input), ("note", &note)],
        )?;
        reject(&dirs, &pending, &user(), &note, SystemTime::now()).map_err(|error| error.to_string())?;
        out.line("rejected; the agent reads why when it tries again")?;
        Ok(ExitCode::SUCCESS)
    }
}

impl ListPending {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let dirs = self.home.dirs()?;
        let pending = Pending::all(&this_machine(), &dirs).map_err(|error| error.to_string())?;
        let rows: Vec<Row> = pending.iter().map(|pending| Row::of(&dirs, pending)).collect();
        if self.json {
            out.json(&json!({ "pending": rows }))?;
            return Ok(ExitCode::SUCCESS);
        }
        if rows.is_empty() {
            out.line("nothing waits")?;
        }
        for row in rows {
            let Row { code, minutes, call, message, .. } = row;
            out.line(format!("{}  {minutes} min  {}", out.paint("1", &code), visible(&call)))?;
            out.line(format!("           {}", visible(&message)))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Serialize)]
struct Row {
    code: String,
    /// How long it has waited.
    minutes: u64,
    host: String,
    session: String,
    agent: String,
    root: String,
    call: String,
    message: String,
}

impl Row {
    fn of(dirs: &Dirs, pending: &Pending) -> Row {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let text = |text: &str| redact(text).into_string();
        let subject = &pending.subject;
        let call = with_call(dirs, pending, |call| Ok(one_line(call)));
        Row {
            code: pending.code.clone(),
            minutes: now.saturating_sub(pending.time) / 60,
            host: subject.host.clone(),
            session: text(&subject.session),
            agent: text(&subject.agent),
            root: text(&subject.root),
            call: call.unwrap_or_else(|_| text(&subject.tool)),
            message: pending.message.clone(),
        }
    }
}

fn find(dirs: &Dirs, code: &str) -> Result<Pending, String> {
    let found = Pending::find(&this_machine(), dirs, code).map_err(|error| error.to_string())?;
    found.ok_or_else(|| NOTHING_WAITS.to_owned())
}

/// Reads the call out of the event that was kept.
fn with_call<T>(
    dirs: &Dirs,
    pending: &Pending,
    of: impl FnOnce(&mut Call<'_>) -> Result<T, String>,
) -> Result<T, String> {
    let host = host(&pending.subject.host).ok_or("the host of this call is not known")?;
    let options = pending.options(dirs);
    let machine = this_machine();
    let mut call =
        line::decode(&machine, host, &options, pending.event()).map_err(|failure| failure.to_string())?;
    // An event that does not name its directory was judged where its hook was started.
    let named = host.decode(options.event.as_deref(), pending.event()).ok().and_then(|call| call.cwd);
    if named.is_none() {
        call.cwd = Some(pending.subject.cwd.clone()).filter(|cwd| !cwd.is_empty()).map(Into::into);
    }
    // INVARIANT: what is shown is what is approved. A note that shows one call and means another is nobody's.
    let input = serde_json::to_vec(&call.input).map_err(|error| error.to_string())?;
    let subject = &pending.subject;
    let is_same = call.session.as_deref() == Some(&subject.session)
        && call.tool == subject.tool
        && call.cwd.as_deref().unwrap_or_default() == subject.cwd
        && Digest::of(&input).to_string() == subject.input
        && action_of(&call) == subject.action;
    if is_same {
        of(&mut call)
    } else {
        Err("the note of this call was changed; have the agent try again".into())
    }
}

/// Judges a call that waits anew, and draws it.
fn show(dirs: &Dirs, code: &str, colour: bool) -> Result<Shown, String> {
    let pending = find(dirs, code)?;
    let options = pending.options(dirs);
    let (drawn, plain, input, action, require) = with_call(dirs, &pending, |call| {
        let input = serde_json::to_string(&call.input).map_err(|error| error.to_string())?;
        let action = action_text(call);
        let host = host(&pending.subject.host).ok_or("the host of this call is not known")?;
        // A look is no event of the session: it pins nothing. The root is the one that the session had.
        call.session = None;
        let machine = this_machine().without_variables(&["CLAUDE_PROJECT_DIR"]);
        let mut counter = SessionCounter::looking(&options.dirs.state, call);
        let surroundings =
            gather(&machine, host, &options, call, &mut counter).map_err(|failure| failure.to_string())?;
        let explanation = explain(&machine, call, &surroundings);
        let objecting = explanation.verdict.findings().iter().filter(|finding| finding.decision.objects());
        if let Some(last) = objecting.clone().find(|finding| finding.is_final) {
            return Err(format!("nobody can approve this: {}", redact(&last.message()).into_string()));
        }
        let root = surroundings.session.places.root.as_ref().map(|root| root.lexical.display().to_string());
        let passes: Vec<String> = pending
            .objections
            .iter()
            .map(|objection| {
                let rule = if objection.rule.is_empty() { &objection.policy } else { &objection.rule };
                format!("  {} {}", visible(rule), visible(redact(&objection.path).as_str()))
            })
            .collect();
        let passes = passes.join("\n");
        let draw = |colour| {
            let drawn = picture(call, &explanation, root.as_deref(), colour);
            format!("{drawn}\nobjections that an approval lets pass:\n{passes}")
        };
        Ok((draw(colour), draw(false), input, action, required(&surroundings, &pending.objections)))
    })?;
    Ok(Shown { pending, drawn, plain, input, action, require })
}
