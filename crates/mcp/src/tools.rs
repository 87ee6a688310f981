//! The tools as they are announced, and what they are called with.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The most bytes that one call reads, and how many where it does not say. The latter are what the hosts show to a model
/// without cutting it.
pub(crate) const MOST_READ: usize = 1024 * 1024;
pub(crate) const USUALLY_READ: usize = 64 * 1024;

/// The most bytes that one call writes.
pub(crate) const MOST_WRITTEN: usize = 4 * 1024 * 1024;

pub(crate) const READ_INPUT: &str = "read_input";
pub(crate) const WRITE_OUTPUT: &str = "write_output";
pub(crate) const LIST_DECLARED: &str = "list_declared";
pub(crate) const SNAPSHOT: &str = "snapshot";
pub(crate) const RECEIPT: &str = "receipt";

/// How the bytes of a file stand in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Encoding {
    Text,
    Base64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadInput {
    pub(crate) path: String,
    pub(crate) encoding: Option<Encoding>,
    #[serde(default)]
    pub(crate) offset: u64,
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteOutput {
    pub(crate) path: String,
    pub(crate) content: String,
    pub(crate) encoding: Option<Encoding>,
    #[serde(default)]
    pub(crate) durable: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Snapshot {
    #[serde(default)]
    pub(crate) compat: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// All of them. The schemas are written out: what is derived has references and formats that some hosts' models refuse.
pub(crate) fn all() -> Vec<Tool> {
    let path = "relative to the workspace, names divided by `/`, without `..`";
    let reads = ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false);
    vec![
        tool(
            READ_INPUT,
            "Read an input",
            "Reads a file that is declared as an input. Gives text as it is; a file that is not UTF-8 text comes as \
             base64. Long files come in parts: the answer says how to go on.",
            reads.clone(),
            &["path"],
            &json!({
                "path": { "type": "string", "description": format!("The file, {path}") },
                "encoding": {
                    "type": "string",
                    "enum": ["text", "base64"],
                    "description": "`text` refuses a file that is not text; `base64` gives any file as base64. \
                                    By default, whichever fits",
                },
                "offset": { "type": "integer", "minimum": 0, "description": "The byte to begin at; 0 by default" },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MOST_READ,
                    "description": format!("The most bytes to read; {USUALLY_READ} by default"),
                },
            }),
        ),
        tool(
            WRITE_OUTPUT,
            "Write an output",
            "Writes a file that is declared as an output, whole or not at all; replaces the one that is there and \
             makes missing directories.",
            ToolAnnotations::new().read_only(false).destructive(true).idempotent(true).open_world(false),
            &["path", "content"],
            &json!({
                "path": { "type": "string", "description": format!("The file, {path}") },
                "content": {
                    "type": "string",
                    "description": format!("The whole content of the file, at most {MOST_WRITTEN} bytes"),
                },
                "encoding": {
                    "type": "string",
                    "enum": ["text", "base64"],
                    "description": "How `content` is encoded; `text` by default",
                },
                "durable": {
                    "type": "boolean",
                    "description": "Answer only when the file would survive a loss of power; slower",
                },
            }),
        ),
        tool(
            LIST_DECLARED,
            "List what is declared",
            "Says which paths can be read and written here, which of these files are there now, with their sizes, and \
             how much may still be written. Call it first, and whenever a path is refused.",
            reads.clone(),
            &[],
            &json!({}),
        ),
        tool(
            SNAPSHOT,
            "Take a snapshot",
            "Gives one digest over all outputs as they are now, and the digest of each. The same outputs always give \
             the same digest. Temporary files do not count.",
            reads,
            &[],
            &json!({
                "compat": {
                    "type": "boolean",
                    "description": "SHA-256 over `path:hash` lines, to compare with other tools, in place of the \
                                    framed BLAKE3",
                },
            }),
        ),
        tool(
            RECEIPT,
            "Make a receipt",
            "Signs a statement of what was declared, of all inputs and of all outputs as they are now, and keeps it. \
             Call it when the work is done; each call makes another one.",
            ToolAnnotations::new().read_only(false).destructive(false).idempotent(false).open_world(false),
            &[],
            &json!({}),
        ),
    ]
}

fn tool(
    name: &'static str,
    title: &str,
    description: &'static str,
    annotations: ToolAnnotations,
    required: &[&str],
    properties: &Value,
) -> Tool {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties.clone());
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
    Tool::new(name, description, Arc::new(schema)).with_title(title).with_annotations(annotations)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names that a type takes, as serde lists them where another one is given.
    fn taken<T: for<'de> Deserialize<'de> + std::fmt::Debug>() -> Vec<String> {
        let error = serde_json::from_str::<T>(r#"{"?":0}"#).unwrap_err().to_string();
        let (_, listed) = error.split_once("expected").unwrap_or_default();
        let mut names: Vec<_> = listed.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        names.sort();
        names
    }

    #[test]
    fn announced_parameters_are_those_that_are_accepted() {
        let announced: Vec<(String, Vec<String>)> = all()
            .iter()
            .map(|tool| {
                let mut names: Vec<_> =
                    tool.input_schema["properties"].as_object().unwrap().keys().cloned().collect();
                names.sort();
                (tool.name.to_string(), names)
            })
            .collect();
        let wanted = [
            (READ_INPUT, taken::<ReadInput>()),
            (WRITE_OUTPUT, taken::<WriteOutput>()),
            (LIST_DECLARED, taken::<Nothing>()),
            (SNAPSHOT, taken::<Snapshot>()),
            (RECEIPT, taken::<Nothing>()),
        ];
        assert_eq!(announced, wanted.map(|(name, taken)| (name.to_owned(), taken)));
        assert_eq!(announced[0].1, ["encoding", "limit", "offset", "path"]);
    }
}
