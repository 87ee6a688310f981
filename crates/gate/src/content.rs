//! Searches what a call would write or show for private things. Only where the settings ask for it, since otherwise every
//! call would pay for it.
//!
//! Against whom: nobody clever. A token gets into a file by carelessness; whoever wants to hide one can encode it.

use std::borrow::Cow;

use toolgate_model::{Action, Call, Json, Private, Run, Use, World, added, base_name, shorten};
use toolgate_policies::{ContentSearch, MARK, Marks, Settings, hard_coded};
use toolgate_secrets::{Emails, Rules, find, mark_in};

use crate::redaction::rules;

/// More of a file is not searched. What tools show of one is less.
const MOST_SHOWN: usize = 1 << 20;

/// The texts of one call.
pub(crate) struct Content<'c> {
    call: &'c Call<'c>,
    /// The programs that it starts.
    runs: &'c [Run],
    layer: &'c Settings,
    world: &'c dyn World,
    /// What was found in the texts of the whole call, by what was sought.
    found: Vec<(ContentSearch, Vec<Private>)>,
}

impl<'c> Content<'c> {
    /// The texts of this call, none of them searched yet.
    pub(crate) fn new(
        call: &'c Call<'c>,
        runs: &'c [Run],
        layer: &'c Settings,
        world: &'c dyn World,
    ) -> Content<'c> {
        Content { call, runs, layer, world, found: Vec::new() }
    }

    /// The private things in what is written or read by this use.
    pub(crate) fn private(&mut self, used: &Use<'_>, sought: ContentSearch) -> Vec<Private> {
        if sought == ContentSearch::default() {
            return Vec::new();
        }
        if !used.access.fills() {
            let place = used.place.as_ref().ok().filter(|_| shows(used, self.runs));
            // What we may not read, the tool may not either.
            let file = place.and_then(|place| self.world.read(&place.physical, MOST_SHOWN).ok());
            return file.map(|bytes| self.search([bytes.as_slice()], sought)).unwrap_or_default();
        }
        if let Some(lines) = patched_lines(self.call, used) {
            return self.search([lines.join("\n").as_bytes()], sought);
        }
        if let Some((_, found)) = self.found.iter().find(|(known, _)| *known == sought) {
            return found.clone();
        }
        let texts = written(self.call, self.runs);
        let found = self.search(texts.iter().map(|text| text.as_bytes()), sought);
        self.found.push((sought, found.clone()));
        found
    }

    /// Each kind of private thing once.
    fn search<'t>(&self, texts: impl IntoIterator<Item = &'t [u8]>, sought: ContentSearch) -> Vec<Private> {
        let rules = Rules {
            emails: if sought.emails { Emails::Unlisted } else { Emails::None },
            safe_emails: self.layer.safe_emails().to_vec(),
            ..rules(&self.layer.redaction)
        };
        let mut all: Vec<Private> = Vec::new();
        let mut add = |private: Private| {
            if !all.contains(&private) {
                all.push(private);
            }
        };
        // Where marks have no digits, a text that only speaks of them looks the same.
        let numbered = self.layer.redaction.marks == Marks::Same;
        let seeks = sought.secrets || sought.emails;
        for text in texts {
            if sought.marks
                && let Some(mark) = mark_in(&String::from_utf8_lossy(text), numbered)
            {
                add(Private { about: Cow::Owned(format!("`{mark}`")), mark: MARK, email: false });
            }
            for found in if seeks { find(text, &rules) } else { Vec::new() } {
                let email = found.mark == "EMAIL";
                if if email { sought.emails } else { sought.secrets } {
                    add(Private { about: Cow::Borrowed(found.about), mark: found.mark, email });
                }
            }
            if sought.hard_coded {
                for name in hard_coded(&String::from_utf8_lossy(text)) {
                    let about = Cow::Owned(format!("the value of `{}`", shorten(&name, 60)));
                    add(Private { about, mark: "SECRET", email: false });
                }
            }
        }
        all
    }
}

/// Whether what is read comes out again: a file that a command copies, counts or runs is not shown.
fn shows(used: &Use<'_>, runs: &[Run]) -> bool {
    let is_silent = |run: &Run| {
        let to_device = || run.words.iter().any(|word| word.starts_with("/dev/"));
        match run.program.as_str() {
            "." | "source" | "wc" | "md5sum" | "sha1sum" | "sha256sum" | "sha512sum" => true,
            "cp" | "install" | "rsync" => !to_device(),
            "git" => matches!(run.sub.first().map(String::as_str), Some("add" | "rm" | "mv")),
            // The script that they run, and none that they look into. With an option they may print it.
            "bash" | "sh" | "zsh" | "node" | "perl" | "php" | "python" | "python3" | "ruby" => {
                run.words.get(1).is_some_and(|word| base_name(word) == base_name(&used.text))
            }
            program => program == base_name(&used.text),
        }
    };
    let Some(origin) = &used.origin else { return true };
    let mut readers = runs.iter().filter(|run| run.origin.as_ref() == Some(origin)).peekable();
    readers.peek().is_none() || !readers.all(is_silent)
}

/// The lines that a patch puts into the file; `None` where the call is no patch.
fn patched_lines<'c>(call: &'c Call<'_>, used: &Use<'_>) -> Option<Vec<&'c str>> {
    let Action::Files(files) = &call.action else { return None };
    if used.param != "patch" || !files.iter().any(|file| file.param == "patch") {
        return None;
    }
    let name = used.text.strip_prefix("./").unwrap_or(&used.text);
    let texts = match &call.input {
        Json::Text(patch) => vec![&**patch],
        Json::Object(members) => members.iter().filter_map(|(_, value)| value.text()).collect(),
        _ => Vec::new(),
    };
    let lines = texts.iter().flat_map(|patch| {
        let mut lines = added(patch, &used.text);
        if name != used.text {
            lines.extend(added(patch, name));
        }
        lines
    });
    Some(lines.collect())
}

/// Every text of a call that may come to stand in a file.
fn written<'c>(call: &'c Call<'_>, runs: &'c [Run]) -> Vec<Cow<'c, str>> {
    let mut texts = Vec::new();
    match &call.action {
        Action::Shell { command, .. } => texts.extend(command.as_deref().map(Cow::Borrowed)),
        Action::Run(words) => texts.extend(words.iter().map(|word| Cow::Borrowed(word.as_str()))),
        Action::Files(files) => {
            let names = files.iter().map(|file| &*file.param).collect::<Vec<_>>();
            new_texts(&call.input, &names, &mut texts);
        }
        Action::Unlisted { .. } => all_texts(&call.input, &mut texts),
        Action::Nothing | Action::Fetch | Action::Internal | Action::Question | Action::Configure(_) => {}
    }
    // As bash would pass them on: a token in two pieces is whole here.
    texts.extend(runs.iter().flat_map(|run| &run.words).map(|word| Cow::Borrowed(word.as_str())));
    texts
}

/// The texts in a file tool's input that are new: not the names of files, not what is taken out, not what is said about
/// the call. A parameter that nobody here knows counts as new.
fn new_texts<'c>(value: &'c Json<'_>, paths: &[&str], texts: &mut Vec<Cow<'c, str>>) {
    const NOT_NEW: &[&str] = &[
        "description",
        "explanation",
        "instruction",
        "old",
        "oldcontent",
        "oldsource",
        "oldstr",
        "oldstring",
        "oldtext",
    ];
    match value {
        Json::Text(text) => texts.push(Cow::Borrowed(text)),
        Json::List(values) => values.iter().for_each(|value| new_texts(value, paths, texts)),
        Json::Object(members) => {
            for (name, value) in members {
                let plain = name.replace(['_', '-'], "").to_ascii_lowercase();
                if plain == "diff" {
                    // Beside the new content a host may show the change to it, with the lines that go.
                    let lines = value.text().unwrap_or_default().lines();
                    let kept = lines.filter(|line| !line.starts_with('-')).collect::<Vec<_>>().join("\n");
                    texts.push(Cow::Owned(kept));
                } else if !paths.contains(&&**name) && !NOT_NEW.contains(&plain.as_str()) {
                    new_texts(value, paths, texts);
                }
            }
        }
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::Big(_) | Json::Float(_) => {}
    }
}

fn all_texts<'c>(value: &'c Json<'_>, texts: &mut Vec<Cow<'c, str>>) {
    match value {
        Json::Text(text) => texts.push(Cow::Borrowed(text)),
        Json::List(values) => values.iter().for_each(|value| all_texts(value, texts)),
        Json::Object(members) => {
            for (name, value) in members {
                texts.push(Cow::Borrowed(name));
                all_texts(value, texts);
            }
        }
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::Big(_) | Json::Float(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_in(input: &str) -> Vec<String> {
        let input: Json<'_> = serde_json::from_str(input).unwrap();
        let mut texts = Vec::new();
        new_texts(&input, &["file_path"], &mut texts);
        texts.into_iter().map(Cow::into_owned).collect()
    }

    #[test]
    fn removed_text_is_not_new_text() {
        for (input, new) in [
            (r#"{"file_path":"a","content":"b"}"#, vec!["b"]),
            (r#"{"file_path":"a","old_string":"b","new_string":"c"}"#, vec!["c"]),
            (r#"{"path":"a","old_str":"b","new_str":"c"}"#, vec!["a", "c"]),
            (
                r#"{"file_path":"a","edits":[{"oldText":"b","newText":"c"},{"old_string":"d","x":"e"}]}"#,
                vec!["c", "e"],
            ),
            (r#"{"file_path":"a","instruction":"take b out","old_string":"b","new_string":""}"#, vec![""]),
            (r#"{"file_path":"a","new_source":"b","cell_type":"code"}"#, vec!["b", "code"]),
            (
                r#"{"file_path":"a","diff":"@@ -1 +1 @@\n-b\n+c","newFileContents":"c"}"#,
                vec!["@@ -1 +1 @@\n+c", "c"],
            ),
            (r#""all of it""#, vec!["all of it"]),
        ] {
            assert_eq!(new_in(input), new, "{input}");
        }
    }
}
