//! Gemini's `streamGenerateContent?alt=sse` and `generateContent`.

use serde_json::{Value, json};

use super::http::Answer;
use super::{DONE, ModelReply, ModelRequest, list, text_of, word};

pub(super) fn read_request(body: &Value, path: &str) -> ModelRequest {
    let mut request =
        ModelRequest { stream: path.ends_with(":streamGenerateContent"), ..ModelRequest::default() };
    for tool in list(body, "tools") {
        request
            .offered
            .extend(list(tool, "functionDeclarations").iter().map(|one| word(one, "name").to_owned()));
    }
    if let Some(instruction) = body.get("systemInstruction") {
        request.text(&text_of(&Value::from(list(instruction, "parts").to_vec())), false);
    }
    let mut begun = false;
    for content in list(body, "contents") {
        let model = word(content, "role") == "model";
        begun |= model;
        for part in list(content, "parts") {
            if part.get("functionCall").is_some() {
                request.calls += 1;
            } else if let Some(response) = part.get("functionResponse") {
                request.results.push(said_by_tool(response.get("response").unwrap_or(&Value::Null)));
            } else if !model {
                request.text(&text_of(part), begun);
            }
        }
    }
    request
}

/// A tool's answer is `{"output": text}` or `{"error": text}`.
fn said_by_tool(response: &Value) -> String {
    match response.get("output").or_else(|| response.get("error")) {
        Some(Value::String(text)) => text.clone(),
        _ => response.to_string(),
    }
}

pub(super) fn say(said: &ModelReply<'_>, stream: bool) -> Answer {
    let mut parts: Vec<Value> = said
        .calls
        .iter()
        .enumerate()
        .map(|(place, call)| {
            json!({ "functionCall": { "id": said.id(place), "name": call.tool, "args": call.arguments() } })
        })
        .collect();
    if parts.is_empty() {
        parts.push(json!({ "text": DONE }));
    }
    let answer = json!({
        "candidates": [{
            "index": 0, "content": { "role": "model", "parts": parts }, "finishReason": "STOP",
        }],
        "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 },
        "modelVersion": said.model, "responseId": said.turn,
    });
    if stream { Answer::events([("", answer.to_string())]) } else { Answer::json(&answer) }
}
