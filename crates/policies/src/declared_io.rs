//! Denies reading and writing what was not declared beforehand: files that are neither inputs nor outputs, and the network.
//!
//! Why: if an agent's inputs and outputs are fixed before it begins, its work can be repeated, checked and run beside
//! others. After one undeclared read, the result depends on something that nobody knows of.
//!
//! Settings: `enabled` (off by default). `inputs` = what is read, `outputs` = what is written: paths below the session's
//! root, `a/b.txt` for one file, `a/` for everything below a directory, `src/**/*.rs` for a glob. `temp` = whether
//! everything below `temp/` may be written too. `network` = whether commands may reach other machines (`false`).
//! `interpreters` = whether code of large languages (`python3 -c`, `node -e`, `perl -ne`) may run if a scan of it finds
//! nothing undeclared (`false`: a scan can be misled, so no such code runs).
//! A path is declared when both of its names are: as it is written, and where links lead. What reaches below a directory
//! (a search, `cp -r`, the deletion of a directory, names that are only known when they run) needs an entry that covers
//! all of it. A link may be made to an output alone; where its own name is an input too, to what is both. Changing a file
//! is writing: an edit, `sed -i` or `mv` of an output needs no input, while showing an output does. The directories that
//! lead to an output may be made. What lies outside of the root cannot be declared. Names are open below the root: `cd`,
//! `ls`, `find`, `stat`, a glob tool, `git status`, `ls-files` and `rev-parse`. The standard streams, `/dev/null` and its
//! like are no files.
//!
//! Sees through: the shell, redirections, links, `..`, absolute paths, globs, `xargs`, scripts, a patch's files.
//! Programs that follow the links they meet (`grep -R`, `cp -rL`, `find -L`, `zip -r`) are denied, as is unpacking an
//! archive that the agent may have written, and using what another one holds in the same command: it may be a link.
//! Does not see: links, hard or symbolic, that a person or an archive of theirs has put below a declared directory, if
//! the command reaches them by names that are known only at run time, or below a copy that the same command has made. What git keeps in
//! its own directory about declared files. Whether a file exists, which `test -e` tells. Files that a `yq` program
//! loads by a name that it computes. The sibling of a directory that `find` prints and `dirname` cuts. What an undescribed program does:
//! `unproved-effect` is about that, and the profile `declared-io` sets it to `deny`.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_declaration::{CleanPath, Dots, Pattern, TEMP};
use toolgate_model::{
    Access, Decision, Facts, Finding, FindingKind, NodeKind, Places, Policy, Reach, Resolved, Run, Use,
    below, shorten, work,
};

/// What it costs to compare two origins or paths, and to try an entry besides its letters, in units of the budget.
const COMPARED: usize = 16;
const TRIED: usize = 32;
/// More entries than this do not fit into a message.
const SHOWN: usize = 32;

/// `[policy.declared-io]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "four independent switches of one policy")]
pub(crate) struct DeclaredIo {
    /// Whether it is on.
    enabled: bool,
    /// What may be read: `a/b.txt`, `a/`, `src/**/*.rs`, below the session's root.
    inputs: Vec<Pattern>,
    /// What may be written.
    outputs: Vec<Pattern>,
    /// Whether everything below `temp/` may be written too.
    temp: bool,
    /// Whether commands may reach other machines.
    network: bool,
    /// Whether code of large languages may run if a scan of it finds nothing undeclared.
    interpreters: bool,
}

impl Policy for DeclaredIo {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        if !self.enabled {
            return;
        }
        findings.extend(facts.uses.iter().filter_map(|used| self.objection(used, facts)));
        findings.extend(facts.runs.iter().filter_map(|run| followed_links(run, facts)));
        findings.extend(facts.runs.iter().filter_map(|run| self.unpacking(run, facts)));
        if !self.interpreters {
            findings.extend(facts.runs.iter().filter_map(|run| interpreted(run, facts)));
        }
        if facts.connects && !self.network {
            findings.push(
                Finding::new("declared-io", Decision::Deny, FindingKind::UndeclaredConnection)
                    .because(format!("{} talks to another machine, which is not declared", facts.tool))
                    .instead("work on declared files, or have a person set `network = true` in [policy.declared-io]"),
            );
        }
    }
}

/// Objects to code of a large language. It is looked at, and for a worktree that is enough: but `random._os`, or a module
/// that is handed on as a value, leads to any file, and a look does not follow it.
fn interpreted(run: &Run, facts: &Facts<'_>) -> Option<Finding> {
    const LANGUAGES: &[&str] = &[
        "bun", "deno", "guile", "julia", "lua", "luajit", "node", "nodejs", "perl", "php", "pypy", "python",
        "raku", "Rscript", "ruby", "tclsh", "ts-node", "tsx",
    ];
    const TELLING: &[&str] = &["--help", "--version", "-V", "-h", "-v"];
    let language = run.program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let tells = matches!(run.words.as_slice(), [_, word] if TELLING.contains(&word.as_str()));
    if !LANGUAGES.contains(&language) || tells {
        return None;
    }
    Some(
        Finding::new("declared-io", Decision::Deny, FindingKind::Unproved)
            .because(format!(
                "{} runs code in `{}`, and nothing proves that it keeps to what is declared",
                facts.tool,
                shorten(&run.program, 40)
            ))
            .instead(
                "use `sort`, `sed`, `awk`, `jq` and the like on declared files, or have a person set \
                 `interpreters = true` in [policy.declared-io]",
            ),
    )
}

/// What a declaration has to say to a use.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// That it lies in the workspace: only names are shown.
    Inside,
    Input,
    Output,
}

/// How much of a place a use is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// That one file.
    File,
    /// Everything below.
    Tree,
    /// The directory alone: it is made, or what is put into it is told by its own name.
    Directory,
}

impl DeclaredIo {
    /// Whether it is on.
    pub(crate) fn is_on(&self) -> bool {
        self.enabled
    }

    /// All that is declared.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &str> {
        let temporary = self.temp.then_some("temp/");
        self.inputs.iter().chain(&self.outputs).map(Pattern::as_str).chain(temporary)
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.inputs.len().max(self.outputs.len())
    }

    fn objection(&self, used: &Use<'_>, facts: &Facts<'_>) -> Option<Finding> {
        let Ok(place) = &used.place else { return Some(no_path(used, facts)) };
        let needs = match used.access {
            Access::Enter => return None,
            Access::List => Needs::Inside,
            Access::Read | Access::Search if shows_names(used, place, facts) => Needs::Inside,
            Access::Read | Access::Search if is_part_of_change(used, place, facts) => return None,
            Access::Read | Access::Search => Needs::Input,
            // Whoever writes to the link's name writes there, and nothing tells so where names are only known when they run.
            Access::Link => Needs::Output,
            Access::Append | Access::Write | Access::Delete => Needs::Output,
        };
        if is_no_file(place) {
            return None;
        }
        let extent = extent(used, place, facts);
        let refused = |needs: Needs| {
            let undeclared =
                place.paths().find(|path| !self.declares(path, needs, extent, used, facts.places))?;
            Some(self.finding(used, place, undeclared, needs, extent, facts))
        };
        refused(needs).or_else(|| refused(Needs::Input).filter(|_| self.is_linked_from_input(used, facts)))
    }

    /// Whether a link is made where things are read: through its name, so is what it leads to.
    fn is_linked_from_input(&self, used: &Use<'_>, facts: &Facts<'_>) -> bool {
        let is_input = |other: &Use<'_>| {
            other.place.as_ref().is_ok_and(|place| {
                self.declares(&place.lexical, Needs::Input, Extent::File, other, facts.places)
            })
        };
        used.access == Access::Link
            && facts
                .uses
                .iter()
                .any(|other| other.origin == used.origin && other.access.fills() && is_input(other))
    }

    /// What an archive puts there may be links to anywhere. One that the agent may have written itself is not unpacked, and
    /// what another one has made is not used before a call of its own, in which its links are seen.
    fn unpacking(&self, run: &Run, facts: &Facts<'_>) -> Option<Finding> {
        const UNPACKS: &[&str] =
            &["7z", "7za", "7zr", "7zz", "bsdtar", "ditto", "gtar", "jar", "p7zip", "tar", "unrar", "unzip"];
        if !UNPACKS.contains(&run.program.as_str()) {
            return None;
        }
        let placed = |used: &'_ Use<'_>| used.place.as_ref().ok().map(|place| place.lexical.clone());
        let own = || facts.uses.iter().filter(|used| used.origin == run.origin);
        let filled = |used: &&Use<'_>| used.access.fills() && used.reach == Reach::Below;
        let directories: Vec<_> = own().filter(filled).filter_map(placed).collect();
        if directories.is_empty() {
            return None;
        }
        let mut archives = own().filter(|used| used.access == Access::Read).peekable();
        let is_output = |used: &Use<'_>| {
            used.place.as_ref().is_ok_and(|place| {
                place.paths().any(|path| self.declares(path, Needs::Output, Extent::File, used, facts.places))
            })
        };
        if archives.peek().is_none() || archives.any(is_output) {
            return Some(unproved(
                &format!("{} unpacks what may hold links of the agent's own making", run.program),
                "unpack an archive that is a declared input and no output, by its name, or copy the files",
            ));
        }
        let uses = |used: &&Use<'_>| {
            used.origin != run.origin && !matches!(used.access, Access::Enter | Access::List)
        };
        let used = facts.uses.iter().filter(uses).find(|used| lies_in(used, &directories, facts))?;
        Some(unproved(
            &format!(
                "{} {} `{}`, which may be a link that {} has just made",
                facts.tool,
                used.access.verb(),
                shorten(&used.text, 80),
                run.program
            ),
            "do it in a call of its own, after the one that unpacks",
        ))
    }

    /// Whether one name of a place is declared for this.
    fn declares(&self, path: &Path, needs: Needs, extent: Extent, used: &Use<'_>, places: &Places) -> bool {
        let Some(path) = in_workspace(path, places) else { return false };
        let (path, extent) = match known_part(path).filter(|_| used.origin.is_some()) {
            Some(known) => (known, Extent::Tree),
            None => (path, extent),
        };
        let Ok(path) = CleanPath::of(path, Dots::Component) else { return false };
        let listed = |list: &[Pattern]| list.iter().any(|entry| covers(entry, &path, extent));
        let output = || listed(&self.outputs) || (self.temp && is_temporary(&path, extent));
        match needs {
            Needs::Inside => true,
            Needs::Input => listed(&self.inputs),
            Needs::Output => output(),
        }
    }

    fn finding(
        &self,
        used: &Use<'_>,
        place: &Resolved,
        undeclared: &Path,
        needs: Needs,
        extent: Extent,
        facts: &Facts<'_>,
    ) -> Finding {
        let (kind, list, key) = match needs {
            Needs::Output => (FindingKind::UndeclaredWrite, &self.outputs, "outputs"),
            Needs::Inside | Needs::Input => (FindingKind::UndeclaredRead, &self.inputs, "inputs"),
        };
        let named = place.lexical.to_string_lossy();
        let all = if extent == Extent::Tree { " and all below" } else { "" };
        let leads = if undeclared == place.lexical {
            String::new()
        } else {
            format!(" (it leads to `{}`)", shorten(&undeclared.to_string_lossy(), 80))
        };
        let (why, person) = if in_workspace(undeclared, facts.places).is_some() {
            (
                format!("which `{key}` do not declare"),
                format!("have a person add it to `{key}` of [policy.declared-io]"),
            )
        } else {
            (
                "which lies outside the workspace and cannot be declared".to_owned(),
                "have a person put it into the workspace".to_owned(),
            )
        };
        let mut entries: Vec<&str> = list.iter().map(Pattern::as_str).take(SHOWN).collect();
        if needs == Needs::Output && self.temp {
            entries.push("temp/");
        }
        let entries = entries.join(", ");
        let instead = match &facts.places.root {
            None => "have a person register the session's directory with --root".to_owned(),
            Some(_) if needs == Needs::Inside => "list what lies in the workspace".to_owned(),
            Some(_) if entries.is_empty() => format!("there are no {key} yet; {person}"),
            Some(_) => format!("use a declared one: {}, or {person}", shorten(&entries, 90)),
        };
        Finding::new("declared-io", Decision::Deny, kind)
            .because(format!(
                "{} {} `{}`{all}{leads}, {why}",
                facts.tool,
                used.access.verb(),
                shorten(&named, 80)
            ))
            .at(&used.param, named)
            .instead(instead)
            .detail(shorten(&entries, 200))
    }
}

/// A finding about places that only turn up when it runs.
fn unproved(reason: &str, instead: &str) -> Finding {
    Finding::new("declared-io", Decision::Deny, FindingKind::UndeclaredRead).because(reason).instead(instead)
}

/// Whether something in one of these directories is used. That the directory itself is made or taken away follows no link.
fn lies_in(used: &Use<'_>, directories: &[PathBuf], facts: &Facts<'_>) -> bool {
    let Ok(place) = &used.place else { return false };
    let path = place.lexical.as_os_str().as_encoded_bytes();
    let spares = used.access == Access::Delete || is_made_directory(used, place, facts);
    directories
        .iter()
        .filter_map(|directory| below(directory.as_os_str().as_encoded_bytes(), path))
        .any(|rest| !(spares && rest.is_empty()))
}

/// A program that follows the links it meets goes where nobody declared anything.
fn followed_links(run: &Run, facts: &Facts<'_>) -> Option<Finding> {
    let any = |options: &[&str]| options.iter().any(|option| run.has(option));
    let (option, instead) = match run.program.as_str() {
        "grep" | "egrep" | "fgrep" | "ggrep" | "gegrep" | "gfgrep" if run.has("-R") => ("-R", "grep -r"),
        "rg" if run.has("-L") => ("-L", "rg without it"),
        "ag" if run.has("-f") => ("-f", "ag without it"),
        "ack" | "ack-grep" if run.has("--follow") => ("--follow", "ack without it"),
        "fd" | "fdfind" if run.has("-L") => ("-L", "fd without it"),
        "find" | "gfind" if any(&["-L", "-follow"]) => ("-L", "find without it"),
        "rsync" if any(&["-L", "-k", "--copy-unsafe-links"]) => ("-L", "rsync -a"),
        "tar" | "gtar" | "bsdtar" if run.has("-h") => ("-h", "tar without it"),
        "cp" | "gcp" if run.has("-L") && any(&["-r", "-a"]) => ("-L", "cp -r"),
        "zip" if any(&["-r", "-R"]) && !run.has("-y") => ("-r", "zip -ry"),
        "diff" | "gdiff" | "colordiff" if run.has("-r") && !run.has("--no-dereference") => {
            ("-r", "diff -r --no-dereference")
        }
        _ => return None,
    };
    Some(unproved(
        &format!(
            "{}: {} {option} follows links to wherever they lead, which cannot be declared",
            facts.tool, run.program
        ),
        &format!("use `{instead}`"),
    ))
}

/// What no path can be made of cannot be declared either.
fn no_path(used: &Use<'_>, facts: &Facts<'_>) -> Finding {
    let text = used.text.escape_debug().to_string();
    Finding::new("declared-io", Decision::Deny, FindingKind::Traversal)
        .because(format!(
            "`{}` of {}, `{}`, is not a path that can be declared",
            used.param,
            facts.tool,
            shorten(&text, 100)
        ))
        .at(&used.param, text)
        .instead("give a plain path relative to the workspace")
}

/// The standard streams, and devices that keep nothing. Not all of `/dev`: files can be kept in `/dev/shm`.
fn is_no_file(place: &Resolved) -> bool {
    const DEVICES: &[&str] =
        &["full", "null", "random", "stderr", "stdin", "stdout", "tty", "urandom", "zero"];
    place.paths().all(|path| {
        let name = path.to_str().and_then(|path| path.strip_prefix("/dev/")).unwrap_or_default();
        DEVICES.contains(&name)
            || name.strip_prefix("fd/").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// The path below the session's root, which is where declared paths start; `None` for what lies elsewhere, and for names
/// that no declaration could hold.
fn in_workspace<'p>(path: &'p Path, places: &Places) -> Option<&'p str> {
    let root = places.root.as_ref()?;
    let path = path.as_os_str().as_encoded_bytes();
    let rest = [&root.lexical, &root.physical]
        .into_iter()
        .find_map(|root| below(root.as_os_str().as_encoded_bytes(), path))?;
    std::str::from_utf8(rest).ok()
}

/// The directory that a path of a shell command certainly lies in, where the rest is only known when it runs.
fn known_part(path: &str) -> Option<&str> {
    const UNKNOWN: char = '…';
    let (known, _) = path.split_once(UNKNOWN)?;
    Some(known.rsplit_once('/').map_or("", |(directory, _)| directory))
}

fn covers(entry: &Pattern, path: &CleanPath<'_>, extent: Extent) -> bool {
    work::pay(TRIED + path.as_str().len());
    if work::is_spent() {
        return false;
    }
    match extent {
        Extent::File => entry.covers(path),
        Extent::Tree => entry.covers_below(path),
        Extent::Directory => path.as_str().is_empty() || entry.covers(path) || leads_to(entry, path),
    }
}

/// Whether something that the entry covers may lie below the directory.
fn leads_to(entry: &Pattern, directory: &CleanPath<'_>) -> bool {
    // A directory whose name would read as a glob is not taken for one.
    let plain = !directory.as_str().contains(['*', '?']);
    plain && Pattern::parse(&format!("{directory}/")).is_ok_and(|below| below.overlaps(entry))
}

/// Whether it lies below the directory for temporary files. That directory itself may be made and emptied.
fn is_temporary(path: &CleanPath<'_>, extent: Extent) -> bool {
    match path.as_str().strip_prefix(TEMP) {
        Some("") => extent != Extent::File,
        Some(rest) => rest.starts_with('/'),
        None => false,
    }
}

fn extent(used: &Use<'_>, place: &Resolved, facts: &Facts<'_>) -> Extent {
    let is_directory = is_kind(place, &NodeKind::Directory);
    match (used.access, used.reach) {
        (Access::Write, _) if is_made_directory(used, place, facts) => Extent::Directory,
        (Access::Write, Reach::Exact) if is_directory && runs_of(used, facts).any(puts) => Extent::Directory,
        (Access::Write, Reach::Below) if puts_files(used, facts) => {
            if is_directory {
                Extent::Directory
            } else {
                Extent::File
            }
        }
        (Access::Write, Reach::Below) if place.node.is_none() => Extent::Tree,
        // Nothing lies below a file.
        _ if is_directory => Extent::Tree,
        _ => Extent::File,
    }
}

fn is_kind(place: &Resolved, kind: &NodeKind) -> bool {
    place.node.as_ref().is_some_and(|node| node.kind == *kind)
}

/// The programs that one part of a command starts, of which a use is an effect.
fn runs_of<'f>(used: &'f Use<'_>, facts: &'f Facts<'_>) -> impl Iterator<Item = &'f Run> {
    affordable(&facts.runs).filter(|run| run.origin.is_some() && run.origin == used.origin)
}

/// Whether a redirection names this place.
fn is_redirected(run: &Run, place: &Resolved) -> bool {
    place.lexical.to_str().is_some_and(|path| run.outputs.iter().any(|output| output == path))
}

fn is_made_directory(used: &Use<'_>, place: &Resolved, facts: &Facts<'_>) -> bool {
    let makes = |run: &Run| run.program == "mkdir" || (run.program == "install" && run.has("-d"));
    runs_of(used, facts).any(|run| makes(run) && !is_redirected(run, place))
}

/// All of them, if that can be paid: there are thousands, and each is compared with each.
fn affordable<T>(all: &[T]) -> std::slice::Iter<'_, T> {
    work::pay_for(all.len(), COMPARED);
    if work::is_spent() { [].iter() } else { all.iter() }
}

/// Other uses of the same place.
fn uses_of<'f>(place: &'f Resolved, facts: &'f Facts<'_>) -> impl Iterator<Item = &'f Use<'f>> {
    let is_it = |used: &&Use<'_>| used.place.as_ref().is_ok_and(|other| other.lexical == place.lexical);
    affordable(&facts.uses).filter(is_it)
}

/// Whether a file is read in order to be changed or moved: that is part of writing it. Only by programs that show nothing of
/// it, and not by a redirection: `ed x` and `tee -a x < x` show it.
fn is_part_of_change(used: &Use<'_>, place: &Resolved, facts: &Facts<'_>) -> bool {
    const IN_PLACE: &[&str] =
        &["bunzip2", "bzip2", "gunzip", "gzip", "mv", "patch", "sed", "sort", "unxz", "unzstd", "xz", "zstd"];
    let as_far = |other: &Use<'_>| other.reach == Reach::Below || used.reach == Reach::Exact;
    let changes = |run: &Run| IN_PLACE.contains(&run.program.as_str()) && !is_redirected(run, place);
    runs_of(used, facts).any(changes)
        && uses_of(place, facts).any(|other| other.writes() && other.origin == used.origin && as_far(other))
}

/// Whether a program copies or moves by names that are all told.
fn puts(run: &Run) -> bool {
    const PUTS: [&str; 3] = ["cp", "install", "mv"];
    PUTS.contains(&run.program.as_str()) && !run.has("--parents")
}

/// Whether nothing but single files is put there. A program that copies or moves is told to reach below, since it would put
/// directories as well.
fn puts_files(used: &Use<'_>, facts: &Facts<'_>) -> bool {
    let taken = |other: &&Use<'_>| other.origin == used.origin && !other.access.fills();
    let is_file = |other: &Use<'_>| {
        other
            .place
            .as_ref()
            .is_ok_and(|place| is_kind(place, &NodeKind::File) || is_made_file(other, place, facts))
    };
    let mut sources = affordable(&facts.uses).filter(taken).peekable();
    runs_of(used, facts).any(puts) && sources.peek().is_some() && sources.all(is_file)
}

/// Whether the same command has made a file there by a redirection, and nothing else in its place.
fn is_made_file(used: &Use<'_>, place: &Resolved, facts: &Facts<'_>) -> bool {
    let replaced = |other: &Use<'_>| {
        other.origin != used.origin
            && (other.access == Access::Delete || is_made_directory(other, place, facts))
    };
    facts.runs.iter().any(|run| is_redirected(run, place))
        && uses_of(place, facts).any(|other| other.access.fills())
        && !uses_of(place, facts).any(replaced)
}

/// Whether a use shows names and nothing of what is in the files: tools that go by names in every host, those that read a
/// file and list a directory, and what git says without looking into anything.
fn shows_names(used: &Use<'_>, place: &Resolved, facts: &Facts<'_>) -> bool {
    const SEARCHING: &[&str] = &["Glob", "LS", "find", "glob", "list", "list_directory", "ls"];
    const READING: &[&str] = &["Read", "read", "read_file", "view"];
    match (used.access, &used.origin) {
        (Access::Search, None) => return SEARCHING.contains(&facts.tool),
        (Access::Read, None) => {
            return READING.contains(&facts.tool) && is_kind(place, &NodeKind::Directory);
        }
        _ => {}
    }
    let mut runs = runs_of(used, facts).peekable();
    runs.peek().is_some() && runs.all(git_shows_names)
}

/// What git says of names alone. `status -v` shows what has changed, `ls-files -X FILE` tells by what it leaves out what is in
/// that file, and a file's hash (`ls-files -s`, `rev-parse HEAD:file`) tells whether a guess at its content is right.
fn git_shows_names(run: &Run) -> bool {
    const ALWAYS: &[&str] = &["-C", "-P", "--no-optional-locks", "-z"];
    const STATUS: &[&str] = &[
        "-M",
        "-b",
        "-s",
        "-u",
        "--ahead-behind",
        "--column",
        "--ignore-submodules",
        "--ignored",
        "--long",
        "--no-ahead-behind",
        "--no-column",
        "--no-renames",
        "--no-untracked-files",
        "--porcelain",
        "--renames",
        "--show-stash",
    ];
    const LS_FILES: &[&str] = &[
        "-c",
        "-d",
        "-f",
        "-i",
        "-k",
        "-m",
        "-o",
        "-t",
        "-v",
        "-x",
        "--deduplicate",
        "--directory",
        "--empty-directory",
        "--error-unmatch",
        "--exclude-standard",
        "--full-name",
    ];
    const REV_PARSE: &[&str] = &[
        "-q",
        "--abbrev-ref",
        "--absolute-git-dir",
        "--all",
        "--branches",
        "--git-common-dir",
        "--git-dir",
        "--git-path",
        "--is-bare-repository",
        "--is-inside-git-dir",
        "--is-inside-work-tree",
        "--is-shallow-repository",
        "--path-format",
        "--remotes",
        "--short",
        "--show-cdup",
        "--show-prefix",
        "--show-superproject-working-tree",
        "--show-toplevel",
        "--symbolic",
        "--symbolic-full-name",
        "--tags",
        "--verify",
    ];
    let plain = |listed: &[&str]| {
        run.options.iter().all(|(name, _)| ALWAYS.contains(&name.as_str()) || listed.contains(&name.as_str()))
    };
    let revision = |operand: &Option<String>| operand.as_ref().is_some_and(|word| !word.contains(':'));
    run.program == "git"
        && match run.sub.first().map_or("", String::as_str) {
            "ls-files" => plain(LS_FILES),
            "rev-parse" => plain(REV_PARSE) && run.operands.iter().all(revision),
            "status" => plain(STATUS),
            _ => false,
        }
}

#[cfg(test)]
#[cfg(feature = "files")]
mod tests {
    use super::*;
    use crate::tests::{facts, objections, place, used};
    use toolgate_model::{Place, Team};

    fn policy(text: &str) -> DeclaredIo {
        toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn settings_survive_compilation_and_bad_paths_are_refused() {
        let one = policy("enabled = true\ninputs = [\"./\", \"a//b\"]\noutputs = [\"gen/\", \"*.md\"]");
        let bytes = postcard::to_allocvec(&one).unwrap();
        assert_eq!(postcard::from_bytes::<DeclaredIo>(&bytes).unwrap(), one);
        for text in ["inputs = [\"/etc/passwd\"]", "outputs = [\"../x\"]", "inputs = [\"a\\u0000\"]"] {
            assert!(toml::from_str::<DeclaredIo>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn declared_paths_count_below_both_names_of_the_root() {
        let one = policy("enabled = true\ninputs = [\"a\"]");
        let root = Place { lexical: "/link".into(), physical: "/real".into() };
        let (places, team) = (Places { root: Some(root), ..Places::default() }, Team::default());
        let denied = |lexical: &str, physical: &str, places: &Places| {
            let place = Resolved { physical: physical.into(), ..place(lexical) };
            let call = Facts { uses: vec![used(Access::Read, Ok(place))], ..facts("Read", places, &team) };
            objections(&one, &call).first().map(Finding::line)
        };
        assert_eq!(denied("/link/a", "/real/a", &places), None);
        assert_eq!(denied("/real/a", "/real/a", &places), None);
        assert!(denied("/link/a", "/real/b", &places).unwrap().contains("it leads to `/real/b`"));
        assert!(denied("/real2/a", "/real2/a", &places).unwrap().contains("outside the workspace"));
        let nowhere = denied("/real/a", "/real/a", &Places::default()).unwrap();
        assert!(nowhere.contains("--root"), "without a root nothing is declared: {nowhere}");
    }

    #[test]
    fn standard_streams_and_the_null_device_are_not_files() {
        for (path, is_none) in [
            ("/dev/null", true),
            ("/dev/fd/63", true),
            ("/dev/stdin", true),
            ("/dev/shm/x", false),
            ("/dev/sda", false),
            ("/dev/null/x", false),
            ("/devnull", false),
        ] {
            assert_eq!(is_no_file(&place(path)), is_none, "{path}");
        }
        let link = Resolved { physical: "/dev/null".into(), ..place("/w/null") };
        assert!(!is_no_file(&link), "a link to a device is a file of the workspace");
    }

    #[test]
    fn the_known_part_of_a_path_ends_before_its_first_unknown_name() {
        for (path, known) in [
            ("in/a", None),
            ("…", Some("")),
            ("in/…", Some("in")),
            ("in/x.…", Some("in")),
            ("in/…/a", Some("in")),
            ("tmp.…", Some("")),
        ] {
            assert_eq!(known_part(path), known, "{path}");
        }
    }

    #[test]
    fn a_directory_is_covered_if_it_leads_to_a_declared_path() {
        let covered = |entry: &str, directory: &str| {
            let path = CleanPath::of(directory, Dots::Component).unwrap();
            covers(&Pattern::parse(entry).unwrap(), &path, Extent::Directory)
        };
        for (entry, directory, may) in [
            ("a/b/c", "a", true),
            ("a/b/c", "a/b", true),
            ("a/b/c", "a/x", false),
            ("a/", "a", true),
            ("a/", "a/x/y", true),
            ("a/*/c", "a/x", true),
            ("a/*/c", "b", false),
            ("a/b", "*", false),
            ("a/b", "", true),
        ] {
            assert_eq!(covered(entry, directory), may, "{entry} {directory}");
        }
    }
}
