//! What in settings cannot be used, and why.

use std::collections::BTreeSet;

use regex_lite::{Regex, RegexBuilder};
use toolgate_model::{ToolAccess, shorten};

use crate::custom_rule::Rule;
use crate::destructive::CommandRule;
use crate::pattern;
use crate::rules;
use crate::settings::Settings;
use crate::team::Role;

/// Every call pays for every entry; more than this are a mistake or an attack on the deadline.
const MOST: usize = 1000;
/// Each is tried on every text.
const MOST_PATTERNS: usize = 64;

impl Settings {
    /// Says what in these settings cannot be used.
    pub fn check(&self) -> Result<(), String> {
        self.check_with(&BTreeSet::new())
    }

    /// The same, where `[rules]` may also name rules that other settings hold.
    pub(crate) fn check_with(&self, elsewhere: &BTreeSet<String>) -> Result<(), String> {
        self.check_lengths()?;
        self.policy.check()?;
        self.redaction.pattern.iter().try_for_each(|own| check_regex(&own.pattern))?;
        self.team.check()?;
        self.role.values().chain(self.agent.values()).try_for_each(Role::check)?;
        self.command.iter().try_for_each(check_command)?;
        for (name, tool) in &self.tools {
            if tool.access != ToolAccess::None && tool.paths.is_empty() {
                return Err(format!("the tool `{name}` needs `paths`, or `access = \"none\"`"));
            }
        }
        self.scope.iter().try_for_each(|entry| pattern::check(&entry.path))?;
        self.rule.iter().try_for_each(check_rule)?;
        self.network.check()?;
        rules::check(self, elsewhere)
    }

    fn check_lengths(&self) -> Result<(), String> {
        let most = [
            self.scope.len(),
            self.rule.len(),
            self.command.len(),
            self.rules.len(),
            self.approval.rules.len(),
            self.tools.len(),
            self.team.len(),
            self.role.len(),
            self.agent.len(),
            self.limit.len(),
            self.policy.len(),
        ]
        .into_iter()
        .max();
        if most > Some(MOST) {
            return Err(format!("more than {MOST} entries of one kind"));
        }
        let by_pattern = self.command.iter().filter(|rule| !rule.pattern.is_empty()).count();
        if self.redaction.pattern.len() + by_pattern > MOST_PATTERNS {
            return Err(format!("more than {MOST_PATTERNS} patterns: each is tried on every text"));
        }
        Ok(())
    }
}

/// Says what is wrong with a `[[command]]`.
fn check_command(rule: &CommandRule) -> Result<(), String> {
    let names_none = rule.command.iter().all(|command| command.trim().is_empty());
    if rule.message.is_empty() || (names_none && rule.pattern.is_empty()) {
        return Err(format!(
            "the command rule `{}` needs `message`, and `command` or `pattern`",
            shorten(&rule.message, 60)
        ));
    }
    check_regex(&rule.pattern)
}

/// Says what is wrong with a `[[rule]]`.
fn check_rule(rule: &Rule) -> Result<(), String> {
    rule.paths.iter().try_for_each(|path| pattern::check(path))?;
    let message = shorten(&rule.message, 60);
    if rule.decision.is_silent() {
        return Err(format!("the rule `{message}` can `deny` or `ask`, not `allow`"));
    }
    if rule.directories.len() + rule.extensions.len() + rule.paths.len() > MOST {
        return Err(format!("the rule `{message}` names more than {MOST} things"));
    }
    if rule.directories.is_empty() && rule.extensions.is_empty() && rule.paths.is_empty() {
        return Err(format!("the rule `{message}` names no `directories`, `extensions` or `paths`"));
    }
    Ok(())
}

/// Says what is wrong with a regular expression.
fn check_regex(pattern: &str) -> Result<(), String> {
    match bounded_regex(pattern) {
        Ok(built) if !pattern.is_empty() && built.is_match("") => {
            Err(format!("the pattern `{}` fits every text", shorten(pattern, 60)))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(format!("the pattern `{}` cannot be used: {error}", shorten(pattern, 60))),
    }
}

/// A regular expression that does not take long to try: one that does would be an attack on the deadline.
pub(crate) fn bounded_regex(pattern: &str) -> Result<Regex, regex_lite::Error> {
    /// The most that one may take up when compiled, in bytes: `(x{999}){999}` is short.
    const LARGEST: usize = 1 << 14;
    RegexBuilder::new(pattern).size_limit(LARGEST).build()
}
