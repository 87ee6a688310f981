//! Anthropic's `messages`, as a stream and plain.

use serde_json::{Value, json};

use super::http::Answer;
use super::{DONE, ModelReply, ModelRequest, list, text_of, word};

pub(super) fn read_request(body: &Value) -> ModelRequest {
    let mut request =
        ModelRequest { stream: body.get("stream") == Some(&Value::Bool(true)), ..ModelRequest::default() };
    request.offered = list(body, "tools").iter().map(|tool| word(tool, "name").to_owned()).collect();
    request.text(&body.get("system").map(text_of).unwrap_or_default(), false);
    let mut begun = false;
    for message in list(body, "messages") {
        let assistant = word(message, "role") == "assistant";
        begun |= assistant;
        let Some(Value::Array(parts)) = message.get("content") else {
            if !assistant {
                request.text(word(message, "content"), begun);
            }
            continue;
        };
        for part in parts {
            match word(part, "type") {
                "tool_use" => request.calls += 1,
                "tool_result" => request.results.push(part.get("content").map(text_of).unwrap_or_default()),
                _ if assistant => {}
                _ => request.text(&text_of(part), begun),
            }
        }
    }
    request
}

pub(super) fn say(said: &ModelReply<'_>, stream: bool) -> Answer {
    let reason = if said.calls.is_empty() { "end_turn" } else { "tool_use" };
    let mut blocks: Vec<Value> = said
        .calls
        .iter()
        .enumerate()
        .map(|(place, call)| {
            let id = format!("toolu_{}", said.id(place));
            json!({ "type": "tool_use", "id": id, "name": call.tool, "input": call.arguments() })
        })
        .collect();
    if blocks.is_empty() {
        blocks.push(json!({ "type": "text", "text": DONE }));
    }
    let message = |content: &[Value], reason: Option<&str>| {
        json!({
            "id": format!("msg_{}", said.turn), "type": "message", "role": "assistant", "model": said.model,
            "content": content, "stop_reason": reason, "stop_sequence": null,
            "usage": { "input_tokens": 1, "output_tokens": 1 },
        })
    };
    if !stream {
        return Answer::json(&message(&blocks, Some(reason)));
    }
    let mut events = vec![json!({ "type": "message_start", "message": message(&[], None) })];
    for (place, block) in blocks.iter().enumerate() {
        let (empty, delta) = opened(block);
        events.push(json!({ "type": "content_block_start", "index": place, "content_block": empty }));
        events.push(json!({ "type": "content_block_delta", "index": place, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": place }));
    }
    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
    events.push(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 1 } }));
    events.push(json!({ "type": "message_stop" }));
    Answer::events(events.iter().map(|event| (word(event, "type"), event.to_string())))
}

/// A block as a stream opens it, and the one piece that fills it.
fn opened(block: &Value) -> (Value, Value) {
    if word(block, "type") == "text" {
        let delta = json!({ "type": "text_delta", "text": word(block, "text") });
        return (json!({ "type": "text", "text": "" }), delta);
    }
    let input = block.get("input").cloned().unwrap_or_default().to_string();
    let empty = json!({ "type": "tool_use", "id": block.get("id"), "name": block.get("name"), "input": {} });
    (empty, json!({ "type": "input_json_delta", "partial_json": input }))
}
