//! Quotas hold for threads and processes at once, to the byte and to the file; a full disk leaves what was there.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::support::child::{child, dir};
use crate::support::namespace::{MAY_MOUNT, may_mount};
use crate::support::{base, base_in, declaration, place};
use toolgate_workspace::{Declaration, Durability, Error, Limit, Quota, Workspace};

const PLAINLY: &str = r#"exec "$@""#;
/// Those who write at once, of each kind.
const CROWD: usize = 3;

fn limited(bytes: Option<u64>, files: Option<u64>) -> Declaration {
    Declaration { temp: true, quota: Quota { bytes, files }, ..declaration(&["./"], &["./"]) }
}

/// How many bytes and files there are. Nobody may take any away meanwhile.
fn used(directory: &Path) -> (u64, u64) {
    let (mut bytes, mut files) = (0, 0);
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name().to_str().unwrap().starts_with(".toolgate-") {
            continue;
        }
        let (more, others) = if entry.file_type().unwrap().is_dir() {
            used(&entry.path())
        } else {
            (entry.metadata().unwrap().len(), 1)
        };
        bytes += more;
        files += others;
    }
    (bytes, files)
}

/// Writes new files of a hundred bytes each until there is no room for one more.
fn fill(workspace: &Workspace, name: &str) {
    for number in 0.. {
        let directory = if number % 2 == 0 { "out" } else { "temp" };
        match workspace.write(&format!("{directory}/{name}/{number}"), &[b'x'; 100]) {
            Ok(()) => {}
            Err(Error::QuotaExceeded { .. }) => return,
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[test]
#[ignore = "run by other tests"]
fn fills() {
    let Some(top) = dir() else { return };
    fill(&base_in(&top).find("one").unwrap(), &format!("process-{}", std::process::id()));
}

/// A harness that finds no such test succeeds too.
fn assert_ran(child: &Output) {
    let ran = String::from_utf8_lossy(&child.stdout).contains("test result: ok. 1 passed");
    assert!(child.status.success() && ran, "{child:?}");
}

/// Threads with one workspace, threads with one each and processes fill it at once, while somebody looks on.
fn filled_by_a_crowd(bytes: Option<u64>, files: Option<u64>) -> (u64, u64) {
    let (top, base) = base();
    let shared = base.create("one", limited(bytes, files)).unwrap();
    let mut start = child("quota::fills", top.path(), PLAINLY);
    let children: Vec<_> = (0..CROWD).map(|_| start.stdout(Stdio::piped()).spawn().unwrap()).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let (now_bytes, now_files) = used(shared.path());
                assert!(bytes.is_none_or(|most| now_bytes <= most), "{now_bytes} bytes");
                assert!(files.is_none_or(|most| now_files <= most), "{now_files} files");
            }
        });
        let (shared, base) = (&shared, &base);
        let threads: Vec<_> = (0..CROWD)
            .flat_map(|number| {
                [
                    scope.spawn(move || fill(shared, &format!("shared-{number}"))),
                    scope.spawn(move || fill(&base.find("one").unwrap(), &format!("own-{number}"))),
                ]
            })
            .collect();
        let filled: Vec<_> = threads.into_iter().map(thread::ScopedJoinHandle::join).collect();
        let ended: Vec<_> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        done.store(true, Ordering::Relaxed);
        assert!(filled.iter().all(Result::is_ok));
        ended.iter().for_each(assert_ran);
    });
    used(shared.path())
}

#[test]
fn concurrent_writers_fill_a_quota_to_the_byte() {
    assert_eq!(filled_by_a_crowd(Some(100_099), None), (100_000, 1000));
}

#[test]
fn concurrent_writers_fill_a_quota_to_the_file() {
    assert_eq!(filled_by_a_crowd(None, Some(777)), (77_700, 777));
}

/// Writes the same few files over and over, larger and smaller.
fn shuffle(workspace: &Workspace, seed: usize) {
    for round in 0..300 {
        let path = format!("out/{}", (round * 7 + seed) % 6);
        match workspace.write(&path, &vec![b'x'; (round * 37 + seed * 11) % 400]) {
            Ok(()) | Err(Error::QuotaExceeded { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[test]
#[ignore = "run by other tests"]
fn shuffles() {
    let Some(top) = dir() else { return };
    shuffle(&base_in(&top).find("one").unwrap(), usize::try_from(std::process::id()).unwrap());
}

#[test]
fn an_overwritten_file_is_counted_once() {
    let (top, base) = base();
    let workspace = base.create("one", limited(Some(1000), Some(5))).unwrap();
    let mut start = child("quota::shuffles", top.path(), PLAINLY);
    let children: Vec<_> = (0..CROWD).map(|_| start.stdout(Stdio::piped()).spawn().unwrap()).collect();
    thread::scope(|scope| {
        for seed in 0..CROWD {
            let (workspace, base) = (&workspace, &base);
            scope.spawn(move || shuffle(workspace, seed));
            scope.spawn(move || shuffle(&base.find("one").unwrap(), seed + CROWD));
        }
    });
    for child in children {
        assert_ran(&child.wait_with_output().unwrap());
    }
    let (bytes, files) = used(workspace.path());
    assert!(bytes <= 1000 && files <= 5, "{bytes} {files}");
    // What is left, and not a byte more, in the place of a file that is there.
    let there = fs::read_dir(workspace.path().join("out")).unwrap().next().unwrap().unwrap();
    let path = format!("out/{}", there.file_name().to_str().unwrap());
    let left = usize::try_from(1000 - bytes + there.metadata().unwrap().len()).unwrap();
    let error = workspace.write(&path, &vec![b'y'; left + 1]).unwrap_err();
    assert!(matches!(error, Error::QuotaExceeded { limit: Limit::Bytes(1000), .. }), "{error:?}");
    workspace.write(&path, &vec![b'y'; left]).unwrap();
    assert_eq!(used(workspace.path()).0, 1000);
}

#[test]
fn overwriting_frees_quota_and_a_refusal_keeps_the_old_content() {
    let (_top, base) = base();
    let workspace = base.create("one", limited(Some(100), Some(2))).unwrap();
    workspace.write("a", &[b'a'; 60]).unwrap();
    workspace.write("b", &[b'b'; 40]).unwrap();
    let over = workspace.write("a", &[b'x'; 61]).unwrap_err();
    assert!(matches!(&over, Error::QuotaExceeded { path, limit: Limit::Bytes(100) } if path == "a"));
    assert!(over.to_string().contains("100 bytes"), "{over}");
    assert_eq!(workspace.read("a").unwrap(), [b'a'; 60]);
    workspace.write("a", &[b'x'; 10]).unwrap();
    workspace.write("b", &[b'y'; 90]).unwrap();
    assert!(matches!(workspace.write("c", b""), Err(Error::QuotaExceeded { limit: Limit::Files(2), .. })));
    // What somebody else has taken away is not held against the agent.
    fs::remove_file(workspace.path().join("b")).unwrap();
    workspace.write("c", &[b'z'; 90]).unwrap();
    assert_eq!(used(workspace.path()), (100, 2));
}

/// Gives bytes for ever, and counts them.
struct Endless(u64);

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        into.fill(b'x');
        self.0 += into.len() as u64;
        Ok(into.len())
    }
}

#[test]
fn a_stream_is_not_read_past_the_quota() {
    let (_top, base) = base();
    let workspace = base.create("one", limited(Some(50_000), None)).unwrap();
    workspace.write("a", b"old").unwrap();
    let mut endless = Endless(0);
    let error = workspace.output("a").unwrap().write_from(&mut endless, Durability::Process).unwrap_err();
    assert!(matches!(error, Error::QuotaExceeded { limit: Limit::Bytes(50_000), .. }), "{error:?}");
    assert_eq!(endless.0, 50_001, "one byte more than may be there is enough to know");
    assert_eq!(workspace.read("a").unwrap(), b"old");
}

/// Writing something large fails with this error, and leaves the old content and no other file.
fn assert_keeps_the_old(workspace: &Workspace, kind: ErrorKind, text: &str) {
    let before = used(workspace.path());
    let large = vec![b'x'; 600_000];
    let output = workspace.output("out/a").unwrap();
    for durability in [Durability::Process, Durability::Machine] {
        for written in [
            output.write(&large, durability),
            output.write_from(&mut &large[..], durability).map(drop),
            workspace.write("out/new", &large),
        ] {
            let error = written.unwrap_err();
            assert!(matches!(&error, Error::Io { source, .. } if source.kind() == kind), "{error:?}");
            assert!(error.to_string().contains(text), "{error}");
        }
    }
    assert_eq!(workspace.read("out/a").unwrap(), b"old");
    assert_eq!(used(workspace.path()), before);
    let left: Vec<_> = fs::read_dir(workspace.path().join("out")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_full_disk_leaves_the_old_content() {
    if !may_mount("a full disk; a limit of the files' size stands in for it") {
        return;
    }
    let top = place();
    let ran = child("quota::full_disk", top.path(), MAY_MOUNT).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    assert!(top.path().join("done").exists(), "{ran:?}");
}

#[test]
#[ignore = "run by other tests"]
fn full_disk() {
    let Some(top) = dir() else { return };
    let disk = top.join("disk");
    fs::create_dir(&disk).unwrap();
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "none"]).arg(&disk).status();
    assert!(mount.unwrap().success());
    let base = base_in(&disk);
    let free = base.create("free", declaration(&["out/"], &["out/"])).unwrap();
    let metered = Declaration {
        quota: Quota { bytes: Some(700_000), files: Some(2) },
        ..declaration(&["m/", "out/"], &["m/"])
    };
    let metered = base.create("metered", metered).unwrap();
    free.write("out/a", b"old").unwrap();
    metered.write("m/a", b"old").unwrap();
    let mut filler = File::create(disk.join("filler")).unwrap();
    let full = loop {
        if let Err(error) = filler.write_all(&[0; 4096]) {
            break error;
        }
    };
    assert_eq!(full.kind(), ErrorKind::StorageFull);
    assert_keeps_the_old(&free, ErrorKind::StorageFull, "No space left on device");
    for length in [1, 600_000] {
        let error = metered.write("m/a", &vec![b'x'; length]).unwrap_err();
        assert!(error.to_string().contains("No space left on device"), "{error}");
        let mut found = Vec::new();
        File::open(metered.path().join("m/a")).unwrap().read_to_end(&mut found).unwrap();
        assert_eq!(found, b"old");
    }
    // With room again, it goes on, and has counted right.
    fs::remove_file(disk.join("filler")).unwrap();
    drop(filler);
    free.write("out/a", b"new").unwrap();
    metered.write("m/b", &vec![b'x'; 700_000 - 3]).unwrap();
    assert!(matches!(metered.write("m/a", b"more"), Err(Error::QuotaExceeded { .. })));
    fs::write(top.join("done"), "").unwrap();
}

#[test]
fn a_write_past_the_file_size_limit_leaves_the_old_content() {
    let top = place();
    let limit = r#"trap "" XFSZ; ulimit -f 100; exec "$@""#;
    let ran = child("quota::short_files", top.path(), limit).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    assert!(top.path().join("done").exists(), "{ran:?}");
}

#[test]
#[ignore = "run by other tests"]
fn short_files() {
    let Some(top) = dir() else { return };
    for (number, quota) in
        [Quota::default(), Quota { bytes: Some(1 << 20), files: Some(10) }].iter().enumerate()
    {
        let beside = top.join(number.to_string());
        fs::create_dir(&beside).unwrap();
        let base = base_in(&beside);
        let declared = Declaration { quota: *quota, ..declaration(&["out/"], &["out/"]) };
        let workspace = base.create("one", declared).unwrap();
        workspace.write("out/a", b"old").unwrap();
        assert_keeps_the_old(&workspace, ErrorKind::FileTooLarge, "File too large");
        workspace.write("out/a", b"new").unwrap();
    }
    fs::write(top.join("done"), "").unwrap();
}
