//! Which rules of an agent's prompt toolgate enforces, and the prompt without them.
//!
//! Promise: what shapes the model's behaviour stays, word for word. A sentence goes only where every word of it is
//! explained by rules that a policy enforces; one that says more stays whole. No model is asked and nothing is guessed:
//! `inventory.toml` says which words make a rule.

mod cut;
mod fate;
mod inventory;
mod markdown;
mod reading;
mod words;

use serde::Serialize;

pub use inventory::{Inventory, KnownRule, RuleKind};

/// What was found in a prompt.
#[derive(Debug, Serialize)]
pub struct Audit {
    /// In the order of the text.
    pub findings: Vec<Finding>,
    /// What would be saved.
    pub totals: Totals,
    /// The text without what goes.
    #[serde(skip)]
    pub shortened: String,
}

/// A sentence, heading or table that states a rule.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Where it begins, counted from one.
    pub line: usize,
    /// What it is.
    pub kind: RuleKind,
    /// The entries of the inventory that it states.
    pub rules: Vec<String>,
    /// The policies that enforce it.
    pub policies: Vec<String>,
    /// What becomes of it.
    pub outcome: Outcome,
    /// How long it is.
    pub bytes: usize,
    /// Itself.
    pub text: String,
}

/// What becomes of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It leaves the prompt.
    Goes,
    /// A short form stands in its place.
    Shortened(String),
    /// It stays, for this reason.
    Stays(String),
}

/// Sizes, in bytes and in tokens as [`tokens`] estimates them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// The text.
    pub bytes: usize,
    /// What goes.
    pub goes: usize,
    /// The short forms that stand in its place.
    pub reminders: usize,
    /// The difference.
    pub saved: usize,
}

/// Tokens by the rule of thumb of 3.3 bytes each.
pub fn tokens(bytes: usize) -> usize {
    bytes.saturating_mul(10) / 33
}

/// Looks through a prompt in Markdown.
pub fn audit(text: &str, inventory: &Inventory) -> Audit {
    let outline = markdown::outline(text);
    let reading = reading::Reading::new(text, &outline, inventory);
    let fates = fate::Fates::of(&reading);
    let shortened = cut::cut(text, &outline, &fates);
    let findings = fates.findings(&reading);
    let reminder = |finding: &Finding| match &finding.outcome {
        Outcome::Shortened(keep) => keep.len(),
        Outcome::Goes | Outcome::Stays(_) => 0,
    };
    let reminders = findings.iter().map(reminder).sum();
    // A blank line can be all that is left to set two paragraphs apart; no text gets longer by that.
    let saved = text.len().saturating_sub(shortened.len());
    let totals = Totals { bytes: text.len(), goes: saved + reminders, reminders, saved };
    Audit { findings, totals, shortened }
}
