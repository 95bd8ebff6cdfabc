//! Accounting of what a start would have to replay.

use crate::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// Work that waits in the log of one collection, counted in the sum of all collections too for as long as this lives.
pub(super) struct Unsaved {
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
