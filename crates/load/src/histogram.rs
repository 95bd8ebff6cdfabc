//! Times in a histogram of fixed size.

use std::time::Duration;

/// Buckets of each power of two: a bucket's width is at most 1/128 of its values.
const SUB_BUCKETS: u64 = 128;
const SUB_BITS: u32 = SUB_BUCKETS.trailing_zeros();
/// Times from 2³⁶ µs on, 19 hours, share the last bucket.
const MAX_BITS: u32 = 36;
const BUCKETS: usize = ((MAX_BITS - SUB_BITS + 1) as usize) * SUB_BUCKETS as usize;

/// Counts of times in microseconds, with an error of less than 1 % above 128 µs and of 1 µs below.
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum_us: u64,
    max_us: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counts: vec![0; BUCKETS], count: 0, sum_us: 0, max_us: 0 }
    }
}

impl Histogram {
    /// Adds one time.
    pub fn record(&mut self, time: Duration) {
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.counts[bucket_of(us)] += 1;
        self.count += 1;
        self.sum_us = self.sum_us.saturating_add(us);
        self.max_us = self.max_us.max(us);
    }

    /// How many times were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean in microseconds; 0 without times.
    pub fn mean_us(&self) -> u64 {
        self.sum_us.checked_div(self.count).unwrap_or(0)
    }

    /// The longest time in microseconds.
    pub fn max_us(&self) -> u64 {
        self.max_us
    }

    /// The time in microseconds that this share of the times does not exceed; 0 without times.
    pub fn quantile_us(&self, share: f64) -> u64 {
        let rank = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return last_of(bucket).min(self.max_us);
            }
        }
        0
    }
}

fn bucket_of(us: u64) -> usize {
    let bits = u64::BITS - us.leading_zeros();
    if bits <= SUB_BITS {
        return us as usize;
    }
    if bits > MAX_BITS {
        return BUCKETS - 1;
    }
    // The first power of two above SUB_BUCKETS has the second group of buckets.
    let shift = bits - 1 - SUB_BITS;
    let group = u64::from(shift) + 1;
    (group * SUB_BUCKETS + (us >> shift) - SUB_BUCKETS) as usize
}

/// The greatest time of a bucket.
fn last_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < SUB_BUCKETS {
        return bucket;
    }
    let (group, place) = (bucket / SUB_BUCKETS, bucket % SUB_BUCKETS);
    ((SUB_BUCKETS + place + 1) << (group - 1)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_hundredth_of_those_of_a_sorted_list() {
        let mut histogram = Histogram::default();
        let mut times: Vec<u64> = Vec::new();
        let mut random = 1u64;
        for _ in 0..10_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let us = (random >> 33) % (1 << (random % 28));
            times.push(us);
            histogram.record(Duration::from_micros(us));
        }
        times.sort_unstable();
        for share in [0.001, 0.5, 0.9, 0.99, 0.999, 1.0] {
            let exact = times[(times.len() as f64 * share).ceil() as usize - 1];
            let found = histogram.quantile_us(share);
            assert!(found >= exact && found - exact <= exact / 100 + 1, "{share}: {found} and not {exact}");
        }
        assert_eq!(histogram.max_us(), *times.last().expect("ten thousand"));
        assert_eq!(histogram.mean_us(), times.iter().sum::<u64>() / 10_000);
    }

    #[test]
    fn every_bucket_ends_where_the_next_begins() {
        for bucket in 0..BUCKETS - 1 {
            assert_eq!(bucket_of(last_of(bucket)), bucket);
            assert_eq!(bucket_of(last_of(bucket) + 1), bucket + 1);
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn without_times_all_figures_are_zero() {
        let histogram = Histogram::default();
        assert_eq!((histogram.quantile_us(0.99), histogram.mean_us(), histogram.max_us()), (0, 0, 0));
    }
}
