//! Commands of git that write `packed-refs`, with each git of this machine, and what a command that forges the file gains.

use std::fs;
use std::time::{Duration, Instant};

use crate::world::{World, done, with_each_git};

/// Commits, so that there is something to look for, and a branch of others and a tag that are packed.
fn with_history(world: &World) {
    world.outside("r", "git config user.name A && git update-ref refs/remotes/origin/main HEAD");
    world.outside("w", "for n in 2 3 4 5; do git commit -q --allow-empty -m $n; done");
    // It is taken for the worktree's own from here on.
    world.contained("true").ok();
}

fn nothing_failed(world: &World, script: &str) -> String {
    let done = world.contained(script).ok();
    let is_complaint = |line: &&str| line.starts_with("error") || line.starts_with("fatal");
    // The settings of a branch cannot be removed (they never were there), nor the files of tags when they are packed.
    let is_shared = |line: &str| line.contains("'refs/tags/") || line.contains("'refs/remotes/");
    let is_known =
        |line: &&str| line.contains("config file") || (script.contains("pack-refs") && is_shared(line));
    let complaints = done.output.lines().filter(|line| is_complaint(line) && !is_known(line));
    assert_eq!(complaints.count(), 0, "{script}: {}", done.output);
    let is_objects = |line: &&str| line.contains("history is never deleted");
    let refused = done.report.lines().filter(|line| line.contains("refused") && !is_objects(line));
    assert_eq!(refused.count(), 0, "{script}: {}", done.report);
    done.output
}

#[test]
fn branches_of_its_own_are_deleted_packed_or_not() {
    with_each_git("agent/one/work", |world| {
        with_history(world);
        nothing_failed(world, "git branch loose && git branch agent/two && git branch packed");
        nothing_failed(world, "git branch -D loose");
        world.outside("r", "git pack-refs --all");
        nothing_failed(world, "git branch -D packed && git branch -D agent/two && git branch inside");
        nothing_failed(world, "git branch short && git branch -D short inside");
        let names: Vec<String> = world.refs().into_keys().filter(|name| name.contains("heads")).collect();
        let expected = ["agent/one/work", "main", "other/v", "side"];
        assert_eq!(names, expected.map(|name| format!("refs/heads/{name}")));
        // Packed with one value, and with another one in a file of its own.
        nothing_failed(world, "git branch both");
        world.outside("r", "git pack-refs --all");
        nothing_failed(world, "git branch -f both HEAD~1");
        nothing_failed(world, "git branch -D both");
        assert!(!world.refs().contains_key("refs/heads/both"));
        world.is_sound();
    });
}

#[test]
fn a_bisection_begins_and_ends() {
    with_each_git("topic", |world| {
        with_history(world);
        let before = world.refs();
        for pack in ["true", "git pack-refs --all"] {
            world.outside("r", pack);
            nothing_failed(world, "git bisect start HEAD HEAD~4 > log.txt");
            nothing_failed(world, "git bisect good && git bisect good");
            nothing_failed(world, "git bisect reset");
            nothing_failed(world, "git bisect start && git bisect reset");
            assert_eq!(world.refs(), before);
            assert_eq!(
                world.outside("w", "rm -f log.txt && git status --porcelain && git symbolic-ref HEAD"),
                "refs/heads/topic\n"
            );
        }
        world.is_sound();
    });
}

#[test]
fn tidying_up_does_no_harm() {
    with_each_git("topic", |world| {
        with_history(world);
        nothing_failed(world, "git branch kept && git commit -q --allow-empty -m six && git gc -q");
        assert_eq!(world.log("topic -n 1"), ["six"]);
        assert_eq!(world.log("kept -n 1"), ["5"]);
        let before = world.refs();
        nothing_failed(world, "git gc -q --prune=now --aggressive");
        nothing_failed(world, "git pack-refs --all");
        nothing_failed(world, "git pack-refs --all --no-prune");
        assert_eq!(world.refs(), before);
        // What was new when it was packed has no file of its own in the layer.
        let script = "git commit -q --allow-empty -m seven && git branch made && git pack-refs --all && git branch -D kept";
        nothing_failed(world, script);
        assert_eq!(world.log("topic -n 1"), ["seven"]);
        assert_eq!(world.log("made -n 1"), ["seven"]);
        assert!(!world.refs().contains_key("refs/heads/kept"));
        assert_eq!(world.outside("w", "git status --porcelain"), "");
        // The same where they were packed before, and the files are not there.
        world.outside("r", "git pack-refs --all");
        nothing_failed(world, "git commit -q --allow-empty -m eight && git pack-refs --all");
        assert_eq!(world.log("topic -n 1"), ["eight"]);
        let reflog = world.outside("w", "git reflog show --format=%gs topic -n 2");
        assert_eq!(reflog, "commit: eight\ncommit: seven\n");
        let deep = "git checkout -q -b a/b && git commit -q --allow-empty -m b && git pack-refs --all && git branch a/c";
        nothing_failed(world, deep);
        let again = "git commit -q --allow-empty -m c && git pack-refs --all && git branch a/d && git checkout -q topic";
        nothing_failed(world, again);
        assert_eq!(world.log("a/b -n 1"), ["c"]);
        assert_eq!(
            (world.log("a/c -n 1"), world.log("a/d -n 1")),
            (vec!["b".to_owned()], vec!["c".to_owned()])
        );
        world.is_sound();
    });
}

/// What a command writes in place of `packed-refs`, in `$COMMON`.
const FORGED: [&str; 16] = [
    "rm -f packed-refs",
    ": > packed-refs",
    "head -c 60 packed-refs > x && mv x packed-refs",
    "rm -f packed-refs && ln -s /etc/passwd packed-refs",
    "rm -f packed-refs && ln -s $TOP/w/forged packed-refs",
    "rm -f packed-refs && mkfifo packed-refs",
    "rm -f packed-refs && mkdir packed-refs",
    "chmod 000 packed-refs",
    "head -c 20000000 /dev/zero > packed-refs || :",
    "head -c 10000000 /dev/urandom | base64 > packed-refs || :",
    "sed -i 's/^[0-9a-f]*/'$FORGED'/' packed-refs",
    "sed -i '/side\\|other\\|old\\|main/d' packed-refs",
    "sed -i \"s/^[0-9a-f]*/'0000000000000000000000000000000000000001'/\" packed-refs",
    "{ cat packed-refs; echo $FORGED refs/heads/zz; echo $FORGED refs/heads/../../config; echo $FORGED refs/tags/zz; \
       echo $FORGED refs/replace/$FORGED; echo $FORGED HEAD; echo \"$FORGED refs/heads/a b\"; } > x && mv x packed-refs",
    "for n in $(seq 20000); do echo $FORGED refs/heads/n$n; done > packed-refs",
    "for n in $(seq 2000); do echo 000000000000000000000000000000000000000f refs/heads/n$n; done > packed-refs",
];

#[test]
fn a_forged_file_changes_nothing_of_others() {
    with_each_git("topic", |world| {
        with_history(world);
        world.outside("r", "git branch loose && git pack-refs --all && git branch loose-too");
        world.write(
            "w/forged",
            format!("{} refs/heads/side\n", world.outside("w", "git rev-parse HEAD").trim()),
        );
        let (before, shared) = (world.refs(), world.shared());
        let own = |name: &str| name.starts_with("refs/heads/topic") || name == "refs/heads/zz";
        for script in FORGED {
            // A commit of its own, and one that no branch of others may get.
            let whole = format!(
                "export FORGED=$(git commit-tree -m forged HEAD^{{tree}}) && cd $COMMON && {{ {script}; }}; \
                 rm -f refs/heads/side refs/heads/main 2> /dev/null; exit 0"
            );
            let begun = Instant::now();
            let done = world.contained(&whole);
            assert!(begun.elapsed() < Duration::from_secs(90), "{script}: {done:?}");
            let mut after = world.refs();
            after.retain(|name, _| !own(name));
            let mut expected = before.clone();
            expected.retain(|name, _| !own(name));
            assert_eq!(after, expected, "{script}: {done:?}");
            assert_eq!(
                world.shared().get(&world.common().join("config")),
                shared.get(&world.common().join("config"))
            );
            assert!(!world.common().join("packed-refs").is_symlink(), "{script}");
            // A branch of its own is where it was, or somewhere that it may be.
            let tip = world.refs().get("refs/heads/topic").cloned();
            if tip != before.get("refs/heads/topic").cloned() {
                let was = before.get("refs/heads/topic").unwrap();
                world.outside("r", &format!("git update-ref refs/heads/topic {was}"));
            }
            world.outside("r", "git update-ref -d refs/heads/zz");
            world.contained("git log -1 > /dev/null && git commit -q --allow-empty -m more").ok();
            world.outside("w", "git reset -q --hard HEAD~1");
            world.is_sound();
        }
    });
}

#[test]
fn what_a_command_without_a_note_has_packed_stays() {
    with_each_git("topic", |world| {
        with_history(world);
        nothing_failed(world, "git branch deleted && git branch packed");
        // The limit ends its init at once.
        let (report, limit) = (world.path("report-w"), [("--seconds", "3".into())]);
        let script = "git branch -D deleted && git pack-refs --all && sleep 60";
        let output = world.start_with("w", script, &report, &limit).wait_with_output().unwrap();
        let done = done(&output, &report);
        assert!(done.report.contains("ended by: WallTime"), "{done:?}");
        let after = world.refs();
        assert!(!after.contains_key("refs/heads/deleted"), "{done:?}");
        for kept in ["packed", "topic", "side", "main"] {
            assert!(after.contains_key(&format!("refs/heads/{kept}")), "{kept}: {done:?}");
        }
        assert!(done.report.contains("not known whether the command has deleted or packed it"), "{done:?}");
        nothing_failed(world, "git branch -D packed");
        assert!(!world.refs().contains_key("refs/heads/packed"));
        world.is_sound();
    });
}

#[test]
fn what_a_job_packs_in_the_background_stays() {
    with_each_git("topic", |world| {
        with_history(world);
        nothing_failed(world, "git branch one && git branch two && git branch three");
        let script = "git branch -D one; { sleep 1; git branch -D two; git pack-refs --all; touch ended; } > /dev/null 2>&1 &";
        world.contained(script).ok();
        assert!(!world.refs().contains_key("refs/heads/one"));
        let begun = Instant::now();
        while !world.path("w/ended").exists() {
            assert!(begun.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(20));
        }
        fs::remove_file(world.path("w/ended")).unwrap();
        // The next command takes over what the job has left, once its init is gone.
        let is_taken = || {
            !world.contained("true").ok().report.is_empty() && !world.refs().contains_key("refs/heads/two")
        };
        while !is_taken() {
            assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", world.refs());
            std::thread::sleep(Duration::from_millis(100));
        }
        for kept in ["three", "topic", "side", "main", "other/v"] {
            assert!(world.refs().contains_key(&format!("refs/heads/{kept}")), "{kept}");
        }
        world.is_sound();
    });
}

#[test]
fn a_large_file_is_read_as_it_is() {
    with_each_git("topic", |world| {
        with_history(world);
        let tip = world.outside("w", "git rev-parse HEAD");
        let tip = tip.trim();
        let lines = (0..300_000).fold(String::new(), |text, number| {
            text + &format!("{tip} refs/remotes/origin/branch-{number:06}\n")
        });
        let head = "# pack-refs with: peeled fully-peeled sorted \n";
        world.write("r/.git/packed-refs", format!("{head}{lines}"));
        assert!(fs::metadata(world.common().join("packed-refs")).unwrap().len() > 16 << 20);
        world.contained("git commit -q --allow-empty -m large && git branch made").ok();
        assert_eq!(world.log("topic -n 1"), ["large"]);
        // As large as one that is copied can be.
        world.write("r/.git/packed-refs", format!("{head}{}", lines.get(..lines.len() / 2).unwrap()));
        nothing_failed(world, "git branch -D made && git pack-refs");
        assert!(!world.refs().contains_key("refs/heads/made"));
        assert_eq!(world.refs().keys().filter(|name| name.contains("origin/branch")).count(), 150_000);
    });
}

#[test]
fn a_plain_clone_does_the_same() {
    with_each_git("topic", |world| {
        with_history(world);
        world.outside("r", "for n in 2 3 4 5; do git commit -q --allow-empty -m $n; done");
        let run = |script: &str| {
            let done = world.contained_in("r", script).ok();
            let report = done.report.replace("refused: objects was not taken over: what was deleted", "");
            assert!(!done.output.contains("error") && !report.contains("refused"), "{script}: {done:?}");
        };
        run("git branch loose && git branch packed && git pack-refs --all && git branch -D loose");
        run(
            "git branch -D packed && git bisect start HEAD HEAD~4 > log.txt && git bisect good && git bisect reset",
        );
        run("git commit -q --allow-empty -m new && git gc -q && git branch after && git pack-refs --all");
        let names: Vec<String> = world.refs().into_keys().filter(|name| name.contains("heads")).collect();
        let expected = ["after", "main", "other/v", "side", "topic"];
        assert_eq!(names, expected.map(|name| format!("refs/heads/{name}")));
        assert_eq!(world.log("main -n 1"), ["new"]);
        world.is_sound();
    });
}
