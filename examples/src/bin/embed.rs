//! An orchestrator that runs shell commands for a model, and asks the gate in its own process before it runs one.
//!
//! ```sh
//! cargo run -p toolgate-examples --bin embed -- 'ls' 'rm -rf ../other'
//! ```
//!
//! For each command it prints the verdict and the reason, and runs what may run. What the model would be shown of the output goes
//! through the gate too, which takes the secrets out. Settings and ledger are those of the person who runs it.

#![expect(clippy::print_stdout, reason = "it reports to a person")]
#![expect(clippy::indexing_slicing, reason = "a JSON value is null where it has no such member")]

use std::env;
use std::error::Error;
use std::process::Command;

use serde_json::{Value, json};
use toolgate_gate::Gate;
use toolgate_gate::dirs::Dirs;
use toolgate_gate::options::{HookOptions, SessionOptions};
use toolgate_setup::WholeProgram;

fn main() -> Result<(), Box<dyn Error>> {
    let root = env::current_dir()?;
    let dirs = Dirs::from_env(|name| env::var_os(name)).ok_or("HOME is not set")?;
    // The root comes from us. Without it, the first event would choose the root by its `cwd`.
    let session = SessionOptions { root: Some(root.clone()), ..SessionOptions::default() };
    let host = toolgate_hosts::host("generic").ok_or("the generic host is missing")?;
    let gate = Gate::new(host, HookOptions { session, ..HookOptions::new(dirs) }).with_setup(&WholeProgram);

    let id = format!("embed-{}", std::process::id());
    for command in env::args().skip(1) {
        let call = json!({
            "event": "before", "session": id, "cwd": root, "tool": "bash", "input": { "command": command },
        });
        let answer = ask(&gate, &call)?;
        println!("{}: {command}", answer["decision"].as_str().unwrap_or("deny"));
        if let Some(reason) = answer["reason"].as_str() {
            println!("  {reason}");
        }
        // A program with a person in front of it would put an `ask` to them. Nobody is here, so it is no consent.
        if answer["decision"] != "allow" {
            continue;
        }
        // The gate may have changed the input: what runs is what it has judged.
        let input = answer.get("input").unwrap_or(&call["input"]);
        let judged = input["command"].as_str().ok_or("the answer has no command")?;
        let output = Command::new("bash").arg("-c").arg(judged).current_dir(&root).output()?;

        let mut event = call.clone();
        event["event"] = json!("after");
        event["input"] = input.clone();
        event["output"] = json!(String::from_utf8_lossy(&output.stdout));
        let answer = ask(&gate, &event)?;
        let shown = answer.get("output").unwrap_or(&event["output"]);
        // An output that could not be searched for secrets is not shown.
        if answer["decision"] == "allow" {
            for line in shown.as_str().unwrap_or_default().lines() {
                println!("  | {line}");
            }
        }
    }
    Ok(())
}

/// What the gate answers to an event. It always answers: what it cannot judge, it denies.
fn ask(gate: &Gate, event: &Value) -> serde_json::Result<Value> {
    serde_json::from_str(&gate.answer(event.to_string().as_bytes()).stdout)
}
