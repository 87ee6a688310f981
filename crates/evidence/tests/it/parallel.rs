//! Many writers at once lose nothing, mix nothing and leave no gap.

use std::collections::BTreeSet;
use std::thread;

use toolgate_evidence::{Ledger, verify};

use crate::child;
use crate::support::{assert_whole, draft, names, soon};

#[test]
fn sixteen_threads_append_every_record_in_order() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    thread::scope(|scope| {
        for writer in 0..16 {
            scope.spawn(move || {
                let ledger = Ledger::at(dir).full_at(32 * 1024);
                for index in 0..50 {
                    ledger.append(draft(&format!("{writer}-{index}")), soon()).unwrap();
                }
            });
        }
        // Readers do not disturb, and never see half a line.
        scope.spawn(|| {
            for _ in 0..20 {
                let report = verify(dir).unwrap();
                assert_eq!(report.problem, None);
            }
        });
    });
    let report = assert_whole(dir, 16 * 50);
    assert!(report.segments > 1, "{report:?}");
    let found = names(dir);
    for writer in 0..16 {
        let prefix = format!("{writer}-");
        let own: Vec<_> = found.iter().filter(|name| name.starts_with(&prefix)).collect();
        let wanted: Vec<_> = (0..50).map(|index| format!("{writer}-{index}")).collect();
        assert!(own.into_iter().eq(&wanted), "each writer's records, in its order");
    }
}

#[test]
fn eight_processes_append_every_record_once() {
    let temp = tempfile::tempdir().unwrap();
    let children: Vec<_> = (0..8)
        .map(|_| child::command("child::appends", temp.path(), 250, "exec \"$@\"").spawn().unwrap())
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let report = assert_whole(temp.path(), 8 * 250);
    assert!(report.segments > 1, "{report:?}");
    let different: BTreeSet<_> = names(temp.path()).into_iter().collect();
    assert_eq!(different.len(), 8 * 250);
}
