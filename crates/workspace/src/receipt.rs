//! Receipts: a signed statement of what was declared, what was there and what came of it.
//!
//! A receipt is a DSSE envelope around an in-toto statement, so that other tools can check it. Its subjects are the
//! outputs. Nothing in an [`Envelope`] can be used before its signature was checked: only [`Envelope::verify`] makes a
//! [`Receipt`].

use std::collections::BTreeMap;
use std::time::SystemTime;

use base64ct::{Base64, Encoding};
use serde::{Deserialize, Serialize};
use toolgate_declaration::{Declaration, Side};

use crate::agent::AgentId;
use crate::digest::{Algorithm, Digest};
use crate::error::Error;
use crate::key::{PublicKey, SigningKey};
use crate::snapshot::{Difference, Formula, Links, Progress, Snapshot, State, survey};
use crate::store::{Alone, Store};
use crate::workspace::Workspace;

const PAYLOAD: &str = "application/vnd.in-toto+json";
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
const PREDICATE: &str = "urn:toolgate:workspace-receipt:1";

/// What a receipt says besides what lies in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// When it is made.
    pub time: SystemTime,
    /// The digest of the rules that the agent was under.
    pub ruleset: Option<String>,
    /// Where the ledger stood.
    pub ledger: Option<LedgerPosition>,
}

/// A line of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerPosition {
    /// Its number.
    pub seq: u64,
    /// Its digest.
    pub digest: String,
}

/// What a receipt states: an in-toto statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    /// The outputs that are there.
    pub subject: Vec<Subject>,
    #[serde(rename = "predicateType")]
    predicate_kind: String,
    /// All of it.
    pub predicate: Predicate,
}

/// One output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Its path.
    pub name: String,
    /// Its digests by their algorithms, in hexadecimal.
    pub digest: BTreeMap<String, String>,
}

/// What the statement says about the outputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predicate {
    /// Whose workspace it is.
    pub agent: AgentId,
    /// What was declared.
    pub declaration: Declaration,
    /// What it began with, and what came later as it was then; where nobody kept that, the inputs as they were when the
    /// receipt was made.
    pub inputs: Snapshot,
    /// What came of it.
    pub outputs: Snapshot,
    /// The digest of the rules that the agent was under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ruleset: Option<String>,
    /// Where the ledger stood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerPosition>,
    /// When the receipt was made, in seconds since 1970.
    pub time: u64,
}

/// A receipt as it is read: nobody has checked it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    #[serde(rename = "payloadType")]
    payload_type: String,
    payload: String,
    signatures: Vec<Signed>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signed {
    keyid: String,
    sig: String,
}

/// A receipt whose signature and whose digests are right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    envelope: Envelope,
    statement: Statement,
    key: String,
}

impl Envelope {
    /// A receipt of a hundred thousand files is smaller.
    pub const LONGEST: usize = 64 * 1024 * 1024;

    /// Reads the text of a receipt.
    pub fn parse(text: &[u8]) -> Result<Envelope, Error> {
        let envelope = Some(text).filter(|text| text.len() <= Self::LONGEST);
        let envelope = envelope.and_then(|text| serde_json::from_slice(text).ok());
        envelope.ok_or(Error::BadReceipt { why: "is no receipt" })
    }

    /// Checks who signed it and that it agrees with itself. `trusted` are the keys whose word counts.
    pub fn verify(self, trusted: &[PublicKey]) -> Result<Receipt, Error> {
        let bad = |why| Error::BadReceipt { why };
        // Each one costs a look at all of it.
        if self.signatures.len() > 16 {
            return Err(bad("has too many signatures"));
        }
        let payload = self.payload()?;
        let signed = dsse(&self.payload_type, &payload);
        let by = |key: &PublicKey| {
            let verifies = |sig: &str| Base64::decode_vec(sig).is_ok_and(|sig| key.verifies(&signed, &sig));
            let sig = self.signatures.iter().map(|signed| &signed.sig).find(|sig| verifies(sig))?;
            Some(Signed { keyid: key.id(), sig: sig.clone() })
        };
        let signature = trusted.iter().find_map(by);
        let signature = signature.ok_or(bad("was not signed by a trusted key, or was changed"))?;
        let statement = self.unverified_statement()?;
        let Predicate { inputs, outputs, .. } = &statement.predicate;
        let all_framed = inputs.formula() == Formula::Framed && outputs.formula() == Formula::Framed;
        if !all_framed || !inputs.is_consistent() || !outputs.is_consistent() {
            return Err(bad("contradicts itself: a snapshot's digest is not that of its files"));
        }
        if statement.subject != subjects(outputs) {
            return Err(bad("contradicts itself: its subjects are not its outputs"));
        }
        // What nobody has signed, the names of keys and other signatures, is left out: one receipt has one text.
        let key = signature.keyid.clone();
        Ok(Receipt { envelope: Envelope { signatures: vec![signature], ..self }, statement, key })
    }

    /// For those who need to know what it names whether or not it is right.
    pub(crate) fn unverified_statement(&self) -> Result<Statement, Error> {
        let bad = Error::BadReceipt { why: "is of a kind that this version does not know" };
        let statement = serde_json::from_slice::<Statement>(&self.payload()?).ok();
        let known =
            |statement: &Statement| statement.kind == STATEMENT && statement.predicate_kind == PREDICATE;
        statement.filter(|statement| self.payload_type == PAYLOAD && known(statement)).ok_or(bad)
    }

    fn payload(&self) -> Result<Vec<u8>, Error> {
        Base64::decode_vec(&self.payload).map_err(|_| Error::BadReceipt { why: "is no receipt" })
    }
}

impl Receipt {
    /// What it states.
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// The id of the key that signed it.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Its name in a store: the digest of its text.
    pub fn id(&self) -> Digest {
        Digest::of(Algorithm::Blake3, self.to_json().as_bytes())
    }

    /// Its text.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string(&self.envelope).unwrap_or_default();
        text.push('\n');
        text
    }

    fn sign(statement: Statement, key: &SigningKey) -> serde_json::Result<Receipt> {
        let payload = serde_json::to_vec(&statement)?;
        let id = key.public().id();
        let sig = Base64::encode_string(&key.sign(&dsse(PAYLOAD, &payload)));
        let envelope = Envelope {
            payload_type: PAYLOAD.to_owned(),
            payload: Base64::encode_string(&payload),
            signatures: vec![Signed { keyid: id.clone(), sig }],
        };
        Ok(Receipt { envelope, statement, key: id })
    }
}

/// What is signed in a DSSE envelope: type and payload, each with its length, so that neither can be taken for the other.
pub fn dsse(kind: &str, payload: &[u8]) -> Vec<u8> {
    let mut text = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    text.extend_from_slice(payload);
    text
}

fn subjects(outputs: &Snapshot) -> Vec<Subject> {
    let there = outputs.files().iter().filter_map(|(path, state)| match state {
        State::File { digest, .. } => {
            let digest = BTreeMap::from([(digest.algorithm().name().to_owned(), digest.hex())]);
            Some(Subject { name: path.clone(), digest })
        }
        State::Missing => None,
    });
    there.collect()
}

impl Workspace {
    /// Puts all that the agent began with and all that it wrote into the store, and states that. The receipt is kept in
    /// the store, too.
    pub fn receipt(
        &self,
        store: &Store,
        key: &SigningKey,
        about: About,
        progress: &dyn Progress,
    ) -> Result<Receipt, Error> {
        let _lock = store.lock(Alone::No)?;
        let take = |side| {
            let put = |mut file| store.put_locked(&mut file);
            Ok::<_, Error>(Snapshot::new(
                Formula::Framed,
                survey(&self.top, &self.declared, side, Links::Refuse, progress, put)?,
            ))
        };
        let outputs = take(Side::Output)?;
        let mut inputs = take(Side::Input)?;
        if let Some(began) = self.base.began_with(&self.agent)? {
            let mut files = began.files().clone();
            for Difference { path, before, after } in began.diff(&inputs) {
                match before {
                    // It came later, and is what it is now.
                    None | Some(State::Missing) => files.extend(after.map(|after| (path, after))),
                    // The agent may write it, and has.
                    Some(State::File { digest, .. }) if self.declared.output(&path).is_ok() => {
                        store.read_into(&digest, &mut std::io::sink())?;
                    }
                    // Somebody else has changed it, and what the agent has read is not known.
                    Some(State::File { .. }) => return Err(Error::InputChanged { path }),
                }
            }
            inputs = Snapshot::new(Formula::Framed, files);
        }
        let statement = Statement {
            kind: STATEMENT.to_owned(),
            subject: subjects(&outputs),
            predicate_kind: PREDICATE.to_owned(),
            predicate: Predicate {
                agent: self.agent.clone(),
                declaration: self.declaration().clone(),
                inputs,
                outputs,
                ruleset: about.ruleset,
                ledger: about.ledger,
                time: about.time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            },
        };
        store.sync()?;
        let receipt = Receipt::sign(statement, key).map_err(|error| store.failed(error.into()))?;
        if receipt.to_json().len() > Envelope::LONGEST {
            return Err(Error::BadReceipt { why: "would be too long to be read again; declare fewer files" });
        }
        store.keep_locked(&receipt)?;
        Ok(receipt)
    }
}
