//! Whether an allowed call is also granted, so that the host asks nobody either.
//!
//! What runs in a sandbox is different: nobody vouches for it, and it can do no harm. `"contained"` grants that.
//!
//! Having no objection and granting are two answers. In most hosts a grant only skips the prompt. In some it also
//! overrides what the user has forbidden elsewhere. `true` grants in the former; the latter must be listed.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

/// Stands for every host whose users lose nothing by a grant.
const MOST: &str = "*";

/// Stands for every call that runs in a sandbox.
const CONTAINED: &str = "contained";

/// The hosts that can be named. A test holds them to those that there are.
pub const GRANTEES: &[&str] = &[
    "claude-code",
    "codex",
    "copilot",
    "copilot-sdk",
    "cursor",
    "gemini",
    "generic",
    "mpm",
    "opencode",
    "pi",
    "qwen",
];

/// Where an allowed call is granted: `false`, `true`, `"contained"`, or a list of hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Grant(Vec<String>);

impl Grant {
    /// Whether this host gets a grant. `overrides`: there it would override what the user has forbidden.
    pub fn reaches(&self, host: &str, overrides: bool) -> bool {
        self.0.iter().any(|name| name == host || (name == MOST && !overrides))
    }

    /// Whether a call that runs in a sandbox is granted there.
    pub fn reaches_contained(&self, host: &str, overrides: bool) -> bool {
        let is_named = self.0.iter().any(|name| name == host);
        self.0.iter().any(|name| name == CONTAINED) && (!overrides || is_named)
    }
}

impl<'de> Deserialize<'de> for Grant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The compiled form does not say what follows; people's files do.
        if deserializer.is_human_readable() {
            deserializer.deserialize_any(GrantVisitor)
        } else {
            Vec::deserialize(deserializer).map(Grant)
        }
    }
}

struct GrantVisitor;

impl<'de> Visitor<'de> for GrantVisitor {
    type Value = Grant;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false, \"contained\" or a list of hosts")
    }

    fn visit_bool<E: de::Error>(self, all: bool) -> Result<Grant, E> {
        Ok(Grant(if all { vec![MOST.to_owned()] } else { Vec::new() }))
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Grant, E> {
        match word {
            CONTAINED => Ok(Grant(vec![CONTAINED.to_owned()])),
            _ => Err(de::Error::invalid_value(de::Unexpected::Str(word), &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Grant, A::Error> {
        let mut hosts = Vec::new();
        while let Some(name) = names.next_element::<String>()? {
            if name != CONTAINED && !GRANTEES.contains(&name.as_str()) {
                return Err(de::Error::unknown_variant(&name, GRANTEES));
            }
            hosts.push(name);
        }
        Ok(Grant(hosts))
    }
}

impl JsonSchema for Grant {
    fn schema_name() -> Cow<'static, str> {
        "Grant".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Where an allowed call is also granted, so that the host asks nobody either.",
            "anyOf": [{ "type": "boolean" }, { "const": CONTAINED }, { "type": "array", "items": { "type": "string" } }],
        })
    }
}

#[cfg(test)]
#[cfg(feature = "files")]
mod tests {
    use super::*;

    fn grant(text: &str) -> Grant {
        #[derive(Deserialize)]
        struct File {
            grant: Grant,
        }
        toml::from_str::<File>(text).unwrap().grant
    }

    #[test]
    fn a_grant_that_overrides_the_user_reaches_named_hosts_only() {
        let all = grant("grant = true");
        assert!(all.reaches("claude-code", false) && !all.reaches("copilot", true));
        let named = grant("grant = [\"copilot\"]");
        assert!(!named.reaches("claude-code", false) && named.reaches("copilot", true));
        let contained = grant("grant = \"contained\"");
        assert!(
            contained.reaches_contained("claude-code", false) && !contained.reaches("claude-code", false)
        );
        assert!(!contained.reaches_contained("copilot", true));
        let both = grant("grant = [\"contained\", \"copilot\"]");
        assert!(both.reaches_contained("copilot", true) && both.reaches_contained("pi", false));
        assert!(!all.reaches_contained("claude-code", false));
        let none = grant("grant = false");
        assert!(!none.reaches("claude-code", false) && !none.reaches("copilot", true));
    }

    #[test]
    fn a_grant_survives_compilation() {
        for grant in [grant("grant = true"), grant("grant = [\"pi\", \"qwen\"]"), Grant::default()] {
            let bytes = postcard::to_allocvec(&grant).unwrap();
            assert_eq!(postcard::from_bytes::<Grant>(&bytes).unwrap(), grant);
        }
    }

    #[test]
    fn a_grant_to_an_unknown_host_is_an_error() {
        let error = |text: &str| toml::from_str::<crate::Settings>(text).unwrap_err().to_string();
        assert!(error("grant = [\"pi\", \"clade\"]").contains("unknown variant `clade`"));
        assert!(error("grant = \"pi\"").contains("a list of hosts"));
        assert!(error("grant = 1").contains("true, false, \"contained\" or a list of hosts"));
    }
}
