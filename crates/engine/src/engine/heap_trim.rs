//! Returning freed memory to the system.
//!
//! Points, payloads and postings are small allocations in the heap of the C library, which by itself gives back only
//! what is free at the end of each of its regions. After a large deletion most of the heap is free and in the middle. After a
//! load so is what its requests, the payloads before their checkpoint and the building of graphs have taken.

use crate::types::Lsn;
use std::time::{Duration, Instant};

/// The heap is trimmed when at least this many points are gone since there were most, …
const LEAST_GONE: u64 = 50_000;
/// … and at least the most points divided by this.
const GONE_DIVISOR: u64 = 4;
/// Time from the deletion to the trim: the vacuum and the next views free memory in between.
const DELAY: Duration = Duration::from_secs(10);
/// Time from a start to its trim: memory that only loading the program and the collections needed is free by then.
const DELAY_OF_START: Duration = Duration::from_secs(2);
/// The heap is also trimmed twice in a pause of writes that is this long: when graphs have mostly been built, and when the
/// log was shortened and payloads are in maps ([`idle_log`](super::idle_log)).
const PAUSES: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(100)];
/// Fewer records than this since the last such trim are not worth the time.
const LEAST_RECORDS: u64 = 16;

/// Decides when the heap is trimmed.
pub struct HeapTrim {
    most_points: u64,
    due: Option<Instant>,
    /// The next record when the heap was last trimmed in a pause.
    trimmed: Option<Lsn>,
    /// How often it was trimmed since enough was written.
    trims: usize,
}

impl HeapTrim {
    /// For a process that has started at this moment.
    pub fn new(started: Instant) -> HeapTrim {
        let due = Some(started + DELAY_OF_START);
        HeapTrim { most_points: 0, due, trimmed: None, trims: PAUSES.len() }
    }

    /// Notes how many points there are, the next record of the log, and how long no record has come. Returns whether the heap is
    /// to be trimmed now.
    pub fn is_due(&mut self, points: u64, next: Lsn, pause: Duration, now: Instant) -> bool {
        let after_deletion = self.is_due_after_deletion(points, now);
        self.is_due_in_pause(next, pause) || after_deletion
    }

    fn is_due_in_pause(&mut self, next: Lsn, pause: Duration) -> bool {
        let trimmed = *self.trimmed.get_or_insert(next);
        if next.get().saturating_sub(trimmed.get()) >= LEAST_RECORDS {
            self.trims = 0;
        }
        let is_due = PAUSES.get(self.trims).is_some_and(|least| pause >= *least);
        if is_due {
            self.trimmed = Some(next);
            self.trims += 1;
        }
        is_due
    }

    fn is_due_after_deletion(&mut self, points: u64, now: Instant) -> bool {
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
    use super::super::idle_log::Pause;
    use super::*;

    #[test]
    fn a_start_is_followed_by_one_trim() {
        let start = Instant::now();
        let mut heap = HeapTrim::new(start);
        let mut see =
            |millis: u64| heap.is_due(7, Lsn::new(40), Duration::ZERO, start + Duration::from_millis(millis));
        assert!(!see(0) && !see(1_999) && see(2_000) && !see(2_001) && !see(60_000));
    }

    #[test]
    fn a_large_deletion_is_followed_by_one_trim_a_little_later() {
        let start = Instant::now();
        let mut heap = HeapTrim::new(start - DELAY_OF_START);
        let mut see = |points: u64, seconds: u64| {
            heap.is_due(points, Lsn::new(1), Duration::ZERO, start + Duration::from_secs(seconds))
        };
        assert!(see(0, 0), "that of the start");
        assert!(!see(400_000, 0) && !see(350_000, 1), "one in eight is not much");
        assert!(!see(299_000, 2) && !see(299_000, 11));
        assert!(see(299_000, 12));
        assert!(!see(299_000, 13) && !see(299_000, 1_000), "once is enough");
        // Growth counts from where it was.
        assert!(!see(500_000, 1_001) && !see(0, 1_002) && see(0, 1_012));
        assert!(!see(40_000, 1_013) && !see(0, 1_014) && !see(0, 1_100), "not worth the time");
    }
    #[test]
    fn a_load_is_followed_by_two_trims_when_writes_have_ended() {
        let start = Instant::now();
        let mut heap = HeapTrim::new(start - DELAY_OF_START);
        let mut pause = Pause::default();
        let mut see = |lsn: u64, seconds: u64| {
            let (next, now) = (Lsn::new(lsn), start + Duration::from_secs(seconds));
            heap.is_due(0, next, pause.since(next, now), now)
        };
        assert!(see(5, 0), "that of the start");
        assert!(!see(5, 200), "nothing was written");
        assert!(!see(20, 201) && !see(20, 400), "a few records are not worth the time");
        assert!(!see(21, 401) && !see(21, 410) && see(21, 411));
        assert!(!see(21, 412) && !see(21, 500) && see(21, 501) && !see(21, 900), "twice is enough");
        // Writes that go on put it off.
        assert!(!see(50, 901) && !see(51, 910) && !see(51, 919) && see(51, 920));
        assert!(!see(52, 930) && !see(52, 1_029), "a longer pause is awaited from the last record on");
        assert!(see(52, 1_030) && !see(53, 1_031) && !see(53, 1_900));
    }
}
