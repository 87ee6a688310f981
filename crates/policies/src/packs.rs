//! The shipped rules about commands, compiled from `packs/*.toml`.

use toolgate_model::Decision;

use crate::command::Shape;

/// One rule of a pack.
pub(crate) struct PackRule {
    pub id: &'static str,
    pub pack: &'static str,
    /// Its pack holds only where the settings name it.
    pub optional: bool,
    pub shape: Shape<'static, &'static str>,
    /// Commands that settle it where one of them runs before in the same call.
    pub after: &'static [&'static str],
    pub decision: Decision,
    /// Holds whatever the settings say.
    pub floor: bool,
    /// Holds only where `allow_force_with_lease` is off.
    pub lease: bool,
    pub reason: &'static str,
    pub instead: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/packs.rs"));

/// The rules that could be about this program.
pub(crate) fn rules_for(program: &str) -> impl Iterator<Item = &'static PackRule> {
    let numbers = |name: &str| {
        let found = BY_PROGRAM.binary_search_by(|(known, _)| (*known).cmp(name)).ok();
        found.and_then(|at| BY_PROGRAM.get(at)).map_or(&[][..], |(_, numbers)| *numbers)
    };
    numbers(program).iter().chain(numbers("*")).filter_map(|number| RULES.get(usize::from(*number)))
}
