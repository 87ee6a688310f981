//! What this very call exchanges: what the disk says of it beforehand is no longer believed.
//!
//! Against whom: a link leads through a directory, and the call takes the directory away and makes another one, or a link, in
//! its place: `rm d; mkdir d; cat l` reads what `l` leads to now. The disk that we look at still has the old `d`. So every path that
//! the call uses is walked as the kernel would walk it. Where the walk goes through a link and comes upon something that the
//! call has taken away, moved or linked, at whatever moment, the call is doubted. A part of it may run in the background, so the order of
//! both does not count.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toolgate_model::{
    Access, Doubt, Effect, Gap, NodeKind, Passed, PathArg, Resolver, Target, Trouble, below,
};

use super::Interpreter;
use super::text::Text;

/// So many changes are kept.
const MAX_CHANGES: usize = 512;
/// So many different paths are walked.
const MAX_WALKED: usize = 512;

/// The names that a call exchanges.
#[derive(Default)]
pub(super) struct Changed {
    /// Taken away, with all below.
    gone: Vec<String>,
    /// Moved elsewhere: directories that somebody may be in.
    moved: Vec<String>,
    /// More than are kept.
    is_cut: bool,
    /// A text was believed that the call may have written by another name.
    believed: RefCell<Option<String>>,
}

impl Changed {
    /// A place is taken away. Where not all of its name is known, any name in that directory may be meant.
    pub(super) fn take_away(&mut self, place: &str) {
        let known = match place.find('…') {
            Some(at) => {
                place.get(..at).and_then(|known| known.rsplit_once('/')).map_or("/", |(above, _)| above)
            }
            None => place,
        };
        keep(&mut self.gone, &mut self.is_cut, known);
    }

    /// A directory gets another name.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        for place in [from, to] {
            keep(&mut self.gone, &mut self.is_cut, place);
        }
        keep(&mut self.moved, &mut self.is_cut, from);
    }

    fn is_empty(&self) -> bool {
        self.gone.is_empty()
    }

    fn has(list: &[String], place: &Path) -> bool {
        let place = place.as_os_str().as_encoded_bytes();
        list.iter().any(|changed| below(changed.as_bytes(), place).is_some())
    }
}

fn keep(list: &mut Vec<String>, is_cut: &mut bool, place: &str) {
    let clean = toolgate_model::clean(Path::new(place)).to_string_lossy().into_owned();
    if list.contains(&clean) {
        return;
    }
    if list.len() < MAX_CHANGES {
        list.push(clean);
    } else {
        *is_cut = true;
    }
}

/// Whether the walk along a path comes upon something that is exchanged. `links` are those that the call has made.
fn is_led_astray(resolver: &Resolver<'_>, changed: &Changed, links: &[String], place: &str) -> bool {
    let is_exchanged = |at: &Path| Changed::has(&changed.gone, at) || Changed::has(links, at);
    let mut is_astray = false;
    // How deep the directory lies that the call moves.
    let mut moved = None;
    let walk = resolver.walk_past(place.into(), &mut |passed| match passed {
        Passed::Name { at, is_link, is_last, links } => {
            if changed.moved.iter().any(|moved| Path::new(moved) == at) {
                moved = Some(at.components().count());
            }
            // What lies behind a link that is gone lies elsewhere; the link itself is judged by its name.
            is_astray |= (links > 0 || is_link && !is_last) && is_exchanged(at);
        }
        // The way up from a directory that lies elsewhere by now.
        Passed::Up { from } => is_astray |= moved.is_some_and(|depth| from.components().count() <= depth),
    });
    // Links in a circle lead nowhere. What else ends a walk ends it where nobody has looked.
    is_astray || walk.is_err_and(|trouble| trouble != Trouble::LinkLoop)
}

impl Interpreter<'_, '_> {
    /// Doubts the call where a path that it uses leads through something that it exchanges.
    pub(super) fn tell_changed(&mut self) {
        if let Some(place) = self.changed.believed.take() {
            self.unknown(Gap::Doubt(Doubt::Changed), &place);
            return;
        }
        let links = self.state.disk.link_names();
        if self.changed.is_empty() && links.is_empty() {
            return;
        }
        let mut places: BTreeSet<&str> = BTreeSet::new();
        for effect in self.report.effects() {
            if let Effect::Use(access, Target { path: PathArg::Text(text), .. }) = effect
                && *access != Access::Link
            {
                places.insert(text);
            }
        }
        let resolver = Resolver::new(self.scene.world, None, None);
        let is_astray = |place: &&str| is_led_astray(&resolver, &self.changed, &links, place);
        let is_cut = self.changed.is_cut || places.len() > MAX_WALKED;
        let found = places.into_iter().take(MAX_WALKED).find(is_astray);
        if let Some(place) = found.map(str::to_owned) {
            self.unknown(Gap::Doubt(Doubt::Changed), &place);
        } else if is_cut {
            self.unknown(Gap::Doubt(Doubt::Changed), "more places than are looked at one by one");
        }
    }

    /// git takes away what it tracks, or puts what the index has in its place. What a commit brings is doubted anyway.
    pub(super) fn git_exchanges(&mut self, sub: &str, operands: &[Text]) {
        match sub {
            "checkout" | "checkout-index" | "mv" | "restore" | "rm" => {
                for operand in operands {
                    for (place, _) in self.places(operand).into_iter().flatten() {
                        self.changed.take_away(&place);
                    }
                }
            }
            "clean" => {
                let top = self.git_top();
                self.changed.take_away(top.as_deref().unwrap_or("/"));
            }
            _ => {}
        }
    }

    /// The text that lies there on the disk is taken for what a program will find. The call is doubted where it has written
    /// that file by another name, or has exchanged something on the way.
    pub(super) fn believe_disk(&self, place: &str) {
        if self.is_stale(place) {
            self.changed.believed.replace(Some(place.to_owned()));
        }
    }

    fn is_stale(&self, place: &str) -> bool {
        let files = self.state.disk.files();
        if files.is_empty() && self.changed.is_empty() && !self.state.disk.has_links() {
            return false;
        }
        let resolver = Resolver::new(self.scene.world, None, None);
        let Ok(found) = resolver.walk(PathBuf::from(place)) else { return true };
        let links = self.state.disk.link_names();
        let is_exchanged = |path: &Path| Changed::has(&self.changed.gone, path) || Changed::has(&links, path);
        let is_it = |path: &str| {
            path == place
                || resolver.walk(PathBuf::from(path)).is_ok_and(|other| other.physical == found.physical)
        };
        // A file that has several names may be written by any of them.
        let has_names = found.node.as_ref().is_some_and(|node| node.kind == NodeKind::File && node.names > 1);
        (has_names && !files.is_empty())
            || is_exchanged(Path::new(place))
            || is_exchanged(&found.physical)
            || files.iter().any(|(path, _)| is_it(path))
    }
}
