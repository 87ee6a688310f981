//! What is taken out of a tool's output before the model sees it: the words of `[redaction]`.
//!
//! Not a policy: nothing is decided here, and the work is the `secrets` crate's. Private keys and the tokens of the
//! best known makers are taken out whatever is set.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[redaction]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
#[expect(clippy::struct_excessive_bools, reason = "each can be set by itself")]
pub struct Redaction {
    /// Which secrets toolgate removes: `all` known kinds, or only the `core`.
    pub secrets: Secrets,
    /// Which email addresses toolgate removes.
    pub emails: Emails,
    /// Addresses (`team@corp.com`) and domains (`@corp.com`) that stay, beside those that are always safe.
    pub safe_emails: Vec<String>,
    /// Whether toolgate removes values that only look random, if their names say that they are secret.
    pub entropy: bool,
    /// Whether toolgate removes the values of all names that end in `password`, `secret`, `token` and the like, even if
    /// they look like those of a test or a manual.
    pub every_assignment: bool,
    /// Whether keys stay that vendors print in their manuals.
    pub keep_examples: bool,
    /// Your own patterns, each with what replaces a match.
    pub pattern: Vec<OwnPattern>,
    /// The mark that replaces a secret.
    pub marks: Marks,
    /// Whether shell commands are run through toolgate in hosts that never let the output of a command that fails be changed
    /// (Claude Code). A command then gets a first line before it. The host shows that line in its prompts and cannot compare
    /// such a command with its own rules (`Bash(git status:*)`): it asks about each, unless its mode or `grant` answers.
    pub wrap: bool,
}

impl Default for Redaction {
    fn default() -> Redaction {
        Redaction {
            secrets: Secrets::All,
            emails: Emails::Personal,
            safe_emails: Vec::new(),
            entropy: true,
            every_assignment: false,
            keep_examples: false,
            pattern: Vec::new(),
            marks: Marks::Same,
            wrap: false,
        }
    }
}

/// One `[[redaction.pattern]]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnPattern {
    /// A regular expression, tried on every text of an output.
    pub pattern: String,
    /// What replaces a match, letter for letter.
    #[serde(default = "redacted")]
    pub replacement: String,
}

fn redacted() -> String {
    "[REDACTED]".to_owned()
}

/// Which secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Secrets {
    /// Private keys, JWTs, and tokens of GitHub, OpenAI, AWS and Slack.
    Core,
    /// Every known kind.
    All,
}

/// Which email addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Emails {
    /// None.
    None,
    /// Those that are on no safe list, but not where the author of a commit or a package, the target of `ssh` or the account
    /// of a service is named.
    Personal,
    /// Those that are on no safe list.
    Unlisted,
    /// All.
    All,
}

/// The mark that replaces a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Marks {
    /// `[JWT REDACTED]`
    Plain,
    /// `[EMAIL_REDACTED]` for addresses, `[REDACTED:JWT]` for all else.
    Compat,
    /// `[JWT REDACTED]#3f9a`: within a session the same secret has the same end, so that a model can see that two are
    /// the same without seeing either.
    Same,
}

impl Redaction {
    /// What all layers want, each of which has to be content.
    pub fn of_all<'r>(layers: impl IntoIterator<Item = &'r Redaction>) -> Redaction {
        layers
            .into_iter()
            .cloned()
            .reduce(|one, other| Redaction {
                secrets: one.secrets.max(other.secrets),
                emails: one.emails.max(other.emails),
                safe_emails: one
                    .safe_emails
                    .into_iter()
                    .filter(|email| other.safe_emails.contains(email))
                    .collect(),
                entropy: one.entropy || other.entropy,
                every_assignment: one.every_assignment || other.every_assignment,
                keep_examples: one.keep_examples && other.keep_examples,
                pattern: {
                    let mut all = one.pattern;
                    let new = other.pattern.into_iter().filter(|own| !all.contains(own)).collect::<Vec<_>>();
                    all.extend(new);
                    all
                },
                marks: one.marks,
                wrap: one.wrap || other.wrap,
            })
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(pattern: &str) -> OwnPattern {
        OwnPattern { pattern: pattern.into(), replacement: redacted() }
    }

    #[test]
    fn of_several_layers_the_strictest_setting_wins() {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mild = Redaction {
            secrets: Secrets::Core,
            emails: Emails::None,
            safe_emails: words(&["@a.test", "@b.test"]),
            entropy: false,
            every_assignment: false,
            keep_examples: true,
            pattern: vec![own("x")],
            marks: Marks::Plain,
            wrap: false,
        };
        let strict = Redaction {
            secrets: Secrets::All,
            emails: Emails::All,
            safe_emails: words(&["@b.test", "@c.test"]),
            entropy: true,
            every_assignment: true,
            keep_examples: false,
            pattern: vec![own("y")],
            marks: Marks::Compat,
            wrap: true,
        };
        // An address is safe where all say so; a pattern of one is a pattern of all. Marks are a matter of looks: the
        // first layer's count.
        let both = Redaction { safe_emails: words(&["@b.test"]), ..strict.clone() };
        let patterns = |names: &[&str]| names.iter().map(|name| own(name)).collect::<Vec<_>>();
        assert_eq!(
            Redaction::of_all([&mild, &strict]),
            Redaction { pattern: patterns(&["x", "y"]), marks: Marks::Plain, ..both.clone() }
        );
        assert_eq!(
            Redaction::of_all([&strict, &mild]),
            Redaction { pattern: patterns(&["y", "x"]), marks: Marks::Compat, ..both }
        );
    }

    #[test]
    fn a_repeated_layer_changes_nothing() {
        let one = Redaction { pattern: vec![own("x")], ..Redaction::default() };
        assert_eq!(Redaction::of_all([&one]), one);
        assert_eq!(Redaction::of_all([&one, &one, &one]), one);
    }

    #[test]
    fn without_a_layer_every_known_secret_is_redacted() {
        let usual = Redaction::of_all([]);
        assert_eq!(usual, Redaction::default());
        assert_eq!((usual.secrets, usual.emails, usual.entropy), (Secrets::All, Emails::Personal, true));
        assert!(usual.safe_emails.is_empty() && !usual.keep_examples);
    }

    #[test]
    #[cfg(feature = "files")]
    fn a_pattern_without_a_replacement_gets_the_usual_mark() {
        let written: Redaction = toml::from_str("[[pattern]]\npattern = \"EMP-[0-9]+\"\n").unwrap();
        assert_eq!(written.pattern, [own("EMP-[0-9]+")]);
        assert_eq!(own("x").replacement, "[REDACTED]");
    }
}
