//! What the command itself has changed on the disk so far.
//!
//! Against whom: a command that writes a script and then runs it, or that makes a link and then writes through it. The
//! disk that we look at does not have these yet.

use std::path::Path;
use std::rc::Rc;

use toolgate_model::{below, clean};

use super::text::Flow;

/// More of anything than this is not kept.
pub(super) const MAX_KEPT: usize = 256;
/// Links that are followed.
const MAX_LINKS: usize = 64;
/// Places that one path may lead to through links.
const MAX_LED: usize = 16;

/// More links than can be followed.
#[derive(Debug)]
pub(super) struct TooMany;

#[derive(Debug, Clone, Default)]
pub(super) struct Disk {
    /// What was written, by absolute name; the last one counts.
    files: Vec<(Rc<str>, Flow)>,
    /// Links: name and where it leads, both absolute.
    links: Vec<(Rc<str>, Rc<str>)>,
    /// Directories that were surely made.
    made: Vec<Rc<str>>,
    /// Places that were taken away or renamed.
    gone: Vec<Rc<str>>,
}

impl Disk {
    /// What a file holds that was written.
    pub(super) fn content(&self, path: &str) -> Option<&Flow> {
        let kept = self.files.iter().rev().find(|(known, _)| **known == *path).map(|(_, flow)| flow);
        // INVARIANT: what was written and not kept must not be taken for what is on the disk.
        kept.or(if self.is_full() { Some(&Flow::Any) } else { None })
    }

    /// More was written than is kept, or may have been.
    fn is_full(&self) -> bool {
        self.files.len() >= MAX_KEPT
    }

    pub(super) fn write(&mut self, path: &str, flow: Flow) {
        if self.files.len() < MAX_KEPT {
            self.files.push((Rc::from(path), flow));
        }
    }

    /// Whether nothing was written, made or linked: all stands as the real disk has it.
    pub(super) fn is_untouched(&self) -> bool {
        self.files.is_empty() && self.links.is_empty() && self.made.is_empty() && self.gone.is_empty()
    }

    /// All that was ever written, in order.
    pub(super) fn files(&self) -> &[(Rc<str>, Flow)] {
        &self.files
    }

    /// Takes a place away, with all that was made below it.
    pub(super) fn remove(&mut self, place: &str) {
        self.files.retain(|(path, _)| **path != *place);
        self.made.retain(|made| below(place.as_bytes(), made.as_bytes()).is_none());
        self.gone.push(place.into());
    }

    /// Whether the place, or one above it, was taken away.
    pub(super) fn is_gone(&self, place: &str) -> bool {
        self.gone.iter().any(|gone| below(gone.as_bytes(), place.as_bytes()).is_some())
    }

    pub(super) fn make_directory(&mut self, place: &str) {
        self.made.push(place.into());
    }

    pub(super) fn has_made(&self, place: &Path) -> bool {
        self.made.iter().any(|made| Path::new(&**made) == place)
    }

    /// The names of all links that were made.
    pub(super) fn link_names(&self) -> Vec<String> {
        self.links.iter().map(|(name, _)| name.to_string()).collect()
    }

    pub(super) fn has_links(&self) -> bool {
        !self.links.is_empty()
    }

    /// Whether there is room for one more link.
    pub(super) fn takes_link(&self) -> bool {
        self.links.len() < MAX_LINKS
    }

    pub(super) fn link(&mut self, name: &str, leads: &str) {
        // A link that takes over the name of a file: its text is the other's, or still its own where that failed.
        if let Some(had) = self.content(name).cloned() {
            let flow = self.content(leads).map_or(Flow::Any, |there| had.or(there));
            self.write(name, flow);
        }
        self.links.push((name.into(), leads.into()));
    }

    /// Where a link leads that was made.
    pub(super) fn link_target(&self, name: &str) -> Option<&Rc<str>> {
        self.links.iter().rev().find(|(link, _)| **link == *name).map(|(_, leads)| leads)
    }

    /// Files and links that were made below a directory, by their paths from there.
    pub(super) fn names_below(&self, directory: &str) -> Vec<String> {
        let files = self.files.iter().map(|(path, _)| path);
        let rest = |path: &Rc<str>| {
            let rest = below(directory.as_bytes(), path.as_bytes())?;
            Some(String::from_utf8_lossy(rest).into_owned()).filter(|rest| !rest.is_empty())
        };
        files.chain(self.links.iter().map(|(path, _)| path)).filter_map(rest).collect()
    }

    /// Links that were made below a directory.
    pub(super) fn links_below(&self, directory: &str) -> Vec<String> {
        let is_below = |name: &str| below(directory.as_bytes(), name.as_bytes()).is_some();
        self.links.iter().map(|(name, _)| name.to_string()).filter(|name| is_below(name)).collect()
    }

    /// All that is known below the old name is now below the new one, or may be.
    pub(super) fn rename(&mut self, old: &str, new: &str) {
        let moved = |path: &Rc<str>| -> Option<Rc<str>> {
            let rest = path.strip_prefix(old)?;
            rest.starts_with('/').then(|| Rc::from(format!("{new}{rest}").as_str()))
        };
        // A link that leads into the directory moves with it on both ends, if it was written as a relative one.
        let led = |leads: &Rc<str>| if **leads == *old { Some(Rc::from(new)) } else { moved(leads) };
        let mut links: Vec<(Rc<str>, Rc<str>)> = Vec::new();
        for (link, leads) in &self.links {
            if let Some(name) = moved(link) {
                // One that is written as a path from where it lies leads elsewhere from its new place.
                links.push((name.clone(), rebased(link, leads, &name).into()));
                links.extend(led(leads).map(|leads| (name.clone(), leads)));
                links.push((name, leads.clone()));
            }
        }
        let files: Vec<_> =
            self.files.iter().filter_map(|(file, flow)| Some((moved(file)?, flow.clone()))).collect();
        self.links.extend(links);
        self.files.extend(files);
    }

    /// Whether something was made below the place.
    pub(super) fn has_below(&self, place: &str) -> bool {
        let is_below =
            |path: &str| below(place.as_bytes(), path.as_bytes()).is_some_and(|rest| !rest.is_empty());
        self.files.iter().any(|(path, _)| is_below(path)) || self.links.iter().any(|(path, _)| is_below(path))
    }

    /// Names in a directory that were made.
    pub(super) fn names_in(&self, directory: &str) -> Vec<String> {
        let files = self.files.iter().map(|(path, _)| path);
        let links = self.links.iter().map(|(path, _)| path);
        let prefix = if directory.ends_with('/') { directory.to_owned() } else { format!("{directory}/") };
        files
            .chain(links)
            .filter_map(|path| path.strip_prefix(prefix.as_str()))
            .filter_map(|rest| rest.split('/').next())
            .map(str::to_owned)
            .collect()
    }

    /// Where a path leads through links that were made. Empty where there are none; an error where they are too many.
    pub(super) fn through_links(&self, place: &str) -> Result<Vec<String>, TooMany> {
        if self.links.is_empty() {
            return Ok(Vec::new());
        }
        let mut found: Vec<String> = Vec::new();
        let mut open = vec![place.to_owned()];
        while let Some(path) = open.pop() {
            // One name at a time, as the kernel walks: `docs/../link/../x` leads through the link.
            let mut at = String::new();
            let mut names = path.split('/').filter(|name| !name.is_empty() && *name != ".");
            while let Some(name) = names.next() {
                if name == ".." {
                    at.truncate(at.rfind('/').unwrap_or(0));
                    continue;
                }
                at.push('/');
                at.push_str(name);
                let rest: Vec<&str> = names.clone().collect();
                for (_, target) in self.links.iter().filter(|(link, _)| **link == *at) {
                    let led = format!("{target}/{}", rest.join("/"));
                    let clean = clean(Path::new(&led)).to_string_lossy().into_owned();
                    if clean != path && !found.contains(&clean) {
                        if found.len() >= MAX_LED {
                            return Err(TooMany);
                        }
                        found.push(clean);
                        open.push(led);
                    }
                }
            }
        }
        Ok(found)
    }

    /// What it costs to copy or join it, in entries.
    pub(super) fn weight(&self) -> usize {
        self.files.len() * 2 + self.links.len() * 2
    }

    /// Either of two: what both agree on, and what is in doubt where they do not.
    /// Whether all of it was kept.
    pub(super) fn join(&mut self, other: &Disk) -> bool {
        self.made.retain(|path| other.made.contains(path));
        let mut is_whole = extend(&mut self.gone, &other.gone);
        is_whole &= extend(&mut self.links, &other.links);
        self.join_files(other);
        is_whole
    }

    /// A file has what it has in both, or it may have anything.
    fn join_files(&mut self, other: &Disk) {
        // Up to where the branches parted both have the same, and there is nothing to join in what neither has written since.
        let both = self.files.iter().zip(&other.files);
        let shared = both.take_while(|(one, other)| Rc::ptr_eq(&one.0, &other.0) && one.1 == other.1).count();
        let since = |disk: &Disk| -> Vec<Rc<str>> {
            disk.files.iter().skip(shared).map(|(path, _)| path.clone()).collect()
        };
        let (here, there) = (since(self), since(other));
        if here.is_empty() && there.is_empty() {
            return;
        }
        let mut paths: Vec<Rc<str>> = Vec::new();
        for (path, _) in self.files.iter().chain(other.files.iter().skip(shared)) {
            if (here.contains(path) || there.contains(path)) && !paths.contains(path) {
                paths.push(path.clone());
            }
        }
        for path in paths {
            let (here, there) = (self.content(&path).cloned(), other.content(&path).cloned());
            if here != there {
                let flow = match (here, there) {
                    (Some(Flow::Nothing), None) | (None, Some(Flow::Nothing)) => Flow::Nothing,
                    (Some(one), Some(two)) => one.or(&two),
                    // Only in one of them: as it was before, or so.
                    _ => Flow::Any,
                };
                self.write(&path, flow);
            }
        }
    }

    /// Takes over what a child of this shell left.
    pub(super) fn adopt(&mut self, child: &Disk) {
        self.files.clone_from(&child.files);
        self.links.clone_from(&child.links);
        self.made.clone_from(&child.made);
        self.gone.clone_from(&child.gone);
    }

    /// Whether something that later commands go by differs.
    pub(super) fn differs(&self, other: &Disk) -> bool {
        self.files != other.files || self.links != other.links
    }
}

/// Where a link would lead from its new name, if it is written as a path from where it lay.
pub(super) fn rebased(old: &str, leads: &str, new: &str) -> String {
    let parts = |path: &str| -> Vec<String> {
        path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let (mut from, to, mut at) = (parts(old), parts(leads), parts(new));
    from.pop();
    at.pop();
    let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    for _ in common..from.len() {
        at.pop();
    }
    at.extend(to.into_iter().skip(common));
    format!("/{}", at.join("/"))
}

/// Adds what is not there yet. Whether there was room for all of it.
pub(super) fn extend<T: Clone + PartialEq>(to: &mut Vec<T>, from: &[T]) -> bool {
    for item in from {
        if !to.contains(item) {
            if to.len() >= MAX_KEPT {
                return false;
            }
            to.push(item.clone());
        }
    }
    true
}
