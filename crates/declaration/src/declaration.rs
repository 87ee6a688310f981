//! A declaration, and the same made ready to be asked.

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::path::{CleanPath, Dots, Fault, MAX_ENTRIES};
use crate::pattern::Pattern;

/// The directory for temporary files.
pub const TEMP: &str = "temp";

/// What an agent reads and writes, all of it, fixed before it begins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Declaration {
    /// What it reads.
    pub inputs: Vec<Pattern>,
    /// What it writes.
    pub outputs: Vec<Pattern>,
    /// Whether it may write below `temp/`, too. No snapshot holds what is there.
    pub temp: bool,
    /// How much it may write.
    pub quota: Quota,
    /// Which `..` is refused.
    pub dots: Dots,
}

/// How much may be written, temporary files included; what is left out is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quota {
    /// All files together have at most so many bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// There are at most so many files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
}

impl Quota {
    /// Whether anything is limited.
    pub fn limits(&self) -> bool {
        self.bytes.is_some() || self.files.is_some()
    }
}

/// What is wrong with a declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// The entry.
    pub pattern: Pattern,
    /// What is wrong with it.
    pub fault: Fault,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.pattern, self.fault)?;
        if self.fault == Fault::Parent {
            f.write_str(", or set `dots = \"component\"` where it is part of a name")?;
        }
        Ok(())
    }
}

impl std::error::Error for Invalid {}

impl Declaration {
    /// Makes it ready to be asked. Nothing changes it from here on.
    pub fn compile(self) -> Result<Declared, Invalid> {
        let many = [&self.inputs, &self.outputs].into_iter().find_map(|list| list.get(MAX_ENTRIES));
        if let Some(pattern) = many {
            return Err(Invalid { pattern: pattern.clone(), fault: Fault::TooMany });
        }
        for pattern in self.inputs.iter().chain(&self.outputs) {
            if self.dots == Dots::Substring && pattern.as_str().contains("..") {
                return Err(Invalid { pattern: pattern.clone(), fault: Fault::Parent });
            }
        }
        Ok(Declared {
            inputs: Allowed::of(&self.inputs),
            outputs: Allowed::of(&self.outputs),
            declaration: self,
        })
    }

    /// The first entry of this one that may not stand beside the other one, and that one's output: nobody writes what
    /// another one writes, and nobody names as an input a file that another one is still writing. A directory or a glob
    /// of inputs may cover such a file: who reads all of a project has its own copy of it, as it was before.
    pub fn conflict<'d>(&'d self, other: &'d Declaration) -> Option<(&'d Pattern, &'d Pattern)> {
        let inputs = self.inputs.iter().filter(|input| input.exact().is_some());
        let pairs = |mine: &'d Pattern| other.outputs.iter().map(move |theirs| (mine, theirs));
        let mut outputs = self.outputs.iter().flat_map(pairs);
        outputs
            .find(|(mine, theirs)| mine.collides(theirs))
            .or_else(|| inputs.flat_map(pairs).find(|(mine, theirs)| mine.overlaps(theirs)))
    }
}

/// Reading or writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Reading.
    Input,
    /// Writing.
    Output,
}

/// Why a path is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It is not a path that can be declared.
    Traversal(Fault),
    /// It is not declared.
    Undeclared,
}

/// A declaration that is ready to be asked.
#[derive(Debug, Clone)]
pub struct Declared {
    declaration: Declaration,
    inputs: Allowed,
    outputs: Allowed,
}

impl Declared {
    /// As it was written.
    pub fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    /// How many different entries one side has.
    pub fn len(&self, side: Side) -> usize {
        match side {
            Side::Input => self.inputs.len(),
            Side::Output => self.outputs.len(),
        }
    }

    /// Checks a path to be read: the text first, then the declaration.
    pub fn input<'p>(&self, raw: &'p str) -> Result<InputPath<'p>, Refusal> {
        let path = CleanPath::of(raw, self.declaration.dots).map_err(Refusal::Traversal)?;
        if self.inputs.cover(&path) { Ok(InputPath(path)) } else { Err(Refusal::Undeclared) }
    }

    /// Checks a path to be written: likewise.
    pub fn output<'p>(&self, raw: &'p str) -> Result<OutputPath<'p>, Refusal> {
        let path = CleanPath::of(raw, self.declaration.dots).map_err(Refusal::Traversal)?;
        if self.outputs.cover(&path) || (self.declaration.temp && is_temporary(&path)) {
            Ok(OutputPath(path))
        } else {
            Err(Refusal::Undeclared)
        }
    }

    /// Whether a path belongs to what a snapshot of one side holds: declared by name, or by a pattern and not temporary.
    pub fn is_kept(&self, side: Side, path: &CleanPath<'_>) -> bool {
        let allowed = match side {
            Side::Input => &self.inputs,
            Side::Output => &self.outputs,
        };
        let temporary = self.declaration.temp && is_temporary(path);
        if temporary { allowed.exact.contains(path.as_str()) } else { allowed.cover(path) }
    }

    /// The entries of one side.
    pub fn entries(&self, side: Side) -> &[Pattern] {
        match side {
            Side::Input => &self.declaration.inputs,
            Side::Output => &self.declaration.outputs,
        }
    }
}

/// Whether it lies below the directory for temporary files.
fn is_temporary(path: &CleanPath<'_>) -> bool {
    path.as_str().strip_prefix(TEMP).is_some_and(|rest| rest.starts_with('/'))
}

/// A path that is declared to be read. Only [`Declared::input`] makes one.
///
/// ```compile_fail,E0423
/// # use toolgate_declaration::{CleanPath, Dots, InputPath};
/// InputPath(CleanPath::of("secret.txt", Dots::Component).unwrap());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputPath<'p>(CleanPath<'p>);

/// A path that is declared to be written. Only [`Declared::output`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputPath<'p>(CleanPath<'p>);

impl<'p> InputPath<'p> {
    /// The path.
    pub fn path(&self) -> &CleanPath<'p> {
        &self.0
    }
}

impl<'p> OutputPath<'p> {
    /// The path.
    pub fn path(&self) -> &CleanPath<'p> {
        &self.0
    }
}

/// One side of a declaration: single files by name, whole directories by name, and the globs, of which there are few.
#[derive(Debug, Clone, Default)]
struct Allowed {
    exact: HashSet<Box<str>>,
    below: HashSet<Box<str>>,
    globs: Vec<Pattern>,
}

impl Allowed {
    fn of(patterns: &[Pattern]) -> Allowed {
        let mut allowed = Allowed::default();
        for pattern in patterns {
            if let Some(path) = pattern.exact() {
                allowed.exact.insert(path.into());
            } else if let Some(directory) = pattern.directory() {
                allowed.below.insert(directory.into());
            } else if !allowed.globs.contains(pattern) {
                allowed.globs.push(pattern.clone());
            }
        }
        allowed
    }

    fn len(&self) -> usize {
        self.exact.len() + self.below.len() + self.globs.len()
    }

    fn cover(&self, path: &CleanPath<'_>) -> bool {
        self.exact.contains(path.as_str())
            || (!self.below.is_empty() && self.cover_above(path.as_str()))
            || self.globs.iter().any(|glob| glob.covers(path))
    }

    /// Whether a directory above the path is declared.
    fn cover_above(&self, path: &str) -> bool {
        let mut above = path;
        while let Some((directory, _)) = above.rsplit_once('/') {
            if self.below.contains(directory) {
                return true;
            }
            above = directory;
        }
        !path.is_empty() && self.below.contains("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(list: &[&str]) -> Vec<Pattern> {
        list.iter().map(|text| Pattern::parse(text).unwrap()).collect()
    }

    fn declared(inputs: &[&str], outputs: &[&str], temp: bool) -> Declared {
        let declaration = Declaration {
            inputs: patterns(inputs),
            outputs: patterns(outputs),
            temp,
            ..Declaration::default()
        };
        declaration.compile().unwrap()
    }

    #[test]
    fn a_path_is_checked_before_the_declared_lists() {
        let all = declared(&["./"], &["./"], true);
        for (raw, fault) in [
            ("/etc/passwd", Fault::Absolute),
            ("../x", Fault::Parent),
            ("in..txt", Fault::Parent),
            ("in.txt\0.jpg", Fault::Nul),
        ] {
            assert_eq!(all.input(raw), Err(Refusal::Traversal(fault)));
            assert_eq!(all.output(raw), Err(Refusal::Traversal(fault)));
        }
        assert_eq!(all.input("").err(), Some(Refusal::Undeclared), "the workspace itself is not a file");
    }

    #[test]
    fn only_declared_paths_are_read_and_written() {
        let one = declared(&["in/./a", "in/a", "data/", "*.md"], &["out//x", "out/x"], true);
        assert_eq!((one.len(Side::Input), one.len(Side::Output)), (3, 1));
        for (raw, read, write) in [
            ("in/a", true, false),
            ("in//a", true, false),
            ("data/x/y", true, false),
            ("data", false, false),
            ("README.md", true, false),
            ("docs/README.md", false, false),
            ("out/x", false, true),
            ("out/x/y", false, false),
            ("temp/x", false, true),
            ("temp", false, false),
            ("temperature/x", false, false),
        ] {
            assert_eq!(one.input(raw).is_ok(), read, "read {raw}");
            assert_eq!(one.output(raw).is_ok(), write, "write {raw}");
        }
        assert_eq!(declared(&[], &["x"], false).output("temp/x"), Err(Refusal::Undeclared));
    }

    #[test]
    fn temporary_files_are_kept_only_if_declared_by_name() {
        let one = declared(&[], &["./", "temp/named"], true);
        let kept = |raw| one.is_kept(Side::Output, &CleanPath::of(raw, Dots::Component).unwrap());
        assert!(kept("x") && kept("temp/named") && !kept("temp/other"));
    }

    #[test]
    fn outputs_of_another_agent_conflict_with_inputs_and_outputs() {
        let theirs = declared(&["in"], &["out/"], true).declaration;
        let conflict = |inputs: &[&str], outputs: &[&str]| {
            let mine = declared(inputs, outputs, true).declaration;
            mine.conflict(&theirs).map(|(mine, theirs)| format!("{mine} {theirs}"))
        };
        assert_eq!(conflict(&["in"], &["other"]), None);
        assert_eq!(conflict(&[], &["out/x"]).as_deref(), Some("out/x out/"));
        assert_eq!(conflict(&["out/x"], &[]).as_deref(), Some("out/x out/"));
        assert_eq!(conflict(&["./", "**/*.md"], &["other"]), None, "a copy of everything is nobody's work");
    }

    #[test]
    fn two_dots_in_a_name_need_a_setting() {
        let declaration = Declaration { outputs: patterns(&["[...slug].tsx"]), ..Declaration::default() };
        let invalid = declaration.clone().compile().unwrap_err();
        assert!(invalid.to_string().contains("dots = \"component\""), "{invalid}");
        let named = Declaration { dots: Dots::Component, ..declaration }.compile().unwrap();
        assert!(named.output("[...slug].tsx").is_ok());
    }

    #[test]
    fn a_declaration_is_read_from_json_and_bad_paths_are_refused() {
        let text = r#"{"inputs":["a/b","docs/"],"outputs":["out/*.md"],"temp":true,"quota":{"bytes":10}}"#;
        let read: Declaration = serde_json::from_str(text).unwrap();
        assert_eq!((read.inputs.len(), read.quota.bytes), (2, Some(10)));
        assert_eq!(
            serde_json::from_str::<Declaration>(&serde_json::to_string(&read).unwrap()).unwrap(),
            read
        );
        for text in [r#"{"inputs":["/etc/passwd"]}"#, r#"{"inputs":["../x"]}"#, r#"{"input":[]}"#] {
            assert!(serde_json::from_str::<Declaration>(text).is_err(), "{text}");
        }
    }
}
