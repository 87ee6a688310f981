//! Claude MPM's hook handler: events of Claude Code in, `{"action": …}` out.
//!
//! The answer has two words only, so asking is blocking, and so is a rewrite that it cannot carry. What a tool gave back
//! is told and cannot be changed.

use serde::Serialize;
use toolgate_model::{Call, Decision, DecodeError, HooksStart, Host, Phase, Reply, Verdict};

use crate::claude_code;
use crate::wire::{Dialect, print, rewrite_hint};

pub(crate) struct Mpm;

#[derive(Serialize)]
#[serde(tag = "action", rename_all = "lowercase")]
enum Answer<'a> {
    Continue,
    Block { error: &'a str },
}

const DIALECT: Dialect = Dialect { host: "mpm", tools: claude_code::TOOLS, phase: claude_code::phase };

impl Host for Mpm {
    fn id(&self) -> &'static str {
        "mpm"
    }

    fn profile(&self) -> &'static str {
        "write-guard"
    }

    fn hooks_start(&self) -> HooksStart {
        HooksStart::WithTheCall
    }

    fn project_variable(&self) -> Option<&'static str> {
        Some("CLAUDE_PROJECT_DIR")
    }

    fn phase(&self, event: &str) -> Phase {
        claude_code::phase(event)
    }

    fn decode<'a>(&self, event: Option<&'a str>, stdin: &'a [u8]) -> Result<Call<'a>, DecodeError> {
        DIALECT.decode(event, stdin)
    }

    fn encode(&self, call: &Call<'_>, verdict: &Verdict) -> Reply {
        match (call.phase, verdict.decision()) {
            (Phase::After | Phase::Start | Phase::Prompt | Phase::End | Phase::Error | Phase::Other, _) => {
                print(&Answer::Continue)
            }
            (_, Decision::Allow) => match rewrite_hint(verdict) {
                None => print(&Answer::Continue),
                Some(hint) => print(&Answer::Block { error: &hint }),
            },
            (_, Decision::Ask | Decision::Deny) => {
                print(&Answer::Block { error: &verdict.message().unwrap_or_default() })
            }
        }
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        match phase {
            Some(Phase::After | Phase::Start | Phase::Prompt | Phase::End | Phase::Error | Phase::Other) => {
                print(&Answer::Continue)
            }
            None | Some(Phase::Before | Phase::Permission | Phase::Config) => {
                print(&Answer::Block { error: message })
            }
        }
    }
}
