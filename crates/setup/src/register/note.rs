//! The note of what init did: `registrations.json` in the state directory.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files::{read_bytes, replace};
use super::{RegisterError, Scope};
use toolgate_gate::settings::digest;

/// It holds the originals of several files.
const LONGEST_NOTE: usize = 64 << 20;

/// One file that init wrote, as noted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// The host's id.
    pub host: String,
    /// Whose settings.
    pub scope: Scope,
    /// The project, where they are a project's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// Where the host kept the person's settings.
    #[serde(default)]
    pub config: PathBuf,
    /// The settings file.
    pub file: PathBuf,
    /// What it held before; absent where it did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
    /// The digest of what init wrote.
    pub written_sha256: String,
    /// The word by which it names us, and how often it does beside what was there before. The hook misses a registration that names us less
    /// often.
    #[serde(default)]
    pub mark: String,
    /// How often.
    #[serde(default)]
    pub marks: usize,
    /// Directories that init made for it, outermost first.
    #[serde(default)]
    pub created_dirs: Vec<PathBuf>,
}

/// The word by which a registration names us, and how often init has written it: the program's path, which people hardly write themselves;
/// our name, where the path stands there in other letters.
pub(super) fn marks(binary: &Path, before: &str, after: &str) -> (String, usize) {
    let count = |word: &str| after.matches(word).count().saturating_sub(before.matches(word).count());
    let path = binary.to_string_lossy().into_owned();
    match count(&path) {
        0 => ("toolgate".to_owned(), count("toolgate")),
        count => (path, count),
    }
}

impl Registration {
    /// Whether the file still is what init wrote.
    pub fn wrote(&self, text: &str) -> bool {
        self.written_sha256 == sha256(text)
    }

    /// Whether both are about the same file for the same reason: one file can serve several registrations.
    fn is_about(&self, other: &Registration) -> bool {
        (&self.host, self.scope, &self.project, &self.file)
            == (&other.host, other.scope, &other.project, &other.file)
    }
}

/// What init did, in the order in which it was done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registrations {
    registrations: Vec<Registration>,
}

impl Registrations {
    /// Reads the note. No note is an empty one; a broken one is an error, since it may hold somebody's file.
    pub fn load(state: &Path) -> Result<Registrations, RegisterError> {
        let path = note_path(state);
        match read_bytes(&path, LONGEST_NOTE)? {
            None => Ok(Registrations::default()),
            Some(bytes) => serde_json::from_slice(&bytes).map_err(|_| RegisterError::BrokenNote { path }),
        }
    }

    /// What is noted about a host.
    pub fn of(&self, host: &str) -> impl DoubleEndedIterator<Item = &Registration> {
        self.registrations.iter().filter(move |registration| registration.host == host)
    }

    /// What is noted about a file, by its name or by another name of the same file.
    pub fn find(&self, host: &str, file: &Path) -> Option<&Registration> {
        self.find_where(host, file, |_| true)
    }

    pub(super) fn find_where(
        &self,
        host: &str,
        file: &Path,
        fits: impl Fn(&Registration) -> bool,
    ) -> Option<&Registration> {
        let all = || self.of(host).filter(|registration| fits(registration));
        all().find(|registration| registration.file == file).or_else(|| {
            let real = fs::canonicalize(file).ok()?;
            all().find(|registration| fs::canonicalize(&registration.file).is_ok_and(|other| other == real))
        })
    }

    pub(super) fn set(&mut self, new: Registration) {
        match self.registrations.iter_mut().find(|old| old.is_about(&new)) {
            Some(old) => *old = new,
            None => self.registrations.push(new),
        }
    }

    pub(super) fn forget(&mut self, gone: &Registration) {
        self.registrations.retain(|old| !old.is_about(gone));
    }

    pub(super) fn save(&self, state: &Path) -> Result<(), RegisterError> {
        let path = note_path(state);
        let text = serde_json::to_string_pretty(self)
            .map_err(|_| RegisterError::BrokenNote { path: path.clone() })?;
        if text.len() >= LONGEST_NOTE {
            return Err(RegisterError::TooLong { path, longest: LONGEST_NOTE });
        }
        replace(&path, &format!("{text}\n"), 0o600)
    }
}

fn note_path(state: &Path) -> PathBuf {
    state.join("registrations.json")
}

pub(super) fn sha256(text: &str) -> String {
    digest(text.as_bytes())
}
