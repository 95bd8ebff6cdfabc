//! When a request is given up.

use crate::error::Error;
use std::time::{Duration, Instant};

/// The moment at which a request is given up (C1.10).
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    at: Instant,
    allowed: Duration,
    what: &'static str,
}

impl Deadline {
    /// A deadline `allowed` after `start`; `what` names the operation in the error.
    pub fn new(start: Instant, allowed: Duration, what: &'static str) -> Deadline {
        Deadline { at: start + allowed, allowed, what }
    }

    /// Whether it has passed.
    pub fn passed(&self) -> bool {
        Instant::now() >= self.at
    }

    /// The moment.
    pub fn instant(&self) -> Instant {
        self.at
    }

    /// The error of a request that did not make it.
    pub fn error(&self) -> Error {
        Error::Timeout(format!(
            "Operation '{}' timed out after {} seconds",
            self.what,
            self.allowed.as_secs_f64()
        ))
    }

    /// An error once the deadline has passed.
    pub fn check(&self) -> Result<(), Error> {
        if self.passed() { Err(self.error()) } else { Ok(()) }
    }
}

/// Work between two looks at the clock, in bytes of payload times conditions: milliseconds at worst.
const WORK_PER_LOOK: u64 = 4 * 1024 * 1024;
/// What a point costs whatever its payload: 256 points without one are a look.
const WORK_PER_POINT: u64 = WORK_PER_LOOK / 256;

/// Looks at the clock as often as the work on documents asks for: one long text under many conditions takes longer
/// than thousands of short ones.
#[derive(Debug)]
pub struct Pace<'a> {
    deadline: &'a Deadline,
    conditions: u64,
    done: u64,
}

impl<'a> Pace<'a> {
    /// A pace for points that so many conditions are checked on. The first step looks.
    pub fn new(deadline: &'a Deadline, conditions: usize) -> Pace<'a> {
        Pace { deadline, conditions: conditions as u64, done: WORK_PER_LOOK }
    }

    /// Counts a point before it is worked on.
    ///
    /// # Errors
    /// `Timeout` once the deadline has passed.
    pub fn step(&mut self, payload_bytes: usize) -> Result<(), Error> {
        if self.done >= WORK_PER_LOOK {
            self.done = 0;
            self.deadline.check()?;
        }
        self.done += WORK_PER_POINT + payload_bytes as u64 * self.conditions;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_documents_are_looked_at_one_by_one_c1_10() {
        let late = Deadline::new(Instant::now(), Duration::ZERO, "Count");
        let mut pace = Pace { deadline: &late, conditions: 1000, done: 0 };
        pace.step(100_000).expect("nothing was done before the first");
        pace.step(1).expect_err("one heavy document calls for a look");
    }

    #[test]
    fn light_documents_share_a_look_c1_10() {
        let late = Deadline::new(Instant::now(), Duration::ZERO, "Count");
        let mut pace = Pace { deadline: &late, conditions: 1, done: 0 };
        let steps = (0..1000).take_while(|_| pace.step(10).is_ok()).count();
        assert!((200..=256).contains(&steps), "{steps} points between two looks");
    }
}
