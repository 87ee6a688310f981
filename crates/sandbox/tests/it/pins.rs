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
