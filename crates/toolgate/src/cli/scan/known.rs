//! What need not be reported again, and by what a finding is known.
//!
//! INVARIANT: nothing of a secret is in a fingerprint. A digest of a password can be guessed at leisure, so it is made
//! of what stands around the secret; a second finding with the same surroundings has another number.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use toolgate_gate::disk::read_regular;
use toolgate_gate::store::hex;

/// A report of a million findings.
const MAX_BASELINE: usize = 512 * 1024 * 1024;
/// Bytes of a fingerprint: enough for chance never to make two alike.
const FINGERPRINT: usize = 16;

type Sum = [u8; 32];

/// The findings of before.
pub(super) struct Known {
    baseline: BTreeSet<String>,
    /// How often the same surroundings were met.
    met: BTreeMap<Sum, usize>,
    /// Secrets by what they are and where, if each counts once. Never written anywhere.
    seen: Option<BTreeSet<Sum>>,
}

/// What of a report in JSON is read again.
#[derive(Deserialize)]
struct Reported {
    findings: Vec<ReportedFinding>,
}

#[derive(Deserialize)]
struct ReportedFinding {
    fingerprint: String,
}

impl Known {
    /// What a report holds. With `once`, a secret counts at the first place in a file where it is met.
    pub(super) fn new(baseline: Option<&Path>, once: bool) -> Result<Known, String> {
        let baseline = baseline.map(read).transpose()?.unwrap_or_default();
        Ok(Known { baseline, met: BTreeMap::new(), seen: once.then(BTreeSet::new) })
    }

    /// Whether this secret was met in this file before, where that matters.
    pub(super) fn is_again(&mut self, pattern: &str, path: &Path, secret: &[u8]) -> bool {
        match &mut self.seen {
            Some(seen) => !seen.insert(sum(&[pattern.as_bytes(), path.as_os_str().as_bytes(), secret])),
            None => false,
        }
    }

    /// The fingerprint of the next finding in these surroundings.
    pub(super) fn fingerprint(&mut self, pattern: &str, path: &Path, around: &str) -> String {
        let surroundings = sum(&[pattern.as_bytes(), path.as_os_str().as_bytes(), around.as_bytes()]);
        let number = self.met.entry(surroundings).or_default();
        *number += 1;
        let own = sum(&[&surroundings, number.to_string().as_bytes()]);
        hex(own.first_chunk::<FINGERPRINT>().map_or(&own, |start| start.as_slice()))
    }

    /// Whether the report of before holds this finding.
    pub(super) fn is_reported(&self, fingerprint: &str) -> bool {
        self.baseline.contains(fingerprint)
    }
}

fn read(file: &Path) -> Result<BTreeSet<String>, String> {
    let bytes = read_regular(file, MAX_BASELINE).map_err(|error| format!("{}: {error}", file.display()))?;
    let reported: Reported = serde_json::from_slice(&bytes)
        .map_err(|error| format!("{}: no report in JSON ({error})", file.display()))?;
    Ok(reported.findings.into_iter().map(|reported| reported.fingerprint).collect())
}

/// One digest over several parts, each with its length, so that no two lists of parts run into one.
fn sum(parts: &[&[u8]]) -> Sum {
    let digest = parts.iter().fold(Sha256::new(), |digest, part| {
        digest.chain_update((part.len() as u64).to_be_bytes()).chain_update(part)
    });
    digest.finalize().into()
}
