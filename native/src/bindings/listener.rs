//! Listening sockets for JavaScript.

use napi_derive::napi;

use crate::bindings::tasks::run;
use crate::listener;

/// Ends listening on a TCP port of this process; open connections go on. Returns the number of sockets that listened.
/// Throws `io` if the operating system refuses.
#[napi(catch_unwind)]
pub fn stop_listening(port: u16) -> napi::Result<u32> {
    run(|| listener::stop_listening(port))
}
