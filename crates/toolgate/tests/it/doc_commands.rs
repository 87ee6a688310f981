//! The commands in the documents do what the documents say. Every `sh` and `console` block of the README and the manuals is
//! run, command by command, in a scratch home with a repository and a linked worktree. A new block is run too, unless its
//! commands are in [`NOT_RUN`] with a reason.
//!
//! What is held against the document:
//!
//! - a `console` block shows what its commands print. `…` stands for any text; the time of a record and the last digits of a
//!   mark may differ;
//! - a command of an `sh` block succeeds, unless the comment behind it says otherwise: `denied`, `refused`, the name of an
//!   error, `exit code N`, `ends with N`;
//! - `in a terminal` in the comment: the command gets a terminal, where somebody types `yes`.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::docs::{read, repository};
use crate::support::terminal::{IN_SESSION, Terminal};
use crate::support::{Answer, Machine, git, have, write};

/// The commands of a block take no longer together.
const LONGEST_BLOCK: Duration = Duration::from_mins(1);

/// Commands that are not run, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("cargo run --release -- demo", "builds a release; `.ci/run` runs the demo of the installed program"),
    ("cargo test --workspace", "would start this test again"),
    ("scripts/install", "builds a release; `.ci/run` runs it"),
    ("toolgate doctor --live", "starts the real agents; `e2e/run` does too"),
    ("sudo install ~/.local/bin/toolgate ~/.local/bin/toolgate-cli /usr/local/bin", "needs root"),
    (
        "sudo /usr/local/bin/toolgate init --managed --host claude-code --host codex --host copilot",
        "needs root, and changes the machine",
    ),
    ("toolgate dashboard", "stays until somebody ends it; `dashboard::` asks it"),
    ("toolgate dashboard --open", "the same, and opens a browser"),
    ("toolgate watch", "stays until somebody quits; `watch::` types into it"),
    ("e2e/run", "installs the real agents; `.ci/run` runs it"),
];

/// What has to be there before a block can be run: its page, its first command, what is typed before it.
const BEFORE: &[(&str, &str, &str)] = &[
    (
        "docs/containment.md",
        r#"toolgate exec -- sh -c 'echo new > new.txt && git add new.txt && git commit -q -m "Made inside"'"#,
        "export GIT_AUTHOR_NAME=dev GIT_AUTHOR_EMAIL=dev@example.com GIT_COMMITTER_NAME=dev GIT_COMMITTER_EMAIL=dev@example.com",
    ),
    (
        "docs/teams.md",
        "toolgate check --profile squad 'sed -i s/one/two/ src/auth.ts'",
        r"printf '## Members\n\n| Name | Role |\n|---|---|\n| Ripley | Backend Dev |\n| Dallas | Reviewer |\n' > .squad/team.md
        toolgate pause --end
        toolgate lockout add src/auth.ts --agent ripley --by dallas --reason 'no tests'",
    ),
    ("docs/workspace.md", "toolgate check 'cat notes.txt > out/copy.txt'", "cd ~/w"),
    (
        "docs/record.md",
        "toolgate ledger tail -n 2",
        r#"rm -r ~/.local/state/toolgate
        call() { printf '{"session_id":"s","cwd":"%s","hook_event_name":"PreToolUse","tool_name":"%s","tool_input":{"file_path":"%s","content":"x","old_string":"a","new_string":"b"}}' "$PWD" "$1" "$2" | toolgate hook claude-code; }
        call Read ~/worktrees/alpha/README.md; call Write ~/src/app/a2; call Write ~/src/app/a3; call Edit ~/worktrees/alpha/src/main.rs"#,
    ),
    (
        "docs/record.md",
        "toolgate why 1",
        r#"rm -r ~/.local/state/toolgate
        printf '{"session_id":"s","cwd":"%s","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"%s","content":"x"}}' "$PWD" ~/src/app/a2 | toolgate hook claude-code"#,
    ),
    (
        "docs/record.md",
        "cd ~/.local/state/toolgate/tlog",
        r#"rm -r ~/.local/state/toolgate
        printf '{"session_id":"s","cwd":"%s","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"/etc/hostname"}}' "$PWD" | toolgate hook claude-code
        toolgate ledger seal"#,
    ),
    (
        "README.md",
        "cd ~/.local/state/toolgate/tlog",
        r#"rm -rf ~/.local/state/toolgate
        printf '{"session_id":"s","cwd":"%s","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"/etc/hostname"}}' "$PWD" | toolgate hook claude-code
        toolgate ledger seal"#,
    ),
    (
        "docs/workspace.md",
        "cd /tmp/kgc-workspaces/agent-5",
        "toolgate workspace create agent-5 --output out/; echo fig | toolgate workspace write agent-5 out/sorted.txt",
    ),
];

/// Programs that some commands need and not every machine has.
const PROGRAMS: &[(&str, &str)] = &[("jq", "--version"), ("openssl", "version")];

/// One command of a document.
struct Step {
    command: String,
    /// The comment behind it.
    comment: String,
    /// What the document shows as its output.
    shown: Option<String>,
}

/// A block of commands.
struct Block {
    page: String,
    line: usize,
    steps: Vec<Step>,
}

/// Whether bash takes this for whole commands.
fn is_whole(text: &str) -> bool {
    let bash = Command::new("bash").args(["-n", "-c", text]).stderr(Stdio::null()).status();
    bash.expect("these tests need bash").success() && !text.trim_end().ends_with(['|', '\\'])
}

/// The command without the comment behind it, and the comment.
fn apart(line: &str) -> (&str, &str) {
    match line.find(" # ").map(|at| line.split_at(at)) {
        Some((command, comment)) => (command.trim_end(), comment.trim_start_matches([' ', '#'])),
        None => (line.trim_end(), ""),
    }
}

fn steps(text: &str, console: bool) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut open = String::new();
    for line in text.lines() {
        let typed = match (console, open.is_empty()) {
            (false, _) => Some(line),
            (true, true) => line.strip_prefix("$ "),
            (true, false) => line.strip_prefix("> ").or(Some(line)),
        };
        let Some(typed) = typed else {
            let step = steps.last_mut().expect("a command comes before its output");
            writeln!(step.shown.get_or_insert_default(), "{line}").unwrap();
            continue;
        };
        open.push_str(typed);
        if is_whole(&open) {
            let (command, comment) = apart(&open);
            let shown = console.then(String::new);
            steps.push(Step { command: command.to_owned(), comment: comment.to_owned(), shown });
            open.clear();
        } else {
            open.push('\n');
        }
    }
    assert!(open.is_empty(), "not a whole command: {open}");
    steps
}

/// All blocks of commands of a page.
fn blocks(page: &str) -> Vec<Block> {
    let text = read(page);
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else {
            assert!(!line.contains("```"), "{page}:{}: a block that this test does not see", number + 1);
            continue;
        };
        let others = ["bash", "shell", "zsh"].iter().any(|other| kind.starts_with(other));
        assert!(!others, "{page}:{}: commands are in blocks of `sh` or `console`", number + 1);
        let inside: Vec<_> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        if matches!(kind, "sh" | "console") {
            let steps = steps(&inside.join("\n"), kind == "console");
            blocks.push(Block { page: page.to_owned(), line: number + 1, steps });
        }
    }
    blocks
}

/// A person's machine: a repository in `~/src/app`, its worktree `~/worktrees/alpha` with what the documents speak of, and
/// `~/w` with the settings for declared I/O that the manual of workspaces shows.
struct Scene {
    machine: Machine,
    worktree: PathBuf,
}

impl Scene {
    fn new() -> Scene {
        let machine = Machine::new();
        let home = machine.home();
        let main = machine.repository("home/src/app");
        for (path, text) in [
            ("src/auth.ts", "one\n"),
            ("src/main.rs", "a\n"),
            ("docs/a.txt", "a\n"),
            ("Makefile", "test:\n\t@true\ndeploy:\n\t@echo deployed\n"),
        ] {
            write(&main.join(path), text);
        }
        for path in ["examples/squad-coordinator.md", "cases/policies/reviewer-lockout.toml"] {
            write(&main.join(path), read(path));
        }
        git(&main, ["add", "-A"]);
        git(&main, ["commit", "-q", "-m", "work"]);
        fs::create_dir(home.join("worktrees")).unwrap();
        let worktree = machine.worktree(&main, "home/worktrees/alpha");
        symlink(&main, worktree.join("notes")).unwrap();
        write(&worktree.join(".env"), format!("TOKEN={}\n", crate::support::SECRET));
        write(&worktree.join("coordinator.md"), read("examples/squad-coordinator.md"));
        let declared = machine.repository("home/w");
        let manual = read("docs/workspace.md");
        let settings =
            manual.split("```toml\n").find(|block| block.contains("profile = \"declared-io\"")).unwrap();
        write(&declared.join("toolgate.toml"), settings.split("```").next().unwrap());
        write(&declared.join("data.txt"), "pear\n");
        write(&declared.join("notes.txt"), "note\n");
        // The person has used Claude Code.
        fs::create_dir(home.join(".claude")).unwrap();
        // Workspaces are made in a directory that all programs of the machine share: here it is one of the scene's own.
        let program = home.join(".local/bin/toolgate");
        let (real, base) = (env!("CARGO_BIN_EXE_toolgate"), home.join("workspaces"));
        write(
            &program,
            format!(
                "#!/bin/sh\nif [ \"$1\" = workspace ]; then\n  command=$2\n  shift 2\n  \
                 exec '{real}' workspace \"$command\" --base '{}' \"$@\"\nfi\nexec '{real}' \"$@\"\n",
                base.display()
            ),
        );
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Scene { machine, worktree }
    }

    /// Runs the commands of a block in one shell, and gives back the exit code and the output of each.
    fn run(&self, block: &Block) -> Vec<(String, String)> {
        // What a person does has the terminal to read from and to write to; everything else has neither.
        let mut script = String::from("exec 2>&1 3<&0 </dev/null\n");
        let of_block = |before: &&(&str, &str, &str)| {
            before.0 == block.page && block.steps.first().is_some_and(|step| step.command == before.1)
        };
        if let Some((_, _, before)) = BEFORE.iter().find(of_block) {
            writeln!(script, "{before}\nprintf '\\001%s\\n' 0").unwrap();
        } else {
            script.push_str("printf '\\001%s\\n' 0\n");
        }
        for step in &block.steps {
            let base = self.machine.home().join("workspaces");
            let command = step.command.replace("/tmp/kgc-workspaces", base.to_str().unwrap());
            if step.comment.contains("in a terminal") {
                writeln!(script, "{{ {command}\n}} <&3 >&3 2>&3").unwrap();
            } else {
                writeln!(script, "{command}").unwrap();
            }
            script.push_str("printf '\\001%s\\n' \"$?\"\n");
        }
        let path = format!("{}:/usr/bin:/bin", self.machine.home().join(".local/bin").display());
        let shell = self.machine.toolgate().env("PATH", path).cwd(&self.worktree);
        let terminal = Terminal::new().unwrap();
        let shell = shell.env("GIT_CONFIG_GLOBAL", "/dev/null").instead(&["bash", "-c", &script]);
        let mut shell = shell.under(&IN_SESSION).command();
        let started = Instant::now();
        let child = shell
            .stdin(terminal.side().unwrap())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _shown = terminal.typing(&"yes\n".repeat(block.steps.len())).unwrap();
        let answer = Answer::within(LONGEST_BLOCK, child, started);
        let said = answer.stdout.replace(self.machine.home().to_str().unwrap(), "/home/dev");
        let mut results = Vec::new();
        let mut output = String::new();
        for line in said.split_inclusive('\n') {
            match line.split_once('\u{1}') {
                Some((end, code)) => {
                    output.push_str(end);
                    results.push((code.trim_end().to_owned(), std::mem::take(&mut output)));
                }
                None => output.push_str(line),
            }
        }
        assert_eq!(results.len(), block.steps.len() + 1, "{}:{}: {said}", block.page, block.line);
        let before = results.remove(0);
        assert!(!before.1.contains("error"), "{}:{}: {}", block.page, block.line, before.1);
        results
    }
}

/// The exit code that the comment behind a command speaks of.
fn promised_code(comment: &str) -> &str {
    for words in ["exit code ", "ends with "] {
        if let Some((_, code)) = comment.split_once(words) {
            return code.split(|c: char| !c.is_ascii_digit()).next().unwrap();
        }
    }
    let fails =
        ["denied", "refused"].iter().any(|word| comment.starts_with(word)) || comment.starts_with("Err");
    if fails { "2" } else { "0" }
}

/// The name of an error in the comment behind a command: `ErrPathTraversal`.
fn promised_error(comment: &str) -> Option<&str> {
    comment.split(|c: char| !c.is_ascii_alphanumeric()).find(|word| word.starts_with("Err"))
}

/// A line without what differs from one machine, or one moment, to the next.
fn plain(line: &str) -> String {
    let line = line.trim_end();
    let is_time =
        |text: &str| text.chars().all(|c| c.is_ascii_digit() || "-: ".contains(c)) && text.contains(':');
    let line = match line.split_at_checked(19) {
        Some((start, rest)) if is_time(start) => format!("TIME{rest}"),
        _ => line.to_owned(),
    };
    let mut parts = line.split("REDACTED]#");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |line, part| format!("{line}REDACTED]#{}", part.get(4..).unwrap_or_default()))
}

/// Whether a line is the one that is shown, in which `…` stands for any text.
fn is_shown(shown: &str, line: &str) -> bool {
    let (shown, line) = (plain(shown), plain(line));
    let mut parts = shown.split('…');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut wild = false;
    for part in parts {
        wild = true;
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || (wild && shown.ends_with('…'))
}

#[test]
fn commands_in_the_documents_do_what_the_documents_say() {
    if !have("setsid", &["--wait", "true"]) {
        return;
    }
    let mut pages = vec!["README.md".to_owned()];
    let names = fs::read_dir(repository().join("docs")).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    pages.extend(
        names
            .filter(|name| Path::new(name).extension().is_some_and(|end| end == "md"))
            .map(|name| format!("docs/{name}")),
    );
    pages.sort();
    let mut wrong = String::new();
    let (mut ran, mut left_out) = (0, Vec::new());
    for page in pages {
        let mut scene = None;
        for mut block in blocks(&page) {
            block.steps.retain(|step| {
                let known = NOT_RUN.iter().find(|(command, _)| *command == step.command);
                left_out.extend(known);
                known.is_none()
            });
            let needs = |(program, _): &&(&str, &str)| {
                block.steps.iter().any(|step| step.command.split_whitespace().any(|word| word == *program))
            };
            let missing = PROGRAMS.iter().filter(needs).any(|(program, probe)| !have(program, &[probe]));
            if block.steps.is_empty() || missing {
                continue;
            }
            let results = scene.get_or_insert_with(Scene::new).run(&block);
            for (step, (code, output)) in block.steps.iter().zip(results) {
                ran += 1;
                let place = format!("{}:{}: {}", block.page, block.line, step.command);
                if let Some(shown) = &step.shown {
                    let same = shown.lines().count() == output.lines().count()
                        && shown.lines().zip(output.lines()).all(|(shown, line)| is_shown(shown, line));
                    if !same {
                        writeln!(wrong, "{place}\nprints\n{output}and not\n{shown}").unwrap();
                    }
                } else {
                    let expected = promised_code(&step.comment);
                    let error = promised_error(&step.comment);
                    if code != expected || error.is_some_and(|error| !output.contains(error)) {
                        writeln!(wrong, "{place}\nends with {code}, not {expected} {error:?}:\n{output}")
                            .unwrap();
                    }
                }
            }
        }
    }
    for (command, why) in NOT_RUN {
        if !left_out.iter().any(|(left_out, _)| left_out == command) {
            writeln!(wrong, "`{command}` is in no document; it is not run since it {why}").unwrap();
        }
    }
    println!("{ran} commands of documents were run, {} were not:", left_out.len());
    for (command, why) in left_out {
        println!("  {command}: {why}");
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What contributors are told to start is there to be started.
#[test]
fn scripts_on_the_contributors_page_can_be_started() {
    let mut scripts = 0;
    for step in blocks("CONTRIBUTING.md").iter().flat_map(|block| &block.steps) {
        let program = step.command.split_whitespace().find(|word| !word.contains('=')).unwrap();
        if program.contains('/') {
            let found = fs::metadata(repository().join(program));
            let is_executable =
                found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
            assert!(is_executable, "{program}");
            scripts += 1;
        }
    }
    assert!(scripts > 0);
}
