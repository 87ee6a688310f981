//! The line. A call goes one way, once:
//!
//! ```text
//! host JSON ─decode─▶ Call ─effects─▶ Effects ─observe─▶ Facts ─decide─▶ Verdict ─append─▶ ledger ─encode─▶ host JSON
//! ```
//!
//! [`judge`] is its middle: from a call to a verdict, asking only the [`World`].

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use toolgate_effects::effects;
use toolgate_model::{
    Access, Call, ConfigChange, Effect, Facts, Ground, PathArg, Place, Reach, Resolver, Ruleset, Spot,
    Standing, Target, Use, Verdict, World,
};
use toolgate_policies::{Boundary, Relative, Settings};

/// What the gate knows besides the call.
pub struct Circumstances<'c> {
    /// The window on the disk.
    pub world: &'c dyn World,
    /// The layers of settings; every one of them has to be content.
    pub layers: &'c [Settings],
    /// Where the session stands.
    pub ground: &'c Ground,
    /// The host's word on trust and mode.
    pub standing: Standing,
    /// What a change of the host's settings would do to us.
    pub config: Option<ConfigChange>,
}

/// Decides one call.
pub fn judge(call: &Call<'_>, known: &Circumstances<'_>) -> Verdict {
    let grounds: Vec<Cow<'_, Ground>> =
        known.layers.iter().map(|layer| layer_ground(call, known, layer)).collect();
    let facts: Vec<Facts<'_>> = known
        .layers
        .iter()
        .zip(&grounds)
        .map(|(layer, ground)| observe(call, known, layer, ground))
        .collect();
    let lists: Vec<_> = known.layers.iter().map(Settings::lists).collect();
    let rulesets: Vec<Ruleset<'_>> = known
        .layers
        .iter()
        .zip(&facts)
        .zip(&lists)
        .map(|((layer, facts), lists)| layer.ruleset(facts, lists))
        .collect();
    let verdict = Ruleset::decide(&rulesets);
    match known.layers.iter().zip(&facts).find_map(|(layer, facts)| rewrite(layer, facts)) {
        Some((param, path)) => verdict.rewriting(&param, path),
        None => verdict,
    }
}

/// The ground as this layer sees it: a profile may take each event's directory for the boundary.
fn layer_ground<'k>(call: &Call<'_>, known: &'k Circumstances<'_>, layer: &Settings) -> Cow<'k, Ground> {
    match layer.boundary {
        Boundary::Session => Cow::Borrowed(known.ground),
        Boundary::Cwd => {
            let place = Resolver::new(known.world, call.cwd.as_deref(), None).resolve(&PathArg::Cwd);
            let root = place.ok().map(|place| Spot { lexical: place.lexical, physical: place.physical });
            Cow::Owned(Ground { root, ..known.ground.clone() })
        }
    }
}

/// Looks up what the call would do.
fn observe<'a>(
    call: &'a Call<'a>,
    known: &Circumstances<'_>,
    layer: &Settings,
    ground: &'a Ground,
) -> Facts<'a> {
    let root = ground.root.as_ref().map(|root| root.lexical.to_string_lossy());
    let from = match layer.relative {
        Relative::Keep => call.cwd.as_deref(),
        Relative::Rewrite => root.as_deref(),
    };
    let home = ground.home.as_ref().map(|home| home.lexical.as_path());
    let resolver = Resolver::new(known.world, from, home);
    let mut facts = Facts {
        call,
        ground,
        standing: known.standing.clone(),
        uses: Vec::new(),
        runs: Vec::new(),
        unknown: Vec::new(),
        config: known.config.clone(),
    };
    for effect in effects(call, &layer.tools) {
        match effect {
            Effect::Read(target) if target.reach == Reach::Below => {
                facts.uses.push(look_up(known, ground, &resolver, Access::Search, target));
            }
            Effect::Read(target) => facts.uses.push(look_up(known, ground, &resolver, Access::Read, target)),
            Effect::Write(target) => {
                facts.uses.push(look_up(known, ground, &resolver, Access::Write, target));
            }
            Effect::Run(words) => facts.runs.push(words),
            Effect::Connect => {}
            Effect::Unknown(unknown) => facts.unknown.push(unknown),
        }
    }
    facts
}

fn look_up<'a>(
    known: &Circumstances<'_>,
    ground: &Ground,
    resolver: &Resolver<'_>,
    access: Access,
    target: Target<'a>,
) -> Use<'a> {
    let place = resolver.resolve(&target.path);
    let alias_of_own = access == Access::Write
        && place.as_ref().is_ok_and(|place| is_alias_of_own(known.world, ground, place));
    let text = match target.path {
        PathArg::Text(text) | PathArg::Pattern(text) => text,
        PathArg::Cwd | PathArg::Missing | PathArg::NotText(_) => Cow::Borrowed(""),
    };
    Use { access, reach: target.reach, param: target.param, text, place, alias_of_own }
}

/// Whether the file has a second name among our own files. Few files have two names at all.
fn is_alias_of_own(world: &dyn World, ground: &Ground, place: &Place) -> bool {
    let Some(node) = place.node.as_ref().filter(|node| node.names > 1) else { return false };
    let same = |path: &Path| world.look(path).is_ok_and(|own| own.id == node.id);
    ground.own.iter().any(|own| {
        let inside =
            ["toolgate.toml", "ledger.jsonl", "registrations.json"].map(|name| own.physical.join(name));
        same(&own.physical) || inside.iter().any(|path| same(path))
    })
}

/// The relative path of an allowed call, made absolute, where the layer wants that.
fn rewrite(layer: &Settings, facts: &Facts<'_>) -> Option<(String, String)> {
    if layer.relative == Relative::Keep || layer.inactive(facts).is_some() {
        return None;
    }
    let relative =
        facts.uses.iter().find(|used| !used.text.is_empty() && !used.text.starts_with(['/', '~']))?;
    let place = relative.place.as_ref().ok()?;
    let path: &PathBuf = &place.lexical;
    Some((relative.param.to_string(), path.to_str()?.to_owned()))
}
