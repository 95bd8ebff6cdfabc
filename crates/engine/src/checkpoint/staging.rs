//! Second names for the files of a collection, so that they stay as they are while they are copied.

use super::directory;
use crate::storage::{Storage, StorageError};

/// Links everything in the folder of a collection into the same folder below `into`. Nothing changes the folder meanwhile.
/// Nothing is left out: a failed write may leave either of two manifests in force, and opening the copy decides which.
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
