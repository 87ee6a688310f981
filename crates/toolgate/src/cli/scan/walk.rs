//! All regular files below a directory, in the order of their names.

use std::fs;
use std::path::Path;

use super::Failure;
use super::search::Search;

/// Looks at a file, or at all files below a directory. Only a link that is named is followed.
pub(super) fn below(path: &Path, search: &mut Search<'_>) -> Result<(), Failure> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) => {
            search.problem(&format!("{}: {error}", path.display()));
            return Ok(());
        }
    };
    if !found.is_dir() {
        return search.file(path);
    }
    // Directories that are still to be read; a tree may be deeper than a stack.
    let mut waiting = vec![path.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        let listed = fs::read_dir(&directory).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = match listed {
            Ok(entries) => entries,
            Err(error) => {
                search.problem(&format!("{}: {error}", directory.display()));
                continue;
            }
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut directories = Vec::new();
        for entry in entries {
            if entry.file_name() == ".git" {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => directories.push(entry.path()),
                Ok(kind) if kind.is_file() => search.file(&entry.path())?,
                Ok(_) => {}
                Err(error) => search.problem(&format!("{}: {error}", entry.path().display())),
            }
        }
        waiting.extend(directories.into_iter().rev());
    }
    Ok(())
}
