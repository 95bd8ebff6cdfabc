//! Collections that wait for an indexer.

use crate::collection::Collection;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Collections whose graphs may need work, in the order in which they were queued. Each is in it at most once, so that a
/// collection that is written all the time gets no more turns than the others, and one that is not written costs nothing.
#[derive(Default)]
pub struct IndexQueue {
    line: Mutex<Line>,
    arrived: Condvar,
    closed: AtomicBool,
}

#[derive(Default)]
struct Line {
    waiting: VecDeque<Weak<Collection>>,
    /// A thread rests and will check the queue soon: none needs to be woken.
    is_watched: bool,
}

impl IndexQueue {
    /// Queues a collection, unless it waits already.
    pub fn push(&self, collection: &Arc<Collection>) {
        if !collection.indexing.is_queued.swap(true, Ordering::AcqRel) {
            let mut line = self.line.lock();
            line.waiting.push_back(Arc::downgrade(collection));
            if !line.is_watched {
                self.arrived.notify_one();
            }
        }
    }

    /// For an indexer that has nothing to do: waits for `pause`, unless another thread does so already. A collection that is
    /// queued meanwhile wakes no thread, so that a stream of small writes does not wake one for each.
    pub fn rest(&self, pause: Duration) {
        let mut line = self.line.lock();
        if line.waiting.is_empty() && !line.is_watched && !self.is_closed() {
            line.is_watched = true;
            self.arrived.wait_for(&mut line, pause);
            line.is_watched = false;
            if line.waiting.len() > 1 {
                self.arrived.notify_one();
            }
        }
    }

    /// Waits for a collection; `None` when the queue is closed.
    pub fn pop(&self) -> Option<Arc<Collection>> {
        let mut line = self.line.lock();
        loop {
            if self.is_closed() {
                return None;
            }
            match line.waiting.pop_front() {
                Some(next) => {
                    // One that is gone was deleted while it waited.
                    if let Some(collection) = next.upgrade() {
                        // Before its turn: what is written from here on queues it again.
                        collection.indexing.is_queued.store(false, Ordering::Release);
                        return Some(collection);
                    }
                }
                None => self.arrived.wait(&mut line),
            }
        }
    }

    /// Takes a collection out of the queue, which is queued again when it is opened the next time.
    pub fn forget(&self, collection: &Collection) {
        self.line.lock().waiting.retain(|waiting| !std::ptr::eq(waiting.as_ptr(), collection));
        collection.indexing.is_queued.store(false, Ordering::Release);
    }

    /// Whether the engine stops: long work is to be given up.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Ends all waiting, now and later.
    pub fn close(&self) {
        let line = self.line.lock();
        self.closed.store(true, Ordering::Release);
        drop(line);
        self.arrived.notify_all();
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;

    #[test]
    fn closing_ends_a_rest() {
        let queue = Arc::new(IndexQueue::default());
        let resting = {
            let queue = Arc::clone(&queue);
            std::thread::spawn(move || {
                queue.rest(Duration::from_secs(3600));
                queue.pop().is_none()
            })
        };
        while !queue.line.lock().is_watched {
            std::thread::yield_now();
        }
        // Another one has no reason to rest too.
        queue.rest(Duration::from_secs(3600));
        queue.close();
        assert!(resting.join().unwrap());
    }
}
