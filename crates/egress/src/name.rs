//! Names of hosts in their plain form.
//!
//! Against whom: a program that writes a name such that we read another one than whoever connects. So a name is letters, digits, `-`
//! and `_` in labels, and nothing else is one: no percent signs, no NUL, no letters of other alphabets, no number that some C
//! library takes for an address (`127.1`, `0x7f.1`, `2130706433`).

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use serde::{Deserialize, Serialize};

/// A name in small letters, without a dot at its end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Name(String);

/// A name of the domain name system is at most this long.
const MOST: usize = 253;
const MOST_OF_LABEL: usize = 63;

impl Name {
    /// Reads a name. `None`: it is none, or in no plain form.
    pub fn parse(text: &str) -> Option<Name> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let is_plain = text.len() <= MOST && text.split('.').all(is_label);
        let last = text.rsplit('.').next().unwrap_or_default();
        (is_plain && !is_number(last)).then(|| Name(text.to_ascii_lowercase()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it lies below another one, by at least one label.
    pub fn is_below(&self, other: &Name) -> bool {
        self.0.strip_suffix(other.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_label(label: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !label.is_empty()
        && label.len() <= MOST_OF_LABEL
        && label.bytes().all(is_letter)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// Whether C libraries take a text with this last part for an address.
fn is_number(last: &str) -> bool {
    let hex = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    last.bytes().all(|byte| byte.is_ascii_digit())
        || hex.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// What a connection goes to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    /// A name.
    Name(Name),
    /// An address. One of IPv4 is never written as one of IPv6.
    Address(IpAddr),
}

impl Host {
    /// Reads a name, or an address in its plain form; one of IPv6 in brackets or without.
    pub fn parse(text: &str) -> Option<Host> {
        let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        match inside {
            Some(inside) => inside.parse::<Ipv6Addr>().ok().map(|address| Host::of(IpAddr::V6(address))),
            None => match text.parse::<IpAddr>() {
                Ok(address) => Some(Host::of(address)),
                Err(_) => Name::parse(text).map(Host::Name),
            },
        }
    }

    /// An address as a host.
    pub fn of(address: IpAddr) -> Host {
        Host::Address(address.to_canonical())
    }

    /// Reads `HOST:PORT`, or `HOST` alone where there is a usual port.
    pub(crate) fn parse_with_port(text: &str, usual: Option<u16>) -> Option<(Host, u16)> {
        let has_port = text.rfind(':').filter(|at| text.rfind(']').is_none_or(|end| *at > end));
        let Some(at) = has_port else { return Some((Host::parse(text)?, usual?)) };
        let (host, port) = (text.get(..at)?, text.get(at + 1..)?);
        // An address of IPv6 with a port has brackets: without them nobody knows where it ends.
        let is_plain = !port.is_empty() && port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|port| is_plain && *port > 0)?;
        if host.contains(':') && !host.starts_with('[') {
            return None;
        }
        Some((Host::parse(host)?, port))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => name.fmt(f),
            Host::Address(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_form() {
        for (text, name) in [
            ("Example.COM", "example.com"),
            ("example.com.", "example.com"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("_dmarc.example.com", "_dmarc.example.com"),
            ("localhost", "localhost"),
            ("3.example", "3.example"),
            ("0xzz", "0xzz"),
        ] {
            assert_eq!(Name::parse(text).unwrap().as_str(), name);
        }
        let long = "a".repeat(64);
        let many = ["abcdefg"; 32].join(".");
        for text in [
            "",
            ".",
            "a..b",
            ".a",
            "a b",
            "a\0.example",
            "evil.example\0.example.com",
            "a%2eb",
            "bücher.example",
            "a/b",
            "a:80",
            "user@example.com",
            "-a.example",
            "a-.example",
            "example.com..",
            "[::1]",
            "a\u{2024}b",
            "ⓔxample.com",
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0X7f.1",
            "0177.0.0.1",
            "1.2.3.4.5",
            "a.0x",
            "example.1",
            "a\r\nb",
            &long,
            &many,
        ] {
            assert_eq!(Name::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn an_address_is_read_in_its_plain_form_alone() {
        for (text, host) in [
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]", "::1"),
            ("::1", "::1"),
            ("::ffff:127.0.0.1", "127.0.0.1"),
            ("[::ffff:7f00:1]", "127.0.0.1"),
        ] {
            assert_eq!(Host::parse(text).unwrap().to_string(), host, "{text}");
            assert!(matches!(Host::parse(text), Some(Host::Address(_))), "{text}");
        }
        for text in [
            "0127.0.0.1",
            "127.0.0.01",
            "1.2.3",
            "[127.0.0.1]",
            "[::1",
            "::1]",
            "fe80::1%eth0",
            "[fe80::1%25lo]",
            "0x7f.0.0.1",
        ] {
            assert_eq!(Host::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_port_is_a_plain_number() {
        let parse =
            |text: &str| Host::parse_with_port(text, Some(80)).map(|(host, port)| (host.to_string(), port));
        for (text, host, port) in [
            ("a.example", "a.example", 80),
            ("a.example:8080", "a.example", 8080),
            ("[::1]:443", "::1", 443),
            ("[::1]", "::1", 80),
            ("1.2.3.4:1", "1.2.3.4", 1),
        ] {
            assert_eq!(parse(text), Some((host.to_owned(), port)), "{text}");
        }
        for text in [
            "a.example:",
            "a.example:0",
            "a.example:+80",
            "a.example:65536",
            "a.example: 80",
            "::1:443",
            "a:b:80",
            ":80",
            "a.example:080000",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn below_is_by_whole_labels() {
        let name = |text| Name::parse(text).unwrap();
        let top = name("example.com");
        assert!(name("a.example.com").is_below(&top) && name("b.a.example.com").is_below(&top));
        assert!(!name("example.com").is_below(&top) && !name("badexample.com").is_below(&top));
        assert!(!name("example.com.evil.example").is_below(&top));
    }
}
