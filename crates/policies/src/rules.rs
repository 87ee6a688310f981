//! Rules by their ids: how a person switches one, and looks it up.
//!
//! Every rule of a pack has an id, and every `[[command]]`, `[[rule]]` and `[[limit]]` may have one. It is at the end of each
//! message that the rule causes, and `[rules]` sets it to `allow`, `ask` or `deny`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::packs::{self, PackRule};
use crate::registry::POLICIES;
use crate::response::Response;
use crate::settings::Settings;
use crate::until::Until;

/// `[rules]`: what single rules are set to, by their ids. A rule that is named here holds as it says, whatever pack it is
/// in. The rules of the floor cannot be loosened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RuleSwitches(BTreeMap<String, RuleSwitch>);

impl RuleSwitches {
    /// What the rule of this id is set to, if it is.
    pub fn get(&self, id: &str) -> Option<Response> {
        self.0.get(id).map(RuleSwitch::response)
    }

    /// Drops what has ended at this second.
    pub(crate) fn drop_ended(&mut self, now: u64) {
        self.0.retain(|_, switch| !switch.until().is_some_and(|until| until.is_over(now)));
    }

    /// The ids that are switched.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// When what the rule of this id is set to ends.
    pub fn until(&self, id: &str) -> Option<Until> {
        self.0.get(id).and_then(RuleSwitch::until)
    }

    /// How many rules are switched.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// What one rule is set to: a word, or an entry that says why and until when.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub(crate) enum RuleSwitch {
    /// `git-checkout-paths = "ask"`
    Word(Response),
    /// `git-checkout-paths = { decision = "ask", reason = "…", until = "2026-12-31" }`
    Entry(RuleEntry),
}

/// A rule's entry with its reason and its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleEntry {
    /// What the rule is set to.
    decision: Response,
    /// Why, for whoever reads the file.
    #[serde(default)]
    reason: String,
    /// The last day on which it holds, or the moment at which it ends.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    until: Option<Until>,
}

impl RuleSwitch {
    fn response(&self) -> Response {
        match self {
            RuleSwitch::Word(response) => *response,
            RuleSwitch::Entry(entry) => entry.decision,
        }
    }

    fn until(&self) -> Option<Until> {
        match self {
            RuleSwitch::Word(_) => None,
            RuleSwitch::Entry(entry) => entry.until,
        }
    }
}

impl Serialize for RuleSwitch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_written = serializer.is_human_readable();
        match self {
            RuleSwitch::Word(word) if is_written => word.serialize(serializer),
            RuleSwitch::Entry(entry) if is_written => entry.serialize(serializer),
            RuleSwitch::Word(word) => serializer.serialize_newtype_variant("RuleSwitch", 0, "Word", word),
            RuleSwitch::Entry(entry) => serializer.serialize_newtype_variant("RuleSwitch", 1, "Entry", entry),
        }
    }
}

impl<'de> Deserialize<'de> for RuleSwitch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RuleSwitch, D::Error> {
        /// The same in the compiled form, which says first what follows.
        #[derive(Deserialize)]
        enum Compiled {
            Word(Response),
            Entry(RuleEntry),
        }
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = RuleSwitch;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`allow`, `ask` or `deny`, or a table with `decision`, `reason` and `until`")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<RuleSwitch, E> {
                Response::deserialize(de::value::StrDeserializer::new(word)).map(RuleSwitch::Word)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RuleSwitch, A::Error> {
                RuleEntry::deserialize(de::value::MapAccessDeserializer::new(map)).map(RuleSwitch::Entry)
            }
        }
        if deserializer.is_human_readable() {
            return deserializer.deserialize_any(Written);
        }
        Ok(match Compiled::deserialize(deserializer)? {
            Compiled::Word(response) => RuleSwitch::Word(response),
            Compiled::Entry(entry) => RuleSwitch::Entry(entry),
        })
    }
}

/// A rule of a person's own, which may have an id.
pub(crate) trait OwnRule {
    /// What its kind is called: the key of its entries.
    const KIND: &'static str;
    /// Its id, as it is written; empty where it has none.
    fn id(&self) -> &str;

    /// Its id, or one made from its place among the entries of its kind: `command-3`.
    fn id_at(&self, index: usize) -> Cow<'_, str> {
        match self.id() {
            "" => format!("{}-{}", Self::KIND, index + 1).into(),
            id => id.into(),
        }
    }
}

/// A rule of a pack, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RulePage {
    /// Its id, as in `[rules]` and at the end of a message.
    pub id: &'static str,
    /// The pack that it is in.
    pub pack: &'static str,
    /// Whether its pack holds only where the settings name it.
    pub optional: bool,
    /// Whether it holds whatever the settings say.
    pub floor: bool,
    /// What it does where nothing else is set.
    pub response: Response,
    /// What is wrong with the commands that it finds.
    pub reason: &'static str,
    /// What to do instead; empty where nothing is.
    pub instead: &'static str,
    /// A command that it finds.
    pub example: &'static str,
}

/// All rules of all packs, pack by pack.
#[cfg(feature = "files")]
pub fn rules() -> impl Iterator<Item = RulePage> {
    packs::EXAMPLES.iter().filter_map(|(id, example)| {
        let PackRule { id, pack, optional, floor, response, reason, instead, .. } = *find(id)?;
        Some(RulePage { id, pack, optional, floor, response, reason, instead, example })
    })
}

/// The rules of all packs about a program that settings can open, by their ids. A rule may be about other programs too.
#[cfg(feature = "files")]
pub fn rules_about(program: &str) -> BTreeSet<&'static str> {
    packs::numbers_of(program)
        .filter_map(|number| packs::RULES.get(usize::from(number)))
        .filter(|rule| !rule.floor)
        .map(|rule| rule.id)
        .collect()
}

/// The rule of a pack that has this id.
pub(crate) fn find(id: &str) -> Option<&'static PackRule> {
    packs::RULES.iter().find(|rule| rule.id == id)
}

/// Says which rule is named that there is not, or that cannot be set so. `elsewhere` has the ids of rules that these settings
/// do not hold themselves.
pub(crate) fn check(settings: &Settings, elsewhere: &BTreeSet<String>) -> Result<(), String> {
    let own = own_ids(settings);
    for id in &own {
        if find(id).is_some() {
            return Err(format!("the id `{id}` is that of a rule of a pack; choose another"));
        }
        if !is_id(id) {
            return Err(format!("the id `{id}` must be small letters, digits and `-`"));
        }
        if is_made_up(id) {
            return Err(format!("the id `{id}` is like those of entries without one; choose another"));
        }
    }
    for (id, switch) in &settings.rules.0 {
        let response = switch.response();
        match find(id) {
            Some(rule) if rule.floor && response < rule.response => {
                return Err(format!(
                    "the rule `{id}` is part of the floor, and cannot be set to {}",
                    response.word()
                ));
            }
            None if !own.contains(id.as_str()) && !elsewhere.contains(id) => return Err(unknown(id, &own)),
            _ => {}
        }
    }
    let is_policy = |id: &str| POLICIES.iter().any(|policy| policy.id == id);
    let is_rule = |id: &String| find(id).is_some() || own.contains(id.as_str()) || elsewhere.contains(id);
    match settings.approval.rules.keys().find(|id| !is_rule(id) && !is_policy(id)) {
        Some(id) => Err(unknown(id, &own)),
        None => Ok(()),
    }
}

/// The ids in `[rules]` that no rule has: none of a pack, none of these settings, and none in `elsewhere`.
#[cfg(feature = "files")]
pub(crate) fn unknown_ids(settings: &Settings, elsewhere: &BTreeSet<String>) -> Vec<String> {
    let own = own_ids(settings);
    let is_known = |id: &str| find(id).is_some() || own.contains(id) || elsewhere.contains(id);
    settings.rules.0.keys().filter(|id| !is_known(id)).cloned().collect()
}

/// The ids that these settings give to rules of their own.
pub(crate) fn own_ids(settings: &Settings) -> BTreeSet<&str> {
    let commands = settings.command.iter().map(OwnRule::id);
    let rules = settings.rule.iter().map(OwnRule::id);
    let limits = settings.limit.iter().map(OwnRule::id);
    commands.chain(rules).chain(limits).filter(|id| !id.is_empty()).collect()
}

/// Whether an id is like those that entries without one are given: `command-3`.
fn is_made_up(id: &str) -> bool {
    let number =
        id.rsplit_once('-').filter(|(kind, _)| matches!(*kind, "command" | "rule" | "limit" | "scope"));
    number.is_some_and(|(_, number)| number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_id(id: &str) -> bool {
    id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// In the form of all messages about unknown words, so that whoever shows it can find the one that was meant.
fn unknown(id: &str, own: &BTreeSet<&str>) -> String {
    let shipped = packs::RULES.iter().map(|rule| rule.id);
    let known: BTreeSet<&str> = shipped.chain(own.iter().copied()).collect();
    let names = known.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
    format!("unknown rule `{id}`, expected one of {names}")
}

#[cfg(test)]
#[cfg(feature = "files")]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<(), String> {
        check(&toml::from_str(text).unwrap(), &BTreeSet::from(["theirs".to_owned()]))
    }

    #[test]
    fn every_rule_is_listed_once_with_an_example() {
        let ids: Vec<&str> = rules().map(|rule| rule.id).collect();
        let unique: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(ids.len(), unique.len());
        assert_eq!(unique, packs::RULES.iter().map(|rule| rule.id).collect());
        for rule in rules() {
            assert!(!rule.example.is_empty() && !rule.reason.is_empty(), "{}", rule.id);
            assert!(packs::PACKS.iter().any(|(pack, _)| *pack == rule.pack), "{}", rule.id);
            assert!(!rule.floor || rule.response == Response::Deny, "{}", rule.id);
        }
    }

    #[test]
    fn only_existing_rules_outside_the_floor_can_be_switched() {
        for right in [
            "[rules]\ngit-checkout-paths = \"ask\"",
            "[rules]\nmkfs = \"deny\"",
            "[rules]\ntheirs = \"allow\"",
            "[rules]\nmine = \"ask\"\n[[command]]\nid = \"mine\"\nmessage = \"no\"\ncommand = [\"x\"]",
            "[rules]\nmine = \"ask\"\n[[limit]]\nid = \"mine\"\nkind = \"run\"\nper-minute = 1",
        ] {
            assert_eq!(checked(right), Ok(()), "{right}");
        }
        for (wrong, complaint) in [
            ("[rules]\ngit-chekout-paths = \"ask\"", "unknown rule `git-chekout-paths`, expected one of `"),
            ("[rules]\nmkfs = \"ask\"", "the rule `mkfs` is part of the floor, and cannot be set to ask"),
            ("[rules]\nmkfs = \"allow\"", "the rule `mkfs` is part of the floor, and cannot be set to allow"),
            ("[[rule]]\nid = \"No\"\nmessage = \"no\"", "the id `No` must be"),
            ("[[rule]]\nid = \"mkfs\"\nmessage = \"no\"", "the id `mkfs` is that of a rule of a pack"),
        ] {
            let complained = checked(wrong).unwrap_err();
            assert!(complained.starts_with(complaint), "{complained}");
        }
    }
}
