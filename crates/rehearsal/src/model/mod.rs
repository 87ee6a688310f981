//! A model that does as it is told: a server on loopback that answers each request of a client with the next turn
//! of a script, and keeps what it was shown.
//!
//! It speaks the four wires that the clients know, one file each. It keeps no conversation: which turn is next is
//! read from the conversation that the client sends, by the calls in it. So a request that a client repeats gets
//! the same answer.

mod anthropic;
mod chat;
mod gemini;
mod http;
mod responses;

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

use self::http::Answer;

/// In the prompt of a sub-agent: from here on the script of the sub-agent counts.
pub const SUB_AGENT: &str = "[sub-agent of the rehearsal]";

/// In what a tool is called with: the last file of those that the client has named to the model, and that is there.
pub const NAMED_FILE: &str = "{named-file}";

/// What a model says when its script has ended, and when it is asked something beside it (a title, a summary).
const DONE: &str = "done";

/// How a client talks to its model; the path of a request says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wire {
    /// OpenAI's `chat/completions`.
    Chat,
    /// OpenAI's `responses`.
    Responses,
    /// Anthropic's `messages`.
    Anthropic,
    /// Gemini's `generateContent` and `streamGenerateContent`.
    Gemini,
}

/// What a tool is called with.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Arguments, a JSON object.
    Json(Value),
    /// Free text, for tools that take no JSON.
    Text(String),
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The client's name of the tool.
    pub tool: String,
    /// The group that the tool is offered in, where the wire knows groups.
    pub group: Option<String>,
    /// What it is called with.
    pub input: Input,
}

impl Call {
    /// A call with arguments.
    pub fn json(tool: &str, input: Value) -> Call {
        Call { tool: tool.to_owned(), group: None, input: Input::Json(input) }
    }

    /// A call with free text.
    pub fn text(tool: &str, input: String) -> Call {
        Call { tool: tool.to_owned(), group: None, input: Input::Text(input) }
    }

    /// The input as the text of a JSON object. Where a wire knows no free text, the text is the one argument.
    fn arguments(&self) -> Value {
        match &self.input {
            Input::Json(value) => value.clone(),
            Input::Text(text) => json!({ "input": text }),
        }
    }
}

/// The calls that are made at once. After the last turn the model says that it is done.
pub type Turn = Vec<Call>;

/// What the agent does, and what a sub-agent does that it starts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    /// The agent's turns.
    pub main: Vec<Turn>,
    /// The sub-agent's.
    pub sub: Vec<Turn>,
}

/// What the model was shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Requests that carried tools: the turns that were played.
    pub turns: usize,
    /// The results of tools, each once, in the order in which they came.
    pub results: Vec<String>,
    /// All other texts (prompts, reminders), each once.
    pub texts: Vec<String>,
    /// For each request with tools, their names.
    pub offered: Vec<Vec<String>>,
    /// A sub-agent has asked.
    pub sub_agent: bool,
    /// Requests that no wire understood.
    pub strange: Vec<String>,
    /// All that was sent, as it came.
    pub bodies: Vec<String>,
}

impl Seen {
    /// One of the results contains the text.
    pub fn result_says(&self, text: &str) -> bool {
        self.results.iter().any(|result| result.contains(text))
    }

    /// Anything that was sent contains the text: as it came, in a string, or in a string of JSON that is itself one.
    pub fn was_shown(&self, text: &str) -> bool {
        self.bodies.iter().any(|body| body.contains(text) || says(&Value::String(body.clone()), text))
    }
}

fn says(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => {
            let inner = || serde_json::from_str::<Value>(string).ok().filter(|inner| !inner.is_number());
            string.contains(text) || inner().is_some_and(|inner| says(&inner, text))
        }
        Value::Array(values) => values.iter().any(|value| says(value, text)),
        Value::Object(members) => {
            members.iter().any(|(name, value)| name.contains(text) || says(value, text))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A request in words that all wires share.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ModelRequest {
    /// The answer is wanted as a stream.
    stream: bool,
    /// Names of the tools on offer.
    offered: Vec<String>,
    /// The texts that come before the model's first word: instructions and the first prompt.
    opening: String,
    /// The model's calls so far.
    calls: usize,
    /// Results of tools.
    results: Vec<String>,
    /// Other texts.
    texts: Vec<String>,
}

impl ModelRequest {
    /// A text of the person or of the client.
    fn text(&mut self, text: &str, begun: bool) {
        if !begun {
            self.opening.push_str(text);
            self.opening.push('\n');
        }
        self.texts.push(text.to_owned());
    }
}

/// What the model says: the calls of a turn, or a text if there are none.
#[derive(Debug)]
struct ModelReply<'a> {
    /// A name for this turn, from which ids are made.
    turn: String,
    calls: &'a [Call],
    /// The name of the model that was asked for.
    model: String,
}

impl ModelReply<'_> {
    fn id(&self, place: usize) -> String {
        format!("call_{}_{place}", self.turn)
    }
}

/// A model on loopback. It ends with the value.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    script: Arc<Mutex<Script>>,
    seen: Arc<Mutex<Seen>>,
    ended: Arc<AtomicBool>,
}

impl Model {
    /// Starts a model that plays the script.
    pub fn start(script: Script) -> io::Result<Model> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let seen = Arc::new(Mutex::new(Seen::default()));
        let ended = Arc::new(AtomicBool::new(false));
        let script = Arc::new(Mutex::new(script));
        let (played, all, stop) = (Arc::clone(&script), Arc::clone(&seen), Arc::clone(&ended));
        thread::Builder::new().name("model".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (script, seen) = (Arc::clone(&played), Arc::clone(&all));
                // A request that cannot be read or answered is the client's to report.
                let _ = thread::Builder::new().spawn(move || {
                    let script = script.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    serve(&stream, &script, &seen)
                });
            }
        })?;
        Ok(Model { address, script, seen, ended })
    }

    /// Plays another script from here on, to the next session.
    pub fn play(&self, script: Script) {
        *self.script.lock().unwrap_or_else(PoisonError::into_inner) = script;
    }

    /// Where it is, without a final slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was shown so far.
    pub fn seen(&self) -> Seen {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for a client.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(stream: &TcpStream, script: &Script, seen: &Mutex<Seen>) -> io::Result<()> {
    let request = http::read(stream)?;
    let body = String::from_utf8_lossy(&request.body).into_owned();
    seen.lock().unwrap_or_else(PoisonError::into_inner).bodies.push(body);
    let answer = answer(&request, script, seen);
    http::write(stream, &answer)
}

fn answer(request: &http::Request, script: &Script, seen: &Mutex<Seen>) -> Answer {
    let path = request.target.split('?').next().unwrap_or_default();
    let wire = match path {
        _ if request.method != "POST" => None,
        _ if path.ends_with("/chat/completions") => Some(Wire::Chat),
        _ if path.ends_with("/responses") => Some(Wire::Responses),
        _ if path.ends_with("/messages") => Some(Wire::Anthropic),
        _ if path.ends_with(":streamGenerateContent") || path.ends_with(":generateContent") => {
            Some(Wire::Gemini)
        }
        _ => None,
    };
    let (Some(wire), Ok(body)) = (wire, serde_json::from_slice::<Value>(&request.body)) else {
        return aside(request, path, seen);
    };
    let request = match wire {
        Wire::Chat => chat::read_request(&body),
        Wire::Responses => responses::read_request(&body),
        Wire::Anthropic => anthropic::read_request(&body),
        Wire::Gemini => gemini::read_request(&body, path),
    };
    let sub_agent = request.opening.contains(SUB_AGENT);
    let turns = if sub_agent { &script.sub } else { &script.main };
    // A question without tools is beside the script.
    let (place, calls) =
        if request.offered.is_empty() { (usize::MAX, None) } else { next(turns, request.calls) };
    remember(seen, &request, sub_agent);
    let calls: Vec<Call> = calls.into_iter().flatten().map(|call| filled(call, &request)).collect();
    let said = ModelReply {
        turn: format!("{}{place}", if sub_agent { "sub" } else { "main" }),
        calls: &calls,
        model: body.get("model").and_then(Value::as_str).unwrap_or("model").to_owned(),
    };
    match wire {
        Wire::Chat => chat::say(&said, request.stream),
        Wire::Responses => responses::say(&said, request.stream),
        Wire::Anthropic => anthropic::say(&said, request.stream),
        Wire::Gemini => gemini::say(&said, request.stream),
    }
}

/// A call with the file in it that the client has named, where it asks for one.
fn filled(call: &Call, request: &ModelRequest) -> Call {
    let Input::Json(input) = &call.input else { return call.clone() };
    let text = input.to_string();
    let named = text.contains(NAMED_FILE).then(|| named_file(&request.results)).flatten();
    let filled = named.and_then(|file| serde_json::from_str(&text.replace(NAMED_FILE, &file)).ok());
    Call { input: Input::Json(filled.unwrap_or_else(|| input.clone())), ..call.clone() }
}

fn named_file(texts: &[String]) -> Option<String> {
    let is_end = |letter: char| letter.is_whitespace() || "\"'`<>()[],;".contains(letter);
    let words = texts.iter().rev().flat_map(|text| text.split(is_end));
    let mut paths = words.map(|word| word.trim_end_matches(['.', ':'])).filter(|word| word.starts_with('/'));
    paths.find(|path| std::path::Path::new(path).is_file()).map(str::to_owned)
}

/// What clients ask for beside the conversation.
fn aside(request: &http::Request, path: &str, seen: &Mutex<Seen>) -> Answer {
    if path.ends_with("/count_tokens") {
        return Answer::json(&json!({ "input_tokens": 1 }));
    }
    if path.ends_with(":countTokens") {
        return Answer::json(&json!({ "totalTokens": 1 }));
    }
    if request.method == "GET" && path.ends_with("/models") {
        return Answer::json(&json!({ "object": "list", "data": [], "models": [] }));
    }
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.strange.push(format!("{} {}", request.method, request.target));
    Answer::missing()
}

/// The turn after so many calls, and its place.
fn next(turns: &[Turn], calls: usize) -> (usize, Option<&Turn>) {
    let mut before = 0;
    for (place, turn) in turns.iter().enumerate() {
        if before >= calls {
            return (place, Some(turn));
        }
        before += turn.len();
    }
    (turns.len(), None)
}

fn remember(seen: &Mutex<Seen>, request: &ModelRequest, sub_agent: bool) {
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    let seen = &mut *seen;
    add_new(&mut seen.results, &request.results);
    add_new(&mut seen.texts, &request.texts);
    seen.sub_agent |= sub_agent;
    if !request.offered.is_empty() {
        seen.turns += 1;
        seen.offered.push(request.offered.clone());
    }
}

fn add_new(known: &mut Vec<String>, more: &[String]) {
    let old: BTreeSet<String> = known.iter().cloned().collect();
    known.extend(more.iter().filter(|text| !old.contains(*text)).cloned());
}

/// The text of a message: a string, or parts with a text each. Other parts are shown as they are, since a client
/// may put what a tool said into any of them.
fn text_of(content: &Value) -> String {
    match content {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        Value::Object(part) => match part.get("text").and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => content.to_string(),
        },
        Value::Bool(_) | Value::Number(_) => content.to_string(),
    }
}

/// The elements of an array member; none where it is none.
fn list<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value.get(member).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A text member; empty where there is none.
fn word<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
