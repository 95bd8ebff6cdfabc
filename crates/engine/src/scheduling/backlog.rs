//! How long a heavy read would wait for those that became heavy before it.

use super::lane::LIGHT_WORK;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A heavy read counts until it has run for this long; from then on others pass it.
pub const SHORT: Duration = Duration::from_millis(20);
/// A read may always wait for this long.
const ADMITTED_WAIT: Duration = Duration::from_millis(25);
/// Beyond that, for this many times as long as it is estimated to take itself.
const ADMITTED_WAIT_FACTOR: u32 = 3;

/// The estimated work of all heavy reads that have run for less than [`SHORT`].
pub struct Backlog {
    nanos: AtomicU64,
}

/// What one read adds to a backlog, until it is dropped.
pub struct Share {
    backlog: &'static Backlog,
    nanos: u64,
}

impl Backlog {
    pub const fn new() -> Backlog {
        Backlog { nanos: AtomicU64::new(0) }
    }

    /// Adds a read that is estimated to take `work`. None when it would wait for too long on so many processors.
    pub fn join(&'static self, work: Duration, processors: usize) -> Option<Share> {
        let before = Duration::from_nanos(self.nanos.load(Ordering::Relaxed));
        if before / processors.max(1) as u32 > ADMITTED_WAIT.max(work.saturating_mul(ADMITTED_WAIT_FACTOR)) {
            return None;
        }
        let nanos = work.clamp(LIGHT_WORK, SHORT).as_nanos() as u64;
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
        Some(Share { backlog: self, nanos })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.backlog.nanos.fetch_sub(self.nanos, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_refused_when_those_before_it_take_too_long_and_admitted_when_one_has_ended() {
        static BACKLOG: Backlog = Backlog::new();
        let work = Duration::from_millis(10);
        let mut admitted: Vec<Share> = std::iter::from_fn(|| BACKLOG.join(work, 2)).collect();
        assert_eq!(
            admitted.len(),
            7,
            "the first six take 60 ms on two processors, which is more than three times 10 ms"
        );
        assert!(BACKLOG.join(work, 4).is_some(), "more processors");
        assert!(BACKLOG.join(work * 3, 2).is_some(), "a long one may wait for longer");
        admitted.pop();
        assert!(BACKLOG.join(work, 2).is_some());
    }

    #[test]
    fn long_reads_count_for_their_first_slices() {
        static BACKLOG: Backlog = Backlog::new();
        let hour = Duration::from_secs(3600);
        let _shares: Vec<Share> = (0..9).map(|_| BACKLOG.join(hour, 1).unwrap()).collect();
        assert_eq!(BACKLOG.nanos.load(Ordering::Relaxed), 9 * SHORT.as_nanos() as u64);
    }
}
