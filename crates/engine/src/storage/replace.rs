//! Small files that are replaced as a whole.

use super::{ErrorKind, Result, Storage};
use crate::faults::PlantedFault;

/// The message about a damaged file that has a copy.
pub const OTHER_IS_SOUND: &str = "there are two of this file, and the other is sound";

/// Creates a directory, and makes its name and those above it durable.
///
/// # Errors
/// The error of the disk.
pub fn make_dir(storage: &dyn Storage, dir: &str) -> Result<()> {
    storage.create_dir_all(dir)?;
    if PlantedFault::NewFolderNotSynced.is_on() {
        return Ok(());
    }
    storage.sync_dir("")?;
    dir.match_indices('/').try_for_each(|(end, _)| storage.sync_dir(&dir[..end]))
}

/// Replaces a small file atomically and durably: written beside it as `<name>.new`, synced, renamed over it, the
/// directory synced. After a crash the name holds the old content or the new.
///
/// # Errors
/// The disk's: the old content is in force, or, where the last sync failed, either.
pub fn replace(storage: &dyn Storage, dir: &str, name: &str, bytes: &[u8]) -> Result<()> {
    let (path, temporary) = (format!("{dir}/{name}"), format!("{dir}/{name}.new"));
    match storage.remove(&temporary) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = storage.create(&temporary)?;
    file.append(bytes)?;
    PlantedFault::ReplacementNotSynced.skips(|| file.sync())?;
    drop(file);
    storage.rename(&temporary, &path)?;
    PlantedFault::ReplacementNameNotSynced.skips(|| storage.sync_dir(dir))
}
