//! Which calls are shown: `verdict:deny agent:ripley path:src/**`, and words that must occur.

use toolgate_declaration::glob_covers;
use toolgate_evidence::Record;

/// What is wanted of a call: all of it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Filter {
    text: String,
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    about: About,
    wanted: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Verdict,
    Agent,
    Host,
    Session,
    Tool,
    Policy,
    Path,
    Word,
}

/// What a term can be about, as it is typed.
const NAMES: [(&str, About); 7] = [
    ("verdict:", About::Verdict),
    ("agent:", About::Agent),
    ("host:", About::Host),
    ("session:", About::Session),
    ("tool:", About::Tool),
    ("policy:", About::Policy),
    ("path:", About::Path),
];

impl Filter {
    /// A filter as it is typed. What is no `name:value` is a word that must occur.
    pub fn parse(text: &str) -> Filter {
        let term = |word: &str| {
            let named = NAMES.iter().find_map(|(name, about)| Some((*about, word.strip_prefix(name)?)));
            let (about, wanted) = named.unwrap_or((About::Word, word));
            Term { about, wanted: wanted.to_lowercase() }
        };
        Filter { text: text.trim().to_owned(), terms: text.split_whitespace().map(term).collect() }
    }

    /// As it was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether everything is wanted.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether nothing but denials can be wanted, so that an index of them leads to all that is.
    pub fn is_about_denials(&self) -> bool {
        self.terms.iter().any(|term| term.about == About::Verdict && term.wanted == "deny")
    }

    /// Whether a record is wanted.
    pub fn wants(&self, record: &Record) -> bool {
        self.terms.iter().all(|term| term.wants(record))
    }
}

impl Term {
    fn wants(&self, record: &Record) -> bool {
        let begins = |text: &str| text.to_lowercase().starts_with(&self.wanted);
        match self.about {
            About::Verdict => begins(record.decision.as_str()),
            About::Agent => begins(&record.agent),
            About::Host => begins(&record.host),
            About::Session => begins(&record.session),
            About::Tool => begins(&record.tool),
            About::Policy => {
                record.findings.iter().any(|finding| begins(&finding.policy) || begins(&finding.rule))
            }
            About::Path => self.is_about_path(record),
            About::Word => {
                let mut texts = record.args.iter().map(|(_, value)| value.as_str());
                let has = |text: &str| text.to_lowercase().contains(&self.wanted);
                texts.any(has)
                    || has(&record.tool)
                    || has(&record.agent)
                    || record.findings.iter().any(|finding| has(&finding.message))
            }
        }
    }

    /// Whether the call named such a path: by its whole name, or below the directory that the agent is confined to.
    fn is_about_path(&self, record: &Record) -> bool {
        let glob: Vec<&str> = self.wanted.split('/').collect();
        let root = record.root.to_lowercase();
        let covers = |path: &str| {
            let path = path.to_lowercase();
            let below = path.strip_prefix(&root).and_then(|rest| rest.strip_prefix('/'));
            let is_covered = |path: &str| glob_covers(&glob, &path.split('/').collect::<Vec<_>>());
            is_covered(&path) || below.is_some_and(is_covered)
        };
        let named = record.args.iter().map(|(_, value)| value.as_str()).filter(|value| !value.contains(' '));
        let found = record.findings.iter().map(|finding| finding.path.as_str());
        named.chain(found).filter(|path| !path.is_empty()).any(covers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_wanted_if_every_term_is_met() {
        let record: Record = serde_json::from_value(serde_json::json!({
            "seq": 1, "time": "", "host": "codex", "event": "PreToolUse", "session": "s-1", "agent": "Ripley", "tool": "Write",
            "root": "/w/alpha", "args": { "file_path": "/w/alpha/src/a/b.rs" }, "decision": "deny", "prev": "",
            "findings": [{ "policy": "outside-scope", "kind": "outside-scope", "decision": "deny", "path": "/w/beta/x", "message": "Write writes" }],
        }))
        .unwrap();
        for (filter, wanted) in [
            ("", true),
            ("verdict:deny agent:ripley path:src/**", true),
            ("verdict:deny agent:dallas", false),
            ("verdict:allow", false),
            ("path:/w/beta/*", true),
            ("path:docs/**", false),
            ("policy:outside tool:write host:codex session:s-", true),
            ("writes b.rs", true),
            ("nowhere", false),
        ] {
            assert_eq!(Filter::parse(filter).wants(&record), wanted, "{filter}");
        }
    }
}
