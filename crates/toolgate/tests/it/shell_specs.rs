//! The specs are held to reality: each example whose program is on the machine runs in a scratch tree, watched by the
//! kernel, and every file that it touches has to be covered by what the example says it does.
//!
//! Only programs that are safe to run without a network and without rights are run. The others are counted, loudly.
//! `TOOLGATE_SPECS=DIR` reads the specs from elsewhere; `TOOLGATE_SHOW=1` prints what was not run, and why.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::skipped;
use crate::support::watch::{Kind, Said, Scratch, Touch, cannot_watch, covers, loudly};
use toolgate_model::{Access, Reach};

/// Safe to run: they need neither a network nor rights, ask nobody, and end.
#[rustfmt::skip]
const SAFE: &[&str] = &[
    "awk", "base32", "base64", "basename", "bash", "bunzip2", "bzcat", "bzip2", "cat", "chmod", "cksum", "cmp", "col", "colrm",
    "column", "comm", "cp", "cpio", "csplit", "cut", "date", "dd", "df", "diff", "diff3", "dirname", "dos2unix", "du",
    "echo", "egrep", "env", "envsubst", "expand", "expr", "factor", "false", "fgrep", "file", "find", "fmt", "fold",
    "gawk", "git", "grep", "gunzip", "gzip", "head", "hexdump", "iconv", "install", "join", "jq", "link", "ln", "look", "ls",
    "lz4", "mawk", "md5sum", "mkdir", "mkfifo", "mktemp", "msgfmt", "mv", "nice", "nl", "nohup", "numfmt", "od", "paste", "patch",
    "pathchk", "pr", "printenv", "printf", "ptx", "pwd", "readlink", "realpath", "rev", "rg", "rm", "rmdir", "sdiff",
    "sed", "seq", "sh", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "shasum", "shred", "shuf", "sort", "split",
    "sponge", "stat", "stdbuf", "strings", "sum", "tac", "tail", "tar", "tee", "test", "timeout", "touch", "tr", "tree", "true",
    "truncate", "tsort", "uname", "unexpand", "uniq", "unix2dos", "unlink", "unxz", "unzip", "unzstd", "wc", "which", "xargs",
    "xxd", "xz", "xzcat", "zcat", "zip", "zipinfo", "zstd", "zstdcat",
];

/// Of git, what stays on this machine and opens nothing.
#[rustfmt::skip]
const SAFE_GIT: &[&str] = &[
    "add", "am", "apply", "archive", "blame", "branch", "bundle", "cat-file", "check-ignore", "checkout", "cherry-pick",
    "clean", "commit", "commit-tree", "config", "count-objects", "describe", "diff", "diff-tree", "for-each-ref", "format-patch",
    "fsck", "gc", "grep", "hash-object", "init", "log", "ls-files", "ls-tree", "merge", "merge-base", "merge-file", "mv", "notes",
    "pack-refs", "prune", "range-diff", "read-tree", "rebase", "reflog", "reset", "restore", "rev-list", "rev-parse", "revert",
    "rm", "shortlog", "show", "show-ref", "sparse-checkout", "stash", "status", "switch", "symbolic-ref", "tag",
    "update-index", "update-ref", "worktree", "write-tree",
];

/// Examples that are right though the watch does not agree, each with the reason.
const EXCUSED: &[(&str, &str)] =
    &[("zip a.zip b -T -TT 'rm x'", "zip gives the command the name of its own temporary file as well")];

/// One example of a spec.
struct Example {
    spec: String,
    run: String,
    does: Vec<String>,
}

fn specs_dir() -> PathBuf {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../effects/specs");
    std::env::var_os("TOOLGATE_SPECS").map_or_else(usual, PathBuf::from)
}

fn examples() -> Vec<Example> {
    let mut found = Vec::new();
    let mut files: Vec<PathBuf> =
        fs::read_dir(specs_dir()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "toml")) {
        let table: toml::Table = fs::read_to_string(file).unwrap().parse().unwrap();
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        collect(&name, &table, &mut found);
    }
    found
}

fn collect(spec: &str, table: &toml::Table, found: &mut Vec<Example>) {
    for example in table.get("examples").and_then(toml::Value::as_array).into_iter().flatten() {
        let text = |value: &toml::Value| value.as_str().unwrap_or_default().to_owned();
        let does =
            example.get("does").and_then(toml::Value::as_array).into_iter().flatten().map(text).collect();
        found.push(Example {
            spec: spec.to_owned(),
            run: example.get("run").map(text).unwrap_or_default(),
            does,
        });
    }
    for (name, sub) in table.get("sub").and_then(toml::Value::as_table).into_iter().flatten() {
        if let Some(sub) = sub.as_table() {
            collect(&format!("{spec} {name}"), sub, found);
        }
    }
}

fn is_program(word: &str) -> bool {
    !word.is_empty()
        && !word.contains('/')
        && ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"]
            .iter()
            .any(|dir| Path::new(dir).join(word).is_file())
}

/// Why an example is not run, if so.
fn why_not(example: &Example) -> Option<&'static str> {
    const KINDS: [&str; 14] = [
        "read",
        "read-tree",
        "list",
        "write",
        "write-tree",
        "delete",
        "delete-tree",
        "beside",
        "enter",
        "into",
        "link",
        "repo-read",
        "repo-write",
        "host-file",
    ];
    let words: Vec<&str> = example
        .run
        .split(|c: char| c.is_whitespace() || "'\";|&()<>=`$".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    let program = *words.first()?;
    if !SAFE.contains(&program) {
        return Some("not on the list of safe programs");
    }
    if !["/usr/bin", "/bin"].iter().any(|dir| Path::new(dir).join(program).is_file()) {
        return Some("not on this machine");
    }
    if example.does.iter().any(|does| !KINDS.contains(&does.split(' ').next().unwrap_or_default())) {
        return Some("does more than use files");
    }
    // Any word could come to be run.
    let may_run = |word: &&str| is_program(word) && !SAFE.contains(word) && !["a", "b", "x"].contains(word);
    if program != "git" && words.iter().skip(1).any(may_run) {
        return Some("names a program that is not on the list");
    }
    if words.iter().any(|word| word.starts_with('/') && *word != "/dev/null") || example.run.contains("=/") {
        return Some("names an absolute path");
    }
    let sub = example.spec.split(' ').nth(1);
    if program == "git" && !sub.is_some_and(|sub| SAFE_GIT.contains(&sub)) {
        return Some("not on the list of safe sub-commands");
    }
    if program == "tail"
        && words
            .iter()
            .any(|word| word.starts_with("-f") || word.starts_with("-F") || word.starts_with("--f"))
    {
        return Some("does not end");
    }
    None
}

/// What an example says, as paths in the scratch tree. A path behind `enter` or `into` is taken from both places.
fn said(scratch: &Scratch, does: &[String]) -> Vec<Said> {
    let inside = scratch.inside();
    let place = |from: &Path, word: &str| match word.strip_prefix('~') {
        Some(rest) => scratch.home().join(rest.trim_start_matches('/')),
        None => toolgate_model::clean(&from.join(word)),
    };
    let split = |does: &String| match does.split_once(' ') {
        Some((kind, word)) => (kind.to_owned(), word.to_owned()),
        None => (does.clone(), String::new()),
    };
    let does: Vec<(String, String)> = does.iter().map(split).collect();
    let entered = does.iter().filter(|(kind, _)| kind == "enter" || kind == "into");
    let mut bases = vec![inside.clone()];
    bases.extend(entered.map(|(_, word)| place(&inside, word)));
    let mut said = Vec::new();
    for (kind, word) in &does {
        for base in &bases {
            let path = place(base, word);
            // Where a pattern stands, anything below what is before it may be meant.
            let pattern = word.find(['*', '?', '[', '{']).or_else(|| word.find("XXX"));
            let pattern = pattern.map(|at| place(base, &format!("{}x", word.get(..at).unwrap_or_default())));
            let (access, reach) = match kind.as_str() {
                "read" => (Access::Read, Reach::Exact),
                "read-tree" => (Access::Read, Reach::Below),
                "list" => (Access::List, Reach::Below),
                "write" => (Access::Write, Reach::Exact),
                "write-tree" => (Access::Write, Reach::Below),
                "delete" => (Access::Delete, Reach::Exact),
                "delete-tree" => (Access::Delete, Reach::Below),
                "link" => (Access::Link, Reach::Exact),
                "repo-read" => (Access::Read, Reach::Below),
                "repo-write" => (Access::Delete, Reach::Below),
                "beside" => {
                    said.push((Access::Read, path.clone(), Reach::Exact));
                    said.extend(beside(&path).into_iter().map(|path| (Access::Write, path, Reach::Exact)));
                    continue;
                }
                _ => continue,
            };
            let path = if kind.starts_with("repo-") { inside.clone() } else { path };
            // Looking again at the state of the work tree, git notes what it saw.
            if kind == "repo-read" {
                said.extend(
                    ["index", "index.lock"]
                        .map(|name| (Access::Write, inside.join(".git").join(name), Reach::Exact)),
                );
            }
            match pattern {
                Some(pattern) => {
                    said.push((access, pattern.parent().unwrap_or(&pattern).to_path_buf(), Reach::Below));
                }
                None => said.push((access, path, reach)),
            }
        }
    }
    // A file that is copied or moved into a directory keeps its name there.
    let names: Vec<_> = said
        .iter()
        .filter(|(access, ..)| matches!(access, Access::Read | Access::Delete | Access::Link))
        .filter_map(|(_, path, _)| Some(path.file_name()?.to_os_string()))
        .collect();
    let into: Vec<Said> = said
        .iter()
        .filter(|(access, path, _)| *access == Access::Write && path.is_dir())
        .flat_map(|(_, path, reach)| names.iter().map(|name| (Access::Write, path.join(name), *reach)))
        .collect();
    said.extend(into);
    said
}

/// The files next to this one whose names differ by an ending.
fn beside(path: &Path) -> Vec<PathBuf> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let all = fs::read_dir(path.parent().unwrap()).into_iter().flatten().map(|entry| entry.unwrap().path());
    all.filter(|other| other.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&stem)))
        .collect()
}

/// The files that the example speaks of.
fn plant(scratch: &Scratch, example: &Example) {
    // What the example speaks of is made below, or has to be made by it.
    let named = |name: &&str| example.does.iter().any(|does| does.split(' ').nth(1) == Some(name));
    for name in ["a", "b", "c", "f", "file.txt", "src/a.rs"].into_iter().filter(|name| !named(name)) {
        scratch.file(&format!("inside/{name}"), "alpha\nbeta\ngamma\n");
    }
    scratch.file("outside/o", "o\n");
    let program = example.run.split_whitespace().next().unwrap_or_default();
    if program == "git" {
        setup(
            scratch,
            "git init -q -b main . && git add . && git -c user.name=n -c user.email=e@example.com commit -qm one \
             && git config user.name n && git config user.email e@example.com && git branch other && git tag v1 \
             && echo more >> a",
        );
    }
    let mut bases = vec!["inside".to_owned()];
    for does in &example.does {
        let Some((kind, word)) = does.split_once(' ') else { continue };
        if word.contains(['*', '?', '[', '{']) || word == "." || word == ".." {
            continue;
        }
        let name = word.trim_end_matches('/');
        for base in bases.clone() {
            let path = match name.strip_prefix("~/") {
                Some(rest) => format!("home/{rest}"),
                None => format!("{base}/{name}"),
            };
            if scratch.path(&path).exists() && !matches!(kind, "enter" | "into" | "read-tree" | "delete-tree")
            {
                continue;
            }
            match kind {
                "delete" if program == "rmdir" => scratch.dir(&path),
                "write" if program == "chmod" => content(scratch, &path),
                "read" | "beside" | "delete" | "link" => content(scratch, &path),
                "read-tree" | "delete-tree" | "list" if name.contains('.') => content(scratch, &path),
                "read-tree" | "delete-tree" | "list" | "write-tree" | "enter" | "into" => {
                    if scratch.path(&path).is_file() {
                        fs::remove_file(scratch.path(&path)).unwrap();
                    }
                    let target = example.run.contains(" -t") || example.run.contains("--target");
                    let wanted = kind != "write-tree" || target || !["cp", "mv"].contains(&program);
                    if wanted {
                        scratch.file(&format!("{path}/in.txt"), "alpha\n");
                    }
                }
                "write" => {
                    if let Some(above) = Path::new(&path).parent() {
                        scratch.dir(above.to_str().unwrap());
                    }
                }
                _ => {}
            }
        }
        if kind == "enter" || kind == "into" {
            bases.push(format!("inside/{name}"));
        }
    }
}

/// A file in the format that its name promises.
fn content(scratch: &Scratch, path: &str) {
    scratch.file(path, "alpha\nbeta\ngamma\n");
    let name = scratch.path(path);
    let name = name.to_str().unwrap();
    let has = |ending: &str| path.ends_with(ending);
    let make = if has(".tar.gz") || has(".tgz") {
        format!("cd ../outside && tar czf {name} o")
    } else if has(".tar") {
        format!("cd ../outside && tar cf {name} o")
    } else if has(".zip") {
        format!("cd ../outside && rm {name} && zip -q {name} o")
    } else if has(".gz") || has(".bz2") || has(".xz") || has(".zst") {
        let tool = match path.rsplit('.').next() {
            Some("gz") => "gzip",
            Some("bz2") => "bzip2",
            Some("xz") => "xz",
            _ => "zstd",
        };
        format!("{tool} -c ../outside/o > {name}")
    } else if has(".patch") || has(".diff") {
        format!(
            "printf -- '--- a/a\\n+++ b/a\\n@@ -1,3 +1,3 @@\\n-alpha\\n+delta\\n beta\\n gamma\\n' > {name}"
        )
    } else if has(".json") {
        format!("echo '{{\"a\":1}}' > {name}")
    } else {
        return;
    };
    setup(scratch, &make);
}

fn setup(scratch: &Scratch, command: &str) {
    let mut bash = Command::new("bash");
    bash.args(["-c", command]).current_dir(scratch.inside()).env_clear().env("PATH", "/usr/bin:/bin");
    bash.env("HOME", scratch.home()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = bash.status();
}

/// What was touched and not said; empty where all was.
fn compare(example: &Example) -> (usize, String) {
    let scratch = Scratch::new();
    plant(&scratch, example);
    let before = said(&scratch, &example.does);
    let (touches, breach) = scratch.watch_all(&example.run);
    // Whatever git is asked to do, it looks for the repository that it stands in.
    let mut said_all = before;
    if example.run.starts_with("git ") {
        said_all.push((Access::Read, scratch.path("inside/.git"), Reach::Below));
    }
    // Names that only come to be by the run: those next to a file.
    said_all.extend(said(&scratch, &example.does));
    let tmp = scratch.path("tmp");
    let missed: Vec<&Touch> =
        touches.iter().filter(|touch| !covers(&said_all, touch, &tmp)).chain(breach.iter()).collect();
    let line = |touch: &&Touch| format!("    {:?} {}\n", touch.kind, scratch.short(&touch.path));
    let writes = touches.iter().filter(|touch| touch.kind != Kind::Read).count();
    (writes, missed.iter().map(line).collect())
}

#[test]
fn examples_of_specs_touch_only_what_they_say() {
    if let Some(why) = cannot_watch() {
        skipped(&format!("the specs against the real programs: {why}"));
        return;
    }
    let all = examples();
    let mut not_run: BTreeMap<&str, usize> = BTreeMap::new();
    let mut run = Vec::new();
    for example in &all {
        match why_not(example) {
            Some(why) => {
                *not_run.entry(why).or_default() += 1;
                if std::env::var_os("TOOLGATE_SHOW").is_some() {
                    loudly(&format!("not run: {} ({why})", example.run));
                }
            }
            None => run.push(example),
        }
    }
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(example) = run.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (writes, missed) = compare(example);
                    found.lock().unwrap().push((example, writes, missed));
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    let excused = |example: &Example| EXCUSED.iter().any(|(run, _)| *run == example.run);
    let wrong: Vec<String> = found
        .iter()
        .filter(|(example, _, missed)| missed.is_empty() == excused(example))
        .map(|(example, _, missed)| {
            let what = if missed.is_empty() { "    nothing, though it is excused\n" } else { missed };
            format!(
                "{}: `{}` says {:?}\n  touched and not said:\n{what}",
                example.spec, example.run, example.does
            )
        })
        .collect();
    let says_change = |example: &Example| {
        example
            .does
            .iter()
            .any(|does| ["write", "delete", "beside"].iter().any(|kind| does.starts_with(kind)))
    };
    let idle: Vec<&str> = found
        .iter()
        .filter(|(example, writes, _)| *writes == 0 && says_change(example))
        .map(|(example, ..)| example.run.as_str())
        .collect();
    loudly(&format!(
        "shell_specs: {} examples, {} run, {} touch what they do not say, {} were to change something and did not; not run: {not_run:?}",
        all.len(),
        run.len(),
        wrong.len(),
        idle.len(),
    ));
    if std::env::var_os("TOOLGATE_SHOW").is_some() {
        for run in &idle {
            loudly(&format!("changed nothing: {run}"));
        }
    }
    assert!(run.len() >= 150, "only {} examples could be run", run.len());
    assert!(wrong.is_empty(), "{} examples touch what they do not say:\n{}", wrong.len(), wrong.join("\n"));
}

/// The lists are kept in order, so that one sees what is on them.
#[test]
fn lists_of_safe_programs_are_sorted() {
    assert!(SAFE.is_sorted() && SAFE_GIT.is_sorted());
}
