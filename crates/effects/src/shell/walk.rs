//! Lists, pipelines and compound commands.

use toolgate_shell::{ArmEnd, Command, CommandKind, Connector, Item, List, Pipeline, Word};

use super::bounds::Limit;
use super::evaluated::Evaluator;
use super::state::State;
use super::text::{Choices, Flow, NUMBER, Text, bounded};
use super::variables::Given;
use super::{Interpreter, glob};

/// How a command ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Succeeds,
    Fails,
    Either,
}

/// What a command prints and how it ends.
pub(super) struct Outcome {
    pub(super) out: Flow,
    pub(super) status: Status,
}

impl Outcome {
    pub(super) fn of(out: Flow) -> Outcome {
        Outcome { out, status: Status::Either }
    }

    pub(super) fn sure(out: Flow) -> Outcome {
        Outcome { out, status: Status::Succeeds }
    }
}

/// Rounds of a loop over a list that are walked one by one.
const MAX_ROUNDS: usize = 48;

impl<'t> Interpreter<'t, '_> {
    pub(super) fn list(&mut self, list: &'t List<'t>) -> Flow {
        let mut out = Flow::Nothing;
        let left = self.control.begin_list();
        for (at, item) in list.items.iter().enumerate() {
            if self.is_over() {
                self.spent(0);
                out = Flow::Any;
                break;
            }
            let printed = self.one_item(item);
            out = if self.control.has_left() && at + 1 < list.items.len() {
                Flow::Any
            } else {
                out.then(printed)
            };
        }
        self.control.end_list(left);
        out
    }

    pub(super) fn one_item(&mut self, item: &'t Item<'t>) -> Flow {
        let printed =
            if item.background { self.forked(|shell| shell.item(item).out) } else { self.item(item).out };
        self.settle();
        printed
    }

    /// A list whose last status matters.
    fn condition(&mut self, list: &'t List<'t>) -> Status {
        let mut status = Status::Either;
        for item in &list.items {
            self.settle();
            status = if item.background {
                self.forked(|shell| shell.item(item));
                Status::Succeeds
            } else {
                self.item(item).status
            };
        }
        status
    }

    fn item(&mut self, item: &'t Item<'t>) -> Outcome {
        if self.spent(if item.rest.is_empty() { 0 } else { self.state.weight() }) {
            return Outcome::of(Flow::Any);
        }
        let mut last = self.pipeline(&item.first);
        if item.rest.is_empty() {
            return last;
        }
        // Where the shell is if all so far succeeded, and where if it failed: each goes on at its own connectors.
        let (mut success, mut failure) = self.outcomes(last.status);
        for (connector, pipeline) in &item.rest {
            let (start, other) = match connector {
                Connector::And => (success.take(), failure.take()),
                Connector::Or => (failure.take(), success.take()),
            };
            let surely = other.is_none();
            // What surely does not run is looked at all the same, and leaves nothing.
            let runs = start.is_some();
            if let Some(state) = start.or_else(|| other.clone()) {
                self.state = state;
            }
            let next = self.pipeline(pipeline);
            let (then, otherwise) = self.outcomes(next.status);
            let (then, otherwise) = if runs { (then, otherwise) } else { (None, None) };
            (success, failure) = match connector {
                Connector::And => (then, either_state(other, otherwise)),
                Connector::Or => (either_state(other, then), otherwise),
            };
            let both = last.out.clone().then(next.out);
            let status = if surely && runs { next.status } else { Status::Either };
            last = Outcome { out: if surely && runs { both } else { last.out.or(&both) }, status };
        }
        self.rejoin(success, failure);
        last
    }

    fn pipeline(&mut self, pipeline: &'t Pipeline<'t>) -> Outcome {
        let mut outcome = match pipeline.commands.as_slice() {
            [] => Outcome::of(Flow::Nothing),
            [only] => self.command(only),
            commands => Outcome::of(self.piped(commands)),
        };
        if pipeline.negated {
            outcome.status = match outcome.status {
                Status::Succeeds => Status::Fails,
                Status::Fails => Status::Succeeds,
                Status::Either => Status::Either,
            };
            self.negate();
        }
        outcome
    }

    pub(super) fn command(&mut self, command: &'t Command<'t>) -> Outcome {
        if self.spent(1) {
            return Outcome::of(Flow::Any);
        }
        self.at((command.span.start, command.span.end), |shell| shell.command_here(command))
    }

    fn command_here(&mut self, command: &'t Command<'t>) -> Outcome {
        if let CommandKind::Simple { assignments, words } = &command.kind {
            return self.simple(command, assignments, words);
        }
        let redirected = self.redirects(&command.redirects);
        self.redirected(redirected, |shell| shell.compound(command))
    }

    fn compound(&mut self, command: &'t Command<'t>) -> Outcome {
        match &command.kind {
            CommandKind::Simple { .. } => Outcome::of(Flow::Nothing),
            CommandKind::Group(list) => Outcome::of(self.deeper(|shell| shell.list(list))),
            CommandKind::Subshell(list) => {
                Outcome::of(self.forked(|shell| shell.deeper(|shell| shell.list(list))))
            }
            CommandKind::If { branches, otherwise } => {
                Outcome::of(self.deeper(|shell| shell.branches(branches, otherwise.as_ref())))
            }
            CommandKind::While { until, condition, body } => Outcome::of(self.deeper(|shell| {
                shell.repeat(|shell| {
                    shell.condition(condition);
                    let failed = shell.control.failure();
                    shell.assume(!until);
                    let out = shell.list(body);
                    // The condition ends the loop by failing.
                    shell.control.replace_failure(failed);
                    shell.settle();
                    out
                })
            })),
            CommandKind::For { name, words, body, select } => {
                Outcome::of(self.deeper(|shell| shell.for_each(name, words.as_deref(), body, *select)))
            }
            CommandKind::ForArithmetic { clauses: [start, test, step], body } => {
                Outcome::of(self.deeper(|shell| {
                    shell.arithmetic(start);
                    shell.repeat(|shell| {
                        shell.arithmetic(test);
                        let out = shell.list(body);
                        shell.arithmetic(step);
                        out
                    })
                }))
            }
            CommandKind::Case { subject, arms } => {
                let subject = self.single(subject);
                Outcome::of(self.deeper(|shell| shell.arms(&subject, arms)))
            }
            CommandKind::Function { name, body } => {
                if !self.state.define(name, body) {
                    self.too_much(Limit::Functions);
                }
                if matches!(&**name, "command_not_found_handle") {
                    self.forked(|shell| shell.deeper_command(body));
                }
                Outcome::sure(Flow::Nothing)
            }
            CommandKind::Test(words) => {
                self.test(words);
                Outcome::of(Flow::Nothing)
            }
            CommandKind::Arithmetic(arithmetic) => {
                self.arithmetic(arithmetic);
                Outcome::of(Flow::Nothing)
            }
            CommandKind::Coproc { name, body } => {
                let name = name.unwrap_or("COPROC");
                let numbers = vec![vec![Text::mark(NUMBER)]; 2];
                let ends = Given::Elements { values: numbers, in_order: true, adds: false };
                self.set_named(name, None, ends, None);
                self.set_named(&format!("{name}_PID"), None, Given::Number, None);
                self.unfed(|shell| shell.forked(|shell| shell.deeper_command(body)));
                Outcome::sure(Flow::Nothing)
            }
        }
    }

    pub(super) fn deeper_command(&mut self, command: &'t Command<'t>) -> Flow {
        self.deeper(|shell| shell.command(command).out)
    }

    fn branches(&mut self, branches: &'t [(List<'t>, List<'t>)], otherwise: Option<&'t List<'t>>) -> Flow {
        let mut out: Option<Flow> = None;
        let mut ends: Vec<State<'t>> = Vec::new();
        for (condition, body) in branches {
            if self.spent(self.state.weight()) {
                break;
            }
            self.condition(condition);
            let failed = self.control.take_failure();
            let before = self.state.clone();
            let printed = self.list(body);
            out = Some(out.map_or(printed.clone(), |out: Flow| out.or(&printed)));
            ends.push(std::mem::replace(&mut self.state, before));
            self.go_to(failed);
        }
        let last = otherwise.map_or(Flow::Nothing, |body| self.list(body));
        for end in ends {
            self.state.join(&end);
        }
        out.map_or(last.clone(), |out| out.or(&last))
    }

    /// Walks a loop's body until nothing new comes of it; what never settles is given up.
    fn repeat(&mut self, mut body: impl FnMut(&mut Self) -> Flow) -> Flow {
        let start = self.state.clone();
        let mut body = |shell: &mut Self| {
            let out = body(shell);
            shell.settle();
            shell.land();
            out
        };
        self.landing(|shell| shell.settle_loop(&start, &mut body))
    }

    fn settle_loop(&mut self, start: &State<'t>, body: &mut dyn FnMut(&mut Self) -> Flow) -> Flow {
        let first = body(self);
        self.settle();
        let mut after = self.state.clone();
        after.join(start);
        if !after.differs(start) {
            self.state = after;
            return first.repeated();
        }
        self.state = after.clone();
        let second = body(self);
        self.settle();
        self.state.join(&after);
        if self.state.differs(&after) {
            self.state.widen(start);
            let widened = self.state.clone();
            body(self);
            self.settle();
            self.state.join(&widened);
            self.state.widen(&widened);
            return Flow::Any;
        }
        first.or(&second).repeated()
    }

    fn for_each(
        &mut self,
        name: &'t str,
        words: Option<&'t [Word<'t>]>,
        body: &'t List<'t>,
        select: bool,
    ) -> Flow {
        let (lists, ran) = self.noting(|shell| match words {
            Some(words) => shell.arguments(words),
            None => match &shell.state.positional {
                Some(fields) => {
                    let each = |choices: &Choices| match choices.as_slice() {
                        [only] => only.clone(),
                        _ => Text::any(),
                    };
                    vec![fields.iter().map(each).collect()]
                }
                None => vec![vec![Text::any()]],
            },
        });
        self.looping(ran, |shell| shell.for_rounds(name, lists, body, select))
    }

    fn for_rounds(&mut self, name: &'t str, lists: Vec<Vec<Text>>, body: &'t List<'t>, select: bool) -> Flow {
        let mut rounds: Vec<Text> = Vec::new();
        rounds.extend(lists.into_iter().flatten());
        if select {
            rounds.push(Text::default());
            self.set_named("REPLY", None, Given::Unknown, None);
        }
        if rounds.is_empty() {
            return Flow::Nothing;
        }
        if rounds.len() > MAX_ROUNDS {
            rounds.dedup();
            self.set_for_round(name, bounded(rounds));
            return self.repeat(|shell| shell.list(body));
        }
        // `break` may leave any round early.
        self.landing(|shell| {
            let mut out = Flow::Nothing;
            for text in rounds {
                let many = !text.is_known();
                shell.set_for_round(name, vec![text]);
                let printed = if many { shell.repeat(|shell| shell.list(body)) } else { shell.list(body) };
                out = out.then(printed);
                shell.settle();
            }
            out
        })
    }

    fn arms(&mut self, subject: &Choices, arms: &'t [toolgate_shell::Arm<'t>]) -> Flow {
        let start = self.state.clone();
        let mut out = Flow::Nothing;
        let mut ends: Vec<State<'t>> = Vec::new();
        let mut surely = false;
        let mut falls = false;
        for arm in arms {
            let mut fits = Some(false);
            for pattern in &arm.patterns {
                let patterns = self.pattern(pattern);
                let fit = |text: &Text| match patterns.as_slice() {
                    [pattern] => text.whole().and_then(|text| glob::fits(pattern.raw(), text)),
                    _ => None,
                };
                let all: Vec<Option<bool>> = subject.iter().map(fit).collect();
                fits = if all.iter().all(|fit| *fit == Some(true)) || fits == Some(true) {
                    Some(true)
                } else if all.iter().all(|fit| *fit == Some(false)) {
                    fits
                } else {
                    None
                };
            }
            if !falls && (fits == Some(false) || surely) {
                continue;
            }
            if !falls {
                // The patterns have been expanded by now, with all that this does.
                let mut fresh = start.clone();
                fresh.adopt_files(&self.state);
                self.state = fresh;
            }
            let printed = self.list(&arm.body);
            out = out.or(&printed);
            falls = arm.end == ArmEnd::FallThrough;
            surely |= fits == Some(true) && arm.end == ArmEnd::Break;
            ends.push(self.state.clone());
        }
        let mut ends = ends.into_iter();
        self.state = if surely { ends.next().unwrap_or(start) } else { start };
        for end in ends {
            self.state.join(&end);
        }
        out
    }

    /// `[[ … ]]`: its words are expanded; some operators evaluate them again.
    fn test(&mut self, words: &'t [Word<'t>]) {
        let texts: Vec<Choices> = words.iter().map(|word| self.pattern(word)).collect();
        for (place, choices) in texts.iter().enumerate() {
            let Some(operator) = choices.first().and_then(Text::whole) else { continue };
            let numeric = matches!(operator, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge");
            let unary = matches!(operator, "-v" | "-R");
            let before = place.checked_sub(1).and_then(|at| texts.get(at)).filter(|_| numeric);
            let after = texts.get(place + 1).filter(|_| numeric || unary);
            for text in before.into_iter().chain(after).flatten() {
                self.evaluates(text, Evaluator::Arithmetic);
                let text = text.unglobbed();
                if text.raw().contains(['[', '$', '`']) || numeric {
                    self.evaluate(text.raw());
                }
            }
        }
    }
}

impl Flow {
    /// The same, any number of times.
    fn repeated(self) -> Flow {
        match self.lines() {
            Some(lines) if !lines.is_empty() => Flow::Lines(bounded(lines)),
            Some(_) => Flow::Nothing,
            None => Flow::Any,
        }
    }
}

fn either_state<'t>(one: Option<State<'t>>, other: Option<State<'t>>) -> Option<State<'t>> {
    match (one, other) {
        (Some(mut one), Some(other)) => {
            one.join(&other);
            Some(one)
        }
        (one, other) => one.or(other),
    }
}
