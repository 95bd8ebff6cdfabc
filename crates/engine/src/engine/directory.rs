//! What can be done with a data directory on the disk: an engine is opened on it, or it is checked, repaired or held
//! while no engine has it open.

use super::{Engine, Options};
use crate::catalog::{OpenError, lock_directory, lock_directory_to_read, noted_auth_generation};
use crate::collection::OpeningOptions;
use crate::integrity::{self, CheckReport, LogEnd, RepairReport, UnsoundFile};
use crate::storage::{LockGuard, RealDisk, Storage};
use std::sync::Arc;

impl Engine {
    /// Opens the data directory at `path`, which is created when it is missing.
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub fn open_directory(path: &str, options: Options) -> Result<Engine, OpenError> {
        Engine::open(disk_at(path)?, options)
    }
}

/// Checks a data directory, or one collection of it. Nothing in it changes; it is locked meanwhile.
///
/// # Errors
/// As [`integrity::check`], and when another process holds the directory.
pub fn check_directory(path: &str, collection: Option<&str>) -> Result<CheckReport, OpenError> {
    let disk = disk_at(path)?;
    let _lock = lock_directory_to_read(&*disk)?;
    integrity::check(disk, collection, OpeningOptions::default())
}

/// Repairs a data directory, or says what a repair would do. `stamp` names the folder for what is replaced.
///
/// # Errors
/// As [`integrity::repair`], and when another process holds the directory.
pub fn repair_directory(path: &str, stamp: &str, dry_run: bool) -> Result<RepairReport, OpenError> {
    let disk = disk_at(path)?;
    let _lock = if dry_run { lock_directory_to_read(&*disk)? } else { lock_directory(&*disk)? };
    integrity::repair(&disk, stamp, dry_run, OpeningOptions::default())
}

/// Compares the files of a data directory that no process writes to with their checksums. Nothing in it changes, and no
/// lock is taken.
///
/// # Errors
/// As [`integrity::verify_files`].
pub fn verify_directory(path: &str, log_end: LogEnd) -> Result<Vec<UnsoundFile>, OpenError> {
    integrity::verify_files(disk_at(path)?, OpeningOptions::default().row_chunk_bytes, log_end)
}

/// The generation of the store of authentication that the catalog of a data directory has noted (C3.8), of whichever process
/// has it open; 0 where there is none. Nothing in it changes.
///
/// # Errors
/// When the catalog's files cannot be read, or another release wrote them.
pub fn read_auth_generation(path: &str) -> Result<u64, OpenError> {
    noted_auth_generation(&*disk_at(path)?)
}

/// A data directory that this process holds: no engine opens it until this is dropped.
pub struct DirectoryLock {
    _lock: LockGuard,
}

impl DirectoryLock {
    /// Holds a data directory, which must exist.
    ///
    /// # Errors
    /// When another process holds it, or a restore into it was not finished.
    pub fn new(path: &str) -> Result<DirectoryLock, OpenError> {
        Ok(DirectoryLock { _lock: lock_directory(&*disk_at(path)?)? })
    }
}

fn disk_at(path: &str) -> Result<Arc<dyn Storage>, OpenError> {
    Ok(Arc::new(RealDisk::open(path)?))
}
