//! Host JSON to [`Call`](toolgate_model::Call), [`Verdict`](toolgate_model::Verdict) to host JSON. One host a file.
//!
//! A newcomer adds a host here: one file, one line in [`HOSTS`], its real payloads in `cases/hosts/<host>/`.

mod claude_code;
mod mpm;
mod pi;
mod tools;

use toolgate_model::Host;

pub use tools::{Tool, action_for, tools_like};

/// Every host that has a hook command of its own.
pub const HOSTS: &[&dyn Host] = &[&claude_code::ClaudeCode, &mpm::Mpm];

/// The host of this id.
pub fn host(id: &str) -> Option<&'static dyn Host> {
    HOSTS.iter().copied().find(|host| host.id() == id)
}
