//! What snapshots over HTTP are made of: the files of a collection, linked out of the engine and into it (C12).

use super::{Engine, LONGEST_REQUEST};
use crate::allocator::catch;
use crate::catalog::AdoptedFolder;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::name::check_collection_name;
use std::time::Instant;

impl Engine {
    /// Writes a checkpoint of a collection, and links its files into a folder of the data directory that is there, for a
    /// snapshot: the collection at one operation, with every write that was acknowledged before the call.
    ///
    /// # Errors
    /// As a read of the collection; `StorageFull`, and `Internal` with the disk's reason.
    pub fn link_snapshot(&self, collection: &str, into: &str) -> Result<(), Error> {
        self.core.catalog.link_snapshot(collection, into)
    }

    /// Makes collections of what [`Engine::link_snapshot`] has linked somewhere, by name and folder of the data directory,
    /// each in the place of one that has its name: all at once or none, durable when it returns. The folders stay.
    ///
    /// # Errors
    /// `BadRequest` when a name is not valid or a folder holds something else, `StorageFull`, `MemoryLimit`, the log's.
    pub fn adopt(&self, folders: &[AdoptedFolder]) -> Result<(), Error> {
        folders.iter().try_for_each(|one| check_collection_name(&one.name))?;
        if folders.is_empty() {
            return Ok(());
        }
        let deadline = Deadline::new(Instant::now(), LONGEST_REQUEST, "Recovery").or_at(&self.core.closing);
        catch(|| self.core.catalog.adopt(folders, &deadline)).unwrap_or(Err(Error::MemoryLimit))
    }
}
