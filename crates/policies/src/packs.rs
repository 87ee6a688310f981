//! The shipped rules about commands, compiled from `packs/*.toml`.

use toolgate_model::Run;

use crate::command::Shape;
use crate::response::Response;

/// One rule of a pack.
pub(crate) struct PackRule {
    pub id: &'static str,
    pub pack: &'static str,
    /// Its pack holds only where the settings name it.
    pub optional: bool,
    pub shape: Shape<'static, &'static str>,
    /// Commands that settle it where one of them runs before in the same call.
    pub after: &'static [&'static str],
    /// Variables that take it back where they are set for the command: `RAILS_ENV=test`.
    pub unless_env: &'static [&'static str],
    pub response: Response,
    /// Holds whatever the settings say.
    pub floor: bool,
    /// Holds only where `allow-force-with-lease` is off.
    pub lease: bool,
    pub reason: &'static str,
    pub instead: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/packs.rs"));

/// The rules that could be about this run. One that two of its words lead to comes twice.
pub(crate) fn rules_for(run: &Run) -> impl Iterator<Item = &'static PackRule> {
    let named = |first: &str| {
        first.is_empty()
            || run.words.iter().skip(1).chain(&run.sub).any(|word| word.eq_ignore_ascii_case(first))
    };
    let entries = of_program(&run.program).iter().chain(of_program("*"));
    let numbers = entries.filter(move |(_, first, _)| named(first)).flat_map(|(.., numbers)| numbers.iter());
    numbers.filter_map(|number| RULES.get(usize::from(*number)))
}

/// The entries of the index that are about a program.
fn of_program(name: &str) -> &'static [(&'static str, &'static str, &'static [u16])] {
    let start = BY_COMMAND.partition_point(|(program, ..)| *program < name);
    let rest = BY_COMMAND.get(start..).unwrap_or_default();
    let count = rest.iter().take_while(|(program, ..)| *program == name).count();
    rest.get(..count).unwrap_or_default()
}

/// The numbers of the rules that name a program.
#[cfg(feature = "files")]
pub(crate) fn numbers_of(program: &str) -> impl Iterator<Item = u16> {
    of_program(program).iter().flat_map(|(.., numbers)| numbers.iter().copied())
}
