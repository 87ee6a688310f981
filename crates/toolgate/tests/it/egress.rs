//! A network that is a list: contained commands of real shells, servers of this test's own, and the ways around the list.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::support::{Answer, Machine, write};

struct World {
    machine: Machine,
    worktree: PathBuf,
    port: u16,
    /// How many connections have come to the server.
    came: Arc<AtomicUsize>,
}

/// A server on the machine's own loopback that answers with the `Host` it was asked for.
fn server() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let came = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&came);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
            let (mut head, mut one) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut one).is_ok_and(|count| count == 1) {
                head.push(one[0]);
            }
            let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
            let host =
                head.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or("nobody").to_owned();
            let _ = stream.write_all(format!("HTTP/1.0 200 OK\r\n\r\nserved {host}\n").as_bytes());
        }
    });
    (port, came)
}

impl World {
    fn new() -> World {
        let (port, came) = server();
        let machine = Machine::new();
        let main = machine.repository("main");
        let worktree = machine.worktree(&main, "alpha");
        let settings = format!(
            "[network]\nmode = \"listed\"\n[[network.host]]\nname = \"*.listed.test\"\nports = [{port}]\naddresses = [\"127.0.0.1\"]\n\
             [[network.host]]\nname = \"localhost\"\nports = [{port}]\n"
        );
        write(&machine.user_settings(), settings);
        World { machine, worktree, port, came }
    }

    /// What bash says to a script in the sandbox. `ask HOST HEADER` prints what comes back of a request, `PORT` is the server's.
    fn bash(&self, script: &str) -> Answer {
        let script = format!(
            "PORT={}; ask() {{ exec 3<>\"/dev/tcp/$1/$PORT\" && printf 'GET / HTTP/1.0\\r\\nHost: %s\\r\\n\\r\\n' \"$2\" >&3 && cat <&3; }}; {script}",
            self.port
        );
        self.machine.toolgate().args(["exec", "--", "bash", "-c", &script]).cwd(&self.worktree).run("")
    }

    fn came(&self) -> usize {
        self.came.load(Ordering::SeqCst)
    }
}

#[test]
fn a_listed_host_is_reached_and_no_other() {
    let world = World::new();
    let answer = world.bash("ask a.listed.test a.listed.test:$PORT");
    assert!(answer.stdout.ends_with(&format!("served a.listed.test:{}\n", world.port)), "{}", answer.stderr);
    assert_eq!((answer.code(), answer.stderr.as_str(), world.came()), (Some(0), "", 1));
    let answer = world.bash("ask evil.test evil.test");
    assert_ne!(answer.code(), Some(0));
    assert!(
        answer.stderr.contains("`evil.test` cannot be reached from the sandbox: it is not listed")
            && answer.stderr.contains("    [[network.host]]\n    name = \"evil.test\"\n"),
        "{}",
        answer.stderr
    );
    assert_eq!(world.came(), 1);
}

#[test]
fn no_way_around_the_list_leads_to_the_server() {
    let world = World::new();
    let control = format!("exec 3<>/dev/tcp/127.0.0.1/{} && echo out >&3", world.port);
    assert!(
        std::process::Command::new("bash").args(["-c", &control]).status().unwrap().success(),
        "the control"
    );
    while world.came() < 1 {
        thread::yield_now();
    }
    for way in [
        // Addresses instead of names, in every form that a C library takes.
        "ask 127.0.0.1 127.0.0.1:$PORT",
        "ask 127.0.0.1 evil.test",
        "ask 127.1 x",
        "ask 2130706433 x",
        "ask 0x7f.1 x",
        "ask 0177.0.0.1 x",
        "ask 0 x",
        "ask 0.0.0.0 x",
        "ask ::1 x",
        "ask ::ffff:127.0.0.1 x",
        "ask 169.254.169.254 169.254.169.254",
        "ask 198.18.0.1 x",
        "ask 198.18.0.1 evil.test",
        // A listed name that leads to the machine by its own resolver.
        "ask localhost localhost:$PORT",
        "ask 10.1.2.3 localhost:$PORT",
        // Other names on a listed connection.
        "ask a.listed.test evil.test",
        "ask a.listed.test evil.test:$PORT",
        "ask a.listed.test $'a.listed.test\\r\\nHost: evil.test'",
        "exec 3<>/dev/tcp/a.listed.test/$PORT; printf 'GET / HTTP/1.0\\r\\nHost: a.listed.test\\0.evil.test\\r\\n\\r\\n' >&3; cat <&3",
        "exec 3<>/dev/tcp/a.listed.test/$PORT; printf 'GET\\t/\\tHTTP/1.0\\r\\nHost: evil.test\\r\\n\\r\\n' >&3; cat <&3",
        "ask a.listed.test b.listed.test:$PORT",
        "exec 3<>/dev/tcp/a.listed.test/$PORT; printf '\\r\\nGET / HTTP/1.0\\r\\nHost: evil.test\\r\\n\\r\\n' >&3; cat <&3",
        "exec 3<>/dev/tcp/a.listed.test/$PORT; printf 'GET / HTTP/1.0\\nHost: evil.test\\n\\n' >&3; timeout 1 cat <&3",
        "exec 3<>/dev/tcp/a.listed.test/$PORT; printf 'CONNECT 127.0.0.1:%s HTTP/1.1\\r\\n\\r\\n' $PORT >&3; cat <&3",
        "exec 3<>/dev/tcp/a.listed.test/$PORT; printf 'GET http://evil.test:%s/ HTTP/1.1\\r\\n\\r\\n' $PORT >&3; cat <&3",
        "exec 3<>/dev/tcp/a.listed.test/$PORT; printf '\\x05\\x01\\x00\\x05\\x01\\x00\\x01\\x7f\\x00\\x00\\x01\\x00\\x50' >&3; timeout 1 cat <&3",
        // Names that are not listed, or in no plain form.
        "ask listed.test x",
        "ask a.listed.test.evil.test x",
        "ask evil.test. x",
        "ask A.EVIL.test x",
        // Proxies of the environment.
        "HTTP_PROXY=http://127.0.0.1:$PORT curl -s http://evil.test/; false",
        "http_proxy=http://127.0.0.1:$PORT curl -s http://a.listed.test/; false",
        "NO_PROXY=* curl -s http://127.0.0.1:$PORT/; false",
        "curl -s --resolve a.listed.test:$PORT:127.0.0.1 -H 'Host: evil.test' http://a.listed.test:$PORT/; false",
        "curl -s --connect-to ::127.0.0.1:$PORT http://evil.test:$PORT/; false",
        // What the sandbox is made of.
        "for fd in /proc/1/fd/*; do echo x > $fd; done 2>/dev/null; false",
        "ip route del local default dev lo table local 2>/dev/null && ask 127.0.0.1 x",
    ] {
        let before = world.came();
        let answer = world.bash(&format!("{{ {way}; }} 2>&1"));
        assert!(
            !answer.stdout.contains("served evil") && !answer.stdout.contains("served x"),
            "{way}: {}",
            answer.stdout
        );
        // Where the connection itself is listed it may be made; nothing of the request comes through it.
        let is_listed = way.contains("/a.listed.test/") || way.contains("a.listed.test");
        assert!(is_listed || world.came() == before, "{way}: {}", answer.stdout);
        assert!(!answer.stdout.contains("served"), "{way}: {}", answer.stdout);
    }
}

#[test]
fn datagrams_end_in_the_sandbox() {
    let world = World::new();
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_nonblocking(true).unwrap();
    let port = socket.local_addr().unwrap().port();
    let script = format!("echo out > /dev/udp/127.0.0.1/{port}; echo out > /dev/udp/127.0.0.1/53; echo sent");
    let control = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
    assert!(String::from_utf8_lossy(&control.stdout).contains("sent"));
    let mut bytes = [0; 9];
    assert_eq!(socket.recv(&mut bytes).unwrap(), 4, "the control");
    world.bash(&script);
    assert!(socket.recv(&mut bytes).is_err());
}

#[test]
fn a_project_opens_nothing() {
    let world = World::new();
    let text = format!(
        "[network]\nmode = \"all\"\n[[network.host]]\nname = \"evil.test\"\nports = [{}]\naddresses = [\"127.0.0.1\"]\n",
        world.port
    );
    write(&world.worktree.join("toolgate.toml"), text);
    let answer = world.bash("ask evil.test evil.test");
    assert_ne!(answer.code(), Some(0));
    assert_eq!(world.came(), 0, "{}", answer.stdout);
    let answer = world.bash("ask a.listed.test a.listed.test:$PORT");
    assert_eq!((answer.code(), world.came()), (Some(0), 1), "{}", answer.stderr);
    let shown = world.machine.toolgate().args(["config", "show"]).cwd(&world.worktree).run("");
    assert!(shown.stdout.contains("a project's file cannot open the network"), "{}", shown.stdout);
}

#[test]
fn no_lower_level_keeps_to_a_list() {
    let world = World::new();
    let answer = world
        .machine
        .toolgate()
        .args(["exec", "--level", "landlock", "--", "true"])
        .cwd(&world.worktree)
        .run("");
    assert_eq!(answer.code(), Some(125), "{}", answer.stderr);
    assert!(answer.stderr.contains("[network] mode = \"listed\""), "{}", answer.stderr);
    let answer = world
        .machine
        .toolgate()
        .args(["exec", "--network", "all", "--", "true"])
        .cwd(&world.worktree)
        .run("");
    assert_eq!(answer.code(), Some(125), "{}", answer.stderr);
    let answer = world
        .machine
        .toolgate()
        .args(["exec", "--network", "none", "--", "true"])
        .cwd(&world.worktree)
        .run("");
    assert_eq!(answer.code(), Some(0), "{}", answer.stderr);
}
