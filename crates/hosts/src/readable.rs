//! A tool's output as a model would have read it: for hosts that take a text in its place, and no other shape.

use std::borrow::Cow;

use serde_json::value::RawValue;
use toolgate_model::RedactedOutput;

use crate::members::Members;

/// What is put in the place of a part that is not text, an image for one.
const NO_TEXT: &str = "[a part that is not text is left out here]";

/// The redacted output, and in its last line that it is one. The model reads the first of these members that is there, and
/// where there is none of them the whole.
pub(crate) fn readable(redaction: &RedactedOutput, members: &[&str]) -> String {
    let output = &*redaction.output;
    // INVARIANT: a redaction is JSON. Were it none, it would still be without its secrets.
    let text =
        serde_json::from_str(output).map_or(Cow::Borrowed(output), |whole| text_of(main(whole, members)));
    let text = text.strip_suffix('\n').unwrap_or(&text);
    format!("{text}\n{}", redaction.note())
}

fn main<'a>(whole: &'a RawValue, members: &[&str]) -> &'a RawValue {
    let Ok(mut all) = Members::of(whole) else { return whole };
    let there = |name: &&str| all.raw(name).filter(|value| value.get() != "null");
    members.iter().find_map(there).unwrap_or(whole)
}

/// A text as it is, a list of parts as the texts in it, all else as JSON.
fn text_of(value: &RawValue) -> Cow<'_, str> {
    if let Some(text) = text(value) {
        return text;
    }
    let parts: Vec<&RawValue> = serde_json::from_str(value.get()).unwrap_or_default();
    let texts: Vec<_> = parts.iter().map(|part| Members::of(part).ok()?.raw("text").and_then(text)).collect();
    if texts.iter().all(Option::is_none) {
        return Cow::Borrowed(value.get());
    }
    let texts: Vec<_> = texts.into_iter().map(|text| text.unwrap_or(Cow::Borrowed(NO_TEXT))).collect();
    Cow::Owned(texts.join("\n"))
}

fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<String>(value.get()).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redacted_output_is_shown_as_the_text_the_model_would_have_read() {
        for (output, read) in [
            (r#""a\nb\n""#, "a\nb"),
            (r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#, "a\nb"),
            (r#"{"content":"a","other":"b"}"#, "a"),
            (
                r#"{"content":[{"text":"a"},{"type":"image","data":"AAAA"}]}"#,
                "a\n[a part that is not text is left out here]",
            ),
            (r#"{"first":{"a": 1},"content":[{"text":"a"}]}"#, r#"{"a": 1}"#),
            (r#"{"first":null,"content":[{"text":"a"}]}"#, "a"),
            (r#"{"content":[{"url":"a"}]}"#, r#"[{"url":"a"}]"#),
            (r#"{"goal":{"a":[1]}}"#, r#"{"goal":{"a":[1]}}"#),
            (r#"{"goal":1,"goal":2}"#, r#"{"goal":1,"goal":2}"#),
            (r#""\ud800""#, r#""\ud800""#),
            ("7", "7"),
            ("[]", "[]"),
        ] {
            let redaction = RedactedOutput { output: output.to_owned(), count: 2, withheld: false };
            let expected = format!("{read}\n{}", redaction.note());
            assert_eq!(readable(&redaction, &["first", "content"]), expected, "{output}");
        }
    }
}
