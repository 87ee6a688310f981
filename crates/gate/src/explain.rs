//! A verdict, and what each part of the call has to do with it. For people: a call of an agent needs no explanation.

use toolgate_effects::{Analysis, effects};
use toolgate_model::{Call, DirectoryChange, Effect, ExpandedTarget, Verdict};

use crate::decide::decide;
use crate::gather::Surroundings;
use crate::machine::Machine;
use crate::observe::{analysed, observe_as, scene, start};
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
pub fn explain<'a>(machine: &dyn Machine, call: &Call<'a>, around: &Surroundings) -> Explanation<'a> {
    let cwd = start(call, around).map(str::to_owned);
    let decide_as = |command: Option<&Analysis>| {
        let facts = observe_as(machine, call, around, command);
        let verdict = decide(call, around, &facts);
        let rewrites = bound_to_root(call, around, &facts, &verdict);
        (verdict, rewrites)
    };
    let Some(command) = analysed(machine, call, around) else {
        let unset = |name: &str| machine.variable(name).is_none();
        let scene = scene(machine, around, cwd.as_deref(), &unset);
        let own = around.rules.layers.first().map(|layer| effects(call, &layer.tools, &scene));
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
    let effects = command.effects.into_iter().map(|what| {
        let findings = about(Analysis { effects: vec![what.clone()], ..Analysis::default() });
        Attributed { what, findings }
    });
    let changes = command.changes.into_iter().map(|what| {
        let findings = about(Analysis { changes: vec![what.clone()], ..Analysis::default() });
        Attributed { what, findings }
    });
    let expanded = command.expanded.into_iter().map(|what| {
        let findings = about(Analysis { expanded: vec![what.clone()], ..Analysis::default() });
        Attributed { what, findings }
    });
    let (effects, changes, expanded) = (effects.collect(), changes.collect(), expanded.collect());
    Explanation { verdict, rewrites, cwd, effects, changes, expanded }
}
