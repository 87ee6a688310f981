//! The promises of the registry of agents.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use toolgate_team::{Agents, AgentsError, FileError, RegisteredAgent, TextError};

const DIR: &str = "AGENTS_TEST_DIR";

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn agent(name: &str) -> RegisteredAgent {
    RegisteredAgent { name: name.to_owned(), ..RegisteredAgent::default() }
}

fn at(name: &str, root: &str) -> RegisteredAgent {
    RegisteredAgent { root: Some(root.into()), ..agent(name) }
}

fn within(name: &str, session: &str) -> RegisteredAgent {
    RegisteredAgent { session: Some(session.to_owned()), ..agent(name) }
}

fn add(dir: &Path, agent: RegisteredAgent) -> Result<Option<RegisteredAgent>, AgentsError> {
    Agents::update(dir, soon(), |agents| agents.add(agent))
}

fn write(dir: &Path, text: &str) {
    fs::write(dir.join("agents.json"), text).unwrap();
}

fn name(found: Option<&RegisteredAgent>) -> Option<&str> {
    found.map(|agent| agent.name.as_str())
}

#[test]
fn nobody_is_registered_at_first() {
    let temp = tempfile::tempdir().unwrap();
    assert_eq!(Agents::read(&temp.path().join("none")).unwrap(), Agents::default());
    assert!(fs::read_dir(temp.path()).unwrap().next().is_none(), "reading makes nothing");
}

#[test]
fn registered_agents_are_read_back() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("state");
    let ripley = RegisteredAgent {
        role: Some("backend-dev".into()),
        read: vec!["docs/spec.md".into()],
        write: vec!["src/**".into(), "./a".into()],
        ..at("ripley", "/work/ripley")
    };
    assert_eq!(add(&dir, ripley.clone()).unwrap(), None);
    add(&dir, within("kane", "s-1")).unwrap();
    let agents = Agents::read(&dir).unwrap();
    assert_eq!(agents.iter().collect::<Vec<_>>(), [&ripley, &within("kane", "s-1")]);
    assert_eq!(fs::metadata(dir.join("agents.json")).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&dir).unwrap().mode() & 0o777, 0o700);
    let text = fs::read_to_string(dir.join("agents.json")).unwrap();
    assert!(
        text.starts_with("{\n  \"agents\": [") && text.ends_with("}\n") && !text.contains("null"),
        "{text}"
    );
}

#[test]
fn agents_are_found_by_session_by_root_and_by_name() {
    let mut agents = Agents::default();
    agents.add(at("Ripley", "/w/a")).unwrap();
    agents.add(at("ripley", "/w/b/")).unwrap();
    agents.add(RegisteredAgent { root: Some("/w/a".into()), ..within("kane", "s-1") }).unwrap();
    agents.add(agent("ash")).unwrap();
    assert_eq!(name(agents.of_root(Path::new("/w/a"))), Some("Ripley"));
    assert_eq!(name(agents.of_root(Path::new("/w/a/"))), Some("Ripley"));
    assert_eq!(name(agents.of_root(Path::new("/w/b"))), Some("ripley"));
    assert_eq!(name(agents.of_session("s-1")), Some("kane"));
    for elsewhere in ["/w", "/w/a/src", "/w/A", ""] {
        assert_eq!(agents.of_root(Path::new(elsewhere)), None, "{elsewhere}");
    }
    for other in ["", "s", "S-1", "/w/a"] {
        assert_eq!(agents.of_session(other), None, "{other}");
    }
    assert_eq!(agents.named("@RIPLEY").count(), 2);
    assert_eq!(agents.named("ash").count(), 1);
    assert_eq!(agents.named("").count(), 0);
}

#[test]
fn an_agent_replaces_only_its_own_entry() {
    let mut agents = Agents::default();
    for first in [at("ripley", "/w"), within("ripley", "s-1"), agent("ripley"), agent("ash")] {
        assert_eq!(agents.add(first.clone()).unwrap(), None);
        let second = RegisteredAgent { role: Some("tester".into()), ..first.clone() };
        assert_eq!(agents.add(second).unwrap(), Some(first));
    }
    assert_eq!(agents.iter().count(), 4);
    for (other, holder) in [(at("kane", "/w"), "ripley"), (within("kane", "s-1"), "ripley")] {
        let error = agents.add(other).unwrap_err();
        assert!(matches!(&error, AgentsError::Taken { by } if by == holder), "{error}");
    }
    assert_eq!(agents.iter().count(), 4);
}

#[test]
fn a_removed_agent_is_gone() {
    let temp = tempfile::tempdir().unwrap();
    for agent in [at("ripley", "/a"), at("Ripley", "/b"), agent("ash")] {
        add(temp.path(), agent).unwrap();
    }
    let remove = |name: &str| Agents::update(temp.path(), soon(), |agents| Ok(agents.remove(name))).unwrap();
    assert_eq!(remove("nobody"), []);
    assert_eq!(remove("RIPLEY"), [at("ripley", "/a"), at("Ripley", "/b")]);
    assert_eq!(Agents::read(temp.path()).unwrap().iter().collect::<Vec<_>>(), [&agent("ash")]);
}

#[test]
fn malformed_agents_are_refused() {
    let text = |agent: RegisteredAgent| match Agents::default().add(agent) {
        Err(AgentsError::Text(error)) => error,
        other => panic!("{other:?}"),
    };
    for empty in ["", " ", "@"] {
        assert_eq!(text(agent(empty)), TextError::Empty { what: "name" });
    }
    assert_eq!(text(agent("a\nb")), TextError::NotPlain { what: "name" });
    assert_eq!(text(agent(&"a".repeat(401))), TextError::TooLong { what: "name" });
    assert_eq!(text(within("a", "")), TextError::Empty { what: "session" });
    assert_eq!(text(within("a", "\u{1b}[2J")), TextError::NotPlain { what: "session" });
    assert_eq!(
        text(RegisteredAgent { role: Some(String::new()), ..agent("a") }),
        TextError::Empty { what: "role" }
    );
    assert_eq!(
        text(RegisteredAgent { read: vec![String::new()], ..agent("a") }),
        TextError::Empty { what: "glob" }
    );
    for root in ["", "w", "./w", "/w/../v", "/w\nv"] {
        let refused = Agents::default().add(at("a", root));
        assert!(matches!(refused, Err(AgentsError::Root { .. })), "{root}");
    }
    for glob in ["/etc/**", "../other/**", "src/../../other"] {
        let refused = Agents::default().add(RegisteredAgent { write: vec![glob.into()], ..agent("a") });
        assert!(matches!(refused, Err(AgentsError::NotBelow { .. })), "{glob}");
    }
}

#[test]
fn a_broken_registry_is_an_error_and_is_left_unchanged() {
    let temp = tempfile::tempdir().unwrap();
    for (text, line) in [
        ("", 1),
        ("{}", 1),
        ("[]", 1),
        ("{\"agents\":[\n{}]}", 2),
        ("{\"agents\":[\n{\"name\":5}]}", 2),
        ("{\"agents\":[\n{\"name\":\"a\",\n\"deny\":[]}]}", 3),
        ("{\"agents\":[{\"name\":\"a\"}]} x", 1),
        ("{\"agents\":[{\"name\":\"a\"}", 1),
    ] {
        write(temp.path(), text);
        let error = Agents::read(temp.path()).unwrap_err();
        assert!(
            matches!(&error, AgentsError::File(FileError::Malformed { line: found, .. }) if *found == line),
            "{text}: {error:?}"
        );
        add(temp.path(), agent("a")).unwrap_err();
        assert_eq!(fs::read_to_string(temp.path().join("agents.json")).unwrap(), text);
    }
    for text in [
        "{\"agents\":[{\"name\":\"\"}]}",
        "{\"agents\":[{\"name\":\"a\",\"root\":\"w\"}]}",
        "{\"agents\":[{\"name\":\"a\",\"root\":\"/w\"},{\"name\":\"b\",\"root\":\"/w\"}]}",
    ] {
        write(temp.path(), text);
        assert!(matches!(Agents::read(temp.path()), Err(AgentsError::Broken { .. })), "{text}");
    }
    write(temp.path(), &" ".repeat(1024 * 1024 + 1));
    assert!(matches!(Agents::read(temp.path()), Err(AgentsError::File(FileError::TooLarge { .. }))));
}

#[test]
fn a_failed_update_leaves_the_registry_unchanged() {
    let temp = tempfile::tempdir().unwrap();
    add(temp.path(), at("ripley", "/w")).unwrap();
    let before = fs::read(temp.path().join("agents.json")).unwrap();
    let failed = Agents::update(temp.path(), soon(), |agents| {
        agents.remove("ripley");
        agents.add(agent(""))
    });
    assert!(failed.is_err());
    assert_eq!(fs::read(temp.path().join("agents.json")).unwrap(), before);
}

#[test]
#[ignore = "run by other tests"]
fn child_adds() {
    let Some(dir) = std::env::var_os(DIR).map(PathBuf::from) else { return };
    for index in 0.. {
        add(&dir, at("ripley", &format!("/{}/{index}", std::process::id()))).unwrap();
        if index == 20 && std::env::var_os("AGENTS_TEST_ENDLESS").is_none() {
            return;
        }
    }
}

fn child(dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["agents::child_adds", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(DIR, dir)
        .stdout(Stdio::null());
    command
}

#[test]
fn agents_added_by_concurrent_processes_are_all_kept() {
    let temp = tempfile::tempdir().unwrap();
    let children: Vec<_> = (0..8).map(|_| child(temp.path()).spawn().unwrap()).collect();
    for _ in 0..50 {
        Agents::read(temp.path()).unwrap();
    }
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(Agents::read(temp.path()).unwrap().iter().count(), 8 * 21);
}

#[test]
fn killed_writers_leave_a_whole_registry() {
    let temp = tempfile::tempdir().unwrap();
    for round in 0..8 {
        let mut child = child(temp.path()).env("AGENTS_TEST_ENDLESS", "1").spawn().unwrap();
        thread::sleep(Duration::from_millis(20 + 5 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let before = Agents::read(temp.path()).unwrap().iter().count();
        add(temp.path(), at("kane", &format!("/round/{round}"))).unwrap();
        assert_eq!(Agents::read(temp.path()).unwrap().iter().count(), before + 1);
    }
    assert!(Agents::read(temp.path()).unwrap().iter().count() > 8, "the children have written too");
}
