//! What is known of the log without waiting for it.

use crate::durations::Durations;
use std::sync::atomic::{AtomicU64, Ordering};

/// Figures of a log that every thread can read while the log is being written or synced.
#[derive(Debug, Default)]
pub struct LogFigures {
    disk_bytes: AtomicU64,
    /// How long its syncs took, from the opening on.
    pub syncs: Durations,
}

impl LogFigures {
    /// Bytes of all segments on disk, with the zeros that the last one is filled with ahead of its records.
    pub fn disk_bytes(&self) -> u64 {
        self.disk_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn note_disk_bytes(&self, bytes: u64) {
        self.disk_bytes.store(bytes, Ordering::Relaxed);
    }
}
