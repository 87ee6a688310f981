//! Rehearsals: a real client, played a scripted model, in a scratch world.
//!
//! What a gate promises holds only if the client asks it, waits for it and does as it says. None of that can be
//! read from our own code. So a client is started as a person starts it, with an empty home and a model on loopback
//! that wants what the script says, and afterwards one looks at the disk: was the file written or not.
//!
//! Nothing of this machine's own configuration reaches the client: its environment is listed in full, its home is
//! empty but for what [`clients`] write, and there is no key but a made-up one.

pub mod clients;
pub mod mcp;
pub mod model;
pub mod run;
pub mod stage;
#[cfg(target_os = "linux")]
pub mod terminal;
