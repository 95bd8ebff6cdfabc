//! Copies of a checkpoint: its files get further names by links, and only the manifest is written anew (C26).
//!
//! The folder of a copy is filled before the catalog knows the collection. Until then it holds the file [`UNFINISHED`],
//! whose name is durable before any other: a start removes such a folder if no record of the log names it.

use super::cause::{Cause, Unopened};
use super::manifest::Manifest;
use super::{directory, file_path};
use crate::config::CollectionConfig;
use crate::faults::PlantedFault;
use crate::storage::{ErrorKind, Storage, StorageError, make_dir};
use crate::types::{Lsn, OpNumber};
use std::collections::BTreeSet;

/// Name of an empty file in the folder of a collection that the catalog may not know.
pub const UNFINISHED: &str = "UNFINISHED";

/// The greatest numbers that a manifest from elsewhere may have: far more than any collection reaches, and far enough from
/// the end that no later one overflows.
const MAX_FILES: u32 = 1 << 31;
const LAST_OPERATION: u64 = 1 << 62;

/// Makes the folder of the collection that a manifest names, with links to its files in `from`. Durable when it returns.
///
/// # Errors
/// The disk's: what is in the folder then is to be [discarded](discard_unfinished).
pub(crate) fn link_checkpoint(
    storage: &dyn Storage,
    from: &str,
    manifest: &Manifest,
    number: u64,
) -> Result<(), StorageError> {
    let into = &directory(number);
    make_dir(storage, into)?;
    PlantedFault::CopyNotMarked.skips(|| {
        storage.create(&format!("{into}/{UNFINISHED}"))?;
        storage.sync_dir(into)
    })?;
    link_files(storage, from, manifest, into)
}

/// Links the files that a manifest names into a folder, and stores the manifest there.
///
/// # Errors
/// The disk's.
pub(crate) fn link_files(
    storage: &dyn Storage,
    from: &str,
    manifest: &Manifest,
    into: &str,
) -> Result<(), StorageError> {
    let files: BTreeSet<u32> = manifest.files().collect();
    for number in files {
        storage.link(&file_path(from, number), &file_path(into, number))?;
    }
    // The names become durable with that of the manifest: until then no record names the folder.
    manifest.store(storage, into)
}

/// Removes the files of a checkpoint from a folder that they were linked into.
///
/// # Errors
/// The disk's.
pub(crate) fn remove_links(storage: &dyn Storage, folder: &str) -> Result<(), StorageError> {
    let is_of_checkpoint = |name: &&String| *name == "MANIFEST" || name.ends_with(".data");
    for name in storage.list(folder)?.iter().filter(is_of_checkpoint) {
        storage.remove(&format!("{folder}/{name}"))?;
    }
    Ok(())
}

/// Makes the folder of the collection `number` of a checkpoint in the folder `from`, which another server may have
/// written. `lsn` is one that is durable. Durable when it returns.
///
/// # Errors
/// [`NotAdopted`]; what is in the new folder then is to be [discarded](discard_unfinished).
pub fn adopt_folder(storage: &dyn Storage, from: &str, number: u64, lsn: Lsn) -> Result<(), NotAdopted> {
    let manifest = Manifest::load_from(storage, from).map_err(|bad| NotAdopted::Unusable(bad.into()))?;
    let unusable = |what: &str| NotAdopted::Unusable(what.into());
    let manifest = manifest.ok_or_else(|| unusable("there is no file MANIFEST"))?;
    let own = manifest.collection.ok_or_else(|| unusable("the file MANIFEST is of an old release"))?;
    if CollectionConfig::restore(&manifest.config).is_err() {
        return Err(unusable("the configuration in the file MANIFEST cannot be read"));
    }
    let is_too_high = manifest.files().any(|file| file >= manifest.next_file)
        || manifest.next_file > MAX_FILES
        || manifest.op > OpNumber::new(LAST_OPERATION);
    if is_too_high {
        return Err(unusable("the file MANIFEST has numbers that cannot be"));
    }
    link_checkpoint(storage, from, &manifest.of_copy(own, number, lsn), number).map_err(|error| {
        match error.kind() {
            ErrorKind::NotFound => unusable("a file that MANIFEST names is missing"),
            _ => NotAdopted::Refused(error),
        }
    })
}

/// Why the checkpoint in a folder is not adopted.
#[derive(Debug)]
pub enum NotAdopted {
    /// What is wrong with it.
    Unusable(Unopened),
    /// The disk refuses.
    Refused(StorageError),
}

impl NotAdopted {
    /// Whether it is the system that has no memory, or the disk that cannot read.
    pub fn is_of_system(&self) -> bool {
        match self {
            NotAdopted::Unusable(why) => why.cause != Cause::Damaged && why.cause != Cause::OtherFormat,
            NotAdopted::Refused(_) => true,
        }
    }
}

/// Whether the catalog may not know the collection of a folder.
///
/// # Errors
/// The disk's.
pub fn is_unfinished(storage: &dyn Storage, number: u64) -> Result<bool, StorageError> {
    storage.exists(&format!("{}/{UNFINISHED}", directory(number)))
}

/// Removes the folder of a collection that the catalog does not know. At each moment the mark is there, or nothing is.
///
/// # Errors
/// The disk's; the next start tries again.
pub fn discard_unfinished(storage: &dyn Storage, number: u64) -> Result<(), StorageError> {
    let folder = directory(number);
    let names = storage.list(&folder)?;
    if names.is_empty() {
        return storage.remove_dir_all(&folder);
    }
    for name in names.iter().filter(|name| *name != UNFINISHED) {
        storage.remove(&format!("{folder}/{name}"))?;
    }
    storage.sync_dir(&folder)?;
    storage.remove_dir_all(&folder)
}
