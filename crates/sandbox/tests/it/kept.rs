//! Places in a writable one that are only read, under commands that want to write them.

use std::ffi::OsString;
use std::fs;

use crate::world::{World, at_each_level};

fn options(world: &World, kept: &[&str], written: &[&str]) -> Vec<(&'static str, OsString)> {
    let path = |below: &&str| world.path("w").join(below).into_os_string();
    let kept = kept.iter().map(|below| ("--keep", path(below)));
    kept.chain(written.iter().map(|below| ("--write", path(below)))).collect()
}

#[test]
fn a_kept_place_is_as_before_whatever_a_command_does_and_what_is_written_below_it_stays() {
    at_each_level(|world| {
        for directory in ["w/team/inbox", "w/src"] {
            fs::create_dir_all(world.path(directory)).unwrap();
        }
        world.write("w/team/roster", "roster");
        world.write("w/src/auth", "auth");
        let options = options(world, &["team", "src/auth", "src/new"], &["team/inbox"]);
        for script in [
            "echo evil > team/roster",
            "rm -rf team/roster src/auth",
            "mv src/auth src/old; echo evil > src/auth",
            "mv src away; mkdir src; echo evil > src/auth",
            "mv team away; mkdir team; echo evil > team/roster",
            "echo evil > src/new",
            "ln -s roster team/link; ln src/auth other && echo evil > other",
        ] {
            let done = world.with_options(&options, &format!("{{ {script}; }} 2>/dev/null; true"));
            assert_eq!(done.code, 0, "{}: {script}: {}", world.level, done.output);
            let read = |path: &str| fs::read_to_string(world.path("w").join(path)).unwrap_or_default();
            assert_eq!(
                (read("team/roster"), read("src/auth")),
                ("roster".to_owned(), "auth".to_owned()),
                "{}: {script}",
                world.level
            );
            assert!(!world.path("w/src/new").exists(), "{}: {script}", world.level);
        }
        // At level landlock the directory of what may be written can be moved away, as it could be removed.
        fs::create_dir_all(world.path("w/team/inbox")).unwrap();
        // The rest is open, and so is what lies in the kept place and may be written.
        let open = "echo x > src/menu && echo y > team/inbox/a && cat team/roster src/auth";
        let done = world.with_options(&options, open);
        assert_eq!((done.code, done.output.as_str()), (0, "rosterauth"), "{}", world.level);
        assert!(
            world.path("w/src/menu").exists() && world.path("w/team/inbox/a").exists(),
            "{}",
            world.level
        );
    });
}

#[test]
fn what_is_too_large_to_be_put_back_is_not_run_where_nothing_else_keeps_it() {
    at_each_level(|world| {
        fs::create_dir(world.path("w/large")).unwrap();
        for part in 0..20 {
            world.write(&format!("w/large/{part}"), vec![b'x'; 1 << 20]);
        }
        let done = world.with_options(&options(world, &["large"], &[]), "echo ran");
        if world.level == "full" {
            assert_eq!((done.code, done.output.as_str()), (0, "ran\n"));
        } else {
            assert_eq!(done.code, 125, "{}", done.output);
            assert!(
                done.output.contains("needs level full") && !done.output.contains("ran\n"),
                "{}",
                done.output
            );
        }
    });
}
