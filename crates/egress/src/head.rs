//! The head of an HTTP request: read strictly, and written again.
//!
//! Against whom: a program that sends a request in which we find one host and the server another, or in which the server finds a second
//! request. So a head has one reading or none; what is passed on is written from what was read; and a connection carries one request, whose
//! end is known.

use crate::name::Host;

/// A head and what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// How long it is, its last empty line included.
    pub length: usize,
    /// The method.
    pub method: String,
    /// Where it goes.
    pub target: Target,
    /// What follows it.
    pub body: Body,
    /// The headers that are passed on.
    headers: Vec<(String, String)>,
}

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A host by its header, the port if the header has one, and a path: sent to the host itself.
    Direct(Host, Option<u16>, String),
    /// A host in the request's own line, and a path: sent to a proxy.
    Through(Host, u16, String),
    /// A connection through a proxy.
    Connect(Host, u16),
}

/// How long the body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// So many bytes.
    Bytes(u64),
    /// Until its last chunk.
    Chunks(Chunks),
}

/// Why there is no head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoHead {
    /// It is not all there.
    Unfinished,
    /// It is none that is passed on.
    Bad,
}

/// A head is at most this long.
pub(crate) const MOST: usize = 32 * 1024;
const MOST_HEADERS: usize = 200;

/// Headers that are between two ends of one connection. `Upgrade` is one: what comes after it cannot be read.
const OF_CONNECTION: [&str; 9] = [
    "connection",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "upgrade",
];

fn is_token(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_letter)
}

/// Whether these first bytes are the line of a request, or may become one: what comes is held back as long as they may.
///
/// Servers pass over empty lines before a request, and some take a tab for a blank. So every line of text that names HTTP counts.
pub(crate) fn may_be_request(bytes: &[u8]) -> bool {
    let begin = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(bytes.len());
    let rest = bytes.get(begin..).unwrap_or_default();
    match rest.iter().position(|byte| *byte == b'\n').and_then(|end| rest.get(..end)) {
        Some(line) => names_http(line),
        None => rest.iter().all(|byte| matches!(byte, b'\t' | b'\r' | b' '..=b'~' | 0x80..)),
    }
}

/// Whether a text says anywhere that it is HTTP.
pub(crate) fn names_http(text: &[u8]) -> bool {
    text.windows(5).any(|five| five.eq_ignore_ascii_case(b"HTTP/"))
}

/// Reads the head of a request.
pub fn head(bytes: &[u8]) -> Result<Head, NoHead> {
    let Some(end) = bytes.windows(4).take(MOST).position(|four| four == b"\r\n\r\n") else {
        return Err(if bytes.len() < MOST && may_be_request(bytes) {
            NoHead::Unfinished
        } else {
            NoHead::Bad
        });
    };
    let text = bytes.get(..end).and_then(|head| std::str::from_utf8(head).ok()).ok_or(NoHead::Bad)?;
    read(text, end + 4).ok_or(NoHead::Bad)
}

fn read(text: &str, length: usize) -> Option<Head> {
    let mut lines = text.split("\r\n");
    // A line feed alone ends a line for some servers, and a carriage return alone for a few.
    let is_plain = |line: &str| line.chars().all(|letter| letter == '\t' || !letter.is_control());
    let first = lines.next().filter(|line| is_plain(line))?;
    let mut words = first.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !is_token(method) || !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        return None;
    }
    if !target.is_ascii() || target.contains('#') {
        return None;
    }
    let (mut headers, mut hosts, mut lengths, mut codings) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for line in lines {
        let (name, value) = line.split_once(':').filter(|(name, _)| is_token(name) && is_plain(line))?;
        let (name, value) = (name.to_ascii_lowercase(), value.trim_matches([' ', '\t']));
        match name.as_str() {
            "host" => hosts.push(value),
            "content-length" => lengths.push(value),
            "transfer-encoding" => codings.push(value),
            _ => {}
        }
        if !OF_CONNECTION.contains(&name.as_str()) {
            headers.push((name, value.to_owned()));
        }
        if headers.len() > MOST_HEADERS {
            return None;
        }
    }
    let body = match (lengths.as_slice(), codings.as_slice()) {
        ([], []) => Body::Bytes(0),
        ([length], []) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
            Body::Bytes(length.parse().ok()?)
        }
        ([], [coding]) if coding.eq_ignore_ascii_case("chunked") && version == "HTTP/1.1" => {
            Body::Chunks(Chunks::BEGIN)
        }
        _ => return None,
    };
    let named = match hosts.as_slice() {
        [] => None,
        [host] => Some(Host::parse_with_port(host, Some(0))?),
        _ => return None,
    };
    let target = if method == "CONNECT" {
        let (host, port) = Host::parse_with_port(target, None)?;
        Target::Connect(host, port)
    } else if let Some(rest) = strip_scheme(target) {
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(at)?;
        let (host, port) = Host::parse_with_port(authority, Some(80))?;
        // A proxy has to go by the line. A header that says another thing is a trap for somebody.
        if named.is_some_and(|(named, at)| named != host || !matches!(at, 0 | 80 if port == 80) && at != port)
        {
            return None;
        }
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Target::Through(host, port, path)
    } else if target.starts_with('/') || (target == "*" && method == "OPTIONS") {
        let (host, port) = named?;
        Target::Direct(host, Some(port).filter(|port| *port > 0), target.to_owned())
    } else {
        return None;
    };
    Some(Head { length, method: method.to_owned(), target, body, headers })
}

fn strip_scheme(target: &str) -> Option<&str> {
    let (scheme, rest) = target.split_once("://")?;
    scheme.eq_ignore_ascii_case("http").then_some(rest)
}

impl Head {
    /// The head that is passed on to the server: for one request, by the path alone.
    pub fn passed_on(&self) -> Vec<u8> {
        let (host, port, path) = match &self.target {
            Target::Direct(host, port, path) => (host, port.unwrap_or(80), path.as_str()),
            Target::Through(host, port, path) => (host, *port, path.as_str()),
            Target::Connect(host, port) => (host, *port, ""),
        };
        let host = match host {
            Host::Address(address) if address.is_ipv6() => format!("[{address}]"),
            Host::Name(_) | Host::Address(_) => host.to_string(),
        };
        let port = if port == 80 { String::new() } else { format!(":{port}") };
        let mut text = format!("{} {path} HTTP/1.1\r\nhost: {host}{port}\r\n", self.method);
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("connection: close\r\n\r\n");
        text.into_bytes()
    }
}

/// How far a body in chunks has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chunks {
    /// In the line with a chunk's length: what was read of it, and how many digits.
    Size(u64, u8),
    /// In what follows the length in its line, which is ignored.
    Extension(u64, u8),
    /// Behind the carriage return of that line.
    SizeEnd(u64),
    /// In a chunk: so many bytes are left.
    Data(u64),
    /// Behind a chunk.
    DataEnd,
    /// Behind the carriage return there.
    DataEndFeed,
    /// Behind the last chunk, at the beginning of a line.
    Last,
    /// There, behind the carriage return.
    LastFeed,
    /// All has been read.
    Done,
}

impl Chunks {
    /// At its beginning.
    pub const BEGIN: Chunks = Chunks::Size(0, 0);

    /// How many of these bytes belong to it. `None`: it is malformed, or has trailers, which some servers take for headers.
    pub fn advance(&mut self, bytes: &[u8]) -> Option<usize> {
        /// Nobody needs an extension, and nobody writes a long one.
        const MOST_EXTENSION: u8 = 200;
        let mut at = 0;
        while let Some(byte) = bytes.get(at).filter(|_| *self != Chunks::Done) {
            if let Chunks::Data(left) = *self {
                let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len() - at);
                at += here;
                let left = left - here as u64;
                *self = if left == 0 { Chunks::DataEnd } else { Chunks::Data(left) };
                continue;
            }
            at += 1;
            *self = match (*self, *byte) {
                (Chunks::Size(size, digits @ 0..15), digit) if digit.is_ascii_hexdigit() => {
                    let digit = char::from(digit).to_digit(16)?;
                    Chunks::Size(size << 4 | u64::from(digit), digits + 1)
                }
                (Chunks::Size(size, 1..), b'\r') => Chunks::SizeEnd(size),
                (Chunks::Size(size, 1..), b';') => Chunks::Extension(size, 0),
                (Chunks::Extension(size, _), b'\r') => Chunks::SizeEnd(size),
                (Chunks::Extension(size, read @ 0..MOST_EXTENSION), letter)
                    if (b' '..0x7f).contains(&letter) =>
                {
                    Chunks::Extension(size, read + 1)
                }
                (Chunks::SizeEnd(0), b'\n') => Chunks::Last,
                (Chunks::SizeEnd(size), b'\n') => Chunks::Data(size),
                (Chunks::DataEnd, b'\r') => Chunks::DataEndFeed,
                (Chunks::DataEndFeed, b'\n') => Chunks::BEGIN,
                (Chunks::Last, b'\r') => Chunks::LastFeed,
                (Chunks::LastFeed, b'\n') => Chunks::Done,
                _ => return None,
            };
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Option<String> {
        let read = head(text.as_bytes()).ok()?;
        Some(match read.target {
            Target::Direct(host, port, path) => format!("{host} {} {path}", port.unwrap_or(80)),
            Target::Through(host, port, path) => format!("through {host} {port} {path}"),
            Target::Connect(host, port) => format!("connect {host} {port}"),
        })
    }

    #[test]
    fn a_request_says_where_it_goes() {
        for (text, expected) in [
            ("GET /a?b=http://c HTTP/1.1\r\nHost: A.example\r\n\r\n", "a.example 80 /a?b=http://c"),
            ("GET / HTTP/1.0\r\nhost:a.example:8080 \r\nx: y\r\n\r\nrest", "a.example 8080 /"),
            ("OPTIONS * HTTP/1.1\r\nHost: [::1]\r\n\r\n", "::1 80 *"),
            ("GET http://a.example HTTP/1.1\r\nHost: a.example\r\n\r\n", "through a.example 80 /"),
            ("GET HTTP://a.example:81?x HTTP/1.1\r\n\r\n", "through a.example 81 /?x"),
            ("CONNECT a.example:443 HTTP/1.1\r\nHost: other\r\n\r\n", "connect a.example 443"),
            ("CONNECT [::ffff:7f00:1]:443 HTTP/1.1\r\n\r\n", "connect 127.0.0.1 443"),
        ] {
            assert_eq!(target(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_two_readers_could_read_differently_is_refused() {
        for text in [
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n",
            "GET / HTTP/1.1\r\nHost : a.example\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.example\r\n Host: b.example\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.example\nHost: b.example\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.example\rx\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.example\0\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: user@a.example\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.example, b.example\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a%2eexample\r\n\r\n",
            "GET /  HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "GET\t/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "GET / HTTP/2.0\r\nHost: a.example\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\n",
            "GET a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "GET ftp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "GET http://b.example@a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "GET http://b.example\\@a.example/ HTTP/1.1\r\n\r\n",
            "GET //b.example#/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "CONNECT a.example HTTP/1.1\r\n\r\n",
            "CONNECT a.example:443/x HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: +1\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "POST / HTTP/1.0\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n",
            "\r\nGET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        ] {
            assert_eq!(head(text.as_bytes()), Err(NoHead::Bad), "{text:?}");
        }
    }

    #[test]
    fn a_request_is_held_back_as_long_as_it_may_be_one() {
        let whole = b"GET /a HTTP/1.1\r\nHost: a.example\r\n\r\n";
        for end in 0..whole.len() {
            assert_eq!(head(&whole[..end]), Err(NoHead::Unfinished), "{end}");
        }
        for bytes in [
            &b"\r\n"[..],
            b"\nGET",
            b"\r\n\r\nGET / HTTP/1",
            b"X",
            b"FOO /",
            b"GET\t/",
            b"GET\t/\thttp/1.1\n",
        ] {
            assert!(may_be_request(bytes), "{bytes:?}");
        }
        for bytes in [
            &b"SSH-2.0-OpenSSH\r\n"[..],
            b"\x16\x03",
            b"EHLO a.example\r\n",
            b"*1\r\n$4\r\n",
            b"AMQP\0\0",
            b"GET / XTTP\n",
            b"a@b\n",
        ] {
            assert!(!may_be_request(bytes), "{bytes:?}");
        }
        let long = [&b"GET /"[..], &vec![b'a'; MOST]].concat();
        assert_eq!(head(&long), Err(NoHead::Bad));
    }

    #[test]
    fn what_is_passed_on_is_written_anew() {
        let text = "POST http://a.example:81/x HTTP/1.1\r\nProxy-Authorization: Basic x\r\nUpgrade: h2c\r\nConnection: x\r\n\
                    Accept:  a/b \r\nContent-Length: 3\r\n\r\nabc";
        let head = head(text.as_bytes()).unwrap();
        assert_eq!(
            String::from_utf8(head.passed_on()).unwrap(),
            "POST /x HTTP/1.1\r\nhost: a.example:81\r\naccept: a/b\r\ncontent-length: 3\r\nconnection: close\r\n\r\n"
        );
        assert_eq!((head.body, text.len() - head.length), (Body::Bytes(3), 3));
    }

    #[test]
    fn the_end_of_a_body_in_chunks_is_known() {
        let whole = b"3\r\nabc\r\nA;x=\"y\"\r\n0123456789\r\n0\r\n\r\nGET / HTTP/1.1";
        let end = whole.len() - 14;
        for step in [1, 2, 5, whole.len()] {
            let (mut chunks, mut at) = (Chunks::BEGIN, 0);
            while chunks != Chunks::Done {
                let next = whole.len().min(at + step);
                at += chunks.advance(&whole[at..next]).unwrap();
            }
            assert_eq!(at, end, "{step}");
        }
        for bytes in [
            &b"\r\n"[..],
            b"g\r\n",
            b"-1\r\n",
            b"1\n",
            b"1\r\nab",
            b"0\r\nX: y\r\n\r\n",
            b"1234567890123456\r\n",
            b"1 \r\n",
        ] {
            assert_eq!({ Chunks::BEGIN }.advance(bytes), None, "{bytes:?}");
        }
    }
}
