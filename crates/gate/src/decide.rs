//! From facts to a verdict. Pure: every policy of every layer is asked, and nothing else.

use toolgate_hosts::host;
use toolgate_model::{Call, Facts, Host, PersonsWord, Ruleset, Verdict};
use toolgate_policies::Settings;
use toolgate_secrets::redact;

use crate::gather::Surroundings;

/// Decides a call by the facts under each layer of settings, and by what a person has said about it.
pub fn decide(
    call: &Call<'_>,
    surroundings: &Surroundings,
    facts: &[Facts<'_>],
    word: Option<&PersonsWord>,
) -> Verdict {
    let layers = &surroundings.rules.layers;
    if facts.len() != layers.len() {
        // A layer without facts was not asked: as if there were none at all, which denies.
        return Ruleset::decide(&[], holds_secret);
    }
    let judges: Vec<_> = layers.iter().map(Settings::judges).collect();
    let overrides = host(call.host).is_some_and(Host::grant_overrides_user);
    let rulesets: Vec<Ruleset<'_>> = layers
        .iter()
        .zip(facts)
        .zip(&judges)
        .map(|((layer, facts), judges)| {
            layer.ruleset(facts, judges, (call.host, overrides), surroundings.containable)
        })
        .collect();
    Ruleset::decide_hearing(&rulesets, word, holds_secret)
}

fn holds_secret(path: &str) -> bool {
    redact(path).as_str() != path
}
