//! Where clients keep their transcripts, and how such a file is opened.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::Client;

/// Directories below a client's own are this deep at most.
const DEEPEST: usize = 6;
/// A transcript's project root is a path.
const LONGEST_ROOT: u64 = 64 * 1024;

/// A transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Whose it is.
    pub client: Client,
    /// The file.
    pub file: PathBuf,
    /// When it was last written.
    pub modified: SystemTime,
    /// The directory of its session, where that stands beside the file and not in it.
    pub directory: Option<String>,
}

/// The transcripts of a client in a home, oldest first, and the directories that could not be read. No link is followed: a home may hold links to
/// anywhere.
pub fn find(client: Client, home: &Path) -> (Vec<Found>, Vec<PathBuf>) {
    let (top, fits): (&str, fn(&Path) -> bool) = match client {
        // It has a database; see `unexported`.
        Client::OpenCode => return (Vec::new(), Vec::new()),
        Client::ClaudeCode => (".claude/projects", |file| ends_with(file, &[".jsonl"])),
        Client::Codex => (".codex/sessions", |file| ends_with(file, &[".jsonl", ".jsonl.zst"])),
        Client::Copilot => (".copilot/session-state", |file| file.ends_with("events.jsonl")),
        Client::Gemini => (".gemini/tmp", |file| ends_with(file, &[".jsonl"]) && in_chats(file)),
        Client::Pi => (".pi/agent/sessions", |file| ends_with(file, &[".jsonl"])),
        Client::Qwen => (".qwen/projects", |file| ends_with(file, &[".jsonl"]) && in_chats(file)),
    };
    let mut found = Vec::new();
    let mut unread = Vec::new();
    let mut open = vec![(home.join(top), 0)];
    while let Some((directory, depth)) = open.pop() {
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound && depth == 0 => continue,
            Err(_) => {
                unread.push(directory);
                continue;
            }
        };
        for entry in entries {
            let Ok(entry) = entry else {
                unread.push(directory.clone());
                break;
            };
            let (path, Ok(metadata)) = (entry.path(), entry.metadata()) else { continue };
            if metadata.is_dir() {
                if depth < DEEPEST { open.push((path, depth + 1)) } else { unread.push(path) }
            } else if metadata.is_file() && fits(&path) {
                let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                let directory = project_root(client, &path);
                found.push(Found { client, file: path, modified, directory });
            }
        }
    }
    found.sort_by(|one, other| (one.modified, &one.file).cmp(&(other.modified, &other.file)));
    unread.sort();
    (found, unread)
}

/// Where a client keeps sessions that it has to export before they can be read.
pub fn unexported(client: Client, home: &Path) -> Option<PathBuf> {
    let database = home.join(".local/share/opencode/opencode.db");
    (client == Client::OpenCode && database.exists()).then_some(database)
}

fn ends_with(file: &Path, endings: &[&str]) -> bool {
    let name = file.file_name().unwrap_or_default().as_encoded_bytes();
    endings.iter().any(|ending| name.ends_with(ending.as_bytes()))
}

fn in_chats(file: &Path) -> bool {
    file.parent().is_some_and(|above| above.ends_with("chats"))
}

/// Gemini keeps the directory of a project in a file beside its chats.
fn project_root(client: Client, file: &Path) -> Option<String> {
    if client != Client::Gemini {
        return None;
    }
    let root = file.parent()?.parent()?.join(".project_root");
    let is_small =
        fs::symlink_metadata(&root).is_ok_and(|found| found.is_file() && found.len() < LONGEST_ROOT);
    let text = is_small.then(|| fs::read_to_string(&root).ok())??;
    Some(text.trim_end().to_owned()).filter(|root| root.starts_with('/'))
}

/// Opens a transcript, a compressed one too.
pub fn open(file: &Path) -> io::Result<Box<dyn BufRead>> {
    let opened = BufReader::new(File::open(file)?);
    if ends_with(file, &[".zst"]) {
        let decoder = ruzstd::decoding::StreamingDecoder::new(opened)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        return Ok(Box::new(BufReader::new(decoder)));
    }
    Ok(Box::new(opened))
}
