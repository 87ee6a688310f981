//! What a command may use up, and what is said when it has.

use std::fs;
use std::time::{Duration, Instant};

use crate::world::at_each_level;

#[test]
fn a_command_that_writes_too_much_is_ended() {
    at_each_level(|world| {
        fs::write(world.path("w/large"), vec![1; 30 << 20]).unwrap();
        let limit = ["--disk", "20000000"];
        // What was there before does not count, and what is under the limit does no harm.
        let done = world
            .with_limits(&limit, "head -c 5000000 /dev/zero > small; sleep 0.5; cat large > /dev/null")
            .ok();
        assert!(!done.report.contains("ended by"), "{done:?}");
        // What has lost its name takes up room all the same.
        let nameless = |keep: &str| {
            format!(
                "python3 -c 'import mmap, os, time
held = []
for n in range(100):
    file = os.open(\"part-x\", os.O_CREAT | os.O_RDWR)
    os.unlink(\"part-x\")
    os.write(file, os.urandom(4000000))
    {keep}
    time.sleep(0.02)
print(\"late\", flush=True)'"
            )
        };
        let open = nameless("held.append(file)");
        let mapped = nameless("held.append(mmap.mmap(file, 4000000)); os.close(file)");
        for script in [
            open.as_str(),
            mapped.as_str(),
            "cd $(git rev-parse --git-dir); for n in $(seq 100); do head -c 4000000 /dev/urandom > part-$n; sleep 0.02; done; echo late",
            "for n in $(seq 100); do head -c 4000000 /dev/urandom > part-$n; sleep 0.02; done; echo late",
            "for n in $(seq 100); do head -c 4000000 /dev/urandom > $TMPDIR/part-$n; sleep 0.02; done; echo late",
        ] {
            let done = world.with_limits(&limit, script);
            assert!(done.report.contains("ended by: Disk"), "{}: {script}: {done:?}", world.level);
            assert!(!done.output.contains("late"), "{done:?}");
            let parts = || fs::read_dir(world.path("w")).unwrap().flatten();
            parts().filter(|entry| entry.file_name().to_string_lossy().starts_with("part")).for_each(
                |entry| {
                    fs::remove_file(entry.path()).unwrap();
                },
            );
            let _ = fs::remove_dir_all(world.path("private-w/tmp"));
        }
        // One file is never larger than all of them.
        let done = world.with_limits(&limit, "head -c 30000000 /dev/zero > one; stat -c %s one");
        assert!(
            done.output.contains("20000000") || done.report.contains("ended by: Disk"),
            "{}: {done:?}",
            world.level
        );
    });
}

/// Shared memory is no disk. It takes the machine's memory, whatever a process may map.
#[test]
fn shared_memory_is_no_way_around_a_limit() {
    at_each_level(|world| {
        let script = "for n in $(seq 10); do head -c 4000000 /dev/zero > /dev/shm/$n; done 2> /dev/null; du -sb /dev/shm | cut -f1";
        let used = |limits: &[&str]| world.with_limits(limits, script).output.trim().parse::<u64>().ok();
        if world.level == "full" {
            assert!(used(&[]).is_some_and(|used| used > 39_000_000));
            for limit in [["--disk", "20000000"], ["--memory", "20000000"]] {
                let used = used(&limit);
                assert!(used.is_some_and(|used| used < 21_000_000), "{limit:?}: {used:?}");
            }
        } else {
            // There is none.
            let done = world.with_limits(&[], "echo > /dev/shm/x && echo written");
            assert!(!done.output.contains("written"), "{done:?}");
        }
    });
}

#[test]
fn a_command_that_runs_too_long_is_ended() {
    at_each_level(|world| {
        let begun = Instant::now();
        let done = world.with_limits(&["--seconds", "1"], "sleep 30; echo late");
        assert!(done.report.contains("ended by: WallTime"), "{}: {done:?}", world.level);
        assert!(begun.elapsed() < Duration::from_secs(20) && !done.output.contains("late"));
        let done = world.with_limits(&["--seconds", "60"], "echo early").ok();
        assert!(!done.report.contains("ended by"), "{done:?}");
    });
}

#[test]
fn a_command_with_too_many_processes_is_ended_or_gets_no_more() {
    at_each_level(|world| {
        let is_root = rustix::process::geteuid().is_root();
        // A length that no test beside this one sleeps.
        let sleep = format!("sleep 6.{}", std::process::id());
        // Each starts two others, and none is quicker than its end.
        let tree = "tree() { [ $1 = 0 ] || { tree $(($1 - 1)) & tree $(($1 - 1)) & }; sleep 6.5; }; tree 7; echo late";
        let threads = "python3 -c 'import threading, time
for n in range(60): threading.Thread(target=time.sleep, args=(8,)).start()
time.sleep(1.5); print(\"late\", flush=True)'";
        let wide = "for n in $(seq 60); do sleep 6.5 & done; sleep 1.5; echo late";
        for script in [wide, tree, threads].map(|script| script.replace("sleep 6.5", &sleep)) {
            let script = script.as_str();
            let begun = Instant::now();
            let done = world.with_limits(&["--processes", "40"], script);
            let is_ended = done.report.contains("ended by: Processes") && !done.output.contains("late");
            // All others are refused by the kernel itself; at level `landlock` those that the user has elsewhere count too.
            let is_refused = ["fork", "start new thread", "temporarily unavailable"]
                .map(|said| done.output.contains(said));
            let is_kept = if is_root { is_ended } else { is_refused.contains(&true) || done.code == 125 };
            assert!(is_kept, "{}: {script}: {done:?}", world.level);
            assert!(begun.elapsed() < Duration::from_secs(25), "{}: {script}", world.level);
            assert!(
                !is_root || !world.try_outside("", &format!("pgrep -xf '{sleep}'")).status.success(),
                "{script}"
            );
        }
        // As many as that do no harm.
        if is_root {
            let few = "for n in $(seq 30); do sleep 1 & done; wait; echo done";
            let done = world.with_limits(&["--processes", "40"], few).ok();
            assert!(done.output == "done\n" && !done.report.contains("ended by"), "{done:?}");
        }
    });
}
