//! The promises of lockouts, held against many writers, crashes, git, and whatever others write into the files.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempDir;
use toolgate_model::Lockout;
use toolgate_team::{
    Added, Cleared, FileError, LockoutError, LockoutFiles, Lockouts, MAX_TEXT, NewLockout, TeamCopy,
    TextError, Which,
};

const DIR: &str = "LOCKOUT_TEST_DIR";
const COUNT: &str = "LOCKOUT_TEST_COUNT";

/// A team's directory and a state directory.
struct World {
    dir: TempDir,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("team")).unwrap();
        World { dir }
    }

    fn files(&self) -> LockoutFiles {
        files_in(self.dir.path())
    }

    fn team(&self) -> PathBuf {
        self.files().team.remove(0)
    }

    fn own(&self) -> PathBuf {
        self.files().own
    }

    fn write_team(&self, text: impl AsRef<[u8]>) {
        fs::write(self.team(), text).unwrap();
    }

    fn add(&self, artifact: &str, agent: &str) -> Added {
        add_to(&self.files(), artifact, agent).unwrap()
    }

    fn clear(&self, which: Which<'_>) -> Cleared {
        Lockouts::clear(&self.files(), which, "lambert", SystemTime::now(), soon()).unwrap()
    }

    fn read(&self) -> Result<Lockouts, LockoutError> {
        Lockouts::read(&self.files())
    }

    /// `artifact agent`, for each lockout that holds.
    fn pairs(&self) -> Vec<String> {
        pairs(self.read().unwrap())
    }

    /// The line that cannot be read.
    fn broken_line(&self) -> usize {
        let error = self.read().unwrap_err();
        match &error {
            LockoutError::File(FileError::Malformed { path, line }) => {
                assert_eq!(path, &self.team());
                *line
            }
            other => panic!("{other:?}"),
        }
    }
}

fn files_in(dir: &Path) -> LockoutFiles {
    LockoutFiles { own: dir.join("state/lockouts.jsonl"), team: vec![dir.join("team/lockout.json")] }
}

fn add_to(files: &LockoutFiles, artifact: &str, agent: &str) -> Result<Added, LockoutError> {
    let new = NewLockout { artifact, agent, by: "dallas", reason: "tests missing" };
    Lockouts::add(files, &new, SystemTime::now(), soon())
}

fn pairs(lockouts: Lockouts) -> Vec<String> {
    let pair = |lockout: &Lockout| format!("{} {}", lockout.artifact, lockout.agent);
    lockouts.into_lockouts().iter().map(pair).collect()
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "{text:?}");
    text.lines().map(str::to_owned).collect()
}

fn append_bytes(path: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(bytes).unwrap();
}

/// This file alone.
fn only(path: PathBuf) -> LockoutFiles {
    LockoutFiles { own: path, team: Vec::new() }
}

#[test]
fn a_forged_line_can_lock_out_but_not_clear() {
    let world = World::new();
    let locked = world.add("src/auth.ts", "ripley").locked;
    let forged = format!(
        "{{\"clear\":\"{}\",\"by\":\"a person\"}}\n{{\"artifact\":\"b\",\"agent\":\"dallas\"}}\n",
        locked.id
    );
    let mut file = fs::read_to_string(world.team()).unwrap();
    file.push_str(&forged);
    fs::write(world.team(), file).unwrap();
    assert_eq!(world.pairs(), ["b dallas", "src/auth.ts ripley"]);
}

#[test]
fn nobody_is_locked_out_without_files() {
    let world = World::new();
    assert_eq!(world.read().unwrap(), Lockouts::default());
    assert!(!world.own().exists() && !world.team().exists(), "reading makes nothing");
    // Nor without their directories, nor where a file stands in place of one.
    assert_eq!(
        Lockouts::read(&LockoutFiles {
            own: "/nowhere/at/all.json".into(),
            team: vec!["/etc/passwd/lockout.json".into()]
        })
        .unwrap(),
        Lockouts::default()
    );
}

#[test]
fn a_lockout_is_written_to_both_files_and_read_back() {
    let world = World::new();
    let added = world.add("src/auth.ts", "Ripley");
    assert!(added.is_new && matches!(added.team, TeamCopy::Written));
    assert_eq!(lines(&world.team()), lines(&world.own()));
    let read = world.read().unwrap();
    let locked = read.iter().next().unwrap();
    assert_eq!(locked, &added.locked);
    assert_eq!((locked.by.as_str(), locked.reason.as_str()), ("dallas", "tests missing"));
    assert!(locked.id.len() == 16 && locked.id.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let wanted = format!(
        r#"{{"id":"{}","time":"{}","artifact":"src/auth.ts","agent":"ripley","by":"dallas","reason":"tests missing"}}"#,
        locked.id, locked.time
    );
    assert_eq!(lines(&world.own()), [wanted]);
    assert_eq!(fs::metadata(world.own()).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(world.own().parent().unwrap()).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(world.team()).unwrap().mode() & 0o777, 0o644 & !umask());
}

/// What the system takes away from the mode of a new file.
fn umask() -> u32 {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, "").unwrap();
    0o666 & !fs::metadata(path).unwrap().mode()
}

#[test]
fn a_repeated_lockout_is_not_new() {
    let world = World::new();
    let first = world.add("src/auth.ts", "ripley");
    for name in ["ripley", "Ripley", "@ripley"] {
        let again = world.add("src/auth.ts", name);
        assert!(!again.is_new && matches!(again.team, TeamCopy::Unchanged));
        assert_eq!(again.locked, first.locked);
    }
    assert_eq!(lines(&world.own()).len(), 1);
    // One that only the team's file has is made safe from git.
    world.write_team(r#"{"artifact":"docs","agent":"kane"}"#);
    let again = world.add("docs", "kane");
    assert!(!again.is_new);
    fs::remove_file(world.team()).unwrap();
    assert_eq!(world.pairs(), ["docs kane", "src/auth.ts ripley"]);
    // And one that the team's file has lost is shown there again, under its id.
    let again = world.add("src/auth.ts", "ripley");
    assert!(!again.is_new && matches!(again.team, TeamCopy::Written));
    assert!(lines(&world.team())[0].contains(&first.locked.id));
}

#[test]
fn a_clear_counts_only_in_our_own_copy() {
    for (in_team, left) in
        [(true, &["src/auth.ts kane", "src/auth.ts ripley"][..]), (false, &["src/auth.ts kane"])]
    {
        let world = World::new();
        let added = world.add("src/auth.ts", "ripley");
        world.add("src/auth.ts", "kane");
        let line = format!("{{\"clear\":\"{}\",\"by\":\"lambert\"}}\n", added.locked.id);
        append_bytes(&if in_team { world.team() } else { world.own() }, line.as_bytes());
        assert_eq!(world.pairs(), left);
    }
}

#[test]
fn lockouts_are_cleared_by_artifact_by_agent_and_by_both() {
    let all = ["a kane", "a ripley", "b kane", "b ripley"];
    for (which, left) in [
        (Which::Artifact("a"), &["b kane", "b ripley"][..]),
        (Which::Agent("Kane"), &["a ripley", "b ripley"]),
        (Which::Both { artifact: "b", agent: "ripley" }, &["a kane", "a ripley", "b kane"]),
        (Which::Artifact("c"), &all),
        (Which::Agent(""), &all),
    ] {
        let world = World::new();
        for pair in all {
            let (artifact, agent) = pair.split_once(' ').unwrap();
            world.add(artifact, agent);
        }
        assert_eq!(world.pairs(), all);
        let cleared = world.clear(which);
        assert_eq!(cleared.locked.len(), all.len() - left.len());
        assert_eq!(world.pairs(), left, "{which:?}");
        assert_eq!(lines(&world.team()), lines(&world.own()));
        assert_eq!(lines(&world.own()).len(), all.len() + cleared.locked.len(), "a line for each id");
    }
}

#[test]
fn a_lockout_after_a_clear_holds_even_at_the_same_instant() {
    let world = World::new();
    let now = SystemTime::now();
    let new = NewLockout { artifact: "a", agent: "ripley", by: "dallas", reason: "" };
    for _ in 0..3 {
        assert!(Lockouts::add(&world.files(), &new, now, soon()).unwrap().is_new);
        assert_eq!(world.pairs(), ["a ripley"]);
        let cleared = Lockouts::clear(&world.files(), Which::Artifact("a"), "lambert", now, soon()).unwrap();
        assert_eq!(cleared.locked.len(), 1);
        assert!(world.pairs().is_empty());
    }
}

#[test]
fn git_neither_brings_a_lockout_back_nor_takes_one_away() {
    let world = World::new();
    let team = world.dir.path().join("team");
    let git = |args: &[&str]| {
        let status = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"])
            .args(args)
            .current_dir(&team)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(status.unwrap().success(), "{args:?}");
    };
    let commit = |what: &str| {
        git(&["add", "-A"]);
        git(&["commit", "--quiet", "--allow-empty", "-m", what]);
        git(&["tag", what]);
    };
    git(&["init", "--quiet"]);
    commit("nothing");
    world.add("a", "ripley");
    commit("one-locked");
    world.clear(Which::Artifact("a"));
    world.add("b", "kane");
    commit("other-locked");
    for tag in ["nothing", "one-locked", "other-locked", "one-locked", "nothing"] {
        git(&["checkout", "--quiet", "--force", tag]);
        assert_eq!(world.pairs(), ["b kane"], "{tag}");
    }
    // What is written while the file is an older one goes on from there.
    git(&["checkout", "--quiet", "one-locked"]);
    world.add("c", "ash");
    assert_eq!(lines(&world.team()).len(), 2);
    assert_eq!(world.pairs(), ["b kane", "c ash"]);
}

#[test]
fn lockouts_survive_a_team_file_that_is_replaced_all_the_time() {
    let world = World::new();
    let path = world.team();
    let stop = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let new = path.with_extension("new");
                fs::write(&new, "{\"artifact\":\"old\",\"agent\":\"ash\"}\n").unwrap();
                fs::rename(&new, &path).unwrap();
            }
        });
        for index in 0..40 {
            add_to(&world.files(), &index.to_string(), "ripley").unwrap();
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(world.pairs().len(), 41);
    lines(&world.team());
}

#[test]
fn lockouts_in_other_formats_are_read_and_can_be_cleared() {
    for (text, wanted) in [
        // Lines.
        (
            "{\"artifact\":\"a\",\"agent\":\"ripley\"}\n\n  \n{\"path\":\"b\",\"agent\":\"kane\"}\n",
            "a ripley, b kane",
        ),
        ("{\"file\":\"a\",\"lockedAgents\":[\"ripley\",\"Kane\"]}\r\n", "a kane, a ripley"),
        (
            "{\"artifact\":\"a\",\"agents\":[\"ripley\"],\"time\":17,\"by\":null,\"reason\":{},\"since\":[]}\n",
            "a ripley",
        ),
        ("{\"artifact\":\"a\",\"agents\":\"ripley\",\"agent\":\"ash\"}\n", "a ash, a ripley"),
        ("{\"artifact\":\"a\",\"path\":\"b\",\"agent\":\"ripley\"}\n", "a ripley, b ripley"),
        ("{\"artifact\":\"a\",\"agents\":[]}\n", ""),
        (
            "{\"id\":\"x\",\"artifact\":\"a\",\"agents\":[\"ripley\",\"kane\"]}\n{\"clear\":\"x\"}\n",
            "a kane, a ripley",
        ),
        (
            "{\"id\":\"x\",\"artifact\":\"a\",\"agent\":\"ripley\"}\n{\"clear\":[\"x\",\"y\"],\"artifact\":\"a\"}\n",
            "a ripley",
        ),
        ("{\"artifact\":\"a\",\"agent\":\"ripley\"}", "a ripley"),
        // What clears nothing.
        ("{\"artifact\":\"a\",\"agent\":\"ripley\"}\n{\"clear\":\"\"}\n", "a ripley"),
        ("{\"id\":\"\",\"artifact\":\"a\",\"agents\":[\"ripley\"]}\n{\"clear\":[\"\",\"x\"]}\n", "a ripley"),
        ("{\"id\":\"x\",\"artifact\":\"a\",\"agent\":\"ripley\"}\n{\"clear\":[]}\n", "a ripley"),
        ("{\"artifact\":\"a\",\"agent\":\"ripley\",\"reason\":\"one\\ntwo\\u001b[2J\"}\n", "a ripley"),
        // Documents.
        ("{\"src/auth.ts\": [\"ripley\", \"dallas\"]}", "src/auth.ts dallas, src/auth.ts ripley"),
        ("{\n  \"a\": [\"ripley\"],\n  \"b\": \"kane\",\n  \"c\": []\n}\n", "a ripley, b kane"),
        ("{\"a\":[\"ripley\"],\"a\":[\"kane\"]}", "a kane, a ripley"),
        ("{\"a\": {\"lockedAgents\": [\"ripley\"], \"by\": \"dallas\"}}", "a ripley"),
        (
            "{\"version\": 1,\n\"lockouts\":[{\"artifact\":\"a\",\"agent\":\"ripley\"},{\"b\":[\"kane\"]}]}",
            "a ripley, b kane",
        ),
        ("{\"lockouts\": {\"a\": [\"ripley\"]}}", "a ripley"),
        ("[{\"path\":\"a\",\"lockedAgents\":[\"ripley\"]},\n{\"b\":[\"kane\"]}]\n", "a ripley, b kane"),
        ("{\n\"artifact\": \"a\",\n\"agent\": \"ripley\"\n}\n", "a ripley"),
        ("[]", ""),
        ("{}\n", ""),
        ("", ""),
        ("\n\n", ""),
    ] {
        let world = World::new();
        world.write_team(text);
        assert_eq!(world.pairs().join(", "), wanted, "{text}");
        assert!(
            world.read().unwrap().iter().all(|locked| !locked.reason.contains(char::is_control)),
            "{text}"
        );
        // All of it can be cleared, one agent at a time, and stays so.
        for pair in world.pairs() {
            let (artifact, agent) = pair.split_once(' ').unwrap();
            assert_eq!(world.clear(Which::Both { artifact, agent }).locked.len(), 1, "{text}");
            assert!(!world.pairs().contains(&pair), "{text}");
        }
        assert!(world.pairs().is_empty(), "{text}");
    }
}

#[test]
fn a_line_that_cannot_be_read_is_an_error_that_names_it() {
    let good = r#"{"artifact":"a","agent":"ripley"}"#;
    for bad in [
        "hunter2",
        r#"{"artifact":"hunter2"}"#,
        r#"{"artifact":"hunter2","agent":"#,
        r#"{"agent":"hunter2"}"#,
        r#"{"agents":["hunter2"]}"#,
        r#"{"artifact":"hunter2","agent":""}"#,
        r#"{"artifact":"hunter2","agent":"@"}"#,
        r#"{"artifact":"hunter2","agents":["ripley",""]}"#,
        r#"{"artifact":"  ","agent":"hunter2"}"#,
        r#"{"artifact":"hunter2\nb","agent":"ripley"}"#,
        r#"{"artifact":5,"agent":"hunter2"}"#,
        r#"{"artifact":"hunter2","agent":["ripley"]}"#,
        r#"{"artifact":"hunter2","agent":"ripley","agent":"kane"}"#,
        r#"{"clear":false}"#,
        r#"["hunter2","ripley"]"#,
        "\"hunter2\"",
        "5",
        "<<<<<<< HEAD",
        r#"{"hunter2":["ripley"]}"#,
        "\u{0}",
    ] {
        let world = World::new();
        world.write_team(format!("{good}\n\n{bad}\n{good}\n"));
        assert_eq!(world.broken_line(), 3, "{bad}");
        let told = world.read().unwrap_err().to_string();
        assert!(!told.contains("hunter2") && told.contains("line 3 of `"), "{told}");
        // Nothing is added to a list that cannot be read, and nothing cleared.
        assert!(add_to(&world.files(), "a", "kane").is_err());
        world.write_team(format!("{bad}\n{good}\n"));
        assert_eq!(world.broken_line(), 1, "{bad}");
    }
    for bad in [
        r#"{"lockouts":["ripley"]}"#,
        r#"{"lockouts":5}"#,
        r#"{"lockouts":[],"a":["ripley"]}"#,
        r#"{"a":5}"#,
        r#"{"a":null}"#,
        r#"{"a":[["ripley"]]}"#,
        r#"{"a":{"by":"dallas"}}"#,
        r#"{"":["ripley"]}"#,
        r#"[["a","ripley"]]"#,
        "[\n5]",
        "null",
        "{\"a\":\n[\"ripley\"",
        "\u{feff}{}",
    ] {
        let world = World::new();
        world.write_team(format!("{bad}\n"));
        assert_eq!(world.broken_line(), 1, "{bad}");
    }
    let deep = World::new();
    deep.write_team("[".repeat(1_000_000) + "\n");
    assert_eq!(deep.broken_line(), 1);
}

#[test]
fn a_team_file_that_is_one_document_is_left_unchanged() {
    for text in ["{\"src/auth.ts\": [\"ripley\"]}", "[]\n", "{\n\"lockouts\": []\n}\n"] {
        let world = World::new();
        world.write_team(text);
        let added = world.add("docs", "kane");
        assert!(added.is_new && matches!(added.team, TeamCopy::Document), "{added:?}");
        assert!(world.pairs().contains(&"docs kane".to_owned()));
        let cleared = world.clear(Which::Agent("kane"));
        assert!(cleared.locked.len() == 1 && matches!(cleared.team, TeamCopy::Document));
        assert!(!world.pairs().contains(&"docs kane".to_owned()));
        assert_eq!(fs::read_to_string(world.team()).unwrap(), text);
    }
    // What the document says can be cleared, and be locked anew.
    let world = World::new();
    world.write_team("{\"a\": [\"ripley\"]}");
    world.clear(Which::Artifact("a"));
    assert!(world.pairs().is_empty());
    assert!(world.add("a", "ripley").is_new);
    assert_eq!(world.pairs(), ["a ripley"]);
}

#[test]
fn a_line_cut_at_any_byte_is_skipped_and_then_removed() {
    let whole = World::new();
    for artifact in ["one", "tw\u{f6}"] {
        whole.add(artifact, "ripley");
    }
    let text = fs::read(whole.team()).unwrap();
    let start = text.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    for end in start..text.len() {
        let world = World::new();
        world.write_team(&text[..end]);
        fs::create_dir(world.own().parent().unwrap()).unwrap();
        fs::write(world.own(), &text[..end]).unwrap();
        let is_whole = end == text.len() - 1;
        let mut wanted = vec!["one ripley"];
        wanted.extend(is_whole.then_some("tw\u{f6} ripley"));
        assert_eq!(world.pairs(), wanted, "{end}");
        let added = world.add("three", "kane");
        assert!(matches!(added.team, TeamCopy::Written), "{added:?}");
        wanted.insert(1, "three kane");
        assert_eq!(world.pairs(), wanted, "{end}");
        for path in [world.team(), world.own()] {
            assert_eq!(lines(&path).len(), wanted.len(), "{end}");
        }
    }
    // A first line that breaks off, and blocks that were given out but not filled before the power went.
    for torn in ["{\"id\":\"0123", "\u{0}\u{0}\u{0}"] {
        let world = World::new();
        world.write_team(torn);
        assert!(world.pairs().is_empty());
        world.add("a", "ripley");
        assert_eq!(lines(&world.team()).len(), 1);
    }
}

#[test]
fn texts_are_bounded_plain_and_without_secrets() {
    let world = World::new();
    let good = NewLockout { artifact: "a", agent: "ripley", by: "dallas", reason: "" };
    let long = "x".repeat(MAX_TEXT + 1);
    let refused = |new: &NewLockout<'_>| match Lockouts::add(&world.files(), new, SystemTime::now(), soon()) {
        Err(LockoutError::Text(error)) => error,
        other => panic!("{other:?}"),
    };
    for bad in ["a\nb", "a\u{1b}[2J", "a\u{7f}", "a\u{85}", "a\u{2028}", "a\u{202e}"] {
        assert!(matches!(refused(&NewLockout { artifact: bad, ..good }), TextError::NotPlain { .. }));
        assert!(matches!(refused(&NewLockout { agent: bad, ..good }), TextError::NotPlain { .. }));
        assert!(matches!(refused(&NewLockout { by: bad, ..good }), TextError::NotPlain { .. }));
        assert!(matches!(refused(&NewLockout { reason: bad, ..good }), TextError::NotPlain { .. }));
    }
    for bad in ["", "  "] {
        assert!(matches!(refused(&NewLockout { artifact: bad, ..good }), TextError::Empty { .. }));
        assert!(matches!(refused(&NewLockout { agent: bad, ..good }), TextError::Empty { .. }));
        assert!(matches!(refused(&NewLockout { by: bad, ..good }), TextError::Empty { .. }));
    }
    assert!(matches!(refused(&NewLockout { agent: "@", ..good }), TextError::Empty { .. }));
    assert!(matches!(refused(&NewLockout { artifact: &long, ..good }), TextError::TooLong { .. }));
    assert!(matches!(refused(&NewLockout { reason: &long, ..good }), TextError::TooLong { .. }));
    let by = Lockouts::clear(&world.files(), Which::Agent("a"), "a\nb", SystemTime::now(), soon());
    assert!(matches!(by, Err(LockoutError::Text(TextError::NotPlain { .. }))));
    assert!(!world.own().exists() && !world.team().exists());

    let token = concat!("ghp_", "0123456789abcdefghijABCDEFGHIJ012345");
    let reason = format!("it printed {token}, see \"log\" \\ \u{fc}");
    let longest = "x".repeat(MAX_TEXT);
    let new = NewLockout { artifact: &longest, reason: &reason, ..good };
    let added = Lockouts::add(&world.files(), &new, SystemTime::now(), soon()).unwrap();
    for path in [world.own(), world.team()] {
        assert!(!fs::read_to_string(path).unwrap().contains(token));
    }
    assert!(added.locked.reason.ends_with(", see \"log\" \\ \u{fc}"), "{}", added.locked.reason);
    assert_eq!(world.read().unwrap().iter().next(), Some(&added.locked));
}

#[test]
fn team_files_that_are_too_large_or_not_regular_are_refused() {
    let limit = 4 * 1024 * 1024;
    let line = "{\"artifact\":\"a\",\"agent\":\"ripley\"}\n";
    let world = World::new();
    world.write_team(line.to_owned() + &"\n".repeat(limit - line.len()));
    assert_eq!(world.pairs(), ["a ripley"]);
    let added = world.add("b", "kane");
    assert!(
        matches!(added.team, TeamCopy::Failed(LockoutError::File(FileError::TooLarge { .. }))),
        "{added:?}"
    );
    assert_eq!(world.pairs(), ["a ripley", "b kane"], "our own copy holds");
    append_bytes(&world.team(), b"\n");
    assert!(matches!(world.read(), Err(LockoutError::File(FileError::TooLarge { .. }))));

    let at = |make: &dyn Fn(&Path)| {
        let world = World::new();
        make(&world.team());
        world.read()
    };
    let not_a_file = |read| matches!(read, Err(LockoutError::File(FileError::NotAFile { .. })));
    assert!(not_a_file(at(&|path| fs::create_dir(path).unwrap())));
    assert!(not_a_file(at(&|path| symlink("/dev/zero", path).unwrap())));
    // Nobody writes into this pipe: a reader that waited would wait for ever.
    assert!(not_a_file(at(&|path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success()))));
}

#[test]
fn a_lockout_is_not_written_through_a_link() {
    let world = World::new();
    let victim = world.dir.path().join("profile");
    fs::write(&victim, "").unwrap();
    symlink(&victim, world.team()).unwrap();
    let added = world.add("a", "ripley");
    assert!(
        matches!(added.team, TeamCopy::Failed(LockoutError::File(FileError::NotAFile { .. }))),
        "{added:?}"
    );
    assert_eq!(fs::read(&victim).unwrap(), b"");
    assert_eq!(world.pairs(), ["a ripley"]);
    // Our own copy is not optional.
    let world = World::new();
    fs::create_dir(world.own().parent().unwrap()).unwrap();
    symlink(&victim, world.own()).unwrap();
    assert!(matches!(
        add_to(&world.files(), "a", "ripley"),
        Err(LockoutError::File(FileError::NotAFile { .. }))
    ));
    assert!(!world.team().exists());
}

#[test]
fn without_a_team_a_lockout_is_kept_in_our_own_copy() {
    let world = World::new();
    let alone = LockoutFiles { team: Vec::new(), ..world.files() };
    assert!(matches!(add_to(&alone, "a", "ripley").unwrap().team, TeamCopy::NoTeam));
    let gone = LockoutFiles { team: vec![world.dir.path().join("gone/lockout.json")], ..world.files() };
    assert!(matches!(add_to(&gone, "b", "ripley").unwrap().team, TeamCopy::Failed(_)));
    assert!(!world.dir.path().join("gone").exists());
    assert_eq!(pairs(Lockouts::read(&alone).unwrap()), ["a ripley", "b ripley"]);
}

#[test]
fn all_files_of_the_team_are_read_and_the_first_is_written() {
    let world = World::new();
    let main = world.dir.path().join("main.json");
    fs::write(&main, "{\"artifact\":\"a\",\"agent\":\"ripley\"}\n").unwrap();
    let files = LockoutFiles { team: vec![world.team(), main.clone()], ..world.files() };
    add_to(&files, "b", "ripley").unwrap();
    assert_eq!(pairs(Lockouts::read(&files).unwrap()), ["a ripley", "b ripley"]);
    Lockouts::clear(&files, Which::Agent("ripley"), "lambert", SystemTime::now(), soon()).unwrap();
    assert!(pairs(Lockouts::read(&files).unwrap()).is_empty());
    assert_eq!((lines(&main).len(), lines(&world.team()).len()), (1, 3));
}

#[test]
fn a_file_that_stays_locked_is_reported_as_busy() {
    let world = World::new();
    world.add("a", "ripley");
    let new = NewLockout { artifact: "b", agent: "kane", by: "dallas", reason: "" };
    let add =
        || Lockouts::add(&world.files(), &new, SystemTime::now(), Instant::now() + Duration::from_millis(20));
    let team = fs::File::open(world.team()).unwrap();
    team.lock().unwrap();
    assert!(matches!(add().unwrap().team, TeamCopy::Failed(LockoutError::File(FileError::Busy { .. }))));
    let own = fs::File::open(world.own()).unwrap();
    own.lock().unwrap();
    assert!(matches!(add(), Err(LockoutError::File(FileError::Busy { .. }))));
    assert_eq!(world.pairs(), ["a ripley", "b kane"], "readers do not wait");
}

#[test]
fn a_team_is_deadlocked_when_nobody_is_left() {
    let world = World::new();
    let roster = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    world.write_team("{\"artifact\":\"a\",\"agent\":\"ripley\",\"by\":\"ash\"}\n");
    world.add("a", "ripley");
    append_bytes(&world.team(), b"{\"artifact\":\"a\",\"agent\":\"ripley\",\"by\":\"lambert\"}\n");
    world.add("a", "Kane");
    world.add("b", "ash");
    let read = world.read().unwrap();
    let is_a = |lockout: &Lockout| lockout.artifact == "a";
    assert_eq!(read.iter().count(), 4);
    assert_eq!(read.count(is_a), 2);
    assert_eq!(read.count(|_| true), 3);
    assert!(read.deadlocked(&roster(&["Ripley", "kane"]), is_a));
    assert!(!read.deadlocked(&roster(&["ripley", "kane", "ash"]), is_a));
    assert!(read.deadlocked(&roster(&["ripley", "kane", "ash"]), |_| true));
    assert!(!read.deadlocked(&[], is_a));
    assert!(!Lockouts::default().deadlocked(&roster(&["ripley"]), is_a));
}

/// This test binary, as a process of its own that adds lockouts.
fn child(dir: &Path, count: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["lockouts::child_adds", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(DIR, dir)
        .env(COUNT, count.to_string())
        .stdout(Stdio::null());
    command
}

#[test]
#[ignore = "run by other tests"]
fn child_adds() {
    let Some(dir) = std::env::var_os(DIR).map(PathBuf::from) else { return };
    let count: usize = std::env::var(COUNT).unwrap().parse().unwrap();
    for index in 0..count {
        let agent = std::process::id().to_string();
        let added = add_to(&files_in(&dir), &format!("src/{index}.rs"), &agent).unwrap();
        assert!(added.is_new && matches!(added.team, TeamCopy::Written), "{added:?}");
    }
}

#[test]
fn lockouts_added_by_sixteen_processes_are_all_kept() {
    let world = World::new();
    let children: Vec<_> = (0..16).map(|_| child(world.dir.path(), 20).spawn().unwrap()).collect();
    // Readers at the same time never see half a line.
    for _ in 0..50 {
        world.read().unwrap();
    }
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(world.pairs().len(), 16 * 20);
    for path in [world.team(), world.own()] {
        assert_eq!(lines(&path).len(), 16 * 20);
        assert_eq!(pairs(Lockouts::read(&only(path)).unwrap()), world.pairs());
    }
}

#[test]
fn killed_writers_lose_no_lockout() {
    let world = World::new();
    for round in 0..12 {
        let children: Vec<_> = (0..3).map(|_| child(world.dir.path(), usize::MAX).spawn().unwrap()).collect();
        thread::sleep(Duration::from_millis(20 + 4 * round));
        for mut child in children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let before = world.pairs();
        world.add(&format!("round-{round}"), "ripley");
        let after = world.pairs();
        assert_eq!(after.len(), before.len() + 1);
        assert!(before.iter().all(|pair| after.contains(pair)));
        // What the team sees, our own copy has: that one is written first.
        let own = pairs(Lockouts::read(&only(world.own())).unwrap());
        assert_eq!(own, after);
    }
    assert!(world.pairs().len() > 12, "the children have written too");
}
