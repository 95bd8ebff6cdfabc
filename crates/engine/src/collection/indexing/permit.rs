//! How many background threads work on one collection.

use crate::collection::Collection;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;

/// The background threads at work on one collection.
#[derive(Default)]
pub(in crate::collection) struct Indexers {
    working: AtomicUsize,
    /// A thread found no permit left: the next one that leaves queues the collection again.
    is_refused: AtomicBool,
}

/// The permit of a background thread to work on a collection, until it is dropped.
pub struct IndexPermit<'a>(&'a Arc<Collection>);

impl Drop for IndexPermit<'_> {
    fn drop(&mut self) {
        let indexers = &self.0.indexing.indexers;
        indexers.working.fetch_sub(1, Ordering::SeqCst);
        if indexers.is_refused.swap(false, Ordering::SeqCst) {
            self.0.shared.indexer.push(self.0);
        }
    }
}

impl Collection {
    /// A permit to work on this collection in the background, unless its configuration allows no more threads.
    /// The collection then comes back to the queue by itself.
    pub fn start_indexing(self: &Arc<Self>) -> Option<IndexPermit<'_>> {
        let most = self.view.load().state.config.max_indexers();
        let enter = || {
            let enter = |working| (working < most).then_some(working + 1);
            self.indexing.indexers.working.fetch_update(Ordering::SeqCst, Ordering::SeqCst, enter).is_ok()
        };
        if enter() {
            return Some(IndexPermit(self));
        }
        // With no threads allowed there is nothing to come back for, until a change of configuration.
        if most == 0 {
            return None;
        }
        self.indexing.indexers.is_refused.store(true, Ordering::SeqCst);
        // A thread that left before the mark was set has not seen it.
        enter().then(|| IndexPermit(self))
    }
}
