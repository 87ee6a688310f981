//! A host whose hooks are commands in a file: what they have in common.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::canary::{self, Probe, Trouble};
use super::{AGAIN, Check, Exam, Status, UNREADABLE, binary, state, text_of};
use crate::register::handler::{CommandLine, ours_of};
use crate::register::{HookForm, HostPlaces, Role, Scope, hook_line, settings_of};

/// What is to be known about such a host.
pub(super) struct Clinic {
    /// How its hooks are written down.
    pub(super) form: &'static HookForm,
    /// Whether it reads JSON with comments. Others drop such a file.
    pub(super) reads_comments: bool,
    /// Why it does not start our handlers of one file, though they stand there.
    pub(super) off: fn(&Source, &HostPlaces) -> Vec<Off>,
    /// What it tells its hook about a call, in a project.
    pub(super) event: fn(&Path, &Probe) -> Value,
    /// Variables in which it tells its hook the project.
    pub(super) vars: &'static [&'static str],
    /// Where in an answer it looks for a decision.
    pub(super) said: &'static [&'static str],
}

/// One reason why hooks do not run.
pub(super) struct Off {
    pub(super) id: &'static str,
    pub(super) text: String,
    pub(super) help: &'static str,
}

/// A file that exists.
pub(super) struct Source {
    pub(super) scope: Scope,
    pub(super) file: PathBuf,
    /// Its text.
    pub(super) text: String,
    /// What it says; nothing where it cannot be made out.
    pub(super) settings: Value,
    /// Why the host drops the whole file.
    dropped: Option<String>,
    /// What the note says of it.
    noted: Noted,
}

/// What the note says of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Noted {
    Nothing,
    AsWritten,
    Changed,
}

/// One of our handlers that fail closed: those that decide about calls.
struct Ours {
    event: &'static str,
    line: CommandLine,
    /// Why it does not judge every call.
    limits: Vec<String>,
    /// What else is not as init writes it.
    differs: Vec<String>,
}

/// Examines the registration; says whether the host asks us.
pub(super) fn examine(exam: &Exam<'_>, clinic: &Clinic, checks: &mut Vec<Check>) -> bool {
    let (subject, host) = (exam.subject, clinic.form.host);
    let sources = sources(exam, clinic, checks);
    exam.gone(checks);
    let off: Vec<_> = sources.iter().map(|source| (clinic.off)(source, subject.places)).collect();
    let live: Vec<_> = sources
        .iter()
        .zip(&off)
        .filter(|(source, off)| source.gates(clinic) && off.is_empty())
        .map(|(source, _)| source)
        .collect();
    // One file that works makes up for what another loses.
    let lost = if live.is_empty() { Status::Fail } else { Status::Warn };
    for (source, off) in sources.iter().zip(off) {
        describe(source, clinic, lost, checks);
        if source.names_us(clinic) {
            checks.extend(off.into_iter().map(|off| Check::new(off.id, lost, off.text).help(off.help)));
        }
    }
    if !sources.iter().any(|source| source.names_us(clinic)) {
        let text = format!("toolgate is in no settings file of {}", exam.host.name());
        checks.push(Check::new("registered", Status::Fail, text).help("run `toolgate init`"));
    }
    if live.len() > 1 {
        let text = format!("{} files register toolgate, so it judges every call once for each", live.len());
        checks
            .push(Check::new("doubled", Status::Warn, text).help("run `toolgate uninstall` for one of them"));
    }
    let has_managed = exam.host.file(subject.places, Scope::Managed).is_ok();
    if has_managed && !live.is_empty() && !live.iter().any(|source| source.scope == Scope::Managed) {
        let text = "any repository and any agent that can write settings can switch these hooks off";
        let help = "only `toolgate init --managed` is out of their reach";
        checks.push(Check::new("scope", Status::Info, text).help(help));
    }
    let programs = live.iter().flat_map(|source| source.decisive(clinic)).map(|ours| ours.line.program());
    checks.extend(programs.collect::<BTreeSet<_>>().iter().map(|program| binary(program, subject)));
    checks.push(state(&subject.dirs.state));
    for source in &live {
        // The first event is the one that every call raises; what the others start differs in its name at most.
        let gate = clinic.form.events.first().map(|(event, _)| *event);
        for Ours { line, .. } in source.decisive(clinic).filter(|ours| Some(ours.event) == gate) {
            let trusted =
                source.noted == Noted::AsWritten || matches!(source.scope, Scope::User | Scope::Managed);
            let asked = canary::Asked { line: &line, host, source: &source.to_string(), trusted };
            canary::canaries(&asked, subject, checks, |project, probe| clinic.ask(&line, project, probe));
        }
    }
    !live.is_empty()
}

fn sources(exam: &Exam<'_>, clinic: &Clinic, checks: &mut Vec<Check>) -> Vec<Source> {
    let mut sources = Vec::new();
    for scope in Scope::ALL {
        let Ok(file) = exam.host.file(exam.subject.places, scope) else { continue };
        let shown = file.display();
        match text_of(&file) {
            None => {
                checks.push(Check::new("settings", Status::Info, format!("no {scope} settings `{shown}`")));
            }
            Some(Err(error)) => {
                let text = format!("{scope} settings `{shown}` cannot be read: {error}");
                checks.push(Check::new("settings", Status::Warn, text).help(UNREADABLE));
            }
            Some(Ok(text)) => {
                let settings = settings_of(&file, &text);
                let dropped = clinic.why_dropped(&file, &text, settings.as_ref());
                let noted = match exam.noted.find(exam.host.id(), &file) {
                    None => Noted::Nothing,
                    Some(_) if exam.wrote(&file, &text) => Noted::AsWritten,
                    Some(_) => Noted::Changed,
                };
                let settings = settings.unwrap_or_default();
                sources.push(Source { scope, file, text, settings, dropped, noted });
            }
        }
    }
    sources
}

/// How one file stands.
fn describe(source: &Source, clinic: &Clinic, lost: Status, checks: &mut Vec<Check>) {
    if let Some(dropped) = &source.dropped {
        let status = if source.names_us(clinic) { lost } else { Status::Info };
        let text = format!("{dropped} in the {source}: the client drops the whole file");
        checks.push(
            Check::new("readable", status, text).help("fix that, or remove the file and run `toolgate init`"),
        );
        return;
    }
    let is_heard = |event: &str| ours_of(&source.settings, clinic.form.host, event).next().is_some();
    let (heard, missing): (Vec<_>, Vec<_>) =
        clinic.form.events.iter().partition(|(event, _)| is_heard(event));
    if heard.is_empty() {
        checks.push(Check::new("settings", Status::Info, format!("{source}, without toolgate")));
        return;
    }
    let names =
        |events: &[(&str, Role)]| events.iter().map(|(event, _)| *event).collect::<Vec<_>>().join(", ");
    let status = if source.gates(clinic) { Status::Ok } else { Status::Warn };
    let noted = match source.noted {
        Noted::Nothing => "not written by this person's init",
        Noted::AsWritten => "as init wrote them",
        Noted::Changed => "changed since init wrote them",
    };
    let text = format!("in the {source} ({noted}) for {}", names(&heard));
    let registered = Check::new("registered", status, text);
    checks.push(if status == Status::Ok { registered } else { registered.help(AGAIN) });
    let (closed, open): (Vec<_>, Vec<_>) =
        missing.into_iter().partition(|(_, role)| *role == Role::FailsClosed);
    for (events, status) in [(closed, lost), (open, Status::Warn)] {
        if !events.is_empty() {
            let text = format!("no handler for {} in the {source}", names(&events));
            checks.push(Check::new("events", status, text).help(AGAIN));
        }
    }
    for ours in source.decisive(clinic) {
        for limit in &ours.limits {
            let text = format!("{limit}, for {} in the {source}", ours.event);
            checks.push(Check::new("limits", lost, text).help(AGAIN));
        }
        if !ours.differs.is_empty() {
            let differs = ours.differs.join(", ");
            let text = format!("{differs} for {} in the {source} is not as init writes it", ours.event);
            checks.push(Check::new("form", Status::Warn, text).help(AGAIN));
        }
    }
}

impl Source {
    /// Our handlers that decide about calls.
    fn decisive<'a>(&'a self, clinic: &'a Clinic) -> impl Iterator<Item = Ours> + 'a {
        let events = clinic.form.events.iter().filter(|(_, role)| *role == Role::FailsClosed);
        events.flat_map(move |&(event, role)| {
            let ours = ours_of(&self.settings, clinic.form.host, event);
            ours.filter_map(move |(_, _, element, handler)| {
                Ours::of(clinic.form, event, role, element, handler)
            })
        })
    }

    /// Whether the host, reading this file, asks us about every call before it runs.
    fn gates(&self, clinic: &Clinic) -> bool {
        let whole: BTreeSet<_> =
            self.decisive(clinic).filter(|ours| ours.limits.is_empty()).map(|ours| ours.event).collect();
        let mut needed = clinic.form.events.iter().filter(|(_, role)| *role == Role::FailsClosed);
        self.dropped.is_none() && needed.all(|(event, _)| whole.contains(event))
    }

    /// Whether we stand in it, be it in a part that nobody can read.
    fn names_us(&self, clinic: &Clinic) -> bool {
        let mut events = clinic.form.events.iter();
        events.any(|(event, _)| ours_of(&self.settings, clinic.form.host, event).next().is_some())
            || (self.dropped.is_some() && self.text.contains("toolgate"))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} settings `{}`", self.scope, self.file.display())
    }
}

/// Members that change nothing about when a handler is started, or how it is heard.
const HARMLESS: &[&str] = &["name", "description", "statusMessage"];

impl Ours {
    fn of(
        form: &HookForm,
        event: &'static str,
        role: Role,
        element: &Value,
        handler: &Value,
    ) -> Option<Ours> {
        let line = CommandLine::of(handler)?;
        let mut ours = Ours { event, limits: Vec::new(), differs: Vec::new(), line };
        let matcher = element.get("matcher").and_then(Value::as_str);
        if let Some(matcher) = matcher.filter(|matcher| !["", "*", ".*"].contains(matcher)) {
            ours.limits.push(format!("the matcher `{matcher}` leaves tools out"));
        }
        let Some(start) = ours.line.start(form.host) else {
            ours.limits.push("the shell text does more than start toolgate".to_owned());
            return Some(ours);
        };
        let wanted = (form.handler)(event, role, &start);
        for (key, value) in &wanted {
            match handler.get(*key) {
                Some(found) if found == value => {}
                _ if *key == "type" => ours.limits.push("it is not of the type `command`".to_owned()),
                _ => ours.differs.push(format!("`{key}`")),
            }
        }
        let known = |key: &str| wanted.iter().any(|(wanted, _)| *wanted == key) || HARMLESS.contains(&key);
        let members = handler.as_object().into_iter().flat_map(|members| members.keys());
        let strange = members.filter(|key| !known(key) && *key != "matcher");
        ours.limits.extend(strange.map(|key| format!("`{key}` may keep it from deciding")));
        Some(ours)
    }
}

impl Clinic {
    fn why_dropped(&self, file: &Path, text: &str, settings: Option<&Value>) -> Option<String> {
        match settings {
            None => Some("something that is not in its format".to_owned()),
            Some(settings) if !settings.is_object() => Some("something other than an object".to_owned()),
            Some(_) if self.reads_comments || file.extension().is_some_and(|end| end == "toml") => None,
            Some(_) => {
                let error = serde_json::from_str::<Value>(text).err()?;
                Some(format!("something that is not plain JSON (line {})", error.line()))
            }
        }
    }

    /// The decision about one call, as the host understands it.
    fn ask(&self, line: &CommandLine, project: &Path, probe: &Probe) -> Result<Option<String>, Trouble> {
        let mut command = canary::command(line);
        command.current_dir(project).envs(self.vars.iter().map(|name| (name, project)));
        let ran = canary::run(&mut command, (self.event)(project, probe).to_string().as_bytes())?;
        let stderr = String::from_utf8_lossy(&ran.stderr);
        if ran.code == Some(2) && stderr.contains(hook_line::COULD_NOT_RUN) {
            return Err(Trouble::ShellAnswered);
        }
        let answer = canary::one_object(&ran.stdout)?.map(Value::Object).unwrap_or_default();
        let word = self.said.iter().find_map(|place| answer.pointer(place)?.as_str()).map(str::to_owned);
        match (ran.code, word) {
            (Some(0), word) => Ok(word),
            (Some(2), word @ Some(_)) => Ok(word),
            (Some(2), None) if !stderr.trim().is_empty() => Ok(Some("deny".to_owned())),
            (code, _) => Err(Trouble::Ended(code)),
        }
    }
}
