//! Claude MPM's hook handler: events of Claude Code in, `{"action": …}` out.
//!
//! The answer has two words only, so asking is blocking, and so is a rewrite that it cannot carry.

use serde::Serialize;
use toolgate_model::{Call, Decision, DecodeError, Host, Phase, Reply, Verdict};

use crate::claude_code;

pub(crate) struct Mpm;

#[derive(Serialize)]
#[serde(tag = "action", rename_all = "lowercase")]
enum Answer<'a> {
    Continue,
    Block { error: &'a str },
}

fn print(answer: &Answer<'_>) -> Reply {
    match serde_json::to_string(answer) {
        Ok(json) => Reply::json(json),
        Err(_) => Reply { stderr: "toolgate could not write its answer".into(), code: 2, ..Reply::default() },
    }
}

impl Host for Mpm {
    fn id(&self) -> &'static str {
        "mpm"
    }

    fn profile(&self) -> &'static str {
        "write-guard"
    }

    fn starts_hooks_in_place(&self) -> bool {
        true
    }

    fn decode<'a>(&self, stdin: &'a [u8]) -> Result<Call<'a>, DecodeError> {
        claude_code::decode(self.id(), stdin)
    }

    fn encode(&self, call: &Call<'_>, verdict: &Verdict) -> Reply {
        match (call.phase, verdict.decision(), verdict.rewrites()) {
            (Phase::After | Phase::Start | Phase::Other, _, _) | (_, Decision::Allow, []) => {
                print(&Answer::Continue)
            }
            (_, Decision::Allow, [(param, text), ..]) => {
                let hint = format!("this host cannot change a call; give `{param}` as `{text}`");
                print(&Answer::Block { error: &hint })
            }
            (_, Decision::Ask | Decision::Deny, _) => {
                print(&Answer::Block { error: &verdict.message().unwrap_or_default() })
            }
        }
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        match phase {
            Some(Phase::After | Phase::Start | Phase::Other) => print(&Answer::Continue),
            None | Some(Phase::Before | Phase::Permission | Phase::Config) => {
                print(&Answer::Block { error: message })
            }
        }
    }
}
