//! What the way through the proxy costs, beside the direct one: throughput, a round trip, a connection. `cargo bench -p toolgate-egress`

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a program for people"
)]

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::thread;
    use std::time::{Duration, Instant};

    use toolgate_egress::proxy::{Sandbox, serve};
    use toolgate_egress::{Entry, List, Lists, Subject};

    const MUCH: usize = 1 << 30;
    const PINGS: u32 = 20_000;
    const CONNECTIONS: u32 = 2_000;
    const TURNS: usize = 5;

    /// Answers `b` with as much as there is, and every other byte with itself.
    fn server() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    stream.set_nodelay(true).unwrap();
                    let (mut byte, block) = ([0], vec![0; 1 << 16]);
                    while stream.read(&mut byte).is_ok_and(|count| count == 1) {
                        if byte == *b"b" {
                            (0..MUCH / block.len()).for_each(|_| stream.write_all(&block).unwrap());
                        } else if stream.write_all(&byte).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        port
    }

    fn proxy(port: u16) -> (SocketAddr, UnixStream) {
        let any = (Ipv4Addr::LOCALHOST, 0);
        let listener = TcpListener::bind(any).unwrap();
        let at = listener.local_addr().unwrap();
        let (life, theirs) = UnixStream::pair().unwrap();
        let sandbox = Sandbox {
            listeners: vec![listener],
            questions: UdpSocket::bind(any).unwrap(),
            long_questions: TcpListener::bind(any).unwrap(),
            life: OwnedFd::from(theirs),
        };
        let subject = Subject::name("a.example").unwrap();
        let entry = Entry {
            subject,
            ports: vec![port],
            addresses: vec![Ipv4Addr::LOCALHOST.into()],
            ..Entry::default()
        };
        let lists = Lists::new(vec![List { entries: vec![entry] }]);
        thread::spawn(move || {
            serve(sandbox, lists, Arc::new(|_| Ok(Vec::new())), 1000, Box::new(drop)).unwrap();
        });
        (at, life)
    }

    pub(super) fn main() {
        let port = server();
        let (at, _life) = proxy(port);
        let direct = || {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            stream.set_nodelay(true).unwrap();
            stream
        };
        let through = || {
            let mut stream = TcpStream::connect(at).unwrap();
            stream.set_nodelay(true).unwrap();
            stream.write_all(format!("CONNECT a.example:{port} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
            stream.read_exact(&mut [0; 39]).unwrap();
            // Not the beginning of a request, so it passes at once.
            stream.write_all(b"\0").unwrap();
            stream.read_exact(&mut [0]).unwrap();
            stream
        };
        let ways: [(&str, &dyn Fn() -> TcpStream); 2] =
            [("direct", &direct), ("through the proxy", &through)];
        for _ in 0..TURNS {
            for (name, connect) in ways {
                let mut stream = connect();
                let begun = Instant::now();
                stream.write_all(b"b").unwrap();
                let (mut block, mut left) = (vec![0; 1 << 16], MUCH);
                while left > 0 {
                    left -= stream.read(&mut block).unwrap();
                }
                let bulk = begun.elapsed();
                let begun = Instant::now();
                for _ in 0..PINGS {
                    stream.write_all(b"p").unwrap();
                    stream.read_exact(&mut [0]).unwrap();
                }
                let ping = begun.elapsed() / PINGS;
                let begun = Instant::now();
                for _ in 0..CONNECTIONS {
                    let mut stream = connect();
                    stream.write_all(b"p").unwrap();
                    stream.read_exact(&mut [0]).unwrap();
                }
                let connections = f64::from(CONNECTIONS) / begun.elapsed().as_secs_f64();
                let rate = f64::from(u32::try_from(MUCH >> 20).unwrap()) / bulk.as_secs_f64();
                println!(
                    "{name:18} {rate:6.0} MiB/s, round trip {:5.1} us, {connections:6.0} connections/s",
                    micros(ping)
                );
            }
        }
    }

    fn micros(time: Duration) -> f64 {
        time.as_secs_f64() * 1e6
    }
}
