//! Snapshots, the store, receipts and replay.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use toolgate_workspace::{
    About, Declaration, Envelope, Error, Formula, LedgerPosition, Moment, Pattern, Receipt, Side, SigningKey,
    State, Store, Workspace, Workspaces,
};

struct Yard {
    top: TempDir,
    base: Workspaces,
    store: Store,
    key: SigningKey,
}

impl Yard {
    fn new() -> Yard {
        let top = TempDir::new().unwrap();
        let base = Workspaces::open(&top.path().join("base")).unwrap();
        let store = Store::open(&top.path().join("state/store")).unwrap();
        let key = SigningKey::open(&top.path().join("state/key.pem")).unwrap();
        Yard { top, base, store, key }
    }

    fn project(&self, files: &[(&str, &str)]) -> PathBuf {
        let project = self.top.path().join("project");
        for (path, content) in files {
            let path = project.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        project
    }

    fn receipt(&self, workspace: &Workspace) -> Receipt {
        let about = About {
            time: SystemTime::UNIX_EPOCH + Duration::from_secs(7),
            ruleset: Some("sha256:00".to_owned()),
            ledger: Some(LedgerPosition { seq: 3, digest: "11".to_owned() }),
        };
        workspace.receipt(&self.store, &self.key, about, &()).unwrap()
    }

    fn verify(&self, text: &str) -> Result<Receipt, Error> {
        Envelope::parse(text.as_bytes())?.verify(&[self.key.public()])
    }

    fn objects(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.store.path().join("objects")).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }
}

fn declaration(inputs: &[&str], outputs: &[&str], temp: bool) -> Declaration {
    let patterns = |list: &[&str]| list.iter().map(|text| Pattern::parse(text).unwrap()).collect();
    Declaration { inputs: patterns(inputs), outputs: patterns(outputs), temp, ..Declaration::default() }
}

#[test]
fn snapshots_of_the_same_contents_are_the_same() {
    let yard = Yard::new();
    let outputs = ["output/file3.txt", "output/file1.txt", "output/file2.txt", "more/", "empty", "absent"];
    let workspace = yard.base.create("agent-x", declaration(&[], &outputs, true)).unwrap();
    for (path, content) in [
        ("output/file2.txt", "two"),
        ("output/file1.txt", "one"),
        ("more/a/b", "deep"),
        ("empty", ""),
        ("temp/x", "t"),
    ] {
        workspace.write(path, content.as_bytes()).unwrap();
    }
    let first = workspace.snapshot().unwrap();
    assert_eq!(first, workspace.snapshot().unwrap());
    assert!(first.is_consistent());
    let paths: Vec<&str> = first.files().keys().map(String::as_str).collect();
    assert_eq!(
        paths,
        ["absent", "empty", "more/a/b", "output/file1.txt", "output/file2.txt", "output/file3.txt"]
    );
    assert_eq!(first.files()["absent"], State::Missing);
    assert!(
        matches!(first.files()["empty"], State::File { size: 0, .. }),
        "an empty file is not a missing one"
    );
    // The same contents elsewhere, written in another order, give the same digest.
    let elsewhere = Workspaces::open(&yard.top.path().join("elsewhere")).unwrap();
    let other = elsewhere.create("agent-y", declaration(&[], &outputs, true)).unwrap();
    for (path, content) in
        [("empty", ""), ("more/a/b", "deep"), ("output/file1.txt", "one"), ("output/file2.txt", "two")]
    {
        other.write(path, content.as_bytes()).unwrap();
    }
    assert_eq!(other.snapshot().unwrap().digest(), first.digest());
    other.write("absent", b"").unwrap();
    let changed = other.snapshot().unwrap();
    assert_ne!(changed.digest(), first.digest());
    let differences = first.diff(&changed);
    assert_eq!(differences.len(), 1);
    assert_eq!((differences[0].path.as_str(), differences[0].before), ("absent", Some(State::Missing)));
}

#[test]
fn the_compatible_digest_is_that_of_the_published_formula() {
    let yard = Yard::new();
    let workspace = yard.base.create("agent-x", declaration(&[], &["b", "a", "absent"], false)).unwrap();
    workspace.write("a", b"one\n").unwrap();
    workspace.write("b", b"two\n").unwrap();
    let snapshot = workspace.snapshot_of(Side::Output, Formula::Compat, &()).unwrap();
    let script =
        r"for f in a b; do printf '%s:%s\n' $f $(sha256sum < $f | cut -c1-64); done | sha256sum | cut -c1-64";
    let output = Command::new("sh").args(["-c", script]).current_dir(workspace.path()).output().unwrap();
    assert_eq!(snapshot.digest().hex(), String::from_utf8(output.stdout).unwrap().trim());
    assert!(snapshot.is_consistent());
}

#[test]
fn a_snapshot_of_many_files_holds_them_all() {
    let yard = Yard::new();
    let workspace = yard.base.create("agent-x", declaration(&[], &["./"], false)).unwrap();
    for number in 0..500 {
        workspace.write(&format!("d{}/f{number}", number % 7), number.to_string().as_bytes()).unwrap();
    }
    let snapshot = workspace.snapshot().unwrap();
    assert_eq!(snapshot.files().len(), 500);
    assert_eq!(workspace.snapshot().unwrap(), snapshot);
    std::os::unix::fs::symlink("/etc/passwd", workspace.path().join("d0/link")).unwrap();
    assert!(matches!(workspace.snapshot(), Err(Error::PathTraversal { .. })), "a link is no output");
}

#[test]
fn a_receipt_is_verified_and_replayed() {
    let yard = Yard::new();
    let project = yard.project(&[("src/a", "a"), ("src/both", "before"), ("secret", "s"), ("same", "a")]);
    std::os::unix::fs::symlink("/etc/passwd", project.join("link")).unwrap();
    let declared = declaration(&["src/", "same", "absent"], &["src/both", "out/x", "never"], true);
    let workspace = yard.base.create_from("agent-x", declared, &project, &yard.store, &()).unwrap();
    assert_eq!(workspace.read("src/a").unwrap(), b"a");
    assert!(!workspace.path().join("secret").exists());
    assert_eq!(yard.objects().len(), 2, "the same content is stored once");
    workspace.write("src/both", b"after").unwrap();
    workspace.write("out/x", b"result").unwrap();
    let receipt = yard.receipt(&workspace);
    let text = receipt.to_json();
    assert_eq!(yard.verify(&text).unwrap(), receipt);
    let stated = &receipt.statement().predicate;
    assert_eq!(stated.agent.as_str(), "agent-x");
    assert_eq!(stated.inputs.files()["absent"], State::Missing);
    assert_eq!(stated.outputs.files()["never"], State::Missing);
    assert_eq!((stated.time, stated.ledger.as_ref().unwrap().seq), (7, 3));
    yard.store.check(&stated.inputs).unwrap();
    yard.store.check(&stated.outputs).unwrap();

    for (moment, both, result) in [(Moment::Before, "before", false), (Moment::After, "after", true)] {
        let again = yard.base.replay("again", &receipt, &yard.store, moment, &()).unwrap();
        assert_eq!(again.read("src/both").unwrap(), both.as_bytes());
        assert_eq!(again.read("same").unwrap(), b"a");
        assert_eq!(again.read("out/x").is_ok(), result);
        assert!(matches!(again.write("src/both", b"x"), Err(Error::UndeclaredWrite { .. })), "read-only");
        again.cleanup().unwrap();
    }
}

#[test]
fn a_changed_receipt_or_content_is_found() {
    let yard = Yard::new();
    let workspace = yard.base.create("agent-x", declaration(&[], &["x"], false)).unwrap();
    workspace.write("x", b"content").unwrap();
    let receipt = yard.receipt(&workspace);
    let text = receipt.to_json();
    for at in (0..text.len()).step_by(7) {
        let mut bytes = text.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = Envelope::parse(&bytes).and_then(|envelope| envelope.verify(&[yard.key.public()]));
        // The id of the key is a hint, and says nothing by itself.
        let hint = text.find("keyid").unwrap()..text.find("\"sig\"").unwrap();
        assert!(changed.is_err() || hint.contains(&at), "byte {at}");
    }
    let stranger = SigningKey::open(&yard.top.path().join("other.pem")).unwrap();
    assert!(matches!(
        Envelope::parse(text.as_bytes()).unwrap().verify(&[stranger.public()]),
        Err(Error::BadReceipt { .. })
    ));
    assert!(matches!(Envelope::parse(text.as_bytes()).unwrap().verify(&[]), Err(Error::BadReceipt { .. })));

    let object = yard.objects().pop().unwrap();
    let mode =
        |mode| fs::set_permissions(&object, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    mode(0o600);
    fs::write(&object, "CONTENT").unwrap();
    assert!(matches!(yard.store.check(&receipt.statement().predicate.outputs), Err(Error::Corrupt { .. })));
    let replayed = yard.base.replay("again", &receipt, &yard.store, Moment::After, &());
    assert!(matches!(replayed, Err(Error::Corrupt { .. })));
    assert!(matches!(yard.base.find("again"), Err(Error::WorkspaceNotFound { .. })), "nothing half is left");
    fs::remove_file(&object).unwrap();
    assert!(matches!(yard.store.check(&receipt.statement().predicate.outputs), Err(Error::NotStored { .. })));
}

#[test]
fn only_contents_that_nothing_names_are_collected() {
    let yard = Yard::new();
    let project = yard.project(&[("in", "began with")]);
    let declared = declaration(&["in"], &["x"], false);
    let workspace = yard.base.create_from("agent-x", declared, &project, &yard.store, &()).unwrap();
    yard.store.put(&mut &b"garbage"[..]).unwrap();
    let collected = yard.store.collect().unwrap();
    assert_eq!(
        (collected.kept, collected.removed, collected.bytes),
        (1, 1, 7),
        "what it began with is pinned"
    );
    workspace.write("x", b"one").unwrap();
    let first = yard.receipt(&workspace);
    workspace.write("x", b"two").unwrap();
    let second = yard.receipt(&workspace);
    let path = workspace.path().to_path_buf();
    workspace.cleanup().unwrap();
    yard.store.unpin(&path).unwrap();
    assert_eq!(yard.store.collect().unwrap().removed, 0);
    let ids: Vec<_> = yard.store.receipts().unwrap();
    assert_eq!(ids.len(), 2);
    let first_id =
        ids.iter().find(|(_, kept)| kept.clone().verify(&[yard.key.public()]).unwrap() == first).unwrap().0;
    assert!(yard.store.forget(&first_id).unwrap() && !yard.store.forget(&first_id).unwrap());
    assert_eq!(yard.store.collect().unwrap().removed, 1);
    yard.base.replay("again", &second, &yard.store, Moment::After, &()).unwrap();
    fs::write(yard.store.path().join("receipts/broken.json"), "{").unwrap();
    assert!(matches!(yard.store.collect(), Err(Error::Damaged { .. })), "it could name anything");
}

#[test]
fn a_key_that_others_can_read_or_that_is_damaged_is_refused() {
    let yard = Yard::new();
    let path = yard.top.path().join("state/key.pem");
    assert_eq!(SigningKey::open(&path).unwrap().public(), yard.key.public());
    let pem = yard.key.public().to_pem();
    assert_eq!(toolgate_workspace::PublicKey::parse(&pem), Some(yard.key.public()));
    assert!(!format!("{:?}", yard.key).contains("PRIVATE"));
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    assert!(matches!(SigningKey::open(&path), Err(Error::UnsafeBase { .. })));
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    fs::write(&path, "no key").unwrap();
    assert!(matches!(SigningKey::open(Path::new(&path)), Err(Error::Damaged { .. })));
}

#[test]
fn a_receipt_is_refused_when_its_inputs_have_changed() {
    let yard = Yard::new();
    let project = yard.project(&[("in/a", "a"), ("both", "before")]);
    let declared = || declaration(&["in/", "both", "later"], &["both"], false);
    for changed in [Some("changed"), None] {
        let workspace = yard.base.create_from("agent-x", declared(), &project, &yard.store, &()).unwrap();
        workspace.write("both", b"after").unwrap();
        yard.receipt(&workspace);
        let path = workspace.path().join("in/a");
        match changed {
            Some(text) => fs::write(path, text).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
        let about = About { time: SystemTime::UNIX_EPOCH, ruleset: None, ledger: None };
        let receipt = workspace.receipt(&yard.store, &yard.key, about, &());
        assert!(matches!(receipt, Err(Error::InputChanged { .. })), "{changed:?}");
        workspace.cleanup().unwrap();
    }
    // What came later is an input too, as it is.
    let workspace = yard.base.create_from("agent-x", declared(), &project, &yard.store, &()).unwrap();
    workspace.write("both", b"after").unwrap();
    for path in ["later", "in/new"] {
        fs::write(workspace.path().join(path), path).unwrap();
    }
    let receipt = yard.receipt(&workspace);
    let again = yard.base.replay("again", &receipt, &yard.store, Moment::Before, &()).unwrap();
    for (path, content) in [("later", "later"), ("in/new", "in/new"), ("in/a", "a"), ("both", "before")] {
        assert_eq!(again.read(path).unwrap(), content.as_bytes(), "{path}");
    }
}

#[test]
fn the_unsigned_key_id_is_not_part_of_a_receipt() {
    let yard = Yard::new();
    let workspace = yard.base.create("agent-x", declaration(&[], &["x"], false)).unwrap();
    let text = yard.receipt(&workspace).to_json();
    let id = yard.key.public().id();
    let renamed = text.replace(&id, "another");
    assert_eq!(yard.verify(&renamed).unwrap().to_json(), text);
}

#[test]
fn a_damaged_content_is_replaced_when_it_is_stored_again() {
    let yard = Yard::new();
    let (digest, _) = yard.store.put(&mut &b"content"[..]).unwrap();
    fs::write(&yard.objects()[0], "CONTENT").unwrap();
    assert!(matches!(yard.store.read(&digest), Err(Error::Corrupt { .. })));
    yard.store.put(&mut &b"content"[..]).unwrap();
    assert_eq!(yard.store.read(&digest).unwrap(), b"content");
}

#[test]
fn links_of_a_project_are_left_out_unless_by_name() {
    let yard = Yard::new();
    let project = yard.project(&[("a", "a")]);
    std::os::unix::fs::symlink("/etc/passwd", project.join("link")).unwrap();
    let everything = declaration(&["./"], &["out"], false);
    let workspace = yard.base.create_from("one", everything, &project, &yard.store, &()).unwrap();
    assert!(workspace.path().join("a").exists() && !workspace.path().join("link").exists());
    let named = declaration(&["link"], &[], false);
    let made = yard.base.create_from("two", named, &project, &yard.store, &());
    assert!(matches!(made, Err(Error::PathTraversal { .. })));
    assert!(matches!(yard.base.find("two"), Err(Error::WorkspaceNotFound { .. })));
    yard.base.create("two", declaration(&[], &[], false)).unwrap();
}
