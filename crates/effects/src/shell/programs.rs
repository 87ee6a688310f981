//! Programs of which a table cannot say it all: those that run others, read code, or make what later parts rely on.

mod copies;
mod find;
mod input;
mod recipes;
mod shells;
pub(super) use shells::is_shell;

use std::rc::Rc;

use toolgate_model::{Access, Effect, Gap, Reach, patched};

use super::apply::slot_text;
use super::follow::language_of;
use super::text::{Flow, Text, spaced_as_is};
use super::walk::Outcome;
use super::{Interpreter, git, lists};
use crate::spec::{Kind, Language, Reading};

/// Whether a directory holds the system's own programs.
pub(super) fn is_system_directory(directory: &str) -> bool {
    ["/bin", "/sbin", "/usr", "/snap", "/opt", "/lib"]
        .iter()
        .any(|top| directory.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Runs a program that needs more than its spec; `None` leaves it to the spec.
#[expect(clippy::too_many_lines, reason = "one arm a program")]
pub(super) fn handler(
    shell: &mut Interpreter<'_, '_>,
    program: &str,
    reading: &Reading,
    words: &[Text],
) -> Option<Outcome> {
    let arguments = words.get(1..).unwrap_or_default();
    match program {
        "find" | "gfind" => Some(shell.find(arguments)),
        "xargs" | "gxargs" => Some(shell.xargs(reading, words)),
        "git" => Some(git::run(shell, reading, words)),
        "parallel" => Some(shell.parallel(reading, words)),
        "busybox" | "toybox" => {
            let (name, _) = arguments.split_first()?;
            let name = name.whole()?.to_owned();
            Some(shell.invoke_program(&name, arguments, None, &[]))
        }
        "grep" | "egrep" | "fgrep" | "zgrep" | "zegrep" | "zfgrep" | "bzgrep" | "xzgrep" | "zstdgrep"
        | "ggrep" | "gegrep" | "gfgrep" | "rg" | "ag" | "ack" | "ack-grep" | "diff" | "gdiff"
        | "colordiff" => {
            let outcome = shell.apply(program, reading, words);
            shell.searched(program, reading, arguments);
            Some(outcome)
        }
        "ln" | "link" => {
            let outcome = shell.apply(program, reading, words);
            shell.linked(reading, arguments);
            Some(outcome)
        }
        "cp" | "mv" | "install" | "gcp" => {
            let contents: Vec<Flow> = reading
                .operands
                .iter()
                .filter_map(|at| arguments.get(*at))
                .map(|source| shell.content(source))
                .collect();
            let outcome = shell.apply(program, reading, words);
            shell.copied(reading, arguments, &contents);
            Some(outcome)
        }
        "sed" | "gsed" => {
            let outcome = shell.apply(program, reading, words);
            for given in reading.options.iter().filter(|given| matches!(given.name, "-f" | "--file")) {
                if let Some(slot) = given.value {
                    let file = slot_text(arguments, &slot);
                    let flow =
                        if file.raw() == "-" { shell.streams.stdin().clone() } else { shell.content(&file) };
                    match flow.whole() {
                        Some(script) => {
                            let deeds = crate::code::sed(script);
                            shell.deeds(program, deeds);
                        }
                        None => shell.unknown(Gap::Code, "sed -f"),
                    }
                }
            }
            shell.backed_up(reading, arguments);
            Some(outcome)
        }
        "ssh"
            if reading
                .operands
                .first()
                .and_then(|at| arguments.get(*at))
                .and_then(Text::whole)
                .is_some_and(is_this_machine) =>
        {
            let outcome = shell.apply(program, reading, words);
            let at = reading.operands.first().copied().unwrap_or_default();
            let text = spaced_as_is(arguments.get(at + 1..).unwrap_or_default());
            shell.forked(|shell| shell.text(&text, "ssh"));
            Some(outcome)
        }
        _ if lists::takes_list(program) => {
            let outcome = shell.apply(program, reading, words);
            shell.listed(program, reading, arguments);
            Some(outcome)
        }
        "split" | "csplit" => {
            // The pieces begin with the prefix.
            let outcome = shell.apply(program, reading, words);
            if let Some(prefix) = reading.operands.get(1).and_then(|at| arguments.get(*at)) {
                shell.touch(Access::Write, Reach::Exact, &Text::marked(format!("{}…", prefix.raw())));
            }
            Some(outcome)
        }
        "mkdir" => {
            let outcome = shell.apply(program, reading, words);
            for at in &reading.operands {
                if let Some(place) = arguments.get(*at).and_then(|path| shell.one_place(path)) {
                    shell.state.write(&place, Flow::Nothing);
                    let above = place.rsplit_once('/').map_or("/", |(above, _)| above);
                    let can = has(reading, &["-p", "--parents"])
                        || shell.is_directory(above)
                        || shell.state.made.iter().any(|made| **made == *above);
                    if can {
                        shell.state.made.push(Rc::from(place.as_str()));
                    }
                }
            }
            Some(outcome)
        }
        "apply_patch" | "applypatch" => {
            let stdin = shell.streams.stdin().clone();
            let patch = match arguments {
                [] => stdin.whole(),
                [patch] => patch.whole(),
                _ => None,
            };
            let files = patch.map(patched).unwrap_or_default();
            if files.is_empty() {
                shell.unknown(Gap::Path(Access::Write), program);
            }
            for (access, name) in files {
                shell.touch(access, Reach::Exact, &Text::known(name));
            }
            Some(Outcome::of(Flow::Any))
        }
        "make" | "gmake" => Some(shell.make(reading, words)),
        "just" => Some(shell.just(reading, words)),
        "cargo" => shell.cargo_alias(reading, words),
        "mise" | "deno" | "composer" => {
            let outcome = shell.apply(program, reading, words);
            shell.task(program, reading, arguments);
            Some(outcome)
        }
        "npm" | "pnpm" | "yarn" | "bun" | "yarnpkg" => Some(shell.package(program, reading, words)),
        "ed" | "red" | "ex" | "vi" | "vim" | "nvim" | "view" | "vimdiff" => {
            let outcome = shell.apply(program, reading, words);
            shell.editor_input(program);
            Some(outcome)
        }
        "su" | "sudo" | "doas" | "ssh" | "chroot" | "unshare" | "nsenter" | "script" | "setpriv"
        | "runuser" | "pkexec" | "proot" | "fakeroot" | "env" | "nohup"
            if reading.rest.is_none() =>
        {
            // Without a command it is a shell, and a shell reads its input.
            let outcome = shell.apply(program, reading, words);
            if !matches!(program, "env" | "nohup")
                && !has(reading, &["-l", "-v", "-V", "-k", "-K", "--help", "--version"])
            {
                let stdin = shell.streams.stdin().clone();
                if stdin != Flow::Any
                    || matches!(program, "su" | "sudo" | "doas") && has(reading, &["-s", "-i"])
                {
                    shell.forked(|shell| shell.shell_input(&stdin, program));
                }
            }
            Some(outcome)
        }
        "sqlite3" | "psql" | "mysql" | "mariadb" | "gdb" | "dc" | "m4" | "gnuplot" | "octave" | "tclsh"
        | "expect" | "irb" | "R" | "ghci" | "guile" | "scala" | "jshell" | "awk" | "ftp" | "sftp"
        | "mail" | "rlwrap" | "bc" => {
            let outcome = shell.apply(program, reading, words);
            if let Flow::Text(text) = shell.streams.stdin().clone() {
                shell.commands_on_input(program, &text);
            }
            for word in arguments.iter().filter(|word| word.raw().contains([' ', '.'])) {
                shell.commands_on_input(program, &word.clone());
            }
            Some(outcome)
        }
        _ => {
            let language = language_of(program);
            let runs_input = language != Language::Other
                && !reading.uses.iter().any(|(kind, _)| matches!(kind, Kind::Script(_) | Kind::Code(_)))
                && reading.operands.is_empty()
                && !has(reading, &["-m", "-V", "-v", "--version", "-h", "--help"])
                && reading.sub.is_empty();
            if runs_input {
                let outcome = shell.apply(program, reading, words);
                let stdin = shell.streams.stdin().clone();
                if shell.streams.has_input() {
                    shell.code_input(program, language, &stdin);
                }
                return Some(outcome);
            }
            if !matches!(language, Language::Perl | Language::Ruby) {
                return None;
            }
            let outcome = shell.apply(program, reading, words);
            shell.backed_up(reading, arguments);
            if language == Language::Perl {
                shell.opened_by_perl(reading, arguments);
            } else {
                shell.read_by_ruby(reading, arguments);
            }
            Some(outcome)
        }
    }
}

/// The operands that are known.
fn known_operands(reading: &Reading, arguments: &[Text]) -> Vec<String> {
    let known = |at: &usize| arguments.get(*at).and_then(Text::whole).map(str::to_owned);
    reading.operands.iter().filter_map(known).collect()
}

fn is_this_machine(host: &str) -> bool {
    let host = host.rsplit('@').next().unwrap_or(host);
    matches!(host, "localhost" | "127.0.0.1" | "::1" | "[::1]" | "0.0.0.0" | "ip6-localhost")
        || host.starts_with("127.")
}

fn has(reading: &Reading, options: &[&str]) -> bool {
    reading.options.iter().any(|given| options.contains(&given.name))
}

impl Interpreter<'_, '_> {
    pub(super) fn connect(&mut self) {
        self.emit(Effect::Connect);
    }
}
