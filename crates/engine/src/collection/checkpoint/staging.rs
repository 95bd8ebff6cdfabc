//! Giving the files of a collection second names, so that they stay as they are while they are copied.

use crate::collection::{Collection, checkpoint::directory};
use crate::storage::{Storage, StorageError};

impl Collection {
    /// Links the checkpoint of this collection into the same folder below `into`. No checkpoint runs meanwhile, so
    /// that manifest and files belong together; a collection that was deleted has nothing to link.
    ///
    /// # Errors
    /// The disk's.
    pub fn stage(&self, into: &str) -> Result<(), StorageError> {
        let _checkpoints = self.checkpoints.lock();
        if self.is_retired() { Ok(()) } else { link_folder(&*self.shared.storage, self.id, into) }
    }
}

/// Links what stands in the folder of a collection that nobody changes meanwhile. Nothing is left out: which of two
/// manifests a failed write has left in force is decided by whoever opens the copy, and it needs its files.
pub fn link_folder(storage: &dyn Storage, id: u64, into: &str) -> Result<(), StorageError> {
    let folder = directory(id);
    let names = storage.list(&folder)?;
    if names.is_empty() {
        return Ok(());
    }
    storage.create_dir_all(&format!("{into}/{folder}"))?;
    for name in names.iter().filter(|name| *name == "MANIFEST" || name.ends_with(".data")) {
        storage.link(&format!("{folder}/{name}"), &format!("{into}/{folder}/{name}"))?;
    }
    Ok(())
}
