//! What a call makes of a file: what stands there now, and what would stand there then.
//!
//! Looked at for the few files that may only grow or must keep their entries, and for no other: every call would pay for it.

use std::io::ErrorKind;

use toolgate_model::{Access, Action, After, Call, Change, Json, NodeKind, Place, Use, World};

/// Nobody compares more. A larger file is taken for one of which nobody can say what becomes of it.
const MOST: usize = 16 << 20;

/// What becomes of the file of this use.
pub(crate) fn change(call: &Call<'_>, used: &Use<'_>, place: &Place, world: &dyn World) -> Change {
    let before = match world.read(&place.physical, MOST) {
        Ok(bytes) if bytes.len() < MOST => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Ok(_) | Err(_) => {
            let there = place.node.as_ref().is_some_and(|node| node.kind == NodeKind::File);
            return Change { before: there.then(String::new), after: After::Unknown };
        }
    };
    let after = match (&call.action, used.access) {
        (_, Access::Append) => After::More,
        (Action::Files(_), Access::Write) => written(&call.input, before.as_deref()),
        _ => After::Unknown,
    };
    Change { before, after }
}

fn written(input: &Json<'_>, before: Option<&str>) -> After {
    const WHOLE: &[&str] = &["content", "contents", "filetext", "newfilecontents", "text"];
    const LISTS: &[&str] = &["edits", "changes", "replacements"];
    let Json::Object(members) = input else { return After::Unknown };
    let plain = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
    let text = |names: &[&str]| {
        members
            .iter()
            .find_map(|(name, value)| names.contains(&plain(name).as_str()).then(|| value.text())?)
    };
    let line = members.iter().find(|(name, _)| matches!(plain(name).as_str(), "insertline" | "line"));
    let list = members.iter().find(|(name, _)| LISTS.contains(&plain(name).as_str()));
    if let Some((_, Json::List(edits))) = list {
        let pairs = edits.iter().map(pair).collect::<Option<Vec<_>>>();
        return pairs.map_or(After::Unknown, |pairs| replaced(before, pairs));
    }
    if let Some(pair) = pair(input) {
        return replaced(before, vec![pair]);
    }
    if let Some((_, Json::Int(line))) = line {
        let new = text(&["inserttext", "newstr", "newstring", "newtext", "text"]);
        return match (before, new) {
            (Some(before), Some(new)) => inserted(before, *line, new),
            _ => After::Unknown,
        };
    }
    text(WHOLE).map_or(After::Unknown, |text| After::Text(text.to_owned()))
}

/// One text in place of another, and whether everywhere.
struct Pair {
    old: String,
    new: String,
    all: bool,
}

fn pair(edit: &Json<'_>) -> Option<Pair> {
    const OLD: &[&str] = &["oldstring", "oldstr", "oldtext", "old", "search"];
    const NEW: &[&str] = &["newstring", "newstr", "newtext", "new", "replace"];
    let Json::Object(members) = edit else { return None };
    let plain = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
    let text = |names: &[&str]| {
        members
            .iter()
            .find_map(|(name, value)| names.contains(&plain(name).as_str()).then(|| value.text())?)
    };
    let old = text(OLD)?;
    // An edit without its new text takes the old one away.
    let new = text(NEW).unwrap_or_default();
    let all = members.iter().any(|(name, value)| plain(name) == "replaceall" && *value == Json::Bool(true));
    Some(Pair { old: old.to_owned(), new: new.to_owned(), all })
}

fn replaced(before: Option<&str>, pairs: Vec<Pair>) -> After {
    let mut text = before.map(str::to_owned);
    for Pair { old, new, all } in &pairs {
        text = text.and_then(|text| match (old.is_empty(), *all) {
            // An empty text is no place: hosts take such an edit for the whole content of a new file.
            (true, _) => text.is_empty().then(|| new.clone()),
            (false, _) if !text.contains(old.as_str()) => None,
            (false, true) => Some(text.replace(old.as_str(), new)),
            (false, false) => Some(text.replacen(old.as_str(), new, 1)),
        });
    }
    match text {
        Some(text) => After::Text(text),
        None => After::Replaced(pairs.into_iter().map(|pair| (pair.old, pair.new)).collect()),
    }
}

/// The text with more behind the line of this number.
fn inserted(before: &str, line: i64, new: &str) -> After {
    let Ok(line) = usize::try_from(line) else { return After::Unknown };
    let mut lines: Vec<&str> = before.split_inclusive('\n').collect();
    let at = line.min(lines.len());
    // A last line that does not end would run into what is added.
    let ended = before.is_empty() || before.ends_with('\n');
    let new = if at == lines.len() && !ended { format!("\n{new}") } else { new.to_owned() };
    lines.insert(at, &new);
    After::Text(lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(input: &str, before: Option<&str>) -> After {
        written(&serde_json::from_str(input).unwrap(), before)
    }

    #[test]
    fn edits_are_made() {
        let text = |text: &str| After::Text(text.to_owned());
        for (input, before, expected) in [
            (r#"{"path":"a","content":"b"}"#, Some("old"), text("b")),
            (r#"{"path":"a","file_text":"b"}"#, None, text("b")),
            (r#"{"path":"a","old_str":"b","new_str":"b c"}"#, Some("a b a"), text("a b c a")),
            (r#"{"old_string":"b","new_string":"c","replace_all":true}"#, Some("b b"), text("c c")),
            (r#"{"old_string":"b","new_string":"c"}"#, Some("b b"), text("c b")),
            (r#"{"old_string":"","new_string":"c"}"#, Some(""), text("c")),
            (
                r#"{"edits":[{"oldText":"a","newText":"b"},{"oldText":"b","newText":"c"}]}"#,
                Some("a"),
                text("c"),
            ),
            (r#"{"insert_line":1,"new_str":"x\n"}"#, Some("a\nb\n"), text("a\nx\nb\n")),
            (r#"{"insert_line":9,"new_str":"x"}"#, Some("a"), text("a\nx")),
            (r#"{"path":"a"}"#, Some("a"), After::Unknown),
            (r#"{"edits":[7]}"#, Some("a"), After::Unknown),
            (r#"{"old_str":"x"}"#, Some("axb"), text("ab")),
        ] {
            assert_eq!(after(input, before), expected, "{input}");
        }
        let pairs = After::Replaced(vec![("x".into(), "y".into())]);
        assert_eq!(after(r#"{"old_str":"x","new_str":"y"}"#, Some("a")), pairs);
        assert_eq!(after(r#"{"old_str":"x","new_str":"y"}"#, None), pairs);
    }
}
