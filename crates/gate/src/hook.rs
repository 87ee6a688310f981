//! `toolgate hook <host>`: one event on stdin, one answer on stdout, for every call of an agent.
//!
//! It fails closed. Whatever keeps it from a verdict (a panic, bad JSON, an endless event, a broken settings
//! file, a record that cannot be written, its own deadline) is answered with a denial that says what to do.
//! What it cannot answer itself (it is missing, it is killed, a file system hangs in the kernel), the
//! registration answers: it asks the host to block when the hook fails.

use std::ffi::OsString;
use std::fmt;
#[cfg(feature = "cli")]
use std::io::ErrorKind;
use std::io::{self, Write};
use std::panic;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use toolgate_evidence::{Ledger, LedgerError};
use toolgate_hosts::{HOSTS, host};
use toolgate_model::{
    Action, ActivationState, Call, ConfigChange, DecodeError, HooksStart, Host, MAX_MESSAGE, Phase, Places,
    Reply, Team, TeamPhase, Verdict, World, shorten,
};

use toolgate_policies::Settings;
use toolgate_secrets::redact;

use crate::dirs::{Dirs, FROM_PASSWD};
use crate::disk::{Disk, read_regular};
use crate::observe::{self, Circumstances, Judged};
use crate::pause;
use crate::record;
use crate::redaction::{self, Marker};
#[cfg(feature = "cli")]
use crate::register;
use crate::session::{self, Registered};
use crate::settings::{SettingsError, Wanted};
use crate::store::forget_old;
use crate::team::{Sources, TeamError};
use crate::notices::{Books, Heard};
use crate::launch::Wrap;

/// From start to answer. The registration gives the host's time-out more than that.
pub const DEADLINE: Duration = Duration::from_secs(5);
/// After the deadline we are late in earnest.
const GRACE: Duration = Duration::from_secs(1);
/// Enough to print an answer.
const WATCH_STACK: usize = 128 * 1024;
/// Somebody has begun to answer.
static ANSWERED: AtomicBool = AtomicBool::new(false);
/// A larger event is denied. Hosts send whole files in one event, but not files of this size.
pub(crate) const MAX_EVENT: usize = 32 * 1024 * 1024;
/// Large machines have long lists of people.
const MAX_PASSWD: usize = 16 * 1024 * 1024;
/// Most events fit into this.
const FIRST_READ: usize = 4 * 1024;

/// What the registration line says.
#[derive(Debug, Clone)]
pub struct Line {
    /// toolgate's own directories.
    pub dirs: Dirs,
    /// The profile that it fixes.
    pub profile: Option<String>,
    /// The session's root and agent.
    pub registered: Registered,
    /// What the host's own code says of its mode and of trust, where it starts the hook itself.
    pub activation: ActivationState,
    /// The event that this line is registered for, where the host does not say it.
    pub event: Option<String>,
}

/// What a call was judged by.
struct Stood {
    places: Places,
    layers: Vec<Settings>,
    team: Team,
}

/// Why no verdict could be reached, and what to do.
#[derive(Debug)]
pub enum Failure {
    /// The registration line is wrong.
    Line(String),
    /// Neither `--home` nor `HOME`.
    NoHome,
    /// The event did not come.
    Silence,
    /// The event is too large.
    TooLarge,
    /// stdin failed.
    Input(io::Error),
    /// A line for `toolgate serve` is no request.
    #[cfg(feature = "cli")]
    Request,
    /// The event cannot be read.
    Decode(DecodeError),
    /// The settings cannot be used.
    Settings(SettingsError),
    /// The session cannot be pinned.
    Pin(PathBuf, io::Error),
    /// The registry of agents cannot be read.
    Registry(String),
    /// The record cannot be written.
    Ledger(LedgerError),
    /// Took too long.
    Deadline,
    /// Only the whole binary, command line included, can do it.
    #[cfg(not(feature = "cli"))]
    Whole,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Line(what) => write!(f, "{what}; run `toolgate init` again"),
            Failure::NoHome => f.write_str("HOME is not set; register it with `toolgate init`"),
            Failure::Silence => {
                write!(f, "no whole hook event within {} s; is the host waiting?", DEADLINE.as_secs())
            }
            Failure::TooLarge => {
                write!(f, "the hook event is larger than {} MiB; split the call", MAX_EVENT / 1024 / 1024)
            }
            Failure::Input(error) => write!(f, "stdin cannot be read ({}); try again", error.kind()),
            #[cfg(feature = "cli")]
            Failure::Request => f.write_str(
                "the request is not `{\"id\", \"event\", \"payload\"}`; a person has to mend the program that asks",
            ),
            Failure::Decode(error) => {
                write!(f, "{error}; try the call in another form, or have a person run `toolgate doctor`")
            }
            Failure::Settings(error) => write!(f, "{error}; a person has to mend the settings"),
            Failure::Pin(path, error) => write!(
                f,
                "the session cannot be noted in `{}` ({}); a person has to make room or mend its permissions",
                path.display(),
                error.kind()
            ),
            Failure::Registry(what) => write!(f, "{what}; a person has to mend the registry of agents"),
            Failure::Ledger(error) => write!(f, "{error}; a person has to make room or mend its permissions"),
            Failure::Deadline => write!(f, "it took more than {} s; try again", DEADLINE.as_secs()),
            #[cfg(not(feature = "cli"))]
            Failure::Whole => f.write_str("`toolgate-cli` cannot be started; install it beside `toolgate`"),
        }
    }
}

/// Runs the hook. `args` is what follows `toolgate hook`.
pub fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    let started = Instant::now();
    let args: Vec<OsString> = args.collect();
    let mut args = args.into_iter();
    let name = args.next().unwrap_or_default();
    let Some(host) = name.to_str().and_then(host) else {
        // Exit 2 blocks in every host whose hooks are commands.
        let known = HOSTS.iter().map(|host| host.id()).collect::<Vec<_>>().join(", ");
        let message = format!("toolgate hook: unknown host `{}`; known are {known}", name.to_string_lossy());
        return print(&Reply::blocking(&message));
    };
    // What only tells must not stop the user's own words, whatever else is wrong with the line.
    let mut named = args.as_slice().iter().skip_while(|word| *word != "--event").skip(1);
    let phase = named.next().and_then(|event| event.to_str()).map(|event| host.phase(event));
    refuse_on_panic(host, phase);
    let reply = match Line::parse(args, |name| std::env::var_os(name)) {
        Ok(line) => {
            if host.runs_what_is_late() {
                answer_for_us_when_late(host, line.event.clone());
            }
            answer_stdin(host, &line, started + DEADLINE)
        }
        Err(failure) => refuse(host, phase, &failure),
    };
    print(&reply)
}

/// With `panic = "abort"` there is no unwinding to catch: the hook speaks before the process ends. It says nothing of
/// the panic itself, which may quote the input.
pub(crate) fn refuse_on_panic(host: &'static dyn Host, phase: Option<Phase>) {
    panic::set_hook(Box::new(move |_| {
        let reply = host.refuse(phase, &denial("it failed inside; report the call that did this"));
        let _ = io::stdout().write_all(reply.stdout.as_bytes());
        let _ = io::stderr().write_all(reply.stderr.as_bytes());
        #[expect(clippy::exit, reason = "the answer is out, and nothing may follow it")]
        std::process::exit(reply.code.into());
    }));
}

/// Refuses should we hang, in a file system that does not answer for one: this host would run the call.
fn answer_for_us_when_late(host: &'static dyn Host, event: Option<String>) {
    // Without a thread to be had there is nothing to be done about it; the host's own time-out is long.
    let _ = thread::Builder::new().stack_size(WATCH_STACK).spawn(move || {
        thread::sleep(DEADLINE + GRACE);
        if !ANSWERED.swap(true, Ordering::AcqRel) {
            let phase = event.as_deref().map(|event| host.phase(event));
            let reply = refuse(host, phase, &Failure::Deadline);
            let _ = say(&reply);
            #[expect(clippy::exit, reason = "the answer is out, and nothing may follow it")]
            std::process::exit(reply.code.into());
        }
    });
}

fn refuse(host: &dyn Host, phase: Option<Phase>, failure: &Failure) -> Reply {
    host.refuse(phase, &shorten(&denial(failure), MAX_MESSAGE))
}

fn denial(why: impl fmt::Display) -> String {
    format!("toolgate cannot judge this call, so it is denied: {why}")
}

fn print(reply: &Reply) -> ExitCode {
    if ANSWERED.swap(true, Ordering::AcqRel) {
        // Two answers would be none.
        thread::sleep(GRACE);
    }
    say(reply)
}

fn say(reply: &Reply) -> ExitCode {
    // What is empty is not printed: even that would make a buffer first.
    let tell = |text: &str| io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush());
    let out = reply.stdout.is_empty() || tell(&reply.stdout).is_ok();
    let err = reply.stderr.is_empty() || io::stderr().write_all(reply.stderr.as_bytes()).is_ok();
    // A host that has stopped listening gets an exit code that blocks.
    if out && err { ExitCode::from(reply.code) } else { ExitCode::from(2) }
}

fn answer_stdin(host: &dyn Host, line: &Line, deadline: Instant) -> Reply {
    match read_event(deadline) {
        Ok(event) => answer(host, line, &event, deadline),
        Err(failure) => refuse_on_record(host, line, None, &failure, deadline),
    }
}

/// Answers one event.
pub(crate) fn answer(host: &dyn Host, line: &Line, event: &[u8], deadline: Instant) -> Reply {
    match host.decode(line.event.as_deref(), event) {
        Ok(mut call) => {
            if call.cwd.is_none() && host.hooks_start() == HooksStart::WithTheCall {
                call.cwd = std::env::current_dir()
                    .ok()
                    .and_then(|cwd| cwd.to_str().map(|cwd| cwd.to_owned().into()));
            }
            if host.keeps_failed_output(&call.tool) && Wrap::may_be_on(&call) {
                let wrap = Wrap::of_session(&line.dirs.state, call.session.as_deref());
                call = wrap.and_then(|wrap| wrap.opened(&call)).unwrap_or(call);
            }
            decide(host, line, &call, event, deadline)
                .unwrap_or_else(|failure| refuse_on_record(host, line, Some(&call), &failure, deadline))
        }
        Err(error) => refuse_on_record(host, line, None, &Failure::Decode(error), deadline),
    }
}

/// From a call to its answer; the record comes before the answer.
fn decide(
    host: &dyn Host,
    line: &Line,
    call: &Call<'_>,
    #[cfg_attr(
        feature = "cli",
        expect(unused_variables, reason = "only a hook without the rest hands it over")
    )]
    event: &[u8],
    deadline: Instant,
) -> Result<Reply, Failure> {
    let mut books = Books::held(&line.dirs.state, call, deadline);
    let env = |name: &str| std::env::var_os(name);
    let heard = match line.heard(host, call, &Disk::default(), env, &mut books) {
        #[cfg(not(feature = "cli"))]
        Err(Failure::Settings(error)) if error.stale => return hand_over(event),
        #[cfg(not(feature = "cli"))]
        Err(Failure::Whole) => return hand_over(event),
        judged => judged?,
    };
    let draft = record::draft(call, &heard.verdict, &heard.places, SystemTime::now());
    let (draft, verdict) = heard.told(&mut books, draft).map_err(Failure::Ledger)?;
    books.append(draft, deadline).map_err(Failure::Ledger)?;
    if call.phase == Phase::Start {
        for name in ["sessions", "compiled", "tallies"] {
            forget_old(&line.dirs.state.join(name));
        }
    }
    if Instant::now() > deadline {
        return Err(Failure::Deadline);
    }
    Ok(host.encode(call, &verdict))
}

/// Refuses, and says so in the record where that can still be done: the refusal stands either way.
pub(crate) fn refuse_on_record(
    host: &dyn Host,
    line: &Line,
    call: Option<&Call<'_>>,
    failure: &Failure,
    deadline: Instant,
) -> Reply {
    if !matches!(failure, Failure::Ledger(_)) {
        let draft = record::failure(host.id(), call, &failure.to_string(), SystemTime::now());
        let _ = Ledger::at(&line.dirs.state).append(draft, deadline);
    }
    if let Some(call) = call.filter(|call| call.output.is_some()) {
        // The tool has run, and what it gave back can be looked through without anything that failed.
        let marker = Marker::new(&line.dirs.state, call.session.as_deref());
        return host.encode(call, &Verdict::none().redacting(redaction::redacted(call, &[], &marker)));
    }
    let named = || line.event.as_deref().map(|event| host.phase(event));
    refuse(host, call.map(|call| call.phase).or_else(named), failure)
}

impl Line {
    /// Reads what follows `toolgate hook <host>`. By hand: an argument parser would cost as much as the call.
    pub fn parse(
        mut args: impl Iterator<Item = OsString>,
        env: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Line, Failure> {
        let (mut home, mut config, mut state) = (None, None, None);
        let (mut profile, mut agent, mut root) = (None, None, None);
        let (mut mode, mut trusted, mut event) = (None, None, None);
        let (mut role, mut phase) = (None, None);
        while let Some(name) = args.next() {
            let slot = match name.to_str() {
                Some("--home") => &mut home,
                Some("--config") => &mut config,
                Some("--state") => &mut state,
                Some("--profile") => &mut profile,
                Some("--agent") => &mut agent,
                Some("--role") => &mut role,
                Some("--phase") => &mut phase,
                Some("--root") => &mut root,
                Some("--mode") => &mut mode,
                Some("--trusted") => &mut trusted,
                Some("--event") => &mut event,
                #[cfg(debug_assertions)]
                #[expect(clippy::panic, reason = "so that a test can see what the host gets when we panic")]
                Some("--panic") => panic!("asked to"),
                _ => return Err(Failure::Line(format!("unknown option `{}`", name.to_string_lossy()))),
            };
            let value = args.next();
            *slot = Some(
                value.ok_or_else(|| Failure::Line(format!("`{}` has no value", name.to_string_lossy())))?,
            );
        }
        let text = |value: Option<OsString>| value.map(|value| value.to_string_lossy().into_owned());
        let trusted = match text(trusted).as_deref() {
            None => None,
            Some("yes") => Some(true),
            Some("no") => Some(false),
            Some(_) => return Err(Failure::Line("`--trusted` takes yes or no".into())),
        };
        let phase = match text(phase).as_deref() {
            None => None,
            Some(word) => Some(TeamPhase::of(word).ok_or_else(|| {
                Failure::Line("`--phase` takes init-phase-1, init-phase-2 or team-mode".into())
            })?),
        };
        let activation = ActivationState { trusted, mode: text(mode), paused: false };
        let place = |value: Option<OsString>| match value.map(PathBuf::from) {
            Some(path) if !path.is_absolute() => {
                Err(Failure::Line(format!("`{}` is not an absolute path", path.display())))
            }
            path => Ok(path),
        };
        let mut dirs = if home.as_ref().is_some_and(|home| home == FROM_PASSWD) {
            let list = read_regular(Path::new("/etc/passwd"), MAX_PASSWD).unwrap_or_default();
            let uid = rustix::process::getuid().as_raw();
            Dirs::from_passwd(&String::from_utf8_lossy(&list), uid, env).ok_or(Failure::NoHome)?
        } else {
            match place(home)? {
                Some(home) => Dirs::of_home(&home),
                None => Dirs::from_env(env).ok_or(Failure::NoHome)?,
            }
        };
        if let Some(config) = place(config)? {
            dirs.config = config;
        }
        if let Some(state) = place(state)? {
            dirs.state = state;
        }
        Ok(Line {
            dirs,
            profile: text(profile),
            registered: Registered { root: place(root)?, agent: text(agent), role: text(role), phase },
            activation,
            event: text(event),
        })
    }

    /// Judges a call under these circumstances, as the hook does, but records nothing.
    pub fn judge(
        &self,
        host: &dyn Host,
        call: &Call<'_>,
        world: &dyn World,
        env: impl Fn(&str) -> Option<OsString>,
    ) -> Result<(Verdict, Places), Failure> {
        let books = &mut Books::seen(&self.dirs.state, call);
        self.heard(host, call, world, env, books).map(|heard| (heard.verdict, heard.places))
    }

    /// Judges a call likewise, and says what of it is counted and told.
    fn heard<'h>(
        &self,
        host: &dyn Host,
        call: &'h Call<'h>,
        world: &dyn World,
        env: impl Fn(&str) -> Option<OsString>,
        books: &mut Books,
    ) -> Result<Heard<'h>, Failure> {
        let (judged, Stood { places, layers, team }) =
            self.under(host, call, world, env, books, |known| {
                let marker = Marker::new(&self.dirs.state, call.session.as_deref());
                let Judged { verdict, counted, directories } = gate::judge_and_count(call, known);
                let verdict = self
                    .wrapping(host, call, known.layers, verdict)
                    .redacting(redaction::redacted(call, known.layers, &marker));
                Judged { verdict: verdict.concealing(holds_secret), counted, directories }
            })?;
        let Judged { verdict, counted, directories } = judged;
        Ok(Heard { call, layers, places, team, verdict, counted, directories })
    }

    /// The same verdict, the command sent through `toolgate shell` where the settings want that.
    fn wrapping(&self, host: &dyn Host, call: &Call<'_>, layers: &[Settings], verdict: Verdict) -> Verdict {
        if call.phase != Phase::Before || !host.keeps_failed_output(&call.tool) {
            return verdict;
        }
        let wanted = redaction::wanted(layers);
        if !wanted.wrap {
            return verdict;
        }
        let wrap = Wrap::of_session(&self.dirs.state, call.session.as_deref());
        let (Some(wrap), Some((param, command))) = (wrap, gate::command_member(call)) else { return verdict };
        // It may have been bound to a directory already.
        let bound = verdict.rewrites().iter().find(|(changed, _)| changed == param);
        let command = bound.map_or(command, |(_, text)| text);
        match wrap.around(command, &wanted) {
            Some(text) => {
                let rewrites = vec![(param.to_owned(), text)];
                verdict.rewriting(rewrites)
            }
            None => verdict,
        }
    }

    /// Judges a call likewise, and says what each part of it has to do with the verdict.
    #[cfg(feature = "cli")]
    pub fn account<'a>(
        &self,
        host: &dyn Host,
        call: &Call<'a>,
        world: &dyn World,
        env: impl Fn(&str) -> Option<OsString>,
    ) -> Result<(gate::Account<'a>, Places), Failure> {
        let books = &mut Books::seen(&self.dirs.state, call);
        let (mut account, Stood { places, .. }) =
            self.under(host, call, world, env, books, |known| gate::account(call, known))?;
        account.verdict = account.verdict.concealing(holds_secret);
        Ok((account, places))
    }

    /// Gathers the circumstances of a call.
    fn under<T>(
        &self,
        host: &dyn Host,
        call: &Call<'_>,
        world: &dyn World,
        env: impl Fn(&str) -> Option<OsString>,
        books: &mut Books,
        judge: impl FnOnce(&Circumstances<'_>) -> T,
    ) -> Result<(T, Stood), Failure> {
        let told = host.project_variable().and_then(&env).map(PathBuf::from);
        let in_place = host.hooks_start() == HooksStart::WithTheSession;
        let start = told.or_else(|| std::env::current_dir().ok().filter(|_| in_place));
        let places = session::places(world, &self.dirs, &self.registered, call, start)
            .map_err(|error| Failure::Pin(self.dirs.state.clone(), error))?;
        let layers = Wanted {
            dirs: &self.dirs,
            root: places.root.as_ref().map(|root| root.physical.as_path()),
            repository: places.git.as_ref().map(|git| git.physical.as_path()),
            team: &places.team,
            fixed: self.profile.as_deref(),
            default: host.profile(),
        }
        .layers()
        .map_err(Failure::Settings)?;
        let mut env_roots = Vec::new();
        for layer in &layers {
            let name = layer.activation.root_env.as_str();
            if !name.is_empty() {
                let root = session::root_from_env(world, self.registered.root.as_deref(), env(name));
                env_roots.push((name, root.map_err(|what| Failure::Line(format!("{name} {what}")))?));
            }
        }
        let env_root = |wanted: &str| env_roots.iter().find(|(name, _)| *name == wanted)?.1.clone();
        #[cfg(not(feature = "cli"))]
        if matches!(call.action, Action::Configure(_)) {
            return Err(Failure::Whole);
        }
        #[cfg(not(feature = "cli"))]
        let config: Option<ConfigChange> = None;
        #[cfg(feature = "cli")]
        let config = self.config_change(call, world);
        let sources =
            Sources { dirs: &self.dirs, registered: &self.registered, places: &places, layers: &layers };
        let team = sources.team(call, || books.counts()).map_err(|error| match error {
            TeamError::Registry(what) => Failure::Registry(what),
            TeamError::Counts(error) => Failure::Ledger(error),
        })?;
        let tmp = std::env::var("TMPDIR").ok().filter(|tmp| tmp.starts_with('/'));
        let known = Circumstances {
            world,
            layers: &layers,
            places: &places,
            activation: ActivationState {
                trusted: self.activation.trusted.or(call.activation.trusted),
                mode: self.activation.mode.clone().or_else(|| call.activation.mode.clone()),
                paused: pause::until(&self.dirs, &places, SystemTime::now()).is_some(),
            },
            team: &team,
            config,
            tmp: tmp.as_deref(),
            unset: &|name| std::env::var_os(name).is_none(),
            env_root: &env_root,
        };
        let judged = judge(&known);
        Ok((judged, Stood { places, layers, team }))
    }

    /// What the host's changed settings would do to our hooks.
    #[cfg(feature = "cli")]
    fn config_change(&self, call: &Call<'_>, world: &dyn World) -> Option<ConfigChange> {
        const MAX_SETTINGS: usize = 4 * 1024 * 1024;
        let Action::Configure(file) = &call.action else { return None };
        let file = PathBuf::from(file.as_deref()?);
        let registered = register::Registrations::load(&self.dirs.state)
            .map_or(true, |registrations| registrations.find(call.host, &file).is_some());
        match world.read(&file, MAX_SETTINGS + 1) {
            // Nobody has settings of this size; what stands behind the point where we stop could be anything.
            Ok(bytes) if bytes.len() > MAX_SETTINGS => Some(ConfigChange::HooksOff),
            Ok(bytes) => Some(register::claude_code::config_change(&bytes, registered)),
            Err(error) if error.kind() == ErrorKind::NotFound && registered => {
                Some(ConfigChange::RegistrationGone)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Some(ConfigChange::Harmless),
            Err(_) => Some(ConfigChange::Unreadable),
        }
    }
}

fn holds_secret(path: &str) -> bool {
    redact(path).as_str() != path
}

/// Lets the whole binary answer: it can read TOML and the hosts' settings files, and has the time, since that
/// happens once after a change.
#[cfg(not(feature = "cli"))]
fn hand_over(event: &[u8]) -> Result<Reply, Failure> {
    use std::process::{Command, Stdio};

    let whole = std::env::current_exe().map_err(|_| Failure::Whole)?.with_file_name("toolgate-cli");
    let mut child = Command::new(whole)
        .args(std::env::args_os().skip(1))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|_| Failure::Whole)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(event).map_err(Failure::Input)?;
    }
    let output = child.wait_with_output().map_err(Failure::Input)?;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).map_err(|_| Failure::Whole);
    let code = output.status.code().and_then(|code| u8::try_from(code).ok()).ok_or(Failure::Whole)?;
    if !matches!(code, 0 | 2) {
        return Err(Failure::Whole);
    }
    Ok(Reply { stdout: text(output.stdout)?, stderr: text(output.stderr)?, code })
}

/// Reads the event, but not for ever and not without bound. Straight from the descriptor: the standard
/// library's buffered stdin would be one more buffer to make.
fn read_event(deadline: Instant) -> Result<Vec<u8>, Failure> {
    let stdin = rustix::stdio::stdin();
    let mut event = vec![0; FIRST_READ];
    let mut length = 0;
    loop {
        let left = deadline.checked_duration_since(Instant::now()).ok_or(Failure::Silence)?;
        let wait = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&wait)) {
            Ok(0) => return Err(Failure::Silence),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Failure::Input(error.into())),
        }
        match rustix::io::read(stdin, event.get_mut(length..).unwrap_or_default()) {
            Ok(0) => {
                event.truncate(length);
                return Ok(event);
            }
            Ok(n) => length += n,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(Failure::Input(error.into())),
        }
        if length > MAX_EVENT {
            return Err(Failure::TooLarge);
        }
        if length == event.len() {
            event.resize(length * 2, 0);
        }
    }
}
