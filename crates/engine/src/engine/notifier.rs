//! Waking a background thread before its time.

use crate::sync::{Condvar, Mutex};
use std::time::Duration;

/// Wakes a thread that waits for its next turn.
#[derive(Default)]
pub struct Notifier {
    is_notified: Mutex<bool>,
    changed: Condvar,
}

impl Notifier {
    /// Wakes the thread that waits, or the next one that will.
    pub fn notify(&self) {
        *self.is_notified.lock() = true;
        self.changed.notify_all();
    }

    /// Waits for a notification, at most so long.
    pub fn wait(&self, longest: Duration) {
        let mut is_notified = self.is_notified.lock();
        if !*is_notified {
            let _ = self.changed.wait_for(&mut is_notified, longest);
        }
        *is_notified = false;
    }
}
