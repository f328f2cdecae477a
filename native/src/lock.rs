//! Locks a data directory, so that only one process works on it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;

use crate::error::{Error, Result};

/// A locked directory. Dropping this value releases the lock. The operating system also releases the lock when the
/// process ends in any way, so a `lock` file that is left over has no meaning.
#[derive(Debug)]
pub struct DirectoryLock {
    _file: File,
}

/// Takes the lock `<directory>/lock`, and creates the directory if it does not exist. Fails with `Locked` if this or
/// another process already holds the lock.
pub fn lock_directory(directory: &Path) -> Result<DirectoryLock> {
    let path = directory.join("lock");
    fs::create_dir_all(directory)
        .map_err(|cause| Error::from_io(&format!("creating {}", directory.display()), &cause))?;
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|cause| Error::from_io(&format!("opening {}", path.display()), &cause))?;
    match file.try_lock() {
        Ok(()) => Ok(DirectoryLock { _file: file }),
        Err(TryLockError::WouldBlock) => {
            Err(Error::Locked(format!("{} is in use by another process", directory.display())))
        }
        Err(TryLockError::Error(cause)) => Err(Error::from_io(&format!("locking {}", path.display()), &cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mneme_testing::TempDir;

    #[test]
    fn a_held_directory_is_refused_and_free_again_after_release() {
        let directory = TempDir::new("lock");
        let held = lock_directory(directory.path()).expect("first holder");
        assert_eq!(lock_directory(directory.path()).expect_err("second holder").code(), "locked");
        drop(held);
        lock_directory(directory.path()).expect("after release");
    }
}
