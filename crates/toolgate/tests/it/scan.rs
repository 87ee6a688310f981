//! `toolgate scan`, from outside: real files, real repositories, real commits.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::support::{Answer, Hook, Machine, SECRET, fifo, git, git_command, write};
use serde_json::Value;

const MARK: &str = "[GITHUB_TOKEN REDACTED]";
const EMPTY_LOOK: &str = "0 findings";

/// A second one of the same kind.
fn other_secret() -> String {
    SECRET.replace("1234", "9876")
}

fn scan(machine: &Machine, dir: &Path) -> Hook {
    machine
        .toolgate()
        .arg("scan")
        .cwd(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
}

/// Runs it; whatever it says, no secret is in it.
fn run(hook: &Hook, args: &[&str]) -> Answer {
    let answer = hook.clone().args(args).run("");
    for text in [&answer.stdout, &answer.stderr] {
        assert!(!text.contains(SECRET) && !text.contains(&other_secret()), "{text}");
    }
    answer
}

fn json(hook: &Hook, args: &[&str]) -> Value {
    let answer = run(hook, &[args, &["--format", "json"]].concat());
    let report: Value = serde_json::from_str(&answer.stdout).unwrap();
    let wanted = i32::from(!report["findings"].as_array().unwrap().is_empty());
    assert_eq!(answer.code(), Some(wanted), "{answer:?}");
    assert!(!answer.stderr.lines().any(|line| line.starts_with("toolgate: ")), "{answer:?}");
    report
}

/// `path:line:column` of every finding.
fn places(report: &Value) -> Vec<String> {
    let place = |finding: &Value| {
        format!("{}:{}:{}", finding["path"].as_str().unwrap(), finding["line"], finding["column"])
    };
    report["findings"].as_array().unwrap().iter().map(place).collect()
}

#[test]
fn findings_are_reported_with_their_place_and_without_the_secret() {
    let machine = Machine::new();
    let top = machine.dir("tree");
    write(&top.join("b/deep/x.env"), format!("# é\nA=1\né TOKEN = {SECRET} # and {SECRET}\n"));
    write(&top.join("a.txt"), "nothing\n");
    let answer = run(&scan(&machine, &top), &[]);
    assert_eq!(answer.code(), Some(1));
    let lines: Vec<_> = answer.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{answer:?}");
    assert!(lines[0].starts_with("b/deep/x.env:3:11: "), "{}", lines[0]);
    assert!(lines[2].starts_with("b/deep/x.env:3:58: "), "{}", lines[2]);
    assert_eq!(lines[1], format!("    é TOKEN = {MARK} # and {MARK}"));
    assert_eq!(answer.stderr, "2 findings in 2 files (116 B)\n");

    let report = json(&scan(&machine, &top), &["."]);
    assert_eq!(places(&report), ["b/deep/x.env:3:11", "b/deep/x.env:3:58"]);
    let first = &report["findings"][0];
    assert_eq!((&first["end_line"], &first["end_column"]), (&3.into(), &51.into()));
    assert!(first["about"].as_str().unwrap().starts_with('a'));
    assert!(first.get("commit").is_none());
    assert_eq!((&report["files"], &report["bytes"]), (&2.into(), &116.into()));
    assert_ne!(first["fingerprint"], report["findings"][1]["fingerprint"]);
    assert_eq!(report, json(&scan(&machine, &top), &["."]), "a second look tells the same");
}

#[test]
fn nothing_found_is_success() {
    let machine = Machine::new();
    let top = machine.dir("tree");
    let answer = run(&scan(&machine, &top), &[]);
    assert_eq!((answer.code(), answer.stdout.as_str()), (Some(0), ""));
    assert_eq!(answer.stderr, "0 findings in 0 files (0 B)\n");
    for format in ["json", "sarif"] {
        let answer = run(&scan(&machine, &top), &["--format", format]);
        assert_eq!((answer.code(), answer.stderr.as_str()), (Some(0), ""));
        serde_json::from_str::<Value>(&answer.stdout).unwrap();
    }
}

#[test]
fn sarif_names_rules_places_and_fingerprints() {
    let machine = Machine::new();
    let top = machine.dir("tree");
    write(&top.join("a b.txt"), format!("x {SECRET}\n"));
    let answer = run(&scan(&machine, &top), &["--format", "sarif"]);
    assert_eq!(answer.code(), Some(1));
    let log: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let result = &run["results"][0];
    assert_eq!(result["ruleId"], run["tool"]["driver"]["rules"][0]["id"]);
    assert!(run["tool"]["driver"]["rules"][0]["shortDescription"]["text"].is_string());
    let location = &result["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], "a%20b.txt");
    let region = serde_json::json!({ "startLine": 1, "startColumn": 3, "endLine": 1, "endColumn": 43 });
    assert_eq!(location["region"], region);
    assert_eq!(result["partialFingerprints"]["toolgate/v1"].as_str().unwrap().len(), 32);
    assert!(result.get("suppressions").is_none());
}

#[test]
fn links_binary_files_and_git_directories_are_scanned_only_by_name() {
    let machine = Machine::new();
    let top = machine.dir("tree");
    let line = format!("{SECRET}\n");
    write(&machine.path("outside/secret.txt"), &line);
    symlink("../outside", top.join("dir-link")).unwrap();
    symlink("../outside/secret.txt", top.join("file-link")).unwrap();
    symlink("..", top.join("loop")).unwrap();
    fifo(&top.join("pipe"));
    write(&top.join(".git/config"), &line);
    write(&top.join("binary"), format!("\0{line}"));
    write(&top.join("sub/.git"), &line);
    let answer = run(&scan(&machine, &top), &[]);
    assert_eq!(answer.code(), Some(0), "{answer:?}");
    assert!(answer.stderr.starts_with("0 findings in 0 files"), "{answer:?}");
    // What is named is meant.
    assert_eq!(places(&json(&scan(&machine, &top), &["file-link"])), ["file-link:1:1"]);
    assert_eq!(places(&json(&scan(&machine, &top), &["dir-link", ".git"])).len(), 2);
    // A NUL far behind the beginning makes no binary file.
    write(&top.join("late"), format!("{}\0\n{line}", "a\n".repeat(5000)));
    assert_eq!(places(&json(&scan(&machine, &top), &["."])), ["late:5002:1"]);
}

#[test]
fn a_scan_that_cannot_be_done_exits_with_2() {
    let machine = Machine::new();
    let top = machine.dir("tree");
    write(&top.join("a.txt"), "a\n");
    for args in [
        &["missing"][..],
        &["a.txt", "missing"],
        &["/dev/null"],
        &["--baseline", "missing", "."],
        &["--baseline", "a.txt", "."],
        &["--staged"],
        &["--git-history"],
        &["--tracked"],
        &["--git-history", ".", "."],
    ] {
        let answer = run(&scan(&machine, &top).env("GIT_DIR", "/nonexistent"), args);
        assert_eq!(answer.code(), Some(2), "{args:?}: {answer:?}");
        assert!(!answer.stderr.is_empty());
    }
    for args in [&["--staged", "--git-history"][..], &["--format", "xml"]] {
        assert_eq!(run(&scan(&machine, &top), args).code(), Some(64), "{args:?}");
    }
}

#[test]
fn findings_in_a_long_line_and_a_big_file_have_their_places() {
    let machine = Machine::new();
    let top = machine.dir("tree");
    // One line with many findings.
    write(&top.join("min.js"), format!("{};t=\"{SECRET}\";", "x".repeat(3000)).repeat(200));
    // Over the border of a window, and behind it.
    let mut big = "0123456789abcde\n".repeat(256 * 1024 - 1).into_bytes();
    big.extend_from_slice(format!("0123 {SECRET}\n{}{SECRET}\n", "a\n".repeat(100_000)).as_bytes());
    write(&top.join("big.log"), big);
    let report = json(&scan(&machine, &top), &["."]);
    let places = places(&report);
    assert_eq!(places.len(), 202);
    assert_eq!(places[..2], ["big.log:262144:6", "big.log:362145:1"]);
    assert_eq!(places[2..4], ["min.js:1:3005", "min.js:1:6051"]);
    let longest = report["findings"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap().len());
    assert!(longest.max().unwrap() < 300);
}

#[test]
fn a_false_alarm_can_be_excused_on_its_line_or_by_a_baseline() {
    let machine = Machine::new();
    let top = machine.dir("tree");
    let excused = format!("a = '{SECRET}' # toolgate: not-a-secret\n");
    write(&top.join("a.py"), format!("{excused}b = '{SECRET}'\n"));
    assert_eq!(places(&json(&scan(&machine, &top), &["."])), ["a.py:2:6"]);
    let answer = run(&scan(&machine, &top), &["--format", "json"]);
    write(&machine.path("known.json"), &answer.stdout);
    let known = ["--baseline", "../known.json", "."];
    assert_eq!(places(&json(&scan(&machine, &top), &known)).len(), 0);
    // It may move, but there may not be more of them.
    write(&top.join("a.py"), format!("\n\n{excused}b = '{SECRET}'\nb = '{SECRET}'\n"));
    assert_eq!(places(&json(&scan(&machine, &top), &known)), ["a.py:5:6"]);
    write(&top.join("b.py"), format!("b = '{SECRET}'\n"));
    assert_eq!(places(&json(&scan(&machine, &top), &known)), ["a.py:5:6", "b.py:1:6"]);
    // The word excuses nothing from redaction.
    let scrubbed = machine.toolgate().arg("scrub").run(&excused);
    assert!(scrubbed.stdout.contains(MARK), "{scrubbed:?}");
}

#[test]
fn only_tracked_files_are_scanned_with_tracked() {
    let machine = Machine::new();
    let top = machine.repository("repo");
    write(&top.join("in/a.txt"), SECRET);
    write(&top.join("in/it's \"odd\"\n"), SECRET);
    write(&top.join("untracked.txt"), SECRET);
    write(&top.join("gone.txt"), SECRET);
    symlink("untracked.txt", top.join("link")).unwrap();
    git(&top, ["add", "in", "gone.txt", "link"]);
    fs::remove_file(top.join("gone.txt")).unwrap();
    let both = ["in/a.txt:1:1", "in/it's \"odd\"\n:1:1"];
    assert_eq!(places(&json(&scan(&machine, &top), &["--tracked"])), both);
    assert_eq!(places(&json(&scan(&machine, &top), &["--tracked", "in/a.txt"])), ["in/a.txt:1:1"]);
    assert_eq!(places(&json(&scan(&machine, &top), &["--tracked", "untracked.txt"])).len(), 0);
    assert_eq!(places(&json(&scan(&machine, &machine.home()), &["--tracked", "../repo/in"])).len(), 2);
}

#[test]
fn only_staged_lines_are_scanned_under_any_file_name() {
    let machine = Machine::new();
    let top = machine.repository("repo");
    write(&top.join("old.txt"), format!("one\n{SECRET}\nthree\n"));
    git(&top, ["add", "."]);
    git(&top, ["commit", "-q", "-m", "old"]);
    assert_eq!(places(&json(&scan(&machine, &top), &["--staged"])).len(), 0);
    // Neither a rename nor a change beside it makes an old line new; what is not staged does not count.
    git(&top, ["mv", "old.txt", "new.txt"]);
    write(&top.join("new.txt"), format!("one\n{SECRET}\nthree\nfour {}\n", other_secret()));
    git(&top, ["add", "."]);
    write(&top.join("new.txt"), format!("{SECRET}\n"));
    write(&top.join("README.md"), SECRET);
    assert_eq!(places(&json(&scan(&machine, &top), &["--staged"])), ["new.txt:4:6"]);
    // Odd names, from a directory below the top.
    for name in [&b"it's \"a\"\tb\nc"[..], b"a b", b"\xff\xc3.txt", "日本".as_bytes(), b"b/x", b"-- a"] {
        write(&top.join("sub").join(OsStr::from_bytes(name)), SECRET);
    }
    git(&top, ["add", "sub"]);
    let report = json(&scan(&machine, &top.join("sub")), &["--staged"]);
    assert_eq!(
        places(&report),
        [
            "new.txt:4:6",
            "sub/-- a:1:1",
            "sub/a b:1:1",
            "sub/b/x:1:1",
            "sub/it's \"a\"\tb\nc:1:1",
            "sub/日本:1:1",
            "sub/\u{fffd}\u{fffd}.txt:1:1",
        ]
    );
    let text = run(&scan(&machine, &top), &["--staged"]);
    assert!(text.stdout.contains("sub/it's \"a\"\\tb\\nc:1:1: "), "{text:?}");
    assert!(text.stderr.contains("git restore --staged"), "{text:?}");
    let sarif = run(&scan(&machine, &top), &["--staged", "--format", "sarif"]);
    assert!(sarif.stdout.contains("sub/%FF%C3.txt"), "{sarif:?}");
}

#[test]
fn staged_lines_are_found_in_a_repository_without_commits() {
    let machine = Machine::new();
    for format in ["sha1", "sha256"] {
        let top = machine.dir(format);
        git(&top, ["init", "-q", "--object-format", format]);
        assert_eq!(places(&json(&scan(&machine, &top), &["--staged"])).len(), 0);
        assert_eq!(places(&json(&scan(&machine, &top), &["--git-history"])).len(), 0);
        write(&top.join("a"), format!("\n{SECRET}"));
        git(&top, ["add", "a"]);
        assert_eq!(places(&json(&scan(&machine, &top), &["--staged"])), ["a:2:1"]);
        git(&top, ["commit", "-q", "-m", "a"]);
        assert_eq!(places(&json(&scan(&machine, &top), &["--git-history"])), ["a:2:1"]);
    }
}

/// A text that looks like a patch is one of lines like any other.
#[test]
fn a_secret_in_a_committed_patch_file_is_found() {
    let machine = Machine::new();
    let top = machine.repository("repo");
    let patch = format!(
        "--- a/x\n+++ /dev/null\n@@ -1,9 +0,0 @@\n-x\n+++ b/safe\n{}\ndiff --git a/x b/x\n{SECRET}\n\\ No newline\n",
        "0".repeat(40)
    );
    write(&top.join("x.patch"), &patch);
    git(&top, ["add", "."]);
    assert_eq!(places(&json(&scan(&machine, &top), &["--staged"])), ["x.patch:8:1"]);
    git(&top, ["commit", "-q", "-m", "patch"]);
    write(&top.join("x.patch"), patch.replace(SECRET, "").trim_end());
    git(&top, ["commit", "-q", "-a", "-m", "gone"]);
    let report = json(&scan(&machine, &top), &["--git-history"]);
    assert_eq!(places(&report), ["x.patch:8:1"]);
    assert_eq!(report["findings"][0]["commit"], git(&top, ["rev-parse", "HEAD~"]).trim());
}

#[test]
fn a_commit_with_a_secret_is_stopped_by_a_pre_commit_hook() {
    let machine = Machine::new();
    let top = machine.repository("repo");
    let hook = top.join(".git/hooks/pre-commit");
    write(&hook, format!("#!/bin/sh\nexec {} scan --staged\n", env!("CARGO_BIN_EXE_toolgate")));
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let commit = |dir: &Path, args: &[&str]| {
        let args = [&["commit", "-q", "-m", "x"], args].concat();
        let output = git_command(dir, args).env("HOME", machine.home()).output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!said.contains(SECRET), "{said}");
        (output.status.success(), said)
    };
    let head = || git(&top, ["rev-parse", "HEAD"]);
    let before = head();
    let made = std::process::Command::new("sh")
        .arg("-c")
        .arg(format!("cat > deploy.sh <<'EOF'\nexport TOKEN={SECRET}\nEOF"))
        .current_dir(&top)
        .status();
    assert!(made.unwrap().success());
    git(&top, ["add", "deploy.sh"]);
    let (done, said) = commit(&top, &[]);
    assert!(!done && said.contains("deploy.sh:1:14: "), "{said}");
    // With an index of its own, which only the environment names.
    write(&top.join("README.md"), format!("{SECRET}\n"));
    git(&top, ["rm", "-q", "--cached", "deploy.sh"]);
    let (done, said) = commit(&top, &["README.md"]);
    assert!(!done && said.contains("README.md:1:1: "), "{said}");
    // In a linked worktree.
    let linked = machine.worktree(&top, "linked");
    write(&linked.join("a"), SECRET);
    git(&linked, ["add", "a"]);
    assert!(!commit(&linked, &[]).0);
    assert_eq!(head(), before);
    // And without one.
    write(&top.join("README.md"), "$TOKEN\n");
    let (done, said) = commit(&top, &["-a"]);
    assert!(done && said.contains(EMPTY_LOOK), "{said}");
    assert_ne!(head(), before);
}

#[test]
fn secrets_removed_later_are_found_in_the_history() {
    let machine = Machine::new();
    let top = machine.repository("repo");
    let commit = |text: &str| {
        write(&top.join("a.env"), text);
        git(&top, ["add", "."]);
        git(&top, ["commit", "-q", "-m", "x"]);
        git(&top, ["rev-parse", "HEAD"]).trim().to_owned()
    };
    commit("A=1\n");
    let first = commit(&format!("A=1\nT={SECRET}\n"));
    commit("A=1\n");
    commit(&format!("A=1\n\nT={SECRET}\n"));
    let second = commit(&format!("T={}\n", other_secret()));
    commit("");
    // Something that came by a branch and its merge, and something that only the merge brought.
    git(&top, ["checkout", "-q", "-b", "side", "HEAD~2"]);
    write(&top.join("side.txt"), SECRET);
    git(&top, ["add", "."]);
    git(&top, ["commit", "-q", "-m", "side"]);
    let side = git(&top, ["rev-parse", "HEAD"]).trim().to_owned();
    git(&top, ["checkout", "-q", "main"]);
    git(&top, ["merge", "-q", "--no-commit", "--no-ff", "-s", "ours", "side"]);
    git(&top, ["checkout", "-q", "side", "--", "side.txt"]);
    write(&top.join("merge.txt"), SECRET);
    git(&top, ["add", "."]);
    git(&top, ["commit", "-q", "-m", "merge"]);
    let merge = git(&top, ["rev-parse", "HEAD"]).trim().to_owned();
    let report = json(&scan(&machine, &top), &["--git-history"]);
    let mut told: Vec<_> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .zip(places(&report))
        .map(|(finding, place)| (place, finding["commit"].as_str().unwrap().to_owned()))
        .collect();
    told.sort();
    let mut wanted = vec![
        ("a.env:1:3".to_owned(), second),
        ("a.env:2:3".to_owned(), first),
        ("merge.txt:1:1".to_owned(), merge),
        ("side.txt:1:1".to_owned(), side),
    ];
    wanted.sort();
    assert_eq!(told, wanted);
    // What is known is not told again, and text says the commit.
    let answer = run(&scan(&machine, &top), &["--git-history", "--format", "json"]);
    write(&machine.path("known.json"), &answer.stdout);
    assert_eq!(run(&scan(&machine, &top), &["--git-history", "--baseline", "../known.json"]).code(), Some(0));
    let text = run(&scan(&machine, &top), &["--git-history"]);
    assert!(text.stdout.contains(", in commit "), "{text:?}");
    // From elsewhere, and in a bare clone.
    git(&top, ["clone", "-q", "--bare", ".", machine.path("bare").to_str().unwrap()]);
    assert_eq!(places(&json(&scan(&machine, &machine.home()), &["--git-history", "../bare"])).len(), 4);
}

/// Nothing that a repository names is run, and nothing that it says hides a line.
#[test]
fn git_settings_of_a_repository_run_nothing_and_hide_nothing() {
    let machine = Machine::new();
    let top = machine.repository("repo");
    let trap = machine.file("trap", format!("#!/bin/sh\ntouch {}\n", machine.path("sprung").display()));
    fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
    let trap = trap.to_str().unwrap();
    for (name, value) in [
        ("core.fsmonitor", trap),
        ("core.pager", trap),
        ("core.hooksPath", trap),
        ("diff.external", trap),
        ("diff.trap.textconv", trap),
        ("diff.trap.command", trap),
        ("filter.trap.smudge", trap),
        ("filter.trap.process", trap),
        ("log.showSignature", "true"),
        ("log.showRoot", "false"),
        ("gpg.program", trap),
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.context", "5"),
        ("diff.interHunkContext", "9"),
        ("diff.relative", "true"),
        ("diff.orderFile", "/nonexistent"),
        ("color.ui", "always"),
        ("core.quotePath", "false"),
    ] {
        git(&top, ["config", name, value]);
    }
    fs::create_dir_all(top.join(".git/info")).unwrap();
    write(&top.join(".git/info/attributes"), "* diff=trap -text\n*.bin -diff\n");
    write(&top.join(".gitattributes"), "*.bin binary\n");
    write(&top.join("a.txt"), SECRET);
    write(&top.join("b.bin"), SECRET);
    let quiet = ["core.fsmonitor=false", "core.hooksPath=/dev/null", "diff.orderFile=/dev/null"];
    let quiet = quiet.map(|setting| ["-c", setting]).concat();
    let git_quietly = |args: &[&str]| git(&top, [&quiet, args].concat());
    git_quietly(&["add", "."]);
    let hook = scan(&machine, &top)
        .env("GIT_EXTERNAL_DIFF", trap)
        .env("GIT_PAGER", trap)
        .env("GIT_DIFF_OPTS", "-u9")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "diff.external")
        .env("GIT_CONFIG_VALUE_0", trap);
    let both = ["a.txt:1:1", "b.bin:1:1"];
    assert_eq!(places(&json(&hook, &["--staged"])), both);
    assert_eq!(places(&json(&hook, &["--tracked"])), both);
    git_quietly(&["commit", "-q", "-m", "x"]);
    assert_eq!(places(&json(&hook, &["--git-history"])), both);
    // Another commit put in the place of the one that has it.
    git_quietly(&["replace", "HEAD", "HEAD~"]);
    assert_eq!(places(&json(&hook, &["--git-history"])), both);
    assert!(!machine.path("sprung").exists());
}
