//! Commands for another machine: `ssh host 'rm -rf /srv/x'`. They are walked as any other text, on a machine of which nothing is known,
//! and what they do is told of the program that takes them there. None of it is an effect here.
//!
//! Against whom: an agent that does on a server what it may not do here. So whatever is not only looked at there, and whatever
//! nobody can follow, is said.

use std::io;
use std::path::Path;

use toolgate_model::{
    Access, Doubt, Effect, Elsewhere, Entry, Gap, LookError, Node, PathArg, Unknown, World, secret_name,
    shorten,
};

use super::apply::slot_text;
use super::text::{Flow, Text, spaced_as_is};
use super::{Interpreter, Scene, Store};
use crate::spec::Reading;

/// Where such a command starts.
const HOME: &str = "/home/user";
/// So much of what it does is shown.
const SHOWN: usize = 80;
/// Names of places in which keys are kept, and files of passwords.
const KEYS: [&str; 8] = [".ssh", ".aws", ".gnupg", ".kube", ".docker", "shadow", "gshadow", "secrets"];

/// A machine that nobody can look at. The clock is ours.
struct Unseen<'w>(&'w dyn World);

impl World for Unseen<'_> {
    fn look(&self, _: &Path) -> Result<Node, LookError> {
        Err(LookError::Failed)
    }
    fn read(&self, _: &Path, _: usize) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn entries(&self, _: &Path, _: usize) -> io::Result<Option<Vec<Entry>>> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn is_late(&self) -> bool {
        self.0.is_late()
    }
}

impl Interpreter<'_, '_> {
    /// What `ssh` does on the other side: by its words, or by what it reads where it has none.
    pub(super) fn run_there(&mut self, reading: &Reading, arguments: &[Text]) {
        let value = |given: &crate::spec::Given| given.value.map(|slot| slot_text(arguments, &slot));
        let is_command = |text: &Text| {
            let raw = text.raw().trim_start().to_ascii_lowercase();
            !text.is_known() || raw.starts_with("remotecommand")
        };
        let by_option = reading.options.iter().filter(|given| given.name == "-o").filter_map(value);
        let text = match reading.operands.first().and_then(|at| arguments.get(at + 1..)) {
            _ if by_option.into_iter().any(|text| is_command(&text)) => None,
            Some(words) if !words.is_empty() => Some(spaced_as_is(words)),
            // Without a command and without an input nobody is there to type one.
            Some(_) if !self.streams.has_input() => return,
            Some(_) => match self.streams.stdin().clone() {
                Flow::Nothing => return,
                Flow::Text(text) => Some(text),
                Flow::Lines(_) | Flow::Any | Flow::Built => None,
            },
            None => return,
        };
        let elsewhere = match text {
            Some(text) => self.walked_there(&text),
            None => unknown("what it runs there is only known when it runs"),
        };
        self.report.set_elsewhere(elsewhere, |run| run.program == "ssh");
    }

    /// What a text does on a machine of which nothing is known.
    fn walked_there(&mut self, text: &Text) -> Elsewhere {
        let world = Unseen(self.scene.world);
        let scene = Scene {
            world: &world,
            cwd: Some(HOME),
            root: None,
            home: Some(HOME),
            tmp: None,
            unset: &|_| false,
        };
        let store = Store::default();
        let mut there = Interpreter::new(&store, &scene);
        there.bounds = self.bounds.deeper();
        there.deeper(|shell| {
            shell.text(text, "ssh");
            shell.run_waiting();
            shell.run_again();
            shell.run_traps();
        });
        there.close_accounts();
        self.bounds.add(&there.bounds);
        let mut elsewhere = Elsewhere::default();
        for effect in there.report.into_analysis().effects {
            let more = match effect {
                Effect::Run(run) => {
                    elsewhere.runs.push(run);
                    None
                }
                // Which commands of git only look is the rule's to say.
                Effect::Use(_, target) if target.git_data => None,
                Effect::Use(access, target) => more_than_looking(access, &target.path),
                Effect::Connect => None,
                Effect::Unknown(unknown) => not_followed(&unknown),
            };
            elsewhere.more = elsewhere.more.or(more);
        }
        elsewhere
    }
}

fn unknown(what: &str) -> Elsewhere {
    Elsewhere { more: Some(what.to_owned()), ..Elsewhere::default() }
}

/// What is done to a path there besides looking.
fn more_than_looking(access: Access, path: &PathArg<'_>) -> Option<String> {
    let shown = match path {
        PathArg::Text(path) | PathArg::Pattern(path) => path.as_ref(),
        PathArg::Cwd | PathArg::Missing | PathArg::NotText(_) => "",
    };
    let is_nowhere = matches!(shown, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty");
    let is_secret = || secret_name(shown).is_some() || shown.split('/').any(|name| KEYS.contains(&name));
    let says = match access {
        Access::Append | Access::Write | Access::Delete | Access::Link => !is_nowhere,
        Access::Read | Access::Search => is_secret(),
        Access::Enter | Access::List => false,
    };
    says.then(|| format!("{} `{}` there", access.verb(), shorten(shown, SHOWN)))
}

/// What is not known of it. Whether a program only looks, and whose code it loads, is not told by its spec: the rule says which do.
fn not_followed(unknown: &Unknown<'_>) -> Option<String> {
    let Unknown::Shell { gap, text, .. } = unknown else {
        return Some("what it does there is not known".to_owned());
    };
    match gap {
        // No program obeys a variable in small letters: the one of a loop.
        Gap::Doubt(Doubt::Environment)
            if text.contains('=') && text.starts_with(|first: char| first.is_ascii_lowercase()) =>
        {
            None
        }
        Gap::Program
        | Gap::Project
        | Gap::Path(Access::List | Access::Enter)
        | Gap::Doubt(
            Doubt::Settings
            | Doubt::Names
            | Doubt::Words
            | Doubt::Repository
            | Doubt::Shared
            | Doubt::Secrets
            | Doubt::Terminal,
        ) => None,
        Gap::Missing
        | Gap::Syntax
        | Gap::Name
        | Gap::Path(_)
        | Gap::Option
        | Gap::Code
        | Gap::ShellCode
        | Gap::Bounds
        | Gap::Doubt(_) => Some(format!("what `{}` does there is not known", shorten(text, SHOWN))),
    }
}
