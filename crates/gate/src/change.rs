//! How a call changes a file: what it holds now, and what it would hold afterwards.
//!
//! Only for the few files that may only grow or must keep their entries. For all files, every call would pay for it.

use std::io::ErrorKind;

use toolgate_model::{Access, Action, After, Call, Change, Json, NodeKind, Resolved, Use, World, patched};

/// Nobody compares more. A larger file is taken for one of which nobody can say what becomes of it.
const MOST: usize = 16 << 20;

/// What hosts call the text that goes, the one that comes, and the whole of a file.
const OLD: &[&str] = &["oldstring", "oldstr", "oldtext", "old", "search"];
const NEW: &[&str] = &["newstring", "newstr", "newtext", "new", "replace"];
const WHOLE: &[&str] = &["content", "contents", "filetext", "newfilecontents", "text"];

/// What becomes of the file of this use.
pub(crate) fn change(call: &Call<'_>, used: &Use<'_>, place: &Resolved, world: &dyn World) -> Change {
    if used.access == Access::Append {
        let there = place.node.as_ref().is_some_and(|node| node.kind == NodeKind::File);
        return Change { before: there.then(String::new), after: After::More };
    }
    let before = match world.read(&place.physical, MOST) {
        Ok(bytes) if bytes.len() < MOST => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Ok(_) | Err(_) => {
            let there = place.node.as_ref().is_some_and(|node| node.kind == NodeKind::File);
            return Change { before: there.then(String::new), after: After::Unknown };
        }
    };
    let after = match (&call.action, used.access) {
        (Action::Files(_), Access::Write) if used.param == "patch" => {
            patched_to(&call.input, before.as_deref())
        }
        (Action::Files(_), Access::Write) => written(&call.input, &used.text, before.as_deref()),
        _ => After::Unknown,
    };
    Change { before, after }
}

/// What an edit or a whole new content makes of the file of this name. Hosts read only the members that they know: where
/// there are some of more than one kind of edit, nobody can say which counts.
fn written(input: &Json<'_>, name: &str, before: Option<&str>) -> After {
    const LISTS: &[&str] = &["edits", "changes", "replacements"];
    const FILES: &[&str] = &["path", "filepath", "file", "filename", "targetfile"];
    let edits = member(input, LISTS);
    let each = || {
        edits.into_iter().flat_map(|edits| if let Json::List(edits) = edits { edits.as_slice() } else { &[] })
    };
    if is_ambiguous(input) || each().any(is_ambiguous) {
        return After::Unknown;
    }
    if let Some(line) = member(input, &["insertline"]) {
        let new = text(input, &["inserttext", "newstr", "newstring", "newtext", "text"]);
        return match (before, new, line) {
            (Some(before), Some(new), Json::Int(line)) if pair(input).is_none() => {
                inserted(before, *line, new)
            }
            _ => After::Unknown,
        };
    }
    match (edits, pair(input), text(input, WHOLE)) {
        (Some(Json::List(edits)), None, None) => {
            // A file of its own beside that of the whole call: nobody can say which counts.
            if text(input, FILES).is_some() && edits.iter().any(|edit| text(edit, FILES).is_some()) {
                return After::Unknown;
            }
            let own = |edit: &&Json<'_>| text(edit, FILES).is_none_or(|file| file == name);
            let pairs = edits.iter().filter(own).map(pair).collect::<Option<Vec<_>>>();
            pairs.filter(|pairs| !pairs.is_empty()).map_or(After::Unknown, |pairs| replaced(before, pairs))
        }
        (None, Some(pair), None) => replaced(before, vec![pair]),
        (None, None, Some(text)) => After::Text(text.to_owned()),
        _ => After::Unknown,
    }
}

/// Whether two members mean the same thing: which of them the host takes, nobody here can say.
fn is_ambiguous(input: &Json<'_>) -> bool {
    let Json::Object(members) = input else { return false };
    let plain = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
    let count =
        |names: &[&str]| members.iter().filter(|(name, _)| names.contains(&plain(name).as_str())).count();
    [OLD, NEW, WHOLE].iter().any(|names| count(names) > 1)
}

/// The first member that has one of these names, however it is spelled.
fn member<'j, 'a>(input: &'j Json<'a>, names: &[&str]) -> Option<&'j Json<'a>> {
    let Json::Object(members) = input else { return None };
    let plain = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
    members.iter().find_map(|(name, value)| names.contains(&plain(name).as_str()).then_some(value))
}

fn text<'j>(input: &'j Json<'_>, names: &[&str]) -> Option<&'j str> {
    member(input, names).and_then(Json::text)
}

/// One text in place of another, and whether everywhere.
struct Pair {
    old: String,
    new: String,
    all: bool,
}

fn pair(edit: &Json<'_>) -> Option<Pair> {
    let old = text(edit, OLD)?;
    // An edit without its new text takes the old one away.
    let new = text(edit, NEW).unwrap_or_default();
    let all = member(edit, &["replaceall"]) == Some(&Json::Bool(true));
    Some(Pair { old: old.to_owned(), new: new.to_owned(), all })
}

fn replaced(before: Option<&str>, pairs: Vec<Pair>) -> After {
    let mut text = before.map(str::to_owned);
    for Pair { old, new, all } in &pairs {
        // A short text that stands everywhere, replaced by a long one, must not fill the memory.
        let most = |text: &String| text.len() / old.len().max(1);
        let grows = |text: &String| if *all { most(text).saturating_mul(new.len()) } else { new.len() };
        if text.as_ref().is_some_and(|text| text.len().saturating_add(grows(text)) > 4 * MOST) {
            return After::Unknown;
        }
        text = text.and_then(|text| match (old.is_empty(), *all) {
            // An empty text is not a place: hosts take such an edit for the whole content of a new file.
            (true, _) => Some(new.clone()),
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

/// What a patch between `*** Begin Patch` and `*** End Patch` makes of the one file that it names. Of one that names more,
/// that moves a file or that has another form, nobody says it here.
fn patched_to(input: &Json<'_>, before: Option<&str>) -> After {
    let patch = match input {
        Json::Object(members) => {
            let texts = members.iter().filter_map(|(_, value)| value.text());
            let mut patches = texts.filter(|text| !patched(text).is_empty());
            // Which of two its tool takes, nobody here can say.
            match (patches.next(), patches.next()) {
                (patch, None) => patch,
                (_, Some(_)) => None,
            }
        }
        input => input.text(),
    };
    // Clients do not agree on whether a lone carriage return ends a line.
    let Some(patch) = patch.filter(|patch| patched(patch).len() == 1 && !patch.contains('\r')) else {
        return After::Unknown;
    };
    let mut hunks: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    let mut adds = false;
    for line in patch.trim().lines() {
        // Editors strip the blank of an empty line.
        match line.split_at_checked(1).unwrap_or((" ", "")) {
            _ if line.starts_with("*** Add File:") => adds = true,
            _ if line.starts_with("***") => {}
            _ if line.starts_with("@@") => hunks.push(Default::default()),
            (sign @ (" " | "+" | "-"), rest) => {
                if hunks.is_empty() {
                    hunks.push(Default::default());
                }
                if let Some((old, new)) = hunks.last_mut() {
                    old.extend((sign != "+").then_some(rest));
                    new.extend((sign != "-").then_some(rest));
                }
            }
            _ => return After::Unknown,
        }
    }
    if adds {
        let lines: Vec<&str> = hunks.into_iter().flat_map(|(_, new)| new).collect();
        return After::Text(lines.join("\n") + "\n");
    }
    hunks.retain(|(old, new)| old != new);
    let mut bare = hunks.clone();
    for (old, new) in &mut bare {
        // An empty line before the end of the patch is one of the patch, where the file has none there.
        while old.last() == Some(&"") && new.last() == Some(&"") {
            old.pop();
            new.pop();
        }
    }
    let made = before.and_then(|before| with_hunks(before, &hunks).or_else(|| with_hunks(before, &bare)));
    made.map_or_else(
        || After::Replaced(bare.iter().map(|(old, new)| (old.join("\n"), new.join("\n"))).collect()),
        After::Text,
    )
}

/// The text with each hunk made where its old lines first stand; `None` where they do not, or are none.
fn with_hunks(before: &str, hunks: &[(Vec<&str>, Vec<&str>)]) -> Option<String> {
    let mut lines: Vec<&str> = before.lines().collect();
    for (old, new) in hunks {
        let at = lines.windows(old.len().max(1)).position(|window| window == old.as_slice())?;
        lines.splice(at..at + old.len(), new.iter().copied());
    }
    Some(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(input: &str, before: Option<&str>) -> After {
        written(&serde_json::from_str(input).unwrap(), "a", before)
    }

    #[test]
    fn the_text_after_an_edit_is_worked_out() {
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
            (r#"{"insert_line":0,"old_str":"x","new_str":"y"}"#, Some("x"), After::Unknown),
            (r#"{"insert_line":-1,"new_str":"y"}"#, Some("x"), After::Unknown),
            (r#"{"insert_line":1,"new_str":"y"}"#, None, After::Unknown),
            // A tool that writes whole files does not look at the edit beside it.
            (r#"{"content":"b","old_str":"a","new_str":"a b"}"#, Some("a"), After::Unknown),
            // An edit of another file changes nothing in this one.
            (
                r#"{"edits":[{"path":"a","oldText":"x","newText":"y"},{"path":"b","oldText":"y","newText":"x"}]}"#,
                Some("x"),
                text("y"),
            ),
            (r#"{"edits":[{"path":"b","oldText":"y","newText":"x"}]}"#, Some("x"), After::Unknown),
            (r#"{"old_str":"","new_str":"b"}"#, Some("a"), text("b")),
            (r#""text""#, Some("a"), After::Unknown),
        ] {
            assert_eq!(after(input, before), expected, "{input}");
        }
        let pairs = After::Replaced(vec![("x".into(), "y".into())]);
        assert_eq!(after(r#"{"old_str":"x","new_str":"y"}"#, Some("a")), pairs);
        assert_eq!(after(r#"{"old_str":"x","new_str":"y"}"#, None), pairs);
    }

    #[test]
    fn the_text_after_a_patch_is_worked_out() {
        let text = |text: &str| After::Text(text.to_owned());
        for (body, before, expected) in [
            ("*** Update File: a\n@@\n one\n+two\n", Some("one\n"), text("one\ntwo\n")),
            ("*** Update File: a\n one\n-two\n+three", Some("one\ntwo\n"), text("one\nthree\n")),
            ("*** Update File: a\n@@\n b\n+c\n", Some("abc\nb\n"), text("abc\nb\nc\n")),
            (
                "*** Update File: a\n@@\n one\n+two\n",
                Some("none"),
                After::Replaced(vec![("one".into(), "one\ntwo".into())]),
            ),
            (
                "*** Update File: a\n@@\n+two\n",
                Some("one"),
                After::Replaced(vec![(String::new(), "two".into())]),
            ),
            ("*** Add File: a\n+one\n+two", Some("old"), text("one\ntwo\n")),
            ("*** Update File: a\n*** Move to: b\n@@\n one\n+two", Some("one\n"), After::Unknown),
            ("*** Update File: a\n@@\n one\r\n+two", Some("one\n"), After::Unknown),
            ("*** Update File: a\nodd\n", Some("one\n"), After::Unknown),
        ] {
            let patch = format!("*** Begin Patch\n{body}\n*** End Patch");
            let input = Json::Object(vec![("input".into(), Json::Text(patch.clone().into()))]);
            assert_eq!(patched_to(&input, before), expected, "{patch}");
            assert_eq!(patched_to(&Json::Text(patch.clone().into()), before), expected, "{patch}");
        }
        assert_eq!(patched_to(&Json::Null, None), After::Unknown);
    }
}
