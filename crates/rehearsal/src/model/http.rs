//! As much HTTP as a client of a model speaks to one: a request with a body, an answer, and the connection ends.
//!
//! The other side is a real client on loopback, not an attacker; the bounds are there so that one that goes
//! wrong ends its run and not ours.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A client that says nothing for so long is gone.
const SILENCE: Duration = Duration::from_mins(1);
/// Longest line of a head.
const LINE: u64 = 64 * 1024;
/// Most lines of a head.
const LINES: usize = 200;
/// Longest body. A conversation with all its tools is well below a megabyte.
const BODY: u64 = 64 * 1024 * 1024;

/// A request.
#[derive(Debug)]
pub(super) struct Request {
    /// `GET`, `POST` …
    pub(super) method: String,
    /// The path with its query.
    pub(super) target: String,
    /// The body.
    pub(super) body: Vec<u8>,
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The status.
    pub(super) status: u16,
    /// The type of the body.
    pub(super) kind: &'static str,
    /// The body.
    pub(super) body: String,
}

impl Answer {
    /// A JSON document.
    pub(super) fn json(value: &serde_json::Value) -> Answer {
        Answer { status: 200, kind: "application/json", body: value.to_string() }
    }

    /// A stream of events, each a name and its data; an event without a name is data alone.
    pub(super) fn events<'a>(events: impl IntoIterator<Item = (&'a str, String)>) -> Answer {
        let mut body = String::new();
        for (name, data) in events {
            if !name.is_empty() {
                body.push_str(&format!("event: {name}\n"));
            }
            body.push_str(&format!("data: {data}\n\n"));
        }
        Answer { status: 200, kind: "text/event-stream", body }
    }

    /// There is nothing here.
    pub(super) fn missing() -> Answer {
        Answer {
            status: 404,
            kind: "application/json",
            body: r#"{"error":{"message":"not here"}}"#.to_owned(),
        }
    }
}

/// Reads one request.
pub(super) fn read(stream: &TcpStream) -> io::Result<Request> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    let mut input = BufReader::new(stream);
    let first = line(&mut input)?;
    let mut words = first.split(' ').map(str::to_owned);
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(bad("no request line"));
    };

    let (mut length, mut chunked) = (0, false);
    for _ in 0..LINES {
        let field = line(&mut input)?;
        if field.is_empty() {
            let body = if chunked { chunks(&mut input)? } else { exactly(&mut input, length)? };
            return Ok(Request { method, target, body });
        }
        let (name, value) = field.split_once(':').ok_or_else(|| bad("a field without a colon"))?;
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().map_err(|_| bad("content-length is not a number"))?,
            "transfer-encoding" => chunked = value.eq_ignore_ascii_case("chunked"),
            "expect" => (&*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?,
            _ => {}
        }
    }
    Err(bad("too many fields"))
}

/// Writes the answer. The connection ends with it, so no client waits on an old one.
pub(super) fn write(mut stream: &TcpStream, answer: &Answer) -> io::Result<()> {
    let Answer { status, kind, body } = answer;
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} -\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}

fn line(input: &mut impl BufRead) -> io::Result<String> {
    let mut bytes = Vec::new();
    input.take(LINE).read_until(b'\n', &mut bytes)?;
    if bytes.pop() != Some(b'\n') {
        return Err(bad("a line without an end"));
    }
    String::from_utf8(bytes).map(|line| line.trim_end_matches('\r').to_owned()).map_err(|_| bad("not text"))
}

fn exactly(input: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    if length > BODY {
        return Err(bad("the body is too long"));
    }
    let mut body = Vec::new();
    let got = input.take(length).read_to_end(&mut body)?;
    if got as u64 == length { Ok(body) } else { Err(bad("the body is cut")) }
}

fn chunks(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(input)?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| bad("the size of a chunk is not a number"))?;
        if body.len() as u64 + size > BODY {
            return Err(bad("the body is too long"));
        }
        body.extend(exactly(input, size)?);
        // The line end after the data; after the last chunk, the end of the (empty) trailer.
        line(input)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
