//! Which points of a snapshot a filter lets through.

use super::deadline::Deadline;
use crate::collection::State;
use crate::error::Error;
use crate::filter::Filter;
use roaring::RoaringBitmap;

/// Points that are evaluated between two looks at the clock.
const CHECK_EVERY: usize = 256;

/// A filter against a state: what the field indexes say, and what is left to check on documents.
pub struct Matching<'a> {
    state: &'a State,
    filter: Option<&'a Filter>,
    /// Offsets that can match; all live ones when `None`.
    candidates: Option<RoaringBitmap>,
    /// Whether every candidate matches.
    exact: bool,
}

impl<'a> Matching<'a> {
    /// Plans a filter. No filter matches every live point.
    pub fn new(state: &'a State, filter: Option<&'a Filter>) -> Matching<'a> {
        match filter {
            None => Matching { state, filter: None, candidates: None, exact: true },
            Some(filter) => {
                let plan = filter.plan(state, &state.live);
                Matching { state, filter: Some(filter), candidates: plan.candidates, exact: plan.exact }
            }
        }
    }

    /// Whether every live point matches, without looking.
    pub fn is_everything(&self) -> bool {
        self.candidates.is_none() && self.exact
    }

    /// The most points that can match; exact when [`Matching::is_exact`].
    pub fn at_most(&self) -> u64 {
        self.candidates.as_ref().unwrap_or(&self.state.live).len()
    }

    /// Whether every candidate matches.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// Whether the live point at an offset matches.
    pub fn accepts(&self, offset: u32) -> bool {
        self.candidates.as_ref().is_none_or(|candidates| candidates.contains(offset))
            && (self.exact || self.passes(offset))
    }

    fn passes(&self, offset: u32) -> bool {
        self.filter.is_none_or(|filter| filter.matches(&self.state.subject(offset)))
    }

    /// Offsets of the points that match, ascending, each checked.
    pub fn offsets(&self, deadline: &Deadline) -> Result<RoaringBitmap, Error> {
        let candidates = self.candidates.as_ref().unwrap_or(&self.state.live);
        if self.exact {
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
        if !self.exact {
            self.candidates = Some(self.offsets(deadline)?);
            self.exact = true;
        }
        Ok(())
    }
}
