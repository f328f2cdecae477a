//! The lock on a data directory for JavaScript.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use napi_derive::napi;

use crate::bindings::tasks::run;
use crate::lock::{self, DirectoryLock};

/// A lock on a directory, held until `release` or the end of the process.
#[napi]
pub struct NativeLock {
    held: Mutex<Option<DirectoryLock>>,
}

#[napi]
impl NativeLock {
    /// Releases the lock. A second call does nothing.
    #[napi(catch_unwind)]
    pub fn release(&self) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Locks a directory for this process by locking the file `lock` in it. Throws `locked` if this or another process
/// already holds the lock.
#[napi(catch_unwind)]
pub fn lock_directory(path: String) -> napi::Result<NativeLock> {
    let held = run(|| lock::lock_directory(Path::new(&path)))?;
    Ok(NativeLock { held: Mutex::new(Some(held)) })
}
