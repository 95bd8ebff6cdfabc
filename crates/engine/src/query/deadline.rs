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
