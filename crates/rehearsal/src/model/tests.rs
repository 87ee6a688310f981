//! Each wire is spoken to as a client speaks it, over a real socket.

use std::io::{Read, Write};

use super::*;

fn script() -> Script {
    let write = |path: &str| vec![Call::json("write", json!({ "path": path }))];
    Script { main: vec![write("a"), write("b")], sub: vec![write("sub")] }
}

fn post(model: &Model, target: &str, body: &Value) -> String {
    let body = body.to_string();
    let mut stream = TcpStream::connect(model.address).unwrap();
    let length = body.len();
    write!(stream, "POST {target} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    body.to_owned()
}

/// The data of a stream's events.
fn events(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn plain(body: &str) -> Value {
    serde_json::from_str(body).unwrap()
}

#[test]
fn chat_completions_play_turn_after_turn() {
    let model = Model::start(script()).unwrap();
    let ask = |messages: Value, stream: bool| {
        let tools = json!([{ "type": "function", "function": { "name": "write" } }]);
        let body = json!({ "model": "m", "stream": stream, "tools": tools, "messages": messages });
        post(&model, "/v1/chat/completions", &body)
    };
    let prompt = json!({ "role": "user", "content": "begin" });
    let first = events(&ask(json!([prompt]), true));
    let call = &first[0]["choices"][0]["delta"]["tool_calls"][0];
    assert_eq!(call["function"]["arguments"], r#"{"path":"a"}"#);
    assert_eq!(first[1]["choices"][0]["finish_reason"], "tool_calls");

    let assistant = json!({ "role": "assistant", "tool_calls": [call] });
    let result =
        json!({ "role": "tool", "tool_call_id": call["id"], "content": [{ "type": "text", "text": "no" }] });
    let second = plain(&ask(json!([prompt, assistant, result]), false));
    let call = &second["choices"][0]["message"]["tool_calls"][0];
    assert_eq!(call["function"]["arguments"], r#"{"path":"b"}"#);
    assert_eq!(ask(json!([prompt, assistant, result]), false), second.to_string(), "asked again, said again");

    let end = plain(&ask(json!([prompt, assistant, result, assistant, result]), false));
    assert_eq!(end["choices"][0]["message"]["content"], DONE);

    let seen = model.seen();
    assert_eq!((seen.turns, seen.results.as_slice()), (4, ["no".to_owned()].as_slice()));
    assert_eq!(seen.offered[0], ["write"]);
}

#[test]
fn the_marker_in_the_first_prompt_makes_a_sub_agent_and_a_later_one_does_not() {
    let model = Model::start(script()).unwrap();
    let ask = |messages: Value| {
        let tools = json!([{ "type": "function", "function": { "name": "write" } }]);
        let body = json!({ "model": "m", "tools": tools, "messages": messages });
        plain(&post(&model, "/v1/chat/completions", &body))["choices"][0]["message"]["tool_calls"][0].clone()
    };
    let sub = ask(json!([{ "role": "user", "content": format!("{SUB_AGENT} begin") }]));
    assert_eq!(sub["function"]["arguments"], r#"{"path":"sub"}"#);
    let begun = json!({ "role": "assistant", "tool_calls": [sub] });
    let told = json!({ "role": "user", "content": format!("{SUB_AGENT} has ended") });
    let main = ask(json!([{ "role": "user", "content": "begin" }, begun, told]));
    assert_eq!(main["function"]["arguments"], r#"{"path":"b"}"#);
    assert!(model.seen().sub_agent);
}

#[test]
fn a_question_without_tools_gets_a_text() {
    let model = Model::start(script()).unwrap();
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "a title" }] });
    let answer = plain(&post(&model, "/v1/chat/completions", &body));
    assert_eq!(answer["choices"][0]["message"]["content"], DONE);
    assert_eq!(model.seen().turns, 0);
}

#[test]
fn responses_call_functions_free_text_tools_and_groups() {
    let grouped = Call { group: Some("team".to_owned()), ..Call::json("spawn", json!({ "message": "go" })) };
    let calls = vec![Call::text("apply_patch", "*** Begin Patch".to_owned()), grouped];
    let model = Model::start(Script { main: vec![calls], sub: vec![] }).unwrap();
    let tools = json!([
        { "type": "custom", "name": "apply_patch" },
        { "type": "namespace", "name": "team", "tools": [{ "name": "spawn" }] },
        { "type": "web_search" },
    ]);
    let ask = |input: Value, stream: bool| {
        post(
            &model,
            "/v1/responses",
            &json!({ "model": "m", "stream": stream, "tools": tools, "input": input }),
        )
    };
    let prompt =
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "begin" }] });
    let events = events(&ask(json!([prompt]), true));
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let item = ["response.output_item.added", "response.output_item.done"];
    assert_eq!(kinds, [&["response.created"], &item[..], &item[..], &["response.completed"]].concat());
    assert_eq!(events[2]["item"]["input"], "*** Begin Patch");
    assert_eq!(events[4]["item"]["namespace"], "team");

    let output = |output: Value| json!({ "type": "function_call_output", "call_id": "c", "output": output });
    let (text, parts) = (output(json!("refused")), output(json!([{ "type": "input_text", "text": "also" }])));
    let last = plain(&ask(json!([prompt, events[2]["item"], text, events[4]["item"], parts]), false));
    assert_eq!(last["output"][0]["content"][0]["text"], DONE);
    assert_eq!(model.seen().results, ["refused", "also"]);
    assert_eq!(model.seen().offered[0], ["apply_patch", "team.spawn", "web_search"]);
}

#[test]
fn messages_stream_a_tool_use_and_read_its_result() {
    let model = Model::start(script()).unwrap();
    let ask = |messages: Value, stream: bool| {
        let body = json!({
            "model": "m", "stream": stream, "tools": [{ "name": "write" }],
            "system": [{ "type": "text", "text": "be good" }], "messages": messages,
        });
        post(&model, "/v1/messages?beta=true", &body)
    };
    let prompt = json!({ "role": "user", "content": "begin" });
    let first = events(&ask(json!([prompt]), true));
    assert_eq!(first[1]["content_block"]["name"], "write");
    assert_eq!(first[2]["delta"]["partial_json"], r#"{"path":"a"}"#);
    assert_eq!(first[4]["delta"]["stop_reason"], "tool_use");

    let call = json!({ "role": "assistant", "content": [first[1]["content_block"]] });
    let result = json!({ "type": "tool_result", "tool_use_id": "t", "is_error": true, "content": "refused" });
    let reminder = json!({ "type": "text", "text": "remember" });
    let told = json!({ "role": "user", "content": [result, reminder] });
    let second = plain(&ask(json!([prompt, call, told]), false));
    assert_eq!(second["content"][0]["input"], json!({ "path": "b" }));
    assert_eq!(model.seen().results, ["refused"]);
    assert_eq!(model.seen().texts, ["be good", "begin", "remember"]);
}

#[test]
fn gemini_streams_a_function_call_and_reads_its_response() {
    let model = Model::start(script()).unwrap();
    let ask = |contents: Value, how: &str| {
        let body = json!({
            "tools": [{ "functionDeclarations": [{ "name": "write" }] }],
            "systemInstruction": { "role": "user", "parts": [{ "text": "be good" }] }, "contents": contents,
        });
        post(&model, &format!("/v1beta/models/m:{how}"), &body)
    };
    let prompt = json!({ "role": "user", "parts": [{ "text": "begin" }] });
    let first = events(&ask(json!([prompt]), "streamGenerateContent?alt=sse"));
    let part = &first[0]["candidates"][0]["content"]["parts"][0];
    assert_eq!(part["functionCall"]["args"], json!({ "path": "a" }));

    let response = json!({ "functionResponse": { "name": "write", "response": { "error": "refused" } } });
    let contents =
        json!([prompt, { "role": "model", "parts": [part] }, { "role": "user", "parts": [response] }]);
    let second = plain(&ask(contents, "generateContent"));
    assert_eq!(
        second["candidates"][0]["content"]["parts"][0]["functionCall"]["args"],
        json!({ "path": "b" })
    );
    assert_eq!(model.seen().results, ["refused"]);
}

#[test]
fn a_chunked_body_is_joined_and_an_unknown_request_is_kept() {
    let model = Model::start(script()).unwrap();
    let mut stream = TcpStream::connect(model.address).unwrap();
    let body = "5\r\n{\"mod\r\n9\r\nel\": \"m\"}\r\n0\r\n\r\n";
    write!(stream, "POST /v1/chat/completions HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("\"model\":\"m\""), "{answer}");

    let mut stream = TcpStream::connect(model.address).unwrap();
    write!(stream, "GET /v1/else HTTP/1.1\r\n\r\n").unwrap();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(model.seen().strange, ["GET /v1/else"]);
}

#[test]
fn a_text_that_was_sent_is_found_in_every_form() {
    let seen = |body: Value| Seen { bodies: vec![body.to_string()], ..Seen::default() };
    let inner = json!({ "output": "a \"b\"\nc" }).to_string();
    assert!(seen(json!({ "text": "x a \"b\"\nc x" })).was_shown("a \"b\"\nc"));
    assert!(seen(json!([{ "part": inner }])).was_shown("a \"b\"\nc"));
    assert!(seen(json!({ "text": inner })).was_shown("output"));
    assert!(!seen(json!({ "text": "a b c" })).was_shown("a \"b\"\nc"));
    let escaped = Seen { bodies: vec![r#"{"text":"jane\u0040x.org"}"#.to_owned()], ..Seen::default() };
    assert!(escaped.was_shown("jane@x.org"));
}
