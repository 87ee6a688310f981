//! pi: the names and parameters of its tools.

use crate::Tool::{self, Read, Search, Shell, Write};

/// Every tool of pi that we know, sorted by name.
pub(crate) const TOOLS: &[(&str, Tool)] = &[
    ("bash", Shell("command")),
    ("edit", Write("path")),
    ("find", Search("path", Some("pattern"))),
    ("grep", Search("path", Some("glob"))),
    ("ls", Search("path", None)),
    ("read", Read("path")),
    ("write", Write("path")),
];
