//! `toolgate shell`: the shell of a host runs the command of a call through us. `launch.rs` of the gate writes the line that leads here.
//!
//! This process is the one that the host has started and waits for. In a sandbox it stays as its supervisor, ends as the command has,
//! and puts down what was enforced. In both programs: the small one starts in a fraction of the time, and hands over what it cannot
//! do, which is redacting.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::OFlags;
use toolgate_evidence::{Draft, Ledger};
use toolgate_gate::contain::{Contained, ContainedTerms, outside, word_of};
use toolgate_gate::disk::Disk;
use toolgate_gate::launch::{Caller, Launch, note_end, without_line};
use toolgate_gate::process;
use toolgate_hosts::host;
use toolgate_model::{Decision, TEMPORARY};
use toolgate_policies::{Containment, DeniedInside, Wanted, denied_in_output, explain_denied};
use toolgate_sandbox::{Ended, Error, Grant, Kernel, Level, Limit, Limits, Network, Outcome, Plan, Rights};
use toolgate_secrets::redact;

use crate::egress::Egress;
use crate::shared_temporary::pass_in;

/// The event of the record that says what was enforced on a command.
const CONTAINED: &str = "contained";
/// A file of a call is a script and a line of data.
const MAX_CALL: u64 = 1024 * 1024;

/// A command of a call that was sent here.
#[derive(Debug)]
pub struct Launched {
    /// The file that says what was decided about it.
    pub file: PathBuf,
    /// What it says.
    pub launch: Launch,
    /// What is to be run.
    pub run: HostShell,
}

/// A host's shell, as it was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostShell {
    /// The program.
    pub program: OsString,
    /// The name that it was started by.
    pub name: OsString,
    /// Whether it is a login shell.
    pub is_login: bool,
    /// Its text, without our line.
    pub text: OsString,
}

impl Launched {
    /// Reads the arguments of this process. `None`: they are for the command line to read.
    pub fn of_arguments() -> Option<Result<Launched, ExitCode>> {
        let mut words = process::words().skip(1);
        words.next().filter(|word| word == "shell")?;
        words.next().filter(|word| word == "--call")?;
        let file = PathBuf::from(words.next()?);
        let rest: Vec<OsString> = words.collect();
        let launched = Launched::new(file, &rest).map_err(|why| refused(&why));
        match launched {
            // Output that has to be redacted passes through the command line.
            Ok(launched) if launched.launch.redaction.is_some() => None,
            launched => Some(launched),
        }
    }

    /// What a file and the words behind it mean: `--process PID`, or `-- SHELL NAME OPTIONS TEXT`.
    pub fn new(file: PathBuf, words: &[OsString]) -> Result<Launched, String> {
        let gone = || {
            "this command was already started, or toolgate never judged it; have the agent send it again"
                .to_owned()
        };
        let bytes = read(&file).map_err(|_| gone())?;
        let launch = Launch::parse(&bytes).ok_or_else(gone)?;
        let shell = match words {
            [dashes, program, name, options, text] if dashes == "--" => HostShell {
                program: program.clone(),
                name: name.clone(),
                is_login: is_login(options),
                text: text.clone(),
            },
            [option, process] if option == "--process" => of_process(process)
                .ok_or("the shell that runs this command does not say what it runs; use bash or zsh")?,
            _ => return Err("only toolgate's own hooks start `toolgate shell`".to_owned()),
        };
        let text = without_line(shell.text.as_bytes(), &file)
            .ok_or("the shell was given a different command from the one that its hook wrote")?;
        Ok(Launched { file, launch, run: HostShell { text: OsString::from_vec(text), ..shell } })
    }

    /// Runs it in its sandbox and ends as it has.
    pub fn contain(self) -> ExitCode {
        let printed = Printed::so_far();
        self.contain_and_tell(printed)
    }

    /// The same behind a pipe, whose reader knows what was printed.
    pub fn contain_for(self, reader: Listener) -> ExitCode {
        self.contain_and_tell(Some(Printed::HeardBy(reader)))
    }

    fn contain_and_tell(self, printed: Option<Printed>) -> ExitCode {
        let Launched { file, launch: Launch { contained, shared, start, caller, .. }, run } = self;
        let Some(kept_terms) = contained else { return refused("its hook did not contain it") };
        // INVARIANT: what was decided holds for one command. Of two that come with the same file, one removes it.
        if let Err(error) = fs::remove_file(&file) {
            return refused(&not_removed(&error));
        }
        let (Contained { mut plan, require, terms }, read_back) = match plan(&kept_terms, &run) {
            Ok(plan) => plan,
            Err(why) => return refused(&why),
        };
        plan.start = start;
        let passed = pass_in(&shared, &mut plan);
        // What the outer shell has read at its start has come with the environment: a login shell need not read it again, and could not.
        let command = [run.program, "-c".into(), run.text, run.name];
        let network = plan.network;
        let state = file.parent().and_then(Path::parent);
        let mut egress = match Egress::open(&mut plan, &terms, state.map(|state| (state, &caller))) {
            Ok(egress) => egress,
            Err(error) => return refused(&error),
        };
        let outcome =
            contain(require, None, |level, kernel| toolgate_sandbox::run(&plan, level, &kernel, &command));
        read_back.tidy();
        if let Ok(outcome) = &outcome
            && outcome.level == Level::Full
        {
            passed.pass_out(outcome.is_over);
        }
        if let (Ok(outcome), Some(state)) = (&outcome, state) {
            let mut denied = egress.as_mut().map(Egress::refused).unwrap_or_default();
            let in_output = match printed {
                Some(printed) => printed.denied(&terms, &plan.directory, outcome.level),
                None => {
                    // Best effort: without it the model reads what the program itself said.
                    let _ = note_end(&file, outcome.level, &kept_terms);
                    Vec::new()
                }
            };
            // What was refused is known already; the output may name it once more.
            denied.extend(
                in_output
                    .into_iter()
                    .filter(|denied| denied.wanted != Wanted::Connect || network != Network::Listed),
            );
            record(state, &caller, network, outcome, &denied);
            if denied.is_empty() {
                advise_on_git(&plan, outcome, &command);
            } else {
                complain(&explain_denied(&denied));
            }
        }
        ended(&plan, outcome, &command)
    }
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    if fs::symlink_metadata(file)?.len() > MAX_CALL {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    fs::read(file)
}

/// The plan for a shell that is started here, with what the host reads back afterwards.
fn plan(terms: &Path, run: &HostShell) -> Result<(Contained, ReadBack), String> {
    let terms = ContainedTerms::read(&Disk::default(), terms)?;
    let directory = std::env::current_dir().map_err(|error| format!("the current directory: {error}"))?;
    let mut contained = terms.plan(directory, std::env::vars_os());
    let read_back = ReadBack::of(&run.text);
    contained.plan.grants.extend(read_back.place().map(|place| Grant::new(place, Rights::Write)));
    Ok((contained, read_back))
}

/// What a client has its shell write outside of the command, to read it when that has ended.
///
/// Found by its form alone, in a directory for temporary files. An agent may write the same form itself, and gains a place that a client makes
/// and removes as it likes.
#[derive(Debug, PartialEq, Eq)]
enum ReadBack {
    Nothing,
    /// Claude Code: a file with the directory that a command ended in, which the shell makes: `… && pwd -P >| FILE`.
    Directory(PathBuf),
    /// Gemini: a directory of the client's for the list of background jobs: `_bgpids_file=DIRECTORY/bgpids.tmp`.
    Jobs(PathBuf),
}

impl ReadBack {
    fn of(text: &OsStr) -> ReadBack {
        let found = text.to_str().and_then(|text| directory_file(text).or_else(|| jobs_directory(text)));
        found.filter(|found| found.prepare().is_ok()).unwrap_or(ReadBack::Nothing)
    }

    fn place(&self) -> Option<&Path> {
        match self {
            ReadBack::Nothing => None,
            ReadBack::Directory(place) | ReadBack::Jobs(place) => Some(place),
        }
    }

    /// Makes the file, since only what is there can be granted. What is there already has to be this user's own, with one name.
    fn prepare(&self) -> io::Result<()> {
        let found = match self {
            ReadBack::Nothing => return Ok(()),
            ReadBack::Directory(file) if !is_in_own(file) => {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            ReadBack::Directory(file) => fs::OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
                .mode(0o600)
                .open(file)?
                .metadata()?,
            ReadBack::Jobs(directory) => fs::symlink_metadata(directory)?,
        };
        let is_own = found.uid() == rustix::process::getuid().as_raw();
        let is_plain = found.is_dir() || (found.is_file() && found.nlink() == 1);
        if is_own && is_plain { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }

    /// A client that finds no file stays where it is. One without a word in it would lead nowhere.
    fn tidy(&self) {
        if let ReadBack::Directory(file) = self
            && fs::symlink_metadata(file).is_ok_and(|found| found.is_file() && found.len() == 0)
        {
            let _ = fs::remove_file(file);
        }
    }
}

/// Whether a file lies in everybody's directory for temporary files or in one of this user's own, and behind no link.
fn is_in_own(file: &Path) -> bool {
    let above = file.parent().unwrap_or(Path::new("/"));
    let is_own = |found: fs::Metadata| found.is_dir() && found.uid() == rustix::process::getuid().as_raw();
    is_temporary(Some(above)) || fs::symlink_metadata(above).is_ok_and(is_own)
}

fn directory_file(text: &str) -> Option<ReadBack> {
    let (_, file) = text.rsplit_once("pwd -P >| ")?;
    let file = unquoted(file);
    let name = file.file_name()?.to_str()?;
    let (above, is_own) = match name.strip_prefix("cwd-") {
        // In a sandbox of its own: a directory of the client's in that for temporary files.
        Some(middle) => {
            let above = file.parent()?;
            let user = above.file_name()?.to_str()?.strip_prefix("claude-")?;
            (above.parent(), is_plain(middle) && is_plain(user))
        }
        None => (file.parent(), is_plain(name.strip_prefix("claude-")?.strip_suffix("-cwd")?)),
    };
    (is_own && is_temporary(above)).then(|| ReadBack::Directory(file.to_owned()))
}

fn jobs_directory(text: &str) -> Option<ReadBack> {
    let (_, rest) = text.split_once("_bgpids_file=")?;
    let file = unquoted(rest.split([';', '\n', ' ']).next()?);
    let directory = file.parent().filter(|_| file.ends_with("bgpids.tmp"))?;
    let middle = directory.file_name()?.to_str()?.strip_prefix("gemini-shell-")?;
    (is_plain(middle) && is_temporary(directory.parent())).then(|| ReadBack::Jobs(directory.to_owned()))
}

fn unquoted(word: &str) -> &Path {
    Path::new(word.trim().trim_matches(|c| c == '\'' || c == '"'))
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn is_temporary(directory: Option<&Path>) -> bool {
    let own = std::env::temp_dir();
    let mut temporary = TEMPORARY.iter().map(Path::new).chain([own.as_path()]);
    temporary.any(|temporary| directory == Some(temporary))
}

/// So much of the end of what a command printed is looked at for what it was denied.
pub(crate) const MOST_PRINTED: usize = 64 * 1024;

/// Who knows what the command has printed.
enum Printed {
    /// A file that can be read: some hosts give their shells one.
    In { file: PathBuf, before: u64 },
    /// A process of ours that takes secrets out of it on the way.
    HeardBy(Listener),
}

impl Printed {
    fn so_far() -> Option<Printed> {
        let links = ["/proc/self/fd/2", "/proc/self/fd/1"].map(fs::read_link);
        let file = links.into_iter().flatten().next()?;
        let found = fs::symlink_metadata(&file).ok().filter(fs::Metadata::is_file)?;
        Some(Printed::In { file, before: found.len() })
    }

    /// What it was denied, by its own words.
    fn denied(self, terms: &Containment, directory: &Path, level: Level) -> Vec<DeniedInside> {
        // As the disk is now, after the command.
        let disk = Disk::default();
        let outside = |path: &Path| outside(&disk, path);
        denied_in_output(terms, directory, &outside, word_of(level), &self.end().unwrap_or_default())
    }

    fn end(self) -> io::Result<Vec<u8>> {
        const MOST: u64 = MOST_PRINTED as u64;
        let mut bytes = Vec::new();
        match self {
            Printed::In { file, before } => {
                let mut file = fs::File::open(file)?;
                let from = before.max(file.metadata()?.len().saturating_sub(MOST));
                file.seek(SeekFrom::Start(from))?;
                file.take(MOST).read_to_end(&mut bytes)?;
            }
            Printed::HeardBy(Listener { ended, heard }) => {
                fs::File::options().write(true).open(ended)?.write_all(ENDED)?;
                fs::File::open(heard)?.take(MOST).read_to_end(&mut bytes)?;
            }
        }
        Ok(bytes)
    }
}

/// What the first pipe of a [`Listener`] is told.
const ENDED: &[u8] = b"\n";

/// The process that reads what a contained command prints. Two pipes, by the names that this process has them under.
#[derive(Debug, Clone)]
pub struct Listener {
    /// Tells it that the command has ended.
    pub ended: PathBuf,
    /// Gives the end of what it has read.
    pub heard: PathBuf,
}

/// Puts down what was enforced. The command has run; should this fail, the record of its call still says that it was contained.
fn record(state: &Path, caller: &Caller, network: Network, outcome: &Outcome, denied: &[DeniedInside]) {
    const PATIENCE: Duration = Duration::from_millis(500);
    let Some(host) = host(&caller.host) else { return };
    let network = match network {
        Network::None => "none",
        Network::Listed => "listed",
        Network::All => "all",
    };
    let mut draft = Draft::new(SystemTime::now(), host.id(), redact(CONTAINED))
        .session(redact(&caller.session))
        .call(redact(&caller.call))
        .agent(redact(&caller.agent))
        .tool(redact(&caller.tool))
        .root(redact(&caller.root))
        .rules(&caller.rules)
        .toolgate(env!("CARGO_PKG_VERSION"))
        .decision(Decision::Contain)
        .contained(outcome.level.word(), network);
    for denied in denied {
        draft = draft.denied_inside(redact(&denied.to_string()));
    }
    for refused in &outcome.repository.refused {
        draft = draft.denied_inside(redact(&refused.to_string()));
    }
    for disturbed in &outcome.pins {
        draft = draft.denied_inside(redact(&disturbed.to_string()));
    }
    let _ = Ledger::at(state).append(draft, Instant::now() + PATIENCE);
}

/// Why the file of a call could not be taken.
fn not_removed(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        return "this command has been started before".to_owned();
    }
    format!(
        "toolgate cannot write its own state here ({error}), as in a sandbox of the agent's own; a person has to switch that one off, or \
         open the state for it: see `toolgate doctor`"
    )
}

/// A shell that does not say what it runs, as its process was started: `sh -c TEXT`.
fn of_process(number: &OsStr) -> Option<HostShell> {
    let number: u32 = number.to_str()?.parse().ok()?;
    let words = fs::read(format!("/proc/{number}/cmdline")).ok()?;
    let words: Vec<&[u8]> = words.strip_suffix(b"\0")?.split(|byte| *byte == 0).collect();
    let program = fs::read_link(format!("/proc/{number}/exe")).ok()?;
    let [name, options @ .., text] = words.as_slice() else { return None };
    let has_text = options.last().is_some_and(|last| last.starts_with(b"-") && last.ends_with(b"c"));
    has_text.then(|| HostShell {
        program: program.into_os_string(),
        name: OsString::from_vec(name.to_vec()),
        is_login: options.iter().any(|option| option.contains(&b'l')),
        text: OsString::from_vec(text.to_vec()),
    })
}

/// bash lists what is on, by names; zsh by letters.
fn is_login(options: &OsStr) -> bool {
    let options = options.to_string_lossy();
    options.split(':').any(|option| option == "login_shell")
        || (!options.contains(':') && options.contains('l'))
}

/// A command that was not run, since it could not be contained.
const NOT_CONTAINED: u8 = 125;
/// A command that cannot be started, and one that is not there: as a shell says it.
const NOT_STARTED: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Runs a command at the level that was asked for, or at the best there is. A step down is said, and never goes below what is
/// required.
pub(crate) fn contain(
    require: Level,
    level: Option<Level>,
    mut run_at: impl FnMut(Level, Kernel) -> Result<Outcome, Error>,
) -> Result<Outcome, Error> {
    let kernel = Kernel::probe();
    let first = level.unwrap_or(Level::Full);
    if first < require {
        return Err(Error::Plan(format!(
            "the settings require level {} ([containment] require, or [network] mode = \"listed\")",
            require.word()
        )));
    }
    match run_at(first, kernel) {
        Err(Error::NoNamespaces(error)) if level.is_none() && require == Level::Landlock => {
            complain(&format!(
                "contained at level landlock: this kernel does not let the user make namespaces ({error})"
            ));
            run_at(Level::Landlock, kernel)
        }
        done => done,
    }
}

/// Says what came of a contained command, and ends as it has.
pub(crate) fn ended(plan: &Plan, outcome: Result<Outcome, Error>, command: &[OsString]) -> ExitCode {
    match outcome {
        Ok(outcome) => {
            for refused in &outcome.repository.refused {
                complain(&format!("not taken over into the repository: {refused}"));
            }
            for disturbed in &outcome.pins {
                complain(&disturbed.to_string());
            }
            if let Some(why) = ended_by_limit(&plan.limits, &outcome) {
                complain(&why);
            }
            ExitCode::from(outcome.status.end_alike())
        }
        Err(Error::Start(error)) => {
            complain(&format!("{}: {error}", command.first().cloned().unwrap_or_default().display()));
            ExitCode::from(if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_STARTED })
        }
        Err(error) => refused(&error.to_string()),
    }
}

/// Says what git does not, where a command has failed that may have failed at it: the kernel's words (`Read-only file system`) do not tell why.
/// Where the command says that it went well (`git tag v1; true`), only about a form that writes.
pub(crate) fn advise_on_git(plan: &Plan, outcome: &Outcome, command: &[OsString]) {
    let is_linked = plan.repository.as_ref().is_some_and(|repository| !repository.is_plain());
    if !is_linked {
        return;
    }
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    let has_failed = outcome.status != Ended::Code(0);
    if let Some((name, _)) = shared_by_worktrees(&words.join(" ")).filter(|(_, writes)| has_failed || *writes)
    {
        complain(&format!(
            "`git {name}` writes what all worktrees of the repository share, which stays as it is in the sandbox; commit on a branch of your \
             own instead, or have a person run it outside the agent"
        ));
    }
}

/// The command of git in a text that writes references of all worktrees, and whether it has failed at that for sure, although the text went well:
/// what it ends with does not count then (`git tag v1; true`). One of which that is sure counts before the others.
fn shared_by_worktrees(text: &str) -> Option<(&'static str, bool)> {
    const SHARED: [&str; 5] = ["fetch", "notes", "pull", "stash", "tag"];
    let (mut found, mut rest, mut is_quoted) = (None, text, false);
    loop {
        let end = rest.find([';', '|', '&', '(', ')', '\'', '"', '\n']).unwrap_or(rest.len());
        let (command, behind) = rest.split_at_checked(end)?;
        // In quotes it may be a message.
        let does_not_count = !is_quoted && behind.starts_with([';', '|', '\n']) && behind.len() > 1;
        let mut words = command
            .split_whitespace()
            .skip_while(|word| *word != "git" && !word.ends_with("/git"))
            .skip(1)
            .peekable();
        // Options before the name of the command, and their values.
        while let Some(option) = words.next_if(|word| word.starts_with('-')) {
            if matches!(option, "-C" | "-c") {
                words.next();
            }
        }
        if let Some(name) = words.next().and_then(|word| SHARED.into_iter().find(|name| *name == word)) {
            if does_not_count && writes_shared(name, &words.collect::<Vec<_>>()) {
                return Some((name, true));
            }
            found = found.or(Some((name, false)));
        }
        let mut letters = behind.chars();
        let Some(letter) = letters.next() else { return found };
        is_quoted ^= matches!(letter, '\'' | '"');
        rest = letters.as_str();
    }
}

/// Whether such a command writes, by its arguments. `git stash list` and `git tag -l` only look, and a `git fetch` that finds nothing new goes well.
fn writes_shared(name: &str, arguments: &[&str]) -> bool {
    let has = |words: &[&str]| arguments.iter().any(|argument| words.contains(argument));
    if has(&["-h", "--help"]) {
        return false;
    }
    let first = arguments.iter().find(|argument| !argument.starts_with('-')).copied();
    match name {
        "stash" => !matches!(first, Some("list" | "show" | "create")),
        "notes" => matches!(first, Some("add" | "append" | "copy" | "edit" | "merge" | "remove" | "prune")),
        // A name or `-d`, and nothing that only asks.
        "tag" => {
            const ASKS: [&str; 9] = [
                "-l",
                "--list",
                "-v",
                "--verify",
                "--contains",
                "--no-contains",
                "--merged",
                "--no-merged",
                "--points-at",
            ];
            let asks = has(&ASKS)
                || arguments
                    .iter()
                    .any(|argument| argument.starts_with("-n") || argument.starts_with("--sort"));
            first.is_some_and(|first| !first.starts_with(['<', '>', '#'])) && !asks
        }
        _ => false,
    }
}

/// Which limit has ended a command, with its value and its setting.
fn ended_by_limit(limits: &Limits, outcome: &Outcome) -> Option<String> {
    const TOO_LARGE: i32 = 25;
    let mebibytes = |bytes: Option<u64>| bytes.unwrap_or_default() / (1024 * 1024);
    Some(match (outcome.ended_by, outcome.status) {
        (Some(Limit::WallTime), _) => format!(
            "the command was ended: it ran longer than {} seconds ([containment] seconds); do less in one command, or have a person \
             raise the limit",
            limits.wall_time.unwrap_or_default().as_secs()
        ),
        (Some(Limit::Disk), _) => format!(
            "the command was ended: it wrote more than {} MiB to the disk ([containment] disk); write less, or have a person raise the limit",
            mebibytes(limits.disk)
        ),
        (Some(Limit::Names), _) => "the command was ended: it went on making files that must not appear; leave out what makes them, or \
                                    have a person make them, outside the agent"
            .to_owned(),
        (Some(Limit::Processes), _) => format!(
            "the command was ended: it had more than {} processes and threads at once ([containment] processes); start fewer at once, or have \
             a person raise the limit",
            limits.processes.unwrap_or_default()
        ),
        // A shell says by a number that a program of it was ended so.
        (None, Ended::Signal(TOO_LARGE) | Ended::Code(153)) => match (limits.file_size, limits.disk) {
            (Some(size), disk) if disk.is_none_or(|disk| disk >= size) => format!(
                "a file became larger than {} MiB ([containment] file-size); write smaller files, or have a person raise the limit",
                mebibytes(Some(size))
            ),
            (_, Some(disk)) => format!(
                "a file became larger than {} MiB ([containment] disk); write less, or have a person raise the limit",
                mebibytes(Some(disk))
            ),
            _ => return None,
        },
        (None, _) => return None,
    })
}

/// Says under which limits a command has failed, where only its own programs are told that they hit one: the kernel then says that there is no
/// memory, or no process. For a command of a host, the event after the call says it, which knows what the programs have printed.
pub(crate) fn advise_on_limits(plan: &Plan, outcome: &Outcome) {
    if ended_by_limit(&plan.limits, outcome).is_none()
        && let Some(why) = may_have_hit(&plan.limits, outcome.status)
    {
        complain(&why);
    }
}

/// Not where the command was ended from outside, or a program before it in a pipe by one behind it.
fn may_have_hit(limits: &Limits, status: Ended) -> Option<String> {
    const BY_OTHERS: [i32; 5] = [1, 2, 3, 13, 15];
    let by_others = match status {
        Ended::Code(code) => code == 0 || BY_OTHERS.contains(&(code - 128)),
        Ended::Signal(signal) => BY_OTHERS.contains(&signal),
    };
    let memory = limits.memory.map(|memory| {
        format!("{} MiB of memory for each process ([containment] memory)", memory / (1024 * 1024))
    });
    // Of root they are counted, and it is said when there are more.
    let processes = limits.processes.filter(|_| !rustix::process::geteuid().is_root());
    let processes = processes.map(|count| format!("{count} processes ([containment] processes)"));
    let named: Vec<String> = memory.into_iter().chain(processes).collect();
    (!by_others && !named.is_empty()).then(|| {
        format!(
            "the command has failed, and had at most {}; if it ran out of that, have it use less, or have a person raise the limit",
            named.join(" and ")
        )
    })
}

/// Names in it may be the command's: they draw on no terminal, and begin no line of ours.
pub(crate) fn complain(what: &str) {
    let is_drawn = |character: char| !character.is_control() || matches!(character, '\n' | '\t');
    let plain: String = what.chars().filter(|character| is_drawn(*character)).collect();
    let _ = writeln!(io::stderr(), "toolgate: {plain}");
}

pub(crate) fn refused(why: &str) -> ExitCode {
    complain(&format!("nothing was run: {why}"));
    ExitCode::from(NOT_CONTAINED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_cannot_be_written_is_not_taken_for_a_second_start() {
        assert!(not_removed(&io::ErrorKind::NotFound.into()).contains("started before"));
        assert!(not_removed(&io::ErrorKind::ReadOnlyFilesystem.into()).contains("own state"));
    }

    #[test]
    fn a_limit_that_was_hit_is_named_with_its_value_and_setting() {
        let limits = Limits {
            wall_time: Some(Duration::from_mins(1)),
            file_size: Some(5 << 20),
            disk: Some(9 << 20),
            processes: Some(500),
            ..Limits::default()
        };
        let outcome = |status, ended_by| Outcome {
            status,
            level: Level::Full,
            ended_by,
            repository: toolgate_sandbox::Taken::default(),
            pins: Vec::new(),
            is_over: true,
        };
        let said =
            |limits: &Limits, status, by| ended_by_limit(limits, &outcome(status, by)).unwrap_or_default();
        let killed = Ended::Signal(9);
        for (status, by, parts) in [
            (killed, Some(Limit::WallTime), ["60 seconds", "[containment] seconds"]),
            (killed, Some(Limit::Disk), ["9 MiB", "[containment] disk"]),
            (killed, Some(Limit::Names), ["must not appear", "a person"]),
            (killed, Some(Limit::Processes), ["500 processes", "[containment] processes"]),
            (Ended::Signal(25), None, ["5 MiB", "[containment] file-size"]),
            (Ended::Code(153), None, ["5 MiB", "[containment] file-size"]),
        ] {
            let said = said(&limits, status, by);
            assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        }
        let of_memory = Limits { memory: Some(64 << 20), ..Limits::default() };
        for status in [Ended::Code(1), Ended::Code(127), Ended::Code(139), Ended::Signal(11)] {
            let said = may_have_hit(&of_memory, status).unwrap_or_default();
            assert!(said.contains("64 MiB of memory") && said.contains("[containment] memory"), "{said}");
        }
        for status in
            [Ended::Code(0), Ended::Code(130), Ended::Code(143), Ended::Signal(2), Ended::Signal(15)]
        {
            assert_eq!(may_have_hit(&of_memory, status), None);
        }
        assert_eq!(said(&limits, killed, None), "");
        assert_eq!(may_have_hit(&Limits { processes: None, ..limits.clone() }, killed), None);
        let (none, of_disk) = (Limits::default(), Limits { file_size: None, ..limits.clone() });
        assert_eq!(said(&none, Ended::Signal(25), None), "");
        assert!(said(&of_disk, Ended::Signal(25), None).contains("[containment] disk"));
    }

    #[test]
    fn what_all_worktrees_share_is_found_by_its_command() {
        for (text, expected) in [
            ("git stash", Some(("stash", false))),
            ("git stash -m x; true", Some(("stash", true))),
            ("git stash list; git stash || true", Some(("stash", true))),
            ("git stash list; true", Some(("stash", false))),
            ("git stash show -p stash@{0}; true", Some(("stash", false))),
            ("cd a && git -C .. -c x=y tag v1; true", Some(("tag", true))),
            ("git tag -d v1 | cat", Some(("tag", true))),
            ("git tag -a v1\nls", Some(("tag", true))),
            // It went well, or nothing behind it would have run.
            ("git tag v1 && true", Some(("tag", false))),
            ("git tag v1;", Some(("tag", false))),
            ("git tag; true", Some(("tag", false))),
            ("git tag -l; true", Some(("tag", false))),
            ("git tag -n3 v1; true", Some(("tag", false))),
            ("git tag --contains HEAD; true", Some(("tag", false))),
            ("git tag > tags; true", Some(("tag", false))),
            ("git notes add -m x; true", Some(("notes", true))),
            ("git notes show; true", Some(("notes", false))),
            ("git notes; true", Some(("notes", false))),
            ("git commit -m 'see git tag v1; or so'; true", Some(("tag", false))),
            ("eval 'git fetch origin' && pwd", Some(("fetch", false))),
            ("git fetch; true", Some(("fetch", false))),
            ("/usr/bin/git pull", Some(("pull", false))),
            ("git commit -m stash && git push", None),
            ("git log --grep tag", None),
            ("echo stash", None),
            ("git", None),
        ] {
            assert_eq!(shared_by_worktrees(text), expected, "{text}");
        }
    }

    #[test]
    fn a_login_shell_is_recognized_by_its_options() {
        for (options, login) in [
            ("checkwinsize:cmdhist:login_shell:promptvars", true),
            ("checkwinsize:cmdhist:promptvars", false),
            ("569Xl", true),
            ("569X", false),
            ("", false),
        ] {
            assert_eq!(is_login(options.as_ref()), login, "{options}");
        }
    }

    /// What `contain` does on a kernel that gives these levels, and at which it has tried to run something.
    fn contained_on(
        has: &[Level],
        require: Level,
        level: Option<Level>,
    ) -> (Result<Level, String>, Vec<Level>) {
        let mut tried = Vec::new();
        let outcome = contain(require, level, |level, _| {
            tried.push(level);
            match level {
                level if has.contains(&level) => Ok(Outcome {
                    status: toolgate_sandbox::Ended::Code(0),
                    level,
                    ended_by: None,
                    repository: toolgate_sandbox::Taken::default(),
                    pins: Vec::new(),
                    is_over: true,
                }),
                Level::Full => Err(Error::NoNamespaces(io::ErrorKind::PermissionDenied.into())),
                Level::Landlock => Err(Error::NoLandlock),
            }
        });
        (outcome.map(|outcome| outcome.level).map_err(|error| error.to_string()), tried)
    }

    #[test]
    fn a_step_down_goes_no_lower_than_what_is_required() {
        use Level::{Full, Landlock};
        let both = &[Full, Landlock][..];
        for (has, require, level, runs_at, tried) in [
            (both, Landlock, None, Some(Full), &[Full][..]),
            (both, Landlock, Some(Landlock), Some(Landlock), &[Landlock]),
            (both, Full, Some(Landlock), None, &[]),
            (&[Landlock], Landlock, None, Some(Landlock), &[Full, Landlock]),
            (&[Landlock], Full, None, None, &[Full]),
            (&[Landlock], Landlock, Some(Full), None, &[Full]),
            (&[], Landlock, None, None, &[Full, Landlock]),
        ] {
            let (outcome, levels) = contained_on(has, require, level);
            assert_eq!(
                (outcome.clone().ok(), levels.as_slice()),
                (runs_at, tried),
                "{has:?} {require:?} {level:?}: {outcome:?}"
            );
        }
        assert!(contained_on(&[Landlock], Full, None).0.unwrap_err().contains("make namespaces"));
        assert!(contained_on(both, Full, Some(Landlock)).0.unwrap_err().contains("require level full"));
    }

    #[test]
    fn the_file_that_a_client_reads_its_directory_from_is_found_by_its_form() {
        for (text, file) in [
            ("eval 'make' < /dev/null && pwd -P >| /tmp/claude-8f3a-cwd", Some("/tmp/claude-8f3a-cwd")),
            ("make && pwd -P >| '/tmp/claude-8f3a-cwd'", Some("/tmp/claude-8f3a-cwd")),
            ("make && pwd -P >| /home/me/claude-8f3a-cwd", None),
            ("make && pwd -P >| /tmp/../home/me/claude-1-cwd", None),
            ("make && pwd -P >| /tmp/claude-a/b-cwd", None),
            ("make && pwd -P >| /tmp/claude-1000/cwd-39cc", Some("/tmp/claude-1000/cwd-39cc")),
            ("make && pwd -P >| /home/me/claude-1000/cwd-39cc", None),
            ("make && pwd -P >| /tmp/claude-1000/../cwd-39cc", None),
            ("make && pwd -P >| /tmp/other/cwd-39cc", None),
            ("make && pwd -P >| /tmp/.bashrc", None),
            ("make", None),
        ] {
            let expected = file.map(|file| ReadBack::Directory(file.into()));
            assert_eq!(directory_file(text), expected, "{text}");
        }
        for (text, directory) in [
            ("shopt x; _bgpids_file=/tmp/gemini-shell-aB3/bgpids.tmp\n( trap", Some("/tmp/gemini-shell-aB3")),
            ("_bgpids_file='/var/tmp/gemini-shell-a/bgpids.tmp'; x", Some("/var/tmp/gemini-shell-a")),
            ("_bgpids_file=/home/me/gemini-shell-a/bgpids.tmp; x", None),
            ("_bgpids_file=/tmp/gemini-shell-../bgpids.tmp; x", None),
            ("_bgpids_file=/tmp/other/bgpids.tmp; x", None),
        ] {
            assert_eq!(jobs_directory(text), directory.map(|found| ReadBack::Jobs(found.into())), "{text}");
        }
    }
}
