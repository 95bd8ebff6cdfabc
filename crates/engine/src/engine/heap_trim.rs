//! Returning freed memory to the system.
//!
//! Points, payloads and postings are small allocations in the heap of the C library, which by itself gives back only
//! what is free at the end of each of its regions. After a large deletion most of the heap is free and in the middle.

use std::time::{Duration, Instant};

/// The heap is trimmed when at least this many points are gone since there were most, …
const LEAST_GONE: u64 = 50_000;
/// … and at least the most points divided by this.
const GONE_DIVISOR: u64 = 4;
/// Time from the deletion to the trim: the vacuum and the next views free memory in between.
const DELAY: Duration = Duration::from_secs(10);
/// Time from a start to its trim: memory that only loading the program and the collections needed is free by then.
const DELAY_OF_START: Duration = Duration::from_secs(2);

/// Decides when the heap is trimmed.
pub struct HeapTrim {
    most_points: u64,
    due: Option<Instant>,
}

impl HeapTrim {
    /// For a process that has started at this moment.
    pub fn new(started: Instant) -> HeapTrim {
        HeapTrim { most_points: 0, due: Some(started + DELAY_OF_START) }
    }

    /// Notes how many points there are. Returns whether the heap is to be trimmed now.
    pub fn is_due(&mut self, points: u64, now: Instant) -> bool {
        self.most_points = self.most_points.max(points);
        let gone = self.most_points - points;
        if gone >= LEAST_GONE && gone >= self.most_points / GONE_DIVISOR {
            self.most_points = points;
            self.due = Some(now + DELAY);
        }
        self.due.take_if(|due| *due <= now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_followed_by_one_trim() {
        let start = Instant::now();
        let mut heap = HeapTrim::new(start);
        let mut see = |millis: u64| heap.is_due(7, start + Duration::from_millis(millis));
        assert!(!see(0) && !see(1_999) && see(2_000) && !see(2_001) && !see(60_000));
    }

    #[test]
    fn a_large_deletion_is_followed_by_one_trim_a_little_later() {
        let start = Instant::now();
        let mut heap = HeapTrim::new(start - DELAY_OF_START);
        let mut see = |points: u64, seconds: u64| heap.is_due(points, start + Duration::from_secs(seconds));
        assert!(see(0, 0), "that of the start");
        assert!(!see(400_000, 0) && !see(350_000, 1), "one in eight is not much");
        assert!(!see(299_000, 2) && !see(299_000, 11));
        assert!(see(299_000, 12));
        assert!(!see(299_000, 13) && !see(299_000, 1_000), "once is enough");
        // Growth counts from where it was.
        assert!(!see(500_000, 1_001) && !see(0, 1_002) && see(0, 1_012));
        assert!(!see(40_000, 1_013) && !see(0, 1_014) && !see(0, 1_100), "not worth the time");
    }
}
