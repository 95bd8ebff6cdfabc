//! The rates of strict mode: how many tokens the reads and the updates of a collection take in a minute (C4.3).
//!
//! Each is a token bucket. It holds as many tokens as the limit says and is full at first; tokens come back evenly, as many
//! as the limit in a minute. Buckets are not kept over a restart, and another limit begins with a full one.

use crate::sync::Mutex;
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);

/// The buckets of a collection.
#[derive(Default)]
pub struct Rates {
    /// The bucket of its reads.
    pub reads: Rate,
    /// The bucket of updates of its points.
    pub updates: Rate,
}

/// One bucket; nothing is counted before something is taken.
#[derive(Default)]
pub struct Rate(Mutex<Option<Bucket>>);

#[derive(Clone, Copy)]
struct Bucket {
    limit: u64,
    tokens: f64,
    /// When `tokens` was right.
    at: Instant,
}

/// Why tokens were not given. Then none were taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateExceeded {
    /// More than the bucket ever holds.
    Never,
    /// There are only so many; after the time there will be enough.
    Until(f64, Duration),
}

impl Rates {
    /// Buckets that have as much as these now.
    pub fn copy(&self) -> Rates {
        Rates { reads: self.reads.copy(), updates: self.updates.copy() }
    }

    /// Goes on with what others had.
    pub fn restore(&self, others: &Rates) {
        *self.reads.0.lock() = *others.reads.0.lock();
        *self.updates.0.lock() = *others.updates.0.lock();
    }
}

impl Rate {
    fn copy(&self) -> Rate {
        Rate(Mutex::new(*self.0.lock()))
    }

    /// Takes tokens of a bucket of `limit`, at least 1, a minute.
    ///
    /// # Errors
    /// There are not so many now, or never.
    pub fn take(&self, limit: u64, tokens: u64, now: Instant) -> Result<(), RateExceeded> {
        if tokens > limit {
            return Err(RateExceeded::Never);
        }
        let mut bucket = self.0.lock();
        let full = Bucket { limit, tokens: limit as f64, at: now };
        let bucket = match &mut *bucket {
            Some(bucket) if bucket.limit == limit => bucket,
            other => other.insert(full),
        };
        let per_second = limit as f64 / MINUTE.as_secs_f64();
        let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.tokens = (bucket.tokens + passed * per_second).min(limit as f64);
        bucket.at = bucket.at.max(now);
        let missing = tokens as f64 - bucket.tokens;
        if missing > 0.0 {
            return Err(RateExceeded::Until(bucket.tokens, Duration::from_secs_f64(missing / per_second)));
        }
        bucket.tokens -= tokens as f64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_evenly_and_never_beyond_the_limit_c4_3() {
        let (rate, start) = (Rate::default(), Instant::now());
        let after = |seconds: f64| start + Duration::from_secs_f64(seconds);
        assert_eq!(rate.take(6, 7, start), Err(RateExceeded::Never));
        assert_eq!(rate.take(6, 4, start), Ok(()));
        assert_eq!(rate.take(6, 4, start), Err(RateExceeded::Until(2.0, Duration::from_secs(20))));
        // What was refused took nothing.
        assert_eq!(rate.take(6, 2, start), Ok(()));
        assert_eq!(rate.take(6, 1, after(9.0)).map_err(|short| short == RateExceeded::Never), Err(false));
        assert_eq!(rate.take(6, 1, after(11.0)), Ok(()));
        // Ten minutes bring no more than a minute.
        assert_eq!(rate.take(6, 6, after(600.0)), Ok(()));
        assert_eq!(rate.take(6, 1, after(600.0)), Err(RateExceeded::Until(0.0, Duration::from_secs(10))));
        // Another limit begins anew.
        assert_eq!(rate.take(5, 5, after(600.0)), Ok(()));
    }

    /// Against a model that counts what was taken in each window: over any span, at most the limit and what came back.
    #[test]
    fn no_span_has_more_than_the_limit_and_what_came_back_in_it() {
        let (rate, start, limit) = (Rate::default(), Instant::now(), 30);
        let mut taken: Vec<(f64, u64)> = Vec::new();
        let mut seed = 7u64;
        let mut seconds = 0.0;
        for _ in 0..2_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let tokens = (seed >> 40) % 12 + 1;
            seconds += ((seed >> 20) % 4_000) as f64 / 1_000.0;
            if rate.take(limit, tokens, start + Duration::from_secs_f64(seconds)).is_ok() {
                taken.push((seconds, tokens));
            }
        }
        assert!(taken.len() > 100);
        for first in (0..taken.len()).step_by(7) {
            let mut sum = 0;
            for (at, tokens) in &taken[first..] {
                sum += tokens;
                let most = limit as f64 * (1.0 + (at - taken[first].0) / 60.0);
                assert!(sum as f64 <= most + 1e-6, "{sum} tokens, at most {most}");
            }
        }
    }
}
