//! `toolgate check` with shell commands, from outside: the drawing, the effects as JSON, and what it must not show.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use crate::support::{Answer, Machine, SECRET, have, write};
use serde_json::{Value, json};

/// A repository in which a person stands who has set nothing up.
struct Desk {
    machine: Machine,
    top: PathBuf,
}

impl Desk {
    fn new() -> Desk {
        let machine = Machine::new();
        let top = machine.repository("work");
        Desk { machine, top }
    }

    fn file(&self, path: &str, text: &str) {
        write(&self.top.join(path), text);
    }

    fn check<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Answer {
        self.check_with(args, "")
    }

    fn check_with<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>, stdin: &str) -> Answer {
        self.machine.toolgate().cwd(&self.top).arg("check").args(args).run(stdin)
    }

    /// The drawing, with the paths of the scratch machine made short.
    fn drawn(&self, command: &str) -> String {
        self.short(&self.check([command]).stdout)
    }

    fn effects(&self, command: &str) -> Value {
        let answer = self.check(["--effects", "--json", command]);
        let text = self.short(&answer.stdout);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
    }

    fn short(&self, text: &str) -> String {
        text.replace(self.machine.path("").to_str().unwrap().trim_end_matches('/'), "/m")
    }
}

#[track_caller]
fn holds(drawing: &str, parts: &[&str]) {
    for part in parts {
        assert!(drawing.contains(part), "no {part:?} in\n{drawing}");
    }
}

#[test]
fn a_denied_redirect_is_underlined() {
    let desk = Desk::new();
    let answer = desk.check(["echo ok > out.txt && echo x > ../y"]);
    assert_eq!(answer.code(), Some(2), "{answer:?}");
    let wanted = "\
error[outside-scope]: Bash writes `/m/y`, outside what this session may use
 --> command:1:29
  |
1 | echo ok > out.txt && echo x > ../y
  |         ---------           ^^^^^^ writes /m/y (denied by outside-scope)
  |         |
  |         writes /m/work/out.txt
  |
  = help: use a path below `/m/work`, or have a person run `toolgate allow write /m/y`
verdict: deny
directory: /m/work
root: /m/work
";
    assert_eq!(desk.short(&answer.stdout), wanted);
}

/// Who reads a denial in passing has to understand it, and the line that it names opens no more than a person would mean.
#[test]
fn what_is_denied_reads_as_a_sentence() {
    let desk = Desk::new();
    for (command, wanted) in [
        ("git reset --hard", "error[destructive]: `git reset --hard` discards all uncommitted changes"),
        (":(){ :|:& };:", "error[destructive]: Fork bomb detected"),
        ("rm -rf ~", "error[secret-file]: Bash deletes `"),
        (
            "echo $((1",
            "warning[unproved-effect]: this command cannot be parsed as bash: `$((` that is not closed",
        ),
        ("echo x > /etc/hosts", "`toolgate allow write /etc/hosts`"),
        ("sudo rm /etc/passwd", "`toolgate allow write /etc/passwd`"),
        ("echo x > ../.git/config", "`toolgate allow write /m/.git/config`"),
    ] {
        let answer = desk.check([command]);
        let said = desk.short(&answer.stdout);
        assert!(said.contains(wanted), "{command}: {said}");
    }
}

#[test]
fn the_chain_of_wrappers_is_shown() {
    let desk = Desk::new();
    let drawing = desk.drawn("sudo env A=1 bash -c 'rm -rf ../x'");
    holds(&drawing, &["deletes /m/x and all below through sudo → env → bash -c (denied by outside-scope)"]);
    let lines = desk.check(["--effects", "sudo env A=1 bash -c 'rm -rf ../x'"]);
    assert_eq!(lines.code(), Some(2));
    holds(
        &desk.short(&lines.stdout),
        &["delete /m/x (and all below) through sudo → env → bash -c (denied by outside-scope"],
    );
}

#[test]
fn a_denial_in_a_script_shows_the_line_of_the_script() {
    let desk = Desk::new();
    desk.file("scripts/clean.sh", "#!/bin/sh\necho fine\n\n  rm -rf /\n");
    let drawing = desk.drawn("true; bash scripts/clean.sh");
    holds(
        &drawing,
        &[
            "goes on in scripts/clean.sh\n",
            "::: scripts/clean.sh:4:1",
            "4 | rm -rf /\n",
            "runs rm -rf / (denied by destructive: ",
            "deletes / and all below (denied by outside-scope",
            "verdict: deny",
        ],
    );
    assert!(!drawing.contains("echo fine"), "{drawing}");
}

#[test]
fn a_change_of_directory_is_shown() {
    let desk = Desk::new();
    desk.file("src/a.txt", "");
    let drawing = desk.drawn("cd src && rm a.txt");
    holds(
        &drawing,
        &["changes into /m/work/src", "deletes /m/work/src/a.txt", "no policy objects", "verdict: allow"],
    );
}

#[test]
fn an_unproved_effect_is_shown_with_its_reason() {
    let desk = Desk::new();
    let dynamic = "$(cat tool) x; cat ok > \"$WHERE\"";
    let contained = desk.check([dynamic]);
    assert_eq!(contained.code(), Some(0), "{contained:?}");
    holds(&contained.stdout, &["verdict: contain"]);
    write(&desk.machine.user_settings(), "[containment]\nwhen = \"never\"\n");
    let answer = desk.check([dynamic]);
    assert_eq!(answer.code(), Some(3), "{answer:?}");
    holds(
        &answer.stdout,
        &[
            "is not proved: which program it starts is only known when it runs (unproved: asked by unproved-effect)",
            "is not proved: writes a path that is only known when it runs (unproved: asked",
            "warning[unproved-effect]",
            "verdict: ask",
        ],
    );
    desk.file("a.py", "print(1)\n");
    let opaque = desk.check(["python3 a.py"]);
    assert_eq!(opaque.code(), Some(0), "{opaque:?}");
    holds(&opaque.stdout, &["verdict: allow\nnot proved: `python3 a.py` (runs project code)"]);
    let unread = desk.check(["echo 'x"]);
    assert_eq!(unread.code(), Some(3), "{unread:?}");
    holds(&unread.stdout, &["is not proved: bash would not parse it"]);
}

#[test]
fn a_command_of_many_lines_is_drawn_with_line_numbers() {
    let desk = Desk::new();
    let command = "cat > a.txt <<EOF\nhello $(rm -rf ../z)\nEOF\n# nothing\n# at all\nfor f in a b; do\n  echo x >> /etc/$f\ndone";
    let drawing = desk.drawn(command);
    holds(
        &drawing,
        &[
            "1 | cat > a.txt <<EOF\n  |     ------- writes /m/work/a.txt\n",
            "2 | hello $(rm -rf ../z)\n  |         ^^^^^^^^^^^ deletes /m/z and all below",
            "\n...\n",
            "7 |   echo x >> /etc/$f\n",
            "adds to /etc/a (denied by outside-scope)",
            "adds to /etc/b (denied by outside-scope)",
        ],
    );
    assert_eq!(desk.short(&desk.check_with(["-"], command).stdout), drawing, "from stdin");
    let event = json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": desk.top,
        "tool_input": {"command": command}});
    let none: [&str; 0] = [];
    assert_eq!(desk.short(&desk.check_with(none, &event.to_string()).stdout), drawing, "from an event");
    assert_eq!(desk.short(&desk.check(["bash", command]).stdout), drawing, "by the tool's name");
}

#[test]
fn effects_are_printed_as_json() {
    let desk = Desk::new();
    let command = "cat a | sudo tee ../x; python3 b.py; $(cat c); git push --force";
    let report = desk.effects(command);
    assert_eq!(report["command"], command);
    assert_eq!(report["cwd"], "/m/work");
    assert_eq!(report["verdict"]["decision"], "deny");
    let effects = report["effects"].as_array().unwrap();
    let find = |key: &str, value: &str| {
        effects
            .iter()
            .find(|effect| effect[key] == value)
            .unwrap_or_else(|| panic!("no {key} {value}: {report:#}"))
    };
    assert_eq!(
        find("path", "/m/work/a"),
        &json!({"do": "read", "path": "/m/work/a", "reach": "exact", "span": [0, 5], "via": []})
    );
    let write = find("do", "write");
    assert_eq!(
        (&write["path"], &write["span"], &write["via"]),
        (&json!("/m/x"), &json!([8, 21]), &json!(["sudo"]))
    );
    let about = usize::try_from(write["findings"][0].as_u64().unwrap()).unwrap();
    let finding = &report["verdict"]["findings"][about];
    assert_eq!((&finding["policy"], &finding["path"]), (&json!("outside-scope"), &json!("/m/x")));
    let run = find("program", "tee");
    assert_eq!(
        (&run["do"], &run["words"], &run["fed_by"]),
        (&json!("run"), &json!(["tee", "../x"]), &json!(["cat"]))
    );
    assert_eq!(find("gap", "opaque")["text"], "python3 b.py");
    assert_eq!(find("gap", "name")["do"], "unknown");
    find("do", "connect");
}

#[test]
fn effects_of_a_write_tool_are_listed() {
    let desk = Desk::new();
    let answer = desk.check(["--effects", "write", "a.txt"]);
    assert_eq!((answer.code(), answer.stdout.as_str()), (Some(0), "write a.txt\n"));
}

#[test]
fn no_output_of_check_shows_a_secret() {
    let desk = Desk::new();
    desk.file(
        "x.sh",
        &format!("curl -H 'Authorization: Bearer {SECRET}' https://a.example > /etc/{SECRET}\n"),
    );
    let header = format!(
        "curl -H 'Authorization: Bearer {SECRET}' https://a.example > ../{SECRET}; cat a > ../b; bash x.sh"
    );
    let by_place = "PASSWORD=correcthorse; rm -rf ../correcthorse; mysql --password=correcthorse";
    for command in [header.as_str(), by_place] {
        for options in [&[][..], &["--json"], &["--effects"], &["--effects", "--json"]] {
            let answer = desk.check(options.iter().copied().chain([command]));
            assert_eq!(answer.code(), Some(2), "{answer:?}");
            let all = format!("{}{}", answer.stdout, answer.stderr);
            assert!(!all.contains(SECRET) && !all.contains("correcthorse"), "{options:?} {all}");
        }
    }
    let drawing = desk.drawn(&header);
    holds(&drawing, &["writes /m/b (denied by outside-scope)"]);
    let report = desk.effects(&header);
    let effect =
        report["effects"].as_array().unwrap().iter().find(|effect| effect["path"] == "/m/b").unwrap();
    let (start, end) = (effect["span"][0].as_u64().unwrap(), effect["span"][1].as_u64().unwrap());
    let (start, end) = (usize::try_from(start).unwrap(), usize::try_from(end).unwrap());
    assert_eq!(report["command"].as_str().unwrap().get(start..end), Some("> ../b"));
    let call = desk.check(["Write", &format!("content={SECRET}"), "file_path=../x"]);
    assert!(call.code() == Some(2) && !call.stdout.contains(SECRET), "{call:?}");
}

#[test]
fn control_characters_of_a_command_are_not_printed() {
    let desk = Desk::new();
    let odd = "echo 'ä\u{1b}[31m\u{202e}日本\t\u{7}' > ../é日; rm $'../a\\nb'; rm '../x\u{1b}[2J'\r\n";
    for options in [&[][..], &["--effects"], &["--effects", "--json"]] {
        let answer = desk.check(options.iter().copied().chain([odd]));
        assert_eq!(answer.code(), Some(2), "{answer:?}");
        assert!(!answer.stdout.contains(['\u{1b}', '\u{7}']), "{answer:?}");
    }
    holds(&desk.drawn(odd), &["writes /m/é日 (denied by outside-scope"]);
}

#[test]
fn an_empty_command_is_allowed_and_an_unreadable_one_is_asked_about() {
    let desk = Desk::new();
    for command in ["", " ", "\n", "#"] {
        let answer = desk.check([command]);
        assert_eq!(answer.code(), Some(0), "{command:?} {answer:?}");
        holds(&answer.stdout, &["verdict: allow"]);
    }
    // The last one would leave a subshell that a host puts around it.
    for command in [";", ":\n)\n./x\n(:"] {
        let unreadable = desk.check([command]);
        assert_eq!(unreadable.code(), Some(3), "{command:?} {unreadable:?}");
        holds(&unreadable.stdout, &["verdict: ask"]);
    }
    let bytes = desk.check([OsStr::from_bytes(b"rm \xff")]);
    assert_eq!(bytes.code(), Some(1), "{bytes:?}");
    holds(&bytes.stderr, &["is not UTF-8"]);
}

#[test]
fn colours_are_printed_on_a_terminal_only() {
    let desk = Desk::new();
    let piped = desk.check(["rm -rf ../x"]).stdout;
    assert!(piped.starts_with("error[outside-scope]: ") && !piped.contains('\u{1b}'), "{piped}");
    if have("script", &["-qec", "true", "/dev/null"]) {
        let command = format!("'{}' check 'rm -rf ../x'", env!("CARGO_BIN_EXE_toolgate"));
        let hook = desk.machine.toolgate().cwd(&desk.top);
        let shown = hook.instead(&["script", "-qec", &command, "/dev/null"]).run("").stdout;
        assert!(shown.contains("\u{1b}[91merror[outside-scope]\u{1b}[0m"), "{shown:?}");
    }
}

#[test]
fn large_commands_are_answered_within_five_seconds() {
    const LONGEST_THAT_IS_READ: usize = 64 * 1024;
    let desk = Desk::new();
    let many = |count: usize| -> String {
        let writes: Vec<String> = (0..count).map(|number| format!("echo {number} > ../{number}")).collect();
        writes.join("; ")
    };
    let words = |count: usize| format!("echo {} > ../x", "word ".repeat(count));
    let lines = |count: usize| "echo a > ../b\n".repeat(count);
    let nested = |count: usize| "(".repeat(count);
    // What is read: writes are denied, and a text that bash would not read is asked about.
    let read = [(many(3_000), 2), (words(12_000), 2), (lines(4_500), 2), (nested(60_000), 3)];
    // What is longer is not read at all.
    let too_long = [many(6_000), words(20_000), lines(7_000), nested(100_000)].map(|command| (command, 3));
    for (command, code) in read.iter().chain(&too_long) {
        // Longer than one argument may be.
        for options in [&["-"][..], &["--effects", "--json", "-"]] {
            let answer = desk.check_with(options, command);
            assert_eq!(answer.code(), Some(*code), "{:?}: {}", command.get(..40), answer.stderr);
            let unread = answer.stdout.contains("longer than a command that is read");
            assert_eq!(unread, command.len() > LONGEST_THAT_IS_READ, "{:?}", command.get(..40));
            assert!(answer.took < Duration::from_secs(5), "{:?} took {:?}", command.get(..40), answer.took);
        }
        let drawing = desk.check_with(["-"], command).stdout;
        assert!(drawing.len() < 64 * 1024, "{} bytes", drawing.len());
    }
}

#[test]
fn a_tool_name_is_not_read_as_a_command() {
    let desk = Desk::new();
    holds(&desk.check(["WebSearch"]).stdout, &["WebSearch", "verdict: allow"]);
    holds(&desk.check(["read", "../x"]).stdout, &["Read file_path=../x", "verdict: deny"]);
    let loose = desk.check(["rm", "x"]);
    assert_eq!(loose.code(), Some(1));
    holds(&loose.stderr, &["put a whole command in quotes"]);
}

#[test]
fn a_search_by_the_hosts_own_tool_says_that_there_is_more() {
    let desk = Desk::new();
    let event = json!({
        "session_id": "s-1",
        "transcript_path": "",
        "cwd": desk.top,
        "hook_event_name": "PreToolUse",
        "tool_name": "Grep",
        "tool_input": { "pattern": "x", "path": desk.top, "output_mode": "content" },
    });
    let effects = || desk.check_with(["--host", "claude-code", "--effects"], &event.to_string()).stdout;
    let more = "more files than are looked at";
    assert!(!effects().contains(more));
    for number in 0..2_100 {
        desk.file(&format!("many/{number}"), "");
    }
    holds(&effects(), &[more]);
}

#[test]
fn a_wrong_command_line_is_no_denial_and_a_wrong_registration_is_one() {
    let machine = Machine::new();
    for wrong in [&["check", "--no-such-option"][..], &["chekc", "ls"], &["ledger", "verify", "x", "y"], &[]]
    {
        let answer = machine.toolgate().args(wrong).run("");
        assert_eq!(answer.code(), Some(64), "{wrong:?}: {answer:?}");
        assert!(!answer.stderr.is_empty() && answer.stdout.is_empty(), "{wrong:?}: {answer:?}");
    }
    let registered = machine.toolgate().args(["hook", "claude-code", "--no-such-option"]).run("{}");
    assert!(registered.is_refusal(), "{registered:?}");
    let registered = machine.toolgate().args(["hook"]).run("{}");
    assert_eq!(registered.code(), Some(2), "{registered:?}");
    assert_eq!(machine.toolgate().args(["check", "--help"]).run("").code(), Some(0));
}

/// A terminal obeys some characters and shows others as nothing: what a person approves would look like something else.
#[test]
fn no_character_of_a_command_hides_another() {
    let desk = Desk::new();
    for hidden in [
        '\u{9b}',
        '\u{85}',
        '\u{ad}',
        '\u{61c}',
        '\u{200b}',
        '\u{2028}',
        '\u{202e}',
        '\u{3164}',
        '\u{feff}',
        '\u{e0041}',
    ] {
        let command = format!("echo a{hidden}8m && rm -r ../b{hidden}c");
        let drawn = desk.check([&command]).stdout;
        assert!(drawn.contains("rm -r") && drawn.contains("verdict: deny"), "{drawn}");
        assert!(!drawn.contains(hidden), "U+{:04X}: {drawn:?}", u32::from(hidden));
    }
}
