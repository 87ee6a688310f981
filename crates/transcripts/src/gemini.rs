//! Gemini CLI: `tmp/<project>/chats/session-*.jsonl`. The first line names the session; a message of the model holds its calls, once they have
//! ended. The directory stands in a file beside, which [`crate::open`] reads.

use serde_json::Value;

use crate::PastCall;
use crate::lines::{Lines, text};

#[derive(Default)]
pub(crate) struct Reader {
    session: String,
}

impl Lines for Reader {
    fn words(&self) -> &'static [&'static str] {
        &["\"projectHash\"", "\"toolCalls\""]
    }

    fn line(&mut self, mut line: Value, each: &mut dyn FnMut(PastCall)) -> Option<()> {
        if line.get("projectHash").is_some() {
            self.session = text(&line, "sessionId").unwrap_or_default();
        }
        if let Some(messages) = line.pointer_mut("/$set/messages") {
            // The client writes its messages anew now and then.
            return messages.as_array_mut()?.iter_mut().try_for_each(|message| self.message(message, each));
        }
        self.message(&mut line, each)
    }
}

impl Reader {
    fn message(&self, message: &mut Value, each: &mut dyn FnMut(PastCall)) -> Option<()> {
        let time = text(message, "timestamp");
        let Some(calls) = message.get_mut("toolCalls") else { return Some(()) };
        for call in calls.as_array_mut()? {
            each(PastCall {
                session: self.session.clone(),
                id: text(call, "id")?,
                tool: text(call, "name")?,
                input: call.get_mut("args")?.take(),
                directory: None,
                time: text(call, "timestamp").or(time.clone()),
            });
        }
        Some(())
    }
}
