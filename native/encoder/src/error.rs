//! Errors of the encoder.

use std::io;

/// Reason why a model cannot be opened or a call failed. The text includes the path or the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The operating system refused to read a file or to start a thread.
    #[error("{0}")]
    Io(String),
    /// The arguments, the model file or the processor are not supported. Nothing was computed.
    #[error("{0}")]
    Invalid(String),
}

/// Result of a fallible function of the crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Error::Invalid(detail.into())
    }

    pub(crate) fn from_io(step: &str, cause: &io::Error) -> Self {
        Error::Io(format!("{step}: {cause}"))
    }
}
