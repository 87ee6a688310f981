//! `toolgate watch`: the agents and their calls on the terminal, as they come.
//!
//! INVARIANT: this changes nothing by itself. Whoever approves, rejects or locks out is handed to the command for that, in the same terminal: it
//! asks what it always asks, and an agent that types into this page gets as far as there.

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use toolgate_evidence::proof::Cursor;
use toolgate_evidence::{Ledger, LedgerError, Record, Records, last_position};
use toolgate_gate::approval::Pending;
use toolgate_gate::dirs::Dirs;
use toolgate_setup::this_machine;
use toolgate_watch::{Filter, Screen, Waiting, Watch as Page, Wish, draw};

use super::ledger::readable;
use super::people::HomeArgs;

/// So many records of the past are read.
const PAST: usize = 2_000;
/// So many records are read at once, so that keys are heard in between.
const AT_ONCE: usize = 2_000;
/// How often somebody looks for new records.
const LOOK: Duration = Duration::from_millis(200);
/// How often somebody looks for calls that wait.
const ASK: Duration = Duration::from_secs(1);

/// Watch the agents and their calls as they come
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  toolgate watch\n  toolgate watch verdict:deny\n  toolgate watch agent:ripley 'path:src/**'\n\n`?` lists the keys. For a script, use `toolgate ledger tail --follow`."
)]
pub(super) struct Watch {
    /// What to show: verdict:, agent:, host:, session:, tool:, policy:, path: with a value, or words that must occur
    filter: Vec<String>,
    #[command(flatten)]
    home: HomeArgs,
}

impl Watch {
    pub(super) fn run(self, colour: bool) -> Result<ExitCode, String> {
        let dirs = self.home.dirs()?;
        let mut page = Page::showing(Filter::parse(&self.filter.join(" ")));
        let failed = |error: LedgerError| error.to_string();
        let end = last_position(&dirs.state).map_err(failed)?.map_or(0, |last| last.seq);
        let (ledger, mut passed) = (Ledger::at(&dirs.state), 0);
        for record in readable(ledger.last(PAST).map_err(failed)?, &mut passed) {
            add(&mut page, record.map_err(failed)?);
        }
        let mut cursor = Cursor::after(end);
        cursor.unreadable = passed;
        let mut told = 0;
        let mut screen = Screen::open(colour).map_err(|error| error.to_string())?;
        let mut asked: Option<Instant> = None;
        loop {
            page.tick(seconds(SystemTime::now()));
            if asked.is_none_or(|asked| asked.elapsed() > ASK) {
                page.waits(waiting(&dirs));
                asked = Some(Instant::now());
            }
            let (lines, rows) = draw(&page, screen.size());
            screen.show(&lines).map_err(|error| error.to_string())?;
            for key in screen.typed(LOOK).map_err(|error| error.to_string())? {
                let Some(wish) = page.key(key, rows) else { continue };
                match grant(&mut page, &mut screen, &dirs, &wish) {
                    Ok(true) => {}
                    Ok(false) => return Ok(ExitCode::SUCCESS),
                    Err(error) => page.tell(&error.to_string()),
                }
                asked = None;
            }
            cursor
                .read(&dirs.state, AT_ONCE, |_, record| {
                    add(&mut page, record);
                    Ok(())
                })
                .map_err(failed)?;
            if cursor.unreadable > told {
                page.tell("a line of the log is no record: toolgate ledger verify");
                told = cursor.unreadable;
            }
        }
    }
}

/// Does what a person wants. Whether to go on.
fn grant(page: &mut Page, screen: &mut Screen, dirs: &Dirs, wish: &Wish) -> io::Result<bool> {
    let own = std::env::current_exe()?;
    let mut command = Command::new(own);
    match wish {
        Wish::Quit => return Ok(false),
        Wish::Explain { seq } => {
            let drawn = page.record(*seq).and_then(|record| drawn(command, dirs, record));
            page.draw_call(*seq, drawn.unwrap_or_default());
            return Ok(true);
        }
        Wish::Approve { code } => command.args(["approve", code]),
        Wish::Reject { code, note } => command.args(["reject", code, note]),
        Wish::LockOut { agent, path, root, note } => {
            command.args(["lockout", "add", path, "--agent", agent, "--root", root, "--reason", note])
        }
    };
    command.args(home_of(dirs));
    let ended = screen.lend(|| {
        let ended = command.status();
        let _ = write!(io::stdout(), "\nReturn goes back to the page. ");
        let _ = io::stdout().flush();
        let _ = io::stdin().lock().read_line(&mut String::new());
        ended
    })??;
    page.tell(if ended.success() { "done" } else { "nothing was changed" });
    Ok(true)
}

/// These directories as options.
fn home_of(dirs: &Dirs) -> [&std::ffi::OsStr; 4] {
    ["--home".as_ref(), dirs.home.as_os_str(), "--state".as_ref(), dirs.state.as_os_str()]
}

/// The command of a record, drawn as it would be judged now. `None` where there is none, or its place is gone.
fn drawn(mut check: Command, dirs: &Dirs, record: &Record) -> Option<String> {
    let (_, command) = record.args.iter().find(|(name, _)| matches!(name.as_str(), "command" | "cmd"))?;
    let cwd = if record.cwd.is_empty() { &record.root } else { &record.cwd };
    if !Path::new(cwd).is_dir() {
        return None;
    }
    check.args(["check", "--host", &record.host, "--root", &record.root]).args(home_of(dirs));
    if !record.agent.is_empty() {
        check.args(["--agent", &record.agent]);
    }
    let output = check.arg("--").arg(command).current_dir(cwd).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    (!text.is_empty()).then(|| format!("as it would be judged now:\n{text}"))
}

fn add(page: &mut Page, record: Record) {
    let time = humantime::parse_rfc3339(&record.time).map_or(0, seconds);
    page.add(record, time);
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The calls that wait for a person.
fn waiting(dirs: &Dirs) -> Vec<Waiting> {
    let pending = Pending::all(&this_machine(), dirs).unwrap_or_default();
    let waiting = pending.into_iter().map(|pending| Waiting {
        code: pending.code,
        session: pending.subject.session,
        input: pending.subject.input,
    });
    waiting.collect()
}
