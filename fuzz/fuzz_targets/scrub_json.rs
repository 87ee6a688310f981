//! JSON stays JSON: only what stands in strings is changed, and a second time nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;
use toolgate_secrets::{Marks, Rules, scrub_json};

/// What stands outside of strings, with a pair of quotes for each of them.
fn skeleton(json: &str) -> String {
    let mut out = String::new();
    let (mut inside, mut escaped) = (false, false);
    for c in json.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => {
                inside = !inside;
                out.push('"');
            }
            _ if inside => {}
            _ => out.push(c),
        }
    }
    out
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

fn check(json: &str) {
    let Some(once) = scrub_json(json, &Rules::default(), Marks::Plain) else { return };
    assert!(once.count > 0);
    assert!(is_json(&once.text), "{json}\nbecomes\n{}", once.text);
    assert_eq!(skeleton(json), skeleton(&once.text));
    if let Some(twice) = scrub_json(&once.text, &Rules::default(), Marks::Plain) {
        assert_eq!(once.text, twice.text, "a second time");
    }
}

fuzz_target!(|text: &str| {
    // As it is, though it is no JSON: nothing is promised but an end.
    let _ = scrub_json(text, &Rules::default(), Marks::Plain);
    if is_json(text) {
        check(text);
    }
    // As a tool's output, and as what a tool says of another's output.
    let Ok(string) = serde_json::to_string(text) else { return };
    let output = format!(r#"{{"stdout": {string}, "n": [1.0e5, null, {string}]}}"#);
    check(&output);
    let Ok(nested) = serde_json::to_string(&output) else { return };
    check(&nested);
});
