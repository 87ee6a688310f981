//! Paths that must neither change nor appear, under commands that want them to.

use std::fs;
use std::os::unix::fs::symlink;

use crate::world::{World, at_each_level};

const PINS: [&str; 6] = [".agent/settings.json", ".mcp.json", ".husky", "GUIDE.md", "new/below", "linked"];

fn prepare(world: &World) {
    for directory in [".agent", ".husky/_", "elsewhere"] {
        fs::create_dir_all(world.path("w").join(directory)).unwrap();
    }
    world.write("w/.agent/settings.json", "settings");
    world.write("w/.husky/_/hook", "hook");
    world.write("w/elsewhere/text", "text");
    symlink("elsewhere/text", world.path("w/GUIDE.md")).unwrap();
}

fn is_as_before(world: &World, script: &str) {
    let read = |path: &str| fs::read_to_string(world.path("w").join(path)).unwrap_or_default();
    assert_eq!(read(".agent/settings.json"), "settings", "{}: {script}", world.level);
    assert_eq!(read(".husky/_/hook"), "hook", "{}: {script}", world.level);
    let names: Vec<_> =
        fs::read_dir(world.path("w/.husky")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["_"], "{}: {script}", world.level);
    assert_eq!(fs::read_link(world.path("w/GUIDE.md")).unwrap().to_str(), Some("elsewhere/text"));
    for absent in [".mcp.json", "new/below", "linked"] {
        assert!(
            fs::symlink_metadata(world.path("w").join(absent)).is_err(),
            "{}: {script}: {absent}",
            world.level
        );
    }
    for above in [".agent", ".husky"] {
        assert!(
            fs::symlink_metadata(world.path("w").join(above)).unwrap().is_dir(),
            "{}: {script}",
            world.level
        );
    }
}

#[test]
fn pins_are_as_before_whatever_a_command_does() {
    at_each_level(|world| {
        prepare(world);
        let quiet = world.with_pins(&PINS, "cat .agent/settings.json GUIDE.md .husky/_/hook").ok();
        assert!(quiet.output.ends_with("settingstexthook"), "{}", quiet.output);
        assert!(!quiet.report.contains("pin:"), "{}", quiet.report);
        for script in [
            "echo evil > .agent/settings.json",
            "rm -f .agent/settings.json",
            "rm -rf .agent .husky",
            "mv .agent .old; mkdir .agent; echo evil > .agent/settings.json",
            "mv .agent .old-2; ln -s elsewhere .agent; echo evil > elsewhere/settings.json",
            "echo evil > .mcp.json",
            "mkdir .mcp.json",
            "ln -s /etc/passwd .mcp.json",
            "mkfifo .mcp.json",
            "mkdir new; echo evil > new/below",
            "mkdir -p new/below/deep",
            "ln -s elsewhere linked",
            "echo evil > .husky/_/hook; echo evil > .husky/pre-commit",
            "mv .husky .old-3; cp -r elsewhere .husky",
            "chmod 777 .agent/settings.json; chmod 777 .husky/_/hook",
            "ln -sf /etc/passwd GUIDE.md",
            "rm GUIDE.md; echo evil > GUIDE.md",
            "ln .agent/settings.json second && echo evil > second",
        ] {
            let done = world.with_pins(&PINS, script);
            is_as_before(world, script);
            let is_told = done.report.contains("pin:") || done.output.contains("busy") || done.code != 0;
            assert!(is_told, "{}: {script}: {done:?}", world.level);
        }
        // What was moved away is still there to be looked at.
        assert!(fs::read_dir(world.path("private-w/quarantine")).unwrap().count() > 3);
    });
}

#[test]
fn the_files_that_pins_led_to_are_not_touched() {
    at_each_level(|world| {
        prepare(world);
        world.write("precious", "precious");
        world.with_pins(
            &PINS,
            "rm -rf .agent; ln -s $TOP .agent; ln -s $TOP/precious .mcp.json; ln -s $TOP new",
        );
        is_as_before(world, "links");
        assert_eq!(fs::read_to_string(world.path("precious")).unwrap(), "precious");
        assert!(!world.path("settings.json").exists());
        assert!(!world.path("below").exists());
    });
}

#[test]
fn what_appears_is_moved_away_while_the_command_runs() {
    at_each_level(|world| {
        prepare(world);
        for (made, path) in [
            ("echo evil > .mcp.json", ".mcp.json"),
            ("echo evil > x; mv x .mcp.json", ".mcp.json"),
            ("ln -s elsewhere/text linked", "linked"),
            ("mkdir new; echo evil > new/below", "new/below"),
            ("mkdir other; echo evil > other/below; rm -rf new; mv other new", "new/below"),
            ("rm -rf new; ln -s elsewhere new; echo evil > elsewhere/below", "new/below"),
        ] {
            // Within two seconds on a machine that has much to do; some microseconds otherwise.
            let script = format!(
                "{made}; for n in $(seq 200); do test -e {path} || test -L {path} || {{ echo gone; exit; }}; sleep 0.01; done"
            );
            let done = world.with_pins(&PINS, &script);
            assert!(done.output.contains("gone"), "{}: {made}: {done:?}", world.level);
            assert!(
                done.report.contains("must not appear; it was moved away"),
                "{}: {made}: {done:?}",
                world.level
            );
            world.outside("w", "rm -rf new other elsewhere/below");
        }
        // The control: a name that is not pinned stays.
        let done = world.with_pins(&PINS, "echo kept > .mcp.json.txt; sleep 0.2; cat .mcp.json.txt").ok();
        assert!(done.output.contains("kept") && !done.report.contains("pin:"), "{done:?}");
    });
}

#[test]
fn a_command_that_does_not_stop_making_a_pinned_name_is_ended() {
    at_each_level(|world| {
        prepare(world);
        let done = world.with_pins(&PINS, "while :; do echo evil > .mcp.json; done");
        assert!(done.report.contains("ended by: Names"), "{}: {done:?}", world.level);
        is_as_before(world, "again and again");
    });
}

#[test]
fn a_background_job_makes_no_pinned_name() {
    at_each_level(|world| {
        prepare(world);
        let script =
            "(sleep 1; echo evil > .mcp.json; mkdir new; echo evil > new/below; sleep 2) > /dev/null 2>&1 &";
        world.with_pins(&PINS, script).ok();
        std::thread::sleep(std::time::Duration::from_millis(2200));
        let is_there = |path: &str| world.path("w").join(path).exists();
        assert_eq!((is_there(".mcp.json"), is_there("new/below")), (false, false), "{}", world.level);
        std::thread::sleep(std::time::Duration::from_millis(1500));
    });
}
