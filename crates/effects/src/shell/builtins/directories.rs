//! `cd`, `pushd`, `popd`: where the shell is from now on.

use std::path::Path;
use std::rc::Rc;

use toolgate_model::{Access, DirectoryChange, Gap, Reach};
use toolgate_shell::Word;

use crate::shell::Interpreter;
use crate::shell::spelling::Spelling;
use crate::shell::text::{Flow, Text, is_mark};
use crate::shell::variables::Variable;
use crate::shell::walk::{Outcome, Status};

impl<'t> Interpreter<'t, '_> {
    pub(super) fn cd(&mut self, arguments: &[Text], spelled: Option<&'t [Word<'t>]>) -> Outcome {
        let mut operands: Vec<(usize, &Text)> = Vec::new();
        let mut physical = self.state.physical;
        let mut odd = false;
        let mut ended = false;
        for (at, argument) in arguments.iter().enumerate() {
            match argument.raw() {
                "--" if !ended => ended = true,
                option if !ended && option.len() > 1 && option.starts_with('-') && option != "-" => {
                    physical |= option.contains('P');
                    odd |= !option.chars().skip(1).all(|c| matches!(c, 'L' | 'P'));
                }
                _ => operands.push((at, argument)),
            }
        }
        let before = self.state.cwd.clone();
        odd |= operands.len() > 1 || !self.written.is_bare();
        let (place, target) = match operands.first() {
            Some((at, target)) => (Some(*at), (*target).clone()),
            None => (None, self.home_of("")),
        };
        let word = place.and_then(|at| spelled.and_then(|words| words.get(at + 1)));
        self.note_change(place.is_none(), &target, word);
        if target.raw() == "-" {
            // What somebody has assigned counts; who that was and when is not followed.
            let assigned = self.state.variables.has_own("OLDPWD");
            let previous = self.state.previous.clone().filter(|_| !assigned);
            return match previous {
                Some(cwd) => {
                    for directory in &cwd {
                        self.touch(Access::Enter, Reach::Exact, &Text::marked(directory.to_string()));
                    }
                    self.moved(before, cwd);
                    Outcome::sure(Flow::Any)
                }
                // Where the shell was before this command is not known.
                None => {
                    self.unknown(Gap::Path(Access::Enter), "cd -");
                    self.moved(before, Vec::new());
                    Outcome::of(Flow::Any)
                }
            };
        }
        if target.is_empty() {
            return Outcome::of(Flow::Nothing);
        }
        // With `nullglob` a pattern without a match is no word at all.
        if self.state.nullglob && target.raw().contains(is_mark) {
            self.unknown(Gap::Path(Access::Enter), &target.shown());
        }
        // `CDPATH` sends a plain name somewhere else.
        let plain = !["/", "./", "../"].iter().any(|start| target.raw().starts_with(start))
            && !matches!(target.raw(), "." | "..");
        if plain
            && matches!(self.state.variables.get("CDPATH"), Some(Variable::Array(_) | Variable::Reference(_)))
        {
            self.unknown(Gap::Path(Access::Enter), "CDPATH");
        }
        if plain && let Some(Variable::Scalar(paths)) = self.state.variables.get("CDPATH").cloned() {
            let mut cwd: Vec<Rc<str>> = self.directories(&target);
            for base in
                paths.iter().flat_map(|paths| paths.raw().split(':').map(str::to_owned).collect::<Vec<_>>())
            {
                let place = Text::marked(format!("{base}/{}", target.raw()));
                self.touch(Access::Enter, Reach::Exact, &place);
                cwd.extend(self.directories(&place));
            }
            self.moved(before, cwd);
            return Outcome::of(Flow::Any);
        }
        self.touch(Access::Enter, Reach::Exact, &target);
        let mut cwd = self.directories(&target);
        if physical {
            cwd = self.physical(&target);
        }
        let sure = !odd
            && match cwd.as_slice() {
                [only] if !only.contains(is_mark) => {
                    let disk = &self.state.disk;
                    disk.has_made(Path::new(&**only)) || (self.is_directory(only) && !disk.is_gone(only))
                }
                _ => false,
            };
        let earlier = self.state.previous.clone();
        self.moved(before.clone(), cwd);
        if sure {
            self.set_directories(true);
            return Outcome::sure(Flow::Nothing);
        }
        self.control.fails_in((before, earlier));
        Outcome::of(Flow::Nothing)
    }

    /// `cd -P`: links are followed before `..` is.
    fn physical(&self, target: &Text) -> Vec<Rc<str>> {
        let resolver = toolgate_model::Resolver::new(self.scene.world, None, None);
        let walked = |place: Option<(String, Reach)>| {
            let (path, _) = place?;
            let walked = resolver.walk(path.into()).ok()?;
            Some(Rc::from(walked.physical.to_str()?))
        };
        let all: Option<Vec<Rc<str>>> = self.places(target).into_iter().map(walked).collect();
        all.unwrap_or_default()
    }

    fn moved(&mut self, before: Vec<Rc<str>>, cwd: Vec<Rc<str>>) {
        self.state.previous = Some(before);
        self.state.cwd = cwd;
        // The shell sets both anew, if it could move: what was assigned by hand is gone, or not.
        self.set_directories(false);
    }

    pub(super) fn pushd(&mut self, arguments: &[Text], spelled: Option<&'t [Word<'t>]>) -> Outcome {
        let target = arguments.iter().find(|argument| !argument.raw().starts_with('-'));
        // It only puts the directory where `popd` finds it.
        if let (true, Some(target)) = (arguments.iter().any(|argument| argument.raw() == "-n"), target)
            && !target.raw().starts_with('+')
        {
            let directories = self.directories(target);
            self.state.stack.push((directories, false));
            return Outcome::of(Flow::Any);
        }
        let rotates = target.is_none_or(|target| target.raw().starts_with('+'));
        if rotates {
            if arguments.iter().any(|argument| argument.raw().contains(|c: char| c.is_ascii_digit())) {
                self.unknown(Gap::Path(Access::Enter), "pushd");
                self.state.cwd.clear();
                return Outcome::of(Flow::Any);
            }
            let before = self.state.cwd.clone();
            let (top, _) = self.state.stack.pop().unwrap_or_default();
            self.state.stack.push((before.clone(), false));
            self.moved(before, top);
            return Outcome::of(Flow::Any);
        }
        let before = self.state.cwd.clone();
        let outcome = self.cd(arguments, spelled);
        self.state.stack.push((before, outcome.status == Status::Succeeds));
        outcome
    }

    pub(super) fn pwd(&self) -> Outcome {
        // Whatever somebody has assigned to `PWD`.
        Outcome::sure(match self.state.cwd.as_slice() {
            [cwd] => Flow::line(&Text::marked(cwd.to_string())),
            _ => Flow::Any,
        })
    }

    pub(super) fn popd(&mut self, arguments: &[Text]) -> Outcome {
        // Forgets a directory, and stays.
        if matches!(arguments, [only] if only.whole() == Some("-n")) {
            self.state.stack.pop();
            return Outcome::of(Flow::Any);
        }
        if !arguments.is_empty() {
            self.unknown(Gap::Path(Access::Enter), "popd");
            self.state.cwd.clear();
            return Outcome::of(Flow::Any);
        }
        let before = self.state.cwd.clone();
        let origin = Some(self.origin());
        let text = "popd".to_owned();
        let change =
            DirectoryChange { text, home: false, previous: true, dynamic: false, glob: false, origin };
        self.report.add_change(change);
        match self.state.stack.pop() {
            Some((cwd, sure)) => {
                for directory in &cwd {
                    self.touch(Access::Enter, Reach::Exact, &Text::marked(directory.to_string()));
                }
                self.moved(before.clone(), cwd);
                // Where there was nothing to go back from, the shell stays.
                if !sure {
                    self.control.fails_in((before, None));
                    self.state.previous = None;
                }
            }
            None => self.unknown(Gap::Path(Access::Enter), "popd"),
        }
        Outcome::of(Flow::Any)
    }

    /// Notes how a change of directory is spelled, for rules that go by it.
    fn note_change(&mut self, bare: bool, target: &Text, word: Option<&'t Word<'t>>) {
        let text = if bare { String::new() } else { target.shown() };
        let spelling = word.map_or_else(Spelling::default, Spelling::of);
        let change = DirectoryChange {
            home: bare || spelling.lone_tilde,
            previous: !bare && target.raw() == "-",
            dynamic: spelling.dynamic,
            glob: spelling.glob,
            text,
            origin: Some(self.origin()),
        };
        self.report.add_change(change);
    }
}
