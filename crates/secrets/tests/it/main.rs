//! The promises of the engine: every pattern's examples, texts as tools print them, any text at all, and time.

#![cfg(test)]
#![expect(clippy::string_slice, reason = "a test may fail")]

mod patterns;
mod properties;
mod support;
mod texts;
mod time;
