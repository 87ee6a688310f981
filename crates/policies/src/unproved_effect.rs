//! Asks about effects that are not known: code and paths that are known only at run time, and unlisted tools.
//!
//! Why: a call that toolgate does not understand may still do harm. toolgate asks a person about it, or denies it if there is
//! nobody to ask.
//!
//! Settings: `allow`, `ask` or `deny` for each gap. Of a shell command: `missing` (no command at all: `deny`), `syntax`
//! (text that bash would not parse: `ask`), `name` (a program's name is dynamic: `ask`), `read`, `write`, `enter` (a
//! dynamic path is read; written, deleted or linked to; changed into: `ask`), `program` (nobody described it: `allow`),
//! `option` (an option that its description does not list: `allow`), `opaque` (project code that a build or an
//! interpreter runs: `allow`, and logged as not proved), `code` (code of another language that does more than
//! compute: `ask`), `shell-code` (shell code that is known only at run time: `ask`), `bounds` (more than toolgate can
//! follow: `deny`). `shell` = one word for all of these. `doubt` is separate (code that looks harmless but is not
//! proved, such as inline Python or git in a nested repository: `allow`, and contained). `tool` for tools that the host's page does not list
//! (`ask`), `mcp` for tools of MCP servers (the user has added these, and the host asks about them by its own
//! rules: `allow`, which is not a grant), `mcp-changing` for those whose name does not say that they only look
//! (`get_issue`, `list-files` and `searchCode` do; `delete_branch`, `execute_sql` and `deploy` do not: `allow`; the stricter of the two
//! counts). `list` = a dynamic path whose names are listed (`allow`, or what `read` says if that is not `ask`).
//!
//! Sees through: a parameter named `command` of any tool counts as a shell command.
//! Does not see: what a compiled program does once it runs. That is the sandbox's job.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Access, Facts, Finding, FindingKind, Gap, Origin, Policy, Unknown, Via, shorten};

use crate::response::Response;

/// `[policy.unproved-effect]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct UnprovedEffect {
    /// One word for everything in a shell command; the words for single gaps do not count then.
    shell: Option<Response>,
    /// A shell tool without a command.
    missing: Response,
    /// Text that bash would not parse.
    syntax: Response,
    /// A program whose name is known only at run time.
    name: Response,
    /// A path that is known only at run time, and is read or searched.
    read: Response,
    /// A path that is only known when it runs, and whose names are listed; left out: nothing, or what `read` says where that
    /// is no question.
    list: Option<Response>,
    /// A path that is known only at run time, and is written, deleted or linked to.
    write: Response,
    /// A directory that is known only at run time.
    enter: Response,
    /// A program that nobody described.
    program: Response,
    /// An option or sub-command that the program's description does not list.
    option: Response,
    /// Project code, built or run by a tool.
    opaque: Response,
    /// Code of another language that does more than compute.
    code: Response,
    /// Shell code that is known only at run time.
    shell_code: Response,
    /// More than toolgate can follow.
    bounds: Response,
    /// Code that looks harmless but is not proved. `shell` does not apply to it.
    doubt: Response,
    /// Tools that their host's page does not list.
    tool: Response,
    /// Tools of MCP servers without a parameter that looks like a path.
    mcp: Response,
    /// Tools of MCP servers whose name does not say that they only look. The stricter of this and `mcp` counts.
    mcp_changing: Response,
}

impl Default for UnprovedEffect {
    fn default() -> Self {
        use Response::{Allow, Ask, Deny};
        UnprovedEffect {
            shell: None,
            missing: Deny,
            syntax: Ask,
            name: Ask,
            read: Ask,
            list: None,
            write: Ask,
            enter: Ask,
            program: Allow,
            option: Allow,
            opaque: Allow,
            code: Ask,
            shell_code: Ask,
            bounds: Deny,
            doubt: Allow,
            tool: Ask,
            mcp: Allow,
            mcp_changing: Allow,
        }
    }
}

impl UnprovedEffect {
    fn response(&self, gap: Gap) -> Response {
        let all = self.shell.filter(|_| !matches!(gap, Gap::Doubt(_)));
        all.unwrap_or(match gap {
            Gap::Missing => self.missing,
            Gap::Syntax => self.syntax,
            Gap::Name => self.name,
            Gap::Path(Access::Enter) => self.enter,
            Gap::Path(Access::List) => match (self.list, self.read) {
                (Some(list), _) => list,
                // Names are no contents.
                (None, Response::Ask) => Response::Allow,
                (None, read) => read,
            },
            Gap::Path(Access::Read | Access::Search) => self.read,
            Gap::Path(Access::Link | Access::Append | Access::Write | Access::Delete) => self.write,
            Gap::Program => self.program,
            Gap::Option => self.option,
            Gap::Project => self.opaque,
            Gap::Code => self.code,
            Gap::ShellCode => self.shell_code,
            Gap::Doubt(_) => self.doubt,
            Gap::Bounds => self.bounds,
        })
    }
}

/// What is not known, why that matters, and what passes.
fn words(gap: Gap, text: &str) -> (String, &'static str) {
    let quoted = if text.is_empty() { "this command".to_owned() } else { format!("`{}`", shorten(text, 80)) };
    match gap {
        Gap::Missing => ("there is no command to judge".to_owned(), "give the command as text"),
        // What the parser says has quotes of its own.
        Gap::Syntax if text.contains('`') => (
            format!("this command cannot be parsed as bash: {}", shorten(text, 80)),
            "fix the quotes, or split the command into plain ones",
        ),
        Gap::Syntax => (
            format!("{quoted} cannot be parsed as bash"),
            "fix the quotes, or split the command into plain ones",
        ),
        Gap::Name => {
            (format!("which program {quoted} starts is only known when it runs"), "name the program plainly")
        }
        Gap::Path(access) => (
            format!("{} {quoted}, a path that is only known when it runs", access.verb()),
            "write the path out, or give the variable a plain value in the same command",
        ),
        Gap::Program => (format!("what {quoted} does is not described"), "have a person approve it"),
        Gap::Option => (
            format!("what {quoted} means to its program is not described"),
            "leave it out, or have a person approve it",
        ),
        Gap::Project => (
            format!("{quoted} runs project code, so its effects depend on that code"),
            "have a person approve it",
        ),
        Gap::Code => (
            format!("{quoted} is code that deletes, writes, runs or connects; its effects cannot be proved"),
            "use the file tools or plain commands where they will do",
        ),
        Gap::ShellCode => (
            format!("{quoted} is run as shell code that is only known when it runs"),
            "write the commands out, or put them into a script in the worktree",
        ),
        Gap::Doubt(doubt) => {
            (format!("{quoted} {}, so reading it proves nothing", doubt.words()), "have a person approve it")
        }
        Gap::Bounds if text == "fork bomb" => {
            ("Fork bomb detected: a function that starts itself without end".to_owned(), "do without it")
        }
        Gap::Bounds => (format!("{quoted} is more than can be followed"), "split it into smaller commands"),
    }
}

/// The line of the script that it is in; empty where it is in none.
fn script_of(origin: &Origin) -> String {
    let mut step = origin.via.as_deref();
    while let Some(Via { step: place, line, before }) = step {
        if !line.is_empty() {
            return format!(" (in {}: `{}`)", shorten(place, 60), shorten(line.trim(), 60));
        }
        step = before.as_deref();
    }
    String::new()
}

impl Policy for UnprovedEffect {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        for unknown in &facts.unknown {
            let response = match unknown {
                Unknown::Shell { gap, .. } => self.response(*gap),
                Unknown::Tool(_) => self.tool,
                Unknown::McpTool(name) if changes(name) => self.mcp.max(self.mcp_changing),
                Unknown::McpTool(_) => self.mcp,
            };
            // Most gaps are allowed ones, and need no words.
            let Some(decision) = response.objection() else { continue };
            let (reason, instead) = words_for(unknown);
            let finding = Finding::new("unproved-effect", decision, FindingKind::Unproved)
                .because(reason)
                .instead(instead);
            findings.push(if is_containable(unknown) { finding.containable() } else { finding });
        }
    }
}

/// Whether a sandbox can judge it when it runs. What is more than can be followed was made to be that. What bash would not read may
/// end the text that a host puts around it (`)` in a subshell), and go on outside of what we launch.
fn is_containable(unknown: &Unknown<'_>) -> bool {
    match unknown {
        Unknown::Shell { gap, .. } => !matches!(gap, Gap::Missing | Gap::Bounds | Gap::Syntax),
        Unknown::Tool(_) | Unknown::McpTool(_) => false,
    }
}

/// Whether the name of a tool says that it changes something, or does not say that it only looks. What it begins with counts
/// (`get_commit` looks, `commit_files` does not), and a word that is never a thing counts anywhere (`search_and_replace`).
fn changes(tool: &str) -> bool {
    const LOOKS: &[&str] = &[
        "get", "list", "read", "search", "find", "fetch", "view", "show", "describe", "count", "check",
        "lookup", "query", "status", "info", "inspect", "browse", "preview", "explain", "compare", "diff",
        "ls", "validate", "whoami", "ping", "help", "echo",
    ];
    const ACTS: &[&str] = &[
        "delete",
        "remove",
        "drop",
        "destroy",
        "purge",
        "erase",
        "truncate",
        "execute",
        "exec",
        "write",
        "update",
        "create",
        "insert",
        "replace",
        "rename",
        "overwrite",
        "modify",
        "edit",
        "append",
        "upload",
        "send",
        "publish",
        "install",
        "uninstall",
        "kill",
        "reset",
        "revoke",
        "approve",
        "merge",
        "push",
        "set",
        "put",
        "patch",
        "add",
    ];
    // `mcp__server__tool`: the server's name says nothing about the tool.
    let name = tool.rsplit("__").next().unwrap_or(tool);
    let mut words = Vec::new();
    let mut lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && lower) || words.is_empty() {
            words.push(String::new());
        }
        lower = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    let is = |list: &[&str], word: &String| list.contains(&word.as_str());
    words.retain(|word| !word.is_empty());
    // Nouns as well: a request to merge, a set of rules.
    let noun =
        |word: &String| matches!(word.as_str(), "merge" | "push" | "set" | "patch" | "update" | "edit");
    !words.first().is_some_and(|first| is(LOOKS, first))
        || words.iter().skip(1).any(|word| is(ACTS, word) && !noun(word))
}

/// What is not known, where, and what passes.
fn words_for(unknown: &Unknown<'_>) -> (String, String) {
    let describe =
        |tool: &str| format!("have a person approve it, or describe it in [tools.{}]", shorten(tool, 80));
    match unknown {
        Unknown::Shell { gap, text, origin } => {
            let (reason, instead) = words(*gap, text);
            (format!("{reason}{}", script_of(origin)), instead.to_owned())
        }
        Unknown::Tool(name) => (format!("the tool {} is not known here", shorten(name, 80)), describe(name)),
        Unknown::McpTool(name) => {
            (format!("what the tool {} would do is not proved", shorten(name, 80)), describe(name))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::tests::{facts, objections};
    use toolgate_model::{Doubt, Places, Team};

    #[test]
    fn every_gap_has_its_own_response_and_shell_overrides_all() {
        use Response::{Allow, Ask, Deny};
        let own = UnprovedEffect::default();
        let all = UnprovedEffect { shell: Some(Allow), ..UnprovedEffect::default() };
        for (gap, response) in [
            (Gap::Missing, Deny),
            (Gap::Syntax, Ask),
            (Gap::Name, Ask),
            (Gap::Path(Access::Enter), Ask),
            (Gap::Path(Access::Read), Ask),
            (Gap::Path(Access::List), Allow),
            (Gap::Path(Access::Delete), Ask),
            (Gap::Program, Allow),
            (Gap::Option, Allow),
            (Gap::Project, Allow),
            (Gap::Code, Ask),
            (Gap::ShellCode, Ask),
            (Gap::Bounds, Deny),
        ] {
            assert_eq!(own.response(gap), response, "{gap:?}");
            assert_eq!(all.response(gap), Allow, "{gap:?}");
        }
        let strict = UnprovedEffect { shell: Some(Deny), ..UnprovedEffect::default() };
        assert_eq!(strict.response(Gap::Doubt(Doubt::Code)), Allow, "a doubt counts apart");
        let careful = UnprovedEffect { doubt: Ask, ..strict };
        assert_eq!(careful.response(Gap::Doubt(Doubt::Terminal)), Ask);
    }

    #[test]
    fn listing_follows_reading_where_that_is_no_question() {
        use Response::{Allow, Ask, Deny};
        let list = |read, list| {
            UnprovedEffect { read, list, ..UnprovedEffect::default() }.response(Gap::Path(Access::List))
        };
        assert_eq!(list(Ask, None), Allow);
        assert_eq!(list(Deny, None), Deny);
        assert_eq!(list(Allow, Some(Ask)), Ask);
    }

    #[test]
    fn a_tool_that_only_looks_says_so_by_its_name() {
        for looks in [
            "mcp__gh__get_commit",
            "list_merge_requests",
            "searchCode",
            "mcp__db__query",
            "get-pull-request",
            "describeTable",
        ] {
            assert!(!changes(looks), "{looks}");
        }
        for tool in [
            "mcp__gh__delete_branch",
            "execute_sql",
            "search_and_replace",
            "mcp__x__deploy",
            "readAndWrite",
            "get_or_create",
            "merge_pull_request",
            "push_files",
            "dropTable",
            "mcp__get__run",
            "",
        ] {
            assert!(changes(tool), "{tool}");
        }
    }

    #[test]
    fn a_gap_is_described_with_its_place() {
        let (places, team) = (Places::default(), Team::default());
        let strict = UnprovedEffect { shell: Some(Response::Deny), ..UnprovedEffect::default() };
        let told = |gap, text: &str, via| {
            let unknown =
                vec![Unknown::Shell { gap, text: text.into(), origin: Origin { span: (0, 1), via } }];
            let found = objections(&strict, &Facts { unknown, ..facts("Bash", &places, &team) });
            found.first().map(Finding::line).unwrap()
        };
        for (gap, text, words) in [
            (Gap::Missing, "", "there is no command to judge; give the command as text"),
            (Gap::Syntax, "", "this command cannot be parsed as bash; fix the quotes"),
            (Gap::Name, "$x", "which program `$x` starts is only known when it runs"),
            (Gap::Path(Access::Delete), "$d", "deletes `$d`, a path that is only known when it runs"),
            (Gap::Program, "frob", "what `frob` does is not described"),
            (Gap::Option, "--odd", "what `--odd` means to its program is not described; leave it out"),
            (Gap::Project, "make", "`make` runs project code"),
            (Gap::Code, "python -c x", "`python -c x` is code that deletes, writes, runs or connects"),
            (Gap::ShellCode, "eval $x", "`eval $x` is run as shell code"),
            (Gap::Bounds, "fork bomb", "Fork bomb detected"),
            (Gap::Bounds, "((((", "`((((` is more than can be followed; split it"),
        ] {
            let message = told(gap, text, None);
            assert!(message.starts_with(words), "{message}");
        }
        let script = Via { step: "a.sh:3".into(), line: " frob -x".into(), before: None };
        let wrapper = Via { step: "sudo".into(), line: String::new(), before: Some(Rc::new(script)) };
        let message = told(Gap::Program, "frob", Some(Rc::new(wrapper)));
        assert!(message.contains("is not described (in a.sh:3: `frob -x`);"), "{message}");
    }
}
