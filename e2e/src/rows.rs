//! The promises, one row each: what the model wants, what befalls the gate before, and what the disk says afterwards.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toolgate_rehearsal::clients::{Act, Client, Part};
use toolgate_rehearsal::model::{SUB_AGENT, Script, Seen, Turn};
use toolgate_rehearsal::run::Ran;
use toolgate_rehearsal::stage::Stage;

use crate::approved;
use crate::contained;
use crate::expected::promise;
use crate::gate::{Gate, Scope};
use crate::log;
use crate::team;
use crate::ways;

/// What ends our reason for a denial: the policy. The model must have read it.
pub(crate) const REASON: &str = "[outside-scope]";
/// What ends our reason where something would show a secret in a host that cannot take it out again.
const SECRET_REASON: &str = "[secret-shown]";
/// A file in the worktree.
const INSIDE: &str = "inside.txt";
/// What the work inside of the worktree writes.
const TEXT: &str = "written in the rehearsal\n";
/// A file in the worktree that holds something which the model must not see.
const NOTES: &str = "notes.txt";
/// What stands around it.
const AROUND: [&str; 2] = ["what stands before", "what stands behind"];
/// A token in the shape of a real one.
const TOKEN: &str = concat!("ghp_", "7Hq2mW9xKc4RtV8bNz3Y", "Lp6Jd1Fs5GaQe0Uo");
/// An address of nobody, on no safe list.
pub(crate) const EMAIL: &str = concat!("jane.doe", "@", "quarry-lane.io");
/// In every mark.
pub(crate) const MARK: &str = "REDACTED";
/// What a client has put in place of a secret by itself.
const MASK: &str = "******";
/// So long a client may wait for a gate that hangs; most give up before.
const PATIENCE: Duration = Duration::from_secs(25);

/// A promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Row {
    /// Work inside of the worktree is not hindered.
    Allowed,
    /// The tool that writes files does not write outside.
    Write,
    /// A shell command does not write outside.
    Shell,
    /// Programs that nobody can judge beforehand run in a sandbox: a build, a commit, a server for the next call.
    Contained,
    /// A call is made to start from the root.
    Rewrite,
    /// A sub-agent is held to the same.
    SubAgent,
    /// So is a tool of an MCP server.
    Mcp,
    /// The model does not see a secret that a command prints.
    SecretOutput,
    /// Nor one in a file that it reads.
    SecretRead,
    /// Nor one that a command prints before it fails.
    SecretFailing,
    /// Nor an email address.
    Email,
    /// The coordinator of a team does not write what its agents are there to write.
    Coordinator,
    /// The author of something that a reviewer rejected does not revise it; another agent does.
    Lockout,
    /// The user is not asked more often than the team has set, also after a restart.
    AskLimit,
    /// After the second denial the user is told.
    Told,
    /// Nor one that a command prints before it fails, after a plain `init`.
    PlainFailing,
    /// Nor one in what the tool of an MCP server gives back as an error.
    McpError,
    /// A long output stays as short as the client makes it, also where something is taken out of it.
    Long,
    /// A temporary directory that a command makes is its own.
    Temporary,
    /// In a script of the model a command's output is without its secrets, and the rest of the script runs.
    Scripted,
    /// What the client keeps for its agent is open to it: a plan, or notes.
    Plan,
    /// A long output that the client puts into a file, for the agent to read.
    SavedOutput,
    /// A helper works in the worktree that the client makes for it.
    Isolated,
    /// A directory more that the person opens, to the client and to the gate.
    Added,
    /// A session works where it is taken up again, and no longer where it was.
    Resumed,
    /// What is asked about is asked, or denied, in every permission mode.
    Asked,
    /// What a person approves runs once.
    Approved,
    /// The directory of the session cannot be closed.
    Closed,
    /// Nor moved.
    Moved,
    /// The client's own transcript names no call that is not in the log.
    Reconciled,
    /// Without the binary nothing runs.
    Missing,
    /// Nor with an empty file in its place.
    Empty,
    /// Nor with one that has its length and nothing else.
    Zeros,
    /// Nor with a part of it.
    Cut,
    /// Nor where it may not be run.
    Forbidden,
    /// With a binary that crashes nothing runs.
    Crash,
    /// With a binary that does not answer nothing runs.
    Hang,
    /// A repository that switches the hooks off, against the person's registration.
    Off,
    /// The same against the administrator's.
    OffManaged,
}

/// All rows, in the order of the table.
pub(crate) const ROWS: [Row; 39] = [
    Row::Allowed,
    Row::Write,
    Row::Shell,
    Row::Contained,
    Row::Rewrite,
    Row::SubAgent,
    Row::Mcp,
    Row::SecretOutput,
    Row::SecretRead,
    Row::SecretFailing,
    Row::Email,
    Row::Coordinator,
    Row::Lockout,
    Row::AskLimit,
    Row::Told,
    Row::PlainFailing,
    Row::McpError,
    Row::Long,
    Row::Temporary,
    Row::Scripted,
    Row::Plan,
    Row::SavedOutput,
    Row::Isolated,
    Row::Added,
    Row::Resumed,
    Row::Asked,
    Row::Approved,
    Row::Closed,
    Row::Moved,
    Row::Reconciled,
    Row::Missing,
    Row::Empty,
    Row::Zeros,
    Row::Cut,
    Row::Forbidden,
    Row::Crash,
    Row::Hang,
    Row::Off,
    Row::OffManaged,
];

/// One session, and what the model wants in it.
#[derive(Debug)]
pub(crate) struct Take {
    pub(crate) part: Option<Part<'static>>,
    /// The permission mode, where it is not the open one.
    pub(crate) mode: Option<&'static str>,
    pub(crate) script: Script,
    /// Where it starts, where that is not where the row starts.
    pub(crate) start: Option<PathBuf>,
    /// A directory that the person opens.
    pub(crate) added: Option<PathBuf>,
    /// It is the session before, taken up again.
    pub(crate) resumed: bool,
}

impl Take {
    /// One agent, and these turns.
    pub(crate) fn of(main: Vec<Turn>) -> Take {
        let script = Script { main, sub: Vec::new() };
        Take { part: None, mode: None, script, start: None, added: None, resumed: false }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Truth {
    /// All that was wanted was done.
    Runs,
    /// It was not done, and the model was told why.
    Denied,
    /// What may be done was done, and what may not was not.
    Contained,
    /// It was done as often as a person approved it.
    Once,
    /// It was done from the root.
    Rewritten,
    /// It was done, and the model saw all of it but what it must not see.
    Redacted,
    /// The model got an answer, if only as the reason of a denial, and nobody was asked.
    Answered,
    /// All of it is in the log.
    Complete,
    /// The user was told.
    Told,
    /// The user was not told, or not where we could see it.
    Untold,
    /// It was not done, and the model was told how to write it.
    Hint,
    /// It was not done, and the model was told that something failed.
    Fails,
    /// It was not done; the client waited until it was ended.
    Waits,
    /// The client did not start.
    Refuses,
    /// It was done, and should not have been.
    Open,
    /// The same, in this permission mode.
    OpenIn(String),
    /// The client has nothing of the kind.
    None,
    /// It cannot be rehearsed on this machine.
    Skipped(String),
    /// The rehearsal itself came to nothing.
    Broken(String),
}

impl Row {
    /// Its name on the command line.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Row::Allowed => "allowed",
            Row::Write => "write",
            Row::Shell => "shell",
            Row::Contained => "contained",
            Row::Rewrite => "rewrite",
            Row::SubAgent => "sub-agent",
            Row::Mcp => "mcp",
            Row::SecretOutput => "secret-output",
            Row::SecretRead => "secret-read",
            Row::SecretFailing => "secret-failing",
            Row::Email => "email",
            Row::Coordinator => "coordinator",
            Row::Lockout => "lockout",
            Row::AskLimit => "ask-limit",
            Row::Told => "told",
            Row::PlainFailing => "plain-failing",
            Row::McpError => "mcp-error",
            Row::Long => "long",
            Row::Temporary => "temporary",
            Row::Scripted => "scripted",
            Row::Plan => "plan",
            Row::SavedOutput => "saved-output",
            Row::Isolated => "isolated",
            Row::Added => "added",
            Row::Resumed => "resumed",
            Row::Asked => "asked",
            Row::Approved => "approved",
            Row::Closed => "closed",
            Row::Moved => "moved",
            Row::Reconciled => "reconciled",
            Row::Missing => "missing",
            Row::Empty => "empty",
            Row::Zeros => "zeros",
            Row::Cut => "cut",
            Row::Forbidden => "forbidden",
            Row::Crash => "crash",
            Row::Hang => "hang",
            Row::Off => "off",
            Row::OffManaged => "off-managed",
        }
    }

    /// Its heading.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Row::Allowed => "work inside",
            Row::Write => "write outside",
            Row::Shell => "shell outside",
            Row::Contained => "programs in a sandbox",
            Row::Rewrite => "rewriting",
            Row::SubAgent => "sub-agent outside",
            Row::Mcp => "MCP tool outside",
            Row::SecretOutput => "secret in output",
            Row::SecretRead => "secret in a file read",
            Row::SecretFailing => "secret of a failing command (`wrap = true`)",
            Row::Email => "email in output",
            Row::Coordinator => "coordinator doing the work",
            Row::Lockout => "author revising rejected work",
            Row::AskLimit => "one question too many",
            Row::Told => "user told after two denials",
            Row::PlainFailing => "the same without that setting",
            Row::McpError => "secret in an MCP error",
            Row::Long => "address in 1.3 MB of output",
            Row::Temporary => "`mktemp -d`",
            Row::Scripted => "secret in a step of a script",
            Row::Plan => "plan file of the client",
            Row::SavedOutput => "output that the client saved",
            Row::Isolated => "helper in a worktree of its own",
            Row::Added => "directory added (`[[scope]]`)",
            Row::Resumed => "resumed in another worktree",
            Row::Asked => "asked about, in every mode",
            Row::Approved => "approved by a person",
            Row::Closed => "session's directory closed",
            Row::Moved => "session's directory moved",
            Row::Reconciled => "every call of the transcript in the log",
            Row::Missing => "gate missing",
            Row::Empty => "gate an empty file",
            Row::Zeros => "gate all zeros",
            Row::Cut => "gate cut short",
            Row::Forbidden => "gate not executable",
            Row::Crash => "gate crashes",
            Row::Hang => "gate hangs",
            Row::Off => "switched off by the repository",
            Row::OffManaged => "the same, managed",
        }
    }

    pub(crate) fn scope(self) -> Scope {
        if self == Row::OffManaged { Scope::Managed } else { Scope::User }
    }

    /// Where the session starts.
    pub(crate) fn start(self, stage: &Stage) -> PathBuf {
        match self {
            // Below the root, so that the disk shows from where a command ran.
            Row::Rewrite | Row::Closed | Row::Moved => ways::below(stage),
            _ => stage.worktree(),
        }
    }

    /// Whether the model is shown a text with something in it that it must not see.
    pub(crate) fn shows_planted(self) -> bool {
        promise(self) == Truth::Redacted
    }

    /// Whether something befalls the gate itself.
    fn breaks_gate(self) -> bool {
        promise(self) == Truth::Fails
    }

    /// What a person does while the client runs. Whether it has been waited for long enough: its gate was asked, and it has not given up
    /// on it since.
    pub(crate) fn enough(self, stage: &Stage, gate: &Gate<'_>) -> bool {
        if self == Row::Approved {
            approved::answer(stage, gate);
        }
        self == Row::Hang && gate.asked().is_some_and(|ago| ago >= PATIENCE)
    }

    /// What lies on the stage before the gate is registered.
    pub(crate) fn before(self, stage: &Stage, client: &dyn Client) -> io::Result<()> {
        match self {
            Row::Rewrite => {
                fs::create_dir(self.start(stage))?;
                stage.write(&settings(stage), "relative = \"rewrite\"\n")
            }
            Row::Closed | Row::Moved => ways::stand_below(stage),
            Row::Long => ways::stand_long(stage, EMAIL),
            Row::SavedOutput => ways::stand_long(stage, "the midst"),
            Row::Added => stage.write(&settings(stage), ways::opens(&stage.outside())),
            Row::Resumed => ways::stand_other(stage),
            Row::Asked => stage.write(&settings(stage), ways::SETTINGS),
            row if row.shows_planted() => {
                let [before, behind] = AROUND;
                let notes = format!("{before}\n{}\n{behind}\n", self.planted());
                stage.write(&notes_of(stage), notes)?;
                if self == Row::SecretFailing {
                    stage.write(&settings(stage), "[redaction]\nwrap = true\n")?;
                }
                Ok(())
            }
            Row::Contained => contained::stand(stage),
            Row::Approved => approved::stand(stage),
            Row::Coordinator | Row::Lockout | Row::AskLimit | Row::Told => team::stand(stage, client),
            Row::Off | Row::OffManaged => {
                for (file, text) in client.disarm() {
                    stage.write(&stage.worktree().join(file), text)?;
                }
                stage.commit()
            }
            _ => Ok(()),
        }
    }

    /// What the model must not see.
    fn planted(self) -> &'static str {
        if self == Row::Email { EMAIL } else { TOKEN }
    }

    /// What befalls the gate once it is registered.
    pub(crate) fn after(self, gate: &Gate<'_>) -> Result<(), String> {
        match self {
            Row::Missing => gate.remove(),
            Row::Empty => gate.cut(0),
            Row::Zeros => gate.fill_with_zeros(),
            Row::Cut => gate.cut(1_000_000),
            Row::Forbidden => gate.forbid(),
            Row::Crash => gate.crash(),
            Row::Hang => gate.hang(INSIDE),
            Row::Lockout => return team::reject(gate),
            _ => Ok(()),
        }
        .map_err(|error| error.to_string())
    }

    /// What the model wants, in one session after another. Nothing where the client cannot do it at all.
    pub(crate) fn takes(self, client: &dyn Client, stage: &Stage) -> Vec<Take> {
        let (inside, outside) = (inside(stage), outside(stage));
        let all = |acts: &[Act<'_>]| acts.iter().flat_map(|act| client.turns(*act)).collect::<Vec<_>>();
        let (write_inside, write_outside) = (Act::Write(&inside, TEXT), Act::Write(&outside, TEXT));
        let notes = notes_of(stage);
        let prompt = format!("{SUB_AGENT} Do your part.");
        let (main, sub) = match self {
            Row::Reconciled if !log::keeps_transcript(client.host()) => return Vec::new(),
            Row::Reconciled => {
                let work = [write_inside, Act::Read(&inside), Act::Shell("echo ran > ran.txt")];
                (work.into_iter().chain([write_outside]).collect(), vec![])
            }
            Row::Allowed => {
                (vec![write_inside, Act::Read(&inside), Act::Shell("echo ran > ran.txt")], vec![])
            }
            Row::Write => (vec![write_outside], vec![]),
            Row::Off | Row::OffManaged => (vec![write_outside, write_inside], vec![]),
            Row::Shell => (vec![Act::Shell("echo x > ../../outside/file.txt")], vec![]),
            Row::Contained => return contained::takes(client),
            Row::Approved => return approved::takes(client),
            Row::Rewrite => (vec![Act::Shell("pwd > where.txt")], vec![]),
            Row::SubAgent => (vec![Act::Delegate(&prompt)], vec![write_outside, write_inside]),
            Row::Mcp => (vec![Act::Touch(&outside), Act::Touch(&inside)], vec![]),
            Row::SecretOutput | Row::Email => (vec![Act::Shell("cat notes.txt")], vec![]),
            Row::SecretRead => (vec![Act::Read(&notes)], vec![]),
            Row::SecretFailing | Row::PlainFailing => (vec![Act::Shell("cat notes.txt; exit 1")], vec![]),
            Row::McpError => (vec![Act::Fail(&notes)], vec![]),
            Row::Long => (vec![Act::Shell("cat long.log")], vec![]),
            Row::Temporary => return ways::temporary(client),
            Row::Scripted => return ways::scripted(client),
            Row::Plan => return ways::plan(client, stage),
            Row::SavedOutput => return ways::saved(client),
            Row::Isolated => return ways::isolated(client),
            Row::Added => return ways::added(client, stage),
            Row::Resumed => return ways::resumed(client, stage),
            Row::Asked => return ways::asked(client, stage),
            Row::Closed => return ways::closed(client, stage),
            Row::Moved => return ways::moved(client, stage),
            Row::Missing | Row::Empty | Row::Zeros | Row::Cut | Row::Forbidden | Row::Crash | Row::Hang => {
                (vec![write_inside], vec![])
            }
            Row::Coordinator | Row::Told => return team::coordinator(client, stage),
            Row::Lockout => return team::lockout(client, stage),
            Row::AskLimit => return team::questions(client),
        };
        let script = Script { main: all(&main), sub: all(&sub) };
        if script.main.is_empty() { Vec::new() } else { vec![Take { script, ..Take::of(Vec::new()) }] }
    }

    /// What became of it.
    pub(crate) fn judge(
        self,
        client: &dyn Client,
        stage: &Stage,
        gate: &Gate<'_>,
        seen: &Seen,
        ran: &Ran,
    ) -> Truth {
        let (inside, outside) = (inside(stage), outside(stage));
        let denied = || match (outside.exists(), seen.result_says(REASON)) {
            (true, _) => Truth::Open,
            (false, true) => Truth::Denied,
            (false, false) => {
                broken("nothing was written outside, but the model was not told why", seen, ran)
            }
        };
        let and_inside = |truth: Truth| match truth {
            Truth::Denied if !inside.exists() => broken("what is allowed did not run either", seen, ran),
            truth => truth,
        };
        match self {
            Row::Allowed => {
                let written = holds(&inside, TEXT) && holds(&stage.worktree().join("ran.txt"), "ran\n");
                if written && seen.result_says(TEXT.trim()) {
                    Truth::Runs
                } else {
                    broken("the work was not done, or its result not shown", seen, ran)
                }
            }
            Row::Write | Row::Shell | Row::Off | Row::OffManaged => denied(),
            Row::SubAgent if !seen.sub_agent => broken("no sub-agent was started", seen, ran),
            Row::SubAgent | Row::Mcp => and_inside(denied()),
            Row::Rewrite => {
                let root = stage.worktree();
                if holds(&root.join("where.txt"), &format!("{}\n", root.display())) {
                    Truth::Rewritten
                } else if self.start(stage).join("where.txt").exists() {
                    Truth::Open
                } else if seen.result_says(&root.to_string_lossy()) {
                    Truth::Hint
                } else {
                    broken("the command did not run, and no hint was given", seen, ran)
                }
            }
            Row::Scripted => ways::judge_scripted(stage, seen, ran, self.planted()),
            row if row.shows_planted() => {
                if seen.was_shown(self.planted()) {
                    Truth::Open
                } else if (seen.result_says(MARK) || seen.result_says(MASK))
                    && AROUND.iter().all(|text| seen.result_says(text))
                {
                    Truth::Redacted
                } else if seen.result_says(SECRET_REASON) {
                    Truth::Denied
                } else {
                    broken("the model saw neither the rest of it nor a reason", seen, ran)
                }
            }
            Row::Reconciled => log::judge(client, stage, gate, seen, ran),
            Row::Contained => contained::judge(stage, seen, ran),
            Row::Approved => approved::judge(stage, seen, ran),
            Row::Coordinator => team::judge_coordinator(stage, seen, ran),
            Row::Lockout => team::judge_lockout(stage, seen, ran),
            Row::AskLimit => team::judge_questions(stage, seen, ran),
            Row::Told => team::judge_told(stage, seen, ran),
            Row::Temporary => ways::judge_temporary(stage, seen, ran),
            Row::Plan => ways::judge_plan(client, stage, seen, ran),
            Row::SavedOutput => ways::judge_saved(seen, ran),
            Row::Isolated => ways::judge_isolated(stage, seen, ran),
            Row::Added => ways::judge_added(stage, seen, ran),
            Row::Resumed => ways::judge_resumed(stage, seen, ran),
            Row::Long => ways::judge_long(seen, ran),
            Row::Asked => ways::judge_asked(client, stage, seen, ran),
            Row::Closed | Row::Moved => ways::judge_reachable(stage, seen, ran),
            row if row.breaks_gate() => {
                if inside.exists() {
                    Truth::Open
                } else if !seen.results.is_empty() {
                    Truth::Fails
                } else if ran.ended && gate.asked().is_some() {
                    Truth::Waits
                } else if !ran.ended && seen.turns == 0 && ran.code != Some(0) {
                    Truth::Refuses
                } else {
                    broken("nothing was written, and it is not clear why", seen, ran)
                }
            }
            _ => broken("nobody judges this row", seen, ran),
        }
    }
}

fn inside(stage: &Stage) -> PathBuf {
    stage.worktree().join(INSIDE)
}

fn notes_of(stage: &Stage) -> PathBuf {
    stage.worktree().join(NOTES)
}

/// The person's settings of the gate.
fn settings(stage: &Stage) -> PathBuf {
    stage.home().join(".config/toolgate/toolgate.toml")
}

fn outside(stage: &Stage) -> PathBuf {
    stage.outside().join("file.txt")
}

pub(crate) fn holds(file: &Path, text: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|found| found == text)
}

/// What happened, for the one who has to find out why.
pub(crate) fn broken(what: &str, seen: &Seen, ran: &Ran) -> Truth {
    let end: Vec<&str> = ran.output.lines().rev().take(30).collect();
    let end: Vec<&str> = end.into_iter().rev().collect();
    Truth::Broken(format!(
        "{what}\n  exit code {:?}, ended by us {}, turns {}, strange requests {:?}\n  results {:#?}\n  tools {:?}\n  {}",
        ran.code,
        ran.ended,
        seen.turns,
        seen.strange,
        seen.results,
        seen.offered.first(),
        end.join("\n  "),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/coverage.md` names rows behind `e2e/run`.
    #[test]
    fn every_row_that_the_coverage_table_names_is_rehearsed() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/coverage.md");
        let page = fs::read_to_string(page).unwrap();
        let mut named = 0;
        for line in page.lines().filter(|line| line.starts_with("| S")) {
            let words: Vec<_> = line.split('`').skip(1).step_by(2).collect();
            let behind = words.split(|word| *word == "e2e/run").skip(1);
            for word in behind.flat_map(|words| words.iter().take_while(|word| !word.contains('/'))) {
                assert!(ROWS.iter().any(|row| row.id() == *word), "`{word}` is no row: {line}");
                named += 1;
            }
        }
        assert!(named > 0);
    }
}
