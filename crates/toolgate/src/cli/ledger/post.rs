//! Sends a batch to a collector on this machine, and waits for its answer.
//!
//! Promise: a batch counts as delivered with an answer of 2xx and with nothing else. Plain HTTP, to loopback alone: toolgate speaks no TLS, and
//! what leaves the machine is for the collector to protect.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::thread;
use std::time::Duration;

/// A collector that says nothing for so long is not there.
const PATIENCE: Duration = Duration::from_secs(10);
/// Waits between attempts begin with this, and double.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// And are no longer than this.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// No answer of a collector is longer.
const MAX_ANSWER: u64 = 64 * 1024;

/// Where batches go: `http://127.0.0.1:4318/v1/logs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Collector {
    authority: String,
    path: String,
    address: SocketAddr,
}

impl FromStr for Collector {
    type Err = String;

    fn from_str(text: &str) -> Result<Collector, String> {
        let rest = text.strip_prefix("http://").ok_or(
            "only `http://` to this machine is spoken; have a collector here speak TLS to the others",
        )?;
        let (authority, path) = match rest.split_once('/') {
            Some((authority, path)) => (authority, format!("/{path}")),
            None => (rest, "/v1/logs".to_owned()),
        };
        if text.bytes().any(|byte| byte.is_ascii_control() || byte == b' ') || authority.contains('@') {
            return Err(format!("`{text}` is no address: http://127.0.0.1:4318/v1/logs"));
        }
        let port = if authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
            ""
        } else {
            ":4318"
        };
        let authority = format!("{authority}{port}");
        let mut found = authority.to_socket_addrs().map_err(|error| format!("`{authority}`: {error}"))?;
        // Commands and paths of a log do not leave the machine in the clear.
        let address = found.find(|address| address.ip().is_loopback()).ok_or_else(|| {
            format!("`{authority}` is not on this machine; have a collector here speak TLS to the others")
        })?;
        Ok(Collector { authority, path, address })
    }
}

/// What became of one attempt.
enum Attempt {
    Taken,
    /// Another attempt may help.
    Later(String),
    /// No attempt will help.
    Never(String),
}

impl Collector {
    /// Sends a batch until it is taken, or so many attempts have failed.
    pub(super) fn deliver(&self, body: &str, attempts: u32) -> Result<(), String> {
        let mut wait = FIRST_WAIT;
        let mut tried = 0;
        loop {
            tried += 1;
            match self.attempt(body) {
                Attempt::Taken => return Ok(()),
                Attempt::Never(why) => return Err(why),
                Attempt::Later(why) if tried >= attempts => {
                    return Err(format!(
                        "{why}; after {tried} attempts. What was not taken is sent again next time"
                    ));
                }
                Attempt::Later(_) => {}
            }
            thread::sleep(wait);
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    fn attempt(&self, body: &str) -> Attempt {
        let status = match self.post(body) {
            Ok(status) => status,
            Err(error) => return Attempt::Later(format!("{}: {error}", self.authority)),
        };
        let said = format!("{} answered {status}", self.authority);
        match status {
            200..=299 => Attempt::Taken,
            // What OTLP names as worth another attempt, and what servers say that have just started.
            408 | 429 | 500..=599 => Attempt::Later(said),
            _ => Attempt::Never(said),
        }
    }

    /// The status that it answers with.
    fn post(&self, body: &str) -> io::Result<u16> {
        let mut stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.path,
            self.authority,
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let mut answer = Vec::new();
        let mut part = [0; 1024];
        // The first line is enough, and it has to be whole: half an answer is none.
        while !answer.contains(&b'\n') {
            let count = stream.read(&mut part)?;
            answer.extend_from_slice(part.get(..count).unwrap_or_default());
            if count == 0 || answer.len() as u64 > MAX_ANSWER {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let text = String::from_utf8_lossy(&answer);
        let status = text.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
        status.and_then(|status| status.parse().ok()).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_spoken_to() {
        for (text, path) in [
            ("http://127.0.0.1:4318/v1/logs", "/v1/logs"),
            ("http://127.0.0.1", "/v1/logs"),
            ("http://[::1]:9/x", "/x"),
        ] {
            assert_eq!(text.parse::<Collector>().map(|found| found.path), Ok(path.to_owned()), "{text}");
        }
        for text in [
            "https://127.0.0.1:4318/v1/logs",
            "http://192.0.2.1:4318/v1/logs",
            "http://me@127.0.0.1:4318/",
            "http://127.0.0.1:4318/a b",
            "127.0.0.1:4318",
        ] {
            assert!(text.parse::<Collector>().is_err(), "{text}");
        }
    }
}
