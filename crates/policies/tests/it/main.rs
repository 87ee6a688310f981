//! What judging may cost.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod worst;
