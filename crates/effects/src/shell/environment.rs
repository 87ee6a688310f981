//! Variables that make programs do more than they say: run a pager, load a library, work on another repository.

use std::rc::Rc;

use toolgate_model::{Access, Gap, Reach};

use super::state::Variable;
use super::text::{ANY, Choices, Text};
use super::{Interpreter, programs};
use crate::spec::Language;

/// What a variable's value is to the programs that see it.
enum Meaning {
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
    /// A file that is written.
    Writes,
}

fn meaning(name: &str) -> Option<Meaning> {
    Some(match name {
        "GIT_SSH_COMMAND"
        | "GIT_EXTERNAL_DIFF"
        | "GIT_PAGER"
        | "GIT_EDITOR"
        | "GIT_SEQUENCE_EDITOR"
        | "GIT_ASKPASS"
        | "GIT_PROXY_COMMAND"
        | "GIT_SSH"
        | "PAGER"
        | "MANPAGER"
        | "EDITOR"
        | "VISUAL"
        | "FCEDIT"
        | "BROWSER"
        | "LESSOPEN"
        | "LESSCLOSE"
        | "PROMPT_COMMAND"
        | "SSH_ASKPASS"
        | "SUDO_ASKPASS"
        | "RSYNC_RSH"
        | "CVS_RSH"
        | "MAKEFLAGS_SHELL"
        | "PS4"
        | "PS1"
        | "PS0"
        | "DEBUGINFOD_PROGRESS" => Meaning::Shell,
        "PERL5DB" => Meaning::Code(Language::Perl),
        "BASH_ENV" | "ENV" | "PYTHONSTARTUP" | "ZDOTDIR" | "INPUTRC" => Meaning::Script,
        "LD_PRELOAD"
        | "LD_LIBRARY_PATH"
        | "LD_AUDIT"
        | "DYLD_INSERT_LIBRARIES"
        | "NODE_OPTIONS"
        | "RUBYOPT"
        | "RUBYLIB"
        | "PERL5OPT"
        | "PERL5LIB"
        | "PYTHONHOME"
        | "JAVA_TOOL_OPTIONS"
        | "_JAVA_OPTIONS"
        | "GCONV_PATH"
        | "GIT_EXEC_PATH"
        | "GIT_TEMPLATE_DIR"
        | "RUSTC_WRAPPER"
        | "RUSTC_WORKSPACE_WRAPPER"
        | "RUSTC"
        | "CARGO_BUILD_RUSTC_WRAPPER"
        | "GOFLAGS"
        | "OPENSSL_CONF"
        | "PYTHONINSPECT"
        | "TAR_OPTIONS"
        | "GROFF_BIN_PATH"
        | "GREP_OPTIONS"
        | "RSYNC_CONNECT_PROG"
        | "MAKEFILES"
        | "CC_WRAPPER"
        | "PERL_MB_OPT"
        | "BASH_LOADABLES_PATH"
        | "PYTHONBREAKPOINT" => Meaning::Runs,
        "GIT_DIR"
        | "GIT_WORK_TREE"
        | "GIT_INDEX_FILE"
        | "GIT_OBJECT_DIRECTORY"
        | "GIT_COMMON_DIR"
        | "GIT_ALTERNATE_OBJECT_DIRECTORIES" => Meaning::Repository,
        "HISTFILE"
        | "GIT_TRACE"
        | "GIT_TRACE2"
        | "GIT_TRACE2_EVENT"
        | "GIT_TRACE_SETUP"
        | "BASH_XTRACEFD"
        | "NODE_V8_COVERAGE"
        | "PYTHONPYCACHEPREFIX"
        | "CARGO_TARGET_DIR"
        | "GOCACHE"
        | "GOMODCACHE"
        | "LLVM_PROFILE_FILE"
        | "npm_config_cache"
        | "PIP_TARGET"
        | "GOBIN"
        | "GOPATH"
        | "CARGO_HOME"
        | "RUSTUP_HOME" => Meaning::Writes,
        _ => return None,
    })
}

impl Interpreter<'_, '_> {
    /// Passes a variable on to programs.
    pub(super) fn export(&mut self, name: &str) {
        if !self.state.exported.iter().any(|known| **known == *name) {
            self.state.exported.push(Rc::from(name));
            self.environment_changed(name);
        }
    }

    /// `env A=1 command`
    pub(super) fn assign_environment(&mut self, text: &Text) {
        let Some((name, value)) = text.raw().split_once('=') else { return };
        if name.contains(super::text::is_mark) {
            return;
        }
        self.state.set(name, Variable::Scalar(vec![Text::marked(value.to_owned())]));
        self.export(name);
    }

    /// A variable has a new value, which may act at once.
    pub(super) fn environment_changed(&mut self, name: &str) {
        if name == "PATH" {
            self.path_changed();
            return;
        }
        let Some(meaning) = meaning(name) else { return };
        // Prompts and hooks of the shell need not be exported; all others act on programs only.
        let own = matches!(name, "PROMPT_COMMAND" | "PS0" | "PS1" | "PS4" | "BASH_ENV" | "ENV" | "HISTFILE");
        if !own && !self.state.exported.iter().any(|known| **known == *name) {
            return;
        }
        for value in self.variable_texts(name) {
            self.environment_value(name, &meaning, &value);
        }
    }

    fn environment_value(&mut self, name: &str, meaning: &Meaning, value: &Text) {
        if value.is_empty() || matches!(value.raw(), "cat" | "less" | "true" | "false" | "0" | "1" | "2") {
            return;
        }
        match meaning {
            Meaning::Shell if name.starts_with("PS") => self.expand_again(value.raw()),
            Meaning::Shell => {
                self.forked(|shell| shell.text(value, name));
            }
            Meaning::Code(language) => self.inline(name, *language, value),
            Meaning::Script => {
                self.forked(|shell| shell.run_script(value, &[]));
            }
            Meaning::Runs => {
                let harmless = name == "NODE_OPTIONS" && !value.raw().contains(['/', 'r'])
                    || value.raw().starts_with("--max");
                if !harmless {
                    self.unknown(Gap::Code, &format!("{name}={}", value.shown()));
                    self.guess_paths(std::slice::from_ref(value));
                }
            }
            Meaning::Repository => self.touch(Access::Write, Reach::Below, value),
            Meaning::Writes => {
                if value.raw().contains('/') {
                    self.touch(Access::Write, Reach::Below, value);
                }
            }
        }
    }

    /// Directories that now come before those of the system.
    fn path_changed(&mut self) {
        let values: Choices = self.variable_texts("PATH");
        let mut path = Vec::new();
        for value in &values {
            for directory in value.raw().split(':') {
                if directory.contains(super::text::is_mark) && !directory.starts_with('/') {
                    // The rest is the environment's own, or nothing that we could look into.
                    if directory != ANY.to_string() {
                        path.push(Rc::from(directory));
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
