//! Moves damaged files out of the way, deletes files, and makes renames durable.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Renames a file or folder to `<name>.damaged-<n>`, where n is the first free number. Returns the new path.
pub fn set_aside(path: &Path) -> Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let aside = (1u32..)
        .map(|n| path.with_file_name(format!("{name}.damaged-{n}")))
        .find(|candidate| !candidate.exists())
        .ok_or_else(|| Error::Bug("no free name for a damaged file".to_owned()))?;
    fs::rename(path, &aside)
        .and_then(|()| sync_directory(path))
        .map_err(|cause| Error::from_io(&format!("setting {} aside", path.display()), &cause))?;
    Ok(aside)
}

/// Deletes a file. Does nothing if there is none.
pub fn delete_if_present(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(Error::from_io(&format!("deleting {}", path.display()), &cause)),
    }
}

/// Syncs the folder that contains `path`. This makes a rename or creation in the folder durable.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(directory) => File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}
