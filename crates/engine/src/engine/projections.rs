//! How many projections are made at a time: each holds far more memory than other reads.

use crate::error::Error;
use crate::faults::PlantedFault;
use crate::limits::MAX_PROJECTIONS;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The projections that are being made.
#[derive(Default)]
pub struct Projections(AtomicUsize);

/// One of them, until it is dropped.
pub struct Underway<'a>(&'a AtomicUsize);

impl Projections {
    /// Begins one.
    ///
    /// # Errors
    /// `Overloaded` when as many as may be are being made.
    pub fn begin(&self) -> Result<Underway<'_>, Error> {
        let more = |count: usize| {
            (count < MAX_PROJECTIONS || PlantedFault::ProjectionsNotLimited.is_on()).then_some(count + 1)
        };
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(Underway(&self.0)),
            Err(_) => Err(Error::Overloaded(format!("{MAX_PROJECTIONS} projections are being made already"))),
        }
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_may_be_made_at_a_time_are_refused_c6_10() {
        let projections = Projections::default();
        let mut underway: Vec<Underway<'_>> =
            (0..MAX_PROJECTIONS).map(|_| projections.begin().expect("there is room")).collect();
        assert!(matches!(projections.begin().err(), Some(Error::Overloaded(_))));
        underway.pop();
        assert!(projections.begin().is_ok(), "one has ended");
    }
}
