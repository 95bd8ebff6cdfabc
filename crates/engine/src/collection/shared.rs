//! What the collections of one engine share.

use super::IndexQueue;
use crate::clock::Clock;
use crate::durations::Durations;
use crate::error::Error;
use crate::limits::{Limits, Thresholds};
use crate::memory::Memory;
use crate::state::State;
use crate::storage::{Reserve, Storage};
use crate::supervision::Supervisor;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::wal::GroupCommit;
use std::sync::Arc;

/// What the collections of one engine share.
pub struct Shared {
    /// The disk.
    pub storage: Arc<dyn Storage>,
    /// The log.
    pub log: GroupCommit,
    /// Collections that were written since an indexer last visited them.
    pub indexer: IndexQueue,
    /// Limits on requests.
    pub limits: Limits,
    /// Sizes at which work in the background starts.
    pub thresholds: Thresholds,
    /// What is held of the memory.
    pub memory: Arc<Memory>,
    /// Space for the moment when the disk is full.
    pub reserve: Arc<Reserve>,
    /// Work that a start would have to do with the log, over all collections, in bytes.
    pub unsaved_work: Arc<AtomicUsize>,
    /// Writes that wait for the writers of their collections.
    pub waiting_writes: Arc<AtomicUsize>,
    /// The time of day.
    pub clock: Clock,
    /// Whether the collections are replicas of shards: as [`Options::is_replica`](crate::engine::Options::is_replica).
    pub is_replica: bool,
    /// Points that were removed because their time had come, since the engine was opened.
    pub expired_points: AtomicU64,
    /// How long checkpoints took that were written since the engine was opened.
    pub checkpoints: Durations,
    /// How long collections took to wake since the engine was opened.
    pub wakes: Durations,
    /// Catches panics of background work.
    pub supervisor: Arc<Supervisor>,
}

impl Shared {
    /// The time by which points are absent for writes, where points come to their end. None in a replica: all replicas
    /// resolve a write alike, whatever their clocks say.
    pub fn time_for_writes(&self, state: &State) -> Option<i64> {
        (state.expiry.is_some() && !self.is_replica).then(|| self.clock.now())
    }

    /// Whether a write may be accepted that makes the data grow, in memory by about that many bytes.
    ///
    /// # Errors
    /// `StorageFull` while a full disk has not been given room again, or a checkpoint would not fit; `Overloaded` when
    /// checkpoints are so far behind that a start would take too long; `MemoryLimit` when little memory is left.
    pub fn admit_growth(&self, bytes: u64) -> Result<(), Error> {
        let unsaved = self.unsaved_work.load(Ordering::Relaxed);
        if !self.reserve.admits_growth(unsaved as u64) {
            return Err(Error::StorageFull);
        }
        if unsaved > self.limits.max_unsaved_work {
            return Err(Error::Overloaded("the log waits for a checkpoint".into()));
        }
        self.memory.admit(bytes)
    }
}
