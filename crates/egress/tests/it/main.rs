//! The proxy from outside.

#![cfg(target_os = "linux")]
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, reason = "a test ends so")]

mod proxy;
mod readers;
