//! Paths that must neither change nor appear, under commands that want them to.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::{Path, PathBuf};

use crate::escapes::world::User;
use crate::world::{World, at_each_level, contain, copy_program, levels};

const PINS: [&str; 7] =
    [".agent/settings.json", ".mcp.json", ".husky", "GUIDE.md", "new/below", "linked", ".vscode/file"];

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
            // Another directory in the place of one that is held already.
            ("mkdir new; sleep 0.3; mv new other; mkdir new; sleep 0.3; echo evil > new/below", "new/below"),
            ("mv .vscode old; mkdir .vscode; sleep 0.3; echo evil > .vscode/file", ".vscode/file"),
        ] {
            fs::create_dir_all(world.path("w/.vscode")).unwrap();
            // Within two seconds on a machine that has much to do; some microseconds otherwise.
            let script = format!(
                "{made}; for n in $(seq 200); do test -e {path} || test -L {path} || {{ echo gone; exit; }}; sleep 0.01; done"
            );
            let done = world.with_pins(&PINS, &script);
            assert!(done.output.contains("gone"), "{}: {made}: {done:?}", world.level);
            assert!(
                done.report.contains("may not be created; toolgate moved it away"),
                "{}: {made}: {done:?}",
                world.level
            );
            world.outside("w", "rm -rf new other old elsewhere/below");
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

/// At level `full` the files are read-only to it.
#[test]
fn a_background_job_changes_no_pinned_file() {
    at_each_level(|world| {
        prepare(world);
        let file = world.path("w/.agent/settings.json");
        let rewrite = "(sleep 1; echo evil > .agent/settings.json; sleep 2) > /dev/null 2>&1 &";
        // A mapping that is written when everybody has looked. Nobody is told of that.
        let mapped = "python3 -c 'import mmap, os, time
file = os.open(\".agent/settings.json\", os.O_RDWR)
map = mmap.mmap(file, 8)
map[:] = b\"settings\"
if os.fork(): os._exit(0)
os.setsid()
for stream in range(3): os.close(stream)
time.sleep(1); map[:] = b\"evil!!!!\"; time.sleep(2)' || true";
        let replace = "(sleep 1; echo evil > new; ln -f new other; mv -f new .agent/settings.json; sleep 2) > /dev/null 2>&1 &";
        for script in [rewrite, mapped, replace] {
            world.with_pins(&PINS, script).ok();
            std::thread::sleep(std::time::Duration::from_millis(2200));
            assert_eq!(fs::read_to_string(&file).unwrap(), "settings", "{}: {script}", world.level);
            // What begins meanwhile does not take it for what was there before.
            world.with_pins(&PINS, "true").ok();
            std::thread::sleep(std::time::Duration::from_millis(1500));
            assert_eq!(fs::read_to_string(&file).unwrap(), "settings", "{}: {script}", world.level);
        }
    });
}

/// A host that cannot read its settings starts no hook. At level `full` nothing of it is there.
#[test]
fn files_outside_that_hooks_need_are_not_closed() {
    at_each_level(|world| {
        prepare(world);
        let settings = world.path("host/.host/settings.json");
        fs::create_dir_all(settings.parent().unwrap()).unwrap();
        fs::write(&settings, "hooks").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
        let above = settings.parent().unwrap();
        let before = (mode(&settings), mode(above));
        let close = format!("chmod 000 {0}/settings.json; chmod 000 {0}", above.display());
        let later = format!("(sleep 1; {close}; sleep 1) > /dev/null 2>&1 &");
        let options = [("--unclosed", settings.clone().into())];
        for (script, pause) in [(close, 0), (later, 1800)] {
            world.with_options(&options, &format!("exec 2>/dev/null\n{script}\ntrue")).ok();
            std::thread::sleep(std::time::Duration::from_millis(pause));
            assert_eq!(mode(&settings), before.0, "{}: {script}", world.level);
            // To root outside no directory is closed.
            assert!(
                rustix::process::geteuid().is_root() || mode(above) == before.1,
                "{}: {script}",
                world.level
            );
        }
    });
}

/// Hosts run several calls at once.
#[test]
fn what_a_command_has_changed_is_not_taken_for_what_was_there_by_another_one() {
    at_each_level(|world| {
        prepare(world);
        let file = world.path("w/.agent/settings.json");
        let report = world.path("report");
        let options = PINS.map(|pin| ("--pin", world.path("w").join(pin).into()));
        // The second begins when the first is long at work, and when it has just begun. It ends later.
        for (pause, first) in [("sleep 0.5", "sleep 2"), ("true", "sleep 0.7")] {
            let script = format!("echo evil > .agent/settings.json; {pause}; touch changed; {first}");
            let begun = world.start_with("w", &script, &report, &options);
            while !world.path("w/changed").exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            let second = world.with_pins(&PINS, "cat .agent/settings.json; rm changed; sleep 3").ok();
            assert_eq!(second.output, "settings", "{}", world.level);
            begun.wait_with_output().unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), "settings", "{}: {pause}", world.level);
        }
    });
}

/// Whoever goes on is ended, and whoever begins waits.
#[test]
fn a_background_job_that_goes_on_changing_a_pinned_file_is_ended() {
    at_each_level(|world| {
        prepare(world);
        let file = world.path("w/.agent/settings.json");
        let script = "(for n in $(seq 600); do echo evil > .agent/settings.json; sleep 0.02; done; echo late > late) > /dev/null 2>&1 &";
        world.with_pins(&PINS, script).ok();
        // What one begun meanwhile finds may be changed under its hands, and is not what it puts back.
        world.with_pins(&PINS, "true");
        for _ in 0..100 {
            std::thread::sleep(std::time::Duration::from_millis(100));
            if world.level == "full"
                || !world.path("private-w/standing").read_dir().is_ok_and(|mut left| left.next().is_some())
            {
                break;
            }
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "settings", "{}", world.level);
        assert!(world.level == "full" || !world.path("w/late").exists());
        let done = world.with_pins(&PINS, "cat .agent/settings.json").ok();
        assert_eq!(done.output, "settings", "{}", world.level);
    });
}

#[test]
fn a_background_job_makes_no_pinned_name_in_a_directory_that_the_command_has_made() {
    at_each_level(|world| {
        prepare(world);
        fs::create_dir(world.path("w/.vscode")).unwrap();
        for (script, path) in [
            ("mkdir new; (sleep 1; echo evil > new/below; sleep 2) > /dev/null 2>&1 &", "new/below"),
            (
                "(sleep 1; mv .vscode old; mkdir .vscode; sleep 0.4; echo evil > .vscode/file; sleep 2) > /dev/null 2>&1 &",
                ".vscode/file",
            ),
        ] {
            world.with_pins(&PINS, script).ok();
            std::thread::sleep(std::time::Duration::from_millis(2600));
            assert!(!world.path("w").join(path).exists(), "{}: {script}", world.level);
            std::thread::sleep(std::time::Duration::from_millis(1300));
        }
    });
}

/// What must not appear in any directory.
const NESTED: [&str; 4] = [".agent/settings.json", ".agent/skills", ".mcp.json", ".tool"];

fn nested(world: &World, script: &str) -> crate::world::Done {
    let options: Vec<_> = NESTED.iter().map(|name| ("--nested", name.into())).collect();
    world.with_options(&options, script)
}

#[test]
fn pinned_names_in_directories_below_are_as_before_whatever_a_command_does() {
    at_each_level(|world| {
        for directory in ["a/b/.agent", "c/node_modules/p", "d"] {
            fs::create_dir_all(world.path("w").join(directory)).unwrap();
        }
        world.write("w/a/b/.agent/settings.json", "settings");
        world.write("w/a/.mcp.json", "server");
        let quiet = nested(world, "cat a/.mcp.json a/b/.agent/settings.json; touch d/x").ok();
        assert!(quiet.output.ends_with("serversettings") && !quiet.report.contains("pin:"), "{quiet:?}");
        for script in [
            "echo evil > a/.mcp.json",
            "rm -f a/.mcp.json a/b/.agent/settings.json",
            "rm -rf a/b",
            "mv a e; cp -r e a; echo evil > a/.mcp.json; rm -rf e",
            "mkdir -p a/b/.agent/skills; echo evil > a/b/.agent/skills/x",
            "echo evil > d/.mcp.json",
            "mkdir -p new/deep/.agent; echo evil > new/deep/.agent/settings.json",
            "ln -s ../a d/.agent",
            "ln -s ../a/.mcp.json d/.mcp.json",
            "mkdir d/.tool",
            "mkdir -p c/node_modules/q/.agent; echo evil > c/node_modules/q/.agent/settings.json; mv c/node_modules/q d/q",
            "mkdir -p d/.agent/skills",
        ] {
            let done = nested(world, script);
            let read = |path: &str| fs::read_to_string(world.path("w").join(path)).unwrap_or_default();
            assert_eq!(read("a/.mcp.json"), "server", "{}: {script}: {done:?}", world.level);
            assert_eq!(read("a/b/.agent/settings.json"), "settings", "{}: {script}: {done:?}", world.level);
            let found = world.outside(
                "w",
                "find . -path '*/node_modules/*' -prune -o -name .mcp.json -print -o -path '*/.agent/*' -print -o -name .tool -print | sort",
            );
            assert_eq!(
                found, "./a/.mcp.json\n./a/b/.agent/settings.json\n",
                "{}: {script}: {done:?}",
                world.level
            );
            let is_told = done.report.contains("pin:") || done.code != 0 || !done.output.is_empty();
            assert!(is_told, "{}: {script}: {done:?}", world.level);
            world.outside("w", "rm -rf new d/q d/.agent e");
        }
    });
}

#[test]
fn a_name_that_moved_from_an_old_place_has_appeared() {
    at_each_level(|world| {
        fs::create_dir_all(world.path("w/node_modules/p/.agent")).unwrap();
        world.write("w/node_modules/p/.agent/settings.json", "old");
        nested(world, "true").ok();
        let done = nested(world, "mv node_modules/p p");
        assert!(!world.path("w/p/.agent/settings.json").exists(), "{}: {done:?}", world.level);
        assert!(done.report.contains("moved it away"), "{}: {done:?}", world.level);
    });
}

#[test]
fn what_a_person_makes_below_between_two_commands_stays() {
    at_each_level(|world| {
        fs::create_dir_all(world.path("w/a")).unwrap();
        nested(world, "true").ok();
        world.write("w/a/.mcp.json", "mine");
        std::thread::sleep(std::time::Duration::from_millis(100));
        let done = nested(world, "touch a/x").ok();
        assert!(!done.report.contains("pin:"), "{}: {done:?}", world.level);
        // From now on it is known, and pinned.
        nested(world, "echo evil > a/.mcp.json");
        assert_eq!(fs::read_to_string(world.path("w/a/.mcp.json")).unwrap(), "mine", "{}", world.level);
        // What was removed outside is not missed.
        fs::remove_file(world.path("w/a/.mcp.json")).unwrap();
        let done = nested(world, "touch a/y").ok();
        assert!(!done.report.contains("pin:"), "{}: {done:?}", world.level);
    });
}

#[test]
fn what_a_background_job_leaves_below_is_moved_away_before_the_next_command() {
    at_each_level(|world| {
        fs::create_dir_all(world.path("w/a")).unwrap();
        nested(world, "true").ok();
        nested(world, "(sleep 0.5; echo evil > a/.mcp.json) > /dev/null 2>&1 &").ok();
        std::thread::sleep(std::time::Duration::from_millis(1200));
        assert!(world.path("w/a/.mcp.json").exists(), "the control: {}", world.level);
        let done = nested(world, "test ! -e a/.mcp.json").ok();
        assert!(done.report.contains("a/.mcp.json may not be created"), "{}: {done:?}", world.level);
    });
}

#[test]
fn another_worktree_below_has_files_of_its_own() {
    at_each_level(|world| {
        nested(world, "mkdir inner").ok();
        world.outside("r", "git worktree add -q -b inner ../w/inner/tree");
        world.write("w/inner/tree/.mcp.json", "mine");
        let done = nested(world, "touch inner/x").ok();
        assert!(world.path("w/inner/tree/.mcp.json").exists() && !done.report.contains("pin:"), "{done:?}");
        // One that only looks so is not another worktree.
        let fake = "mkdir -p fake; echo gitdir: $COMMON/worktrees/w > fake/.git; echo evil > fake/.mcp.json";
        nested(world, fake);
        assert!(!world.path("w/fake/.mcp.json").exists(), "{}", world.level);
    });
}

#[test]
fn a_tree_that_is_too_large_is_said_once() {
    at_each_level(|world| {
        world.outside(
            "w",
            "for a in $(seq 70); do for b in $(seq 70); do echo big/$a/$b; done; done | xargs mkdir -p",
        );
        let first = nested(world, "true").ok();
        assert!(first.report.contains("too many directories"), "{}: {first:?}", world.level);
        let second = nested(world, "true").ok();
        assert!(!second.report.contains("pin:"), "{}: {second:?}", world.level);
        // What lies near the top is looked after all the same.
        nested(world, "echo evil > big/1/.mcp.json");
        assert!(!world.path("w/big/1/.mcp.json").exists(), "{}", world.level);
    });
}

#[test]
fn what_a_command_whose_supervisor_was_killed_has_made_below_is_found_by_the_next() {
    use std::os::unix::process::CommandExt;
    at_each_level(|world| {
        fs::create_dir_all(world.path("w/a")).unwrap();
        fs::create_dir_all(world.path("w/b")).unwrap();
        world.write("w/b/.mcp.json", "mine");
        std::thread::sleep(std::time::Duration::from_millis(100));
        let script = "echo evil > a/.mcp.json; touch ready; sleep 20";
        let mut command = world.contained_command_with(&[("--nested", ".mcp.json".into())], script);
        let mut child = command.process_group(0).spawn().unwrap();
        let begun = std::time::Instant::now();
        while !world.path("w/ready").exists() {
            assert!(begun.elapsed() < std::time::Duration::from_secs(20));
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        world.outside("", &format!("/bin/kill -KILL -- -{}", child.id()));
        child.wait().unwrap();
        assert!(world.path("w/a/.mcp.json").exists(), "the control: {}", world.level);
        let done = nested(world, "test ! -e a/.mcp.json").ok();
        assert!(done.report.contains("a/.mcp.json may not be created"), "{}: {done:?}", world.level);
        assert_eq!(fs::read_to_string(world.path("w/b/.mcp.json")).unwrap(), "mine", "{}", world.level);
    });
}

#[test]
fn pins_are_as_before_also_where_a_host_kills_the_whole_group() {
    use std::os::unix::process::CommandExt;
    use std::time::{Duration, Instant};
    at_each_level(|world| {
        prepare(world);
        for script in ["touch ready; sleep 20", "(setsid sleep 3 > /dev/null 2>&1 &); touch ready; sleep 20"]
        {
            let script = format!("echo evil > .agent/settings.json; rm -f .husky/_/hook; {script}");
            let pins = PINS.iter().map(|pin| ("--pin", world.path("w").join(pin).into())).collect::<Vec<_>>();
            let mut child = world.contained_command_with(&pins, &script).process_group(0).spawn().unwrap();
            let begun = Instant::now();
            while !world.path("w/ready").exists() {
                assert!(begun.elapsed() < Duration::from_secs(20));
                std::thread::sleep(Duration::from_millis(5));
            }
            world.outside("", &format!("/bin/kill -KILL -- -{}", child.id()));
            child.wait().unwrap();
            let killed = Instant::now();
            let is_back = || {
                let has =
                    |path, expected| fs::read_to_string(world.path(path)).is_ok_and(|text| text == expected);
                has("w/.agent/settings.json", "settings") && has("w/.husky/_/hook", "hook")
            };
            while !is_back() && killed.elapsed() < Duration::from_secs(5) {
                std::thread::sleep(Duration::from_millis(5));
            }
            is_as_before(world, &script);
            fs::remove_file(world.path("w/ready")).unwrap();
        }
    });
}

#[test]
fn a_directory_that_is_closed_hides_nothing() {
    const HIDDEN: [&str; 4] =
        [".mcp.json", ".tool/config", "sub/.agent/settings.json", "sub/deep/.agent/settings.json"];
    for level in levels() {
        for scripts in [
            &["chmod 311 .", "echo evil > .mcp.json", "chmod 755 ."][..],
            &["echo evil > .mcp.json; chmod 111 ."],
            &["mkdir -p .mcp.json/below; chmod 000 .mcp.json"],
            &["mkdir .tool; chmod 000 .tool", "chmod 700 .tool; echo evil > .tool/config; chmod 000 .tool"],
            &[
                "mkdir sub/.agent; echo evil > sub/.agent/settings.json; chmod 311 sub",
                "true",
                "chmod 755 sub",
            ],
            &["mkdir sub/deep/.agent; echo evil > sub/deep/.agent/settings.json; chmod 000 sub", "true"],
        ] {
            let person = Person::new(level);
            person.contained(&[], "true");
            for script in scripts {
                let pins = [".mcp.json", ".tool/config"].map(|pin| person.worktree.join(pin));
                let pins = pins.iter().flat_map(|pin| [OsStr::new("--pin"), pin.as_os_str()]);
                let nested = ["--nested", ".agent/settings.json"].map(OsStr::new);
                person.contained(&pins.chain(nested).collect::<Vec<_>>(), script);
            }
            for hidden in HIDDEN {
                let found = fs::symlink_metadata(person.worktree.join(hidden));
                assert!(found.is_err(), "{level}: {scripts:?}: {hidden}");
            }
        }
    }
}

/// Somebody whom modes stop, which they do not do to root.
struct Person {
    _scratch: tempfile::TempDir,
    worktree: PathBuf,
    private: PathBuf,
    level: &'static str,
    id: Option<u32>,
}

impl Person {
    fn new(level: &'static str) -> Person {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().canonicalize().unwrap();
        let (worktree, private) = (top.join("w"), top.join("private"));
        fs::create_dir_all(worktree.join("sub/deep")).unwrap();
        fs::create_dir(&private).unwrap();
        // Where it was built, others may not be let in.
        copy_program(&contain(), &top.join("contain"));
        let id = (fs::metadata(&top).unwrap().uid() == 0).then_some(61_300);
        for place in [&top, &worktree, &private, &worktree.join("sub"), &worktree.join("sub/deep")] {
            if id.is_some() {
                chown(place, id, id).unwrap();
            }
        }
        Person { _scratch: scratch, worktree, private, level, id }
    }

    fn contained(&self, options: &[&OsStr], script: &str) {
        let program = self.private.with_file_name("contain");
        let mut command = User { other: self.id, word: "user" }.command(program);
        command.args(options).arg(self.level).args([&self.worktree, &self.private]);
        let output = command.args(["/bin/sh", "-c", script]).current_dir("/").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code().is_some_and(|code| code < 125), "{}: {script}: {said}", self.level);
    }
}
