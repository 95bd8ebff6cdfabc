//! Waking a background thread before its interval ends.

use crate::sync::{Condvar, Mutex};
use std::time::Duration;

/// Wakes a thread that waits for its next interval.
#[derive(Default)]
pub struct Notifier {
    is_notified: Mutex<bool>,
    changed: Condvar,
}

impl Notifier {
    /// Wakes the waiting thread, or makes its next wait return at once.
    pub fn notify(&self) {
        *self.is_notified.lock() = true;
        self.changed.notify_all();
    }

    /// Waits for a notification, at most for `longest`.
    pub fn wait(&self, longest: Duration) {
        let mut is_notified = self.is_notified.lock();
        if !*is_notified {
            let _ = self.changed.wait_for(&mut is_notified, longest);
        }
        *is_notified = false;
    }
}
