//! Whether an allowed call is also granted, so that the host asks nobody either.
//!
//! Having no objection and granting are two answers. In most hosts a grant skips the prompt and no more; in some it
//! also overrides what the user has forbidden elsewhere. `true` grants in the former; the latter have to be named.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

/// Stands for every host whose users lose nothing by a grant.
const MOST: &str = "*";

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

/// Where an allowed call is granted: `false`, `true`, or a list of hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Grant(Vec<String>);

impl Grant {
    /// Whether this host gets a grant. `overrides`: there it would override what the user has forbidden.
    pub fn reaches(&self, host: &str, overrides: bool) -> bool {
        self.0.iter().any(|name| name == host || (name == MOST && !overrides))
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
        f.write_str("true, false or a list of hosts")
    }

    fn visit_bool<E: de::Error>(self, all: bool) -> Result<Grant, E> {
        Ok(Grant(if all { vec![MOST.to_owned()] } else { Vec::new() }))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Grant, A::Error> {
        let mut hosts = Vec::new();
        while let Some(name) = names.next_element::<String>()? {
            if !GRANTEES.contains(&name.as_str()) {
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
            "anyOf": [{ "type": "boolean" }, { "type": "array", "items": { "type": "string" } }],
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
    fn a_host_where_a_grant_overrides_the_user_has_to_be_named() {
        let all = grant("grant = true");
        assert!(all.reaches("claude-code", false) && !all.reaches("copilot", true));
        let named = grant("grant = [\"copilot\"]");
        assert!(!named.reaches("claude-code", false) && named.reaches("copilot", true));
        let none = grant("grant = false");
        assert!(!none.reaches("claude-code", false) && !none.reaches("copilot", true));
    }

    #[test]
    fn the_compiled_form_is_the_same() {
        for grant in [grant("grant = true"), grant("grant = [\"pi\", \"qwen\"]"), Grant::default()] {
            let bytes = postcard::to_allocvec(&grant).unwrap();
            assert_eq!(postcard::from_bytes::<Grant>(&bytes).unwrap(), grant);
        }
    }

    #[test]
    fn a_host_that_there_is_not_is_an_error() {
        let error = |text: &str| toml::from_str::<crate::Settings>(text).unwrap_err().to_string();
        assert!(error("grant = [\"pi\", \"clade\"]").contains("unknown variant `clade`"));
        assert!(error("grant = \"pi\"").contains("true, false or a list of hosts"));
    }
}
