//! An MCP server on stdio with two tools: `touch` makes a file, `echo` says what it is told. It does as it is asked
//! and guards nothing, as most of them do.

use std::fs;
use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

/// The name under which clients know it.
pub const NAME: &str = "rehearsal";

/// Serves until the client closes the pipe.
pub fn serve(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    for line in input.lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        if let Some(answer) = answer(&message) {
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
    }
    Ok(())
}

fn answer(message: &Value) -> Option<Value> {
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
        ] }),
        "tools/call" => call(params),
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

fn call(params: &Value) -> Value {
    let argument = |name| params.get("arguments").and_then(|all| all.get(name)).and_then(Value::as_str);
    let said = match (params.get("name").and_then(Value::as_str), argument("path"), argument("text")) {
        (Some("touch"), Some(path), _) => fs::write(path, "touched\n")
            .map(|()| format!("touched {path}"))
            .map_err(|error| error.to_string()),
        (Some("echo"), _, Some(text)) => Ok(text.to_owned()),
        _ => Err("no such tool, or an argument is missing".to_owned()),
    };
    let failed = said.is_err();
    let text = said.unwrap_or_else(|error| error);
    json!({ "content": [{ "type": "text", "text": text }], "isError": failed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(messages: &[Value]) -> Vec<Value> {
        let input = messages.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        let mut output = Vec::new();
        serve(input.as_bytes(), &mut output).unwrap();
        String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn it_is_opened_listed_and_called() {
        let answers = ask(&[
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-06-18" } }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }),
            json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
                "params": { "name": "echo", "arguments": { "text": "hello" } } }),
            json!({ "jsonrpc": "2.0", "id": 3, "method": "prompts/list" }),
        ]);
        assert_eq!(answers.len(), 4);
        assert_eq!(answers[0]["result"]["protocolVersion"], "2025-06-18");
        assert_eq!(answers[1]["result"]["tools"][0]["name"], "touch");
        assert_eq!(answers[2]["result"]["content"][0]["text"], "hello");
        assert_eq!(answers[3]["error"]["code"], -32601);
    }
}
