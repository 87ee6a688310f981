//! The promises of the engine: every pattern's examples, texts as tools print them, any text at all, and time.

#![cfg(test)]
#![expect(
    clippy::disallowed_methods,
    clippy::string_slice,
    reason = "a test of time needs a clock; a test may fail"
)]

mod patterns;
mod properties;
mod support;
mod texts;
mod time;
