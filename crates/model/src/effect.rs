//! What a call would do.
//!
//! INVARIANT: what is not understood is an [`Effect::Unknown`], never an empty list.

use std::borrow::Cow;
use std::rc::Rc;

use crate::{Access, PathArg};

/// One thing that a call would do.
#[derive(Debug, Clone)]
pub enum Effect<'a> {
    /// Uses a file or a directory.
    Use(Access, Target<'a>),
    /// Starts a program.
    Run(Run),
    /// Talks to another machine.
    Connect,
    /// Something that we cannot name.
    Unknown(Unknown<'a>),
}

/// What an effect is aimed at.
#[derive(Debug, Clone)]
pub struct Target<'a> {
    /// The parameter that names it.
    pub param: Cow<'a, str>,
    /// Its name as given.
    pub path: PathArg<'a>,
    /// How far the effect reaches from there.
    pub reach: Reach,
    /// Taken for a path by its looks alone.
    pub guess: bool,
    /// Taken for the place that a program uses by default.
    pub assumed: bool,
    /// Only what git keeps of the repository there: commits, branches, the index, and none of the files. Policies judge it like
    /// the whole tree; people are told which it is.
    pub git_data: bool,
    /// What in a shell command leads to it.
    pub origin: Option<Origin>,
}

impl<'a> Target<'a> {
    /// This one file, named by a parameter: no guess, no default of a program.
    pub fn exact(param: impl Into<Cow<'a, str>>, path: PathArg<'a>) -> Target<'a> {
        let param = param.into();
        Target {
            param,
            path,
            reach: Reach::Exact,
            guess: false,
            assumed: false,
            git_data: false,
            origin: None,
        }
    }
}

/// How far an effect reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// This one file.
    Exact,
    /// Everything below it too.
    Below,
    /// This one file, which the command does not name: it lies below a directory that the command goes through, or comes
    /// along with a tree. A sandbox holds it.
    Met,
}

/// What in a shell command an effect comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The bytes of the command's text.
    pub span: (u32, u32),
    /// The way there through wrappers and scripts, the last step first.
    pub via: Option<Rc<Via>>,
}

/// One step on the way to an effect.
#[derive(Debug, PartialEq, Eq)]
pub struct Via {
    /// What took the step: `sudo`, `bash -c`, `scripts/clean.sh:12`.
    pub step: String,
    /// The line of a script in which the next step stands; empty for a wrapper.
    pub line: String,
    /// The step before it.
    pub before: Option<Rc<Via>>,
}

/// A program that would be started, as its spec reads the words: behind all wrappers, options known by their
/// names whatever the spelling.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// The program's own name, without directories: `git`.
    pub program: String,
    /// Its sub-commands: `["push"]`, `["remote", "add"]`.
    pub sub: Vec<String>,
    /// Its options by the first spelling that the spec gives (`-r` for `--recursive` and for the `r` in `-rf`), each
    /// with its value where it takes one. An option that the spec does not know is kept as it is written.
    pub options: Vec<(String, Option<String>)>,
    /// Other spellings of these options, each with the place of its option: people who forbid `--force` mean `-f` too.
    pub aliases: Vec<(usize, &'static str)>,
    /// What is neither option nor sub-command. A word whose text is not known is `None`.
    pub operands: Vec<Option<String>>,
    /// All words as they would be passed, the name first; those not known are shown as they are written.
    pub words: Vec<String>,
    /// The programs whose output it reads, nearest last: `["curl"]` for the `sh` in `curl … | sh`.
    pub fed_by: Vec<String>,
    /// Files that its input and output are redirected to, by absolute name.
    pub outputs: Vec<String>,
    /// What it does on another machine, where somebody has looked: `ssh host uptime`, `git push`.
    pub elsewhere: Option<Rc<Elsewhere>>,
    /// Where in a shell command it stands.
    pub origin: Option<Origin>,
}

/// What a program does on another machine. Nothing of it touches this one, and no path in it is one of ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// The programs that it starts there.
    pub runs: Vec<Run>,
    /// What it does there besides looking, or what cannot be known of that: for people, and not empty where there is any.
    pub more: Option<String>,
    /// It changes the branch there that others start from.
    pub default_branch: bool,
}

impl Run {
    /// A program whose words are known and need no spec.
    pub fn of(words: Vec<String>) -> Run {
        let program = words.first().map(|first| base_name(first).to_owned()).unwrap_or_default();
        let operands = words.iter().skip(1).cloned().map(Some).collect();
        Run { program, operands, words, ..Run::default() }
    }

    /// Whether the option of this name is given, by the first spelling of its spec.
    pub fn has(&self, option: &str) -> bool {
        self.options.iter().any(|(name, _)| name == option)
    }
}

/// The last name of a path.
pub fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Why an effect cannot be named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown<'a> {
    /// A tool that its host's page does not list.
    Tool(Cow<'a, str>),
    /// A tool of an MCP server.
    McpTool(Cow<'a, str>),
    /// Something in a shell command.
    Shell {
        /// What it is.
        gap: Gap,
        /// The words that cannot be known, for people.
        text: String,
        /// Where it stands.
        origin: Origin,
    },
}

/// What of a shell command cannot be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gap {
    /// The command's parameter is missing or no text.
    Missing,
    /// Text that bash would not read, or that is beyond our bounds.
    Syntax,
    /// The name of a program that is only known when it runs.
    Name,
    /// A path that is only known when it runs, and what is done there.
    Path(Access),
    /// A program that no spec describes.
    Program,
    /// An option or sub-command that the program's spec does not list.
    Option,
    /// Project code, built or run by a tool whose effects are the code's.
    Project,
    /// Code of another language that does more than compute.
    Code,
    /// Shell code that is only known when it runs.
    ShellCode,
    /// Read and found harmless, by a reading that is not proof.
    Doubt(Doubt),
    /// More than can be followed: too deep, too many, too long.
    Bounds,
}

/// Why what was read of a command is not proof. Nobody is asked because of it; what can be contained is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Doubt {
    /// Code of a language whose library is open: no table lists all that reaches a file or a program.
    Code,
    /// Text that another shell than bash reads, with something in it that the two may take otherwise.
    OtherShell,
    /// A program that takes commands from its terminal, which raise no event.
    Terminal,
    /// git in a repository whose settings and hooks contained programs can write.
    Repository,
    /// A program that may load the project's settings or code, whatever it is asked to do.
    Settings,
    /// A variable that nobody knows as harmless, or one that leads to what contained programs can write.
    Environment,
    /// A contained program of an earlier call is still running, and could exchange what was looked at.
    Background,
    /// git writes what all worktrees of a repository share.
    Shared,
    /// Secret files may be among those that are shown: there are more than were looked at. A sandbox does not help here.
    Secrets,
    /// Names are used that are only known when it runs, and a link among them leads elsewhere, or they are too many to look.
    Names,
    /// A tree is brought in whose names and links are not known.
    Members,
    /// A word that is described as plain text and looks like a place, or may be one.
    Words,
    /// A path leads through something that the same call has taken away, moved or replaced.
    Changed,
    /// The directory that the host starts our hooks in may be gone or closed afterwards. Behind a contained command it is put back.
    Start,
}

impl Doubt {
    /// The reason, for people: what stands before it is the words of the command.
    pub fn words(self) -> &'static str {
        match self {
            Doubt::Code => "runs code in a language whose library can reach anything",
            Doubt::OtherShell => "runs in a shell other than bash, which may read it differently",
            Doubt::Terminal => "takes commands from its input while it runs",
            Doubt::Repository => "uses settings and hooks of a repository that is not the session's own",
            Doubt::Settings => "may load project settings or project code",
            Doubt::Environment => "may point programs at settings, code or places that were not checked",
            Doubt::Background => "may find files replaced by a contained program that is still running",
            Doubt::Shared => "writes what other worktrees of the repository share",
            Doubt::Secrets => "may reach secret files that were not looked for",
            Doubt::Names => "may be led elsewhere by a link, or uses more names than are checked one by one",
            Doubt::Members => "brings in files whose names and links are not known",
            Doubt::Words => "has a word that may be a path where plain text is expected",
            Doubt::Changed => "goes through something that this same call replaces",
            Doubt::Start => "may remove the directory in which the host starts its hooks",
        }
    }
}

impl Gap {
    /// The word for it in records and settings.
    pub fn word(self) -> &'static str {
        match self {
            Gap::Missing => "missing",
            Gap::Syntax => "syntax",
            Gap::Name => "name",
            Gap::Path(Access::Enter) => "enter",
            Gap::Path(Access::List | Access::Read | Access::Search) => "read",
            Gap::Path(Access::Link | Access::Append | Access::Write | Access::Delete) => "write",
            Gap::Program => "program",
            Gap::Option => "option",
            Gap::Project => "opaque",
            Gap::Code => "code",
            Gap::ShellCode => "shell-code",
            Gap::Doubt(_) => "doubt",
            Gap::Bounds => "bounds",
        }
    }
}

/// Something that was not proved, for the log: why, and about what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unproved {
    /// The word of the gap, as in `[policy.unproved-effect]`.
    pub reason: &'static str,
    /// The words or the tool that cannot be known.
    pub text: String,
}

impl Unproved {
    /// What is recorded of an unknown.
    pub fn of(unknown: &Unknown<'_>) -> Unproved {
        let (reason, text) = match unknown {
            Unknown::Tool(tool) => ("tool", tool.to_string()),
            Unknown::McpTool(tool) => ("mcp", tool.to_string()),
            Unknown::Shell { gap, text, .. } => (gap.word(), text.clone()),
        };
        Unproved { reason, text }
    }
}
