//! Addresses: which are everybody's, and ranges of them.
//!
//! Against whom: a name whose owner has it point at the machine itself, at its network, or at a cloud's metadata service. Such addresses are
//! reached only where the list has them by their own word.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

/// A range of addresses, as `10.0.0.0/8` or as one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    first: IpAddr,
    bits: u8,
}

impl Range {
    /// Reads a range. `None`: it is none, or names bits behind its length.
    pub fn parse(text: &str) -> Option<Range> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let first: IpAddr = address.parse().ok()?;
        // The other way round a range of IPv6 would hold addresses of IPv4 that nobody meant.
        let is_mapped = matches!(first, IpAddr::V6(first) if first.to_ipv4_mapped().is_some());
        let most = if first.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) if !bits.starts_with('+') => bits.parse().ok().filter(|bits| *bits <= most)?,
            Some(_) => return None,
            None => most,
        };
        let range = Range { first, bits };
        (!is_mapped && range.masked(first) == Some(first)).then_some(range)
    }

    /// One address.
    pub fn of(address: IpAddr) -> Range {
        let first = address.to_canonical();
        Range { first, bits: if first.is_ipv4() { 32 } else { 128 } }
    }

    /// Whether an address lies in it.
    pub fn holds(&self, address: IpAddr) -> bool {
        self.masked(address.to_canonical()) == Some(self.first)
    }

    /// Whether another range lies in it.
    pub fn covers(&self, other: &Range) -> bool {
        self.bits <= other.bits && self.holds(other.first)
    }

    /// The first address of the range of this length that an address of the same kind lies in.
    fn masked(&self, address: IpAddr) -> Option<IpAddr> {
        match (self.first, address) {
            (IpAddr::V4(_), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                Some(IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask)))
            }
            (IpAddr::V6(_), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                Some(IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask)))
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => None,
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = if self.first.is_ipv4() { 32 } else { 128 };
        if self.bits == most { self.first.fmt(f) } else { write!(f, "{}/{}", self.first, self.bits) }
    }
}

/// What of IPv4 is somebody's own, or nobody's.
const NOT_PUBLIC: &[(u32, u8)] = &[
    (0x0000_0000, 8),
    (0x0a00_0000, 8),
    (0x6440_0000, 10),
    (0x7f00_0000, 8),
    (0xa9fe_0000, 16),
    (0xac10_0000, 12),
    (0xc000_0000, 24),
    (0xc000_0200, 24),
    (0xc058_6300, 24),
    (0xc0a8_0000, 16),
    (0xc612_0000, 15),
    (0xc633_6400, 24),
    (0xcb00_7100, 24),
    (0xe000_0000, 3),
];

/// What of IPv6's public part is not public: tunnels, which lead to addresses of IPv4 that are not seen, and examples.
const NOT_PUBLIC_6: &[(u128, u8)] = &[
    (0x2001_0000_u128 << 96, 23),
    (0x2001_0db8_u128 << 96, 32),
    (0x2002_0000_u128 << 96, 16),
    (0x3fff_0000_u128 << 96, 20),
];

/// Whether an address is one of the public network, and no place in this machine or near it.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => !NOT_PUBLIC.iter().any(|(first, bits)| {
            let range = Range { first: IpAddr::V4(Ipv4Addr::from_bits(*first)), bits: *bits };
            range.holds(IpAddr::V4(address))
        }),
        IpAddr::V6(address) => {
            let is_unicast = address.to_bits() >> 125 == 1;
            is_unicast
                && !NOT_PUBLIC_6.iter().any(|(first, bits)| {
                    let range = Range { first: IpAddr::V6(Ipv6Addr::from_bits(*first)), bits: *bits };
                    range.holds(IpAddr::V6(address))
                })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        for text in [
            "1.1.1.1",
            "93.184.216.34",
            "172.32.0.1",
            "169.253.0.1",
            "2606:4700::1111",
            "2a00::1",
            "100.128.0.1",
            "::ffff:1.1.1.1",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.0.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.168.1.1",
            "198.18.0.5",
            "198.19.255.255",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:169.254.169.254",
            "::ffff:10.0.0.1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "::127.0.0.1",
            "100::1",
            "5f00::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn a_range_holds_what_its_bits_say() {
        let range = |text| Range::parse(text).unwrap();
        assert!(range("10.0.0.0/8").holds("10.255.0.1".parse().unwrap()));
        assert!(range("10.0.0.0/8").holds("::ffff:10.0.0.1".parse().unwrap()));
        assert!(!range("10.0.0.0/8").holds("11.0.0.1".parse().unwrap()));
        assert!(
            range("127.0.0.1").holds("127.0.0.1".parse().unwrap())
                && !range("127.0.0.1").holds("127.0.0.2".parse().unwrap())
        );
        assert!(
            range("0.0.0.0/0").holds("9.9.9.9".parse().unwrap())
                && !range("0.0.0.0/0").holds("::1".parse().unwrap())
        );
        assert!(range("fd00::/8").holds("fd12::1".parse().unwrap()));
        assert!(
            range("10.0.0.0/8").covers(&range("10.2.0.0/16"))
                && !range("10.2.0.0/16").covers(&range("10.0.0.0/8"))
        );
        for text in [
            "10.0.0.1/8",
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0/8",
            "10.0.0.0/+8",
            "::ffff:10.0.0.0/104",
            "x",
            "010.0.0.0/8",
        ] {
            assert_eq!(Range::parse(text), None, "{text}");
        }
    }
}
