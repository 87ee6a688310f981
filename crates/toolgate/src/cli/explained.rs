//! What a contained command tried and its terms deny: for `toolgate exec --explain`, and as settings for `--learn`.
//!
//! Attempts are what the kernel told of, before its own answer. So an attempt is reported where the terms deny it, and where it would have
//! come to something without the sandbox: the file is there and the person may use it, or could make it.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};
use toolgate_gate::contain::outside;
use toolgate_gate::disk::Disk;
use toolgate_model::InShared;
use toolgate_policies::{
    Containment, ContainmentLevel, DeniedInside, MAKE_FIRST, NetworkMode, Outside, Wanted, scope_entry,
};
use toolgate_sandbox::Attempt;

/// So many different attempts are kept. A command may try as many as it likes.
const MOST_KEPT: usize = 1 << 14;
/// So many are written out.
const MOST_SHOWN: usize = 40;
/// A directory of which this many files are needed is opened as a whole.
const WHOLE_DIRECTORY: usize = 4;

/// What was tried, each once.
#[derive(Debug, Default)]
pub(super) struct Tried {
    attempts: BTreeSet<Attempt>,
    is_cut: bool,
    /// The level at which somebody looked on; `None` where nobody could.
    pub(super) level: Option<ContainmentLevel>,
}

impl Tried {
    pub(super) fn note(&mut self, attempt: Attempt) {
        if self.attempts.len() < MOST_KEPT {
            self.attempts.insert(attempt);
        } else {
            self.is_cut |= !self.attempts.contains(&attempt);
        }
    }

    /// What of it the terms deny, each path once for reading and once for writing.
    /// `temporary`: the sandbox's own directory for temporary files.
    pub(super) fn denied(
        &self,
        terms: &Containment,
        level: ContainmentLevel,
        temporary: &Path,
    ) -> Vec<DeniedInside> {
        let is_its_own = |path: &Path| {
            let inside = InShared::temporary(path);
            inside.is_some_and(|inside| std::fs::symlink_metadata(temporary.join(inside.rest)).is_ok())
        };
        let disk = Disk::default();
        let outside = |path: &Path| outside(&disk, path);
        let mut known: BTreeSet<(String, Wanted)> = BTreeSet::new();
        let mut denied: Vec<DeniedInside> = Vec::new();
        for attempt in &self.attempts {
            let found = denied_attempt(terms, level, &is_its_own, &outside, attempt);
            denied.extend(found.filter(|found| known.insert((found.target.clone(), found.wanted))));
        }
        denied
    }

    /// What is written for `--explain`.
    pub(super) fn told(&self, denied: &[DeniedInside]) -> String {
        let mut told = String::new();
        if !denied.is_empty() {
            told.push_str("toolgate: the command tried what the sandbox refuses:\n");
        }
        for one in denied.iter().take(MOST_SHOWN) {
            let _ = writeln!(told, "- {one}");
        }
        if denied.len() > MOST_SHOWN {
            let _ = writeln!(told, "- and {} more", denied.len() - MOST_SHOWN);
        }
        if denied.is_empty() {
            told.push_str(
                "toolgate: the command tried nothing that the sandbox refuses, as far as toolgate saw\n",
            );
        }
        if self.is_cut {
            told.push_str(
                "toolgate: it tried more than toolgate keeps; the last attempts are missing here\n",
            );
        }
        told
    }
}

fn denied_attempt(
    terms: &Containment,
    level: ContainmentLevel,
    is_its_own: &dyn Fn(&Path) -> bool,
    outside: Outside<'_>,
    attempt: &Attempt,
) -> Option<DeniedInside> {
    let denied = |path: &Path, wanted| terms.denied(path, wanted, level, outside);
    let is_there = |path: &Path| std::fs::symlink_metadata(path).is_ok();
    let may = |path: &Path, access| accessat(CWD, path, access, AtFlags::EACCESS).is_ok();
    let may_make = |path: &Path| path.parent().is_some_and(|above| may(above, Access::WRITE_OK));
    match attempt {
        Attempt::Read(path) => {
            let unseen = || terms.denied_unseen(path, level, outside).filter(|_| !is_its_own(path));
            let denied = denied(path, Wanted::Read).or_else(unseen)?;
            (may(path, Access::READ_OK) || may(path, Access::EXEC_OK)).then_some(denied)
        }
        Attempt::Write(path) => {
            let could = if is_there(path) { may(path, Access::WRITE_OK) } else { may_make(path) };
            could.then(|| denied(path, Wanted::Write))?
        }
        Attempt::Make(path) => (!is_there(path) && may_make(path)).then(|| denied(path, Wanted::Write))?,
        Attempt::Change(path) => (is_there(path) && may_make(path) || may(path, Access::WRITE_OK))
            .then(|| denied(path, Wanted::Write))?,
        // Nothing at level landlock keeps a mode or an owner from being changed.
        Attempt::Attributes(path) => (level == ContainmentLevel::Full && may(path, Access::WRITE_OK))
            .then(|| denied(path, Wanted::Write))?,
        // Where hosts are listed, an address of the sandbox may mean any of them. The proxy says what it has refused.
        Attempt::Connect(address) => (terms.network != NetworkMode::Listed && is_outside(address))
            .then(|| terms.denied_address(Some(&address.to_string())))?,
    }
}

/// Whether an address is neither the sandbox's own loopback nor none at all.
fn is_outside(address: &SocketAddr) -> bool {
    !address.ip().is_loopback() && !address.ip().is_unspecified()
}

/// Settings that open what was denied, as TOML with what no setting opens as remarks.
pub(super) fn settings(denied: &[DeniedInside]) -> String {
    let mut text = String::new();
    let mut shut: Vec<&DeniedInside> = Vec::new();
    let mut scope: Vec<(PathBuf, Wanted)> = Vec::new();
    let mut secrets: Vec<&str> = Vec::new();
    let mut others: BTreeSet<&str> = BTreeSet::new();
    for one in denied {
        match (&one.setting, one.rule.as_str()) {
            (None, _) => shut.push(one),
            (Some(_), "secret-file") => secrets.push(&one.target),
            (Some(setting), _) if setting.contains("[[scope]]") => {
                scope.push((PathBuf::from(&one.target), one.wanted));
            }
            (Some(setting), _) => {
                others.insert(setting);
            }
        }
    }
    for setting in others {
        let _ = writeln!(text, "{setting}");
    }
    for (path, wanted) in together(scope) {
        let rights = if wanted == Wanted::Write { "write" } else { "read" };
        if std::fs::metadata(&path).is_err() {
            let _ = writeln!(text, "{MAKE_FIRST}");
        }
        let _ = writeln!(text, "{}", scope_entry(&path, rights));
    }
    if !secrets.is_empty() {
        text.push_str(
            "# Keys and credentials. What is opened here can be sent anywhere; it is better left closed.\n",
        );
        for path in secrets {
            let _ = writeln!(text, "# {}", toolgate_model::visible(path).replace('\n', " "));
        }
        text.push('\n');
    }
    if !shut.is_empty() {
        text.push_str("# No setting opens these.\n");
        for one in shut {
            let _ = writeln!(text, "# {}", one.message.replace('\n', " "));
        }
    }
    text
}

/// The places to open: a directory instead of many files in it, and nothing that lies in another one with the same rights.
fn together(mut places: Vec<(PathBuf, Wanted)>) -> Vec<(PathBuf, Wanted)> {
    let in_directory = |places: &[(PathBuf, Wanted)], above: &Path, wanted| {
        places.iter().filter(|(path, other)| path.parent() == Some(above) && *other == wanted).count()
    };
    let whole: Vec<(PathBuf, Wanted)> = places
        .iter()
        .filter_map(|(path, wanted)| Some((path.parent()?.to_owned(), *wanted)))
        .filter(|(above, wanted)| {
            above.components().count() > 2 && in_directory(&places, above, *wanted) >= WHOLE_DIRECTORY
        })
        .collect();
    places.extend(whole);
    places.sort();
    places.dedup();
    let all = places.clone();
    places.retain(|(path, wanted)| {
        !all.iter().any(|(other, rights)| {
            let is_wider = path.starts_with(other) && path != other && rights >= wanted;
            is_wider || (path == other && rights > wanted)
        })
    });
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_of_a_directory_open_it_and_what_lies_in_it_is_not_named_again() {
        let read = |path: &str| (PathBuf::from(path), Wanted::Read);
        let write = |path: &str| (PathBuf::from(path), Wanted::Write);
        let files = vec![
            read("/srv/data/a"),
            read("/srv/data/b"),
            read("/srv/data/c"),
            read("/srv/data/d"),
            write("/srv/data/a"),
            read("/opt/x"),
            write("/opt/x"),
            // Nothing at the top is opened for a few files in it.
            read("/a"),
            read("/b"),
            read("/c"),
            read("/d"),
        ];
        assert_eq!(
            together(files),
            [
                read("/a"),
                read("/b"),
                read("/c"),
                read("/d"),
                write("/opt/x"),
                read("/srv/data"),
                write("/srv/data/a")
            ]
        );
    }
}
