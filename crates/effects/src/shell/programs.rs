//! Programs of which a table cannot say it all: those that run others, read code, or make what later parts rely on.

mod copies;
mod find;
mod input;
mod recipes;
mod shells;
mod terminal;

pub(super) use input::prints_files;
pub(super) use shells::is_shell;
pub(super) use terminal::names_pager;

use std::path::Path;

use toolgate_model::{Access, Effect, Gap, Reach, patched};

use super::apply::slot_text;
use super::follow::language_of;
use super::text::{Flow, NAME, Text, spaced_as_is};
use super::walk::Outcome;
use super::{Interpreter, git, lists};
use crate::language::Language;
use crate::spec::{Reading, WordKind};

/// Whether a directory holds the system's own programs.
pub(super) fn is_system_directory(directory: &str) -> bool {
    ["/bin", "/sbin", "/usr", "/snap", "/opt", "/lib"]
        .iter()
        .any(|top| directory.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Runs a program that needs more than its spec; `None` leaves it to the spec.
pub(super) fn handler(
    shell: &mut Interpreter<'_, '_>,
    program: &str,
    reading: &Reading,
    words: &[Text],
) -> Option<Outcome> {
    let arguments = words.get(1..).unwrap_or_default();
    Some(match program {
        "find" | "gfind" => shell.find(arguments),
        "xargs" | "gxargs" => shell.xargs(reading, words),
        "git" => git::run(shell, reading, words),
        "parallel" => shell.parallel(reading, words),
        "busybox" | "toybox" => {
            let name = arguments.first()?.whole()?.to_owned();
            shell.invoke_program(&name, arguments, None, &[])
        }
        "cp" | "mv" | "install" | "gcp" | "gmv" | "ginstall" => shell.copy(program, reading, words),
        "rsync" => shell.synced(reading, words),
        "apply_patch" | "applypatch" => shell.apply_patch(program, arguments),
        "make" | "gmake" => shell.make(reading, words),
        "just" => shell.just(reading, words),
        "cargo" => shell.cargo_alias(reading, words)?,
        "npm" | "pnpm" | "yarn" | "bun" | "yarnpkg" => shell.package(program, reading, words),
        _ => {
            let extra = Extra::of(program, reading, arguments)?;
            let outcome = shell.apply(program, reading, words);
            shell.do_extra(extra, program, reading, arguments);
            outcome
        }
    })
}

/// What a program does besides what its spec says.
#[derive(Clone, Copy)]
enum Extra {
    /// Prints lines of files that it finds below directories.
    Searches,
    /// Makes links.
    Links,
    /// Reads a program of its own from a file.
    SedFile,
    /// Runs a text on this very machine.
    RunsHere,
    /// Reads names from a file.
    TakesList,
    /// Writes files whose names begin with its operand.
    Splits,
    MakesDirectories,
    /// Prints the environment of other processes.
    ShowsEnvironments,
    /// Runs tasks of the project.
    Tasks,
    /// Takes commands of an editor.
    Edits,
    /// Is a shell, as no command follows.
    Shell,
    /// Is a shell on another machine.
    RunsThere,
    /// Takes commands of its own, which can run others.
    OwnCommands,
    /// Runs code of this language from standard input.
    Input(Language),
    Perl,
    Ruby,
}

impl Extra {
    fn of(program: &str, reading: &Reading, arguments: &[Text]) -> Option<Extra> {
        Some(match program {
            "grep" | "egrep" | "fgrep" | "zgrep" | "zegrep" | "zfgrep" | "bzgrep" | "xzgrep" | "zstdgrep"
            | "ggrep" | "gegrep" | "gfgrep" | "rg" | "ag" | "ack" | "ack-grep" | "diff" | "gdiff"
            | "colordiff" | "sdiff" => Extra::Searches,
            "ln" | "link" => Extra::Links,
            "sed" | "gsed" => Extra::SedFile,
            "ssh" if host_of(reading, arguments).is_some_and(is_this_machine) => Extra::RunsHere,
            "ssh" => Extra::RunsThere,
            _ if lists::takes_list(program) => Extra::TakesList,
            "split" | "csplit" | "gsplit" | "gcsplit" => Extra::Splits,
            "mkdir" => Extra::MakesDirectories,
            "ps" if shows_environments(reading, arguments) => Extra::ShowsEnvironments,
            "mise" | "deno" | "composer" => Extra::Tasks,
            "ed" | "red" | "ex" | "vi" | "vim" | "nvim" | "view" | "vimdiff" => Extra::Edits,
            "su" | "sudo" | "doas" | "chroot" | "unshare" | "nsenter" | "script" | "setpriv" | "runuser"
            | "pkexec" | "proot" | "fakeroot" | "env" | "nohup"
                if reading.rest.is_none() =>
            {
                Extra::Shell
            }
            "sqlite3" | "psql" | "mysql" | "mariadb" | "gdb" | "dc" | "m4" | "gnuplot" | "octave"
            | "tclsh" | "expect" | "irb" | "R" | "ghci" | "guile" | "scala" | "jshell" | "awk" | "ftp"
            | "sftp" | "mail" | "rlwrap" | "bc" => Extra::OwnCommands,
            _ => match language_of(program) {
                Language::Other => return None,
                language if runs_input(reading) => Extra::Input(language),
                Language::Perl => Extra::Perl,
                Language::Ruby => Extra::Ruby,
                _ => return None,
            },
        })
    }
}

/// Whether an interpreter is given no code but what it reads.
fn runs_input(reading: &Reading) -> bool {
    !reading.uses.iter().any(|(kind, _)| matches!(kind, WordKind::Script(_) | WordKind::Code(_)))
        && reading.operands.is_empty()
        && !has(reading, &["-m", "-V", "-v", "--version", "-h", "--help"])
        && reading.sub.is_empty()
}

/// `ps e`, without a dash, has the variables of each process behind its words; so has the column of that name.
fn shows_environments(reading: &Reading, arguments: &[Text]) -> bool {
    let first = arguments.first().filter(|word| !word.raw().starts_with('-'));
    let operands = reading.operands.iter().filter_map(|at| arguments.get(*at));
    let is_letters = |word: &Text| word.raw().bytes().all(|byte| byte.is_ascii_alphabetic());
    first.into_iter().chain(operands).any(|word| is_letters(word) && word.raw().contains('e'))
        || arguments.iter().any(|word| word.raw().contains("environ"))
}

fn host_of<'w>(reading: &Reading, arguments: &'w [Text]) -> Option<&'w str> {
    arguments.get(*reading.operands.first()?)?.whole()
}

impl Interpreter<'_, '_> {
    fn do_extra(&mut self, extra: Extra, program: &str, reading: &Reading, arguments: &[Text]) {
        match extra {
            Extra::Searches => self.searched(program, reading, arguments),
            Extra::Links => self.linked(reading, arguments),
            Extra::SedFile => self.read_by_sed(program, reading, arguments),
            Extra::RunsHere => {
                let at = reading.operands.first().copied().unwrap_or_default();
                let words = arguments.get(at + 1..).unwrap_or_default();
                if words.is_empty() {
                    self.started_shell(program, reading);
                }
                let text = spaced_as_is(words);
                self.forked(|shell| shell.text(&text, "ssh"));
            }
            Extra::RunsThere => self.run_there(reading, arguments),
            Extra::TakesList => self.listed(program, reading, arguments),
            Extra::ShowsEnvironments => {
                self.touch(Access::Read, Reach::Exact, &Text::known("/proc/1/environ"));
            }
            Extra::Splits => {
                let value = |name: &str| {
                    let given = reading.options.iter().rev().find(|given| given.name == name)?;
                    Some(slot_text(arguments, &given.value?).raw().to_owned())
                };
                let own = |at: usize| reading.operands.get(at).and_then(|at| arguments.get(*at));
                let prefix = match program {
                    "split" | "gsplit" => own(1).map_or("x".to_owned(), |prefix| prefix.raw().to_owned()),
                    _ => value("-f").unwrap_or("xx".to_owned()),
                };
                // A format is whatever it says, with a number in it.
                let format = value("-b").filter(|_| program.ends_with("csplit"));
                let suffix = format.map_or_else(
                    || format!("{NAME}{}", value("--additional-suffix").unwrap_or_default()),
                    |format| without_conversion(&format),
                );
                self.touch(Access::Write, Reach::Exact, &Text::marked(format!("{prefix}{suffix}")));
                self.doubts.change_files();
            }
            Extra::MakesDirectories => self.made_directories(reading, arguments),
            Extra::Tasks => self.task(program, reading, arguments),
            Extra::Edits => self.editor_input(program),
            Extra::Shell => self.started_shell(program, reading),
            Extra::OwnCommands => {
                if let Flow::Text(text) = self.streams.stdin().clone() {
                    self.commands_on_input(program, &text);
                }
                for word in arguments.iter().filter(|word| word.raw().contains([' ', '.'])) {
                    self.commands_on_input(program, word);
                }
            }
            Extra::Input(language) => {
                if self.streams.has_input() {
                    let stdin = self.streams.stdin().clone();
                    self.code_input(program, language, &stdin);
                }
            }
            Extra::Perl => {
                self.backed_up(reading, arguments);
                self.opened_by_perl(reading, arguments);
            }
            Extra::Ruby => {
                self.backed_up(reading, arguments);
                self.read_by_ruby(reading, arguments);
            }
        }
    }

    pub(super) fn connect(&mut self) {
        self.emit(Effect::Connect);
    }

    fn apply_patch(&mut self, program: &str, arguments: &[Text]) -> Outcome {
        let stdin = self.streams.stdin().clone();
        let patch = match arguments {
            [] => stdin.whole(),
            [patch] => patch.whole(),
            _ => None,
        };
        let files = patch.map(patched).unwrap_or_default();
        if files.is_empty() {
            self.unknown(Gap::Path(Access::Write), program);
        }
        for (access, name) in files {
            self.touch(access, Reach::Exact, &Text::known(name));
        }
        Outcome::of(Flow::Any)
    }

    fn made_directories(&mut self, reading: &Reading, arguments: &[Text]) {
        for at in &reading.operands {
            if let Some(place) = arguments.get(*at).and_then(|path| self.one_place(path)) {
                self.state.write(&place, Flow::Nothing);
                let above = place.rsplit_once('/').map_or("/", |(above, _)| above);
                let can = has(reading, &["-p", "--parents"])
                    || self.is_directory(above)
                    || self.state.disk.has_made(Path::new(above));
                if can {
                    self.state.disk.make_directory(&place);
                }
            }
        }
    }

    /// Without a command it is a shell, and a shell reads its input.
    fn started_shell(&mut self, program: &str, reading: &Reading) {
        if matches!(program, "env" | "nohup")
            || has(reading, &["-l", "-v", "-V", "-k", "-K", "--help", "--version"])
        {
            return;
        }
        let stdin = self.streams.stdin().clone();
        if stdin != Flow::Any || matches!(program, "su" | "sudo" | "doas") && has(reading, &["-s", "-i"]) {
            self.forked(|shell| shell.shell_input(&stdin, program));
        }
    }
}

/// A format of `csplit` with a name in place of its number.
fn without_conversion(format: &str) -> String {
    let Some((before, rest)) = format.split_once('%') else { return format.to_owned() };
    let after = rest.trim_start_matches(|letter: char| !letter.is_ascii_alphabetic());
    let mut letters = after.chars();
    letters.next();
    format!("{before}{NAME}{}", letters.as_str())
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
