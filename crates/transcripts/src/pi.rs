//! pi: `sessions/--<directory>--/<time>_<id>.jsonl`. The head names session and directory; a call is a part of an assistant's message.

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
        &["\"session\"", "\"toolCall\""]
    }

    fn line(&mut self, mut line: Value, each: &mut dyn FnMut(PastCall)) -> Option<()> {
        match line.get("type")?.as_str()? {
            "session" => {
                self.session = text(&line, "id").unwrap_or_default();
                self.directory = text(&line, "cwd");
            }
            "message" => {
                let time = text(&line, "timestamp");
                let message = line.get_mut("message")?;
                // A user's own command is a message too, and no call of the agent's.
                if message.get("role")?.as_str()? != "assistant" {
                    return Some(());
                }
                let parts = message.get_mut("content")?.as_array_mut()?;
                for part in
                    parts.iter_mut().filter(|part| part.get("type").is_some_and(|kind| kind == "toolCall"))
                {
                    each(PastCall {
                        session: self.session.clone(),
                        id: text(part, "id")?,
                        tool: text(part, "name")?,
                        input: part.get_mut("arguments")?.take(),
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
