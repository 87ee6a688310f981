//! Any text as a shell command: interpreted within bounds, never a panic, and what could not be read is told.

#![no_main]

#[path = "support/nowhere.rs"]
mod nowhere;

use libfuzzer_sys::fuzz_target;
use toolgate_effects::{analyse, confined};
use toolgate_model::Effect;

use nowhere::SCENE;

fuzz_target!(|text: &str| {
    let found = analyse(text, &SCENE);
    let told = found.effects.iter().any(|effect| matches!(effect, Effect::Unknown(_)));
    assert!(toolgate_shell::parse(text).error.is_none() || told, "what cannot be read is told");
    let _ = confined(text, "/w");
});
