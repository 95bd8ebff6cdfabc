//! The time of day, by which points come to their end (C17).

#[cfg(feature = "testing")]
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time; a test may set it.
#[derive(Default)]
pub struct Clock {
    /// Microseconds since 1970; 0 for the system's time.
    #[cfg(feature = "testing")]
    set: AtomicI64,
}

impl Clock {
    /// Microseconds since 1970.
    pub fn now(&self) -> i64 {
        #[cfg(feature = "testing")]
        match self.set.load(Ordering::Relaxed) {
            0 => {}
            micros => return micros,
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    }

    /// Makes it that time from now on, in seconds since 1970.
    #[cfg(feature = "testing")]
    pub fn set_seconds(&self, seconds: i64) {
        self.set.store(seconds * 1_000_000, Ordering::Relaxed);
    }
}
