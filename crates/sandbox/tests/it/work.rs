//! What an agent does all day works, and is there outside.

use std::fs;

use crate::world::{World, at_each_level, everywhere, levels};

#[test]
fn commits_and_amendments_are_there_outside() {
    everywhere(|world| {
        world.contained("echo two >> file && git add file && git commit -qm two").ok();
        assert_eq!(world.log(world.branch), ["two", "one"]);
        let done = world.contained("git commit -q --amend -m better && git status --porcelain").ok();
        assert_eq!(world.log(world.branch), ["better", "one"]);
        assert!(done.report.contains(&format!("branch: {}", world.branch)), "{}", done.report);
        assert!(!done.report.contains("refused"), "{}", done.report);
        assert_eq!(world.outside("w", "git status --porcelain"), "");
        let reflog = world.outside("w", &format!("git reflog show --format=%gs {}", world.branch));
        assert!(reflog.starts_with("commit (amend): better\ncommit: two\n"), "{reflog}");
        world.is_sound();
    });
}

#[test]
fn every_commit_of_one_command_is_in_the_reflog() {
    everywhere(|world| {
        world.contained("for n in 1 2 3; do git commit -q --allow-empty -m $n; done").ok();
        let reflog = world.outside("w", &format!("git reflog show --format=%gs {}", world.branch));
        assert!(reflog.starts_with("commit: 3\ncommit: 2\ncommit: 1\n"), "{reflog}");
        world.is_sound();
    });
}

#[test]
fn new_branches_are_there_outside() {
    everywhere(|world| {
        let beside = format!("{}-2", world.branch);
        let script =
            format!("git checkout -q -b {beside} && git commit -q --allow-empty -m new && git checkout -q -");
        world.contained(&script).ok();
        assert_eq!(world.log(&beside), ["new", "one"]);
        world
            .contained(&format!("git checkout -q {beside} && git commit -q --amend --allow-empty -m newer"))
            .ok();
        assert_eq!(world.log(&beside), ["newer", "one"]);
        world.is_sound();
    });
}

#[test]
fn a_branch_of_its_own_can_be_deleted() {
    // Git needs a lock in the shared directory for it, which only a view can give.
    for level in levels().into_iter().filter(|level| *level == "full") {
        let world = World::new(level, "agent/one/work", "");
        world.contained("git branch agent/two && git branch three").ok();
        assert!(world.refs().contains_key("refs/heads/agent/two"));
        let done = world.contained("git branch -D agent/two three").ok();
        assert!(!world.refs().contains_key("refs/heads/agent/two"), "{}", done.report);
        assert!(!world.refs().contains_key("refs/heads/three"), "{}", done.report);
        let done = world.contained("git update-ref -d refs/heads/agent/one/work");
        assert!(world.refs().contains_key("refs/heads/agent/one/work"), "{}", done.report);
        assert!(done.report.contains("checked out"), "{}", done.report);
        world.is_sound();
    }
}

#[test]
fn histories_are_rewritten_and_joined() {
    everywhere(|world| {
        world.outside("r", "echo main > other && git add other && git commit -qm main");
        world.outside(
            "r",
            "git checkout -q side && echo s > s && git add s && git commit -qm s && git checkout -q main",
        );
        world.contained("echo two >> file && git commit -qam two && git rebase -q main").ok();
        assert_eq!(world.log(world.branch), ["two", "main", "one"]);
        world.contained("git merge -q --no-edit side").ok();
        assert_eq!(
            world.log(&format!("--first-parent {} -n 2", world.branch)),
            ["Merge branch 'side' into ".to_owned() + world.branch, "two".to_owned()]
        );
        world
            .contained("git reset -q --hard HEAD~1 && git cherry-pick side && git revert --no-edit HEAD")
            .ok();
        assert_eq!(world.log(world.branch), ["Revert \"s\"", "s", "two", "main", "one"]);
        world
            .contained(
                "echo x > x && git add x && git commit -qm x && echo y > y && git add y && git commit -qm y",
            )
            .ok();
        world.contained("GIT_SEQUENCE_EDITOR='sed -i 1d' git rebase -q -i HEAD~2").ok();
        assert_eq!(world.log(&format!("{} -n 2", world.branch)), ["y", "Revert \"s\""]);
        assert_eq!(world.outside("w", "git status --porcelain"), "");
        world.is_sound();
    });
}

#[test]
fn a_rebase_that_stops_goes_on_in_the_next_command() {
    everywhere(|world| {
        world.outside("r", "echo main > file && git commit -qam main");
        let done = world.contained("echo two > file && git commit -qam two && git rebase main");
        assert_ne!(done.code, 0, "{}", done.output);
        world.contained("echo both > file && git add file && git rebase --continue").ok();
        assert_eq!(world.log(world.branch), ["two", "main", "one"]);
        world.is_sound();
    });
}

#[test]
fn repositories_inside_of_the_worktree_are_left_alone() {
    everywhere(|world| {
        let script = "git init -q sub && cd sub && echo x > x && git add x && git commit -qm sub && cd .. \
                      && git -C sub log --format=%s && git clone -q sub copy && git clone -q . whole \
                      && git -C whole log --format=%s && git -C copy fsck && git commit -q --allow-empty -m outer";
        let done = world.contained(script).ok();
        assert!(done.output.contains("sub\n") && done.output.contains("one\n"), "{}", done.output);
        assert_eq!(world.outside("w/copy", "git log --format=%s"), "sub\n");
        world.outside("w/sub", "git fsck --full");
        assert_eq!(world.log(world.branch), ["outer", "one"]);
        world.is_sound();
    });
}

#[test]
fn a_repository_may_name_its_objects_by_sha256() {
    for level in levels() {
        let world = World::new(level, "topic", "--object-format=sha256");
        world.contained("echo two >> file && git commit -qam two").ok();
        assert_eq!(world.log("topic"), ["two", "one"]);
        world.is_sound();
    }
}

#[test]
fn a_repository_with_reftables_can_be_read_and_not_written() {
    let has_reftables = std::process::Command::new("git").args(["init", "-h"]).output();
    if !String::from_utf8_lossy(&has_reftables.unwrap().stdout).contains("--ref-format") {
        return;
    }
    for level in levels() {
        let world = World::new(level, "topic", "--ref-format=reftable");
        let before = world.refs();
        assert!(before.contains_key("refs/heads/topic"));
        assert_eq!(world.contained("git log --format=%s").ok().output, "one\n");
        let done = world.contained("git commit -q --allow-empty -m no");
        assert_ne!(done.code, 0, "{done:?}");
        assert!(done.report.contains("`reftable` can be read, and not committed to"), "{done:?}");
        assert_eq!(world.refs(), before);
        world.is_sound();
    }
}

#[test]
fn packs_are_taken_over_too() {
    everywhere(|world| {
        let done = world.contained("echo two >> file && git commit -qam two && git repack -q -a -d");
        assert_eq!(world.log(world.branch), ["two", "one"], "{done:?}");
        world.is_sound();
    });
}

#[test]
fn packed_branches_move_and_are_seen() {
    everywhere(|world| {
        world.outside("r", "git pack-refs --all");
        world.contained("git commit -q --allow-empty -m two").ok();
        assert_eq!(world.log(world.branch), ["two", "one"]);
        world.outside("r", "git gc -q --prune=now");
        world.contained("git commit -q --allow-empty -m three").ok();
        assert_eq!(world.log(world.branch), ["three", "two", "one"]);
        world.is_sound();
    });
}

#[test]
fn a_branch_of_others_that_is_checked_out_only_moves_forward() {
    at_each_level(|world| {
        world.contained("git checkout -q side && git commit -q --allow-empty -m forward").ok();
        assert_eq!(world.log("side"), ["forward", "one"]);
        let before = world.refs();
        let done = world.contained("git commit -q --amend --allow-empty -m lost");
        assert_eq!(world.refs(), before, "{}", done.report);
        assert!(done.report.contains("commits on it would be lost"), "{}", done.report);
        world.is_sound();
    });
}

#[test]
fn what_is_staged_inside_is_committed_outside() {
    everywhere(|world| {
        world.contained("echo two >> file && git add file").ok();
        world.outside("w", "git commit -qm outside");
        world.contained("echo three >> file && git commit -qam inside").ok();
        assert_eq!(world.log(world.branch), ["inside", "outside", "one"]);
        world.is_sound();
    });
}

#[test]
fn a_worktree_without_a_branch_commits_and_gets_one() {
    at_each_level(|world| {
        world.outside("w", "git checkout -q --detach && git branch -D topic");
        world.contained("echo two >> file && git commit -qam two").ok();
        assert_eq!(world.outside("w", "git log --format=%s"), "two\none\n");
        world.contained("git checkout -q -b made/here && git commit -q --allow-empty -m three").ok();
        assert_eq!(world.log("made/here"), ["three", "two", "one"]);
        world.contained("git commit -q --amend --allow-empty -m better").ok();
        assert_eq!(world.log("made/here"), ["better", "two", "one"]);
        world.is_sound();
    });
}

#[test]
fn hooks_of_the_repository_run_inside() {
    at_each_level(|world| {
        let hook =
            "#!/bin/sh\necho $TOOLGATE_CONTAINED > $TOP/w/ran; git diff --cached --quiet; touch $TOP/out\n";
        world.script("r/.git/hooks/pre-commit", hook);
        world.script(
            "r/.git/hooks/reference-transaction",
            "#!/bin/sh\necho $TOOLGATE_CONTAINED >> $TOP/w/moved\n",
        );
        world.contained(
            "git commit -q --allow-empty -m two; git commit -q --no-verify --allow-empty -m three",
        );
        assert_eq!(std::fs::read_to_string(world.path("w/ran")).unwrap().trim(), world.level);
        assert!(!world.path("out").exists());
        // Ours move branches without hooks.
        let moved = std::fs::read_to_string(world.path("w/moved")).unwrap();
        assert!(moved.lines().all(|line| line == world.level), "{moved}");
        assert_eq!(world.log(&format!("{} -n 1", world.branch)), ["three"]);
    });
}

#[test]
fn other_worktrees_are_listed_and_nothing_of_them_is_seen() {
    at_each_level(|world| {
        let listed = world.contained("git worktree list").ok().output;
        let other = world.path("v").display().to_string();
        assert!(listed.contains(&other) && !listed.contains("prunable"), "{listed}");
        if world.level == "full" {
            assert_eq!(world.contained("ls -A $TOP/v && cat $TOP/v/.git").ok().output, ".git\n");
            assert_ne!(world.contained("echo x > $TOP/v/.git").code, 0);
        }
        // One that is gone is said to be.
        world.outside("", "rm -r v");
        assert!(world.contained("git worktree list").ok().output.contains("prunable"));
    });
}

#[test]
fn temporary_files_lie_under_the_name_that_the_person_knows() {
    for level in levels().into_iter().filter(|level| *level == "full") {
        let world = World::new(level, "topic", "");
        let script = r#"echo x > "$TMPDIR/a" && mktemp -p "$TMPDIR" > /dev/null && printf %s "$TMPDIR""#;
        let (own, granted) = (world.path("own/deep"), world.path("w/tmp"));
        std::fs::create_dir_all(&own).unwrap();
        std::fs::create_dir(&granted).unwrap();
        let nowhere = std::path::PathBuf::from("/nowhere/tmp");
        for named in [&own, &nowhere, &granted] {
            let done = world.with_variable("TMPDIR", named, script).ok();
            assert_eq!(done.output, named.display().to_string());
            // It stays private, unless the plan grants it, and is there for the next command.
            assert_eq!(named.join("a").exists(), named == &granted, "{}", named.display());
            world.with_variable("TMPDIR", named, "cat $TMPDIR/a").ok();
        }
        for other in ["/usr/tmp-of-mine", "relative", "/proc/self", "/"] {
            let done = world.with_variable("TMPDIR", std::path::Path::new(other), script).ok();
            assert_eq!(done.output, "/tmp", "{other}");
        }
        // Where an earlier command has put a link, nothing is made behind it.
        std::fs::remove_dir_all(&own).unwrap();
        let above = own.parent().unwrap().display().to_string();
        world.contained(&format!("rm -rf {above} && ln -s $TOP/w {above}")).ok();
        let done = world.with_variable("TMPDIR", &own, script).ok();
        assert_eq!(done.output, "/tmp");
        assert!(!world.path("w/deep").exists());
    }
}

#[test]
fn a_signal_for_the_whole_group_arrives_once() {
    use std::os::unix::process::CommandExt;
    use std::time::{Duration, Instant};
    for level in levels() {
        let world = World::new(level, "topic", "");
        // Counted before it is ready: the signal ends whatever else bash has started, and `seq` would then have counted nothing.
        let script = "trap 'echo got >> log' TERM; turns=$(seq 200); touch log ready; for n in $turns; do test -e stop && break; sleep 0.05; done";
        let mut child = world.contained_command(script).process_group(0).spawn().unwrap();
        let begun = Instant::now();
        while !world.path("w/ready").exists() {
            assert!(begun.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(5));
        }
        // To the group, to the supervisor alone, and both again.
        for (group, expected) in [("-", 1), ("", 2), ("-", 3), ("", 4)] {
            world.outside("", &format!("kill -TERM {group}{}", child.id()));
            let count = || std::fs::read_to_string(world.path("w/log")).unwrap().lines().count();
            let sent = Instant::now();
            while count() < expected && sent.elapsed() < Duration::from_secs(5) {
                std::thread::sleep(Duration::from_millis(5));
            }
            // A second one would come now.
            std::thread::sleep(Duration::from_millis(300));
            assert_eq!(count(), expected, "{level}");
        }
        world.write("w/stop", "");
        child.wait().unwrap();
        // What tells them apart is gone, and no process of the group is left.
        let group = format!("-{}", child.id());
        assert!(!world.try_outside("", &format!("kill -0 -- {group}")).status.success(), "{level}");
    }
}

#[test]
fn a_command_that_has_itself_traced_has_not_ended_when_it_stops() {
    let script = r"exec /usr/bin/python3 -c '
import ctypes, os, signal, time
if os.fork() == 0:
    time.sleep(0.6)
    os.kill(os.getppid(), signal.SIGKILL)
    os._exit(0)
assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0
os.kill(os.getpid(), signal.SIGUSR1)
'";
    at_each_level(|world| assert_eq!(world.contained(script).code, 137, "{}", world.level));
}

#[test]
fn a_cache_that_the_person_has_only_later_is_used() {
    at_each_level(|world| {
        let cache = world.path("person/.cache");
        fs::create_dir(world.path("person")).unwrap();
        let run = |script: &str| {
            let options = ["--read", "--cache"].map(|option| (option, cache.clone().into_os_string()));
            let done = world.contained_command_with(&options, script).output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(done.status.success(), "{}: {script}: {said}", world.level);
        };
        run("true");
        fs::create_dir(&cache).unwrap();
        fs::write(cache.join("mine"), "mine").unwrap();
        run(&format!("grep mine '{}/mine'", cache.display()));
    });
}
