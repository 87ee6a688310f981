//! Code of other languages inside a shell command: what it would do.
//!
//! Against whom: `python3 -c "open('/etc/x','w')"`, `awk '{print > "/etc/x"}'`, `sed 'w /etc/x'`. A rule for the
//! Write tool that such a line walks around is no rule.
//!
//! sed and awk programs are small and are understood. Programs of the large languages are only looked at: their
//! calls and texts are followed as far as they are plain. What such a look cannot tell is [`Deed::Unknown`].
//! Does not see: what imported code does, what happens behind an interpreter's own tricks.

mod act;
mod awk;
mod bindings;
mod bounds;
mod calls;
mod doubts;
mod expr;
mod import;
mod lex;
mod names;
mod operands;
mod report;
mod scan;
mod sed;
mod special;
mod value;
mod walk;

pub(crate) use awk::awk;
pub(crate) use operands::reads_operands;
pub(crate) use scan::scan;
pub(crate) use sed::sed;

/// More deeds than this are not told one by one.
const MAX_DEEDS: usize = 256;

/// One thing that a piece of code would do, as far as can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deed {
    Read(Path),
    List(Path),
    Write(Path),
    Delete(Path),
    /// Changes the directory.
    Enter(Path),
    /// Text that a shell runs.
    Shell(String),
    /// A program and its arguments.
    Run(Vec<String>),
    /// A text that looks like an absolute path, and that no call is seen to open: `'/sheets/1/cells'`.
    Mention(String),
    Connect,
    /// Runs project code, or code of a library that is not the language's own.
    Project,
    /// Something that cannot be told, and why.
    Unknown(&'static str),
}

/// A file's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Path {
    /// As it is written: relative, absolute or with `~`.
    Known(String),
    /// Something below this directory, or whose name begins so.
    Below(String),
    Unknown,
}

/// Adds what was not said yet.
fn note(deeds: &mut Vec<Deed>, deed: Deed) {
    const TOO_MANY: Deed = Deed::Unknown("does more than can be told");
    let deed = if deeds.len() < MAX_DEEDS { deed } else { TOO_MANY };
    // What is done in another directory is another deed.
    let here = deeds.iter().rev().take_while(|deed| !matches!(deed, Deed::Enter(_)));
    if deeds.len() <= MAX_DEEDS && !here.into_iter().any(|known| *known == deed) {
        deeds.push(deed);
    }
}

/// Has `..` as one of its names.
fn climbs(path: &str) -> bool {
    path.split('/').any(|name| name == "..")
}

#[cfg(test)]
mod tests;
