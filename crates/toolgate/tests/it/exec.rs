//! `toolgate exec`: a command really contained, at both levels, looked at from outside.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Answer, Hook, Machine, git, write};

const LEVELS: [&str; 2] = ["landlock", "full"];

/// A home with keys in it, a repository, and a worktree for an agent.
struct World {
    machine: Machine,
    main: PathBuf,
    worktree: PathBuf,
}

impl World {
    fn new() -> World {
        let machine = Machine::new();
        write(&machine.home().join(".ssh/id_ed25519"), "PRIVATE-KEY");
        write(&machine.home().join(".cargo/credentials.toml"), "CRATE-TOKEN");
        write(&machine.home().join(".cargo/config.toml"), "[net]\n");
        write(&machine.home().join(".bashrc"), "# mine\n");
        let main = machine.repository("main");
        let worktree = machine.worktree(&main, "alpha");
        World { machine, main, worktree }
    }

    fn exec(&self, options: &[&str]) -> Hook {
        self.machine.toolgate().arg("exec").args(options).cwd(&self.worktree)
    }

    /// What a shell says to a script at a level.
    fn sh(&self, level: &str, script: &str) -> Answer {
        self.exec(&["--level", level, "--", "sh", "-c", script]).run("")
    }
}

#[test]
fn a_file_that_settings_only_read_neither_changes_nor_appears() {
    for level in LEVELS {
        let world = World::new();
        let entry = |name: &str| format!("[[scope]]\npath = \"{{worktree}}/{name}\"\nrights = \"read\"\n");
        write(&world.machine.user_settings(), &(entry("CLAUDE.md") + &entry("AGENTS.md") + &entry("rules")));
        write(&world.worktree.join("CLAUDE.md"), "mine\n");
        write(&world.worktree.join("rules/one.md"), "one\n");
        let answer = world.sh(
            level,
            "cat CLAUDE.md rules/one.md; echo x >> CLAUDE.md; rm -f CLAUDE.md; mv CLAUDE.md old; echo x > CLAUDE.md; \
             echo x > AGENTS.md; echo x > rules/one.md; echo x > rules/two.md; echo ok > other.md; true",
        );
        assert_eq!(
            (answer.code(), answer.stdout.as_str()),
            (Some(0), "mine\none\n"),
            "{level}: {}",
            answer.stderr
        );
        let read = |name: &str| fs::read_to_string(world.worktree.join(name)).ok();
        assert_eq!(read("CLAUDE.md").as_deref(), Some("mine\n"), "{level}: {}", answer.stderr);
        assert_eq!(read("rules/one.md").as_deref(), Some("one\n"), "{level}");
        assert_eq!((read("AGENTS.md"), read("rules/two.md")), (None, None), "{level}: {}", answer.stderr);
        assert_eq!(read("other.md").as_deref(), Some("ok\n"), "{level}");
        assert!(answer.stderr.contains("AGENTS.md"), "{level}: {}", answer.stderr);
    }
}

#[test]
fn a_contained_command_writes_its_worktree_and_temporary_files_and_nothing_else() {
    for level in LEVELS {
        let world = World::new();
        let script = format!(
            "echo made > made.txt && t=$(mktemp) && echo x > $t && cat made.txt; \
             echo x > {main}/README.md; echo x >> ~/.bashrc; echo x > ~/new; mkdir {main}/dir; echo x > /etc/new; true",
            main = world.main.display()
        );
        let answer = world.sh(level, &script);
        assert_eq!(
            (answer.code(), answer.stdout.as_str()),
            (Some(0), "made\n"),
            "{level}: {}",
            answer.stderr
        );
        let read = |path: PathBuf| fs::read_to_string(path).unwrap();
        assert_eq!(read(world.worktree.join("made.txt")), "made\n");
        assert_eq!(read(world.main.join("README.md")), "hello\n", "{level}");
        assert_eq!(read(world.machine.home().join(".bashrc")), "# mine\n", "{level}");
        assert!(!world.machine.home().join("new").exists() && !world.main.join("dir").exists(), "{level}");
        assert!(!Path::new("/etc/new").exists());
    }
}

#[test]
fn keys_and_our_own_state_cannot_be_read_and_toolchains_can() {
    for level in LEVELS {
        let world = World::new();
        write(&world.machine.state().join("marks.key"), "OUR-KEY");
        write(&world.machine.state().join("tlog/key"), "OUR-KEY");
        let script = "cat ~/.cargo/config.toml; cat ~/.ssh/id_ed25519 ~/.cargo/credentials.toml \
                      ~/.local/state/toolgate/marks.key ~/.local/state/toolgate/tlog/key /proc/1/environ; echo end";
        let answer = world.sh(level, script);
        assert_eq!(answer.stdout, "[net]\nend\n", "{level}: {}", answer.stderr);
    }
}

#[test]
fn tokens_and_sockets_are_not_in_the_environment() {
    let world = World::new();
    for level in LEVELS {
        let exec = world.exec(&["--level", level, "--", "env"]);
        let exec = exec.env("GITHUB_TOKEN", "x").env("SSH_AUTH_SOCK", "/run/x").env("LANG", "C.UTF-8");
        let told = exec.run("").stdout;
        assert!(!told.contains("GITHUB_TOKEN") && !told.contains("SSH_AUTH_SOCK"), "{told}");
        assert!(
            told.contains("LANG=C.UTF-8\n") && told.contains(&format!("TOOLGATE_CONTAINED={level}\n")),
            "{told}"
        );
    }
}

#[test]
fn instructions_of_agents_and_the_pointer_to_the_repository_stay_as_they_are_at_level_full() {
    let world = World::new();
    write(&world.worktree.join(".claude/settings.json"), "{}");
    let pointer = fs::read_to_string(world.worktree.join(".git")).unwrap();
    let answer = world.sh(
        "full",
        "echo '{\"hooks\":{}}' > .claude/settings.json; rm .git; echo x > .git; mv .claude c; true",
    );
    assert_eq!(answer.code(), Some(0), "{}", answer.stderr);
    assert_eq!(fs::read_to_string(world.worktree.join(".claude/settings.json")).unwrap(), "{}");
    assert_eq!(fs::read_to_string(world.worktree.join(".git")).unwrap(), pointer);
}

#[test]
fn the_exit_code_and_the_signal_are_the_commands() {
    let world = World::new();
    for level in LEVELS {
        assert_eq!(world.sh(level, "exit 7").code(), Some(7));
        assert_eq!(world.sh(level, "kill -TERM $$").status.signal(), Some(15));
        assert_eq!(world.sh(level, "kill -KILL $$").status.signal(), Some(9));
        let missing = world.exec(&["--level", level, "--", "no-such-program"]).run("");
        assert_eq!((missing.code(), missing.stdout.as_str()), (Some(127), ""), "{}", missing.stderr);
        let text = world.exec(&["--level", level, "--", "./README.md"]).run("");
        assert_eq!(text.code(), Some(126), "{}", text.stderr);
    }
}

#[test]
fn streams_are_the_commands_own() {
    let world = World::new();
    for level in LEVELS {
        let answer = world
            .exec(&["--level", level, "--", "sh", "-c", "cat; echo e >&2; echo again > /dev/stdout"])
            .run("in");
        assert_eq!((answer.stdout.as_str(), answer.stderr.as_str()), ("inagain\n", "e\n"), "{level}");
    }
}

#[test]
fn a_signal_sent_to_us_reaches_the_command() {
    let world = World::new();
    for level in LEVELS {
        let script = "trap 'echo got; exit 5' TERM; echo ready; while :; do sleep 0.05; done";
        let mut child = world.exec(&["--level", level, "--", "bash", "-c", script]).spawn();
        let mut ready = [0; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let answer = Answer::of(child, Instant::now());
        assert_eq!((answer.code(), answer.stdout.as_str()), (Some(5), "got\n"), "{level}: {}", answer.stderr);
    }
}

#[test]
fn without_the_network_nothing_outside_is_reached_and_the_own_loopback_works() {
    let world = World::new();
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let reach =
        format!("import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('reached')");
    for level in LEVELS {
        let at = |network: &str| {
            world
                .exec(&["--level", level, "--network", network, "--", "python3", "-c", &reach])
                .run("")
                .stdout
        };
        assert_eq!(at("all"), "reached\n", "{level}");
        assert_eq!(at("none"), "", "{level}");
    }
    let own = "import socket; s=socket.socket(); s.bind(('127.0.0.1',0)); s.listen(); \
               socket.create_connection(s.getsockname()); print('own')";
    let answer = world.exec(&["--level", "full", "--network", "none", "--", "python3", "-c", own]).run("");
    assert_eq!(answer.stdout, "own\n", "{}", answer.stderr);
}

#[test]
fn what_runs_inside_can_only_be_contained_further() {
    let world = World::new();
    let toolgate = env!("CARGO_BIN_EXE_toolgate");
    for level in LEVELS {
        let script = format!(
            "{toolgate} exec --network all -- sh -c 'echo inner > inner.txt; cat ~/.ssh/id_ed25519; echo x > {}/README.md'; cat inner.txt",
            world.main.display()
        );
        let answer = world.sh(level, &script);
        assert_eq!(answer.stdout, "inner\n", "{level}: {}", answer.stderr);
        assert_eq!(fs::read_to_string(world.main.join("README.md")).unwrap(), "hello\n");
    }
}

#[test]
fn a_variable_takes_no_protection_away() {
    let world = World::new();
    for level in LEVELS {
        let script = "echo evil > .mcp.json";
        let exec = world.exec(&["--level", level, "--", "sh", "-c", script]);
        let answer = exec.env("TOOLGATE_CONTAINED", level).run("");
        assert!(!world.worktree.join(".mcp.json").exists(), "{level}: {}", answer.stderr);
    }
}

#[test]
fn a_level_below_the_required_one_runs_nothing() {
    let world = World::new();
    write(&world.machine.user_settings(), "[containment]\nrequire = \"full\"\n");
    let answer = world.sh("landlock", "echo ran > ran.txt");
    assert_eq!((answer.code(), answer.stdout.as_str()), (Some(125), ""));
    assert!(answer.stderr.contains("require"), "{}", answer.stderr);
    assert!(!world.worktree.join("ran.txt").exists());
    assert_eq!(world.sh("full", "echo ran").stdout, "ran\n");
}

#[test]
fn a_command_that_runs_too_long_is_ended_and_the_limit_is_named() {
    let world = World::new();
    write(&world.machine.user_settings(), "[containment]\nseconds = 1\n");
    for level in LEVELS {
        let started = Instant::now();
        let answer = world.sh(level, "sleep 60; echo late");
        assert_eq!(answer.stdout, "", "{level}");
        assert!(answer.stderr.contains("[containment] seconds"), "{level}: {}", answer.stderr);
        assert!(started.elapsed() < Duration::from_secs(30), "{level}");
    }
}

#[test]
fn limits_that_only_the_programs_are_told_of_are_named_when_a_command_fails() {
    let world = World::new();
    let limits = "[containment]\nmemory = 600\nprocesses = 60\n";
    write(&world.machine.user_settings(), limits);
    let is_root = rustix::process::geteuid().is_root();
    let memory = "python3 -c 'bytearray(1 << 30)'";
    let processes = "for n in $(seq 200); do sleep 4 > /dev/null 2>&1 & done; sleep 2; exit 3";
    for level in LEVELS {
        let said = world.sh(level, memory).stderr;
        assert!(said.contains("MemoryError") && said.contains("600 MiB"), "{level}: {said}");
        assert!(said.contains("[containment] memory"), "{level}: {said}");
        let answer = world.sh(level, processes);
        assert!(answer.stderr.contains("[containment] processes"), "{level}: {}", answer.stderr);
        // The kernel refuses all users but root.
        assert!(!is_root || answer.stderr.contains("was ended"), "{level}: {}", answer.stderr);
        for quiet in ["true", "kill -INT $$", "head -c 9 /dev/zero | true"] {
            let said = world.sh(level, quiet).stderr;
            assert!(!said.contains("at most"), "{level}: {quiet}: {said}");
        }
    }
}

#[test]
fn a_file_grows_no_larger_than_its_limit() {
    let world = World::new();
    write(&world.machine.user_settings(), "[containment]\nfile-size = 1\n");
    for level in LEVELS {
        world.sh(level, "head -c 3000000 /dev/zero > big");
        assert_eq!(fs::metadata(world.worktree.join("big")).unwrap().len(), 1024 * 1024, "{level}");
    }
}

#[test]
fn a_background_job_outlives_the_call_and_stays_contained() {
    for level in LEVELS {
        let world = World::new();
        let script = format!(
            "(sleep 1; echo x > {}/README.md; echo later > later.txt) >/dev/null 2>&1 </dev/null & echo first",
            world.main.display()
        );
        let started = Instant::now();
        let answer = world.sh(level, &script);
        assert_eq!(answer.stdout, "first\n", "{level}: {}", answer.stderr);
        assert!(started.elapsed() < Duration::from_secs(1), "{level}: the call does not wait for it");
        let file = world.worktree.join("later.txt");
        while !file.exists() && started.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(50));
        }
        assert!(file.exists(), "{level}");
        assert_eq!(fs::read_to_string(world.main.join("README.md")).unwrap(), "hello\n", "{level}");
    }
}

/// The small program compiles no settings. Once they are compiled it needs nobody.
#[test]
fn the_small_program_contains_by_itself_and_hands_over_what_it_cannot_do() {
    let world = World::new();
    let bin = world.machine.home().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let install = |from: &str, name: &str| {
        let to = bin.join(name);
        fs::hard_link(from, &to).or_else(|_| fs::copy(from, &to).map(drop)).unwrap();
    };
    install(env!("CARGO_BIN_EXE_toolgate-hook"), "toolgate");
    install(env!("CARGO_BIN_EXE_toolgate"), "toolgate-cli");
    let small = |words: &[&str]| {
        let exec = Hook::new(bin.join("toolgate").to_str().unwrap())
            .env("HOME", world.machine.home())
            .cwd(&world.worktree);
        exec.arg("exec").args(words).run("")
    };
    let first = small(&["--", "echo", "first"]);
    assert_eq!((first.code(), first.stdout.as_str()), (Some(0), "first\n"), "{}", first.stderr);
    let help = small(&["--help"]);
    assert!(help.stdout.contains("--level"), "{}", help.stderr);
    fs::remove_file(bin.join("toolgate-cli")).unwrap();
    for level in LEVELS {
        let script = "cat ~/.ssh/id_ed25519; echo inside > inside.txt; exit 7";
        let answer = small(&["--level", level, "--", "sh", "-c", script]);
        assert_eq!((answer.code(), answer.stdout.as_str()), (Some(7), ""), "{level}: {}", answer.stderr);
        assert_eq!(fs::read_to_string(world.worktree.join("inside.txt")).unwrap(), "inside\n", "{level}");
        let killed = small(&["--level", level, "--", "sh", "-c", "kill -TERM $$"]);
        assert_eq!(killed.status.signal(), Some(15), "{level}: {}", killed.stderr);
    }
    // What it cannot do alone is not run.
    write(&world.machine.user_settings(), "[containment]\nseconds = 60\n");
    let stale = small(&["--", "touch", "ran.txt"]);
    assert_ne!(stale.code(), Some(0));
    assert!(!world.worktree.join("ran.txt").exists());
}

#[test]
fn a_cache_that_the_user_does_not_have_is_private_and_leads_nowhere_else() {
    let world = World::new();
    let cache = world.machine.home().join(".npm");
    let answer = world.sh("full", "echo kept > ~/.npm/a && mkdir -p ~/.cache/b && cat ~/.npm/a");
    assert_eq!(answer.stdout, "kept\n", "{}", answer.stderr);
    assert_eq!(world.sh("full", "cat ~/.npm/a").stdout, "kept\n");
    assert!(!cache.exists() && !world.machine.home().join(".cache").exists());
    let script = format!("own=$(readlink ~/.npm) && rm -r $own && ln -s {} $own", world.main.display());
    assert_eq!(world.sh("full", &script).code(), Some(0));
    assert_eq!(world.sh("full", "echo x > ~/.npm/README.md; echo end").stdout, "end\n");
    assert_eq!(fs::read_to_string(world.main.join("README.md")).unwrap(), "hello\n");
    write(&cache.join("a"), "mine\n");
    assert_eq!(world.sh("full", "cat ~/.npm/a; echo x > ~/.npm/b; cat ~/.npm/b").stdout, "mine\nx\n");
    assert!(!cache.join("b").exists());
}

#[test]
fn a_cache_is_not_made_in_a_home_that_may_be_written() {
    let world = World::new();
    let home = world.machine.home();
    write(
        &world.machine.user_settings(),
        format!("[[scope]]\npath = \"{}\"\nrights = \"write\"\n", home.display()),
    );
    let answer = world.sh("full", "echo made > ~/made; cat ~/made");
    assert_eq!(answer.stdout, "made\n", "{}", answer.stderr);
    assert!(!home.join(".npm").exists() && !home.join(".bun").exists());
}

#[test]
fn without_layers_a_program_is_given_a_cache_that_it_can_write() {
    let world = World::new();
    let own = world.worktree.join("cache");
    let (own, closed) = (own.to_str().unwrap(), "/srv/cache");
    let script = "mkdir -p $GOCACHE && echo x > $GOCACHE/x && cat $GOCACHE/x; echo $npm_config_cache";
    for (cache, is_kept) in [(own, true), (closed, false)] {
        let exec = world.exec(&["--level", "landlock", "--", "sh", "-c", script]);
        let answer = exec.env("npm_config_cache", cache).run("");
        let (first, second) = answer.stdout.split_once('\n').unwrap();
        assert_eq!((first, second.trim() == cache), ("x", is_kept), "{}", answer.stderr);
    }
}

#[test]
fn outside_of_a_worktree_nothing_is_run() {
    let machine = Machine::new();
    let answer = machine.toolgate().args(["exec", "--", "echo", "ran"]).cwd("/").run("");
    assert_eq!((answer.code(), answer.stdout.as_str()), (Some(125), ""), "{}", answer.stderr);
    assert!(answer.stderr.contains("--root"), "{}", answer.stderr);
}

#[test]
fn a_commit_made_inside_is_there_outside_and_other_branches_are_as_they_were() {
    for level in LEVELS {
        let world = World::new();
        let before = git(&world.main, ["rev-parse", "main"]);
        let script = "git config user.email >/dev/null; echo new > new.txt && git add new.txt && \
                      git -c user.name=a -c user.email=a@example.com commit -q -m inside; \
                      git update-ref refs/heads/main HEAD; true";
        let answer = world.sh(level, script);
        assert_eq!(answer.code(), Some(0), "{level}: {}", answer.stderr);
        assert_eq!(
            git(&world.main, ["log", "-1", "--format=%s", "alpha"]).trim(),
            "inside",
            "{level}: {}",
            answer.stderr
        );
        git(&world.main, ["fsck", "--full", "--strict"]);
        if level == "full" {
            assert_eq!(git(&world.main, ["rev-parse", "main"]), before, "{level}");
        }
    }
}

#[test]
fn explain_says_what_was_tried_and_is_refused_and_changes_nothing() {
    for level in LEVELS {
        let world = World::new();
        let main = world.main.display();
        let script = format!(
            "cat ~/.ssh/id_ed25519; cat ~/.cargo/credentials.toml; echo x > {main}/README.md; echo x > {main}/new; mkdir -p {main}/a; \
             cat ~/.cargo/config.toml; echo made > made.txt; cat missing {main}/missing; exit 3"
        );
        let answer = world.exec(&["--level", level, "--explain", "--", "bash", "-c", &script]).run("");
        assert_eq!(
            (answer.code(), answer.stdout.as_str()),
            (Some(3), "[net]\n"),
            "{level}: {}",
            answer.stderr
        );
        let told = answer.stderr.split_once("toolgate: the command tried what the sandbox refuses:\n");
        let (_, told) = told.unwrap_or_else(|| panic!("{level}: {}", answer.stderr));
        let home = world.machine.home();
        for (path, verb, rule) in [
            (home.join(".ssh/id_ed25519"), "read", "secret-file"),
            (home.join(".cargo/credentials.toml"), "read", "secret-file"),
            (world.main.join("README.md"), "written", "outside-scope"),
            (world.main.join("new"), "written", "outside-scope"),
            (world.main.join("a"), "written", "outside-scope"),
        ] {
            let start = format!("- `{}` cannot be {verb} in the sandbox: ", path.display());
            let line = told.lines().find(|line| line.starts_with(&start));
            assert!(line.is_some_and(|line| line.ends_with(&format!("[{rule}]"))), "{level} {start}: {told}");
        }
        assert!(told.contains("    # Only existing paths can be opened: create it first"), "{level}: {told}");
        // What is allowed, and what nobody could have had, is not spoken of.
        for name in ["made.txt", "missing", "config.toml", "mkdir"] {
            assert!(!told.contains(name), "{level} {name}: {told}");
        }
        assert_eq!(fs::read_to_string(world.main.join("README.md")).unwrap(), "hello\n", "{level}");
        assert!(!world.main.join("new").exists() && !world.main.join("a").exists(), "{level}");
    }
}

#[test]
fn explain_says_that_the_program_itself_is_closed() {
    let world = World::new();
    let program = world.machine.home().join("bin/own");
    write(&program, "#!/bin/sh\necho ran\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    for (level, code) in [("landlock", 126), ("full", 127)] {
        let answer = world.exec(&["--level", level, "--explain", "--", program.to_str().unwrap()]).run("");
        assert_eq!((answer.code(), answer.stdout.as_str()), (Some(code), ""), "{level}: {}", answer.stderr);
        assert!(
            answer.stderr.contains(&format!("- `{}` cannot be read", program.display())),
            "{}",
            answer.stderr
        );
    }
}

#[test]
fn an_observed_command_that_never_pauses_is_ended_in_time() {
    let world = World::new();
    write(&world.machine.user_settings(), "[containment]\nseconds = 1\n");
    for level in LEVELS {
        let started = Instant::now();
        let busy = "while :; do : < /etc/hostname; done & while :; do : < /etc/hostname; done";
        let answer = world.exec(&["--level", level, "--explain", "--", "bash", "-c", busy]).run("");
        assert!(answer.stderr.contains("[containment] seconds"), "{level}: {}", answer.stderr);
        assert!(started.elapsed() < Duration::from_secs(30), "{level}");
    }
}

#[test]
fn explain_names_addresses_where_there_is_no_network() {
    let world = World::new();
    let script = "import socket; socket.socket().connect(('192.0.2.7', 80))";
    let exec =
        world.exec(&["--level", "full", "--network", "none", "--explain", "--", "python3", "-c", script]);
    let told = exec.run("").stderr;
    assert!(told.contains("`192.0.2.7:80` cannot be reached"), "{told}");
    assert!(told.contains("    [network]\n    mode = \"all\"\n"), "{told}");
}

#[test]
fn what_learn_prints_opens_what_was_refused() {
    for level in LEVELS {
        let world = World::new();
        let shared = world.machine.home().join("shared");
        for name in ["a", "b", "c", "d", "e"] {
            write(&shared.join(name), name);
        }
        write(&world.machine.home().join("notes.txt"), "");
        let script = format!(
            "cat {0}/a {0}/b {0}/c {0}/d {0}/e && echo x > {1}/notes.txt && echo all",
            shared.display(),
            world.machine.home().display()
        );
        let mut settings = String::new();
        // What comes after a refusal is known only once that is opened.
        for round in 0..3 {
            let answer = world.exec(&["--level", level, "--learn", "--", "bash", "-c", &script]).run("");
            if answer.stdout.ends_with("all\n") {
                assert!(round > 0, "{level}: nothing was refused");
                break;
            }
            let (_, learned) = answer.stderr.split_once("for your own settings file:\n").unwrap();
            settings.push_str(learned);
            write(&world.machine.user_settings(), &settings);
        }
        assert_eq!(
            fs::read_to_string(world.machine.home().join("notes.txt")).unwrap_or_default(),
            "x\n",
            "{level}: {settings}"
        );
        assert!(!settings.contains("make it first"), "{level}: {settings}");
        // The directory, and not each file in it.
        assert!(settings.contains(&format!("path = \"{}\"\n", shared.display())), "{level}: {settings}");
    }
}

#[test]
fn an_observed_background_job_goes_on_when_nobody_looks_any_more() {
    for level in LEVELS {
        let world = World::new();
        let script = "(sleep 0.5; cat /etc/hostname >/dev/null; echo later > later.txt) >/dev/null 2>&1 </dev/null & echo first";
        let answer = world.exec(&["--level", level, "--explain", "--", "bash", "-c", script]).run("");
        assert_eq!(answer.stdout, "first\n", "{level}: {}", answer.stderr);
        let (file, started) = (world.worktree.join("later.txt"), Instant::now());
        while !file.exists() && started.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(50));
        }
        assert!(file.exists(), "{level}");
    }
}

#[test]
fn where_somebody_looks_on_already_the_command_runs_and_that_is_said() {
    let world = World::new();
    let toolgate = env!("CARGO_BIN_EXE_toolgate");
    let script = format!("{toolgate} exec --explain -- sh -c 'echo inner'");
    let answer = world.exec(&["--explain", "--", "sh", "-c", &script]).run("");
    assert_eq!((answer.code(), answer.stdout.as_str()), (Some(0), "inner\n"), "{}", answer.stderr);
    assert!(
        answer.stderr.contains("toolgate could not watch it: the command is watched already"),
        "{}",
        answer.stderr
    );
}

#[test]
fn the_hint_to_ask_is_for_people_at_a_terminal_alone() {
    let world = World::new();
    for level in LEVELS {
        assert_eq!(world.sh(level, "exit 7").stderr, "", "{level}");
        let on_terminal = |options: &str, code: u8| {
            let toolgate = env!("CARGO_BIN_EXE_toolgate");
            let exec = format!("'{toolgate}' exec --level {level} {options} -- sh -c 'exit {code}'");
            world.exec(&[]).instead(&["script", "-qec", &exec, "/dev/null"]).run("").stdout
        };
        assert!(on_terminal("", 7).contains("toolgate: run it with --explain"), "{level}");
        assert!(!on_terminal("", 0).contains("--explain"), "{level}");
        assert!(!on_terminal("--explain", 7).contains("run it with"), "{level}");
    }
}
