//! What proves to others that the log is what was recorded: sealing, verifying, proofs for one record, what witnesses add.
//!
//! Exit codes of `verify` and `check-proof`: 0 good, 1 bad, 2 cannot tell.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;
use serde::Serialize;
use serde_json::json;
use toolgate_evidence::last_position;
use toolgate_evidence::proof::{
    Audit, AuditOutcome, Checkpoint, Epoch, InclusionProof, Known, NoteKey, Part, SealOutcome, Shown, anchor,
    audit_telling, keys, prove, seal,
};

use toolgate_report::{Proof, Standing};

use super::super::people::HomeArgs;
use super::super::progress;
use super::super::reconcile::{Complete, in_one_line};
use super::super::{CANNOT_TELL, Out};
use super::apart::{EtcArgs, seal_all};
use super::{describe, stamps};

/// No proof, checkpoint or stamp is longer.
const MAX_FILE: u64 = 1024 * 1024;

/// Sign what was recorded so far
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct Seal {
    /// Continue with a new key, and erase the current one
    #[arg(long)]
    next_key: bool,
    /// Print nothing unless something is wrong
    #[arg(long)]
    quiet: bool,
    /// As JSON
    #[arg(long, conflicts_with = "apart")]
    json: bool,
    /// Have the system user seal the log of everybody; the timer of `init --managed` starts this as root
    #[arg(long, conflicts_with_all = ["next_key", "home", "state"])]
    apart: bool,
    /// How many seconds one person's log may take
    #[arg(long, hide = true, default_value_t = 120)]
    patience: u64,
    #[command(flatten)]
    etc: EtcArgs,
    #[command(flatten)]
    home: HomeArgs,
}

impl Seal {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        if self.apart {
            return seal_all(out, &self.etc, Duration::from_secs(self.patience), self.quiet);
        }
        let state = self.home.dirs()?.state;
        let outcome = seal(&state, SystemTime::now(), self.next_key).map_err(|error| error.to_string())?;
        if self.json {
            let done = match outcome {
                SealOutcome::Busy => json!({ "outcome": "busy" }),
                SealOutcome::Nothing => json!({ "outcome": "nothing" }),
                SealOutcome::Sealed { size, new, epoch } => {
                    json!({ "outcome": "sealed", "size": size, "new": new, "level": "own", "key": epoch })
                }
            };
            out.json(&done)?;
        } else if !self.quiet {
            out.line(match outcome {
                SealOutcome::Busy => "another process is sealing".to_owned(),
                SealOutcome::Nothing => "there is no record yet".to_owned(),
                SealOutcome::Sealed { size, new, epoch } => {
                    format!("sealed up to record {size}, {new} of them new, level own, key {epoch}")
                }
            })?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What `verify --json` says.
#[derive(Serialize)]
struct Verified<'a> {
    #[serde(flatten)]
    audit: &'a Audit,
    /// Whether every call of the transcripts is in the log; nothing where nobody asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    complete: Option<Complete>,
}

/// Check that no record was changed, removed or inserted
#[derive(Debug, Args)]
#[command(after_help = "Exit code: 0 all is as it was recorded, 1 something is not, 2 cannot tell.")]
pub(super) struct Verify {
    /// The first key of the log, as you noted it: name+id+key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// A checkpoint of the log, as you noted it: the log must go on from it
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// The key of a witness, whose signatures are checked; can be given several times
    #[arg(long, value_name = "KEY")]
    witness: Vec<String>,
    /// Certificates in PEM, of the time-stamp server or of its authority; `openssl` checks the time stamps with them
    #[arg(long, value_name = "FILE")]
    tsa: Option<PathBuf>,
    /// Look for every call of the agents' own transcripts too, as `toolgate reconcile` does
    #[arg(long)]
    transcripts: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    etc: EtcArgs,
    #[command(flatten)]
    home: HomeArgs,
}

/// What `toolgate ledger verify` says about this log, where nothing is known from elsewhere.
pub(in super::super) fn standing(home: &HomeArgs) -> Result<Proof, String> {
    let verify = Verify {
        key: None,
        checkpoint: None,
        witness: Vec::new(),
        tsa: None,
        transcripts: false,
        json: false,
        etc: EtcArgs::default(),
        home: home.clone(),
    };
    let audit = verify.audit()?;
    let standing = match audit.outcome {
        AuditOutcome::Good => Standing::Good,
        AuditOutcome::Bad => Standing::Bad,
        AuditOutcome::CannotTell => Standing::CannotTell,
    };
    Ok(Proof { standing, parts: said(&audit) })
}

impl Verify {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        match self.audit() {
            // A page for programs is whole, or there is none.
            Err(error) if self.json => {
                let _ = writeln!(io::stderr(), "toolgate: cannot tell: {error}");
                Ok(ExitCode::from(CANNOT_TELL))
            }
            Ok(audit) => {
                let compared = if self.transcripts { Some(in_one_line(&self.home.dirs()?)) } else { None };
                let complete = compared.as_ref().map(|(complete, _)| *complete);
                if self.json {
                    out.json(&Verified { audit: &audit, complete })?;
                } else {
                    let alone = "cannot tell from the log alone: toolgate reconcile".to_owned();
                    let complete = compared.map_or(alone, |(_, line)| line);
                    for (name, found) in said(&audit).into_iter().chain([("complete", complete)]) {
                        out.line(format!("{name:<11} {found}"))?;
                    }
                }
                // What was not asked for is told, and changes no code.
                Ok(ExitCode::from(match (&audit.outcome, complete) {
                    (AuditOutcome::Bad, _) | (_, Some(Complete::No)) => 1,
                    (AuditOutcome::CannotTell, _) | (_, Some(Complete::CannotTell)) => CANNOT_TELL,
                    (AuditOutcome::Good, Some(Complete::Yes) | None) => 0,
                }))
            }
            Err(error) => {
                out.line(format!("cannot tell: {error}"))?;
                Ok(ExitCode::from(CANNOT_TELL))
            }
        }
    }

    fn audit(&self) -> Result<Audit, String> {
        let first_key = self.key.as_deref().map(parse_key).transpose()?;
        let noted = match &self.checkpoint {
            Some(path) => {
                let found = Checkpoint::parse(&text_of(path)?);
                Some(found.ok_or_else(|| format!("`{}` is not a checkpoint", path.display()))?)
            }
            None => None,
        };
        let witnesses = self.witness.iter().map(|key| parse_key(key)).collect::<Result<_, _>>()?;
        let state = self.home.dirs()?.state;
        let apart = self.etc.system().seen(&state);
        let stamps = match &self.tsa {
            Some(certificates) => stamps::check(&state, certificates)?,
            None => BTreeMap::new(),
        };
        let known = Known { first_key, noted, witnesses, stamps, apart };
        let progress = progress::Shown::counting("verify", "records");
        let records = last_position(&state).ok().flatten().map_or(0, |last| last.seq);
        let mut tell = |record| progress.at(record, records);
        audit_telling(&state, &known, &mut tell).map_err(|error| error.to_string())
    }
}

fn parse_key(text: &str) -> Result<NoteKey, String> {
    NoteKey::parse(text)
        .ok_or_else(|| format!("`{text}` is not a key; `toolgate ledger keys` prints them: name+id+key"))
}

/// The text of a small file.
fn text_of(path: &Path) -> Result<String, String> {
    String::from_utf8(bytes_of(path)?).map_err(|_| format!("`{}` is not text", path.display()))
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("cannot read `{}`: {error}", path.display());
    let mut bytes = Vec::new();
    fs::File::open(path).map_err(failed)?.take(MAX_FILE).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// What was found: each part with its name.
fn said(audit: &Audit) -> Vec<(&'static str, String)> {
    let mut parts = vec![("chain", describe(&audit.chain))];
    if let Some(through) = audit.dropped_through {
        parts.push(("dropped", format!("records 1 to {through}, on purpose")));
    }
    if !audit.erased.is_empty() {
        let numbers: Vec<_> = audit.erased.iter().take(20).map(u64::to_string).collect();
        parts.push((
            "erased",
            format!("the text of {} on purpose: {}", audit.erased.len(), numbers.join(", ")),
        ));
    }
    let problem =
        |part: Part| audit.problems.iter().find(|problem| problem.part() == part).map(ToString::to_string);
    let or_bad = |part: Part, good: String| problem(part).map_or(good, |bad| format!("broken: {bad}"));
    if let Some(seal) = &audit.seal {
        let records = |count: u64| if count == 1 { "record" } else { "records" };
        let good = format!("{} {}, as they were sealed", seal.size, records(seal.size));
        parts.push(("tree", or_bad(Part::Tree, good)));
        let good = match seal.checkpoints {
            1 => "1 checkpoint, under the key of its time".to_owned(),
            count => format!("{count} checkpoints, each under the key of its time"),
        };
        parts.push(("signatures", or_bad(Part::Signatures, good)));
        let first = if seal.pinned {
            "the first is the one that you gave".to_owned()
        } else {
            format!(
                "the first comes from the log itself: note {} elsewhere, and give it with --key",
                seal.first_key
            )
        };
        parts.push(("keys", or_bad(Part::Keys, format!("{}; {first}", seal.keys))));
        // Where the last sealed record is missing, nobody knows its time.
        let time = if seal.time.is_empty() { String::new() } else { format!(" of {}", seal.time) };
        parts.push(("sealed", format!("up to record {}{time}, level {}", seal.size, seal.level)));
        for one in &seal.witnessed {
            let how = match (&one.with, one.checked) {
                (Some(with), true) => format!("checked by {with}"),
                (_, true) => "checked".to_owned(),
                (_, false) => "not checked here".to_owned(),
            };
            parts.push(("witnessed", format!("up to record {} by {}, {how}", one.size, one.by)));
        }
        parts.push(("unsealed", format!("{} {}", seal.unsealed, records(seal.unsealed))));
    } else if let Some(bad) = [Part::Tree, Part::Signatures, Part::Keys].into_iter().find_map(problem) {
        parts.push(("sealed", format!("broken: {bad}")));
    } else {
        parts.push(("sealed", "nothing yet: `toolgate ledger seal` begins".to_owned()));
    }
    if let Some(apart) = &audit.apart {
        let follow = match apart.unsealed {
            0 => String::new(),
            1 => "; 1 record follows".to_owned(),
            count => format!("; {count} records follow"),
        };
        parts.push(("sealed", format!("up to record {} of {}, level apart{follow}", apart.size, apart.time)));
    }
    parts.extend(problem(Part::CannotTell).map(|why| ("cannot tell", why)));
    parts
}

/// List the keys that the log was sealed with
#[derive(Debug, Args)]
pub(super) struct Keys {
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    home: HomeArgs,
}

impl Keys {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let keys = keys(&self.home.dirs()?.state).map_err(|error| error.to_string())?;
        if self.json {
            let row = |epoch: &Epoch| json!({ "number": epoch.number, "from_record": epoch.seq, "key": epoch.key.to_string() });
            out.json(&json!({ "keys": keys.iter().map(row).collect::<Vec<_>>() }))?;
            return Ok(ExitCode::SUCCESS);
        }
        for epoch in keys {
            out.line(format!("{:>4}  record {:>8}  {}", epoch.number, epoch.seq, epoch.key))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Write one record with the proof that it is in the log
#[derive(Debug, Args)]
pub(super) struct Prove {
    /// The record's number
    seq: u64,
    /// Write the record to FILE and the proof to FILE.tlog-proof
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    home: HomeArgs,
}

impl Prove {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let proved = prove(&self.home.dirs()?.state, self.seq).map_err(|error| error.to_string())?;
        let record = self.to.unwrap_or_else(|| PathBuf::from(format!("record-{}.json", self.seq)));
        let proof = proof_beside(&record);
        for (path, bytes) in [(&record, proved.line), (&proof, proved.proof.to_string().into_bytes())] {
            fs::write(path, bytes).map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
        }
        if self.json {
            let key = proved.key.to_string();
            out.json(&json!({ "record": record.display().to_string(), "proof": proof.display().to_string(), "key": key }))?;
            return Ok(ExitCode::SUCCESS);
        }
        out.line(format!("{}\n{}", record.display(), proof.display()))?;
        out.line(format!("toolgate ledger check-proof {} --key {}", record.display(), proved.key))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn proof_beside(record: &Path) -> PathBuf {
    let mut proof = record.as_os_str().to_owned();
    proof.push(".tlog-proof");
    proof.into()
}

/// Check such a proof
#[derive(Debug, Args)]
#[command(after_help = "Exit code: 0 the record is in that log, 1 it is not, 2 cannot tell.")]
pub(super) struct CheckProof {
    /// The record; its proof is in FILE.tlog-proof
    file: PathBuf,
    /// The key that the checkpoint in the proof must be signed with: name+id+key
    #[arg(long, value_name = "KEY")]
    key: String,
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl CheckProof {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let (said, code) = match self.shown() {
            Ok((index, shown)) => match shown {
                Shown::InTheLog => (format!("this is record {} of that log", index + 1), 0),
                Shown::AnotherLine => {
                    ("broken: this is not the record that the proof is about".to_owned(), 1)
                }
                Shown::BadSignature => ("broken: the signature of the checkpoint is not valid".to_owned(), 1),
                Shown::AnotherKey => {
                    ("cannot tell: the checkpoint is signed with another key".to_owned(), CANNOT_TELL)
                }
            },
            Err(error) => (format!("cannot tell: {error}"), CANNOT_TELL),
        };
        if self.json {
            let outcome = match code {
                0 => "good",
                1 => "bad",
                _ => "cannot-tell",
            };
            out.json(&json!({ "outcome": outcome, "said": said }))?;
        } else {
            out.line(said)?;
        }
        Ok(ExitCode::from(code))
    }

    fn shown(&self) -> Result<(u64, Shown), String> {
        let key = parse_key(&self.key)?;
        let line = bytes_of(&self.file)?;
        let beside = proof_beside(&self.file);
        let proof = InclusionProof::parse(&text_of(&beside)?);
        let proof = proof.ok_or_else(|| format!("`{}` is not a proof", beside.display()))?;
        // An editor or a shell may have ended the line.
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        Ok((proof.index, proof.shows(line, &key)))
    }
}

/// Attach somebody else's signature or time stamp to the last checkpoint
#[derive(Debug, Args)]
#[group(required = true, multiple = false, id = "what")]
pub(super) struct Anchor {
    /// A checkpoint with the signature of a witness, or that line alone
    #[arg(long, value_name = "FILE", group = "what")]
    cosignature: Option<PathBuf>,
    /// Write a request for a time stamp of the last checkpoint, to send to an RFC 3161 server
    #[arg(long, value_name = "FILE", group = "what")]
    rfc3161_request: Option<PathBuf>,
    /// The server's response: a time stamp over the first three lines of a checkpoint
    #[arg(long, value_name = "FILE", group = "what")]
    rfc3161: Option<PathBuf>,
    #[command(flatten)]
    home: HomeArgs,
}

impl Anchor {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let state = self.home.dirs()?.state;
        if let Some(path) = &self.cosignature {
            let (size, new) = anchor::cosign(&state, &text_of(path)?).map_err(|error| error.to_string())?;
            out.line(format!("{new} new signatures under the checkpoint of {size} records"))?;
        }
        if let Some(path) = &self.rfc3161_request {
            let (size, request) = anchor::request_stamp(&state).map_err(|error| error.to_string())?;
            fs::write(path, request)
                .map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
            out.line(format!(
                "{}: for the checkpoint of {size} records, which is kept until its time stamp is here",
                path.display()
            ))?;
        }
        if let Some(path) = &self.rfc3161 {
            let size = anchor::attach_stamp(&state, &bytes_of(path)?).map_err(|error| error.to_string())?;
            out.line(format!("kept, for the checkpoint of {size} records"))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
