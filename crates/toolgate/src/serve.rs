//! `toolgate serve <host>`: one gate for a whole session, for hosts whose hooks are code and not commands.
//!
//! JSON lines: `{"id": 1, "event": "tool_call", "payload": {…}}` in, `{"id": 1, "answer": {…}}` out, one for one and
//! in order, until stdin ends. docs/protocol.md is the manual. What an event means and what is answered is the same
//! as for `toolgate hook <host> --event <event>`; settings are looked at anew for each.
//!
//! It fails closed: a line that cannot be read is answered with a denial, and one without end ends the gate, which its
//! callers take for a denial too.

use std::io::{self, BufRead, Read, Write};
use std::process::{Child, ExitCode};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolgate_model::Host;

use toolgate_gate::failure::{Failure, MAX_EVENT};
use toolgate_gate::options::HookOptions;
use toolgate_gate::registered::look_after_answer;
use toolgate_gate::sealing::start_if_due;
use toolgate_gate::{Gate, hook};
use toolgate_setup::{WholeProgram, this_machine};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    event: String,
    #[serde(borrow)]
    payload: &'a RawValue,
}

#[derive(Serialize)]
struct Response<'a> {
    id: Option<&'a RawValue>,
    answer: &'a RawValue,
}

/// Answers every request until there are no more.
pub fn run(host: &'static dyn Host, options: &HookOptions) -> ExitCode {
    hook::refuse_on_panic(host, None);
    let mut input = io::stdin().lock();
    let mut request = Vec::new();
    let mut sealer: Option<Child> = None;
    loop {
        request.clear();
        let room = MAX_EVENT as u64 + 1;
        match input.by_ref().take(room).read_until(b'\n', &mut request) {
            Ok(0) => return ExitCode::SUCCESS,
            Ok(_) if request.len() > MAX_EVENT => return ExitCode::from(2),
            Ok(_) if request.iter().all(u8::is_ascii_whitespace) => continue,
            Ok(_) => {}
            Err(_) => return ExitCode::from(2),
        }
        let said = respond(host, options, &request);
        let mut output = io::stdout().lock();
        if said.is_none_or(|said| writeln!(output, "{said}").and_then(|()| output.flush()).is_err()) {
            return ExitCode::from(2);
        }
        drop(output);
        if let Some(started) = start_if_due(&options.dirs, true) {
            // The one before has ended long ago, and is no longer kept for us.
            let _ = sealer.replace(started).map(|mut before| before.try_wait());
            if let Ok(Request { event, payload, .. }) = serde_json::from_slice::<Request<'_>>(&request) {
                let options = HookOptions { event: Some(event), ..options.clone() };
                look_after_answer(&this_machine(), host, &options, payload.get().as_bytes());
            }
        }
    }
}

/// The line that answers a request.
fn respond(host: &'static dyn Host, options: &HookOptions, request: &[u8]) -> Option<String> {
    let gate = |options: HookOptions| {
        let gate = Gate::new(host, options).with_setup(&WholeProgram);
        match std::env::current_exe() {
            Ok(own) => gate.with_launcher(own),
            Err(_) => gate,
        }
    };
    let (id, reply) = match serde_json::from_slice::<Request<'_>>(request) {
        Ok(Request { id, event, payload }) => {
            let options = HookOptions { event: Some(event), ..options.clone() };
            (Some(id), gate(options).answer(payload.get().as_bytes()))
        }
        Err(_) => (None, gate(options.clone()).refuse(&Failure::Request)),
    };
    let answer: &RawValue = serde_json::from_str(&reply.stdout).ok()?;
    serde_json::to_string(&Response { id, answer }).ok()
}
