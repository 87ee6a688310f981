//! Kernels that know less of Landlock: the rules are made as for them. What they cannot hold is said, and the rest holds.

use std::fs;

use toolgate_sandbox::{Kernel, Missing};

use crate::world::at_each_level;

/// A version of the interface, whether it keeps signals inside, and what is missing.
const KERNELS: [(u8, bool, &[Missing]); 5] = [
    (1, false, &[Missing::Renames, Missing::Signals, Missing::Devices]),
    (2, false, &[Missing::Signals, Missing::Devices]),
    (3, false, &[Missing::Signals, Missing::Devices]),
    (5, false, &[Missing::Signals]),
    (6, true, &[]),
];

#[test]
fn an_old_kernel_says_what_it_cannot_hold_and_holds_the_rest() {
    let here = Kernel::probe();
    for (landlock, scopes, missing) in KERNELS {
        assert_eq!(Kernel { landlock, scopes }.missing(), missing, "Landlock {landlock}");
        if landlock > here.landlock {
            eprintln!("skipped: this kernel has Landlock {}", here.landlock);
            continue;
        }
        at_each_level(|world| {
            world.write("closed", "closed");
            world.write("read", "read");
            fs::create_dir(world.path("w/a")).unwrap();
            fs::create_dir(world.path("w/b")).unwrap();
            let options = [
                ("--landlock", landlock.to_string().into()),
                ("--read", world.path("read").into_os_string()),
            ];
            let script = "cat $TOP/closed; echo x > $TOP/made; echo x >> $TOP/read; \
                          perl -e 'truncate($ENV{TOP}.\"/read\", 0)'; ln -s x a/l; \
                          cat $TOP/read; echo x > a/new && echo written";
            let done = world.with_options(
                &options,
                &format!("{{ {script}; }} 2>/dev/null; mv a/new b/new 2>/dev/null; true"),
            );
            assert_eq!(
                (done.code, done.output.as_str()),
                (0, "readwritten\n"),
                "Landlock {landlock}, {}",
                world.level
            );
            let read = |path: &str| fs::read_to_string(world.path(path)).unwrap_or_default();
            assert_eq!(read("read"), "read", "Landlock {landlock}, {}", world.level);
            assert!(!world.path("made").exists(), "Landlock {landlock}, {}", world.level);
            // Where a file cannot be renamed into another directory, programs copy it.
            assert!(
                world.path("w/b/new").exists() && !world.path("w/a/new").exists(),
                "Landlock {landlock}, {}",
                world.level
            );
        });
    }
}

#[test]
fn a_kernel_without_landlock_runs_nothing() {
    at_each_level(|world| {
        let done = world.with_options(&[("--landlock", "0".into())], "echo ran");
        assert_eq!(done.code, 125, "{}", done.output);
        assert!(done.output.contains("no Landlock") && !done.output.contains("ran\n"), "{}", done.output);
    });
}

#[test]
fn a_container_that_gives_no_view_is_told_from_a_failure() {
    let bubblewrap = std::path::Path::new("/usr/bin/bwrap");
    if !bubblewrap.exists() {
        eprintln!("skipped: there is no bubblewrap here");
        return;
    }
    at_each_level(|world| {
        let inner = world.contained_command("echo ran");
        let mut outer = std::process::Command::new(bubblewrap);
        // A `/proc` that is covered in parts, as containers have it.
        outer.args([
            "--unshare-user",
            "--unshare-pid",
            "--bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
        ]);
        outer
            .args(["--ro-bind", "/dev/null", "/proc/version", "--"])
            .arg(inner.get_program())
            .args(inner.get_args());
        let variables = inner.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let output = outer.env_clear().envs(variables).output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        // Whoever asks for the best there is then takes the other level.
        let expected = if world.level == "full" { "make namespaces" } else { "ran" };
        assert!(said.contains(expected), "{}: {said}", world.level);
    });
}
