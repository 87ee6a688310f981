//! The library behind the `toolgate` binary.

pub mod dirs;
pub mod doctor;
pub mod register;
