//! Registration with every host and its diagnosis, through the binary, on a machine of its own: what `init` writes,
//! that `uninstall` gives back the very bytes, that the lines work as a host starts them, and what `doctor` says.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a helper of a test may fail the test"
)]

mod diagnosis;
mod lines;
mod machine;
mod registration;
