//! Claude Code: `projects/<directory>/<session>.jsonl`, and those of helpers in `<session>/subagents`. A call is a part of an assistant's
//! message; directory, session and time stand in the line around it.

use serde_json::Value;

use crate::PastCall;
use crate::lines::{Lines, text};

pub(crate) struct Reader;

impl Lines for Reader {
    fn words(&self) -> &'static [&'static str] {
        &["\"tool_use\""]
    }

    fn line(&mut self, mut line: Value, each: &mut dyn FnMut(PastCall)) -> Option<()> {
        // The client also keeps what it has sent and shown, with the calls of earlier messages in it.
        if line.get("type")?.as_str()? != "assistant" {
            return Some(());
        }
        let session = text(&line, "sessionId").unwrap_or_default();
        let (directory, time) = (text(&line, "cwd"), text(&line, "timestamp"));
        let parts = line.get_mut("message")?.get_mut("content")?.as_array_mut()?;
        for part in parts.iter_mut().filter(|part| part.get("type").is_some_and(|kind| kind == "tool_use")) {
            each(PastCall {
                session: session.clone(),
                id: text(part, "id")?,
                tool: text(part, "name")?,
                input: part.get_mut("input")?.take(),
                directory: directory.clone(),
                time: time.clone(),
            });
        }
        Some(())
    }
}
