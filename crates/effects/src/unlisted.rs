//! A tool that nobody told us about, by the looks of its input.
//!
//! Against whom: an MCP server's `write_file`, or a tool that a host gained last week. Its parameters are
//! searched at every depth for what could name a file; a parameter that holds a command is a command.

use std::borrow::Cow;

use toolgate_model::{Effect, Json, PathArg, Reach, Target, Unknown};

pub(crate) fn effects<'a>(tool: &str, mcp: bool, input: &Json<'a>) -> Vec<Effect<'a>> {
    let mut effects = Vec::new();
    search(input, "", &mut effects);
    let name = Cow::Owned(tool.to_owned());
    effects.push(Effect::Unknown(if mcp { Unknown::McpTool(name) } else { Unknown::Tool(name) }));
    effects
}

/// `key` is the nearest name above the value, so that the entries of a list go by the list's name.
fn search<'a>(value: &Json<'a>, key: &str, effects: &mut Vec<Effect<'a>>) {
    match value {
        Json::Text(text) if names_a_command(key) && !text.is_empty() => {
            effects.push(Effect::Unknown(Unknown::Shell));
        }
        Json::Text(text) if looks_like_path(text) || (names_a_path(key) && could_be_path(text)) => {
            effects.push(Effect::Write(Target {
                param: Cow::Owned(key.to_owned()),
                path: PathArg::Text(local_path(text)),
                reach: Reach::Exact,
            }));
        }
        Json::List(values) => values.iter().for_each(|value| search(value, key, effects)),
        Json::Object(members) => members.iter().for_each(|(key, value)| search(value, key, effects)),
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::Big(_) | Json::Float(_) | Json::Text(_) => {}
    }
}

fn names_a_command(key: &str) -> bool {
    ["command", "cmd", "script", "shell"].iter().any(|name| key.eq_ignore_ascii_case(name))
}

/// `filePath`, `target_file`, `dest-dir`: one of the words of the name is a word for a place.
fn names_a_path(key: &str) -> bool {
    const WORDS: [&str; 16] = [
        "path",
        "paths",
        "file",
        "files",
        "filename",
        "filepath",
        "dir",
        "directory",
        "folder",
        "destination",
        "dest",
        "notebook",
        "cwd",
        "source",
        "target",
        "uri",
    ];
    let mut word = String::new();
    let mut hit = false;
    for c in key.chars().chain(['_']) {
        if !c.is_alphanumeric() || (c.is_uppercase() && !word.is_empty()) {
            hit |= WORDS.contains(&word.as_str());
            word.clear();
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    hit
}

/// Under a name for a place, any short single line without a foreign scheme is taken for one.
fn could_be_path(text: &str) -> bool {
    !text.is_empty() && !text.contains('\n') && (!text.contains("://") || is_file_address(text))
}

/// Under any other name, only what can hardly be anything else.
fn looks_like_path(text: &str) -> bool {
    const STARTS: [&str; 5] = ["/", "~/", "./", "../", "\\\\"];
    let mut bytes = text.bytes();
    let drive = matches!((bytes.next(), bytes.next(), bytes.next()),
        (Some(letter), Some(b':'), Some(b'\\' | b'/')) if letter.is_ascii_alphabetic());
    let starts = drive || is_file_address(text) || STARTS.iter().any(|start| text.starts_with(start));
    starts && !text.starts_with("//") && !text.chars().any(char::is_whitespace)
}

fn is_file_address(text: &str) -> bool {
    text.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("file://"))
}

/// `file:///etc/passwd` means `/etc/passwd`, whatever host stands between.
fn local_path<'a>(text: &Cow<'a, str>) -> Cow<'a, str> {
    match text.get(7..).filter(|_| is_file_address(text)) {
        Some(rest) => Cow::Owned(rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/").to_owned()),
        None => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(input: &str) -> Vec<String> {
        let input: Json<'_> = serde_json::from_str(input).unwrap();
        let name = |effect: &Effect<'_>| match effect {
            Effect::Write(Target { path: PathArg::Text(text), .. }) => format!("write {text}"),
            Effect::Unknown(Unknown::Shell) => "shell".into(),
            Effect::Unknown(_) => "unknown".into(),
            other => format!("{other:?}"),
        };
        effects("mcp__x__y", true, &input).iter().map(name).collect()
    }

    #[test]
    fn what_looks_like_a_path_is_written() {
        for (input, expected) in [
            (r#"{"text":"hi"}"#, vec!["unknown"]),
            (r#"{"path":"a.txt"}"#, vec!["write a.txt", "unknown"]),
            (r#"{"targetFile":"a.txt"}"#, vec!["write a.txt", "unknown"]),
            (r#"{"x":{"y":["/etc/passwd"]}}"#, vec!["write /etc/passwd", "unknown"]),
            (r#"{"files":["a","b"]}"#, vec!["write a", "write b", "unknown"]),
            (r#"{"resource":"file:///etc/passwd"}"#, vec!["write /etc/passwd", "unknown"]),
            (r#"{"resource":"FILE://localhost/etc/x"}"#, vec!["write /etc/x", "unknown"]),
            (r#"{"text":"../../x"}"#, vec!["write ../../x", "unknown"]),
            (r#"{"text":"/help me with this"}"#, vec!["unknown"]),
            (r#"{"uri":"https://example.com/a"}"#, vec!["unknown"]),
            (r#"{"profile":"default"}"#, vec!["unknown"]),
            (r#"{"command":"rm -rf /"}"#, vec!["shell", "unknown"]),
            (r#"{"path":""}"#, vec!["unknown"]),
        ] {
            assert_eq!(found(input), expected, "{input}");
        }
    }
}
