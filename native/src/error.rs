//! Errors of the core, and their codes in JavaScript. `bindings` turns an `Error` into a JavaScript exception.

use std::io;

use tantivy::TantivyError;
use tantivy::directory::error::{OpenDirectoryError, OpenReadError, OpenWriteError};

/// The error type of the crate. The variant tells the caller what to do. The text says what happened, and includes the
/// path or the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Stored bytes differ from what was written: the checksum or the format is wrong. The caller rebuilds the index
    /// from the rows of its stores.
    #[error("{0}")]
    Damaged(String),
    /// The operating system refused to read or write.
    #[error("{0}")]
    Io(String),
    /// The disk or the disk quota is full. The call failed. The same call succeeds once there is space.
    #[error("{0}")]
    NoSpace(String),
    /// Another process, or another part of this one, has locked the directory.
    #[error("{0}")]
    Locked(String),
    /// The arguments are invalid. Nothing was changed.
    #[error("{0}")]
    Invalid(String),
    /// A vector belongs to a model that is not the one of the index. Nothing was changed. The caller computes the
    /// vector with the model of the index.
    #[error("{0}")]
    OtherModel(String),
    /// The arguments are valid, but the work would take too long. Nothing was changed.
    #[error("{0}")]
    TooDear(String),
    /// The index was closed before the call.
    #[error("{0}")]
    Closed(String),
    /// An invariant is broken, so there is a bug in the core.
    #[error("{0}; this is a bug in Mneme")]
    Bug(String),
}

/// Result of a fallible function of the crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The stable name of the variant: `NativeError.code` in JavaScript.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Damaged(_) => "damaged",
            Error::Io(_) => "io",
            Error::NoSpace(_) => "no_space",
            Error::Locked(_) => "locked",
            Error::Invalid(_) => "invalid",
            Error::OtherModel(_) => "other_model",
            Error::TooDear(_) => "too_dear",
            Error::Closed(_) => "closed",
            Error::Bug(_) => "bug",
        }
    }

    /// Creates an `Invalid` error with this text.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Error::Invalid(detail.into())
    }

    /// Classifies an error of the operating system. `step` names the operation that failed.
    pub fn from_io(step: &str, cause: &io::Error) -> Self {
        let detail = format!("{step}: {cause}");
        match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::NoSpace(detail),
            _ => Error::Io(detail),
        }
    }
}

/// Classifies an I/O error of Tantivy. If Tantivy cannot decode bytes, it reports an I/O error without an error number
/// of the operating system. Of some disk errors, it passes on only the text.
fn from_tantivy_io(step: &str, cause: &io::Error) -> Error {
    match cause.kind() {
        _ if mentions_full_disk(&cause.to_string()) => Error::NoSpace(format!("{step}: {cause}")),
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof if cause.raw_os_error().is_none() => {
            Error::Damaged(format!("{step}: {cause}"))
        }
        _ => Error::from_io(step, cause),
    }
}

impl From<TantivyError> for Error {
    fn from(cause: TantivyError) -> Self {
        match &cause {
            TantivyError::IoError(io) => from_tantivy_io("text index", io),
            TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, filepath }) => {
                Error::from_io(&format!("text index, writing {}", filepath.display()), io_error)
            }
            TantivyError::OpenReadError(OpenReadError::IoError { io_error, filepath }) => {
                from_tantivy_io(&format!("text index, reading {}", filepath.display()), io_error)
            }
            TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error, .. }) => {
                Error::from_io("text index, opening its directory", io_error)
            }
            TantivyError::DataCorruption(_)
            | TantivyError::OpenReadError(_)
            | TantivyError::IncompatibleIndex(_)
            | TantivyError::DeserializeError(_)
            | TantivyError::SchemaError(_) => Error::Damaged(format!("text index: {cause}")),
            TantivyError::LockFailure(..) => Error::Locked(format!("text index: {cause}")),
            // A worker thread that fails because the disk is full reports this only as text.
            other if mentions_full_disk(&other.to_string()) => Error::NoSpace(format!("text index: {cause}")),
            _ => Error::Io(format!("text index: {cause}")),
        }
    }
}

impl From<mneme_encoder::Error> for Error {
    fn from(cause: mneme_encoder::Error) -> Self {
        match cause {
            mneme_encoder::Error::Io(detail) => Error::Io(detail),
            mneme_encoder::Error::Invalid(detail) => Error::Invalid(detail),
        }
    }
}

fn mentions_full_disk(message: &str) -> bool {
    ["StorageFull", "QuotaExceeded", "No space left"].iter().any(|phrase| message.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_distinguished_from_other_disk_errors() {
        let full = io::Error::from_raw_os_error(28);
        let denied = io::Error::from_raw_os_error(13);
        assert_eq!(Error::from_io("append", &full).code(), "no_space");
        assert_eq!(Error::from_io("append", &denied).code(), "io");
        assert_eq!(Error::from(TantivyError::from(io::Error::from_raw_os_error(28))).code(), "no_space");
        let wrapped = io::Error::other(io::Error::from_raw_os_error(28));
        assert_eq!(Error::from(TantivyError::from(wrapped)).code(), "no_space");
        assert_eq!(
            Error::from(TantivyError::ErrorInThread("IoError: No space left on device".into())).code(),
            "no_space"
        );
    }
}
