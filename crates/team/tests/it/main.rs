//! The promises of the registry and of lockouts, held against many writers, crashes, git, and whatever others write.

#![cfg(test)]

mod agents;
mod lockouts;
