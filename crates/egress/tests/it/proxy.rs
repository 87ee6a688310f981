//! The proxy, asked by a client of this test's own and led to servers of its own on the loopback.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use toolgate_egress::proxy::{Event, Passed, Sandbox, serve};
use toolgate_egress::{Entry, List, Lists, Name, Range, Subject};

struct World {
    proxy: SocketAddr,
    names: SocketAddr,
    /// The sandbox ends when this is dropped.
    life: Option<UnixStream>,
    events: Receiver<Event>,
    looked_up: Arc<Mutex<Vec<String>>>,
}

const PATIENCE: Duration = Duration::from_secs(10);

fn entry(subject: &str, ports: &[u16]) -> Entry {
    let subject = Range::parse(subject).map_or_else(|| Subject::name(subject).unwrap(), Subject::Addresses);
    Entry { subject, ports: ports.to_vec(), ..Entry::default() }
}

fn led(name: &str, port: u16) -> Entry {
    Entry { addresses: vec![Ipv4Addr::LOCALHOST.into()], ..entry(name, &[port]) }
}

/// A proxy with this list. Whatever is looked up has these addresses, one after the other.
fn world(entries: Vec<Entry>, most: usize, addresses: &[&str]) -> World {
    let any = (Ipv4Addr::LOCALHOST, 0);
    let (listener, long_questions) = (TcpListener::bind(any).unwrap(), TcpListener::bind(any).unwrap());
    let questions = UdpSocket::bind(any).unwrap();
    let (proxy, names) = (listener.local_addr().unwrap(), questions.local_addr().unwrap());
    let (life, theirs) = UnixStream::pair().unwrap();
    let sandbox =
        Sandbox { listeners: vec![listener], questions, long_questions, life: OwnedFd::from(theirs) };
    let (tell, events) = channel();
    let looked_up = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::clone(&looked_up);
    let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
    let look_up = move |name: &Name| {
        let mut asked = asked.lock().unwrap();
        asked.push(name.to_string());
        Ok(addresses.get(asked.len() - 1).or(addresses.last()).copied().into_iter().collect())
    };
    thread::spawn(move || {
        let tell = Box::new(move |event| drop(tell.send(event)));
        serve(sandbox, Lists::new(vec![List { entries }]), Arc::new(look_up), most, tell).unwrap();
    });
    World { proxy, names, life: Some(life), events, looked_up }
}

impl World {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.proxy).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// What comes back for these bytes, up to the end. A broken connection is an empty text.
    fn said(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        let _ = stream.write_all(bytes);
        rest(&mut stream)
    }

    fn refused(&self) -> (String, u16, String) {
        loop {
            match self.events.recv_timeout(PATIENCE).unwrap() {
                Event::Refused { host, port, why } => return (host, port, why),
                Event::Ended(_) => {}
            }
        }
    }

    fn passed(&self) -> Passed {
        loop {
            if let Event::Ended(passed) = self.events.recv_timeout(PATIENCE).unwrap() {
                return passed;
            }
        }
    }
}

fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{error}");
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A server that answers each connection by what it was sent up to `until`, and its port.
fn server(until: &'static [u8]) -> (u16, Arc<Mutex<Vec<Vec<u8>>>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, hears) = (stream.unwrap(), Arc::clone(&hears));
            thread::spawn(move || {
                let mut bytes = Vec::new();
                let mut one = [0; 4096];
                while !bytes.ends_with(until) || until.is_empty() {
                    match stream.read(&mut one) {
                        Ok(0) | Err(_) => break,
                        Ok(count) => bytes.extend(&one[..count]),
                    }
                }
                hears.lock().unwrap().push(bytes);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhello");
            });
        }
    });
    (port, heard)
}

/// A first message of TLS that asks for this name.
fn hello(name: &str) -> Vec<u8> {
    let block = |bytes: &[u8], length: usize| {
        let size = u32::try_from(bytes.len()).unwrap().to_be_bytes();
        [&size[4 - length..], bytes].concat()
    };
    let entry = block(&[vec![0], block(name.as_bytes(), 2)].concat(), 2);
    let extensions = [vec![0, 0], block(&entry, 2)].concat();
    let body =
        [vec![3, 3], vec![7; 32], block(&[], 1), block(&[0x13, 1], 2), block(&[0], 1), block(&extensions, 2)]
            .concat();
    let message = [vec![1], block(&body, 3)].concat();
    [vec![22, 3, 1], block(&message, 2)].concat()
}

#[test]
fn a_request_reaches_a_listed_host_and_no_other() {
    let (port, heard) = server(b"\r\n\r\n");
    let world = world(vec![led("a.example", port)], 10, &[]);
    let told = world.said(
        format!("GET http://a.example:{port}/x HTTP/1.1\r\nProxy-Connection: keep-alive\r\n\r\n").as_bytes(),
    );
    assert!(told.ends_with("\r\n\r\nhello"), "{told}");
    let head = String::from_utf8(heard.lock().unwrap().pop().unwrap()).unwrap();
    assert_eq!(head, format!("GET /x HTTP/1.1\r\nhost: a.example:{port}\r\nconnection: close\r\n\r\n"));
    let passed = world.passed();
    assert_eq!(
        (passed.host.as_str(), passed.port, passed.address),
        ("a.example", port, Some(Ipv4Addr::LOCALHOST.into()))
    );
    assert!(passed.sent > 50 && passed.received > 40 && passed.refused.is_empty(), "{passed:?}");
    for (asked, host) in [
        (format!("GET http://evil.example:{port}/ HTTP/1.1\r\n\r\n"), "evil.example"),
        (format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n"), "127.0.0.1"),
        (format!("CONNECT [::ffff:127.0.0.1]:{port} HTTP/1.1\r\n\r\n"), "127.0.0.1"),
        (format!("CONNECT a.example.evil.example:{port} HTTP/1.1\r\n\r\n"), "a.example.evil.example"),
    ] {
        let told = world.said(asked.as_bytes());
        assert!(told.starts_with("HTTP/1.1 403 ") && told.contains(host), "{asked}: {told}");
    }
    assert_eq!(world.refused(), ("evil.example".into(), port, "it is not listed".into()));
    assert_eq!(world.refused().0, "127.0.0.1", "once for each host");
    assert_eq!(world.refused().0, "a.example.evil.example");
    assert!(heard.lock().unwrap().is_empty());
}

#[test]
fn a_second_request_on_the_same_connection_goes_nowhere() {
    let (port, heard) = server(b"end");
    let world = world(vec![led("a.example", port)], 10, &[]);
    let two = format!(
        "POST http://a.example:{port}/ HTTP/1.1\r\nContent-Length: 3\r\n\r\nendGET http://a.example:{port}/2 HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    );
    assert!(world.said(two.as_bytes()).contains("hello"));
    let (chunked_port, heard_chunks) = server(b"0\r\n\r\n");
    let world = self::world(vec![led("a.example", chunked_port)], 10, &[]);
    let chunked = format!(
        "POST http://a.example:{chunked_port}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nend\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    );
    assert!(world.said(chunked.as_bytes()).contains("hello"));
    thread::sleep(Duration::from_millis(100));
    let all = [heard.lock().unwrap().concat(), heard_chunks.lock().unwrap().concat()].concat();
    assert!(!String::from_utf8(all).unwrap().contains("evil"));
}

#[test]
fn a_tunnel_carries_tls_for_its_own_host_alone() {
    let (port, heard) = server(b"");
    let world = world(vec![led("a.example", port)], 10, &[]);
    let tunnel = |first: &[u8]| {
        let mut stream = world.connect();
        stream.write_all(format!("CONNECT a.example:{port} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
        let mut reply = [0; 39];
        stream.read_exact(&mut reply).unwrap();
        assert!(reply.starts_with(b"HTTP/1.1 200 "));
        let _ = stream.write_all(first);
        let _ = stream.shutdown(Shutdown::Write);
        rest(&mut stream)
    };
    assert!(tunnel(&hello("a.example")).ends_with("hello"));
    assert!(tunnel(b"SSH-2.0-x\r\n").ends_with("hello"));
    let heard_before = heard.lock().unwrap().len();
    for first in [
        hello("evil.example"),
        b"\x16\x03\x01\0\x04\x02\0\0\0".to_vec(),
        b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_vec(),
        b"\r\n\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_vec(),
        b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n".to_vec(),
        b"\x05\x01\x00".to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
    ] {
        let told = tunnel(&first);
        assert!(!told.contains("hello"), "{first:?}: {told}");
    }
    thread::sleep(Duration::from_millis(100));
    let all = heard.lock().unwrap()[heard_before..].concat();
    assert!(all.is_empty(), "{:?}", String::from_utf8_lossy(&all));
}

#[test]
fn socks_names_the_host() {
    let (port, _) = server(b"");
    let world = world(vec![led("a.example", port)], 10, &[]);
    let ask = |host: &[u8]| {
        let mut stream = world.connect();
        stream.write_all(b"\x05\x01\x00").unwrap();
        let mut greeting = [0; 2];
        stream.read_exact(&mut greeting).unwrap();
        let request =
            [&[5, 1, 0, 3, u8::try_from(host.len()).unwrap()][..], host, &port.to_be_bytes()].concat();
        stream.write_all(&request).unwrap();
        let mut reply = [0; 10];
        stream.read_exact(&mut reply).unwrap();
        (reply[1], stream)
    };
    let (code, mut stream) = ask(b"a.example");
    assert_eq!(code, 0);
    stream.write_all(b"anything").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert!(rest(&mut stream).ends_with("hello"));
    for host in [&b"evil.example"[..], b"evil.example\0.a.example", b"127.0.0.1", b"localhost"] {
        assert_eq!(ask(host).0, 2, "{host:?}");
    }
}

#[test]
fn a_name_leads_nowhere_private_and_is_dialled_where_it_was_checked() {
    let (port, heard) = server(b"\r\n\r\n");
    let private =
        ["127.0.0.1", "169.254.169.254", "10.0.0.1", "::1", "::ffff:127.0.0.1", "fd00::1", "64:ff9b::7f00:1"];
    for address in private {
        let world = world(vec![entry("a.example", &[port])], 10, &[address]);
        let told = world.said(format!("GET http://a.example:{port}/ HTTP/1.1\r\n\r\n").as_bytes());
        assert!(told.starts_with("HTTP/1.1 403 ") && told.contains("not public"), "{address}: {told}");
    }
    // The second look would lead to the machine itself. There is none.
    let world = world(
        vec![entry("a.example", &[port]), entry("127.0.0.1", &[port])],
        10,
        &["127.0.0.1", "127.0.0.2"],
    );
    for _ in 0..2 {
        let told = world.said(format!("GET http://a.example:{port}/ HTTP/1.1\r\n\r\n").as_bytes());
        assert!(told.ends_with("hello"), "{told}");
    }
    assert_eq!(*world.looked_up.lock().unwrap(), ["a.example"]);
    assert_eq!(heard.lock().unwrap().len(), 2);
}

#[test]
fn names_are_answered_without_asking_anybody_unless_they_are_listed() {
    let world = world(vec![entry("*.a.example", &[443])], 10, &["93.184.216.34"]);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let ask = |name: &str| {
        let mut message = vec![7, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            message.push(u8::try_from(label.len()).unwrap());
            message.extend(label.as_bytes());
        }
        message.extend([0, 0, 1, 0, 1]);
        socket.send_to(&message, world.names).unwrap();
        let mut answer = [0; 512];
        let length = socket.recv(&mut answer).unwrap();
        (answer[3] & 15, answer[length - 4..length].to_vec())
    };
    assert_eq!(ask("x.a.example"), (0, vec![198, 18, 0, 1]));
    assert_eq!(ask("y.a.example"), (0, vec![198, 18, 0, 2]));
    assert_eq!(ask("X.A.example"), (0, vec![198, 18, 0, 1]));
    for name in ["a.example", "c2VjcmV0.evil.example", "x.a.example.evil.example", "localhost"] {
        assert_eq!(ask(name).0, 3, "{name}");
    }
    assert_eq!(*world.looked_up.lock().unwrap(), ["x.a.example", "y.a.example"]);
    assert_eq!(world.refused().0, "a.example");
}

#[test]
fn much_goes_through_in_both_directions() {
    const MUCH: usize = 20_000_000;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut writes = stream.try_clone().unwrap();
        let (mut reads, mut total) = (stream, 0);
        let writing = thread::spawn(move || writes.write_all(&vec![b'x'; MUCH]).unwrap());
        let mut bytes = vec![0; 65536];
        while total < MUCH {
            total += reads.read(&mut bytes).unwrap();
        }
        writing.join().unwrap();
    });
    let world = world(vec![led("a.example", port)], 10, &[]);
    let mut stream = world.connect();
    stream.write_all(format!("CONNECT a.example:{port} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
    stream.read_exact(&mut [0; 39]).unwrap();
    let mut writes = stream.try_clone().unwrap();
    let writing = thread::spawn(move || {
        writes.write_all(&vec![0; MUCH]).unwrap();
    });
    let mut all = vec![0; MUCH];
    // Late, so that it has to wait for us.
    thread::sleep(Duration::from_millis(300));
    stream.read_exact(&mut all).unwrap();
    writing.join().unwrap();
    assert!(all.iter().all(|byte| *byte == b'x'));
    assert_eq!(rest(&mut stream), "");
    drop(stream);
    let passed = world.passed();
    assert_eq!((passed.sent, passed.received), (MUCH as u64, MUCH as u64));
}

#[test]
fn connections_are_bounded_and_end_with_the_sandbox() {
    let (port, _) = server(b"\r\n\r\n");
    let mut world = world(vec![led("a.example", port)], 2, &[]);
    let (mut one, mut two) = (world.connect(), world.connect());
    one.write_all(b"GET ").unwrap();
    two.write_all(b"GET ").unwrap();
    thread::sleep(Duration::from_millis(100));
    assert_eq!(world.said(b"GET "), "", "a third one is broken off");
    world.life = None;
    assert_eq!(rest(&mut one), "");
    assert_eq!(rest(&mut two), "");
    thread::sleep(Duration::from_millis(100));
    assert!(TcpStream::connect(world.proxy).is_err(), "nobody listens any more");
}
