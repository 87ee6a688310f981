//! Programs by what they are to a person: hosts of agents, programs that make terminals for other programs, and multiplexers.

use std::path::Path;

/// Programs that run agents, by the name of their file or the one that they give themselves.
const HOSTS: &[&str] = &[
    "claude",
    "claude-code",
    "claude-mpm",
    "codex",
    "copilot",
    "cursor",
    "cursor-agent",
    "gemini",
    "opencode",
    "pi",
    "qwen",
];

/// Packages of such programs, where an interpreter runs them: a part of the path of its first script.
const PACKAGES: &[&str] = &[
    "@anthropic-ai",
    "@github/copilot",
    "@google/gemini-cli",
    "@openai/codex",
    "@qwen-code",
    "claude-code",
    "claude_mpm",
    "opencode-ai",
    "pi-coding-agent",
];

/// Variables that hosts set for what their agents run.
const MARKS: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_PROJECT_DIR",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "COPILOT_CLI",
    "CURSOR_AGENT",
    "CURSOR_TRACE_ID",
    "GEMINI_CLI",
    "OPENCODE",
    "PI_CODING_AGENT",
    "QWEN_CODE",
    "TOOLGATE_CONTAINED",
];

/// Programs that make a terminal and can be told what to type into it: interpreters, recorders, editors.
const SCRIPTED: &[&str] = &[
    "abduco",
    "asciinema",
    "ash",
    "bash",
    "bun",
    "busybox",
    "code",
    "code-insiders",
    "codium",
    "cursor",
    "dash",
    "deno",
    "dotnet",
    "dtach",
    "electron",
    "emacs",
    "empty",
    "expect",
    "fish",
    "gdb",
    "gotty",
    "java",
    "ksh",
    "lua",
    "luajit",
    "mksh",
    "node",
    "nodejs",
    "nvim",
    "perl",
    "php",
    "pypy",
    "python",
    "ruby",
    "script",
    "sh",
    "socat",
    "sshpass",
    "tclsh",
    "ttyd",
    "ttyrec",
    "unbuffer",
    "vi",
    "vim",
    "windsurf",
    "wish",
    "zsh",
];

/// Programs whose terminals live on when nobody looks.
const MULTIPLEXERS: &[&str] = &["screen", "tmux", "zellij"];

/// Whether a process is a host of agents.
pub(super) fn is_host(name: &str, program: Option<&Path>, words: &[String]) -> bool {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let program = program.and_then(|program| program.to_str());
    let started_as = words.first().map(String::as_str);
    let names = [Some(name), program, started_as].into_iter().flatten().map(last);
    let script = words.iter().skip(1).find(|word| !word.starts_with('-'));
    let is_package = |path: &&str| PACKAGES.iter().any(|package| has_parts(path, package));
    names.into_iter().any(|name| HOSTS.contains(&name.as_str()))
        || [program, script.map(String::as_str)].into_iter().flatten().any(|path| is_package(&path))
        || script.is_some_and(|script| runs_scripts(program) && HOSTS.contains(&last(script).as_str()))
}

/// Whether these parts stand in a path, one after the other.
fn has_parts(path: &str, parts: &str) -> bool {
    format!("/{path}/").contains(&format!("/{parts}/"))
}

/// Whether a program runs the file that it is given.
fn runs_scripts(program: Option<&str>) -> bool {
    program.and_then(|program| program.rsplit('/').next()).is_some_and(is_scripted)
}

/// Whether a variable is one that a host sets for what its agents run.
pub(super) fn is_mark(name: &str) -> bool {
    MARKS.contains(&name)
}

/// Whether a program makes terminals that another program types into. A version in its name changes nothing: `python3.12`.
pub(super) fn is_scripted(name: &str) -> bool {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    SCRIPTED.contains(&name) || SCRIPTED.contains(&plain) || name.starts_with("emacs")
}

/// Whether a program keeps terminals that nobody need look at.
pub(super) fn is_multiplexer(name: &str) -> bool {
    MULTIPLEXERS.iter().any(|multiplexer| name.to_ascii_lowercase().starts_with(multiplexer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_known_by_their_names_and_their_packages() {
        let is = |name: &str, program: &str, words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            is_host(name, Some(Path::new(program)), &words)
        };
        assert!(is("claude", "/usr/bin/node", &["claude"]));
        assert!(is(
            "node",
            "/usr/bin/node",
            &["node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"]
        ));
        assert!(is("MainThread", "/usr/bin/node", &["node", "--no-warnings", "/usr/local/bin/gemini"]));
        assert!(is("x", "/home/u/.local/share/claude-code/versions/2/x", &["x"]));
        assert!(is("codex", "/usr/bin/codex", &["codex"]));
        assert!(!is("bash", "/usr/bin/bash", &["bash", "/home/u/claude/notes.sh"]));
        assert!(!is("less", "/usr/bin/less", &["less", "/home/u/codex"]));
        assert!(!is("vim", "/usr/bin/vim", &["vim", "claude-notes.md"]));
    }

    #[test]
    fn lists_are_sorted_and_versions_change_nothing() {
        for list in [HOSTS, PACKAGES, MARKS, SCRIPTED, MULTIPLEXERS] {
            assert!(list.is_sorted(), "{list:?}");
        }
        for name in ["python3.12", "python3", "perl5.36.0", "emacs-gtk", "node"] {
            assert!(is_scripted(name), "{name}");
        }
        for name in ["gnome-terminal-server", "kitty", "alacritty", "foot", "konsole", "sshd", "xterm"] {
            assert!(!is_scripted(name) && !is_multiplexer(name), "{name}");
        }
        assert!(is_multiplexer("tmux") && is_multiplexer("SCREEN"));
    }
}
