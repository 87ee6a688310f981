//! Several commands at once, commands whose supervisor is gone, and commands that leave something running.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::world::{World, at_each_level, done, levels};

fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < Duration::from_secs(30), "{} does not come", path.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn finish(child: Child, report: &Path) -> crate::world::Done {
    done(&child.wait_with_output().unwrap(), report)
}

#[test]
fn two_commands_in_one_worktree() {
    at_each_level(|world| {
        let reports = [world.path("report-a"), world.path("report-b")];
        let script = |name: &str| {
            format!(
                "for n in 1 2 3 4 5; do git branch {name}$n $(git commit-tree -m {name}$n HEAD^{{tree}}) || exit 1; done"
            )
        };
        let children =
            [world.start("w", &script("a"), &reports[0]), world.start("w", &script("b"), &reports[1])];
        for (child, report) in children.into_iter().zip(&reports) {
            finish(child, report).ok();
        }
        for name in ["a", "b"] {
            for number in 1..=5 {
                let name = format!("{name}{number}");
                assert_eq!(world.log(&name), [name.as_str()]);
            }
        }
        world.is_sound();
    });
}

#[test]
fn two_commands_that_move_the_same_branch() {
    at_each_level(|world| {
        let reports = [world.path("report-a"), world.path("report-b")];
        let slow = "touch begun; while [ ! -e go ]; do sleep 0.02; done; git commit -q --allow-empty -m slow";
        let slow = world.start("w", slow, &reports[0]);
        wait_for(&world.path("w/begun"));
        world.contained("git commit -q --allow-empty -m quick").ok();
        world.write("w/go", "");
        let slow = finish(slow, &reports[0]);
        let log = world.log(world.branch);
        // What came first is never lost.
        assert!(log.contains(&"quick".to_owned()), "{log:?} {slow:?}");
        assert!(
            log == ["slow", "quick", "one"] || slow.report.contains("changed outside meanwhile"),
            "{log:?} {slow:?}"
        );
        world.is_sound();
    });
}

#[test]
fn commands_in_two_worktrees() {
    at_each_level(|world| {
        let reports = [world.path("report-w"), world.path("report-v")];
        let script = "for n in 1 2 3 4 5; do echo $n >> file; git commit -qam $n || exit 1; done";
        let children = [world.start("w", script, &reports[0]), world.start("v", script, &reports[1])];
        // And the person commits meanwhile.
        world.outside("r", "for n in 1 2 3 4 5; do git commit -q --allow-empty -m main$n; done");
        for (child, report) in children.into_iter().zip(&reports) {
            let done = finish(child, report).ok();
            assert!(!done.report.contains("refused"), "{}", done.report);
        }
        for branch in [world.branch, "other/v"] {
            assert_eq!(world.log(branch), ["5", "4", "3", "2", "1", "one"]);
        }
        assert_eq!(world.log("main").len(), 6);
        world.is_sound();
    });
}

#[test]
fn what_a_killed_supervisor_leaves_is_taken_over_by_the_next() {
    at_each_level(|world| {
        let script = "echo two >> file && git commit -qam two && touch ready && sleep 60";
        let mut child = world.start("w", script, &world.path("report-a"));
        wait_for(&world.path("w/ready"));
        child.kill().unwrap();
        child.wait().unwrap();
        world.contained("true").ok();
        assert_eq!(world.log(world.branch), ["two", "one"]);
        world.is_sound();
    });
}

#[test]
fn a_commit_from_the_background_is_taken_over_later() {
    for level in levels().into_iter().filter(|level| *level == "full") {
        let world = World::new(level, "topic", "");
        let script = "(while [ ! -e go ]; do sleep 0.02; done; git commit -q --allow-empty -m later; touch gone) \
                      > log 2>&1 & git commit -q --allow-empty -m now";
        world.contained(script).ok();
        assert_eq!(world.log("topic"), ["now", "one"]);
        world.write("w/go", "");
        wait_for(&world.path("w/gone"));
        let start = Instant::now();
        while world.log("topic").len() < 3 {
            assert!(start.elapsed() < Duration::from_secs(30), "{:?}", world.log("topic"));
            world.contained("true").ok();
        }
        assert_eq!(world.log("topic"), ["later", "now", "one"]);
        world.is_sound();
    }
}

#[test]
fn what_others_did_meanwhile_is_not_lost() {
    at_each_level(|world| {
        let script = "touch begun; while [ ! -e go ]; do sleep 0.02; done; \
                      git update-ref refs/heads/topic $(git commit-tree -m inside -p refs/heads/old-topic HEAD^{tree})";
        world.outside("r", "git branch old-topic topic");
        let child = world.start("w", script, &world.path("report-a"));
        wait_for(&world.path("w/begun"));
        world.outside(
            "r",
            "git branch mine && git update-ref refs/heads/side $(git commit-tree -m side HEAD^{tree})",
        );
        let main = world.outside("r", "git commit -q --allow-empty -m main && git rev-parse HEAD");
        world.write("w/go", "");
        let done = finish(child, &world.path("report-a")).ok();
        assert_eq!(world.refs()["refs/heads/main"], main.trim(), "{done:?}");
        assert!(world.refs().contains_key("refs/heads/mine"), "{done:?}");
        assert_eq!(world.log("topic"), ["inside", "one"], "{done:?}");
        if world.level == "full" {
            assert_eq!(world.log("side"), ["side"]);
        }
        world.is_sound();
    });
}
