//! Trees that are brought in: patches, archives, copies.
//!
//! Against whom: whoever puts a file that decides over the gate, or a link that leads out, among many others. Names and links
//! are looked at where that can be done, and count as written each; where it cannot, the command is doubted, and contained:
//! in a sandbox such names are pinned.

use std::path::Path;

use toolgate_model::{Access, Doubt, EntryKind, Gap, NodeKind, Reach, base_name, clean};

use super::Interpreter;
use super::apply::slot_text;
use super::text::{Flow, Text};
use crate::archive::{Format, Member, members};
use crate::spec::{Fixed, Reading, WordKind};

/// So much of an archive or a patch is read.
const MAX_ARCHIVE: usize = 256 * 1024;
/// Members that are told one by one.
pub(super) const MAX_MEMBERS: usize = 256;

/// Options of `tar` with which members go where their names say.
const TAR_PLAIN: &[&str] = &[
    "-x",
    "-f",
    "-v",
    "-C",
    "-k",
    "-m",
    "-p",
    "-o",
    "--overwrite",
    "--exclude",
    "--no-same-owner",
    "--no-same-permissions",
    "--skip-old-files",
    "--wildcards",
];
/// The same for `unzip`.
const UNZIP_PLAIN: &[&str] = &["-o", "-n", "-q", "-qq", "-u", "-f", "-d", "-x"];
/// Options with which an archive is looked at, or printed, and nothing is unpacked.
const SHOWS: &[&str] = &["-l", "-p", "-t", "-v", "-z", "-Z", "-c", "-O", "--to-command", "--help"];
/// Other programs that unpack: nobody reads their archives here.
const UNPACKERS: &[&str] = &[
    "7z",
    "7za",
    "7zr",
    "7zz",
    "p7zip",
    "jar",
    "rar",
    "unrar",
    "unar",
    "ar",
    "cpio",
    "bsdcpio",
    "pax",
    "ditto",
    "dpkg",
    "aunpack",
    "dtrx",
    "cabextract",
    "unsquashfs",
    "rpm2archive",
    "lha",
    "arj",
    "unarj",
    "xar",
    "zipinfo",
    "bsdunzip",
];

impl Interpreter<'_, '_> {
    /// What a program brings in besides what its words say.
    pub(super) fn brought_in(&mut self, program: &str, reading: &Reading, arguments: &[Text]) {
        let has = |names: &[&str]| reading.options.iter().any(|given| names.contains(&given.name));
        match program {
            // The name that an archive has is whatever somebody has put there.
            "gzip" | "ggzip" | "gunzip" | "ggunzip" | "pigz" | "unpigz"
                if has(&["-N"]) && (program.contains("un") || has(&["-d"])) =>
            {
                self.unknown(Gap::Doubt(Doubt::Members), program);
            }
            // All that lies below loses its ending.
            "gzip" | "ggzip" | "gunzip" | "ggunzip" | "pigz" | "unpigz" | "zstd" | "unzstd" | "lz4"
            | "unlz4"
                if has(&["-r", "--recursive"]) =>
            {
                self.unknown(Gap::Doubt(Doubt::Members), program);
            }
            "patch" | "gpatch" if has(&["-B", "-Y"]) => {
                self.backed_up_before(reading, arguments);
                self.applied(reading, arguments);
            }
            // A file that is named is the only one.
            "patch" | "gpatch" if reading.operands.is_empty() && !has(&["--dry-run", "-o"]) => {
                self.applied(reading, arguments);
            }
            "git" if reading.sub.first() == Some(&"apply") => {
                let shows = has(&["--check", "--stat", "--numstat", "--summary"]) && !has(&["--apply"]);
                if !shows {
                    self.applied(reading, arguments);
                }
            }
            "git" if reading.sub.first() == Some(&"am") => self.applied(reading, arguments),
            // It unpacks whatever kind it takes an archive for.
            "bsdtar" if has(&["-x"]) && !has(&["-O"]) => self.unknown(Gap::Doubt(Doubt::Members), program),
            "tar" | "gtar" if has(&["-x"]) && !has(&["-O", "--to-command"]) => {
                let archive = value(reading, arguments, "-f");
                // What stands before a colon is a machine.
                let is_file = archive.as_ref().is_none_or(|archive| !archive.raw().contains(':'));
                let is_plain = is_file && reading.unlisted.is_empty() && all_in(reading, TAR_PLAIN);
                self.unpacked(program, Format::Tar, archive.as_ref(), None, is_plain);
            }
            "unzip" if !has(SHOWS) => {
                let archive =
                    reading.operands.first().and_then(|at| arguments.get(*at)).cloned().unwrap_or_default();
                // It looks for files whose names fit by itself.
                let is_file = !archive.raw().contains(['*', '?', '[']);
                let is_plain = is_file && reading.unlisted.is_empty() && all_in(reading, UNZIP_PLAIN);
                let into = value(reading, arguments, "-d");
                self.unpacked(program, Format::Zip, Some(&archive), into.as_ref(), is_plain);
            }
            // A name without an ending gets one.
            "zip" => {
                let archive = reading.operands.first().and_then(|at| arguments.get(*at));
                if let Some(archive) = archive.filter(|archive| !base_name(archive.raw()).contains('.')) {
                    let archive = Text::marked(format!("{}.zip", archive.raw()));
                    self.touch(Access::Write, Reach::Exact, &archive);
                    self.wrote(program, &archive);
                }
            }
            "rsync" => self.beside_destination(reading, arguments),
            "wget" | "wget2" | "curl" | "gh" if fills_tree(reading) => {
                self.unknown(Gap::Doubt(Doubt::Members), program);
                self.fetched(reading, arguments);
            }
            _ if UNPACKERS.contains(&program) && fills_tree(reading) => {
                self.unknown(Gap::Doubt(Doubt::Members), program);
            }
            _ => {}
        }
    }

    /// `rsync --backup-dir=../old a/ b/`: directories as they are seen from the destination.
    fn beside_destination(&mut self, reading: &Reading, arguments: &[Text]) {
        const BESIDE: [(&str, Access); 6] = [
            ("-T", Access::Write),
            ("--partial-dir", Access::Write),
            ("--backup-dir", Access::Write),
            ("--compare-dest", Access::Search),
            ("--copy-dest", Access::Search),
            ("--link-dest", Access::Search),
        ];
        let given: Vec<(Access, Text)> = reading
            .options
            .iter()
            .filter_map(|given| {
                let (_, access) = BESIDE.iter().find(|(name, _)| *name == given.name)?;
                Some((*access, slot_text(arguments, &given.value?)))
            })
            .collect();
        let Some(into) = reading.operands.last().and_then(|at| arguments.get(*at)) else { return };
        // Another machine's directories are no matter of ours; whether the last operand is one is said elsewhere.
        if given.is_empty() || into.raw().contains(':') {
            return;
        }
        for (access, directory) in given {
            let is_absolute = directory.raw().starts_with('/');
            let seen = if is_absolute {
                directory.raw().to_owned()
            } else {
                format!("{}/{}", into.raw(), directory.raw())
            };
            self.touch(access, Reach::Below, &Text::marked(seen));
            // A destination that is one file counts by the directory that it lies in.
            let is_directory = into.raw().ends_with('/')
                || self.one_place(into).is_some_and(|into| self.is_directory(&into));
            if !is_absolute && !is_directory {
                self.unknown(Gap::Doubt(Doubt::Members), "rsync");
            }
        }
    }

    /// Files that are called like the last name of their address, as far as the words say.
    fn fetched(&mut self, reading: &Reading, arguments: &[Text]) {
        let of = |wanted: WordKind| {
            let uses = reading.uses.iter().filter(move |(kind, _)| *kind == wanted);
            uses.map(|(_, slot)| slot_text(arguments, slot)).collect::<Vec<Text>>()
        };
        let into = of(WordKind::WriteTree).pop().unwrap_or(Text::known("."));
        for address in of(WordKind::Host) {
            let path = address.raw().split(['?', '#']).next().unwrap_or_default();
            let name = path.rsplit(['/', ':']).next().unwrap_or_default();
            if !name.is_empty() {
                self.touch(Access::Write, Reach::Exact, &Text::marked(format!("{}/{name}", into.raw())));
            }
        }
    }

    /// `patch -B`, `patch -Y`: backups whose names begin so, before the path or before the name.
    fn backed_up_before(&mut self, reading: &Reading, arguments: &[Text]) {
        self.unknown(Gap::Doubt(Doubt::Members), "patch");
        if let Some(file) = reading.operands.first().and_then(|at| arguments.get(*at)) {
            let (above, name) = file.raw().rsplit_once('/').unwrap_or((".", file.raw()));
            for (option, before) in [("-B", ""), ("-Y", above)] {
                let Some(prefix) = value(reading, arguments, option) else { continue };
                let path = match before {
                    "" => format!("{}{}", prefix.raw(), file.raw()),
                    above => format!("{above}/{}{name}", prefix.raw()),
                };
                self.touch(Access::Write, Reach::Exact, &Text::marked(path));
            }
        }
    }

    /// An archive is unpacked here, or into a directory.
    fn unpacked(
        &mut self,
        program: &str,
        format: Format,
        archive: Option<&Text>,
        into: Option<&Text>,
        is_plain: bool,
    ) {
        let found = self.bytes(archive).and_then(|bytes| members(format, &bytes)).filter(|_| is_plain);
        let Some(found) = found.filter(|found| found.len() <= MAX_MEMBERS) else {
            self.unknown(Gap::Doubt(Doubt::Members), program);
            return;
        };
        let place = |shell: &Self, name: &str| {
            let name = name.trim_start_matches('/');
            match into {
                Some(into) => shell.one_place(&Text::marked(format!("{}/{name}", into.raw()))),
                None => shell.one_place(&Text::known(name)),
            }
        };
        for member in found {
            let (Member::File(name) | Member::Link(name, _) | Member::Alias(name, _)) = &member;
            let Some(at) = place(self, name) else {
                self.unknown(Gap::Doubt(Doubt::Members), program);
                return;
            };
            self.touch_place(Access::Write, Reach::Met, at.clone());
            // A directory takes the place of a link that lies there.
            let first = name.trim_start_matches('/').split('/').find(|name| !matches!(*name, "" | "."));
            if let Some(top) = first.and_then(|first| place(self, first)) {
                self.changed.take_away(&top);
            }
            match &member {
                Member::File(_) => self.state.write(&at, Flow::Any),
                Member::Link(_, leads) => self.brought_link(&at, leads),
                Member::Alias(_, of) => {
                    if let Some(of) = place(self, of) {
                        self.touch_place(Access::Write, Reach::Met, of);
                    }
                }
            }
        }
    }

    /// A link that comes along, from where it will lie.
    pub(super) fn brought_link(&mut self, at: &str, leads: &str) {
        let above = Path::new(at).parent().unwrap_or(Path::new("/"));
        let leads = clean(&above.join(leads)).to_string_lossy().into_owned();
        self.touch_place(Access::Link, Reach::Met, leads.clone());
        if self.state.disk.takes_link() {
            self.state.disk.link(at, &leads);
        } else {
            self.unknown(Gap::Doubt(Doubt::Members), at);
        }
    }

    /// What a file holds, or standard input where there is none; `None` where that is not known, or too long.
    pub(super) fn bytes(&self, file: Option<&Text>) -> Option<Vec<u8>> {
        let of_flow = |flow: &Flow| flow.whole().map(|text| text.as_bytes().to_vec());
        let Some(file) = file.filter(|file| !matches!(file.raw(), "-" | "/dev/stdin")) else {
            return of_flow(self.streams.stdin());
        };
        let place = self.one_place(file)?;
        if let Some(flow) = self.state.written(&place) {
            return of_flow(flow);
        }
        if !self.doubts.believes_file(&place) {
            return None;
        }
        let bytes = self.scene.world.read(Path::new(&place), MAX_ARCHIVE).ok()?;
        self.believe_disk(&place);
        (bytes.len() < MAX_ARCHIVE).then_some(bytes)
    }

    /// A tree that is copied or moved to a new name: each file counts as written there, and a link as leading from there.
    pub(super) fn brought_tree(&mut self, program: &str, source: &str, destination: &str) {
        let Some(tree) = self.tree(source, MAX_MEMBERS) else {
            self.unknown(Gap::Doubt(Doubt::Members), program);
            return;
        };
        let made = self.state.disk.names_below(source);
        let made = made.into_iter().map(|rest| (rest, EntryKind::File));
        for (rest, kind) in tree.into_iter().chain(made) {
            let at = format!("{destination}/{rest}");
            // A repository that comes along whole is its own; one that is there already is not.
            let of_git = rest.split('/').position(|name| name == ".git");
            if let Some(depth) = of_git {
                let own: Vec<&str> = rest.split('/').take(depth + 1).collect();
                let there = Path::new(destination).join(own.join("/"));
                if self.scene.world.look(&there).is_err() {
                    continue;
                }
            }
            self.touch_place(Access::Write, Reach::Met, at.clone());
            if kind == EntryKind::Link
                && let Ok(NodeKind::Link(leads)) =
                    self.scene.world.look(&Path::new(source).join(&rest)).map(|node| node.kind)
            {
                let from = |at: &str| {
                    clean(&Path::new(at).parent().unwrap_or(Path::new("/")).join(&leads))
                        .to_string_lossy()
                        .into_owned()
                };
                let (old, new) = (from(&format!("{source}/{rest}")), from(&at));
                match leads.to_str() {
                    // It leads where it led before.
                    Some(_) if old == new && self.state.disk.takes_link() => self.state.disk.link(&at, &new),
                    Some(leads) => self.brought_link(&at, leads),
                    None => self.unknown(Gap::Doubt(Doubt::Members), program),
                }
            }
        }
    }
}

/// Whether it puts files into a directory of the project under names of their own.
fn fills_tree(reading: &Reading) -> bool {
    let is_ours = |path: &str| !path.starts_with(['~', '/']);
    reading.uses.iter().any(|(kind, _)| *kind == WordKind::WriteTree)
        || reading
            .effects
            .iter()
            .any(|fixed| matches!(fixed, Fixed::Use(WordKind::WriteTree, path) if is_ours(path)))
}

fn all_in(reading: &Reading, plain: &[&str]) -> bool {
    reading.options.iter().all(|given| plain.contains(&given.name))
}

pub(super) fn value(reading: &Reading, arguments: &[Text], name: &str) -> Option<Text> {
    let given = reading.options.iter().rev().find(|given| given.name == name);
    given.and_then(|given| given.value).map(|slot| slot_text(arguments, &slot))
}
