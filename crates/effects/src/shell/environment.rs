//! Variables that make programs do more than they say: run a pager, load a library, work on another repository.

use std::rc::Rc;

use toolgate_model::{Access, Doubt, Gap, Reach};
use toolgate_shell::{Operation, Part, Word};

use super::git::is_harmless_program;
use super::text::{ANY, Choices, Text};
use super::{Interpreter, programs};
use crate::language::Language;
use crate::variables::is_harmless;

/// What a variable's value is to the programs that see it.
enum Influence {
    /// Run by a shell.
    Shell,
    /// Code of a language.
    Code(Language),
    /// A file that is run.
    Script,
    /// A library that is loaded, or something else that runs code.
    Runs,
    /// A directory or file that git works on.
    Repository,
    /// A file or directory that is written.
    Writes,
    /// Options of a program.
    Options,
    /// Nothing that is known to act; a place outside in it counts all the same.
    Mentions,
}

/// What a variable means to the programs that see it. Shells and terminals set some, of which nothing comes.
fn influence(name: &str) -> Option<Influence> {
    // What becomes of these is told elsewhere: `brings_code`, or as a doubt.
    const TOLD: [&str; 13] = [
        "HOME",
        "PATH",
        "PWD",
        "USER",
        "LOGNAME",
        "SHELL",
        "TERM",
        "LANG",
        "TZ",
        "DISPLAY",
        "PYTHONPATH",
        "NODE_PATH",
        "IFS",
    ];
    if TOLD.contains(&name) {
        return None;
    }
    let known = influence_of_name(name).or_else(|| influence_of_ending(&name.to_ascii_uppercase()));
    Some(known.unwrap_or(Influence::Mentions))
}

fn influence_of_name(name: &str) -> Option<Influence> {
    Some(match name {
        "PS0" | "PS1" | "PS2" | "PS4" | "PROMPT_COMMAND" | "FCEDIT" | "LESSOPEN" | "LESSCLOSE"
        | "GIT_SSH" | "PAGER" | "EDITOR" | "VISUAL" | "BROWSER" | "MANPAGER" | "GIT_EXTERNAL_DIFF"
        | "SVN_SSH" | "M4" | "AUTOM4TE" | "HGEDITOR" => Influence::Shell,
        "PERL5DB" => Influence::Code(Language::Perl),
        "LUA_INIT" => Influence::Code(Language::Lua),
        "BASH_ENV" | "ENV" => Influence::Script,
        "PYTHONSTARTUP"
        | "ZDOTDIR"
        | "INPUTRC"
        | "LD_PRELOAD"
        | "LD_AUDIT"
        | "DYLD_INSERT_LIBRARIES"
        | "GCONV_PATH"
        | "GIT_EXEC_PATH"
        | "GIT_TEMPLATE_DIR"
        | "PYTHONINSPECT"
        | "PYTHONBREAKPOINT"
        | "BASH_LOADABLES_PATH"
        // What `$"…"` stands for.
        | "TEXTDOMAIN"
        | "TEXTDOMAINDIR"
        | "MAKEFILES"
        | "MAKEFLAGS"
        | "GNUMAKEFLAGS"
        | "GROFF_BIN_PATH"
        | "GCC_EXEC_PREFIX"
        | "COMPILER_PATH"
        | "LESS"
        | "LESSKEY_CONTENT"
        | "MANOPT"
        | "RUSTC"
        | "RUNNER"
        | "PHPRC"
        | "UNZIP"
        | "ZIPOPT"
        | "TAPE"
        | "NODE_REPL_EXTERNAL_MODULE"
        | "LESSKEYIN"
        | "R_PROFILE" => Influence::Runs,
        "RUBYOPT" | "PERL5OPT" | "NODE_OPTIONS" | "JAVA_TOOL_OPTIONS" | "_JAVA_OPTIONS" | "GOFLAGS"
        | "RUSTFLAGS" | "PYTEST_ADDOPTS" => Influence::Options,
        "GIT_DIR"
        | "GIT_WORK_TREE"
        | "GIT_INDEX_FILE"
        | "GIT_OBJECT_DIRECTORY"
        | "GIT_COMMON_DIR"
        | "GIT_ALTERNATE_OBJECT_DIRECTORIES" => Influence::Repository,
        "HISTFILE"
        | "SSLKEYLOGFILE"
        | "DEPENDENCIES_OUTPUT"
        | "SUNPRO_DEPENDENCIES"
        | "LD_DEBUG_OUTPUT"
        | "LD_PROFILE_OUTPUT"
        | "LLVM_PROFILE_FILE"
        | "TMPDIR"
        | "TMP"
        | "TEMP" => Influence::Writes,
        "CARGO_HOME" | "RUSTUP_HOME" | "GOPATH" | "GOCACHE" | "GOMODCACHE" | "GOBIN" => Influence::Writes,
        _ => return None,
    })
}

/// Variables of programs that nobody listed go by what their names end in.
fn influence_of_ending(upper: &str) -> Option<Influence> {
    let ends = |endings: &[&str]| endings.iter().any(|ending| upper.ends_with(ending));
    Some(match upper {
        _ if upper.starts_with("GIT_TRACE") => Influence::Writes,
        _ if upper.starts_with("BASH_FUNC") => Influence::Runs,
        _ if ends(&[
            "_PAGER",
            "_EDITOR",
            "_COMMAND",
            "_ASKPASS",
            "_BROWSER",
            "_RSH",
            "_SSH",
            "_SSH_COMMAND",
        ]) =>
        {
            Influence::Shell
        }
        _ if ends(&["_OPTS", "_OPTIONS", "_FLAGS", "ADDOPTS", "_ARGS"]) => Influence::Options,
        _ if ends(&["_RUNNER", "_LINKER", "_WRAPPER", "SCRIPT_SHELL", "_RC", "RC_PATH", "_CONFIG_PATH"]) => {
            Influence::Runs
        }
        _ if ends(&[
            "_DIR",
            "_FILE",
            "_LOG",
            "_PREFIX",
            "_ROOT",
            "_HOME",
            "_CACHE",
            "_PATH",
            "DESTDIR",
            "_OUTPUT",
            "_TARGET",
            "_ENVIRONMENT",
        ]) =>
        {
            Influence::Writes
        }
        _ => return None,
    })
}

/// Variables that say where programs find their settings and modules: what lies there runs, whoever wrote it. As a rule they
/// are exported already, so that an assignment is enough.
fn brings_code(name: &str) -> bool {
    matches!(
        name,
        "HOME"
            | "XDG_CONFIG_HOME"
            | "XDG_CONFIG_DIRS"
            | "XDG_DATA_HOME"
            | "XDG_DATA_DIRS"
            | "GIT_DIR"
            | "GIT_COMMON_DIR"
            | "PYTHONPATH"
            | "PYTHONHOME"
            | "PYTHONUSERBASE"
            | "PYTHONWARNINGS"
            | "PYTHONPLATLIBDIR"
            | "PYTHONEXECUTABLE"
            | "NODE_PATH"
            | "NODE_OPTIONS"
            | "PERL5LIB"
            | "PERLLIB"
            | "PERL5OPT"
            | "PERL_USE_UNSAFE_INC"
            | "RUBYLIB"
            | "RUBYOPT"
            | "GEM_HOME"
            | "GEM_PATH"
            | "BUNDLE_GEMFILE"
            | "LUA_PATH"
            | "LUA_CPATH"
            | "PHP_INI_SCAN_DIR"
            | "AWKPATH"
            | "AWKLIBPATH"
            | "LD_LIBRARY_PATH"
            | "DYLD_LIBRARY_PATH"
            | "DYLD_FRAMEWORK_PATH"
            | "DYLD_FALLBACK_LIBRARY_PATH"
            | "OPENSSL_CONF"
            | "OPENSSL_MODULES"
            | "OPENSSL_ENGINES"
    ) || ["LUA_PATH_", "LUA_CPATH_"].iter().any(|start| name.starts_with(start))
}

/// A directory of `PATH` that is only known when it runs.
const LOST: &str = "…";

/// Whether nothing in a new value of `PATH` is unknown but the old one.
fn is_own_path(shell: &Interpreter<'_, '_>, parts: &[Part<'_>]) -> bool {
    parts.iter().all(|part| match part {
        Part::Double(parts) => is_own_path(shell, parts),
        Part::Parameter(parameter) => {
            let is_plain = parameter.operation == Operation::None && parameter.index.is_none();
            let is_known = || shell.variable_texts(parameter.name).iter().all(Text::is_known);
            is_plain && (parameter.name == "PATH" || is_known())
        }
        Part::Bare(_) | Part::Quoted(_) | Part::Arithmetic(_) => true,
        Part::Substitution(_)
        | Part::Backtick(_)
        | Part::Process { .. }
        | Part::ExtendedGlob { .. }
        | Part::Array(_) => false,
    })
}

impl<'t> Interpreter<'t, '_> {
    /// Heeds how a value is spelled that a variable is about to get.
    pub(super) fn heed_spelling(&mut self, name: &str, word: Option<&'t Word<'t>>) {
        if name == "PATH" {
            let is_own = word.is_some_and(|word| is_own_path(self, &word.parts));
            self.doubts.keep_own_path(is_own);
        }
    }
}

impl Interpreter<'_, '_> {
    /// `env A=1 command`
    pub(super) fn assign_environment(&mut self, text: &Text) {
        let Some((name, value)) = text.raw().split_once('=') else { return };
        if name.contains(super::text::is_mark) {
            return;
        }
        self.set_for_program(name, Text::marked(value.to_owned()));
    }

    /// A variable has a new value, which may act at once.
    pub(super) fn environment_changed(&mut self, name: &str) {
        if name == "PATH" {
            self.path_changed();
            return;
        }
        if name.starts_with("GIT_CONFIG") {
            self.git_environment(name);
        }
        if brings_code(name) && self.state.variables.get(name).is_some() {
            for value in self.variable_texts(name) {
                let own = name == "HOME" && value.whole().is_some_and(|home| self.scene.home == Some(home));
                if !value.is_empty() && !own {
                    self.unknown(Gap::Project, &format!("{name}={}", value.shown()));
                }
            }
        }
        let Some(influence) = influence(name) else { return };
        // Prompts and hooks of the shell need not be exported; all others act on programs only.
        let own = matches!(
            name,
            "PROMPT_COMMAND" | "PS0" | "PS1" | "PS2" | "PS4" | "HISTFILE" | "TEXTDOMAIN" | "TEXTDOMAINDIR"
        );
        if !own && !self.state.variables.is_exported(name) {
            return;
        }
        for value in self.held_texts(name) {
            self.environment_value(name, &influence, &value);
        }
    }

    fn environment_value(&mut self, name: &str, influence: &Influence, value: &Text) {
        if value.is_empty() || matches!(value.raw(), "cat" | "less" | "true" | "false" | "0" | "1" | "2") {
            return;
        }
        match influence {
            Influence::Shell if name.starts_with("PS") => {
                if self.state.variables.get(name).is_some() {
                    self.expand_prompt(value);
                    if value.has_any() {
                        self.unknown(Gap::ShellCode, name);
                    }
                }
            }
            Influence::Shell if matches!(name, "EDITOR" | "VISUAL") || name.ends_with("_EDITOR") => {
                self.editor(&format!("{name}={}", value.shown()), value);
            }
            Influence::Shell if value.whole().is_some_and(is_harmless_program) => {}
            Influence::Shell => {
                self.forked(|shell| shell.text(value, name));
            }
            Influence::Code(language) => self.inline(name, *language, value),
            Influence::Script => {
                self.expand_again(value.raw());
                self.forked(|shell| shell.run_script(value, &[]));
            }
            Influence::Runs => {
                let plain = value.whole().is_some_and(|text| {
                    matches!(text, "sccache" | "ccache" | "clippy-driver") || text.starts_with("-j")
                });
                if !plain {
                    self.unknown(Gap::Code, &format!("{name}={}", value.shown()));
                    self.guess_paths(std::slice::from_ref(value));
                }
            }
            Influence::Options => {
                const ACT: [&str; 17] = [
                    "-r",
                    "--require",
                    "--import",
                    "--loader",
                    "--experimental-loader",
                    "-javaagent",
                    "-agent",
                    "-toolexec",
                    "-exec",
                    "-overlay",
                    "-Clinker",
                    "-Wl",
                    "-M",
                    "-e",
                    "--eval",
                    "--config",
                    "--checkpoint-action",
                ];
                let acts = value.has_any()
                    || value.raw().split_whitespace().any(|word| ACT.iter().any(|act| word.starts_with(act)));
                if acts {
                    self.unknown(Gap::Code, &format!("{name}={}", value.shown()));
                }
                self.guess_paths(std::slice::from_ref(value));
            }
            Influence::Mentions => self.guess_paths(std::slice::from_ref(value)),
            Influence::Repository => self.touch(Access::Write, Reach::Below, value),
            Influence::Writes => {
                if value.raw().contains('/') || value.raw() == ".." {
                    self.touch(Access::Write, Reach::Below, value);
                }
            }
        }
    }

    /// git's settings by the environment: pairs of names and values, or files.
    fn git_environment(&mut self, name: &str) {
        let pair = ["GIT_CONFIG_VALUE_", "GIT_CONFIG_KEY_"].iter().find_map(|start| name.strip_prefix(start));
        if let Some(number) = pair {
            let key = format!("GIT_CONFIG_KEY_{number}");
            let value = format!("GIT_CONFIG_VALUE_{number}");
            let is_value = name == value;
            match (self.state.variables.get(&key).is_some(), self.state.variables.get(&value).is_some()) {
                (true, true) => {
                    let keys = self.variable_texts(&key);
                    for value in self.variable_texts(&value) {
                        for key in &keys {
                            self.setting(&Text::marked(format!("{}={}", key.raw(), value.raw())));
                        }
                    }
                }
                // A key that the environment may have had before.
                (false, _) if is_value => self.unknown(Gap::Code, name),
                _ => {}
            }
        } else if !matches!(name, "GIT_CONFIG_NOSYSTEM" | "GIT_CONFIG_COUNT")
            && !name.starts_with("GIT_CONFIG_KEY_")
        {
            let plain = self.variable_texts(name).iter().all(|value| matches!(value.raw(), "" | "/dev/null"));
            if !plain {
                self.unknown(Gap::Code, name);
            }
        }
    }

    /// What makes a program doubtful that gets its environment from this command: a variable that nobody knows as harmless, or a `PATH`
    /// that may lead it, or what it starts, to another program.
    pub(super) fn doubt_environment(&mut self) {
        if self.doubts.has_lost_variables() {
            self.doubt_variable("a variable that is only known when it runs");
        }
        if let Some(place) = self.state.path.iter().find(|place| !self.is_toolchain(place)).cloned() {
            self.doubt_variable(&format!("PATH={place}"));
        }
        // Once for each change of them is enough.
        let stamp = self.state.variables.stamp().clone();
        if !self.doubts.heeds_anew(stamp) {
            return;
        }
        for name in self.state.variables.names() {
            let is_passed_on = || self.state.variables.is_exported(&name) || !(self.scene.unset)(&name);
            let harmful = || {
                let values = self.variable_texts(&name);
                values.into_iter().find(|value| !value.is_empty() && !is_harmless(&name, value.whole()))
            };
            if let Some(value) = is_passed_on().then(harmful).flatten() {
                self.doubt_variable(&format!("{name}={}", value.shown()));
            }
        }
    }

    /// Once for a command is enough, wherever it is heeded.
    pub(super) fn doubt_variable(&mut self, text: &str) {
        if self.doubts.tell(text) {
            self.unknown(Gap::Doubt(Doubt::Environment), text);
        }
    }

    /// Directories that now come before those of the system.
    fn path_changed(&mut self) {
        let values: Choices = self.variable_texts("PATH");
        let keeps_own = self.doubts.keeps_own_path() && !self.state.path.iter().any(|place| **place == *LOST);
        let mut path = Vec::new();
        for value in &values {
            for directory in value.raw().split(':') {
                if directory.contains(super::text::is_mark) && !directory.starts_with('/') {
                    // The rest is the environment's own, or nothing that we could look into.
                    if directory != ANY.to_string() || !keeps_own {
                        path.push(Rc::from(LOST));
                    }
                    continue;
                }
                let directory = Text::known(if directory.is_empty() { "." } else { directory });
                for place in self.directories(&directory) {
                    if !programs::is_system_directory(&place) {
                        path.push(place);
                    }
                }
            }
        }
        self.state.path = path;
    }
}
