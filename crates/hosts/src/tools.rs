//! A host's tools as data: which parameter of which tool means what.

use std::borrow::Cow;

use toolgate_model::{Access, Action, FileUse, Json, PathArg};

use crate::{claude_code, pi};

/// What a listed tool does with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Reads the file that this parameter names.
    Read(&'static str),
    /// Makes or changes the file that this parameter names.
    Write(&'static str),
    /// Searches below the directory that the first parameter names, or else the working directory; the
    /// second one is a glob that may lead elsewhere by itself.
    Search(&'static str, Option<&'static str>),
    /// Runs the shell command in this parameter.
    Shell(&'static str),
    /// Fetches the address in this parameter.
    Fetch(&'static str),
    /// Hands its parameters on to an MCP server.
    Mcp,
    /// Bookkeeping inside the host.
    Internal,
    /// Bookkeeping inside the host, with a file read where this parameter is given.
    InternalReading(&'static str),
}

/// The tools of the host whose names and parameters a case uses; empty for a host that we do not know.
pub fn tools_like(style: &str) -> &'static [(&'static str, Tool)] {
    match style {
        "claude-code" => claude_code::TOOLS,
        "pi" => pi::TOOLS,
        _ => &[],
    }
}

/// What a call of this tool with this input is asked to do. `tools` is sorted by name.
pub fn action_for<'a>(tools: &[(&str, Tool)], name: &str, input: &Json<'a>) -> Action<'a> {
    let listed = tools.binary_search_by_key(&name, |(name, _)| name).ok().and_then(|at| tools.get(at));
    let Some((_, tool)) = listed else {
        return Action::Unlisted { mcp: name.starts_with("mcp__") };
    };
    let file = |access, param: &'static str| FileUse {
        access,
        param: Cow::Borrowed(param),
        path: PathArg::of(input, param),
    };
    match *tool {
        Tool::Read(param) => Action::Files(vec![file(Access::Read, param)]),
        Tool::Write(param) => Action::Files(vec![file(Access::Write, param)]),
        Tool::Search(param, glob) => {
            let mut below = file(Access::Search, param);
            if below.path == PathArg::Missing || below.path == PathArg::Text("".into()) {
                below.path = PathArg::Cwd;
            }
            let mut uses = vec![below];
            if let Some(glob) = glob {
                uses.extend(glob_that_leads_away(input, param, glob));
            }
            Action::Files(uses)
        }
        Tool::Shell(param) => Action::Shell(match input.get(param) {
            Some(Json::Text(command)) => Some(command.clone()),
            _ => None,
        }),
        Tool::Fetch(param) => match input.get(param) {
            // `file:///etc/passwd` is no address of another machine.
            Some(Json::Text(address)) if address.trim_start().to_ascii_lowercase().starts_with("file:") => {
                Action::Unlisted { mcp: false }
            }
            _ => Action::Fetch,
        },
        Tool::Mcp => Action::Unlisted { mcp: true },
        Tool::Internal => Action::Internal,
        Tool::InternalReading(param) if input.get(param).is_some() => {
            Action::Files(vec![file(Access::Read, param)])
        }
        Tool::InternalReading(_) => Action::Internal,
    }
}

/// Where a glob leads by itself: its part before the first special character may be a link, climb, or start at
/// the root or the home. One that is special from its first name on stays below the directory that is searched.
fn glob_that_leads_away<'a>(input: &Json<'a>, base: &str, param: &'static str) -> Option<FileUse<'a>> {
    let file = |path| Some(FileUse { access: Access::Search, param: Cow::Borrowed(param), path });
    let pattern = match input.get(param)? {
        Json::Text(pattern) => pattern.trim(),
        other => return file(PathArg::NotText(other.kind())),
    };
    let pattern = pattern.trim_start_matches(['!', '\\']);
    // `{/etc,../x}/**`: each choice is a path of its own, and the root is above them all.
    let chooses =
        pattern.contains('{') && ["{/", ",/", "{~", ",~", ".."].iter().any(|way| pattern.contains(way));
    if chooses {
        return file(PathArg::Pattern(Cow::Borrowed("/")));
    }
    let first = pattern.split('/').next().unwrap_or_default();
    let starts_elsewhere = pattern.starts_with(['/', '~']);
    if !starts_elsewhere && !toolgate_model::has_dotdot(pattern) && first.contains(['*', '?', '[', '{']) {
        return None;
    }
    match input.get(base) {
        Some(Json::Text(base)) if !starts_elsewhere && !base.is_empty() => {
            file(PathArg::Pattern(Cow::Owned(format!("{base}/{pattern}"))))
        }
        _ => file(PathArg::Pattern(Cow::Owned(pattern.to_owned()))),
    }
}
