//! The request to background threads to end.

use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Condvar, Mutex};
use std::time::Duration;

/// Tells threads to end, and wakes those that wait for their next interval.
#[derive(Default)]
pub struct Stop {
    requested: AtomicBool,
    waiting: Mutex<()>,
    changed: Condvar,
}

impl Stop {
    /// Ends all waiting, now and later.
    pub fn request(&self) {
        let waiting = self.waiting.lock();
        self.requested.store(true, Ordering::Release);
        drop(waiting);
        self.changed.notify_all();
    }

    /// Whether the threads are to end.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Acquire)
    }

    /// Waits for the request, at most for `longest`.
    pub fn wait(&self, longest: Duration) {
        let mut waiting = self.waiting.lock();
        if !self.is_requested() {
            let _ = self.changed.wait_for(&mut waiting, longest);
        }
    }
}
