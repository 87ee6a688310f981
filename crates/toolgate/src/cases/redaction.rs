//! Cases about what a tool gave back: `input.result` is the output, `redact` or `keep` what becomes of it.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use toolgate_gate::machine::Machine;
use toolgate_model::{Call, Phase, RedactedOutput};
use toolgate_policies::Settings;

use super::map::{Map, MapMachine};
use super::{Case, Trouble};
use toolgate_gate::redaction::{Marker, redacted};

/// Whether a case is of this kind.
pub(super) fn is_meant(case: &Case<'_>) -> bool {
    matches!(case.expect.as_str(), "redact" | "keep")
}

pub(super) fn run(case: &Case<'_>, settings: &Settings) -> Result<(), Trouble> {
    let wrong = |what: String| Err(Trouble::Wrong(what));
    let raw = match case.input.get("result") {
        Some(result) => serde_json::to_string(result).map_err(|error| Trouble::Wrong(error.to_string()))?,
        None => "null".to_owned(),
    };
    let event = Call::event("case", "PostToolUse".into(), Phase::After);
    let call = Call { tool: case.tool.as_str().into(), output: Some(raw.as_str().into()), ..event };
    // No profile for cases has marks that need a key.
    let machine = MapMachine(Map::default(), BTreeMap::new());
    let marker = Marker::new(machine.world(), Path::new("/nonexistent"), None);
    let redaction = redacted(&call, std::slice::from_ref(settings), &marker);
    let count = redaction.as_ref().map_or(0, |redaction| redaction.count);
    // Some expect a redaction that leaves everything as it is.
    let kept = case.expect == "keep" || case.detail.redactions == Some(0);
    if kept != (count == 0) {
        return wrong(format!("expected {}, {count} redacted", case.expect));
    }
    let output = redaction.as_ref().map_or(raw.as_str(), |redaction| &redaction.output);
    let output: Value = serde_json::from_str(output).map_err(|error| Trouble::Wrong(error.to_string()))?;
    let detail = &case.detail;
    if detail.output.as_ref().is_some_and(|wanted| *wanted != output) {
        return wrong(format!("the output is {output}"));
    }
    for (path, wanted) in &detail.values {
        if member(&output, path) != Some(wanted) {
            return wrong(format!("`{path}` of the output is {:?}, not {wanted}", member(&output, path)));
        }
    }
    for (wanted, holds) in detail
        .contains
        .iter()
        .map(|text| (text, true))
        .chain(detail.not_contains.iter().map(|text| (text, false)))
    {
        let (place, text) = match wanted {
            Value::Array(pair) => match pair.as_slice() {
                [Value::String(path), Value::String(text)] => (member(&output, path), text),
                _ => return wrong(format!("{wanted} is not a place and a text")),
            },
            Value::String(text) => (Some(&output), text),
            _ => return wrong(format!("{wanted} is not a text")),
        };
        if place.is_some_and(|place| place.to_string().contains(text.as_str())) != holds {
            return wrong(format!("`{text}` is{} in {output}", if holds { " not" } else { "" }));
        }
    }
    if detail.redactions.is_some_and(|wanted| wanted != count) {
        return wrong(format!("{count} redacted"));
    }
    let note = redaction.as_ref().map(RedactedOutput::note).unwrap_or_default();
    match &detail.additional_context {
        Some(wanted) if count > 0 && !note.contains(wanted.as_str()) => {
            wrong(format!("the note is `{note}`"))
        }
        _ => Ok(()),
    }
}

/// `user.email`, `contacts.0`
fn member<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, name| match value {
        Value::Array(values) => values.get(name.parse::<usize>().ok()?),
        other => other.get(name),
    })
}

/// The settings of a product that scrubs, as ours.
pub(super) fn settings(case: &Case<'_>) -> String {
    if !is_meant(case) {
        return String::new();
    }
    match (case.context.policy.scrub_pii, case.context.policy.scrub_secrets) {
        (None, None) => String::new(),
        (Some(true), _) => "\n[redaction]\nemails = \"all\"\nmarks = \"compat\"\n".to_owned(),
        (Some(false) | None, _) => "\n[redaction]\nemails = \"none\"\nmarks = \"compat\"\n".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_json_are_found_by_their_path() {
        let value: Value = serde_json::from_str(r#"{"a":{"b":["x","y"]}}"#).unwrap();
        assert_eq!(member(&value, "a.b.1"), Some(&Value::from("y")));
        assert_eq!(member(&value, "a.c"), None);
    }
}
