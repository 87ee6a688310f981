//! The tools at work.

use base64ct::{Base64, Encoding as _};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    ListToolsResult, MetaObject, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use toolgate_declaration::MAX_PATH;
use toolgate_workspace::{Durability, Error, Formula, Listed, Pattern, Side, TEMP, Workspace};

use crate::tools::{
    self, Encoding, LIST_DECLARED, MOST_READ, MOST_WRITTEN, Nothing, READ_INPUT, RECEIPT, ReadInput,
    SNAPSHOT, Snapshot, USUALLY_READ, WRITE_OUTPUT, WriteOutput,
};
use crate::{Keeper, Tool, shortened};

/// How many files one answer lists, and how many patterns one refusal names.
const LISTED: usize = 1000;
const NAMED: usize = 8;

/// A workspace and the one who keeps its receipts.
pub(crate) struct Server<K> {
    workspace: Workspace,
    keeper: K,
}

/// What is told to an agent whose call came to nothing.
struct Failure {
    name: &'static str,
    message: String,
    path: Option<String>,
}

impl Failure {
    fn new(name: &'static str, message: impl Into<String>) -> Failure {
        Failure { name, message: message.into(), path: None }
    }

    /// As text for the model, and by name for programs.
    fn into_result(self) -> CallToolResult {
        let mut members = Map::new();
        members.insert("error".to_owned(), json!(self.name));
        members.insert("message".to_owned(), json!(self.message));
        members.extend(self.path.map(|path| ("path".to_owned(), json!(path))));
        let mut result = CallToolResult::structured_error(Value::Object(members));
        result.content = vec![ContentBlock::text(format!("{}: {}", self.name, self.message))];
        result
    }
}

impl<K: Keeper> Server<K> {
    pub(crate) fn new(workspace: Workspace, keeper: K) -> Server<K> {
        Server { workspace, keeper }
    }

    /// `None` where there is no such tool.
    fn call(&self, tool: &str, arguments: Map<String, Value>) -> Option<Result<CallToolResult, Failure>> {
        let done = match tool {
            READ_INPUT => parse(arguments).and_then(|call| self.read_input(call)),
            WRITE_OUTPUT => parse(arguments).and_then(|call| self.write_output(call)),
            LIST_DECLARED => parse(arguments).and_then(|Nothing {}| self.list_declared()),
            SNAPSHOT => parse(arguments).and_then(|call| self.snapshot(&call)),
            RECEIPT => parse(arguments).and_then(|Nothing {}| self.receipt()),
            _ => return None,
        };
        Some(done)
    }

    fn read_input(&self, call: ReadInput) -> Result<CallToolResult, Failure> {
        let path = bounded(call.path);
        let most = match call.limit.map(usize::try_from) {
            None => USUALLY_READ,
            Some(Ok(most)) if (1..=MOST_READ).contains(&most) => most,
            Some(_) => {
                let why = format!("`limit` is at least 1 and at most {MOST_READ}; read a long file in parts");
                return Err(Failure::new("ErrInvalidArguments", why));
            }
        };
        let read = self.workspace.input(&path).and_then(|input| input.read_part(call.offset, most));
        let (mut part, size) = read.map_err(|error| self.failure(Tool::ReadInput, &path, &error))?;
        let end = call.offset.saturating_add(part.len() as u64);
        let (text, encoding) = match call.encoding {
            Some(Encoding::Base64) => (Base64::encode_string(&part), "base64"),
            wanted => {
                if end < size {
                    part.truncate(whole_characters(&part));
                }
                match String::from_utf8(part) {
                    Ok(text) => (text, "text"),
                    Err(error) if wanted.is_none() => (Base64::encode_string(error.as_bytes()), "base64"),
                    Err(_) => {
                        let why = format!(
                            "`{}` is not UTF-8 text from byte {} on; read it with encoding `base64`",
                            path.escape_debug(),
                            call.offset
                        );
                        return Err(Failure { path: Some(path), ..Failure::new("ErrNotText", why) });
                    }
                }
            }
        };
        let length = if encoding == "text" { text.len() as u64 } else { end - call.offset };
        let end = call.offset.saturating_add(length);
        let mut about = Map::new();
        about.insert("encoding".to_owned(), json!(encoding));
        about.insert("offset".to_owned(), json!(call.offset));
        about.insert("length".to_owned(), json!(length));
        about.insert("size".to_owned(), json!(size));
        let mut content = vec![ContentBlock::text(text)];
        if end < size {
            about.insert("next".to_owned(), json!(end));
            content.push(ContentBlock::text(format!(
                "[bytes {} to {end} of {size}, as {encoding}; go on with offset {end}]",
                call.offset
            )));
        } else if encoding == "base64" {
            content
                .push(ContentBlock::text(format!("[bytes {} to {end} of {size}, as base64]", call.offset)));
        }
        // For programs. Not as structured content: hosts show that in place of the text.
        Ok(CallToolResult::success(content).with_meta(Some(meta("toolgate/read", Value::Object(about)))))
    }

    fn write_output(&self, call: WriteOutput) -> Result<CallToolResult, Failure> {
        let path = bounded(call.path);
        // The path first: whoever may not write there learns that, whatever it is.
        let output =
            self.workspace.output(&path).map_err(|error| self.failure(Tool::WriteOutput, &path, &error))?;
        let content = match call.encoding {
            None | Some(Encoding::Text) => call.content.into_bytes(),
            Some(Encoding::Base64) => Base64::decode_vec(&call.content).map_err(|_| {
                let why =
                    "`content` is not base64; write it with padding and without line breaks, or as `text`";
                Failure { path: Some(path.clone()), ..Failure::new("ErrInvalidArguments", why) }
            })?,
        };
        if content.len() > MOST_WRITTEN {
            let why = format!(
                "`content` has {} bytes, and one call writes at most {MOST_WRITTEN}; divide it over several outputs",
                content.len()
            );
            return Err(Failure { path: Some(path), ..Failure::new("ErrTooLarge", why) });
        }
        let durability = if call.durable { Durability::Machine } else { Durability::Process };
        output.write(&content, durability).map_err(|error| self.failure(Tool::WriteOutput, &path, &error))?;
        let bytes = content.len();
        Ok(CallToolResult::structured(json!({ "path": path, "bytes": bytes, "durable": call.durable })))
    }

    fn list_declared(&self) -> Result<CallToolResult, Failure> {
        let listing = self.workspace.list().map_err(|error| self.failure(Tool::ListDeclared, "", &error))?;
        let declaration = self.workspace.declaration();
        // Sparse files may be as long as they like.
        let used = listing.outputs.iter().fold(0_u64, |used, file| used.saturating_add(file.size));
        let limit = |most: Option<u64>, used: u64| match most {
            Some(most) => json!({ "limit": most, "used": used, "left": most.saturating_sub(used) }),
            None => json!({ "used": used }),
        };
        Ok(CallToolResult::structured(json!({
            "agent": self.workspace.agent(),
            "inputs": side(&declaration.inputs, listing.inputs.as_slice()),
            "outputs": side(&declaration.outputs, listing.outputs.as_slice()),
            "temp": declaration.temp.then(|| format!("{TEMP}/")),
            "quota": {
                "bytes": limit(declaration.quota.bytes, used),
                "files": limit(declaration.quota.files, listing.outputs.len() as u64),
            },
        })))
    }

    fn snapshot(&self, call: &Snapshot) -> Result<CallToolResult, Failure> {
        let formula = if call.compat { Formula::Compat } else { Formula::Framed };
        let taken = self
            .workspace
            .snapshot_of(Side::Output, formula, &())
            .map_err(|error| self.failure(Tool::Snapshot, "", &error))?;
        let files: Map<String, Value> =
            taken.files().iter().take(LISTED).map(|(path, state)| (path.clone(), json!(state))).collect();
        let mut members = Map::new();
        members.insert("digest".to_owned(), json!(taken.digest()));
        members.insert("formula".to_owned(), json!(taken.formula()));
        not_listed(&mut members, taken.files().len());
        members.insert("files".to_owned(), Value::Object(files));
        Ok(CallToolResult::structured(Value::Object(members)))
    }

    fn receipt(&self) -> Result<CallToolResult, Failure> {
        let signed = self.keeper.receipt(&self.workspace);
        let signed = signed.map_err(|error| self.failure(Tool::Receipt, "", &error))?;
        Ok(CallToolResult::structured(signed.told).with_meta(Some(meta("toolgate/receipt", signed.envelope))))
    }

    /// What the agent is told about an error, with a form that passes.
    fn failure(&self, tool: Tool, path: &str, error: &Error) -> Failure {
        self.keeper.failed(tool, &self.workspace, error);
        let declaration = self.workspace.declaration();
        let instead = match error {
            Error::UndeclaredRead { .. } => named("inputs", &declaration.inputs, false),
            Error::UndeclaredWrite { .. } => named("outputs", &declaration.outputs, declaration.temp),
            Error::QuotaExceeded { .. } => "; write less: `list_declared` says how much is left".to_owned(),
            Error::NotAFile { .. } => "; name a file".to_owned(),
            Error::InputChanged { .. } => "; have a person do that".to_owned(),
            Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                "; `list_declared` says which files are there".to_owned()
            }
            _ => String::new(),
        };
        let mut message = format!("{error}{instead}");
        let told = shortened(path.to_owned());
        if told.len() < path.len() {
            // A model that has lost its way must not pay for that with all that it wrote.
            let (whole, start) = (path.escape_debug().to_string(), told.escape_debug());
            message = message.replace(&whole, &format!("{start}…"));
        }
        Failure { name: error.name(), message, path: Some(told).filter(|path| !path.is_empty()) }
    }
}

impl<K: Keeper> ServerHandler for Server<K> {
    fn get_info(&self) -> ServerConfig {
        let instructions = format!(
            "The files of workspace `{}`. Only declared inputs can be read and only declared outputs written; \
             `list_declared` says which. A refusal names what is allowed: do not try the same path again.",
            self.workspace.agent()
        );
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("toolgate", env!("CARGO_PKG_VERSION")))
            .with_instructions(instructions)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(done) = self.call(&request.name, request.arguments.unwrap_or_default()) else {
            return Err(ErrorData::invalid_params("there is no such tool; `tools/list` lists them", None));
        };
        self.keeper.answered(&self.workspace);
        Ok(done.unwrap_or_else(Failure::into_result).into())
    }
}

fn meta(name: &str, value: Value) -> MetaObject {
    MetaObject(Map::from_iter([(name.to_owned(), value)]))
}

/// Wrong arguments are the tool's answer: a model reads it and calls again.
fn parse<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, Failure> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| Failure::new("ErrInvalidArguments", shortened(error.to_string())))
}

/// A path that is too long stays too long, and is no longer than that.
fn bounded(mut path: String) -> String {
    if let Some((end, _)) = path.char_indices().find(|(at, _)| *at > MAX_PATH) {
        path.truncate(end);
    }
    path
}

/// How many bytes stand before a character that is cut off at the end; all of them where none is.
fn whole_characters(part: &[u8]) -> usize {
    match std::str::from_utf8(part) {
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => error.valid_up_to(),
        _ => part.len(),
    }
}

fn side(declared: &[Pattern], files: &[Listed]) -> Value {
    let mut members = Map::new();
    members.insert("declared".to_owned(), json!(declared));
    members.insert("files".to_owned(), json!(files.get(..LISTED).unwrap_or(files)));
    not_listed(&mut members, files.len());
    Value::Object(members)
}

/// Says how many files an answer leaves out.
fn not_listed(members: &mut Map<String, Value>, files: usize) {
    if files > LISTED {
        members.insert("not_listed".to_owned(), json!(files - LISTED));
    }
}

/// What is declared in place of a path that is not.
fn named(what: &str, patterns: &[Pattern], temp: bool) -> String {
    let mut names: Vec<String> = patterns.iter().take(NAMED).map(|pattern| format!("`{pattern}`")).collect();
    if temp {
        names.push(format!("`{TEMP}/`"));
    }
    match patterns.len().saturating_sub(NAMED) {
        _ if names.is_empty() => format!("; no {what} are declared"),
        0 => format!("; the declared {what} are {}", names.join(", ")),
        more => format!(
            "; the declared {what} are {} and {more} more: `list_declared` lists them",
            names.join(", ")
        ),
    }
}
