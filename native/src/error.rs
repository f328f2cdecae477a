//! What can go wrong in the core, and the code under which a caller sees it.
//! `bindings` turns an `Error` into a JavaScript exception.

use std::io;

use tantivy::TantivyError;
use tantivy::directory::error::{OpenDirectoryError, OpenReadError, OpenWriteError};

/// The one error type of the crate. The variant says what a caller can do about it; the text says what happened, with
/// the path or the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Stored bytes are not what was written (checksum, format). Rebuild from the truth.
    #[error("{0}")]
    Damaged(String),
    /// The operating system refused a read or a write.
    #[error("{0}")]
    Io(String),
    /// The disk or the quota is full. Nothing was acknowledged; the same call succeeds once there is room.
    #[error("{0}")]
    NoSpace(String),
    /// Another process holds the directory.
    #[error("{0}")]
    Locked(String),
    /// The caller's arguments are refused; nothing was changed.
    #[error("{0}")]
    Invalid(String),
    /// The caller's arguments are sound, but what they ask for takes too long; nothing was changed.
    #[error("{0}")]
    TooDear(String),
    /// The index was closed before the call.
    #[error("{0}")]
    Closed(String),
    /// An invariant broke.
    #[error("{0}; this is a bug in Mneme")]
    Bug(String),
}

/// Every fallible function of the crate returns this.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The stable name of the variant, as `NativeError.code` shows it.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Damaged(_) => "damaged",
            Error::Io(_) => "io",
            Error::NoSpace(_) => "no_space",
            Error::Locked(_) => "locked",
            Error::Invalid(_) => "invalid",
            Error::TooDear(_) => "too_dear",
            Error::Closed(_) => "closed",
            Error::Bug(_) => "bug",
        }
    }

    /// `Invalid` from anything printable: the commonest error by far.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Error::Invalid(detail.into())
    }

    /// Classifies an operating-system error and says during which step it happened.
    pub fn from_io(step: &str, cause: &io::Error) -> Self {
        let detail = format!("{step}: {cause}");
        match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::NoSpace(detail),
            _ => Error::Io(detail),
        }
    }
}

/// Tantivy reports bytes that it cannot make sense of as input errors without a cause in the operating system, and wraps
/// some errors of the disk so that only their text is left.
fn from_tantivy_io(step: &str, cause: &io::Error) -> Error {
    match cause.kind() {
        _ if is_about_space(&cause.to_string()) => Error::NoSpace(format!("{step}: {cause}")),
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
            // A worker that dies of a full disk reports it only as text.
            other if is_about_space(&other.to_string()) => Error::NoSpace(format!("text index: {cause}")),
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

fn is_about_space(message: &str) -> bool {
    ["StorageFull", "QuotaExceeded", "No space left"].iter().any(|sign| message.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_apart_from_other_failures_of_the_disk() {
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
