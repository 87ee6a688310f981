//! OpenAI's `responses`, as a stream and plain.

use serde_json::{Value, json};

use super::http::Answer;
use super::{Call, DONE, Input, ModelReply, ModelRequest, list, text_of, word};

pub(super) fn read_request(body: &Value) -> ModelRequest {
    let mut request =
        ModelRequest { stream: body.get("stream") == Some(&Value::Bool(true)), ..ModelRequest::default() };
    request.text(word(body, "instructions"), false);
    offers(&mut request, list(body, "tools"));
    let mut begun = false;
    for item in list(body, "input") {
        match word(item, "type") {
            "function_call" | "custom_tool_call" | "local_shell_call" => {
                begun = true;
                request.calls += 1;
            }
            "function_call_output" | "custom_tool_call_output" => {
                request.results.push(item.get("output").map(text_of).unwrap_or_default());
            }
            // Newer models get their tools among the messages.
            "additional_tools" => offers(&mut request, list(item, "tools")),
            "message" | "" => {
                let text = item.get("content").map(text_of).unwrap_or_default();
                if word(item, "role") == "assistant" {
                    begun = true;
                } else {
                    request.text(&text, begun);
                }
            }
            _ => {}
        }
    }
    request
}

/// Tools may be grouped; a group's tools are told as `group.tool`.
fn offers(request: &mut ModelRequest, tools: &[Value]) {
    for tool in tools {
        let name = match word(tool, "name") {
            "" => word(tool, "type"),
            name => name,
        };
        match list(tool, "tools") {
            [] => request.offered.push(name.to_owned()),
            grouped => {
                request.offered.extend(grouped.iter().map(|tool| format!("{name}.{}", word(tool, "name"))));
            }
        }
    }
}

pub(super) fn say(said: &ModelReply<'_>, stream: bool) -> Answer {
    let mut items: Vec<Value> =
        said.calls.iter().enumerate().map(|(place, call)| item(call, &said.id(place))).collect();
    if items.is_empty() {
        let content = json!([{ "type": "output_text", "text": DONE, "annotations": [] }]);
        items.push(json!({
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content,
        }));
    }
    let response = |status: &str, output: &[Value]| {
        json!({
            "id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": said.model,
            "output": output, "parallel_tool_calls": true, "tools": [],
            "usage": {
                "input_tokens": 1, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": 1,
                "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 2,
            },
        })
    };
    if !stream {
        return Answer::json(&response("completed", &items));
    }
    let mut events = vec![("response.created", json!({ "response": response("in_progress", &[]) }))];
    for (place, item) in items.iter().enumerate() {
        events.push(("response.output_item.added", json!({ "output_index": place, "item": item })));
        events.push(("response.output_item.done", json!({ "output_index": place, "item": item })));
    }
    events.push(("response.completed", json!({ "response": response("completed", &items) })));
    Answer::events(events.into_iter().enumerate().map(|(number, (name, mut data))| {
        if let Some(data) = data.as_object_mut() {
            data.insert("type".to_owned(), name.into());
            data.insert("sequence_number".to_owned(), number.into());
        }
        (name, data.to_string())
    }))
}

fn item(call: &Call, id: &str) -> Value {
    let mut item = match &call.input {
        Input::Json(input) => {
            json!({ "type": "function_call", "name": call.tool, "arguments": input.to_string() })
        }
        Input::Text(input) => json!({ "type": "custom_tool_call", "name": call.tool, "input": input }),
    };
    if let Some(item) = item.as_object_mut() {
        item.insert("id".to_owned(), format!("item_{id}").into());
        item.insert("call_id".to_owned(), id.into());
        item.insert("status".to_owned(), "completed".into());
        if let Some(group) = &call.group {
            item.insert("namespace".to_owned(), group.as_str().into());
        }
    }
    item
}
