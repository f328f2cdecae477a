//! Claims a port for all threads of this process, and ends listening on it.
//!
//! `stop_listening` ends listening while connections that are already open go on. The server uses it when it stops: its
//! HTTP library can end listening only together with closing every idle connection, and a connection counts as idle
//! although a request for it has arrived and is not read yet.

use std::fs;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::error::{Error, Result};

/// The folder with one entry per open file of this process, on Linux and macOS.
const OPEN_FILES: &str = "/dev/fd";

/// A port that only sockets of this user with `SO_REUSEPORT` can listen on, until this value is dropped.
pub struct ClaimedPort {
    /// Bound, but it does not listen, so it gets no connections.
    socket: OwnedFd,
    /// The address that `host` stands for.
    pub address: IpAddr,
}

impl ClaimedPort {
    /// The number of the port.
    pub fn port(&self) -> u16 {
        bound_port(self.socket.as_raw_fd()).unwrap_or(0)
    }
}

/// Claims a TCP port; 0 stands for a free one. Returns `None` if another socket, of whatever program, has it.
///
/// The socket is bound before it sets `SO_REUSEPORT`. So a second claim of the same port fails. After the claim, the
/// threads of this process can listen on the port, because their sockets set `SO_REUSEPORT`, too.
pub fn claim(host: &str, port: u16) -> Result<Option<ClaimedPort>> {
    let mut addresses = (host, port).to_socket_addrs().map_err(|cause| Error::from_io("finding the host", &cause))?;
    let address = addresses.next().ok_or_else(|| Error::invalid("the host has no address"))?;
    // With `SO_REUSEADDR` a second claim would succeed until somebody listens, so the first attempt is without it. It
    // fails, too, while the system still remembers connections of an earlier process; these are no obstacle.
    let first = bound_socket(&address, false)?;
    let Some(socket) = (if first.is_some() { first } else { bound_socket(&address, true)? }) else {
        return Ok(None);
    };
    set_option(socket.as_raw_fd(), libc::SO_REUSEPORT)?;
    Ok(Some(ClaimedPort { socket, address: address.ip() }))
}

/// A socket that is bound to the address and does not listen; `None` if the address is taken.
fn bound_socket(address: &SocketAddr, reuses_address: bool) -> Result<Option<OwnedFd>> {
    let failed = || Error::from_io("claiming the port", &std::io::Error::last_os_error());
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: the call has no pointers.
    let socket = unsafe { libc::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(failed());
    }
    // SAFETY: `socket` was just opened, and nothing else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    if reuses_address {
        set_option(socket.as_raw_fd(), libc::SO_REUSEADDR)?;
    }
    if bind(socket.as_raw_fd(), address) == 0 {
        return Ok(Some(socket));
    }
    let is_taken = std::io::Error::last_os_error().raw_os_error() == Some(libc::EADDRINUSE);
    if is_taken { Ok(None) } else { Err(failed()) }
}

fn set_option(file: RawFd, option: libc::c_int) -> Result<()> {
    let on: libc::c_int = 1;
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer is valid for the call.
    let outcome = unsafe { libc::setsockopt(file, libc::SOL_SOCKET, option, (&raw const on).cast(), length) };
    let failed = || Error::from_io("setting up a socket", &std::io::Error::last_os_error());
    if outcome == 0 { Ok(()) } else { Err(failed()) }
}

fn bind(file: RawFd, address: &SocketAddr) -> libc::c_int {
    match address {
        SocketAddr::V4(v4) => {
            // SAFETY: all-zero bytes are a valid `sockaddr_in`.
            let mut bytes: libc::sockaddr_in = unsafe { zeroed() };
            bytes.sin_family = libc::AF_INET as libc::sa_family_t;
            bytes.sin_port = v4.port().to_be();
            bytes.sin_addr.s_addr = u32::from_ne_bytes(v4.ip().octets());
            // SAFETY: the pointer is valid for the call.
            unsafe { libc::bind(file, (&raw const bytes).cast(), size_of::<libc::sockaddr_in>() as libc::socklen_t) }
        }
        SocketAddr::V6(v6) => {
            // SAFETY: all-zero bytes are a valid `sockaddr_in6`.
            let mut bytes: libc::sockaddr_in6 = unsafe { zeroed() };
            bytes.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            bytes.sin6_port = v6.port().to_be();
            bytes.sin6_addr.s6_addr = v6.ip().octets();
            bytes.sin6_scope_id = v6.scope_id();
            // SAFETY: the pointer is valid for the call.
            unsafe { libc::bind(file, (&raw const bytes).cast(), size_of::<libc::sockaddr_in6>() as libc::socklen_t) }
        }
    }
}

/// Replaces each socket of this process that listens on TCP port `port` by one that is not connected, so that new
/// connections are refused. The file number stays taken until its owner closes it. Returns the number of sockets.
pub fn stop_listening(port: u16) -> Result<u32> {
    let entries = fs::read_dir(OPEN_FILES).map_err(|cause| Error::from_io("listing open files", &cause))?;
    let files: Vec<RawFd> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter(|file| *file > 2).collect();
    let mut replaced = 0;
    for file in files.into_iter().filter(|file| listening_port(*file) == Some(port)) {
        replace(file)?;
        replaced += 1;
    }
    Ok(replaced)
}

/// The port on which this file listens; `None` if it is not a listening TCP socket.
fn listening_port(file: RawFd) -> Option<u16> {
    let mut is_listening: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: both pointers are valid for the call; a number that is not a socket gives an error.
    let outcome = unsafe {
        let value = (&raw mut is_listening).cast();
        libc::getsockopt(file, libc::SOL_SOCKET, libc::SO_ACCEPTCONN, value, &raw mut length)
    };
    if outcome != 0 || is_listening == 0 {
        return None;
    }
    bound_port(file)
}

/// The port to which a socket is bound; `None` if the file is no IP socket.
fn bound_port(file: RawFd) -> Option<u16> {
    // SAFETY: all-zero bytes are a valid `sockaddr_storage`, which has room for every kind of address.
    let mut address: libc::sockaddr_storage = unsafe { zeroed() };
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: both pointers are valid for the call.
    if unsafe { libc::getsockname(file, (&raw mut address).cast(), &raw mut length) } != 0 {
        return None;
    }
    match libc::c_int::from(address.ss_family) {
        // SAFETY: the family says which type the bytes have.
        libc::AF_INET => Some(u16::from_be(unsafe { (*(&raw const address).cast::<libc::sockaddr_in>()).sin_port })),
        // SAFETY: the family says which type the bytes have.
        libc::AF_INET6 => Some(u16::from_be(unsafe { (*(&raw const address).cast::<libc::sockaddr_in6>()).sin6_port })),
        _ => None,
    }
}

fn replace(file: RawFd) -> Result<()> {
    let failed = || Error::from_io("closing the listening socket", &std::io::Error::last_os_error());
    // SAFETY: the call has no pointers.
    let other = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0) };
    if other < 0 {
        return Err(failed());
    }
    // SAFETY: `other` was just opened, and nothing else owns it.
    let other = unsafe { OwnedFd::from_raw_fd(other) };
    // SAFETY: both numbers are open files. `file` keeps its owner; only what it stands for changes.
    if unsafe { libc::dup2(other.as_raw_fd(), file) } < 0 {
        return Err(failed());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_claimed_port_is_taken_for_all_but_sockets_that_share_it() {
        let claimed = claim("127.0.0.1", 0).expect("a socket").expect("a free port");
        let port = claimed.port();

        assert!(claim("127.0.0.1", port).expect("a socket").is_none());
        assert_eq!(TcpListener::bind(("127.0.0.1", port)).expect_err("taken").kind(), ErrorKind::AddrInUse);
        let refused = TcpStream::connect(("127.0.0.1", port)).expect_err("nobody listens");
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);

        drop(claimed);
        TcpListener::bind(("127.0.0.1", port)).expect("a free port");
    }

    #[test]
    fn a_port_can_be_claimed_while_the_system_remembers_its_last_connections() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let mut client = TcpStream::connect(address).expect("a connection");
        let (server, _) = listener.accept().expect("a connection");
        // the side that closes first waits for packets that are late
        drop((server, listener));
        assert_eq!(client.read(&mut [0; 1]).expect("the end"), 0);
        drop(client);

        assert!(claim("127.0.0.1", address.port()).expect("a socket").is_some());
    }

    #[test]
    fn new_connections_are_refused_and_open_ones_go_on() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let other = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let mut client = TcpStream::connect(address).expect("a connection");
        let (mut server, _) = listener.accept().expect("a connection");

        assert_eq!(stop_listening(address.port()), Ok(1));
        assert_eq!(stop_listening(address.port()), Ok(0));

        let refused = TcpStream::connect(address).expect_err("no listener");
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        client.write_all(b"ping").expect("an open connection");
        let mut received = [0; 4];
        server.read_exact(&mut received).expect("an open connection");
        assert_eq!(&received, b"ping");
        TcpStream::connect(other.local_addr().expect("an address")).expect("another port still listens");
    }
}
