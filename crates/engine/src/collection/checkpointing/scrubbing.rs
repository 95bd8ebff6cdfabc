//! Verifying and restoring the files of a collection that is served.

use crate::checkpoint::{Inspection, Manifest, Part, inspect_with};
use crate::collection::Collection;
use crate::config::CollectionConfig;
use crate::storage::StorageError;

/// Inspections of a collection whose checkpoints keep replacing each other meanwhile, or whose disk refuses to read.
const ATTEMPTS: usize = 3;

impl Collection {
    /// Compares everything that the checkpoint names with its checksums. `pace` is called for every piece that was read, with
    /// its bytes, and stops the check by answering false. What a checkpoint removed meanwhile is no fault, nor is a read
    /// for which the system has no memory or file descriptor.
    pub fn verify_files(&self, pace: &mut dyn FnMut(u64) -> bool) -> Inspection {
        let mut refused = Inspection::default();
        for _ in 0..ATTEMPTS {
            let Some(before) = self.manifest() else { break };
            let row_chunk_bytes = self.shared.thresholds.row_chunk_bytes;
            let found = inspect_with(&*self.shared.storage, self.id, row_chunk_bytes, Some(&before), pace)
                .without_exhausted();
            let is_current = || self.manifest().as_ref() == Some(&before) && !self.is_retired();
            if found.faults.is_empty() {
                return found;
            }
            if is_current() {
                // A device that refuses once may give it the next time.
                if !found.faults.iter().any(|fault| fault.cause.may_pass()) {
                    return found;
                }
                refused = found;
            }
        }
        refused
    }

    /// Restores what the server itself still has: a manifest is written again, a graph with the next checkpoint.
    ///
    /// # Errors
    /// The disk's.
    pub fn write_again(&self, part: &Part) -> Result<(), StorageError> {
        let mut checkpoints = self.checkpointer.lock();
        let dir = checkpoints.files.dir.clone();
        let Some(manifest) = &mut checkpoints.files.manifest else { return Ok(()) };
        match part {
            Part::Manifest => manifest.store(&*self.shared.storage, &dir),
            Part::Graph { field } => {
                // The fields of the collection may be others by now.
                let config = CollectionConfig::restore(&manifest.config).ok();
                let is_it = |config: &CollectionConfig| {
                    (0..config.positions()).find(|position| config.name_at(*position) == field)
                };
                let position = config.as_ref().and_then(is_it);
                if let Some(kept) = position.and_then(|at| manifest.fields.get_mut(at)) {
                    kept.graph = None;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The manifest in force.
    pub fn manifest(&self) -> Option<Manifest> {
        self.checkpointer.lock().files.manifest.clone()
    }
}
