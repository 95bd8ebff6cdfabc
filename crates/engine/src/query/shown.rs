//! Which points a caller may see.

use crate::collection::State;
use crate::deadline::{Deadline, Pace};
use crate::error::Error;
use crate::filter::Filter;
use crate::scheduling::lane;
use crate::types::PointOffset;

/// The filter of a caller that may not see everything (C15), for points that are looked at one by one.
pub struct Shown<'a> {
    within: Option<&'a Filter>,
    deadline: &'a Deadline,
    pace: Pace<'a>,
}

impl<'a> Shown<'a> {
    /// The points that match `within`; without one, all.
    pub fn new(within: Option<&'a Filter>, deadline: &'a Deadline) -> Shown<'a> {
        Shown { within, deadline, pace: Pace::new(deadline, within.map_or(0, Filter::work)) }
    }

    /// Whether the caller may see the live point at an offset.
    ///
    /// # Errors
    /// Those of the deadline, which is checked within a long document too.
    pub fn has(&mut self, state: &State, offset: PointOffset) -> Result<bool, Error> {
        let Some(within) = self.within else { return Ok(true) };
        let (bytes, conditions) = (state.at(offset).document().len(), self.pace.conditions());
        self.pace.step(bytes)?;
        // On the thread of its caller each look at the document counts, so not by `matches_at`, which takes one more.
        if !lane::may_look_at(bytes, conditions) {
            return Err(self.deadline.error());
        }
        within.matches_until(&state.subject(offset), conditions, Some(self.deadline))
    }
}
