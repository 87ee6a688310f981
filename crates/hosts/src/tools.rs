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
    /// Fetches an address.
    Fetch,
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
        path: path_arg(input, param),
    };
    match *tool {
        Tool::Read(param) => Action::Files(vec![file(Access::Read, param)]),
        Tool::Write(param) => Action::Files(vec![file(Access::Write, param)]),
        Tool::Search(param, glob) => {
            let mut below = file(Access::Search, param);
            if below.path == PathArg::Missing {
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
        Tool::Fetch => Action::Fetch,
        Tool::Internal => Action::Internal,
        Tool::InternalReading(param) if input.get(param).is_some() => {
            Action::Files(vec![file(Access::Read, param)])
        }
        Tool::InternalReading(_) => Action::Internal,
    }
}

fn path_arg<'a>(input: &Json<'a>, param: &str) -> PathArg<'a> {
    match input.get(param) {
        Some(Json::Text(text)) => PathArg::Text(text.clone()),
        Some(Json::Null) | None => PathArg::Missing,
        Some(other) => PathArg::NotText(other.kind()),
    }
}

/// A glob that starts at the root or the home, or climbs, is a place of its own; any other one stays below
/// the directory that is searched.
fn glob_that_leads_away<'a>(input: &Json<'a>, base: &str, param: &'static str) -> Option<FileUse<'a>> {
    let pattern = match input.get(param)? {
        Json::Text(pattern) => pattern,
        other => {
            let path = PathArg::NotText(other.kind());
            return Some(FileUse { access: Access::Search, param: Cow::Borrowed(param), path });
        }
    };
    let climbs = toolgate_model::has_dotdot(pattern);
    if !(climbs || pattern.starts_with(['/', '~'])) {
        return None;
    }
    let path = match input.get(base) {
        Some(Json::Text(base)) if climbs && !pattern.starts_with(['/', '~']) => {
            PathArg::Pattern(Cow::Owned(format!("{base}/{pattern}")))
        }
        _ => PathArg::Pattern(pattern.clone()),
    };
    Some(FileUse { access: Access::Search, param: Cow::Borrowed(param), path })
}
