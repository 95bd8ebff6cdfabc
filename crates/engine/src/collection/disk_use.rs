//! What a collection takes on disk.

use super::Collection;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes of the files of a collection, as they were when they were last measured.
#[derive(Default)]
pub(super) struct DiskUse {
    bytes: AtomicU64,
    /// No checkpoint has changed anything since.
    is_current: AtomicBool,
}

impl DiskUse {
    /// A checkpoint may have written and removed files.
    pub fn note_change(&self) {
        self.is_current.store(false, Ordering::Release);
    }
}

impl Collection {
    /// Bytes of its files, as they were when they were last measured. Files that a clone shares with its source count for
    /// both.
    pub fn disk_bytes(&self) -> u64 {
        self.disk_use.bytes.load(Ordering::Relaxed)
    }

    /// Measures its files, if a checkpoint has changed them since they were measured last. A file whose length cannot be read
    /// counts as none.
    pub fn measure_disk(&self) {
        if self.disk_use.is_current.load(Ordering::Acquire) {
            return;
        }
        // While a checkpoint is written there is nothing to measure yet.
        let Some(checkpoints) = self.checkpointer.try_lock() else { return };
        let (storage, dir) = (&*self.shared.storage, &checkpoints.files.dir);
        let Ok(names) = storage.list(dir) else { return };
        let bytes = names.iter().filter_map(|name| storage.len_of(&format!("{dir}/{name}")).ok()).sum();
        self.disk_use.bytes.store(bytes, Ordering::Relaxed);
        self.disk_use.is_current.store(true, Ordering::Release);
    }
}
