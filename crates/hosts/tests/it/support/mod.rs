//! What the clients really send, as it was captured.

use std::fs;
use std::path::{Path, PathBuf};

/// The directories of payloads, the host that each is of, and the fewest events that must be there.
pub(crate) const CAPTURED: &[(&str, &str, usize)] = &[
    ("claude-code", "claude-code", 90),
    ("codex", "codex", 45),
    ("copilot", "copilot", 60),
    ("copilot-pascal-case", "copilot", 19),
    ("copilot-sdk", "copilot-sdk", 30),
    ("gemini", "gemini", 25),
    ("opencode", "opencode", 25),
    ("pi", "pi", 60),
    ("pi-0.73.1", "pi", 5),
    ("qwen", "qwen", 18),
];

pub(crate) struct Payload {
    pub(crate) place: String,
    /// The event by the file's name, for hosts that do not say it.
    pub(crate) event: String,
    pub(crate) bytes: Vec<u8>,
}

/// The captured events in one of the directories.
pub(crate) fn payloads(directory: &str) -> Vec<Payload> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/hosts").join(directory);
    let files = fs::read_dir(top).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|end| end == "json")).collect();
    files.sort();
    let read = |file: PathBuf| {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        // `preToolUse-bash`, `PreToolUse.Bash`, `tool.execute.before-bash`
        let end = if directory.starts_with("claude") || directory == "codex" { '.' } else { '-' };
        let event = name.split(end).next().unwrap().trim_start_matches("event_").to_owned();
        Payload { place: format!("{directory}/{name}"), event, bytes: fs::read(file).unwrap() }
    };
    files.into_iter().map(read).collect()
}
