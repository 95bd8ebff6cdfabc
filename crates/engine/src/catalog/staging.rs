//! Staging for a backup: links to all files of the data directory as they are at one moment.
//!
//! All files except the last segment of the log are immutable, so links are enough and take little time. The backup
//! copies the links while the server goes on. The log is linked last and is not cut meanwhile, so it has every record
//! that is not in the checkpoints linked before it, and every record that was acknowledged before the staging began.

use super::{Catalog, file};
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::storage::{ErrorKind, StorageError};
use crate::wal;

/// Folder in the data directory for the links. Nothing in it is ever relied on: a start removes it.
pub const STAGING: &str = "staging";

impl Catalog {
    /// Links everything into [`STAGING`], replacing what is there. Nothing in it changes any more.
    ///
    /// # Errors
    /// `Internal` when the log cannot be made durable or the disk refuses; `StorageFull` when it is full.
    pub fn stage(&self) -> Result<(), Error> {
        let _no_cuts = self.cuts.write();
        let staged = self.link_everything();
        if staged.is_err() {
            // What was linked is of no use; the next start removes what cannot be removed now.
            let _ = self.unstage();
        }
        staged
    }

    /// Removes the links.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn unstage(&self) -> Result<(), StorageError> {
        self.shared.storage.remove_dir_all(STAGING)
    }

    fn link_everything(&self) -> Result<(), Error> {
        let storage = &*self.shared.storage;
        self.unstage().map_err(|error| refused(&error))?;
        for dir in ["catalog", "collections", "log"] {
            storage.create_dir_all(&format!("{STAGING}/{dir}")).map_err(|error| refused(&error))?;
        }
        for entry in self.entries.load().values() {
            let linked = entry.stage(storage, STAGING);
            match linked {
                // The collection is being deleted. The log, which is linked last, has the record of the deletion.
                Err(error) if error.kind() == ErrorKind::NotFound && entry.is_deleting() => {}
                linked => linked.map_err(|error| refused(&error))?,
            }
        }
        // The copy last, so that it is not older than the file in the staging folder either.
        [file::PATH, file::COPY_PATH]
            .into_iter()
            .try_for_each(|path| self.link_if_there(path))
            .map_err(|error| refused(&error))?;
        let last = self.shared.log.with_segments(|segments| -> Result<_, StorageError> {
            let left_out = if PlantedFault::BackupLacksSegments.is_on() { segments.len() - 1 } else { 0 };
            for (path, _) in &segments[left_out..] {
                storage.link(path, &format!("{STAGING}/{path}"))?;
            }
            wal::MARK_PATHS.into_iter().try_for_each(|path| self.link_if_there(path))?;
            Ok(segments.last().cloned())
        });
        match last {
            Ok(Ok(Some((path, bytes)))) => self.keep_beginning(&path, bytes).map_err(|error| refused(&error)),
            Ok(Ok(None)) => Ok(()),
            Ok(Err(error)) => Err(refused(&error)),
            Err(error) => Err(crate::collection::refused(&error)),
        }
    }

    fn link_if_there(&self, path: &str) -> Result<(), StorageError> {
        match self.shared.storage.link(path, &format!("{STAGING}/{path}")) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            linked => linked,
        }
    }

    /// Replaces the link to the last segment, which is still written, by a copy of its first `bytes` bytes.
    fn keep_beginning(&self, path: &str, bytes: u64) -> Result<(), StorageError> {
        let storage = &*self.shared.storage;
        let (linked, copy) = (format!("{STAGING}/{path}"), format!("{STAGING}/{path}.tmp"));
        let len = usize::try_from(bytes).unwrap_or(usize::MAX);
        let beginning = storage.read_range(&linked, 0, len)?;
        let mut file = storage.create(&copy)?;
        file.append(&beginning)?;
        drop(file);
        storage.rename(&copy, &linked)
    }
}

/// The caller may read the data directory, so the error names the file.
fn refused(error: &StorageError) -> Error {
    match error.kind() {
        ErrorKind::Full => Error::StorageFull,
        _ => Error::Internal(error.to_string()),
    }
}
