//! Listening sockets for JavaScript.

use napi_derive::napi;

use crate::bindings::tasks::run;
use crate::listener::{self, ClaimedPort};

/// A port on which the threads of this process can listen. It is claimed until this object is collected as garbage.
#[napi]
pub struct NativePort {
    claimed: ClaimedPort,
}

#[napi]
impl NativePort {
    /// The number of the port.
    #[napi(getter, catch_unwind)]
    pub fn port(&self) -> u16 {
        self.claimed.port()
    }

    /// The IP address on which the threads must listen.
    #[napi(getter, catch_unwind)]
    pub fn address(&self) -> String {
        self.claimed.address.to_string()
    }
}

/// Claims a TCP port of a host name or address; 0 stands for a free one. Returns null if another socket uses it, of
/// this program or another one. Throws `io` or `invalid` if the operating system refuses, or does not know the host.
#[napi(catch_unwind)]
pub fn claim_port(host: String, port: u16) -> napi::Result<Option<NativePort>> {
    run(|| Ok(listener::claim(&host, port)?.map(|claimed| NativePort { claimed })))
}

/// Ends listening on a TCP port of this process; open connections go on. Returns the number of sockets that listened.
/// Throws `io` if the operating system refuses.
#[napi(catch_unwind)]
pub fn stop_listening(port: u16) -> napi::Result<u32> {
    run(|| listener::stop_listening(port))
}
