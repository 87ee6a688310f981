//! Any text as a shell command: interpreted within a budget of requests for memory and of bytes, whatever it is.

#![no_main]

#[path = "support/nowhere.rs"]
mod nowhere;

use libfuzzer_sys::fuzz_target;
use toolgate_arena::Counting;
use toolgate_effects::{MAX_WORK, analyse};
use toolgate_model::{Effect, Gap, Unknown};

use nowhere::SCENE;

#[global_allocator]
static MEMORY: Counting = Counting::new();

/// As in `crates/effects/tests/it/worst.rs`.
const MAX_CALLS: usize = 1_250_000;
const MAX_BYTES: usize = 256 * 1024 * 1024;
const MAX_HELD: usize = 48 * 1024 * 1024;

fuzz_target!(|text: &str| {
    let (found, taken) = MEMORY.measure(|| analyse(text, &SCENE));
    let within = taken.calls <= MAX_CALLS && taken.bytes <= MAX_BYTES && taken.peak <= MAX_HELD;
    assert!(within, "{taken:?}, {} of work", found.work);
    let gave_up =
        |effect: &Effect<'_>| matches!(effect, Effect::Unknown(Unknown::Shell { gap: Gap::Bounds, .. }));
    assert!(found.work < MAX_WORK || found.effects.iter().any(gave_up), "what was cut short is told");
});
