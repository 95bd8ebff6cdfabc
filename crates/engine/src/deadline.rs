//! When a request is given up.

use crate::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The moment at which a request is given up (C1.10): its time is over, or the engine closes.
#[derive(Clone, Debug)]
pub struct Deadline {
    at: Instant,
    allowed: Duration,
    what: &'static str,
    closing: Option<Closing>,
}

/// Whether an engine closes. Clones are of the same engine.
#[derive(Clone, Debug, Default)]
pub struct Closing(Arc<AtomicBool>);

impl Closing {
    /// It does from here on: its requests are given up at their next look.
    pub fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn has_begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Deadline {
    /// A deadline `allowed` after `start`; `what` names the operation in the error.
    pub fn new(start: Instant, allowed: Duration, what: &'static str) -> Deadline {
        Deadline { at: start + allowed, allowed, what, closing: None }
    }

    /// The same, for a request of the engine that `closing` is of.
    #[must_use]
    pub fn or_at(self, closing: &Closing) -> Deadline {
        Deadline { closing: Some(closing.clone()), ..self }
    }

    /// Whether it has passed.
    pub fn passed(&self) -> bool {
        self.is_closing() || Instant::now() >= self.at
    }

    fn is_closing(&self) -> bool {
        self.closing.as_ref().is_some_and(Closing::has_begun)
    }

    /// The moment, unless the engine closes before.
    pub fn instant(&self) -> Instant {
        self.at
    }

    /// The error of a request that did not make it.
    pub fn error(&self) -> Error {
        if self.is_closing() {
            return Error::ShuttingDown;
        }
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
    /// None for what was accepted before, and is done again at a start.
    deadline: Option<&'a Deadline>,
    conditions: u64,
    done: u64,
}

impl<'a> Pace<'a> {
    /// A pace for points that so many conditions are checked on. The first step looks.
    pub fn new(deadline: &'a Deadline, conditions: usize) -> Pace<'a> {
        Pace { deadline: Some(deadline), conditions: conditions as u64, done: WORK_PER_LOOK }
    }

    /// The pace of what has no deadline.
    pub fn unhurried() -> Pace<'static> {
        Pace { deadline: None, conditions: 1, done: 0 }
    }

    /// A pace whose last look was just now.
    #[cfg(test)]
    pub fn begun(deadline: &'a Deadline) -> Pace<'a> {
        Pace { done: 0, ..Pace::new(deadline, 1) }
    }

    /// Work since the last look.
    #[cfg(test)]
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Counts a point before it is worked on.
    ///
    /// # Errors
    /// `Timeout` once the deadline has passed, `ShuttingDown` once the engine closes.
    pub fn step(&mut self, payload_bytes: usize) -> Result<(), Error> {
        self.look_after(WORK_PER_POINT + payload_bytes as u64 * self.conditions)
    }

    /// Counts bytes that are gone through on the way, before they are.
    ///
    /// # Errors
    /// As of [`Pace::step`].
    pub fn work(&mut self, bytes: usize) -> Result<(), Error> {
        self.look_after(bytes as u64)
    }

    fn look_after(&mut self, work: u64) -> Result<(), Error> {
        if self.done >= WORK_PER_LOOK {
            self.done = 0;
            self.deadline.map_or(Ok(()), Deadline::check)?;
        }
        self.done += work;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_documents_are_looked_at_one_by_one_c1_10() {
        let late = Deadline::new(Instant::now(), Duration::ZERO, "Count");
        let mut pace = Pace { deadline: Some(&late), conditions: 1000, done: 0 };
        pace.step(100_000).expect("nothing was done before the first");
        pace.step(1).expect_err("one heavy document calls for a look");
    }

    #[test]
    fn a_request_is_given_up_when_its_engine_closes_c11_3() {
        let closing = Closing::default();
        let deadline = Deadline::new(Instant::now(), Duration::from_secs(3600), "Count").or_at(&closing);
        let mut pace = Pace::new(&deadline, 1);
        assert!(deadline.check().is_ok() && pace.step(100_000_000).is_ok());
        closing.begin();
        assert_eq!(deadline.check(), Err(Error::ShuttingDown));
        assert_eq!(pace.step(1), Err(Error::ShuttingDown));
    }

    #[test]
    fn light_documents_share_a_look_c1_10() {
        let late = Deadline::new(Instant::now(), Duration::ZERO, "Count");
        let mut pace = Pace { deadline: Some(&late), conditions: 1, done: 0 };
        let steps = (0..1000).take_while(|_| pace.step(10).is_ok()).count();
        assert!((200..=256).contains(&steps), "{steps} points between two looks");
    }
}
