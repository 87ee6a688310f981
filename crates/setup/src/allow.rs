//! What `toolgate allow` writes into a settings file: a place that is opened, or rules that are set by their ids.
//!
//! The file is edited through its syntax tree, so its comments and its form stay. Every edit is read back as settings
//! before it is handed out: a file that denied every call would be the worst answer to "allow this".

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use similar::TextDiff;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value, value};
use toolgate_model::visible;
use toolgate_policies::{Response, Rights, read_of_project};

use crate::register::{RegisterError, locate, read, replace};

/// What is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    /// A place, as `[[scope]]` names it.
    Place {
        /// `~/Downloads`
        path: String,
        /// What may be done there.
        rights: Rights,
        /// Whether a person is asked each time.
        ask: bool,
    },
    /// Rules, by their ids.
    Rules {
        /// `git-checkout-paths`
        ids: Vec<String>,
        /// What they are set to.
        response: Response,
    },
}

/// Why it is opened, and until when.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpeningTerms {
    /// For whoever reads the file.
    pub reason: Option<String>,
    /// The last day, or the moment at which it ends.
    pub until: Option<String>,
}

/// A settings file before and after.
#[derive(Debug, PartialEq, Eq)]
pub struct SettingsChange {
    /// The file, with links followed.
    file: PathBuf,
    /// Directories on the way to it that are not there yet, outermost first.
    missing: Vec<PathBuf>,
    /// Its text; `None` where there is no file.
    pub before: Option<String>,
    /// Its text with the entry.
    pub after: String,
}

impl SettingsChange {
    /// Plans to put an entry into a file.
    pub fn plan(file: &Path, opening: &Opening, terms: &OpeningTerms) -> Result<SettingsChange, String> {
        SettingsChange::plan_all(file, &[(opening.clone(), terms.clone())])
    }

    /// Plans to put several entries into a file.
    pub fn plan_all(file: &Path, entries: &[(Opening, OpeningTerms)]) -> Result<SettingsChange, String> {
        let told = |error: RegisterError| error.to_string();
        let (file, missing) = locate(file).map_err(told)?;
        let before = read(&file).map_err(told)?;
        let after = SettingsChange::text_with(before.as_deref().unwrap_or_default(), entries)
            .map_err(|what| format!("{}: {what}", file.display()))?;
        Ok(SettingsChange { file, missing, before, after })
    }

    /// The text of a settings file with these entries.
    pub fn text_with(text: &str, entries: &[(Opening, OpeningTerms)]) -> Result<String, String> {
        entries.iter().try_fold(text.to_owned(), |text, (opening, terms)| edited(&text, opening, terms))
    }

    /// The file, with links followed.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Whether anything changes.
    pub fn changes(&self) -> bool {
        self.before.as_deref() != Some(self.after.as_str())
    }

    /// The change as a unified diff, fit for a terminal.
    pub fn diff(&self) -> String {
        let name = self.file.display().to_string();
        let old = if self.before.is_some() { name.as_str() } else { "/dev/null" };
        let diff = TextDiff::from_lines(self.before.as_deref().unwrap_or_default(), &self.after);
        visible(&diff.unified_diff().header(old, &name).to_string())
    }

    /// Writes it, if the file is still what was shown.
    pub fn apply(&self) -> Result<(), String> {
        let told = |error: RegisterError| error.to_string();
        if read(&self.file).map_err(told)? != self.before {
            return Err(format!("{} has changed in the meantime; run it again", self.file.display()));
        }
        for dir in &self.missing {
            match fs::create_dir(dir) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(format!("{}: {error}", dir.display()));
                }
                _ => {}
            }
        }
        replace(&self.file, &self.after, 0o666).map_err(told)
    }
}

/// The text of a settings file with the entry in it.
fn edited(text: &str, opening: &Opening, terms: &OpeningTerms) -> Result<String, String> {
    let refused = |error: toolgate_policies::LayerError| crate::compile::with_hint(&error.what);
    // A file that cannot be read as settings is not made better by one more entry.
    read_of_project(text).map_err(refused)?;
    let mut doc: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    match opening {
        Opening::Place { path, rights, ask } => open_place(&mut doc, path, *rights, *ask, terms)?,
        Opening::Rules { ids, response } => {
            for id in ids {
                set_rule(&mut doc, id, *response, terms)?;
            }
        }
    }
    let text = doc.to_string();
    let layer = read_of_project(&text).map_err(refused)?;
    // In a project's file an unknown id has no effect; in one's own it would deny every call.
    if let Opening::Rules { ids, .. } = opening
        && ids.iter().any(|id| layer.unknown_rules.contains(id))
    {
        toolgate_policies::read(&text).map_err(refused)?;
    }
    Ok(text)
}

fn open_place(
    doc: &mut DocumentMut,
    path: &str,
    rights: Rights,
    ask: bool,
    terms: &OpeningTerms,
) -> Result<(), String> {
    let rights = match rights {
        Rights::None => "none",
        Rights::Read => "read",
        Rights::Write => "write",
    };
    let mut keys: Vec<(&str, Value)> = vec![("path", path.into()), ("rights", rights.into())];
    keys.extend(ask.then(|| ("ask", true.into())));
    keys.extend(terms.keys());
    let is_it = |found: Option<&str>| found == Some(path);
    match doc.entry("scope").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new())) {
        Item::ArrayOfTables(entries) => {
            let known = entries.iter_mut().filter(|entry| is_it(entry.get("path").and_then(Item::as_str)));
            // The last of two that name the same place counts.
            if let Some(entry) = known.last() {
                for gone in ["ask", "reason", "until"] {
                    entry.remove(gone);
                }
                for (key, new) in keys {
                    entry.insert(key, value(new));
                }
                return Ok(());
            }
            let mut entry = Table::new();
            for (key, new) in keys {
                entry.insert(key, value(new));
            }
            entries.push(entry);
        }
        Item::Value(Value::Array(entries)) => {
            let is_other = |entry: &Value| {
                let found = entry.as_inline_table().and_then(|entry| entry.get("path"));
                !is_it(found.and_then(Value::as_str))
            };
            entries.retain(is_other);
            push_inline(entries, keys);
        }
        Item::None | Item::Value(_) | Item::Table(_) => return Err("`scope` is not a list of entries".into()),
    }
    Ok(())
}

fn push_inline(entries: &mut Array, keys: Vec<(&str, Value)>) {
    entries.push(keys.into_iter().collect::<InlineTable>());
}

fn set_rule(doc: &mut DocumentMut, id: &str, response: Response, terms: &OpeningTerms) -> Result<(), String> {
    let rules = doc.entry("rules").or_insert_with(|| Item::Table(Table::new()));
    let rules = rules.as_table_like_mut().ok_or("`rules` is not a table")?;
    let more: Vec<(&str, Value)> = terms.keys().collect();
    let new: Value = if more.is_empty() {
        response.word().into()
    } else {
        let first = [("decision", Value::from(response.word()))];
        first.into_iter().chain(more).collect::<InlineTable>().into()
    };
    match rules.get_mut(id) {
        // What stands behind the old value on its line stays.
        Some(Item::Value(old)) => {
            let decor = old.decor().clone();
            *old = new;
            *old.decor_mut() = decor;
        }
        _ => {
            rules.insert(id, value(new));
        }
    }
    Ok(())
}

impl OpeningTerms {
    fn keys(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let reason = self.reason.as_deref().map(|reason| ("reason", Value::from(reason)));
        let until = self.until.as_deref().map(|until| ("until", Value::from(until)));
        reason.into_iter().chain(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str, rights: Rights, ask: bool) -> Opening {
        Opening::Place { path: path.into(), rights, ask }
    }

    fn rules(ids: &[&str], response: Response) -> Opening {
        Opening::Rules { ids: ids.iter().map(|id| (*id).to_owned()).collect(), response }
    }

    /// Such a line would deny every call.
    #[test]
    fn a_misspelt_rule_is_refused() {
        let none = OpeningTerms::default();
        for (before, id, said) in [
            ("", "git-chekout-paths", Some("did you mean `git-checkout-paths`?")),
            ("", "frobnicate-every-widget", Some("`toolgate policies --rules` lists them")),
            ("[[command]]\nid = \"mine\"\ncommand = [\"x\"]\nmessage = \"no\"\n", "mine", None),
            // The unknown id of a project's file was there before, and has no effect.
            ("[rules]\ntheirs = \"deny\"\n", "git-clean", None),
        ] {
            let refused = edited(before, &rules(&[id], Response::Ask), &none).err();
            assert_eq!(refused.is_some(), said.is_some(), "{id}: {refused:?}");
            assert!(said.is_none_or(|said| refused.unwrap().contains(said)), "{id}");
        }
    }

    #[test]
    fn entries_are_added_and_everything_else_stays() {
        let none = OpeningTerms::default();
        let terms = OpeningTerms { reason: Some("a \"game\"".into()), until: Some("2026-12-31".into()) };
        let file = "# mine\ngrant = true # yes\n\n[[scope]] # first\npath = \"~/a\"\nrights = \"read\"\n\n[rules]\ngit-clean = \"ask\" # why\n";
        for (before, opening, terms, after) in [
            (
                "",
                place("~/Downloads", Rights::Read, false),
                &none,
                "[[scope]]\npath = \"~/Downloads\"\nrights = \"read\"\n".to_owned(),
            ),
            (
                file,
                place("~/a", Rights::Write, true),
                &none,
                file.replace("rights = \"read\"\n", "rights = \"write\"\nask = true\n"),
            ),
            (
                file,
                rules(&["git-clean"], Response::Allow),
                &none,
                file.replace("\"ask\" # why", "\"allow\" # why"),
            ),
            (
                file,
                rules(&["git-restore"], Response::Ask),
                &terms,
                format!(
                    "{file}git-restore = {{ decision = \"ask\", reason = 'a \"game\"', until = \"2026-12-31\" }}\n"
                ),
            ),
            (
                "scope = [{ path = \"~/a\", rights = \"read\" }]\n",
                place("~/b", Rights::Read, false),
                &none,
                "scope = [{ path = \"~/a\", rights = \"read\" }, { path = \"~/b\", rights = \"read\" }]\n"
                    .to_owned(),
            ),
        ] {
            assert_eq!(edited(before, &opening, terms).unwrap(), after);
        }
        let added = edited(file, &place("~/b", Rights::Read, false), &terms).unwrap();
        assert!(
            added.contains("# first") && added.contains("# yes") && added.contains("path = \"~/b\""),
            "{added}"
        );
    }

    #[test]
    fn what_would_make_a_broken_file_is_refused() {
        let none = OpeningTerms::default();
        for (before, opening, complaint) in [
            ("grant = \n", place("~/a", Rights::Read, false), ""),
            ("scop = 1\n", place("~/a", Rights::Read, false), "unknown key `scop`; did you mean `scope`?"),
            ("", place("a", Rights::Read, false), "must begin with"),
            ("", rules(&["mkfs"], Response::Allow), "is part of the floor"),
        ] {
            let told = edited(before, &opening, &none).unwrap_err();
            assert!(told.contains(complaint), "{told}");
        }
        let until = OpeningTerms { until: Some("soon".into()), ..none };
        assert!(
            edited("", &place("~/a", Rights::Read, false), &until).unwrap_err().contains("a day in quotes")
        );
    }
}
