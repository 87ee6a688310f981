//! Requirements of `docs/coverage.md` that no other test shows.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::json;
use toolgate_model::{Entry, LookError, Node, Resolver, Trouble, World};

use crate::support::squad::{call, prompt};
use crate::support::{Machine, skipped, write};

/// A profile that steps back says why. Where there are several reasons, the one that is looked at first is given: an
/// untrusted project does not even get its root looked up, wherever its variable points.
#[test]
fn the_mode_is_looked_at_before_trust_and_trust_before_the_root() {
    let machine = Machine::new();
    let main = machine.repository("main");
    let own = machine.worktree(&main, "own");
    let gone = machine.path("gone");
    let (mode, trust, root) =
        ("the host's mode", "the project is not trusted", "the variable that names the root");
    for (line, variable, reason) in [
        (["--mode", "print", "--trusted", "no"], Some(&gone), mode),
        (["--mode", "print", "--trusted", "no"], Some(&own), mode),
        (["--mode", "print", "--trusted", "yes"], None, mode),
        (["--mode", "tui", "--trusted", "no"], Some(&gone), trust),
        (["--mode", "tui", "--trusted", "no"], Some(&own), trust),
        (["--mode", "tui", "--trusted", "no"], None, trust),
        (["--mode", "tui", "--trusted", "yes"], Some(&gone), root),
        (["--mode", "tui", "--trusted", "yes"], None, root),
    ] {
        let session = machine.session("s", &own).with(|hook| {
            let hook = hook.args(["--profile", "pi-worktree"]).args(line);
            match variable {
                Some(place) => hook.env("WORKTREE_SANDBOX_PATH", place),
                None => hook,
            }
        });
        assert_eq!(session.write(main.join("a")), "nothing", "{line:?} {variable:?}");
        let record = machine.last_record();
        let said = record["findings"][0]["message"].as_str().unwrap_or_default();
        assert!(said.starts_with(&format!("not judged: {reason}")), "{line:?} {variable:?}: {record}");
    }
}

#[test]
fn the_user_is_told_of_a_directory_that_is_new_to_an_agent() {
    let machine = Machine::new();
    let main = machine.repository("main");
    let own = machine.worktree(&main, "own");
    write(&machine.user_settings(), "[notices]\nnew-directories = true\n");
    let session = machine.session("s", &own);
    prompt(&session, "go on");
    for (path, new) in [
        ("src/a.rs", true),
        ("src/b.rs", false),
        ("docs/a.md", true),
        ("docs/a.md", false),
        ("src/c.rs", false),
    ] {
        let input = json!({"file_path": own.join(path), "content": "x"});
        let (_, notice) = call(&session, "Write", &input);
        let told = notice.as_deref().is_some_and(|notice| notice.ends_with("for the first time"));
        assert_eq!(told, new, "{path}: {notice:?}");
    }
}

/// A disk that must not be asked anything.
struct Untouched;

impl World for Untouched {
    fn look(&self, path: &Path) -> Result<Node, LookError> {
        panic!("{} was looked at", path.display())
    }

    fn look_straight(&self, path: &Path) -> Option<Result<Node, LookError>> {
        panic!("{} was looked at", path.display())
    }

    fn read(&self, path: &Path, _: usize) -> io::Result<Vec<u8>> {
        panic!("{} was read", path.display())
    }

    fn entries(&self, path: &Path, _: usize) -> io::Result<Option<Vec<Entry>>> {
        panic!("{} was listed", path.display())
    }
}

#[test]
fn a_path_that_nobody_could_mean_is_refused_before_anything_is_looked_up() {
    let resolver = Resolver::new(&Untouched, Some("/work"), None);
    let long = "x".repeat(5000);
    for (path, trouble) in [
        ("", Trouble::Empty),
        ("a\0b", Trouble::Nul),
        ("a\nb", Trouble::Control('\n')),
        ("a\u{202e}b", Trouble::Control('\u{202e}')),
        (" a", Trouble::Blank),
        (long.as_str(), Trouble::TooLong),
    ] {
        assert_eq!(resolver.resolve_text(path).unwrap_err(), trouble, "{path:?}");
    }
}

#[test]
fn without_a_base_a_workspace_is_made_where_the_design_says() {
    let base = Path::new("/tmp/kgc-workspaces");
    let own = fs::metadata("/proc/self").unwrap().uid();
    if fs::symlink_metadata(base).is_ok_and(|found| found.uid() != own) {
        return skipped("/tmp/kgc-workspaces belongs to somebody else");
    }
    let machine = Machine::new();
    let agent = format!("requirement-{}", std::process::id());
    let toolgate = |words: &[&str]| machine.toolgate().arg("workspace").args(words).run("");
    let made = toolgate(&["create", &agent, "--output", "out/", "--temp"]);
    assert_eq!(made.code(), Some(0), "{made:?}");
    assert!(base.join(&agent).join("temp").is_dir(), "{made:?}");
    assert_eq!(toolgate(&["cleanup", &agent]).code(), Some(0));
    assert!(!base.join(&agent).exists());
}
