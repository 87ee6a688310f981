//! The line from outside: what a host sends, what it gets back, and what the disk has to do with it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::support::{Machine, Said, Session, event, fifo, git, git_command, without_powers, write};
use serde_json::{Value, json};

/// A repository with its main checkout and two linked worktrees beside it.
struct Yard {
    machine: Machine,
    main: PathBuf,
    own: PathBuf,
    other: PathBuf,
}

impl Yard {
    fn on(machine: Machine) -> Yard {
        let main = machine.repository("main");
        let own = machine.worktree(&main, "own");
        let other = machine.worktree(&main, "other");
        Yard { machine, main, own, other }
    }

    fn new() -> Yard {
        Yard::on(Machine::new())
    }

    /// A session that begins in the worktree `own`.
    fn session(&self) -> Session {
        self.machine.session("s", &self.own)
    }
}

// --- The forms of answers -----------------------------------------------------------------------------------

#[test]
fn an_allowed_call_is_answered_with_silence_and_recorded() {
    let yard = Yard::new();
    let session = yard.session();
    let own = |path: &str| yard.own.join(path);
    for (tool, input) in [
        ("Read", json!({"file_path": own("README.md")})),
        ("Write", json!({"file_path": own("new/deep/a.txt"), "content": "x"})),
        ("Edit", json!({"file_path": own("README.md"), "old_string": "a", "new_string": "b"})),
        ("NotebookEdit", json!({"notebook_path": own("a.ipynb"), "new_source": ""})),
        ("Glob", json!({"pattern": "**/*.rs"})),
        ("Grep", json!({"pattern": "x", "path": yard.own})),
        ("Read", json!({"file_path": "/etc/hostname"})),
        ("Write", json!({"file_path": "/tmp/scratch", "content": "x"})),
        ("WebSearch", json!({"query": "x"})),
        ("TaskCreate", json!({"subject": "x"})),
        ("mcp__echo__echo", json!({"text": "hello"})),
        ("mcp__fs__write_file", json!({"path": own("a.txt"), "content": "x"})),
    ] {
        assert_eq!(session.call(tool, &input), Said::Nothing, "{tool} {input}");
        let record = yard.machine.last_record();
        assert_eq!((&record["tool"], &record["decision"]), (&json!(tool), &json!("allow")), "{record}");
        assert_eq!(record["root"], json!(yard.own), "{record}");
    }
}

#[test]
fn a_denial_says_why_and_is_recorded() {
    let yard = Yard::new();
    let session = yard.session();
    for (tool, input, told) in [
        ("Read", json!({"file_path": yard.main.join("README.md")}), "in the main checkout"),
        (
            "Write",
            json!({"file_path": yard.other.join("a"), "content": "x"}),
            "which belongs to another agent",
        ),
        ("Write", json!({"file_path": yard.machine.home().join(".bashrc"), "content": "x"}), "outside what"),
        ("Write", json!({"file_path": "/etc/passwd", "content": "x"}), "outside what"),
        ("Read", json!({"file_path": "~/.ssh/id_ed25519"}), "keys and credentials"),
        ("Read", json!({"file_path": "/etc/shadow"}), "keys and credentials"),
        ("NotebookEdit", json!({"notebook_path": yard.main.join("a.ipynb")}), "in the main checkout"),
        ("NotebookEdit", json!({"file_path": yard.own.join("a.ipynb")}), "`notebook_path`"),
        ("Glob", json!({"pattern": "*", "path": yard.machine.home()}), "keys and credentials"),
        ("Glob", json!({"pattern": yard.main.join("**/*")}), "in the main checkout"),
        ("Grep", json!({"pattern": "x", "path": yard.machine.path("")}), "outside what"),
        ("Grep", json!({"pattern": "x", "glob": "../main/**"}), "in the main checkout"),
        ("Write", json!({"content": "x"}), "`file_path` of Write is missing"),
        ("Write", json!({"file_path": ["/tmp/a"], "content": "x"}), "not a string"),
        ("Read", json!({"file_path": null}), "is missing"),
        ("Read", json!({"file_path": ""}), "is empty"),
        ("Write", json!({"file_path": yard.own.join(".git"), "content": "x"}), "git's own file"),
        ("mcp__fs__write_file", json!({"path": yard.main.join("a")}), "in the main checkout"),
        ("mcp__fs__copy", json!({"jobs": [{"to": yard.other.join("a")}]}), "which belongs to another agent"),
        ("mcp__fs__read", json!({"uri": format!("file://{}", yard.main.display())}), "in the main checkout"),
        ("BrandNewTool", json!({"target_file": yard.main.join("a")}), "in the main checkout"),
        ("EnterWorktree", json!({"path": yard.other}), "which belongs to another agent"),
    ] {
        let said = session.call(tool, &input);
        let Said::Deny(reason) = &said else { panic!("{tool} {input}: {said:?}") };
        assert!(reason.contains(told), "{tool} {input}: {reason}");
        let record = yard.machine.last_record();
        assert_eq!((&record["tool"], &record["decision"]), (&json!(tool), &json!("deny")), "{record}");
        assert!(record["findings"][0]["policy"].is_string(), "{record}");
    }
}

#[test]
fn a_call_that_cannot_be_proved_is_asked_about() {
    let yard = Yard::new();
    let session = yard.session();
    for (tool, input) in [
        ("BrandNewTool", json!({"text": "hello"})),
        ("bash", json!({"command": "ls"})),
        ("Read ", json!({"file_path": yard.own.join("a")})),
        ("mcp__shell__run", json!({"command": "$(cat name)"})),
        ("Write", json!({"file_path": yard.own.join(".claude/skills/x/SKILL.md"), "content": "x"})),
    ] {
        assert_eq!(session.call(tool, &input).word(), "ask", "{tool} {input}");
        assert_eq!(yard.machine.last_record()["decision"], "ask");
    }
    write(&yard.machine.user_settings(), "[containment]\nwhen = \"never\"\n");
    assert_eq!(yard.session().shell("$(cat name)"), "ask", "where nothing is contained");
}

#[test]
fn a_permission_request_is_answered_in_its_own_form() {
    let yard = Yard::new();
    let ask = |session: &Session, tool: &str, input: Value| {
        let more = json!({"tool_name": tool, "tool_input": input, "permission_suggestions": []});
        let answer = session.event("PermissionRequest", &more);
        assert_eq!(answer.code(), Some(0), "{answer:?}");
        answer.json()
    };
    let session = yard.session();
    assert_eq!(ask(&session, "Write", json!({"file_path": yard.own.join("a")})), None);
    assert_eq!(ask(&session, "Bash", json!({"command": "ls"})), None, "the host asks its user anyway");
    let denied = ask(&session, "Write", json!({"file_path": yard.main.join("a")})).unwrap();
    let output = &denied["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "PermissionRequest");
    assert_eq!(output["decision"]["behavior"], "deny");
    assert!(output["decision"]["message"].as_str().unwrap().contains("main checkout"), "{denied}");
    assert!(output.get("permissionDecision").is_none(), "{denied}");

    let granting = yard.session().with(|hook| hook.args(["--profile", "ittybitty"]));
    let granted = ask(&granting, "Write", json!({"file_path": yard.own.join("a")})).unwrap();
    let expected = json!({"hookSpecificOutput":
        {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}});
    assert_eq!(granted, expected);
    let contained = ask(&granting, "Bash", json!({"command": "$(cat name)"}));
    assert_eq!(contained, None, "what is contained is not vouched for");
    write(&yard.machine.user_settings(), "[containment]\nwhen = \"never\"\n");
    let denied = ask(&granting, "Bash", json!({"command": "$(cat name)"})).unwrap();
    assert_eq!(denied["hookSpecificOutput"]["decision"]["behavior"], "deny");
}

#[test]
fn events_that_cannot_be_stopped_pass_in_silence_and_are_recorded() {
    let yard = Yard::new();
    let session = yard.session();
    let secret = json!({"file_path": "/etc/shadow"});
    // At the end of a session the log names its next key, whenever the sealer gets to it.
    let events = || -> Vec<_> {
        let all = yard.machine.records().into_iter().filter(|record| record.get("host").is_some());
        all.map(|record| record["event"].clone()).collect()
    };
    for (name, more) in [
        ("SessionStart", json!({"source": "startup"})),
        ("UserPromptSubmit", json!({"prompt": "delete everything"})),
        ("PostToolUse", json!({"tool_name": "Read", "tool_input": secret, "tool_response": "root:x"})),
        ("PostToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {}})),
        ("PostToolUseFailure", json!({"tool_name": "Read", "tool_input": secret, "error": "x"})),
        ("Notification", json!({"message": "x"})),
        ("Stop", json!({"stop_hook_active": false})),
        ("SubagentStop", json!({"agent_id": "a", "agent_type": "Explore"})),
        ("SessionEnd", json!({"reason": "exit"})),
        ("SomethingOfNextYear", json!({"x": [1, {"tool_input": 7}]})),
    ] {
        let before = events().len();
        let answer = session.event(name, &more);
        let parts = (answer.code(), answer.stdout.as_str(), answer.stderr.as_str());
        assert_eq!(parts, (Some(0), "", ""), "{name}");
        let events = events();
        assert_eq!(events.len(), before + 1, "{name}");
        assert_eq!(events[before], name);
    }
}

#[test]
fn settings_that_switch_hooks_off_are_refused_with_exit_2() {
    let yard = Yard::new();
    let session = yard.session();
    let file = yard.own.join(".claude/settings.json");
    for (text, refused) in [
        (r#"{"disableAllHooks": true}"#, true),
        (r#"{"hooks": {}, "disableAllHooks": true, "model": "x"}"#, true),
        (r#"{"disableAllHooks": false}"#, false),
        ("{}", false),
        (r#"{"permissions": {"allow": ["Bash(ls:*)"]}}"#, false),
    ] {
        write(&file, text);
        let answer = session.event("ConfigChange", &json!({"source": "project_settings", "file_path": file}));
        assert_eq!(answer.stdout, "", "{text}");
        if refused {
            assert_eq!(answer.code(), Some(2), "{text}");
            assert!(answer.stderr.contains("switch all hooks off"), "{text}: {}", answer.stderr);
            assert_eq!(yard.machine.last_record()["decision"], "deny");
        } else {
            assert_eq!((answer.code(), answer.stderr.as_str()), (Some(0), ""), "{text}");
        }
    }
    fs::remove_file(&file).unwrap();
    fifo(&file);
    let pipe = session.event("ConfigChange", &json!({"source": "project_settings", "file_path": file}));
    assert_eq!(pipe.code(), Some(2), "{pipe:?}");
    let gone = yard.own.join(".claude/nothing.json");
    let gone = session.event("ConfigChange", &json!({"source": "project_settings", "file_path": gone}));
    assert_eq!((gone.code(), gone.stderr.as_str()), (Some(0), ""));
}

// --- Profiles of other tools --------------------------------------------------------------------------------

#[test]
fn an_ittybitty_agent_is_granted_only_its_own_places() {
    let machine = Machine::new();
    let main = machine.repository("main");
    let own = machine.worktree(&main, "main/.ittybitty/agents/a1/repo");
    let other = machine.worktree(&main, "main/.ittybitty/agents/a2/repo");
    let agents = main.join(".ittybitty/agents");
    let session =
        machine.session("s", &own).with(|hook| hook.args(["--profile", "ittybitty", "--agent", "a1"]));
    for (path, expected) in [
        (own.join("src/a.rs"), "grant"),
        (main.join(".ittybitty/shared.log"), "grant"),
        (agents.join("a1/agent.log"), "grant"),
        (agents.join("a1/meta.json"), "deny"),
        (agents.join("a2/agent.log"), "deny"),
        (agents.join("a10/agent.log"), "deny"),
        (other.join("a"), "deny"),
        (main.join("README.md"), "deny"),
        (PathBuf::from("/etc/hostname"), "deny"),
        (PathBuf::from("/tmp/a"), "deny"),
        (machine.home().join("a"), "deny"),
    ] {
        assert_eq!(session.write(&path), expected, "write {}", path.display());
        assert_eq!(session.read(&path), expected, "read {}", path.display());
    }
    let reason = |path: PathBuf| match session.call("Read", &json!({"file_path": path})) {
        Said::Deny(reason) => reason,
        other => panic!("{other:?}"),
    };
    assert!(
        reason(main.join("README.md"))
            .starts_with("Access denied: work in your worktree, not the main repo.")
    );
    assert!(reason(other.join("a")).starts_with("Access denied: cannot access other agents' files."));
    assert_eq!(
        session.shell("$(cat name)"),
        "rewrite",
        "there is nobody to be asked, and nobody needs to be"
    );
    assert_eq!(session.call("TaskCreate", &json!({})).word(), "deny");
    assert_eq!(session.call("TaskList", &json!({})), Said::Grant);
}

#[test]
fn a_relative_path_is_made_absolute_and_every_other_member_is_kept() {
    let yard = Yard::new();
    let elsewhere = yard.machine.dir("elsewhere");
    let session = yard
        .session()
        .from(&elsewhere)
        .with(|hook| hook.args(["--profile", "pi-worktree"]).env("WORKTREE_SANDBOX_PATH", &yard.own));
    let input = json!({"content": "x\u{1F600}\n", "file_path": "sub/a.txt", "big": 18_446_744_073_709_551_615_u64,
        "float": 0.1, "no": null, "deep": {"list": [1, {"file_path": "b"}], "": true}});
    let mut expected = input.clone();
    expected["file_path"] = json!(yard.own.join("sub/a.txt"));
    assert_eq!(session.call("Write", &input), Said::Rewrite(expected));
    let climbing = session.call("Write", &json!({"file_path": "sub/../b.txt", "content": ""}));
    assert_eq!(climbing, Said::Rewrite(json!({"file_path": yard.own.join("b.txt"), "content": ""})));
    assert_eq!(session.write(yard.own.join("a.txt")), "nothing", "an absolute path stays");
    for denied in ["../main/README.md", "..", "/etc/hostname", "~/a"] {
        assert_eq!(session.write(denied), "deny", "{denied}");
    }
    let directory = session.call("Read", &json!({"file_path": yard.own}));
    assert!(matches!(&directory, Said::Deny(reason) if reason.contains("Use bash ls")), "{directory:?}");
}

/// What is said under `pi-worktree` to a call from a working directory that is closed.
fn from_outside(yard: &Yard, tool: &str, input: &Value) -> Said {
    let outside = yard.machine.dir("elsewhere");
    let session = yard
        .session()
        .from(&outside)
        .with(|hook| hook.args(["--profile", "pi-worktree"]).env("WORKTREE_SANDBOX_PATH", &yard.own));
    session.call(tool, input)
}

#[test]
fn a_search_without_a_path_is_denied_in_a_closed_directory() {
    let yard = Yard::new();
    for (tool, input) in [("Grep", json!({"pattern": "x"})), ("Glob", json!({"pattern": "*"}))] {
        let said = from_outside(&yard, tool, &input);
        assert_eq!(said.word(), "deny", "{tool}: {said:?}");
    }
}

#[test]
fn every_relative_path_of_a_call_is_made_absolute() {
    let yard = Yard::new();
    let said = from_outside(&yard, "mcp__fs__copy", &json!({"source": "a", "destination": "b"}));
    let both = json!({"source": yard.own.join("a"), "destination": yard.own.join("b")});
    assert_eq!(said, Said::Rewrite(both));
}

#[test]
fn a_call_with_a_relative_path_further_down_is_denied() {
    let yard = Yard::new();
    let input = json!({"job": {"path": "rel"}, "path": yard.own.join("abs")});
    let said = from_outside(&yard, "mcp__fs__copy", &input);
    assert!(matches!(&said, Said::Deny(reason) if reason.starts_with("`rel` resolves outside")), "{said:?}");
}

#[test]
fn a_search_pattern_is_not_made_absolute() {
    let yard = Yard::new();
    let pattern = json!({"pattern": "src/../*.rs"});
    let inside = yard
        .session()
        .with(|hook| hook.args(["--profile", "pi-worktree"]).env("WORKTREE_SANDBOX_PATH", &yard.own));
    assert_eq!(inside.call("Glob", &pattern), Said::Nothing);
    assert_eq!(from_outside(&yard, "Glob", &pattern).word(), "deny");
}

#[test]
fn a_variable_that_contradicts_the_registration_is_denied() {
    let yard = Yard::new();
    let line = |root: &Path| {
        yard.session().with(|hook| {
            hook.args(["--profile", "pi-worktree", "--root"])
                .arg(root)
                .env("WORKTREE_SANDBOX_PATH", &yard.own)
        })
    };
    assert_eq!(line(&yard.own).write("a.txt"), "rewrite");
    let contradiction = line(&yard.other).call("Write", &json!({"file_path": yard.own.join("a")}));
    assert!(
        matches!(&contradiction, Said::Deny(reason) if reason.contains("WORKTREE_SANDBOX_PATH")),
        "{contradiction:?}"
    );
}

#[test]
fn pi_worktree_without_its_variable_steps_back_but_keeps_the_floor() {
    let yard = Yard::new();
    let line = yard.session().with(|hook| hook.args(["--profile", "pi-worktree"]));
    let gone = yard.machine.path("gone");
    for session in [
        line.clone(),
        line.clone().with(|hook| hook.env("WORKTREE_SANDBOX_PATH", "")),
        line.clone().with(|hook| hook.env("WORKTREE_SANDBOX_PATH", "relative")),
        line.clone().with(|hook| hook.env("WORKTREE_SANDBOX_PATH", &gone)),
    ] {
        assert_eq!(session.write(yard.main.join("a")), "nothing");
        let record = yard.machine.last_record();
        assert_eq!(record["decision"], "allow");
        assert_eq!(record["findings"][0]["kind"], "inactive", "{record}");
        assert_eq!(session.read("~/.ssh/id_ed25519"), "deny", "the floor stands");
        assert_eq!(session.write(yard.machine.user_settings()), "deny", "the floor stands");
        assert_eq!(session.write(yard.own.join(".claude/settings.json")), "deny", "the floor stands");
    }
}

#[test]
fn pi_worktree_is_active_only_with_a_person_and_in_trusted_projects() {
    let yard = Yard::new();
    let outside = yard.main.join("a");
    for (line, expected) in [
        (vec!["--mode", "tui", "--trusted", "yes"], "deny"),
        (vec!["--mode", "rpc"], "deny"),
        (vec!["--mode", "json"], "nothing"),
        (vec!["--mode", "print", "--trusted", "yes"], "nothing"),
        (vec!["--mode", "tui", "--trusted", "no"], "nothing"),
        (vec!["--trusted", "perhaps"], "deny"),
    ] {
        let session = yard.session().with(|hook| {
            hook.args(["--profile", "pi-worktree"]).args(&line).env("WORKTREE_SANDBOX_PATH", &yard.own)
        });
        assert_eq!(session.write(&outside), expected, "{line:?}");
        assert_eq!(session.read("~/.ssh/id_ed25519"), "deny", "{line:?}: the floor stands");
        let other = yard.session().with(|hook| hook.args(&line));
        assert_eq!(other.write(&outside), "deny", "{line:?}: other profiles stand everywhere");
    }
}

#[test]
fn project_settings_stay_closed_when_a_profile_steps_back() {
    let yard = Yard::new();
    let session = yard.session().with(|hook| hook.args(["--profile", "pi-worktree"]));
    assert_eq!(session.write(yard.own.join("toolgate.toml")), "deny");
    assert_eq!(session.write(yard.main.join("toolgate.toml")), "deny");
}

#[test]
fn the_mpm_write_guard_answers_in_the_words_of_the_handler_it_replaces() {
    // Long paths are shortened in messages, so this machine stands where paths are short.
    let machine = Machine::in_tmp();
    let project = machine.dir("project");
    let outside = machine.file("outside.txt", "");
    symlink(&outside, project.join("link")).unwrap();
    let answer = |tool: &str, input: Value| {
        let event = event("PreToolUse", "s", &project, &json!({"tool_name": tool, "tool_input": input}));
        let answer = machine.hook("mpm").event(&event);
        assert_eq!((answer.code(), answer.stderr.as_str()), (Some(0), ""), "{answer:?}");
        answer.json().unwrap()
    };
    let go_on = json!({"action": "continue"});
    let block = |error: String| json!({"action": "block", "error": error});
    let outside_message = |path: &Path| {
        block(format!(
            "Security Policy: Cannot write to files outside the working directory.\n\nWorking directory: {}\n\
             Attempted path: {}\n\nPlease ensure all file operations are within the project directory.",
            project.display(),
            path.display()
        ))
    };
    for tool in ["Write", "Edit", "MultiEdit"] {
        assert_eq!(answer(tool, json!({"file_path": project.join("src/a.py")})), go_on, "{tool}");
        assert_eq!(answer(tool, json!({"file_path": "src/a.py"})), go_on, "{tool}");
        assert_eq!(
            answer(tool, json!({"file_path": "/etc/passwd"})),
            outside_message(Path::new("/etc/passwd"))
        );
        assert_eq!(answer(tool, json!({"file_path": outside})), outside_message(&outside), "{tool}");
        assert_eq!(
            answer(tool, json!({"file_path": project.join("link")})),
            outside_message(&project.join("link"))
        );
    }
    assert_eq!(
        answer("NotebookEdit", json!({"notebook_path": "/etc/x.ipynb"})),
        outside_message(Path::new("/etc/x.ipynb"))
    );
    assert_eq!(answer("NotebookEdit", json!({"notebook_path": "a.ipynb"})), go_on);
    let traversal = "Security Policy: Path traversal attempts are not allowed.\n\nThe path '../../../etc/passwd' \
                     contains '..' which could be used to escape the working directory.\nPlease use absolute paths \
                     or paths relative to the working directory without '..'.";
    assert_eq!(answer("Write", json!({"file_path": "../../../etc/passwd"})), block(traversal.into()));
    for odd in ["file\u{0}.txt", "file\n/etc/passwd", ""] {
        let said = answer("Write", json!({"file_path": odd}));
        assert_eq!(said["action"], "block", "{odd:?}");
        let error = said["error"].as_str().unwrap();
        assert!(error.starts_with("Error validating file path: "), "{odd:?}: {error}");
    }
    assert_eq!(
        answer("Write", json!({"file_path": format!("{}/file", ".".repeat(1000))}))["action"],
        "block"
    );
    for (tool, input) in [
        ("Read", json!({"file_path": "/etc/passwd"})),
        ("Read", json!({"file_path": "../../../etc/passwd"})),
        ("Grep", json!({"pattern": "x", "path": "/"})),
        ("Bash", json!({"command": "ls"})),
        ("WebFetch", json!({"url": "https://example.com"})),
        ("mcp__echo__echo", json!({"text": "x"})),
    ] {
        assert_eq!(answer(tool, input), go_on, "{tool}");
    }
    let more = json!({"tool_name": "Write", "tool_input": {"file_path": "/etc/passwd"}});
    for name in ["PostToolUse", "Stop", "UserPromptSubmit", "SubagentStop"] {
        let event = event(name, "s", &project, &more);
        assert_eq!(machine.hook("mpm").event(&event).json(), Some(go_on.clone()), "{name}");
    }
    let strange = machine.hook("mpm").event(&event("SomethingNew", "s", &project, &more));
    assert_eq!(strange.json().unwrap()["action"], "block", "a tool under an unknown name of its event");
}

// --- Paths on the real disk ---------------------------------------------------------------------------------

#[test]
fn a_path_is_judged_by_where_its_links_lead() {
    let yard = Yard::new();
    let outside = yard.machine.dir("outside/sub");
    fs::create_dir_all(yard.own.join("deep/dir")).unwrap();
    write(&yard.own.join("file"), "");
    let link = |name: &str, target: &Path| symlink(target, yard.own.join(name)).unwrap();
    link("out", &outside);
    link("relative-out", Path::new("../outside/sub"));
    link("in", Path::new("deep/dir"));
    link("dangling-out", &yard.machine.path("outside/missing"));
    link("dangling-in", Path::new("deep/missing"));
    link("chain-1", Path::new("chain-2"));
    link("chain-2", Path::new("deep/../chain-3"));
    link("chain-3", &outside);
    link("loop-1", Path::new("loop-2"));
    link("loop-2", Path::new("loop-1"));
    link("self", Path::new("self"));
    link("root", Path::new("/"));
    link("main", &yard.main);
    link("proc-cwd", Path::new("/proc/self/cwd"));
    for number in 0..45 {
        link(&format!("long-{number}"), Path::new(&format!("long-{}", number + 1)));
    }
    write(&yard.own.join("long-45"), "");
    // A repository whose name begins like ours.
    yard.machine.dir("own2");
    let session = yard.session();
    for (path, expected) in [
        ("out/x", "deny"),
        ("out", "deny"),
        ("relative-out/x", "deny"),
        ("in/x", "nothing"),
        ("dangling-out", "deny"),
        ("dangling-in", "nothing"),
        ("chain-1/x", "deny"),
        ("chain-1", "deny"),
        ("loop-1", "deny"),
        ("self/x", "deny"),
        ("root/root/x", "deny"),
        ("main/README.md", "deny"),
        ("proc-cwd/x", "deny"),
        ("long-0", "deny"),
        ("long-10", "nothing"),
        ("out/../x", "deny"),
        ("out/../../own/x", "nothing"),
        ("in/../x", "nothing"),
        ("missing/../out/x", "deny"),
        ("missing/../x", "nothing"),
        ("missing/../../outside/x", "deny"),
        ("../own/x", "nothing"),
        ("../own2/x", "deny"),
        ("../ow", "deny"),
        ("./././x", "nothing"),
        ("deep//dir///x/", "nothing"),
        ("file/../x", "nothing"),
    ] {
        let full = format!("{}/{path}", yard.own.display());
        assert_eq!(session.write(&full), expected, "write {path}");
        assert_eq!(session.read(&full), expected, "read {path}");
        // The same as a relative path, from where the session works.
        assert_eq!(session.write(path), expected, "write {path}, relative");
    }
    assert_eq!(session.write(format!("/proc/self/root{}/x", yard.main.display())), "deny");
    assert_eq!(session.from(Path::new("/")).write("x"), "deny", "relative to another directory");
    assert_eq!(session.from(Path::new("relative")).write("x"), "deny", "relative to nothing");
}

#[test]
fn a_path_through_a_closed_directory_is_denied() {
    let Some(drop) = without_powers() else {
        return;
    };
    let yard = Yard::new();
    let closed = yard.own.join("closed");
    fs::create_dir(&closed).unwrap();
    symlink(&yard.main, closed.join("link")).unwrap();
    let session = yard.session().with(|hook| hook.under(drop).cwd("/"));
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let said = session.call("Write", &json!({"file_path": closed.join("link/x")}));
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(matches!(&said, Said::Deny(reason) if reason.contains("may not be looked into")), "{said:?}");
}

#[test]
fn long_names_and_invisible_characters_are_denied_and_other_names_pass() {
    let yard = Yard::new();
    let session = yard.session();
    let own = yard.own.display().to_string();
    let long = |total: usize| {
        let room = total - own.len();
        let mut path = own.clone();
        path.push_str(&"/abcdefg".repeat(room / 8));
        path.push_str(&"/".repeat(room % 8));
        path
    };
    assert_eq!(long(4095).len(), 4095);
    for (what, path, expected) in [
        ("the longest path", long(4095), "nothing"),
        ("one more", long(4096), "deny"),
        ("a very long path", long(100_000), "deny"),
        ("the longest name", format!("{own}/{}", "x".repeat(255)), "nothing"),
        ("one more", format!("{own}/{}", "x".repeat(256)), "deny"),
        ("the longest name in two-byte letters", format!("{own}/{}", "é".repeat(127)), "nothing"),
        ("one more of them", format!("{own}/{}", "é".repeat(128)), "deny"),
        ("letters of all alphabets", format!("{own}/日本語/Ελληνικά/e\u{301}/🦀.txt"), "nothing"),
        ("dots that are no dots", format!("{own}/．．/．．/x"), "nothing"),
        ("three dots", format!("{own}/.../[...slug].tsx"), "nothing"),
        ("a backslash", format!("{own}/a\\..\\b"), "nothing"),
        ("a NUL", format!("{own}/a\0.txt"), "deny"),
        ("a newline", format!("{own}/a\nb"), "deny"),
        ("an escape", format!("{own}/\u{1b}[2Ja"), "deny"),
        ("a writing direction", format!("{own}/a\u{202e}txt.exe"), "deny"),
        ("a zero-width space", format!("{own}/a\u{200b}b"), "deny"),
        ("quotes and blanks", format!("{own}/it's \"a\" $(file) `x`"), "nothing"),
    ] {
        assert_eq!(session.write(&path), expected, "{what}");
        assert_eq!(session.read(&path), expected, "{what}");
    }
}

#[test]
fn writes_to_host_settings_are_denied_in_any_spelling() {
    let yard = Yard::new();
    let session = yard.session();
    for (path, expected) in [
        (".claude/settings.json", "deny"),
        (".claude/settings.local.json", "deny"),
        (".CLAUDE/SETTINGS.JSON", "deny"),
        (".Claude/Settings.Local.Json", "deny"),
        (".claude/../.claude/settings.json", "deny"),
        ("sub/dir/.claude/settings.json", "deny"),
        (".claude/./settings.json/", "deny"),
        ("toolgate.toml", "deny"),
        ("TOOLGATE.toml", "deny"),
        (".mcp.json", "ask"),
        (".claude/settings.json.md", "nothing"),
        (".claude/CLAUDE.md", "nothing"),
        ("claude/settings.json", "nothing"),
    ] {
        assert_eq!(session.write(yard.own.join(path)), expected, "{path}");
    }
    symlink(yard.own.join(".claude"), yard.own.join("innocent")).unwrap();
    assert_eq!(session.write(yard.own.join("innocent/settings.json")), "deny", "through a link");
    assert_eq!(session.read(yard.own.join(".claude/settings.json")), "nothing", "reading is harmless");
}

#[test]
fn a_write_through_a_hard_link_to_our_files_is_denied() {
    let yard = Yard::new();
    write(&yard.machine.user_settings(), "");
    write(&yard.machine.state().join("registrations.json"), r#"{"registrations":[]}"#);
    let session = yard.session();
    assert_eq!(session.write(yard.own.join("a")), "nothing");
    for (number, file) in
        [yard.machine.user_settings(), yard.machine.ledger(), yard.machine.state().join("registrations.json")]
            .iter()
            .enumerate()
    {
        let alias = yard.own.join(format!("alias-{number}"));
        fs::hard_link(file, &alias).unwrap();
        assert_eq!(session.write(&alias), "deny", "{}", file.display());
    }
    write(&yard.own.join("b"), "");
    fs::hard_link(yard.own.join("b"), yard.own.join("c")).unwrap();
    assert_eq!(session.write(yard.own.join("c")), "nothing", "two names of a file of the agent's own");
}

#[test]
fn a_write_through_a_hard_link_to_the_state_is_denied() {
    let yard = Yard::new();
    let session = yard.session();
    assert_eq!(session.write(yard.own.join("a")), "nothing");
    let pin = yard.machine.pin("s");
    let trusted = yard.machine.state().join("trusted/0123");
    let compiled = yard.machine.state().join("compiled/0123");
    let older = yard.machine.state().join("ledger.000000000001.jsonl");
    for file in [&trusted, &compiled, &older] {
        write(file, "");
    }
    for (number, file) in [pin, trusted, compiled, older].iter().enumerate() {
        let alias = yard.own.join(format!("alias-{number}"));
        fs::hard_link(file, &alias).unwrap();
        assert_eq!(session.write(&alias), "deny", "{}", file.display());
    }
}

#[test]
fn our_files_are_closed_wherever_the_registration_puts_them() {
    let yard = Yard::new();
    let (state, config) = (yard.own.join("state"), yard.own.join("config"));
    let session = yard.session().with(|hook| hook.arg("--state").arg(&state).arg("--config").arg(&config));
    assert_eq!(session.write(yard.own.join("a")), "nothing");
    assert!(state.join("ledger.jsonl").exists());
    for path in
        [state.join("ledger.jsonl"), state.join("sessions/s"), state, config.join("toolgate.toml"), config]
    {
        assert_eq!(session.write(&path), "deny", "{}", path.display());
    }
    assert_eq!(session.write(env!("CARGO_BIN_EXE_toolgate")), "deny", "the binary");
}

// --- The root is pinned -------------------------------------------------------------------------------------

#[test]
fn the_root_does_not_follow_the_agent() {
    let yard = Yard::new();
    let session = yard.session();
    assert_eq!(session.event("SessionStart", &json!({"source": "startup"})).code(), Some(0));
    let stays = |session: &Session, what: &str| {
        assert_eq!(session.write(yard.own.join("a")), "nothing", "{what}");
        assert_eq!(session.write(yard.main.join("a")), "deny", "{what}");
        assert_eq!(session.write(yard.other.join("a")), "deny", "{what}");
        assert_eq!(session.write(yard.machine.home().join("a")), "deny", "{what}");
    };
    stays(&session, "at the beginning");
    stays(&session.from(&yard.main), "from the main checkout");
    stays(&session.from(&yard.machine.home()), "from the home");
    stays(&session.from(Path::new("/")), "from the top");
    let told = session.clone().with(|hook| hook.env("CLAUDE_PROJECT_DIR", &yard.main));
    stays(&told.from(&yard.main), "with another CLAUDE_PROJECT_DIR");
    let restarted = session.from(&yard.main);
    assert_eq!(restarted.event("SessionStart", &json!({"source": "clear"})).code(), Some(0));
    stays(&restarted, "after another start of the same session");

    let dot_git = yard.own.join(".git");
    fs::write(&dot_git, format!("gitdir: {}/.git/worktrees/other\n", yard.main.display())).unwrap();
    stays(&session, "with another .git file");
    fs::remove_file(&dot_git).unwrap();
    stays(&session, "without a .git file");
    fs::create_dir(&dot_git).unwrap();
    stays(&session, "with a .git directory");
    fs::rename(yard.main.join(".git/worktrees"), yard.machine.path("moved")).unwrap();
    assert_eq!(session.write(yard.main.join("a")), "deny");
}

#[test]
fn the_root_comes_from_the_registration_then_the_host_then_the_directory() {
    let yard = Yard::new();
    // The host's word on the project comes before the working directory.
    let told =
        yard.machine.session("told", &yard.main).with(|hook| hook.env("CLAUDE_PROJECT_DIR", &yard.own));
    assert_eq!(told.write(yard.own.join("a")), "nothing");
    assert_eq!(told.write(yard.main.join("a")), "deny");
    // The registration comes before both.
    let registered = told.clone().with(|hook| hook.arg("--root").arg(&yard.other));
    assert_eq!(registered.write(yard.other.join("a")), "nothing");
    assert_eq!(registered.write(yard.own.join("a")), "deny");
    // A word that is no absolute path is none.
    let odd = yard.machine.session("odd", &yard.own).with(|hook| hook.env("CLAUDE_PROJECT_DIR", "main"));
    assert_eq!(odd.write(yard.own.join("a")), "nothing");
    assert_eq!(odd.write(yard.main.join("a")), "deny");
    // Nobody's word at all.
    let lost = json!({"hook_event_name": "PreToolUse", "session_id": "lost", "tool_name": "Write",
        "tool_input": {"file_path": yard.own.join("a"), "content": ""}});
    assert_eq!(yard.machine.hook("claude-code").event(&lost).said().word(), "deny");
}

#[test]
fn two_sessions_keep_separate_roots() {
    let yard = Yard::new();
    let one = yard.machine.session("one", &yard.own);
    let two = yard.machine.session("two", &yard.other);
    for _ in 0..2 {
        assert_eq!(one.write(yard.own.join("a")), "nothing");
        assert_eq!(one.write(yard.other.join("a")), "deny");
        assert_eq!(two.write(yard.other.join("a")), "nothing");
        assert_eq!(two.write(yard.own.join("a")), "deny");
    }
}

#[test]
fn entering_a_worktree_opens_exactly_that_one() {
    let machine = Machine::new();
    let main = machine.repository("main");
    let entered = machine.worktree(&main, "main/.claude/worktrees/w1");
    let other = machine.worktree(&main, "main/.claude/worktrees/w2");
    let away = machine.worktree(&main, "away");
    let session = machine.session("s", &main);
    let closed = |what: &str| {
        for top in [&entered, &other, &away] {
            assert_eq!(session.write(top.join("a")), "deny", "{what}: {}", top.display());
        }
    };
    closed("before");
    let after = |session: &Session, event: &str, tool: &str, path: &Path| {
        let more =
            json!({"tool_name": tool, "tool_input": {"name": "w1"}, "tool_response": {"worktreePath": path}});
        assert_eq!(session.event(event, &more).code(), Some(0));
    };
    after(&session, "PreToolUse", "EnterWorktree", &entered);
    closed("the event before the call");
    after(&session, "PostToolUseFailure", "Read", &entered);
    after(&session, "PostToolUse", "mcp__x__EnterWorktree", &entered);
    closed("another tool");
    after(&session, "PostToolUse", "EnterWorktree", &away);
    closed("a place outside of the root");
    after(&session, "PostToolUse", "EnterWorktree", &main.join(".claude/worktrees"));
    after(&session, "PostToolUse", "EnterWorktree", &main);
    closed("a place above");
    after(&session, "PostToolUse", "EnterWorktree", &entered);
    closed("one that stood there before the call, and is somebody else's");
    let entered = machine.worktree(&main, "main/.claude/worktrees/w3");
    after(&session, "PostToolUse", "EnterWorktree", &entered);
    let inside = session.from(&entered);
    assert_eq!(inside.write(entered.join("a")), "nothing");
    assert_eq!(inside.write(main.join("a")), "nothing", "the root stays open");
    assert_eq!(inside.write(other.join("a")), "deny");
    assert_eq!(inside.write(away.join("a")), "deny");
    assert_eq!(machine.session("another", &main).write(entered.join("a")), "deny", "another session");
}

#[test]
fn a_worktree_that_the_host_makes_for_a_helper_is_open_in_that_session_alone() {
    let machine = Machine::new();
    let main = machine.repository("main");
    let own = machine.worktree(&main, "own");
    let session = machine.session("s", &own);
    assert_eq!(session.write(own.join("a")), "nothing");
    let id = "a0123456789abcdef";
    let made = machine.worktree(&main, &format!("main/.claude/worktrees/agent-{id}"));
    let other = machine.worktree(&main, "main/.claude/worktrees/agent-afedcba9876543210");
    assert_eq!(session.write(made.join("a")), "deny", "nobody has called from there");
    let helper = |agent: &str, path: &Path| {
        let call = json!({"agent_id": agent, "agent_type": "general-purpose", "tool_name": "Write",
            "tool_input": {"file_path": path.join("a"), "content": ""}});
        session.from(&made).event("PreToolUse", &call).said().word().to_owned()
    };
    assert_eq!(helper("a1111111111111111", &made), "deny", "another helper");
    assert_eq!(helper(id, &other), "deny", "another helper's");
    assert_eq!(helper(id, &made), "nothing");
    assert_eq!(helper(id, &main), "deny", "the main checkout stays closed");
    assert_eq!(machine.session("another", &own).write(made.join("a")), "deny", "another session");
    // Into one of the main checkout's, the host has moved the session of a linked worktree.
    let entered = machine.worktree(&main, "main/.claude/worktrees/w1");
    let more = json!({"tool_name": "EnterWorktree", "tool_input": {"name": "w1"}, "tool_response": {"worktreePath": entered}});
    assert_eq!(session.event("PostToolUse", &more).code(), Some(0));
    assert_eq!(session.write(entered.join("a")), "nothing");
}

#[test]
fn a_session_of_codex_that_is_resumed_elsewhere_works_there() {
    let yard = Yard::new();
    let write = |at: &Path, path: &Path| {
        let patch = format!("*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch", path.join("a").display());
        // The event names a directory of the agent's choice.
        let event = json!({"session_id": "s", "cwd": yard.main, "hook_event_name": "PreToolUse",
            "tool_name": "apply_patch", "tool_input": {"command": patch}});
        let answer = yard.machine.hook("codex").cwd(at).event(&event);
        answer.code() != Some(2) && !answer.stdout.contains("\"deny\"")
    };
    let begin = |at: &Path, source: &str| {
        let event =
            json!({"session_id": "s", "cwd": at, "hook_event_name": "SessionStart", "source": source});
        assert_eq!(yard.machine.hook("codex").cwd(at).event(&event).code(), Some(0));
    };
    begin(&yard.own, "startup");
    assert!(!write(&yard.other, &yard.other), "a link in the place of the session's directory leads there");
    begin(&yard.other, "compact");
    assert!(!write(&yard.other, &yard.other), "nobody has resumed it");
    begin(&yard.other, "resume");
    for _ in 0..2 {
        assert!(write(&yard.own, &yard.own));
        assert!(!write(&yard.own, &yard.other));
        assert!(write(&yard.other, &yard.other));
        assert!(!write(&yard.other, &yard.own));
    }
}

#[test]
fn what_a_host_keeps_for_its_session_is_read_and_its_plans_are_written() {
    let yard = Yard::new();
    let home = yard.machine.home();
    let temporary = home.join(".gemini/tmp/project");
    let judged = |tool: &str, path: PathBuf| {
        let event = json!({"session_id": "0123-4567", "cwd": yard.own, "hook_event_name": "BeforeTool",
            "transcript_path": temporary.join("chats/session.jsonl"),
            "tool_name": tool, "tool_input": {"file_path": path, "content": "x"}});
        let said = yard.machine.hook("gemini").env("GEMINI_PROJECT_DIR", &yard.own).event(&event).stdout;
        said.contains("deny")
    };
    assert!(!judged("read_file", temporary.join("tool-outputs/session-1/x.txt")));
    assert!(judged("write_file", temporary.join("tool-outputs/session-1/x.txt")));
    assert!(!judged("write_file", temporary.join("0123-4567/plans/plan.md")));
    assert!(judged("write_file", temporary.join("89ab-cdef/plans/plan.md")));
    assert!(judged("read_file", home.join(".gemini/tmp/another/tool-outputs/x.txt")));
    assert!(judged("write_file", temporary.join("chats/session.jsonl")));
}

#[test]
fn a_search_of_gemini_goes_through_no_directory_that_was_added_to_it() {
    let yard = Yard::new();
    let asked = |tool: &str, input: Value| {
        let event = json!({"session_id": "0123-4567", "cwd": yard.own, "hook_event_name": "BeforeTool",
            "tool_name": tool, "tool_input": input});
        yard.machine.hook("gemini").env("GEMINI_PROJECT_DIR", &yard.own).event(&event).json()
    };
    for (tool, input) in
        [("glob", json!({"pattern": "*"})), ("grep_search", json!({"pattern": "x", "dir_path": null}))]
    {
        let said = asked(tool, input).unwrap_or_default();
        assert_eq!(said["hookSpecificOutput"]["tool_input"]["dir_path"], json!(yard.own), "{tool}: {said}");
    }
    let said = asked("glob", json!({"pattern": "*", "dir_path": "src"}));
    assert_eq!(said, None, "it names its own");
    let said = asked("list_directory", json!({"dir_path": yard.main})).unwrap_or_default();
    assert_eq!(said["decision"], "deny", "{said}");
}

/// A session of each host: no two hosts give out the same id.
fn session_of(host: &str) -> String {
    format!("{:08}-0000-4000-8000-000000000000", host.len())
}

/// What a host is told of a file tool with this path, in the words of its client.
fn file_event(host: &str, cwd: &Path, home: &Path, write: bool, path: &Path) -> Value {
    let session = session_of(host);
    let transcripts = |below: &str| home.join(below).join(format!("{session}.jsonl"));
    let common = |transcript: PathBuf, tool: &str, input: Value| {
        json!({"session_id": session, "transcript_path": transcript, "cwd": cwd,
            "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input})
    };
    match (host, write) {
        ("claude-code", false) => {
            common(transcripts(".claude/projects/-p"), "Read", json!({"file_path": path}))
        }
        ("claude-code", true) => {
            common(transcripts(".claude/projects/-p"), "Write", json!({"file_path": path, "content": "x"}))
        }
        ("codex", false) => {
            let command = format!("cat '{}'", path.display());
            common(transcripts(".codex/sessions/2026/11/15"), "Bash", json!({"command": command}))
        }
        ("codex", true) => {
            let patch = format!("*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch", path.display());
            common(transcripts(".codex/sessions/2026/11/15"), "apply_patch", json!({"command": patch}))
        }
        ("qwen", false) => {
            common(transcripts(".qwen/projects/-p/chats"), "read_file", json!({"file_path": path}))
        }
        ("qwen", true) => {
            let input = json!({"file_path": path, "content": "x"});
            common(transcripts(".qwen/projects/-p/chats"), "write_file", input)
        }
        ("copilot", write) => {
            let (tool, input) = if write {
                ("create", json!({"path": path, "file_text": "x"}))
            } else {
                ("view", json!({"path": path}))
            };
            json!({"sessionId": session, "timestamp": 1, "cwd": cwd, "toolName": tool, "toolArgs": input})
        }
        ("opencode", write) => {
            let (tool, args) = if write {
                ("write", json!({"filePath": path, "content": "x"}))
            } else {
                ("read", json!({"filePath": path}))
            };
            json!({"directory": cwd, "input": {"tool": tool, "sessionID": "ses_1", "callID": "c"},
                "output": {"args": args}})
        }
        _ => panic!("{host}"),
    }
}

#[test]
fn the_own_files_of_each_host_are_open_to_its_agent_as_the_host_uses_them() {
    const OTHER: &str = "89abcdef-0000-4000-8000-000000000000";
    let yard = Yard::new();
    let home = yard.machine.home();
    let project = toolgate_evidence::Digest::of(yard.own.as_os_str().as_encoded_bytes()).to_string();
    let project = project.rsplit(':').next().unwrap_or_default().to_owned();
    let state = format!(".copilot/session-state/{}", session_of("copilot"));
    let results = format!(".claude/projects/-p/{}/tool-results/x.txt", session_of("claude-code"));
    // The host, a path below the home, whether it is read, whether it is written.
    let rows: Vec<(&str, String, bool, bool)> = vec![
        ("claude-code", ".claude/plans/a-plan.md".into(), true, true),
        ("claude-code", ".claude/projects/-p/memory/MEMORY.md".into(), true, true),
        ("claude-code", results, true, false),
        ("claude-code", ".claude/projects/-another/memory/MEMORY.md".into(), false, false),
        ("claude-code", ".claude/settings.json".into(), false, false),
        ("codex", ".codex/memories/MEMORY.md".into(), true, false),
        ("codex", ".codex/skills/a/SKILL.md".into(), true, false),
        ("codex", ".codex/AGENTS.md".into(), true, false),
        ("codex", ".codex/auth.json".into(), false, false),
        ("copilot", format!("{state}/plan.md"), true, true),
        ("copilot", format!("{state}/files/a.md"), true, true),
        ("copilot", format!("{state}/events.jsonl"), true, false),
        ("copilot", format!(".copilot/session-state/{OTHER}/plan.md"), false, false),
        ("opencode", ".local/share/opencode/tool-output/tool_1".into(), true, false),
        ("opencode", ".local/share/opencode/plans/1-a.md".into(), true, true),
        ("opencode", ".local/share/opencode/auth.json".into(), false, false),
        ("qwen", format!(".qwen/tmp/{project}/run_shell_command_0123.output"), true, false),
        ("qwen", ".qwen/projects/-p/memory/MEMORY.md".into(), true, true),
        ("qwen", ".qwen/plans/a.md".into(), true, true),
        ("qwen", ".qwen/tmp/another/run_shell_command_0123.output".into(), false, false),
    ];
    for (host, path, read, written) in rows {
        for (write, expected) in [(false, read), (true, written)] {
            let event = file_event(host, &yard.own, &home, write, &home.join(&path));
            let hook = yard.machine.hook(host).cwd(&yard.own);
            let hook = match host {
                "copilot" => hook.arg("--event").arg("preToolUse"),
                "opencode" => hook.arg("--event").arg("tool.execute.before"),
                "claude-code" => hook.env("CLAUDE_PROJECT_DIR", &yard.own),
                "qwen" => hook.env("QWEN_PROJECT_DIR", &yard.own),
                _ => hook,
            };
            let answer = hook.event(&event);
            let denied = answer.code() == Some(2) || answer.stdout.contains("\"deny\"");
            assert_eq!(!denied, expected, "{host} {path} write {write}: {}", answer.stdout);
        }
    }
}

#[test]
fn an_odd_session_id_gets_one_pin_inside_the_state() {
    let yard = Yard::new();
    let sessions = yard.machine.state().join("sessions");
    for (number, id) in
        ["../../x", "/etc/passwd", "..", ".", "", "a/b", "a\0b", "x\n", &"x".repeat(10_240), "ü", "a.b"]
            .into_iter()
            .enumerate()
    {
        let session = yard.machine.session(id, &yard.own);
        assert_eq!(session.write(yard.own.join("a")), "nothing", "{id:?}");
        assert_eq!(session.from(&yard.main).write(yard.main.join("a")), "deny", "{id:?} is pinned too");
        let pins: Vec<PathBuf> = fs::read_dir(&sessions).unwrap().map(|pin| pin.unwrap().path()).collect();
        assert_eq!(pins.len(), number + 1, "{id:?}: {pins:?}");
    }
    let mut state: Vec<_> =
        fs::read_dir(yard.machine.state()).unwrap().map(|at| at.unwrap().file_name()).collect();
    state.sort();
    assert_eq!(state, ["approvals", "ledger.jsonl", "sessions", "tallies", "tlog"]);
    assert!(
        !yard.machine.home().join(".local/x").exists()
            && !yard.machine.home().join(".local/state/x").exists()
    );
}

// --- How git lays out worktrees -----------------------------------------------------------------------------

#[test]
fn the_root_is_found_from_a_directory_below_it() {
    let yard = Yard::new();
    let deep = yard.own.join("a/b/c");
    fs::create_dir_all(&deep).unwrap();
    let session = yard.machine.session("s", &deep);
    assert_eq!(session.write(yard.own.join("x")), "nothing");
    assert_eq!(session.write(yard.main.join("x")), "deny");
    assert_eq!(yard.machine.last_record()["root"], json!(yard.own));
}

#[test]
fn the_main_checkout_and_sibling_worktrees_are_closed_even_in_tmp() {
    for yard in [Yard::new(), Yard::on(Machine::in_tmp())] {
        let inside = yard.machine.worktree(&yard.main, "main/.worktrees/inside");
        let nested = yard.machine.worktree(&yard.main, "own/nested");
        let session = yard.session();
        for path in [&yard.main, &yard.other, &inside, &nested] {
            assert_eq!(session.read(path.join("README.md")), "deny", "read {}", path.display());
            assert_eq!(session.write(path.join("a")), "deny", "write {}", path.display());
        }
        assert_eq!(session.write(yard.own.join("a")), "nothing");
        assert_eq!(session.read(yard.main.join(".git/HEAD")), "nothing", "git's own directory may be read");
        assert_eq!(session.write(yard.main.join(".git/config")), "deny");
        assert_eq!(session.write(yard.main.join(".git/hooks/pre-commit")), "deny");
        assert_eq!(session.write(yard.main.join(".git/worktrees/own/HEAD")), "deny");
        // The person's own session in the main checkout.
        let main = yard.machine.session("m", &yard.main);
        assert_eq!(main.write(yard.main.join("a")), "nothing");
        for path in [&yard.own, &yard.other, &inside] {
            assert_eq!(main.write(path.join("a")), "deny", "from main: {}", path.display());
        }
        // An agent whose worktree lies inside the main checkout.
        let agent = yard.machine.session("i", &inside);
        assert_eq!(agent.write(inside.join("a")), "nothing");
        assert_eq!(agent.write(yard.main.join("a")), "deny");
        assert_eq!(agent.write(yard.own.join("a")), "deny");
    }
}

#[test]
fn a_worktree_with_relative_pointers_is_recognized() {
    let yard = Yard::new();
    let top = yard.machine.path("moved");
    let made = git_command(&yard.main, ["-c", "worktree.useRelativePaths=true", "worktree", "add", "-q"])
        .arg(&top)
        .status()
        .unwrap();
    assert!(made.success());
    let pointer = fs::read_to_string(top.join(".git")).unwrap();
    if pointer.starts_with("gitdir: /") {
        eprintln!("this git does not write relative pointers; they are made by hand");
        fs::write(top.join(".git"), "gitdir: ../main/.git/worktrees/moved\n").unwrap();
        fs::write(yard.main.join(".git/worktrees/moved/gitdir"), "../../../../moved/.git\n").unwrap();
    }
    let session = yard.machine.session("s", &top);
    assert_eq!(session.write(top.join("a")), "nothing");
    assert_eq!(session.read(yard.main.join(".git/HEAD")), "nothing", "the repository was found");
    assert_eq!(session.write(yard.main.join("a")), "deny");
    assert_eq!(session.write(yard.own.join("a")), "deny");
    // Seen from a sibling, it is closed.
    assert_eq!(yard.machine.session("o", &yard.own).read(top.join("README.md")), "deny");
}

/// A worktree whose `.git` file leads to a git directory that its own author made.
fn forged(machine: &Machine, common: &Path) -> PathBuf {
    let top = machine.dir("unpacked");
    let fake = top.join("fake/worktrees/x");
    write(&top.join(".git"), format!("gitdir: {}\n", fake.display()));
    write(&fake.join("gitdir"), format!("{}\n", top.join(".git").display()));
    write(&fake.join("commondir"), format!("{}\n", common.display()));
    top
}

#[test]
fn a_forged_pointer_opens_nothing_for_writing() {
    let machine = Machine::new();
    let private = machine.file("home/private/notes.txt", "");
    for common in ["home/private", "home/private/.git", "home", ""] {
        let top = forged(&machine, &machine.path(common));
        let session = machine.session(&format!("s-{}", common.len()), &top);
        assert_eq!(session.write(top.join("a")), "nothing", "{common}");
        assert_eq!(session.write(&private), "deny", "{common}");
        assert_eq!(session.write(machine.path("a")), "deny", "{common}");
    }
}

#[test]
fn a_forged_pointer_opens_nothing_for_reading() {
    let machine = Machine::new();
    let private = machine.file("home/private/notes.txt", "");
    for common in ["home/private", "home", ""] {
        let top = forged(&machine, &machine.path(common));
        let session = machine.session(&format!("s-{}", common.len()), &top);
        assert_eq!(session.read(&private), "deny", "{common}");
    }
}

#[test]
fn a_pointer_that_the_repository_does_not_confirm_is_ignored() {
    let yard = Yard::new();
    let top = yard.machine.dir("copy");
    // As if it were `own`: but git's own directory says that `own` is elsewhere.
    fs::copy(yard.own.join(".git"), top.join(".git")).unwrap();
    let session = yard.machine.session("s", &top);
    assert_eq!(session.write(top.join("a")), "nothing");
    assert_eq!(session.read(yard.main.join(".git/HEAD")), "deny");
    assert_eq!(session.write(yard.own.join("a")), "deny");
    assert_eq!(session.write(yard.main.join("a")), "deny");
}

#[test]
fn a_repository_that_is_the_home_does_not_open_the_home() {
    let machine = Machine::new();
    machine.repository("home");
    let project = machine.dir("home/projects/x");
    let session = machine.session("s", &project);
    assert_eq!(session.write(project.join("a")), "nothing");
    for path in [".bashrc", "a", "projects/y/a", ".git/config", ".config/systemd/user/x.service"] {
        assert_eq!(session.write(machine.home().join(path)), "deny", "{path}");
    }
    // Nor does one above it.
    let above = Machine::new();
    git(&above.path(""), ["init", "-q"]);
    let project = above.dir("home/projects/x");
    assert_eq!(above.session("s", &project).write(above.path("a")), "deny");
}

#[test]
fn a_repository_whose_git_directory_is_linked_is_a_root_of_its_own() {
    let machine = Machine::new();
    let outer = machine.repository("outer");
    let inner = machine.repository("outer/inner");
    fs::rename(inner.join(".git"), machine.path("inner.git")).unwrap();
    symlink(machine.path("inner.git"), inner.join(".git")).unwrap();
    assert_eq!(git(&inner, ["rev-parse", "--show-toplevel"]).trim(), inner.to_str().unwrap());
    let session = machine.session("s", &inner);
    assert_eq!(session.write(inner.join("a")), "nothing");
    assert_eq!(session.write(outer.join("a")), "deny");
}

#[test]
fn a_submodule_is_a_root_of_its_own() {
    let machine = Machine::new();
    let library = machine.repository("library");
    let superproject = machine.repository("super");
    let library = library.to_str().unwrap();
    git(&superproject, ["submodule", "--quiet", "add", library, "sub"]);
    let sub = superproject.join("sub");
    let pointer = fs::read_to_string(sub.join(".git")).unwrap();
    assert!(pointer.starts_with("gitdir: ../.git/modules/sub"), "{pointer}");
    let session = machine.session("s", &sub);
    assert_eq!(session.write(sub.join("a")), "nothing");
    assert_eq!(session.write(superproject.join("a")), "deny");
    assert_eq!(session.write(superproject.join(".git/modules/sub/hooks/pre-commit")), "deny");
    assert_eq!(session.write(sub.join(".git")), "deny");
    // From the superproject it is a directory like any other.
    let above = machine.session("a", &superproject);
    assert_eq!(above.write(sub.join("a")), "nothing");
    assert_eq!(above.write(sub.join(".git")), "deny");
}

#[test]
fn worktrees_of_a_bare_repository_are_kept_apart() {
    let machine = Machine::new();
    let main = machine.repository("main");
    let bare = machine.path("bare.git");
    git(&main, ["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let own = machine.worktree(&bare, "own");
    let other = machine.worktree(&bare, "other");
    let session = machine.session("s", &own);
    assert_eq!(session.write(own.join("a")), "nothing");
    assert_eq!(session.write(other.join("a")), "deny");
    assert_eq!(session.write(main.join("a")), "deny", "another repository");
    assert_eq!(session.read(bare.join("HEAD")), "nothing", "git's own directory may be read");
    assert_eq!(session.write(bare.join("hooks/pre-commit")), "deny");
    assert_eq!(session.write(bare.join("config")), "deny");
}

#[test]
fn an_mpm_event_without_a_directory_is_judged_where_the_hook_runs() {
    let machine = Machine::new();
    let project = machine.dir("project");
    let event = |path: PathBuf| {
        json!({"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": path}})
            .to_string()
    };
    let said = |path: PathBuf| {
        let answer = machine.hook("mpm").under(&["env", "-C", project.to_str().unwrap()]).run(event(path));
        answer.json().unwrap()["action"].clone()
    };
    assert_eq!(said(project.join("a")), "continue");
    assert_eq!(said(machine.path("elsewhere/a")), "block");
}
