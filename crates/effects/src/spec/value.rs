//! Values in which a file's name is only a part, or that leave their own world.

use super::WordKind;

/// A part of a text.
pub(super) struct ValuePart {
    pub(super) start: usize,
    pub(super) end: Option<usize>,
}

/// `@file`, and curl's `%output{file}`.
pub(super) fn at(text: &str, known: bool) -> Option<(WordKind, ValuePart)> {
    if let Some((before, after)) = text.split_once("%output{") {
        let start = before.len() + "%output{".len();
        let start = if after.starts_with(">>") { start + 2 } else { start };
        return Some((
            WordKind::Write,
            ValuePart { start, end: after.find('}').map(|at| before.len() + 8 + at) },
        ));
    }
    match text.strip_prefix('@') {
        Some("-") if known => None,
        Some(_) => Some((WordKind::Read, ValuePart { start: 1, end: None })),
        None => (text.is_empty() && !known).then_some((WordKind::Read, ValuePart { start: 0, end: None })),
    }
}

/// `name=@file`, `name=<file`, `name@file` or `@file`, with or without `;type=…` behind it. There may be several with
/// commas between them, in quotes, and `;headers=@file`.
pub(super) fn form(text: &str, known: bool) -> Vec<(WordKind, ValuePart)> {
    let start = match (text.split_once('='), text.split_once('@')) {
        _ if text.starts_with('@') => 1,
        (Some((name, value)), _) if value.starts_with(['@', '<']) => name.len() + 2,
        (Some((_, "")), _) if !known => text.len(),
        (Some((name, value)), _) => return headers(value, name.len() + 1),
        (None, Some((name, _))) if is_name(name) => name.len() + 1,
        (None, _) if !known && (text.is_empty() || is_name(text)) => text.len(),
        (None, _) => return Vec::new(),
    };
    let files = text.get(start..).unwrap_or_default();
    let mut parts = headers(files, start);
    let mut at = start;
    for file in files.split(',') {
        let end = at + file.find(';').unwrap_or(file.len());
        let open = end == text.len() && !known;
        let name = text.get(at..end).unwrap_or_default();
        let quoted = name.len() > 1 && name.starts_with('"') && name.ends_with('"');
        let (first, last) = if quoted { (at + 1, end - 1) } else { (at, end) };
        if open || !matches!(name, "" | "-") {
            let whole = last == text.len();
            parts.push((WordKind::Read, ValuePart { start: first, end: (!whole).then_some(last) }));
        }
        at += file.len() + 1;
    }
    parts
}

/// `;headers=@file` in the value of a form that begins at the byte `start`.
fn headers(value: &str, start: usize) -> Vec<(WordKind, ValuePart)> {
    let found = value.match_indices(";headers=").filter_map(|(at, name)| {
        let rest = value.get(at + name.len()..)?;
        let file = rest.strip_prefix(['@', '<'])?;
        let first = start + at + name.len() + 1;
        Some((WordKind::Read, ValuePart { start: first, end: file.find([';', ',']).map(|end| first + end) }))
    });
    found.collect()
}

/// A file, or several as `{a,b}`, which the program itself takes apart.
pub(super) fn each(text: &str) -> Vec<(WordKind, ValuePart)> {
    if matches!(text, "-" | ".") {
        return Vec::new();
    }
    let Some((before, inside)) = text.split_once('{') else {
        return vec![(WordKind::Read, ValuePart { start: 0, end: None })];
    };
    let mut at = before.len() + 1;
    let inside = inside.split('}').next().unwrap_or_default();
    let piece = |piece: &str| {
        let part = ValuePart { start: at, end: Some(at + piece.len()) };
        at += piece.len() + 1;
        (WordKind::Read, part)
    };
    inside.split(',').map(piece).collect()
}

/// The side of this machine in `host:container`, or in `type=bind,source=host,target=container`.
pub(super) fn mount(text: &str, known: bool) -> Vec<(WordKind, ValuePart)> {
    let keyed = ["source=", "src="].iter().find_map(|key| {
        let at = if text.starts_with(key) { 0 } else { text.find(&format!(",{key}"))? + 1 };
        Some(at + key.len())
    });
    let start = match keyed {
        Some(start) => start,
        None if text.contains("type=") => return Vec::new(),
        None => 0,
    };
    let host = text.get(start..).unwrap_or_default();
    let end = host.find([':', ',']).map(|at| start + at);
    let place = host.starts_with(['/', '.', '~']) || (host.is_empty() && !known);
    let only_reads = [":ro", ",ro", ",readonly"].iter().any(|end| text.ends_with(end));
    let kinds: &[WordKind] = match (place, only_reads) {
        (false, _) => &[],
        (true, true) => &[WordKind::ReadTree],
        (true, false) => &[WordKind::ReadTree, WordKind::WriteTree],
    };
    kinds.iter().map(|kind| (*kind, ValuePart { start, end })).collect()
}

/// Files that a program for `jq` or `yq` loads. A program that is nothing but an absolute path, or one that climbs, is the name
/// of a file to write (`yq -s`).
pub(super) fn filter(text: &str) -> Vec<(WordKind, ValuePart)> {
    let mut parts = Vec::new();
    let mut at = 0;
    for (number, piece) in text.split('"').enumerate() {
        let before = text.get(..at).unwrap_or_default().trim_end_matches(['"', '(', ' ']);
        let word = before.rsplit(|letter: char| letter != '_' && !letter.is_alphanumeric()).next();
        let word = word.unwrap_or_default();
        let loads = matches!(word, "import" | "include") || word.starts_with("load");
        let place = piece.starts_with(['/', '~']) || piece.starts_with("..");
        if number % 2 == 1 && (loads || (place && piece.len() + 2 == text.trim().len())) {
            let kind = if loads { WordKind::Read } else { WordKind::Write };
            parts.push((kind, ValuePart { start: at, end: Some(at + piece.len()) }));
        }
        at += piece.len() + 1;
    }
    parts
}

/// Whether a program for `jq` or `yq` loads others, or may. `jq` takes `import` only at the beginning.
pub(super) fn loads_module(text: &str, known: bool) -> bool {
    // Each is followed by the name of what is loaded; `.import` is a member of what is filtered.
    let loads = |(at, word): (usize, &str)| {
        let rest = text.get(at + word.len()..).unwrap_or_default();
        let rest = rest.trim_start_matches(|letter: char| letter == '_' || letter.is_alphanumeric());
        rest.trim_start().starts_with(['"', '(', '#']) || (!known && rest.trim().is_empty())
    };
    (!known && text.trim().is_empty())
        || text.contains("modulemeta")
        || ["import", "include", "load"].into_iter().any(|word| text.match_indices(word).any(loads))
}

/// `#1` in a name: what a pattern in the URL has matched.
pub(super) fn is_template(text: &str) -> bool {
    text.match_indices('#').any(|(at, _)| {
        text.get(at + 1..).is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
    })
}

/// Whether a URL names a file, or may, by patterns or codes that the program itself takes apart.
pub(super) fn is_open_url(text: &str) -> bool {
    let scheme = text.find("://").and_then(|at| text.get(..at)).unwrap_or_default();
    let has_pattern = |text: &str| text.contains(['{', '[']);
    has_pattern(scheme) || (begins(text, "file:") && (has_pattern(text) || text.contains(['%', '\\'])))
}

/// Whether SQL has a command of the client or a function that runs programs or uses other files.
pub(super) fn leaves_database(text: &str) -> bool {
    const DOTS: [&str; 42] = [
        ".bail",
        ".binary",
        ".changes",
        ".databases",
        ".dbconfig",
        ".dbinfo",
        ".dump",
        ".echo",
        ".eqp",
        ".exit",
        ".expert",
        ".explain",
        ".fullschema",
        ".header",
        ".headers",
        ".help",
        ".indexes",
        ".indices",
        ".limit",
        ".lint",
        ".mode",
        ".nullvalue",
        ".parameter",
        ".print",
        ".progress",
        ".prompt",
        ".quit",
        ".read",
        ".schema",
        ".selecttrace",
        ".separator",
        ".sha3sum",
        ".show",
        ".stats",
        ".tables",
        ".timeout",
        ".timer",
        ".trace",
        ".version",
        ".vfsinfo",
        ".vfslist",
        ".width",
    ];
    const OUTSIDE: [&str; 13] = [
        "readfile",
        "writefile",
        "edit",
        "load_extension",
        "fts3_tokenizer",
        "load_file",
        "pg_read_file",
        "pg_read_binary_file",
        "pg_ls_dir",
        "lo_import",
        "lo_export",
        "dblink",
        "sys_exec",
    ];
    let text = text.to_ascii_lowercase();
    let dots = text.lines().map(str::trim_start).filter(|line| line.starts_with('.')).any(|line| {
        let name = line.split_whitespace().next().unwrap_or_default();
        !DOTS.contains(&name) || line.contains('|')
    });
    let calls = text.match_indices('(').any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default().trim_end();
        let word = before.rsplit(|letter: char| letter != '_' && !letter.is_ascii_alphanumeric()).next();
        word.is_some_and(|word| OUTSIDE.contains(&word))
    });
    let parts = text.lines().any(|line| {
        let line = line.trim_start();
        ["\\!", "\\e", "\\copy", "\\i", "\\o", "\\w", "\\g ", "\\setenv", "\\lo_"]
            .iter()
            .any(|start| line.starts_with(start))
            && !line.starts_with("\\echo")
            && !line.starts_with("\\encoding")
    });
    dots || calls || parts
}

/// Options that a compiler hands to the linker, the assembler or the preprocessor, with commas between them. `before` is
/// the one that was handed on before these, where each has a word of its own.
pub(super) fn relayed(before: &str, text: &str, known: bool) -> Vec<(WordKind, ValuePart)> {
    const MAKES: [&str; 12] = [
        "-Map",
        "--Map",
        "-o",
        "--output",
        "-MD",
        "-MMD",
        "-MF",
        "--MD",
        "--dependency-file",
        "--reproduce",
        "--out-implib",
        "--cref-file",
    ];
    const RUNS: [&str; 5] = ["-plugin", "--plugin", "-load", "-fplugin", "-fpass-plugin"];
    const READS: [&str; 6] = ["-T", "--script", "--version-script", "--dynamic-list", "-include", "-imacros"];
    let names = |name: &str| {
        if MAKES.contains(&name) {
            Some(WordKind::Write)
        } else if RUNS.contains(&name) {
            Some(WordKind::Program)
        } else {
            READS.contains(&name).then_some(WordKind::Read)
        }
    };
    let (mut parts, mut before, mut at) = (Vec::new(), before, 0);
    for piece in text.split(',') {
        let end = at + piece.len();
        let part = |skip: usize| ValuePart { start: at + skip, end: (end < text.len()).then_some(end) };
        let listing = piece.starts_with("-a") && piece.contains('=');
        if piece.is_empty() && end == text.len() && !known && before.is_empty() {
            parts.push((WordKind::Write, part(0)));
        } else if let Some(kind) = names(before).filter(|_| !piece.starts_with('-')) {
            parts.push((kind, part(0)));
        } else if let Some((name, _)) = piece.split_once('=')
            && let Some(kind) = names(name).or(listing.then_some(WordKind::Write))
        {
            parts.push((kind, part(name.len() + 1)));
        } else if piece.starts_with('@') {
            parts.push((WordKind::Read, part(1)));
        } else if piece.len() > 2
            && piece.starts_with("-o")
            && !matches!(piece, "-omagic" | "-oformat" | "-object")
        {
            parts.push((WordKind::Write, part(2)));
        }
        before = piece;
        at = end + 1;
    }
    parts
}

/// The path in `file:path`, `file:///path` or `file://host/path?query`.
pub(super) fn of_file_url(text: &str) -> ValuePart {
    let rest = text.get(5..).unwrap_or_default();
    let start = match rest.strip_prefix("//") {
        Some(host) => 7 + host.find('/').unwrap_or(0),
        None => 5,
    };
    let query = text.get(start..).unwrap_or_default().find(['?', '#']);
    ValuePart { start, end: query.map(|at| start + at) }
}

/// Whether what `date` prints by a format is a name in every word: no slash, and something that is no dot. `%Z` may be
/// nothing at all, and `%n` begins another word.
pub(super) fn is_name_of_time(format: &str) -> bool {
    is_name_by(format, |c| match c {
        'n' | 't' => Conversion::Blank,
        'D' | 'x' | 'c' => Conversion::Path,
        'Z' | 'p' | 'P' => Conversion::Maybe,
        _ => Conversion::Sure,
    })
}

/// The same of `stat`.
pub(super) fn is_name_of_facts(format: &str) -> bool {
    // Backslashes write any character, a precision cuts a text down to nothing.
    !format.contains(['\\', '.'])
        && is_name_by(format, |c| match c {
            'n' | 'N' | 'm' | 'C' => Conversion::Path,
            _ => Conversion::Sure,
        })
}

/// What a `%` stands for.
enum Conversion {
    /// A text that holds more than dots, and no slash.
    Sure,
    /// The same, or nothing.
    Maybe,
    /// A blank between two words.
    Blank,
    /// A text with slashes, or one that nothing is known of.
    Path,
}

fn is_name_by(format: &str, meaning: impl Fn(char) -> Conversion) -> bool {
    let mut sure = false;
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        let conversion = match c {
            // Letters that begin code where a shell evaluates the text.
            '/' | '[' | '$' | '`' => return false,
            '.' => Conversion::Maybe,
            c if c.is_whitespace() => Conversion::Blank,
            // Flags and a width may stand before the letter. A `%` before none is printed as it is.
            '%' => match chars
                .find(|c| !(c.is_ascii_digit() || matches!(c, '-' | '_' | '^' | '#' | '+' | ':' | 'E' | 'O')))
            {
                Some('/') => return false,
                Some(c) => meaning(c),
                None => Conversion::Sure,
            },
            _ => Conversion::Sure,
        };
        match conversion {
            Conversion::Sure => sure = true,
            Conversion::Maybe => {}
            Conversion::Blank if sure => sure = false,
            Conversion::Blank | Conversion::Path => return false,
        }
    }
    sure
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

/// Whether a debugger's command only runs the program and looks at it.
pub(super) fn is_plain_debugging(text: &str) -> bool {
    const WORDS: [&str; 36] = [
        "b",
        "backtrace",
        "break",
        "bt",
        "c",
        "catch",
        "continue",
        "disas",
        "disassemble",
        "down",
        "exit",
        "f",
        "finish",
        "frame",
        "i",
        "info",
        "l",
        "list",
        "n",
        "next",
        "p",
        "print",
        "ptype",
        "q",
        "quit",
        "r",
        "registers",
        "run",
        "s",
        "start",
        "step",
        "thread",
        "up",
        "watch",
        "where",
        "x",
    ];
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    let first = first.split('/').next().unwrap_or_default();
    let applied = matches!(text, "thread apply all bt" | "thread apply all bt full");
    let set = matches!(text, "set pagination off" | "set confirm off" | "set print pretty on");
    let plain = |word: &str| !word.contains(|c: char| "()<>|!`&;=~".contains(c)) && word != "apply";
    set || applied || (WORDS.contains(&first) && words.all(plain))
}

/// Whether a path is on another machine: `host:path`, `rsync://host/path`.
pub(crate) fn is_remote(text: &str) -> bool {
    text.split_once(':').is_some_and(|(host, path)| {
        let named = host.contains('/') && !host.starts_with(['/', '.', '~']) && !host.contains("..");
        !host.is_empty() && (!host.contains('/') || (named && path.starts_with('/')))
    })
}

pub(super) fn begins(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}
