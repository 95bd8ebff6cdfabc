//! Waking a thread that waits for work.

use crate::sync::{Condvar, Mutex};
use std::time::Duration;

/// Wakes a thread of the background before its time.
#[derive(Default)]
pub struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    /// Wakes whoever waits, or the next one who will.
    pub fn ring(&self) {
        *self.rung.lock() = true;
        self.changed.notify_all();
    }

    /// Waits for the bell, at most so long.
    pub fn wait(&self, longest: Duration) {
        let mut rung = self.rung.lock();
        if !*rung {
            let _ = self.changed.wait_for(&mut rung, longest);
        }
        *rung = false;
    }
}
