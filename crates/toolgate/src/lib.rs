//! The command line, the case files, and what keeps a gate for a whole session. The gate itself is `toolgate_gate`.

#![cfg(feature = "cli")]

pub mod cases;
pub mod cli;
pub mod serve;
pub mod workspace;
