//! Codex CLI: `sessions/YYYY/MM/DD/rollout-*.jsonl`, older ones compressed. The head names the session; each turn names its directory; a call is
//! an item of the model's answer. The tools bear the names that the model uses; its hooks call every shell tool `Bash`.

use serde_json::{Value, json};

use crate::PastCall;
use crate::lines::{Lines, text};

#[derive(Default)]
pub(crate) struct Reader {
    session: String,
    directory: Option<String>,
}

impl Lines for Reader {
    fn words(&self) -> &'static [&'static str] {
        &[
            "\"session_meta\"",
            "\"turn_context\"",
            "\"function_call\"",
            "\"custom_tool_call\"",
            "\"local_shell_call\"",
        ]
    }

    fn line(&mut self, line: Value, each: &mut dyn FnMut(PastCall)) -> Option<()> {
        let payload = line.get("payload")?;
        match line.get("type")?.as_str()? {
            "session_meta" => {
                self.session = text(payload, "id").unwrap_or_default();
                self.directory = text(payload, "cwd");
            }
            "turn_context" => self.directory = text(payload, "cwd").or(self.directory.take()),
            "response_item" => {
                let Item::Call { tool, input } = item(payload)? else { return Some(()) };
                let directory = self.directory.clone();
                each(PastCall {
                    session: self.session.clone(),
                    id: text(payload, "call_id")?,
                    tool,
                    input,
                    directory,
                    time: text(&line, "timestamp"),
                });
            }
            _ => {}
        }
        Some(())
    }
}

/// An item of the model's answer.
enum Item {
    Call {
        tool: String,
        input: Value,
    },
    /// What it said, thought or was given back.
    Other,
}

fn item(item: &Value) -> Option<Item> {
    let name = || text(item, "name");
    let bash = |command: String| Item::Call { tool: "Bash".to_owned(), input: json!({ "command": command }) };
    Some(match item.get("type")?.as_str()? {
        "function_call" => {
            let input: Value = serde_json::from_str(item.get("arguments")?.as_str()?).ok()?;
            match name()?.as_str() {
                "shell" | "container.exec" => bash(spoken(input.get("command")?)?),
                "shell_command" => bash(text(&input, "command")?),
                other => Item::Call { tool: other.to_owned(), input },
            }
        }
        "local_shell_call" => bash(spoken(item.get("action")?.get("command")?)?),
        // The whole input is one text: a patch, or a script.
        "custom_tool_call" => Item::Call { tool: name()?, input: json!({ "command": text(item, "input")? }) },
        _ => Item::Other,
    })
}

/// The words of a command as a shell would be given them: `bash -lc TEXT` is the text.
fn spoken(words: &Value) -> Option<String> {
    let words: Vec<&str> = words.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?;
    if let [shell, "-c" | "-lc", text] = words.as_slice()
        && ["bash", "sh", "zsh"].iter().any(|known| shell.rsplit('/').next() == Some(known))
    {
        return Some((*text).to_owned());
    }
    let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    Some(quoted.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_command_become_what_a_shell_is_given() {
        for (words, text) in [
            (json!(["bash", "-lc", "ls | wc"]), "ls | wc"),
            (json!(["/usr/bin/zsh", "-c", "a"]), "a"),
            (json!(["rm", "-rf", "it's"]), r"'rm' '-rf' 'it'\''s'"),
        ] {
            assert_eq!(spoken(&words).as_deref(), Some(text));
        }
        assert_eq!(spoken(&json!(["a", 1])), None);
    }
}
