//! Every client against every promise, with the real client.
//!
//! ```sh
//! e2e/clients/install DIR
//! cargo build -p toolgate
//! cargo run -p toolgate-e2e -- --clients DIR --toolgate target/debug/toolgate
//! ```
//!
//! For each cell of the table: a stage, `toolgate init` as a person types it, the client with a scripted model, and then
//! a look at the disk and at what the model was told. What is found is compared with `expected.rs`; a client that
//! changes its ways is noticed, for the better as well.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod approved;
mod contained;
mod expected;
mod gate;
mod log;
mod managed;
#[path = "../../crates/toolgate/src/cli/progress.rs"]
mod progress;
mod rows;
mod table;
mod team;
mod ways;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;
use std::time::Instant;

use clap::Parser;
use toolgate_rehearsal::clients::{CLIENTS, Casting, Client};
use toolgate_rehearsal::mcp;
use toolgate_rehearsal::model::{Model, Script};
use toolgate_rehearsal::run::run;
use toolgate_rehearsal::stage::Stage;

use self::expected::{expected, expected_alone};
use self::gate::{Gate, Scope};
use self::progress::Shown;
use self::rows::{ROWS, Row, Take, Truth};
use self::table::{Cell, Verdict};

/// The first argument that makes this program the MCP server of a rehearsal. The second is where it notes questions.
const MCP: &str = "mcp-server";

#[derive(Debug, Parser)]
#[command(about, version)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
struct Args {
    /// Where the clients are installed
    #[arg(long, value_name = "DIR")]
    clients: PathBuf,
    /// The binary of toolgate
    #[arg(long, value_name = "BIN")]
    toolgate: PathBuf,
    /// Only this host; may be given again
    #[arg(long, value_name = "HOST")]
    host: Vec<String>,
    /// Only this row; may be given again
    #[arg(long, value_name = "ROW")]
    row: Vec<String>,
    /// Rehearse the administrator's registration too; needs root, and leaves the machine's /etc alone
    #[arg(long)]
    managed: bool,
    /// Register no gate, and expect that what a row speaks of happens: so the row can fail
    #[arg(long)]
    control: bool,
    /// Print the cells as JSON lines
    #[arg(long)]
    json: bool,
    /// Print the table in Markdown
    #[arg(long)]
    markdown: bool,
    /// Write the table into this file, between its markers
    #[arg(long, value_name = "FILE")]
    update: Option<PathBuf>,
    /// Where the adapters are
    #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../adapters"))]
    adapters: PathBuf,
    /// Where the stages are made
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    scratch: PathBuf,
    /// How many clients run at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 2)]
    jobs: usize,
}

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == MCP) {
        let questions = words.next().map(PathBuf::from).unwrap_or_default();
        let served = mcp::serve(io::stdin().lock(), io::stdout().lock(), &questions);
        return if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    match rehearse(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("e2e: {error}");
            ExitCode::from(2)
        }
    }
}

/// Plays all cells that were asked for. Whether all were as expected.
fn rehearse(args: &Args) -> Result<bool, String> {
    let begun = Instant::now();
    let (clients, rows) = (clients(&args.host)?, rows(args)?);
    let crew = Crew::new(args)?;
    let cast: Vec<(&'static dyn Client, &Row)> =
        clients.iter().flat_map(|client| rows.iter().map(move |row| (*client, row))).collect();
    let (progress, all) = (Shown::counting("e2e", "cells"), cast.len());
    let (waiting, cells) = (Mutex::new(cast.into_iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..args.jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let Some((client, row)) = lock(&waiting).next() else { return };
                    let mut cell = crew.play(client, *row);
                    if matches!(cell.truth, Truth::Broken(_)) {
                        // The client did not play its part: a busy machine has some lose an output. That says nothing of the gate, so it
                        // plays once more, and both are printed. What did harm is never played again.
                        report(&cell, args.json);
                        cell = crew.play(client, *row);
                    }
                    report(&cell, args.json);
                    let mut cells = lock(&cells);
                    cells.push(cell);
                    progress.at(cells.len() as u64, all as u64);
                }
            });
        }
    });
    let cells = cells.into_inner().unwrap_or_else(PoisonError::into_inner);
    let versions = clients.iter().map(|client| crew.version(*client)).collect::<Result<Vec<_>, _>>()?;
    let table = table::markdown(&clients, &versions, &cells);
    if args.markdown {
        println!("{table}");
    }
    if let Some(file) = &args.update {
        table::update(file, &table)?;
    }
    let count = |verdict| cells.iter().filter(|cell| cell.verdict() == verdict).count();
    let (passed, failed, skipped) = (count(Verdict::Pass), count(Verdict::Fail), count(Verdict::Skip));
    let skipped = if skipped == 0 { String::new() } else { format!(", {skipped} SKIPPED") };
    println!("e2e: {passed} passed, {failed} failed{skipped} in {} s", begun.elapsed().as_secs());
    Ok(failed == 0)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn report(cell: &Cell, json: bool) {
    if json {
        println!("{}", cell.json());
    } else {
        println!("{cell}");
    }
}

fn clients(wanted: &[String]) -> Result<Vec<&'static dyn Client>, String> {
    let known = |host: &str| CLIENTS.iter().find(|client| client.host() == host);
    if wanted.is_empty() {
        return Ok(CLIENTS.to_vec());
    }
    wanted.iter().map(|host| known(host).copied().ok_or_else(|| format!("no client `{host}`"))).collect()
}

fn rows(args: &Args) -> Result<Vec<Row>, String> {
    let known = |id: &str| ROWS.into_iter().find(|row| row.id() == id);
    if args.row.is_empty() {
        return Ok(ROWS.into_iter().filter(|row| args.managed || row.scope() == Scope::User).collect());
    }
    args.row.iter().map(|id| known(id).ok_or_else(|| format!("no row `{id}`"))).collect()
}

/// What all rehearsals need.
struct Crew<'a> {
    toolgate: PathBuf,
    installed: PathBuf,
    adapters: PathBuf,
    scratch: &'a Path,
    this: PathBuf,
    control: bool,
}

impl<'a> Crew<'a> {
    fn new(args: &'a Args) -> Result<Crew<'a>, String> {
        let found =
            |path: &Path| path.canonicalize().map_err(|error| format!("`{}`: {error}", path.display()));
        let this = std::env::current_exe().map_err(|error| error.to_string())?;
        Ok(Crew {
            toolgate: found(&args.toolgate)?,
            installed: found(&args.clients)?,
            adapters: args.adapters.clone(),
            scratch: &args.scratch,
            this,
            control: args.control,
        })
    }

    /// A stage with the client and node on it.
    fn stage(&self, client: &dyn Client) -> io::Result<Stage> {
        let stage = Stage::new(self.scratch)?;
        let programs: BTreeSet<&str> = ["node", client.program()].into();
        for program in programs {
            stage.add_program(
                program,
                &self.installed.join("node_modules/.bin").join(program).canonicalize()?,
            )?;
        }
        Ok(stage)
    }

    fn version(&self, client: &dyn Client) -> Result<String, String> {
        let stage = self.stage(client).map_err(|error| error.to_string())?;
        client
            .version(&stage, &self.installed)
            .ok_or_else(|| format!("{} does not say its version", client.name()))
    }

    fn play(&self, client: &'static dyn Client, row: Row) -> Cell {
        let begun = Instant::now();
        let truth = self.truth(client, row).unwrap_or_else(Truth::Broken);
        let expected = if self.control { expected_alone } else { expected };
        let expected = expected(client.host(), row);
        Cell { host: client.host(), row, truth, expected, took: begun.elapsed() }
    }

    fn truth(&self, client: &dyn Client, row: Row) -> Result<Truth, String> {
        let text = |error: io::Error| error.to_string();
        let stage = self.stage(client).map_err(text)?;
        let takes = row.takes(client, &stage);
        if takes.is_empty() {
            return Ok(Truth::None);
        }
        if row.scope() == Scope::Managed {
            if !client.has_managed() {
                return Ok(Truth::None);
            }
            if let Err(why) = managed::possible(&stage) {
                return Ok(Truth::Skipped(why));
            }
        }
        let model = Model::start(Script::default()).map_err(text)?;
        let url = model.url();
        let mcp = [self.this.as_path(), Path::new(MCP), &stage.questions()];
        let mcp = mcp.map(|word| word.to_string_lossy().into_owned());
        let casting = Casting {
            stage: &stage,
            model: &url,
            mcp: &mcp,
            installed: &self.installed,
            adapters: (!self.control).then_some(self.adapters.as_path()),
            part: None,
            mode: None,
            added: None,
            resumed: false,
        };
        client.configure(&casting).map_err(text)?;
        row.before(&stage, client).map_err(text)?;
        let gate = Gate::put(&stage, &self.toolgate).map_err(text)?;
        if client.registers() && !self.control {
            let profile = takes.iter().find_map(|take| Some(take.part?.profile));
            gate.init(client.host(), row.scope(), profile)?;
        }
        if !self.control {
            row.after(&gate)?;
        }

        let mut ran = None;
        for Take { part, mode, script, start, added, resumed } in takes {
            model.play(script);
            // Others are told when they are started.
            let registered = part.and_then(|part| part.agent).filter(|_| client.registers());
            if let Some(name) = registered {
                gate.tell(&["agent", "add", name])?;
            }
            let program = stage.bin().join(client.program());
            let mut command = match row.scope() {
                Scope::User => stage.command(program),
                Scope::Managed => managed::command(&stage, program),
            };
            let casting = Casting { part, mode, added: added.as_deref(), resumed, ..casting };
            client.start(&casting, "Do what you have to do.", &mut command);
            command.current_dir(start.unwrap_or_else(|| row.start(&stage)));
            let end = run(&mut command, &stage.tmp(), client.limit(), || row.enough(&stage, &gate))
                .map_err(text)?;
            if let Some(name) = registered {
                gate.tell(&["agent", "remove", name])?;
            }
            ran = Some(end);
        }
        let ran = ran.ok_or("there was nothing to play")?;
        Ok(row.judge(client, &stage, &gate, &model.seen(), &ran))
    }
}
