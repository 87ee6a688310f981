//! Approvals: signed statements by which a person lets one call through, or does anything else that loosens.
//!
//! Against whom: an agent that writes an approval, edits one, uses it for another call, or twice. A statement says what it is about to
//! the byte, for how many calls and until when; its envelope is DSSE, as that of receipts. It counts with the signature of a key that
//! people have enrolled, of the key of root's helper, which signs once sudo has taken a password, or of the key of this state directory,
//! which signs what somebody typed at a terminal. The last is weak: code of the same user that is not contained can read that key.

mod approvers;
pub mod password;
mod sshsig;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use base64ct::{Base64, Encoding};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toolgate_gate::approval::{LONGEST, MOST_USES, Subject, Verified};
use toolgate_gate::dirs::{Dirs, user_name};
use toolgate_gate::machine::Machine;
use toolgate_gate::store::hex;
use toolgate_model::{Approval, Objection, Strength};
use toolgate_workspace::{SigningKey, dsse};

pub use approvers::{Approver, Approvers, is_name, key_of_file};
pub use sshsig::{NAMESPACE, SshKey, armoured, dearmoured};

const PAYLOAD: &str = "application/vnd.toolgate.approval+json";
/// A clock may be a little late.
const SKEW: u64 = 60;

/// What somebody agrees to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The version of its form.
    pub version: u32,
    /// What it is about.
    pub about: About,
    /// Who asks for it, on this machine.
    pub by: String,
    /// When it was made, in seconds since 1970.
    pub made: u64,
    /// When it ends.
    pub expires: u64,
    /// What tells it from all others.
    pub nonce: String,
    /// The digest of what was shown: `sha256:…`.
    pub shown: String,
}

/// What a statement is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[expect(clippy::large_enum_variant, reason = "there is one of them at a time")]
pub enum About {
    /// One call of an agent.
    Call {
        /// The code.
        code: String,
        /// What the call is.
        subject: Subject,
        /// What was objected to it.
        objections: Vec<Objection>,
        /// For how many calls.
        uses: u32,
    },
    /// A command of toolgate that loosens something, in words.
    Command {
        /// What it does.
        what: String,
    },
}

/// A statement with its signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope {
    #[serde(rename = "payloadType")]
    kind: String,
    payload: String,
    signatures: Vec<Signed>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signed {
    keyid: String,
    sig: String,
}

/// Who has signed, and how well it is known that it was a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// Who.
    pub name: String,
    /// How well that is known.
    pub strength: Strength,
}

impl Statement {
    /// A statement that holds from now on, for so long.
    pub fn new(
        about: About,
        by: &str,
        shown: &str,
        now: SystemTime,
        length: Duration,
    ) -> io::Result<Statement> {
        let mut nonce = [0; 16];
        toolgate_evidence::random::fill_with_random(&mut nonce)?;
        let made = seconds(now);
        let expires = made.saturating_add(length.min(LONGEST).as_secs());
        let shown = format!("sha256:{}", hex(&Sha256::digest(shown)));
        Ok(Statement { version: 1, about, by: by.to_owned(), made, expires, nonce: hex(&nonce), shown })
    }

    /// What is signed, and what `ssh-keygen -Y sign -n toolgate` is given: one line.
    pub fn text(&self) -> io::Result<Vec<u8>> {
        Ok(dsse(PAYLOAD, &serde_json::to_vec(self).map_err(io::Error::other)?))
    }

    /// Reads what [`Statement::text`] has made.
    pub fn parse(text: &[u8]) -> Option<Statement> {
        let start = text.iter().position(|byte| *byte == b'{')?;
        let statement: Statement = serde_json::from_slice(text.get(start..)?).ok()?;
        (statement.text().ok()? == text).then_some(statement)
    }

    /// The digest by which records name it.
    pub fn digest(&self) -> io::Result<String> {
        Ok(format!("sha256:{}", hex(&Sha256::digest(self.text()?))))
    }

    /// Whether it is of a form that can be believed, and holds now.
    fn check(&self, now: SystemTime) -> Result<(), &'static str> {
        let now = seconds(now);
        let is_nonce = self.nonce.len() == 32 && self.nonce.bytes().all(|byte| byte.is_ascii_hexdigit());
        let length = self.expires.checked_sub(self.made);
        if self.version != 1 || !is_nonce {
            return Err("is of a form that this version does not know");
        }
        if length.is_none_or(|length| length > LONGEST.as_secs()) || self.made > now + SKEW {
            return Err("holds longer than anybody can ask for, or from a later time on");
        }
        if self.expires <= now {
            return Err("is over");
        }
        Ok(())
    }
}

/// The key that signs what somebody typed at a terminal.
fn terminal_key(dirs: &Dirs) -> PathBuf {
    dirs.state.join("approvals/terminal.pem")
}

/// Signs what somebody has typed yes to, at a terminal. The bytes are an answer to the call.
pub fn sign_at_terminal(dirs: &Dirs, statement: &Statement) -> Result<Vec<u8>, String> {
    let key = SigningKey::open(&terminal_key(dirs)).map_err(|error| error.to_string())?;
    let text = statement.text().map_err(|error| error.to_string())?;
    enveloped(statement, &key.public().id(), &key.sign(&text))
}

/// The answer that a signature of OpenSSH makes of a statement.
pub fn with_signature(statement: &Statement, signature: &[u8]) -> Result<Vec<u8>, String> {
    enveloped(statement, "", signature)
}

fn enveloped(statement: &Statement, keyid: &str, signature: &[u8]) -> Result<Vec<u8>, String> {
    let payload = serde_json::to_vec(statement).map_err(|error| error.to_string())?;
    let signed = Signed { keyid: keyid.to_owned(), sig: Base64::encode_string(signature) };
    let envelope = Envelope {
        kind: PAYLOAD.to_owned(),
        payload: Base64::encode_string(&payload),
        signatures: vec![signed],
    };
    serde_json::to_vec(&envelope).map_err(|error| error.to_string())
}

/// Who has signed this statement with one of the enrolled keys.
pub fn signer(
    machine: &dyn Machine,
    dirs: &Dirs,
    statement: &Statement,
    signature: &[u8],
) -> Result<Signer, String> {
    let text = statement.text().map_err(|error| error.to_string())?;
    let approvers = Approvers::read(dirs).map_err(|error| error.to_string())?;
    let user = user_name(machine);
    let mut why = "was made by a key that is not enrolled; see `toolgate approver list`";
    for approver in &approvers.list {
        // A file that went through an editor or a mail ends with a newline.
        let with_newline = [&text[..], b"\n"].concat();
        let plain = approver.key.verifies(&text, signature);
        match plain.or_else(|first| approver.key.verifies(&with_newline, signature).map_err(|_| first)) {
            Ok(()) => {
                let strength = approver
                    .strength_for(&user)
                    .ok_or("a key in software of your own proves nothing more than your terminal")?;
                return Ok(Signer { name: approver.name.clone(), strength });
            }
            Err("is a signature by another key") => {}
            Err(told) => why = told,
        }
    }
    Err(format!("the signature {why}"))
}

/// What an answer states, its bytes, and the signature over them.
fn parts_of(answer: &[u8]) -> Option<(Statement, Vec<u8>, Vec<u8>)> {
    let envelope: Envelope = serde_json::from_slice(answer).ok()?;
    let payload = Base64::decode_vec(&envelope.payload).ok()?;
    let statement: Statement = serde_json::from_slice(&payload).ok()?;
    // What was signed is what is read: one statement has one text.
    let is_same = serde_json::to_vec(&statement).is_ok_and(|bytes| bytes == payload);
    let [signed] = envelope.signatures.as_slice() else { return None };
    let signature = Base64::decode_vec(&signed.sig).ok()?;
    (envelope.kind == PAYLOAD && is_same).then_some((statement, payload, signature))
}

/// The approval that these bytes state, if it holds now and for this very call.
pub fn verified(
    machine: &dyn Machine,
    dirs: &Dirs,
    subject: &Subject,
    answer: &[u8],
) -> Result<Verified, String> {
    let (statement, payload, signature) = parts_of(answer).ok_or("is no approval")?;
    let is_plain = <[u8; 64]>::try_from(signature.as_slice()).is_ok();
    let by_password =
        is_plain.then(|| password::machine_signer(machine, dirs, &statement, &payload, &signature));
    let signer = if let Some(signer) = by_password.flatten() {
        signer
    } else if is_plain {
        let file = terminal_key(dirs);
        // A key that is not there has signed nothing, and none is made to find that out.
        if !fs::exists(&file).unwrap_or(false) {
            return Err("was not signed by a key of this machine".into());
        }
        let key = SigningKey::open(&file).map_err(|error| error.to_string())?;
        let text = dsse(PAYLOAD, &payload);
        if !key.public().verifies(&text, &signature) {
            return Err("was not signed by a key of this machine, or was changed".into());
        }
        Signer { name: statement.by.clone(), strength: Strength::Terminal }
    } else {
        signer(machine, dirs, &statement, &signature)?
    };
    statement.check(machine.now())?;
    let Statement { about: About::Call { code, subject: of, objections, uses }, nonce, shown, .. } =
        statement
    else {
        return Err("is about something else".into());
    };
    if of != *subject {
        return Err("is about another call".into());
    }
    if uses == 0 || uses > MOST_USES {
        return Err("is for more calls than anybody can ask for".into());
    }
    let approval =
        Approval { by: signer.name, strength: signer.strength, code, nonce, number: 0, shown, objections };
    Ok(Verified { approval, uses })
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use toolgate_model::{Decision, FindingKind};

    use super::sshsig::tests::Made;
    use super::*;
    use crate::this_machine;

    fn subject() -> Subject {
        let text = |text: &str| text.to_owned();
        Subject {
            host: text("claude-code"),
            session: text("s"),
            agent: String::new(),
            tool: text("Bash"),
            cwd: text("/w"),
            root: text("/w"),
            input: text("sha256:00"),
            action: text("sha256:02"),
        }
    }

    fn statement(now: SystemTime, minutes: u64, uses: u32) -> Statement {
        let objection = Objection {
            policy: "destructive".into(),
            rule: "git-clean".into(),
            kind: FindingKind::Destructive,
            param: String::new(),
            path: String::new(),
            decision: Decision::Deny,
        };
        let code = "ABCD-EFGH".to_owned();
        let about = About::Call { code, subject: subject(), objections: vec![objection], uses };
        Statement::new(about, "kane", "shown", now, Duration::from_mins(minutes)).unwrap()
    }

    fn dirs(home: &std::path::Path) -> Dirs {
        Dirs { managed: home.join("managed"), ..Dirs::of_home(home) }
    }

    #[test]
    fn an_approval_holds_for_its_call_and_its_time_and_not_once_it_was_changed() {
        let home = tempfile::tempdir().unwrap();
        let (dirs, machine, now) = (dirs(home.path()), this_machine(), SystemTime::now());
        let holds = |subject: &Subject, bytes: &[u8]| verified(&machine, &dirs, subject, bytes);
        let good = sign_at_terminal(&dirs, &statement(now, 15, 2)).unwrap();
        let verified = holds(&subject(), &good).unwrap();
        assert_eq!((verified.uses, verified.approval.strength), (2, Strength::Terminal));
        for other in [
            Subject { session: "t".into(), ..subject() },
            Subject { input: "sha256:01".into(), ..subject() },
            Subject { cwd: "/x".into(), ..subject() },
            Subject { action: "sha256:03".into(), ..subject() },
            Subject { agent: "ash".into(), ..subject() },
        ] {
            assert!(holds(&other, &good).is_err(), "{other:?}");
        }
        let hour = Duration::from_hours(1);
        for (bad, why) in [
            (statement(now - hour, 15, 1), "over"),
            (statement(now + hour, 15, 1), "later"),
            (statement(now, 15, 0), "no use"),
            (statement(now, 15, MOST_USES + 1), "too many uses"),
            (Statement { expires: u64::MAX, ..statement(now, 15, 1) }, "for ever"),
            (Statement { nonce: "../../x".into(), ..statement(now, 15, 1) }, "a nonce that is a path"),
        ] {
            assert!(holds(&subject(), &sign_at_terminal(&dirs, &bad).unwrap()).is_err(), "{why}");
        }
        // Every byte that says something is covered; the name of a key says nothing.
        let mut envelope: Envelope = serde_json::from_slice(&good).unwrap();
        envelope.payload = Base64::encode_string(&serde_json::to_vec(&statement(now, 15, 9)).unwrap());
        assert!(holds(&subject(), &serde_json::to_vec(&envelope).unwrap()).is_err(), "another statement");
        let elsewhere = tempfile::tempdir().unwrap();
        let foreign = sign_at_terminal(&self::dirs(elsewhere.path()), &statement(now, 15, 1)).unwrap();
        assert!(holds(&subject(), &foreign).is_err(), "another machine's key");
    }

    #[test]
    fn a_signature_counts_by_who_is_enrolled_and_by_what_with() {
        let home = tempfile::tempdir().unwrap();
        let (dirs, machine, now) = (dirs(home.path()), this_machine(), SystemTime::now());
        let user = user_name(&machine);
        let (hard, soft, strange) = (Made::new(1, true), Made::new(2, false), Made::new(3, true));
        let enrol = |name: &str, made: &Made| {
            Approvers::add(&dirs, &Approver { name: name.to_owned(), key: made.key.clone() }).unwrap();
        };
        enrol(&user, &hard);
        enrol("ash", &soft);
        let statement = statement(now, 15, 1);
        let text = statement.text().unwrap();
        assert_eq!(Statement::parse(&text), Some(statement.clone()));
        let strength = |signature: Vec<u8>| {
            let bytes = with_signature(&statement, &signature).unwrap();
            verified(&machine, &dirs, &subject(), &bytes).map(|verified| verified.approval.strength)
        };
        assert_eq!(strength(hard.sign(&text, NAMESPACE, 1)), Ok(Strength::Touch));
        assert_eq!(strength(soft.sign(&text, NAMESPACE, 0)), Ok(Strength::OtherPerson));
        let lined = [&text[..], b"\n"].concat();
        assert_eq!(strength(soft.sign(&lined, NAMESPACE, 0)), Ok(Strength::OtherPerson));
        for bad in [
            hard.sign(&text, NAMESPACE, 0),
            hard.sign(&text, "file", 1),
            strange.sign(&text, NAMESPACE, 1),
            soft.sign(b"something else", NAMESPACE, 0),
        ] {
            assert!(strength(bad).is_err());
        }
        Approvers::remove(&dirs, "ash").unwrap();
        enrol(&user, &soft);
        assert!(strength(soft.sign(&text, NAMESPACE, 0)).is_err(), "a key in software of one's own");
    }
}
