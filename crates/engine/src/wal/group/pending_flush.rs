//! The flush that a writer must cause after it has queued a group.

use super::GroupCommit;
use crate::wal::durability::Durability;

/// A group that is queued and that no thread was woken for yet. Dropping this wakes the log's thread: right for a
/// writer that has more to do. [`finish`](Self::finish) is for one that has not.
#[must_use = "dropping it wakes the log's thread; `finish` syncs inline where that is faster"]
pub struct PendingFlush<'l> {
    log: &'l GroupCommit,
    durability: Durability,
}

impl<'l> PendingFlush<'l> {
    /// For a group of this level that was just queued.
    pub(super) fn new(log: &'l GroupCommit, durability: Durability) -> Self {
        PendingFlush { log, durability }
    }

    /// Has the group written. A lone writer that waits for the sync writes and syncs inline; where another thread is
    /// writing, or much is queued, or no sync is asked for, the log's thread does it.
    ///
    /// The completions may be called here, so the caller must hold nothing that they need.
    pub fn finish(self) {
        if self.durability == Durability::Always {
            let log = self.log;
            std::mem::forget(self);
            log.drive();
        }
    }
}

impl Drop for PendingFlush<'_> {
    fn drop(&mut self) {
        self.log.wake();
    }
}
