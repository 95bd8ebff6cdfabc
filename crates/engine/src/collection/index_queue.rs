//! Collections that wait for an indexer.

use super::Collection;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

/// Collections whose graphs may have something to do, in the order in which they said so. Each stands in it at most
/// once, so that a collection that is written all the time gets no more turns than the others, and one that is not
/// written costs nothing.
#[derive(Default)]
pub struct IndexQueue {
    waiting: Mutex<VecDeque<Weak<Collection>>>,
    arrived: Condvar,
    closed: AtomicBool,
}

impl IndexQueue {
    /// Queues a collection, unless it waits already.
    pub fn push(&self, collection: &Arc<Collection>) {
        if !collection.queued.swap(true, Ordering::AcqRel) {
            self.waiting.lock().push_back(Arc::downgrade(collection));
            self.arrived.notify_one();
        }
    }

    /// Waits for a collection; `None` when the queue is closed.
    pub fn pop(&self) -> Option<Arc<Collection>> {
        let mut waiting = self.waiting.lock();
        loop {
            if self.is_closed() {
                return None;
            }
            match waiting.pop_front() {
                Some(next) => {
                    // One that is gone was deleted while it waited.
                    if let Some(collection) = next.upgrade() {
                        // Before its turn: what is written from here on queues it again.
                        collection.queued.store(false, Ordering::Release);
                        return Some(collection);
                    }
                }
                None => self.arrived.wait(&mut waiting),
            }
        }
    }

    /// Whether the engine stops: long work is to be given up.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Sends everybody home who waits, now and later.
    pub fn close(&self) {
        let waiting = self.waiting.lock();
        self.closed.store(true, Ordering::Release);
        drop(waiting);
        self.arrived.notify_all();
    }
}
