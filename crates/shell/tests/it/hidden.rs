//! Commands in every place where bash may run one: what bash ran is in the tree, or the tree says that it is not all.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{probes, seen};

/// Whether bash really runs HIDDEN.
fn bash_runs(probe: &str, top: &Path, number: usize) -> bool {
    let scratch = top.join(number.to_string());
    fs::create_dir(&scratch).unwrap();
    let mark = top.join(format!("{number}.ran"));
    let path = format!("{}:/usr/bin:/bin", top.join("bin").display());
    let status = Command::new("timeout")
        .args(["5", "bash", "-c", "--", probe])
        .current_dir(&scratch)
        .env("PATH", path)
        .env("MARK", &mark)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_ne!(status.code(), Some(124), "hangs: {probe}");
    // What runs in the background may come a moment later.
    for _ in 0..4 {
        if mark.exists() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    mark.exists()
}

#[test]
fn commands_that_bash_runs_are_in_the_tree_or_refused() {
    let top = std::env::temp_dir().join(format!("toolgate-hidden-{}", std::process::id()));
    fs::create_dir_all(top.join("bin")).unwrap();
    let hidden = top.join("bin/HIDDEN");
    fs::write(&hidden, "#!/bin/sh\n: > \"$MARK\"\n").unwrap();
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o755)).unwrap();

    let probes = probes();
    let (mut ran, mut built_ran, mut refused, mut missed) = (0, 0, Vec::new(), Vec::new());
    for (number, (probe, built)) in probes.iter().enumerate() {
        let runs = bash_runs(probe, &top, number);
        let tree = seen(probe);
        let shown = tree.names.iter().any(|name| name == "HIDDEN");
        ran += usize::from(runs && !built);
        built_ran += usize::from(runs && *built);
        if runs && !built && !shown {
            if tree.error { refused.push(probe) } else { missed.push(probe) }
        }
    }
    fs::remove_dir_all(&top).unwrap();
    println!("{} probes: bash runs {ran}, and {built_ran} that are built by expansion", probes.len());
    println!("refused: {} {refused:#?}", refused.len());
    assert!(missed.is_empty(), "bash ran what the tree does not show: {missed:#?}");
    assert!(ran > 250, "too few probes ran: {ran}");
    assert!(refused.len() <= 45, "too many are refused");
}
