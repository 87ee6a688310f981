//! Any text is redacted without a panic, and a second time changes nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgate_secrets::redact;

fuzz_target!(|text: &str| {
    let once = redact(text);
    let twice = redact(once.as_str());
    assert_eq!(once.as_str(), twice.as_str());
});
