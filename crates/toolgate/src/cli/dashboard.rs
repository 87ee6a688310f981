//! `toolgate dashboard`: the log, the agents, the rules and a playground as pages on loopback.
//!
//! INVARIANT: this changes nothing. What it serves shows a person the command for that. An agent gets no server: the gate denies it the command
//! (`own-command`), and below an agent's host, or contained, the program itself refuses.

use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use toolgate_dashboard::{Desk, InForce, Options, Question, Setting, Waiting, serve};
use toolgate_gate::approval::Pending;
use toolgate_gate::dirs::Dirs;
use toolgate_gate::options::{HookOptions, SessionOptions};
use toolgate_gate::settings::FILE;
use toolgate_gate::store::write_private;
use toolgate_model::ActivationState;
use toolgate_setup::person::not_an_agent;
use toolgate_setup::this_machine;

use super::config::settings_in_force;
use super::people::HomeArgs;

/// A command is judged by then, and so many past calls.
const JUDGED: Duration = Duration::from_secs(20);
const REPLAYED: Duration = Duration::from_secs(90);
/// An answer is no longer than this.
const LONGEST: u64 = 16 * 1024 * 1024;
/// A person's file of settings is no longer than this.
const LONGEST_SETTINGS: u64 = 128 * 1024;

/// Show the log, the agents, the rules and a playground in a browser
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  toolgate dashboard\n  toolgate dashboard --open\n  toolgate dashboard --port 7117        # and from elsewhere: ssh -L 7117:127.0.0.1:7117 HOST\n\nEach printed address opens one page, once; Return prints another one. Ctrl-C ends it."
)]
pub(super) struct Dashboard {
    /// The port on 127.0.0.1 [default: any that is free]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// End when nobody has asked for so long
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = humantime::parse_duration)]
    idle: Duration,
    #[command(flatten)]
    home: HomeArgs,
}

impl Dashboard {
    pub(super) fn run(self) -> Result<ExitCode, String> {
        not_an_agent().map_err(|why| format!("only a person can do this: {why}"))?;
        // Who reads the memory of this process reads the log with it.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
        let desk = Desktop {
            dirs: self.home.dirs()?,
            here: std::env::current_dir().map_err(|error| error.to_string())?,
            program: std::env::current_exe().map_err(|error| error.to_string())?,
            scratches: AtomicU64::new(0),
            stop: Arc::new(AtomicBool::new(false)),
        };
        let stop = desk.stop.clone();
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP]
        {
            signal_hook::flag::register(signal, stop.clone()).map_err(|error| error.to_string())?;
        }
        let again = Arc::new(AtomicBool::new(false));
        if io::stdin().is_terminal() {
            let again = again.clone();
            let _ = writeln!(
                io::stderr(),
                "Each address opens one page, once. Return prints another one, ctrl-C ends this."
            );
            thread::spawn(move || {
                while next_line().is_ok_and(|is_typed| is_typed) {
                    again.store(true, Ordering::Relaxed);
                }
            });
        }
        let opens = AtomicBool::new(self.open);
        let announce = |address: &str| {
            let mut out = io::stdout().lock();
            let _ = writeln!(out, "{address}").and_then(|()| out.flush());
            if opens.swap(false, Ordering::Relaxed) {
                open(address);
            }
        };
        let options = Options { port: self.port, idle: self.idle, stop };
        serve(Arc::new(desk), &options, &announce, &again).map_err(|error| error.to_string())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Waits for a line of the terminal; `false` at its end. In the background nothing is read: that would stop the program.
fn next_line() -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = io::stdin();
    let pause = Timespec { tv_sec: 1, tv_nsec: 0 };
    loop {
        let is_in_front = rustix::termios::tcgetpgrp(&stdin)? == rustix::process::getpgrp();
        if !is_in_front {
            thread::sleep(Duration::from_secs(1));
        } else if poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&pause))? > 0 {
            return stdin.lock().read_line(&mut String::new()).map(|read| read > 0);
        }
    }
}

/// Has the person's browser open an address. Where there is none, the address is on the terminal.
fn open(address: &str) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(opener);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        // Some openers stay as long as the browser does.
        Ok(mut child) => drop(thread::spawn(move || child.wait())),
        Err(error) => drop(writeln!(io::stderr(), "toolgate: {opener}: {error}")),
    }
}

/// What the pages ask this program.
struct Desktop {
    dirs: Dirs,
    here: PathBuf,
    program: PathBuf,
    scratches: AtomicU64,
    stop: Arc<AtomicBool>,
}

/// A directory of its own for settings that are only tried, beside the log, where no agent writes. Gone when it is dropped.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Desktop {
    fn scratch(&self, settings: &str) -> Result<Scratch, String> {
        let number = self.scratches.fetch_add(1, Ordering::Relaxed);
        let directory = self.dirs.state.join(format!("playground-{}-{number}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&directory).map_err(|error| error.to_string())?;
        let scratch = Scratch(directory);
        write_private(&scratch.0.join(FILE), settings.as_bytes()).map_err(|error| error.to_string())?;
        Ok(scratch)
    }

    /// This program with such arguments, for the same home.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).env("NO_COLOR", "1");
        command.arg("--home").arg(&self.dirs.home).arg("--state").arg(&self.dirs.state);
        command
    }

    /// What it prints, if it ends in time. `good`: the exit codes of an answer.
    fn answer(&self, mut command: Command, limit: Duration, good: &[i32]) -> Result<Vec<u8>, String> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let read = |pipe: Option<Box<dyn Read + Send>>| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                // Whoever prints more than that is not read to the end, and says so by its exit code.
                let _ = pipe.map(|pipe| pipe.take(LONGEST).read_to_end(&mut bytes));
                bytes
            })
        };
        let out = read(child.stdout.take().map(|pipe| Box::new(pipe) as _));
        let errors = read(child.stderr.take().map(|pipe| Box::new(pipe) as _));
        let until = Instant::now() + limit;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
                break status;
            }
            if Instant::now() > until || self.stop.load(Ordering::Relaxed) {
                let _ = child.kill();
                let _ = child.wait();
                // What it leaves where it had other settings.
                let _ = fs::remove_dir_all(self.dirs.state.join(format!("replay-{}", child.id())));
                return Err(format!("no answer within {} seconds", limit.as_secs()));
            }
            thread::sleep(Duration::from_millis(10));
        };
        let (out, errors) = (out.join().unwrap_or_default(), errors.join().unwrap_or_default());
        if status.code().is_some_and(|code| good.contains(&code)) {
            return Ok(out);
        }
        let said = String::from_utf8_lossy(&errors);
        Err(said.trim().strip_prefix("toolgate: ").unwrap_or(said.trim()).to_owned())
    }
}

/// An error in words about the person's file: it was only tried elsewhere.
fn about_own(error: String, scratch: Option<&Scratch>) -> String {
    match scratch {
        Some(scratch) => error.replace(&scratch.0.join(FILE).display().to_string(), FILE),
        None => error,
    }
}

impl Desk for Desktop {
    fn state(&self) -> &Path {
        &self.dirs.state
    }

    fn waiting(&self) -> Vec<Waiting> {
        let pending = Pending::all(&this_machine(), &self.dirs).unwrap_or_default();
        let waiting = pending.into_iter().map(|pending| Waiting {
            code: pending.code,
            session: pending.subject.session,
            input: pending.subject.input,
        });
        waiting.collect()
    }

    fn here(&self) -> &Path {
        &self.here
    }

    fn settings(&self, root: &Path) -> Result<InForce, String> {
        let options = HookOptions {
            dirs: self.dirs.clone(),
            profile: None,
            session: SessionOptions { root: Some(root.to_path_buf()), ..SessionOptions::default() },
            activation: ActivationState::default(),
            event: None,
        };
        let found = settings_in_force(&options, "worktree", true)?;
        let settings = found.settings.into_iter().map(|setting| Setting {
            key: setting.key,
            value: setting.value.to_string(),
            from: setting.from,
        });
        let without = found.without_effect.iter().map(|found| format!("{}; {}", found.line(), found.help));
        Ok(InForce { settings: settings.collect(), without_effect: without.collect() })
    }

    fn own_settings(&self) -> Result<(PathBuf, String), String> {
        let file = self.dirs.config.join(FILE);
        let text = match fs::File::open(&file) {
            Ok(file) => {
                let mut text = String::new();
                file.take(LONGEST_SETTINGS).read_to_string(&mut text).map(|_| text)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(error),
        };
        let text = text.map_err(|error| format!("{}: {error}", file.display()))?;
        Ok((file, text))
    }

    fn check(&self, question: &Question) -> Result<Vec<u8>, String> {
        if !question.root.is_dir() {
            return Err(format!("{} is not a directory", question.root.display()));
        }
        let scratch = question.settings.as_deref().map(|settings| self.scratch(settings)).transpose()?;
        let mut command = self.command(&["check", "--effects", "--json"]);
        let config = scratch.as_ref().map_or(&self.dirs.config, |scratch| &scratch.0);
        command.arg("--config").arg(config).arg("--root").arg(&question.root);
        // By its own tool, so that a command of one word is not taken for a tool.
        command.args(["--", "bash"]).arg(&question.command).current_dir(&question.root);
        let answer = self.answer(command, JUDGED, &[0, 2, 3]);
        answer.map_err(|error| about_own(error, scratch.as_ref()))
    }

    fn replay(&self, settings: &str, days: u32) -> Result<Vec<u8>, String> {
        let scratch = self.scratch(settings)?;
        let mut command = self.command(&["replay", "--json", "--since", &format!("{days}d")]);
        command.arg("--against").arg(scratch.0.join(FILE)).arg("--config").arg(&self.dirs.config);
        let answer = self.answer(command, REPLAYED, &[0]);
        answer.map_err(|error| about_own(error, Some(&scratch)))
    }
}
