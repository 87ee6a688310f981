//! Claude MPM's hook handler: events of Claude Code in, `{"action": …}` out.
//!
//! The answer has only two words, so toolgate blocks instead of asking, and instead of a rewrite that the answer cannot
//! express. toolgate sees the output of a tool, but cannot change it.

use serde::Serialize;
use toolgate_model::{
    Answer, Call, Decision, DecodeError, HooksStart, Host, Phase, Reply, Stoppable, Terms, Unstoppable,
    Verdict,
};

use crate::claude_code;
use crate::reply::{print, rewrite_hint};
use crate::wire::Dialect;

pub(crate) struct Mpm;

const DIALECT: Dialect =
    Dialect { host: "mpm", tools: claude_code::TOOLS, phase: claude_code::phase, unasked: None };

impl Host for Mpm {
    fn id(&self) -> &'static str {
        "mpm"
    }

    fn own_directory(&self) -> Option<&'static str> {
        Some(".claude")
    }

    fn profile(&self) -> &'static str {
        "write-guard"
    }

    fn hooks_start(&self) -> HooksStart {
        HooksStart::WithTheCall
    }

    // It runs in a session of Claude Code, which starts them elsewhere then.
    fn loses_hooks_with_directory(&self) -> bool {
        false
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

    fn encode_verdict(&self, _: Stoppable, _: &Call<'_>, verdict: &Verdict, terms: &Terms) -> Reply {
        match verdict.decision() {
            Decision::Allow | Decision::Contain => {
                rewrite_hint(terms).map_or_else(go_on, |hint| block(&hint))
            }
            Decision::Ask | Decision::Deny => block(&terms.message(verdict).unwrap_or_default()),
        }
    }

    fn encode_terms(&self, _: Unstoppable, _: &Call<'_>, _: &Terms) -> Reply {
        go_on()
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        if phase.is_none_or(Phase::stops) { block(message) } else { go_on() }
    }
}

#[derive(Serialize)]
#[serde(tag = "action", rename_all = "lowercase")]
enum Action<'a> {
    Continue,
    Block { error: &'a str },
}

fn go_on() -> Reply {
    print(Answer::Silence, &Action::Continue)
}

fn block(error: &str) -> Reply {
    print(Answer::Deny, &Action::Block { error })
}
