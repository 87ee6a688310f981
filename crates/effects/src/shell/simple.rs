//! Simple commands: assignments, words, and redirections around them.

use toolgate_shell::{Assignment, Command, Element, Value, Word};

use super::Interpreter;
use super::text::{Choices, Flow, Text};
use super::variables::Given;
use super::walk::{Outcome, Status};

impl<'t> Interpreter<'t, '_> {
    pub(super) fn simple(
        &mut self,
        command: &'t Command<'t>,
        assignments: &'t [Assignment<'t>],
        words: &'t [Word<'t>],
    ) -> Outcome {
        let substituted = self.streams.replace_substituted(Vec::new());
        let waiting = self.streams.replace_waiting(Vec::new());
        let lists = self.arguments(words);
        if words.is_empty() {
            for assignment in assignments {
                self.assign(assignment);
            }
        }
        let redirected = self.redirects(&command.redirects);
        let own_waiting = self.streams.replace_waiting(waiting);
        let bare = self.written.replace_bare(command.redirects.is_empty());
        let mut outcome = if words.is_empty() {
            let plain = !self.streams.has_substituted();
            self.redirected(redirected, |shell| {
                shell.streams.replace_waiting(own_waiting);
                if plain { Outcome::sure(Flow::Nothing) } else { Outcome::of(Flow::Nothing) }
            })
        } else {
            let outputs = redirected.outputs.clone();
            let stays = self.state.plain && lists.iter().any(|words| words.first().is_some_and(is_special));
            self.redirected(redirected, |shell| {
                shell.streams.replace_waiting(own_waiting);
                shell.with_prefix(assignments, stays, |shell| shell.any_of(lists, words, &outputs))
            })
        };
        self.streams.replace_substituted(substituted);
        self.written.replace_bare(bare);
        // A redirection can fail, and then nothing runs.
        if !command.redirects.is_empty() {
            outcome.status = Status::Either;
        }
        outcome
    }

    /// One of several argument lists.
    fn any_of(&mut self, lists: Vec<Vec<Text>>, spelled: &'t [Word<'t>], outputs: &[String]) -> Outcome {
        let mut lists = lists.into_iter();
        let Some(first) = lists.next() else { return Outcome::of(Flow::Nothing) };
        let rest: Vec<Vec<Text>> = lists.collect();
        if rest.is_empty() {
            return self.invoke(&first, Some(spelled), outputs);
        }
        let start = self.state.clone();
        let mut outcome = self.invoke(&first, Some(spelled), outputs);
        self.settle();
        for list in rest {
            let end = std::mem::replace(&mut self.state, start.clone());
            let next = self.invoke(&list, Some(spelled), outputs);
            self.settle();
            self.state.join(&end);
            outcome = Outcome::of(outcome.out.or(&next.out));
        }
        outcome
    }

    /// `A=1 command`: for this command only, unless it `stays`.
    fn with_prefix(
        &mut self,
        assignments: &'t [Assignment<'t>],
        stays: bool,
        run: impl FnOnce(&mut Self) -> Outcome,
    ) -> Outcome {
        if assignments.is_empty() {
            return run(self);
        }
        let before: Vec<_> =
            assignments.iter().map(|assignment| self.keep_assigned(assignment.name)).collect();
        let exported = self.state.variables.exported();
        for assignment in assignments {
            self.assign(assignment);
            self.export(assignment.name);
        }
        let outcome = run(self);
        if stays {
            return outcome;
        }
        for kept in before.into_iter().rev() {
            self.bring_back(kept, true);
        }
        self.state.variables.bring_back_exported(exported);
        outcome
    }

    pub(super) fn assign(&mut self, assignment: &'t Assignment<'t>) {
        let index = assignment.index.as_ref().map(|index| self.arithmetic(index));
        let (given, word) = match &assignment.value {
            Value::Word(word) => {
                let texts = self.single(word);
                (if assignment.append { Given::More(texts) } else { Given::Text(texts) }, Some(word))
            }
            Value::Array(elements) => (self.given_elements(elements, assignment.append), None),
        };
        self.set_named(assignment.name, index.as_ref(), given, word);
    }

    /// `(a b [i]=c)`
    pub(super) fn given_elements(&mut self, elements: &'t [Element<'t>], adds: bool) -> Given {
        let mut values: Vec<Choices> = Vec::new();
        for element in elements {
            match self.element(element).as_slice() {
                [fields] => values.extend(fields.iter().map(|text| vec![text.clone()])),
                _ => values.push(vec![Text::any()]),
            }
        }
        let in_order = elements.iter().all(|element| element.index.is_none());
        Given::Elements { values, in_order, adds }
    }
}

/// Whether what stands before this command stays when it has run, as plain shells have it.
fn is_special(name: &Text) -> bool {
    matches!(
        name.raw(),
        ":" | "."
            | "break"
            | "continue"
            | "eval"
            | "exec"
            | "exit"
            | "export"
            | "readonly"
            | "return"
            | "set"
            | "shift"
            | "times"
            | "trap"
            | "unset"
    )
}
