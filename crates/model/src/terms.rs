//! Everything besides the decision. It is made in one place, after the verdict, and never changes it.

use crate::{Decision, Verdict};

/// What goes with a verdict, or with an event that stops nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Terms {
    /// The parameters to be changed before the call runs, each with its new text. Empty where the call is denied.
    pub rewrites: Vec<(String, String)>,
    /// What is shown to the model instead of the tool's output; `None` where that stays as it is.
    pub output: Option<RedactedOutput>,
    /// What the user is told, and the model is not.
    pub notice: Option<String>,
    /// What the model is told besides: at the start of a session who it is, later what it had better do.
    pub context: Option<String>,
    /// What the user is taken to have said, where that is more than the words themselves.
    pub said: Option<String>,
    /// What a sandbox has denied inside of the call, for the log. The model is told in [`Terms::context`].
    pub denied_inside: Vec<String>,
    /// What the agent is urged to do, behind the reason of a denial.
    pub urge: Option<String>,
}

/// How a denial begins.
pub const DENIED: &str = "toolgate denied this: ";
/// How a question begins.
const ASKS: &str = "toolgate asks: ";

impl Terms {
    /// The text for the agent, with what it is urged to do. `None` where nothing is objected. It says first who speaks and what was
    /// decided: clients show it behind words of their own, some of them as the error of a hook.
    pub fn message(&self, verdict: &Verdict) -> Option<String> {
        self.headed(verdict, if verdict.decision() == Decision::Ask { ASKS } else { DENIED })
    }

    /// The same for a host that denies what would be asked.
    pub fn denial(&self, verdict: &Verdict) -> Option<String> {
        self.headed(verdict, DENIED)
    }

    fn headed(&self, verdict: &Verdict, head: &str) -> Option<String> {
        let text = verdict.message_urging(self.urge.as_deref())?;
        // A profile's own words stay as they are.
        let is_worded = verdict.findings().first().is_some_and(|finding| finding.wording.is_some());
        Some(if is_worded { text } else { format!("{head}{text}") })
    }
}

/// What is shown to the model instead of what a tool gave back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedOutput {
    /// JSON of the very same shape, its secrets replaced by marks.
    pub output: String,
    /// How many.
    pub count: usize,
    /// A part of it, or all, was not gone through, and is left out.
    pub withheld: bool,
}

/// What the model is told of an output that is not all there.
const WITHHELD: &str = "\u{26a0}\u{fe0f} toolgate withheld some of this output, or all of it: what it says in its place is not the tool's.";

impl RedactedOutput {
    /// What the model is told beside it.
    pub fn note(&self) -> String {
        let redacted =
            format!("\u{26a0}\u{fe0f} {} sensitive value(s) redacted from tool output.", self.count);
        match (self.withheld, self.count) {
            (false, _) => redacted,
            (true, 0) => WITHHELD.to_owned(),
            (true, _) => format!("{redacted} {WITHHELD}"),
        }
    }
}
