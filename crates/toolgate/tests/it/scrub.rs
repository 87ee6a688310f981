//! `toolgate scrub`, from outside: what goes in comes out, but for secrets.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::support::{Machine, SECRET, write};

const MARK: &str = "[GITHUB_TOKEN REDACTED]";

/// Bytes in, bytes out.
fn scrub(machine: &Machine, args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = machine.toolgate().arg("scrub").args(args).spawn();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = thread::spawn(move || stdin.write_all(&input).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn a_secret_is_replaced_by_a_mark_and_the_rest_is_unchanged() {
    let machine = Machine::new();
    let answer = machine.toolgate().args(["scrub", "--count"]).run(format!("a {SECRET} b\n{SECRET}\nc"));
    assert_eq!(answer.stdout, format!("a {MARK} b\n{MARK}\nc"));
    assert_eq!(answer.stderr, "2 redactions\n");
    let answer = machine.toolgate().args(["scrub", "--marks", "compat"]).run(format!("{SECRET}\n"));
    assert_eq!((answer.stdout.as_str(), answer.stderr.as_str()), ("[REDACTED:GITHUB_TOKEN]\n", ""));
}

#[test]
fn bytes_that_are_not_text_pass_unchanged() {
    let machine = Machine::new();
    let every: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    assert_eq!(scrub(&machine, &[], &every), every);
    assert_eq!(scrub(&machine, &[], b""), b"");
    assert_eq!(
        scrub(&machine, &["--core", "--no-entropy", "--emails", "none"], b"\xff\0\xc3"),
        b"\xff\0\xc3"
    );
}

#[test]
fn a_secret_across_a_buffer_boundary_is_found() {
    let machine = Machine::new();
    for before in (65_536 - 41..=65_536 + 1).step_by(7) {
        let text = format!("{}\n{SECRET}\n", "x".repeat(before));
        let clean = String::from_utf8(scrub(&machine, &[], text.as_bytes())).unwrap();
        assert_eq!(clean, format!("{}\n{MARK}\n", "x".repeat(before)));
    }
}

#[test]
fn user_settings_apply_unless_an_argument_overrides_them() {
    let machine = Machine::new();
    write(&machine.user_settings(), "[redaction]\nmarks = \"compat\"\n");
    let scrub = |args: &[&str]| machine.toolgate().arg("scrub").args(args).run(SECRET).stdout;
    assert_eq!(scrub(&[]), "[REDACTED:GITHUB_TOKEN]");
    assert_eq!(scrub(&["--marks", "plain"]), MARK);
    write(&machine.user_settings(), "[redaction]\nmarks = \"same\"\n");
    assert_eq!(scrub(&[]), MARK, "without a session nothing is the same");
    let (one, again, other) =
        (scrub(&["--session", "a"]), scrub(&["--session", "a"]), scrub(&["--session", "b"]));
    assert!(one.starts_with(&format!("{MARK}#")), "{one}");
    assert_eq!(one, again);
    assert_ne!(one, other);
}

#[test]
fn broken_settings_never_let_a_secret_through() {
    let machine = Machine::new();
    write(&machine.user_settings(), "[redaction]\nsecrets = \"none\"\n");
    let answer = machine.toolgate().arg("scrub").run(SECRET);
    assert_eq!((answer.stdout.as_str(), answer.code()), (MARK, Some(0)));
    assert!(answer.stderr.contains("toolgate.toml:2"), "{}", answer.stderr);
    let answer = machine.toolgate().arg("scrub").without_env("HOME").run(SECRET);
    assert_eq!((answer.stdout.as_str(), answer.code()), (MARK, Some(0)));
    assert!(answer.stderr.contains("HOME"), "{}", answer.stderr);
}

#[test]
fn a_stdin_that_cannot_be_read_is_an_error() {
    let machine = Machine::new();
    let directory = fs::File::open(machine.home()).unwrap();
    let output = machine.toolgate().arg("scrub").command().stdin(directory).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("toolgate: stdin: "));
}

#[test]
fn a_closed_stdout_ends_scrub_without_a_message() {
    let machine = Machine::new();
    let mut child = machine.toolgate().arg("scrub").spawn();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    let lines = "nothing to see\n".repeat(1 << 16);
    let _ = (0..16).try_for_each(|_| stdin.write_all(lines.as_bytes()));
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(141), &b""[..]));
}

/// The first lines come while the producer still works.
#[test]
fn lines_are_printed_before_the_input_ends() {
    let machine = Machine::new();
    let mut child = machine.toolgate().arg("scrub").spawn();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (told, first) = mpsc::channel();
    let reader = thread::spawn(move || {
        told.send(lines.next().unwrap().unwrap()).unwrap();
        lines.count()
    });
    // Far more than any secret is long.
    stdin.write_all("a line\n".repeat(1 << 16).as_bytes()).unwrap();
    assert_eq!(first.recv_timeout(Duration::from_secs(10)).as_deref(), Ok("a line"));
    drop(stdin);
    assert_eq!(reader.join().unwrap(), (1 << 16) - 1);
    assert!(child.wait().unwrap().success());
}

/// 200 MB: zeros, lines with secrets, one endless line.
#[test]
fn memory_does_not_grow_with_the_input() {
    const SIZE: usize = 200 * 1024 * 1024;
    let machine = Machine::new();
    let line = format!("2024-01-01 request served token={SECRET} in 12 ms\n");
    for piece in [vec![0; 1 << 16], line.repeat(1000).into_bytes(), vec![b'a'; 1 << 16]] {
        let mut child = Command::new("sh")
            .args(["-c", "ulimit -v 100000; exec \"$0\" scrub", env!("CARGO_BIN_EXE_toolgate")])
            .env_clear()
            .env("HOME", machine.home())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let times = SIZE / piece.len();
        let wanted = String::from_utf8_lossy(&piece).replace(SECRET, MARK).len() * times;
        let writer = thread::spawn(move || (0..times).all(|_| stdin.write_all(&piece).is_ok()));
        let mut stdout = child.stdout.take().unwrap();
        let (mut length, mut buffer) = (0, vec![0; 1 << 16]);
        loop {
            let read = stdout.read(&mut buffer).unwrap();
            if read == 0 {
                break;
            }
            length += read;
            assert!(!buffer[..read].windows(SECRET.len()).any(|part| part == SECRET.as_bytes()));
        }
        assert!(child.wait().unwrap().success());
        assert!(writer.join().unwrap());
        assert_eq!(length, wanted);
    }
}
