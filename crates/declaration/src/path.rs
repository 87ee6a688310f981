//! Paths as they are given, and what is wrong with some of them.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A path may have this many bytes; the system takes no longer ones.
pub const MAX_PATH: usize = 4095;

/// A glob may have this many: comparing two of them takes time by the product of their lengths.
pub const MAX_GLOB: usize = 400;

/// A list may have this many entries.
pub const MAX_ENTRIES: usize = 10_000;

/// Which `..` is refused. A `..` that stands for a directory always is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Dots {
    /// Two dots anywhere: `in..txt` too.
    #[default]
    Substring,
    /// The name `..` alone; `[...slug].tsx` is a name like any other.
    Component,
}

/// What is wrong with a path as it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It begins at the root of the file system.
    Absolute,
    /// It holds `..`.
    Parent,
    /// It holds a null byte: what stands behind it is read by some and not by others.
    Nul,
    /// It holds a newline or another character that terminals and records act on.
    Control,
    /// It holds a backslash, which divides names on some systems and not on others.
    Backslash,
    /// It has more than [`MAX_PATH`] bytes, or, as a glob, more than [`MAX_GLOB`].
    TooLong,
    /// It stands in a list of more than [`MAX_ENTRIES`].
    TooMany,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Absolute => "is absolute; give it relative to the workspace",
            Fault::Parent => "holds `..`; give it without",
            Fault::Nul => "holds a null byte; give it without",
            Fault::Control => "holds a control character; give it without",
            Fault::Backslash => "holds a backslash; divide names by `/`",
            Fault::TooLong => "is too long; give a shorter one",
            Fault::TooMany => "stands in a list of more than 10,000 entries; declare directories or globs",
        })
    }
}

impl std::error::Error for Fault {}

/// A path that was checked as it was given and then cleaned: relative, its names divided by one `/` each, none of
/// them `.` or `..`. Empty for the workspace itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CleanPath<'p>(Cow<'p, str>);

impl<'p> CleanPath<'p> {
    /// Checks the text, every letter of it, and cleans it then.
    pub fn of(raw: &'p str, dots: Dots) -> Result<CleanPath<'p>, Fault> {
        if raw.len() > MAX_PATH {
            return Err(Fault::TooLong);
        }
        if raw.starts_with('/') {
            return Err(Fault::Absolute);
        }
        let (mut clean, mut dotted, mut before) = (true, false, b'/');
        for byte in raw.bytes() {
            match byte {
                0 => return Err(Fault::Nul),
                b'\\' => return Err(Fault::Backslash),
                0x01..=0x1f | 0x7f => return Err(Fault::Control),
                b'.' if before == b'.' => dotted = true,
                // A `.` that begins a name may be one that says nothing.
                b'.' | b'/' if before == b'/' => clean = false,
                _ => {}
            }
            before = byte;
        }
        if dotted && (dots == Dots::Substring || raw.split('/').any(|name| name == "..")) {
            return Err(Fault::Parent);
        }
        if !raw.is_ascii() && raw.contains(char::is_control) {
            return Err(Fault::Control);
        }
        if clean && before != b'/' {
            return Ok(CleanPath(Cow::Borrowed(raw)));
        }
        let mut text = String::with_capacity(raw.len());
        for name in raw.split('/').filter(|name| !matches!(*name, "" | ".")) {
            if !text.is_empty() {
                text.push('/');
            }
            text.push_str(name);
        }
        Ok(CleanPath(if text == raw { Cow::Borrowed(raw) } else { Cow::Owned(text) }))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its names, from the top.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// The directory that it stands in, empty for the workspace itself, and its last name.
    pub fn split(&self) -> (&str, &str) {
        self.0.rsplit_once('/').unwrap_or(("", &self.0))
    }

    /// The same path, whoever the text was borrowed from.
    pub fn into_owned(self) -> CleanPath<'static> {
        CleanPath(Cow::Owned(self.0.into_owned()))
    }
}

impl fmt::Display for CleanPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clean(raw: &str) -> Result<String, Fault> {
        CleanPath::of(raw, Dots::Component).map(|path| path.as_str().to_owned())
    }

    #[test]
    fn paths_are_cleaned() {
        for (raw, wanted) in [
            ("a/b.txt", "a/b.txt"),
            ("input/./data.txt", "input/data.txt"),
            ("output//result.txt", "output/result.txt"),
            ("./a/", "a"),
            (".hidden/.x", ".hidden/.x"),
            ("", ""),
            (".", ""),
            ("././/", ""),
            ("a..b/[...slug].tsx", "a..b/[...slug].tsx"),
            ("ümläut/日本", "ümläut/日本"),
        ] {
            assert_eq!(clean(raw).as_deref(), Ok(wanted), "{raw}");
        }
    }

    #[test]
    fn unsafe_paths_are_refused() {
        let long = "a/".repeat(3000);
        for (raw, fault) in [
            ("/etc/passwd", Fault::Absolute),
            ("//x", Fault::Absolute),
            ("../../etc/passwd", Fault::Parent),
            ("a/..", Fault::Parent),
            ("a/../b", Fault::Parent),
            ("file.txt\0.jpg", Fault::Nul),
            ("a\nb", Fault::Control),
            ("a\u{85}b", Fault::Control),
            ("a\u{7f}", Fault::Control),
            ("a\\b", Fault::Backslash),
            (long.as_str(), Fault::TooLong),
        ] {
            assert_eq!(clean(raw), Err(fault), "{raw:?}");
        }
        for raw in ["in..txt", "...", "a/b..", "..a"] {
            assert!(clean(raw).is_ok(), "{raw}");
            assert_eq!(CleanPath::of(raw, Dots::Substring), Err(Fault::Parent), "{raw}");
        }
    }

    proptest! {
        #[test]
        fn cleaning_a_clean_path_changes_nothing(raw in "[a./\\x00-\\x7fé]{0,24}") {
            if let Ok(path) = CleanPath::of(&raw, Dots::Component) {
                prop_assert!(!path.as_str().starts_with('/') && !path.as_str().ends_with('/'));
                prop_assert!(path.as_str().is_empty() || path.as_str().split('/').all(|name| !matches!(name, "" | "." | "..")));
                let again = CleanPath::of(path.as_str(), Dots::Component).map(CleanPath::into_owned);
                prop_assert_eq!(again, Ok(path.clone().into_owned()));
            }
        }
    }
}
