//! What a call would do.
//!
//! INVARIANT: what is not understood is an [`Effect::Unknown`], never an empty list.

use std::borrow::Cow;

use crate::PathArg;

/// One thing that a call would do.
#[derive(Debug, Clone)]
pub enum Effect<'a> {
    /// Reads.
    Read(Target<'a>),
    /// Makes or changes.
    Write(Target<'a>),
    /// Starts a program with these words.
    Run(Vec<String>),
    /// Talks to another machine.
    Connect,
    /// Something that we cannot name.
    Unknown(Unknown<'a>),
}

/// What an effect is aimed at.
#[derive(Debug, Clone)]
pub struct Target<'a> {
    /// The parameter that names it.
    pub param: Cow<'a, str>,
    /// Its name as given.
    pub path: PathArg<'a>,
    /// How far the effect reaches from there.
    pub reach: Reach,
    /// Taken for a path by its looks alone.
    pub guess: bool,
}

/// How far an effect reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// This one file.
    Exact,
    /// Everything below it too.
    Below,
}

/// Why an effect cannot be named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown<'a> {
    /// A shell command that is not analysed.
    Shell,
    /// A tool that its host's page does not list.
    Tool(Cow<'a, str>),
    /// A tool of an MCP server.
    McpTool(Cow<'a, str>),
}
