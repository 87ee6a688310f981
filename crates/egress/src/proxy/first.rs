//! What the first bytes of a connection mean.

use crate::head::{self, Head, NoHead, Target};
use crate::hello::{Hello, hello};
use crate::name::{Host, Name};

/// What a client has begun.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum First {
    /// It may become one thing or another.
    Unfinished,
    /// TLS, and the name that it asks for.
    Tls(Option<Name>),
    /// A request of HTTP.
    Http(Box<Head>),
    /// The greeting of SOCKS, so many bytes long.
    Socks(usize),
    /// Something else, which has no name in it.
    Other,
    /// Nothing that may be passed on, and why.
    Bad(&'static str),
}

/// Reads what a client has sent so far, to a port.
pub(super) fn first(bytes: &[u8], port: u16) -> First {
    let [begin, ..] = bytes else { return First::Unfinished };
    match begin {
        22 => match hello(bytes) {
            Hello::Unfinished if bytes.len() < head::MOST => First::Unfinished,
            Hello::Whole(name) => First::Tls(name),
            Hello::Unfinished | Hello::Bad => First::Bad("its TLS cannot be read"),
        },
        5 => match bytes {
            [_, count, ..] if bytes.len() >= 2 + usize::from(*count) => First::Socks(2 + usize::from(*count)),
            _ => First::Unfinished,
        },
        _ => {
            if b"SSH-".iter().zip(bytes).all(|(expected, byte)| expected == byte) {
                return if bytes.len() < 4 { First::Unfinished } else { First::Other };
            }
            if head::may_be_request(bytes) {
                return match head::head(bytes) {
                    Ok(head) => First::Http(Box::new(head)),
                    Err(NoHead::Unfinished) => First::Unfinished,
                    Err(NoHead::Bad) => First::Bad("its HTTP request cannot be read in one way alone"),
                };
            }
            match port {
                // What a web server would make of it nobody knows.
                80 | 443 => First::Bad("it is neither TLS nor HTTP"),
                _ => First::Other,
            }
        }
    }
}

/// What a request of SOCKS asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Socks {
    Unfinished,
    /// A connection, and how long the request is.
    Connect(Host, u16, usize),
    Bad,
}

/// Reads the request behind the greeting.
pub(super) fn socks(bytes: &[u8]) -> Socks {
    let [version, command, reserved, kind, rest @ ..] = bytes else { return Socks::Unfinished };
    if (*version, *command, *reserved) != (5, 1, 0) {
        return Socks::Bad;
    }
    let (length, host_at) = match (kind, rest) {
        (1, _) => (4, 0),
        (4, _) => (16, 0),
        (3, []) => return Socks::Unfinished,
        (3, [length, ..]) => (usize::from(*length), 1),
        _ => return Socks::Bad,
    };
    let Some(host) = rest.get(host_at..host_at + length) else { return Socks::Unfinished };
    let Some([high, low]) = rest.get(host_at + length..host_at + length + 2) else {
        return Socks::Unfinished;
    };
    let found = match kind {
        1 => <[u8; 4]>::try_from(host).ok().map(|bytes| Host::of(bytes.into())),
        4 => <[u8; 16]>::try_from(host).ok().map(|bytes| Host::of(bytes.into())),
        _ => std::str::from_utf8(host).ok().and_then(Host::parse),
    };
    match found {
        Some(host) => Socks::Connect(host, u16::from_be_bytes([*high, *low]), 4 + host_at + length + 2),
        None => Socks::Bad,
    }
}

/// Where a request goes: the host and the port that it names itself, and whether it was sent to a proxy.
pub(super) fn goal_of(head: &Head, port: u16) -> (Host, u16, bool) {
    match &head.target {
        Target::Direct(host, named, _) => (host.clone(), named.unwrap_or(port), false),
        Target::Through(host, port, _) | Target::Connect(host, port) => (host.clone(), *port, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hello::tests::asking_for;

    #[test]
    fn first_bytes_are_one_thing_or_held_back() {
        assert_eq!(first(b"", 443), First::Unfinished);
        assert_eq!(first(&asking_for(&[b"a.example"]), 443), First::Tls(Name::parse("a.example")));
        assert!(matches!(first(b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", 8080), First::Http(_)));
        assert_eq!(first(b"GET / HT", 8080), First::Unfinished);
        assert_eq!(first(b"\x05\x02\x00\x02", 1080), First::Socks(4));
        assert_eq!(first(b"\x05\x02\x00", 1080), First::Unfinished);
        assert_eq!(first(b"SSH-2.0-x\r\n", 443), First::Other);
        assert_eq!(first(b"PING\n", 6379), First::Other);
        assert_eq!(first(b"\0\0\0\x08\x04\xd2\x16\x2f", 5432), First::Other);
        for (bytes, port) in [
            (&b"\x16\x03\x01\0\x04\x02\0\0\0"[..], 8443),
            (b"\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 8080),
            (b"\n\r\nFOO / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 8080),
            (b"GET\t/\tHTTP/1.1\r\nHost: evil.example\r\n\r\n", 8080),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 8080),
            (b"\0\0\0", 80),
            (b"\x80\x2e\x01", 443),
        ] {
            assert!(matches!(first(bytes, port), First::Bad(_)), "{bytes:?} {:?}", first(bytes, port));
        }
    }

    #[test]
    fn a_request_of_socks_names_a_host_in_its_plain_form() {
        let asking = |kind: u8, host: &[u8]| [&[5, 1, 0, kind][..], host, &[1, 187]].concat();
        let connect = |host: &str, length| Socks::Connect(Host::parse(host).unwrap(), 443, length);
        assert_eq!(socks(&asking(1, &[127, 0, 0, 1])), connect("127.0.0.1", 10));
        assert_eq!(socks(&asking(3, b"\x09a.example")), connect("a.example", 16));
        let mapped = [&[0; 10][..], &[255, 255, 169, 254, 169, 254]].concat();
        assert_eq!(socks(&asking(4, &mapped)), connect("169.254.169.254", 22));
        for host in [&b"\x16evil.example\0.a.example"[..], b"\x04a b.", b"\x00", b"\x05127.1"] {
            assert_eq!(socks(&asking(3, host)), Socks::Bad, "{host:?}");
        }
        assert_eq!(socks(&asking(9, b"")), Socks::Bad);
        assert_eq!(socks(&[5, 2, 0, 1, 1, 1, 1, 1, 0, 80]), Socks::Bad, "binding");
        let whole = asking(3, b"\x09a.example");
        for end in 0..whole.len() {
            assert_eq!(socks(&whole[..end]), Socks::Unfinished, "{end}");
        }
    }
}
