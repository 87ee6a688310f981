//! Languages of the code that commands carry along.

/// What a piece of code is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    Node,
    Perl,
    Ruby,
    Php,
    Lua,
    /// A shell's, which is walked and not scanned.
    Shell,
    /// One that nobody here reads.
    Other,
}
