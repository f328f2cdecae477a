//! Ends listening on a port while connections that are already open go on. The server uses it at a stop: its HTTP
//! library can end listening only together with closing every idle connection, and a connection counts as idle although
//! a request for it has arrived and is not read yet.

use std::fs;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::error::{Error, Result};

/// The folder with one entry per open file of this process, on Linux and macOS.
const OPEN_FILES: &str = "/dev/fd";

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
