//! Puts our handlers into the text of a JSON file of settings and takes them out again, through its syntax tree:
//! everything else, comments and layout included, stays as the person wrote it.
//!
//! Every edit is checked before it is handed out: what is not ours must mean the same before and after.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::{Map, Value};

use super::content::{Content, EditError, Noted};
use super::handler::{handlers_in, is_ours, ours_of};

/// The members of a JSON object, in the order in which they are written.
pub type Members = Vec<(&'static str, Value)>;

/// How a host wants its handlers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// In groups: `{"hooks": [handler]}`, with a matcher where one is named.
    Groups(Option<&'static str>),
    /// As they are.
    Flat,
}

/// One setting: the keys that lead to it, and its value.
pub type Setting = (&'static [&'static str], Value);

/// What is to stand in the file.
#[derive(Debug, Clone)]
pub(super) struct Hooks {
    /// The host's id, by which our handlers are known.
    pub(super) host: &'static str,
    pub(super) shape: Shape,
    /// Event → our handler.
    pub(super) handlers: Vec<(&'static str, Members)>,
    /// Settings besides the hooks.
    pub(super) settings: Vec<Setting>,
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

impl Content for Hooks {
    fn insert(&self, text: &str) -> Result<String, EditError> {
        if text.trim().is_empty() {
            self.insert_into("{}").map(|text| text + "\n")
        } else {
            self.insert_into(text)
        }
    }

    fn remove(&self, text: &str, noted: Noted<'_>) -> Result<Option<String>, EditError> {
        let original = noted.original().and_then(tolerant);
        let rest = self.take_from(text, original.as_ref(), noted != Noted::Nothing)?;
        let ours_alone = noted == Noted::New && is_blank(&rest);
        Ok((!ours_alone).then_some(rest))
    }
}

impl Hooks {
    /// The text with exactly the wanted handlers of ours in it.
    fn insert_into(&self, text: &str) -> Result<String, EditError> {
        let root = parse(text, &options())?;
        let before = root.value().and_then(|value| value_of(&value));
        let top = match root.value() {
            None => root.object_value_or_create(),
            Some(value) => value.as_object(),
        };
        let top = top.ok_or_else(|| not_an_object("the file"))?;
        for (path, value) in &self.settings {
            set(&top, path, value)?;
        }
        if !self.handlers.is_empty() {
            self.insert_handlers(&top)?;
        }
        let after = root.value().and_then(|value| value_of(&value));
        let same = rest(before, self.host, &self.settings) == rest(after.clone(), self.host, &self.settings);
        let seen = after.is_some_and(|after| self.is_seen_in(&after));
        if same && seen { Ok(root.to_string()) } else { Err(EditError::Unclear) }
    }

    fn insert_handlers(&self, top: &CstObject) -> Result<(), EditError> {
        let hooks =
            top.get("hooks").unwrap_or_else(|| top.append("hooks", CstInputValue::Object(Vec::new())));
        let hooks = hooks.object_value().ok_or_else(|| not_an_object("`hooks`"))?;
        for member in hooks.properties() {
            let name = member.decoded_name().unwrap_or_default();
            if !self.handlers.iter().any(|(event, _)| *event == name)
                && let Some(elements) = member.array_value()
                && self.take_out(&elements)
                && hollow(&elements.clone().into())
            {
                member.remove();
            }
        }
        for (event, handler) in &self.handlers {
            match hooks.get(event) {
                None => drop(hooks.append(event, CstInputValue::Array(vec![self.element(handler)]))),
                Some(member) => {
                    let what = || EditError::NotAnArray { what: format!("`hooks.{event}`") };
                    self.place(&member.array_value().ok_or_else(what)?, handler);
                }
            }
        }
        Ok(())
    }

    /// Whether a host that reads this finds all that we want there, once.
    pub(super) fn is_seen_in(&self, after: &Value) -> bool {
        let handlers = self.handlers.iter().all(|(event, handler)| {
            let handler: Map<_, _> =
                handler.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
            ours_of(after, self.host, event).map(|(_, _, _, ours)| ours).eq([&Value::Object(handler)])
        });
        handlers && self.settings.iter().all(|(path, value)| at(after, path) == Some(value))
    }

    /// The text without our handlers, and without the settings that came with them. What became empty by that
    /// goes too, unless the original had it. A text without our handlers stays as it is, unless the note says
    /// that its settings are ours.
    fn take_from(&self, text: &str, original: Option<&Value>, noted: bool) -> Result<String, EditError> {
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
                if let Some(elements) = member.array_value()
                    && self.take_out(&elements)
                {
                    removed = true;
                    let name = member.decoded_name().unwrap_or_default();
                    let had = had_hooks.is_some_and(|hooks| hooks.get(&name).is_some());
                    if !had && hollow(&elements.into()) {
                        member.remove();
                    }
                }
            }
            if removed && had_hooks.is_none() && hollow(&events.into()) {
                hooks.remove();
            }
        }
        if !(removed || noted && self.handlers.is_empty()) {
            return Ok(text.to_owned());
        }
        for (path, value) in &self.settings {
            unset(&top, path, value, original);
        }
        let after = root.value().and_then(|value| value_of(&value));
        let same = rest(before, self.host, &self.settings) == rest(after, self.host, &self.settings);
        if same { Ok(root.to_string()) } else { Err(EditError::Unclear) }
    }

    /// A handler as it stands among the elements of its event.
    fn element(&self, handler: &[(&'static str, Value)]) -> CstInputValue {
        let Shape::Groups(matcher) = self.shape else {
            return object(handler);
        };
        let mut group: Vec<_> =
            matcher.into_iter().map(|matcher| ("matcher".to_owned(), matcher.into())).collect();
        group.push(("hooks".to_owned(), CstInputValue::Array(vec![object(handler)])));
        CstInputValue::Object(group)
    }

    /// Makes the handler the only one of ours among the elements of its event. One that stands as we would put it
    /// there is changed where it stands.
    fn place(&self, elements: &CstArray, handler: &[(&'static str, Value)]) {
        let mut ours = elements.elements().into_iter().filter_map(|element| {
            if self.is_our_node(&element) {
                return Some((self.shape == Shape::Flat, element.as_object()?));
            }
            let group = element.as_object()?;
            let handlers = handlers(&group)?.elements();
            let alone = handlers.len() == 1 && self.is_our_group(&element);
            let node = handlers.into_iter().find(|node| self.is_our_node(node))?;
            Some((alone, node.as_object()?))
        });
        if let (Some((true, node)), None) = (ours.next(), ours.next()) {
            set_members(&node, handler);
        } else {
            self.take_out(elements);
            elements.append(self.element(handler));
        }
    }

    /// Whether a group has the matcher that we want, and nothing else besides its handlers.
    fn is_our_group(&self, group: &CstNode) -> bool {
        let Some(Value::Object(mut group)) = value_of(group) else {
            return false;
        };
        group.remove("hooks");
        match self.shape {
            Shape::Groups(None) => group.is_empty(),
            Shape::Groups(Some(matcher)) => {
                group.len() == 1 && group.get("matcher").is_some_and(|value| value == matcher)
            }
            Shape::Flat => false,
        }
    }

    /// Removes our handlers, and the groups that held nothing else. Says whether there were any.
    fn take_out(&self, elements: &CstArray) -> bool {
        let mut any = false;
        for element in elements.elements() {
            let Some(handlers) = element.as_object().and_then(|group| handlers(&group)) else {
                if self.is_our_node(&element) {
                    any = true;
                    element.remove();
                }
                continue;
            };
            let ours = handlers.elements().into_iter().filter(|node| self.is_our_node(node));
            let ours = ours.collect::<Vec<_>>();
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

    fn is_our_node(&self, node: &CstNode) -> bool {
        value_of(node).is_some_and(|handler| is_ours(&handler, self.host))
    }
}

/// Sets what the keys lead to. A switch is turned; anything else that is there already stays, since changing it
/// would change what the rest of the file means.
fn set(top: &CstObject, path: &[&str], value: &Value) -> Result<(), EditError> {
    let Some((key, parents)) = path.split_last() else { return Ok(()) };
    let mut object = top.clone();
    for parent in parents {
        let member =
            object.get(parent).unwrap_or_else(|| object.append(parent, CstInputValue::Object(Vec::new())));
        object = member.object_value().ok_or_else(|| not_an_object(&format!("`{parent}`")))?;
    }
    match object.get(key) {
        None => drop(object.append(key, input(value))),
        Some(member) if member.value().and_then(|old| value_of(&old)).as_ref() == Some(value) => {}
        Some(member) if value.is_boolean() => member.set_value(input(value)),
        Some(_) => return Err(EditError::Unclear),
    }
    Ok(())
}

/// Takes a setting of ours out, and what became empty by that, unless the original had it.
fn unset(top: &CstObject, path: &[&str], value: &Value, original: Option<&Value>) {
    let had = |path: &[&str]| original.is_some_and(|original| at(original, path).is_some());
    let object_at =
        |path: &[&str]| path.iter().try_fold(top.clone(), |object, key| object.get(key)?.object_value());
    for length in (1..=path.len()).rev() {
        let Some((here, _)) = path.split_at_checked(length) else { return };
        let Some((key, parents)) = here.split_last() else { return };
        let Some(member) = object_at(parents).and_then(|object| object.get(key)) else { return };
        let ours = if length == path.len() {
            member.value().and_then(|old| value_of(&old)).as_ref() == Some(value)
        } else {
            member.object_value().is_some_and(|object| hollow(&object.into()))
        };
        if had(here) || !ours {
            return;
        }
        member.remove();
    }
}

/// What the keys lead to.
pub(super) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// The value of a file in some dialect of JSON.
pub fn tolerant(text: &str) -> Option<Value> {
    let root = CstRootNode::parse(text, &ParseOptions::default()).ok()?;
    value_of(&root.value()?)
}

/// A node of the syntax tree as a value.
fn value_of(node: &CstNode) -> Option<Value> {
    if let Some(object) = node.as_object() {
        let members = object.properties();
        let members =
            members.iter().map(|member| Some((member.decoded_name()?, value_of(&member.value()?)?)));
        return members.collect::<Option<Map<_, _>>>().map(Value::Object);
    }
    if let Some(array) = node.as_array() {
        return array.elements().iter().map(value_of).collect::<Option<Vec<_>>>().map(Value::Array);
    }
    if let Some(string) = node.as_string_lit() {
        return string.decoded_value().ok().map(Value::String);
    }
    serde_json::from_str(&node.to_string()).ok()
}

/// Whether a text holds an empty object and no comment.
fn is_blank(text: &str) -> bool {
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

fn parse(text: &str, options: &ParseOptions) -> Result<CstRootNode, EditError> {
    CstRootNode::parse(text, options).map_err(|error| EditError::Broken {
        format: "JSON",
        line: error.line_display(),
        column: error.column_display(),
    })
}

fn not_an_object(what: &str) -> EditError {
    EditError::NotAnObject { what: what.to_owned() }
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

fn handlers(group: &CstObject) -> Option<CstArray> {
    group.get("hooks")?.array_value()
}

/// Whether nothing stands between the brackets, not even a comment.
fn hollow(node: &CstNode) -> bool {
    node.children_exclude_trivia_and_tokens().is_empty() && !node.children().iter().any(CstNode::is_comment)
}

/// The settings without what is ours, and without empty shells around it, for comparing.
pub(super) fn rest(value: Option<Value>, host: &str, settings: &[Setting]) -> Map<String, Value> {
    let Some(Value::Object(mut top)) = value else {
        return Map::new();
    };
    for (path, _) in settings {
        strip(&mut top, path);
    }
    if let Some(Value::Object(events)) = top.get_mut("hooks") {
        for elements in events.values_mut().filter_map(Value::as_array_mut) {
            for element in elements.iter_mut() {
                if let Some(handlers) = element.get_mut("hooks").and_then(Value::as_array_mut) {
                    handlers.retain(|handler| !is_ours(handler, host));
                }
            }
            elements.retain(|element| match handlers_in(element) {
                [] => false,
                [handler] => !is_ours(handler, host),
                _ => true,
            });
        }
        events.retain(|_, elements| !is_empty(elements));
    }
    if top.get("hooks").is_some_and(is_empty) {
        top.remove("hooks");
    }
    top
}

/// Takes what the keys lead to out of an object, and objects that became empty by that.
fn strip(object: &mut Map<String, Value>, path: &[&str]) {
    let Some((key, below)) = path.split_first() else { return };
    match object.get_mut(*key) {
        Some(Value::Object(inner)) if !below.is_empty() => {
            strip(inner, below);
            if inner.is_empty() {
                object.remove(*key);
            }
        }
        _ if below.is_empty() => drop(object.remove(*key)),
        _ => {}
    }
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

    fn wanted(flat: bool) -> Hooks {
        let handler = vec![
            ("type", json!("command")),
            ("command", json!("/bin/toolgate")),
            ("args", json!(["hook", "claude-code", "--home", "/h"])),
        ];
        Hooks {
            host: "claude-code",
            shape: if flat { Shape::Flat } else { Shape::Groups(None) },
            handlers: vec![("PreToolUse", handler.clone()), ("Stop", handler)],
            settings: vec![(&["allowManagedHooksOnly"], json!(true)), (&["a", "b"], json!(true))],
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
        fn only_our_hooks_and_settings_are_changed(settings in settings(), pretty: bool, windows: bool, flat: bool) {
            let mut text = if pretty { format!("{settings:#}") } else { settings.to_string() };
            if windows {
                text = text.replace('\n', "\r\n");
            }
            let wanted = wanted(flat);
            let without = |value: &Value| rest(Some(value.clone()), wanted.host, &wanted.settings);
            let once = match wanted.insert(&text) {
                Err(EditError::NotAnObject { .. }) => return Ok(()),
                once => once.unwrap(),
            };
            prop_assert_eq!(&wanted.insert(&once).unwrap(), &once);
            let value: Value = serde_json::from_str(&once).unwrap();
            prop_assert_eq!(without(&value), without(&settings));
            let removed = wanted.remove(&once, Noted::Held(&text)).unwrap().unwrap();
            let value: Value = serde_json::from_str(&removed).unwrap();
            prop_assert!(EVENTS.iter().all(|event| ours_of(&value, wanted.host, event).next().is_none()));
            prop_assert_eq!(without(&value), without(&settings));
        }

        /// Whatever the file holds, an edit is right or refused.
        #[test]
        fn any_text_is_edited_or_refused_without_a_panic(text in "[\\[\\]{}:,\"a/*\n ]{0,40}") {
            if let Ok(edited) = wanted(false).insert(&text) {
                prop_assert!(wanted(false).insert(&edited).is_ok());
            }
            let _ = wanted(true).insert(&text);
            let _ = wanted(false).remove(&text, Noted::New);
            let _ = is_blank(&text);
        }
    }

    const EVENTS: &[&str] = &["PreToolUse", "Stop", "Notification"];
}
