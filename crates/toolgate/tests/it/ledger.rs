//! The log as a proof: sealed without a word from anybody, verified by us and by others, searched, taken elsewhere and shortened.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use crate::support::terminal::at_terminal;
use crate::support::{Answer, Machine, have, skipped};

fn ledger(machine: &Machine, args: &[&str]) -> Answer {
    machine.toolgate().arg("ledger").args(args).run("")
}

/// A machine with this many calls in its log.
fn recorded(calls: usize) -> Machine {
    let machine = Machine::new();
    for number in 0..calls {
        let session = machine.session(&format!("s{number}"), &machine.home());
        assert_eq!(session.read("/etc/hostname"), "nothing");
    }
    machine
}

fn due(machine: &Machine) -> std::path::PathBuf {
    machine.state().join("tlog/due")
}

/// Makes the last seal so old.
fn age(machine: &Machine, seconds: u64) {
    let file = fs::OpenOptions::new().write(true).open(due(machine)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
}

/// Waits for something that a process of its own does.
fn eventually(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn on_terminal(machine: &Machine, args: &str) -> Answer {
    let command = format!("exec '{}' {args}", env!("CARGO_BIN_EXE_toolgate"));
    at_terminal(&machine.toolgate().instead(&["sh", "-c", &command]), "yes\n")
}

#[test]
fn verify_says_each_part_and_ends_with_its_own_codes() {
    let machine = recorded(2);
    let answer = ledger(&machine, &["verify"]);
    assert_eq!(answer.code(), Some(0));
    assert_eq!(
        answer.stdout,
        "chain       2 records in 1 file, all in order\nsealed      nothing yet: `toolgate ledger seal` begins\n\
         complete    cannot tell from the log alone: toolgate reconcile\n"
    );
    let sealed = ledger(&machine, &["seal"]);
    assert_eq!(sealed.stdout, "sealed up to record 3, 3 of them new, level own, key 1\n");
    let key = ledger(&machine, &["keys"]).stdout.split_whitespace().last().unwrap().to_owned();
    let answer = ledger(&machine, &["verify", "--key", &key]);
    assert_eq!(answer.code(), Some(0), "{}", answer.stdout);
    let lines: Vec<&str> = answer.stdout.lines().collect();
    assert_eq!(
        lines[..4],
        [
            "chain       3 records in 1 file, all in order",
            "tree        3 records, as they were sealed",
            "signatures  1 checkpoint, under the key of its time",
            "keys        1; the first is the one that you gave",
        ]
    );
    assert!(lines[4].starts_with("sealed      up to record 3 of ") && lines[4].ends_with(", level own"));
    assert_eq!(lines[5], "unsealed    0 records");
    assert_eq!(lines[6..], ["complete    cannot tell from the log alone: toolgate reconcile"]);
    let report: Value = serde_json::from_str(&ledger(&machine, &["verify", "--json"]).stdout).unwrap();
    assert_eq!((&report["outcome"], &report["seal"]["size"]), (&json!("good"), &json!(3)));
    // Bad.
    let text = fs::read_to_string(machine.ledger()).unwrap();
    fs::write(machine.ledger(), text.replacen("/etc/hostname", "/etc/hostnamf", 1)).unwrap();
    let answer = ledger(&machine, &["verify"]);
    assert_eq!(answer.code(), Some(1));
    assert!(
        answer.stdout.contains("tree        broken: record 1 is not the one that was sealed: it was changed"),
        "{}",
        answer.stdout
    );
    assert_ne!(ledger(&machine, &["seal"]).code(), None);
    // Cannot tell.
    fs::remove_file(machine.ledger()).unwrap();
    fs::create_dir(machine.ledger()).unwrap();
    let answer = ledger(&machine, &["verify"]);
    assert_eq!(answer.code(), Some(2), "{answer:?}");
    assert_eq!(ledger(&machine, &["verify", "--key", "x"]).code(), Some(2));
}

/// What docs/record.md says, word by word.
#[test]
fn a_checkpoint_is_checked_by_openssl_alone() {
    if !have("openssl", &["version"]) {
        return skipped("there is no openssl");
    }
    let machine = recorded(2);
    ledger(&machine, &["seal"]);
    let document = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/record.md")).unwrap();
    let block = document.split("```").find(|block| block.contains("openssl pkeyutl")).unwrap();
    let script = block.trim_start_matches("sh\n");
    let run = |script: &str| machine.toolgate().instead(&["sh", "-euc", script]).run("");
    let answer = run(script);
    assert!(answer.stdout.contains("Signature Verified Successfully"), "{script}: {answer:?}");
    let tlog = machine.state().join("tlog");
    let checkpoint = fs::read_to_string(tlog.join("checkpoint")).unwrap();
    fs::write(tlog.join("checkpoint"), checkpoint.replacen("\n3\n", "\n4\n", 1)).unwrap();
    let answer = run(script);
    assert!(answer.code() != Some(0) && !answer.stdout.contains("Successfully"), "{answer:?}");
}

#[test]
fn one_record_is_proved_to_somebody_who_has_only_the_key() {
    let machine = recorded(5);
    ledger(&machine, &["seal"]);
    let proved = ledger(&machine, &["prove", "3", "--to", "third"]);
    assert_eq!(proved.code(), Some(0), "{proved:?}");
    let key = proved.stdout.split_whitespace().last().unwrap().to_owned();
    let elsewhere = Machine::new();
    for name in ["third", "third.tlog-proof"] {
        fs::copy(machine.home().join(name), elsewhere.home().join(name)).unwrap();
    }
    let check = |key: &str| ledger(&elsewhere, &["check-proof", "third", "--key", key]);
    let answer = check(&key);
    assert_eq!((answer.code(), answer.stdout.as_str()), (Some(0), "this is record 3 of that log\n"));
    let other = recorded(1);
    ledger(&other, &["seal"]);
    let foreign = ledger(&other, &["keys"]).stdout.split_whitespace().last().unwrap().to_owned();
    assert_eq!(check(&foreign).code(), Some(2));
    let line = fs::read_to_string(elsewhere.home().join("third")).unwrap();
    fs::write(elsewhere.home().join("third"), line.replace("allow", "deny!")).unwrap();
    assert_eq!(check(&key).code(), Some(1));
    assert_eq!(ledger(&machine, &["prove", "99"]).code(), Some(1));
}

#[test]
fn a_noted_checkpoint_finds_a_log_that_was_put_back() {
    let machine = recorded(2);
    ledger(&machine, &["seal"]);
    let copy = machine.path("copy");
    let cp = |from: &Path, to: &Path| {
        assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
    };
    cp(&machine.state(), &copy);
    machine.session("later", &machine.home()).read("/etc/hostname");
    ledger(&machine, &["seal", "--next-key"]);
    let noted = machine.path("noted");
    fs::copy(machine.state().join("tlog/checkpoint"), &noted).unwrap();
    let noted = noted.to_str().unwrap();
    assert_eq!(ledger(&machine, &["verify", "--checkpoint", noted]).code(), Some(0));
    fs::remove_dir_all(machine.state()).unwrap();
    cp(&copy, &machine.state());
    assert_eq!(ledger(&machine, &["verify"]).code(), Some(0), "by itself it cannot be seen");
    let answer = ledger(&machine, &["verify", "--checkpoint", noted]);
    assert_eq!(answer.code(), Some(1));
    assert!(answer.stdout.contains("they were there when the checkpoint was noted"), "{}", answer.stdout);
}

#[test]
fn the_hook_starts_the_sealer_after_a_minute_and_at_the_end_of_a_session() {
    let machine = recorded(1);
    let checkpoint = machine.state().join("tlog/checkpoint");
    let session = machine.session("one", &machine.home());
    session.read("/etc/hostname");
    assert!(due(&machine).is_file() && !checkpoint.exists(), "nothing is due yet");
    age(&machine, 61);
    session.read("/etc/hostname");
    eventually("the sealer was not started", || checkpoint.is_file());
    let report =
        || -> Value { serde_json::from_str(&ledger(&machine, &["verify", "--json"]).stdout).unwrap() };
    assert_eq!((&report()["seal"]["size"], &report()["seal"]["keys"]), (&json!(4), &json!(1)));
    session.read("/etc/hostname");
    session.event("SessionEnd", &json!({"reason": "other"}));
    eventually("the key did not change", || report()["seal"]["keys"] == json!(2));
    let report = report();
    assert_eq!((&report["outcome"], &report["seal"]["unsealed"]), (&json!("good"), &json!(0)), "{report}");
}

#[test]
fn the_small_hook_starts_the_whole_program_beside_it() {
    let machine = recorded(1);
    let bin = machine.dir("bin");
    fs::copy(env!("CARGO_BIN_EXE_toolgate-hook"), bin.join("toolgate")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_toolgate"), bin.join("toolgate-cli")).unwrap();
    age(&machine, 61);
    let event = crate::support::harmless(&machine.home());
    let hook = bin.join("toolgate");
    let home = machine.home();
    let words = [hook.to_str().unwrap(), "hook", "claude-code", "--home", home.to_str().unwrap()];
    assert_eq!(machine.toolgate().instead(&words).event(&event).code(), Some(0));
    eventually("the sealer was not started", || machine.state().join("tlog/checkpoint").is_file());
}

/// Sealing costs an ordinary call one look, and that after its answer.
#[test]
fn an_ordinary_call_pays_one_look_for_the_seal() {
    if !have("strace", &["-V"]) {
        return skipped("there is no strace");
    }
    let machine = recorded(2);
    let trace = machine.path("trace");
    let event = crate::support::event(
        "PreToolUse",
        "s0",
        &machine.home(),
        &json!({"tool_name": "Read", "tool_input": {"file_path": "/etc/shadow"}}),
    );
    // The first call of a session pins it.
    machine.small_hook("claude-code").event(&event);
    let hook = machine.small_hook("claude-code").under(&["strace", "-f", "-o", trace.to_str().unwrap()]);
    assert!(hook.event(&event).stdout.contains("deny"));
    let text = fs::read_to_string(&trace).unwrap();
    let calls: Vec<&str> = text.lines().collect();
    let about: Vec<usize> = (0..calls.len()).filter(|at| calls[*at].contains("tlog")).collect();
    let answered = calls.iter().position(|call| call.contains("write(1, ")).unwrap();
    assert_eq!(about.len(), 1, "{text}");
    assert!(about[0] > answered, "{text}");
    let after: Vec<_> = calls[answered + 1..]
        .iter()
        .filter(|call| !call.contains("exit") && !call.contains("munmap"))
        .collect();
    assert_eq!(after.len(), 1, "{after:?}");
}

#[test]
fn tail_shows_the_records_that_are_asked_for() {
    let machine = Machine::new();
    let (one, two) = (machine.repository("one"), machine.repository("two"));
    let read = |session: &str, agent: &str, top: &Path, path: &Path| {
        let call = json!({"tool_name": "Read", "tool_input": {"file_path": path}, "agent_id": agent});
        machine.session(session, top).event("PreToolUse", &call);
    };
    for number in 0..3 {
        read("first", "ripley", &one, &one.join(format!("a{number}")));
        read("second", "ash", &two, Path::new("/etc/shadow"));
    }
    ledger(&machine, &["seal"]);
    let count = |args: &[&str]| {
        let answer = machine.toolgate().args(["ledger", "tail", "--json"]).args(args).run("");
        assert_eq!(answer.code(), Some(0), "{answer:?}");
        answer.stdout.lines().count()
    };
    let root = one.to_str().unwrap();
    let path = one.join("a1");
    for (args, wanted) in [
        (&["--session", "first"][..], 3),
        (&["--session", "nobody"], 0),
        (&["--agent", "ash"], 3),
        (&["--root", root], 3),
        (&["--policy", "secret-file"], 3),
        (&["--policy", "secret-file", "--agent", "ripley"], 0),
        (&["--path", path.to_str().unwrap()], 1),
        (&["--denied"], 3),
        (&["--denied", "-n", "2"], 2),
        (&["--since", "1h"], 7),
        (&["--since", "2999-01-01"], 0),
        (&[], 7),
    ] {
        assert_eq!(count(args), wanted, "{args:?}");
    }
    assert_eq!(ledger(&machine, &["tail", "--since", "soon"]).code(), Some(1));
}

/// Somebody who can write the log for a moment must not blind everybody who reads it afterwards.
#[test]
fn a_line_that_is_no_record_hides_none_of_the_others() {
    let huge = format!(
        r#"{{"seq":{},"v":2,"time":"\u001b[2J","host":"claude-code","event":"PreToolUse","session":"s","tool":"Read","decision":"deny","prev":"0"}}"#,
        u64::MAX
    );
    let long = format!(r#"{{"seq":9,"args":{{"command":"{}"}}}}"#, "a".repeat(1_000_000));
    for (line, is_record) in
        [("garbage", false), ("", false), (&"[".repeat(10_000), false), (&long, false), (&huge, true)]
    {
        let machine = recorded(2);
        ledger(&machine, &["seal"]);
        machine.session("late-one", &machine.home()).read("/etc/hostname");
        // At its end, the next record would put it aside.
        let text = fs::read_to_string(machine.ledger()).unwrap();
        let (first, rest) = text.split_once('\n').unwrap();
        fs::write(machine.ledger(), format!("{first}\n{line}\n{rest}")).unwrap();
        let shown = line.get(..20).unwrap_or(line);
        for words in [
            &["ledger", "tail"][..],
            &["ledger", "tail", "--json"],
            &["ledger", "tail", "--session", "late-one", "--json"],
            &["ledger", "counts"],
            &["ledger", "export", "--format", "csv"],
            &["report"],
            &["report", "--session", "late-one"],
            &["why", "1"],
        ] {
            let answer = machine.toolgate().args(words).run("");
            let names_it = words.iter().any(|word| ["csv", "--json"].contains(word));
            assert!(!names_it || answer.stdout.contains("late-one"), "{shown}: {words:?}: {answer:?}");
            assert!(!answer.stdout.is_empty(), "{shown}: {words:?}: {answer:?}");
            // A table for programs has what the log has.
            let is_table = words.contains(&"csv");
            assert!(is_table || !answer.stdout.contains('\u{1b}'), "{shown}: {words:?}: {answer:?}");
            let is_told = ["tail", "counts", "export"].iter().any(|word| words.contains(word)) && !is_record;
            assert_eq!(answer.code(), Some(i32::from(is_told)), "{shown}: {words:?}: {answer:?}");
            assert_eq!(answer.stderr.contains("no record"), is_told, "{shown}: {words:?}: {answer:?}");
        }
        let page = machine.toolgate().args(["report"]).run("").stdout;
        assert!(page.contains("do not rely on this page"), "{shown}: {page}");
        assert_eq!(page.contains("are not on this page"), !is_record, "{shown}: {page}");
        assert_eq!(ledger(&machine, &["verify"]).code(), Some(1), "{shown}");
    }
}

/// The sealer runs in the background, so that nobody hears it: the doctor says that it has stopped.
#[test]
fn a_sealer_that_has_stopped_is_told_by_the_doctor() {
    let machine = recorded(1);
    let doctor = || machine.toolgate().args(["doctor", "--host", "claude-code"]).run("").stdout;
    ledger(&machine, &["seal"]);
    let checkpoint =
        fs::OpenOptions::new().write(true).open(machine.state().join("tlog/checkpoint")).unwrap();
    checkpoint.set_modified(SystemTime::now() - Duration::from_hours(1)).unwrap();
    assert!(!doctor().contains("has not gone on"), "nothing is left to seal");
    fs::write(machine.state().join("tlog/key"), "damaged").unwrap();
    machine.session("more", &machine.home()).read("/etc/hostname");
    let told = doctor();
    assert!(
        told.contains("has not gone on since") && told.contains("`toolgate ledger seal` says why"),
        "{told}"
    );
    let why = ledger(&machine, &["seal"]);
    assert!(why.stderr.contains("is not the key that the log names"), "{why:?}");
}

/// Who follows goes on too, and says once what was passed over.
#[test]
fn who_follows_goes_on_behind_a_line_that_is_no_record() {
    let machine = recorded(1);
    let mut tail = machine.toolgate().args(["ledger", "tail", "--follow", "--json"]).command();
    let mut child = tail.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("\"s0\""));
    machine.session("late-one", &machine.home()).read("/etc/hostname");
    assert!(lines.next().unwrap().unwrap().contains("late-one"));
    let late = machine.last_record().to_string().replace("late-one", "later-one");
    let mut file = fs::OpenOptions::new().append(true).open(machine.ledger()).unwrap();
    file.write_all(format!("garbage\n{late}\n").as_bytes()).unwrap();
    assert!(lines.next().unwrap().unwrap().contains("later-one"));
    machine.session("last-one", &machine.home()).read("/etc/hostname");
    assert!(lines.next().unwrap().unwrap().contains("last-one"));
    child.kill().unwrap();
    let said = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stderr).matches("no record").count(), 1);
}

/// Reads one request, and says what came; answers with this status, or with nothing, as if it were killed.
fn collector(listener: &TcpListener, status: Option<&str>) -> Value {
    let (mut stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(given) = line.strip_prefix("Content-Length: ") {
            length = given.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    if let Some(status) = status {
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").unwrap();
    }
    serde_json::from_slice(&body).unwrap()
}

/// The numbers of the records in a batch.
fn numbers(batch: &Value) -> Vec<u64> {
    let records = batch["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().unwrap();
    let number = |record: &Value| {
        let attributes = record["attributes"].as_array().unwrap();
        let seq = attributes.iter().find(|attribute| attribute["key"] == "toolgate.log.seq").unwrap();
        seq["value"]["intValue"].as_str().unwrap().parse().unwrap()
    };
    records.iter().map(number).collect()
}

#[test]
fn a_collector_that_dies_loses_nothing() {
    let machine = recorded(3);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let to = format!("http://{address}/v1/logs");
    let export = || ledger(&machine, &["export", "--cursor", "place", "--to", &to]);
    let place = machine.home().join("place");
    let seen = thread::scope(|scope| {
        let running = scope.spawn(export);
        // One that is overloaded, one that dies with the batch, and one that takes it.
        let first = collector(&listener, Some("500 Internal Server Error"));
        assert!(!place.exists(), "it was not taken");
        let second = collector(&listener, None);
        assert!(!place.exists(), "it was not taken");
        let third = collector(&listener, Some("200 OK"));
        let answer = running.join().unwrap();
        assert_eq!((answer.code(), answer.stdout.as_str()), (Some(0), ""), "{answer:?}");
        [first, second, third]
    });
    let all: Vec<u64> = (1..=3).collect();
    assert!(seen.iter().all(|batch| numbers(batch) == all), "{seen:?}");
    let kept = fs::read(&place).unwrap();
    // Nobody is there: the cursor stays, and the next run sends what is missing.
    machine.session("more", &machine.home()).read("/etc/hostname");
    drop(listener);
    let failed = export();
    assert_eq!(failed.code(), Some(1), "{failed:?}");
    assert!(failed.stderr.contains("after 7 attempts"), "{failed:?}");
    assert_eq!(fs::read(&place).unwrap(), kept);
    let listener = TcpListener::bind(address).unwrap();
    let batch = thread::scope(|scope| {
        let running = scope.spawn(export);
        let batch = collector(&listener, Some("202 Accepted"));
        assert_eq!(running.join().unwrap().code(), Some(0));
        batch
    });
    assert_eq!(numbers(&batch), [4]);
    for bad in ["https://127.0.0.1:1/", "http://192.0.2.1:4318/v1/logs"] {
        assert_eq!(ledger(&machine, &["export", "--cursor", "place", "--to", bad]).code(), Some(64), "{bad}");
    }
}

#[test]
fn the_cursor_moves_when_the_reader_has_said_so() {
    let machine = recorded(2);
    let export =
        |typed: &str| machine.toolgate().args(["ledger", "export", "--cursor", "place", "--ack"]).run(typed);
    let place = machine.home().join("place");
    let gone = export("");
    assert_eq!((gone.code(), gone.stdout.lines().count()), (Some(1), 2), "{gone:?}");
    assert!(!place.exists());
    assert_eq!(export("half a line").code(), Some(1));
    assert!(!place.exists());
    let taken = export("ok\n");
    assert_eq!((taken.code(), taken.stdout.lines().count()), (Some(0), 2), "{taken:?}");
    assert_eq!(export("").stdout, "", "nothing is new, and nothing is waited for");
}

#[test]
fn tail_follows_and_export_goes_on_where_it_was() {
    let machine = recorded(2);
    let mut child = machine
        .toolgate()
        .args(["ledger", "tail", "-n", "1", "--follow", "--json", "--session", "new"])
        .command()
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    thread::sleep(Duration::from_millis(300));
    machine.session("other", &machine.home()).read("/etc/hostname");
    machine.session("new", &machine.home()).read("/etc/hostname");
    let seen: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!((&seen["seq"], &seen["session"]), (&json!(4), &json!("new")));
    child.kill().unwrap();
    child.wait().unwrap();
    let export = |format: &str| {
        let answer = ledger(&machine, &["export", "--format", format, "--cursor", "place"]);
        assert_eq!(answer.code(), Some(0), "{answer:?}");
        answer.stdout.lines().count()
    };
    assert_eq!(export("jsonl"), 4);
    assert_eq!(export("jsonl"), 0);
    machine.session("more", &machine.home()).read("/etc/hostname");
    assert_eq!(export("ocsf"), 1);
    let all = |args: &[&str]| ledger(&machine, &[&["export"], args].concat()).stdout;
    assert!(!all(&[]).contains("hostname") && all(&["--with-text"]).contains("hostname"));
    assert_eq!(all(&["--format", "csv"]).lines().count(), 6, "and a header");
    assert_eq!(all(&["--format", "otlp"]).lines().count(), 1, "one batch");
    fs::write(machine.home().join("place"), "?").unwrap();
    assert_eq!(ledger(&machine, &["export", "--cursor", "place"]).code(), Some(1));
}

#[test]
fn only_a_person_at_a_terminal_shortens_the_log() {
    let machine = recorded(3);
    assert_eq!(ledger(&machine, &["erase", "2"]).code(), Some(1));
    assert_eq!(ledger(&machine, &["prune", "--before", "2999-01-01"]).code(), Some(1));
    assert_eq!(machine.records().len(), 3);
    let erased = on_terminal(&machine, "ledger erase 2");
    assert_eq!(erased.code(), Some(0), "{erased:?}");
    let kept = on_terminal(&machine, "ledger prune --before 2999-01-01");
    assert!(kept.stdout.contains("no file of the log is that old"), "{kept:?}");
    assert!(machine.records()[1].get("args").is_none());
    let answer = ledger(&machine, &["verify"]);
    assert_eq!(answer.code(), Some(0), "{}", answer.stdout);
    assert!(answer.stdout.contains("erased      the text of 1 on purpose: 2\n"), "{}", answer.stdout);
    let counts = ledger(&machine, &["counts"]);
    assert_eq!(counts.code(), Some(0), "{counts:?}");
}

/// A time-stamp server of our own: a certificate with its key, made by `openssl`.
struct Server {
    dir: std::path::PathBuf,
}

impl Server {
    fn new(machine: &Machine, name: &str) -> Server {
        let server = Server { dir: machine.dir(name) };
        let settings = "[req]\ndistinguished_name = dn\nprompt = no\nx509_extensions = ext\n[dn]\nCN = stamps\n\
                        [ext]\nkeyUsage = critical, digitalSignature\nextendedKeyUsage = critical, timeStamping\n\
                        [tsa]\nserial = serial\ndefault_policy = 1.2.3.4\ndigests = sha256\nsigner_digest = sha256\nordering = yes\n";
        fs::write(server.dir.join("settings"), settings).unwrap();
        fs::write(server.dir.join("serial"), "01\n").unwrap();
        server.openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -config settings -keyout key -out certificate");
        server
    }

    fn openssl(&self, args: &str) {
        let output = Command::new("openssl").args(args.split(' ')).current_dir(&self.dir).output().unwrap();
        assert!(output.status.success(), "{args}: {output:?}");
    }

    fn stamp(&self, request: &Path) -> String {
        fs::copy(request, self.dir.join("request")).unwrap();
        self.openssl("ts -reply -queryfile request -inkey key -signer certificate -section tsa -config settings -out response");
        self.dir.join("response").display().to_string()
    }

    fn certificate(&self) -> String {
        self.dir.join("certificate").display().to_string()
    }
}

#[test]
fn a_time_stamp_is_asked_for_kept_and_checked() {
    if !have("openssl", &["version"]) {
        return skipped("there is no openssl");
    }
    let machine = recorded(2);
    ledger(&machine, &["seal"]);
    let server = Server::new(&machine, "server");
    let request = machine.path("request");
    let asked = ledger(&machine, &["anchor", "--rfc3161-request", request.to_str().unwrap()]);
    assert_eq!(asked.code(), Some(0), "{asked:?}");
    server.openssl(&format!("ts -query -in {} -text", request.display()));
    // The log goes on meanwhile: the checkpoint that is being stamped stays.
    machine.session("later", &machine.home()).read("/etc/hostname");
    ledger(&machine, &["seal"]);
    let response = server.stamp(&request);
    let kept = ledger(&machine, &["anchor", "--rfc3161", &response]);
    assert_eq!(kept.stdout, "kept, for the checkpoint of 3 records\n", "{kept:?}");
    let verify = |tsa: &str| ledger(&machine, &["verify", "--tsa", tsa]);
    let unchecked = ledger(&machine, &["verify"]);
    assert_eq!(unchecked.code(), Some(0));
    assert!(
        unchecked.stdout.contains("witnessed   up to record 3 by a time stamp, not checked here\n"),
        "{unchecked:?}"
    );
    let good = verify(&server.certificate());
    assert_eq!(good.code(), Some(0), "{good:?}");
    let line = good.stdout.lines().find(|line| line.starts_with("witnessed")).unwrap();
    assert!(
        line.starts_with("witnessed   up to record 3 by a time stamp of ")
            && line.ends_with(", checked by openssl"),
        "{line}"
    );
    let other = verify(&Server::new(&machine, "other").certificate());
    assert_eq!(other.code(), Some(1), "somebody else's certificate: {other:?}");
    assert!(
        other.stdout.contains("the time stamp of the checkpoint of 3 records is not valid: openssl says "),
        "{other:?}"
    );
    // Of another text, by the right server, put into its place.
    fs::write(machine.path("text"), "another text").unwrap();
    server.openssl(&format!(
        "ts -query -data {} -sha256 -cert -out {}",
        machine.path("text").display(),
        request.display()
    ));
    let another = server.stamp(&request);
    assert_eq!(
        ledger(&machine, &["anchor", "--rfc3161", &another]).code(),
        Some(1),
        "it is of no checkpoint"
    );
    let place = machine.state().join("tlog/anchors/3.tsr");
    let stamp = fs::read(&place).unwrap();
    fs::copy(&another, &place).unwrap();
    assert_eq!(verify(&server.certificate()).code(), Some(1));
    for at in (0..stamp.len()).step_by(stamp.len() / 24) {
        let mut changed = stamp.clone();
        changed[at] ^= 1;
        fs::write(&place, changed).unwrap();
        let answer = verify(&server.certificate());
        // Bytes that no signature covers may change; what they say does not.
        assert!(answer.code() == Some(1) || answer.stdout.contains(line), "{at}: {answer:?}");
    }
    fs::write(&place, stamp).unwrap();
    assert_eq!(verify("/nonexistent").code(), Some(1));
}

#[test]
fn where_no_openssl_is_a_time_stamp_is_not_said_to_be_good() {
    if !have("openssl", &["version"]) {
        return skipped("there is no openssl");
    }
    let machine = recorded(1);
    ledger(&machine, &["seal"]);
    let server = Server::new(&machine, "server");
    let request = machine.path("request");
    ledger(&machine, &["anchor", "--rfc3161-request", request.to_str().unwrap()]);
    ledger(&machine, &["anchor", "--rfc3161", &server.stamp(&request)]);
    let nowhere = machine.dir("empty");
    let verify = machine.toolgate().args(["ledger", "verify", "--tsa", &server.certificate()]);
    let answer = verify.env("PATH", nowhere).run("");
    assert_eq!(answer.code(), Some(2), "{answer:?}");
    assert!(answer.stdout.contains("was not checked: `openssl`: "), "{answer:?}");
}

#[test]
fn an_agent_writes_none_of_it() {
    let machine = recorded(1);
    ledger(&machine, &["seal"]);
    let top = machine.repository("repo");
    let session = machine.session("agent", &top);
    let tlog = machine.state().join("tlog");
    for name in [
        "key",
        "keys",
        "checkpoint",
        "checkpoints",
        "origin",
        "memory",
        "due",
        "index",
        "tile/0/000.p/2",
        "anchors/1.tsr",
    ] {
        assert_eq!(session.write(tlog.join(name)), "deny", "{name}");
    }
    assert_eq!(session.read(tlog.join("key")), "deny");
    for command in [
        "toolgate ledger erase 1",
        "toolgate ledger seal --next-key",
        "toolgate ledger prune --before 1d",
        "toolgate ledger anchor --cosignature x",
        "toolgate ledger anchor --rfc3161-request x",
        "toolgate ledger seal --apart",
        "toolgate ledger apart take --person 1000",
    ] {
        assert_eq!(session.shell(command), "deny", "{command}");
    }
    assert_eq!(session.shell(&format!("rm -rf {}", tlog.display())), "deny");
}
