//! Gemini CLI: its own names for the events, and one word for the decision.
//!
//! What the client does, as observed on 0.61.0:
//! - JSON on stdout beats the exit code, and exit 2 without any text lets the call run. Any code but 0 is shown to the
//!   user as a hook that failed. So a denial is JSON and exit 0; where it cannot be printed, the code is 2.
//! - An unknown word for the decision lets the call run.
//! - A rewrite is merged over the arguments, and the model is told of it.
//! - A denial after the call shows its reason instead of the tool's output, in full and as an error: toolgate shortens what the client
//!   would otherwise have shortened. So toolgate redacts the output of a contained command while it runs, unless it has a terminal.
//! - `systemMessage` is for the user. `additionalContext` is for the model, at every event but the one before a tool.
//! - `"ask"` shows a dialog in every approval mode, and in it the `systemMessage`. If nobody is there, the client ends with an
//!   empty answer, or hangs; so without a terminal toolgate denies instead of asking. With a terminal, `--prompt` still ends there.
//! - Directories of `--include-directories` are in no event: `[[scope]]` in the settings opens them. Its `glob` and `grep_search` without
//!   `dir_path` would search these too, even closed ones, so toolgate gives them the session's own directory.
//! - Its tools read `@a` as `a` if there is no `@a`. `replace` searches the whole workspace for a missing file, and takes any
//!   whose path ends in the same letters.

use std::borrow::Cow;

use toolgate_model::{
    Action, Answer, Call, Decision, DecodeError, FileUse, Host, Kept, KeptFrom, PathArg, Phase, Reply,
    Stoppable, Terms, Unstoppable, Verdict,
};

use crate::hook_output::{HookAnswer, HookOutput, say, tell};
use crate::readable::readable;
use crate::reply::{joined, print, rewritten};
use crate::tools::Tool::{Fetch, Internal, Mcp, Question, Read, Search, ShellIn, Write};
use crate::tools::Toolset;
use crate::wire::Dialect;

pub(crate) struct Gemini;

/// Every tool of the client that we know.
pub(crate) const TOOLS: Toolset = Toolset {
    is_added: |tool| tool.starts_with("mcp_"),
    listed: &[
        ("activate_skill", Internal),
        ("ask_user", Question),
        ("codebase_investigator", Internal),
        ("complete_task", Internal),
        ("enter_plan_mode", Internal),
        ("exit_plan_mode", Internal),
        ("get_internal_docs", Internal),
        ("glob", Search("dir_path", Some("pattern"))),
        ("google_web_search", Fetch("query")),
        ("grep_search", Search("dir_path", Some("include_pattern"))),
        ("invoke_agent", Internal),
        ("list_background_processes", Internal),
        ("list_directory", Search("dir_path", None)),
        ("list_mcp_resources", Internal),
        ("read_background_output", Internal),
        ("read_file", Read("file_path")),
        ("read_many_files", Search("include", None)),
        ("read_mcp_resource", Mcp),
        ("replace", Write("file_path")),
        ("run_shell_command", ShellIn("command", "dir_path")),
        ("save_memory", Internal),
        ("tracker_add_dependency", Internal),
        ("tracker_create_task", Internal),
        ("tracker_get_task", Internal),
        ("tracker_list_tasks", Internal),
        ("tracker_update_task", Internal),
        ("tracker_visualize", Internal),
        ("update_topic", Internal),
        ("web_fetch", Fetch("prompt")),
        ("write_file", Write("file_path")),
        ("write_todos", Internal),
    ],
};

impl Host for Gemini {
    fn id(&self) -> &'static str {
        "gemini"
    }

    fn own_directory(&self) -> Option<&'static str> {
        Some(".gemini")
    }

    fn project_variable(&self) -> Option<&'static str> {
        Some("GEMINI_PROJECT_DIR")
    }

    fn changes_output(&self, _: &str) -> bool {
        true
    }

    fn runs_what_is_late(&self) -> bool {
        true
    }

    fn needs_terminal_to_ask(&self) -> bool {
        true
    }

    fn narrows_search(&self, tool: &str) -> Option<&'static str> {
        matches!(tool, "glob" | "grep_search").then_some("dir_path")
    }

    fn launches(&self, tool: &str) -> bool {
        tool == "run_shell_command"
    }

    fn spoils_changed_output(&self, tool: &str) -> bool {
        self.launches(tool)
    }

    fn keeps(&self) -> &'static [Kept] {
        const {
            &[
                Kept::read(KeptFrom::AboveTranscripts, "tool-outputs"),
                Kept::written(KeptFrom::AboveTranscripts, "plans"),
                Kept::written(KeptFrom::AboveTranscripts, "{session}/plans"),
                Kept::written(KeptFrom::AboveTranscripts, "memory"),
            ]
        }
    }

    fn phase(&self, event: &str) -> Phase {
        match event {
            "BeforeTool" => Phase::Before,
            "AfterTool" => Phase::After,
            "SessionStart" => Phase::Start,
            "BeforeAgent" => Phase::Prompt,
            "SessionEnd" => Phase::End,
            _ => Phase::Other,
        }
    }

    fn decode<'a>(&self, event: Option<&'a str>, stdin: &'a [u8]) -> Result<Call<'a>, DecodeError> {
        let mut call = DIALECT.decode(event, stdin)?;
        if let Action::Files(uses) = &mut call.action {
            let others: Vec<_> =
                uses.iter().flat_map(|used| instead_of(used, call.tool == "replace")).collect();
            // What was asked for comes last: where a path is made absolute, the last one counts.
            uses.splice(..0, others);
        }
        Ok(call)
    }

    fn encode_verdict(&self, phase: Stoppable, call: &Call<'_>, verdict: &Verdict, terms: &Terms) -> Reply {
        let message = terms.message(verdict).unwrap_or_default();
        let notice = terms.notice.as_deref();
        match (phase, verdict.decision()) {
            (Stoppable::Before, Decision::Allow | Decision::Contain) => match rewritten(call, terms) {
                None => tell(notice, None),
                tool_input => {
                    say(Answer::Rewrite, notice, HookOutput { tool_input, ..HookOutput::of("BeforeTool") })
                }
            },
            // What the dialog shows is the message for the user, not the reason.
            (Stoppable::Before, Decision::Ask) => {
                let shown = joined(Some(&message), notice);
                print(Answer::Ask, &objection("ask", &message, shown.as_deref()))
            }
            (Stoppable::Permission | Stoppable::Config, Decision::Allow | Decision::Contain) => {
                Reply::silent()
            }
            (Stoppable::Permission | Stoppable::Config, Decision::Ask)
            | (Stoppable::Before | Stoppable::Permission | Stoppable::Config, Decision::Deny) => {
                print(Answer::Deny, &objection("deny", &message, notice))
            }
        }
    }

    fn encode_terms(&self, phase: Unstoppable, call: &Call<'_>, terms: &Terms) -> Reply {
        let notice = terms.notice.as_deref();
        match (phase, &terms.output) {
            (Unstoppable::After, Some(redacted)) => {
                let text = readable(redacted, &["llmContent"]);
                print(Answer::Redact, &objection("deny", &shortened(&text), notice))
            }
            (Unstoppable::After | Unstoppable::Start | Unstoppable::Prompt, _) => {
                tell(notice, HookOutput::context(&call.event, terms))
            }
            (Unstoppable::End | Unstoppable::Error | Unstoppable::Other, _) => Reply::silent(),
        }
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        match phase {
            None | Some(Phase::Before | Phase::Permission | Phase::Config | Phase::After) => {
                print(Answer::Deny, &HookAnswer::objection("deny", message))
            }
            Some(Phase::Start | Phase::Prompt) => tell(Some(message), None),
            Some(Phase::End | Phase::Error | Phase::Other) => Reply::silent(),
        }
    }
}

const DIALECT: Dialect =
    Dialect { host: "gemini", tools: TOOLS, phase: |event| Gemini.phase(event), unasked: None };

/// What the client shows its model of a long output: so many characters, a fifth of them from its beginning.
const MAX_SHOWN: usize = 40_000;

/// A long output as the client alone would have shortened it.
fn shortened(text: &str) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= MAX_SHOWN {
        return Cow::Borrowed(text);
    }
    let head: String = text.chars().take(MAX_SHOWN / 5).collect();
    let tail: String = text.chars().skip(count - (MAX_SHOWN - MAX_SHOWN / 5)).collect();
    let left_out = count - MAX_SHOWN;
    Cow::Owned(format!(
        "{head}\n[{left_out} characters are left out here; look at a part of it to see more]\n{tail}"
    ))
}

/// An objection, and what the user is told beside it.
fn objection<'a>(decision: &'static str, reason: &'a str, notice: Option<&'a str>) -> HookAnswer<'a> {
    HookAnswer { system_message: notice, ..HookAnswer::objection(decision, reason) }
}

/// Settings that decide whether hooks run, and that `replace` finds by the end of their path.
const SETTINGS_FOUND: &[&str] = &[
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".cursor/hooks.json",
    ".gemini/settings.json",
    ".github/copilot/settings.json",
    ".github/copilot/settings.local.json",
    ".opencode/opencode.json",
    ".pi/settings.json",
    ".qwen/settings.json",
];

/// Files that the client may take for the one that is named.
fn instead_of<'a>(used: &FileUse<'a>, is_sought: bool) -> Vec<FileUse<'a>> {
    let PathArg::Text(text) = &used.path else { return Vec::new() };
    let bare = text.strip_prefix('@').map(|rest| rest.trim_start_matches(['/', '\\']));
    let name = bare.unwrap_or(text).replace('\\', "/");
    let ends_alike =
        |found: &&&str| is_sought && !name.is_empty() && found.ends_with(&name) && **found != name;
    let found = SETTINGS_FOUND.iter().filter(ends_alike).map(|found| Cow::Borrowed(*found));
    let bare = bare.filter(|bare| !bare.is_empty()).map(|bare| Cow::Owned(bare.to_owned()));
    let other = |path| FileUse { path: PathArg::Text(path), ..used.clone() };
    found.chain(bare).map(other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_is_shortened_in_its_midst() {
        assert_eq!(shortened("short"), "short");
        let long = format!("begin{}\u{e9}end", "\u{e9}".repeat(100_000));
        let shown = shortened(&long);
        assert!(
            shown.starts_with("begin") && shown.ends_with("end") && shown.contains("60009 characters"),
            "{}",
            shown.len()
        );
        assert!(shown.chars().count() < MAX_SHOWN + 100);
    }

    #[test]
    fn paths_that_the_client_may_take_instead_are_judged_too() {
        let uses = |tool: &str, path: &str| {
            let event = format!(
                r#"{{"hook_event_name":"BeforeTool","tool_name":"{tool}","tool_input":{{"file_path":"{path}"}}}}"#
            );
            match Gemini.decode(None, event.as_bytes()).unwrap().action {
                Action::Files(uses) => {
                    uses.iter().map(|used| used.path.text().to_owned()).collect::<Vec<_>>()
                }
                _ => Vec::new(),
            }
        };
        assert_eq!(uses("write_file", "a"), ["a"]);
        assert_eq!(uses("write_file", "@.gemini/x"), [".gemini/x", "@.gemini/x"]);
        assert_eq!(uses("write_file", "@//x"), ["x", "@//x"]);
        assert_eq!(uses("write_file", "settings.json"), ["settings.json"]);
        assert_eq!(uses("replace", "src/main.rs"), ["src/main.rs"]);
        assert_eq!(
            uses("replace", "gemini/settings.json"),
            [".gemini/settings.json", "gemini/settings.json"]
        );
        assert_eq!(uses("replace", "@mini/settings.json").first().unwrap(), ".gemini/settings.json");
    }
}
