//! When the log of a server that is not written to is shortened.
//!
//! While writes come, a log is cut as checkpoints become due, and may keep up to its budget: a checkpoint costs more than the
//! part of the log that it replaces. Once they have ended it only takes room on the disk, and time at the next start.

use crate::types::Lsn;
use std::time::{Duration, Instant};

/// Time without a record after which the server counts as not written to.
pub const IDLE: Duration = Duration::from_secs(60);

/// For how long no record has come.
#[derive(Default)]
pub struct Pause {
    last: Option<(Lsn, Instant)>,
}

impl Pause {
    /// Notes the LSN of the next record. Returns for how long it has been the next one.
    pub fn since(&mut self, next: Lsn, now: Instant) -> Duration {
        match self.last {
            Some((last, since)) if last == next => now.duration_since(since),
            _ => {
                self.last = Some((next, now));
                Duration::ZERO
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_idle_a_minute_after_its_last_record() {
        let (mut pause, start) = (Pause::default(), Instant::now());
        let mut see =
            |lsn: u64, seconds: u64| pause.since(Lsn::new(lsn), start + Duration::from_secs(seconds)) >= IDLE;
        assert!(!see(1, 0) && !see(1, 59) && see(1, 60) && see(1, 61));
        assert!(!see(2, 62) && !see(2, 121) && see(2, 122));
    }
}
