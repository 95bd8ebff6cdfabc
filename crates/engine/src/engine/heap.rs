//! Memory that was freed and that the allocator keeps for later.
//!
//! Points, payloads and postings are small blocks in the heap of the C library, which gives back only what is free at
//! the end of each of its regions. After a large deletion most of what it holds is free and in the middle.

use std::time::{Duration, Instant};

/// The heap is trimmed when so many points are gone since there were most, …
const LEAST_GONE: u64 = 50_000;
/// … and one in so many of them.
const SHARE_GONE: u64 = 4;
/// Deleting comes first, and then the vacuum and the next views, which free what only they know.
const SETTLING: Duration = Duration::from_secs(10);

/// When the heap is to be trimmed next.
#[derive(Default)]
pub struct Heap {
    most_points: u64,
    due: Option<Instant>,
}

impl Heap {
    /// Takes note of how many points there are. Answers whether the heap is to be trimmed now.
    pub fn is_due(&mut self, points: u64, now: Instant) -> bool {
        self.most_points = self.most_points.max(points);
        let gone = self.most_points - points;
        if gone >= LEAST_GONE && gone >= self.most_points / SHARE_GONE {
            self.most_points = points;
            self.due = Some(now + SETTLING);
        }
        self.due.take_if(|due| *due <= now).is_some()
    }
}

/// Gives whole free pages in the middle of the heap back to the system, where the C library can.
pub fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call takes the allocator's own locks and touches nothing but memory that is free.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_deletion_is_followed_by_one_trim_a_little_later() {
        let (mut heap, start) = (Heap::default(), Instant::now());
        let mut see = |points: u64, seconds: u64| heap.is_due(points, start + Duration::from_secs(seconds));
        assert!(!see(400_000, 0) && !see(350_000, 1), "one in eight is not much");
        assert!(!see(299_000, 2) && !see(299_000, 11));
        assert!(see(299_000, 12));
        assert!(!see(299_000, 13) && !see(299_000, 1_000), "once is enough");
        // Growth counts from where it was.
        assert!(!see(500_000, 1_001) && !see(0, 1_002) && see(0, 1_012));
        assert!(!see(40_000, 1_013) && !see(0, 1_014) && !see(0, 1_100), "not worth the time");
    }
}
