//! The design's proof targets, by the names that it gives its tests.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::TempDir;
use toolgate_workspace::{
    Declaration, Durability, Error, Leaves, Pattern, Quota, Side, Workspace, Workspaces,
};

fn base() -> (TempDir, Workspaces) {
    let top = TempDir::new().unwrap();
    let base = Workspaces::open(&top.path().join("base")).unwrap();
    (top, base)
}

fn declaration(inputs: &[&str], outputs: &[&str], temp: bool) -> Declaration {
    let patterns = |list: &[&str]| list.iter().map(|text| Pattern::parse(text).unwrap()).collect();
    Declaration { inputs: patterns(inputs), outputs: patterns(outputs), temp, ..Declaration::default() }
}

/// Puts a file into a workspace in the way of another program.
fn put(workspace: &Workspace, path: &str, content: &str) {
    let path = workspace.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

#[test]
fn undeclared_read_rejected() {
    let (_top, base) = base();
    let workspace = base.create("agent-x", declaration(&["allowed/input.txt"], &["out"], true)).unwrap();
    put(&workspace, "allowed/input.txt", "in");
    put(&workspace, "forbidden/secret.txt", "secret");
    put(&workspace, "temp/x", "t");
    assert_eq!(workspace.read("allowed/input.txt").unwrap(), b"in");
    for path in ["forbidden/secret.txt", "allowed", "allowed/input.txt.bak", "out", "temp/x", "", "."] {
        assert!(matches!(workspace.read(path), Err(Error::UndeclaredRead { .. })), "{path}");
    }
    let metrics = workspace.metrics();
    assert_eq!((metrics.read.count, metrics.read.failed, metrics.read.denied), (8, 7, 7));
}

#[test]
fn undeclared_write_rejected() {
    let (_top, base) = base();
    let workspace = base.create("agent-x", declaration(&["in"], &["output/result.txt"], false)).unwrap();
    workspace.write("output/result.txt", b"one").unwrap();
    workspace.write("output/result.txt", b"two").unwrap();
    assert_eq!(fs::read(workspace.path().join("output/result.txt")).unwrap(), b"two");
    for path in ["in", "other/file.txt", "temp/file.txt", "output", "output/result.txt/x"] {
        assert!(matches!(workspace.write(path, b"x"), Err(Error::UndeclaredWrite { .. })), "{path}");
        assert!(!workspace.path().join(path).is_file());
    }
    assert_eq!(workspace.metrics().write.denied, 5);
}

#[test]
fn path_traversal_blocked() {
    let (top, base) = base();
    fs::write(top.path().join("outside"), "secret").unwrap();
    let workspace = base.create("agent-x", declaration(&["./"], &["./"], true)).unwrap();
    for path in
        ["../outside", "../../outside", "a/../../outside", "in..txt", "a\0b", "/etc/passwd", "a\\..\\b"]
    {
        assert!(matches!(workspace.read(path), Err(Error::PathTraversal { .. })), "{path:?}");
        assert!(matches!(workspace.write(path, b"x"), Err(Error::PathTraversal { .. })), "{path:?}");
    }
    assert_eq!(fs::read(top.path().join("outside")).unwrap(), b"secret");
}

#[test]
fn absolute_path_blocked() {
    for path in ["/etc/passwd", "/tmp/output.txt"] {
        assert!(Pattern::parse(path).is_err(), "cannot even be declared");
    }
}

#[test]
fn links_and_directories_are_not_read_or_written_through() {
    let (top, base) = base();
    fs::write(top.path().join("outside"), "secret").unwrap();
    fs::create_dir(top.path().join("elsewhere")).unwrap();
    let workspace = base.create("agent-x", declaration(&["./"], &["./"], false)).unwrap();
    put(&workspace, "plain", "inside");
    symlink(top.path().join("outside"), workspace.path().join("link")).unwrap();
    symlink("plain", workspace.path().join("near")).unwrap();
    symlink(top.path().join("elsewhere"), workspace.path().join("dir")).unwrap();
    for path in ["link", "near", "dir/x"] {
        let error = workspace.read(path).unwrap_err();
        assert!(matches!(error, Error::PathTraversal { why: Leaves::Link, .. }), "{path}: {error:?}");
    }
    // The name of a link is taken over; what it led to stays.
    workspace.write("link", b"new").unwrap();
    assert_eq!(fs::read(workspace.path().join("link")).unwrap(), b"new");
    assert_eq!(fs::read(top.path().join("outside")).unwrap(), b"secret");
    assert!(matches!(workspace.write("dir/x", b"x"), Err(Error::PathTraversal { why: Leaves::Link, .. })));
    assert!(fs::read_dir(top.path().join("elsewhere")).unwrap().next().is_none());
    fs::create_dir(workspace.path().join("real")).unwrap();
    assert!(matches!(workspace.read("real"), Err(Error::NotAFile { .. })));
}

#[test]
fn declared_and_given_paths_are_normalized() {
    let (_top, base) = base();
    let declaration = declaration(&["input/./data.txt", "input/data.txt"], &["output//result.txt"], false);
    let workspace = base.create("agent-x", declaration).unwrap();
    assert_eq!((workspace.declared(Side::Input), workspace.declared(Side::Output)), (1, 1));
    put(&workspace, "input/data.txt", "x");
    assert_eq!(workspace.read("input//./data.txt").unwrap(), b"x");
    workspace.write("output/result.txt", b"y").unwrap();
}

#[test]
fn temporary_files_need_to_be_declared() {
    let (_top, base) = base();
    let with = base.create("with", declaration(&[], &["output/result.txt"], true)).unwrap();
    assert!(with.path().join("temp").is_dir());
    with.write("temp/a/b", b"x").unwrap();
    let without = base.create("without", declaration(&[], &["other"], false)).unwrap();
    assert!(!without.path().join("temp").exists());
    assert!(matches!(without.write("temp/a", b"x"), Err(Error::UndeclaredWrite { .. })));
}

#[test]
fn an_agent_has_one_workspace_and_no_conflict_with_another() {
    let (top, base) = base();
    for agent in ["", "../../home/u", "a/b", "..", ".toolgate", &"a".repeat(65)] {
        let made = base.create(agent, declaration(&[], &[], false));
        assert!(matches!(made, Err(Error::InvalidAgent { .. })), "{agent}");
    }
    let one = base.create("one", declaration(&["in"], &["src/"], false)).unwrap();
    assert!(matches!(base.create("one", declaration(&[], &[], false)), Err(Error::AgentInUse { .. })));
    let error = base.create("two", declaration(&[], &["src/main.rs"], false)).unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(error, Error::Conflict { .. }) && text.contains("`one`") && text.contains("`two`"),
        "{text}"
    );
    assert!(matches!(base.find("two"), Err(Error::WorkspaceNotFound { .. })));
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(one.path().to_path_buf()), mode(top.path().join("base"))), (0o700, 0o700));
    assert_eq!(base.find("one").unwrap().declaration(), one.declaration());
    one.cleanup().unwrap();
    assert!(base.agents().unwrap().is_empty());
    base.create("two", declaration(&[], &["src/main.rs"], false)).unwrap();
    base.create("one", declaration(&["in"], &["lib/"], false)).unwrap();
}

#[test]
fn cleanup_removes_its_own_directory_and_nothing_else() {
    let (top, base) = base();
    fs::create_dir(top.path().join("outside")).unwrap();
    fs::write(top.path().join("outside/kept"), "x").unwrap();
    let workspace = base.create("one", declaration(&[], &["./"], true)).unwrap();
    put(&workspace, &format!("{}x", "deep/".repeat(100)), "x");
    symlink(top.path().join("outside"), workspace.path().join("link")).unwrap();
    let again = base.find("one").unwrap();
    workspace.cleanup().unwrap();
    assert!(!base.path().join("one").exists());
    assert!(top.path().join("outside/kept").exists());
    let error = again.write("x", b"x").unwrap_err();
    assert!(matches!(error, Error::WorkspaceNotFound { .. }), "{error:?}");
    assert!(matches!(again.read("x"), Err(Error::UndeclaredRead { .. })));
    assert!(matches!(again.cleanup(), Err(Error::WorkspaceNotFound { .. })));
    // Another directory that has its name is not it.
    let other = base.create("two", declaration(&[], &["./"], true)).unwrap();
    fs::rename(other.path(), top.path().join("moved")).unwrap();
    fs::create_dir(base.path().join("two")).unwrap();
    fs::write(base.path().join("two/kept"), "x").unwrap();
    assert!(matches!(other.cleanup(), Err(Error::WorkspaceNotFound { .. })));
    assert!(base.path().join("two/kept").exists());
    let left: Vec<_> =
        fs::read_dir(base.path().join(".toolgate")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "the lock, and what is known of the one that was moved: {left:?}");
}

#[test]
fn files_with_our_prefix_are_closed_to_agents() {
    let (_top, base) = base();
    let workspace = base.create("lock", declaration(&["./"], &["./"], false)).unwrap();
    put(&workspace, ".toolgate-0123", "x");
    assert!(matches!(workspace.read(".toolgate-0123"), Err(Error::UndeclaredRead { .. })));
    assert!(matches!(workspace.write(".toolgate-0123/x", b"x"), Err(Error::UndeclaredWrite { .. })));
    base.cleanup("lock").unwrap();
    assert!(matches!(base.cleanup("lock"), Err(Error::WorkspaceNotFound { .. })));
}

#[test]
fn a_file_in_the_way_of_another_agents_directory_is_a_conflict() {
    let (_top, base) = base();
    base.create("one", declaration(&[], &["out"], false)).unwrap();
    for outputs in ["out/x", "out/", "./", "o*"] {
        let made = base.create("two", declaration(&[], &[outputs], false));
        assert!(matches!(made, Err(Error::Conflict { .. })), "{outputs}");
    }
    base.create("two", declaration(&["./"], &["other"], false)).unwrap();
}

#[test]
fn a_sparse_file_of_8_tib_is_an_error() {
    let (_top, base) = base();
    let workspace = base.create("one", declaration(&["holes"], &[], false)).unwrap();
    let file = fs::File::create(workspace.path().join("holes")).unwrap();
    file.set_len(8 << 40).unwrap();
    let error = workspace.read("holes").unwrap_err();
    assert!(
        matches!(&error, Error::Io { source, .. } if source.kind() == ErrorKind::OutOfMemory),
        "{error:?}"
    );
}

#[test]
fn a_refused_write_leaves_no_directories() {
    let (_top, base) = base();
    let quota = Quota { bytes: Some(10), files: Some(1) };
    let declared = Declaration { quota, ..declaration(&[], &["./"], false) };
    let workspace = base.create("one", declared).unwrap();
    workspace.write("a", b"x").unwrap();
    for path in ["b/c/d", "e/f"] {
        assert!(matches!(workspace.write(path, b"x"), Err(Error::QuotaExceeded { .. })));
        let mut endless = std::io::repeat(b'x');
        let written = workspace.output(path).unwrap().write_from(&mut endless, Durability::Process);
        assert!(matches!(written, Err(Error::QuotaExceeded { .. })));
    }
    assert_eq!(fs::read_dir(workspace.path()).unwrap().count(), 1);
}
