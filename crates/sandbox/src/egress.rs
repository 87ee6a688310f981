//! The network of a sandbox whose connections are taken by somebody outside.
//!
//! It has a loopback and nothing else, so nothing leads out of it. Every address there is its own: whoever connects to any comes to a listener
//! of ours, which knows by the address whom they meant. The listeners are made here and handed over, and what comes to them is taken by a
//! process outside of the sandbox; a socket stays in the network that it was made in. So no process of ours has to live in
//! here that a command could stop, trace or speak through.
//!
//! Against whom: a command that looks for another way. UDP, ICMP and raw sockets end at the loopback as well.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    recv, sendmsg, sendto, socket_with,
};

use crate::plan::{Egress, HANDED_OVER, MOST_PORTS, PORT_OF_NAMES};

/// What programs inside read to find out whom to ask for names. Any address leads to us; this one is there without a route.
pub(crate) const RESOLVER: &[u8] = b"nameserver 127.0.0.1\n";

/// Makes every address of this network namespace its own, listens, and hands the listeners over. Its loopback is on.
pub(crate) fn hand_over(egress: &Egress) -> io::Result<()> {
    if egress.ports.len() > MOST_PORTS {
        return Err(io::Error::other("there are too many ports"));
    }
    own_all_addresses(AddressFamily::INET)?;
    // A kernel without it has no such addresses.
    let any = match own_all_addresses(AddressFamily::INET6)
        .and_then(|()| UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)))
    {
        Ok(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        Err(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
    };
    let at = |port: u16| SocketAddr::new(any.ip(), port);
    let questions = UdpSocket::bind(at(PORT_OF_NAMES))?;
    let ports =
        [PORT_OF_NAMES].into_iter().chain(egress.ports.iter().copied().filter(|port| *port != PORT_OF_NAMES));
    let listeners = ports.map(|port| TcpListener::bind(at(port))).collect::<io::Result<Vec<_>>>()?;
    let all: Vec<BorrowedFd<'_>> =
        [questions.as_fd()].into_iter().chain(listeners.iter().map(AsFd::as_fd)).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_PORTS + 2))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    if !message.push(SendAncillaryMessage::ScmRights(&all)) {
        return Err(io::Error::other("there are too many ports"));
    }
    sendmsg(&*egress.socket, &[IoSlice::new(&[HANDED_OVER])], &mut message, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Routes all addresses of a family to this machine itself: `ip route add local default dev lo`.
fn own_all_addresses(family: AddressFamily) -> io::Result<()> {
    const NEW_ROUTE: u16 = 24;
    /// A request, to be acknowledged; it makes something, which is not there.
    const FLAGS: u16 = 0x1 | 0x4 | 0x400 | 0x200;
    const LENGTH: u32 = 16 + 12 + 8;
    const TABLE_LOCAL: u8 = 255;
    const PROTOCOL_BOOT: u8 = 3;
    const SCOPE_HOST: u8 = 254;
    const TYPE_LOCAL: u8 = 2;
    const OUTPUT_DEVICE: u16 = 4;
    /// In every network namespace.
    const LOOPBACK: u32 = 1;
    let family = u8::try_from(family.as_raw()).map_err(io::Error::other)?;
    let mut request = Vec::with_capacity(64);
    request.extend(LENGTH.to_ne_bytes());
    request.extend(NEW_ROUTE.to_ne_bytes());
    request.extend(FLAGS.to_ne_bytes());
    request.extend([0; 8]);
    request.extend([family, 0, 0, 0, TABLE_LOCAL, PROTOCOL_BOOT, SCOPE_HOST, TYPE_LOCAL]);
    request.extend([0; 4]);
    request.extend(8_u16.to_ne_bytes());
    request.extend(OUTPUT_DEVICE.to_ne_bytes());
    request.extend(LOOPBACK.to_ne_bytes());
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    sendto(&socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; 256];
    let (length, _) = recv(&socket, &mut answer, RecvFlags::empty())?;
    // A header of 16 bytes, then the error: zero, or a negative number.
    let error = answer.get(16..20).filter(|_| length >= 20).and_then(|error| <[u8; 4]>::try_from(error).ok());
    match error.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(error) => Err(Errno::from_raw_os_error(error.wrapping_neg()).into()),
        None => Err(Errno::PROTO.into()),
    }
}
