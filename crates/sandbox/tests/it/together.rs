//! Several commands at once, commands whose supervisor is gone, and commands that leave something running.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::world::{World, at_each_level, collect, done, levels};

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
fn what_a_killed_supervisor_leaves_is_looked_at_before_any_other_command() {
    at_each_level(|world| {
        // A supervisor that is stopped moves nothing away while the command runs.
        let script = "touch begun; while [ ! -e go ]; do sleep 0.02; done; echo evil > .mcp.json; \
                      ln -s /etc/passwd \"$(git rev-parse --git-dir)/COMMIT_EDITMSG\"; touch ready; sleep 60";
        let pin = [("--pin", world.path("w/.mcp.json").into())];
        let mut child = world.start_with("w", script, &world.path("report-a"), &pin);
        wait_for(&world.path("w/begun"));
        let supervisor = Pid::from_child(&child);
        kill_process(supervisor, Signal::STOP).unwrap();
        world.write("w/go", "");
        wait_for(&world.path("w/ready"));
        child.kill().unwrap();
        child.wait().unwrap();
        let planted = [world.path("w/.mcp.json"), world.own().join("COMMIT_EDITMSG")];
        let start = Instant::now();
        while planted.iter().any(|path| path.symlink_metadata().is_ok()) {
            assert!(start.elapsed() < Duration::from_secs(30), "{}: {planted:?}", world.level);
            std::thread::sleep(Duration::from_millis(10));
        }
    });
}

#[test]
fn a_worktree_that_was_made_anew_owns_its_branch() {
    at_each_level(|world| {
        world.contained("git commit -q --allow-empty -m first").ok();
        world.outside("r", "git worktree remove --force ../w && git worktree add -q -b anew ../w");
        world.contained("git commit -q --allow-empty -m draft").ok();
        let done = world.contained("git commit -q --amend --allow-empty -m whole").ok();
        assert_eq!(world.log("anew"), ["whole", "one"], "{}: {}", world.level, done.report);
        world.is_sound();
    });
}

#[test]
fn a_branch_from_the_background_is_taken_over_later() {
    for level in levels().into_iter().filter(|level| *level == "full") {
        let world = World::new(level, "topic", "");
        let script = "(while [ ! -e go ]; do sleep 0.02; done; git branch later $(git commit-tree -m later HEAD^{tree}); \
                      touch gone) > log 2>&1 & git commit -q --allow-empty -m now";
        world.contained(script).ok();
        assert_eq!(world.log("topic"), ["now", "one"]);
        world.write("w/go", "");
        wait_for(&world.path("w/gone"));
        let start = Instant::now();
        while !world.refs().contains_key("refs/heads/later") {
            assert!(start.elapsed() < Duration::from_secs(30), "{:?}", world.refs());
            world.contained("true").ok();
        }
        assert_eq!(world.log("later"), ["later"]);
        assert_eq!(world.log("topic"), ["now", "one"]);
        world.is_sound();
    }
}

/// What a program may do so that no host could start a hook in `sub/src` any more. Some need what no program of a shell does.
const TAKEN_AWAY: [&str; 9] = [
    "mv sub/src sub/lib",
    "mv sub other",
    "chmod 0 sub",
    "chmod 600 sub/src",
    "chmod 600 .",
    "rm -rf sub",
    "rm -rf sub/src; chmod 500 sub",
    "mv sub/src sub/lib; ln -s ../../v sub/src",
    "touch f; python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b\"sub/src\", -100, b\"f\", 2)'",
];

/// Whether a host could start a hook there.
fn can_be_entered(place: &Path) -> bool {
    let is_directory = place.symlink_metadata().is_ok_and(|found| found.is_dir());
    is_directory && std::process::Command::new("true").current_dir(place).status().is_ok()
}

fn wait_until_entered(world: &World, start: &Path, script: &str) {
    let begun = Instant::now();
    while !can_be_entered(start) {
        assert!(begun.elapsed() < Duration::from_secs(5), "{}: {script}", world.level);
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A worktree with a session in `sub/src`, and the options for a command of it.
fn in_a_directory_of_hooks(level: &'static str) -> (World, PathBuf, [(&'static str, std::ffi::OsString); 1]) {
    let world = World::new(level, "topic", "");
    let start = world.path("w/sub/src");
    std::fs::create_dir_all(&start).unwrap();
    std::fs::write(start.join("file"), "x").unwrap();
    let option = [("--start", start.clone().into())];
    (world, start, option)
}

#[test]
fn the_directory_of_the_hooks_is_put_back_behind_a_job_in_the_background() {
    for level in levels() {
        for script in TAKEN_AWAY {
            let (world, start, option) = in_a_directory_of_hooks(level);
            // Out of the call's session, as a daemon is. It goes on until it is told to end.
            let late = format!(
                "(for n in $(seq 1500); do [ -e go ] && break; sleep 0.02; done; {script}; for n in $(seq 1500); do touch $HERE/acted && break; done; \
                 for n in $(seq 1500); do [ -e $HERE/end ] && break; sleep 0.02; done)"
            );
            let script_of_call =
                format!("export HERE=$PWD; setsid sh -c '{}' > log 2>&1 &", late.replace('\'', "'\\''"));
            world.with_options(&option, &script_of_call).ok();
            assert!(can_be_entered(&start));
            world.write("w/go", "");
            wait_for(&world.path("w/acted"));
            wait_until_entered(&world, &start, script);
            // Moved back with what was in it, where it is still there.
            if !script.contains("rm -rf") {
                assert!(start.join("file").exists(), "{level}: {script}");
            }
            world.write("w/end", "");
        }
    }
}

#[test]
fn the_directory_of_the_hooks_is_put_back_while_a_command_runs_and_when_its_host_kills_it() {
    for level in levels() {
        for script in TAKEN_AWAY {
            let (world, start, option) = in_a_directory_of_hooks(level);
            let long = format!("{script}; until touch $TOP/w/acted; do :; done; sleep 60");
            let mut child = world.start_with("w", &long, &world.path("report"), &option);
            wait_for(&world.path("w/acted"));
            wait_until_entered(&world, &start, script);
            child.kill().unwrap();
            child.wait().unwrap();
            wait_until_entered(&world, &start, script);
        }
        // It acts, and is killed before it would be told.
        let (world, start, option) = in_a_directory_of_hooks(level);
        world.with_options(&option, "mv sub/src lib; exec kill -9 $$");
        assert!(can_be_entered(&start), "{level}");
    }
}

#[test]
fn a_job_that_goes_on_taking_the_directory_of_the_hooks_away_is_ended() {
    for level in levels() {
        let (world, start, option) = in_a_directory_of_hooks(level);
        let script = "(while :; do rm -rf sub; done) > /dev/null 2>&1 &";
        world.with_options(&option, script).ok();
        // Each time it is another one, until nobody is left that takes it away.
        let which = || start.symlink_metadata().ok().map(|found| std::os::unix::fs::MetadataExt::ino(&found));
        let begun = Instant::now();
        loop {
            let before = which();
            std::thread::sleep(Duration::from_millis(300));
            if before.is_some() && before == which() {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "{level}");
        }
        assert!(can_be_entered(&start), "{level}");
    }
}

/// All files of the worktree in its repository, and their content.
fn own_files(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    collect(&world.own(), &mut files);
    files
}

#[test]
fn a_job_writes_nothing_that_git_believes_once_its_command_has_ended() {
    for level in levels().into_iter().filter(|level| *level == "full") {
        let world = World::new(level, "topic", "");
        // By name, from a directory that it is in already, by a descriptor of the directory, and by git.
        let script = r#"
            try() { echo evil > "$1/HEAD"; echo evil > "$1/MERGE_HEAD"; rm -f "$1/index"; mkdir "$1/rebase-merge"; mv "$1/HEAD" "$1/H"; }
            (while [ ! -e go ]; do sleep 0.02; done; try "$OWN"; git commit -q --allow-empty -m later; touch by-name) > log 2>&1 &
            (here=$PWD; cd "$OWN"; while [ ! -e $here/go ]; do sleep 0.02; done; try .; touch $here/by-directory) > log2 2>&1 &
            (exec 3< "$OWN"; while [ ! -e go ]; do sleep 0.02; done; try /proc/self/fd/3; touch by-handle) > log3 2>&1 &
            sleep 0.1
            git commit -q --allow-empty -m now"#;
        let done = world.contained(script).ok();
        assert!(!done.report.contains("refused"), "{done:?}");
        let before = own_files(&world);
        world.write("w/go", "");
        for name in ["by-name", "by-directory", "by-handle"] {
            wait_for(&world.path("w").join(name));
        }
        assert_eq!(own_files(&world), before);
        assert_eq!(world.log("topic"), ["now", "one"]);
        // The next command is as free as ever.
        world.contained("git commit -q --allow-empty -m next").ok();
        assert_eq!(world.log("topic"), ["next", "now", "one"]);
        world.is_sound();
    }
}

/// Where processes are, by the names that this one reads.
fn directories_of_processes() -> Vec<PathBuf> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|process| std::fs::read_link(process.path().join("cwd")).ok()).collect()
}

#[test]
fn a_command_that_goes_on_keeps_nothing_of_the_old_root() {
    for level in levels().into_iter().filter(|level| *level == "full") {
        let world = World::new(level, "topic", "");
        let script =
            "touch begun; while [ ! -e go ]; do sleep 0.05; done; git commit -q --allow-empty -m after";
        let child = world.start("w", script, &world.path("report-w"));
        wait_for(&world.path("w/begun"));
        let start = Instant::now();
        // The name is read up to the root of the mount namespace, which is the view once the old root is gone.
        while !directories_of_processes().contains(&world.path("w")) {
            assert!(start.elapsed() < Duration::from_secs(30), "{:?}", directories_of_processes());
            std::thread::sleep(Duration::from_millis(20));
        }
        world.write("w/go", "");
        finish(child, &world.path("report-w")).ok();
        assert_eq!(world.log("topic"), ["after", "one"]);
    }
}

#[test]
fn a_job_that_keeps_a_file_of_git_open_to_write_is_ended() {
    for level in levels().into_iter().filter(|level| *level == "full") {
        let world = World::new(level, "topic", "");
        let script = r#"
            (exec 3>> "$OWN/ORIG_HEAD"; touch held; while :; do sleep 0.05; echo evil >&3; done) > log 2>&1 &
            while [ ! -e held ]; do sleep 0.02; done"#;
        let done = world.contained(script).ok();
        assert!(done.report.contains("could not be kept from files of git"), "{done:?}");
        let before = own_files(&world);
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(own_files(&world), before);
        world.contained("git commit -q --allow-empty -m next").ok();
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
