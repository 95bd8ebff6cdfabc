//! Which points of a snapshot a filter lets through.

use super::deadline::Deadline;
use crate::collection::State;
use crate::error::Error;
use crate::filter::{Filter, Plan};
use roaring::RoaringBitmap;

/// Points that are evaluated between two looks at the clock.
const CHECK_EVERY: usize = 256;

/// A filter against a state: what the field indexes say, and what is left to check on documents.
pub struct Matching<'a> {
    state: &'a State,
    filter: Option<&'a Filter>,
    plan: Plan,
}

impl<'a> Matching<'a> {
    /// Plans a filter. No filter matches every live point.
    pub fn new(state: &'a State, filter: Option<&'a Filter>) -> Matching<'a> {
        match filter {
            None => {
                let plan = Plan { candidates: None, exact: true, certain: RoaringBitmap::new() };
                Matching { state, filter: None, plan }
            }
            Some(filter) => Matching { state, filter: Some(filter), plan: filter.plan(state, &state.live) },
        }
    }

    /// Whether every live point matches, without looking.
    pub fn is_everything(&self) -> bool {
        self.plan.candidates.is_none() && self.plan.exact
    }

    /// The most points that can match; exact when [`Matching::is_exact`].
    pub fn at_most(&self) -> u64 {
        self.plan.candidates.as_ref().unwrap_or(&self.state.live).len()
    }

    /// Whether every candidate matches.
    pub fn is_exact(&self) -> bool {
        self.plan.exact
    }

    /// Whether the live point at an offset matches.
    pub fn accepts(&self, offset: u32) -> bool {
        self.plan.candidates.as_ref().is_none_or(|candidates| candidates.contains(offset))
            && self.passes(offset)
    }

    fn passes(&self, offset: u32) -> bool {
        let look = || self.filter.is_none_or(|filter| filter.matches(&self.state.subject(offset)));
        self.plan.admits(offset, look)
    }

    /// Offsets of the points that match, ascending, each checked.
    pub fn offsets(&self, deadline: &Deadline) -> Result<RoaringBitmap, Error> {
        let candidates = self.plan.candidates.as_ref().unwrap_or(&self.state.live);
        if self.plan.exact {
            return Ok(candidates.clone());
        }
        let mut matching = RoaringBitmap::new();
        for (at, offset) in candidates.iter().enumerate() {
            if at % CHECK_EVERY == 0 {
                deadline.check()?;
            }
            if self.passes(offset) {
                matching.insert(offset);
            }
        }
        Ok(matching)
    }

    /// Turns the answer into an exact set, so that nothing is checked twice.
    pub fn settle(&mut self, deadline: &Deadline) -> Result<(), Error> {
        if !self.plan.exact {
            self.plan.candidates = Some(self.offsets(deadline)?);
            self.plan.exact = true;
        }
        Ok(())
    }
}
