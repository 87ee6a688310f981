//! OpenCode: its plugin passes on each event with the directory of the session.
//!
//! What the client does, as observed on 1.18.33: a plugin stops a call by throwing, changes it in place, and has
//! no way to ask anybody. It gets no event at the end of a session, nor one for what the user answers to a question. The
//! tools of MCP servers and of plugins are known by their names only: `server_tool`. An error from such a tool raises no event, and is shown.

use std::borrow::Cow;

use toolgate_model::{
    Answer, Call, Decision, DecodeError, HooksStart, Host, Json, Kept, KeptFrom, Phase, Reply, Stoppable,
    Terms, Unstoppable, Verdict,
};

use crate::members::Members;
use crate::plain;
use crate::tools::Tool::{Fetch, Internal, Patch, Question, Read, Search, ShellIn, Write};
use crate::tools::Toolset;
use crate::wire::{NO_TOOL, asks_for_a_tool, input_of};

pub(crate) struct OpenCode;

/// Every tool of the client that we know.
pub(crate) const TOOLS: Toolset = Toolset {
    is_added: |tool| tool.contains('_'),
    listed: &[
        ("apply_patch", Patch("patchText")),
        ("bash", ShellIn("command", "workdir")),
        ("codesearch", Fetch("query")),
        ("edit", Write("filePath")),
        ("glob", Search("path", Some("pattern"))),
        ("grep", Search("path", Some("include"))),
        // A call of a tool that is not there.
        ("invalid", Internal),
        ("list", Search("path", None)),
        ("multiedit", Write("filePath")),
        ("patch", Patch("patchText")),
        ("plan_enter", Internal),
        ("plan_exit", Internal),
        ("question", Question),
        ("read", Read("filePath")),
        ("skill", Internal),
        ("task", Internal),
        ("todoread", Internal),
        ("todowrite", Internal),
        ("webfetch", Fetch("url")),
        ("websearch", Fetch("query")),
        ("write", Write("filePath")),
    ],
};

impl Host for OpenCode {
    fn id(&self) -> &'static str {
        "opencode"
    }

    fn hooks_start(&self) -> HooksStart {
        HooksStart::WithTheCall
    }

    fn is_served(&self) -> bool {
        true
    }

    fn changes_output(&self, _: &str) -> bool {
        true
    }

    fn launches(&self, tool: &str) -> bool {
        tool == "bash"
    }

    fn keeps(&self) -> &'static [Kept] {
        const {
            &[
                Kept::read(KeptFrom::Home, ".local/share/opencode/tool-output"),
                Kept::written(KeptFrom::Home, ".local/share/opencode/plans"),
            ]
        }
    }

    fn phase(&self, event: &str) -> Phase {
        match event {
            "tool.execute.before" => Phase::Before,
            "tool.execute.after" => Phase::After,
            "session.created" => Phase::Start,
            "chat.message" => Phase::Prompt,
            _ => Phase::Other,
        }
    }

    fn decode<'a>(&self, event: Option<&'a str>, stdin: &'a [u8]) -> Result<Call<'a>, DecodeError> {
        let mut payload = Members::read(stdin)?;
        let name = event.ok_or(DecodeError::MissingField("event"))?;
        let phase = self.phase(name);
        let cwd = payload.text("directory")?;
        let mut members = payload.object("input")?;
        let outer = payload.text("sessionID")?;
        let session = members.text("sessionID")?.or(outer);
        let output = payload.output("output", phase);
        let (tool, input, action) = match phase {
            Phase::Before | Phase::Permission | Phase::After => {
                let tool = members.text("tool")?.ok_or(DecodeError::MissingField("input.tool"))?;
                // Before the call `output` holds them, for a plugin to change; after it, what the tool gave back.
                let changeable = payload.object("output")?.take("args")?;
                let arguments = changeable.map_or_else(|| members.take("args"), |args| Ok(Some(args)))?;
                let input = input_of(arguments, false, "args")?;
                let action = TOOLS.action(&tool, &input);
                (tool, input, action)
            }
            Phase::Other
                if asks_for_a_tool(
                    members.text("tool")?.is_some(),
                    payload.object("output")?.raw("output").is_some(),
                ) =>
            {
                return Err(DecodeError::UnknownEvent);
            }
            Phase::Config | Phase::Start | Phase::Prompt | Phase::End | Phase::Error | Phase::Other => {
                NO_TOOL
            }
        };
        Ok(Call {
            id: members.text("callID")?,
            session,
            cwd,
            tool,
            input,
            action,
            output,
            said: if phase == Phase::Prompt { users_words(payload.object("output")?)? } else { None },
            ..Call::event(self.id(), Cow::Borrowed(name), phase)
        })
    }

    fn encode_verdict(&self, _: Stoppable, call: &Call<'_>, verdict: &Verdict, terms: &Terms) -> Reply {
        let objection = match verdict.decision() {
            Decision::Allow | Decision::Contain => None,
            // A plugin has no way to ask, so the adapter denies.
            Decision::Ask | Decision::Deny => Some(Answer::Deny),
        };
        plain::encode(call, verdict, terms, objection)
    }

    fn encode_terms(&self, phase: Unstoppable, call: &Call<'_>, terms: &Terms) -> Reply {
        plain::tell(phase, call, terms)
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        plain::refuse(phase, message)
    }
}

/// The user's words, without what the client itself adds to them.
fn users_words(mut members: Members<'_>) -> Result<Option<Cow<'_, str>>, DecodeError> {
    let parts = match members.take("parts")? {
        Some(Json::List(parts)) => parts,
        _ => Vec::new(),
    };
    let own = |part: &&Json<'_>| part.get("synthetic") != Some(&Json::Bool(true));
    let texts: Vec<&str> =
        parts.iter().filter(own).filter_map(|part| part.get("text").and_then(Json::text)).collect();
    Ok((!texts.is_empty()).then(|| Cow::Owned(texts.join("\n"))))
}
