//! Why a data directory cannot be opened.

use super::file::NoCatalog;
use crate::storage::{ErrorKind, StorageError};
use crate::wal::LogError;
use std::fmt;

/// Why a data directory cannot be opened at all.
#[derive(Debug)]
pub enum OpenError {
    /// The disk, or another process that holds the directory.
    Storage(StorageError),
    /// The log.
    Log(LogError),
    /// The catalog: what is wrong with it.
    Catalog(String),
    /// The catalog's file and its copy are both of no use: why the file is not.
    CatalogLost(String),
    /// The device or the system refuses to read a file that a repair has to verify.
    Unreadable(StorageError),
    /// The system refuses a thread.
    Threads(std::io::Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Storage(error) => error.fmt(f),
            OpenError::Log(error) => error.fmt(f),
            OpenError::Catalog(error) => f.write_str(error),
            OpenError::CatalogLost(error) => write!(
                f,
                "{error}, and its copy in the folder collections is of no use either: nobody knows the names of the \
                 collections. Nothing was changed; restore a backup, or let `kithdb repair` find the collections and \
                 give them names of their numbers"
            ),
            OpenError::Unreadable(error) if error.kind().remedy().is_some() => {
                write!(f, "a file cannot be read, and nothing was changed: {error}")
            }
            OpenError::Unreadable(error) if error.kind() == ErrorKind::Exhausted => write!(
                f,
                "the system has no memory or file descriptor to read a file, and nothing was changed: {error}. Give the \
                 command more memory, address space (`ulimit -v`) or file descriptors (`ulimit -n`), and run it again"
            ),
            OpenError::Unreadable(error) => write!(
                f,
                "the disk does not give a file: {error}. What it refuses now it may give another time, so nothing of it \
                 is taken for lost, and nothing was changed. The disk or the way to it fails: copy the data directory to \
                 one that works (ddrescue puts zeros in the place of what cannot be read), and repair the copy"
            ),
            OpenError::Threads(error) => write!(f, "the system refuses a thread: {error}"),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<NoCatalog> for OpenError {
    fn from(error: NoCatalog) -> Self {
        match error {
            NoCatalog::Lost(why) => OpenError::CatalogLost(why),
            NoCatalog::Refused(why) | NoCatalog::Unread(why) => OpenError::Catalog(why),
        }
    }
}

impl From<StorageError> for OpenError {
    fn from(error: StorageError) -> Self {
        OpenError::Storage(error)
    }
}
