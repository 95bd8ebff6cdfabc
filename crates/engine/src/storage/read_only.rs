//! A read-only view of a data directory, for checks and for planning a repair.

use super::{ErrorKind, LockGuard, Map, Result, Storage, StorageError, StorageFile};
use parking_lot::Mutex;
use std::sync::Arc;

/// Reads what is below, and refuses every call that would change it. Syncs of directories do nothing: what was read
/// is not relied on beyond the report that is made of it.
pub struct ReadOnly {
    below: Arc<dyn Storage>,
    refused: Mutex<Option<StorageError>>,
}

impl ReadOnly {
    /// A view of `below` that cannot write.
    pub fn new(below: Arc<dyn Storage>) -> ReadOnly {
        ReadOnly { below, refused: Mutex::default() }
    }

    /// The first read that the device or the system refused, also where a fallback was found: a later attempt may
    /// succeed.
    pub fn refused(&self) -> Option<StorageError> {
        self.refused.lock().clone()
    }

    fn noted<T>(&self, outcome: Result<T>) -> Result<T> {
        if let Err(error) = &outcome
            && matches!(
                error.kind(),
                ErrorKind::Io | ErrorKind::Denied | ErrorKind::Folder | ErrorKind::Exhausted
            )
        {
            self.refused.lock().get_or_insert_with(|| error.clone());
        }
        outcome
    }
}

fn refuse(operation: &'static str, path: &str) -> StorageError {
    StorageError::new(ErrorKind::Io, operation, path, "this run only reads")
}

impl Storage for ReadOnly {
    fn create_dir_all(&self, dir: &str) -> Result<()> {
        Err(refuse("create directory", dir))
    }

    fn create(&self, path: &str) -> Result<Box<dyn StorageFile>> {
        Err(refuse("create", path))
    }

    fn open_append(&self, path: &str) -> Result<Box<dyn StorageFile>> {
        let len = self.len_of(path)?;
        Ok(Box::new(Unwritable { path: path.to_owned(), len }))
    }

    fn read(&self, path: &str) -> Result<Vec<u8>> {
        self.noted(self.below.read(path))
    }

    fn read_range(&self, path: &str, offset: u64, len: usize) -> Result<Vec<u8>> {
        self.noted(self.below.read_range(path, offset, len))
    }

    fn len_of(&self, path: &str) -> Result<u64> {
        self.noted(self.below.len_of(path))
    }

    fn map(&self, path: &str) -> Result<Map> {
        self.noted(self.below.map(path))
    }

    fn list(&self, dir: &str) -> Result<Vec<String>> {
        self.noted(self.below.list(dir))
    }

    fn exists(&self, path: &str) -> Result<bool> {
        self.noted(self.below.exists(path))
    }

    fn rename(&self, from: &str, _to: &str) -> Result<()> {
        Err(refuse("rename", from))
    }

    fn link(&self, from: &str, _to: &str) -> Result<()> {
        Err(refuse("link", from))
    }

    fn remove(&self, path: &str) -> Result<()> {
        Err(refuse("remove", path))
    }

    fn remove_dir_all(&self, dir: &str) -> Result<()> {
        Err(refuse("remove directory", dir))
    }

    fn sync_dir(&self, _dir: &str) -> Result<()> {
        Ok(())
    }

    fn truncate(&self, path: &str, _len: u64) -> Result<()> {
        Err(refuse("truncate", path))
    }

    fn lock(&self) -> Result<LockGuard> {
        self.below.lock_to_read()
    }

    fn free_bytes(&self) -> Option<u64> {
        self.below.free_bytes()
    }

    fn unreadable_maps(&self) -> Vec<String> {
        self.below.unreadable_maps()
    }
}

/// A file of which only the length is known.
struct Unwritable {
    path: String,
    len: u64,
}

impl StorageFile for Unwritable {
    fn write_at(&mut self, _offset: u64, _bytes: &[u8]) -> Result<()> {
        Err(refuse("append", &self.path))
    }

    fn sync(&mut self) -> Result<()> {
        Err(refuse("sync", &self.path))
    }

    fn truncate(&mut self, _len: u64) -> Result<()> {
        Err(refuse("truncate", &self.path))
    }

    fn len(&self) -> u64 {
        self.len
    }
}
