//! Host JSON to [`Call`](toolgate_model::Call), [`Verdict`](toolgate_model::Verdict) to host JSON. One host a file.
//!
//! A newcomer adds a host here: one file, one line in [`HOSTS`], its real payloads in `cases/hosts/<host>/`.

mod claude_code;
mod codex;
mod copilot;
mod copilot_sdk;
mod cursor;
mod gemini;
mod generic;
mod hook_output;
mod members;
mod mpm;
mod opencode;
mod pi;
mod plain;
mod qwen;
mod readable;
mod reply;
mod tools;
mod wire;

use toolgate_model::Host;

pub use tools::{Tool, Toolset, tools_like};

/// Every host that we speak with.
pub const HOSTS: &[&dyn Host] = &[
    &claude_code::ClaudeCode,
    &codex::Codex,
    &copilot::Copilot,
    &copilot_sdk::CopilotSdk,
    &cursor::Cursor,
    &gemini::Gemini,
    &generic::Generic,
    &mpm::Mpm,
    &opencode::OpenCode,
    &pi::Pi,
    &qwen::Qwen,
];

/// The host of this id.
pub fn host(id: &str) -> Option<&'static dyn Host> {
    HOSTS.iter().copied().find(|host| host.id() == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_of_tools_is_sorted() {
        for (host, tools) in tools::TOOLSETS {
            assert!(tools.listed.is_sorted_by_key(|(name, _)| name), "{host}");
        }
    }
}
