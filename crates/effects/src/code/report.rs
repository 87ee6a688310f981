//! What is said of a program: its deeds, and the paths that it names and no deed explains.
//!
//! Nothing is said before the last walk, when the names of the program are known.

use std::collections::BTreeMap;

use super::doubts::Doubts;
use super::{Deed, Path, climbs, note};

/// What has been found so far.
#[derive(Default)]
pub(super) struct Report {
    is_open: bool,
    deeds: Vec<Deed>,
    /// Texts that look like paths leading outside, and how often they stand there.
    outside: BTreeMap<String, usize>,
    /// How often such a text is used where it can do nothing.
    harmless: BTreeMap<String, usize>,
}

impl Report {
    /// The last walk begins: from now on deeds count.
    pub(super) fn open(&mut self) {
        self.is_open = true;
    }

    /// Whether this is the last walk, which says what is done.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Notes a deed of the walk.
    pub(super) fn note(&mut self, deed: Deed) {
        if self.is_open {
            self.add(deed);
        }
    }

    /// Notes what is true of the program, whatever the walk.
    pub(super) fn add(&mut self, deed: Deed) {
        note(&mut self.deeds, deed);
    }

    /// The deeds, for code inside of the program to add its own.
    pub(super) fn deeds_mut(&mut self) -> &mut Vec<Deed> {
        &mut self.deeds
    }

    /// All that was found.
    pub(super) fn into_deeds(self) -> Vec<Deed> {
        self.deeds
    }

    /// Keeps a text of the program if it looks like a path that leads outside.
    pub(super) fn look_at_text(&mut self, text: &str) {
        if leads_outside(text) {
            *self.outside.entry(text.to_owned()).or_default() += 1;
        }
    }

    /// A text is used where it can do nothing.
    pub(super) fn harmless(&mut self, text: &str) {
        if self.outside.contains_key(text) {
            *self.harmless.entry(text.to_owned()).or_default() += 1;
        }
    }

    /// Begins another walk, which counts harmless uses anew.
    pub(super) fn restart(&mut self) {
        self.harmless.clear();
    }

    /// Adds the paths that the program names and that no call explains.
    pub(super) fn left_over(&mut self, doubts: &Doubts) {
        let connects = self.deeds.contains(&Deed::Connect);
        for (text, count) in std::mem::take(&mut self.outside) {
            let used = self.harmless.get(&text).copied().unwrap_or(0);
            let plain = text.strip_prefix("file://").unwrap_or(&text);
            let explained = self.deeds.iter().any(|deed| match deed {
                Deed::Write(path) | Deed::Delete(path) | Deed::Enter(path) => path.begins(plain),
                Deed::Read(path) | Deed::List(path) => !doubts.writes_loosely() && path.begins(plain),
                Deed::Shell(command) => command.contains(plain),
                Deed::Run(words) => words.iter().any(|word| word.contains(plain)),
                Deed::Mention(_) | Deed::Connect | Deed::Project | Deed::Unknown(_) => false,
            });
            // `'/users'` behind an address.
            let route = connects && !is_root(plain);
            if !explained && used < count && !route {
                let path = Path::Known(plain.to_owned());
                self.add(if doubts.may_write() {
                    Deed::Write(path)
                } else if is_root(plain) || !plain.starts_with('/') {
                    Deed::Read(path)
                } else {
                    Deed::Mention(plain.to_owned())
                });
            }
        }
    }

    /// Adds every path that leads outside as one that is written.
    pub(super) fn write_all_outside(&mut self) {
        for text in self.outside.keys() {
            note(&mut self.deeds, Deed::Write(Path::Known(text.clone())));
        }
    }

    /// Says again what comes before a change of directory: it may also be done after it.
    pub(super) fn repeat_in_last_directory(&mut self) {
        let last = self.deeds.iter().rposition(|deed| matches!(deed, Deed::Enter(_)));
        for deed in last.and_then(|last| self.deeds.get(..last)).unwrap_or_default().to_vec() {
            self.add(deed);
        }
    }
}

impl Path {
    fn begins(&self, text: &str) -> bool {
        match self {
            Path::Known(path) | Path::Below(path) => {
                path.starts_with(text)
                    || (path.len() > 1 && text.starts_with(path.as_str()) && matches!(self, Path::Below(_)))
            }
            Path::Unknown => false,
        }
    }
}

/// Looks like a path that leads out of the directory, and like nothing else.
fn leads_outside(text: &str) -> bool {
    const ODD: [char; 19] =
        ['<', '>', '|', '(', ')', '^', '$', '"', '\'', ';', '&', '#', '`', '!', '\n', '\t', '\\', '\r', '\0'];
    if text.len() > 300 || text.contains(ODD) {
        return false;
    }
    if text.starts_with("file://") {
        return true;
    }
    if text == "/dev/null" || text.contains("://") || (text.contains('?') && text.contains('=')) {
        return false;
    }
    let named =
        |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '~'));
    let absolute = text.strip_prefix('/').is_some_and(named);
    let home =
        text == "~" || text.strip_prefix('~').is_some_and(|rest| rest.starts_with('/') || rest.contains('/'));
    let spaces = text.contains(' ') && !is_root(text);
    (absolute || home || climbs(text)) && !spaces
}

/// Begins with a directory that is at the top of most machines.
fn is_root(path: &str) -> bool {
    const ROOTS: &str = "bin boot dev etc home lib lib64 media mnt opt proc root run sbin srv sys tmp usr var Users Volumes private Library Applications data work workspace";
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    path.starts_with("~/") || climbs(path) || ROOTS.split(' ').any(|root| root == first)
}
