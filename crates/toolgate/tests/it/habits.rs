//! The habits of the command line, for every command alike: what colours, what a closed pipe does, which exit codes there are, and what help
//! lists.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use serde_json::json;

use crate::docs::read;
use crate::support::terminal::at_terminal;
use crate::support::{Answer, Hook, Machine};

/// A machine on which something has happened, and every command has something to say.
pub(crate) struct World {
    pub(crate) machine: Machine,
    pub(crate) top: std::path::PathBuf,
}

impl World {
    pub(crate) fn new() -> World {
        let machine = Machine::new();
        let main = machine.repository("main");
        let top = machine.worktree(&main, "top");
        let world = World { machine, top };
        let session = world.machine.session("first", &world.top);
        for (id, command) in
            [("toolu_1", "git status"), ("toolu_2", "git reset --hard"), ("toolu_3", "cat README.md")]
        {
            let more =
                json!({ "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": id });
            session.event("PreToolUse", &more);
        }
        let call = json!({ "type": "tool_use", "id": "toolu_2", "name": "Bash", "input": { "command": "git reset --hard" } });
        let message = json!({ "role": "assistant", "content": [call] });
        let time = humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string();
        let line = json!({ "type": "assistant", "sessionId": "first", "cwd": world.top, "timestamp": time, "message": message });
        world.machine.file("home/.claude/projects/-p/first.jsonl", format!("{line}\n"));
        world.machine.file("top/prompt.md", "Never run `git reset --hard`.\n");
        world.machine.file(
            "top/cases.toml",
            "[[case]]\nid = \"a\"\ntool = \"Read\"\ninput = { file_path = \"a.md\" }\ncontext = {}\nexpect = \"allow\"\n",
        );
        world.machine.file("top/toolgate.toml", "[rules]\ngit-stash-drop = \"ask\"\n");
        for words in [
            "init --yes --host claude-code",
            "ledger seal",
            "agent add ripley --role backend",
            "lockout add README.md --agent ripley --by dallas --reason untested",
            "workspace create agent-5 --base BASE --output out/",
        ] {
            let done = world.run(words);
            assert_eq!(done.code(), Some(0), "{words}: {done:?}");
        }
        world
    }

    /// `toolgate` with these words, in the worktree.
    pub(crate) fn toolgate(&self, words: &str) -> Hook {
        let base = self.machine.path("base").display().to_string();
        let words = words.replace("BASE", &base);
        self.machine.toolgate().args(words.split(' ')).cwd(&self.top)
    }

    pub(crate) fn run(&self, words: &str) -> Answer {
        self.toolgate(words).run("")
    }
}

/// Commands that print, each with words that have it print; and how it ends.
const PRINTING: &[(&str, i32)] = &[
    ("check ls", 0),
    ("check --effects ls", 0),
    ("check --json ls", 0),
    ("policies", 0),
    ("policies --rules", 0),
    ("policies --json", 0),
    ("explain outside-scope", 0),
    ("replay", 0),
    ("replay --json", 0),
    ("suggest", 0),
    ("reconcile", 0),
    ("ledger tail", 0),
    ("ledger tail --json", 0),
    ("ledger verify", 0),
    ("ledger verify --json", 0),
    ("ledger counts", 0),
    ("ledger seal", 0),
    ("ledger keys", 0),
    ("ledger export --format ocsf", 0),
    ("report --no-transcripts", 0),
    ("report --no-transcripts --format markdown", 0),
    ("report --no-transcripts --format html", 0),
    ("report --no-transcripts --format json", 0),
    ("why 2", 0),
    ("why 2 --json", 0),
    ("scan prompt.md --json", 0),
    ("scan prompt.md --format sarif", 0),
    ("prompt audit prompt.md", 0),
    ("pending", 0),
    ("pending --json", 0),
    ("approver list", 0),
    ("trust --status", 1),
    ("config show --all", 0),
    ("agent list", 0),
    ("lockout list", 0),
    ("phase show", 0),
    ("workspace list --base BASE", 0),
    ("workspace snapshot agent-5 --base BASE", 0),
    ("workspace key", 0),
    ("init --dry-run --host codex", 0),
    ("init --print", 0),
    ("doctor --host claude-code", 0),
    ("test cases.toml", 0),
    ("schema", 0),
    ("completions bash", 0),
    ("man", 0),
    ("--help", 0),
    ("check --help", 0),
    ("--version", 0),
];

/// A pipe whose reader has gone.
fn closed() -> OwnedFd {
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    drop(reader);
    writer
}

#[test]
fn no_command_complains_about_a_closed_pipe() {
    let world = World::new();
    for (words, code) in PRINTING {
        let whole = world.run(words);
        assert_eq!(whole.code(), Some(*code), "{words}: {whole:?}");
        assert!(!whole.stdout.is_empty(), "{words} prints nothing");
        let mut command = world.toolgate(words).command();
        let output = command.stdin(Stdio::null()).stdout(closed()).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let complaint = said.lines().find(|line| line.contains("toolgate") || line.contains("panicked"));
        assert_eq!(complaint, None, "{words}: {said}");
        // As a program that the signal has ended; clap's own pages end well.
        assert!(matches!(output.status.code(), Some(141 | 0)), "{words}: {:?}", output.status);
    }
}

#[test]
fn colours_come_where_they_are_wanted_and_nowhere_else() {
    let world = World::new();
    for words in [
        "policies",
        "ledger tail",
        "why 2",
        "report --no-transcripts",
        "config show",
        "doctor --host claude-code",
        "check ls",
    ] {
        let is_coloured = |answer: &Answer| answer.stdout.contains("\u{1b}[");
        let piped = world.run(words);
        assert!(!is_coloured(&piped), "{words} into a pipe");
        assert!(is_coloured(&world.run(&format!("{words} --color always"))), "{words} --color always");
        assert!(
            is_coloured(&world.toolgate(&format!("--color always {words}")).env("NO_COLOR", "1").run("")),
            "{words}: the option wins"
        );
        let shown = |hook: Hook| at_terminal(&hook, "");
        assert!(is_coloured(&shown(world.toolgate(words).env("TERM", "xterm"))), "{words} on a terminal");
        for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            let plain = shown(world.toolgate(words).env("TERM", "xterm").env(name, value));
            assert!(!is_coloured(&plain), "{words} with {name}={value}: {plain:?}");
        }
        let never = shown(world.toolgate(&format!("{words} --color never")).env("TERM", "xterm"));
        assert!(!is_coloured(&never), "{words} --color never");
        // An empty variable is none: https://no-color.org.
        assert!(
            is_coloured(&shown(world.toolgate(words).env("TERM", "xterm").env("NO_COLOR", ""))),
            "{words}"
        );
    }
}

/// What each exit code means is in `docs/json.md`; here is a way to each of them, for every command that can end so.
const ENDS: &[(&str, i32)] = &[
    ("check ls", 0),
    ("check --json ls", 0),
    ("check read /etc/shadow", 2),
    ("check write ../main/x", 2),
    ("check bash git\u{a0}reset\u{a0}--hard", 2),
    ("check --host nobody ls", 1),
    ("check", 1),
    ("why 2", 0),
    ("why 4711", 1),
    ("explain nothing", 1),
    ("ledger verify", 0),
    ("ledger verify --key nonsense", 2),
    ("ledger check-proof nothing --key nonsense", 2),
    ("ledger prove 4711", 1),
    ("ledger prune --before 2020-01-01", 1),
    ("reconcile", 0),
    ("reconcile --host nobody", 1),
    ("replay --against nothing", 1),
    ("scan prompt.md", 0),
    ("scan nothing-there", 2),
    ("report --since nonsense", 1),
    ("approve ABCD-EFGH", 1),
    ("reject ABCD-EFGH no", 1),
    ("allow rule nothing", 1),
    ("approver remove nobody", 1),
    ("trust --status", 1),
    ("pause --no-hooks", 1),
    ("phase set team-mode", 1),
    ("agent remove nobody", 1),
    ("lockout clear nothing", 1),
    ("watch", 1),
    ("dashboard --idle nonsense", 64),
    ("workspace read agent-5 README.md --base BASE", 2),
    ("workspace read nobody README.md --base BASE", 1),
    ("doctor --host codex", 1),
    ("test nothing.toml", 1),
    ("prompt audit nothing.md", 1),
    ("serve nothing", 1),
    ("hook nothing", 2),
];

#[test]
fn exit_codes_do_not_overlap() {
    let world = World::new();
    world.machine.file("home/.config/toolgate/toolgate.toml", "[rules]\ngit-clean = \"ask\"\n");
    for (words, code) in ENDS {
        let answer = if words.contains('\u{a0}') {
            let words: Vec<String> = words.split(' ').map(|word| word.replace('\u{a0}', " ")).collect();
            world.machine.toolgate().args(words).cwd(&world.top).run("")
        } else {
            world.run(words)
        };
        assert_eq!(answer.code(), Some(*code), "{words}: {answer:?}");
        if *code == 1 && !words.starts_with("trust") && !words.starts_with("doctor") {
            assert!(answer.stderr.starts_with("toolgate: "), "{words}: {answer:?}");
        }
    }
    let asked = world.machine.toolgate().args(["check", "git clean -fdx"]).cwd(&world.top).run("");
    assert_eq!(asked.code(), Some(3), "{asked:?}");
    let found = world.machine.file("top/secret.env", format!("TOKEN={}\n", crate::support::SECRET));
    assert_eq!(world.machine.toolgate().arg("scan").arg(&found).run("").code(), Some(1));
}

/// The command lines of all commands: what `docs/commands.md` has a heading for.
fn commands() -> Vec<String> {
    let page = read("docs/commands.md");
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let headings = headings.filter_map(|line| line.trim_start_matches('#').trim().strip_prefix("toolgate "));
    headings.map(str::to_owned).collect()
}

#[test]
fn a_wrong_command_line_ends_with_a_code_of_its_own() {
    let world = World::new();
    let commands = commands();
    assert!(commands.len() > 50, "{commands:?}");
    for command in commands {
        let answer = world.run(&format!("{command} --no-such-option"));
        let wanted = match command.split(' ').next() {
            // A host takes this one, and no other, for a denial.
            Some("hook") => 2,
            _ => 64,
        };
        assert_eq!(answer.code(), Some(wanted), "{command}: {answer:?}");
        assert_eq!(answer.stdout, "", "{command}");
    }
}

#[test]
fn help_lists_what_a_command_takes_and_nothing_else() {
    let world = World::new();
    for command in commands() {
        let help = world.run(&format!("{command} --help"));
        assert_eq!((help.code(), help.stderr.as_str()), (Some(0), ""), "{command}");
        let listed: BTreeSet<&str> = help
            .stdout
            .lines()
            .filter_map(|line| {
                line.trim_start()
                    .strip_prefix("--")
                    .or_else(|| line.trim_start().get(4..)?.strip_prefix("--"))
            })
            .filter_map(|rest| rest.split([' ', '=', '[', '<', '\n']).next())
            .collect();
        assert!(listed.contains("help"), "{command}: {listed:?}");
        // What is listed is taken. The second option keeps the command from doing anything.
        for option in &listed {
            let answer = world.run(&format!("{command} --{option} --no-such-option"));
            let is_refused = answer.stderr.contains(&format!("unexpected argument '--{option}'"));
            assert!(!is_refused, "{command} --{option}: {answer:?}");
        }
        let takes = listed.contains("color");
        let coloured = world.run(&format!("{command} --color sometimes"));
        let is_known = coloured.stderr.contains("possible values");
        assert_eq!(takes, is_known, "{command}: {coloured:?}");
    }
}

#[test]
fn help_fits_the_terminal() {
    let world = World::new();
    let help = |columns: &str| world.toolgate("check --help").env("COLUMNS", columns).run("").stdout;
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or_default();
    assert!(widest(&help("60")) <= 100, "{}", help("60"));
    let text = fs::read_to_string(crate::docs::repository().join("docs/commands.md")).unwrap();
    assert!(!text.contains("`--color WHEN`"), "it is said once, above all commands");
}
