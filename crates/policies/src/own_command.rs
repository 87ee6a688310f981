//! Denies an agent those commands of toolgate that change something.
//!
//! Why: what an agent runs through its shell must not loosen the gate. `toolgate trust` is for a person, `toolgate
//! uninstall` removes the hook, `toolgate hook` writes into the log, and `toolgate dashboard` is a person's page. `toolgate workspace` and `toolgate mcp` read and
//! write files for whoever runs them, and the gate does not see these files.
//!
//! Settings: none. This is the floor; no file opens it. An agent that `reviewers` of `[team]` name may lock an author out
//! (`toolgate lockout add`), which only ever closes something.
//!
//! Sees through: paths to the program, wrappers, scripts, options before the sub-command; a command that another program is to type, to
//! schedule or to start in a window (`tmux set-buffer 'toolgate trust'`, `xdotool type …`, `busctl call …`).
//! Does not see: a copy of the program under another name. `toolgate trust` itself asks for a terminal.

use toolgate_model::{Decision, Facts, Finding, FindingKind, Policy, Run};

use crate::destructive::shown;
use crate::settings::Settings;
use crate::team::lists;

pub(crate) struct OwnCommand<'s> {
    /// Names and roles of those who may lock an author out.
    reviewers: &'s [String],
}

impl<'s> OwnCommand<'s> {
    pub(crate) fn of(settings: &'s Settings) -> OwnCommand<'s> {
        OwnCommand { reviewers: &settings.team.reviewers }
    }
}

/// Commands that only read, check or print.
const READING: &[&str] =
    &["check", "completions", "demo", "doctor", "explain", "man", "policies", "scan", "schema", "test"];

/// Options of changing commands with which they only say what they would do.
const SAYING: &[&str] = &["--help", "-h", "--version", "-V", "--dry-run", "--print", "--status"];

impl Policy for OwnCommand<'_> {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let reviews = lists(self.reviewers, &facts.team.member, None);
        let open = |run: &&Run| only_reads(run) || (reviews && adds_lockout(run));
        for run in facts.runs.iter().filter(|run| passes_on(&run.program)) {
            if let Some(command) = told_command(run) {
                findings.push(
                    Finding::new("own-command", Decision::Deny, FindingKind::Tampering)
                        .because(format!(
                            "{} has another program run `{command}`, which changes the gate that judges this session",
                            shown(run)
                        ))
                        .instead(
                            "have a person run it in a terminal; `toolgate check`, `explain` and `ledger tail` are open",
                        ),
                );
            }
        }
        for run in facts.runs.iter().filter(|run| is_ours(&run.program) && !open(run)) {
            let (why, instead) = if is_workspace(run) {
                (
                    "reads or writes files past the gate that judges this session",
                    "use the file tools; `toolgate workspace list` and `verify` are open",
                )
            } else if run.words.get(1).is_some_and(|word| word == "dashboard") {
                (
                    "shows all of the log in a browser, and only a person may see that",
                    "have a person run it in a terminal; `toolgate check`, `explain` and `ledger tail` are open",
                )
            } else {
                (
                    "changes the gate that judges this session",
                    "have a person run it in a terminal; `toolgate check`, `explain` and `ledger tail` are open",
                )
            };
            findings.push(
                Finding::new("own-command", Decision::Deny, FindingKind::Tampering)
                    .because(format!("{} {why}", shown(run)))
                    .instead(instead),
            );
        }
    }
}

/// Programs that type for a person, or have a server, a window or a schedule run what their words spell. What a spec reads as a
/// command is judged as that anyway.
fn passes_on(program: &str) -> bool {
    const PROGRAMS: &[&str] = &[
        "abduco",
        "alacritty",
        "at",
        "autoexpect",
        "batch",
        "busctl",
        "byobu",
        "code",
        "codium",
        "crontab",
        "cursor",
        "dbus-send",
        "dotool",
        "dotoolc",
        "dtach",
        "eitype",
        "emacsclient",
        "expect",
        "gdbus",
        "gnome-terminal",
        "gvim",
        "kdotool",
        "kitten",
        "kitty",
        "konsole",
        "machinectl",
        "nvim",
        "nvr",
        "osascript",
        "qdbus",
        "qdbus6",
        "screen",
        "script",
        "socat",
        "systemd-run",
        "tmux",
        "vim",
        "wezterm",
        "wtype",
        "wl-copy",
        "xclip",
        "xdotool",
        "xsel",
        "xte",
        "xterm",
        "xvkbd",
        "ydotool",
        "zellij",
    ];
    PROGRAMS.contains(&program)
}

/// The command of ours that changes something, where the words of a run spell one: in one word, or in several as keys are named.
fn told_command(run: &Run) -> Option<String> {
    /// Options whose value is a name that somebody gave: of a session, a window, a socket.
    const NAMING: &[&str] = &["-t", "-s", "-n", "-L", "-S", "-c", "-b"];
    const KEYS: &[&str] = &["space", "Space", "SPC", "enter", "Enter", "Return", "C-m", "KPEnter"];
    if !run.words.iter().any(|word| word.contains("toolgate")) {
        return None;
    }
    let is_value = |at: usize| {
        at.checked_sub(1).and_then(|at| run.words.get(at)).is_some_and(|word| NAMING.contains(&word.as_str()))
    };
    let words = run.words.iter().enumerate().skip(1).filter(|(at, _)| !is_value(*at)).map(|(_, word)| word);
    let ends =
        |letter: char| letter.is_whitespace() || letter.is_control() || "'\"`;|&(),:<>=\\".contains(letter);
    let tokens: Vec<&str> = words
        .flat_map(|word| word.split(ends))
        .filter(|token| !token.is_empty() && !KEYS.contains(token))
        .collect();
    let mut rest = tokens.as_slice();
    while let Some((first, later)) = rest.split_first() {
        let name = first.rsplit('/').next().unwrap_or(first);
        if is_ours(name) {
            let words = std::iter::once(name).chain(later.iter().copied()).map(str::to_owned).collect();
            let told = Run::of(words);
            let is_command = later.first().is_some_and(|word| CHANGING.contains(word));
            if is_command && !only_reads(&told) {
                let sub = later.first().copied().unwrap_or_default();
                return Some(format!("{name} {sub}"));
            }
        }
        rest = later;
    }
    None
}

/// Commands of ours that change something, some of them only with some of their words.
const CHANGING: &[&str] = &[
    "agent",
    "allow",
    "approve",
    "approver",
    "config",
    "dashboard",
    "exec",
    "hook",
    "init",
    "ledger",
    "lockout",
    "mcp",
    "pause",
    "phase",
    "prompt",
    "reject",
    "resume",
    "serve",
    "shell",
    "trust",
    "uninstall",
    "workspace",
];

fn is_ours(program: &str) -> bool {
    matches!(program, "toolgate" | "toolgate-cli" | "toolgate-hook" | "toolgate.exe")
}

/// Whether it hands out files.
fn is_workspace(run: &Run) -> bool {
    matches!(run.words.get(1).map(String::as_str), Some("workspace" | "mcp"))
}

fn adds_lockout(run: &Run) -> bool {
    let mut words = run.words.iter().skip(1).map(String::as_str);
    // Another state directory, or another team's, is not a reviewer's business.
    let plain = |word: &str| {
        !["--state", "--home", "--config", "--root"].iter().any(|option| word.starts_with(option))
    };
    (words.next(), words.next()) == (Some("lockout"), Some("add")) && words.all(plain)
}

fn only_reads(run: &Run) -> bool {
    let words: Vec<&str> = run.words.iter().skip(1).map(String::as_str).collect();
    // INVARIANT: the sub-command is the first word. A word before it could hide which one it is.
    match words.as_slice() {
        [] | ["--help" | "-h" | "--version" | "-V", ..] => run.program != "toolgate-hook",
        [command, ..] if READING.contains(command) => true,
        // With a session's marks it would answer guesses at what is behind a mark.
        ["scrub", rest @ ..] => {
            !rest.iter().any(|word| word.starts_with("--session") || word.starts_with("--state"))
        }
        // The others seal the log, take it elsewhere or shorten it.
        ["ledger", "tail" | "verify" | "counts" | "keys" | "check-proof", ..]
        | ["ledger", "--help" | "-h"]
        | ["ledger", _, "--help" | "-h"] => true,
        ["config", "show", ..] => true,
        ["lockout" | "agent" | "phase", "list" | "show", ..] | ["prompt", "audit", ..] => {
            !words.iter().any(|word| word.starts_with("--write"))
        }
        ["workspace", "list" | "verify", ..]
        | ["workspace" | "mcp", "--help" | "-h"]
        | ["workspace", _, "--help" | "-h"] => true,
        ["init" | "uninstall" | "trust", rest @ ..] => rest.iter().any(|word| SAYING.contains(word)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::tests::runs;
    use crate::tests::{facts, objections};
    use toolgate_model::{Member, Places, Team};

    #[test]
    fn a_reviewer_may_add_a_lockout_and_nothing_else() {
        let places = Places::default();
        let reviewers = ["Lead".to_owned()];
        let denied = |role: &str, command: &str| {
            let member = Member { name: "kane".into(), role: role.into(), ..Member::default() };
            let team = Team { member, ..Team::default() };
            let call = Facts { runs: runs(command), ..facts("Bash", &places, &team) };
            !objections(&OwnCommand { reviewers: &reviewers }, &call).is_empty()
        };
        assert!(!denied("lead", "toolgate lockout add src/a.rs ash"));
        assert!(denied("dev", "toolgate lockout add src/a.rs ash"));
        for command in [
            "toolgate lockout clear src/a.rs ash",
            "toolgate lockout add src/a.rs ash --state /tmp/x",
            "toolgate lockout add src/a.rs ash --root=/elsewhere",
            "toolgate --config x lockout add src/a.rs ash",
            "toolgate agent add kane --role coordinator",
            "toolgate lockout add src/a.rs ash && toolgate pause",
        ] {
            assert!(denied("lead", command), "{command}");
        }
    }

    #[test]
    fn a_command_that_is_typed_elsewhere_is_denied() {
        let places = Places::default();
        let team = Team::default();
        for (words, denied) in [
            (&["tmux", "set-buffer", "toolgate trust\n"][..], true),
            (
                &[
                    "tmux",
                    "send-keys",
                    "-t",
                    "0",
                    "toolgate",
                    "Space",
                    "approve",
                    "Space",
                    "7KQF-2MXD",
                    "Enter",
                ],
                true,
            ),
            (&["tmux", "send-keys", "-l", "'/usr/bin/toolgate' pause"], true),
            (&["screen", "-X", "stuff", "toolgate pause\n"], true),
            (&["xdotool", "type", "clear;toolgate uninstall --yes"], true),
            (&["busctl", "call", "org.x", "/x", "org.x", "Do", "as", "2", "toolgate", "trust"], true),
            (&["systemd-run", "--user", "toolgate-cli", "allow", "rule", "git-clean"], true),
            (&["emacsclient", "-e", "(shell-command \"toolgate trust\")"], true),
            (&["socat", "-", "EXEC:toolgate trust,pty"], true),
            (&["xterm", "-e", "toolgate", "trust"], true),
            (&["tmux", "send-keys", "toolgate check bash ls", "Enter"], false),
            (&["tmux", "send-keys", "toolgate ledger tail", "Enter"], false),
            (&["tmux", "send-keys", "cd ~/src/toolgate", "Enter"], false),
            (&["tmux", "send-keys", "-t", "toolgate", "init", "Enter"], false),
            (&["tmux", "new-session", "-s", "toolgate"], false),
            (&["code", "toolgate", "src"], false),
            (&["echo", "toolgate trust"], false),
        ] {
            let run = Run::of(words.iter().map(|word| (*word).to_owned()).collect());
            let call = Facts { runs: vec![run], ..facts("Bash", &places, &team) };
            assert_eq!(!objections(&OwnCommand { reviewers: &[] }, &call).is_empty(), denied, "{words:?}");
        }
    }

    #[test]
    fn only_our_reading_commands_count_as_reading() {
        for (command, open) in [
            ("toolgate", true),
            ("toolgate --version", true),
            ("/usr/local/bin/toolgate check bash ls", true),
            ("toolgate ledger tail --json", true),
            ("toolgate ledger verify", true),
            ("toolgate ledger seal", false),
            ("toolgate ledger seal --help", true),
            ("toolgate ledger prove 1 --to x", false),
            ("toolgate ledger export --cursor x", false),
            ("toolgate ledger prune --before 1d", false),
            ("toolgate ledger erase 1", false),
            ("toolgate ledger anchor --cosignature x", false),
            ("toolgate scan --staged", true),
            ("toolgate scrub --session x", false),
            ("toolgate trust", false),
            ("toolgate trust --status", true),
            ("toolgate init --print", true),
            ("toolgate init --yes", false),
            ("toolgate uninstall", false),
            ("toolgate hook claude-code", false),
            ("toolgate $x", false),
            ("toolgate --config x trust", false),
            ("toolgate-hook --version", false),
            ("toolgate scrub", true),
            ("toolgate config show --json", true),
            ("toolgate config", false),
            ("toolgate allow read /x --dry-run", false),
            ("toolgate allow rule git-clean", false),
            ("toolgate lockout list", true),
            ("toolgate lockout add a.rs kane", false),
            ("toolgate agent list", true),
            ("toolgate agent add kane", false),
            ("toolgate phase show", true),
            ("toolgate prompt audit x.md", true),
            ("toolgate workspace list --json", true),
            ("toolgate workspace verify r.json", true),
            ("toolgate workspace create --help", true),
            ("toolgate workspace -h", true),
            ("toolgate mcp --help", true),
            ("toolgate mcp --workspace w.toml", false),
            ("toolgate mcp", false),
            ("toolgate workspace", false),
            ("toolgate workspace read alpha secret.txt", false),
            ("toolgate workspace write alpha -- --help", false),
            ("toolgate workspace write --help secret.txt", false),
            ("toolgate workspace create alpha", false),
            ("toolgate workspace receipt alpha", false),
            ("toolgate workspace replay r.json", false),
            ("toolgate workspace cleanup alpha", false),
            ("toolgate workspace gc", false),
            ("toolgate workspace $x", false),
            ("toolgate --json workspace verify r.json", false),
            ("toolgate prompt audit x.md --write y.md", false),
        ] {
            let run = Run::of(command.split(' ').map(str::to_owned).collect());
            assert!(is_ours(&run.program), "{command}");
            assert_eq!(only_reads(&run), open, "{command}");
        }
    }
}
