//! The pages on loopback, from outside: strangers, other pages, slow and greedy clients, and what agents wrote.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::terminal::{IN_SESSION, conversation};
use crate::support::{Machine, Said, have, skipped, write};

/// What is in a call, and must not be a page's markup.
const HOSTILE: &str = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&";
/// Stands in the log: whoever reads it has got in.
const CANARY: &str = "canary-4f7a";

/// A server, for as long as it is held.
struct Server {
    child: Child,
    port: u16,
    token: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What came back.
#[derive(Debug)]
struct Answered {
    status: u16,
    head: String,
    body: String,
}

impl Server {
    fn new(machine: &Machine, cwd: &Path, args: &[&str]) -> Server {
        let hook = machine.toolgate().arg("dashboard").args(args).cwd(cwd);
        let mut child = hook
            .command()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (address, token) = line.trim().split_once("/#").unwrap_or_else(|| panic!("no address: `{line}`"));
        let port = address.strip_prefix("http://127.0.0.1:").unwrap().parse().unwrap();
        Server { child, port, token: token.to_owned() }
    }

    fn stream(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        stream
    }

    /// Sends this as it is.
    fn raw(&self, request: &str) -> Answered {
        let mut stream = self.stream();
        let _ = stream.write_all(request.as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        Answered { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    fn ask(&self, line: &str, headers: &[&str], body: &str) -> Answered {
        let own = format!("Host: 127.0.0.1:{}", self.port);
        let host = if headers.iter().any(|header| header.starts_with("Host:")) {
            String::new()
        } else {
            own + "\r\n"
        };
        let headers = headers.iter().fold(String::new(), |all, header| all + header + "\r\n");
        let length =
            if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        self.raw(&format!("{line} HTTP/1.1\r\n{host}{headers}{length}\r\n{body}"))
    }

    fn origin(&self) -> String {
        format!("Origin: http://127.0.0.1:{}", self.port)
    }

    fn enter(&self, token: &str) -> Answered {
        self.ask("POST /enter", &[&self.origin(), &format!("X-Toolgate-Token: {token}")], "")
    }

    /// The header of a session, for the printed token.
    fn key(&self) -> String {
        let answer = self.enter(&self.token);
        assert_eq!(answer.status, 200, "{answer:?}");
        format!("X-Toolgate-Session: {}", answer.body.trim())
    }

    fn page(&self, key: &str, path: &str) -> Answered {
        self.ask(&format!("GET /page{path}"), &[key], "")
    }

    fn post(&self, key: &str, path: &str, body: &str) -> Answered {
        self.ask(&format!("POST {path}"), &[key, &self.origin(), "Content-Type: application/json"], body)
    }
}

/// A machine with a repository and a few calls in its log.
fn with_calls() -> (Machine, PathBuf) {
    let machine = Machine::new();
    let top = machine.repository("main");
    let session = machine.session(&format!("s-{CANARY}"), &top);
    assert_eq!(session.read(top.join("README.md")), "nothing");
    let said = session.call("Bash", &json!({ "command": format!("rm -rf / # {CANARY}") }));
    assert!(matches!(said, Said::Deny(_)));
    session.call("Bash", &json!({ "command": format!("cat '../{HOSTILE}'") }));
    session.call("Read", &json!({ "file_path": machine.path(HOSTILE.replace('/', "")) }));
    (machine, top)
}

const PAGES: &[&str] = &[
    "/",
    "/calls",
    "/denials",
    "/agents",
    "/rules",
    "/rules/outside-scope",
    "/settings",
    "/playground",
    "/record/2",
];

#[test]
fn strangers_and_other_pages_get_nothing() {
    let (machine, top) = with_calls();
    let server = Server::new(&machine, &top, &[]);
    let key = server.key();
    let own = server.origin();
    let port = server.port;
    for (line, headers, status) in [
        ("GET /page/calls", vec![], 401),
        ("GET /page/calls", vec!["X-Toolgate-Session: x".to_owned()], 401),
        ("GET /page/calls", vec![format!("X-Toolgate-Session: {}", server.token)], 401),
        ("GET /page/calls", vec![format!("Cookie: {}", key.trim_start_matches("X-"))], 401),
        ("GET /live", vec![], 401),
        ("POST /page/playground", vec![own.clone()], 401),
        ("GET /page/calls", vec![key.clone(), "Host: evil.example".into()], 421),
        ("GET /page/calls", vec![key.clone(), format!("Host: localhost:{port}")], 421),
        (
            "GET /page/calls",
            vec![key.clone(), format!("Host: 127.0.0.1:{port}"), "Host: evil.example".into()],
            421,
        ),
        ("GET /", vec!["Host: evil.example".into()], 421),
        ("GET /page.js", vec![format!("Host: evil.example:{port}")], 421),
        ("GET /page/calls", vec![key.clone(), "Origin: http://evil.example".into()], 403),
        ("GET /page/calls", vec![key.clone(), "Origin: null".into()], 403),
        ("GET /page/calls", vec![key.clone(), "Sec-Fetch-Site: cross-site".into()], 403),
        ("GET /page/calls", vec![key.clone(), "Sec-Fetch-Site: same-site".into()], 403),
        ("GET /", vec!["Sec-Fetch-Site: cross-site".into()], 403),
        ("POST /page/playground", vec![key.clone()], 403),
        ("POST /enter", vec![format!("X-Toolgate-Token: {}", server.token)], 403),
        ("PUT /page/calls", vec![key.clone(), own.clone()], 405),
        ("OPTIONS /page/calls", vec![own], 405),
        ("GET http://evil.example/page/calls", vec![key.clone()], 400),
    ] {
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        let answer = server.ask(line, &headers, "");
        assert_eq!(answer.status, status, "{line} {headers:?}: {answer:?}");
        assert!(!answer.body.contains(CANARY), "{line} {headers:?}: {answer:?}");
        assert!(!answer.head.contains("access-control"), "{answer:?}");
    }
    let old = server.raw(&format!("GET /page/calls HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n{key}\r\n\r\n"));
    assert_eq!(old.status, 400, "{old:?}");
    // What everybody gets holds nothing; and what one gets with the secret says that nothing is kept, framed or loaded.
    let shell = server.ask("GET /calls", &[], "");
    assert_eq!(shell.status, 200);
    assert!(!shell.body.contains(CANARY) && !shell.body.contains("README"), "{shell:?}");
    let page = server.page(&key, "/calls");
    assert!(page.status == 200 && page.body.contains(CANARY), "{page:?}");
    for answer in [shell, page] {
        for header in [
            "cache-control: no-store",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-resource-policy: same-origin",
            "cross-origin-opener-policy: same-origin",
            "content-security-policy: default-src 'none';",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ] {
            assert!(answer.head.contains(header), "{header}: {answer:?}");
        }
        assert!(!answer.head.contains("unsafe-inline") && !answer.head.contains("set-cookie"), "{answer:?}");
    }
}

#[test]
fn an_address_opens_one_page_once() {
    let (machine, top) = with_calls();
    let server = Server::new(&machine, &top, &[]);
    for wrong in
        [String::new(), "0".repeat(64), server.token.chars().skip(1).collect(), format!("{}0", server.token)]
    {
        let answer = server.enter(&wrong);
        assert_eq!(answer.status, 401, "{answer:?}");
    }
    let key = server.key();
    assert_eq!(server.page(&key, "/").status, 200);
    let again = server.enter(&server.token);
    assert_eq!(again.status, 401, "{again:?}");
    assert!(again.body.contains("each works once"), "{again:?}");
    assert_eq!(server.page(&key, "/").status, 200, "the page that was opened stays open");
}

#[test]
fn return_prints_another_address_and_ctrl_c_ends_it() {
    let machine = Machine::new();
    let top = machine.repository("main");
    let hook = machine.toolgate().arg("dashboard").cwd(&top).under(&IN_SESSION);
    let (code, shown) = conversation(hook.command(), &[("/#", "\n"), ("/#", "\u{3}")]);
    assert_eq!(code, Some(0), "{shown}");
    let tokens: Vec<&str> = shown.split("/#").skip(1).filter_map(|rest| rest.get(..64)).collect();
    assert!(tokens.len() == 2 && tokens[0] != tokens[1], "{shown}");
}

#[test]
fn what_agents_wrote_is_text_on_every_page() {
    let (machine, top) = with_calls();
    let server = Server::new(&machine, &top, &[]);
    let key = server.key();
    let filters = [
        "/calls?q=%3Cscript%3Ealert(1)",
        "/session?session=s-canary-4f7a",
        "/record/3",
        "/record/4",
        "/rules/%3Cscript%3E",
    ];
    for path in PAGES.iter().chain(&filters) {
        let answer = server.page(&key, path);
        assert!(answer.status == 200 || path.starts_with("/rules/%"), "{path}: {answer:?}");
        for markup in ["<script", "<img", " onerror=\"", "javascript:"] {
            assert!(!answer.body.contains(markup), "{path}: {answer:?}");
        }
    }
    assert!(server.page(&key, "/calls").body.contains("&lt;script&gt;alert(1)"));
    let question = json!({ "command": format!("cat {HOSTILE}"), "root": top }).to_string();
    let judged = server.post(&key, "/page/playground", &question);
    assert!(
        judged.status == 200 && judged.body.contains("&lt;script") && !judged.body.contains("<script"),
        "{judged:?}"
    );
}

#[test]
fn no_path_leads_out_and_no_question_is_too_long() {
    let (machine, top) = with_calls();
    let server = Server::new(&machine, &top, &[]);
    let key = server.key();
    for path in [
        "/../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/rules/..%2f..%2f..%2fetc%2fpasswd",
        "/record/..%2f1",
        "/record/99999999999999999999999",
        "/record/999999",
        "/page.js/../calls",
        "/settings?root=/etc",
    ] {
        for answer in [server.page(&key, path), server.ask(&format!("GET {path}"), &[], "")] {
            assert!(matches!(answer.status, 404 | 200), "{path}: {answer:?}");
            assert!(!answer.body.contains("root:") && !answer.body.contains(CANARY), "{path}: {answer:?}");
        }
    }
    let long = json!({ "command": "x".repeat(300_000) }).to_string();
    assert_eq!(server.post(&key, "/page/playground", &long).status, 400);
    assert_eq!(server.post(&key, "/page/playground", "{\"command\": 3}").status, 400);
    assert_eq!(server.ask(&format!("GET /{}", "x".repeat(30_000)), &[], "").status / 100, 4);
    let nowhere = json!({ "command": "ls", "root": "/nowhere" }).to_string();
    assert_eq!(server.post(&key, "/page/playground", &nowhere).status, 500);
}

#[test]
fn a_line_of_ten_megabytes_is_passed_over() {
    let (machine, top) = with_calls();
    let text = fs::read_to_string(machine.ledger()).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    write(&machine.ledger(), format!("{first}\n{{\"seq\":\"{}\"}}\n{rest}", "x".repeat(10 * 1024 * 1024)));
    let server = Server::new(&machine, &top, &[]);
    let key = server.key();
    for path in PAGES {
        let begun = Instant::now();
        let answer = server.page(&key, path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        assert!(answer.body.len() < 1024 * 1024, "{path}: {}", answer.body.len());
        assert!(begun.elapsed() < Duration::from_secs(20), "{path}: {:?}", begun.elapsed());
    }
    let calls = server.page(&key, "/calls");
    assert!(calls.body.contains(CANARY) && calls.body.contains("ledger verify"), "{calls:?}");
}

#[test]
fn slow_and_many_clients_are_given_up() {
    let (machine, top) = with_calls();
    let server = Server::new(&machine, &top, &[]);
    let key = server.key();
    let port = server.port;
    let begun = Instant::now();
    // A head that does not end, a question that does not come.
    let slow: Vec<TcpStream> = ["GET / HTTP/1.1\r\nHost: 127".to_owned(), format!(
        "POST /page/playground HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{key}\r\n{}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{",
        server.origin()
    )]
    .into_iter()
    .map(|text| {
        let mut stream = server.stream();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    })
    .collect();
    assert_eq!(server.page(&key, "/").status, 200, "the others do not wait for them");
    for mut stream in slow {
        let mut rest = String::new();
        let _ = stream.read_to_string(&mut rest);
        assert!(!rest.contains(CANARY) && !rest.contains("HTTP/1.1 200"), "{rest}");
    }
    assert!(begun.elapsed() < Duration::from_secs(45), "{:?}", begun.elapsed());
    let idle: Vec<TcpStream> = (0..80).map(|_| server.stream()).collect();
    thread::sleep(Duration::from_millis(500));
    let full = server.page(&key, "/");
    assert!(full.status == 503 || full.status == 0, "{full:?}");
    drop(idle);
    thread::sleep(Duration::from_millis(500));
    assert_eq!(server.page(&key, "/").status, 200);
}

#[test]
fn another_user_of_the_machine_hears_nothing() {
    if !rustix::process::getuid().is_root()
        || !have("setpriv", &["--reuid=65534", "--clear-groups", "true"])
        || !have("bash", &["--version"])
    {
        return skipped("the test of another user of the machine: it needs root and setpriv");
    }
    let (machine, top) = with_calls();
    let server = Server::new(&machine, &top, &[]);
    let key = server.key();
    let request =
        format!("GET /page/calls HTTP/1.1\\r\\nHost: 127.0.0.1:{}\\r\\n{key}\\r\\n\\r\\n", server.port);
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{}; printf '{request}' >&3; cat <&3", server.port);
    let asked = |who: &[&str]| {
        let mut words = who.iter().copied().chain(["bash", "-c", script.as_str()]);
        let output = Command::new(words.next().unwrap()).args(words).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(asked(&["setpriv", "--reuid=65534", "--clear-groups"]), "", "with the secret even");
    assert!(asked(&[]).contains(CANARY), "and the same user hears it");
}

#[test]
fn an_agent_cannot_start_it() {
    let (machine, top) = with_calls();
    let session = machine.session("s", &top);
    for command in
        ["toolgate dashboard", "env toolgate dashboard --open", "tmux new-window 'toolgate dashboard'"]
    {
        let said = session.call("Bash", &json!({ "command": command }));
        assert!(matches!(said, Said::Deny(_)), "{command}: {said:?}");
    }
    // Where the gate is not asked, the program itself refuses.
    let below = machine.toolgate().arg("dashboard").cwd(&top).env("CLAUDECODE", "1").run("");
    assert_eq!(below.code(), Some(1), "{below:?}");
    assert!(below.stdout.is_empty() && below.stderr.contains("only a person can do this"), "{below:?}");
    let hook = machine.toolgate();
    let program = hook.command().get_program().to_owned();
    let contained = hook.args(["exec", "--"]).arg(program).arg("dashboard").cwd(&top).run("");
    assert_ne!(contained.code(), Some(0), "{contained:?}");
    assert!(!contained.stdout.contains("http://"), "{contained:?}");
}

#[test]
fn it_ends_when_nobody_asks_and_strangers_do_not_keep_it() {
    let (machine, top) = with_calls();
    let mut server = Server::new(&machine, &top, &["--idle", "2s"]);
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = server.child.try_wait().unwrap() {
            break status;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "it goes on");
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", server.port)) {
            let _ = stream
                .write_all(format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", server.port).as_bytes());
            let _ = stream.read_to_end(&mut Vec::new());
        }
        thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_call_comes_live_to_whom_it_is_for() {
    let (machine, top) = with_calls();
    let server = Server::new(&machine, &top, &[]);
    let key = server.key();
    let mut stream = server.stream();
    let request =
        format!("GET /live?q=verdict%3Adeny HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{key}\r\n\r\n", server.port);
    stream.write_all(request.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == ": here"));
    let session = machine.session("s", &top);
    session.read(top.join("README.md"));
    let said = session.call("Bash", &json!({ "command": format!("rm -rf / # live {HOSTILE}") }));
    assert!(matches!(said, Said::Deny(_)));
    let data = lines.find(|line| line.starts_with("data: ")).unwrap();
    assert!(data.contains("live") && data.contains("\"denied\":true"), "{data}");
    assert!(data.contains("&lt;script&gt;") && !data.contains("<script"), "{data}");
    let _ = stream.shutdown(Shutdown::Both);
}

#[test]
fn the_playground_judges_with_other_settings_and_changes_nothing() {
    let (machine, top) = with_calls();
    let outside = machine.file("elsewhere/notes.txt", "x");
    let server = Server::new(&machine, &top, &[]);
    let key = server.key();
    let before = tree(&machine.home());
    let command = format!("cat {}", outside.display());
    let settings =
        format!("[[scope]]\npath = \"{}\"\nrights = \"read\"\n", outside.parent().unwrap().display());
    let question = json!({ "command": command, "root": top, "settings": settings }).to_string();
    let judged = server.post(&key, "/page/playground", &question);
    assert_eq!(judged.status, 200, "{judged:?}");
    let (now, then) = judged.body.split_once("With your change").unwrap();
    assert!(now.contains("badge deny") && then.contains("badge allow"), "{judged:?}");
    assert!(now.contains("said deny"), "what is denied is underlined: {now}");
    let broken = json!({ "command": "ls", "root": top, "settings": "[nonsense" }).to_string();
    let judged = server.post(&key, "/page/playground", &broken);
    assert!(judged.status == 200 && judged.body.contains("toolgate.toml"), "{judged:?}");
    let replayed = server.post(&key, "/page/replay", &json!({ "settings": settings, "days": 7 }).to_string());
    assert!(replayed.status == 200 && replayed.body.contains("would be decided differently"), "{replayed:?}");
    for path in PAGES {
        assert_eq!(server.page(&key, path).status, 200);
    }
    assert_eq!(tree(&machine.home()), before);
}

/// All files with their contents, but for what a look may remember: settings in their compiled form.
fn tree(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.ends_with("compiled") {
            continue;
        }
        if path.is_dir() {
            files.extend(tree(&path));
        } else {
            files.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}
