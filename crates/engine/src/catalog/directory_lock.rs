//! Which process may open a data directory.

use super::OpenError;
use crate::storage::{LockGuard, Storage};

/// Name of a file in a data directory that exists while a backup is restored into it.
pub const UNFINISHED_RESTORE: &str = "RESTORING";

/// Locks a data directory for this process.
///
/// # Errors
/// The error of the disk; also when another process holds the directory, and when a restore into it was not finished.
pub fn lock_directory(storage: &dyn Storage) -> Result<LockGuard, OpenError> {
    unless_restoring(storage.lock()?, storage)
}

/// Locks a data directory for a process that only reads it, and creates nothing in it.
///
/// # Errors
/// As [`lock_directory`].
pub fn lock_directory_to_read(storage: &dyn Storage) -> Result<LockGuard, OpenError> {
    unless_restoring(storage.lock_to_read()?, storage)
}

fn unless_restoring(lock: LockGuard, storage: &dyn Storage) -> Result<LockGuard, OpenError> {
    if storage.exists(UNFINISHED_RESTORE)? {
        return Err(OpenError::Catalog(
            "a restore into this data directory did not come to its end: empty it and restore again"
                .to_string(),
        ));
    }
    Ok(lock)
}
