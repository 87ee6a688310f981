//! One past call, judged by today's settings on today's disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toolgate_gate::counter::SessionCounter;
use toolgate_gate::explain::{Explanation, explain};
use toolgate_gate::gather::{Surroundings, gather};
use toolgate_gate::launch::LaunchLine;
use toolgate_gate::line::consider;
use toolgate_gate::machine::{Machine as _, ThisMachine};
use toolgate_gate::options::HookOptions;
use toolgate_hosts::tools_like;
use toolgate_model::{Call, Decision, FindingKind, Host, Json, Verdict};
use toolgate_setup::this_machine;
use toolgate_transcripts::PastCall;

/// After so many calls the disk is looked at anew, and what was remembered of it is given back.
const LOOKS: usize = 4096;

/// A call with a longer input is not remembered: it hardly comes again.
const REMEMBERED: usize = 4096;

/// What became of a past call.
#[derive(Debug, Clone)]
pub(super) enum Judged {
    Decided {
        decision: Decision,
        findings: Vec<Found>,
    },
    /// Why nothing can be said.
    Not(&'static str),
}

/// An objection.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// The policy, and its rule where there is one: `destructive: git-clean`.
    pub(super) rule: String,
    pub(super) decision: Decision,
    pub(super) kind: FindingKind,
    /// No setting lets it pass.
    pub(super) is_final: bool,
    pub(super) path: String,
    pub(super) message: String,
}

/// Judges many calls. What surrounds those of one directory is found once.
pub(super) struct Judge<'o> {
    options: &'o HookOptions,
    machine: ThisMachine,
    /// By host, directory and tool: nothing else of a call tells what surrounds it.
    known: BTreeMap<(&'static str, String, String), Result<Surroundings, &'static str>>,
    /// What became of a call, by all that tells it: agents make many calls again and again, and the disk is the same.
    remembered: BTreeMap<[String; 5], Judged>,
    judged: usize,
}

impl<'o> Judge<'o> {
    pub(super) fn of(options: &'o HookOptions) -> Judge<'o> {
        Judge { options, machine: machine(), known: BTreeMap::new(), remembered: BTreeMap::new(), judged: 0 }
    }

    /// `start`: the directory in which the session began.
    pub(super) fn judge(&mut self, host: &'static dyn Host, past: &PastCall, start: Option<&str>) -> Judged {
        self.judged += 1;
        if self.judged.is_multiple_of(LOOKS) {
            (self.machine, self.known) = (machine(), BTreeMap::new());
            self.remembered.clear();
        }
        let (start, directory) = match places(host, past, start) {
            Ok(places) => places,
            Err(why) => return Judged::Not(why),
        };
        let text = past.input.to_string();
        let names = [host.id(), &past.tool, start, directory, &text].map(str::to_owned);
        if let Some(judged) = self.remembered.get(&names) {
            return judged.clone();
        }
        let judged = self.with_call(host, past, (start, directory), &text, |machine, call, surroundings| {
            Judged::of(&consider(machine, call, surroundings).verdict)
        });
        let judged = judged.unwrap_or_else(Judged::Not);
        if text.len() <= REMEMBERED {
            self.remembered.insert(names, judged.clone());
        }
        judged
    }

    /// Judges one call with what each part of it has to do with the verdict.
    pub(super) fn explained<T>(
        &mut self,
        host: &'static dyn Host,
        past: &PastCall,
        start: Option<&str>,
        with: impl FnOnce(&Call<'_>, &Explanation<'_>, &Surroundings) -> T,
    ) -> Result<T, &'static str> {
        let places = places(host, past, start)?;
        self.with_call(host, past, places, &past.input.to_string(), |machine, call, surroundings| {
            with(call, &explain(machine, call, surroundings), surroundings)
        })
    }

    /// The call as it would come today. `text`: the input.
    fn with_call<T>(
        &mut self,
        host: &'static dyn Host,
        past: &PastCall,
        (start, directory): (&str, &str),
        text: &str,
        with: impl FnOnce(&ThisMachine, &Call<'_>, &Surroundings) -> T,
    ) -> Result<T, &'static str> {
        let input = serde_json::from_str::<Json<'_>>(text).map_err(|_| "its input cannot be read")?;
        let action = tools_like(host.id()).action(&past.tool, &input);
        let mut call = Call::before(host.id(), past.tool.as_str(), input, action);
        call.cwd = Some(start.into());
        let key = (host.id(), start.to_owned(), past.tool.clone());
        let (options, machine) = (self.options, &self.machine);
        let surroundings = self.known.entry(key).or_insert_with(|| surround(host, options, &call, start));
        let surroundings = surroundings.as_ref().map_err(|why| *why)?;
        call.cwd = Some(directory.into());
        // A client that keeps what we made of a command shows it with our line.
        let call = LaunchLine::as_first_sent(&options.dirs.state, &call).unwrap_or(call);
        Ok(with(machine, &call, surroundings))
    }
}

impl Judged {
    fn of(verdict: &Verdict) -> Judged {
        let findings = verdict.findings().iter().map(|finding| Found {
            rule: [finding.policy, &finding.rule]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(": "),
            decision: finding.would.unwrap_or(finding.decision),
            kind: finding.kind,
            is_final: finding.is_final,
            path: finding.path.clone(),
            message: finding.message(),
        });
        // Where the settings only observe, what they would stop is what a replay is for.
        let decision = verdict.would().unwrap_or(verdict.decision());
        Judged::Decided { decision, findings: findings.collect() }
    }
}

/// Where the session of a call began, and where the call was made.
fn places<'p>(
    host: &dyn Host,
    past: &'p PastCall,
    start: Option<&'p str>,
) -> Result<(&'p str, &'p str), &'static str> {
    let (Some(directory), Some(start)) = (past.directory.as_deref(), start) else {
        return Err("the transcript names no directory");
    };
    if host.id() == "codex" && past.tool == "exec" {
        return Err("a script of Codex, whose calls its transcript does not hold");
    }
    Ok((start, directory))
}

/// As for `toolgate check`: where a host's own variable would place a session does not count.
fn machine() -> ThisMachine {
    this_machine().without_variables(&["CLAUDE_PROJECT_DIR"])
}

fn surround(
    host: &dyn Host,
    options: &HookOptions,
    call: &Call<'_>,
    start: &str,
) -> Result<Surroundings, &'static str> {
    // Some hosts start their hooks where the session began, and that is how it is known.
    let machine = machine().standing_in(PathBuf::from(start));
    if machine.world().look(Path::new(start)).is_err() {
        return Err("its directory is gone");
    }
    let mut counter = SessionCounter::looking(&options.dirs.state, call);
    gather(&machine, host, options, call, &mut counter).map_err(|_| "the settings there cannot be read")
}
