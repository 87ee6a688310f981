//! Simple commands: assignments, words, and redirections around them.

use toolgate_model::Gap;
use toolgate_shell::{Assignment, Command, Value, Word};

use super::Interpreter;
use super::state::Variable;
use super::text::{Choices, Flow, Text, bounded, either};
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
            self.redirected(redirected, |shell| {
                shell.streams.replace_waiting(own_waiting);
                shell.with_prefix(assignments, |shell| shell.any_of(lists, words, &outputs))
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

    /// `A=1 command`: for this command only.
    fn with_prefix(
        &mut self,
        assignments: &'t [Assignment<'t>],
        run: impl FnOnce(&mut Self) -> Outcome,
    ) -> Outcome {
        if assignments.is_empty() {
            return run(self);
        }
        let before: Vec<_> =
            assignments.iter().map(|assignment| (assignment.name, self.state.own(assignment.name))).collect();
        let (path, exported) = (self.state.path.clone(), self.state.exported.clone());
        for assignment in assignments {
            self.assign(assignment);
            self.export(assignment.name);
        }
        let outcome = run(self);
        for (name, value) in before.into_iter().rev() {
            self.state.restore(name, value);
        }
        (self.state.path, self.state.exported) = (path, exported);
        outcome
    }

    pub(super) fn assign(&mut self, assignment: &'t Assignment<'t>) {
        let index = assignment.index.as_ref().map(|index| self.arithmetic(index));
        let value = match &assignment.value {
            Value::Word(word) => {
                let texts = self.single(word);
                match (index, self.state.get(assignment.name).cloned()) {
                    (Some(index), had) => set_element(had, &index, texts),
                    // Plain shells know no `+=`: then nothing is set.
                    (None, Some(Variable::Scalar(had))) if assignment.append && self.state.plain => {
                        Variable::Scalar(either(&had, &appended(&had, &texts)))
                    }
                    (None, Some(Variable::Scalar(had))) if assignment.append => {
                        Variable::Scalar(appended(&had, &texts))
                    }
                    (None, None) if assignment.append => {
                        Variable::Scalar(appended(&self.variable_texts(assignment.name), &texts))
                    }
                    (None, _) if assignment.append => Variable::unknown(),
                    (None, Some(Variable::Array(mut elements))) => {
                        match elements.first_mut() {
                            Some(first) => *first = texts,
                            None => elements.push(texts),
                        }
                        Variable::Array(elements)
                    }
                    (None, _) => Variable::Scalar(texts),
                }
            }
            Value::Array(elements) => {
                let mut values: Vec<Choices> = match self.state.get(assignment.name) {
                    Some(Variable::Array(had)) if assignment.append => had.clone(),
                    Some(Variable::Scalar(had)) if assignment.append => vec![had.clone()],
                    _ => Vec::new(),
                };
                let mut in_order = true;
                for element in elements {
                    in_order &= element.index.is_none();
                    match self.element(element).as_slice() {
                        [fields] => values.extend(fields.iter().map(|text| vec![text.clone()])),
                        _ => values.push(vec![Text::any()]),
                    }
                }
                if in_order { Variable::Array(values) } else { any_order(values) }
            }
        };
        if let Variable::Scalar(texts) = &value
            && self.doubts.is_integer(assignment.name)
        {
            for text in texts.clone() {
                self.evaluate(text.raw());
            }
        }
        if matches!(assignment.name, "BASH_CMDS" | "BASH_ALIASES") {
            self.unknown(Gap::ShellCode, assignment.name);
        }
        if assignment.name == "OLDPWD" {
            self.state.previous = None;
        }
        self.heed_spelling(
            assignment.name,
            match &assignment.value {
                Value::Word(word) => Some(word),
                Value::Array(_) => None,
            },
        );
        self.state.set(assignment.name, value);
        self.environment_changed(assignment.name);
        self.doubts.keep_own_path(false);
    }
}

fn appended(had: &Choices, more: &Choices) -> Choices {
    let mut all = Vec::new();
    for had in had {
        for more in more {
            let mut text = had.clone();
            text.push(more);
            all.push(text);
        }
    }
    bounded(all)
}

fn set_element(had: Option<Variable>, index: &Text, texts: Choices) -> Variable {
    let mut elements = match had {
        Some(Variable::Array(elements)) => elements,
        Some(Variable::Scalar(texts)) => vec![texts],
        _ => Vec::new(),
    };
    match index.whole().and_then(|index| index.parse::<usize>().ok()) {
        Some(at) if at == elements.len() => elements.push(texts),
        Some(at) if at < elements.len() => {
            if let Some(element) = elements.get_mut(at) {
                *element = texts;
            }
        }
        _ => {
            elements.push(texts);
            return any_order(elements);
        }
    }
    Variable::Array(elements)
}

/// Elements by keys: each place may hold any of them.
fn any_order(values: Vec<Choices>) -> Variable {
    let count = values.len();
    let all = bounded(values.into_iter().flatten().collect());
    Variable::Array(vec![all; count.min(64)])
}
