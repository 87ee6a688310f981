//! A host's tools as data: which parameter of which tool means what.

use std::borrow::Cow;

use toolgate_model::{Access, Action, FileUse, Json, PathArg, patched, quoted};

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
    /// Asks the user something.
    Question,
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
    let host = if host == "copilot-sdk" { "copilot" } else { host };
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

    /// What a call of this tool with this input is asked to do, for a host that leaves `~` as it is written.
    pub fn action<'a>(&self, name: &str, input: &Json<'a>) -> Action<'a> {
        match self.find(name) {
            Some(tool) => and_as_written(tool.action(input)),
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
            Tool::Search(..) | Tool::Mcp | Tool::Internal | Tool::Question | Tool::InternalReading(_) => None,
        }
    }

    /// What a call with this input is asked to do.
    pub(crate) fn action<'a>(self, input: &Json<'a>) -> Action<'a> {
        // Some hosts hand a tool one text instead of parameters; where files are changed, that text is a patch.
        if let (Tool::Patch(_) | Tool::Write(_), Json::Text(patch)) = (self, input) {
            return patch_action(patch);
        }
        let file = |access, param: &'static str| {
            let used = |param, path| FileUse { access, param: Cow::Borrowed(param), path };
            let own = used(param, PathArg::of(input, param));
            let aliases = given(FILES, param, input).map(|(alias, _)| used(alias, PathArg::of(input, alias)));
            Action::Files(std::iter::once(own).chain(aliases).collect())
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
                for (alias, value) in given(DIRECTORIES, param, input) {
                    uses.extend(places(value, alias));
                }
                if let Some(glob) = glob {
                    uses.extend(globs_that_lead_away(input, param, glob));
                }
                Action::Files(uses)
            }
            Tool::Shell(param) => Action::Shell { command: command(input, param), directory: None },
            Tool::ShellIn(param, directory) => {
                let directory = match input.get(directory) {
                    None | Some(Json::Null) => None,
                    Some(Json::Text(directory)) if directory.is_empty() => None,
                    Some(Json::Text(directory)) if !directory.starts_with('~') => Some(directory.clone()),
                    // Where it would run, nobody can say: what is not text, or a `~` that is one host's home and
                    // another's directory of that name.
                    Some(_) => return Action::Shell { command: None, directory: None },
                };
                Action::Shell { command: command(input, param), directory }
            }
            Tool::Fetch(param) => match input.get(param) {
                // `file:///etc/passwd` is no address of another machine.
                Some(Json::Text(address))
                    if address.trim_start().to_ascii_lowercase().starts_with("file:") =>
                {
                    let read = |path| FileUse { access: Access::Read, param: Cow::Borrowed(param), path };
                    Action::Files(match local_files(address) {
                        Some(paths) => {
                            paths.into_iter().map(|path| read(PathArg::Text(Cow::Owned(path)))).collect()
                        }
                        None => vec![read(PathArg::NotText("an address of no file that can be told"))],
                    })
                }
                _ => Action::Fetch,
            },
            Tool::Mcp => Action::Unlisted { mcp: true },
            Tool::InternalReading(param) if input.get(param).is_some() => file(Access::Read, param),
            Tool::Question => Action::Question,
            Tool::Internal | Tool::InternalReading(_) => Action::Internal,
        }
    }
}

/// The files that an address of this machine may name, as clients read it in several ways: with what stands behind `?` or `#`, and
/// without; with codes of bytes, and decoded. `None` where no file can be told from it.
fn local_files(address: &str) -> Option<Vec<String>> {
    let (_, rest) = address.split_once(':')?;
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.get(rest.find('/')?..)?,
        None => rest,
    };
    let path = path.trim_end();
    let is_told =
        |path: &str| path.starts_with('/') && !path.contains('\\') && !path.contains(char::is_control);
    let mut paths = vec![path.to_owned()];
    paths.extend(path.find(['?', '#']).and_then(|end| path.get(..end)).map(str::to_owned));
    if path.contains('%') {
        let decoded = paths.iter().map(|path| percent_decoded(path)).collect::<Option<Vec<_>>>()?;
        paths.extend(decoded);
    }
    paths.iter().all(|path| is_told(path)).then_some(paths)
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = behind.get(..2).filter(|_| *first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// The command as a shell would read it: a text as it stands, or words that are already apart, each quoted.
fn command<'a>(input: &Json<'a>, param: &str) -> Option<Cow<'a, str>> {
    match input.get(param)? {
        Json::Text(command) => Some(command.clone()),
        Json::List(words) => quoted(words).map(Cow::Owned),
        _ => None,
    }
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

/// Names under which hosts take a file, also where they do not say so.
const FILES: &[&str] =
    &["absolute_path", "file", "filePath", "file_path", "filename", "filepath", "notebook_path", "path"];

/// Names under which hosts take a directory, also where they do not say so: Copilot's `grep` offers `paths` and
/// takes `path`.
const DIRECTORIES: &[&str] = &["dir_path", "directory", "path", "paths"];

/// Which of these names are given, besides the one that the table knows.
fn given<'i, 'a>(
    names: &'static [&'static str],
    known: &'static str,
    input: &'i Json<'a>,
) -> impl Iterator<Item = (&'static str, &'i Json<'a>)> {
    let others = names.iter().filter(move |name| **name != known);
    others
        .filter_map(|name| input.get(name).filter(|value| **value != Json::Null).map(|value| (*name, value)))
}

/// The directories that are searched: one, a list of them, or the working directory.
fn searched<'a>(input: &Json<'a>, param: &'static str) -> Vec<FileUse<'a>> {
    let given = input.get(param).map(|value| places(value, param)).unwrap_or_default();
    if given.is_empty() {
        let param = Cow::Borrowed(param);
        return vec![FileUse { access: Access::Search, param, path: PathArg::Cwd }];
    }
    given
}

/// The directories in a parameter. Copilot takes several in one text, with blanks between them, so each piece is a
/// place as well.
fn places<'a>(value: &Json<'a>, param: &'static str) -> Vec<FileUse<'a>> {
    let below = |path| FileUse { access: Access::Search, param: Cow::Borrowed(param), path };
    match value {
        Json::Null => Vec::new(),
        Json::Text(text) if text.is_empty() => Vec::new(),
        Json::Text(text) => {
            let pieces = text.split_whitespace().filter(|piece| *piece != text);
            let pieces = pieces.map(|piece| PathArg::Text(Cow::Owned(piece.to_owned())));
            // The whole comes last: where a path is made absolute, the last one counts.
            pieces.chain([PathArg::Text(text.clone())]).map(below).collect()
        }
        Json::List(values) => values
            .iter()
            .flat_map(|value| match value {
                Json::Text(_) => places(value, param),
                other => vec![below(PathArg::NotText(other.kind()))],
            })
            .collect(),
        other => vec![below(PathArg::NotText(other.kind()))],
    }
}

/// `~/x` is in the home for some hosts, and in a directory called `~` for most: a repository can have one, with links
/// in it. It has to be fine in both.
pub(crate) fn and_as_written(action: Action<'_>) -> Action<'_> {
    let Action::Files(mut uses) = action else { return action };
    let literal = |path: &PathArg<'_>| match path {
        PathArg::Text(text) if text.starts_with('~') => Some(PathArg::Text(format!("./{text}").into())),
        PathArg::Pattern(text) if text.starts_with('~') => Some(PathArg::Pattern(format!("./{text}").into())),
        _ => None,
    };
    let more: Vec<_> =
        uses.iter().filter_map(|used| Some(FileUse { path: literal(&used.path)?, ..used.clone() })).collect();
    uses.extend(more);
    Action::Files(uses)
}

/// Where a glob leads by itself: its part before the first special character may be a link, climb, or start at
/// the root or the home. One that is special from its first name on stays below the directory that is searched.
fn globs_that_lead_away<'a>(input: &Json<'a>, base: &str, param: &'static str) -> Vec<FileUse<'a>> {
    let file = |path| FileUse { access: Access::Search, param: Cow::Borrowed(param), path };
    let pattern = match input.get(param) {
        None => return Vec::new(),
        Some(Json::Text(pattern)) => pattern.trim().trim_start_matches('!'),
        Some(other) => return vec![file(PathArg::NotText(other.kind()))],
    };
    let Some(choices) = choices(pattern) else {
        // The root is above them all.
        return vec![file(PathArg::Pattern(Cow::Borrowed("/")))];
    };
    let leading = choices.iter().filter_map(|choice| {
        let plain = unquoted(choice);
        let first = plain.split('/').next().unwrap_or_default();
        let starts_elsewhere = plain.starts_with(['/', '~']);
        let climbs = [choice, &plain].into_iter().any(|text| toolgate_model::has_dotdot(text));
        if !starts_elsewhere && !climbs && first.contains(['*', '?', '[', '{']) {
            return None;
        }
        match input.get(base) {
            Some(Json::Text(base)) if !starts_elsewhere && !base.is_empty() => {
                Some(format!("{base}/{plain}"))
            }
            _ => Some(plain),
        }
    });
    leading.map(|pattern| file(PathArg::Pattern(Cow::Owned(pattern)))).collect()
}

/// Each pattern that `{a,b}` stands for: `{x,}/etc` is also `/etc`, and `.{.,}/x` is also `../x`. `None` where there
/// are more than anyone needs.
fn choices(pattern: &str) -> Option<Vec<String>> {
    const MOST: usize = 64;
    let (mut open, mut done) = (vec![pattern.to_owned()], Vec::new());
    while let Some(text) = open.pop() {
        // An innermost pair of braces.
        let pair = text.match_indices('}').find_map(|(end, _)| {
            let (head, tail) = (text.get(..end)?, text.get(end + 1..)?);
            let (before, inner) = head.rsplit_once('{')?;
            Some((before, inner, tail))
        });
        match pair {
            Some((before, inner, tail)) => {
                open.extend(inner.split(',').map(|choice| format!("{before}{choice}{tail}")));
            }
            None => done.push(text),
        }
        if open.len() + done.len() > MOST {
            return None;
        }
    }
    Some(done)
}

/// A pattern without quotes: `\.` and `[.]` are a dot, and two of them climb.
fn unquoted(pattern: &str) -> String {
    let mut plain = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let mut ahead = chars.clone();
        match (c, ahead.next(), ahead.next()) {
            ('\\', Some(quoted), _) => {
                plain.push(quoted);
                chars.next();
            }
            ('[', Some(only), Some(']')) => {
                plain.push(only);
                chars = ahead;
            }
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(host: &str, tool: &str, input: &str) -> Vec<String> {
        let input = serde_json::from_str(input).unwrap();
        match tools_like(host).action(tool, &input) {
            Action::Files(uses) => uses.iter().map(|used| used.path.text().to_owned()).collect(),
            Action::Shell { command, directory } => vec![format!("{command:?} in {directory:?}")],
            other => vec![format!("{other:?}")],
        }
    }

    #[test]
    fn a_search_is_judged_in_every_place_that_a_client_may_take() {
        assert_eq!(uses("copilot", "grep", r#"{"pattern":"x"}"#), [""]);
        assert_eq!(uses("copilot", "grep", r#"{"pattern":"x","path":"/a"}"#), ["", "/a"]);
        assert_eq!(uses("copilot", "glob", r#"{"pattern":"*","paths":[],"path":["/a"]}"#), ["", "/a"]);
        assert_eq!(uses("copilot", "rg", r#"{"pattern":"x","paths":"a /b"}"#), ["a", "/b", "a /b"]);
        assert_eq!(uses("copilot", "rg", r#"{"pattern":"x","paths":["a /b"]}"#), ["a", "/b", "a /b"]);
    }

    #[test]
    fn a_path_with_a_tilde_is_judged_as_home_and_as_a_name() {
        assert_eq!(uses("copilot", "view", r#"{"path":"~/x"}"#), ["~/x", "./~/x"]);
        assert_eq!(uses("gemini", "glob", r#"{"pattern":"~/x"}"#), ["", "~/x", "./~/x"]);
        let patch = r#"{"patchText":"*** Begin Patch\n*** Add File: ~/x\n*** End Patch"}"#;
        assert_eq!(uses("opencode", "apply_patch", patch), ["~/x", "./~/x"]);
    }

    #[test]
    fn a_command_in_an_unreadable_directory_has_no_text_to_judge() {
        let run = |directory: &str| {
            uses("opencode", "bash", &format!(r#"{{"command":"ls","workdir":{directory}}}"#)).concat()
        };
        assert_eq!(run(r#""a""#), r#"Some("ls") in Some("a")"#);
        assert_eq!(run(r#""""#), r#"Some("ls") in None"#);
        assert_eq!(run("null"), r#"Some("ls") in None"#);
        for odd in [r#"["/a"]"#, "7", r#""~/a""#] {
            assert_eq!(run(odd), "None in None", "{odd}");
        }
    }

    #[test]
    fn an_address_of_this_machine_is_read_in_every_way_that_a_client_may_read_it() {
        let fetched = |url: &str| uses("claude-code", "WebFetch", &format!(r#"{{"url":"{url}"}}"#));
        assert_eq!(fetched("file:///a/b"), ["/a/b"]);
        assert_eq!(fetched("FILE://localhost/a/b?c"), ["/a/b?c", "/a/b"]);
        assert_eq!(fetched("file:/a/%2e%2e/b"), ["/a/%2e%2e/b", "/a/../b"]);
        assert_eq!(fetched("file:a"), [""], "no file can be told");
        assert_eq!(fetched("https://a.example/b"), ["Fetch"]);
    }
}
