//! Redirections: where the input of a command comes from, and where its output goes.

use std::path::Path;

use toolgate_model::{Access, LookError, Reach};
use toolgate_shell::{Descriptor, Redirect, RedirectOperator, RedirectTarget, Word};

use super::Interpreter;
use super::text::{Flow, NAME, NUMBER, Text, one_of};
use super::variables::Given;
use super::walk::{Outcome, Status};

/// What the redirections of a command lead to.
#[expect(clippy::struct_excessive_bools, reason = "each is a thing that a redirection does")]
#[derive(Default)]
pub(super) struct Redirected {
    stdin: Option<Flow>,
    /// Where standard output goes, if not to the one of the shell: files by absolute name.
    stdout: Option<Vec<String>>,
    append: bool,
    /// Standard output goes to standard error.
    elsewhere: bool,
    /// Descriptors are shuffled in a way that is not followed.
    odd: bool,
    /// `2>&1`
    merges: bool,
    /// What is to be read may not be there: then the command does not run.
    may_fail: bool,
    pub(super) outputs: Vec<String>,
    /// The programs whose output is read: `< <(ls -A)`.
    fed_by: Vec<String>,
}

impl<'t> Interpreter<'t, '_> {
    /// Runs something with its input and output redirected.
    pub(super) fn redirected(
        &mut self,
        redirected: Redirected,
        run: impl FnOnce(&mut Self) -> Outcome,
    ) -> Outcome {
        let stdin = redirected.stdin.map(|flow| self.streams.replace_stdin(flow));
        let waiting = self.streams.replace_waiting(Vec::new());
        let before = redirected.may_fail.then(|| self.state.clone());
        let mut outcome = self.fed(redirected.fed_by, |shell| shell.merging(redirected.merges, run));
        if let Some(before) = before {
            self.state.join(&before);
            outcome.status = Status::Either;
        }
        if redirected.odd {
            outcome.out = Flow::Any;
        } else if redirected.elsewhere {
            outcome.out = Flow::Nothing;
        }
        let waiting = self.streams.replace_waiting(waiting);
        if let Some(files) = redirected.stdout {
            for path in files {
                let had = if redirected.append { self.state.written(&path).cloned() } else { None };
                let flow = match (redirected.append, had) {
                    (true, Some(had)) => had.then(outcome.out.clone()),
                    (true, None) => Flow::Any,
                    (false, _) => outcome.out.clone(),
                };
                self.state.write(&path, flow);
            }
            outcome.out = Flow::Nothing;
        }
        for (path, list) in waiting {
            let fed = self.state.written(&path).cloned().unwrap_or_else(|| outcome.out.clone());
            let fed = if fed == Flow::Nothing { Flow::Any } else { fed };
            self.reading(fed, |shell| shell.forked(|shell| shell.list(list)));
        }
        if let Some(stdin) = stdin {
            self.streams.replace_stdin(stdin);
        }
        outcome
    }

    pub(super) fn redirects(&mut self, redirects: &'t [Redirect<'t>]) -> Redirected {
        let mut all = Redirected::default();
        for redirect in redirects {
            self.at((redirect.span.start, redirect.span.end), |shell| shell.redirect(redirect, &mut all));
        }
        all
    }

    fn redirect(&mut self, redirect: &'t Redirect<'t>, all: &mut Redirected) {
        let descriptor = match redirect.descriptor {
            Some(Descriptor::Number(number)) => Some(number),
            Some(Descriptor::Variable(name)) => {
                self.set_variable(&Text::known(name), Given::Number);
                Some(10)
            }
            None => None,
        };
        let word = match &redirect.target {
            RedirectTarget::Body(word) => {
                let text = one_of(self.single(word));
                match descriptor.unwrap_or(0) {
                    0 => all.stdin = Some(Flow::Text(text)),
                    number => self.state.open_descriptor(number, Flow::Text(text)),
                }
                return;
            }
            RedirectTarget::Word(word) => word,
        };
        if redirect.operator == RedirectOperator::HereString {
            let text = one_of(self.single(word));
            match descriptor.unwrap_or(0) {
                0 => all.stdin = Some(Flow::line(&text)),
                number => self.state.open_descriptor(number, Flow::line(&text)),
            }
            return;
        }
        let targets: Vec<Text> = self.fields(word).into_iter().flatten().collect();
        let duplicates =
            matches!(redirect.operator, RedirectOperator::DuplicateInput | RedirectOperator::DuplicateOutput);
        for target in targets {
            let is_descriptor = target
                .raw()
                .trim_end_matches('-')
                .chars()
                .all(|c| c.is_ascii_digit() || matches!(c, NAME | NUMBER));
            if duplicates && is_descriptor {
                self.duplicate(redirect.operator, descriptor, &target, all);
                continue;
            }
            if redirect.operator == RedirectOperator::Read && descriptor.unwrap_or(0) == 0 {
                all.fed_by = self.streams.writers_of(target.raw());
            }
            self.redirect_file(redirect, word, &target, descriptor, all);
        }
    }

    /// Whether there is nothing of this name to read.
    fn is_absent(&self, place: &str) -> bool {
        !self.streams.is_pipe(place)
            && self.state.written(place).is_none()
            && matches!(self.scene.world.look(Path::new(place)), Err(LookError::Absent))
    }

    /// `3> file`: what is written through the descriptor later is the file's text.
    fn open_for_writing(&mut self, descriptor: Option<u32>, operator: RedirectOperator, place: &str) {
        let emptied = matches!(operator, RedirectOperator::Write | RedirectOperator::Clobber);
        match descriptor.filter(|number| *number > 2) {
            Some(number) => {
                if emptied {
                    self.state.write(place, Flow::Nothing);
                }
                self.state.open_output(number, vec![place.into()]);
            }
            None => self.state.write(place, Flow::Any),
        }
    }

    /// `<&3`, `2>&1`, `4<&3-`: a descriptor becomes a copy of another one, whichever way the sign points.
    fn duplicate(
        &mut self,
        operator: RedirectOperator,
        descriptor: Option<u32>,
        target: &Text,
        all: &mut Redirected,
    ) {
        let reads = operator == RedirectOperator::DuplicateInput;
        let source = target.raw().trim_end_matches('-').parse::<u32>().ok();
        let behind = match source {
            Some(0) => all.stdin.clone().unwrap_or_else(|| self.streams.stdin().clone()),
            Some(number) => self.state.descriptor(number).cloned().unwrap_or(Flow::Any),
            // Closed, or one that is not known.
            None if target.raw() == "-" => Flow::Nothing,
            None => Flow::Any,
        };
        match (descriptor.unwrap_or(u32::from(!reads)), target.raw()) {
            (0, _) => all.stdin = Some(behind),
            (1, "1") => {}
            // To standard error, which is somewhere else unless the two are one.
            (1, "2") if !self.streams.is_merged() => all.elsewhere = true,
            (1, _) => match self.state.outputs_of(source).as_slice() {
                [only] if source.is_some() => {
                    all.stdout = Some(vec![only.to_string()]);
                    all.append = true;
                    all.outputs.push(only.to_string());
                }
                several => {
                    for file in several {
                        self.state.write(file, Flow::Any);
                    }
                    all.odd = true;
                }
            },
            (2, "1") => all.merges = true,
            (2, _) => all.odd = true,
            (number, _) => {
                let files = self.state.outputs_of(source);
                self.state.open_descriptor(number, behind);
                self.state.open_output(number, files);
                all.odd |= !reads;
            }
        }
    }

    fn redirect_file(
        &mut self,
        redirect: &'t Redirect<'t>,
        word: &'t Word<'t>,
        target: &Text,
        descriptor: Option<u32>,
        all: &mut Redirected,
    ) {
        use RedirectOperator as Op;
        let reads = matches!(redirect.operator, Op::Read | Op::ReadWrite | Op::DuplicateInput);
        let writes = !matches!(redirect.operator, Op::Read | Op::DuplicateInput);
        // bash opens these itself, whether or not such a file exists.
        if target.head().starts_with("/dev/tcp/") || target.head().starts_with("/dev/udp/") {
            self.emit(toolgate_model::Effect::Connect);
            all.outputs.push(target.shown());
            return;
        }
        if writes {
            let access = match redirect.operator {
                Op::Append | Op::AppendBoth => Access::Append,
                _ => Access::Write,
            };
            self.touch_spelled(access, target, word);
            // A shell that does not match patterns here takes the name as it is.
            let literal = target.unglobbed();
            if literal != *target {
                self.touch(access, Reach::Exact, &literal);
            }
        }
        if reads {
            self.touch(Access::Read, Reach::Exact, target);
        }
        let place = self.one_place(target);
        if reads {
            let flow = self.content(target);
            all.may_fail |= !writes && place.as_deref().is_some_and(|place| self.is_absent(place));
            match descriptor.unwrap_or(0) {
                0 => all.stdin = Some(flow),
                number => self.state.open_descriptor(number, flow),
            }
        }
        // Standard output by its name is standard output.
        if writes && matches!(target.raw(), "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1") {
            all.odd = true;
            return;
        }
        if writes && place.is_none() {
            self.doubts.lose_file();
        }
        if writes && let Some(place) = place {
            let out = matches!(descriptor, None | Some(1))
                || matches!(redirect.operator, Op::WriteBoth | Op::AppendBoth);
            if out {
                all.append = matches!(redirect.operator, Op::Append | Op::AppendBoth);
                all.stdout = Some(vec![place.clone()]);
                // What is opened for both is not emptied.
                all.append |= redirect.operator == Op::ReadWrite;
            } else {
                self.open_for_writing(descriptor, redirect.operator, &place);
            }
            all.outputs.push(place);
        } else if writes && matches!(descriptor, None | Some(1)) {
            all.stdout = Some(Vec::new());
            all.outputs.push(target.shown());
        }
    }
}
