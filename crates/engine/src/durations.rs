//! How long things took, counted by duration: what a histogram of the metrics is made of.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets; longer durations go into a last one.
pub const DURATION_BOUNDS: [Duration; 17] = [
    Duration::from_micros(100),
    Duration::from_micros(250),
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_micros(2500),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_millis(2500),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(30),
];

const BUCKETS: usize = DURATION_BOUNDS.len() + 1;

/// Counts durations, from any thread and without a lock.
#[derive(Debug, Default)]
pub struct Durations {
    counts: [AtomicU64; BUCKETS],
    /// The sum, in nanoseconds: enough for 584 years.
    nanos: AtomicU64,
}

/// The durations that were counted until some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurationCounts {
    /// How many were in each bucket of [`DURATION_BOUNDS`], and above the last bound; not cumulative.
    pub counts: [u64; BUCKETS],
    /// The sum of all.
    pub total: Duration,
}

impl Durations {
    /// Counts one.
    pub fn add(&self, took: Duration) {
        let bucket = DURATION_BOUNDS.partition_point(|bound| *bound < took);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// What was counted so far.
    pub fn counts(&self) -> DurationCounts {
        DurationCounts {
            counts: self.counts.each_ref().map(|count| count.load(Ordering::Relaxed)),
            total: Duration::from_nanos(self.nanos.load(Ordering::Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_first_bucket_whose_bound_it_does_not_exceed() {
        let durations = Durations::default();
        let all = [0, 100, 101, 2500, 30_000_000, 30_000_001, 600_000_000].map(Duration::from_micros);
        all.into_iter().for_each(|took| durations.add(took));
        let DurationCounts { counts, total } = durations.counts();
        let filled: Vec<(usize, u64)> =
            counts.into_iter().enumerate().filter(|(_, count)| *count > 0).collect();
        assert_eq!(filled, [(0, 2), (1, 1), (4, 1), (16, 1), (17, 2)]);
        assert_eq!(total, all.into_iter().sum());
    }

    #[test]
    fn bounds_rise_to_thirty_seconds() {
        assert!(DURATION_BOUNDS.is_sorted_by(|a, b| a < b));
        assert_eq!(DURATION_BOUNDS[DURATION_BOUNDS.len() - 1], Duration::from_secs(30));
    }
}
