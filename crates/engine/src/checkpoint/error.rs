//! Why a checkpoint was not made.

use crate::storage::StorageError;
use crate::wal::LogError;
use std::fmt;

/// Why a checkpoint was not made. Nothing is lost: the log still holds what it would have held.
#[derive(Debug)]
pub enum CheckpointError {
    /// The disk refused.
    Storage(StorageError),
    /// What readers see could not be made durable.
    Log(LogError),
    /// A file that was to be copied forward has been damaged since it was opened: says which.
    Damaged(String),
    /// An earlier one panicked when it was in force already: what readers hold may be of it or of the one before.
    HalfAdopted,
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckpointError::Storage(error) => error.fmt(f),
            CheckpointError::Log(error) => error.fmt(f),
            CheckpointError::Damaged(what) => f.write_str(what),
            CheckpointError::HalfAdopted => f.write_str(
                "a checkpoint failed inside the engine; restart the server to reopen the collection",
            ),
        }
    }
}

impl From<StorageError> for CheckpointError {
    fn from(error: StorageError) -> Self {
        CheckpointError::Storage(error)
    }
}
