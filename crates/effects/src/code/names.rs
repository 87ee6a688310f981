//! The names of a program, and what they stand for.

use super::scan::Scan;
use super::value::Value;
use super::walk::Target;
use Value::{Any, List, Map, Nothing, Number, Part, Scratch, Texts, Thing};

/// Lists inside of lists that are followed.
const MAX_DEPTH: usize = 3;
/// Rows that are bound one by one.
const MAX_ROWS: usize = 64;
/// Longer names are of nothing that we know.
const MAX_NAME: usize = 128;

impl Scan {
    pub(super) fn named(&mut self, word: &str) -> Value {
        self.bindings.ask_for(word);
        if let Some(value) = self.bindings.value(word) {
            let value = value.clone();
            self.bounds.spend(&value);
            return value;
        }
        if let Some(value) = Self::constant(word) {
            return value;
        }
        match (self.report.is_open(), self.bindings.is_parameter(word)) {
            (false, true) => Nothing,
            (true, true) => Any(false),
            // It may be assigned further down.
            _ if self.bindings.is_first_pass() && !self.report.is_open() => Nothing,
            _ => Thing(canonical(word)),
        }
    }

    pub(super) fn constant(name: &str) -> Option<Value> {
        let text = match name {
            "None" | "null" | "nil" | "undefined" | "True" | "False" | "true" | "false" | "NULL" | "TRUE"
            | "FALSE" => {
                return Some(Number(None));
            }
            "sys.argv" | "sys.stdin" | "process.argv" | "process.stdin" | "ARGV" | "STDIN" | "ARGF"
            | "$ARGV" | "$STDIN" | "$stdin" | "$argv" | "$_GET" | "$_POST" | "$_SERVER" | "$_REQUEST"
            | "arg" | "io.stdin" | "$<" | "Deno.args" | "Bun.argv" | "$*" | "Bun.stdin"
            | "sys.stdin.buffer" | "$0" | "$1" | "$2" | "$3" | "$&" | "$_" => {
                return Some(Any(true));
            }
            "os.sep" | "path.sep" | "File.SEPARATOR" | "DIRECTORY_SEPARATOR" | "os.path.sep" => "/",
            "os.pardir" | "os.path.pardir" => "..",
            "os.curdir" | "__dirname" | "__DIR__" | "import.meta.dirname" | "import.meta.dir" => ".",
            "__file__" | "__filename" | "__FILE__" | "import.meta.filename" => "./-",
            "os.devnull" => "/dev/null",
            "sys.executable" => "python3",
            "process.execPath" => "node",
            "string.punctuation" | "string.printable" | "sys.path" | "sys.prefix" | "sys.modules.keys" => {
                return Some(Any(true));
            }
            _ => return None,
        };
        Some(Value::text(text))
    }

    pub(super) fn environment(thing: &str) -> bool {
        matches!(
            thing,
            "os.environ"
                | "os.environb"
                | "process.env"
                | "ENV"
                | "$ENV"
                | "$_ENV"
                | "Bun.env"
                | "Deno.env"
                | "import.meta.env"
        )
    }

    pub(super) fn variable(key: &Value) -> Value {
        match key.only() {
            Some("HOME") => Value::text("~"),
            Some("PWD") => Value::text("."),
            _ => Any(true),
        }
    }

    pub(super) fn member(&mut self, object: &Value, name: &str) -> Value {
        match object {
            Thing(base)
                if Self::environment(base)
                    && !matches!(
                        name,
                        "get"
                            | "setdefault"
                            | "pop"
                            | "fetch"
                            | "items"
                            | "copy"
                            | "update"
                            | "dig"
                            | "delete"
                    ) =>
            {
                Self::variable(&Value::text(name))
            }
            Thing(base) if !matches!(base.as_str(), "self" | "this" | "cls") => {
                if base.len() > MAX_NAME {
                    return Any(false);
                }
                // Where a module lies.
                if matches!(name, "__file__" | "__path__" | "__spec__" | "__loader__") {
                    return Any(true);
                }
                let full = canonical(&format!("{base}.{name}"));
                Self::constant(&full).unwrap_or(Thing(full))
            }
            Texts(_) | Part(..) | Scratch if name == "parent" => parent(object),
            Scratch => Scratch,
            Map(_) if !matches!(name, "items" | "keys" | "values" | "get") => {
                object.under(&Value::text(name))
            }
            Nothing => Nothing,
            other => {
                self.doubts.unknown_texts(name == "parents");
                let own = self.bindings.value(&format!(".{name}")).cloned();
                own.unwrap_or(Any(other.foreign()))
            }
        }
    }

    pub(super) fn bind_all(&mut self, targets: &[Target], value: &Value) {
        for (at, target) in targets.iter().enumerate() {
            let value = match (value, &target.key) {
                (Thing(base), Some(key)) => self.member(&Thing(base.clone()), key),
                (Map(_), Some(key)) => value.under(&Value::text(key)),
                (_, Some(_)) => value.item(),
                (List(items), None) if targets.len() > 1 && items.len() == targets.len() => {
                    items.get(at).cloned().unwrap_or(Nothing)
                }
                (List(items), None) if targets.len() > 1 => {
                    // A list of rows: by column.
                    let column = |row: &Value| match row {
                        List(cells) if cells.len() == targets.len() => {
                            cells.get(at).cloned().unwrap_or(Nothing)
                        }
                        other => other.item(),
                    };
                    items.iter().map(column).fold(Nothing, Value::or)
                }
                (Part(..) | Texts(_) | Scratch | Number(_), None) => value.clone(),
                (other, None) if targets.len() > 1 => other.item(),
                _ => value.clone(),
            };
            self.bind(&target.name, value);
        }
    }

    /// Binds names to the items of a value, row by row.
    pub(super) fn bind_items(&mut self, targets: &[Target], value: &Value) {
        match value {
            List(rows) if targets.len() > 1 => {
                for row in rows.iter().take(MAX_ROWS) {
                    self.bind_all(targets, row);
                }
                if rows.len() > MAX_ROWS {
                    self.bind_all(targets, &Any(value.foreign()));
                }
            }
            Map(pairs) if targets.len() > 1 => {
                for (key, value) in pairs.iter().take(MAX_ROWS) {
                    self.bind_all(targets, &List(vec![key.clone(), value.clone()]));
                }
                if pairs.len() > MAX_ROWS {
                    self.bind_all(targets, &Any(value.foreign()));
                }
            }
            _ => {
                let item = value.item();
                self.bind_all(targets, &item);
            }
        }
    }

    pub(super) fn bind(&mut self, name: &str, value: Value) {
        if self.report.is_open() || value == Nothing {
            return;
        }
        self.bounds.spend(&value);
        // One item of a list or map.
        let (name, value) = match name.strip_suffix("[]") {
            Some(name) => (name, List(vec![value])),
            None => (name, value),
        };
        self.bindings.join(name, value.pruned(MAX_DEPTH));
    }
}

/// The directory that holds it.
pub(super) fn parent(path: &Value) -> Value {
    match path {
        Texts(texts) => Texts(
            texts
                .iter()
                .map(|text| match text.trim_end_matches('/').rsplit_once('/') {
                    Some(("", _)) => "/".to_owned(),
                    Some((above, _)) => above.to_owned(),
                    None if text == "." || text == ".." || text.is_empty() => "..".to_owned(),
                    None if text == "~" => "/home".to_owned(),
                    None => ".".to_owned(),
                })
                .collect(),
        ),
        Part(start, foreign) => {
            let above = start.trim_end_matches('/').rsplit_once('/').map(|(above, _)| format!("{above}/"));
            Part(above.unwrap_or_default(), *foreign)
        }
        other => Any(other.foreign()),
    }
}

/// One name for what has several.
pub(super) fn canonical(name: &str) -> String {
    if !name.contains(['.', ':', '/', '-']) {
        return name.to_owned();
    }
    let mut name = name;
    for prefix in [
        "node:",
        "builtins.",
        "__builtins__.",
        "__builtin__.",
        "globalThis.",
        "global.",
        "window.",
        "CORE::",
        "_G.",
        "_ENV.",
        "Kernel.",
    ] {
        name = name.strip_prefix(prefix).unwrap_or(name);
    }
    for suffix in [".default", ".__call__", ".promises"] {
        name = name.strip_suffix(suffix).unwrap_or(name);
    }
    let name = name
        .replace("fs/promises", "fs")
        .replace("fs-extra", "fs")
        .replace("graceful-fs", "fs")
        .replace("path/posix", "path");
    name.replace(".promises.", ".").replace(".default.", ".")
}
