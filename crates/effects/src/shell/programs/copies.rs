//! Links, copies and backups: what later parts of the command rely on.

use std::path::Path;
use std::rc::Rc;

use toolgate_model::{Access, Doubt, Gap, Reach, clean};

use super::has;
use crate::shell::Interpreter;
use crate::shell::apply::slot_text;
use crate::shell::bounds::Limit;
use crate::shell::disk::rebased;
use crate::shell::places::Located;
use crate::shell::text::{Flow, INNER, Text, is_mark};
use crate::shell::walk::Outcome;
use crate::spec::{Reading, Slot, WordKind, is_remote};

impl Interpreter<'_, '_> {
    pub(super) fn copy(&mut self, program: &str, reading: &Reading, words: &[Text]) -> Outcome {
        let arguments = words.get(1..).unwrap_or_default();
        let contents: Vec<Flow> = reading
            .operands
            .iter()
            .filter_map(|at| arguments.get(*at))
            .map(|source| self.content(source))
            .collect();
        let outcome = self.apply(program, reading, words);
        self.copied(program, reading, arguments, &contents);
        outcome
    }

    /// Links that `ln` makes.
    pub(super) fn linked(&mut self, reading: &Reading, arguments: &[Text]) {
        let operands: Vec<Text> =
            reading.operands.iter().filter_map(|at| arguments.get(*at)).cloned().collect();
        let symbolic = has(reading, &["-s", "--symbolic"]);
        let into = reading.options.iter().find(|given| matches!(given.name, "-t" | "--target-directory"));
        let (targets, destination): (&[Text], Option<Text>) =
            match (into.and_then(|given| given.value), operands.as_slice()) {
                (Some(slot), targets) => (targets, Some(slot_text(arguments, &slot))),
                (None, [only]) => (std::slice::from_ref(only), Some(Text::known("."))),
                (None, [targets @ .., last]) => (targets, Some(last.clone())),
                (None, []) => return,
            };
        let ends_in_slash = destination.as_ref().is_some_and(|path| path.raw().ends_with('/'));
        let Some(destination) = destination.and_then(|path| self.one_place(&path)) else {
            self.unknown(Gap::Doubt(Doubt::Members), "ln");
            return;
        };
        let is_directory = into.is_some()
            || operands.len() != 2
            || ((ends_in_slash || self.may_be_directory(&destination))
                && !has(reading, &["-T", "-n", "--no-target-directory"]));
        for target in targets {
            // A hard link is the file itself under another name: writing one writes the other.
            if !symbolic {
                self.touch(Access::Write, Reach::Exact, target);
            }
            let Some(whole) = target.whole() else {
                self.unknown(Gap::Path(Access::Link), &target.shown());
                continue;
            };
            let name = if is_directory {
                format!("{destination}/{}", toolgate_model::base_name(whole.trim_end_matches('/')))
            } else {
                destination.clone()
            };
            let base = name.rsplit_once('/').map_or("", |(above, _)| above);
            let leads = if whole.starts_with('/') {
                whole.to_owned()
            } else if symbolic && !has(reading, &["-r", "--relative"]) {
                format!("{base}/{whole}")
            } else {
                self.one_place(target).unwrap_or_else(|| whole.to_owned())
            };
            self.touch(Access::Link, Reach::Exact, &Text::known(&leads));
            self.touch_place(Access::Write, Reach::Met, name.clone());
            let leads = toolgate_model::clean(std::path::Path::new(&leads)).to_string_lossy().into_owned();
            if !self.state.disk.takes_link() {
                self.too_much(Limit::Links);
                return;
            }
            // What lies there has another name from now on.
            if symbolic && self.may_be_directory(&leads) {
                self.brought_tree("ln", &leads, &name);
            }
            self.state.disk.link(&name, &leads);
            // The same link under another name leads from there, if it is written as a path from where it lay.
            if let Some(inner) = self.link_target(&leads).filter(|_| !symbolic) {
                let rebased = rebased(&leads, &inner, &name);
                self.touch_place(Access::Link, Reach::Met, rebased.clone());
                self.state.disk.link(&name, &rebased);
            }
        }
    }

    /// What `cp` and `mv` bring along: the file in the directory, its content, and links.
    fn copied(&mut self, program: &str, reading: &Reading, arguments: &[Text], contents: &[Flow]) {
        let operands: Vec<Text> =
            reading.operands.iter().filter_map(|at| arguments.get(*at)).cloned().collect();
        let into = reading
            .options
            .iter()
            .find(|given| matches!(given.name, "-t" | "--target-directory"))
            .and_then(|given| given.value);
        let (sources, destination) = match (into, operands.as_slice()) {
            (Some(slot), sources) => (sources, slot_text(arguments, &slot)),
            (None, [sources @ .., destination]) => (sources, destination.clone()),
            (None, []) => return,
        };
        let place = self.one_place(&destination);
        let is_directory = into.is_some()
            || sources.len() > 1
            || (!has(reading, &["-T", "--no-target-directory"])
                && (destination.raw().ends_with('/')
                    || place.as_deref().is_none_or(|place| self.may_be_directory(place))));
        for (at, source) in sources.iter().enumerate() {
            // `cp --parents a/../../b d` makes `d/a/../../b`.
            if has(reading, &["--parents", "--path"]) {
                let path = format!("{}/{}", destination.raw(), source.raw().trim_start_matches('/'));
                self.touch(Access::Write, Reach::Below, &Text::marked(path));
            }
            if is_directory {
                for name in self.names_of(source) {
                    let path = Text::marked(format!("{}/{name}", destination.raw()));
                    self.touch(Access::Write, Reach::Exact, &path);
                }
            }
            let Some(destination) = &place else { continue };
            for located in self.located(source) {
                let from = match located {
                    Located::Exact(from) => from,
                    Located::Child { among: None, .. } | Located::Below { among: None, .. } => continue,
                    // Whatever is there comes along under its own name.
                    Located::Child { .. } | Located::Below { .. } | Located::Unknown if is_directory => {
                        self.unknown(Gap::Doubt(Doubt::Members), program);
                        continue;
                    }
                    Located::Child { .. } | Located::Below { .. } | Located::Unknown => continue,
                };
                let name = if is_directory {
                    format!("{destination}/{}", toolgate_model::base_name(from.trim_end_matches('/')))
                } else {
                    destination.clone()
                };
                let cleaned = |path: &str| clean(Path::new(path)).to_string_lossy().into_owned();
                let (from, name) = (cleaned(&from), cleaned(&name));
                let content = if source.is_known() { contents.get(at).cloned() } else { None };
                self.copied_one(program, reading, &from, &name, content.unwrap_or(Flow::Any));
            }
        }
    }

    /// One file or directory comes to its new name.
    pub(in crate::shell) fn copied_one(
        &mut self,
        program: &str,
        reading: &Reading,
        from: &str,
        name: &str,
        content: Flow,
    ) {
        let moves = matches!(program, "mv" | "gmv");
        if self.may_be_directory(from) {
            // All that is known below the old name is now below the new one, or may be.
            self.doubts.lose_file();
            if moves {
                self.changed.rename(from, name);
            }
            let inside = |cwd: &Rc<str>| toolgate_model::below(from.as_bytes(), cwd.as_bytes()).is_some();
            if self.state.cwd.iter().any(inside) {
                self.state.cwd.clear();
            }
            if moves || has(reading, &["-r", "-a", "--recursive", "--archive"]) {
                self.brought_tree(program, from, name);
            }
            self.state.disk.rename(from, name);
        }
        self.state.write(name, content);
        self.carry_link(reading, from, name);
    }

    /// A link that comes to another name keeps its text, and a relative one leads elsewhere there.
    fn carry_link(&mut self, reading: &Reading, from: &str, name: &str) {
        let Some(leads) = self.link_target(from) else { return };
        self.state.disk.link(name, &leads);
        let rebased = rebased(from, &leads, name);
        if *rebased != *leads && !has(reading, &["-L", "--dereference"]) {
            self.touch_place(Access::Link, Reach::Met, rebased.clone());
            self.state.disk.link(name, &rebased);
        }
    }

    /// `rsync`: what lies in a directory whose name ends in a slash comes without its name.
    pub(super) fn synced(&mut self, reading: &Reading, words: &[Text]) -> Outcome {
        let arguments = words.get(1..).unwrap_or_default();
        let outcome = self.apply("rsync", reading, words);
        let operands: Vec<&Text> = reading.operands.iter().filter_map(|at| arguments.get(*at)).collect();
        let [sources @ .., destination] = operands.as_slice() else { return outcome };
        let is_remote = |path: &Text| path.raw().split('/').next().is_some_and(|host| host.contains(':'));
        if has(reading, &["-n", "--list-only"]) || is_remote(destination) || sources.is_empty() {
            return outcome;
        }
        let into = self.one_place(destination);
        for source in sources {
            let from = self.one_place(source).filter(|_| !is_remote(source));
            let (Some(into), Some(from)) = (&into, from) else {
                self.unknown(Gap::Doubt(Doubt::Members), "rsync");
                continue;
            };
            let name = if source.raw().ends_with('/') || matches!(source.raw(), "." | "..") {
                into.clone()
            } else {
                format!("{}/{}", into.trim_end_matches('/'), toolgate_model::base_name(&from))
            };
            self.touch_place(Access::Write, Reach::Met, name.clone());
            // A directory takes the place of a link that lies there.
            self.changed.take_away(&name);
            self.doubts.change_files();
            self.brought_tree("rsync", &from, &name);
            if name != *into && self.link_target(&from).is_some() {
                self.carry_link(reading, &from, &name);
            } else {
                self.state.disk.rename(&from, &name);
            }
        }
        outcome
    }

    /// What comes from another machine or a container keeps its name in a directory of this one: `scp h:settings.json .claude`.
    pub(in crate::shell) fn received(&mut self, program: &str, reading: &Reading, arguments: &[Text]) {
        let operands: Vec<&Text> = reading.operands.iter().filter_map(|at| arguments.get(*at)).collect();
        let [sources @ .., destination] = operands.as_slice() else { return };
        let last = reading.operands.last().copied();
        let fills = |(kind, slot): &(WordKind, Slot)| *kind == WordKind::WriteTree && Some(slot.word) == last;
        if program == "rsync" || is_remote(destination.raw()) || !reading.uses.iter().any(fills) {
            return;
        }
        let place = self.one_place(destination);
        let is_directory = sources.len() > 1
            || destination.raw().ends_with('/')
            || place.is_none_or(|place| self.may_be_directory(&place));
        for source in sources.iter().filter(|_| is_directory) {
            // What stands there is a pattern, or a directory without its name.
            match source.raw().rsplit(['/', ':']).next() {
                Some(name) if is_plain_name(name) => {
                    let path = Text::marked(format!("{}/{name}", destination.raw()));
                    self.touch(Access::Write, Reach::Below, &path);
                }
                _ => self.unknown(Gap::Doubt(Doubt::Members), program),
            }
        }
    }

    /// The last names of a path, pattern by pattern as they are on the disk.
    fn names_of(&self, path: &Text) -> Vec<String> {
        let last = |path: &str| match path.trim_end_matches('/').rsplit('/').next() {
            Some(name) if !name.is_empty() && !matches!(name, "." | "..") && !name.contains(is_mark) => {
                name.to_owned()
            }
            _ => INNER.to_string(),
        };
        if path.is_known() {
            return vec![last(path.raw())];
        }
        let name = |place: &Option<(String, Reach)>| match place {
            Some((place, Reach::Exact)) => last(place),
            _ => INNER.to_string(),
        };
        self.places(path).iter().map(name).collect()
    }

    /// `sed -i.bak` leaves the old file beside the new one, or where the suffix says.
    pub(super) fn backed_up(&mut self, reading: &Reading, arguments: &[Text]) {
        let given = reading.options.iter().filter(|given| matches!(given.name, "-i" | "--in-place"));
        // The last one counts, and the first could be taken for it.
        for slot in given.filter_map(|given| given.value) {
            self.backed_up_as(&slot_text(arguments, &slot), reading, arguments);
        }
    }

    fn backed_up_as(&mut self, suffix: &Text, reading: &Reading, arguments: &[Text]) {
        self.doubts.change_files();
        for (kind, slot) in reading
            .uses
            .iter()
            .filter(|(kind, _)| matches!(kind, WordKind::Read | WordKind::Append | WordKind::Write))
        {
            let _ = kind;
            let file = slot_text(arguments, slot);
            let above = file.raw().rsplit_once('/').map_or(".", |(above, _)| above);
            for name in self.names_of(&file) {
                let backup = match (suffix.raw().contains('*'), suffix.raw().contains('/')) {
                    (false, _) => format!("{above}/{name}{}", suffix.raw()),
                    (true, true) => suffix.raw().replace('*', &name),
                    (true, false) => format!("{above}/{}", suffix.raw().replace('*', &name)),
                };
                self.touch(Access::Write, Reach::Exact, &Text::marked(backup));
            }
        }
    }

    /// Where a link leads that is on the disk or that the command has made.
    fn link_target(&self, place: &str) -> Option<Rc<str>> {
        if let Some(leads) = self.state.disk.link_target(place) {
            return Some(leads.clone());
        }
        match self.scene.world.look(std::path::Path::new(place)).ok()?.kind {
            toolgate_model::NodeKind::Link(target) => {
                let above = std::path::Path::new(place).parent()?;
                Some(Rc::from(toolgate_model::clean(&above.join(target)).to_str()?))
            }
            _ => None,
        }
    }

    /// A directory on the disk, one that the command has made, or a link that may lead to one.
    pub(in crate::shell) fn may_be_directory(&self, place: &str) -> bool {
        self.is_directory(place)
            || self.state.disk.has_made(Path::new(place))
            || self.state.written(place) == Some(&Flow::Nothing)
            || self.state.disk.link_target(place).is_some()
            || self.state.disk.has_below(place)
    }
}

/// Whether a name stands for itself on another machine too.
fn is_plain_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..")
        && !name.contains(is_mark)
        && !name.contains(['*', '?', '[', '{', '$', '`', '\\', '~', '"', '\''])
}
