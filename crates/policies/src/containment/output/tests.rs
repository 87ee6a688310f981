//! Outputs as the tools print them in the sandbox, at each level, and what is said about them.

use toolgate_model::{Place, Places};

use std::path::PathBuf;

use super::super::narrowed::Narrowed;
use super::*;
use crate::Settings;
use crate::outside_scope::{Rights, ScopeEntry};

const FULL: ContainmentLevel = ContainmentLevel::Full;
const LANDLOCK: ContainmentLevel = ContainmentLevel::Landlock;

fn settings() -> Settings {
    let entry = |(id, path, rights): (&str, &str, Rights)| ScopeEntry {
        id: id.to_owned(),
        ..ScopeEntry::new(path, rights)
    };
    let scope = [
        ("", "{home}", Rights::None),
        ("", "{worktree}", Rights::Write),
        ("", "{main}", Rights::None),
        ("", "{siblings}", Rights::None),
        ("", "{git}", Rights::Read),
        ("", "/tmp", Rights::Write),
        ("", "/usr", Rights::Read),
        ("", "/etc", Rights::Read),
        ("", "/proc", Rights::Read),
        ("", "~/.cargo", Rights::Read),
        ("logs", "{worktree}/logs", Rights::Read),
    ];
    Settings { scope: scope.into_iter().map(entry).collect(), ..Settings::default() }
}

fn places() -> Places {
    Places {
        root: Some(Place::plain("/repo/wt")),
        main: Some(Place::plain("/repo")),
        git: Some(Place::plain("/repo/.git")),
        home: Some(Place::plain("/home/u")),
        siblings: vec![Place::plain("/repo/other")],
        own: vec![Place::plain("/home/u/.config/toolgate"), Place::plain("/home/u/.local/state/toolgate")],
        ..Places::default()
    }
}

fn terms(network: NetworkMode) -> Containment {
    let (mut settings, places) = (settings(), places());
    settings.network.mode = network;
    Containment::of(&[(&settings, &places)], &Narrowed::default())
}

/// What is there outside: `true` where the person could write it.
const THERE: &[(&str, bool)] = &[
    ("/srv/data.txt", true),
    ("/srv", true),
    ("/home/u", true),
    ("/home/u/.ssh/id", true),
    ("/home/u/.cargo", true),
    ("/home/u/.cargo/credentials.toml", true),
    ("/home/u/.bashrc", true),
    ("/repo", true),
    ("/repo/README.md", true),
    ("/repo/other/a", true),
    ("/repo/.git/config", true),
    ("/repo/wt", true),
    ("/repo/wt/.claude", true),
    ("/repo/wt/.claude/settings.json", true),
    ("/repo/wt/.git", true),
    ("/repo/wt/mine", false),
    ("/etc", true),
    ("/etc/hosts", true),
    ("/etc/locked", false),
    ("/tmp", true),
    ("/tmp/theirs", true),
    ("/var/run/docker.sock", true),
];

fn outside(path: &Path) -> Option<FoundOutside> {
    // A link of the worktree that leads to a key.
    if path == Path::new("/repo/wt/link") {
        return Some(FoundOutside { leads_to: Some("/home/u/.ssh/id".into()), is_writable: true });
    }
    let found = THERE.iter().find(|(there, _)| path == Path::new(there));
    let above = || THERE.iter().find(|(there, _)| Path::new(there).starts_with(path));
    Some(FoundOutside { leads_to: None, is_writable: found.or_else(above)?.1 })
}

fn found(level: ContainmentLevel, network: NetworkMode, output: &str) -> Vec<DeniedInside> {
    denied_in_output(&terms(network), Path::new("/repo/wt"), &outside, level, output.as_bytes())
}

fn said(level: ContainmentLevel, output: &str) -> Vec<String> {
    let word = |wanted| match wanted {
        Wanted::Read => "read",
        Wanted::Write => "write",
        Wanted::Connect => "reach",
    };
    let found = found(level, NetworkMode::None, output);
    found
        .into_iter()
        .map(|denied| format!("{} {} [{}]", word(denied.wanted), denied.target, denied.rule))
        .collect()
}

/// A level, what is printed, and what is said about it.
const TABLE: &[(ContainmentLevel, &str, &str)] = &[
    // coreutils
    (LANDLOCK, "cat: /srv/data.txt: Permission denied", "read /srv/data.txt [outside-scope]"),
    (FULL, "cat: /srv/data.txt: No such file or directory", "read /srv/data.txt [outside-scope]"),
    (LANDLOCK, "cat: /home/u/.ssh/id: Permission denied", "read /home/u/.ssh/id [secret-file]"),
    (FULL, "cat: /home/u/.ssh/id: No such file or directory", "read /home/u/.ssh/id [secret-file]"),
    (LANDLOCK, "cat: link: Permission denied", ""),
    // A shell's own name is not what it could not use.
    (LANDLOCK, "/bin/bash: line 1: cd: a: Permission denied", ""),
    (LANDLOCK, "/bin/bash: line 12: /srv/data.txt: Permission denied", "read /srv/data.txt [outside-scope]"),
    (
        LANDLOCK,
        "E: Could not open lock file /srv/data.txt - open (13: Permission denied)",
        "read /srv/data.txt [outside-scope]",
    ),
    (LANDLOCK, "cat: ./link: Permission denied", "read /repo/wt/link [secret-file]"),
    (
        LANDLOCK,
        "ls: cannot open directory '/home/u/.cargo': Permission denied",
        "read /home/u/.cargo [secret-file]",
    ),
    (LANDLOCK, "tee: /etc/hosts: Permission denied", "write /etc/hosts [outside-scope]"),
    (FULL, "tee: /etc/hosts: Read-only file system", "write /etc/hosts [outside-scope]"),
    (LANDLOCK, "cp: cannot create regular file '/srv/b': Permission denied", "write /srv/b [outside-scope]"),
    (
        FULL,
        "cp: cannot create regular file '/srv/b': No such file or directory",
        "write /srv/b [outside-scope]",
    ),
    (
        FULL,
        "mkdir: cannot create directory ‘/srv/d’: No such file or directory",
        "write /srv/d [outside-scope]",
    ),
    (LANDLOCK, "rm: cannot remove '/srv/data.txt': Permission denied", "write /srv/data.txt [outside-scope]"),
    (
        LANDLOCK,
        "mv: cannot move 'README.md' to '/srv/README.md': Permission denied",
        "write /srv/README.md [outside-scope]",
    ),
    (LANDLOCK, "dd: failed to open '/etc/hosts': Permission denied", "write /etc/hosts [outside-scope]"),
    (
        LANDLOCK,
        "touch: cannot touch '/repo/other/a': Permission denied",
        "write /repo/other/a [outside-scope]",
    ),
    (
        FULL,
        "chmod: changing permissions of '/etc/hosts': Read-only file system",
        "write /etc/hosts [outside-scope]",
    ),
    (
        LANDLOCK,
        "mktemp: failed to create file via template ‘/tmp/a.XXX’: Permission denied",
        "write /tmp/a.XXX [containment: temporary]",
    ),
    (
        LANDLOCK,
        "mktemp: failed to create file via template ‘/dev/shm/tmp.XXX’: Permission denied",
        "write /dev/shm/tmp.XXX [containment: devices]",
    ),
    (FULL, "cat: /tmp/theirs: No such file or directory", "read /tmp/theirs [containment: temporary]"),
    (
        LANDLOCK,
        "touch: cannot touch 'logs/a': Permission denied",
        "write /repo/wt/logs/a [outside-scope: logs]",
    ),
    // shells
    (
        LANDLOCK,
        "x.sh: 3: cannot create /repo/README.md: Permission denied",
        "write /repo/README.md [outside-scope]",
    ),
    (FULL, "x.sh: 3: cannot create /etc/new: Read-only file system", "write /etc/new [outside-scope]"),
    (FULL, "x.sh: 15: cd: can't cd to /srv", "read /srv [outside-scope]"),
    (LANDLOCK, "bash: line 1: /srv/data.txt: Permission denied", "read /srv/data.txt [outside-scope]"),
    (LANDLOCK, "bash: line 1: /etc/hosts: Permission denied", "write /etc/hosts [outside-scope]"),
    (
        FULL,
        "bash: line 1: .claude/settings.json: Read-only file system",
        "write /repo/wt/.claude/settings.json [gate-tampering]",
    ),
    // languages
    (
        LANDLOCK,
        "PermissionError: [Errno 13] Permission denied: '/srv/data.txt'",
        "read /srv/data.txt [outside-scope]",
    ),
    (LANDLOCK, "PermissionError: [Errno 13] Permission denied: '/etc/new'", "write /etc/new [outside-scope]"),
    (FULL, "OSError: [Errno 30] Read-only file system: '/usr/x'", "write /usr/x [outside-scope]"),
    (
        FULL,
        "FileNotFoundError: [Errno 2] No such file or directory: '/srv/data.txt'",
        "read /srv/data.txt [outside-scope]",
    ),
    (
        LANDLOCK,
        "Error: EACCES: permission denied, open '/srv/data.txt'",
        "read /srv/data.txt [outside-scope]",
    ),
    (FULL, "Error: EROFS: read-only file system, open '/etc/x'", "write /etc/x [outside-scope]"),
    (
        LANDLOCK,
        "npm error Error: EACCES: permission denied, mkdir '/usr/lib/node_modules/x'",
        "write /usr/lib/node_modules/x [outside-scope]",
    ),
    (
        LANDLOCK,
        "npm error code EACCES\nnpm error syscall mkdir\nnpm error path /usr/lib/x\nnpm error errno EACCES",
        "write /usr/lib/x [outside-scope]",
    ),
    (
        LANDLOCK,
        "Cannot open '/srv/data.txt': Permission denied at -e line 1.",
        "read /srv/data.txt [outside-scope]",
    ),
    (
        LANDLOCK,
        "Can't open '/srv/data.txt': Permission denied at -e line 1.",
        "read /srv/data.txt [outside-scope]",
    ),
    (
        LANDLOCK,
        "-e:1:in `initialize': Permission denied @ rb_sysopen - /srv/data.txt (Errno::EACCES)",
        "read /srv/data.txt [outside-scope]",
    ),
    (LANDLOCK, "panic: open /srv/data.txt: permission denied", "read /srv/data.txt [outside-scope]"),
    (
        LANDLOCK,
        "error: failed to open: /srv/data.txt\n\nCaused by:\n  Permission denied (os error 13)",
        "read /srv/data.txt [outside-scope]",
    ),
    (
        LANDLOCK,
        "error: failed to open: /srv/data.txt\n\nCaused by:\n  0: Permission denied (os error 13)",
        "read /srv/data.txt [outside-scope]",
    ),
    (LANDLOCK, "error: cannot read /srv/data.txt:\nPermission denied", "read /srv/data.txt [outside-scope]"),
    // Another program's words, and then a failure that names its own program: nothing before it is its matter.
    (LANDLOCK, "wrote /srv/data.txt:\nsh: 1: kill: Operation not permitted", ""),
    (LANDLOCK, "see /srv/data.txt:\nbash: line 1: kill: (1) - Operation not permitted", ""),
    (LANDLOCK, "error: /srv/data.txt is odd\nkill: Operation not permitted", ""),
    (LANDLOCK, "checked /srv/data.txt\nPermission denied", ""),
    (LANDLOCK, "error: /srv/data.txt is odd\nall else is fine\nPermission denied", ""),
    (
        LANDLOCK,
        "java.io.FileNotFoundException: /srv/data.txt (Permission denied)",
        "read /srv/data.txt [outside-scope]",
    ),
    (
        LANDLOCK,
        "sed: couldn't open temporary file /etc/sedfxhtLf: Permission denied",
        "write /etc/sedfxhtLf [outside-scope]",
    ),
    (LANDLOCK, "tar: /srv/data.txt: Cannot open: Permission denied", "read /srv/data.txt [outside-scope]"),
    (LANDLOCK, "sort: open failed: /etc/hosts: Permission denied", "write /etc/hosts [outside-scope]"),
    (
        LANDLOCK,
        "\u{1b}[01m\u{1b}[K/srv/data.txt:\u{1b}[m\u{1b}[K Permission denied",
        "read /srv/data.txt [outside-scope]",
    ),
    // git
    (
        LANDLOCK,
        "error: could not lock config file /home/u/.gitconfig: Permission denied",
        "write /home/u/.gitconfig [outside-scope]",
    ),
    (
        LANDLOCK,
        "fatal: Unable to create '/repo/.git/index.lock': Permission denied",
        "write /repo/.git/index.lock [containment: repository]",
    ),
    (
        FULL,
        "error: could not write config file /repo/.git/config: Device or resource busy",
        "write /repo/.git/config [containment: repository]",
    ),
    (
        FULL,
        "fatal: cannot lock ref 'refs/tags/v1': Unable to create '/repo/.git/refs/tags/v1.lock': Read-only file system",
        "write /repo/.git/refs/tags/v1.lock [containment: repository]",
    ),
    (FULL, "rm: cannot remove '.git': Device or resource busy", "write /repo/wt/.git [git-internals-write]"),
    (
        FULL,
        "mv: cannot move '.claude' to 'c/.claude': Device or resource busy",
        "write /repo/wt/.claude [gate-tampering]",
    ),
    (
        FULL,
        "x.sh: 5: cannot create .claude/other: Read-only file system",
        "write /repo/wt/.claude/other [gate-tampering]",
    ),
    // sockets
    (
        FULL,
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
        "read /var/run/docker.sock [outside-scope]",
    ),
    // the network
    (FULL, "curl: (6) Could not resolve host: example.com", "reach example.com [network]"),
    (
        FULL,
        "curl: (7) Failed to connect to 1.2.3.4 port 80 after 0 ms: Couldn't connect to server",
        "reach 1.2.3.4 [network]",
    ),
    (
        FULL,
        "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>",
        "reach the network [network]",
    ),
    (FULL, "Error: getaddrinfo EAI_AGAIN example.com", "reach example.com [network]"),
    (FULL, "Error: connect ENETUNREACH 1.2.3.4:80 - Local (0.0.0.0:0)", "reach 1.2.3.4:80 [network]"),
    (
        FULL,
        "npm error request to https://registry.npmjs.org/left-pad failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org",
        "reach registry.npmjs.org [network]",
    ),
    (
        FULL,
        "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com",
        "reach github.com [network]",
    ),
    (
        FULL,
        "ssh: Could not resolve hostname example.com: Temporary failure in name resolution",
        "reach example.com [network]",
    ),
    (FULL, "dial tcp: lookup example.com on 1.1.1.1:53: no such host", "reach 1.1.1.1:53 [network]"),
    (FULL, "connect to 10.0.0.7:5432 failed: Connection refused", "reach 10.0.0.7:5432 [network]"),
];

#[test]
fn what_tools_print_is_found_with_its_rule() {
    let mut wrong = String::new();
    for (level, output, expected) in TABLE {
        let said = said(*level, output).join("\n");
        if said != *expected {
            wrong += &format!("{level:?}: {output}\n  expected: {expected}\n  said: {said}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn nothing_is_said_where_the_terms_allow_it_or_nobody_can_tell() {
    for (level, output) in [
        // The worktree is open: it has failed for another reason.
        (LANDLOCK, "cat: /repo/wt/mine: Permission denied"),
        (FULL, "bash: ./mine: Permission denied"),
        (FULL, "cat: /repo/wt/missing: No such file or directory"),
        // At level landlock what is closed can still be seen, so a missing file is a missing file.
        (LANDLOCK, "cat: /srv/data.txt: No such file or directory"),
        // It may be read, and the person could not write it: the file's own mode is as likely.
        (LANDLOCK, "cat: /etc/locked: Permission denied"),
        // At level full temporary files are private and open.
        (FULL, "mktemp: failed to create file via template ‘/tmp/a.XXX’: Permission denied"),
        // The sandbox's own loopback.
        (FULL, "connect to 127.0.0.1:8080 failed: Connection refused"),
        (FULL, "curl: (7) Failed to connect to localhost port 80: Connection refused"),
        // Talk about failures.
        (FULL, "test permission denied is shown ... ok"),
        (LANDLOCK, "see the section `Permission denied` of the manual"),
        (FULL, ""),
    ] {
        assert_eq!(said(level, output), Vec::<String>::new(), "{level:?}: {output}");
    }
    let with_network = found(FULL, NetworkMode::All, "curl: (6) Could not resolve host: example.com");
    assert_eq!(with_network, []);
}

/// Against whom: a program that prints names which it may not look at, so that its agent reads from the explanation which of them exist.
#[test]
fn the_same_is_said_of_a_closed_path_whether_something_is_there_or_not() {
    for level in [LANDLOCK, FULL] {
        for failure in ["Permission denied", "No such file or directory", "Read-only file system"] {
            for (there, missing) in [
                ("/srv/data.txt", "/srv/gone.txt"),
                ("/home/u/.ssh/id", "/home/u/.ssh/no"),
                ("/home/u/.ssh/id", "/home/u/.gnu/no"),
            ] {
                let told = |name: &str| {
                    let told =
                        explain_denied(&found(level, NetworkMode::All, &format!("cat: {name}: {failure}")));
                    let last = Path::new(name).file_name().unwrap().to_str().unwrap();
                    told.replace(name, "X").replace(&format!("id = \"{}\"", last.replace('.', "-")), "id")
                };
                let (there, missing) = (told(there), told(missing));
                // The rule may be another one by the place. What is said must not be.
                let rule = |text: &str| text.contains("[secret-file]");
                if rule(&there) == rule(&missing) {
                    assert_eq!(there, missing, "{level:?} {failure}");
                }
                assert_eq!(there.is_empty(), missing.is_empty(), "{level:?} {failure}");
            }
        }
        // Behind a link of the worktree: it is read, and what it leads to is not looked at.
        let led = |to: &'static str| {
            let outside = move |path: &Path| {
                let is_link = path == Path::new("/repo/wt/l");
                let leads_to = is_link.then(|| PathBuf::from(to));
                (is_link || outside(path).is_some()).then_some(FoundOutside { leads_to, is_writable: true })
            };
            let terms = terms(NetworkMode::All);
            let output = b"cat: ./l: Permission denied";
            explain_denied(&denied_in_output(&terms, Path::new("/repo/wt"), &outside, level, output))
        };
        assert_eq!(led("/home/u/.ssh/id"), led("/home/u/.ssh/no").replace("no\"", "id\""));
    }
}

#[test]
fn messages_name_the_rule_and_a_form_that_passes_with_settings_that_can_be_read() {
    let output = "cat: /srv/data.txt: Permission denied\ncat: /home/u/.ssh/id: Permission denied\n\
                  curl: (6) Could not resolve host: example.com\n";
    let told = explain_denied(&found(LANDLOCK, NetworkMode::None, output));
    assert_eq!(
        told,
        "`/srv/data.txt` cannot be read in the sandbox: it is outside what this session may use; use a path below \
         `/repo/wt` or in `$TMPDIR`, or have a person open it in their settings [outside-scope]\n\
         \x20   [[scope]]\n\
         \x20   id = \"data-txt\"\n\
         \x20   path = \"/srv/data.txt\"\n\
         \x20   rights = \"read\"\n\
         `/home/u/.ssh/id` cannot be read in the sandbox: keys and credentials are kept there; ask a person \
         for what you need, or to open it in their own settings [secret-file]\n\
         \x20   [policy.secret-file]\n\
         \x20   open = [\"/home/u/.ssh/id\"]\n\
         \x20   [[scope]]\n\
         \x20   id = \"id\"\n\
         \x20   path = \"/home/u/.ssh/id\"\n\
         \x20   rights = \"read\"\n\
         `example.com` cannot be reached from the sandbox: it has no network; use what is there already (vendored or \
         cached), or have a person allow the network in the settings [network]\n\
         \x20   [network]\n\
         \x20   mode = \"all\""
    );
}

#[test]
#[cfg(feature = "files")]
fn the_settings_that_are_told_open_what_was_denied() {
    for (path, wanted) in [
        ("/srv/data.txt", Wanted::Read),
        ("/srv/a \"b\" \\c", Wanted::Write),
        ("/repo/README.md", Wanted::Write),
        ("/home/u/.bashrc", Wanted::Read),
        ("/home/u/.ssh/id", Wanted::Read),
        ("/home/u/.cargo/credentials.toml", Wanted::Read),
        ("/etc/shadow", Wanted::Read),
    ] {
        let path = Path::new(path);
        let denied = terms(NetworkMode::All).denied(path, wanted, FULL, &outside).unwrap();
        let layer: Settings = toml::from_str(&denied.setting.unwrap()).unwrap();
        let (mut settings, places) = (settings(), places());
        settings.scope.extend(layer.scope);
        settings.policy.secret_file = layer.policy.secret_file;
        let opened = Containment::of(&[(&settings, &places)], &Narrowed::default());
        assert_eq!(opened.denied(path, wanted, FULL, &outside), None, "{path:?}");
    }
}

#[test]
fn git_in_a_linked_worktree_is_told_what_to_do_instead() {
    let lock = |path: &str| format!("fatal: Unable to create '/repo/.git/{path}.lock': ");
    for (output, instead) in [
        ("Cannot save the current status".to_owned(), "git commit -am wip"),
        (lock("refs/stash"), "git commit -am wip"),
        (lock("refs/tags/v1"), "run `git tag` as a call of its own"),
        (lock("refs/remotes/origin/main"), "run `git fetch` as a call of its own"),
        (lock("config"), "git -c KEY=VALUE"),
        ("fatal: could not create directory of '/repo/.git/worktrees/new': ".to_owned(), "use a branch"),
        ("git@example.com: Permission denied (publickey).".to_owned(), "as a call of its own"),
        ("fatal: could not read Username for 'https://example.com': x".to_owned(), "as a call of its own"),
    ] {
        for (level, error) in [(FULL, "Read-only file system"), (LANDLOCK, "Permission denied")] {
            // At level full git may lock its configuration, and cannot replace it.
            if level == FULL && output.contains("config.lock") {
                continue;
            }
            let told = explain_denied(&found(level, NetworkMode::All, &(output.clone() + error)));
            assert!(told.contains(instead), "{level:?} {output}: {told}");
        }
    }
}

#[test]
fn in_a_plain_clone_only_what_git_runs_is_denied() {
    let clone = Places { main: None, git: Some(Place::plain("/repo/wt/.git")), ..places() };
    let terms = Containment::of(&[(&settings(), &clone)], &Narrowed::default());
    let denied = |path: &str, level| {
        terms.denied(&Path::new("/repo/wt/.git").join(path), Wanted::Write, level, &outside)
    };
    for path in ["hooks/pre-commit", "modules/sub/config", "worktrees/new"] {
        let told = denied(path, FULL).map(|denied| denied.message).unwrap_or_default();
        assert!(told.contains("a person"), "{path}: {told}");
        assert_eq!(denied(path, LANDLOCK), None, "{path}");
    }
    for path in ["index.lock", "refs/heads/main", "refs/stash", "objects/ab/cd", "config", "HEAD"] {
        assert_eq!(denied(path, FULL), None, "{path}");
    }
}

#[test]
fn a_limit_that_was_hit_is_named_where_there_is_one() {
    let (mut limited, places) = (settings(), places());
    (limited.containment.processes, limited.containment.memory, limited.containment.file_size) =
        (50, 512, 10);
    let of = |settings: &Settings, output: &str| {
        let terms = Containment::of(&[(settings, &places)], &Narrowed::default());
        explain_denied(&denied_in_output(&terms, Path::new("/repo/wt"), &outside, FULL, output.as_bytes()))
    };
    for (output, parts) in [
        ("sh: 1: Cannot fork", ["50 processes", "`processes` in [containment]"]),
        ("fork: retry: Resource temporarily unavailable", ["50 processes", "`processes` in [containment]"]),
        ("terminate called: std::bad_alloc", ["512 MiB", "`memory` in [containment]"]),
        ("dd: error writing 'x': File too large", ["10 MiB", "`file-size` in [containment]"]),
    ] {
        let told = of(&limited, output);
        assert!(parts.iter().all(|part| told.contains(part)), "{output}: {told}");
        assert_eq!(of(&settings(), output), "", "{output}");
    }
}

#[test]
fn at_most_five_are_told_and_each_once() {
    let lines: Vec<String> = (0..40).map(|n| format!("cat: /srv/{n}: Permission denied\n")).collect();
    let lines = lines.concat();
    let found = found(LANDLOCK, NetworkMode::All, &(lines.clone() + &lines));
    assert_eq!(found.len(), MOST_FOUND);
    let told = explain_denied(&found);
    assert_eq!(told.matches("cannot be read").count(), 5);
    assert!(told.ends_with("\nand more"), "{told}");
    assert_eq!(said(LANDLOCK, "cat: /srv/1: Permission denied\ncat: /srv/1: Permission denied\n").len(), 1);
}

#[test]
fn only_the_end_of_an_output_is_looked_at_and_odd_ones_do_no_harm() {
    let line = "cat: /srv/data.txt: Permission denied\n";
    let late = "x\n".repeat(100_000) + line;
    assert_eq!(said(LANDLOCK, &late).len(), 1);
    let early = line.to_owned() + &"x\n".repeat(100_000);
    assert_eq!(said(LANDLOCK, &early).len(), 0);
    for odd in ["'".repeat(70_000), ": ".repeat(40_000), "/ ".repeat(40_000), "‘".repeat(30_000)] {
        said(LANDLOCK, &format!("{odd} permission denied: {odd}"));
        said(FULL, &format!("could not resolve host {odd}"));
    }
    let terms = terms(NetworkMode::None);
    let bytes = b"\xff\xfe: /srv/\xff: Permission denied\x1b[";
    denied_in_output(&terms, Path::new("/repo/wt"), &outside, LANDLOCK, bytes);
    // What a terminal would obey is spelled out.
    let told = explain_denied(&found(LANDLOCK, NetworkMode::None, "cat: /srv/\u{7}x: Permission denied"));
    assert!(!told.contains('\u{7}'), "{told:?}");
}
