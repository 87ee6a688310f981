//! The command line, the case files, what keeps a gate for a whole session, and what both programs do beside hooks. The gate
//! itself is `toolgate_gate`.

#[cfg(feature = "cli")]
pub mod cases;
#[cfg(feature = "cli")]
pub mod cli;
mod egress;
pub mod exec;
pub mod launcher;
#[cfg(all(feature = "cli", target_os = "linux"))]
pub mod proxy;
mod seatbelt;
pub mod self_test;
#[cfg(feature = "cli")]
pub mod serve;
mod shared_temporary;
#[cfg(feature = "cli")]
pub mod workspace;
