//! What the rules about an agent leave to a program that it runs contained: the built binary, at both levels, looked at from outside.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Answer, Machine, Said, write};

const LEVELS: [&str; 2] = ["landlock", "full"];

/// A worktree with sources and documents in it.
struct World {
    machine: Machine,
    worktree: PathBuf,
}

impl World {
    fn new(settings: &str) -> World {
        let machine = Machine::new();
        let main = machine.repository("main");
        let worktree = machine.worktree(&main, "alpha");
        for (name, text) in
            [("src/auth.ts", "auth"), ("src/menu.ts", "menu"), ("docs/a.md", "a"), ("target/x", "x")]
        {
            write(&worktree.join(name), text);
        }
        write(&machine.user_settings(), settings);
        World { machine, worktree }
    }

    /// What a shell says to a script of an agent in this role at a level.
    fn sh(&self, role: &str, level: &str, script: &str) -> Answer {
        let exec = self.machine.toolgate().arg("exec").args(["--role", role, "--level", level]);
        exec.args(["--", "sh", "-c", script]).cwd(&self.worktree).run("")
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.worktree.join(name)).unwrap_or_default()
    }
}

#[test]
fn a_role_with_a_list_writes_that_and_nothing_else() {
    for level in LEVELS {
        let world = World::new("[role.docs]\nwrite = [\"docs/**\"]\n");
        let script = "cat src/auth.ts; echo new > docs/b.md; echo evil > src/auth.ts; echo evil > new.txt; \
                      rm -rf src target; mv docs gone; ln -s ../src docs/l && echo evil > docs/l/menu.ts; \
                      git add docs && git commit -qm docs; true";
        let answer = world.sh("docs", level, script);
        assert_eq!((answer.code(), answer.stdout.as_str()), (Some(0), "auth"), "{level}: {}", answer.stderr);
        assert_eq!(
            (world.read("docs/b.md"), world.read("docs/a.md")),
            ("new\n".to_owned(), "a".to_owned()),
            "{level}"
        );
        assert_eq!(
            (world.read("src/auth.ts"), world.read("src/menu.ts")),
            ("auth".to_owned(), "menu".to_owned()),
            "{level}"
        );
        assert!(
            !world.worktree.join("new.txt").exists() && world.worktree.join("target/x").exists(),
            "{level}"
        );
        // Another role has no limits.
        let answer = world.sh("other", level, "echo new > src/auth.ts");
        assert_eq!(
            (answer.code(), world.read("src/auth.ts")),
            (Some(0), "new\n".to_owned()),
            "{level}: {}",
            answer.stderr
        );
    }
}

#[test]
fn a_link_that_an_agent_has_made_opens_nothing() {
    for level in LEVELS {
        let world = World::new("[role.docs]\nwrite = [\"made/**\"]\n");
        std::os::unix::fs::symlink("src", world.worktree.join("made")).unwrap();
        let answer = world.sh("docs", level, "echo evil > made/auth.ts; echo evil > made/new; true");
        assert_eq!(answer.code(), Some(0), "{level}: {}", answer.stderr);
        assert_eq!(world.read("src/auth.ts"), "auth", "{level}");
        assert!(!world.worktree.join("src/new").exists(), "{level}");
    }
}

#[test]
fn what_a_role_may_not_write_stays_and_what_it_may_not_read_is_not_seen() {
    for level in LEVELS {
        let world = World::new("[role.dev]\nnot-write = [\"src/auth.ts\", \"**/*.md\"]\n");
        let script =
            "echo evil > src/auth.ts; rm -f docs/a.md; echo new > src/menu.ts; echo new > src/other.ts; true";
        let answer = world.sh("dev", level, script);
        assert_eq!(answer.code(), Some(0), "{level}: {}", answer.stderr);
        assert_eq!(
            (world.read("src/auth.ts"), world.read("docs/a.md")),
            ("auth".to_owned(), "a".to_owned()),
            "{level}"
        );
        assert_eq!(
            (world.read("src/menu.ts"), world.read("src/other.ts")),
            ("new\n".to_owned(), "new\n".to_owned()),
            "{level}"
        );
    }
    let world = World::new("[role.dev]\nnot-read = [\"docs\"]\n");
    let answer = world.sh("dev", "full", "cat docs/a.md; cat src/auth.ts");
    assert_eq!(answer.stdout, "auth", "{}", answer.stderr);
    // That is more than Landlock can hold, so nothing runs.
    let answer = world.sh("dev", "landlock", "cat src/auth.ts");
    assert_eq!((answer.code(), answer.stdout.as_str()), (Some(125), ""));
    assert!(answer.stderr.contains("needs level full"), "{}", answer.stderr);
}

#[test]
fn an_agent_with_a_list_writes_that_and_builds_for_the_first_time() {
    for level in LEVELS {
        let world = World::new("[policy.ownership]\nenabled = true\n");
        let register = ["agent", "add", "ripley", "--write", "src/**", "--role", "dev"];
        let added = world.machine.toolgate().args(register).cwd(&world.worktree).run("");
        assert_eq!(added.code(), Some(0), "{}", added.stderr);
        fs::remove_dir_all(world.worktree.join("target")).unwrap();
        write(&world.worktree.join("Cargo.toml"), "[package]\n");
        let exec = world.machine.toolgate().arg("exec").args(["--agent", "ripley", "--level", level]);
        let script = "echo x > target/built; echo new > src/auth.ts; echo evil > docs/a.md; true";
        let answer = exec.args(["--", "sh", "-c", script]).cwd(&world.worktree).run("");
        assert_eq!(answer.code(), Some(0), "{level}: {}", answer.stderr);
        assert_eq!(
            (world.read("target/built"), world.read("src/auth.ts")),
            ("x\n".to_owned(), "new\n".to_owned()),
            "{level}: {}",
            answer.stderr
        );
        assert_eq!(world.read("docs/a.md"), "a", "{level}");
    }
}

#[test]
fn a_role_that_reads_changes_nothing_and_commits_nothing() {
    for level in LEVELS {
        let world = World::new("[policy.read-only-role]\nroles = [\"reviewer\"]\n");
        let script = "cat src/auth.ts; echo evil > src/auth.ts; t=$(mktemp) && echo x > $t && echo temporary; \
                      git commit -q --allow-empty -m evil; true";
        let answer = world.sh("reviewer", level, script);
        assert_eq!(
            (answer.code(), answer.stdout.as_str()),
            (Some(0), "authtemporary\n"),
            "{level}: {}",
            answer.stderr
        );
        assert_eq!(world.read("src/auth.ts"), "auth", "{level}");
        let log =
            Command::new("git").args(["log", "--format=%s"]).current_dir(&world.worktree).output().unwrap();
        assert!(!String::from_utf8_lossy(&log.stdout).contains("evil"), "{level}");
    }
}

#[test]
fn a_hook_sends_a_role_into_its_own_sandbox_and_says_why_something_failed() {
    let world = World::new(
        "[containment]\nwhen = \"always\"\n[team]\nmain = \"docs\"\n[role.docs]\nwrite = [\"docs/**\"]\n",
    );
    let session = world.machine.session("s-1", &world.worktree);
    // Nobody knows beforehand what it does.
    let program = "open('docs/b.md', 'w').write('new')\nopen('src/auth.ts', 'w').write('evil')\n";
    write(&world.worktree.join("x.py"), program);
    let command = "python3 x.py";
    let Said::Rewrite(changed) = session.call("Bash", &json!({ "command": command })) else {
        panic!("not rewritten")
    };
    let output = world.machine.path("output");
    let file = fs::File::create(&output).unwrap();
    let ran = Command::new("/bin/bash")
        .args(["-c", changed["command"].as_str().unwrap()])
        .env("HOME", world.machine.home())
        .current_dir(&world.worktree)
        .stdout(file.try_clone().unwrap())
        .stderr(file)
        .status()
        .unwrap();
    assert!(!ran.success());
    let told = fs::read_to_string(output).unwrap();
    assert_eq!(
        (world.read("docs/b.md").as_str(), world.read("src/auth.ts").as_str()),
        ("new", "auth"),
        "{told}"
    );
    assert!(told.contains("role leaves it out") && told.contains("[role-scope]"), "{told}");
    let record = world.machine.last_record();
    assert!(record["contained"]["denied"][0].as_str().unwrap().contains("[role-scope]"), "{record}");
    assert!(["full", "landlock"].contains(&record["contained"]["level"].as_str().unwrap()), "{record}");
}

#[test]
fn a_sandbox_that_leaks_contains_nothing() {
    let world = World::new("");
    let session = world.machine.session("s-1", &world.worktree);
    let call = || session.call("Bash", &json!({ "command": "python3 x.py" }));
    assert!(matches!(call(), Said::Rewrite(_)));
    let notes = world.machine.state().join("self-test");
    let notes: Vec<PathBuf> = fs::read_dir(notes).unwrap().map(|note| note.unwrap().path()).collect();
    let [note] = notes.as_slice() else { panic!("one note, and nothing else is left: {notes:?}") };
    assert_eq!(fs::read_to_string(note).unwrap(), "holds");
    fs::write(note, "read").unwrap();
    let Said::Ask(reason) = call() else { panic!("{:?}", call()) };
    assert!(reason.contains("failed its self-test: a closed file could be read"), "{reason}");
    // It is found out anew where nobody knows.
    fs::remove_file(note).unwrap();
    assert!(matches!(call(), Said::Rewrite(_)));
    assert_eq!(fs::read_to_string(note).unwrap(), "holds");
}

#[test]
fn the_doctor_says_at_which_level_a_host_is_contained_and_what_stands_in_the_way() {
    let world = World::new("");
    let sandbox = |host: &str| {
        let asked = ["doctor", "--host", host, "--json"];
        let answer = world.machine.toolgate().args(asked).cwd(&world.worktree).run("");
        let found: Value = serde_json::from_str(&answer.stdout).unwrap();
        let checks = found["hosts"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|host| host["checks"].as_array().cloned().unwrap_or_default());
        let own = checks.filter(|check| check["id"] == "sandbox");
        own.map(|check| check["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join("\n")
    };
    let told = sandbox("claude-code");
    assert!(told.contains("the self-test could not escape"), "{told}");
    assert!(told.contains("at level full") || told.contains("level full is not available: "), "{told}");
    assert!(!told.contains("sandbox of its own"), "{told}");
    write(&world.worktree.join(".claude/settings.local.json"), "{\"sandbox\": {\"enabled\": true}}");
    let told = sandbox("claude-code");
    assert!(told.contains("`sandbox.enabled` is true") && told.contains("a sandbox of its own"), "{told}");
    assert!(told.contains("cannot write its state in there"), "{told}");
    let open = "{\"sandbox\": {\"enabled\": true, \"filesystem\": {\"allowWrite\": [\"~/\"]}}}";
    write(&world.worktree.join(".claude/settings.local.json"), open);
    let told = sandbox("claude-code");
    assert!(told.contains("state is open in there") && told.contains("at level landlock"), "{told}");
    assert!(sandbox("codex").contains("no `sandbox_mode` is set"));
    let codex = world.worktree.join(".codex/config.toml");
    write(&codex, "sandbox_mode = \"danger-full-access\"\n");
    assert!(!sandbox("codex").contains("of its own"));
    write(&codex, "sandbox_mode = \"workspace-write\"\n");
    assert!(sandbox("codex").contains("`sandbox_mode` is \"workspace-write\""));
    write(&world.worktree.join(".gemini/settings.json"), "{\"tools\": {\"sandbox\": \"docker\"}}");
    assert!(sandbox("gemini").contains("`tools.sandbox` is \"docker\""));
    for host in ["qwen", "cursor"] {
        let told = sandbox(host);
        assert!(told.contains("cannot run a command in a sandbox"), "{host}: {told}");
    }
    write(&world.machine.user_settings(), "[containment]\nwhen = \"never\"\n");
    assert!(sandbox("claude-code").contains("nothing is contained"));
}
