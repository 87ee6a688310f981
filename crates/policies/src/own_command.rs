//! Denies an agent those commands of toolgate that change something.
//!
//! Why: what an agent runs through its shell must not loosen the gate. `toolgate trust` is a person's word, `toolgate
//! uninstall` takes the hook out, and `toolgate hook` writes into the log. `toolgate workspace` and `toolgate mcp` read and
//! write files for whoever runs them, where the gate sees no file at all.
//!
//! Settings: none. This is the floor; no file opens it. An agent that `reviewers` of `[team]` name may lock an author out
//! (`toolgate lockout add`), which only ever closes something.
//!
//! Sees through: paths to the program, wrappers, scripts, options before the sub-command.
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
        for run in facts.runs.iter().filter(|run| is_ours(&run.program) && !open(run)) {
            let (why, instead) = if is_workspace(run) {
                (
                    "reads or writes files past the gate that judges this session",
                    "use the file tools; `toolgate workspace list` and `verify` are open",
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
