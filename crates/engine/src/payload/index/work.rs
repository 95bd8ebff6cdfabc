//! What the indexes may still do for one plan.

use crate::limits::{MAX_PREFIXED_PER_PLAN, MAX_TOKENS_PER_PLAN};
use std::cell::Cell;

/// Comparisons of places with the edges of shapes, in all conditions of one plan: some ten milliseconds. What is beyond
/// it is left to the payloads.
const GEO_WORK: usize = 1 << 22;

/// Work that is left for a plan, which looks at no clock: all its conditions share it. What it does not suffice for stays
/// in doubt, because looking at payloads watches the deadline.
#[derive(Debug)]
pub struct PlanWork {
    /// Comparisons of places with an edge of a polygon.
    pub places: Cell<usize>,
    /// Tokens in their order.
    pub tokens: Cell<usize>,
    /// Values that begin with a prefix.
    pub prefixed: Cell<usize>,
}

impl Default for PlanWork {
    /// That of a plan which is about to be made.
    fn default() -> Self {
        PlanWork {
            places: Cell::new(GEO_WORK),
            tokens: Cell::new(MAX_TOKENS_PER_PLAN),
            prefixed: Cell::new(MAX_PREFIXED_PER_PLAN),
        }
    }
}
