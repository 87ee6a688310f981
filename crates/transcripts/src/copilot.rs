//! Copilot CLI: `session-state/<session>/events.jsonl`. The first event names session and directory; a call stands in an assistant's message,
//! helpers' among them.

use serde_json::Value;

use crate::PastCall;
use crate::lines::{Lines, text};

#[derive(Default)]
pub(crate) struct Reader {
    session: String,
    directory: Option<String>,
}

impl Lines for Reader {
    fn words(&self) -> &'static [&'static str] {
        &["\"session.start\"", "\"session.resume\"", "\"assistant.message\""]
    }

    fn line(&mut self, mut line: Value, each: &mut dyn FnMut(PastCall)) -> Option<()> {
        let kind = text(&line, "type")?;
        let time = text(&line, "timestamp");
        let data = line.get_mut("data")?;
        match kind.as_str() {
            "session.start" | "session.resume" => {
                self.session = text(data, "sessionId").unwrap_or(std::mem::take(&mut self.session));
                let told = data.get("context").and_then(|context| text(context, "cwd"));
                self.directory = told.or(self.directory.take());
            }
            "assistant.message" => {
                let Some(requests) = data.get_mut("toolRequests").and_then(Value::as_array_mut) else {
                    return Some(());
                };
                for request in requests {
                    each(PastCall {
                        session: self.session.clone(),
                        id: text(request, "toolCallId")?,
                        tool: text(request, "name")?,
                        input: request.get_mut("arguments").map(Value::take).unwrap_or_default(),
                        directory: self.directory.clone(),
                        time: time.clone(),
                    });
                }
            }
            _ => {}
        }
        Some(())
    }
}
