//! Whose connection it is. A port of loopback is open to every user of the machine; the kernel knows who holds the other end.

use std::net::{SocketAddr, SocketAddrV4};

/// Whether this user holds the other end of a connection. Elsewhere than on Linux the token alone decides.
pub(crate) fn is_own(client: SocketAddr, server: SocketAddr) -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    let own = rustix::process::getuid().as_raw();
    let (SocketAddr::V4(client), SocketAddr::V4(server)) = (client, server) else { return false };
    let word = |address: &SocketAddrV4| u32::from_ne_bytes(address.ip().octets());
    let plain = |address: &SocketAddrV4| format!("{:08X}:{:04X}", word(address), address.port());
    // A socket of the other family that reaches this one.
    let mark = u32::from_ne_bytes([0, 0, 255, 255]);
    let mapped = |address: &SocketAddrV4| format!("{:016X}{mark:08X}{}", 0, plain(address));
    let found = |file: &str, [local, remote]: [String; 2]| {
        let table = std::fs::read_to_string(file).ok()?;
        owner(&table, &local, &remote)
    };
    let owner = found("/proc/self/net/tcp", [plain(&client), plain(&server)]);
    owner.or_else(|| found("/proc/self/net/tcp6", [mapped(&client), mapped(&server)])) == Some(own)
}

/// The user who holds the socket with these ends, as the kernel's table says.
fn owner(table: &str, local: &str, remote: &str) -> Option<u32> {
    table.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let is_it = fields.next()? == local && fields.next()? == remote;
        // State, queues, timer and retransmissions are between.
        is_it.then(|| fields.nth(4)?.parse().ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_owner_is_the_one_of_the_other_end() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 1 1 0\n\
             1: 0100007F:D431 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 2 1 0\n";
        assert_eq!(owner(table, "0100007F:D431", "0100007F:1F90"), Some(1001));
        assert_eq!(owner(table, "0100007F:D431", "0100007F:1F91"), None);
    }

    #[test]
    fn an_own_connection_is_known_as_that() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        let stream = TcpStream::connect(server).unwrap();
        let (_accepted, client) = listener.accept().unwrap();
        assert!(is_own(client, server));
        drop(stream);
        assert!(!is_own("127.0.0.1:1".parse().unwrap(), server));
    }
}
