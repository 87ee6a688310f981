//! Values in which a file's name is only a part, or that leave their own world.

use super::Kind;

/// A part of a text.
pub(super) struct Part {
    pub(super) start: usize,
    pub(super) end: Option<usize>,
}

/// `@file`, and curl's `%output{file}`.
pub(super) fn at(text: &str, known: bool) -> Option<(Kind, Part)> {
    if let Some((before, after)) = text.split_once("%output{") {
        let start = before.len() + "%output{".len();
        let start = if after.starts_with(">>") { start + 2 } else { start };
        return Some((Kind::Write, Part { start, end: after.find('}').map(|at| before.len() + 8 + at) }));
    }
    match text.strip_prefix('@') {
        Some("-") if known => None,
        Some(_) => Some((Kind::Read, Part { start: 1, end: None })),
        None => (text.is_empty() && !known).then_some((Kind::Read, Part { start: 0, end: None })),
    }
}

/// `name=@file`, `name=<file`, `name@file` or `@file`, with or without `;type=…` behind it.
pub(super) fn form(text: &str, known: bool) -> Option<(Kind, Part)> {
    let start = match (text.split_once('='), text.split_once('@')) {
        _ if text.starts_with('@') => 1,
        (Some((name, value)), _) if value.starts_with(['@', '<']) => name.len() + 2,
        (Some((_, "")), _) if !known => text.len(),
        (Some(_), _) => return None,
        (None, Some((name, _))) if is_name(name) => name.len() + 1,
        (None, _) if !known && (text.is_empty() || is_name(text)) => text.len(),
        (None, _) => return None,
    };
    let file = text.get(start..).unwrap_or_default();
    let end = file.find(';').map(|at| start + at);
    (file != "-" || !known).then_some((Kind::Read, Part { start, end }))
}

/// Whether a variable could be called so.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

/// Whether SQL does nothing but work on its database, as far as its words tell: no commands of the client (`.shell`,
/// `\!`, `system`), and nothing that reads or writes other files.
pub(super) fn is_plain_sql(text: &str) -> bool {
    const FIRST: [&str; 29] = [
        "alter",
        "analyze",
        "begin",
        "commit",
        "create",
        "delete",
        "desc",
        "describe",
        "drop",
        "end",
        "explain",
        "grant",
        "insert",
        "pragma",
        "reindex",
        "release",
        "replace",
        "revoke",
        "rollback",
        "savepoint",
        "select",
        "set",
        "show",
        "start",
        "truncate",
        "update",
        "use",
        "values",
        "with",
    ];
    const OUTSIDE: [&str; 18] = [
        "readfile",
        "writefile",
        "edit",
        "load_extension",
        "fts3_tokenizer",
        "load_file",
        "outfile",
        "dumpfile",
        "infile",
        "program",
        "copy",
        "pg_read_file",
        "pg_read_binary_file",
        "pg_ls_dir",
        "lo_import",
        "lo_export",
        "dblink",
        "attach",
    ];
    let text = text.to_ascii_lowercase();
    let words = |text: &str| -> Vec<String> {
        text.split(|letter: char| letter != '_' && !letter.is_ascii_alphanumeric())
            .map(str::to_owned)
            .collect()
    };
    let begins = |part: &str| {
        part.is_empty() || words(part).first().is_some_and(|word| FIRST.contains(&word.as_str()))
    };
    let lines_begin = text.lines().all(|line| !line.trim_start().starts_with(['.', '!', '#']));
    text.split(';').all(|part| begins(part.trim()))
        && lines_begin
        && !text.contains('\\')
        && !words(&text).iter().any(|word| OUTSIDE.contains(&word.as_str()))
}

/// Whether a path is on another machine: `host:path`, `rsync://host/path`.
pub(super) fn is_remote(text: &str) -> bool {
    text.split_once(':').is_some_and(|(host, _)| !host.is_empty() && !host.contains('/'))
}

pub(super) fn begins(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}
