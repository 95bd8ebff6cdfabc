//! When the log of a server that is not written to is shortened.
//!
//! While writes come, a log is cut as checkpoints become due, and may keep up to its budget: a checkpoint costs more than the
//! part of the log that it replaces. Once they have ended it only takes room on the disk, and time at the next start.

use crate::types::Lsn;
use std::time::{Duration, Instant};

/// Time without a record after which any log is shortened.
const IDLE: Duration = Duration::from_secs(60);

/// The same for a log that takes much of the disk beside the data: a load has ended.
const LOAD_ENDED: Duration = Duration::from_secs(3);

/// A log that takes so many bytes, and the data's bytes divided by [`MUCH_DIVISOR`], takes much. The codes and points that its
/// checkpoint writes again are about a seventh of the data: not many times what becomes free.
const MUCH_BYTES: u64 = 8 << 20;
const MUCH_DIVISOR: u64 = 8;

/// Whether a log is to be shortened that takes `log_bytes` with its reserve, beside collections that are awake, with
/// `data_bytes` on the disk.
pub fn is_due(pause: Duration, log_bytes: u64, data_bytes: u64) -> bool {
    let takes_much = log_bytes >= MUCH_BYTES.max(data_bytes / MUCH_DIVISOR);
    pause >= if takes_much { LOAD_ENDED } else { IDLE }
}

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
    fn a_pause_begins_with_the_last_record() {
        let (mut pause, start) = (Pause::default(), Instant::now());
        let mut see = |lsn: u64, seconds: u64| {
            pause.since(Lsn::new(lsn), start + Duration::from_secs(seconds)).as_secs()
        };
        assert_eq!([see(1, 0), see(1, 59), see(2, 62), see(2, 121)], [0, 59, 0, 59]);
    }

    #[test]
    fn a_log_is_shortened_after_a_minute_and_sooner_where_it_takes_much_beside_the_data() {
        let is_due = |seconds, log_mib: u64, data_mib: u64| {
            super::is_due(Duration::from_secs(seconds), log_mib << 20, data_mib << 20)
        };
        // Small writes now and then, whatever the data.
        assert!(!is_due(59, 7, 0) && is_due(60, 7, 0) && is_due(60, 0, 1000));
        // A first load, a further one, and one that is short beside the data.
        assert!(!is_due(2, 8, 0) && is_due(3, 8, 0) && is_due(3, 30, 240));
        assert!(!is_due(59, 29, 240) && is_due(60, 29, 240));
    }
}
