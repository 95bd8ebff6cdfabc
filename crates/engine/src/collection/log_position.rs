//! The position of a collection in the log.

use super::unsaved::Unsaved;
use crate::faults::PlantedFault;
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::types::Lsn;
use std::sync::Arc;

/// Which records of the log belong to a collection, and which of them its checkpoint holds.
pub(super) struct LogPosition {
    /// The record that created the collection; [`Lsn::NONE`] when the log does not hold it any more.
    created: Lsn,
    /// The last record of the collection.
    last: AtomicU64,
    /// The checkpoint holds every record of the collection up to this one.
    checkpointed: AtomicU64,
    /// Whether there is a checkpoint, be it of nothing.
    has_checkpoint: AtomicBool,
    unsaved: Unsaved,
    /// The work of all records since the collection was opened.
    work: AtomicU64,
}

impl LogPosition {
    /// The position of a collection that is being opened. `checkpointed` is that of its checkpoint, if there is one;
    /// `unsaved_of_all` counts the unsaved work of all collections.
    pub fn new(
        created: Lsn,
        last: Lsn,
        checkpointed: Option<Lsn>,
        unsaved_of_all: &Arc<AtomicUsize>,
    ) -> LogPosition {
        LogPosition {
            created,
            last: AtomicU64::new(last.get()),
            checkpointed: AtomicU64::new(checkpointed.unwrap_or_default().get()),
            has_checkpoint: AtomicBool::new(checkpointed.is_some()),
            unsaved: Unsaved::none(unsaved_of_all),
            work: AtomicU64::new(0),
        }
    }

    /// Records up to `lsn` are durable, which cost so much work to replay.
    pub fn advance(&self, lsn: Lsn, work: usize) {
        self.last.store(lsn.get(), Ordering::Release);
        self.unsaved.add(work);
        self.work.fetch_add(work as u64, Ordering::Relaxed);
    }

    /// The work of all records since the collection was opened: see [`LogPosition::advance`].
    pub fn work(&self) -> u64 {
        self.work.load(Ordering::Relaxed)
    }

    /// A checkpoint holds every record up to `lsn`.
    pub fn note_checkpoint(&self, lsn: Lsn) {
        self.checkpointed.store(lsn.get(), Ordering::Release);
        self.has_checkpoint.store(true, Ordering::Release);
    }

    /// The checkpoint holds every record of the collection up to this one.
    pub fn checkpointed(&self) -> Lsn {
        Lsn::new(self.checkpointed.load(Ordering::Acquire))
    }

    /// The oldest record that only the log holds, if there is one. `is_in_flight`: records of the collection may be in the
    /// log already and in no view yet.
    pub fn pinned(&self, is_in_flight: bool) -> Option<Lsn> {
        if !self.has_checkpoint.load(Ordering::Acquire) {
            // Its creation stays in the log: without it an empty collection cannot be told from a lost one.
            return Some(self.created.max(Lsn::FIRST));
        }
        let saved = self.checkpointed();
        let is_in_flight = is_in_flight && !PlantedFault::LogCutUnderWrites.is_on();
        (is_in_flight || Lsn::new(self.last.load(Ordering::Acquire)) > saved).then(|| saved.next())
    }

    /// What replaying the records since the last checkpoint costs, in bytes.
    pub fn unsaved(&self) -> &Unsaved {
        &self.unsaved
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_kept_for_a_write_that_no_view_has_yet() {
        let saved = Lsn::new(7);
        let position = LogPosition::new(Lsn::FIRST, saved, Some(saved), &Arc::default());
        assert_eq!([position.pinned(false), position.pinned(true)], [None, Some(saved.next())]);
        position.advance(saved.next(), 1);
        assert_eq!(position.pinned(false), Some(saved.next()));
    }
}
