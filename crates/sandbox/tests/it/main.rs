//! The promises of the sandbox: programs that try to leave it, and commands in a real repository, both seen from outside.

#![cfg(test)]

mod attacks;
mod clone;
mod degraded;
mod escapes;
mod kept;
mod limits;
mod packed;
mod pins;
mod refused;
mod together;
mod work;
mod world;
