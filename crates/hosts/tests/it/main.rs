//! Every host's page against what its client really sends and does.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may fail, and reads its payloads from the disk"
)]

mod never_looser;
mod payloads;
mod support;
