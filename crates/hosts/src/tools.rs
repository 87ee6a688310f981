//! A host's tools as data: which parameter of which tool means what.

use std::borrow::Cow;

use toolgate_model::{Access, Action, FileUse, Json, PathArg, patched};

use crate::{claude_code, codex, copilot, cursor, gemini, opencode, pi, qwen};

/// What a listed tool does with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Reads the file that this parameter names.
    Read(&'static str),
    /// Makes or changes the file that this parameter names.
    Write(&'static str),
    /// Takes away the file that this parameter names.
    Delete(&'static str),
    /// Changes the files that the patch in this parameter names.
    Patch(&'static str),
    /// Searches below the directories that the first parameter names, or else the working directory; the
    /// second one is a glob that may lead elsewhere by itself.
    Search(&'static str, Option<&'static str>),
    /// Runs the shell command in this parameter.
    Shell(&'static str),
    /// Runs the shell command in the first parameter, in the directory that the second one names.
    ShellIn(&'static str, &'static str),
    /// Fetches the address in this parameter.
    Fetch(&'static str),
    /// Hands its parameters on to an MCP server.
    Mcp,
    /// Bookkeeping inside the host.
    Internal,
    /// Bookkeeping inside the host, with a file read where this parameter is given.
    InternalReading(&'static str),
}

/// The tools of a host.
#[derive(Debug, Clone, Copy)]
pub struct Toolset {
    /// Every tool that we know, sorted by name. What is not here is judged by its parameters.
    pub listed: &'static [(&'static str, Tool)],
    /// Whether a name that is not listed is that of a tool which the user has added (an MCP server's, an
    /// application's own), and not of one that the host gained since.
    pub is_added: fn(&str) -> bool,
}

/// The tools of every host that has its own.
pub(crate) const TOOLSETS: &[(&str, Toolset)] = &[
    ("claude-code", claude_code::TOOLS),
    ("codex", codex::TOOLS),
    ("copilot", copilot::TOOLS),
    ("cursor", cursor::TOOLS),
    ("gemini", gemini::TOOLS),
    ("opencode", opencode::TOOLS),
    ("pi", pi::TOOLS),
    ("qwen", qwen::TOOLS),
];

/// The tools of this host; none for one that has none of its own.
pub fn tools_like(host: &str) -> Toolset {
    let own = TOOLSETS.iter().find(|(id, _)| *id == host).map(|(_, tools)| *tools);
    own.unwrap_or(Toolset { listed: &[], is_added: is_mcp_name })
}

/// `mcp__server__tool`
pub(crate) fn is_mcp_name(tool: &str) -> bool {
    tool.starts_with("mcp__")
}

impl Toolset {
    /// What the tool of this name does; `None` where it is not listed.
    pub fn find(&self, name: &str) -> Option<Tool> {
        let at = self.listed.binary_search_by_key(&name, |(name, _)| name).ok()?;
        self.listed.get(at).map(|(_, tool)| *tool)
    }

    /// What a call of this tool with this input is asked to do.
    pub fn action<'a>(&self, name: &str, input: &Json<'a>) -> Action<'a> {
        match self.find(name) {
            Some(tool) => tool.action(input),
            None => Action::Unlisted { mcp: (self.is_added)(name) },
        }
    }
}

impl Tool {
    /// The parameter without which the tool does nothing; `None` where it has none.
    pub(crate) fn main_parameter(self) -> Option<&'static str> {
        match self {
            Tool::Read(param)
            | Tool::Write(param)
            | Tool::Delete(param)
            | Tool::Patch(param)
            | Tool::Shell(param)
            | Tool::ShellIn(param, _)
            | Tool::Fetch(param) => Some(param),
            Tool::Search(..) | Tool::Mcp | Tool::Internal | Tool::InternalReading(_) => None,
        }
    }

    /// What a call with this input is asked to do.
    pub(crate) fn action<'a>(self, input: &Json<'a>) -> Action<'a> {
        // Some hosts hand a tool one text instead of parameters; where files are changed, that text is a patch.
        if let (Tool::Patch(_) | Tool::Write(_), Json::Text(patch)) = (self, input) {
            return patch_action(patch);
        }
        let file = |access, param: &'static str| {
            let path = PathArg::of(input, param);
            Action::Files(vec![FileUse { access, param: Cow::Borrowed(param), path }])
        };
        match self {
            Tool::Read(param) => file(Access::Read, param),
            Tool::Write(param) => file(Access::Write, param),
            Tool::Delete(param) => file(Access::Delete, param),
            Tool::Patch(param) => match input.get(param) {
                Some(Json::Text(patch)) => patch_action(patch),
                _ => file(Access::Write, param),
            },
            Tool::Search(param, glob) => {
                let mut uses = searched(input, param);
                if let Some(glob) = glob {
                    uses.extend(glob_that_leads_away(input, param, glob));
                }
                Action::Files(uses)
            }
            Tool::Shell(param) => Action::Shell { command: command(input, param), directory: None },
            Tool::ShellIn(param, directory) => Action::Shell {
                command: command(input, param),
                directory: match input.get(directory) {
                    Some(Json::Text(directory)) if !directory.is_empty() => Some(directory.clone()),
                    _ => None,
                },
            },
            Tool::Fetch(param) => match input.get(param) {
                // `file:///etc/passwd` is no address of another machine.
                Some(Json::Text(address))
                    if address.trim_start().to_ascii_lowercase().starts_with("file:") =>
                {
                    Action::Unlisted { mcp: false }
                }
                _ => Action::Fetch,
            },
            Tool::Mcp => Action::Unlisted { mcp: true },
            Tool::InternalReading(param) if input.get(param).is_some() => file(Access::Read, param),
            Tool::Internal | Tool::InternalReading(_) => Action::Internal,
        }
    }
}

/// The command as a shell would read it: a text as it stands, or words that are already apart, each quoted.
fn command<'a>(input: &Json<'a>, param: &str) -> Option<Cow<'a, str>> {
    match input.get(param)? {
        Json::Text(command) => Some(command.clone()),
        Json::List(words) => {
            words.iter().map(Json::text).collect::<Option<Vec<_>>>().map(|w| quoted(&w).into())
        }
        _ => None,
    }
}

/// Words as one command line, none of them open to expansion.
pub(crate) fn quoted(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
    quoted.join(" ")
}

/// A patch that names no file cannot be judged.
fn patch_action<'a>(patch: &str) -> Action<'a> {
    let param = Cow::Borrowed("patch");
    let files = patched(patch);
    if files.is_empty() {
        let path = PathArg::NotText("a patch that names no file");
        return Action::Files(vec![FileUse { access: Access::Write, param, path }]);
    }
    let uses = files.into_iter().map(|(access, name)| FileUse {
        access,
        param: param.clone(),
        path: PathArg::Text(Cow::Owned(name.to_owned())),
    });
    Action::Files(uses.collect())
}

/// The directories that are searched: one, a list of them, or the working directory.
fn searched<'a>(input: &Json<'a>, param: &'static str) -> Vec<FileUse<'a>> {
    let below = |path| FileUse { access: Access::Search, param: Cow::Borrowed(param), path };
    match input.get(param) {
        Some(Json::List(paths)) if !paths.is_empty() => {
            let each = paths.iter().map(|path| match path {
                Json::Text(path) => PathArg::Text(path.clone()),
                other => PathArg::NotText(other.kind()),
            });
            each.map(below).collect()
        }
        Some(Json::List(_)) => vec![below(PathArg::Cwd)],
        _ => match PathArg::of(input, param) {
            PathArg::Missing => vec![below(PathArg::Cwd)],
            PathArg::Text(text) if text.is_empty() => vec![below(PathArg::Cwd)],
            path => vec![below(path)],
        },
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
