//! Accounting of what a start would have to replay.

use crate::collection::Change;
use crate::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// What replaying one point of a record costs beside the record's bytes, in bytes of the same cost. Measured with
/// `checkpoint_bench` in `crates/bench`: vectors are replayed at several hundred MB/s, points without any at about a million a second.
const POINT_WORK: usize = 256;

/// What replaying a record costs: its bytes, and for each point that it touches as much as 256 bytes more.
pub(in crate::collection) fn replay_work(body: &[u8], changes: &[Change]) -> usize {
    body.len() + POINT_WORK * changes.iter().map(Change::touched).sum::<usize>()
}

/// Work that waits in the log of one collection, counted in the sum of all collections too for as long as this lives.
pub(in crate::collection) struct Unsaved {
    own: AtomicUsize,
    all: Arc<AtomicUsize>,
}

impl Unsaved {
    /// Nothing yet; `all` is the sum.
    pub fn none(all: &Arc<AtomicUsize>) -> Unsaved {
        Unsaved { own: AtomicUsize::new(0), all: Arc::clone(all) }
    }

    /// The work that waits.
    pub fn get(&self) -> usize {
        self.own.load(Ordering::Relaxed)
    }

    /// A record was published, or was found in the log by a start.
    pub fn add(&self, work: usize) {
        self.own.fetch_add(work, Ordering::Relaxed);
        self.all.fetch_add(work, Ordering::Relaxed);
    }

    /// A checkpoint has that much of it, or the collection is gone.
    pub fn remove(&self, work: usize) {
        let less = |now: usize| Some(now - work.min(now));
        if let Ok(before) = self.own.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) {
            self.all.fetch_sub(work.min(before), Ordering::Relaxed);
        }
    }
}

impl Drop for Unsaved {
    fn drop(&mut self) {
        self.remove(usize::MAX);
    }
}
