//! `toolgate check` with shell commands, from outside: the drawing, the effects as JSON, and what it must not show.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use crate::support::{Answer, Machine, SECRET, write};
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
error[outside-scope]: Bash writes `/m/y`, outside of what this session may use
 --> command:1:29
  |
1 | echo ok > out.txt && echo x > ../y
  |         ---------           ^^^^^^ writes /m/y (denied by outside-scope)
  |         |
  |         writes /m/work/out.txt
  |
  = help: use a path below `/m/work`, or have a person open this place with a [[scope]] entry
verdict: deny
directory: /m/work
root: /m/work
";
    assert_eq!(desk.short(&answer.stdout), wanted);
}

#[test]
fn the_way_through_wrappers_is_told() {
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
fn a_script_is_shown_by_its_own_line() {
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
fn a_change_of_directory_is_told() {
    let desk = Desk::new();
    desk.file("src/a.txt", "");
    let drawing = desk.drawn("cd src && rm a.txt");
    holds(
        &drawing,
        &["changes into /m/work/src", "deletes /m/work/src/a.txt", "no policy objects", "verdict: allow"],
    );
}

#[test]
fn what_is_not_known_says_why() {
    let desk = Desk::new();
    let answer = desk.check(["$(cat tool) x; cat ok > \"$WHERE\""]);
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
    holds(&opaque.stdout, &["verdict: allow\nnot proved: `python3 a.py` (runs code of the project)"]);
    let unread = desk.check(["echo 'x"]);
    assert_eq!(unread.code(), Some(3), "{unread:?}");
    holds(&unread.stdout, &["is not proved: bash would not read it"]);
}

#[test]
fn a_command_of_many_lines_has_its_numbers() {
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
fn effects_are_json() {
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
fn effects_of_other_tools_are_listed_too() {
    let desk = Desk::new();
    let answer = desk.check(["--effects", "write", "a.txt"]);
    assert_eq!((answer.code(), answer.stdout.as_str()), (Some(0), "write a.txt\n"));
}

#[test]
fn secrets_are_not_shown() {
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
fn odd_characters_do_no_harm() {
    let desk = Desk::new();
    let odd = "echo 'ä\u{1b}[31m\u{202e}日本\t\u{7}' > ../é日; rm $'../a\\nb'; rm '../x\u{1b}[2J'\r\n";
    for options in [&[][..], &["--effects"], &["--effects", "--json"]] {
        let answer = desk.check(options.iter().copied().chain([odd]));
        assert_eq!(answer.code(), Some(2), "{answer:?}");
        assert!(!answer.stdout.contains(['\u{1b}', '\u{7}']), "{answer:?}");
    }
    holds(&desk.drawn(odd), &["writes /m/é日 (denied by outside-scope"]);
    for empty in ["", " ", "\n", "#", ";", "\\"] {
        let answer = desk.check([empty]);
        assert!(matches!(answer.code(), Some(0 | 3)), "{empty:?} {answer:?}");
    }
    let bytes = desk.check([OsStr::from_bytes(b"rm \xff")]);
    assert_eq!(bytes.code(), Some(1), "{bytes:?}");
    holds(&bytes.stderr, &["is not UTF-8"]);
}

#[test]
fn colours_are_for_terminals() {
    let desk = Desk::new();
    assert!(!desk.check(["rm -rf ../x"]).stdout.contains('\u{1b}'));
}

#[test]
fn large_commands_are_answered_soon() {
    let desk = Desk::new();
    let many: Vec<String> = (0..6_000).map(|number| format!("echo {number} > ../{number}")).collect();
    let many = many.join("; ");
    let words = format!("echo {} > ../x", "word ".repeat(20_000));
    let lines = "echo a > ../b\n".repeat(7_000);
    let nested = "(".repeat(100_000);
    for command in [&many, &words, &lines, &nested] {
        // Longer than one argument may be.
        for options in [&["-"][..], &["--effects", "--json", "-"]] {
            let answer = desk.check_with(options, command);
            assert!(matches!(answer.code(), Some(2 | 3)), "{:?} {}", answer.code(), answer.stderr);
            assert!(answer.took < Duration::from_secs(5), "{:?} took {:?}", command.get(..40), answer.took);
        }
        let drawing = desk.check_with(["-"], command).stdout;
        assert!(drawing.len() < 64 * 1024, "{} bytes", drawing.len());
    }
}

#[test]
fn a_tool_is_no_command() {
    let desk = Desk::new();
    holds(&desk.check(["WebSearch"]).stdout, &["WebSearch", "verdict: allow"]);
    holds(&desk.check(["read", "../x"]).stdout, &["Read file_path=../x", "verdict: deny"]);
    let loose = desk.check(["rm", "x"]);
    assert_eq!(loose.code(), Some(1));
    holds(&loose.stderr, &["a whole command stands in quotes"]);
}
