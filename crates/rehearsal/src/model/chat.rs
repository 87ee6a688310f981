//! OpenAI's `chat/completions`, as a stream and plain.

use serde_json::{Value, json};

use super::http::Answer;
use super::{Call, DONE, Input, ModelReply, ModelRequest, list, text_of, word};

pub(super) fn read_request(body: &Value) -> ModelRequest {
    let mut request =
        ModelRequest { stream: body.get("stream") == Some(&Value::Bool(true)), ..ModelRequest::default() };
    for tool in list(body, "tools") {
        let definition = tool.get("function").or_else(|| tool.get("custom")).unwrap_or(tool);
        request.offered.push(word(definition, "name").to_owned());
    }
    let mut begun = false;
    for message in list(body, "messages") {
        let text = message.get("content").map(text_of).unwrap_or_default();
        match word(message, "role") {
            "assistant" => {
                begun = true;
                request.calls += list(message, "tool_calls").len();
            }
            "tool" => request.results.push(text),
            _ => request.text(&text, begun),
        }
    }
    request
}

pub(super) fn say(said: &ModelReply<'_>, stream: bool) -> Answer {
    let reason = if said.calls.is_empty() { "stop" } else { "tool_calls" };
    let usage = json!({ "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 });
    let calls: Vec<Value> =
        said.calls.iter().enumerate().map(|(place, call)| tool_call(said, place, call)).collect();
    let message = if calls.is_empty() {
        json!({ "role": "assistant", "content": DONE })
    } else {
        json!({ "role": "assistant", "content": null, "tool_calls": calls })
    };
    let whole = |object: &str, choice: Value| json!({ "id": "chatcmpl-1", "object": object, "created": 1, "model": said.model, "choices": [choice] });
    if !stream {
        let mut answer = whole(
            "chat.completion",
            json!({ "index": 0, "message": message, "finish_reason": reason, "logprobs": null }),
        );
        if let Some(answer) = answer.as_object_mut() {
            answer.insert("usage".to_owned(), usage);
        }
        return Answer::json(&answer);
    }
    let chunk = |delta: &Value, reason: Option<&str>| {
        whole("chat.completion.chunk", json!({ "index": 0, "delta": delta, "finish_reason": reason }))
    };
    let mut last = chunk(&json!({}), Some(reason));
    if let Some(last) = last.as_object_mut() {
        last.insert("usage".to_owned(), usage);
    }
    let data = [chunk(&message, None).to_string(), last.to_string(), "[DONE]".to_owned()];
    Answer::events(data.into_iter().map(|data| ("", data)))
}

fn tool_call(said: &ModelReply<'_>, place: usize, call: &Call) -> Value {
    let id = said.id(place);
    match &call.input {
        Input::Json(input) => json!({
            "index": place, "id": id, "type": "function",
            "function": { "name": call.tool, "arguments": input.to_string() },
        }),
        Input::Text(input) => json!({
            "index": place, "id": id, "type": "custom",
            "custom": { "name": call.tool, "input": input },
        }),
    }
}
