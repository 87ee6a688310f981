//! What of a call goes into the record: what it named, never what it carried.

use std::time::SystemTime;

use toolgate_evidence::{Digest, Draft};
use toolgate_model::{Call, Decision, FindingKind, Json, MAX_MESSAGE, Places, Verdict, shorten};
use toolgate_secrets::redact;

/// Parameters that say what a call is about. Contents, prompts and answers are not among them: they are in the
/// digest of the input, and nowhere else.
const TELLING: &[&str] = &[
    "agent",
    "cell_id",
    "command",
    "cron",
    "description",
    "dest",
    "destination",
    "directory",
    "file",
    "file_path",
    "filename",
    "glob",
    "name",
    "notebook_path",
    "path",
    "pattern",
    "query",
    "scriptPath",
    "skill",
    "source",
    "subagent_type",
    "target_file",
    "uri",
    "url",
];

/// The record of a call and its verdict.
pub fn draft(call: &Call<'_>, verdict: &Verdict, places: &Places, time: SystemTime) -> Draft {
    let mut draft = about(call, time).verdict(verdict);
    if let Some(root) = &places.root {
        draft = draft.root(redact(&root.lexical.to_string_lossy()));
    }
    draft
}

/// The record of a call that could not be judged; `None` where not even the event could be read.
pub fn failure(host: &'static str, call: Option<&Call<'_>>, message: &str, time: SystemTime) -> Draft {
    let draft = match call {
        Some(call) => about(call, time),
        None => Draft::new(time, host, redact("unreadable")),
    };
    let message = redact(&shorten(message, MAX_MESSAGE));
    draft.decision(Decision::Deny).finding(
        "failure",
        FindingKind::Failure,
        Decision::Deny,
        redact(""),
        message,
    )
}

fn about(call: &Call<'_>, time: SystemTime) -> Draft {
    let text = |text: Option<&str>| redact(text.unwrap_or_default());
    let mut draft = Draft::new(time, call.host, redact(&call.event))
        .session(text(call.session.as_deref()))
        .agent(text(call.agent.id.as_deref().or(call.agent.kind.as_deref())))
        .tool(redact(&call.tool));
    if let Json::Object(members) = &call.input {
        for (name, value) in members {
            if let (true, Json::Text(value)) = (TELLING.contains(&&**name), value) {
                draft = draft.arg(redact(name), redact(value));
            }
        }
        if let Ok(input) = serde_json::to_vec(&call.input) {
            draft = draft.input(Digest::of(&input));
        }
    }
    draft
}
