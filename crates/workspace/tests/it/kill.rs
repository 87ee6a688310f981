//! `kill -9` at any moment: every output is the old one or the new one, whole; the quota counts right; a workspace that
//! was being made or taken away is there or not, and its name can be used.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, SystemTime};

use crate::support::child::{child, dir};
use crate::support::whole::{content, number};
use crate::support::{base, base_in, declaration};
use toolgate_workspace::{
    About, Declaration, Durability, Envelope, Error, Limit, Quota, SigningKey, Store, Workspace, Workspaces,
};

const OUTPUTS: [&str; 3] = ["out/a", "out/b", "deep/er/c"];
/// Where the test finds out how much room there is.
const PROBE: &str = "probe";

/// Starts a child, and kills it a random moment after it has begun.
fn kill(test: &str, top: &Path) {
    let mut child = child(test, top, r#"exec "$@""#).stdout(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = said.map_while(Result::ok);
    assert!(said.any(|line| line.ends_with("begun")), "the child did not begin");
    let random = RandomState::new().build_hasher().finish();
    thread::sleep(Duration::from_micros(random % 3000));
    child.kill().unwrap();
    assert!(child.wait().unwrap().code().is_none(), "it writes until it is killed");
}

#[test]
#[ignore = "run by other tests"]
fn writes() {
    let Some(top) = dir() else { return };
    let workspace = base_in(&top).find("one").unwrap();
    println!("begun");
    let first = RandomState::new().build_hasher().finish() >> 32;
    for number in first.. {
        let output = workspace.output(OUTPUTS[usize::try_from(number % 3).unwrap()]).unwrap();
        let durability = if number % 2 == 0 { Durability::Process } else { Durability::Machine };
        let content = content(number);
        if number % 5 == 0 {
            output.write_from(&mut &content[..], durability).unwrap();
        } else {
            output.write(&content, durability).unwrap();
        }
    }
}

/// All that lies below a directory, by its last name.
fn files(directory: &Path, found: &mut BTreeMap<String, u64>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            files(&entry.path(), found);
        } else {
            let name = entry.file_name().into_string().unwrap();
            found.insert(name, entry.metadata().unwrap().len());
        }
    }
}

/// The quota allows what is left of it, and not a byte more.
fn assert_counted(workspace: &Workspace, quota: Quota, used: u64) {
    let (bytes, most_files) = (quota.bytes.unwrap(), quota.files.unwrap());
    let left = usize::try_from(bytes - used).unwrap();
    workspace.write(PROBE, &vec![0; left]).unwrap();
    let error = workspace.write(PROBE, &vec![0; left + 1]).unwrap_err();
    assert!(matches!(error, Error::QuotaExceeded { limit: Limit::Bytes(most), .. } if most == bytes));
    workspace.write(PROBE, b"").unwrap();
    let error = workspace.write("one-more", b"").unwrap_err();
    assert!(matches!(error, Error::QuotaExceeded { limit: Limit::Files(most), .. } if most == most_files));
}

fn killed_while_writing(times: usize, quota: Quota) {
    let (top, base) = base();
    let declared = Declaration { quota, ..declaration(&["./"], &["./"]) };
    // It is held all the while, so that what is found after a kill is what the killed one has left.
    let workspace = base.create("one", declared).unwrap();
    for path in OUTPUTS {
        workspace.write(path, &content(0)).unwrap();
    }
    if quota.limits() {
        workspace.write(PROBE, b"").unwrap();
    }
    let store = Store::open(&top.path().join("state/store")).unwrap();
    let key = SigningKey::open(&top.path().join("state/key.pem")).unwrap();
    for time in 0..times {
        kill("kill::writes", top.path());
        let mut found = BTreeMap::new();
        files(workspace.path(), &mut found);
        found.retain(|name, _| !name.starts_with(".toolgate-"));
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        let wanted: &[&str] = if quota.limits() { &["a", "b", "c", PROBE] } else { &["a", "b", "c"] };
        assert_eq!(names, wanted);
        for path in OUTPUTS {
            number(&workspace.read(path).unwrap());
        }
        if quota.limits() {
            assert_counted(&workspace, quota, found.values().sum());
        }
        if time % 50 == 0 {
            let about = About { time: SystemTime::UNIX_EPOCH, ruleset: None, ledger: None };
            let receipt = workspace.receipt(&store, &key, about, &()).unwrap();
            let envelope = Envelope::parse(receipt.to_json().as_bytes()).unwrap();
            let verified = envelope.verify(&[key.public()]).unwrap();
            store.check(&verified.statement().predicate.outputs).unwrap();
            assert_eq!(verified.statement().predicate.outputs, workspace.snapshot().unwrap());
        }
    }
}

#[test]
fn an_output_is_the_old_one_or_the_new_one_after_a_kill() {
    killed_while_writing(500, Quota::default());
}

#[test]
fn a_quota_counts_right_after_a_kill() {
    killed_while_writing(500, Quota { bytes: Some(200_000), files: Some(4) });
}

fn coming() -> Declaration {
    Declaration {
        temp: true,
        quota: Quota { bytes: Some(1 << 20), files: None },
        ..declaration(&["out/"], &["out/"])
    }
}

#[test]
#[ignore = "run by other tests"]
fn comes_and_goes() {
    let Some(top) = dir() else { return };
    let base = base_in(&top);
    println!("begun");
    loop {
        let workspace = base.create("two", coming()).unwrap();
        for path in ["out/x", "out/y/z", "temp/t/u"] {
            workspace.write(path, &content(7)).unwrap();
        }
        workspace.cleanup().unwrap();
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// It is there as it was declared, with whole files; or it is not there. Says which.
fn assert_there_or_not(base: &Workspaces) -> bool {
    let workspace = match base.find("two") {
        Ok(workspace) => workspace,
        Err(Error::WorkspaceNotFound { .. }) => return false,
        Err(error) => panic!("{error:?}"),
    };
    assert_eq!(workspace.declaration(), &coming());
    assert!(workspace.path().join("temp").is_dir());
    match workspace.read("out/x") {
        Ok(found) => assert_eq!(number(&found), 7),
        Err(error) => assert!(matches!(error, Error::Io { .. }), "{error:?}"),
    }
    assert!(matches!(base.create("two", coming()), Err(Error::AgentInUse { .. })));
    workspace.cleanup().unwrap();
    true
}

#[test]
fn a_workspace_is_whole_or_absent_after_a_kill() {
    let (top, base) = base();
    let keeper = base.create("keeper", declaration(&["kept"], &["kept"])).unwrap();
    keeper.write("kept", &content(1)).unwrap();
    let mut there = 0;
    for _ in 0..200 {
        kill("kill::comes_and_goes", top.path());
        there += usize::from(assert_there_or_not(&base));
        let again = base.create("two", coming()).unwrap();
        again.write("out/x", &content(9)).unwrap();
        assert_eq!(number(&again.read("out/x").unwrap()), 9);
        again.cleanup().unwrap();
        assert_eq!(names(base.path()), [".toolgate", "keeper"]);
        assert_eq!(names(&base.path().join(".toolgate")), [".lock", "keeper"], "nothing half is left");
        assert_eq!(number(&base.find("keeper").unwrap().read("kept").unwrap()), 1);
    }
    assert!(there > 0 && there < 200, "{there} of 200: it was killed at one moment only");
}
