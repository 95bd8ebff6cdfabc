//! The work budget of one plan.

use crate::limits::{MAX_PREFIXED_PER_PLAN, MAX_TOKENS_PER_PLAN};
use std::cell::Cell;

/// Comparisons of places with the edges of shapes, in all conditions of one plan: some ten milliseconds. Beyond that,
/// payloads are read.
const GEO_WORK: usize = 1 << 22;

/// The work that the indexes may still do for a plan, shared by all its conditions. Planning does not check the deadline, so
/// its work is bounded. Points that it does not suffice for are doubtful: reading their payloads observes the deadline.
#[derive(Debug)]
pub struct PlanWork {
    /// Comparisons of places with an edge of a polygon.
    pub places: Cell<usize>,
    /// Tokens of texts read in order.
    pub tokens: Cell<usize>,
    /// Values that begin with a prefix, or that are searched for a part.
    pub prefixed: Cell<usize>,
}

impl Default for PlanWork {
    /// The budget of a new plan.
    fn default() -> Self {
        PlanWork {
            places: Cell::new(GEO_WORK),
            tokens: Cell::new(MAX_TOKENS_PER_PLAN),
            prefixed: Cell::new(MAX_PREFIXED_PER_PLAN),
        }
    }
}
