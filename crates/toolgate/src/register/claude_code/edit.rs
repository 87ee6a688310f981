//! Puts our handlers into the text of a settings file and takes them out again, through its syntax tree:
//! everything else, comments and layout included, stays as the person wrote it.
//!
//! Every edit is checked before it is handed out: what is not ours must mean the same before and after.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::{Map, Value};

use super::reading::{is_ours, value_of};

/// What is to stand in the file.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    /// Event → the members of our handler, in the order in which they are written.
    pub(super) handlers: Vec<(&'static str, Vec<(&'static str, Value)>)>,
    /// Settings of the top level.
    pub(super) settings: Vec<(&'static str, bool)>,
}

/// Why a text cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EditError {
    /// Not JSON.
    Broken { line: usize, column: usize },
    /// Something that must be an object is not.
    NotAnObject { what: String },
    /// Something that must be an array is not.
    NotAnArray { what: String },
    /// The edit would change what is not ours, or the client would not see it; a key that stands in the file
    /// twice does that.
    Unclear,
}

/// JSON with comments, and no other liberty: what else is not JSON is a mistake that the person should see.
pub(super) fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// The text with exactly the wanted handlers of ours in it.
pub(super) fn insert(text: &str, wanted: &Wanted) -> Result<String, EditError> {
    let root = parse(text, &options())?;
    let before = root.value().and_then(|value| value_of(&value));
    let top = match root.value() {
        None => root.object_value_or_create(),
        Some(value) => value.as_object(),
    };
    let top = top.ok_or_else(|| not_an_object("the file"))?;
    for &(key, value) in &wanted.settings {
        match top.get(key) {
            None => drop(top.append(key, value.into())),
            Some(member) if member.value().and_then(|old| value_of(&old)) == Some(Value::Bool(value)) => {}
            Some(member) => member.set_value(value.into()),
        }
    }
    let hooks = top.get("hooks").unwrap_or_else(|| top.append("hooks", CstInputValue::Object(Vec::new())));
    let hooks = hooks.object_value().ok_or_else(|| not_an_object("`hooks`"))?;
    for member in hooks.properties() {
        let name = member.decoded_name().unwrap_or_default();
        if !wanted.handlers.iter().any(|(event, _)| *event == name)
            && let Some(groups) = member.array_value()
            && take_out(&groups)
            && hollow(&groups.clone().into())
        {
            member.remove();
        }
    }
    for (event, handler) in &wanted.handlers {
        match hooks.get(event) {
            None => drop(hooks.append(event, CstInputValue::Array(vec![group(handler)]))),
            Some(member) => {
                let what = || EditError::NotAnArray { what: format!("`hooks.{event}`") };
                place(&member.array_value().ok_or_else(what)?, handler);
            }
        }
    }
    let after = root.value().and_then(|value| value_of(&value));
    let keys = wanted.settings.iter().map(|(key, _)| *key).collect::<Vec<_>>();
    let same = rest(before, &keys) == rest(after.clone(), &keys);
    let seen = wanted.handlers.iter().all(|(event, handler)| {
        let handler: Map<_, _> =
            handler.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        ours_of(after.as_ref(), event).eq([&Value::Object(handler)])
    });
    if same && seen { Ok(root.to_string()) } else { Err(EditError::Unclear) }
}

/// The text without our handlers, and without the settings that came with them. What became empty by that goes
/// too, unless the original had it. A text without our handlers stays as it is.
pub(super) fn remove(
    text: &str,
    original: Option<&Value>,
    settings: &[(&'static str, bool)],
) -> Result<String, EditError> {
    // Any dialect will do here: one can only make such a file better.
    let root = parse(text, &ParseOptions::default())?;
    let before = root.value().and_then(|value| value_of(&value));
    let Some(top) = root.object_value() else {
        return Ok(text.to_owned());
    };
    let had_hooks = original.and_then(|original| original.get("hooks"));
    let mut removed = false;
    if let Some(hooks) = top.get("hooks")
        && let Some(events) = hooks.object_value()
    {
        for member in events.properties() {
            if let Some(groups) = member.array_value()
                && take_out(&groups)
            {
                removed = true;
                let name = member.decoded_name().unwrap_or_default();
                let had = had_hooks.is_some_and(|hooks| hooks.get(&name).is_some());
                if !had && hollow(&groups.into()) {
                    member.remove();
                }
            }
        }
        if removed && had_hooks.is_none() && hollow(&events.into()) {
            hooks.remove();
        }
    }
    if !removed {
        return Ok(text.to_owned());
    }
    for &(key, value) in settings {
        let had = original.is_some_and(|original| original.get(key).is_some());
        if !had
            && let Some(member) = top.get(key)
            && member.value().and_then(|old| value_of(&old)) == Some(Value::Bool(value))
        {
            member.remove();
        }
    }
    let keys = settings.iter().map(|(key, _)| *key).collect::<Vec<_>>();
    let after = root.value().and_then(|value| value_of(&value));
    if rest(before, &keys) == rest(after, &keys) { Ok(root.to_string()) } else { Err(EditError::Unclear) }
}

/// Whether a text holds an empty object and no comment.
pub(super) fn is_blank(text: &str) -> bool {
    let root = CstRootNode::parse(text, &ParseOptions::default());
    root.is_ok_and(|root| {
        root.children().iter().all(|node| !node.is_comment())
            && root.object_value().is_none_or(|object| hollow(&object.into()))
            && root.value().is_none_or(|value| value.as_object().is_some())
    })
}

/// A value as the tree takes it.
fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

fn object(members: &[(&'static str, Value)]) -> CstInputValue {
    CstInputValue::Object(members.iter().map(|(key, value)| ((*key).to_owned(), input(value))).collect())
}

fn group(handler: &[(&'static str, Value)]) -> CstInputValue {
    let handlers = CstInputValue::Array(vec![object(handler)]);
    CstInputValue::Object(vec![("hooks".to_owned(), handlers)])
}

fn parse(text: &str, options: &ParseOptions) -> Result<CstRootNode, EditError> {
    CstRootNode::parse(text, options)
        .map_err(|error| EditError::Broken { line: error.line_display(), column: error.column_display() })
}

fn not_an_object(what: &str) -> EditError {
    EditError::NotAnObject { what: what.to_owned() }
}

/// Makes the handler the only one of ours among the groups of its event. One that stands alone in a group
/// without a matcher is changed where it stands.
fn place(groups: &CstArray, handler: &[(&'static str, Value)]) {
    let mut ours = groups.elements().into_iter().filter_map(|group| {
        let group = group.as_object()?;
        let handlers = handlers(&group)?.elements();
        let alone = group.properties().len() == 1 && handlers.len() == 1;
        let node = handlers.into_iter().find(is_our_node)?;
        Some((alone, node.as_object()?))
    });
    if let (Some((true, node)), None) = (ours.next(), ours.next()) {
        set_members(&node, handler);
    } else {
        take_out(groups);
        groups.append(group(handler));
    }
}

fn set_members(node: &CstObject, members: &[(&'static str, Value)]) {
    for old in node.properties() {
        let name = old.decoded_name();
        if !members.iter().any(|(key, _)| name.as_deref() == Some(*key)) {
            old.remove();
        }
    }
    for (key, value) in members {
        match node.get(key) {
            None => drop(node.append(key, input(value))),
            Some(old) if old.value().and_then(|old| value_of(&old)).as_ref() == Some(value) => {}
            Some(old) => old.set_value(input(value)),
        }
    }
}

/// Removes our handlers, and the groups that held nothing else. Says whether there were any.
fn take_out(groups: &CstArray) -> bool {
    let mut any = false;
    for element in groups.elements() {
        let Some(handlers) = element.as_object().and_then(|group| handlers(&group)) else {
            continue;
        };
        let ours = handlers.elements().into_iter().filter(is_our_node).collect::<Vec<_>>();
        if !ours.is_empty() {
            any = true;
            ours.into_iter().for_each(CstNode::remove);
            if hollow(&handlers.into()) {
                element.remove();
            }
        }
    }
    any
}

fn handlers(group: &CstObject) -> Option<CstArray> {
    group.get("hooks")?.array_value()
}

fn is_our_node(node: &CstNode) -> bool {
    value_of(node).is_some_and(|handler| is_ours(&handler))
}

/// Whether nothing stands between the brackets, not even a comment.
fn hollow(node: &CstNode) -> bool {
    node.children_exclude_trivia_and_tokens().is_empty() && !node.children().iter().any(CstNode::is_comment)
}

/// Our handlers of an event.
fn ours_of<'a>(value: Option<&'a Value>, event: &str) -> impl Iterator<Item = &'a Value> {
    let groups = value.and_then(|value| value.get("hooks")?.get(event)?.as_array());
    let handlers = |group: &'a Value| group.get("hooks").and_then(Value::as_array);
    groups.into_iter().flatten().filter_map(handlers).flatten().filter(|handler| is_ours(handler))
}

/// The settings without what is ours, and without empty shells around it, for comparing.
fn rest(value: Option<Value>, settings: &[&str]) -> Map<String, Value> {
    let Some(Value::Object(mut top)) = value else {
        return Map::new();
    };
    for key in settings {
        top.remove(*key);
    }
    if let Some(Value::Object(events)) = top.get_mut("hooks") {
        for groups in events.values_mut().filter_map(Value::as_array_mut) {
            for handlers in groups.iter_mut().filter_map(|group| group.get_mut("hooks")?.as_array_mut()) {
                handlers.retain(|handler| !is_ours(handler));
            }
            groups.retain(|group| !group.get("hooks").is_some_and(is_empty));
        }
        events.retain(|_, groups| !is_empty(groups));
    }
    if top.get("hooks").is_some_and(is_empty) {
        top.remove("hooks");
    }
    top
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn wanted() -> Wanted {
        let handler = vec![
            ("type", json!("command")),
            ("command", json!("/bin/toolgate")),
            ("args", json!(["hook", "claude-code", "--home", "/h"])),
        ];
        Wanted {
            handlers: vec![("PreToolUse", handler.clone()), ("Stop", handler)],
            settings: vec![("allowManagedHooksOnly", true)],
        }
    }

    fn settings() -> impl Strategy<Value = Value> {
        let handler = prop_oneof![
            3 => "[a-z ]{1,9}".prop_map(|command| json!({ "type": "command", "command": command })),
            1 => Just(json!({ "command": "/old/toolgate", "args": ["hook", "claude-code"], "timeout": 3 })),
            1 => Just(json!({ "type": "command", "command": "toolgate hook claude-code" })),
            1 => Just(json!(7)),
        ];
        let group = (proptest::option::of("[A-Z]{0,3}"), proptest::collection::vec(handler, 0..3)).prop_map(
            |(matcher, hooks)| match matcher {
                Some(matcher) => json!({ "matcher": matcher, "hooks": hooks }),
                None => json!({ "hooks": hooks }),
            },
        );
        let groups = proptest::collection::vec(prop_oneof![5 => group, 1 => Just(json!({ "x": [] }))], 0..4);
        let events = proptest::collection::btree_map("PreToolUse|Stop|Notification", groups, 0..4);
        let other = proptest::collection::btree_map(
            "[a-c]",
            prop_oneof![Just(json!({})), Just(json!([1, {}]))],
            0..3,
        );
        let managed = proptest::option::of(any::<bool>());
        (proptest::option::of(events), other, managed).prop_map(|(events, other, managed)| {
            let mut settings = json!(other);
            if let Some(events) = events {
                settings["hooks"] = json!(events);
            }
            if let Some(managed) = managed {
                settings["allowManagedHooksOnly"] = json!(managed);
            }
            settings
        })
    }

    proptest! {
        #[test]
        fn only_what_is_ours_changes(settings in settings(), pretty: bool, windows: bool) {
            let mut text = if pretty { format!("{settings:#}") } else { settings.to_string() };
            if windows {
                text = text.replace('\n', "\r\n");
            }
            let wanted = wanted();
            let keys = ["allowManagedHooksOnly"];
            let once = insert(&text, &wanted).unwrap();
            prop_assert_eq!(&insert(&once, &wanted).unwrap(), &once);
            let value: Value = serde_json::from_str(&once).unwrap();
            prop_assert_eq!(rest(Some(value), &keys), rest(Some(settings.clone()), &keys));
            let removed = remove(&once, Some(&settings), &wanted.settings).unwrap();
            let value: Value = serde_json::from_str(&removed).unwrap();
            prop_assert!(EVENTS.iter().all(|event| ours_of(Some(&value), event).next().is_none()));
            prop_assert_eq!(rest(Some(value), &keys), rest(Some(settings), &keys));
        }

        /// Whatever the file holds, an edit is right or refused.
        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]{}:,\"a/*\n ]{0,40}") {
            if let Ok(edited) = insert(&text, &wanted()) {
                prop_assert!(insert(&edited, &wanted()).is_ok());
            }
            let _ = remove(&text, None, &wanted().settings);
            let _ = is_blank(&text);
        }
    }

    const EVENTS: &[&str] = &["PreToolUse", "Stop", "Notification"];
}
