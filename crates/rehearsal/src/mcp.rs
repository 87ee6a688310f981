//! An MCP server on stdio with four tools: `touch` makes a file, `echo` says what it is told, `fail` says what stands in a file, as an error. It does as it is asked
//! and guards nothing, as most of them do. `permit` stands for the user of a client that can ask one through it: somebody who
//! agrees to everything, and of each question takes the first answer.

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// The name under which clients know it.
pub const NAME: &str = "rehearsal";

/// The tool that stands for the user.
pub const USER: &str = "permit";

/// Where it is noted what else the user was asked to agree to, beside the questions.
pub fn permits(questions: &Path) -> PathBuf {
    questions.with_extension("permits")
}

/// Serves until the client closes the pipe. The questions that reach the user are noted in a file.
pub fn serve(input: impl BufRead, mut output: impl Write, questions: &Path) -> io::Result<()> {
    for line in input.lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        if let Some(answer) = answer(&message, questions) {
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
    }
    Ok(())
}

fn answer(message: &Value, questions: &Path) -> Option<Value> {
    // What has no id is a notice, and is not answered.
    let id = message.get("id")?;
    let params = message.get("params").unwrap_or(&Value::Null);
    let result = match message.get("method").and_then(Value::as_str)? {
        "initialize" => json!({
            "protocolVersion": params.get("protocolVersion").and_then(Value::as_str).unwrap_or("2024-11-05"),
            "capabilities": { "tools": {} },
            "serverInfo": { "name": NAME, "version": env!("CARGO_PKG_VERSION") },
        }),
        "ping" => json!({}),
        "tools/list" => json!({ "tools": [
            tool("touch", "Makes a file", "path"),
            tool("echo", "Says what it is told", "text"),
            tool("fail", "Fails, and says what stands in a file", "path"),
            tool(USER, "Agrees", "tool_name"),
        ] }),
        "tools/call" => call(params, questions),
        _ => {
            let error = json!({ "code": -32601, "message": "method not found" });
            return Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn tool(name: &str, description: &str, param: &str) -> Value {
    json!({
        "name": name, "description": description,
        "inputSchema": { "type": "object", "properties": { param: { "type": "string" } }, "required": [param] },
    })
}

fn call(params: &Value, questions: &Path) -> Value {
    let arguments = params.get("arguments").unwrap_or(&Value::Null);
    let argument = |name| arguments.get(name).and_then(Value::as_str);
    let said = match (params.get("name").and_then(Value::as_str), argument("path"), argument("text")) {
        (Some("touch"), Some(path), _) => fs::write(path, "touched\n")
            .map(|()| format!("touched {path}"))
            .map_err(|error| error.to_string()),
        (Some("echo"), _, Some(text)) => Ok(text.to_owned()),
        (Some("fail"), Some(path), _) => {
            Err(fs::read_to_string(path).unwrap_or_else(|error| error.to_string()))
        }
        (Some(USER), ..) => permit(arguments.get("input").unwrap_or(&Value::Null), questions)
            .map_err(|error| error.to_string()),
        _ => Err("no such tool, or an argument is missing".to_owned()),
    };
    let failed = said.is_err();
    let text = said.unwrap_or_else(|error| error);
    json!({ "content": [{ "type": "text", "text": text }], "isError": failed })
}

/// What a client wants to read of its user: that it may go on, and with what. Answers stand beside the questions.
fn permit(input: &Value, questions: &Path) -> io::Result<String> {
    let mut input = input.clone();
    let mut answers = Map::new();
    for asked in input.get("questions").and_then(Value::as_array).into_iter().flatten() {
        let question = asked.get("question").and_then(Value::as_str).unwrap_or_default();
        let first = asked.pointer("/options/0/label").cloned().unwrap_or_default();
        let mut noted = OpenOptions::new().create(true).append(true).open(questions)?;
        writeln!(noted, "{question}")?;
        answers.insert(question.to_owned(), first);
    }
    if answers.is_empty() {
        let mut noted = OpenOptions::new().create(true).append(true).open(permits(questions))?;
        writeln!(noted, "{input}")?;
    }
    if let (Some(input), false) = (input.as_object_mut(), answers.is_empty()) {
        input.insert("answers".to_owned(), answers.into());
    }
    Ok(json!({ "behavior": "allow", "updatedInput": input }).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(messages: &[Value], questions: &Path) -> Vec<Value> {
        let input = messages.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        let mut output = Vec::new();
        serve(input.as_bytes(), &mut output, questions).unwrap();
        String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn the_server_is_initialized_listed_and_called() {
        let messages = [
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-06-18" } }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }),
            json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
                "params": { "name": "echo", "arguments": { "text": "hello" } } }),
            json!({ "jsonrpc": "2.0", "id": 3, "method": "prompts/list" }),
        ];
        let answers = ask(&messages, Path::new("unused"));
        assert_eq!(answers.len(), 4);
        assert_eq!(answers[0]["result"]["protocolVersion"], "2025-06-18");
        assert_eq!(answers[1]["result"]["tools"][0]["name"], "touch");
        assert_eq!(answers[2]["result"]["content"][0]["text"], "hello");
        assert_eq!(answers[3]["error"]["code"], -32601);
    }

    #[test]
    fn a_user_agrees_and_answers_and_the_question_is_noted() {
        let file = std::env::temp_dir().join(format!("rehearsal-questions-{}", std::process::id()));
        let call = |input: Value| {
            let params = json!({ "name": USER, "arguments": { "tool_name": "Ask", "input": input } });
            let answers =
                ask(&[json!({ "jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": params })], &file);
            serde_json::from_str::<Value>(answers[0]["result"]["content"][0]["text"].as_str().unwrap())
                .unwrap()
        };
        assert_eq!(call(json!({ "a": 1 })), json!({ "behavior": "allow", "updatedInput": { "a": 1 } }));
        assert!(!file.exists());
        let question = json!({ "question": "Which?", "options": [{ "label": "one" }, { "label": "two" }] });
        let answer = call(json!({ "questions": [question] }));
        assert_eq!(answer["updatedInput"]["answers"], json!({ "Which?": "one" }));
        assert_eq!(fs::read_to_string(&file).unwrap(), "Which?\n");
        fs::remove_file(&file).unwrap();
    }
}
