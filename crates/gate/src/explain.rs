//! A verdict, and what each part of the call has to do with it. For people: a call of an agent needs no explanation.

use toolgate_effects::{Analysis, effects};
use toolgate_model::{Call, DirectoryChange, Effect, ExpandedTarget, Verdict};

use crate::decide::decide;
use crate::gather::Surroundings;
use crate::machine::Machine;
use crate::observe::{analysed, in_scene, observe_as, start};
use crate::terms::bound_to_root;

/// A verdict, and what each part of the call has to do with it.
pub struct Explanation<'a> {
    /// The verdict on the whole call.
    pub verdict: Verdict,
    /// The parameters that would be changed before it runs, each with its new text.
    pub rewrites: Vec<(String, String)>,
    /// The directory in which it starts.
    pub cwd: Option<String>,
    /// What it would do, in order.
    pub effects: Vec<Attributed<Effect<'a>>>,
    /// Changes of directory by the way they are written.
    pub changes: Vec<Attributed<DirectoryChange>>,
    /// Targets that bash expands first.
    pub expanded: Vec<Attributed<ExpandedTarget>>,
}

/// Something that a call would do, and the findings about it: their numbers in the verdict.
pub struct Attributed<T> {
    /// What.
    pub what: T,
    /// The findings.
    pub findings: Vec<usize>,
}

/// Decides one call and says which part of a command each objection is about: what is objected to a part that stands
/// alone, and not to a command that does nothing, is about that part.
pub fn explain<'a>(machine: &dyn Machine, call: &Call<'a>, surroundings: &Surroundings) -> Explanation<'a> {
    let cwd = start(call, surroundings).map(str::to_owned);
    let decide_as = |command: Option<&Analysis>| {
        let facts = observe_as(machine, call, surroundings, command);
        let verdict = decide(call, surroundings, &facts, None);
        let rewrites = bound_to_root(call, surroundings, &facts, &verdict);
        (verdict, rewrites)
    };
    let Some(command) = analysed(machine, call, surroundings) else {
        let own = surroundings.rules.layers.first().map(|layer| {
            in_scene(machine, surroundings, cwd.as_deref(), |scene| effects(call, &layer.tools, scene))
        });
        let effects = own.into_iter().flatten().map(|what| Attributed { what, findings: Vec::new() });
        let (effects, (verdict, rewrites)) = (effects.collect(), decide_as(None));
        return Explanation { verdict, rewrites, cwd, effects, changes: Vec::new(), expanded: Vec::new() };
    };
    let (verdict, rewrites) = decide_as(Some(&command));
    let (of_nothing, _) = decide_as(Some(&Analysis::default()));
    let about = |part: Analysis| -> Vec<usize> {
        if verdict.findings().is_empty() {
            return Vec::new();
        }
        let (alone, _) = decide_as(Some(&part));
        let all = verdict.findings().iter().enumerate();
        let about = all.filter(|(_, finding)| {
            alone.findings().contains(finding) && !of_nothing.findings().contains(finding)
        });
        about.map(|(number, _)| number).collect()
    };
    let none = Analysis::default;
    let effects = attributed(command.effects, |what| about(Analysis { effects: vec![what], ..none() }));
    let changes = attributed(command.changes, |what| about(Analysis { changes: vec![what], ..none() }));
    let expanded = attributed(command.expanded, |what| about(Analysis { expanded: vec![what], ..none() }));
    Explanation { verdict, rewrites, cwd, effects, changes, expanded }
}

/// Each part with the findings about it.
fn attributed<T: Clone>(parts: Vec<T>, about: impl Fn(T) -> Vec<usize>) -> Vec<Attributed<T>> {
    let attributed = parts.into_iter().map(|what| Attributed { findings: about(what.clone()), what });
    attributed.collect()
}
