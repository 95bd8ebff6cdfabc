//! Errors of the log.

use std::fmt;

use super::format::VERSION;
use crate::storage::{ErrorKind, OtherFormat, StorageError};

/// A failed log call. Cheap to clone: one failure answers every writer whose record was in the failed group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogError {
    /// The disk is full. The records are not in the log and never will be; the log is usable.
    Full,
    /// The system refused the memory to write the records. They are not in the log, as after [`Full`](Self::Full).
    NoMemory,
    /// The write failed before the sync and was taken back, as after [`Full`](Self::Full); or the log could not be
    /// opened.
    Io(StorageError),
    /// A sync failed, or a failed write could not be taken back: whether the records are durable is unknown, and
    /// nothing more is written until the log is opened again. A sync is never retried.
    Poisoned(StorageError),
    /// The body is longer than [`MAX_BODY_BYTES`](super::MAX_BODY_BYTES).
    TooLarge {
        /// Length of the refused body in bytes.
        bytes: usize,
    },
    /// More bytes wait for the log than it may hold. Nothing was appended.
    Overloaded,
    /// An earlier record of the same collection failed, and this one may be built on it; refused until
    /// [`GroupCommit::resume`](super::GroupCommit::resume). Nothing was appended.
    Superseded,
    /// The log was closed.
    Closed,
    /// The log was written in a format of a later version. Nothing was touched.
    Unsupported {
        /// The file, relative to the data directory.
        file: String,
        /// The format version found.
        version: u32,
    },
}

impl LogError {
    /// Classifies a storage failure that left the log as it was.
    pub(super) fn from_storage(error: StorageError) -> Self {
        match error.kind() {
            ErrorKind::Full => Self::Full,
            _ => Self::Io(error),
        }
    }

    /// The cause in words that may be shown to a client.
    pub fn public(&self) -> String {
        match self {
            Self::Io(error) => error.public(),
            Self::Poisoned(_) => "the log cannot be written until the server is restarted".to_owned(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("storage full"),
            Self::NoMemory => f.write_str("the system refuses memory"),
            Self::Io(error) => write!(f, "the log could not be read or written: {error}"),
            Self::Poisoned(error) => write!(f, "the log is closed to writes after a failure: {error}"),
            Self::TooLarge { bytes } => write!(f, "a log record of {bytes} bytes is too large"),
            Self::Overloaded => f.write_str("too many bytes wait for the log"),
            Self::Superseded => f.write_str("an earlier write of this collection failed"),
            Self::Closed => f.write_str("the log is closed"),
            Self::Unsupported { file, version } => {
                OtherFormat { file: file.clone(), found: *version, known: VERSION }.fmt(f)
            }
        }
    }
}

impl std::error::Error for LogError {}
