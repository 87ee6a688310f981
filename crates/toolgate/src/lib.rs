//! The library behind the `toolgate` binary.

pub mod dirs;
pub mod register;
