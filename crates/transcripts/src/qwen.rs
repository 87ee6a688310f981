//! Qwen Code: `projects/<directory>/chats/<session>.jsonl`. A call is a part of the model's message; directory, session and time stand in the
//! line around it.

use serde_json::Value;

use crate::PastCall;
use crate::lines::{Lines, text};

pub(crate) struct Reader;

impl Lines for Reader {
    fn words(&self) -> &'static [&'static str] {
        &["\"functionCall\""]
    }

    fn line(&mut self, mut line: Value, each: &mut dyn FnMut(PastCall)) -> Option<()> {
        if line.get("type")?.as_str()? != "assistant" {
            return Some(());
        }
        let session = text(&line, "sessionId").unwrap_or_default();
        let (directory, time) = (text(&line, "cwd"), text(&line, "timestamp"));
        for part in line.get_mut("message")?.get_mut("parts")?.as_array_mut()? {
            let Some(call) = part.get_mut("functionCall") else { continue };
            each(PastCall {
                session: session.clone(),
                id: text(call, "id")?,
                tool: text(call, "name")?,
                input: call.get_mut("args")?.take(),
                directory: directory.clone(),
                time: time.clone(),
            });
        }
        Some(())
    }
}
