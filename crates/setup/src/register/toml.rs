//! Puts our handlers into the text of a TOML file of settings and takes them out again, through its syntax tree, as
//! `json` does it for JSON. Every edit is checked before it is handed out.

use serde_json::Value;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use super::content::{Content, EditError, Noted};
use super::handler::{is_ours, ours_of};
use super::json::{self, at};
use super::{HookForm, HookLine, RegisterError};

/// A file of settings whose hooks stand in arrays of tables: `[[hooks.PreToolUse]]`.
pub(super) struct TomlHooks {
    /// The hooks, and the switches among the settings.
    hooks: json::Hooks,
    switches: Vec<Switch>,
}

/// A setting that is on or off: the keys that lead to it, and which.
pub(super) type Switch = (&'static [&'static str], bool);

impl Content for TomlHooks {
    fn insert(&self, text: &str) -> Result<String, EditError> {
        let before = as_json(text)?;
        if self.is_all_of_ours_in(&before) {
            return Ok(text.to_owned());
        }
        let mut doc = parse(text)?;
        self.take_out(doc.as_table_mut());
        for (path, on) in &self.switches {
            let Some((key, parents)) = path.split_last() else { continue };
            let table = parents.iter().try_fold(doc.as_table_mut(), |table, key| table_in(table, key))?;
            if table.get(key).and_then(Item::as_bool) != Some(*on) {
                table.insert(key, value(*on));
            }
        }
        let hooks = table_in(doc.as_table_mut(), "hooks")?;
        for (event, handler) in &self.hooks.handlers {
            let groups = hooks.entry(event).or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
            let what = || EditError::NotAnArray { what: format!("`hooks.{event}`") };
            groups.as_array_of_tables_mut().ok_or_else(what)?.push(group(handler));
        }
        let text = doc.to_string();
        let after = as_json(&text)?;
        let seen = self.is_all_of_ours_in(&after);
        if self.rest(before) == self.rest(after) && seen { Ok(text) } else { Err(EditError::Unclear) }
    }

    fn remove(&self, text: &str, noted: Noted<'_>) -> Result<Option<String>, EditError> {
        let mut doc = parse(text)?;
        let before = as_json(text)?;
        if !self.take_out(doc.as_table_mut()) {
            return Ok(Some(text.to_owned()));
        }
        let original = noted.original().and_then(|original| as_json(original).ok());
        for (path, on) in &self.switches {
            let Some((key, parents)) = path.split_last() else { continue };
            let had = original.as_ref().is_some_and(|original| at(original, path).is_some());
            let parent = parents
                .iter()
                .try_fold(doc.as_table_mut(), |table, key| table.get_mut(key).and_then(Item::as_table_mut));
            if let Some(table) = parent
                && !had
                && table.get(key).and_then(Item::as_bool) == Some(*on)
            {
                table.remove(key);
            }
            let shell = parents.first().filter(|parent| {
                let had = original.as_ref().is_some_and(|original| original.get(**parent).is_some());
                !had && doc.get(parent).and_then(Item::as_table).is_some_and(Table::is_empty)
            });
            if let Some(shell) = shell {
                doc.remove(shell);
            }
        }
        let text = doc.to_string();
        if self.rest(before) != self.rest(as_json(&text)?) {
            return Err(EditError::Unclear);
        }
        let ours_alone = noted == Noted::New && text.trim().is_empty();
        Ok((!ours_alone).then_some(text))
    }
}

impl TomlHooks {
    /// The form writes the handlers; the switches are all the settings there are.
    pub(super) fn new(
        form: &HookForm,
        line: &HookLine,
        switches: Vec<Switch>,
    ) -> Result<TomlHooks, RegisterError> {
        let settings = switches.iter().map(|(path, on)| (*path, Value::Bool(*on))).collect();
        Ok(TomlHooks { hooks: form.content(line, settings)?, switches })
    }

    /// Removes our handlers, the groups that held nothing else, and what became empty by that. Says whether there
    /// were any.
    fn take_out(&self, top: &mut Table) -> bool {
        let Some(hooks) = top.get_mut("hooks").and_then(Item::as_table_mut) else {
            return false;
        };
        let mut any = false;
        let mut empty = Vec::new();
        for (event, item) in hooks.iter_mut() {
            let Some(groups) = item.as_array_of_tables_mut() else { continue };
            let (groups_before, mut handlers_gone) = (groups.len(), false);
            for group in groups.iter_mut() {
                if let Some(handlers) = group.get_mut("hooks").and_then(Item::as_array_of_tables_mut) {
                    let before = handlers.len();
                    handlers.retain(|handler| !self.is_our_table(handler));
                    handlers_gone |= handlers.len() != before;
                }
            }
            if handlers_gone {
                groups.retain(|group| {
                    let handlers = group.get("hooks").and_then(Item::as_array_of_tables);
                    handlers.is_none_or(|handlers| !handlers.is_empty())
                });
            }
            any |= handlers_gone || groups.len() != groups_before;
            if handlers_gone && groups.is_empty() {
                empty.push(event.get().to_owned());
            }
        }
        for event in empty {
            hooks.remove(&event);
        }
        if any && hooks.is_empty() {
            top.remove("hooks");
        }
        any
    }

    fn is_our_table(&self, handler: &Table) -> bool {
        let command = handler.get("command").and_then(Item::as_str);
        is_ours(&serde_json::json!({ "command": command }), self.hooks.host)
    }

    /// Whether a file holds all that we want, and nothing of ours besides.
    fn is_all_of_ours_in(&self, settings: &Value) -> bool {
        let events = settings.get("hooks").and_then(Value::as_object);
        let others = events
            .into_iter()
            .flat_map(|events| events.keys())
            .filter(|event| !self.hooks.handlers.iter().any(|(wanted, _)| wanted == event));
        self.hooks.is_seen_in(settings)
            && others.map(|event| ours_of(settings, self.hooks.host, event).count()).sum::<usize>() == 0
    }

    fn rest(&self, settings: Value) -> serde_json::Map<String, Value> {
        json::rest(Some(settings), self.hooks.host, &self.hooks.settings)
    }
}

fn group(handler: &[(&'static str, Value)]) -> Table {
    let mut table = Table::new();
    for (key, member) in handler {
        let item = match member {
            Value::String(text) => value(text),
            Value::Number(number) => value(number.as_i64().unwrap_or_default()),
            Value::Bool(on) => value(*on),
            Value::Null | Value::Array(_) | Value::Object(_) => continue,
        };
        table.insert(key, item);
    }
    let mut handlers = ArrayOfTables::new();
    handlers.push(table);
    let mut group = Table::new();
    group.insert("hooks", Item::ArrayOfTables(handlers));
    group
}

/// The table of this name, made where there is none.
pub(super) fn table_in<'a>(parent: &'a mut Table, key: &str) -> Result<&'a mut Table, EditError> {
    let fresh = || {
        let mut table = Table::new();
        // No header of its own where only tables stand in it.
        table.set_implicit(true);
        Item::Table(table)
    };
    let what = || EditError::NotAnObject { what: format!("`{key}`") };
    parent.entry(key).or_insert_with(fresh).as_table_mut().ok_or_else(what)
}

/// The syntax tree of a text.
pub(super) fn parse(text: &str) -> Result<DocumentMut, EditError> {
    text.parse::<DocumentMut>().map_err(|error| {
        let (line, column) = place(text, error.span().map_or(0, |span| span.start));
        EditError::Broken { format: "TOML", line, column }
    })
}

/// What a text says, as the other files' texts are compared.
pub(super) fn as_json(text: &str) -> Result<Value, EditError> {
    let broken = |line, column| EditError::Broken { format: "TOML", line, column };
    let table = text.parse::<toml::Table>().map_err(|error| {
        let (line, column) = place(text, error.span().map_or(0, |span| span.start));
        broken(line, column)
    })?;
    serde_json::to_value(table).map_err(|_| broken(1, 1))
}

/// HookLine and column of a byte.
fn place(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    (line, column)
}
